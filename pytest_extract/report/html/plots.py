"""Plots of the page as coordinates for SVG: pass rate by size, and scores over runs, models or prompts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.aggregate.extractbench import extract_bench_rates
from pytest_extract.core.aggregate.slices import DIMENSIONS, rank_correlations
from pytest_extract.core.case_result import CaseResult
from pytest_extract.report.html.text import short_name
from pytest_extract.report.lines import percent, plural, score_number
from pytest_extract.report.slices import NO_ARM, correlation_text
from pytest_extract.report.totals import MEASURES, ArmTotals

WIDTH: Final = 420
HEIGHT: Final = 210
LEFT: Final = 44
BOTTOM: Final = 34
TOP: Final = 10
RIGHT: Final = 12
MOST_POINTS: Final = 400
"""Cases drawn in a plot; of more, every n-th."""
COLOURS: Final = 6
"""Arms with a colour of their own; further ones share the last."""
_MOST_MEANS: Final = 8
_MEAN_GROUPS: Final = 6
_MOST_TICKS: Final = 6
_SIZES: Final = ("output-size", "breadth", "depth")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A mark of a plot, in its coordinates, with its text and the number of its series."""

    x: float
    y: float
    text: str
    series: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot: title, description in words, axes, points, and lines through points (one for each series)."""

    title: str
    text: str
    x_label: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    points: tuple[Point, ...]
    lines: tuple[tuple[int, str], ...] = ()
    legend: tuple[tuple[int, str], ...] = ()


def size_plots(results: Iterable[CaseResult]) -> list[Plot]:
    """Plot the pass rate of each case by the values of its gold, the fields of its schema, and its depth.

    A size is plotted if cases of at least three sizes were scored, and not all alike.
    """
    found: dict[str, list[tuple[int, float, str, str]]] = {name: [] for name in _SIZES}
    for result in results:
        rate = extract_bench_rates(result.scores).pass_rate
        for name in _SIZES:
            measure = DIMENSIONS[name].size
            size = None if measure is None else measure(result)
            if rate is not None and size is not None:
                found[name].append((size, rate, result.arm.label, result.case_id))
    return [
        _size_plot(name, rows)
        for name, rows in found.items()
        if len({size for size, _rate, _arm, _case in rows}) >= 3
        and len({rate for _size, rate, _arm, _case in rows}) > 1
    ]


def _size_plot(name: str, rows: Sequence[tuple[int, float, str, str]]) -> Plot:
    sizes = [size for size, _rate, _arm, _case in rows]
    low, high = math.log(max(min(sizes), 1)), math.log(max(*sizes, 2))

    def across(size: float) -> float:
        share = (math.log(max(size, 1)) - low) / (high - low) if high > low else 0.5
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    arms = sorted({arm for _size, _rate, arm, _case in rows})
    series = {arm: min(index, COLOURS - 1) for index, arm in enumerate(arms)}
    step = -(-len(rows) // MOST_POINTS)
    points = tuple(
        Point(
            x=across(size),
            y=_up(rate),
            text=f"{short_name(case)}{f', {short_name(arm)}' if arm else ''}: {size:,}, {percent(rate)}",
            series=series[arm],
        )
        for size, rate, arm, case in sorted(rows, key=lambda row: row[2])[::step]  # some of each arm
    )
    correlations = rank_correlations((arm, float(size), rate) for size, rate, arm, _case in rows)
    told = f"; rank correlation {correlation_text(correlations)}" if correlations else ""
    return Plot(
        title=f"Pass rate by {name.replace('-', ' ')}",
        text=f"{plural(len(rows), 'case')}{told}. Size: {DIMENSIONS[name].doc}.",
        x_label=DIMENSIONS[name].doc,
        x_ticks=tuple((across(size), f"{size:,}") for size in _round_sizes(min(sizes), max(sizes))),
        y_ticks=_SHARES,
        points=points,
        lines=tuple(
            (series[arm], line)
            for arm in arms[:COLOURS]
            if (line := _mean_line([(across(size), rate) for size, rate, one, _case in rows if one == arm]))
        ),
        legend=_legend(arms),
    )


def _up(share: float) -> float:
    return round(TOP + (1 - share) * (HEIGHT - TOP - BOTTOM), 1)


_SHARES: Final = tuple((_up(share), percent(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0))


def _round_sizes(low: int, high: int) -> list[int]:
    """Return up to six round numbers between two sizes; all whole numbers if there are no more."""
    if high - low < _MOST_TICKS:
        return [*range(low, high + 1)]
    steps = [step * 10**power for power in range(8) for step in (1, 2, 5)]
    inside = [step for step in steps if max(low, 1) <= step <= high] or [low, high]
    every = -(-len(inside) // _MOST_TICKS)
    return inside[::every]


def _mean_line(points: Sequence[tuple[float, float]]) -> str:
    """Return a path through the means at each place, or of six groups of neighbouring places if there are many."""
    shares: dict[float, list[float]] = {}
    for x, share in sorted(points):
        shares.setdefault(x, []).append(share)
    groups: list[list[tuple[float, float]]] = []
    most = 1 if len(shares) <= _MOST_MEANS else -(-len(points) // _MEAN_GROUPS)
    for x, found in shares.items():
        if not groups or len(groups[-1]) >= most:
            groups.append([])
        groups[-1] += [(x, share) for share in found]
    means = [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]
    return " ".join(f"{x:.1f},{_up(y)}" for x, y in means) if len(means) > 1 else ""


def _legend(names: Sequence[str]) -> tuple[tuple[int, str], ...]:
    if len(names) < 2:
        return ()
    shown = [(index, short_name(name) or NO_ARM) for index, name in enumerate(names[: COLOURS - 1])]
    left = names[COLOURS - 1 :]
    if len(left) == 1:
        shown.append((COLOURS - 1, short_name(left[0]) or NO_ARM))
    elif left:
        shown.append((COLOURS - 1, plural(len(left), "other")))
    return tuple(shown)


def run_plot(arms: Mapping[str, ArmTotals], runs: Sequence[str]) -> Plot | None:
    """Plot the measures over runs (labels of arms, the first run first); None for fewer than two."""
    shown = [label for label in runs if label in arms and arms[label].means]
    if len(shown) < 2:
        return None

    def across(index: int) -> float:
        return round(LEFT + 12 + index / (len(shown) - 1) * (WIDTH - LEFT - RIGHT - 24), 1)

    points: list[Point] = []
    lines: list[tuple[int, str]] = []
    for series, measure in enumerate(MEASURES):
        there = [
            (index, arms[label].means[measure]) for index, label in enumerate(shown) if measure in arms[label].means
        ]
        points += [
            Point(
                x=across(index),
                y=_up(value),
                text=f"{short_name(shown[index])}: {measure} {score_number(value)}",
                series=series,
            )
            for index, value in there
        ]
        lines.append((series, " ".join(f"{across(index)},{_up(value)}" for index, value in there)))
    first, last = (arms[label].means.get(MEASURES[0]) for label in (shown[0], shown[-1]))
    change = "" if first is None or last is None else f"; {MEASURES[0]} {first:.3g} at first, {last:.3g} at last"
    every = -(-len(shown) // 4)
    return Plot(
        title="Score over runs",
        text=f"{plural(len(shown), 'run')}, the first on the left{change}.",
        x_label="",
        x_ticks=tuple((across(index), str(index + 1)) for index in range(0, len(shown), every)),
        y_ticks=_SHARES,
        points=tuple(points),
        lines=tuple(lines),
        legend=tuple(enumerate(MEASURES)),
    )
