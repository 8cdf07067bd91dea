"""Python values that are JSON in another dress, and those that are none."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import subprocess
import sys
import types
import uuid
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import attrs
import pydantic
import pydantic.dataclasses
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.arguments import NoJsonType, NotJson, plain_json
from pytest_extract.core.parse import parse_output
from pytest_extract.core.values import MISSING
from tests.strategies import json_values


class Kind(enum.Enum):
    BILL = "bill"
    ROWS = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Row:
    price: Any
    inner: Any = None


class Model(pydantic.BaseModel):
    net_price: Decimal = pydantic.Field(alias="netPrice")
    day: dt.date | None = None


class Listed(pydantic.BaseModel):
    prices: list[Decimal]
    by_name: dict[str, Decimal]


@pydantic.dataclasses.dataclass
class Checked:
    net_price: float = pydantic.Field(alias="netPrice")


@attrs.define
class Written:
    x: int
    y: int


class Lazy(collections.abc.Mapping):
    def __init__(self, *names: str) -> None:
        self.names = names

    def __getitem__(self, name):
        return len(name)

    def __iter__(self):
        return iter(self.names)

    def __len__(self):
        return len(self.names)


UTC = dt.UTC
DRESSED = [
    (Decimal("12.10"), 12.1),
    (Decimal(12), 12),
    (Decimal("12.0"), 12.0),
    (Decimal("1E+3"), 1000),
    (Decimal("-0.001"), -0.001),
    (Decimal("12345678901234567890.00"), 12345678901234567890),
    (Decimal("0E-9000"), 0.0),
    (dt.date(2024, 1, 2), "2024-01-02"),
    (dt.datetime(2024, 1, 2, 3, 4, tzinfo=UTC), "2024-01-02T03:04:00Z"),
    (dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.timezone(dt.timedelta(hours=1))), "2024-01-02T03:04:00+01:00"),
    (dt.time(3, 4), "03:04:00"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (PurePosixPath("a/b"), "a/b"),
    (Kind.BILL, "bill"),
    (Kind.ROWS, [1, 2]),
    (Level.LOW, 1),
    (Point(1, 2), [1, 2]),
    (collections.UserDict(a=(1,)), {"a": [1]}),
    (collections.OrderedDict(a=1), {"a": 1}),
    (types.MappingProxyType({"a": Decimal(1)}), {"a": 1}),
    (Lazy("a", "bb"), {"a": 1, "bb": 2}),
    (collections.UserList([1, Kind.BILL]), [1, "bill"]),
    (collections.deque([1]), [1]),
    (range(3), [0, 1, 2]),
    (Row(Decimal("1.5"), Row(None)), {"price": 1.5, "inner": {"price": None, "inner": None}}),
    (Model(netPrice=Decimal("1.50")), {"netPrice": 1.5, "day": None}),
    (Listed(prices=[Decimal("1.50")], by_name={"a": Decimal(2)}), {"prices": [1.5], "by_name": {"a": 2}}),
    (Checked(netPrice=1.5), {"netPrice": 1.5}),
    (Written(1, 2), {"x": 1, "y": 2}),
    ({Kind.BILL: 1}, {"bill": 1}),
]
NONE = [
    ({1, 2}, "of type set is no JSON value"),
    (b"x", "of type bytes is no JSON value"),
    (dt.timedelta(1), "of type timedelta is no JSON value; return a text, number or list"),
    (fractions.Fraction(1, 3), "of type Fraction"),
    (1j, "of type complex"),
    (object(), "of type object"),
    (int, "of type type"),
    ((x for x in ()), "of type generator"),
    (Decimal("0.1234567890123456789"), "has more digits than a JSON number keeps"),
    ({1: 2}, "the key 1 is of type int; JSON keys are texts"),
    ({True: 2}, "the key True is of type bool; JSON keys are texts"),
    (MISSING, "MISSING stands for a whole value; leave the key out"),
    ({Kind.BILL: 1, "bill": 2}, "two keys of the object are written 'bill'"),
]


@pytest.mark.parametrize(("value", "expected"), DRESSED, ids=lambda value: repr(value)[:40])
def test_json_in_another_dress(value, expected):
    plain = plain_json({"rows": [value]})
    assert plain == {"rows": [expected]}
    (found,) = plain["rows"]
    assert type(found) is type(expected)
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize(("value", "message"), NONE, ids=[message[:40] for _, message in NONE])
def test_other_types_name_their_place(value, message):
    with pytest.raises(NoJsonType) as caught:
        plain_json({"rows": [{}, {"price": value}]})
    assert message in str(caught.value)
    assert str(caught.value.path) == "rows[1].price"
    assert parse_output({"price": value}).failure.kind == "malformed_json"


@pytest.mark.parametrize(
    "value",
    [float("nan"), Decimal("NaN"), 10**5000, Decimal("1E+5000")],
    ids=["nan", "Decimal", "digits", "large"],
)
def test_what_a_model_can_write_is_no_mistake_of_code(value):
    with pytest.raises(NotJson) as caught:
        plain_json({"a": value})
    assert not isinstance(caught.value, NoJsonType)


def test_a_cycle_through_other_types_ends():
    rows = collections.UserList([])
    rows.append(collections.UserDict(a=rows))
    with pytest.raises(NoJsonType, match="contains itself"):
        plain_json(rows)


class Loud(collections.abc.Mapping):
    def __getitem__(self, name):
        raise KeyError(name)

    def __iter__(self):
        return iter("a")

    def __len__(self):
        return 1


def test_what_a_user_s_type_raises_is_told():
    with pytest.raises(NoJsonType, match=r"a value of type Loud does not turn into JSON: 'a'"):
        plain_json([Loud()])


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_keeps_its_exact_value(value):
    try:
        number = plain_json(value)
    except NoJsonType:
        assert len(value.as_tuple().digits) > 15 or abs(value.adjusted()) > 300
        return
    with decimal.localcontext(prec=1000):
        assert Decimal(repr(number)) == value


@given(json_values)
def test_plain_values_stay_the_same_object(value):
    assert plain_json(value) is value


CODE = """
import sys
from pytest_extract.core.arguments import plain_json
plain_json({"a": (1,)})
try:
    plain_json([object()])
except ValueError:
    assert "numpy" not in sys.modules
"""


def test_numpy_is_not_imported_for_it():
    subprocess.run([sys.executable, "-c", CODE], check=True)
