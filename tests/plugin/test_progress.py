"""The line on a long run: on a terminal and in CI, with and without xdist, never where pytest is to be quiet."""

import pytest

from tests.plugin.conftest import shows

EAGER = """
from pytest_extract.plugin import run_results

run_results.EVERY_S = {"terminal": 0.0, "CI": 0.0}
"""
BODY = """
if document.text == "c2":
    raise ValueError("no answer")
return Extraction(output={"a": document.text}, cost_usd=0.5)
"""


@pytest.fixture
def run(pytester, write_extractor, write_suite, monkeypatch):
    write_extractor(BODY, fixture="")
    conftest = pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text() + EAGER)
    cases = [{"text": f"c{number}", "gold": {"a": f"c{number}"}} for number in range(4)]
    write_suite(cases, schema={"properties": {"a": {"type": "string"}}})

    def run(*args, ci="1"):
        monkeypatch.setenv("CI", ci)
        return pytester.runpytest_subprocess("-p", "no:randomly", *args)

    return run


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_ci_is_told_how_far_the_run_is_in_cases(pytester, run, workers):
    pytester.makepyfile(test_a="def test_a():\n    pass\n")
    run(workers).stdout.re_match_lines(
        [
            r"1 of 4 cases, (1 error, )?(\$0\.50 of about \$2\.00, )?[\d.]+ cases a (second|minute), [\d.]+ s left",
            r"4 of 4 cases, 1 error, \$1\.50 of about \$1\.50, [\d.]+ cases a (second|minute), 0 s left",
        ]
    )


@pytest.mark.parametrize(("ci", "options"), [("", []), ("1", ["-q"])])
def test_a_pipe_and_a_quiet_run_have_the_dots_of_pytest_alone(run, ci, options):
    result = run(*options, ci=ci)
    result.stdout.no_fnmatch_line("* of 4 cases*")
    shows(result, "*..B.*")


def test_a_run_without_a_result_has_nothing_to_count(pytester, run):
    dry = run("--extract-dry-run")
    assert dry.ret == 0
    dry.assert_outcomes(skipped=4)
    pytester.makepyfile(test_a="def test_a():\n    pass\n")
    run("test_a.py").stdout.no_fnmatch_line("* cases*")
