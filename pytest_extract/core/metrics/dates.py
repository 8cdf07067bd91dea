"""The metric of dates, and reading them: ISO 8601, declared formats, and numeric or worded dates in a declared order.

Nothing is guessed: 03/04/2024 is a date only where the order is declared, and a two-digit year only in a format
that says so (%y). Month names are English, German, French, Spanish, Italian, Portuguese and Dutch.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import equality_of_read, explain_read, reading_metric
from pytest_extract.core.values import Json, written

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

    def __str__(self) -> str:
        """Write the parts that are known in ISO 8601."""
        return self.time.isoformat() if self.time else "-".join(f"{part:02d}" for part in self.known)

    @property
    def number(self) -> int:
        """The first day that the date can mean, counted from the year 1."""
        return date(self.year, self.month or 1, self.day or 1).toordinal()


_MONTH_NAMES = (
    "january jan januar januari janvier janv enero ene gennaio gen janeiro jänner",
    "february feb februar februari février fevrier févr fevr febrero febbraio fevereiro fev",
    "march mar märz mär maerz mrz maart mrt mars marzo março marco",
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
MONTHS: Final[Mapping[str, int]] = {
    name: month for month, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()
}

_ISO = re.compile(
    r"(?P<Y>\d{4})(?:-(?P<m>\d\d)(?:-(?P<d>\d\d)(?:[T ](?P<H>\d\d):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d+))?)?"
    r"\s?(?P<z>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?)?)?",
    re.IGNORECASE,
)
_BASIC_ISO = re.compile(r"(?P<Y>\d{4})(?P<m>\d\d)(?P<d>\d\d)")
_HAN = re.compile(r"(?P<Y>\d{4})\s?年(?:\s?(?P<m>\d\d?)\s?月(?:\s?(?P<d>\d\d?)\s?日)?)?")
_PLACE = re.compile(r"^[^\W\d_]+\.?,\s*")
_CLOCK = re.compile(
    r"(?:,\s*|T|\s)(?:(?:at|um|om|à|alle)\s)?(?P<H>\d\d?)(?:[:h](?P<M>\d\d)(?::(?P<S>\d\d))?)?"
    r"\s?(?P<half>[ap]\.?m\.?)?(?P<word>\s?uhr|h)?(?:\s?(?P<z>UTC|GMT|Z|[+-]\d\d:?\d\d))?$",
    re.IGNORECASE,
)
_PART = re.compile(r"\d+|[^\W\d_]+")
_FILLER = {"de", "del", "of", "the", "le", "den", "st", "nd", "rd", "th", "er", "º", "ª"}
_WEEKDAY_NAMES = (
    # without "mar", the Tuesday that is a March elsewhere
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun "
    "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so "
    "lundi mardi mercredi jeudi vendredi samedi dimanche lun mer jeu ven sam dim "
    "lunes martes miércoles jueves viernes sábado domingo mié jue vie sáb dom "
    "lunedì martedì mercoledì giovedì venerdì sabato domenica gio sab "
    "segunda terça quarta quinta sexta feira seg ter qua qui sex "
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag ma wo vr za zo"
)
_SILENT = frozenset(_FILLER | set(_WEEKDAY_NAMES.split()))
"""Words of a date that say nothing more."""

# --- building


def full_year(two_digits: int) -> int:
    """Return the year that two digits mean: from 1969 to 2068, the pivot of POSIX and of Python's strptime."""
    return two_digits + (1900 if two_digits > 68 else 2000)


def make_date(year: int, month: int | None = None, day: int | None = None) -> PartialDate | None:
    """Return the date if the calendar has it."""
    if not 1 <= year <= 9999 or (month is not None and not 1 <= month <= 12):
        return None
    if day is not None and (month is None or not 1 <= day <= monthrange(year, month)[1]):
        return None
    return PartialDate(year, month, day)


