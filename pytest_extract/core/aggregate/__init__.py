"""What a run's results add up to: means with intervals, field tables, the published systems' own aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_extract.core.aggregate.published import (
    SAMPLES,
    SOB_METRICS,
    Estimate,
    LeaderboardRow,
    Rates,
    SobSummary,
    extract_bench_rates,
    intervals,
    mean,
    published_columns,
    sob_leaderboard_row,
    sob_summary,
)
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.complexity import WEIGHTS, depth_class
from pytest_extract.core.measures import MEASURES, FieldCounts, measures_of_system
from pytest_extract.core.results import FieldResult


def field_table(records: Iterable[tuple[str, Iterable[FieldResult]]]) -> dict[str, FieldCounts]:
    """Count leaf results by field pattern over records (name, leaf results); patterns in order of appearance."""
    table: dict[str, FieldCounts] = {}
    for record, leaves in records:
        for leaf in leaves:
            table.setdefault(leaf.pattern, FieldCounts()).add(leaf, record)
    return {pattern: counts for pattern, counts in table.items() if counts.records}


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
    return [
        CaseMeasures(
            case=result.nodeid,
            measures=result.means,
            weight=WEIGHTS.get(result.complexity or "", 0.0),
            depth=result.shape.get("depth"),
        )
        for result in results
        if result.scores
    ]


def measure_means(
    rows: Sequence[CaseMeasures], *, samples: int = SAMPLES, measures: Sequence[str] | None = None
) -> dict[str, MeasureMeans]:
    """Estimate those of `measures` (None: all) that all rows have; empty without rows."""
    own = sorted({name for row in rows for name in row.measures} - MEASURES.keys())  # a project's
    wanted = [name for name in (*MEASURES, *own) if measures is None or name in measures]
    names = [name for name in wanted if rows and all(name in row.measures for row in rows)]
    columns = {name: [row.measures[name] for row in rows] for name in names}
    weights = [row.weight for row in rows]
    plain = intervals(columns, samples=samples, own_draws=False)
    weighted = {}
    if measures is None and any(weights):
        weighted = intervals(columns, weights, samples=samples, own_draws=False)
    return {name: MeasureMeans(plain=found, weighted=weighted.get(name)) for name, found in plain.items()}


def by_depth(rows: Sequence[CaseMeasures]) -> dict[str, dict[str, float]]:
    """DeepJSONEval's table: mean of its three criteria over cases of depth 3-4 (medium), 5 and more (hard), and all."""
    levels = [None if row.depth is None else depth_class(row.depth) for row in rows]
    groups = {
        level: [row for row, own in zip(rows, levels, strict=True) if level in (own, "all")]
        for level in ("medium", "hard", "all")
    }
    return {
        level: {name: sum(row.measures.get(name, 0.0) for row in group) / len(group) for name in DEEPJSON}
        for level, group in groups.items()
        if group
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAggregate:
    """Everything that the systems report of a run, for one variant.

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


def aggregate(
    results: Sequence[CaseResult], *, samples: int = SAMPLES, measures: Sequence[str] | None = None
) -> RunAggregate:
    """Aggregate the results of one variant; with `measures` plain means of some, rates, and no more."""
    rows = case_rows(results)
    found = RunAggregate(
        cases=len(results),
        scored=len(rows),
        broken=sum(result.outcome is Outcome.BROKEN for result in results),
        not_run=sum(result.outcome is Outcome.NOT_RUN for result in results),
        measures=measure_means(rows, samples=samples, measures=measures),
        rates=extract_bench_rates(score for result in results for score in result.scores),
    )
    if measures is not None:
        return found
    published, weights = published_columns([row.measures for row in rows]), [row.weight for row in rows]
    return replace(
        found,
        sob=sob_summary(published, samples=samples) if rows else None,
        sob_weighted=sob_summary(published, weights, samples=samples) if any(weights) else None,
        by_depth=by_depth(rows),
        fields=field_table((result.nodeid, score.leaves) for result in results for score in result.scores),
    )


MODALITIES: Final = ("text", "image", "audio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One variant: its leaderboard row, None where not one case has a score.

    `overall` is the row's `raw` times `coverage`: the share of all cases of all variants that this one has a score for.
    `pass_rate`: the mean over its scored cases.
    """

    variant: str
    row: LeaderboardRow | None
    coverage: float
    results: tuple[CaseResult, ...]
    pass_rate: float = 0.0

    @property
    def overall(self) -> float:
        """Coverage-adjusted score, 0.0 without a scored case."""
        return 0.0 if self.row is None else self.row.raw * self.coverage

    @property
    def value_accuracy(self) -> float:
        """SOB's column of this name, 0.0 without one."""
        return 0.0 if self.row is None else self.row.columns.get("value_accuracy", 0.0)


def standings(results: Iterable[CaseResult]) -> list[Standing]:
    """Rank variants by overall to four places, then value accuracy, as SOB does, then by pass rate.

    SOB's numbers are 0 for all variants where each output breaks the schema, as those that repeat a gold that does.

    A modality counts with the difficulty weights of its cases; where no case's complexity is known, with their number.
    """
    variants: dict[str, list[CaseResult]] = {}
    cases: dict[tuple[str, str], CaseResult] = {}
    for result in results:
        variants.setdefault(result.variant.label, []).append(result)
        case = (result.file, result.case_id)
        if case not in cases or cases[case].complexity is None:  # a case that crashed knows nothing of itself
            cases[case] = result
    weights = {}
    for kind in MODALITIES:
        known = [WEIGHTS.get(case.complexity or "", 0.0) for case in cases.values() if case.modality == kind]
        weights[kind] = sum(known) or float(len(known))
    found = [_standing(variant, members, weights, len(cases)) for variant, members in variants.items()]
    return sorted(found, key=lambda each: (-round(each.overall, 4), -each.value_accuracy, -each.pass_rate))


def _standing(variant: str, results: Sequence[CaseResult], weights: dict[str, float], cases: int) -> Standing:
    by_kind = {kind: case_rows(one for one in results if one.modality == kind) for kind in MODALITIES}
    scored = [row for rows in by_kind.values() for row in rows]
    if not scored:
        return Standing(variant=variant, row=None, coverage=0.0, results=tuple(results))
    means = {kind: _means(rows) if rows else None for kind, rows in by_kind.items()}
    records = {kind: len(rows) for kind, rows in by_kind.items()}
    return Standing(
        variant=variant,
        row=sob_leaderboard_row(variant, means, weights=weights, records=records),
        coverage=len(scored) / cases,
        results=tuple(results),
        pass_rate=mean([row.measures["pass_rate"] for row in scored]),
    )


def _means(rows: Sequence[CaseMeasures]) -> dict[str, float]:
    """Means of SOB's columns, weighted by complexity where any is known."""
    columns = published_columns([row.measures for row in rows])
    weights = [row.weight for row in rows] if any(row.weight for row in rows) else None
    return {name: mean([column[name] for column in columns], weights) for name in SOB_METRICS}
