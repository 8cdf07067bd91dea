"""What is scored live is what is scored on replay, and no secret leaves a run."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from pytest_extract import redact as secrets
from pytest_extract.redact import NOTHING_KNOWN
from pytest_extract.results import read_results
from tests.redact.corpus import IN_MESSAGES, LEGAL, SECRETS, made

SCHEMA = {
    "type": "object",
    "properties": {"right": {"type": ["string", "object"]}, "wrong": {"type": "string"}, "label": {"type": "string"}},
}
GIVES = """
import logging
import pytest
from tests.redact.corpus import IN_MESSAGES, LEGAL, SECRETS, made

PLANTED = [*[*SECRETS.values()][::4], made("{a33}")]
FRAMED = [*IN_MESSAGES.values(), *(("HTTP 401 from upstream: {}", planted) for planted in PLANTED)]

@pytest.fixture(scope="session")
def extractor():
    def extract(document, model=None):
        kind, _, index = document.text.partition(" ")
        index = int(index)
        if kind == "legal":
            value = LEGAL[index]
            text = value if isinstance(value, str) else str(value)
            return {"right": value, "wrong": f"{text} (seen)", "label": text, "extra": value}
        if kind == "raises":
            frame, planted = FRAMED[index]
            print(frame.format(planted))
            logging.getLogger("upstream").error(frame.format(planted))
            raise RuntimeError(frame.format(planted))
        planted = PLANTED[index]
        value = {"right": f"see {planted}", "wrong": {"deep": [planted]}, planted: planted}
        return value if kind == "value" else '```json\\n' + __import__("json").dumps(value) + '\\n```'
    return extract
"""


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_current", None)
    secrets.TALLY.taken()
    monkeypatch.setenv("CACHE_KEY", "invoices")
    monkeypatch.setenv("MODEL_API_KEY", made("{a33}"))
    pytester.makeconftest(GIVES)


def write_cases(folder: Path, documents: list[str], golds: list[Any]) -> None:
    cases = [
        {"id": document.replace(" ", "-"), "text": document, "schema": SCHEMA, "gold": gold}
        for document, gold in zip(documents, golds, strict=True)
    ]
    (folder / "all.extract.yaml").write_text(json.dumps({"cases": cases}))


def scores(path: Path) -> list[Any]:
    return [(each.nodeid, each.attempts[0].score, each.attempts[0].output) for each in read_results(path).results]


@pytest.mark.parametrize("replay", [["--extract-record=none"], ["--extract-from=live.jsonl"]], ids=["record", "from"])
def test_data_is_scored_live_as_it_is_replayed(pytester: pytest.Pytester, replay: list[str]) -> None:
    golds = [{"right": value, "wrong": "something else", "label": str(value)} for value in LEGAL]
    write_cases(pytester.path, [f"legal {index}" for index in range(len(LEGAL))], golds)
    common = ["--extract-baseline=base.json", "-q"]
    live = pytester.runpytest(
        *common, "--extract-record=once", "--extract-report=live.jsonl", "--extract-update-baseline", "--extract-gate=none"
    )  # fmt: skip
    assert live.ret == 0
    again = pytester.runpytest(*common, *replay, "--extract-report=again.jsonl", "--extract-gate=regression")
    assert again.ret == 0
    assert len(scores(pytester.path / "live.jsonl")) == len(LEGAL)
    assert scores(pytester.path / "live.jsonl") == scores(pytester.path / "again.jsonl")
    for text in (live.stdout.str(), again.stdout.str(), (pytester.path / "again.jsonl").read_text()):
        assert "redacted" not in text
        assert "not recorded" not in text
    again.stdout.fnmatch_lines(["PASS. *no result changed*"])


@pytest.mark.slow
def test_no_secret_leaves_a_run(pytester: pytest.Pytester) -> None:
    planted = [*[*SECRETS.values()][::4], made("{a33}")]  # tests/redact knows every form
    kinds = [f"{kind} {index}" for index in range(len(planted)) for kind in ("value", "text")]
    raising = [f"raises {index}" for index in range(len(planted) + len(IN_MESSAGES))]
    write_cases(pytester.path, [*kinds, *raising], [{"right": "a", "wrong": "b", "label": "c"}] * len(kinds + raising))
    run = pytester.runpytest(
        "-l", "-vv", "--extract-concurrency=1", "--junitxml=junit.xml", "-o", "junit_logging=all", "--extract-record=once", "--extract-report=r.jsonl",
        "--extract-report=r.html", "--extract-report=r.md", "--extract-report=r.csv", "--extract-baseline=base.json",
        "--extract-update-baseline", "--extract-force",
    )  # fmt: skip
    run.assert_outcomes(failed=len(kinds) + len(raising))
    texts = {"terminal": run.stdout.str() + run.stderr.str()}
    (pytester.path / "conftest.py").unlink()
    for path in pytester.path.rglob("*"):
        if path.is_file() and path.suffix not in {".pyc", ".yaml"}:
            texts[path.name] = path.read_text()
    assert {"junit.xml", "r.jsonl", "r.html", "r.md", "r.csv", "base.json", "terminal"} <= texts.keys()
    for secret in (*planted, *(secret for _, secret in IN_MESSAGES.values())):
        for part in secret.split("\n")[1:-1] or [secret]:
            assert [name for name, text in texts.items() if part in text] == []
    summary = texts["terminal"]
    told = re.findall(r"redacted: .* in (\d+) (result|error message)s?\n", summary)
    assert sum(int(count) for count, place in told if place == "result") >= len(kinds)
    assert sum(int(count) for count, place in told if place == "error message") >= len(raising)
    assert "MODEL_API_KEY" in summary
    assert "not recorded: all.extract.yaml::value-0: the output holds a secret (API key) at " in summary
    assert not list(pytester.path.glob("extract-recordings/**/*.json"))


LOGS = """
import logging
import pytest

