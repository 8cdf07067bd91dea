"""The review as a page on this machine: a server on 127.0.0.1 that answers whoever knows its address, and nobody else.

The address holds a random token. Another host name (DNS rebinding), another origin or a missing token gets an empty 403
or 404. Nothing but the review is served, nothing is fetched, and scripts other than the page's own do not run.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from pytest_extract.cases.edit import Candidate, read_gold
from pytest_extract.core.schema.tree import Schema
from pytest_extract.core.values import MISSING, Json
from pytest_extract.documents import Document, DocumentError
from pytest_extract.documents.evidence import find_evidence
from pytest_extract.errors import ExtractError
from pytest_extract.golds.review import ACTIONS, Reviewer, ReviewItem, gold_values, read_typed, row_text
from pytest_extract.report.lines import show

MOST_BODY: Final = 10_000_000
"""Bytes of a request's body."""
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Images that are shown as they are; others, such as SVG, may hold scripts."""
WIDEST_VALUE: Final = 4_000
MOST_FOUND: Final = 200
_SINGLE: Final = ("Host", "Origin", "Sec-Fetch-Site", "Content-Length", "Content-Type")
"""Headers of which a request has one at most: of two, a proxy may have read the other."""


class ReviewServer(ThreadingHTTPServer):
    """Serves one review; `address` is what the reviewer opens. One decision is written at a time."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, reviewer: Reviewer, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.reviewer = reviewer
        self.token = secrets.token_urlsafe(24)
        self.lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that the other side has closed."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """URL of the page, with its token."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    server_version = "review"
    sys_version = ""
    timeout = 60

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Write no log: an address holds the token."""

    def do_GET(self) -> None:
        rest = self._allowed()
        if rest is None:
            return
        what, *numbers = rest.split("/")
        try:
            if rest == "":
                self._page()
            elif what == "page" and len(numbers) == 2:
                self._image(*map(int, numbers))
            else:
                self._refuse(HTTPStatus.NOT_FOUND)
        except (ValueError, IndexError, ExtractError):
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        rest = self._allowed()
        if rest is None:
            return
        length = self.headers.get("Content-Length", "")
        is_json = self.headers.get("Content-Type", "").partition(";")[0].strip() == "application/json"
        if rest not in ANSWERS or not is_json or not length.isdecimal() or int(length) > MOST_BODY:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        try:
            asked, reviewer = json.loads(self.rfile.read(int(length))), self.server.reviewer
            if type(asked["index"]) is not int or asked["index"] < 0:
                raise ValueError(asked["index"])  # noqa: TRY301
            with self.server.lock:
                answer = ANSWERS[rest](reviewer, reviewer.items[asked["index"]], asked)
        except ExtractError as error:
            self._send(HTTPStatus.CONFLICT, "text/plain; charset=utf-8", str(error).encode("utf-8", "backslashreplace"))
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST)
        else:
            self._send(HTTPStatus.OK, "application/json", json.dumps(answer).encode("ascii"))

    def _allowed(self) -> str | None:
        """Return what a request asks for behind the token; None where it was refused."""
        if any(len(self.headers.get_all(name, ())) > 1 for name in _SINGLE):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return None
        hosts = {f"{host}:{self.server.server_port}" for host in ("127.0.0.1", "localhost")}
        origin = self.headers.get("Origin")
        site = self.headers.get("Sec-Fetch-Site", "none")
        own = origin is None or origin in {f"http://{host}" for host in hosts}
        if self.headers.get("Host") not in hosts or not own or site not in ("same-origin", "none"):
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        token, slash, rest = self.path.removeprefix("/").partition("?")[0].partition("/")
        if not slash or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        return rest

    def _page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        text = files("pytest_extract.golds").joinpath("review_page.html").read_text(encoding="utf-8")
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        body = text.replace("{{nonce}}", nonce).encode("utf-8")
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", body, {"Content-Security-Policy": policy})

    def _image(self, index: int, page: int) -> None:
        document = self.server.reviewer.items[index].case.document
        if document.media_type in IMAGES:
            self._send(HTTPStatus.OK, document.media_type, document.bytes)
            return
        if document.media_type != "application/pdf":
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        from pytest_extract.documents.pdf import page_png

        self._send(HTTPStatus.OK, "image/png", page_png(document.bytes, str(document.path), page))

    def _refuse(self, status: HTTPStatus) -> None:
        self._send(status, "text/plain; charset=utf-8", b"")

    def _send(self, status: HTTPStatus, kind: str, body: bytes, further: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
            **(further or {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def item_record(reviewer: Reviewer, item: ReviewItem, asked: Json) -> Json:
    """Return what the page shows of one item, and what there is to decide: case, field and decision of each item."""
    document = item.case.document
    kind = "pdf" if document.media_type == "application/pdf" else "image" if document.media_type in IMAGES else "text"
    candidates = [_candidate_record(document, candidate) for candidate in item.candidates]
    pages, problem = 1, ""
    try:
        if kind == "text":
            pages = len(document.pages)
        elif kind == "pdf":
            from pytest_extract.documents.pdf import pdf_page_sizes

            pages = document.once("number of pages", lambda: len(pdf_page_sizes(document.bytes, str(document.path))))
    except DocumentError as error:
        pages, problem = 0, str(error)
    return {
        "items": [{"case": each.name, "field": each.field, "done": each.done} for each in reviewer.items],
        "index": asked["index"],
        "title": item.title,
        "why": item.why,
        "done": item.done,
        "rest": item.is_rest,
        "description": Schema(item.case.schema).description(item.path),
        "row": row_text(read_gold(item.case), item.path),
        "gold": [
            {"path": str(line.path), "text": show(line.value, WIDEST_VALUE), "state": line.state, "item": line.item}
            for line in gold_values(reviewer, item)
        ],
        "kind": kind,
        "page": next((each["location"]["page"] for each in candidates if each["location"]), 0),
        "pages": pages,
        "problem": problem,
        "candidates": candidates,
    }


def place_of_line(reviewer: Reviewer, item: ReviewItem, asked: Json) -> Json:
    """Return where a value of the gold stands."""
    return _location(item.case.document, gold_values(reviewer, item)[asked["line"]].value)


def find_text(_reviewer: Reviewer, item: ReviewItem, asked: Json) -> Json:
    """Return where a text stands in a document, in any case and with any white space. Raises DocumentError."""
    document, words = item.case.document, asked["text"].split()
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    spans = (
        (page, found.start(), found.end())
        for page, content in enumerate(document.pages)
        for found in pattern.finditer(content)
    )
    return _places(document, [*islice(spans, MOST_FOUND)]) if words else []


def _candidate_record(document: Document, candidate: Candidate) -> dict[str, Json]:
    absent = candidate.value is MISSING
    return {
        "text": "(absent)" if absent else show(candidate.value, WIDEST_VALUE),
        "json": "" if absent else json.dumps(candidate.value, ensure_ascii=False),
        "sources": [*candidate.sources],
        "evidence": candidate.evidence,
        "location": None if absent else _location(document, candidate.value),
    }


def _location(document: Document, value: Json) -> dict[str, Json] | None:
    """Return where a value stands first; of a row, its first value that stands somewhere."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    with suppress(DocumentError):  # an image, a scan
        for leaf in inside:
            evidence = find_evidence(document, leaf, most=1, nearest=False)
            if evidence is not None and evidence.found:
                place = evidence.locations[0]
                return _places(document, [((place.page or 1) - 1, place.start, place.end)])[0]
    return None


