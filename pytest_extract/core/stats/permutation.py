"""Permutation test of runs within cases: many statistics at once, with the same permutations for all of them.

Without a change, the runs of one case are exchangeable, whichever side they were made on (Fisher 1935, section 21; Good
2005, section 3.7). So a case with b runs before and a after gives C(a + b, a) equally likely arrangements, and the runs
of all statistics are rearranged together, which keeps whatever correlation they have. With one run a side, an
arrangement is a choice of signs (`sign_flip`).

Arrangements are counted where there are at most `LANES`, and sampled otherwise; the observed one is always among them,
so that a test at any level holds it exactly (Phipson and Smyth 2010).

All arrangements are worked on at once: bit k of every integer here belongs to arrangement k (its "lane"), and a sum is
a list of such integers, one a binary digit (bit slicing: Knuth, The Art of Computer Programming 4A, section 7.1.3).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Final, TypeAlias

from pytest_extract.lazy import dataclass

LANES: Final = 10_000
SEED: Final = 20_240_229
_FINEST: Final = 4_096  # steps of the grid that values without a small common unit are rounded to
_ERRORS: Final = 2.0  # standard errors of sampling that are added to a sampled p-value


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


class LaneSum:
    """One sum a lane, of whole weights of at least 0; carries are kept until the end (carry-save addition)."""

    __slots__ = ("_columns",)

    def __init__(self) -> None:
        self._columns: list[list[int]] = []

    def add(self, lanes: int, weight: int) -> None:
        """Add `weight` in each lane whose bit is set."""
        for place in range(weight.bit_length()):
            if weight >> place & 1:
                self._push(lanes, place)

    def _push(self, lanes: int, place: int) -> None:
        while True:
            while place >= len(self._columns):
                self._columns.append([])
            column = self._columns[place]
            column.append(lanes)
            if len(column) < 3:
                return
            one, two, three = column
            half = one ^ two
            self._columns[place] = [half ^ three]
            lanes = (one & two) | (half & three)
            place += 1

    def digits(self) -> list[int]:
        """Return the binary digits of all sums, lowest first."""
        digits: list[int] = []
        carry = 0
        for column in self._columns:
            one, two = (*column, 0, 0)[:2]
            half = one ^ two
            digits.append(half ^ carry)
            carry = (one & two) | (half & carry)
        return [*digits, carry]


class Arrangements:
    """The ways to rearrange the runs of some cases: all of them, or `LANES` of them.

    `shapes`: runs before and after of each case. `counted`: all ways are there, equally often. Further cases can be
    rearranged at random beside them (`further`).
    """

    def __init__(self, shapes: Sequence[tuple[int, int]], *, lanes: int = LANES, seed: int = SEED) -> None:
        ways = 1
        for before, after in shapes:
            ways *= math.comb(before + after, after)
            if ways > lanes:
                break
        self.counted = ways <= lanes
        self.lanes = lanes - lanes % ways if self.counted else lanes
        self.every = (1 << self.lanes) - 1
        self.shapes = shapes
        self._source = random.Random(seed)  # noqa: S311 - statistics, not secrets

    def __iter__(self) -> Iterator[list[int]]:
        """Yield for each case one integer a run: the lanes in which the run is taken for one of the later side."""
        stride = 1
        for before, after in self.shapes:
            if self.counted:
                yield self._all(before, after, stride)
                stride *= math.comb(before + after, after)
            else:
                yield self.further(before, after)

    def _all(self, before: int, after: int, stride: int) -> list[int]:
        """Count through the arrangements of one case, each for `stride` lanes, the observed one first."""
        runs = before + after
        ways = [*combinations(range(runs - 1, -1, -1), after)]
        period = stride * len(ways)
        repeat = self.every // ((1 << period) - 1)
        taken = [0] * runs
        for index, way in enumerate(ways):
            block = ((1 << stride) - 1 << index * stride) * repeat
            for run in way:
                taken[run] |= block
        return taken

    def further(self, before: int, after: int) -> list[int]:
        """Rearrange one case at random in every lane but the first, which stays as observed."""
        runs, least = before + after, min(before, after)
        taken = [0] * runs
        for last in range(runs - least, runs):  # Floyd's sampling without replacement
            hot = self._one_of(last + 1)
            again = 0
            for place, lanes in enumerate(hot):
                again |= lanes & taken[place]
            for place, lanes in enumerate(hot):
                taken[place] |= lanes & ~again
            taken[last] |= again
        if least < after:
            taken = [self.every ^ lanes for lanes in taken]
        return [lanes | 1 if run >= before else lanes >> 1 << 1 for run, lanes in enumerate(taken)]

    def _one_of(self, choices: int) -> list[int]:
        """Pick one of `choices` in every lane, each equally likely: one integer a choice, the lanes that picked it."""
        picked = [0] * choices
        left = self.every
        while left:
            masks = [left]
            while len(masks) < choices:
                bits = self._source.getrandbits(self.lanes)
                masks = [lanes & bits for lanes in masks] + [lanes & ~bits for lanes in masks]
            left = 0
            for place, lanes in enumerate(masks):
                if place < choices:
                    picked[place] |= lanes
                else:
                    left |= lanes
        return picked

    def p_value(self, count: int) -> float:
        """Return the share of lanes; of a sample with two standard errors on top, so that luck decides nothing."""
        share = count / self.lanes
        if self.counted:
            return share
        return min(1.0, share + _ERRORS * math.sqrt(share * (1 - share) / self.lanes))

    def most(self, level: float) -> int:
        """Return the largest number of lanes whose p-value is at most `level`."""
        low, high = 0, self.lanes
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.p_value(middle) <= level else (low, middle - 1)
        return low


class Statistic:
    """The loss of some cases, summed, in every arrangement; in whole steps, and standardized.

    `values`: the runs of each case that takes part, by its place in the list of cases (`ArrangedCases`).
    """

    __slots__ = ("_sum", "_weights", "digits", "mean", "observed", "reach", "sd", "unit")

    def __init__(self, values: Sequence[Runs]) -> None:
        weighed = [_weighed(runs) for runs in values]
        self.unit, self._weights = _whole(weighed)
        self._sum = LaneSum()
        self.digits: list[int] = []
        mean, variance, reach, self.observed = 0.0, 0.0, 0.0, 0
        for runs, weights in zip(values, self._weights, strict=True):
            before, after = runs.shape
            middle = sum(weights) / len(weights)
            spread = sum((weight - middle) ** 2 for weight in weights) / (len(weights) - 1)
            mean += after * middle
            variance += spread * before * after / len(weights)
            self.observed += sum(weights[before:])
            reach += sum(sorted(weights)[-after:])
        self.mean, self.sd = mean, math.sqrt(variance)
        self.reach = (reach - mean) / self.sd if variance else 0.0

    @property
    def score(self) -> float:
        """The observed sum, standardized: mean 0 and variance 1 over all arrangements."""
        return (self.observed - self.mean) / self.sd if self.sd else 0.0

    def take(self, case: int, lanes: Sequence[int]) -> None:
        """Add the arrangements of the `case`th of the statistic's own cases."""
        for weight, mask in zip(self._weights[case], lanes, strict=True):
            if weight:
                self._sum.add(mask, weight)

    def finish(self) -> None:
        """Have the sums ready."""
        self.digits = self._sum.digits()

    def at_least(self, least: int, every: int) -> int:
        """Return the lanes whose sum is `least` or more."""
        return lanes_at_least(self.digits, least, every)

    def score_at_least(self, score: float, every: int) -> int:
        """Return the lanes whose standardized sum is `score` or more."""
        if not self.sd or score > self.reach + 1e-9:
            return 0
        return self.at_least(math.ceil(self.mean + score * self.sd - 1e-6), every)


