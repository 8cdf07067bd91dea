"""Best fit: pairs rows so that the summed score of the pairs is highest; equal rows first, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object
from pytest_extract.core.engine.assignment import fitting_pairs
from pytest_extract.core.engine.columns import Column, column_of, columns_of, has_invented_keys, pair_fit, single_check
from pytest_extract.core.engine.context import Path, ScoringContext, equal
from pytest_extract.core.engine.keyed import pair_equal, paired
from pytest_extract.core.metrics import equality
from pytest_extract.core.results import Pairing
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import MISSING, Json, Value


def best_fit(
    run: ScoringContext, node: Node, gold: Sequence[Json], extracted: Sequence[Json], places: Sequence[Path]
) -> Pairing:
    """Pair rows that one node scores; `places`: where those of gold stand. Rows of score 0 are left over.

    Under struct-extract-eval the assignment chooses among all pairs, whatever is equal, as published.
    """
    height, width = len(gold), len(extracted)
    if run.f1:
        return paired(_assigned(run, node, gold, extracted, places, None), height, width)
    equal_rows = pair_equal(*([row_key(run, node, row) for row in side] for side in (gold, extracted)))
    pairs, rows, columns = equal_rows
    if len(rows) == len(columns) == 1:  # the usual mistake takes no matrix
        (i,), (j,) = rows, columns
        fits = pair_fit(run, node, gold[i], extracted[j], places[i] if run.is_ruled(node) else ()).share > 0.0
        return paired([*pairs, (i, j)], height, width) if fits else equal_rows
    if not rows or not columns:
        return equal_rows
    left = [gold[i] for i in rows], [extracted[j] for j in columns], [places[i] for i in rows]
    found = _assigned(run, node, *left, (rows, columns))
    return paired([*pairs, *((rows[i], columns[j]) for i, j in found)], height, width)


def _assigned(
    run: ScoringContext,
    node: Node,
    gold: Sequence[Json],
    extracted: Sequence[Json],
    places: Sequence[Path],
    order: tuple[Sequence[int], Sequence[int]] | None,
) -> list[tuple[int, int]]:
    """Assign rows by columns of what stands in them; those that no columns hold, one by one."""
    height, width = len(gold), len(extracted)
    if not isinstance(node, Object) or node.checks or node.groups:
        columns: list[Column] = [column_of(run, node, gold, extracted, places)]
        return fitting_pairs(columns, height, width, places=order)
    is_whole, is_ruled = run.is_ruled_itself(node), run.is_ruled(node)

    def is_odd(row: Json) -> bool:
        return is_whole or type(row) is not dict or not row or has_invented_keys(node, row)

    def score(i: int, j: int) -> float:
        if not is_whole and (type(gold[i]) is not dict or type(extracted[j]) is not dict):
            return float(equal(run, gold[i], extracted[j]))
        return pair_fit(run, node, gold[i], extracted[j], places[i] if is_ruled else ()).share

    odd = [j for j, row in enumerate(extracted) if is_odd(row)]
    known = {(i, j): score(i, j) for i, row in enumerate(gold) for j in (range(width) if is_odd(row) else odd)}
    sides = [[row if type(row) is dict else MISSING for row in side] for side in (gold, extracted)]
    columns = columns_of(run, node, sides[0], sides[1], places)
    return fitting_pairs(columns, height, width, known=known, places=order)


def row_key(run: ScoringContext, node: Node, value: Value) -> Hashable:
    """Return what tells rows apart: those with the same key match in every leaf."""
    if value is MISSING or (value is None and run.absent):
        return MISSING
    check = single_check(node)
    if check is not None and isinstance(node, Leaf):
        key = None if check.transform is not None or check.likeness is not None else check.metric.key
        if key is not None and (node.types is None or type_fits(node.types, value)):
            return key(value)
    elif isinstance(node, Object) and type(value) is dict and not node.checks and not node.groups:
        own = tuple([row_key(run, entry.node, value.get(entry.name, MISSING)) for entry in node.entries])
        further = [
            (name, equality.json_text(value[name]))
            for name in value.keys() - node.names
            if not run.absent or value[name] is not None
        ]
        return (own, tuple(sorted(further))) if further else own
    elif isinstance(node, Array) and type(value) is list and not node.checks and not node.prefix:
        if not value:
            return MISSING if node.empty_absent else ()
        if node.align.mode in ("best_fit", "multiset"):
            return frozenset(Counter(row_key(run, node.items, row) for row in value).items())
    return equality.json_text(value)
