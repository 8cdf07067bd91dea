"""Token F1 of many texts at once is that of each pair."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.measures import leaf_counts, token_f1_numpy
from pytest_extract.core.measures.leaf_counts import count_leaves
from pytest_extract.core.measures.leaf_paths import declare
from pytest_extract.core.measures.token_f1 import token_f1
from pytest_extract.core.scorer import Scorer, compile_schema

pytest.importorskip("numpy")
ALIKE = [
    "abcdefgh",
    "abcdefghi",
    "abcdefghj",
    "abcdefghijklmnop",
    "abcdefghijklmnopq",
    "abcdefghijklmnopr",
    "abcdefghijklmnopQ",
]
WORDS = st.sampled_from(["a", "An", "THE", "thes", "x", "snake_case", "don't", "1.5", *ALIKE, "é" * 8, "é" * 9, "北京"])
TEXTS = st.lists(WORDS, max_size=12).map(" ".join) | st.text("aThé _-\x00\x1f\x85\u2028\ud800ßİﬁ²9", max_size=30)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8)


@pytest.mark.parametrize(("slot_bits", "most"), [(19, 1_000_000), (1, 1_000_000), (19, 40)])
def test_it_is_that_of_each_pair(slot_bits, most):
    @given(PAIRS)
    def check(pairs):
        gold, extracted = zip(*pairs, strict=True)
        assert token_f1_numpy.texts_f1(gold, extracted) == [token_f1(one, other) for one, other in pairs]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_f1_numpy, "_SLOT_BITS", slot_bits)
        patch.setattr(token_f1_numpy, "_MOST", most)
        check()


def test_a_word_that_is_said_often_counts_as_often():
    text = "x " * 300_000
    assert token_f1_numpy.texts_f1([text, "y"], ["x " * 100_000, "y x"]) == [0.5, 2 / 3]


def everything(gold: Any, extracted: Any, scorer: Scorer) -> tuple[list[Any], dict[str, Any]]:
    counts = count_leaves(gold, extracted, declare(scorer.schema))
    return list(counts), dict(scorer.score(gold, extracted).measures)


TEXT = {"type": "string"}
ROW = {"type": "object", "properties": {"name": TEXT, "about": TEXT}}
LISTS = compile_schema({"type": "array", "items": TEXT})
TABLES = compile_schema({"type": "array", "items": ROW})
LIST = st.lists(TEXTS, max_size=6)
ROWS = st.lists(st.fixed_dictionaries({"name": TEXTS, "about": TEXTS}), min_size=4, max_size=6)


@given(st.one_of([st.tuples(values, values, st.just(scorer)) for values, scorer in [(ROWS, TABLES), (LIST, LISTS)]]))
def test_measures_are_the_same_without_numpy(example):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaf_counts, "_NUMPY_PAYS_LOADED", -1)
        patch.setattr(leaf_counts, "_LONG_TEXT", 0)
        patch.setattr(leaf_counts, "_MANY_TEXTS", 0)
        at_once = everything(*example)
        patch.setitem(sys.modules, "numpy", None)
        assert everything(*example) == at_once
