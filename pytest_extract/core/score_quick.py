"""Best fit of short lists without laying them out: at a glance where they mostly agree, else pair by pair."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain, compress, product
from operator import ne
from typing import Final, TypeAlias

from pytest_extract.core.align import Pairing
from pytest_extract.core.assignment import best_assignment
from pytest_extract.core.plan_nodes import SCALARS, Array, Bulk, Leaf, Object, Plan
from pytest_extract.core.schema_fit import type_fits
from pytest_extract.core.score_run import Run
from pytest_extract.core.values import Json

_Row: TypeAlias = tuple[tuple[Json, ...], tuple[type, ...]]
"""Values (None: not there) and their types."""
_DICT: Final = frozenset({dict})
_VALUES: Final = SCALARS | {type(None)}
MOST_SCORES: Final = 150
"""Pairs that are scored one by one; from there on, columns are faster."""


class _Unfit(Exception):
    """The rows are not of the simple kind that is looked at here."""


def quick_pairing(run: Run, array: Array, gold: Sequence[Json], extracted: Sequence[Json]) -> Pairing | None:
    """Return a best fit of two lists of flat objects; None where it takes more than a look to tell.

    Equal rows score 1, the most there is, so pairing them is best when nothing is left over on a side. With rows left
    over, of which one side has a single one, taking equal pairs apart can gain at most one score of that row with one
    of them, and one of them with a row of the other side; where both together are no more than is lost, nothing is.
    """
    items = array.items
    if not isinstance(items, Object) or items.bulk is None or run.f1 or not run.absent:
        return None
    try:
        ours, theirs = _laid_out(items, items.bulk, gold), _laid_out(items, items.bulk, extracted)
        same, left, right = _equal_rows(ours, theirs)
        if left and right:
            best = _single(items, ours, theirs, same, left, right) if min(len(left), len(right)) == 1 else None
            if best is not None:
                same += best
            elif len(ours) * len(theirs) > MOST_SCORES:
                return None
            else:
                same = _assigned(items, ours, theirs)
    except _Unfit:
        return None
    rows, columns = {i for i, _ in same}, {j for _, j in same}
    missing = tuple([i for i in range(len(ours)) if i not in rows])
    return Pairing(tuple(sorted(same)), missing, tuple([j for j in range(len(theirs)) if j not in columns]))


def _laid_out(items: Object, bulk: Bulk, rows: Sequence[Json]) -> list[_Row]:
    """Return each row's values in the order of the schema, and their types, which tell 1 from true."""
    if not _DICT.issuperset(map(type, rows)):
        raise _Unfit
    if items.extra != "ignore" and not all(row.keys() <= items.names for row in rows):
        raise _Unfit
    names = items.places.names
    laid_out = [tuple(map(row.get, names)) for row in rows]
    kinds = [tuple(map(type, values)) for values in laid_out]
    if not _VALUES.issuperset(chain.from_iterable(kinds)):
        raise _Unfit
    if any(kind[index] not in fast for index, fast in bulk.odd for kind in kinds):
        raise _Unfit
    return [*zip(laid_out, kinds, strict=True)]


def _equal_rows(
    ours: Sequence[Hashable], theirs: Sequence[Hashable]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Pair equal rows in order; return the pairs and what is left over on each side."""
    waiting: dict[Hashable, list[int]] = {}
    for index in reversed(range(len(theirs))):
        waiting.setdefault(theirs[index], []).append(index)
    same, left = [], []
    for index, row in enumerate(ours):
        others = waiting.get(row)
        if others:
            same.append((index, others.pop()))
        else:
            left.append(index)
    return same, left, sorted(index for others in waiting.values() for index in others)


def _single(
    items: Object,
    ours: Sequence[_Row],
    theirs: Sequence[_Row],
    same: Sequence[tuple[int, int]],
    left: Sequence[int],
    right: Sequence[int],
) -> list[tuple[int, int]] | None:
    """Return the best pair of rows left over, or none; None where taking equal pairs apart might be better."""
    if len(left) * len(right) + len(same) * (len(left) + len(right)) > MOST_SCORES:
        return None
    scores = {(i, j): _score(items, ours[i], theirs[j]) for i, j in product(left, right)}
    best = max(scores, key=lambda pair: scores[pair])
    out = [(ours[i], theirs[j]) for i in left for _, j in same]
    back = [(ours[i], theirs[j]) for i, _ in same for j in right]
    for exact in (False, True):
        # each of the two is 1 at most, so one that is small enough is proof
        gain = _highest(items, out, exact=exact)
        if gain > scores[best]:
            gain += _highest(items, back, exact=exact) - 1.0
        if gain <= scores[best]:
            return [best] if scores[best] > 0.0 else []
    return None


def _assigned(items: Object, ours: Sequence[_Row], theirs: Sequence[_Row]) -> list[tuple[int, int]]:
    """Return the best assignment over the scores of all pairs."""
    scores = [[1.0 if one == other else _score(items, one, other) for other in theirs] for one in ours]
    return [(i, j) for i, j in best_assignment(scores).pairs if scores[i][j] > 0.0]


def _highest(items: Object, pairs: Sequence[tuple[_Row, _Row]], *, exact: bool) -> float:
    return max((_score(items, *pair, exact=exact) for pair in pairs), default=0.0)


def _score(items: Object, ours: _Row, theirs: _Row, *, exact: bool = True) -> float:
    """Return the weighted mean score of two rows, as scoring them would give it; not `exact`: what it is at most."""
    one_values, other_values = ours[0], theirs[0]
    if None in one_values or None in other_values:
        present = [one is not None or other is not None for one, other in zip(one_values, other_values, strict=True)]
        total = sum(compress((entry.weight for entry in items.entries), present))
    else:
        total = sum(items.bulk.weights) if items.bulk is not None else 0.0
    if not total:
        return 1.0
    lost = 0.0
    unlike = map(ne, one_values, other_values)
    for entry, one, other in compress(zip(items.entries, one_values, other_values, strict=True), unlike):
        lost += entry.weight * (1.0 - _value_score(entry.plan, one, other, exact=exact))
    if exact and ours[1] != theirs[1]:
        lost += _lost_to_types(items, ours, theirs)
    return (total - lost) / total


def _value_score(leaf: Plan, one: Json, other: Json, *, exact: bool) -> float:
    if one is None or other is None:
        return 0.0
    if not isinstance(leaf, Leaf) or leaf.checks[0].transform is not None:
        raise _Unfit
    if leaf.types is not None and type_fits(leaf.types, one) and not type_fits(leaf.types, other):
        return 0.0
    metric = leaf.checks[0].likeness or leaf.checks[0].metric
    return metric.compare(one, other) if exact or metric.key is not None else 1.0


def _lost_to_types(items: Object, ours: _Row, theirs: _Row) -> float:
    """Return the weight lost where Python finds values equal that are not: 1 and true."""
    lost = 0.0
    for entry, one, other in zip(items.entries, ours[0], theirs[0], strict=True):
        if type(one) is not type(other) and one == other:
            lost += entry.weight * (1.0 - _value_score(entry.plan, one, other, exact=True))
    return lost
