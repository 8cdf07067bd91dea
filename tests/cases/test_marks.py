"""Marks as data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.cases.model import Mark, parse_mark


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        (" slow ", Mark(name="slow")),
        ("timeout(30)", Mark(name="timeout", args=(30,))),
        ("flaky(-1, [1, 'a'], on={'a': None})", Mark(name="flaky", args=(-1, [1, "a"]), kwargs={"on": {"a": None}})),
        (r"skip(reason='\d')", Mark(name="skip", kwargs={"reason": r"\d"})),
    ],
)
def test_marks_are_names_or_calls_with_literals(text, mark):
    assert parse_mark(text) == mark


NO_MARKS = ["", "x(", "a b", "a.b()", "1", "\0", "__import__('os').system('x')", "xfail(__import__('os'))"]
HOSTILE = ["xfail(**{'a': 1})", "x " * 20_000, "xfail(" + "(" * 4000 + ")" * 4000 + ")", "xfail(" + "-" * 5000 + "1)"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "is no mark; expected a name, or a call") for text in (*NO_MARKS, *HOSTILE)),
        ("parametrize('x', [1, 2])", "`parametrize` makes no cases: write them under `cases:`"),
        ("parametrize", "`parametrize` makes no cases"),
    ],
    ids=lambda text: text[:25].replace("\0", "nul") or "empty",
)
def test_anything_else_is_refused_in_words(text, words):
    with pytest.raises(ValueError, match=words):
        parse_mark(text)


@given(st.text(max_size=40))
def test_no_text_does_more_than_parse(text):
    try:
        told = parse_mark(text).name.isidentifier()
    except ValueError as error:
        told = bool(str(error))
    assert told
