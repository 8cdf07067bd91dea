"""Batch metrics: fields that are compared together, once the document (or the pair of rows) has been walked."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from pytest_extract.core.compile.nodes import Leaf, Object
from pytest_extract.core.engine.context import Pending, ScoringContext
from pytest_extract.core.extensions import BatchMetric
from pytest_extract.core.results import JUDGE_ERROR, MATCH, MISMATCH, SKIPPED, FieldResult, Status
from pytest_extract.core.values import Json, copied


def score_groups(
    run: ScoringContext, obj: Object, gold: dict[str, Json], extracted: dict[str, Json], waited: int
) -> None:
    """Score the batch metrics over sibling fields: the primary gets the score, the others are skipped.

    `waited`: how many fields of objects around this one wait for a batch.

    A member that is on one side only makes the members that are on both score 0 (struct-extract-eval: also one that is
    on neither). Where null counts as absent, a member that neither side has is None for the comparison.
    """
    for group in obj.groups:
        leaves = {name: node for name, node in obj.properties.items() if isinstance(node, Leaf)}
        names = [name for name, leaf in leaves.items() if any(check.batch is group for check in leaf.checks)]
        around, inside = run.pending[:waited], run.pending[waited:]
        waiting = [one for one in inside if one.check.batch is group]
        run.pending = [*around, *(one for one in inside if one.check.batch is not group)]
        if not waiting:
            continue
        there = {str(_result_of(run, one).path[-1]): one for one in waiting}
        lacking = [name for name in names if name not in there]
        neither = run.absent and all(gold.get(name) is None and extracted.get(name) is None for name in lacking)
        if lacking and not neither:
            for one in waiting:
                _decide(run, one, 0.0, "another field of its group is not there")
            continue
        pair = tuple({name: side.get(name) for name in names} for side in (gold, extracted))
        scores, why = _scores(group, [(pair[0], pair[1])])
        primary = next(name for name in (group.primary or group.fields[0], *there) if name in there)
        for name, one in there.items():
            if name == primary:
                _decide(run, one, scores[0], why)
            else:
                _replace(run, one, SKIPPED, 0.0, f"compared together with {primary!r}")


def _result_of(run: ScoringContext, one: Pending) -> FieldResult:
    return run.leaves[one.leaf]


def finish_batches(run: ScoringContext) -> None:
    """Score all fields that wait for a batch metric of the whole document."""
    if not run.pending:
        return
    batches = {id(one.check.batch): one.check.batch for one in run.pending if one.check.batch is not None}
    for batch in batches.values():
        waiting = [one for one in run.pending if one.check.batch is batch]
        scores, why = _scores(batch, [(one.gold, one.extracted) for one in waiting])
        for one, score in zip(waiting, scores, strict=True):
            _decide(run, one, score, why)
    run.pending = []


def _scores(batch: BatchMetric, pairs: Sequence[tuple[Json, Json]]) -> tuple[list[float | None], str | None]:
    """Call a project's batch metric; what raises, falls short or is no score decides nothing. Say why it raised."""
    why = None
    try:
        found = list(batch.compare([(copied(gold), copied(extracted)) for gold, extracted in pairs]))
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        found, why = [], f"{type(error).__name__}: {error}"
    if len(found) > len(pairs):
        found, why = [], f"it gave {len(found)} scores for {len(pairs)} pairs"
    scores = [_usable(score) for score in found]
    unusable = [each for each, score in zip(found, scores, strict=True) if score is None and each is not None]
    if why is None and (unusable or len(found) < len(pairs)):
        gave = f"{unusable[0]!r:.80}, not a score from 0 to 1" if unusable else f"{len(found)} of {len(pairs)} scores"
        why = f"it gave {gave}"
    return scores + [None] * (len(pairs) - len(found)), why


def _usable(score: object) -> float | None:
    if isinstance(score, Real) and 0.0 <= (number := float(score)) <= 1.0:  # a NaN is not in any range
        return number
    return None


def _decide(run: ScoringContext, one: Pending, score: float | None, reason: str | None) -> None:
    if score is None:
        why = "decided nothing" if reason is None else f"broke: {reason}"
        _replace(run, one, JUDGE_ERROR, 0.0, f"the batch metric {one.check.metric.name!r} {why}")
        return
    right = score >= one.check.threshold
    _replace(run, one, MATCH if right else MISMATCH, score, reason)


def _replace(run: ScoringContext, one: Pending, status: Status, score: float, reason: str | None) -> None:
    new = _result_of(run, one)._replace(status=status, score=score, passed=status is MATCH, reason=reason)
    run.leaves[one.leaf] = new
    if one.field is not None:
        run.fields[one.field] = new
