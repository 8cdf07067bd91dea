"""A failing case as lines: the bounds it misses, then one line per failing field, worst first; passes only counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome
from pytest_extract.core.results import FieldResult, ScoreRecord, Status
from pytest_extract.core.values import MISSING, json_type
from pytest_extract.report.emptiness import BY_EMPTINESS, EmptyPasses, UncomparedCase
from pytest_extract.report.findings import (
    FAILING,
    Finding,
    failing,
    metric_label,
    split_known,
    stale_known,
    worst_first,
)
from pytest_extract.report.fold import fold
from pytest_extract.report.lines import Line, Span, line, number, plural, prose, safe_prose, shorten, text_of, titled
from pytest_extract.report.nearest import with_nearest
from pytest_extract.report.nested_diff import object_lines
from pytest_extract.report.output import output_lines
from pytest_extract.report.render_errors import render_error
from pytest_extract.report.texts import first_difference, look_alike
from pytest_extract.report.values import WHOLE, difference, show

SEEN: Final = "texts differ from"
"""How a reason begins that says no more than marked characters show."""
_MARKED_LINES: Final = 4
"""Lines of a text with its differences marked that are shown under -vv, beside both whole values."""
_BELOW: Final = 6
"""Indent of what stands below the line of its field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
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
        """Characters of one value: what leaves room for its name on a line of its own."""
        return WHOLE if self.verbosity >= 2 else max(min(self.width - 24, 72), 24)


def case_lines(result: CaseResult, look: DiffOptions, places: Mapping[str, str] | None = None) -> list[Line]:
    """Tell why a case is not green; never raises.

    `places` maps a field's path to where its values occur in the document.
    """
    try:
        return _case_lines(result, look, places or {})
    except Exception as error:  # noqa: BLE001  # one case that cannot be shown must not take the others along
        return prose(render_error("this case", error), "bad", indent=2, width=look.width)


def _case_lines(result: CaseResult, look: DiffOptions, places: Mapping[str, str]) -> list[Line]:
    lines = _headline(result)
    for breach in result.breaches:
        lines += prose(breach.message, "bad", indent=2, width=look.width)
    shown = _attempts_shown(result, look)
    for attempt in shown:
        if len(result.attempts) > 1:
            lines += _attempt_headline(result, attempt, look)
        lines += attempt_lines(attempt, result.known, look, places)
    if result.uncompared:
        lines += prose(str(UncomparedCase.of(result)), "warn", indent=2, width=look.width)
    return lines


def _headline(result: CaseResult) -> list[Line]:
    """Count the repeats, where no missed bound says so."""
    if len(result.attempts) < 2 or any(breach.what == "repeat" for breach in result.breaches):
        return []
    passed = sum(attempt.outcome is Outcome.PASSED for attempt in result.attempts)
    return [line(f"{passed} of {plural(len(result.attempts), 'repeat')} passed, {result.needed} needed")]


def _attempts_shown(result: CaseResult, look: DiffOptions) -> list[Attempt]:
    """Show the first repeat that is not green; with -v every such one."""
    bad = [attempt for attempt in result.attempts if attempt.outcome is not Outcome.PASSED]
    return bad if look.verbosity > 0 else bad[:1]


def _attempt_headline(result: CaseResult, attempt: Attempt, look: DiffOptions) -> list[Line]:
    bad = sum(other.outcome is not Outcome.PASSED for other in result.attempts)
    which = f"repeat {attempt.index + 1} of {len(result.attempts)}"
    lines = [line(Span(f"{which} ({bad} not green):" if bad > 1 else f"{which}:", "head"))]
    for breach in attempt.breaches:
        lines += prose(breach.message, "bad", indent=2, width=look.width)
    return lines


def attempt_lines(attempt: Attempt, known: Sequence[str], look: DiffOptions, places: Mapping[str, str]) -> list[Line]:
    """Tell one attempt: what broke, the output's failure, gates that failed, failing fields, and counts."""
    lines: list[Line] = []
    if attempt.error is not None:
        for text in attempt.error.splitlines():
            lines += prose(text, "warn", indent=2, width=look.width)
    if attempt.score is None:
        return lines
    return lines + score_lines(attempt.score, look, known=known, places=places, output=attempt.output)


