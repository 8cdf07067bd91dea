"""A JSON Schema as the strict modes of providers take it, and the way back from an answer to the schema.

Every object is closed and requires all its keys. A key that the schema does not require may be null instead; such a
null is left out again where the schema itself allows none. Objects of an `allOf`, and beside a `$ref`, become one, and
references lead to `$defs`. What cannot be said so is refused with its place: better no answer than one to another
schema.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_extract.core.schema.source import Ref, RefLayer, SchemaSource, escape, map_children
from pytest_extract.core.schema.tree import type_fits
from pytest_extract.core.values import Json, json_type, same, same_key
from pytest_extract.errors import SchemaError
from pytest_extract.schema_tools.resolve import as_json_schema, with_null

STRICT_VERSION: Final = 2
"""Raised whenever another strict schema is made of the same schema: recordings are kept by it."""

_NOTES: Final = ("title", "description")
_UNIONS: Final = ("anyOf", "oneOf")
_OPEN: Final = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_OF_OBJECTS: Final = frozenset(("properties", "required", *_OPEN))
_OF_ARRAYS: Final = frozenset(("items", "prefixItems"))
_SAID: Final = _OF_OBJECTS | _OF_ARRAYS | {"type", "enum", "const", *_UNIONS}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSchema:
    """A strict schema and what it lost: `dropped` has the pointers by keyword.

    `loose` is the same schema before all keys are required, with its `$defs`.
    `wrapped`: what the schema describes stands under the one key of the strict one, whose root has to be an object.
    """

    schema: dict[str, Any]
    dropped: Mapping[str, tuple[str, ...]]
    loose: dict[str, Any] = field(repr=False)
    wrapped: bool

    def restored(self, answer: Json) -> Json:
        """Return what an answer says in terms of the schema that the strict one was made of."""
        value = self._restored(answer, self.loose)
        return value[_WRAPPER] if self.wrapped and isinstance(value, dict) and value.keys() == {_WRAPPER} else value

    def _restored(self, value: Json, node: Any) -> Json:
        definitions = self.loose.get("$defs", {})
        alike = [each for each in _branches(node, definitions) if type_fits(_listed(each["type"]), value)]
        fitting = (each for each in alike if len(alike) == 1 or self._fits(value, each))
        branch: dict[str, Any] = next(fitting, alike[0] if alike else {})
        if isinstance(value, dict) and "properties" in branch:
            properties = branch["properties"]
            absent = {name for name in _or_absent(branch, definitions) if value.get(name) is None}
            return {
                name: self._restored(item, properties[name]) if name in properties else item
                for name, item in value.items()
                if name not in absent
            }
        if isinstance(value, list) and "items" in branch:
            return [self._restored(item, branch["items"]) for item in value]
        return value

    def _fits(self, value: Json, branch: dict[str, Any]) -> bool:
        """Whether the strict schema of a branch, which has its type, allows a value."""
        definitions = self.loose.get("$defs", {})

        def fits(part: Json, node: Any) -> bool:
            alike = (each for each in _branches(node, definitions) if type_fits(_listed(each["type"]), part))
            return any(self._fits(part, each) for each in alike)

        if "enum" in branch:
            return same_key(value) in map(same_key, branch["enum"])
        if isinstance(value, dict):
            properties = branch["properties"]
            if value.keys() != properties.keys():
                return False
            absent = _or_absent(branch, definitions)
            return all(
                (part is None and name in absent) or fits(part, properties[name]) for name, part in value.items()
            )
        return not isinstance(value, list) or all(fits(part, branch["items"]) for part in value)


def strict_schema(schema: Json) -> StrictSchema:
    """Make a strict schema, `nullable` as OpenAPI means it; SchemaError with the pointer of what none can say."""
    try:
        return _Maker(as_json_schema(schema)).made()
    except RecursionError:
        raise SchemaError("the schema is nested too deep for a strict schema") from None


def _unsayable(what: str, pointer: str) -> SchemaError:
    return SchemaError(
        f"{what}: no strict schema says that; describe it, or use --extract-mode=prompt", pointer=pointer
    )


class _Maker:
    """Makes the schema of each place that a pointer names, in the few keywords of strict schemas."""

    def __init__(self, schema: Json) -> None:
        self._source = SchemaSource(schema)
        self._open: list[str] = []
        self._names: dict[str, str] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._dropped: dict[str, dict[str, None]] = {}

    def made(self) -> StrictSchema:
        loose, definitions = self._node(""), self._definitions
        for at, name in self._names.items():
            if _to(name) in _same_value(definitions[name], definitions):
                raise SchemaError("the schema refers to itself with nothing in between", pointer=at)
        while "$ref" in loose or len(loose.get("anyOf", ())) == 1:
            behind = definitions[_name_in(loose)] if "$ref" in loose else loose["anyOf"][0]
            loose = {**behind, **_notes([loose])}
        wrapped = loose.get("type") != "object"
        if wrapped:
            loose = {"type": "object", "properties": {_WRAPPER: loose}, "required": [_WRAPPER]}
        loose = {**loose, "$defs": definitions} if definitions else loose
        dropped = {keyword: tuple(pointers) for keyword, pointers in sorted(self._dropped.items())}
        return StrictSchema(schema=_closed(loose, definitions), dropped=dropped, loose=loose, wrapped=wrapped)

    def _node(self, at: str) -> dict[str, Any]:
        """Return the schema of a place; what is referred to, and what stands inside itself, is a definition."""
        if at not in self._open and self._names.get(at) not in self._definitions:
            self._open.append(at)
            node = self._made(at)
            self._open.remove(at)
            if at not in self._names:
                return node
            self._definitions[self._names[at]] = node
        return _to(self._name(at))

    def _name(self, at: str) -> str:
        """Return the name in `$defs` of a place."""
        if at not in self._names:
            base = re.sub(r"[^A-Za-z0-9_-]", "_", at.rpartition("/")[2])[:40] or "root"
            numbered = (f"{base}_{number}" for number in itertools.count(2))
            taken = self._names.values()
            self._names[at] = next(each for each in itertools.chain([base], numbered) if each not in taken)
        return self._names[at]

    def _drop(self, keyword: str, pointer: str) -> None:
        self._dropped.setdefault(keyword, {})[pointer] = None

    def _saying(self, at: str) -> list[RefLayer]:
        """Return those of the schemas of a place that say something which strict schemas can say, too."""
        return [layer for layer in self._source.expand((Ref(at),)).layers if not _SAID.isdisjoint(layer.schema)]

    def _made(self, at: str) -> dict[str, Any]:
        layers, dangling, impossible = self._source.expand((Ref(at),))
        saying = self._saying(at)
        if dangling:
            raise SchemaError(f"the reference {dangling[0]!r} leads nowhere in the schema", pointer=at)
        if impossible or not saying:
            raise _unsayable(f"{'no' if impossible else 'any'} value is allowed here", at)
        for layer in layers:
            for keyword in layer.schema.keys() & _DROPPED:
                self._drop(keyword, layer.pointer)
        schemas = [layer.schema for layer in layers]
        referred = {target for schema in schemas for _, target in self._source.references(schema)}
        elsewhere = [place for place in layers if place.pointer in referred and self._saying(place.pointer) == saying]
        if elsewhere and layers[0] not in saying:  # all that this says stands in another place
            self._name(elsewhere[-1].pointer)
            return _noted(self._node(elsewhere[-1].pointer), schemas[: layers.index(elsewhere[-1])])
        return _noted(self._object(at, saying) if len(saying) > 1 else self._plain(saying[0]), schemas)

    def _plain(self, layer: RefLayer) -> dict[str, Any]:
        """Return what one schema says: alternatives, fixed values, or one schema for each kind of value."""
        at, schema = layer.pointer, layer.schema
        if word := next((word for word in _UNIONS if isinstance(schema.get(word), list) and schema[word]), None):
            if beside := sorted((schema.keys() & _SAID) - {word}):
                raise _unsayable(f"alternatives beside `{beside[0]}`", at)
            if word == "oneOf" and sum(branch != _NULL for branch in schema[word]) > 1:
                self._drop(word, at)
            return self._alternatives([f"{at}/{word}/{index}" for index in range(len(schema[word]))])
        types = _types(schema)
        if "enum" in schema or "const" in schema:
            return _enum(at, types, schema)
        if not types:
            raise _unsayable("any value is allowed here", at)
        scalars = [name for name in types if name in _SCALARS]
        nodes: list[dict[str, Any]] = [{"type": scalars[0] if len(scalars) == 1 else scalars}] if scalars else []
        nodes += [self._object(at, [layer])] if "object" in types else []
        nodes += [self._array(at, schema)] if "array" in types else []
        return nodes[0] if len(nodes) == 1 else {"anyOf": nodes}

    def _alternatives(self, places: list[str]) -> dict[str, Any]:
        nodes: list[dict[str, Any]] = []
        for node in map(self._node, places):
            nodes += [node] if node not in nodes else []
        return nodes[0] if len(nodes) == 1 else {"anyOf": nodes}

    def _object(self, at: str, layers: Sequence[RefLayer]) -> dict[str, Any]:
        """Return the schema of an object that one or more schemas describe, each some of its keys."""
        properties: dict[str, Any] = {}
        required: dict[str, None] = {}
        for layer in layers:
            schema, own = layer.schema, layer.schema.get("properties") or {}
            if further := [word for word in _OPEN if schema.get(word) and isinstance(schema[word], dict)]:
                raise _unsayable(f"keys that are not known before ({further[0]})", layer.pointer)
            closing = ("additionalProperties", "unevaluatedProperties")[: 1 if layer.pointer == at else 2]
            if len(layers) > 1 and (
                (schema.keys() & _SAID) - _OF_OBJECTS - {"type"}
                or schema.get("type", "object") != "object"
                or any(schema.get(word) is False for word in closing)
                or properties.keys() & own.keys()
            ):
                raise _unsayable(
                    "allOf, or keys beside a reference, of other than open objects with keys of their own", at
                )
            if own and schema.get("additionalProperties", False) is not False:
                self._drop("additionalProperties", layer.pointer)
            properties |= {name: self._node(f"{layer.pointer}/properties/{escape(name)}") for name in own}
            required |= dict.fromkeys(schema.get("required") or ())
        if missing := [name for name in required if name not in properties]:
            raise _unsayable(f"the key {missing[0]!r} is required and not described", at)
        if not properties and all(layer.schema.get("additionalProperties") is not False for layer in layers):
            raise _unsayable("an object with any keys", at)
        return {"type": "object", "properties": properties, "required": [*required]}

    def _array(self, at: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of a list; where each place has a schema of its own, an item may be that of any place."""
        places, others = ("prefixItems", "items") if "prefixItems" in schema else ("items", "additionalItems")
        found = [f"{at}/{others}"] if isinstance(schema.get(others), dict) else []
        if isinstance(listed := schema.get(places), list):
            self._drop(places, at)
            found += [f"{at}/{places}/{index}" for index in range(len(listed))]
        elif listed is not None:
            found = [f"{at}/{places}"]
        if not found:
            raise _unsayable("a list of any items", at)
        return {"type": "array", "items": self._alternatives(found)}


