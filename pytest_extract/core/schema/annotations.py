"""Scoring configuration of one schema node, read from either dialect or from a case's `overrides` into one shape.

Shapes are checked here, names of metrics and transforms later (`core/compile/compiler.py`), where the tables are known.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.schema.source import escape, schema_objects
from pytest_extract.core.values import Json, short_repr
from pytest_extract.errors import SchemaError, nearest

Dialect: TypeAlias = Literal["evaluation_config", "x-eval", "override"]
Report: TypeAlias = Callable[[str, str], None]
"""(message, where) -> None: notes one configuration mistake. `where`: a pointer, or what names a part of a case."""

_HUGE: Final = 1e300
RULES_KEYWORD: Final = "x-eval-rules"
"""The keyword of rules across fields (`core.rules`), at a schema's root; it belongs to neither dialect."""
X_EVAL: Final = "x-eval-"
ALIGNERS: Final = ("position", "key", "hungarian", "best_fit", "multiset", "judge")
X_KEYWORDS: Final = tuple(
    X_EVAL + name for name in ("compare", "transform", "skip", "align", "weight", "threshold", "nulls", "post")
)
_SHARED_KEYS: Final = ("align", "key", "key_cutoff", "transform", "threshold", "skip", "nulls", "post")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricUse:
    """A metric, transform, aligner or post-processor by name. `where`: its place, for messages."""

    name: str
    params: Mapping[str, Json] = field(default_factory=dict)
    weight: float = 1.0
    preset: bool = False
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignUse:
    """How an array is aligned: `mode` is one of `ALIGNERS` or the name of a custom aligner."""

    mode: str
    key: tuple[str, ...] = ()
    key_cutoff: float | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """The configuration of one node; None where it leaves a setting open."""

    dialect: Dialect
    metrics: tuple[MetricUse, ...] | None = None
    skip: bool | None = None
    transforms: tuple[MetricUse, ...] | None = None
    align: AlignUse | None = None
    weight: float | None = None
    threshold: float | None = None
    nulls: Literal["absent", "value"] | None = None
    post: tuple[MetricUse, ...] | None = None

    def over(self, below: Annotation | None) -> Annotation:
        """Return this configuration, with what it leaves open taken from `below`; scoring a node undoes its skip."""
        if below is None:
            return self
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "dialect"}
        given = {name: value for name, value in own.items() if value is not None}
        if "skip" not in given and ({"metrics", "align"} & given.keys()):
            given["skip"] = False
        if given.get("metrics") and below.metrics != given["metrics"]:
            given.setdefault("threshold", None)
        return replace(below, **given)


NOT_ANNOTATED: Final = Annotation(dialect="override")
"""Leaves everything open."""


def parse_annotation(schema: Mapping[str, Json], where: str, report: Report) -> Annotation | None:
    """Read either dialect's keys of the schema object that stands at `where`; None without any."""
    config = schema.get("evaluation_config")
    x_keys = [key for key in schema if str(key).startswith(X_EVAL) and key != RULES_KEYWORD]
    if config is None:
        return _parse_x_eval(schema, where, report) if x_keys else None
    where = f"{where}/evaluation_config"
    if any(key != "x-eval-nulls" for key in x_keys):
        report("has both `evaluation_config` and `x-eval-*` keys; keep one dialect at a node", where)
        return None
    return _parse_form(config, _CONFIG, where, report)


def parse_override(value: Json, where: str, report: Report) -> Annotation | None:
    """Read the value of a case's override: "skip", a metric's name, or a mapping."""
    return _parse_form(value, _OVERRIDE, where, report)


class _Form(NamedTuple):
    """How a dialect that is one value spells a configuration.

    wanted: what the value must be. metric: the key that names a metric; `beside`: further keys of it. weight: the key
    of the field's weight. no_metrics: what it says of metrics where it says nothing of the scoring.
    """

    dialect: Dialect
    wanted: str
    metric: str
    beside: tuple[str, ...]
    weight: str
    no_metrics: tuple[MetricUse, ...] | None


_BY_CONFIG: Final = "`evaluation_config` must be a preset's name or a mapping"
_BY_OVERRIDE: Final = "must be `skip`, a metric's name or a mapping"
_CONFIG: Final = _Form("evaluation_config", _BY_CONFIG, "metric_id", ("weight", "params"), "aggregation_weight", ())
_OVERRIDE: Final = _Form("override", _BY_OVERRIDE, "metric", ("params",), "weight", None)


