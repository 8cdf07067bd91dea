"""A run as one HTML page: verdict, what to do, changes, fields, heat map, slices, plots, and the cases as data.

The page is made from templates that escape every value. What a case shows is data in the page, which the page's own
script turns into elements and text, never into markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from pytest_extract.core.aggregate.slices import natural_key, tag_text
from pytest_extract.core.case_result import Outcome
from pytest_extract.core.values import Json
from pytest_extract.regression.snapshots import CaseKey, case_key
from pytest_extract.report.auto_accept import auto_accept_lines
from pytest_extract.report.diff import DiffOptions, case_lines
from pytest_extract.report.findings import FAILED
from pytest_extract.report.gate import repeat_lines
from pytest_extract.report.html import plots
from pytest_extract.report.html.cases import HEAT_COLUMNS, CasePlace, case_data, mistakes_of
from pytest_extract.report.html.comparison import broken_fields, comparison_context
from pytest_extract.report.html.documents import PageDocuments
from pytest_extract.report.html.text import ICONS, ORDER, anchor, message, outcome_text, short_name
from pytest_extract.report.lines import first_of, percent, plural, safe_prose, score_number, shorten, text_of
from pytest_extract.report.run_report import Headline, RunReport, headline, next_steps
from pytest_extract.report.slices import NO_ARM, slice_table
from pytest_extract.report.summary import adjustment_lines, arm_table, failure_lines, wrapped_lines
from pytest_extract.report.table import Table
from pytest_extract.report.totals import (
    ArmTotals,
    PatternCounts,
    RunTotals,
    counted_total,
    failed_text,
    worst_patterns,
    wrong_count,
)

if TYPE_CHECKING:
    from jinja2 import Environment

_ICONS: Final = {"good": "✓", "bad": "✗", "warn": "!"}
_COLOURS: Final = {"good": "#1a7f37", "bad": "#c62828", "warn": "#9a6700"}
MOST_PATTERNS: Final = 200
"""Rows of the table of fields; further patterns are counted."""
MOST_ARMS: Final = 50
"""Arms in the table and the filter; further ones are counted."""
MOST_WITHOUT_SCRIPTS: Final = 50
"""Cases that can be read without scripts, as text; further ones are counted."""
_MOST_ARM_COLUMNS: Final = 6
_MOST_MISTAKES: Final = 50
_MOST_REASONS: Final = 20
_MOST_TEXT_LINES: Final = 60
_SENTENCE: Final = 300
_MAIN_REASON: Final = 600
_TITLE: Final = 120
_LINE_WIDTH: Final = 400
_MOST_TAG_VALUES: Final = 100
_MOST_KINDS: Final = 12
_SECTIONS: Final = {
    "mistakes": "Mistakes in case files",
    "compared": "What changed",
    "fields": "Fields",
    "slices": "Slices",
    "plots": "Plots",
    "arms": "Models, prompts and revisions",
    "more": "Repeats",
    "heat": "Heat map",
    "cases": "Cases",
}


def page(run: RunReport) -> str:
    """Write a run as HTML.

    The page loads nothing and allows no script but its own. Text of documents and models is escaped. Long values, long
    lists, documents and many cases are cut, with a note.
    """
    style, script = _asset("page.css"), _asset("page.js")
    context = _context(run)
    context |= {"style": style, "script": script, "policy": _policy(style, script)}
    return _environment().get_template("page.html").render(context)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    def readable(value: Any) -> Any:
        if type(value) is not str or value.isprintable():
            return value
        return "\n".join(map(safe_prose, value.split("\n")))

    environment = Environment(
        loader=PackageLoader("pytest_extract.report.html"),
        autoescape=True,
        finalize=readable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = _breakable
    return environment


def _breakable(path: str) -> Any:
    """Let the path of a field go on in the next line after each step and each word of a step."""
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split(r"(?<=[._])", path))


def _asset(name: str) -> Any:
    from markupsafe import Markup

    return Markup((resources.files("pytest_extract.report.html") / name).read_text(encoding="utf-8"))  # noqa: S704


def script_data(value: Json) -> Any:
    """Return JSON that can stand in a `script` element: no `<` can end it, no lone surrogate breaks the file."""
    return json_in_script(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def json_in_script(text: str) -> Any:
    """Escape a JSON text for a `script` element."""
    from markupsafe import Markup

    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(safe.encode("utf-8", "replace").decode("utf-8"))  # noqa: S704


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _icon(head: Headline) -> str:
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
        f'<circle cx="8" cy="8" r="8" fill="{_COLOURS[head.tone]}"/></svg>'
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"


def _context(run: RunReport) -> dict[str, Any]:
    totals, head = run.totals, headline(run)
    arms, bad = sorted(totals.arms), worst_patterns(totals.fields)
    places, anchors = _places(run, arms, bad)
    documents = PageDocuments(run.find_case, run.pages)
    columns = [name for name, _ in bad]
    data = case_data(run.results, places, columns, documents)
    shown_documents, limits = documents.data()
    sections = {
        "mistakes": _mistakes(run.mistakes),
        "compared": comparison_context(run.judged, anchors, is_gate=run.gate == "regression"),
        "fields": _fields(bad, totals.fields, arms),
        "slices": [slice_table(table, view=run.view) for table in run.slices if table.is_known],
        "plots": _plots(run),
        "arms": _arms(totals.arms),
        "more": _more(run),
        "heat": bool(bad) and len(run.results) > 1,
        "cases": True,
    }
    there = [name for name, section in sections.items() if section]
    titles = {**_SECTIONS, "more": "Repeats" if totals.repeated else "Notes"}
    return {
        **sections,
        "title": f"{_ICONS[head.tone]} {shorten(_sentence(head), _TITLE)}",
        "favicon": _icon(head),
        "head": head,
        "head_icon": _ICONS[head.tone],
        "head_text": message(head.text, _MAIN_REASON),
        "reasons": _some(head.reasons, _MOST_REASONS),
        "steps": [message(step, _SENTENCE) for step in next_steps(run)],
        "facts": [(name, message(value, _SENTENCE)) for name, value in (*run.facts.items(), *_models(run)) if value],
        "nav": [(name, titles[name]) for name in there],
        "titles": titles,
        "tiles": _tiles(run),
        "shares": _shares(totals),
        "kinds": [
            (kind.replace("_", " "), f"{number:,}")
            for kind, number in sorted(totals.mistakes.items(), key=lambda item: (-item[1], item[0]))[:_MOST_KINDS]
        ],
        "more_kinds": plural(left, "more kind") if (left := len(totals.mistakes) - _MOST_KINDS) > 0 else "",
        "unnamed": str(totals.naming_limit) if totals.naming_limit else "",
        "hindered": [
            text_of(line)
            for line in (
                *failure_lines(totals, width=_LINE_WIDTH),
                *auto_accept_lines(totals.auto_accept.decisions, width=_LINE_WIDTH),
            )
        ],
        "filters": _filters(run, arms, places),
        "data": script_data(
            {
                "outcomes": [[str(each), outcome_text(each), ICONS[each]] for each in ORDER],
                "arms": [short_name(arm) or NO_ARM for arm in arms],
                "patterns": [short_name(name) for name in columns[:HEAT_COLUMNS]],
                "rows": data.rows,
            }
        ),
        "bodies": [json_in_script(body) for body in data.bodies],
        "documents": [script_data(each) for each in shown_documents],
        "limits": [*data.limits, *limits],
        "plain": _plain_cases(run),
        "written": message(run.written, _SENTENCE),
    }


def _models(run: RunReport) -> list[tuple[str, str]]:
    """Return the fact that names the models; none where the arms are runs, which a table names."""
    if run.runs:
        return []
    models = sorted({result.arm.model for result in run.results if result.arm.model})
    return [("model" if len(models) == 1 else "models", ", ".join(models))] if models else []


def _sentence(head: Headline) -> str:
    return f"{head.word}: {message(head.text, _SENTENCE)}" if head.text else head.word


def _some(texts: Sequence[str], most: int) -> list[str]:
    return first_of([message(text, _SENTENCE) for text in texts], most)


def _places(
    run: RunReport, arms: Sequence[str], bad: Sequence[tuple[str, PatternCounts]]
) -> tuple[list[CasePlace], dict[CaseKey, str]]:
    """Return the place of each result on the page, and the anchors by the keys of a snapshot."""
    numbers = {arm: index for index, arm in enumerate(arms)}
    worse = broken_fields(run.judged)
    rows: dict[str, list[int]] = {}
    for index, (_name, tally) in enumerate(bad[:MOST_PATTERNS]):
        for nodeid in tally.cases:
            rows.setdefault(nodeid, []).append(index)
    places: list[CasePlace] = []
    anchors: dict[CaseKey, str] = {}
    for result in run.results:
        key = case_key(result)
        anchors[key] = anchor(result)
        places.append(
            CasePlace(arm=numbers[result.arm.label], rows=rows.get(result.nodeid, ()), worse=worse.get(key, {}))
        )
    return places, anchors


def _mistakes(mistakes: Sequence[str]) -> list[str]:
    rows = [message(row) for text in mistakes[:_MOST_MISTAKES] for row in text.splitlines()]
    left = len(mistakes) - _MOST_MISTAKES
    return [*rows, f"… and {plural(left, 'more file')}"] if left > 0 else rows


def _tiles(run: RunReport) -> list[tuple[str, str, str]]:
    """Return the numbers on top: (name, value, class)."""
    totals = run.totals
    counts, fields, spent = totals.outcomes, totals.fields.values(), totals.spending + run.reruns
    wrong, total = sum(tally.wrong for tally in fields), sum(tally.total for tally in fields)
    tiles = [(outcome_text(outcome), f"{counts[outcome]:,}", str(outcome)) for outcome in ORDER if counts[outcome]]
    tiles += [(name, score_number(value), "") for name, value in totals.means.items()]
    if total:
        tiles.append(("values wrong", f"{wrong:,} of {total:,}", ""))
    if spent.calls > spent.unpriced:
        tiles.append(("cost", spent.cost_text, ""))
        if run.reruns.calls:
            tiles.append(("of it before reruns", run.reruns.cost_text, ""))
    if spent.calls > spent.unpriced or spent.uncounted:
        tiles += [(what, plural(count, "call"), "") for count, what in spent.unknown]
    if spent.prompt_tokens or spent.completion_tokens:
        tiles.append(("tokens in, out", f"{spent.prompt_tokens:,}, {spent.completion_tokens:,}", ""))
    if spent.recorded:
        tiles.append(("recorded earlier", plural(spent.recorded, "output"), ""))
    slowest = totals.slowest[0][0] if totals.slowest else 0.0
    if slowest >= 0.1:
        tiles.append(("slowest", f"{slowest:.1f} s", ""))
    if run.judge.calls:
        tiles.append(("judge", plural(run.judge.calls, "call"), ""))
        tiles.append(("cost of the judge", run.judge.cost_text, ""))
    return tiles


def _shares(totals: RunTotals) -> list[tuple[str, str, str]]:
    """Return the outcomes as parts of a bar: (class, start, width)."""
    counts, at = totals.outcomes, 0.0
    parts = []
    for outcome in ORDER:
        share = 100 * counts[outcome] / totals.cases if totals.cases else 0.0
        if share:
            parts.append((str(outcome), f"{at:.2f}%", f"{share:.2f}%"))
        at += share
    return parts


def _fields(
    bad: Sequence[tuple[str, PatternCounts]], found: Mapping[str, PatternCounts], arms: Sequence[str]
) -> dict[str, Any] | None:
    if not found:
        return None
    shown = arms if 1 < len(arms) <= _MOST_ARM_COLUMNS else ()
    fine = [name for name in found if not found[name].wrong]
    left = len(bad) - MOST_PATTERNS
    return {
        "arms": [shorten(safe_prose(arm), 40) or NO_ARM for arm in shown],
        "rows": [_field_row(name, tally, shown) for name, tally in bad[:MOST_PATTERNS]],
        "more": f"{plural(left, 'more field')} failed; the results file has them." if left > 0 else "",
        "fine_title": plural(len(fine), "field has no failure", "fields have no failure") if fine else "",
        "fine": [short_name(name) for name in fine[:MOST_PATTERNS]],
        "fine_more": f" and {plural(len(fine) - MOST_PATTERNS, 'more field')}" if len(fine) > MOST_PATTERNS else "",
    }


def _field_row(name: str, tally: PatternCounts, arms: Sequence[str]) -> dict[str, Any]:
    share = tally.wrong / tally.total
    return {
        "name": short_name(name),
        "wrong": f"{tally.wrong:,} of {tally.total:,}",
        "share": percent(share),
        "width": f"{share * 100:.1f}%",
        "cases": plural(len(tally.cases), "case"),
        "how": failed_text(tally),
        "arms": [_arm_share(tally, arm) for arm in arms],
    }


def _arm_share(tally: PatternCounts, arm: str) -> str:
    statuses: Mapping[str, int] = tally.arms.get(arm, {})
    total = counted_total(statuses)
    return percent(wrong_count(statuses) / total) if total else "-"


def _plots(run: RunReport) -> list[plots.Plot]:
    over_runs = plots.run_plot(run.totals.arms, run.runs)
    return [*([over_runs] if over_runs else []), *plots.size_plots(run.results)]


def _arms(arms: Mapping[str, ArmTotals]) -> Table | None:
    if len(arms) < 2:
        return None
    table, left = arm_table(arms), len(arms) - MOST_ARMS
    rows = [(short_name(label) or NO_ARM, *cells) for label, *cells in table.rows[:MOST_ARMS]]
    notes = [f"{plural(left, 'more arm')} left out"] if left > 0 else []
    return Table(("arm", *table.heads[1:]), rows, "", notes)


def _more(run: RunReport) -> list[str]:
    """Return what the repeats show, and further notes of the run."""
    repeated = run.totals.repeated
    lines = [
        *(repeat_lines(run.results) if repeated else ()),
        *wrapped_lines(run.totals.wrapped),
        *adjustment_lines(run.totals.adjustments, _LINE_WIDTH),
        *run.lines,
    ]
    return [safe_prose(text_of(line)) for line in lines]


def _filters(run: RunReport, arms: Sequence[str], places: Sequence[CasePlace]) -> dict[str, Any]:
    counts = run.totals.outcomes
    tags: dict[str, dict[str, None]] = {}
    mistakes: Counter[str] = Counter()
    for result in run.results:
        for name in result.tags:
            tags.setdefault(name, {}).setdefault(tag_text(result.tags, name))
        mistakes.update(mistakes_of(result))
    split = {name: values for name, values in tags.items() if 1 < len(values) <= _MOST_TAG_VALUES}
    return {
        "outcomes": [
            (str(each), f"{outcome_text(each)} ({counts[each]:,})", ICONS[each]) for each in ORDER if counts[each]
        ],
        "arms": [(index, short_name(arm) or NO_ARM) for index, arm in enumerate(arms[:MOST_ARMS])],
        "tags": [
            (short_name(name), [short_name(value) for value in sorted(values, key=natural_key)])
            for name, values in split.items()
        ],
        "mistakes": [
            (title, [(name, f"{name} ({mistakes[name]:,})") for name in sorted(names)])
            for title, names in (
                ("Kind of mistake", mistakes.keys() - FAILED),
                ("Status of a value", mistakes.keys() & FAILED),
            )
            if names
        ],
        "worse": any(place.worse for place in places),
    }


def _plain_cases(run: RunReport) -> dict[str, Any]:
    """Return the cases that are not green as text, for readers without scripts."""
    shown: list[tuple[str, str]] = []
    for result in run.results:
        if result.outcome is not Outcome.PASSED and len(shown) < MOST_WITHOUT_SCRIPTS:
            lines = [text_of(line) for line in case_lines(result, DiffOptions(width=100))] or [result.why or ""]
            texts = first_of([shorten(safe_prose(line), 300) for line in lines], _MOST_TEXT_LINES, "line")
            shown.append((f"{short_name(result.nodeid)}: {outcome_text(result.outcome)}", "\n".join(texts)))
    left = run.totals.cases - run.totals.outcomes[Outcome.PASSED] - len(shown)
    return {"cases": shown, "left": f"{plural(left, 'more case')} not green." if left > 0 else ""}
