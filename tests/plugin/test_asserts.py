"""`assert_extraction` and `Gold` in plain tests."""

from __future__ import annotations

import pytest

from pytest_extract.core.results import JudgeAnswer
from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.extraction.call import Extraction
from pytest_extract.testing import Gold, assert_extraction
from tests.plugin.conftest import GOLD, SCHEMA

BAD = {**GOLD, "vendor": "ACME Gmbh"}
SHORT = {"vendor": "ACME GmbH", "total": 12.5}
FENCED = '```json\n{"vendor": "ACME GmbH", "total": 12.5, "items": []}\n```'
JUDGED = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "string_semantic"}}}


@pytest.mark.parametrize(
    ("output", "keywords", "missed"),
    [
        (GOLD, {}, ""),
        (Extraction(GOLD, cost_usd=0.01), {}, ""),
        ({**GOLD, "items": GOLD["items"][::-1]}, {}, ""),
        (FENCED, {"gold": SHORT}, ""),
        (BAD, {}, "pass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed"),
        ('{"vendor": "x",}', {}, "trailing_comma at line 1, column 15"),
        (BAD, {"thresholds": {"pass_rate": 0.6}}, ""),
        (BAD, {"thresholds": {"fields": {"vendor": 0.5}}}, "field vendor 0 is below 0.5"),
        (BAD, {"accept": {"vendor": ["ACME Gmbh"]}}, ""),
        (BAD, {"thresholds": {"n_ted": 1.0}}, "n_ted"),
        (Extraction(GOLD, latency_s=0.5), {"thresholds": {"max_latency_s": 1}}, ""),
        (GOLD, {"thresholds": {"max_latency_s": 1}}, "the latency is unknown (give it in an `Extraction`)"),
        (GOLD, {"gold": SHORT, "absent": {"items": "must"}, "thresholds": {"pass_rate": 0.0}}, "must stay empty"),
        ({"vendor": 3, "total": 1}, {"gold": {"vendor": 3, "total": 1}, "gates": {"schema": False}}, ""),
    ],
)
def test_an_output_passes_or_fails_as_a_case_does(output, keywords, missed):
    given = {"gold": GOLD, "schema": SCHEMA, **keywords}
    gold = Gold(given["gold"], **{name: value for name, value in given.items() if name != "gold"})
    assert (output == gold) is not bool(missed)
    if not missed:
        found = assert_extraction(output, **given).measures["pass_rate"]
        assert found == pytest.approx(2 / 3 if output is BAD and "accept" not in keywords else 1)
        return
    with pytest.raises(AssertionError) as caught:
        assert_extraction(output, **given)
    assert missed in str(caught.value)


def test_a_judge_may_be_given():
    given = {"gold": {"a": "automobile"}, "schema": JUDGED}
    assert_extraction({"a": "car"}, judge=lambda questions: [JudgeAnswer(1.0) for _ in questions], **given)
    with pytest.raises(AssertionError, match="no judge for 1 comparison: a; give `judge=`"):
        assert_extraction({"a": "car"}, **given)


def test_an_assert_shows_the_diff(pytester, run):
    pytester.makepyfile(
        f"""
        from pytest_extract.testing import Gold

        def test_it():
            assert {BAD!r} == Gold({GOLD!r}, schema={SCHEMA!r})

        def test_other():
            assert Gold(1, schema={{}}) is None
        """
    )
    diff = [
        "E *the extraction is not equal to gold",
        "E *pass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed",
        'E *vendor  text  mismatch  gold "ACME GmbH"  extracted "ACME Gmbh"  ACME Gmb?H→h?*',
        "E *assert Gold(1) is None",
    ]
    run(failed=2, lines=diff)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"thresholds": {"pass_rat": 1}}, "did you mean 'pass_rate'"),
        ({"thresholds": {"pass_rate": 2}}, "thresholds.pass_rate"),
        ({"thresholds": {"fields": {"totl": 1.0}}}, "no field 'totl'; did you mean 'total'"),
        ({"absent": {"items": "never"}}, "must"),
        ({"absent": {"nots": "must"}}, "no field 'nots'"),
        ({"absent": {"$": "either"}}, "'$' is skipped, or has no score of its own"),
        ({"accept": {"vendr": ["x"]}}, "did you mean 'vendor'"),
        ({"gates": {"grounded": True}}, "gates.grounded needs a document"),
        ({"schema": {"type": "objekt"}}, "at /type: no type 'objekt'; did you mean 'object'"),
        ({"schema": {"items": {"$ref": "#/gone"}}}, "'#/gone' leads nowhere"),
        ({"schema": {"type": "string", "evaluation_config": "string_exakt"}}, "string_exact"),
        ({"gold": {"vendor": 3, "total": 1}}, "`vendor`: 3 is an integer, a string was expected. Fix it"),
    ],
)
def test_a_mistake_in_the_call_is_no_verdict_on_the_output(given, told):
    arguments = {"gold": GOLD, "schema": SCHEMA, **given}
    with pytest.raises((ConfigError, SchemaError)) as caught:
        assert_extraction(GOLD, **arguments)
    assert told in str(caught.value)
    with pytest.raises((ConfigError, SchemaError)):
        Gold(arguments.pop("gold"), **arguments)
