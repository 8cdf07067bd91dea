"""JSON Schema -> frozen nodes: what may stand at a place, and how the schema's annotations want it scored.

Any valid JSON Schema is read, of any draft; recursion is fine, because a node names its children by key and
`Schema.node` makes them when asked. Which metrics exist is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.schema.annotations import RULES_KEYWORD, Annotation, Dialect, parse_annotation
from pytest_extract.core.schema.source import Key, Ref, RefLayer, SchemaSource, escape
from pytest_extract.core.values import CONTAINERS, Json, Regex, compile_regex, json_type
from pytest_extract.errors import SchemaError

_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")
_OBJECT_KEYWORDS: Final = frozenset({"properties", "patternProperties", "additionalProperties"})
_ARRAY_KEYWORDS: Final = frozenset({"items", "prefixItems", "additionalItems"})
_BESIDE_BRANCHES: Final = frozenset({"type", "required", *_OBJECT_KEYWORDS, *_ARRAY_KEYWORDS})
_SILENT: Final = frozenset({"required", "title", "description", "not", "$comment", "minProperties", "maxProperties"})
"""Keywords of a branch that describes no value, and only demands keys of what is described beside it."""
_UNIONS: Final = ("anyOf", "oneOf")
_CLOSING: Final = ("additionalProperties", "unevaluatedProperties")
MOST_NODES: Final = 20_000
"""Nodes that are looked at for mistakes ahead of scoring; compositions can make exponentially many."""


_Known: TypeAlias = dict[tuple[int, int], bool]
_DEEP = 24
"""Levels that are looked at; what differs only below them is not told apart."""


class SchemaNode(NamedTuple):
    """One place of a schema, seen through `$ref` and `allOf`.

    types: JSON types that may stand here, null left out; empty: any.
    nullable: null may stand here; `via_union`: said by a type list or by `anyOf`, as extract-bench tells apart.
    properties, patterns, additional: children by name; `additional` is also True or False where the schema says so.
    branches: the alternatives of an `anyOf` or `oneOf` that really differ (null is `nullable` instead).
    values: what `const` or `enum` allow.
    dangling: a `$ref` here that leads nowhere; nothing is known below.
    format: the `format` that the schema names.
    fixed_length: a list that always has the same number of rows, as `minItems` and `maxItems` say.
    described: False where the schema is just true or false.
    bare_union: a choice (null counts) without metrics of its own, only its branches may have some.
    """

    pointer: str
    types: tuple[str, ...] = ()
    nullable: bool = False
    via_union: bool = False
    properties: Mapping[str, Key] = MappingProxyType({})
    patterns: tuple[tuple[Regex, Key], ...] = ()
    additional: Key | bool | None = None
    required: frozenset[str] = frozenset()
    items: Key | None = None
    prefix: tuple[Key, ...] = ()
    branches: tuple[Key, ...] = ()
    values: tuple[Json, ...] | None = None
    annotation: Annotation | None = None
    dangling: str | None = None
    described: bool = True
    format: str | None = None
    fixed_length: bool = False
    bare_union: bool = False

    def child(self, step: str | int) -> Key | None:
        """Return the key of what stands at a property or a row, None where the schema does not say."""
        if isinstance(step, int):
            return self.prefix[step] if 0 <= step < len(self.prefix) else self.items
        return self.properties.get(step) or (self.additional if isinstance(self.additional, tuple) else None)

    def children(self) -> list[Key]:
        """Return the keys of all children."""
        rest = (self.additional if isinstance(self.additional, tuple) else None, self.items)
        named = (*self.properties.values(), *(key for _, key in self.patterns))
        return [*named, *(key for key in rest if key is not None), *self.prefix, *self.branches]


class Schema:
    """A schema document, its nodes made on demand and kept; `problems` gathers configuration mistakes.

    A value that is no schema describes no place; the validator then reports that its schema gate fails.
    """

    root: Final[Key] = (Ref(""),)

    def __init__(self, document: Json) -> None:
        self._source = SchemaSource(document)
        self._nodes: dict[Key, SchemaNode] = {}
        self._annotations: dict[str, Annotation | None] = {}
        self.problems: list[SchemaError] = []

    def node(self, key: Key) -> SchemaNode:
        """Return the node of a key, the same one every time."""
        if key not in self._nodes:
            self._nodes[key] = self._make(key)
        return self._nodes[key]

    def walk(self) -> Iterator[SchemaNode]:
        """Yield every reachable node once, parents first, up to `MOST_NODES`."""
        seen = {self.root}
        queue = [self.root]
        for key in queue:
            node = self.node(key)
            yield node
            for child in node.children():
                if child not in seen and len(seen) < MOST_NODES:
                    seen.add(child)
                    queue.append(child)

    def description(self, path: Sequence[str | int]) -> str:
        """Return what the schema says a field is (`description`), "" where it says nothing; a list's row is any int."""
        key = self.root
        for step in path:
            nodes = [self.node(key)]
            nodes += [self.node(branch) for branch in nodes[0].branches]
            below = next((child for node in nodes if (child := node.child(step)) is not None), None)
            if below is None:
                return ""
            key = below
        layers = [*self._source.expand(key).layers, *self._source.expand((Ref(self.node(key).pointer),)).layers]
        texts = (layer.schema.get("description") for layer in layers)
        return next((text for text in texts if isinstance(text, str)), "")

    def annotated(self) -> list[SchemaNode]:
        """Return the nodes of `walk` that have a configuration."""
        return [node for node in self.walk() if node.annotation is not None]

    def dialects(self) -> frozenset[Dialect]:
        """Return which annotation dialects the nodes made so far use; a configuration of `nulls` only names none."""
        known = [found for found in self._annotations.values() if found is not None]
        return frozenset(
            found.dialect for found in known if found != Annotation(dialect=found.dialect, nulls=found.nulls)
        )

    def _make(self, key: Key) -> SchemaNode:
        layers, dangling, _ = self._source.expand(key)
        branches, null_branch = self._branches(layers)
        values = _values(layers)
        types, null = _json_types(layers, values)
        prefix, items = _items(layers)
        fewest, most = (_said(layers, keyword, (int, float)) for keyword in ("minItems", "maxItems"))
        node = SchemaNode(
            pointer=key[0].pointer,
            types=types,
            nullable=null or null_branch or True in _said(layers, "nullable", bool),
            via_union=null or null_branch or bool(_said(layers, "type", list)),
            properties=_named(layers, "properties"),
            patterns=tuple(_patterns(layers)),
            additional=_additional_properties(layers),
            required=frozenset(
                name for names in _said(layers, "required", list) for name in names if isinstance(name, str)
            ),
            items=items,
            prefix=prefix,
            values=values,
            annotation=self._annotation(layers),
            dangling=dangling[0] if dangling and not types else None,
            described=bool(layers),
            format=next(iter(_said(layers, "format", str)), None),
            fixed_length=bool(fewest and most) and max(fewest) == min(most),
        )
        bare = node.annotation is None or not node.annotation.metrics
        if len(branches) == 1:  # the one branch besides null describes this place
            only = self.node((*_without_unions(layers), *branches[0]))
            return only._replace(nullable=only.nullable or node.nullable, via_union=True, bare_union=bare)
        if branches and any(not _BESIDE_BRANCHES.isdisjoint(layer.schema) for layer in layers):
            # what is beside the union belongs to each branch
            branches = [(*branch, *_without_unions(layers)) for branch in branches]
        union = node.via_union or bool(branches)
        return node._replace(branches=tuple(branches), via_union=union, bare_union=union and bare)

    def _annotation(self, layers: tuple[RefLayer, ...]) -> Annotation | None:
        """Return the nearest layer's configuration, completed by the layers behind it."""

        def report(message: str, where: str) -> None:
            self.problems.append(SchemaError(message, pointer=where))

        merged: Annotation | None = None
        for pointer, schema, _ in reversed(layers):
            if pointer not in self._annotations:
                if RULES_KEYWORD in schema and pointer:
                    message = f"`{RULES_KEYWORD}` holds for the whole document: it stands at the root only"
                    report(message, f"{pointer}/{RULES_KEYWORD}")
                self._annotations[pointer] = parse_annotation(schema, pointer, report)
            own = self._annotations[pointer]
            merged = own.over(merged) if own is not None else merged
        return merged

    def _branches(self, layers: tuple[RefLayer, ...]) -> tuple[list[Key], bool]:
        """Return the keys of the alternatives that are not null, and whether null is one."""
        for layer in layers:
            for keyword in () if layer.bare else _UNIONS:
                listed = layer.schema.get(keyword)
                if isinstance(listed, list) and listed:
                    has_null = False
                    kept: list[Key] = []
                    for index in range(len(listed)):
                        key = (Ref(f"{layer.pointer}/{keyword}/{index}"),)
                        own = self._source.expand(key).layers
                        if _json_types(own, _values(own)) == ((), True):
                            has_null = True
                        elif not own or any(each.schema.keys() - _SILENT for each in own):
                            kept.append(key)
                    return kept, has_null
        return [], False

    def fits(self, node: SchemaNode, value: Json) -> bool:
        """Whether the value has a type, a constant and keys that the node allows, and so all the way down."""
        return self._fits(node, value, 0, {})

    def _fits(self, node: SchemaNode, value: Json, depth: int, known: _Known) -> bool:
        key = id(node), id(value)  # recursive alternatives ask again for each way that leads to a value
        if key not in known:
            known[key] = self._found(node, value, depth, known)
        return known[key]

    def _found(self, node: SchemaNode, value: Json, depth: int, known: _Known) -> bool:
        if (value is None and node.nullable) or depth > _DEEP:
            return True
        if node.branches:
            return any(self._fits(self.node(branch), value, depth + 1, known) for branch in node.branches)
        if not type_fits(node.types, value):
            return False
        if node.values is not None and not any(
            type(value) is type(one) and (isinstance(one, CONTAINERS) or value == one) for one in node.values
        ):
            return False
        below: list[tuple[Key | None, Json]] = []
        if isinstance(value, dict):
            if not node.required <= value.keys():
                return False
            for name, item in value.items():
                keys = [key for pattern, key in node.patterns if pattern.search(name)]
                keys += [node.properties[name]] if name in node.properties else []
                if not keys and node.additional is False:
                    return False
                if not keys and isinstance(node.additional, tuple):
                    keys = [node.additional]
                below += ((key, item) for key in keys)
        elif isinstance(value, list):
            below += ((node.child(index), item) for index, item in enumerate(value))
        return all(key is None or self._fits(self.node(key), item, depth + 1, known) for key, item in below)


