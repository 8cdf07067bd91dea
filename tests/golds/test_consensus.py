"""Drafts of golds from several outputs."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, FieldPath, iter_leaves
from pytest_extract.documents import Document
from pytest_extract.golds.changes import NOWHERE, accept_labels, draft_gold
from pytest_extract.report.findings import locator, stands_exactly
from tests.cpu_time import cpu_seconds

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": ["number", "null"]},
        "unit": {"enum": ["USD", "EUR"]},
        "paid": {"type": "boolean"},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}},
        },
    },
}
SCORER = compile_schema(SCHEMA)
TEXT = "ACME GmbH  Total 1,109.00  tax 90.00\nBolt 2.50\nNut 10.00\nCable 77.00\n"
LOCATE = locator(Document(text=TEXT))
BOLT, NUT, CABLE = ({"name": n, "price": p} for n, p in (("Bolt", 2.5), ("Nut", 10), ("Cable", 77)))
RIGHT = {"vendor": "ACME GmbH", "total": 1109.0, "unit": "EUR", "paid": True, "items": [BOLT, NUT]}


def draft(*outputs):
    named = {f"m{number}": output for number, output in enumerate(outputs)}
    return draft_gold(SCORER, named, LOCATE)


def whys(found):
    return {str(path): each.why for path, each in found.open.items()}


def test_what_outputs_agree_on_and_the_document_has_needs_nobody():
    found = draft(RIGHT, {**RIGHT, "items": [NUT, BOLT]})
    assert (found.value, whys(found), found.agreed) == (RIGHT, {}, 8)


def test_the_work_grows_no_faster_than_the_values():
    def seconds(rows: int) -> float:
        output = {**RIGHT, "items": [{"name": f"n{row}", "price": row} for row in range(rows)]}
        return cpu_seconds(lambda: draft_gold(SCORER, {"m": output}, lambda _value: "page 1"))

    assert seconds(1_600) < 16 * seconds(200)


def test_rows_that_a_judge_would_align_are_disputed_value_by_value():
    items = {**SCHEMA["properties"]["items"], "evaluation_config": "array_llm"}
    name = {"type": "string", "evaluation_config": "string_semantic"}
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "items": items, "vendor": name}}
    outputs = {"m0": RIGHT, "m1": {**RIGHT, "vendor": "Acme  GmbH", "items": [{**NUT, "price": 77}, BOLT]}}
    found = draft_gold(compile_schema(schema), outputs, LOCATE)
    assert [path for path in whys(found) if path.startswith("items")]
    assert "items" not in whys(found)
    assert "vendor" not in whys(found)


def test_of_equal_texts_the_one_that_the_document_has_to_the_letter_is_taken():
    is_exact = partial(stands_exactly, Document(text=TEXT))
    name = {"type": "string", "evaluation_config": "string_case_insensitive"}
    scorer = compile_schema({**SCHEMA, "properties": {**SCHEMA["properties"], "vendor": name}})
    other = {**RIGHT, "vendor": "acme gmbh"}
    for outputs in ({"m0": RIGHT, "m1": other}, {"m0": other, "m1": RIGHT}):
        found = draft_gold(scorer, outputs, LOCATE, is_exact=is_exact)
        assert (found.value, whys(found)) == (RIGHT, {})


def test_what_both_invent_is_open():
    wrong = {**RIGHT, "vendor": "Globex"}
    found = draft(wrong, wrong)
    assert whys(found) == {"vendor": NOWHERE}


def test_what_they_dispute_is_open_with_evidence_and_the_likelier_first():
    found = draft({**RIGHT, "total": 1190.0}, RIGHT)
    (field,) = found.open.values()
    assert [(each.value, each.sources, bool(each.evidence)) for each in field.candidates] == [
        (1109.0, ("m1",), True),
        (1190.0, ("m0",), False),
    ]
    assert found.value == RIGHT


def test_a_majority_is_taken_only_where_the_document_has_no_other_candidate():
    assert whys(draft(RIGHT, RIGHT, {**RIGHT, "total": 1190.0})) == {}
    assert whys(draft(RIGHT, RIGHT, {**RIGHT, "total": 90.0})) == {"total": "outputs disagree"}
    assert whys(draft({**RIGHT, "total": 1190.0}, {**RIGHT, "total": 1190.0}, RIGHT)) == {"total": "outputs disagree"}


def test_absent_and_null_agree_and_a_value_against_them_is_open():
    absent = {key: value for key, value in RIGHT.items() if key != "total"}
    assert whys(draft(absent, {**RIGHT, "total": None})) == {}
    found = draft(absent, RIGHT)
    assert whys(found) == {"total": "outputs disagree"}
    assert found.value == RIGHT


def test_rows_that_one_output_lacks_are_open_as_a_whole():
    found = draft({**RIGHT, "items": [BOLT, NUT, CABLE]}, {**RIGHT, "items": [NUT, BOLT]})
    assert whys(found) == {"items[2]": "1 of 2 outputs lack this row; most of it stands in the document"}
    assert [each.value for each in found.open[FieldPath(("items", 2))].candidates] == [CABLE, MISSING]


def test_rows_that_the_base_lacks_are_added_and_open():
    found = draft({**RIGHT, "items": [BOLT]}, {**RIGHT, "items": [BOLT]}, {**RIGHT, "items": [NUT, BOLT]})
    assert whys(found) == {"items[1]": "2 of 3 outputs lack this row; most of it stands in the document"}
    assert found.value["items"] == [BOLT, NUT]


def test_a_row_that_most_outputs_have_and_the_document_shows_needs_nobody():
    found = draft(RIGHT, {**RIGHT, "items": [NUT]}, RIGHT)
    assert (whys(found), found.value) == ({}, RIGHT)


def test_one_output_alone_leaves_every_value_open():
    found = draft({**RIGHT, "vendor": "Globex"})
    assert found.agreed == 0
    assert len(found.open) == len([*iter_leaves(RIGHT)])
    assert found.open[FieldPath(("vendor",))].why == f"only one output has it, and it {NOWHERE}"


def test_a_list_that_one_output_alone_leaves_empty_is_open():
    found = draft({"vendor": "ACME GmbH", "items": [], "more": [{"items": []}]})
    assert whys(found) == dict.fromkeys(["vendor", "items", "more[0].items"], "only one output has it")
    assert whys(draft([])) == {"$": "only one output has it"}


def test_labels_that_stand_nowhere_in_several_drafts_need_nobody():
    schema = {"type": "object", "properties": {"unit": {"type": "string"}, "vendor": {"type": "string"}}}
    outputs = [{"unit": "pieces", "vendor": vendor} for vendor in ("A1", "B2", "C3")]
    drafts = [draft_gold(compile_schema(schema), {"a": each, "b": each}, LOCATE) for each in outputs]
    assert [whys(each) for each in accept_labels(drafts)] == [{"vendor": NOWHERE}] * 3
    assert [whys(each) for each in accept_labels(drafts[:2])] == [{"unit": NOWHERE, "vendor": NOWHERE}] * 2


ROWS = st.lists(st.sampled_from([BOLT, NUT, CABLE, {"name": "Zinc", "price": 5}]), max_size=4)
OUTPUTS = st.lists(
    st.fixed_dictionaries(
        {"items": ROWS},
        optional={"vendor": st.sampled_from(["ACME GmbH", "Globex"]), "total": st.sampled_from([1109, 90, 7, None])},
    ),
    min_size=1,
    max_size=3,
)


@given(OUTPUTS)
def test_every_value_of_a_draft_comes_from_an_output_and_open_places_are_in_it(outputs):
    found = draft(*outputs)
    names = {f"m{number}" for number in range(len(outputs))}
    for path, field in found.open.items():
        assert set().union(*(each.sources for each in field.candidates)) <= names
        value = found.value
        for step in path:
            value = value.get(step, MISSING) if isinstance(value, dict) else value[step]
        assert value is field.candidates[0].value or value == field.candidates[0].value
    leaves = [str(leaf) for output in outputs for _, leaf in iter_leaves(output)]
    assert all(str(leaf) in leaves for _, leaf in iter_leaves(found.value))
    assert not any(a != b and b[: len(a)] == a for a in found.open for b in found.open)
