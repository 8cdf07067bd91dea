"""A failing case as lines: the bounds it misses, then one line per failing field, worst first; passes only counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome
from pytest_extract.core.values import MISSING
from pytest_extract.report.entries import FAILING, Entry, entries_of, failing
from pytest_extract.report.lines import Line, Span, line, number, plural, prose, safe_prose, shorten, text_of, titled
from pytest_extract.report.objects import object_lines
from pytest_extract.report.output import output_lines
from pytest_extract.report.rows import fold_rows
from pytest_extract.report.values import WHOLE, difference, show

SEEN: Final = "texts differ from"
"""How a reason begins that says no more than marked characters show."""
_STYLES: Final[Mapping[str, Any]] = {"judge_error": "warn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How much to show: `verbosity` is pytest's, `width` in characters; `brief` is `--tb=short`."""

    verbosity: int = 0
    width: int = 100
    brief: bool = False

    @property
    def most(self) -> int | None:
        """Failing fields shown; None: all."""
        if self.verbosity >= 2:
            return None
        if self.verbosity == 1:
            return 100
        return 8 if self.brief else 25

    @property
    def value_width(self) -> int:
        """Characters of one value."""
        return WHOLE if self.verbosity >= 2 else max(min(self.width // 4, 60), 16)


def case_lines(result: CaseResult, look: Look, places: Mapping[str, str] | None = None) -> list[Line]:
    """Tell why a case is not green. `places` maps a field's path to where its values occur in the document."""
    lines = _headline(result)
    for breach in result.breaches:
        lines += prose(breach.message, "bad", indent=2, width=look.width)
    shown = _attempts_shown(result, look)
    for attempt in shown:
        if len(result.attempts) > 1:
            lines += _attempt_headline(result, attempt, look)
        lines += attempt_lines(attempt, result.known, look, places or {})
    return lines


def _headline(result: CaseResult) -> list[Line]:
    if len(result.attempts) < 2:
        return []
    passed = sum(attempt.outcome is Outcome.PASSED for attempt in result.attempts)
    return [line(f"{passed} of {plural(len(result.attempts), 'repeat')} passed, {result.needed} needed")]


def _attempts_shown(result: CaseResult, look: Look) -> list[Attempt]:
    """Show the first repeat that is not green; with -v every such one."""
    bad = [attempt for attempt in result.attempts if attempt.outcome is not Outcome.PASSED]
    return bad if look.verbosity > 0 else bad[:1]


def _attempt_headline(result: CaseResult, attempt: Attempt, look: Look) -> list[Line]:
    bad = sum(other.outcome is not Outcome.PASSED for other in result.attempts)
    which = f"repeat {attempt.index + 1} of {len(result.attempts)}"
    lines = [line(Span(f"{which} ({bad} not green):" if bad > 1 else f"{which}:", "head"))]
    for breach in attempt.breaches:
        lines += prose(breach.message, "bad", indent=2, width=look.width)
    return lines


def attempt_lines(attempt: Attempt, known: Sequence[str], look: Look, places: Mapping[str, str]) -> list[Line]:
    """Tell one attempt: what broke, the output's failure, gates that failed, failing fields, and counts."""
    lines: list[Line] = []
    if attempt.error is not None:
        for text in attempt.error.splitlines():
            lines += prose(text, "warn", indent=2, width=look.width)
    if attempt.score is None:
        return lines
    return lines + score_lines(attempt.score, look, known=known, places=places, output=attempt.output)


def score_lines(
    score: Mapping[str, Any],
    look: Look,
    *,
    known: Sequence[str] = (),
    places: Mapping[str, str] | None = None,
    output: object = None,
) -> list[Line]:
    """Tell a score in its plain form (`Score.to_dict()`): failure, gates, failing fields, counts."""
    failure = score.get("failure")
    if failure is not None and failure["kind"] != "schema_violation":  # that one still has fields to show
        return output_lines(failure, output, look.width)
    lines = _gate_lines(score.get("gates") or {}, look.width)
    fresh, excused = entries_of(score, known)
    bad = failing(fresh if look.verbosity >= 2 else fold_rows(fresh))
    lines += _field_lines(bad, look, places or {})
    return [*lines, line(Span(counts_text(fresh, excused, score), "dim"), indent=2)]


def _gate_lines(gates: Mapping[str, Any], width: int) -> list[Line]:
    lines: list[Line] = []
    for name, gate in gates.items():
        if not gate["passed"]:
            lines += titled(f"{name} gate", gate["why"], width)
    return lines


def _field_lines(bad: Sequence[Entry], look: Look, places: Mapping[str, str]) -> list[Line]:
    shown = list(bad[: look.most])
    columns = _Columns.of(shown, look)
    lines: list[Line] = []
    for item in shown:
        lines += _entry_lines(item, look, columns)
        if item.path in places:
            lines.append(line(Span(safe_prose(places[item.path]), "dim"), indent=columns.path + 4))
    left = sum(item.stands_for for item in bad[len(shown) :])
    if left:
        hint = "-vv shows all" if look.verbosity > 0 else "-v shows more, -vv all"
        lines.append(line(Span(f"… {plural(left, 'more failing field')} ({hint})", "dim"), indent=2))
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    path: int
    metric: int
    status: int

    @classmethod
    def of(cls, entries: Sequence[Entry], look: Look) -> _Columns:
        # Columns line up what is short; a longer path or label is still shown whole, for it says what is wrong where.
        return cls(
            path=min(max((len(item.path) for item in entries), default=0), max(look.width // 3, 20)),
            metric=min(max((len(item.label) for item in entries), default=0), max(look.width // 5, 16)),
            status=max((len(item.status) for item in entries), default=0),
        )


def _entry_lines(item: Entry, look: Look, columns: _Columns) -> list[Line]:
    """Tell one field in one line; where the window is too narrow, what does not fit goes on below, indented."""
    path, label = safe_prose(item.path), safe_prose(item.label)
    over = max(len(path) - columns.path, 0)  # a long path takes its room from the next column
    verdict = (
        Span(f"{label.ljust(columns.metric - over)}  "),
        Span(item.status.ljust(columns.status), _STYLES.get(item.status, "bad")),
    )
    lines: list[Line] = []
    current: list[Span] = list(line(Span(path.ljust(columns.path), "head"), indent=2))
    for part in (verdict, *_parts(item, look)):
        if len(text_of(current)) + 2 + len(text_of(part)) > look.width and len(current) > 1:
            lines.append(tuple(current))
            current = [Span(" " * 6), *part]
        else:
            current += [Span("  "), *part]
    return [*lines, tuple(current)]


def _parts(item: Entry, look: Look) -> list[tuple[Span, ...]]:
    parts: list[tuple[Span, ...]] = []
    width = look.value_width * (2 if item.status in {"omission", "hallucination"} else 1)
    if item.metric != "order":
        if item.gold is not MISSING or item.status == "omission":
            parts.append((Span("gold "), Span(show(item.gold, width), "good")))
        if item.extracted is not MISSING or item.status != "omission":
            parts.append((Span("extracted "), Span(show(item.extracted, width), "bad")))
    if item.note:
        parts.append((Span(safe_prose(item.note), "mark"),))
    spans = _difference(item, look) if item.status == "mismatch" else ()
    if spans:
        parts.append(spans)
    if 0 < item.score < 1:
        parts.append((Span(f"score {number(item.score)}"),))
    seen = bool(spans) and item.reason is not None and item.reason.startswith(SEEN)
    if item.reason and item.status in {"mismatch", "judge_error"} and not seen:
        parts.append((Span(shorten(safe_prose(item.reason), max(look.width - 8, 40)), "dim"),))
    if item.matched and item.matched != item.path:
        verb = "stands at" if item.status == "hallucination" else "matched with"
        parts.append((Span(f"{verb} {safe_prose(item.matched)}", "dim"),))
    return parts


def _difference(item: Entry, look: Look) -> tuple[Span, ...]:
    """Mark what differs; of numbers and types only where the metric gives no reason of its own."""
    if item.metric == "order" or (item.reason and not isinstance(item.gold, str | dict | list)):
        return ()
    if isinstance(item.gold, dict | list) and isinstance(item.extracted, dict | list):
        return object_lines(item.gold, item.extracted, look.value_width * 2, limit=None if look.verbosity >= 2 else 3)
    return difference(item.gold, item.extracted, min(look.value_width * 2, 4_000))


def counts_text(fresh: Sequence[Entry], excused: Sequence[Entry], score: Mapping[str, Any]) -> str:
    """Count what is told by no line of its own: matches, known failures, skipped fields, agreement on absence."""
    tally = Counter(item.status for item in fresh)
    told = [plural(tally["match"], "value matches", "values match")]
    if excused:
        bad = sum(item.status in FAILING for item in excused)
        told.append(plural(bad, "known failure") if bad else "known failures pass now: take them out of the case")
    if tally["skipped"]:
        told.append(f"{tally['skipped']:,} skipped")
    if score.get("vacuous"):
        told.append(f"{score['vacuous']:,} absent on both sides")
    return ", ".join(told)
