"""What reports say of lists that break off."""

from __future__ import annotations

from pytest_extract import compile_schema
from pytest_extract.core.aggregate.slices import list_recalls
from pytest_extract.core.case_result import Attempt, Outcome
from pytest_extract.report.lines import text_of
from pytest_extract.report.summary import list_tables, summary_lines
from tests.regression.make import result

SCORER = compile_schema(
    {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
        },
    }
)


def case(name, length, found):
    gold = {"rows": [{"n": number} for number in range(length)]}
    score = SCORER.score(gold, {"rows": gold["rows"][:found]})
    return result(name, Attempt(index=0, outcome=Outcome.FAILED, score=score.record()))


def test_a_list_that_breaks_off_is_told_with_its_place():
    results = [case(f"c{length}", length, min(length, 80)) for length in (30, 60, 90, 120, 150)]
    lines = [text_of(line) for line in summary_lines(results)]
    assert "rows is complete to row 80, and has 0 % of those beyond" in lines
    (table,) = list_tables(results)
    assert table.rows[-2:] == [
        ("31 to 100", "230", "78.3 %", "150", "93.3 %"),
        ("101 to 300", "70", "0 %", "270", "59.3 %"),
    ]
    assert table.notes == ["5 lists; rows is complete to row 80, and has 0 % of those beyond"]


def test_rows_beyond_the_last_bound_have_a_bin_of_their_own():
    (table,) = list_tables([case("a", 10_050, 10_020)])
    assert table.rows[-2:] == [
        ("3,001 to 10,000", "7,000", "100 %", "-", "-"),
        ("10,001 and more", "50", "40 %", "10,050", "99.7 %"),
    ]


def test_short_lists_and_whole_ones_say_nothing():
    assert list_recalls([case("a", 5, 3), case("b", 6, 6)]) == []
    assert not list_tables([case("a", 50, 50)])
