"""JSON values, the value of a missing key, and places inside a document.

A place is a tuple of steps (a key or an index); its text is made last, so a key with a dot or a
bracket in it stays what it is.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from pytest_extract.lazy import lazy_pattern

# A recursive alias fails on invariance at every call; Any is honest at this edge.
Json: TypeAlias = Any
Step: TypeAlias = str | int

MAX_DEPTH: Final = 200
"""Deepest nesting that is read; real outputs stay below 20, and everything behind may recurse this far."""
_LONGEST_BITS: Final = 10_000
_LONG_BITS: Final = 2100  # below 640 digits, the least that Python's limit can be set to
_PLAIN_NAME = lazy_pattern(r"[^\W\d][\w\-]*")
_STEP_TEXT = lazy_pattern(r'\.?([^\W\d][\w\-]*)|\[(-?\d+)\]|\[("(?:[^"\\]|\\.)*")\]')


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "MISSING"

    __hash__ = object.__hash__  # an enum's own is a function in Python, and many keys of rows hold MISSING

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing.MISSING
"""A key that is not there; distinct from an explicit null (`None`)."""

Value: TypeAlias = Json | Missing
"""What is at a place of a document."""
Values: TypeAlias = tuple[Value, Value]
"""What is at a place of gold, and of the output."""


CONTAINERS: Final = (dict, list)
NUMBERS: Final = (int, float)
"""For `isinstance` where it is called for every value: `dict | list` takes twice the time there."""
MARSHAL_VERSION: Final = 2
"""The format of marshal that writes equal content alike, and tells 1 from True and lists from tuples."""


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

    @classmethod
    def parse(cls, text: str) -> FieldPath:
        """Return the path that `str` writes as this text; ValueError for a text that is no path."""
        return _parsed(text)

    @property
    def parents(self) -> Iterator[FieldPath]:
        """The containers of this place, nearest first, the root last."""
        return (FieldPath(self[:size]) for size in range(len(self) - 1, -1, -1))


@lru_cache(maxsize=16_384)
def _parsed(text: str) -> FieldPath:
    if text == "$":
        return FieldPath()
    parent, _, name = text.rpartition(".")
    if parent and parent != "$" and _PLAIN_NAME.fullmatch(name):  # the fields of a row share the parent's path
        return FieldPath((*_parsed(parent), name))
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP_TEXT.match(text, at)
        if match is None or (match[1] is not None and (text[at] == ".") is (at == 0)):
            raise ValueError(f"{text!r} is not a path")
        if match[1] is not None:
            steps.append(match[1])
        else:
            steps.append(int(match[2]) if match[2] is not None else json.loads(match[3], strict=False))
        at = match.end()
    if not steps:
        raise ValueError("an empty text is not a path; the root is `$`")
    return FieldPath(steps)


def at_or_below(path: str, place: str) -> bool:
    """Whether a path (or a pattern), as text, is a place or inside it: `a.b[0]` is inside `a.b`, and all in `$`."""
    return place in (path, "$") or path.startswith((f"{place}.", f"{place}["))


def as_place(steps: tuple[Step, ...]) -> FieldPath:
    """Return steps as a place; one that is a place already is not made anew."""
    return steps if type(steps) is FieldPath else FieldPath(steps)


def copied(value: Json) -> Json:
    """Return a JSON value that shares no list and no object with the given one."""
    if isinstance(value, dict):
        members = dict(value)
        for name, item in value.items():
            if isinstance(item, CONTAINERS):
                members[name] = copied(item)
        return members
    if isinstance(value, list):
        items = list(value)
        for index, item in enumerate(value):
            if isinstance(item, CONTAINERS):
                items[index] = copied(item)
        return items
    return value


def path_text(steps: tuple[Step, ...]) -> str:
    """Text of a path: `a.b[0].c`; `$` for the root."""
    return "".join([f"[{step}]" if isinstance(step, int) else _key_text(step) for step in steps]).lstrip(".") or "$"


@lru_cache(maxsize=16_384)
def _key_text(key: str) -> str:
    return f".{key}" if _PLAIN_NAME.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"


DEEPEST_WRITTEN: Final = 150
"""Containers nested deeper than this are written as a text."""


def writable(value: object, depth: int = 0) -> Json:
    """Return a value that JSON can hold: what it cannot, is too deep or too long, becomes a text that describes it.

    Integers of more than some 3,000 digits are too long. A value that needs no change is copied all the same.
    """
    match value:
        case None | bool() | str():
            return value
        case float():
            return value if math.isfinite(value) else repr(value)
        case int():
            return value if value.bit_length() < _LONGEST_BITS else f"<an integer of {value.bit_length()} bits>"
        case Mapping() if depth < DEEPEST_WRITTEN:
            return {_writable_key(key): writable(item, depth + 1) for key, item in value.items()}
        case list() | tuple() if depth < DEEPEST_WRITTEN:
            return [writable(item, depth + 1) for item in value]
        case Mapping() | list() | tuple():
            return f"<nested deeper than {DEEPEST_WRITTEN} levels>"
        case _:
            return f"<{type(value).__module__}.{type(value).__qualname__}>"


def _writable_key(key: object) -> str:
    return key if isinstance(key, str) else f"<{type(key).__qualname__} key>"


_JSON_TYPES: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    Missing: "missing",
}


def json_type(value: Json) -> str:
    """Return the JSON Schema type name: null, boolean, integer, number, string, array or object.

    A float is `number`, even 3.0; MISSING is `missing`.
    """
    found = _JSON_TYPES.get(type(value))
    if found is None:  # a subclass, or no JSON
        found = next((name for kind, name in _JSON_TYPES.items() if isinstance(value, kind)), type(value).__name__)
    return found


_canonical: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
_quote: Final = json.encoder.encode_basestring


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text, hex; lone surrogates count as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def short_repr(value: object, limit: int = 60) -> str:
    """Return `repr(value)` for a message, cut after `limit` characters; never raises for JSON of any size."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of more digits than Python writes, or nested too deep
        return f"a value that is too long to show ({type(value).__name__})"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def text_below(value: float, bound: float, style: Literal["f", "g"]) -> str:
    """Write a value that misses a bound with as many digits, three or more, as it takes to read as below the bound."""
    for digits in range(3, 17):
        text = f"{value:.{digits}{style}}"
        if float(text) < bound:
            return text
    return repr(value)


def canonical_json(value: Json) -> str:
    """Return one text per JSON value: sorted keys, no white space; 1 and 1.0 differ, as do 1 and true.

    An integer with more digits than Python writes (`sys.get_int_max_str_digits`) is written as a hexadecimal text.
    """
    kind = type(value)
    if kind is str:  # scalars in a fifth of the time
        return _quote(value)
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is int and value.bit_length() <= _LONG_BITS:
        return int.__repr__(value)
    if kind is float and math.isfinite(value):
        return float.__repr__(value)
    try:
        return _canonical(value)
    except ValueError:
        return _canonical(_with_hex_integers(value))


def _with_hex_integers(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _with_hex_integers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_hex_integers(inner) for inner in value]
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


def value_at(value: Json, steps: Sequence[Step]) -> Json | Missing:
    """Return what stands at a place of a JSON value; MISSING where nothing does."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return MISSING
        elif not isinstance(value, list) or not -len(value) <= step < len(value):
            return MISSING
        value = value[step]
    return value
