"""Reading dates: ISO 8601, declared formats, and numeric or worded dates in a declared order.

Nothing is guessed: 03/04/2024 is a date only where the order is declared, and a two-digit year only in a format
that says so. Month names are English, German, French, Spanish, Italian, Portuguese and Dutch.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Final, NamedTuple

LONGEST: Final = 100


class PartialDate(NamedTuple):
    """A date known to the year, the month, the day or the second (with an offset where the text names one)."""

    year: int
    month: int | None = None
    day: int | None = None
    time: datetime | None = None

    @property
    def known(self) -> tuple[int, ...]:
        """The parts that are known, largest first."""
        return tuple(part for part in (self.year, self.month, self.day) if part is not None)

    @property
    def first_day(self) -> date:
        """The first day that the date can mean."""
        return date(self.year, self.month or 1, self.day or 1)


_MONTH_NAMES = (
    "january jan januar januari janvier janv enero ene gennaio gen janeiro jänner",
    "february feb februar februari février fevrier févr fevr febrero febbraio fevereiro fev",
    "march mar märz maerz mrz maart mrt mars marzo março marco",
    "april apr avril avr abril abr aprile",
    "may mai mei mayo maggio mag maio",
    "june jun juni juin junio giugno giu junho",
    "july jul juli juillet juil julio luglio lug julho",
    "august aug août aout agosto ago augustus",
    "september sep sept septembre septiembre settembre set setembro",
    "october oct oktober okt octobre octubre ottobre ott outubro out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro",
)
MONTHS: Final[Mapping[str, int]] = MappingProxyType(
    {name: month for month, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
)

_ISO = re.compile(
    r"(?P<Y>\d{4})(?:-(?P<m>\d\d)(?:-(?P<d>\d\d)(?:[T ](?P<H>\d\d):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,]\d+)?)?"
    r"\s?(?P<z>Z|[+-]\d\d:?\d\d)?)?)?)?|(?P<Y2>\d{4})(?P<m2>\d\d)(?P<d2>\d\d)"
)
_WEEKDAY = re.compile(r"^[^\W\d_]+\.?,\s*")
_CLOCK = re.compile(r"[, T]\s*(?P<H>\d\d?):(?P<M>\d\d)(?::(?P<S>\d\d))?$")
_PART = re.compile(r"\d+|[^\W\d_]+")
_FILLER = {"de", "del", "of", "the", "le", "den", "st", "nd", "rd", "th", "er", "º", "ª"}

# --- building


def make_date(year: int, month: int | None = None, day: int | None = None) -> PartialDate | None:
    """Return the date if the calendar has it."""
    if not 1 <= year <= 9999 or (month is not None and not 1 <= month <= 12):
        return None
    if day is not None and (month is None or not 1 <= day <= monthrange(year, month)[1]):
        return None
    return PartialDate(year, month, day)


def _with_time(found: PartialDate | None, hour: str | None, minute: str, second: str, zone: str) -> PartialDate | None:
    if found is None or hour is None or found.day is None:
        return found
    try:
        moment = datetime(  # noqa: DTZ001 - the zone is read below
            found.year, found.month or 1, found.day, int(hour), int(minute or 0), int(second or 0)
        )
        return found._replace(time=_in_zone(moment, zone))
    except ValueError:
        return None


def _in_zone(moment: datetime, zone: str) -> datetime:
    if not zone:
        return moment
    if zone in "Zz":
        return moment.replace(tzinfo=UTC)
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return moment.replace(tzinfo=timezone(timedelta(minutes=minutes if zone[0] == "+" else -minutes)))


def read_iso(text: str) -> PartialDate | None:
    """Read 2024, 2024-03, 2024-03-15, 20240315 and 2024-03-15T10:30:00+01:00."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    year, month, day = (match[name] or match[f"{name}2"] for name in "Ymd")
    found = make_date(int(year), int(month) if month else None, int(day) if day else None)
    return _with_time(found, match["H"], match["M"], match["S"], match["z"] or "")


# --- declared order


