"""What an array gives beside its rows: how they were paired, with its numbers, and the one result of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from pytest_extract.core.compile.nodes import Array
from pytest_extract.core.engine.context import Path, Recall, ScoringContext
from pytest_extract.core.engine.matches import made_results
from pytest_extract.core.engine.table import identity
from pytest_extract.core.results import MATCH, MISMATCH, ArrayResult, FieldResult, Status
from pytest_extract.core.values import Json, Step, Values, as_place

if TYPE_CHECKING:
    from pytest_extract.core.matching.pairing import Pairing

_new: Final = tuple.__new__


def conclude(
    run: ScoringContext,
    array: Array,
    lists: tuple[list[Json], list[Json]],
    pairing: Pairing,
    total: float,
    path: Path,
    at: Path | None,
    first: int,
) -> None:
    """Keep the pairing with its numbers, and the array's own result; `first`: the first leaf result of its rows."""
    if run.depth:
        return
    height, width = len(lists[0]), len(lists[1])
    numbers = (total / width if width else 1.0, total / height if height else 1.0)
    f1 = 2 * total / (height + width) if height + width else 1.0
    run.arrays.append(_new(ArrayResult, (as_place(path), *pairing, *numbers, f1)))
    result = array.result
    if result is None or not array.field:
        return
    if result.number == "recall":
        # a batch metric may still be open: the pairs are counted when every leaf is decided
        leaves = slice(first, len(run.leaves))
        run.recalls.append(Recall(result.threshold, pairing, height, path, len(run.fields), leaves))
        array_result(run, array, Status.JUDGE_ERROR, 0.0, lists, path, at, None)
        return
    status = MATCH if f1 >= result.threshold else MISMATCH
    reason = None
    if f1 < 1.0:
        reason = f"{len(pairing.pairs)} rows paired (their scores add up to {total:.4g}), {_left(pairing)}"
    array_result(run, array, status, f1, lists, path, at, reason)


def finish_recalls(run: ScoringContext) -> None:
    """Score the arrays whose result is their recall: the share of gold's rows whose pair is right in every leaf."""
    for recall in run.recalls:
        depth = len(recall.path)
        wrong: set[Step] = set()
        undecided: set[Step] = set()
        for leaf in made_results(run.leaves[recall.leaves]):
            if not leaf.passed and len(leaf.path) > depth and leaf.status is not Status.SKIPPED:
                (undecided if leaf.status is Status.JUDGE_ERROR else wrong).add(leaf.path[depth])
        rows = {row for row, _ in recall.pairing.pairs}
        right, still_open = rows - wrong - undecided, (rows & undecided) - wrong
        old = cast("FieldResult", run.fields[recall.field])  # the array's own
        # two empty lists are equal; only the published metric, by its own rule for null, recalls nothing then
        published = run.absent and old.metric != "array"
        both_empty = not recall.height and not recall.pairing.extra
        score = 1.0 if both_empty and not published else len(right) / max(1, recall.height)
        status = MATCH if score >= recall.threshold else MISMATCH
        found = f"{len(rows)} rows paired, {_left(recall.pairing)}"
        reason = f"{len(right)} of {recall.height} gold rows are right in every field; {found}"
        if still_open:
            status, score, reason = Status.JUDGE_ERROR, 0.0, f"{len(still_open)} pairs have undecided fields; {reason}"
        run.fields[recall.field] = old._replace(
            status=status, score=score, passed=status is MATCH, reason=reason if score < 1.0 else None
        )


def conclude_equal(
    run: ScoringContext, array: Array, lists: tuple[list[Json], list[Json]], path: Path, at: Path | None
) -> None:
    """Do the same for two lists that are equal."""
    if run.depth:
        return
    run.arrays.append(_new(ArrayResult, (as_place(path), identity(len(lists[0])), (), (), 1.0, 1.0, 1.0)))
    array_result(run, array, MATCH, 1.0, lists, path, at, None)


def _left(pairing: Pairing) -> str:
    return f"{len(pairing.missing)} missing, {len(pairing.extra)} invented"


def array_result(
    run: ScoringContext,
    array: Array,
    status: Status,
    score: float,
    values: Values,
    path: Path,
    at: Path | None,
    reason: str | None,
) -> None:
    """Keep the array's field result, where the semantics give one and the array stands outside others."""
    result = array.result
    if result is None or not array.field:
        return
    kept = (
        as_place(path), array.pattern, result.metric, result.params, status, score, status is MATCH,
        values[0], values[1], reason, result.weight, None if at is None else as_place(at),
    )  # fmt: skip
    run.fields.append(_new(FieldResult, kept))
