"""Where a text stands on the pages of a PDF, and texts of PDFs kept between runs."""

from __future__ import annotations

import json
import os

import pytest

from pytest_extract.core.values import iter_leaves
from pytest_extract.documents import Document, DocumentError
from pytest_extract.documents import pdf as pdf_module
from pytest_extract.documents.evidence import find_boxes, find_evidence
from pytest_extract.documents.pdf import stored_pages, use_text_store
from tests.shared_data import shared
from tests.small_pdf import small_pdf

pytest.importorskip("pypdfium2")


@pytest.fixture
def pdf(tmp_path):
    def write(*pages, **keys):
        path = tmp_path / "a.pdf"
        path.write_bytes(small_pdf(*pages, **keys))
        return Document(path)

    return write


def box_of(document, value):
    (location,) = find_evidence(document, value).locations
    ((box,),) = find_boxes(document, [location])
    return box


def test_a_box_holds_the_text_on_its_page(pdf):
    """The line begins 72 points from the left and 720 from the bottom of a page of 612 x 792 points."""
    document = pdf("nothing", "Total 1,234.50 EUR")
    box = box_of(document, 1234.5)
    assert 72 / 612 < box.left < box.right < 0.4
    assert 1 - 735 / 792 < box.top < box.bottom < 1 - 715 / 792
    assert box_of(document, "Total").right < box.left < box_of(document, "EUR").left


def test_a_turned_and_cropped_page_has_boxes_as_it_is_shown(pdf):
    upright = box_of(pdf("Total 1,234.50"), 1234.5)
    turned = box_of(pdf("Total 1,234.50", page="/Rotate 90"), 1234.5)  # clockwise: the top is on the right
    assert turned.right == pytest.approx(1 - upright.top, abs=0.001)
    assert turned.top == pytest.approx(upright.left, abs=0.001)
    cropped = box_of(pdf("Total 1,234.50", page="/CropBox [0 396 306 792]"), 1234.5)
    assert cropped.left == pytest.approx(2 * upright.left, abs=0.001)
    assert cropped.top == pytest.approx(2 * upright.top, abs=0.001)


def test_other_documents_and_places_outside_of_the_text_have_no_boxes(pdf):
    document = Document(text="Total 5")
    assert find_boxes(document, find_evidence(document, 5).locations) == [()]
    found = pdf("one page").boxes([(0, 5, 900), (0, 900, 950), (7, 0, 3), (-1, 0, 3)])
    assert [len(boxes) for boxes in found] == [1, 0, 0, 0]


def test_a_broken_pdf_is_an_error(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(DocumentError, match="not a readable PDF"):
        Document(path).boxes([(0, 0, 1)])


def test_the_text_inside_of_a_box_is_the_quote():
    """PDFium reads back what stands in the boxes of the values of a published gold."""
    import pypdfium2

    folder = shared("data/extract-bench/dataset/academic/research/pdf+gold")
    name = "shah24--flashattention-3"
    document = Document(folder / f"{name}.pdf")
    gold = json.loads((folder / f"{name}.gold.json").read_text(encoding="utf-8"))
    found = [find_evidence(document, value) for _, value in iter_leaves(gold)]
    locations = [evidence.locations[0] for evidence in found if evidence is not None and evidence.found]
    assert len(locations) > 70
    pdf = pypdfium2.PdfDocument(document.path)
    same = 0
    for location, boxes in zip(locations, find_boxes(document, locations), strict=True):
        page = pdf[location.page - 1]
        width, height = page.get_size()
        text = page.get_textpage()
        read = "".join(
            text.get_text_bounded(
                box.left * width, (1 - box.bottom) * height, box.right * width, (1 - box.top) * height
            )
            for box in boxes
        )
        assert boxes
        same += "".join(location.quote.split()).replace("-", "") in "".join(read.split()).replace("-", "").replace(
            "\x02", ""
        )
    assert same > 0.95 * len(locations)


@pytest.fixture
def stored(tmp_path):
    made = []
    use_text_store(lambda: made.append(1) or tmp_path / "texts")
    yield tmp_path / "texts"
    use_text_store(None)
    assert len(made) < 2


def unwritable(*_):
    raise PermissionError("Read-only file system")


def test_the_text_of_a_pdf_is_read_once_and_kept_by_digest(stored, pdf, monkeypatch):
    document = pdf("Total 5")
    assert Document(text="no PDF").pages == ("no PDF",)
    assert not stored.exists()
    pages = document.pages
    (file,) = stored.iterdir()
    assert file.name.startswith(document.sha256)
    monkeypatch.setattr("pytest_extract.documents.pdf_pages", lambda *_, **__: ("read anew",))
    assert Document(document.path).pages == pages
    with monkeypatch.context() as read_only:
        read_only.setattr(os, "utime", unwritable)
        assert Document(document.path).pages == pages
    for broken in ("", "[1]", "{}", "[" * 100):
        file.write_text(broken, encoding="utf-8")
        assert Document(document.path).pages == ("read anew",)


def test_another_version_of_the_reader_reads_again(stored, pdf, monkeypatch):
    document = pdf("Total 5")
    assert document.text.strip() == "Total 5"
    monkeypatch.setattr("pytest_extract.documents.pdf.reader_version", lambda: "99.0")
    monkeypatch.setattr("pytest_extract.documents.pdf_pages", lambda *_, **__: ("read anew",))
    assert Document(document.path).pages == ("read anew",)


def test_a_text_is_read_where_nothing_can_be_kept(tmp_path, pdf):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    use_text_store(lambda: tmp_path / "file")
    try:
        assert pdf("Total 5").text.strip() == "Total 5"
    finally:
        use_text_store(None)


def test_texts_that_were_not_used_for_longest_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(pdf_module, "MOST_STORED_BYTES", 250)
    use_text_store(lambda: tmp_path)
    for number in range(4):
        (tmp_path / f"{number}.json").write_text("x" * 100, encoding="utf-8")
        os.utime(tmp_path / f"{number}.json", (number, number))
    stored_pages("new", lambda: ("page",))
    use_text_store(None)
    assert sorted(path.name.partition("-")[0] for path in tmp_path.iterdir()) == ["2.json", "3.json", "new"]
