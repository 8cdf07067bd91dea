from __future__ import annotations

import csv
import html
import os
import re
from collections.abc import Callable
from importlib import resources

import pytest

from pytest_extract.report.formats import FORMATS, Format
from tests.plugin.conftest import GOLD

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]
HOSTILE = {**GOLD, "vendor": "```</pre><script>\x1b"}


@pytest.fixture(autouse=True)
def two_cases(write_case: Write) -> None:
    write_case("bad", HOSTILE)
    write_case("good")


def written(pytester: pytest.Pytester, option: str, *args: str) -> str:
    result = pytester.runpytest(f"--extract-report={option}:out/report", *args)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["reports: *report"])
    return (pytester.path / "out" / "report").read_text(encoding="utf-8")


@pytest.mark.parametrize("args", [[], ["-n2"]], ids=["plain", "n2"])
def test_markdown(pytester: pytest.Pytester, args: list[str]) -> None:
    text = written(pytester, "markdown", *args)
    assert "## ❌ Failed\n\n- 1 of 2 cases failed\n" in text
    assert "2 cases: 1 passed, 1 failed" in text
    assert "<summary><code>bad.extract.yaml::bad</code>: failed</summary>" in text
    assert "good.extract.yaml" not in text
    fences = re.findall(r"^(`{3,})(?:text)?$", text, re.MULTILINE)
    assert fences == ["```", "```", "````", "````"]
    assert "\x1b" not in text


def test_html(pytester: pytest.Pytester) -> None:
    text = written(pytester, "html")
    assert "<title>✗ Failed: 1 of 2 cases failed</title>" in text
    assert html.escape("</pre><script>") in text
    assert text.index("bad.extract.yaml::bad") < text.index("good.extract.yaml::good")
    assert "\x1b" not in text


@pytest.mark.parametrize("args", [[], ["-n2"]], ids=["plain", "n2"])
@pytest.mark.parametrize("option", ["html", "markdown"])
def test_mistakes_in_case_files_are_told(pytester: pytest.Pytester, option: str, args: list[str]) -> None:
    pytester.path.joinpath("odd.extract.yaml").write_text("document: nowhere.txt\nschma: {}\ngold: 1\n")
    result = pytester.runpytest(f"--extract-report={option}:out/report", *args)
    result.assert_outcomes(passed=1, failed=1, errors=1)
    text = (pytester.path / "out" / "report").read_text(encoding="utf-8")
    assert "1 case file with mistakes" in text
    assert re.search(r"odd\.extract\.yaml:2:1: unknown key .*schma", text)


def test_a_run_of_nothing_but_mistakes_has_a_report(pytester: pytest.Pytester) -> None:
    for path in pytester.path.glob("*.extract.yaml"):
        path.write_text("gold: 1\n")
    pytester.runpytest("--extract-report=r.html").assert_outcomes(errors=2)
    assert "2 case files with mistakes" in (pytester.path / "r.html").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_others_may_read_a_report(pytester: pytest.Pytester) -> None:
    (pytester.path / "plain").touch()
    pytester.runpytest("--extract-report=r.html")
    assert (pytester.path / "r.html").stat().st_mode == (pytester.path / "plain").stat().st_mode


def test_csv(pytester: pytest.Pytester) -> None:
    rows = list(csv.DictReader(written(pytester, "csv").splitlines()))
    vendor = next(row for row in rows if row["case"] == "bad" and row["path"] == "vendor")
    assert (vendor["status"], vendor["score"], vendor["repeat"]) == ("mismatch", "0.0", "1")
    assert vendor["gold"] == '"ACME GmbH"'
    assert {row["pattern"] for row in rows} == {"vendor", "total", "items[].name", "items[].price"}
    assert sum(row["case"] == "good" for row in rows) == 6


