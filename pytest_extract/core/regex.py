"""Regular expressions as JSON Schema has them (ECMA-262, flag `u`), matched by jsonschema-rs in bounded steps."""

from __future__ import annotations

import re
from functools import lru_cache


class Regex:
    """A compiled expression; raises ValueError that says what is wrong with it, after "the pattern ..."."""

    def __init__(self, pattern: str) -> None:
        import jsonschema_rs

        self.pattern = pattern
        try:
            self._compiled = jsonschema_rs.Draft202012Validator({"pattern": pattern})
        except (ValueError, TypeError):
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as problem:
                raise ValueError(f"is no regular expression: {problem}") from None
            raise ValueError("is no regular expression as in JavaScript (ECMA-262)") from None

    def search(self, text: str) -> bool:
        """Whether some part of the text matches."""
        return self._compiled.is_valid(without_surrogates(text))


@lru_cache(maxsize=256)
def compile_regex(pattern: str) -> Regex:
    """Compile an expression of a schema; raises ValueError as `Regex` does."""
    return Regex(pattern)


def without_surrogates(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate: JSON can hold them, jsonschema-rs does not take them."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