def _with_time(found: PartialDate | None, clock: Sequence[int], zone: str = "") -> PartialDate | None:
    """Return the date with its time of day and offset ("" where there is none); None where there is no such time."""
    if found is None or found.day is None:
        return found
    try:
        moment = datetime(found.year, found.month or 1, found.day, *clock)  # type: ignore[arg-type]  # noqa: DTZ001
        if zone:
            offset = "Z" if zone.isalpha() else zone
            moment = moment.replace(tzinfo=datetime.fromisoformat(f"2000-01-01T00{offset}").tzinfo)
    except ValueError:
        return None
    return found._replace(time=moment)


def _from_parts(parts: Mapping[str, str | None]) -> PartialDate | None:
    """Return the date of named digits (and B, the name of a month), as the directives of `strptime` are named."""
    name = (parts.get("B") or "").casefold()
    if name and name not in MONTHS:
        return None
    year, month, day = parts.get("Y"), parts.get("m"), parts.get("d")
    found = make_date(
        int(year) if year else full_year(int(parts["y"] or 0)),
        MONTHS[name] if name else int(month) if month else None,
        int(day) if day else None,
    )
    if not parts.get("H"):
        return found
    microseconds = (parts.get("f") or "")[:6].ljust(6, "0")
    clock = [int(part or 0) for part in (parts["H"], parts.get("M"), parts.get("S"), microseconds)]
    return _with_time(found, clock, parts.get("z") or "")


def read_iso(text: str) -> PartialDate | None:
    """Read 2024, 2024-03, 2024-03-15, 20240315 and 2024-03-15T10:30:00.5+01:00."""
    match = _ISO.fullmatch(text) or _BASIC_ISO.fullmatch(text)
    return None if match is None else _from_parts(match.groupdict())


# --- declared order


def read_ordered(text: str, order: str) -> PartialDate | None:
    """Read a date whose day, month and year come in `order` ("DMY"); a month in words may stand anywhere.

    "15.03.2024 10:30", "March 15th, 2024 5:30 PM", "Fri 15 Mar 2024", "03/2024" and "Mar 2024" are read, and in any
    order 2024/3/15 and 2024年3月15日; a year has four digits.
    """
    if han := _HAN.fullmatch(text):
        return _from_parts(han.groupdict())
    match = _CLOCK.search(text)
    if match is None or not (match["M"] or match["half"] or match["word"]):
        return _read_day(text, order)
    hour, half = int(match["H"]), (match["half"] or "").casefold()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    clock = hour, int(match["M"] or 0), int(match["S"] or 0)
    return _with_time(_read_day(text[: match.start()], order), clock, match["z"] or "")


_ORDINAL_NAMES: Final = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
_ORDINALS: Final = {name: str(day) for day, name in enumerate(_ORDINAL_NAMES.split(), start=1)} | {"thirtieth": "30"}
_TENS: Final = re.compile(rf"\b(twenty|thirty)[\s-]({'|'.join(_ORDINAL_NAMES.split()[:9])})\b", re.IGNORECASE)
"""Days that are written as words in two parts: the twenty-first, the thirty-first."""


def _read_day(text: str, order: str) -> PartialDate | None:
    tens = {"twenty": 20, "thirty": 30}
    text = _TENS.sub(lambda found: str(tens[found[1].lower()] + int(_ORDINALS[found[2].lower()])), text)
    found = [_ORDINALS.get(word, word) for word in _PART.findall(_PLACE.sub("", text).casefold())]
    words = [word for word in found if word in MONTHS or word not in _SILENT]
    named = [MONTHS[word] for word in words if word in MONTHS]
    numbers = [word for word in words if word.isdecimal()]
    if len(named) + len(numbers) != len(words) or len(named) > 1 or not 1 <= len(numbers) <= 3:
        return None
    years = [number for number in numbers if len(number) == 4]
    rest = [int(number) for number in numbers if len(number) <= 2]
    if len(years) != 1 or len(rest) + 1 != len(numbers):
        return None
    year = int(years[0])
    if named:
        return make_date(year, named[0], rest[0] if rest else None) if len(rest) < 2 else None
    if len(rest) < 2 or len(numbers[0]) == 4:  # nobody writes a day between year and month
        return make_date(year, *rest)
    if len(numbers[order.index("Y")]) != 4:
        return None
    day, month = rest if order.index("D") < order.index("M") else reversed(rest)
    return make_date(year, month, day)


