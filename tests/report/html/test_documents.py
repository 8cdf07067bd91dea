"""The documents of the page, and where values stand in them."""

import base64
import hashlib
import json

import pytest

from pytest_extract.documents import Document, pdf
from pytest_extract.report.html import page as page_module
from pytest_extract.report.run_report import case_finder
from tests.report.html.data import shown
from tests.report.runs import GOLD, SCHEMA, scored, wrong
from tests.small_pdf import small_pdf

TEXT = "Invoice of ACME GmbH\n\nTotal: 907.20 EUR\nBolt 2.50\nNut 1.50\n"
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
COVER = small_pdf("Cover", "ACME GmbH, total 907.20, Bolt 2.50, Nut 1.50", "Terms")
SCAN, BLANK = small_pdf("", "", ""), small_pdf("Cover", "Terms")
NO_IMAGES = ["the page has no room for more images"]
TOO_LONG = ["images are made of up to 1 page"]


@pytest.fixture
def make(tmp_path):
    """Write a case with a document, and return the page of a result of it, for each of some models."""

    def run(name, content, total=1.5, *, digest="", models=(None,), **keys):
        (tmp_path / name).write_bytes(content)
        (tmp_path / "cases").mkdir(exist_ok=True)
        case = {"document": f"../{name}", "schema": SCHEMA, "gold": GOLD, "id": "a"}
        (tmp_path / "cases/all.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
        digests = {"document": digest or hashlib.sha256(content).hexdigest()}
        results = [scored("a", wrong(total=total), digests=digests, model=model) for model in models]
        return shown(*results, find_case=case_finder(tmp_path), **keys)

    return run


def test_values_are_found_in_a_text_that_cases_share(make):
    found = make("a.txt", TEXT.encode(), models=("m", "n"))
    assert [body["doc"] for body in found.bodies] == [0, 0]
    (document,) = found.documents
    assert (document["name"], document["kind"], document["pages"]) == ("a.txt", "text", [{"n": 1, "t": TEXT}])

    def quotes(places):
        return [TEXT[slice(*document["places"][index][1:3])] for index in places]

    assert (quotes(found.field["eg"]), quotes(found.field["ex"])) == (["907.20"], ["1.50"])
    matches = {path: places for path, _value, *places in found.attempt["matches"]}
    assert quotes(matches["vendor"][0]) == ["ACME GmbH"]
    nowhere = make("a.txt", TEXT.encode(), 123456.78)
    assert (nowhere.field["ex"], len(nowhere.field["eg"])) == ([], 1)


@pytest.mark.parametrize(
    ("content", "choice", "images"),
    [(COVER, "evidence", [2]), (COVER, "all", [1, 2, 3]), (COVER, "none", []), (SCAN, "evidence", [1, 2, 3])],
    ids=["evidence", "all", "none", "scan"],
)
def test_pages_of_a_pdf_are_images(make, content, choice, images):
    pytest.importorskip("PIL")
    (document,) = make("a.pdf", content, pages=choice).documents
    assert [each["n"] for each in document["pages"] if "i" in each] == images
    assert all(each["i"].startswith("data:image/webp;base64,") for each in document["pages"] if "i" in each)
    written = "".join(each.get("t", "") for each in document["pages"])
    assert ("907.20" in written) is (choice == "none")
    if content is SCAN:
        assert document["notes"] == ["has no text (a scan?), so no value can be found in it"]
        return
    boxes = [box for place in document["places"] for box in place[3]]
    assert boxes
    assert all(0 <= left < right <= 1 and 0 <= top < bottom <= 1 for left, top, right, bottom in boxes)
    assert any("of 3 pages" in note for note in document["notes"]) is (choice != "all")


@pytest.mark.parametrize("choice", ["evidence", "none"])
def test_a_pdf_without_evidence_shows_its_first_page(make, choice):
    (document,) = make("a.pdf", BLANK, pages=choice).documents
    assert [each["n"] for each in document["pages"]] == [1]


@pytest.mark.parametrize(
    ("name", "content", "limit", "pages", "notes"),
    [
        ("a.pdf", small_pdf("Cover", "total 907.20"), ("MOST_PAGES", 1), [["n", "t"], ["n", "t"]], TOO_LONG),
        ("a.pdf", small_pdf("total 907.20"), ("MOST_IMAGE_BYTES", 10), [["n", "t"]], NO_IMAGES),
        ("a.txt", TEXT.encode(), ("MOST_TEXTS", 10), [["n", "t"]], ["the page has no room for more text"]),
    ],
    ids=["pages", "images", "texts"],
)
def test_documents_have_bounds(make, monkeypatch, name, content, limit, pages, notes):
    pytest.importorskip("PIL")
    monkeypatch.setattr(page_module, *limit)
    (document,) = make(name, content, pages="all").documents
    assert [sorted(each) for each in document["pages"]] == pages
    assert document["notes"] == notes
    assert name == "a.pdf" or document["pages"][0]["t"] == TEXT[:10]


def test_many_pdfs_without_room_are_not_rendered_in_vain_for_long(monkeypatch, tmp_path):
    rooms = []
    monkeypatch.setattr(pdf, "pdf_images", lambda *_, most_bytes, **__: rooms.append(most_bytes) or [])
    monkeypatch.setattr(page_module, "MOST_IMAGE_BYTES", 1_000)
    results, cases = [], {}
    for name in ("a", "b", "c"):
        path = tmp_path / f"{name}.pdf"
        path.write_bytes(small_pdf(f"{name} total 907.20"))
        cases[name] = type("Case", (), {"document": Document(path=path)})
        results.append(scored(name, wrong(total=1), digests={"document": cases[name].document.sha256}))
    found = shown(*results, find_case=lambda result: cases[result.case_id])
    assert rooms == [1_000, 500, 250]
    assert [document["notes"] for document in found.documents] == [NO_IMAGES] * 3


def test_an_image_is_shown_as_it_is(make):
    found = make("a.png", PIXEL)
    (document,) = found.documents
    assert document["pages"] == [{"n": 1, "i": f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"}]
    assert "ex" not in found.field  # an image has no text, so nobody knows what it shows


def test_html_is_shown_as_the_text_that_readers_see(make):
    (document,) = make("a.html", b"<p>Total: <b>907.20</b><script>alert(1)</script>").documents
    assert (document["kind"], "907.20" in document["pages"][0]["t"]) == ("html", True)
    assert "alert" not in document["pages"][0]["t"]


def test_what_cannot_be_shown_is_told(make, tmp_path):
    (document,) = make("a.mp3", b"ID3").documents
    assert (document["pages"], "a browser cannot show audio/mpeg" in document["notes"]) == ([], True)
    found = make("a.txt", TEXT.encode(), digest="0" * 64)
    assert found.bodies[0]["nodoc"] == "The document has changed since the run, so it is not shown."
    assert found.documents == []
    (gone,) = shown(scored("a", wrong(total=1)), find_case=case_finder(tmp_path / "other")).bodies
    assert gone["nodoc"] == "The case, and with it its document, is not there any more."
