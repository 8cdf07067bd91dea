"""Rows paired by position, by key and by value; and what has no partner."""

from __future__ import annotations

import copy
import itertools
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.engine.pairing import assign, multiset
from pytest_extract.core.results import Pairing
from pytest_extract.core.scorer import compile_schema
from tests.core.schemas import EXACT, NUMBER, TEXT, array, metric, obj, scored, table, told
from tests.strategies import any_json

ROWS = table(sku=TEXT, name=metric("string_fuzzy"), price=NUMBER)
SWAPPED, COMPOSITE = [(0, 1), (1, 0)], {"key": ["sku", "price"]}
BY_KEY, FORGIVING = {"key": "sku"}, {"key": "sku", "key_cutoff": 0.8}


def pairing_of(schema, gold, extracted, align=None, **how):
    overrides = {"$": align} if align else {}
    (found,) = scored(schema, gold, extracted, how={"overrides": overrides, **how}).arrays
    return found


def skus(*keys):
    return [{"sku": key} for key in keys]


def priced(*rows):
    return [dict(zip(("sku", "price"), row, strict=True)) for row in rows]


def named(*rows):
    return [dict(zip(("sku", "name", "price"), row, strict=False)) for row in rows]


KEYS = {
    "plain": (BY_KEY, skus("a", "b"), skus("b", "c"), [(1, 0)]),
    "in a mapping": ({"align": {"by": "key", "key": "sku"}}, skus("a"), skus("a"), [(0, 0)]),
    "composite": (COMPOSITE, priced(("a", 1), ("a", 2), ("b", 3)), priced(("a", 2), ("a", 1.0), ("b", 4)), SWAPPED),
    "repeated, by what else they hold": (BY_KEY, named("a1", "a2"), named("a2", "a1"), [(0, 1), (1, 0)]),
    "repeated, of which one is there": (BY_KEY, named("a1", "a2"), named("b", "a2"), [(1, 1)]),
    "repeated, and nothing else in common": (BY_KEY, named("a1", "a2"), named("a3"), [(0, 0)]),
    "not usable, by what else they hold": (
        BY_KEY,
        [*named((True, "m", 2), (None, "n", 1)), "x", {"sku": "b"}],
        [*named((True, "n", 1)), {"name": "z"}, *skus("a")],
        [(1, 0)],
    ),
    "not usable, where typos are forgiven": (
        FORGIVING,
        priced((None, 1), ("a", 2)),
        priced((None, 1), (None, 3)),
        [(0, 0)],
    ),
    "a key of many digits": (BY_KEY, skus(10**4000, 1), skus(1, 10**4000, 10**4000 + 1), [(0, 1), (1, 0)]),
    "many digits, with typos": (FORGIVING, skus(10**4000, 1), skus(1, 10**4000, 10**4000 + 1), [(0, 1), (1, 0)]),
    "a typo": (BY_KEY, skus("SKU-10023"), skus("SKU-10O23"), []),
    "a typo forgiven": (FORGIVING, skus("SKU-10023", "SKU-10024"), skus("SKU-10O24", "SKU-10023"), [(0, 1), (1, 0)]),
    "a typo too far": ({"key": "sku", "key_cutoff": 0.9}, skus("SKU-10023"), skus("SKU-10O23"), []),
    "another case": (FORGIVING, skus("Müller AG"), skus("MÜLLER AG"), [(0, 0)]),
    "a typo in one part": (
        COMPOSITE | {"key_cutoff": 0.8},
        priced(("Annabel", 1), ("Annabel", 2), ("Anna", 3)),
        priced(("Anabel", 2), ("Annabel", 1), ("Anna", 4)),
        SWAPPED,
    ),
    "a number has no typo": (FORGIVING, skus(1000), skus(1001), []),
    "an exact key is never given away": (FORGIVING, skus("abcdef", "abcdeg"), skus("abcdeg", "abcdxf"), SWAPPED),
    "the best sum": (FORGIVING, skus("abcdefghij", "abcdefghxx"), skus("abcdefghxj", "abcdefghij_"), [(0, 1), (1, 0)]),
    "a repeated typo": (FORGIVING, priced(("SKU-23", 1), ("SKU-23", 2)), priced(("SKU-2E", 2), ("SKU-2E", 1)), SWAPPED),
    "a typo in half of it": ({"key": "sku", "key_cutoff": 0.5}, skus("abcd"), skus("abxy"), [(0, 0)]),
    "a typo in too much of it": ({"key": "sku", "key_cutoff": 0.6}, skus("abcd"), skus("abxy"), []),
    "a repeated key that is not there twice": (FORGIVING, skus("abcdef", "abcdef"), skus("abcdex"), [(0, 0)]),
    "no third": (FORGIVING, skus("abcdef", "abcdef", "b"), skus("abcdef", "abcdex", "abcdef"), [(0, 0), (1, 2)]),
    "an invented row by position": ({"align": "position"}, skus("a"), skus("c", "b"), [(0, 0)]),
    "by position": ({"align": "position"}, skus("a", "b", "c"), skus("c", "b"), [(0, 0), (1, 1)]),
}


