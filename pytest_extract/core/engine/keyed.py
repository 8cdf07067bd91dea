"""Pairs two lists by what their elements share, and best assignment: pairs whose summed score is highest."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final

from pytest_extract.core.metrics.equality import python_text, strict_key
from pytest_extract.core.results import Pairing
from pytest_extract.core.values import Json

_ROUNDING: Final = 1e-12
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
    common = min(height, width)
    return Pairing(tuple((i, i) for i in range(common)), tuple(range(common, height)), tuple(range(common, width)))


def by_first_key(gold: Sequence[Hashable | None], extracted: Sequence[Hashable | None]) -> Pairing:
    """Pair elements with equal keys; `None` is an unusable key (struct-extract-eval, `key_field`).

    The first element of a key counts; a gold element with a repeated or unusable key is missing. `extra` holds first
    the elements whose key nobody asked for, then those with a repeated or unusable key, each in order of appearance.
    """
    wanted, offered = _places(gold), _places(extracted)
    pairs = [(places[0], offered[key][0]) for key, places in wanted.items() if key in offered]
    return _keyed(pairs, len(gold), len(extracted), offered)


def by_key(
    gold: Sequence[Hashable | None],
    extracted: Sequence[Hashable | None],
    fit: Callable[[Sequence[int], Sequence[int]], Pairing],
    *,
    cutoff: float | None = None,
) -> Pairing:
    """Pair elements with equal keys; with a cutoff, then those whose keys are similar enough.

    Keys are paired first, so that the summed similarity is highest, and then the elements of each two keys: `fit`
    pairs them, by their places, where there are several on a side; what it leaves over is paired in its order, for
    elements of one key belong together. Those without a usable key (`None`) are paired as `fit` says and no further.
    `extra` is in the order of `by_first_key`.

    Similarity is 1 - edits / length of the longer text (Levenshtein), after casefold; of a composite key the mean over
    its parts. A part that is no text must be equal, and no part may be below `cutoff`.
    """
    wanted, offered = _places(gold), _places(extracted)
    partners = {key: key for key in wanted if key in offered}
    if cutoff is not None:
        partners |= _similar_keys(wanted.keys() - offered.keys(), offered.keys() - wanted.keys(), cutoff)
    pairs: list[tuple[int, int]] = []
    for key, partner in partners.items():
        rows, columns = wanted[key], offered[partner]
        if len(rows) == len(columns) == 1:
            pairs.append((rows[0], columns[0]))
        else:
            found = fit(rows, columns)
            pairs += [*found.pairs, *zip(found.missing, found.extra, strict=False)]
    unusable = [[place for place, key in enumerate(keys) if key is None] for keys in (gold, extracted)]
    if all(unusable):
        pairs += fit(*unusable).pairs
    return _keyed(pairs, len(gold), len(extracted), offered)


def _places(keys: Sequence[Hashable | None]) -> dict[Hashable, list[int]]:
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        if key is not None:
            places.setdefault(key, []).append(place)
    return places


def _keyed(pairs: list[tuple[int, int]], height: int, width: int, offered: dict[Hashable, list[int]]) -> Pairing:
    plain = paired(pairs, height, width)
    first = {places[0] for places in offered.values()}
    unasked = [place for place in plain.extra if place in first]
    return plain._replace(extra=(*unasked, *(place for place in plain.extra if place not in first)))


def _similar_keys(ours: Iterable[Hashable], theirs: Iterable[Hashable], cutoff: float) -> dict[Hashable, Hashable]:
    """Pair the most similar keys, none with a part too far off; sorted, so that the order of rows decides no tie."""
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

    rows, columns = sorted(ours, key=_repr), sorted(theirs, key=_repr)
    sides = [[_parts(key) for key in keys] for keys in (rows, columns)]
    scores = [[similarity(one, other) for other in sides[1]] for one in sides[0]]
    return {rows[i]: columns[j] for i, j in assign(scores) if scores[i][j] > 0}


def _repr(key: Hashable) -> str:
    try:
        return repr(key)
    except ValueError:  # an integer beyond Python's limit of digits
        return python_text([*_parts(key)])


def _parts(key: Hashable) -> tuple[Hashable, ...]:
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(part.casefold() if isinstance(part, str) else part for part in parts)


def multiset(gold: Sequence[Json], extracted: Sequence[Json], key: Callable[[Json], Hashable] = strict_key) -> Pairing:
    """Pair equal elements in order of appearance, whatever their order; the rest is left over.

    `key` says what is equal. Keys are told apart by type: true is not 1, and 1 is not 1.0.
    """
    sides = [[(type(own), own) for own in map(key, values)] for values in (gold, extracted)]
    return pair_equal(*sides)


def pair_equal(gold: Sequence[Hashable], extracted: Sequence[Hashable]) -> Pairing:
    """Pair equal elements in order; where a side has more of them, those with one in their own place come first."""
    sides: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side, values in enumerate((gold, extracted)):
        for place, value in enumerate(values):
            sides.setdefault(value, ([], []))[side].append(place)
    pairs: list[tuple[int, int]] = []
    for ours, theirs in sides.values():
        few = min(len(ours), len(theirs))
        own = {*ours} & {*theirs}
        rows, columns = (sorted(sorted(side, key=lambda place: place not in own)[:few]) for side in (ours, theirs))
        pairs += zip(rows, columns, strict=True)
    return paired(pairs, len(gold), len(extracted))
