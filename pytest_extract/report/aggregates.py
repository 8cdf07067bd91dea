"""A run's aggregates as lines: what each of the four published systems reports of a run, arm by arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pytest_extract.core.aggregate.bootstrap import Estimate
from pytest_extract.core.aggregate.extractbench import Rates
from pytest_extract.core.aggregate.fields import FieldCounts
from pytest_extract.core.aggregate.leaderboard import Standing
from pytest_extract.core.aggregate.run import DEEPJSON, RunAggregate
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.complexity import WEIGHTS
from pytest_extract.report.columns import table
from pytest_extract.report.emptiness import EmptinessTotals, emptiness_lines
from pytest_extract.report.lines import Line, Span, line, number, plural, safe_prose
from pytest_extract.report.values import percent

MOST_FIELDS: Final = 20
MOST_CASES: Final = 20
_SHAPE: Final = ("fields", "breadth", "depth", "arrays", "array_items", "values")


def report_lines(run: RunAggregate, standing: Standing, *, width: int = 100, verbosity: int = 0) -> list[Line]:
    """Tell one arm's aggregates; with a verbosity, every field pattern and every case."""
    most = None if verbosity else MOST_FIELDS
    parts = (
        [_head(run, standing)],
        _measures(run),
        _fields(run.fields, width, most),
        emptiness_lines(EmptinessTotals.of(standing.results), width=width, verbosity=verbosity),
        _extract_bench(run.rates),
        _sob(run, standing),
        _deepjson(run),
        _complexity(standing.results, width, None if verbosity else MOST_CASES),
    )
    return [each for part in parts if part for each in (*part, line())][:-1]


def _head(run: RunAggregate, standing: Standing) -> Line:
    counts = [f"{run.scored:,} scored"]
    counts += [f"{count:,} {noun}" for count, noun in ((run.broken, "broken"), (run.not_run, "not run")) if count]
    name = f"{safe_prose(standing.arm)}: " if standing.arm else ""
    return line(Span(f"{name}{plural(run.cases, 'case')}", "head"), f": {', '.join(counts)}")


def _title(text: str) -> Line:
    return line(Span(text, "head"))


def _estimate(found: Estimate | None) -> str:
    if found is None:
        return f"{'-':>8} {'':<16}"
    between = f"{_four(found.low)} - {_four(found.high)}"
    return f"{_four(found.mean):>8} {between:<16}"


def _four(value: float) -> str:
    return number(round(value, 4))


def _measures(run: RunAggregate) -> list[Line]:
    if not run.measures:
        return []
    weighted = any(means.weighted for means in run.measures.values())
    head = f"{'measure':<20} {'mean':>8} {'95 %':<16}" + (f" {'weighted':>8} {'95 %':<16}" if weighted else "")
    lines = [
        _title("measures: means over cases; weighted: easy 1, medium 2, hard 3"),
        line(Span(head, "dim"), indent=2),
    ]
    for name, means in run.measures.items():
        text = f"{name:<20} {_estimate(means.plain)}" + (f" {_estimate(means.weighted)}" if weighted else "")
        lines.append(line(text.rstrip(), indent=2))
    return lines


def _fields(counts_of: Mapping[str, FieldCounts], width: int, most: int | None) -> list[Line]:
    if not counts_of:
        return []
    rows = sorted(counts_of.items(), key=lambda row: row[1].mean_score)  # worst first, else in order of appearance
    heads = ("field", "score", "precision", "recall", "f1", "match", "mism.", "omit.", "halluc.", "undec.")
    cells = [(pattern, *_field_cells(counts)) for pattern, counts in rows[:most]]
    lines = [_title("fields, worst first: leaf results over all cases"), *table(heads, cells, width)]
    return [*lines, *_left_over(len(rows), most, "field")]


def _field_cells(counts: FieldCounts) -> list[str]:
    shares = (counts.mean_score, counts.precision, counts.recall, counts.f1)
    numbers = (counts.match, counts.mismatch, counts.omission, counts.hallucination, counts.undecided)
    return [*map(_four, shares), *(f"{count:,}" for count in numbers)]


