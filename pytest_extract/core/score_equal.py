"""Keeps the results of rows whose values all equal gold's, without a loop over them: most rows of a good output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, repeat
from typing import Final

from pytest_extract.core.plan_nodes import SCALARS, Bulk, Object
from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.score_run import Run
from pytest_extract.core.values import FieldPath, Json

_new: Final = tuple.__new__
_RESULTS: Final = repeat(FieldResult)
_MATCHES: Final = repeat(Status.MATCH)
_ONES: Final = repeat(1.0)
_TRUES: Final = repeat(True)  # noqa: FBT003 - a value
_NONES: Final = repeat(None)
_NOTHING: Final = type(None)
_SURE: Final = SCALARS | {_NOTHING}


def keep_equal(
    run: Run,
    obj: Object,
    gold: Sequence[Json],
    extracted: Sequence[Json],
    places: Iterable[FieldPath],
    wheres: Iterable[FieldPath] | None,
) -> bool:
    """Keep a match for every property of these rows of an object; False, with nothing kept, where one is no match.

    All is done by C loops: it takes half the time of looking at one value after the other.
    """
    bulk = obj.bulk
    sides = None if bulk is None else _equal_values(obj, bulk, gold, extracted)
    if bulk is None or sides is None:
        return False
    ours, theirs, gaps = sides
    if gaps and (not run.absent or (run.both_passed and obj.field)):
        return False
    size = len(gold)
    _, patterns, metrics, params, weights, _ = bulk
    whole: Iterator[tuple[object, ...]] = zip(
        places, patterns * size, metrics * size, params * size, _MATCHES, _ONES, _TRUES,
        ours, theirs, _NONES, weights * size, _NONES if wheres is None else wheres, strict=False,  # Nones never end
    )  # fmt: skip
    if gaps:
        present = [value is not None for value in ours]
        run.vacuous += present.count(False)
        whole = compress(whole, present)
    results = [*map(_new, _RESULTS, whole)]
    run.leaves += results
    if obj.field:
        run.fields += results
    return True


def _equal_values(
    obj: Object, bulk: Bulk, gold: Sequence[Json], extracted: Sequence[Json]
) -> tuple[list[Json], list[Json], bool] | None:
    """Return the values of both sides, row after row, and whether nulls are among them; None where they are unlike."""
    values, width, odd = bulk.values, len(bulk.patterns), bulk.odd
    try:
        if obj.extra != "ignore" and not {width}.issuperset([*map(len, gold), *map(len, extracted)]):
            return None
        ours = [*chain.from_iterable(map(values, gold))]
        theirs = [*chain.from_iterable(map(values, extracted))]
    except (KeyError, TypeError, IndexError):
        return None  # a row that lacks a property, or is no object
    kinds = [*map(type, ours)]
    if not _SURE.issuperset(kinds) or kinds != [*map(type, theirs)] or ours != theirs:
        return None
    if odd and not all(fast.issuperset(kinds[index::width]) for index, fast in odd):
        return None
    return ours, theirs, _NOTHING in kinds
