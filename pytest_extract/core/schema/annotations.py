"""Scoring configuration of one schema node, read from either dialect or from a case's `overrides` into one shape.

Shapes are checked here, names of metrics and transforms later (`core/compile/bind.py`), where the tables are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from pytest_extract.core.values import Json, short_repr
from pytest_extract.errors import nearest

Dialect: TypeAlias = Literal["evaluation_config", "x-eval", "override"]
Report: TypeAlias = Callable[[str, str], None]
"""(message, path below the node) -> None: notes one configuration mistake."""

_HUGE: Final = 1e300
RULES_KEYWORD: Final = "x-eval-rules"
"""The keyword of rules across fields (`core.rules`), at a schema's root; it belongs to neither dialect."""
X_EVAL: Final = "x-eval-"
ALIGNERS: Final = ("position", "key", "hungarian", "best_fit", "multiset", "judge")
X_KEYWORDS: Final = tuple(
    X_EVAL + name for name in ("compare", "transform", "skip", "align", "weight", "threshold", "nulls", "post")
)
_METRIC_KEYS: Final = ("metric_id", "weight", "params")
_SHARED_KEYS: Final = ("align", "key", "key_cutoff", "transform", "threshold", "skip", "nulls", "post")
_CONFIG_KEYS: Final = ("metrics", "aggregation_weight", *_METRIC_KEYS, *_SHARED_KEYS)
_OVERRIDE_KEYS: Final = ("metric", "metrics", "params", "weight", *_SHARED_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricUse:
    """A metric, transform, aligner or post-processor by name. `where`: its path below the node, for messages."""

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
        names = ("metrics", "skip", "transforms", "align", "weight", "threshold", "nulls", "post")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        if "skip" not in given and ({"metrics", "align"} & given.keys()):
            given["skip"] = False
        if given.get("metrics") and below.metrics != given["metrics"]:
            given.setdefault("threshold", None)
        return replace(below, **given)

    def at(self, place: str) -> Annotation:
        """Return the configuration with `place` put before every `where`, so that messages name the place."""

        def put(uses: tuple[MetricUse, ...] | None) -> tuple[MetricUse, ...] | None:
            return None if uses is None else tuple(replace(use, where=place + use.where) for use in uses)

        align = None if self.align is None else replace(self.align, where=place + self.align.where)
        metrics, transforms, post = put(self.metrics), put(self.transforms), put(self.post)
        return replace(self, metrics=metrics, transforms=transforms, post=post, align=align)


def parse_annotation(schema: Mapping[str, Json], report: Report) -> Annotation | None:
    """Read either dialect's keys of one schema object; None without any."""
    config = schema.get("evaluation_config")
    x_keys = [key for key in schema if str(key).startswith("x-eval-") and key != RULES_KEYWORD]
    if config is not None and any(key != "x-eval-nulls" for key in x_keys):
        report("has both `evaluation_config` and `x-eval-*` keys; keep one dialect at a node", "/evaluation_config")
        return None
    if config is not None:
        return parse_evaluation_config(config, report)
    return _parse_x_eval(schema, report) if x_keys else None


def parse_evaluation_config(config: Json, report: Report) -> Annotation | None:
    """Read an `evaluation_config`: a preset's name, `{metric_id, params}` or `{metrics: [...]}`."""
    where = "/evaluation_config"
    if isinstance(config, str):
        if config == "skip":
            return Annotation(dialect="evaluation_config", metrics=(), skip=True)
        return Annotation(dialect="evaluation_config", metrics=(MetricUse(name=config, preset=True, where=where),))
    if not isinstance(config, dict):
        report(f"`evaluation_config` must be a preset's name or a mapping, not {_value_text(config)}", where)
        return None
    _report_unknown_keys(config, _CONFIG_KEYS, where, report)
    shared = _parse_shared_keys(config, where, report)
    metrics = _config_metrics(config, where, report)
    weight = _parse_number(config.get("aggregation_weight"), "aggregation_weight", where, report)
    if metrics is None and not shared:
        metrics = ()
    return Annotation(dialect="evaluation_config", **{"metrics": metrics, "weight": weight, **shared})


def parse_override(value: Json, report: Report) -> Annotation | None:
    """Read the value of a case's override: "skip", a metric's name, or a mapping."""
    if isinstance(value, str):
        if value == "skip":
            return Annotation(dialect="override", skip=True)
        return Annotation(dialect="override", metrics=(MetricUse(name=value, preset=True),))
    if not isinstance(value, dict):
        report(f"must be `skip`, a metric's name or a mapping, not {_value_text(value)}", "")
        return None
    _report_unknown_keys(value, _OVERRIDE_KEYS, "", report)
    shared = _parse_shared_keys(value, "", report)
    weight = _parse_number(value.get("weight"), "weight", "", report)
    return Annotation(dialect="override", **{"metrics": _override_metrics(value, report), "weight": weight, **shared})


def _config_metrics(config: Mapping[str, Json], where: str, report: Report) -> tuple[MetricUse, ...] | None:
    if "metric_id" in config:
        if "metrics" in config:
            report("has both `metric_id` and `metrics`; write one of them", where)
        own = {key: config[key] for key in _METRIC_KEYS if key in config}
        one = _parse_metric(own, where, report)
        return None if one is None else (one,)
    for key in ("params", "weight"):
        if key in config:
            report(f"`{key}` needs a `metric_id` beside it", f"{where}/{key}")
    if config.get("metrics") is None:
        return None
    return _parse_metric_list(config["metrics"], f"{where}/metrics", report)


def _override_metrics(value: Mapping[str, Json], report: Report) -> tuple[MetricUse, ...] | None:
    if "metrics" in value:
        if "metric" in value or "params" in value:
            report("has `metrics` beside `metric` or `params`; write one of them", "")
        return _parse_metric_list(value["metrics"], "/metrics", report)
    if "metric" not in value:
        if "params" in value:
            report("`params` needs a `metric` beside it", "/params")
        return None
    if not isinstance(value["metric"], str):
        report(f"`metric` must be a metric's name, not {_value_text(value['metric'])}", "/metric")
        return None
    params = _parse_mapping(value.get("params"), "params", "/params", report)
    return (MetricUse(name=value["metric"], params=params, preset="params" not in value, where="/metric"),)


def _parse_metric_list(entries: Json, where: str, report: Report) -> tuple[MetricUse, ...]:
    if not isinstance(entries, list):
        report(f"`metrics` must be a list of mappings with `metric_id`, not {_value_text(entries)}", where)
        return ()
    uses = [_parse_metric(entry, f"{where}/{index}", report) for index, entry in enumerate(entries)]
    # the published program keys results by metric: of one named twice, the last counts
    return tuple({use.name: use for use in uses if use is not None}.values())


def _parse_metric(entry: Json, where: str, report: Report) -> MetricUse | None:
    if not isinstance(entry, dict):
        report(f"a metric must be a mapping with `metric_id`, not {_value_text(entry)}", where)
        return None
    _report_unknown_keys(entry, _METRIC_KEYS, where, report)
    name = entry.get("metric_id")
    if not isinstance(name, str):
        report(f"`metric_id` must be a metric's name, not {_value_text(name)}", where)
        return None
    weight = _parse_number(entry.get("weight"), "weight", where, report)
    params = _parse_mapping(entry.get("params"), "params", where, report)
    return MetricUse(name=name, params=params, weight=1.0 if weight is None else weight, where=where)


def _parse_x_eval(schema: Mapping[str, Json], report: Report) -> Annotation | None:
    skip = schema.get("x-eval-skip")
    if skip is not None and not isinstance(skip, bool):
        report(f"`x-eval-skip` must be true or false, not {_value_text(skip)}", "/x-eval-skip")
        skip = None
    compare = schema.get("x-eval-compare")
    metrics = None
    if "x-eval-compare" in schema:
        use = _parse_named_use(compare, "x-eval-compare", "/x-eval-compare", report)
        metrics = None if use is None else (use,)
    shared = {name: schema[f"x-eval-{name}"] for name in ("threshold", "nulls", "post") if f"x-eval-{name}" in schema}
    return Annotation(
        dialect="x-eval",
        metrics=metrics,
        skip=skip,
        transforms=_parse_transforms(schema.get("x-eval-transform"), "/x-eval-transform", report),
        align=_parse_x_align(schema["x-eval-align"], report) if "x-eval-align" in schema else None,
        weight=_parse_number(schema.get("x-eval-weight"), "x-eval-weight", "", report),
        **_parse_shared_keys(shared, "", report, prefix="x-eval-"),
    )


def _parse_x_align(value: Json, report: Report) -> AlignUse | None:
    where = "/x-eval-align"
    if not isinstance(value, dict):
        report(f"`x-eval-align` must be a mapping with `ordered` or `match_by`, not {_value_text(value)}", where)
        return None
    _report_unknown_keys(value, ("ordered", "match_by", "key", "key_cutoff", "params"), where, report)
    ordered, by = value.get("ordered"), value.get("match_by")
    if "ordered" not in value and "match_by" not in value:
        report("`x-eval-align` needs `ordered` or `match_by`", where)
    elif "ordered" in value and not isinstance(ordered, bool):
        report(f"`ordered` must be true or false, not {_value_text(ordered)}", f"{where}/ordered")
    elif ordered is False and "match_by" not in value:
        report("`ordered: false` needs `match_by`: key_field or hungarian", where)
    elif by is not None and not isinstance(by, str):
        report(f"`match_by` must be a name, not {_value_text(by)}", f"{where}/match_by")
        return None
    if ordered is True or by is None:
        return AlignUse(mode="position", where=where)
    mode = {"key_field": "key"}.get(by, by)
    return _parse_align({**value, "mode": mode}, where, report)


def _parse_shared_keys(config: Mapping[str, Json], where: str, report: Report, *, prefix: str = "") -> dict[str, Json]:
    """Read the keys that `evaluation_config`, `x-eval-*` and overrides have in common; only those that are there.

    `prefix`: of their names in the schema, for messages.
    """
    found: dict[str, Json] = {}
    if config.get("align") is not None or "key" in config:
        found["align"] = _parse_align_key(config, where, report)
    elif "key_cutoff" in config:
        report("`key_cutoff` needs a `key` beside it", f"{where}/key_cutoff")
    if "transform" in config:
        found["transforms"] = _parse_transforms(config["transform"], f"{where}/transform", report)
    if "threshold" in config:
        found["threshold"] = _parse_number(config["threshold"], f"{prefix}threshold", where, report, most=1.0)
    if "skip" in config:
        found["skip"] = config["skip"]
        if not isinstance(config["skip"], bool):
            report(f"`skip` must be true or false, not {_value_text(config['skip'])}", f"{where}/skip")
            found["skip"] = None
    if "nulls" in config:
        found["nulls"] = config["nulls"]
        if config["nulls"] not in ("absent", "value"):
            report(f"`{prefix}nulls` must be absent or value, not {config['nulls']!r}", f"{where}/{prefix}nulls")
            found["nulls"] = None
    if "post" in config:
        place = f"{where}/{prefix}post"
        uses = parse_post(config["post"], lambda message, path: report(message, place + path))
        found["post"] = tuple(replace(use, where=place + use.where) for use in uses)
    return found


def parse_post(value: Json, report: Report) -> tuple[MetricUse, ...]:
    """Read post-processors: a name, `{name: ..., parameter: ...}`, or a list of these."""
    found: list[MetricUse] = []
    for index, entry in enumerate(value if isinstance(value, list) else [value]):
        if isinstance(entry, str):
            found.append(MetricUse(name=entry, where=f"/{index}"))
        elif isinstance(entry, dict) and isinstance(entry.get("name"), str):
            params = {key: item for key, item in entry.items() if key != "name"}
            found.append(MetricUse(name=entry["name"], params=params, where=f"/{index}"))
        else:
            report(f"a post-processor must be a name or a mapping with `name`, not {_value_text(entry)}", f"/{index}")
    return tuple(found)


def _parse_align_key(config: Mapping[str, Json], where: str, report: Report) -> AlignUse | None:
    value = config.get("align", "key")
    if isinstance(value, str):
        own = {key: config[key] for key in ("key", "key_cutoff") if key in config}
        return _parse_align({"mode": value, **own}, f"{where}/align" if "align" in config else where, report)
    if isinstance(value, dict) and isinstance(value.get("by"), str):
        _report_unknown_keys(value, ("by", "key", "key_cutoff", "params"), f"{where}/align", report)
        return _parse_align({**value, "mode": value["by"]}, f"{where}/align", report)
    report(f"`align` must be a name or a mapping with `by`, not {_value_text(value)}", f"{where}/align")
    return None


def _parse_align(value: Mapping[str, Json], where: str, report: Report) -> AlignUse | None:
    mode, key = value["mode"], value.get("key")
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
