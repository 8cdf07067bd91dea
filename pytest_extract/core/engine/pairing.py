"""Pairs the rows of two lists by whatever the array's plan says: by place, keys, equality, best assignment, a judge.

Best fit: the summed score of the pairs is highest; equal rows come first, in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import product
from typing import Any, Final, TypeAlias

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, Node, Object
from pytest_extract.core.engine.context import Path, ScoringContext
from pytest_extract.core.engine.fits import Columns, pair_fit, shares
from pytest_extract.core.engine.leaf import agree, asked, readings, transformed
from pytest_extract.core.results import Alignment, Pairing
from pytest_extract.core.schema.tree import type_fits
from pytest_extract.core.values import MISSING, Json, Value, canonical_json, copied, path_below, strict_key, text_key
from pytest_extract.errors import ConfigError

_Key: TypeAlias = tuple[Hashable, ...]
"""The parts of a row's key."""
_ROUNDING: Final = 1e-12
_MOST_COMPARED: Final = 20_000**2
"""So many scores of two rows each, and the assignment's copy of them, take 6 GiB of memory."""
_LEAST: Final = 1e-8
"""What two rows at opposite ends of their lists lose: less than any difference of scores that means something."""


def assign(scores: Any) -> list[tuple[int, int]]:
    """Return a best assignment of a matrix of scores, by row: a list of rows, or a two-dimensional numpy array."""
    if not len(scores) or not len(scores[0]):
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def fitting_pairs(
    scores: Any,
    fit: Callable[[int, int], float] | None = None,
    places: tuple[Sequence[int], Sequence[int]] | None = None,
) -> list[tuple[int, int]]:
    """Return the best assignment of the pairs of rows that have anything in common.

    `fit`: the score of a pair, where the matrix has upper bounds. Those of the chosen pairs are made exact, with some
    of the next best ones of a row that scores less, and the assignment is repeated until it rests on exact scores: no
    other can be better. `places`: where the rows stand; of equally good assignments the one that keeps their order is
    taken. Without it, it is the one that scipy finds.
    """
    import numpy as np

    height, width = scores.shape
    exact: set[tuple[int, int]] = set()
    ours, theirs = (np.array(side, np.float64) for side in places or ((0,) * height, (0,) * width))
    most = max(height, width, *ours, *theirs)

    def lost(i: int, which: Any) -> Any:
        """Of pairs that cross, the squares add up to more than of those that do not."""
        steps = (theirs[which] - ours[i]) / most
        return _LEAST * steps * steps

    for i in range(height if places else 0):
        scores[i] -= lost(i, slice(None))

    def is_lower(i: int, j: int) -> bool:
        """Put the score of a pair in the place of its bound; whether it is lower."""
        if fit is None or (i, j) in exact:
            return False
        exact.add((i, j))
        bound, scores[i, j] = scores[i, j], fit(i, j) - lost(i, j)
        return bool(scores[i, j] < bound - _ROUNDING)

    looks = 1
    while True:
        chosen = assign(scores)
        lowered = [i for i, j in chosen if is_lower(i, j)]
        if not lowered:
            return [(i, j) for i, j in chosen if scores[i, j] + lost(i, j) > _ROUNDING]
        looks *= 2
        for i in lowered:
            for j in np.argsort(scores[i])[-looks:].tolist():
                is_lower(i, j)


def paired(pairs: Sequence[tuple[int, int]], height: int, width: int) -> Pairing:
    """Return the pairing of two lists of these lengths that these pairs make."""
    rows, columns = {row for row, _ in pairs}, {column for _, column in pairs}
    missing = tuple(row for row in range(height) if row not in rows)
    return Pairing(tuple(sorted(pairs)), missing, tuple(column for column in range(width) if column not in columns))


def by_position(height: int, width: int) -> Pairing:
    """Pair the elements of two lists of these lengths in order."""
    return paired([(i, i) for i in range(min(height, width))], height, width)


