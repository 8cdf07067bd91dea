"""A failing case as lines: the bounds that it misses, then one line for each failing field, worst first."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome
from pytest_extract.core.judges import NO_JUDGE, WITHOUT_JUDGE
from pytest_extract.core.metrics.numbers import error_text
from pytest_extract.core.results import WRONG, Citation, Failure, FieldResult, RuleStatus, ScoreRecord, Status
from pytest_extract.core.uncompared import uncompared_text
from pytest_extract.core.values import (
    MISSING,
    FieldPath,
    Json,
    Missing,
    canonical_json,
    json_type,
    pattern_of,
    places_around,
)
from pytest_extract.report.findings import (
    FAILED,
    Finding,
    findings_of,
    metric_label,
    mistake_text,
    passing_known_failures,
    split_known,
)
from pytest_extract.report.lines import (
    ELLIPSIS,
    WHOLE,
    Line,
    Span,
    Style,
    first_difference,
    line,
    listed,
    padded,
    plural,
    prose,
    render_error,
    safe,
    safe_prose,
    score_number,
    shorten,
    show,
    text_of,
    text_width,
    titled,
    wrap_spans,
)
from pytest_extract.report.summary import BY_EMPTINESS, emptiness_text, order_text, uncompared_places
from pytest_extract.run_case import results_without, rule_text

SEEN: Final = "texts differ from"
"""Prefix of reasons that the marked characters make redundant."""
_MARKED_LINES: Final = 4
"""Lines of marked text under -vv, after both whole values."""
_MOST_CITATIONS: Final = 3
_LONGEST_QUOTE: Final = 80
_BELOW: Final = 6
"""Indent of the lines below the line of a field."""
_GAP: Final = Span("  ")
NOTHING: Final = "nothing"
"""Stands for a value that is not there."""
_LEAST_BESIDE: Final = 30
"""Columns that are left of the width if values begin beside the path, the metric and the status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """How much is shown: `verbosity` as in pytest, `width` in columns; `brief`: one line a field (`--tb=short`)."""

    verbosity: int = 0
    width: int = 100
    brief: bool = False

    @property
    def most(self) -> int | None:
        """Number of failing fields shown; None: all."""
        if self.verbosity >= 2:
            return None
        if self.verbosity == 1:
            return 100
        return 8 if self.brief else 25

    @property
    def value_width(self) -> int:
        """Width of one value, so that a value and its label fit into a line."""
        return WHOLE if self.verbosity >= 2 else max(min(self.width - 24, 72), 24)


def case_lines(result: CaseResult, options: DiffOptions, places: Mapping[str, str] | None = None) -> list[Line]:
    """Explain why a case is not green; never raises.

    `places` maps the path of a field to the locations of its values in the document.
    """
    try:
        repeated = len(result.attempts) > 1
        told = any(breach.what == "repeat" for breach in result.breaches)
        lines = [line(repeats_text(result))] if repeated and not told else []
        lines += _breach_lines(result.breaches, options)
        bad = [attempt for attempt in result.attempts if attempt.outcome is not Outcome.PASSED]
        for attempt in bad if options.verbosity > 0 else bad[:1]:
            if repeated:
                more = f" ({len(bad)} not green)" if len(bad) > 1 else ""
                lines.append(line(Span(f"repeat {attempt.index + 1} of {len(result.attempts)}{more}:", "head")))
                lines += _breach_lines(attempt.breaches, options)
            lines += _attempt_lines(attempt, result.known, options, places or {})
        if result.uncompared and not options.brief:
            lines += prose(uncompared_text(*uncompared_places(result)), "warn", indent=2, width=options.width)
    except Exception as error:  # noqa: BLE001  # one case that cannot be shown must not take the others along
        return prose(render_error("this case", error), "bad", indent=2, width=options.width)
    return lines


def _breach_lines(breaches: Sequence[Breach], options: DiffOptions) -> list[Line]:
    return [each for breach in breaches for each in prose(breach.message, "bad", indent=2, width=options.width)]


def repeats_text(result: CaseResult) -> str:
    """Count the repeats that passed: `2 of 3 repeats passed, 3 needed`."""
    passed = sum(attempt.outcome is Outcome.PASSED for attempt in result.attempts)
    return f"{passed} of {plural(len(result.attempts), 'repeat')} passed, {result.needed} needed"


