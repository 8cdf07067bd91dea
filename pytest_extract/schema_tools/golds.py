"""A schema from golds and for golds: inferred from them, annotated by their values, and held against them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pytest_extract.core import arguments
from pytest_extract.core.arguments import json_argument, mapping, one_of, schema_argument
from pytest_extract.core.metrics import METRICS, PRESETS
from pytest_extract.core.metrics.base import Params, with_defaults
from pytest_extract.core.metrics.dates import date_reader
from pytest_extract.core.metrics.numbers import money_reader
from pytest_extract.core.mistakes.values import reads_as_date
from pytest_extract.core.schema.source import Key, Ref, SchemaSource, escape, map_children
from pytest_extract.core.schema.tree import Schema, SchemaNode, type_fits
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import FieldPath, Json, Step, json_type, pattern_of
from pytest_extract.errors import ConfigError, SchemaError, SchemaErrors, nearest


def infer_schema(values: Sequence[Json], *, widen: bool = False) -> dict[str, Json]:
    """Return a schema of `values`: types, properties (all keys, sorted) and items (of all arrays together).

    The type of a place is that of its first value that is not null, and string where all are null, as
    struct-extract-eval does it. With `widen` it holds for every value: number for 1 and 2.5, several types where
    there are several, null where it occurs, `required` for keys that are always there.
    Raises ConfigError without values, and for values that are no JSON.
    """
    arguments.values("values", values)
    values = [json_argument(f"values[{index}]", value) for index, value in enumerate(values)]
    if not values:
        raise ConfigError("a schema can only be inferred from at least one value")
    return _infer(values, widen=widen)


def _infer(values: Sequence[Json], *, widen: bool) -> dict[str, Json]:
    known = [value for value in values if value is not None]
    types = list(dict.fromkeys(map(json_type, known if widen else known[:1]))) or ["string"]
    if widen and "number" in types and "integer" in types:
        types.remove("integer")
    if widen and len(known) < len(values):
        types.append("null")
    schema: dict[str, Json] = {"type": types[0] if len(types) == 1 else types}
    if "object" in types:
        objects = [value for value in known if isinstance(value, dict)]
        names = sorted({name for value in objects for name in value})
        columns = {name: [value[name] for value in objects if name in value] for name in names}
        schema["properties"] = {n: _infer(column, widen=widen) for n, column in columns.items()}
        always = [name for name in names if len(columns[name]) == len(objects)]
        if widen and always:
            schema["required"] = always
    if "array" in types:
        items = [item for value in known if isinstance(value, list) for item in value]
        schema["items"] = _infer(items, widen=widen) if items else {} if widen else {"type": "string"}
    return schema


FEWEST_ROWS: Final = 3
"""Rows that must have different values before these are taken for a key."""
_TEXT_WORDS: Final = 10
_TEXT_CHARACTERS: Final = 80
_NUMBER: Final = r"[+-]?\d[\d.,'\u2019\u00a0\u202f ]*"
_CURRENCY: Final = r"(?:[A-Z]{3}|[A-Z]{0,3}[$\u20ac\u00a3\u00a5\u20b9])"
_MONEY = re.compile(rf"{_CURRENCY}\s?{_NUMBER}|{_NUMBER}\s?{_CURRENCY}")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_URL = re.compile(r"https?://\S+")
_CODE = re.compile(r"[A-Z]{1,3}")
_DATES: Final[Sequence[Params]] = ({}, {"order": "DMY"}, {"order": "MDY"})
_AMOUNTS: Final[Sequence[Params]] = ({}, {"locale": "de"}, {"locale": "fr"}, {"locale": "de-CH"}, {"locale": "en-IN"})
"""Parameters in the order in which they are tried: a metric is proposed with the first that read all values."""
_LABEL_REPEATS: Final = 3
"""How often words occur on average that are labels of a list which the schema does not give."""


def _text_metric(texts: Sequence[str]) -> Json:
    """Return the metric that all of some texts fit."""
    for metric, pattern in (("email", _EMAIL), ("url", _URL)):
        if all(pattern.fullmatch(text) for text in texts):
            return metric
    found: Json = None
    if all(_MONEY.fullmatch(text) for text in texts):
        found = _reading("money", money_reader, _AMOUNTS, texts)
    elif all(reads_as_date(text) for text in texts):
        found = _reading("date", date_reader, _DATES, texts)
    if found is not None:
        return found
    are_labels = len(texts) >= _LABEL_REPEATS * len(set(texts)) and not any(len(text.split()) > 1 for text in texts)
    if are_labels or all(map(_is_identifier, texts)):
        return "exact"
    long = sum(len(text.split()) > _TEXT_WORDS or len(text) > _TEXT_CHARACTERS for text in texts)
    return "semantic" if 2 * long >= len(texts) else "fuzzy"


def _reading(
    name: str, reader: Callable[[Params], Callable[[Json], object]], tried: Sequence[Params], texts: Sequence[str]
) -> Json:
    """Return a metric with the first parameters by which it reads all of some texts; None where none do."""
    for params in tried:
        read = reader(with_defaults(params, METRICS[name].params))
        if all(read(text) is not None for text in texts):
            return {name: {**params}} if params else name
    return None


def _is_identifier(text: str) -> bool:
    """Whether every word holds a digit or is a code of up to three capitals: `A-117`, `FY2025 Q2`, `EUR`."""
    words = text.split()
    return bool(words) and all(_CODE.fullmatch(word) or any(map(str.isdigit, word)) for word in words)


AnnotationDialect: TypeAlias = Literal["x-eval", "evaluation_config"]

DEFAULTS: Final[Mapping[AnnotationDialect, Mapping[str, str]]] = {
    "x-eval": {"string": "exact", "number": "numeric", "integer": "numeric", "boolean": "exact", "other": "exact"},
    "evaluation_config": {
        "string": "string_semantic",
        "number": "number_tolerance",
        "integer": "integer_exact",
        "boolean": "boolean_exact",
        "array": "array_llm",
        "other": "string_exact",
    },
}
"""Metric by JSON type in each dialect, as the systems that they come from default; `other`: leaves of no one type."""

_PRESET_OF: Final = {"exact": "string_exact", "fuzzy": "string_fuzzy", "semantic": "string_semantic"}
_CHOICES: Final = ("anyOf", "oneOf", "allOf")


def annotate_schema(
    schema: Json,
    *,
    dialect: AnnotationDialect = "x-eval",
    metrics: Mapping[str, Json] | None = None,
    golds: Iterable[Json] = (),
) -> dict[str, Json]:
    """Return a new schema in which every leaf (`evaluation_config`: also every array) without a metric has one.

    `metrics` replaces defaults by JSON type: a metric's name, or {name: parameters}; `other` is for leaves of
    several types or none. What is annotated (in either dialect) or skipped already stays. Definitions are
    annotated where they stand.
    `golds`: texts get the metric that suits the golds' values (date, money, email, url, exact for identifiers, semantic
    for free text, fuzzy for names), and lists of objects the key that tells their rows apart, where there is one.
    Raises ConfigError for an unknown type or metric and for a wrong parameter, SchemaError for what is no schema.
    """
    schema = schema_argument(schema)
    if not isinstance(schema, dict):
        raise SchemaError(f"a schema to annotate must be an object, not {json_type(schema)}")
    one_of("dialect", dialect, tuple(DEFAULTS))
    metrics, known = mapping("metrics", metrics), (*DEFAULTS["evaluation_config"], "object", "null")
    for kind, use in metrics.items():
        if kind not in known:
            raise ConfigError(f"no JSON type {kind!r} to annotate{nearest(kind, known)}")
        try:
            compile_schema({"x-eval-compare": use})
        except SchemaError as error:
            raise ConfigError(f"{kind}: {error.message}") from None
    values = [json_argument(f"golds[{index}]", gold) for index, gold in enumerate(golds)]
    return _Annotator(schema, dialect, {**DEFAULTS[dialect], **metrics}, values).annotated(schema, "")


class _Annotator:
    """Annotates a schema, in the light of the values that golds have at its places, by pointer."""

    def __init__(self, schema: Json, dialect: str, table: Mapping[str, Json], golds: list[Json]) -> None:
        self._source = SchemaSource(schema)
        self._dialect = dialect
        self._table = table
        self._values: defaultdict[str, list[Json]] = defaultdict(list)
        self._visit((Ref(""),), golds, frozenset())

    def _visit(self, key: Key, values: list[Json], around: frozenset[Key]) -> None:
        """Note the values of a place, and those inside it; `around`: the alternatives that it is one of."""
        if not values or key in around:
            return
        objects = [value for value in values if isinstance(value, dict)]
        rows = [row for value in values if isinstance(value, list) for row in value]
        for layer in self._source.expand(key).layers:
            self._values[layer.pointer] += values
            properties = layer.schema.get("properties") or {}
            others = [part for value in objects for name, part in value.items() if name not in properties]
            inside = {"additionalProperties": others, "items": rows}
            parts = {place: found for place, found in inside.items() if place in layer.schema}
            for name in properties:
                parts[f"properties/{escape(name)}"] = [value[name] for value in objects if name in value]
            for place, found in parts.items():
                self._visit((Ref(f"{layer.pointer}/{place}"),), found, frozenset())
            for word in ("anyOf", "oneOf"):
                for index in range(len(layer.schema.get(word) or ())):
                    branch = (Ref(f"{layer.pointer}/{word}/{index}"),)
                    named = [each.schema.get("type", []) for each in self._source.expand(branch).layers]
                    types = [[each] if isinstance(each, str) else each for each in named]
                    fitting = [value for value in values if all(type_fits(each, value) for each in types)]
                    self._visit(branch, fitting, around | {key})

    def _metric(self, pointer: str, schema: Mapping[str, Json]) -> Json:
        """Return the metric that the texts of a place fit; None where not all values are texts."""
        values = [value for value in self._values.get(pointer, ()) if value is not None]
        texts = [value.strip() for value in values if isinstance(value, str)]
        if not any(texts) or len(texts) < len(values):
            return None
        return "exact" if "enum" in schema or "const" in schema else _text_metric([text for text in texts if text])

    def _key(self, pointer: str) -> str | None:
        """Return the first property of identifiers that tells all rows of every list of a place apart."""
        lists = [value for value in self._values.get(pointer, ()) if isinstance(value, list)]
        rows = [row for each in lists for row in each]
        if len(rows) < FEWEST_ROWS or max(map(len, lists)) < 2 or not all(isinstance(row, dict) for row in rows):
            return None
        layers = self._source.expand((Ref(f"{pointer}/items"),)).layers
        for name in (name for layer in layers for name in layer.schema.get("properties") or ()):
            columns = [[str(row.get(name)).strip() for row in each] for each in lists]
            texts = [row[name].strip() for row in rows if isinstance(row.get(name), str)]
            if len(texts) < len(rows) or not all(map(_is_identifier, texts)) or _text_metric(texts) != "exact":
                continue
            if all(len({*column}) == len(column) for column in columns):
                return str(name)
        return None

    def annotated(self, schema: dict[str, Json], pointer: str) -> dict[str, Json]:
        """Return a schema with its leaves, and those inside it, annotated."""
        is_x_eval, kind = self._dialect == "x-eval", effective_type(schema)
        inside, choices = _children(schema, kind), _choices(schema)
        if not is_x_eval and kind != "multi":  # children without a name count here
            inside = inside or _others(schema)
        keywords = (*inside, *choices, "$defs", "definitions")
        node = map_children(schema, pointer, self.annotated, keywords=keywords)
        if node.get("evaluation_config") is not None:
            return node
        is_leaf = not inside and not choices and "$ref" not in schema
        has_x_eval = any(name.startswith("x-eval-") and name != "x-eval-nulls" for name in node)
        key = self._key(pointer) if kind == "array" and not is_leaf else None
        metric = self._metric(pointer, node) if is_leaf else None
        default = self._table.get(kind, self._table["other"])
        if is_x_eval:
            if is_leaf and "x-eval-compare" not in node and "x-eval-skip" not in node:
                return {**node, "x-eval-compare": metric or default}
            align = {"ordered": False, "match_by": "key_field", "key": key}
            return node if key is None or has_x_eval else {**node, "x-eval-align": align}
        is_group = kind in {"object", "null"} and kind not in self._table
        if has_x_eval or is_group or not (is_leaf or (kind == "array" and "$ref" not in node)):
            return node
        use = (_PRESET_OF.get(metric, metric) if isinstance(metric, str) else metric) or default
        if key is not None:
            use = {"align": "key", "key": key}
        elif not isinstance(use, str) or use not in PRESETS:
            ((name, params),) = use.items() if isinstance(use, dict) else ((use, {}),)
            use = {"metrics": [{"metric_id": name, **({"params": params} if params else {})}]}
        return {**node, "evaluation_config": use}


def effective_type(schema: Mapping[str, Json]) -> str:
    """Return the one type besides null that a schema names, "multi" for several, "" for none."""
    named = schema.get("type")
    if isinstance(named, str):
        return named
    types = [name for name in named if name != "null"] if isinstance(named, list) else []
    return types[0] if len(types) == 1 and isinstance(types[0], str) else "multi" if types else ""


def _children(schema: Mapping[str, Json], kind: str) -> tuple[str, ...]:
    """Return the keywords that hold the children, as struct-extract-eval finds them: properties, else items."""
    if kind == "multi":
        return ()
    properties = schema.get("properties")
    if isinstance(properties, dict) and any(isinstance(child, dict) for child in properties.values()):
        return ("properties", *_others(schema))
    return ("items", "prefixItems") if isinstance(schema.get("items"), dict) else ()


def _others(schema: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the keywords that describe values under keys without a name."""
    return tuple(name for name in ("patternProperties", "additionalProperties") if isinstance(schema.get(name), dict))