def score_lines(
    score: ScoreRecord,
    look: DiffOptions,
    *,
    known: Sequence[str] = (),
    places: Mapping[str, str] | None = None,
    output: object = None,
) -> list[Line]:
    """Show a score: its failure, gates, failing fields, and counts."""
    if score.failure is not None and not score.readable:
        return output_lines(score.failure, output, look.width)
    lines = [part for told in score.wrapped.values() for part in prose(told, "warn", indent=2, width=look.width)]
    lines += [each for gate in score.gates.failed for each in titled(f"{gate.name} gate", gate.why, look.width)]
    counted, excused = split_known(score, known)
    bad = findings_of(counted, folded=look.verbosity < 2)
    lines += _field_lines(bad, look, places or {})
    return [*lines, *prose(counts_text(counted, excused, score, known), "dim", indent=2, width=look.width)]


def findings_of(results: Sequence[FieldResult], *, folded: bool = True) -> list[Finding]:
    """Return the findings of the results that failed, worst first."""
    bad = failing(results)
    if not bad:  # folding takes its time, and most outputs are right
        return []
    return with_nearest(worst_first(fold(results) if folded else map(Finding, bad)))


def _field_lines(bad: Sequence[Finding], look: DiffOptions, places: Mapping[str, str]) -> list[Line]:
    shown = list(bad[: look.most])
    columns = _Columns.of(shown, look)
    lines: list[Line] = []
    for item in shown:
        lines += _finding_lines(item, look, columns)
        if (path := str(item.result.path)) in places:
            lines += prose(places[path], "dim", indent=_BELOW, width=look.width)
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
    def of(cls, findings: Sequence[Finding], look: DiffOptions) -> _Columns:
        # Columns line up what is short; a longer path or label is still shown whole, for it says what is wrong where.
        return cls(
            path=min(max((len(str(item.result.path)) for item in findings), default=0), max(look.width // 3, 20)),
            metric=min(max((len(metric_label(item.result)) for item in findings), default=0), max(look.width // 4, 16)),
            status=max((len(item.result.status) for item in findings), default=0),
        )


def _finding_lines(finding: Finding, look: DiffOptions, columns: _Columns) -> list[Line]:
    """Show one finding in one line; where the window is too narrow, what does not fit goes on below, indented."""
    item = finding.result
    path, label = safe_prose(str(item.path)), safe_prose(metric_label(item))
    over = max(len(path) - columns.path, 0)  # a long path takes its room from the next column
    verdict = line(
        Span(f"{label.ljust(columns.metric - over)}  "),
        Span(item.status.ljust(columns.status), "warn" if item.status is Status.JUDGE_ERROR else "bad"),
    )
    lines = [line(Span(path.ljust(columns.path), "head"), indent=2)]
    for group in ((verdict,), _values(item, look), *((part,) for part in _notes(finding, look))):
        _put(lines, group, look.width)
    return lines


def _put(lines: list[Line], group: Sequence[Line], width: int) -> None:
    """Add what belongs together to the last line, or to a line of its own; where that is too long, one below another.

    Two values that stand one below the other begin in the same column, so that the eye can compare them.
    """
    parts = [(Span("  "), *part) for part in group]
    whole = tuple(span for part in parts for span in part)
    if len(text_of(lines[-1])) + len(text_of(whole)) <= width:
        lines[-1] += whole
        return
    *before, last = lines[-1]
    lines[-1] = (*before, last._replace(text=last.text.rstrip()))
    if _BELOW + len(text_of(whole)) <= width + 2:
        lines.append((Span(" " * _BELOW), *whole[1:]))
    elif len(group) == 1:
        only = group[0]
        one_style = len(only) == 1
        lines += (
            prose(only[0].text, only[0].style, indent=_BELOW, width=width)
            if one_style
            else [line(*only, indent=_BELOW)]
        )
    else:
        wide = max(len(part[0].text) for part in group)
        lines += [(Span(" " * _BELOW), Span(name.text.ljust(wide)), *rest) for name, *rest in group]


def _values(item: FieldResult, look: DiffOptions) -> list[Line]:
    """Name the values that there are; of long texts, show the part where they begin to differ."""
    if item.metric == "order" and item.gold is MISSING and item.extracted is MISSING:
        return []
    gold = item.gold is not MISSING or item.status is Status.OMISSION
    extracted = item.extracted is not MISSING or item.status is not Status.OMISSION
    width = look.value_width if (gold and extracted) or look.verbosity >= 2 else max(look.width - 20, 24)
    texts = isinstance(item.gold, str) and isinstance(item.extracted, str)
    at = first_difference(str(item.gold), str(item.extracted)) if texts else 0
    parts = []
    if gold:
        parts.append(line("gold ", Span(show(item.gold, width, at=at), "good")))
    if extracted:
        parts.append(line("extracted ", Span(show(item.extracted, width, at=at), "bad")))
    return parts


def _notes(finding: Finding, look: DiffOptions) -> list[Line]:
    """Say what differs, the score where it is not all or nothing, the metric's reason, the row it was matched with."""
    item = finding.result
    parts = [line(Span(safe_prose(finding.note), "mark"))] if finding.note else []
    spans = _difference(item, look) if item.status is Status.MISMATCH else ()
    if spans:
        parts.append(spans)
    if isinstance(item.gold, str) and isinstance(item.extracted, str) and item.status is Status.MISMATCH:
        parts += [line(Span(told, "dim")) for told in (look_alike(item.gold, item.extracted),) if told]
    if 0 < item.score < 1:
        parts.append(line(f"score {number(item.score)}"))
    if item.status in {Status.MISMATCH, Status.JUDGE_ERROR} and item.reason and not _plain_to_see(item, spans, look):
        parts.append(line(Span(shorten(safe_prose(item.reason), max(look.width - 8, 40)), "dim")))
    if item.matched and item.matched != item.path:
        verb = "stands at" if item.status is Status.HALLUCINATION else "matched with"
        parts.append(line(Span(f"{verb} {safe_prose(str(item.matched))}", "dim")))
    return parts


def _plain_to_see(item: FieldResult, spans: Sequence[Span], look: DiffOptions) -> bool:
    """Whether the reason says no more than the marks, or than two values that are both shown whole."""
    if item.reason is None or not item.reason.startswith((SEEN, "values differ")):
        return False
    whole = all(isinstance(side, str) and len(side) <= look.value_width - 2 for side in (item.gold, item.extracted))
    return bool(spans) or whole


def _difference(item: FieldResult, look: DiffOptions) -> tuple[Span, ...]:
    """Mark what differs inside texts, lists and objects; of other values only where the metric gives no reason."""
    kinds = {json_type(side) for side in (item.gold, item.extracted) if side is not MISSING}
    if item.metric == "order" or (item.reason and (len(kinds) > 1 or not kinds <= {"string", "array", "object"})):
        return ()
    if isinstance(item.gold, dict | list) and isinstance(item.extracted, dict | list):
        return object_lines(item.gold, item.extracted, look.value_width, limit=None if look.verbosity >= 2 else 3)
    return difference(item.gold, item.extracted, min(look.value_width - 4, _MARKED_LINES * look.width))


def counts_text(
    counted: Sequence[FieldResult], excused: Sequence[FieldResult], score: ScoreRecord, known: Sequence[str] = ()
) -> str:
    """Count what is told by no line of its own: matches, known failures, skipped fields, agreement on absence."""
    tally = Counter(item.status for item in counted)
    told = [plural(tally[Status.MATCH], "value matches", "values match")]
    bad = sum(item.status in FAILING for item in excused)
    if bad:
        told.append(plural(bad, "known failure"))
    stale = stale_known(excused, known)
    if stale:
        told.append(f"known failures that pass now: {', '.join(stale)} (take out of known_failures)")
    if tally[Status.SKIPPED]:
        told.append(f"{tally[Status.SKIPPED]:,} skipped")
    if score.vacuous:
        told.append(f"{score.vacuous:,} absent on both sides")
    passes = EmptyPasses.of(score)
    if passes.empty or not passes.compared:
        told.append(f"{BY_EMPTINESS}: {passes}")
    return ", ".join(told)
