"""How hard a case is by its shape: what its schema declares and what its gold holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from pytest_extract.core.schema.source import SchemaSource
from pytest_extract.core.values import Json

WEIGHTS: Final[Mapping[str, float]] = {"easy": 1.0, "medium": 2.0, "hard": 3.0}
"""What a case weighs in complexity-weighted means (SOB); a case of unknown complexity weighs 0."""

_LIMITS: Final = {"depth": (2, 4), "fields": (10, 50), "array_items": (10, 100)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Shape of one case.

    fields: leaves that the schema declares, array items once; breadth: most properties of one object.
    depth: levels of nested objects down to the leaf, arrays not counted, a flat record has 2 (DeepJSONEval's
    `true_depth`, reproduced on all its rows); the larger of schema's and gold's.
    arrays: arrays that the schema declares; array_items: elements of all arrays of the gold.
    leaves: scalars of the gold, nulls included; values: those that are not null.
    """

    fields: int
    breadth: int
    depth: int
    arrays: int
    array_items: int
    leaves: int
    values: int

    @property
    def complexity(self) -> str:
        """Class of the hardest of depth, fields and array items.

        easy up to depth 2, 10 fields, 10 array items; medium up to 4 (as in DeepJSONEval), 50, 100; hard beyond.
        """
        sizes = self.to_dict()
        return [*WEIGHTS][max(sum(sizes[name] > limit for limit in limits) for name, limits in _LIMITS.items())]

    def to_dict(self) -> dict[str, int]:
        """Return plain JSON, as in a line of the results file."""
        return {name: getattr(self, name) for name in self.__slots__}


def complexity_of(tags: Mapping[str, Json], shape: Shape) -> str:
    """Return the class that the tag `complexity` says, or that of the shape where it says none."""
    stated = tags.get("complexity")
    return stated if isinstance(stated, str) and stated in WEIGHTS else shape.complexity


def depth_class(depth: int) -> Literal["medium", "hard"] | None:
    """DeepJSONEval's split: depth 3 and 4 are medium, 5 to 7 hard (and what is deeper); None below 3."""
    if depth < 3:
        return None
    return "medium" if depth <= 4 else "hard"


class ValueCounts(NamedTuple):
    """What a gold holds.

    leaves: scalars, nulls included; values: scalars that are not null; array_items: elements of all arrays;
    depth: as in `Shape`.
    """

    leaves: int
    values: int
    array_items: int
    depth: int


def count_values(gold: Json) -> ValueCounts:
    """Count a JSON value of any depth."""
    leaves = values = items = 0
    depth = 1
    stack: list[tuple[Json, int]] = [(gold, 1)]
    while stack:
        node, level = stack.pop()
        if isinstance(node, dict):
            stack += [(child, level + 1) for child in node.values()]
            depth = max(depth, level + bool(node))
        elif isinstance(node, list):
            stack += [(child, level) for child in node]
            items += len(node)
        else:
            leaves += 1
            values += node is not None
    return ValueCounts(leaves, values, items, depth)


class _Declared(NamedTuple):
    fields: int = 1
    breadth: int = 0
    depth: int = 1
    arrays: int = 0


_DEEPEST: Final = 100


def shapes_of(schema: Json) -> Callable[[Json], Shape]:
    """Measure what a schema declares, once; return what measures a case of it by its gold.

    Local `$ref`s are followed, and the widest branch of `anyOf` counts. Each reference is measured once; inside itself
    it counts as nothing.
    """
    source = SchemaSource(schema)
    known = {"": _Declared(fields=0)}

    def measure(node: Json, level: int = 0) -> _Declared:
        if not isinstance(node, dict) or level > _DEEPEST:
            return _Declared()
        for _, target in source.references(node):
            if target is None:
                return _Declared()
            if target not in known:
                known[target] = known[""]
                known[target] = measure(source.at(target), level + 1)
            return known[target]
        choices, parts = (
            [measure(each, level + 1) for keyword in keywords for each in _listed(node, keyword)]
            for keywords in (("anyOf", "oneOf"), ("allOf",))
        )
        members, items = node.get("properties"), node.get("items")
        if isinstance(members, dict) and members:
            children = [measure(child, level + 1) for child in members.values()]
            breadth = max(len(children), *(child.breadth for child in children))
            depth = 1 + max(child.depth for child in children)
            parts.append(_merged(children, sum)._replace(breadth=breadth, depth=depth))
        elif isinstance(items, dict):
            inner = measure(items, level + 1)
            parts.append(inner._replace(arrays=inner.arrays + 1))
        if choices:
            parts.append(_merged(choices, max))
        return _merged(parts, sum) if parts else _Declared()

    declared = measure(schema)

    def shape_of(gold: Json) -> Shape:
        counts = count_values(gold)
        sizes = {**declared._asdict(), **counts._asdict(), "depth": max(declared.depth, counts.depth)}
        return Shape(**sizes)

    return shape_of


def _merged(parts: list[_Declared], how: Callable[[Iterable[int]], int]) -> _Declared:
    """Shape of something that is all of the parts at once (`how`: sum), or any one of them (max)."""
    fields, breadth, depth, arrays = zip(*parts, strict=True)
    return _Declared(how(fields), how(breadth), max(depth), how(arrays))


def _listed(node: Mapping[str, Json], keyword: str) -> list[Json]:
    listed = node.get(keyword)
    return listed if isinstance(listed, list) else []
