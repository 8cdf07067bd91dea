"""Documents: kinds, text, laziness, and files that mean harm."""

from __future__ import annotations

import base64
import encodings.aliases
import hashlib
import itertools
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.results import FailureKind
from pytest_extract.documents import (
    SHOWN_ELEMENTS,
    Document,
    DocumentError,
    decode,
    html_outline,
    html_text,
    html_with,
    media_type_of,
)
from pytest_extract.documents.pdf import PageImage, pdf_images, pdf_pages
from tests.cpu_time import cpu_seconds
from tests.small_pdf import pdf_of, small_pdf


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.txt", "text/plain"),
        ("a.MD", "text/markdown"),
        ("a.html", "text/html"),
        ("a.json", "application/json"),
        ("dir.pdf/a.pdf", "application/pdf"),
        ("scan.JPG", "image/jpeg"),
        ("call.mp3", "audio/mpeg"),
        ("noname", "application/octet-stream"),
        ("a.xyz", "application/octet-stream"),
    ],
)
def test_the_suffix_says_the_media_type(name, media_type):
    assert media_type_of(name) == media_type
    assert Document(name).media_type == media_type


def test_an_inline_text_is_a_document_without_a_path():
    document = Document(text="héllo")
    assert document.path is None
    assert document.media_type == "text/plain"
    assert document.bytes == "héllo".encode()
    assert document.text == "héllo"
    assert document.pages == ("héllo",)
    assert document.encoding == "utf-8"
    assert document.sha256 == hashlib.sha256("héllo".encode()).hexdigest()
    assert repr(document) == "Document(text='héllo')"


@pytest.mark.parametrize(
    ("name", "content", "same"),
    [
        ("a.txt", b"a\n\xc3\xa4\n", True),
        ("a.svg", b"<svg>\n</svg>\n", True),
        ("a.unknown", b"a\nb", True),
        ("a.png", b"\x89PNG\n\0\n", False),
    ],
)
def test_line_ends_that_git_may_change_are_no_other_content(tmp_path, name, content, same):
    path = tmp_path / name
    path.write_bytes(content)
    digest = Document(path).sha256
    assert digest == hashlib.sha256(content).hexdigest()
    path.write_bytes(content.replace(b"\n", b"\r\n"))
    assert (Document(path).sha256 == digest) is same
    assert Document(path).bytes == path.read_bytes()


def test_the_lines_of_a_text_end_alike_however_the_file_ends_them(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\r\nb\r\n")
    assert Document(path).text == Document(path).source_text == "a\nb\n"
    given = Document(text="a\r\nb")
    assert (given.text, given.sha256) == ("a\r\nb", hashlib.sha256(b"a\r\nb").hexdigest())


def test_a_document_has_either_a_path_or_a_text():
    with pytest.raises(TypeError, match="either a path or a text"):
        Document()
    with pytest.raises(TypeError, match="either a path or a text"):
        Document("a.txt", text="a")


def test_a_document_is_read_when_asked_for_and_once(tmp_path):
    path = tmp_path / "a.txt"
    document = Document(path)
    path.write_text("first", encoding="utf-8")
    assert document.text == "first"
    path.write_text("second", encoding="utf-8")
    assert document.text == "first"
    assert document.bytes == b"first"
    digest = document.sha256
    document.release()
    assert document.bytes == b"second"
    assert document.sha256 == digest  # what the run was about


def test_threads_that_ask_together_get_one_reading(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x" * 100_000, encoding="utf-8")
    document = Document(path)
    seen: list[bytes] = []
    threads = [threading.Thread(target=lambda: seen.append(document.bytes)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(data) for data in seen}) == 1


def test_a_file_that_went_away_is_an_error_with_its_name(tmp_path):
    with pytest.raises(DocumentError, match=r"gone\.txt: cannot be read: No such file"):
        _ = Document(tmp_path / "gone.txt").text


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"plain", "plain", "utf-8"),
        ("Zürich".encode(), "Zürich", "utf-8"),
        ("\ufeffZürich".encode(), "Zürich", "utf-8-sig"),
        ("Zürich".encode("utf-16"), "Zürich", "utf-16"),
        (b"\xff\xfe\x00\x00" + "Zürich".encode("utf-32-le"), "Zürich", "utf-32"),
        ("Zürich".encode("latin-1"), "Zürich", "latin-1"),
        ('<meta charset="cp1251">Привет'.encode("cp1251"), '<meta charset="cp1251">Привет', "cp1251"),
        (
            '<?xml version="1.0" encoding="ISO-8859-2"?>Łódź'.encode("iso-8859-2"),
            '<?xml version="1.0" encoding="ISO-8859-2"?>Łódź',
            "iso8859-2",
        ),
        (b'<meta charset="hex">\xe4', '<meta charset="hex">ä', "latin-1"),
        (b'<meta charset="nonsense">\xe4', '<meta charset="nonsense">ä', "latin-1"),
        (b"\xff\xfea", "\ufffd", "utf-16"),
    ],
)
def test_text_is_decoded_by_mark_then_utf_8_then_declaration(data, text, encoding):
    assert decode(data) == (text, encoding)


