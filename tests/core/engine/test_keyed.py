from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.engine.pairing import by_key, by_position, multiset
from pytest_extract.core.results import Pairing
from tests.strategies import any_json


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [
        (2, 2, Pairing(((0, 0), (1, 1)), (), ())),
        (3, 1, Pairing(((0, 0),), (1, 2), ())),
        (1, 3, Pairing(((0, 0),), (), (1, 2))),
        (0, 0, Pairing((), (), ())),
    ],
    ids=["equal", "gold longer", "extracted longer", "empty"],
)
def test_by_position(height, width, expected):
    assert by_position(height, width) == expected


@pytest.mark.parametrize(
    ("gold", "extracted", "expected"),
    [
        (["a", "b"], ["b", "a"], Pairing(((0, 1), (1, 0)), (), ())),
        (["a", "a"], ["a", "a"], Pairing(((0, 0),), (1,), (1,))),
        ([None, "a"], ["a", None], Pairing(((1, 0),), (0,), (1,))),
        (["a"], [None, "x", "a", "y", "x"], Pairing(((0, 2),), (), (1, 3, 0, 4))),
        ([1, 2], [1.0, "2"], Pairing(((0, 0),), (1,), (1,))),
        ([("a", 1), ("a", 2)], [("a", 2), ("a", 3)], Pairing(((1, 0),), (0,), (1,))),
    ],
    ids=[
        "shuffled",
        "first of a repeated key counts",
        "unusable keys are left over",
        "unasked keys before repeated and unusable ones",
        "python equality",
        "composite",
    ],
)
def test_by_first_key(gold, extracted, expected):
    assert by_key(gold, extracted, None) == expected


def in_order(rows, columns):
    common = min(len(rows), len(columns))
    return Pairing(tuple(zip(rows, columns, strict=False)), tuple(rows[common:]), tuple(columns[common:]))


@pytest.mark.parametrize(
    ("gold", "extracted", "expected"),
    [
        (["INV-1001", "INV-1002"], ["INV-1O02", "INV-1001"], Pairing(((0, 1), (1, 0)), (), ())),
        (["alpha"], ["omega"], Pairing((), (0,), (0,))),
        (["Müller AG"], ["MÜLLER AG"], Pairing(((0, 0),), (), ())),
        ([("Annabel", 1), ("Annabel", 2)], [("Anabel", 2), ("Annabel", 1)], Pairing(((0, 1), (1, 0)), (), ())),
        ([("Anna", 1)], [("Anna", 2)], Pairing((), (0,), (0,))),
        ([1000], [1001], Pairing((), (0,), (0,))),
        (["abcdef", "abcdeg"], ["abcdeg", "abcdxf"], Pairing(((0, 1), (1, 0)), (), ())),
        (["abcdef", "abcdef"], ["abcdex"], Pairing(((0, 0),), (1,), ())),
        (["abcdef", "abcdef", "b"], ["abcdef", "abcdex", "abcdef"], Pairing(((0, 0), (1, 2)), (2,), (1,))),
        ([None, "a"], [None, None], Pairing(((0, 0),), (1,), (1,))),
    ],
    ids=[
        "a typo",
        "too far",
        "case",
        "a typo in one part",
        "a number has no typo",
        "nor has a single number",
        "an exact key is never given away",
        "a repeated key that is not there twice",
        "a repeated key, of which a similar one is no third",
        "unusable",
    ],
)
def test_by_key(gold, extracted, expected):
    assert by_key(gold, extracted, in_order, cutoff=0.8) == expected


def test_typos_are_paired_so_that_their_sum_is_highest():
    gold, extracted = ["abcdefghij", "abcdefghxx"], ["abcdefghxj", "abcdefghij_"]
    assert by_key(gold, extracted, in_order, cutoff=0.7).pairs == ((0, 1), (1, 0))


def test_a_lower_cutoff_lets_more_typos_through():
    assert by_key(["abcd"], ["abxy"], in_order, cutoff=0.5).pairs == ((0, 0),)
    assert by_key(["abcd"], ["abxy"], in_order, cutoff=0.6).pairs == ()


@pytest.mark.parametrize(
    ("gold", "extracted", "pairs"),
    [
        (["a", "b", "a"], ["a", "a", "b"], ((0, 0), (1, 2), (2, 1))),
        ([True, 1, 1.0], [1.0, 1, True], ((0, 2), (1, 1), (2, 0))),
        ([1], [True], ()),
        ([None, "x"], ["x"], ((1, 0),)),
        ([[1, 2]], [[1, 2]], ((0, 0),)),
        ([float("nan")], [float("nan")], ((0, 0),)),
    ],
    ids=["repeats", "types", "true is not 1", "null", "a list as a value", "nan"],
)
def test_multiset(gold, extracted, pairs):
    assert multiset(gold, extracted).pairs == pairs


@pytest.mark.parametrize("extracted", ["edbac", "edbacfghijkl", "edbacfghijkle"])
def test_what_is_left_over_of_a_multiset_is_in_order(extracted):
    found = multiset([*"xaybya"], [*extracted])
    assert found == Pairing(((1, 3), (3, 2)), (0, 2, 4, 5), (0, 1, *range(4, len(extracted))))


def test_multiset_by_a_key_of_ones_own():
    found = multiset(["A", "b"], ["B", "c"], key=str.casefold)
    assert found == Pairing(((1, 0),), (0,), (1,))


def test_a_key_function_cannot_mix_types():
    assert multiset([True], [1], key=lambda value: value).pairs == ()


@given(st.lists(any_json, max_size=6), st.randoms(use_true_random=False))
def test_a_shuffled_list_is_the_same_multiset(values, rng):
    shuffled = rng.sample(values, len(values))
    assert len(multiset(values, shuffled).pairs) == len(values)


@given(st.lists(st.integers(0, 4) | st.none(), max_size=9), st.lists(st.integers(0, 4) | st.none(), max_size=9))
def test_every_element_is_in_one_place(gold, extracted):
    for pairing in (by_key(gold, extracted, None), by_key(gold, extracted, in_order), multiset(gold, extracted)):
        assert sorted([*(row for row, _ in pairing.pairs), *pairing.missing]) == list(range(len(gold)))
        assert sorted([*(column for _, column in pairing.pairs), *pairing.extra]) == list(range(len(extracted)))


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
    shuffled = random.Random(1).sample(values, len(values))
    assert len(multiset(values, shuffled).pairs) == len(values)
    assert compared < 20 * len(values)


def test_keys_beyond_the_limit_of_digits_are_paired():
    huge = 10**5000
    assert by_key([huge, 1], [1, huge, huge + 1], in_order, cutoff=0.8).pairs == ((0, 1), (1, 0))
