from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plugin.conftest import GOLD

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]
BAD = {**GOLD, "vendor": "ACME Gmbh"}


@pytest.fixture(autouse=True)
def one_good_one_bad(write_case: Write) -> None:
    write_case("bad", BAD)
    write_case("good")


def test_by_default_a_case_below_its_thresholds_fails_the_run(pytester: pytest.Pytester) -> None:
    assert pytester.runpytest().ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_without_a_gate_the_case_is_shown_but_passes(pytester: pytest.Pytester, args: list[str]) -> None:
    result = pytester.runpytest("--extract-gate=none", *args)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "*= below their thresholds =*",
            "bad.extract.yaml::bad",
            "*vendor  text  mismatch *",
            "2 cases: 1 passed, 1 failed; *",
            "*1 passed, 1 below their thresholds in *",
        ]
    )


def test_a_broken_case_fails_the_run_whatever_the_gate(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import pytest\n\n@pytest.fixture\ndef extractor():\n    return lambda: 1 / 0\n")
    result = pytester.runpytest("--extract-gate=none")
    result.assert_outcomes(failed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
@pytest.mark.parametrize(
    ("bound", "status", "line"),
    [
        pytest.param("pass_rate=0.8", pytest.ExitCode.OK, "suite gate: pass_rate 0.8333 reaches 0.8", id="reached"),
        pytest.param(
            "pass_rate=0.9",
            pytest.ExitCode.TESTS_FAILED,
            "suite gate: pass_rate 0.8333 < 0.9 over 2 cases",
            id="missed",
        ),
    ],
)
def test_the_suite_is_held_against_its_own_thresholds(
    pytester: pytest.Pytester, args: list[str], bound: str, status: pytest.ExitCode, line: str
) -> None:
    pytester.makeini(f"[pytest]\nextract_gate = suite\nextract_suite_thresholds = {bound}\n")
    result = pytester.runpytest(*args)
    assert result.ret == status
    result.stdout.fnmatch_lines([line])


def test_a_suite_of_which_nothing_was_scored_does_not_pass(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nextract_gate = suite\nextract_suite_thresholds = pass_rate=0.1\n")
    pytester.makeconftest("import pytest\n\n@pytest.fixture\ndef extractor():\n    return lambda: 1 / 0\n")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["suite gate: no case was scored, so nothing was measured"])


def test_the_suite_gate_without_thresholds_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--extract-gate=suite")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--extract-gate=suite needs extract_suite_thresholds in the ini file*"])


def test_an_unknown_measure_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nextract_suite_thresholds = pass_rat=0.9\n")
    result = pytester.runpytest("--extract-gate=suite")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no measure 'pass_rat'; did you mean 'pass_rate'?*"])


@pytest.mark.parametrize("gate", ["case", "none"])
@pytest.mark.parametrize("mark", ["xfail", "xfail(strict=True)"])
@pytest.mark.usefixtures("echo")
def test_an_announced_failure_is_one_under_every_gate(
    pytester: pytest.Pytester, write_case: Write, gate: str, mark: str
) -> None:
    write_case("bad", {**GOLD, "total": 1}, marks=[mark])
    result = pytester.runpytest(f"--extract-gate={gate}")
    result.assert_outcomes(passed=1, xfailed=1)
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("echo")
def test_an_announced_failure_that_passes_is_told_under_no_gate(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("good", marks=["xfail"])
    pytester.runpytest("--extract-gate=none").assert_outcomes(xpassed=1)


@pytest.mark.usefixtures("echo")
def test_a_failure_is_none_of_the_run_s_where_pytest_knows_no_marks_of_failures(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    write_case("bad", {**GOLD, "total": 1}, marks=["xfail"])
    result = pytester.runpytest("-p", "no:skipping", "--extract-gate=none")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1 passed, 1 below their thresholds in *"])


GATES = {
    "suite": "extract_gate = suite\nextract_suite_thresholds = pass_rate=0.5\n",
    "regression": "extract_gate = regression\nextract_baseline = b.json\n",
}


@pytest.mark.parametrize(("gate", "text"), GATES.items(), ids=list(GATES))
def test_a_gate_says_nothing_about_a_run_that_selects_no_case(pytester: pytest.Pytester, gate: str, text: str) -> None:
    pytester.makepyfile(test_a="def test_a(): pass")
    pytester.runpytest("--extract-baseline=b.json", "--extract-update-baseline")
    pytester.makeini(f"[pytest]\n{text}")
    for args in (["test_a.py"], ["-k", "test_a"], ["-n1", "test_a.py"]):
        assert pytester.runpytest(*args).ret == pytest.ExitCode.OK, (gate, args)


@pytest.mark.parametrize(("gate", "text"), GATES.items(), ids=list(GATES))
def test_a_gate_that_fails_a_run_of_skipped_cases_says_why(
    pytester: pytest.Pytester, write_case: Write, gate: str, text: str
) -> None:
    pytester.runpytest("--extract-baseline=b.json", "--extract-update-baseline")
    pytester.makeini(f"[pytest]\n{text}")
    for name in ("bad", "good"):
        write_case(name, marks=["skip(reason='today')"])
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    reasons = {"suite": "suite gate: no case was run*", "regression": "UNDECIDED. Nothing was compared."}
    result.stdout.fnmatch_lines(["no case ran: 2 cases skipped", reasons[gate]])


def test_a_baseline_that_no_case_could_write_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a="def test_a(): pass")
    result = pytester.runpytest("test_a.py", "--extract-baseline=b.json", "--extract-update-baseline")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["baseline not written: no case was run, so there is nothing to store"])
