"""Gold values that no comparison reaches: keys that the schema does not declare, and what is skipped on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object, Program, RecursiveRef, Skip, Union
from pytest_extract.core.complexity import count_values
from pytest_extract.core.engine.context import DEEPEST, Path, branch_of
from pytest_extract.core.values import CONTAINERS, FieldPath, Json, path_below
from pytest_extract.core.words import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompared:
    """Gold values that nothing is compared with. Values are scalars, null included, as in a case's `shape`.

    total: all values of the gold. skipped: those that an annotation or an override leaves out on purpose.
    places: pattern of each key that no comparison reaches -> number of values at or below it.
    first: the first such key in the gold.
    """

    total: int
    skipped: int
    places: Mapping[str, int]
    first: FieldPath

    @property
    def count(self) -> int:
        """Values that no comparison reaches although nothing skips them."""
        return sum(self.places.values())

    @property
    def is_most(self) -> bool:
        """Whether these are more than the gold values that are compared."""
        return self.count > self.total - self.skipped - self.count

    def __str__(self) -> str:
        return uncompared_text(self.places, self.total)


def uncompared_text(places: Mapping[str, int], total: int) -> str:
    """Say how many gold values are compared with nothing, and where they stand."""
    ranked = sorted(places.items(), key=lambda item: -item[1])
    named = listed([f"`{pattern}` ({count:,})" for pattern, count in ranked])
    return f"{sum(places.values()):,} of {total:,} gold values are compared with nothing: {named}"


def find_uncompared(program: Program, gold: Json) -> Uncompared | None:
    """Return the gold values that no comparison of a compiled schema reaches.

    None where there are none but those skipped on purpose.
    """
    total = skipped = 0
    places: Counter[str] = Counter()
    first: Path | None = None
    stack: list[tuple[Node, Json, Path]] = [(program.root, gold, ())]
    while stack:
        node, value, path = stack.pop()
        is_whole = len(path) > DEEPEST or (isinstance(node, Object | Array) and bool(node.checks))
        below: list[tuple[Node, Json, Path]] = []
        if isinstance(node, RecursiveRef) and isinstance(value, CONTAINERS):
            below.append((node.node, value, path))
        elif isinstance(node, Union) and isinstance(value, CONTAINERS):
            below.append((branch_of(program.fits, node, value), value, path))
        elif isinstance(node, Array) and isinstance(value, list) and not is_whole:
            below += ((node.row(i), row, (*path, i)) for i, row in enumerate(value))
        elif isinstance(node, Object) and isinstance(value, dict) and not is_whole:
            for name, inner in value.items():
                child = node.properties.get(name)
                if child is None and node.extra == "compare":
                    child = node.node_of(name) or _WHOLE
                if child is not None:
                    below.append((child, inner, (*path, name)))
                elif count := count_values(inner).leaves:
                    total += count
                    places[path_below(node.pattern, name)] += count
                    first = first or (*path, name)
        else:  # a metric compares the whole, nothing does, or it is not of the kind that the schema declares
            count = count_values(value).leaves
            total += count
            skipped += count if isinstance(node, Skip) else 0
        stack += reversed(below)
    return None if first is None else Uncompared(total=total, skipped=skipped, places=places, first=FieldPath(first))


_WHOLE: Final = Leaf(pattern="")
"""Stands for a key that is compared as one value without a node of its own."""
