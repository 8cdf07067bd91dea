"""A JSON Schema as the strict modes of providers take it, and the way back from an answer to the schema.

Every object is closed and requires all its keys. A key that the schema does not require may be null instead; such a
null is left out again where the schema itself allows none. Composition (`allOf`, keywords beside `$ref` and `anyOf`) is
merged, and references lead to `$defs`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_extract.core.metrics.equality import same_key
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.schema.source import Key, Ref, RefLayer, SchemaSource, escape
from pytest_extract.core.values import Json, json_type
from pytest_extract.errors import SchemaError
from pytest_extract.schema_tools.resolve import as_json_schema

STRICT_VERSION: Final = 2
"""Raised whenever another strict schema is made of the same schema: recordings are kept by it."""

_NOTES: Final = ("title", "description")
_UNIONS: Final = ("anyOf", "oneOf")
_OF_OBJECTS: Final = frozenset(
    {"properties", "required", "additionalProperties", "patternProperties", "unevaluatedProperties"}
)
_OF_ARRAYS: Final = frozenset({"items", "prefixItems"})
_SAID: Final = _OF_OBJECTS | _OF_ARRAYS | {*_UNIONS, "type", "enum", "const"}
"""Keywords that a strict schema is made of."""
_DROPPED: Final = frozenset(
    (
        *("minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies"),
        *("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"),
        *("pattern", "format", "minLength", "maxLength", "not", "if", "then", "else"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    )
)
"""Constraints that strict modes do not take, or only some of them."""
_SCALARS: Final = ("string", "number", "integer", "boolean", "null")
_TYPES: Final = (*_SCALARS, "object", "array")
_NULL: Final[Mapping[str, Json]] = {"type": "null"}
_WRAPPER: Final = "value"
_MOST_COMBINATIONS: Final = 100
_OPTIONAL: Final = "\0optional"
"""The keys of an object that may be left out, while its schema is made; then those whose null means that."""
_ADVICE: Final = "or use --extract-mode=prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSchema:
    """A strict schema and what it lost: `dropped` has the pointers by keyword.

    `marked` is the schema in which each object also has the keys whose null stands for an absent key.
    `wrapped`: what the schema describes stands under the one key of the strict one, whose root has to be an object.
    """

    schema: dict[str, Any]
    dropped: Mapping[str, tuple[str, ...]]
    marked: dict[str, Any] = field(repr=False)
    wrapped: bool

    def restored(self, answer: Json) -> Json:
        """Return what an answer says in terms of the schema that the strict one was made of."""
        value = self._restored(answer, self.marked)
        return value[_WRAPPER] if self.wrapped and isinstance(value, dict) and value.keys() == {_WRAPPER} else value

    def _restored(self, value: Json, node: Any) -> Json:
        branches = [*self._branches(node)]
        fitting = [branch for branch in branches if self._fits(value, branch)]
        alike = [branch for branch in branches if type_fits(_listed(branch["type"]), value)]
        branch: dict[str, Any] = next(iter((*fitting, *alike)), {})
        if isinstance(value, dict) and "properties" in branch:
            properties, optional = branch["properties"], branch[_OPTIONAL]
            return {
                name: self._restored(item, properties[name]) if name in properties else item
                for name, item in value.items()
                if item is not None or name not in optional
            }
        if isinstance(value, list) and "items" in branch:
            return [self._restored(item, branch["items"]) for item in value]
        return value

    def _branches(self, node: Any) -> Iterable[Any]:
        """Yield the schemas without references and alternatives that a schema stands for."""
        if "$ref" in node:
            yield from self._branches(self.marked["$defs"][_name_in(node)])
        elif "anyOf" in node:
            yield from itertools.chain.from_iterable(map(self._branches, node["anyOf"]))
        else:
            yield node

    def _fits(self, value: Json, branch: Any) -> bool:
        if not type_fits(_listed(branch["type"]), value):
            return False
        if "enum" in branch:
            return same_key(value) in map(same_key, branch["enum"])
        if isinstance(value, dict):
            properties = branch["properties"]
            return value.keys() == properties.keys() and all(
                self._any_fits(item, properties[name]) for name, item in value.items()
            )
        return not isinstance(value, list) or all(self._any_fits(item, branch["items"]) for item in value)

    def _any_fits(self, value: Json, node: Any) -> bool:
        return any(self._fits(value, branch) for branch in self._branches(node))


class _ImpossibleError(Exception):
    """No value satisfies a schema; in a branch, or an optional property, that takes it out of the strict schema."""


def strict_schema(schema: Json) -> StrictSchema:
    """Make a strict schema, `nullable` as OpenAPI means it; SchemaError with the pointer of what none can say."""
    try:
        return _Maker(as_json_schema(schema)).made()
    except RecursionError:
        raise SchemaError("the schema is nested too deep for a strict schema") from None


class _Maker:
    """Makes the strict schema of each place, which `Key` names by all schema objects that describe it."""

    def __init__(self, schema: Json) -> None:
        self._source = SchemaSource(schema)
        self._open: list[Key] = []
        self._referred: set[Key] = set()
        self._names: dict[Key, str] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._dropped: dict[str, dict[str, None]] = {}

    def made(self) -> StrictSchema:
        try:
            root = self._node((Ref(""),), frozenset())
        except _ImpossibleError:
            raise SchemaError("the schema allows no value") from None
        self._refuse_endless()
        while "$ref" in root or len(root.get("anyOf", ())) == 1:
            only = root if "$ref" in root else root["anyOf"][0]
            behind = self._definitions[_name_in(only)] if "$ref" in only else only
            root = {**behind, **_notes(root)}
        wrapped = root.get("type") != "object"
        if wrapped:
            root = {"type": "object", "properties": {_WRAPPER: root}, _OPTIONAL: []}
        definitions = {name: self._final(node) for name, node in self._definitions.items()}
        marked = {**self._final(root), "$defs": definitions}
        sent = _without_marks(marked)
        if not definitions:
            del sent["$defs"]
        dropped = {keyword: tuple(pointers) for keyword, pointers in sorted(self._dropped.items())}
        return StrictSchema(schema=sent, dropped=dropped, marked=marked, wrapped=wrapped)

    def _node(self, key: Key, around: frozenset[Key]) -> dict[str, Any]:
        """Return the strict schema of a place; `around`: the places that it describes the same value with.

        What is referred to, and what stands inside itself, becomes a definition.
        """
        if key in around:
            raise SchemaError("the schema refers to itself with nothing in between", pointer=key[0].pointer)
        around |= {key}
        target = self._target(key[0].pointer) if len(key) == 1 else None
        if target is not None:
            referred = (Ref(target),)
            self._name(referred)
            node, notes = self._node(referred, around), _notes(self._source.at(key[0].pointer))
            return {**notes, "anyOf": [node]} if notes else node
        if key in self._open or self._names.get(key) in self._definitions:
            self._referred.add(key)
            return {"$ref": f"#/$defs/{self._name(key)}"}
        self._open.append(key)
        try:
            node = self._merged(key, around)
        except _ImpossibleError:
            if key in self._referred:
                raise SchemaError("a schema that holds itself allows no value", pointer=key[0].pointer) from None
            raise
        finally:
            self._open.pop()
        if key not in self._names:
            return node
        self._definitions[self._names[key]] = node
        return {"$ref": f"#/$defs/{self._names[key]}"}

    def _target(self, pointer: str) -> str | None:
        """Return what a schema refers to that says nothing else, besides notes and constraints that are dropped."""
        schema = self._source.at(pointer)
        if not isinstance(schema, dict) or not _SAID.isdisjoint(schema):
            return None
        parts = schema["allOf"] if isinstance(schema.get("allOf"), list) else []
        targets = [target for _, target in self._source.references(schema)]
        targets += [self._target(f"{pointer}/allOf/{index}") for index in range(len(parts))]
        return targets[0] if len(targets) == 1 else None

    def _name(self, key: Key) -> str:
        """Return the name in `$defs` of a place."""
        if key not in self._names:
            base = re.sub(r"[^A-Za-z0-9_-]", "_", key[0].pointer.rpartition("/")[2])[:40] or "root"
            numbered = (f"{base}_{number}" for number in itertools.count(2))
            taken = self._names.values()
            self._names[key] = next(each for each in itertools.chain([base], numbered) if each not in taken)
        return self._names[key]

    def _drop(self, keyword: str, layer: RefLayer) -> None:
        self._dropped.setdefault(keyword, {})[layer.pointer] = None

    def _merged(self, key: Key, around: frozenset[Key]) -> dict[str, Any]:
        """Return what all schemas of a place say together."""
        layers, dangling, impossible = self._source.expand(key)
        if impossible:
            raise _ImpossibleError
        if dangling:
            message = f"the reference {dangling[0]!r} leads nowhere in the schema"
            raise SchemaError(message, pointer=key[0].pointer)
        for layer in layers:
            for keyword in layer.schema.keys() & _DROPPED:
                self._drop(keyword, layer)
        unions = [
            [Ref(f"{layer.pointer}/{word}/{index}") for index in range(len(layer.schema[word]))]
            for layer in layers
            for word in _UNIONS
            if not layer.bare and isinstance(layer.schema.get(word), list)
        ]
        notes: dict[str, Any] = {}
        for layer in reversed(layers):
            notes |= {} if layer.bare else _notes(layer.schema)
        if not unions:
            return {**notes, **self._plain(key[0].pointer, layers)}
        for layer in layers:
            if not layer.bare and len([each for each in layer.schema.get("oneOf", ()) if each != _NULL]) > 1:
                self._drop("oneOf", layer)
        beside = any(layer.schema.keys() & _SAID - {*_UNIONS} for layer in layers)
        always = [Ref(layer.pointer, bare=True) for layer in layers] if beside else []
        node = self._alternatives(unions, always, around)
        return {**({"anyOf": [node]} if notes and "$ref" in node else node), **notes}

    def _alternatives(self, choices: list[list[Ref]], always: Iterable[Ref], around: frozenset[Key]) -> dict[str, Any]:
        """Return the schema of a value for which one of each of some choices holds."""
        first = choices[0][0].pointer
        if math.prod(map(len, choices)) > _MOST_COMBINATIONS:
            message = f"more combinations of alternatives than a strict schema may list; {_ADVICE}"
            raise SchemaError(message, pointer=first)
        nodes: list[dict[str, Any]] = []
        for combination in itertools.product(*choices):
            try:
                node = self._node((*combination, *always), around)
            except _ImpossibleError:
                continue
            nodes += [node] if node not in nodes else []
        if not nodes:
            raise _ImpossibleError
        return nodes[0] if len(nodes) == 1 else {"anyOf": nodes}

    def _plain(self, at: str, layers: tuple[RefLayer, ...]) -> dict[str, Any]:
        """Return the strict schema of a place without alternatives: one, or one for each kind of value."""
        values = _values(layers)
        types = _types(layers, values)
        if not types:
            raise SchemaError(
                f"any value is allowed here, which no strict schema says; name its type, {_ADVICE}", pointer=at
            )
        if values is not None:
            return _enum_node(at, types, values)
        scalars = [name for name in types if name in _SCALARS]
        nodes = [{"type": scalars[0] if len(scalars) == 1 else scalars}] if scalars else []
        nodes += [self._object_node(at, layers)] if "object" in types else []
        nodes += [self._array_node(at, layers)] if "array" in types else []
        return nodes[0] if len(nodes) == 1 else {"anyOf": nodes}

    def _object_node(self, at: str, layers: tuple[RefLayer, ...]) -> dict[str, Any]:
        keys: dict[str, Key] = {}
        required: dict[str, None] = {}
        closed: set[str] | None = None
        for layer in layers:
            schema, own = layer.schema, layer.schema.get("properties") or {}
            for name in own:
                keys[name] = (*keys.get(name, ()), Ref(f"{layer.pointer}/properties/{escape(name)}"))
            required |= dict.fromkeys(schema.get("required") or ())
            for keyword in ("additionalProperties", "unevaluatedProperties", "patternProperties"):
                if schema.get(keyword) and isinstance(schema[keyword], dict):
                    raise SchemaError(
                        f"keys that are not known before ({keyword}), which no strict schema says; describe the "
                        f"properties, or a list of keys and values, {_ADVICE}",
                        pointer=layer.pointer,
                    )
            further = schema.get("additionalProperties")
            if further is False:
                closed = {*own} if closed is None else closed & {*own}
            elif further is not None and own:
                self._drop("additionalProperties", layer)
        properties: dict[str, Any] = {}
        for name, key in keys.items():
            try:
                if closed is None or name in closed:
                    properties[name] = self._node(key, frozenset())
            except _ImpossibleError:
                if name in required:
                    raise
        missing = [name for name in required if name not in properties]
        if missing and closed is not None:
            raise _ImpossibleError
        if missing or (not properties and closed is None):
            what = f"the key {missing[0]!r} is required and not described" if missing else "an object with any keys"
            raise SchemaError(f"{what}, which no strict schema says; describe its properties, {_ADVICE}", pointer=at)
        optional = [name for name in properties if name not in required]
        return {"type": "object", "properties": properties, _OPTIONAL: optional}

    def _array_node(self, at: str, layers: tuple[RefLayer, ...]) -> dict[str, Any]:
        """Return the schema of a list; where each place has a schema of its own, an item may be that of any place."""
        items: list[list[Ref]] = []
        for layer in layers:
            places, others = ("prefixItems", "items") if "prefixItems" in layer.schema else ("items", "additionalItems")
            found = [others] if isinstance(layer.schema.get(others), dict) else []
            if isinstance(listed := layer.schema.get(places), list):
                self._drop(places, layer)
                found += [f"{places}/{index}" for index in range(len(listed))]
            elif listed is not None:
                found = [places]
            items += [[Ref(f"{layer.pointer}/{each}") for each in found]] if found else []
        if not items:
            raise SchemaError(f"a list of any items, which no strict schema says; describe them, {_ADVICE}", pointer=at)
        return {"type": "array", "items": self._alternatives(items, (), frozenset())}

    def _refuse_endless(self) -> None:
        for key, name in self._names.items():
            if name in self._definitions and self._leads_to(name, self._definitions[name], set()):
                raise SchemaError("the schema refers to itself with nothing in between", pointer=key[0].pointer)

    def _leads_to(self, name: str, node: dict[str, Any], seen: set[str]) -> bool:
        """Whether a value has to fit a definition in order to fit it, by references and alternatives alone."""
        if "$ref" not in node:
            return any(self._leads_to(name, branch, seen) for branch in node.get("anyOf", ()))
        here = _name_in(node)
        if here == name or here in seen:
            return here == name
        seen.add(here)
        return self._leads_to(name, self._definitions[here], seen)

    def _final(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return a schema in which all keys are required, and an optional one may be null instead.

        It is marked where that null cannot be meant, as the schema itself allows none.
        """
        made = dict(node)
        if "items" in node:
            made["items"] = self._final(node["items"])
        if "anyOf" in node:
            made["anyOf"] = [*map(self._final, node["anyOf"])]
        if "properties" in node:
            before = node["properties"]
            absent = [name for name in node[_OPTIONAL] if not self._accepts_null(before[name])]
            properties = {name: self._final(child) for name, child in before.items()}
            properties |= {name: _with_null(properties[name]) for name in absent}
            required = {"required": [*properties], "additionalProperties": False, _OPTIONAL: absent}
            made |= {"properties": properties, **required}
        return made

    def _accepts_null(self, node: dict[str, Any]) -> bool:
        if "$ref" in node:
            return self._accepts_null(self._definitions[_name_in(node)])
        if "anyOf" in node:
            return any(map(self._accepts_null, node["anyOf"]))
        return "null" in _listed(node["type"])


