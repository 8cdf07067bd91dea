r"""Finds secrets in text, for every outlet of a run: recordings, results, reports, the terminal, JUnit XML.

Two rules, for two kinds of text. In a document's *data* (outputs, extracted values, golds) only what can be shown to be
a secret counts: a value of this process's environment, or the format of a provider's key (`formats`). In *messages*
(exceptions, logs, headers) also what a name or a scheme gives away: `password=...`, `Authorization: ...`. Hiding
too much of a message costs little; a value of a document is never altered.
"""

from __future__ import annotations

import base64
import json
import os
import re
import string
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from pytest_extract.core.values import Json, text_digest
from pytest_extract.lazy import lazy_pattern
from pytest_extract.redact.formats import (
    BASIC,
    CONTEXT,
    FORMATS,
    HINTS,
    NAMED,
    PREFIXED,
    PRIVATE_KEY,
    TOKENS,
    KeyFormat,
    MessagePattern,
    bits,
    holds_password,
    looks_random,
    names_credential,
    names_secret,
)

_VARIABLE: Final = lazy_pattern(
    r"(?:^|_)(?:(?:API)?KEY|TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PASS|PW|CREDENTIALS?|CREDS?|PAT|AUTH|BEARER|DSN|WEBHOOK|JWT|COOKIE|SALT)"
    r"(?:_(?!FILE|PATH|DIR|NAME|ID(?:_|$)|SOCK)|\d*$)|_PWD$|SECRET_ID$|(?:key|token|secret|password)$",
    re.IGNORECASE,
)
_CONNECTION_SECRET: Final = lazy_pattern(
    r"(?:^|;)\s*(?:password|pwd|secret|(?:account|shared\s?access|access|api)\s?key)\s*=\s*([^;]+)", re.IGNORECASE
)
_SHORTEST: Final = 8
_ENOUGH_IN_MESSAGE: Final = 12.0
"""Bits (`formats.bits`) of a value that a message is freed from: more than a word or a number holds."""
_RUN_CHARACTERS: Final = string.ascii_letters + string.digits + "_-.~/:$=+@\\"
"""Characters of all formats but that of a private key, and of the escape that may stand before a key."""
_SEPARATE_RUNS: Final = bytes(code if chr(code) in _RUN_CHARACTERS else 32 for code in range(256))
_SHORTEST_RUN: Final = 20
_HINTED: Final = [(hint, each) for each in FORMATS for hint in each.hints]
_CLEAN_RUNS: Final[set[bytes]] = set()
"""Runs without any format that were met before: the results of a suite repeat names, reasons and digests."""
_MOST_CLEAN_RUNS: Final = 10_000
_LONGEST_CLEAN_RUN: Final = 200
_NO_PREFIX: Final = lazy_pattern(r"[MNO][A-Za-z0-9]{23,27}\.|[12]/\d{13}")
"""What a Discord and an Asana token have instead of a prefix; their hints are in every text."""
_ELLIPSIS: Final = lazy_pattern(r"…|\\u2026|\.\.\.")
_SHORTENED: Final = lazy_pattern(rf"([\w\-]{{0,400}})({_ELLIPSIS.pattern})([\w\-]{{0,400}})")
_SHORTEST_PIECE: Final = 6
_SHORTEST_BASE64: Final = 16
_ESCAPED_BREAK: Final = lazy_pattern(r"\\+n")
_BROKEN_UP: Final = lazy_pattern(r"\\+[nrt]|\\+u[0-9a-fA-F]{4}|[\s\\]")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that was found: what it is (`kind`: "AWS key", or an environment variable's name), and its text."""

    kind: str
    text: str = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """Digest by which a user allows the text (`extract_allow_secrets`)."""
        return text_digest(self.text)[:16]

    @property
    def mark(self) -> str:
        """The text that replaces the secret."""
        return f"[redacted: {self.kind}]"


Owned: TypeAlias = Callable[[Secret], bool]
"""Whether a secret is in the user's own files, so that it is data."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text, or a JSON value, without its secrets, and those in order of place."""

    value: Json
    secrets: tuple[Secret, ...] = ()


@dataclass(frozen=True, slots=True)
class Secrets:
    """What counts as a secret: the values of an environment, and the formats that are known.

    strong: values (to the name of their variable) that stand nowhere by accident, looked for everywhere. weak: values
    that are only looked for in messages. allowed: fingerprints of what is no secret to the user.
    """

    strong: Mapping[str, str] = field(default_factory=dict, repr=False)
    weak: Mapping[str, str] = field(default_factory=dict, repr=False)
    allowed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, environ: Mapping[str, str], allowed: Iterable[str] = ()) -> Secrets:
        """Take the secrets out of an environment."""
        found = [(value, name) for name, text in environ.items() for value in _secret_parts(name, text)]
        strong = {value: name for value, name in found if looks_random(value)}
        weak = {value: name for value, name in found if value not in strong and bits(value) >= _ENOUGH_IN_MESSAGE}
        return cls(strong, weak, frozenset(allowed))

    def with_environ(self, environ: Mapping[str, str]) -> Secrets:
        """Return these and what an environment has that is new; a variable that is gone still counts."""
        new = Secrets.of(environ)
        if new.strong.keys() <= self.strong.keys() and new.weak.keys() <= self.weak.keys():
            return self
        return Secrets({**self.strong, **new.strong}, {**self.weak, **new.weak}, self.allowed)

    def find(self, text: str) -> tuple[Secret, ...]:
        """Return the secrets in data, each text once. In JSON they are found in their escaped form, too."""
        found = [Secret(name, value) for value, name in self.strong.items() if any(f in text for f in _forms(value))]
        found += _of_format(text)
        allowed = [secret.text for secret in found if secret.fingerprint in self.allowed]
        kept = {secret.text: secret for secret in found if not any(secret.text in text for text in allowed)}
        return tuple(kept.values())

    def hide(self, text: str, found: Iterable[Secret]) -> str:
        """Replace secrets by marks, also where a message shows one shortened (`abcdef…uvwxyz`)."""
        longest_first = sorted(found, key=lambda secret: -len(secret.text))
        if _ELLIPSIS.search(text):
            text = _SHORTENED.sub(lambda match: _hidden_pieces(match, longest_first), text)
        for secret in longest_first:
            for form in _forms(secret.text):
                text = text.replace(form, secret.mark)
        return text

    def hide_in(self, value: Json, found: Sequence[Secret]) -> Json:
        """`hide`, in every text of a JSON value."""
        if isinstance(value, str):
            return self.hide(value, found)
        if isinstance(value, list):
            return [self.hide_in(item, found) for item in value]
        if isinstance(value, dict):
            return {self.hide(key, found): self.hide_in(item, found) for key, item in value.items()}
        return value

    def without(self, value: Json) -> Redacted:
        """Return a JSON value without the secrets of data, for a file that shows the value and is not scored again."""
        found = self.find(json.dumps(value))
        return Redacted(self.hide_in(value, found), found) if found else Redacted(value)

    def clean(self, message: str) -> Redacted:
        """Return a message without the secrets of data, and without what a name or a scheme gives away."""
        found: list[Secret] = []
        for value, name in (*self.strong.items(), *self.weak.items()):
            for form in _forms(value):
                if form in message and (secret := Secret(name, value)).fingerprint not in self.allowed:
                    found.append(secret)
                    message = message.replace(form, secret.mark)
        for known in TOKENS:
            message = self._freed(message, known, found)
        strict = [secret for secret in _of_format(message) if secret.fingerprint not in self.allowed]
        found += strict
        message = self.hide(message, strict)
        message = PREFIXED.sub(lambda match: self._mark(match, "API key", found, looks_random), message)
        lowered = message.lower()
        if any(hint in lowered for hint in HINTS):
            message = BASIC.sub(lambda match: self._mark(match, "authorization", found, holds_password), message)
            for beside in CONTEXT:
                message = self._freed(message, beside, found)
            message = NAMED.sub(lambda match: self._mark(match, "API key", found, looks_random), message)
        return Redacted(message, tuple(found))

    def clean_settings(self, value: Json) -> Json:
        """Return an extractor's parameters: cleaned like messages, and without the values of members like `api_key`."""
        return _cleaned_settings(value, self.clean, names_secret)

    def _freed(self, message: str, form: MessagePattern, found: list[Secret]) -> str:
        if not form.may_be_in(message.lower()):
            return message
        return form.pattern.sub(lambda match: self._mark(match, form.kind, found), message)

    def _mark(
        self,
        match: re.Match[str],
        kind: str,
        found: list[Secret],
        is_secret: Callable[[str], bool] = bool,
    ) -> str:
        """Return the replacement of a match: its group `secret`, or all of it, is replaced; quotes around it stay."""
        name = "secret" if "secret" in match.re.groupindex else 0
        text = match[name]
        edge = (re.match(r"\\{0,8}[\"']|", text) or match)[0]
        secret = Secret(kind, text[len(edge) : len(text) - len(edge)] if edge else text)
        if not is_secret(secret.text) or secret.fingerprint in self.allowed:
            return match[0]
        found.append(secret)
        start, end = match.span(name)
        before, after = match.string[match.start() : start], match.string[end : match.end()]
        return f"{before}{edge}{secret.mark}{edge}{after}"