def _without_unions(layers: tuple[RefLayer, ...]) -> Key:
    return tuple(Ref(layer.pointer, bare=True) for layer in layers)


def _said(layers: tuple[RefLayer, ...], keyword: str, kind: type | tuple[type, ...]) -> list[Any]:
    """Return what the layers say under a keyword, of the type that it should have."""
    return [value for layer in layers if isinstance(value := layer.schema.get(keyword), kind)]


def _named(layers: tuple[RefLayer, ...], keyword: str) -> dict[str, Key]:
    """Return the keys of the children that stand by name under a keyword."""
    found: dict[str, Key] = {}
    for layer in layers:
        listed = layer.schema.get(keyword)
        for name in listed if isinstance(listed, dict) else ():
            if isinstance(name, str):
                found[name] = (*found.get(name, ()), Ref(f"{layer.pointer}/{keyword}/{escape(name)}"))
    return found


def _values(layers: tuple[RefLayer, ...]) -> tuple[Json, ...] | None:
    for layer in layers:
        if "const" in layer.schema:
            return (layer.schema["const"],)
        if isinstance(listed := layer.schema.get("enum"), list):
            return tuple(listed)
    return None


def _json_types(layers: tuple[RefLayer, ...], values: tuple[Json, ...] | None) -> tuple[tuple[str, ...], bool]:
    """Return the JSON types besides null, and whether null is one of them."""
    found: tuple[str, ...] | None = None
    for layer in layers:
        listed = layer.schema.get("type")
        names = [listed] if isinstance(listed, str) else listed
        if isinstance(names, list) and (own := tuple(name for name in names if name in _TYPES)):
            common = own if found is None else tuple(name for name in found if name in own)
            found = common or found
    if found is None and values:
        found = tuple(dict.fromkeys(json_type(value) for value in values))
    if found is None:
        keywords = {keyword for layer in layers for keyword in layer.schema}
        found = ("object",) if keywords & _OBJECT_KEYWORDS else ("array",) if keywords & _ARRAY_KEYWORDS else ()
    return tuple(name for name in found if name != "null"), "null" in found


