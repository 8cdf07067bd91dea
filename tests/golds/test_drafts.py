"""Drafts of golds from several outputs."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, iter_leaves
from pytest_extract.documents import Document
from pytest_extract.golds.changes import NOWHERE, accept_labels, draft_gold
from pytest_extract.report.findings import place_in, stands_exactly
from tests.cpu_time import cpu_seconds

ROW = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
PROPERTIES = {
    "vendor": {"type": "string"},
    "total": {"type": ["number", "null"]},
    "unit": {"enum": ["USD", "EUR"]},
    "paid": {"type": "boolean"},
    "items": {"type": "array", "items": ROW},
}
DOCUMENT = Document(text="ACME GmbH  Total 1,109.00  tax 90.00\nBolt 2.50\nNut 10.00\nCable 77.00\n")
LOCATE = partial(place_in, DOCUMENT)
BOLT, NUT, CABLE = ({"name": n, "price": p} for n, p in (("Bolt", 2.5), ("Nut", 10), ("Cable", 77)))
RIGHT = {"vendor": "ACME GmbH", "total": 1109.0, "unit": "EUR", "paid": True, "items": [BOLT, NUT]}
WITHOUT_TOTAL = {key: value for key, value in RIGHT.items() if key != "total"}


def draft(*outputs, **keys):
    """Draft a gold from outputs; further keys replace parts of the schema."""
    options = {"is_exact": keys.pop("is_exact")} if "is_exact" in keys else {}
    scorer = compile_schema({"type": "object", "properties": PROPERTIES | keys})
    return draft_gold(scorer, {f"m{number}": output for number, output in enumerate(outputs)}, LOCATE, **options)


def right(**other):
    return RIGHT | other


def whys(found):
    return {str(path): each.why for path, each in found.open.items()}


DISAGREE, ONE = "outputs disagree", "only one output has it"
LACK = "outputs lack this row; most of it stands in the document"


WRONG, THREE, BOLTS = right(total=1190.0), right(items=[BOLT, NUT, CABLE]), right(items=[BOLT])
EMPTY = {"vendor": "ACME GmbH", "items": [], "more": [{"items": []}]}
DRAFTS = {
    "what they agree on and the document has": ([RIGHT, right(items=[NUT, BOLT])], RIGHT, {}),
    "what both invent": ([right(vendor="Globex")] * 2, right(vendor="Globex"), {"vendor": NOWHERE}),
    "a majority": ([RIGHT, RIGHT, WRONG], RIGHT, {}),
    "a majority, and the document has both": ([RIGHT, RIGHT, right(total=90.0)], RIGHT, {"total": DISAGREE}),
    "a majority against the document": ([WRONG, WRONG, RIGHT], WRONG, {"total": DISAGREE}),
    "absent and null": ([WITHOUT_TOTAL, right(total=None)], WITHOUT_TOTAL, {}),
    "a value against absent": ([WITHOUT_TOTAL, RIGHT], RIGHT, {"total": DISAGREE}),
    "a row that one lacks": ([THREE, RIGHT], THREE, {"items[2]": f"1 of 2 {LACK}"}),
    "a row that the base lacks": ([BOLTS, BOLTS, right(items=[NUT, BOLT])], RIGHT, {"items[1]": f"2 of 3 {LACK}"}),
    "a row that most have and the document shows": ([RIGHT, right(items=[NUT]), RIGHT], RIGHT, {}),
    "an empty list of one output": ([EMPTY], EMPTY, dict.fromkeys(["vendor", "items", "more[0].items"], ONE)),
    "an empty list alone": ([[]], [], {"$": ONE}),
}


@pytest.mark.parametrize(("outputs", "value", "open_"), DRAFTS.values(), ids=DRAFTS)
def test_what_is_taken_and_what_is_open(outputs, value, open_):
    found = draft(*outputs)
    assert (found.value, whys(found)) == (value, open_)


def test_open_places_have_candidates_with_evidence_the_likelier_first():
    (field,) = draft(right(total=1190.0), RIGHT).open.values()
    candidates = [(each.value, each.sources, bool(each.evidence)) for each in field.candidates]
    assert candidates == [(1109.0, ("m1",), True), (1190.0, ("m0",), False)]
    (field,) = draft(right(items=[BOLT, NUT, CABLE]), RIGHT).open.values()
    assert [each.value for each in field.candidates] == [CABLE, MISSING]
    assert draft(RIGHT, RIGHT).agreed == 8


def test_one_output_alone_leaves_every_value_open():
    found = draft(right(vendor="Globex"))
    assert (found.agreed, len(found.open)) == (0, len([*iter_leaves(RIGHT)]))
    assert whys(found)["vendor"] == f"{ONE}, and it {NOWHERE}"


def test_rows_that_a_judge_would_align_are_disputed_value_by_value():
    keys = {
        "items": PROPERTIES["items"] | {"evaluation_config": "array_llm"},
        "vendor": {"type": "string", "evaluation_config": "string_semantic"},
    }
    places = whys(draft(RIGHT, right(vendor="Acme  GmbH", items=[{**NUT, "price": 77}, BOLT]), **keys))
    assert any(path.startswith("items[") for path in places)
    assert not {"items", "vendor"} & {*places}


def test_of_equal_texts_the_one_that_the_document_has_to_the_letter_is_taken():
    keys = {"vendor": {"type": "string", "evaluation_config": "string_case_insensitive"}}
    other = right(vendor="acme gmbh")
    for outputs in ((RIGHT, other), (other, RIGHT)):
        found = draft(*outputs, is_exact=partial(stands_exactly, DOCUMENT), **keys)
        assert (found.value, whys(found)) == (RIGHT, {})


def test_labels_that_stand_nowhere_in_several_drafts_need_nobody():
    drafts = [draft(*[{"unit": "pieces", "vendor": vendor}] * 2, unit={}) for vendor in ("A1", "B2", "C3")]
    assert [whys(each) for each in accept_labels(drafts)] == [{"vendor": NOWHERE}] * 3
    assert [whys(each) for each in accept_labels(drafts[:2])] == [{"unit": NOWHERE, "vendor": NOWHERE}] * 2


def test_the_work_grows_no_faster_than_the_values():
    scorer = compile_schema({"type": "object", "properties": PROPERTIES})

    def seconds(rows):
        output = right(items=[{"name": f"n{row}", "price": row} for row in range(rows)])
        return cpu_seconds(lambda: draft_gold(scorer, {"m": output}, lambda _value: "page 1"))

    assert seconds(1_600) < 16 * seconds(200)


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