@pytest.mark.parametrize(
    "name",
    [
        "undefined",
        "idna",
        "punycode",
        "unicode_escape",
        "unicode-escape",
        "raw_unicode_escape",
        "base64",
        "base64_codec",
        "rot13",
        "zlib",
        "hex",
        "bz2",
        "uu",
        "quopri",
        "mbcs",
        "oem",
        "charmap",
        "utf-7",
        "utf-16",
        "utf-32",
        "cp037",
        "cp1026",
        "encodings.undefined",
        "../../x",
        "x-user-defined",
    ],
)
@pytest.mark.parametrize("body", [b"\xe9", b"\xe9." + b"a" * 70, b"\xff\\ud800 \\N{X", b"\xe9-zz9"])
def test_a_declared_encoding_that_is_none_of_pages_is_not_used(name, body):
    for declaration in ("<meta charset=%s>", '<?xml version="1.0" encoding="%s"?>'):
        data = (declaration % name).encode() + body
        assert decode(data) == (data.decode("latin-1"), "latin-1")


@given(
    st.binary(max_size=60), st.sampled_from(sorted({*encodings.aliases.aliases, *encodings.aliases.aliases.values()}))
)
def test_any_declared_encoding_has_a_text_that_can_be_written(data, name):
    text, _ = decode(b"<meta charset=" + name.encode() + b">" + data)
    assert text.encode("utf-8")


@given(st.binary(max_size=60))
def test_any_bytes_have_a_text(data):
    text, _ = decode(data)
    assert isinstance(text, str)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("<title>T</title><body><h1>Head</h1>a <b>bold</b>   word<br>next", "T\nHead\na bold word\nnext"),
        (
            "<head><title>T</title><style>p{}</style><meta x></head><body>a<script>if (a<b) {}</script>b</body>",
            "T\nab",
        ),
        ("<ul><li>x</li>\n<li>y</li></ul>", "x\ny"),
        (
            "<table><tr><th>Name</th><th>Price</th></tr><tr><td>Kettle</td> <td>12</td></tr></table>",
            "Name\tPrice\nKettle\t12",
        ),
        ("<pre>a\n  b\n\nc</pre>d", "a\n  b\n\nc\nd"),
        ("<pre>a<b>b</b>\nc<b>d\n\n e</b>f\n</pre>g", "ab\ncd\n\n ef\ng"),
        ("5 &lt; 6 &amp; 7 &euro; &#8364;", "5 < 6 & 7 € €"),
        ("<!-- no --><template>no</template>yes", "yes"),
        ("<head><title>T</title><p>no body tag", "T\nno body tag"),
        ("<html><head><style>p{}</style><body>never closed", "never closed"),
        ("</p></script></b>stray", "stray"),
        ("<template><template>no</template>no</template>yes", "yes"),
        ("<template><head>no</template>yes", "yes"),
        ("a < b", "a < b"),
        ("", ""),
    ],
)
def test_html_gives_what_a_reader_sees(source, text):
    assert html_text(source) == text


