"""Quick best fit of tables: a likely pairing of the rows, and a proof that no other is better.

Most rows of an output are gold's, and most others differ in a cell or two. So rows stay in their places, or equal ones
are paired and then those most alike. A list of which a few cells are wrong takes less than half the time with it (a
10-Q with 8 wrong cells 3 instead of 7 ms).

Lemma: the cells of a column that is compared by equality match at most as often as both sides hold the same keys, and a
text that is like no text of the other side more than like its own loses as much in any pairing. (A tolerance is an
equality of numbers none of which is within reach of another.) A pairing that loses no more than that in each of its
columns is a best one. What a row loses beside, it may lose where right cells set it apart from all other rows: paired
with another, it would lose those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, TypeAlias

from pytest_extract.core.compile.nodes import Array, FlatTable
from pytest_extract.core.engine.context import ScoringContext, is_present
from pytest_extract.core.engine.table import ABSENT, Cells, LikelyPairing, Pairs, Table, identity
from pytest_extract.core.matching.assignment import best_assignment
from pytest_extract.core.matching.encoding import equality_keys
from pytest_extract.core.matching.pairing import pair_equal, paired
from pytest_extract.core.matching.ties import equal_in_order, in_order
from pytest_extract.core.metrics.equality import keys_of
from pytest_extract.core.metrics.vectorized import are_apart, finite_numbers
from pytest_extract.core.results import Pairing
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import MISSING, Json, Value

Key: TypeAlias = Callable[[Json], Hashable]
Keys: TypeAlias = dict[int, Key | None]
"""By column, what `_key_of` returns."""
Lost: TypeAlias = list[tuple[int, float]]
"""Cells by their places in a table, and what they lose: 1.0 where they score 0."""
MOST_COMPARED: Final = 200
"""Texts of a column that are compared by a metric that is no equality."""
LEAST_SEARCHED: Final = 9
"""The same, from which on a search for those that are alike pays."""
_ROUNDING: Final = 1e-9
_new: Final = tuple.__new__
_TEXTS: Final = frozenset({str}) | ABSENT
MOST_LIKELY: Final = 100
"""Pairs of rows that are scored for a likely pairing; of more, the best one is found at once."""
MOST_SCORES: Final = 40
"""Pairs of rows that are scored one by one; from there on, columns are faster."""
LEAST_EQUAL: Final = 0.25
"""Equal rows for each other row from which a likely pairing pays: where most rows changed, few prove to be the best."""


# --- a likely pairing


def likely_in_table(run: ScoringContext, array: Array, table: Table) -> LikelyPairing | None:
    """Pair rows as they stand, where that is likely; else equal ones, then the most alike; None if that is too much.

    Rows that are no objects are paired so only where their metric finds the most alike.
    """
    metric = table.bulk.likeness[0]
    if table.declared is not array.items and (metric is None or metric.search is None):
        return None
    pairs = _likely_pairs(table)
    if not pairs:
        return None
    found = paired(pairs, table.height, len(table.extracted) // table.width)
    aligned = table.take(run, found.pairs)
    return _new(LikelyPairing, (found, aligned, lambda walked: proved(table, aligned, found, walked.lost)))


def _likely_pairs(table: Table) -> Pairs | None:
    width, height, differing = table.width, table.height, table.diff.differing
    unlike_rows = {cell // width for cell in differing}
    if len(unlike_rows) == 1:
        return identity(height)
    ours, theirs = table.rows()
    if len(ours) != len(theirs) or not {theirs[row] for row in unlike_rows}.isdisjoint(
        map(ours.__getitem__, unlike_rows)
    ):
        return _equal_then_alike(table, ours, theirs)
    cells = table.declared_width * len(unlike_rows) if width > 1 else height
    return identity(height) if 2 * len(differing) <= cells else None


def _equal_then_alike(table: Table, ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> Pairs | None:
    """Pair equal rows, then the others by their scores; which of several equal rows these are goes by order."""
    equal, rows, columns = pair_equal(ours, theirs)
    if not rows and not columns:
        return equal
    if len(rows) * len(columns) > MOST_LIKELY or (columns and len(equal) < LEAST_EQUAL * len(rows)):
        return None
    score = cache(partial(row_score, table))
    found = best_assignment([[score(i, j) for j in columns] for i in rows]).pairs
    pairs = equal_in_order([*equal, *[(rows[i], columns[j]) for i, j in found]], ours, theirs)
    unlike = [(i, j) for i, j in pairs if ours[i] != theirs[j]]
    return sorted({**dict(pairs), **dict(in_order(unlike, score))}.items())


def row_score(table: Table, i: int, j: int) -> float:
    """Return the weighted mean score of two rows, as scoring them would give it (nulls being absent)."""
    weights, width = table.bulk.weights, table.width
    ours, theirs = table.gold[i * width : (i + 1) * width], table.extracted[j * width : (j + 1) * width]
    total, lost = sum(weights), 0.0
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if not is_present(one) and not is_present(other):
            total -= weights[place]
        elif one != other or type(one) is not type(other):
            lost += weights[place] * (1.0 - _cell_score(table.bulk, place, one, other))
    return (total - lost) / total if total > 0 else 1.0


def _cell_score(bulk: FlatTable, place: int, one: Value, other: Value) -> float:
    metric, types = bulk.likeness[place], bulk.leaves[place].types
    if metric is None or not is_present(one) or not is_present(other):
        return 0.0
    if types is not None and type_fits(types, one) and not type_fits(types, other):
        return 0.0
    return metric.compare(one, other)


def fit_small_table(table: Table) -> Pairing:
    """Pair the rows of a table by all their scores."""
    ours, theirs = table.rows()
    scores = [[row_score(table, i, j) for j in range(len(theirs))] for i in range(len(ours))]
    pairs = equal_in_order(best_assignment(scores).pairs, [*map(tuple, scores)], [*zip(*scores, strict=True)])
    pairs = in_order(pairs, lambda i, j: scores[i][j])
    return paired([(i, j) for i, j in pairs if scores[i][j] > 0.0], len(ours), len(theirs))


# --- the proof


def proved(table: Table, aligned: Table, pairing: Pairing, lost: Mapping[int, float]) -> bool:
    """Whether no pairing of a table's rows loses less than this one; False where that is not seen at a low cost.

    Pairs are as many as the shorter side has rows; `aligned`: their rows, in their order. `lost`: what pairs lose that
    are not wholly right, by their places among all, each a share of its weight.
    """
    if not lost or len(table.gold) == len(table.extracted) == table.width:  # one row can have one partner
        return True
    width, weights, most = table.width, table.bulk.weights, _most_weight(table, aligned)
    rest = {row: share * most for row, share in lost.items()}
    keys: Keys = {}
    for cell, loss in _losses(table, aligned, pairing, keys):
        row = cell // width
        rest[row] = rest.get(row, 0.0) - weights[cell % width] * loss
    rest = {row: weight for row, weight in rest.items() if weight > _ROUNDING}
    return not rest or _are_set_apart(table, aligned, rest, keys)


def _most_weight(table: Table, aligned: Table) -> float:
    """Return the most that a pair of rows weighs: columns of which no row has anything do not count."""
    most, width, both_absent = table.bulk.weight or sum(table.bulk.weights), table.width, aligned.diff.both_absent
    for place in {cell % width for cell in both_absent} if both_absent else ():
        if ABSENT.issuperset(map(type, [*table.gold[place::width], *table.extracted[place::width]])):
            most -= table.bulk.weights[place]
    return most


# --- columns that lose as little as they can


def _key_of(table: Table, place: int) -> Key | None:
    """Return what two cells of a column share exactly where they match; None where they may match otherwise."""
    metric = table.bulk.likeness[place]
    if metric is None or metric.near is None or metric.key is not None:
        return None if metric is None else metric.key
    gold, extracted = table.gold[place :: table.width], table.extracted[place :: table.width]
    cells: list[Any] = [*gold, *extracted]
    if metric.reach is not None and finite_numbers(cells) and are_apart(sorted({*cells}), metric.reach):
        return float  # these differ by more than what a float rounds off
    values = {(type(cell), cell): cell for cell in cells if type(cell) not in ABSENT}
    keys = equality_keys(metric, [*values.values()])
    if keys is None:
        return None
    known = dict(zip(values, keys, strict=True))
    return lambda cell: known[type(cell), cell]


def _losses(table: Table, aligned: Table, pairing: Pairing, keys: Keys) -> Lost:
    """Return differing cells with what they lose, of which each column loses the sum in any pairing."""
    width, gold, extracted = aligned.width, aligned.gold, aligned.extracted
    unlike: dict[int, list[int]] = {}
    wrong: list[tuple[int, int]] = []
    ours: set[tuple[int, Hashable]] = set()
    theirs: set[tuple[int, Hashable]] = set()
    for cell in aligned.diff.differing:
        place = cell % width
        if place not in keys:
            keys[place] = _key_of(table, place)
        if (key := keys[place]) is None:
            unlike.setdefault(place, []).append(cell)
            continue
        own, other = gold[cell], extracted[cell]  # `_keyed` written out: this loop is most of the proof
        own_key = MISSING if own is None or own is MISSING else key(own)
        other_key = MISSING if other is None or other is MISSING else key(other)
        if own_key != other_key:
            wrong.append((place, cell))
            ours.add((place, own_key))
            theirs.add((place, other_key))
    for place, key in keys.items() if pairing.missing or pairing.extra else ():
        if key is not None:
            ours.update((place, _keyed(key, table.gold[row * width + place])) for row in pairing.missing)
            theirs.update((place, _keyed(key, table.extracted[row * width + place])) for row in pairing.extra)
    matching = {place for place, _ in ours & theirs}
    lost = [(cell, 1.0) for place, cell in wrong if place not in matching]
    for place, cells in unlike.items():
        lost += _unlike_any(table, aligned, place, cells)
    return lost


def _keyed(key: Key, cell: Value) -> Hashable:
    return MISSING if cell is None or cell is MISSING else key(cell)


def _unlike_any(table: Table, aligned: Table, place: int, cells: Sequence[int]) -> Lost:
    """Return the cells whose texts are like no text of the longer side more than like their own."""
    metric = table.bulk.likeness[place]
    if metric is None or table.bulk.leaves[place].checks[0].likeness is not None:
        return []  # a judge says what is lost
    columns = table.gold[place :: table.width], table.extracted[place :: table.width]
    to_gold = len(columns[0]) >= len(columns[1])
    texts = {*columns[0 if to_gold else 1]}
    search = (metric.bound or metric).search
    if not _TEXTS.issuperset(map(type, texts)) or (not search and len(texts) * len(cells) > MOST_COMPARED):
        return []
    texts -= {None, MISSING}
    others = [*texts]
    find = search(others) if search and len(texts) * len(cells) >= LEAST_SEARCHED else None
    wrong: Lost = []
    for cell in cells:
        own, other = aligned.gold[cell], aligned.extracted[cell]
        if is_present(own) and is_present(other):
            score, text = metric.compare(own, other), other if to_gold else own
            # rounding may leave out a score at the cutoff, never one above it
            near = [others[at] for at, _ in find(text, score)] if find else others
            likes = [metric.compare(one, text) if to_gold else metric.compare(text, one) for one in near]
            if score >= max(likes, default=0.0):
                wrong.append((cell, 1.0 - score))
    return wrong


# --- rows that others of their cells set apart from all other rows


def _are_set_apart(table: Table, aligned: Table, left: Mapping[int, float], keys: Keys) -> bool:
    """Whether right cells set each of these rows apart from all others, and weigh as much as is left to be lost."""
    width, rest, differing = table.width, {**left}, {*aligned.diff.differing}
    for place, weight in enumerate(table.bulk.weights):
        gold, extracted = table.gold[place::width], table.extracted[place::width]
        if len({*gold}) == 1 < len(gold):
            continue
        key = keys[place] if place in keys else _key_of(table, place)
        if key is None:
            continue
        own = [row for row in rest if row * width + place not in differing]
        counts = Counter(_keys(key, [*gold, *extracted]))
        for row, one in zip(own, _keys(key, [aligned.gold[row * width + place] for row in own]), strict=True):
            if counts[one] == 2:  # right as they are, on either side
                rest[row] -= weight
                if rest[row] <= _ROUNDING:
                    del rest[row]
        if not rest:
            return True
    return False


def _keys(key: Key, cells: Cells) -> Sequence[Hashable]:
    if ABSENT.isdisjoint(map(type, cells)):
        return keys_of(key, cells)
    return [_keyed(key, cell) for cell in cells]
