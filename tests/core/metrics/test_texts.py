"""Metrics of texts, lists and choices: equal, fuzzy, tokens, choices, sets, patterns, judged."""

from __future__ import annotations

import difflib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.gates import GateConfig
from pytest_extract.core.measures.published import DocumentPair, DocumentSchema, sob_measures
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.texts import LONGEST_TEXT
from tests.core.metrics.helpers import bound
from tests.strategies import scalars

CODE = {"pattern": r"[A-Z]{2}\d+"}


@pytest.mark.parametrize(
    ("metric", "params", "gold", "extracted", "score"),
    [
        ("text", {}, "e\u0301 a", "\u00e9\u00a0a", 1.0),
        ("text", {}, ["a "], ["a"], 0.0),
        ("exact", {}, "e\u0301", "\u00e9", 0.0),
        ("exact", {}, {"a": [1, None]}, {"a": [1.0, None]}, 1.0),
        ("boolean", {}, "yes", "yes", 1.0),
        ("string_exact", {}, True, "True", 1.0),
        ("string_exact", {}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, 0.0),
        ("string_case_insensitive", {}, "\ufb01ne", "FINE", 1.0),
        ("boolean_exact", {}, 42, 42.0, 1.0),
        ("boolean_exact", {}, 0, False, 0.0),
        ("fuzzy", {"case_sensitive": True}, "AB", "ab", 0.0),
        ("fuzzy", {}, 5, 5.0, 1.0),
        ("string_fuzzy", {}, 42, "42", 1.0),
        ("string_fuzzy", {"case_sensitive": "false"}, "A", "a", 0.0),
        ("token_f1", {}, "A", "the", 1.0),
        ("limited_text", {"max_length": 4}, "abcdefgh", "abcdefgh", 1.0),
        ("limited_text", {"max_length": 4}, "abcd", "abcdefgh", 0.0),
        ("limited_text", {"max_length": 4}, "abcd", None, 0.0),
        ("oneof", {"values": [None]}, "x", None, 1.0),
        ("oneof_with_gold", {"values": [5]}, "five", 5.0, 1.0),
        ("oneof_with_gold", {"values": [], "case_sensitive": True}, "a", "A", 0.0),
        ("set", {}, [], [], 1.0),
        ("set", {}, [], ["a"], 0.0),
        ("set", {"case_sensitive": False}, ["A"], ["a"], 1.0),
        ("set", {}, ["a"], "a", 1.0),
        ("set", {}, [1, True], [1.0, True], 1.0),
        ("multiset", {}, None, [], 1.0),
        ("string_semantic", {}, "e\u0301", "\u00c9", 1.0),
        ("array_llm", {}, [1, 2], [2, 1], 0.0),
        ("regex", CODE, "the gold", "AB12", 1.0),
        ("regex", CODE, "the gold", "ab12", 0.0),
        ("regex", {"pattern": r"\d+"}, "the gold", 12, 0.0),
        ("regex", {"pattern": r"\d+"}, "the gold", "the gold", 1.0),
        pytest.param("regex", {"pattern": "a*"}, "x", "a" * (LONGEST_TEXT + 1), 0.0, id="longest text"),
    ],
)
def test_scores(metric, params, gold, extracted, score):
    assert bound(metric, params).compare(gold, extracted) == pytest.approx(score, abs=1e-12)


def test_the_judge_is_asked_about_unicode_forms_under_extract_bench():
    compare = bound("string_semantic", semantics="extract-bench").compare
    assert compare("e\u0301 x", "\u00e9 X") == 0.0
    assert compare("E  x", "e X") == 1.0


@given(gold=st.text("ab c", max_size=300), extracted=st.text("ab c", max_size=300))
def test_string_fuzzy_is_difflib_under_extract_bench(gold, extracted):
    expected = difflib.SequenceMatcher(None, gold, extracted).ratio()
    metric = bound("string_fuzzy", semantics="extract-bench")
    assert metric.compare(gold, extracted) == expected
    assert metric.matrix([gold], [extracted])[0][0] >= expected - 1e-12
    assert metric.matrix([extracted], [gold])[0][0] >= expected - 1e-12


@pytest.mark.parametrize(
    ("metric", "params", "threshold"),
    [
        ("string_fuzzy", {}, 0.8),
        ("string_fuzzy", {"threshold": 0.95}, 0.95),
        ("string_semantic", {}, 0.7),
        ("semantic", {}, 1.0),
        ("array_llm", {"pass_threshold": 1.0}, 1.0),
        ("text", {}, 1.0),
        ("set", {"threshold": 0.5}, 0.5),
    ],
)
def test_thresholds(metric, params, threshold):
    assert bound(metric, params).threshold == threshold


def test_instructions_reach_the_judge():
    template = "Is {gold} {predicted}? Answer as {structured_output_schema}."
    metric = bound("string_llm", {"prompt_template": template, "additional_instructions": "Ignore titles."})
    assert metric.judged
    assert metric.instructions == "Is the gold value the extracted value? Answer as the answer.\nIgnore titles."
    assert bound("array_llm").aligns


@given(gold=scalars | st.text("a the.-X", max_size=20), extracted=scalars | st.text("a the.-X", max_size=20))
def test_token_f1_is_the_faithfulness_of_a_single_leaf(gold, extracted):
    pair = DocumentPair({"leaf": gold}, {"leaf": extracted}, DocumentSchema({"type": "object"}))
    measures = sob_measures(pair, GateConfig().coverage("text"))
    assert bound("token_f1").compare(gold, extracted) == pytest.approx(measures["faithfulness"], abs=1e-12)


@pytest.mark.parametrize("name", ["fuzzy", "string_fuzzy"])
def test_long_texts_that_are_nearly_equal_are_scored_exactly(name):
    text = "".join(chr(97 + place * place % 26) for place in range(100_000))
    assert bound(name).compare(text, f"{text[:50_000]}x{text[50_000:]}") == 1 - 1 / 100_001
    assert "length" in METRICS["fuzzy"].doc  # how long unlike texts take


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", [".*foo.{1,4900}a", ".*(a|b|ab)*c", r"(?=(\w+\s?)*$)x", r"(.*)(.*)(.*)\1c"])
def test_no_text_makes_a_pattern_hang(pattern):
    text = "".join(random.Random(1).choices("ab", k=LONGEST_TEXT))
    assert bound("regex", {"pattern": pattern}).compare("x", text) == 0.0
