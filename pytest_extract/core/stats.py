"""The runs of cases on both sides of a comparison, and what few of them show: exact tests, intervals, shares."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.float64]
    Lanes: TypeAlias = npt.NDArray[np.bool_]
    """Which arrangements are meant: one truth value a lane."""

LANES: Final = 10_000
"""Arrangements that a permutation test samples."""
SEED: Final = 20_240_229

Values: TypeAlias = tuple[float, ...]
_DIGITS: Final = 12  # decimal places of a difference, so that equal means are equal in whatever order they were added


@dataclass(frozen=True, slots=True)
class Runs:
    """One value a run of one case, larger is worse: those of the earlier side, then those of the later one."""

    before: Values
    after: Values

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Mean change over cases (after - before), its two-sided interval, and the one-sided upper bound of the drop.

    All in the unit of the differences. `low` and `high` enclose the change at `interval`: the changes that the
    permutation test does not reject (infinite where so few cases reject none).
    """

    change: float
    low: float
    high: float
    interval: float
    worst: float


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
    return ways / (1 << flips)


def tarone_count(smallest: Sequence[float], alpha: float) -> int:
    """Return by how many alpha is divided to correct for tests with these smallest p-values: the least that is enough.

    At alpha / count at most `count` of them can be significant, whatever the data, so that all together are wrong in at
    most alpha. A test of too few changed cases cannot be, and need not be paid for.
    Source: Tarone (1990), "A modified Bonferroni method for discrete data", Biometrics 46.
    """
    count = 1
    while sum(least <= alpha / count for least in smallest) > count:
        count += 1
    return count


_STEP: Final = 0.1
"""Step of an integral in the logarithm of its variable."""
_NEGLIGIBLE: Final = 30.0
"""Negative natural logarithm of what is left out of an integral."""
_FEW: Final = 20
"""Cases below which the integral is taken in the logarithm of its variable."""
_STEPS: Final = 1 << 20
"""An upper bound of a share is a multiple of 1 over this."""
_LOSS_DIGITS: Final = 4
"""Decimal places of a loss: of a hundred thousand cases, few have one of their own, and each takes time."""


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
    `tests/core/stats/test_stats.py` holds its error rate.
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
    slopes = [(weight, times) for weight, times in weights.items() if weight]
    number = sum(times for _, times in slopes)
    steepest = max(abs(weight) for weight, _ in slopes)
    if number < _FEW:  # the tail of the integral is long: in the logarithm of its variable it is not
        least = math.exp(-_NEGLIGIBLE) / (number * steepest)
        points = ((least * math.exp(_STEP * index), _STEP) for index in itertools.count())
    else:
        mean = math.fsum(weight * times for weight, times in slopes)
        deviation = math.sqrt(math.fsum(weight * weight * times for weight, times in slopes))
        step = 2 * math.pi / (abs(mean) + 12 * deviation + _NEGLIGIBLE * steepest)
        points = ((step * (index + 0.5), 1 / (index + 0.5)) for index in itertools.count())
    terms = 0.0
    for at, width in points:
        angle = damping = 0.0  # of the characteristic function
        for weight, times in slopes:
            product = weight * at
            angle += times * math.atan(product)
            damping += times * math.log1p(product * product)
        if damping >= 2 * _NEGLIGIBLE:
            break
        terms += math.sin(angle) * math.exp(-damping / 2) * width
    return 0.5 + terms / math.pi


def share_upper_bound(part: Sequence[float], whole: Sequence[float], confidence: float = 0.95) -> float:
    """Return the largest share that the cases do not rule out: the one-sided upper bound that `share_p_value` gives.

    1.0 without any field. n cases of equal size without a part give the rule of three: about 3 / n at 95 %.
    """
    if not any(size > 0 for size in whole):
        return 1.0
    steps = range(1, _STEPS)
    found = bisect_left(steps, x=True, key=lambda at: share_p_value(part, whole, at / _STEPS) <= 1 - confidence)
    return (found + 1) / _STEPS


