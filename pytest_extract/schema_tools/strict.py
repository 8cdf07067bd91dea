"""A JSON Schema as the strict modes of providers take it, and the way back from an answer to the schema.

Every object is closed and requires all its keys. A key that the schema does not require may be null instead; such a
null is left out again where the schema itself allows none. Composition (`allOf`, keywords beside `$ref` and `anyOf`) is
merged, and references lead to `$defs`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pytest_extract.core.metrics.equality import same_key
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.schema.source import REFERENCES, SchemaSource, escape
from pytest_extract.core.values import Json, json_type
from pytest_extract.errors import SchemaError

STRICT_VERSION: Final = 1
"""Raised whenever another strict schema is made of the same schema: recordings are kept by it."""

_NOTES: Final = ("title", "description")
_TYPE_OF: Final[Mapping[str, str]] = {
    **dict.fromkeys(("properties", "required", "minProperties", "maxProperties", "propertyNames"), "object"),
    **dict.fromkeys(("additionalProperties", "dependentRequired", "dependentSchemas", "dependencies"), "object"),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"), "array"),
    **dict.fromkeys(("pattern", "format", "minLength", "maxLength"), "string"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
}
"""The type of the values that a keyword is about, which a schema means that names no type."""
_MEANT: Final = "\0meant"
_KEYWORDS: Final = frozenset(
    (
        *("type", "enum", "const", "nullable", "anyOf", "oneOf", "items", "prefixItems", "additionalItems"),
        *("properties", "required", "additionalProperties", "patternProperties", "unevaluatedProperties", _MEANT),
    )
)
_DROPPED: Final = (
    frozenset(_TYPE_OF) | {"minContains", "maxContains", "unevaluatedItems", "not", "if", "then", "else"}
) - _KEYWORDS
"""Constraints that strict modes do not take, or only some of them."""
_SCALARS: Final = ("string", "number", "integer", "boolean", "null")
_TYPES: Final = (*_SCALARS, "object", "array")
_NULL: Final[Mapping[str, Json]] = {"type": "null"}
_WRAPPER: Final = "value"
_MOST_COMBINATIONS: Final = 100
_OPTIONAL: Final = "\0optional"
_NULLABLE: Final = "\0nullable"
_ADVICE: Final = "or use --extract-mode=prompt"

_Part: TypeAlias = "tuple[Json, str]"
"""A schema and its pointer."""
_Parts: TypeAlias = "tuple[_Part, ...]"
"""Schemas that a value has to satisfy all."""


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
        node = self._behind(node)
        if "anyOf" in node:
            return self._restored_by_branch(value, node["anyOf"])
        if isinstance(value, dict) and "properties" in node:
            properties, optional = node["properties"], node[_OPTIONAL]
            return {
                name: self._restored(item, properties[name]) if name in properties else item
                for name, item in value.items()
                if item is not None or name not in optional
            }
        if isinstance(value, list) and "items" in node:
            return [self._restored(item, node["items"]) for item in value]
        return value

    def _restored_by_branch(self, value: Json, branches: Sequence[Any]) -> Json:
        """Go by the branch that the value fits, or at least by the only ones of its type."""
        fitting = (branch for branch in branches if self._fits(value, branch))
        alike = (branch for branch in branches if type_fits(self._types(branch), value))
        branch = next(itertools.chain(fitting, alike), None)
        return value if branch is None else self._restored(value, branch)

    def _fits(self, value: Json, node: Any) -> bool:
        node = self._behind(node)
        if "anyOf" in node:
            return any(self._fits(value, branch) for branch in node["anyOf"])
        if not type_fits(_listed(node["type"]), value):
            return False
        if "enum" in node:
            return same_key(value) in map(same_key, node["enum"])
        if isinstance(value, dict):
            properties = node["properties"]
            return value.keys() == properties.keys() and all(
                self._fits(value[name], properties[name]) for name in value
            )
        return not isinstance(value, list) or all(self._fits(item, node["items"]) for item in value)

    def _types(self, node: Any) -> list[str]:
        node = self._behind(node)
        if "anyOf" in node:
            return [name for branch in node["anyOf"] for name in self._types(branch)]
        return _listed(node["type"])

    def _behind(self, node: Any) -> Any:
        while "$ref" in node:
            node = self.marked["$defs"][_name_in(node)]
        return node


class _ImpossibleError(Exception):
    """No value satisfies a schema; in a branch, or an optional property, that takes it out of the strict schema."""


def strict_schema(schema: Json) -> StrictSchema:
    """Make a strict schema; SchemaError with the pointer of what no strict schema can say."""
    try:
        return _Maker(schema).made()
    except RecursionError:
        raise SchemaError("the schema is nested too deep for a strict schema") from None


@dataclass(slots=True, kw_only=True)
class _Layer:
    """What the schemas of one place say together."""

    at: str
    notes: dict[str, Json] = field(default_factory=dict)
    types: list[str] | None = None
    meant: list[str] = field(default_factory=list)
    values: list[Json] | None = None
    properties: dict[str, _Parts] = field(default_factory=dict)
    required: dict[str, None] = field(default_factory=dict)
    closed: frozenset[str] | None = None
    items: _Parts = ()
    nullable: bool = False


class _Maker:
    def __init__(self, schema: Json) -> None:
        self._root = schema
        self._source = SchemaSource(schema)
        self._names: dict[str, str] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._merging: frozenset[str] = frozenset()
        self._dropped: dict[str, dict[str, None]] = {}

    def made(self) -> StrictSchema:
        try:
            root = self._node(((self._root, ""),))
        except _ImpossibleError:
            raise SchemaError("the schema allows no value") from None
        self._refuse_endless()
        while "$ref" in root or len(root.get("anyOf", ())) == 1:
            only = root if "$ref" in root else root["anyOf"][0]
            behind = self._definitions[_name_in(only)] if "$ref" in only else only
            root = {**behind, **{name: root[name] for name in _NOTES if name in root}}
        wrapped = root.get("type") != "object" or _NULLABLE in root
        if wrapped:
            root = {"type": "object", "properties": {_WRAPPER: root}, _OPTIONAL: []}
        definitions = {name: self._final(node) for name, node in self._definitions.items()}
        marked = {**self._final(root), "$defs": definitions}
        sent = _without_marks(marked)
        if not definitions:
            del sent["$defs"]
        dropped = {keyword: tuple(pointers) for keyword, pointers in sorted(self._dropped.items())}
        return StrictSchema(schema=sent, dropped=dropped, marked=marked, wrapped=wrapped)

    # one place

    def _node(self, parts: _Parts) -> dict[str, Any]:
        """Return the strict schema of a place; `_OPTIONAL` and `_NULLABLE` in it are marks of ours."""
        direct, references = self._direct(parts)
        if len(references) == 1 and not any(map(_is_solid, direct)):
            notes = _notes(direct)
            node = {"$ref": f"#/$defs/{self._defined(references[0])}"}
            return {**notes, "anyOf": [node]} if notes else node
        before = self._merging
        try:
            while references:
                pointer = references.pop(0)
                if pointer in self._merging:
                    raise SchemaError(
                        "a strict schema cannot say what stands beside a reference to a schema that holds it; name the "
                        f"combination in $defs, {_ADVICE}",
                        pointer=parts[0][1],
                    )
                self._merging |= {pointer}
                more, further = self._direct(((self._source.at(pointer), pointer),))
                direct += more
                references += further
            return self._merged(direct, parts[0][1])
        finally:
            self._merging = before

    def _direct(self, parts: _Parts) -> tuple[list[tuple[dict[str, Any], str]], list[str]]:
        """Return the objects of some schemas and of their `allOf`, with what counts of them, and their references."""
        direct: list[tuple[dict[str, Any], str]] = []
        references: list[str] = []
        for schema, at in parts:
            if schema is False:
                raise _ImpossibleError
            if not isinstance(schema, dict):
                continue
            direct.append((self._own(schema, at), at))
            for keyword in REFERENCES:
                if isinstance(ref := schema.get(keyword), str):
                    target = self._source.target(ref)
                    if target is None:
                        raise SchemaError(f"the reference {ref!r} leads nowhere in the schema", pointer=at)
                    references.append(target)
            if isinstance(branches := schema.get("allOf"), list):
                both = self._direct(tuple((each, f"{at}/allOf/{index}") for index, each in enumerate(branches)))
                direct += both[0]
                references += both[1]
        return direct, list(dict.fromkeys(references))

    def _own(self, schema: dict[str, Any], at: str) -> dict[str, Any]:
        """Return the keywords that a strict schema is made of, and list those that it loses."""
        own: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword in _DROPPED:
                self._drop(keyword, at)
            elif keyword in _KEYWORDS or keyword in _NOTES:
                own[keyword] = value
        # where a schema names no type, the constraints say which one is meant
        meant = sorted({_TYPE_OF[keyword] for keyword in schema.keys() & _TYPE_OF.keys()})
        return {**own, _MEANT: meant} if meant and _MEANT not in own else own

    def _drop(self, keyword: str, at: str) -> None:
        self._dropped.setdefault(keyword, {})[at] = None

    def _merged(self, direct: list[tuple[dict[str, Any], str]], at: str) -> dict[str, Any]:
        choices = [
            [(branch, f"{where}/{word}/{index}") for index, branch in enumerate(own[word])]
            for own, where in direct
            for word in ("anyOf", "oneOf")
            if isinstance(own.get(word), list)
        ]
        rest = [({k: v for k, v in own.items() if k not in {"anyOf", "oneOf"}}, where) for own, where in direct]
        if not choices:
            return self._plain(_layer(rest, at, self._drop))
        if math.prod(map(len, choices)) > _MOST_COMBINATIONS:
            raise SchemaError(f"more combinations of alternatives than a strict schema may list; {_ADVICE}", pointer=at)
        always = tuple(({k: v for k, v in own.items() if k not in _NOTES}, where) for own, where in rest)
        nodes: list[dict[str, Any]] = []
        for combination in itertools.product(*choices):
            try:
                node = self._node((*combination, *always))
            except _ImpossibleError:
                continue
            nodes += [node] if node not in nodes else []
        if not nodes:
            raise _ImpossibleError
        for own, where in direct:
            if "oneOf" in own and not _are_disjoint(nodes):
                self._drop("oneOf", where)
        notes = _notes(direct)
        return nodes[0] if len(nodes) == 1 and not notes else {**notes, "anyOf": nodes}

    def _plain(self, layer: _Layer) -> dict[str, Any]:
        """Return the strict schema of a place without alternatives: one, or one for each kind of value."""
        types = _types_of(layer)
        if not types:
            raise SchemaError(
                f"any value is allowed here, which no strict schema says; name its type, {_ADVICE}", pointer=layer.at
            )
        scalars = [name for name in types if name in _SCALARS]
        nodes: list[dict[str, Any]] = []
        if layer.values is not None:
            nodes.append(_enum_node(layer, types))
        else:
            nodes += [{"type": scalars[0] if len(scalars) == 1 else scalars}] if scalars else []
            nodes += [self._object_node(layer)] if "object" in types else []
            nodes += [self._array_node(layer)] if "array" in types else []
        marks = {_NULLABLE: True} if layer.nullable else {}
        return {**layer.notes, **(nodes[0] if len(nodes) == 1 else {"anyOf": nodes}), **marks}

    def _object_node(self, layer: _Layer) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        for name, parts in layer.properties.items():
            if layer.closed is not None and name not in layer.closed:
                continue
            try:
                properties[name] = self._node(parts)
            except _ImpossibleError:
                if name in layer.required:
                    raise
        missing = [name for name in layer.required if name not in properties]
        if missing and layer.closed is not None:
            raise _ImpossibleError
        if missing:
            raise SchemaError(
                f"the key {missing[0]!r} is required and not described, and a strict schema describes every key; "
                f"add it to the properties, {_ADVICE}",
                pointer=layer.at,
            )
        if not properties and layer.closed is None:
            raise SchemaError(
                f"an object with any keys, which no strict schema says; describe its properties, {_ADVICE}",
                pointer=layer.at,
            )
        return {
            "type": "object",
            "properties": properties,
            _OPTIONAL: [name for name in properties if name not in layer.required],
        }

    def _array_node(self, layer: _Layer) -> dict[str, Any]:
        if not layer.items:
            raise SchemaError(
                f"a list of any items, which no strict schema says; describe them, {_ADVICE}", pointer=layer.at
            )
        return {"type": "array", "items": self._node(layer.items)}

    # definitions

    def _defined(self, pointer: str) -> str:
        """Return the name in `$defs` of what a reference leads to."""
        if pointer not in self._names:
            base = re.sub(r"[^A-Za-z0-9_-]", "_", pointer.rpartition("/")[2])[:40] or "root"
            taken = self._names.values()
            numbered = (f"{base}_{number}" for number in itertools.count(2))
            name = next(each for each in itertools.chain([base], numbered) if each not in taken)
            self._names[pointer] = name
            before, self._merging = self._merging, frozenset()
            try:
                self._definitions[name] = self._node(((self._source.at(pointer), pointer),))
            finally:
                self._merging = before
        return self._names[pointer]

    def _refuse_endless(self) -> None:
        for pointer, name in self._names.items():
            if self._leads_to(name, self._definitions[name], set()):
                raise SchemaError("the schema refers to itself with nothing in between", pointer=pointer)

    def _leads_to(self, name: str, node: dict[str, Any], seen: set[str]) -> bool:
        """Whether a value has to fit a definition in order to fit it, by references and alternatives alone."""
        if "$ref" not in node:
            return any(self._leads_to(name, branch, seen) for branch in node.get("anyOf", ()))
        here = _name_in(node)
        if here == name or here in seen:
            return here == name
        seen.add(here)
        return self._leads_to(name, self._definitions[here], seen)

    # what is optional

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
            absent = [name for name in node[_OPTIONAL] if not self._accepts_null(before[name], frozenset())]
            properties = {name: self._final(child) for name, child in before.items()}
            properties |= {name: _with_null(properties[name]) for name in absent}
            required = {"required": [*properties], "additionalProperties": False, _OPTIONAL: absent}
            made |= {"properties": properties, **required}
        return _with_null(made) if made.pop(_NULLABLE, False) else made

    def _accepts_null(self, node: dict[str, Any], seen: frozenset[str]) -> bool:
        if "$ref" in node:
            name = _name_in(node)
            return name not in seen and self._accepts_null(self._definitions[name], seen | {name})
        if "anyOf" in node:
            return any(self._accepts_null(branch, seen) for branch in node["anyOf"])
        return "null" in _listed(node["type"])


def _layer(direct: Sequence[tuple[dict[str, Any], str]], at: str, drop: Callable[[str, str], None]) -> _Layer:
    """Put together what some schemas say of one place."""
    layer = _Layer(at=at, notes=_notes(direct))
    for own, where in direct:
        if "type" in own:
            types = [name for name in _listed(own["type"]) if name in _TYPES]
            layer.types = types if layer.types is None else _common_types(layer.types, types)
        layer.meant += own.get(_MEANT, ())
        layer.nullable = layer.nullable or own.get("nullable") is True
        for values in (*([own["enum"]] if "enum" in own else []), *([[own["const"]]] if "const" in own else [])):
            keys = {*map(same_key, values)}
            layer.values = values if layer.values is None else [each for each in layer.values if same_key(each) in keys]
        _add_properties(layer, own, where, drop)
        layer.items += _items(own, where, drop)
    return layer


def _add_properties(layer: _Layer, own: dict[str, Any], where: str, drop: Callable[[str, str], None]) -> None:
    properties = own.get("properties", {})
    for name, schema in properties.items():
        layer.properties[name] = (*layer.properties.get(name, ()), (schema, f"{where}/properties/{escape(name)}"))
    layer.required |= dict.fromkeys(own.get("required", ()))
    further = own.get("additionalProperties")
    if further is False:
        closed = frozenset(properties)
        layer.closed = closed if layer.closed is None else layer.closed & closed
    for keyword in ("additionalProperties", "unevaluatedProperties", "patternProperties"):
        if own.get(keyword) and isinstance(own[keyword], dict):
            raise SchemaError(
                f"keys that are not known before ({keyword}), which no strict schema says; describe the properties, or "
                f"a list of keys and values, {_ADVICE}",
                pointer=where,
            )
    if further is not None and further is not False and properties:
        drop("additionalProperties", where)


def _items(own: dict[str, Any], where: str, drop: Callable[[str, str], None]) -> _Parts:
    """Return the schemas of the items of a list; where each place has its own, an item may be that of any place."""
    items = own.get("items")
    places, others = ("prefixItems", "items") if "prefixItems" in own else ("items", "additionalItems")
    if not isinstance(own.get(places), list):
        return () if items is None else ((items, f"{where}/items"),)
    drop(places, where)
    rest = own.get(others)
    branches = [*own[places], *([rest] if isinstance(rest, dict) else [])]
    return (({"anyOf": branches}, f"{where}/{places}"),)


def _types_of(layer: _Layer) -> list[str]:
    """Return the types of the values of a place, in a fixed order; none where nothing says which."""
    types = layer.types
    if types is None:
        types = [*dict.fromkeys(map(json_type, layer.values))] if layer.values is not None else layer.meant
    elif not types:
        raise _ImpossibleError
    return [name for name in _TYPES if name in types]


def _common_types(one: Sequence[str], other: Sequence[str]) -> list[str]:
    both = [name for name in one if name in other]
    return both + [
        "integer" for first, second in ((one, other), (other, one)) if "integer" in first and "number" in second
    ]


def _enum_node(layer: _Layer, types: Sequence[str]) -> dict[str, Any]:
    values = [value for value in layer.values or () if type_fits(types, value)]
    if not values:
        raise _ImpossibleError
    if any(isinstance(value, dict | list) for value in values):
        raise SchemaError(
            f"an object or a list as a fixed value, which no strict schema says; {_ADVICE}", pointer=layer.at
        )
    names = [name for name in types if any(type_fits([name], value) for value in values)]
    return {"type": names[0] if len(names) == 1 else names, "enum": values}


def _are_disjoint(nodes: Sequence[dict[str, Any]]) -> bool:
    """Whether no value satisfies two of some schemas, as their types tell; null is beside what is a reference."""
    others = [node for node in nodes if node != _NULL]
    types = ["number" if name == "integer" else name for node in others for name in _listed(node.get("type"))]
    return len(others) <= 1 or (None not in types and len(types) == len(set(types)))


def _is_solid(direct: tuple[dict[str, Any], str]) -> bool:
    """Whether a schema says more than notes, and constraints that are dropped."""
    return bool(direct[0].keys() - {*_NOTES, _MEANT})


def _notes(direct: Sequence[tuple[dict[str, Any], str]]) -> dict[str, Json]:
    return {name: own[name] for own, _ in reversed(direct) for name in _NOTES if isinstance(own.get(name), str)}


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
    if "anyOf" in node:
        return node if _NULL in node["anyOf"] else {**node, "anyOf": [*node["anyOf"], dict(_NULL)]}
    types = _listed(node.get("type"))
    if "null" in types:
        return node
    if types[0] in _SCALARS:
        return {**node, "type": [*types, "null"], **({"enum": [*node["enum"], None]} if "enum" in node else {})}
    notes: dict[str, Any] = {name: node[name] for name in _NOTES if name in node}
    return {**notes, "anyOf": [{name: each for name, each in node.items() if name not in notes}, dict(_NULL)]}
