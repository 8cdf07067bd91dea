"""Scores a value that is compared as one: absence, types, transforms, metric or judge, accepted readings, batches."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Final

from pytest_extract.core.compile.nodes import Align, FieldMetric, Leaf, NamedMetric, Node, Object, Skip
from pytest_extract.core.engine.context import (
    Decision,
    Outcome,
    Path,
    Pending,
    ScoringContext,
    absence,
    agreed_absence,
    is_present,
    make_result,
)
from pytest_extract.core.extensions import BatchMetric
from pytest_extract.core.metrics.base import BoundMetric, Broken
from pytest_extract.core.results import JudgeAnswer, Question, Status
from pytest_extract.core.schema.tree import type_fits
from pytest_extract.core.values import (
    CONTAINERS,
    MISSING,
    FieldPath,
    Json,
    Value,
    Values,
    a_type,
    copied,
    path_text,
)

_SKIP: Final[NamedMetric] = ("skip", {}, 0.0)


def walk_leaf(run: ScoringContext, leaf: Leaf, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score a leaf with every check that it has."""
    leaf = leaf.for_value(gold if is_present(gold) else extracted)
    for check in leaf.checks:
        outcome = _outcome(run, leaf, check, gold, extracted, path)
        if outcome is not None:
            run.keep(make_result(leaf, check.named, outcome, (gold, extracted), path, at), leaf)
            continue
        if check is leaf.checks[0]:
            run.vacuous.append(path)
        if run.both_passed and leaf.field:
            agreed = Status.MATCH, 1.0, agreed_absence(gold, extracted)
            run.fields.append(make_result(leaf, check.named, agreed, (gold, extracted), path, at))


def _outcome(
    run: ScoringContext, leaf: Leaf, check: FieldMetric, gold: Value, extracted: Value, path: Path
) -> Outcome | None:
    """Return what one check of a leaf finds, to be kept next; None where neither side has a value."""
    raw = gold, extracted
    if run.accept:
        right = (gold, *readings(run, leaf.pattern, path))
        gold = next((reading for reading in right if agree(check, reading, extracted)), gold)
    (gold, extracted), problem = transformed(check, gold, extracted)
    no_gold = gold is MISSING or (gold is None and run.absent)
    no_extracted = extracted is MISSING or (extracted is None and run.absent)
    if leaf.empty_absent:
        no_gold, no_extracted = no_gold or gold == [], no_extracted or extracted == []
    if no_gold and no_extracted:
        return None
    if no_gold or no_extracted:
        return one_sided(run, leaf, Status.HALLUCINATION if no_gold else Status.OMISSION, raw, path)
    if check.batch is not None:  # it stands for the field until all of its batch are known
        run.pending.append(Pending(check, len(run.leaves), len(run.fields) if leaf.field else None, gold, extracted))
        return Status.JUDGE_ERROR, 0.0, "waits for its batch"
    if leaf.types is not None and type_fits(leaf.types, raw[0]) and not type_fits(leaf.types, raw[1]):
        return Status.MISMATCH, 0.0, f"expected {' or '.join(sorted(leaf.types))}, got {a_type(raw[1])}"
    metric = check.metric
    score, reason = _score(run, check, gold, extracted, path)
    if metric.judged and score is not None and score < check.threshold:
        for reading in readings(run, leaf.pattern, path):
            other, why = _score(run, check, transformed(check, reading, MISSING)[0][0], extracted, path)
            if other is None or other > score:
                score, reason = other, why
            if score is None or score >= check.threshold:
                break
    if score is None:
        return Status.JUDGE_ERROR, 0.0, reason
    right_enough = score >= check.threshold
    if reason is None and problem is not None and not right_enough:
        reason = problem
    elif reason is None and score < 1.0 and not run.depth and metric.explain is not None:
        reason = metric.explain(gold, extracted)
    return Status.MATCH if right_enough else Status.MISMATCH, score, reason


