from __future__ import annotations

from typing import Any

import pytest

from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING
from pytest_extract.report.findings import findings_of, fold_failures, mistake_text, split_known
from tests.records import field_result as entry


def told(*results: FieldResult) -> list[tuple[str, str, int]]:
    return [(str(item.result.path), item.note, item.stands_for) for item in fold_failures(results)]


def test_the_outermost_missing_row_is_told() -> None:
    entries = [
        entry("a[0].x", 1), entry("a[0].b[0].y", 2), entry("a[0].b[0].z", 3),
        entry("a[1].x", 1, 1), entry("a[1].b[0].y", 2), entry("a[1].b[0].z", 3), entry("a[1].b[1].y", 2),
    ]  # fmt: skip
    assert told(*entries) == [
        ("a[0]", "whole row missing, 3 fields", 3),
        ("a[1].b", "whole array missing, 2 rows", 3),
    ]


def test_a_row_of_an_array_that_is_not_missing_whole_is_told_by_itself() -> None:
    entries = [entry("b[0].y", 2), entry("b[0].z", 3), entry("b[1].y", 2, 2), entry("b[2].y", 2)]
    assert told(*entries) == [("b[0]", "whole row missing, 2 fields", 2), ("b[2].y", "", 1)]


@pytest.mark.parametrize(
    ("entries", "folded"),
    [
        pytest.param(
            [entry("v.a", 1), entry("v.b", 2), entry("c", 1, 1)],
            [("v", "whole object missing, 2 fields", 2)],
            id="object",
        ),
        pytest.param(
            [entry("v.a", extracted=1), entry("v.w.b", extracted=2)],
            [("v", "invented object, 2 fields", 2)],
            id="invented",
        ),
        pytest.param([entry("v.a", 1), entry("v.b", 2, 2)], [("v.a", "", 1)], id="a-part"),
        pytest.param([entry("v.a", 1)], [("v.a", "", 1)], id="one-field"),
        pytest.param([entry("t[0]", 1), entry("t[1]", 1)], [("t", "whole array missing, 2 values", 2)], id="scalars"),
    ],
)
def test_wholes(entries: list[FieldResult], folded: list[tuple[str, str, int]]) -> None:
    assert told(*entries) == folded


def test_a_whole_is_put_together_again() -> None:
    entries = [entry("v.a", 1), entry("v.rows[0].x", 2), entry("v.rows[1].x", 3), entry('v["o.k"]', 4)]
    assert fold_failures(entries)[0].result.gold == {"a": 1, "rows": [{"x": 2}, {"x": 3}], "o.k": 4}


def told_of_rows(gold: str, extracted: str) -> list[tuple[str, str, int]]:
    """Return the findings of two lists of rows that are compared by position, with their mistakes."""
    leaf = {"type": "string", "x-eval-compare": "exact"}
    row = {"properties": {"x": leaf, "y": leaf}}
    schema = {"properties": {"r": {"type": "array", "x-eval-align": {"ordered": True}, "items": row}}}
    golds, found = ({"r": [{"x": char, "y": char * 2} for char in side]} for side in (gold, extracted))
    score = compile_schema(schema).score(golds, found).record()
    findings = findings_of(split_known(score, ()).counted, mistakes=score.mistakes)
    return [(str(each.result.path), mistake_text(each) or each.note, each.stands_for) for each in findings]


@pytest.mark.parametrize(
    ("gold", "extracted", "folded"),
    [
        pytest.param("abcde", "abde", [("r", "row 2 is missing; the rows after stand earlier", 6)], id="gap"),
        pytest.param("abcd", "axbcd", [("r", "row 1 is invented; the rows after stand later", 8)], id="insertion"),
        pytest.param("abcde", "ae", [("r", "rows 1 to 3 are missing; the rows after stand earlier", 8)], id="wide-gap"),
        pytest.param("abc", "xabc", [("r", "row 0 is invented; the rows after stand later", 8)], id="first"),
    ],
)
def test_rows_moved_by_a_gap_or_an_insertion(gold: str, extracted: str, folded: list[tuple[str, str, int]]) -> None:
    assert told_of_rows(gold, extracted) == folded


@pytest.mark.parametrize(("gold", "extracted"), [("abcde", "abxe"), ("abc", "ab"), ("abc", "abcd"), ("abcd", "axyzq")])
def test_rows_that_no_gap_explains_stay(gold: str, extracted: str) -> None:
    assert not any("after stand" in told for _, told, _ in told_of_rows(gold, extracted))


@pytest.mark.parametrize(
    ("gold", "extracted", "folded"),
    [
        pytest.param("abcdef", "abc", [("r[3]", "the list ends after 3 of 6 rows", 6)], id="cut"),
        pytest.param("ab", "abcd", [("r[-1]", "invented row, 2 fields", 2), ("r[-2]", "invented row, 2 fields", 2)], id="invented"),
        pytest.param("ab", "abcdef", [("r[-1]", "4 items invented: 2, 3, 4 and 1 more", 8)], id="many-invented"),
        pytest.param("abcd", "ab", [("r[2]", "the list ends after 2 of 4 rows", 4)], id="two"),
    ],
)  # fmt: skip
def test_rows_on_one_side_that_follow_each_other(gold: str, extracted: str, folded: list[tuple[str, str, int]]) -> None:
    assert told_of_rows(gold, extracted) == folded


