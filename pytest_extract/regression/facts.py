"""What a decision of the gate rests on: tests, cases that died, and how much measures, failures and calls changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.aggregate.slices import DIMENSIONS, NONE, natural_key, tag_text
from pytest_extract.core.stats import SAME_SCORE, Bounds, Runs, mcnemar, p_of_rise, tarone_count, unseen_drop_bound
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.regression.compare import CaseComparison, Change, Comparison, VariantComparison

if TYPE_CHECKING:
    from pytest_extract.core.stats import Lanes, Numbers, Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Settings of the gate. Rates and drops are shares in [0, 1].

    alpha: how often the gate may say WORSE without a true change, over all of its tests together.
    margin: PASS needs that a fall of the mean of this size is excluded (at confidence 1 - alpha); None: it does not.
    measure: name of the measure that the overall test and the margin are about; None: the share of passed fields.
    by: tags of the cases, and dimensions that group them (`case_slices`); the mean over all fields is tested for each
        value of each, in the family of the fields.
    max_dead: highest number of dead cases; None: see `regression.facts`.
    max_fallen, max_drop: hard rules on the number of fields that fell and the fall of the measure; None: no rule.
    max_cost_rise, max_latency_rise: hard rules on mean cost and latency of a call (0.2: a fifth more).
    keep_runs: runs of a case that a baseline keeps, the last ones, where a run is added to it.
    allow_drafts: True counts cases whose golds nobody has reviewed.
    inconclusive: whether UNDECIDED fails; None: `compare` has an exit status of its own for it.
    """

    alpha: float = 0.05
    margin: float | None = None
    measure: str | None = None
    by: tuple[str, ...] = ()
    max_dead: int | None = None
    max_fallen: int | None = None
    max_drop: float | None = None
    max_cost_rise: float | None = None
    max_latency_rise: float | None = None
    keep_runs: int = 10
    allow_drafts: bool = False
    inconclusive: Literal["warn", "fail"] | None = None

    def __post_init__(self) -> None:
        """Raise ConfigError, with the name of the setting, for a value out of range."""
        for name in ("alpha", "margin"):
            share = getattr(self, name)
            if share is not None and not 0 < share < 1:
                raise ConfigError(f"{name} must be above 0 and below 1, not {share}")
        if self.max_drop is not None and not 0 <= self.max_drop <= 1:
            raise ConfigError(f"max_drop must be from 0 to 1, not {self.max_drop}")
        for name in ("max_dead", "max_fallen", "max_cost_rise", "max_latency_rise", "keep_runs"):
            least, limit = int(name == "keep_runs"), getattr(self, name)
            if limit is not None and not limit >= least:
                raise ConfigError(f"{name} must be {least} or more, not {limit}")


def read_rule(text: str) -> tuple[str, Any]:
    """Read `NAME=VALUE` of the option `--extract-rule`; ValueError says what is wrong."""
    name, sign, value = (part.strip() for part in text.partition("="))
    kinds: Mapping[str, str] = {field.name: str(field.type) for field in fields(Rules)}
    if not sign or name not in kinds:
        raise ValueError(f"must read NAME=VALUE with a rule of the gate{nearest(name, kinds)}")
    kind = kinds[name]
    choices = kind.split("'")[1::2]  # of a type like `Literal['warn', 'fail'] | None`
    try:
        if kind.startswith("tuple"):
            return name, tuple(part.strip() for part in value.split(",") if part.strip())
        if kind.startswith("bool"):
            return name, {"": True, "true": True, "1": True, "false": False, "0": False}[value.lower()]
        if choices:
            return name, choices[choices.index(value)]
        return name, int(value) if kind.startswith("int") else float(value) if kind.startswith("float") else value
    except (ValueError, KeyError):
        wanted = f"one of {', '.join(choices)}" if choices else f"a value of type {kind}"
        raise ValueError(f"must give {name} {wanted}") from None


OVERALL_SHARE: Final = 0.6
"""The part of alpha for the test over all fields.

Half of the rest is for the same test without answers that failed as a whole; fields and tags have what these leave.
"""
DOUBT: Final = 2.0
"""At so many times alpha the family finds falls that may be noise (set by `tests/benchmarks/gate_power.py`)."""
SMALLEST_FALL: Final = 0.005
"""A fall of less than this is none, however sure."""


class Subject(StrEnum):
    """What a test is about."""

    OVERALL = "all fields"
    COMPLETE = "answers that did not fail as a whole"
    PATTERN = "field"
    TAG = "tag"


