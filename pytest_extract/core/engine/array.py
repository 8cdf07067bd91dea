"""Scores arrays: pairs the rows, scores the pairs, and gives the array its one result.

What pairs rows is imported where rows differ: it takes 12 ms, and most outputs of a suite are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import TYPE_CHECKING, Final, TypeAlias

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object
from pytest_extract.core.engine.context import (
    DEEPEST,
    Path,
    ScoringContext,
    absence,
    equal,
    is_present,
    looks_equal,
)
from pytest_extract.core.engine.leaf import rule_of, walk_leaf
from pytest_extract.core.engine.matches import weights_or_results
from pytest_extract.core.engine.rows import Walked, keep_equal, keep_equal_values, keep_pairs
from pytest_extract.core.engine.table import Pairs, Table, identity, to_table
from pytest_extract.core.engine.walk import accepted, score_missing, wrong_kind
from pytest_extract.core.engine.whole import array_result, conclude, conclude_equal
from pytest_extract.core.results import Status
from pytest_extract.core.values import MISSING, Json, Value

if TYPE_CHECKING:
    from pytest_extract.core.engine.pairing import Undecided
    from pytest_extract.core.matching.pairing import Pairing

Lists: TypeAlias = tuple[list[Json], list[Json]]
_new: Final = tuple.__new__


def walk_array(  # noqa: C901 - a call for each array would cost more
    run: ScoringContext, array: Array, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    """Score an array on both sides, whatever stands in its place."""
    table = None
    if type(gold) is list and type(extracted) is list and gold and extracted and len(path) <= DEEPEST:
        table = to_table(run, array, gold, extracted)
        if table and table.full and not run.depth:
            run.tables.append((gold, extracted, table))
        as_many = array.equal_first and len(gold) == len(extracted)
        if as_many and _equal_rows(run, array, (gold, extracted), table, path, at):
            return
    if run.accept:
        gold, table = accepted(run, array, gold, extracted, path), None
    if array.checks:
        whole = Leaf(pattern=array.pattern, checks=array.checks, field=array.field, empty_absent=array.empty_absent)
        walk_leaf(run, whole, gold, extracted, path, at)
    if array.wrap and is_present(gold) and is_present(extracted):
        _wrapped_rows(run, array, gold, extracted, table, path, at)
    elif _is_absent(array, gold) or _is_absent(array, extracted):
        _one_side(run, array, gold, extracted, path, at)
    elif type(gold) is not list or type(extracted) is not list:
        _wrong(run, array, gold, extracted, path, at)
    elif not gold and not extracted and run.empty_is_free:
        run.shape(array, Status.MATCH, (gold, extracted), path, at)
    elif len(path) > DEEPEST:
        same = Status.MATCH if equal(run, gold, extracted) else Status.MISMATCH
        _both_results(run, array, same, (gold, extracted), path, at, f"nested more than {DEEPEST} steps deep")
    else:
        _rows(run, array, (gold, extracted), table, path, at)


def _wrapped_rows(
    run: ScoringContext, array: Array, gold: Json, extracted: Json, table: Table | None, path: Path, at: Path | None
) -> None:
    """Score what may be a list or a single row; a row that is no list and may be one in turn is one value."""
    single = type(gold) is not list and type(extracted) is not list
    if len(path) > DEEPEST or (single and run.wrapped is not None and run.wrapped == path[:-1]):
        _wrong(run, array, gold, extracted, path, at)
        return
    outer, run.wrapped = run.wrapped, path if single else None
    _rows(run, array, (_listed(gold), _listed(extracted)), table, path, at)
    run.wrapped = outer


def _listed(value: Json) -> list[Json]:
    return value if type(value) is list else [value]


def _is_absent(array: Array, value: Value) -> bool:
    return value is MISSING or value is None or (array.empty_absent and type(value) is list and not value)


def _one_side(run: ScoringContext, array: Array, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score an array that at least one side does not have."""
    no_gold, none = _is_absent(array, gold), _is_absent(array, extracted)
    if no_gold and none:
        _absent_on_both(run, array, gold, extracted, path, at)
        return
    value, status = (extracted, Status.HALLUCINATION) if no_gold else (gold, Status.OMISSION)
    side, other = ("gold", gold) if no_gold else ("extracted", extracted)
    if run.absent_rules and rule_of(run, array.pattern, path) == "either":
        array_result(run, array, Status.SKIPPED, 0.0, (gold, extracted), path, at, "the case lets it be empty or not")
        return
    array_result(run, array, status, 0.0, (gold, extracted), path, at, f"{side} is {absence(other)}")
    if run.empty_is_free:
        if type(value) is list:
            score_missing(run, array, value, status, path, at)
        else:
            run.shape(array, status, (gold, extracted), path, at, f"{side} is {absence(other)}")
    elif type(value) is list and value:
        _left_over(run, array, value, range(len(value)), status, path, at)
    else:
        run.shape(array, status, (gold, extracted), path, at, f"{side} is {absence(other)}", field=False)