_LEAF: Any = {"type": "string", "x-eval-compare": "exact"}
_PAIR: Any = {"properties": {"x": _LEAF, "y": {"type": "array", "x-eval-align": {"ordered": True}, "items": _LEAF}}}


@pytest.mark.parametrize(
    ("items", "rows", "path", "metric", "first"),
    [
        pytest.param(_LEAF, [*"abcdef"], "t[2]", "exact", "c", id="values"),
        pytest.param({"properties": {"x": _LEAF}}, [{"x": x} for x in "abcd"], "t[2].x", "exact", "c", id="one-field"),
        pytest.param(_PAIR, [{"x": x, "y": [x, "z"]} for x in "abcd"], "t[2]", "row", {"x": "c", "y": ["c", "z"]}, id="rows"),
    ],
)  # fmt: skip
def test_a_list_that_breaks_off_shows_its_first_lost_row(
    items: Any, rows: list[Any], path: str, metric: str, first: Any
) -> None:
    schema = {"properties": {"t": {"type": "array", "x-eval-align": {"ordered": True}, "items": items}}}
    score = compile_schema(schema).score({"t": rows}, {"t": rows[:2]}).record()
    (finding,) = findings_of(split_known(score, ()).counted, mistakes=score.mistakes)
    result = finding.result
    assert (str(result.path), result.status, result.metric) == (path, Status.OMISSION, metric)
    assert (result.gold, result.extracted) == (first, MISSING)
    assert mistake_text(finding) == f"the list ends after 2 of {len(rows)} rows"


def test_a_list_that_breaks_off_stands_in_document_order() -> None:
    rows = {"type": "array", "x-eval-align": {"ordered": True}, "items": _LEAF}
    schema = {"properties": {"a": _LEAF, "t": rows, "z": _LEAF}}
    score = (
        compile_schema(schema).score({"a": "1", "t": [*"abcd"], "z": "1"}, {"a": "2", "t": ["a"], "z": "2"}).record()
    )
    findings = findings_of(split_known(score, ()).counted, mistakes=score.mistakes)
    assert [str(each.result.path) for each in findings] == ["a", "t[1]", "z"]


def test_an_invented_inner_row_keeps_where_it_stands() -> None:
    folded = fold_failures(
        [
            entry("a[0].b[-1].y", extracted=1, matched="a[0].b[4].y"),
            entry("a[0].b[-1].z", extracted=2),
            entry("a[0].x", 1, 1),
        ]
    )
    assert [(str(item.result.path), str(item.result.matched)) for item in folded] == [
        ("a[0].b[-1]", "a[0].b[4]"),
    ]


def test_inner_rows_may_be_swapped() -> None:
    entries = [
        entry("a[0].b[0].y", 1, 2),
        entry("a[0].b[1].y", 2, 1),
        entry("a[1].b[0].y", 1, 2),
        entry("a[0].x", 1, 1),
    ]
    assert told(*entries) == [
        ("a[0].b", "2 rows in another order: 0 at 1, 1 at 0", 2),
        ("a[1].b[0].y", "", 1),
    ]


def test_rows_that_alignment_has_paired_are_not_called_swapped() -> None:
    entries = [entry("a[0].y", 1, 2, matched="a[1].y"), entry("a[1].y", 2, 1, matched="a[0].y")]
    assert [note for _, note, _ in told(*entries)] == ["", ""]


def test_two_swaps_and_a_longer_cycle_in_one_list() -> None:
    places = [1, 0, 3, 4, 2]
    entries = [entry(f"a[{i}].y", f"v{i}", f"v{places.index(i)}") for i in range(5)]
    assert told(*entries) == [
        ("a", "5 rows in another order: 0 at 1, 1 at 0, 2 at 3, 3 at 4, 4 at 2", 5),
    ]


def test_rows_in_another_order_are_one_finding() -> None:
    row = {"properties": {"x": _LEAF, "y": _LEAF}}
    position = {"align": "position"}
    schema = {"properties": {name: {"type": "array", "items": items} for name, items in (("r", row), ("t", _LEAF))}}
    gold: Any = {"r": [{"x": char, "y": char * 2} for char in "abcd"], "t": [*"xyz"]}
    extracted = {"r": [gold["r"][place] for place in (1, 2, 0, 3)], "t": [*"yxz"]}
    score = compile_schema(schema, overrides={"r": position, "t": position}).score(gold, extracted).record()
    findings = findings_of(split_known(score, ()).counted, mistakes=score.mistakes)
    assert [(str(each.result.path), each.note, mistake_text(each), each.stands_for) for each in findings] == [
        ("r", "3 rows in another order: 0 at 2, 1 at 0, 2 at 1", "", 6),
        ("t", "2 rows in another order: 0 at 1, 1 at 0", "", 2),
    ]
