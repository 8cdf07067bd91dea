"""Scores arrays: pairs the rows, scores the pairs, and gives the array its one result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from pytest_extract.core.align import Pairing
from pytest_extract.core.columns import PairScore, f1_of
from pytest_extract.core.plan_nodes import Array, ArrayResult, Leaf, Object, Plan
from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.score_equal import keep_equal
from pytest_extract.core.score_leaf import rule_of, walk_leaf
from pytest_extract.core.score_pairing import Undecided, pair_rows
from pytest_extract.core.score_pairs import sums
from pytest_extract.core.score_run import DEEPEST, MOST_KEPT, ArrayPairing, Path, Run, absence, alike, equal, there
from pytest_extract.core.score_walk import accepted, lacking, wrong_kind
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing

_new: Final = tuple.__new__
"""Makes a named tuple in a quarter of the time that its own constructor takes."""


class _Mark(NamedTuple):
    """How far the results were, to take back what came after."""

    leaves: int
    fields: int
    arrays: int
    flaws: int
    vacuous: int
    pending: int


def _mark(run: Run) -> _Mark:
    sizes = (len(run.leaves), len(run.fields), len(run.arrays), run.flaws, run.vacuous, len(run.pending))
    return _new(_Mark, sizes)


def _take_back(run: Run, mark: _Mark) -> None:
    del run.leaves[mark.leaves :], run.fields[mark.fields :], run.arrays[mark.arrays :], run.pending[mark.pending :]
    run.flaws, run.vacuous = mark.flaws, mark.vacuous


def walk_array(
    run: Run, array: Array, gold: Json | Missing, extracted: Json | Missing, path: Path, at: Path | None
) -> None:
    """Score an array on both sides, whatever stands in its place."""
    if array.equal_first and type(gold) is list and type(extracted) is list and len(path) <= DEEPEST:
        size = len(gold)
        if size and size == len(extracted) and _equal_rows(run, array, (gold, extracted), path, at):
            return
    if run.accept:
        gold = accepted(run, array, gold, extracted, path)
    if array.checks:
        whole = Leaf(pattern=array.pattern, checks=array.checks, field=array.field, empty_absent=array.empty_absent)
        walk_leaf(run, whole, gold, extracted, path, at)
    if array.wrap and there(gold) and there(extracted):
        _rows(run, array, _listed(gold), _listed(extracted), path, at)
    elif _is_absent(array, gold) or _is_absent(array, extracted):
        _one_side(run, array, gold, extracted, path, at)
    elif type(gold) is not list or type(extracted) is not list:
        _wrong(run, array, gold, extracted, path, at)
    elif not gold and not extracted and run.free:
        run.shape(array, Status.MATCH, (gold, extracted), path, at)
    elif len(path) > DEEPEST:
        same = Status.MATCH if equal(run, gold, extracted) else Status.MISMATCH
        _both_results(run, array, same, (gold, extracted), path, at, f"nested more than {DEEPEST} steps deep")
    else:
        _rows(run, array, gold, extracted, path, at)


def _listed(value: Json) -> list[Json]:
    return value if type(value) is list else [value]


def _is_absent(array: Array, value: Json | Missing) -> bool:
    return value is MISSING or value is None or (array.empty_absent and type(value) is list and not value)


def _one_side(
    run: Run, array: Array, gold: Json | Missing, extracted: Json | Missing, path: Path, at: Path | None
) -> None:
    """Score an array that at least one side does not have."""
    no_gold, none = _is_absent(array, gold), _is_absent(array, extracted)
    if no_gold and none:
        _absent_on_both(run, array, gold, extracted, path, at)
        return
    value, status = (extracted, Status.HALLUCINATION) if no_gold else (gold, Status.OMISSION)
    side, other = ("gold", gold) if no_gold else ("extracted", extracted)
    if run.absent_rules and rule_of(run, array.pattern, path) == "either":
        _array_result(run, array, Status.SKIPPED, 0.0, (gold, extracted), path, at, "the case lets it be empty or not")
        return
    _array_result(run, array, status, 0.0, (gold, extracted), path, at, f"{side} is {absence(other)}")
    if run.free:
        if type(value) is list:
            lacking(run, array, value, status, path, at)
        else:
            run.shape(array, status, (gold, extracted), path, at, f"{side} is {absence(other)}")
    elif type(value) is list and value:
        _left_over(run, array, value, range(len(value)), status, path, at)
    else:
        run.shape(array, status, (gold, extracted), path, at, f"{side} is {absence(other)}", field=False)


def _absent_on_both(
    run: Run, array: Array, gold: Json | Missing, extracted: Json | Missing, path: Path, at: Path | None
) -> None:
    if run.free and not run.absent:
        # a list against null is one field, null against null is none
        if type(gold) is list or type(extracted) is list:
            status = Status.OMISSION if type(gold) is list else Status.HALLUCINATION
            run.shape(array, status, (gold, extracted), path, at)
        return
    run.vacuous += 1
    if run.both_passed:
        one, other = absence(gold), absence(extracted)
        reason = f"both are {one}" if one == other else f"both are absent: gold {one}, extracted {other}"
        _array_result(run, array, Status.MATCH, 1.0, (gold, extracted), path, at, reason)


def _wrong(run: Run, array: Array, gold: Json, extracted: Json, path: Path, at: Path | None) -> None:
    same = equal(run, gold, extracted)
    reason = "not an array, but equal to gold" if same else wrong_kind("an array", gold, extracted)
    _both_results(run, array, Status.MATCH if same else Status.MISMATCH, (gold, extracted), path, at, reason)


def _both_results(
    run: Run,
    array: Array,
    status: Status,
    values: tuple[Json, Json],
    path: Path,
    at: Path | None,
    reason: str,
) -> None:
    """Keep the array's result and one leaf result for an array that is compared as one value."""
    _array_result(run, array, status, 1.0 if status is Status.MATCH else 0.0, values, path, at, reason)
    run.shape(array, status, values, path, at, reason, field=array.field and array.result is None)


