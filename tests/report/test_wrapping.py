"""Outputs whose text is more than their JSON are counted in every report, whatever their outcome."""

from __future__ import annotations

from dataclasses import replace

from pytest_extract.core.case_result import Attempt, Outcome
from pytest_extract.report.html.page import page
from pytest_extract.report.lines import text_of
from pytest_extract.report.markdown import markdown
from pytest_extract.report.run_report import RunReport
from pytest_extract.report.summary import remark_lines, totals_of
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


def test_they_are_named_with_their_kinds():
    found = list(results())
    assert [text_of(line) for line in remark_lines(totals_of(found).remarks, width=100)][-1] == (
        "not bare JSON, in 2 cases: fenced (fenced), prose (surrounded by prose)"
    )
    assert not any("JSON" in text_of(line) for line in remark_lines(totals_of(found[:1]).remarks, width=100))


def test_cases_of_one_id_in_two_files_are_two():
    fenced = list(results())[1]
    twin = replace(fenced, file="other.extract.yaml", nodeid=f"other.extract.yaml::{fenced.case_id}")
    lines = [text_of(line) for line in remark_lines(totals_of([fenced, twin]).remarks, width=100)]
    assert lines[-1] == "not bare JSON, in 2 cases: fenced (fenced), fenced (fenced)"


def test_each_report_says_so():
    run = RunReport(results=list(results()))
    for text in (page(run), markdown(run)):
        assert "fenced (fenced), prose (surrounded by prose)" in text
