"""Compiling: every configuration mistake is told with its place, all at once, with the nearest spelling."""

from __future__ import annotations

import pytest

from pytest_extract.core.compile.compiler import compile_program
from pytest_extract.core.compile.nodes import Array, Leaf
from pytest_extract.core.extensions import AlignerSpec, Extensions
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.uncompared import find_uncompared
from pytest_extract.core.validate import Validator
from pytest_extract.errors import ConfigError, SchemaError, SchemaErrors


def obj(**properties):
    return {"type": "object", "properties": properties}


def configured(config, kind="string"):
    return obj(a={"type": kind, "evaluation_config": config})


def annotated(kind="string", **keys):
    return obj(a={"type": kind, **{f"x-eval-{name}": value for name, value in keys.items()}})


def mistakes(schema, **how):
    with pytest.raises(SchemaError) as caught:
        compile_program(schema, **how)
    return caught.value.errors


CONFIG = "/properties/a/evaluation_config"
MISTAKES = {
    "unknown-preset": (configured("string_exakt"), CONFIG, "did you mean 'string_exact'"),
    "unknown-metric": (configured({"metrics": [{"metric_id": "string_fuzy"}]}), f"{CONFIG}/metrics/0", "did you mean 'string_fuzzy'"),
    "a-list": (configured(["string_exact"]), CONFIG, "not a list"),
    "a-number": (configured(3), CONFIG, "not 3"),
    "unknown-key": (configured({"metric": "string_exact"}), CONFIG, "did you mean 'metric"),
    "metrics-no-list": (configured({"metrics": "string_exact"}), f"{CONFIG}/metrics", "must be a list"),
    "metric-no-mapping": (configured({"metrics": ["string_exact"]}), f"{CONFIG}/metrics/0", "must be a mapping"),
    "metric-without-id": (configured({"metrics": [{}]}), f"{CONFIG}/metrics/0", "metric_id"),
    "both-forms": (configured({"metric_id": "string_exact", "metrics": []}), CONFIG, "write one of them"),
    "params-alone": (configured({"params": {}}), CONFIG, "`metric_id` must be a metric's name"),
    "unknown-parameter": (configured({"metric_id": "string_fuzzy", "params": {"treshold": 1}}), CONFIG, "did you mean 'threshold'"),
    "bad-parameter": (configured({"metric_id": "number_tolerance", "params": {"tolerance": -1}}), CONFIG, "tolerance"),
    "negative-weight": (configured({"metric_id": "string_exact", "weight": -1}), f"{CONFIG}/weight", "a number >= 0"),
    "align-on-a-string": (configured({"align": "key", "key": "id"}), f"{CONFIG}/align", "only an array"),
    "unknown-aligner": (configured({"align": "hungaria"}, "array"), f"{CONFIG}/align", "did you mean 'hungarian'"),
    "key-without-names": (configured({"align": "key"}, "array"), f"{CONFIG}/align", "needs `key`"),
    "key-of-numbers": (configured({"align": "key", "key": [1]}, "array"), f"{CONFIG}/align/key", "property's name"),
    "key-for-position": (configured({"align": "position", "key": "id"}, "array"), f"{CONFIG}/align/key", "no meaning"),
    "cutoff-above-1": (configured({"key": "id", "key_cutoff": 2}, "array"), f"{CONFIG}/key_cutoff", "from 0 to 1"),
    "bad-nulls": (configured({"nulls": "maybe"}), f"{CONFIG}/nulls", "absent or value"),
    "two-dialects-at-a-node": (obj(a={"type": "string", "evaluation_config": "skip", "x-eval-skip": True}), CONFIG, "one dialect"),
    "two-dialects": (obj(a={"type": "string", "evaluation_config": "string_exact"}, b={"type": "string", "x-eval-compare": "exact"}), "", "say which `semantics`"),
    "unknown-comparator": (annotated(compare="exakt"), "/properties/a/x-eval-compare", "did you mean 'exact'"),
    "comparator-of-two": (annotated(compare={"exact": {}, "numeric": {}}), "/properties/a/x-eval-compare", "one name"),
    "comparator-params": (annotated(compare={"numeric": 3}), "/properties/a/x-eval-compare/numeric", "must be a mapping"),
    "skip-no-flag": (annotated(skip="yes"), "/properties/a/x-eval-skip", "true or false"),
    "misspelt-key": (obj(a={"type": "string", "x-eval-comparr": "exact", "x-eval-skip": True}), "/properties/a/x-eval-comparr", "did you mean 'x-eval-compare'"),
    "unknown-transform": (annotated(compare="exact", transform=["lowercas"]), "/properties/a/x-eval-transform/0", "did you mean 'lowercase'"),
    "transform-no-list": (annotated(compare="exact", transform="strip"), "/properties/a/x-eval-transform", "must be a list"),
    "transform-parameter": (annotated(compare="exact", transform=[{"round_digits": {}}]), "/properties/a/x-eval-transform/0", "digits"),
    "leaf-without-metric": (obj(a={"type": "string"}, b={"type": "string", "x-eval-compare": "exact"}), "/properties/a", "needs `x-eval-compare`"),
    "align-empty": (annotated("array", align={}), "/properties/a/x-eval-align", "needs `match_by: name` or `ordered: true`"),
    "align-unordered": (annotated("array", align={"ordered": False}), "/properties/a/x-eval-align", "needs `match_by: name`"),
    "align-by-nothing-known": (annotated("array", align={"match_by": "hungarain"}), "/properties/a/x-eval-align", "did you mean 'hungarian'"),
    "align-key-missing": (annotated("array", align={"match_by": "key_field"}), "/properties/a/x-eval-align", "needs `key`"),
    "align-by-key-of-scalars": (
        obj(a={"type": "array", "items": {"type": "string", "x-eval-compare": "exact"}, "x-eval-align": {"match_by": "key_field", "key": "k"}}),
        "/properties/a/x-eval-align",
        "where they are objects",
    ),
    "align-by-key-of-nothing-known": (annotated("array", compare="exact", align={"match_by": "key_field", "key": "k"}), "/properties/a/x-eval-align", "`items`"),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_pointer(schema, pointer, message):
    found = mistakes(schema)
    assert [error.pointer for error in found if message in str(error)] == [pointer]


def test_all_mistakes_are_told_at_once():
    schema = obj(a={"type": "string", "evaluation_config": "x1"}, b={"type": "string", "evaluation_config": "x2"})
    with pytest.raises(SchemaErrors) as caught:
        compile_program(schema, overrides={"c": "exact"})
    assert [(error.pointer, error.override) for error in caught.value.errors] == [
        ("/properties/a/evaluation_config", None),
        ("/properties/b/evaluation_config", None),
        ("", "c"),
    ]
    assert str(caught.value).count("\n") == 2


def test_a_mistake_in_a_definition_is_told_once_at_the_definition():
    schema = {**obj(a={"$ref": "#/$defs/d"}, b={"$ref": "#/$defs/d"}), "$defs": {"d": {"evaluation_config": "nope"}}}
    assert [error.pointer for error in mistakes(schema)] == ["/$defs/d/evaluation_config"]


OVERRIDES = {
    "unknown-place": ({"vendor.nam": "exact"}, "vendor.nam", "did you mean 'vendor.name'"),
    "unknown-metric": ({"total": "exakt"}, "total", "did you mean 'exact'"),
    "unknown-key": ({"total": {"metrik": "exact"}}, "total", "did you mean 'metri"),
    "wrong-type": ({"total": 3}, "total", "must be `skip`"),
    "params-alone": ({"total": {"params": {}}}, "total", "`metric` must be a metric's name"),
    "align-on-a-number": ({"total": {"align": "position"}}, "total", "only an array"),
    "unknown-aligner": ({"items": {"align": "hungarin"}}, "items", "did you mean 'hungarian'"),
    "bad-parameter": ({"total": {"metric": "number_tolerance", "params": {"tolerance": "x"}}}, "total", "tolerance"),
    "unknown-transform": ({"vendor.name": {"transform": ["lower"]}}, "vendor.name", "lowercase"),
    "threshold": ({"total": {"threshold": 2}}, "total", "from 0 to 1"),
    "twice": ({"total": "skip", "$.total": "skip"}, "$.total", "twice"),
}
INVOICE = obj(
    vendor=obj(name={"type": "string"}),
    total={"type": "number"},
    items={"type": "array", "items": obj(price={"type": "number"}, sku={"type": "string"})},
)


@pytest.mark.parametrize(("overrides", "key", "message"), OVERRIDES.values(), ids=OVERRIDES)
def test_a_mistake_in_the_overrides_names_its_key(overrides, key, message):
    found = mistakes(INVOICE, overrides=overrides)
    assert [error.override for error in found if message in str(error)] == [key]


SKIPPED = {
    "extract-bench": obj(
        o={**obj(a={"type": "string"}), "evaluation_config": "string_exact"}, b={"evaluation_config": "string_exact"}
    ),
    "struct-extract-eval": obj(o=obj(a={"type": "string"}), b={"type": "string", "x-eval-compare": "exact"}),
    "default": obj(o=obj(a={"type": "string"}), b={"type": "string"}),
}


@pytest.mark.parametrize("semantics", SKIPPED)
def test_a_case_may_skip_a_whole_object(semantics):
    scorer = compile_schema(SKIPPED[semantics], semantics=semantics, overrides={"o": "skip"})
    score = scorer.score({"o": {"a": "x"}, "b": "1"}, {"o": {"a": "y"}, "b": "1"})
    assert [(str(leaf.path), str(leaf.status)) for leaf in score.leaves] == [("o", "skipped"), ("b", "match")]
    assert not scorer.needs_judge


def test_what_stands_at_an_unknown_place_is_checked_all_the_same():
    found = mistakes(INVOICE, overrides={"vendor.nam": "exakt"})
    assert sorted(message.split(";")[1] for message in map(str, found)) == [
        " did you mean 'exact'?",
        " did you mean 'vendor.name'?",
    ]


def leaf(schema, pattern, **how):
    found = compile_program(schema, **how).patterns[pattern]
    assert isinstance(found, Leaf)
    return found


def test_overrides_win_over_the_schema():
    overrides = {
        "total": {"metric": "number_tolerance", "params": {"tolerance": 5}, "weight": 3},
        "vendor.name": {"threshold": 0.9, "metric": "fuzzy", "transform": ["strip"]},
        "items": {"align": "key", "key": ["sku"]},
        "items[].sku": "skip",
    }
    total = leaf(INVOICE, "total", overrides=overrides).checks[0]
    assert (total.metric.name, total.metric.params, total.weight) == ("number_tolerance", {"tolerance": 5}, 3.0)
    name = leaf(INVOICE, "vendor.name", overrides=overrides).checks[0]
    assert (name.metric.name, name.threshold, name.transform(" x ")) == ("fuzzy", 0.9, "x")
    items = compile_program(INVOICE, overrides=overrides).patterns["items"]
    assert isinstance(items, Array)
    assert (items.align.mode, items.align.key) == ("key", ("sku",))
    score = compile_schema(INVOICE, overrides=overrides).score(
        {"items": [{"sku": "a", "price": 1}]}, {"items": [{"sku": "a", "price": 2}]}
    )
    assert [(str(r.path), str(r.status)) for r in score.leaves] == [
        ("items[0].price", "mismatch"),
        ("items[0].sku", "skipped"),
    ]


def test_an_override_reaches_into_a_recursive_schema():
    node = obj(v={"type": "string"}, next={"$ref": "#"})
    scorer = compile_schema(node, overrides={"next.next.v": "skip"})
    deep = {"v": "1", "next": {"v": "2", "next": {"v": "3"}}}
    assert [str(r.status) for r in scorer.score(deep, deep).leaves] == ["match", "match", "skipped"]
    assert "the schema has no field" in str(mistakes(node, overrides={"next.next.w": "skip"})[0])


def test_config_beside_a_reference_wins():
    schema = {
        **obj(f={"$ref": "#/$defs/d", "evaluation_config": "string_exact"}),
        "$defs": {"d": {"type": "string", "evaluation_config": "string_case_insensitive"}},
    }
    assert leaf(schema, "f").checks[0].metric.name == "string_exact"


FORMS = {
    "preset": ("number_tolerance", {"tolerance": 0.001}, 1.0),
    "bare": ({"metric_id": "number_tolerance", "params": {"tolerance": 2}}, {"tolerance": 2}, 1.0),
    "without-params": ({"metrics": [{"metric_id": "number_tolerance"}]}, {}, 1.0),
    "weights": ({"metrics": [{"metric_id": "number_tolerance", "weight": 2}], "aggregation_weight": 3}, {}, 6.0),
}


@pytest.mark.parametrize(("config", "params", "weight"), FORMS.values(), ids=FORMS)
def test_every_form_of_evaluation_config(config, params, weight):
    (check,) = leaf(configured(config, "number"), "a").checks
    assert (check.metric.name, check.metric.params, check.weight) == ("number_tolerance", params, weight)


def test_of_a_metric_named_twice_the_last_counts():
    config = {"metrics": [{"metric_id": "string_fuzzy", "params": {"threshold": t}} for t in (0.1, 0.9)]}
    (check,) = leaf(configured(config), "a").checks
    assert check.threshold == 0.9


DIALECTS = {
    "none": (obj(a={"type": "string"}), "default"),
    "evaluation_config": (configured("string_exact"), "extract-bench"),
    "x-eval": (annotated(compare="exact"), "struct-extract-eval"),
    "only-nulls": ({**obj(a={"type": "string"}), "x-eval-nulls": "value"}, "default"),
    "only-nulls-in-a-config": ({**obj(a={"type": "string"}), "evaluation_config": {"nulls": "value"}}, "default"),
    "property-of-that-name": (obj(evaluation_config={"type": "string"}), "default"),
}


@pytest.mark.parametrize(("schema", "name"), DIALECTS.values(), ids=DIALECTS)
def test_the_dialect_chooses_the_semantics(schema, name):
    assert compile_schema(schema).semantics == name


def test_semantics_may_be_named_outright():
    assert compile_schema(configured("string_exact"), semantics="default").semantics == "default"
    assert "did you mean 'extract-bench'" in str(mistakes(True, semantics="extractbench")[0])
    with pytest.raises(ConfigError, match="fuzzy"):
        compile_schema(True, judge_mode="fuzy")


def test_aligners_are_expressible_in_either_dialect():
    rows = {"type": "array", "items": obj(a={"type": "string", "evaluation_config": "string_exact"})}
    for align, mode in (
        ("position", "position"),
        ("hungarian", "best_fit"),
        ("best_fit", "best_fit"),
        ("judge", "judge"),
    ):
        plan = compile_program({**rows, "evaluation_config": {"align": align}}).root
        assert isinstance(plan, Array)
        assert plan.align.mode == mode
    named = Extensions(aligners={"mine": AlignerSpec(name="mine", align=lambda gold, extracted, params: [(0, 0)])})
    plan = compile_program({**rows, "evaluation_config": {"align": {"by": "mine"}}}, extensions=named).root
    assert isinstance(plan, Array)
    assert plan.align.mode == "custom"


def test_a_schema_of_doubling_references_compiles():
    doubled = {f"d{i}": obj(a={"$ref": f"#/$defs/d{i + 1}"}, b={"$ref": f"#/$defs/d{i + 1}"}) for i in range(40)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**doubled, "d40": {"type": "string"}}}
    assert compile_schema(schema).score({"a": {"a": {}}}, {"a": {"b": {}}}).leaves


