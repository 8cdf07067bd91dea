"""Joins the results of the shards of one run: each case and arm once, with notes on duplicates and conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Generic, NamedTuple, TypeVar

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.regression.snapshots import CaseKey, case_key, case_state

_T = TypeVar("_T")
_RANK: Final = {Outcome.NOT_RUN: 0, Outcome.BROKEN: 1, Outcome.FAILED: 2, Outcome.PASSED: 2}


class _Kept(NamedTuple, Generic[_T]):
    """The shard that a result is taken from, and its place."""

    shard: str
    place: _T


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged(Generic[_T]):
    """Results in the order of the shards. `notes`: duplicates; `conflicts`: cases with two different results."""

    results: tuple[_T, ...]
    notes: tuple[str, ...]
    conflicts: tuple[str, ...]


def merge(
    shards: Iterable[tuple[str, Iterable[tuple[_T, CaseResult]]]],
    load: Callable[[_T], CaseResult],
    text: Callable[[_T], bytes],
) -> Merged[_T]:
    """Join named shards of results, each with its place. Only places stay in memory.

    `load` reads a result again, and `text` its line.

    A case that one shard did not run, or could not, is taken from the shard that did. Of two different results the
    later one is kept and the case is a conflict, as nothing shows which of them belongs to the run.
    """
    kept: dict[CaseKey, _Kept[_T]] = {}
    notes: list[str] = []
    conflicts: list[str] = []
    for name, results in shards:
        for place, result in results:
            key = case_key(result)
            here, earlier = _Kept(name, place), kept.get(key)
            if earlier is None:
                kept[key] = here
                continue
            same = text(earlier.place) == text(place)
            other = result if same else load(earlier.place)
            if same or _same_result(other, result):
                notes.append(f"{result.nodeid}: the same in {earlier.shard} and {name}; kept once")
            elif _RANK[other.outcome] != _RANK[result.outcome]:
                better = kept[key] = here if _RANK[result.outcome] > _RANK[other.outcome] else earlier
                both = f"{earlier.shard} and {name}"
                notes.append(f"{result.nodeid}: in {both}; kept the one that got further ({better.shard})")
            else:
                kept[key] = here
                conflicts.append(f"{result.nodeid}: {earlier.shard} and {name} differ; the later one is kept")
    return Merged(results=tuple(each.place for each in kept.values()), notes=tuple(notes), conflicts=tuple(conflicts))


def _same_result(one: CaseResult, other: CaseResult) -> bool:
    """Whether two results are the same but for cost and time."""
    return one == other or replace(case_state(one), cost_usd=None) == replace(case_state(other), cost_usd=None)
