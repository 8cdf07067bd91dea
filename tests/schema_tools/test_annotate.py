"""Metrics put into a schema, by type or by what golds look like."""

from __future__ import annotations

import pytest
from hypothesis import given

from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.schema_tools.golds import annotate_schema, infer_schema
from tests.strategies import json_values


def obj(**properties):
    return {"type": "object", "properties": properties}


def rows(items):
    return {"type": "array", "items": items}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
SKIPPED = {**TEXT, "x-eval-skip": True}
LEAVES = {
    "total": {"type": ["number", "null"]},
    "paid": {"type": "boolean"},
    "lines": rows({"$ref": "#/$defs/line"}),
    "tags": rows(TEXT),
    "any": {},
    "meta": {"type": "object", "additionalProperties": {"type": "integer"}},
    "code": {"anyOf": [TEXT, {"type": "integer"}]},
    "sum": {**NUMBER, "allOf": [{"minimum": 0}]},
    "who": {"allOf": [{"properties": {"name": TEXT}}]},
    "raw": {"type": "object"},
}
INVOICE = {**obj(**LEAVES), "$defs": {"line": obj(sku=TEXT)}}
DIALECTS = {"x-eval": "struct-extract-eval", "evaluation_config": "extract-bench"}
"""And the semantics that takes each."""


def test_x_eval():
    done = annotate_schema(INVOICE)
    fields = done["properties"]
    assert {name: fields[name].get("x-eval-compare") for name in ("total", "paid", "lines", "meta", "raw")} == {
        "total": "numeric", "paid": "exact", "lines": None, "meta": "exact", "raw": "exact",
    }  # fmt: skip
    assert done["$defs"]["line"]["properties"]["sku"]["x-eval-compare"] == "exact"
    assert [branch["x-eval-compare"] for branch in fields["code"]["anyOf"]] == ["exact", "numeric"]
    assert fields["sum"] == {**LEAVES["sum"], "x-eval-compare": "numeric"}
    assert fields["who"]["allOf"][0]["properties"]["name"]["x-eval-compare"] == "exact"


def test_evaluation_config():
    fields = annotate_schema(INVOICE, dialect="evaluation_config")["properties"]
    assert {name: fields[name].get("evaluation_config") for name in ("total", "tags", "any", "raw")} == {
        "total": "number_tolerance", "tags": "array_llm", "any": "string_exact", "raw": None,
    }  # fmt: skip
    assert fields["tags"]["items"]["evaluation_config"] == "string_semantic"
    assert fields["meta"]["additionalProperties"]["evaluation_config"] == "integer_exact"


@pytest.mark.parametrize(("dialect", "semantics"), DIALECTS.items())
def test_an_annotated_schema_compiles_and_stays(dialect, semantics):
    done = annotate_schema(INVOICE, dialect=dialect)
    assert compile_schema(done, semantics=semantics).score({"sum": 1}, {"sum": 1}).measures["f1"] == 1.0
    assert annotate_schema(done, dialect=dialect) == done
    own = obj(**{name: part for name, part in ORDER["properties"].items() if name != "kept"})
    by_golds = annotate_schema({**own, "$defs": ORDER["$defs"]}, dialect=dialect, golds=ORDERS)
    compile_schema(by_golds)
    assert annotate_schema(by_golds, dialect=dialect, golds=ORDERS) == by_golds


@given(value=json_values)
def test_whatever_is_annotated_compiles(value):
    golds = [{"root": value}, {"root": value}]
    for dialect, semantics in DIALECTS.items():
        compile_schema(annotate_schema(infer_schema([value]), dialect=dialect), semantics=semantics)
        schema = infer_schema(golds, widen=True)
        compile_schema(annotate_schema(schema, dialect=dialect, golds=golds), semantics=semantics)


