"""Python values that are JSON in another dress, and those that are none, whichever door they come through."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import math
import types
import uuid
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pydantic
import pydantic.dataclasses
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import TypedDict

from pytest_extract import (
    MISSING,
    ConfigError,
    annotate_schema,
    assert_extraction,
    compare_values,
    compile_schema,
    infer_schema,
    resolve_schema_references,
    score,
    score_text,
    validate_golds,
)
from pytest_extract.bulk import BulkScorer
from pytest_extract.core.arguments import NoJsonType, NotJson, plain_json
from pytest_extract.core.parse import parse_output
from pytest_extract.core.values import MAX_DEPTH, copied
from pytest_extract.feedback import optimizer_metric
from pytest_extract.systems import compare_systems, struct_evaluate
from tests.loaded import load_everything
from tests.strategies import NO_JSON as NO_TEXT
from tests.strategies import json_values, nested

load_everything()


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


DRESSED = [
    (Decimal("12.10"), 12.1),
    (Decimal(12), 12),
    (Decimal("12.0"), 12.0),
    (Decimal("1E+3"), 1000),
    (Decimal("-0.001"), -0.001),
    (Decimal("12345678901234567890.00"), 12345678901234567890),
    (Decimal("0E-9000"), 0.0),
    (dt.date(2024, 1, 2), "2024-01-02"),
    (dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.UTC), "2024-01-02T03:04:00Z"),
    (dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.timezone(dt.timedelta(hours=1))), "2024-01-02T03:04:00+01:00"),
    (dt.time(3, 4), "03:04:00"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (PurePosixPath("a/b"), "a/b"),
    (Kind.BILL, "bill"),
    (Kind.ROWS, [1, 2]),
    (Level.LOW, 1),
    (Point(1, 2), [1, 2]),
    (collections.OrderedDict(a=1), {"a": 1}),
    (collections.UserDict(a=(1,)), {"a": [1]}),
    (types.MappingProxyType({"a": Decimal(1)}), {"a": 1}),
    (Row(Decimal("1.5"), Row(None)), {"price": 1.5, "inner": {"price": None, "inner": None}}),
    (Model(netPrice=Decimal("1.50")), {"netPrice": 1.5, "day": None}),
    (Listed(prices=[Decimal("1.50")], by_name={"a": Decimal(2)}), {"prices": [1.5], "by_name": {"a": 2}}),
    (Checked(netPrice=1.5), {"netPrice": 1.5}),
    ({Kind.BILL: 1}, {"bill": 1}),
    (np.int64(7), 7),
    (np.float32(0.5), 0.5),
    (np.float64(0.1), 0.1),
    (np.bool_(True), True),
    (np.str_("x"), "x"),
    (np.datetime64("2024-01-02"), "2024-01-02"),
    (np.datetime64("2024-01-02T03:04:05"), "2024-01-02T03:04:05"),
    (np.array(5), 5),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.array([None, None], dtype=object), [None, None]),
]
NONE = [
    ({1, 2}, "of type set is no JSON value"),
    (np.datetime64("NaT"), "of type datetime64"),
    (np.datetime64(5, "ns"), "of type datetime64"),
    (np.timedelta64(1, "s"), "of type timedelta64"),
    (np.timedelta64(1, "ns"), "of type timedelta64"),
    (np.longdouble(0.5), "of type longdouble"),
    (np.complex64(1), "of type complex64"),
    (np.bytes_(b"x"), "of type bytes_"),
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
    assert type(plain["rows"][0]) is type(expected)
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize(("value", "message"), NONE, ids=[message[:40] for _, message in NONE])
def test_other_types_name_their_place(value, message):
    with pytest.raises(NoJsonType, match=message) as caught:
        plain_json({"rows": [{}, {"price": value}]})
    assert str(caught.value.path) == "rows[1].price"
    assert parse_output({"price": value}).failure.kind == "malformed_json"


@pytest.mark.parametrize(
    "value", [float("nan"), np.float64("inf"), Decimal("NaN"), 10**5000, Decimal("1E+5000")], ids=range(5)
)
def test_what_a_model_can_write_is_no_mistake_of_code(value):
    with pytest.raises(NotJson) as caught:
        plain_json({"a": value})
    assert not isinstance(caught.value, NoJsonType)


class Loud(collections.UserDict):
    def __getitem__(self, name):
        raise KeyError(name)


def test_a_part_that_stands_in_many_places_is_no_deeper_than_the_deepest_of_them():
    part = nested(MAX_DEPTH // 2)
    twice = [part, nested(MAX_DEPTH // 2 - 1, part)]
    assert plain_json(twice) is twice
    with pytest.raises(NotJson, match="levels deep"):
        plain_json([part, nested(MAX_DEPTH // 2, part)])


def test_a_cycle_ends_and_what_a_user_s_type_raises_is_told():
    rows = []
    rows.append(collections.UserDict(a=rows))
    with pytest.raises(NoJsonType, match="contains itself"):
        plain_json(rows)
    with pytest.raises(NoJsonType, match=r"a value of type Loud does not turn into JSON: 'a'"):
        plain_json([Loud(a=1)])


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
def test_plain_values_stay_the_same_object_and_copies_share_nothing(value):
    assert plain_json(value) is value
    before = repr(value)
    copy = copied(value)
    assert repr(copy) == before == repr(value)
    assert not set(containers(copy)) & set(containers(value))


def containers(value):
    found, stack = [], [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict | list):
            found.append(id(node))
            stack.extend(node.values() if isinstance(node, dict) else node)
    return found


def test_what_a_case_file_may_nest_can_be_copied():
    value = nested(MAX_DEPTH, objects=True)
    assert copied(value) == value


# --- every door


class Line(pydantic.BaseModel):
    name: str
    price: Decimal


class Invoice(pydantic.BaseModel):
    kind: Kind
    due: dt.date
    at: dt.datetime
    lines: list[Line]
    net: float = pydantic.Field(alias="netSum")


FIELDS = {"kind": Kind, "due": dt.date, "at": dt.datetime, "lines": list[Line], "netSum": float}
Bill = dataclasses.make_dataclass("Bill", FIELDS.items())
Typed = TypedDict("Typed", FIELDS)
PARTS = {"kind": Kind.BILL, "due": dt.date(2026, 1, 2), "at": dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)}
JSON = {
    "kind": "bill",
    "due": "2026-01-02",
    "at": "2026-01-02T03:04:00Z",
    "lines": [{"name": "Bolt", "price": 12.5}],
    "netSum": 1.5,
}
LINE = Line(name="Bolt", price=Decimal("12.50"))
VALUES = {
    "json": JSON,
    "model": Invoice(**PARTS, lines=[LINE], netSum=1.5),
    "dataclass": Bill(**PARTS, lines=[LINE], netSum=1.5),
    "mapping": types.MappingProxyType(
        {**PARTS, "netSum": Decimal("1.5"), "lines": (collections.UserDict(name="Bolt", price=Decimal("12.5")),)}
    ),
}
SCHEMAS = {
    "json": Invoice.model_json_schema(),
    "model": Invoice,
    "dataclass": Bill,
    "typed-dict": Typed,
    "without-types": {"type": "object", "properties": {name: {} for name in JSON}},
    "mapping": types.MappingProxyType({"type": "object", "properties": types.MappingProxyType({"due": {}})}),
}
NO_JSON = [
    ({True: 1}, "at $, the key True is of type bool; JSON keys are texts"),
    ({"lines": [{2026: 1}]}, "at lines[0], the key 2026 is of type int; JSON keys are texts"),
    ({"lines": {"a"}}, "at lines, a value of type set is no JSON value"),
    ({"lines": [object()]}, "of type object is no JSON value"),
]


@pytest.mark.parametrize("output", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("gold", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_equal_values_are_equal_however_they_are_made(schema, gold, output):
    doors = (score, score_text, lambda *given: assert_extraction(given[2], gold=given[1], schema=given[0]))
    for found in (door(schema, gold, output) for door in doors):
        assert found.measures["pass_rate"] == found.measures["f1"] == 1.0
        assert found.gates.schema.passed


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_wrong_value_is_told_on_either_side(value):
    wrong = {**JSON, "due": "2026-01-03"}
    for found in (score(Invoice, value, wrong), score(Invoice, wrong, value)):
        assert [str(leaf.path) for leaf in found.leaves if not leaf.passed] == ["due"]


@pytest.mark.parametrize(("value", "message"), NO_JSON)
def test_what_is_no_json_is_an_error_that_names_its_place(value, message):
    for name, call in {
        "gold": lambda: score({}, value, {}),
        "extracted": lambda: score({}, {}, value),
        "the extractor returned": lambda: score_text({}, {}, value),
        "gold ": lambda: assert_extraction({}, gold=value, schema={}),
        "the extractor ": lambda: assert_extraction(value, gold={}, schema={}),
        "golds[0]": lambda: validate_golds([value], {}),
        "values[0]": lambda: infer_schema([value]),
    }.items():
        with pytest.raises(ConfigError) as caught:
            call()
        assert str(caught.value).startswith(name)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    "schema", [VALUES["model"], object(), dt.date(2026, 1, 2), Kind.BILL, {1: {}}, type("A", (), {})]
)
def test_what_is_no_schema_is_an_error(schema):
    with pytest.raises(ConfigError, match=r"^schema "):
        compile_schema(schema)


@pytest.mark.parametrize("value", NO_TEXT.values(), ids=NO_TEXT)
def test_what_no_json_text_holds_is_an_error_of_a_gold_and_a_failure_of_an_output(value):
    told = r"no JSON: at .* (no JSON value|too long to read|levels deep)$"
    with pytest.raises(ConfigError, match=told):
        score_text({}, {"a": value}, {})
    with pytest.raises(ConfigError, match=told):
        score({}, {}, {}, accept={"a": [value]})
    for found in (score_text({}, {"a": 1}, {"a": value}), score({}, {"a": 1}, {"a": nested(MAX_DEPTH)})):
        assert found.failure.kind == "malformed_json"
        assert found.failure.path[:1] in (("a",), ())
        assert not any(found.measures.values())
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))


def test_numbers_that_json_lacks_are_compared_by_value_and_written_as_texts():
    schema = {"type": "object", "properties": {"a": {"evaluation_config": "exact"}}}
    gold = {"a": float("nan"), "b": dt.date(2026, 1, 2), "rows": [{"x": [Decimal("-Infinity")]}, {"x": [math.inf]}]}
    extracted = {"a": -math.nan, "b": "2026-01-02", "rows": [{"x": [-math.inf]}, {"x": [math.inf]}]}
    for how in ({}, {"post_process": "reclassify_nulls"}):
        found = score(schema, gold, extracted, **how)
        assert found.measures["pass_rate"] == 1.0
        assert not score(schema, gold, {**extracted, "a": math.inf}, **how).leaves[0].passed
        assert found.to_dict()["leaves"][0]["gold"] == "NaN"
        assert json.dumps(found.to_dict(), allow_nan=False)


def test_further_right_readings_are_converted_too():
    schema = {"type": "object", "properties": {"due": {"type": "string"}}}
    found = score(schema, {"due": "in January"}, {"due": "2026-01-02"}, accept={"due": [dt.date(2026, 1, 2)]})
    assert found.measures["f1"] == 1.0


def test_other_doors_convert_as_well():
    model = VALUES["model"]
    record = {"schema": Invoice, "gold": model, "output": model}
    assert BulkScorer().score(record).outcome == "passed"
    assert optimizer_metric(Invoice)(record, record).score == 1.0
    assert compare_systems(Invoice, model, model) == compare_systems(SCHEMAS["json"], JSON, JSON)
    assert struct_evaluate(Invoice, [model], [model]).records[0].measures["f1"] == 1.0
    assert validate_golds([model], Invoice) == ()
    assert infer_schema([model]) == infer_schema([JSON])
    assert resolve_schema_references(Invoice) == resolve_schema_references(SCHEMAS["json"])
    assert annotate_schema(Invoice, golds=[model]) == annotate_schema(SCHEMAS["json"], golds=[JSON])
    assert compare_values("date", "2026-01-02T10:00:00", dt.date(2026, 1, 2)) == 1.0
