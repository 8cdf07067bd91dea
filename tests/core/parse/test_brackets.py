"""Brackets are matched by patterns that step over much at once: each answer is that of one character after another."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.parse.brackets import (
    _LEVELS,
    _MANY,
    _WINDOW,
    MAX_DEPTH,
    STRING,
    closing,
    is_shallow,
    members,
    opened_at,
    shallow_items,
)

TEXTS = st.text(st.sampled_from('[]{}",:\\ a1'), max_size=60)
VALUES = st.recursive(
    st.sampled_from(["0", '"]"', '"\\"{"', '",,"']),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(inner, max_size=3).map(lambda items: "{" + ",".join(f'"}}": {item}' for item in items) + "}")
    ),
    max_leaves=10,
)
DEEP = st.just("[" * 9 + "0" + "]" * 9)
LONG = st.just(f'"{"x" * 700}"')
FILLERS = st.sampled_from([0, 1]) | st.integers(_WINDOW - 80, _WINDOW)
"""Lengths of a string in front, such that a window ends anywhere behind it."""


def slow_brackets(text):
    """Yield the offset of each bracket outside strings; ends at a string that does not."""
    position = 0
    while position < len(text):
        if text[position] == '"':
            string = re.compile(STRING, re.DOTALL).match(text, position)
            if string is None:
                return
            position = string.end()
            continue
        if text[position] in "[]{}":
            yield position
        position += 1


def slow_opened(text):
    """Return the offsets of the brackets that are open at the end."""
    opened = []
    for place in slow_brackets(text):
        if text[place] in "[{":
            opened.append(place)
        else:
            opened.pop()
    return opened


def slow_closing(text):
    depth = 0
    for place in slow_brackets(text):
        depth += 1 if text[place] in "[{" else -1
        if depth == 0:
            return place + 1
    return len(text)


@given(TEXTS, st.integers(1, 2 * MAX_DEPTH), FILLERS)
def test_a_bracket_closes_where_the_depth_is_zero(rest, depth, filler):
    text = "[" * depth + f'"{"x" * filler}"' + rest
    assert closing(text, 0, len(text)) == slow_closing(text)


@given(VALUES, st.integers(1, 2 * _LEVELS), FILLERS, st.data())
def test_open_brackets_are_those_of_a_cut_text(value, depth, filler, data):
    head = "[" * depth + f'"{"x" * filler}", '
    text = head + ", ".join([value, f"[{value}]", value]) + "]" * depth
    end = data.draw(st.integers(len(head), len(text) - 1))
    opened = opened_at(text, 0, end)
    assert opened.brackets == slow_opened(text[:end])
    assert opened.brackets == slow_opened(text[: opened.position])


@pytest.mark.parametrize("depth", range(1, _LEVELS + 3))
@given(value=VALUES)
def test_a_shallow_value_has_so_many_levels(depth, value):
    text = "[" * depth + value + "]" * depth
    levels = max(len(slow_opened(text[: place + 1])) for place in slow_brackets(text))
    assert is_shallow(text, 0, len(text)) == (levels <= _LEVELS)


@given(
    st.lists(st.tuples(VALUES | DEEP | LONG, st.sampled_from([1, 2, _MANY - 1, _MANY, 2 * _MANY])), max_size=5),
)
def test_items_are_counted_one_by_one(runs):
    items = [item for item, count in runs for _ in range(count)]
    text = "[" + "".join(f"{item}, " for item in items) + "0]"
    first = next(
        (n for n, item in enumerate(items) if item[0] in "[{" and not is_shallow(item, 0, len(item))), len(items)
    )
    behind = 1 + sum(len(item) + 2 for item in items[:first]) - (first > 0)
    assert shallow_items(text, 1, len(text)) == (first, behind)


@given(st.lists(st.tuples(st.sampled_from(['"a"', '"\\""', '"}"', '"a"']), VALUES | DEEP), max_size=6), st.booleans())
def test_members_are_those_that_are_written(pairs, whole):
    text, expected = "{", []
    for key, value in pairs:
        expected.append((key, len(text) + 1))
        text += f" {key} : {value} ,"
    text = text.removesuffix(",") + "}" if whole else f'{text} "z": '
    expected += [] if whole else [('"z"', len(text) - 5)]
    assert list(members(text, 0, len(text))) == expected
