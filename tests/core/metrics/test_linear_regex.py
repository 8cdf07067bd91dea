from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.metrics.linear_regex import LONGEST_TEXT, compile_linear
from tests.core.metrics.helpers import bound

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\.", "1", r"\b", "^", "$", r"\x61", "{"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}", "*?"])).map(
            lambda both: f"({both[0]}){both[1]}"
        ),
    ),
    max_leaves=6,
)


@given(pattern=PATTERNS, text=st.text("ab1. \n", max_size=7), ignore_case=st.booleans())
def test_agrees_with_re(pattern, text, ignore_case):
    ours = compile_linear(pattern, ignore_case=ignore_case)
    theirs = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    assert ours.fullmatch(text) is bool(theirs.fullmatch(text))
    assert ours.search(text) is bool(theirs.search(text))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a|aa)+b", "a*a*a*a*a*a*b"])
def test_no_value_makes_it_hang(pattern):
    assert compile_linear(pattern).fullmatch("a" * 2000) is (pattern == "(a+)+$")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "is no regular expression"),
        (r"(a)\1", "has a back reference"),
        ("(?=a)", "has a group that is neither"),
        ("(?P<x>a)(?P=x)", "has a group that is neither"),
        ("a++", "has a possessive quantifier"),
        ("(a{100}){100}", "is too large"),
        ("[[:alpha:]]", "may be read otherwise by a later Python"),
        ("[a--b]", "may be read otherwise by a later Python"),
    ],
)
def test_what_cannot_be_linear_is_refused(pattern, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        compile_linear(pattern)


@pytest.mark.parametrize(
    ("params", "extracted", "score"),
    [
        ({"pattern": r"[A-Z]{2}\d+"}, "AB12", 1.0),
        ({"pattern": r"[A-Z]{2}\d+"}, "ab12", 0.0),
        ({"pattern": r"[A-Z]{2}\d+", "ignore_case": True}, "ab12", 1.0),
        ({"pattern": r"\d+"}, 12, 0.0),
        ({"pattern": r"\d+"}, "the gold", 1.0),
        ({"pattern": "a*"}, "a" * (LONGEST_TEXT + 1), 0.0),
    ],
)
def test_the_metric(params, extracted, score):
    assert bound("regex", params).compare("the gold", extracted) == score


@pytest.mark.parametrize(
    ("extracted", "reason"),
    [
        ("x", r"does not match \d+"),
        (5, "a string expected, got an integer"),
        ("1" * 6000, "6000 characters are too many for a pattern: at most 5000"),
    ],
)
def test_reasons(extracted, reason):
    assert bound("regex", {"pattern": r"\d+"}).explain("1", extracted) == reason