def _types(schema: Mapping[str, Any]) -> list[str]:
    """Return the types that a schema names or means, in a fixed order; none where nothing says which."""
    if "type" in schema:
        named = _listed(schema["type"])
    elif "enum" in schema or "const" in schema:
        named = [*map(json_type, _fixed(schema))]
    else:
        named = [name for name, words in (("object", _OF_OBJECTS), ("array", _OF_ARRAYS)) if schema.keys() & words]
    return [name for name in _TYPES if name in named and (name != "integer" or "number" not in named)]


def _fixed(schema: Mapping[str, Any]) -> list[Json]:
    """Return the values that `enum` and `const` allow."""
    listed = schema.get("enum", [schema.get("const")])
    return [value for value in listed if "const" not in schema or same(value, schema["const"])]


def _enum(at: str, types: list[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    values = [value for value in _fixed(schema) if types and type_fits(types, value)]
    if not values:
        raise _unsayable("no value is allowed here", at)
    if any(isinstance(value, dict | list) for value in values):
        raise _unsayable("an object or a list as a fixed value", at)
    names = [name for name in types if any(type_fits([name], value) for value in values)]
    return {"type": names[0] if len(names) == 1 else names, "enum": values}


def _notes(schemas: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return title and description of the first of some schemas that has some."""
    return {name: each[name] for each in reversed(schemas) for name in _NOTES if isinstance(each.get(name), str)}


def _noted(node: dict[str, Any], schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    notes = _notes(schemas)
    return {**({"anyOf": [node]} if notes and "$ref" in node else node), **notes}


def _listed(types: Any) -> list[Any]:
    return types if isinstance(types, list) else [types]


def _to(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _name_in(reference: Mapping[str, Any]) -> str:
    name: str = reference["$ref"].rpartition("/")[2]
    return name


def _same_value(node: dict[str, Any], definitions: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas that may hold for a value by references and alternatives alone, each once."""
    waiting, found = [node], []
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.append(part)
            waiting += [definitions[_name_in(part)]] if "$ref" in part else []
            waiting += reversed(part.get("anyOf", ()))
    return found


def _branches(node: dict[str, Any], definitions: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas without references and alternatives that a schema stands for."""
    return [part for part in _same_value(node, definitions) if "type" in part]


def _or_absent(node: dict[str, Any], definitions: Mapping[str, Any]) -> set[str]:
    """Return the keys of an object that may be left out, and are no null: in the strict schema, null says so."""
    optional = node["properties"].keys() - {*node["required"]}
    accepted = {name: _branches(node["properties"][name], definitions) for name in optional}
    return {name for name, parts in accepted.items() if not any("null" in _listed(part["type"]) for part in parts)}


def _closed(node: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in which all keys are required, and an optional one may be null instead."""
    made = map_children(node, "", lambda child, _: _closed(child, definitions))
    if "properties" in node:
        properties = made["properties"]
        properties |= {name: _or_null(properties[name]) for name in _or_absent(node, definitions)}
        made |= {"required": [*properties], "additionalProperties": False}
    return made


def _or_null(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that allows no null, with null."""
    if "anyOf" in node:
        return {**node, "anyOf": [*node["anyOf"], dict(_NULL)]}
    return with_null(node) if _listed(node.get("type"))[0] in _SCALARS else {"anyOf": [node, dict(_NULL)]}
