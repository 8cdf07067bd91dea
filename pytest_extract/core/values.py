"""JSON values, the value that stands for a missing key, and places inside a document.

A place is a tuple of steps (a key or an index); its text is made last, so a key with a dot or a
bracket in it stays what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, TypeAlias

# A recursive alias fails on invariance at every call; Any is honest at this edge.
Json: TypeAlias = Any
Step: TypeAlias = str | int

_LONG_BITS: Final = 2100  # below 640 digits, the least that Python's limit can be set to
_PLAIN_NAME = re.compile(r"[^\W\d][\w\-]*")


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing.MISSING
"""A key that is not there; distinct from an explicit null (`None`)."""


class FieldPath(tuple[Step, ...]):
    """A place in a document: keys and indices from the root; `()` is the root.

    Its text is `a.b[0].c`, `$` for the root, `["odd.key"]` for a key that is no plain name.
    Negative indices name invented rows: `rows[-1]` is the first.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return path_text(self)

    def __repr__(self) -> str:
        return f"FieldPath({path_text(self)!r})"


def as_place(steps: tuple[Step, ...]) -> FieldPath:
    """Return steps as a place; one that is a place already is not made anew."""
    return steps if type(steps) is FieldPath else FieldPath(steps)


def copied(value: Json) -> Json:
    """Return a JSON value that shares no list and no object with the given one."""
    if isinstance(value, dict):
        members = dict(value)
        for name, item in value.items():
            if isinstance(item, dict | list):
                members[name] = copied(item)
        return members
    if isinstance(value, list):
        items = list(value)
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                items[index] = copied(item)
        return items
    return value


def path_text(steps: tuple[Step, ...]) -> str:
    """Text of a path: `a.b[0].c`; `$` for the root."""
    if not steps:
        return "$"
    parts: list[str] = []
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_NAME.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(parts)


def json_type(value: Json) -> str:
    """Return the JSON Schema type name: null, boolean, integer, number, string, array or object.

    A float is `number`, even 3.0; MISSING is `missing`.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case Missing.MISSING:
            return "missing"
        case _:
            return type(value).__name__


def canonical_json(value: Json) -> str:
    """Return one text per JSON value: sorted keys, no white space; 1 and 1.0 differ, as do 1 and true.

    An integer with more digits than Python writes (`sys.get_int_max_str_digits`) is written as a hexadecimal text.
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return json.dumps(_writable(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _writable(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _writable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_writable(inner) for inner in value]
    return hex(value) if type(value) is int and value.bit_length() > _LONG_BITS else value


def iter_leaves(value: Json, path: tuple[Step, ...] = ()) -> Iterator[tuple[FieldPath, Json]]:
    """Yield every scalar (null included) with its path, in document order; empty containers have none."""
    stack: list[tuple[tuple[Step, ...], Json]] = [(path, value)]
    while stack:
        here, node = stack.pop()
        if isinstance(node, dict):
            stack.extend(((*here, key), node[key]) for key in reversed(node))
        elif isinstance(node, list):
            stack.extend(((*here, index), node[index]) for index in reversed(range(len(node))))
        else:
            yield FieldPath(here), node