TWICE = {
    "allOf": lambda ref: {"allOf": [ref, ref]},
    "anyOf": lambda ref: {"anyOf": [ref, ref]},
    "oneOf": lambda ref: {"oneOf": [ref, ref]},
    "alike": lambda ref: {"allOf": [{**ref, "title": "a"}, {"anyOf": [ref]}]},
    "if": lambda ref: {"if": ref, "then": ref, "else": ref},
    "not": lambda ref: {"not": {"not": ref}, "allOf": [ref]},
    "depends": lambda ref: {"dependentSchemas": {"a": ref, "b": ref}},
}


def chained(twice, length):
    made = {f"d{i}": twice({"$ref": f"#/$defs/d{i + 1}"}) for i in range(length)}
    return obj(a={"$ref": "#/$defs/d0"}) | {"$defs": {**made, f"d{length}": {"type": "integer"}}}


@pytest.mark.parametrize("twice", TWICE.values(), ids=TWICE)
def test_references_that_double_for_one_value_are_refused(twice):
    """A chain of 40 would be looked at some 10**12 times for each value."""
    (mistake,) = mistakes(chained(twice, 40))
    assert "/$defs/d" in mistake.pointer
    assert "schemas (at most 10,000): list once what leads to the same schemas again and again" in mistake.message
    assert "references" not in mistake.message
    assert "again and again" in Validator(chained(twice, 40)).problem
    short = compile_schema(chained(twice, 6))
    assert [str(leaf.status) for leaf in short.score({"a": 1}, {"a": 1}).leaves] == ["match"]


