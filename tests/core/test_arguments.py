"""Wrong arguments of the public functions: ConfigError or SchemaError, never a score by another meaning."""

from __future__ import annotations

import pytest

from pytest_extract import (
    ConfigError,
    SchemaError,
    annotate_schema,
    assert_extraction,
    compile_schema,
    infer_schema,
    score,
    score_text,
    validate_golds,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
GOLD = {"a": "x"}
MAPPINGS = [1, 0, "", "a", [], ["a"], {1: "a"}]
WRONG = {
    "nulls": [1, 0, True, "", "valeu", []],
    "semantics": [1, 0, "", "our", []],
    "overrides": MAPPINGS,
    "extensions": [1, 0, {}, "a"],
    "judge_mode": [1, None, "exct", []],
    "post_process": [1, 0, "", "a"],
    "judge": [1, 0, False, "a"],
    "modality": [1, None, "txt", []],
    "gates": [1, 0, "", []],
    "accept": [*MAPPINGS, {"a": "x"}],
    "absent": [*MAPPINGS, {"a": "mst"}],
}
OF_TEXT = {
    "repair": [1, 0, "no", None],
    "finish_reason": [1, 0, b"length", []],
    "max_output_bytes": [0, -1, 1.5, True, "10MB", []],
}


def each(wrong):
    return [pytest.param(name, value, id=f"{name}={value!r}") for name, values in wrong.items() for value in values]


@pytest.mark.parametrize(("name", "value"), each(WRONG))
def test_a_wrong_argument_of_score_is_refused(name, value):
    with pytest.raises((ConfigError, SchemaError)):
        score(SCHEMA, GOLD, GOLD, **{name: value})


@pytest.mark.parametrize(("name", "value"), each(WRONG | OF_TEXT))
def test_a_wrong_argument_of_score_text_is_refused_whatever_the_text(name, value):
    for text in ('{"a": "x"}', '{"a": "x"'):
        with pytest.raises((ConfigError, SchemaError)):
            score_text(SCHEMA, GOLD, text, **{name: value})


@pytest.mark.parametrize("value", [1, "a", [1]])
def test_a_wrong_argument_of_a_scorer_or_an_assertion_is_refused(value):
    with pytest.raises(ConfigError, match=r"^failure must be "):
        compile_schema(SCHEMA).score(GOLD, GOLD, failure=value)
    for name in ("accept", "absent", "thresholds", "gates"):
        with pytest.raises(ConfigError):
            assert_extraction(GOLD, gold=GOLD, schema=SCHEMA, **{name: value})


def test_the_nearest_right_value_is_named():
    with pytest.raises(ConfigError, match=r"^nulls must be absent or value, not 'valeu'; did you mean 'value'\?$"):
        compile_schema(SCHEMA, nulls="valeu")
    with pytest.raises(ConfigError, match=r"^dialect must be .*; did you mean 'x-eval'\?$"):
        annotate_schema(SCHEMA, dialect="x-evals")


@pytest.mark.parametrize("value", [1, None, "ab", {"a": 1}])
def test_what_is_no_list_of_values_is_refused(value):
    with pytest.raises(ConfigError, match=r"^values must be a list"):
        infer_schema(value)
    with pytest.raises(ConfigError, match=r"^golds must be a list"):
        validate_golds(value, SCHEMA)
    if value is not None:
        with pytest.raises(ConfigError, match=r"^metrics must be a mapping"):
            annotate_schema(SCHEMA, metrics=[value])


TOO_LONG = 10**5000
"""An integer of more digits than Python writes."""


@pytest.mark.parametrize(
    ("schema", "how"),
    [
        ({"x-eval-post": TOO_LONG}, {}),
        ({"type": "string", "x-eval-weight": -TOO_LONG}, {}),
        ({"type": "string", "x-eval-compare": {"fuzzy": {"threshold": TOO_LONG}}}, {}),
        ({"type": "string", "evaluation_config": {"metrics": TOO_LONG}}, {}),
        ({}, {"semantics": TOO_LONG}),
        ({}, {"gates": TOO_LONG}),
        ({}, {"gates": {"schema": TOO_LONG}}),
        ({}, {"gates": {"coverage": TOO_LONG}}),
    ],
    ids=range(8),
)
def test_a_value_that_is_too_long_to_show_is_refused_as_any_other(schema, how):
    with pytest.raises((ConfigError, SchemaError), match=r"too long to (show|read)"):
        score(schema, {}, {}, **how)