class RedactionCounts:
    """What was hidden or not recorded in this process, for the summary of the run. Any thread may add to it."""

    def __init__(self) -> None:
        self._found: deque[tuple[str, str, str]] = deque()

    def add(self, place: str, secrets: Iterable[Secret]) -> None:
        """Add what was hidden in a place ("error message"); the text itself is not kept. A part counts as the whole."""
        longest_first = sorted(secrets, key=lambda secret: -len(secret.text))
        for index, secret in enumerate(longest_first):
            if not any(secret.text in whole.text for whole in longest_first[:index]):
                self._found.append((place, secret.kind, secret.fingerprint))

    def taken(self) -> list[tuple[str, str, str]]:
        """Return place, kind and fingerprint of what was added since the last time, each once."""
        return list(dict.fromkeys(self._found.popleft() for _ in range(len(self._found))))


TALLY: Final = RedactionCounts()
NOTHING_KNOWN: Final = Secrets()
"""The formats alone: the same on every machine."""


def without_credentials(settings: Json) -> Json:
    """Return an extractor's parameters for a digest: without known formats, and the values of members like `api_key`.

    All else counts as it is: a parameter that only looks like a secret (`stop_token`) changes outputs. What is written
    or shown takes `Secrets.clean_settings`.
    """
    return _cleaned_settings(settings, NOTHING_KNOWN.without, names_credential)


