"""Joins the results of the shards of one run: each case and arm once, with notes on duplicates and conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.regression.snapshots import CaseKey, case_key, case_state

_RANK: Final = {Outcome.NOT_RUN: 0, Outcome.BROKEN: 1, Outcome.FAILED: 2, Outcome.PASSED: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Results in the order of the shards. `notes`: duplicates; `conflicts`: cases with two different results."""

    results: tuple[CaseResult, ...]
    notes: tuple[str, ...]
    conflicts: tuple[str, ...]


def merge(shards: Iterable[tuple[str, Sequence[CaseResult]]]) -> Merged:
    """Join named shards.

    A case that one shard did not run, or could not, is taken from the shard that did. Of two different results the
    later one is kept and the case is a conflict, as nothing shows which of them belongs to the run.
    """
    kept: dict[CaseKey, tuple[str, CaseResult]] = {}
    notes: list[str] = []
    conflicts: list[str] = []
    for name, results in shards:
        for result in results:
            key = case_key(result)
            if key not in kept:
                kept[key] = (name, result)
                continue
            earlier, other = kept[key]
            if _same_result(other, result):
                notes.append(f"{result.nodeid}: the same in {earlier} and {name}; kept once")
            elif _RANK[other.outcome] != _RANK[result.outcome]:
                better = (name, result) if _RANK[result.outcome] > _RANK[other.outcome] else (earlier, other)
                kept[key] = better
                notes.append(f"{result.nodeid}: in {earlier} and {name}; kept the one that got further ({better[0]})")
            else:
                kept[key] = (name, result)
                conflicts.append(f"{result.nodeid}: {earlier} and {name} differ; the later one is kept")
    return Merged(
        results=tuple(result for _name, result in kept.values()), notes=tuple(notes), conflicts=tuple(conflicts)
    )


def _same_result(one: CaseResult, other: CaseResult) -> bool:
    """Whether two results are the same but for cost and time."""
    return replace(case_state(one), cost_usd=None) == replace(case_state(other), cost_usd=None)
