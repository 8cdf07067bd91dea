"""Compiling: every configuration mistake is told with its place, all at once, with the nearest spelling."""

from __future__ import annotations

import pytest

from pytest_extract.core.compile.compiler import compile_program
from pytest_extract.core.extensions import AlignerSpec, Extensions
from pytest_extract.core.metrics.base import Param, number
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.semantics import DEFAULT, SEMANTICS
from pytest_extract.core.uncompared import find_uncompared
from pytest_extract.core.validate import Validator
from pytest_extract.errors import ConfigError, SchemaError, SchemaErrors
from tests.core.schemas import EXACT, INTEGER, NUMBER, TEXT, array, metric, obj, scored, table, told


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
    "metrics-no-list": (configured({"metrics": "string_exact"}), f"{CONFIG}/metrics", "must be a list"),
    "unknown-key": (configured({"metric": "string_exact"}), CONFIG, "did you mean 'metric"),
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
    "cutoff-for-position": (configured({"align": {"by": "position", "key_cutoff": 0.5}}, "array"), f"{CONFIG}/align/key_cutoff", "no meaning"),
    "params-for-position": (configured({"align": {"by": "position", "params": {"n": 1}}}, "array"), f"{CONFIG}/align/params", "no meaning"),
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
    "leaf-without-metric": (obj(a=TEXT, b={"type": "string", "x-eval-compare": "exact"}), "/properties/a", "needs `x-eval-compare`"),
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
    schema = obj(a={**TEXT, "evaluation_config": "x1"}, b={"$ref": "#/$defs/d"}, c={"$ref": "#/$defs/d"})
    with pytest.raises(SchemaErrors) as caught:
        compile_program({**schema, "$defs": {"d": {"evaluation_config": "nope"}}}, overrides={"e": "exact"})
    assert [(error.pointer, error.at) for error in caught.value.errors] == [
        ("/properties/a/evaluation_config", ()),
        ("/$defs/d/evaluation_config", ()),
        ("", ("overrides", "e")),
    ]
    assert str(caught.value).count("\n") == 2


INVOICE = obj(vendor=obj(name=TEXT), total=NUMBER, items=table(price=NUMBER, sku=TEXT))
OVERRIDES = [
    ({"vendor.nam": "exact"}, "did you mean 'vendor.name'"),
    ({"total": "exakt"}, "did you mean 'exact'"),
    ({"total": {"metrik": "exact"}}, "did you mean 'metri"),
    ({"total": 3}, "must be `skip`"),
    ({"total": {"params": {}}}, "`metric` must be a metric's name"),
    ({"total": {"align": "position"}}, "only an array"),
    ({"items": {"align": "hungarin"}}, "did you mean 'hungarian'"),
    ({"total": {"metric": "number_tolerance", "params": {"tolerance": "x"}}}, "tolerance"),
    ({"vendor.name": {"transform": ["lower"]}}, "lowercase"),
    ({"total": {"threshold": 2}}, "from 0 to 1"),
    ({"total": "skip", "$.total": "skip"}, "twice"),
    ({"vendor.nam": "exakt"}, "did you mean 'exact'"),  # what stands at an unknown place is checked all the same
]


@pytest.mark.parametrize(("overrides", "message"), OVERRIDES)
def test_a_mistake_in_the_overrides_names_its_key(overrides, message):
    found = mistakes(INVOICE, overrides=overrides)
    assert [error.at for error in found if message in str(error)] == [("overrides", [*overrides][-1])]


def check_at(schema, pattern, **how):
    """Return the one check of a leaf."""
    (check,) = compile_program(schema, **how).patterns[pattern].checks
    return check


def test_overrides_win_over_the_schema():
    overrides = {
        "total": {"metric": "number_tolerance", "params": {"tolerance": 5}, "weight": 3},
        "vendor.name": {"threshold": 0.9, "metric": "fuzzy", "transform": ["strip"]},
        "items": {"align": "key", "key": ["sku"]},
        "items[].sku": "skip",
    }
    total = check_at(INVOICE, "total", overrides=overrides)
    assert (total.metric.name, total.metric.params, total.weight) == ("number_tolerance", {"tolerance": 5}, 3.0)
    name = check_at(INVOICE, "vendor.name", overrides=overrides)
    assert (name.metric.name, name.threshold, name.transform(" x ")) == ("fuzzy", 0.9, "x")
    gold, output = ({"items": [{"sku": "a", "price": price}]} for price in (1, 2))
    leaves = scored(INVOICE, gold, output, how={"overrides": overrides}).leaves
    assert told(leaves) == "items[0].price mismatch, items[0].sku skipped"