def _attempt_lines(
    attempt: Attempt, known: Sequence[str], options: DiffOptions, places: Mapping[str, str]
) -> list[Line]:
    """Show one attempt: its error, the failure of the output, failed gates, failing fields, counts."""
    lines: list[Line] = []
    if attempt.error is not None:
        for text in attempt.error.splitlines():
            lines += prose(text, "warn", indent=2, width=options.width)
    shown = () if attempt.score is None else attempt.score.wrapped.values()
    for note in attempt.notes:
        if note not in shown:
            lines += prose(note, "warn", indent=2, width=options.width)
    if attempt.score is None:
        return lines
    return lines + score_lines(
        attempt.score,
        options,
        known=known,
        places=places,
        output=attempt.output,
        breaches=attempt.breaches,
        unjudged=not (attempt.error or "").startswith(WITHOUT_JUDGE),
    )


def score_lines(
    score: ScoreRecord,
    options: DiffOptions,
    *,
    known: Sequence[str] = (),
    places: Mapping[str, str] | None = None,
    output: object = None,
    breaches: Sequence[Breach] = (),
    unjudged: bool = True,
) -> list[Line]:
    """Show a score: its failure, failed gates, failing fields, counts.

    `breaches` are the bounds that the score misses: failing fields of their places stand first. `unjudged`: show the
    comparisons for which there is no judge, too.
    """
    if score.failure is not None and not score.readable:
        return output_lines(score.failure, None if options.brief else output, options.width)
    lines = [part for text in score.wrapped.values() for part in prose(text, "warn", indent=2, width=options.width)]
    lines += [each for gate in score.gates.failed for each in titled(f"{gate.name} gate", gate.why, options.width)]
    missed = {breach.what for breach in breaches}
    for rule in score.rules:
        if rule.status is not RuleStatus.HELD and f"rules.{rule.name}" not in missed:
            style: Style = "dim" if rule.status is RuleStatus.NOT_APPLICABLE else "warn"
            lines += prose(rule_text(rule), style, indent=2, width=options.width)
    counted, excused = split_known(score, known)
    bad = findings_of(counted, folded=options.verbosity < 2, mistakes=score.mistakes)
    if not unjudged:
        bad = [finding for finding in bad if finding.result.reason != NO_JUDGE]
    if bad and breaches and score.gates.structural:
        failed = [field for field in results_without(score, known)[0] if not field.passed and field.status in WRONG]
        if any(breach.what == "pass_rate" for breach in breaches):
            lines += _failed_fields(failed, counted, options.width)
        bad = _decisive_first(bad, breaches, failed)
    if options.brief:
        return _brief_lines(bad, score, options)
    lines += _finding_table(bad, options, places or {})
    return [*lines, *prose(counts_text(counted, excused, score, known), "dim", indent=2, width=options.width)]


_ARROW: Final = Span(" → ")
_LEAST_BRIEF: Final = 24
"""Columns that a path leaves to the values."""