@given(st.text(st.sampled_from("<>/!-=\"' abpretdscriptmlhy&;#\n\t"), max_size=80))
def test_any_markup_has_a_text(source):
    assert isinstance(html_text(source), str)


def test_the_encoding_of_a_file_is_told(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Zürich".encode("latin-1"))
    document = Document(path)
    assert (document.text, document.encoding) == ("Zürich", "latin-1")


def test_html_and_json_and_markdown_documents_have_their_text(tmp_path):
    for name, content, text in [
        ("a.html", "<p>one</p>", "one"),
        ("a.json", '{"a": 1}', '{"a": 1}'),
        ("a.md", "# one", "# one"),
        ("unknown", "words", "words"),
    ]:
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert Document(tmp_path / name).text == text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("scan.png", "image/png has no text; hand `document.data_url` to a model"),
        ("call.wav", "audio/wav has no text; hand `document.data_url` to a model"),
        ("a.docx", "has no text; hand .* or read `document.bytes` with a library"),
        ("blob", "has no text; hand .* or read `document.bytes` with a library"),
    ],
)
def test_kinds_without_text_say_what_to_do(tmp_path, name, words):
    path = tmp_path / name
    path.write_bytes(b"\x89PNG\0\0")
    document = Document(path)
    with pytest.raises(DocumentError, match=words) as caught:
        _ = document.text
    assert caught.value.kind is FailureKind.EXTRACTOR_ERROR
    with pytest.raises(DocumentError, match=words):
        _ = document.pages
    assert document.bytes == b"\x89PNG\0\0"
    assert document.data_url == f"data:{document.media_type};base64,{base64.b64encode(document.bytes).decode()}"


def test_a_pdf_has_pages_and_text(tmp_path):
    pytest.importorskip("pypdfium2")
    path = tmp_path / "a.pdf"
    path.write_bytes(small_pdf("Invoice 7", "Total 12.50"))
    document = Document(path)
    assert [page.strip() for page in document.pages] == ["Invoice 7", "Total 12.50"]
    assert document.text.split("\f") == list(document.pages)


def test_a_pdf_without_pypdfium2_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    path = tmp_path / "a.pdf"
    path.write_bytes(small_pdf("x"))
    with pytest.raises(DocumentError, match=r"pip install 'pytest-extract\[pdf\]'"):
        _ = Document(path).text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"%PDF-1.4",
        b"hello",
        small_pdf("x")[:-120],
        b"%PDF-1.4\n" + b"[" * 100_000,
        small_pdf("x").replace(b"/Kids", b"/Kidz"),
    ],
    ids=["empty", "header", "text", "cut", "deep", "kids"],
)
def test_a_broken_pdf_is_an_error_or_a_text_never_a_crash(data):
    pytest.importorskip("pypdfium2")
    assert _pages_or_error(data)


@given(st.binary(max_size=40), st.integers(0, 400))
def test_a_damaged_pdf_is_an_error_or_a_text_never_a_crash(noise, at):
    pytest.importorskip("pypdfium2")
    whole = small_pdf("Invoice 7")
    assert _pages_or_error(whole[:at] + noise + whole[at + len(noise) :])


def _pages_or_error(data: bytes) -> bool:
    """Whether the PDF gives texts, or an error that names it."""
    try:
        pages = pdf_pages(data, "bad.pdf", max_pages=10, max_text=1000)
    except DocumentError as error:
        return str(error).startswith("bad.pdf: ")
    return all(isinstance(page, str) for page in pages)


