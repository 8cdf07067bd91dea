"""Exact tests on paired pass/fail: McNemar, its form for correlated fields (sign flips), and which tests can matter.

Nothing here is drawn at random. Only beyond 2,000 changed cases is the sign-flip test a normal approximation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

Difference: TypeAlias = Fraction | float
"""After minus before, of one case; negative means worse."""

_FIELD: Final = 64  # bits of one packed coefficient
_ONE: Final = 1 << 62  # probability 1 in fixed point; a sum of two stays below the field
_ALL: Final = (1 << _FIELD) - 1
_MANY: Final = 2_000  # changed cases from which on convolution takes seconds
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
    Beyond 2,000 differences other than 0 it is the normal tail (`_normal_tail`), which has an error of its own.
    Source: Fisher's randomisation test for pairs (1935, section 21); distribution by convolution.
    """
    losses = [-step for step in _units(differences)]
    sizes = [abs(loss) for loss in losses if loss]
    if not sizes:
        return SignFlip(1.0, 1.0)
    if len(sizes) > _MANY:
        return SignFlip(_normal_tail(sizes, sum(losses)), 0.5 ** len(sizes))
    lost = sum(loss for loss in losses if loss > 0)
    return SignFlip(_tail(sizes, lost), 0.5 ** len(sizes))


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


def _normal_tail(sizes: Sequence[int], lost: int) -> float:
    """Return the tail of the normal distribution at the standardized loss, half a step of the sums below it.

    Its error is at most 0.56 * sum |d|^3 / (sum d^2)^1.5 (Berry 1941, Esseen 1942; constant of Shevtsova 2010): below
    0.013 for 2,000 differences of one size. In the far tail it is much smaller.
    """
    return 0.5 * math.erfc((lost - 1) / math.sqrt(2 * sum(size * size for size in sizes)))


def _tail(sizes: Sequence[int], at_least: int) -> float:
    """Probability that a random half of `sizes` sums to `at_least` or more.

    The distribution is one long integer, a 64-bit field for each sum, so that adding a case is a shift and an add.
    Halving rounds down; what that loses is added to the tail, so the result is never too small.
    """
    packed = _ONE
    reach = 0
    for size in sorted(sizes):
        reach += size
        packed += packed << (_FIELD * size)
        packed = (packed >> 1) & int.from_bytes((_ALL >> 1).to_bytes(8, "little") * (reach + 1), "little")
    rounded_away = _ONE - packed % _ALL
    return float(Fraction((packed >> (_FIELD * at_least)) % _ALL + rounded_away, _ONE))


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
