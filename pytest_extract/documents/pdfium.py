"""Reads and alters PDFs through pypdfium2: the program that `pdf` runs for each question, within limits.

It imports nothing of the package, so that it starts quickly. Question and answer are a line of JSON each, with bytes
behind it. Each function for one raises Unreadable.
"""

from __future__ import annotations

import ctypes
import io
import json
import math
import os
import re
import signal
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MAX_STREAM: Final = 32 * 1024 * 1024
"""Bytes that one stream of a PDF may unpack to, images apart: PDFium takes some 15 times as much memory for a page."""
_STREAM: Final = re.compile(rb"(<<[^\0]{0,2000}?>>)\s{0,2}stream\r?\n")
_LINE_END_HYPHEN: Final = "\x02"  # what PDFium makes of a hyphen at the end of a line, in place of the line break
MOST_PIXELS_A_WIDTH: Final = 3_000
"""Pixels of an image for each of its wanted width; a page of more is rendered smaller."""
MOST_SIDE: Final = 16_000
"""Pixels of a side of an image; WebP holds little more."""
_SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "PNG": {}, "WEBP": {"quality": 45, "method": 0}, "JPEG": {"quality": 75}
}  # fmt: skip

Answer: TypeAlias = tuple[Any, bytes]
"""An answer as JSON, and bytes beside it."""
Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom on a page as it is shown, as shares of its width and height."""


class Unreadable(Exception):
    """What is wrong with a PDF, or with what is asked of it; `kind` is a `FailureKind`."""

    def __init__(self, message: str, kind: str = "extractor_error") -> None:
        super().__init__(message)
        self.kind = kind


def answer_question() -> None:
    """Answer the question of the standard input. Ends before where time or memory is short."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a console; the other one decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    question = json.loads(sys.stdin.buffer.readline())
    _limit(question["seconds"], question["memory"])
    head: dict[str, Any]
    try:
        found, blob = globals()[question["what"]](sys.stdin.buffer.read(), **question["arguments"])
        head = {"answer": found}
    except Unreadable as error:
        head, blob = {"error": str(error), "kind": error.kind}, b""
    except MemoryError:
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - of libraries, about a file that anybody may have made
        wrong = f"is not a readable PDF: {type(error).__name__}: {error}"
        head, blob = {"error": wrong, "kind": "extractor_error"}, b""
    answers.write(json.dumps(head).encode("ascii") + b"\n" + blob)
    answers.flush()
    os._exit(0)  # PDFium has nothing to save, and may fail at the end on what it could read


def _limit(seconds: int, memory: int) -> None:
    """Limit this process."""
    if sys.platform == "win32":
        return
    import resource

    limits = (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),  # a PDF that ends this process leaves no file behind
    )
    for kind, wanted in limits:
        most = resource.getrlimit(kind)[1]
        soft = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        with suppress(OSError, ValueError):  # a system that does not know this limit
            resource.setrlimit(kind, (soft, most))


def read_pages(data: bytes, *, max_pages: int, max_text: int) -> Answer:
    """Return the text of each page."""
    pages: list[str] = []
    length = 0
    with open_pdf(data) as document:
        if len(document) > max_pages:
            message = f"the PDF has {len(document)} pages, more than the {max_pages} that are read"
            raise Unreadable(message, "page_limit")
        for page in document:
            pages.append(text_of_page(page.get_textpage()))
            page.close()
            length += len(pages[-1])
            if length > max_text:
                raise Unreadable(f"the text of page {len(pages)} passes {max_text} characters", "page_limit")
    return pages, b""


def read_sizes(data: bytes) -> Answer:
    """Return width and height of each page."""
    with open_pdf(data) as document:
        return [document[index].get_size() for index in range(len(document))], b""


