"""The line on a long run: on a terminal and in CI, with and without xdist, never where pytest is to be quiet."""

from __future__ import annotations

import json

import pytest

CONFTEST = """
import pytest
from pytest_extract.plugin import run_results
from pytest_extract import Extraction

run_results.EVERY_S = {"terminal": 0.0, "CI": 0.0}

@pytest.fixture
def extractor():
    def extract(document):
        if document.text == "c2":
            raise ValueError("no answer")
        return Extraction(output={"a": document.text}, cost_usd=0.5)
    return extract
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("CI", raising=False)
    pytester.makeconftest(CONFTEST)
    cases = [{"id": f"c{index}", "text": f"c{index}", "gold": {"a": f"c{index}"}} for index in range(4)]
    schema = {"properties": {"a": {"type": "string"}}}
    (pytester.path / "a.extract.yaml").write_text(
        json.dumps({"defaults": {"schema": schema}, "cases": cases}), encoding="utf-8"
    )
    return pytester


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_ci_is_told_how_far_the_run_is(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str) -> None:
    monkeypatch.setenv("CI", "1")
    result = suite.runpytest_subprocess(workers, "-p", "no:randomly")
    result.stdout.re_match_lines(
        [
            r"1 of 4 cases, (1 error, )?(\$0\.50 of about \$2\.00, )?[\d.]+ cases a (second|minute), [\d.]+ s left",
            r"4 of 4 cases, 1 error, \$1\.50 of about \$1\.50, [\d.]+ cases a (second|minute), 0 s left",
        ]
    )


@pytest.mark.parametrize(("ci", "options"), [("", []), ("1", ["-q"])])
def test_a_pipe_and_a_quiet_run_have_the_dots_of_pytest_alone(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str, options: list[str]
) -> None:
    monkeypatch.setenv("CI", ci)
    result = suite.runpytest_subprocess(*options, "-p", "no:randomly")
    result.stdout.no_fnmatch_line("* of 4 cases*")
    result.stdout.fnmatch_lines(["*..B.*"])


def test_a_dry_run_has_no_result_to_count(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    result = suite.runpytest_subprocess("--extract-dry-run")
    assert result.ret == 0
    result.assert_outcomes(skipped=4)


def test_other_tests_are_not_counted(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    suite.makepyfile("def test_a():\n    pass\n")
    suite.runpytest_subprocess("-p", "no:randomly").stdout.fnmatch_lines(["4 of 4 cases, *"])
    suite.runpytest_subprocess("test_*.py").stdout.no_fnmatch_line("* cases*")