def _parse_form(value: Json, form: _Form, where: str, report: Report) -> Annotation | None:
    if value == "skip":
        return Annotation(dialect=form.dialect, metrics=form.no_metrics, skip=True)
    if isinstance(value, str):
        return Annotation(dialect=form.dialect, metrics=(MetricUse(name=value, preset=True, where=where),))
    if not isinstance(value, dict):
        report(f"{form.wanted}, not {_value_text(value)}", where)
        return None
    _report_unknown_keys(value, ("metrics", form.metric, *form.beside, form.weight, *_SHARED_KEYS), where, report)
    shared = _parse_settings(value, where, report)
    if value.get("align") is not None or "key" in value or "key_cutoff" in value:
        shared["align"] = _parse_align_key(value, where, report)
    metrics = _parse_metrics(value, form, where, report)
    weight = _parse_number(value.get(form.weight), form.weight, where, report)
    if metrics is None and not shared:
        metrics = form.no_metrics
    return Annotation(dialect=form.dialect, metrics=metrics, weight=weight, **shared)


def _parse_metrics(value: Mapping[str, Json], form: _Form, where: str, report: Report) -> tuple[MetricUse, ...] | None:
    listed = value.get("metrics")
    own = {key: value[key] for key in (form.metric, *form.beside) if key in value}
    if own:
        if listed is not None:
            report(f"has both `metrics` and {', '.join(f'`{key}`' for key in own)}; write one of them", where)
        one = _parse_metric(own, form, where, report)
        return None if one is None else (one,)
    if listed is None:
        return None
    if not isinstance(listed, list):
        report(f"`metrics` must be a list of mappings with `metric_id`, not {_value_text(listed)}", f"{where}/metrics")
        return ()
    uses = [_parse_metric(entry, _CONFIG, f"{where}/metrics/{index}", report) for index, entry in enumerate(listed)]
    # the published program keys results by metric: of one named twice, the last counts
    return tuple({use.name: use for use in uses if use is not None}.values())


def _parse_metric(entry: Json, form: _Form, where: str, report: Report) -> MetricUse | None:
    if not isinstance(entry, dict):
        report(f"a metric must be a mapping with `metric_id`, not {_value_text(entry)}", where)
        return None
    _report_unknown_keys(entry, (form.metric, *form.beside), where, report)
    name = entry.get(form.metric)
    if not isinstance(name, str):
        report(f"`{form.metric}` must be a metric's name, not {_value_text(name)}", where)
        return None
    weight = _parse_number(entry.get("weight"), "weight", where, report)
    params = _parse_mapping(entry.get("params"), "params", where, report)
    preset = form is _OVERRIDE and "params" not in entry
    return MetricUse(name=name, params=params, weight=1.0 if weight is None else weight, preset=preset, where=where)


def _parse_x_eval(schema: Mapping[str, Json], where: str, report: Report) -> Annotation:
    compare, align = None, None
    if "x-eval-compare" in schema:
        compare = _parse_named_use(schema["x-eval-compare"], "x-eval-compare", f"{where}/x-eval-compare", report)
    if "x-eval-align" in schema:
        align = _parse_x_align(schema["x-eval-align"], f"{where}/x-eval-align", report)
    return Annotation(
        dialect="x-eval",
        metrics=None if compare is None else (compare,),
        align=align,
        weight=_parse_number(schema.get("x-eval-weight"), "x-eval-weight", where, report),
        **_parse_settings(schema, where, report, prefix=X_EVAL),
    )


def _parse_settings(config: Mapping[str, Json], where: str, report: Report, prefix: str = "") -> dict[str, Any]:
    """Read the settings that are the same in all dialects, each after a `prefix`; only those that are there."""
    found: dict[str, Any] = {}
    for name in ("transform", "threshold", "skip", "nulls", "post"):
        key = f"{prefix}{name}"
        if key not in config:
            continue
        value, place = config[key], f"{where}/{key}"
        match name:
            case "transform":
                found["transforms"] = _parse_transforms(value, place, report)
            case "threshold":
                found[name] = _parse_number(value, key, where, report, most=1.0)
            case "post":
                found[name] = parse_post(value, place, report)
            case "skip" if value is not None and not isinstance(value, bool):
                report(f"`{key}` must be true or false, not {_value_text(value)}", place)
            case "nulls" if value not in ("absent", "value"):
                report(f"`{key}` must be absent or value, not {value!r}", place)
            case _:
                found[name] = value
    return found


def parse_post(value: Json, where: str, report: Report) -> tuple[MetricUse, ...]:
    """Read post-processors: a name, `{name: ..., parameter: ...}`, or a list of these."""
    found: list[MetricUse] = []
    for index, entry in enumerate(value if isinstance(value, list) else [value]):
        place = f"{where}/{index}"
        params = dict(entry) if isinstance(entry, dict) else {"name": entry}
        name = params.pop("name", None)
        if isinstance(name, str):
            found.append(MetricUse(name=name, params=params, where=place))
        else:
            report(f"a post-processor must be a name or a mapping with `name`, not {_value_text(entry)}", place)
    return tuple(found)


