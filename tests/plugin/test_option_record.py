"""--extract-record, --extract-recordings, --extract-other-code, and extract_files."""

import json
import shlex

import pytest

from tests.plugin.conftest import ECHO, GOLD, RED, SCHEMA, refused, results, shows, text_of

PAID = "return Extraction(document.text, cost_usd=0.25, usage={'prompt_tokens': 100, 'completion_tokens': 10})"


@pytest.fixture(autouse=True)
def counting(write_extractor):
    write_extractor(PAID, "document, prompt, model=None")


@pytest.fixture
def recordings(pytester):
    return lambda folder="extract-recordings": sorted((pytester.path / folder).rglob("*.json"))


@pytest.mark.parametrize(
    ("mode", "called", "kept"), [("off", [2, 2], 0), ("once", [2, 0], 2), ("new", [2, 0], 2), ("all", [2, 2], 2)]
)
def test_what_is_called_and_kept(run, write_case, calls, recordings, mode, called, kept):
    write_case("a", repeat=2)
    for expected in called:
        run(f"--extract-record={mode}", passed=1)
        assert calls() == expected
    assert len(recordings()) == kept


def test_once_calls_once_and_then_replays(run, write_case, calls):
    write_case("a")
    wrong = {**GOLD, "total": 7}
    write_case("b", wrong)
    run("--extract-record=once", "-n2", passed=1, failed=1)
    assert calls() == 2
    run("--extract-record=once", lines=["*recorded earlier: 2 outputs (nothing spent on them now)"])
    write_case("b", wrong, thresholds={"pass_rate": 0.5})  # scored anew
    run("--extract-record=none", passed=2)
    assert calls() == 0


@pytest.mark.parametrize("args", [["--extract-concurrency=4"], ["-n2"]], ids=["threads", "workers"])
def test_cases_with_equal_inputs_are_called_once(run, write_case, calls, recordings, args):
    for number in range(6):
        write_case(f"c{number}")
    run("--extract-record=once", *args, passed=6)
    assert calls() == len(recordings()) == 1


@pytest.mark.parametrize("mode", ["once", "new"])
def test_a_case_never_gets_what_another_extractor_made_of_equal_inputs(pytester, run, write_case, recordings, mode):
    pytester.makeconftest("")
    for folder, code in (("a", ECHO), ("b", ECHO.replace("return document.text", "return '{}'"))):
        write_case(f"{folder}/x")
        (pytester.path / folder / "conftest.py").write_text(code, encoding="utf-8")
    for _ in range(2):
        run(f"--extract-record={mode}", passed=1, failed=1)
    assert len(recordings()) == 2


KEY = """
@pytest.fixture(scope="session")
def key():
    if os.path.exists("no-key"):
        raise RuntimeError("no key here")
"""


def test_none_replays_a_call_with_its_numbers_also_where_no_extractor_can_be_made(
    pytester, run, write_case, write_extractor, add_to_conftest
):
    write_extractor(PAID, needs="key")
    add_to_conftest(KEY)
    write_case("a")
    run("--extract-record=once", passed=1)
    (pytester.path / "no-key").touch()
    run("--extract-record=none", "--extract-report=r.jsonl", passed=1)
    (attempt,) = results(pytester)[0].attempts
    assert (attempt.recorded, attempt.cost_usd, attempt.usage.prompt_tokens) == (True, 0.25, 100)


def test_none_says_why_nothing_fresh_is_there_and_new_records_it_again(pytester, run, write_case, calls, recordings):
    (pytester.path / "p.md").write_text("one\ntwo\n", encoding="utf-8")
    write_case("a", prompt="p.md")
    pytester.runpytest("--extract-record=once")
    (pytester.path / "p.md").write_text("one\n2\n", encoding="utf-8")
    why = "recorded for prompt p.md (*), now p.md (*); renew it with: pytest *a.extract.yaml::a* --extract-record=new"
    run("--extract-record=none", failed=1, lines=[f"ERROR: no fresh recording of a.extract.yaml::a: {why}"])
    run("--extract-record=new", passed=1)
    assert calls() == 2
    assert len(recordings()) == 1


