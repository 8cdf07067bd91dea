"""Lists to the end: recall of rows by their position and by the length of the list, and where it falls.

A model that stops early, or skips rows of long lists, looks well over many short ones. Each change point is the split
of highest binomial likelihood. Whether it is more than chance is tested by permutation: of the missing rows of each
list for positions, of lists for lengths (Good 2005, section 3.7). Its interval is a percentile bootstrap over lists.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.values import pattern_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.float64]
    Places: TypeAlias = npt.NDArray[np.int64]

BOUNDS: Final = (10, 30, 100, 300, 1_000, 3_000, 10_000, sys.maxsize)
"""Ends of the bins of positions and lengths; the last bin is open."""
ALPHA: Final = 0.05
LONG: Final = 20
"""Rows of the shortest list that says something of where lists break off."""
_MOST_LISTS: Final = 300
_ARRANGEMENTS: Final = 200
_RESAMPLES: Final = 200
_SEED: Final = 7
By: TypeAlias = Literal["position", "length"]


class FoundRows(NamedTuple):
    """One list of one output: the number of gold's rows, and the places of those that are missing, from 0."""

    length: int
    missing: tuple[int, ...] | Places


class Recall(NamedTuple):
    """Rows of gold, and how many of them were found."""

    rows: int
    found: int

    @property
    def share(self) -> float:
        """Found rows over all; 1.0 without any."""
        return self.found / self.rows if self.rows else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Where recall falls: `at` is the last position, or length, before it; `low` and `high` bound it at 95 %."""

    by: By
    at: int
    low: int
    high: int
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRecall:
    """The lists of one pattern in one variant. The keys of bins are their ends: rows 11 to 30 are those of 30."""

    pattern: str
    variant: str
    lists: int
    longest: int
    total: Recall
    by_position: Mapping[int, Recall]
    by_length: Mapping[int, Recall]
    edge: Edge | None


def list_recalls(results: Iterable[CaseResult]) -> list[ListRecall]:
    """Return the long lists that lack rows, those that lack the most first; an output that cannot be read has none."""
    found: dict[tuple[str, str], list[FoundRows]] = defaultdict(list)
    for result in results:
        for score in result.scores:
            for array in score.arrays if score.readable else ():
                length = len(array.pairs) + len(array.missing)
                if length:
                    found[pattern_of(array.path), result.variant.label].append(FoundRows(length, array.missing))
    recalls = [
        list_recall(pattern, variant, lists)
        for (pattern, variant), lists in found.items()
        if any(each.missing for each in lists) and max(each.length for each in lists) >= LONG
    ]
    return sorted(recalls, key=lambda each: (each.total.found - each.total.rows, each.pattern, each.variant))


def list_recall(pattern: str, variant: str, lists: Sequence[FoundRows]) -> ListRecall:
    """Add up lists, at least one, and look for an edge."""
    import numpy as np

    lists = [FoundRows(length, np.array(missing, dtype=np.int64)) for length, missing in lists]
    by_position: dict[int, Recall] = {}
    by_length: dict[int, Recall] = {}
    for length, missing in lists:
        _add(by_length, length, length, len(missing))
        ends = (0, *(bound for bound in BOUNDS if bound < length), length)
        for (start, end), lost in zip(pairwise(ends), np.histogram(missing, ends)[0].tolist(), strict=True):
            _add(by_position, end, end - start, lost)
    total = Recall(sum(each.length for each in lists), sum(each.length - len(each.missing) for each in lists))
    return ListRecall(
        pattern=pattern,
        variant=variant,
        lists=len(lists),
        longest=max(each.length for each in lists),
        total=total,
        by_position=dict(sorted(by_position.items())),
        by_length=dict(sorted(by_length.items())),
        edge=_find_edge(lists),
    )


def _add(bins: dict[int, Recall], place: int, rows: int, missing: int) -> None:
    if rows:
        end = BOUNDS[bisect_left(BOUNDS, place)]
        old = bins.get(end, Recall(0, 0))
        bins[end] = Recall(old.rows + rows, old.found + rows - missing)


def _find_edge(lists: Sequence[FoundRows]) -> Edge | None:
    """Return where recall falls beyond noise, by position or length, whichever says more; None where it does not.

    Of many lists, a sample is looked at.
    """
    import numpy as np

    rng = np.random.default_rng(_SEED)
    if len(lists) > _MOST_LISTS:
        lists = [lists[index] for index in rng.choice(len(lists), _MOST_LISTS, replace=False)]
    in_rows: dict[By, _Split] = {
        "position": _split(_position_counts(lists)),
        "length": _split(_length_counts(lists, lambda each: each.length)),
    }
    by = max(in_rows, key=lambda each: in_rows[each].gain)

    def split(of: Sequence[FoundRows]) -> _Split:
        return _split(_position_counts(of) if by == "position" else _length_counts(of, lambda _: 1))

    found = split(lists)
    if found.gain <= 0.0:
        return None
    larger = 0
    for _ in range(_ARRANGEMENTS):
        larger += split(_rearranged(lists, by, rng)).gain >= found.gain
        if larger > ALPHA * _ARRANGEMENTS:
            return None
    draws = rng.integers(0, len(lists), (_RESAMPLES, len(lists))).tolist()
    edges = [each for draw in draws if (each := split([lists[index] for index in draw])).gain > 0.0] or [found]
    low = np.quantile([each.last for each in edges], 0.025, method="nearest")
    high = np.quantile([each.first - 1 for each in edges], 0.975, method="nearest")
    return Edge(
        by=by,
        at=found.last,
        low=min(int(low), found.last),
        high=max(int(high), found.last),
        before=in_rows[by].before,
        after=in_rows[by].after,
    )


def _rearranged(lists: Sequence[FoundRows], by: By, rng: np.random.Generator) -> list[FoundRows]:
    """Put the missing rows of each list elsewhere in it, or give the share of one list to another."""
    import numpy as np

    if by == "position":
        elsewhere = (rng.choice(each.length, len(each.missing), replace=False) for each in lists)
    else:
        shares = [len(each.missing) / each.length for each in lists]
        others = (shares[index] for index in rng.permutation(len(lists)))
        elsewhere = (np.arange(round(share * each.length)) for share, each in zip(others, lists, strict=True))
    return [each._replace(missing=missing) for each, missing in zip(lists, elsewhere, strict=True)]


def _position_counts(lists: Sequence[FoundRows]) -> tuple[Numbers, Numbers, Numbers]:
    """Return positions from 1, how many lists have a row there, and how many lack it."""
    import numpy as np

    longest = max(each.length for each in lists)
    ends = np.bincount([each.length for each in lists], minlength=longest + 1)
    rows = len(lists) - np.cumsum(ends)[:-1]
    missing = np.bincount(np.concatenate([each.missing for each in lists]), minlength=longest)
    return np.arange(1.0, longest + 1), rows.astype(float), missing.astype(float)


def _length_counts(
    lists: Sequence[FoundRows], weight: Callable[[FoundRows], float]
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the lengths, the weight of all lists of each, and how much of that is missing."""
    import numpy as np

    lengths, where = np.unique([each.length for each in lists], return_inverse=True)
    weights = [weight(each) for each in lists]
    lost = [own * len(each.missing) / each.length for own, each in zip(weights, lists, strict=True)]
    sums: list[Numbers] = [np.bincount(where, each).astype(float) for each in (weights, lost)]
    return lengths.astype(float), sums[0], sums[1]


