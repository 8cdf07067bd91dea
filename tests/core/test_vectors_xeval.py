"""Agreement with struct-extract-eval's published results (scoring.md, "What the vectors ask of us")."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_extract.core.score.run import STRUCTURE
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import SchemaError
from tests.shared_data import jsonl, shared
from tests.vector_judges import xeval_judge

shared("vectors/xeval.jsonl")
VECTORS = list(jsonl("vectors/xeval.jsonl"))
ON_PURPOSE = {"object:dotted-name", "hungarian:over-limit-is-ordered"}


def published_path(path):
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def as_published(leaves):
    names = {"judge_error": "batch_error"}
    return Counter((published_path(r.path), names.get(r.status, str(r.status)), round(r.score, 9)) for r in leaves)


def expected_of(record):
    return Counter((path, status, round(score, 9)) for path, status, score, _ in record["fields"])


def about_containers(vector, results):
    """Results that `reclassify_nulls` changes in the published program though they are about a container's shape."""
    if (vector["post_process"] or {}).get("name") != "reclassify_nulls":
        return set()
    return {published_path(result.path) for result in results if result.metric == STRUCTURE}


@pytest.mark.parametrize("vector", [v for v in VECTORS if "expected" in v], ids=lambda vector: vector["id"])
def test_published_results(vector):
    if ON_PURPOSE & set(vector["tags"]):
        pytest.skip("differs on purpose")
    scorer = compile_schema(vector["schema"], semantics="struct-extract-eval", post_process=vector["post_process"])
    judge = xeval_judge if vector["judge"] else None
    records = zip(vector["gold"], vector["extracted"], vector["expected"]["records"], strict=True)
    for gold, extracted, record in records:  # those with several equally good assignments too
        score = scorer.score(gold, extracted, judge=judge)
        ours, theirs = as_published(score.leaves), expected_of(record)
        containers = about_containers(vector, score.leaves)
        assert {r for r in ours - theirs if r[0] not in containers} == set()
        assert {r for r in theirs - ours if r[0] not in containers} == set()
        if ours == theirs:
            measures = [score.measures[name] for name in ("precision", "recall", "f1")]
            assert measures == pytest.approx([record[name] for name in ("precision", "recall", "f1")], abs=1e-9)


@pytest.mark.parametrize("vector", [v for v in VECTORS if "error" in v], ids=lambda vector: vector["id"])
def test_what_the_published_program_refuses_is_scored_or_a_configuration_error(vector):
    try:
        scorer = compile_schema(vector["schema"], semantics="struct-extract-eval")
    except SchemaError:
        return
    for gold, extracted in zip(vector["gold"], vector["extracted"], strict=False):
        assert scorer.score(gold, extracted).leaves
