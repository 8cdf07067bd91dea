"""The cases of a run as an HTML list with a filter: what is not green first and open, its size bounded."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome
from pytest_extract.core.results import FieldResult, ScoreRecord
from pytest_extract.core.values import at_or_below
from pytest_extract.regression.changes import FieldChange
from pytest_extract.regression.snapshots import CaseKey
from pytest_extract.report.diff import counts_text, output_lines
from pytest_extract.report.findings import Finding, findings_of, split_known
from pytest_extract.report.html.field_card import chip, finding_card
from pytest_extract.report.html.markup import Markup, Part, element, join, preformatted
from pytest_extract.report.html.overview import ICONS, MOST_ARMS, NO_ARM, ORDER, outcome_text
from pytest_extract.report.lines import line, number_text, plural, render_error, shorten
from pytest_extract.report.totals import BY_EMPTINESS, MEASURES, UncomparedCase, case_means, mostly_empty
from pytest_extract.report.values import show

Anchors: TypeAlias = Mapping[CaseKey, str]
"""The anchor of each case on the page."""

_LONGEST_ANCHOR: Final = 48


def anchor(result: CaseResult) -> str:
    """Return the anchor of a case, the same in every run: readable, with a digest because names may be alike."""
    plain = re.sub(r"[^a-z0-9]+", "-", f"{result.case_id} {result.arm.label}"[:1_000].lower()).strip("-")
    digest = hashlib.sha256(result.nodeid.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[:_LONGEST_ANCHOR].strip('-') or 'case'}-{digest}"


LONGEST_NAME: Final = 200
"""Characters of a name."""
_MOST_REPEATS: Final = 5
_MOST_TEXTS: Final = 20
_MOST_TAGS: Final = 20
_MESSAGE: Final = 1_000
_GIST: Final = 140


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePlace:
    """A case on the page: its anchor, the number of its arm, the rows of its failing fields in the table of fields.

    `worse`: fields that were right in the baseline, by path.
    """

    anchor: str
    arm: int = 0
    rows: Sequence[int] = ()
    worse: Mapping[str, FieldChange] = field(default_factory=dict)


def case_item(result: CaseResult, place: CasePlace, body: Part, *, opened: bool) -> Markup:
    """Write a case as an item of the list; `body` unfolds."""
    name = shorten(result.case_id, LONGEST_NAME)
    details = element("details", _case_summary(result, place, name), element("div", body, class_="body"), open=opened)
    link = element("a", "#", href=f"#{place.anchor}", class_="anchor", aria_label=f"Link to {name}")
    return element(
        "li",
        details,
        link,
        id=place.anchor,
        class_=f"case {result.outcome}",
        data_outcome=str(result.outcome),
        data_arm=place.arm,
        data_rows=" ".join(map(str, place.rows)) or None,
        data_worse=bool(place.worse),
    )


def _case_summary(result: CaseResult, place: CasePlace, name: str) -> Markup:
    icon = element("span", ICONS[result.outcome], aria_hidden="true")
    arm = chip(shorten(result.arm.label, _GIST)) if result.arm.label else None
    worse = chip(f"{plural(len(place.worse), 'field')} worse", "bad") if place.worse else None
    means = case_means(result, MEASURES[:1])
    measures = [f"{measure} {number_text(round(value, 4))}" for measure, value in means.items()]
    return element(
        "summary",
        element("span", icon, f" {outcome_text(result.outcome)}", class_="badge"),
        element("h3", name),
        arm,
        worse,
        element("span", shorten(_gist(result), _GIST), class_="gist"),
        element("span", *measures, class_="num") if measures else None,
    )


def _gist(result: CaseResult) -> str:
    """Return a short reason why a case is not green."""
    if result.outcome is Outcome.PASSED:
        return ""
    if result.breaches:
        more = f" (and {len(result.breaches) - 1} more)" if len(result.breaches) > 1 else ""
        return f"{shorten(result.breaches[0].message, _GIST - len(more))}{more}"
    return result.why or ""


def case_body(result: CaseResult, place: CasePlace) -> Markup:
    """Write what unfolds: facts of the case, missed bounds, repeats that are not green; never raises."""
    try:
        return _case_parts(result, place)
    except Exception as error:  # noqa: BLE001  # one case that cannot be shown must not take the page along
        return element("p", f"{render_error('this case', error)}.", class_="bounds")


def _case_parts(result: CaseResult, place: CasePlace) -> Markup:
    parts: list[Part] = [_case_facts(result), *_missed_bounds(result)]
    bad = [attempt for attempt in result.attempts if attempt.outcome is not Outcome.PASSED]
    if len(result.attempts) > 1:
        passed = len(result.attempts) - len(bad)
        parts.append(
            element("p", f"{passed} of {plural(len(result.attempts), 'repeat')} passed, {result.needed} needed.")
        )
    parts += [attempt_part(result, attempt, place.worse) for attempt in bad[:_MOST_REPEATS]]
    if len(bad) > _MOST_REPEATS:
        parts.append(element("p", f"{plural(len(bad) - _MOST_REPEATS, 'more repeat')} not green.", class_="dim"))
    if not bad:  # a green case may have failing fields
        parts += [attempt_part(result, attempt, place.worse) for attempt in result.attempts[:1]]
    return join(parts)


def _missed_bounds(result: CaseResult) -> list[Part]:
    if result.breaches:
        items = [element("li", shorten(breach.message, _MESSAGE)) for breach in result.breaches[:_MOST_TEXTS]]
        left = len(result.breaches) - len(items)
        more = element("li", f"… and {plural(left, 'more bound')}") if left > 0 else None
        return [element("ul", *items, more, class_="bounds")]
    errors = {attempt.error for attempt in result.attempts}
    if result.why and result.outcome is not Outcome.PASSED and result.why not in errors:
        return [element("p", shorten(result.why, _MESSAGE), class_="bounds")]
    return []


def _case_facts(result: CaseResult) -> Markup:
    facts = [("case", result.nodeid)]
    facts += [(name, number_text(round(value, 4))) for name, value in case_means(result, MEASURES).items()]
    seconds = [attempt.latency_s for attempt in result.attempts if attempt.latency_s]
    costs = [attempt.cost_usd for attempt in result.attempts if attempt.cost_usd is not None and not attempt.recorded]
    if sum(seconds) >= 0.05:
        facts.append(("took", f"{sum(seconds):.1f} s"))
    if costs:
        facts.append(("cost", f"${sum(costs):,.4f}"))
    if result.attempts and all(attempt.recorded for attempt in result.attempts):
        facts.append(("output", "recorded earlier"))
    if result.complexity:
        facts.append(("complexity", result.complexity))
    if (empty := mostly_empty(result)) is not None:
        facts.append((BY_EMPTINESS, str(empty)))
    if result.uncompared:
        facts.append(("compared with nothing", str(UncomparedCase.of(result))))
    tags = list(result.tags.items())
    facts += [
        (name, value if isinstance(value, str) else show(value, LONGEST_NAME)) for name, value in tags[:_MOST_TAGS]
    ]
    if len(tags) > _MOST_TAGS:
        facts.append(("tags", f"{len(tags) - _MOST_TAGS:,} more"))
    spans = (
        element("span", f"{shorten(name, LONGEST_NAME)}: ", element("bdi", shorten(value, LONGEST_NAME)))
        for name, value in facts
    )
    return element("p", *spans, class_="facts")


MOST_FIELDS: Final = 50
"""Failing fields of an output; further ones are counted."""
_TEXT_WIDTH: Final = 100


def attempt_part(result: CaseResult, attempt: Attempt, worse: Mapping[str, FieldChange]) -> Markup:
    """Write one output: its error, its failure, failed gates, failing fields, counts."""
    parts: list[Part] = []
    if len(result.attempts) > 1:
        title = f"Repeat {attempt.index + 1} of {len(result.attempts)}: {outcome_text(attempt.outcome)}"
        parts.append(element("h4", title))
        parts += [element("p", shorten(breach.message, _MESSAGE)) for breach in attempt.breaches[:_MOST_TEXTS]]
    if attempt.error is not None:
        parts.append(_error_block(attempt.error))
    if attempt.score is not None:
        parts.append(_score_part(attempt.score, result.known, worse, attempt.output))
    parts += [element("p", f"Note: {shorten(note, _MESSAGE)}", class_="note") for note in attempt.notes[:_MOST_TEXTS]]
    return join(parts)


def _error_block(text: str) -> Markup:
    lines = text.splitlines()
    shown = [line(shorten(each, _MESSAGE)) for each in lines[:_MOST_TEXTS]]
    left = len(lines) - len(shown)
    return preformatted([*shown, line(f"… {plural(left, 'more line')}")] if left > 0 else shown)


def _score_part(score: ScoreRecord, known: Sequence[str], worse: Mapping[str, FieldChange], output: object) -> Markup:
    if score.failure is not None and not score.readable:
        return preformatted(output_lines(score.failure, output, _TEXT_WIDTH))
    counted, excused = split_known(score, known)
    parts: list[Part] = [
        element("p", element("strong", f"{gate.name} gate: "), shorten(gate.why, _MESSAGE), class_="gate")
        for gate in score.gates.failed
    ]
    parts.append(_finding_cards(findings_of(counted), worse))
    parts.append(element("p", f"{counts_text(counted, excused, score)}.", class_="dim"))
    parts.append(_known_failures_part(excused))
    return join(parts)


def _finding_cards(bad: Sequence[Finding], worse: Mapping[str, FieldChange]) -> Markup | None:
    if not bad:
        return None
    was_right = {id(item): _was_right(item, worse) for item in bad}
    first = sorted(bad, key=lambda item: not was_right[id(item)])  # stable: worst first among both
    cards = [finding_card(item, was_right=was_right[id(item)]) for item in first[:MOST_FIELDS]]
    left = sum(item.stands_for for item in first[MOST_FIELDS:])
    more = f"… {plural(left, 'more failing field')}; the results file has them."
    listed = element("ul", *cards, class_="fields", role="list")
    return join([listed, element("p", more, class_="dim") if left else None])


def _was_right(finding: Finding, worse: Mapping[str, FieldChange]) -> bool:
    """Whether a field, or one of the fields that a finding sums up, was right in the baseline."""
    place = str(finding.result.path)
    return place in worse or (finding.stands_for > 1 and any(at_or_below(path, place) for path in worse))


def _known_failures_part(excused: Sequence[FieldResult]) -> Markup | None:
    bad = findings_of(excused, folded=False)
    if not bad:
        return None
    name = element("summary", f"{plural(len(bad), 'known failure')}, not in the verdict")
    return element("details", name, _finding_cards(bad, {}), class_="known")


MOST_CASES: Final = 20_000
"""Cases on the page; further ones are counted."""
AT_ONCE: Final = 200
"""Cases shown at first. Browsers take seconds, some minutes, to lay out or hide ten thousand at once."""
MOST_CHARACTERS: Final = 8_000_000
"""Characters of the bodies of all cases together; further cases have a note instead of a body."""
MOST_OPEN: Final = 100
"""Cases that are open at first."""
_LEFT_OUT: Final = "The page is full: this case's fields are left out. The results file has them."
_OPEN: Final = frozenset({Outcome.FAILED, Outcome.BROKEN})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseList:
    """The list as HTML, and notes of what was left out."""

    markup: Markup
    limits: tuple[str, ...]


def case_list(results: Sequence[CaseResult], places: Mapping[str, CasePlace], arms: Sequence[str]) -> CaseList:
    """Write the section of the cases; `places` by node id."""
    ordered = _ordered(results, places)
    shown = ordered[:MOST_CASES]
    items, bodies = _list_items((results[row.position] for row in shown), places)
    limits = []
    if len(ordered) > len(shown):
        limits.append(f"{len(shown):,} of {plural(len(ordered), 'case')} are on this page, what is not green first")
    if bodies < len(shown):
        limits.append(
            f"{bodies:,} of {plural(len(shown), 'case')} unfold; there is no room for the fields of the others"
        )
    section = element(
        "section",
        element("h2", "Cases", id="cases-title"),
        _filter_form(shown, arms),
        element("p", *(f"{limit}. " for limit in limits), "The results file has everything.", class_="limit")
        if limits
        else None,
        element("ol", *items[:AT_ONCE], class_="cases", role="list", id="list"),
        *_hidden_chunks(items),
        element("p", "No case matches the filter.", id="none", hidden=True),
        element("button", "", type="button", id="more", hidden=True),
        id="cases",
        tabindex=-1,
        aria_labelledby="cases-title",
    )
    return CaseList(markup=section, limits=tuple(limits))


class _ListRow(NamedTuple):
    """Sort key of a case in the list; `position` is its index in the results."""

    outcome: int
    worse: int
    rate: float
    name: list[str | int]
    position: int


def _ordered(results: Iterable[CaseResult], places: Mapping[str, CasePlace]) -> list[_ListRow]:
    """Sort by outcome, fields worse than in the baseline, pass rate, and name."""
    return sorted(
        _ListRow(
            outcome=ORDER.index(result.outcome),
            worse=-len(places[result.nodeid].worse),
            rate=case_means(result, ["pass_rate"]).get("pass_rate", 0.0),
            name=_natural_key(result.nodeid),
            position=position,
        )
        for position, result in enumerate(results)
    )


def _natural_key(name: str) -> list[str | int]:
    """Split a name into texts and numbers, so that case-2 sorts before case-10."""
    parts = re.split(r"([0-9]{1,18})", name)
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]


def _list_items(shown: Iterable[CaseResult], places: Mapping[str, CasePlace]) -> tuple[list[Markup], int]:
    """Return the items, and how many of them unfold."""
    items: list[Markup] = []
    room, bodies, opened = MOST_CHARACTERS, 0, 0
    for result in shown:
        place = places[result.nodeid]
        body: Part = case_body(result, place) if room > 0 else element("p", _LEFT_OUT)
        bodies += room > 0
        open_ = room > 0 and opened < MOST_OPEN and result.outcome in _OPEN
        opened += open_
        room -= len(body or "")
        items.append(case_item(result, place, body, opened=open_))
    return items, bodies


def _hidden_chunks(items: Sequence[Markup]) -> Iterator[Markup]:
    """Put further cases into folded chunks; the script shows them by the filter instead."""
    for start in range(AT_ONCE, len(items), AT_ONCE):
        chunk = items[start : start + AT_ONCE]
        name = element("summary", f"Cases {start + 1:,} to {start + len(chunk):,}")
        yield element("details", name, element("ol", *chunk, class_="cases", role="list"), class_="chunk")


def _filter_form(rows: Sequence[_ListRow], arms: Sequence[str]) -> Markup:
    """Write the filter, which the script makes visible."""
    counts = Counter(ORDER[row.outcome] for row in rows)
    boxes = [
        _filter_box("outcome", str(one), ICONS[one], outcome_text(one), counts[one]) for one in ORDER if counts[one]
    ]
    worse = sum(row.worse < 0 for row in rows)
    if worse:
        boxes.append(_filter_box("worse", "worse", "↓", "only what got worse", worse, checked=False))
    find = element("input", type="search", id="find", placeholder="name, field, value, reason", autocomplete="off")
    return element(
        "form",
        element("label", element("span", "Find"), find, class_="find"),
        element("fieldset", element("legend", "Outcome"), *boxes),
        _arm_filter(arms) if len(arms) > 1 else None,
        element("button", "", type="button", id="only", hidden=True),
        element("button", "Open all", type="button", id="fold"),
        element("button", "Reset", type="button", id="all"),
        element("output", plural(len(rows), "case"), id="shown", aria_live="polite", for_="find"),
        element("p", "In the list: ↓ or j next case, ↑ or k previous, / to the filter.", class_="keys"),
        id="tools",
        class_="tools",
        role="search",
        aria_label="Filter the cases",
        hidden=True,
    )


def _filter_box(name: str, value: str, icon: str, text: str, count: int, *, checked: bool = True) -> Markup:
    box = element("input", type="checkbox", name=name, value=value, checked=checked)
    return element("label", box, element("span", icon, aria_hidden="true"), f" {text} ({count:,})", class_=value)


def _arm_filter(arms: Sequence[str]) -> Markup:
    options: Iterator[Markup] = (
        element("option", shorten(arm, LONGEST_NAME) or NO_ARM, value=index)
        for index, arm in enumerate(arms[:MOST_ARMS])
    )
    select = element("select", element("option", "all", value=""), join(options), id="arm")
    return element("label", element("span", "Arm"), select)
