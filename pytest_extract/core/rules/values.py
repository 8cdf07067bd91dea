"""Values as rules compare them: exact numbers, dates, texts, truth values.

A value is read as the metric of its field reads it. A text under another metric is a number or a date where the rule
needs one and it is written like one: a number as `money` and `locale_number` read English, a date as ISO 8601.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Any, Final, TypeAlias

from pytest_extract.core.compile.nodes import Leaf, Node
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.amounts import Money, exactly, money_reader, number_reader
from pytest_extract.core.metrics.base import with_defaults
from pytest_extract.core.metrics.dates import PartialDate, date_reader
from pytest_extract.core.metrics.equality import short, text_key
from pytest_extract.core.values import MISSING, Json, Missing

_LONGEST_TEXT: Final = 200
"""Characters of the longest text that may be a number or a date."""
_CODE: Final = re.compile(r"[+-]?0\d")
"""How a text begins that has digits and is no number, such as a postal code."""
CONTEXT: Final = Context(prec=60, rounding=ROUND_HALF_UP)
"""How rules compute."""

Operand: TypeAlias = Decimal | PartialDate | str | bool
ReadsValue: TypeAlias = Callable[[Json], Operand | Missing | None]
"""Reads a scalar JSON value that is not null: MISSING where a transform makes it null, None for what is of no use."""


class NotComputableError(Exception):
    """Values of a document that a rule cannot compute with; the message names them."""


def reader_of(nodes: Iterable[Node]) -> ReadsValue:
    """Return what reads the values of a field, by the first metric of its nodes that reads more than plain texts."""
    checks = [check for node in nodes if isinstance(node, Leaf) for check in node.checks]
    check = next((each for each in checks if each.metric.name in _READERS), checks[0] if checks else None)
    if check is None:
        return read_plainly
    read: ReadsValue = read_plainly
    if check.metric.name in _READERS:
        read = _reader(check.metric.name, check.metric.params)
    transform = check.transform
    if transform is None:
        return read

    def read_transformed(value: Json) -> Operand | Missing | None:
        try:
            value = transform(value)
        except ValueError:
            return None
        return MISSING if value is None else read(value)

    return read_transformed


def _reader(metric: str, params: Mapping[str, Json]) -> Callable[[Json], Decimal | PartialDate | None]:
    read = _READERS[metric](with_defaults(params, METRICS[metric].params))
    return lambda value: _operand(read(value))


def read_plainly(value: Json) -> Operand | None:
    """Read a text or a truth value as it is, and a number exactly."""
    return value if isinstance(value, str | bool) else _operand(exactly(value))


def _operand(found: Money | Fraction | Decimal | PartialDate | None) -> Decimal | PartialDate | None:
    """Return what a reader of metrics has read; an amount counts without its currency."""
    if isinstance(found, Money):
        found = found.amount
    return CONTEXT.divide(Decimal(found.numerator), found.denominator) if isinstance(found, Fraction) else found


_reader_of_texts: Final = cache(partial(_reader, params={}))


def _in_text(text: str, *metrics: str) -> Decimal | PartialDate | None:
    if len(text) > _LONGEST_TEXT:
        return None
    readings = (_reader_of_texts(metric)(text) for metric in metrics)
    return next((found for found in readings if found is not None), None)


def number_in(value: Operand | float | None) -> Decimal | None:
    """Return a number, or that of an English text, unless it begins like a code (007); None for others."""
    if isinstance(value, str):
        found = None if _CODE.match(value) else _in_text(value, "locale_number", "money")
    else:
        found = value if isinstance(value, Decimal) else _operand(exactly(value))
    return found if isinstance(found, Decimal) else None


def date_in(operand: Operand) -> PartialDate | None:
    """Return a date, or that of a text in ISO 8601, to the month or the day (a year is a number); None for others."""
    found = _in_text(operand, "date") if isinstance(operand, str) and not operand.isdecimal() else operand
    return found if isinstance(found, PartialDate) else None


_READERS: Final[Mapping[str, Callable[[Mapping[str, Json]], Callable[[Json], Any]]]] = {
    "date": date_reader,
    "money": money_reader,
    "locale_number": number_reader,
    **dict.fromkeys(
        ("number", "integer", "number_exact", "number_tolerance", "integer_exact", "numeric"),
        lambda _params: number_in,
    ),
}
"""Metrics that read numbers or dates, each with what makes the reader of its parameters."""


def date_order(left: PartialDate, right: PartialDate) -> int:
    """Return 0 for equal dates, as far as both are known, else 1 or -1 for the later or earlier one.

    Times of day count if both have one and both or neither an offset.
    """
    shared = min(len(left.known), len(right.known))
    one, other = left.known[:shared], right.known[:shared]
    if left.time is not None and right.time is not None and (left.time.tzinfo is None) == (right.time.tzinfo is None):
        return (left.time > right.time) - (left.time < right.time)
    return (one > other) - (one < other)


def compared(left: Operand, right: Operand, what: str, *, equality: bool) -> tuple[Operand, Operand, Decimal]:
    """Return both sides as values of one kind, and by how much the left one is larger: 1 for a later date.

    They are dates if both are, then numbers if both are, else texts or truth values, which have no order.
    """
    days = date_in(left), date_in(right)
    if days[0] is not None and days[1] is not None:
        return days[0], days[1], Decimal(date_order(days[0], days[1]))
    numbers = number_in(left), number_in(right)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0], numbers[1], numbers[0] - numbers[1]
    if equality and type(left) is type(right):
        return left, right, Decimal(text_key(left) != text_key(right))
    texts = f"{operand_text(left)} with {operand_text(right)}"
    raise NotComputableError(f"{what} compares {texts}: values of different kinds, or texts by size")


def operand_text(operand: Operand, places: int = 0) -> str:
    """Write an operand for people; a number with separators and at least `places` decimal places."""
    if isinstance(operand, Decimal):
        if abs(operand) >= _LONGEST_NUMBER:
            return f"{operand:.5E}"
        return f"{operand:,.{max(places, decimal_places(operand))}f}"
    if isinstance(operand, PartialDate):
        return operand.time.isoformat(sep=" ") if operand.time else "-".join(f"{part:02d}" for part in operand.known)
    return str(operand).lower() if isinstance(operand, bool) else short(operand, 40)


_MOST_PLACES: Final = 6
_LONGEST_NUMBER: Final = 10**24


def decimal_places(value: Operand) -> int:
    """Return how many decimal places show a number: none for a whole one, else two to six."""
    if not isinstance(value, Decimal) or value == value.to_integral_value():
        return 0
    return min(max(-int(value.normalize().as_tuple().exponent), 2), _MOST_PLACES)
