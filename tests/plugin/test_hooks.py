"""The hooks that hand results and verdicts to a project's own code."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plugin.conftest import ECHO, GOLD

HOOKS = (
    ECHO
    + """
def pytest_extract_result(item, result):
    with open("results.txt", "a") as file:
        file.write(f"{item.nodeid} {result.outcome} {result.scores[0].measures['pass_rate']:.2f}\\n")

def pytest_extract_verdict(config, verdict):
    with open("verdicts.txt", "a") as file:
        file.write(f"{verdict.answer}: {verdict.reasons[0]}\\n")
"""
)


@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["alone", "xdist"])
def test_results_and_the_verdict_are_handed_on(
    pytester: pytest.Pytester, write_case: Callable[..., None], arguments: tuple[str, ...]
) -> None:
    pytester.makeconftest(HOOKS)
    write_case("a")
    write_case("b", {**GOLD, "total": 7})
    pytester.runpytest("--extract-baseline=b.json", "--extract-update-baseline", *arguments)
    lines = sorted((pytester.path / "results.txt").read_text(encoding="utf-8").splitlines())
    assert lines == ["a.extract.yaml::a passed 1.00", "b.extract.yaml::b failed 0.67"]
    assert not (pytester.path / "verdicts.txt").exists()
    pytester.runpytest("--extract-baseline=b.json", *arguments)
    (line,) = (pytester.path / "verdicts.txt").read_text(encoding="utf-8").splitlines()
    assert line.partition(":")[0] in {"WORSE", "PASS", "UNDECIDED"}


def test_an_error_in_a_hook_fails_the_item(pytester: pytest.Pytester, write_case: Callable[..., None]) -> None:
    pytester.makeconftest(ECHO + "\ndef pytest_extract_result(result): raise RuntimeError('no dashboard')")
    write_case("a")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*RuntimeError: no dashboard"])
