"""A run as Markdown, for a comment on a change or a CI job's summary: the verdict, what failed most, each bad case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from pytest_extract.core.case_result import Outcome
from pytest_extract.report.diff import DiffOptions, case_lines
from pytest_extract.report.gate import gate_lines, repeat_lines
from pytest_extract.report.lines import Line, Table, line, plural, printed, prose, safe_prose, shorten, text_of
from pytest_extract.report.run_report import RunReport, headline, next_steps
from pytest_extract.report.slices import slice_table
from pytest_extract.report.summary import summary_lines, worst_fields_table, worst_patterns

MARKER: Final = "<!-- pytest-extract -->"
"""First line: a job finds the comment of an earlier run on a change by it, and replaces it."""
LIMIT: Final = 65_536
"""Characters that GitHub takes in one comment, counted as UTF-16 does (its strictest count)."""
MOST_FIELDS: Final = 20
MOST_CASES: Final = 50
_WIDTH: Final = 100
_LONGEST: Final = 200
_MESSAGE: Final = 1_000
_SENTENCE: Final = 300
_MOST_LINES: Final = 3
"""Lines below the headline that are not folded."""
_MOST_REASONS: Final = 20
_MOST_MISTAKES: Final = 10
_SPARE: Final = 1_000
"""Characters reserved for the sentences that count what is left out."""
_MARKUP: Final = re.compile(r"(?<=www)\.|:(?=/)|[^\w ./:,;%()-]|_", re.IGNORECASE)
_ICONS: Final = {"good": "✅", "bad": "❌", "warn": "⚠️"}


def markdown(run: RunReport) -> str:
    """Write a run in at most LIMIT characters; cases that do not fit are counted, the revision and the job come last.

    Text of documents and models is put into fences or code, escaped so that it makes no markup, link or @mention.
    """
    reasons = _reasons(run)
    text = f"{MARKER}\n## {_ICONS[headline(run).tone]} {headline(run).word}\n\n{''.join(reasons[:_MOST_LINES])}"
    folded = _paragraphs_within(_folded_paragraphs(run, reasons[_MOST_LINES:]), LIMIT - _SPARE - _utf16_length(text))
    text += f"\n<details>\n<summary>Fields and numbers</summary>\n{folded}\n</details>\n"
    bad = (result for result in run.results if result.outcome is not Outcome.PASSED)
    shown = 0
    for result in islice(bad, MOST_CASES):
        lines = case_lines(result, DiffOptions(width=_WIDTH))
        lines = lines or prose(result.why or "no reason given", "warn", indent=2, width=_WIDTH)
        name = f"{_code(shorten(result.nodeid, _LONGEST))}: {str(result.outcome).replace('_', ' ')}"
        part = f"\n<details>\n<summary>{name}</summary>\n{_fenced(lines)}\n</details>\n"
        if _utf16_length(text) + _utf16_length(part) > LIMIT - _SPARE:
            break
        text += part
        shown += 1
    left = run.totals.cases - run.totals.outcomes[Outcome.PASSED] - shown
    if left:
        text = f"{text}\n{plural(left, 'more case')} not green; the results file has them.\n"
    origin = _origin(run.facts)
    return f"{text}\n{origin}\n" if origin else text


def _origin(facts: Mapping[str, str]) -> str:
    revision, link = facts.get("revision", "").partition(" ")[0], facts.get("job", "")
    known = f"`{revision}`" if re.fullmatch(r"[0-9a-f]{7,40}", revision) else ""
    job = f"[job]({link})" if re.fullmatch(r"https?://[\w.:/-]{1,300}", link) else ""
    return " · ".join(part for part in (known, job) if part)


def _reasons(run: RunReport) -> list[str]:
    """Return what the run comes to as items of a list, the most important first."""
    head = headline(run)
    texts = [text for text in (head.text, *head.reasons, *next_steps(run)) if text]
    return [f"- {_sentence(shorten(text, _SENTENCE))}\n" for text in texts]


def _folded_paragraphs(run: RunReport, reasons: Sequence[str]) -> Iterator[str]:
    """Yield what a reader unfolds: further reasons, then paragraphs, the most important first."""
    left = len(reasons) - _MOST_REASONS
    yield "".join(["\n", *reasons[:_MOST_REASONS], f"- and {left:,} more\n" if left > 0 else ""]) if reasons else ""
    if run.mistakes:
        rows = [row for text in run.mistakes[:_MOST_MISTAKES] for row in text.splitlines()]
        yield _fenced([line(safe_prose(row)) for row in rows])
    if run.judged is not None:
        yield _fenced(gate_lines(run.judged, width=_WIDTH))
    fields = worst_fields_table(worst_patterns(run.totals.fields)).first(MOST_FIELDS, "field")
    yield _table(fields) if fields.rows else ""
    for slices in run.slices:
        if slices.is_known:
            yield _table(slice_table(slices, view=run.view, most=MOST_FIELDS))
    lines = summary_lines(
        run.results,
        totals=run.totals,
        judge=run.judge,
        reruns=run.reruns,
        expected=len(run.expected),
        width=_WIDTH,
        fields=False,
    )
    yield _fenced([*lines, *(repeat_lines(run.results) if run.totals.repeated else ()), *run.lines])


def _paragraphs_within(parts: Iterator[str], most: int) -> str:
    """Join the paragraphs that fit, each whole or not at all, so that no fence is cut."""
    text = ""
    for part in parts:
        fits = _utf16_length(text) + _utf16_length(part) <= most
        text += part if fits else "\nWhat stands here is too long for a comment; the other reports have it.\n"
    return text


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _table(table: Table) -> str:
    """Write a table; its names are those of documents and models."""
    head, *others = map(_sentence, table.heads)
    rows = ["", f"| {head} | {' | '.join(others)} |", f"|---|{'---:|' * len(others)}"]
    rows += [f"| {_code(shorten(name, _LONGEST))} | {' | '.join(cells)} |" for name, *cells in table.rows]
    return "\n".join([*rows, *(["", *(f"{_sentence(note)}." for note in table.notes)] if table.notes else []), ""])


def _fenced(lines: Sequence[Line]) -> str:
    """Put lines into a fence longer than any run of backticks in them."""
    texts = [shorten(text_of(printed(each)), _MESSAGE) for each in lines]
    longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return "\n".join(["", f"{fence}text", *texts, fence, ""])


def _sentence(text: str) -> str:
    """Write a sentence, as code if a name in it could be read as markup, a link or a mention."""
    return text if _escape_markup(text) == text else _code(text)


def _code(text: str) -> str:
    """Write text as code, with characters that could be markup or make a link as numeric references."""
    return f"<code>{_escape_markup(safe_prose(text))}</code>"


def _escape_markup(text: str) -> str:
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)
