"""A page of a PDF as a PNG image, through pypdfium2."""

from __future__ import annotations

import struct
import zlib
from typing import Final

from pytest_extract.documents.pdf import open_pdf

MOST_PIXELS: Final = 12_000_000
"""Pixels of an image; a page that is larger at the wanted width is rendered smaller."""


def page_png(data: bytes, name: str, page: int, *, width: int = 1000) -> bytes:
    """Return page number `page` (from 0) as a PNG about `width` pixels wide. Raises DocumentError, IndexError."""
    with open_pdf(data, name) as document:
        if not 0 <= page < len(document):
            raise IndexError(page)
        sheet = document[page]
        wide, high = sheet.get_size()
        scale = min(width / max(wide, 1), (MOST_PIXELS / max(wide * high, 1)) ** 0.5)
        bitmap = sheet.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
        channels, stride = int(bitmap.n_channels), int(bitmap.stride)
        pixels = bytes(bitmap.buffer)
        size = int(bitmap.width), int(bitmap.height)
        bitmap.close()
        sheet.close()
    color_type = {1: 0, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + pixels[at : at + size[0] * channels] for at in range(0, size[1] * stride, stride))
    header = struct.pack(">IIBBBBB", *size, 8, color_type, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, 6)) + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