def test_a_pdf_beyond_the_bounds_is_a_page_limit():
    pytest.importorskip("pypdfium2")
    with pytest.raises(DocumentError, match="has 3 pages, more than the 2") as pages:
        pdf_pages(small_pdf("a", "b", "c"), "long.pdf", max_pages=2, max_text=1000)
    with pytest.raises(DocumentError, match="the text of page 2 passes 12 characters") as text:
        pdf_pages(small_pdf("0123456789", "0123456789"), "long.pdf", max_pages=5, max_text=12)
    assert pages.value.kind is text.value.kind is FailureKind.PAGE_LIMIT


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


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


def test_a_locked_pdf_says_so():
    pytest.importorskip("pypdfium2")
    with pytest.raises(DocumentError, match="locked by a password"):
        pdf_pages(_unpacked(LOCKED), "locked.pdf", max_pages=5, max_text=1000)


def test_an_encrypted_pdf_without_a_password_is_read():
    pytest.importorskip("pypdfium2")
    assert [page.strip() for page in pdf_pages(_unpacked(ENCRYPTED), "bank.pdf", max_pages=5, max_text=1000)] == [
        "Balance 7"
    ]


def test_a_stream_that_unpacks_to_far_too_much_is_refused():
    pytest.importorskip("pypdfium2")
    packed = zlib.compress(b"1 0 0 1 10 10 Tm (abcd) Tj " * 2_000_000)
    bomb = b"%PDF-1.4\n1 0 obj\n<< /Length 1 /Filter /FlateDecode >>\nstream\n" + packed + b"\nendstream\nendobj\n"
    with pytest.raises(DocumentError, match=r"bomb\.pdf: a stream of the PDF unpacks to more than the 32 MB") as caught:
        pdf_pages(bomb, "bomb.pdf", max_pages=5, max_text=1000)
    assert caught.value.kind is FailureKind.PAGE_LIMIT


def _one_page(content: bytes, filters: str = "", box: str = "0 0 612 792", forms: Sequence[bytes] = ()) -> bytes:
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


def _forms_that_draw_each_other(levels: int) -> bytes:
    start = "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9]"
    forms = []
    for level in range(levels):
        content = f"/X{level + 1} Do " * 10
        resources = f"/Resources << /XObject << /X{level + 1} {6 + level} 0 R >> >>"
        forms.append(f"{start} {resources} /Length {len(content)} >>\nstream\n{content}\nendstream".encode())
    return _one_page(b"/X0 Do", forms=[*forms, f"{start} /Length 0 >>\nstream\n\nendstream".encode()])


def _packed_thrice() -> bytes:
    packing = zlib.compressobj()
    packed = b"".join([*(packing.compress(b"\0" * 1_000_000) for _ in range(2_000)), packing.flush()])
    filters = "/Filter [/FlateDecode /FlateDecode /FlateDecode]"
    return _one_page(zlib.compress(zlib.compress(packed)), filters)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on POSIX, and measured on Linux")
@pytest.mark.parametrize("make", [lambda: _forms_that_draw_each_other(9), _packed_thrice], ids=["forms", "filters"])
def test_a_pdf_that_takes_too_much_memory_is_a_page_limit_and_the_next_is_read(make, monkeypatch):
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr("pytest_extract.documents.pdf.MEMORY", 400 * 1024**2)
    data = make()
    assert len(data) < 3_000
    with pytest.raises(DocumentError, match=r"^bomb\.pdf: the PDF cannot be read: .* memory") as caught:
        pdf_pages(data, "bomb.pdf", max_pages=5, max_text=1000)
    assert caught.value.kind is FailureKind.PAGE_LIMIT
    with pytest.raises(DocumentError, match=r"^bomb\.pdf: the PDF cannot be read: .* memory"):
        _image(data)
    assert [page.strip() for page in pdf_pages(small_pdf("x"), "a.pdf", max_pages=5, max_text=1000)] == ["x"]


def test_a_pdf_that_takes_too_long_is_a_page_limit(monkeypatch):
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr("pytest_extract.documents.pdf._WALL_CLOCK", 0.02)
    with pytest.raises(
        DocumentError, match=r"^slow\.pdf: the PDF cannot be read: that takes more than the 20 s"
    ) as late:
        pdf_pages(_forms_that_draw_each_other(6), "slow.pdf", max_pages=5, max_text=1000)
    assert late.value.kind is FailureKind.PAGE_LIMIT


