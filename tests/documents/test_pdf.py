"""PDFs: texts and images of their pages, where a text stands on them, texts kept between runs, and files that mean harm."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.results import FailureKind
from pytest_extract.core.values import iter_leaves
from pytest_extract.documents import Document, DocumentError
from pytest_extract.documents import pdf as pdf_module
from pytest_extract.documents.evidence import find_boxes, find_evidence
from pytest_extract.documents.pdf import pdf_images, pdf_pages, use_text_store
from tests.shared_data import shared
from tests.small_pdf import pdf_of, small_pdf

pytest.importorskip("pypdfium2")


def pages_of(data, name="a.pdf", *, max_pages=10, max_text=1000):
    return [page.strip() for page in pdf_pages(data, name, max_pages=max_pages, max_text=max_text)]


def image_of(data, name="a.pdf", page=0):
    pytest.importorskip("PIL")
    (image,) = pdf_images(data, name, [page], form="PNG", width=1000, most_bytes=10_000_000)
    return image


@pytest.fixture
def pdf(tmp_path):
    def write(*pages, **keys):
        path = tmp_path / "a.pdf"
        path.write_bytes(small_pdf(*pages, **keys))
        return Document(path)

    return write


def test_a_pdf_has_pages_and_text(pdf):
    document = pdf("Invoice 7", "Total 12.50")
    assert [page.strip() for page in document.pages] == ["Invoice 7", "Total 12.50"]
    assert document.text.split("\f") == list(document.pages)


def test_a_pdf_without_pypdfium2_says_what_to_install(pdf, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(DocumentError, match=r"pip install 'pytest-extract\[pdf\]'"):
        _ = pdf("x").text


def test_a_pdf_beyond_the_bounds_is_a_page_limit():
    with pytest.raises(DocumentError, match="has 3 pages, more than the 2") as pages:
        pages_of(small_pdf("a", "b", "c"), max_pages=2)
    with pytest.raises(DocumentError, match="the text of page 2 passes 12 characters") as text:
        pages_of(small_pdf("0123456789", "0123456789"), max_text=12)
    assert pages.value.kind is text.value.kind is FailureKind.PAGE_LIMIT


def test_a_pdf_without_the_page_says_so():
    with pytest.raises(DocumentError, match=r"^a\.pdf: the PDF has no page 3, its last is 1"):
        image_of(small_pdf("x"), page=2)


LOCKED = (  # a PDF with a user's password, RC4
    "eNqNUrtu1EAULUFTwC+MhLYk8/Q8hLUFSVYBgrLaJTSIYuy5XowWO7JnEaGj4A/4ACrEF/ALFBQUlHTQUFMTibGTLBamwHLhOfc8xkd3Mt+b"
    "3WQ7Ak2+ff/8BTFMcZ09RWmKyIPTE8Bk1wW3rleIzN0KWswjYYGmUwSV74h8JOh5iNwrfYsfYdHx8WNEdutNFTAbSMU/pV1QA5F6nkQW0Nab"
    "Jo/RHW9Wx0n/wbC8vEp8o30VoqrFyV8XlKOUzgOR5SYL/bEDGSK3XQu9OzmA9XMIZe4GLsnA5RCqVXiCJe3mbWjAPUPZ9fL91xtnV7Bb6ms/"
    "3t2fX3113O68sbde3z04PKN69vHDz19vP206vwvJhbMaOD/EPP4wFtsMxk3sA0tupVWa2zielesADSbL4CrvGo/IEU4lNZnQWV4w7p3RwuuC"
    "G0kLkbPMMu0oF1YxD17mhinphQGpwKokAaW0TmKBxzi1UZrbwvNEOHA8YyK3BsAn0nrqDeUmKyQkIEEnxsloRGk8q6IoHGXUTAeFvWigQBRr"
    "RLcPjnEiwQXeYizW2k+qP5iSI4xxMcI4H2u5HWPCDLDQuHINTd/1snwJ8XpkUddxLc937c5e3NjUK2BS8FiA5TLjhaVa5NFBK50n4NX0fyhx"
    "4/ervDk9CVhdbmQbXBP6YhSlaDLZP5qh3+d373Q="
)
ENCRYPTED = (  # a PDF that anybody may read, AES-256, as banks send them
    "eNqNVD1oU0EcH9zeIgouDnKDcVLffX9gCGiboKgkNLUg0uE+20iaF15eiu1akG6uDg6KOokgiLOLIKKgVOjg4FALLuLg6OS9tE2DcTC84e5/"
    "v4/L7/53ldZs4xw6T5LKzrePnxMEIMjM7aRaTdL5tb4H6YwudDdbStKWXvIDgCNgLqnVEt9zJRBPEUa4JL3acQNwC5ASDxaTdCYb9gqAJqjk"
    "n9TSKPcRuueUzvlBNsxttC5xjSyujAYI0IOtxC/K94rIGgD21wbplEupkaTtoSlG07KIkvSSHviRenrZd1d90bF6QoVNqFzzvaViGXBarg+K"
    "3OuV5NcJtPu1v7l7YWP9zcPFnaNHnpz9uXn306mtR1tvn/3+cfzmyw/zT+vg2L0zD7bb99+1X72oPH7/feP56fr8l9f+5Hbpsy+178gnHBcA"
    "i0EAPvbGLI5bgGJFFRdY4RhIp1v4HKTtQveczl2SNkFVQ8Gk80KJgB0RXASuibTIaBdplBvsghZIIkuJDDpIIRVmVCMYrGWEW42IR8ZZrxQk"
    "GiHmpXOKUYIc1QzH4G+AKubEU81doNw6zaHCFjEuocAOR1trOfaSa6GQFhxZrrVBXhnKAhXQMW9lYBASaZjnkc6stTAIGyR3UAVuyuNtjE69"
    "Xbj90cVhsVxfLfsknc1ss+97Jeg6SC/W2wtkHBTBBw3SLlYaYE+gnOSHk2YdVBUz1AonPXYqMGpoIDgYz41xkiIDERccG6WsgU7gQKVjnFPr"
    "UIj/ijBVBhFluFVEkhAjUsEq6rBA2mjIvTWIQAy9gVgiaGOWyjiFvWYqng9xlsCYn4syLZ+vxF4njmHphUDQScGhoISyyAtQoagdaG2iOe/k"
    "PiQQiASOf4AzRhgIYFxDsYVHK73DGqdTNYTJVA3jaS5W0zUK1WGtyHWn6/NR/7Y76z5uL53LsvgE7N3rK7PxdahSKrHSFkMtEacCYSgFlMQw"
    "p6yyDtb+BxJfl3rP5mv9AvCD2z8odF6MglHxolYq9WYj+QNyBlxf"
)


def unpacked(text):
    return zlib.decompress(base64.b64decode(text))


def test_a_locked_pdf_says_so_and_one_that_anybody_may_read_is_read():
    with pytest.raises(DocumentError, match="locked by a password"):
        pages_of(unpacked(LOCKED))
    assert pages_of(unpacked(ENCRYPTED)) == ["Balance 7"]


# --- files that are broken, or mean harm


def is_text_or_error(data):
    """Whether the PDF gives texts, or an error that names it."""
    try:
        return all(isinstance(page, str) for page in pages_of(data))
    except DocumentError as error:
        return str(error).startswith("a.pdf: ")


BROKEN = {
    "empty": b"",
    "header": b"%PDF-1.4",
    "text": b"hello",
    "cut": small_pdf("x")[:-120],
    "deep": b"%PDF-1.4\n" + b"[" * 100_000,
    "kids": small_pdf("x").replace(b"/Kids", b"/Kidz"),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_pdf_is_an_error_or_a_text_never_a_crash(data):
    assert is_text_or_error(data)


@given(st.binary(max_size=40), st.integers(0, 400))
def test_a_damaged_pdf_is_an_error_or_a_text_never_a_crash(noise, at):
    whole = small_pdf("Invoice 7")
    assert is_text_or_error(whole[:at] + noise + whole[at + len(noise) :])


def one_page(content, *, filters="", box="0 0 612 792", forms=()):
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Contents 4 0 R"
    return pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"{page} /Resources << /XObject << /X0 5 0 R >> >> >>".encode(),
            f"<< /Length {len(content)} {filters} >>\nstream\n".encode() + content + b"\nendstream",
            *forms,
        ]
    )


def forms_that_draw_each_other(levels):
    start = "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9]"
    forms = []
    for level in range(levels):
        content = f"/X{level + 1} Do " * 10
        resources = f"/Resources << /XObject << /X{level + 1} {6 + level} 0 R >> >>"
        forms.append(f"{start} {resources} /Length {len(content)} >>\nstream\n{content}\nendstream".encode())
    return one_page(b"/X0 Do", forms=[*forms, f"{start} /Length 0 >>\nstream\n\nendstream".encode()])


def packed_thrice():
    packing = zlib.compressobj()
    packed = b"".join([*(packing.compress(b"\0" * 1_000_000) for _ in range(2_000)), packing.flush()])
    filters = "/Filter [/FlateDecode /FlateDecode /FlateDecode]"
    return one_page(zlib.compress(zlib.compress(packed)), filters=filters)


def test_a_stream_that_unpacks_to_far_too_much_is_refused():
    packed = zlib.compress(b"1 0 0 1 10 10 Tm (abcd) Tj " * 2_000_000)
    bomb = b"%PDF-1.4\n1 0 obj\n<< /Length 1 /Filter /FlateDecode >>\nstream\n" + packed + b"\nendstream\nendobj\n"
    with pytest.raises(DocumentError, match=r"bomb\.pdf: a stream of the PDF unpacks to more than the 32 MB") as caught:
        pages_of(bomb, "bomb.pdf")
    assert caught.value.kind is FailureKind.PAGE_LIMIT


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on POSIX, and measured on Linux")
@pytest.mark.parametrize("make", [lambda: forms_that_draw_each_other(9), packed_thrice], ids=["forms", "filters"])
def test_a_pdf_that_takes_too_much_memory_is_a_page_limit_and_the_next_is_read(make, monkeypatch):
    monkeypatch.setattr(pdf_module, "MEMORY", 400 * 1024**2)
    data = make()
    assert len(data) < 3_000
    for read in (pages_of, image_of):
        with pytest.raises(DocumentError, match=r"^bomb\.pdf: the PDF cannot be read: .* memory") as caught:
            read(data, "bomb.pdf")
        assert caught.value.kind is FailureKind.PAGE_LIMIT
    assert pages_of(small_pdf("x")) == ["x"]


def test_a_pdf_that_takes_too_long_is_a_page_limit(monkeypatch):
    monkeypatch.setattr(pdf_module, "_WALL_CLOCK", 0.02)
    expected = r"^slow\.pdf: the PDF cannot be read: that takes more than the 20 s"
    with pytest.raises(DocumentError, match=expected) as late:
        pages_of(forms_that_draw_each_other(6), "slow.pdf")
    assert late.value.kind is FailureKind.PAGE_LIMIT


@pytest.mark.parametrize("box", ["0 0 0.001 1000000", "0 0 1000000 0.001", "0 0 1000000 1000000", "0 0 612 792"])
def test_a_page_of_any_size_is_a_small_image(box):
    image = image_of(one_page(b"", box=box))
    assert image.width * image.height <= 3_100_000
    assert max(image.width, image.height) <= 16_000


# --- the processes that read them


AT_CTRL_C = """
import os, signal, threading, time
from pytest_extract.documents.pdf import pdf_pages

