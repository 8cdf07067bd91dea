"""Text, places and images of the pages of a PDF (extra `pdf`), and texts kept between runs.

A hostile PDF can make PDFium take any memory and time, or end the process. So a child process reads all PDFs, within
limits. It starts with the first PDF and serves many, one at a time: PDFium is not safe to call from several threads.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final, Literal, NamedTuple

from pytest_extract.core.results import FailureKind
from pytest_extract.documents.base import Box, DocumentError
from pytest_extract.errors import NotWritten
from pytest_extract.files import read_regular_text, write_atomic

CPU_SECONDS: Final = 20
"""Processor time for a PDF; a page that is rendered adds SECONDS_PER_IMAGE."""
SECONDS_PER_IMAGE: Final = 2
MEMORY: Final = 1024**3
"""Bytes of memory for a PDF, besides four times its own size; only POSIX enforces it."""
_WALL_CLOCK: Final = 6
"""Seconds that may pass for each second of processor time, on a machine that does other things as well."""
_MOST_READ: Final = 100
"""PDFs that one child reads: what one leaves in its memory must not count for the next for ever."""
_START: Final = """
import sys
sys.path += sys.argv[1:]
from pytest_extract.documents.pdf import answer_questions
answer_questions()
"""


class PageImage(NamedTuple):
    """A page as an image, with its size in pixels."""

    data: bytes
    width: int
    height: int


def pdf_pages(data: bytes, name: str, *, max_pages: int, max_text: int) -> tuple[str, ...]:
    """Return the text of each page.

    Raises DocumentError: pypdfium2 is not installed, the file is broken or locked, or it is beyond a bound: `max_pages`
    pages, `max_text` characters, or the limits of the child (kind `page_limit`).
    """
    answer, _ = _ask("read_pages", data, name, max_pages=max_pages, max_text=max_text)
    return tuple(answer)


def pdf_page_sizes(data: bytes, name: str) -> list[tuple[float, float]]:
    """Return width and height of each page in points. Raises DocumentError as `pdf_pages`."""
    answer, _ = _ask("read_sizes", data, name)
    return [(wide, high) for wide, high in answer]


def pdf_boxes(data: bytes, name: str, spans: Sequence[tuple[int, int, int]]) -> list[tuple[Box, ...]]:
    """Return the boxes of each part of the text, given as page (from 0), start and end in the text of `pdf_pages`.

    Raises DocumentError as `pdf_pages`. A part that the page does not have has no boxes.
    """
    answer, _ = _ask("read_boxes", data, name, spans=spans)
    return [tuple(Box(*box) for box in found) for found in answer]


def pdf_images(
    data: bytes, name: str, pages: Sequence[int], *, form: Literal["PNG", "WEBP"], width: int, most_bytes: int
) -> list[PageImage]:
    """Return pages (from 0) as images about `width` pixels wide, the first ones that take `most_bytes` together.

    Raises DocumentError as `pdf_pages`, for a page that the PDF does not have, and without Pillow.
    """
    seconds = CPU_SECONDS + SECONDS_PER_IMAGE * len(pages)
    answer, images = _ask(
        "read_images", data, name, seconds, pages=list(pages), form=form, width=width, most_bytes=most_bytes
    )
    file = io.BytesIO(images)
    return [PageImage(file.read(size), wide, high) for size, wide, high in answer]


def pdf_without(data: bytes, name: str, spans: Sequence[tuple[int, int, int]]) -> bytes:
    """Return a PDF without some parts of its text, given as in `pdf_boxes`. Raises DocumentError as `pdf_pages`."""
    return _ask("write_without", data, name, spans=spans)[1]


def pdf_with_pages(data: bytes, name: str, order: Sequence[int]) -> bytes:
    """Return a PDF with its pages (from 0) in another order. Raises DocumentError as `pdf_pages`."""
    return _ask("write_pages", data, name, order=order)[1]


def pdf_scanned(data: bytes, name: str, *, dpi: int) -> bytes:
    """Return a PDF whose pages are pictures. Raises DocumentError as `pdf_pages`, and without Pillow."""
    if find_spec("PIL") is None:
        raise DocumentError("pages as images need Pillow; install it: pip install 'pytest-extract[pdf]'")
    seconds = CPU_SECONDS + SECONDS_PER_IMAGE * len(pdf_page_sizes(data, name))
    return _ask("write_scan", data, name, seconds, dpi=dpi)[1]


def reader_version() -> str:
    """Return the version of what reads PDFs; empty where it is not installed."""
    try:
        return version("pypdfium2")
    except PackageNotFoundError:
        return ""


def _ask(what: str, data: bytes, name: str, seconds: int = CPU_SECONDS, **arguments: Any) -> tuple[Any, bytes]:
    """Let the child read a PDF: its answer, and the bytes that belong to it."""
    if find_spec("pypdfium2") is None:
        message = f"{name}: the text of a PDF needs pypdfium2; install it: pip install 'pytest-extract[pdf]'"
        raise DocumentError(message)
    memory = MEMORY + 4 * len(data)
    question = {"what": what, "name": name, "arguments": arguments, "seconds": seconds, "memory": memory}
    with _lock:
        answer, blob = _answer(question, data, seconds * _WALL_CLOCK)
    if "error" in answer:
        raise DocumentError(answer["error"], kind=FailureKind(answer["kind"]))
    return answer["answer"], blob


def _answer(question: dict[str, Any], data: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
    global _child  # noqa: PLW0603  # one child a process
    while True:
        if _child is None or not _child.is_usable():
            stop_child()
            try:
                _child = _Child()
            except OSError as error:
                raise DocumentError(f"the process that reads PDFs cannot be started: {error}") from error
        child = _child
        try:
            return child.ask(question, data, seconds)
        except ChildEnded:
            stop_child()
            if child.ended_in_time() and child.asked > 1:
                continue  # memory may have been short because of the PDFs before this one
            why = f"the {question['seconds']} s of processor time that a PDF is given"
            if child.ended_in_time():
                room = f"{question['memory'] // 1024**2:,} MB of memory"
                why = f"the {room} that a PDF is given, or the file is damaged"
            message = f"{question['name']}: the PDF cannot be read: that takes more than {why}"
            raise DocumentError(message, kind=FailureKind.PAGE_LIMIT) from None
        except BaseException:  # such as Ctrl-C: what the child answers now belongs to no question
            stop_child()
            raise


class _Child:
    """A process that reads PDFs (`answer_questions`)."""

    def __init__(self) -> None:
        self.asked = 0
        self._of = os.getpid()
        self._timed_out = False
        self._process = subprocess.Popen(  # noqa: S603 - this Python; `-P` keeps the current folder's modules out
            [sys.executable, "-P", "-c", _START, *filter(None, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def is_usable(self) -> bool:
        """Whether it may read another PDF; a fork of this process must not share it."""
        return self._of == os.getpid() and self.asked < _MOST_READ

    def ask(self, question: dict[str, Any], data: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
        """Return its answer. Raises ChildEnded if it ended, or had to be ended after some seconds."""
        self.asked += 1
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        timer = threading.Timer(seconds, self._end_late)
        timer.daemon = True
        timer.start()
        try:
            write_message(self._process.stdin, question, data)
            return read_message(self._process.stdout)
        except OSError:
            raise ChildEnded from None
        finally:
            timer.cancel()

    def _end_late(self) -> None:
        self._timed_out = True
        self._process.kill()

    def stop(self) -> None:
        """End it, unless it belongs to the process that this one was forked from."""
        if self._of == os.getpid():
            self._process.kill()
            self._process.communicate()

    def ended_in_time(self) -> bool:
        """Whether it ended before its time was over."""
        return not self._timed_out and self._process.returncode != _OUT_OF_TIME


_OUT_OF_TIME: Final = -int(getattr(signal, "SIGXCPU", 0)) or None
_lock: Final = threading.Lock()
_child: _Child | None = None


def stop_child() -> None:
    """End the process that reads PDFs, if there is one; the next PDF starts another."""
    global _child  # noqa: PLW0603  # one child a process
    if _child is not None:
        _child.stop()
        _child = None


atexit.register(stop_child)


_MOST_BYTES: Final = 100_000_000


def page_png(data: bytes, name: str, page: int, *, width: int = 1_000) -> bytes:
    """Return page number `page` (from 0) as a PNG about `width` pixels wide. Raises DocumentError as `pdf_images`."""
    images = pdf_images(data, name, [page], form="PNG", width=width, most_bytes=_MOST_BYTES)
    if not images:
        raise DocumentError(f"{name}: the image of page {page + 1} takes more than {_MOST_BYTES:,} bytes")
    return images[0].data


# --- the process that reads PDFs


class ChildEnded(Exception):
    """The other process ended."""


def write_message(to: IO[bytes], head: dict[str, Any], data: bytes) -> None:
    """Write a message: a line of JSON with the number of bytes that follow it."""
    to.write(json.dumps({**head, "bytes": len(data)}).encode("ascii") + b"\n" + data)
    to.flush()


def read_message(source: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Read a message. Raises ChildEnded at the end of the stream."""
    line = source.readline()
    if not line.endswith(b"\n"):
        raise ChildEnded
    head = json.loads(line)
    data = source.read(head["bytes"])
    if len(data) < head["bytes"]:
        raise ChildEnded
    return head, data


