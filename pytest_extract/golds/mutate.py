"""Finds the changes of golds, as a model's mistakes make them, that metrics and thresholds would let pass.

One value of each field, and the rows of each list, are changed at a time, and the whole changed gold is scored as an
output. Nothing is extracted, and no judge or model is asked.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.cases.model import Case
from pytest_extract.cases.patterns import declared, is_skipped
from pytest_extract.core.results import Status
from pytest_extract.core.values import Json, canonical_json, iter_leaves, pattern_of
from pytest_extract.golds.changes import replaced
from pytest_extract.golds.lint import LintFinding, case_warning
from pytest_extract.report.values import show
from pytest_extract.run_case import Requirements, breaches_of, with_bounded_measures


def _edited(edit: Callable[[str], str]) -> Callable[[Json], Json]:
    """Change a text, or the digits of a number; what is no text or number any more stays as it is."""

    def change(value: Json) -> Json:
        if isinstance(value, str):
            return edit(value)
        try:
            return type(value)(edit(str(value)))
        except ValueError:
            return value

    return change


def _next_digit(text: str) -> str:
    at = max((at for at, each in enumerate(text) if each.isdecimal()), default=None)
    return text if at is None else f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"


def _swapped_digits(text: str) -> str:
    for at in range(len(text) - 1, 0, -1):
        if text[at - 1 : at + 1].isdecimal() and text[at - 1] != text[at]:
            return f"{text[: at - 1]}{text[at]}{text[at - 1]}{text[at + 1 :]}"
    return text


WIDTH: Final = 50
"""Characters of a value that a warning shows."""
Change = Callable[[Json], Json]
_OF_TEXTS: Final[Mapping[str, Change]] = MappingProxyType(
    {
        "another digit": _edited(_next_digit),
        "two digits swapped": _edited(_swapped_digits),
        "cut in half": lambda text: text[: len(text) // 2],
        "a word lost": lambda text: text.rpartition(" ")[0] or text,
        "another text": lambda _: "something else",
    }
)
_OF_NUMBERS: Final[Mapping[str, Change]] = MappingProxyType(
    {
        "another digit": _edited(_next_digit),
        "two digits swapped": _edited(_swapped_digits),
        "ten times": lambda number: number * 10,
        "another sign": lambda number: -number,
    }
)
_OF_BOOLEANS: Final[Mapping[str, Change]] = MappingProxyType({"the other one": lambda truth: not truth})
_OF_LISTS: Final[Mapping[str, Change]] = MappingProxyType(
    {
        "a row lost": lambda rows: rows[:-1],
        "a row twice": lambda rows: [*rows, rows[-1]],
        "the second half lost": lambda rows: rows[: (len(rows) + 1) // 2],
    }
)


def _changes_of(value: Json) -> Mapping[str, Change]:
    if isinstance(value, bool):
        return _OF_BOOLEANS
    if isinstance(value, int | float):
        return _OF_NUMBERS
    return _OF_TEXTS if isinstance(value, str) else _OF_LISTS


class PassedChange(NamedTuple):
    """A changed gold that passes its case: the change, both values, the case, and whether the metric accepts it.

    `accepted` is False where the comparison fails, and the thresholds tolerate that.
    """

    change: str
    gold: Json
    changed: Json
    case: Case
    accepted: bool


@dataclass(slots=True)
class FieldChanges:
    """The changes of one field over all golds: how many were tried and decided, and those that pass."""

    tried: int = 0
    undecided: int = 0
    passed: list[PassedChange] = field(default_factory=list)


def _nothing(_value: Json) -> None:
    """Lose the value."""


def mutate_golds(cases: Iterable[Case]) -> dict[str, FieldChanges]:
    """Return, by field, which changes of golds pass. The same golds give the same changes.

    Of each field of a case its first value is changed, and of each list of rows its rows.
    """
    fields: dict[str, FieldChanges] = defaultdict(FieldChanges)
    for case in cases:
        bounds = Requirements.of(case, dt.date.today())  # noqa: DTZ011 - a known failure ends with the user's day
        for pattern, path, value in _first_values(case):
            for name, change in ({**_changes_of(value), "nothing": _nothing}).items():
                changed = change(value)
                if canonical_json(changed) == canonical_json(value):
                    continue
                score = case.scorer.score(case.gold, replaced(case.gold, path, changed), case.score_options)
                if any(result.status is Status.JUDGE_ERROR for result in score.leaves):
                    fields[pattern].undecided += 1
                    continue
                fields[pattern].tried += 1
                score = with_bounded_measures(score, case.gold, case.thresholds)
                if not breaches_of(bounds, score, cost_usd=0.0, latency_s=0.0):
                    accepted = all(result.passed for result in score.leaves)
                    fields[pattern].passed.append(PassedChange(name, value, changed, case, accepted))
    return dict(fields)


def mutation_findings(cases: Iterable[Case]) -> Iterator[LintFinding]:
    """Warn of each field of which some changed values pass their case, with the first of them and what would help."""
    for pattern, each in mutate_golds(cases).items():
        if not each.passed:
            continue
        first = each.passed[0]
        names = ", ".join(dict.fromkeys(passed.change for passed in each.passed))
        remedy = (
            "a stricter metric in the schema or in `overrides` would fail them"
            if first.accepted
            else f'`thresholds: {{fields: {{"{pattern}": 1.0}}}}` would fail them'
        )
        undecided = f"; {each.undecided} need a judge" if each.undecided else ""
        yield case_warning(
            first.case,
            "mutation",
            f"`{pattern}`: {len(each.passed)} of {each.tried} changes of its gold pass ({names}), such as "
            f"{show(first.changed, WIDTH)} for {show(first.gold, WIDTH)}; {remedy}{undecided}",
        )


def _first_values(case: Case) -> Iterator[tuple[str, tuple[str | int, ...], Json]]:
    """Yield pattern, path and value of the first value of each field, and of each list that is not empty."""
    seen: set[str] = set()
    program = case.scorer.program
    for path, _ in iter_leaves(case.gold):
        places = [path[:size] for size, step in enumerate(path) if isinstance(step, int)]
        for place in (*places, tuple(path)):
            pattern = pattern_of(place)
            inner = case.gold
            for step in place:
                inner = inner[step]
            skipped = declared(pattern, program) and is_skipped(pattern, program)
            if pattern not in seen and inner is not None and inner not in ("", [], {}) and not skipped:
                seen.add(pattern)
                yield pattern, tuple(place), inner