@pytest.fixture(scope="session")
def extractor():
    def extract(document):
        log = logging.getLogger("client")
        log.debug("request to %s, headers %r", "http://api", {"Authorization": "Bearer KEY"}, extra={"key": "KEY"})
        try:
            raise ConnectionError("refused for KEY\\n\x1b[2J")
        except ConnectionError:
            log.exception("no answer ##vso[task.complete]", stack_info=True)
        return {"right": "a"}
    return extract

def test_a_log_that_is_no_ones(caplog):
    logging.getLogger().warning("%s", "x")
    assert caplog.text.endswith("x\\n")
"""


def test_logs_that_are_shown_at_once_hold_no_secret(pytester: pytest.Pytester) -> None:
    key = made("{a33}")
    pytester.makepyfile(conftest=LOGS.replace("KEY", key))
    pytester.makepyfile(test_own="from conftest import test_a_log_that_is_no_ones")
    write_cases(pytester.path, ["a", "b"], [{"right": "a"}, {"right": "z"}])
    run = pytester.runpytest_subprocess(
        "--log-cli-level=DEBUG", "--log-file=log.txt", "--log-file-level=DEBUG", "--junitxml=junit.xml",
        "-o", "junit_logging=all", "-o", "log_format=%(name)s %(levelname)s %(message)s", "--color=yes",
    )  # fmt: skip
    run.assert_outcomes(passed=2, failed=1)
    logged = (pytester.path / "log.txt").read_text()
    for text in (run.stdout.str() + run.stderr.str(), logged, (pytester.path / "junit.xml").read_text()):
        assert "no answer" in text
        assert key not in text
        assert "##vso" not in text
        assert "\x1b[2J" not in text
    assert "[redacted: " in logged
    assert "ConnectionError: refused for [redacted: MODEL_API_KEY]" in logged


def test_the_past_run_says_why_it_cannot_decide_again(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, ["value 0"], [{"right": "a"}])
    pytester.runpytest("--extract-report=live.jsonl")
    again = pytester.runpytest("--extract-from=live.jsonl", "-rs")
    again.assert_outcomes(skipped=1)
    again.stdout.fnmatch_lines(
        ["*not run: the past run did not keep this output: the output holds a secret (API key)*"]
    )


def test_an_allowed_secret_is_recorded(pytester: pytest.Pytester) -> None:
    (found,) = NOTHING_KNOWN.find(SECRETS["openai, project"])
    write_cases(pytester.path, ["value 0"], [{"right": "a"}])
    allowed = ["-o", f"extract_allow_secrets={found.fingerprint}"]
    live = pytester.runpytest("--extract-record=once", "--extract-report=live.jsonl", *allowed)
    live.stdout.no_fnmatch_line("*redacted*")
    assert SECRETS["openai, project"] in (pytester.path / "live.jsonl").read_text()
    pytester.runpytest("--extract-record=none", "--extract-report=again.jsonl", *allowed)
    assert scores(pytester.path / "live.jsonl") == scores(pytester.path / "again.jsonl")


def test_a_bad_fingerprint_is_a_mistake(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("-o", "extract_allow_secrets=nonsense")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*extract_allow_secrets: 'nonsense' must be a fingerprint of 16 hexadecimal digits*"])


def test_a_secret_that_the_gold_holds_is_data(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, ["value 0"], [{"right": f"see {SECRETS['openai, project']}"}])
    live = pytester.runpytest("--extract-record=once", "--extract-report=live.jsonl")
    live.stdout.no_fnmatch_line("*redacted*")
    pytester.runpytest("--extract-record=none", "--extract-report=again.jsonl")
    assert scores(pytester.path / "live.jsonl") == scores(pytester.path / "again.jsonl")


def test_a_gold_takes_no_secret(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
import pytest
from tests.redact.corpus import SECRETS

@pytest.fixture
def extractor():
    return lambda document: {"right": SECRETS["openai, project"]}
""")
    write_cases(pytester.path, ["a"], [{"right": "a"}])
    before = (pytester.path / "all.extract.yaml").read_text()
    result = pytester.runpytest("--extract-update-gold=fix", "--extract-force")
    assert (pytester.path / "all.extract.yaml").read_text() == before
    result.stdout.fnmatch_lines(["golds: 1 kept", "*the output holds a secret (API key)*"])


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_a_variable_that_a_fixture_sets_counts(pytester: pytest.Pytester, args: list[str]) -> None:
    pytester.makeconftest("""
import os
import pytest
from tests.redact.corpus import made

@pytest.fixture(scope="session")
def extractor():
    os.environ["FROM_DOTENV_API_KEY"] = made("{a31}")
    def extract(document):
        raise RuntimeError("no such key: " + os.environ["FROM_DOTENV_API_KEY"])
    return extract
""")
    write_cases(pytester.path, ["a"], [{"right": "a"}])
    result = pytester.runpytest("--junitxml=junit.xml", *args)
    assert made("{a31}") not in result.stdout.str() + (pytester.path / "junit.xml").read_text()
    result.stdout.fnmatch_lines(["redacted: FROM_DOTENV_API_KEY in 1 error message"])


