"""Random JSON Schemas with scoring annotations, and JSON values that meet them, from a `random.Random`.

Everything is small: a pair is meant to cost about a millisecond. `Maker.setup` draws a schema with the arguments of
`compile_schema`; `Maker.value` draws a value for a schema and `Maker.changed` a near copy of a value.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from pytest_extract.core.metrics import METRICS, PRESETS
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.values import MISSING

Json = Any
NAMES = ("a", "b", "c", "id", "a.b", "[0]", "x[].y", 'q"uote', "it's", "", "ключ", "\ud800", "a\nb", "-1", "*", "~1/", "$ref", "items")  # fmt: skip
PLAIN_NAMES = NAMES[:4]
FORMATS = ("date", "date-time", "email", "uri", "uuid", "ipv4", "no-such-format", "regex", "")
PATTERNS = ("^a", "x$", "[0-9]+", "(", "\\p{L}", "^(a+)+$", "(a|a)*b", "(?<=a)b", "\\d{1,400}", "")
PLACES = ("a", "b", "c", "id", "a[]", "a[].a", "b[].b", "a.b", '["a.b"]', "$", "nowhere", "[]", "")
ALIGNERS = ("position", "key", "hungarian", "best_fit", "multiset", "judge")
ORDER_FREE = frozenset({"key", "key_field", "hungarian", "best_fit", "multiset"})
REFS = (*["#/$defs/d"] * 3, "#", "#/properties/a", "#/nowhere", "http://x.invalid/s", "#/$defs/%64", 7)
DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#", "urn:none", 4)  # fmt: skip


def nested(depth: int, core: Json, *, objects: bool = False) -> Json:
    value = core
    for _ in range(depth):
        value = {"a": value} if objects else [value]
    return value


INFINITE = (float("nan"), float("inf"), float("-inf"))
NUMBERS = (-0.0, 10**400, -(10**400), 10**5000, int("7" * 401), 1e308, 5e-324, 2**53 + 1)
MARKED = ("\u202eabc\u202c", "\x1b[31mred\x1b[0m", "e\u0301", "ﬁ Straße")
TEXTS = (*MARKED, "\ud800", "\udfff\x00\ud800 a", "9" * 401, "1e999")
DEEP = (nested(60, 1), nested(60, "x", objects=True), nested(300, [None]))
NESTED = (*DEEP, [[], [[]], [None], [{}]], {"": {"": {"": None}}}, [True, 1, 1.0, "1", None, [], {}])
HOSTILE = (*INFINITE, *NUMBERS, *TEXTS, *NESTED, "nan", "  ", "a" * 30 + "!", {name: name for name in NAMES})
SCALARS = (None, True, False, 0, 1, 1.0, 2.5, -3, 10, "", "x", "X ", "1", "a", "b", "ACME GmbH", "acme  gmbh", "2024-03-15", "1,234.50 EUR", "5 kg")  # fmt: skip
OF_TYPE = {
    "string": ("a", "b", "x", "X ", "ACME GmbH", "acme  gmbh", "2024-03-15", "the house", "aaa"),
    "number": (0, 1, 1.0, 2.5, 2.5000000001, -3, 1e9, 0.1),
    "integer": (0, 1, 2, 42, -7),
    "boolean": (True, False),
    "null": (None,),
}
TYPES = (*OF_TYPE, "array", "object")
ODD_PARAMS = (None, True, 0, 1, -1, 0.5, 1.5, 10**400, float("nan"), float("inf"), "", "x", "0.5", [], ["x"], [None], {}, {"rel": 0.1}, {"rel": -1}, "DMY", "DE", "de", "EUR")  # fmt: skip
KEYWORDS = ("type", "properties", "items", "required", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "$ref", "$defs", "prefixItems", "additionalProperties", "patternProperties", "pattern", "format", "minimum", "multipleOf", "minItems", "uniqueItems", "nullable", "evaluation_config", "x-eval-compare", "x-eval-align", "x-eval-transform", "x-eval-nulls", "x-eval-weight", "x-eval-skip", "x-eval-threshold", "x-eval-post", "$schema", "$id", "default", "contains", "dependentSchemas", "propertyNames", "unevaluatedProperties")  # fmt: skip
POOLS = {name: [v for one in spec.examples for v in (one.gold, one.extracted)] for name, spec in METRICS.items()}


@dataclass(frozen=True)
class Setup:
    """A schema, how it is compiled, and the kind of judge that is asked."""

    schema: Json
    options: dict[str, Json]
    judge: str | None = None


@dataclass
class Maker:
    """Draws; `pools` are values that the metrics named in the schema are made for."""

    rng: random.Random
    dialect: str = ""
    pools: list[Json] = field(default_factory=list)

    def maybe(self, chance: float) -> bool:
        return self.rng.random() < chance

    def one(self, *of: Json) -> Json:
        return self.rng.choice(of)

    # --- schemas

    def setup(self) -> Setup:
        self.dialect = self.one("", "", "evaluation_config", "evaluation_config", "x-eval", "x-eval", "mixed")
        self.pools = []
        schema = self._root()
        options: dict[str, Json] = {"judge_mode": self.one("exact", "fuzzy", "fuzzy", "llm", "llm")}
        # without metrics at leaves, struct-extract-eval refuses a schema; with both dialects, all want to be told
        own = ("struct-extract-eval",) if self.dialect in {"x-eval", "mixed"} or self.maybe(0.1) else ()
        if self.dialect == "mixed" or self.maybe(0.35):
            options["semantics"] = self.one("default", "extract-bench", *own)
        if self.maybe(0.15):
            options["nulls"] = self.one("absent", "value")
        if self.maybe(0.15):
            options["overrides"] = {self.one(*PLACES): self._override() for _ in range(self.rng.randint(1, 2))}
        if self.maybe(0.08):
            both = ["reclassify_nulls", "propagate_batch_errors"]
            options["post_process"] = self.one("reclassify_nulls", [{"name": "reclassify_nulls"}], 7, "nope", both)
        judge = self.one(None, "random", "random", "yes", "hostile") if options["judge_mode"] == "llm" else None
        return Setup(schema, options, judge)

    def _root(self) -> Json:
        if self.maybe(0.02):
            return self.one(True, False, {}, None, 7, "x", [], {"$ref": "#"}, {"type": 7})
        schema = self._object(3) if self.maybe(0.8) else self._schema(3)
        if isinstance(schema, dict):
            schema.setdefault("$defs", {"d": self._schema(1)})
            if self.maybe(0.1):
                schema["$schema"] = self.one(*DIALECTS)
            if self.maybe(0.12):  # something of a wrong type at a keyword, somewhere
                node = schema
                while self.maybe(0.6) and (below := [value for value in node.values() if isinstance(value, dict)]):
                    node = self.one(*below)
                node[self.one(*KEYWORDS)] = self.any_json(2)
        return schema

    def _schema(self, depth: int) -> Json:
        roll = self.rng.random()
        if depth <= 0 or roll < 0.5:
            return self._leaf()
        if roll < 0.68:
            return self._object(depth)
        if roll < 0.88:
            return self._array(depth)
        if roll < 0.95:
            branches = [self._schema(depth - 1) for _ in range(self.rng.randint(1, 3))]
            return self._annotated({self.one("anyOf", "anyOf", "oneOf", "allOf"): branches}, 0.2)
        if roll < 0.98:
            return self._annotated({"$ref": self.one(*REFS)}, 0.4)
        return self.one(True, False, {}, {"not": {}}, {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {}})

    def _leaf(self) -> Json:
        kind = self.one("string", "string", *OF_TYPE, "number", "types", "enum", "const", "bare", "list")
        if kind not in OF_TYPE:
            several = self.rng.sample(TYPES, self.rng.randint(1, 3))
            schema: dict[str, Json] = {
                "types": {"type": several},
                "enum": {"enum": [self.one(*SCALARS) for _ in several]},
                "const": {"const": self.one(1, "x", {"k": 1}, [1], None)},
                "bare": {},
                "list": {"type": "array", "items": {"type": self.one("string", "number")}},
            }[kind]
            return self._annotated(schema, 0.75)
        schema = {"type": kind}
        if kind == "string" and self.maybe(0.2):
            schema[self.one("format", "pattern")] = self.one(*self.one(FORMATS, PATTERNS))
        if kind in {"number", "integer"} and self.maybe(0.15):
            schema[self.one("minimum", "maximum", "multipleOf")] = self.one(0, 1, 0.1, 1e308, 10**400)
        if self.maybe(0.1):
            schema["nullable"] = self.maybe(0.8)
        return self._annotated(schema, 0.75)

    def _object(self, depth: int) -> dict[str, Json]:
        names = NAMES if self.maybe(0.3) else PLAIN_NAMES
        properties = {self.one(*names): self._schema(depth - 1) for _ in range(self.rng.randint(1, 4))}
        schema: dict[str, Json] = {"type": "object", "properties": properties}
        if self.maybe(0.3):
            schema["required"] = self.rng.sample(list(properties), self.rng.randint(0, len(properties)))
        if self.maybe(0.2):
            schema["additionalProperties"] = self.one(True, False, self._leaf(), self._leaf())
        if self.maybe(0.05):
            schema["patternProperties"] = {self.one(*PATTERNS): self._leaf()}
        return self._annotated(schema, 0.04)

    def _array(self, depth: int) -> dict[str, Json]:
        schema: dict[str, Json] = {"type": "array"}
        if self.maybe(0.95):
            schema["items"] = self._object(depth - 1) if self.maybe(0.6) else self._schema(depth - 1)
        if self.maybe(0.05):
            schema["prefixItems"] = [self._schema(depth - 1) for _ in range(self.rng.randint(0, 2))]
        if self.maybe(0.05):
            schema[self.one("minItems", "maxItems")] = self.one(0, 1, 2, 10**400, -1)
        if self.maybe(0.05):
            schema["uniqueItems"] = True
        if self.maybe(0.45):
            schema |= self._alignment()
        return schema

    def _alignment(self) -> dict[str, Json]:
        how = self.one(*ALIGNERS) if self.maybe(0.97) else "nope"
        of_key: dict[str, Json] = {"key": self.one("a", "id", ["a", "b"], "nokey")} if how == "key" else {}
        if of_key and self.maybe(0.3):
            of_key["key_cutoff"] = self.one(0, 0.5, 0.8, 1, 2)
        if self._own_dialect() == "evaluation_config":
            return {"evaluation_config": {"align": how, **of_key}}
        if how == "position":
            return {"x-eval-align": {"ordered": True}}
        return {"x-eval-align": {"ordered": False, "match_by": {"key": "key_field"}.get(how, how), **of_key}}

    def _own_dialect(self) -> str:
        return (
            self.one("evaluation_config", "x-eval") if self.dialect == "mixed" else self.dialect or "evaluation_config"
        )

    def _annotated(self, schema: dict[str, Json], chance: float) -> dict[str, Json]:
        if self.dialect == "x-eval":  # there, a leaf without a metric is a mistake
            chance = 0.985 if chance > 0.5 else chance
        elif not self.dialect:
            chance *= 0.05
        if not self.maybe(chance):
            return schema
        metric, params = self._metric()
        more = {
            "transform": self._transforms() if self.maybe(0.17) else None,
            "weight": self.one(0, 0.5, 2, 1e308) if self.maybe(0.05) else None,
            "threshold": self.one(0, 0.5, 1, 2) if self.maybe(0.05) else None,
        }
        more = {name: value for name, value in more.items() if value is not None}
        if self._own_dialect() == "x-eval":
            schema["x-eval-compare"] = {metric: params} if params or self.maybe(0.1) else metric
            schema |= {f"x-eval-{name}": value for name, value in more.items()}
            if self.maybe(0.03):
                schema["x-eval-skip"] = self.one(True, False)
        elif not params and self.maybe(0.5):
            schema["evaluation_config"] = self.one(*PRESETS, "skip") if self.maybe(0.4) else metric
        else:
            entry = {"metric_id": metric, **({"params": params} if params else {})}
            metrics = [entry] if self.maybe(0.85) else [entry, {"metric_id": self._metric()[0], "weight": 2}]
            if "weight" in more:
                more["aggregation_weight"] = more.pop("weight")
            schema["evaluation_config"] = {"metrics": metrics, **more}
        return schema

    def _metric(self) -> tuple[str, dict[str, Json]]:
        if self.maybe(0.005):
            return "no_such_metric", {}
        name = self.one(*METRICS)
        self.pools += self.rng.sample(POOLS[name], min(3, len(POOLS[name])))
        spec = METRICS[name]
        params = dict(self.one(*spec.examples).params)
        if spec.params and self.maybe(0.25):
            param, value = self.one(*spec.params), self.one(*ODD_PARAMS)
            if value is None or param.check(value) is None or self.maybe(0.1):  # mostly odd, but accepted
                params[param.name] = value
        return name, params

    def _transforms(self) -> list[Json]:
        found: list[Json] = []
        for name in self.rng.choices([*TRANSFORMS], k=self.rng.randint(1, 3)):
            spec = TRANSFORMS[name]
            params = dict(self.one(*spec.examples)[2]) if spec.examples else {}
            if spec.params and self.maybe(0.2):
                params[self.one(*spec.params).name] = self.one(*ODD_PARAMS)
            found.append({name: params} if params else name)
        return found

    def _override(self) -> Json:
        metric, params = self._metric()
        whole: dict[str, Json] = {"metric": metric, "params": params}
        rows: dict[str, Json] = {"align": self.one(*ALIGNERS[:5]), **({"key": "a"} if self.maybe(0.3) else {})}
        found = self.one("skip", metric, rows, whole, whole)
        if isinstance(found, dict) and self.maybe(0.2):
            found["weight"] = self.one(0, 2, 0.5)
        if isinstance(found, dict) and self.maybe(0.2):
            found["transform"] = self._transforms()
        return found

    # --- values

    def value(self, schema: Json, depth: int = 5, root: Json = None) -> Json:
        """Draw a value that mostly has the shape which the schema asks for."""
        root = schema if root is None else root
        roll = self.rng.random()
        if roll < 0.035:
            return self.any_json(2) if roll < 0.03 else self.one(*HOSTILE)
        if not isinstance(schema, dict) or depth <= 0:
            return self.scalar()
        if "$ref" in schema:
            below = root.get("$defs", {}) if isinstance(root, dict) else {}
            target = root if schema["$ref"] == "#" else below.get("d") if isinstance(below, dict) else None
            return self.value(target, depth - 2, root)
        for word in ("anyOf", "oneOf", "allOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                return self.value(self.one(*schema[word]), depth - 1, root)
        if "const" in schema and self.maybe(0.8):
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"] and self.maybe(0.8):
            return self.one(*schema["enum"])
        kind, properties = schema.get("type"), schema.get("properties")
        if isinstance(kind, list) and kind:
            kind = self.one(*kind)
        if kind == "object" or (kind is None and isinstance(properties, dict)):
            below = properties if isinstance(properties, dict) else {}
            found = {name: self.value(own, depth - 1, root) for name, own in below.items() if self.maybe(0.88)}
            if self.maybe(0.12):
                found[self.one(*NAMES)] = self.scalar() if self.maybe(0.7) else self.any_json(2)
            return found
        if kind == "array":
            items = schema.get("items", True)
            return [self.value(items, depth - 1, root) for _ in range(self.one(0, 1, 1, 2, 2, 3, 3, 5))]
        return self.scalar(kind if isinstance(kind, str) else None)

    def scalar(self, kind: str | None = None) -> Json:
        if self.maybe(0.05):
            return None
        if self.pools and self.maybe(0.35):
            return self.one(*self.pools)
        return self.one(*(SCALARS if self.maybe(0.08) else OF_TYPE.get(kind or "", SCALARS)))

    def any_json(self, depth: int) -> Json:
        roll = self.rng.random()
        if depth <= 0 or roll < 0.5:
            return self.one(*(SCALARS if self.maybe(0.95) else HOSTILE))
        size = range(self.rng.randint(0, 3))
        if roll < 0.75:
            return [self.any_json(depth - 1) for _ in size]
        return {self.one(*NAMES): self.any_json(depth - 1) for _ in size}

    def extracted(self, schema: Json, gold: Json) -> Json:
        """Draw what a model might give for `gold`: the same, nearly the same, something else, nothing."""
        roll = self.rng.random()
        if roll < 0.7:
            for _ in range(self.rng.randint(1, 3) if roll > 0.08 else 0):
                gold = self.changed(gold, schema)
            return gold
        if roll < 0.95:
            return self.value(schema)
        return MISSING if roll < 0.96 else self.any_json(3)

    def changed(self, value: Json, schema: Json) -> Json:
        """Return a copy of `value` with one thing changed somewhere; what did not change is shared."""
        roll, inside = self.rng.random(), schema if isinstance(schema, dict) else {}
        if isinstance(value, dict) and value and self.maybe(0.9):
            key = self.one(*value)
            if roll < 0.12:
                return {k: v for k, v in value.items() if k != key}
            if roll < 0.2:
                return {**value, self.one(*NAMES): self.scalar()}
            below = inside.get("properties")
            return {**value, key: self.changed(value[key], below.get(key) if isinstance(below, dict) else None)}
        if isinstance(value, list) and value and self.maybe(0.9):
            place = self.rng.randrange(len(value))
            if roll < 0.12:
                return value[:place] + value[place + 1 :]
            if roll < 0.2:
                return [*value, value[place]]
            if roll < 0.35:
                return self.rng.sample(value, len(value))
            return [*value[:place], self.changed(value[place], inside.get("items")), *value[place + 1 :]]
        if isinstance(value, str) and value and roll < 0.4:
            return self.one(value.upper(), value + " ", value[:-1], f" {value}", value + "x", value[::-1])
        if isinstance(value, int | float) and not isinstance(value, bool) and roll < 0.4:
            fits = isinstance(value, float) or abs(value) < 10**9
            return self.one(value + 1, -value, *((value * 1.0005, str(value)) if fits else (value - 1,)))
        return self.value(schema, 2) if self.maybe(0.8) else self.any_json(1)


def shuffled_keys(value: Json, rng: random.Random) -> Json:
    """Return the value with the keys of every object in another order."""
    if isinstance(value, dict):
        return {key: shuffled_keys(value[key], rng) for key in rng.sample([*value], len(value))}
    return [shuffled_keys(item, rng) for item in value] if isinstance(value, list) else value


def shuffled_rows(value: Json, schema: Json, free: bool, rng: random.Random, *, cells: bool = False) -> Json:
    """Return the value with the rows of those arrays in another order whose order plainly does not count.

    `free`: whether that holds for an array which says nothing (semantics `default`); `cells`: the value stands in a list.
    """
    if not isinstance(schema, dict) or any(word in schema for word in ("$ref", "anyOf", "oneOf", "allOf", "not", "if")):
        return value
    config = schema.get("evaluation_config")
    if "x-eval-compare" in schema or isinstance(config, str) or (isinstance(config, dict) and "metrics" in config):
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
