"""Cases whose metrics are the project's own can be read without them."""

from __future__ import annotations

import json

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache, compile_structure, without_annotations
from tests.core.test_complexity import nested

SCHEMA = {
    "type": "object",
    "x-eval-post": "mine",
    "properties": {
        "a": {"type": "string", "x-eval-compare": "mine", "const": {"x-eval-compare": 1}},
        "evaluation_config": {"type": "array", "items": {"anyOf": [{"evaluation_config": "mine"}, {"type": "null"}]}},
    },
}


def test_only_annotations_go():
    assert without_annotations(SCHEMA) == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "const": {"x-eval-compare": 1}},
            "evaluation_config": {"type": "array", "items": {"anyOf": [{}, {"type": "null"}]}},
        },
    }


def test_own_metrics_are_no_mistake_and_unknown_fields_are(tmp_path):
    case = {"text": "x", "schema": SCHEMA, "gold": {}, "overrides": {"a": "mine"}, "post_process": "mine"}
    path = tmp_path / "a.extract.yaml"
    path.write_text(json.dumps(case), encoding="utf-8")
    assert load_cases(path, SchemaCache()).errors
    assert [case.id for case in load_cases(path, SchemaCache(compile_structure)).cases] == ["a"]
    path.write_text(json.dumps({**case, "absent": {"b": "must"}}), encoding="utf-8")
    (error,) = load_cases(path, SchemaCache(compile_structure)).errors
    assert "'b'" in error.message


@pytest.mark.parametrize(
    "keys",
    [
        {"thresholds": {"measures": {"mine": 0.5}}},
        {"thresholds": {"fields": {"o": 0.5}}},
        {"absent": {"o": "either"}},
    ],
    ids=["measure", "field", "absent"],
)
def test_what_only_scoring_knows_is_no_mistake(tmp_path, keys):
    schema = {"type": "object", "properties": {"o": {"type": "object", "properties": {"b": {"type": "integer"}}}}}
    path = tmp_path / "a.extract.yaml"
    path.write_text(json.dumps({"text": "x", "schema": schema, "gold": {"o": {"b": 1}}, **keys}), encoding="utf-8")
    assert load_cases(path, SchemaCache(compile_structure)).errors == ()


def test_a_deep_schema_does_not_crash():
    without_annotations(nested(10_000))
