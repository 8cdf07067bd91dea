"""Text, places and images of the pages of a PDF (extra `pdf`), and texts kept between runs.

A hostile PDF can make PDFium take any memory and time, or end the process. So each question about one goes to a process
of its own (`pdfium.py`), within limits.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pytest_extract.core.results import FailureKind
from pytest_extract.errors import ExtractError, StoreError
from pytest_extract.files import keep, read_kept

CPU_SECONDS: Final = 20
"""Processor time for a PDF; a page that is rendered adds SECONDS_PER_IMAGE."""
SECONDS_PER_IMAGE: Final = 2
MEMORY: Final = 1024**3
"""Bytes of memory for a PDF, besides four times its own size; only POSIX enforces it."""
_WALL_CLOCK: Final = 6
"""Seconds that may pass for each second of processor time, on a machine that does other things as well."""
_ENVIRONMENT: Final = ("PATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""Variables that a process may need to start; the others may hold keys."""
_OUT_OF_TIME: Final = -int(getattr(signal, "SIGXCPU", 24))
"""Status of a process that has used its processor time; Windows, which limits none, has no such status."""
_PROGRAM: Final = str(Path(__file__).with_name("pdfium.py"))

Span = tuple[int, int, int]
"""A part of the text of a PDF: its page (from 0), start and end in the text of that page."""


class Box(NamedTuple):
    """A rectangle on a page as it is shown: shares of its width and height in [0, 1], from the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


def box_around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around others, of which there is at least one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


class DocumentError(ExtractError):
    """A document, or what is asked of it, that cannot be had; `kind` is the failure that an extraction then has."""

    def __init__(self, message: str, *, kind: FailureKind = FailureKind.EXTRACTOR_ERROR) -> None:
        super().__init__(message)
        self.kind = kind


class PageImage(NamedTuple):
    """A page as an image, with its size in pixels."""

    data: bytes
    width: int
    height: int


def pdf_pages(data: bytes, name: str, *, max_pages: int, max_text: int) -> tuple[str, ...]:
    """Return the text of each page.

    Raises DocumentError: pypdfium2 is not installed, the file is broken or locked, or it is beyond a bound: `max_pages`
    pages, `max_text` characters, or the limits of the process (kind `page_limit`).
    """
    return tuple(ask_pdf("read_pages", data, name, max_pages=max_pages, max_text=max_text)[0])


def pdf_page_sizes(data: bytes, name: str) -> list[tuple[float, float]]:
    """Return width and height of each page in points. Raises DocumentError as `pdf_pages`."""
    return [(wide, high) for wide, high in ask_pdf("read_sizes", data, name)[0]]


def pdf_images(
    data: bytes, name: str, pages: Sequence[int], *, form: Literal["PNG", "WEBP"], width: int, most_bytes: int
) -> list[PageImage]:
    """Return pages (from 0) as images about `width` pixels wide, the first ones that take `most_bytes` together.

    Raises DocumentError as `pdf_pages`, for a page that the PDF does not have, and without Pillow.
    """
    arguments = {"pages": pages, "form": form, "width": width, "most_bytes": most_bytes}
    sizes, images = ask_pdf("read_images", data, name, images=len(pages), **arguments)
    file = io.BytesIO(images)
    return [PageImage(file.read(size), wide, high) for size, wide, high in sizes]


def page_png(data: bytes, name: str, page: int) -> bytes:
    """Return page number `page` (from 0) as a PNG. Raises DocumentError as `pdf_images`."""
    # an image of this width has some 3 million pixels at most
    return pdf_images(data, name, [page], form="PNG", width=1_000, most_bytes=100_000_000)[0].data


def ask_pdf(what: str, data: bytes, name: str, *, images: int = 0, **arguments: Any) -> tuple[Any, bytes]:
    """Let a process work on a PDF: its answer, and the bytes that belong to it; `images`: the pages it renders.

    what: a function of `pdfium`, which takes the arguments. Raises DocumentError as `pdf_pages`, and without Pillow
    where pages are rendered.
    """
    if find_spec("pypdfium2") is None:
        raise DocumentError(f"{name}: a PDF needs pypdfium2; install it: pip install 'pytest-extract[pdf]'")
    seconds = CPU_SECONDS + SECONDS_PER_IMAGE * images
    memory = MEMORY + 4 * len(data)
    question = {"what": what, "arguments": arguments, "seconds": seconds, "memory": memory}
    try:
        done = subprocess.run(  # noqa: S603 - ours; this environment's modules, and no start of `site`
            [sys.executable, "-S", "-P", _PROGRAM, *filter(None, sys.path)],
            input=json.dumps(question).encode("ascii") + b"\n" + data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={variable: value for variable, value in os.environ.items() if variable in _ENVIRONMENT},
            timeout=seconds * _WALL_CLOCK,
            start_new_session=True,  # Ctrl-C is for this process, which may have to finish what it has paid for
            check=False,
        )
        status, written = done.returncode, done.stdout
    except OSError as error:
        raise DocumentError(f"{name}: the process that reads PDFs cannot be started: {error}") from error
    except subprocess.TimeoutExpired:
        status, written = _OUT_OF_TIME, b""
    if status != 0:
        time_ = f"the {seconds} s of processor time that a PDF is given"
        room = f"the {memory // 1024**2:,} MB of memory that a PDF is given, or the file is damaged"
        message = f"{name}: the PDF cannot be read: that takes more than {time_ if status == _OUT_OF_TIME else room}"
        raise DocumentError(message, kind=FailureKind.PAGE_LIMIT)
    head, _, blob = written.partition(b"\n")
    answer = json.loads(head)
    if "error" in answer:
        raise DocumentError(f"{name}: {answer['error']}", kind=FailureKind(answer["kind"]))
    return answer["answer"], blob


# --- texts kept between runs, by the digest of the file: reading a long one takes half a second of CPU

VERSION: Final = 1
"""Changes whenever we make another text of what the reader gives."""
FOLDER: Final = "extract-texts"
"""Name of the folder in pytest's cache directory."""

_texts: Callable[[], Path] | None = None


def use_text_store(folder: Callable[[], Path] | None) -> None:
    """Keep the texts of PDFs from now on, in this process; None: keep none. Any of the files may be deleted.

    `folder` makes the folder and returns it; it is called for the first PDF, so that a run without one makes none.
    """
    global _texts  # noqa: PLW0603  # one folder a process, as pytest has one cache directory
    _texts = None if folder is None else cache(folder)


def reader_version() -> str:
    """Return the version of what reads PDFs; empty where it is not installed."""
    try:
        return version("pypdfium2")
    except PackageNotFoundError:
        return ""


def stored_pages(digest: str, read: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the stored pages of a PDF, or read and store them; where nothing can be written, nothing is stored."""
    if _texts is None:
        return read()
    path = _texts() / f"{digest}-{reader_version()}-{VERSION}.json"
    with suppress(StoreError):
        stored = read_kept(path, "text of a PDF", lambda pages: pages)
        if isinstance(stored, list) and all(isinstance(page, str) for page in stored):
            return tuple(stored)
    pages = read()
    keep(path, json.dumps(pages))
    return pages