def _choices(schema: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the compositions whose branches are annotated: not an `allOf` that only bounds the value beside it."""
    return tuple(
        name
        for name in _CHOICES
        if isinstance(branches := schema.get(name), list)
        and (name != "allOf" or any(isinstance(branch, dict) and _holds_children(branch) for branch in branches))
    )


def _holds_children(branch: Mapping[str, Json]) -> bool:
    return "$ref" in branch or bool(_children(branch, effective_type(branch)) or _choices(branch))


Severity: TypeAlias = Literal["error", "warning"]
_Path: TypeAlias = tuple[Step, ...]
_Finding: TypeAlias = tuple[Severity, _Path, str]
DEEPEST = 256
"""Levels of a gold that are looked into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldProblem:
    """One thing that is wrong with one gold.

    `record`: its position; `record_id`: its id, or the position where it has none.
    `path`: the place in the gold; `pattern`: the same without indices (`items[].price`).
    """

    severity: Severity
    record: int
    record_id: str | int
    path: FieldPath
    message: str

    @property
    def pattern(self) -> str:
        """The path with `[]` for every index; a key with a dot or bracket is quoted."""
        return pattern_of(self.path)

    def __str__(self) -> str:
        return f"{self.severity}: record {self.record_id!r}, `{self.path}`: {self.message}"


def validate_golds(
    golds: Sequence[Json],
    schema: Json,
    *,
    id_field: str | None = None,
    warn_missing: bool = True,
    strict_types: bool = False,
) -> tuple[GoldProblem, ...]:
    """Return what is wrong with `golds`, in their order.

    Errors: a field that the schema does not declare, a missing or unusable id, and with `strict_types` a value of
    another type (null is always allowed; integer and number stand for each other, a boolean for neither).
    Warnings: an object or array that is neither, and with `warn_missing` a declared field that is not there.
    Values that are compared as a whole are not looked into, nor what `evaluation_config` skips. Raises SchemaErrors
    for a schema that cannot be read. JSON Schema validation proper (`enum`, `pattern`, ...) is the schema gate's.
    """
    arguments.values("golds", golds)
    arguments.instance("id_field", id_field, str, "a text")
    golds = [json_argument(f"golds[{index}]", gold) for index, gold in enumerate(golds)]
    tree = Schema(schema_argument(schema))
    tree.annotated()  # makes every node, and finds its mistakes
    if tree.problems:
        raise SchemaErrors(tree.problems)
    checker = _Checker(tree, id_field, warn_missing, strict_types)
    problems: list[GoldProblem] = []
    for index, gold in enumerate(golds):
        record_id: Json = index
        found: Iterable[_Finding] = checker.node(Schema.root, gold, ())
        if id_field is not None:
            record_id = gold.get(id_field) if isinstance(gold, dict) else None
            if isinstance(record_id, bool) or not isinstance(record_id, str | int):
                got = f"must be a string or an integer, not {json_type(record_id)}"
                found = [("error", (id_field,), f"the id {'is missing' if record_id is None else got}")]
                record_id = index
        problems += (
            GoldProblem(severity=severity, record=index, record_id=record_id, path=FieldPath(path), message=message)
            for severity, path, message in found
        )
    return tuple(problems)


@dataclass(frozen=True, slots=True)
class _Checker:
    tree: Schema
    id_field: str | None
    warn_missing: bool
    strict_types: bool

    def node(self, key: Key, value: Json, path: _Path) -> Iterator[_Finding]:
        """Yield what is wrong with a value, and with what is in it."""
        node = self.tree.node(key)
        if value is None or len(path) > DEEPEST:
            return
        kind = json_type(value)
        if node.branches:  # the branch counts, among those of the value's type, that has the fewest errors
            fitting = [branch for branch in node.branches if _admits(self.tree.node(branch), kind)]
            found = [list(self.node(branch, value, path)) for branch in fitting or node.branches]
            yield from min(found, key=lambda some: (sum(severity == "error" for severity, _, _ in some), len(some)))
        elif not _admits(node, kind):
            container = (node.properties or node.items is not None) and not _as_a_whole(node)
            if self.strict_types or container:
                message = f"{' or '.join(node.types)} expected, got {kind}"
                yield "error" if self.strict_types else "warning", path, message
        elif _as_a_whole(node):
            return
        elif isinstance(value, dict) and (node.properties or node.patterns):
            yield from self._object(node, value, path)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                row = node.prefix[index] if index < len(node.prefix) else node.items
                if row is not None:
                    yield from self.node(row, item, (*path, index))

    def _object(self, node: SchemaNode, value: dict[str, Json], path: _Path) -> Iterator[_Finding]:
        for name, item in value.items():
            matching = next((key for pattern, key in node.patterns if pattern.search(name)), node.additional)
            key = node.properties.get(name, matching)
            if isinstance(key, tuple):
                yield from self.node(key, item, (*path, name))
            elif key is not True and not (name == self.id_field and not path):
                hint = nearest(name, node.properties)
                yield "error", (*path, name), f"the schema declares no such field{hint}"
        for name in node.properties if self.warn_missing else ():
            if name not in value:
                need = "required" if name in node.required else "declared"
                yield "warning", (*path, name), f"{need} by the schema, but not there"


def _admits(node: SchemaNode, kind: str) -> bool:
    """Whether a value of that JSON type may stand here; integer and number stand for each other."""
    fitting = {"integer", "number"} if kind in {"integer", "number"} else {kind}
    return not node.types or bool(fitting & set(node.types))


def _as_a_whole(node: SchemaNode) -> bool:
    """Whether the node's own configuration compares it as one value; in evaluation_config also, whether it skips it.

    struct-extract-eval looks into what it skips, and through metrics of containers extract-bench scores what is inside.
    """
    said = node.annotation
    return said is not None and bool(said.metrics if said.dialect == "x-eval" else said.skip)
