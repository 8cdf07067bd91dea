"""The runs of one case on both sides of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

LANES: Final = 10_000
"""Arrangements that a permutation test samples."""
SEED: Final = 20_240_229
RESAMPLES: Final = 2_000

Values: TypeAlias = tuple[Fraction | float, ...]


@lru_cache(maxsize=4096)
def exact_share(count: int, of: int) -> Fraction | int:
    """Return count / of exactly: a whole number as one, which is several times as fast to compute with."""
    whole, rest = divmod(count, of)
    return Fraction(count, of) if rest else whole


@dataclass(frozen=True, slots=True)
class Runs:
    """One value a run of one case, larger is worse: those of the earlier side, then those of the later one."""

    before: Values
    after: Values

    @property
    def shape(self) -> tuple[int, int]:
        """Number of runs before and after."""
        return len(self.before), len(self.after)

    @property
    def means(self) -> tuple[Fraction | float, Fraction | float]:
        """Mean before and after."""
        return mean_of_runs(self.before), mean_of_runs(self.after)

    @property
    def loss(self) -> Fraction | float:
        """Mean after minus mean before."""
        before, after = self.means
        return after - before

    @property
    def varies(self) -> bool:
        """Whether two runs have different values; without that, every arrangement is the same."""
        first = self.before[0]
        return any(value != first for value in (*self.before, *self.after))


def mean_of_runs(values: Values) -> Fraction | float:
    """Return the mean, exact where the values are."""
    first, *others = values
    if not others:
        return first
    total = sum(others, first)
    return Fraction(total, len(values)) if isinstance(total, int) else total / len(values)
