"""A JSON Schema as the strict modes of providers take it, and the way back from an answer to the schema.

Every object is closed and requires all its keys. A key that the schema does not require may be null instead; such a
null is left out again where the schema itself allows none. Composition (`allOf`, keywords beside `$ref` and `anyOf`) is
merged, and references lead to `$defs`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_extract.core.schema.source import Key, Ref, RefLayer, SchemaSource, escape, map_children
from pytest_extract.core.schema.tree import type_fits
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import Json, json_type, same_key
from pytest_extract.errors import SchemaError
from pytest_extract.schema_tools.resolve import as_json_schema, with_null

STRICT_VERSION: Final = 3
"""Raised whenever another strict schema is made of the same schema: recordings are kept by it."""

_NOTES: Final = ("title", "description")
_UNIONS: Final = ("anyOf", "oneOf")
_OF_OBJECTS: Final = frozenset(
    {"properties", "required", "additionalProperties", "patternProperties", "unevaluatedProperties"}
)
_OF_ARRAYS: Final = frozenset({"items", "prefixItems"})
_SAID: Final = _OF_OBJECTS | _OF_ARRAYS | {"type", "enum", "const"}
"""Keywords that a strict schema is made of, beside unions."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSchema:
    """A strict schema and what it lost: `dropped` has the pointers by keyword.

    `loose` is the same schema before all keys are required, with its `definitions`.
    `wrapped`: what the schema describes stands under the one key of the strict one, whose root has to be an object.
    """

    schema: dict[str, Any]
    dropped: Mapping[str, tuple[str, ...]]
    loose: dict[str, Any] = field(repr=False)
    definitions: dict[str, Any] = field(repr=False)
    wrapped: bool
    _validators: dict[int, Validator] = field(default_factory=dict, init=False, repr=False, compare=False)

    def restored(self, answer: Json) -> Json:
        """Return what an answer says in terms of the schema that the strict one was made of."""
        value = self._restored(answer, self.loose)
        return value[_WRAPPER] if self.wrapped and isinstance(value, dict) and value.keys() == {_WRAPPER} else value

    def _restored(self, value: Json, node: Any) -> Json:
        branches, _ = _branches(node, self.definitions)
        alike = [each for each in branches if type_fits(_listed(each["type"]), value)]
        fitting = (each for each in alike if self._sent(each).is_valid(value)) if len(alike) > 1 else ()
        branch: dict[str, Any] = next(itertools.chain(fitting, alike), {})
        if isinstance(value, dict) and "properties" in branch:
            properties = branch["properties"]
            return {
                name: self._restored(item, properties[name]) if name in properties else item
                for name, item in value.items()
                if not (item is None and self._is_absent(name, branch))
            }
        if isinstance(value, list) and "items" in branch:
            return [self._restored(item, branch["items"]) for item in value]
        return value

    def _is_absent(self, name: str, branch: dict[str, Any]) -> bool:
        """Whether null stands for a key that is not there."""
        optional = branch["properties"].keys() - branch["required"]
        return name in optional and not _accepts_null(branch["properties"][name], self.definitions)

    def _sent(self, branch: dict[str, Any]) -> Validator:
        """Return the validator of an alternative as the strict schema has it."""
        if id(branch) not in self._validators:
            sent = _final({**branch, "$defs": self.definitions}, self.definitions)
            self._validators[id(branch)] = Validator(sent)
        return self._validators[id(branch)]


class _ImpossibleError(SchemaError):
    """No value satisfies a schema; in a branch, or an optional property, that takes it out of the strict schema."""

    def __init__(self, pointer: str) -> None:
        super().__init__("the schema allows no value here", pointer=pointer)


