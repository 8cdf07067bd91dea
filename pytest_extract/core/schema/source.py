"""A JSON Schema document as layers: `$ref` and `allOf` seen through without copying, every layer with its pointer.

A schema object, what it refers to and what it is composed of describe one node together; the nearest layer comes first
and wins. Nothing is fetched: a `$ref` that leads out of the document is unknown. Properties are schemas themselves, the
words of an `enum` or an example are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from pytest_extract.core.values import Json
from pytest_extract.errors import SchemaError


class Ref(NamedTuple):
    """A schema object by its pointer; `bare`: without its `anyOf` and `oneOf`, which have been looked at already."""

    pointer: str
    bare: bool = False


Key: TypeAlias = tuple[Ref, ...]
"""The schema objects that make one node together, nearest first."""
INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
"""A part of a JSON pointer that counts in a list (RFC 6901)."""
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


class RefLayer(NamedTuple):
    """One schema object of a node."""

    pointer: str
    schema: dict[str, Json]
    bare: bool


class Layers(NamedTuple):
    """The layers of a node; `dangling` names the references among them that lead nowhere.

    `impossible`: one of them is the schema `false`, which allows no value.
    """

    layers: tuple[RefLayer, ...]
    dangling: tuple[str, ...] = ()
    impossible: bool = False


def escape(name: str) -> str:
    """Escape a name as one token of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


class SchemaSource:
    """One schema document: looks up pointers and anchors, and expands keys to layers."""

    def __init__(self, root: Json) -> None:
        self.root = root
        self._anchors: dict[str, str] | None = None
        self._expanded: dict[Key, Layers] = {}

    def at(self, pointer: str) -> Json:
        """Return the value at a JSON pointer; raises KeyError where there is none."""
        value = self.root
        for token in pointer.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict):
                value = value[name]
            elif isinstance(value, list) and INDEX.fullmatch(name) and int(name) < len(value):
                value = value[int(name)]
            else:
                raise KeyError(pointer)
        return value

    def expand(self, key: Key) -> Layers:
        """Return the layers of a node: its objects, what they refer to, and their `allOf`, each once."""
        if key in self._expanded:
            return self._expanded[key]
        layers: dict[str, RefLayer | None] = {}
        dangling: list[str] = []
        bare = {ref.pointer for ref in key if ref.bare}
        queue = [ref.pointer for ref in reversed(key)]
        while queue:
            pointer = queue.pop()
            if pointer not in layers:
                schema = self.at(pointer)
                layers[pointer] = RefLayer(pointer, schema, pointer in bare) if isinstance(schema, dict) else None
                if isinstance(schema, dict):
                    references = [*self.references(schema)]
                    dangling += [ref for ref, target in references if target is None]
                    led = [target for _, target in references if target is not None]
                    if isinstance(branches := schema.get("allOf"), list):
                        led += [f"{pointer}/allOf/{index}" for index in range(len(branches))]
                    queue += reversed(led)
        impossible = any(layer is None and self.at(pointer) is False for pointer, layer in layers.items())
        found = tuple(layer for layer in layers.values() if layer is not None)
        self._expanded[key] = Layers(found, tuple(dangling), impossible)
        return self._expanded[key]

    def references(self, schema: Mapping[str, Json]) -> Iterator[tuple[str, str | None]]:
        """Yield what a schema refers to, and where that stands in the document, None where it leads out of it."""
        for keyword in REFERENCES:
            if isinstance(ref := schema.get(keyword), str):
                yield ref, self.target(ref)

    def target(self, ref: str) -> str | None:
        """Return the pointer that a `$ref` means inside this document, None where it leads nowhere or outside."""
        base, _, fragment = ref.partition("#")
        own = self.root.get("$id") if isinstance(self.root, dict) else None
        if base and base != (own.partition("#")[0] if isinstance(own, str) else None):
            return self._anchor(ref)
        pointer = unquote(fragment)
        if pointer and not pointer.startswith("/"):
            return self._anchor(fragment)
        try:
            self.at(pointer)
        except KeyError:
            return None
        return pointer

    def _anchor(self, name: str) -> str | None:
        if self._anchors is None:
            self._anchors = dict(_anchors(self.root))
        return self._anchors.get(name)


def _anchors(root: Json) -> Iterator[tuple[str, str]]:
    """Yield (anchor or `$id`, pointer) of every object of the document."""
    stack: list[tuple[str, Json]] = [("", root)]
    while stack:
        pointer, value = stack.pop()
        if isinstance(value, dict):
            for keyword in ("$anchor", "$dynamicAnchor", "$id", "id"):
                if isinstance(name := value.get(keyword), str):
                    yield name.removeprefix("#"), pointer
            stack.extend((f"{pointer}/{escape(name)}", item) for name, item in value.items() if isinstance(name, str))
        elif isinstance(value, list):
            stack.extend((f"{pointer}/{index}", item) for index, item in enumerate(value))


