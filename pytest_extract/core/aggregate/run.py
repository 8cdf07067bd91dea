"""A run's measures: plain and complexity-weighted means over cases, with 95 % bootstrap intervals, by arm.

Cases that are broken or were not run have no measures: they are counted and take no part in any mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from pytest_extract.core.aggregate.bootstrap import MOST_OWN_DRAWS as MOST_SOB_DRAWS
from pytest_extract.core.aggregate.bootstrap import SAMPLES, Estimate, intervals, intervals_of_groups
from pytest_extract.core.aggregate.extractbench import Rates, extract_bench_rates
from pytest_extract.core.aggregate.fields import FieldCounts, field_table
from pytest_extract.core.aggregate.sob import SobSummary, published_columns, sob_columns, sob_summary_of
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.complexity import WEIGHTS, depth_class
from pytest_extract.core.measures.table import MEASURES, measures_of_system
from pytest_extract.core.values import Json
from pytest_extract.lazy import dataclass

MOST_OWN_DRAWS: Final = 1_000
"""Cases up to which each measure has draws of its own; the summary of SOB's published columns has them for more."""
DEEPJSON: Final = measures_of_system("deepjsoneval")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseMeasures:
    """One scored case: the mean of each measure over its repeats, and what it weighs.

    weight: 1 easy, 2 medium, 3 hard, 0 where the complexity is unknown; depth: of nesting, None where unknown.
    """

    case: str
    measures: Mapping[str, float]
    weight: float = 0.0
    depth: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureMeans:
    """One measure over a run; `weighted` is None where no case's complexity is known."""

    plain: Estimate
    weighted: Estimate | None


def case_rows(results: Iterable[CaseResult]) -> list[CaseMeasures]:
    """Turn results into rows, in their order; cases without a scored repeat are left out."""
    rows = []
    for result in results:
        measured = [score.measures for score in result.scores]
        if measured:
            means = measured[0]
            if len(measured) > 1:
                names = [name for name in means if all(name in found for found in measured)]
                means = {name: sum(found[name] for found in measured) / len(measured) for name in names}
            weight = WEIGHTS.get(result.complexity or "", 0.0)
            rows.append(
                CaseMeasures(case=result.nodeid, measures=means, weight=weight, depth=result.shape.get("depth"))
            )
    return rows


def measure_means(
    rows: Sequence[CaseMeasures], *, samples: int = SAMPLES, measures: Sequence[str] | None = None
) -> dict[str, MeasureMeans]:
    """Estimate every measure that all rows have, at least `measures` (None: all); empty without rows."""
    columns = _columns(rows, measures)
    weights = [row.weight for row in rows]
    plain = intervals(columns, samples=samples, most_own_draws=MOST_OWN_DRAWS)
    weighted = intervals(columns, weights, samples=samples, most_own_draws=MOST_OWN_DRAWS) if any(weights) else {}
    return _means(plain, weighted)


def _columns(rows: Sequence[CaseMeasures], measures: Sequence[str] | None) -> dict[str, list[float]]:
    names = [name for name in MEASURES if rows and all(name in row.measures for row in rows)]
    if measures is not None:  # one random stream runs through the columns: those before the last of `measures` count
        names = names[: max((index for index, name in enumerate(names, start=1) if name in measures), default=0)]
    return {name: [row.measures[name] for row in rows] for name in names}


def _means(plain: Mapping[str, Estimate], weighted: Mapping[str, Estimate]) -> dict[str, MeasureMeans]:
    return {name: MeasureMeans(plain=found, weighted=weighted.get(name)) for name, found in plain.items()}


