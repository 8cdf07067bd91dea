"""The comparisons of a scored output as typed entries, from their wire form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from pytest_extract.core.values import MISSING, Json, Missing

FAILING: Final = frozenset({"mismatch", "omission", "hallucination", "judge_error"})


class Entry(NamedTuple):
    """One comparison, or several that one line tells (`note` says how)."""

    path: str
    pattern: str
    metric: str
    params: Mapping[str, Json]
    status: str
    score: float
    gold: Json | Missing
    extracted: Json | Missing
    reason: str | None
    weight: float
    matched: str | None
    note: str = ""
    stands_for: int = 1

    @property
    def label(self) -> str:
        """The metric with its parameters, but for those that are off by default: `number(rel=0.01)`."""
        given = {name: value for name, value in self.params.items() if not self._is_off(name, value)}
        if not given:
            return self.metric
        return f"{self.metric}({', '.join(f'{name}={_param(value)}' for name, value in given.items())})"

    def _is_off(self, name: str, value: Json) -> bool:
        return value is None or (not value and (self.metric, name) in _off_by_default())


@cache
def _off_by_default() -> frozenset[tuple[str, str]]:
    from pytest_extract.core.metrics import METRICS

    return frozenset((spec.name, param.name) for spec in METRICS.values() for param in spec.params if not param.default)


def _param(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.12g}".replace("e-0", "e-")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def entry(record: Mapping[str, Any]) -> Entry:
    """Read one result of `Score.to_dict()`; a left-out `gold` or `extracted` is MISSING."""
    return Entry(
        path=record["path"],
        pattern=record["pattern"],
        metric=record["metric"],
        params=record.get("params") or {},
        status=record["status"],
        score=record["score"],
        gold=record.get("gold", MISSING),
        extracted=record.get("extracted", MISSING),
        reason=record.get("reason"),
        weight=record.get("weight", 1.0),
        matched=record.get("matched"),
    )


def failing(entries: Iterable[Entry]) -> list[Entry]:
    """Return what failed, worst first: by score, then by weight, then as it stands in the document."""
    bad = [item for item in entries if item.status in FAILING]
    return sorted(bad, key=lambda item: (item.score, -item.weight))


class Told(NamedTuple):
    """The comparisons of one score: `fresh` ones count, `excused` ones are known failures of the case."""

    fresh: list[Entry]
    excused: list[Entry]


def entries_of(score: Mapping[str, Any], known: Sequence[str]) -> Told:
    """Read all comparisons of `Score.to_dict()`: its leaves, and the field results that no leaf tells."""
    entries = [entry(record) for record in score["leaves"]]
    covered = {item.path for item in entries}
    entries += [item for item in map(entry, score["fields"]) if item.path not in covered and _alone(item, entries)]
    told = Told([], [])
    for item in entries:
        (told.excused if is_known(item, known) else told.fresh).append(item)
    return told


def _alone(item: Entry, leaves: Sequence[Entry]) -> bool:
    """Whether a field result is told by no leaf result below it."""
    return not any(leaf.path.startswith((f"{item.path}.", f"{item.path}[")) for leaf in leaves)


def stale_known(excused: Sequence[Entry], known: Sequence[str]) -> list[str]:
    """Return the known failures of which there is something to compare, and nothing of it fails any more."""
    told = []
    for place in known:
        covered = [item.status for item in excused if is_known(item, (place,))]
        if "match" in covered and FAILING.isdisjoint(covered):
            told.append(place)
    return told


def is_known(item: Entry, known: Sequence[str]) -> bool:
    """Whether a known failure (a pattern or a path, or one above the field) covers the entry."""
    return any(_covers(place, item.path) or _covers(place, item.pattern) for place in known)


def _covers(place: str, path: str) -> bool:
    return path == place or path.startswith((f"{place}.", f"{place}["))