# --- declared formats

_DIRECTIVES: Mapping[str, str] = {
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


def compile_format(declared: str) -> Callable[[str], PartialDate | None]:
    """Make a reader of a format in the manner of `strptime`: %Y %y %m %d %B %b %H %M %S %z.

    Raises ValueError that says what is wrong with the format.
    """
    pattern, used = "", set()
    for part in re.findall(r"%.?|\s+|[^%\s]+", declared, re.DOTALL):
        directive = part[1:]
        if part[0] != "%":
            pattern += r"\s+" if part.isspace() else re.escape(part)
        elif directive not in _DIRECTIVES:
            raise ValueError(f"has the unknown directive {part}; known: {' '.join('%' + d for d in _DIRECTIVES)}")
        elif (own := _DIRECTIVES[directive]) in used and directive != "%":
            raise ValueError(f"has {part} twice")
        else:
            used.add(own)
            pattern += own
    if used.isdisjoint((_DIRECTIVES["Y"], _DIRECTIVES["y"])):
        raise ValueError("needs a year (%Y or %y)")
    compiled = re.compile(pattern)

    def read(text: str) -> PartialDate | None:
        match = compiled.fullmatch(text)
        return None if match is None else _from_parts(match.groupdict())

    return read


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
        text = written(value)
        return next((found for reader in readers if (found := reader(text)) is not None), None)

    return read


_WHEN: Final = ("strict", "gold", "either")


@MetricSpec.row(
    "date",
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
    params=(
        Param(
            name="formats",
            check=check.one_or_list(check.taken_by(compile_format, "a format such as '%d.%m.%Y'")),
            doc="formats to read, as of strptime: %Y %y %m %d %B %b %H %M %S %z",
        ),
        Param(name="order", check=check.choice(("DMY", "MDY", "YMD")), doc="order of other dates: DMY, MDY or YMD"),
        check.any_of("partial", _WHEN, "whether 2024-03 agrees with 2024-03-15: never, if gold is shorter, or always"),
        check.switch("time", "whether the time of day counts"),
        check.any_of("zone", _WHEN, "whether 10:00 agrees with 10:00 in any time zone: never, in gold, or always"),
        Param(name="tolerance_days", check=check.integer(0), default=0, doc="days that full dates may differ"),
    ),
)
def _date(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """The same day, month or year.

    ISO 8601 is read unless `formats` are declared; other forms need a format or an order, and a year of two digits
    a format with %y. Months and weekdays may be named in English, German, French, Spanish, Italian, Portuguese and
    Dutch. What is no date (Q3 2024) is compared as text.
    """
    read = date_reader(params)
    partial, times, days = params["partial"], bool(params["time"]), int(params["tolerance_days"])
    zone = params["zone"]

    def agree(gold: PartialDate, extracted: PartialDate) -> bool:
        if times and (gold.time or extracted.time):
            if gold.time is None or extracted.time is None:
                return False
            one_time, other_time = gold.time, extracted.time
            if (one_time.tzinfo is None) is not (other_time.tzinfo is None):
                if zone != "either" and not (zone == "gold" and one_time.tzinfo is None):
                    return False
                one_time, other_time = one_time.replace(tzinfo=None), other_time.replace(tzinfo=None)
            return abs(one_time - other_time) <= timedelta(days=days)
        one, other = gold.known, extracted.known
        if len(one) == len(other):
            return one == other or (len(one) == 3 and abs(gold.number - extracted.number) <= days)
        shared = min(len(one), len(other))
        allowed = partial == "either" or (partial == "gold" and len(one) < len(other))
        return allowed and one[:shared] == other[:shared]

    explain = explain_read(read, "a date in the declared forms")
    if partial == "strict" and not times and not days:
        return equality_of_read(lambda value: (found := read(value)) and found.known, explain)
    zones = 2 if times else 0  # the same moment may be another day elsewhere
    near = (lambda found: found.number, 0.0, days + zones) if partial == "strict" else None
    return reading_metric(read, agree, explain, near=near)
