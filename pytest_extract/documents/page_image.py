"""A page of a PDF as a PNG image, through pypdfium2 and Pillow (extra `pdf`)."""

from __future__ import annotations

import io
from typing import Final

from pytest_extract.documents.errors import DocumentError
from pytest_extract.documents.pdf import open_pdf

MOST_PIXELS: Final = 12_000_000
"""Pixels of an image; a page that is larger at the wanted width is rendered smaller."""


def page_png(data: bytes, name: str, page: int, *, width: int = 1000) -> bytes:
    """Return page number `page` (from 0) as a PNG about `width` pixels wide. Raises DocumentError, IndexError."""
    try:
        import PIL.Image  # noqa: F401  # pypdfium2 makes images by it
    except ImportError:
        raise DocumentError("pages as images need Pillow; install it: pip install 'pytest-extract[pdf]'") from None
    with open_pdf(data, name) as document:
        if not 0 <= page < len(document):
            raise IndexError(page)
        sheet = document[page]
        wide, high = sheet.get_size()
        scale = min(width / max(wide, 1), (MOST_PIXELS / max(wide * high, 1)) ** 0.5)
        text = io.BytesIO()
        sheet.render(scale=scale).to_pil().save(text, format="PNG")
        return text.getvalue()
