"""What is said to be proved is never wrong: against every pairing, over tables made to mislead it."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from pytest_extract.core.engine.context import CaseRules, ScoringContext
from pytest_extract.core.engine.quick_fit import likely_in_table, proved, row_score
from pytest_extract.core.engine.table import to_table
from pytest_extract.core.matching.pairing import by_position, paired
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


def proved_pairs(program, gold, extracted, pairs):
    """Return whether these pairs are proved to be the best, once that is found to be right."""
    run = ScoringContext(program, {}, {}, CaseRules())
    table = to_table(run, program.root, gold, extracted)
    assert table is not None
    scores = [[row_score(table, i, j) for j in range(len(extracted))] for i in range(len(gold))]
    lost = {row: 1.0 - scores[i][j] for row, (i, j) in enumerate(pairs) if scores[i][j] < 1.0}
    if not proved(table, table.take(run, pairs), paired(pairs, len(gold), len(extracted)), lost):
        return False
    assert sum(scores[i][j] for i, j in pairs) == pytest.approx(best_total(scores), abs=1e-6)
    return bool(lost)


@pytest.mark.parametrize("names", WAYS.values(), ids=[*WAYS])
def test_no_pairing_is_better_than_one_that_is_proved(names):
    program, pick, told = program_of(names), random.Random(7), 0
    for _ in range(3_000):
        gold = rows_of(pick, names, [])
        extracted = rows_of(pick, names, gold)
        short = min(len(gold), len(extracted))
        rows, others = pick.sample(range(len(gold)), short), pick.sample(range(len(extracted)), short)
        told += proved_pairs(program, gold, extracted, tuple(sorted(zip(rows, others, strict=True))))
    assert told > 130


@pytest.mark.parametrize("names", WAYS.values(), ids=[*WAYS])
def test_no_pairing_is_better_where_rows_are_copied_with_mistakes_and_that_is_proved(names):
    program, pick, told = program_of(names), random.Random(8), 0
    for _ in range(2_000):
        gold = (rows_of(pick, names, []) + rows_of(pick, names, []))[:6]
        extracted = [{**row} for row in gold]
        for row in pick.sample(extracted, pick.randint(1, 3) if len(extracted) > 3 else 1):
            name = pick.choice(names)
            row[name] = pick.choice([*COLUMNS[name][1], "no other has it"])
        places = sorted(pick.sample(range(len(gold)), len(gold) - pick.choice([0, 0, 1])))
        kept = [extracted[place] for place in places]
        if pick.random() < 0.5:
            pairs = tuple((i, j) for j, i in enumerate(places))
            told += proved_pairs(program, gold, kept, pairs)
        else:
            pairs = tuple(enumerate(places))
            told += proved_pairs(program, [gold[place] for place in places], extracted, pairs)
    print(names, told)
    assert told > 500


@pytest.mark.parametrize("metric", ["fuzzy", "string_fuzzy"])
def test_no_pairing_of_texts_is_better_than_the_likely_one_where_that_is_proved(metric):
    texts = ["alpha beta", "alpha bets", "Alpha beta", "gamma", "gamut", "gamma x", "delta", "alp", "omega", "", None]
    items = {"type": ["string", "null"], "evaluation_config": metric}
    schema = {"type": "array", "items": items, "evaluation_config": {"align": "best_fit"}}
    program, pick, told = compile_schema(schema, semantics="ours").program, random.Random(9), 0
    for _ in range(2_000):
        gold = pick.choices(texts, k=pick.randint(2, 6))
        extracted = [pick.choice(texts) if pick.random() < 0.2 else text for text in gold]
        if pick.random() < 0.5:
            pick.shuffle(extracted)
        extracted = [*extracted, "more"][: pick.randint(len(gold) - 1, len(gold) + 1)]
        run = ScoringContext(program, {}, {}, CaseRules())
        found = likely_in_table(run, program.root, to_table(run, program.root, gold, extracted))
        told += found is not None and proved_pairs(program, gold, extracted, found.pairing.pairs)
    assert told > 200


# What is proved, and what is not: name, columns, gold's rows, extracted rows.
SEEN = {
    "a value that nothing else has": ("name flag", [("a", True), ("b", True)], [("a x", True), ("b", True)]),
    "one of several equal values": ("name flag", [("a", True), ("a", False)], [("a x", True), ("a", False)]),
    "two wrong values": ("name code", [("a", "x"), ("b", "y")], [("a x", "x"), ("b x", "y")]),
    "another row's value, in a row told by its code": ("name code", [("a", "x"), ("b", "y")], [("b", "x"), ("c", "y")]),
    "a number far from all others": ("price flag", [(1, True), (100, True)], [(7, True), (100, True)]),
    "a number of which there are several": ("price flag", [(1, True), (1, False)], [(7, True), (1, False)]),
    "a number near another's, in a row told by its name": ("size name", [(1, "a"), (2, "b")], [(2, "a"), (3, "b")]),
    "a name, in a row told by its number": ("name price", [("a", 1), ("b", 100)], [("b", 1), ("c", 100)]),
    "a text most like its own": ("note flag", [("abc", True), ("xyz", True)], [("abd", True), ("xyz", True)]),
    "a lost value": ("name code", [("a", "x"), ("b", "y")], [(None, "x"), ("b", "y")]),
    "a lost number": ("price code", [(1, "x"), (2, "y")], [(None, "x"), (2, "y")]),
    "an empty row beside": ("name code", [("a", "x"), (None, None)], [("a x", "x"), (None, None)]),
    "an empty column": ("name code", [("a", None), ("b", None)], [("a x", None), ("b", None)]),
    "a lost row": ("name code", [("a", "x"), ("b", "y"), ("c", "x")], [("a x", "x"), ("b", "y")]),
    "an invented row": ("name code", [("a", "x"), ("b", "y")], [("a x", "x"), ("b", "y"), ("c", "x")]),
    "a number, and an invented row": ("price code", [(1, "x"), (2, "y")], [(7, "x"), (2, "y"), (8, "x")]),
    "a number, and a lost row": ("price code", [(1, "x"), (2, "y"), (8, "x")], [(7, "x"), (2, "y")]),
    "the only row, told by its code": ("name code", [("a", "x")], [("b", "x"), ("a", "y")]),
    "a number beside a text": ("price flag", [(1, True), ("two", True)], [(7, True), ("two", True)]),
    "a number beside alike ones": ("size flag", [(1, True), (1.0005, 1), (3, 0)], [(1, True), (1.0005, 1), (7, 0)]),
    "a number beside none": ("price flag", [(1, True), (None, True)], [(7, True), (None, True)]),
}  # fmt: skip
UNSEEN = {
    "rows whose values have changed places": ("name flag", [("a", True), ("b", True)], [("b", True), ("a", True)]),
    "a value that a lost row has": ("name flag", [("a", True), ("b", True)], [("b", True)]),
    "a value that an invented row has": ("name flag", [("a", True)], [("b", True), ("a", True)]),
    "numbers that have changed places": ("price flag", [(1, True), (100, True)], [(100, True), (1, True)]),
    "a number near a lost row's": ("size flag", [(1, True), (2, True)], [(2.0005, True)]),
    "a number near an invented row's": ("size flag", [(2, True)], [(7, True), (2.0005, True)]),
    "a text more like another row's": ("note flag", [("abc", True), ("abd", True)], [("abdx", True), ("abc", True)]),
    "a number alike one of another row": ("size flag", [(1, True), (3, True)], [(3.0005, True), (7, True)]),
    "values lost and found": ("name flag", [("a", True), (None, True)], [(None, True), ("b", True)]),
    "numbers lost and found": ("price flag", [(1, True), (None, True)], [(None, True), (2, True)]),
}


def named(columns, *sides):
    return [[dict(zip(columns.split(), row, strict=True)) for row in rows] for rows in sides]


@pytest.mark.parametrize(("columns", "gold", "extracted"), SEEN.values(), ids=[*SEEN])
def test_mistakes_as_they_are_made_are_proved_to_change_nothing(columns, gold, extracted):
    pairs = by_position(len(gold), len(extracted)).pairs
    assert proved_pairs(program_of(columns.split()), *named(columns, gold, extracted), pairs)


@pytest.mark.parametrize(("columns", "gold", "extracted"), UNSEEN.values(), ids=[*UNSEEN])
def test_what_may_fit_better_elsewhere_is_not_proved(columns, gold, extracted):
    run = ScoringContext(program_of(columns.split()), {}, {}, CaseRules())
    table = to_table(run, run.program.root, *named(columns, gold, extracted))
    assert table is not None
    pairing = by_position(len(gold), len(extracted))
    assert not proved(table, table.take(run, pairing.pairs), pairing, dict.fromkeys(range(len(pairing.pairs)), 0.5))
