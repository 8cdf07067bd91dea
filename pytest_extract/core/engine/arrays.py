"""Scores arrays: pairs the rows, scores the pairs and what is left over, and gives the array its one result."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from pytest_extract.core.compile.nodes import Array, ArrayMetric, Leaf
from pytest_extract.core.engine.context import (
    DEEPEST,
    OpenArray,
    Outcome,
    Path,
    ScoringContext,
    absence,
    agreed_absence,
    is_present,
    make_result,
)
from pytest_extract.core.engine.leaf import rule_of, walk_leaf
from pytest_extract.core.engine.pairing import by_position, pair_rows, paired
from pytest_extract.core.engine.walk import accepted, compare_as_one, score_missing
from pytest_extract.core.results import (
    HALLUCINATION,
    JUDGE_ERROR,
    MATCH,
    MISMATCH,
    OMISSION,
    SKIPPED,
    ArrayResult,
    Pairing,
    Status,
)
from pytest_extract.core.values import MISSING, Json, Step, Value, as_place, canonical_json


class _Place(NamedTuple):
    """An array that is scored: what gold and the output have there, of whatever type, and where that is."""

    run: ScoringContext
    array: Array
    gold: Json
    extracted: Json
    path: Path
    at: Path | None

    def keep_result(self, status: Status, score: float, reason: str | None = None) -> None:
        """Keep the array's field result, where the semantics give one and the array stands outside others."""
        run, array, gold, extracted, path, at = self
        if array.result is not None and array.field:
            result = make_result(array, array.result.named, (status, score, reason), (gold, extracted), path, at)
            run.fields.append(result)

    def keep_shape(self, status: Status, reason: str | None = None) -> None:
        """Keep a leaf result about what stands in the array's place: a field result too where the array has no own."""
        run, array, gold, extracted, path, at = self
        array = array if array.result is None else array._replace(field=False)
        run.shape(array, status, (gold, extracted), path, at, reason)