def test_an_override_reaches_into_a_recursive_schema():
    node = obj(v=TEXT, next={"$ref": "#"})
    deep = {"v": "1", "next": {"v": "2", "next": {"v": "3"}}}
    leaves = scored(node, deep, deep, how={"overrides": {"next.next.v": "skip"}}).leaves
    assert told(leaves) == "v match, next.v match, next.next.v skipped"
    assert "the schema has no field" in str(mistakes(node, overrides={"next.next.w": "skip"})[0])


@pytest.mark.parametrize(
    ("semantics", "schema"),
    [
        ("default", obj(o=obj(a=TEXT), b=TEXT)),
        ("extract-bench", obj(o=obj(a=TEXT) | {"evaluation_config": "string_exact"}, b=metric("string_exact"))),
        ("struct-extract-eval", obj(o=obj(a=TEXT), b=EXACT)),
    ],
)
def test_a_case_may_skip_a_whole_object(semantics, schema):
    scorer = compile_schema(schema, semantics=semantics, overrides={"o": "skip"})
    score = scorer.score({"o": {"a": "x"}, "b": "1"}, {"o": {"a": "y"}, "b": "1"})
    assert told(score.leaves) == "o skipped, b match"
    assert not scorer.needs_judge


def within(tolerance):
    return {"metric_id": "number_tolerance", "params": {"tolerance": tolerance}}


FORMS = {
    "preset": ("number_tolerance", {"tolerance": 0.001}, 1.0),
    "bare": (within(2), {"tolerance": 2}, 1.0),
    "without params": ({"metrics": [{"metric_id": "number_tolerance"}]}, {}, 1.0),
    "weights": ({"metrics": [{"metric_id": "number_tolerance", "weight": 2}], "aggregation_weight": 3}, {}, 6.0),
    "twice: the last counts": ({"metrics": [within(1), within(2)]}, {"tolerance": 2}, 1.0),
}


@pytest.mark.parametrize(("config", "params", "weight"), FORMS.values(), ids=FORMS)
def test_every_form_of_evaluation_config(config, params, weight):
    beside_a_reference = {**obj(a={"$ref": "#/$defs/d", "evaluation_config": config}), "$defs": {"d": metric("exact")}}
    for schema in (configured(config, "number"), beside_a_reference):
        check = check_at(schema, "a")
        assert (check.metric.name, check.metric.params, check.weight) == ("number_tolerance", params, weight)


DIALECTS = {
    "none": (obj(a=TEXT), "default"),
    "evaluation_config": (configured("string_exact"), "extract-bench"),
    "x-eval": (annotated(compare="exact"), "struct-extract-eval"),
    "only nulls": ({**obj(a=TEXT), "x-eval-nulls": "value"}, "default"),
    "only nulls in a config": ({**obj(a=TEXT), "evaluation_config": {"nulls": "value"}}, "default"),
    "property of that name": (obj(evaluation_config=TEXT), "default"),
}


@pytest.mark.parametrize(("schema", "name"), DIALECTS.values(), ids=DIALECTS)
def test_the_dialect_chooses_the_semantics(schema, name):
    assert compile_schema(schema).semantics == name
    assert compile_schema(schema, semantics="default").semantics == "default"


def test_a_wrong_name_of_semantics_or_of_a_mode_is_told():
    assert "did you mean 'extract-bench'" in str(mistakes(True, semantics="extractbench")[0])
    with pytest.raises(ConfigError, match="fuzzy"):
        compile_schema(True, judge_mode="fuzy")


MODES = {"position": "position", "hungarian": "best_fit", "best_fit": "best_fit", "judge": "judge", "mine": "custom"}


@pytest.mark.parametrize(("align", "mode"), MODES.items())
def test_an_aligner_is_named(align, mode):
    own = Extensions(aligners={"mine": AlignerSpec(name="mine", align=lambda gold, extracted, params: [(0, 0)])})
    for form in (align, {"by": align}):
        schema = array(obj(a=metric("string_exact")), evaluation_config={"align": form})
        assert compile_program(schema, extensions=own).root.align.mode == mode


def test_an_own_aligner_of_a_built_in_name_has_parameters():
    own = AlignerSpec(
        name="multiset",
        params=(Param(name="least", check=number(0), doc=""),),
        align=lambda gold, extracted, params: [(0, 0)],
    )
    schema = array(TEXT, evaluation_config={"align": {"by": "multiset", "params": {"least": 1}}})
    assert compile_program(schema, extensions=Extensions(aligners={"multiset": own})).root.align.mode == "custom"
    with pytest.raises(SchemaError, match="`params` has no meaning when rows are aligned by multiset"):
        compile_program(schema)