def answer_questions() -> None:
    """Answer questions until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the other one decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever a library prints is no answer
    while True:
        try:
            question, data = read_message(sys.stdin.buffer)
        except ChildEnded:
            return
        write_message(answers, *_work(question, data))


def _work(question: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    from pytest_extract.documents import pdfium

    _limit(question["seconds"], question["memory"])
    name = question["name"]
    try:
        work = getattr(pdfium, question["what"])
        found, blob = work(data, name, **question["arguments"])
    except DocumentError as error:
        return {"error": str(error), "kind": error.kind}, b""
    except MemoryError:
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - of libraries, about a file that anybody may have made
        wrong = f"{name}: is not a readable PDF: {type(error).__name__}: {error}"
        return {"error": wrong, "kind": FailureKind.EXTRACTOR_ERROR}, b""
    return {"answer": found}, blob


def _limit(seconds: int, memory: int) -> None:
    """Limit this process from now on: the seconds come on top of those that it has used."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = (
        (resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),  # a PDF that ends this process leaves no file behind
    )
    for kind, wanted in limits:
        most = resource.getrlimit(kind)[1]
        soft = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        with suppress(OSError, ValueError):  # a system that does not know this limit
            resource.setrlimit(kind, (soft, most))


# --- texts kept between runs, by the digest of the file: reading a long one takes half a second of CPU

