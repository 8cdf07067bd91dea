"""`repeat` of a case, and --extract-repeat."""

import pytest

from pytest_extract import Extraction
from pytest_extract.cases.load import load_cases
from pytest_extract.run_case import run_case
from tests.plugin.conftest import GOLD

TWO_OF_THREE = {"of": 3, "pass": 2}


@pytest.mark.parametrize(
    ("repeat", "outcomes", "verdict", "made"),
    [
        pytest.param(TWO_OF_THREE, "good good good", "passed", 2, id="decided-early"),
        pytest.param(TWO_OF_THREE, "good bad good", "passed", 3, id="two-of-three"),
        pytest.param(TWO_OF_THREE, "bad bad good", "failed", 2, id="lost-early"),
        pytest.param(3, "good good good", "passed", 3, id="all-of-three"),
        pytest.param(3, "bad good good", "failed", 1, id="one-is-enough-to-fail"),
        pytest.param(TWO_OF_THREE, "raise good good", "passed", 3, id="broken-but-passed"),
        pytest.param(TWO_OF_THREE, "raise good bad", "error", 3, id="broken-decides-nothing"),
        pytest.param(TWO_OF_THREE, "bad raise bad", "error", 2, id="could-still-have-passed"),
        pytest.param({"of": 2, "pass": 1}, "bad bad", "failed", 2, id="none"),
    ],
)
def test_k_of_n(pytester, write_case, repeat, outcomes, verdict, made):
    write_case("a", repeat=repeat)
    (case,) = load_cases(pytester.path / "a.extract.yaml").cases
    calls = []

    def extract(index):
        calls.append(outcomes.split()[index])
        if calls[-1] == "raise":
            raise ValueError("down")
        return Extraction(GOLD if calls[-1] == "good" else {})

    result = run_case(case, extract, nodeid="n", file="f")
    assert (result.outcome, len(calls), len(result.attempts)) == (verdict, made, made)


@pytest.mark.parametrize(("output", "outcome"), [("document.text", "passed"), ("'{}'", "failed")])
def test_a_run_calls_no_more_often_than_it_takes_to_decide(run, write_case, write_extractor, calls, output, outcome):
    write_extractor(f"return {output}")
    write_case("a", repeat=TWO_OF_THREE)
    run("--extract-concurrency=1", **{outcome: 1})
    assert calls() == 2


def test_the_option_runs_all_repeats_to_measure_and_v_shows_every_bad_one(run, write_case, write_extractor, calls):
    outcomes = ["bad", "good", "good", "good", "bad"]
    write_extractor(f'return document.text if {outcomes}[os.path.getsize(HERE / "calls") - 1] == "good" else "{{}}"')
    write_case("a", repeat=TWO_OF_THREE)
    bad = [f"repeat {number} of 5 (2 not green):" for number in (1, 5)]
    lines = ["  3 of 5 repeats passed, 4 of 5 needed", *bad]
    run("--extract-concurrency=1", "--extract-repeat=5", "-v", failed=1, lines=lines)
    assert calls() == 5
