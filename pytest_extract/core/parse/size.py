"""How much of an output is read: a bound on its bytes, and on the values in it."""

from __future__ import annotations

from typing import Final

from pytest_extract.core.results import Failure, FailureKind
from pytest_extract.core.values import Json, canonical_json

MAX_OUTPUT_BYTES: Final = 10_000_000
"""Bytes of an output that are read where nobody says otherwise; models write some hundred thousand at most."""
BYTES_A_VALUE: Final = 200
"""Bytes that a text, number, list or object counts for at least: that many values are scored at most."""
_TIMES_GOLD: Final = 10
"""An output may be so many times as large as its gold, whatever the default."""


def byte_count(text: str) -> int:
    """Length of a text in UTF-8; lone surrogates count as they are."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _too_large(message: str) -> Failure:
    hint = "raise it in the case, or for all cases by `extract_max_output_bytes`, where outputs may be that large"
    return Failure(kind=FailureKind.OUTPUT_TOO_LARGE, message=f"{message}; {hint}")


def too_many_bytes(output: str | bytes, gold: Json, limit: int | None) -> Failure | None:
    """Say that an output is longer than `limit` (None: the default, or ten times the gold)."""
    most = MAX_OUTPUT_BYTES if limit is None else limit
    if isinstance(output, str) and len(output) * 4 <= most:
        return None
    size = byte_count(output) if isinstance(output, str) else len(output)
    if size <= most or (limit is None and size <= _TIMES_GOLD * byte_count(canonical_json(gold))):
        return None
    return _too_large(f"the output has {size:,} bytes, more than the {most:,} of `max_output_bytes`")


def too_many_values(value: Json, gold: Json, limit: int | None, text: object = None) -> Failure | None:
    """Say that an output holds more values than `limit` allows: one for each 200 bytes, or ten times those of gold.

    `text`: what the value was read from; a short one need not be counted, as a value takes a character at least.
    """
    size = MAX_OUTPUT_BYTES if limit is None else limit
    most = size // BYTES_A_VALUE
    if isinstance(text, str) and len(text) <= most:
        return None
    count = count_nodes(value)
    if count <= most or count <= _TIMES_GOLD * count_nodes(gold):
        return None
    allowed = f"the {most:,} that `max_output_bytes` of {size:,} allows, one for each {BYTES_A_VALUE}"
    return _too_large(f"the output holds {count:,} values, more than {allowed}")


def count_nodes(value: Json) -> int:
    """Count the values in a value, itself and containers included, at any depth."""
    count, stack = 0, [value]
    while stack:
        node = stack.pop()
        count += 1
        stack += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return count
