"""Permutation test of runs within cases: many statistics at once, with the same permutations for all of them.

Without a change, the runs of one case are exchangeable, whichever side they were made on (Fisher 1935, section 21; Good
2005, section 3.7). So a case with b runs before and a after gives C(a + b, a) equally likely arrangements, and the runs
of all statistics are rearranged together, which keeps whatever correlation they have. With one run a side, an
arrangement is a choice of signs.

Arrangements are counted where there are at most `LANES`, and sampled otherwise; the observed one is always among them,
so that a test at any level holds it exactly (Phipson and Smyth 2010). Each has its place in all arrays, its "lane".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_extract.core.stats import LANES, SEED, Runs

Numbers: TypeAlias = npt.NDArray[np.float64]
Lanes: TypeAlias = npt.NDArray[np.bool_]
"""Which arrangements are meant: one truth value a lane."""

_ERRORS: Final = 2.0  # standard errors of sampling that are added to a sampled p-value
_DIGITS: Final = 9  # decimal places of sums, so that equal ones are equal in whatever order they were added
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

    @property
    def score(self) -> float:
        """The observed sum, standardized."""
        return float(self.sums[0]) / self.sd if self.sd else 0.0

    def as_large(self) -> Lanes:
        """Return the lanes whose sum is the observed one or more."""
        large: Lanes = self.sums >= self.sums[0]
        return large

    def tail(self, most: int) -> Lanes:
        """Return the lanes of the largest sums, as many as there can be up to `most` with ties kept together."""
        last = np.partition(self.sums, -most - 1)[-most - 1] if most < len(self.sums) else -math.inf
        return self.sums > last


def largest_scores(statistics: Sequence[Statistic]) -> Numbers:
    """Return a row for each statistic: the largest score in every lane, of that statistic and those after it."""
    scores = np.array([statistic.scores for statistic in statistics])
    return np.maximum.accumulate(scores[::-1])[::-1]


@dataclass(frozen=True, slots=True)
class DropLimits:
    """The drops that the permutation test does not reject, in the order of the evidence.

    Lemma: let S be the later runs of an arrangement and w = 1/a + 1/b. If the true drop is d, taking d off every later
    run makes runs exchangeable, and the loss of the arrangement becomes U - d V with U = sum of w y over S and V = sum
    of w over the truly later runs in S. It is at least the observed one exactly if (U_obs - U) / (V_obs - V) <= d. So
    the sorted ratios of all arrangements are the limits of every one-sided interval, and 0 is outside of an interval
    exactly if the test of no change is significant at its level (Hartigan 1969: typical values).
    `same`: arrangements that leave every case as observed, which are evidence against no drop.
    """

    ratios: Numbers
    same: int

    def lower(self, most: int) -> float:
        """Return the drop below which at most so many arrangements lose as much; minus infinity if there is none."""
        index = most - self.same
        return float(self.ratios[index]) if 0 <= index < len(self.ratios) else -math.inf

    def upper(self, most: int) -> float:
        """Return the drop above which at most so many arrangements lose as little; infinity if there is none."""
        index = most - self.same
        return float(self.ratios[-1 - index]) if 0 <= index < len(self.ratios) else math.inf


class Permutations:
    """Statistics of the same cases in the same arrangements of their runs.

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
        seed: int = SEED,
    ) -> None:
        lanes = lanes or LANES
        self._source = np.random.default_rng(seed)
        taking = {case for runs in statistics for case in runs}
        ways = math.prod(math.comb(sum(shapes[case]), shapes[case][1]) for case in taking)
        self.counted, self.smallest = ways <= lanes, 1 / ways
        self.lanes = lanes - lanes % ways if self.counted else lanes
        sums = np.zeros((len(statistics), self.lanes))
        variance = np.zeros(len(statistics))
        self._exchanged = np.zeros(self.lanes)  # V_obs - V of `DropLimits`
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
        self.statistics = tuple(map(Statistic, sums.round(_DIGITS), np.sqrt(variance).tolist()))

    def _counted(self, before: int, after: int, period: int) -> Lanes:
        """Count through the arrangements of one case, each for `period` lanes: which runs are taken for later ones."""
        ways = np.zeros((math.comb(before + after, after), before + after), dtype=bool)
        for way, taken in zip(ways, combinations(range(before + after - 1, -1, -1), after), strict=True):
            way[[*taken]] = True
        return ways[np.arange(self.lanes) // period % len(ways)].T

    def _sampled(self, before: int, after: int) -> Lanes:
        """Rearrange one case at random in every lane but the first (Knuth 2, section 3.4.2, algorithm S)."""
        taken, left = np.empty((before + after, self.lanes), dtype=bool), np.full(self.lanes, after)
        for run in range(before + after):
            taken[run] = self._source.random(self.lanes) * (before + after - run) < left
            left -= taken[run]
        taken[:, 0] = np.arange(before + after) >= before
        return taken

    def p_value(self, lanes: Lanes) -> float:
        """Return the share of lanes; of a sample with two standard errors on top, so that luck decides nothing."""
        return float(self._p_values(np.array(np.count_nonzero(lanes))))

    def _p_values(self, counts: Numbers | npt.NDArray[np.int_]) -> Numbers:
        share = counts / self.lanes
        doubt = 0.0 if self.counted else _ERRORS * np.sqrt(share * (1 - share) / self.lanes)
        return np.minimum(1.0, share + doubt)

    def most(self, level: float) -> int:
        """Return the largest number of lanes whose p-value is at most `level`."""
        return int(np.count_nonzero(self._p_values(np.arange(self.lanes + 1)) <= level)) - 1

    def limits(self, statistic: Statistic) -> DropLimits:
        """Return the limits of the mean drop of all cases."""
        other = self._exchanged > 0
        ratios = (statistic.sums[0] - statistic.sums[other]) / self._exchanged[other]
        return DropLimits(np.sort(ratios), int(self.lanes - np.count_nonzero(other)))


def p_of_rise(cases: Sequence[Runs]) -> float:
    """Return the p-value that the values of cases rose, over all of them; 1.0 where no two runs of a case differ."""
    varying = [each for each in cases if each.varies]
    permutations = Permutations([each.shape for each in varying], [dict(enumerate(varying))])
    return permutations.p_value(permutations.statistics[0].as_large())