class _Split(NamedTuple):
    """The best split at which recall falls: the last place before, the first after it, its gain, and both recalls."""

    last: int
    first: int
    gain: float
    before: float = 1.0
    after: float = 1.0


def _split(counts: tuple[Numbers, Numbers, Numbers]) -> _Split:
    import numpy as np

    places, rows, missing = counts
    rows_before, missing_before = np.cumsum(rows), np.cumsum(missing)
    all_rows, all_missing = rows_before[-1:], missing_before[-1:]
    rows_after, missing_after = all_rows - rows_before, all_missing - missing_before
    gain = _likelihood(rows_before, missing_before) + _likelihood(rows_after, missing_after)
    gain -= _likelihood(all_rows, all_missing)
    falls = missing_after * rows_before > missing_before * rows_after
    gain = np.where(falls & (rows_after > 0), gain, 0.0)
    best = int(np.argmax(gain))
    if gain[best] <= 0.0:
        return _Split(0, 0, 0.0)
    before, after = (
        1.0 - float(lost[best] / there[best])
        for lost, there in ((missing_before, rows_before), (missing_after, rows_after))
    )
    return _Split(int(places[best]), int(places[best + 1]), float(gain[best]), before, after)


def _likelihood(rows: Numbers, missing: Numbers) -> Numbers:
    """Return the log-likelihood of missing rows at their own rate."""
    import numpy as np

    share = np.divide(missing, rows, out=np.zeros_like(missing), where=rows > 0)
    found: Numbers = np.zeros_like(missing)
    for part, count in ((share, missing), (1.0 - share, rows - missing)):
        found += np.where(count > 0, count * np.log(np.where(part > 0, part, 1.0)), 0.0)
    return found
