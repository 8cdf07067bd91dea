"""Decorated functions as metrics, transforms, aligners, compound metrics and post-processors."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract import Extensions, Status, assert_extraction, compile_schema, extend, score
from pytest_extract.core.metrics.base import check_params, with_defaults
from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.extend import params_of
from tests.core.schemas import TEXT, array, obj
from tests.strategies import any_json, near_values


@extend.metric()
def initials(gold: str, extracted: str, *, most: int = 3) -> bool:
    """Compare the first letters of the words."""
    return [w[0] for w in gold.split()][:most] == [w[0] for w in extracted.split()][:most]


@extend.metric("likeness", threshold=0.5)
def share(gold, extracted):
    return 0.5


@extend.transform()
def without(value, *, letters: str):
    return "".join(each for each in value if each not in letters)


@extend.aligner()
def backwards(gold, extracted, *, skip: int = 0):
    pairs = zip(range(len(gold)), reversed(range(len(extracted))), strict=False)
    return list(pairs)[skip:]


@extend.compound("first", "last", primary="last")
def full_name(gold, extracted, *, case: bool = True):
    ours, theirs = (f"{side['first']} {side['last']}" for side in (gold, extracted))
    return ours == theirs if case else ours.lower() == theirs.lower()


@extend.batch()
def spread(pairs, *, least: float = 0.0):
    return [1.0 if gold == extracted else least for gold, extracted in pairs]


@extend.post_processor()
def forgive(results, transformed, *, path: str):
    return [r._replace(status=Status.MATCH, score=1.0, passed=True) if str(r.path) == path else r for r in results]


ALL = Extensions.of(initials, share, without, backwards, full_name, spread, forgive)


def named(compare, **more):
    return {"type": "string", "x-eval-compare": compare, **more}


def leaves(schema, gold, extracted, **how):
    found = score(schema, gold, extracted, extensions=ALL, **how).leaves
    return [(str(r.path), str(r.status), r.score) for r in found]


def name(compare):
    return obj(first=named(compare), last=named(compare))


def rows_of(items, match_by, **params):
    return array(items, **{"x-eval-align": {"match_by": match_by, **params}})


UPPER = {"first": "ADA", "last": "BYRON"}, {"first": "Ada", "last": "Byron"}
USES = {
    "metric": (named("initials"), "Ada King", "A K", [("v", "match", 1.0)]),
    "metric-parameter": (named({"initials": {"most": 1}}), "Ada King", "A B", [("v", "match", 1.0)]),
    "metric-evaluation-config": (
        {"type": "string", "evaluation_config": {"metrics": [{"metric_id": "initials", "params": {"most": 1}}]}},
        "Ada King", "A B", [("v", "match", 1.0)],
    ),
    "threshold": (named("likeness"), "a", "b", [("v", "match", 0.5)]),
    "transform": (
        named("exact", **{"x-eval-transform": [{"without": {"letters": "-"}}]}), "1-2", "12", [("v", "match", 1.0)],
    ),
    "aligner": (
        rows_of(named("exact"), "backwards"), ["a", "b"], ["b", "a"],
        [("v[0]", "match", 1.0), ("v[1]", "match", 1.0)],
    ),
    "aligner-parameter": (
        rows_of(named("exact"), "backwards", params={"skip": 1}), ["a", "b"], ["b", "a"],
        [("v[1]", "match", 1.0), ("v[0]", "omission", 0.0), ("v[-1]", "hallucination", 0.0)],
    ),
    "compound": (name("full_name"), *UPPER, [("v.first", "skipped", 0.0), ("v.last", "mismatch", 0.0)]),
    "compound-parameter": (
        name({"full_name": {"case": False}}), *UPPER, [("v.first", "skipped", 0.0), ("v.last", "match", 1.0)],
    ),
    "batch": (
        obj(a=named("spread"), b=named({"spread": {"least": 0.25}})), {"a": "x", "b": "x"}, {"a": "y", "b": "y"},
        [("v.a", "mismatch", 0.0), ("v.b", "mismatch", 0.25)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "gold", "extracted", "expected"), USES.values(), ids=USES)
def test_a_decorated_function_is_named_by_a_schema(schema, gold, extracted, expected):
    assert sorted(leaves(obj(v=schema), {"v": gold}, {"v": extracted})) == sorted(expected)


def test_a_transform_that_raises_says_why():
    schema = {**named("exact"), "type": ["string", "number"], "x-eval-transform": [{"without": {"letters": "-"}}]}
    (result,) = score(obj(v=schema), {"v": "1"}, {"v": 1}, extensions=ALL).leaves
    assert (str(result.status), result.score) == ("mismatch", 0.0)
    assert "extracted is not transformed: without raised TypeError" in result.reason


def test_a_post_processor():
    schema, values = obj(a=named("exact"), b=named("exact")), ({"a": "1", "b": "1"}, {"a": "2", "b": "2"})
    kept = leaves(schema, *values, post_process={"name": "forgive", "path": "a"})
    assert kept == [("a", "match", 1.0), ("b", "mismatch", 0.0)]


MISTAKES = [
    (named("initialz"), "no metric 'initialz'; did you mean 'initials'?"),
    (named("ful_name"), "no metric 'ful_name'; did you mean 'full_name'?"),
    (named({"initials": {"mst": 1}}), "metric 'initials' has no parameter 'mst'; did you mean 'most'?"),
    (named({"initials": {"most": "x"}}), "parameter 'most' must be a whole number, not 'x'"),
    (named("exact", **{"x-eval-transform": ["without"]}), "transform 'without' needs the parameter 'letters'"),
    (obj(first=named("full_name"), last=named("exact")), "name it at each"),
    (
        obj(first=named("full_name"), last=named({"full_name": {"case": False}})),
        "compares 'first', 'last' as one: name it at each, with the same parameters; here it stands at 'first'",
    ),
    (name({"full_name": {"case": 1}}), "parameter 'case' must be true or false, not 1"),
    (rows_of(named("exact"), "backward"), "no aligner 'backward'; did you mean 'backwards'?"),
]


@pytest.mark.parametrize(("schema", "message"), MISTAKES)
def test_a_mistake_in_the_schema_is_told_with_its_place(schema, message):
    with pytest.raises(SchemaError) as caught:
        score(obj(v=schema), {}, {}, extensions=ALL)
    error = caught.value.errors[0]
    assert message in error.message
    assert error.pointer.startswith("/properties/v")


def at_root(post):
    return {**obj(a=named("exact")), "x-eval-post": post}


FORGIVE = {"name": "forgive", "path": 1}
ROOT_ONLY = [
    (at_root("forgve"), {}, "no post-processor 'forgve'; did you mean 'forgive'?", "/x-eval-post"),
    (at_root([1]), {}, "a post-processor must be a name", "/x-eval-post/0"),
    (at_root(["reclassify_nulls", FORGIVE]), {}, "parameter 'path' must be a text", "/x-eval-post/1"),
    (obj(a=named("exact", **{"x-eval-post": "forgive"})), {}, "at the root only", "/properties/a"),
    (obj(a=named("exact", **{"x-eval-nulls": "absent"})), {}, "at the root only", "/properties/a"),
    ({**obj(), "evaluation_config": {"post": "forgve"}}, {}, "mean 'forgive'?", "/evaluation_config/post"),
    (obj(a=named("exact")), {"a": {"post": "forgive"}}, "at the root only", "a"),
    (obj(a=named("exact")), {"$": {"post": "forgve"}}, "did you mean 'forgive'?", "$"),
]


@pytest.mark.parametrize(("schema", "overrides", "message", "where"), ROOT_ONLY)
def test_what_holds_for_the_whole_document_stands_at_the_root(schema, overrides, message, where):
    with pytest.raises(SchemaError) as caught:
        score(schema, {}, {}, extensions=ALL, overrides=overrides or None)
    error = caught.value.errors[0]
    assert message in error.message
    assert where == ((error.at and error.at[1]) or error.pointer)


BROKEN = [
    lambda results, transformed: 1 / 0,
    lambda results, transformed: results[1:],
    lambda results, transformed: None,
    lambda results, transformed: [1 for _ in results],
    lambda results, transformed: [r._replace(score=2.0) for r in results],
    lambda results, transformed: [r._replace(status="fine") for r in results],
    lambda results, transformed: [r._replace(reason=float("nan")) for r in results],
    lambda results, transformed: [r._replace(gold=float("nan")) for r in results],
]


@pytest.mark.parametrize("function", BROKEN)
def test_a_post_processor_that_breaks_breaks_every_field(function):
    function = extend.post_processor("odd")(function)
    schema, values = obj(a=named("exact"), b=named("exact")), ({"a": "1"}, {"a": "1", "b": "2"})
    found = score(schema, *values, extensions=Extensions.of(function), post_process="odd").leaves
    assert [str(r.status) for r in found] == ["judge_error", "judge_error"]
    assert "the post-processor 'odd' broke" in found[0].reason


@extend.metric()
def boom(gold, extracted):
    raise RuntimeError(gold)


def broken(extension):
    """Return why the one field is broken whose values an extension compares."""
    (leaf,) = score(obj(a=named("odd")), {"a": "x"}, {"a": "y"}, extensions=Extensions.of(extension)).leaves
    assert str(leaf.status) == "judge_error"
    return leaf.reason


@pytest.mark.parametrize("answer", ["1", None, [1], 1 + 0j, float("nan"), 1.5], ids=repr)
def test_what_is_no_score_breaks_the_field(answer):
    odd = extend.metric("odd")(lambda gold, extracted: answer)
    assert broken(odd) == f"the metric 'odd' broke: it gave {answer!r}, not a score from 0 to 1"
    many = extend.batch("odd")(lambda pairs: [1.0, *(0.0 for _ in pairs)])
    assert broken(many) == "the batch metric 'odd' broke: it gave 2 scores for 1 pairs"


def test_a_metric_that_breaks_still_lets_its_rows_be_paired_by_the_others():
    row = obj(a=named("boom"), b=named("exact"))
    schema = obj(v=rows_of(row, "hungarian"))
    rows = [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}], [{"a": "3", "b": "y"}, {"a": "4", "b": "x"}]
    found = score(schema, {"v": rows[0]}, {"v": rows[1]}, extensions=Extensions.of(boom))
    assert [(str(r.path), str(r.status)) for r in found.leaves] == [
        ("v[0].a", "judge_error"), ("v[0].b", "match"), ("v[1].a", "judge_error"), ("v[1].b", "match"),
    ]  # fmt: skip
    assert found.leaves[0].reason == "the metric 'boom' broke: RuntimeError: 1"


AS_ONE = {"first": "full_name", "last": "full_name"}
LACKING = [
    ({"first": "Cher", "last": None}, {"first": "Cher"}, [("first", "match", 1.0)]),
    ({"first": "Cher"}, {"first": "Sher"}, [("first", "mismatch", 0.0)]),
    ({"first": "Cher"}, {"first": "Cher", "last": ""}, [("first", "mismatch", 0.0), ("last", "hallucination", 0.0)]),
    ({}, {"first": None}, []),
]


@pytest.mark.parametrize(("gold", "extracted", "expected"), LACKING)
def test_a_member_that_neither_side_has_is_no_difference(gold, extracted, expected):
    assert leaves(obj(first=TEXT, last=TEXT), gold, extracted, overrides=AS_ONE) == expected


def test_under_struct_extract_eval_a_missing_member_counts_as_published():
    found = leaves(name("full_name"), {"v": 1, "first": "Cher"}, {"v": 1, "first": "Cher"})
    assert ("first", "mismatch", 0.0) in found


def test_a_decorated_function_stays_a_function():
    assert initials("Ada King", "A K")


def wrong(gold):
    return 1.0


async def waits(gold, extracted):
    return 1.0


def odd(gold, extracted, *, when: complex = 1j):
    return 1.0


def unknown(gold, extracted, *, when: Nowhere = 1):  # noqa: F821
    return 1.0


again = extend.metric("initials")(lambda gold, extracted: 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: extend.metric(initials), "write `@extend.metric()`, with brackets, above 'initials'"),
        (lambda: extend.metric()("x"), "stands above a function, not 'x'"),
        (lambda: extend.metric()(wrong), "metric 'wrong': must take (gold, extracted) by position"),
        (lambda: extend.metric()(waits), "metric 'waits': cannot be async"),
        (lambda: extend.metric()(lambda g, e, most: 1.0), "parameters by keyword, after `*`"),
        (lambda: extend.metric()(lambda g, e, **more: 1.0), "it takes (g, e, **more)"),
        (lambda: extend.metric()(lambda *a, **more: 1.0), "must take (gold, extracted) by position"),
        (lambda: extend.transform("t")(lambda *both: 1.0), "it takes (*both)"),
        (lambda: extend.metric()(odd), "metric 'odd': parameter 'when': the annotation <class 'complex'> is no JSON"),
        (lambda: extend.metric()(unknown), "an annotation cannot be read (name 'Nowhere'"),
        (lambda: extend.compound("first"), "needs two fields"),
        (lambda: extend.compound("a", "b", primary="c"), "a `primary` that is one of them"),
        (lambda: extend.measure("f1")(lambda gold, extracted: 1), "there is one of this name already"),
        (lambda: Extensions.of(wrong), "an extension is a function with a decorator"),
        (lambda: Extensions.of(initials, again), "two extensions are called 'initials'"),
        (lambda: Extensions.of(initials, extend.batch("initials")(lambda pairs: [])), "metric names are unique"),
    ],
)
def test_mistakes_of_the_writer_are_told(make, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        make()


def test_what_is_nearer_wins():
    mine = Extensions.of(extend.batch("initials")(lambda pairs: []), extend.transform("without")(lambda value: value))
    both = mine.over(ALL)
    assert "initials" not in both.metrics
    assert both.batches["initials"] is mine.batches["initials"]
    assert both.transforms["without"] is mine.transforms["without"]
    assert both.aligners == ALL.aligners
    assert ("post-processor", "forgive") in both.names()


def test_marked_functions_of_a_module_are_found_once():
    assert Extensions.marked_in({"a": initials, "b": initials, "wrong": wrong, "n": 1}).metrics.keys() == {"initials"}


CLUMSY = obj(
    a=named("initials", **{"x-eval-transform": [{"without": {"letters": "x"}}]}),
    b=named("spread"),
    first=named("full_name"),
    last=named("full_name"),
    rows=rows_of(name("full_name"), "backwards"),
    best=rows_of(obj(a=named("initials")), "hungarian"),
)
values = st.fixed_dictionaries({}, optional=dict.fromkeys(CLUMSY["properties"], any_json | near_values))


@given(
    gold=values | any_json, extracted=values | any_json, semantics=st.sampled_from(["default", "struct-extract-eval"])
)
def test_functions_that_take_texts_only_survive_any_json(gold, extracted, semantics):
    found = score(CLUMSY, gold, extracted, extensions=ALL, semantics=semantics, post_process="reclassify_nulls")
    for result in (*found.fields, *found.leaves):
        assert 0.0 <= result.score <= 1.0
    assert all(0.0 <= value <= 1.0 for value in found.measures.values())


def test_nothing_is_kept_between_calls():
    with pytest.raises(SchemaError, match="no metric 'initials'"):
        score(obj(v=named("initials")), {}, {})


def _own(measure):
    return Extensions.of(extend.measure("own")(measure))


def test_a_measure_of_the_project_is_there_for_every_output():
    schema = obj(a=TEXT)
    own = _own(lambda gold, extracted: gold["a"] == extracted["a"])
    outputs = ({"a": "x"}, {"a": "y"}, {"a": 1})
    assert [score(schema, {"a": "x"}, each, extensions=own).measures["own"] for each in outputs] == [1.0, 0.0, 0.0]
    scorer = compile_schema(schema, extensions=own)
    assert scorer.score_text({"a": "x"}, "no JSON").measures["own"] == 0.0
    keys = {"gold": {"a": "x"}, "schema": schema, "extensions": own}
    with pytest.raises(AssertionError, match=r"own 0 is below 0\.5"):
        assert_extraction({"a": "y"}, **keys, thresholds={"measures": {"own": 0.5}})
    with pytest.raises(AssertionError, match="other cannot be checked: what it is made of is not there"):
        assert_extraction({"a": "x"}, **keys, thresholds={"measures": {"other": 0.5}})


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda gold, extracted: 2, "the measure 'own' gave 2: a number from 0 to 1 was expected"),
        (lambda gold, extracted: "much", "the measure 'own' gave 'much'"),
        (lambda gold, extracted: gold["b"], "the measure 'own' raised KeyError: 'b'"),
    ],
)
def test_a_measure_that_gives_no_share_is_an_error_and_not_a_wrong_output(measure, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        score({"type": "object"}, {"a": 1}, {"a": 1}, extensions=_own(measure))


# --- parameters, from a function's signature


def compare(
    gold,
    extracted,
    *,
    most: int,
    share: float = 0.5,
    loud: bool = False,
    name: str = "",
    words: list[str] | None = [],  # noqa: B006
    table: dict[str, int] | None = None,
    mode: Literal["a", "b", 3] = "a",
    either: int | str = 0,
    free=None,
    whatever: Any = 1,
):
    return 1.0


PARAMS = params_of(compare, ("gold", "extracted"), "metric 'compare'")


def test_defaults_are_the_signature_s():
    assert with_defaults({"most": 2}, PARAMS) == {
        "most": 2, "share": 0.5, "loud": False, "name": "", "words": [], "table": None, "mode": "a", "either": 0,
        "free": None, "whatever": 1,
    }  # fmt: skip


GIVEN = [
    ({"most": 1, "share": 1, "loud": True, "name": "x", "words": ["a"], "table": {"a": 1}, "mode": 3}, None),
    ({"most": 1, "either": 7, "free": [1, {}], "whatever": "y", "words": []}, None),
    ({"most": 1, "either": "x"}, None),
    ({}, "needs the parameter 'most'"),
    ({"most": 1, "mots": 2}, "no parameter 'mots'; did you mean 'most'?"),
    ({"most": 1.5}, "'most' must be a whole number"),
    ({"most": True}, "'most' must be a whole number"),
    ({"most": 1, "share": "x"}, "'share' must be a number"),
    ({"most": 1, "loud": "yes"}, "'loud' must be true or false"),
    ({"most": 1, "name": 3}, "'name' must be a text"),
    ({"most": 1, "words": "a"}, "'words' must be a list"),
    ({"most": 1, "words": ["a", 2]}, "'words' item 1 must be a text"),
    ({"most": 1, "table": []}, "'table' must be a mapping"),
    ({"most": 1, "mode": "c"}, "'mode' must be one of 'a', 'b', 3"),
    ({"most": 1, "mode": 3.0}, "'mode' must be one of"),
    ({"most": 1, "either": []}, "'either' must be `int | str`"),
]


@pytest.mark.parametrize(("given", "message"), GIVEN)
def test_wrong_values_are_told_and_no_others(given, message):
    problems = check_params(given, PARAMS, "it")
    assert len(problems) == (message is not None)
    assert not message or message in problems[0]
