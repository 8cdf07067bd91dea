"""Citations held against the document: quote, page and box; and values that stand nowhere in it."""

from __future__ import annotations

import json
import random
from typing import NamedTuple

import pytest

from pytest_extract import Citation, ConfigError, Document, score
from pytest_extract.cases.load import load_cases
from pytest_extract.citations import CitationCheck, box_overlap, check_citation, check_citations
from pytest_extract.core.values import iter_leaves
from pytest_extract.documents import Box
from pytest_extract.documents.evidence import find_boxes, find_evidence
from pytest_extract.extraction.call import Extraction
from pytest_extract.run_case import run_case
from tests.commands import write
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


def test_pages_and_boxes_of_a_pdf(pdf):
    """A box is right by its overlap with the place of the quote, or of the value where there is no quote."""
    quote = "Total 1,234.50 EUR"
    ((box,),) = find_boxes(pdf, find_evidence(pdf, quote).locations)
    points = (box.left * 612, box.top * 792, box.right * 612, box.bottom * 792)
    wide = box.right - box.left
    cited = [
        Citation(page=2, quote=quote),
        Citation(page=2, quote=quote, box=tuple(box)),
        Citation(page=2, quote=quote, box=points, unit="point"),
        Citation(page=1, quote=quote),
        Citation(page=2, box=tuple(box)),
        Citation(page=2, quote=quote, box=(box.left + wide, box.top, box.right + wide, box.bottom)),
        Citation(page=2, quote=quote, box=(0, 0, 1, 1)),
    ]
    checked = check_citations(pdf, [(1234.5, citation) for citation in cited])
    assert [each.right for each in checked] == [True] * 3 + [False] * 4
    assert checked[3].why == "the quote does not stand on page 1"
    assert [checked[place].overlap for place in (1, 2, 5)] == pytest.approx([1, 1, 0], abs=1e-6)
    assert "overlaps the evidence by 0.00 only" in checked[5].why
    for value in (True, None):  # no text can show these: nothing to compare with
        assert check_citation(pdf, value, Citation(page=1, box=(0.1, 0.1, 0.2, 0.2))) == CitationCheck()


def test_overlap():
    assert box_overlap((0, 0, 2, 2), [Box(1, 0, 3, 2)]) == pytest.approx(1 / 3)
    assert box_overlap((0, 0, 1, 1), []) == box_overlap((0, 0, 0, 0), [Box(0, 0, 0, 0)]) == 0


# --- in cases

TYPES = {"number": {"type": "string"}, "total": {"type": "number"}, "paid": {"type": "boolean"}}
SCHEMA = {"type": "object", "properties": TYPES}
GOLD = {"number": "US-001", "total": 1234.5, "paid": True}


@pytest.fixture
def run(tmp_path):
    def run(output, citations=None, **keys):
        case = {"text": TEXT.text, "schema": SCHEMA, "gold": GOLD, "thresholds": {"pass_rate": 0}, **keys}
        write({"a.extract.yaml": case}, tmp_path)
        loaded = load_cases(tmp_path / "a.extract.yaml")
        assert loaded.errors == ()
        return run_case(loaded.cases[0], lambda _index: Extraction(output, citations=citations), nodeid="n", file="f")

    return run


def test_measures_of_citations(run):
    citations = {"number": ["Invoice US-001", "Invoice US-002"], "total": [{"page": 7}]}
    measures = run(GOLD, citations).attempts[0].score.measures
    names = ("citation_precision", "citation_recall", "grounded_rate")
    assert [measures[name] for name in names] == pytest.approx([1 / 3, 0.5, 1.0])
    assert "citation_precision" not in run(GOLD).attempts[0].score.measures


@pytest.mark.parametrize(
    ("bound", "output", "citations", "why"),
    [
        ("citation_precision", GOLD, {"number": ["US-009"]}, "citation_precision 0 is below 0.9, by 0.9"),
        ("citation_precision", GOLD, None, "citation_precision cannot be checked: what it is made of is not there"),
        ("grounded_rate", {**GOLD, "number": "US-009"}, None, "grounded_rate 0.5 is below 0.9, by 0.4"),
    ],
)
def test_thresholds_on_citations(run, bound, output, citations, why):
    assert run(output, citations, thresholds={bound: 0.9}).why.startswith(why)