def _brief_lines(bad: Sequence[Finding], score: ScoreRecord, options: DiffOptions) -> list[Line]:
    """Show a failing field in one line, `path  gold → extracted  mistake`."""
    lines: list[Line] = []
    for gate in score.gates.failed:
        head, why = f"{gate.name} gate: ", safe_prose(gate.why)
        lines.append(line(Span(head, "head"), Span(shorten(why, options.width - len(head) - 2), "bad"), indent=2))
    shown = bad[: options.most]
    paths = [safe_prose(str(finding.result.path)) for finding in shown]
    column = min(max(map(text_width, paths), default=0), options.width * 3 // 5, options.width - _LEAST_BRIEF)
    room = options.width - len(_GAP.text) - column - len(_GAP.text)
    for finding, path in zip(shown, paths, strict=True):
        lines.append((_GAP, Span(padded(shorten(path, column), column), "head"), _GAP, *_brief_values(finding, room)))
    return lines + _more_fields(bad[len(shown) :], "-vv shows all", options.width)


def _more_fields(left: Sequence[Finding], hint: str, width: int) -> list[Line]:
    count = sum(finding.stands_for for finding in left)
    return prose(f"… {plural(count, 'more failing field')} ({hint})", "dim", indent=2, width=width) if left else []


def _brief_values(finding: Finding, room: int) -> Line:
    """Write what is wrong in at most `room` columns: a note, or both values, and the mistake if half is left."""
    item = finding.result
    said = safe_prose(finding.note or mistake_text(finding))
    if item.status is Status.JUDGE_ERROR:
        return (Span(shorten(safe_prose(f"not decided: {item.reason or ''}"), room), "warn"),)
    if finding.note or (item.gold is MISSING and item.extracted is MISSING):
        return (Span(shorten(said, room), "mark"),)
    left = room - text_width(said) - len(_GAP.text)
    if not said or left < room // 2:
        said, left = "", room
    half = (left - len(_ARROW.text)) // 2
    gold, extracted = (
        NOTHING if value is MISSING else show(value, max(room, _LEAST_BRIEF)) for value in (item.gold, item.extracted)
    )
    sides: Line = (Span(gold, "good"), _ARROW, Span(extracted, "bad"))
    if text_width(text_of(sides)) > left:
        sides = value_difference(item.gold, item.extracted, left) if item.status is Status.MISMATCH else ()
        if not sides or text_width(text_of(sides)) > left:
            sides = (Span(shorten(gold, half), "good"), _ARROW, Span(shorten(extracted, half), "bad"))
    return (*sides, _GAP, Span(said, "mark")) if said else sides


_MOST_FIELDS: Final = 5
"""Failed fields that are named above the failing values."""


def _failed_fields(failed: Sequence[FieldResult], counted: Sequence[FieldResult], width: int) -> list[Line]:
    """Name the fields that failed, with their wrong values, unless each field is one value: an array counts as one."""
    wrong = [result.path for result in counted if result.status in WRONG]
    inside = Counter(path[:size] for path in wrong for size in range(len(path)))
    if not any(inside[field.path] for field in failed):
        return []
    names = [
        f"{field.path} ({plural(inside[field.path], 'wrong value')})" if inside[field.path] else str(field.path)
        for field in failed
    ]
    text = f"{plural(len(failed), 'failed field')}: {listed(names, _MOST_FIELDS)}"
    return prose(text, "plain", indent=2, width=width)


_OF_A_PLACE: Final = frozenset({"fields", "absent", "known_failures"})
"""Kinds of bounds that hold of a place, which they name behind a point."""


def _decisive_first(
    findings: Sequence[Finding], breaches: Sequence[Breach], failed: Sequence[FieldResult]
) -> list[Finding]:
    """Put first what no judge decided, and what stands at the place of a missed bound (`pass_rate`: a failed field)."""
    bounds = [breach.what.partition(".") for breach in breaches]
    places = {place for kind, _, place in bounds if kind in _OF_A_PLACE}
    if any(kind == "pass_rate" for kind, _, _ in bounds):
        places.update(str(field.path) for field in failed)

    def is_decisive(finding: Finding) -> bool:
        names = (name for path in finding.paths for name in (str(path), pattern_of(path)))
        return finding.result.status is Status.JUDGE_ERROR or any(
            not places.isdisjoint(places_around(name)) for name in names
        )

    return sorted(findings, key=is_decisive, reverse=True)


def _finding_table(bad: Sequence[Finding], options: DiffOptions, places: Mapping[str, str]) -> list[Line]:
    """Show failing fields in columns: path, metric, status; where three are too wide, the metric is the last note."""
    shown = bad[: options.most]
    paths = [safe_prose(str(item.result.path)) for item in shown]
    labels = [safe_prose(metric_label(item.result)) for item in shown]
    status = max((len(item.result.status) for item in shown), default=0)
    metric = max(map(text_width, labels), default=0) + len(_GAP.text)
    path = max(map(text_width, paths), default=0)
    room = options.width - 2 * len(_GAP.text) - status
    if path + metric > room:
        path, metric = min(path, room), 0
    lines: list[Line] = []
    for item, name, label in zip(shown, paths, labels, strict=True):
        head = [_GAP, Span(padded(name, path), "head")]
        if text_width(name) > path:  # it is shown whole, on lines of its own
            lines += prose(name, "head", indent=2, width=options.width)
            head = [_GAP, Span(" " * path)]
        notes = _note_parts(item, options)
        if metric:
            head.append(Span(padded(f"{_GAP.text}{label}", metric)))
        else:
            notes.append(line(Span(label, "dim")))
        style: Style = "warn" if item.result.status is Status.JUDGE_ERROR else "bad"
        head += [_GAP, Span(item.result.status.ljust(status), style)]
        lines += _flow(head, [_value_parts(item.result, options), *([part] for part in notes)], options.width)
        if (place := places.get(str(item.result.path))) is not None:
            lines += prose(place, "dim", indent=_BELOW, width=options.width)
    hint = "-vv shows all" if options.verbosity > 0 else "-v shows more, -vv all"
    return lines + _more_fields(bad[len(shown) :], hint, options.width)


def _flow(head: Sequence[Span], groups: Sequence[Sequence[Line]], width: int) -> list[Line]:
    """Write groups of parts beside a head where they fit, and below it, indented, where not.

    Values on lines of their own begin in the same column, so that the eye can compare them.
    """
    lines: list[Line] = []
    now = [*head]
    beside = text_width(text_of(head)) + _LEAST_BESIDE <= width
    for group in filter(None, groups):
        spans = [span for part in group for span in (_GAP, *part)]
        if (beside or lines) and text_width(text_of([*now, *spans])) <= width:
            now += spans
            continue
        lines.append((*now[:-1], now[-1]._replace(text=now[-1].text.rstrip())))
        if _BELOW - len(_GAP.text) + text_width(text_of(spans)) <= width:
            now = [*line(*spans[1:], indent=_BELOW)]
            continue
        *full, last = [each for part in group for each in wrap_spans(part, indent=_BELOW, width=width)]
        if len(group) > 1:
            wide = max(len(part[0].text) for part in group)
            *full, last = [line(Span(name.text.ljust(wide)), *more, indent=_BELOW) for name, *more in group]
        lines += full
        now = [*last]
    return [*lines, tuple(now)]


def citation_text(citation: Citation) -> str:
    """Write a citation: its page, and the beginning of its quote."""
    parts = [] if citation.page is None else [f"page {citation.page}"]
    if citation.quote is not None:
        parts.append(f'"{shorten(" ".join(citation.quote.split()), _LONGEST_QUOTE)}"')
    if citation.quote is None and citation.box is not None:
        parts.append("a box")
    return ", ".join(parts)


def _value_parts(item: FieldResult, options: DiffOptions) -> list[Line]:
    """Show the values that exist; of long texts, the part around the first difference."""
    if item.status is Status.MISMATCH and item.gold is MISSING and item.extracted is MISSING:
        return []  # several results, of which the note tells
    gold = item.gold is not MISSING or item.status is Status.OMISSION
    extracted = item.extracted is not MISSING or item.status is not Status.OMISSION
    width = options.value_width if (gold and extracted) or options.verbosity >= 2 else max(options.width - 20, 24)
    texts = isinstance(item.gold, str) and isinstance(item.extracted, str)
    at = first_difference(str(item.gold), str(item.extracted)) if texts else 0
    parts: list[Line] = []
    if gold:
        parts.append((Span("gold "), Span(show(item.gold, width, at=at), "good")))
    if extracted:
        parts.append((Span("extracted "), Span(show(item.extracted, width, at=at), "bad")))
    return parts


def _note_parts(finding: Finding, options: DiffOptions) -> list[Line]:
    """Return the notes on a finding in the terminal."""
    item = finding.result
    isolated = min(options.value_width - 4, _MARKED_LINES * options.width)
    spans = inner_difference(item, isolated, most=None if options.verbosity >= 2 else 3)
    whole = all(isinstance(side, str) and len(side) <= options.value_width - 2 for side in (item.gold, item.extracted))
    width = max(options.width - 8, 40)
    return finding_notes(finding, spans, seen=bool(spans) or whole, cite=options.verbosity > 0, width=width)


def inner_difference(item: FieldResult, width: int, *, most: int | None) -> Line:
    """Mark what differs inside texts, lists and objects; inside other values only if the metric gives no reason.

    `most`: changes listed inside lists and objects, all if None.
    """
    gold, extracted = item.gold, item.extracted
    if item.status is not Status.MISMATCH or gold is MISSING or extracted is MISSING:
        return ()
    if (
        isinstance(gold, dict | list)
        and isinstance(extracted, dict | list)
        and (not item.reason or json_type(gold) == json_type(extracted))
    ):
        return container_difference(gold, extracted, width, limit=most)
    texts = isinstance(gold, str) and isinstance(extracted, str)
    return value_difference(gold, extracted, width) if texts or not item.reason else ()


def finding_notes(finding: Finding, difference: Line, *, seen: bool, cite: bool, width: int) -> list[Line]:
    """Say what differs, what went wrong, a score between 0 and 1, the reason of the metric, and the matched row.

    `difference`: what differs inside the values. `seen`: whether the reader sees it, so that a reason that says no
    more than the values is left out. `cite`: whether citations are told.
    """
    item = finding.result
    parts = [line(Span(safe_prose(finding.note), "mark"))] if finding.note else []
    said = mistake_text(finding)
    if difference:
        parts.append(difference)
    if isinstance(item.gold, str) and isinstance(item.extracted, str) and item.status is Status.MISMATCH:
        parts += [line(Span(text, "dim")) for text in (look_alike_text(item.gold, item.extracted),) if text]
    if said:
        parts.append(line(Span(shorten(safe_prose(said), width), "mark")))
    if 0 < item.score < 1:
        parts.append(line(f"score {score_number(item.score)}"))
    if (
        item.status in {Status.MISMATCH, Status.JUDGE_ERROR}
        and item.reason
        and not _is_redundant(item.reason, said, seen=seen)
    ):
        parts.append(line(Span(shorten(safe_prose(item.reason), width), "dim")))
    if item.confidence is not None:
        parts.append(line(Span(f"confidence {score_number(item.confidence)}", "dim")))
    if cite:
        cited = [citation_text(each) for each in item.citations[:_MOST_CITATIONS]]
        parts += [line(Span(f"cited {safe_prose(text)}", "dim")) for text in cited]
    if item.matched and item.matched != item.path:
        verb = "stands at" if item.status is Status.HALLUCINATION else "matched with"
        parts.append(line(Span(f"{verb} {safe_prose(str(item.matched))}", "dim")))
    return parts


def _is_redundant(reason: str, said: str, *, seen: bool) -> bool:
    """Whether the marks, the name of the mistake, or two values that are shown whole, say as much as a reason."""
    return reason.startswith((SEEN, "texts differ", "values differ") if said else (SEEN, "values differ")) and (
        seen or bool(said)
    )


def counts_text(
    counted: Sequence[FieldResult], excused: Sequence[FieldResult], score: ScoreRecord, known: Sequence[str] = ()
) -> str:
    """Count the results without a line of their own: matches, known failures, skipped fields, absent values."""
    tally = Counter(item.status for item in counted)
    counts = [plural(tally[Status.MATCH], "value matches", "values match")]
    bad = sum(item.status in FAILED for item in excused)
    if bad:
        counts.append(plural(bad, "known failure"))
    stale = passing_known_failures(excused, known)
    if stale:
        counts.append(f"known failures that pass now: {', '.join(stale)} (take out of known_failures)")
    if tally[Status.SKIPPED]:
        counts.append(f"{tally[Status.SKIPPED]:,} skipped")
    if score.vacuous:
        counts.append(f"{score.vacuous:,} absent on both sides")
    if score.reordered:
        lists = listed([safe_prose(str(path)) for path in score.reordered], _MOST_REORDERED)
        counts.append(f"{order_text(len(score.reordered))} ({lists})")
    if score.rules:
        held = sum(rule.status is RuleStatus.HELD for rule in score.rules)
        counts.append(f"{held:,} of {plural(len(score.rules), 'rule')} {'holds' if held == 1 else 'hold'}")
    if empty := emptiness_text(score):
        counts.append(f"{BY_EMPTINESS}: {empty}")
    return ", ".join(counts)


_MOST_REORDERED: Final = 3


def output_lines(failure: Failure, output: object, width: int) -> list[Line]:
    """Show why an output could not be scored, and the output, of a long one the part around the line and column."""
    place = "" if failure.path is None else f" at {safe_prose(str(failure.path))}"
    if failure.line:
        place = f" at line {failure.line}, column {failure.column}"
    head = titled(f"{failure.kind}{place}", failure.message, width)
    if not isinstance(output, str):
        return head if output is None else [*head, line("output: ", show(output, width - 12), indent=2)]
    if output.strip() in failure.message:  # the message quotes the whole output, or there is none
        return head
    rows = output.split("\n")[: (failure.line or 1) - 1]
    at = sum(len(row) + 1 for row in rows) + (failure.column or 1) - 1
    head.append(line(f"output ({plural(len(output), 'character')}): ", show(output, width - 32, at=at), indent=2))
    return head


# --- how two values differ: marked characters, list items

ALIKE: Final = 0.4
"""In texts less similar than this, no characters are marked."""
LONGEST_COMPARED: Final = 4_000
"""Characters compared from the first difference on; the rest counts as one difference."""
_BY_LETTER: Final = 60
"""Longer texts are compared word by word, shorter ones by character."""
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LAST_WORD: Final = re.compile(r"\w+\Z")
_FIRST_WORD: Final = re.compile(r"\A\w+")
_AROUND: Final = 20
"""Least number of equal characters shown before the first mark and after the last."""
_BETWEEN: Final = 40
_MORE: Final = 26
"""Width of the text that counts the differences not shown."""


class CharacterRun(NamedTuple):
    """A part of both texts, in which they agree (`same`) or differ."""

    gold: str
    extracted: str
    same: bool


class TextDiff(NamedTuple):
    """Two similar texts: their common beginning, the runs that agree or differ, and their common end."""

    before: str
    runs: Sequence[CharacterRun]
    after: str


def diff_texts(gold: str, extracted: str) -> TextDiff | None:
    """Split two texts into equal and different runs; None for equal and for dissimilar texts."""
    if gold == extracted:
        return None
    start, end = _common_ends(gold, extracted)
    if max(len(gold), len(extracted)) - start - end > _BY_LETTER:
        start -= _word_length(_LAST_WORD, gold[max(start - _BETWEEN, 0) : start])
        end -= _word_length(_FIRST_WORD, gold[len(gold) - end :][:_BETWEEN])
    one, other = gold[start : len(gold) - end], extracted[start : len(extracted) - end]
    runs = _join_close_changes(_character_runs(one, other))
    equal = start + end + sum(len(run.gold) for run in runs if run.same)
    if equal < ALIKE * max(len(gold), len(extracted)):
        return None
    return TextDiff(gold[:start], runs, gold[len(gold) - end :])


def _word_length(part: re.Pattern[str], text: str) -> int:
    """Return the length of the word at the end or beginning of a text; words are compared whole."""
    found = part.search(text)
    return len(found[0]) if found else 0


def _common_ends(gold: str, extracted: str) -> tuple[int, int]:
    """Return the length of the common beginning, and of the common end of the rest."""
    from rapidfuzz.distance import Postfix

    start = first_difference(gold, extracted)
    return start, Postfix.similarity(gold[start:], extracted[start:])


def _character_runs(gold: str, extracted: str) -> list[CharacterRun]:
    """Split two texts into runs that agree or differ, with the fewest changed characters or words."""
    from rapidfuzz.distance import Levenshtein

    if not gold or not extracted:
        return [CharacterRun(gold, extracted, same=False)]
    by_letter = max(len(gold), len(extracted)) <= _BY_LETTER
    one, other = (list(text) if by_letter else _WORD.findall(text[:LONGEST_COMPARED]) for text in (gold, extracted))
    runs = [
        CharacterRun(
            "".join(one[step.src_start : step.src_end]),
            "".join(other[step.dest_start : step.dest_end]),
            same=step.tag == "equal",
        )
        for step in Levenshtein.opcodes(one, other)
    ]
    rest = CharacterRun(gold[LONGEST_COMPARED:], extracted[LONGEST_COMPARED:], same=False)
    return [*runs, rest] if rest.gold or rest.extracted else runs


def _join_close_changes(runs: Sequence[CharacterRun]) -> list[CharacterRun]:
    """Join changes that are longer than the text between them: `[2024→1999]`, not `[+1][-2][0→9][2→9][-4]`."""
    done: list[CharacterRun] = []
    for run in runs:
        now = run
        while (
            done
            and not now.same
            and (
                not done[-1].same
                or (len(done) > 1 and len(done[-1].gold) <= min(_run_length(now), _run_length(done[-2])))
            )
        ):
            before = done.pop()
            now = CharacterRun(before.gold + now.gold, before.extracted + now.extracted, same=False)
        done.append(now)
    return done


def _run_length(run: CharacterRun) -> int:
    return max(len(run.gold), len(run.extracted))


def _marked_window(before: str, runs: Sequence[CharacterRun], after: str, width: int) -> list[Span]:
    """Show the marks with some context; count the differences that do not fit."""
    free = width - sum(_run_length(run) + 3 for run in runs)
    around = max(_AROUND, free // 2, free - len(after))
    kept = [Span((ELLIPSIS if len(before) > around else "") + safe(before[-around:]))]
    used = len(kept[0].text)
    for index, run in enumerate(runs):
        left = sum(not each.same for each in runs[index:])
        if not run.same and used >= width - _MORE * (left > 1) and len(kept) > 1:
            return [*kept, Span(f"{ELLIPSIS} and {plural(left, 'more difference')}")]
        room = max(width - used, 16)
        kept.append(Span(shorten(safe(run.gold), min(room, _BETWEEN))) if run.same else _marked_change(run, room))
        used += len(kept[-1].text)
    around = max(width - used, _AROUND // 2)
    kept.append(Span(safe(after[:around]) + (ELLIPSIS if len(after) > around else "")))
    return [span for span in kept if span.text]


def _marked_change(run: CharacterRun, room: int) -> Span:
    if not run.extracted:
        return Span(f"[-{shorten(safe(run.gold), room)}]", "mark")
    if not run.gold:
        return Span(f"[+{shorten(safe(run.extracted), room)}]", "mark")
    return Span(f"[{shorten(safe(run.gold), room // 2)}→{shorten(safe(run.extracted), room // 2)}]", "mark")


def look_alike_text(gold: str, extracted: str) -> str:
    """Name the code points of the first differing characters if they look alike; otherwise return an empty text."""
    start, end = _common_ends(gold, extracted)
    one, other = gold[start : len(gold) - end], extracted[start : len(extracted) - end]
    run = next((run for run in _join_close_changes(_character_runs(one, other)) if not run.same), None)
    if run is None or not _look_alike(run.gold, run.extracted):
        return ""
    return f"gold has {_code_points(run.gold)}, extracted {_code_points(run.extracted)}"


def _look_alike(gold: str, extracted: str) -> bool:
    if not gold or not extracted or max(len(gold), len(extracted)) > 3 or (gold + extracted).isascii():
        return False
    if unicodedata.normalize("NFKC", gold) == unicodedata.normalize("NFKC", extracted):
        return True
    kinds = {unicodedata.category(char)[0] for char in gold + extracted}
    if kinds == {"L"}:
        return len(gold) == len(extracted) and _scripts(gold) != _scripts(extracted)
    return len(kinds) == 1 and kinds <= {"P", "S", "Z"}


def _scripts(text: str) -> list[str]:
    """Name the script of each letter: the first word of its Unicode name, `LATIN` or `CYRILLIC`."""
    return [unicodedata.name(char, "?").partition(" ")[0] for char in text]


def _code_points(text: str) -> str:
    codes = " ".join(f"U+{ord(char):04X}" for char in text)
    return f"{codes} {unicodedata.name(text, '')}".strip() if len(text) == 1 else codes


_BEFORE_DIFFERENCE: Final = 40
"""Characters shown before the first difference of long texts."""


class SideBySide(NamedTuple):
    """Both values as lines; `marked`: the differing characters are marked."""

    gold: Line
    extracted: Line
    marked: bool = False


def side_by_side(gold: Json | Missing, extracted: Json | Missing, width: int) -> SideBySide:
    """Write both values in about `width` characters each, with the differences of similar texts marked."""
    parts = diff_texts(gold, extracted) if isinstance(gold, str) and isinstance(extracted, str) else None
    if parts is None:
        return SideBySide((Span(show(gold, width)),), (Span(show(extracted, width)),))
    before, after = (parts.before, True), (parts.after, True)
    ours = [before, *((run.gold, run.same) for run in parts.runs), after]
    theirs = [before, *((run.extracted, run.same) for run in parts.runs), after]
    long = max(sum(len(text) for text, _ in side) for side in (ours, theirs)) > width
    start = max(len(parts.before) - _BEFORE_DIFFERENCE, 0) if long else 0
    return SideBySide(_marked_line(ours, start, width), _marked_line(theirs, start, width), marked=True)


def _marked_line(pieces: Sequence[tuple[str, bool]], start: int, width: int) -> Line:
    """Write at most `width` characters from `start` on, and the length of the whole text."""
    size = sum(len(text) for text, _ in pieces)
    spans = [Span(ELLIPSIS if start else '"')]
    at = 0
    for text, same in pieces:
        seen = safe(text[max(start - at, 0) : max(start + width - at, 0)])
        spans.append(Span(seen, "plain" if same else "mark"))
        at += len(text)
    whole = start + width >= size
    spans.append(Span('"' if whole else ELLIPSIS))
    if start or not whole:
        spans.append(Span(f" ({size:,} characters)", "dim"))
    return tuple(span for span in spans if span.text)


LARGEST_CONTAINERS: Final = 100_000
"""Containers whose JSON texts together are longer than this are not compared inside: deepdiff takes seconds."""


def container_difference(gold: Json, extracted: Json, width: int, *, limit: int | None) -> Line:
    """List the first `limit` differences as `path gold→extracted`, and count the others."""
    from deepdiff import DeepDiff

    try:
        if len(canonical_json([gold, extracted])) > LARGEST_CONTAINERS:
            return line(Span("too large to be compared inside", "dim"))
        tree: Any = DeepDiff(gold, extracted, view="tree", ignore_numeric_type_changes=False)
        changes = [(kind, change) for kind in sorted(tree) for change in tree[kind]]
    except RecursionError:
        return line(Span("nested too deeply to be compared inside", "dim"))
    texts = []
    for kind, change in changes[:limit]:
        place = safe_prose(str(FieldPath(change.path(output_format="list"))))
        one, other = show(change.t1, width // 2), show(change.t2, width // 2)
        what = f"lost {one}" if kind.endswith("_removed") else f"invented {other}" if kind.endswith("_added") else ""
        texts.append(f"{place} {what or f'{one}→{other}'}")
    left = len(changes) - len(texts)
    return line(Span("; ".join(texts), "mark"), f"; … {plural(left, 'more difference')}" if left else "")


def value_difference(gold: Json | Missing, extracted: Json | Missing, width: int) -> Line:
    """Describe the difference of two values: marked characters, the error of a number, or their types.

    In about `width` characters around the first difference `ACME Gmb[H→h]` was replaced, `[-lost]` is only in gold,
    `[+invented]` only in the extracted text. No spans for dissimilar texts, and if the two values show all of it.
    """
    if gold is MISSING or extracted is MISSING or gold is None or extracted is None:
        return ()
    if isinstance(gold, str) and isinstance(extracted, str):
        parts = diff_texts(gold, extracted)
        return () if parts is None else tuple(_marked_window(parts.before, parts.runs, parts.after, width))
    if _is_number(gold) and _is_number(extracted):
        return line(_number_difference(gold, extracted))
    if json_type(gold) != json_type(extracted):
        return line(f"{json_type(extracted)} where gold has {json_type(gold)}")
    return ()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_difference(gold: float, extracted: float) -> str:
    try:
        off, size = float(extracted - gold), abs(float(gold))
    except OverflowError:  # an integer may have thousands of digits
        return "off by more than a float holds"
    if not math.isfinite(off):
        return ""
    if abs(off) >= 100 * size:
        return f"off by {error_text(off, '+')}"
    relative = off / size
    return f"off by {relative:+.2%}" if abs(relative) >= 0.0001 else f"off by {relative:+.1e} of gold"
