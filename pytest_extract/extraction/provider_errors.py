"""What an exception of a model's client means, read from its shape: litellm, openai and anthropic look alike here.

What we only prefer of a request, and a model refuses, is left out; and no more calls are made where the next would fail
as the last ones did: no key, no such model, an unknown host.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from pytest_extract.core.results import FailureKind
from pytest_extract.core.values import Json
from pytest_extract.errors import ExtractError
from pytest_extract.redact import clean_message

_FLAGGED: Final = re.compile(r"(?i)\b(?:input|prompt|request|content) (?:was|has been|is) flagged\b")
"""What a moderation says of one input, also with a status that speaks of access."""
_QUOTA: Final = re.compile(
    r"(?i)insufficient_quota|billing_hard_limit|exceeded your current quota|account is not active"
    r"|credit balance is too low"
)
_RETRY_IN: Final = re.compile(r"(?i)(?:retry|try again) in \d")
"""Said of a quota per minute, in the words that are said of one that is used up."""
_CREDENTIALS: Final = re.compile(
    r"(?i)missing (?:\w+ ){0,2}?(?:credentials|api[ _]key)|unable to locate credentials"
    r"|api[ _]key(?: is)? (?:not set|required)|(?:_API_KEY|_TOKEN)`? is not set"
)
_NO_MODEL: Final = re.compile(
    r"(?i)(?:invalid|unknown|no such) model\b"
    r"|\bmodel\b.{0,100}?(?:not found|does not exist|not exist|not a valid model|identifier is invalid)"
)
_UNREACHABLE: Final = frozenset(
    {"ConnectionRefusedError", "gaierror", "ConnectTimeout", "SSLCertVerificationError", "ClientConnectorDNSError"}
)
_PERMANENT_STATUS: Final = frozenset({401, 402, 403, 404})
_RETRIED_STATUS: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, *range(520, 525), 529})
_BY_CLASS: Final[Mapping[str, FailureKind]] = {
    "ContextWindowExceededError": FailureKind.CONTEXT_LENGTH,
    "ContentPolicyViolationError": FailureKind.REFUSAL,
}
_BY_TEXT: Final = {
    FailureKind.CONTEXT_LENGTH: re.compile(
        r"(?i)context[ _](?:length|window)|maximum (?:context|prompt length|model length)|prompt is too long"
        r"|input is too long|too many (?:input )?tokens|exceeds? (?:the maximum (?:number of|input) tokens|max length)"
        r"|model token limit|input token count .{0,40}exceeds|range of input length"
        r"|request(?: too large for|_too_large)"
    ),
    FailureKind.SCHEMA_REJECTED: re.compile(
        r"(?i)invalid (?:json |structured output |output )?schema|invalid_json_schema|response_?schema\b"
        r"|schema\b.{0,80}?\b(?:too (?:complex|large|deep|many|big)|too many|exceeds?|unsupported|not supported"
        r"|nesting)|(?:unsupported|not supported|cannot compile|failed to (?:compile|convert)).{0,60}?\bschema"
        r"|grammar\b.{0,40}?\btoo (?:complex|large|big)|failed to (?:compile|convert).{0,40}?\bgrammar"
        r"|output_format\.schema"
    ),
    FailureKind.PAGE_LIMIT: re.compile(
        r"(?i)(?:maximum|limit|at most|up to|more than|exceed\w*|too many)\b.{0,60}\bpages?\b"
        r"|\bpages?\b.{0,60}\b(?:limit|maximum|exceed\w*|too many)"
    ),
    FailureKind.REFUSAL: re.compile(
        r"(?i)content[ _](?:policy|filter|management)|safety (?:system|settings)|was blocked|inappropriate content"
        r"|data_inspection_failed|considered high risk"
    ),
}
"""What the message of an error says, or the body of its answer; the first that does counts."""


class AttemptTimeout(ExtractError):
    """One attempt of a call took longer than it may, however many bytes came meanwhile."""


class MalformedAnswer(ExtractError):
    """The server answered, and the answer is no chat completion."""


class UnreadableAnswer(ExtractError):
    """The server answered in a form that the client cannot read: every other answer has it as well."""


class ErrorInAnswer(ExtractError):
    """A status of 200, and an error in the answer: it means what it would mean with a status of its own.

    `status_code`: that of the error; 502 where it has none that is one, for gateways tell of a dead upstream so.
    """

    def __init__(self, error: object, code: object = None) -> None:
        super().__init__(f"the answer, of status 200, tells of an error: {error}")
        status = int(code) if isinstance(code, int | str) and str(code).isdecimal() else 0
        self.status_code = status if 400 <= status <= 599 else 502


def told_error(error: object) -> ErrorInAnswer | None:
    """Return the error that an entry `error` of an answer tells of; None where it says nothing."""
    if isinstance(error, Mapping):
        return ErrorInAnswer(error.get("message") or dict(error), error.get("code")) if any(error.values()) else None
    return ErrorInAnswer(error) if error else None


def error_in_answer(error: BaseException) -> ErrorInAnswer | UnreadableAnswer | None:
    """Find what is wrong with a 200 answer below litellm's own error, which loses it; None for any other error."""
    first: Any = _chain(error)[-1]
    if type(first).__name__ == "ValidationError" and hasattr(first, "errors"):  # pydantic's
        problem = first.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        return UnreadableAnswer(f"litellm cannot read the server's answer: `{place}`: {problem['msg']}")
    if type(first) is not Exception or not hasattr(first, "message") or not hasattr(first, "status_code"):
        return None
    # litellm gives 422 to an error without a code
    return ErrorInAnswer(first.message, None if first.status_code == 422 else first.status_code)


