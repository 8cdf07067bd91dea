"""Texts of the page: what is escaped, what is cut, and lines of styled spans as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final, TypeAlias

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.values import Json, text_digest
from pytest_extract.regression.snapshots import CaseKey
from pytest_extract.report.lines import Line, Table, safe_controls, safe_prose, shorten

Anchors: TypeAlias = Mapping[CaseKey, str]
"""The anchor of each case on the page."""

ORDER: Final = (Outcome.FAILED, Outcome.BROKEN, Outcome.NOT_RUN, Outcome.PASSED)
"""Outcomes in the order of the page; its data names them by their index."""
ICONS: Final = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.BROKEN: "!", Outcome.NOT_RUN: "○"}
LONGEST_NAME: Final = 200
MESSAGE: Final = 1_000
VALUE_WIDTH: Final = 400
"""Characters shown of a value."""
_LONGEST_ANCHOR: Final = 48


def anchor(result: CaseResult) -> str:
    """Return the anchor of a case, the same in every run: readable, with a digest because names may be alike."""
    plain = re.sub(r"[^a-z0-9]+", "-", f"{result.case_id} {result.variant.label}"[:1_000].lower()).strip("-")
    digest = text_digest(result.nodeid)[:8]
    return f"{plain[:_LONGEST_ANCHOR].strip('-') or 'case'}-{digest}"


def outcome_text(outcome: Outcome) -> str:
    """Write an outcome."""
    return str(outcome).replace("_", " ")


def short_name(text: str) -> str:
    """Return a name that fits its place, without harmful characters."""
    return safe_prose(shorten(text, LONGEST_NAME))


def message(text: str, longest: int = MESSAGE) -> str:
    """Return a sentence that fits its place, without harmful characters."""
    return safe_prose(shorten(text, longest))


def document_text(text: str) -> str:
    """Return a text of several lines without harmful characters, as long as it was: offsets in it stay."""
    safe = safe_controls(text)
    if len(safe) == len(text):
        return safe
    return "".join(char if len(safe_controls(char)) == 1 else "\N{REPLACEMENT CHARACTER}" for char in text)


def styled(line: Line) -> list[Json]:
    """Return a line as data: a text, or [text, style], for each span."""
    return [span.text if span.style == "plain" else [span.text, span.style] for span in line]


def styled_lines(lines: Iterable[Line]) -> list[Json]:
    """Return lines as data, one list of spans with line breaks."""
    data: list[Json] = []
    for index, each in enumerate(lines):
        data += (["\n"] if index else []) + styled(each)
    return data


def table_data(table: Table, **more: Json) -> dict[str, Any]:
    """Return a table as data, and what else the page needs to draw it."""
    rows = [(short_name(name), *cells) for name, *cells in table.rows]
    return {**asdict(table), "heads": [*map(short_name, table.heads)], "rows": rows, **more}
