"""Scores pairs of rows of a table: matches for all cells at once, then each differing cell in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.core.compile.nodes import Array
from pytest_extract.core.engine.context import Path, ScoringContext
from pytest_extract.core.engine.leaf import check_leaf
from pytest_extract.core.engine.table import Pairs, RowFit, Table, matches, places_of
from pytest_extract.core.results import COUNTED, FieldResult, Status
from pytest_extract.core.values import FieldPath

_NOTHING: Final[Mapping[int, float]] = MappingProxyType({})


class Walked(NamedTuple):
    """What scoring some pairs of rows gave: pairs with nothing in common, taken back, and the others' summed scores.

    `lost`: of a table, which pairs (by their places among all) are not wholly right, and which share of their weight
    is lost at most.
    """

    undone: set[tuple[int, int]]
    total: float
    lost: Mapping[int, float] = _NOTHING


def keep_equal(run: ScoringContext, table: Table, path: Path, at: Path | None) -> None:
    """Keep a match for every cell of two tables that have no differing cell, but for cells absent on both sides."""
    items, bulk, gold, extracted, (_, both_absent) = table
    size = len(gold) // len(bulk.patterns)
    wheres = None if at is None else items.places.table(at, size)
    results = [*matches(bulk, gold, extracted, items.places.table(path, size), wheres)]
    if both_absent:
        run.vacuous += len(both_absent)
        for cell in reversed(both_absent):
            del results[cell]
    run.leaves += results
    if items.field:
        run.fields += results


def keep_pairs(
    run: ScoringContext, array: Array, table: Table, pairs: Pairs, path: Path, at: Path | None, *, placed: bool
) -> Walked:
    """Score pairs of rows, laid out in their order; `placed`: whether these are all rows as they stand."""
    places, wheres = (
        (table.items.places.table(path, len(pairs)), None)
        if placed and at is None
        else places_of(table.items, pairs, path, at)
    )
    results: list[FieldResult | None] = [*matches(table.bulk, table.gold, table.extracted, places, wheres)]
    from pytest_extract.core.engine.pairs import row_fit  # right outputs need no fit

    flawed, empty = _put_differing(run, table, places, wheres, results)
    width = table.width
    undone: set[tuple[int, int]] = set()
    lost: dict[int, float] = {}
    scores: list[float] = []
    for row, wrong in flawed.items():
        own = slice(row * width, (row + 1) * width)
        fit = _quick_fit(run, table, wrong) if not empty else None
        if fit is None:
            fit = row_fit(run, array, [*filter(None, results[own])])
        lost[row] = fit.lost
        scores.append(fit.score)
        if fit.apart:
            undone.add(pairs[row])
            results[own] = [None] * width
        else:
            run.mismatch_count += len(wrong)
    kept = [*filter(None, results)]
    run.vacuous += len(results) - len(kept) - len(undone) * width
    run.leaves += kept
    if table.items.field:
        run.fields += kept
    # summed exactly, so that the order of rows changes nothing
    return Walked(undone, fsum([*scores, len(pairs) - len(scores)]), lost)


def _put_differing(
    run: ScoringContext,
    table: Table,
    places: Sequence[FieldPath],
    wheres: Sequence[FieldPath | None] | None,
    results: list[FieldResult | None],
) -> tuple[Mapping[int, list[FieldResult]], bool]:
    """Put the results of differing cells in their places, none where both are absent.

    Return the mismatches by row, and whether some cells have no result.
    """
    _, bulk, gold, extracted, (differing, both_absent) = table
    leaves, width, where = bulk.leaves, len(bulk.leaves), None
    flawed: dict[int, list[FieldResult]] = {}
    empty = bool(both_absent)
    for cell in both_absent:
        results[cell] = None
    for cell in differing:
        leaf = leaves[cell % width]
        if wheres is not None:
            where = wheres[cell]
        result = check_leaf(run, leaf, leaf.checks[0], gold[cell], extracted[cell], places[cell], where)
        results[cell] = result
        if result is None:
            empty = True
        elif result.status is not Status.MATCH or result.score != 1.0:
            flawed.setdefault(cell // width, []).append(result)
    return flawed, empty


def _quick_fit(run: ScoringContext, table: Table, wrong: Sequence[FieldResult]) -> RowFit | None:
    """Return how well a pair of full rows fits by its mismatches alone; None where no right cell is left for sure."""
    weight = table.bulk.weight
    if run.f1 or not weight or len(wrong) == table.width:
        return None
    lost = 0.0
    for result in wrong:
        if result.status not in COUNTED:
            return None
        lost += result.weight * (1.0 - result.score)
    return RowFit((weight - lost) / weight, lost / weight, apart=False)