def read_images(data: bytes, *, pages: Sequence[int], form: str, width: int, most_bytes: int) -> Answer:
    """Render pages as long as there is room: size in bytes, width and height of each, and their bytes."""
    sizes: list[tuple[int, int, int]] = []
    images: list[bytes] = []
    with open_pdf(data) as document:
        for number in pages:
            if not 0 <= number < len(document):
                raise Unreadable(f"the PDF has no page {number + 1}, its last is {len(document)}")
            page = document[number]
            wide, high = page.get_size()
            most = math.sqrt(MOST_PIXELS_A_WIDTH * width / max(wide * high, 1))  # of a page that would be too large
            image, size = _picture(page, min(width / max(wide, 1), most, MOST_SIDE / max(wide, high, 1)), form)
            page.close()
            most_bytes -= len(image)
            if most_bytes < 0:
                break
            images.append(image)
            sizes.append((len(image), *size))
    return sizes, b"".join(images)


def _picture(page: Any, scale: float, form: str) -> tuple[bytes, tuple[int, int]]:
    """Render a page; return the file and its size in pixels."""
    try:
        image = page.render(scale=scale).to_pil().convert("RGB")
    except ImportError:
        raise Unreadable("pages as images need Pillow; install it: pip install 'pytest-extract[pdf]'") from None
    file = io.BytesIO()
    image.save(file, form, **_SETTINGS[form])
    return file.getvalue(), image.size


@contextmanager
def open_pdf(data: bytes) -> Iterator[PdfDocument]:
    """Open a PDF. Raises Unreadable for one that cannot be read, or that is locked."""
    import pypdfium2

    _check_streams(data)
    try:
        with closing(pypdfium2.PdfDocument(data)) as document:
            yield document
    except pypdfium2.PdfiumError as error:
        is_locked = "password" in str(error).lower()
        wrong = "the PDF is locked by a password" if is_locked else f"is not a readable PDF: {error}"
        raise Unreadable(wrong) from error


def _check_streams(data: bytes) -> None:
    """Refuse a file of which a stream unpacks to far more than it should hold."""
    for stream in _STREAM.finditer(data):
        if b"FlateDecode" not in stream[1] or b"/Image" in stream[1]:
            continue
        unpacking = zlib.decompressobj()
        try:
            unpacked = unpacking.decompress(data[stream.end() : data.find(b"endstream", stream.end())], MAX_STREAM)
        except zlib.error:
            continue  # PDFium reads what it can of a damaged stream
        if len(unpacked) == MAX_STREAM:
            size = f"{MAX_STREAM // 1024 // 1024} MB"
            message = f"a stream of the PDF unpacks to more than the {size} that are read"
            raise Unreadable(message, "page_limit")


def text_of_page(text: Any) -> str:
    """Return the text of a page as people read it."""
    read: str = text.get_text_bounded()
    return read.replace("\r\n", "\n").replace(_LINE_END_HYPHEN, "-")


def read_boxes(data: bytes, *, spans: Sequence[tuple[int, int, int]]) -> Answer:
    """Return the boxes of each part of the text, given as page (from 0), start and end in the text of `read_pages`."""
    found: list[tuple[Box, ...]] = [()] * len(spans)
    with open_pdf(data) as document:
        for page, indices in _pages_of(document, spans):
            text = page.get_textpage()
            characters = character_numbers(text)
            for index in indices:
                inside = [at for at in characters[slice(*spans[index][1:])] if at is not None]
                if inside:
                    found[index] = _boxes(page, text, inside[0], inside[-1] + 1)
    return found, b""


def _pages_of(document: PdfDocument, spans: Sequence[tuple[int, int, int]]) -> Iterator[tuple[Any, list[int]]]:
    """Open each page that parts of the text stand on, with the indices of these; a page that is not there has none."""
    by_page: dict[int, list[int]] = defaultdict(list)
    for index, (number, _, _) in enumerate(spans):
        by_page[number].append(index)
    for number in by_page.keys() & range(len(document)):
        page = document[number]
        yield page, by_page[number]
        page.close()


