"""`variants:` of a case: the same case on a document from which a value is gone, or that is written otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.documents import DocumentError
from tests.small_pdf import small_pdf

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": ["number", "null"]},
        "date": {"type": "string", "format": "date"},
        "net": {"type": "number"},
    },
}
GOLD = {"vendor": "ACME Tools", "total": 1234.5, "date": "2026-03-05", "net": 1000.25}
TEXT = "Invoice of ACME Tools\nDate: March 5, 2026\nNet 1,000.25\nTotal due: 1,234.50 EUR\n"
HTML = (
    "<html><head><title>Bill</title><style>p {}</style></head><body><p>ACME <b>Tools</b></p><table>"
    "<tr><td>Date</td><td>5 March 2026</td></tr><tr><td>Total</td><td>1,2<i>34.50</i> &euro;</td></tr></table></body></html>"
)
Write = Callable[..., Any]


@pytest.fixture
def cases(tmp_path: Any) -> Write:
    """Load the cases that a document and its variants give, by what their ids have in brackets."""

    def load(name: str, content: str | bytes, *variants: dict[str, object], **keys: object) -> dict[str, Any]:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        case = {"document": name, "schema": SCHEMA, "gold": GOLD, "variants": variants, **keys}
        (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
        loaded = load_cases(tmp_path / "a.extract.yaml")
        assert loaded.errors == ()
        return {each.altered: each for each in loaded.cases}

    return load


@pytest.mark.parametrize(
    ("variant", "name", "line"),
    [
        ({"without": "total"}, "without-total", "Total due:          EUR"),
        ({"without": "vendor"}, "without-vendor", "Invoice of           "),
        ({"decimal": "comma"}, "decimal-comma", "Total due: 1.234,50 EUR"),
        ({"dates": "day-first"}, "dates-day-first", "Date: 05/03/2026"),
    ],
)
def test_a_text_is_altered_in_one_thing(cases: Write, variant: dict[str, object], name: str, line: str) -> None:
    plain, altered = cases("a.txt", TEXT, variant).values()
    assert (altered.id, altered.altered, altered.origin) == (f"a[{name}]", name, "synthetic")
    assert line in altered.document.text.split("\n")
    assert altered.document.path.read_bytes() == altered.document.bytes
    assert altered.document.path.name == "a.txt"
    assert altered.document.path != plain.document.path == altered.document.file
    assert plain.document.text == TEXT


def test_without_a_value_the_gold_has_none_and_nothing_else_is_asked(cases: Write) -> None:
    found = cases("a.txt", TEXT, {"without": ["total", "vendor"]}, rules=["net <= total"], thresholds={"f1": 0.9})
    assert found["without-total"].gold == {**GOLD, "total": None}
    assert "vendor" not in found["without-vendor"].gold
    assert dict(found["without-total"].absent) == {"total": "must"}
    assert dict(found["without-total"].thresholds.measures) == {"json_parse": 1.0}


@pytest.mark.parametrize(
    ("variant", "line"),
    [
        ({"without": "total"}, "Total\t€"),
        ({"without": "vendor"}, "Bill"),
        ({"decimal": "comma"}, "Total\t1.234,50 €"),
        ({"dates": "day-first"}, "Date\t05/03/2026"),
    ],
)
def test_html_is_altered_where_a_reader_sees_the_value(cases: Write, variant: dict[str, object], line: str) -> None:
    _, altered = cases("a.html", HTML, variant, gold={**GOLD, "net": None}, gates={"schema": False}).values()
    assert line in altered.document.text.split("\n")
    assert "<style>p {}</style>" in altered.document.bytes.decode()


@pytest.mark.parametrize("variant", [{"without": "date"}, {"decimal": "comma"}])
@pytest.mark.parametrize("name", ["a.html", "a.txt"])
def test_an_altered_document_keeps_its_encoding(cases: Write, variant: dict[str, object], name: str) -> None:
    head = '<meta charset="iso-8859-1"><p>' if name == "a.html" else ""
    plain, altered = cases(name, f"{head}M\u00fcller\n{TEXT}".encode("latin-1"), variant).values()
    assert "M\u00fcller" in plain.document.bytes.decode("latin-1")
    assert "M\u00fcller" in altered.document.bytes.decode("latin-1")


def test_a_value_leaves_a_pdf_and_the_rest_stays(cases: Write) -> None:
    found = cases("a.pdf", small_pdf("ACME Tools: total 1,234.50 EUR", "Net 1,000.25"), {"without": "total"})
    before, after = (found[name].document.text for name in ("", "without-total"))
    assert "1,234.50" in before
    assert after.split() == before.replace("1,234.50", "").split()


def test_a_reader_of_the_project_reads_an_altered_document_too(cases: Write) -> None:
    pdf = small_pdf("ACME Tools: total 1,234.50 EUR", "Net 1,000.25")
    found = cases("a.pdf", pdf, {"without": "total"})
    for case in found.values():
        case.document.read_by(lambda document: f"read: {document.text}")
    before, after = (found[name].document.text for name in ("", "without-total"))
    assert after.split() == before.replace("1,234.50", "").split()


def test_an_inline_text_is_altered_where_the_project_reads_documents(pytester: pytest.Pytester) -> None:
    reads = ALWAYS_ANSWERS.replace("document: {", "document: document.text and {")
    pytester.makeconftest(f"{reads}\ndef pytest_extract_document(document): return document.text + ' '")
    case = {"text": TEXT, "schema": SCHEMA, "gold": GOLD, "variants": [{"decimal": "comma"}]}
    (pytester.path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    pytester.runpytest().assert_outcomes(passed=2)


def test_pages_of_a_pdf_are_shuffled_or_scanned(cases: Write) -> None:
    found = cases("a.pdf", small_pdf("one", "two", "three"), {"pages": "shuffled"}, {"scan": "72dpi"})
    texts = [page.strip() for page in found["pages-shuffled"].document.pages]
    assert sorted(texts) == ["one", "three", "two"]
    assert texts != ["one", "two", "three"]
    assert found["scan-72dpi"].document.bytes.startswith(b"%PDF")
    assert found["scan-72dpi"].document.text.strip() == ""


def test_an_altered_pdf_has_the_same_bytes_each_time_so_that_its_recording_replays(cases: Write) -> None:
    pdf = small_pdf("ACME Tools: total 1,234.50 EUR", "Net 1,000.25")
    first, second = (
        cases("a.pdf", pdf, {"without": "total"}, {"pages": "shuffled"}, {"scan": "72dpi"}) for _ in range(2)
    )
    for name, case in first.items():
        assert case.document.bytes == second[name].document.bytes, name
    assert b"/CreationDate(D:20000101000000" in first["scan-72dpi"].document.bytes


@pytest.mark.parametrize(
    ("text", "variant", "why"),
    [
        ("nothing", {"without": "total"}, r"total \(1234.5\) stands nowhere in the document"),
        ("1,234.50", {"without": "total"}, r"cannot be taken out of the document alone: net would go"),
        ("no number", {"decimal": "comma"}, "there is no number of the gold that has a separator"),
        ("no date", {"dates": "day-first"}, "there is no date of the gold"),
        ("text", {"pages": "shuffled"}, "only a PDF has pages, not text/plain"),
        ("text", {"scan": "150dpi"}, "only a PDF has pages, not text/plain"),
    ],
)
def test_a_document_that_cannot_be_altered_is_no_plain_one(
    cases: Write, text: str, variant: dict[str, object], why: str
) -> None:
    *_, altered = cases("a.txt", text, variant, gold={**GOLD, "net": 1234.5}).values()
    with pytest.raises(DocumentError, match=why):
        altered.document.bytes  # noqa: B018


@pytest.mark.parametrize(
    ("variants", "told"),
    [
        ([{"without": "totel"}], "the gold has no single value at 'totel' to take out"),
        ([{"without": "$"}], "the gold has no single value at '$' to take out"),
        ([{"decimal": "point"}], "must be one of comma"),
        ([{"scan": "9000dpi"}], "a resolution such as 150dpi"),
        ([{"font": "serif"}], "no key 'font'"),
        ([], "a list of alterations"),
    ],
)
def test_a_mistake_in_variants_is_told(tmp_path: Any, variants: object, told: str) -> None:
    case = {"text": TEXT, "schema": SCHEMA, "gold": GOLD, "variants": variants}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    (error,) = load_cases(tmp_path / "a.extract.yaml").errors
    assert told in str(error)


ALWAYS_ANSWERS = """
import pytest

