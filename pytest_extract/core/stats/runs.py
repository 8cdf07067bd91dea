"""The runs of one case on both sides of a comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

LANES: Final = 10_000
"""Arrangements that a permutation test samples."""
SEED: Final = 20_240_229
RESAMPLES: Final = 2_000

Values: TypeAlias = tuple[float, ...]
_DIGITS: Final = 12  # of a difference, so that equal means are equal in whatever order they were added


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
    def means(self) -> tuple[float, float]:
        """Mean before and after."""
        return math.fsum(self.before) / len(self.before), math.fsum(self.after) / len(self.after)

    @property
    def loss(self) -> float:
        """Mean after minus mean before."""
        before, after = self.means
        return round(after - before, _DIGITS)

    @property
    def varies(self) -> bool:
        """Whether two runs have different values; without that, every arrangement is the same."""
        first = self.before[0]
        return any(value != first for value in (*self.before, *self.after))
