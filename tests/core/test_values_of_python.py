"""Golds, outputs and schemas of Python's own kinds are converted alike, whichever door they come through."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import types
from decimal import Decimal
from typing import Any

import pydantic
import pytest
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
from pytest_extract.feedback import optimizer_metric
from pytest_extract.systems import compare_systems, struct_evaluate
from tests.loaded import load_everything

load_everything()


class Kind(enum.Enum):
    BILL = "bill"


class Line(pydantic.BaseModel):
    name: str
    price: Decimal


class Invoice(pydantic.BaseModel):
    kind: Kind
    due: dt.date
    at: dt.datetime
    lines: list[Line]
    net: float = pydantic.Field(alias="netSum")


@dataclasses.dataclass
class Bill:
    kind: Kind
    due: dt.date
    at: dt.datetime
    lines: list[Line]
    netSum: float  # noqa: N815 - as the alias of the other


class Typed(TypedDict):
    kind: Kind
    due: dt.date
    at: dt.datetime
    lines: list[Line]
    netSum: float


PARTS: dict[str, Any] = {
    "kind": Kind.BILL,
    "due": dt.date(2026, 1, 2),
    "at": dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC),
}
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
    "adapter": pydantic.TypeAdapter(Invoice),
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
    for found in (
        score(schema, gold, output),
        score_text(schema, gold, output),
        compile_schema(schema).score(gold, output),
        assert_extraction(output, gold=gold, schema=schema),
    ):
        assert found.measures["pass_rate"] == found.measures["f1"] == 1.0
        assert found.gates.schema.passed


@pytest.mark.parametrize("value", [*VALUES.values()][1:], ids=[*VALUES][1:])
def test_a_wrong_value_is_told(value):
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


def test_numbers_that_json_lacks_do_not_keep_their_neighbours_from_being_converted():
    gold = {"a": float("nan"), "b": dt.date(2026, 1, 2)}
    assert score({}, gold, {**gold, "b": "2026-01-02"}).measures["f1"] == 1.0


def test_a_whole_value_may_be_missing():
    assert score({}, {"a": 1}, MISSING).measures["f1"] == score({}, MISSING, {"a": 1}).measures["f1"] == 0.0


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
