"""What a walk keeps of leaves, of which the results are made when somebody reads them: most are never read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

from pytest_extract.collector import without_collection
from pytest_extract.core.compile.nodes import SCALARS, Property
from pytest_extract.core.results import MATCH, FieldResult
from pytest_extract.core.values import FieldPath, Json, Value

Others: TypeAlias = Mapping[int, FieldResult | None]
"""By place, the results of leaves that differ, and None where there is none."""
Matches: TypeAlias = tuple[
    tuple[Property, ...],
    int,
    int,
    Sequence[FieldPath],
    Sequence[FieldPath | None] | None,
    Sequence[Value],
    Sequence[Value],
    Others,
]
"""Leaves that follow one another and match, each with a score of 1, but for some others.

Columns, start, stop, paths, paths of the extracted values (None: the same), gold, extracted, others. The leaves are
those from start up to stop of some rows, which paths and values hold one after the other, each in the order of the
columns. A plain tuple, as a walk makes many: a named one takes several times as long to make, and to take apart.
"""
Kept: TypeAlias = FieldResult | Matches
"""What a walk keeps of the leaves that it scores: a result, or matches of which no result is made yet."""
NO_OTHERS: Final[Others] = {}
_new: Final = tuple.__new__
_weight_of: Final = itemgetter(7)  # a `Property`'s last


def weights_of(matches: Matches) -> list[float]:
    """Return what each leaf weighs, where all match."""
    columns, start, stop = matches[:3]
    if stop <= len(columns):  # of an object, which may have many properties
        return [*map(_weight_of, columns[start:stop])]
    weights = [*map(_weight_of, columns)]
    first, size = start % len(weights), stop - start
    return (weights * -(-(first + size) // len(weights)))[first : first + size]


def weights_or_results(matches: Matches) -> Sequence[float | FieldResult]:
    """Return the weight of each leaf that matches, and the results of the others."""
    _, start, _, _, _, _, _, others = matches
    weights = weights_of(matches)
    if not others:
        return weights
    found = [others.get(place, weight) for place, weight in enumerate(weights, start)]
    return [one for one in found if one is not None]


def matched_results(matches: Matches) -> list[FieldResult]:
    """Make the results of the leaves."""
    columns, start, stop, paths, extracted_paths, gold, extracted, others = matches
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
            paths[place], pattern, metric, params, MATCH, 1.0, True, gold[place], extracted[place], None, weight, where,
        )  # fmt: skip
        found.append(_new(FieldResult, values))
    return found


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
        if isinstance(one, FieldResult):
            yield one
        else:
            *_, others = one
            yield from [result for result in others.values() if result is not None]


@without_collection
def make_results(
    fields: Sequence[Kept], leaves: Sequence[Kept]
) -> tuple[tuple[FieldResult, ...], tuple[FieldResult, ...]]:
    """Return field and leaf results; one that is both is one object."""
    made: dict[int, list[FieldResult]] = {}
    leaf_results: list[FieldResult] = []
    for one in leaves:
        own = made[id(one)] = [_explained(one)] if isinstance(one, FieldResult) else matched_results(one)
        leaf_results += own
    field_results: list[FieldResult] = []
    for one in fields:
        field_results += made.get(id(one)) or (
            [_explained(one)] if isinstance(one, FieldResult) else matched_results(one)
        )
    return tuple(field_results), tuple(leaf_results)
