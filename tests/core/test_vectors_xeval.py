"""Agreement with struct-extract-eval's published results (scoring.md, "What the vectors ask of us")."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from pytest_extract.core.aggregate import struct_eval_run
from pytest_extract.core.engine.context import STRUCTURE
from pytest_extract.core.results import Status
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


def as_reclassified(vector, result):
    """A result as the published program has it: `reclassify_nulls` makes a container's type mismatch disappear."""
    post = vector["post_process"] or {}
    kept = result.metric != STRUCTURE or result.status is not Status.MISMATCH
    if kept or post.get("name") != "reclassify_nulls" or None not in post.get("absent_values", [None]):
        return result
    if post.get("both_absent_skip", True):
        return result._replace(status=Status.SKIPPED, score=0.0)
    return result._replace(status=Status.MATCH, score=1.0, passed=True)


PUBLISHED = [v for v in VECTORS if "expected" in v and not ON_PURPOSE & set(v["tags"])]


def scores_of(vector):
    """Our scores of a vector's records, those with several equally good assignments too."""
    scorer = compile_schema(vector["schema"], semantics="struct-extract-eval", post_process=vector["post_process"])
    judge = xeval_judge if vector["judge"] else None
    records = zip(vector["gold"], vector["extracted"], strict=False)
    return [scorer.score(gold, extracted, judge=judge) for gold, extracted in records]


@pytest.mark.parametrize("vector", PUBLISHED, ids=lambda vector: vector["id"])
def test_published_results(vector):
    """Leaf results after post-processing, the measures of each record, and the means, totals and table of the run."""
    records, expected = [], vector["expected"]
    for score, record in zip(scores_of(vector), expected["records"], strict=True):
        leaves = [as_reclassified(vector, leaf) for leaf in score.leaves]
        assert as_published(leaves) == expected_of(record)
        if leaves == list(score.leaves):
            measures = [score.measures[name] for name in ("precision", "recall", "f1")]
            assert measures == pytest.approx([record[name] for name in ("precision", "recall", "f1")], abs=1e-9)
        records.append([leaf._replace(path=published_path(leaf.path)) for leaf in leaves])
    run, numbers = struct_eval_run(records), dict(expected["run"])
    table = numbers.pop("per_field")
    assert {
        path: [counts.mean_score, counts.match, counts.mismatch, counts.omission, counts.hallucination]
        for path, counts in run.per_field.items()
    } == {path: pytest.approx(row, abs=1e-9) for path, row in table.items()}
    assert {name: getattr(run, name) for name in numbers} == pytest.approx(numbers, abs=1e-9)


VALUE = re.compile(r"transform requires a \w+, got|Cannot convert|must have the same length")
"""A value that a transform does not take, or records without a partner, end the published run."""


@pytest.mark.parametrize("vector", [v for v in VECTORS if "error" in v], ids=lambda vector: vector["id"])
def test_what_the_published_program_refuses_is_scored_or_a_configuration_error(vector):
    """What is wrong with a value is scored; what is wrong with a parameter is an error before anything is scored."""
    if not VALUE.search(vector["error"]["message"]):
        with pytest.raises(SchemaError, match="parameter"):
            compile_schema(vector["schema"], semantics="struct-extract-eval")
        return
    assert all(score.leaves for score in scores_of(vector))