@pytest.mark.parametrize("box", ["0 0 0.001 1000000", "0 0 1000000 0.001", "0 0 1000000 1000000", "0 0 612 792"])
def test_a_page_of_any_size_is_a_small_image(box):
    pytest.importorskip("pypdfium2")
    pytest.importorskip("PIL")
    image = _image(_one_page(b"", box=box))
    assert image.width * image.height <= 3_100_000
    assert max(image.width, image.height) <= 16_000


def _image(data: bytes) -> PageImage:
    (image,) = pdf_images(data, "bomb.pdf", [0], form="PNG", width=1000, most_bytes=10_000_000)
    return image


def test_a_pdf_without_the_page_says_so():
    pytest.importorskip("pypdfium2")
    pytest.importorskip("PIL")
    with pytest.raises(DocumentError, match=r"^a\.pdf: the PDF has no page 3, its last is 1"):
        pdf_images(small_pdf("x"), "a.pdf", [2], form="PNG", width=1000, most_bytes=10_000_000)


READ_AT_CTRL_C = """
import os, signal, sys, threading, time
from pytest_extract.documents.pdf import pdf_pages

def read(name):
    print(len(pdf_pages(open(name, "rb").read(), name, max_pages=5000, max_text=10**8)))

read("short.pdf")
thread = threading.Thread(target=read, args=["long.pdf"])
thread.start()
time.sleep(0.1)
try:
    os.killpg(0, signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("interrupted")
thread.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C as a signal to a group")
def test_a_thread_that_reads_a_pdf_at_ctrl_c_finishes(tmp_path):
    pytest.importorskip("pypdfium2")
    (tmp_path / "short.pdf").write_bytes(small_pdf("x"))
    (tmp_path / "long.pdf").write_bytes(small_pdf(*(f"page {number} " * 99 for number in range(3_000))))
    command = [sys.executable, "-c", READ_AT_CTRL_C]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, start_new_session=True, check=False)
    assert done.stdout.split() == ["1", "interrupted", "3000"], done.stderr


def test_one_process_reads_many_pdfs(monkeypatch):
    pytest.importorskip("pypdfium2")
    started = []
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **rest: started.append(args) or start(*args, **rest))
    for number in range(50):
        (page,) = pdf_pages(small_pdf(f"page {number}"), "a.pdf", max_pages=5, max_text=1000)
        assert page.strip() == f"page {number}"
    assert len(started) <= 1  # none where an earlier test has it


READ_IN_FORK = """
import os
from pytest_extract.documents.pdf import pdf_pages

def read(name):
    (page,) = pdf_pages(open(name, "rb").read(), name, max_pages=5, max_text=99)
    print(page.strip(), flush=True)

read("a.pdf")
fork = os.fork()
read("a.pdf" if fork else "b.pdf")
if fork:
    os.waitpid(fork, 0)
    read("a.pdf")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_reads_pdfs_by_a_process_of_its_own(tmp_path):
    pytest.importorskip("pypdfium2")
    for name in "ab":
        (tmp_path / f"{name}.pdf").write_bytes(small_pdf(name))
    done = subprocess.run(
        [sys.executable, "-c", READ_IN_FORK], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert sorted(done.stdout.split()) == ["a", "a", "a", "b"], done.stderr


def test_pages_may_be_read_in_several_threads():
    pytest.importorskip("pypdfium2")
    data = small_pdf(*(f"page {number}" for number in range(20)))
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda _: pdf_pages(data, "a.pdf", max_pages=50, max_text=10_000), range(40))
        assert {tuple(page.strip() for page in pages) for pages in found} == {tuple(f"page {n}" for n in range(20))}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    [
        "<!--",
        "<![CDATA[",
        "<?x ",
        "<div>",
        "<b></p>",
        "<li><ul>",
        "<a ",
        "</x ",
        "<table>",
        "<title>",
        '<a b="',
        "<",
        "&",
    ],
)
def test_a_broken_page_is_read_in_linear_time(unit):
    with suppress(DocumentError):  # of too many elements inside each other
        assert isinstance(html_text(unit * 100_000), str)


