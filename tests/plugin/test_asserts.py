from __future__ import annotations

from typing import Any

import pytest

from pytest_extract.core.results import JudgeAnswer
from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.extraction.call import Extraction
from pytest_extract.testing import Gold, assert_extraction
from tests.plugin.conftest import GOLD, SCHEMA

BAD = {**GOLD, "vendor": "ACME Gmbh"}
FENCED = '```json\n{"vendor": "ACME GmbH", "total": 12.5, "items": []}\n```'


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(GOLD, id="value"),
        pytest.param(Extraction(GOLD, cost_usd=0.01), id="extraction"),
        pytest.param({**GOLD, "items": GOLD["items"][::-1]}, id="rows-in-another-order"),
    ],
)
def test_a_good_output_passes_and_gives_its_score(output: object) -> None:
    assert assert_extraction(output, gold=GOLD, schema=SCHEMA).measures["pass_rate"] == 1.0
    assert output == Gold(GOLD, schema=SCHEMA)


def test_a_bad_output_fails_with_the_diff() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_extraction(BAD, gold=GOLD, schema=SCHEMA)
    text = str(caught.value)
    assert "pass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed" in text
    assert 'gold "ACME GmbH"  extracted "ACME Gmbh"  ACME Gmb[H→h]' in text
    assert Gold(GOLD, schema=SCHEMA) != BAD


@pytest.mark.parametrize(
    ("how", "good"),
    [
        pytest.param({"thresholds": {"pass_rate": 0.6}}, True, id="lower-threshold"),
        pytest.param({"thresholds": {"fields": {"total": 1.0}}}, True, id="other-field"),
        pytest.param({"thresholds": {"fields": {"vendor": 0.5}}}, False, id="field"),
        pytest.param({"accept": {"vendor": ["ACME Gmbh"]}}, True, id="accepted-reading"),
        pytest.param({"thresholds": {"anls_star": 0.5, "n_ted": 0.5}}, True, id="papers"),
        pytest.param({"thresholds": {"n_ted": 1.0}}, False, id="paper-missed"),
    ],
)
def test_keywords_mean_what_they_mean_in_a_case(how: dict[str, object], good: bool) -> None:
    assert (Gold(GOLD, schema=SCHEMA, **how) == BAD) is good  # type: ignore[arg-type]


def test_a_bound_on_the_time_of_a_call_needs_the_time() -> None:
    gold = Gold(GOLD, schema=SCHEMA, thresholds={"max_latency_s": 1})
    assert Extraction(GOLD, latency_s=0.5) == gold
    assert [breach.message for breach in gold.check(GOLD)[1]] == [
        "max_latency_s 1 cannot be checked: the latency is unknown (give it in an `Extraction`)"
    ]


def test_what_must_stay_empty() -> None:
    gold = {"vendor": "ACME GmbH", "total": 12.5}
    wanted = Gold(gold, schema=SCHEMA, absent={"items": "must"}, thresholds={"pass_rate": 0.0})
    assert gold == wanted
    _, breaches = wanted.check(GOLD)
    assert [breach.what for breach in breaches] == ["absent.items"]


def test_text_is_parsed() -> None:
    assert_extraction(FENCED, gold={"vendor": "ACME GmbH", "total": 12.5}, schema=SCHEMA)
    with pytest.raises(AssertionError, match="trailing_comma at line 1, column 15"):
        assert_extraction('{"vendor": "x",}', gold=GOLD, schema=SCHEMA)


def test_a_judge_may_be_given() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "string_semantic"}}}
    judge = lambda questions: [JudgeAnswer(1.0) for _ in questions]  # noqa: E731
    assert_extraction({"a": "car"}, gold={"a": "automobile"}, schema=schema, judge=judge)
    with pytest.raises(AssertionError, match="no judge for 1 comparison: a; give `judge=`"):
        assert_extraction({"a": "car"}, gold={"a": "automobile"}, schema=schema)


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        pytest.param({"thresholds": {"pass_rat": 1}}, ConfigError, "did you mean 'pass_rate'", id="measure"),
        pytest.param({"thresholds": {"pass_rate": 2}}, ConfigError, "thresholds.pass_rate", id="bound"),
        pytest.param({"absent": {"items": "never"}}, ConfigError, "must", id="absent"),
        pytest.param({"gates": {"grounded": True}}, ConfigError, "gates.grounded needs a document", id="grounded"),
        pytest.param(
            {"schema": {"type": "string", "evaluation_config": "string_exakt"}},
            SchemaError,
            "string_exact",
            id="schema",
        ),
    ],
)
def test_mistakes_in_the_arguments_are_told(how: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        assert_extraction(GOLD, **{"gold": GOLD, "schema": SCHEMA, **how})  # type: ignore[arg-type]


def test_an_assert_shows_the_diff(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        from pytest_extract.testing import Gold

        def test_it():
            assert {BAD!r} == Gold({GOLD!r}, schema={SCHEMA!r})

        def test_other():
            assert Gold(1, schema={{}}) is None
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E *the extraction is not equal to gold",
            "E *pass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed",
            'E *vendor  text  mismatch  gold "ACME GmbH"  extracted "ACME Gmbh"  ACME Gmb?H→h?*',
            "E *assert Gold(1) is None",
        ]
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param(
            {"thresholds": {"fields": {"totl": 1.0}}}, "no field 'totl'; did you mean 'total'", id="threshold"
        ),
        pytest.param({"absent": {"nots": "must"}}, "no field 'nots'", id="absent"),
        pytest.param({"absent": {"$": "either"}}, "'$' is an object, of which only the fields", id="absent-root"),
        pytest.param({"accept": {"vendr": ["x"]}}, "did you mean 'vendor'", id="accept"),
        pytest.param({"schema": {"type": "objekt"}}, "at /type: no type 'objekt'; did you mean 'object'", id="schema"),
        pytest.param({"schema": {"items": {"$ref": "#/gone"}}}, "'#/gone' leads nowhere", id="reference"),
        pytest.param(
            {"gold": {"vendor": 3, "total": 1}}, "`vendor`: 3 is an integer, a string was expected. Mend it", id="gold"
        ),
    ],
)
def test_a_mistake_in_the_call_is_no_verdict_on_the_output(given: dict[str, object], told: str) -> None:
    arguments: dict[str, Any] = {"gold": GOLD, "schema": SCHEMA, **given}
    with pytest.raises(ConfigError) as caught:
        assert_extraction(GOLD, **arguments)
    assert told in str(caught.value)
    with pytest.raises(ConfigError):
        Gold(arguments.pop("gold"), **arguments)


def test_a_gold_that_breaks_its_schema_can_be_taken_as_it_is() -> None:
    gold = {"vendor": 3, "total": 1}
    assert assert_extraction(gold, gold=gold, schema=SCHEMA, gates={"schema": False}).measures["pass_rate"] == 1
