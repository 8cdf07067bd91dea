"""Arms side by side as lines: SOB's leaderboard, then how the cases of each did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_extract.core.aggregate.leaderboard import Standing
from pytest_extract.core.aggregate.run import RunAggregate
from pytest_extract.core.case_result import Outcome
from pytest_extract.report.columns import table
from pytest_extract.report.lines import Line, Span, line, number, plural, prose
from pytest_extract.report.totals import Spending
from pytest_extract.report.values import percent

_COLUMNS: Final[Mapping[str, str]] = {
    "value_accuracy": "value",
    "faithfulness": "faith.",
    "json_pass_rate": "json",
    "path_recall": "path",
    "structure_coverage": "struct.",
    "type_safety": "types",
    "perfect_response": "perfect",
}
_HEADS: Final = ("cases", "passed", "broken", "not run", "pass_rate", "95 %", "f1", "cost")
ONLY: Final = "(no model)"


def leaderboard_lines(
    standings: Sequence[Standing], runs: Mapping[str, RunAggregate], *, width: int = 100
) -> list[Line]:
    """Rank arms; `runs` holds the aggregate of each by its label."""
    title = "SOB's columns: complexity-weighted means; overall: their mean times the share of cases with a score"
    heads = ("   arm", "overall", "cover", *_COLUMNS.values())
    ranked = [(_name(place, each), *_figures(each)) for place, each in enumerate(standings, start=1)]
    counted = [(_name(place, each), *_counts(each, runs[each.arm])) for place, each in enumerate(standings, start=1)]
    return [
        *prose(title, "head", indent=0, width=width),
        *table(heads, ranked, width),
        line(),
        line(Span("cases", "head")),
        *table(("   arm", *_HEADS), counted, width),
    ]


def _name(place: int, standing: Standing) -> str:
    return f"{place:>2} {standing.arm or ONLY}"


def _figures(standing: Standing) -> list[str]:
    columns = {} if standing.row is None else standing.row.columns
    cells = [_four(columns[name]) if name in columns else "-" for name in _COLUMNS]
    return [_four(standing.overall), percent(standing.coverage), *cells]


def _counts(standing: Standing, run: RunAggregate) -> list[str]:
    passed = sum(result.outcome is Outcome.PASSED for result in standing.results)
    counts = (len(standing.results), passed, run.broken, run.not_run)
    return [*(f"{count:,}" for count in counts), *_measured(run), Spending.of(standing.results).cost_text]


def _measured(run: RunAggregate) -> list[str]:
    if "pass_rate" not in run.measures or "f1" not in run.measures:
        return ["-", "", "-"]
    rate, f1 = run.measures["pass_rate"].plain, run.measures["f1"].plain
    return [_four(rate.mean), f"{_four(rate.low)} - {_four(rate.high)}", _four(f1.mean)]


def _four(value: float) -> str:
    return number(round(value, 4))


def told_twice(count: int) -> str:
    """Say that results were left out because a later file has the same case and arm."""
    return f"{plural(count, 'result')} of a case and arm that a later file, or line, has again: the later one counts"
