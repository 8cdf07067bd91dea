"""Scores of rows of a table without results: what a pair of rows would score, cell by cell."""

from __future__ import annotations

from itertools import compress
from operator import ne

from pytest_extract.core.compile.nodes import FlatTable
from pytest_extract.core.engine.context import is_present
from pytest_extract.core.engine.table import Table
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import Value


def row_score(table: Table, i: int, j: int) -> float:
    """Return the weighted mean score of two rows, as scoring them would give it (nulls being absent)."""
    weights, width = table.bulk.weights, table.width
    ours, theirs = table.gold[i * width : (i + 1) * width], table.extracted[j * width : (j + 1) * width]
    total, lost = sum(weights), 0.0
    unlike = {*compress(range(len(ours)), map(ne, ours, theirs))}
    if [*map(type, ours)] != [*map(type, theirs)]:
        unlike.update(place for place, one in enumerate(ours) if type(one) is not type(theirs[place]))
    for place in sorted(unlike):
        lost += weights[place] * (1.0 - _cell_score(table.bulk, place, ours[place], theirs[place]))
    for place, one in enumerate(ours):
        if not is_present(one) and not is_present(theirs[place]):
            total -= weights[place]
            lost -= weights[place] if place in unlike else 0.0
    return (total - lost) / total if total > 0 else 1.0


def _cell_score(bulk: FlatTable, place: int, one: Value, other: Value) -> float:
    metric, types = bulk.likeness[place], bulk.leaves[place].types
    if metric is None or not is_present(one) or not is_present(other):
        return 0.0
    if types is not None and type_fits(types, one) and not type_fits(types, other):
        return 0.0
    return metric.compare(one, other)


def is_plain(table: Table) -> bool:
    """Whether no cell is transformed before it is compared."""
    return None not in table.bulk.likeness
