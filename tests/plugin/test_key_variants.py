"""`variants:` of a case: the same case on a document from which a value is gone, or that is written otherwise."""

from __future__ import annotations

import json

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.documents import DocumentError
from tests.plugin.conftest import GREEN, plain_and_workers, text_of
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
PDF = small_pdf("ACME Tools: total 1,234.50 EUR", "Net 1,000.25")


@pytest.fixture
def load(tmp_path):
    """Load the case of a document with these variants."""

    def load(name, content, *variants, **keys):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        case = {"document": name, "schema": SCHEMA, "gold": GOLD, "variants": variants, **keys}
        (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
        return load_cases(tmp_path / "a.extract.yaml")

    return load


@pytest.fixture
def cases(load):
    """Give the cases of a document and its variants by what their ids have in brackets."""

    def cases(*args, **keys):
        loaded = load(*args, **keys)
        assert loaded.errors == ()
        return {each.altered: each for each in loaded.cases}

    return cases


@pytest.mark.parametrize(
    ("variant", "name", "in_text", "in_html"),
    [
        ({"without": "total"}, "without-total", "Total due:          EUR", "Total\t€"),
        ({"without": "vendor"}, "without-vendor", "Invoice of           ", "Bill"),
        ({"decimal": "comma"}, "decimal-comma", "Total due: 1.234,50 EUR", "Total\t1.234,50 €"),
        ({"dates": "day-first"}, "dates-day-first", "Date: 05/03/2026", "Date\t05/03/2026"),
    ],
)
def test_a_document_is_altered_in_one_thing(cases, variant, name, in_text, in_html):
    plain, altered = cases("a.txt", TEXT, variant).values()
    assert (altered.id, altered.altered, altered.origin) == (f"a[{name}]", name, "synthetic")
    assert in_text in altered.document.text.split("\n")
    assert altered.document.path.read_bytes() == altered.document.bytes
    assert altered.document.path.name == "a.txt"
    assert altered.document.path != plain.document.path == altered.document.file
    assert plain.document.text == TEXT
    _, altered = cases("a.html", HTML, variant, gold={**GOLD, "net": None}, gates={"schema": False}).values()
    assert in_html in altered.document.text.split("\n"), "where a reader sees the value"
    assert "<style>p {}</style>" in altered.document.bytes.decode()


def test_without_a_value_the_gold_has_none_and_nothing_else_is_asked(cases):
    found = cases("a.txt", TEXT, {"without": ["total", "vendor"]}, rules=["net <= total"], thresholds={"f1": 0.9})
    assert found["without-total"].gold == {**GOLD, "total": None}
    assert "vendor" not in found["without-vendor"].gold
    assert dict(found["without-total"].absent) == {"total": "must"}
    assert dict(found["without-total"].thresholds.measures) == {"json_parse": 1.0}


@pytest.mark.parametrize("variant", [{"without": "date"}, {"decimal": "comma"}])
@pytest.mark.parametrize(("name", "head"), [("a.html", '<meta charset="iso-8859-1"><p>'), ("a.txt", "")])
def test_an_altered_document_keeps_its_encoding(cases, variant, name, head):
    for case in cases(name, f"{head}M\u00fcller\n{TEXT}".encode("latin-1"), variant).values():
        assert "M\u00fcller" in case.document.bytes.decode("latin-1")


@pytest.mark.parametrize("is_read", [False, True], ids=["as it is", "read by the project"])
def test_a_value_leaves_a_pdf_and_the_rest_stays(cases, is_read):
    found = cases("a.pdf", PDF, {"without": "total"})
    if is_read:
        for case in found.values():
            case.document.read_by(lambda document: f"read: {document.text}")
    before, after = (found[name].document.text for name in ("", "without-total"))
    assert before.startswith("read: ") is is_read
    assert "1,234.50" in before
    assert after.split() == before.replace("1,234.50", "").split()


def test_pages_of_a_pdf_are_shuffled_or_scanned(cases):
    found = cases("a.pdf", small_pdf("one", "two", "three"), {"pages": "shuffled"}, {"scan": "72dpi"})
    texts = [page.strip() for page in found["pages-shuffled"].document.pages]
    assert sorted(texts) == ["one", "three", "two"]
    assert texts != ["one", "two", "three"]
    assert found["scan-72dpi"].document.bytes.startswith(b"%PDF")
    assert found["scan-72dpi"].document.text.strip() == ""


def test_an_altered_pdf_has_the_same_bytes_each_time_so_that_its_recording_replays(cases):
    variants = ({"without": "total"}, {"pages": "shuffled"}, {"scan": "72dpi"})
    first, second = ({name: case.document.bytes for name, case in cases("a.pdf", PDF, *variants).items()} for _ in "12")
    assert first == second
    assert b"/CreationDate(D:20000101000000" in first["scan-72dpi"]


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
def test_a_document_that_cannot_be_altered_is_no_plain_one(cases, text, variant, why):
    *_, altered = cases("a.txt", text, variant, gold={**GOLD, "net": 1234.5}).values()
    with pytest.raises(DocumentError, match=why):
        altered.document.bytes  # noqa: B018


def test_a_date_with_a_time_of_day_keeps_it(cases):
    gold = {**GOLD, "vendor": "2026-12-31T10:30:00"}
    *_, altered = cases("a.txt", gold["vendor"], {"dates": "day-first"}, gold=gold).values()
    with pytest.raises(DocumentError, match="there is no date of the gold"):
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
def test_a_mistake_in_variants_is_told(load, variants, told):
    (error,) = load("a.txt", TEXT, *variants).errors
    assert told in str(error)


# runs

ALWAYS = 'return {"vendor": "ACME Tools", "total": 1234.5, "date": "2026-03-05", "net": 1000.25}'
READS = """
import re
total = re.search(r"due: +([\\d,.]+)", document.path.read_text())
return {"vendor": "ACME Tools", "date": "2026-03-05", "net": 1000.25} | (
    {"total": float(total[1].replace(",", ""))} if total else {})
"""


@pytest.fixture
def project(write_extractor, write_files):
    """Write an extractor and a case with its variants."""

    def write(extractor, *variants, **keys):
        write_extractor(extractor)
        case = {"document": "a.txt", "schema": SCHEMA, "gold": GOLD, "variants": variants, **keys}
        write_files({"a.txt": TEXT, "a.extract.yaml": case})

    return write


@plain_and_workers
def test_a_model_that_always_answers_fails_without_the_value(project, run, workers):
    project(ALWAYS, {"without": "total"}, {"decimal": "comma"})
    told = [
        "*a?without-total?*",
        "*total must stay empty, but was extracted*",
        "3 cases: 2 passed, 1 failed; fields right 100 %; f1 1",
        "absence under test",
        "  field found when present invented when absent",
        "  total * 1 of 1 (100 %) * 1 of 1 (100 %)",
        "altered documents: fields right",
        "  decimal-comma * 1 100 % * 100 % +0.0 points",
    ]
    run("-v", *workers, passed=2, failed=1, lines=told)
    run("--extract-update-gold=fix", passed=1)  # a run that writes golds leaves altered documents out


def test_a_model_that_reads_passes_without_the_value_and_shows_where_it_falls(pytester, project, run):
    project(READS, {"without": "total"}, {"decimal": "comma"})
    told = ["  total * 1 of 1 (100 %) * 0 of 1 (0 %)", "  decimal-comma * 1 100 % * 75 % -25.0 points"]
    run("--extract-gate=none", "--extract-report=r.html", lines=told)
    assert "Altered documents" in text_of(pytester, "r.html")
    run("--extract-gate=none", "-k", "without", passed=1, status=GREEN)


@pytest.mark.parametrize("place", ["total", '["total"]'])
def test_only_the_value_that_is_gone_counts_as_invented(project, run, place):
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "total_net": {"type": "number"}}}
    invents = READS.replace('"net": 1000.25', '"net": 1000.25, "total_net": 1')
    project(invents, {"without": place}, schema=schema, absent={"total_net": "must"})
    run("--extract-gate=none", lines=["  total * 1 of 1 (100 %) * 0 of 1 (0 %)"])


def test_an_inline_text_is_altered_where_the_project_reads_documents(write_case, write_extractor, add_to_conftest, run):
    write_extractor(ALWAYS.replace("return", "return document.text and"))
    add_to_conftest("def pytest_extract_document(document): return document.text + ' '")
    write_case("a", TEXT, schema=SCHEMA, gold=GOLD, variants=[{"decimal": "comma"}])
    run(passed=2)