def strict_schema(schema: Json) -> StrictSchema:
    """Make a strict schema, `nullable` as OpenAPI means it.

    Raises SchemaError with the pointer of what none can say, or of what is wrong with the schema itself.
    """
    try:
        return _Maker(as_json_schema(schema)).made()
    except RecursionError:
        raise SchemaError("the schema is nested too deep for a strict schema") from None
    except (AttributeError, KeyError, TypeError):
        for problem in Validator(schema).problems:
            raise SchemaError(f"no valid JSON Schema: {problem.message}", pointer=problem.pointer) from None
        raise


def _unsayable(what: str, pointer: str) -> SchemaError:
    return SchemaError(
        f"{what}: no strict schema says that; describe it, or use --extract-mode=prompt", pointer=pointer
    )


class _Maker:
    """Makes the strict schema of each place, which `Key` names by all schema objects that describe it."""

    def __init__(self, schema: Json) -> None:
        self._source = SchemaSource(schema)
        self._open: list[Key] = []
        self._referred: set[Key] = set()
        self._names: dict[Key, str] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._dropped: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def made(self) -> StrictSchema:
        root = self._node((Ref(""),))
        for key, name in self._names.items():
            if name in self._definitions and name in _branches(self._definitions[name], self._definitions)[1]:
                raise SchemaError("the schema refers to itself with nothing in between", pointer=key[0].pointer)
        while "$ref" in root or len(root.get("anyOf", ())) == 1:
            only = root if "$ref" in root else root["anyOf"][0]
            behind = self._definitions[_name_in(only)] if "$ref" in only else only
            root = {**behind, **_notes([root])}
        wrapped = root.get("type") != "object"
        if wrapped:
            root = {"type": "object", "properties": {_WRAPPER: root}, "required": [_WRAPPER]}
        sent = _final(root, self._definitions)
        if self._definitions:
            sent["$defs"] = {name: _final(node, self._definitions) for name, node in self._definitions.items()}
        dropped = {keyword: tuple(pointers) for keyword, pointers in sorted(self._dropped.items())}
        return StrictSchema(schema=sent, dropped=dropped, loose=root, definitions=self._definitions, wrapped=wrapped)

    def _node(self, key: Key) -> dict[str, Any]:
        """Return the strict schema of a place; what is referred to, and what stands inside itself, is a definition."""
        layers, dangling, impossible = self._source.expand(key)
        if impossible:
            raise _ImpossibleError(key[0].pointer)
        if dangling:
            message = f"the reference {dangling[0]!r} leads nowhere in the schema"
            raise SchemaError(message, pointer=key[0].pointer)
        for layer in layers:
            for keyword in layer.schema.keys() & _DROPPED:
                self._dropped[keyword][layer.pointer] = None
        saying = [layer for layer in layers if layer.schema.keys() & (_SAID if layer.bare else {*_SAID, *_UNIONS})]
        place = _composed(layers, saying[0].pointer) if len(key) == len(saying) == 1 else key[0].pointer
        if place != key[0].pointer:  # all that this says stands in another place
            target = (Ref(place),)
            self._name(target)
            node, notes = self._node(target), _notes([layer.schema for layer in layers[: layers.index(saying[0])]])
            return {**notes, "anyOf": [node]} if notes else node
        if key in self._open or self._names.get(key) in self._definitions:
            self._referred.add(key)
            return {"$ref": f"#/$defs/{self._name(key)}"}
        self._open.append(key)
        try:
            node = self._merged(key, layers)
        except _ImpossibleError as error:
            if key in self._referred:
                raise SchemaError(error.message, pointer=key[0].pointer) from None
            raise
        finally:
            self._open.pop()
        if key not in self._names:
            return node
        self._definitions[self._names[key]] = node
        return {"$ref": f"#/$defs/{self._names[key]}"}

    def _name(self, key: Key) -> str:
        """Return the name in `$defs` of a place."""
        if key not in self._names:
            base = re.sub(r"[^A-Za-z0-9_-]", "_", key[0].pointer.rpartition("/")[2])[:40] or "root"
            numbered = (f"{base}_{number}" for number in itertools.count(2))
            taken = self._names.values()
            self._names[key] = next(each for each in itertools.chain([base], numbered) if each not in taken)
        return self._names[key]

    def _merged(self, key: Key, layers: tuple[RefLayer, ...]) -> dict[str, Any]:
        """Return what all schemas of a place say together."""
        open_layers = [layer for layer in layers if not layer.bare]
        notes = _notes([layer.schema for layer in open_layers])
        choices: list[list[Ref]] = []
        for layer, word in itertools.product(open_layers, _UNIONS):
            if isinstance(branches := layer.schema.get(word), list):
                choices.append([Ref(f"{layer.pointer}/{word}/{index}") for index in range(len(branches))])
                if word == "oneOf" and sum(branch != _NULL for branch in branches) > 1:
                    self._dropped[word][layer.pointer] = None
        if not choices:
            return {**notes, **self._plain(key[0].pointer, layers)}
        beside = any(layer.schema.keys() & _SAID for layer in layers)
        node = self._alternatives(choices, [Ref(layer.pointer, bare=True) for layer in layers] if beside else [])
        return {**({"anyOf": [node]} if notes and "$ref" in node else node), **notes}

    def _alternatives(self, choices: list[list[Ref]], always: Iterable[Ref]) -> dict[str, Any]:
        """Return the schema of a value for which one of each of some choices holds."""
        if math.prod(map(len, choices)) > _MOST_COMBINATIONS:
            raise _unsayable(f"more than {_MOST_COMBINATIONS} combinations of alternatives", choices[0][0].pointer)
        nodes: list[dict[str, Any]] = []
        for combination in itertools.product(*choices):
            try:
                node = self._node((*combination, *always))
            except _ImpossibleError:
                continue
            nodes += [node] if node not in nodes else []
        if not nodes:
            raise _ImpossibleError(choices[0][0].pointer if choices[0] else "")
        return nodes[0] if len(nodes) == 1 else {"anyOf": nodes}

    def _plain(self, at: str, layers: tuple[RefLayer, ...]) -> dict[str, Any]:
        """Return the strict schema of a place without alternatives: one, or one for each kind of value."""
        values = _values(layers)
        types = _types(at, layers, values)
        if not types:
            raise _unsayable("any value is allowed here", at)
        if values is not None:
            fitting = [value for value in values if type_fits(types, value)]
            if not fitting:
                raise _ImpossibleError(at)
            if any(isinstance(value, dict | list) for value in fitting):
                raise _unsayable("an object or a list as a fixed value", at)
            names = [name for name in types if any(type_fits([name], value) for value in fitting)]
            return {"type": names[0] if len(names) == 1 else names, "enum": fitting}
        scalars = [name for name in types if name in _SCALARS]
        nodes: list[dict[str, Any]] = [{"type": scalars[0] if len(scalars) == 1 else scalars}] if scalars else []
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
                    raise _unsayable(f"keys that are not known before ({keyword})", layer.pointer)
            further = schema.get("additionalProperties")
            if further is False:
                closed = {*own} if closed is None else closed & {*own}
            elif further is not None and own:
                self._dropped["additionalProperties"][layer.pointer] = None
        properties: dict[str, Any] = {}
        for name, key in keys.items():
            try:
                if closed is None or name in closed:
                    properties[name] = self._node(key)
            except _ImpossibleError:
                if name in required:
                    raise
        missing = [name for name in required if name not in properties]
        if missing and closed is not None:
            raise _ImpossibleError(at)
        if missing:
            raise _unsayable(f"the key {missing[0]!r} is required and not described", at)
        if not properties and closed is None:
            raise _unsayable("an object with any keys", at)
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name in required],
        }

    def _array_node(self, at: str, layers: tuple[RefLayer, ...]) -> dict[str, Any]:
        """Return the schema of a list; where each place has a schema of its own, an item may be that of any place."""
        items: list[list[Ref]] = []
        for layer in layers:
            places, others = ("prefixItems", "items") if "prefixItems" in layer.schema else ("items", "additionalItems")
            found = [others] if isinstance(layer.schema.get(others), dict) else []
            if isinstance(listed := layer.schema.get(places), list):
                self._dropped[places][layer.pointer] = None
                found += [f"{places}/{index}" for index in range(len(listed))]
            elif listed is not None:
                found = [places]
            items += [[Ref(f"{layer.pointer}/{each}") for each in found]] if found else []
        if not items:
            raise _unsayable("a list of any items", at)
        return {"type": "array", "items": self._alternatives(items, ())}


