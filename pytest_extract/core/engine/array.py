"""Scores arrays: pairs the rows, scores the pairs, and gives the array its one result.

What pairs rows is imported where rows differ: it takes 12 ms, and most outputs of a suite are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_extract.core.compile.nodes import Array, Leaf, Node
from pytest_extract.core.engine.context import (
    DEEPEST,
    Path,
    ScoringContext,
    absence,
    agreed_absence,
    is_present,
    looks_equal,
)
from pytest_extract.core.engine.leaf import rule_of, walk_leaf
from pytest_extract.core.engine.matches import weights_or_results
from pytest_extract.core.engine.rows import LikelyPairing, Walked, keep_equal, keep_equal_values, keep_pairs
from pytest_extract.core.engine.table import Table, to_table
from pytest_extract.core.engine.walk import accepted, compare_as_one, score_missing
from pytest_extract.core.engine.whole import ArrayPlace, Undecided, conclude, conclude_equal
from pytest_extract.core.results import Pairing, Status
from pytest_extract.core.values import MISSING, Json, Value

_new: Final = tuple.__new__


def walk_array(  # noqa: C901 - a call for each array would cost more
    run: ScoringContext, array: Array, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    """Score an array on both sides, whatever stands in its place."""
    place, table = _new(ArrayPlace, (run, array, gold, extracted, path, at)), None
    if type(gold) is list and type(extracted) is list and gold and extracted and len(path) <= DEEPEST:
        table = to_table(run, array, gold, extracted)
        if table and table.full and not run.depth:
            run.tables.append((gold, extracted, table))
        if array.equal_first and len(gold) == len(extracted) and _keep_equal_rows(place, table):
            return
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
        place.keep_shape(Status.MATCH)
    elif len(path) > DEEPEST:
        _score_as_one(place, f"nested more than {DEEPEST} steps deep")
    else:
        _score_rows(place, table)


def _score_wrapped(place: ArrayPlace, table: Table | None) -> None:
    """Score what may be a list or a single row; a row that is no list and may be one in turn is one value."""
    run, _, gold, extracted, path, _ = place
    single = type(gold) is not list and type(extracted) is not list
    if len(path) > DEEPEST or (single and run.wrapped is not None and run.wrapped == path[:-1]):
        _score_as_one(place)
        return
    outer, run.wrapped = run.wrapped, path if single else None
    _score_rows(place._replace(gold=_listed(gold), extracted=_listed(extracted)), table)
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
            place.keep_result(Status.MATCH, 1.0, agreed_absence(gold, extracted))
        return
    value, status = (extracted, Status.HALLUCINATION) if no_gold else (gold, Status.OMISSION)
    reason = f"gold is {absence(gold)}" if no_gold else f"extracted is {absence(extracted)}"
    if run.absent_rules and rule_of(run, array.pattern, path) == "either":
        place.keep_result(Status.SKIPPED, 0.0, "the case lets it be empty or not")
        return
    place.keep_result(status, 0.0, reason)
    if type(value) is list and run.empty_is_free:
        score_missing(run, array, value, status, path, at)
    elif type(value) is list and value:
        _left_over(place, range(len(value)), status)
    else:
        place.keep_shape(status, reason)


def _score_as_one(place: ArrayPlace, reason: str | None = None) -> None:
    """Score what stands in an array's place as one value; no `reason`: it is not a list on both sides."""
    status, why = compare_as_one(place.run, "an array", place.gold, place.extracted)
    place.keep_result(status, float(status is Status.MATCH), reason or why)
    place.keep_shape(status, reason or why)


def _keep_equal_rows(place: ArrayPlace, table: Table | None) -> bool:
    """Score two lists of one length as they stand, where they are equal; False, with nothing kept, where they are not.

    The looks at them are quick ones: 1 and true are told apart only when the rows are scored, and taken back then.
    """
    run, array, gold, extracted, path, at = place
    if table is not None:
        if table.diff.differing:
            return False
        keep_equal(run, table, path, at)
    else:
        # a list that was tried before, inside a row that is walked again, is known to be unlike
        if place.key in run.pairings or not looks_equal(gold, extracted):
            return False
        mark, walkers = run.mark(), run.walkers
        for index, (one, other) in enumerate(zip(gold, extracted, strict=True)):
            plan = _row_plan(array, index)
            walkers[type(plan)](run, plan, one, other, (*path, index), None if at is None else (*at, index))
        if run.mismatch_count > mark.mismatch_count:
            run.rollback(mark)
            return False
    conclude_equal(place)
    return True


