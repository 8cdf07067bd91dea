"""A case that cannot be shown costs its own text: never another case's, the summary or a report."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import SchemaError
from pytest_extract.report.diff import DiffOptions, case_lines, score_lines, value_difference
from pytest_extract.report.exports import csv_table
from pytest_extract.report.html.page import page
from pytest_extract.report.lines import show, text_of
from pytest_extract.report.markdown import markdown
from pytest_extract.report.run_report import RunReport
from tests.report.runs import scored, wrong

HUGE: list[Any] = [10**400, -(10**400), 10**4299, 2**1024, 1e308, -1e308, 5e-324, 0, 1, 1.5, "9" * 400, [10**400]]


def test_any_two_numbers_can_be_told_apart() -> None:
    for gold, extracted in itertools.product(HUGE, HUGE):
        assert show(gold, 40)
        assert text_of(value_difference(gold, extracted, 60)).isprintable()
    assert text_of(value_difference(0, 10**400, 60)) == "off by more than a float holds"


@pytest.mark.slow
@pytest.mark.parametrize("metric", [None, *METRICS])
@pytest.mark.parametrize("semantics", ["default", "extract-bench", "struct-extract-eval"])
def test_every_metric_scores_and_shows_huge_numbers(metric: str | None, semantics: str) -> None:
    try:
        scorer = compile_schema(
            {"type": "object", "properties": {"a": {}}},
            semantics=semantics,
            overrides={"a": metric} if metric else None,
            judge_mode="exact",
        )
    except SchemaError:
        pytest.skip("the metric needs parameters")
    for gold, extracted in itertools.product(HUGE, HUGE):
        score = scorer.score({"a": gold}, {"a": extracted})
        assert 0.0 <= score.measures["mean_score"] <= 1.0
        assert score_lines(score.record(), DiffOptions(verbosity=2))


def unreadable(name: str) -> CaseResult:
    """Make a case whose results are not what a report expects; such a defect has been found once."""
    result = scored(name, wrong(vendor="Else"))
    (attempt,) = result.attempts
    assert attempt.score is not None
    odd: Any = 7  # parameters are a mapping
    leaves = tuple(leaf._replace(params=odd) for leaf in attempt.score.leaves)
    return replace(result, attempts=(replace(attempt, score=replace(attempt.score, leaves=leaves)),))


def test_the_terminal_says_that_and_why_a_case_cannot_be_shown() -> None:
    text = " ".join(text_of(line).strip() for line in case_lines(unreadable("odd"), DiffOptions()))
    assert text.startswith(
        "this case cannot be shown: AttributeError: 'int' object has no attribute 'items' in report/"
    )
    assert "the verdict holds" in text


def test_the_other_cases_are_in_every_report() -> None:
    results = [scored("fine", wrong(vendor="Other")), unreadable("odd")]
    rows = csv_table(RunReport(results=results)).splitlines()
    assert any(row.startswith("odd,") and "cannot be shown" in row for row in rows)
    assert any(row.startswith("fine,") and "Other" in row for row in rows)
    run = RunReport(results=results)
    for text in (page(run), markdown(run)):
        assert "Other" in text
        assert "cannot be shown" in text