@pytest.mark.parametrize(
    ("gate", "output", "why"),
    [
        (True, {"total": 99.5}, "grounded gate: nowhere in the document: total 99.5"),
        (True, {"total": 99.5, "number": "X9"}, "grounded gate: nowhere in the document: number 'X9', total 99.5"),
        ({"fields": ["number"]}, {"total": 99.5}, None),
        ({"fields": ["total"]}, {"total": 99.5}, "grounded gate: nowhere in the document: total 99.5"),
        (True, {}, None),
        (False, {"total": 99.5}, None),
    ],
)
def test_the_grounded_gate_fails_values_that_stand_nowhere(run, gate, output, why):
    assert run(GOLD | output, gates={"grounded": gate}).why == why


def test_the_grounded_gate_needs_a_document_with_a_text(run):
    assert "the grounded gate cannot be checked" in run(GOLD, text=" ", gates={"grounded": True}).why
    for gate, told in ((True, "needs a document"), ({"field": ["total"]}, "must be true, or")):
        with pytest.raises(ConfigError, match=told):
            score(SCHEMA, GOLD, GOLD, gates={"grounded": gate})


@pytest.mark.parametrize("gate", [{"fields": []}, {"fields": ["totl"]}, {"filds": ["total"]}, 3, {}])
def test_mistakes_in_the_gate_are_reported(run, gate):
    with pytest.raises(AssertionError):
        run(GOLD, gates={"grounded": gate})


# --- true and false citations of real documents


class Claim(NamedTuple):
    value: object
    citation: Citation
    true: bool


def claims_of(document, gold, source, most=10):
    """Make as many true as false citations: wrong page, other quote, box elsewhere, changed quote, in turn.

    They are made from the pages' text by plain search, not by the evidence index that the check uses.
    """
    pages = document.pages
    values = [value for _, value in iter_leaves(gold) if isinstance(value, str) and 4 <= len(value) <= 60]
    made = []
    for value in dict.fromkeys(source.sample(values, len(values))):
        number = next((number for number, page in enumerate(pages) if value in page), None)
        if number is None or len(made) == 2 * most:
            continue
        start, lines = pages[number].find(value), pages[number].split("\n")
        quote = next((line for line in lines if value in line), "")
        (boxes,) = document.boxes([(number, start, start + len(value))])
        if not boxes or not quote.strip():
            continue
        left, top = min(each.left for each in boxes), min(each.top for each in boxes)
        right, bottom = max(each.right for each in boxes), max(each.bottom for each in boxes)
        away = 0.5 if top < 0.5 else -0.5
        true = Citation(page=number + 1, quote=quote, box=(left, top, right, bottom))
        elsewhere = [index + 1 for index, page in enumerate(pages) if quote.strip() not in page and value not in page]
        others = [line for line in lines if len(line) > 5 and value not in line]
        false = [
            Citation(page=source.choice(elsewhere), quote=quote) if elsewhere else None,
            Citation(page=number + 1, quote=source.choice(others)) if others else None,
            Citation(page=number + 1, quote=quote, box=(left, top + away, right, bottom + away)),
        ]
        changed = Citation(page=number + 1, quote=quote.replace(value, value[::-1] + "zq"))
        wrong = (*false, changed)[len(made) // 2 % 4] or changed
        made += [Claim(value, true, True), Claim(value, wrong, False)]
    return made


@pytest.mark.parametrize("folder", ["hiring", pytest.param("", marks=pytest.mark.slow, id="all")])
def test_true_and_false_citations_of_real_documents(folder):
    """The manual's page on confidence has the figures of all."""
    pytest.importorskip("pypdfium2")
    source, called = random.Random(7), []
    for path in sorted(shared(f"data/extract-bench/dataset/{folder}").rglob("*.gold.json")):
        document = Document(path=path.with_name(path.name.replace(".gold.json", ".pdf")))
        if not document.path.exists() or len(document.pages) > 200:
            continue
        claims = claims_of(document, json.loads(path.read_text(encoding="utf-8")), source)
        found = check_citations(document, [(claim.value, claim.citation) for claim in claims])
        called += [(each.right, claim.true) for each, claim in zip(found, claims, strict=True)]
    hits = called.count((True, True))
    assert len(called) >= 20
    assert (True, False) not in called, "no false citation is called right"
    assert hits >= (0.9 if folder else 0.97) * sum(true for _, true in called)
