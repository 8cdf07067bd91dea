"""Pattern paths: the text of a place in a schema, `items[].price`, as results, thresholds and overrides write it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from typing import Final, TypeAlias

from pytest_extract.core.values import Step, path_text
from pytest_extract.lazy import lazy_pattern

ROOT: Final = "$"


def property_pattern(parent: str, name: str) -> str:
    """Return the pattern of a declared property."""
    if name.isascii() and name.isidentifier():
        return name if parent == ROOT else f"{parent}.{name}"
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


def is_row(pattern: str) -> bool:
    """Whether a place is an element of a list: `cells[]`, or `cells[0]` of a tuple; `["0"]` is a key."""
    return pattern.endswith("]") and not pattern.endswith('"]')


def place_pattern(parent: str, index: int) -> str:
    """Return the pattern of one place of a tuple."""
    return f"[{index}]" if parent == ROOT else f"{parent}[{index}]"


def normal_pattern(text: str) -> str:
    """Return the usual spelling of a pattern that somebody wrote: `$.a.b` is `a.b`."""
    text = text.strip()
    if text.startswith("$."):
        return text[2:]
    return text[1:] if text.startswith("$[") else text


class AnyKey(Enum):
    """The step of `meta.*`: every key that the schema does not name itself."""

    ANY_KEY = "*"


ANY_KEY: Final = AnyKey.ANY_KEY
FieldStep: TypeAlias = str | int | AnyKey | None
"""A key (`["*"]` too), an index, None for "every row" (`[]`), or ANY_KEY for "every further key" (`*`)."""

_STEP = lazy_pattern(r'\.?([^.\[\]"]+)|\[(-?[0-9]{0,9})\]|\[("(?:[^"\\]|\\.)*")\]')
_DEEPEST: Final = 200


def parse_field(text: str) -> tuple[FieldStep, ...] | None:
    """Return the steps of a field's path, `()` for the root; None when the text is no path."""
    text = normal_pattern(text)
    if text == ROOT:
        return ()
    steps: list[FieldStep] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            return None
        named = match.group(1) is not None
        if (text[at] == ".") != (named and at > 0):
            return None
        if named:
            steps.append(ANY_KEY if match.group(1) == "*" else match.group(1))
        elif match.group(3) is not None:
            try:
                steps.append(json.loads(match.group(3)))
            except json.JSONDecodeError:
                return None
        else:
            steps.append(int(match.group(2)) if match.group(2).strip("-") else None)
        at = match.end()
    return tuple(steps) if 0 < len(steps) <= _DEEPEST else None


def pattern_of(path: Iterable[Step]) -> str:
    """Return the pattern of a concrete place, with `[]` for every index."""
    return field_text(tuple(None if isinstance(step, int) else step for step in path))


def field_text(steps: tuple[FieldStep, ...]) -> str:
    """Return the one spelling of a field's path that results use: `["odd.key"]` for a key that is no plain name."""
    text = ""
    for step in steps:
        if step is None:
            text += "[]"
        elif isinstance(step, AnyKey):
            text = any_property_pattern(text or ROOT)
        elif isinstance(step, str) and text and not (part := path_text((step,))).startswith("["):
            text += f".{part}"
        else:
            text += path_text((step,))
    return text or ROOT


def usual(text: str) -> str:
    """Return a field's path in the spelling of results; a text that is no path stays as it is."""
    steps = parse_field(text)
    return text if steps is None else field_text(steps)
