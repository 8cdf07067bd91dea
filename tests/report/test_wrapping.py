"""Outputs whose text is more than their JSON are counted in every report, whatever their outcome."""

from __future__ import annotations

from pytest_extract.core.case_result import Attempt, Outcome
from pytest_extract.report.html.page import page
from pytest_extract.report.lines import text_of
from pytest_extract.report.markdown import markdown
from pytest_extract.report.run_report import RunReport
from pytest_extract.report.summary import totals_of, wrapped_lines
from tests.report.runs import GOLD, SCORER, case


def results():
    texts = {
        "plain": '{"vendor": "ACME GmbH"}',
        "fenced": '```json\n{"vendor": "x"}\n```',
        "prose": 'So: {"vendor": "x"}.',
    }
    for name, text in texts.items():
        score = SCORER.score_text(GOLD, text).record()
        yield case(name, Outcome.PASSED, Attempt(index=0, outcome=Outcome.PASSED, score=score, output=text))


def test_they_are_counted_by_kind_and_named_with_v():
    found = list(results())
    assert [text_of(line) for line in wrapped_lines(totals_of(found).wrapped)] == [
        "not bare JSON: 2 outputs: 1 fenced, 1 surrounded by prose"
    ]
    named = [text_of(line).strip() for line in wrapped_lines(totals_of(found).wrapped, verbosity=1)][1:]
    assert named[0] == "cases/all.extract.yaml::fenced: JSON taken from a fenced block"
    assert not wrapped_lines(totals_of(found[:1]).wrapped)


def test_each_report_says_so():
    run = RunReport(results=list(results()))
    for text in (page(run), markdown(run)):
        assert "2 outputs: 1 fenced, 1 surrounded by prose" in text
