"""Cases that break for one reason are shown once, and counted and reported each."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

Write = Callable[..., None]
CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def extractor():
    def extract(document):
        {body}
    return extract
"""
DOWN = 'raise ConnectionError("provider is down")'


def project(pytester: pytest.Pytester, write_case: Write, count: int, body: str = DOWN) -> None:
    pytester.makeconftest(CONFTEST.format(body=body))
    for number in range(count):
        write_case(f"c{number}", f"document {number}")


@pytest.mark.parametrize("args", [[], ["-n1"], ["--tb=short"], ["--tb=line"], ["--tb=long"], ["--tb=no"]], ids=str)
def test_sixty_cases_of_one_cause_are_few_lines(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    project(pytester, write_case, 60)
    result = pytester.runpytest("-q", "--junitxml=out.xml", *args)
    result.assert_outcomes(failed=60)
    result.stdout.fnmatch_lines(["BROKEN c*.extract.yaml::c* - and 59 more cases: ConnectionError: provider is down"])
    lines = [line for line in result.outlines if "bringing up nodes" not in line]
    assert len([line for line in lines if line.startswith("59 more cases failed")]) == (args != ["--tb=no"])
    assert len(lines) <= 27, "\n".join(lines)  # one of them on JUnit's file
    cases = ET.parse(pytester.path / "out.xml").getroot().iter("testcase")
    told = [str(case[-1].get("message")) for case in cases]
    assert len(told) == 60
    assert all("provider is down" in text for text in told)


def test_vv_shows_each(pytester: pytest.Pytester, write_case: Write) -> None:
    project(pytester, write_case, 4)
    assert pytester.runpytest("-vv").stdout.str().count(f">       {DOWN.replace('    ', '')}") == 4


def test_v_names_each(pytester: pytest.Pytester, write_case: Write) -> None:
    project(pytester, write_case, 8)
    result = pytester.runpytest("-v")
    result.stdout.fnmatch_lines(["7 more cases failed for the same reason: c1, c2, c3, c4, c5, c6, c7"])


def test_an_error_of_a_fixture_is_shown_once(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(CONFTEST.format(body="pass").replace("    def extract(", f"    {DOWN}\n    def extract("))
    for number in range(6):
        write_case(f"c{number}")
    result = pytester.runpytest("-q")
    result.assert_outcomes(errors=6)
    result.stdout.fnmatch_lines(["5 more cases failed for the same reason: c1, *"])
    assert result.stdout.str().count("E       ConnectionError") == 1


def test_numbers_of_requests_and_addresses_do_not_tell_causes_apart(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    project(pytester, write_case, 5, 'raise RuntimeError(f"request req_{abs(hash(document.text)):x} of {object()}")')
    pytester.runpytest("-q").stdout.fnmatch_lines(["4 more cases failed for the same reason: *"])


@pytest.mark.parametrize(
    "body",
    [
        "raise KeyError(document.text)",
        'number = int(document.text.split()[1]); exec(compile("\\n" * number + "1 / 0", "generated.py", "exec"))',
        "return document.text",
    ],
    ids=["messages", "places", "failed"],
)
def test_other_causes_and_failed_cases_are_shown_each(pytester: pytest.Pytester, write_case: Write, body: str) -> None:
    project(pytester, write_case, 4, body)
    result = pytester.runpytest("-q")
    result.assert_outcomes(failed=4)
    result.stdout.no_fnmatch_line("*for the same reason*")


def test_a_few_are_shown_as_they_are(pytester: pytest.Pytester, write_case: Write) -> None:
    project(pytester, write_case, 3)
    pytester.runpytest("-q").stdout.no_fnmatch_line("*for the same reason*")
