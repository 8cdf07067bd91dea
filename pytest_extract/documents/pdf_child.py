"""The process that reads PDFs for another one, within limits of time and memory; `pdf` starts it."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from typing import IO, Any


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
        write_message(answers, *_answer(question, data))


def _answer(question: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    from pytest_extract.core.results import FailureKind
    from pytest_extract.documents import pdf_reader, pdf_writer
    from pytest_extract.documents.base import DocumentError

    _limit(question["seconds"], question["memory"])
    name = question["name"]
    try:
        work = getattr(pdf_reader, question["what"], None) or getattr(pdf_writer, question["what"])
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