def _score(
    run: ScoringContext, check: FieldMetric, gold: Json, extracted: Json, path: Path
) -> tuple[float | None, str | None]:
    """Return what a metric, or its judge, says of two values, and why; None: nothing."""
    metric = check.metric
    if not metric.judged:
        score = metric_score(metric, gold, extracted)
        return (None, f"the metric {metric.name!r} broke: {score.why}") if isinstance(score, Broken) else (score, None)
    if run.depth and check.likeness is not None:
        return check.likeness.compare(gold, extracted), None
    if metric.compare(gold, extracted) == 1.0:
        return 1.0, None
    answer = asked(run, metric, gold, extracted, path)
    if isinstance(answer, JudgeAnswer):
        return answer.score, answer.reason or None
    return None, answer.reason


def asked(run: ScoringContext, about: BoundMetric | Align, gold: Json, extracted: Json, path: Path) -> Decision:
    """Return what a judge answers about two values or, to align them, two lists; or why it does not."""
    question = Question(
        kind="align" if isinstance(about, Align) else "equal",
        path=FieldPath(path),
        gold=gold,
        extracted=extracted,
        instructions=about.instructions,
        metrics=about.metrics if isinstance(about, Align) else {},
        judge=about.judge,
        options=about.options,
    )
    return run.ask(question)


def metric_score(metric: BoundMetric, gold: Json, extracted: Json) -> float:
    """Return what a metric says of two values; most find scalars alike that are equal, and are not asked."""
    kind = type(gold)
    alike = metric.reflexive and kind is type(extracted) and kind not in CONTAINERS and gold == extracted
    return 1.0 if alike else metric.compare(gold, extracted)


