"""Joins the results of the shards of one run: each case and variant once, with notes on duplicates and conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.regression.snapshots import CaseKey, case_key, case_state

_RANK: Final = {Outcome.NOT_RUN: 0, Outcome.BROKEN: 1, Outcome.FAILED: 2, Outcome.PASSED: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Lines of results in the order of the shards. `notes`: duplicates; `conflicts`: cases with two different ones."""

    lines: tuple[bytes, ...]
    notes: tuple[str, ...]
    conflicts: tuple[str, ...]


def merge(
    shards: Iterable[tuple[str, Iterable[tuple[bytes, CaseResult]]]], load: Callable[[bytes], CaseResult]
) -> Merged:
    """Join named shards of results, each with its line, which `load` reads again. Only lines stay in memory.

    A case that one shard did not run, or could not, is taken from the shard that did. Of two different results the
    later one is kept and the case is a conflict, as nothing shows which of them belongs to the run.
    """
    kept: dict[CaseKey, tuple[str, bytes]] = {}
    notes: list[str] = []
    conflicts: list[str] = []
    for name, results in shards:
        for line, result in results:
            key = case_key(result)
            if key not in kept:
                kept[key] = name, line
                continue
            shard, earlier = kept[key]
            other = load(earlier)
            if earlier == line or _same_result(other, result):
                notes.append(f"{result.nodeid}: the same in {shard} and {name}; kept once")
            elif _RANK[other.outcome] != _RANK[result.outcome]:
                if _RANK[result.outcome] > _RANK[other.outcome]:
                    kept[key] = name, line
                better, _ = kept[key]
                both = f"{shard} and {name}"
                notes.append(f"{result.nodeid}: in {both}; kept the one that got further ({better})")
            else:
                kept[key] = name, line
                conflicts.append(f"{result.nodeid}: {shard} and {name} differ; the later one is kept")
    return Merged(lines=tuple(line for _, line in kept.values()), notes=tuple(notes), conflicts=tuple(conflicts))


def _same_result(one: CaseResult, other: CaseResult) -> bool:
    """Whether two results are the same but for cost and time."""
    states = [replace(case_state(each), cost_usd=None, latency_s=None) for each in (one, other)]
    return one == other or states[0] == states[1]
