"""The work of pairing rows: what each kind of field costs grows with the rows, not with their pairs."""

from __future__ import annotations

import random
from collections import Counter
from sys import setprofile
from typing import Any

import pytest

from pytest_extract import compile_schema

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
PART = {"type": "object", "properties": {"n": TEXT, "c": NUMBER}}


def table(size: int, *, words: list[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows, and the same in another order with one value of each changed."""
    rng = random.Random(size)
    gold = [
        {
            "id": f"R{row}",
            "city": rng.choice(words),
            "price": rng.randint(1, 99) / 4,
            "tags": rng.sample(words, 2),
            "parts": [{"n": rng.choice(words), "c": rng.randint(1, 9)}],
        }
        for row in range(size)
    ]
    found: list[dict[str, Any]] = [{**row, rng.choice([*row]): None} for row in gold]
    rng.shuffle(found)
    return gold, found


ROWS = {
    "typed": {"city": TEXT, "price": NUMBER},
    "untyped": {"city": {}, "price": {}},
    "types": {"city": TEXT, "price": {"type": ["number", "string"]}},
    "alternatives": {"city": {"anyOf": [TEXT, NUMBER]}, "price": {"anyOf": [TEXT, NUMBER]}},
    "another-type": {"city": {"type": "integer"}, "price": TEXT},
    "object-or-text": {"city": {"anyOf": [PART, TEXT]}},
    "undeclared": {},
    "lists": {"tags": {"type": "array", "items": TEXT}, "parts": {"type": "array", "items": PART}},
    "untyped-lists": {"tags": {"type": "array"}, "parts": {"type": "array"}},
    "lists-of-alternatives": {
        "tags": {"type": "array", "items": {"anyOf": [TEXT, NUMBER]}},
        "parts": {"type": "array", "items": {"anyOf": [PART, TEXT]}},
    },
    "list-or-text": {"tags": {"anyOf": [{"type": "array", "items": TEXT}, TEXT]}},
    "lists-of-any-objects": {"parts": {"type": "array", "items": {"type": "object"}}},
    "two-metrics": {
        "city": {**TEXT, "evaluation_config": {"metrics": [{"metric_id": "exact"}, {"metric_id": "fuzzy"}]}}
    },
}
RULES: dict[str, dict[str, Any]] = {
    "accept": {"accept": {"rows[].city": ["word 1", "word 2"]}},
    "accept-in-a-row": {"accept": {"rows[3].city": ["word 1"]}},
    "may-be-empty": {"absent": {"rows[].city": "either"}},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("properties", "rules"),
    [*((own, {}) for own in ROWS.values()), *((ROWS["typed"], own) for own in RULES.values())],
    ids=[*ROWS, *RULES],
)
def test_twice_the_rows_do_not_take_four_times_the_calls(properties: dict[str, Any], rules: dict[str, Any]) -> None:
    rows = {"type": "array", "items": {"type": "object", "properties": {"id": TEXT, **properties}}}
    scorer = compile_schema({"type": "object", "properties": {"rows": rows}}, semantics="default")
    words = [f"word {number}" for number in range(40)]

    def calls(size: int) -> int:
        gold, found = table(size, words=words)
        scorer.score({"rows": gold[:5]}, {"rows": found[:5]}, **rules)  # what is imported at its first use
        counted: Counter[str] = Counter()
        setprofile(lambda _frame, event, _arg: counted.update([event]))
        try:
            score = scorer.score({"rows": gold}, {"rows": found}, **rules)
        finally:
            setprofile(None)
        assert [len(array.pairs) for array in score.arrays if str(array.path) == "rows"] == [size]
        return counted["call"]

    assert calls(160) < 3 * calls(80)
