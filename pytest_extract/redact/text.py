"""Nothing that looks like a key, token or password goes into a file: what looks like one, and its replacement."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.values import Json
from pytest_extract.redact.patterns import BASIC, CONTEXT, HINTS, SECRET_NAME, TOKENS, Form, holds_password

_SECRET_VARIABLE: Final = re.compile(
    r"(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_(?!FILE|PATH|DIR|URL|NAME|ID)|$)"
    r"|_PWD$",
    re.IGNORECASE,
)
_SHORTEST_SECRET: Final = 8


@dataclass(frozen=True, slots=True)
class Redacted:
    """A value without its secrets, and what was taken out: `("API key", ...)` in order of place; empty: nothing."""

    value: Json
    kinds: tuple[str, ...] = ()


def secret_values(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Values of the environment's variables whose names speak of a secret (`OPENAI_API_KEY`), longest first."""
    environ = os.environ if environ is None else environ
    found = {
        value
        for name, value in environ.items()
        if _SECRET_VARIABLE.search(name) and len(value) >= _SHORTEST_SECRET and not value.isspace()
    }
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def redact(value: Json, secrets: Iterable[str] | None = None) -> Redacted:
    """Replace every secret in a JSON value (keys, texts, nested) by `[redacted: KIND]`.

    `secrets` are literal values to take out besides the patterns; default: those of the environment.
    Numbers, booleans and nulls stay. Raises RecursionError on a value nested deeper than Python's stack.
    """
    cleaner = _Cleaner(secret_values() if secrets is None else tuple(secrets))
    return Redacted(cleaner.walk(value), tuple(cleaner.kinds))


def redact_text(text: str, secrets: Iterable[str] | None = None) -> str:
    """`redact` for a message: the text without its secrets."""
    return str(redact(text, secrets).value)


class _Cleaner:
    """One walk over a value; equal texts, of which a result has many, are searched once."""

    def __init__(self, literal: tuple[str, ...]) -> None:
        self.kinds: list[str] = []
        self._literal = literal
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._names: dict[str, bool] = {}

    def walk(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list | tuple):
            return [self.walk(item) for item in value]
        if isinstance(value, dict):
            return {self._key(key): self._member(key, item) for key, item in value.items()}
        return value

    def _names_secret(self, key: str, item: str) -> bool:
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = SECRET_NAME.fullmatch(key) is not None
        return found or (key.lower() == "cookie" and "=" in item)  # a baker's invoice has cookies too

    def _text(self, text: str) -> str:
        found = self._known.get(text)
        if found is None:
            kinds: list[str] = []
            found = self._known[text] = (_clean(text, self._literal, kinds), tuple(kinds))
        self.kinds += found[1]
        return found[0]

    def _key(self, key: Json) -> Json:
        return self._text(key) if isinstance(key, str) else key

    def _member(self, key: Json, item: Json) -> Json:
        if not isinstance(item, str) or not isinstance(key, str):
            return self.walk(item)
        if len(item) < 4 or item.startswith("[redacted: ") or not self._names_secret(key, item):
            return self._text(item)
        self.kinds.append("value of a secret's name")
        return _mark("value of a secret's name")


def _mark(kind: str) -> str:
    return f"[redacted: {kind}]"


def _clean(text: str, literal: tuple[str, ...], kinds: list[str]) -> str:
    for secret in literal:
        for form in {secret, json.dumps(secret)[1:-1]}:
            if form in text:
                kinds.append("value of an environment variable")
                text = text.replace(form, _mark("value of an environment variable"))
    lowered = text.lower()
    if not any(hint in lowered for hint in HINTS):
        return text
    for known in TOKENS:
        if known.may_be_in(lowered):
            text = _replace(known, text, kinds)
    if "basic" in lowered:
        text = _without_basic(text, kinds)
    for beside in CONTEXT:
        if beside.may_be_in(lowered):
            text = _replace(beside, text, kinds)
    return text


def _replace(form: Form, text: str, kinds: list[str]) -> str:
    """Replace what a form finds, or its group `secret`; quotes around it stay."""

    def mark(match: re.Match[str]) -> str:
        kinds.append(form.kind)
        groups = match.groupdict()
        quote = re.match(r"\\?[\"']|", groups.get("secret", ""))
        edge = quote[0] if quote else ""
        return f"{groups.get('before', '')}{edge}{_mark(form.kind)}{edge}"

    return form.pattern.sub(mark, text)


def _without_basic(text: str, kinds: list[str]) -> str:
    def mark(match: re.Match[str]) -> str:
        if not holds_password(match["secret"]):
            return match[0]
        kinds.append("authorization")
        return match[0].removesuffix(match["secret"]) + _mark("authorization")

    return BASIC.sub(mark, text)
