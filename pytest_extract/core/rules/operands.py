"""Values of fields as rules compute with them: numbers and amounts, dates, texts, truth values.

A value is read as the metric of its field reads it. Where the metric reads texts only as texts, a text is a number or
a date if the rule needs one there and the text is one for `money`, `locale_number` (English) or `date` (ISO 8601).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import FieldMetric, Leaf, Node
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.amounts import money_reader, number_reader
from pytest_extract.core.metrics.base import with_defaults
from pytest_extract.core.metrics.calendar import PartialDate
from pytest_extract.core.metrics.dates import date_reader
from pytest_extract.core.metrics.equality import short
from pytest_extract.core.metrics.locales import exactly
from pytest_extract.core.values import Json, json_type

_LONGEST_TEXT: Final = 200
"""Characters of the longest text that may be a number or a date."""
_CODE: Final = re.compile(r"[+-]?0\d")
"""How a text begins that has digits and is no number, such as a postal code."""
_PRECISION: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)


class NumberValue(NamedTuple):
    """An exact number, and its currency ("" where it has none)."""

    value: Fraction
    currency: str = ""


Operand: TypeAlias = NumberValue | PartialDate | str | bool
ReadsValue: TypeAlias = Callable[[Json], Operand | None]
"""Reads a scalar JSON value that is not null; None for what the rule cannot compute with."""


class NotComputableError(Exception):
    """Values of a document that a rule cannot compute with; the message names them."""


def reader_of(nodes: tuple[Node, ...]) -> ReadsValue:
    """Return what reads the values of a field, by the first metric of its nodes that reads more than plain texts."""
    for node in nodes:
        for check in node.checks if isinstance(node, Leaf) else ():
            read = _reader_of_metric(check)
            if read is not None:
                return read
    return _read_plainly


def _reader_of_metric(check: FieldMetric) -> ReadsValue | None:
    metric = check.metric
    make = _READERS.get(metric.name)
    if make is None:
        return None
    read, transform = make(with_defaults(metric.params, METRICS[metric.name].params)), check.transform

    def read_value(value: Json) -> Operand | None:
        if transform is not None:
            try:
                value = transform(value)
            except ValueError:
                return None
        found = read(value)
        return _read_plainly(value) if found is None and metric.name == "date" else found

    return read_value


def _reads_dates(params: Mapping[str, Json]) -> ReadsValue:
    return date_reader(params)


def _reads_money(params: Mapping[str, Json]) -> ReadsValue:
    read = money_reader(params)

    def read_money(value: Json) -> NumberValue | None:
        found = read(value)
        return None if found is None else NumberValue(found.amount, found.currency)

    return read_money


def _reads_numbers(params: Mapping[str, Json]) -> ReadsValue:
    read = number_reader(params)

    def read_number(value: Json) -> NumberValue | None:
        found = read(value)
        return None if found is None else NumberValue(found)

    return read_number


_READERS: Final[Mapping[str, Callable[[Mapping[str, Json]], ReadsValue]]] = {
    "date": _reads_dates,
    "money": _reads_money,
    "locale_number": _reads_numbers,
    **dict.fromkeys(
        ("number", "integer", "number_exact", "number_tolerance", "integer_exact", "numeric"),
        lambda _params: _number_of,
    ),
}
"""Metrics that read numbers or dates, each with what makes the reader of its parameters."""


def _read_plainly(value: Json) -> Operand | None:
    if isinstance(value, str | bool):
        return value
    number = exactly(value)
    return None if number is None else NumberValue(number)


def _number_of(value: Json) -> NumberValue | None:
    """Read a JSON number, or a text that is one in English."""
    number = exactly(value)
    if number is not None:
        return NumberValue(number)
    return number_in(value) if isinstance(value, str) else None


@cache
def _text_readers() -> tuple[Callable[[Json], Any], Callable[[Json], Any], Callable[[Json], Any]]:
    makers = (("money", _reads_money), ("locale_number", _reads_numbers), ("date", _reads_dates))
    money, number, day = (make(with_defaults({}, METRICS[name].params)) for name, make in makers)
    return money, number, day


def number_in(text: str) -> NumberValue | None:
    """Return the number or amount that a text is in English; None if it is none."""
    if len(text) > _LONGEST_TEXT:
        return None
    money, number, _ = _text_readers()
    found: NumberValue | None = number(text) or money(text)
    return found


def day_in(text: str) -> PartialDate | None:
    """Return the date that a text is in ISO 8601, to the month or the day (a year is a number); else None."""
    if len(text) > _LONGEST_TEXT:
        return None
    found: PartialDate | None = _text_readers()[2](text)
    return None if found is None or len(found.known) == 1 else found


def as_number(operand: Operand, what: str) -> NumberValue:
    """Return an operand as a number; raises NotComputableError, which says of `what` that it is none."""
    found = number_in(operand) if isinstance(operand, str) else operand
    if isinstance(found, NumberValue):
        return found
    raise NotComputableError(f"{what} is {operand_text(operand)}, which is no number")


def common_currency(one: NumberValue, other: NumberValue, what: str) -> str:
    """Return the currency of two numbers of which one may have none; raises NotComputableError for two currencies."""
    if one.currency and other.currency and one.currency != other.currency:
        raise NotComputableError(f"{what} mixes {one.currency} and {other.currency}")
    return one.currency or other.currency


def calculate(sign: str, left: Operand, right: Operand, what: str) -> Operand:
    """Return `left sign right`: of numbers, the days between two dates, or a date some days away."""
    if sign in "+-" and isinstance(right, str) and isinstance(left, PartialDate):
        right = day_in(right) or right
    if sign == "-" and isinstance(left, str) and isinstance(right, PartialDate | str):
        left = day_in(left) or left
        right = (day_in(right) or right) if isinstance(right, str) and isinstance(left, PartialDate) else right
    if isinstance(left, PartialDate) and sign in "+-":
        return _move_day(sign, left, right, what)
    one, other = as_number(left, what), as_number(right, what)
    if sign in "+-":
        currency = common_currency(one, other, what)
        return NumberValue(one.value + other.value if sign == "+" else one.value - other.value, currency)
    if sign == "*":
        return NumberValue(one.value * other.value, common_currency(one, other, what))
    if not other.value:
        raise NotComputableError(f"{what} divides by 0")
    currency = "" if one.currency and one.currency == other.currency else common_currency(one, other, what)
    return NumberValue(quotient(one.value, other.value), currency)


def quotient(one: Fraction, other: Fraction) -> Fraction:
    """Return a quotient, rounded to 60 digits if it has more, so that sums of quotients stay small."""
    whole = one / other
    if whole.denominator == 1:
        return whole
    with localcontext(_PRECISION):
        return Fraction(Decimal(whole.numerator) / Decimal(whole.denominator))


def _move_day(sign: str, left: PartialDate, right: Operand, what: str) -> Operand:
    if len(left.known) < 3 or (isinstance(right, PartialDate) and len(right.known) < 3):
        raise NotComputableError(f"{what} counts days, and a date there has none")
    if isinstance(right, PartialDate):
        if sign == "+":
            raise NotComputableError(f"{what} adds two dates")
        return NumberValue(Fraction(left.number - right.number))
    days = as_number(right, what).value
    try:
        moved = date.fromordinal(int(left.number + (days if sign == "+" else -days)))
    except (ValueError, OverflowError):
        raise NotComputableError(f"{what} is beyond the calendar") from None
    return PartialDate(moved.year, moved.month, moved.day)


def comparable(left: Operand, right: Operand, *, equality: bool) -> tuple[Operand, Operand] | None:
    """Return both sides as values of one kind: numbers, dates, texts or truth values; None where they have none.

    Two texts are dates if both are, then numbers if both are and neither begins like a code (007); else they are texts,
    which have no order: they are comparable only for an equality.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return (left, right) if equality and isinstance(left, bool) and isinstance(right, bool) else None
    if isinstance(left, str) and isinstance(right, str):
        days = day_in(left), day_in(right)
        if days[0] is not None and days[1] is not None:
            return days[0], days[1]
        numbers = (None, None) if _CODE.match(left) or _CODE.match(right) else (number_in(left), number_in(right))
        if numbers[0] is not None and numbers[1] is not None:
            return numbers[0], numbers[1]
        return (left, right) if equality else None
    if isinstance(left, str):
        left = (number_in(left) if isinstance(right, NumberValue) else day_in(left)) or left
    elif isinstance(right, str):
        right = (number_in(right) if isinstance(left, NumberValue) else day_in(right)) or right
    return (left, right) if type(left) is type(right) else None


