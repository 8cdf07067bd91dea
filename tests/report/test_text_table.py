from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.report.lines import Table, text_of, text_width

HEADS = ("variant", "cases", "f1")
ROWS = [("openai/gpt-4o", "20", "0.9123"), ("a much longer name of a model or of a prompt", "1,234", "1")]


def told(width: int) -> list[str]:
    return [text_of(each) for each in Table(HEADS, ROWS).lines(width)]


def test_figures_stand_in_columns() -> None:
    assert told(80) == [
        "  variant                                      cases     f1",
        "  openai/gpt-4o                                   20 0.9123",
        "  a much longer name of a model or of a prompt 1,234      1",
    ]


def test_long_names_are_shortened_as_long_as_they_can_be_read() -> None:
    assert told(42) == [
        "  variant                     cases     f1",
        "  openai/gpt-4o                  20 0.9123",
        "  a much longer nam… a prompt 1,234      1",
    ]


def test_in_a_narrow_window_names_stand_above_their_figures() -> None:
    assert told(30) == [
        "  variant",
        "    cases     f1",
        "  openai/gpt-4o",
        "       20 0.9123",
        "  a much longer name… a prompt",
        "    1,234      1",
    ]


names = st.text(max_size=60)


@given(st.lists(st.tuples(names, st.text("0123456789", max_size=9), st.text("0123456789", max_size=9)), max_size=5))
def test_no_line_is_longer_than_the_window(rows: list[tuple[str, str, str]]) -> None:
    for each in Table(HEADS, rows).lines(40):
        assert text_of(each).isprintable()
        assert text_width(text_of(each)) <= 40
