from __future__ import annotations

import pytest
from hypothesis import given

from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.schema_tools.golds import annotate_schema, infer_schema
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
        ({"string": "fuzy"}, "string: no metric 'fuzy'; did you mean 'fuzzy'?"),
        ({"string": {"fuzzy": {"threshold": 2}}}, "must be a number from 0 to 1"),
        ({"string": ["fuzzy"]}, "must be a name or a mapping"),
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


ORDER = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "number": {"type": "string"},
        "issued": {"type": ["string", "null"]},
        "due": {"type": "string"},
        "mail": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "note": {"type": "string"},
        "state": {"enum": ["open", "paid"]},
        "kept": {"type": "string", "x-eval-compare": "text"},
        "unseen": {"type": "string"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "$defs": {
        "item": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "sku": {"type": "string"}, "part": {"$ref": "#/$defs/item"}},
        }
    },
}
NOTE = "Goods that are not paid for in thirty days stay the property of the seller."
ORDERS = [
    {
        "vendor": "ACME GmbH", "number": "2026-117", "issued": "2026-01-05", "due": "EUR 1,109.50", "mail": "a@b.example",
        "note": NOTE, "state": "open", "kept": "x1", "tags": ["new", "very good"],
        "items": [{"name": "Bolt", "sku": "A-1", "part": {"name": "Head of it"}}, {"name": "Bolt", "sku": "A-2"}],
    },
    {"vendor": "Mueller AG 1", "number": "X7", "issued": None, "due": "12.50 \u20ac", "mail": 7, "note": NOTE,
     "state": "paid", "items": [{"name": "Nut", "sku": "A-1"}]},
]  # fmt: skip


def test_golds_propose_by_what_they_look_like():
    done = annotate_schema(ORDER, golds=ORDERS)
    fields = done["properties"]
    mail = fields.pop("mail")
    assert [branch["x-eval-compare"] for branch in mail["anyOf"]] == ["email", "numeric"]
    assert {name: part.get("x-eval-compare") for name, part in fields.items()} == {
        "vendor": "fuzzy", "number": "exact", "issued": "date", "due": "money", "note": "semantic", "state": "exact",
        "kept": "text", "unseen": "exact", "items": None, "tags": None,
    }  # fmt: skip
    assert fields["items"]["x-eval-align"] == {"ordered": False, "match_by": "key_field", "key": "sku"}
    assert fields["tags"] == {"type": "array", "items": {"type": "string", "x-eval-compare": "fuzzy"}}
    item = done["$defs"]["item"]["properties"]
    assert (item["name"]["x-eval-compare"], item["sku"]["x-eval-compare"]) == ("fuzzy", "exact")


@pytest.mark.parametrize("text", [{"type": "string"}, {"allOf": [{"type": "string"}]}, {"$ref": "#/$defs/text"}])
def test_a_branch_has_only_the_golds_of_its_type(text):
    note = {"oneOf": [{"type": "object", "properties": {"n": {"type": "number"}}}, text]}
    schema = {"type": "object", "properties": {"note": note}, "$defs": {"text": {"type": "string"}}}
    done = annotate_schema(schema, golds=[{"note": {"n": 1}}, {"note": "https://a.example/b"}])
    places = [done["properties"]["note"]["oneOf"][1], done["$defs"]["text"]]
    assert "url" in [place.get("x-eval-compare") for place in places]


