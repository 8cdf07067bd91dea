"""Nothing that looks like a key, token or password goes into a file: what looks like one, and its replacement."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.values import Json

_PATTERNS: Final = (
    ("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ("API key", r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_\-]{16,}"),  # OpenAI, Anthropic, Stripe
    ("AWS key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("Google key", r"\bAIza[A-Za-z0-9_\-]{30,}"),
    ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("GitLab token", r"\bglpat-[A-Za-z0-9_\-]{16,}"),
    ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}"),
    ("API key", r"\b(?:hf|gsk|r8|npm|dop_v1|tvly|pplx|xai|nvapi)[_-][A-Za-z0-9_\-]{20,}"),
    ("PyPI token", r"\bpypi-[A-Za-z0-9_\-]{30,}"),
    ("JSON web token", r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*"),
)
_SCHEMES: Final = r"(?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Tt]oken)"
_NAMES: Final = (
    r"(?:api[_\-\s]?key|apikey|x-api-key|secret(?:[_\-]?(?:access[_\-]?)?key)?|client[_\-]?secret|private[_\-]?key"
    r"|(?:access|auth|refresh|session|security|bearer|id|api)[_\-]?token|token|password|passwd|passphrase|pwd"
    r"|authorization|proxy-authorization|set-cookie)"
)
_TEXT: Final = tuple((kind, re.compile(pattern, re.DOTALL)) for kind, pattern in _PATTERNS)
_AUTHORIZATION: Final = re.compile(rf"\b({_SCHEMES})\s+(?=\S*[0-9=])(?!\[redacted)([A-Za-z0-9+/=_.~\-]{{12,}})")
_URL_PASSWORD: Final = re.compile(
    r"(\b[a-z][a-z0-9+.\-]{0,20}://[^\s/:@\"']*:)(?!\[redacted)([^\s/@\"']+)(?=@)", re.IGNORECASE
)
_ASSIGNED: Final = re.compile(  # counted repeats: a hostile text of names without end stays linear
    rf"(?<![A-Za-z0-9])((?:[A-Za-z0-9]{{1,40}}[_\-]){{0,4}}{_NAMES}\\?[\"']?\s{{0,8}}(?:=>|[:=])\s{{0,8}})"
    r"(\\\"(?!\[redacted)(?:(?!\\\").){4,}?\\\"|\"(?!\[redacted)(?:[^\"\\]|\\.){4,}\"|'(?!\[redacted)[^']{4,}'"
    r"|(?![\"'\[{(\\])[^\s,;\"'}\])\\]{6,})",
    re.IGNORECASE,
)
_SECRET_NAME: Final = re.compile(rf"(?:.{{0,80}}[_\-\s.])?{_NAMES}", re.IGNORECASE)
_SECRET_VARIABLE: Final = re.compile(
    r"(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_(?!FILE|PATH|DIR|URL|NAME|ID)|$)"
    r"|_PWD$",
    re.IGNORECASE,
)
_SHORTEST_SECRET: Final = 8
_HINT: Final = re.compile(
    r"BEGIN|[spr]k[-_]|A(?:KIA|SIA|BIA|CCA|Iza)|gh[pousr]_|github_pat|glpat|xox|(?:hf|gsk|r8|npm|dop_v1|tvly|pplx|xai"
    r"|nvapi)[_-]|pypi-|eyJ|://|bearer|basic|token|key|secret|pass|pwd|authorization|cookie",
    re.IGNORECASE,
)
"""Occurs in every text that a pattern above matches: one search instead of fourteen for all others."""


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

    def _names_secret(self, key: str) -> bool:
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = bool(_HINT.search(key) and _SECRET_NAME.fullmatch(key))
        return found

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
        if len(item) < 4 or item.startswith("[redacted: ") or not self._names_secret(key):
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
    if not _HINT.search(text):
        return text
    for kind, pattern in _TEXT:
        text = _replace(pattern, text, kind, kinds)
    text = _replace(_URL_PASSWORD, text, "password in a URL", kinds)
    text = _replace(_AUTHORIZATION, text, "authorization", kinds, joint=" ")
    return _replace(_ASSIGNED, text, "value of a secret's name", kinds)


def _replace(pattern: re.Pattern[str], text: str, kind: str, kinds: list[str], *, joint: str = "") -> str:
    """Replace the last group of each match, or all of it without groups; quotes around it stay."""

    def mark(match: re.Match[str]) -> str:
        kinds.append(kind)
        if not match.re.groups:
            return _mark(kind)
        quote = re.match(r"\\?[\"']|", match[2])
        edge = quote[0] if quote else ""
        return f"{match[1]}{joint}{edge}{_mark(kind)}{edge}"

    return pattern.sub(mark, text)
