"""Values, confidence and citations taken out of the outputs of services and of own wrappers."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract import ConfigError, FieldPath, compile_schema, score, score_text
from pytest_extract.core.output_shape import (
    SHAPES,
    OutputShape,
    ReportedMetadata,
    read_box,
    read_citation,
    undeclared_shape,
    unwrap,
)
from pytest_extract.core.result_json import dump_json, from_json, to_json
from pytest_extract.core.results import Citation, FieldMetadata, ScoreRecord
from tests.service_answers import ANSWERS, BARE, BOX, SCHEMA

GOLD = {**BARE, "total": 145.06}
NUMBER, AMOUNT = FieldPath(("invoice_number",)), FieldPath(("items", 1, "amount"))


@pytest.mark.parametrize("name", SHAPES)
def test_every_ready_shape_has_an_answer_that_is_scored_as_its_bare_values(name):
    wrapped = score_text(SCHEMA, GOLD, json.dumps(ANSWERS[name]), confidence=name)
    bare = score(SCHEMA, GOLD, BARE)
    assert wrapped.measures == bare.measures
    assert [leaf._replace(confidence=None, citations=()) for leaf in wrapped.leaves] == [*bare.leaves]
    assert wrapped.gates == bare.gates
    assert wrapped.notes == ()
    assert score(SCHEMA, GOLD, ANSWERS[name], confidence=name).measures == bare.measures


@pytest.mark.parametrize("name", SHAPES)
def test_confidence_and_citations_stand_beside_the_values(name):
    found = {str(leaf.path): leaf for leaf in score(SCHEMA, GOLD, ANSWERS[name], confidence=name).leaves}
    assert (found["invoice_number"].confidence, found["items[1].amount"].confidence) == (0.95, 0.6)
    assert found["total"].confidence == 0.9, "also of a wrong value"
    (cited,) = found["invoice_number"].citations
    assert (cited.page, cited.quote) == (1, "Invoice # US-001")
    size = (612, 792) if cited.unit == "point" else (1, 1)
    box = [side / size[number % 2] for number, side in enumerate(cited.box)]
    assert box == pytest.approx([0.5, 0.2, 0.75, 0.25])


@pytest.mark.parametrize("name", SHAPES)
def test_the_answer_is_not_changed(name):
    answer = copy.deepcopy(ANSWERS[name])
    unwrap(answer, SHAPES[name])
    assert answer == ANSWERS[name]


@pytest.mark.parametrize("name", SHAPES)
def test_an_undeclared_shape_is_recognized(name):
    assert undeclared_shape(ANSWERS[name], GOLD) == name


@pytest.mark.parametrize("name", SHAPES)
def test_a_gold_of_the_same_shape_needs_no_declaration(name):
    assert undeclared_shape(ANSWERS[name], ANSWERS[name]) is None


@pytest.mark.parametrize("output", [BARE, {}, [], "text", None, 3, {"value": 1}, {"data": {}}, {"answer": [1]}])
def test_bare_values_have_no_shape(output):
    assert undeclared_shape(output, GOLD) is None


# --- own declarations


def test_own_keys_of_a_wrapper():
    output = {"total": {"v": 3, "p": {"score": 80}, "why": "read it"}, "unit": {"v": 3, "kg": True}}
    shape = {"wrapper": {"value": "v", "confidence": "p.score"}, "scale": 100}
    assert unwrap(output, OutputShape.from_json(shape)).value == {"total": 3, "unit": {"v": 3, "kg": True}}
    (leaf,) = score({"type": "object", "properties": {"total": {"type": "number"}}}, {"total": 3},
                    {"total": output["total"]}, confidence=shape).leaves  # fmt: skip
    assert (leaf.passed, leaf.confidence) == (True, 0.8)


BESIDE = {"values": "answer", "confidence": "confidence_score.{path}.score", "citations": "reference.{path}"}


def test_a_service_whose_shape_is_declared():
    wrapped = score(SCHEMA, GOLD, BOX, confidence=BESIDE)
    assert wrapped.measures == score(SCHEMA, GOLD, BARE).measures
    found = {str(leaf.path): leaf for leaf in wrapped.leaves}
    assert (found["items[1].amount"].confidence, found["total"].confidence) == (0.6, 0.9)
    (cited,) = found["invoice_number"].citations
    assert cited == Citation(page=1, quote="Invoice # US-001", box=(0.5, 0.2, 0.75, 0.25))


@pytest.mark.parametrize("unit", ["point", "inch"])
def test_boxes_of_a_page_without_a_size_are_in_points(unit):
    found = read_citation({"page": 1, "box": [1, 2, 4, 6]}, unit=unit)
    times = 72 if unit == "inch" else 1
    assert (found.box, found.unit) == ((1 * times, 2 * times, 4 * times, 6 * times), "point")


def test_a_parallel_object_and_a_path_as_a_key():
    values = {"rows": [{"a": 1}, {"a": 2}], "odd key": 5}
    nested = {"rows": [{"a": 0.1}, {"a": 0.2}], "odd key": 0.3}
    parallel = unwrap(
        {"data": values, "conf": nested}, OutputShape.from_json({"values": "data", "confidence": "conf.{path}"})
    )
    keyed = {"rows[0].a": {"c": 0.1}, "rows[1].a": {"c": 0.2}, '["odd key"]': {"c": 0.3}}
    by_text = unwrap(
        {"data": values, "conf": keyed}, OutputShape.from_json({"values": "data", "confidence": 'conf["{path}"].c'})
    )
    expected = {
        FieldPath(("rows", 0, "a")): FieldMetadata(0.1),
        FieldPath(("rows", 1, "a")): FieldMetadata(0.2),
        FieldPath(("odd key",)): FieldMetadata(0.3),
    }
    assert parallel.metadata == by_text.metadata == expected
    assert parallel.value == by_text.value == values


def test_a_field_named_confidence_is_a_value_like_any_other():
    output = {"vendor": {"confidence": 7, "name": "x"}}
    beside = {"data": output, "meta": {"vendor": {"confidence": {"confidence": 0.5}, "name": {"confidence": 0.25}}}}
    found = unwrap(beside, OutputShape.from_json({"values": "data", "confidence": "meta.{path}.confidence"}))
    assert found.metadata == {
        FieldPath(("vendor", "confidence")): FieldMetadata(0.5),
        FieldPath(("vendor", "name")): FieldMetadata(0.25),
    }
    assert found.notes == ()


def test_what_is_reported_for_a_row_counts_for_its_values():
    shape = {"values": "data", "confidence": 'meta["{path}"]'}
    output = {"data": BARE, "meta": {"items[1]": 0.4, "items[1].amount": 0.3, "$": 0.7}}
    found = {str(leaf.path): leaf.confidence for leaf in score(SCHEMA, BARE, output, confidence=shape).leaves}
    assert found["items[1].name"] == 0.4
    assert found["items[1].amount"] == 0.3
    assert found["total"] == found["items[0].name"] == 0.7


def test_a_row_that_alignment_pairs_with_another_keeps_its_own_confidence():
    swapped = {**ANSWERS["wrapper"], "items": ANSWERS["wrapper"]["items"][::-1]}
    found = {str(leaf.path): leaf for leaf in score(SCHEMA, BARE, swapped, confidence="wrapper").leaves}
    assert found["items[1].amount"].passed
    assert found["items[1].amount"].confidence == 0.6
    assert str(found["items[1].amount"].matched) == "items[0].amount"


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("reducdo", "must be the name of a shape .* not 'reducdo'; did you mean 'reducto'?"),
        (3, "must be the name of a shape"),
        ({}, "needs either `wrapper`"),
        ({"wrapper": {}, "confidence": "a.{path}"}, "needs either `wrapper`"),
        ({"wrapper": {"values": "v"}}, "wrapper has no key 'values'"),
        ({"wrapper": "value"}, "wrapper must be a mapping"),
        ({"confidence": "meta.score"}, r"'meta.score' needs \{path\}"),
        ({"confidence": "a..{path}"}, "is not a path"),
        ({"confidence": []}, "confidence must be a path"),
        ({"wrapper": {}, "scale": [1]}, "scale must be"),
        ({"wrapper": {}, "scale": [5, 1]}, "scale must be"),
        ({"wrapper": {}, "unit": "px"}, "unit must be page or point or inch"),
        ({"wrapper": {}, "first_page": 2}, "first_page must be 0 or 1"),
        ({"wrapper": {}, "value": "data"}, "has no key 'value'"),
    ],
)
def test_a_declaration_that_is_none_is_refused(declared, message):
    with pytest.raises(ConfigError, match=message):
        score(SCHEMA, BARE, BARE, confidence=declared)


# --- what cannot be read


def test_the_scale_of_the_output_is_not_that_of_what_the_extractor_reports():
    shape = OutputShape.from_json({"wrapper": {"value": "v", "confidence": "c"}, "scale": 100, "first_page": 0})
    reported = ReportedMetadata({"b": 0.5}, {"b": [{"page": 1}]})
    found = unwrap({"a": {"v": 1, "c": 90}, "b": 2}, shape, reported)
    assert [found.metadata[FieldPath((name,))].confidence for name in "ab"] == [0.9, 0.5]
    assert found.metadata[FieldPath(("b",))].citations == (Citation(page=1),)


def test_what_is_no_confidence_is_noted_and_the_value_still_scored():
    output = {
        "a": {"value": 1, "confidence": "high"},
        "b": {"value": 2, "confidence": 1.5},
        "c": {"value": 3, "confidence": "0.5"},
    }
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in "abc"}}
    found = score(schema, {"a": 1, "b": 2, "c": 3}, output, confidence="wrapper")
    assert found.measures["pass_rate"] == 1.0
    assert [leaf.confidence for leaf in found.leaves] == [None, None, 0.5]
    assert found.notes == (
        "`confidence`: 2 cannot be read: a: 'high' is no number from 0 to 1; b: 1.5 is no number from 0 to 1",
    )


def test_an_output_without_the_declared_places_is_scored_as_it_is():
    found = score(SCHEMA, BARE, BARE, confidence=BESIDE)
    assert found.measures["pass_rate"] == 1.0
    assert found.notes == ("`confidence`: the output has no object and no array at `answer`; scored as it is",)
    bare = score(SCHEMA, BARE, BARE, confidence="wrapper")
    assert "no confidence and no citation stands where" in bare.notes[0]


def test_a_text_without_json_fails_as_ever():
    assert score_text(SCHEMA, BARE, "no idea", confidence="reducto").failure.kind == "no_json"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["value", "confidence", "citations", "type", "spans", "result", "answer", "page", "box", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON, st.sampled_from(sorted(SHAPES)), JSON, JSON)
def test_no_output_breaks_the_reading(output, name, confidence, citations):
    found = unwrap(output, SHAPES[name], ReportedMetadata(confidence, citations))
    undeclared_shape(output, citations)
    for each in found.metadata.values():
        assert each.confidence is None or 0 <= each.confidence <= 1


def test_a_deep_output_is_scored_as_it_is():
    deep = {"value": 1, "confidence": 1}
    for _ in range(100_000):
        deep = {"value": deep, "confidence": 1}
    assert unwrap(deep, SHAPES["wrapper"]).notes == ("`confidence`: the output is nested too deeply; scored as it is",)


# --- what an extractor returns beside its output


@pytest.mark.parametrize(
    "confidence",
    [
        {"total": 0.9, "items": [{"name": 0.8}, {"amount": 0.6}]},
        {"total": 0.9, "items[0].name": 0.8, "items[1].amount": 0.6},
    ],
)
def test_confidence_beside_the_output(confidence):
    found = unwrap(BARE, None, ReportedMetadata(confidence, {"total": ["TOTAL $154.06"]}))
    assert found.value is BARE
    assert found.metadata == {
        FieldPath(("total",)): FieldMetadata(0.9, (Citation(quote="TOTAL $154.06"),)),
        FieldPath(("items", 0, "name")): FieldMetadata(0.8),
        AMOUNT: FieldMetadata(0.6),
    }


def test_a_key_of_the_output_is_no_path():
    found = unwrap({"a.b": 1, "a": {"b": 2}}, None, ReportedMetadata({"a.b": 0.5}))
    assert found.metadata == {FieldPath(("a.b",)): FieldMetadata(0.5)}


def test_one_number_is_the_confidence_of_all():
    found = compile_schema(SCHEMA).score_text(BARE, BARE, reported=ReportedMetadata(0.5))
    assert {leaf.confidence for leaf in found.leaves} == {0.5}


# --- boxes and citations


@pytest.mark.parametrize(
    "box",
    [
        {"left": 1, "top": 2, "width": 3, "height": 4},
        {"left": 1, "top": 2, "right": 4, "bottom": 6},
        {"x": 1, "y": 2, "w": 3, "h": 4},
        {"x0": 1, "y0": 2, "x1": 4, "y1": 6},
        [1, 2, 4, 6],
        [1, 2, 4, 2, 4, 6, 1, 6],
        [{"x": 1, "y": 2}, {"x": 4, "y": 2}, {"x": 4, "y": 6}, {"x": 1, "y": 6}],
    ],
)
def test_boxes_in_every_usual_form(box):
    assert read_box(box) == (1, 2, 4, 6)


@pytest.mark.parametrize("box", [None, {}, [], [1, 2, 3], [1, 2, 3, "4"], {"left": 1, "top": 2}, [{"x": 1}], "1,2"])
def test_what_is_no_box(box):
    assert read_box(box) is None


@pytest.mark.parametrize(
    ("given_citation", "expected"),
    [
        ("the text", Citation(quote="the text")),
        ({"page": 2}, Citation(page=2)),
        ({"page": 0, "text": "x"}, Citation(quote="x")),
        ({"bbox": {"page": 4, "left": 0, "top": 0, "width": 1, "height": 1}}, Citation(page=4, box=(0, 0, 1, 1))),
        ({"other": 1}, None),
        ("  ", None),
        (7, None),
    ],
)
def test_citations_in_every_usual_form(given_citation, expected):
    assert read_citation(given_citation) == expected


def test_pages_that_are_counted_from_zero():
    assert read_citation({"page": 0}, first_page=0) == Citation(page=1)


# --- results


def annotated():
    return score(SCHEMA, GOLD, ANSWERS["wrapper"], confidence="wrapper").record()


def test_results_are_read_as_they_were_written():
    record = annotated()
    written = to_json(record)
    read = from_json(ScoreRecord, json.loads(dump_json(written)))
    assert read.leaves == record.leaves
    assert [leaf.citations for leaf in read.leaves] == [leaf.citations for leaf in record.leaves]
    bare = score(SCHEMA, GOLD, BARE).record().leaves
    assert read.leaves != bare
    assert bare != read.leaves


def test_a_result_keeps_its_metadata_when_it_is_changed():
    leaf = annotated().leaves[0]
    changed = leaf._replace(score=0.5)
    assert (changed.score, changed.confidence, changed.citations) == (0.5, leaf.confidence, leaf.citations)
    assert changed != leaf
    assert copy.copy(leaf) == leaf


def test_results_without_metadata_are_what_they_were():
    plain = score(SCHEMA, GOLD, BARE).leaves[0]
    assert (plain.confidence, plain.citations) == (None, ())
    assert "confidence" not in to_json(score(SCHEMA, GOLD, BARE).record())["leaves"][0]


def test_a_result_that_is_field_and_leaf_stays_one_object():
    found = score(SCHEMA, GOLD, ANSWERS["wrapper"], confidence="wrapper")
    assert found.fields[0] is found.leaves[0]