def read_ordered(text: str, order: str) -> PartialDate | None:
    """Read a date whose day, month and year come in `order` ("DMY"); a month in words may stand anywhere.

    "15.03.2024 10:30", "March 15th, 2024", "03/2024" and "Mar 2024" are read; a year has four digits.
    """
    clock = _CLOCK.search(text)
    if clock is None:
        return _read_day(text, order)
    return _with_time(_read_day(text[: clock.start()], order), clock["H"], clock["M"], clock["S"], "")


def _read_day(text: str, order: str) -> PartialDate | None:
    words = [word for word in _PART.findall(_WEEKDAY.sub("", text).casefold()) if word not in _FILLER]
    named = [MONTHS[word] for word in words if word in MONTHS]
    numbers = [word for word in words if word.isdecimal()]
    if len(named) + len(numbers) != len(words) or len(named) > 1 or not 1 <= len(numbers) <= 3:
        return None
    years = [number for number in numbers if len(number) == 4]
    rest = [int(number) for number in numbers if len(number) <= 2]
    if len(years) != 1 or len(rest) + 1 != len(numbers):
        return None
    if named:
        return make_date(int(years[0]), named[0], rest[0] if rest else None) if len(rest) < 2 else None
    return _numeric(numbers, int(years[0]), rest, order)


def _numeric(numbers: Sequence[str], year: int, rest: Sequence[int], order: str) -> PartialDate | None:
    if len(rest) < 2:
        return make_date(year, *rest)
    if len(numbers[order.index("Y")]) != 4:
        return None
    day, month = rest if order.index("D") < order.index("M") else reversed(rest)
    return make_date(year, month, day)


# --- declared formats

_DIRECTIVES: Mapping[str, str] = MappingProxyType(
    {
        "Y": r"(?P<Y>\d{4})",
        "y": r"(?P<y>\d\d)",
        "m": r"(?P<m>\d\d?)",
        "d": r"(?P<d>\d\d?)",
        "B": r"(?P<B>[^\W\d_]+)\.?",
        "b": r"(?P<B>[^\W\d_]+)\.?",
        "H": r"(?P<H>\d\d?)",
        "M": r"(?P<M>\d\d)",
        "S": r"(?P<S>\d\d)",
        "z": r"(?P<z>Z|[+-]\d\d:?\d\d)",
        "%": "%",
    }
)


def compile_format(declared: str) -> Callable[[str], PartialDate | None]:
    """Make a reader of a format in the manner of `strptime`: %Y %y %m %d %B %b %H %M %S %z.

    Raises ValueError that says what is wrong with the format.
    """
    pattern, used = _format_pattern(declared)
    if not used & {"Y", "y"}:
        raise ValueError("needs a year (%Y or %y)")
    compiled = re.compile(pattern)

    def read(text: str) -> PartialDate | None:
        match = compiled.fullmatch(text)
        return None if match is None else _from_format(match.groupdict())

    return read


def _format_pattern(declared: str) -> tuple[str, set[str]]:
    parts: list[str] = []
    used: set[str] = set()
    letters = iter(declared)
    for letter in letters:
        if letter != "%":
            parts.append(r"\s+" if letter.isspace() else re.escape(letter))
            continue
        directive = next(letters, "")
        if directive not in _DIRECTIVES:
            raise ValueError(f"has the unknown directive %{directive}; known: {' '.join('%' + d for d in _DIRECTIVES)}")
        name = "B" if directive == "b" else directive
        if name in used:
            raise ValueError(f"has %{directive} twice")
        used |= {name} - {"%"}
        parts.append(_DIRECTIVES[directive])
    return "".join(parts), used


def _from_format(parts: Mapping[str, str | None]) -> PartialDate | None:
    short = parts.get("y")
    # the pivot of POSIX and of Python's strptime
    year = int(parts["Y"] or 0) if parts.get("Y") else int(short or 0) + (1900 if int(short or 0) > 68 else 2000)
    month = parts.get("m")
    named = parts.get("B")
    if named and named.casefold() not in MONTHS:
        return None
    number = MONTHS[named.casefold()] if named else int(month) if month else None
    day = parts.get("d")
    found = make_date(year, number, int(day) if day else None)
    return _with_time(found, parts.get("H"), parts.get("M") or "", parts.get("S") or "", parts.get("z") or "")
