from __future__ import annotations

import pytest
from hypothesis import given

from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.schema_tools.annotate import annotate_schema
from pytest_extract.schema_tools.infer import infer_schema
from tests.strategies import json_values

INVOICE = {
    "type": "object",
    "properties": {
        "total": {"type": ["number", "null"]},
        "paid": {"type": "boolean"},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string", "x-eval-skip": True},
        "any": {},
        "meta": {"type": "object", "additionalProperties": {"type": "integer"}},
        "code": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "sum": {"type": "number", "allOf": [{"minimum": 0}]},
        "who": {"allOf": [{"properties": {"name": {"type": "string"}}}]},
        "raw": {"type": "object"},
    },
    "$defs": {"line": {"type": "object", "properties": {"sku": {"type": "string"}}}},
}


def test_x_eval():
    done = annotate_schema(INVOICE)
    fields = done["properties"]
    assert fields["total"]["x-eval-compare"] == "numeric"
    assert fields["paid"]["x-eval-compare"] == "exact"
    assert fields["lines"] == INVOICE["properties"]["lines"]
    assert done["$defs"]["line"]["properties"]["sku"]["x-eval-compare"] == "exact"
    assert fields["note"] == INVOICE["properties"]["note"]
    assert fields["meta"] == {**INVOICE["properties"]["meta"], "x-eval-compare": "exact"}
    assert [branch["x-eval-compare"] for branch in fields["code"]["anyOf"]] == ["exact", "numeric"]
    assert fields["sum"] == {"type": "number", "allOf": [{"minimum": 0}], "x-eval-compare": "numeric"}
    assert fields["who"]["allOf"][0]["properties"]["name"]["x-eval-compare"] == "exact"
    assert fields["raw"]["x-eval-compare"] == "exact"


def test_evaluation_config():
    schema = {**INVOICE, "properties": {k: v for k, v in INVOICE["properties"].items() if k != "note"}}
    fields = annotate_schema(schema, dialect="evaluation_config")["properties"]
    assert fields["total"]["evaluation_config"] == "number_tolerance"
    assert fields["tags"]["evaluation_config"] == "array_llm"
    assert fields["tags"]["items"]["evaluation_config"] == "string_semantic"
    assert fields["any"]["evaluation_config"] == "string_exact"
    assert fields["raw"] == {"type": "object"}
    assert fields["meta"]["additionalProperties"]["evaluation_config"] == "integer_exact"


def test_metrics_of_your_own():
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}}
    metrics = {"string": "text", "number": {"number": {"abs": 0.5}}}
    assert annotate_schema(schema, metrics=metrics)["properties"] == {
        "a": {"type": "string", "x-eval-compare": "text"},
        "b": {"type": "number", "x-eval-compare": {"number": {"abs": 0.5}}},
    }
    assert annotate_schema(schema, dialect="evaluation_config", metrics=metrics)["properties"] == {
        "a": {"type": "string", "evaluation_config": {"metrics": [{"metric_id": "text"}]}},
        "b": {
            "type": "number",
            "evaluation_config": {"metrics": [{"metric_id": "number", "params": {"abs": 0.5}}]},
        },
    }


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"strnig": "text"}, "no JSON type 'strnig' to annotate; did you mean 'string'?"),
        ({"string": "fuzy"}, "no metric 'fuzy' for string; did you mean 'fuzzy'?"),
        ({"string": {"fuzzy": {"threshold": 2}}}, "must be a number from 0 to 1"),
        ({"string": ["fuzzy"]}, "a metric is given as its name"),
    ],
)
def test_a_wrong_metric_is_told(metrics, message):
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        annotate_schema({}, metrics=metrics)


def test_what_is_no_schema_is_refused():
    with pytest.raises(SchemaError, match="must be an object, not array"):
        annotate_schema([])


@given(value=json_values)
def test_annotated_schemas_compile(value):
    schema = infer_schema([value])
    compile_schema(annotate_schema(schema), semantics="struct-extract-eval")
    compile_schema(annotate_schema(schema, dialect="evaluation_config"), semantics="extract-bench")


@pytest.mark.parametrize("dialect", ["x-eval", "evaluation_config"])
def test_a_schema_with_compositions_compiles_once_annotated(dialect):
    schema = {**INVOICE, "properties": {k: v for k, v in INVOICE["properties"].items() if k != "note"}}
    done = annotate_schema(schema, dialect=dialect)
    semantics = "struct-extract-eval" if dialect == "x-eval" else "extract-bench"
    assert compile_schema(done, semantics=semantics).score({"sum": 1}, {"sum": 1}).measures["f1"] == 1.0
    assert annotate_schema(done, dialect=dialect) == done


@pytest.mark.parametrize("dialect", ["x-eval", "evaluation_config"])
def test_what_the_other_dialect_annotates_stays_as_it_is(dialect):
    properties = {
        "a": {"type": "string", "evaluation_config": "string_fuzzy"},
        "b": {"type": "string", "x-eval-compare": "exact"},
        "c": {"type": "string", "evaluation_config": "skip"},
        "d": {"type": "string", "x-eval-skip": True},
    }
    schema = {"type": "object", "properties": properties}
    assert annotate_schema(schema, dialect=dialect) == schema