def _cleaned_settings(value: Json, clean: Callable[[str], Redacted], names: Callable[[str], bool]) -> Json:
    if isinstance(value, str):
        return clean(value).value
    if isinstance(value, list | tuple):
        return [_cleaned_settings(item, clean, names) for item in value]
    if not isinstance(value, dict):
        return value
    cleaned: dict[Json, Json] = {}
    for key, item in value.items():
        is_text = (
            isinstance(key, str) and isinstance(item, str) and len(item) >= 4 and not item.startswith("[redacted: ")
        )
        named = is_text and (names(key) or (key.lower() == "cookie" and "=" in item))
        cleaned[clean(key).value if isinstance(key, str) else key] = (
            Secret("value of a secret's name", item).mark if named else _cleaned_settings(item, clean, names)
        )
    return cleaned


def clean_message(message: str, place: str = "error message") -> str:
    """Return a message as it may be shown or written anywhere (`Secrets.clean`), and count what is hidden in it."""
    cleaned = current().clean(message)
    TALLY.add(place, cleaned.secrets)
    return str(cleaned.value)


_lock: Final = threading.Lock()
_current: Secrets | None = None
_seen: dict[Any, Any] | None = None
_OF_PYTEST: Final = ("PYTEST_CURRENT_TEST", b"PYTEST_CURRENT_TEST")
"""Changed by pytest for each phase of an item."""