@pytest.mark.parametrize("length", [300, 30_000])
def test_references_that_never_seem_to_end_are_refused(length):
    (mistake,) = mistakes(chained(lambda ref: ref, length))
    assert mistake.message == "references lead from here through more than 200 schemas; refer to the last of them"
    assert compile_schema(chained(lambda ref: ref, 100)).score({"a": 1}, {"a": 1}).leaves


def test_a_schema_nested_too_deep_is_an_error_not_a_crash():
    schema = {"type": "string"}
    for _ in range(10_000):
        schema = {"type": "array", "items": schema}
    assert "nested" in str(mistakes(schema)[0])


def test_equal_schemas_share_a_scorer():
    assert compile_schema(configured("string_exact")) is compile_schema(configured("string_exact"))
    assert compile_schema(configured("string_exact")) is not compile_schema(configured("string_fuzzy"))


@pytest.mark.parametrize(
    "how",
    [{"semantics": "default"}, {"nulls": "value"}, {"overrides": {"a": "skip"}}, {"judge_mode": "exact"},
     {"post_process": "reclassify_nulls"}, {"extensions": Extensions()}],
    ids=str,
)  # fmt: skip
def test_a_scorer_is_shared_only_for_one_way_of_scoring(how):
    schema = configured("string_exact")
    assert compile_schema(schema, **how) is not compile_schema(schema)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (obj(a={"type": "string"}, b={"type": "string"}), obj(b={"type": "string"}, a={"type": "string"})),
        (obj(a={"enum": [1]}), obj(a={"enum": [True]})),
        (obj(a={"enum": [1]}), obj(a={"enum": [1.0]})),
    ],
    ids=["order", "true", "float"],
)
def test_schemas_that_differ_in_order_or_type_share_nothing(one, other):
    assert compile_schema(one) is not compile_schema(other)