@pytest.mark.parametrize(("align", "gold", "extracted", "pairs"), KEYS.values(), ids=KEYS)
def test_rows_are_paired_by_key(align, gold, extracted, pairs):
    found = pairing_of(ROWS, gold, extracted, align)
    assert found.pairs == tuple(pairs)
    assert sorted(found.missing) == sorted({*range(len(gold))} - {i for i, _ in pairs})
    assert sorted(found.extra) == sorted({*range(len(extracted))} - {j for _, j in pairs})


@pytest.mark.parametrize(
    ("gold", "extracted", "pairs", "extra"),
    [
        (skus("a", "b"), skus("b", "a"), [(0, 1), (1, 0)], []),
        (skus("a", "a"), skus("a", "a"), [(0, 0)], [1]),
        (skus(None, "a"), skus("a", None), [(1, 0)], [1]),
        (skus("a"), skus(None, "x", "a", "y", "x"), [(0, 2)], [1, 3, 0, 4]),  # keys that nobody asked for, then others
        (skus(1, 2), skus(1.0, "2"), [(0, 0)], [1]),
    ],
)
def test_as_published_by_struct_extract_eval_the_first_row_of_a_key_counts(gold, extracted, pairs, extra):
    schema = table(sku=EXACT) | {"x-eval-align": {"match_by": "key_field", "key": "sku"}}
    found = pairing_of(schema, gold, extracted, semantics="struct-extract-eval")
    assert (found.pairs, found.extra) == (tuple(pairs), tuple(extra))


def test_as_published_by_struct_extract_eval_a_key_may_have_parts():
    schema = table(sku=EXACT, price=EXACT) | {"x-eval-align": {"match_by": "key_field", "key": ["sku", "price"]}}
    sides = priced(("a", 1), ("a", 2)), priced(("a", 2), ("a", 3))
    found = pairing_of(schema, *sides, semantics="struct-extract-eval")
    assert (found.pairs, found.missing, found.extra) == (((1, 0),), (0,), (1,))


def test_rows_with_unusable_keys_are_left_over_last():
    found = pairing_of(ROWS, skus("b"), [{"name": "z"}, *skus("a")], BY_KEY)
    assert (found.missing, found.extra) == ((0,), (1, 0))


def test_rows_are_found_by_an_accepted_key():
    gold, output = named(("1", "x"), ("2", "y")), named(("2", "y"), ("1-A", "z"))
    score = scored(
        table(sku=TEXT, name=TEXT), gold, output, how={"overrides": {"$": BY_KEY}}, accept={"[].sku": ["1-A"]}
    )
    assert score.arrays[-1].pairs == ((0, 1), (1, 0))
    assert [str(leaf.path) for leaf in score.leaves if not leaf.passed] == ["[0].name"]


keyed = st.lists(
    st.fixed_dictionaries(
        {"sku": st.sampled_from(["SKU-10023", "SKU-10024", "SKU-1002", None])},
        optional={
            "name": st.sampled_from(["one", "two", "once", None]),
            "price": st.sampled_from([1, 1.0, 2, None]),
            "tags": st.lists(st.sampled_from(["t", "u"]), max_size=2),
        },
    ),
    max_size=6,
)


def contents(score, gold, extracted):
    """Tell the root's pairs by what they hold; each row is paired, missing or extra."""
    pairs = []
    for found in (rows for rows in score.arrays if not rows.path):
        assert sorted([*(i for i, _ in found.pairs), *found.missing]) == [*range(len(gold))]
        assert sorted([*(j for _, j in found.pairs), *found.extra]) == [*range(len(extracted))]
        pairs = sorted(json.dumps([gold[i], extracted[j]], sort_keys=True) for i, j in found.pairs)
    return pairs


@pytest.mark.parametrize("align", [BY_KEY, FORGIVING, {"key": ["sku", "price"]}, {"align": "multiset"}])
@given(gold=keyed, extracted=keyed, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_number(align, gold, extracted, order):
    schema = table(sku=TEXT, name=metric("string_fuzzy"), price=NUMBER, tags=array(TEXT))
    sides = (gold, extracted), tuple(order.sample(rows, len(rows)) for rows in (gold, extracted))
    one, other = (scored(schema, *rows, how={"overrides": {"$": align}}) for rows in sides)
    for name in ("pass_rate", "mean_score", "precision", "recall", "f1"):  # the published measures go by position
        assert one.measures[name] == pytest.approx(other.measures[name])
    assert contents(one, *sides[0]) == contents(other, *sides[1])


# --- by value


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=1, max_size=5)
    )
)
def test_no_assignment_scores_more(scores):
    wide = scores if len(scores) <= len(scores[0]) else [*zip(*scores, strict=True)]
    orders = itertools.permutations(range(len(wide[0])), len(wide))
    best = max(sum(row[place] for row, place in zip(wide, order, strict=True)) for order in orders)
    assert sum(scores[i][j] for i, j in assign(scores)) == pytest.approx(best, abs=1e-9)
    assert assign([]) == assign([[]]) == assign([[], []]) == []


