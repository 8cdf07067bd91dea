"""The cases of a run as items of a list: the verdict on each, its numbers, its repeats with their failing fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.regression.changes import FieldChange
from pytest_extract.report.emptiness import BY_EMPTINESS, UncomparedCase, mostly_empty
from pytest_extract.report.html.arms import ICONS, word_of
from pytest_extract.report.html.attempts import attempt_part
from pytest_extract.report.html.field import chip
from pytest_extract.report.html.markup import Markup, Part, element, joined
from pytest_extract.report.lines import number, plural, shorten
from pytest_extract.report.pattern_counts import MEASURES, case_means
from pytest_extract.report.render_errors import render_error
from pytest_extract.report.values import show

LONGEST: Final = 200
"""Characters of a name."""
_MOST_REPEATS: Final = 5
_MOST_TEXTS: Final = 20
_MOST_TAGS: Final = 20
_MESSAGE: Final = 1_000
_GIST: Final = 140


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePlace:
    """A case's place on the page: its fragment, the number of its arm, and of the table rows of its failing fields.

    `worse`: its fields that were right in the baseline, by path.
    """

    anchor: str
    arm: int = 0
    rows: Sequence[int] = ()
    worse: Mapping[str, FieldChange] = field(default_factory=dict)


def case_item(result: CaseResult, place: CasePlace, body: Part, *, opened: bool) -> Markup:
    """Write a case; `body` is what unfolds."""
    name = shorten(result.case_id, LONGEST)
    details = element("details", _summary(result, place, name), element("div", body, class_="body"), open=opened)
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


def _summary(result: CaseResult, place: CasePlace, name: str) -> Markup:
    icon = element("span", ICONS[result.outcome], aria_hidden="true")
    arm = chip(shorten(result.arm.label, _GIST)) if result.arm.label else None
    worse = chip(f"{plural(len(place.worse), 'field')} worse", "bad") if place.worse else None
    means = case_means(result, MEASURES[:1])
    told = [f"{measure} {number(round(value, 4))}" for measure, value in means.items()]
    return element(
        "summary",
        element("span", icon, f" {word_of(result.outcome)}", class_="badge"),
        element("h3", name),
        arm,
        worse,
        element("span", shorten(_gist(result), _GIST), class_="gist"),
        element("span", *told, class_="num") if told else None,
    )


def _gist(result: CaseResult) -> str:
    """Say in a few words why a case is not green."""
    if result.outcome is Outcome.PASSED:
        return ""
    if result.breaches:
        more = f" (and {len(result.breaches) - 1} more)" if len(result.breaches) > 1 else ""
        return f"{shorten(result.breaches[0].message, _GIST - len(more))}{more}"
    return result.why or ""


def case_body(result: CaseResult, place: CasePlace) -> Markup:
    """Write what unfolds: where the case is from, what it misses, its repeats that are not green; never raises."""
    try:
        return _body(result, place)
    except Exception as error:  # noqa: BLE001  # one case that cannot be shown must not take the page along
        return element("p", f"{render_error('this case', error)}.", class_="bounds")


def _body(result: CaseResult, place: CasePlace) -> Markup:
    parts: list[Part] = [_facts(result), *_bounds(result)]
    bad = [attempt for attempt in result.attempts if attempt.outcome is not Outcome.PASSED]
    if len(result.attempts) > 1:
        passed = len(result.attempts) - len(bad)
        parts.append(
            element("p", f"{passed} of {plural(len(result.attempts), 'repeat')} passed, {result.needed} needed.")
        )
    parts += [attempt_part(result, attempt, place.worse) for attempt in bad[:_MOST_REPEATS]]
    if len(bad) > _MOST_REPEATS:
        parts.append(element("p", f"{plural(len(bad) - _MOST_REPEATS, 'more repeat')} not green.", class_="dim"))
    if not bad:  # a green case may have failing fields, too
        parts += [attempt_part(result, attempt, place.worse) for attempt in result.attempts[:1]]
    return joined(parts)


def _bounds(result: CaseResult) -> list[Part]:
    if result.breaches:
        told = [element("li", shorten(breach.message, _MESSAGE)) for breach in result.breaches[:_MOST_TEXTS]]
        left = len(result.breaches) - len(told)
        more = element("li", f"… and {plural(left, 'more bound')}") if left > 0 else None
        return [element("ul", *told, more, class_="bounds")]
    errors = {attempt.error for attempt in result.attempts}
    if result.why and result.outcome is not Outcome.PASSED and result.why not in errors:
        return [element("p", shorten(result.why, _MESSAGE), class_="bounds")]
    return []


def _facts(result: CaseResult) -> Markup:
    facts = [("case", result.nodeid)]
    facts += [(name, number(round(value, 4))) for name, value in case_means(result, MEASURES).items()]
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
    facts += [(name, value if isinstance(value, str) else show(value, LONGEST)) for name, value in tags[:_MOST_TAGS]]
    if len(tags) > _MOST_TAGS:
        facts.append(("tags", f"{len(tags) - _MOST_TAGS:,} more"))
    return element("p", *(_fact(name, told) for name, told in facts), class_="facts")


def _fact(name: str, told: str) -> Markup:
    return element("span", f"{shorten(name, LONGEST)}: ", element("bdi", shorten(told, LONGEST)))