def test_a_case_without_values_is_a_row_of_csv(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import pytest\n\n@pytest.fixture\ndef extractor():\n"
        "    def extract():\n        raise ValueError('-2+3 down')\n    return extract\n"
    )
    pytester.runpytest("--extract-report=r.csv")
    rows = list(csv.DictReader((pytester.path / "r.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["case"], row["outcome"], row["path"], row["reason"]) for row in rows] == [
        ("bad", "broken", "", "ValueError: -2+3 down"),
        ("good", "broken", "", "ValueError: -2+3 down"),
    ]


@pytest.mark.parametrize("option", ["html", "markdown", "csv"])
def test_a_folder_that_cannot_be_is_a_usage_error(pytester: pytest.Pytester, option: str) -> None:
    (pytester.path / "file").touch()
    result = pytester.runpytest(f"--extract-report={option}:file/report")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--extract-report: cannot write *report: *; name a file that can be written"])


def test_the_gate_s_word_is_in_the_report(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nextract_gate = suite\nextract_suite_thresholds = pass_rate=0.99\n")
    pytester.runpytest("--extract-report=r.md")
    assert "suite gate: pass&#95;rate 0.8333 &#60; 0.99" in (pytester.path / "r.md").read_text(encoding="utf-8")


@pytest.fixture
def tagged_cases(two_cases: None, write_case: Write) -> None:
    write_case("bad", HOSTILE, tags={"kind": "scan"})
    write_case("good", tags={"kind": "mail"})


@pytest.mark.usefixtures("tagged_cases")
def test_by_splits_summary_and_reports(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--extract-by=kind", "--extract-report=r.csv", "--extract-report=r.md")
    result.stdout.re_match_lines([r"by kind", r" *kind +cases passed", r" *mail +1 +1 +1 of 1 +100 %", r" *scan +1 +0"])
    assert (
        (pytester.path / "r.csv")
        .read_text(encoding="utf-8")
        .splitlines()[0]
        .endswith(",reason,confidence,mistake,mode,kind")
    )
    assert "| kind | cases |" in (pytester.path / "r.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("tagged_cases")
def test_by_a_tag_that_no_case_has(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nextract_by = knd\n")
    result = pytester.runpytest("-k", "good")
    result.stdout.fnmatch_lines(["--extract-by: no case has the tag 'knd'; did you mean 'kind'?"])
    assert result.ret == 0


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_the_manual_has_every_format(kind: Format) -> None:
    page = (resources.files("pytest_extract.docs") / "reports.md").read_text(encoding="utf-8")
    assert f"| `{kind.example}` | {kind.help} |" in page


FILES = ("r.jsonl", "h.html", "m.md", "c.csv", "gitlab:q.json", "agent:a.txt")
NAMES = [each.rpartition(":")[2] for each in FILES]
ALL_FILES = [f"--extract-report={each}" for each in FILES]


def texts(pytester: pytest.Pytester) -> list[str]:
    return [(pytester.path / name).read_text(encoding="utf-8") for name in NAMES]


@pytest.mark.parametrize("args", [[], ["-n2"]], ids=["plain", "n2"])
@pytest.mark.parametrize("how", ["skipped", "mistakes"])
def test_reports_of_an_earlier_run_do_not_survive_a_run_without_a_result(
    pytester: pytest.Pytester, write_case: Write, how: str, args: list[str]
) -> None:
    pytester.runpytest(*ALL_FILES).assert_outcomes(passed=1, failed=1)
    before = texts(pytester)
    keys = {"marks": ["skip(reason='today')"]} if how == "skipped" else {"unknown": 1}
    write_case("bad", HOSTILE, **keys)
    write_case("good", **keys)
    result = pytester.runpytest(*ALL_FILES, *args)
    if how == "skipped":
        result.assert_outcomes(skipped=2)
        result.stdout.fnmatch_lines(["no case ran: 2 cases skipped"])
    result.stdout.fnmatch_lines(["reports: *r.jsonl, *h.html, *m.md, *c.csv, *q.json, *a.txt"])
    assert all(old != new for old, new in zip(before, texts(pytester), strict=True))
    assert (pytester.path / "r.jsonl").read_bytes() == b""
    assert "bad.extract.yaml::bad" not in "".join(texts(pytester))


@pytest.mark.parametrize("args", [["test_a.py"], ["-k", "not good and not bad"]])
def test_a_run_that_selects_no_case_leaves_the_reports_as_they_are(pytester: pytest.Pytester, args: list[str]) -> None:
    pytester.makepyfile(test_a="def test_a(): pass")
    pytester.runpytest(*ALL_FILES)
    before = texts(pytester)
    result = pytester.runpytest(*args, *ALL_FILES)
    result.assert_outcomes(passed=1, deselected=2 if "-k" in args else 0)
    result.stdout.fnmatch_lines(["no case ran: of an earlier run: *r.jsonl, *h.html, *m.md, *c.csv, *q.json, *a.txt"])
    assert texts(pytester) == before
    pytester.runpytest("--collect-only", *ALL_FILES).stdout.no_fnmatch_line("no case ran*")
