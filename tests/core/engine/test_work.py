"""The work of pairing rows: what each kind of field costs grows with the rows, not with their pairs."""

from __future__ import annotations

import random
from collections import Counter
from sys import setprofile

import pytest

from pytest_extract import compile_schema
from tests.core.schemas import INTEGER, NUMBER, TEXT, array, obj, table

WORDS = [f"word {number}" for number in range(40)]
PART = obj(n=TEXT, c=NUMBER)
EITHER = {"anyOf": [TEXT, NUMBER]}
TYPED = {"city": TEXT, "price": NUMBER}
ROWS = {
    "typed": (TYPED, {}),
    "untyped": ({"city": {}, "price": {}}, {}),
    "types": ({"city": TEXT, "price": {"type": ["number", "string"]}}, {}),
    "alternatives": ({"city": EITHER, "price": EITHER}, {}),
    "another type": ({"city": INTEGER, "price": TEXT}, {}),
    "object or text": ({"city": {"anyOf": [PART, TEXT]}}, {}),
    "undeclared": ({}, {}),
    "lists": ({"tags": array(TEXT), "parts": array(PART)}, {}),
    "untyped lists": ({"tags": {"type": "array"}, "parts": {"type": "array"}}, {}),
    "lists of alternatives": ({"tags": array(EITHER), "parts": array({"anyOf": [PART, TEXT]})}, {}),
    "list or text": ({"tags": {"anyOf": [array(TEXT), TEXT]}}, {}),
    "lists of any objects": ({"parts": array({"type": "object"})}, {}),
    "two metrics": ({"city": {"evaluation_config": {"metrics": [{"metric_id": "exact"}, {"metric_id": "fuzzy"}]}}}, {}),
    "accepted": (TYPED, {"accept": {"rows[].city": ["word 1", "word 2"]}}),
    "accepted in a row": (TYPED, {"accept": {"rows[3].city": ["word 1"]}}),
    "may be empty": (TYPED, {"absent": {"rows[].city": "either"}}),
}


def sides(size):
    """Return rows, and the same in another order with one value of each changed."""
    rng = random.Random(size)
    gold = []
    for row in range(size):
        parts = [{"n": rng.choice(WORDS), "c": rng.randint(1, 9)}]
        cells = {"city": rng.choice(WORDS), "price": rng.randint(1, 99) / 4, "tags": rng.sample(WORDS, 2)}
        gold.append({"id": f"R{row}", **cells, "parts": parts})
    found = [{**row, rng.choice([*row]): None} for row in gold]
    return gold, rng.sample(found, size)


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rules"), ROWS.values(), ids=ROWS)
def test_twice_the_rows_do_not_take_four_times_the_calls(columns, rules):
    scorer = compile_schema(obj(rows=table(id=TEXT, **columns)), semantics="default")

    def calls(size):
        gold, found = sides(size)
        scorer.score({"rows": gold[:5]}, {"rows": found[:5]}, **rules)  # what is imported at its first use
        counted = Counter()
        setprofile(lambda _frame, event, _arg: counted.update([event]))
        try:
            score = scorer.score({"rows": gold}, {"rows": found}, **rules)
        finally:
            setprofile(None)
        assert [len(rows.pairs) for rows in score.arrays if str(rows.path) == "rows"] == [size]
        return counted["call"]

    assert calls(160) < 3 * calls(80)
