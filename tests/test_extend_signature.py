"""Parameters of a plain function, from its signature."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from pytest_extract.core.metrics.base import check_params, with_defaults
from pytest_extract.errors import ConfigError
from pytest_extract.extend import params_of


def compare(
    gold,
    extracted,
    *,
    most: int,
    share: float = 0.5,
    loud: bool = False,
    name: str = "",
    words: list[str] = [],  # noqa: B006
    table: dict[str, int] | None = None,
    mode: Literal["a", "b", 3] = "a",
    either: int | str = 0,
    free=None,
    whatever: Any = 1,
):
    return 1.0


PARAMS = params_of(compare, ("gold", "extracted"), "metric 'compare'")


def test_defaults_are_the_signature_s():
    assert with_defaults({"most": 2}, PARAMS) == {
        "most": 2, "share": 0.5, "loud": False, "name": "", "words": [], "table": None, "mode": "a", "either": 0,
        "free": None, "whatever": 1,
    }  # fmt: skip


GOOD = [
    {"share": 1, "loud": True, "name": "x", "words": ["a"], "table": {"a": 1}, "mode": 3, "either": "x"},
    {"either": 7, "free": [1, {}], "whatever": "y", "words": []},
]
BAD = {
    "missing": ({}, "needs the parameter 'most'"),
    "unknown": ({"most": 1, "mots": 2}, "no parameter 'mots'; did you mean 'most'?"),
    "int": ({"most": 1.5}, "'most' must be a whole number"),
    "bool-is-no-int": ({"most": True}, "'most' must be a whole number"),
    "float": ({"most": 1, "share": "x"}, "'share' must be a number"),
    "bool": ({"most": 1, "loud": "yes"}, "'loud' must be true or false"),
    "str": ({"most": 1, "name": 3}, "'name' must be a text"),
    "list": ({"most": 1, "words": "a"}, "'words' must be a list"),
    "item": ({"most": 1, "words": ["a", 2]}, "'words' item 1 must be a text"),
    "dict": ({"most": 1, "table": []}, "'table' must be a mapping"),
    "literal": ({"most": 1, "mode": "c"}, "'mode' must be one of 'a', 'b', 3"),
    "literal-type": ({"most": 1, "mode": 3.0}, "'mode' must be one of"),
    "union": ({"most": 1, "either": []}, "'either' must be a whole number or be a text"),
}


@pytest.mark.parametrize("given", GOOD)
def test_right_values(given):
    assert check_params({"most": 1, **given}, PARAMS, "it") == []


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_wrong_values_are_told(given, message):
    (problem,) = check_params(given, PARAMS, "it")
    assert message in problem


def odd(gold, extracted, *, when: complex = 1j):
    return 1.0


def unknown(gold, extracted, *, when: Nowhere = 1):  # noqa: F821
    return 1.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda gold: 1.0, r"must take \(gold, extracted\) by position"),
        (lambda gold, extracted, most: 1.0, "parameters by keyword, after `[*]`"),
        (lambda gold, extracted, **more: 1.0, "must name its arguments"),
        (lambda *both: 1.0, "must name its arguments"),
        (odd, "parameter 'when': the annotation .* is no JSON type"),
        (unknown, "an annotation cannot be read .*Nowhere"),
    ],
    ids=["few", "many", "kwargs", "args", "odd", "unknown"],
)
def test_a_function_that_cannot_be_used_says_so(function, message):
    with pytest.raises(ConfigError, match=message):
        params_of(function, ("gold", "extracted"), "metric 'm'")