def read():
    print(len(pdf_pages(open("long.pdf", "rb").read(), "long.pdf", max_pages=5000, max_text=10**8)), flush=True)

thread = threading.Thread(target=read)
thread.start()
time.sleep(0.1)
try:
    os.killpg(0, signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("interrupted", flush=True)
thread.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals to groups, as POSIX has them")
def test_a_thread_that_reads_a_pdf_at_ctrl_c_finishes(tmp_path):
    (tmp_path / "long.pdf").write_bytes(small_pdf(*(f"page {number} " * 99 for number in range(3_000))))
    command = [sys.executable, "-c", AT_CTRL_C]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, start_new_session=True, check=False)
    assert done.stdout.split() == ["interrupted", "3000"], done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a program in place of Python's")
def test_the_process_that_reads_a_pdf_gets_no_keys_from_the_environment(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nenv > {tmp_path}/seen\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    monkeypatch.setattr(sys, "executable", str(python))
    assert pages_of(small_pdf("x")) == ["x"]
    assert "planted" not in (tmp_path / "seen").read_text()


# --- places on the page


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
    upright, turned, cropped = (
        box_of(pdf("Total 1,234.50", page=page), 1234.5) for page in ("", "/Rotate 90", "/CropBox [0 396 306 792]")
    )
    # clockwise: the top is on the right
    assert (turned.right, turned.top) == pytest.approx((1 - upright.top, upright.left), abs=0.001)
    assert (cropped.left, cropped.top) == pytest.approx((2 * upright.left, 2 * upright.top), abs=0.001)


def test_other_documents_and_places_outside_of_the_text_have_no_boxes(pdf):
    document = Document(text="Total 5")
    assert find_boxes(document, find_evidence(document, 5).locations) == [()]
    found = pdf("one page").boxes([(0, 5, 900), (0, 900, 950), (7, 0, 3), (-1, 0, 3)])
    assert [len(boxes) for boxes in found] == [1, 0, 0, 0]
    (broken := pdf("x")).path.write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(DocumentError, match="not a readable PDF"):
        broken.boxes([(0, 0, 1)])


def test_the_text_inside_of_a_box_is_the_quote():
    """PDFium reads back what stands in the boxes of the values of a published gold."""
    import pypdfium2

    folder = shared("data/extract-bench/dataset/academic/research/pdf+gold")
    document = Document(folder / "shah24--flashattention-3.pdf")
    gold = json.loads((folder / "shah24--flashattention-3.gold.json").read_text(encoding="utf-8"))
    found = [find_evidence(document, value) for _, value in iter_leaves(gold)]
    locations = [evidence.locations[0] for evidence in found if evidence is not None and evidence.found]
    assert len(locations) > 70
    pages = pypdfium2.PdfDocument(document.path)

    def text_in(page, box):
        width, height = page.get_size()
        corners = box.left * width, (1 - box.bottom) * height, box.right * width, (1 - box.top) * height
        return page.get_textpage().get_text_bounded(*corners)

    def letters(text):
        return "".join(text.split()).replace("-", "").replace("\x02", "")

    same = 0
    for location, boxes in zip(locations, find_boxes(document, locations), strict=True):
        assert boxes
        read = "".join(text_in(pages[location.page - 1], box) for box in boxes)
        same += letters(location.quote) in letters(read)
    assert same > 0.95 * len(locations)


# --- texts kept between runs


@pytest.fixture
def stored(tmp_path):
    made = []
    use_text_store(lambda: made.append(1) or tmp_path / "texts")
    yield tmp_path / "texts"
    use_text_store(None)
    assert len(made) < 2


def test_the_text_of_a_pdf_is_read_once_and_kept_by_digest_and_version_of_the_reader(stored, pdf, monkeypatch):
    document = pdf("Total 5")
    assert Document(text="no PDF").pages == ("no PDF",)
    assert not stored.exists()
    pages = document.pages
    (file,) = stored.iterdir()
    assert file.name.startswith(document.sha256)
    monkeypatch.setattr("pytest_extract.documents.pdf_pages", lambda *_, **__: ("read anew",))
    assert Document(document.path).pages == pages
    with monkeypatch.context() as newer:
        newer.setattr(pdf_module, "reader_version", lambda: "99.0")
        assert Document(document.path).pages == ("read anew",)
    for broken in ("", "[1]", "{}", "[" * 100):
        file.write_text(broken, encoding="utf-8")
        assert Document(document.path).pages == ("read anew",)


def test_a_text_is_read_where_nothing_can_be_kept(stored, pdf):
    stored.write_text("x", encoding="utf-8")
    assert pdf("Total 5").text.strip() == "Total 5"
