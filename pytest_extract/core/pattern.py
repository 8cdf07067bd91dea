"""Pattern paths: the text of a place in a schema, `items[].price`, as results, thresholds and overrides write it."""

from __future__ import annotations

from typing import Final

from pytest_extract.core.values import path_text

ROOT: Final = "$"


def property_pattern(parent: str, name: str) -> str:
    """Return the pattern of a declared property."""
    text = path_text((name,))
    if parent == ROOT:
        return text
    return f"{parent}{text}" if text.startswith("[") else f"{parent}.{text}"


def any_property_pattern(parent: str) -> str:
    """Return the pattern of the keys that a schema for further properties covers: `meta.*`."""
    return "*" if parent == ROOT else f"{parent}.*"


def items_pattern(parent: str) -> str:
    """Return the pattern of an array's rows."""
    return "[]" if parent == ROOT else f"{parent}[]"


def place_pattern(parent: str, index: int) -> str:
    """Return the pattern of one place of a tuple."""
    return f"[{index}]" if parent == ROOT else f"{parent}[{index}]"


def normal_pattern(text: str) -> str:
    """Return the usual spelling of a pattern that somebody wrote: `$.a.b` is `a.b`."""
    text = text.strip()
    if text.startswith("$."):
        return text[2:]
    return text[1:] if text.startswith("$[") else text