def _left_over(count: int, most: int | None, noun: str) -> list[Line]:
    if most is None or count <= most:
        return []
    return [line(Span(f"and {plural(count - most, f'more {noun}')}; -v lists all", "dim"), indent=2)]


def _extract_bench(rates: Rates) -> list[Line]:
    if not rates.documents:
        return []
    valid = _rate(rates.valid_rate, rates.valid, rates.documents, "output")
    passed = _rate(rates.pass_rate, rates.passed, rates.fields, "field")
    accuracy = _rate(rates.accuracy_on_valid, rates.passed, rates.valid_fields, "field")
    lines = [
        _title("ExtractBench: fields passed, over all outputs; all fields of an invalid output count as failed"),
        line(f"valid rate {valid}, pass rate {passed}, accuracy on valid {accuracy}", indent=2),
    ]
    if rates.failures:
        kinds = sorted(rates.failures.items(), key=lambda kind: -kind[1])
        lines.append(line(f"not valid: {', '.join(f'{name} {count:,}' for name, count in kinds)}", indent=2))
    return lines


def _rate(rate: float | None, part: int, whole: int, noun: str) -> str:
    return "-" if rate is None else f"{percent(rate)} ({part:,} of {plural(whole, noun)})"


def _sob(run: RunAggregate, standing: Standing) -> list[Line]:
    summary, row = run.sob, standing.row
    if summary is None or row is None:
        return []
    weighted = run.sob_weighted
    head = f"{'category':<28} {'mean':>8} {'95 %':<16}" + (f" {'weighted':>8} {'95 %':<16}" if weighted else "")
    lines = [_title("SOB"), line(Span(head, "dim"), indent=2)]
    for name, found in summary.categories.items():
        text = f"{name:<28} {_estimate(found)}" + (f" {_estimate(weighted.categories[name])}" if weighted else "")
        lines.append(line(text.rstrip(), indent=2))
    cover = f"coverage {percent(standing.coverage)}"
    text = f"overall {_four(standing.overall)}: mean of {len(row.columns)} columns {_four(row.raw)}, {cover}"
    return [*lines, line(text, indent=2)]


def _deepjson(run: RunAggregate) -> list[Line]:
    if not run.by_depth:
        return []
    head = f"{'depth':<14}" + "".join(f" {name:>10}" for name in DEEPJSON)
    lines = [_title("DeepJSONEval: by depth of nesting"), line(Span(head, "dim"), indent=2)]
    names = {"medium": "3-4 (medium)", "hard": "5+ (hard)", "all": "all"}
    for level, means in run.by_depth.items():
        lines.append(line(f"{names[level]:<14}" + "".join(f" {_four(means[name]):>10}" for name in DEEPJSON), indent=2))
    return lines


def _complexity(results: Sequence[CaseResult], width: int, most: int | None) -> list[Line]:
    shaped = [result for result in results if result.shape]
    if not shaped:
        return []
    counts = Counter(result.complexity for result in shaped)
    told = ", ".join(f"{counts[name]:,} {name}" for name in WEIGHTS if counts[name])
    heads = ("case", "class", *(name.replace("_", " ") for name in _SHAPE))
    names = _names(shaped[:most])
    rows = [(name, one.complexity or "", *_sizes(one)) for name, one in zip(names, shaped[:most], strict=True)]
    lines = [_title(f"complexity of the cases: {told}"), *table(heads, rows, width)]
    return [*lines, *_left_over(len(shaped), most, "case")]


def _sizes(result: CaseResult) -> list[str]:
    return [f"{result.shape.get(name, 0):,}" for name in _SHAPE]


def _names(results: Sequence[CaseResult]) -> list[str]:
    """Name cases by their id; where two files have the same one, with the file."""
    ids = Counter(result.case_id for result in results)
    return [one.case_id if ids[one.case_id] == 1 else f"{one.file}::{one.case_id}" for one in results]


def joined(blocks: Iterable[list[Line]]) -> list[Line]:
    """Put several arms' lines below each other, an empty line between."""
    return [each for block in blocks for each in (*block, line())][:-1]
