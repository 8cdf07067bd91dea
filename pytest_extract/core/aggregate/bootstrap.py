"""Percentile bootstrap intervals of means, to the last digit as SOB computes them (`evaluate.py: summarize_rows`).

One `random.Random(seed)` runs through all columns in order: each resample draws n rows with `randrange(n)`, which is
the top bits of successive 32-bit Mersenne-Twister outputs, those >= n rejected. numpy can draw the same stream; with it
and without it the numbers are the same, bit for bit.

Of more rows than SOB publishes, all columns share the draws of the first: each interval is distributed as before, and
the time is that of one column.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import islice, repeat
from operator import add, mul
from typing import Any, Final

from pytest_extract.lazy import dataclass

PLAIN_SEED: Final = 42
WEIGHTED_SEED: Final = 43
SAMPLES: Final = 1000
MOST_OWN_DRAWS: Final = 6_000
"""Rows up to which each column has draws of its own, as in SOB's program; it publishes 5,000 records at most."""
_CHUNK: Final = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over rows with its 95 % percentile interval."""

    mean: float
    low: float
    high: float


def intervals(
    columns: Mapping[str, Sequence[float]],
    weights: Sequence[float] | None = None,
    *,
    samples: int = SAMPLES,
    seed: int | None = None,
    most_own_draws: int = MOST_OWN_DRAWS,
) -> dict[str, Estimate]:
    """Estimate the (weighted) mean of every column, in the order given, from one random stream.

    Columns are of equal length n, in any unit; `weights`, of length n, makes the mean sum(w·m) / sum(w), 0 where the
    weights sum to 0; `seed` is by default SOB's (42 plain, 43 weighted). Of more than `most_own_draws` rows, all
    columns share the draws of the first. Raises ValueError where lengths differ.
    """
    (found,) = intervals_of_groups([columns], weights, samples=samples, seed=seed, most_own_draws=most_own_draws)
    return found


def intervals_of_groups(
    groups: Sequence[Mapping[str, Sequence[float]]],
    weights: Sequence[float] | None = None,
    *,
    samples: int = SAMPLES,
    seed: int | None = None,
    most_own_draws: int = MOST_OWN_DRAWS,
) -> list[dict[str, Estimate]]:
    """Return the `intervals` of each group of columns; of many rows, all groups together take one group's draws."""
    seed = seed if seed is not None else PLAIN_SEED if weights is None else WEIGHTED_SEED
    size = len(next((column for columns in groups for column in columns.values()), ()))
    columns_of_all = [column for columns in groups for column in columns.values()]
    if any(len(column) != size for column in (*columns_of_all, *(() if weights is None else (weights,)))):
        raise ValueError("all columns and the weights must be of one length")
    if size == 0:
        return [{name: Estimate(mean=0.0, low=0.0, high=0.0) for name in columns} for columns in groups]
    if size > most_own_draws:
        resampled = _drawer(seed, size, samples).shared([[*columns.values()] for columns in groups], weights)
        return [_estimates(columns, means, weights, samples) for columns, means in zip(groups, resampled, strict=True)]
    draws = [_drawer(seed, size, samples) for _ in groups]
    return [
        _estimates(columns, (draw(column, weights) for column in columns.values()), weights, samples)
        for columns, draw in zip(groups, draws, strict=True)
    ]


def _estimates(
    columns: Mapping[str, Sequence[float]],
    resampled: Iterable[list[float]],
    weights: Sequence[float] | None,
    samples: int,
) -> dict[str, Estimate]:
    found: dict[str, Estimate] = {}
    for (name, column), drawn in zip(columns.items(), resampled, strict=True):
        means = sorted(drawn)
        low, high = math.floor(0.025 * (samples - 1)), math.ceil(0.975 * (samples - 1))
        found[name] = Estimate(mean=mean(column, weights), low=means[low], high=means[high])
    return found


