"""Where the structure of an output departs from the gold: places that only one side has, rows as they were matched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_extract.core.results import ArrayResult
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, Step, iter_leaves


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
        values = [leaf for _, leaf in iter_leaves(value)]
        return cls(FieldPath(path), len(values), values.count(None))

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
    pairings = {tuple(array.path): array.pairs for array in arrays}
    apart = Apart([], [])
    stack: list[tuple[tuple[Step, ...], Json, tuple[Step, ...], Json]] = [((), gold, (), extracted)]
    while stack:
        path, one, at, other = stack.pop()
        pairs: list[tuple[Step, Step]]
        if isinstance(one, dict) and isinstance(other, dict):
            wanted, found, pairs = one, other, [(key, key) for key in one if key in other]
        elif isinstance(one, list) and isinstance(other, list):
            wanted, found = dict(enumerate(one)), dict(enumerate(other))
            by_position = zip(wanted, found, strict=False)
            pairs = [(i, j) for i, j in pairings.get(path, by_position) if i in wanted and j in found]
        else:
            if isinstance(one, dict | list) or isinstance(other, dict | list):
                apart.missing.append(Place.of(path, one))
                apart.unexpected.append(Place.of(at, other))
            continue
        taken, used = {i for i, _ in pairs}, {j for _, j in pairs}
        apart.missing.extend(Place.of((*path, step), value) for step, value in wanted.items() if step not in taken)
        apart.unexpected.extend(Place.of((*at, step), value) for step, value in found.items() if step not in used)
        stack += [((*path, i), wanted[i], (*at, j), found[j]) for i, j in reversed(pairs)]
    return Apart(*([place for place in places if place.values] for places in apart))
