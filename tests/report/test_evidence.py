from __future__ import annotations

from pathlib import Path

import pytest

from pytest_extract.core.case_result import Arm, Attempt, CaseResult, Outcome
from pytest_extract.core.results import FieldResult
from pytest_extract.documents import Document
from pytest_extract.report.evidence import TextLocation, find_value, page_texts, value_locations
from tests.records import field_result, score_record

TEXT = "Invoice 17\nACME   GmbH\nTotal 1,234.50 EUR\nacme gmbh\nagain 17 and 117\n"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        pytest.param("ACME GmbH", [(2, 1)], id="whatever-white-space"),
        pytest.param("Acme GMBH", [(2, 1), (4, 1)], id="any-case-if-no-exact-one"),
        pytest.param(17, [(1, 9), (5, 7)], id="whole-number-only"),
        pytest.param(1234.5, [(3, 7)], id="thousands-and-decimals"),
        pytest.param("nowhere", [], id="nowhere"),
        pytest.param(True, [], id="boolean"),
        pytest.param(None, [], id="null"),
        pytest.param("", [], id="empty"),
        pytest.param([17], [], id="list"),
        pytest.param(10**40, [], id="huge"),
    ],
)
def test_places(value: object, found: list[tuple[int, int]]) -> None:
    shown, count = find_value(value, page_texts(None, TEXT))
    assert [(place.line, place.column) for place in shown] == found
    assert count == len(found)


def test_only_the_first_places_are_told() -> None:
    shown, count = find_value("x", page_texts(None, "x " * 50))
    assert (len(shown), count) == (3, 50)


def test_pages_are_counted() -> None:
    shown, _ = find_value("x", page_texts(["a", "b\n x"], ""))
    assert [str(place) for place in shown] == ["page 2, line 2, column 2"]
    assert str(TextLocation(None, 1, 2)) == "line 1, column 2"


def result(*leaves: FieldResult) -> CaseResult:
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score_record(*leaves))
    return CaseResult(nodeid="n", case_id="c", file="f", arm=Arm(), outcome=Outcome.FAILED, attempts=(attempt, attempt))


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


def test_a_document_without_text_has_no_places(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    leaf = {"path": "a", "status": "omission", "gold": "x"}
    assert value_locations(result(leaf), Document(tmp_path / "a.png")) == {}