def test_changing_a_schema_after_compiling_changes_no_scorer():
    schema = obj(a={"type": "string"})
    scorer = compile_schema(schema)
    schema["properties"]["a"]["type"] = "integer"
    assert scorer.score({"a": "x"}, {"a": "x"}).gates.schema.passed
    assert compile_schema(obj(a={"type": "string"})).score({"a": "x"}, {"a": "x"}).gates.schema.passed
    assert not compile_schema(schema).score({"a": "x"}, {"a": "x"}).gates.schema.passed


def test_a_schema_that_holds_more_than_json_compiles():
    class Text(str):
        __slots__ = ()

    assert compile_schema(obj(a={"type": Text("string")})).score({"a": "x"}, {"a": "x"}).measures["pass_rate"] == 1.0


def test_leaves_of_one_metric_share_it():
    semantic = {
        "type": "string",
        "evaluation_config": {"metrics": [{"metric_id": "string_fuzzy", "params": {"threshold": 0.9}}]},
    }
    patterns = compile_program(obj(a=semantic, b=semantic)).patterns
    first, second = patterns["a"], patterns["b"]
    assert isinstance(first, Leaf)
    assert isinstance(second, Leaf)
    assert first.checks[0].metric is second.checks[0].metric


def unequal(compiled, gold, extracted):
    return [leaf.path for leaf in compiled.score(gold, extracted).leaves if leaf.status != "match"]


