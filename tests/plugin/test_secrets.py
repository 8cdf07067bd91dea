"""What is scored live is what is scored on replay, and no secret leaves a run."""

import re
import xml.etree.ElementTree as ET

import pytest

from pytest_extract.redact import NOTHING_KNOWN
from tests.plugin.conftest import plain_and_workers, refused, results, shows, text_of
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
KEY = "openai, project"


@pytest.fixture(autouse=True)
def project(pytester, monkeypatch):
    monkeypatch.setenv("CACHE_KEY", "invoices")
    monkeypatch.setenv("MODEL_API_KEY", made("{a33}"))
    pytester.makeconftest(GIVES)


@pytest.fixture
def scores(pytester):
    def read(name):
        return [(each.nodeid, each.attempts[0].score, each.attempts[0].output) for each in results(pytester, name)]

    return read


@pytest.mark.parametrize("replay", ["--extract-record=none", "--extract-from=live.jsonl"])
def test_data_is_scored_live_as_it_is_replayed(pytester, write_suite, scores, replay):
    golds = [{"right": value, "wrong": "something else", "label": str(value)} for value in LEGAL]
    write_suite([{"text": f"legal {index}", "gold": gold} for index, gold in enumerate(golds)], schema=SCHEMA)
    base = "--extract-baseline=base.json"
    recording = ("--extract-record=once", "--extract-report=live.jsonl", "--extract-gate=none")
    live = pytester.runpytest(base, "--extract-update-baseline", *recording)
    again = pytester.runpytest(base, "--extract-gate=regression", replay, "--extract-report=again.jsonl")
    assert live.ret == again.ret == 0
    assert len(scores("live.jsonl")) == len(LEGAL)
    assert scores("live.jsonl") == scores("again.jsonl")
    for text in (live.stdout.str(), again.stdout.str(), text_of(pytester, "again.jsonl")):
        assert "redacted" not in text
        assert "not recorded" not in text
    shows(again, "PASS. *no result changed*")


@pytest.mark.slow
def test_no_secret_leaves_a_run(pytester, run, write_suite):
    planted = [*[*SECRETS.values()][::4], made("{a33}")]  # tests/redact knows every form
    kinds = [f"{kind} {index}" for index in range(len(planted)) for kind in ("value", "text")]
    raising = [f"raises {index}" for index in range(len(planted) + len(IN_MESSAGES))]
    gold = {"right": "a", "wrong": "b", "label": "c"}
    write_suite([{"text": text, "gold": gold} for text in (*kinds, *raising)], schema=SCHEMA)
    reports = [f"--extract-report=r.{suffix}" for suffix in ("jsonl", "html", "md", "csv")]
    junit = ("--junitxml=junit.xml", "-o", "junit_logging=all")
    baseline = ("--extract-baseline=base.json", "--extract-update-baseline", "--extract-force")
    verbose = ("-l", "-vv", "--extract-concurrency=1", "--extract-record=once")
    result = run(*verbose, *reports, *junit, *baseline, failed=len(kinds) + len(raising))
    texts = {"terminal": result.stdout.str() + result.stderr.str()}
    (pytester.path / "conftest.py").unlink()
    for path in pytester.path.rglob("*"):
        if path.is_file() and path.suffix not in {".pyc", ".yaml"}:
            texts[path.name] = path.read_text()
    assert {"junit.xml", "r.jsonl", "r.html", "r.md", "r.csv", "base.json", "terminal"} <= texts.keys()
    for secret in (*planted, *(secret for _, secret in IN_MESSAGES.values())):
        for part in secret.split("\n")[1:-1] or [secret]:
            assert [name for name, text in texts.items() if part in text] == []
    summary = texts["terminal"]
    told = re.findall(r"(?:(\d+) times: )?redacted: .* \((result|error message)\)\n", summary)
    assert sum(int(count or 1) for count, place in told if place == "result") >= len(kinds)
    assert sum(int(count or 1) for count, place in told if place == "error message") >= len(raising)
    assert "MODEL_API_KEY" in summary
    assert "not recorded: all.extract.yaml::c0: the output holds a secret (API key) at " in summary
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