def _parse_x_align(value: Json, where: str, report: Report) -> AlignUse | None:
    if isinstance(value, dict):
        by, ordered = value.get("match_by", ""), value.get("ordered", False)
        if ordered is True or (by is None and ordered is False):
            _report_unknown_keys(value, ("ordered", "match_by", "key", "key_cutoff", "params"), where, report)
            return AlignUse(mode="position", where=where)
        if ordered is not False:
            report(f"`ordered` must be true or false, not {_value_text(ordered)}", f"{where}/ordered")
        value = {name: own for name, own in value.items() if name != "ordered"}
        value["match_by"] = "key" if by == "key_field" else by or None
    return _parse_align(value, "match_by", where, report)


def _parse_align_key(config: Mapping[str, Json], where: str, report: Report) -> AlignUse | None:
    """Read `align: name`, with `key` and `key_cutoff` beside it, or `align: {by: name, ...}`."""
    value = config.get("align", "key")
    if isinstance(value, str):
        value = {"by": value} | {key: config[key] for key in ("key", "key_cutoff") if key in config}
    return _parse_align(value, "by", f"{where}/align" if "align" in config else where, report)


def _parse_align(value: Json, by: str, where: str, report: Report) -> AlignUse | None:
    """Read a mapping that names an aligner under the key `by`."""
    if not isinstance(value, dict) or not isinstance(mode := value.get(by), str):
        also = " or `ordered: true`" if by == "match_by" else " or the name alone"
        report(f"an alignment needs `{by}: name`{also}, and is {_value_text(value)}", where)
        return None
    _report_unknown_keys(value, (by, "key", "key_cutoff", "params"), where, report)
    key = value.get("key")
    keys = [key] if isinstance(key, str) else key
    if key is not None and not (isinstance(keys, list) and keys and all(isinstance(k, str) and k for k in keys)):
        report(f"`key` must be a property's name or a list of names, not {key!r}", f"{where}/key")
        return None
    if mode == "key" and key is None:
        report("aligning by key needs `key`: the property, or properties, that name a row", where)
        return None
    if mode in ALIGNERS and mode != "key" and key is not None:
        report(f"`key` has no meaning when rows are aligned by {mode}", f"{where}/key")
    cutoff = _parse_number(value.get("key_cutoff"), "key_cutoff", where, report, most=1.0)
    params = _parse_mapping(value.get("params"), "params", where, report)
    return AlignUse(mode=mode, key=tuple(keys or ()), key_cutoff=cutoff, params=params, where=where)


def _parse_transforms(value: Json, where: str, report: Report) -> tuple[MetricUse, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        report(f"transforms must be a list, not {_value_text(value)}", where)
        return None
    uses = [_parse_named_use(entry, "a transform", f"{where}/{index}", report) for index, entry in enumerate(value)]
    return tuple(use for use in uses if use is not None)


def _parse_named_use(value: Json, what: str, where: str, report: Report) -> MetricUse | None:
    """Read `"name"` or `{"name": {params}}`."""
    if isinstance(value, str):
        return MetricUse(name=value, where=where)
    if isinstance(value, dict) and len(value) == 1:
        name, params = next(iter(value.items()))
        if isinstance(params, dict):
            return MetricUse(name=name, params=params, where=where)
        report(f"the parameters of {name!r} must be a mapping, not {_value_text(params)}", f"{where}/{name}")
        return None
    given = f"of {len(value)} names" if isinstance(value, dict) else _value_text(value)
    report(f"{what} must be a name or a mapping of one name to its parameters, not {given}", where)
    return None


def _report_unknown_keys(config: Mapping[str, Json], known: tuple[str, ...], where: str, report: Report) -> None:
    for key in config:
        if key not in known:
            report(f"no key {key!r} here{nearest(key, known)}", where)


def _parse_mapping(value: Json, name: str, where: str, report: Report) -> Mapping[str, Json]:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    report(f"`{name}` must be a mapping, not {_value_text(value)}", where)
    return {}


def _parse_number(value: Json, name: str, where: str, report: Report, *, most: float = _HUGE) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most:
        return float(value)
    bound = "a number >= 0" if most == _HUGE else f"a number from 0 to {most:g}"
    report(f"`{name}` must be {bound}, not {short_repr(value)}", f"{where}/{name}")
    return None


def _value_text(value: Json) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return short_repr(value)


_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_SCHEMA: Final = (dict, bool)
_HOLDS: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("$ref", "$id", "id", "$schema", "$anchor", "$dynamicRef", "$dynamicAnchor", "$comment"), (str,)),
    **dict.fromkeys(("title", "description", "format", "pattern", "contentEncoding", "contentMediaType"), (str,)),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), (dict,)),
    **dict.fromkeys(("dependentRequired", "dependencies", "$vocabulary"), (dict,)),
    **dict.fromkeys(("additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"), _SCHEMA),
    **dict.fromkeys(("contains", "propertyNames", "not", "if", "then", "else", "contentSchema"), _SCHEMA),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems", "enum", "required", "examples"), (list,)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), (int, float)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"), (int,)),
    **dict.fromkeys(("minProperties", "maxProperties"), (int,)),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"), (bool,)),
    **dict.fromkeys(("const", "default", RULES_KEYWORD, *X_KEYWORDS), (object,)),
    "type": (str, list),
    "items": (dict, bool, list),
    "evaluation_config": (str, dict),
}
"""Keyword -> types of what may stand there. A key that holds something else is no slip of it."""
_OF_OTHERS: Final = frozenset(
    (
        "example", "discriminator", "xml", "externalDocs", "propertyOrdering", "$recursiveRef", "$recursiveAnchor",
        "extends", "disallow", "divisibleBy", "comment", "comments", "container", "schema",
    )
)  # fmt: skip
"""Keys of other drafts, OpenAPI and Gemini, and those that many write for their own use."""
_SHORT: Final = 5
"""Letters up to which one edit makes a slip: many words are two edits from a short one."""


