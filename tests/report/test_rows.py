from __future__ import annotations

import pytest

from pytest_extract.core.values import MISSING
from pytest_extract.report.entries import Entry
from pytest_extract.report.rows import fold_rows, rows_of


def entry(path: str, gold: object = MISSING, extracted: object = MISSING, matched: str | None = None) -> Entry:
    status = "omission" if extracted is MISSING else "hallucination" if gold is MISSING else "mismatch"
    return Entry(
        path=path,
        pattern=path,
        metric="text",
        params={},
        status="match" if gold == extracted else status,
        score=float(gold == extracted),
        gold=gold,
        extracted=extracted,
        reason=None,
        weight=1.0,
        matched=matched,
    )


def told(*entries: Entry) -> list[tuple[str, str, int]]:
    return [(item.path, item.note, item.stands_for) for item in fold_rows(entries)]


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        pytest.param("a.b", [], id="none"),
        pytest.param("a[3].b", [("a", 3, "a[3]", 0, ".b")], id="one"),
        pytest.param(
            "a[3].b[-1]", [("a", 3, "a[3]", 0, ".b[-1]"), ("a[3].b", -1, "a[3].b[-1]", 1, "")], id="nested-and-invented"
        ),
        pytest.param("[0][1]", [("$", 0, "[0]", 0, "[1]"), ("[0]", 1, "[0][1]", 1, "")], id="root"),
        pytest.param('["x[3]"].b', [], id="bracket-in-a-key"),
        pytest.param('["a\\"]b"][2]', [('["a\\"]b"]', 2, '["a\\"]b"][2]', 0, "")], id="quote-in-a-key"),
    ],
)
def test_rows_of(path: str, rows: list[tuple[object, ...]]) -> None:
    assert [(*row, rest) for row, rest in rows_of(path)] == rows


def test_the_outermost_missing_row_is_told() -> None:
    entries = [
        entry("a[0].x", 1), entry("a[0].b[0].y", 2), entry("a[0].b[0].z", 3),
        entry("a[1].x", 1, 1), entry("a[1].b[0].y", 2), entry("a[1].b[0].z", 3), entry("a[1].b[1].y", 2),
    ]  # fmt: skip
    assert told(*entries) == [
        ("a[0]", "whole row missing, 3 fields", 3),
        ("a[1].x", "", 1),
        ("a[1].b[0]", "whole row missing, 2 fields", 2),
        ("a[1].b[1].y", "", 1),
    ]


def test_an_invented_inner_row_keeps_where_it_stands() -> None:
    folded = fold_rows(
        [
            entry("a[0].b[-1].y", extracted=1, matched="a[0].b[4].y"),
            entry("a[0].b[-1].z", extracted=2),
            entry("a[0].x", 1, 1),
        ]
    )
    assert [(item.path, item.matched) for item in folded] == [("a[0].b[-1]", "a[0].b[4]"), ("a[0].x", None)]


def test_inner_rows_may_be_swapped() -> None:
    entries = [
        entry("a[0].b[0].y", 1, 2),
        entry("a[0].b[1].y", 2, 1),
        entry("a[1].b[0].y", 1, 2),
        entry("a[0].x", 1, 1),
    ]
    assert told(*entries) == [
        ("a[0].b", "rows 0 and 1 swapped", 2),
        ("a[1].b[0].y", "", 1),
        ("a[0].x", "", 1),
    ]


def test_rows_that_alignment_has_paired_are_not_called_swapped() -> None:
    entries = [entry("a[0].y", 1, 2, matched="a[1].y"), entry("a[1].y", 2, 1, matched="a[0].y")]
    assert [note for _, note, _ in told(*entries)] == ["", ""]


def test_two_swaps_and_a_longer_cycle_in_one_list() -> None:
    places = [1, 0, 3, 4, 2]
    entries = [entry(f"a[{i}].y", f"v{i}", f"v{places.index(i)}") for i in range(5)]
    assert told(*entries) == [
        ("a", "rows 0 and 1 swapped", 2),
        ("a", "3 rows in another order: 2 at 3, 3 at 4, 4 at 2", 3),
    ]
