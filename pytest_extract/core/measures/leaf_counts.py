"""Counts over the leaves of gold and extracted value, of which SOB's measures are made."""

from __future__ import annotations

from typing import NamedTuple

from pytest_extract.core.measures.leaf_paths import Declared, leaf_map, typed_leaves
from pytest_extract.core.measures.token_f1 import token_f1
from pytest_extract.core.values import MISSING, Json, Missing


class LeafCounts(NamedTuple):
    """Counts over leaves, by path.

    expected, found: leaves of gold and of extracted value; shared: paths of both; equal: shared paths with values equal
    in Python; tokens: summed token F1 over the gold's leaves (a missing one reads "null"); typed: extracted leaves of
    the declared type; ambiguous: whether paths of the extracted value may collide.
    """

    expected: int = 0
    found: int = 0
    shared: int = 0
    equal: int = 0
    tokens: float = 0.0
    typed: int = 0
    ambiguous: bool = False


def count_leaves(gold: Json, extracted: Json | Missing, declared: Declared) -> LeafCounts:
    """Count over two JSON values, or a gold and MISSING, at most MAX_DEPTH levels deep.

    A later leaf takes the place of an earlier one with the same path, as published.
    """
    expected, found = leaf_map(gold), typed_leaves(extracted, declared)
    shared = equal = 0
    tokens = 0.0
    for path, value in expected.items():
        other = found.values.get(path, MISSING)
        if other is MISSING:
            tokens += token_f1(value, None)
            continue
        shared += 1
        same = value == other
        equal += same
        tokens += 1.0 if same and type(value) is type(other) else token_f1(value, other)
    return LeafCounts(len(expected), len(found.values), shared, equal, tokens, found.typed, found.ambiguous)
