"""What lists hold bounds what they score, and rows with lists in them are paired at their best."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.compile.nodes import Array
from pytest_extract.core.engine.contents import IrregularError, contents_of
from pytest_extract.core.engine.context import CaseRules, ScoringContext
from pytest_extract.core.engine.document import _WALKERS
from pytest_extract.core.engine.pairs import pair_score
from pytest_extract.core.matching.columns import shared_weight
from pytest_extract.core.scorer import compile_schema


def listed(items):
    return {"type": "array", "items": items}


def metric(name, kind="string", **params):
    return {"type": kind, "evaluation_config": {"metrics": [{"metric_id": name, **params}]}}


LEAF = {
    "code": {"type": "string"},
    "name": metric("string_fuzzy", weight=2.0),
    "price": metric("number_tolerance", "number"),
    "kind": metric("string_case_insensitive"),
}
INNER = {"type": "object", "properties": {**LEAF, "tags": listed({"type": "string"})}}
OUTER = {"type": "object", "properties": {"id": {"type": "integer"}, "rows": listed(INNER), "one": INNER}}
ROWS = listed(OUTER)


def published(schema):
    """The same schema in the words of struct-extract-eval."""
    if schema["type"] == "array":
        items = published(schema["items"])
        align = {"ordered": False, "match_by": "best_fit" if schema["items"]["type"] == "object" else "multiset"}
        return {**schema, "items": items, "x-eval-align": align}
    if schema["type"] == "object":
        return {**schema, "properties": {name: published(item) for name, item in schema["properties"].items()}}
    return {"type": schema["type"], "x-eval-compare": "exact"}


SCHEMAS = {"ours": ROWS, "extract-bench": ROWS, "struct-extract-eval": published(ROWS)}

texts = st.sampled_from(["a", "A", "ab", "abc", "", None])
inner = st.fixed_dictionaries(
    {"code": texts},
    optional={
        "name": texts,
        "kind": texts,
        "price": st.sampled_from([1, 1.0, 1.0005, 1.001, 2, None]),
        "tags": st.none() | st.lists(st.sampled_from("tuv"), max_size=3),
    },
)
outer = st.fixed_dictionaries(
    {"id": st.integers(1, 2)},
    optional={"rows": st.none() | st.lists(inner, min_size=1, max_size=3), "one": st.none() | inner},
)
near = st.lists(outer, min_size=1, max_size=4)
odd = st.sampled_from([7, "text", [], {}, None, [[]], [{}], [None], [7]])


def context(semantics="ours"):
    program = compile_schema(SCHEMAS[semantics], semantics=semantics, judge_mode="fuzzy").program
    return ScoringContext(program, _WALKERS, {}, CaseRules()), program.root


@pytest.mark.parametrize("semantics", ["ours", "extract-bench", "struct-extract-eval"])
@given(gold=near | odd, extracted=near | odd)
def test_no_list_scores_more_than_its_contents_share(semantics, gold, extracted):
    run, array = context(semantics)
    assert isinstance(array, Array)
    try:
        (ours,), (theirs,) = (
            contents_of(run, array, [gold], gold=True),
            contents_of(run, array, [extracted], gold=False),
        )
    except IrregularError:
        return
    if ours is None or theirs is None:
        return
    score = pair_score(run, array)(gold, extracted)
    assert score.score <= shared_weight(ours, theirs) + 1e-9
    assert score.compared + score.omitted == pytest.approx(ours.weight)
    assert score.compared + score.hallucinated == pytest.approx(theirs.weight)
    assert ours.floor == ours.weight
    if ours.key == theirs.key:
        assert score == (ours.weight, ours.weight, 0.0, 0.0)


@given(rows=st.lists(outer, min_size=1, max_size=4), order=st.randoms(use_true_random=False))
def test_lists_that_hold_the_same_in_any_order_have_one_key(rows, order):
    run, array = context()

    def shuffled(value):
        if isinstance(value, dict):
            return {key: shuffled(item) for key, item in value.items()}
        return order.sample([shuffled(item) for item in value], len(value)) if isinstance(value, list) else value

    (ours,) = contents_of(run, array, [rows], gold=True)
    (theirs,) = contents_of(run, array, [shuffled(rows)], gold=False)
    assert ours.key == theirs.key
    assert shared_weight(ours, theirs) == pytest.approx(ours.weight)


def test_lists_are_equal_where_their_metrics_find_their_leaves_equal():
    run, array = context()
    (one,) = contents_of(run, array, [[{"id": 1, "rows": [{"kind": "x"}]}]], gold=True)
    (other,) = contents_of(run, array, [[{"id": 1.0, "rows": [{"kind": "X"}]}]], gold=False)
    assert other.key == one.key
    for other in ([{"id": True, "rows": [{"kind": "x"}]}], [{"id": 1, "rows": [{"code": "x"}]}]):
        assert contents_of(run, array, [other], gold=False)[0].key != one.key


@given(gold=near, extracted=near)
def test_rows_with_lists_in_lists_are_paired_best(gold, extracted):
    scorer = compile_schema(ROWS, semantics="ours")

    def score(one, other):
        return scorer.score([one], [other], gates={"schema": False}).arrays[-1].f1

    known = {(i, j): score(gold[i], extracted[j]) for i, j in product(range(len(gold)), range(len(extracted)))}
    found = scorer.score(gold, extracted, gates={"schema": False}).arrays[-1]
    rows, columns = range(len(gold)), range(len(extracted))
    if len(gold) <= len(extracted):
        best = max(
            sum(known[pair] for pair in zip(rows, order, strict=True)) for order in permutations(columns, len(gold))
        )
    else:
        best = max(
            sum(known[pair] for pair in zip(order, columns, strict=True))
            for order in permutations(rows, len(extracted))
        )
    assert sum(known[pair] for pair in found.pairs) == pytest.approx(best)


def test_a_pair_of_rows_that_no_assignment_wants_is_not_scored(monkeypatch):
    tried = []
    sub = ScoringContext.sub
    monkeypatch.setattr(ScoringContext, "sub", lambda *args, **kwargs: tried.append(args) or sub(*args, **kwargs))
    gold = [{"id": n, "rows": [{"code": f"{n} {m}"} for m in range(5)]} for n in range(12)]
    output = [{**row, "rows": [{"code": "wrong"}, *row["rows"][1:]]} for row in reversed(gold)]
    scorer = compile_schema(ROWS, semantics="ours")
    assert scorer.score(gold, output).arrays[-1].pairs == tuple((n, 11 - n) for n in range(12))
    assert len(tried) == 12


FITTED = compile_schema(ROWS, semantics="ours")
PLACED = compile_schema(ROWS, semantics="ours", overrides={"$": {"align": "position"}})


def total(scorer, gold, extracted):
    """Return the summed scores of the outer rows."""
    found = [array for array in scorer.score(gold, extracted, gates={"schema": False}).arrays if not array.path]
    return found[0].recall * len(gold) if found else 0.0


def best_total(gold, extracted):
    """Try every pairing of the outer rows."""
    pairs = {(i, j): total(PLACED, [one], [other]) for i, one in enumerate(gold) for j, other in enumerate(extracted)}
    few, many = sorted((range(len(gold)), range(len(extracted))), key=len)
    turned = len(gold) > len(extracted)
    return max(
        sum(pairs[(j, i) if turned else (i, j)] for i, j in zip(few, order, strict=True))
        for order in permutations(many, len(few))
    )


@given(gold=near, extracted=near)
def test_no_permutation_of_rows_with_lists_is_better(gold, extracted):
    assert total(FITTED, gold, extracted) == pytest.approx(best_total(gold, extracted))
