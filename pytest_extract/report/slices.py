"""Slices of a run as tables: by tag or dimension, by position and length of lists, by altered documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from math import fsum
from typing import Final

from pytest_extract.core.aggregate import SOB_COLUMNS, Rates
from pytest_extract.core.aggregate.slices import (
    BOUNDS,
    DIMENSIONS,
    Kind,
    ListRecall,
    Recall,
    Slice,
    SliceTable,
    list_recalls,
)
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.measures import FieldCounts, measures_of_system
from pytest_extract.core.values import FieldPath, Json, pattern_of
from pytest_extract.errors import nearest
from pytest_extract.report.lines import (
    NO_VARIANT,
    Line,
    Table,
    percent,
    plural,
    prose,
    safe_prose,
    score_number,
)

MOST_SLICES: Final = 50
"""Rows of a table; further slices are counted."""
ALL: Final = "(all)"
"""The row of all slices of a variant together."""
VIEWS: Final = ("extract-bench", "struct-extract-eval", "sob", "deepjsoneval")
"""Systems whose numbers a table of slices can show."""


def slice_table(table: SliceTable, *, view: str = VIEWS[0], most: int | None = MOST_SLICES) -> Table:
    """Write slices as a table of text; `view`: the system whose numbers the slices of cases show."""
    totals: list[tuple[str, ...]] = []
    if table.by.kind == "failure":
        heads, rows = _failure_rows(table)
    else:
        heads, cells_of = _case_columns(table, view) if table.by.kind == "case" else (_VALUE_HEADS, _value_cells)
        rows = [(_row_name(key, table), *cells_of(each)) for key, each in table.slices.items()]
        totals = [(_row_name((ALL, variant), table), *cells_of(each)) for variant, each in table.totals.items()]
    shown = Table((table.by.name, *heads), rows, f"by {table.by.name}").first(most, "row")
    return replace(shown, rows=(*shown.rows, *totals))


def slice_lines(
    tables: Sequence[SliceTable], *, width: int, view: str = VIEWS[0], most: int | None = MOST_SLICES
) -> list[Line]:
    """Write tables of slices as lines."""
    return [each for table in tables for each in slice_table(table, view=view, most=most).lines(width)]


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


def _share_text(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "-"


def mean_cell(value: float | None) -> str:
    """Write a mean as a cell."""
    return "-" if value is None else score_number(value)


RATES: Final = ("valid", "pass rate", "fields", "on valid")


def rate_cells(rates: Rates) -> tuple[str, ...]:
    """Write ExtractBench's rates as cells of the columns `RATES`."""
    return (
        f"{rates.valid:,} of {rates.documents:,}",
        _share_text(rates.passed, rates.fields),
        f"{rates.passed:,} of {rates.fields:,}",
        _share_text(rates.passed, rates.valid_fields),
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


def _case_columns(table: SliceTable, view: str) -> tuple[tuple[str, ...], Callable[[Slice], tuple[str, ...]]]:
    """Return the heads of a table of cases (counts of outcomes, then the view's), and what makes the cells of a row."""
    names, measures = _CASE_VIEWS[view]
    there = [each for each in _OUTCOMES if any(one.outcomes.get(each) for one in table.slices.values())]
    outcomes = (Outcome.PASSED, *there)

    def cells(each: Slice) -> tuple[str, ...]:
        means = each.weighted if view == "sob" and each.weighted else each.means
        rates = rate_cells(each.rates) if view == "extract-bench" else ()
        counts = (each.cases, *(each.outcomes.get(one, 0) for one in outcomes))
        return (*(f"{count:,}" for count in counts), *rates, *(mean_cell(means.get(name)) for name in measures))

    return ("cases", *(str(one).replace("_", " ") for one in outcomes), *names), cells


COUNTS: Final = ("match", "mismatch", "omission", "hallucination", "undecided")
COUNT_HEADS: Final = ("match", "mism.", "omit.", "halluc.", "undec.")
_VALUE_HEADS: Final = ("values", "right", *COUNT_HEADS, "score", "f1")


def count_cells(counts: FieldCounts) -> list[str]:
    """Write the counts of values as cells of the columns `COUNT_HEADS`."""
    return [f"{getattr(counts, name):,}" for name in COUNTS]


def _value_cells(each: Slice) -> tuple[str, ...]:
    counts = each.values
    share = _share_text(counts.match, counts.total)
    return f"{counts.total:,}", share, *count_cells(counts), score_number(counts.mean_score), score_number(counts.f1)


def _failure_rows(table: SliceTable) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    heads = tuple(
        safe_prose(variant) or (NO_VARIANT if len(table.variants) > 1 else "count") for variant in table.variants
    )
    rows = [
        (label, *(f"{table.slices.get((label, variant), Slice()).failures:,}" for variant in table.variants))
        for label in table.labels
    ]
    return heads, [*rows, ("outputs in all", *(f"{table.outputs.get(variant, 0):,}" for variant in table.variants))]


def slice_record(table: SliceTable) -> dict[str, Json]:
    """Return a table of slices as JSON."""
    return {
        "by": table.by.name,
        "kind": table.by.kind,
        "outputs": dict(table.outputs),
        "rows": [
            {"slice": label, "variant": variant, **_NUMBERS[table.by.kind](each)}
            for (label, variant), each in table.slices.items()
        ],
        "totals": [{"variant": variant, **_case_numbers(each)} for variant, each in table.totals.items()],
    }


def _case_numbers(each: Slice) -> dict[str, Json]:
    return {
        "cases": each.cases,
        **{str(outcome): each.outcomes.get(outcome, 0) for outcome in Outcome},
        "scored": each.scored,
        "extract_bench": rates_record(each.rates),
        "means": each.means,
        "weighted": each.weighted,
        "values": counts_record(each.values),
    }


_NUMBERS: Final[Mapping[Kind, Callable[[Slice], dict[str, Json]]]] = {
    "case": _case_numbers,
    "value": lambda each: counts_record(each.values),
    "failure": lambda each: {"count": each.failures},
}


def rates_record(rates: Rates) -> dict[str, Json]:
    """Return ExtractBench's rates as JSON."""
    names = (*(each.name for each in fields(rates)), "valid_rate", "pass_rate", "accuracy_on_valid")
    return {name: getattr(rates, name) for name in names}


def counts_record(counts: FieldCounts) -> dict[str, Json]:
    """Return the counts and shares of leaf results as JSON."""
    names = (*COUNTS, "total", "mean_score", "precision", "recall", "f1")
    return {**{name: getattr(counts, name) for name in names}, "records": len(counts.records)}


_MOST: Final = 5
_STARTS: Final[Mapping[int, int]] = {end: start + 1 for start, end in pairwise((0, *BOUNDS))}


def list_lines(recalls: Sequence[ListRecall], *, width: int) -> list[Line]:
    """Say of each list that breaks off how far it is complete."""
    texts = [f"{_name(each)} {edge_text(each)}" for each in recalls if each.edge is not None]
    more = [f"and {plural(len(texts) - _MOST, 'more list')} that break off"] if len(texts) > _MOST else []
    return [each for text in (*texts[:_MOST], *more) for each in prose(text, "warn", indent=0, width=width)]


def edge_text(recall: ListRecall) -> str:
    """Say up to where a list is complete, and how many rows are found beyond."""
    edge = recall.edge
    if edge is None:
        return f"breaks off nowhere, up to {plural(recall.longest, 'row')}"
    bounds = "" if edge.low == edge.high else f" (95 %: {edge.low:,} to {edge.high:,})"
    if edge.by == "position":
        where = f"to row {edge.at:,}{bounds}"
    else:
        where = f"in lists of up to {plural(edge.at, 'row')}{bounds}"
    whole = "is complete" if edge.before > 0.995 else f"has {percent(edge.before)} of its rows"
    return f"{whole} {where}, and has {percent(edge.after)} of those beyond"


def list_tables(results: Iterable[CaseResult]) -> list[Table]:
    """Write the recall of rows by position and by length as tables, for the lists that lack the most rows."""
    tables = []
    for recall in list_recalls(results)[:_MOST]:
        ends = sorted({*recall.by_position, *recall.by_length})
        rows = [(_range(end), *_cells(recall.by_position.get(end)), *_cells(recall.by_length.get(end))) for end in ends]
        heads = ("row, or length", "rows at it", "found", "rows in lists of it", "found")
        notes = [f"{plural(recall.lists, 'list')}; {safe_prose(recall.pattern)} {edge_text(recall)}"]
        tables.append(Table(heads, rows, f"{_name(recall)}: rows found", notes))
    return tables


def _name(recall: ListRecall) -> str:
    variant = f" [{recall.variant}]" if recall.variant else ""
    return safe_prose(f"{recall.pattern}{variant}")


def _range(end: int) -> str:
    return f"{_STARTS[end]:,} " + ("and more" if end == BOUNDS[-1] else f"to {end:,}")


def _cells(recall: Recall | None) -> tuple[str, str]:
    return ("-", "-") if recall is None else (f"{recall.rows:,}", percent(recall.share))


_WITHOUT = "without-"


def altered_tables(results: Iterable[CaseResult]) -> list[Table]:
    """Set values that are invented where they are absent beside those that are found, and altered beside plain cases.

    Nothing for a run without altered documents. A case that broke or was not run is in no row.
    """
    plain: dict[tuple[str, ...], CaseResult] = {}
    altered: dict[str, list[tuple[CaseResult, CaseResult]]] = defaultdict(list)
    every = [result for result in results if result.scores]
    for result in every:
        if not result.altered:
            plain[result.file, result.case_id, result.variant.label] = result
    for result in every:
        of = result.case_id.removesuffix(f"[{result.altered}]")
        if result.altered and (result.file, of, result.variant.label) in plain:
            altered[result.altered].append((plain[result.file, of, result.variant.label], result))
    absent = {name.removeprefix(_WITHOUT): pairs for name, pairs in altered.items() if name.startswith(_WITHOUT)}
    others = {name: pairs for name, pairs in altered.items() if not name.startswith(_WITHOUT)}
    return [*_absence_table(absent), *_fall_table(others)]


def _absence_table(absent: Mapping[str, Sequence[tuple[CaseResult, CaseResult]]]) -> list[Table]:
    by_field: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for name, pairs in absent.items():
        place = FieldPath.parse(name)
        for present, result in pairs:
            found = [leaf.passed for score in present.scores for leaf in score.leaves if leaf.path == place]
            invented = any(breach.what == f"absent.{place}" for each in result.attempts for breach in each.breaches)
            by_field[pattern_of(place)].append((bool(found) and all(found), invented))
    if not by_field:
        return []
    rows = [
        (field, *(_share([pair[side] for pair in pairs]) for side in (0, 1)))
        for field, pairs in sorted(by_field.items(), key=lambda item: (-sum(each[1] for each in item[1]), item[0]))
    ]
    return [Table(("field", "found when present", "invented when absent"), rows, "absence under test")]


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values):,} of {len(values):,} ({percent(sum(values) / len(values))})"


def _fall_table(others: Mapping[str, Sequence[tuple[CaseResult, CaseResult]]]) -> list[Table]:
    if not others:
        return []
    rows = []
    for name, pairs in sorted(others.items()):
        before, after = (fsum(pair[side].means["pass_rate"] for pair in pairs) / len(pairs) for side in (0, 1))
        change = f"{100 * (after - before):+.1f} points"
        rows.append((name, f"{len(pairs):,}", percent(before), percent(after), change))
    return [Table(("document", "cases", "plain", "altered", "change"), rows, "altered documents: fields right")]