# --- references that double, lead nowhere else, or form a net


def test_a_schema_of_doubling_references_compiles():
    doubled = {f"d{i}": obj(a={"$ref": f"#/$defs/d{i + 1}"}, b={"$ref": f"#/$defs/d{i + 1}"}) for i in range(40)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**doubled, "d40": TEXT}}
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
    return obj(a={"$ref": "#/$defs/d0"}) | {"$defs": {**made, f"d{length}": INTEGER}}


@pytest.mark.parametrize("twice", TWICE.values(), ids=TWICE)
def test_references_that_double_for_one_value_are_refused(twice):
    """A chain of 40 would be looked at some 10**12 times for each value."""
    (mistake,) = mistakes(chained(twice, 40))
    assert "/$defs/d" in mistake.pointer
    assert "schemas (at most 10,000): list once what leads to the same schemas again and again" in mistake.message
    assert "again and again" in Validator(chained(twice, 40)).problem
    assert told(scored(chained(twice, 6), {"a": 1}, {"a": 1}).leaves) == "a match"


@pytest.mark.parametrize("length", [300, 30_000])
def test_references_that_never_seem_to_end_are_refused(length):
    (mistake,) = mistakes(chained(lambda ref: ref, length))
    assert mistake.message == "references lead from here through more than 200 schemas; refer to the last of them"
    assert scored(chained(lambda ref: ref, 100), {"a": 1}, {"a": 1}).leaves


def test_a_schema_nested_too_deep_is_an_error_not_a_crash():
    schema = TEXT
    for _ in range(10_000):
        schema = array(schema)
    with pytest.raises(ConfigError, match=r"schema is no JSON: at items.items.items.items, nested more than"):
        compile_schema(schema)


def test_a_reference_that_is_no_text_is_read_whatever_it_is():
    assert compile_schema({"properties": {"a": TEXT}, "$ref": 10**4000}).program is not None


def to(name):
    return {"$ref": f"#/definitions/{name}"}


def definitions_of(count, properties):
    """Return a schema of the shape of FHIR's Bundle: all definitions refer to each other, some are choices of others."""
    definitions = {"Left": {"anyOf": [to("Right"), INTEGER]}, "Right": {"anyOf": [to("Left"), to("D1")]}}
    definitions["Any"] = {"oneOf": [to(f"D{index}") for index in range(count)]}
    for index in range(count):
        refs = {f"p{j}": to(f"D{(index * 7 + j * 11) % count}") for j in range(properties)}
        own = obj(kind={"const": f"D{index}"}, name=TEXT, contained=array(to("Any")), side=to("Left"), **refs)
        definitions[f"D{index}"] = {**own, "required": ["kind"]}
    return {"definitions": definitions, **obj(entry=array(to("Any")))}


def resource(index, depth, count, name):
    made = {"kind": f"D{index}", "name": "a" if depth else name}
    if depth:
        made["p1"] = resource((index * 7 + 11) % count, depth - 1, count, name)
        made["contained"] = [resource(index, depth - 1, count, name)]
    return made


@pytest.mark.parametrize(("count", "properties"), [(150, 20), (150, 0), (4, 3)])
def test_definitions_that_all_refer_to_each_other_are_compiled_as_a_document_reaches_them(count, properties):
    compiled = compile_schema(definitions_of(count, properties))
    depth = 5 if properties else 0
    side = 1
    for _ in range(6):
        side = {"kind": "D1", "name": "a", "side": side}
    gold, other = ({"entry": [resource(3, depth, count, name), side]} for name in "ab")
    assert all(leaf.passed for leaf in compiled.score(gold, gold).leaves)
    assert sum(not leaf.passed for leaf in compiled.score(gold, other).leaves) == 2**depth
    assert find_uncompared(compiled.program, gold) is None


