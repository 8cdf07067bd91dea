"""The gates, their arithmetic in words, and their configuration."""

from __future__ import annotations

import pytest

from pytest_extract import score
from pytest_extract.core.gates import GateConfig, check_output
from pytest_extract.core.measures.published import DocumentPair, DocumentSchema
from pytest_extract.core.parse import parse_output
from pytest_extract.core.values import MISSING
from pytest_extract.errors import ConfigError
from tests.core.schemas import EXACT, INTEGER, obj


def counted(count):
    return {f"k{index}": index for index in range(count)}


NINE = counted(9)
ANY = DocumentSchema({})


def gates(extracted, gold=NINE, schema=ANY, failure=None, modality="text", config=None):
    return check_output(DocumentPair(gold, extracted, schema), failure, modality, config or GateConfig()).gates


BROKEN = parse_output('{"a": 1,}')
BARE = parse_output("42")
EVERY = {"parse", "root", "schema", "coverage"}


@pytest.mark.parametrize(
    ("extracted", "how", "failing"),
    [
        (NINE, {}, set()),
        (MISSING, {}, EVERY),
        (BROKEN.value, {"failure": BROKEN.failure}, EVERY),
        ("a bare text", {}, {"root", "coverage"}),
        (BARE.value, {"failure": BARE.failure}, {"root", "coverage"}),
        (BARE.value, {"failure": BARE.failure, "gold": []}, {"root", "coverage"}),
        (BARE.value, {"failure": BARE.failure, "gold": None}, {"coverage"}),  # a bare value where the gold is one
        (BARE.value, {"failure": BARE.failure, "gold": "x"}, {"coverage"}),
        (NINE, {"schema": DocumentSchema({"type": "array"})}, {"schema"}),
        (NINE, {"schema": DocumentSchema({"type": "strnig"})}, {"schema"}),
        ({}, {}, {"coverage"}),
        ({}, {"config": GateConfig.from_json({"coverage": False})}, set()),
        ({}, {"config": GateConfig.from_json({"coverage": {"mode": "off"}})}, set()),
    ],
    ids=range(13),
)
def test_a_gate_that_fails_has_the_factor_0_and_the_others_1(extracted, how, failing):
    checked = gates(extracted, **how)
    every = (checked.parse, checked.root, checked.schema, checked.coverage)
    assert {gate.name for gate in every if not gate.passed} == failing
    assert {gate.name: gate.factor for gate in every} == {gate.name: float(gate.passed) for gate in every}
    assert checked.structural is not bool(failing - {"coverage"})


HALF_OTHERS = {**counted(5), "x": {"y": [1, 2]}}
COVERAGE = [
    (
        {**NINE, "x": 1},
        "coverage 0.947 is below 0.95: the output has 9 of the gold's 9 values in the same place; not in the gold: `x`; ",
    ),
    (
        HALF_OTHERS,
        "coverage 0.625 is below 0.95: the output has 5 of the gold's 9 values in the same place; missing: `k5`, `k6`, `k7`, `k8`; not in the gold: `x.y[0]`, `x.y[1]`; ",
    ),
    (
        [1],
        "0 of the gold's 9 values in the same place; missing: `k0`, `k1`, `k2`, `k3`, `k4` and 4 more; not in the gold: `[0]`; ",
    ),
]


@pytest.mark.parametrize(("extracted", "why"), COVERAGE, ids=range(3))
def test_the_coverage_gate_says_what_is_apart(extracted, why):
    gate = gates(extracted).coverage
    assert gate.why.startswith("structure coverage 0.")
    assert gate.why.endswith(why + "`value_accuracy` and `faithfulness` are 0")


def test_the_numbers_of_the_coverage_gate_in_words():
    assert "the output has 0 of the gold's 1 value in the same place" in gates({}, gold={"a": 1}).coverage.why
    gold = counted(2000)  # just below the floor is shown below it
    gate = gates({**gold, **{f"x{index}": 0 for index in range(211)}}, gold=gold).coverage
    assert gate.why.startswith("structure coverage 0.9499 is below 0.95: ")
    soft = gates(counted(6), modality="image").coverage
    assert soft.factor == pytest.approx((0.8 / 0.9) ** 2)
    assert soft.why.endswith("`value_accuracy` and `faithfulness` are multiplied by (0.800 / 0.9)² = 0.790")
    assert gates(counted(8), modality="audio").coverage.passed


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


def test_why_a_gate_fails():
    rows = {"properties": {"rows": {"items": INTEGER}}}
    for schema, extracted, config, why in (
        (
            rows,
            {"rows": [1, "x"]},
            {},
            'the output breaks the schema at `rows[1]`: "x" is a string, an integer was expected',
        ),
        (rows, {"rows": ["x"]}, {"schema": False}, "switched off (gates: {schema: false})"),
        (
            {"type": "strnig"},
            NINE,
            {},
            "the schema itself is invalid: at /type: no type 'strnig'; did you mean 'string'?",
        ),
    ):
        found = gates(extracted, schema=DocumentSchema(schema), config=GateConfig.from_json(config)).schema
        assert (found.passed, found.why) == (bool(config), why)
    assert "switched off" in gates({}, config=GateConfig.from_json({"coverage": False})).coverage.why
    parse = gates(BROKEN.value, failure=BROKEN.failure).parse
    assert parse.why == "trailing_comma at line 1, column 8: a comma stands before `}`"


def test_the_document_measures_know_the_chosen_gate():
    found = score({}, NINE, {**NINE, "x": 1}, gates={"coverage": {"floor": 0.9}}).measures
    assert (found["value_accuracy"], found["structure_coverage"]) == (1.0, pytest.approx(18 / 19))


@pytest.mark.parametrize(
    ("extracted", "numbers"),
    [({"a": "x", "b": 1}, (0.5, 1.0)), ({"a": 1}, (0.0, 0.0)), ({}, (1.0, 0.0)), (None, (1.0, 0.0)), ([], (0.0, 0.0))],
    ids=str,
)
def test_a_published_system_asked_for_by_name_has_no_gates(extracted, numbers):
    schema = {**obj(a=EXACT), "required": ["a"], "additionalProperties": False}

    def measured(**how):
        found = score(schema, {"a": "x"}, extracted, **how)
        return (found.measures["precision"], found.measures["recall"]), found

    by_name, found = measured(semantics="struct-extract-eval")
    assert by_name == numbers
    assert (found.gates.structural, found.failure, found.measures["json_pass"]) == (True, None, 0.0)
    by_dialect, found = measured()
    assert (found.semantics, found.gates.structural) == ("struct-extract-eval", False)
    given_gates = measured(semantics="struct-extract-eval", gates={})[0]
    assert by_dialect == given_gates == measured(semantics="default")[0] == (0.0, 0.0)
