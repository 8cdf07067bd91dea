"""Best fit of short lists that mostly agree, without laying them out: equal rows first, where that is provably best."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain, product
from typing import Final, TypeAlias

from pytest_extract.core.align import Pairing
from pytest_extract.core.plan_nodes import SCALARS, Array, Bulk, Leaf, Object
from pytest_extract.core.schema_fit import type_fits
from pytest_extract.core.score_run import Run
from pytest_extract.core.values import Json

_Row: TypeAlias = tuple[tuple[Json, ...], tuple[type, ...]]
"""Values (None: not there) and their types."""
_DICT: Final = frozenset({dict})
_VALUES: Final = SCALARS | {type(None)}
MOST_SCORES: Final = 40
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
            if min(len(left), len(right)) > 1 or (len(same) + len(left)) * (len(same) + len(right)) > MOST_SCORES:
                return None
            best = _single(items, ours, theirs, same, left, right)
            if best is None:
                return None
            same += best
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
    scores = {(i, j): _score(items, ours[i], theirs[j]) for i, j in product(left, right)}
    best = max(scores, key=lambda pair: scores[pair])
    out = [(ours[i], theirs[j]) for i in left for _, j in same]
    back = [(ours[i], theirs[j]) for i, _ in same for j in right]
    for bound in (True, False):
        gain = sum(max((_score(items, *pair, bound=bound) for pair in pairs), default=0.0) for pairs in (out, back))
        if gain <= 1.0 + scores[best]:
            return [best] if scores[best] > 0.0 else []
    return None


def _score(items: Object, ours: _Row, theirs: _Row, *, bound: bool = False) -> float:
    """Return the weighted mean score of two rows, as scoring them would give it; `bound`: what it is at most."""
    score = total = 0.0
    for entry, one, other in zip(items.entries, ours[0], theirs[0], strict=True):
        if one is None and other is None:
            continue
        weight = entry.weight
        total += weight
        if one is None or other is None:
            continue
        if type(one) is type(other) and one == other:
            score += weight
            continue
        leaf = entry.plan
        if not isinstance(leaf, Leaf) or leaf.checks[0].transform is not None:
            raise _Unfit
        if leaf.types is not None and type_fits(leaf.types, one) and not type_fits(leaf.types, other):
            continue
        metric = leaf.checks[0].likeness or leaf.checks[0].metric
        score += weight if bound and metric.key is None else weight * metric.compare(one, other)
    return score / total if total else 1.0
