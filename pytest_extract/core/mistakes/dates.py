"""Mistakes in dates and times."""

from __future__ import annotations

import re
from typing import Final

from pytest_extract.core.metrics.dates import PartialDate, full_year, read_iso, read_ordered
from pytest_extract.core.metrics.equality import fold
from pytest_extract.core.mistakes.output import values_kind
from pytest_extract.core.values import Json

_LONGEST: Final = 80
"""Longer texts are no date."""


def _readings(value: Json) -> list[PartialDate]:
    """Return the readings of a text as a date: one in ISO 8601 or in words, up to two in numbers."""
    if not isinstance(value, str) or not 6 <= len(value) <= _LONGEST:
        return []
    text = fold(value)
    found = read_iso(text)
    if found is not None:
        return [found] if len(text) > 7 or (found.month is not None and "-" in text) else []
    short = re.fullmatch(r"(\d\d?)([./-])(\d\d?)\2(\d\d)", text)
    if short is not None:
        text = f"{short[1]}.{short[3]}.{full_year(int(short[4]))}"
    readings = [found for order in ("DMY", "MDY") if (found := read_ordered(text, order)) is not None]
    return readings[:1] if re.search(r"[^\W\d_]{3}", text) else readings


def reads_as_date(value: Json) -> bool:
    """Whether a value is a text that is a date in some order or in words."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return False
    return bool(re.search(r"\d\D+\d|[^\W\d_]{3}\D*\d", value)) and bool(_readings(value))


def _date_pairs(gold: Json, extracted: Json) -> list[tuple[PartialDate, PartialDate]]:
    """Return the readings of two dates that go together: in the same order where both are written in one way."""
    one, other = _readings(gold), _readings(extracted)
    if one and len(one) == len(other) and re.sub(r"\d", "0", gold) == re.sub(r"\d", "0", extracted):
        return [*zip(one, other, strict=True)]
    return [(first, second) for first in one for second in other]


def are_one_day(gold: Json, extracted: Json) -> bool:
    """Whether two texts are the same date, in some reading."""
    return any(one.known == other.known for one, other in _date_pairs(gold, extracted))


@values_kind("2024-08-02", "August 2, 2024", "the same day in another format")
def date_format(gold: Json, extracted: Json) -> str:
    """Only the format of the date differs."""
    if not isinstance(gold, str) or not isinstance(extracted, str) or fold(gold) == fold(extracted):
        return ""
    return "the same day in another format" if are_one_day(gold, extracted) else ""


@values_kind("2024-03-15", "2024-03-15T00:00:00", "the time of day was added")
def time_or_zone(gold: Json, extracted: Json) -> str:
    """Time of day or time zone lost, added or changed."""
    pair = next(iter(_date_pairs(gold, extracted)), None) if gold != extracted else None
    if pair is None:
        return ""
    one, other = pair[0].time, pair[1].time
    if pair[0].known != pair[1].known and (one is None or other is None or one != other):
        return ""
    if one is None or other is None:
        return f"the time of day was {'lost' if other is None else 'added'}" if one is not other else ""
    if one.replace(tzinfo=None) == other.replace(tzinfo=None) or one == other:
        return "another time zone"
    return "another time of the same day"


@values_kind("2024-03-04", "2024-04-03", "day and month were swapped")
def day_and_month(gold: Json, extracted: Json) -> str:
    """Day and month of a date swapped."""
    pairs = _date_pairs(gold, extracted)
    swapped = any(one.day is not None and one.known == (other.year, other.day, other.month) for one, other in pairs)
    return "day and month were swapped" if swapped and not are_one_day(gold, extracted) else ""


@values_kind("2024-03-15", "2024-03", "only the month was kept")
def date_part(gold: Json, extracted: Json) -> str:
    """Only a part of a date, or more than the gold says."""
    one, other = (_known_parts(side) for side in (gold, extracted))
    shorter = min(len(one), len(other))
    if not shorter or len(one) == len(other) or one[:shorter] != other[:shorter]:
        return ""
    names = ("", "the year", "the month", "the day")
    return f"only {names[shorter]} was kept" if len(other) < len(one) else f"more than the gold: {names[len(other)]}"


def _known_parts(value: Json) -> tuple[int, ...]:
    """Return year, month and day of a date, as far as it has them; a year alone is a number or a text."""
    if type(value) is int and 1000 <= value <= 9999:
        return (value,)
    if isinstance(value, str) and re.fullmatch(r"[12]\d{3}", value.strip()):
        return (int(value),)
    if isinstance(value, str) and len(value) < _LONGEST and (month := read_iso(fold(value))) is not None:
        return month.known
    found = _readings(value)
    return found[0].known if found else ()
