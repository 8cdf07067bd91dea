"""What a project adds by name: metrics, transforms, aligners, batch metrics, post-processors."""

from __future__ import annotations

import pytest

from pytest_extract.core.extensions import AlignerSpec, BatchMetric, Extensions, PostSpec
from pytest_extract.core.metrics.base import BoundMetric, MetricSpec, Param, TransformSpec
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import SchemaError


def obj(**properties):
    return {"type": "object", "properties": properties}


def named(name):
    return {"type": "string", "x-eval-compare": name}


def metric(name, compare, params=()):
    return MetricSpec(
        name=name, make=lambda given, semantics: BoundMetric(name=name, compare=compare), doc="", params=params
    )


def statuses(schema, gold, extracted, extensions, **how):
    score = compile_schema(schema, extensions=extensions, **how).score(gold, extracted)
    return [(str(r.path), str(r.status), r.score) for r in score.leaves]


def test_a_metric_and_its_parameters():
    def check(value):
        return None if value in (0, 1) else "must be 0 or 1"

    extensions = Extensions(metrics={"half": metric("half", lambda g, e: 0.5, (Param(name="n", check=check, doc=""),))})
    assert statuses(obj(a=named("half")), {"a": "x"}, {"a": "y"}, extensions) == [("a", "mismatch", 0.5)]
    with pytest.raises(SchemaError, match="must be 0 or 1"):
        compile_schema(obj(a=named({"half": {"n": 3}})), extensions=extensions)


@pytest.mark.parametrize(
    "compare", [lambda g, e: 1 / 0, lambda g, e: 7.0, lambda g, e: float("nan")], ids=["raises", "7", "nan"]
)
def test_a_metric_that_breaks_is_broken_not_wrong(compare):
    extensions = Extensions(metrics={"odd": metric("odd", compare)})
    assert statuses(obj(a=named("odd")), {"a": "x"}, {"a": "y"}, extensions) == [("a", "judge_error", 0.0)]


def test_a_transform():
    extensions = Extensions(
        transforms={"first": TransformSpec(name="first", make=lambda params: lambda v: v[:1], doc="")}
    )
    schema = obj(a={**named("exact"), "x-eval-transform": ["first"]})
    assert statuses(schema, {"a": "xy"}, {"a": "xz"}, extensions) == [("a", "match", 1.0)]


def last_first(gold, extracted, params):
    return [(i, len(extracted) - 1 - i) for i in range(min(len(gold), len(extracted), params.get("most") or 9))]


def test_an_aligner():
    extensions = Extensions(aligners={"mirror": AlignerSpec(name="mirror", align=last_first)})
    schema = obj(a={"type": "array", "items": named("exact"), "x-eval-align": {"match_by": "mirror"}})
    assert statuses(schema, {"a": ["x", "y"]}, {"a": ["y", "x"]}, extensions) == [
        ("a[0]", "match", 1.0),
        ("a[1]", "match", 1.0),
    ]


@pytest.mark.parametrize("semantics", ["default", "extract-bench", "struct-extract-eval"])
@pytest.mark.parametrize("pairs", [[(0, 0), (0, 1)], [(5, 0)], "nonsense"], ids=["twice", "beyond", "nonsense"])
def test_an_aligner_that_breaks_breaks_the_array(pairs, semantics):
    extensions = Extensions(aligners={"odd": AlignerSpec(name="odd", align=lambda gold, extracted, params: pairs)})
    schema = obj(a={"type": "array", "items": named("exact"), "x-eval-align": {"match_by": "odd"}})
    score = compile_schema(schema, semantics=semantics, extensions=extensions).score({"a": ["x", "y"]}, {"a": ["y"]})
    for results in (score.leaves, score.fields):
        assert [(str(r.path), str(r.status), r.score) for r in results] == [("a", "judge_error", 0.0)]


def whole_name(pairs):
    return [
        1.0 if f"{g['first']} {g['last']}" == f"{e['first']} {e['last']}".replace("  ", " ") else 0.0 for g, e in pairs
    ]


NAME = BatchMetric(name="name", compare=whole_name, fields=("first", "last"), primary="last")
PERSON = obj(first=named("name"), last=named("name"))


@pytest.mark.parametrize(
    ("gold", "extracted", "expected"),
    [
        ({"first": "A", "last": "B"}, {"first": "A", "last": "B"}, [("first", "skipped", 0.0), ("last", "match", 1.0)]),
        (
            {"first": "A", "last": "B"},
            {"first": "A", "last": "C"},
            [("first", "skipped", 0.0), ("last", "mismatch", 0.0)],
        ),
        ({"first": "A", "last": "B"}, {"first": "A"}, [("first", "mismatch", 0.0), ("last", "omission", 0.0)]),
    ],
    ids=["same", "differs", "member-missing"],
)
def test_siblings_compared_together(gold, extracted, expected):
    assert statuses(PERSON, gold, extracted, Extensions(batches={"name": NAME})) == expected


def test_siblings_inside_aligned_rows():
    schema = obj(rows={"type": "array", "items": PERSON, "x-eval-align": {"match_by": "hungarian"}})
    gold = {"rows": [{"first": "A", "last": "B"}, {"first": "C", "last": "D"}]}
    found = statuses(schema, gold, {"rows": gold["rows"][::-1]}, Extensions(batches={"name": NAME}))
    assert [(path, status) for path, status, _ in found if status != "skipped"] == [
        ("rows[0].last", "match"),
        ("rows[1].last", "match"),
    ]


