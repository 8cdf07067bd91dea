"""A failing case as lines: the bounds that it misses, then one line for each failing field, worst first."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_extract.core.case_result import Breach, CaseResult, Outcome
from pytest_extract.core.judges import NO_JUDGE, WITHOUT_JUDGE
from pytest_extract.core.metrics.numbers import off_by
from pytest_extract.core.results import WRONG, Citation, Failure, FieldResult, RuleStatus, ScoreRecord, Status
from pytest_extract.core.uncompared import uncompared_text
from pytest_extract.core.values import (
    MISSING,
    FieldPath,
    Json,
    Missing,
    canonical_json,
    is_number,
    json_type,
    pattern_of,
    places_around,
)
from pytest_extract.core.words import listed, plural, score_number
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
    padded,
    prose,
    render_error,
    safe,
    safe_prose,
    shorten,
    show,
    text_of,
    text_width,
    titled,
    told,
    wrap_spans,
)
from pytest_extract.report.summary import BY_EMPTINESS, emptiness_text, uncompared_places
from pytest_extract.run_case import results_without, rule_text

_MOST_CITATIONS: Final = 3
_MOST_CHANGES: Final = 3
"""Changes that are told inside a list or an object."""
_LONGEST_QUOTE: Final = 80
_BELOW: Final = 6
"""Indent of the lines below the line of a field."""
_GAP: Final = Span("  ")
_BRIEF: Final = 24
"""Width of a value where a field has one line."""
_WHOLE_LINES: Final = 4
"""Lines of marked text where values are shown whole."""


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
        return _BRIEF if self.brief else WHOLE if self.verbosity >= 2 else max(min(self.width - 24, 72), _BRIEF)


def case_lines(result: CaseResult, options: DiffOptions, places: Mapping[str, str] | None = None) -> list[Line]:
    """Explain why a case is not green; never raises.

    `places` maps the path of a field to the locations of its values in the document.
    """
    try:
        repeated = len(result.attempts) > 1
        counted = any(breach.what == "repeat" for breach in result.breaches)
        lines = [line(repeats_text(result))] if repeated and not counted else []
        lines += _told(options, "bad", *(breach.message for breach in result.breaches))
        bad = [attempt for attempt in result.attempts if attempt.outcome is not Outcome.PASSED]
        for attempt in bad if options.verbosity > 0 else bad[:1]:
            if repeated:
                more = f" ({len(bad)} not green)" if len(bad) > 1 else ""
                lines.append(line(Span(f"repeat {attempt.index + 1} of {len(result.attempts)}{more}:", "head")))
                lines += _told(options, "bad", *(breach.message for breach in attempt.breaches))
            score, error = attempt.score, attempt.error or ""
            notes = [note for note in attempt.notes if score is None or note not in score.wrapped.values()]
            lines += _told(options, "warn", *error.splitlines(), *notes)
            if score is not None:
                lines += score_lines(
                    score,
                    options,
                    known=result.known,
                    places=places,
                    output=attempt.output,
                    breaches=attempt.breaches,
                    unjudged=not error.startswith(WITHOUT_JUDGE),
                )
        if result.uncompared and not options.brief:
            lines += _told(options, "warn", uncompared_text(*uncompared_places(result)))
    except Exception as error:  # noqa: BLE001  # one case that cannot be shown must not take the others along
        return _told(options, "bad", render_error("this case", error))
    return lines


def _told(options: DiffOptions, style: Style, *texts: str) -> list[Line]:
    """Write sentences, each on lines of its own."""
    return [each for text in texts for each in prose(text, style, indent=2, width=options.width)]


def repeats_text(result: CaseResult) -> str:
    """Count the repeats that passed: `2 of 3 repeats passed, 3 needed`."""
    passed = sum(attempt.outcome is Outcome.PASSED for attempt in result.attempts)
    return f"{passed} of {plural(len(result.attempts), 'repeat')} passed, {result.needed} needed"


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
    lines = _told(options, "warn", *score.wrapped.values())
    lines += [each for gate in score.gates.failed for each in titled(f"{gate.name} gate", gate.why, options.width)]
    missed = {breach.what for breach in breaches}
    for rule in score.rules:
        if rule.status is not RuleStatus.HELD and f"rules.{rule.name}" not in missed:
            lines += _told(options, "dim" if rule.status is RuleStatus.NOT_APPLICABLE else "warn", rule_text(rule))
    counted, excused = split_known(score, known)
    bad = findings_of(counted, folded=options.verbosity < 2, mistakes=score.mistakes)
    if not unjudged:
        bad = [finding for finding in bad if finding.result.reason != NO_JUDGE]
    if bad and breaches and score.gates.structural:
        # What no judge decided, and what stands at the place of a missed bound, comes first.
        places_missed = {bound.partition(".")[2] for bound in missed}
        if "pass_rate" in missed:
            failed = [each for each in results_without(score, known)[0] if not each.passed and each.status in WRONG]
            lines += _told(options, "plain", *_failed_fields(failed, counted))
            places_missed.update(str(field.path) for field in failed)

        def is_decisive(finding: Finding) -> bool:
            names = (name for path in finding.paths for name in (str(path), pattern_of(path)))
            is_near = any(not places_missed.isdisjoint(places_around(name)) for name in names)
            return is_near or finding.result.status is Status.JUDGE_ERROR

        bad = sorted(bad, key=is_decisive, reverse=True)
    lines += _finding_lines(bad, options, places or {})
    if options.brief:
        return lines
    return lines + _told(options, "dim", counts_text(counted, excused, score, known))


def _failed_fields(failed: Sequence[FieldResult], counted: Sequence[FieldResult]) -> list[str]:
    """Name the fields that failed, with their wrong values, unless each field is one value: an array counts as one."""
    wrong = [result.path for result in counted if result.status in WRONG]
    inside = Counter(path[:size] for path in wrong for size in range(len(path)))
    counts = [(field.path, inside[field.path]) for field in failed]
    if not any(count for _, count in counts):
        return []
    names = [f"{path} ({plural(count, 'wrong value')})" if count else str(path) for path, count in counts]
    return [f"{plural(len(failed), 'failed field')}: {listed(names)}"]


def _finding_lines(bad: Sequence[Finding], options: DiffOptions, places: Mapping[str, str]) -> Iterator[Line]:
    """Show failing fields: path, metric and status in columns where these fit, then the values and what is wrong."""
    width = options.width
    shown = bad[: options.most]
    items = [finding.result for finding in shown]
    heads = [[safe_prose(str(item.path)), safe_prose(metric_label(item)), item.status.text] for item in items]
    columns = [max(map(text_width, column)) for column in zip(*heads, strict=True)]
    if sum(columns) + len(columns) * len(_GAP.text) > width:
        columns = [0] * len(columns)
    for finding, item, texts in zip(shown, items, heads, strict=True):
        status: Style = "warn" if item.status is Status.JUDGE_ERROR else "bad"
        styles: tuple[Style, ...] = ("head", "plain", status)
        cells = zip(texts, columns, styles, strict=True)
        head = [line(Span(padded(text, column), style)) for text, column, style in cells]
        room, whole = max(width - 8, 40), options.verbosity >= 2
        values = [(f"{side} ", Span(text, style)) for side, text, style in shown_values(item, options.value_width)]
        beside = _spaced(line(*value) for value in values)
        difference = finding_difference(item, _WHOLE_LINES * width if whole else room, whole=whole)
        notes = finding_notes(finding, difference, room, cite=options.verbosity > 0)
        if options.brief:
            first, *more = wrap_spans(_spaced([*head, beside, *notes]), indent=2, width=width - 2)
            yield (*first, Span(f" {ELLIPSIS}", "dim")) if more else first
        elif _BELOW + text_width(text_of(beside)) <= width:
            yield from _flow([*head, beside, *notes], width)
        else:  # values below each other begin in one column, so that the eye can compare them
            wide = max(len(side) for side, _ in values)
            yield from _flow(head, width)
            yield from (line(side.ljust(wide), text, indent=_BELOW) for side, text in values)
            yield from _flow(notes, width, indent=_BELOW)
        if (place := places.get(str(item.path))) is not None:
            yield from prose(place, "dim", indent=_BELOW, width=width)
    left = sum(finding.stands_for for finding in bad[len(shown) :])
    if left:
        hint = "-vv shows all" if options.verbosity > 0 else "-v shows more, -vv all"
        yield from _told(options, "dim", f"… {plural(left, 'more failing field')} ({hint})")


def _spaced(parts: Iterable[Line]) -> Line:
    """Join the parts of a line."""
    return tuple(span for part in parts if part for span in (_GAP, *part))[1:]


def _flow(parts: Iterable[Line], width: int, indent: int = 2) -> list[Line]:
    """Write parts beside each other as far as they fit, the further ones below and indented."""
    lines: list[Line] = []
    now: Line = ()
    for part in filter(None, parts):
        if now and indent + text_width(text_of(_spaced([now, part]))) > width:
            lines += wrap_spans(now, indent=indent, width=width)
            now, indent = (), _BELOW
        now = _spaced([now, part])
    return lines + (wrap_spans(now, indent=indent, width=width) if now else [])


def citation_text(citation: Citation) -> str:
    """Write a citation: its page, and the beginning of its quote."""
    parts = [] if citation.page is None else [f"page {citation.page}"]
    if citation.quote is not None:
        parts.append(f'"{shorten(" ".join(citation.quote.split()), _LONGEST_QUOTE)}"')
    elif citation.box is not None:
        parts.append("a box")
    return ", ".join(parts)


def shown_values(item: FieldResult, width: int) -> list[tuple[str, str, Style]]:
    """Return the values that exist, each with its side and its style; of long texts, the part that differs first."""
    gold, extracted = item.gold, item.extracted
    sides: list[tuple[str, Json | Missing, Style]] = [("gold", gold, "good"), ("extracted", extracted, "bad")]
    at = first_difference(gold, extracted) if isinstance(gold, str) and isinstance(extracted, str) else 0
    return [(side, show(value, width, at=at), style) for side, value, style in sides if value is not MISSING]


def finding_notes(finding: Finding, difference: Line, width: int, *, cite: bool) -> list[Line]:
    """Say what differs, what went wrong, a score between 0 and 1, the reason of the metric, and the matched row.

    `cite`: tell citations.
    """
    item = finding.result
    said_of_row = "stands at" if item.status is Status.HALLUCINATION else "matched with"
    parts: list[tuple[str | None, Style]] = [
        (look_alike_text(item), "dim"),
        (mistake_text(finding), "mark"),
        (f"score {score_number(item.score)}" if 0 < item.score < 1 else "", "plain"),
        (item.reason if item.status in {Status.MISMATCH, Status.JUDGE_ERROR} else "", "dim"),
        ("" if item.confidence is None else f"confidence {score_number(item.confidence)}", "dim"),
        *((f"cited {citation_text(each)}", "dim") for each in item.citations[: _MOST_CITATIONS if cite else 0]),
        (f"{said_of_row} {item.matched}" if item.matched and item.matched != item.path else "", "dim"),
    ]
    notes = [line(Span(shorten(safe_prose(text), width), style)) for text, style in parts if text]
    return [each for each in (told(finding.note, "mark"), difference, *notes) if text_of(each)]


def counts_text(
    counted: Sequence[FieldResult], excused: Sequence[FieldResult], score: ScoreRecord, known: Sequence[str] = ()
) -> str:
    """Count the results without a line of their own: matches, known failures, lists in another order."""
    matches = sum(item.status is Status.MATCH for item in counted)
    bad = sum(item.status in FAILED for item in excused)
    stale = ", ".join(passing_known_failures(excused, known))
    lists, moved = listed([safe_prose(str(path)) for path in score.reordered]), len(score.reordered)
    empty = emptiness_text(score)
    counts = [
        plural(matches, "value matches", "values match"),
        plural(bad, "known failure") if bad else "",
        f"known failures that pass now: {stale} (take out of known_failures)" if stale else "",
        f"{plural(moved, 'list stands', 'lists stand')} in another order, not compared ({lists})" if lists else "",
        f"{BY_EMPTINESS}: {empty}" if empty else "",
    ]
    return ", ".join(filter(None, counts))


def failure_title(failure: Failure) -> str:
    """Name why an output could not be scored, and where in it: `trailing_comma at line 3, column 9`."""
    if failure.line:
        return f"{failure.kind} at line {failure.line}, column {failure.column}"
    return str(failure.kind) if failure.path is None else safe_prose(f"{failure.kind} at {failure.path}")


def offset_of(failure: Failure, output: str) -> int:
    """Return the character of an output at which it could not be read, the first if nobody knows."""
    rows = output.split("\n")[: (failure.line or 1) - 1]
    return min(sum(len(row) + 1 for row in rows) + (failure.column or 1) - 1, len(output))


def output_lines(failure: Failure, output: object, width: int) -> list[Line]:
    """Show why an output could not be scored, and the output, of a long one the part around the line and column."""
    head = titled(failure_title(failure), failure.message, width)
    if not isinstance(output, str):
        return head if output is None else [*head, line("output: ", show(output, width - 12), indent=2)]
    if output.strip() in failure.message:  # the message quotes the whole output, or there is none
        return head
    shown = show(output, width - 32, at=offset_of(failure, output))
    return [*head, line(f"output ({plural(len(output), 'character')}): ", shown, indent=2)]


# --- how two values differ

_ALIKE: Final = 0.4
"""In texts less similar than this, no characters are marked."""
_LONGEST_COMPARED: Final = 4_000
"""Characters compared from the first difference on; the rest counts as one difference."""
_BY_LETTER: Final = 60
"""Longer texts are compared word by word, shorter ones by character."""
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
_AROUND: Final = 20
"""Least number of equal characters shown before the first mark and after the last."""
_BETWEEN: Final = 40
"""Most characters shown between two marks, and of each side of one."""
_LARGEST_CONTAINERS: Final = 100_000
"""Containers whose JSON texts together are longer than this are not compared inside: deepdiff takes seconds."""


def finding_difference(item: FieldResult, width: int, *, whole: bool = False) -> Line:
    """Say how two values differ that do not match: marked characters, changes inside, the error of a number, or types.

    In about `width` characters around the first difference `ACME Gmb[H→h]` was replaced, `[-lost]` is only in gold,
    `[+invented]` only in the extracted text. No spans for dissimilar texts, and if the two values show all of it, or
    the reason of the metric says it. `whole`: list all changes inside.
    """
    gold, extracted = item.gold, item.extracted
    if item.status is not Status.MISMATCH or gold is MISSING or extracted is MISSING or None in (gold, extracted):
        return ()
    if isinstance(gold, str) and isinstance(extracted, str):
        return _marked_text(_text_runs(gold, extracted), width)
    if isinstance(gold, dict | list) and type(gold) is type(extracted):
        return _changes_inside(gold, extracted, width, None if whole else _MOST_CHANGES)
    if item.reason:
        return ()
    if is_number(gold) and is_number(extracted):
        return line(off_by(gold, extracted))
    return line(f"{json_type(extracted)} where gold has {json_type(gold)}") if type(gold) is not type(extracted) else ()


def _text_runs(gold: str, extracted: str) -> list[tuple[str, str]]:
    """Split two texts into runs, each with its gold and its extracted text, which agree in every other run.

    With the fewest changed characters, or words of what differs in longer texts; changes that are no shorter than the
    text between them are one: `[2024→1999]`, not `[+1][-2][0→9][2→9][-4]`.
    """
    from rapidfuzz.distance import Levenshtein, Postfix

    start = first_difference(gold, extracted)
    end = Postfix.similarity(gold[start:], extracted[start:])
    by_letter = max(len(gold), len(extracted)) - start - end <= _BY_LETTER
    if not by_letter:  # words are compared whole
        start = max(gold.rfind(" ", 0, start) + 1, start - _BETWEEN)
        end = max(len(gold) - next_space if (next_space := gold.find(" ", len(gold) - end)) >= 0 else 0, end - _BETWEEN)
    ours, theirs = (
        list(text) if by_letter else [*_WORD.findall(text[:_LONGEST_COMPARED]), text[_LONGEST_COMPARED:]]
        for text in (gold[start : len(gold) - end], extracted[start : len(extracted) - end])
    )
    runs = [(gold[:start], gold[:start])]
    for step in Levenshtein.opcodes(ours, theirs):
        run = "".join(ours[step.src_start : step.src_end]), "".join(theirs[step.dest_start : step.dest_end])
        while _is_change(run) and len(runs) > 1 and (_is_change(runs[-1]) or _is_short(runs[-2], runs[-1], run)):
            before = runs.pop()
            run = before[0] + run[0], before[1] + run[1]
        runs.append(run)
    return [*runs, (gold[len(gold) - end :],) * 2]


def _is_change(run: tuple[str, str]) -> bool:
    return run[0] != run[1]


def _is_short(before: tuple[str, str], between: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a text that agrees stands between two changes, and is no longer than each of them."""
    return _is_change(before) and len(between[0]) <= min(max(map(len, change)) for change in (before, after))


