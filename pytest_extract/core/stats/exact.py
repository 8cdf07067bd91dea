"""McNemar's exact test on paired pass/fail, and which of several tests can matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def mcnemar(broken: int, fixed: int) -> float:
    """Exact one-sided McNemar test: how probable so many `broken` of all flips are if either way were equally likely.

    `broken`: pairs that passed before and fail now; `fixed`: the other way round. 1.0 without a flip.
    Right only where pairs are independent (one field a case); fields of one case are not.
    Source: McNemar (1947), in its exact binomial form.
    """
    flips = broken + fixed
    ways = more = math.comb(flips, broken)
    for count in range(broken, flips):
        more = more * (flips - count) // (count + 1)
        ways += more
    return float(Fraction(ways, 2**flips))


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
