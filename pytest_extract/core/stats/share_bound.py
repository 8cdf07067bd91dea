"""A share over cases whose fields may hang together: an exact one-sided test that it is small, and its upper bound."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

_STEP: Final = 0.1
"""Step of an integral in the logarithm of its variable."""
_NEGLIGIBLE: Final = 30.0
"""Negative natural logarithm of what is left out of an integral."""
_FEW: Final = 20
"""Cases below which the integral is taken in the logarithm of its variable."""
_PRECISION: Final = 1e-6


def share_p_value(part: Sequence[float], whole: Sequence[float], rate: float) -> float:
    """Return how probable so small a share is if the true one were `rate` or more.

    Each case has `part` of its `whole` (wrong fields of accepted fields); the share is the sum of the parts over the
    sum of the wholes. Cases are independent, the fields of a case need not be: one field a case gives the exact
    binomial test of Clopper and Pearson, and fields that are all right or all wrong together give the same.
    1.0 without any field. Raises ValueError for a rate outside of (0, 1).

    The test adds one case that is all in the part, as large as the case of a typical field (the mean size weighted by
    size), and gives each case a random weight (the spacings of uniform order statistics): p is the probability that the
    weighted share reaches `rate`. With cases of one size that is Gaffke's test, exact for shares of 0 and 1.
    Source: Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
    variable"; Learned-Miller and Thomas (2020), "A new confidence interval for the mean of a bounded random variable".
    `tests/core/stats/test_share_bound.py` holds its error rate.
    """
    if not 0 < rate < 1:
        raise ValueError(f"a rate between 0 and 1 is needed, not {rate}")
    total = math.fsum(whole)
    if total <= 0:
        return 1.0
    typical = math.fsum(size * size for size in whole) / total
    excess = Counter(one - rate * size for one, size in zip(part, whole, strict=True) if size > 0)
    excess[(1 - rate) * typical] += 1
    return min(max(_positive_probability({value / typical: count for value, count in excess.items()}), 0.0), 1.0)


def _positive_probability(weights: Mapping[float, int]) -> float:
    """Return P(sum of `weight` times a standard exponential variable > 0), each weight so many times.

    Inversion of the characteristic function. Source: Imhof (1961), "Computing the distribution of quadratic forms in
    normal variables", Biometrika 48, and, for the step, Davies (1973), "Numerical inversion of a characteristic
    function", Biometrika 60: the midpoint rule errs by the probability of sums beyond `reach`.
    """
    slopes = [(weight, count) for weight, count in weights.items() if weight]
    number = sum(count for _, count in slopes)
    if number < _FEW:  # the tail of the integral is long: in the logarithm of its variable it is not
        steepest = max(abs(weight) for weight, _ in slopes)
        at = math.exp(-_NEGLIGIBLE) / (number * steepest)
        terms, growth = 0.0, math.exp(_STEP)
        while (found := _inverse(slopes, at)) is not None:
            terms += found
            at *= growth
        return 0.5 + terms * _STEP / math.pi
    mean = math.fsum(weight * count for weight, count in slopes)
    deviation = math.sqrt(math.fsum(weight * weight * count for weight, count in slopes))
    reach = abs(mean) + 12 * deviation + _NEGLIGIBLE * max(abs(weight) for weight, _ in slopes)
    step, terms, index = 2 * math.pi / reach, 0.0, 0
    while (found := _inverse(slopes, (index + 0.5) * step)) is not None:
        terms += found / (index + 0.5)
        index += 1
    return 0.5 + terms / math.pi


def _inverse(slopes: Sequence[tuple[float, int]], at: float) -> float | None:
    """Return the imaginary part of the characteristic function; None where it is negligible from here on."""
    angle = damping = 0.0
    for weight, count in slopes:
        product = weight * at
        angle += count * math.atan(product)
        damping += count * math.log1p(product * product)
    return math.sin(angle) * math.exp(-damping / 2) if damping < 2 * _NEGLIGIBLE else None


def share_upper_bound(part: Sequence[float], whole: Sequence[float], confidence: float = 0.95) -> float:
    """Return the largest share that the cases do not rule out: the one-sided upper bound that `share_p_value` gives.

    1.0 without any field. n cases of equal size without a part give the rule of three: about 3 / n at 95 %.
    """
    if not any(size > 0 for size in whole):
        return 1.0
    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        if share_p_value(part, whole, middle) <= 1 - confidence:
            high = middle
        else:
            low = middle
    return high
