"""The nodes of a compiled schema at the path of a field."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object, RecursiveRef, Union
from pytest_extract.core.pattern import AnyKey, FieldStep


def nodes_at(node: Node, steps: tuple[FieldStep, ...]) -> Iterator[Node]:
    """Yield every node that a field's path leads to, choices opened."""
    while isinstance(node, RecursiveRef):
        node = node.node()
    if isinstance(node, Union):
        for _, branch in node.branches:
            yield from nodes_at(branch, steps)
    elif not steps:
        yield node
    else:
        for below in _below(node, steps[0]):
            yield from nodes_at(below, steps[1:])


def _below(node: Node, step: FieldStep) -> Iterator[Node]:
    match node:
        case Object() if isinstance(step, AnyKey):
            yield from (child for _, child in node.patterns)
            if node.other is not None:
                yield node.other
        case Object() if isinstance(step, str):
            yield from (entry.node for entry in node.entries if entry.name == step)
            yield from (child for pattern, child in node.patterns if pattern.search(step))
            if node.other is not None and step not in node.names:
                yield node.other
        case Array() if not isinstance(step, str | AnyKey):
            yield from node.prefix if step is None else node.prefix[step : step + 1] if step >= 0 else ()
            yield node.items
        case Leaf() if node.structure is not None:
            yield from _below(node.structure, step)
