"""The documents of the page, and where values stand in them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import CaseResult
from pytest_extract.report.html import page as page_module
from pytest_extract.report.html.page import page
from pytest_extract.report.run_report import CaseFinder, RunReport
from tests.report.html.data import PageData, page_data
from tests.report.runs import GOLD, SCHEMA, scored, wrong
from tests.small_pdf import small_pdf

TEXT = "Invoice of ACME GmbH\n\nTotal: 907.20 EUR\nBolt 2.50\nNut 1.50\n"


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., PageData]:
    """Write a case with a document, and return the page of a result of it."""
    import json

    def run(name: str, content: bytes, extracted: object = None, **keys: object) -> PageData:
        (tmp_path / name).write_bytes(content)
        folder = tmp_path / "cases"
        folder.mkdir(exist_ok=True)
        case = {"document": f"../{name}", "schema": SCHEMA, "gold": GOLD, "id": "a"}
        (folder / "all.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
        digests = {"document": keys.pop("digest", hashlib.sha256(content).hexdigest())}
        output = wrong(total=1.5) if extracted is None else extracted
        result = scored("a", output, digests=digests)
        run_report = RunReport(results=[result], find_case=CaseFinder(tmp_path), **keys)  # type: ignore[arg-type]
        return page_data(page(run_report))

    return run


def test_values_are_found_in_a_text(make: Callable[..., PageData]) -> None:
    found = make("a.txt", TEXT.encode())
    (document,) = found.documents
    assert (document["name"], document["kind"], document["pages"]) == ("a.txt", "text", [{"n": 1, "t": TEXT}])
    field = found.bodies[0]["attempts"][0]["fields"][0]
    quotes = {key: [TEXT[slice(*document["places"][index][1:3])] for index in field[key]] for key in ("eg", "ex")}
    assert quotes == {"eg": ["907.20"], "ex": ["1.50"]}
    matches = {path: places for path, _value, *places in found.bodies[0]["attempts"][0]["matches"]}
    ((vendor,),) = matches["vendor"]
    assert TEXT[slice(*document["places"][vendor][1:3])] == "ACME GmbH"


def test_a_value_that_stands_nowhere_is_told(make: Callable[..., PageData]) -> None:
    found = make("a.txt", TEXT.encode(), wrong(total=123456.78))
    field = found.bodies[0]["attempts"][0]["fields"][0]
    assert (field["ex"], len(field["eg"])) == ([], 1)


@pytest.mark.parametrize(("choice", "images"), [("evidence", [2]), ("all", [1, 2, 3]), ("none", [])])
def test_pages_of_a_pdf_are_images(make: Callable[..., PageData], choice: str, images: list[int]) -> None:
    pytest.importorskip("PIL")
    content = small_pdf("Cover", "ACME GmbH, total 907.20, Bolt 2.50, Nut 1.50", "Terms")
    (document,) = make("a.pdf", content, pages=choice).documents
    assert [each["n"] for each in document["pages"] if "i" in each] == images
    assert all(each["i"].startswith("data:image/webp;base64,") for each in document["pages"] if "i" in each)
    written = [each["t"] for each in document["pages"] if "t" in each]
    assert ("907.20" in "".join(written)) is (choice == "none")
    boxes = [box for place in document["places"] for box in place[3]]
    assert boxes
    assert all(0 <= left < right <= 1 and 0 <= top < bottom <= 1 for left, top, right, bottom in boxes)
    assert any(("of 3 pages" in note) for note in document["notes"]) is (choice != "all")


def test_pages_beyond_the_images_are_text(make: Callable[..., PageData], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    monkeypatch.setattr(page_module, "MOST_PAGES", 1)
    (document,) = make("a.pdf", small_pdf("Cover", "total 907.20"), pages="all").documents
    assert [sorted(each) for each in document["pages"]] == [["i", "n", "s"], ["n", "t"]]
    assert document["notes"] == ["the page has no room for more images"]


def test_a_pdf_without_evidence_shows_its_first_page(make: Callable[..., PageData]) -> None:
    content = small_pdf("Cover", "Terms")
    for choice in ("evidence", "none"):
        (document,) = make("a.pdf", content, {}, pages=choice).documents
        assert [each["n"] for each in document["pages"]] == [1]


def test_all_pages_of_a_scan_are_shown(make: Callable[..., PageData]) -> None:
    pytest.importorskip("PIL")
    (document,) = make("a.pdf", small_pdf("", "", "")).documents
    assert [each["n"] for each in document["pages"] if "i" in each] == [1, 2, 3]
    assert document["notes"] == ["has no text (a scan?), so no value can be found in it"]


def test_images_have_bounds_and_the_rest_is_text(
    make: Callable[..., PageData], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "MOST_IMAGE_BYTES", 10)
    found = make("a.pdf", small_pdf("total 907.20"))
    (document,) = found.documents
    assert [sorted(each) for each in document["pages"]] == [["n", "t"]]
    assert document["notes"] == ["the page has no room for more images"]


def test_an_image_is_shown_as_it_is(make: Callable[..., PageData]) -> None:
    content = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
    )
    found = make("a.png", content)
    (document,) = found.documents
    assert document["pages"] == [{"n": 1, "i": f"data:image/png;base64,{base64.b64encode(content).decode()}"}]
    field = found.bodies[0]["attempts"][0]["fields"][0]
    assert "ex" not in field  # an image has no text, so nobody knows what it shows


def test_html_is_shown_as_the_text_that_readers_see(make: Callable[..., PageData]) -> None:
    (document,) = make("a.html", b"<p>Total: <b>907.20</b><script>alert(1)</script>").documents
    assert (document["kind"], "907.20" in document["pages"][0]["t"]) == ("html", True)
    assert "alert" not in document["pages"][0]["t"]


def test_what_a_browser_cannot_show_is_told(make: Callable[..., PageData]) -> None:
    (document,) = make("a.mp3", b"ID3").documents
    assert "a browser cannot show audio/mpeg" in document["notes"]
    assert document["pages"] == []


def test_a_document_that_is_not_that_of_the_run_is_not_shown(make: Callable[..., PageData]) -> None:
    found = make("a.txt", TEXT.encode(), digest="0" * 64)
    assert found.bodies[0]["nodoc"] == "The document has changed since the run, so it is not shown."
    assert found.documents == []


def test_a_case_that_is_gone_has_no_document(tmp_path: Path) -> None:
    result = scored("a", wrong(total=1))
    found = page_data(page(RunReport(results=[result], find_case=CaseFinder(tmp_path))))
    assert found.bodies[0]["nodoc"] == "The case, and with it its document, is not there any more."


def test_texts_have_bounds(make: Callable[..., PageData], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "MOST_TEXTS", 10)
    (document,) = make("a.txt", TEXT.encode()).documents
    assert document["pages"] == [{"n": 1, "t": TEXT[:10]}]
    assert document["notes"] == ["the page has no room for more text"]


def test_cases_of_one_document_share_it(tmp_path: Path) -> None:
    from pytest_extract.documents import Document

    class OneCase:
        document = Document(text=TEXT)

    def find(_: CaseResult) -> Case:
        return OneCase()  # type: ignore[return-value]

    digests = {"document": OneCase.document.sha256}
    results = [scored("a", wrong(total=1), digests=digests, model=model) for model in ("m", "n")]
    found = page_data(page(RunReport(results=results, find_case=find)))
    assert len(found.documents) == 1
    assert [body["doc"] for body in found.bodies] == [0, 0]
