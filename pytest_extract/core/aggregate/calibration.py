"""Calibration: whether values of a confidence are right as often as it says, and whether it tells right from wrong."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.aggregate.bootstrap import Estimate
from pytest_extract.core.aggregate.slices import dimension
from pytest_extract.core.aggregate.thresholds import ALL_FIELDS, CaseConfidences, CaseValues, ConfidentValue
from pytest_extract.core.auto_accept import decided_leaves
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.values import MISSING, FieldPath, canonical_json
from pytest_extract.errors import ConfigError

Source: TypeAlias = Literal["reported", "agreement"]
BINS: Final = 10
RESAMPLES: Final = 400
_SEED: Final = 20_260_101


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """The values of a part of the scale: their number, mean confidence, and the share that is right."""

    low: float
    high: float
    count: float
    confidence: float
    right: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How a confidence relates to being right, over the values that have one; each estimate with its 95 % interval.

    accuracy: share of right values. error: expected calibration error, the mean distance of confidence and share over
    `BINS` bins of equal width, weighted by their values. auroc: probability that a right value has a higher confidence
    than a wrong one (ties count half), None where all are right or all wrong. aurc: area under the risk-coverage curve,
    the mean share of wrong values over all coverages; lower is better, and it is small where most values are right.
    The intervals are percentiles of a bootstrap over cases. Sources: Naeini et al. (2015); Geifman et al. (2019).
    """

    values: float
    cases: int
    confidence: float
    accuracy: Estimate
    error: Estimate
    auroc: Estimate | None
    aurc: Estimate
    bins: tuple[ReliabilityBin, ...]


class _Statistics(NamedTuple):
    accuracy: float
    error: float
    auroc: float | None
    aurc: float
    shares: tuple[float | None, ...]


class _Row(NamedTuple):
    confidence: float
    right: bool
    weight: float
    case: int


def calibrate(cases: Sequence[CaseValues], *, resamples: int = RESAMPLES) -> Calibration | None:
    """Calibrate the values of cases; None where no value has a confidence."""
    rows = sorted(
        _Row(value.confidence, value.right, value.weight, index)
        for index, values in enumerate(cases)
        for value in values
        if value.confidence is not None
    )
    if not rows:
        return None
    used = sorted({row.case for row in rows})
    found = _statistics(rows, dict.fromkeys(used, 1))
    source = random.Random(_SEED)  # noqa: S311 - statistics, not secrets
    drawn = [_statistics(rows, Counter(source.choices(used, k=len(used)))) for _ in range(resamples)]
    total = sum(row.weight for row in rows)
    bins = []
    for index in range(BINS):
        inside = [row for row in rows if _bin_of(row.confidence) == index]
        share, count = found.shares[index], sum(row.weight for row in inside)
        if share is not None:
            bins.append(
                ReliabilityBin(
                    low=index / BINS,
                    high=(index + 1) / BINS,
                    count=count,
                    confidence=sum(row.confidence * row.weight for row in inside) / count,
                    right=_estimate(share, [each.shares[index] for each in drawn]),
                )
            )
    return Calibration(
        values=total,
        cases=len(used),
        confidence=sum(row.confidence * row.weight for row in rows) / total,
        accuracy=_estimate(found.accuracy, [each.accuracy for each in drawn]),
        error=_estimate(found.error, [each.error for each in drawn]),
        auroc=None if found.auroc is None else _estimate(found.auroc, [each.auroc for each in drawn]),
        aurc=_estimate(found.aurc, [each.aurc for each in drawn]),
        bins=tuple(bins),
    )


def _estimate(value: float, drawn: Iterable[float | None]) -> Estimate:
    import numpy as np

    low, high = np.quantile([each for each in drawn if each is not None] or [value], (0.025, 0.975)).tolist()
    return Estimate(mean=value, low=low, high=high)


def _bin_of(confidence: float) -> int:
    return min(int(confidence * BINS), BINS - 1)


