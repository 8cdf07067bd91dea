"""What each kind of place scores, under each semantics: small cases made by hand from the rules."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING

TEXT = {"type": "string"}
EXACT = {"type": "string", "x-eval-compare": "exact"}


def obj(**properties):
    return {"type": "object", "properties": properties}


def array(items, **more):
    return {"type": "array", "items": items, **more}


def rows(*, align):
    return array(obj(id=EXACT, v=EXACT), **{"x-eval-align": align})


def leaves(schema, gold, extracted, **how):
    score = compile_schema(schema, judge_mode="fuzzy", **how).score(gold, extracted, gates={"schema": False})
    return [(str(result.path), str(result.status)) for result in score.leaves]


def fields(schema, gold, extracted, **how):
    score = compile_schema(schema, judge_mode="fuzzy", **how).score(gold, extracted, gates={"schema": False})
    return [(str(result.path), str(result.status), result.score, result.passed) for result in score.fields]


DEFAULT = {
    "equal": (obj(a=TEXT), {"a": "x"}, {"a": "x"}, [("a", "match")]),
    "folded": (obj(a=TEXT), {"a": "e\u0301  x"}, {"a": "\u00e9 x"}, [("a", "match")]),
    "differs": (obj(a=TEXT), {"a": "x"}, {"a": "y"}, [("a", "mismatch")]),
    "missing": (obj(a=TEXT), {"a": "x"}, {}, [("a", "omission")]),
    "null-is-absent": (obj(a=TEXT), {"a": "x"}, {"a": None}, [("a", "omission")]),
    "invented": (obj(a=TEXT), {"a": None}, {"a": "x"}, [("a", "hallucination")]),
    "both-absent": (obj(a=TEXT), {"a": None}, {}, []),
    "true-is-not-1": (obj(a={"type": "integer"}), {"a": 1}, {"a": True}, [("a", "mismatch")]),
    "1-is-1.0": (obj(a={"type": "number"}), {"a": 1}, {"a": 1.0}, [("a", "match")]),
    "tolerance": (obj(a={"type": "number"}), {"a": 1e9}, {"a": 1e9 + 0.5}, [("a", "match")]),
    "undeclared-key": (obj(a=TEXT), {"a": "x"}, {"a": "x", "b": 1}, [("a", "match"), ("b", "hallucination")]),
    "undeclared-in-gold": (obj(a=TEXT), {"a": "x", "b": 1}, {"a": "x"}, [("a", "match"), ("b", "omission")]),
    "undeclared-for-missing": (
        obj(a=TEXT, b=TEXT),
        {"a": "x", "c": 1},
        {"a": "x", "c": 1},
        [("a", "match"), ("c", "match")],
    ),
    "undeclared-in-gold-too": (obj(a=TEXT), {"b": 1}, {"b": 1}, [("b", "match")]),
    "undeclared-for-missing-in-gold": (
        obj(a=TEXT, b=TEXT),
        {"b": "x", "z": 1},
        {"a": "x", "b": "y"},
        [("a", "hallucination"), ("b", "mismatch"), ("z", "omission")],
    ),
    "undeclared-only-in-gold": (obj(a=TEXT), {"b": 1}, {}, [("b", "omission")]),
    "key-with-a-dot": (obj(**{"a.b": TEXT}), {"a.b": "x"}, {"a.b": "x"}, [('["a.b"]', "match")]),
    "key-with-a-bracket": (obj(**{"a[0]": TEXT}), {"a[0]": "x"}, {"a[0]": "y"}, [('["a[0]"]', "mismatch")]),
    "missing-object": (obj(o=obj(a=TEXT, b=TEXT)), {"o": {"a": "x", "b": None}}, {}, [("o.a", "omission")]),
    "nulled-object": (obj(o=obj(a=TEXT)), {"o": {"a": "x"}}, {"o": None}, [("o.a", "omission")]),
    "empty-object": (obj(o=obj(a=TEXT)), {"o": {}}, {}, [("o", "omission")]),
    "invented-object": (
        obj(o=obj(a=TEXT)),
        {},
        {"o": {"a": "x", "z": 1}},
        [("o.a", "hallucination"), ("o.z", "hallucination")],
    ),
    "object-of-wrong-type": (obj(o=obj(a=TEXT)), {"o": {"a": "x"}}, {"o": "x"}, [("o", "mismatch")]),
    "same-wrong-type": (obj(o=obj(a=TEXT)), {"o": "x"}, {"o": "x"}, [("o", "match")]),
    "further-keys": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"x": 1, "y": 2},
        {"x": 1, "y": 3},
        [("x", "match"), ("y", "mismatch")],
    ),
    "pattern-keys": (
        {"type": "object", "patternProperties": {"^n_": {"type": "number"}}},
        {"n_a": 1},
        {"n_a": 1.0},
        [("n_a", "match")],
    ),
    "bag-of-scalars": (
        array(TEXT),
        ["a", "b"],
        ["b", "c"],
        [("[1]", "match"), ("[0]", "omission"), ("[-1]", "hallucination")],
    ),
    "bag-with-repeats": (
        array({"type": "integer"}),
        [1, 1, 2],
        [1, 2, 2],
        [("[0]", "match"), ("[2]", "match"), ("[1]", "omission"), ("[-1]", "hallucination")],
    ),
    "empty-array-is-absent": (obj(a=array(TEXT)), {"a": []}, {}, []),
    "missing-array": (obj(a=array(TEXT)), {"a": ["x", "y"]}, {}, [("a[0]", "omission"), ("a[1]", "omission")]),
    "array-of-wrong-type": (obj(a=array(TEXT)), {"a": ["x"]}, {"a": "x"}, [("a", "mismatch")]),
    "rows-reordered": (
        array(obj(a=TEXT, b=TEXT)),
        [{"a": "1", "b": "p"}, {"a": "2", "b": "q"}],
        [{"a": "2", "b": "q"}, {"a": "1", "b": "z"}],
        [("[0].a", "match"), ("[0].b", "mismatch"), ("[1].a", "match"), ("[1].b", "match")],
    ),
    "rows-with-nothing-in-common": (
        array(obj(a=TEXT)),
        [{"a": "1"}],
        [{"a": "2"}],
        [("[0].a", "omission"), ("[-1].a", "hallucination")],
    ),
    "row-of-wrong-type": (
        array(obj(a=TEXT)),
        [{"a": "1"}, "text"],
        ["text", {"a": "1"}],
        [("[0].a", "match"), ("[1]", "match")],
    ),
    "tuple": (
        {"type": "array", "prefixItems": [TEXT, {"type": "integer"}]},
        ["a", 1],
        ["b", 1],
        [("[0]", "mismatch"), ("[1]", "match")],
    ),
    "any-of": (
        obj(v={"anyOf": [{"type": "integer"}, obj(k=TEXT), {"type": "null"}]}),
        {"v": {"k": "x"}},
        {"v": {"k": "y"}},
        [("v.k", "mismatch")],
    ),
    "one-of-by-constant": (
        {"oneOf": [obj(kind={"const": "a"}, n={"type": "integer"}), obj(kind={"const": "b"}, n=TEXT)]},
        {"kind": "b", "n": "e\u0301"},
        {"kind": "b", "n": "\u00e9"},
        [("kind", "match"), ("n", "match")],
    ),
    "type-list": (obj(v={"type": ["number", "string"]}), {"v": 1}, {"v": 1.0}, [("v", "match")]),
    "all-of": (
        {"allOf": [obj(a=TEXT), {"properties": {"b": {"type": "integer"}}}]},
        {"a": "x", "b": 1},
        {"a": "x", "b": 2},
        [("a", "match"), ("b", "mismatch")],
    ),
    "recursive": (
        {"$ref": "#/$defs/n", "$defs": {"n": obj(v=TEXT, next={"$ref": "#/$defs/n"})}},
        {"v": "1", "next": {"v": "2", "next": {"v": "3"}}},
        {"v": "1", "next": {"v": "2", "next": {"v": "4"}}},
        [("v", "match"), ("next.v", "match"), ("next.next.v", "mismatch")],
    ),
    "dangling-reference": (obj(v={"$ref": "#/nowhere"}), {"v": {"a": [1]}}, {"v": {"a": [1.0]}}, [("v", "match")]),
    "no-schema": (True, {"a": 1}, {"a": 2}, [("$", "mismatch")]),
    "scalar-root": ({"type": "integer"}, 1, 2, [("$", "mismatch")]),
}


@pytest.mark.parametrize(("schema", "gold", "extracted", "expected"), DEFAULT.values(), ids=DEFAULT)
def test_ours(schema, gold, extracted, expected):
    assert leaves(schema, gold, extracted) == expected


PUBLISHED = {
    "null-is-a-value": (obj(a=EXACT), {"a": None}, {"a": None}, [("a", "match")]),
    "null-against-missing": (obj(a=EXACT), {"a": None}, {}, [("a", "omission")]),
    "both-empty": (obj(a=EXACT), {}, {}, [("$", "match")]),
    "undeclared-in-gold-is-ignored": (obj(a=EXACT), {"z": 1}, {"y": 1}, [("y", "hallucination")]),
    "missing-subtree": (
        obj(o=obj(a=EXACT, l=array(EXACT))),
        {"o": {"a": "x", "l": ["p", "q"]}},
        {},
        [("o.a", "omission"), ("o.l[0]", "omission"), ("o.l[1]", "omission")],
    ),
    "empty-object-costs-nothing": (obj(o=obj(a=EXACT)), {"o": {}}, {"b": 1}, [("b", "hallucination")]),
    "empty-array-costs-one": (obj(l=array(EXACT)), {"l": []}, {"b": 1}, [("l", "omission"), ("b", "hallucination")]),
    "invented-rows-count-down": (
        array(EXACT),
        ["a"],
        ["a", "b", "c"],
        [("[0]", "match"), ("[-1]", "hallucination"), ("[-2]", "hallucination")],
    ),
    "skipped-leaf": (obj(a={**EXACT, "x-eval-skip": True}), {}, {}, [("$", "match")]),
    "skipped-leaf-beside-another": (
        obj(a={"type": "string", "x-eval-skip": True}, b=EXACT),
        {"b": "x"},
        {"b": "x"},
        [("a", "skipped"), ("b", "match")],
    ),
    "skipped-object": (
        obj(o={**obj(a=EXACT), "x-eval-skip": True}),
        {"o": {"a": "x"}},
        {"o": {"a": "y"}},
        [("o", "skipped")],
    ),
    "skipped-row-is-scored": (
        array({**obj(a=EXACT), "x-eval-skip": True}),
        [{"a": "x"}, {"a": "y"}],
        [{"a": "x"}],
        [("[0].a", "match")],
    ),
    "by-key": (
        rows(align={"match_by": "key_field", "key": "id"}),
        [{"id": "1", "v": "a"}, {"id": "2", "v": "b"}],
        [{"id": "2", "v": "b"}, {"id": "3", "v": "c"}],
        [
            ("[1].id", "match"),
            ("[1].v", "match"),
            ("[0].id", "omission"),
            ("[0].v", "omission"),
            ("[-1].id", "hallucination"),
            ("[-1].v", "hallucination"),
        ],
    ),
    "container-as-one": (
        obj(o={**obj(a=EXACT), "x-eval-compare": "exact"}),
        {"o": {"a": "x"}},
        {"o": {"a": "y"}},
        [("o", "mismatch")],
    ),
    "container-as-one-missing": (
        obj(o={**obj(a=EXACT), "x-eval-compare": "exact"}),
        {"o": {"a": "x"}},
        {},
        [("o.a", "omission")],
    ),
    "transform": (
        obj(a={**EXACT, "x-eval-transform": ["strip", "lowercase"]}),
        {"a": " X"},
        {"a": "x "},
        [("a", "match")],
    ),
    "transform-of-wrong-type": (
        obj(a={**EXACT, "x-eval-transform": ["strip"]}),
        {"a": "5"},
        {"a": 5},
        [("a", "mismatch")],
    ),
}


@pytest.mark.parametrize(("schema", "gold", "extracted", "expected"), PUBLISHED.values(), ids=PUBLISHED)
def test_struct_extract_eval(schema, gold, extracted, expected):
    assert leaves(schema, gold, extracted, semantics="struct-extract-eval") == expected


CONFIGURED = {
    "default": (obj(a={"type": "integer"}), {"a": 1}, {"a": 1}, [("a", "match", 1.0, True)]),
    "both-absent-passes": (obj(a={"type": "integer"}), {}, {"a": None}, [("a", "match", 1.0, True)]),
    "undeclared-is-ignored": (obj(a={"type": "integer"}), {"a": 1}, {"a": 1, "b": 2}, [("a", "match", 1.0, True)]),
    "wrong-type": (
        obj(a={"type": "string", "evaluation_config": "string_exact"}),
        {"a": "1"},
        {"a": 1},
        [("a", "mismatch", 0.0, False)],
    ),
    "two-metrics": (
        obj(
            a={
                "type": "string",
                "evaluation_config": {"metrics": [{"metric_id": "string_exact"}, {"metric_id": "string_fuzzy"}]},
            }
        ),
        {"a": "abcd"},
        {"a": "abce"},
        [("a", "mismatch", 0.0, False), ("a", "mismatch", 0.75, False)],
    ),
    "skipped": (obj(a={"type": "string", "evaluation_config": "skip"}), {"a": "x"}, {"a": "y"}, []),
    "object-with-a-metric": (
        obj(o={**obj(a={"type": "integer"}), "evaluation_config": "string_exact"}),
        {"o": {"a": 1}},
        {"o": {"a": 2}},
        [("o", "mismatch", 0.0, False), ("o.a", "mismatch", 0.0, False)],
    ),
    "nulled-object": (
        obj(o={**obj(a={"type": "integer"}, b={"type": "integer"}), "nullable": True}),
        {"o": {"a": 1}},
        {"o": None},
        [("o.a", "omission", 0.0, False), ("o.b", "match", 1.0, True)],
    ),
    "empty-object-against-missing": (obj(o=obj(a={"type": "integer"})), {"o": {}}, {}, [("o.a", "match", 1.0, True)]),
    "array-metric-on-a-string": (
        obj(a={"type": "string", "evaluation_config": "array_llm"}),
        {"a": "x"},
        {"a": "x"},
        [("a", "match", 1.0, True)],
    ),
    "skipped-optional-object": (
        obj(o={"anyOf": [obj(a={"type": "integer"}), {"type": "null"}], "evaluation_config": "skip"}),
        {"o": {"a": 1}},
        {"o": {"a": 2}},
        [],
    ),
    "skipped-object-is-passed-through": (
        obj(o={**obj(a={"type": "integer"}), "evaluation_config": "skip"}),
        {"o": {"a": 1}},
        {"o": {"a": 2}},
        [("o.a", "mismatch", 0.0, False)],
    ),
    "array-recall": (
        obj(
            a=array(
                {"type": "integer"}, evaluation_config={"metrics": [{"metric_id": "array_llm"}], "align": "multiset"}
            )
        ),
        {"a": [1, 2, 3, 4]},
        {"a": [4, 3, 2, 9]},
        [("a", "match", 0.75, True)],
    ),
    "array-compared-as-one": (
        obj(a=array({"type": "integer"}, evaluation_config="string_exact")),
        {"a": [1, 2]},
        {"a": [2, 1]},
        [("a", "mismatch", 0.0, False)],
    ),
    "branch-config-gives-leaf-results-only": (
        obj(a={"anyOf": [{"type": "string", "evaluation_config": "string_exact"}, {"type": "null"}]}),
        {"a": "x"},
        {"a": "y"},
        [],
    ),
}


@pytest.mark.parametrize(("schema", "gold", "extracted", "expected"), CONFIGURED.values(), ids=CONFIGURED)
def test_extract_bench(schema, gold, extracted, expected):
    assert fields(schema, gold, extracted, semantics="extract-bench") == expected


def test_a_branch_that_fits_gold_scores_with_its_config():
    schema = obj(a={"anyOf": [{"type": "string", "evaluation_config": "string_exact"}, {"type": "null"}]})
    assert leaves(schema, {"a": "x"}, {"a": "y"}) == [("a", "mismatch")]


def test_ours_gives_an_array_its_f1():
    schema = obj(a=array(TEXT), b=TEXT)
    assert fields(schema, {"a": ["x", "y"], "b": "z"}, {"a": ["y"], "b": "z"}) == [
        ("a", "mismatch", pytest.approx(2 / 3), False),
        ("b", "match", 1.0, True),
    ]


def test_an_array_keeps_its_pairing_and_the_papers_numbers():
    schema = obj(rows=array(obj(a=TEXT, b=TEXT)))
    gold = {"rows": [{"a": "1", "b": "p"}, {"a": "2", "b": "q"}]}
    extracted = {"rows": [{"a": "9", "b": "9"}, {"a": "2", "b": "x"}, {"a": "1", "b": "p"}]}
    score = compile_schema(schema).score(gold, extracted)
    (pairing,) = score.arrays
    assert pairing.pairs == ((0, 2), (1, 1))
    assert (pairing.missing, pairing.extra) == ((), (0,))
    assert (pairing.precision, pairing.recall, pairing.f1) == (0.5, 0.75, 0.6)
    paired = {str(result.path): str(result.matched) for result in score.leaves}
    assert paired["rows[0].a"] == "rows[2].a"
    assert paired["rows[-1].a"] == "rows[0].a"


def test_agreement_on_absence_is_counted():
    score = compile_schema(obj(a=TEXT, b=TEXT, c=array(TEXT))).score({"a": "x"}, {"a": "x", "b": None, "c": []})
    assert score.vacuous == 2
    assert len(score.leaves) == 1


def test_nulls_can_be_values_under_ours():
    schema = obj(a=TEXT, b=TEXT)
    assert leaves(schema, {"a": None, "b": None}, {"a": None}, nulls="value") == [("a", "match"), ("b", "omission")]
    rooted = {**schema, "x-eval-nulls": "value"}
    assert leaves(rooted, {"a": None}, {"a": None}) == [("a", "match")]


def test_accepted_readings_are_right_too():
    schema = obj(v=TEXT, rows=array(obj(n=TEXT)), o=obj(k=TEXT))
    gold = {"v": "ACME GmbH", "rows": [{"n": "one"}], "o": {"k": "x"}}
    extracted = {"v": "ACME", "rows": [{"n": "1"}], "o": {"k": "y"}}
    accept = {"v": ["ACME"], "rows[].n": ["1"], "o": [{"k": "y"}]}
    score = compile_schema(schema, overrides={"rows": {"align": "position"}}).score(gold, extracted, accept=accept)
    assert [str(result.status) for result in score.leaves] == ["match"] * 3
    assert score.leaves[0].gold == "ACME GmbH"


def test_an_accepted_reading_counts_where_gold_has_nothing():
    score = compile_schema(obj(v=TEXT)).score({"v": None}, {"v": "n/a"}, accept={"v": ["n/a"]})
    assert [result.status for result in score.leaves] == [Status.MATCH]
    score = compile_schema(obj(v=TEXT)).score({"v": "x"}, {}, accept={"v": [None]})
    assert (score.leaves, score.vacuous) == ((), 1)


@pytest.mark.parametrize(
    ("gold", "extracted", "accept", "statuses"),
    [
        pytest.param(["a", "c"], ["a", "b"], {"l[]": ["b"]}, ["match", "match"], id="a-reading-of-any-row"),
        pytest.param(["a", "c"], ["b", "a"], {"l[1]": ["b"]}, ["match", "match"], id="a-reading-of-one-row"),
        pytest.param(["a", "c"], ["b", "a"], {"l[0]": ["b"]}, ["match", "omission", "hallucination"], id="of-another-row"),
        pytest.param(["x", "y"], ["b", "d"], {"l[0]": ["b", "d"], "l[1]": ["b"]}, ["match", "match"], id="as-many-as-can-be"),
        pytest.param(["a"], ["a", "b"], {"l[]": ["b"]}, ["match", "hallucination"], id="an-invented-row-has-no-reading"),
        pytest.param([], ["b"], {"l[]": ["b"]}, ["hallucination"], id="nor-has-one-of-an-invented-list"),
    ],
)  # fmt: skip
def test_values_of_a_list_are_paired_by_their_further_right_readings_too(gold, extracted, accept, statuses):
    score = compile_schema(obj(l=array(TEXT))).score({"l": gold}, {"l": extracted}, accept=accept)
    assert [result.status for result in score.leaves] == statuses


@pytest.mark.parametrize("extracted", [{}, {"l": None}, {"l": []}])
@pytest.mark.parametrize("reading", [None, []])
def test_a_list_that_may_be_absent_may_be_so_in_every_way(reading, extracted):
    scorer = compile_schema(obj(l=array(TEXT)))
    assert scorer.score({"l": ["x"]}, extracted, accept={"l": [reading]}).leaves == ()
    assert len(scorer.score({"l": ["x"]}, extracted, accept={"l": [["y"]]}).leaves) == 1


def test_a_field_that_may_stay_empty_is_skipped_when_one_side_is():
    scorer = compile_schema(obj(a=TEXT, l=array(TEXT)))
    for gold, extracted in (({"a": "x", "l": ["y"]}, {}), ({}, {"a": "x", "l": ["y"]})):
        score = scorer.score(gold, extracted, absent={"a": "either", "l": "either"})
        assert {result.status for result in score.fields} == {Status.SKIPPED}
        assert score.measures["pass_rate"] == 1.0
    both = scorer.score({"a": "x"}, {"a": "y"}, absent={"a": "either"})
    assert [result.status for result in both.leaves] == [Status.MISMATCH]


def test_threads_may_share_a_recursive_schema():
    schema = {"$ref": "#/$defs/n", "$defs": {"n": obj(v=TEXT, next={"$ref": "#/$defs/n"})}}
    scorer = compile_schema(schema)
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda _: len(scorer.score(deep(40), deep(40)).leaves), range(32)))
    assert counts == [40] * 32


def deep(levels, end=None):
    value = end
    for _ in range(levels):
        value = {"next": value, "v": "x"}
    return value


@pytest.mark.parametrize("end", [None, "other"], ids=["equal", "unequal"])
def test_nesting_of_ten_thousand_levels_is_scored(end):
    schema = {"$ref": "#/$defs/n", "$defs": {"n": obj(v=TEXT, next={"$ref": "#/$defs/n"})}}
    score = compile_schema(schema).score(deep(10_000), deep(10_000, end), gates={"schema": False})
    assert score.leaves[-1].metric == "structure" or score.leaves[-1].status is Status.MATCH
    assert {result.status for result in score.leaves} == (
        {Status.MATCH} if end is None else {Status.MATCH, Status.MISMATCH}
    )


@pytest.mark.slow
@pytest.mark.parametrize("align", ["hungarian", "multiset", "position"])
def test_lists_of_lists_of_ten_thousand_levels_are_scored(align):
    gold, extracted = [1], [2]
    for _ in range(10_000):
        gold, extracted = [gold], [extracted, 0]
    schema = {"type": "array", "items": {"$ref": "#"}}
    scorer = compile_schema(schema, overrides={"$": {"align": align}})
    assert scorer.score(gold, extracted, gates={"schema": False}).leaves


def test_nested_alignments_do_not_multiply():
    gold, extracted = ["a"], ["b"]
    for level in range(60):
        gold, extracted = [gold, str(level)], [str(-level - 1), extracted]
    schema = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}}
    assert compile_schema(schema).score(gold, extracted, gates={"schema": False}).leaves


def test_a_difference_deep_inside_is_not_looked_for_twice_a_level():
    gold, extracted, items = 1, True, {"type": "integer"}
    for _ in range(60):
        gold, extracted, items = [gold], [extracted], {"type": "array", "items": items}
    for schema in (items, {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}}):
        score = compile_schema(schema).score(gold, extracted, gates={"schema": False})
        assert {str(leaf.status) for leaf in score.leaves} == {"omission", "hallucination"}


def test_a_document_is_not_changed_by_scoring():
    gold, extracted = {"rows": [{"a": "1"}]}, {"rows": [{"a": "2"}, {"a": "1"}]}
    kept = repr((gold, extracted))
    compile_schema(obj(rows=array(obj(a=TEXT)))).score(gold, extracted)
    assert repr((gold, extracted)) == kept


def test_missing_output_omits_everything():
    score = compile_schema(obj(a=TEXT, b=array(TEXT))).score({"a": "x", "b": ["y"]}, MISSING)
    assert [str(result.status) for result in score.leaves] == ["omission", "omission"]


WRAPPED = {"type": "array", "evaluation_config": "array_llm", "items": {"type": ["boolean", "array"], "$ref": "#"}}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("judge_mode", ["llm", "fuzzy", "exact"])
@pytest.mark.parametrize(
    ("gold", "extracted", "passed"),
    [
        ([True, True], [True, True], True),
        ([[[True]], True], [[[True]], True], True),
        ([], [], True),
        ([True], [[[[True]]]], None),
        ([True] * 20, [False] * 20, None),
    ],
)
def test_rows_that_may_be_lists_of_themselves_end(judge_mode, gold, extracted, passed):
    scorer = compile_schema(WRAPPED, semantics="extract-bench", judge_mode=judge_mode)
    score = scorer.score(gold, extracted, gates={"schema": False})
    assert passed is None or [field.passed for field in score.fields] == [passed]
    assert {str(leaf.status) for leaf in score.leaves} <= (
        {"match"} if passed else {"match", "mismatch", "judge_error"} | {"omission", "hallucination"}
    )


@pytest.mark.parametrize("schema", [array(TEXT), obj(a=array(TEXT))])
def test_an_empty_list_equals_itself_also_as_a_value(schema):
    gold = [] if schema["type"] == "array" else {"a": []}
    ((_, status, score, passed),) = fields(schema, gold, gold, semantics="extract-bench", nulls="value")
    assert (status, score, passed) == ("match", 1.0, True)
    wrong = ["x"] if schema["type"] == "array" else {"a": ["x"]}
    for one, other in ((gold, wrong), (wrong, gold)):
        ((_, _, score, passed),) = fields(schema, one, other, semantics="extract-bench", nulls="value")
        assert (score, passed) == (0.0, False)


@pytest.mark.parametrize("union", [True, False])
@pytest.mark.parametrize("metric", ["string_case_insensitive", "string_exact"])
@pytest.mark.parametrize("align", ["best_fit", "position", "multiset"])
def test_an_empty_list_that_is_aligned_without_array_llm_equals_itself(union, metric, align):
    node = {"items": {}, "evaluation_config": {"align": align}}
    schema = {"properties": {"b": {"anyOf": [node]} if union else node}}
    scorer = compile_schema(schema, overrides={"b": {"metric": metric}}, judge_mode="exact")
    assert all(field.passed for field in scorer.score({"b": []}, {"b": []}).fields)
    invented = scorer.score({"b": []}, {"b": ["x"]}).fields
    assert invented
    assert not any(field.passed for field in invented)


def test_array_llm_of_a_value_that_need_not_be_a_list_recalls_nothing_as_published():
    schema = {"properties": {"b": {"evaluation_config": "array_llm"}}}
    ((_, status, score, _),) = fields(schema, {"b": []}, {"b": []})
    assert (status, score) == ("mismatch", 0.0)
    ((_, status, score, _),) = fields(schema, {"b": []}, {"b": []}, nulls="value")
    assert (status, score) == ("match", 1.0)