def failure_kind(error: BaseException) -> FailureKind | None:
    """Return the kind of `DECLINED` for which a provider declined the input; else None.

    Reads an attribute `kind` (our own errors), class names (litellm's) and, of client errors (status 400, 413, 422, and
    403 of a moderation), the message and the answer's body. An exception that is none of these gives None, whatever its
    text says.
    """
    own = getattr(error, "kind", None)
    if isinstance(own, FailureKind):
        return None if own is FailureKind.EXTRACTOR_ERROR else own
    for name in (cls.__name__ for cls in type(error).__mro__):
        if name in _BY_CLASS:
            return _BY_CLASS[name]
    status, told = status_of(error), _told(error)
    if status in {400, 403, 413, 422} and _FLAGGED.search(told):
        return FailureKind.REFUSAL
    if status not in {400, 413, 422}:
        return None
    return next((kind for kind, pattern in _BY_TEXT.items() if pattern.search(told)), None)


def status_of(error: BaseException) -> int | None:
    """HTTP status that an exception carries, None without one."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def permanent_cause(error: BaseException) -> str | None:
    """Name the cause by which every other call of the model will fail as well; None where the next may succeed."""
    if isinstance(error, AttemptTimeout | MalformedAnswer) or failure_kind(error) is not None:
        return None
    text, names = _told(error), {cls.__name__ for link in _chain(error) for cls in type(link).__mro__}
    status = status_of(error)
    if status == 401 or _CREDENTIALS.search(text[:500]):
        return "credentials"
    if status in _PERMANENT_STATUS:
        return f"status {status}"
    if status in {400, 422} and _NO_MODEL.search(text):
        return "model"
    if names & _UNREACHABLE:
        return "unreachable"
    if "ImportError" in names:
        return "package"
    waits = retry_after(error) is not None or _RETRY_IN.search(text)
    return "quota" if _QUOTA.search(text) and not waits else None


def is_final(error: BaseException) -> bool:
    """Whether trying again is pointless: everything but limits, time-outs and failures on the server's side."""
    if isinstance(error, AttemptTimeout | MalformedAnswer):
        return False
    if failure_kind(error) is not None or permanent_cause(error) not in {None, "unreachable"}:
        return True
    status = status_of(error)
    if status is not None:
        return status not in _RETRIED_STATUS
    return not any(name in {"APIConnectionError", "Timeout"} for name in (cls.__name__ for cls in type(error).__mro__))


def retry_after(error: BaseException) -> float | None:
    """Seconds that the server asks to wait: `Retry-After` in seconds, or `retry-after-ms`; None if it says neither."""
    response: Any = getattr(error, "response", None)
    given: Any = getattr(response, "headers", None) or getattr(error, "litellm_response_headers", None) or {}
    headers = {str(name).lower(): str(value) for name, value in dict(given).items()}
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            seconds = float(headers.get(name, "")) * unit_s
            if 0 <= seconds < math.inf:
                return seconds
    return None


def summary(error: BaseException) -> str:
    """One line for people: the exception's class and message, and what broke a connection; shortened, no secrets."""
    error_text, words = str(error), _words(_body(error))
    missing = [word for word in words if word not in error_text]
    if missing and not any(" " in word for word in words if word not in missing):  # no sentence of the answer is told
        error_text += f": {' '.join(missing)}"
    text = clean_message(" ".join(error_text.split()))
    name = type(error).__name__
    shown = text if len(text) <= 500 else f"{text[:500]}... ({len(text):,} characters)"
    said = shown if name in shown else f"{name}: {shown}"
    chain = _chain(error)
    if len(chain) == 1 or not any(type(link).__name__ == "APIConnectionError" for link in chain):
        return said
    # what lies below a client's bare "Connection error."
    cause = clean_message(" ".join(str(chain[-1]).split()))[:200]
    return f"{said} ({type(chain[-1]).__name__}{cause and ': '}{cause})"


def _told(error: BaseException) -> str:
    """Return the text of an error and, a line each, the words of the answer: clients read those of one form only."""
    return "\n".join([str(error), *_words(_body(error))])