def _equal_rows(run: Run, array: Array, lists: tuple[Json, Json], path: Path, at: Path | None) -> bool:
    """Score two lists of one length as they stand, where they are equal; False, with nothing kept, where they are not.

    The looks at them are quick ones: 1 and true are told apart only when the rows are scored, and taken back then.
    """
    items, size = array.items, len(lists[0])
    table = False
    if type(items) is Object and items.bulk is not None and not array.prefix:
        wheres = None if at is None else items.places.table(at, size)
        table = keep_equal(run, items, lists[0], lists[1], items.places.table(path, size), wheres)
    if not table:
        # a list that was tried before, inside a row that is walked again, is known to be unlike
        if (id(array), *map(id, lists)) in run.pairings or not alike(*lists):
            return False
        mark = _mark(run)
        _walk_equal(run, array, lists, path, at)
        if run.flaws > mark.flaws:
            _take_back(run, mark)
            return False
    if not run.depth:
        run.arrays.append(_new(ArrayPairing, (FieldPath(path), identity(size), (), (), 1.0, 1.0, 1.0)))
        _array_result(run, array, Status.MATCH, 1.0, lists, path, at, None)
    return True


@lru_cache(maxsize=64)
def identity(size: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of a list with itself."""
    return tuple((index, index) for index in range(size))


def _rows(run: Run, array: Array, gold: list[Json], extracted: list[Json], path: Path, at: Path | None) -> None:
    """Pair the rows and score them."""
    lists = gold, extracted
    found = _pairing(run, array, gold, extracted, path)
    if isinstance(found, Undecided):
        _array_result(run, array, Status.JUDGE_ERROR, 0.0, lists, path, at, found.reason)
        run.shape(array, Status.JUDGE_ERROR, lists, path, at, found.reason, field=False)
        return
    undone, total = _walk_pairs(run, array, lists, found, path, at)
    if undone:
        found = _without(found, undone)
    _left_over(run, array, gold, found.missing, Status.OMISSION, path, at)
    _left_over(run, array, extracted, found.extra, Status.HALLUCINATION, path, at)
    _conclude(run, array, lists, found, total, path, at)


def _pairing(run: Run, array: Array, gold: list[Json], extracted: list[Json], path: Path) -> Pairing | Undecided:
    """Return the pairing of two lists; those of lists inside candidate rows are kept, for the rows that are taken."""
    key = (id(array), id(gold), id(extracted))
    known = run.pairings.get(key)
    if known is None:
        found = pair_rows(run, array, gold, extracted, path)
        if isinstance(found, Undecided):
            return found
        known = found
        if len(run.pairings) < MOST_KEPT:
            run.pairings[key] = known
    return known


def _without(pairing: Pairing, undone: set[tuple[int, int]]) -> Pairing:
    kept = tuple(pair for pair in pairing.pairs if pair not in undone)
    missing = tuple(sorted((*pairing.missing, *(i for i, _ in undone))))
    return Pairing(kept, missing, tuple(sorted((*pairing.extra, *(j for _, j in undone)))))


def _row_plan(array: Array, index: int) -> Plan:
    return array.prefix[index] if index < len(array.prefix) else array.items


def _walk_equal(run: Run, array: Array, lists: tuple[list[Json], list[Json]], path: Path, at: Path | None) -> None:
    """Score two lists that look equal, row by row."""
    walkers = run.walkers
    for index, (gold, extracted) in enumerate(zip(*lists, strict=True)):
        plan = array.prefix[index] if index < len(array.prefix) else array.items
        walkers[type(plan)](run, plan, gold, extracted, (*path, index), None if at is None else (*at, index))


def _walk_pairs(
    run: Run, array: Array, lists: tuple[list[Json], list[Json]], pairing: Pairing, path: Path, at: Path | None
) -> tuple[set[tuple[int, int]], float]:
    """Score the pairs; return those that turned out to have nothing in common, and the sum of the others' scores."""
    base = path if at is None else at
    undone: set[tuple[int, int]] = set()
    total = 0.0
    for pairs in _runs(array, lists, pairing.pairs):
        if len(pairs) > 1 and _keep_run(run, array, lists, pairs, path, at):
            total += len(pairs)
            continue
        for i, j in pairs:
            mark = _mark(run)
            where = None if i == j and at is None else (*base, j)
            run.walk(_row_plan(array, i), lists[0][i], lists[1][j], (*path, i), where)
            score = 1.0 if run.flaws == mark.flaws else _judge_pair(run, array, mark)
            if score is None:
                _take_back(run, mark)
                undone.add((i, j))
            else:
                total += score
    return undone, total


def _judge_pair(run: Run, array: Array, mark: _Mark) -> float | None:
    """Return the score of the pair that was walked since `mark`; None for one that best fit had better left apart."""
    leaves = run.leaves[mark.leaves :]
    score = pair_number(run, sums(leaves))
    apart = score == 0.0 and array.align.mode in ("best_fit", "multiset")
    return None if apart and all(leaf.status is not Status.JUDGE_ERROR for leaf in leaves) else score


def _runs(
    array: Array, lists: tuple[list[Json], list[Json]], pairs: tuple[tuple[int, int], ...]
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Cut the pairs into runs: rows of scalars that follow each other on both sides and look equal, or one pair."""
    gold, extracted = lists
    start, size = 0, len(pairs)
    items = array.items
    flat = type(items) is Object and items.bulk is not None and not array.prefix
    while start < size:
        end = start + 1
        if flat:
            (i, j), last = pairs[start], start
            while last < size and pairs[last] == (i, j) and alike(gold[i], extracted[j]):
                i, j, last = i + 1, j + 1, last + 1
            end = max(last, end)
        yield pairs[start:end]
        start = end


def _keep_run(
    run: Run,
    array: Array,
    lists: tuple[list[Json], list[Json]],
    pairs: tuple[tuple[int, int], ...],
    path: Path,
    at: Path | None,
) -> bool:
    """Score a run of rows that look equal all at once."""
    (i, j), size, items = pairs[0], len(pairs), array.items
    if type(items) is not Object:
        return False
    width = len(items.places.names)
    places = items.places.table(path, i + size)[i * width :]
    wheres = None
    if i != j or at is not None:
        wheres = items.places.table(path if at is None else at, j + size)[j * width :]
    return keep_equal(run, items, lists[0][i : i + size], lists[1][j : j + size], places, wheres)


def pair_number(run: Run, sums: PairScore) -> float:
    """Return a pair's score: its F1, or the weighted mean of its leaves; 1.0 where nothing was scorable."""
    score, compared, omitted, hallucinated = sums
    if run.f1:
        return f1_of(score, compared + omitted, compared + hallucinated)
    counted = compared + omitted + hallucinated
    return score / counted if counted else 1.0


def _left_over(
    run: Run, array: Array, rows: list[Json], indices: Sequence[int], status: Status, path: Path, at: Path | None
) -> None:
    """Score the rows without a partner; invented ones stand at -1, -2, ... in their order."""
    base = path if at is None else at
    for place, index in enumerate(indices):
        if status is Status.OMISSION:
            lacking(run, _row_plan(array, index), rows[index], status, (*path, index), None)
        else:
            lacking(run, _row_plan(array, index), rows[index], status, (*path, -place - 1), (*base, index))


def _conclude(
    run: Run,
    array: Array,
    lists: tuple[list[Json], list[Json]],
    pairing: Pairing,
    total: float,
    path: Path,
    at: Path | None,
) -> None:
    """Keep the pairing with its numbers, and the array's own result."""
    if run.depth:
        return
    height, width = len(lists[0]), len(lists[1])
    numbers = (total / width if width else 1.0, total / height if height else 1.0)
    f1 = 2 * total / (height + width) if height + width else 1.0
    run.arrays.append(_new(ArrayPairing, (FieldPath(path), *pairing, *numbers, f1)))
    result = array.result
    if result is None or not array.field:
        return
    score = f1
    if result.number == "recall":
        # the judge's word is that a pair matches; other aligners only say that it fits best
        matched = float(len(pairing.pairs)) if array.align.mode == "judge" else total
        score = matched / max(1, height)
    status = Status.MATCH if score >= result.threshold else Status.MISMATCH
    _array_result(run, array, status, score, lists, path, at, _summary(pairing, total) if score < 1.0 else None)


def _summary(pairing: Pairing, total: float) -> str:
    pairs, missing, extra = (len(part) for part in pairing)
    return f"{pairs} rows paired (their scores add up to {total:.4g}), {missing} missing, {extra} invented"


def _array_result(
    run: Run,
    array: Array,
    status: Status,
    score: float,
    values: tuple[Json | Missing, Json | Missing],
    path: Path,
    at: Path | None,
    reason: str | None,
) -> None:
    """Keep the array's field result, where the semantics give one and the array stands outside others."""
    result: ArrayResult | None = array.result
    if result is None or not array.field:
        return
    kept = (
        FieldPath(path), array.pattern, result.metric, result.params, status, score, status is Status.MATCH,
        values[0], values[1], reason, result.weight, None if at is None else FieldPath(at),
    )  # fmt: skip
    run.fields.append(_new(FieldResult, kept))
