"""A run as one HTML page without scripts or outside resources: summary, then every case with its diff."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.report.diff import Look, case_lines
from pytest_extract.report.lines import Line, Span, line, safe_prose
from pytest_extract.report.summary import summary_lines

_WIDTH: Final = 140
_STYLE: Final = """\
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}
pre{overflow-x:auto;padding:.8rem;border:1px solid #8884;border-radius:.4rem}
summary{cursor:pointer;padding:.2rem 0}
.head{font-weight:600}.dim{opacity:.65}.mark{font-weight:600;text-decoration:underline}
.bad{color:light-dark(#b3261e,#ff8a80)}.good{color:light-dark(#1b6e2f,#7bd88f)}.warn{color:light-dark(#8a5a00,#ffc14d)}
"""
_TONE: Final = {Outcome.PASSED: "good", Outcome.FAILED: "bad", Outcome.BROKEN: "warn", Outcome.NOT_RUN: "warn"}
_ORDER: Final = (Outcome.FAILED, Outcome.BROKEN, Outcome.NOT_RUN, Outcome.PASSED)


def page(results: Sequence[CaseResult], conclusions: Sequence[Line] = ()) -> str:
    """Write a run as HTML; what is not green stands first, and open. All text is escaped."""
    summary = [*summary_lines(results, width=_WIDTH, verbosity=2), *conclusions]
    cases = [_case(result) for outcome in _ORDER for result in results if result.outcome is outcome]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width"><title>Extraction</title>',
            f"<style>{_STYLE}</style>",
            f"<h1>Extraction</h1>{_block(summary)}",
            *cases,
            "</html>\n",
        ]
    )


def _case(result: CaseResult) -> str:
    lines = case_lines(result, Look(verbosity=1, width=_WIDTH))
    if result.why and not result.breaches and result.outcome is not Outcome.PASSED:
        lines = [line(Span(safe_prose(result.why), "warn")), *lines]
    opened = " open" if result.outcome in {Outcome.FAILED, Outcome.BROKEN} else ""
    word = str(result.outcome).replace("_", " ")
    name = html.escape(safe_prose(result.nodeid))
    head = f'<summary><span class="{_TONE[result.outcome]}">{word}</span> {name}</summary>'
    return f"<details{opened}>{head}{_block(lines) if lines else ''}</details>"


def _block(lines: Sequence[Line]) -> str:
    return f"<pre>{chr(10).join(''.join(_span(span) for span in each) for each in lines)}</pre>"


def _span(span: Span) -> str:
    text = html.escape(span.text)
    return text if span.style == "plain" else f'<span class="{span.style}">{text}</span>'
