"""Calibration: whether values of a confidence are right as often as it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pytest_extract.core.aggregate.bootstrap import Estimate
from pytest_extract.core.aggregate.thresholds import ALL_FIELDS, CaseConfidences, CaseValues

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BINS: Final = 10
RESAMPLES: Final = 1_000
_SEED: Final = 20_260_101


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How a confidence relates to being right, over the values that have one; each estimate with its 95 % interval.

    accuracy: share of right values. error: expected calibration error, the mean distance of confidence and share over
    `BINS` bins of equal width, weighted by their values. The intervals are percentiles of a bootstrap over cases.
    Source: Naeini et al. (2015).
    """

    values: float
    cases: int
    confidence: float
    accuracy: Estimate
    error: Estimate


def calibrate(cases: Sequence[CaseValues], *, resamples: int = RESAMPLES) -> Calibration | None:
    """Calibrate the values of cases; None where no value has a confidence."""
    import numpy as np

    found = [[each for each in values if each.confidence is not None] for values in cases]
    used = [values for values in found if values]
    if not used:
        return None
    sums = np.zeros((len(used), BINS + 3))  # of confidence less right by bin; of all values, confidences, right ones
    for row, values in zip(sums, used, strict=True):
        for confidence, right, weight in values:
            if confidence is not None:
                row[min(int(confidence * BINS), BINS - 1)] += weight * (confidence - right)
                row[BINS:] += weight, weight * confidence, weight * right
    total = sums.sum(axis=0)
    drawn = np.random.default_rng(_SEED).multinomial(len(used), [1 / len(used)] * len(used), resamples) @ sums
    return Calibration(
        values=float(total[BINS]),
        cases=len(used),
        confidence=float(total[BINS + 1] / total[BINS]),
        accuracy=_estimate(total[BINS + 2] / total[BINS], drawn[:, BINS + 2] / drawn[:, BINS]),
        error=_estimate(_error(total), _error(drawn)),
    )


def _error(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    error: npt.NDArray[np.float64] = abs(sums[..., :BINS]).sum(axis=-1) / sums[..., BINS]
    return error


def _estimate(value: npt.ArrayLike, drawn: npt.NDArray[np.float64]) -> Estimate:
    import numpy as np

    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return Estimate(mean=float(np.asarray(value)), low=low, high=high)


def calibrations(found: CaseConfidences) -> dict[str, Calibration]:
    """Calibrate all values of a variant (`ALL_FIELDS`), then those of each field; empty where none has a confidence."""
    parts = {pattern: calibrate(found.values_of(pattern)) for pattern in (ALL_FIELDS, *found.patterns)}
    return {pattern: each for pattern, each in parts.items() if each is not None}
