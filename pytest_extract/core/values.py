"""JSON values, the value of a missing key, places inside a document, the patterns of places, and of texts.

A place is a tuple of steps (a key or an index); its text is made last, so a key with a dot or a bracket in it stays
what it is. A pattern, `items[].price`, is the text of a place in a schema, as results, thresholds and overrides write
it. The patterns of texts are regular expressions as JSON Schema has them (ECMA-262, flag `u`), matched by jsonschema-rs
in bounded steps.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias

# A recursive alias fails on invariance at every call; Any is honest at this edge.
Json: TypeAlias = Any
Step: TypeAlias = str | int

MAX_DEPTH: Final = 96
"""Deepest nesting that is read; real outputs stay below 20, and everything behind may recurse this far."""
_PLAIN_NAME = re.compile(r"[^\W\d][\w\-]*")
_STEP_START = re.compile(r"(?!^)[.\[]")


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
        """Return the place that a text names, as `parse_field` reads it; ValueError for a text that names none."""
        steps = parse_field(text)
        if steps is None or None in steps or ANY_KEY in steps:
            raise ValueError(f"{text!r} is not a path")
        return cls(steps)  # type: ignore[arg-type]

    @property
    def parents(self) -> Iterator[FieldPath]:
        """The containers of this place, nearest first, the root last."""
        return (FieldPath(self[:size]) for size in range(len(self) - 1, -1, -1))


def at_or_below(path: str, place: str) -> bool:
    """Whether a path (or a pattern), as text, is a place or inside it: `a.b[0]` is inside `a.b`, and all in `$`."""
    return place in (path, "$") or path.startswith((f"{place}.", f"{place}["))


def places_around(place: str) -> list[str]:
    """Return a path or pattern, as text, and all that contain it (`at_or_below`)."""
    return [place, *(place[: match.start()] for match in _STEP_START.finditer(place)), "$"]


def as_place(steps: tuple[Step, ...]) -> FieldPath:
    """Return steps as a place; one that is a place already is not made anew."""
    return steps if type(steps) is FieldPath else FieldPath(steps)


def copied(value: Json) -> Json:
    """Return a JSON value that shares no list and no object with the given one."""
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


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
    kind = type(value)
    return _JSON_TYPES.get(kind) or next(
        (_JSON_TYPES[base] for base in kind.__mro__ if base in _JSON_TYPES), kind.__name__
    )


def with_article(name: str) -> str:
    """Return the name of a type with its article: "a string", "an array", "null"."""
    return name if name == "null" else f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


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


ROUNDING: Final = 1e-12
"""How far a value may be beyond a bound and still meet it: means of floats have an error in their last digits."""


def nearly(share: float, whole: float = 100, digits: int = 1) -> str:
    """Write a share that rounding, as a part of `whole`, takes for none or all: `< 0.1`, `> 99.9`; "" for any other."""
    rounded, least = round(share * whole, digits), 10**-digits
    if not 0 < share < 1 or rounded not in (0, whole):
        return ""
    return f"> {whole - least:.{digits}f}" if rounded else f"< {least:.{digits}f}"


def text_below(value: float, bound: float, style: Literal["f", "g"], least: int = 3) -> str:
    """Write a value that misses a bound with as many digits, at `least`, as it takes to read as below the bound."""
    for digits in range(least, 17):
        text = f"{value:.{digits}{style}}"
        if float(text) < bound:
            return text
    return repr(value)


canonical_json: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=repr).encode
"""Return one text per JSON value: sorted keys, no white space; 1 and 1.0 differ, as do 1 and true; MISSING has one."""


def iter_leaves(
    value: Json, *, empty_lists: bool = False, containers: bool = False
) -> Iterator[tuple[FieldPath, Json]]:
    """Yield every scalar (null included) with its path, in document order; empty containers have none.

    `empty_lists`: a list without items is yielded as well; `containers`: so is every object and list, before its items.
    """
    stack: list[tuple[tuple[Step, ...], Json]] = [((), value)]
    while stack:
        here, node = stack.pop()
        if containers and isinstance(node, CONTAINERS):
            yield FieldPath(here), node
        if isinstance(node, dict):
            stack.extend(((*here, key), node[key]) for key in reversed(node))
        elif isinstance(node, list) and (node or not empty_lists):
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


def replaced(value: Json, steps: Sequence[Step], part: Json | Missing) -> Json:
    """Return a copy of a value with another part at a place, or, for MISSING, without that key or row.

    Raises IndexError for a row behind one that is not there.
    """
    root = {ROOT: copied(value)}
    put_value(root, (ROOT, *steps), part)
    return root[ROOT]


def put_value(root: Json, steps: Sequence[Step], value: Json | Missing) -> None:
    """Set the part at `steps` as `replaced` does; what is not there on the way is made."""
    for step, inner in pairwise(steps):
        kind = list if isinstance(inner, int) else dict
        if not isinstance(value_at(root, (step,)), kind):
            _set(root, step, kind())
        root = root[step]
    if value is not MISSING:
        _set(root, steps[-1], copied(value))
    elif value_at(root, steps[-1:]) is not MISSING:
        del root[steps[-1]]


def _set(container: Json, step: Step, value: Json) -> None:
    if isinstance(container, list) and step == len(container):
        container.append(value)
    else:
        container[step] = value


ROOT: Final = "$"


class AnyKey(Enum):
    """The step of `meta.*`: every key that the schema does not name itself."""

    ANY_KEY = "*"


ANY_KEY: Final = AnyKey.ANY_KEY
FieldStep: TypeAlias = str | int | AnyKey | None
"""A key (`["*"]` too), an index, None for "every row" (`[]`), or ANY_KEY for "every further key" (`*`)."""


def path_text(steps: Iterable[FieldStep]) -> str:
    """Return the one spelling of a place or a pattern: `a.b[0].c`, `items[].price`, `meta.*`; `$` for the root."""
    return "".join(map(_step_text, steps)).removeprefix(".") or ROOT


def path_below(parent: str, step: FieldStep) -> str:
    """Return the text of what a step leads to from a place or a pattern, as text."""
    return _step_text(step).removeprefix(".") if parent == ROOT else parent + _step_text(step)


@lru_cache(maxsize=16_384)
def _step_text(step: FieldStep) -> str:
    if isinstance(step, str):
        return f".{step}" if _PLAIN_NAME.fullmatch(step) else f"[{json.dumps(step, ensure_ascii=False)}]"
    if step is None:
        return "[]"
    return f"[{step}]" if isinstance(step, int) else ".*"


def is_row(pattern: str) -> bool:
    """Whether a place is an element of a list: `cells[]`, or `cells[0]` of a tuple; `["0"]` is a key."""
    return pattern.endswith("]") and not pattern.endswith('"]')


_STEP = re.compile(
    r'(?:^|(?!^)\.)([^.\[\]"]+)|\[(-?[0-9]{1,9})?\]|\[("(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")\]'
)


@lru_cache(maxsize=16_384)
def parse_field(text: str) -> tuple[FieldStep, ...] | None:
    """Return the steps of a field's path, `()` for the root; None when the text is no path. `$.a.b` is `a.b`."""
    text = text.strip()
    if text == ROOT:
        return ()
    if text.startswith(("$.", "$[")):
        text = text[1:].removeprefix(".")
    steps: list[FieldStep] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        match found.lastindex:
            case 1:
                steps.append(ANY_KEY if found[1] == "*" else found[1])
            case 2:
                steps.append(int(found[2]))
            case 3:
                steps.append(json.loads(found[3], strict=False))
            case _:
                steps.append(None)
        at = found.end()
    return tuple(steps) if 0 < len(steps) <= MAX_DEPTH else None


