"""The judges that ask nobody."""

from __future__ import annotations

import pytest
from hypothesis import given

from pytest_extract.core.results import Alignment, JudgeAnswer
from pytest_extract.extraction.caching_judge import build_judge
from pytest_extract.extraction.judges import UnansweredQuestion, ask_exact, ask_fuzzy, similarity
from tests.extraction.judge.questions import align, equal
from tests.strategies import json_values

PAIRS = [
    ("ACME  Inc", "acme inc", 1.0, 1.0),
    ("e\u0301", "\u00e9", 1.0, 1.0),
    ("Straße", "STRASSE", 1.0, 1.0),
    ("abcd", "abcx", 0.0, 0.75),
    ("", "", 1.0, 1.0),
    ("1", 1, 0.0, 1.0),
    ({"a": "X", "b": 1}, {"b": 1, "a": "x"}, 1.0, 1.0),
    (True, 1, 0.0, 0.0),
]


@pytest.mark.parametrize(("gold", "extracted", "exact", "fuzzy"), PAIRS)
def test_equal(gold, extracted, exact, fuzzy):
    assert ask_exact([equal(gold, extracted)])[0].score == exact
    assert ask_fuzzy([equal(gold, extracted)])[0].score == fuzzy


ROWS = [{"name": "Bolt M8", "n": 2}, {"name": "Nut", "n": 7}]
FOUND = [{"name": "nut", "n": 7}, {"name": "Bolt M9", "n": 2}, {"name": "§", "x": None}]


def test_rows():
    assert ask_exact([align(ROWS, FOUND)]) == [Alignment(((1, 0),), (0,), (1, 2), "rows equal after folding")]
    assert ask_fuzzy([align(ROWS, FOUND)]) == [Alignment(((0, 1), (1, 0)), (), (2,), "best fit of the letters")]


def test_scalar_rows():
    assert ask_exact([align(["a", "b", "a"], ["A", "c"])])[0].pairs == ((0, 0),)
    assert ask_fuzzy([align(["abcd", "x"], ["y", "abce"])])[0].pairs == ((0, 1),)


@pytest.mark.parametrize(("gold", "extracted"), [([], [1]), ([1], []), ([], []), ("no list", [1]), ([1], None)])
def test_nothing_to_pair(gold, extracted):
    for ask in (ask_exact, ask_fuzzy):
        assert ask([align(gold, extracted)])[0].pairs == ()


def test_no_depth_crashes():
    value = []
    for _ in range(10_000):
        value = [value]
    for ask in (ask_exact, ask_fuzzy):
        assert ask([equal(value, 1)]) == [UnansweredQuestion("the values are nested too deeply to compare")]


@given(json_values, json_values)
def test_similarity_is_bounded_symmetric_and_1_on_itself(gold, extracted):
    assert 0.0 <= similarity(gold, extracted) <= 1.0
    assert similarity(gold, extracted) == similarity(extracted, gold)
    assert similarity(gold, gold) == 1.0


def test_through_build_judge():
    assert build_judge("fuzzy")([equal("abcd", "abcx")]) == [JudgeAnswer(0.75, "similarity of the letters: 0.75")]
    assert build_judge("exact").spent.calls == 0