def _statistics(rows: Sequence[_Row], times: dict[int, int]) -> _Statistics:
    """Compute all statistics in one pass over rows sorted by confidence; `times`: how often each case counts."""
    sums = [[0.0, 0.0, 0.0] for _ in range(BINS)]  # weight, confidence, right
    right = wrong = pairs = 0.0
    groups: list[tuple[float, float]] = []  # right and wrong values of one confidence
    last = None
    for confidence, is_right, own, case in rows:
        weight = own * times.get(case, 0)
        if not weight:
            continue
        part = sums[_bin_of(confidence)]
        part[0] += weight
        part[1] += weight * confidence
        part[2] += weight * is_right
        if confidence != last:
            groups.append((0.0, 0.0))
            last = confidence
        old = groups[-1]
        groups[-1] = (old[0] + weight * is_right, old[1] + weight * (not is_right))
    for good, bad in groups:  # from the lowest confidence up
        pairs += good * (wrong + bad / 2)
        right += good
        wrong += bad
    total = right + wrong
    area = covered = missed = 0.0
    for good, bad in reversed(groups):
        covered += good + bad
        missed += bad
        area += (good + bad) * missed / covered
    return _Statistics(
        accuracy=right / total if total else 0.0,
        error=sum(abs(confidence - share) for _, confidence, share in sums) / total if total else 0.0,
        auroc=pairs / (right * wrong) if right and wrong else None,
        aurc=area / total if total else 0.0,
        shares=tuple(share / weight if weight else None for weight, _, share in sums),
    )


def agreement_values(result: CaseResult) -> dict[str, list[ConfidentValue]]:
    """Return the values of a case by pattern, with the share of its repeats that gave the same value as confidence.

    Empty for a case with fewer than two scored repeats.
    """
    runs = [{leaf.path: leaf for leaf in decided_leaves(score.leaves, result.known)} for score in result.scores]
    if len(runs) < 2:
        return {}
    counts: Counter[tuple[FieldPath, str]] = Counter()
    for run in runs:
        counts.update((path, _value_key(leaf.extracted)) for path, leaf in run.items())
    values: dict[str, list[ConfidentValue]] = {}
    for run in runs:
        for path, leaf in run.items():
            agreed = counts[path, _value_key(leaf.extracted)] / len(runs)
            values.setdefault(leaf.pattern, []).append(ConfidentValue(agreed, leaf.passed, 1 / len(runs)))
    return values


def _value_key(value: object) -> str:
    return "missing" if value is MISSING or value is None else canonical_json(value)


SOURCES: Final[Mapping[Source, str]] = MappingProxyType(
    {"reported": "confidence", "agreement": "agreement of repeats as confidence"}
)
"""Where a confidence comes from: the extractor, or the repeats of a case."""


def _confidences(results: Iterable[CaseResult], source: Source) -> CaseConfidences:
    found = CaseConfidences()
    for result in results:
        if source == "reported":
            found.add(result)
        else:
            found.add_values(result, agreement_values(result))
    return found


def confidence_source(results: Sequence[CaseResult]) -> Source:
    """Return `reported` if some value has a confidence, else `agreement`."""
    reported = any(
        leaf.confidence is not None for result in results for score in result.scores for leaf in score.leaves
    )
    return "reported" if reported else "agreement"


def arm_calibration(
    results: Sequence[CaseResult], source: Source, by: Sequence[str] = ()
) -> tuple[Calibration, dict[str, dict[str, Calibration]]] | None:
    """Calibrate the values of one arm: all, by field, and by slice of each tag in `by`; None without a confidence.

    Raises ConfigError for a dimension in `by` that does not split cases.
    """
    found = _confidences(results, source)
    overall = calibrate(found.values_of(ALL_FIELDS))
    if overall is None:
        return None
    parts = {"fields": _calibrated({pattern: found.values_of(pattern) for pattern in found.patterns})}
    for name in by:
        of_case = dimension(name).of_case
        if of_case is None:
            raise ConfigError(f"--by {name} does not split cases; a calibration is split by a tag")
        slices: dict[str, list[CaseResult]] = {}
        for result in results:
            slices.setdefault(of_case(result), []).append(result)
        parts[name] = _calibrated(
            {key: _confidences(some, source).values_of(ALL_FIELDS) for key, some in slices.items()}
        )
    return overall, parts


def _calibrated(parts: Mapping[str, Sequence[CaseValues]]) -> dict[str, Calibration]:
    found = {name: calibrate(values) for name, values in parts.items()}
    return {name: each for name, each in found.items() if each is not None}
