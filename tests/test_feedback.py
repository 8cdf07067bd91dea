"""Scores as text, and as prompt optimizers take them."""

from __future__ import annotations

import json
import sys
import types

import pytest

from pytest_extract import ConfigError, score, score_text
from pytest_extract.feedback import ScoreWithFeedback, optimizer_metric
from tests.core.schemas import NUMBER, TEXT, obj, table

DATE, OPTIONAL = TEXT | {"format": "date"}, {"type": ["string", "null"]}
SCHEMA = obj(vendor=TEXT, total=NUMBER, date=DATE, po=OPTIONAL, items=table(name=TEXT, price=NUMBER))
ROWS = [{"name": "a", "price": 1}, {"name": "b", "price": 2}]
GOLD = {"vendor": "ACME", "total": 1234.5, "date": "2024-05-03", "po": None, "items": ROWS}
WRONG = {"vendor": "Beta", "total": 12345, "date": "2024-03-05", "po": "77", "items": ROWS[:1]}


def test_feedback_names_each_mistake_with_both_values():
    assert score(SCHEMA, GOLD, WRONG).feedback().splitlines() == [
        "0 of 5 fields are right.",
        '- vendor: is "Beta", expected "ACME"',
        "- total: is 12345, expected 1234.5 (power of ten: 10 times the gold)",
        '- date: is "2024-03-05", expected "2024-05-03" (day and month: day and month were swapped)',
        '- po: is "77", expected no value (invented: the gold has no value)',
        '- items[1].name, items[1].price: is missing, expected "b" (missing row: row 1 is missing)',
    ]
    short = score(SCHEMA, GOLD, WRONG).feedback(most=2)
    assert short.endswith("And 3 more mistakes.")
    assert len(short.splitlines()) == 4
    assert len(score(SCHEMA, {"vendor": "x" * 500}, {"vendor": "y" * 500}).feedback()) < 400


def test_feedback_on_a_right_an_unreadable_and_an_invalid_output():
    assert score(SCHEMA, GOLD, GOLD).feedback() == "4 of 4 fields are right."
    assert score_text(SCHEMA, GOLD, "no idea").feedback().startswith("The output could not be read: no_json")
    invalid = score(SCHEMA, GOLD, {**GOLD, "total": "12"}).feedback()
    assert "The schema gate failed: the output breaks the schema at `total`" in invalid
    assert '- total: is "12", expected 1234.5' in invalid


class Record(types.SimpleNamespace):
    """Stands for `dspy.Example` and `dspy.Prediction`, whose fields are attributes."""


def test_a_metric_of_score_feedback_and_objectives(monkeypatch):
    monkeypatch.delitem(sys.modules, "dspy", raising=False)
    metric = optimizer_metric(SCHEMA, gold="expected", output="invoice", measure="f1")
    found = metric(Record(expected=GOLD), Record(invoice=json.dumps(WRONG)), None, "extract", None)
    assert isinstance(found, ScoreWithFeedback)
    assert float(found) == found.score == score(SCHEMA, GOLD, WRONG).measures["f1"]
    assert found.feedback == score(SCHEMA, GOLD, WRONG).feedback()
    wrong = dict.fromkeys(("vendor", "total", "date", "po"), 0.0)
    assert dict(found.objective_scores) == {**wrong, "items[].name": 0.5, "items[].price": 0.5}
    assert metric({"expected": GOLD}, {"invoice": GOLD}).score == 1.0
    unread = metric({"expected": GOLD}, {"invoice": "no idea"})
    assert (unread.score, {*unread.objective_scores.values()}) == (0.0, {0.0})


def test_the_metric_takes_the_arguments_of_a_score():
    metric = optimizer_metric(SCHEMA, overrides={"vendor": "skip"}, confidence="wrapper", most=1)
    output = {"vendor": "b", "total": {"value": 1, "confidence": 1}}
    assert metric({"gold": {"vendor": "a", "total": 1}}, {"output": output}).score == 1.0


def test_mistakes_in_the_use_of_the_metric():
    with pytest.raises(ConfigError, match="looks for 'gold', and dict has none"):
        optimizer_metric(SCHEMA)({}, {"output": 1})
    with pytest.raises(ConfigError, match="no measure 'passrate'; did you mean 'pass_rate'"):
        optimizer_metric(SCHEMA, measure="passrate")({"gold": GOLD}, {"output": GOLD})


def test_the_metric_gives_dspy_its_prediction(monkeypatch):
    module = types.ModuleType("dspy")
    module.Prediction = Record
    monkeypatch.setitem(sys.modules, "dspy", module)
    found = optimizer_metric(SCHEMA)(Record(gold=GOLD), Record(output=GOLD))
    assert (type(found), found.score, found.feedback) == (Record, 1.0, "4 of 4 fields are right.")


def test_the_released_dspy_reads_score_and_objectives():
    dspy = pytest.importorskip("dspy")
    gepa_utils = pytest.importorskip("dspy.teleprompt.gepa.gepa_utils")
    found = optimizer_metric(SCHEMA)(dspy.Example(gold=GOLD), dspy.Prediction(output=GOLD), None, "predictor", None)
    assert isinstance(found, dspy.Prediction)
    score_of = gepa_utils._extract_score_and_objective_scores(found)
    assert score_of == (1.0, dict.fromkeys(("vendor", "total", "date", "items[].name", "items[].price"), 1.0))
