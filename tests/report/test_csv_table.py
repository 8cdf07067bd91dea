from __future__ import annotations

import csv
import io
import json

import pytest

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Variant
from pytest_extract.report.exports import csv_table
from pytest_extract.report.run_report import RunReport
from tests.records import field_result, score_record


@pytest.mark.parametrize(
    ("path", "cell"),
    [
        pytest.param("=cmd()", "'=cmd()", id="formula"),
        pytest.param("@sum", "'@sum", id="at"),
        pytest.param("-1", "-1", id="number"),
        pytest.param('a,b\n"c"', 'a,b\n"c"', id="quoted"),
    ],
)
def test_no_cell_is_a_formula(path: str, cell: str) -> None:
    leaf = field_result("a", None)._replace(pattern=path)
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score_record(leaf))
    result = CaseResult(
        nodeid="n", case_id="c", file="f", variant=Variant(), outcome=Outcome.FAILED, attempts=(attempt,)
    )
    (row,) = csv.DictReader(csv_table(RunReport(results=[result])).splitlines(keepends=True))
    assert (row["pattern"], row["gold"], row["extracted"]) == (cell, "null", "")


@pytest.mark.parametrize(
    ("path", "cell"),
    [
        pytest.param("\t=1", "'\t=1", id="tabulator"),
        pytest.param("＝1", "'＝1", id="full width"),
        pytest.param("+49 30 1", "'+49 30 1", id="phone"),
        pytest.param("-1.5e3", "-1.5e3", id="negative"),
        pytest.param("-nan()", "'-nan()", id="no number"),
        pytest.param("a\x00b", "a\\x00b", id="nul"),
        pytest.param("a\rb", "a\\rb", id="carriage return"),
        pytest.param("\ud800", "\\ud800", id="lone surrogate"),
        pytest.param("漢字", "漢字", id="any script"),
    ],
)
def test_cells_can_be_written_and_read_anywhere(path: str, cell: str) -> None:
    leaf = field_result("a", path)._replace(pattern=path)
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score_record(leaf))
    result = CaseResult(
        nodeid="n", case_id="c", file="f", variant=Variant(), outcome=Outcome.FAILED, attempts=(attempt,)
    )
    written = csv_table(RunReport(results=[result])).encode("utf-8").decode("utf-8")
    (row,) = csv.DictReader(io.StringIO(written, newline=""))
    assert row["pattern"] == cell
    assert json.loads(row["gold"]) == path
