"""DeepJSONEval's criteria: the published numbers, the rule by hand, and where the published program raises."""

from __future__ import annotations

import json

import pytest

from pytest_extract.core.measures.published import (
    NO_JSON,
    NO_MATCH,
    NO_PATTERN,
    SCORED,
    DocumentPair,
    DocumentSchema,
    deepjson_measures,
    deepjson_text,
    key_match,
)
from pytest_extract.core.values import MISSING
from tests.shared_data import jsonl


def test_published_scores():
    for vector in jsonl("vectors/deepjson.jsonl"):
        score = deepjson_text(vector["model_output"], json.loads(vector["answer"]), vector["schema"])
        if "error" in vector:
            assert 0.0 <= score.detailed <= 1.0
            continue
        found = {"format": score.format, "detailed": score.detailed, "strict": score.strict, "note": score.note}
        expected = vector["expected"] | {"detailed": pytest.approx(vector["expected"]["detailed"], abs=1e-9)}
        assert found == expected, vector["id"]


@pytest.mark.parametrize(
    ("gold", "value", "score"),
    [
        ({"a": "x", "b": 1}, {"a": "x", "b": 1}, 1.0),
        ({"a": "x", "b": 1}, {"a": "x", "b": 2, "c": 3}, 1 / 3),
        ({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 1}, "d": 3}, 0.75),
        ({"a": None}, {"a": None}, 0.0),
        ({"a": [None, 1]}, {"a": [1, None]}, 1.0),
        ({"a": 1}, {"a": True}, 1.0),
        ({}, {}, 1.0),
        ({}, {"a": 1}, 0.0),
        ([], [], 1.0),
        ([], {}, 0.0),
        ([1, 2, 2], [2, 1], 1.0),
        ([1, 2, 3], [3, 4], 1 / 4),
        ([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}], 0.0),
        ([{"a": 1}, {"a": 2}], [{"a": 1}], 0.5),
        ([{"a": 1}], [{"a": 1}, {"a": 2}, {"a": 3}], 1 / 3),
        ([{"a": 1}], [], 0.0),
        ([{"a": 1}], [{"a": 1}, 2], 0.0),
        ([[1], [2], [2]], [[2], [2], [3]], 0.5),
        ([{"a": 1}, 2], [2, {"a": 1}], 1.0),
        ([1, 2], [1, {"a": 2}], 1 / 3),
        ([1], "1", 0.0),
        (None, None, 0.0),
    ],
)
def test_key_match(gold, value, score):
    assert key_match(gold, value) == pytest.approx(score)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('Yes:\n```json\n{"a": 1}\n```\nDone.', SCORED),
        ('{"a": 1}', SCORED),
        ('```json\n{"a": 1}', SCORED),
        ('```json\n{"a": 2}\n```\n```json\n{"a": 1}\n```', SCORED),
        ('```\n{"a": 1}\n```', NO_JSON),
        ('```JSON\n{"a": 1}\n```', NO_JSON),
        ('Here: {"a": 1}', NO_JSON),
        ('{"a": 1,}', NO_JSON),
        ("[" * 10_000, NO_JSON),
        ('{"a": "x"}', NO_MATCH),
        (None, NO_PATTERN),
        (float("nan"), NO_PATTERN),
    ],
)
def test_the_published_text_protocol(text, note):
    score = deepjson_text(text, {"a": 1}, {"properties": {"a": {"type": "integer"}}})
    assert score.note == note
    assert (score.format, score.detailed, score.strict) == ((1, 1.0, 1) if note == SCORED else (0, 0.0, 0))


@pytest.mark.parametrize(
    ("extracted", "schema"), [({}, {"$ref": "#/nowhere"}), ({}, {"type": "strnig"}), ({}, None), (MISSING, {})]
)
def test_no_output_and_a_schema_that_cannot_be_used_score_nothing(extracted, schema):
    measures = deepjson_measures(DocumentPair({}, extracted, DocumentSchema(schema)))
    assert measures == {"syntax": 0.0, "key_match": 0.0, "strict": 0.0}
