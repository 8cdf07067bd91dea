"""--extract-gate: what decides whether a run is red."""

import html

import pytest

from tests.plugin.conftest import GOLD, GREEN, RED, plain_and_workers, text_of

pytestmark = pytest.mark.usefixtures("echo")
BAD = {**GOLD, "vendor": "ACME Gmbh"}
BASELINE = ("--extract-baseline=b.json", "--extract-update-baseline")
SUITE = "[pytest]\nextract_gate = suite\nextract_suite_thresholds = pass_rate={}\n"


@pytest.fixture(autouse=True)
def one_good_one_bad(write_case):
    write_case("bad", BAD)
    write_case("good")


@plain_and_workers
def test_without_a_gate_the_case_is_shown_but_passes(run, workers):
    lines = [
        "*= below their thresholds =*",
        "bad.extract.yaml::bad",
        "*vendor  text  mismatch *",
        "2 cases: 1 passed, 1 failed; *",
        "*1 passed, 1 below their thresholds in *",
    ]
    run("--extract-gate=none", *workers, status=GREEN, lines=lines)
    run(*workers, status=RED)


@plain_and_workers
@pytest.mark.parametrize(
    ("bound", "status", "line"),
    [
        ("0.8", GREEN, "suite gate: pass_rate 0.8333 reaches 0.8"),
        ("0.9", RED, "suite gate: pass_rate 0.8333 < 0.9 over 2 cases"),
    ],
)
def test_the_suite_is_held_against_its_own_thresholds(pytester, run, workers, bound, status, line):
    pytester.makeini(SUITE.format(bound))
    run("--extract-report=r.html", "--extract-report=r.md", *workers, status=status, lines=[line])
    assert (html.escape(line) in text_of(pytester, "r.html")) == (status == RED)
    missed = "suite gate: pass&#95;rate 0.8333 &#60; 0.9"
    assert (missed in text_of(pytester, "r.md")) == (status == RED)


def test_broken_cases_fail_the_run_whatever_the_gate(pytester, write_fixture, run):
    write_fixture("return lambda: 1 / 0")
    run("--extract-gate=none", failed=2, status=RED)
    pytester.makeini(SUITE.format("0.1"))
    run(status=RED, lines=["suite gate: no case was scored, so nothing was measured"])


@pytest.mark.parametrize("gate", ["case", "none"])
@pytest.mark.parametrize("mark", ["xfail", "xfail(strict=True)"])
def test_an_announced_failure_is_one_under_every_gate(run, write_case, gate, mark):
    write_case("bad", BAD, marks=[mark])
    run(f"--extract-gate={gate}", passed=1, xfailed=1, status=GREEN)


def test_an_announced_failure_that_passes_is_told_and_none_where_pytest_knows_no_marks(run, write_case):
    write_case("bad", BAD, marks=["xfail"])
    write_case("good", marks=["xfail"])
    run("--extract-gate=none", xpassed=1, xfailed=1)
    run("-p", "no:skipping", "--extract-gate=none", lines=["*1 passed, 1 below their thresholds in *"])


@pytest.mark.parametrize(
    ("ini", "why"),
    [
        (SUITE.format("0.5"), "suite gate: no case was run*"),
        ("[pytest]\nextract_gate = regression\nextract_baseline = b.json\n", "UNDECIDED. Nothing was compared."),
    ],
    ids=["suite", "regression"],
)
def test_a_gate_without_a_result_fails_a_run_of_skipped_cases_only(pytester, run, write_case, ini, why):
    pytester.makepyfile(test_a="def test_a(): pass")
    pytester.runpytest(*BASELINE)
    pytester.makeini(ini)
    for arguments in (["-k", "test_a"], ["-n1", "test_a.py"]):
        run(*arguments, status=GREEN)
    for name in ("bad", "good"):
        write_case(name, marks=["skip(reason='today')"])
    run(status=RED, lines=["no case ran: 2 cases skipped", why])


def test_a_baseline_that_no_case_could_write_is_told(pytester, run):
    pytester.makepyfile(test_a="def test_a(): pass")
    lines = ["baseline not written: no case was run, so there is nothing to store"]
    run("test_a.py", *BASELINE, status=RED, lines=lines)
