"""Percentile bootstrap intervals of means, to the last digit as SOB computes them (`evaluate.py: summarize_rows`).

One `random.Random(seed)` runs through all columns in order: each resample draws n rows with `randrange(n)`, which is
the top bits of successive 32-bit Mersenne-Twister outputs, those >= n rejected. numpy draws the same stream.

Of more rows than SOB publishes, all columns share the draws of the first: each interval is distributed as before, and
the time is that of one column.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Floats: TypeAlias = npt.NDArray[np.float64]

PLAIN_SEED: Final = 42
WEIGHTED_SEED: Final = 43
SAMPLES: Final = 1000
MOST_OWN_DRAWS: Final = 6_000
"""Rows up to which each column has draws of its own, as in SOB's program; it publishes 5,000 records at most."""
_CHUNK: Final = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over rows with its 95 % interval."""

    mean: float
    low: float
    high: float


def intervals(
    columns: Mapping[str, Sequence[float]],
    weights: Sequence[float] | None = None,
    *,
    samples: int = SAMPLES,
    most_own_draws: int = MOST_OWN_DRAWS,
) -> dict[str, Estimate]:
    """Estimate the (weighted) mean of every column, in the order given, from one random stream.

    Columns are of equal length n, in any unit; `weights`, of length n, makes the mean sum(w·m) / sum(w), 0 where the
    weights sum to 0. Of more than `most_own_draws` rows, all columns share the draws of the first. Raises ValueError
    where lengths differ.
    """
    size = len(next(iter(columns.values()), ()))
    if any(len(column) != size for column in (*columns.values(), *([] if weights is None else [weights]))):
        raise ValueError("all columns and the weights must be of one length")
    if size == 0:
        return {name: Estimate(mean=0.0, low=0.0, high=0.0) for name in columns}
    import numpy as np

    draws = _Draws(PLAIN_SEED if weights is None else WEIGHTED_SEED, size, samples)
    shares = np.ones(size) if weights is None else np.asarray(weights, dtype=float)
    products = [shares * np.asarray(column, dtype=float) for column in columns.values()]
    together = [products] if size > most_own_draws else [[product] for product in products]
    drawn = chain.from_iterable(draws.means(part, shares) for part in together)
    low, high = math.floor(0.025 * (samples - 1)), math.ceil(0.975 * (samples - 1))
    found: dict[str, Estimate] = {}
    for (name, column), of_resamples in zip(columns.items(), drawn, strict=True):
        means = sorted(of_resamples)
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


class _Draws:
    """Resampled means: the generator starts in the state of Python's own."""

    def __init__(self, seed: int, size: int, samples: int) -> None:
        import numpy as np

        *key, position = random.Random(seed).getstate()[1]  # noqa: S311 - statistics, not secrets
        self._generator = np.random.MT19937()
        state: Any = self._generator.state
        state["state"] = {"key": np.array(key, dtype=np.uint32), "pos": position}
        self._generator.state = state
        self._size, self._samples = size, samples
        self._left = np.empty(0, dtype=np.int64)

    def means(self, products: Sequence[_Floats], shares: _Floats) -> list[list[float]]:
        """Return the means of each column over new resamples, summed in Python's order, from left to right."""
        import numpy as np

        means: list[list[float]] = [[] for _ in products]
        for drawn in self._resamples():
            rows = drawn.T  # one a column: numpy then adds row after row
            sums = np.add.reduce(shares.take(rows), axis=0)
            for of_column, values in zip(means, products, strict=True):
                totals = np.add.reduce(values.take(rows), axis=0)
                of_column.extend(np.divide(totals, sums, out=np.zeros(len(drawn)), where=sums != 0).tolist())
        return means

    def _resamples(self) -> Iterator[npt.NDArray[np.int64]]:
        """Yield rows of row numbers, a row a resample, in parts of some size."""
        count = max(1, _CHUNK // self._size)
        for done in range(0, self._samples, count):
            part = min(count, self._samples - done)
            yield self._draw(part * self._size).reshape(part, self._size)

    def _draw(self, count: int) -> npt.NDArray[np.int64]:
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
