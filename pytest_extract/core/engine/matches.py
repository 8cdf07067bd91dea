"""Leaves that match, kept as rows of values: their results are made when somebody reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Final, NamedTuple, TypeAlias, TypeVar

from pytest_extract.core.compile.nodes import TableColumn
from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.values import FieldPath, Json, Missing

_T = TypeVar("_T")
_new: Final = tuple.__new__
_RESULTS: Final = repeat(FieldResult)
_MATCHES: Final = repeat(Status.MATCH)
_ONES: Final = repeat(1.0)
_TRUES: Final = repeat(True)  # noqa: FBT003 - a value
_NONES: Final = repeat(None)


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
    def weights(self) -> Sequence[float]:
        """What each leaf weighs."""
        return [column.weight for column in self._of_leaves(self.columns)]

    def results(self) -> list[FieldResult]:
        """Make the results of the leaves."""
        columns, start, stop, paths, extracted_paths, gold, extracted = self
        one_row = stop <= len(columns)
        of_columns = zip(*(columns[start:stop] if one_row else columns), strict=True)
        _, _, patterns, metrics, params, weights, _ = of_columns if one_row else map(self._of_leaves, of_columns)
        values = zip(
            paths[start:stop], patterns, metrics, params, _MATCHES, _ONES, _TRUES, gold[start:stop],
            extracted[start:stop], _NONES, weights,
            _NONES if extracted_paths is None else extracted_paths[start:stop], strict=False,  # some never end
        )  # fmt: skip
        return [*map(_new, _RESULTS, values)]

    def _of_leaves(self, row: Sequence[_T]) -> Sequence[_T]:
        """Return what the columns hold of a row, for each leaf."""
        skipped = self.start % len(row)
        end = skipped + self.size
        return ([*row] * -(-end // len(row)))[skipped:end] if end > len(row) else row[skipped:end]


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

    def results(kept: Sequence[Kept]) -> Iterator[FieldResult]:
        for one in kept:
            if isinstance(one, Matches):
                if id(one) not in made:
                    made[id(one)] = one.results()
                yield from made[id(one)]
            else:
                yield one

    return tuple(results(fields)), tuple(results(leaves))
