"""ExtractBench's golds, scored against themselves and against spoilt copies (shared data; skipped without)."""

from __future__ import annotations

import copy
import json

import pytest

from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import iter_leaves
from tests.shared_data import shared

DATASET = shared("data/extract-bench/dataset")
GOLDS = sorted(DATASET.glob("*/*/pdf+gold/*.gold.json"))


def scorer_for(gold, **how):
    folder = gold.parents[1]
    schema = json.loads(next(folder.glob("*-schema.json")).read_text(encoding="utf-8"))
    return compile_schema(schema.get("schema_definition", schema), **how)


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("semantics", ["extract-bench", "default"])
@pytest.mark.parametrize("gold", GOLDS, ids=lambda path: path.name.removesuffix(".gold.json")[:30])
def test_a_gold_scores_1_against_itself_without_a_judge(gold, semantics):
    score = scorer_for(gold, semantics=semantics).score(load(gold), load(gold), gates={"schema": False})
    assert score.questions_asked == 0
    assert [score.measures[name] for name in ("pass_rate", "mean_score", "precision", "recall", "f1")] == [1.0] * 5


@pytest.mark.parametrize("gold", GOLDS, ids=lambda path: path.name.removesuffix(".gold.json")[:30])
def test_every_value_of_a_gold_is_looked_at(gold):
    value = load(gold)
    score = scorer_for(gold, semantics="default").score(value, value, gates={"schema": False})
    seen = {leaf.path for leaf in score.leaves}
    # compared where they stand, or as part of a value that the schema does not describe
    missed = [
        path
        for path, leaf in iter_leaves(value)
        if leaf is not None and not any(path[:end] in seen for end in range(len(path) + 1))
    ]
    assert missed == []


def test_items_of_the_wrong_type_inside_arrays_are_scored():
    (path,) = [gold for gold in GOLDS if gold.name.startswith("shah24")]
    gold = load(path)
    spoilt = copy.deepcopy(gold)
    lists = [key for key, value in gold.items() if isinstance(value, list) and value]
    spoilt[lists[0]][0] = ["not", "of", "this", "type"]
    score = scorer_for(path, semantics="default", judge_mode="fuzzy").score(gold, spoilt, gates={"schema": False})
    assert {leaf.status for leaf in score.leaves} >= {Status.MATCH, Status.HALLUCINATION}
    assert score.measures["f1"] < 1.0


def test_the_resume_schema_stands_under_a_pointer():
    folder = DATASET / "hiring" / "resume"
    schema = load(folder / "resume-schema.json")
    wrapped = compile_schema(schema, semantics="default")
    assert compile_schema(schema["schema_definition"]).program.patterns.keys() != wrapped.program.patterns.keys()