def _places(document: Document, spans: Sequence[tuple[int, int, int]]) -> list[dict[str, Json]]:
    """Return parts of the text of pages with their boxes on them."""
    return [
        {"page": page, "start": start, "end": end, "boxes": [[*box] for box in boxes]}
        for (page, start, end), boxes in zip(spans, document.boxes(spans), strict=True)
    ]


def undo_decision(reviewer: Reviewer, _item: ReviewItem, _asked: Json) -> Json:
    """Take the last decision back. Raises ExtractError where that is impossible."""
    item = reviewer.undo()
    number = next(index for index, each in enumerate(reviewer.items) if each is item)
    return {"done": f"{item.title}: open again", "next": number}


def write_decision(reviewer: Reviewer, item: ReviewItem, asked: Json) -> Json:
    """Write the decision that the page asks for; return what was done and the next open item.

    Raises ExtractError for a decision that cannot be written, LookupError, TypeError or ValueError for no decision.
    """
    action, choice, index = asked["action"], asked.get("choice", 0), asked["index"]
    if action not in ACTIONS or type(choice) is not int:
        raise ValueError(action, choice)
    value = read_typed(asked["text"], item.case, item.path, read_gold(item.case)) if action == "edit" else None
    done = reviewer.decide(item, action, choice=choice, value=value)
    order = [*range(index + 1, len(reviewer.items)), *range(index)]
    following = next((each for each in order if not reviewer.items[each].done), index)
    return {"done": f"{item.title}: {done}", "next": following}


def ask_about(reviewer: Reviewer, item: ReviewItem, asked: Json) -> Json:
    """Make a value of the gold a question of its own, that a reviewer has asked. Raises as `write_decision`."""
    line = gold_values(reviewer, item)[asked["line"]]
    if line.item is not None:
        return {"done": "", "next": line.item}
    candidates = (Candidate(value=line.value, sources=("gold",)),)
    reviewer.items.append(ReviewItem(item.case, line.path, "asked by the reviewer", candidates))
    return {"done": "", "next": len(reviewer.items) - 1}


ANSWERS: Final[Mapping[str, Callable[[Reviewer, ReviewItem, Json], Json]]] = MappingProxyType(
    {
        "item": item_record,
        "text": lambda _reviewer, item, asked: item.case.document.pages[asked["page"]],  # DocumentError of a scan
        "find": find_text,
        "place": place_of_line,
        "decide": write_decision,
        "undo": undo_decision,
        "question": ask_about,
    }
)
"""What the page may ask for, by the last part of the address."""