def character_numbers(text: Any) -> list[int | None]:
    """Return PDFium's number of each character of a page's text; None for the white space.

    Both texts hold the same characters in the same order, but for white space. PDFium counts units of UTF-16.
    """
    units: list[int] = []
    count = 0
    for character in text.get_text_range():
        if not character.isspace():
            units.append(count)
        count += 1 + (ord(character) > 0xFFFF)
    at = iter(units)
    return [None if character.isspace() else next(at, None) for character in text_of_page(text)]


def _boxes(page: Any, text: Any, start: int, end: int) -> tuple[Box, ...]:
    """Return the boxes of a range of characters: PDFium's rectangles, those of one line joined."""
    boxes: list[Box] = []
    for index in range(text.count_rects(start, end - start)):
        box = _shown(page, text.get_rect(index))
        if boxes:
            shared = min(boxes[-1][3], box[3]) - max(boxes[-1][1], box[1])
            if shared > min(boxes[-1][3] - boxes[-1][1], box[3] - box[1]) / 2:  # it stands in the same line
                box = _box_around(boxes.pop(), box)
        boxes.append(box)
    return tuple(boxes)


def _box_around(*corners: Sequence[float]) -> Box:
    """Return the smallest box that holds points, or boxes."""
    across = [side for each in corners for side in each[::2]]
    down = [side for each in corners for side in each[1::2]]
    return min(across), min(down), max(across), max(down)


_PRECISION: Final = 1_000_000
"""Width and height, in pixels, of the page for which PDFium computes a place: it gives whole numbers."""


def _shown(page: Any, rectangle: tuple[float, float, float, float]) -> Box:
    """Convert (left, bottom, right, top) of the page's own coordinates: its rotation and cropping are applied."""
    from pypdfium2 import raw

    left, bottom, right, top = rectangle
    corners = []
    for x, y in ((left, top), (right, bottom)):
        across, down = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(page.raw, 0, 0, _PRECISION, _PRECISION, 0, x, y, across, down)
        corners.append((min(max(across.value / _PRECISION, 0), 1), min(max(down.value / _PRECISION, 0), 1)))
    return _box_around(*corners)


_MARGIN: Final = 2.0
"""Points by which a cover is larger than the box of a character, whose ink in a scan may stand outside."""
_NEW_DATE: Final = re.compile(rb"(?<=/CreationDate\(D:)\d{14}(?=[^()]*\)/Creator\(PDFium\))")
_NO_DATE: Final = b"20000101000000"
_NEW_ID: Final = re.compile(rb"<[0-9A-F]{32}>(?=\]>>\s+startxref\s+\d+\s+%%EOF\s*\Z)")
_NO_ID: Final = b"<" + b"0" * 32 + b">"


def write_pages(data: bytes, *, order: Sequence[int]) -> Answer:
    """Put the pages into another order."""
    import pypdfium2

    with open_pdf(data) as document:
        new = pypdfium2.PdfDocument.new()
        new.import_pages(document, pages=list(order))
        return None, _saved(new)


def write_scan(data: bytes, *, dpi: int) -> Answer:
    """Make each page a picture."""
    import pypdfium2

    with open_pdf(data) as document:
        new = pypdfium2.PdfDocument.new()
        for page in document:
            wide, high = page.get_size()
            image = pypdfium2.PdfImage.new(new)
            image.load_jpeg(io.BytesIO(_picture(page, dpi / 72, "JPEG")[0]))
            image.set_matrix(pypdfium2.PdfMatrix().scale(wide, high))
            picture = new.new_page(wide, high)
            picture.insert_obj(image)
            picture.gen_content()
            page.close()
        return None, _saved(new)


def write_without(data: bytes, *, spans: Sequence[tuple[int, int, int]]) -> Answer:
    """Take parts of the text away, given as page (from 0), start and end in the text of `read_pages`.

    A text object that holds such a part is replaced by objects for what is left of it, in the same font and place.
    Where the page shows a picture, as a scan does, the part is covered with white.
    """
    with open_pdf(data) as document:
        for page, indices in _pages_of(document, spans):
            _take_away(document, page, [spans[index][1:] for index in indices])
        return None, _saved(document)


