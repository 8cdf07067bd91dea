"""Regular expressions of schemas: JSON Schema's are those of ECMA-262, with the flag `u`.

jsonschema-rs reads them so, in linear time. What its engine does not take (assertions about what follows, `[^]`) is
translated to Python's syntax and matched by ours.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Any

from pytest_extract.core.regex.linear import LinearRegex, compile_linear
from pytest_extract.lazy import lazy_pattern

_TOKEN = lazy_pattern(
    r"""\\c(?P<control>[A-Za-z]) | \\u\{(?P<code>[0-9A-Fa-f]{1,6})\} | \\/ | \\. | \(\?<(?=[A-Za-z_$])
        | \[\^\] | \[\] | \[ | \] | \$""",
    re.VERBOSE | re.DOTALL,
)


class EcmaRegex:
    """A compiled expression of a schema: `search` says yes or no, or raises UndecidedError."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._rust = _compile_rust(pattern)
        if self._rust is None:
            self._own  # noqa: B018 - says what is wrong with it

    @cached_property
    def _own(self) -> LinearRegex:
        try:
            return LinearRegex(_as_python(self.pattern), re.ASCII)
        except ValueError:
            compile_linear(self.pattern)  # its message speaks of the pattern as it is written
            raise

    def search(self, text: str) -> bool:
        """Whether some part of the text matches."""
        if self._rust is not None:
            try:
                return bool(self._rust.is_valid(text))
            except (ValueError, TypeError):  # a lone surrogate
                pass
        return self._own.search(text)


@lru_cache(maxsize=256)
def compile_ecma(pattern: str) -> EcmaRegex:
    """Compile an expression of a schema; raises ValueError that says what is wrong with it, after "the pattern ..."."""
    try:
        return EcmaRegex(pattern)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _compile_rust(pattern: str) -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        return None
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())
    except (ValueError, TypeError):
        return None


def _as_python(pattern: str) -> str:
    """Write an expression of ECMA-262 in Python's syntax, as far as the two differ in words only."""
    in_set = False

    def translate(token: re.Match[str]) -> str:
        nonlocal in_set
        text = token[0]
        if token["control"]:
            return f"\\x{ord(token['control']) % 32:02x}"
        if token["code"] and int(token["code"], 16) < 0x110000:
            return f"\\U{int(token['code'], 16):08x}"
        if in_set:
            in_set = text != "]"
            return text
        in_set = text == "["
        return {r"\/": "/", "(?<": "(?P<", "[^]": r"[\s\S]", "[]": "(?!)", "$": r"\Z"}.get(text, text)

    return _TOKEN.sub(translate, pattern)
