"""A run as Markdown, for a comment on a change: what came out, and each case that is not green with its diff."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.report.diff import Look, case_lines
from pytest_extract.report.lines import Line, prose, safe_prose, text_of
from pytest_extract.report.summary import summary_lines

MOST_CASES: Final = 50
"""Cases told with their diff; a comment has a limit of its own."""
_WIDTH: Final = 100


def markdown(results: Sequence[CaseResult], conclusions: Sequence[Line] = ()) -> str:
    """Write a run; `conclusions` are further lines (what a gate says). Text of documents and models is fenced in."""
    summary = [*summary_lines(results, width=_WIDTH), *conclusions]
    parts = ["## Extraction", "", *_fenced(summary)]
    bad = [result for result in results if result.outcome is not Outcome.PASSED]
    for result in bad[:MOST_CASES]:
        parts += ["", "<details>", f"<summary>{_code(result.nodeid)}: {_word(result.outcome)}</summary>", ""]
        parts += [*_fenced(_told(result)), "", "</details>"]
    if len(bad) > MOST_CASES:
        parts += ["", f"{len(bad) - MOST_CASES} more cases are not green."]
    return "\n".join(parts) + "\n"


def _told(result: CaseResult) -> list[Line]:
    lines = case_lines(result, Look(width=_WIDTH))
    return lines or prose(result.why or "no reason given", "warn", indent=2, width=_WIDTH)


def _word(outcome: Outcome) -> str:
    return str(outcome).replace("_", " ")


def _fenced(lines: Sequence[Line]) -> list[str]:
    """Put lines into a fence that is longer than any run of backticks inside."""
    texts = [text_of(each) for each in lines]
    longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [f"{fence}text", *texts, fence]


def _code(text: str) -> str:
    """Write text inside HTML tags (Markdown is not read there)."""
    return f"<code>{html.escape(safe_prose(text))}</code>"