def current() -> Secrets:
    """Return the secrets of this process. Reads the environment only if `find_secrets_of_process` has not done so."""
    return find_secrets_of_process() if _current is None else _current


def find_secrets_of_process(allowed: Iterable[str] | None = None) -> Secrets:
    """Read the environment; for the main thread, before others run and after what may have changed it (a fixture).

    Other threads must not iterate over the environment: pytest changes it for every phase of every item.
    """
    global _current, _seen  # noqa: PLW0603  # the environment is the process's, and so is what is known of it
    with _lock:
        known = _current or NOTHING_KNOWN
        if allowed is not None:
            known = Secrets(known.strong, known.weak, frozenset(allowed))
        elif _current is not None and _seen is not None and _seen == _raw_environ():
            return _current
        _seen = _raw_environ()
        _current = known.with_environ(_snapshot())
        return _current


def _raw_environ() -> dict[Any, Any] | None:
    """Return a copy of the environment as `os` holds it, or None: decoding it takes a hundred times as long."""
    variables = getattr(os.environ, "_data", None)
    if type(variables) is not dict:
        return None
    seen = variables.copy()
    for name in _OF_PYTEST:
        seen.pop(name, None)
    return seen


def _snapshot() -> dict[str, str]:
    """Return the variables whose names speak of a secret, or whose value is a URL with a password."""
    while True:
        try:
            found = os.environ.items()
            return {name: text for name, text in found if len(text) >= _SHORTEST and _may_hold_secret(name, text)}
        except (KeyError, RuntimeError):  # a thread of the user's has just changed it
            continue


def _may_hold_secret(name: str, text: str) -> bool:
    return "@" in text or ";" in text or _speaks_of_secret(name)


@cache
def _speaks_of_secret(name: str) -> bool:
    return _VARIABLE.search(name) is not None


def _secret_parts(name: str, text: str) -> list[str]:
    """Return what is secret in a variable: its value, or the password in its URL or its connection string."""
    text = text.strip()
    if ";" in text and (parts := _CONNECTION_SECRET.findall(text)):
        return [part for part in parts if len(part) >= _SHORTEST]
    if "://" in text:
        try:
            password = urlsplit(text).password or ""
        except ValueError:
            password = ""
        return [part for part in dict.fromkeys((password, unquote(password))) if len(part) >= _SHORTEST]
    if not _speaks_of_secret(name) or len(text) < _SHORTEST:
        return []
    is_path = text[0] in "/~." or text[1:3] == ":\\"
    return [] if (is_path and _is_file(text)) or text.startswith("arn:") else [text]


def _hidden_pieces(match: re.Match[str], found: Sequence[Secret]) -> str:
    pieces = [match[1], match[3]]
    for index, piece in enumerate(pieces):
        if len(piece) >= _SHORTEST_PIECE:
            pieces[index] = next((secret.mark for secret in found if piece in secret.text), piece)
    return match[2].join(pieces)


def _is_file(text: str) -> bool:
    try:
        return Path(text).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # too long for a path, or a home that nobody has
        return False


@lru_cache(maxsize=256)  # those of the environment are looked for in every output and message
def _forms(text: str) -> tuple[str, ...]:
    """Return how a text may stand in another: itself, escaped by JSON once or twice, in a URL, inside of base64."""
    once = json.dumps(text)[1:-1]
    unescaped = json.dumps(text, ensure_ascii=False)[1:-1]
    forms = (
        text,
        unescaped,
        once,
        json.dumps(once)[1:-1],
        repr(text)[1:-1],
        quote(text, safe=""),
        *_base64_forms(text),
    )
    return tuple(dict.fromkeys(forms))