def test_scalars_are_paired_by_what_their_metric_finds_equal():
    found = pairing_of(array(metric("string_fuzzy")), ["New York City", "Oslo"], ["Oslo", "New York Cty", "Rome"])
    assert (found.pairs, found.extra) == (((0, 1), (1, 0)), (2,))


@pytest.mark.parametrize(
    ("gold", "extracted", "pairs"),
    [
        (["a", "b", "a"], ["a", "a", "b"], ((0, 0), (1, 2), (2, 1))),
        ([True, 1, 1.0], [1.0, 1, True], ((0, 2), (1, 1), (2, 0))),
        ([1], [True], ()),
        ([None, "x"], ["x"], ((1, 0),)),
        ([[1, 2]], [[1, 2]], ((0, 0),)),
        ([float("nan")], [float("nan")], ((0, 0),)),
        ([*"xaybya"], [*"edbacfe"], ((1, 3), (3, 2))),
    ],
)
def test_values_are_paired_as_a_multiset(gold, extracted, pairs):
    assert multiset(gold, extracted).pairs == pairs


@pytest.mark.parametrize("extracted", ["edbac", "edbacfghijkl", "edbacfghijkle"])
def test_what_is_left_over_of_a_multiset_is_in_order(extracted):
    found = multiset([*"xaybya"], [*extracted])
    assert found == Pairing(((1, 3), (3, 2)), (0, 2, 4, 5), (0, 1, *range(4, len(extracted))))


few = st.lists(st.integers(0, 4) | st.none(), max_size=9)


@given(few, few)
def test_every_element_is_in_one_place(gold, extracted):
    found = multiset(gold, extracted)
    assert sorted([*(i for i, _ in found.pairs), *found.missing]) == [*range(len(gold))]
    assert sorted([*(j for _, j in found.pairs), *found.extra]) == [*range(len(extracted))]


@pytest.mark.parametrize("extracted", list(itertools.permutations(["X ", 1, 1.0])), ids=repr)
def test_a_multiset_of_undeclared_values_pairs_what_their_types_find_equal(extracted):
    schema = {"type": "array", "evaluation_config": {"align": "multiset"}}
    assert scored(schema, [1.0, "X", 1.0], [*extracted]).measures["pass_rate"] == 1.0


@given(st.lists(any_json, max_size=6), st.randoms(use_true_random=False))
def test_a_shuffled_list_is_the_same_multiset(values, rng):
    assert len(multiset(values, rng.sample(values, len(values))).pairs) == len(values)


def test_a_long_multiset_is_not_compared_pair_by_pair():
    compared = 0

    class Counting(str):
        __slots__ = ()

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    values = [Counting(n % 4000) for n in range(5000)]
    assert len(multiset(values, random.Random(1).sample(values, len(values))).pairs) == len(values)
    assert compared < 20 * len(values)


def test_equal_values_score_alike_whatever_lists_live_at_their_addresses():
    """A value that `array_llm` compares as a list of itself is wrapped in a list that lives for one comparison."""
    items = {"anyOf": [array(TEXT), TEXT], "evaluation_config": {"metrics": [{"metric_id": "array_llm"}]}}
    scorer = compile_schema(array(items, evaluation_config={"align": "hungarian"}), judge_mode="fuzzy")
    values = ["a", "b", "c", ["a", "b"], ["c"], [], 1, None]
    for seed in range(300):
        rng = random.Random(seed)
        sides = [[rng.choice(values) for _ in range(rng.randint(1, 6))] for _ in "ge"]
        scores = [told(scorer.score(*copy.deepcopy(sides)).leaves) for _ in range(4)]
        assert scores.count(scores[0]) == 4, sides


# --- what has no partner

INNER = array({**TEXT, "x-eval-compare": "exact"}, **{"x-eval-compare": "exact"})
NULLED = array({**TEXT, "x-eval-compare": "text", "x-eval-transform": ["null_if"]})
LEFT_OVER = {
    "a value transformed to null": (NULLED, ["a", "N/A", "b"], ["a"], "default", [("[2]", "text")]),
    "a text for a list": (array(INNER), ["x", "z"], ["x"], "struct-extract-eval", [("[1]", "structure")]),
    "a row with metrics of its own": (
        array(obj(a=TEXT) | {"evaluation_config": "string_exact"}),
        [{"a": "x"}, {"a": "y"}],
        [{"a": "x"}],
        "extract-bench",
        [("[1].a", "string_semantic")],
    ),
}


@pytest.mark.parametrize(("schema", "gold", "output", "semantics", "omitted"), LEFT_OVER.values(), ids=LEFT_OVER)
def test_what_has_no_partner_is_omitted(schema, gold, output, semantics, omitted):
    leaves = scored(schema, gold, output, how={"semantics": semantics, "judge_mode": "exact"}).leaves
    assert [(str(leaf.path), leaf.metric) for leaf in leaves if leaf.status == "omission"] == omitted
