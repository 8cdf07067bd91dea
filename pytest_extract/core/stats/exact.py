"""Exact tests on paired pass/fail: McNemar, its form for correlated fields (sign flips), and which tests can matter.

Nothing here is drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

Difference: TypeAlias = Fraction | float
"""After minus before, of one case; negative means worse."""

_GRID: Final = 8_000  # steps that the losses of all cases together are rounded to, where no exact unit is small enough


class SignFlip(NamedTuple):
    """`p`: one-sided p-value of "worse"; `smallest`: the smallest p-value that so many changed cases can give."""

    p: float
    smallest: float


def mcnemar(broken: int, fixed: int) -> float:
    """Exact one-sided McNemar test: how probable so many `broken` of all flips are if either way were equally likely.

    `broken`: pairs that passed before and fail now; `fixed`: the other way round. 1.0 without a flip.
    Right only where pairs are independent (one field a case); fields of one case are not: see `sign_flip`.
    Source: McNemar (1947), in its exact binomial form.
    """
    flips = broken + fixed
    ways = more = math.comb(flips, broken)
    for count in range(broken, flips):
        more = more * (flips - count) // (count + 1)
        ways += more
    return float(Fraction(ways, 2**flips))


def sign_flip(differences: Sequence[Difference]) -> SignFlip:
    """Exact one-sided sign-flip test that the differences, one a case, sum to less than nothing.

    Without a true change, a case's two results are exchangeable, so each difference is as likely to have the other
    sign, whatever ties the fields inside the case to each other. The p-value is the share of the 2^n sign choices
    that lose at least as much. With one field a case this is `mcnemar`.
    Where the differences have no small common unit they are rounded to a grid first, which keeps the test valid.
    Source: Fisher's randomisation test for pairs (1935, section 21); distribution by convolution.
    """
    losses = [-step for step in _units(differences)]
    sizes = [abs(loss) for loss in losses if loss]
    import numpy as np

    chances = np.ones(1)  # of each sum of the losses that a random half of the cases has
    for size in sorted(sizes):
        chances = (np.pad(chances, (0, size)) + np.pad(chances, (size, 0))) / 2
    lost = sum(loss for loss in losses if loss > 0)
    return SignFlip(min(1.0, float(chances[lost:].sum())), 0.5 ** len(sizes))


def _units(differences: Sequence[Difference]) -> list[int]:
    """Whole numbers in the proportion of the differences, or rounded to it where those would be too large."""
    steps = max(_GRID, 8 * len(differences))
    if any(isinstance(difference, float) for difference in differences):
        size = math.fsum(abs(float(difference)) for difference in differences)
        return [round(difference * steps / size) for difference in differences] if size else []
    exact = [Fraction(difference) for difference in differences]
    unit = math.lcm(*(value.denominator for value in exact))
    whole = [int(value * unit) for value in exact]
    shared = math.gcd(*whole) or 1
    whole = [value // shared for value in whole]
    total = sum(abs(value) for value in whole)
    return whole if total <= steps else [round(Fraction(value * steps, total)) for value in whole]


def attainable(smallest: Sequence[float], alpha: float) -> tuple[int, ...]:
    """Return the indices of the tests that can be significant at all when so many are corrected for together.

    A pattern with too few changed cases cannot be significant whatever its signs are, so it need not be paid for;
    thus adding patterns that did not change takes no power from the others.
    Source: Tarone (1990), "A modified Bonferroni method for discrete data", Biometrics 46.
    """
    count = 1
    while True:
        kept = tuple(index for index, least in enumerate(smallest) if least <= alpha / count)
        if len(kept) <= count:
            return kept
        count += 1