def definitions_of(count, properties):
    """Return a schema of the shape of FHIR's Bundle: all definitions refer to each other, one is a choice of all."""
    definitions = {}
    for index in range(count):
        refs = {f"p{j}": {"$ref": f"#/definitions/D{(index * 7 + j * 11) % count}"} for j in range(properties)}
        contained = {"type": "array", "items": {"$ref": "#/definitions/Any"}}
        own = {"kind": {"const": f"D{index}"}, "name": {"type": "string"}, "contained": contained}
        definitions[f"D{index}"] = {"type": "object", "properties": {**own, **refs}, "required": ["kind"]}
    definitions["Any"] = {"oneOf": [{"$ref": f"#/definitions/D{index}"} for index in range(count)]}
    entries = {"type": "array", "items": {"$ref": "#/definitions/Any"}}
    return {"definitions": definitions, "type": "object", "properties": {"entry": entries}}


def resource(index, depth, count, name="a"):
    made = {"kind": f"D{index}", "name": "a" if depth else name}
    if depth:
        made["p1"] = resource((index * 7 + 11) % count, depth - 1, count, name)
        made["contained"] = [resource(index, depth - 1, count, name)]
    return made


@pytest.mark.parametrize(("count", "properties"), [(150, 20), (150, 0), (4, 3)])
def test_definitions_that_all_refer_to_each_other_are_compiled_as_a_document_reaches_them(count, properties):
    compiled = compile_schema(definitions_of(count, properties))
    depth = 5 if properties else 0
    gold, other = ({"entry": [resource(3, depth, count, name)]} for name in "ab")
    assert unequal(compiled, gold, gold) == []
    assert len(unequal(compiled, gold, other)) == 2**depth


