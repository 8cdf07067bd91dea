"""Aggregates, slices, leaderboard, thresholds and calibration of a run as tables; SOB's own tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pytest_extract.core.aggregate import (
    DEEPJSON,
    MODALITY_RECORDS,
    MODALITY_WEIGHTS,
    SAMPLES,
    SOB_COLUMNS,
    SOB_METRICS,
    Estimate,
    LeaderboardRow,
    Rates,
    SobSummary,
    Standing,
    by_depth,
    case_rows,
    field_table,
    leaderboard,
    measure_means,
    published_columns,
    sob_summary,
)
from pytest_extract.core.aggregate.confidence import ALL_FIELDS, Calibration, CaseCounts, ThresholdProposal
from pytest_extract.core.aggregate.slices import DIMENSIONS, TAG, Slice, SliceTable
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.measures import FieldCounts
from pytest_extract.core.values import Json
from pytest_extract.core.words import listed, number_text, percent, plural, score_number
from pytest_extract.errors import nearest
from pytest_extract.importers.sob import SobRun
from pytest_extract.regression.suite import RankedVariant
from pytest_extract.report.lines import NO_VARIANT, Column, Line, Span, Table, line, safe_prose
from pytest_extract.report.summary import VERDICTS, VariantTotals, percent_at_least, remark_lines, totals_of

MOST_FIELDS: Final = 20
_POOLED: Final = "ExtractBench: fields passed, over all outputs; all fields of an invalid output count as failed"
_SOB: Final = (
    "SOB's columns and rank: complexity-weighted means; overall: their mean times the share of cases with a score"
)


_count: Final = "{:,}".format


def _scores(names: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(name, score_number) for name in names)


def _share(counts: tuple[int, int]) -> str:
    """Write a part of a number of things: `3 of 4`."""
    return "{:,} of {:,}".format(*counts)


def _interval(bounds: tuple[float, float]) -> str:
    return " - ".join(map(score_number, bounds))


_VARIANT: Final = Column("variant", lambda variant: variant or NO_VARIANT)
_SOB_SCORES: Final = tuple(Column(each.head, score_number, each.name) for each in SOB_COLUMNS)
_RATES: Final = (
    Column("valid", _share),
    Column("pass rate", percent),
    Column("fields", _share),
    Column("on valid", percent),
)
_STATUSES: Final = ("match", "mismatch", "omission", "hallucination", "undecided")
_STATUS_HEADS: Final = ("match", "mism.", "missing", "invented", "undec.")
_VALUES: Final = (
    Column("values", _count),
    Column("right", percent),
    *(Column(head, _count, name) for head, name in zip(_STATUS_HEADS, _STATUSES, strict=True)),
    *_scores(["score", "f1"]),
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of what is reported: what it is about, and tables and other lines one below the other."""

    about: Mapping[str, Json]
    blocks: Sequence[Table | list[Line]]

    def lines(self, width: int) -> list[Line]:
        """Write the part, with an empty line between its blocks."""
        return join_blocks(each.lines(width) if isinstance(each, Table) else each for each in self.blocks)

    def record(self) -> dict[str, Json]:
        """Return the part as JSON: what it is about, and its tables."""
        return {**self.about, "tables": [each.record() for each in self.blocks if isinstance(each, Table)]}


def join_blocks(blocks: Iterable[list[Line]]) -> list[Line]:
    """Join lines, with an empty line between two blocks."""
    return [each for block in blocks for each in (*block, line())][:-1]