def unseen_drop_bound(differences: Sequence[float], confidence: float = 0.95) -> float:
    """Return the upper bound of the mean drop that few cases cannot make small, at least 0, of a difference a case.

    It is that of the share of what a case can lose: all, as any answer can fail as a whole, or the largest change seen,
    if that is larger. So it counts one more case, which lost all of that. Without it, twenty equal cases, or three,
    would prove that nothing ever drops. With it and no change at all, n cases bound the drop by about 3 / n at 95 %.
    """
    most = max([1.0, *map(abs, differences)])
    losses = [round(-difference / most, _LOSS_DIGITS) for difference in differences]
    return most * share_upper_bound(losses, [1.0] * len(losses), confidence)


_ERRORS: Final = 2.0  # standard errors of sampling that are added to a sampled p-value
_SUM_DIGITS: Final = 9
SAME_SCORE: Final = 1e-6
"""Standardized sums of two statistics that differ by no more are one."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """The losses of some cases (mean after - mean before), summed, in every lane; the observed sum is the first.

    Over all arrangements the mean is 0 and the standard deviation `sd`.
    """

    sums: Numbers
    sd: float

    @property
    def scores(self) -> Numbers:
        """The sums, standardized."""
        return self.sums / self.sd if self.sd else self.sums

    def as_large(self) -> Lanes:
        """Return the lanes whose sum is the observed one or more."""
        large: Lanes = self.sums >= self.sums[0]
        return large

    def tail(self, most: int) -> Lanes:
        """Return the lanes of the largest sums, as many as there can be up to `most` with ties kept together."""
        import numpy as np

        ordered = np.sort(self.sums)
        return self.sums > (ordered[-most - 1] if most < len(ordered) else -math.inf)


class Permutations:
    """Permutation test of runs within cases: many statistics at once, in the same arrangements of the runs.

    Without a change, the runs of one case are exchangeable, whichever side they were made on (Fisher 1935, section 21;
    Good 2005, section 3.7). So a case with b runs before and a after gives C(a + b, a) equally likely arrangements, and
    the runs of all statistics are rearranged together, which keeps whatever correlation they have. With one run a side,
    an arrangement is a choice of signs.
    Arrangements are counted where there are at most `LANES`, and sampled otherwise; the observed one is always among
    them, so that a test at any level holds it exactly (Phipson and Smyth 2010). Each has its place in all arrays, its
    "lane".

    `shapes`: runs before and after of each case. `statistics`: for each, the runs of the cases that take part, by place
    in `shapes`. `counted`: all arrangements of the cases that take part in any are there, equally often; the runs of
    the others are rearranged at random beside them, for the limits. `smallest`: the smallest p-value of them all.
    """

    def __init__(
        self,
        shapes: Sequence[tuple[int, int]],
        statistics: Sequence[Mapping[int, Runs]],
        *,
        lanes: int | None = None,
    ) -> None:
        import numpy as np

        lanes = lanes or LANES
        self._source = np.random.default_rng(SEED)
        taking = {case for runs in statistics for case in runs}
        ways = math.prod(math.comb(sum(shapes[case]), shapes[case][1]) for case in taking)
        self.counted, self.smallest = ways <= lanes, 1 / ways
        self.lanes = lanes - lanes % ways if self.counted else lanes
        sums = np.zeros((len(statistics), self.lanes))
        variance = np.zeros(len(statistics))
        self._exchanged = np.zeros(self.lanes)  # V_obs - V of `limits`
        period = 1
        for case in [*sorted(taking), *sorted({*range(len(shapes))} - taking)]:
            before, after = shapes[case]
            if self.counted and case in taking:
                later = self._counted(before, after, period)
                period *= math.comb(before + after, after)
            else:
                later = self._sampled(before, after)
            share = (before + after) / (before * after)
            self._exchanged += share * (after - later[before:].sum(axis=0))
            takers = [place for place, runs in enumerate(statistics) if case in runs]
            if takers:
                runs = [statistics[place][case] for place in takers]
                values = np.array([[*map(float, one.before), *map(float, one.after)] for one in runs])
                weights = share * (values - values.mean(axis=1, keepdims=True))
                variance[takers] += before * after / (before + after) * weights.var(axis=1, ddof=1)
                taken = later.astype(float)
                for place, own in zip(takers, weights, strict=True):  # all rows at once take ten times as long
                    sums[place] += own @ taken
        self.statistics = tuple(map(Statistic, sums.round(_SUM_DIGITS), np.sqrt(variance).tolist()))

    def _counted(self, before: int, after: int, period: int) -> Lanes:
        """Count through the arrangements of one case, each for `period` lanes: which runs are taken for later ones."""
        import numpy as np

        ways = np.zeros((math.comb(before + after, after), before + after), dtype=bool)
        for way, taken in zip(ways, itertools.combinations(range(before + after - 1, -1, -1), after), strict=True):
            way[[*taken]] = True
        return ways[np.arange(self.lanes) // period % len(ways)].T

    def _sampled(self, before: int, after: int) -> Lanes:
        """Rearrange one case at random in every lane but the first (Knuth 2, section 3.4.2, algorithm S)."""
        import numpy as np

        taken, left = np.empty((before + after, self.lanes), dtype=bool), np.full(self.lanes, after)
        for run in range(before + after):
            taken[run] = self._source.random(self.lanes) * (before + after - run) < left
            left -= taken[run]
        taken[:, 0] = np.arange(before + after) >= before
        return taken

    def p_value(self, lanes: Lanes) -> float:
        """Return the share of lanes; of a sample with two standard errors on top, so that luck decides nothing."""
        return float(self._p_values(lanes.sum()))

    def _p_values(self, counts: Numbers | npt.NDArray[np.int_]) -> Numbers:
        import numpy as np

        share = counts / self.lanes
        doubt = 0.0 if self.counted else _ERRORS * np.sqrt(share * (1 - share) / self.lanes)
        return np.minimum(1.0, share + doubt)

    def most(self, level: float) -> int:
        """Return the largest number of lanes whose p-value is at most `level`."""
        import numpy as np

        return int((self._p_values(np.arange(self.lanes + 1)) <= level).sum()) - 1

    def limits(self, statistic: Statistic, *most: int) -> list[tuple[float, float]]:
        """Return the mean drops of all cases below and above which at most so many arrangements lose as much or little.

        One pair for each number of arrangements.

        Infinite where there are none. Drops between them the permutation test does not reject.

        Lemma: let S be the later runs of an arrangement and w = 1/a + 1/b. If the true drop is d, taking d off every
        later run makes runs exchangeable, and the loss of the arrangement becomes U - d V with U = sum of w y over S
        and V = sum of w over the truly later runs in S. It is at least the observed one exactly if
        (U_obs - U) / (V_obs - V) <= d. So the sorted ratios of all arrangements are the limits of every one-sided
        interval, and 0 is outside of an interval exactly if the test of no change is significant at its level (Hartigan
        1969: typical values). Arrangements that leave every case as observed are evidence against no drop.
        """
        other = self._exchanged > 0
        ratios = (statistic.sums[0] - statistic.sums[other]) / self._exchanged[other]
        ratios.sort()
        places = (each - (self.lanes - len(ratios)) for each in most)
        return [
            (float(ratios[place]), float(ratios[-1 - place])) if 0 <= place < len(ratios) else (-math.inf, math.inf)
            for place in places
        ]


def p_of_rise(cases: Sequence[Runs]) -> float:
    """Return the p-value that the values of cases rose, over all of them; 1.0 where no two runs of a case differ."""
    varying = [each for each in cases if each.varies]
    permutations = Permutations([(len(each.before), len(each.after)) for each in varying], [dict(enumerate(varying))])
    return permutations.p_value(permutations.statistics[0].as_large())
