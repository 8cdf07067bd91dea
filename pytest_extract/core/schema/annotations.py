"""Scoring configuration of one schema node, read from either dialect or from a case's `overrides` into one shape.

Shapes are checked here, names of metrics and transforms later (`core/compile/compiler.py`), where the tables are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, TypeAlias

from pytest_extract.core.schema.source import escape, schema_objects
from pytest_extract.core.values import NUMBERS, Json, short_repr
from pytest_extract.errors import SchemaError, nearest

Dialect: TypeAlias = Literal["evaluation_config", "x-eval", "override"]
Report: TypeAlias = Callable[[str, str], None]
"""(message, where) -> None: notes one configuration mistake. `where`: a pointer, or what names a part of a case."""

_HUGE: Final = 1e300
RULES_KEYWORD: Final = "x-eval-rules"
"""The keyword of rules across fields (`core.rules`), at a schema's root; it belongs to neither dialect."""
X_EVAL: Final = "x-eval-"
ALIGNERS: Final = ("position", "key", "hungarian", "best_fit", "multiset", "judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricUse:
    """A metric, transform, aligner or post-processor by name. `where`: its place, for messages."""

    name: str
    params: Mapping[str, Json] = field(default_factory=dict)
    weight: float = 1.0
    preset: bool = False
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignUse(MetricUse):
    """How an array is aligned: `name` is one of `ALIGNERS` or that of a custom aligner."""

    key: tuple[str, ...] = ()
    key_cutoff: float | None = None


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
        return Annotation(dialect="x-eval", **_read(schema, _X_EVAL, where, report)) if x_keys else None
    where = f"{where}/evaluation_config"
    if any(key != "x-eval-nulls" for key in x_keys):
        report("has both `evaluation_config` and `x-eval-*` keys; keep one dialect at a node", where)
        return None
    return _parse_form(config, "evaluation_config", where, report)


def parse_override(value: Json, where: str, report: Report) -> Annotation | None:
    """Read the value of a case's override: "skip", a metric's name, or a mapping."""
    return _parse_form(value, "override", where, report)


def parse_post(value: Json, where: str, report: Report) -> tuple[MetricUse, ...]:
    """Read post-processors: a name, `{name: ..., parameter: ...}`, or a list of these."""
    found: list[MetricUse] = []
    for index, entry in enumerate(value if isinstance(value, list) else [value]):
        place = f"{where}/{index}" if isinstance(value, list) else where
        params = dict(entry) if isinstance(entry, dict) else {"name": entry}
        name = params.pop("name", None)
        if isinstance(name, str):
            found.append(MetricUse(name=name, params=params, where=place))
        else:
            report(f"a post-processor must be a name or a mapping with `name`, not {_value_text(entry)}", place)
    return tuple(found)


# --- a dialect that is one value


def _parse_form(value: Json, dialect: Dialect, where: str, report: Report) -> Annotation | None:
    """Read a metric's name, "skip", or a mapping: of an `evaluation_config`, or of a case's override."""
    no_metrics: tuple[MetricUse, ...] | None = None if dialect == "override" else ()
    if value == "skip":
        return Annotation(dialect=dialect, metrics=no_metrics, skip=True)
    if isinstance(value, str):
        return Annotation(dialect=dialect, metrics=(MetricUse(name=value, preset=True, where=where),))
    if not isinstance(value, dict):
        wanted = {"override": "must be `skip`, a metric's name"}
        told = wanted.get(dialect, "`evaluation_config` must be a preset's name")
        report(f"{told} or a mapping, not {_value_text(value)}", where)
        return None
    metric_keys, readers = _FORMS[dialect]
    _report_unknown_keys(value, ("metrics", *metric_keys, "align", "key", "key_cutoff", *readers), where, report)
    found = _read(value, readers, where, report)
    if value.get("align") is not None or "key" in value or "key_cutoff" in value:
        align = value.get("align", "key")
        if isinstance(align, str):
            align = {"by": align} | {key: value[key] for key in ("key", "key_cutoff") if key in value}
        found["align"] = _parse_align(align, f"{where}/align" if "align" in value else where, report)
    own = {key: value[key] for key in metric_keys if key in value}
    listed = value.get("metrics")
    if own and listed is not None:
        report(f"has both `metrics` and {', '.join(f'`{key}`' for key in own)}; write one of them", where)
    if own:
        preset = dialect == "override" and "params" not in own
        found["metrics"] = _parse_metrics([(own, where)], metric_keys, report, preset=preset)
    elif isinstance(listed, list):
        entries = [(entry, f"{where}/metrics/{index}") for index, entry in enumerate(listed)]
        found["metrics"] = _parse_metrics(entries, _CONFIG_METRIC, report)
    elif listed is not None:
        _report_value("a list of mappings with `metric_id`", listed, f"{where}/metrics", report)
    return Annotation(dialect=dialect, **{"metrics": None if found.keys() - {"weight"} else no_metrics, **found})


def _parse_metrics(
    entries: Sequence[tuple[Json, str]], keys: tuple[str, ...], report: Report, *, preset: bool = False
) -> tuple[MetricUse, ...]:
    """Read metrics, each with its place; the first of `keys` names one."""
    # the published program keys results by metric: of one named twice, the last counts
    found: dict[str, MetricUse] = {}
    for entry, where in entries:
        if not isinstance(entry, dict):
            report(f"a metric must be a mapping with `{keys[0]}`, not {_value_text(entry)}", where)
            continue
        _report_unknown_keys(entry, keys, where, report)
        name = entry.get(keys[0])
        if not isinstance(name, str):
            report(f"`{keys[0]}` must be a metric's name, not {_value_text(name)}", where)
            continue
        weight = _parse_weight(entry.get("weight"), f"{where}/weight", report)
        params = _parse_mapping(entry.get("params"), f"{where}/params", report) or {}
        weight = 1.0 if weight is None else weight
        found[name] = MetricUse(name=name, params=params, weight=weight, preset=preset, where=where)
    return tuple(found.values())


# --- single settings


def _parse_align(value: Json, where: str, report: Report, by: str = "by") -> AlignUse | None:
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
    for name in ("key", "key_cutoff") if mode in ALIGNERS and mode != "key" else ():
        if value.get(name) is not None:
            report(f"`{name}` has no meaning when rows are aligned by {mode}", f"{where}/{name}")
    cutoff = _parse_share(value.get("key_cutoff"), f"{where}/key_cutoff", report)
    params = _parse_mapping(value.get("params"), f"{where}/params", report) or {}
    return AlignUse(name=mode, key=tuple(keys or ()), key_cutoff=cutoff, params=params, where=where)


def _parse_x_align(value: Json, where: str, report: Report) -> AlignUse | None:
    if isinstance(value, dict):
        by, ordered = value.get("match_by", ""), value.get("ordered", False)
        if ordered is True or (by is None and ordered is False):
            _report_unknown_keys(value, ("ordered", "match_by", "key", "key_cutoff", "params"), where, report)
            return AlignUse(name="position", where=where)
        if ordered is not False:
            _report_value("true or false", ordered, f"{where}/ordered", report)
        value = {name: own for name, own in value.items() if name != "ordered"}
        value["match_by"] = "key" if by == "key_field" else by or None
    return _parse_align(value, where, report, "match_by")


def _parse_compare(value: Json, where: str, report: Report) -> tuple[MetricUse, ...] | None:
    use = _parse_named_use(value, where, report)
    return None if use is None else (use,)


def _parse_transforms(value: Json, where: str, report: Report) -> tuple[MetricUse, ...] | None:
    if isinstance(value, list):
        uses = [_parse_named_use(entry, f"{where}/{index}", report) for index, entry in enumerate(value)]
        return tuple(use for use in uses if use is not None)
    if value is not None:
        _report_value("a list", value, where, report)
    return None


def _parse_named_use(value: Json, where: str, report: Report) -> MetricUse | None:
    """Read `"name"` or `{"name": {params}}`."""
    if isinstance(value, str):
        return MetricUse(name=value, where=where)
    if isinstance(value, dict) and len(value) == 1:
        ((name, params),) = value.items()
        if isinstance(params, dict):
            return MetricUse(name=name, params=params, where=where)
        _report_value("a mapping of parameters", params, f"{where}/{name}", report)
        return None
    given = f"of {len(value)} names" if isinstance(value, dict) else _value_text(value)
    report(f"this must be a name or a mapping of one name to its parameters, not {given}", where)
    return None


_Reader: TypeAlias = Callable[[Json, str, Report], Any]


def _kind(wanted: str, fits: Callable[[Any], bool]) -> _Reader:
    """Return what reads a value of a kind; null leaves the setting open."""

    def read(value: Json, where: str, report: Report) -> Any:
        if value is None or fits(value):
            return float(value) if type(value) is int else value
        return _report_value(wanted, value, where, report)

    return read


_parse_mapping = _kind("a mapping", lambda value: isinstance(value, dict))
_parse_share = _kind("a number from 0 to 1", lambda value: type(value) in NUMBERS and 0 <= value <= 1)
_parse_weight = _kind("a number >= 0", lambda value: type(value) in NUMBERS and 0 <= value <= _HUGE)
_Readers: TypeAlias = Mapping[str, tuple[str, _Reader]]
"""Key -> the field of `Annotation` that it sets, and what reads its value."""
_SHARED: Final[_Readers] = {
    "transform": ("transforms", _parse_transforms),
    "threshold": ("threshold", _parse_share),
    "skip": ("skip", _kind("true or false", lambda value: isinstance(value, bool))),
    "nulls": ("nulls", _kind("absent or value", lambda value: value in ("absent", "value"))),
    "post": ("post", parse_post),
}
_WEIGHT: Final = ("weight", _parse_weight)
_CONFIG_METRIC: Final = ("metric_id", "weight", "params")
_FORMS: Final[Mapping[Dialect, tuple[tuple[str, ...], _Readers]]] = {
    "evaluation_config": (_CONFIG_METRIC, {**_SHARED, "aggregation_weight": _WEIGHT}),
    "override": (("metric", "params"), {**_SHARED, "weight": _WEIGHT}),
}
"""The keys of a metric beside the settings, and what reads these."""
_X_EVAL: Final[_Readers] = {
    f"{X_EVAL}{name}": reader
    for name, reader in {
        "compare": ("metrics", _parse_compare),
        "align": ("align", _parse_x_align),
        "weight": _WEIGHT,
        **_SHARED,
    }.items()
}


def _read(config: Mapping[str, Json], readers: _Readers, where: str, report: Report) -> dict[str, Any]:
    """Return the fields of an annotation that a configuration sets."""
    return {
        field: reader(config[key], f"{where}/{key}", report)
        for key, (field, reader) in readers.items()
        if key in config
    }


def _report_unknown_keys(config: Mapping[str, Json], known: tuple[str, ...], where: str, report: Report) -> None:
    for key in config:
        if key not in known:
            report(f"no key {key!r} here{nearest(key, known)}", where)


def _report_value(wanted: str, value: Json, where: str, report: Report) -> None:
    """Report a value of the wrong kind; its key is the last step of its place."""
    report(f"`{where.rpartition('/')[2]}` must be {wanted}, not {_value_text(value)}", where)


def _value_text(value: Json) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return short_repr(value)


# --- slips of keys


_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
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
    **dict.fromkeys(("const", "default", RULES_KEYWORD, *_X_EVAL), (object,)),
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
    parts = [*schema_objects(schema)]
    references = [reference for _, part in parts if isinstance(reference := part.get("$ref"), str)]
    for pointer, part in parts:
        for name, value in part.items():
            key = str(name)  # of a schema made in Python, keys may be anything
            is_ours, place = key.startswith(X_EVAL), f"{pointer}/{escape(key)}"
            if key in _HOLDS or key in _OF_OTHERS or (as_published and not is_ours):
                continue
            known = _keyword_meant(key, value)
            if known:
                hint = f"did you mean {known!r}?{'' if is_ours else ' (a key of your own starts with `x-`)'}"
            elif is_ours and not as_published:
                hint = f"known: {', '.join(sorted(_X_EVAL))}"
            else:
                continue
            if not any(ref.startswith(f"#{place}/") for ref in references):
                yield SchemaError(f"no {'annotation' if is_ours else 'keyword'} {key!r}; {hint}", pointer=place)


def _keyword_meant(key: str, value: Json) -> str:
    """Return the keyword that a key is most likely a slip of; "" where it is none.

    `x-deprecated` and `xrequired` are a schema's own: whoever puts an x before a keyword wants it to be ignored.
    """
    from rapidfuzz.distance import OSA  # few schemas have keys that are not known

    def folded(name: str) -> str:
        """Return a name without what snake case and camel case differ in."""
        return name.replace("_", "").replace("-", "").lower()

    edits: dict[str, int] = {}
    for known in (*_X_EVAL, RULES_KEYWORD) if key.startswith("x-") else _HOLDS:
        shortest = min(len(folded(key)), len(folded(known)))
        allowed = 2 if shortest > _SHORT else 1 if shortest > 2 else 0
        number = OSA.distance(folded(key), folded(known))  # a swap of two letters is one edit
        holds = value if isinstance(value, list) else [value]
        fits = all(name in _TYPES for name in holds) if known == "type" else isinstance(value, _HOLDS[known])
        if number <= allowed and fits:
            edits[known] = number
    return "" if key[:1] == "x" and key[1:] in _HOLDS else min(edits, key=edits.__getitem__, default="")
