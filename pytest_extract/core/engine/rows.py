"""Scores pairs of rows of a table: each differing cell; all others match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import Final, NamedTuple

from pytest_extract.core.compile.nodes import Array
from pytest_extract.core.engine.context import Path, ScoringContext
from pytest_extract.core.engine.leaf import check_leaf
from pytest_extract.core.engine.matches import NO_OTHERS, Matches
from pytest_extract.core.engine.table import Pairs, RowFit, Table, places_of
from pytest_extract.core.results import FieldResult, Pairing, Status
from pytest_extract.core.values import FieldPath

_UNCOUNTED: Final = (Status.SKIPPED, Status.JUDGE_ERROR)  # a set asks for the hash of the name
_new: Final = tuple.__new__


class Walked(NamedTuple):
    """What scoring some pairs of rows gave: the pairing without those that have nothing in common, and summed scores.

    `lost`: which pairs (by their places among all) are not wholly right, and which share of their weight is lost at
    most.
    """

    pairing: Pairing
    total: float
    lost: Mapping[int, float]

    @classmethod
    def of(cls, pairing: Pairing, fits: Mapping[int, RowFit]) -> Walked:
        """Return what pairs gave that are right but for some, by their places, which fit as these say."""
        pairs, missing, extra = pairing
        if not fits:
            return _new(cls, (pairing, float(len(pairs)), fits))
        undone = {pairs[row] for row, fit in fits.items() if fit.apart}
        if undone:
            from pytest_extract.core.matching.pairing import paired  # few pairs have nothing in common

            height, width = len(pairs) + len(missing), len(pairs) + len(extra)
            pairing = paired([pair for pair in pairs if pair not in undone], height, width)
        # summed exactly, so that the order of rows changes nothing
        total = fsum([*[fit.score for fit in fits.values()], len(pairs) - len(fits)])
        return _new(cls, (pairing, total, {row: fit.lost for row, fit in fits.items()}))


class LikelyPairing(NamedTuple):
    """A pairing that is likely the best one, and whether what its pairs gave proves it.

    `aligned`: the rows of its pairs, where they are laid out.
    """

    pairing: Pairing
    aligned: Table | None
    is_best: Callable[[Walked], bool]


def keep_equal(run: ScoringContext, table: Table, path: Path, at: Path | None) -> None:
    """Keep a match for every cell of two tables that have no differing cell, but for cells absent on both sides."""
    items, size = table.items, table.height
    wheres = None if at is None else items.places.table(at, size)
    both_absent = table.diff.both_absent
    run.vacuous += len(both_absent) + size * (table.declared_width - table.width)
    others = dict.fromkeys(both_absent) if both_absent else NO_OTHERS
    gold, paths = table.gold, items.places.table(path, size)
    matches = items.entries, 0, len(gold), paths, wheres, gold, table.extracted, others
    run.keep(_new(Matches, matches), field=items.field)


def keep_equal_values(run: ScoringContext, table: Table, pairs: Pairs, path: Path, at: Path | None) -> bool:
    """Keep a match for each pair of values; False, with nothing kept, unless they are equal and surely match."""
    column = table.items.entries[0]
    rows, others = zip(*pairs, strict=True)
    ours, theirs = (*map(table.gold.__getitem__, rows),), (*map(table.extracted.__getitem__, others),)
    kinds = [*map(type, ours)]
    if ours != theirs or kinds != [*map(type, theirs)] or not column.fast.issuperset(kinds):
        return False
    paths, wheres = places_of(table.items, pairs, path, at)
    matches = table.items.entries, 0, len(ours), paths, wheres, ours, theirs, NO_OTHERS
    run.keep(_new(Matches, matches), field=table.items.field)
    return True


def keep_pairs(
    run: ScoringContext, array: Array, table: Table, pairing: Pairing, path: Path, at: Path | None
) -> Walked:
    """Score pairs of rows, laid out in their order."""
    pairs = pairing.pairs
    places, wheres = places_of(table.items, pairs, path, at)
    others, flawed = _score_differing(run, table, places, wheres)
    both_absent = [*others.values()].count(None)
    width, unused = table.width, table.declared_width - table.width
    fits: dict[int, RowFit] = {}
    undone = 0
    for row, wrong in flawed.items():
        fit = _quick_fit(run, table, wrong) if not both_absent else None
        if fit is None:
            from pytest_extract.core.engine.pairs import row_fit  # right outputs need no fit

            leaves = map(others.get, range(row * width, (row + 1) * width), table.bulk.weights)
            fit = row_fit(run, array, [leaf for leaf in leaves if leaf is not None])
        fits[row] = fit
        if fit.apart:
            undone += 1
            own = dict.fromkeys(range(row * width, (row + 1) * width))
            both_absent -= [others.get(cell, wrong) for cell in own].count(None)
            others |= own
        else:
            run.mismatch_count += len(wrong)
    run.vacuous += both_absent + (len(pairs) - undone) * unused
    matches = table.items.entries, 0, len(table.gold), places, wheres, table.gold, table.extracted, others
    run.keep(_new(Matches, matches), field=table.items.field)
    return Walked.of(pairing, fits)


def _score_differing(
    run: ScoringContext, table: Table, places: Sequence[FieldPath], wheres: Sequence[FieldPath | None] | None
) -> tuple[dict[int, FieldResult | None], Mapping[int, list[FieldResult]]]:
    """Return the results of the cells that differ, None where both are absent, and the mismatches by row."""
    *_, bulk, gold, extracted, (differing, both_absent), width = table
    leaves, where = bulk.leaves, None
    flawed: dict[int, list[FieldResult]] = {}
    results: dict[int, FieldResult | None] = dict.fromkeys(both_absent)
    for cell in differing:
        leaf = leaves[cell % width]
        if wheres is not None:
            where = wheres[cell]
        result = check_leaf(run, leaf, leaf.checks[0], gold[cell], extracted[cell], places[cell], where)
        results[cell] = result
        if result is not None and (result.score != 1.0 or not result.passed):
            flawed.setdefault(cell // width, []).append(result)
    return results, flawed


def _quick_fit(run: ScoringContext, table: Table, wrong: Sequence[FieldResult]) -> RowFit | None:
    """Return how well a pair of full rows fits by its mismatches alone; None where no right cell is left for sure."""
    weight = table.bulk.weight
    if run.f1 or not weight or len(wrong) == table.width:
        return None
    lost = 0.0
    for result in wrong:
        if result.status in _UNCOUNTED:
            return None
        lost += result.weight * (1.0 - result.score)
    return _new(RowFit, ((weight - lost) / weight, lost / weight, False))