def _take_away(document: PdfDocument, page: Any, parts: Sequence[tuple[int, int]]) -> None:
    from pypdfium2 import raw

    text = page.get_textpage()
    numbers = character_numbers(text)
    taken = {at for start, end in parts for at in numbers[start:end] if at is not None}
    objects: dict[int, tuple[Any, list[int]]] = {}
    for at in range(text.count_chars()):
        held = raw.FPDFText_GetTextObject(text.raw, at)
        if held:
            objects.setdefault(ctypes.addressof(held.contents), (held, []))[1].append(at)
    gone = [(held, inside) for held, inside in objects.values() if taken & {*inside}]
    left = [
        _text_object(document, text, held, run)
        for held, inside in gone
        for run in _runs([at for at in inside if at not in taken])
    ]
    boxes = [box for at in taken if (box := text.get_charbox(at)) is not None]
    for held, _ in gone:
        if not raw.FPDFPage_RemoveObject(page.raw, held):
            raise Unreadable("the text stands in a part of the PDF that cannot be changed")
        raw.FPDFPageObj_Destroy(held)
    for new in left:
        raw.FPDFPage_InsertObject(page.raw, new)
    if any(each.type == raw.FPDF_PAGEOBJ_IMAGE for each in page.get_objects()):
        for x, bottom, right, top in boxes:
            wide, high = right - x + 2 * _MARGIN, top - bottom + 2 * _MARGIN
            cover = raw.FPDFPageObj_CreateNewRect(x - _MARGIN, bottom - _MARGIN, wide, high)
            raw.FPDFPageObj_SetFillColor(cover, 255, 255, 255, 255)
            raw.FPDFPath_SetDrawMode(cover, raw.FPDF_FILLMODE_ALTERNATE, 0)
            raw.FPDFPage_InsertObject(page.raw, cover)
    text.close()
    page.gen_content()


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Cut numbers into runs without a gap."""
    runs = groupby(enumerate(numbers), lambda place: place[1] - place[0])
    return [[number for _, number in run] for _, run in runs]


def _text_object(document: PdfDocument, text: Any, held: Any, run: Sequence[int]) -> Any:
    """Return a text object for some characters of another one, in its font, color and place."""
    from pypdfium2 import raw

    size = ctypes.c_float()
    raw.FPDFTextObj_GetFontSize(held, size)
    new = raw.FPDFPageObj_CreateTextObj(document.raw, raw.FPDFTextObj_GetFont(held), size)
    units = [raw.FPDFText_GetUnicode(text.raw, at) for at in run]
    characters = (ctypes.c_ushort * (len(units) + 1))(*units, 0)
    raw.FPDFText_SetText(new, characters)
    matrix = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(held, matrix)
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(text.raw, run[0], x, y)
    matrix.e, matrix.f = x.value, y.value
    raw.FPDFPageObj_SetMatrix(new, matrix)
    color = [ctypes.c_uint() for _ in range(4)]
    if raw.FPDFPageObj_GetFillColor(held, *color):
        raw.FPDFPageObj_SetFillColor(new, *color)
    raw.FPDFTextObj_SetTextRenderMode(new, raw.FPDFTextObj_GetTextRenderMode(held))
    return new


def _saved(document: PdfDocument) -> bytes:
    """Return the bytes of a document, the same each time: PDFium writes a random id, and the time where it is new."""
    file = io.BytesIO()
    document.save(file)
    data = _NEW_DATE.sub(_NO_DATE, file.getvalue())
    given = _NEW_ID.search(data)
    return data if given is None else data.replace(given[0], _NO_ID)  # a new document has it twice


if __name__ == "__main__":
    sys.path += sys.argv[1:]
    answer_question()