def misspelled_keys(schema: Json, *, as_published: bool) -> Iterator[SchemaError]:
    """Yield an error for each unknown `x-eval-*`, and for each key a letter or two beside a keyword.

    Names of properties and definitions are no keys of a schema, nor are those inside an example, a constant or the
    value of an unknown key. A name that a reference leads through is a place of definitions.
    `as_published`: only a slip of a known `x-eval-*` is an error, as the published program takes any other key.
    """
    annotations = [known.removeprefix(X_EVAL) for known in (*X_KEYWORDS, RULES_KEYWORD)]
    references: list[str] = []
    found: list[tuple[str, str, str]] = []
    for pointer, part in schema_objects(schema):
        if isinstance(ref := part.get("$ref"), str):
            references.append(ref)
        for name, value in part.items():
            key = str(name)  # of a schema made in Python, keys may be anything
            if key not in _HOLDS and key not in _OF_OTHERS:
                is_ours = key.startswith(X_EVAL)
                if is_ours:
                    close = difflib.get_close_matches(key.removeprefix(X_EVAL), annotations, n=1)
                    known = X_EVAL + close[0] if close else ""
                else:
                    known = "" if as_published else _keyword_meant(key, value)
                if known or (is_ours and not as_published):
                    found.append((f"{pointer}/{escape(key)}", key, known))
    for place, key, known in found:
        if any(ref.startswith(f"#{place}/") for ref in references):
            continue
        if key.startswith(X_EVAL):
            hint = f"did you mean {known!r}?" if known else f"known: {', '.join(sorted(X_KEYWORDS))}"
            yield SchemaError(f"no annotation {key!r}; {hint}", pointer=place)
        else:
            own = "a key of your own starts with `x-`"
            yield SchemaError(f"no keyword {key!r}; did you mean {known!r}? ({own})", pointer=place)


def _keyword_meant(key: str, value: Json) -> str:
    """Return the keyword that a key is most likely a slip of; "" where it is none.

    `x-deprecated` and `xrequired` are a schema's own: whoever puts an x before a keyword wants it to be ignored.
    """
    from rapidfuzz.distance import OSA  # few schemas have keys that are not known

    if key[:1] == "x" and key[1:] in _HOLDS:
        return ""
    written, names = _folded(key), (*X_KEYWORDS, RULES_KEYWORD) if key.startswith("x-") else _HOLDS
    edits = {known: OSA.distance(written, _folded(known)) for known in names if _fits(value, known)}
    likely = [known for known, number in edits.items() if number <= _edits_allowed(written, _folded(known))]
    return min(likely, key=edits.__getitem__, default="")


def _folded(key: str) -> str:
    """Return a key without what snake case and camel case differ in."""
    return key.replace("_", "").replace("-", "").lower()


def _edits_allowed(*names: str) -> int:
    """Return how many letters of a slip may differ from its keyword; a swap of two is one edit."""
    shortest = min(map(len, names))
    return 2 if shortest > _SHORT else 1 if shortest > 2 else 0


def _fits(value: Json, known: str) -> bool:
    if known == "type":
        return all(isinstance(name, str) and name in _TYPES for name in (value if isinstance(value, list) else [value]))
    return isinstance(value, _HOLDS[known])
