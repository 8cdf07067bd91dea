"""A page of a PDF as a PNG image (extra `pdf`)."""

from __future__ import annotations

from typing import Final

from pytest_extract.documents.errors import DocumentError
from pytest_extract.documents.pdf import pdf_images

_MOST_BYTES: Final = 100_000_000


def page_png(data: bytes, name: str, page: int, *, width: int = 1_000) -> bytes:
    """Return page number `page` (from 0) as a PNG about `width` pixels wide. Raises DocumentError as `pdf_images`."""
    images = pdf_images(data, name, [page], form="PNG", width=width, most_bytes=_MOST_BYTES)
    if not images:
        raise DocumentError(f"{name}: the image of page {page + 1} takes more than {_MOST_BYTES:,} bytes")
    return images[0].data
