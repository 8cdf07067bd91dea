"""Aggregates, slices, leaderboard, thresholds and calibration of a run, as tables and as JSON; SOB's own tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
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
    RunAggregate,
    SobSummary,
    Standing,
    leaderboard,
    sob_summary,
)
from pytest_extract.core.aggregate.confidence import ALL_FIELDS, Calibration, CaseCounts, Shown, ThresholdProposal
from pytest_extract.core.aggregate.slices import DIMENSIONS, Kind, Slice, SliceTable
from pytest_extract.core.case_result import Outcome, Spending
from pytest_extract.core.measures import FieldCounts, measures_of_system
from pytest_extract.core.values import Json
from pytest_extract.core.words import listed, number_text, percent, plural, score_number
from pytest_extract.errors import nearest
from pytest_extract.importers.sob import SobRun
from pytest_extract.regression.suite import RankedVariant
from pytest_extract.report.lines import NO_VARIANT, Line, Span, Table, line, prose, safe_prose, told
from pytest_extract.report.summary import MEASURES, VariantTotals, percent_at_least, remark_lines, totals_of

MOST_FIELDS: Final = 20
_LISTS_ALL: Final = "; -v lists all"
_POOLED: Final = "ExtractBench: fields passed, over all outputs; all fields of an invalid output count as failed"
_SOB: Final = (
    "SOB's columns and rank: complexity-weighted means; overall: their mean times the share of cases with a score"
)
_MOST_TIED: Final = 4


def variant_report_lines(run: RunAggregate, standing: Standing, *, width: int = 100, verbosity: int = 0) -> list[Line]:
    """Show the aggregates of one variant; with a verbosity, every field pattern."""
    counts = ((run.scored, "scored"), (run.broken, "broken"), (run.not_run, "not run"))
    outcomes = ", ".join(f"{count:,} {noun}" for count, noun in counts if count or noun == "scored")
    name = f"{safe_prose(standing.variant)}: " if standing.variant else ""
    measures = {name: (means.plain, means.weighted) for name, means in run.measures.items()}
    kinds = ", ".join(f"{name} {count:,}" for name, count in run.rates.failures.most_common())
    depths = {"medium": "3-4 (medium)", "hard": "5+ (hard)", "all": "all"}
    by_depth = [(depths[level], *(cell(means[name]) for name in DEEPJSON)) for level, means in run.by_depth.items()]
    tables = (
        _estimate_table("measures: means over cases; weighted: easy 1, medium 2, hard 3", "measure", measures),
        _pattern_table(run.fields).first(None if verbosity else MOST_FIELDS, "field", _LISTS_ALL),
        Table(
            ("outputs", *RATES),
            [("all", *rate_cells(run.rates))] if run.rates.documents else [],
            _POOLED,
            [f"not valid: {kinds}"] if kinds else [],
        ),
        _sob_table(run, standing),
        Table(("depth", *DEEPJSON), by_depth, "DeepJSONEval: by depth of nesting"),
    )
    blocks = (
        [line(Span(f"{name}{plural(run.cases, 'case')}", "head"), f": {outcomes}")],
        *(table.lines(width) for table in tables if table.rows),
        remark_lines(totals_of(standing.results).remarks, width=width, verbosity=verbosity),
    )
    return join_blocks(filter(None, blocks))


def cell(value: float | None, write: Callable[[float], str] = score_number) -> str:
    """Write a number as a cell, as a score by default."""
    return "-" if value is None else write(value)


def _estimate_cells(found: Estimate | None) -> tuple[str, str]:
    if found is None:
        return "-", ""
    return score_number(found.mean), f"{score_number(found.low)} - {score_number(found.high)}"


def _estimate_table(title: str, what: str, found: Mapping[str, tuple[Estimate, Estimate | None]]) -> Table:
    """Write plain means beside weighted ones, where there are any."""
    weighted = any(other is not None for _, other in found.values())
    rows = [
        (name, *_estimate_cells(plain), *(_estimate_cells(other) if weighted else ()))
        for name, (plain, other) in found.items()
    ]
    return Table((what, "mean", "95 %", *(("weighted", "95 %") if weighted else ())), rows, title)


def _pattern_table(counts_of: Mapping[str, FieldCounts]) -> Table:
    worst = sorted(counts_of.items(), key=lambda row: row[1].mean_score)
    rows = [(pattern, *_value_cells(counts)) for pattern, counts in worst]
    return Table(("field", *_VALUE_HEADS), rows, "fields, worst first: leaf results over all cases")


def _sob_table(run: RunAggregate, standing: Standing) -> Table:
    summary, row = run.sob, standing.row
    if summary is None or row is None:
        return Table((), ())
    weighted = {} if run.sob_weighted is None else run.sob_weighted.categories
    found = {name: (plain, weighted.get(name)) for name, plain in summary.categories.items()}
    columns = f"mean of {len(row.columns)} columns {score_number(row.raw)}, coverage {percent(standing.coverage)}"
    overall = f"overall {score_number(standing.overall)}: {columns}"
    return replace(_estimate_table("SOB", "category", found), notes=[overall])


def join_blocks(blocks: Iterable[list[Line]]) -> list[Line]:
    """Join the lines of several variants, with an empty line between them."""
    return [each for block in blocks for each in (*block, line())][:-1]


_COUNTS: Final = ("cases", "passed", "broken", "not run", "$ a call", "s a call")


def ranking_table(places: Sequence[RankedVariant], variants: Mapping[str, VariantTotals]) -> Table:
    """Rank variants by the fields that are right; `variants` holds the totals of each by its label."""
    numbers = {place.variant: number for number, place in enumerate(places, start=1)}
    rows = [
        (_numbered(numbers[place.variant], place.variant), *_place_cells(place, numbers, variants[place.variant]))
        for place in places
    ]
    heads = ("   variant", "fields right", "95 %", "tied with", "f1", *_COUNTS)
    note = "fields right: mean over cases; 95 %: for all variants together"
    if len(places) > 1:
        note += "; tied: the cases that both ran do not tell the two apart "
        note += "(permutation tests at 5 % for all pairs together)"
    return Table(heads, rows, ranking_title(places), [note])


def leaderboard_lines(
    ranking: Table, standings: Sequence[Standing], runs: Mapping[str, RunAggregate], *, width: int = 100
) -> list[Line]:
    """Show the ranking, then that of SOB; `runs` holds the aggregate of each variant by its label."""
    by_sob = [(_numbered(number, each.variant), each) for number, each in enumerate(standings, start=1)]
    by_columns = [(variant, *_sob_cells(each)) for variant, each in by_sob]
    rates = [(variant, *rate_cells(runs[each.variant].rates)) for variant, each in by_sob]
    tables = (
        ranking,
        Table(("   variant", "overall", "cover", *SOB_HEADS), by_columns, _SOB),
        Table(("   variant", *RATES), rates, _POOLED),
    )
    return join_blocks(table.lines(width) for table in tables)


def ranking_title(places: Sequence[RankedVariant]) -> str:
    """Say which variant is best, and whether that is beyond noise."""
    best, *others = places
    if best.right is None or not others:
        return "fields right: mean over cases"
    if not best.tied:
        return f"{best.variant or NO_VARIANT} is best, beyond noise"
    tied = listed([variant or NO_VARIANT for variant in best.tied], _MOST_TIED)
    return f"{best.variant or NO_VARIANT} is first, tied with {tied}"


def _numbered(number: int, variant: str) -> str:
    return f"{number:>2} {variant or NO_VARIANT}"


def _place_cells(place: RankedVariant, numbers: Mapping[str, int], variant: VariantTotals) -> list[str]:
    right = ["-", "", ""]
    if place.right is not None:
        tied = [str(numbers[each]) for each in place.tied[:_MOST_TIED]] + ["..."] * (len(place.tied) > _MOST_TIED)
        right = [percent(place.right), f"{100 * place.low:.1f} - {percent(place.high)}", ", ".join(tied)]
    counts = (variant.outcomes.total(), *(variant.outcomes[each] for each in (Outcome.PASSED, *_OUTCOMES)))
    spent = (cell(value, "{:.3g}".format) for value in (place.cost_usd, place.latency_s))
    return [*right, cell(variant.means.get("f1")), *(f"{count:,}" for count in counts), *spent]


def _sob_cells(standing: Standing) -> list[str]:
    columns = {} if standing.row is None else standing.row.columns
    cells = [cell(columns.get(each.name)) for each in SOB_COLUMNS]
    return [score_number(standing.overall), percent(standing.coverage), *cells]


def _numbers(each: object, *names: str) -> dict[str, Json]:
    """Return attributes of an object by their names."""
    return {name: getattr(each, name) for name in names}


def _head_record(run: RunAggregate, standing: Standing) -> dict[str, Json]:
    counts = _numbers(run, "cases", "scored", "broken", "not_run")
    return {"variant": standing.variant, **counts, "extract_bench": rates_record(run.rates)}


def _overall_record(standing: Standing) -> dict[str, Json]:
    raw = None if standing.row is None else standing.row.raw
    return {"overall": standing.overall, "raw": raw, "coverage": standing.coverage}


def aggregate_record(run: RunAggregate, standing: Standing) -> dict[str, Json]:
    """Return all aggregates of one variant as JSON."""
    return {
        **_head_record(run, standing),
        "measures": {name: asdict(means) for name, means in run.measures.items()},
        "fields": {pattern: counts_record(counts) for pattern, counts in run.fields.items()},
        "sob": {
            **_overall_record(standing),
            "plain": None if run.sob is None else run.sob.to_dict(),
            "weighted": None if run.sob_weighted is None else run.sob_weighted.to_dict(),
        },
        "deepjsoneval": {level: dict(means) for level, means in run.by_depth.items()},
        "complexity": [
            {"case": result.nodeid, **_numbers(result, "outcome", "complexity", "modality"), **result.shape}
            for result in standing.results
        ],
    }


def standing_record(place: RankedVariant, rank: int, standing: Standing, run: RunAggregate) -> dict[str, Json]:
    """Return one row of the leaderboard as JSON: its rank, SOB's columns, and counts, means and cost of the cases."""
    row, spending = standing.row, Spending.of(standing.results)
    return {
        **_head_record(run, standing),
        "rank": rank,
        "fields_right": None if place.right is None else {"mean": place.right, **_numbers(place, "low", "high")},
        "tied_with": list(place.tied),
        **_overall_record(standing),
        **({} if row is None else row.columns),
        "modalities": [] if row is None else list(row.modalities),
        "passed": sum(result.outcome is Outcome.PASSED for result in standing.results),
        **{name: asdict(run.measures[name].plain) if name in run.measures else None for name in MEASURES},
        "cost_usd": None if spending.unpriced == spending.calls else spending.cost_usd,
        "latency_s": place.latency_s,
        "tokens": spending.prompt_tokens + spending.completion_tokens,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SobTables:
    """The leaderboard, and the summaries of each model and modality with rows: plain and weighted by complexity."""

    board: Sequence[LeaderboardRow]
    summaries: Mapping[tuple[str, str], tuple[SobSummary, SobSummary]]


def sob_tables(runs: Sequence[SobRun], *, samples: int | None = None) -> SobTables:
    """Compute the tables; a later run of the same model and modality replaces an earlier one.

    `samples`: resamples of the intervals; by default SOB's 1,000.
    """
    models: dict[str, dict[str, Mapping[str, float] | None]] = {}
    summaries: dict[tuple[str, str], tuple[SobSummary, SobSummary]] = {}
    for run in runs:
        plain, weighted = run.summaries or (
            sob_summary(run.rows, samples=samples or SAMPLES),
            sob_summary(run.rows, run.weights, samples=samples or SAMPLES),
        )
        summaries[run.modality, run.model] = plain, weighted
        means = {name: weighted.metrics[name].mean for name in SOB_METRICS}
        models.setdefault(run.model, {})[run.modality] = means
    return SobTables(board=leaderboard(models), summaries=summaries)


def sob_lines(tables: SobTables, *, width: int) -> list[Line]:
    """Write the tables as lines."""
    weights = ", ".join(f"{name} {weight:,}" for name, weight in MODALITY_WEIGHTS.items())
    title = (
        f"SOB leaderboard: complexity-weighted means over the modalities (weights {weights}); overall: their mean "
        f"times the share of the {sum(MODALITY_RECORDS.values()):,} records in the model's modalities"
    )
    rows = []
    for place, row in enumerate(tables.board, start=1):
        numbers = (row.overall, *(row.columns.get(each.name) for each in SOB_COLUMNS))
        cells = (cell(value, "{:.4f}".format) for value in numbers)
        rows.append((f"{place:>2} {row.model}", *cells, "+".join(row.modalities)))
    heads = ("   model", "overall", *SOB_HEADS, "modalities")
    tables_shown = [Table(heads, rows, title)]
    for (modality, model), (plain, weighted) in tables.summaries.items():
        found = {name: (each, weighted.metrics[name]) for name, each in plain.metrics.items()}
        found |= {name: (each, weighted.categories[name]) for name, each in plain.categories.items()}
        tables_shown.append(_estimate_table(f"{modality}, {model}: {plural(plain.n, 'record')}", "metric", found))
    return join_blocks(table.lines(width) for table in tables_shown)


def sob_record(tables: SobTables) -> dict[str, Json]:
    """Return the tables as JSON, in the published form."""
    return {
        "leaderboard": [row.to_dict() for row in tables.board],
        "summaries": [
            {"modality": modality, "model": model, "overall": plain.to_dict(), "overall_weighted": weighted.to_dict()}
            for (modality, model), (plain, weighted) in tables.summaries.items()
        ],
    }


_HEADS = ("field", "confidence", "right", "at least", "coverage", "checked: right", "at least", "coverage", "")


def threshold_lines(
    variant: str, proposals: Sequence[ThresholdProposal], precision: float, parts: tuple[int, int], *, width: int
) -> list[Line]:
    """Show the thresholds of one variant: what they gave where they were proposed, and on the other cases."""
    name = f"{variant}: " if variant else ""
    head = f"{name}auto-accept with {100 * precision:g} % right: thresholds proposed on {plural(parts[0], 'case')}"
    title = f"{head}, checked on {parts[1]:,} others"
    found = {each.pattern: each.threshold for each in proposals if each.threshold is not None}
    rows = [_threshold_row(each, precision) for each in proposals if each.pattern in found]
    lines = Table(_HEADS, rows, title).lines(width) if rows else prose(title, "head", indent=0, width=width)
    for each in proposals:
        if each.threshold is None:
            lines += prose(_without_threshold_text(each, precision), "warn", indent=2, width=width)
    return [*lines, line(), *_keys(found, precision)] if found else lines


def _threshold_row(proposal: ThresholdProposal, precision: float) -> list[str]:
    checked, cells = proposal.checked, [_name(proposal.pattern), f"{proposal.threshold:g}"]
    verdict = ""
    if checked is not None:
        verdict = _VERDICTS[checked.shown(precision)] if checked.total.accepted else "no value"
    return [*cells, *_part_cells(proposal.proposed), *_part_cells(checked), verdict]


def _without_threshold_text(proposal: ThresholdProposal, precision: float) -> str:
    """Say why no threshold is proposed."""
    name, asked, cases = _name(proposal.pattern), f"{100 * precision:g} %", len(proposal.every.accepted)
    if proposal.needed is None:
        return f"{name}: no value has a confidence"
    if proposal.needed > cases:
        few = f"too few cases: {cases:,} propose"
        return f"{name}: {few}, and {asked} needs about {proposal.needed:,} without a wrong value"
    return f"{name}: no confidence is shown to have {asked} right"


def _part_cells(part: CaseCounts | None) -> list[str]:
    if part is None:
        return ["-"] * 3
    counts = part.total
    right = f"{percent(counts.precision)} of {counts.accepted:,.4g}" if counts.accepted else "-"
    return [right, percent_at_least(part.lowest), percent(counts.coverage)]


_VERDICTS: Final = {Shown.HOLDS: "holds", Shown.UNDECIDED: "holds, not shown", Shown.MISSED: "missed"}


def _name(pattern: str) -> str:
    return "all fields" if pattern == ALL_FIELDS else pattern


def _keys(fields: dict[str, float], precision: float) -> list[Line]:
    """Write the thresholds as the key `auto_accept` of a case file."""
    for_all = fields.pop(ALL_FIELDS, None)
    keys = ["auto_accept:", f"  precision: {precision:g}"]
    keys += [f"  confidence: {for_all:g}"] if for_all is not None else []
    keys += ["  fields:"] if fields else []
    keys += [f"    {json.dumps(name)}: {lowest:g}" for name, lowest in fields.items()]
    head = line(Span("for the case files or their defaults:", "dim"))
    return [head, *(told(key, indent=2) for key in keys)]


def threshold_record(variant: str, proposals: Sequence[ThresholdProposal], precision: float) -> dict[str, Json]:
    """Return the thresholds of one variant as JSON."""
    fields: list[Json] = [
        {
            "field": None if each.pattern == ALL_FIELDS else each.pattern,
            "confidence": each.threshold,
            "proposed": None if each.proposed is None else _part_record(each.proposed),
            "checked": None if each.checked is None else _part_record(each.checked),
            "cases": len(each.every.accepted),
            "cases_needed": each.needed,
        }
        for each in proposals
    ]
    return {"variant": variant, "precision": precision, "fields": fields}


def _part_record(part: CaseCounts) -> dict[str, Json]:
    counts = _numbers(part.total, "accepted", "wrong", "precision", "coverage")
    return {"cases": len(part.accepted), **counts, "precision_lower_bound": part.lowest}


_CALIBRATION: Final = ("", "values", "confidence", "right", "95 %", "calibration error", "95 %")


def calibration_lines(variant: str, parts: Mapping[str, Calibration], *, width: int) -> list[Line]:
    """Show the calibration of a variant: all values first, then the fields, worst calibrated first."""
    overall, *fields = parts.items()
    rows = [overall, *sorted(fields, key=lambda part: -part[1].error.mean)]
    title = f"{variant}: confidence" if variant else "confidence"
    head = f"{title} of {number_text(overall[1].values)} values in {plural(overall[1].cases, 'case')}"
    cells = [
        (
            name or "all",
            number_text(each.values),
            score_number(each.confidence),
            *_estimate_cells(each.accuracy),
            *_estimate_cells(each.error),
        )
        for name, each in rows
    ]
    return Table(_CALIBRATION, cells, head).lines(width)


def calibration_record(variant: str, parts: Mapping[str, Calibration]) -> dict[str, Json]:
    """Return the calibration of one variant as JSON: of all values, and by field."""
    overall, *fields = ((name, asdict(each)) for name, each in parts.items())
    return {"variant": variant, "overall": overall[1], "fields": dict(fields)}


MOST_SLICES: Final = 50
"""Rows of a table; further slices are counted."""
MOST_CORRELATIONS: Final = 6
"""Variants whose correlation a note has."""
ALL: Final = "(all)"
"""The row of all slices of a variant together."""
VIEWS: Final = ("extract-bench", "struct-extract-eval", "sob", "deepjsoneval")
"""Systems whose numbers a table of slices can show."""


def slice_table(table: SliceTable, *, view: str = VIEWS[0], most: int | None = MOST_SLICES) -> Table:
    """Write slices as a table of text; `view`: the system whose numbers the slices of cases show."""
    heads, cells_of = _columns(table, view)
    rows = [(_row_name(key, table), *cells_of(each)) for key, each in table.slices.items()]
    totals = [(_row_name((ALL, variant), table), *cells_of(each)) for variant, each in table.totals.items()]
    if table.by.kind == "failure":
        outputs = sorted(table.outputs.items())
        totals = [(_row_name(("outputs in all", variant), table), f"{count:,}") for variant, count in outputs]
    notes = []
    if table.correlations:
        found = correlation_text(table.correlations)
        notes.append(f"rank correlation of {table.by.name} with the pass rate of a case: {found}")
    shown = Table((table.by.name, *heads), rows, f"by {table.by.name}", notes).first(most, "row")
    return replace(shown, rows=(*shown.rows, *totals))


def correlation_text(correlations: Mapping[str, float]) -> str:
    """Write the correlation of each variant, with its label if there are several."""
    if len(correlations) == 1:
        return f"{next(iter(correlations.values())):.2f}"
    named = [f"{each:.2f} ({safe_prose(variant) or 'no model'})" for variant, each in correlations.items()]
    return listed(named, MOST_CORRELATIONS)


def unknown_tag_notes(tables: Sequence[SliceTable], tags: Sequence[str]) -> list[str]:
    """Say which of the tags no case has, and which is meant."""
    known = [*tags, *DIMENSIONS]
    return [
        f"no case has the tag {table.by.name!r}{nearest(table.by.name, known)}"
        for table in tables
        if table.by.kind == "case" and not table.is_known
    ]


def _row_name(key: tuple[str, str], table: SliceTable) -> str:
    label, variant = key
    return f"{label}, {variant or NO_VARIANT}" if len(table.variants) > 1 else label


RATES: Final = ("valid", "pass rate", "fields", "on valid")


def rate_cells(rates: Rates) -> tuple[str, ...]:
    """Write ExtractBench's rates as cells of the columns `RATES`."""
    return (
        f"{rates.valid:,} of {rates.documents:,}",
        cell(rates.pass_rate, percent),
        f"{rates.passed:,} of {rates.fields:,}",
        cell(rates.accuracy_on_valid, percent),
    )


SOB_HEADS: Final = tuple(each.head for each in SOB_COLUMNS)
_STRUCT: Final = ("precision", "recall", "f1")
_DEEPJSON: Final = measures_of_system("deepjsoneval")
_CASE_VIEWS: Final[Mapping[str, tuple[tuple[str, ...], Sequence[str]]]] = {
    "extract-bench": ((*RATES, "f1"), ("f1",)),
    "struct-extract-eval": (_STRUCT, _STRUCT),
    "sob": (SOB_HEADS, [each.measure for each in SOB_COLUMNS]),
    "deepjsoneval": (_DEEPJSON, _DEEPJSON),
}
"""The heads of each view, and the measures whose means it shows."""
_OUTCOMES: Final = (Outcome.BROKEN, Outcome.NOT_RUN)
"""Outcomes that have a column where some case has them: such cases are in no rate and no mean."""


def _columns(table: SliceTable, view: str) -> tuple[tuple[str, ...], Callable[[Slice], tuple[str, ...]]]:
    """Return the heads of a table, and what makes the cells of a row: of cases, counts of outcomes, then the view's."""
    if table.by.kind == "failure":
        return ("count",), lambda each: (f"{each.failures:,}",)
    if table.by.kind == "value":
        return _VALUE_HEADS, lambda each: _value_cells(each.values)
    names, measures = _CASE_VIEWS[view]
    there = [each for each in _OUTCOMES if any(one.outcomes.get(each) for one in table.slices.values())]
    outcomes = (Outcome.PASSED, *there)

    def cells(each: Slice) -> tuple[str, ...]:
        means = each.weighted if view == "sob" and each.weighted else each.means
        rates = rate_cells(each.rates) if view == "extract-bench" else ()
        counts = (each.cases, *(each.outcomes.get(one, 0) for one in outcomes))
        return (*(f"{count:,}" for count in counts), *rates, *(cell(means.get(name)) for name in measures))

    return ("cases", *(str(one).replace("_", " ") for one in outcomes), *names), cells


COUNTS: Final = ("match", "mismatch", "omission", "hallucination", "undecided")
_VALUE_HEADS: Final = ("values", "right", "match", "mism.", "omit.", "halluc.", "undec.", "score", "f1")


def _value_cells(counts: FieldCounts) -> tuple[str, ...]:
    right = percent(counts.match / counts.total) if counts.total else "-"
    by_status = (f"{getattr(counts, name):,}" for name in COUNTS)
    return f"{counts.total:,}", right, *by_status, score_number(counts.mean_score), score_number(counts.f1)


def slice_record(table: SliceTable) -> dict[str, Json]:
    """Return a table of slices as JSON."""
    return {
        "by": table.by.name,
        "kind": table.by.kind,
        "rank_correlations": dict(table.correlations),
        "outputs": dict(table.outputs),
        "rows": [
            {"slice": label, "variant": variant, **_RECORDS[table.by.kind](each)}
            for (label, variant), each in table.slices.items()
        ],
        "totals": [{"variant": variant, **_case_numbers(each)} for variant, each in table.totals.items()],
    }


def _case_numbers(each: Slice) -> dict[str, Json]:
    return {
        **_numbers(each, "cases", "means", "weighted"),
        "scored": len(each.rows),
        **{str(outcome): each.outcomes.get(outcome, 0) for outcome in Outcome},
        "extract_bench": rates_record(each.rates),
        "values": counts_record(each.values),
    }


_RECORDS: Final[Mapping[Kind, Callable[[Slice], dict[str, Json]]]] = {
    "case": _case_numbers,
    "value": lambda each: counts_record(each.values),
    "failure": lambda each: {"count": each.failures},
}


def rates_record(rates: Rates) -> dict[str, Json]:
    """Return ExtractBench's rates as JSON."""
    return _numbers(rates, *(each.name for each in fields(rates)), "valid_rate", "pass_rate", "accuracy_on_valid")


def counts_record(counts: FieldCounts) -> dict[str, Json]:
    """Return the counts and shares of leaf results as JSON."""
    shares = ("total", "mean_score", "precision", "recall", "f1")
    return {**_numbers(counts, *COUNTS, *shares), "records": len(counts.records)}
