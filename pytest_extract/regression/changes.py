"""The types of a comparison: the change of each field, case and field pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pytest_extract.core.results import NamedMistake
from pytest_extract.core.stats.runs import Runs
from pytest_extract.core.values import Json, Missing

_ALIKE: Final = Runs((0.0,), (0.0,))


class Change(StrEnum):
    """The change of a field, a pattern or a case.

    fell: it passed in more than half of the runs, and no longer does; rose: the other way round. Both may be noise.
    shifted: passes more or less often, but not to the other side of half of the runs (or flips cancel out).
    lost: an outage, a budget or a stop left nothing to compare. incomparable: no longer the same question.
    """

    FELL = "fell"
    ROSE = "rose"
    SHIFTED = "shifted"
    UNCHANGED = "unchanged"
    NEW = "new"
    GONE = "gone"
    LOST = "lost"
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A field whose pass rate changed. Rates are shares of passed runs; values are MISSING where nothing is there.

    `mistake` names what is wrong with `value_after`, None if it is right or no rule names it.
    """

    case: str
    path: str
    pattern: str
    kind: Change
    before: float
    after: float
    value_before: Json | Missing
    value_after: Json | Missing
    gold: Json | Missing
    mistake: NamedMistake | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseComparison:
    """One case on one variant: pairs compared, flips, and rates (share of passed fields, mean over runs).

    A failed structural gate makes a run's rate 0, as it does for `pass_rate`.
    `runs`: scored runs before and after. `runs_overall`: share of wrong fields in each run; `runs_by_pattern`: the same
    of each pattern and gate in which two runs differ; `runs_complete`: with the mean of the other runs in place of each
    run that failed as a whole (a failed gate, or every one of at least three fields), None where all did.
    `runs_broken`: 1 for each run that broke, None where one side was not run; `errors`: what broke now, by kind.
    `cost_usd` and `latency_s`: mean of a call before and after, None where one is unknown or the later run replayed.
    `failed_whole`: number of such runs before and after. `measure_runs`: each measure in each run before and after;
    `measures_differ`: they count known failures, or fields whose gold or metric changed.
    `same_setup`: no known input of the case changed between the two sides. `settled`: no unknown input can have changed
    either, because the later outputs are recordings or both sides are one run (the provider of a model that is called
    again may have changed it). `replayed`: the later outputs are recordings;
    `other_code`: some of another version of the extractor's code. `builds`: the models that served the calls
    before and after, as their providers name them, None where a side does not know. `apart`: number of fields that
    cannot be compared; `why`: the reason for them, or for the whole case.
    """

    case: str
    kind: Change
    fields: int = 0
    rose: int = 0
    fell: int = 0
    before: float = 0.0
    after: float = 0.0
    runs: tuple[int, int] = (0, 0)
    runs_overall: Runs = _ALIKE
    runs_by_pattern: Mapping[str, Runs] = field(default_factory=dict)
    runs_complete: Runs | None = None
    failed_whole: tuple[int, int] = (0, 0)
    measure_runs: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = field(default_factory=dict)
    measures_differ: bool = False
    runs_broken: Runs | None = None
    errors: Mapping[str, int] = field(default_factory=dict)
    cost_usd: tuple[float, float] | None = None
    latency_s: tuple[float, float] | None = None
    slices: Mapping[str, Json] = field(default_factory=dict)
    same_setup: bool = False
    settled: bool = False
    replayed: bool = False
    other_code: bool = False
    builds: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    apart: int = 0
    why: str | None = None

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternComparison:
    """One field pattern over all cases of a variant.

    `before` and `after`: share of passed fields in a case, mean over the cases that have the pattern, in [0, 1].
    """

    pattern: str
    kind: Change
    cases: int = 0
    fields: int = 0
    rose: int = 0
    fell: int = 0
    before: float = 0.0
    after: float = 0.0
    gate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """A rule across fields that holds in more or in fewer runs of some cases than before.

    broken: cases in which it held more often before; `mended`: cases in which it holds more often now.
    """

    rule: str
    broken: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    """One variant against its earlier self, or against another variant."""

    before: str
    after: str
    cases: tuple[CaseComparison, ...]
    patterns: tuple[PatternComparison, ...]
    fields: tuple[FieldChange, ...]
    known: tuple[str, ...] = ()
    rules: tuple[RuleChange, ...] = ()
    cost_usd: float | None = None

    @property
    def label(self) -> str:
        """Text that names the variant; both labels where they differ; empty for the only variant."""
        return self.after if self.before == self.after else f"{self.before or 'before'} -> {self.after or 'now'}"

    @property
    def compared(self) -> tuple[CaseComparison, ...]:
        """The cases that gave at least one pair."""
        return tuple(row for row in self.cases if row.fields)

    @property
    def gone(self) -> tuple[int, int]:
        """How many of the earlier cases the later run does not have, and how many earlier cases there are."""
        return len(self.of_kind(Change.GONE)), sum(row.kind is not Change.NEW for row in self.cases)

    def of_kind(self, *kinds: Change) -> tuple[CaseComparison, ...]:
        """Cases of these kinds."""
        return tuple(row for row in self.cases if row.kind in kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A run against a baseline or another run, variant by variant."""

    variants: tuple[VariantComparison, ...]

    @property
    def pairs(self) -> int:
        """How many (case, field) pairs were compared; 0 means that nothing was."""
        return sum(row.fields for variant in self.variants for row in variant.cases)
