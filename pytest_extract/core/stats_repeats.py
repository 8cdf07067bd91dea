"""Repeats of one case: when to stop, how steady a field is, and how likely k runs in a row are to pass."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


def decided(passes: int, failures: int, needed: int, of: int) -> bool:
    """Whether no further repeat can change that `needed` of `of` pass, so that the rest need not be paid for."""
    return passes >= needed or failures > of - needed


def pass_hat_k(passes: int, of: int, k: int) -> float:
    """Unbiased estimate of pass^k, the probability that k runs in a row all pass, from `passes` of `of` runs.

    Raises ValueError where k is not in 1..of: so many runs were not made.
    Source: tau-bench (Yao et al. 2024), section 5: C(passes, k) / C(of, k).
    """
    if not 1 <= k <= of:
        raise ValueError(f"pass^{k} needs at least {k} runs and k >= 1; there are {of}")
    return math.comb(passes, k) / math.comb(of, k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """How steady one field is over `runs` repeats; `agreement` is the share of its most common value."""

    runs: int
    passes: int
    values: int
    agreement: float

    @property
    def steady(self) -> bool:
        """Whether every repeat gave the same verdict."""
        return self.passes in (0, self.runs)


def stability(passed: Sequence[bool], values: Sequence[Hashable]) -> Stability:
    """Stability of one field from its repeats: verdicts, and values in any form that compares equal when equal."""
    counts: dict[Hashable, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return Stability(
        runs=len(passed),
        passes=sum(passed),
        values=len(counts),
        agreement=max(counts.values()) / len(values) if values else 1.0,
    )