def walk_array(run: ScoringContext, array: Array, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score an array, whatever stands in its place."""
    if run.accept:
        gold = accepted(run, array, gold, extracted, path)
    place = _Place(run, array, gold, extracted, path, at)
    if array.checks:
        whole = Leaf(pattern=array.pattern, checks=array.checks, field=array.field, empty_absent=array.empty_absent)
        walk_leaf(run, whole, gold, extracted, path, at)
    if array.wrap and is_present(gold) and is_present(extracted):
        single = type(gold) is not list and type(extracted) is not list
        if len(path) > DEEPEST or (single and run.wrapped is not None and run.wrapped == path[:-1]):
            _score_as_one(place)  # a row that is no list, and may be one in turn
        else:
            outer, run.wrapped = run.wrapped, path if single else None
            _score_rows(place._replace(gold=_listed(gold), extracted=_listed(extracted)))
            run.wrapped = outer
    elif _is_absent(array, gold) or _is_absent(array, extracted):
        _score_absent(place)
    elif type(gold) is not list or type(extracted) is not list:
        _score_as_one(place)
    elif not gold and not extracted and run.empty_is_free:
        place.keep_shape(MATCH)
    elif len(path) > DEEPEST:
        _score_as_one(place, f"nested more than {DEEPEST} steps deep")
    else:
        _score_rows(place)


def _listed(value: Json) -> list[Json]:
    return value if type(value) is list else [value]


def _is_absent(array: Array, value: Value) -> bool:
    return value is MISSING or value is None or (array.empty_absent and type(value) is list and not value)


def _score_absent(place: _Place) -> None:
    """Score an array that at least one side does not have."""
    run, array, gold, extracted, path, at = place
    no_gold = _is_absent(array, gold)
    if no_gold and _is_absent(array, extracted):
        run.vacuous += not run.empty_is_free
        if run.both_passed:
            place.keep_result(MATCH, 1.0, agreed_absence(gold, extracted))
        return
    value, status = (extracted, HALLUCINATION) if no_gold else (gold, OMISSION)
    reason = f"gold is {absence(gold)}" if no_gold else f"extracted is {absence(extracted)}"
    if run.absent_rules and rule_of(run, array.pattern, path) == "either":
        place.keep_result(SKIPPED, 0.0, "the case lets it be empty or not")
        return
    place.keep_result(status, 0.0, reason)
    if type(value) is list and run.empty_is_free:
        score_missing(run, array, value, status, path, at)
    elif type(value) is list and value:
        _score_left_over(place, range(len(value)), status)
    else:
        place.keep_shape(status, reason)


def _score_as_one(place: _Place, reason: str | None = None) -> None:
    """Score what stands in an array's place as one value; no `reason`: it is not a list on both sides."""
    status, why = compare_as_one(place.run, "an array", place.gold, place.extracted)
    place.keep_result(status, float(status is MATCH), reason or why)
    place.keep_shape(status, reason or why)


def _score_rows(place: _Place) -> None:
    """Pair the rows of two lists and score them; pairs that turn out to have nothing in common are taken back."""
    run, array, gold, extracted, path, at = place
    pairing: Pairing | str | None = _identity(array, gold, extracted)
    if pairing is None:
        pairing = pair_rows(run, array, gold, extracted, path)
    if isinstance(pairing, str):
        place.keep_result(JUDGE_ERROR, 0.0, pairing)
        place.keep_shape(JUDGE_ERROR, pairing)
        return
    base, first = path if at is None else at, len(run.leaves)
    kept: list[tuple[int, int]] = []
    flawed: list[slice] = []
    for i, j in pairing.pairs:
        mark, start = run.mark(), len(run.leaves)
        where = None if i == j and at is None else (*base, j)
        run.walk(array.row(i), gold[i], extracted[j], (*path, i), where)
        if run.mismatch_count > mark.mismatch_count:
            fit = run.fit(run.leaves[start:])
            if array.align.mode in ("best_fit", "multiset") and fit.share == 0.0 and not fit.undecided:
                run.rollback(mark)
                continue
            flawed.append(slice(start, len(run.leaves)))
        kept.append((i, j))
    if len(kept) < len(pairing.pairs):
        pairing = paired(kept, len(gold), len(extracted))
    _score_left_over(place, pairing.missing, OMISSION)
    _score_left_over(place, pairing.extra, HALLUCINATION)
    if not run.depth:
        _open(place, pairing, first, flawed)


def _identity(array: Array, gold: list[Json], extracted: list[Json]) -> Pairing | None:
    """Pair two lists that are equal as they stand; None where they are not, or where equal ones may stay unpaired."""
    if not array.equal_first or len(gold) != len(extracted):
        return None
    try:
        same = gold == extracted and canonical_json(gold) == canonical_json(extracted)  # 1 is not true
    except RecursionError:
        return None
    return by_position(len(gold), len(gold)) if same else None


def _score_left_over(place: _Place, indices: Sequence[int], status: Status) -> None:
    """Score rows without a partner; invented ones stand at -1, -2, ... in their order."""
    run, array, gold, extracted, path, at = place
    base = path if at is None else at
    for number, index in enumerate(indices):
        if status is OMISSION:
            score_missing(run, array.row(index), gold[index], status, (*path, index), None)
        else:
            step = -number - 1
            score_missing(run, array.row(index), extracted[index], status, (*path, step), (*base, index))


# --- numbers and the array's own result


def _open(place: _Place, pairing: Pairing, first: int, flawed: Sequence[slice]) -> None:
    """Keep the pairing, and the array's own result, both to be worked out at the end."""
    run, array, gold, extracted, path, _ = place
    field = len(run.fields) if array.result is not None and array.field else None
    leaves = slice(first, len(run.leaves))
    number = len(run.arrays)
    run.open_arrays.append(OpenArray(array, gold, extracted, pairing, number, field, leaves, (*flawed,)))
    run.arrays.append(ArrayResult(as_place(path), *pairing, 1.0, 1.0, 1.0))
    place.keep_result(JUDGE_ERROR, 0.0)


def finish_arrays(run: ScoringContext) -> None:
    """Work out the numbers of all arrays, and the results of those that have one."""
    for one in run.open_arrays:
        fits = [run.fit(run.leaves[rows]) for rows in one.flawed]
        right = len(one.pairing.pairs) - len(fits)
        total = fsum(fit.share for fit in fits) + right
        height, width = len(one.gold), len(one.extracted)
        precision, recall = total / width if width else 1.0, total / height if height else 1.0
        f1 = _f1(total, height, width)
        numbers = run.arrays[one.number]._replace(precision=precision, recall=recall, f1=f1)
        run.arrays[one.number] = numbers
        result = one.array.result
        if one.field is None or result is None:
            continue
        if result.number == "recall":
            status, score, reason = _recall(run, one, result)
        else:
            at_best = right + fsum((fit.score + fit.undecided) / fit.weight if fit.weight else 1.0 for fit in fits)
            status, score, reason = _row_score(
                one, result.threshold, total, at_best, sum(fit.undecided > 0 for fit in fits)
            )
        run.fields[one.field] = run.fields[one.field]._replace(
            status=status, score=score, passed=status is MATCH, reason=reason
        )


def _f1(total: float, height: int, width: int) -> float:
    return 2 * total / (height + width) if height + width else 1.0


def _row_score(one: OpenArray, threshold: float, total: float, at_best: float, still_open: int) -> Outcome:
    """Return the F1 of the rows; `at_best`: what their scores add up to where all that is undecided is right."""
    height, width = len(one.gold), len(one.extracted)
    f1 = _f1(total, height, width)
    paired_rows = f"{len(one.pairing.pairs)} rows paired (their scores add up to {total:.4g}), {_left(one.pairing)}"
    if f1 < threshold <= _f1(at_best, height, width) and still_open:
        return JUDGE_ERROR, 0.0, f"{still_open} pairs have undecided fields; {paired_rows}"
    return MATCH if f1 >= threshold else MISMATCH, f1, paired_rows if f1 < 1.0 else None


def _recall(run: ScoringContext, one: OpenArray, result: ArrayMetric) -> Outcome:
    """Return the share of gold's rows whose pair is right in every leaf."""
    depth, height = len(run.arrays[one.number].path), len(one.gold)
    wrong: set[Step] = set()
    undecided: set[Step] = set()
    for leaf in run.leaves[one.leaves]:
        if not leaf.passed and len(leaf.path) > depth and leaf.status is not SKIPPED:
            (undecided if leaf.status is JUDGE_ERROR else wrong).add(leaf.path[depth])
    rows = {row for row, _ in one.pairing.pairs}
    right, still_open = rows - wrong - undecided, (rows & undecided) - wrong
    # two empty lists are equal; only the published metric, by its own rule for null, recalls nothing then
    published = run.absent and result.named[0] != "array"
    both_empty = not height and not one.pairing.extra
    score = 1.0 if both_empty and not published else len(right) / max(1, height)
    found = f"{len(rows)} rows paired, {_left(one.pairing)}"
    reason = f"{len(right)} of {height} gold rows are right in every field; {found}"
    if still_open:
        return JUDGE_ERROR, 0.0, f"{len(still_open)} pairs have undecided fields; {reason}"
    status = MATCH if score >= result.threshold else MISMATCH
    return status, score, reason if score < 1.0 else None


def _left(pairing: Pairing) -> str:
    return f"{len(pairing.missing)} missing, {len(pairing.extra)} invented"
