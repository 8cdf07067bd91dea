"""What a report says of one score: comparisons with known failures set apart, and lines that sum some of them up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

from pytest_extract.core.results import FieldResult, ScoreRecord, Status
from pytest_extract.core.values import Json
from pytest_extract.thresholds import covered

FAILING: Final = frozenset({Status.MISMATCH, Status.OMISSION, Status.HALLUCINATION, Status.JUDGE_ERROR})


class Finding(NamedTuple):
    """One line of a report: a comparison, or `stands_for` of them that `note` sums up."""

    result: FieldResult
    note: str = ""
    stands_for: int = 1


class Split(NamedTuple):
    """The comparisons of one score: `counted` ones, and those that are `known` failures of the case."""

    counted: list[FieldResult]
    known: list[FieldResult]


def split_known(score: ScoreRecord, known: Sequence[str]) -> Split:
    """Return all comparisons of a score: its leaf results, and the field results that no leaf result is below."""
    shown = {leaf.path[:size] for leaf in score.leaves for size in range(len(leaf.path) + 1)}
    results = [*score.leaves, *(result for result in score.fields if result.path not in shown)]
    if not known:
        return Split(results, [])
    split = Split([], [])
    for result in results:
        (split.known if covered(result, known) else split.counted).append(result)
    return split


def failing(results: Iterable[FieldResult]) -> list[FieldResult]:
    """Return what failed."""
    return [result for result in results if result.status in FAILING]


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by score, then by weight, then as they stand in the document."""
    return sorted(findings, key=lambda finding: (finding.result.score, -finding.result.weight))


def stale_known(results: Sequence[FieldResult], known: Sequence[str]) -> list[str]:
    """Return the known failures of which there is something to compare, and nothing of it fails any more."""
    stale = []
    for place in known:
        statuses = {result.status for result in results if covered(result, (place,))}
        if Status.MATCH in statuses and FAILING.isdisjoint(statuses):
            stale.append(place)
    return stale


def metric_label(result: FieldResult) -> str:
    """Return the metric with its parameters, but for those that are off by default: `number(rel=0.01)`."""
    given = {
        name: value
        for name, value in result.params.items()
        if value is not None and (value or (result.metric, name) not in _off_by_default())
    }
    if not given:
        return result.metric
    return f"{result.metric}({', '.join(f'{name}={_param(value)}' for name, value in given.items())})"


@cache
def _off_by_default() -> frozenset[tuple[str, str]]:
    from pytest_extract.core.metrics import METRICS

    return frozenset((spec.name, param.name) for spec in METRICS.values() for param in spec.params if not param.default)


def _param(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.12g}".replace("e-0", "e-")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
