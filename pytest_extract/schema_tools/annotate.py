"""Writing the default metrics into a schema, in either annotation dialect, so that they can be read and changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from pytest_extract.core.arguments import json_argument, mapping, one_of, schema_argument
from pytest_extract.core.metrics import METRICS, PRESETS
from pytest_extract.core.metrics.base import check_params
from pytest_extract.core.schema.source import map_children
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
        return _annotated(schema, "", dialect, table, proposals)
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


def _annotated(
    schema: dict[str, Json],
    pointer: str,
    dialect: AnnotationDialect,
    table: Mapping[str, Json],
    proposals: AnnotationProposals,
) -> dict[str, Json]:
    """Return a schema with its leaves, and those inside it, annotated. `table`: metric by JSON type."""

    def child(inner: Json, at: str) -> Json:
        return _annotated(inner, at, dialect, table, proposals) if isinstance(inner, dict) else inner

    kind = effective_type(schema)
    inside, choices = _children(schema, kind), _choices(schema)
    if dialect == "evaluation_config" and kind != "multi":  # children without a name count here
        inside = inside or _others(schema)
    node = map_children(schema, pointer, child, keywords=(*inside, *choices, *_definitions(schema)))
    if node.get("evaluation_config") is not None:
        return node
    is_leaf = not inside and not choices and "$ref" not in schema
    if dialect == "evaluation_config" and kind in {"object", "null"} and kind not in table:
        return node
    write = _x_eval if dialect == "x-eval" else _evaluation_config
    key, metric = proposals.keys.get(pointer), proposals.metrics.get(pointer)
    return {**node, **write(node, kind, key, metric, table.get(kind, table["other"]), is_leaf=is_leaf)}


def _x_eval(
    node: Mapping[str, Json], kind: str, key: str | None, metric: str | None, default: Json, *, is_leaf: bool
) -> dict[str, Json]:
    """Return the comparator of a leaf, or the key of a list of objects."""
    if is_leaf:
        return {} if "x-eval-compare" in node or "x-eval-skip" in node else {"x-eval-compare": metric or default}
    if kind != "array" or key is None or _in_x_eval(node):
        return {}
    return {"x-eval-align": {"ordered": False, "match_by": "key_field", "key": key}}


def _evaluation_config(
    node: Mapping[str, Json], kind: str, key: str | None, metric: str | None, default: Json, *, is_leaf: bool
) -> dict[str, Json]:
    """Return the configuration of a leaf or an array."""
    if _in_x_eval(node) or (not is_leaf and (kind != "array" or "$ref" in node)):
        return {}
    if key is not None:
        return {"evaluation_config": {"align": "key", "key": key}}
    name, params = _name_and_params(_PRESET_OF.get(metric, metric) if metric else default)
    if name in PRESETS and not params:
        return {"evaluation_config": name}
    return {
        "evaluation_config": {"metrics": [{"metric_id": name, "params": params} if params else {"metric_id": name}]}
    }


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