_OF_REQUEST: Final = frozenset({"input", "messages", "contents", "prompt", "request"})
_MOST_LEVELS: Final = 20


def _body(error: BaseException) -> object:
    return next((body for link in _chain(error) if (body := getattr(link, "body", None))), None)


def _words(body: object, level: int = 0) -> list[str]:
    """Return the texts and numbers of an answer, without what it repeats of the request."""
    if isinstance(body, Mapping):
        body = [value for name, value in body.items() if name not in _OF_REQUEST]
    if isinstance(body, list) and level < _MOST_LEVELS:
        return [word for value in body for word in _words(value, level + 1)]
    return [str(body)] if body and isinstance(body, str | int | float) else []


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception and those below it, the first cause last."""
    chain = [error]
    while (below := chain[-1].__cause__ or chain[-1].__context__) is not None and below not in chain:
        chain.append(below)
    return chain


_SAYINGS: Final[Mapping[str, str]] = {
    "response_format": r"response\W?(?:format|schema|mime)|json\W?(?:schema|mode|object)|(?:structured|guided)\W?\w+"
}
"""How providers call an option apart from its own name."""
_NOT_AS_ASKED: Final = frozenset({400, 422})


def refused_wishes(litellm: Any, error: Exception, wishes: Collection[str]) -> list[str]:
    """Return which wishes to leave out of a request after an error that names them; none for other errors.

    litellm's own error is about options in any case: where it names none, all wishes go.
    """
    if status_of(error) not in _NOT_AS_ASKED:
        return []
    told = _told(error)
    named = [name for name in wishes if _names(told, name)]
    return [*wishes] if not named and isinstance(error, litellm.UnsupportedParamsError) else named


def _names(told: str, option: str) -> bool:
    own = option.replace("_", r"[\W_]?")
    said = rf"(?<![A-Za-z_])(?:{own}|{_SAYINGS.get(option, own)})(?![A-Za-z_])"
    return re.search(said, told, re.IGNORECASE) is not None


_KEY: Final = re.compile(r"\b[A-Z][A-Z0-9_]*_API_KEY\b")
_MOST: Final = 3
"""Equal permanent errors of a model after which it is called no more."""
_ATTEMPTS_TO_REACH: Final = 3
"""Attempts of a call to a host that has answered none yet."""


class Outage:
    """The permanent errors of one extractor or judge so far, and the wishes that models refuse.

    What the first of equal errors says is said for all of them: requests differ in their number, and the cause is one.
    Calls in several threads share it without a lock (an extractor can be pickled): a lost count costs one more call.
    """

    def __init__(self) -> None:
        self._errors: dict[str, tuple[str | None, str, int]] = {}
        self._refused: dict[str, frozenset[str]] = {}

    def over(self, model: str) -> str | None:
        """Return why a model is called no more; None while it is."""
        _, message, count = self._errors.get(model, (None, "", 0))
        return message if count >= _MOST else None

    def attempts(self, model: str, error: Exception, most: int) -> int:
        """Return how often a call may be tried that met an error; a host that has answered is worth the full number."""
        reached = model in self._refused or permanent_cause(error) != "unreachable"
        return most if reached else min(most, _ATTEMPTS_TO_REACH)

    def answered(self, model: str, refused: Collection[str]) -> None:
        """Forget the errors of a model that has answered, and remember the wishes without which it has."""
        self._refused[model] = self.refused(model).union(refused)
        self._errors.pop(model, None)

    def refused(self, model: str) -> frozenset[str]:
        """Return the wishes that a model refuses, as far as it has answered: that spares the error."""
        return self._refused.get(model, frozenset())

    def failed(self, model: str, error: Exception, told: str) -> str:
        """Count an error and return what to say of it: `told`, or for one that is no news what the first said."""
        cause = permanent_cause(error)
        if cause is None:
            return told
        before, message, count = self._errors.get(model, (None, "", 0))
        if before != cause:
            count, message = 0, f"{told}\nno call of this model can succeed: after {_MOST} such errors none is made"
        self._errors[model] = cause, message, count + 1
        return message


def reason(litellm: Any, model: str, error: Exception, options: Mapping[str, Json]) -> str:
    """Say what an error means: first the keys that are not set, where litellm names some, then the error itself."""
    missing: list[str] = []
    if permanent_cause(error) in {"credentials", "unreachable"} and not options.get("api_key"):
        with suppress(Exception):  # it asks many providers' code; the error itself is told anyway
            missing = litellm.validate_environment(model)["missing_keys"]
            # litellm takes an empty variable for one that is set
            missing = missing or [name for name in _KEY.findall(str(error)) if os.environ.get(name) == ""]
    return f"{' or '.join(missing)} is not set ({summary(error)})" if missing else summary(error)