def pattern_of(path: Iterable[Step]) -> str:
    """Return the pattern of a concrete place, with `[]` for every index."""
    return path_text(None if isinstance(step, int) else step for step in path)


def usual(text: str) -> str:
    """Return a field's path in the spelling of results; a text that is no path stays as it is."""
    steps = parse_field(text)
    return text if steps is None else path_text(steps)


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


compile_regex: Final = lru_cache(maxsize=256)(Regex)
"""Compile an expression of a schema; raises ValueError as `Regex` does."""


def without_surrogates(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate: JSON can hold them, jsonschema-rs does not take them."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- texts as they are compared, and keys that two values share exactly where they are equal


def fold(text: str) -> str:
    """Return `text` after Unicode NFC with each run of white space as one space and none at the ends."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def fold_case(text: str) -> str:
    """Return `fold(text)` without case (Unicode casefold, so "STRASSE" and "straße" agree)."""
    return fold(text.lower()) if text.isascii() else fold(fold(text).casefold())


def folding(*, case_sensitive: bool) -> Callable[[str], str]:
    """Return `fold` or `fold_case`."""
    return fold if case_sensitive else fold_case


_WIDE = {0xFF01 + offset: 0x21 + offset for offset in range(94)}
_INVISIBLE = [0x00AD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF]
_SIGNS = {0x2010: "-", 0x2011: "-", 0xFFE0: "¢", 0xFFE1: "£", 0xFFE5: "¥", 0xFFE6: "₩"}
_PLAIN_FORMS: Mapping[int, int | str | None] = {**_WIDE, **_SIGNS, **dict.fromkeys(_INVISIBLE)}


def written(text: str) -> str:
    """Return `fold(text)` as a reader of numbers, dates and the like sees it.

    Full-width letters, digits and signs are the plain ones; what cannot be seen (marks of direction, joiners, soft
    hyphens), as copied from PDF files, is gone.
    """
    return " ".join(text.split()) if text.isascii() else fold(text.translate(_PLAIN_FORMS))


def a_type(value: Json) -> str:
    """Name the JSON type with its article: "a string", "an array", "null"."""
    return with_article(json_type(value))


def types_differ(gold: Json, extracted: Json) -> str:
    """Say which type was expected, and which came."""
    return f"{a_type(gold)} expected, got {a_type(extracted)}"


def short_json(value: Json, limit: int = 60) -> str:
    """Return the value as JSON text, cut after `limit` characters."""
    text = canonical_json(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def is_number(value: Json) -> bool:
    """Whether the value is a JSON number that is one: no boolean, no NaN."""
    return isinstance(value, NUMBERS) and not isinstance(value, bool) and not is_nan(value)


def is_nan(value: Json) -> bool:
    """Whether the value is NaN; total, unlike `math.isnan`, which refuses large integers."""
    return isinstance(value, float) and math.isnan(value)


def same(gold: Json, extracted: Json) -> bool:
    """JSON equality: numbers by value (1 is 1.0), true is never 1, NaN is itself, key order does not count."""
    return same_key(gold) == same_key(extracted)


def same_key(value: Json) -> Hashable:
    """Return a hashable key that two values share exactly where `same` holds."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return (value, "")
    if isinstance(value, NUMBERS):
        return ("nan",) if is_nan(value) else (value,)
    return _keyed_by_content(value, same_key)


def _keyed_by_content(value: Json, inner: Callable[[Json], Hashable]) -> Hashable:
    """Return the key of an object or a list, by the keys of what is in it; anything else is its own, but NaN."""
    if isinstance(value, dict):
        return frozenset((name, inner(item)) for name, item in value.items())
    if isinstance(value, list):
        return ("list", *map(inner, value))
    return ("nan",) if is_nan(value) else value


def text_key(value: Json) -> Hashable:
    """Return the key of `text`: a string after NFC and white space folding, any other value as `same_key`."""
    return fold(value) if isinstance(value, str) else same_key(value)


def typed_key(value: Json) -> Hashable:
    """Return a key shared where the types are one and Python's `==` holds (struct-extract-eval's exact)."""
    return type(value), _python_key(value)


def _python_key(value: Json) -> Hashable:
    return _keyed_by_content(value, _python_key)


def strict_key(value: Json) -> Hashable:
    """Return a key that two values share when they are the same JSON of the same types: 1, 1.0 and true all differ."""
    if isinstance(value, CONTAINERS):
        return type(value), canonical_json(value)
    return type(value), "nan" if is_nan(value) else value
