"""Citations held against the document: quote, page and box; and values that stand nowhere in it."""

from __future__ import annotations

import json

import pytest

from pytest_extract import Citation, ConfigError, Document, score
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.citations import CitationCheck, box_overlap, check_citation, check_citations
from pytest_extract.documents import Box
from pytest_extract.documents.evidence import find_boxes, find_evidence
from pytest_extract.extraction.call import Extraction
from pytest_extract.run_case import run_case
from tests.shared_data import shared
from tests.small_pdf import small_pdf

TEXT = Document(text="Invoice US-001\nTOTAL due: 1,234.50 EUR\nPaid on 3 May 2024\n")


@pytest.fixture
def pdf(tmp_path):
    pytest.importorskip("pypdfium2")
    path = tmp_path / "a.pdf"
    path.write_bytes(small_pdf("Invoice US-001", "Total 1,234.50 EUR"))
    return Document(path)


@pytest.mark.parametrize(
    ("value", "citation", "why"),
    [
        (1234.5, Citation(quote="total  due: 1,234.50"), ""),
        (1234.5, Citation(page=1, quote="TOTAL due: 1,234.50 EUR"), ""),
        ("2024-05-03", Citation(quote="Paid on 3 May 2024"), ""),
        (True, Citation(quote="Paid on 3 May 2024"), ""),
        ("US-001", Citation(page=1), ""),
        (1234.5, Citation(quote="Paid on 3 May 2024"), "the quote does not hold the value"),
        (1234.5, Citation(quote="TOTAL due: 1,243.50"), "the quote does not stand in the document"),
        ("US-001", Citation(page=2, quote="Invoice US-001"), "the document has 1 pages, not 2"),
        ("US-002", Citation(page=1), "the value does not stand on page 1"),
        ("US-001", Citation(quote="Invoice US-001", box=(0, 0, 1, 1)), ""),
    ],
)
def test_quotes_and_pages_of_a_text(value, citation, why):
    found = check_citation(TEXT, value, citation)
    assert (found.why, found.right, found.overlap) == (why, not why, None)


def test_the_page_of_a_pdf_counts(pdf):
    right, wrong = (Citation(page=page, quote="Total 1,234.50 EUR") for page in (2, 1))
    assert [each.why for each in check_citations(pdf, [(1234.5, right), (1234.5, wrong)])] == [
        "",
        "the quote does not stand on page 1",
    ]


def test_a_box_is_right_by_its_overlap_with_quote_or_value(pdf):
    evidence = find_evidence(pdf, "Total 1,234.50 EUR")
    ((box,),) = find_boxes(pdf, evidence.locations)
    quote = "Total 1,234.50 EUR"
    points = (box.left * 612, box.top * 792, box.right * 612, box.bottom * 792)
    wide = box.right - box.left
    checked = check_citations(
        pdf,
        [
            (1234.5, Citation(page=2, quote=quote, box=tuple(box))),
            (1234.5, Citation(page=2, quote=quote, box=points, unit="point")),
            (1234.5, Citation(page=2, box=(box.left, box.top, box.right, box.bottom))),
            (1234.5, Citation(page=2, quote=quote, box=(box.left + wide, box.top, box.right + wide, box.bottom))),
            (1234.5, Citation(page=2, quote=quote, box=(0, 0, 1, 1))),
        ],
    )
    assert [each.right for each in checked] == [True, True, False, False, False]
    assert checked[0].overlap == pytest.approx(1)
    assert checked[1].overlap == pytest.approx(1, abs=1e-6)
    assert checked[3].overlap == 0
    assert "overlaps the evidence by 0.00 only" in checked[3].why


@pytest.mark.parametrize("value", [True, None])
def test_a_box_of_what_no_text_can_show_is_compared_with_nothing(pdf, value):
    assert check_citation(pdf, value, Citation(page=1, box=(0.1, 0.1, 0.2, 0.2))) == CitationCheck()


def test_overlap():
    assert box_overlap((0, 0, 2, 2), [Box(1, 0, 3, 2)]) == pytest.approx(1 / 3)
    assert box_overlap((0, 0, 1, 1), []) == 0
    assert box_overlap((0, 0, 0, 0), [Box(0, 0, 0, 0)]) == 0


