"""The comparisons of a scored output as typed entries, from their wire form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
        """The metric with its parameters: `number(rel=0.01)`."""
        given = {name: value for name, value in self.params.items() if value is not None}
        if not given:
            return self.metric
        return f"{self.metric}({', '.join(f'{name}={_param(value)}' for name, value in given.items())})"


def _param(value: Json) -> str:
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
