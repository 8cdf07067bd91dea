"""Gold values that no comparison reaches: keys that the schema does not declare, and what is skipped on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object, Program, RecursiveRef, Skip, Union
from pytest_extract.core.complexity import count_values
from pytest_extract.core.engine.context import DEEPEST, Path
from pytest_extract.core.engine.walk import branch_of
from pytest_extract.core.pattern import property_pattern
from pytest_extract.core.schema.tree import SchemaNode
from pytest_extract.core.values import FieldPath, Json

MOST_NAMED: Final = 5
"""Places that a sentence names; more are counted."""


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
    named = ", ".join(f"`{pattern}` ({count:,})" for pattern, count in ranked[:MOST_NAMED])
    left = len(ranked) - MOST_NAMED
    more = f" and {left:,} more {'place' if left == 1 else 'places'}" if left > 0 else ""
    count = sum(places.values())
    return f"{count:,} of {total:,} gold values are compared with nothing: {named}{more}"


class GoldCheck:
    """Finds the gold values that no comparison of a compiled schema reaches; made once for all golds of the schema.

    compares_all: every value of any gold is compared, so that no gold needs a look; False for a recursive schema.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._properties: dict[int, dict[str, Node]] = {}
        self.compares_all = _compares_all(program.root)

    def uncompared(self, gold: Json) -> Uncompared | None:
        """Return the values that no comparison reaches; None where there are none but those skipped on purpose."""
        if self.compares_all:
            return None
        walk = _UncomparedWalk(self._program.fits, self._properties)
        walk.stack.append((self._program.root, gold, ()))
        while walk.stack:
            walk.visit(*walk.stack.pop())
        if walk.first is None:
            return None
        return Uncompared(total=walk.total, skipped=walk.skipped, places=walk.places, first=FieldPath(walk.first))


def _compares_all(root: Node) -> bool:
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Skip | RecursiveRef) or (isinstance(node, Object) and node.extra != "compare"):
            return False
        stack.extend(_children(node))
    return True


def _children(node: Node) -> Iterator[Node]:
    if isinstance(node, Object):
        yield from (entry.node for entry in node.entries)
        yield from (below for _, below in node.patterns)
        if node.other is not None:
            yield node.other
    elif isinstance(node, Array):
        yield from (*node.prefix, node.items)
    elif isinstance(node, Union):
        yield from (branch for _, branch in node.branches)


class _UncomparedWalk:
    """One look at one gold: what it has counted, and the places that are still to be visited, the next one last.

    properties: of each object met so far, by its id, the nodes of its properties; shared by all golds.
    """

    __slots__ = ("_fits", "_properties", "first", "places", "skipped", "stack", "total")

    def __init__(self, fits: Callable[[SchemaNode, Json], bool], properties: dict[int, dict[str, Node]]) -> None:
        self.stack: list[tuple[Node, Json, Path]] = []
        self.total = 0
        self.skipped = 0
        self.places: dict[str, int] = {}
        self.first: Path | None = None
        self._fits = fits
        self._properties = properties

    def visit(self, node: Node, value: Json, path: Path) -> None:
        """Count a place that is compared as one or not at all, or push what is below it onto the stack."""
        if type(value) not in (dict, list):
            self.total += 1
            self.skipped += isinstance(node, Skip)
        elif isinstance(node, RecursiveRef):
            self.stack.append((node.node(), value, path))
        elif isinstance(node, Union):
            self.stack.append((branch_of(self._fits, node, value), value, path))
        elif isinstance(node, Skip):
            count = count_values(value).leaves
            self.total += count
            self.skipped += count
        elif isinstance(node, Object) and type(value) is dict and not node.checks and len(path) <= DEEPEST:
            self._object(node, value, path)
        elif isinstance(node, Array) and type(value) is list and not node.checks and len(path) <= DEEPEST:
            size = len(node.prefix)
            rows = [(node.prefix[i] if i < size else node.items, row, (*path, i)) for i, row in enumerate(value)]
            self.stack.extend(reversed(rows))
        else:  # a metric compares the whole, or it is not of the kind that the schema declares
            self.total += count_values(value).leaves

    def _object(self, node: Object, value: dict[str, Json], path: Path) -> None:
        below: list[tuple[Node, Json, Path]] = []
        nodes = self._properties.get(id(node))
        if nodes is None:
            nodes = self._properties[id(node)] = {entry.name: entry.node for entry in node.entries}
        for name, inner in value.items():
            child = nodes.get(name)
            if type(child) is Leaf and type(inner) in _SCALARS:  # most values, in half the time
                self.total += 1
                continue
            if child is None and node.extra == "compare":
                child = next((each for regex, each in node.patterns if regex.search(name)), node.other) or _WHOLE
            if child is not None:
                below.append((child, inner, (*path, name)))
            elif count := count_values(inner).leaves:
                pattern = property_pattern(node.pattern, name)
                self.total += count
                self.places[pattern] = self.places.get(pattern, 0) + count
                self.first = self.first or (*path, name)
        self.stack.extend(reversed(below))


_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_WHOLE: Final = Leaf(pattern="")
"""Stands for a key that is compared as one value without a node of its own."""
