"""What adds up over the cases of a run: means of measures, and how each field pattern did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.results import ScoreRecord
from pytest_extract.report.findings import FAILING
from pytest_extract.thresholds import covered

MEASURES: Final = ("pass_rate", "f1")
"""What is told of every run, arm and case; the rest is in the results file."""


def case_means(result: CaseResult, names: Sequence[str]) -> dict[str, float]:
    """Return the mean of each measure over the repeats of a case; a name that it does not have is left out."""
    scored = [score.measures for score in result.scores]
    values = {name: [measures[name] for measures in scored if name in measures] for name in names}
    return {name: fmean(found) for name, found in values.items() if found}


def read_scores(result: CaseResult) -> list[ScoreRecord]:
    """Return the scores of the outputs that were scored field by field: those that could be read."""
    return [score for score in result.scores if score.readable]


@dataclass(slots=True)
class PatternCounts:
    """How one field pattern did over all cases: leaf results by status, all and by arm, and what they lost in score."""

    statuses: Counter[str] = field(default_factory=Counter)
    arms: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    cases: set[str] = field(default_factory=set)
    lost: float = 0.0

    @property
    def wrong(self) -> int:
        """Results that failed."""
        return wrong_of(self.statuses)

    @property
    def total(self) -> int:
        """Results that count."""
        return total_of(self.statuses)


def wrong_of(statuses: Mapping[str, int]) -> int:
    """Count the results that failed."""
    return sum(statuses.get(status, 0) for status in FAILING)


def total_of(statuses: Mapping[str, int]) -> int:
    """Count the results that failed or matched."""
    return wrong_of(statuses) + statuses.get("match", 0)


def add_leaves(patterns: dict[str, PatternCounts], result: CaseResult) -> None:
    """Tally the leaf results of a case by field pattern, where its outputs could be scored; without known failures."""
    for score in read_scores(result):
        for item in score.leaves:
            if covered(item, result.known):
                continue
            tally = patterns.setdefault(item.pattern, PatternCounts())
            tally.statuses[item.status] += 1
            tally.arms[result.arm.label][item.status] += 1
            if item.status in FAILING:
                tally.cases.add(result.nodeid)
                tally.lost += 1 - item.score


def worst_first(found: Mapping[str, PatternCounts]) -> list[tuple[str, PatternCounts]]:
    """Return the patterns that failed anywhere: by what they lost, by the share that failed, by name."""
    bad = ((name, tally) for name, tally in found.items() if tally.wrong)
    return sorted(bad, key=lambda item: (-item[1].lost, -item[1].wrong / item[1].total, item[0]))