def test_logs_that_are_shown_at_once_hold_no_secret(pytester, write_suite):
    key = made("{a33}")
    pytester.makepyfile(conftest=LOGS.replace("KEY", key))
    pytester.makepyfile(test_own="from conftest import test_a_log_that_is_no_ones")
    write_suite([{"gold": {"right": "a"}}, {"gold": {"right": "z"}}], schema=SCHEMA)
    to_file = ("--log-file=log.txt", "--log-file-level=DEBUG", "--log-cli-level=DEBUG", "--color=yes")
    settings = ("-o", "junit_logging=all", "-o", "log_format=%(name)s %(levelname)s %(message)s")
    run = pytester.runpytest_subprocess(*to_file, "--junitxml=junit.xml", *settings)
    run.assert_outcomes(passed=2, failed=1)
    logged = text_of(pytester, "log.txt")
    for text in (run.stdout.str() + run.stderr.str(), logged, text_of(pytester, "junit.xml")):
        assert "no answer" in text
        assert [each for each in (key, "##vso", "\x1b[2J") if each in text] == []
    assert "[redacted: " in logged
    assert "ConnectionError: refused for [redacted: MODEL_API_KEY]" in logged


def test_the_past_run_says_why_it_cannot_decide_again(pytester, run, write_case):
    write_case("a", "value 0", schema=SCHEMA, gold={"right": "a"})
    pytester.runpytest("--extract-report=live.jsonl")
    lines = ["*not run: the past run did not keep this output: the output holds a secret (API key)*"]
    run("--extract-from=live.jsonl", "-rs", skipped=1, lines=lines)


@pytest.mark.parametrize("why", ["allowed", "in the gold"])
def test_a_secret_that_is_allowed_or_that_the_gold_holds_is_data(pytester, write_case, scores, why):
    (found,) = NOTHING_KNOWN.find(SECRETS[KEY])
    allowed = ["-o", f"extract_allow_secrets={found.fingerprint}"] if why == "allowed" else []
    write_case("a", "value 0", schema=SCHEMA, gold={"right": "a" if allowed else f"see {SECRETS[KEY]}"})
    live = pytester.runpytest("--extract-record=once", "--extract-report=live.jsonl", *allowed)
    live.stdout.no_fnmatch_line("*redacted*")
    assert SECRETS[KEY] in text_of(pytester, "live.jsonl")
    pytester.runpytest("--extract-record=none", "--extract-report=again.jsonl", *allowed)
    assert scores("live.jsonl") == scores("again.jsonl")


def test_a_bad_fingerprint_is_a_mistake(pytester):
    told = "*extract_allow_secrets: 'nonsense' must be a fingerprint of 16 hexadecimal digits*"
    refused(pytester.runpytest("-o", "extract_allow_secrets=nonsense"), told)


@pytest.mark.parametrize(("mode", "gold"), [("fix", {"right": "a"}), ("new", "a.gold.json")])
def test_a_gold_takes_no_secret(pytester, run, write_case, write_extractor, mode, gold):
    write_extractor(f"return {{'right': {SECRETS[KEY]!r}}}")
    write_case("a", "a", schema=SCHEMA, gold=gold)
    before = text_of(pytester, "a.extract.yaml")
    lines = ["golds: 1 kept", "*the output holds a secret (API key)*"]
    run(f"--extract-update-gold={mode}", "--extract-force", lines=lines)
    assert text_of(pytester, "a.extract.yaml") == before
    assert not (pytester.path / "a.gold.json").exists()


@plain_and_workers
def test_a_variable_that_a_fixture_sets_counts(pytester, write_case, write_fixture, workers):
    write_fixture(
        """
        from tests.redact.corpus import made
        os.environ["FROM_DOTENV_API_KEY"] = made("{a31}")
        def extract(document):
            raise RuntimeError("no such key: " + os.environ["FROM_DOTENV_API_KEY"])
        return extract
        """
    )
    write_case("a", "a", schema=SCHEMA, gold={"right": "a"})
    result = pytester.runpytest("--junitxml=junit.xml", *workers)
    assert made("{a31}") not in result.stdout.str() + text_of(pytester, "junit.xml")
    shows(result, "redacted: FROM_DOTENV_API_KEY (error message)")


ODD = "odd\x1b\u202e\u2066name"
TURNING = "\x1b\u202e\u2066"


def test_names_with_control_and_direction_characters_leave_junit_whole(pytester, run, write_case):
    write_case(ODD, "legal 0", schema=SCHEMA, gold={"right": "x"})
    args = (f"--extract-model=m/{ODD}", "--junitxml=junit.xml", "-v", "-o", "junit_family=xunit1")
    result = run(*args, f"{ODD}.extract.yaml", failed=1)
    (testcase,) = ET.parse(pytester.path / "junit.xml").iter("testcase")  # what the run has just written
    shown = "odd\\x1b\\u202e\\u2066name"
    assert shown in testcase.attrib["classname"]
    assert testcase.attrib["file"] == f"{shown}.extract.yaml"
    assert f"[m/{shown}]" in testcase.attrib["name"]
    lines = "".join(line for line in result.outlines if "::" in line)
    assert lines
    assert not any(char in lines for char in TURNING)
    run(*args, "--lf", f"{ODD}.extract.yaml", failed=1)
