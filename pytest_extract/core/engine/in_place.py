"""Rows with lists in them of which all but one are equal where they are: the usual list with a mistake.

Of two rows, both may differ: then the two pairs are held against the two others, which score the same where the two
rows of a side are alike.

The pairs are scored first, and no other pairing is tried where this one proves to be the best.

Lemma: let row r be the one whose partner c differs, with the score s; let S(r, o) be the highest score of r with any
other extracted row o, and S(g, c) that of any other gold row g with c. If S(r, o) + S(g, c) <= 1 + s, rows in their
places are a best fit: give r the potential s, c 0, every other extracted row t = S(r, o) - s, and every other gold row
1 - t. No pair of rows then scores more than its potentials, and paired rows score them (`matching.fit`, lemma 2).

A score is at most (m - d) / n: two rows whose leaves weigh m and n, m <= n, match in m at most, and not in the leaves
of weight d in which they differ; what only one of them has counts as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import fsum
from operator import ne
from typing import Final, cast

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object, Skip
from pytest_extract.core.engine.context import ScoringContext
from pytest_extract.core.engine.matches import Kept, weights_or_results
from pytest_extract.core.engine.pairs import pair_score, sums
from pytest_extract.core.matching.columns import objective_score
from pytest_extract.core.metrics.equality import json_text
from pytest_extract.core.results import COUNTED, STRUCTURE, FieldResult
from pytest_extract.core.values import Json

_ROUNDING: Final = 1e-12


def unlike_rows(
    run: ScoringContext, array: Array, gold: Sequence[Json], extracted: Sequence[Json]
) -> Sequence[int] | None:
    """Return the rows that differ from their partners: one, or both of two; None if more, or if nothing is proved."""
    if len(gold) != len(extracted) or array.align.mode != "best_fit" or array.prefix or array.checks:
        return None
    if run.f1 or run.empty_is_free or not run.absent or run.accept or run.absent_rules:
        return None
    try:
        unlike = [index for index, differs in enumerate(map(ne, gold, extracted)) if differs]
    except RecursionError:
        return None
    return unlike if len(unlike) == 1 or len(unlike) == len(gold) == 2 else None


def are_alike(rows: Sequence[Json]) -> bool:
    """Whether two rows hold the same, so that both pairings with two other rows score the same."""
    one, other = rows
    return bool(one == other) and json_text(one) == json_text(other)


def is_additive(node: Node) -> bool:
    """Whether the weight of what a value holds is the same whatever it is compared with."""
    if isinstance(node, Leaf):
        return node.has_only_checks and all(
            check.batch is None and check.likeness is None and not check.metric.judged for check in node.checks
        )
    if isinstance(node, Object):
        if node.groups or node.checks or node.other is not None or node.patterns:
            return False
        return all(is_additive(entry.node) for entry in node.entries)
    if isinstance(node, Array):
        known = node.align.mode in ("best_fit", "position", "multiset", "key")
        return known and not (node.prefix or node.checks or node.wrap) and is_additive(node.items)
    return isinstance(node, Skip)


def is_best_fit(
    run: ScoringContext,
    items: Object,
    lists: tuple[Sequence[Json], Sequence[Json]],
    unlike_rows: Sequence[int],
    total: float,
    results: Sequence[Sequence[float | FieldResult]],
) -> bool:
    """Whether rows in their places are a best fit.

    `total`: their summed scores; `results`: of each row with its partner, weights for matches.
    """
    gold, extracted = lists
    for row in unlike_rows:
        own = [leaf for leaf in results[row] if isinstance(leaf, FieldResult)]
        if any(leaf.status not in COUNTED or leaf.metric == STRUCTURE for leaf in own):
            return False
    if len(unlike_rows) == 2:
        if json_text(gold[0]) == json_text(extracted[1]) or json_text(gold[1]) == json_text(extracted[0]):
            return False
        pair = pair_score(run, items)
        crossed = [objective_score("mean", pair(gold[one], extracted[1 - one])) for one in (0, 1)]
        return fsum(crossed) <= total + _ROUNDING
    (unlike,) = unlike_rows
    found = sums(results[unlike])
    score = objective_score("mean", found)
    weight_of_gold, weight_of_extracted = found.compared + found.omitted, found.compared + found.hallucinated
    weights, keys = _keys(items, [*gold, extracted[unlike]])
    partner = keys.pop()
    most_of_gold = most_of_extracted = 0.0
    for index, others in enumerate(keys):
        if index != unlike:
            weight = sum([leaf.weight if isinstance(leaf, FieldResult) else leaf for leaf in results[index]])
            most_of_gold = max(most_of_gold, _most(weights, keys[unlike], others, weight_of_gold, weight))
            # a row that equals it scores what it scores
            same = gold[index] == gold[unlike] and json_text(gold[index]) == json_text(gold[unlike])
            most = score if same else _most(weights, others, partner, weight, weight_of_extracted)
            most_of_extracted = max(most_of_extracted, most)
    return most_of_gold + most_of_extracted <= 1.0 + score + _ROUNDING


def results_of_rows(leaves: Sequence[Kept], rows: int, depth: int) -> list[list[float | FieldResult]]:
    """Return the leaves of each row, weights for matches; the step at `depth` of a path says which row it is of."""
    found: list[list[float | FieldResult]] = [[] for _ in range(rows)]
    for leaf in leaves:
        path = leaf.path if isinstance(leaf, FieldResult) else leaf.paths[leaf.start]
        found[cast("int", path[depth])] += weights_or_results([leaf])
    return found


def _keys(items: Object, rows: Sequence[Json]) -> tuple[list[float], list[tuple[Hashable, ...]]]:
    """Return the weights of the properties that are compared by equality, and each row's keys: None if absent."""
    weights: list[float] = []
    columns: list[list[Hashable]] = []
    for name, node, *_ in items.entries:
        if isinstance(node, Leaf) and len(node.checks) == 1 and node.checks[0].transform is None:
            key = node.checks[0].metric.key
            if key is not None:
                values = [row.get(name) if isinstance(row, dict) else None for row in rows]
                columns.append([None if value is None else (key(value),) for value in values])
                weights.append(node.checks[0].weight)
    return weights, [*zip(*columns, strict=True)] if columns else [()] * len(rows)


def _most(
    weights: Sequence[float], ours: Sequence[Hashable], theirs: Sequence[Hashable], height: float, width: float
) -> float:
    """Return what two rows score at most, by their weights and the properties in which they differ."""
    cells = zip(weights, ours, theirs, strict=True)
    lost = sum([weight for weight, one, other in cells if one is not None and other is not None and one != other])
    return (min(height, width) - lost) / max(height, width) if height or width else 1.0
