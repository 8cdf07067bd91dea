"""What a run adds up to, made in one pass: results may come from a file one at a time, and none has to stay."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from pytest_extract.core.case_result import Arm, CaseResult, Outcome
from pytest_extract.report.emptiness import EmptinessTotals
from pytest_extract.report.known_failures import KnownTotals
from pytest_extract.report.lines import safe_prose, shorten
from pytest_extract.report.pattern_counts import MEASURES, PatternCounts, add_leaves, case_means
from pytest_extract.report.wrapping import WrappedTotals

SLOWEST: Final = 3
_LONGEST_REASON: Final = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Calls, tokens and money of some results. `unpriced` calls have no known cost; recorded ones cost nothing now."""

    calls: int = 0
    recorded: int = 0
    unpriced: int = 0
    cost_usd: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> Spending:
        """Add up all attempts."""
        total = cls()
        for result in results:
            live = [attempt for attempt in result.attempts if not attempt.recorded]
            usages = [attempt.usage for attempt in result.attempts if attempt.usage is not None]
            total += cls(
                calls=len(live),
                recorded=len(result.attempts) - len(live),
                unpriced=sum(attempt.cost_usd is None for attempt in live),
                cost_usd=sum(attempt.cost_usd or 0.0 for attempt in live),
                prompt_tokens=sum(usage.prompt_tokens or 0 for usage in usages),
                completion_tokens=sum(usage.completion_tokens or 0 for usage in usages),
            )
        return total

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls + other.calls,
            recorded=self.recorded + other.recorded,
            unpriced=self.unpriced + other.unpriced,
            cost_usd=self.cost_usd + other.cost_usd,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )

    @property
    def cost_text(self) -> str:
        """The cost as text; `unknown` when not one call has a price."""
        if self.calls and self.unpriced == self.calls:
            return "unknown"
        return f"${self.cost_usd:,.4f}"


@dataclass(slots=True)
class ArmTotals:
    """The cases of one arm: how they came out, each case's `MEASURES`, and what the calls took."""

    arm: Arm
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    measures: dict[str, list[float]] = field(default_factory=dict)
    spending: Spending = field(default_factory=Spending)

    @property
    def means(self) -> dict[str, float]:
        """Plain means over the cases; a measure that no case has is left out."""
        return {name: fmean(self.measures[name]) for name in MEASURES if name in self.measures}


@dataclass(slots=True)
class RunTotals:
    """The cases of a run.

    `arms` by label. `fields`: leaf results by pattern. `unusable`: failure kinds of outputs. `reasons`: why cases were
    broken or not run. `slowest`: seconds and node id, the slowest first. `repeated`: whether a case was run twice.
    """

    arms: dict[str, ArmTotals] = field(default_factory=dict)
    fields: dict[str, PatternCounts] = field(default_factory=dict)
    unusable: Counter[str] = field(default_factory=Counter)
    reasons: Mapping[Outcome, Counter[str]] = field(
        default_factory=lambda: {Outcome.BROKEN: Counter(), Outcome.NOT_RUN: Counter()}
    )
    known: KnownTotals = field(default_factory=KnownTotals)
    emptiness: EmptinessTotals = field(default_factory=EmptinessTotals)
    wrapped: WrappedTotals = field(default_factory=WrappedTotals)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    repeated: bool = False

    @property
    def cases(self) -> int:
        """Number of cases, each arm's counted by itself."""
        return self.outcomes.total()

    @property
    def outcomes(self) -> Counter[Outcome]:
        """Cases by outcome."""
        return sum((arm.outcomes for arm in self.arms.values()), Counter())

    @property
    def means(self) -> dict[str, float]:
        """Plain means over all cases, as those of an arm."""
        values = {
            name: [value for arm in self.arms.values() for value in arm.measures.get(name, ())] for name in MEASURES
        }
        return {name: fmean(found) for name, found in values.items() if found}

    @property
    def spending(self) -> Spending:
        """What all calls took."""
        return sum((arm.spending for arm in self.arms.values()), Spending())

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        arm = self.arms.setdefault(result.arm.label, ArmTotals(result.arm))
        arm.outcomes[result.outcome] += 1
        arm.spending += Spending.of([result])
        for name, value in case_means(result, MEASURES).items():
            arm.measures.setdefault(name, []).append(value)
        add_leaves(self.fields, result)
        for attempt in result.attempts:
            if attempt.score is not None and attempt.score.failure is not None:
                self.unusable[attempt.score.failure.kind] += 1
            if attempt.latency_s:
                self.slowest = heapq.nlargest(SLOWEST, [*self.slowest, (attempt.latency_s, result.nodeid)])
        if result.outcome in self.reasons:
            self.reasons[result.outcome][shorten(safe_prose(result.why or "?"), _LONGEST_REASON)] += 1
        self.known.add(result)
        self.emptiness.add(result)
        self.wrapped.add(result)
        self.repeated = self.repeated or len(result.attempts) > 1


def totals_of(results: Iterable[CaseResult]) -> RunTotals:
    """Add up the cases of a run."""
    totals = RunTotals()
    for result in results:
        totals.add(result)
    return totals