Suspect: TypeAlias = tuple[Subject, str]
"""What may have fallen: a field pattern or gate, a tag with its value (`kind=credit`), or all fields (no name)."""
_OVERALL: Final[Suspect] = (Subject.OVERALL, "")
_COMPLETE: Final[Suspect] = (Subject.COMPLETE, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One test of "worse".

    `name`: the pattern, or the tag and its value; empty for the others. `drop`: mean over its cases of before - after,
    a share; `fall`: as much of it as counts against `SMALLEST_FALL`: where fewer answers fail as a whole than before,
    beyond noise, a fall of the others counts only as far as the mean of all fell too. `p`: permutation test of the runs
    within cases, two standard errors more if it is sampled; `adjusted`: corrected for the whole family, to be compared
    with `level` (alpha). `luck`: how often some field would fall as far as this one without a change. `doubtful`:
    beyond noise at `DOUBT` times alpha only.
    """

    variant: str
    subject: Subject
    name: str
    drop: float
    fall: float
    p: float = 1.0
    luck: float = 1.0
    adjusted: float = 1.0
    level: float
    doubtful: bool = False

    @property
    def beyond_noise(self) -> bool:
        """Whether the fall is beyond noise, however small it is."""
        return self.adjusted <= self.level

    @property
    def significant(self) -> bool:
        """Whether the fall is beyond noise, and large enough to matter."""
        return self.beyond_noise and self.fall >= SMALLEST_FALL

    @property
    def suspect(self) -> Suspect:
        """What the test is about, with its name."""
        return self.subject, self.name

    @property
    def pattern(self) -> str | None:
        """The field pattern that the test is about; None for the other tests."""
        return self.name if self.subject is Subject.PATTERN else None

    @property
    def title(self) -> str:
        """What the test is about, in words."""
        return self.name or str(self.subject)


class Tests(NamedTuple):
    """All tests of a comparison, worst first, and how much the mean of each variant may have changed.

    A variant without a case that could have changed has no bounds.
    """

    results: tuple[TestResult, ...]
    bounds: Mapping[str, Bounds]


def run_tests(
    comparison: Comparison,
    rules: Rules,
    *,
    level: float | None = None,
    only: Mapping[str, Collection[Suspect]] | None = None,
) -> Tests:
    """Test every variant over all fields and by field pattern, gate and tag, as far as runs differ.

    `level`: the part of `rules.alpha` that all tests have together, all of it by default; what the others have is part
    of the correction. `only`: what to test of each variant, beside the mean over all fields.
    """
    alpha = rules.alpha if level is None else level
    families = [
        _Family(variant, rules, None if only is None else only.get(variant.label, ()))
        for variant in comparison.variants
        if variant.compared
    ]
    smallest = [family.permutations.smallest for family in families]
    variants, doubted = tarone_count(smallest, alpha), tarone_count(smallest, DOUBT * rules.alpha)
    tests: list[TestResult] = []
    for family in families:
        weak = {
            test.suspect: test.adjusted
            for test in family.results(DOUBT * rules.alpha / doubted, doubted)
            if test.adjusted <= DOUBT * rules.alpha and test.fall >= SMALLEST_FALL
        }
        for test in family.results(alpha / variants, variants):
            found = replace(test, adjusted=min(1.0, test.adjusted * rules.alpha / alpha))
            p = weak.get(test.suspect)
            if p is not None and not found.beyond_noise:
                found = replace(found, adjusted=max(p, math.nextafter(rules.alpha, 1)), doubtful=True)
            tests.append(found)
    return Tests(
        results=tuple(sorted(tests, key=lambda test: (test.adjusted, test.p, test.variant, test.subject, test.name))),
        bounds={
            family.variant: family.bounds(alpha / variants, rules.alpha / len(families))
            for family in families
            if family.changes
        },
    )


def open_cases(rows: Sequence[CaseComparison]) -> list[CaseComparison]:
    """Return the cases whose results could have changed, or did.

    Unchanged cases that the change does not touch carry no information about it, if it touches any. Nor do recordings
    of the same inputs: a model that is called may be another behind its name.
    """
    touched = any(not row.same_setup for row in rows)

    def is_closed(row: CaseComparison) -> bool:
        return row.same_setup and (row.replayed or touched) and row.kind is Change.UNCHANGED

    return [row for row in rows if not is_closed(row)]


def overall_runs(row: CaseComparison, measure: str | None) -> Runs:
    """Return the runs of a case in the share of wrong fields, or in a measure (negated: larger is worse).

    Raises ConfigError where the case has no such measure on both sides.
    """
    if measure is None:
        return row.runs_overall
    if measure not in row.measure_runs:
        raise ConfigError(f"{row.case} has no measure {measure!r} on both sides{nearest(measure, row.measure_runs)}")
    before, after = row.measure_runs[measure]
    return Runs(tuple(-value for value in before), tuple(-value for value in after))


def runs_of(row: CaseComparison, rules: Rules) -> dict[Suspect, Runs]:
    """Return the runs of a case in all that tests are about; of patterns and gates those in which two runs differ.

    A tag is tested in the mean over all fields; a case without the tag takes no part.
    """
    overall = overall_runs(row, rules.measure)
    found = {_OVERALL: overall}
    if row.runs_complete is not None:
        found[_COMPLETE] = row.runs_complete
    found |= {(Subject.PATTERN, name): runs for name, runs in row.runs_by_pattern.items()}
    tags = [tag for tag in rules.by if row.slices.get(tag) is not None]
    return found | {(Subject.TAG, f"{tag}={tag_text(row.slices, tag)}"): overall for tag in tags}


def losses_of(variant: VariantComparison, suspect: Suspect, rules: Rules) -> dict[str, float]:
    """Return how much each case (`file::id`) that could have changed fell in what a test is about, the worst first."""
    found = [(row.case, runs_of(row, rules)) for row in open_cases(variant.compared)]
    losses = [(runs[suspect].loss, runs[_OVERALL].loss, case) for case, runs in found if suspect in runs]
    return {case: loss for loss, _, case in sorted(losses, key=lambda each: (-each[0], -each[1], each[2]))}


_PARTS: Final = {_OVERALL: OVERALL_SHARE, _COMPLETE: (1 - OVERALL_SHARE) / 2}
"""The parts of alpha that a family's tests have for themselves; the others share what these leave."""


class _Family:
    """The tests of one variant, as one family.

    All of them in the same arrangements of the runs (`core.stats`):

    - the mean over all fields, at `OVERALL_SHARE` of alpha;
    - the same without answers that failed as a whole, at half of what that leaves;
    - every field pattern, every structural gate and every tag value, by the largest standardized loss (Westfall and
      Young 1993, max-T, step-down), at the largest level with which all of these together stay within alpha: as they
      share arrangements, whatever correlation they have is used.

    Lemma: the lanes in which any test is significant at these levels are at most alpha of all lanes, by construction,
    and without a change the observed lane is equally likely to be any of them. The same holds for those tests alone
    whose subjects did not change, because fewer tests exceed a critical value less often.
    Variants are corrected for by Bonferroni's method as Tarone (1990) modified it (`tarone_count`).

    A fall is doubtful where the same family finds it at `DOUBT` times alpha, and not at alpha.
    """

    def __init__(self, variant: VariantComparison, rules: Rules, only: Collection[Suspect] | None) -> None:
        from pytest_extract.core.stats import Permutations

        self.variant = variant.label
        rows = open_cases(variant.compared)
        taking: dict[Suspect, dict[int, Runs]] = {_OVERALL: {}}
        for index, row in enumerate(rows):
            for suspect, runs in runs_of(row, rules).items():
                taking.setdefault(suspect, {})[index] = runs
        for suspect in [*taking][1:]:
            is_of_all = suspect[0] is Subject.TAG and len(taking[suspect]) == len(rows)  # is left to the overall test
            if is_of_all or (only is not None and suspect not in only):
                del taking[suspect]
        self.changes = sorted(-runs.loss if runs.varies else 0.0 for runs in taking[_OVERALL].values())
        shares = [(row.failed_whole[0] / row.runs[0], row.failed_whole[1] / row.runs[1]) for row in rows]
        fewer, more = (sum(before > after for before, after in shares), sum(before < after for before, after in shares))
        fewer_failed_whole = mcnemar(fewer, more) <= rules.alpha
        varying = [{index: runs for index, runs in found.items() if runs.varies} for found in taking.values()]
        self.permutations = Permutations([row.runs for row in rows], varying)
        cases = {suspect: len(found) for suspect, found in taking.items()}
        cases |= {(Subject.PATTERN, row.pattern): row.cases for row in variant.patterns}
        self.members: list[tuple[TestResult, Statistic]] = []  # the mean over all fields is the first
        for suspect, found, statistic in zip(taking, varying, self.permutations.statistics, strict=True):
            drop = fall = math.fsum(runs.loss for runs in found.values()) / max(1, cases[suspect])
            if suspect == _COMPLETE and fewer_failed_whole:
                fall = min(drop, self.members[0][0].drop)
            subject, name = suspect
            test = TestResult(
                variant=variant.label, subject=subject, name=name, drop=drop, fall=fall, level=rules.alpha
            )
            self.members.append((test, statistic))

    def results(self, level: float, variants: int) -> list[TestResult]:
        """Return the results with the family at `level`, corrected for so many variants."""
        found: list[TestResult] = []
        open_heads: list[tuple[Statistic, float]] = []
        others: list[tuple[Numbers, float, TestResult]] = []
        for test, statistic in self.members:
            p, part = self.permutations.p_value(statistic.as_large()), _PARTS.get(test.suspect)
            if part is None:
                others.append((statistic.scores, p, test))
                continue
            found.append(replace(test, p=p, luck=p, adjusted=min(1.0, p / part * variants)))
            if p / part > level:
                open_heads.append((statistic, part))
        if not others:
            return found
        import numpy as np

        others.sort(key=lambda each: -each[0][0])
        scores = np.array([lanes for lanes, *_ in others])
        largest = np.maximum.accumulate(scores[::-1])[::-1]  # in every lane, of a member and those after it
        least = 0.0
        for (lanes, p, test), largest_left in zip(others, largest, strict=True):  # max-T, step-down
            fell, at_least = lanes[0] > 0, lanes[0] - SAME_SCORE
            luck = self.permutations.p_value(largest[0] >= at_least) if fell else 1.0
            is_open = fell and least <= level
            least = max(least, self._joint_level(open_heads, largest_left >= at_least, level)) if is_open else 1.0
            found.append(replace(test, p=p, luck=luck, adjusted=min(1.0, least * variants)))
        return found

    def bounds(self, level: float, of_worst: float) -> Bounds:
        """Return the limits of the mean change that the overall test does not reject with the family at `level`.

        `worst` is at a level of its own, and not less than what a case that was never seen may lose.
        """
        permutations, (_, overall) = self.permutations, self.members[0]
        most = permutations.most(OVERALL_SHARE * level), permutations.most(of_worst)
        (least, largest), (_, drop) = permutations.limits(overall, *most)
        worst = unseen_drop_bound(self.changes, 1 - of_worst)
        return Bounds(
            change=math.fsum(self.changes) / len(self.changes),
            low=max(-largest, -1.0),
            high=min(-least, 1.0),
            interval=1 - 2 * OVERALL_SHARE * level,
            worst=max(worst, drop) if math.isfinite(drop) else worst,
        )

    def _joint_level(self, heads: Sequence[tuple[Statistic, float]], lanes: Lanes, most: float) -> float:
        """Return the smallest level at which these lanes and those of the heads are together within the level."""
        level = self.permutations.p_value(lanes)
        while level <= most:
            together = lanes
            for statistic, part in heads:
                together = together | statistic.tail(self.permutations.most(part * level))
            p = self.permutations.p_value(together)
            if p <= level:
                return level
            level = p
        return 1.0


_HALF: Final = 0.5
_FEWEST_FIELDS: Final = 3  # with fewer, half of the fields is one field, and only a gate kills a case
_WORSE_LUCK: Final = 1 / 16  # without a change, so many dead cases come up in at most 2 of 100 suites, at any rate
_DOUBTFUL_LUCK: Final = 1 / 8


class Weight(IntEnum):
    """What dead cases mean for the answer."""

    TOLD = 0
    DOUBT = 1
    WORSE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse:
    """The dead cases (`file::id`) of a variant, of all that are compared; `tags`: values all of whose cases died."""

    variant: str
    cases: tuple[str, ...]
    of: int
    tags: tuple[str, ...]
    weight: Weight


def find_collapse(variant: VariantComparison, rules: Rules) -> Collapse | None:
    """Return the cases of a variant that died; None where none did.

    They were right in every run before, and have nothing usable in any run now: they are always named. A run that
    breaks parse or schema has no right field. A case is dead if it lost more than half of its fields in every run now
    against every run before. Where runs of another case differ by as much, such a thing happens by chance, and the
    tests weigh it, unless most cases died; else luck is how probable it is that the dead runs are exactly the later
    ones.
    """
    rows = variant.compared
    dead = [row for row in rows if _least_loss(_wrong(row)) > _HALF]
    if len(rows) > 1 and all(_least_loss(row.runs_overall) > _HALF for row in rows):
        dead = [*rows]  # of few fields one may be wrong by chance, but not in every case
    if not dead:
        return None
    names = {row.case for row in dead}
    others = [row for row in rows if row.case not in names]
    by_tag: dict[str, set[str]] = {}
    for row in rows:
        for tag in row.slices.keys() - DIMENSIONS.keys():
            by_tag.setdefault(f"{tag}={tag_text(row.slices, tag)}", set()).add(row.case)
    tags = tuple(sorted(tag for tag, cases in by_tag.items() if len(cases) > 1 and cases <= names))
    cases, weight = tuple(row.case for row in dead), _weight(dead, others, rules, whole_tag=bool(tags))
    return Collapse(variant=variant.label, cases=cases, of=len(rows), tags=tags, weight=weight)


def _weight(
    dead: Sequence[CaseComparison], others: Sequence[CaseComparison], rules: Rules, *, whole_tag: bool
) -> Weight:
    if rules.max_dead is not None:
        return Weight.WORSE if len(dead) > rules.max_dead else Weight.TOLD
    several, most = len(dead) > 1, len(dead) > len(others)
    shares = [(*wrong.before, *wrong.after) for wrong in map(_wrong, others)]
    if any(max(runs) - min(runs) > _HALF for runs in shares):
        return (Weight.WORSE if several else Weight.DOUBT) if most else Weight.TOLD
    luck = smallest_p(row.runs for row in dead)
    if several and (most or whole_tag or luck <= _WORSE_LUCK):
        return Weight.WORSE
    return Weight.DOUBT if several or most or luck <= _DOUBTFUL_LUCK else Weight.TOLD


def smallest_p(runs: Iterable[tuple[int, int]]) -> float:
    """Return how probable it is that the later runs of some cases are exactly those that are worse."""
    return math.prod(1 / math.comb(before + after, after) for before, after in runs)


def _wrong(row: CaseComparison) -> Runs:
    """Return the share of wrong fields in each run; of few fields, whether a gate failed."""
    if row.fields >= _FEWEST_FIELDS:
        return row.runs_overall
    gates = [runs for name, runs in row.runs_by_pattern.items() if name.startswith("(")]
    none = Runs((0.0,) * row.runs[0], (0.0,) * row.runs[1])
    sides = zip(*((each.before, each.after) for each in (none, *gates)), strict=True)
    before, after = (tuple(map(max, zip(*side, strict=True))) for side in sides)
    return Runs(before, after)


def _least_loss(wrong: Runs) -> float:
    """Return the least loss of any run now against any run before."""
    return min(wrong.after) - max(wrong.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How much one variant changed: means over the compared cases, and how large the change may be.

    `cases`: number of cases that all numbers are of, without those whose setup and results are unchanged (all of them
    where no case is left). `bounds` is None without such cases: nothing can have become worse.
    `runs`: fewest and most runs of a case before and after. `fell`: cases that fell, the worst first; `rose`: how many
    did the opposite. `failed_whole`: number of runs that failed as a whole before and after.
    """

    variant: str
    measure: str
    cases: int
    before: float
    after: float
    bounds: Bounds | None
    runs: tuple[tuple[int, int], tuple[int, int]]
    fell: tuple[str, ...] = ()
    rose: int = 0
    failed_whole: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRuns:
    """Cases in which a run ended in error before and now, and the test that there are more of them now.

    `names`: the cases in error now. `kinds`: of those errors. `p`: permutation test of the runs within cases.
    """

    variant: str
    cases: int
    cases_before: int
    names: tuple[str, ...]
    p: float
    kinds: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChange:
    """Mean cost (USD) or latency (seconds) of a call before and now, over the cases in which both are known."""

    variant: str
    what: str
    cases: int
    before: float
    after: float


class TagEffect(NamedTuple):
    """How much the cases of one variant with one value of a tag changed: means before and now, as in `Effect`."""

    tag: str
    value: str
    cases: int
    before: float
    after: float


def tag_effects(variant: VariantComparison, rules: Rules) -> list[TagEffect]:
    """Measure how much each value of each tag of `rules.by` changed, tag by tag, the largest fall first."""
    found: list[TagEffect] = []
    for tag in rules.by:
        values: dict[str, list[CaseComparison]] = {}
        for row in _measured_rows(variant):
            values.setdefault(tag_text(row.slices, tag), []).append(row)
        if values.keys() - {NONE}:
            by_value = sorted(values.items(), key=lambda item: natural_key(item[0]))
            effects = [TagEffect(tag, value, len(rows), *_mean_levels(rows, rules)) for value, rows in by_value]
            found += sorted(effects, key=lambda effect: effect.after - effect.before)
    return found


def _measured_rows(variant: VariantComparison) -> list[CaseComparison]:
    """Return the cases that effects are of: those that could have changed, all where none could."""
    return open_cases(variant.compared) or list(variant.compared)


def measure_effects(comparison: Comparison, rules: Rules, tests: Tests) -> tuple[Effect, ...]:
    """Measure how much each variant with compared cases changed."""
    effects: list[Effect] = []
    for variant in comparison.variants:
        rows = _measured_rows(variant)
        if not rows:
            continue
        before, after = _mean_levels(rows, rules)
        losses = losses_of(variant, _OVERALL, rules).items()
        before_runs, after_runs = zip(*(row.runs for row in rows), strict=True)
        effects.append(
            Effect(
                variant=variant.label,
                measure=rules.measure or "fields right",
                cases=len(rows),
                before=before,
                after=after,
                bounds=tests.bounds.get(variant.label),
                runs=((min(before_runs), max(before_runs)), (min(after_runs), max(after_runs))),
                fell=tuple(case for case, loss in losses if loss > 0),
                rose=sum(loss < 0 for _, loss in losses),
                failed_whole=(sum(row.failed_whole[0] for row in rows), sum(row.failed_whole[1] for row in rows)),
            )
        )
    return tuple(effects)


def _mean_levels(rows: Sequence[CaseComparison], rules: Rules) -> tuple[float, float]:
    """Return the mean over cases before and after as readers see it: the share of right fields, or the measure."""
    means = zip(*(overall_runs(row, rules.measure).means for row in rows), strict=True)
    before, after = (math.fsum(each) / len(rows) for each in means)
    return (1 - before, 1 - after) if rules.measure is None else (-before, -after)


def _count_errors(variant: VariantComparison) -> ErrorRuns | None:
    """Test whether more runs ended in error than before; None where none did."""
    rows = [(row, row.error_runs) for row in variant.cases if row.error_runs is not None]
    if not any(any(runs.before) or any(runs.after) for _, runs in rows):
        return None
    kinds = sum((Counter(row.errors) for row, _ in rows), Counter[str]())
    return ErrorRuns(
        variant=variant.label,
        cases=len(rows),
        cases_before=sum(any(runs.before) for _, runs in rows),
        names=tuple(row.case for row, runs in rows if any(runs.after)),
        p=p_of_rise([runs for _, runs in rows]),
        kinds=tuple(kinds.most_common()),
    )


def _call_changes(variant: VariantComparison) -> list[CallChange]:
    """Compare the cost and the latency of a call, each where it is known of some case."""
    found: list[CallChange] = []
    for what, values in (
        ("cost", [row.cost_usd for row in variant.compared]),
        ("latency", [row.latency_s for row in variant.compared]),
    ):
        pairs = [pair for pair in values if pair is not None]
        if pairs:
            before, after = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
            found.append(CallChange(variant=variant.label, what=what, cases=len(pairs), before=before, after=after))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that a decision rests on: a comparison and the rules for it, and what is measured and tested."""

    comparison: Comparison
    rules: Rules
    tests: tuple[TestResult, ...] = ()
    effects: tuple[Effect, ...] = ()
    errors: tuple[ErrorRuns, ...] = ()
    calls: tuple[CallChange, ...] = ()
    collapses: tuple[Collapse, ...] = ()

    def effect(self, label: str) -> Effect:
        """Return the change of a variant, some of whose cases are compared."""
        return next(effect for effect in self.effects if effect.variant == label)


def establish_facts(comparison: Comparison, rules: Rules, *, level: float | None = None) -> Facts:
    """Measure and test a comparison; `level`: as in `run_tests`.

    Raises ConfigError where `rules.measure` names a measure that the cases do not have.
    """
    tests, variants = run_tests(comparison, rules, level=level), comparison.variants
    return Facts(
        comparison=comparison,
        rules=rules,
        tests=tests.results,
        effects=measure_effects(comparison, rules, tests),
        errors=tuple(found for variant in variants if (found := _count_errors(variant)) is not None),
        calls=tuple(change for variant in variants for change in _call_changes(variant)),
        collapses=tuple(dead for variant in variants if (dead := find_collapse(variant, rules)) is not None),
    )
