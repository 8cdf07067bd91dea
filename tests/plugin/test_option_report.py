"""--extract-report: every format, earlier reports, runs cut into shards, what cannot be written; --extract-by."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pytest

from pytest_extract.cli import main
from pytest_extract.core.case_result import Outcome
from pytest_extract.report.formats import FORMATS
from tests.plugin.conftest import GOLD, GREEN, RED, refused, results, shows, text_of

pytestmark = pytest.mark.usefixtures("echo")
HOSTILE = {**GOLD, "vendor": "```</pre><script>\x1b"}
plain_and_n2 = pytest.mark.parametrize("args", [[], ["-n2"]], ids=["plain", "n2"])


@pytest.fixture
def two_cases(write_case):
    write_case("bad", HOSTILE, tags={"kind": "scan"})
    write_case("good", tags={"kind": "mail"})


@plain_and_n2
def test_every_format_tells_of_the_cases(pytester, run, two_cases, args):
    (pytester.path / "plain").touch()
    kinds = ("jsonl", "html", "markdown", "csv")
    lines = ["reports: *jsonl, *html, *markdown, *csv"]
    run(*(f"--extract-report={kind}:out/{kind}" for kind in kinds), *args, passed=1, failed=1, lines=lines)

    found = {each.case_id: each for each in results(pytester, "out/jsonl")}
    assert found.keys() == {"good", "bad"}
    good, bad = found["good"], found["bad"]
    assert (good.nodeid, good.outcome, good.tags) == ("good.extract.yaml::good", "passed", {"kind": "mail"})
    assert good.digests.keys() >= {"document", "schema", "gold"}
    assert (bad.outcome, bad.breaches[0].what) == ("failed", "pass_rate")
    assert bad.attempts[0].output == json.dumps(HOSTILE)

    page = text_of(pytester, "out/html")
    assert "<title>✗ Failed: 1 of 2 cases failed</title>" in page
    assert r"\u003c/pre>\u003cscript>" in page
    assert "</pre><script>" not in page

    text = text_of(pytester, "out/markdown")
    assert text.startswith("<!-- pytest-extract -->\n## ❌ Failed\n\n- 1 of 2 cases failed\n")
    assert "<summary><code>bad.extract.yaml::bad</code>: failed</summary>" in text
    assert "\x1b" not in page + text

    rows = list(csv.DictReader(text_of(pytester, "out/csv").splitlines()))
    (vendor,) = [row for row in rows if (row["case"], row["path"]) == ("bad", "vendor")]
    assert [vendor[name] for name in ("status", "score", "gold")] == ["mismatch", "0.0", '"ACME GmbH"']
    assert sum(row["case"] == "good" for row in rows) == 6
    if os.name != "nt":  # others may read a report; Windows has no such modes
        modes = {(pytester.path / "out" / kind).stat().st_mode for kind in kinds}
        assert modes == {(pytester.path / "plain").stat().st_mode}


@plain_and_n2
def test_mistakes_in_case_files_are_told(pytester, run, two_cases, args):
    (pytester.path / "odd.extract.yaml").write_text("document: nowhere.txt\nschma: {}\ngold: 1\n")
    reports = ("--extract-report=r.html", "--extract-report=r.md")
    run(*reports, *args, passed=1, failed=1, errors=1)
    for name in ("r.html", "r.md"):
        assert "1 case file with mistakes" in text_of(pytester, name)
        assert re.search(r"odd\.extract\.yaml:2:1: unknown key .*schma", text_of(pytester, name))


def test_by_splits_summary_and_reports(pytester, run, two_cases):
    result = pytester.runpytest("--extract-by=kind", "--extract-report=r.csv", "--extract-report=r.md")
    result.stdout.re_match_lines([r"by kind", r" *kind +cases passed", r" *mail +1 +1 +1 of 1 +100 %", r" *scan +1 +0"])
    header, *_ = text_of(pytester, "r.csv").splitlines()
    assert header.endswith(",reason,confidence,mistake,mode,kind")
    assert "| kind | cases |" in text_of(pytester, "r.md")
    pytester.makeini("[pytest]\nextract_by = knd\n")
    run("-k", "good", status=GREEN, lines=["--extract-by: no case has the tag 'knd'; did you mean 'kind'?"])


def test_the_manual_has_every_format():
    page = (resources.files("pytest_extract.docs") / "reports.md").read_text(encoding="utf-8")
    assert [kind.name for kind in FORMATS if f"| `{kind.example}` | {kind.help} |" not in page] == []


FILES = ("r.jsonl", "h.html", "m.md", "c.csv", "gitlab:q.json", "agent:a.txt")
ALL_FILES = [f"--extract-report={each}" for each in FILES]


def texts(pytester):
    return [text_of(pytester, each.rpartition(":")[2]) for each in FILES]


@plain_and_n2
@pytest.mark.parametrize("keys", [{"marks": ["skip(reason='today')"]}, {"unknown": 1}], ids=["skipped", "mistakes"])
def test_reports_of_an_earlier_run_do_not_survive_a_run_without_a_result(
    pytester, run, two_cases, write_case, keys, args
):
    run(*ALL_FILES, passed=1, failed=1)
    before = texts(pytester)
    write_case("bad", HOSTILE, **keys)
    write_case("good", **keys)
    result = run(*ALL_FILES, *args, lines=["no case ran: 2 cases skipped"] * ("marks" in keys))
    shows(result, "reports: *r.jsonl, *h.html, *m.md, *c.csv, *q.json, *a.txt")
    assert all(old != new for old, new in zip(before, texts(pytester), strict=True))
    assert text_of(pytester, "r.jsonl") == ""
    assert "bad.extract.yaml::bad" not in "".join(texts(pytester))
    assert ("2 case files with mistakes" in text_of(pytester, "h.html")) == ("unknown" in keys)


@pytest.mark.parametrize(
    "args", ["test_a.py", "-k nothing", "--collect-only", "--collect-only -n1", "--setup-plan", "--extract-dry-run"]
)
def test_a_run_without_results_takes_no_report_away(pytester, two_cases, args):
    pytester.makepyfile(test_a="def test_a(): pass")
    pytester.runpytest(*ALL_FILES)
    before = texts(pytester)
    result = pytester.runpytest(*args.split(), *ALL_FILES)
    told = "no case ran: of an earlier run: *r.jsonl, *h.html, *m.md, *c.csv, *q.json, *a.txt"
    if "--collect-only" in args:
        result.stdout.no_fnmatch_line("no case ran*")
    else:
        shows(result, told)
    assert texts(pytester) == before


def test_hostile_values_get_through_xdist(pytester, run, write_case, write_extractor):
    write_extractor(
        """
        deep = 1
        for _ in range(5000):
            deep = [deep]
        return {"vendor": "a\\ud800\\x1b[31m", "total": float("nan"), "items": [deep], "big": 10**5000}
        """
    )
    write_case("a")
    write_case("b")
    for args in ([], ["-n2"]):  # a second run starts the file again
        result = run(*args, "--extract-report=r.jsonl", failed=2)
        assert len(results(pytester)) == 2
    assert "\x1b[31m" not in result.stdout.str()


NUMBERS = {"type": "object", "properties": {"n": {"type": "integer"}, "total": {"type": "number"}}}
WRONG_BELOW = """
gold = json.loads(document.text)
return {**gold, "total": -1} if gold["n"] < int(os.environ.get("WRONG", "0")) else gold
"""


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in {"duration_s", "latency_s"}}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def test_results_and_verdict_are_the_same_however_the_run_is_cut(
    pytester, write_extractor, write_suite, monkeypatch, capsys
):
    write_extractor(WRONG_BELOW)
    cases = [{"id": f"c{number:02}", "gold": {"n": number, "total": number * 1.5}} for number in range(24)]
    write_suite(cases[:12], "a", schema=NUMBERS)
    write_suite(cases[12:], "b", schema=NUMBERS)
    pytester.runpytest("--extract-report=base.jsonl").assert_outcomes(passed=24)
    monkeypatch.setenv("WRONG", "9")
    runs = {"one": [], "two": ["-n2"], "shard-a": ["a.extract.yaml"], "shard-b": ["b.extract.yaml"]}
    for name, args in runs.items():
        run = pytester.runpytest_subprocess if name == "two" else pytester.runpytest
        run("--extract-gate=none", f"--extract-report={name}.jsonl", *args)
    assert main(["merge", "shard-a.jsonl", "shard-b.jsonl", "-o", "shards.jsonl"]) == 0
    capsys.readouterr()

    found, verdicts = [], []
    for name in ("one.jsonl", "two.jsonl", "shards.jsonl"):
        lines = [without_times(json.loads(line)) for line in text_of(pytester, name).splitlines()]
        found.append(sorted(lines, key=lambda line: line["nodeid"]))
        status = main(["compare", "base.jsonl", name, "--json"])
        record = json.loads(capsys.readouterr().out)
        record.pop("calls")  # how long a call took differs from run to run
        verdicts.append((status, without_times(record)))
    assert len(found[0]) == 24
    assert found[0] == found[1] == found[2]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0][0] == pytest.ExitCode.TESTS_FAILED  # worse


@pytest.mark.slow
@pytest.mark.parametrize("models", [(), ("--extract-model=m/x", "--extract-model=m/y [z]")], ids=["plain", "models"])
@pytest.mark.parametrize("boom", ["boom", "boom [v2]"])
def test_a_worker_that_dies_breaks_its_case_only(pytester, write_case, write_extractor, boom, models):
    write_extractor('return os._exit(3) if "boom" in document.text else document.text', "document, model", fixture="")
    write_case(boom, "boom")
    for name in ("a", "b", "c"):
        write_case(name)
    result = pytester.runpytest("-n2", "--extract-report=r.jsonl", *models)
    found = {each.case_id: each for each in results(pytester)}
    assert {name: each.outcome for name, each in found.items()} == {**dict.fromkeys("abc", "passed"), boom: "error"}
    assert "crashed while running this case" in found[boom].why
    variants = {(each.case_id, each.variant.label) for each in results(pytester)}
    assert len(variants) == 4 * max(1, len(models))
    assert len({variant for _, variant in variants}) == max(1, len(models))
    if not models:
        shows(result, "4 cases: 3 passed, 1 error*")


def test_a_killed_run_keeps_what_had_ended(pytester, write_case, write_extractor):
    write_extractor('return time.sleep(3600) if "wait" in document.text else document.text', fixture="")
    write_case("a")
    write_case("b", "wait")
    path = pytester.path / "r.jsonl"
    options = ("-p", "no:randomly", "--extract-report=r.jsonl", "--extract-concurrency=1")
    command = [sys.executable, "-m", "pytest", *options]
    with subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.DEVNULL) as process:
        for _ in range(3000):
            if path.exists() and path.read_text(encoding="utf-8").endswith("\n"):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    assert [(each.case_id, each.outcome) for each in results(pytester)] == [("a", Outcome.PASSED)]


@pytest.mark.skipif(os.name == "nt", reason="no limit of the size of files")
def test_a_full_disk_turns_the_run_red_but_does_not_end_it(pytester, write_case, write_extractor):
    write_extractor("import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); return document.text")
    write_case("a")
    write_case("b")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--extract-report=r.jsonl"]
    ended = subprocess.run(command, cwd=pytester.path, capture_output=True, text=True, check=False)
    assert ended.returncode == RED
    assert "2 cases: 2 passed" in ended.stdout
    assert re.search(r"--extract-report: .*r\.jsonl is not complete: ", ended.stdout)


OUTPUTS = {
    **{each.name: [f"--extract-report={each.name}:{{}}/r"] for each in FORMATS},
    "baseline": ["--extract-baseline={}/b.json", "--extract-update-baseline", "--extract-force"],
    "recordings": ["--extract-record=once", "--extract-recordings={}/r"],
}


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("place", ["/proc/nowhere", "file"])
def test_what_cannot_be_written_is_not_paid_for(pytester, write_case, write_extractor, option, place):
    if place.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("no /proc here")
    write_extractor("return document.text")
    write_case("a")
    (pytester.path / "file").touch()
    before = {*pytester.path.iterdir()}
    workers = ["-n1"] if option in {"jsonl", "baseline", "recordings"} else []
    result = pytester.runpytest("-pno:cacheprovider", *(each.format(place) for each in OUTPUTS[option]), *workers)
    name = option if option in {"baseline", "recordings"} else "report"
    refused(result, f"*--extract-{name}: cannot write *{place}/*: *; name a f* that can be written")
    assert [path for path in {*pytester.path.iterdir()} - before if path.name != "__pycache__"] == []


def test_all_that_cannot_be_written_is_told_at_once(pytester, write_case):
    write_case("a")
    (pytester.path / "file").touch()
    pytester.mkdir("folder")
    reports = [f"--extract-report={each}" for each in ("csv:folder", "file/r.csv", "new/r.jsonl")]
    cannot = "*--extract-report: cannot write *"
    refused(pytester.runpytest(*reports), f"{cannot}folder: it is a folder*; *", f"{cannot}r.csv: *")
    assert not (pytester.path / "new").exists()


def test_folders_that_are_not_there_are_made_when_they_are_needed(pytester, run, write_case):
    write_case("a")
    options = [each.format(f"new/{name}") for name, option in OUTPUTS.items() for each in option]
    pytester.runpytest("--collect-only", *options)
    assert not (pytester.path / "new" / "html").exists()
    run(*options, passed=1)
    found = {path.parent.name for path in (pytester.path / "new").rglob("*") if path.is_file()}
    assert found >= {*OUTPUTS} - {"recordings"}
    assert any((pytester.path / "new" / "recordings").rglob("*.json"))
