"""The gates, their arithmetic in words, and their configuration."""

from __future__ import annotations

import pytest
from hypothesis import given

from pytest_extract import score, score_text
from pytest_extract.core.gates import GateConfig, check_output
from pytest_extract.core.measures.published import DocumentPair, DocumentSchema, document_measures
from pytest_extract.core.parse import parse_output
from pytest_extract.core.values import MISSING
from pytest_extract.errors import ConfigError
from tests.strategies import any_json, json_values, nested

NINE = {f"k{index}": index for index in range(9)}
ANY = DocumentSchema({})


def gates(extracted, gold=NINE, schema=ANY, failure=None, modality="text", config=None):
    return check_output(DocumentPair(gold, extracted, schema), failure, modality, config or GateConfig()).gates


def test_a_copy_passes_every_gate():
    checked = gates(NINE)
    assert checked.structural
    assert checked.coverage.passed
    assert [gate.factor for gate in (checked.parse, checked.root, checked.schema, checked.coverage)] == [1.0] * 4


@pytest.mark.parametrize(
    ("extracted", "schema", "failing"),
    [
        (MISSING, ANY, {"parse", "root", "schema", "coverage"}),
        (nested(10_000, []), ANY, {"parse", "root", "schema", "coverage"}),
        ("a bare text", ANY, {"root", "coverage"}),
        (NINE, DocumentSchema({"type": "array"}), {"schema"}),
        ({}, ANY, {"coverage"}),
    ],
    ids=["no output", "too deep", "bare", "against the schema", "nothing covered"],
)
def test_a_gate_that_fails_has_the_factor_0_and_the_others_1(extracted, schema, failing):
    checked = gates(extracted, schema=schema)
    every = (checked.parse, checked.root, checked.schema, checked.coverage)
    assert {gate.name for gate in every if not gate.passed} == failing
    assert {gate.name: gate.factor for gate in every} == {gate.name: float(gate.passed) for gate in every}


@pytest.mark.parametrize(
    ("extracted", "why"),
    [
        (
            {**NINE, "x": 1},
            (
                "structure coverage 0.947 is below 0.95: the output has 9 of the gold's 9 values in the same place; "
                "not in the gold: `x`; `value_accuracy` and `faithfulness` are 0"
            ),
        ),
        (
            {f"k{index}": index for index in range(8)},
            (
                "structure coverage 0.941 is below 0.95: the output has 8 of the gold's 9 values in the same place; "
                "missing: `k8`; `value_accuracy` and `faithfulness` are 0"
            ),
        ),
        (
            {**{f"k{index}": index for index in range(5)}, "x": {"y": [1, 2]}},
            (
                "structure coverage 0.625 is below 0.95: the output has 5 of the gold's 9 values in the same place; "
                "missing: `k5`, `k6`, `k7`, 1 more; not in the gold: `x.y[0]`, `x.y[1]`; `value_accuracy` "
                "and `faithfulness` are 0"
            ),
        ),
        (
            [1],
            (
                "structure coverage 0.000 is below 0.95: the output has 0 of the gold's 9 values in the same place; "
                "missing: `k0`, `k1`, `k2`, 6 more; not in the gold: `[0]`; `value_accuracy` and `faithfulness` are 0"
            ),
        ),
        (
            {},
            (
                "structure coverage 0.000 is below 0.95: the output has 0 of the gold's 9 values in the same place; "
                "missing: `k0`, `k1`, `k2`, 6 more; `value_accuracy` and `faithfulness` are 0"
            ),
        ),
    ],
)
def test_the_coverage_gate_says_what_is_apart(extracted, why):
    gate = gates(extracted).coverage
    assert (gate.passed, gate.factor) == (False, 0.0)
    assert gate.why == why


def test_one_value_is_told_as_one():
    assert "the output has 0 of the gold's 1 value in the same place" in gates({}, gold={"a": 1}).coverage.why


def test_a_coverage_just_below_the_floor_is_shown_below_it():
    gold = {f"k{index}": index for index in range(2000)}
    extracted = {**gold, **{f"x{index}": 0 for index in range(211)}}
    gate = gates(extracted, gold=gold).coverage
    assert gate.why.startswith("structure coverage 0.9499 is below 0.95: ")


def test_the_soft_gate_is_quadratic():
    gate = gates({f"k{index}": index for index in range(6)}, modality="image").coverage
    assert gate.factor == pytest.approx((0.8 / 0.9) ** 2)
    assert gate.why.endswith("`value_accuracy` and `faithfulness` are multiplied by (0.800 / 0.9)² = 0.790")
    assert gates({f"k{index}": index for index in range(8)}, modality="audio").coverage.passed


@pytest.mark.parametrize(
    ("given_gates", "modality", "mode", "floor"),
    [
        ({}, "text", "hard", 0.95),
        ({}, "image", "soft", 0.90),
        ({}, "audio", "soft", 0.90),
        ({"coverage": {"mode": "soft"}}, "text", "soft", 0.90),
        ({"coverage": {"mode": "hard"}}, "image", "hard", 0.95),
        ({"coverage": {"floor": 0.5}}, "text", "hard", 0.5),
        ({"coverage": {"mode": "hard", "floor": 1}}, "audio", "hard", 1.0),
    ],
)
def test_the_modality_fills_what_the_case_leaves_open(given_gates, modality, mode, floor):
    gate = GateConfig.from_json(given_gates).coverage(modality)
    assert (gate.mode, gate.floor) == (mode, floor)


