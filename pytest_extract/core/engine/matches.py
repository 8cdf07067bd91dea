"""What a walk keeps of leaves, of which the results are made when somebody reads them: most are never read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.collector import without_collection
from pytest_extract.core.compile.nodes import SCALARS, Property
from pytest_extract.core.results import MATCH, FieldResult
from pytest_extract.core.values import FieldPath, Json, Value

NO_OTHERS: Final[Mapping[int, FieldResult | None]] = {}
_new: Final = tuple.__new__
_weight_of: Final = itemgetter(7)  # a `Property`'s last


class Matches(NamedTuple):
    """Leaves that follow one another and match, each with a score of 1, but for `others`.

    They are those from `start` up to `stop` of some rows, which `paths`, `extracted_paths` (None: as `paths`), `gold`
    and `extracted` hold one after the other, each in the order of `columns`. `others`: by place, the results of leaves
    that differ, and None where there is none.
    """

    columns: tuple[Property, ...]
    start: int
    stop: int
    paths: Sequence[FieldPath]
    extracted_paths: Sequence[FieldPath | None] | None
    gold: Sequence[Value]
    extracted: Sequence[Value]
    others: Mapping[int, FieldResult | None] = NO_OTHERS

    @property
    def weights(self) -> list[float]:
        """What each leaf weighs, where all match."""
        columns, stop = self.columns, self.stop
        if stop <= len(columns):  # of an object, which may have many properties
            return [*map(_weight_of, columns[self.start : stop])]
        weights = [*map(_weight_of, columns)]
        return (weights * -(-stop // len(weights)))[self.start : stop]

    def weights_or_results(self) -> Iterator[float | FieldResult]:
        """Yield the weight of each leaf that matches, and the results of the others."""
        columns, start, stop, *_, others = self
        width = len(columns)
        for place in range(start, stop):
            if place not in others:
                yield _weight_of(columns[place % width])
            elif (result := others[place]) is not None:
                yield result

    def results(self) -> list[FieldResult]:
        """Make the results of the leaves."""
        columns, start, stop, paths, extracted_paths, gold, extracted, others = self
        width = len(columns)
        where, found = None, []
        for place in range(start, stop):
            if others and place in others:
                result = others[place]
                if result is not None:
                    found.append(_explained(result))
                continue
            _, _, _, _, pattern, metric, params, weight = columns[place % width]
            if extracted_paths is not None:
                where = extracted_paths[place]
            values = (
                paths[place], pattern, metric, params, MATCH, 1.0, True, gold[place], extracted[place], None, weight,
                where,
            )  # fmt: skip
            found.append(_new(FieldResult, values))
        return found


Kept: TypeAlias = FieldResult | Matches
"""What a walk keeps of the leaves that it scores: a result, or matches of which no result is made yet."""


def explanation(explain: Callable[[Json, Json], str | None], gold: Json, extracted: Json) -> str | None:
    """Return why two values do not match, or the arguments, which stand for it until somebody reads the result."""
    if type(gold) in SCALARS and type(extracted) in SCALARS:
        return explain, gold, extracted  # type: ignore[return-value]
    return explain(gold, extracted)  # a list may hold something else when the result is read


def _explained(result: FieldResult) -> FieldResult:
    reason: object = result.reason
    if type(reason) is not tuple:
        return result
    *before, _, weight, matched = result
    explain, gold, extracted = reason
    return _new(FieldResult, (*before, explain(gold, extracted), weight, matched))


def made_results(kept: Iterable[Kept]) -> Iterator[FieldResult]:
    """Yield the results that a walk has made: all but those of leaves that match in a table or an object."""
    for one in kept:
        if isinstance(one, Matches):
            yield from [result for result in one.others.values() if result is not None]
        else:
            yield one


@without_collection
def make_results(
    fields: Sequence[Kept], leaves: Sequence[Kept]
) -> tuple[tuple[FieldResult, ...], tuple[FieldResult, ...]]:
    """Return field and leaf results; one that is both is one object."""
    made: dict[int, list[FieldResult]] = {}
    leaf_results: list[FieldResult] = []
    for one in leaves:
        own = made[id(one)] = one.results() if isinstance(one, Matches) else [_explained(one)]
        leaf_results += own
    field_results: list[FieldResult] = []
    for one in fields:
        field_results += made.get(id(one)) or (one.results() if isinstance(one, Matches) else [_explained(one)])
    return tuple(field_results), tuple(leaf_results)
