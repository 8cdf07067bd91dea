"""Where cases come from: corrections and made-up cases stay out of headline rates and of the gate's estimate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plugin.conftest import GOLD

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]
BAD = {**GOLD, "vendor": "Globex"}


def test_a_correction_is_counted_apart(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("good")
    write_case("fixed", BAD, origin="correction")
    write_case("made", BAD, origin="synthetic")
    result = pytester.runpytest("--extract-gate=none")
    result.stdout.fnmatch_lines(
        [
            "3 cases: 1 passed, 2 failed; fields right 100 %; f1 1",
            "correction case: 1 failed; not in the rates above",
            "synthetic case: 1 failed; not in the rates above",
        ]
    )


def test_where_no_case_is_a_sample_all_count(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("made", BAD, origin="synthetic")
    result = pytester.runpytest("--extract-gate=none")
    result.stdout.fnmatch_lines(["1 case: 1 failed; fields right *", "synthetic case: 1 failed; no case is a sample*"])


def test_the_regression_gate_compares_samples_and_a_correction_fails_by_itself(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    for number in range(12):
        write_case(f"c{number}")
    for number in range(12):
        write_case(f"fixed{number}", origin="correction")
    pytester.runpytest("--extract-baseline=b.json", "--extract-update-baseline", "--extract-force").assert_outcomes(
        passed=24
    )
    for number in range(12):
        write_case(f"fixed{number}", BAD, origin="correction")
    result = pytester.runpytest("--extract-baseline=b.json", "--extract-gate=regression")
    result.assert_outcomes(passed=12, failed=12)
    result.stdout.fnmatch_lines(["*PASS*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_origin_is_a_dimension(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("good")
    write_case("fixed", BAD, origin="correction")
    result = pytester.runpytest("--extract-gate=none", "--extract-by=origin")
    result.stdout.fnmatch_lines(["*origin*", "*correction*", "*sample*"])
