"""What is one finding: wholes, rows in another order, rows moved, lists that break off; and where values stand."""

import pytest

from pytest_extract.core.case_result import Attempt, Outcome
from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING
from pytest_extract.documents import Document
from pytest_extract.report.findings import findings_of, mistake_text, split_known, value_locations
from tests.records import field_result as entry
from tests.records import score_record
from tests.report.runs import case


@pytest.mark.parametrize(
    ("entries", "folded"),
    [
        ([entry("v.a", 1), entry("v.b", 2), entry("c", 1, 1)], [("v", "whole object, 2 fields", 2)]),
        ([entry("v.a", extracted=1), entry("v.w.b", extracted=2)], [("v", "whole object, 2 fields", 2)]),
        ([entry("t[0]", 1), entry("t[1]", 1)], [("t", "whole array, 2 values", 2)]),
        ([entry("v.a", 1), entry("v.b", 2, 2)], [("v.a", "", 1)]),
        ([entry("v.a", 1)], [("v.a", "", 1)]),
        (  # of an array that is not missing whole, a row by itself
            [entry("b[0].y", 2), entry("b[0].z", 3), entry("b[1].y", 2, 2), entry("b[2].y", 2)],
            [("b[0]", "whole row, 2 fields", 2), ("b[2].y", "", 1)],
        ),
        (  # the outermost
            [
                entry("a[0].x", 1),
                entry("a[0].b[0].y", 2),
                entry("a[1].x", 1, 1),
                entry("a[1].b[0].y", 2),
                entry("a[1].b[1].y", 2),
            ],
            [("a[0]", "whole row, 2 fields", 2), ("a[1].b", "whole array, 2 rows", 2)],
        ),
        (  # two swaps and a longer cycle in one list
            [entry(f"a[{row}].y", f"v{row}", f"v{other}") for row, other in enumerate([1, 0, 4, 2, 3])],
            [("a", "5 rows in another order: 0 at 1, 1 at 0, 2 at 3, 3 at 4, 4 at 2", 5)],
        ),
        (
            [entry("a[0].b[0].y", 1, 2), entry("a[0].b[1].y", 2, 1), entry("a[1].b[0].y", 1, 2), entry("a[0].x", 1, 1)],
            [("a[0].b", "2 rows in another order: 0 at 1, 1 at 0", 2), ("a[1].b[0].y", "", 1)],
        ),
        ([entry("t[0]", 1, 2), entry("t[1]", 2, 1)], [("t", "2 rows in another order: 0 at 1, 1 at 0", 2)]),
        (  # which alignment has paired
            [entry("a[0].y", 1, 2, matched="a[1].y"), entry("a[1].y", 2, 1, matched="a[0].y")],
            [("a[0].y", "", 1), ("a[1].y", "", 1)],
        ),
    ],
)
def test_wholes_and_rows_in_another_order(entries, folded):
    assert [(str(item.result.path), item.note, item.stands_for) for item in findings_of(entries)] == folded


def test_a_whole_is_put_together_again_and_keeps_where_it_stands():
    entries = [entry("v.a", 1), entry("v.rows[0].x", 2), entry("v.rows[1].x", 3), entry('v["o.k"]', 4)]
    assert findings_of(entries)[0].result.gold == {"a": 1, "rows": [{"x": 2}, {"x": 3}], "o.k": 4}
    inner = [entry("b[-1].y", extracted=1, matched="b[4].y"), entry("b[-1].z", extracted=2), entry("x", 1, 1)]
    assert [str(item.result.matched) for item in findings_of(inner)] == ["b[4]"]


LEAF = {"type": "string", "x-eval-compare": "exact"}
ROW = {"properties": {"x": LEAF, "y": LEAF}}
NESTED = {"properties": {"x": LEAF, "y": {"type": "array", "x-eval-align": {"ordered": True}, "items": LEAF}}}


def findings(items, gold, extracted, other="1"):
    """Return the findings of two lists that are compared by position; `other`: what was extracted around the list."""
    rows = {"type": "array", "x-eval-align": {"ordered": True}, "items": items}
    scorer = compile_schema({"properties": {"a": LEAF, "r": rows, "z": LEAF}})
    score = scorer.score({"a": "1", "r": gold, "z": "1"}, {"a": other, "r": extracted, "z": other}).record()
    return findings_of(split_known(score, ()).counted, mistakes=score.mistakes)


