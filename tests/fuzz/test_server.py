"""A few of the ways to misbehave in `tests/fuzz server`, through litellm in a real run."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.fuzz.server import BEHAVIOURS, Behaviour, Row, extractor_rows, judge_agreement

if find_spec("litellm") is None:
    pytest.skip("calling a model needs litellm", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("compiled_modules")
QUICK = ("good", "429 twice, then good", "500 for ever", "half an answer, then good", "hangs up, for ever", "a page", "shape: choices null", "refusal", "finish reason length")  # fmt: skip


def test_each_misbehaviour_has_its_outcome(tmp_path):
    rows = extractor_rows(tmp_path, [one for one in BEHAVIOURS if one.name in QUICK], timeout_s=20.0)
    assert {row.behaviour.name: row.wrong for row in rows} == dict.fromkeys(QUICK, "")


def test_a_judge_that_always_says_yes_is_found_by_the_audit(tmp_path):
    found, text = judge_agreement(tmp_path)
    assert found, text


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"outcome": "failed"}, "should be broken"),
        ({"calls": 9}, "should take 3 calls"),
        ({"seconds": 99.0}, "should end within 9 s"),
        ({}, ""),
    ],
)
def test_what_is_otherwise_than_it_should_be_is_told(row, problem):
    wanted = Behaviour("x", [], "broken", calls=3)
    made = {"behaviour": wanted, "outcome": "broken", "kind": None, "calls": 3, "seconds": 1.0, "message": "", **row}
    assert Row(**made).wrong == problem
