"""The metric of dates."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.calendar import LONGEST, PartialDate, compile_format, read_iso, read_ordered
from pytest_extract.core.metrics.exact import equality_of_read, explain_read, reading_metric
from pytest_extract.core.values import Json


def date_reader(params: Params) -> Callable[[Json], PartialDate | None]:
    """Return what reads a value as the metric `date` with these parameters does: None for what is no date."""
    readers = [compile_format(declared) for declared in check.as_list(params["formats"])] or [read_iso]
    order = params["order"]
    if order is not None:
        readers.append(lambda text: read_ordered(text, order))

    def read(value: Json) -> PartialDate | None:
        if isinstance(value, int) and not isinstance(value, bool):
            if 1000 <= value <= 9999:
                return PartialDate(value)
            value = str(value) if 1000_01_01 <= value <= 9999_12_31 else None
        if not isinstance(value, str) or len(value) > LONGEST:
            return None
        text = equality.written(value)
        return next((found for reader in readers if (found := reader(text)) is not None), None)

    return read


def _make_date(params: Params, _semantics: SemanticsName) -> BoundMetric:
    read = date_reader(params)
    partial, times, days = params["partial"], bool(params["time"]), int(params["tolerance_days"])
    zone = params["zone"]

    def agree(gold: PartialDate, extracted: PartialDate) -> bool:
        if times and (gold.time or extracted.time):
            return _same_moment(gold.time, extracted.time, zone)
        one, other = gold.known, extracted.known
        if len(one) == len(other):
            return one == other or (len(one) == 3 and abs(gold.number - extracted.number) <= days)
        shared = min(len(one), len(other))
        allowed = partial == "either" or (partial == "gold" and len(one) < len(other))
        return allowed and one[:shared] == other[:shared]

    def known(value: Json) -> tuple[int, ...] | None:
        found = read(value)
        return None if found is None else found.known

    explain = explain_read(read, "a date in the declared forms", _differ)
    if partial == "strict" and not times and not days:
        return equality_of_read(known, explain)
    same_parts = partial == "strict" and not times
    near = (lambda found: found.number, 0.0, days) if same_parts else None
    return reading_metric(read, agree, explain, near=near)


def _same_moment(gold: datetime | None, extracted: datetime | None, zone: Json) -> bool:
    if gold is None or extracted is None:
        return False
    if (gold.tzinfo is None) is not (extracted.tzinfo is None):
        allowed = zone == "either" or (zone == "gold" and gold.tzinfo is None)
        return allowed and gold.replace(tzinfo=None) == extracted.replace(tzinfo=None)
    return gold == extracted


def _differ(gold: PartialDate, extracted: PartialDate) -> str:
    if len(gold.known) != len(extracted.known):
        names = ("year", "month", "day")
        return f"known to the {names[len(extracted.known) - 1]}, expected to the {names[len(gold.known) - 1]}"
    if gold.known == extracted.known:
        return _times(gold.time, extracted.time)
    text = f"{_iso_text(gold)} expected, got {_iso_text(extracted)}"
    if len(gold.known) < 3:
        return text
    days = extracted.number - gold.number
    return f"{text}, {abs(days)} day{'' if abs(days) == 1 else 's'} {'later' if days > 0 else 'earlier'}"


def _times(gold: datetime | None, extracted: datetime | None) -> str:
    if gold is None or extracted is None:
        return "no time of day expected" if gold is None else "the time of day is missing"
    if (gold.tzinfo is None) is (extracted.tzinfo is None):
        return "times differ"
    clock = "" if gold.replace(tzinfo=None) == extracted.replace(tzinfo=None) else "times differ, and "
    return f"{clock}no time zone expected" if gold.tzinfo is None else f"{clock}the time zone is missing"


def _iso_text(value: PartialDate) -> str:
    return "-".join(f"{part:02d}" for part in value.known)


def _check_format(value: Json) -> str | None:
    if not isinstance(value, str) or not value:
        return "must be a format such as '%d.%m.%Y'"
    try:
        compile_format(value)
    except ValueError as problem:
        return str(problem)
    return None


_WHEN: Final = ("strict", "gold", "either")

SPECS = (
    MetricSpec(
        name="date",
        make=_make_date,
        doc="The same day, month or year. ISO 8601 is read unless `formats` are declared; other forms need a format or "
        "an order, and a year of two digits a format with %y. Months and weekdays may be named in English, German, "
        "French, Spanish, Italian, Portuguese and Dutch. What is no date (Q3 2024) is compared as text.",
        params=(
            Param(
                name="formats",
                check=check.one_or_list(_check_format),
                doc="formats to read, as of strptime: %Y %y %m %d %B %b %H %M %S %z",
            ),
            Param(name="order", check=check.choice(("DMY", "MDY", "YMD")), doc="order of other dates: DMY, MDY or YMD"),
            check.any_of(
                "partial", _WHEN, "whether 2024-03 agrees with 2024-03-15: never, if gold is shorter, or always"
            ),
            Param(name="time", check=check.boolean, default=False, doc="whether the time of day counts"),
            check.any_of("zone", _WHEN, "whether 10:00 agrees with 10:00 in any time zone: never, in gold, or always"),
            Param(name="tolerance_days", check=check.integer(0), default=0, doc="days that full dates may differ"),
        ),
        examples=(
            Example("2024-03-15", "15.03.2024", 1.0, {"order": "DMY"}),
            Example("2024-03-15", "15.03.2024", 0.0),
            Example("2024-03-04", "Mon, March 4th, 2024 5:30 PM", 1.0, {"order": "MDY"}),
            Example("2024-03-04", "2024年3月4日", 1.0, {"order": "DMY"}),
            Example("2024-03-15", "15/Mar/24", 1.0, {"formats": ["%Y-%m-%d", "%d/%b/%y"]}),
            Example("2024-03", "2024-03-15", 0.0),
            Example("2024-03", "2024-03-15", 1.0, {"partial": "gold"}),
            Example("2024-03-15", "2024-03-17", 1.0, {"tolerance_days": 2}),
            Example("2024-03-15T10:00:00Z", "2024-03-15T11:00+01:00", 1.0, {"time": True}),
            Example("2024-03-15T10:00:00+01:00", "2024-03-15T10:00:00", 0.0, {"time": True}),
            Example("2024-03-15T10:00:00", "2024-03-15T10:00:00Z", 1.0, {"time": True, "zone": "gold"}),
        ),
        symmetric=False,
    ),
)