def walk_skip(run: ScoringContext, skip: Skip, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Note a place that is not scored, where there is something to note."""
    if skip.never or (not skip.always and gold is MISSING and extracted is MISSING):
        return
    run.keep(make_result(skip, _SKIP, (Status.SKIPPED, 0.0, "not scored"), (gold, extracted), path, at), skip)


def transformed(check: FieldMetric, gold: Value, extracted: Value) -> tuple[Values, str | None]:
    """Return both values after the check's transforms, and what went wrong; a value that cannot be stays as it is."""
    if check.transform is None:
        return (gold, extracted), None
    found, problems = [], []
    for side, value in (("gold", gold), ("extracted", extracted)):
        try:
            found.append(value if value is MISSING else check.transform(value))
        except ValueError as error:
            found.append(value)
            problems.append(f"{side} is not transformed: {error}")
    return (found[0], found[1]), "; ".join(problems) or None


def one_sided(run: ScoringContext, node: Node, status: Status, values: Values, path: Path) -> Outcome:
    """Return an omission or a hallucination, or that it is skipped where the case says that the field may be empty."""
    side, absent = ("extracted", values[1]) if status is Status.OMISSION else ("gold", values[0])
    reason = f"{side} is {absence(absent)}"
    rules = run.absent_rules
    if rules and (rules.get(node.pattern) or rules.get(path_text(path))) == "either":
        return Status.SKIPPED, 0.0, f"{reason}; the case lets this field be empty or not"
    return status, 0.0, reason


def agree(check: FieldMetric, reading: Value, extracted: Value) -> bool:
    """Whether a check finds the extracted value right by this reading, without asking a judge."""
    ours, theirs = transformed(check, reading, extracted)[0]
    if ours is MISSING or ours is None or theirs is MISSING or theirs is None:
        return ours in (MISSING, None) and theirs in (MISSING, None)
    return check.metric.compare(ours, theirs) >= (1.0 if check.metric.judged else check.threshold)


def readings(run: ScoringContext, pattern: str, path: Path) -> tuple[Json, ...]:
    """Return the accepted readings of a place, by its pattern and by its path; an invented row has none."""
    if not run.accept or any(type(step) is int and step < 0 for step in path):
        return ()
    found = tuple(run.accept.get(pattern, ()))
    text = path_text(path)
    return found if text == pattern else found + tuple(run.accept.get(text, ()))


# --- batch metrics: fields that are compared together, once the document (or the pair of rows) has been walked


def score_groups(
    run: ScoringContext, obj: Object, gold: dict[str, Json], extracted: dict[str, Json], waited: int
) -> None:
    """Score the batch metrics over sibling fields: the primary gets the score, the others are skipped.

    `waited`: how many fields of objects around this one wait for a batch.

    A member that is on one side only makes the members that are on both score 0 (struct-extract-eval: also one that is
    on neither). Where null counts as absent, a member that neither side has is None for the comparison.
    """
    for group in obj.groups:
        names = [name for name in obj.properties if name in group.fields]
        waiting = [one for one in run.pending[waited:] if one.check.batch is group]
        run.pending[waited:] = [one for one in run.pending[waited:] if one.check.batch is not group]
        there = {str(run.leaves[one.leaf].path[-1]): one for one in waiting}
        lacking = [name for name in names if name not in there]
        neither = run.absent and all(gold.get(name) is None and extracted.get(name) is None for name in lacking)
        if lacking and not neither:
            for one in waiting:
                _decide(run, one, 0.0, "another field of its group is not there")
        elif waiting:
            pair = {name: gold.get(name) for name in names}, {name: extracted.get(name) for name in names}
            primary = next(name for name in (group.primary or group.fields[0], *there) if name in there)
            ((score, why),) = _scores(group, [pair])
            for name, one in there.items():
                if name == primary:
                    _decide(run, one, score, why)
                else:
                    _replace(run, one, Status.SKIPPED, 0.0, f"compared together with {primary!r}")


def finish_batches(run: ScoringContext) -> None:
    """Score all fields that wait for a batch metric of the whole document."""
    batches = {id(one.check.batch): one.check.batch for one in run.pending if one.check.batch is not None}
    for batch in batches.values():
        waiting = [one for one in run.pending if one.check.batch is batch]
        scores = _scores(batch, [(one.gold, one.extracted) for one in waiting])
        for one, (score, why) in zip(waiting, scores, strict=True):
            _decide(run, one, score, why)
    run.pending = []


def _scores(batch: BatchMetric, pairs: Sequence[tuple[Json, Json]]) -> list[tuple[float | None, str | None]]:
    """Call a project's batch metric; what raises, or gives another number of scores, decides nothing. Say why."""
    try:
        found = list(batch.compare([(copied(gold), copied(extracted)) for gold, extracted in pairs]))
        why = f"it gave {len(found)} scores for {len(pairs)} pairs"
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        found, why = [], f"{type(error).__name__}: {error}"
    return [_usable(score) for score in found] if len(found) == len(pairs) else [(None, why)] * len(pairs)


def _usable(score: object) -> tuple[float | None, str | None]:
    if isinstance(score, Real) and 0.0 <= (number := float(score)) <= 1.0:  # a NaN is not in any range
        return number, None
    return None, None if score is None else f"it gave {score!r:.80}, not a score from 0 to 1"


def _decide(run: ScoringContext, one: Pending, score: float | None, reason: str | None) -> None:
    if score is None:
        why = "decided nothing" if reason is None else f"broke: {reason}"
        _replace(run, one, Status.JUDGE_ERROR, 0.0, f"the batch metric {one.check.metric.name!r} {why}")
        return
    right = score >= one.check.threshold
    _replace(run, one, Status.MATCH if right else Status.MISMATCH, score, reason)


def _replace(run: ScoringContext, one: Pending, status: Status, score: float, reason: str | None) -> None:
    new = run.leaves[one.leaf]._replace(status=status, score=score, passed=status is Status.MATCH, reason=reason)
    run.leaves[one.leaf] = new
    if one.field is not None:
        run.fields[one.field] = new
