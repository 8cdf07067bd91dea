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
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from pytest_extract.core.values import Json, iter_leaves, text_digest
from pytest_extract.lazy import lazy_pattern
from pytest_extract.redact.formats import (
    FORMATS,
    NAME_OF_CREDENTIAL,
    NAME_OF_SECRET,
    OF_MESSAGES,
    PRIVATE_KEY,
    Form,
    bits,
    looks_random,
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
_RUN: Final = lazy_pattern(r"[A-Za-z0-9_\-.~/:$=+@\\]{20,}")
"""What may hold any format but that of a private key, and the escape that may stand before it; most texts have none."""
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

    strong: dict[str, str] = field(default_factory=dict, repr=False)
    weak: dict[str, str] = field(default_factory=dict, repr=False)
    allowed: frozenset[str] = frozenset()

    def with_environ(self, environ: Mapping[str, str]) -> Secrets:
        """Return these and the secrets of an environment; a variable that is gone still counts."""
        found = [(value, name) for name, text in environ.items() for value in _secret_parts(name, text)]
        strong = self.strong | {value: name for value, name in found if looks_random(value)}
        weak = {value: name for value, name in found if value not in strong and bits(value) >= _ENOUGH_IN_MESSAGE}
        return replace(self, strong=strong, weak=self.weak | weak)

    def find(self, text: str) -> tuple[Secret, ...]:
        """Return the secrets in data, each text once. In JSON they are found in their escaped form, too."""
        return self._found(text, self.strong)

    def _found(self, text: str, values: Mapping[str, str]) -> tuple[Secret, ...]:
        found = [Secret(name, value) for value, name in values.items() if any(f in text for f in _forms(value))]
        found += _of_format(text)
        allowed = [secret.text for secret in found if secret.fingerprint in self.allowed]
        kept = {secret.text: secret for secret in found if not any(secret.text in text for text in allowed)}
        return tuple(kept.values())

    def hide(self, text: str, found: Iterable[Secret]) -> str:
        """Replace secrets by marks, also where a message shows one shortened (`abcdef…uvwxyz`)."""
        longest_first = sorted(found, key=lambda secret: -len(secret.text))
        for secret in longest_first:
            for form in _forms(secret.text):
                text = text.replace(form, secret.mark)
        if _ELLIPSIS.search(text):  # after the whole ones: an ellipsis may stand beside one of them
            text = _SHORTENED.sub(lambda match: _hidden_pieces(match, longest_first), text)
        return text

    def hide_in(self, value: Json, found: Sequence[Secret]) -> Json:
        """`hide`, in every text of a JSON value."""
        return _changed(value, lambda text: self.hide(text, found))

    def without(self, value: Json) -> Redacted:
        """Return a JSON value without the secrets of data, for a file that shows the value and is not scored again."""
        found = self.find(json.dumps(value))
        return Redacted(self.hide_in(value, found), found) if found else Redacted(value)

    def clean(self, message: str) -> Redacted:
        """Return a message without the secrets of data, and without what a name or a scheme gives away."""
        found = [each for each in self._found(message, self.strong | self.weak) if each.kind != PRIVATE_KEY.kind]
        message = self.hide(message, found)
        for form in OF_MESSAGES:
            lowered = message.lower()
            if any(hint in lowered for hint in form.hints):
                message = form.pattern.sub(partial(self._mark, form, found), message)
        return Redacted(message, tuple(found))

    def clean_settings(self, value: Json) -> Json:
        """Return an extractor's parameters: cleaned like messages, and without the values of members like `api_key`."""
        return _changed(value, lambda text: self.clean(text).value, NAME_OF_SECRET)

    def _mark(self, form: Form, found: list[Secret], match: re.Match[str]) -> str:
        """Return the replacement of a match: its group `secret`, or all of it, is replaced; quotes around it stay."""
        name = "secret" if "secret" in match.re.groupindex else 0
        text = match[name]
        edge = (re.match(r"\\{0,8}[\"']|", text) or match)[0]
        secret = Secret(form.kind, _ESCAPED_BREAK.sub("\n", text[len(edge) : len(text) - len(edge)]))
        if not form.is_secret(secret.text) or secret.fingerprint in self.allowed:
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
    return _changed(settings, lambda text: NOTHING_KNOWN.without(text).value, NAME_OF_CREDENTIAL)


def _changed(value: Json, change: Callable[[str], Json], secret_names: re.Pattern[str] | None = None) -> Json:
    """Return a JSON value with every text changed, keys too, and a mark for each text whose key is a secret's name."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [_changed(item, change, secret_names) for item in value]
    if not isinstance(value, dict):
        return value
    changed: dict[Json, Json] = {}
    for key, item in value.items():
        if secret_names and _is_secret_member(key, item, secret_names):
            item = Secret("value of a secret's name", item).mark  # noqa: PLW2901
        else:
            item = _changed(item, change, secret_names)  # noqa: PLW2901
        changed[change(key) if isinstance(key, str) else key] = item
    return changed


def _is_secret_member(key: Json, item: Json, names: re.Pattern[str]) -> bool:
    if not isinstance(key, str) or not isinstance(item, str) or len(item) < 4 or item.startswith("[redacted: "):
        return False
    return names.fullmatch(key) is not None or (key.lower() == "cookie" and "=" in item)


def clean_message(message: str, place: str = "error message") -> str:
    """Return a message as it may be shown or written anywhere (`Secrets.clean`), and count what is hidden in it."""
    cleaned = current().clean(message)
    TALLY.add(place, cleaned.secrets)
    return str(cleaned.value)


_lock: Final = threading.Lock()
_current: Secrets | None = None


def current() -> Secrets:
    """Return the secrets of this process. Reads the environment only if `find_secrets_of_process` has not done so."""
    return find_secrets_of_process() if _current is None else _current


def find_secrets_of_process(allowed: Iterable[str] | None = None) -> Secrets:
    """Read the environment; for the main thread, before others run and after what may have changed it (a fixture).

    Other threads must not iterate over the environment: pytest changes it for every phase of every item.
    """
    global _current  # noqa: PLW0603  # the environment is the process's, and so is what is known of it
    with _lock:
        known = _current or NOTHING_KNOWN
        if allowed is not None:
            known = replace(known, allowed=frozenset(allowed))
        _current = known.with_environ(_environ())
        return _current


def _environ() -> dict[str, str]:
    while True:
        try:
            return dict(os.environ)
        except (KeyError, RuntimeError):  # a thread of the user's has just changed it
            continue


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
    if len(text) < _SHORTEST or not _VARIABLE.search(name):
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
    """Find the formats of keys; none is looked for inside of another."""
    found: list[Secret] = []
    if PRIVATE_KEY.hints[0] in text:
        text = _take_out(PRIVATE_KEY, text, found)
    runs = "\n".join(dict.fromkeys(_RUN.findall(text)))
    for form in FORMATS:
        if any(hint in runs for hint in form.hints):
            runs = _take_out(form, runs, found)
    return found


def _take_out(form: Form, text: str, found: list[Secret]) -> str:
    def taken(match: re.Match[str]) -> str:
        if not form.is_secret(match[0]):
            return match[0]
        found.append(Secret(form.kind, _ESCAPED_BREAK.sub("\n", match[0])))
        return "\n"

    return form.pattern.sub(taken, text)


def held_by(texts: Callable[[], Sequence[str]]) -> Owned:
    """Return a test whether a secret is in texts of the user, which are read at the first call."""

    @cache
    def read() -> list[str]:
        return [_BROKEN_UP.sub("", text) for text in texts()]

    return lambda secret: any(_BROKEN_UP.sub("", secret.text) in text for text in read())


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
    """Return the place of a secret in an output: its line in a text, else its path."""

    def place_in(text: str) -> int:
        return max(text.find(form) for form in _forms(secret.text))

    if isinstance(output, str):
        return f"line {output[: max(place_in(output), 0)].count(chr(10)) + 1}"
    paths = (str(path) for path, leaf in iter_leaves(output) if isinstance(leaf, str) and place_in(leaf) >= 0)
    return next(paths, "one of its keys")
