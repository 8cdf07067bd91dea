"""Documents: kinds, text, laziness, and pages that mean harm."""

from __future__ import annotations

import base64
import encodings.aliases
import hashlib
import itertools
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.results import FailureKind
from pytest_extract.documents import SHOWN_ELEMENTS, Document, DocumentError, decode, html_outline, html_text, html_with
from tests.cpu_time import cpu_seconds


@pytest.fixture
def file_of(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return Document(path)

    return write


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.txt", "text/plain"),
        ("a.MD", "text/markdown"),
        ("dir.pdf/a.pdf", "application/pdf"),
        ("scan.JPG", "image/jpeg"),
        ("call.mp3", "audio/mpeg"),
        ("noname", "application/octet-stream"),
    ],
)
def test_the_suffix_says_the_media_type(name, media_type):
    assert Document(name).media_type == media_type


def test_an_inline_text_is_a_document_without_a_path():
    document = Document(text="hé\r\nllo")
    data = "hé\r\nllo".encode()
    assert (document.path, document.media_type, document.encoding) == (None, "text/plain", "utf-8")
    assert (document.text, document.pages, document.bytes) == ("hé\r\nllo", ("hé\r\nllo",), data)
    assert document.sha256 == hashlib.sha256(data).hexdigest()
    assert repr(document) == "Document(text='hé\\r\\nllo')"


@pytest.mark.parametrize("given", [{}, {"path": "a.txt", "text": "a"}], ids=["neither", "both"])
def test_a_document_has_either_a_path_or_a_text(given):
    with pytest.raises(TypeError, match="either a path or a text"):
        Document(**given)


@pytest.mark.parametrize(
    ("name", "content", "same"),
    [
        ("a.txt", b"a\n\xc3\xa4\n", True),
        ("a.svg", b"<svg>\n</svg>\n", True),
        ("a.unknown", b"a\nb", True),
        ("a.png", b"\x89PNG\n\0\n", False),
    ],
)
def test_line_ends_that_git_may_change_are_no_other_content(file_of, name, content, same):
    digest = file_of(name, content).sha256
    assert digest == hashlib.sha256(content).hexdigest()
    changed = file_of(name, content.replace(b"\n", b"\r\n"))
    assert (changed.sha256 == digest) is same
    assert changed.bytes == content.replace(b"\n", b"\r\n")


def test_a_document_is_read_when_asked_for_and_once(file_of):
    document = Document(file_of("a.txt", "").path)
    file_of("a.txt", "first")
    assert document.text == "first"
    file_of("a.txt", "second")
    assert (document.text, document.bytes) == ("first", b"first")
    digest = document.sha256
    document.release()
    assert document.bytes == b"second"
    assert document.sha256 == digest  # what the run was about


def test_threads_that_ask_together_get_one_reading(file_of):
    document = file_of("a.txt", "x" * 100_000)
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: document.bytes, range(8)))
    assert len({id(data) for data in seen}) == 1


def test_a_file_that_went_away_is_an_error_with_its_name(tmp_path):
    with pytest.raises(DocumentError, match=r"gone\.txt: cannot be read: No such file"):
        _ = Document(tmp_path / "gone.txt").text


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.html", "<p>one</p>\r\n", "one"),
        ("a.json", '{"a": 1}', '{"a": 1}'),
        ("a.md", "# one", "# one"),
        ("unknown", "words", "words"),
        ("a.txt", "a\r\nb\r\n", "a\nb\n"),  # the lines end alike however the file ends them
    ],
)
def test_kinds_with_a_text(file_of, name, content, text):
    document = file_of(name, content)
    assert document.text == text
    assert document.source_text == ("<p>one</p>\n" if name == "a.html" else text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("scan.png", "image/png has no text; hand `document.data_url` to a model"),
        ("call.wav", "audio/wav has no text; hand `document.data_url` to a model"),
        ("a.docx", "has no text; hand .* or read `document.bytes` with a library"),
        ("blob", "has no text; hand .* or read `document.bytes` with a library"),
    ],
)
def test_kinds_without_text_say_what_to_do(file_of, name, words):
    document = file_of(name, b"\x89PNG\0\0")
    for of_text in ("text", "pages"):
        with pytest.raises(DocumentError, match=words) as caught:
            getattr(document, of_text)
        assert caught.value.kind is FailureKind.EXTRACTOR_ERROR
    assert document.bytes == b"\x89PNG\0\0"
    assert document.data_url == f"data:{document.media_type};base64,{base64.b64encode(document.bytes).decode()}"


# --- bytes -> text

CYRILLIC = '<meta charset="cp1251">Привет'
POLISH = '<?xml version="1.0" encoding="ISO-8859-2"?>Łódź'


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"plain", "plain", "utf-8"),
        ("Zürich".encode(), "Zürich", "utf-8"),
        ("\ufeffZürich".encode(), "Zürich", "utf-8-sig"),
        ("Zürich".encode("utf-16"), "Zürich", "utf-16"),
        (b"\xff\xfe\x00\x00" + "Zürich".encode("utf-32-le"), "Zürich", "utf-32"),
        ("Zürich".encode("latin-1"), "Zürich", "latin-1"),
        (CYRILLIC.encode("cp1251"), CYRILLIC, "cp1251"),
        (POLISH.encode("iso-8859-2"), POLISH, "iso8859-2"),
        (b'<meta charset="hex">\xe4', '<meta charset="hex">ä', "latin-1"),
        (b'<meta charset="nonsense">\xe4', '<meta charset="nonsense">ä', "latin-1"),
        (b"\xff\xfea", "\ufffd", "utf-16"),
    ],
)
def test_text_is_decoded_by_mark_then_utf_8_then_declaration(data, text, encoding):
    assert decode(data) == (text, encoding)


