"""What an array gives beside its pairs of rows: rows without a partner, numbers, and the one result of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from pytest_extract.core.compile.nodes import SCALARS, Array, Leaf, Node
from pytest_extract.core.engine.context import DEEPEST, Path, Recall, ScoringContext, make_result
from pytest_extract.core.engine.leaf import one_sided
from pytest_extract.core.engine.matches import made_results
from pytest_extract.core.engine.table import identity
from pytest_extract.core.engine.walk import score_missing
from pytest_extract.core.results import MATCH, MISMATCH, OMISSION, ArrayResult, FieldResult, Pairing, Status
from pytest_extract.core.values import MISSING, Json, Step, as_place

_RIGHT: Final = (MATCH, 1.0, None)
_new: Final = tuple.__new__


class ArrayPlace(NamedTuple):
    """An array that is scored: what gold and the output have there, of whatever type, and where that is."""

    run: ScoringContext
    array: Array
    gold: Json
    extracted: Json
    path: Path
    at: Path | None

    @property
    def key(self) -> tuple[int, int, int]:
        """What the pairing of these two lists is known by."""
        return id(self.array), id(self.gold), id(self.extracted)

    def keep_result(self, status: Status, score: float, reason: str | None = None) -> None:
        """Keep the array's field result, where the semantics give one and the array stands outside others."""
        run, array, gold, extracted, path, at = self
        result = array.result
        if result is not None and array.field:
            run.fields.append(make_result(array, result.named, (status, score, reason), (gold, extracted), path, at))

    def keep_shape(self, status: Status, reason: str | None = None) -> None:
        """Keep a leaf result about what stands in the array's place: a field result too where the array has no own."""
        run, array, gold, extracted, path, at = self
        array = array if array.result is None else array._replace(field=False)
        run.shape(array, status, (gold, extracted), path, at, reason)


class Undecided(NamedTuple):
    """No pairing, and why."""

    reason: str


def conclude(place: ArrayPlace, pairing: Pairing, total: float, first: int) -> None:
    """Keep the pairing with its numbers, and the array's own result; `first`: the first leaf result of its rows."""
    run, array, gold, extracted, path, at = place
    if run.depth:
        return
    height, width = len(gold), len(extracted)
    precision, recall = total / width if width else 1.0, total / height if height else 1.0
    f1 = 2 * total / (height + width) if height + width else 1.0
    pairs, missing, extra = pairing
    run.arrays.append(_new(ArrayResult, (as_place(path), pairs, missing, extra, precision, recall, f1)))
    result = array.result
    if result is None or not array.field:
        return
    if result.number == "recall":
        # a batch metric may still be open: the pairs are counted when every leaf is decided
        leaves = slice(first, len(run.leaves))
        run.recalls.append(Recall(result.threshold, pairing, height, path, len(run.fields), leaves))
        place.keep_result(Status.JUDGE_ERROR, 0.0)
        return
    reason = None
    if f1 < 1.0:
        reason = f"{len(pairs)} rows paired (their scores add up to {total:.4g}), {_left(pairing)}"
    outcome = MATCH if f1 >= result.threshold else MISMATCH, f1, reason
    run.fields.append(make_result(array, result.named, outcome, (gold, extracted), path, at))


def conclude_equal(run: ScoringContext, array: Array, gold: Json, extracted: Json, path: Path, at: Path | None) -> None:
    """Do the same for two lists that are equal."""
    if run.depth:
        return
    path, result = as_place(path), array.result
    run.arrays.append(_new(ArrayResult, (path, identity(len(gold)), (), (), 1.0, 1.0, 1.0)))
    if result is not None and array.field:
        run.fields.append(make_result(array, result.named, _RIGHT, (gold, extracted), path, at))


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


def _left(pairing: Pairing) -> str:
    return f"{len(pairing.missing)} missing, {len(pairing.extra)} invented"


def row_plan(array: Array, index: int) -> Node:
    """Return what scores the row at this place."""
    return array.prefix[index] if index < len(array.prefix) else array.items


def left_over(place: ArrayPlace, indices: Sequence[int], status: Status) -> None:
    """Score rows without a partner; invented ones stand at -1, -2, ... in their order.

    A plain value is a result as it stands, where nothing but its metric scores it: lists of values have most of them.
    """
    run, array, gold, extracted, path, at = place
    base, omitted = path if at is None else at, status is OMISSION
    scored_otherwise = array.values is None or run.accept or run.empty_is_free or len(path) >= DEEPEST
    leaf = None if scored_otherwise else array.items
    for number, index in enumerate(indices):
        value, step, where = (gold[index], index, None) if omitted else (extracted[index], -number - 1, (*base, index))
        if isinstance(leaf, Leaf) and type(value) in SCALARS and leaf.checks[0].transform is None:
            values = (value, MISSING) if omitted else (MISSING, value)
            run.emit(one_sided(run, leaf, leaf.checks[0], status, values, (*path, step), where), leaf)
        else:
            score_missing(run, row_plan(array, index), value, status, (*path, step), where)