def test_metrics_of_your_own():
    schema = obj(a=TEXT, b=NUMBER)
    metrics = {"string": "text", "number": {"number": {"abs": 0.5}}}
    assert annotate_schema(schema, metrics=metrics)["properties"] == {
        "a": {**TEXT, "x-eval-compare": "text"},
        "b": {**NUMBER, "x-eval-compare": {"number": {"abs": 0.5}}},
    }
    number = {"metric_id": "number", "params": {"abs": 0.5}}
    assert annotate_schema(schema, dialect="evaluation_config", metrics=metrics)["properties"] == {
        "a": {**TEXT, "evaluation_config": {"metrics": [{"metric_id": "text"}]}},
        "b": {**NUMBER, "evaluation_config": {"metrics": [number]}},
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


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_either_dialect_annotates_stays_as_it_is(dialect):
    schema = obj(
        a={**TEXT, "evaluation_config": "string_fuzzy"},
        b={**TEXT, "x-eval-compare": "exact"},
        c={**TEXT, "evaluation_config": "skip"},
        d=SKIPPED,
    )
    assert annotate_schema(schema, dialect=dialect) == schema


# --- by golds

ORDER = {
    **obj(
        vendor=TEXT,
        number=TEXT,
        issued={"type": ["string", "null"]},
        due=TEXT,
        mail={"anyOf": [TEXT, {"type": "integer"}]},
        note=TEXT,
        state={"enum": ["open", "paid"]},
        kept={**TEXT, "x-eval-compare": "text"},
        unseen=TEXT,
        items=rows({"$ref": "#/$defs/item"}),
        tags=rows(TEXT),
    ),
    "$defs": {"item": obj(name=TEXT, sku=TEXT, part={"$ref": "#/$defs/item"})},
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


@pytest.mark.parametrize("text", [TEXT, {"allOf": [TEXT]}, {"$ref": "#/$defs/text"}])
def test_a_branch_has_only_the_golds_of_its_type(text):
    schema = {**obj(note={"oneOf": [obj(n=NUMBER), text]}), "$defs": {"text": TEXT}}
    done = annotate_schema(schema, golds=[{"note": {"n": 1}}, {"note": "https://a.example/b"}])
    places = [done["properties"]["note"]["oneOf"][1], done["$defs"]["text"]]
    assert "url" in [place.get("x-eval-compare") for place in places]


def test_golds_propose_in_the_other_dialect():
    fields = annotate_schema(ORDER, dialect="evaluation_config", golds=ORDERS)["properties"]
    assert {name: fields[name]["evaluation_config"] for name in ("vendor", "number", "due", "note", "items", "tags")} == {
        "vendor": "string_fuzzy", "number": "string_exact", "due": {"metrics": [{"metric_id": "money"}]},
        "note": "string_semantic", "items": {"align": "key", "key": "sku"}, "tags": "array_llm",
    }  # fmt: skip


@pytest.mark.parametrize(
    "lists",
    [
        pytest.param([["A1", "A1", "A2"]], id="not unique"),
        pytest.param([["A1", "A2", None]], id="not in every row"),
        pytest.param([["A1", "A2"]], id="few rows"),
        pytest.param([["A1"], ["A2"], ["A3"]], id="never two rows"),
        pytest.param([["One", "Two", "Three"]], id="names"),
        pytest.param([["2026-01-05", "2026-01-06", "2026-01-07"]], id="dates"),
    ],
)
def test_no_key_is_proposed_that_the_golds_do_not_bear(lists):
    golds = [{"items": [{} if value is None else {"sku": value} for value in values]} for values in lists]
    assert "x-eval-align" not in annotate_schema(ORDER, golds=golds)["properties"]["items"]


def test_no_key_is_proposed_that_the_schema_does_not_declare():
    def align(name):
        golds = [{"items": [{name: "A1"}, {name: "A2"}, {name: "A3"}]}]
        return annotate_schema(ORDER, golds=golds)["properties"]["items"].get("x-eval-align")

    assert align("sku") is not None
    assert align("other") is None


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
    schema, golds = obj(a=TEXT), [{"a": text} for text in texts]
    done = annotate_schema(schema, golds=golds)
    assert done["properties"]["a"]["x-eval-compare"] == metric
    compile_schema(done)
    if isinstance(metric, dict):
        ((name, params),) = metric.items()
        other = annotate_schema(schema, dialect="evaluation_config", golds=golds)
        metrics = [{"metric_id": name, "params": params}]
        assert other["properties"]["a"]["evaluation_config"] == {"metrics": metrics}
