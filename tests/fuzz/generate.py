"""Random JSON Schemas with scoring annotations, and JSON values that meet them, from a `random.Random`.

Everything is small: a pair is meant to cost about a millisecond. `Maker.setup` draws a schema with the arguments of
`compile_schema`; `Maker.value` draws a value for a schema and `Maker.changed` a near copy of a value.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pytest_extract.core.metrics import METRICS, PRESETS
from pytest_extract.core.metrics.base import Param
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.values import MISSING

Json = Any
NAMES = ("a", "b", "c", "id", "a.b", "[0]", "x[].y", 'q"uote', "it's", "", "ключ", "\ud800", "a\nb", "-1", "*", "~1/", "$ref", "items")  # fmt: skip
PLAIN_NAMES = NAMES[:4]
FORMATS = ("date", "date-time", "email", "uri", "uuid", "ipv4", "no-such-format", "regex", "")
PATTERNS = ("^a", "x$", "[0-9]+", "(", "\\p{L}", "^(a+)+$", "(a|a)*b", "(?<=a)b", "\\d{1,400}", "")
ALIGNERS = ("position", "key", "hungarian", "best_fit", "multiset", "judge", "nope")
ORDER_FREE = frozenset({"key", "key_field", "hungarian", "best_fit", "multiset"})


def nested(depth: int, core: Json, *, objects: bool = False) -> Json:
    value = core
    for _ in range(depth):
        value = {"a": value} if objects else [value]
    return value


_HOSTILE: tuple[Callable[[], Json], ...] = (
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: float("-inf"),
    lambda: -0.0,
    lambda: 10**400,
    lambda: -(10**400),
    lambda: 10**5000,
    lambda: int("7" * 401),
    lambda: 1e308,
    lambda: 5e-324,
    lambda: 2**53 + 1,
    lambda: "\ud800",
    lambda: "\udfff\x00\ud800 a",
    lambda: "\u202eabc\u202c",
    lambda: "\x1b[31mred\x1b[0m",
    lambda: "e\u0301",
    lambda: "ﬁ Straße",
    lambda: "a" * 30 + "!",
    lambda: "9" * 401,
    lambda: "1e999",
    lambda: "nan",
    lambda: "  ",
    lambda: nested(60, 1),
    lambda: nested(60, "x", objects=True),
    lambda: nested(300, [None]),
    lambda: [[], [[]], [None], [{}]],
    lambda: {"": {"": {"": None}}},
    lambda: {name: name for name in NAMES},
    lambda: [True, 1, 1.0, "1", None, [], {}],
)
_SCALARS = (None, True, False, 0, 1, 1.0, 2.5, -3, 10, "", "x", "X ", "1", "a", "b", "ACME GmbH", "acme  gmbh", "2024-03-15", "1,234.50 EUR", "5 kg")  # fmt: skip
_ODD_PARAMS = (None, True, 0, 1, -1, 0.5, 1.5, 10**400, float("nan"), float("inf"), "", "x", "0.5", [], ["x"], [None], {}, {"rel": 0.1}, {"rel": -1}, "DMY", "DE", "de", "EUR")  # fmt: skip
_KEYWORDS = ("type", "properties", "items", "required", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "$ref", "$defs", "prefixItems", "additionalProperties", "patternProperties", "pattern", "format", "minimum", "multipleOf", "minItems", "uniqueItems", "nullable", "evaluation_config", "x-eval-compare", "x-eval-align", "x-eval-transform", "x-eval-nulls", "x-eval-weight", "x-eval-skip", "x-eval-threshold", "x-eval-post", "$schema", "$id", "default", "contains", "dependentSchemas", "propertyNames", "unevaluatedProperties")  # fmt: skip
_REFS = (
    "#",
    "#/$defs/d",
    "#/$defs/d",
    "#/$defs/d",
    "#/properties/a",
    "#/nowhere",
    "http://x.invalid/s",
    "#/$defs/%64",
    7,
)


@dataclass(frozen=True)
class Setup:
    """A schema and how it is compiled. `pools` are values that the metrics named in the schema are made for."""

    schema: Json
    options: dict[str, Json]
    pools: tuple[Json, ...] = ()
    judge: str | None = None


def _pool_of(name: str) -> list[Json]:
    return [value for example in METRICS[name].examples for value in (example.gold, example.extracted)]


POOLS = {name: _pool_of(name) for name in METRICS}


def _accepts(param: Param, value: Json) -> bool:
    try:
        return value is None or param.check(value) is None
    except Exception:  # compiling the schema shows the defect
        return True


@dataclass
class Maker:
    rng: random.Random
    dialect: str = ""
    pools: list[Json] = field(default_factory=list)

    # --- schemas

    def setup(self) -> Setup:
        rng = self.rng
        self.dialect = rng.choice(("", "", "evaluation_config", "evaluation_config", "x-eval", "x-eval", "mixed"))
        self.pools = []
        schema = self._root()
        options: dict[str, Json] = {}
        # without metrics at leaves, struct-extract-eval refuses a schema; with both dialects, all want to be told
        own = ("struct-extract-eval",) if self.dialect in {"x-eval", "mixed"} or rng.random() < 0.1 else ()
        if self.dialect == "mixed" or rng.random() < 0.35:
            options["semantics"] = rng.choice(("default", "extract-bench", *own))
        if rng.random() < 0.15:
            options["nulls"] = rng.choice(("absent", "value"))
        options["judge_mode"] = rng.choice(("exact", "fuzzy", "fuzzy", "llm", "llm"))
        if rng.random() < 0.15:
            options["overrides"] = {self._place(): self._override() for _ in range(rng.randint(1, 2))}
        if rng.random() < 0.08:
            options["post_process"] = rng.choice((
                "reclassify_nulls", ["propagate_batch_errors"], [{"name": "reclassify_nulls"}], 7, "nope",
                ["reclassify_nulls", "propagate_batch_errors"],
            ))  # fmt: skip
        judge = rng.choice((None, "random", "random", "yes", "hostile")) if options["judge_mode"] == "llm" else None
        return Setup(schema, options, tuple(self.pools), judge)

    def _root(self) -> Json:
        rng = self.rng
        roll = rng.random()
        if roll < 0.02:
            return rng.choice((True, False, {}, None, 7, "x", [], {"$ref": "#"}, {"type": 7}))
        schema = self._object(3) if roll < 0.8 else self._schema(3)
        if isinstance(schema, dict):
            schema.setdefault("$defs", {"d": self._schema(1)})
            if rng.random() < 0.1:
                schema["$schema"] = rng.choice((
                    "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#",
                    "http://json-schema.org/draft-04/schema#", "urn:none", 4,
                ))  # fmt: skip
            if rng.random() < 0.12:
                self._spoil(schema)
        return schema

    def _spoil(self, schema: dict[str, Json]) -> None:
        """Put something of a wrong type at a keyword, somewhere."""
        node = schema
        while self.rng.random() < 0.6:
            below = [v for v in node.values() if isinstance(v, dict)]
            if not below:
                break
            node = self.rng.choice(below)
        node[self.rng.choice(_KEYWORDS)] = self.any_json(2)

    def _schema(self, depth: int) -> Json:
        rng = self.rng
        roll = rng.random()
        if depth <= 0 or roll < 0.5:
            return self._leaf()
        if roll < 0.68:
            return self._object(depth)
        if roll < 0.88:
            return self._array(depth)
        if roll < 0.95:
            word = rng.choice(("anyOf", "anyOf", "oneOf", "allOf"))
            return self._annotated({word: [self._schema(depth - 1) for _ in range(rng.randint(1, 3))]}, 0.2)
        if roll < 0.98:
            return self._annotated({"$ref": rng.choice(_REFS)}, 0.4)
        return rng.choice(
            (True, False, {}, {"not": {}}, {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {}})
        )

    def _leaf(self) -> Json:
        rng = self.rng
        kind = rng.choice(("string", "string", "string", "number", "number", "integer", "boolean", "null", "types", "enum", "const", "bare", "list"))  # fmt: skip
        schema: dict[str, Json]
        if kind == "types":
            schema = {
                "type": rng.sample(
                    ("string", "number", "integer", "boolean", "null", "array", "object"), rng.randint(1, 3)
                )
            }
        elif kind == "enum":
            schema = {"enum": [rng.choice(_SCALARS) for _ in range(rng.randint(1, 3))]}
        elif kind == "const":
            schema = {"const": rng.choice((1, "x", {"k": 1}, [1], None))}
        elif kind == "bare":
            schema = {}
        elif kind == "list":
            schema = {"type": "array", "items": {"type": rng.choice(("string", "number"))}}
        else:
            schema = {"type": kind}
            if kind == "string" and rng.random() < 0.2:
                schema[rng.choice(("format", "pattern"))] = rng.choice(FORMATS if rng.random() < 0.5 else PATTERNS)
            if kind in {"number", "integer"} and rng.random() < 0.15:
                schema[rng.choice(("minimum", "maximum", "multipleOf"))] = rng.choice((0, 1, 0.1, 1e308, 10**400))
            if rng.random() < 0.1:
                schema["nullable"] = rng.random() < 0.8
        return self._annotated(schema, 0.75)

    def _object(self, depth: int) -> dict[str, Json]:
        rng = self.rng
        names = NAMES if rng.random() < 0.3 else PLAIN_NAMES
        properties = {rng.choice(names): self._schema(depth - 1) for _ in range(rng.randint(1, 4))}
        schema: dict[str, Json] = {"type": "object", "properties": properties}
        if rng.random() < 0.3:
            schema["required"] = rng.sample(list(properties), rng.randint(0, len(properties)))
        if rng.random() < 0.25:
            schema["additionalProperties"] = rng.choice((True, False, None)) if rng.random() < 0.5 else self._leaf()
            if schema["additionalProperties"] is None:
                del schema["additionalProperties"]
        if rng.random() < 0.05:
            schema["patternProperties"] = {rng.choice(PATTERNS): self._leaf()}
        return self._annotated(schema, 0.04)

    def _array(self, depth: int) -> dict[str, Json]:
        rng = self.rng
        schema: dict[str, Json] = {"type": "array"}
        if rng.random() < 0.95:
            schema["items"] = self._object(depth - 1) if rng.random() < 0.6 else self._schema(depth - 1)
        if rng.random() < 0.05:
            schema["prefixItems"] = [self._schema(depth - 1) for _ in range(rng.randint(0, 2))]
        if rng.random() < 0.05:
            schema[rng.choice(("minItems", "maxItems"))] = rng.choice((0, 1, 2, 10**400, -1))
        if rng.random() < 0.05:
            schema["uniqueItems"] = True
        if rng.random() < 0.45:
            self._aligned(schema)
        return schema

    def _aligned(self, schema: dict[str, Json]) -> None:
        rng = self.rng
        how = rng.choice(ALIGNERS[:-1]) if rng.random() < 0.97 else "nope"
        key = rng.choice(("a", "id", ["a", "b"], "nokey")) if how == "key" else None
        if self._dialect() == "x-eval":
            if how == "position":
                schema["x-eval-align"] = {"ordered": True}
                return
            match = {"key": "key_field"}.get(how, how)
            schema["x-eval-align"] = {"ordered": False, "match_by": match, **({} if key is None else {"key": key})}
            config = schema["x-eval-align"]
        else:
            config = schema["evaluation_config"] = {"align": how, **({} if key is None else {"key": key})}
        if key is not None and rng.random() < 0.3:
            config["key_cutoff"] = rng.choice((0, 0.5, 0.8, 1, 2))

    def _dialect(self) -> str:
        if self.dialect == "mixed":
            return self.rng.choice(("evaluation_config", "x-eval"))
        return self.dialect or "evaluation_config"

    def _annotated(self, schema: dict[str, Json], chance: float) -> dict[str, Json]:
        rng = self.rng
        if self.dialect == "x-eval":  # there, a leaf without a metric is a mistake
            chance = 0.985 if chance > 0.5 else chance
        elif not self.dialect:
            chance *= 0.05
        if rng.random() > chance:
            return schema
        metric, params = self._metric()
        if self._dialect() == "x-eval":
            schema["x-eval-compare"] = {metric: params} if params or rng.random() < 0.1 else metric
            if rng.random() < 0.2:
                schema["x-eval-transform"] = self._transforms()
            if rng.random() < 0.05:
                schema["x-eval-weight"] = rng.choice((0, 0.5, 2, 1e308, -1))
            if rng.random() < 0.05:
                schema["x-eval-threshold"] = rng.choice((0, 0.5, 1, 2))
            if rng.random() < 0.03:
                schema["x-eval-skip"] = rng.choice((True, False))
        elif not params and rng.random() < 0.5:
            schema["evaluation_config"] = rng.choice([*PRESETS, "skip"]) if rng.random() < 0.4 else metric
        else:
            entry = {"metric_id": metric, **({"params": params} if params else {})}
            metrics = [entry] if rng.random() < 0.85 else [entry, {"metric_id": self._metric()[0], "weight": 2}]
            config: dict[str, Json] = {"metrics": metrics}
            if rng.random() < 0.15:
                config["transform"] = self._transforms()
            if rng.random() < 0.05:
                config["aggregation_weight"] = rng.choice((0, 0.5, 2, 1e308))
            if rng.random() < 0.05:
                config["threshold"] = rng.choice((0, 0.5, 1))
            schema["evaluation_config"] = config
        return schema

    def _metric(self) -> tuple[str, dict[str, Json]]:
        rng = self.rng
        name = rng.choice(list(METRICS)) if rng.random() < 0.995 else "no_such_metric"
        if name not in METRICS:
            return name, {}
        self.pools += rng.sample(POOLS[name], min(3, len(POOLS[name])))
        spec = METRICS[name]
        params = dict(rng.choice(spec.examples).params)
        if spec.params and rng.random() < 0.25:
            param = rng.choice(spec.params)
            value = rng.choice(_ODD_PARAMS)
            if _accepts(param, value) or rng.random() < 0.1:  # mostly odd, but accepted
                params[param.name] = value
        return name, params

    def _transforms(self) -> list[Json]:
        rng = self.rng
        found: list[Json] = []
        for _ in range(rng.randint(1, 3)):
            name = rng.choice(list(TRANSFORMS))
            spec = TRANSFORMS[name]
            params = dict(rng.choice(spec.examples)[2]) if spec.examples else {}
            if spec.params and rng.random() < 0.2:
                params[rng.choice(spec.params).name] = rng.choice(_ODD_PARAMS)
            found.append({name: params} if params else name)
        return found

    def _place(self) -> str:
        return self.rng.choice(
            ("a", "b", "c", "id", "a[]", "a[].a", "b[].b", "a.b", '["a.b"]', "$", "nowhere", "[]", "")
        )

    def _override(self) -> Json:
        rng = self.rng
        roll = rng.random()
        if roll < 0.2:
            return "skip"
        metric, params = self._metric()
        if roll < 0.4:
            return metric
        found: dict[str, Json] = {"metric": metric, "params": params}
        if roll < 0.55:
            found = {"align": rng.choice(ALIGNERS[:5]), **({"key": "a"} if rng.random() < 0.3 else {})}
        if rng.random() < 0.2:
            found["weight"] = rng.choice((0, 2, 0.5))
        if rng.random() < 0.2:
            found["transform"] = self._transforms()
        return found

    # --- values

    def value(self, schema: Json, depth: int = 5, root: Json = None) -> Json:
        """Draw a value that mostly has the shape which the schema asks for."""
        rng = self.rng
        root = schema if root is None else root
        roll = rng.random()
        if roll < 0.03:
            return self.any_json(2)
        if roll < 0.035:
            return self.hostile()
        if not isinstance(schema, dict) or depth <= 0:
            return self.scalar()
        if "$ref" in schema:
            below = root.get("$defs", {}) if isinstance(root, dict) else {}
            target = root if schema["$ref"] == "#" else below.get("d") if isinstance(below, dict) else None
            return self.value(target, depth - 2, root)
        for word in ("anyOf", "oneOf", "allOf"):
            branches = schema.get(word)
            if isinstance(branches, list) and branches:
                return self.value(rng.choice(branches), depth - 1, root)
        if "const" in schema and rng.random() < 0.8:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"] and rng.random() < 0.8:
            return rng.choice(schema["enum"])
        kind = schema.get("type")
        if isinstance(kind, list) and kind:
            kind = rng.choice(kind)
        if kind == "object" or (kind is None and isinstance(schema.get("properties"), dict)):
            return self._object_value(schema, depth, root)
        if kind == "array":
            items = schema.get("items", True)
            return [self.value(items, depth - 1, root) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 3, 5)))]
        return self.scalar(kind if isinstance(kind, str) else None)

    def _object_value(self, schema: dict[str, Json], depth: int, root: Json) -> dict[str, Json]:
        rng = self.rng
        found: dict[str, Json] = {}
        properties = schema.get("properties")
        if isinstance(properties, dict):
            for name, below in properties.items():
                if rng.random() < 0.88:
                    found[name] = self.value(below, depth - 1, root)
        if rng.random() < 0.12:
            found[rng.choice(NAMES)] = self.scalar() if rng.random() < 0.7 else self.any_json(2)
        return found

    def scalar(self, kind: str | None = None) -> Json:
        rng = self.rng
        roll = rng.random()
        if roll < 0.05:
            return None
        if self.pools and roll < 0.4:
            return rng.choice(self.pools)
        if roll < 0.45:
            return rng.choice(_SCALARS)
        match kind:
            case "string":
                return rng.choice(("a", "b", "x", "X ", "ACME GmbH", "acme  gmbh", "2024-03-15", "the house", "aaa"))
            case "number":
                return rng.choice((0, 1, 1.0, 2.5, 2.5000000001, -3, 1e9, 0.1))
            case "integer":
                return rng.choice((0, 1, 2, 42, -7))
            case "boolean":
                return roll < 0.7
            case "null":
                return None
        return rng.choice(_SCALARS)

    def any_json(self, depth: int) -> Json:
        rng = self.rng
        roll = rng.random()
        if depth <= 0 or roll < 0.5:
            return rng.choice(_SCALARS) if rng.random() < 0.95 else self.hostile()
        if roll < 0.75:
            return [self.any_json(depth - 1) for _ in range(rng.randint(0, 3))]
        return {rng.choice(NAMES): self.any_json(depth - 1) for _ in range(rng.randint(0, 3))}

    def hostile(self) -> Json:
        return self.rng.choice(_HOSTILE)()

    def extracted(self, schema: Json, gold: Json) -> Json:
        """Draw what a model might give for `gold`: the same, nearly the same, something else, nothing."""
        roll = self.rng.random()
        if roll < 0.08:
            return gold
        if roll < 0.7:
            changed = gold
            for _ in range(self.rng.randint(1, 3)):
                changed = self.changed(changed, schema)
            return changed
        if roll < 0.95:
            return self.value(schema)
        if roll < 0.96:
            return MISSING
        return self.any_json(3)

    def changed(self, value: Json, schema: Json) -> Json:
        """Return a copy of `value` with one thing changed somewhere; what did not change is shared."""
        rng = self.rng
        if isinstance(value, dict) and value and rng.random() < 0.9:
            key = rng.choice(list(value))
            below = schema.get("properties") if isinstance(schema, dict) else None
            below = below.get(key) if isinstance(below, dict) else None
            roll = rng.random()
            if roll < 0.12:
                return {k: v for k, v in value.items() if k != key}
            if roll < 0.2:
                return {**value, rng.choice(NAMES): self.scalar()}
            return {**value, key: self.changed(value[key], below)}
        if isinstance(value, list) and value and rng.random() < 0.9:
            place = rng.randrange(len(value))
            roll = rng.random()
            if roll < 0.12:
                return value[:place] + value[place + 1 :]
            if roll < 0.2:
                return [*value, value[place]]
            if roll < 0.35:
                return rng.sample(value, len(value))
            items = schema.get("items") if isinstance(schema, dict) else None
            return [*value[:place], self.changed(value[place], items), *value[place + 1 :]]
        if isinstance(value, str) and value and rng.random() < 0.4:
            return rng.choice((value.upper(), value + " ", value[:-1], f" {value}", value + "x", value[::-1]))
        if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.4:
            if isinstance(value, int):
                return (
                    value + rng.choice((1, -1)) if rng.random() < 0.6 else str(value) if abs(value) < 10**9 else value
                )
            return rng.choice((value + 1, -value, value * 1.0005, str(value)))
        return self.value(schema, 2) if rng.random() < 0.8 else self.any_json(1)


def shuffled_keys(value: Json, rng: random.Random) -> Json:
    """Return the value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled_keys(value[key], rng) for key in keys}
    if isinstance(value, list):
        return [shuffled_keys(item, rng) for item in value]
    return value


