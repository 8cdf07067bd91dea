from __future__ import annotations

import json
from collections.abc import Callable

import pytest

Write = Callable[..., None]
FLAKY = """
import pytest

@pytest.fixture(scope="session")
def extractor():
    outcomes = list({outcomes!r})
    def extract(document):
        with open("calls", "a") as log:
            log.write("x")
        outcome = outcomes.pop(0)
        if outcome == "raise":
            raise ValueError("down")
        return document.text if outcome == "good" else "{{}}"
    return extract
"""


def run(pytester: pytest.Pytester, outcomes: list[str], *args: str) -> tuple[pytest.RunResult, int]:
    pytester.makeconftest(FLAKY.format(outcomes=outcomes))
    result = pytester.runpytest("--extract-concurrency=1", "--extract-report=r.jsonl", *args)
    return result, len((pytester.path / "calls").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("repeat", "outcomes", "verdict", "calls"),
    [
        pytest.param({"of": 3, "pass": 2}, ["good", "good", "good"], "passed", 2, id="decided-early"),
        pytest.param({"of": 3, "pass": 2}, ["good", "bad", "good"], "passed", 3, id="two-of-three"),
        pytest.param({"of": 3, "pass": 2}, ["bad", "bad", "good"], "failed", 2, id="lost-early"),
        pytest.param(3, ["good", "good", "good"], "passed", 3, id="all-of-three"),
        pytest.param(3, ["bad", "good", "good"], "failed", 1, id="one-is-enough-to-fail"),
        pytest.param({"of": 3, "pass": 2}, ["raise", "good", "good"], "passed", 3, id="broken-but-passed"),
        pytest.param({"of": 3, "pass": 2}, ["raise", "good", "bad"], "broken", 3, id="broken-decides-nothing"),
        pytest.param({"of": 3, "pass": 2}, ["bad", "raise", "bad"], "broken", 2, id="could-still-have-passed"),
        pytest.param({"of": 2, "pass": 1}, ["bad", "bad"], "failed", 2, id="none"),
    ],
)
def test_k_of_n(
    pytester: pytest.Pytester, write_case: Write, repeat: object, outcomes: list[str], verdict: str, calls: int
) -> None:
    write_case("a", repeat=repeat)
    result, made = run(pytester, outcomes)
    found = json.loads((pytester.path / "r.jsonl").read_text(encoding="utf-8"))
    assert (found["outcome"], made, len(found["attempts"])) == (verdict, calls, calls)
    result.assert_outcomes(**{"passed" if verdict == "passed" else "failed": 1})


def test_the_option_runs_all_repeats_to_measure(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a", repeat={"of": 3, "pass": 2})
    result, made = run(pytester, ["bad", "good", "good", "good", "bad"], "--extract-repeat=5")
    assert made == 5
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["  3 of 5 repeats passed, 4 of 5 needed", "repeat 1 of 5 (2 not green):"])


def test_v_shows_every_bad_repeat(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a", repeat={"of": 3, "pass": 3})
    result, _ = run(pytester, ["bad", "good", "bad"], "--extract-repeat=3", "-v")
    result.stdout.fnmatch_lines(["repeat 1 of 3 (2 not green):", "repeat 3 of 3 (2 not green):"])