@pytest.fixture
def extractor():
    return lambda document: {"vendor": "ACME Tools", "total": 1234.5, "date": "2026-03-05", "net": 1000.25}
"""
READS = """
import pytest, re

@pytest.fixture
def extractor():
    def extract(document):
        total = re.search(r"due: +([\\d,.]+)", document.path.read_text())
        return {"vendor": "ACME Tools", "date": "2026-03-05", "net": 1000.25} | (
            {"total": float(total[1].replace(",", ""))} if total else {})
    return extract
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "a.txt").write_text(TEXT, encoding="utf-8")
    case = {"document": "a.txt", "schema": SCHEMA, "gold": GOLD}
    case["variants"] = [{"without": "total"}, {"decimal": "comma"}]
    (pytester.path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    return pytester


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_a_model_that_always_answers_fails_without_the_value(project: pytest.Pytester, args: list[str]) -> None:
    project.makeconftest(ALWAYS_ANSWERS)
    result = project.runpytest("-v", *args)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*a?without-total?*",
            "*total must stay empty, but was extracted*",
            "3 cases: 2 passed, 1 failed; fields right 100 %; f1 1",
            "absence under test",
            "  field found when present invented when absent",
            "  total * 1 of 1 (100 %) * 1 of 1 (100 %)",
            "altered documents: fields right",
            "  decimal-comma * 1 100 % * 100 % +0.0 points",
        ]
    )


