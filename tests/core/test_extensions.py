"""What a project adds by name: metrics, transforms, aligners, batch metrics, post-processors, measures."""

from __future__ import annotations

import pytest

from pytest_extract import extend
from pytest_extract.core.extensions import AlignerSpec, BatchMetric, Extensions, PostSpec
from pytest_extract.core.metrics.base import BoundMetric, MetricSpec, Param, TransformSpec
from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import ConfigError, SchemaError
from tests.core.schemas import EXACT, TEXT, array, obj, scored, told


def named(name):
    return {**TEXT, "x-eval-compare": name}


def aligned(items, by):
    return obj(a=array(items, **{"x-eval-align": {"match_by": by}}))


def leaves(schema, gold, extracted, *functions, post_process=None, **named_specs):
    """Tell the leaf results under the dialect's own semantics; `functions`: decorated ones."""
    extensions = Extensions.of(*functions) if functions else Extensions(**named_specs)
    how = {"semantics": None, "extensions": extensions, "post_process": post_process}
    return told(scored(schema, gold, extracted, how=how).leaves)


def of_metric(compare, *params):
    bound = BoundMetric(name="own", compare=compare)
    return {"metrics": {"own": MetricSpec(name="own", make=lambda given, semantics: bound, doc="", params=params)}}


def test_a_metric_and_its_parameters():
    def check(value):
        return None if value in (0, 1) else "must be 0 or 1"

    half = of_metric(lambda gold, extracted: 0.5, Param(name="n", check=check, doc=""))
    assert leaves(obj(a=named("own")), {"a": "x"}, {"a": "y"}, **half) == "a mismatch 0.5"
    with pytest.raises(SchemaError, match="must be 0 or 1"):
        compile_schema(obj(a=named({"own": {"n": 3}})), extensions=Extensions(**half))


def of_batch(compare, **more):
    return {"batches": {"own": BatchMetric(name="own", compare=compare, **more)}}