def variant_part(standing: Standing, *, width: int, every: bool) -> Part:
    """Return the aggregates of one variant; `every`: of all field patterns, with all cases that have a remark."""
    results, rates, rows = standing.results, standing.rates, case_rows(standing.results)
    outcomes = Counter(result.outcome for result in results)
    counts = {"scored": len(rows), "in error": outcomes[Outcome.ERROR], "not run": outcomes[Outcome.NOT_RUN]}
    counted = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count or name == "scored")
    name = f"{safe_prose(standing.variant)}: " if standing.variant else ""
    patterns = field_table((result.nodeid, score.leaves) for result in results for score in result.scores)
    fields = sorted(patterns.items(), key=lambda row: row[1].mean_score)
    kinds = ", ".join(f"{name} {count:,}" for name, count in rates.failures.most_common())
    depths = {"medium": "3-4 (medium)", "hard": "5+ (hard)", "all": "all"}
    levels = [(depths[level], *(means[name] for name in DEEPJSON)) for level, means in by_depth(rows).items()]
    sob = []
    if standing.row is not None:
        published, weights = published_columns([row.measures for row in rows]), [row.weight for row in rows]
        weighted = sob_summary(published, weights).categories if any(weights) else {}
        found = {name: (plain, weighted.get(name)) for name, plain in sob_summary(published).categories.items()}
        means = f"mean of {len(standing.row.columns)} columns {score_number(standing.row.raw)}"
        overall = f"overall {score_number(standing.overall)}: {means}, coverage {percent(standing.coverage)}"
        sob = [replace(_estimate_table("SOB", "category", found), notes=[overall])]
    tables = (
        _estimate_table(
            "measures: means over cases; weighted: easy 1, medium 2, hard 3", "measure", measure_means(rows)
        ),
        Table(
            ("field", *_VALUES),
            [(pattern, *_value_cells(counts)) for pattern, counts in fields],
            "fields, worst first: leaf results over all cases",
        ).first(None if every else MOST_FIELDS, "field", "; -v lists all"),
        Table(
            ("outputs", *_RATES),
            [("all", *_rate_cells(rates))] if rates.documents else [],
            _POOLED,
            [f"not valid: {kinds}"] if kinds else [],
        ),
        *sob,
        Table(("depth", *_scores(DEEPJSON)), levels, "DeepJSONEval: by depth of nesting"),
    )
    head = line(Span(f"{name}{plural(len(results), 'case')}", "head"), f": {counted}")
    remarks = [*remark_lines(totals_of(results).remarks, width=width, verbosity=int(every))]
    blocks: list[Table | list[Line]] = [[head], *(table for table in tables if table.rows)]
    blocks += [remarks] if remarks else []
    return Part({"variant": standing.variant, "cases": len(results), **counts}, blocks)


def _estimate_cells(found: Estimate | None) -> tuple[object, ...]:
    return (None, None) if found is None else (found.mean, (found.low, found.high))


_MEAN: Final = (Column("mean", score_number), Column("95 %", _interval))
_WEIGHTED: Final = (Column("weighted", score_number), Column("95 %", _interval, "weighted 95 %"))


def _estimate_table(title: str, what: str, found: Mapping[str, tuple[Estimate, Estimate | None]]) -> Table:
    """Write plain means beside weighted ones, where there are any."""
    weighted = any(other is not None for _, other in found.values())
    rows = [
        (name, *_estimate_cells(plain), *(_estimate_cells(other) if weighted else ()))
        for name, (plain, other) in found.items()
    ]
    return Table((what, *_MEAN, *(_WEIGHTED if weighted else ())), rows, title)


_PLACE: Final = (
    *(Column(name, _count) for name in ("cases", "passed", "error", "not run")),
    *(Column(name, "{:.3g}".format) for name in ("$ a call", "s a call")),
)


def ranking_table(places: Sequence[RankedVariant], variants: Mapping[str, VariantTotals]) -> Table:
    """Rank variants by the fields that are right; `variants` holds the totals of each by its label."""
    numbers = {place.variant: str(number) for number, place in enumerate(places, start=1)}
    columns = (
        _VARIANT,
        Column("fields right", percent),
        Column("95 %", lambda bounds: f"{100 * bounds[0]:.1f} - {percent(bounds[1])}"),
        Column("tied with", lambda tied: listed([numbers[each] for each in tied])),
        Column("f1", score_number),
        *_PLACE,
    )
    rows = [
        (
            place.variant,
            place.right,
            None if place.right is None else (place.low, place.high),
            place.tied,
            variant.means.get("f1"),
            variant.outcomes.total(),
            *(variant.outcomes[each] for each in (Outcome.PASSED, *_OUTCOMES)),
            place.cost_usd,
            place.latency_s,
        )
        for place in places
        for variant in [variants[place.variant]]
    ]
    note = "fields right: mean over cases; 95 %: for all variants together"
    if len(places) > 1:
        note += "; tied: the cases that both ran do not tell the two apart "
        note += "(permutation tests at 5 % for all pairs together)"
    return Table(columns, rows, ranking_title(places), [note], numbered=True)


