from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugin.conftest import ECHO, GOLD, SCHEMA

Write = Callable[..., None]
COUNTING = """
import pathlib
import pytest
from pytest_extract.extraction.call import Extraction

@pytest.fixture(scope="session")
def extractor():
    if pathlib.Path("no-key").exists():
        raise RuntimeError("no key here")
    def extract(document, prompt, model=None):
        with open("calls", "a") as log:
            log.write("x")
        return Extraction(document.text, cost_usd=0.25, usage={"prompt_tokens": 100, "completion_tokens": 10})
    return extract
"""


@pytest.fixture(autouse=True)
def counting(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(COUNTING)


def calls(pytester: pytest.Pytester) -> int:
    path = pytester.path / "calls"
    return len(path.read_text(encoding="utf-8")) if path.exists() else 0


def recordings(pytester: pytest.Pytester) -> list[Path]:
    return sorted((pytester.path / "extract-recordings").rglob("*.json"))


def test_off_always_calls_and_writes_nothing(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a")
    pytester.runpytest()
    pytester.runpytest()
    assert calls(pytester) == 2
    assert recordings(pytester) == []


@pytest.mark.parametrize("args", [[], ["-n2"]], ids=["plain", "n2"])
def test_once_calls_once_and_then_replays(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    write_case("a")
    write_case("b", {**GOLD, "total": 7})
    for _ in range(2):
        pytester.runpytest("--extract-record=once", *args).assert_outcomes(passed=1, failed=1)
    assert calls(pytester) == 2
    result = pytester.runpytest("--extract-record=once")
    result.stdout.fnmatch_lines(["*recorded earlier: 2 outputs (nothing spent on them now)"])


@pytest.mark.parametrize("args", [["--extract-concurrency=4"], ["-n2"]], ids=["threads", "workers"])
def test_cases_with_equal_inputs_are_called_once(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    for number in range(6):
        write_case(f"c{number}")
    pytester.runpytest("--extract-record=once", *args).assert_outcomes(passed=6)
    assert calls(pytester) == 1
    assert len(recordings(pytester)) == 1


@pytest.mark.parametrize("mode", ["once", "new"])
def test_a_case_never_gets_what_another_extractor_made_of_equal_inputs(
    pytester: pytest.Pytester, write_case: Write, mode: str
) -> None:
    pytester.makeconftest("")
    for folder, code in (("a", ECHO), ("b", ECHO.replace("return document.text", "return '{}'"))):
        write_case(f"{folder}/x")
        (pytester.path / folder / "conftest.py").write_text(code, encoding="utf-8")
    for _ in range(2):
        pytester.runpytest(f"--extract-record={mode}").assert_outcomes(passed=1, failed=1)
    assert len(recordings(pytester)) == 2


def test_none_replays_also_where_no_extractor_can_be_made(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a")
    pytester.runpytest("--extract-record=once")
    (pytester.path / "no-key").touch()
    result = pytester.runpytest("--extract-record=none", "--extract-report=r.jsonl")
    result.assert_outcomes(passed=1)
    attempt = json.loads((pytester.path / "r.jsonl").read_text(encoding="utf-8"))["attempts"][0]
    assert (attempt["recorded"], attempt["cost_usd"], attempt["usage"]["prompt_tokens"]) == (True, 0.25, 100)


def test_none_says_why_nothing_fresh_is_there(pytester: pytest.Pytester, write_case: Write) -> None:
    (pytester.path / "p.md").write_text("one\ntwo\n", encoding="utf-8")
    write_case("a", prompt="p.md")
    pytester.runpytest("--extract-record=once")
    (pytester.path / "p.md").write_text("one\n2\n", encoding="utf-8")
    result = pytester.runpytest("--extract-record=none")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            (
                "BROKEN: no fresh recording of a.extract.yaml::a: recorded for prompt p.md (*), now p.md (*); renew"
                ' it with: pytest "a.extract.yaml::a" --extract-record=new'
            ),
            "1 case: 1 broken",
        ]
    )


def test_the_command_that_renews_names_every_option_that_the_recording_hangs_on(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    write_case("a")
    pytester.makefile(".md", careful="Read with care.")
    run = ["--extract-repeat=2", "--extract-prompt=careful.md", "--extract-model=m", "--extract-recordings=kept"]
    result = pytester.runpytest("--extract-record=none", *run)
    [command] = {line.partition("renew it with: pytest ")[2] for line in result.outlines if "renew it with" in line}
    assert set(shlex.split(command)) == {"a.extract.yaml::a[m]", "--extract-record=new", *run}
    pytester.runpytest(*shlex.split(command)).assert_outcomes(passed=1)
    pytester.runpytest("--extract-record=none", *run).assert_outcomes(passed=1)
    assert calls(pytester) == 2


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ("None", None),
        ("{'prompt': pathlib.Path('a.md')}", None),
        ("{'a': {1}}", "extract_params is no JSON: at a, *"),
        ("['a']", "extract_params must be a mapping, not *"),
    ],
)
@pytest.mark.parametrize("mode", ["off", "once"])
def test_parameters_are_json_or_a_mistake(
    pytester: pytest.Pytester, write_case: Write, mode: str, params: str, told: str | None
) -> None:
    pytester.makeconftest(
        f"import pathlib\n{ECHO.replace('    return e', f'    extract.extract_params = {params}; return e')}"
    )
    write_case("a")
    result = pytester.runpytest(f"--extract-record={mode}")
    result.assert_outcomes(passed=told is None, failed=told is not None)
    if told is not None:
        result.stdout.fnmatch_lines([f"broken: 1 case: {told}"])


def test_new_records_again_what_is_stale(pytester: pytest.Pytester, write_case: Write) -> None:
    (pytester.path / "p.md").write_text("one", encoding="utf-8")
    write_case("a", prompt="p.md")
    pytester.runpytest("--extract-record=new")
    (pytester.path / "p.md").write_text("two", encoding="utf-8")
    pytester.runpytest("--extract-record=new")
    assert calls(pytester) == 2
    assert len(recordings(pytester)) == 1


def test_all_calls_and_records_everything(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a", repeat=2)
    pytester.runpytest("--extract-record=all")
    pytester.runpytest("--extract-record=all")
    assert calls(pytester) == 4
    assert len(recordings(pytester)) == 2


def test_the_folder_is_an_option(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a")
    pytester.runpytest("--extract-record=once", "--extract-recordings=kept")
    assert len(list((pytester.path / "kept").rglob("*.json"))) == 1


def test_a_case_is_scored_anew_on_a_replayed_output(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a", {**GOLD, "total": 7})
    pytester.runpytest("--extract-record=once").assert_outcomes(failed=1)
    write_case("a", {**GOLD, "total": 7}, thresholds={"pass_rate": 0.5})
    pytester.runpytest("--extract-record=none").assert_outcomes(passed=1)


@pytest.mark.parametrize("mode", ["once", "new", "all"])
def test_what_cannot_be_recorded_is_not_paid_for(pytester: pytest.Pytester, write_case: Write, mode: str) -> None:
    write_case("a")
    (pytester.path / "taken").write_text("a file")
    result = pytester.runpytest(f"--extract-record={mode}", "--extract-recordings=taken/kept")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--extract-recordings: cannot write *taken/kept: *; name a folder that can be written"]
    )
    assert calls(pytester) == 0


@pytest.mark.parametrize("args", [[], ["-n2"]], ids=["plain", "n2"])
def test_outputs_that_cannot_be_recorded_are_scored_and_paid_for_and_the_run_is_red(
    pytester: pytest.Pytester, write_case: Write, args: list[str]
) -> None:
    pytester.makeconftest(
        COUNTING.replace("    def extract(", "    pathlib.Path('extract-recordings').touch()\n    def extract(")
    )
    write_case("a")
    write_case("b", {**GOLD, "total": 13})
    result = pytester.runpytest(
        "--extract-record=once", "--extract-report=r.jsonl", "--extract-report=r.html", "--extract-gate=none", *args
    )
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "2 cases: 1 passed, 1 failed*",
            "*cost: $0.5000",
            "not recorded: 2 outputs; *extract-recordings cannot be written: *",
            "*will be paid for again in the next*--extract-recordings=DIR*",
        ]
    )
    lines = (pytester.path / "r.jsonl").read_text(encoding="utf-8").splitlines()
    notes = [note for each in lines for note in json.loads(each)["attempts"][0]["notes"]]
    assert [note.partition(":")[0] for note in notes] == ["not recorded"] * 2
    assert "not recorded" in (pytester.path / "r.html").read_text(encoding="utf-8")


OF_OTHER_CODE = "2 outputs recorded by other code (conftest.py); --extract-record=all renews what it replays"


@pytest.fixture
def made_by_other_code(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(ECHO)
    write_case("a")
    write_case("b", json.dumps(GOLD, indent=1))
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=2)
    pytester.makeconftest(ECHO.replace("return document.text", "return '{}'"))


@pytest.mark.parametrize("args", [("once",), ("new",), ("once", "-n1")], ids=str)
def test_a_replay_after_the_extractor_changed_says_so(
    pytester: pytest.Pytester, made_by_other_code: None, args: tuple[str, ...]
) -> None:
    result = pytester.runpytest(f"--extract-record={args[0]}", *args[1:])
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([OF_OTHER_CODE])
    renewed = pytester.runpytest("--extract-record=all")
    renewed.assert_outcomes(failed=2)
    renewed.stdout.no_fnmatch_line("*other code*")
    pytester.runpytest("--extract-record=none").stdout.no_fnmatch_line("*other code*")


def test_replay_only_refuses_what_other_code_has_made(pytester: pytest.Pytester, made_by_other_code: None) -> None:
    result = pytester.runpytest("--extract-record=none")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["BROKEN: this output was recorded by other code (conftest.py); renew it with --extract-record=all, or *"]
    )
    allowed = pytester.runpytest("--extract-record=none", "--extract-other-code=allow")
    allowed.assert_outcomes(passed=2)
    allowed.stdout.fnmatch_lines([OF_OTHER_CODE])


def test_line_ends_of_a_document_are_no_change(pytester: pytest.Pytester) -> None:
    document = pytester.path / "d.txt"
    document.write_bytes(json.dumps(GOLD, indent=1).encode())
    case = {"document": "d.txt", "schema": SCHEMA, "gold": GOLD}
    (pytester.path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    baseline = "--extract-baseline=base.json"
    pytester.runpytest("--extract-record=once", baseline, "--extract-update-baseline").assert_outcomes(passed=1)
    document.write_bytes(document.read_bytes().replace(b"\n", b"\r\n"))
    result = pytester.runpytest("--extract-record=none", baseline, "--extract-gate=regression")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*document changed*")


def test_line_endings_are_no_other_code(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(ECHO)
    write_case("a")
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=1)
    conftest = pytester.path / "conftest.py"
    conftest.write_bytes(conftest.read_bytes().replace(b"\n", b"\r\n"))
    pytester.runpytest("--extract-record=none").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("glob", "told"),
    [
        ("/etc/*", "must be a path below the rootdir"),
        ("../secret.txt", "must be a path below the rootdir"),
        ("prompts**", "must have ?? as a whole part of the path"),
        ("promts/*.txt", "no file below * matches 'promts/?.txt'"),
        ("__pycache__/*", "no file below * matches"),
    ],
)
@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_declared_files_are_there_below_the_rootdir(
    pytester: pytest.Pytester, write_case: Write, glob: str, told: str, workers: str
) -> None:
    pytester.makeini(f"[pytest]\nextract_files = {glob}\n")
    pytester.mkdir("__pycache__").joinpath("conftest.pyc").touch()
    write_case("a")
    result = pytester.runpytest(workers, "--extract-record=none")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*extract_files: *{told}*"])
