"""Best fit: pairs rows so that the summed score of the pairs is highest; equal rows first, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, Node, Object
from pytest_extract.core.engine.assignment import assign
from pytest_extract.core.engine.columns import single_check
from pytest_extract.core.engine.context import Path, ScoringContext
from pytest_extract.core.engine.keyed import pair_equal, paired
from pytest_extract.core.engine.similarity import Similarity
from pytest_extract.core.engine.ties import equal_in_order, in_order
from pytest_extract.core.metrics import equality
from pytest_extract.core.results import Pairing
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import MISSING, Json, Value

RowKey: TypeAlias = Callable[[Value], Hashable]


def best_fit(
    run: ScoringContext, node: Node, gold: Sequence[Json], extracted: Sequence[Json], places: Sequence[Path]
) -> Pairing:
    """Pair rows that one node scores; `places`: where those of gold stand. Rows of score 0 are left over.

    Under struct-extract-eval the assignment chooses among all pairs, whatever is equal, as published.
    """
    height, width = len(gold), len(extracted)
    if run.f1:
        return paired(fitting_pairs(Similarity.of_rows(run, node, gold, extracted, places)), height, width)
    key = row_key(run, node)
    ours, theirs = [*map(key, gold)], [*map(key, extracted)]
    equal, rows, columns = pair_equal(ours, theirs)
    if not rows or not columns:
        return paired(equal_in_order(equal, ours, theirs), height, width)
    similarity = Similarity.of_rows(
        run, node, [gold[i] for i in rows], [extracted[j] for j in columns], [places[i] for i in rows]
    )
    pairs = [*equal, *((rows[i], columns[j]) for i, j in fitting_pairs(similarity))]
    if run.is_ruled(node):  # rows that are equal may fit unlike
        return paired(pairs, height, width)
    pairs = equal_in_order(pairs, ours, theirs)
    own = {ours[row]: i for i, row in enumerate(rows)}
    other = {theirs[column]: j for j, column in enumerate(columns)}
    unlike = [(i, j) for i, j in pairs if ours[i] != theirs[j]]
    moved = in_order(
        unlike,
        lambda i, j: similarity.score(own[ours[i]], other[theirs[j]]),
        lambda i, j: similarity.scores[own[ours[i]]][other[theirs[j]]],
    )
    return paired([*{**dict(pairs), **dict(moved)}.items()], height, width)


def fitting_pairs(similarity: Similarity) -> list[tuple[int, int]]:
    """Return the best assignment of pairs that have anything in common.

    Scores are upper bounds at first. Those of the chosen pairs are made exact, with some of the next best ones of a row
    that scores less, and the assignment is repeated until it rests on exact scores: no other can be better.
    """
    while True:
        scores = similarity.scores
        chosen = assign(scores)
        lowered = [i for i, j in chosen if similarity.make_exact(i, j)]
        if not lowered:
            return [(i, j) for i, j in chosen if scores[i][j] > 0.0]
        similarity.sharpen(lowered)


# --- what equal rows share


def row_key(run: ScoringContext, node: Node) -> RowKey:
    """Return what tells rows apart: those with the same key match in every leaf."""
    found: RowKey | None = run.known.get(("key", id(node)))
    if found is None:
        found = run.known["key", id(node)] = _key_of(run, node)
    return found


def _key_of(run: ScoringContext, node: Node) -> RowKey:
    absent = run.absent  # the run keeps the key, which thus must not keep the run

    def content(value: Value) -> Hashable:
        return MISSING if value is MISSING or (value is None and absent) else equality.json_text(value)

    check = single_check(node)
    if check is not None and isinstance(node, Leaf):
        return _leaf_key(node, check, content, absent=absent)
    if isinstance(node, Object) and not node.checks and not node.groups:
        return _object_key(run, node, content)
    if isinstance(node, Array) and not node.checks and not node.prefix and node.align.mode in ("best_fit", "multiset"):
        row, none = row_key(run, node.items), MISSING if node.empty_absent else ()

        def list_key(value: Value) -> Hashable:
            if type(value) is not list:
                return content(value)
            return frozenset(Counter(map(row, value)).items()) if value else none

        return list_key
    return content


def _leaf_key(leaf: Leaf, check: FieldMetric, content: RowKey, *, absent: bool) -> RowKey:
    key, types = check.metric.key, leaf.types
    if key is None or check.transform is not None or check.likeness is not None:
        return content
    own = key

    def leaf_key(value: Value) -> Hashable:
        if value is MISSING or (value is None and absent):
            return MISSING
        return own(value) if types is None or type_fits(types, value) else content(value)

    return leaf_key


def _object_key(run: ScoringContext, obj: Object, content: RowKey) -> RowKey:
    keys = [(entry.name, row_key(run, entry.node)) for entry in obj.entries]

    def object_key(value: Value) -> Hashable:
        if type(value) is not dict:
            return content(value)
        own = tuple([key(value.get(name, MISSING)) for name, key in keys])
        if obj.names.issuperset(value):
            return own
        further = [(name, content(value[name])) for name in value if name not in obj.names and value[name] is not None]
        return own, tuple(sorted(further))

    return object_key
