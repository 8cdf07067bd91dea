"""Every score and pairing is as the stored digests say; `python -m tests.golden_digests` renews them and says what changed."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema
from tests import golden_digests
from tests.core.schemas import NUMBER, TEXT, obj, table
from tests.golden_digests import GROUPS, TIE, Scored, changes, digest_of, digests_of, random_table, scored, stored
from tests.shared_data import shared

RENEW = "`python -m tests.golden_digests` says what changed, and renews the digests"
SCHEMA = obj(rows=table(a=TEXT), total=NUMBER)
GOLD = {"rows": [{"a": "x"}, {"a": "y"}], "total": 1}


def of(output):
    return scored([compile_schema(SCHEMA).score(GOLD, output)])


@pytest.mark.parametrize("group", GROUPS)
def test_scores_and_pairings_are_as_stored(group):
    needs = GROUPS[group][0]
    if needs is not None:
        shared(needs)
    found = changes(stored()[group], digests_of(group))
    assert {name: what for name, what in found.items() if what != TIE} == {}, RENEW
    assert stored().keys() == GROUPS.keys()


def test_the_random_tables_hold_what_they_are_for():
    tables = [random_table(seed) for seed in range(golden_digests.TABLES)]
    overrides = [how["overrides"] for *_, how in tables]
    assert {each["rows"]["align"] for each in overrides} == {"position", "best_fit"}
    assert sum("rows[].items" in each for each in overrides) == len(tables) / 2
    assert any("weight" in each for own in overrides for each in own.values())
    found = [golden_digests.compare_table(seed) for seed in range(60)]
    statuses = {row[3] for each in found for row in each.rows if row[1] == "leaf"}
    assert statuses == {"match", "mismatch", "omission", "hallucination"}
    assert sum(any(row[1] == "leaf" and row[5] for row in each.rows) for each in found) > 6  # paired with another row


@pytest.mark.parametrize(
    ("output", "parts"),
    [
        pytest.param({"rows": [{"a": "x"}, {"a": "y"}], "total": 2}, "rows and measures", id="a wrong value"),
        pytest.param({"rows": [{"a": "y"}, {"a": "x"}], "total": 1}, TIE, id="rows in another order"),
        pytest.param({"rows": [{"a": "x"}], "total": 1}, "rows and measures", id="a row less"),
    ],
)
def test_a_digest_changes_with(output, parts):
    assert changes({"a": digest_of(of(GOLD))}, {"a": digest_of(of(output))}) == {"a": parts}


def test_other_pairs_of_the_same_sum_are_a_tie():
    one, other = ([["array", "rows", pairs, [], []]] for pairs in ([[0, 0], [1, 1]], [[0, 1], [1, 0]]))
    leaves = [["leaf", "rows[0].a", "mismatch", 0.5, None]]
    first, second = (Scored([[0, *row] for row in (*rows, *leaves)], [], [[0, "rows", 0.5]]) for rows in (one, other))
    assert changes({"a": digest_of(first)}, {"a": digest_of(second)}) == {"a": TIE}
    lower = second._replace(sums=[[0, "rows", 0.4]])
    assert changes({"a": digest_of(first)}, {"a": digest_of(lower)}) == {"a": "rows"}
    wrong = first._replace(rows=[*first.rows[:-1], [0, "leaf", "rows[0].a", "mismatch", 0.4, None]])
    assert changes({"a": digest_of(first)}, {"a": digest_of(wrong)}) == {"a": "rows"}


def test_the_order_of_rows_and_every_measure_count():
    right = of(GOLD)
    for other in (right._replace(rows=right.rows[::-1]), right._replace(measures=[{**right.measures[0], "f1": 0.5}])):
        assert digest_of(other) != digest_of(right)


def test_new_gone_and_changed_comparisons_are_named():
    told = changes({"a": "1 x y p s", "b": "1 x y p s"}, {"b": "2 x z p s", "c": "1 x y p s"})
    assert told == {"a": "gone", "b": "number of rows and measures", "c": "new"}
