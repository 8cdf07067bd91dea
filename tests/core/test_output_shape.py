"""Values, confidence and citations taken out of the outputs of services and of own wrappers."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract import ConfigError, FieldPath, score, score_text
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
from tests.core.schemas import INTEGER, obj
from tests.service_answers import ANSWERS, BARE, BOX, SCHEMA

GOLD = {**BARE, "total": 145.06}


def read(output, shape):
    """Return the values of an output of a declared shape, the confidence by place, and the notes."""
    found = unwrap(output, OutputShape.from_json(shape))
    return found.value, {str(path): each.confidence for path, each in found.metadata.items()}, found.notes


@pytest.mark.parametrize("name", SHAPES)
def test_every_ready_shape_is_scored_as_its_bare_values(name):
    answer, bare = copy.deepcopy(ANSWERS[name]), score(SCHEMA, GOLD, BARE)
    wrapped = score_text(SCHEMA, GOLD, json.dumps(answer), confidence=name)
    assert (wrapped.measures, wrapped.gates, wrapped.notes) == (bare.measures, bare.gates, ())
    assert [leaf._replace(confidence=None, citations=()) for leaf in wrapped.leaves] == [*bare.leaves]
    assert score(SCHEMA, GOLD, answer, confidence=name).measures == bare.measures
    assert answer == ANSWERS[name]
    assert undeclared_shape(answer, GOLD) == name
    assert undeclared_shape(answer, answer) is None  # a gold of the same shape needs no declaration


@pytest.mark.parametrize("output", [BARE, {}, [], "text", None, 3, {"value": 1}, {"data": {}}, {"answer": [1]}])
def test_bare_values_have_no_shape(output):
    assert undeclared_shape(output, GOLD) is None


BESIDE = {"values": "answer", "confidence": "confidence_score.{path}.score", "citations": "reference.{path}"}


@pytest.mark.parametrize(("shape", "answer"), [*((name, ANSWERS[name]) for name in SHAPES), (BESIDE, BOX)], ids=str)
def test_confidence_and_citations_stand_beside_the_values(shape, answer):
    wrapped = score(SCHEMA, GOLD, answer, confidence=shape)
    assert wrapped.measures == score(SCHEMA, GOLD, BARE).measures
    found = {str(leaf.path): leaf for leaf in wrapped.leaves}
    assert (found["invoice_number"].confidence, found["items[1].amount"].confidence) == (0.95, 0.6)
    assert found["total"].confidence == 0.9, "also of a wrong value"
    (cited,) = found["invoice_number"].citations
    assert (cited.page, cited.quote) == (1, "Invoice # US-001")
    size = (612, 792) if cited.unit == "point" else (1, 1)
    box = [side / size[number % 2] for number, side in enumerate(cited.box)]
    assert box == pytest.approx([0.5, 0.2, 0.75, 0.25])


# --- own declarations

META = {"vendor": {"confidence": {"confidence": 0.5}, "name": {"confidence": 0.25}}}
DECLARED = {
    "own keys of a wrapper": (
        {"total": {"v": 3, "p": {"score": 80}, "why": "read it"}, "unit": {"v": 3, "kg": True}},
        {"wrapper": {"value": "v", "confidence": "p.score"}, "scale": 100},
        ({"total": 3, "unit": {"v": 3, "kg": True}}, {"total": 0.8}),
    ),
    "a parallel object": (
        {
            "data": {"rows": [{"a": 1}, {"a": 2}], "odd key": 5},
            "conf": {"rows": [{"a": 0.1}, {"a": 0.2}], "odd key": 0.3},
        },
        {"values": "data", "confidence": "conf.{path}"},
        ({"rows": [{"a": 1}, {"a": 2}], "odd key": 5}, {"rows[0].a": 0.1, "rows[1].a": 0.2, '["odd key"]': 0.3}),
    ),
    "a path as a key": (
        {"data": {"rows": [{"a": 1}], "odd key": 5}, "conf": {"rows[0].a": {"c": 0.1}, '["odd key"]': {"c": 0.3}}},
        {"values": "data", "confidence": 'conf["{path}"].c'},
        ({"rows": [{"a": 1}], "odd key": 5}, {"rows[0].a": 0.1, '["odd key"]': 0.3}),
    ),
    "a field named confidence": (
        {"data": {"vendor": {"confidence": 7, "name": "x"}}, "meta": META},
        {"values": "data", "confidence": "meta.{path}.confidence"},
        ({"vendor": {"confidence": 7, "name": "x"}}, {"vendor.confidence": 0.5, "vendor.name": 0.25}),
    ),
    "a field named as a citation's key": (
        {"data": {"content": "abc", "total": 5}, "src": {"content": "abc q"}},
        {"values": "data", "citations": "src.{path}"},
        ({"content": "abc", "total": 5}, {"content": None}),
    ),
}


@pytest.mark.parametrize(("output", "shape", "expected"), DECLARED.values(), ids=DECLARED)
def test_what_a_declaration_takes_out(output, shape, expected):
    assert read(output, shape) == (*expected, ())


def test_what_is_reported_for_a_row_counts_for_its_values():
    shape = {"values": "data", "confidence": 'meta["{path}"]'}
    output = {"data": BARE, "meta": {"items[1]": 0.4, "items[1].amount": 0.3, "$": 0.7}}
    found = {str(leaf.path): leaf.confidence for leaf in score(SCHEMA, BARE, output, confidence=shape).leaves}
    assert (found["items[1].name"], found["items[1].amount"]) == (0.4, 0.3)
    assert found["total"] == found["items[0].name"] == 0.7


def test_a_row_that_alignment_pairs_with_another_keeps_its_own_confidence():
    swapped = {**ANSWERS["wrapper"], "items": ANSWERS["wrapper"]["items"][::-1]}
    found = {str(leaf.path): leaf for leaf in score(SCHEMA, BARE, swapped, confidence="wrapper").leaves}
    amount = found["items[1].amount"]
    assert (amount.passed, amount.confidence, str(amount.matched)) == (True, 0.6, "items[0].amount")


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
    given_confidence = {"a": "high", "b": 1.5, "c": "0.5"}
    output = {name: {"value": 1, "confidence": each} for name, each in given_confidence.items()}
    found = score(obj(a=INTEGER, b=INTEGER, c=INTEGER), dict.fromkeys("abc", 1), output, confidence="wrapper")
    assert found.measures["pass_rate"] == 1.0
    assert [leaf.confidence for leaf in found.leaves] == [None, None, 0.5]
    assert found.notes == (
        "`confidence`: 2 cannot be read: a: 'high' is no number from 0 to 1; b: 1.5 is no number from 0 to 1",
    )


def test_an_output_without_the_declared_places_is_scored_as_it_is():
    found = score(SCHEMA, BARE, BARE, confidence=BESIDE)
    assert found.measures["pass_rate"] == 1.0
    assert found.notes == ("`confidence`: the output has no object and no array at `answer`; scored as it is",)
    assert "no confidence and no citation stands where" in score(SCHEMA, BARE, BARE, confidence="wrapper").notes[0]
    assert score_text(SCHEMA, BARE, "no idea", confidence="reducto").failure.kind == "no_json"


KEYS = ["value", "confidence", "citations", "type", "spans", "result", "answer", "page", "box", "a"]
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.sampled_from(sorted(SHAPES)), JSON, JSON)
def test_no_output_breaks_the_reading(output, name, confidence, citations):
    found = unwrap(output, SHAPES[name], ReportedMetadata(confidence, citations))
    undeclared_shape(output, citations)
    for each in found.metadata.values():
        assert each.confidence is None or 0 <= each.confidence <= 1


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
        FieldPath(("items", 1, "amount")): FieldMetadata(0.6),
    }


def test_places_of_what_is_reported():
    found = unwrap({"a.b": 1, "a": {"b": 2}}, None, ReportedMetadata({"a.b": 0.5}))
    assert found.metadata == {FieldPath(("a.b",)): FieldMetadata(0.5)}  # a key of the output is no path
    found = unwrap({"total": 1}, None, ReportedMetadata({"totl": 0.9}, {"total": ["1"]}))
    assert any("'totl': the output has no such place; did you mean 'total'?" in note for note in found.notes)
    leaves = score_text(SCHEMA, BARE, BARE, reported=ReportedMetadata(0.5)).leaves
    assert {leaf.confidence for leaf in leaves} == {0.5}  # one number is that of all


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
    for unit, times in (("point", 1), ("inch", 72)):  # without the size of the page
        found = read_citation({"page": 1, "box": box}, unit=unit)
        assert (found.box, found.unit) == ((1 * times, 2 * times, 4 * times, 6 * times), "point")


@pytest.mark.parametrize("box", [None, {}, [], [1, 2, 3], [1, 2, 3, "4"], {"left": 1, "top": 2}, [{"x": 1}], "1,2"])
def test_what_is_no_box(box):
    assert read_box(box) is None


@pytest.mark.parametrize(
    ("written", "how", "expected"),
    [
        ("the text", {}, Citation(quote="the text")),
        ({"page": 2}, {}, Citation(page=2)),
        ({"page": "7"}, {}, Citation(page=7)),
        ({"page": 7.0}, {}, Citation(page=7)),
        ({"page": "seven", "text": "x"}, {}, Citation(quote="x")),
        ({"page": 10**400, "text": "x"}, {}, Citation(quote="x")),
        ({"page": 0, "text": "x"}, {}, Citation(quote="x")),
        ({"page": 0}, {"first_page": 0}, Citation(page=1)),
        ({"bbox": {"page": 4, "left": 0, "top": 0, "width": 1, "height": 1}}, {}, Citation(page=4, box=(0, 0, 1, 1))),
        ({"other": 1}, {}, None),
        ("  ", {}, None),
        (7, {}, None),
    ],
    ids=range(12),
)
def test_citations_in_every_usual_form(written, how, expected):
    assert read_citation(written, **how) == expected


# --- results


def test_results_keep_and_write_their_metadata():
    found = score(SCHEMA, GOLD, ANSWERS["wrapper"], confidence="wrapper")
    assert found.fields[0] is found.leaves[0]
    record, bare = found.record(), score(SCHEMA, GOLD, BARE).record()
    again = from_json(ScoreRecord, json.loads(dump_json(to_json(record))))
    assert again.leaves == record.leaves
    assert [leaf.citations for leaf in again.leaves] == [leaf.citations for leaf in record.leaves]
    assert again.leaves != bare.leaves
    leaf = record.leaves[0]
    changed = leaf._replace(score=0.5)
    assert (changed.score, changed.confidence, changed.citations) == (0.5, leaf.confidence, leaf.citations)
    assert changed != leaf == copy.copy(leaf)
    assert (bare.leaves[0].confidence, bare.leaves[0].citations) == (None, ())
    assert "confidence" not in to_json(bare)["leaves"][0]