def _base64_forms(text: str) -> list[str]:
    """Return what is the same in the base64 of whatever a text is the middle of: `user:text` as in a header."""
    data = text.encode("utf-8", "surrogatepass")
    forms = []
    for before, first in enumerate((0, 2, 3)):
        whole = (before + len(data)) * 8 // 6
        forms.append(base64.b64encode(bytes(before) + data).decode()[first:whole])
    return [form for form in forms if len(form) >= _SHORTEST_BASE64]


def _of_format(text: str) -> list[Secret]:
    """Find the formats of keys; first by a look that costs little, as nearly no text has any."""
    found: list[Secret] = []
    if PRIVATE_KEY.hints[0] in text:
        text = _take_out(PRIVATE_KEY, text, found)
    # in bytes, as this takes a fifth of the time of a pattern
    words = set(text.encode("ascii", "replace").translate(_SEPARATE_RUNS).split())
    new = [word for word in words if len(word) >= _SHORTEST_RUN and word not in _CLEAN_RUNS]
    if not new:
        return found
    before = len(found)
    runs = {word.decode("ascii") for word in new}
    joined = "\n".join(runs)
    for hint, each in _HINTED:
        if hint not in joined or (len(hint) == 1 and not _NO_PREFIX.search(joined)):
            continue
        hinted = "\n".join(run for run in runs if hint in run)
        if hinted != (rest := _take_out(each, hinted, found)):
            # no format is looked for inside of another
            runs = {run for run in runs if hint not in run} | {*rest.split("\n")}
    if len(found) == before:
        if len(_CLEAN_RUNS) > _MOST_CLEAN_RUNS:
            _CLEAN_RUNS.clear()
        _CLEAN_RUNS.update(word for word in new if len(word) <= _LONGEST_CLEAN_RUN)
    return found


def _take_out(form: KeyFormat, text: str, found: list[Secret]) -> str:
    matches = [match[0] for match in form.pattern.finditer(text) if form.proof or looks_random(match[0])]
    for match in matches:
        found.append(Secret(form.kind, _ESCAPED_BREAK.sub("\n", match)))
        text = text.replace(match, "\n")
    return text


def held_by(texts: Callable[[], Sequence[str]]) -> Owned:
    """Return a test whether a secret is in texts of the user, which are read at the first call."""
    read: list[str] = []

    def owned(secret: Secret) -> bool:
        if not read:
            read.extend(_BROKEN_UP.sub("", text) for text in texts())
        return any(_BROKEN_UP.sub("", secret.text) in text for text in read)

    return owned


def withheld(output: Json, owned: Owned | None = None) -> str | None:
    """Say which secret keeps an output from being written to a file, where it is and how to allow it; None without one.

    Raises what `json.dumps` raises for an output that is no JSON.
    """
    found = [each for each in current().find(json.dumps(output)) if owned is None or not owned(each)]
    if not found:
        return None
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return (
        f"the output holds a secret ({first.kind}) at {_place_of(first, output)}{more}; "
        f"if it is no secret, add {first.fingerprint} to extract_allow_secrets"
    )


def _place_of(secret: Secret, output: Json) -> str:
    """Return the place of a secret in an output: its line in a text, else its JSON path."""
    if isinstance(output, str):
        return f"line {output[: max(_find(secret, output), 0)].count(chr(10)) + 1}"
    pending: list[tuple[str, Json]] = [("$", output)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, str) and _find(secret, value) >= 0:
            return path
        if isinstance(value, list):
            pending += [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        if isinstance(value, dict):
            if any(isinstance(key, str) and _find(secret, key) >= 0 for key in value):
                return f"{path} (a key)"
            pending += [(f"{path}.{key}", item) for key, item in value.items()]
    return "$"


def _find(secret: Secret, text: str) -> int:
    return max(text.find(form) for form in _forms(secret.text))