@pytest.mark.parametrize(
    ("gold", "extracted", "folded"),
    [
        ("abcde", "abde", [("r", "row 2 is missing; the rows after stand earlier", 6)]),
        ("abcd", "axbcd", [("r", "row 1 is invented; the rows after stand later", 8)]),
        ("abcde", "ae", [("r", "rows 1 to 3 are missing; the rows after stand earlier", 8)]),
        ("abc", "xabc", [("r", "row 0 is invented; the rows after stand later", 8)]),
        ("abcdef", "abc", [("r[3]", "the list ends after 3 of 6 rows", 6)]),
        ("abcd", "ab", [("r[2]", "the list ends after 2 of 4 rows", 4)]),
        ("ab", "abcd", [("r[-1]", "whole row, 2 fields", 2), ("r[-2]", "whole row, 2 fields", 2)]),
        ("ab", "abcdef", [("r[-1]", "4 items invented: 2, 3, 4, 5", 8)]),
        ("abcd", "bcad", [("r", "3 rows in another order: 0 at 2, 1 at 0, 2 at 1", 6)]),
        ("abc", "ab", [("r[2]", "whole row, 2 fields", 2)]),
    ],
)
def test_rows_moved_by_a_gap_lost_or_invented(gold, extracted, folded):
    found = findings(ROW, *([{"x": char, "y": char * 2} for char in side] for side in (gold, extracted)))
    assert [(str(each.result.path), mistake_text(each) or each.note, each.stands_for) for each in found] == folded


@pytest.mark.parametrize(
    ("gold", "extracted", "rows"),
    [("abcde", "abxe", [2, 3, 4]), ("abc", "abcd", [-1]), ("abcd", "axyzq", [1, 2, 3, -1])],
)
def test_rows_that_no_gap_explains_stay(gold, extracted, rows):
    assert [each.result.path for each in findings(LEAF, [*gold], [*extracted])] == [("r", row) for row in rows]


@pytest.mark.parametrize(
    ("items", "rows", "path", "metric"),
    [
        (LEAF, [*"abcdef"], "r[2]", "exact"),
        ({"properties": {"x": LEAF}}, [{"x": x} for x in "abcd"], "r[2].x", "exact"),
        (NESTED, [{"x": x, "y": [x, "z"]} for x in "abcd"], "r[2]", "row"),
    ],
)
def test_a_list_that_breaks_off_shows_its_first_lost_row(items, rows, path, metric):
    (finding,) = findings(items, rows, rows[:2])
    result = finding.result
    assert (str(result.path), result.status, result.metric) == (path, Status.OMISSION, metric)
    assert (result.gold, result.extracted) == ("c" if metric == "exact" else rows[2], MISSING)
    assert mistake_text(finding) == f"the list ends after 2 of {len(rows)} rows"


def test_a_list_that_breaks_off_stands_in_document_order():
    assert [str(each.result.path) for each in findings(LEAF, [*"abcd"], ["a"], "2")] == ["a", "r[1]", "z"]


# --- where values stand in the document


def test_the_places_of_a_result_are_those_of_failing_fields(tmp_path):
    def places(text, *leaves):
        attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score_record(*leaves))
        result = case("c", Outcome.FAILED, attempt, attempt)
        return value_locations(result, Document(tmp_path / "a.png") if text is None else Document(text=text))

    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    leaves = [entry("a", "ACME GmbH", "Acme Ltd"), entry("b", 17), entry("c", 17, 17), entry("d", extracted=True)]
    assert places("Invoice 17\nACME   GmbH\nTotal 1,234.50 EUR\nacme gmbh\nagain 17 and 117\n", *leaves) == {
        "a": "gold at line 2, column 1; extracted stands nowhere in the document",
        "b": "gold at line 1, column 9; line 5, column 7",
    }
    many = places("7 " * 50, entry("a", 7))["a"]
    assert many == "gold at line 1, column 1; line 1, column 3; line 1, column 5 and 47 more"
    assert places(None, *leaves) == {}
