from __future__ import annotations

import random

import pytest

from pytest_extract.core.metrics.texts import LONGEST_TEXT
from tests.core.metrics.helpers import bound


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


def test_the_reason_says_what_was_expected():
    reason = "no string of at most 5,000 characters that matches \\d+"
    assert bound("regex", {"pattern": r"\d+"}).explain("1", "x") == reason


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", ["foo.{1,4900}a", "(a|b|ab)*c", r"^(?=(\w+\s?)*$)x", r"(.*)(.*)(.*)\1c"])
def test_no_text_makes_it_hang(pattern):
    text = "".join(random.Random(1).choices("ab", k=LONGEST_TEXT))
    assert bound("regex", {"pattern": pattern, "search": True}).compare("x", text) == 0.0