def test_the_command_that_renews_names_what_the_recording_hangs_on(pytester, run, write_case, calls, recordings):
    write_case("a")
    pytester.makefile(".md", careful="Read with care.")
    given = ["--extract-repeat=2", "--extract-prompt=careful.md", "--extract-model=m", "--extract-recordings=kept"]
    lines = run("--extract-record=none", *given).outlines
    [command] = {line.partition("renew it with: pytest ")[2] for line in lines if "renew it with" in line}
    assert set(shlex.split(command)) == {"a.extract.yaml::a[m]", "--extract-record=new", *given}
    run(*shlex.split(command), passed=1)
    run("--extract-record=none", *given, passed=1)
    assert calls() == len(recordings("kept")) == 2


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
def test_parameters_are_json_or_a_mistake(pytester, run, write_case, mode, params, told):
    given = ECHO.replace("    return e", f"    extract.extract_params = {params}; return e")
    pytester.makeconftest(f"import pathlib\n{given}")
    write_case("a")
    result = run(f"--extract-record={mode}", passed=told is None, failed=told is not None)
    if told is not None:
        shows(result, f"error: 1 case: {told}")


@pytest.mark.parametrize("mode", ["new", "all"])  # tests of reports have `once`, beside all else that is written
def test_what_cannot_be_recorded_is_not_paid_for(pytester, write_case, calls, mode):
    write_case("a")
    (pytester.path / "taken").write_text("a file")
    result = pytester.runpytest(f"--extract-record={mode}", "--extract-recordings=taken/kept")
    refused(result, "*--extract-recordings: cannot write *taken/kept: *; name a folder that can be written")
    assert calls() == 0


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["plain", "n2"])
def test_outputs_that_cannot_be_recorded_are_scored_and_paid_for_and_the_run_is_red(
    pytester, run, write_case, write_extractor, workers
):
    write_extractor(f"pathlib.Path('extract-recordings').touch()\n{PAID}")
    write_case("a")
    write_case("b", {**GOLD, "total": 13})
    options = ("--extract-record=once", "--extract-report=r.jsonl", "--extract-report=r.html", "--extract-gate=none")
    lines = [
        "2 cases: 1 passed, 1 failed*",
        "*cost: $0.5000",
        "2 times: an output is not recorded: *extract-recordings cannot be written: *paid for again*--extract-recordings=DIR*",
    ]
    run(*options, *workers, passed=1, status=RED, lines=lines)
    notes = [note for each in results(pytester) for note in each.attempts[0].notes]
    assert [note.partition(":")[0] for note in notes] == ["not recorded"] * 2
    assert "not recorded" in text_of(pytester, "r.html")


@pytest.mark.parametrize(
    "args", [("once",), ("new",), ("none", "--extract-other-code=allow"), ("once", "-n1")], ids=str
)
def test_outputs_of_other_code_are_told_or_refused(pytester, run, write_case, args):
    pytester.makeconftest(ECHO)
    write_case("a")
    write_case("b", json.dumps(GOLD, indent=1))
    run("--extract-record=once", passed=2)
    conftest = pytester.path / "conftest.py"
    conftest.write_bytes(conftest.read_bytes().replace(b"\n", b"\r\n"))  # line ends are no other code
    run("--extract-record=none", passed=2)
    pytester.makeconftest(ECHO.replace("return document.text", "return '{}'"))
    lines = ["2 times: an output is recorded by other code (conftest.py); --extract-record=all renews what it replays"]
    run(f"--extract-record={args[0]}", *args[1:], passed=2, lines=lines)
    other = "ERROR: this output was recorded by other code (conftest.py); renew it with --extract-record=all, or *"
    run("--extract-record=none", failed=2, lines=[other])
    for mode in ("all", "none"):
        run(f"--extract-record={mode}", failed=2).stdout.no_fnmatch_line("*other code*")


def test_line_ends_of_a_document_are_no_change(run, write_files):
    text, case = json.dumps(GOLD, indent=1), {"document": "d.txt", "schema": SCHEMA, "gold": GOLD}
    write_files({"d.txt": text, "a.extract.yaml": case})
    baseline = "--extract-baseline=base.json"
    run("--extract-record=once", baseline, "--extract-update-baseline", passed=1)
    write_files({"d.txt": text.replace("\n", "\r\n")})
    result = run("--extract-record=none", baseline, "--extract-gate=regression", passed=1)
    result.stdout.no_fnmatch_line("*document changed*")


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
def test_declared_files_are_there_below_the_rootdir(pytester, write_case, glob, told):
    pytester.makeini(f"[pytest]\nextract_files = {glob}\n")
    pytester.mkdir("__pycache__").joinpath("conftest.pyc").touch()
    write_case("a")
    workers = ["-n1"] if glob == "promts/*.txt" else []
    refused(pytester.runpytest("--extract-record=none", *workers), f"*extract_files: *{told}*")