def by_depth(rows: Sequence[CaseMeasures]) -> dict[str, dict[str, float]]:
    """DeepJSONEval's table: mean of its three criteria over cases of depth 3-4 (medium), 5 and more (hard), and all."""
    groups: dict[str, list[CaseMeasures]] = {"medium": [], "hard": [], "all": []}
    for row in rows:
        level = depth_class(row.depth) if row.depth is not None else None
        groups["all"].append(row)
        if level is not None:
            groups[level].append(row)
    return {
        level: {name: sum(row.measures.get(name, 0.0) for row in group) / len(group) for name in DEEPJSON}
        for level, group in groups.items()
        if group
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAggregate:
    """Everything that the systems report of a run, for one arm.

    cases: all; scored: those with measures; broken and not_run: those without, for these reasons.
    sob, sob_weighted: SOB's summary, None without scored cases; rates: ExtractBench's over all scored repeats.
    by_depth: DeepJSONEval's split; fields: leaf results by pattern, in order of appearance.
    Where only some measures are estimated, they have no weighted means, and what follows them is empty, but for rates.
    """

    cases: int
    scored: int
    broken: int
    not_run: int
    measures: Mapping[str, MeasureMeans]
    sob: SobSummary | None = None
    sob_weighted: SobSummary | None = None
    rates: Rates = field(default_factory=Rates)
    by_depth: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    fields: Mapping[str, FieldCounts] = field(default_factory=dict)


def aggregate_arms(
    arms: Mapping[str, Sequence[CaseResult]], measures: Sequence[str], *, samples: int = SAMPLES
) -> dict[str, RunAggregate]:
    """Aggregate the results of each arm: plain means of some measures only, rates, and none of what else follows.

    Large arms of one size share their draws.
    """
    rows = {arm: case_rows(results) for arm, results in arms.items()}
    by_size: dict[int, list[str]] = {}
    for arm, scored in rows.items():
        by_size.setdefault(len(scored), []).append(arm)
    found: dict[str, Mapping[str, Estimate]] = {}
    for names in by_size.values():
        groups = [_columns(rows[arm], measures) for arm in names]
        estimates = intervals_of_groups(groups, samples=samples, most_own_draws=MOST_OWN_DRAWS)
        found |= dict(zip(names, estimates, strict=True))
    return {
        arm: replace(
            _counted(results, rows[arm]),
            measures=_means(found[arm], {}),
            rates=extract_bench_rates(score for result in results for score in result.scores),
        )
        for arm, results in arms.items()
    }


def _counted(results: Sequence[CaseResult], rows: Sequence[CaseMeasures]) -> RunAggregate:
    return RunAggregate(
        cases=len(results),
        scored=len(rows),
        broken=sum(result.outcome is Outcome.BROKEN for result in results),
        not_run=sum(result.outcome is Outcome.NOT_RUN for result in results),
        measures={},
    )


def aggregate(results: Sequence[CaseResult], *, samples: int = SAMPLES) -> RunAggregate:
    """Aggregate the results of one arm."""
    rows = case_rows(results)
    weights = [row.weight for row in rows]
    groups = [_columns(rows, None), sob_columns(published_columns([row.measures for row in rows]))]
    plain, sob = _intervals_of_both(groups, None, samples)
    weighted, sob_weighted = _intervals_of_both(groups, weights, samples) if any(weights) else ({}, None)
    kept = [(result, score) for result in results for score in result.scores]
    return replace(
        _counted(results, rows),
        measures=_means(plain, weighted),
        sob=sob_summary_of(sob, len(rows)) if rows else None,
        sob_weighted=None if sob_weighted is None else sob_summary_of(sob_weighted, len(rows)),
        rates=extract_bench_rates(score for _, score in kept),
        by_depth=by_depth(rows),
        fields=field_table((result.nodeid, score.leaves) for result, score in kept),
    )


def _intervals_of_both(
    groups: Sequence[Mapping[str, Sequence[float]]], weights: Sequence[float] | None, samples: int
) -> Sequence[dict[str, Estimate]]:
    """Return the intervals of all measures and of SOB's columns, which share their draws where each does in itself."""
    measures, sob = groups
    if len(next(iter(sob.values()))) > MOST_SOB_DRAWS:
        return intervals_of_groups(groups, weights, samples=samples)
    own = intervals(measures, weights, samples=samples, most_own_draws=MOST_OWN_DRAWS)
    return own, intervals(sob, weights, samples=samples)


def estimate_dict(means: MeasureMeans) -> dict[str, Json]:
    """Return plain JSON of one measure's means."""
    plain = {"mean": means.plain.mean, "low": means.plain.low, "high": means.plain.high}
    if means.weighted is None:
        return {"plain": plain, "weighted": None}
    weighted = {"mean": means.weighted.mean, "low": means.weighted.low, "high": means.weighted.high}
    return {"plain": plain, "weighted": weighted}
