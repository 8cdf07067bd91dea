"""Several modes of asking a model are variants of a run."""

from __future__ import annotations

import csv
from collections.abc import Callable

import pytest

from pytest_extract.regression.baseline import read_baseline
from pytest_extract.results import read_results

Write = Callable[..., None]
BY_MODE = """
import json
import pytest

@pytest.fixture(scope="session")
def extractor(extract_mode):
    def extract(document):
        print("CALL", extract_mode)
        return document.text if extract_mode == "structured" else json.dumps({"mode": extract_mode})
    return extract
"""
MODES = ("--extract-mode=prompt", "--extract-mode=structured")


@pytest.fixture(autouse=True)
def case(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(BY_MODE)
    write_case("a")


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_each_mode_is_a_variant(pytester: pytest.Pytester, args: list[str]) -> None:
    result = pytester.runpytest(*MODES, *args, "-v", "--extract-report=r.jsonl", "--extract-report=r.csv")
    result.assert_outcomes(passed=1, failed=1)
    found = {one.variant.mode: one.outcome for one in read_results(pytester.path / "r.jsonl").results}
    assert found == {"prompt": "failed", "structured": "passed"}
    rows = list(csv.DictReader((pytester.path / "r.csv").read_text(encoding="utf-8").splitlines()))
    assert {(row["mode"], row["outcome"]) for row in rows} == {("prompt", "failed"), ("structured", "passed")}
    result.stdout.fnmatch_lines(["*a.extract.yaml::a?structured?*"])


@pytest.mark.parametrize("args", [[], ["--extract-mode=structured"]])
def test_one_mode_is_no_part_of_the_variant(pytester: pytest.Pytester, args: list[str]) -> None:
    pytester.runpytest(*args, "--extract-report=r.jsonl")
    (one,) = read_results(pytester.path / "r.jsonl").results
    assert (one.variant.mode, one.nodeid) == (None, "a.extract.yaml::a")
    assert one.outcome == ("passed" if args else "failed")


def test_the_ini_file_may_have_several(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nextract_mode =\n    prompt\n    structured\n")
    pytester.runpytest().assert_outcomes(passed=1, failed=1)
    result = pytester.runpytest("--extract-mode=prompt", "--extract-mode=prompt")
    result.stderr.fnmatch_lines(["*--extract-mode: prompt is given twice*"])


def test_each_mode_has_its_recording(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*MODES, "--extract-record=once").assert_outcomes(passed=1, failed=1)
    result = pytester.runpytest(*MODES, "--extract-record=none", "-s")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.no_fnmatch_line("*CALL*")
    result = pytester.runpytest(*MODES, "--extract-record=once", "-s")  # neither has replaced the other
    result.stdout.no_fnmatch_line("*CALL*")


def test_the_first_mode_is_the_base_of_the_gate(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*reversed(MODES), "--extract-gate=regression")
    result.stdout.fnmatch_lines(["*structured -> prompt*"])


def test_a_baseline_keeps_the_modes_apart(pytester: pytest.Pytester) -> None:
    args = [*MODES, "--extract-baseline=b.json", "--extract-gate=none"]
    pytester.runpytest(*args, "--extract-update-baseline")
    stored = read_baseline(pytester.path / "b.json")
    assert {state.variant.mode for state in stored.cases.values()} == {"prompt", "structured"}
    result = pytester.runpytest(*args, "--extract-gate=regression")
    assert result.ret == 0
