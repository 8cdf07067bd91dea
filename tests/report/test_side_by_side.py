from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.values import MISSING
from pytest_extract.report.diff import side_by_side
from pytest_extract.report.lines import Line, text_of
from tests.strategies import any_json

LONG = "The quick brown fox jumps over the lazy dog. " * 40


def marks(line: Line) -> list[str]:
    return [span.text for span in line if span.style == "mark"]


@pytest.mark.parametrize(
    ("gold", "extracted", "ours", "theirs"),
    [
        pytest.param("ACME GmbH", "ACME Gmbh", ["H"], ["h"], id="replaced"),
        pytest.param("ACME GmbH", "ACME", [" GmbH"], [], id="lost"),
        pytest.param("ACME", "ACME AG", [], [" AG"], id="invented"),
        pytest.param("2026-01-02", "2026-02-01", ["1", "2"], ["2", "1"], id="twice"),
        pytest.param("apple", "zebra", [], [], id="unlike throughout"),
        pytest.param("same", "same", [], [], id="equal"),
        pytest.param(1.5, 2.5, [], [], id="numbers"),
        pytest.param("x", MISSING, [], [], id="missing"),
    ],
)
def test_marked_characters(gold: object, extracted: object, ours: list[str], theirs: list[str]) -> None:
    both = side_by_side(gold, extracted, 80)
    assert [text for text in marks(both.gold) if text] == ours
    assert [text for text in marks(both.extracted) if text] == theirs


def test_the_first_difference_of_long_texts_is_in_view() -> None:
    both = side_by_side(LONG, LONG[:1_000] + "!" + LONG[1_001:], 120)
    assert marks(both.extracted) == ["!"]
    assert text_of(both.extracted).startswith("…")
    assert text_of(both.extracted).endswith("… (1,800 characters)")


@given(any_json, any_json, st.integers(20, 200))
def test_any_two_values_are_shown_safely_and_in_bounds(gold: object, extracted: object, width: int) -> None:
    both = side_by_side(gold, extracted, width)
    for line in (both.gold, both.extracted):
        assert text_of(line).isprintable()
        assert len(text_of(line)) <= 10 * width + 40  # a character that is spelled out takes up to ten


@given(st.text(), st.text())
def test_what_is_not_marked_stands_in_both(gold: str, extracted: str) -> None:
    both = side_by_side(gold, extracted, 1_000)
    if both.marked:
        plain = ["".join(span.text for span in line if span.style == "plain") for line in (both.gold, both.extracted)]
        assert plain[0] == plain[1]