def test_golds_propose_in_the_other_dialect():
    own = {**ORDER, "properties": {name: part for name, part in ORDER["properties"].items() if name != "kept"}}
    fields = annotate_schema(own, dialect="evaluation_config", golds=ORDERS)["properties"]
    assert {name: fields[name]["evaluation_config"] for name in ("vendor", "number", "due", "note", "items", "tags")} == {
        "vendor": "string_fuzzy", "number": "string_exact", "due": {"metrics": [{"metric_id": "money"}]},
        "note": "string_semantic", "items": {"align": "key", "key": "sku"}, "tags": "array_llm",
    }  # fmt: skip


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([[{"sku": "A1"}, {"sku": "A1"}, {"sku": "A2"}]], id="not unique"),
        pytest.param([[{"sku": "A1"}, {"sku": "A2"}, {"name": "x"}]], id="not in every row"),
        pytest.param([[{"sku": "A1"}, {"sku": "A2"}]], id="few rows"),
        pytest.param([[{"sku": "A1"}], [{"sku": "A2"}], [{"sku": "A3"}]], id="never two rows"),
        pytest.param([[{"sku": "One"}, {"sku": "Two"}, {"sku": "Three"}]], id="names"),
        pytest.param([[{"sku": "2026-01-05"}, {"sku": "2026-01-06"}, {"sku": "2026-01-07"}]], id="dates"),
        pytest.param([[{"other": "A1"}, {"other": "A2"}, {"other": "A3"}]], id="not declared"),
    ],
)
def test_no_key_is_proposed_that_the_golds_do_not_bear(rows):
    done = annotate_schema(ORDER, golds=[{"items": each} for each in rows])
    assert "x-eval-align" not in done["properties"]["items"]


@given(json_values)
def test_what_golds_propose_compiles(value):
    golds = [{"root": value}, {"root": value}]
    schema = infer_schema(golds, widen=True)
    for dialect, semantics in (("x-eval", "struct-extract-eval"), ("evaluation_config", "extract-bench")):
        compile_schema(annotate_schema(schema, dialect=dialect, golds=golds), semantics=semantics)


@pytest.mark.parametrize("dialect", ["x-eval", "evaluation_config"])
def test_a_schema_annotated_by_golds_compiles_and_stays(dialect):
    own = {**ORDER, "properties": {name: part for name, part in ORDER["properties"].items() if name != "kept"}}
    done = annotate_schema(own, dialect=dialect, golds=ORDERS)
    compile_schema(done)
    assert annotate_schema(done, dialect=dialect, golds=ORDERS) == done


@pytest.mark.parametrize(
    ("texts", "metric"),
    [
        (["USD", "EUR"], "exact"),
        (["FY2025 Q1", "FY2025 Q2"], "exact"),
        (["company", "company", "company"], "exact"),
        (["company", "segment"], "fuzzy"),
        (["ACME GmbH", "ACME GmbH", "ACME GmbH"], "fuzzy"),
        (["https://a.example/b"], "url"),
        (["2026-02-01", "2026-02"], "date"),
        (["5 January 2026", "2026-02-01"], {"date": {"order": "DMY"}}),
        (["15.03.2024", "2024-03-16"], {"date": {"order": "DMY"}}),
        (["03/15/2024", "03/04/2024"], {"date": {"order": "MDY"}}),
        (["03/15/2024", "15/03/2024"], "exact"),
        (["15.03.24"], "exact"),
        (["5 January 2026", "soon"], "fuzzy"),
        (["$ 5.00", "USD 7"], "money"),
        (["1.234,50 \u20ac", "2 \u20ac"], {"money": {"locale": "de"}}),
        (["1\u202f234,50 \u20ac"], {"money": {"locale": "fr"}}),
        (["CHF 1'234.50"], {"money": {"locale": "de-CH"}}),
        (["\u20b9 1,23,456.50"], {"money": {"locale": "en-IN"}}),
        (["\u20ac 1,234.50", "1.234,50 \u20ac"], "fuzzy"),
        (["FYQ 2025"], "exact"),
        ([" ", ""], "exact"),
        (["A-1", 7], "exact"),
    ],
)
def test_a_text_s_metric_fits_all_its_values(texts, metric):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    done = annotate_schema(schema, golds=[{"a": text} for text in texts])
    assert done["properties"]["a"]["x-eval-compare"] == metric
    if isinstance(metric, dict):
        other = annotate_schema(schema, dialect="evaluation_config", golds=[{"a": text} for text in texts])
        ((name, params),) = metric.items()
        expected = {"metrics": [{"metric_id": name, "params": params}]}
        assert other["properties"]["a"]["evaluation_config"] == expected
    compile_schema(done)
