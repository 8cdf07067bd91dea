"""Outputs whose text was more than their JSON: a fence, prose, reasoning; counted, and named under -v."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from pytest_extract.core.case_result import CaseResult
from pytest_extract.report.lines import Line, Span, line, plural, safe_prose

_MOST: Final = 20


@dataclass(slots=True)
class WrappedTotals:
    """Outputs whose text is more than their JSON: counted by kind, and each with what stands around it."""

    kinds: Counter[str] = field(default_factory=Counter)
    outputs: list[tuple[str, str]] = field(default_factory=list)

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        for attempt in result.attempts:
            if attempt.score is not None and attempt.score.wrapped:
                self.kinds.update(attempt.score.wrapped.keys())
                self.outputs.append((result.nodeid, "; ".join(attempt.score.wrapped.values())))


def wrapped_lines(totals: WrappedTotals, *, verbosity: int = 0) -> list[Line]:
    """Count the outputs whose text is more than their JSON; with -v name their cases."""
    if not totals.outputs:
        return []
    told = ", ".join(f"{count:,} {safe_prose(kind)}" for kind, count in totals.kinds.most_common())
    count = plural(len(totals.outputs), "output")
    lines = [line(Span("not bare JSON", "head"), ": ", Span(f"{count}: {told}", "warn"))]
    if verbosity < 1:
        return lines
    shown = totals.outputs if verbosity >= 2 else totals.outputs[:_MOST]
    lines += [line(safe_prose(f"{nodeid}: {text}"), indent=2) for nodeid, text in shown]
    if len(shown) < len(totals.outputs):
        lines.append(line(f"and {len(totals.outputs) - len(shown):,} more (-vv shows all)", indent=2))
    return lines