def difference(left: Operand, right: Operand) -> Fraction:
    """Return by how much the first of two numbers, or of two dates in days, is larger.

    Dates are compared as far as both are known; times of day count if both have one and both or neither an offset.
    """
    if isinstance(left, NumberValue) and isinstance(right, NumberValue):
        return left.value - right.value
    assert isinstance(left, PartialDate) and isinstance(right, PartialDate)  # noqa: S101, PT018 - as `comparable` returns them
    shared = min(len(left.known), len(right.known))
    if shared < 3:
        one, other = left.known[:shared], right.known[:shared]
        if one == other:
            return Fraction(0)
        return Fraction(left.number - right.number) or Fraction(1 if one > other else -1)
    if left.time is not None and right.time is not None and (left.time.tzinfo is None) == (right.time.tzinfo is None):
        return Fraction((left.time - right.time).total_seconds()) / 86_400
    return Fraction(left.number - right.number)


def operand_text(operand: Operand, places: int | None = None) -> str:
    """Write an operand for people; a number with separators and at least `places` decimal places."""
    if isinstance(operand, NumberValue):
        text = number_of_places(operand.value, decimal_places(operand.value) if places is None else places)
        return f"{text} {operand.currency}" if operand.currency else text
    if isinstance(operand, PartialDate):
        if operand.time is not None:
            return operand.time.isoformat(sep=" ")
        return "-".join(f"{part:02d}" for part in operand.known)
    if isinstance(operand, bool):
        return "true" if operand else "false"
    return short(operand, 40)


_MOST_PLACES: Final = 6
_LONGEST_NUMBER: Final = 10**24


def decimal_places(value: Fraction) -> int:
    """Return how many decimal places show a number: none for a whole one, else two to six."""
    if value.denominator == 1:
        return 0
    return next((places for places in range(2, _MOST_PLACES) if not (value * 10**places) % 1), _MOST_PLACES)


def number_of_places(value: Fraction, places: int) -> str:
    """Write a number with separators, rounded half up to decimal places; a very large one with an exponent."""
    if abs(value) >= _LONGEST_NUMBER:
        with localcontext(Context(prec=6)):
            return f"{Decimal(value.numerator) / Decimal(value.denominator):.5E}"
    return f"{round_half_up(value, places):,.{places}f}"


def round_half_up(value: Fraction, places: int) -> Decimal:
    """Return a number rounded half up, away from zero."""
    with localcontext(Context(prec=400)):
        return (Decimal(value.numerator) / Decimal(value.denominator)).quantize(
            Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP
        )


def unread(value: Json, what: str) -> NotComputableError:
    """Return the error for a value that no rule computes with."""
    kind = json_type(value)
    if kind in ("object", "array"):
        return NotComputableError(f"{what} is an {kind}, not a value")
    return NotComputableError(f"{what} is {short(value, 40)}, which cannot be read")
