"""Every line of a results file says how complex its case is, and a run's aggregate weighs it so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_extract.core.aggregate import aggregate
from pytest_extract.results import read_results

Write = Callable[..., None]


@pytest.mark.usefixtures("echo")
def test_results_carry_the_complexity(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("invoice")
    write_case("flat", {"a": 1}, schema={"properties": {"a": {"type": "integer"}}}, gold={"a": 2})
    pytester.runpytest("--extract-report=r.jsonl").assert_outcomes(passed=1, failed=1)
    results = sorted(read_results(pytester.path / "r.jsonl").results, key=lambda result: result.case_id)
    flat, invoice = results
    assert (flat.complexity, invoice.complexity) == ("easy", "medium")
    assert {flat.modality, invoice.modality} == {"text"}
    assert invoice.shape == {
        "fields": 4,
        "breadth": 3,
        "depth": 3,
        "arrays": 1,
        "array_items": 2,
        "leaves": 6,
        "values": 6,
    }
    means = aggregate(results, samples=20).measures["value_accuracy"]
    assert means.plain.mean == pytest.approx(1 / 2)
    assert means.weighted is not None
    assert means.weighted.mean == pytest.approx(2 / 3)


@pytest.mark.usefixtures("echo")
def test_a_case_may_say_how_complex_it_is(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a", tags={"complexity": "hard"})
    write_case("b", tags={"complexity": "very"})
    pytester.runpytest("--extract-report=r.jsonl").assert_outcomes(passed=2)
    said, odd = read_results(pytester.path / "r.jsonl").results
    assert (said.complexity, odd.complexity) == ("hard", "medium")