def _marked_text(runs: Sequence[tuple[str, str]], width: int) -> Line:
    """Show the changes with some context; count those that do not fit. Nothing for dissimilar texts."""
    equal = sum(len(run[0]) for run in runs if not _is_change(run))
    if equal < _ALIKE * max(sum(map(len, side)) for side in zip(*runs, strict=True)):
        return ()
    (before, _), *middle, (after, _) = runs
    spans = [_mark(*run) if _is_change(run) else Span(shorten(safe(run[0]), _BETWEEN)) for run in middle]
    if not spans:
        return ()
    around = max(_AROUND, (width - len(text_of(spans))) // 2)
    shown = [Span((ELLIPSIS if len(before) > around else "") + safe(before[-around:]))]
    while spans and (not any(span.style == "mark" for span in shown) or len(text_of([*shown, spans[0]])) <= width):
        shown.append(spans.pop(0))
    if left := sum(span.style == "mark" for span in spans):
        shown.append(Span(f"{ELLIPSIS} and {plural(left, 'more difference')}"))
    else:
        shown.append(Span(safe(after[:around]) + (ELLIPSIS if len(after) > around else "")))
    return tuple(span for span in shown if span.text)


def _mark(gold: str, extracted: str) -> Span:
    one, other = (shorten(safe(side), _BETWEEN) for side in (gold, extracted))
    return Span(f"[{one}→{other}]" if one and other else f"[-{one}]" if one else f"[+{other}]", "mark")


def _changes_inside(gold: Json, extracted: Json, width: int, most: int | None) -> Line:
    """List the first differences as `path gold→extracted`, and count the others."""
    from deepdiff import DeepDiff

    try:
        if len(canonical_json([gold, extracted])) > _LARGEST_CONTAINERS:
            return line(Span("too large to be compared inside", "dim"))
        tree: Any = DeepDiff(gold, extracted, view="tree", ignore_numeric_type_changes=False)
        changes = [(kind, change) for kind in sorted(tree) for change in tree[kind]]
    except RecursionError:
        return line(Span("nested too deeply to be compared inside", "dim"))
    texts = []
    for kind, change in changes[:most]:
        place = safe_prose(str(FieldPath(change.path(output_format="list"))))
        one, other = show(change.t1, width // 2), show(change.t2, width // 2)
        what = f"lost {one}" if kind.endswith("_removed") else f"invented {other}" if kind.endswith("_added") else ""
        texts.append(f"{place} {what or f'{one}→{other}'}")
    left = len(changes) - len(texts)
    return line(Span("; ".join(texts), "mark"), f"; … {plural(left, 'more difference')}" if left else "")


def look_alike_text(item: FieldResult) -> str:
    """Name the code points of the first differing characters if they look alike; otherwise return an empty text.

    Alike are forms of one text, and letters of two scripts, marks or spaces, whose Unicode names begin differently.
    """
    gold, extracted = item.gold, item.extracted
    if item.status is not Status.MISMATCH or not isinstance(gold, str) or not isinstance(extracted, str):
        return ""
    run = next(filter(_is_change, _text_runs(gold, extracted)), ("", ""))
    if not all(run) or max(map(len, run)) > 3 or "".join(run).isascii():
        return ""
    if unicodedata.normalize("NFKC", run[0]) != unicodedata.normalize("NFKC", run[1]):
        kinds = {unicodedata.category(char)[0] for char in "".join(run)}
        first, second = ([unicodedata.name(char, "?").partition(" ")[0] for char in side] for side in run)
        if len(kinds) > 1 or not kinds <= {"L", "P", "S", "Z"} or len(first) != len(second) or first == second:
            return ""
    return f"gold has {_code_points(run[0])}, extracted {_code_points(run[1])}"


def _code_points(text: str) -> str:
    codes = " ".join(f"U+{ord(char):04X}" for char in text)
    return f"{codes} {unicodedata.name(text, '')}".strip() if len(text) == 1 else codes
