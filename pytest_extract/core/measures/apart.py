"""Where the structure of an output departs from the gold: places that only one side has, rows as they were matched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pytest_extract.core.results import ArrayResult
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, Step


class Place(NamedTuple):
    """A place that only one side has, with the values at it or inside it; `nulls` are those of them that are null.

    `path` is that of the gold for a missing place, and that of the output for one that the gold does not have.
    """

    path: FieldPath
    values: int
    nulls: int

    @classmethod
    def of(cls, path: tuple[Step, ...], value: Json) -> Place:
        """Count the values of a subtree."""
        values = nulls = 0
        stack = [value]
        while stack:
            node = stack.pop()
            if isinstance(node, dict):
                stack += node.values()
            elif isinstance(node, list):
                stack += node
            else:
                values += 1
                nulls += node is None
        return cls(FieldPath(path), values, nulls)

    def __str__(self) -> str:
        text = str(self.path)
        short = text if len(text) <= 80 else f"{text[:39]}…{text[-40:]}"
        row = "row, " if self.path and isinstance(self.path[-1], int) else ""
        return f"`{short}`" + (f" ({row}{self.values:,} values)" if self.values > 1 else "")


class Apart(NamedTuple):
    """The places that the output lacks, in the order of the gold, and those that the gold does not have."""

    missing: list[Place]
    unexpected: list[Place]


def places_apart(gold: Json, extracted: Json | Missing, arrays: Iterable[ArrayResult]) -> Apart:
    """Compare the structure of two documents; rows that no comparison has matched go by position."""
    if extracted is MISSING:
        return Apart([Place.of((), gold)], [])
    pairings = {tuple(array.path): array for array in arrays}
    apart = Apart([], [])
    stack: list[tuple[tuple[Step, ...], Json, tuple[Step, ...], Json]] = [((), gold, (), extracted)]
    while stack:
        path, one, at, other = stack.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            apart.missing.extend(Place.of((*path, key), value) for key, value in one.items() if key not in other)
            apart.unexpected.extend(Place.of((*at, key), value) for key, value in other.items() if key not in one)
            stack += [((*path, key), one[key], (*at, key), other[key]) for key in reversed(one) if key in other]
        elif isinstance(one, list) and isinstance(other, list):
            pairs = [*_pairs(path, one, other, pairings)]
            paired, taken = {i for i, _ in pairs}, {j for _, j in pairs}
            apart.missing.extend(Place.of((*path, i), row) for i, row in enumerate(one) if i not in paired)
            apart.unexpected.extend(Place.of((*at, j), row) for j, row in enumerate(other) if j not in taken)
            stack += [((*path, i), one[i], (*at, j), other[j]) for i, j in reversed(pairs)]
        elif isinstance(one, dict | list) or isinstance(other, dict | list):
            apart.missing.append(Place.of(path, one))
            apart.unexpected.append(Place.of(at, other))
    return Apart(*([place for place in places if place.values] for places in apart))


def _pairs(
    path: tuple[Step, ...], gold: list[Json], extracted: list[Json], pairings: Mapping[tuple[Step, ...], ArrayResult]
) -> Iterator[tuple[int, int]]:
    if path not in pairings:
        yield from ((index, index) for index in range(min(len(gold), len(extracted))))
        return
    yield from ((i, j) for i, j in pairings[path].pairs if i < len(gold) and j < len(extracted))
