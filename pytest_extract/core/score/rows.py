"""Scores pairs of rows of a table: matches for all cells at once, then each odd cell in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Final, NamedTuple

from pytest_extract.core.plan.nodes import Array
from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.score.leaf import checked
from pytest_extract.core.score.pairs import RowFit, row_fit
from pytest_extract.core.score.run import Path, Run
from pytest_extract.core.score.table import Pairs, Table, matches, places_of
from pytest_extract.core.values import FieldPath

_WRONG: Final = frozenset({Status.MATCH, Status.MISMATCH, Status.OMISSION, Status.HALLUCINATION})


class Walked(NamedTuple):
    """What scoring some pairs of rows gave: pairs with nothing in common, taken back, and the others' summed scores.

    `lost`: gold rows that are not wholly right, and which share of their weight is lost at most.
    """

    undone: set[tuple[int, int]]
    total: float
    lost: dict[int, float]


def keep_equal(run: Run, table: Table, path: Path, at: Path | None) -> None:
    """Keep a match for every cell of two tables that have no odd cell, but for void ones."""
    items, bulk, gold, extracted, (_, void) = table
    size = len(gold) // len(bulk.patterns)
    wheres = None if at is None else items.places.table(at, size)
    results = [*matches(bulk, gold, extracted, items.places.table(path, size), wheres)]
    if void:
        run.vacuous += len(void)
        for cell in reversed(void):
            del results[cell]
    run.leaves += results
    if items.field:
        run.fields += results


def keep_pairs(run: Run, array: Array, table: Table, pairs: Pairs, path: Path, at: Path | None) -> Walked:
    """Score pairs of rows."""
    if not table.is_whole(pairs):
        table = table.take(run, pairs)
    places, wheres = places_of(table.items, pairs, path, at)
    results: list[FieldResult | None] = [*matches(table.bulk, table.gold, table.extracted, places, wheres)]
    flawed = _put_odd(run, table, places, wheres, results)
    width = table.width
    undone: set[tuple[int, int]] = set()
    lost: dict[int, float] = {}
    scores: list[float] = []
    for row, wrong in flawed.items():
        fit = _row_fit(run, array, table, results[row * width : (row + 1) * width], wrong)
        lost[pairs[row][0]] = fit.lost
        scores.append(fit.score)
        if fit.apart:
            undone.add(pairs[row])
            results[row * width : (row + 1) * width] = [None] * width
        else:
            run.flaws += len(wrong)
    kept = [result for result in results if result is not None]
    run.vacuous += len(results) - len(kept) - len(undone) * width
    run.leaves += kept
    if table.items.field:
        run.fields += kept
    # summed exactly, so that the order of rows changes nothing
    return Walked(undone, fsum([*scores, len(pairs) - len(scores)]), lost)


def _put_odd(
    run: Run,
    table: Table,
    places: Sequence[FieldPath],
    wheres: Sequence[FieldPath | None] | None,
    results: list[FieldResult | None],
) -> Mapping[int, list[FieldResult]]:
    """Put the results of odd cells in their places, none for void ones; return the flaws by row."""
    _, bulk, gold, extracted, (odd, void) = table
    leaves, width, where = bulk.leaves, len(bulk.leaves), None
    flawed: dict[int, list[FieldResult]] = {}
    for cell in void:
        results[cell] = None
    for cell in odd:
        leaf = leaves[cell % width]
        if wheres is not None:
            where = wheres[cell]
        result = checked(run, leaf, leaf.checks[0], gold[cell], extracted[cell], places[cell], where)
        results[cell] = result
        if result is not None and (result.status is not Status.MATCH or result.score != 1.0):
            flawed.setdefault(cell // width, []).append(result)
    return flawed


def _row_fit(
    run: Run, array: Array, table: Table, results: Sequence[FieldResult | None], wrong: Sequence[FieldResult]
) -> RowFit:
    """Return how well a pair of rows fits, from its flaws alone where a right cell is left and all cells count."""
    weight = table.bulk.weight
    if run.f1 or not weight or len(wrong) == len(results) or None in results or not _all_count(wrong):
        return row_fit(run, array, [result for result in results if result is not None])
    lost = sum([result.weight * (1.0 - result.score) for result in wrong])
    return RowFit((weight - lost) / weight, lost / weight, apart=False)


def _all_count(wrong: Sequence[FieldResult]) -> bool:
    return all(result.status in _WRONG for result in wrong)
