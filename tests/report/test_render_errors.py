"""A case that cannot be shown costs its own text: never another case's, the summary or a report."""

from dataclasses import replace

from pytest_extract.report.diff import DiffOptions, case_lines
from pytest_extract.report.exports import csv_table
from pytest_extract.report.html.page import page
from pytest_extract.report.markdown import markdown
from pytest_extract.report.run_report import RunReport
from tests.report.runs import scored, texts, wrong


def test_the_case_says_why_and_the_others_are_in_every_report():
    result = scored("odd", wrong(vendor="Else"))
    (attempt,) = result.attempts
    odd = 7  # parameters are a mapping; such a defect has been found once
    leaves = tuple(leaf._replace(params=odd) for leaf in attempt.score.leaves)
    odd = replace(result, attempts=(replace(attempt, score=replace(attempt.score, leaves=leaves)),))
    text = " ".join(each.strip() for each in texts(case_lines(odd, DiffOptions())))
    assert text.startswith("this case cannot be shown: AttributeError: 'int' object has no attribute 'items' in report")
    assert "the verdict holds" in text
    run = RunReport(results=[scored("fine", wrong(vendor="Other")), odd])
    for report in (page(run), markdown(run), csv_table(run)):
        assert "Other" in report
        assert "cannot be shown" in report