def leaderboard_tables(ranking: Table, standings: Sequence[Standing]) -> tuple[Table, ...]:
    """Return the ranking, then that of SOB, and ExtractBench's rates."""
    rows = [(each.variant, each.overall, each.coverage, *_column_cells(each.row)) for each in standings]
    rates = [(each.variant, *_rate_cells(each.rates)) for each in standings]
    overall = (Column("overall", score_number), Column("cover", percent))
    return (
        ranking,
        Table((_VARIANT, *overall, *_SOB_SCORES), rows, _SOB, numbered=True),
        Table((_VARIANT, *_RATES), rates, _POOLED, numbered=True),
    )


def _column_cells(row: LeaderboardRow | None) -> list[float | None]:
    """Return SOB's columns of a row."""
    return [None if row is None else row.columns.get(each.name) for each in SOB_COLUMNS]


def ranking_title(places: Sequence[RankedVariant]) -> str:
    """Say which variant is best, and whether that is beyond noise."""
    best, *others = places
    if best.right is None or not others:
        return "fields right: mean over cases"
    if not best.tied:
        return f"{best.variant or NO_VARIANT} is best, beyond noise"
    tied = listed([variant or NO_VARIANT for variant in best.tied])
    return f"{best.variant or NO_VARIANT} is first, tied with {tied}"


def sob_part(runs: Sequence[SobRun], *, samples: int | None = None) -> Part:
    """Return SOB's leaderboard and the summaries of each model and modality, and both as JSON in the published form.

    A later run of the same model and modality replaces an earlier one. `samples`: resamples of the intervals; by
    default SOB's 1,000.
    """
    models: dict[str, dict[str, Mapping[str, float] | None]] = {}
    summaries: dict[tuple[str, str], tuple[SobSummary, SobSummary]] = {}
    summarized = partial(sob_summary, samples=samples or SAMPLES)
    for run in runs:
        plain, weighted = run.summaries or (summarized(run.rows), summarized(run.rows, run.weights))
        summaries[run.modality, run.model] = plain, weighted
        means = {name: weighted.metrics[name].mean for name in SOB_METRICS}
        models.setdefault(run.model, {})[run.modality] = means
    board = leaderboard(models)
    weights = ", ".join(f"{name} {weight:,}" for name, weight in MODALITY_WEIGHTS.items())
    title = (
        f"SOB leaderboard: complexity-weighted means over the modalities (weights {weights}); overall: their mean "
        f"times the share of the {sum(MODALITY_RECORDS.values()):,} records in the model's modalities"
    )
    figures = [Column(head, "{:.4f}".format) for head in ("overall", *(each.head for each in SOB_COLUMNS))]
    rows = [(row.model, row.overall, *_column_cells(row), row.modalities) for row in board]
    tables = [Table(("model", *figures, Column("modalities", "+".join)), rows, title, numbered=True)]
    records: list[Json] = []
    for (modality, model), (plain, weighted) in summaries.items():
        found = {name: (each, weighted.metrics[name]) for name, each in plain.metrics.items()}
        found |= {name: (each, weighted.categories[name]) for name, each in plain.categories.items()}
        tables.append(_estimate_table(f"{modality}, {model}: {plural(plain.n, 'record')}", "metric", found))
        overall = {"overall": plain.to_dict(), "overall_weighted": weighted.to_dict()}
        records.append({"modality": modality, "model": model, **overall})
    return Part({"leaderboard": [row.to_dict() for row in board], "summaries": records}, tables)