@pytest.mark.parametrize("order", [("mail", "call"), ("call", "mail")])
def test_an_alternative_that_leads_to_itself_keeps_its_own_metrics(order):
    formats = {"mail": {"type": "string"}, "call": {"type": "string", "format": "date"}}
    defs = {
        kind: {"properties": {"kind": {"const": kind}, "on": on, "reply": {"$ref": f"#/$defs/{kind}"}}}
        for kind, on in formats.items()
    }
    compiled = compile_schema({"$defs": defs, "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in order]})
    for kind, status in (("mail", "mismatch"), ("call", "match")):
        gold = {"kind": kind, "on": "2026-03-15"}
        extracted = {"kind": kind, "on": "2026-03-15T00:00:00"}
        for _ in range(4):
            gold, extracted = ({"kind": kind, "on": "2026-01-01", "reply": below} for below in (gold, extracted))
            assert compiled.score(gold, extracted).leaves[-1].status == status


def test_a_choice_of_choices_beyond_the_eager_places_ends():
    """Choices that lead to each other at one place, in a schema that is compiled late."""
    schema = definitions_of(40, 20)
    schema["definitions"]["Left"] = {"anyOf": [{"$ref": "#/definitions/Right"}, {"type": "integer"}]}
    schema["definitions"]["Right"] = {"anyOf": [{"$ref": "#/definitions/Left"}, {"$ref": "#/definitions/D1"}]}
    for name in [*schema["definitions"]]:
        if name.startswith("D"):
            schema["definitions"][name]["properties"]["side"] = {"$ref": "#/definitions/Left"}
    compiled = compile_schema(schema)
    gold = {"kind": "D1", "name": "a", "side": 1}
    for _ in range(6):
        gold = {"kind": "D1", "name": "a", "side": gold}
    document = {"entry": [gold]}
    assert unequal(compiled, document, document) == []
    assert find_uncompared(compiled.program, document) is None


def test_a_reference_that_is_no_text_is_read_whatever_it_is():
    assert compile_schema({"properties": {"a": {"type": "string"}}, "$ref": 10**5000}).program is not None