def test_a_long_line_of_marked_up_letters_is_read_in_linear_time():
    def seconds(letters):
        return cpu_seconds(lambda: html_text("<pre>" + "<b>x</b>" * letters), calls=2)

    assert seconds(64_000) < 20 * seconds(8_000)


def test_a_page_of_thousands_of_elements_inside_each_other_is_an_error(tmp_path):
    assert html_text("<div>a" * 1_990).split() == ["a"] * 1_990
    path = tmp_path / "a.html"
    path.write_text("<b>a" * 3_000, encoding="utf-8")
    with pytest.raises(DocumentError, match=r"a\.html: more than 2,000 elements of its HTML stand inside each other"):
        _ = Document(path).text


PIECES = st.sampled_from(
    ("<p>", "</p>", "<b>", "</b>", "<table>", "<tr>", "<td>", "<td colspan=3>", "</td>", "</tr>", "</table>", "<br>", "<pre>",
     "</pre>", "<script>", "</script>", "<title>", "</title>", "<head>", "<body>", "<li>", "a", " ", "\n", "b c", "&nbsp;",
     "漢字", "<", "&lt;", "x\ty", "<img src=x onerror=y>", "<style>", "</style>", "<h1>", "</h1>", "<svg>", "\u3000")
)  # fmt: skip


def _texts_of(outline):
    for part in outline[3:]:
        if isinstance(part[0], int):
            yield tuple(part)
        else:
            assert part[0] in SHOWN_ELEMENTS
            assert all(isinstance(span, int) and 1 <= span <= 100 for span in part[1:3])
            yield from _texts_of(part)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_the_outline_of_a_page_has_all_of_its_text_in_order(source):
    text = html_text(source)
    outline = html_outline(source, text)
    assert outline is not None
    spans = [*_texts_of(outline)]
    assert all(start < end for start, end in spans)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    shown = "".join(text[start:end] for start, end in spans)
    assert "".join(shown.split()) == "".join(text.split())


def test_the_outline_keeps_elements_and_spans_of_cells_and_nothing_else():
    source = (
        "<title>T</title><h1 id=x>In<b onclick=y>voi</b>ce</h1><table><tr><td colspan=2 style=z>A</td></tr></table>"
    )
    text = html_text(source)
    assert html_outline(source, text) == [
        "div", 1, 1,
        ["div", 1, 1, [0, 1]],
        ["h1", 1, 1, [2, 4], ["b", 1, 1, [4, 7]], [7, 9]],
        ["table", 1, 1, ["tr", 1, 1, ["td", 2, 1, [10, 11]]]],
    ]  # fmt: skip


@pytest.mark.parametrize(("given", "spans"), [("9" * 5_000, 100), ("0", 1), ("٣", 1), ("7", 7)])
def test_a_cell_spans_as_much_as_can_be_shown(given, spans):
    source = f"<table><tr><td colspan={given}>A</td></tr></table>"
    assert html_outline(source, "A") == ["div", 1, 1, ["table", 1, 1, ["tr", 1, 1, ["td", spans, 1, [0, 1]]]]]


@pytest.mark.parametrize("levels", [1, 1_500])
def test_a_text_is_changed_however_deep_it_stands(levels):
    source = f"<title>T</title>a{'<div>' * levels}hello 12{'</div>' * levels}b"
    text = html_text(source)
    at = text.index("12")
    assert html_text(html_with(source, text, [(at, at + 2, "13")])) == text.replace("12", "13")


def test_a_page_with_too_many_elements_has_no_outline():
    source = "<b>x</b>" * 20_001
    assert html_outline(source, html_text(source)) is None
