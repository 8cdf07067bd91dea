"""Runs in CI: annotations and the job's summary in GitHub Actions, JUnit properties, the mark `extract`."""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from tests.plugin.conftest import GOLD

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]


@pytest.fixture(autouse=True)
def two_cases(write_case: Write) -> None:
    write_case("bad", {**GOLD, "vendor": "Other"}, tags={"kind": "scan"})
    write_case("good")


@pytest.fixture
def actions(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))
    (pytester.path / "summary.md").write_text("# Before\n", encoding="utf-8")


@pytest.mark.usefixtures("actions")
@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_github_actions_get_annotations_and_a_summary(pytester: pytest.Pytester, args: list[str]) -> None:
    result = pytester.runpytest(*args)
    result.assert_outcomes(passed=1, failed=1)
    (command,) = [line for line in result.outlines if line.startswith("::")]
    assert command.startswith("::error file=bad.extract.yaml,line=1,title=bad.extract.yaml%3A%3Abad::pass_rate 0.667")
    assert "%0Avendor: mismatch" in command
    text = (pytester.path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("# Before\n<!-- pytest-extract -->\n## ❌ Failed\n")
    assert "bad.extract.yaml::bad" in text


@pytest.mark.usefixtures("actions")
def test_ci_can_be_off(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--extract-ci=off")
    assert not [line for line in result.outlines if line.startswith("::")]
    assert (pytester.path / "summary.md").read_text(encoding="utf-8") == "# Before\n"


@pytest.mark.usefixtures("actions")
def test_each_mistake_of_a_file_has_an_annotation(pytester: pytest.Pytester) -> None:
    (pytester.path / "odd.extract.yaml").write_text("schma: {}\ngoold: {}\n", encoding="utf-8")
    result = pytester.runpytest("-k", "odd")
    schema, gold = (line for line in result.outlines if line.startswith("::error file=odd.extract.yaml,"))
    assert "line=1," in schema
    assert "unknown key 'schma'" in schema
    assert "line=2," in gold
    assert "unknown key 'goold'" in gold


@pytest.mark.usefixtures("actions")
def test_a_summary_that_cannot_be_written_is_told_and_fails_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path))
    result = pytester.runpytest("-k", "good")
    result.stdout.fnmatch_lines(["GITHUB_STEP_SUMMARY: cannot write *"])
    assert result.ret == 0


@pytest.mark.usefixtures("actions")
def test_a_run_without_cases_adds_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest("test_a_run_without_cases_adds_nothing.py")
    result.assert_outcomes(passed=1)
    assert (pytester.path / "summary.md").read_text(encoding="utf-8") == "# Before\n"


def test_comment_and_code_quality_are_files(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--extract-report=out/c.md", "--extract-report=gitlab:out/q.json")
    result.stdout.fnmatch_lines(["reports: *c.md, *q.json"])
    assert (pytester.path / "out/c.md").read_text(encoding="utf-8").startswith("<!-- pytest-extract -->\n## ❌ Failed")
    (issue,) = json.loads((pytester.path / "out/q.json").read_text(encoding="utf-8"))
    assert issue["location"] == {"path": "bad.extract.yaml", "lines": {"begin": 1}}
    assert issue["description"].startswith("bad.extract.yaml::bad: vendor: mismatch")


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_junit_xml_has_properties(pytester: pytest.Pytester, args: list[str]) -> None:
    pytester.runpytest("--junitxml=j.xml", *args)
    suite = ET.parse(pytester.path / "j.xml").getroot()  # written by pytest a moment ago
    found = {
        test.get("name"): {each.get("name"): each.get("value") for each in test.iter("property")}
        for test in suite.iter("testcase")
    }
    assert found["good"]["extract.outcome"] == "passed"
    assert found["good"]["extract.pass_rate"] == "1"
    assert found["bad"]["extract.field.vendor"] == "1 mismatch"
    assert found["bad"]["extract.tag.kind"] == "scan"


def test_every_case_has_the_mark_extract(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest("-m", "extract", "--strict-markers").assert_outcomes(passed=1, failed=1, deselected=1)
    pytester.runpytest("-m", "not extract").assert_outcomes(passed=1, deselected=2)
    result = pytester.runpytest("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.extract: an extraction case; *"])
