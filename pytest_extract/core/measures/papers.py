"""Measures of papers, for comparison with their numbers; worked out only where a case bounds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError

_LEAST_SIMILARITY: Final = 0.5
MOST_NODE_PAIRS: Final = 500_000
"""Pairs of nodes that take some seconds; each is a key or a value."""


class _Similarity(NamedTuple):
    """The similarities of the leaves of two values, added up, and how many leaves there are on either side."""

    total: float
    leaves: int

    @property
    def mean(self) -> float:
        """The mean similarity, 1.0 without a leaf."""
        return self.total / self.leaves if self.leaves else 1.0


def anls_star(gold: Json, extracted: Json) -> float:
    """Return ANLS*: the mean similarity of the leaves of both sides, lists paired best, none below one half.

    Source: Peer et al., arXiv 2402.03848. A value ten times too large costs next to nothing.
    """
    try:
        return _compared(gold, extracted).mean
    except RecursionError:  # nested hundreds of levels deep
        return 0.0


def _compared(gold: Json, extracted: Json) -> _Similarity:
    if isinstance(gold, dict) and isinstance(extracted, dict):
        parts = [_compared(gold.get(key), extracted.get(key)) for key in gold.keys() | extracted.keys()]
        free = sum(key not in gold and _is_nothing(extracted[key]) for key in extracted)  # counts, and earns nothing
        return _Similarity(sum(part.total for part in parts) - free, sum(part.leaves for part in parts))
    if isinstance(gold, list) and isinstance(extracted, list):
        from pytest_extract.core.engine.pairing import assign  # few ask for it

        table = [[_compared(one, other) for other in extracted] for one in gold]
        scores = [[cell.mean for cell in row] for row in table]
        for i, one in enumerate(gold):
            for j, other in enumerate(extracted):
                if one == other:  # first among those that are as similar
                    scores[i][j] = math.nextafter(scores[i][j], math.inf)
        pairs = assign(scores)
        left = {*range(len(gold))} - {i for i, _ in pairs}, {*range(len(extracted))} - {j for _, j in pairs}
        alone = sum(_size(gold[i]) for i in left[0]) + sum(_size(extracted[j]) for j in left[1])
        return _Similarity(sum(table[i][j].total for i, j in pairs), sum(table[i][j].leaves for i, j in pairs) + alone)
    most = max(_size(gold), _size(extracted))
    if gold is None:
        return _Similarity(float(_is_nothing(extracted)), most)
    if isinstance(gold, dict | list) or isinstance(extracted, dict | list) or extracted is None:
        return _Similarity(0.0, most)
    from rapidfuzz.distance import Levenshtein

    one, other = (" ".join(str(side).lower().split()) for side in (gold, extracted))
    similarity = Levenshtein.normalized_similarity(one, other)
    return _Similarity(similarity if similarity >= _LEAST_SIMILARITY else 0.0, most)


def _size(value: Json) -> int:
    if isinstance(value, dict | list):
        return sum(map(_size, value.values() if isinstance(value, dict) else value))
    return 1


def _is_nothing(value: Json) -> bool:
    return value is None or value in ({}, [], "")


class _Tree(NamedTuple):
    """Nodes in postorder: the label of each, whether it is a leaf's text, and the first node below it."""

    labels: list[str]
    texts: list[bool]
    firsts: list[int]

    @property
    def roots(self) -> list[int]:
        """The nodes at which a subtree begins that shares its first node with no larger one."""
        return sorted({first: node for node, first in enumerate(self.firsts)}.values())

    def weight(self, node: int) -> int:
        """Return what it costs to put a node in or take it out: the letters of a text, 1 for a key."""
        return len(self.labels[node]) if self.texts[node] else 1


def n_ted(gold: Json, extracted: Json) -> float:
    """Return 1 - tree edit distance / size of the gold, 0 at least; keys are nodes, values leaves by their letters.

    Source: Kim et al., arXiv 2111.15664, with the distance of Zhang and Shasha (1989). Raises ConfigError for trees of
    more than `MOST_NODE_PAIRS` pairs of nodes.
    """
    trees = one, other = _tree(gold), _tree(extracted)
    if len(one.labels) * len(other.labels) > MOST_NODE_PAIRS:
        sizes = " and ".join(f"{len(tree.labels):,}" for tree in trees)
        raise ConfigError(f"n_ted is for small documents: trees of {sizes} nodes take too long")
    whole = sum(map(one.weight, range(len(one.labels) - 1)))
    distance = _distance(one, other)
    return max(0.0, 1.0 - distance / whole) if whole else float(distance == 0)


def _tree(value: Json) -> _Tree:
    tree = _Tree([], [], [])

    def add(label: str, first: int, *, is_text: bool = False) -> None:
        tree.labels.append(label)
        tree.texts.append(is_text)
        tree.firsts.append(first)

    def walk(part: Json) -> None:
        items = part if isinstance(part, list) else [part]
        for item in items:
            first = len(tree.labels)
            if isinstance(item, dict):
                for key in sorted(item, key=lambda key: (len(key), key)):
                    below = len(tree.labels)
                    walk(item[key])
                    if len(tree.labels) > below:  # nothing stands below an empty value
                        add(key, below)
                if item is not value and len(tree.labels) > first:  # the root stands for itself
                    add("", first)
            elif isinstance(item, list):
                walk(item)
            elif item is not None and str(item).strip():
                add(str(item).strip(), first, is_text=True)

    walk(value)
    add("", 0)
    return tree


def _exchange(one: _Tree, i: int, other: _Tree, j: int) -> float:
    from rapidfuzz.distance import Levenshtein

    if one.texts[i] and other.texts[j]:
        return Levenshtein.distance(one.labels[i], other.labels[j])
    if one.texts[i] or other.texts[j]:
        return 1 + (one.weight(i) if one.texts[i] else other.weight(j))
    return float(one.labels[i] != other.labels[j])


def _distance(one: _Tree, other: _Tree) -> float:
    known: dict[tuple[int, int], float] = {}

    for root in one.roots:
        for partner in other.roots:
            low, start = one.firsts[root], other.firsts[partner]
            rows, columns = range(low, root + 1), range(start, partner + 1)
            table = [[0.0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
            for x, i in enumerate(rows, start=1):
                table[x][0] = table[x - 1][0] + one.weight(i)
            for y, j in enumerate(columns, start=1):
                table[0][y] = table[0][y - 1] + other.weight(j)
            for x, i in enumerate(rows, start=1):
                for y, j in enumerate(columns, start=1):
                    least = min(table[x - 1][y] + one.weight(i), table[x][y - 1] + other.weight(j))
                    if one.firsts[i] == low and other.firsts[j] == start:
                        table[x][y] = known[i, j] = min(least, table[x - 1][y - 1] + _exchange(one, i, other, j))
                    else:
                        table[x][y] = min(least, table[one.firsts[i] - low][other.firsts[j] - start] + known[i, j])
    return known[len(one.labels) - 1, len(other.labels) - 1]


PAPER_MEASURES: Final[Mapping[str, Callable[[Json, Json], float]]] = MappingProxyType(
    {"anls_star": anls_star, "n_ted": n_ted}
)