def lanes_at_least(digits: Sequence[int], least: int, every: int) -> int:
    """Return the lanes whose number, given by its binary digits, is `least` or more."""
    if least <= 0:
        return every
    if least >> len(digits):
        return 0
    reached = every
    for place, digit in enumerate(digits):
        reached = digit & reached if least >> place & 1 else digit | reached
    return reached


def lane_values(digits: Sequence[int], lanes: int) -> list[int]:
    """Return the number of every lane."""
    texts = [f"{digit:0{lanes}b}" for digit in reversed(digits)]
    return [int("".join(bits), 2) for bits in zip(*texts, strict=True)][::-1]


def _weighed(runs: Runs) -> list[Fraction | float]:
    """Return what each run adds to the loss of its case when it counts as a later one, from 0 up.

    With run values y, mean after - mean before = (1/a + 1/b) * (sum of y over the later runs) - (sum of all y) / b.
    """
    before, after = runs.shape
    least = min(*runs.before, *runs.after)
    weight = exact_share(before + after, before * after)
    return [(value - least) * weight for value in (*runs.before, *runs.after)]


def _whole(weighed: Sequence[Sequence[Fraction | float]]) -> tuple[float, list[list[int]]]:
    """Return the unit and the values in it: exact where a small unit exists, else rounded to a grid."""
    values = [value for weights in weighed for value in weights]
    if not any(isinstance(value, float) for value in values):
        shared = 1
        for denominator in {value.denominator for value in values if not isinstance(value, float)}:
            shared = math.lcm(shared, denominator)
            if shared > _FINEST:
                break
        else:
            whole = [[int(value * shared) for value in weights] for weights in weighed]
            common = math.gcd(*(value for weights in whole for value in weights)) or 1
            return common / shared, [[value // common for value in weights] for weights in whole]
    step = (max(map(float, values), default=0.0) or 1.0) / _FINEST
    return step, [[round(float(value) / step) for value in weights] for weights in weighed]


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

    ratios: tuple[float, ...]
    same: int

    def lower(self, most: int) -> float:
        """Return the drop below which at most so many arrangements lose as much; minus infinity if there is none."""
        index = most - self.same
        return self.ratios[index] if 0 <= index < len(self.ratios) else -math.inf

    def upper(self, most: int) -> float:
        """Return the drop above which at most so many arrangements lose as little; infinity if there is none."""
        index = most - self.same
        return self.ratios[-1 - index] if 0 <= index < len(self.ratios) else math.inf


class LaterRuns:
    """V of `DropLimits` in every arrangement: the weights of the truly later runs that count as later ones."""

    def __init__(self, shapes: Sequence[tuple[int, int]]) -> None:
        weights = [Fraction(sum(shape), shape[0] * shape[1]) for shape in shapes]
        shared = math.lcm(*({weight.denominator for weight in weights})) if shapes else 1
        self._weights = [int(weight * shared) for weight in weights]
        if shared > _FINEST:
            self._weights = [max(1, round(weight * _FINEST)) for weight in weights]
            shared = _FINEST
        self._unit = 1 / shared
        self._shapes = shapes
        self._sum = LaneSum()
        self._observed = sum(weight * shape[1] for weight, shape in zip(self._weights, shapes, strict=True))

    def take(self, case: int, lanes: Sequence[int]) -> None:
        """Add the arrangements of a case."""
        for mask in lanes[self._shapes[case][0] :]:
            self._sum.add(mask, self._weights[case])

    def limits(self, statistic: Statistic, lanes: int) -> DropLimits:
        """Return the limits of the mean drop; `statistic` is of the same arrangements, over the cases that vary."""
        digits = statistic.digits
        losses = lane_values(digits, lanes) if digits else [0] * lanes
        ratios: list[float] = []
        same = 0
        for loss, later in zip(losses, lane_values(self._sum.digits(), lanes), strict=True):
            if later == self._observed:
                same += 1
            else:
                ratios.append((statistic.observed - loss) * statistic.unit / ((self._observed - later) * self._unit))
        return DropLimits(tuple(sorted(ratios)), same)