def mean(column: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """(Weighted) mean, summed from left to right; 0 for no rows or no weight."""
    total = weight = 0.0
    for index, value in enumerate(column):
        share = 1.0 if weights is None else weights[index]
        total += share * value
        weight += share
    return total / weight if weight else 0.0


def _drawer(seed: int, size: int, samples: int) -> _Plain | _Vectorised:
    try:
        import numpy  # noqa: F401, ICN001 - only whether it is there
    except ImportError:
        return _Plain(seed, size, samples)
    return _Vectorised(seed, size, samples)


class _Plain:
    """Resampled means in pure Python."""

    def __init__(self, seed: int, size: int, samples: int) -> None:
        bits = map(random.Random(seed).getrandbits, repeat(size.bit_length()))  # noqa: S311 - statistics, not secrets
        self._rows = filter(size.__gt__, bits)  # what `randrange` gives, in a quarter of the time
        self._size = size
        self._samples = samples

    def __call__(self, column: Sequence[float], weights: Sequence[float] | None) -> list[float]:
        products = column if weights is None else [*map(mul, weights, column)]
        means = []
        for _ in range(self._samples):
            rows = [*islice(self._rows, self._size)]
            # from left to right: `sum` rounds otherwise from Python 3.12 on
            total = reduce(add, map(products.__getitem__, rows), 0.0)
            weight = self._size if weights is None else reduce(add, map(weights.__getitem__, rows), 0.0)
            means.append(total / weight if weight else 0.0)
        return means

    def shared(
        self, groups: Sequence[Sequence[Sequence[float]]], weights: Sequence[float] | None
    ) -> list[list[list[float]]]:
        """Return the means of all columns of each group over the same resamples; equal rows are drawn as one."""
        columns = [column for group in groups for column in group]
        shares = [1.0] * self._size if weights is None else weights
        rows = list(zip(shares, *columns, strict=True))
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        kinds = [numbers[row] for row in rows]
        means: list[list[float]] = [[] for _ in columns]
        for _ in range(self._samples):
            counts = Counter(map(kinds.__getitem__, islice(self._rows, self._size)))
            drawn = [
                (count * share, values) for number, (share, *values) in enumerate(numbers) if (count := counts[number])
            ]
            weight = sum(share for share, _ in drawn)
            for index, found in enumerate(means):
                total = sum(share * values[index] for share, values in drawn)
                found.append(total / weight if weight else 0.0)
        found_means = iter(means)
        return [[*islice(found_means, len(group))] for group in groups]


class _Vectorised:
    """The same with numpy: the generator starts in the state of Python's own, and sums run from left to right too."""

    def __init__(self, seed: int, size: int, samples: int) -> None:
        import numpy as np

        *key, position = random.Random(seed).getstate()[1]  # noqa: S311 - statistics, not secrets
        self._generator = np.random.MT19937()
        state: Any = self._generator.state
        state["state"] = {"key": np.array(key, dtype=np.uint32), "pos": position}
        self._generator.state = state
        self._size = size
        self._samples = samples
        self._left = np.empty(0, dtype=np.int64)

    def __call__(self, column: Sequence[float], weights: Sequence[float] | None) -> list[float]:
        import numpy as np

        shares = None if weights is None else np.asarray(weights, dtype=float)
        values = np.asarray(column, dtype=float)
        products = values if shares is None else shares * values
        means: list[float] = []
        while len(means) < self._samples:
            count = min(max(1, _CHUNK // self._size), self._samples - len(means))
            # one resample a column: numpy then adds row after row, in Python's order
            drawn = self._draw(count * self._size).reshape(count, self._size).T
            totals = np.add.reduce(products.take(drawn), axis=0)
            sums = np.full(count, float(self._size)) if shares is None else np.add.reduce(shares.take(drawn), axis=0)
            means.extend(np.divide(totals, sums, out=np.zeros(count), where=sums != 0).tolist())
        return means

    def shared(
        self, groups: Sequence[Sequence[Sequence[float]]], weights: Sequence[float] | None
    ) -> list[list[list[float]]]:
        """Return the means of all columns of each group over the same resamples.

        Rounding aside, they are those of `_Plain.shared`.
        """
        import numpy as np

        shares = np.ones(self._size) if weights is None else np.asarray(weights, dtype=float)
        values = [
            np.array([shares, *(shares * np.asarray(column, dtype=float) for column in columns)]) for columns in groups
        ]
        parts: list[list[Any]] = [[] for _ in groups]
        left = self._samples
        while left:
            count = min(max(1, _CHUNK // self._size), left)
            left -= count
            drawn = self._draw(count * self._size).reshape(count, self._size)
            times = np.empty((count, self._size))
            for row, sample in zip(times, drawn, strict=True):
                row[:] = np.bincount(sample, minlength=self._size)
            for found, table in zip(parts, values, strict=True):
                # no product of matrices: the threads of BLAS wait for each other longer than they work
                weight, *totals = np.einsum("ij,kj->ik", times, table).T
                found.append(np.divide(totals, weight, out=np.zeros_like(totals), where=weight != 0))
        return [np.concatenate(found, axis=1).tolist() for found in parts]

    def _draw(self, count: int) -> Any:
        """Draw `count` row numbers; what was drawn too many waits for the next call."""
        import numpy as np

        bits = self._size.bit_length()
        parts, have = [self._left], len(self._left)
        while have < count:
            wanted = (count - have) * (1 << bits) // self._size + 64
            raw = self._generator.random_raw(wanted)  # 32 bits each, in integers of 64
            raw >>= np.uint64(32 - bits)
            fresh = raw.view(np.int64)
            parts.append(fresh.compress(fresh < self._size))  # a fourth of the time of fresh[...]
            have += len(parts[-1])
        drawn = np.concatenate(parts)
        self._left = drawn[count:]
        return drawn[:count]
