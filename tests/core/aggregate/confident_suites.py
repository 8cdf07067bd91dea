"""Simulated suites: cases of several fields with a confidence each, and whether each is right."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from pytest_extract.core.case_result import AcceptedCounts


class Value(NamedTuple):
    """One extracted value."""

    confidence: float
    right: bool


Suite = list[list[Value]]
Truth = Callable[[float], float]
"""The probability that a value is right, by its confidence."""

calibrated: Truth = lambda confidence: confidence  # noqa: E731
over_confident: Truth = lambda confidence: 1 - 3 * (1 - confidence)  # noqa: E731


def suite(
    random_source: random.Random, truth: Truth, *, cases: int, fields: int, together: float = 0.0, sizes: bool = False
) -> Suite:
    """Draw a suite: confidences from 0.7 to 1, most of them high.

    together: the share of cases whose fields are all right or all wrong together (a page that was misread). sizes:
    whether cases have from one to twice as many fields.
    """
    drawn: Suite = []
    for _ in range(cases):
        count = random_source.randint(1, 2 * fields) if sizes else fields
        luck = random_source.random() if random_source.random() < together else None
        values = []
        for _ in range(count):
            confidence = 1 - 0.3 * random_source.random() ** 2
            at = random_source.random() if luck is None else luck
            values.append(Value(confidence, at < truth(confidence)))
        drawn.append(values)
    return drawn


def true_precision(truth: Truth, threshold: float) -> float:
    """Return the share of right values at or above a threshold, by a fine grid of the confidences that are drawn."""
    grid = [1 - 0.3 * ((step + 0.5) / 20_000) ** 2 for step in range(20_000)]
    above = [truth(confidence) for confidence in grid if confidence >= threshold]
    return sum(above) / len(above)


def counts_of(values: list[Value], threshold: float) -> AcceptedCounts:
    """Count one case."""
    accepted = [value for value in values if value.confidence >= threshold]
    return AcceptedCounts(len(values), len(accepted), sum(not value.right for value in accepted))
