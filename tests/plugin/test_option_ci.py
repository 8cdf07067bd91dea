"""Runs in CI: annotations and the job's summary in GitHub Actions, JUnit properties, the mark `extract`."""

from xml.etree import ElementTree as ET

import pytest

from tests.plugin.conftest import GOLD, GREEN, plain_and_workers, text_of

pytestmark = pytest.mark.usefixtures("echo")


@pytest.fixture(autouse=True)
def two_cases(write_case):
    write_case("bad", {**GOLD, "vendor": "Other"}, tags={"kind": "scan"})
    write_case("good")


@pytest.fixture
def in_actions(pytester, monkeypatch):
    """Run in GitHub Actions; returns the annotations that a run prints."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))
    (pytester.path / "summary.md").write_text("# Before\n", encoding="utf-8")
    return lambda result: [line for line in result.outlines if line.startswith("::")]


@plain_and_workers
def test_github_actions_get_annotations_and_a_summary(pytester, run, in_actions, workers):
    result = run(*workers, passed=1, failed=1)
    (command,) = in_actions(result)
    assert command.startswith("::error file=bad.extract.yaml,line=1,title=bad.extract.yaml%3A%3Abad::pass_rate 0.667")
    assert "%0Avendor: mismatch" in command
    text = text_of(pytester, "summary.md")
    assert text.startswith("# Before\n<!-- pytest-extract -->\n## ❌ Failed\n")
    assert "bad.extract.yaml::bad" in text


def test_ci_can_be_off_and_a_run_without_cases_adds_nothing(pytester, run, in_actions):
    assert in_actions(pytester.runpytest("--extract-ci=off")) == []
    pytester.makepyfile(test_a="def test_it(): pass")
    run("test_a.py", passed=1)
    assert text_of(pytester, "summary.md") == "# Before\n"


def test_each_mistake_of_a_file_has_an_annotation(pytester, write_files, in_actions):
    write_files({"odd.extract.yaml": "schma: {}\ngoold: {}\n"})
    schema, gold = in_actions(pytester.runpytest("-k", "odd"))
    for number, (line, key) in enumerate(((schema, "schma"), (gold, "goold")), start=1):
        assert line.startswith(f"::error file=odd.extract.yaml,line={number},")
        assert f"unknown key '{key}'" in line


@pytest.mark.usefixtures("in_actions")
def test_a_summary_that_cannot_be_written_is_told_and_fails_nothing(pytester, run, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path))
    run("-k", "good", status=GREEN, lines=["GITHUB_STEP_SUMMARY: cannot write *"])


@plain_and_workers
def test_junit_xml_has_properties(pytester, workers):
    pytester.runpytest("--junitxml=j.xml", *workers)
    tests = ET.parse(pytester.path / "j.xml").iter("testcase")  # written by pytest a moment ago
    found = {
        test.get("name"): {each.get("name"): each.get("value") for each in test.iter("property")} for test in tests
    }
    assert found["good"].items() >= {"extract.pass_rate": "1"}.items()
    assert found["bad"].items() >= {"extract.field.vendor": "1 mismatch", "extract.tag.kind": "scan"}.items()


def test_every_case_has_the_mark_extract(pytester, run):
    pytester.makepyfile("def test_it(extract_model): assert extract_model is None")
    run("-m", "extract", "--strict-markers", passed=1, failed=1, deselected=1)
    run("-m", "not extract", passed=1, deselected=2)
    run("--markers", lines=["@pytest.mark.extract: an extraction case; *"])
