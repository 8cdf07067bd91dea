"""A run as one HTML page: what it shows is data in the page, which the page's own script draws.

The script makes elements and text of the data, never markup. Without scripts, the page is the failures as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from string import Template
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.aggregate import extract_bench_rates
from pytest_extract.core.aggregate.slices import DIMENSIONS, natural_key, rank_correlations, tag_text
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.values import Json
from pytest_extract.regression.compare import Change, FieldChange, VariantComparison
from pytest_extract.regression.gate import GateDecision
from pytest_extract.regression.snapshots import CaseKey, case_key, snapshot
from pytest_extract.regression.suite import RankedVariant, rank_variants
from pytest_extract.report.aggregates import correlation_text, ranking_table, slice_table
from pytest_extract.report.diff import DiffOptions, case_lines
from pytest_extract.report.html.cases import (
    HEAT_COLUMNS,
    ICONS,
    MOST_PATTERNS,
    ORDER,
    VALUE_WIDTH,
    Anchors,
    PageDocuments,
    anchor,
    case_data,
    message,
    mistakes_of,
    outcome_text,
    short_name,
    table_data,
)
from pytest_extract.report.lines import (
    NO_VARIANT,
    Line,
    Table,
    first_of,
    percent,
    plural,
    safe_prose,
    score_number,
    shorten,
    show,
    text_of,
)
from pytest_extract.report.run_report import (
    ANSWER_STYLE,
    CHANGED_KINDS,
    UNCOMPARED_KINDS,
    Headline,
    RunReport,
    basis_texts,
    changes_by_pattern,
    comparison_title,
    effect_text,
    headline,
    next_steps,
    pattern_table,
    rates_text,
    repeat_lines,
    tag_tables,
    uncompared_case_text,
)
from pytest_extract.report.summary import (
    MEASURES,
    RunTotals,
    VariantTotals,
    altered_tables,
    auto_accept_lines,
    break_off_lines,
    failure_lines,
    measure_text,
    remark_lines,
    spending_facts,
    summary_lines,
    variant_table,
    worst_fields_table,
    worst_patterns,
)

Parts: TypeAlias = list[tuple[str, Any]]
"""What a section shows, one below the other: the kind of each part, by which the script draws it, and its content."""
DRAWN: Final = ("drawn", None)
"""The part of a section that the page has already."""

_ICONS: Final = {"good": "✓", "bad": "✗", "warn": "!"}
MOST_VARIANTS: Final = 50
"""Variants in the table and the filter; further ones are counted."""
MOST_WITHOUT_SCRIPTS: Final = 50
"""Cases that can be read without scripts, as text; further ones are counted."""
_MOST_VARIANT_COLUMNS: Final = 6
_MOST_MISTAKES: Final = 50
_MOST_HEAD_REASONS: Final = 20
_MOST_TEXT_LINES: Final = 60
_SENTENCE: Final = 300
_MAIN_REASON: Final = 600
_TITLE: Final = 120
_WIDTH: Final = 100
_LINE_WIDTH: Final = 400
_MOST_TAG_VALUES: Final = 100
_MOST_KINDS: Final = 12


def page(run: RunReport) -> str:
    """Write a run as HTML.

    The page loads nothing and allows no script but its own. Text of documents and models is escaped. Long values, long
    lists, documents and many cases are cut, with a note.
    """
    head = headline(run)
    style, script = _asset("page.css"), _asset("page.js")
    data, bodies, documents = _page_data(run, head)
    told = {
        "policy": _policy(style, script),
        "title": f"{_ICONS[head.tone]} {shorten(f'{head.word}: {head.text}' if head.text else head.word, _TITLE)}",
        "tone": head.tone,
        "icon": _ICONS[head.tone],
        "word": head.word,
        "why": shorten(head.text, _MAIN_REASON),
        "plain": "\n".join(_plain_lines(run)),
        "written": shorten(run.written, _SENTENCE),
    }
    return Template(_asset("page.html")).substitute(
        {name: html.escape(_readable(text)) for name, text in told.items()},
        style=style,
        script=script,
        data=script_data(data),
        bodies=_scripts("body", map(json_in_script, bodies)),
        documents=_scripts("document", map(script_data, documents)),
    )


def _asset(name: str) -> str:
    return (resources.files("pytest_extract.report.html") / name).read_text(encoding="utf-8")


def _scripts(kind: str, texts: Any) -> str:
    return "\n".join(f'<script type="application/json" class="{kind}">{text}</script>' for text in texts)


def script_data(value: Any) -> str:
    """Return JSON that can stand in a `script` element: no `<` can end it, no lone surrogate breaks the file."""
    return json_in_script(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def json_in_script(text: str) -> str:
    """Escape a JSON text for a `script` element."""
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return safe.encode("utf-8", "replace").decode("utf-8")


def _readable(value: Any) -> Any:
    """Return text, and all text inside of lists and mappings, without harmful characters."""
    if isinstance(value, str):
        return value if value.isprintable() else "\n".join(map(safe_prose, value.split("\n")))
    if isinstance(value, dict):
        return {name: _readable(each) for name, each in value.items()}
    return [_readable(each) for each in value] if isinstance(value, list | tuple) else value


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _page_data(run: RunReport, head: Headline) -> tuple[dict[str, Any], list[str], list[dict[str, Json]]]:
    """Return what the page shows, the bodies of the cases as JSON, and the documents."""
    variants = sorted(run.totals.variants)
    patterns = worst_patterns(run.totals.fields)
    worse = broken_fields(run.judged)
    anchors = {case_key(result): anchor(result) for result in run.results}
    documents = PageDocuments(run.find_case, run.pages)
    tags = _filtered_tags(run)
    rows, bodies, case_limits = case_data(run.results, worse, patterns, documents, tags)
    shown_documents, document_limits = documents.data()
    compared = comparison_parts(run.judged, anchors, is_gate=run.gate == "regression")
    if compared and len(variants) > 1 and run.gate != "regression":
        compared = [("fold", {"title": "Differences, pair by pair", "parts": compared})]
    slices = [_table(slice_table(each, view=run.view)) for each in run.slices if each.is_known]
    altered = [_table(table) for table in altered_tables(run.results)]
    sections: list[tuple[str, str, Parts]] = [
        ("overview", "Overview", _overview(run)),
        ("mistakes", "Mistakes in case files", _mistakes(run)),
        ("ranking", "Ranking", _ranking(run)),
        ("compared", "What changed", compared),
        ("fields", "Fields", _fields(run.totals, variants)),
        *((name, "", [DRAWN]) for name in ("cases", "heat")),
        ("slices", "Slices", slices),
        ("lists", "Lists to the end", _pre(break_off_lines(run.results, width=_LINE_WIDTH))),
        ("altered", "Altered documents", altered),
        ("more", "Repeats" if run.totals.repeated else "Notes", _more(run)),
        ("plots", "Pass rate by size", _size_plots(run.results)),
    ]
    told = {
        "head": {
            "text": shorten(head.text, _MAIN_REASON),
            "reasons": first_of([shorten(text, _SENTENCE) for text in head.reasons], _MOST_HEAD_REASONS),
            "steps": [shorten(step, _SENTENCE) for step in next_steps(run)],
            "facts": [(name, shorten(text, _SENTENCE)) for name, text in (*run.facts.items(), *_models(run)) if text],
        },
        "sections": [section for section in sections if section[2]],
        "filters": _filters(run, variants, tags, worse=bool(worse)),
        "outcomes": [[str(each), outcome_text(each), ICONS[each]] for each in ORDER],
        "variants": [short_name(variant) or NO_VARIANT for variant in variants],
        "patterns": [short_name(name) for name, _ in patterns[:HEAT_COLUMNS]],
        "limits": [*case_limits, *document_limits],
    }
    return {**_readable(told), "rows": rows}, bodies, shown_documents


def _models(run: RunReport) -> list[tuple[str, str]]:
    """Return the fact that names the models; none where the variants are runs, which a table names."""
    models = sorted({result.variant.model for result in run.results if result.variant.model and not run.runs})
    return [("model" if len(models) == 1 else "models", ", ".join(models))]


def _table(table: Any, **more: Any) -> tuple[str, Any]:
    return "table", table_data(table, **more)


def _pre(lines: Sequence[Line]) -> Parts:
    return [("pre", [text_of(line) for line in lines])] if lines else []


def _overview(run: RunReport) -> Parts:
    totals = run.totals
    hindered = [*failure_lines(totals, width=_LINE_WIDTH)]
    hindered += auto_accept_lines(totals.auto_accept.decisions, width=_LINE_WIDTH)
    told: Parts = [("list", [text_of(line).strip() for line in hindered])] if hindered else []
    if len(totals.variants) > 1:  # numbers of several variants together are those of none
        return told
    shares = [(str(each), totals.outcomes[each] / totals.cases) for each in ORDER if totals.outcomes[each]]
    parts: Parts = [("shares", shares), ("tiles", _tiles(run))]
    if totals.mistakes:
        kinds = sorted(totals.mistakes.items(), key=lambda item: (-item[1], item[0]))
        left = len(kinds) - _MOST_KINDS
        shown = {
            "kinds": [(kind.replace("_", " "), f"{number:,}") for kind, number in kinds[:_MOST_KINDS]],
            "more": plural(left, "more kind") if left > 0 else "",
        }
        parts.append(("kinds", shown))
    return parts + told


def _tiles(run: RunReport) -> list[tuple[str, str, str]]:
    """Return the numbers on top: (name, value, class)."""
    totals = run.totals
    counts, fields, spent = totals.outcomes, totals.fields.values(), totals.spending + run.reruns
    wrong, total = sum(tally.wrong for tally in fields), sum(tally.total for tally in fields)
    tiles = [(outcome_text(outcome), f"{counts[outcome]:,}", str(outcome)) for outcome in ORDER if counts[outcome]]
    tiles += [(*measure_text(name, value), "") for name, value in totals.means.items()]
    if total:
        tiles.append(("values wrong", f"{wrong:,} of {total:,}", ""))
    for name, value, note in spending_facts(spent, run.reruns):
        tiles.append((f"{name} ({note})" if note else name, value, ""))
    if run.judge.calls:
        tiles.append(("judge", plural(run.judge.calls, "call"), ""))
        tiles.append(("cost of the judge", run.judge.cost_text, ""))
    return tiles


def _mistakes(run: RunReport) -> Parts:
    if not run.mistakes:
        return []
    folder = f"{run.root.absolute()}{os.sep}"
    rows = [message(row.replace(folder, "")) for text in run.mistakes[:_MOST_MISTAKES] for row in text.splitlines()]
    left = len(run.mistakes) - _MOST_MISTAKES
    rows += [f"… and {plural(left, 'more file')}"] if left > 0 else []
    return [("text", "These cases are in no number below: their files could not be read."), ("pre", rows)]


def _fields(totals: RunTotals, variants: Sequence[str]) -> Parts:
    parts: Parts = []
    if bad := worst_patterns(totals.fields):
        table = worst_fields_table(bad, variants[:_MOST_VARIANT_COLUMNS] if len(variants) > 1 else ())
        shares = [tally.wrong / tally.total for _, tally in bad[:MOST_PATTERNS]]
        told = "Worst first: by what they lose in score over all cases. The number of cases filters the list of cases."
        parts = [("text", told), ("fields", table_data(table.first(MOST_PATTERNS, "field"), paths=True, shares=shares))]
    fine = [short_name(name) for name, tally in totals.fields.items() if not tally.wrong]
    if fine:
        title = plural(len(fine), "field has no failure", "fields have no failure")
        parts.append(("fold", {"title": title, "parts": [("list", first_of(fine, MOST_PATTERNS))]}))
    return parts


def _ranking(run: RunReport) -> Parts:
    """Return the variants, the best first, and their quality by their cost; runs over time in their order."""
    totals = run.totals
    if len(totals.variants) < 2:
        return []
    if run.runs:
        table = variant_table(totals.variants).first(MOST_VARIANTS, "run")
        return [_table(replace(table, heads=("run", *table.heads[1:]))), *_run_plot(totals.variants, run.runs)]
    places = rank_variants(snapshot(run.results))
    table = ranking_table(places, totals.variants).first(MOST_VARIANTS, "variant")
    return [_table(table), *_cost_plot(places)]


def _more(run: RunReport) -> Parts:
    """Return what the repeats show, and further notes of the run."""
    repeats = repeat_lines(run.results) if run.totals.repeated else []
    notes = remark_lines(run.totals.remarks, width=_LINE_WIDTH)
    told = [text_of(line).strip() for line in (*notes, *run.lines)]
    return [*_pre(repeats), *([("list", told)] if told else [])]


def _filtered_tags(run: RunReport) -> dict[str, list[str]]:
    """Return the tags that the filter asks for, with their values."""
    tags: dict[str, dict[str, None]] = {}
    for result in run.results:
        for name in result.tags:
            tags.setdefault(name, {}).setdefault(tag_text(result.tags, name))
    return {
        name: sorted(values, key=natural_key) for name, values in tags.items() if 1 < len(values) <= _MOST_TAG_VALUES
    }


def _filters(
    run: RunReport, variants: Sequence[str], tags: Mapping[str, Sequence[str]], *, worse: bool
) -> dict[str, Any]:
    counts = run.totals.outcomes
    mistakes = Counter(mistake for result in run.results for mistake in mistakes_of(result))
    return {
        "outcomes": [
            (str(each), f"{outcome_text(each)} ({counts[each]:,})", ICONS[each]) for each in ORDER if counts[each]
        ],
        "variants": [
            (index, short_name(variant) or NO_VARIANT) for index, variant in enumerate(variants[:MOST_VARIANTS])
        ],
        "tags": [(short_name(name), [*map(short_name, values)]) for name, values in tags.items()],
        "mistakes": [(name, f"{name} ({mistakes[name]:,})") for name in sorted(mistakes)],
        "worse": worse,
    }


def _plain_lines(run: RunReport) -> list[str]:
    """Return the run, and the cases that are not green, as text for readers without scripts."""
    texts = [
        text_of(line) for line in summary_lines(run.results, totals=run.totals, judge=run.judge, reruns=run.reruns)
    ]
    bad = [result for result in run.results if result.outcome is not Outcome.PASSED]
    for result in bad[:MOST_WITHOUT_SCRIPTS]:
        lines = [text_of(line) for line in case_lines(result, DiffOptions(width=_WIDTH))] or [result.why or ""]
        texts += ["", f"{short_name(result.nodeid)}: {outcome_text(result.outcome)}"]
        texts += first_of([shorten(safe_prose(line), _SENTENCE) for line in lines], _MOST_TEXT_LINES, "line")
    left = len(bad) - MOST_WITHOUT_SCRIPTS
    more = f"{plural(left, 'more case')} not green. " if left > 0 else ""
    return [*texts, "", f"{more}Scripts are off: with them, this page shows every case beside its document."]


# --- a comparison with a baseline or between variants: decision, changed fields, uncompared cases

MOST_CHANGED: Final = 100
"""Rows of each table and list; further ones are counted."""
MOST_OPEN: Final = 12
"""Changed fields that are listed without a click."""


def broken_fields(judged: GateDecision | None) -> Mapping[CaseKey, Mapping[str, FieldChange]]:
    """Map each case to its fields that were right before and are wrong now, by path."""
    found: dict[CaseKey, dict[str, FieldChange]] = {}
    for variant in judged.comparison.variants if judged is not None else ():
        for change in variant.fields:
            if change.kind is Change.FELL:
                found.setdefault(CaseKey(change.case, variant.after), {})[change.path] = change
    return found


def comparison_parts(judged: GateDecision | None, anchors: Anchors, *, is_gate: bool) -> list[tuple[str, Any]]:
    """Return what the page shows of a comparison, what got worse first; nothing if nothing was compared.

    `is_gate`: the regression gate judges the run by it.
    """
    if judged is None:
        return []
    title = comparison_title(judged, is_gate=is_gate)
    verdict = {
        "title": message(title[0].upper() + title[1:] if is_gate else title),
        "answer": str(judged.answer),
        "tone": ANSWER_STYLE[judged.answer],
        "reasons": _listed([*judged.reasons, *judged.warnings, *judged.advice]),
        "notes": _listed([*basis_texts(judged), *judged.notes]),
    }
    return [
        ("verdict", verdict),
        *(part for variant in judged.comparison.variants for part in _variant_parts(variant, judged, anchors)),
    ]


def _listed(texts: Iterable[str]) -> list[str]:
    return first_of([*map(message, texts)], MOST_CHANGED)


def _variant_parts(variant: VariantComparison, decision: GateDecision, anchors: Anchors) -> Iterator[tuple[str, Any]]:
    pairs = plural(sum(row.fields for row in variant.compared), "field")
    title = f"{plural(len(variant.compared), 'case')}, {pairs} compared"
    yield "head", f"{short_name(variant.label)}: {title}" if variant.label else title
    effects = [effect_text(effect) for effect in decision.effects if effect.variant == variant.label]
    if effects:
        yield "list", effects
    for tags in tag_tables(variant, decision, MOST_CHANGED):
        yield "table", table_data(tags)
    if (patterns := pattern_table(variant, decision, MOST_CHANGED)) is not None:
        yield "table", table_data(patterns, paths=True)
    for kind in CHANGED_KINDS:
        if (changes := _changes(variant, kind, anchors)) is not None:
            yield "changes", changes
    for kind in UNCOMPARED_KINDS:
        if rows := variant.of_kind(kind):
            cases = _listed(map(uncompared_case_text, rows))
            yield "fold", {"title": f"{plural(len(rows), 'case')} {kind}", "parts": [("list", cases)]}


def _changes(variant: VariantComparison, kind: Change, anchors: Anchors) -> dict[str, Any] | None:
    """Return the changed fields of a kind, those of the pattern that changed most often first, each with its case."""
    changes = [change for _, found in changes_by_pattern(variant, kind) for change in found]
    if not changes:
        return None
    rows = []
    for change in changes[:MOST_CHANGED]:
        case = short_name(change.case.rpartition("::")[2] or change.case)
        sides = change.gold, change.value_before, change.value_after
        values = ["" if change.path.startswith("(") else show(side, VALUE_WIDTH) for side in sides]  # "(root gate)"
        mistake = "" if change.mistake is None else message(change.mistake.text)
        rows.append((change.path, case, *values, "; ".join(filter(None, (mistake, rates_text(change))))))
    left = len(changes) - len(rows)
    notes = [f"and {plural(left, 'more field')}; the cases have them"] if left else []
    heads = ("field", "case", "gold", "before", "now", "mistake")
    return {
        "title": f"{plural(len(changes), 'field')} {kind}",
        "open": kind is Change.FELL and len(changes) <= MOST_OPEN,
        "table": table_data(Table(heads, rows, notes=notes), paths=True),
        "anchors": [anchors.get(CaseKey(change.case, variant.after)) for change in changes[:MOST_CHANGED]],
    }


# --- plots as data: pass rate by size, scores over runs, quality by cost

MOST_POINTS: Final = 400
"""Cases drawn in a plot; of more, every n-th."""
_FEWEST_POINTS: Final = 20
"""Cases from which on a plot says more than a list."""
_SIZES: Final = ("output-size", "breadth", "depth")
COLOURS: Final = 6
"""Variants with a colour of their own; further ones share the last."""


class _Point(NamedTuple):
    """A point of a plot: how far right, a share, what it belongs to, and what it says."""

    x: float
    share: float
    series: str
    text: str


def _plot(title: str, text: str, label: str, points: Sequence[_Point], *, logarithmic: bool = False) -> Parts:
    """Return a plot in which the points of each series are joined; nothing where all are one below the other."""
    if len({point.x for point in points}) < 2:
        return []
    series = [*dict.fromkeys(point.series for point in points)]
    names = series if len(series) <= COLOURS else [*series[: COLOURS - 1], plural(len(series) - COLOURS + 1, "other")]
    drawn = [(x, share, min(series.index(one), COLOURS - 1), told) for x, share, one, told in points]
    about = {"title": title, "text": text, "label": label, "logarithmic": logarithmic}
    return [("plot", {**about, "names": names, "points": drawn})]


def _size_plots(results: Iterable[CaseResult]) -> Parts:
    """Plot the pass rate of each case by the values of its gold, the fields of its schema, and its depth."""
    rates = [(result, rate) for result in results if (rate := extract_bench_rates(result.scores).pass_rate) is not None]
    rates.sort(key=lambda item: item[0].variant.label)  # of many points, some of each variant are drawn
    plots: Parts = []
    for name in _SIZES:
        dimension = DIMENSIONS[name]
        points = []
        for result, rate in rates:
            size = None if dimension.size is None else dimension.size(result)
            if size is not None:
                told = short_name(", ".join(filter(None, (result.case_id, result.variant.label))))
                variant = short_name(result.variant.label) or NO_VARIANT
                points.append(_Point(size, rate, variant, f"{told}: {size:,}, {percent(rate)}"))
        if len(points) >= _FEWEST_POINTS and len({point.share for point in points}) > 1:
            correlations = rank_correlations((point.series, float(point.x), point.share) for point in points)
            told = f"; rank correlation {correlation_text(correlations)}" if correlations else ""
            drawn = points[:: -(-len(points) // MOST_POINTS)]
            text = f"{plural(len(points), 'case')}{told}"
            plots += _plot(f"Pass rate by {name.replace('-', ' ')}", text, dimension.doc, drawn, logarithmic=True)
    return plots


def _cost_plot(places: Sequence[RankedVariant]) -> Parts:
    """Plot the fields that are right by the cost of a call, a point a variant."""
    points = []
    for place in places:
        if place.cost_usd and place.right is not None:
            name = short_name(place.variant) or NO_VARIANT
            told = f"{name}: fields right {percent(place.right)}, ${place.cost_usd:.3g} a call"
            points.append(_Point(round(1e6 * place.cost_usd, 1), place.right, name, told))
    label = "cost of a call, in millionths of a dollar"
    return _plot("Quality by cost", "up and to the left is better", label, points, logarithmic=True)


def _run_plot(variants: Mapping[str, VariantTotals], runs: Sequence[str]) -> Parts:
    """Plot the measures over runs (labels of variants, the first run first)."""
    shown = [label for label in runs if label in variants and variants[label].means]
    points = [
        _Point(at, value, name, f"{short_name(label)}: {name} {score_number(value)}")
        for name in MEASURES
        for at, label in enumerate(shown, start=1)
        if (value := variants[label].means.get(name)) is not None
    ]
    return _plot("Score over runs", f"{plural(len(shown), 'run')}, the first one left.", "", points)