def _score_rows(place: ArrayPlace, table: Table | None) -> None:
    """Pair the rows and score them."""
    first = len(place.run.leaves)
    walked = _walk_likely(place, table)
    if walked is None:
        found = _pairing(place, table)
        if not isinstance(found, Pairing):
            place.keep_result(Status.JUDGE_ERROR, 0.0, found.reason)
            place.keep_shape(Status.JUDGE_ERROR, found.reason)
            return
        walked = _walk_pairs(place, table, found)
    pairing = walked.pairing
    if pairing.missing:
        _left_over(place, pairing.missing, Status.OMISSION)
    if pairing.extra:
        _left_over(place, pairing.extra, Status.HALLUCINATION)
    conclude(place, pairing, walked.total, first)


def _walk_likely(place: ArrayPlace, table: Table | None) -> Walked | None:
    """Score the pairs that likely fit best; None, with nothing kept, where there are none or others do."""
    run, likely = place.run, _likely_pairing(place, table)
    if likely is None:
        return None
    mark = run.mark()
    walked = _walk_pairs(place, table, likely.pairing, likely.aligned)
    if likely.is_best(walked):
        run.remember(place.key, walked.pairing, (place.gold, place.extracted))
    elif _pairing(place, table) != walked.pairing:
        run.rollback(mark)
        return None
    return walked


def _likely_pairing(place: ArrayPlace, table: Table | None) -> LikelyPairing | None:
    """Return the pairing that is likely the best fit; None where there is none, or the best one is known."""
    run, array, gold, extracted, *_ = place
    if array.align.mode != "best_fit" or run.f1 or not run.absent or place.key in run.pairings:
        return None
    if table is None:
        from pytest_extract.core.engine.in_place import likely_in_place

        return likely_in_place(run, array, gold, extracted)
    from pytest_extract.core.engine.quick_fit import likely, proved

    found = likely(table, objects=table.declared is array.items)
    if found is None:
        return None
    aligned = table.take(run, found.pairs)
    return _new(LikelyPairing, (found, aligned, lambda walked: proved(table, aligned, found, walked.lost)))


def _pairing(place: ArrayPlace, table: Table | None) -> Pairing | Undecided:
    """Return the pairing of two lists; those of lists inside candidate rows are kept, for the rows that are taken."""
    run, array, gold, extracted, path, _ = place
    if (known := run.pairings.get(place.key)) is not None:
        return known[0]
    from pytest_extract.core.engine.pairing import pair_rows

    found = pair_rows(run, array, gold, extracted, table, path)
    if isinstance(found, Pairing):
        run.remember(place.key, found, (gold, extracted))
    return found


def _row_plan(array: Array, index: int) -> Node:
    return array.prefix[index] if index < len(array.prefix) else array.items


def _walk_pairs(place: ArrayPlace, table: Table | None, pairing: Pairing, aligned: Table | None = None) -> Walked:
    """Score the pairs; those that turn out to have nothing in common are taken back."""
    run, array, gold, extracted, path, at = place
    pairs = pairing.pairs
    if table is not None and pairs:
        if aligned is None:
            if table.width == 1 and keep_equal_values(run, table, pairs, path, at):
                return Walked.of(pairing, {})
            aligned = table.take(run, pairs)
        return keep_pairs(run, array, aligned, pairing, path, at)
    from pytest_extract.core.engine.pairs import row_fit

    base = path if at is None else at
    fits = {}
    for row, (i, j) in enumerate(pairs):
        mark = run.mark()
        where = None if i == j and at is None else (*base, j)
        run.walk(_row_plan(array, i), gold[i], extracted[j], (*path, i), where)
        if run.mismatch_count > mark.mismatch_count:
            fits[row] = row_fit(run, array, [*weights_or_results(run.leaves[mark.leaves :])])
            if fits[row].apart:
                run.rollback(mark)
    return Walked.of(pairing, fits)


def _left_over(place: ArrayPlace, indices: Sequence[int], status: Status) -> None:
    """Score rows without a partner; invented ones stand at -1, -2, ... in their order."""
    run, array, gold, extracted, path, at = place
    base = path if at is None else at
    for number, index in enumerate(indices):
        if status is Status.OMISSION:
            score_missing(run, _row_plan(array, index), gold[index], status, (*path, index), None)
        else:
            score_missing(run, _row_plan(array, index), extracted[index], status, (*path, -number - 1), (*base, index))