def test_a_model_that_reads_passes_without_the_value_and_shows_where_it_falls(project: pytest.Pytester) -> None:
    project.makeconftest(READS)
    result = project.runpytest("--extract-gate=none", "--extract-report=r.html", "--extract-report=r.jsonl")
    result.stdout.fnmatch_lines(
        ["  total * 1 of 1 (100 %) * 0 of 1 (0 %)", "  decimal-comma * 1 100 % * 75 % -25.0 points"]
    )
    assert "Altered documents" in (project.path / "r.html").read_text(encoding="utf-8")
    assert project.runpytest("--extract-gate=none", "-k", "without").ret == pytest.ExitCode.OK


@pytest.mark.parametrize("place", ["total", '["total"]'])
def test_only_the_value_that_is_gone_counts_as_invented(project: pytest.Pytester, place: str) -> None:
    properties = {**SCHEMA["properties"], "total_net": {"type": "number"}}
    case = {"document": "a.txt", "schema": {**SCHEMA, "properties": properties}, "gold": GOLD}
    case |= {"absent": {"total_net": "must"}, "variants": [{"without": place}]}
    (project.path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    project.makeconftest(READS.replace('"net": 1000.25', '"net": 1000.25, "total_net": 1'))
    result = project.runpytest("--extract-gate=none")
    result.stdout.fnmatch_lines(["  total * 1 of 1 (100 %) * 0 of 1 (0 %)"])


def test_a_run_that_writes_golds_leaves_altered_documents_out(project: pytest.Pytester) -> None:
    project.makeconftest(ALWAYS_ANSWERS)
    project.runpytest("--extract-update-gold=fix").assert_outcomes(passed=1)