VERSION: Final = 1
"""Changes whenever we make another text of what the reader gives."""
MOST_STORED_BYTES: Final = 500_000_000
"""Size of the folder from which on the texts that were not used for longest are removed."""
FOLDER: Final = "extract-texts"
"""Name of the folder in pytest's cache directory."""


_texts: Callable[[], Path] | None = None


def use_text_store(folder: Callable[[], Path] | None) -> None:
    """Keep the texts of PDFs from now on, in this process; None: keep none. Any of the files may be deleted.

    `folder` makes the folder and returns it; it is called for the first PDF, so that a run without one makes none.
    """
    global _texts  # noqa: PLW0603  # one folder a process, as pytest has one cache directory
    _texts = None if folder is None else cache(folder)


def stored_pages(key: str, read: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the stored pages of a PDF, or read and store them; where nothing can be written, nothing is stored.

    `key`: the digest of the PDF with the version of what reads it.
    """
    if _texts is None:
        return read()
    path = _texts() / f"{key}-{VERSION}.json"
    with suppress(OSError, ValueError):
        stored = json.loads(read_regular_text(path))
        if isinstance(stored, list) and all(isinstance(page, str) for page in stored):
            with suppress(OSError):  # a read-only folder still gives texts
                os.utime(path)  # its last use
            return tuple(stored)
    pages = read()
    with suppress(NotWritten, OSError):
        write_atomic(path, json.dumps(pages))
        _remove_oldest(path.parent)
    return pages


@cache
def _remove_oldest(folder: Path) -> None:
    """Remove texts beyond MOST_STORED_BYTES, once a process."""
    files = sorted((found.stat().st_mtime, found.stat().st_size, found) for found in folder.glob("*.json"))
    size = sum(each for _, each, _ in files)
    for used, own, path in files:
        if size <= MOST_STORED_BYTES or used > time.time() - 60:
            break
        path.unlink(missing_ok=True)
        size -= own
