from __future__ import annotations

import pytest

from pytest_extract import compile_schema
from tests.core.metrics.helpers import bound

HUGE = 10**400


@pytest.mark.parametrize(
    ("metric", "params", "gold", "extracted", "score"),
    [
        ("number", {}, 1.0, 1.0 + 5e-10, 1.0),
        ("number", {}, 1.0, 1.0 + 5e-9, 0.0),
        ("number", {"abs": 0.5}, 0, 0.5, 1.0),
        ("number", {}, "x  y", "x y", 1.0),
        ("number", {}, True, 1, 0.0),
        ("number", {}, True, True, 1.0),
        ("number", {}, float("inf"), 1e308, 0.0),
        ("number", {}, HUGE, HUGE + 1, 0.0),
        ("number", {"rel": 1e-9}, HUGE, HUGE + 1, 1.0),
        ("number", {"rel": 0}, HUGE, HUGE + 1, 0.0),
        ("number", {}, 4006381333931.0, 4006381330931, 0.0),
        ("number", {}, 2.512292042121e18, 2512292042121000001, 0.0),
        ("number", {"abs": 1}, 4006381333931, 4006381333932, 1.0),
        ("number", {}, 3.0, 2.9999999999999996, 1.0),
        ("number", {"rel": 0}, 2**53, 2**53 + 1, 0.0),
        ("number", {"rel": 1}, HUGE, 1.5, 1.0),
        ("integer", {}, "42", 42, 0.0),
        ("integer", {}, 42.5, 42.5, 1.0),
        ("integer", {}, HUGE, HUGE + 1, 0.0),
        ("number_exact", {}, " 7 ", 7, 1.0),
        ("number_exact", {}, "1,000", 1000, 0.0),
        ("number_exact", {}, "nan", "nan", 1.0),
        ("number_exact", {}, HUGE, HUGE + 1, 0.0),
        ("number_tolerance", {"tolerance": "0.5"}, 42.5, 42, 1.0),
        ("number_tolerance", {"tolerance": 1e-13}, 1e-13, 0.0, 1.0),
        ("number_tolerance", {}, HUGE, HUGE + 1, 0.0),
        ("number_tolerance", {}, HUGE, 1.0, 0.0),
        ("number_tolerance", {}, float("inf"), float("inf"), 1.0),
        ("integer_exact", {}, "42.0", 42, 0.0),
        ("integer_exact", {}, "inf", "Infinity", 1.0),
        ("integer_exact", {}, -42.9, -42, 0.0),
        ("integer_exact", {}, "yes", "no", 0.0),
        ("numeric", {}, "a", "a", 1.0),
        ("numeric", {"tolerance": {"rel": 0.01}}, 0, 0.001, 1.0),
        ("numeric", {"tolerance": {"rel": 0.01}}, "inf", 5, 0.0),
        ("numeric", {"tolerance": {"abs": -1}}, 5, 6, 0.0),
        ("numeric", {}, HUGE, HUGE, 1.0),
        ("numeric", {"tolerance": {"rel": 0.1}}, HUGE, HUGE + 1, 1.0),
    ],
)
def test_under_our_semantics(metric, params, gold, extracted, score):
    assert bound(metric, params).compare(gold, extracted) == score


@pytest.mark.parametrize(
    ("metric", "params", "semantics", "gold", "extracted", "score"),
    [
        ("number_exact", {}, "extract-bench", "nan", "nan", 0.0),
        ("number_exact", {}, "extract-bench", 2**53 + 1, 2**53, 1.0),
        ("number_tolerance", {}, "extract-bench", "nan", "nan", 0.0),
        ("number_tolerance", {"tolerance": 1}, "extract-bench", True, False, 1.0),
        ("number_tolerance", {"tolerance": 1}, "extract-bench", True, 1, 0.0),
        ("numeric", {}, "struct-extract-eval", None, None, 1.0),
        ("numeric", {}, "struct-extract-eval", [1], [1], 0.0),
        ("numeric", {"tolerance": {"rel": 0.01}}, "struct-extract-eval", "inf", 5, 1.0),
        ("numeric", {"tolerance": {"abs": -1}}, "struct-extract-eval", 5, 5, 0.0),
        ("numeric", {"tolerance": {"abs": 1}}, "struct-extract-eval", 100, 101.0001, 0.0),
    ],
)
def test_as_published(metric, params, semantics, gold, extracted, score):
    assert bound(metric, params, semantics).compare(gold, extracted) == score


@pytest.mark.parametrize(
    ("metric", "gold", "extracted", "reason"),
    [
        ("number", 100, 101.2, "off by 1.2, relative error 0.012"),
        ("number", 0, 2, "off by 2"),
        ("number", 500_000_000, 50_000_000, "off by 450,000,000, relative error 0.9"),
        ("number", 0.125, 2000, "off by 1,999.88, relative error 1.6e+04"),
        ("number", 5, "abc", 'not a number: "abc"'),
        ("number", "a", "b", 'not a number: "a"'),
        ("number", HUGE, 1, "off by more than a float can hold"),
        ("number_exact", "$5", 5, 'not a number: "$5"'),
    ],
)
def test_reasons(metric, gold, extracted, reason):
    assert bound(metric).explain(gold, extracted) == reason


@pytest.mark.parametrize("name", ["number", "number_tolerance", "numeric"])
@pytest.mark.parametrize(
    "numbers", [[1e308 * (1 + n / 100) for n in range(20)], [HUGE, -HUGE, 1.5, 2.5]], ids=["sum", "one"]
)
def test_lists_with_numbers_beyond_a_float_are_scored(name, numbers):
    item = {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "number"}}}
    item["properties"]["n"]["evaluation_config"] = name
    scorer = compile_schema(
        {"type": "array", "items": item, "evaluation_config": {"align": "best_fit"}}, semantics="default"
    )
    gold = [{"id": str(place), "n": number} for place, number in enumerate(numbers)]
    extracted = [{**row, "id": f"{row['id']}?"} for row in reversed(gold)]
    assert scorer.score(gold, extracted).measures["mean_score"] == pytest.approx(0.5)