def _accepted_columns(part: str = "") -> tuple[Column, ...]:
    return (
        Column(f"{part}right", lambda right: f"{percent(right[0])} of {right[1]:,.4g}"),
        Column("at least", percent_at_least, f"{part}at least"),
        Column("coverage", percent, f"{part}coverage"),
    )


def _accepted_cells(part: CaseCounts | None) -> tuple[object, ...]:
    if part is None:
        return (None,) * 3
    counts = part.total
    return (counts.precision, counts.accepted) if counts.accepted else None, part.lowest, counts.coverage


_THRESHOLD: Final = (
    Column("field"),
    Column("confidence", "{:g}".format),
    *_accepted_columns(),
    *_accepted_columns("checked: "),
    Column("", name="verdict"),
)


def threshold_part(
    variant: str, proposals: Sequence[ThresholdProposal], precision: float, cases: tuple[int, int]
) -> Part:
    """Return the thresholds of one variant: what they gave where they were proposed, and on the other cases."""
    name = f"{variant}: " if variant else ""
    head = f"{name}auto-accept with {100 * precision:g} % right: thresholds proposed on {plural(cases[0], 'case')}"
    rows = [
        (
            "all fields" if each.pattern == ALL_FIELDS else each.pattern,
            each.threshold,
            *_accepted_cells(each.proposed),
            *_accepted_cells(each.checked),
            _verdict(each, precision),
        )
        for each in proposals
    ]
    table = Table(_THRESHOLD, rows, f"{head}, checked on {cases[1]:,} others")
    return Part({"variant": variant, "precision": precision}, [table])


def _verdict(proposal: ThresholdProposal, precision: float) -> str:
    """Say what the other cases show of a threshold, or why there is none."""
    if proposal.checked is not None:
        checked = proposal.checked
        return VERDICTS[checked.shown(precision)][0] if checked.total.accepted else "no value"
    if proposal.needed is not None and proposal.needed > len(proposal.every.accepted):
        return f"needs about {plural(proposal.needed, 'case')}"
    return "no confidence shows it"


_CALIBRATION: Final = (
    Column("", name="field"),
    Column("values", number_text),
    Column("confidence", score_number),
    Column("right", score_number),
    Column("95 %", _interval),
    Column("calibration error", score_number),
    Column("95 %", _interval, "calibration error 95 %"),
)


def calibration_part(variant: str, parts: Mapping[str, Calibration]) -> Part:
    """Return the calibration of a variant: all values first, then the fields, worst calibrated first."""
    overall, *fields = parts.items()
    title = f"{variant}: confidence" if variant else "confidence"
    head = f"{title} of {number_text(overall[1].values)} values in {plural(overall[1].cases, 'case')}"
    rows = [
        (name or "all", each.values, each.confidence, *_estimate_cells(each.accuracy), *_estimate_cells(each.error))
        for name, each in [overall, *sorted(fields, key=lambda part: -part[1].error.mean)]
    ]
    return Part({"variant": variant}, [Table(_CALIBRATION, rows, head)])


MOST_SLICES: Final = 50
"""Rows of a table; further slices are counted."""
ALL: Final = "(all)"
"""The row of all slices of a variant together."""
VIEWS: Final = ("extract-bench", "struct-extract-eval", "sob", "deepjsoneval")
"""Systems whose numbers a table of slices can show."""