def _composed(layers: Iterable[RefLayer], pointer: str) -> str:
    """Return the nearest layer that is the one at a pointer, or has it by `allOf` alone."""
    return next(layer.pointer for layer in layers if re.fullmatch(rf"{re.escape(layer.pointer)}(/allOf/\d+)*", pointer))


def _types(at: str, layers: Iterable[RefLayer], values: list[Json] | None) -> list[str]:
    """Return the types of the values of a place, in a fixed order; none where nothing says which."""
    named = [_listed(layer.schema["type"]) for layer in layers if "type" in layer.schema]
    found = {*_TYPES}
    for listed in named:
        found &= {name for name in _TYPES if name in listed or (name == "integer" and "number" in listed)}
    if not found:
        raise _ImpossibleError(at)
    if not named and values is not None:
        found = {*map(json_type, values)}
    elif not named:
        said = {keyword for layer in layers for keyword in layer.schema}
        found = {name for name, words in (("object", _OF_OBJECTS), ("array", _OF_ARRAYS)) if said & words}
    return [name for name in _TYPES if name in found and (name != "integer" or "number" not in found)]


def _values(layers: Iterable[RefLayer]) -> list[Json] | None:
    """Return the values that `enum` and `const` allow, None where they say nothing."""
    lists = [
        layer.schema[word] if word == "enum" else [layer.schema[word]]
        for layer, word in itertools.product(layers, ("enum", "const"))
        if word in layer.schema
    ]
    shared = [{*map(same_key, listed)} for listed in lists[1:]]
    return [each for each in lists[0] if all(same_key(each) in keys for keys in shared)] if lists else None