@pytest.mark.parametrize("order", [("mail", "call"), ("call", "mail")])
def test_an_alternative_that_leads_to_itself_keeps_its_own_metrics(order):
    dates = {"mail": TEXT, "call": {**TEXT, "format": "date"}}
    defs = {
        kind: {"properties": {"kind": {"const": kind}, "on": on, "reply": {"$ref": f"#/$defs/{kind}"}}}
        for kind, on in dates.items()
    }
    compiled = compile_schema({"$defs": defs, "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in order]})
    for kind, status in (("mail", "mismatch"), ("call", "match")):
        gold, extracted = ({"kind": kind, "on": f"2026-03-15{time}"} for time in ("", "T00:00:00"))
        for _ in range(4):
            gold, extracted = ({"kind": kind, "on": "2026-01-01", "reply": below} for below in (gold, extracted))
            assert compiled.score(gold, extracted).leaves[-1].status == status


# --- what is shared


WAYS = {"semantics": "default", "nulls": "value", "overrides": {"a": "skip"}, "judge_mode": "exact"}
MORE_WAYS = {"post_process": "reclassify_nulls", "extensions": Extensions()}


def test_a_scorer_is_shared_by_equal_schemas_for_one_way_of_scoring():
    shared = compile_schema(configured("string_exact"))
    assert compile_schema(configured("string_exact")) is shared
    for name, value in (WAYS | MORE_WAYS).items():
        assert compile_schema(configured("string_exact"), **{name: value}) is not shared
    assert compile_schema(obj(a=TEXT, b=TEXT)) is not compile_schema(obj(b=TEXT, a=TEXT))
    assert len({compile_schema(obj(a={"enum": [value]})) for value in (1, True, 1.0)}) == 3


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

    assert told(scored(obj(a={"type": Text("string")}), {"a": "x"}, {"a": "x"}).leaves) == "a match"


# --- `format` picks the metric of a text that names none, under our own semantics only


@pytest.mark.parametrize(
    ("text_format", "gold", "same", "other"),
    [
        ("date", "2026-03-04", "2026-03-04T00:00:00", "2026-04-03"),
        ("date-time", "2026-03-04T10:00:00Z", "2026-03-04T11:00:00+01:00", "2026-03-04T11:00:00Z"),
        ("email", "jo@example.com", "mailto:Jo@Example.com", "jo@example.org"),
        ("uri", "https://Example.com:443/a/", "https://example.com/a", "http://example.com/a"),
        ("url", "https://x.org/a#top", "https://x.org/a/#top", "https://x.org/a"),
        ("uuid", "9B2DC5F0-0000-4000-8000-000000000000", "9b2dc5f0-0000-4000-8000-000000000000", "x"),
        ("hostname", "Example.com", "example.com", "example.org"),
        ("time", "10:00:00", "10:00:00", "10:00"),
        ("date", "Q3 2024", "Q3  2024", "Q4 2024"),
    ],
)
@pytest.mark.parametrize("types", ["string", ["string", "null"], ["null", "string"], ["string", "integer"]], ids=str)
@pytest.mark.parametrize("others", [{}, {"b": {"$ref": "#"}}], ids=["plain", "compiled"])
def test_values_of_a_format(others, types, text_format, gold, same, other):
    place = {"type": types, "format": text_format}
    for extracted, status in ((same, "match"), (other, "mismatch")):
        assert told(scored(obj(a=place, **others), {"a": gold}, {"a": extracted}).leaves) == f"a {status}"
        if "integer" not in types:
            rows = scored(obj(rows=array(place), **others), {"rows": [gold]}, {"rows": [extracted]})
            assert {leaf.passed for leaf in rows.leaves} == {status == "match"}


DATE = {**TEXT, "format": "date"}
FORMATS = [
    (DATE, {}, "date"),
    ({**TEXT, "format": "no-such-format"}, {}, "text"),
    ({**TEXT, "format": ["date"]}, {}, "text"),
    ({**INTEGER, "format": "date"}, {}, "integer"),
    ({"anyOf": [DATE, {"type": "null"}]}, {}, "date"),
    ({"allOf": [TEXT, {"format": "email"}]}, {}, "email"),
    ({**DATE, "evaluation_config": "string_exact"}, {}, "string_exact"),
    (DATE, {"overrides": {"a": "fuzzy", "rows[]": "fuzzy"}}, "fuzzy"),
    *(({**TEXT, "format": name}, {"semantics": "extract-bench"}, "string_semantic") for name in DEFAULT.format_metrics),
    *(({**EXACT, "format": name}, {"semantics": "struct-extract-eval"}, "exact") for name in DEFAULT.format_metrics),
]


@pytest.mark.parametrize(("place", "how", "name"), FORMATS)
def test_the_metric_of_a_format(place, how, name):
    schema = obj(a=place, rows=array(place), b={"$ref": "#"})
    patterns = compile_program(schema, **{"semantics": "default", **how}).patterns
    assert {check.metric.name for at in ("a", "rows[]") for check in patterns[at].checks} == {name}


def test_only_our_own_semantics_know_formats():
    assert [name for name, semantics in SEMANTICS.items() if semantics.format_metrics] == ["default"]