def slice_table(table: SliceTable, *, view: str = VIEWS[0], most: int | None = MOST_SLICES) -> Table:
    """Return slices as a table; `view`: the system whose numbers the slices of cases show."""

    def row_name(key: tuple[str, str]) -> str:
        label, variant = key
        return f"{label}, {variant or NO_VARIANT}" if len(table.variants) > 1 else label

    columns, cells_of = _columns(table, view)
    rows = [(key, *cells_of(each)) for key, each in table.slices.items()]
    totals = [((ALL, variant), *cells_of(each)) for variant, each in table.totals.items()]
    if table.by.kind == "failure":
        totals = [(("outputs in all", variant), count) for variant, count in sorted(table.outputs.items())]
    notes = []
    if table.correlations:
        found = correlation_text(table.correlations)
        notes.append(f"rank correlation of {table.by.name} with the pass rate of a case: {found}")
    named = Column(table.by.name, row_name, "slice")
    shown = Table((named, *columns), rows, f"by {table.by.name}", notes).first(most, "row")
    return replace(shown, rows=(*shown.rows, *totals))


def correlation_text(correlations: Mapping[str, float]) -> str:
    """Write the correlation of each variant, with its label if there are several."""
    if len(correlations) == 1:
        return f"{next(iter(correlations.values())):.2f}"
    named = [f"{each:.2f} ({safe_prose(variant) or 'no model'})" for variant, each in correlations.items()]
    return listed(named)


def unknown_tag_notes(results: Collection[CaseResult], by: Sequence[str]) -> list[str]:
    """Say which of the tags among `by` no case has, and which is meant."""
    known = dict.fromkeys(name for result in results for name in result.tags)
    tags = dict.fromkeys(name.removeprefix(TAG) for name in by if name not in DIMENSIONS)
    missing = [name for name in tags if results and name not in known]
    return [f"no case has the tag {name!r}{nearest(name, [*known, *DIMENSIONS])}" for name in missing]


def _rate_cells(rates: Rates) -> tuple[object, ...]:
    """Return ExtractBench's rates as cells of the columns `_RATES`."""
    valid, passed = (rates.valid, rates.documents), (rates.passed, rates.fields)
    return valid, rates.pass_rate, passed, rates.accuracy_on_valid


_OUTCOMES: Final = (Outcome.ERROR, Outcome.NOT_RUN)
"""Outcomes that have a column where some case has them: such cases are in no rate and no mean."""
_STRUCT: Final = ("precision", "recall", "f1")
_CASE_VIEWS: Final[Mapping[str, tuple[tuple[Column, ...], Sequence[str]]]] = {
    "extract-bench": ((*_RATES, *_scores(["f1"])), ("f1",)),
    "struct-extract-eval": (_scores(_STRUCT), _STRUCT),
    "sob": (_SOB_SCORES, [each.measure for each in SOB_COLUMNS]),
    "deepjsoneval": (_scores(DEEPJSON), DEEPJSON),
}
"""The columns of each view, and the measures whose means it shows."""


def _columns(table: SliceTable, view: str) -> tuple[Sequence[Column], Callable[[Slice], tuple[object, ...]]]:
    """Return the columns of a table, and what makes its cells: of cases, counts of outcomes, then the view's."""
    if table.by.kind == "failure":
        return [Column("count", _count)], lambda each: (each.failures,)
    if table.by.kind == "value":
        return _VALUES, lambda each: _value_cells(each.values)
    columns, measures = _CASE_VIEWS[view]
    there = [each for each in _OUTCOMES if any(one.outcomes.get(each) for one in table.slices.values())]
    outcomes = (Outcome.PASSED, *there)

    def cells(each: Slice) -> tuple[object, ...]:
        means = each.weighted if view == "sob" and each.weighted else each.means
        rates = _rate_cells(each.rates) if view == "extract-bench" else ()
        counts = (each.cases, *(each.outcomes.get(one, 0) for one in outcomes))
        return *counts, *rates, *(means.get(name) for name in measures)

    counted = ("cases", *(one.text for one in outcomes))
    return (*(Column(name, _count) for name in counted), *columns), cells


def _value_cells(counts: FieldCounts) -> tuple[object, ...]:
    """Return the counts of leaf results as cells of the columns `_VALUES`."""
    right = counts.match / counts.total if counts.total else None
    return counts.total, right, *(getattr(counts, name) for name in _STATUSES), counts.mean_score, counts.f1
