"""One output of a case: what kept it from being scored, the gates that it failed, its failing fields, and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_extract.core.case_result import Attempt, CaseResult
from pytest_extract.core.results import FieldResult, ScoreRecord
from pytest_extract.core.values import at_or_below
from pytest_extract.regression.changes import FieldChange
from pytest_extract.report.diff import counts_text, findings_of
from pytest_extract.report.findings import Finding, split_known
from pytest_extract.report.html.arms import word_of
from pytest_extract.report.html.field import finding_card
from pytest_extract.report.html.markup import Markup, Part, block, element, joined
from pytest_extract.report.lines import line, plural, shorten
from pytest_extract.report.output import output_lines

MOST_FIELDS: Final = 50
"""Failing fields of an output; further ones are counted."""
_MOST_TEXTS: Final = 20
_MESSAGE: Final = 1_000
_WIDTH: Final = 100


def attempt_part(result: CaseResult, attempt: Attempt, worse: Mapping[str, FieldChange]) -> Markup:
    """Write an output that is not green."""
    parts: list[Part] = []
    if len(result.attempts) > 1:
        title = f"Repeat {attempt.index + 1} of {len(result.attempts)}: {word_of(attempt.outcome)}"
        parts.append(element("h4", title))
        parts += [element("p", shorten(breach.message, _MESSAGE)) for breach in attempt.breaches[:_MOST_TEXTS]]
    if attempt.error is not None:
        parts.append(_error(attempt.error))
    if attempt.score is not None:
        parts.append(_score(attempt.score, result.known, worse, attempt.output))
    parts += [element("p", f"Note: {shorten(note, _MESSAGE)}", class_="note") for note in attempt.notes[:_MOST_TEXTS]]
    return joined(parts)


def _error(text: str) -> Markup:
    lines = text.splitlines()
    told = [line(shorten(each, _MESSAGE)) for each in lines[:_MOST_TEXTS]]
    left = len(lines) - len(told)
    return block([*told, line(f"… {plural(left, 'more line')}")] if left > 0 else told)


def _score(score: ScoreRecord, known: Sequence[str], worse: Mapping[str, FieldChange], output: object) -> Markup:
    if score.failure is not None and not score.readable:
        return block(output_lines(score.failure, output, _WIDTH))
    counted, excused = split_known(score, known)
    parts: list[Part] = [
        element("p", element("strong", f"{gate.name} gate: "), shorten(gate.why, _MESSAGE), class_="gate")
        for gate in score.gates.failed
    ]
    parts.append(_fields(findings_of(counted), worse))
    parts.append(element("p", f"{counts_text(counted, excused, score)}.", class_="dim"))
    parts.append(_known(excused))
    return joined(parts)


def _fields(bad: Sequence[Finding], worse: Mapping[str, FieldChange]) -> Markup | None:
    if not bad:
        return None
    fallen = {id(item): _was_right(item, worse) for item in bad}
    first = sorted(bad, key=lambda item: not fallen[id(item)])  # stable: worst first among both
    cards = [finding_card(item, was_right=fallen[id(item)]) for item in first[:MOST_FIELDS]]
    left = sum(item.stands_for for item in first[MOST_FIELDS:])
    more = f"… {plural(left, 'more failing field')}; the results file has them."
    listed = element("ul", *cards, class_="fields", role="list")
    return joined([listed, element("p", more, class_="dim") if left else None])


def _was_right(finding: Finding, worse: Mapping[str, FieldChange]) -> bool:
    """Whether a field, or one of those that a whole row stands for, was right in the baseline."""
    place = str(finding.result.path)
    return place in worse or (finding.stands_for > 1 and any(at_or_below(path, place) for path in worse))


def _known(excused: Sequence[FieldResult]) -> Markup | None:
    bad = findings_of(excused, folded=False)
    if not bad:
        return None
    name = element("summary", f"{plural(len(bad), 'known failure')}, not in the verdict")
    return element("details", name, _fields(bad, {}), class_="known")