def test_a_batch_over_the_whole_document_is_called_once():
    calls = []

    def compare(pairs):
        calls.append(list(pairs))
        return [1.0 if gold == extracted else None for gold, extracted in pairs]

    extensions = Extensions(batches={"bulk": BatchMetric(name="bulk", compare=compare)})
    schema = obj(a=named("bulk"), b=named("bulk"), c=named("exact"))
    values = {"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "x", "c": "3"}
    assert statuses(schema, *values, extensions) == [
        ("a", "match", 1.0),
        ("b", "judge_error", 0.0),
        ("c", "match", 1.0),
    ]
    assert calls == [[("1", "1"), ("2", "x")]]
    spread = statuses(schema, *values, extensions, post_process="propagate_batch_errors")
    assert [status for _, status, _ in spread] == ["judge_error", "judge_error", "match"]


@pytest.mark.parametrize(
    "compare", [lambda pairs: 1 / 0, lambda pairs: [], lambda pairs: ["x"]], ids=["raises", "short", "odd"]
)
def test_a_batch_that_breaks_is_broken_not_wrong(compare):
    extensions = Extensions(batches={"bulk": BatchMetric(name="bulk", compare=compare)})
    assert statuses(obj(a=named("bulk")), {"a": "1"}, {"a": "2"}, extensions) == [("a", "judge_error", 0.0)]


NULLS = {
    "both": ({"a": None}, {"a": None}, {}, "skipped"),
    "both-kept": ({"a": None}, {"a": None}, {"both_absent_skip": False}, "match"),
    "gold-only": ({"a": None}, {"a": "x"}, {}, "hallucination"),
    "extracted-only": ({"a": "x"}, {"a": None}, {}, "omission"),
    "blank": ({"a": "x"}, {"a": " "}, {"absent_values": [None, ""]}, "omission"),
    "not-blank": ({"a": "x"}, {"a": ""}, {}, "mismatch"),
}


@pytest.mark.parametrize(("gold", "extracted", "params", "status"), NULLS.values(), ids=NULLS)
def test_reclassify_nulls(gold, extracted, params, status):
    schema = obj(a={**named("exact"), "x-eval-transform": ["strip"]})
    found = statuses(schema, gold, extracted, Extensions(), post_process={"name": "reclassify_nulls", **params})
    assert [found_status for _, found_status, _ in found] == [status]


def test_a_wrong_container_stays_wrong_whatever_null_means():
    schema = obj(o=obj(a=named("exact")))
    assert statuses(schema, {"o": {"a": "x"}}, {"o": "text"}, Extensions(), post_process="reclassify_nulls") == [
        ("o", "mismatch", 0.0)
    ]


LIST = {"type": "array", "items": named("exact")}
LEAF_LIST = {"type": "array", "x-eval-compare": "exact"}
LEFT_ALONE = {
    "omission-of-null": (named("exact"), {"v": None}, {}, {}, [("v", "omission")]),
    "hallucination-of-null": (named("exact"), {}, {"v": None}, {}, [("v", "hallucination")]),
    "skipped": ({**named("exact"), "x-eval-skip": True}, {"v": None}, {"v": "x"}, {}, [("v", "skipped")]),
    "empty-lists": (LIST, {"v": []}, {"v": []}, {"absent_values": [None, []]}, [("v", "skipped")]),
    "empty-leaf-lists": (LEAF_LIST, {"v": []}, {"v": []}, {"absent_values": [[]]}, [("v", "skipped")]),
    "other-type": (named("exact"), {"v": 0}, {"v": "x"}, {"absent_values": [False]}, [("v", "mismatch")]),
}


@pytest.mark.parametrize(("schema", "gold", "extracted", "params", "expected"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_reclassify_nulls_leaves_alone(schema, gold, extracted, params, expected):
    found = statuses(obj(v=schema), gold, extracted, Extensions(), post_process={"name": "reclassify_nulls", **params})
    assert [(path, status) for path, status, _ in found] == expected


def test_rows_are_paired_before_nulls_are_told_apart():
    schema = obj(v={"type": "array", "items": obj(a=named("exact")), "x-eval-align": {"match_by": "hungarian"}})
    rows = [{"a": None}, {"a": "x"}], [{"a": "x"}, {"a": None}]
    found = statuses(schema, {"v": rows[0]}, {"v": rows[1]}, Extensions(), post_process="reclassify_nulls")
    assert sorted(found) == [("v[0].a", "skipped", 0.0), ("v[1].a", "match", 1.0)]


def test_error_propagation_spares_what_is_on_one_side_and_other_metrics():
    extensions = Extensions(batches={"bulk": BatchMetric(name="bulk", compare=lambda pairs: [None, 1.0])})
    schema = obj(a=named("bulk"), b=named("bulk"), c=named("bulk"), d=named("exact"))
    gold, extracted = {"a": "1", "b": "2", "c": "3", "d": "4"}, {"a": "1", "b": "2", "d": "4"}
    found = statuses(schema, gold, extracted, extensions, post_process=["propagate_batch_errors"])
    assert [status for _, status, _ in sorted(found)] == ["judge_error", "judge_error", "omission", "match"]


def test_a_post_processor_of_ones_own():
    def forgive(results, params, transformed):
        return [result._replace(status="skipped") if str(result.path) == "a" else result for result in results]

    extensions = Extensions(post_processors={"forgive": PostSpec(name="forgive", process=forgive)})
    found = statuses(obj(a=named("exact")), {"a": "1"}, {"a": "2"}, extensions, post_process=["forgive"])
    assert found == [("a", "skipped", 0.0)]
    with pytest.raises(SchemaError, match="did you mean 'forgive'"):
        compile_schema(obj(a=named("exact")), extensions=extensions, post_process="forgiv")
