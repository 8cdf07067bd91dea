"""Brackets are matched by a pattern that steps over strings: each answer is that of one character after another."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.parse import closing
from pytest_extract.core.values import MAX_DEPTH

STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
TEXTS = st.text(st.sampled_from('[]{}",:\\ a1'), max_size=60)


def slow_brackets(text):
    """Yield the offset of each bracket outside strings; ends at a string that does not."""
    position = 0
    while position < len(text):
        if text[position] == '"':
            string = STRING.match(text, position)
            if string is None:
                return
            position = string.end()
            continue
        if text[position] in "[]{}":
            yield position
        position += 1


def slow_closing(text):
    depth = 0
    for place in slow_brackets(text):
        depth += 1 if text[place] in "[{" else -1
        if depth == 0:
            return place + 1
    return len(text)


@given(TEXTS, st.integers(1, 2 * MAX_DEPTH))
def test_a_bracket_closes_where_the_depth_is_zero(rest, depth):
    text = "[" * depth + rest
    assert closing(text, 0, len(text)) == slow_closing(text)
