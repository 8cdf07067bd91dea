"""Writes altered PDFs through pypdfium2, for `pdf`, in a process with limits (`pdf_child`); raises DocumentError."""

from __future__ import annotations

import ctypes
import io
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from pytest_extract.documents.base import DocumentError
from pytest_extract.documents.pdf_reader import Answer, character_numbers, open_pdf, text_of_page

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument


_MARGIN: Final = 2.0
"""Points by which a cover is larger than the box of a character, whose ink in a scan may stand outside."""
_NEW_DATE: Final = re.compile(rb"(?<=/CreationDate\(D:)\d{14}(?=[^()]*\)/Creator\(PDFium\))")
_NO_DATE: Final = b"20000101000000"
_NEW_ID: Final = re.compile(rb"<[0-9A-F]{32}>(?=\]>>\s+startxref\s+\d+\s+%%EOF\s*\Z)")
_NO_ID: Final = b"<" + b"0" * 32 + b">"


def write_pages(data: bytes, name: str, *, order: Sequence[int]) -> Answer:
    """Put the pages into another order."""
    import pypdfium2

    with open_pdf(data, name) as document:
        new = pypdfium2.PdfDocument.new()
        new.import_pages(document, pages=list(order))
        return None, _saved(new)


def write_scan(data: bytes, name: str, *, dpi: int) -> Answer:
    """Make each page a picture."""
    import pypdfium2

    with open_pdf(data, name) as document:
        new = pypdfium2.PdfDocument.new()
        for page in document:
            wide, high = page.get_size()
            file = io.BytesIO()
            page.render(scale=dpi / 72).to_pil().convert("RGB").save(file, "JPEG", quality=75)
            image = pypdfium2.PdfImage.new(new)
            image.load_jpeg(file)
            image.set_matrix(pypdfium2.PdfMatrix().scale(wide, high))
            picture = new.new_page(wide, high)
            picture.insert_obj(image)
            picture.gen_content()
            page.close()
        return None, _saved(new)


def write_without(data: bytes, name: str, *, spans: Sequence[tuple[int, int, int]]) -> Answer:
    """Take parts of the text away, given as page (from 0), start and end in the text of `read_pages`.

    A text object that holds such a part is replaced by objects for what is left of it, in the same font and place.
    Where the page shows a picture, as a scan does, the part is covered with white.
    """
    by_page: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, start, end in spans:
        by_page[number].append((start, end))
    with open_pdf(data, name) as document:
        for number, parts in by_page.items():
            page = document[number]
            _take_away(document, page, parts, name)
            page.close()
        return None, _saved(document)


def _take_away(document: PdfDocument, page: Any, parts: Sequence[tuple[int, int]], name: str) -> None:
    from pypdfium2 import raw

    text = page.get_textpage()
    numbers = character_numbers(text_of_page(text), text)
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
            raise DocumentError(f"{name}: the text stands in a part of the PDF that cannot be changed")
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