def multiset(gold: Sequence[Json], extracted: Sequence[Json], key: Callable[[Json], Hashable] = strict_key) -> Pairing:
    """Pair equal elements in order, whatever their order; the rest is left over. `key` says what is equal.

    Where a side has more of them, those with one in their own place come first.
    """
    sides: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side, values in enumerate((gold, extracted)):
        for place, value in enumerate(values):
            sides.setdefault(key(value), ([], []))[side].append(place)
    pairs: list[tuple[int, int]] = []
    for ours, theirs in sides.values():
        few = min(len(ours), len(theirs))
        own = {*ours} & {*theirs}
        rows, columns = (sorted(sorted(side, key=lambda place: place not in own)[:few]) for side in (ours, theirs))
        pairs += zip(rows, columns, strict=True)
    return paired(pairs, len(gold), len(extracted))


def best_fit(run: ScoringContext, node: Node, lists: Columns, ours: Sequence[int], theirs: Sequence[int]) -> Pairing:
    """Pair rows that one node scores, some of two lists, in their order. Rows of score 0 are left over.

    Under struct-extract-eval the assignment chooses among all pairs, whatever is equal, as published.
    """
    gold, extracted, places = values = lists.some(ours, theirs)
    is_ruled = run.is_ruled(node)

    def fit(a: int, b: int) -> float:
        i, j = rows[a], columns[b]
        return pair_fit(run, node, gold[i], extracted[j], places[i] if is_ruled else ()).share

    check = _single_check(node)
    is_equality = check is not None and _is_keyed(check) and not is_ruled
    if run.f1 and not is_equality:
        pairs, rows, columns = Pairing((), (*range(len(gold)),), (*range(len(extracted)),))
    else:
        pairs, rows, columns = multiset(gold, extracted, lambda row: row_key(run, node, row))
    found: list[tuple[int, int]] = []
    if is_equality or not rows or not columns:
        pass
    elif len(rows) == len(columns) == 1:  # the usual mistake takes no matrix
        found = [(0, 0)] if fit(0, 0) > 0.0 else []
    elif (count := len(rows) * len(columns)) > _MOST_COMPARED:
        raise ConfigError(
            f"{node.pattern}: {len(rows):,} rows of the gold and {len(columns):,} extracted ones have no equal; "
            f"to compare each two of them takes {16 * count >> 30:,} GiB of memory: align them by key or by position"
        )
    else:
        scores, are_exact = shares(run, node, values.some(rows, columns))
        found = fitting_pairs(scores, None if are_exact else fit, None if run.f1 else (rows, columns))
    pairs, missing, extra = paired([*pairs, *((rows[a], columns[b]) for a, b in found)], len(gold), len(extracted))
    return Pairing(
        tuple((ours[i], theirs[j]) for i, j in pairs), tuple(ours[i] for i in missing), tuple(theirs[j] for j in extra)
    )


def _single_check(node: Node) -> FieldMetric | None:
    """Return a leaf's one check, where the leaf is scored by nothing else."""
    return node.checks[0] if isinstance(node, Leaf) and node.has_only_checks and len(node.checks) == 1 else None


def _is_keyed(check: FieldMetric) -> bool:
    """Whether values match exactly where they have the same key."""
    return check.metric.key is not None and check.likeness is None


def row_key(run: ScoringContext, node: Node, value: Value) -> Hashable:
    """Return what tells rows apart: those with the same key match in every leaf."""
    check = _single_check(node)
    changed = value if check is None else transformed(check, value, MISSING)[0][0]
    if changed is MISSING or (changed is None and run.absent):
        return MISSING
    if check is not None and isinstance(node, Leaf):
        if check.metric.key is not None and _is_keyed(check) and (node.types is None or type_fits(node.types, value)):
            return check.metric.key(changed)
    elif isinstance(node, Object) and type(value) is dict and not node.checks and not node.groups:
        own = tuple([row_key(run, inner, value.get(name, MISSING)) for name, inner in node.properties.items()])
        further = [
            (name, canonical_json(value[name]))
            for name in value.keys() - node.properties.keys()
            if not run.absent or value[name] is not None
        ]
        return (own, tuple(sorted(further))) if further else own
    elif isinstance(node, Array) and type(value) is list and not node.checks and not node.prefix:
        if not value:
            return MISSING if node.empty_absent else ()
        if node.align.mode == "multiset" and _single_check(node.items) is None:  # its rows are paired by their content
            return frozenset(Counter(map(canonical_json, value)).items())
        if node.align.mode in ("best_fit", "multiset"):
            return frozenset(Counter(row_key(run, node.items, row) for row in value).items())
    return canonical_json(value)


