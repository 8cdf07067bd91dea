"""Leaves that match, kept as rows of values: their results are made when somebody reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import TableColumn
from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.values import FieldPath, Json, Missing

_new: Final = tuple.__new__


class Matches(NamedTuple):
    """Leaves that follow one another and match, each with a score of 1.

    They are those from `start` up to `stop` of some rows, which `paths`, `extracted_paths` (None: as `paths`), `gold`
    and `extracted` hold one after the other, each in the order of `columns`.
    """

    columns: tuple[TableColumn, ...]
    start: int
    stop: int
    paths: Sequence[FieldPath]
    extracted_paths: Sequence[FieldPath | None] | None
    gold: Sequence[Json | Missing]
    extracted: Sequence[Json | Missing]

    @property
    def size(self) -> int:
        """Number of leaves."""
        return self.stop - self.start

    @property
    def weights(self) -> list[float]:
        """What each leaf weighs."""
        columns, start, stop, *_ = self
        width = len(columns)
        return [columns[place % width].weight for place in range(start, stop)]

    def results(self) -> list[FieldResult]:
        """Make the results of the leaves."""
        columns, start, stop, paths, extracted_paths, gold, extracted = self
        width, match = len(columns), Status.MATCH
        found = []
        for place in range(start, stop):
            _, _, pattern, metric, params, weight, _ = columns[place % width]
            where = None if extracted_paths is None else extracted_paths[place]
            values = (
                paths[place], pattern, metric, params, match, 1.0, True, gold[place], extracted[place], None, weight,
                where,
            )  # fmt: skip
            found.append(_new(FieldResult, values))
        return found


Kept: TypeAlias = FieldResult | Matches
"""What a walk keeps of the leaves that it scores: a result, or matches of which no result is made yet."""


def matches_between(rows: Matches, others: Mapping[int, FieldResult | None]) -> Iterator[Kept]:
    """Yield what is kept of rows of which all leaves match but `others`: results by place, None where there is none."""
    columns, start, stop, *values = rows
    for place in sorted(others):
        if start < place:
            yield _new(Matches, (columns, start, place, *values))
        result = others[place]
        if result is not None:
            yield result
        start = place + 1
    if start < stop:
        yield _new(Matches, (columns, start, stop, *values))


def weights_or_results(kept: Iterable[Kept]) -> Iterator[float | FieldResult]:
    """Yield the weight of each leaf that matches, and the results of all others."""
    for one in kept:
        if isinstance(one, Matches):
            yield from one.weights
        else:
            yield one


def make_results(
    fields: Sequence[Kept], leaves: Sequence[Kept]
) -> tuple[tuple[FieldResult, ...], tuple[FieldResult, ...]]:
    """Return field and leaf results; one that is both is one object."""
    made: dict[int, list[FieldResult]] = {}

    def results(kept: Sequence[Kept]) -> tuple[FieldResult, ...]:
        found: list[FieldResult] = []
        for one in kept:
            if isinstance(one, Matches):
                if id(one) not in made:
                    made[id(one)] = one.results()
                found += made[id(one)]
            else:
                found.append(one)
        return tuple(found)

    return results(fields), results(leaves)
