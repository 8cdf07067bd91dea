from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_extract.core.case_result import Outcome
from pytest_extract.results import read_results
from tests.plugin.conftest import GOLD

Write = Callable[..., None]
BAD = {**GOLD, "vendor": "ACME Gmbh"}


def lines(pytester: pytest.Pytester, name: str = "r.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (pytester.path / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize("args", [[], ["-n0"], ["-n2"]], ids=["plain", "n0", "n2"])
def test_every_case_is_a_line(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    write_case("good", tags={"supplier": "acme"})
    write_case("bad", BAD)
    pytester.runpytest("--extract-report=out/r.jsonl", *args).assert_outcomes(passed=1, failed=1)
    found = {line["case_id"]: line for line in lines(pytester, "out/r.jsonl")}
    assert found.keys() == {"good", "bad"}
    good, bad = found["good"], found["bad"]
    assert (good["nodeid"], good["outcome"], good["tags"]) == (
        "good.extract.yaml::good",
        "passed",
        {"supplier": "acme"},
    )
    assert good["digests"].keys() >= {"document", "schema", "gold"}
    assert bad["outcome"] == "failed"
    assert bad["breaches"][0]["what"] == "pass_rate"
    assert bad["attempts"][0]["output"] == json.dumps(BAD)
    assert bad["attempts"][0]["score"]["measures"]["pass_rate"] == pytest.approx(2 / 3)


@pytest.mark.usefixtures("echo")
def test_a_second_run_starts_the_file_again(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("good")
    pytester.runpytest("--extract-report=r.jsonl")
    pytester.runpytest("--extract-report=r.jsonl")
    assert len(lines(pytester)) == 1


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    "args",
    [["--collect-only"], ["--collect-only", "-n1"], ["--setup-plan"], ["--extract-dry-run"], ["-k", "nothing"], ["test_a.py"]],
    ids=["collect", "collect-n1", "setup-plan", "dry-run", "none-selected", "other-tests"],
)  # fmt: skip
def test_a_run_without_results_takes_none_away(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    write_case("good")
    pytester.makepyfile(test_a="def test_a(): pass")
    pytester.makeini("[pytest]\nextract_report = r.jsonl\n")
    pytester.runpytest()
    pytester.runpytest(*args)
    assert len(lines(pytester)) == 1


def test_a_path_that_cannot_be_written_is_a_usage_error(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("good")
    pytester.mkdir("taken")
    result = pytester.runpytest("--extract-report=jsonl:taken")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--extract-report: cannot write *taken*"])


def test_hostile_values_get_through_xdist(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def extractor():
            def extract(case):
                deep = 1
                for _ in range(5000):
                    deep = [deep]
                return {"vendor": "a\\ud800\\x1b[31m", "total": float("nan"), "items": [deep], "big": 10**5000}
            return extract
        """
    )
    write_case("a")
    write_case("b")
    result = pytester.runpytest("-n2", "--extract-report=r.jsonl")
    result.assert_outcomes(failed=2)
    assert len(lines(pytester)) == 2
    assert "\x1b[31m" not in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("models", [(), ("--extract-model=m/x", "--extract-model=m/y [z]")], ids=["plain", "models"])
@pytest.mark.parametrize("boom", ["boom", "boom [v2]"])
def test_a_worker_that_dies_breaks_its_case_only(
    pytester: pytest.Pytester, write_case: Write, boom: str, models: tuple[str, ...]
) -> None:
    pytester.makeconftest(
        """
        import os
        import pytest

        @pytest.fixture
        def extractor():
            return lambda document, model: os._exit(3) if "boom" in document.text else document.text
        """
    )
    write_case(boom, "boom")
    for name in ("a", "b", "c"):
        write_case(name)
    result = pytester.runpytest("-n2", "--extract-report=r.jsonl", *models)
    found = {line["case_id"]: line for line in lines(pytester)}
    assert found.keys() == {"a", "b", "c", boom}
    assert {name: line["outcome"] for name, line in found.items() if name != boom} == dict.fromkeys("abc", "passed")
    assert found[boom]["outcome"] == "broken"
    assert "crashed while running this case" in found[boom]["why"]
    variants = {(line["case_id"], json.dumps(line["variant"])) for line in lines(pytester)}
    assert len(variants) == 4 * max(1, len(models))
    assert len({variant for _, variant in variants}) == max(1, len(models))
    if models:
        return
    result.stdout.fnmatch_lines(["4 cases: 3 passed, 1 broken*"])


def test_a_killed_run_keeps_what_had_ended(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import time
        import pytest

        @pytest.fixture
        def extractor():
            return lambda document: time.sleep(3600) if "wait" in document.text else document.text
        """
    )
    write_case("a")
    write_case("b", "wait")
    path = pytester.path / "r.jsonl"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:randomly",
        "--extract-report=r.jsonl",
        "--extract-concurrency=1",
    ]
    with subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.DEVNULL) as process:
        for _ in range(3000):
            if path.exists() and path.read_text(encoding="utf-8").endswith("\n"):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    read = read_results(path)
    assert [(result.case_id, result.outcome) for result in read.results] == [("a", Outcome.PASSED)]


@pytest.mark.usefixtures("echo")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_turns_the_run_red_but_does_not_end_it(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a")
    write_case("b")
    result = pytester.runpytest("--extract-report=jsonl:/dev/full")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["2 cases: 2 passed*", "--extract-report: /dev/full is not complete: *"])
