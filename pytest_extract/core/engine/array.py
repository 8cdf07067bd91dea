"""Scores arrays: pairs the rows, scores the pairs, and gives the array its one result.

What pairs rows is imported where rows differ: it takes 12 ms, and most outputs of a suite are right.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from pytest_extract.core.compile.nodes import Array, Leaf
from pytest_extract.core.engine.context import DEEPEST, Path, ScoringContext, absence, agreed_absence, is_present
from pytest_extract.core.engine.leaf import rule_of, walk_leaf
from pytest_extract.core.engine.matches import NO_OTHERS
from pytest_extract.core.engine.table import Table, equal_values, keep_cells, places_in_order, to_table
from pytest_extract.core.engine.walk import accepted, compare_as_one, score_missing
from pytest_extract.core.engine.whole import ArrayPlace, conclude_equal, left_over, row_plan
from pytest_extract.core.results import HALLUCINATION, MATCH, OMISSION, SKIPPED
from pytest_extract.core.values import MISSING, Json, Value

_new: Final = tuple.__new__


def walk_array(run: ScoringContext, array: Array, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score an array on both sides, whatever stands in its place."""
    if type(gold) is not list or type(extracted) is not list or not gold or not extracted or len(path) > DEEPEST:
        _score_otherwise(_new(ArrayPlace, (run, array, gold, extracted, path, at)), None)
        return
    likely_equal, values = array.equal_first and len(gold) == len(extracted), array.values
    if likely_equal and values is not None and not run.both_passed and equal_values(values, gold, extracted):
        keep_cells(run, values, gold, extracted, places_in_order(values, len(gold), path, at))
        conclude_equal(run, array, gold, extracted, path, at)
        return
    place, table = _new(ArrayPlace, (run, array, gold, extracted, path, at)), None
    by_value = values is not None and array.align.mode == "multiset"
    if not by_value or (likely_equal and _look_equal(gold, extracted)):
        table = to_table(run, array, gold, extracted)
        if likely_equal and not (table and table.diff.differing) and _keep_equal_rows(place, table):
            return
    if run.accept or array.checks or array.wrap:
        _score_otherwise(place, table)
    else:
        _row_scorer()(place, table)


def _score_otherwise(place: ArrayPlace, table: Table | None) -> None:
    """Score what is not two lists of rows alone: accepted readings, metrics on the whole list, absence, other types."""
    run, array, gold, extracted, path, at = place
    if run.accept:
        gold, table = accepted(run, array, gold, extracted, path), None
        place = place._replace(gold=gold)
    if array.checks:
        whole = Leaf(pattern=array.pattern, checks=array.checks, field=array.field, empty_absent=array.empty_absent)
        walk_leaf(run, whole, gold, extracted, path, at)
    if array.wrap and is_present(gold) and is_present(extracted):
        _score_wrapped(place, table)
    elif _is_absent(array, gold) or _is_absent(array, extracted):
        _score_absent(place)
    elif type(gold) is not list or type(extracted) is not list:
        _score_as_one(place)
    elif not gold and not extracted and run.empty_is_free:
        place.keep_shape(MATCH)
    elif len(path) > DEEPEST:
        _score_as_one(place, f"nested more than {DEEPEST} steps deep")
    else:
        _row_scorer()(place, table)


@cache
def _row_scorer() -> Callable[[ArrayPlace, Table | None], None]:
    """Import what scores rows, once: to ask for it at every list takes a hundredth of the time of a small case."""
    from pytest_extract.core.engine.rows import score_rows

    return score_rows


def _score_wrapped(place: ArrayPlace, table: Table | None) -> None:
    """Score what may be a list or a single row; a row that is no list and may be one in turn is one value."""
    run, _, gold, extracted, path, _ = place
    single = type(gold) is not list and type(extracted) is not list
    if len(path) > DEEPEST or (single and run.wrapped is not None and run.wrapped == path[:-1]):
        _score_as_one(place)
        return
    outer, run.wrapped = run.wrapped, path if single else None
    _row_scorer()(place._replace(gold=_listed(gold), extracted=_listed(extracted)), table)
    run.wrapped = outer


def _listed(value: Json) -> list[Json]:
    return value if type(value) is list else [value]


def _is_absent(array: Array, value: Value) -> bool:
    return value is MISSING or value is None or (array.empty_absent and type(value) is list and not value)


def _score_absent(place: ArrayPlace) -> None:
    """Score an array that at least one side does not have."""
    run, array, gold, extracted, path, at = place
    no_gold = _is_absent(array, gold)
    if no_gold and _is_absent(array, extracted):
        if not run.empty_is_free:
            run.vacuous += 1
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
        left_over(place, range(len(value)), status)
    else:
        place.keep_shape(status, reason)


def _score_as_one(place: ArrayPlace, reason: str | None = None) -> None:
    """Score what stands in an array's place as one value; no `reason`: it is not a list on both sides."""
    status, why = compare_as_one(place.run, "an array", place.gold, place.extracted)
    place.keep_result(status, float(status is MATCH), reason or why)
    place.keep_shape(status, reason or why)


def _keep_equal_rows(place: ArrayPlace, table: Table | None) -> bool:
    """Score two lists of one length as they stand, where they are equal; False, with nothing kept, where they are not.

    `table`: of their rows, where they are laid out; it has no differing cell.
    Other rows get a quick look: 1 and true are told apart only when they are scored, and taken back then.
    """
    run, array, gold, extracted, path, at = place
    if table is not None:
        _keep_equal(run, table, path, at)
    else:
        # a list that was tried before, inside a row that is walked again, is known to be unlike
        if place.key in run.pairings or not _look_equal(gold, extracted):
            return False
        mark, wrong, walkers = run.mark(), run.mismatch_count, run.walkers
        for index, (one, other) in enumerate(zip(gold, extracted, strict=True)):
            plan = row_plan(array, index)
            walkers[type(plan)](run, plan, one, other, (*path, index), None if at is None else (*at, index))
        if run.mismatch_count > wrong:
            run.rollback(mark)
            return False
    conclude_equal(*place)
    return True


def _look_equal(gold: Json, extracted: Json) -> bool:
    """Whether Python finds two values equal; a quick look, 1 and true are alike. False where it is nested too deep."""
    try:
        return bool(gold == extracted)
    except RecursionError:
        return False


def _keep_equal(run: ScoringContext, table: Table, path: Path, at: Path | None) -> None:
    """Keep a match for every cell of two tables that have no differing cell, but for cells absent on both sides."""
    declared, items, _, _, gold, extracted, (_, both_absent), width = table
    size = len(gold) // width
    run.vacuous += len(both_absent) + size * (len(declared.entries) - width)
    others = dict.fromkeys(both_absent) if both_absent else NO_OTHERS
    keep_cells(run, items, gold, extracted, places_in_order(items, size, path, at), others)