def _absent_on_both(
    run: ScoringContext, array: Array, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    if run.empty_is_free and not run.absent:
        # a list against null is one field, null against null is none
        if type(gold) is list or type(extracted) is list:
            status = Status.OMISSION if type(gold) is list else Status.HALLUCINATION
            run.shape(array, status, (gold, extracted), path, at)
        return
    run.vacuous += 1
    if run.both_passed:
        one, other = absence(gold), absence(extracted)
        reason = f"both are {one}" if one == other else f"both are absent: gold {one}, extracted {other}"
        array_result(run, array, Status.MATCH, 1.0, (gold, extracted), path, at, reason)


def _wrong(run: ScoringContext, array: Array, gold: Json, extracted: Json, path: Path, at: Path | None) -> None:
    same = equal(run, gold, extracted)
    reason = "not an array, but equal to gold" if same else wrong_kind("an array", gold, extracted)
    _both_results(run, array, Status.MATCH if same else Status.MISMATCH, (gold, extracted), path, at, reason)


def _both_results(
    run: ScoringContext,
    array: Array,
    status: Status,
    values: tuple[Json, Json],
    path: Path,
    at: Path | None,
    reason: str,
) -> None:
    """Keep the array's result and one leaf result for an array that is compared as one value."""
    array_result(run, array, status, 1.0 if status is Status.MATCH else 0.0, values, path, at, reason)
    run.shape(array, status, values, path, at, reason, field=array.field and array.result is None)


def _equal_rows(
    run: ScoringContext, array: Array, lists: Lists, table: Table | None, path: Path, at: Path | None
) -> bool:
    """Score two lists of one length as they stand, where they are equal; False, with nothing kept, where they are not.

    The looks at them are quick ones: 1 and true are told apart only when the rows are scored, and taken back then.
    """
    if table is not None:
        if table.diff.differing:
            return False
        keep_equal(run, table, path, at)
    else:
        # a list that was tried before, inside a row that is walked again, is known to be unlike
        if _key(array, lists) in run.pairings or not looks_equal(*lists):
            return False
        mark = run.mark()
        _walk_equal(run, array, lists, path, at)
        if run.mismatch_count > mark.mismatch_count:
            run.rollback(mark)
            return False
    conclude_equal(run, array, lists, path, at)
    return True


def _walk_equal(run: ScoringContext, array: Array, lists: Lists, path: Path, at: Path | None) -> None:
    """Score two lists that look equal, row by row."""
    walkers = run.walkers
    for index, (gold, extracted) in enumerate(zip(*lists, strict=True)):
        plan = _row_plan(array, index)
        walkers[type(plan)](run, plan, gold, extracted, (*path, index), None if at is None else (*at, index))


def _rows(run: ScoringContext, array: Array, lists: Lists, table: Table | None, path: Path, at: Path | None) -> None:
    """Pair the rows and score them."""
    first = len(run.leaves)
    if table is not None and _likely_rows(run, array, lists, table, path, at):
        return
    if table is None and _rows_in_place(run, array, lists, path, at):
        return
    from pytest_extract.core.engine.pairing import Undecided

    found = _pairing(run, array, lists, table, path)
    if isinstance(found, Undecided):
        array_result(run, array, Status.JUDGE_ERROR, 0.0, lists, path, at, found.reason)
        run.shape(array, Status.JUDGE_ERROR, lists, path, at, found.reason, field=False)
        return
    walked = _walk_pairs(run, array, lists, table, found.pairs, path, at)
    if walked.undone:
        found = _without(found, walked.undone)
    _finish(run, array, lists, found, walked.total, path, at, first)


def _finish(
    run: ScoringContext,
    array: Array,
    lists: Lists,
    pairing: Pairing,
    total: float,
    path: Path,
    at: Path | None,
    first: int,
) -> None:
    if pairing.missing:
        _left_over(run, array, lists[0], pairing.missing, Status.OMISSION, path, at)
    if pairing.extra:
        _left_over(run, array, lists[1], pairing.extra, Status.HALLUCINATION, path, at)
    conclude(run, array, lists, pairing, total, path, at, first)


def _likely_rows(run: ScoringContext, array: Array, lists: Lists, table: Table, path: Path, at: Path | None) -> bool:
    """Score the pairs of rows that likely fit best, where they prove to do; False, with nothing kept, elsewhere."""
    if array.align.mode != "best_fit" or run.f1 or not run.absent or _key(array, lists) in run.pairings:
        return False
    from pytest_extract.core.engine.quick_fit import likely, proved

    found = likely(table, objects=table.declared is array.items)
    if found is None:
        return False
    mark = run.mark()
    aligned = table.take(run, found.pairs)
    walked = keep_pairs(run, array, aligned, found.pairs, path, at, placed=aligned is table)
    is_proved = proved(table, aligned, found, walked.lost)
    found = _without(found, walked.undone) if walked.undone else found
    if is_proved:
        run.remember(array, found, lists)
    elif _pairing(run, array, lists, table, path) != found:
        run.rollback(mark)
        return False
    _finish(run, array, lists, found, walked.total, path, at, mark.leaves)
    return True


def _rows_in_place(run: ScoringContext, array: Array, lists: Lists, path: Path, at: Path | None) -> bool:
    """Score rows in their places, where few differ; False, with nothing kept, if they may fit better elsewhere."""
    items = array.items
    if not isinstance(items, Object) or _key(array, lists) in run.pairings:
        return False
    from pytest_extract.core.engine.in_place import are_alike, rows_in_place, unlike_rows
    from pytest_extract.core.matching.pairing import Pairing

    unlike = unlike_rows(run, array, *lists)
    if not unlike:
        return False
    alike = any(map(are_alike, lists))
    rows = None if alike else rows_in_place(run, items, *lists, unlike)
    if not alike and (rows is None or not rows.is_likely()):
        return False
    mark = run.mark()
    found = Pairing(identity(len(lists[0])), (), ())
    walked = _walk_pairs(run, array, lists, None, found.pairs, path, at)
    scores = {row: 1.0 - lost for row, lost in walked.lost.items()}
    # 1 and true are equal for Python, but not when they are scored
    if walked.undone or not scores.keys() <= {*unlike} or not (rows is None or rows.is_best(scores)):
        run.rollback(mark)
        return False
    run.remember(array, found, lists)
    _finish(run, array, lists, found, walked.total, path, at, mark.leaves)
    return True


def _pairing(run: ScoringContext, array: Array, lists: Lists, table: Table | None, path: Path) -> Pairing | Undecided:
    """Return the pairing of two lists; those of lists inside candidate rows are kept, for the rows that are taken."""
    key = _key(array, lists)
    if (known := run.pairings.get(key)) is not None:
        return known[0]
    from pytest_extract.core.engine.pairing import Undecided, pair_rows

    found = pair_rows(run, array, *lists, table, path)
    if not isinstance(found, Undecided):
        run.remember(array, found, lists)
    return found


def _key(array: Array, lists: Lists) -> tuple[int, int, int]:
    return id(array), id(lists[0]), id(lists[1])


def _without(pairing: Pairing, undone: set[tuple[int, int]]) -> Pairing:
    from pytest_extract.core.matching.pairing import Pairing

    kept = tuple(pair for pair in pairing.pairs if pair not in undone)
    missing = tuple(sorted((*pairing.missing, *(i for i, _ in undone))))
    return Pairing(kept, missing, tuple(sorted((*pairing.extra, *(j for _, j in undone)))))


def _row_plan(array: Array, index: int) -> Node:
    return array.prefix[index] if index < len(array.prefix) else array.items


def _walk_pairs(
    run: ScoringContext, array: Array, lists: Lists, table: Table | None, pairs: Pairs, path: Path, at: Path | None
) -> Walked:
    """Score the pairs; those that turn out to have nothing in common are taken back."""
    if table is not None and pairs:
        if table.width == 1 and keep_equal_values(run, table, pairs, path, at):
            return Walked(set(), float(len(pairs)), {})
        aligned = table.take(run, pairs)
        return keep_pairs(run, array, aligned, pairs, path, at, placed=aligned is table)
    from pytest_extract.core.engine.pairs import row_fit

    base = path if at is None else at
    undone: set[tuple[int, int]] = set()
    lost: dict[int, float] = {}
    scores: list[float] = []
    for place, (i, j) in enumerate(pairs):
        mark = run.mark()
        where = None if i == j and at is None else (*base, j)
        run.walk(_row_plan(array, i), lists[0][i], lists[1][j], (*path, i), where)
        if run.mismatch_count == mark.mismatch_count:
            continue
        fit = row_fit(run, array, [*weights_or_results(run.leaves[mark.leaves :])])
        lost[place] = fit.lost
        scores.append(fit.score)
        if fit.apart:
            run.rollback(mark)
            undone.add((i, j))
    return Walked(undone, fsum([*scores, len(pairs) - len(scores)]), lost)


def _left_over(
    run: ScoringContext,
    array: Array,
    rows: list[Json],
    indices: Sequence[int],
    status: Status,
    path: Path,
    at: Path | None,
) -> None:
    """Score the rows without a partner; invented ones stand at -1, -2, ... in their order."""
    base = path if at is None else at
    for place, index in enumerate(indices):
        if status is Status.OMISSION:
            score_missing(run, _row_plan(array, index), rows[index], status, (*path, index), None)
        else:
            score_missing(run, _row_plan(array, index), rows[index], status, (*path, -place - 1), (*base, index))
