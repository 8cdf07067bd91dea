"""A local server that speaks OpenAI's chat completions, scripted by each test; nothing leaves the machine.

    with LlmServer() as server:                       # or the fixture `llm_server` (import it into the test file)
        server.say(rate_limited(0), answer('{"a": 1}'))   # one reply a request, in this order ...
        server.otherwise = lambda body: answer(...)       # ... then this one for every further request
        monkeypatch.setenv("OPENAI_API_BASE", server.url) # `server.env` holds all variables that litellm reads
        ...
        server.bodies[0]["messages"]                      # what was asked, in order of arrival
        server.gather = 3                                 # hold every reply until 3 requests were open at once
        server.most_in_flight                             # the largest number of requests that were open at once

`otherwise` is a `Reply`, or a function from the request's JSON body to one.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import pytest

MODEL = "openai/test-model"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server sends back: a status, a body (JSON, raw text or bytes), headers, after `delay` seconds.

    `drip` seconds pass before each of the body's bytes. Of the body only the first `cut` bytes are sent before the
    connection closes; `silent` closes it without any.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    cut: int | None = None
    silent: bool = False


def answer(
    text: str | None, *, finish_reason: str = "stop", tokens: tuple[int, int] = (11, 7), **message: Any
) -> Reply:
    """Return a normal completion; further keywords go into the message (`refusal="..."`)."""
    said = {"role": "assistant", "content": text, **message}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "test-model", "usage": usage}
    return Reply(body={**head, "choices": [{"index": 0, "finish_reason": finish_reason, "message": said}]})


def empty() -> Reply:
    return answer("")


def truncated(text: str) -> Reply:
    return answer(text, finish_reason="length")


def refused(why: str = "I cannot help with that.") -> Reply:
    return answer(None, refusal=why)


def filtered() -> Reply:
    return answer("", finish_reason="content_filter")


def failed(status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an error in OpenAI's form."""
    error = {"message": message, "type": "error", "param": None, "code": code}
    return Reply(status=status, body={"error": error}, headers=headers or {})


def rate_limited(retry_after: float | None = None) -> Reply:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return failed(429, "Rate limit reached", code="rate_limit_exceeded", headers=headers)


def server_error(status: int = 500) -> Reply:
    return failed(status, "The server had an error")


def context_length() -> Reply:
    message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    return failed(400, message, code="context_length_exceeded")


def malformed() -> Reply:
    return Reply(body='{"choices": [{"mess')


def slow(seconds: float, reply: Reply) -> Reply:
    return replace(reply, delay=seconds)


def dripping(seconds: float, reply: Reply) -> Reply:
    return replace(reply, drip=seconds)


def cut_off(size: int, reply: Reply) -> Reply:
    return replace(reply, cut=size)


def hung_up() -> Reply:
    return Reply(silent=True)


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: Any


class LlmServer:
    """The server; a context manager. Its attributes may be changed while it runs."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.otherwise: Reply | Callable[[Any], Reply] = answer("{}")
        self.gather = 0
        self.most_in_flight = 0
        self._in_flight = 0
        self._script: deque[Reply] = deque()
        self._lock = threading.Lock()
        self._gathered = threading.Condition(self._lock)
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.socket.listen(128)  # 5 is the default: on a loaded machine a burst of calls overflows that
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def env(self) -> dict[str, str]:
        return {
            "OPENAI_API_BASE": self.url,
            "OPENAI_BASE_URL": self.url,
            "OPENAI_API_KEY": "not-a-key",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def say(self, *replies: Reply) -> None:
        """Add replies to the script; each answers one request."""
        self._script.extend(replies)

    def _reply_to(self, body: Any) -> Reply:
        with self._lock:
            if self._script:
                return self._script.popleft()
        return self.otherwise(body) if callable(self.otherwise) else self.otherwise

    def _handle(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            self._gathered.notify_all()
            self._gathered.wait_for(lambda: self.most_in_flight >= self.gather, timeout=60)
        try:
            reply = self._reply_to(request.body)
            self._closing.wait(reply.delay)
            return reply
        finally:
            with self._lock:
                self._in_flight -= 1

    def _write(self, file: Any, sent: bytes, drip: float) -> None:
        if not drip:
            file.write(sent)
            return
        for place in range(len(sent)):
            if self._closing.wait(drip):
                return
            file.write(sent[place : place + 1])
            file.flush()

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                reply = server._handle(Request(self.path, dict(self.headers), json.loads(raw or b"null")))
                if reply.silent:
                    self.close_connection = True
                    return
                text = reply.body if isinstance(reply.body, str | bytes) else json.dumps(reply.body)
                sent = text.encode() if isinstance(text, str) else text
                try:
                    self.send_response(reply.status)
                    for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(sent)))
                    self.send_header("Connection", "close")
                    self.end_headers()
                    server._write(self.wfile, sent if reply.cut is None else sent[: reply.cut], reply.drip)
                except OSError:
                    self.close_connection = True  # the client has given up: a time-out test

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Keep quiet: the tests' output is theirs."""

        return Handler


@pytest.fixture
def llm_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """Start a server that litellm finds through the environment."""
    with LlmServer() as server:
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
        yield server