Change = Callable[[dict[str, Json], str], Json]
"""(schema, its pointer) -> the schema to put there."""

_ONE: Final = (
    *("items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains"),
    *("propertyNames", "not", "if", "then", "else"),
)
_MANY: Final = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords below which a key is a name and no keyword."""
_DATA: Final = ("const", "enum", "default", "examples", "example")
"""Keywords whose values are no schemas, whatever they look like."""
EVERYWHERE: Final = (*_ONE, *_MANY, *NAMED)


def schema_objects(schema: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield every object of a schema that is a schema itself, with its pointer, the whole schema first."""
    stack: list[tuple[str, Json]] = [("", schema)]
    while stack:
        pointer, part = stack.pop()
        if isinstance(part, dict):
            yield pointer, part
            stack += _children(part, pointer)


def _children(schema: dict[str, Json], pointer: str) -> list[tuple[str, Json]]:
    """Return every object that is a schema directly inside a schema, with its pointer."""
    found: list[tuple[str, Json]] = []
    map_children(schema, pointer, lambda child, place: found.append((place, child)))
    return found


def map_children(
    schema: dict[str, Json], pointer: str, change: Change, keywords: tuple[str, ...] = EVERYWHERE
) -> dict[str, Json]:
    """Return the schema with every object that is one directly inside it (under one of `keywords`) changed."""
    return {
        name: _changed(name, value, f"{pointer}/{name}", change) if name in keywords else value
        for name, value in schema.items()
    }


def map_parts(schema: Json, change: Callable[[Json], Json]) -> Json:
    """Return a schema, or a list of some, with whatever stands inside it and may be a schema changed.

    That is all but data: definitions may stand under any key, as long as a reference leads to them.
    """
    made: Json = schema
    if isinstance(schema, list):
        made = []
        for part in schema:  # loops, not comprehensions: a deep schema takes half the frames
            made.append(change(part))
    elif isinstance(schema, dict):
        made = {}
        for name, part in schema.items():
            if name in _DATA:
                made[name] = part
            elif name in NAMED and isinstance(part, dict):
                made[name] = {}
                for key, inner in part.items():
                    made[name][key] = change(inner)
            else:
                made[name] = change(part)
    return made


def _changed(name: str, value: Json, pointer: str, change: Change) -> Json:
    if name in _MANY and isinstance(value, list):
        return [change(part, f"{pointer}/{at}") if isinstance(part, dict) else part for at, part in enumerate(value)]
    if name in NAMED and isinstance(value, dict):
        return {
            key: change(item, f"{pointer}/{escape(str(key))}") if isinstance(item, dict) else item
            for key, item in value.items()
        }
    if name in _ONE and isinstance(value, dict):
        return change(value, pointer)
    return value


MOST_LOOKS: Final = 10_000
"""Schemas that may hold for one value; FHIR's choice of all resources, the widest that we know, has some hundreds."""
_LONGEST: Final = 200
"""Steps from reference to reference at one value; whoever follows them needs a frame for each."""
_SAME_VALUE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
"""Keywords below which schemas hold for the same value."""


def refuse_endless(schema: Json) -> None:
    """Raise SchemaError for a schema that would never be done with a single value."""
    source = SchemaSource(schema)
    known: dict[str, tuple[int, int]] = {}

    def led_to(pointer: str) -> list[str]:
        """Return the places whose schemas hold for the same value as that at a place."""
        try:
            part = source.at(pointer)
        except KeyError:  # a schema made in Python may have keys that are no text
            return []
        if not isinstance(part, dict):
            return []
        own = {name: part[name] for name in _SAME_VALUE if name in part}
        found = [target for _, target in source.references(part) if target is not None]
        return found + [place for place, _ in _children(own, pointer)]

    def looks(pointer: str, level: int) -> tuple[int, int]:
        """Count the schemas that hold for a value by that at a pointer, and the steps to the last of them."""
        if pointer in known:
            return known[pointer]
        known[pointer] = 0, 0  # inside itself a schema is not looked at again
        places = led_to(pointer) if level <= _LONGEST else []
        below = [looks(place, level + 1) for place in places]
        number = 1 + sum(each for each, _ in below)
        steps = 1 + max((each for _, each in below), default=0)
        if number > MOST_LOOKS:
            often = f"each value here is held against {number:,} schemas (at most {MOST_LOOKS:,})"
            advice = "list once what leads to the same schemas again and again"
            raise SchemaError(f"{often}: {advice}", pointer=pointer)
        if level + steps > _LONGEST:
            message = f"references lead from here through more than {_LONGEST} schemas; refer to the last of them"
            raise SchemaError(message, pointer=pointer)
        known[pointer] = number, steps
        return number, steps

    at_once = frozenset((*REFERENCES, *_SAME_VALUE))
    for pointer, part in schema_objects(schema):
        if not at_once.isdisjoint(part):
            looks(pointer, 0)