ODD = "odd\x1b\u202e\u2066name"


def test_names_with_control_and_direction_characters_leave_junit_whole(pytester: pytest.Pytester) -> None:
    case = {"text": "legal 0", "schema": SCHEMA, "gold": {"right": "x"}}
    (pytester.path / f"{ODD}.extract.yaml").write_text(json.dumps(case))
    args = (f"--extract-model=m/{ODD}", "--junitxml=junit.xml", "-v", "-o", "junit_family=xunit1")
    result = pytester.runpytest(*args, f"{ODD}.extract.yaml")
    result.assert_outcomes(failed=1)
    tree = ET.parse(pytester.path / "junit.xml")  # what the run has just written
    (testcase,) = tree.iter("testcase")
    shown = "odd\\x1b\\u202e\\u2066name"
    assert shown in testcase.attrib["classname"]
    assert testcase.attrib["file"] == f"{shown}.extract.yaml"
    assert f"[m/{shown}]" in testcase.attrib["name"]
    lines = [line for line in result.outlines if "::" in line]
    assert lines
    assert not any(char in line for line in lines for char in "\x1b\u202e\u2066")
    again = pytester.runpytest(*args, "--lf", f"{ODD}.extract.yaml")
    again.assert_outcomes(failed=1)


def test_an_exception_cannot_turn_the_terminals_direction(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
import pytest

@pytest.fixture
def extractor():
    def extract(document):
        raise RuntimeError("total \\u202e12.50\\u2066 EUR")
    return extract
""")
    write_cases(pytester.path, ["a"], [{"right": "a"}])
    text = pytester.runpytest("-rA").stdout.str()
    assert "\\u202e12.50\\u2066" in text
    assert not any(char in text.replace("\\u", "") for char in "\u202e\u2066")