def _notes(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return title and description, those of the nearest schema that has some."""
    return {name: each[name] for each in reversed(schemas) for name in _NOTES if isinstance(each.get(name), str)}


def _listed(types: Any) -> list[Any]:
    return types if isinstance(types, list) else [types]


def _name_in(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _branches(node: dict[str, Any], definitions: Mapping[str, Any]) -> tuple[list[dict[str, Any]], set[str]]:
    """Return the schemas without references and alternatives that a schema stands for, and the definitions passed."""
    waiting, found, passed = [node], [], set()
    while waiting:
        branch = waiting.pop()
        if "$ref" in branch and (name := _name_in(branch)) not in passed:
            passed.add(name)
            waiting.append(definitions[name])
        elif "$ref" not in branch and "anyOf" in branch:
            waiting += reversed(branch["anyOf"])
        elif "$ref" not in branch:
            found.append(branch)
    return found, passed


def _accepts_null(node: dict[str, Any], definitions: Mapping[str, Any]) -> bool:
    return any("null" in _listed(branch["type"]) for branch in _branches(node, definitions)[0])


def _final(node: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in which all keys are required, and an optional one may be null instead."""
    made = map_children(node, "", lambda child, _: _final(child, definitions))
    if "properties" in node:
        properties = made["properties"]
        for name, child in node["properties"].items():
            if name in node["required"] or _accepts_null(child, definitions):
                continue
            if "anyOf" in child:
                properties[name]["anyOf"].append(dict(_NULL))
            elif _listed(child.get("type"))[0] in _SCALARS:
                properties[name] = with_null(properties[name])
            else:
                properties[name] = {"anyOf": [properties[name], dict(_NULL)]}
        made |= {"required": [*properties], "additionalProperties": False}
    return made