@pytest.mark.parametrize("switched_off", [False, {"mode": "off"}])
def test_the_coverage_gate_can_be_switched_off(switched_off):
    gate = gates({}, config=GateConfig.from_json({"coverage": switched_off})).coverage
    assert (gate.passed, gate.factor) == (True, 1.0)
    assert "switched off" in gate.why


@pytest.mark.parametrize(
    ("given_gates", "message"),
    [
        ({"shema": True}, "did you mean 'schema'?"),
        ({"schema": 1}, "gates.schema must be true or false, not 1"),
        ({"coverage": 0.9}, "gates.coverage must be a mapping"),
        ({"coverage": {"flor": 0.9}}, "did you mean 'floor'?"),
        ({"coverage": {"mode": "sotf"}}, "did you mean 'soft'?"),
        ({"coverage": {"floor": 0}}, "above 0 and at most 1"),
        ({"coverage": {"floor": True}}, "above 0 and at most 1"),
        ([], "gates must be a mapping"),
    ],
)
def test_a_mistake_in_the_configuration_is_told(given_gates, message):
    with pytest.raises(ConfigError) as caught:
        GateConfig.from_json(given_gates)
    assert message in str(caught.value)


def test_the_schema_gate_names_the_place():
    schema = DocumentSchema({"properties": {"rows": {"items": {"type": "integer"}}}})
    gate = gates({"rows": [1, "x"]}, gold={"rows": [1, 2]}, schema=schema).schema
    assert not gate.passed
    assert gate.why == 'the output breaks the schema at `rows[1]`: "x" is a string, an integer was expected'
    off = gates({"rows": ["x"]}, schema=schema, config=GateConfig(schema=False)).schema
    assert off.passed
    assert "switched off" in off.why


def test_an_unusable_schema_fails_the_schema_gate():
    gate = gates(NINE, schema=DocumentSchema({"type": "strnig"})).schema
    assert not gate.passed
    assert "the schema itself is invalid: at /type" in gate.why


def test_an_output_that_does_not_parse_fails_all_gates():
    parsed = parse_output('{"a": 1,}')
    checked = gates(parsed.value, failure=parsed.failure)
    assert checked.parse.why == "trailing_comma at line 1, column 8: a comma stands before `}`"
    assert not any(gate.passed for gate in (checked.parse, checked.root, checked.schema, checked.coverage))
    assert not checked.structural


@pytest.mark.parametrize(("gold", "passed"), [({"a": 1}, False), ([], False), ("x", True), (None, True)])
def test_a_bare_value_passes_the_root_gate_only_where_the_gold_is_one(gold, passed):
    parsed = parse_output("42")
    checked = gates(parsed.value, gold=gold, failure=parsed.failure)
    assert checked.parse.passed
    assert checked.root.passed is passed


def test_a_value_too_deep_fails_the_parse_gate():
    deep: object = 1
    for _ in range(10_000):
        deep = [deep]
    assert "too deeply" in gates(deep).parse.why


@given(any_json, json_values)
def test_no_value_crashes_gates_or_measures(extracted, gold):
    sides = DocumentPair(gold, extracted, ANY)
    checked = check_output(sides, None, "text", GateConfig()).gates
    assert all(0.0 <= value <= 1.0 for value in document_measures(sides, GateConfig().coverage("text")).values())
    assert all(0.0 <= gate.factor <= 1.0 for gate in (checked.parse, checked.root, checked.coverage))


def test_breaking_the_schema_is_a_failure_kind_with_its_place():
    integer = DocumentSchema({"properties": {"a": {"type": "integer"}}})

    def failure(extracted, known=None, *, schema=True):
        sides = DocumentPair({"a": 1}, extracted, integer)
        return check_output(sides, known, "text", GateConfig(schema=schema)).failure

    assert str(failure({"a": "x"})) == 'schema_violation at a: "x" is a string, an integer was expected'
    assert failure({"a": 2}) is None
    assert failure({"a": "x"}, schema=False) is None
    told = parse_output("")
    assert failure(told.value, told.failure) is told.failure


def test_all_twelve_document_measures_and_the_chosen_gate():
    def measures(extracted):
        gate = GateConfig.from_json({"coverage": {"floor": 0.9}}).coverage("text")
        return document_measures(DocumentPair(NINE, extracted, ANY), gate)

    found = measures({**NINE, "x": 1})
    assert found["value_accuracy"] == 1.0
    assert found["structure_coverage"] == pytest.approx(18 / 19)
    assert measures(MISSING)["syntax"] == 0.0


NAMED = {"type": "object", "properties": {"a": {"type": "string", "x-eval-compare": "exact"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("extracted", "numbers"),
    [({"a": "x", "b": 1}, (0.5, 1.0)), ({"a": 1}, (0.0, 0.0)), ({}, (1.0, 0.0)), (None, (1.0, 0.0)), ([], (0.0, 0.0))],
    ids=str,
)
def test_a_published_system_asked_for_by_name_has_no_gates(extracted, numbers):
    schema = {**NAMED, "additionalProperties": False}

    def measured(**how):
        found = score(schema, {"a": "x"}, extracted, **how)
        return (found.measures["precision"], found.measures["recall"]), found

    by_name, found = measured(semantics="struct-extract-eval")
    assert by_name == numbers
    assert found.gates.structural
    assert found.failure is None
    assert found.measures["json_pass"] == 0.0
    by_dialect, found = measured()
    assert found.semantics == "struct-extract-eval"
    assert not found.gates.structural
    given = measured(semantics="struct-extract-eval", gates={})[0]
    assert by_dialect == given == measured(semantics="default")[0] == (0.0, 0.0)


def test_an_output_without_json_fails_under_any_semantics():
    assert score_text(NAMED, {"a": "x"}, "no").measures["precision"] == 0.0
