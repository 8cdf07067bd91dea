from __future__ import annotations

import csv
import html
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from tests.plugin.conftest import GOLD

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]
HOSTILE = {**GOLD, "vendor": "```</pre><script>\x1b"}


@pytest.fixture(autouse=True)
def two_cases(write_case: Write) -> None:
    write_case("bad", HOSTILE)
    write_case("good")


def written(pytester: pytest.Pytester, option: str, *args: str) -> str:
    result = pytester.runpytest(f"--extract-{option}=out/report", *args)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["reports: *report"])
    return (pytester.path / "out" / "report").read_text(encoding="utf-8")


@pytest.mark.parametrize("args", [[], ["-n2"]], ids=["plain", "n2"])
def test_markdown(pytester: pytest.Pytester, args: list[str]) -> None:
    text = written(pytester, "markdown", *args)
    assert "2 cases: 1 passed, 1 failed" in text
    assert "<summary><code>bad.extract.yaml::bad</code>: failed</summary>" in text
    assert "good.extract.yaml" not in text
    fences = re.findall(r"^(`{3,})(?:text)?$", text, re.MULTILINE)
    assert fences == ["```", "```", "````", "````"]
    assert "\x1b" not in text


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def test_html(pytester: pytest.Pytester) -> None:
    text = written(pytester, "html")
    parser = Tags()
    parser.feed(text)
    assert "script" not in parser.tags
    assert parser.tags.count("details") == 2
    assert html.escape("</pre><script>") in text
    assert text.index("bad.extract.yaml::bad") < text.index("good.extract.yaml::good")
    assert "http" not in text
    assert "\x1b" not in text


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
    pytester.runpytest("--extract-csv=r.csv")
    rows = list(csv.DictReader((pytester.path / "r.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["case"], row["outcome"], row["path"], row["reason"]) for row in rows] == [
        ("bad", "broken", "", "ValueError: -2+3 down"),
        ("good", "broken", "", "ValueError: -2+3 down"),
    ]


@pytest.mark.parametrize("option", ["html", "markdown", "csv"])
def test_a_folder_that_cannot_be_is_a_usage_error(pytester: pytest.Pytester, option: str) -> None:
    (pytester.path / "file").touch()
    result = pytester.runpytest(f"--extract-{option}=file/report")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no folder for the report *report: *"])


def test_the_gate_s_word_is_in_the_report(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nextract_gate = suite\nextract_suite_thresholds = pass_rate=0.99\n")
    pytester.runpytest("--extract-markdown=r.md")
    assert "suite gate: pass_rate" in (pytester.path / "r.md").read_text(encoding="utf-8")