# --- in cases

SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "string"}, "total": {"type": "number"}, "paid": {"type": "boolean"}},
}
GOLD = {"number": "US-001", "total": 1234.5, "paid": True}


def run(tmp_path, output, text=TEXT.text, citations=None, **keys):
    case = {"text": text, "schema": SCHEMA, "gold": GOLD, "thresholds": {"pass_rate": 0}, **keys}
    path = tmp_path / "a.extract.yaml"
    path.write_text(json.dumps(case), encoding="utf-8")
    loaded = load_cases(path, SchemaCache())
    assert loaded.errors == ()
    return run_case(loaded.cases[0], lambda _index: Extraction(output, citations=citations), nodeid="n", file="f")


def test_measures_of_citations(tmp_path):
    citations = {"number": ["Invoice US-001", "Invoice US-002"], "total": [{"page": 7}]}
    result = run(tmp_path, GOLD, citations=citations)
    measures = result.attempts[0].score.measures
    assert measures["citation_precision"] == pytest.approx(1 / 3)
    assert measures["citation_recall"] == 0.5
    assert measures["grounded_rate"] == 1.0
    assert "citation_precision" not in run(tmp_path, GOLD).attempts[0].score.measures


def test_a_threshold_on_citations(tmp_path):
    bad = run(tmp_path, GOLD, citations={"number": ["US-009"]}, thresholds={"citation_precision": 0.9})
    assert bad.why == "citation_precision 0 is below 0.9, by 0.9"
    none = run(tmp_path, GOLD, thresholds={"citation_precision": 0.9})
    assert none.why.startswith(
        "citation_precision cannot be checked: what it is made of is not there (`auto_accept`, citations"
    )
    rate = run(tmp_path, {**GOLD, "number": "US-009"}, thresholds={"grounded_rate": 0.9})
    assert rate.why == "grounded_rate 0.5 is below 0.9, by 0.4"


@pytest.mark.parametrize(
    ("gate", "output", "why"),
    [
        (True, {**GOLD, "total": 99.5}, "grounded gate: total 99.5 stands nowhere in the document"),
        (True, {**GOLD, "total": 99.5, "number": "X9"}, "grounded gate: number 'X9', total 99.5 stand nowhere in the document"),
        ({"fields": ["number"]}, {**GOLD, "total": 99.5}, None),
        ({"fields": ["total"]}, {**GOLD, "total": 99.5}, "grounded gate: total 99.5 stands nowhere in the document"),
        (True, GOLD, None),
        (False, {**GOLD, "total": 99.5}, None),
    ],
)  # fmt: skip
def test_the_grounded_gate_fails_values_that_stand_nowhere(tmp_path, gate, output, why):
    assert run(tmp_path, output, gates={"grounded": gate}).why == why


def test_the_grounded_gate_says_that_a_document_has_no_text(tmp_path):
    result = run(tmp_path, GOLD, text=" ", gates={"grounded": True})
    assert "the grounded gate cannot be checked" in result.why


def test_the_grounded_gate_needs_a_document():
    with pytest.raises(ConfigError, match="needs a document"):
        score(SCHEMA, GOLD, GOLD, gates={"grounded": True})
    with pytest.raises(ConfigError, match="must be true, or"):
        score(SCHEMA, GOLD, GOLD, gates={"grounded": {"field": ["total"]}})


@pytest.mark.parametrize("gate", [{"fields": []}, {"fields": ["totl"]}, {"filds": ["total"]}, 3, {}])
def test_mistakes_in_the_gate_are_reported(tmp_path, gate):
    with pytest.raises(AssertionError):
        run(tmp_path, GOLD, gates={"grounded": gate})


def test_true_and_false_citations_of_real_documents():
    pytest.importorskip("pypdfium2")
    from tests.citation_check import check, claims

    made = claims(shared("data/extract-bench/dataset/hiring"))
    called = check(made)
    hits = sum(right and claim.true for right, claim in zip(called, made, strict=True))
    assert len(made) >= 20
    assert sum(called) == hits, "no false citation is called right"
    assert hits >= 0.9 * sum(claim.true for claim in made)
