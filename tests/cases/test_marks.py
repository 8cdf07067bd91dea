"""Marks as data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.cases.model import Mark, parse_mark


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("slow", Mark(name="slow")),
        (" slow ", Mark(name="slow")),
        ("xfail(reason='scanned upside down')", Mark(name="xfail", kwargs={"reason": "scanned upside down"})),
        ("timeout(30)", Mark(name="timeout", args=(30,))),
        ("flaky(-1, [1, 'a'], on={'a': None})", Mark(name="flaky", args=(-1, [1, "a"]), kwargs={"on": {"a": None}})),
        (r"skip(reason='\d')", Mark(name="skip", kwargs={"reason": r"\d"})),
    ],
)
def test_marks_are_names_or_calls_with_literals(text, mark):
    assert parse_mark(text) == mark


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no mark"),
        ("x(", "is no mark"),
        ("a b", "is no mark"),
        ("a.b", "is no mark"),
        ("a.b()", "is no mark"),
        ("1", "is no mark"),
        ("__import__('os').system('x')", "is no mark"),
        ("xfail(raises=ValueError)", "is no mark; expected a name"),
        ("parametrize('x', [1, 2])", "write them under `cases:`"),
        ("parametrize", "makes no cases"),
        ("xfail(__import__('os'))", "is no mark"),
        ("xfail(**{'a': 1})", "is no mark"),
        ("x " * 20_000, "is no mark"),
        ("xfail(" + "(" * 4000 + ")" * 4000 + ")", "is no mark"),
        ("xfail(" + "-" * 5000 + "1)", "is no"),
        ("\0", "is no mark"),
    ],
    ids=lambda text: text[:25].replace("\0", "nul") or "empty",
)
def test_anything_else_is_refused_in_words(text, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        parse_mark(text)


@given(st.text(max_size=40))
def test_no_text_does_more_than_parse(text):
    try:
        told = parse_mark(text).name.isidentifier()
    except ValueError as error:
        told = bool(str(error))
    assert told
