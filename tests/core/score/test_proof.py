"""What is said to be proved is never wrong: against every pairing, over tables made to mislead it."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from pytest_extract.core.score.cells import all_scores
from pytest_extract.core.score.proof import proved
from pytest_extract.core.score.run import Rules, Run
from pytest_extract.core.score.table import lay_out
from pytest_extract.core.scorer import compile_schema

COLUMNS = {
    "name": ({"type": "string"}, ["a", "b", "A", None]),
    "code": ({"type": "string", "evaluation_config": "string_case_insensitive"}, ["x", "X", "y", None]),
    "price": (
        {"type": "number", "evaluation_config": {"metrics": [{"metric_id": "number_tolerance", "weight": 2.0}]}},
        [1, 1.0, 1.0005, 2, 100, 100.05, 101, -1, float("inf"), 10**400, None],
    ),
    "size": ({"type": "number", "evaluation_config": "number_tolerance"}, [1, 1.0005, 1.001, 1.0015, 2, 3]),
    "note": (
        {"type": "string", "evaluation_config": {"metrics": [{"metric_id": "fuzzy", "weight": 0.5}]}},
        ["ab", "abc"],
    ),
    "flag": ({"type": "boolean"}, [True, False, 1, None]),
}
WAYS = {
    "equalities": ["name", "code", "flag"],
    "numbers": ["price", "flag"],
    "numbers near each other": ["size", "flag"],
    "a number and a name": ["name", "price"],
    "a text that is partly right": ["note", "name"],
    "everything": [*COLUMNS],
}


def program_of(names):
    items = {"type": "object", "properties": {name: COLUMNS[name][0] for name in names}}
    return compile_schema({"type": "array", "items": items}, semantics="ours").program


def rows_of(pick, names, pool):
    """Return a few rows, most of them alike; some lack a property."""
    base = {name: pick.choice(COLUMNS[name][1]) for name in names}
    rows = []
    for _ in range(pick.randint(2, 4)):
        row = dict(pick.choice(pool)) if pool and pick.random() < 0.7 else dict(base)
        for name in names:
            if pick.random() < 0.35:
                row[name] = pick.choice(COLUMNS[name][1])
        if pick.random() < 0.2:
            row.pop(pick.choice(names), None)
        rows.append(row)
    return rows


def best_total(scores):
    short = scores if len(scores) <= len(scores[0]) else [list(column) for column in zip(*scores, strict=True)]
    orders = permutations(range(len(short[0])), len(short))
    return max(sum(short[i][j] for i, j in enumerate(order)) for order in orders)


@pytest.mark.parametrize("names", WAYS.values(), ids=[*WAYS])
def test_no_pairing_is_better_than_one_that_is_proved(names):
    program, pick, told = program_of(names), random.Random(7), 0
    for _ in range(3_000):
        gold = rows_of(pick, names, [])
        extracted = rows_of(pick, names, gold)
        table = lay_out(Run(program, {}, {}, Rules()), program.root, gold, extracted)
        assert table is not None
        scores = all_scores(table)
        short = min(len(gold), len(extracted))
        pairs = sorted(
            zip(pick.sample(range(len(gold)), short), pick.sample(range(len(extracted)), short), strict=True)
        )
        lost = {i: 1.0 - scores[i][j] for i, j in pairs if scores[i][j] < 1.0}
        if proved(table, tuple(pairs), lost, placed=table.is_whole(tuple(pairs))):
            told += bool(lost)
            assert sum(scores[i][j] for i, j in pairs) == pytest.approx(best_total(scores), abs=1e-6)
    assert told > 20