def pair_rows(run: ScoringContext, array: Array, gold: list[Json], extracted: list[Json], path: Path) -> Pairing | str:
    """Pair the rows of two lists; a text says why they cannot be."""
    if array.align.mode == "position":
        return by_position(len(gold), len(extracted))
    if array.align.custom is not None:
        try:
            pairs = [(int(i), int(j)) for i, j in array.align.custom(copied(gold), copied(extracted))]
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            return f"the aligner broke: {type(error).__name__}: {error}"
        problem = wrong_rows(pairs, len(gold), len(extracted))
        return f"the aligner {problem}" if problem else paired(pairs, len(gold), len(extracted))
    if array.align.mode == "judge" and not run.depth:
        return _by_judge(run, array, gold, extracted, path)
    lists = Columns(gold, extracted, [(*path, i) for i in range(len(gold))])
    if array.align.mode == "key":
        return _by_key(run, array, lists)
    if array.align.mode == "multiset":
        return _by_value(run, array.items, lists)
    return best_fit(run, array.items, lists, range(len(gold)), range(len(extracted)))


# --- by key


def _by_key(run: ScoringContext, array: Array, lists: Columns) -> Pairing:
    """Pair rows with equal keys; with a cutoff, then those whose keys are similar enough.

    Keys are paired first, and then the rows of each two keys: by best fit where there are several on a side, and what
    that leaves over in its order, for rows of one key belong together. Those without a usable key (`None`) are paired
    by best fit and no further. Under struct-extract-eval the first row of a key counts and all others are left over.
    `extra` holds first the rows whose key nobody asked for, then those with a repeated or unusable key.
    """
    (gold, extracted, places), names, cutoff = lists, array.align.key, array.align.key_cutoff
    is_raw = cutoff is None and run.program.semantics.repeated_keys == "first"
    nodes = array.items.properties if isinstance(array.items, Object) and not is_raw else {}
    checks = {name: _single_check(node) for name, node in nodes.items() if name in names}

    def part(name: str, value: Json) -> Hashable | None:
        """Return a part of a key as its field's metric compares it; None for what is no text or number."""
        check = checks.get(name)
        if check is not None and check.transform is not None:
            value = transformed(check, value, MISSING)[0][0]
        if type(value) not in (str, int, float):
            return None
        by_metric = None if check is None or cutoff is not None or check.metric.judged else check.metric.key
        return value if by_metric is None else by_metric(value)

    ours, theirs = (
        [_joined(part(name, row.get(name)) for name in names) if type(row) is dict else None for row in side]
        for side in (gold, extracted)
    )
    offered = _places(theirs)
    for i, key in enumerate(ours if run.accept else ()):
        if key is not None and key not in offered:  # a further right key that a row has
            choices = []
            for name, own in zip(names, key, strict=True):
                allowed = readings(run, path_below(array.items.pattern, name), (*places[i], name))
                choices.append([own, *(part(name, each) for each in allowed)])
            keys = map(_joined, product(*choices))
            ours[i] = next((other for other in keys if other in offered), key)

    def fit(rows: Sequence[int], columns: Sequence[int]) -> Pairing:
        """Pair rows by best fit, sorted by what they hold, so that their order decides no tie."""
        own = sorted(rows, key=lambda row: canonical_json(gold[row]))
        other = sorted(columns, key=lambda column: canonical_json(extracted[column]))
        return best_fit(run, array.items, lists, own, other)

    wanted = _places(ours)
    partners = {key: key for key in wanted if key in offered}
    if cutoff is not None:
        partners |= _similar_keys(wanted.keys() - offered.keys(), offered.keys() - wanted.keys(), cutoff)
    pairs: list[tuple[int, int]] = []
    for key, partner in partners.items():
        rows, columns = wanted[key], offered[partner]
        if is_raw or len(rows) == len(columns) == 1:
            pairs.append((rows[0], columns[0]))
        else:
            found = fit(rows, columns)
            pairs += [*found.pairs, *zip(found.missing, found.extra, strict=False)]
    unusable = [[place for place, key in enumerate(keys) if key is None] for keys in (ours, theirs)]
    if not is_raw and all(unusable):
        pairs += fit(*unusable).pairs
    plain = paired(pairs, len(gold), len(extracted))
    first = {columns[0] for columns in offered.values()}
    return plain._replace(extra=tuple(sorted(plain.extra, key=lambda place: place not in first)))