BROKEN = {
    "raises": of_metric(lambda gold, extracted: 1 / 0),
    "7": of_metric(lambda gold, extracted: 7.0),
    "nan": of_metric(lambda gold, extracted: float("nan")),
    "batch raises": of_batch(lambda pairs: 1 / 0),
    "too few": of_batch(lambda pairs: []),
    "no number": of_batch(lambda pairs: ["x"]),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_metric_that_breaks_is_broken_not_wrong(broken):
    assert leaves(obj(a=named("own")), {"a": "x"}, {"a": "y"}, **broken) == "a judge_error"


def test_a_transform():
    first = TransformSpec(name="first", make=lambda params: lambda value: value[:1], doc="")
    schema = obj(a={**EXACT, "x-eval-transform": ["first"]})
    assert leaves(schema, {"a": "xy"}, {"a": "xz"}, transforms={"first": first}) == "a match"


def of_aligner(align):
    return {"aligners": {"own": AlignerSpec(name="own", align=align)}}


def test_an_aligner():
    mirror = of_aligner(lambda gold, extracted, params: [(i, len(extracted) - 1 - i) for i in range(len(gold))])
    found = leaves(aligned(EXACT, "own"), {"a": ["x", "y"]}, {"a": ["y", "x"]}, **mirror)
    assert found == "a[0] match, a[1] match"


@pytest.mark.parametrize("semantics", ["default", "extract-bench", "struct-extract-eval"])
@pytest.mark.parametrize("pairs", [[(0, 0), (0, 1)], [(5, 0)], "nonsense"], ids=["twice", "beyond", "nonsense"])
def test_an_aligner_that_breaks_breaks_the_array(pairs, semantics):
    how = {"semantics": semantics, "extensions": Extensions(**of_aligner(lambda gold, extracted, params: pairs))}
    score = scored(aligned(EXACT, "own"), {"a": ["x", "y"]}, {"a": ["y"]}, how=how)
    assert told(score.leaves) == told(score.fields) == "a judge_error"


# --- fields compared together


def whole_name(pairs):
    return [float(f"{g['first']} {g['last']}" == f"{e['first']} {e['last']}") for g, e in pairs]


NAMES = of_batch(whole_name, fields=("first", "last"), primary="last")
PERSON = obj(first=named("own"), last=named("own"))
AB = {"first": "A", "last": "B"}


@pytest.mark.parametrize(
    ("gold", "extracted", "expected"),
    [
        (AB, AB, "first skipped, last match"),
        (AB, {"first": "A", "last": "C"}, "first skipped, last mismatch"),
        (AB, {"first": "A"}, "first mismatch, last missing"),
    ],
)
def test_siblings_compared_together(gold, extracted, expected):
    assert leaves(PERSON, gold, extracted, **NAMES) == expected


def test_siblings_inside_aligned_rows_are_compared_together():
    rows = [AB, {"first": "C", "last": "D"}]
    found = leaves(aligned(PERSON, "hungarian"), {"a": rows}, {"a": rows[::-1]}, **NAMES)
    assert found == "a[0].first skipped, a[0].last match, a[1].first skipped, a[1].last match"


def test_a_group_of_fields_around_another_waits_for_itself_alone():
    @extend.compound("first", "last")
    def person(gold, extracted):
        return float(gold == extracted)

    part = named("person")
    schema = obj(first=part, last=part, kid=obj(first=part, last=part))
    gold = {**AB, "kid": {"first": "C", "last": "D"}}
    found = leaves(schema, gold, {**gold, "kid": {"first": "C", "last": "E"}}, person)
    assert sorted(found.split(", ")) == ["first match", "kid.first mismatch", "kid.last skipped", "last skipped"]


def test_a_batch_over_the_whole_document_is_called_once():
    calls = []

    def compare(pairs):
        calls.append(list(pairs))
        return [1.0 if gold == extracted else None for gold, extracted in pairs]

    schema = obj(a=named("own"), b=named("own"), c=EXACT, d=named("own"))
    values = {"a": "1", "b": "2", "c": "3", "d": "4"}, {"a": "1", "b": "x", "c": "3"}
    found = leaves(schema, *values, **of_batch(compare))
    assert found == "a match, b judge_error, c match, d missing"
    assert calls == [[("1", "1"), ("2", "x")]]
    spread = leaves(schema, *values, post_process="propagate_batch_errors", **of_batch(compare))
    assert spread == "a judge_error, b judge_error, c match, d missing"  # not to one side, nor to other metrics


def test_a_batch_that_gives_no_score_says_what_it_gave():
    @extend.batch()
    def some(pairs):
        return [2.0 for _ in pairs]

    how = {"extensions": Extensions.of(some)}
    (leaf,) = scored(obj(a=named("some")), {"a": "x"}, {"a": "x"}, how=how).leaves
    assert "it gave 2.0, not a score from 0 to 1" in leaf.reason


# --- post-processors

LIST, AS_ONE = array(EXACT), {"type": "array", "x-eval-compare": "exact"}
STRIPPED = {**EXACT, "x-eval-transform": ["strip"]}
NULLS = {
    "both": (STRIPPED, {"v": None}, {"v": None}, {}, "v skipped"),
    "both kept": (STRIPPED, {"v": None}, {"v": None}, {"both_absent_skip": False}, "v match"),
    "gold only": (STRIPPED, {"v": None}, {"v": "x"}, {}, "v invented"),
    "extracted only": (STRIPPED, {"v": "x"}, {"v": None}, {}, "v missing"),
    "blank": (STRIPPED, {"v": "x"}, {"v": " "}, {"absent_values": [None, ""]}, "v missing"),
    "not blank": (STRIPPED, {"v": "x"}, {"v": ""}, {}, "v mismatch"),
    "a wrong container": (obj(a=EXACT), {"v": {"a": "x"}}, {"v": "text"}, {}, "v mismatch"),
    "omission of null": (EXACT, {"v": None}, {}, {}, "v missing"),
    "hallucination of null": (EXACT, {}, {"v": None}, {}, "v invented"),
    "skipped": ({**EXACT, "x-eval-skip": True}, {"v": None}, {"v": "x"}, {}, "v skipped"),
    "empty lists": (LIST, {"v": []}, {"v": []}, {"absent_values": [None, []]}, "v skipped"),
    "empty lists as one": (AS_ONE, {"v": []}, {"v": []}, {"absent_values": [[]]}, "v skipped"),
    "another type": (EXACT, {"v": 0}, {"v": "x"}, {"absent_values": [False]}, "v mismatch"),
}


@pytest.mark.parametrize(("schema", "gold", "extracted", "params", "expected"), NULLS.values(), ids=NULLS)
def test_reclassify_nulls(schema, gold, extracted, params, expected):
    assert leaves(obj(v=schema), gold, extracted, post_process={"name": "reclassify_nulls", **params}) == expected


def test_rows_are_paired_before_nulls_are_told_apart():
    gold, extracted = {"a": [{"a": None}, {"a": "x"}]}, {"a": [{"a": "x"}, {"a": None}]}
    found = leaves(aligned(obj(a=EXACT), "hungarian"), gold, extracted, post_process="reclassify_nulls")
    assert sorted(found.split(", ")) == ["a[0].a skipped", "a[1].a match"]


@pytest.mark.parametrize(("gold", "extracted"), [(None, "n/a"), ("n/a", None), ("n/a", "n/a"), (None, None)])
def test_what_stands_for_nothing_equals_null_under_all_semantics(gold, extracted):
    post = {"name": "reclassify_nulls", "absent_values": [None, "n/a"]}
    schema = obj(note={"type": ["string", "null"]}, n=TEXT)
    score = scored(schema, {"note": gold, "n": "1"}, {"note": extracted, "n": "1"}, how={"post_process": post})
    assert score.measures["f1"] == 1.0
    assert not [leaf for leaf in score.leaves if leaf.status in (Status.OMISSION, Status.HALLUCINATION)]


def test_a_post_processor_of_ones_own():
    def forgive(results, params, transformed):
        return [result._replace(status=Status.SKIPPED) for result in results if str(result.path) == "a"]

    own = {"post_processors": {"forgive": PostSpec(name="forgive", process=forgive)}}
    assert leaves(obj(a=EXACT), {"a": "1"}, {"a": "2"}, post_process=["forgive"], **own) == "a skipped"
    with pytest.raises(SchemaError, match="did you mean 'forgive'"):
        compile_schema(obj(a=EXACT), extensions=Extensions(**own), post_process="forgiv")


# --- the project's functions


def test_no_function_of_a_project_changes_a_gold():
    @extend.aligner()
    def sorting(gold, extracted):
        gold.sort()
        extracted.clear()
        return [(0, 0)]

    @extend.measure()
    def popping(gold, extracted):
        gold.pop("tags")
        return 1.0

    how = {"overrides": {"tags": {"align": "sorting"}}, "extensions": Extensions.of(sorting, popping)}
    gold, extracted = {"tags": ["b", "a"]}, {"tags": ["b", "a"]}
    one, other = (scored(obj(tags=array(TEXT)), gold, extracted, how=how) for _ in range(2))
    assert gold == extracted == {"tags": ["b", "a"]}
    assert one.measures == other.measures


def test_a_function_has_one_decorator():
    with pytest.raises(ConfigError, match="decorated already"):

        @extend.metric()
        @extend.measure()
        def both(gold, extracted):
            return 1.0
