"""A JSON Schema document as layers: `$ref` and `allOf` seen through without copying, every layer with its pointer.

A schema object, what it refers to and what it is composed of describe one node together; the nearest layer comes first
and wins. Nothing is fetched: a `$ref` that leads out of the document is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from pytest_extract.core.values import Json


class Ref(NamedTuple):
    """A schema object by its pointer; `bare`: without its `anyOf` and `oneOf`, which have been looked at already."""

    pointer: str
    bare: bool = False


Key: TypeAlias = tuple[Ref, ...]
"""The schema objects that make one node together, nearest first."""
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


class RefLayer(NamedTuple):
    """One schema object of a node."""

    pointer: str
    schema: dict[str, Json]
    bare: bool


class Layers(NamedTuple):
    """The layers of a node; `dangling` names the references among them that lead nowhere."""

    layers: tuple[RefLayer, ...]
    dangling: tuple[str, ...] = ()


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
            elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
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
                    queue.extend(reversed(list(self._composed(pointer, schema, dangling))))
        found = Layers(tuple(layer for layer in layers.values() if layer is not None), tuple(dangling))
        self._expanded[key] = found
        return found

    def _composed(self, pointer: str, schema: dict[str, Json], dangling: list[str]) -> Iterator[str]:
        for keyword in REFERENCES:
            if isinstance(ref := schema.get(keyword), str):
                target = self.target(ref)
                if target is None:
                    dangling.append(ref)
                else:
                    yield target
        if isinstance(branches := schema.get("allOf"), list):
            yield from (f"{pointer}/allOf/{index}" for index in range(len(branches)))

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
