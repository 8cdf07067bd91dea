"""How rows are paired: by key, by value, at a glance."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.score.run import Run
from pytest_extract.core.scorer import compile_schema

ROW = {
    "type": "object",
    "properties": {
        "sku": {"type": "string"},
        "name": {"type": "string", "evaluation_config": "string_fuzzy"},
        "price": {"type": "number"},
    },
}
ROWS = {"type": "array", "items": ROW}


def pairing_of(gold, extracted, align):
    scorer = compile_schema(ROWS, semantics="ours", overrides={"$": align})
    (found,) = scorer.score(gold, extracted, gates={"schema": False}).arrays
    return found.pairs, found.missing, found.extra


def row(sku, name="n", price=1):
    return {"sku": sku, "name": name, "price": price}


KEYS = {
    "plain": ({"key": "sku"}, [row("a"), row("b")], [row("b"), row("c")], ((1, 0),), (0,), (1,)),
    "composite": (
        {"key": ["sku", "price"]},
        [row("a", price=1), row("a", price=2)],
        [row("a", price=2), row("a", price=1.0)],
        ((0, 1), (1, 0)),
        (),
        (),
    ),
    "repeated": ({"key": "sku"}, [row("a", "1"), row("a", "2")], [row("a", "3"), row("a", "4")], ((0, 0),), (1,), (1,)),
    "unusable": ({"key": "sku"}, [row(True), row(None), "x"], [row(True), row("a")], (), (0, 1, 2), (1, 0)),
    "typo": ({"key": "sku"}, [row("SKU-10023")], [row("SKU-10O23")], (), (0,), (0,)),
    "typo-forgiven": ({"key": "sku", "key_cutoff": 0.8}, [row("SKU-10023")], [row("SKU-10O23")], ((0, 0),), (), ()),
    "typo-too-far": ({"key": "sku", "key_cutoff": 0.9}, [row("SKU-10023")], [row("SKU-10O23")], (), (0,), (0,)),
    "in-a-mapping": ({"align": {"by": "key", "key": "sku"}}, [row("a")], [row("a")], ((0, 0),), (), ()),
}


@pytest.mark.parametrize(("align", "gold", "extracted", "pairs", "missing", "extra"), KEYS.values(), ids=KEYS)
def test_by_key(align, gold, extracted, pairs, missing, extra):
    assert pairing_of(gold, extracted, align) == (pairs, missing, extra)


def test_scalars_are_paired_by_what_their_metric_finds_equal():
    schema = {"type": "array", "items": {"type": "string", "evaluation_config": "string_fuzzy"}}
    scorer = compile_schema(schema, semantics="ours")
    (found,) = scorer.score(["New York City", "Oslo"], ["Oslo", "New York Cty", "Rome"]).arrays
    assert (found.pairs, found.extra) == (((0, 1), (1, 0)), (2,))


small_rows = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "sku": st.sampled_from(["a", "b"]),
            "name": st.sampled_from(["one", "two", "once"]),
            "price": st.sampled_from([1, 1.0, 2, True, None]),
        },
    ),
    min_size=1,
    max_size=5,
)


def best_sum(scores):
    """The highest sum of any assignment, by trying them all."""
    height, width = len(scores), len(scores[0])
    if height > width:
        return best_sum([list(column) for column in zip(*scores, strict=True)])
    return max(sum(scores[i][j] for i, j in enumerate(order)) for order in permutations(range(width), height))


@given(gold=small_rows, extracted=small_rows)
def test_short_lists_are_paired_best(gold, extracted):
    one = compile_schema(ROW, semantics="ours")
    scores = [
        [one.score(ours, theirs, gates={"schema": False}).measures["mean_score"] for theirs in extracted]
        for ours in gold
    ]
    scorer = compile_schema(ROWS, semantics="ours")
    (found,) = scorer.score(gold, extracted, gates={"schema": False}).arrays
    assert sum(scores[i][j] for i, j in found.pairs) == pytest.approx(best_sum(scores))


ORDER = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "items": {"type": "array", "items": ROW}},
}
orders = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from([1, 2, 3])}, optional={"items": st.none() | st.just([]) | small_rows}),
    min_size=1,
    max_size=4,
)


@given(gold=orders, extracted=orders)
def test_rows_with_lists_inside_are_paired_best_also_where_lists_are_empty(gold, extracted):
    one = compile_schema({"type": "array", "items": ORDER}, semantics="ours")
    scores = [
        [one.score([ours], [theirs], gates={"schema": False}).arrays[-1].f1 for theirs in extracted] for ours in gold
    ]
    found = one.score(gold, extracted, gates={"schema": False}).arrays[-1]
    assert sum(scores[i][j] for i, j in found.pairs) == pytest.approx(best_sum(scores))


def test_empty_lists_inside_are_no_reason_to_score_rows_pair_by_pair(monkeypatch):
    walked = []
    sub = Run.sub
    monkeypatch.setattr(Run, "sub", lambda run: walked.append(run) or sub(run))
    items = [[], [{"sku": "a", "price": 1}], [{"sku": "b", "price": 2}, {"sku": "c", "price": 3}]]
    gold = [{"id": i, "items": items[i % 3]} for i in range(12)]
    extracted = [{**row, "id": row["id"] + 1} for row in reversed(gold)]
    compile_schema({"type": "array", "items": ORDER}, semantics="ours").score(gold, extracted)
    assert not walked
