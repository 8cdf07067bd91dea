"""Writing the default metrics into a schema, in either annotation dialect, so that they can be read and changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from pytest_extract.core.arguments import mapping, one_of
from pytest_extract.core.metrics import METRICS, PRESETS
from pytest_extract.core.metrics.base import check_params
from pytest_extract.core.python_values import json_argument, schema_argument
from pytest_extract.core.schema.subschemas import map_children
from pytest_extract.core.values import Json, json_type
from pytest_extract.errors import ConfigError, SchemaError, nearest
from pytest_extract.schema_tools.propose import AnnotationProposals, propose_annotations

AnnotationDialect: TypeAlias = Literal["x-eval", "evaluation_config"]

DEFAULTS: Final[Mapping[AnnotationDialect, Mapping[str, str]]] = MappingProxyType(
    {
        "x-eval": MappingProxyType(
            {"string": "exact", "number": "numeric", "integer": "numeric", "boolean": "exact", "other": "exact"}
        ),
        "evaluation_config": MappingProxyType(
            {
                "string": "string_semantic",
                "number": "number_tolerance",
                "integer": "integer_exact",
                "boolean": "boolean_exact",
                "array": "array_llm",
                "other": "string_exact",
            }
        ),
    }
)
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
    table = {**DEFAULTS[dialect], **_checked_metrics(mapping("metrics", metrics))}
    try:
        proposals = propose_annotations(
            schema, [json_argument(f"golds[{index}]", gold) for index, gold in enumerate(golds)]
        )
        annotator = (_XEval if dialect == "x-eval" else _EvaluationConfig)(table, proposals)
        return annotator.node(schema, "")
    except RecursionError:
        raise SchemaError("the schema is nested too deep to be annotated") from None


def _checked_metrics(metrics: Mapping[str, Json]) -> dict[str, Json]:
    known = (*DEFAULTS["evaluation_config"], "object", "null")
    for kind, use in metrics.items():
        if kind not in known:
            raise ConfigError(f"no JSON type {kind!r} to annotate{nearest(kind, known)}")
        name, params = _name_and_params(use)
        if name not in METRICS:
            raise ConfigError(f"no metric {name!r} for {kind}{nearest(name, METRICS)}")
        problems = check_params(params, METRICS[name].params, name)
        if problems:
            raise ConfigError("; ".join(problems))
    return dict(metrics)


def _name_and_params(use: Json) -> tuple[str, dict[str, Json]]:
    if isinstance(use, str):
        return use, {}
    if isinstance(use, dict) and len(use) == 1:
        ((name, params),) = use.items()
        if isinstance(params, dict):
            return name, params
    raise ConfigError(f"a metric is given as its name or as {{name: {{parameters}}}}, not {use!r}")


# --- walking


def effective_type(schema: Mapping[str, Json]) -> str:
    """Return the one type besides null that a schema names, "multi" for several, "" for none."""
    named = schema.get("type")
    if isinstance(named, str):
        return named
    types = [name for name in named if name != "null"] if isinstance(named, list) else []
    return types[0] if len(types) == 1 and isinstance(types[0], str) else "multi" if types else ""


@dataclass(frozen=True, slots=True)
class _Annotator:
    """Walks a schema; a subclass writes one dialect. `table`: metric by JSON type."""

    table: Mapping[str, Json]
    proposals: AnnotationProposals

    def node(self, schema: dict[str, Json], pointer: str) -> dict[str, Json]:
        """Return the schema with its leaves, and those inside it, annotated."""
        kind = effective_type(schema)
        inside, choices = self.children(schema, kind), _choices(schema)
        node = map_children(schema, pointer, self._child, keywords=(*inside, *choices, *_definitions(schema)))
        if inside or choices or "$ref" in schema:
            return self.container(node, kind, pointer)
        return self.leaf(node, kind, pointer)

    def children(self, schema: Mapping[str, Json], kind: str) -> tuple[str, ...]:
        """Return the keywords that hold the children of a node."""
        return _children(schema, kind)

    def _child(self, schema: Json, pointer: str) -> Json:
        return self.node(schema, pointer) if isinstance(schema, dict) else schema

    def container(self, node: dict[str, Json], kind: str, pointer: str) -> dict[str, Json]:
        """Return a node that has children, annotated where the dialect annotates such."""
        raise NotImplementedError

    def leaf(self, node: dict[str, Json], kind: str, pointer: str) -> dict[str, Json]:
        """Return a node without children, annotated."""
        raise NotImplementedError


class _XEval(_Annotator):
    """`x-eval-compare` on leaves."""

    def container(self, node: dict[str, Json], kind: str, pointer: str) -> dict[str, Json]:
        """Return a list of objects with its key, any other node as it is."""
        key = self.proposals.keys.get(pointer)
        if kind != "array" or key is None or node.get("evaluation_config") is not None or _in_x_eval(node):
            return node
        return {**node, "x-eval-align": {"ordered": False, "match_by": "key_field", "key": key}}

    def leaf(self, node: dict[str, Json], kind: str, pointer: str) -> dict[str, Json]:
        """Return the node with a comparator, unless it has one or is skipped."""
        if "x-eval-compare" in node or "x-eval-skip" in node or node.get("evaluation_config") is not None:
            return node
        proposed = self.proposals.metrics.get(pointer)
        return {**node, "x-eval-compare": proposed or self.table.get(kind, self.table["other"])}


class _EvaluationConfig(_Annotator):
    """`evaluation_config` on leaves and arrays, none on objects and null."""

    def children(self, schema: Mapping[str, Json], kind: str) -> tuple[str, ...]:
        """Return the keywords that hold the children; those without a name count here."""
        return _children(schema, kind) or (_others(schema) if kind != "multi" else ())

    def container(self, node: dict[str, Json], kind: str, pointer: str) -> dict[str, Json]:
        """Return an array with its configuration."""
        return self.leaf(node, kind, pointer) if kind == "array" and "$ref" not in node else node

    def leaf(self, node: dict[str, Json], kind: str, pointer: str) -> dict[str, Json]:
        """Return the node with a configuration, unless it has one."""
        silent = kind in {"object", "null"} and kind not in self.table
        if silent or node.get("evaluation_config") is not None or _in_x_eval(node):
            return node
        if pointer in self.proposals.keys:
            return {**node, "evaluation_config": {"align": "key", "key": self.proposals.keys[pointer]}}
        proposed = self.proposals.metrics.get(pointer)
        proposed = proposed and _PRESET_OF.get(proposed, proposed)
        name, params = _name_and_params(proposed or self.table.get(kind, self.table["other"]))
        if name in PRESETS and not params:
            return {**node, "evaluation_config": name}
        metric = {"metric_id": name, "params": params} if params else {"metric_id": name}
        return {**node, "evaluation_config": {"metrics": [metric]}}


def _in_x_eval(node: Mapping[str, Json]) -> bool:
    """Whether a node is annotated in a way that allows no `evaluation_config` beside it."""
    return any(key.startswith("x-eval-") and key != "x-eval-nulls" for key in node)


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


def _definitions(schema: Mapping[str, Json]) -> tuple[str, ...]:
    return tuple(name for name in ("$defs", "definitions") if isinstance(schema.get(name), dict))
