"""Arms side by side as lines: SOB's leaderboard, then how the cases of each did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_extract.core.aggregate import RunAggregate
from pytest_extract.core.aggregate_arms import Standing
from pytest_extract.core.case_result import Outcome
from pytest_extract.report.lines import Line, Span, line, number, plural, safe_prose, shorten
from pytest_extract.report.summary import Spending
from pytest_extract.report.values import percent

_COLUMNS: Final[Mapping[str, str]] = {
    "value_accuracy": "value",
    "faithfulness": "faithful",
    "json_pass_rate": "json",
    "path_recall": "path",
    "structure_coverage": "struct.",
    "type_safety": "types",
    "perfect_response": "perfect",
}
ONLY: Final = "(no model)"


def leaderboard_lines(
    standings: Sequence[Standing], runs: Mapping[str, RunAggregate], *, width: int = 100
) -> list[Line]:
    """Rank arms; `runs` holds the aggregate of each by its label."""
    wide = min(max(len(_name(each)) for each in standings), max(12, width - 72))
    return [*_ranking(standings, wide), line(), *_cases(standings, runs, wide)]


def _name(standing: Standing) -> str:
    return safe_prose(standing.arm) or ONLY


def _ranking(standings: Sequence[Standing], wide: int) -> list[Line]:
    head = f"{'':>3} {'arm':<{wide}} {'overall':>8} {'cover':>8}" + "".join(f" {name:>8}" for name in _COLUMNS.values())
    title = "SOB's columns: complexity-weighted means; overall: their mean times the share of cases with a score"
    lines = [line(Span(title, "head")), line(Span(head, "dim"), indent=2)]
    for place, each in enumerate(standings, start=1):
        columns = {} if each.row is None else each.row.columns
        cells = "".join(f" {_four(columns[name]) if name in columns else '-':>8}" for name in _COLUMNS)
        text = f"{place:>3} {shorten(_name(each), wide):<{wide}} {_four(each.overall):>8} {percent(each.coverage):>8}"
        lines.append(line(text + cells, indent=2))
    return lines


def _cases(standings: Sequence[Standing], runs: Mapping[str, RunAggregate], wide: int) -> list[Line]:
    heads = (
        f"{'cases':>6} {'passed':>7} {'broken':>7} {'not run':>8} {'pass_rate':>10} {'95 %':<15} {'f1':>8} {'cost':>10}"
    )
    lines = [line(Span("cases", "head")), line(Span(f"{'':>3} {'arm':<{wide}} {heads}", "dim"), indent=2)]
    for place, each in enumerate(standings, start=1):
        run = runs[each.arm]
        passed = sum(result.outcome is Outcome.PASSED for result in each.results)
        counts = f"{len(each.results):>6,} {passed:>7,} {run.broken:>7,} {run.not_run:>8,}"
        cost = Spending.of(each.results).cost_text
        text = f"{place:>3} {shorten(_name(each), wide):<{wide}} {counts} {_measured(run)} {cost:>10}"
        lines.append(line(text, indent=2))
    return lines


def _measured(run: RunAggregate) -> str:
    if "pass_rate" not in run.measures or "f1" not in run.measures:
        return f"{'-':>10} {'':<15} {'-':>8}"
    rate, f1 = run.measures["pass_rate"].plain, run.measures["f1"].plain
    between = f"{_four(rate.low)} - {_four(rate.high)}"
    return f"{_four(rate.mean):>10} {between:<15} {_four(f1.mean):>8}"


def _four(value: float) -> str:
    return number(round(value, 4))


def told_twice(count: int) -> str:
    """Say that results were left out because a later file has the same case and arm."""
    return f"{plural(count, 'result')} of a case and arm that a later file, or line, has again: the later one counts"
