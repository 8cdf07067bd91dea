"""How hard a case is by its shape: what its schema declares and what its gold holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import Array, Program
from pytest_extract.core.values import Json, parse_field

Complexity: TypeAlias = Literal["easy", "medium", "hard"]

WEIGHTS: Final[Mapping[str, float]] = {"easy": 1.0, "medium": 2.0, "hard": 3.0}
"""What a case weighs in complexity-weighted means (SOB); a case of unknown complexity weighs 0."""

_CLASSES: Final[tuple[Complexity, ...]] = ("easy", "medium", "hard")
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
    def complexity(self) -> Complexity:
        """Class of the hardest of depth, fields and array items.

        easy up to depth 2, 10 fields, 10 array items; medium up to 4 (as in DeepJSONEval), 50, 100; hard beyond.
        """
        sizes = self.to_dict()
        return _CLASSES[max(sum(sizes[name] > limit for limit in limits) for name, limits in _LIMITS.items())]

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


def shape_of(program: Program) -> Callable[[Json], Shape]:
    """Return what measures a case of this schema: a place of several alternatives has the fields of all of them.

    Of what is inside itself, the first level counts; a list or object that is compared as one value is one field.
    """
    places = [parse_field(pattern) or () for pattern in program.patterns]
    around = Counter(place[:-1] for place in places if place and place[-1] is not None)
    inside = {place[:-1] for place in places if place}
    depth = 1 + max(sum(step is not None for step in place) for place in places)
    fields = sum(place not in inside for place in places)
    arrays = sum(isinstance(node, Array) for node in program.patterns.values())

    def shape(gold: Json) -> Shape:
        counts = count_values(gold)
        return Shape(
            fields=fields,
            breadth=max(around.values(), default=0),
            depth=max(depth, counts.depth),
            arrays=arrays,
            array_items=counts.array_items,
            leaves=counts.leaves,
            values=counts.values,
        )

    return shape