def _patterns(layers: tuple[RefLayer, ...]) -> Iterator[tuple[Regex, Key]]:
    for text, key in _named(layers, "patternProperties").items():
        with suppress(ValueError):  # its keys are undeclared, and the schema gate reports why
            yield compile_regex(text), key


def _additional_properties(layers: tuple[RefLayer, ...]) -> Key | bool | None:
    for layer in layers:
        for keyword in _CLOSING:
            value = layer.schema.get(keyword)
            if isinstance(value, bool):
                return value
            if isinstance(value, dict):
                return (Ref(f"{layer.pointer}/{keyword}"),)
    return None


def _items(layers: tuple[RefLayer, ...]) -> tuple[tuple[Key, ...], Key | None]:
    """Return the keys of the tuple's places, and of the items after them."""
    items: list[Ref] = []
    prefix: list[list[Ref]] = []
    for layer in layers:
        schema, rest = layer.schema, "items"
        listed = "prefixItems" if isinstance(schema.get("prefixItems"), list) else None
        if isinstance(schema.get("items"), list):
            listed, rest = "items", "additionalItems"
        for index in range(len(schema[listed]) if listed else 0):
            if index == len(prefix):
                prefix.append([])
            prefix[index].append(Ref(f"{layer.pointer}/{listed}/{index}"))
        if isinstance(schema.get(rest), dict | bool):
            items.append(Ref(f"{layer.pointer}/{rest}"))
    return tuple(tuple(refs) for refs in prefix), tuple(items) or None


def type_fits(types: Collection[str], value: Json) -> bool:
    """Whether a value is of one of these JSON types; an integer is a number, 3.0 is an integer; no types: any."""
    if not types:
        return True
    own = json_type(value)
    if own in types:
        return True
    if own == "integer":
        return "number" in types
    return own == "number" and "integer" in types and value.is_integer()
