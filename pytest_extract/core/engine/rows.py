"""Scores the rows of two lists that are not equal: pairs them, and scores each pair and what is left over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_extract.core.compile.nodes import Array
from pytest_extract.core.engine.context import Path, ScoringContext
from pytest_extract.core.engine.in_place import likely_in_place
from pytest_extract.core.engine.leaf import check_leaf
from pytest_extract.core.engine.pairing import pair_rows
from pytest_extract.core.engine.pairs import row_fit
from pytest_extract.core.engine.quick_fit import likely_in_table
from pytest_extract.core.engine.table import RowFit, Table, Walked, equal_values, keep_cells, places_of, to_table
from pytest_extract.core.engine.whole import ArrayPlace, Undecided, conclude, left_over, row_plan
from pytest_extract.core.results import HALLUCINATION, JUDGE_ERROR, OMISSION, SKIPPED, FieldResult, Pairing
from pytest_extract.core.values import FieldPath


def score_rows(place: ArrayPlace, table: Table | None) -> None:
    """Pair the rows and score them."""
    first = len(place.run.leaves)
    walked = _walk_likely(place, table) if place.array.align.mode == "best_fit" else None
    if walked is None:
        found = _pairing(place, table)
        if not isinstance(found, Pairing):
            place.keep_result(JUDGE_ERROR, 0.0, found.reason)
            place.keep_shape(JUDGE_ERROR, found.reason)
            return
        walked = _walk_pairs(place, table, found)
    pairing = walked.pairing
    if pairing.missing:
        left_over(place, pairing.missing, OMISSION)
    if pairing.extra:
        left_over(place, pairing.extra, HALLUCINATION)
    conclude(place, pairing, walked.total, first)


def _walk_likely(place: ArrayPlace, table: Table | None) -> Walked | None:
    """Score the pairs that likely fit best; None, with nothing kept, where none do, or the best ones are known."""
    (run, array, gold, extracted, _, _), key = place, place.key
    if run.f1 or not run.absent or key in run.pairings:
        return None
    candidate = likely_in_place(run, array, gold, extracted) if table is None else likely_in_table(run, array, table)
    if candidate is None:
        return None
    mark = run.mark()
    walked = _walk_pairs(place, table, candidate.pairing, candidate.aligned)
    if candidate.is_best(walked):
        run.remember(key, walked.pairing, (gold, extracted))
    elif _pairing(place, table) != walked.pairing:
        run.rollback(mark)
        return None
    return walked


def _pairing(place: ArrayPlace, table: Table | None) -> Pairing | Undecided:
    """Return the pairing of two lists; those of lists inside candidate rows are kept, for the rows that are taken."""
    (run, array, gold, extracted, path, _), key = place, place.key
    if (known := run.pairings.get(key)) is not None:
        return known[0]
    found = pair_rows(run, array, gold, extracted, table, path)
    if isinstance(found, Pairing):
        run.remember(key, found, (gold, extracted))
    return found


def _walk_pairs(place: ArrayPlace, table: Table | None, pairing: Pairing, aligned: Table | None = None) -> Walked:
    """Score the pairs; those that turn out to have nothing in common are taken back."""
    run, array, gold, extracted, path, at = place
    pairs = pairing.pairs
    if aligned is None and pairs:
        if (values := array.values) is not None:
            ours, theirs = [gold[i] for i, _ in pairs], [extracted[j] for _, j in pairs]
            if equal_values(values, ours, theirs):
                keep_cells(run, values, ours, theirs, places_of(values, pairs, path, at))
                return Walked.of(pairing, {})
            table = table or to_table(run, array, gold, extracted)
        aligned = table.take(run, pairs) if table else None
    if aligned is not None:
        return _keep_pairs(run, array, aligned, pairing, path, at)
    base = path if at is None else at
    fits = {}
    for row, (i, j) in enumerate(pairs):
        mark, wrong, first = run.mark(), run.mismatch_count, len(run.leaves)
        where = None if i == j and at is None else (*base, j)
        run.walk(row_plan(array, i), gold[i], extracted[j], (*path, i), where)
        if run.mismatch_count > wrong:
            _, _, apart = fits[row] = row_fit(run, array, run.leaves[first:])
            if apart:
                run.rollback(mark)
    return Walked.of(pairing, fits)


def _keep_pairs(
    run: ScoringContext, array: Array, table: Table, pairing: Pairing, path: Path, at: Path | None
) -> Walked:
    """Score pairs of rows, laid out in their order."""
    pairs, items = pairing.pairs, table.items
    places, wheres = places_of(items, pairs, path, at)
    others, flawed = _score_differing(run, table, places, wheres)
    both_absent = [*others.values()].count(None)
    width, unused = table.width, table.declared_width - table.width
    weight = 0.0 if both_absent or run.f1 else table.bulk.weight
    fits: dict[int, RowFit] = {}
    undone = 0
    for row, wrong in flawed.items():
        fit = _quick_fit(weight, wrong) if weight and len(wrong) < width else None
        if fit is None:
            cells = row * width, (row + 1) * width
            fit = row_fit(run, array, [(items.properties, *cells, places, wheres, table.gold, table.extracted, others)])
        _, _, apart = fits[row] = fit
        if apart:
            undone += 1
            own = dict.fromkeys(range(row * width, (row + 1) * width))
            both_absent -= [others.get(cell, wrong) for cell in own].count(None)
            others |= own
        else:
            run.mismatch_count += len(wrong)
    run.vacuous += both_absent + (len(pairs) - undone) * unused
    keep_cells(run, items, table.gold, table.extracted, (places, wheres), others)
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


def _quick_fit(weight: float, wrong: Sequence[FieldResult]) -> RowFit | None:
    """Return how well a pair of full rows that weigh so much fits by its mismatches alone; None where some are open."""
    lost = 0.0
    for result in wrong:
        if result.status is SKIPPED or result.status is JUDGE_ERROR:
            return None
        lost += result.weight * (1.0 - result.score)
    return (weight - lost) / weight, lost / weight, False
