"""Plots of the page as data: pass rate by size, and scores over runs; the script of the page draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pytest_extract.core.aggregate.published import extract_bench_rates
from pytest_extract.core.aggregate.slices import DIMENSIONS, rank_correlations
from pytest_extract.core.case_result import CaseResult
from pytest_extract.regression.suite import RankedVariant
from pytest_extract.report.html.text import short_name
from pytest_extract.report.lines import percent, plural, score_number
from pytest_extract.report.slices import correlation_text
from pytest_extract.report.totals import MEASURES, NO_VARIANT, VariantTotals

MOST_POINTS: Final = 400
"""Cases drawn in a plot; of more, every n-th."""
COLOURS: Final = 6
"""Variants with a colour of their own; further ones share the last."""
_MOST_MEANS: Final = 8
_MEAN_GROUPS: Final = 6
_FEWEST_POINTS: Final = 20
"""Cases from which on a plot says more than a list."""
_SIZES: Final = ("output-size", "breadth", "depth")


def size_plots(results: Iterable[CaseResult]) -> list[dict[str, Any]]:
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
                found[name].append((size, rate, result.variant.label, result.case_id))
    return [
        _size_plot(name, rows)
        for name, rows in found.items()
        if len(rows) >= _FEWEST_POINTS
        and len({size for size, _rate, _variant, _case in rows}) >= 3
        and len({rate for _size, rate, _variant, _case in rows}) > 1
    ]


def _size_plot(name: str, rows: Sequence[tuple[int, float, str, str]]) -> dict[str, Any]:
    variants = sorted({variant for _size, _rate, variant, _case in rows})
    series = {variant: min(index, COLOURS - 1) for index, variant in enumerate(variants)}
    step = -(-len(rows) // MOST_POINTS)
    correlations = rank_correlations((variant, float(size), rate) for size, rate, variant, _case in rows)
    told = f"; rank correlation {correlation_text(correlations)}" if correlations else ""
    names = [short_name(variant) or NO_VARIANT for variant in variants]
    if len(variants) > COLOURS:
        names[COLOURS - 1 :] = [plural(len(variants) - COLOURS + 1, "other")]
    return {
        "title": f"Pass rate by {name.replace('-', ' ')}",
        "text": f"{plural(len(rows), 'case')}{told}. Size: {DIMENSIONS[name].doc}.",
        "label": DIMENSIONS[name].doc,
        "logarithmic": True,
        "names": names,
        "points": [
            (
                size,
                rate,
                series[variant],
                f"{short_name(case)}{f', {short_name(variant)}' if variant else ''}: {size:,}, {percent(rate)}",
            )
            for size, rate, variant, case in sorted(rows, key=lambda row: row[2])[::step]  # some of each variant
        ],
        "lines": [
            _mean_line([(size, rate) for size, rate, one, _case in rows if one == variant])
            for variant in variants[:COLOURS]
        ],
    }


def cost_plot(places: Sequence[RankedVariant]) -> list[dict[str, Any]]:
    """Plot the fields that are right by the cost of a call, a point a variant; nothing where all cost the same."""
    known = [(place, place.cost_usd, place.right) for place in places if place.cost_usd and place.right is not None]
    if len({cost for _, cost, _ in known}) < 2:
        return []
    return [
        {
            "title": "Quality by cost",
            "text": "up and to the left is better",
            "label": "cost of a call, in millionths of a dollar",
            "logarithmic": True,
            "names": [short_name(place.variant) or NO_VARIANT for place, _, _ in known[: COLOURS - 1]]
            + ["others"] * (len(known) >= COLOURS),
            "points": [
                (
                    round(1e6 * cost, 1),
                    right,
                    min(index, COLOURS - 1),
                    f"{short_name(place.variant) or NO_VARIANT}: fields right {percent(right)}, ${cost:.3g} a call",
                )
                for index, (place, cost, right) in enumerate(known)
            ],
            "lines": [],
        }
    ]


def _mean_line(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the means at each size, or of six groups of neighbouring sizes if there are many."""
    shares: dict[float, list[float]] = {}
    for size, share in sorted(points):
        shares.setdefault(size, []).append(share)
    groups: list[list[tuple[float, float]]] = []
    most = 1 if len(shares) <= _MOST_MEANS else -(-len(points) // _MEAN_GROUPS)
    for size, found in shares.items():
        if not groups or len(groups[-1]) >= most:
            groups.append([])
        groups[-1] += [(size, share) for share in found]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def run_plot(variants: Mapping[str, VariantTotals], runs: Sequence[str]) -> list[dict[str, Any]]:
    """Plot the measures over runs (labels of variants, the first run first); nothing for fewer than two."""
    shown = [label for label in runs if label in variants and variants[label].means]
    if len(shown) < 2:
        return []
    lines = [
        [(at, variants[label].means[name]) for at, label in enumerate(shown, start=1) if name in variants[label].means]
        for name in MEASURES
    ]
    first, last = (variants[label].means.get(MEASURES[0]) for label in (shown[0], shown[-1]))
    change = (
        ""
        if first is None or last is None
        else f"; {MEASURES[0]} {score_number(first)} at first, {score_number(last)} at last"
    )
    plot = {
        "title": "Score over runs",
        "text": f"{plural(len(shown), 'run')}, the first on the left{change}.",
        "label": "",
        "logarithmic": False,
        "names": MEASURES,
        "points": [
            (at, value, series, f"{short_name(shown[at - 1])}: {MEASURES[series]} {score_number(value)}")
            for series, line in enumerate(lines)
            for at, value in line
        ],
        "lines": lines,
    }
    return [plot]
