from __future__ import annotations

import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_extract.core.regex.linear import UndecidedError, compile_linear
from tests.core.regex.patterns import PATTERNS as SCHEMA_PATTERNS

ATOMS = r"""
a b . [ab] [^a] \d \w \s \. 1 \b \B ^ $ \A \Z \x61 { (?i:A) (?s:.) (?m:^) (?m:$) (?a:\w) (?a:\b) ſ [\d_] (?#note)
[^\W\d] \n []a]
"""
PATTERNS = st.recursive(
    st.sampled_from(["", *ATOMS.split()]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}", "*?", "??", "{0}"])).map(
            lambda both: f"({both[0]}){both[1]}"
        ),
        st.tuples(st.sampled_from(["(?=", "(?!", "(?<=", "(?<!"]), inner).map(lambda both: f"{both[0]}{both[1]})"),
    ),
    max_leaves=6,
)


def compiles(pattern):
    try:
        re.compile(pattern)
    except re.error:  # looking behind for what has no fixed width
        return False
    return True


def agrees(pattern, text, *, ignore_case=False):
    ours = compile_linear(pattern, ignore_case=ignore_case)
    theirs = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    assert ours.fullmatch(text) is bool(theirs.fullmatch(text)), (pattern, text)
    assert ours.search(text) is bool(theirs.search(text)), (pattern, text)


@given(pattern=PATTERNS.filter(compiles), text=st.text("abA1_. \n\u017fs\u0663", max_size=7), ignore_case=st.booleans())
def test_agrees_with_re(pattern, text, ignore_case):
    agrees(pattern, text, ignore_case=ignore_case)


@pytest.mark.parametrize("pattern", SCHEMA_PATTERNS)
def test_agrees_with_re_on_the_patterns_of_schemas(pattern):
    @settings(max_examples=10, suppress_health_check=list(HealthCheck), deadline=None, database=None)
    @given(text=st.from_regex(pattern), place=st.integers(0, 40), letter=st.sampled_from("aA1 -.\n\u0663\u00e9"))
    def check(text, place, letter):
        for variant in (text, text[:place] + text[place + 1 :], text[:place] + letter + text[place:], text.swapcase()):
            agrees(pattern, variant)

    check()


@pytest.mark.parametrize("length", [0, 1, 119, 120, 121, 299, 300, 301, 500])
@pytest.mark.parametrize(
    "pattern",
    [
        "^.{120,300}$",
        "^.{1,300}",
        ".{120,300}$",
        "^(?:x{2}){1,150}$",
        "^(?=.{1,120}$)x+",
        "x{3,200}(?<=^x{120})",
        "^[^y]{0,120}$",
    ],
)
def test_a_high_bound_counts_only_where_a_text_can_reach_it(pattern, length):
    agrees(pattern, "x" * length)
    agrees(pattern, "x" * length + "y")


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^(a+)+$", "a" * 100_000 + "!", False),
        ("^(a|a)*$", "a" * 100_000 + "!", False),
        ("(a|aa)+b", "a" * 100_000, False),
        ("a*a*a*a*a*a*b", "a" * 100_000, False),
        (r"^(\w+\s?)*$", "word " * 20_000 + "!", False),
        (r"(x+x+)+y", "x" * 100_000, False),
        (r"^(?=(a+)+$)a", "a" * 100_000 + "!", False),
        (r"(?<=a)(?:a|a)*$(?!\n)", "a" * 100_000 + "\n!", False),
        ("^.{1,65536}$", "x" * 65_536, True),
        ("^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@)", "a" * 100_000, False),
        ("(?:a?){60}a{60}$", "a" * 60, True),
        ("(?:a?){60}b", "a" * 10_000, False),
    ],
)
@pytest.mark.timeout(60)
def test_no_text_makes_it_hang(pattern, text, matches):
    assert compile_linear(pattern).search(text) is matches


HARD = ".*foo.{1,200}bar"
HARD_TEXT = "".join(random.Random(1).choices(["bar", "xxx", "y"], k=100_000))


@pytest.mark.timeout(60)
def test_what_takes_too_many_steps_is_undecided_each_time():
    regex = compile_linear(HARD)
    assert regex.search("foo and bar")
    for _ in range(2):
        with pytest.raises(
            UndecidedError, match=r"'\.\*foo\.\{1,200\}bar' cannot be decided within 2,500,000 steps on a text of"
        ):
            regex.search(HARD_TEXT)
    assert regex.search("foo and bar")
    with pytest.raises(UndecidedError, match="on a text of 65,537 characters"):
        compile_linear("^.{1,65536}$").fullmatch("x" * 65_537)


def test_what_was_met_is_forgotten_in_time():
    texts = ["".join(random.Random(seed).choices("ab", k=300)) for seed in range(20)]
    pattern = "^(a|b)*a(a|b){12}$"
    for text in texts:
        agrees(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "is no regular expression"),
        (
            r"(a)\1",
            "has a back reference, which cannot be matched in linear time; write what may come back as alternatives",
        ),
        ("(?P<x>a)(?P=x)", "has a back reference"),
        ("a++", "has a possessive quantifier"),
        ("(?>a)", "has an atomic group"),
        ("(a)?(?(1)b|c)", "has a condition on a group"),
        ("(a{1000}){1000}", "is too large"),
        (r"\p{L}", "is no regular expression: bad escape"),
        ("(" * 5000 + ")" * 5000, "is nested too deeply"),
    ],
)
def test_what_cannot_be_linear_is_refused(pattern, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        compile_linear(pattern)
