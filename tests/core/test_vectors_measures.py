"""SOB's and DeepJSONEval's published numbers as the public functions give them, with nothing beside."""

from __future__ import annotations

import json

import pytest

from pytest_extract import MISSING, score, score_text
from pytest_extract.core.measures import PUBLISHED_NAMES
from tests.shared_data import jsonl

DEEPJSONEVAL = {"syntax": "format", "key_match": "detailed", "strict": "strict"}


def assert_numbers(measures, names, expected, vector):
    found = {published: measures[name] for name, published in names.items()}
    assert found == pytest.approx({name: expected[name] for name in found}, abs=1e-9, rel=0), vector["id"]


def test_sob():
    for vector in jsonl("vectors/sob.jsonl"):
        record = vector["record"]
        gold, extracted = (record["output"].get(side, MISSING) for side in ("ground_truth", "candidate_response"))
        gold = None if gold is MISSING else gold
        measures = score(record["input"].get("json_schema"), gold, extracted, modality=vector["modality"]).measures
        if "expected" in vector:
            assert_numbers(measures, PUBLISHED_NAMES, vector["expected"], vector)


def by_their_protocol(output):
    """What DeepJSONEval's program reads of an answer: the last ```json block, or all of it."""
    try:
        return json.loads(output.split("```json")[-1].split("```")[0])
    except (AttributeError, ValueError):
        return MISSING


def test_deepjsoneval():
    """Ours reads more of a text (a plain fence, prose) and less (NaN, a key given twice); what both read scores the same."""
    seen = 0
    for vector in jsonl("vectors/deepjson.jsonl"):
        gold, extracted = json.loads(vector["answer"]), by_their_protocol(vector["model_output"])
        measures = score(vector["schema"], gold, extracted).measures
        found = score_text(vector["schema"], gold, vector["model_output"])
        if "expected" not in vector:  # scored all the same
            continue
        assert_numbers(measures, DEEPJSONEVAL, vector["expected"], vector)
        if extracted is not MISSING and found.gates.parse.passed:
            assert_numbers(found.measures, DEEPJSONEVAL, vector["expected"], vector)
            seen += 1
    assert seen > 50
