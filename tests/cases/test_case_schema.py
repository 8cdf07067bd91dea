"""The JSON Schema of the case file and the checker say the same; that it takes every key, `test_keys_take_effect` says."""

from __future__ import annotations

import json

import jsonschema
import pytest

from pytest_extract.cases.model import FILE_KEYS, LIMITS, case_file_schema, case_keys, renewed_schema
from pytest_extract.core.gates import COVERAGE_MODES, MODALITIES
from pytest_extract.core.measures import MEASURES
from pytest_extract.core.output_shape import SHAPES, UNITS
from pytest_extract.core.rules import RULE_KEYS, SEVERITIES
from pytest_extract.core.schema.annotations import parse_override
from pytest_extract.core.semantics import SEMANTICS
from tests.cases.conftest import GOLD, SCHEMA

DOCUMENT = json.loads(case_file_schema())
DEFS = DOCUMENT["$defs"]
BASE = {"text": "x", "schema": SCHEMA, "gold": GOLD}


def test_it_is_a_json_schema_that_describes_every_key():
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)
    assert set(DOCUMENT["properties"]) == {*case_keys(), *FILE_KEYS}
    assert set(DEFS["case"]["properties"]) == set(case_keys())
    assert all("description" in DEFS[key] for key in case_keys())
    assert case_file_schema() == renewed_schema(), "after a change of a measure, `python -m pytest_extract.docs`"


def test_it_lists_the_checker_s_words():
    assert list(DEFS["semantics"]["enum"]) == list(SEMANTICS)
    assert tuple(DEFS["modality"]["enum"]) == MODALITIES
    assert tuple(DEFS["gates"]["properties"]["coverage"]["anyOf"][1]["properties"]["mode"]["enum"]) == COVERAGE_MODES
    assert list(DEFS["thresholds"]["properties"]) == [*MEASURES, "fields", "measures", *LIMITS]
    assert (tuple(DEFS["output_shape"]["enum"]), tuple(DEFS["unit"]["enum"])) == (tuple(SHAPES), tuple(UNITS))
    rule = DEFS["rules"]["items"]["anyOf"][1]["properties"]
    assert (tuple(rule), tuple(rule["severity"]["enum"])) == (RULE_KEYS, SEVERITIES)
    told: list[str] = []
    keys = DEFS["overrides"]["additionalProperties"]["anyOf"][1]["properties"]
    parse_override(dict.fromkeys(keys), "", lambda message, _where: told.append(message))
    assert not [message for message in told if message.startswith("no key ")]


@pytest.mark.parametrize(
    "content",
    [
        {"cases": [BASE, {**BASE, "id": "b"}]},
        {"dataset": "a.jsonl"},
        {"dataset": "a.jsonl", "defaults": {}},
    ],
    ids=["cases", "dataset", "defaults"],
)
def test_both_take_cases_and_datasets(load, content):
    jsonschema.validate(content, DOCUMENT)
    assert load(content, **{"a.jsonl": BASE}).errors == ()


WRONG = [
    *({**BASE, "schema": schema} for schema in (5, " ")),
    *({**BASE, "id": name} for name in ("a::b", " a", "a\nb")),
    {**BASE, "gold": ""},
    {**BASE, "golf": 1},
    {**BASE, "document": "acme.txt"},
    {**BASE, "documents": "*.txt"},
    {"schema": SCHEMA, "gold": GOLD, "documents": []},
    {**BASE, "defaults": 1},
    {**BASE, "defaults": {"golf": 1}},
    {**BASE, "cases": [BASE]},
    {"cases": [BASE], "dataset": "a"},
    {"cases": []},
    {"cases": [1]},
    {"text": "x", "schema": {}},
    {},
    [],
]
"""Of the values below a key, `test_mistakes` has the wrong ones: the checker reads them by the same schema."""


@pytest.mark.parametrize("content", WRONG, ids=lambda content: str(content)[-30:])
def test_both_refuse_what_is_wrong(load, content):
    assert not jsonschema.Draft202012Validator(DOCUMENT).is_valid(content)
    assert load(content).errors != ()