def _types(layers: Iterable[RefLayer], values: list[Json] | None) -> list[str]:
    """Return the types of the values of a place, in a fixed order; none where nothing says which."""
    named = [_listed(layer.schema["type"]) for layer in layers if "type" in layer.schema]
    found = {*_TYPES}
    for listed in named:
        own = {name for name in _TYPES if name in listed}
        found &= own | {"integer"} if "number" in own else own
    if not found:
        raise _ImpossibleError
    if not named and values is not None:
        found = {*map(json_type, values)}
    elif not named:
        said = {keyword for layer in layers for keyword in layer.schema}
        found = {name for name, words in (("object", _OF_OBJECTS), ("array", _OF_ARRAYS)) if said & words}
    return [name for name in _TYPES if name in found and (name != "integer" or "number" not in found)]


def _values(layers: Iterable[RefLayer]) -> list[Json] | None:
    """Return the values that `enum` and `const` allow, None where they say nothing."""
    values: list[Json] | None = None
    for layer in layers:
        for keyword in ("enum", "const"):
            if keyword in layer.schema:
                own = layer.schema[keyword] if keyword == "enum" else [layer.schema[keyword]]
                keys = {*map(same_key, own)}
                values = own if values is None else [each for each in values if same_key(each) in keys]
    return values