def shuffled_rows(value: Json, schema: Json, free: bool, rng: random.Random, *, cells: bool = False) -> Json:
    """Return the value with the rows of those arrays in another order whose order plainly does not count.

    `free`: whether that holds for an array which says nothing (semantics `default`); `cells`: the value stands in a list.
    """
    if not isinstance(schema, dict) or any(word in schema for word in ("$ref", "anyOf", "oneOf", "allOf", "not", "if")):
        return value
    annotated = schema.get("evaluation_config")
    if (
        "x-eval-compare" in schema
        or isinstance(annotated, str)
        or (isinstance(annotated, dict) and "metrics" in annotated)
    ):
        return value  # compared as a whole
    if isinstance(value, dict) and isinstance(schema.get("properties"), dict):
        below = schema["properties"]
        return {key: shuffled_rows(item, below.get(key), free, rng) for key, item in value.items()}
    if isinstance(value, list) and schema.get("type") == "array" and "prefixItems" not in schema:
        how = _aligner(schema, free)
        if how == "multiset" and cells and "evaluation_config" not in schema and "x-eval-align" not in schema:
            return value  # the values of a list inside a list stand by position
        if how in {"position", "key", "key_field", "hungarian", "best_fit"}:  # others ask whether rows are equal
            value = [shuffled_rows(item, schema.get("items"), free, rng, cells=True) for item in value]
        return rng.sample(value, len(value)) if how in ORDER_FREE else value
    return value


def _aligner(schema: dict[str, Json], free: bool) -> str | None:
    """Return how an array's rows are paired, where the array itself says so plainly."""
    annotations = [key for key in schema if key == "evaluation_config" or key.startswith("x-eval")]
    items = schema.get("items")
    kind = items.get("type") if isinstance(items, dict) else None
    if kind == "object" and any(key.startswith("x-eval") or key == "evaluation_config" for key in items):
        return None  # an object that is compared as a whole is a value, not a row
    if not annotations and free:
        return "best_fit" if kind == "object" else "multiset" if kind in ("string", "number", "integer") else None
    config = schema.get("evaluation_config", schema.get("x-eval-align"))
    if len(annotations) != 1 or not isinstance(config, dict) or config.get("key_cutoff") is not None:
        return None
    how = "position" if config.get("ordered") is True else config.get("align", config.get("match_by"))
    return how if isinstance(how, str) else None
