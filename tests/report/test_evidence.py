from __future__ import annotations

from pathlib import Path

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Variant
from pytest_extract.core.results import FieldResult
from pytest_extract.documents import Document
from pytest_extract.report.findings import value_locations
from tests.records import field_result, score_record

TEXT = "Invoice 17\nACME   GmbH\nTotal 1,234.50 EUR\nacme gmbh\nagain 17 and 117\n"


def result(*leaves: FieldResult) -> CaseResult:
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score_record(*leaves))
    return CaseResult(
        nodeid="n", case_id="c", file="f", variant=Variant(), outcome=Outcome.FAILED, attempts=(attempt, attempt)
    )


def test_the_places_of_a_result_are_those_of_failing_fields() -> None:
    leaves = (
        field_result("a", "ACME GmbH", "Acme Ltd"),
        field_result("b", 17),
        field_result("c", 17, 17),
        field_result("d", extracted=True),
    )
    assert value_locations(result(*leaves), Document(text=TEXT)) == {
        "a": "gold at line 2, column 1; extracted stands nowhere in the document",
        "b": "gold at line 1, column 9; line 5, column 7",
    }


def test_only_the_first_places_are_told() -> None:
    leaf = field_result("a", 7, 5)
    assert value_locations(result(leaf), Document(text="7 " * 50))["a"] == (
        "gold at line 1, column 1; line 1, column 3; line 1, column 5 and 47 more; extracted stands nowhere in the document"
    )


def test_a_document_without_text_has_no_places(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    leaf = field_result("a", "x")
    assert value_locations(result(leaf), Document(tmp_path / "a.png")) == {}