def _enum_node(at: str, types: list[str], values: list[Json]) -> dict[str, Any]:
    fitting = [value for value in values if type_fits(types, value)]
    if not fitting:
        raise _ImpossibleError
    if any(isinstance(value, dict | list) for value in fitting):
        raise SchemaError(f"an object or a list as a fixed value, which no strict schema says; {_ADVICE}", pointer=at)
    names = [name for name in types if any(type_fits([name], value) for value in fitting)]
    return {"type": names[0] if len(names) == 1 else names, "enum": fitting}


def _notes(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: schema[name] for name in _NOTES if isinstance(schema.get(name), str)}


def _listed(types: Any) -> list[Any]:
    return types if isinstance(types, list) else [types]


def _name_in(reference: Mapping[str, Any]) -> str:
    name: str = reference["$ref"].rpartition("/")[2]
    return name


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_marks(each) for name, each in value.items() if name != _OPTIONAL}
    return [*map(_without_marks, value)] if isinstance(value, list) else value


def _with_null(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that allows no null, with null."""
    if "anyOf" in node:
        return {**node, "anyOf": [*node["anyOf"], dict(_NULL)]}
    types = _listed(node.get("type"))
    if types[0] in _SCALARS:
        return {**node, "type": [*types, "null"], **({"enum": [*node["enum"], None]} if "enum" in node else {})}
    return {"anyOf": [node, dict(_NULL)]}
