from __future__ import annotations

import pytest

from pytest_extract.core.metrics import METRICS, bind_metric, compare_values
from pytest_extract.core.metrics.base import Param, boolean, check_params, with_defaults
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "given", "problem"),
    [
        ("string_fuzzy", {"treshold": 0.8}, "string_fuzzy has no parameter 'treshold'; did you mean 'threshold'?"),
        ("string_fuzzy", {"threshold": "high"}, "parameter 'threshold' must be a number from 0 to 1, not 'high'"),
        ("string_fuzzy", {"case_sensitive": 1}, "parameter 'case_sensitive' must be true or false, not 1"),
        ("number_tolerance", {"tolerance": -1}, "parameter 'tolerance' must be a number of 0 or more, not -1"),
        ("number_tolerance", {"tolerance": "nan"}, "must be a number of 0 or more, not 'nan'"),
        ("number_tolerance", {"tolerance": "wide"}, "must be a number of 0 or more, not 'wide'"),
        ("number_tolerance", {"tolerance": True}, "must be a number of 0 or more, not True"),
        ("number", {"rel": float("inf")}, "must be a number of 0 or more, not inf"),
        ("number", {"rel": 10**400}, "must be a number of 0 or more, not 1000"),
        ("numeric", {"tolerance": {"abs": 10**400}}, "must be a mapping with the numbers"),
        ("numeric", {"tolerance": 1}, "must be a mapping with the numbers `rel`, `abs` or both, not 1"),
        ("numeric", {"tolerance": {"absolute": 1}}, "must be a mapping with the numbers"),
        ("numeric", {"tolerance": {"abs": "1"}}, "must be a mapping with the numbers"),
        ("oneof", {}, "oneof needs the parameter 'values': the list of right values"),
        ("oneof", {"values": None}, "oneof: parameter 'values' must be a list, not None"),
        ("limited_text", {"max_length": 2.5}, "must be a whole number of 1 or more, not 2.5"),
        ("date", {"order": "DYM"}, "must be one of 'DMY', 'MDY', 'YMD', not 'DYM'; did you mean 'YMD'?"),
        ("date", {"order": "dmy"}, "must be one of 'DMY', 'MDY', 'YMD', not 'dmy'; did you mean 'DMY'?"),
        ("money", {"currency": "euro"}, "must be an ISO 4217 code such as 'EUR'"),
        ("money", {"currency": "EURO"}, "such as 'EUR', not 'EURO'; did you mean 'EUR'?"),
        ("quantity", {"unit": "kgg"}, "such as 'kg' or 'm/s', not 'kgg'; did you mean 'kg'?"),
        ("locale_number", {"locale": "qq"}, "such as 'en' or 'de-CH', not 'qq'; known: bg, cs"),
        ("date", {"formats": "%d.%m"}, "needs a year (%Y or %y)"),
        ("date", {"formats": ["%Y", "%Q %Y"]}, "item 1 has the unknown directive %Q"),
        ("date", {"formats": []}, "must be a list with at least one item"),
        ("regex", {"pattern": "("}, "is no regular expression: missing ), unterminated subpattern"),
        ("regex", {"pattern": r"(?#note)a"}, "is no regular expression as in JavaScript (ECMA-262)"),
        ("string_llm", {"structured_output_schema": {}}, "string_llm has no parameter 'structured_output_schema'"),
        ("string_llm", {"max_tokens": 0}, "must be a whole number of 1 or more"),
        ("string_llm", {"prompt_template": "equal?"}, "must be a text that holds {gold}, {predicted}"),
        ("round_digits", {}, "needs the parameter 'digits'"),
        ("type_convert", {"to": "date"}, "must be one of 'float', 'int', 'str', 'bool'"),
        ("lowercase", {"locale": "tr"}, "has no parameter 'locale'"),
        ("map_values", {"values": []}, "must be a mapping"),
        ("null_if", {"values": []}, "must be a list"),
    ],
)
def test_a_bad_parameter_is_told(name, given, problem):
    problems = check_params(given, {**METRICS, **TRANSFORMS}[name].params, name)
    assert len(problems) == 1
    assert problem in problems[0]


@pytest.mark.parametrize(
    ("metric", "given"),
    [
        ("number_tolerance", {"tolerance": "0.5"}),
        ("number_tolerance", {"tolerance": None}),
        ("numeric", {"tolerance": {"abs": -1}}),
        ("numeric", {"tolerance": {"rel": None}}),
        ("money", {"locale": ["de_CH", "en"]}),
        ("string_semantic", {"pass_threshold": 0.3, "additional_instructions": "ignore titles"}),
    ],
)
def test_what_the_published_systems_take_is_taken(metric, given):
    assert check_params(given, METRICS[metric].params, metric) == []


def test_null_is_the_default():
    known = [Param(name="a", check=boolean, default=True, doc="x")]
    assert with_defaults({"a": None}, known) == {"a": True}
    assert with_defaults({"a": False}, known) == {"a": False}


def test_every_parameter_default_passes_its_own_check():
    for spec in METRICS.values():
        for param in spec.params:
            if param.default is not None:
                assert param.check(param.default) is None, (spec.name, param.name)


def test_a_metric_can_be_tried_out():
    assert compare_values("fuzzy", "a", "b") == 0.0
    assert compare_values("exact", 1, 1.0, semantics="struct-extract-eval") == 0.0
    with pytest.raises(ConfigError, match=r"no metric 'fuzy'; did you mean 'fuzzy'\?"):
        compare_values("fuzy", 1, 1)
    with pytest.raises(ConfigError, match=r"(?s)no parameter 'case'.*must be a number from 0 to 1"):
        bind_metric("fuzzy", {"case": 1, "threshold": 2})