def _places(keys: Sequence[_Key | None]) -> dict[_Key, list[int]]:
    places: dict[_Key, list[int]] = {}
    for place, key in enumerate(keys):
        if key is not None:
            places.setdefault(key, []).append(place)
    return places


def _joined(parts: Iterable[Hashable | None]) -> _Key | None:
    key = tuple(parts)
    return None if None in key else key


def _similar_keys(ours: Iterable[_Key], theirs: Iterable[_Key], cutoff: float) -> dict[_Key, _Key]:
    """Pair the most similar keys, so that the summed similarity is highest; sorted, so that no order of rows matters.

    Similarity is 1 - edits / length of the longer text (Levenshtein), after casefold; of a composite key the mean over
    its parts. A part that is no text must be equal, and no part may be below `cutoff`.
    """
    from rapidfuzz.distance import Levenshtein

    def similarity(wanted: Sequence[Hashable], offered: Sequence[Hashable]) -> float:
        total = 0.0
        for one, other in zip(wanted, offered, strict=True):
            if isinstance(one, str) and isinstance(other, str):
                score = Levenshtein.normalized_similarity(one, other, score_cutoff=cutoff)
            else:
                score = float(one == other)
            if not score:
                return 0.0
            total += score
        return total / len(wanted)

    def folded(key: _Key) -> list[Hashable]:
        return [part.casefold() if isinstance(part, str) else part for part in key]

    rows, columns = (sorted(keys, key=lambda key: str(folded(key))) for keys in (ours, theirs))
    sides = [[folded(key) for key in keys] for keys in (rows, columns)]
    scores = [[similarity(one, other) for other in sides[1]] for one in sides[0]]
    return {rows[i]: columns[j] for i, j in assign(scores) if scores[i][j] > 0}


# --- by value


def _by_value(run: ScoringContext, items: Node, lists: Columns) -> Pairing:
    """Pair values that match, equal ones first; without a judge, none that do not."""
    gold, extracted, places = lists
    check, (pairs, rows, columns) = _single_check(items), multiset(gold, extracted)
    if check is None:  # values of any type: those that their own types find equal
        found = multiset([gold[i] for i in rows], [extracted[j] for j in columns], text_key).pairs
        more = [(rows[a], columns[b]) for a, b in found]
    else:
        more = [
            (i, j)
            for i, j in best_fit(run, items, lists, rows, columns).pairs
            if check.metric.judged
            or any(agree(check, one, extracted[j]) for one in (gold[i], *readings(run, items.pattern, places[i])))
        ]
    return paired([*pairs, *more], len(gold), len(extracted))


# --- as others say


def wrong_rows(pairs: Sequence[tuple[int, int]], height: int, width: int) -> str:
    """Say which row the pairs that somebody else chose name twice, or although it is not there; "" for none."""
    for side, size, used in zip(("gold", "extracted"), (height, width), zip(*pairs, strict=True), strict=False):
        outside = next((row for row in used if not 0 <= row < size), None)
        if outside is not None:
            return f"names {side} row {outside} of {size}"
        if len(set(used)) < len(used):
            return f"uses a row of {side} twice"
    return ""


def _by_judge(run: ScoringContext, array: Array, gold: list[Json], extracted: list[Json], path: Path) -> Pairing | str:
    """Pair as the judge says; lists of the same rows in any order need no judge."""
    same = multiset(gold, extracted, canonical_json)
    if not gold or not extracted or not (same.missing or same.extra):
        return same
    answer = asked(run, array.align, gold, extracted, path)
    return paired(answer.pairs, len(gold), len(extracted)) if isinstance(answer, Alignment) else answer.reason
