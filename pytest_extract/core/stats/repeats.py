"""Repeats of one case: when to stop, and how likely k runs in a row are to pass."""

from __future__ import annotations

import math


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
