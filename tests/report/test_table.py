from __future__ import annotations

import csv

import pytest

from pytest_extract.core.case_result import Arm, Attempt, CaseResult, Outcome
from pytest_extract.report.table import table


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
    leaf = {"path": path, "pattern": path, "metric": "text", "status": "omission", "score": 0.0, "gold": None}
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score={"leaves": [leaf]})
    result = CaseResult(nodeid="n", case_id="c", file="f", arm=Arm(), outcome=Outcome.FAILED, attempts=(attempt,))
    (row,) = csv.DictReader(table([result]).splitlines(keepends=True))
    assert (row["path"], row["gold"], row["extracted"]) == (cell, "null", "")