OF_NO_PAGES = (
    "undefined idna punycode unicode_escape unicode-escape raw_unicode_escape base64 base64_codec rot13 zlib hex bz2 uu "
    "quopri mbcs oem charmap utf-7 utf-16 utf-32 cp037 cp1026 encodings.undefined ../../x x-user-defined"
)


@pytest.mark.parametrize("name", OF_NO_PAGES.split())
def test_a_declared_encoding_that_is_none_of_pages_is_not_used(name):
    for declaration in ("<meta charset=%s>", '<?xml version="1.0" encoding="%s"?>'):
        for body in (b"\xe9", b"\xe9." + b"a" * 70, b"\xff\\ud800 \\N{X", b"\xe9-zz9"):
            data = (declaration % name).encode() + body
            assert decode(data) == (data.decode("latin-1"), "latin-1")


ALL_ENCODINGS = sorted({*encodings.aliases.aliases, *encodings.aliases.aliases.values()})


@given(st.binary(max_size=60), st.sampled_from(ALL_ENCODINGS))
def test_any_bytes_have_a_text_that_can_be_written_whatever_they_declare(data, name):
    assert decode(b"<meta charset=" + name.encode() + b">" + data)[0].encode("utf-8")
    assert isinstance(decode(data)[0], str)


# --- HTML

HEAD = "<head><title>T</title><style>p{}</style><meta x></head>"
ROWS = "<tr><th>Name</th><th>Price</th></tr><tr><td>Kettle</td> <td>12</td></tr>"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("<title>T</title><body><h1>Head</h1>a <b>bold</b>   word<br>next", "T\nHead\na bold word\nnext"),
        (f"{HEAD}<body>a<script>if (a<b) {{}}</script>b</body>", "T\nab"),
        ("<ul><li>x</li>\n<li>y</li></ul>", "x\ny"),
        (f"<table>{ROWS}</table>", "Name\tPrice\nKettle\t12"),
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


BROKEN = ["<!--", "<![CDATA[", "<?x ", "<div>", "<b></p>", "<li><ul>", "<a ", "</x ", "<table>", "<title>", '<a b="']


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", [*BROKEN, "<", "&"])
def test_a_broken_page_is_read_in_linear_time(unit):
    with suppress(DocumentError):  # of too many elements inside each other
        assert isinstance(html_text(unit * 100_000), str)


def test_a_long_line_of_marked_up_letters_is_read_in_linear_time():
    def seconds(letters):
        return cpu_seconds(lambda: html_text("<pre>" + "<b>x</b>" * letters), calls=2)

    assert seconds(64_000) < 20 * seconds(8_000)


def test_a_page_of_thousands_of_elements_inside_each_other_is_an_error(file_of):
    assert html_text("<div>a" * 1_990).split() == ["a"] * 1_990
    with pytest.raises(DocumentError, match=r"a\.html: more than 2,000 elements of its HTML stand inside each other"):
        _ = file_of("a.html", "<b>a" * 3_000).text


MARKUP = (
    "<p> </p> <b> </b> <table> <tr> <td> <td\tcolspan=3> </td> </tr> </table> <br> <pre> </pre> <script> </script> "
    "<title> </title> <head> <body> <li> <img\tsrc=x\tonerror=y> <style> </style> <h1> </h1> <svg> < &lt; a &nbsp; 漢字"
)
PIECES = st.sampled_from([*MARKUP.split(" "), " ", "\n", "b c", "x\ty", "\u3000"])


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
    spans = [*_texts_of(html_outline(source, text))]
    assert all(start < end for start, end in spans)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    shown = "".join(text[start:end] for start, end in spans)
    assert "".join(shown.split()) == "".join(text.split())


def test_the_outline_keeps_elements_and_spans_of_cells_and_nothing_else():
    heading = "<title>T</title><h1 id=x>In<b onclick=y>voi</b>ce</h1>"
    source = f"{heading}<table><tr><td colspan=2 style=z>A</td></tr></table>"
    table = ["table", 1, 1, ["tr", 1, 1, ["td", 2, 1, [10, 11]]]]
    h1 = ["h1", 1, 1, [2, 4], ["b", 1, 1, [4, 7]], [7, 9]]
    assert html_outline(source, html_text(source)) == ["div", 1, 1, ["div", 1, 1, [0, 1]], h1, table]


@pytest.mark.parametrize(("given", "spans"), [("9" * 5_000, 100), ("0", 1), ("٣", 1), ("7", 7)])
def test_a_cell_spans_as_much_as_can_be_shown(given, spans):
    source = f"<table><tr><td colspan={given}>A</td></tr></table>"
    assert html_outline(source, "A")[3][3][3][:3] == ["td", spans, 1]


def test_a_page_with_too_many_elements_has_no_outline():
    source = "<b>x</b>" * 20_001
    assert html_outline(source, html_text(source)) is None


@pytest.mark.parametrize("levels", [1, 1_500])
def test_a_text_is_changed_however_deep_it_stands(levels):
    source = f"<title>T</title>a{'<div>' * levels}hello 12{'</div>' * levels}b"
    text = html_text(source)
    at = text.index("12")
    assert html_text(html_with(source, text, [(at, at + 2, "13")])) == text.replace("12", "13")
