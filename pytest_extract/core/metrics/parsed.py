"""Metrics that read a value first and compare what they have read: dates, amounts, bags of words."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.base import BoundMetric, Matrix
from pytest_extract.core.metrics.exact import equality_metric
from pytest_extract.core.values import Json

Read = TypeVar("Read")
Form = tuple[Any, Hashable]
"""What was read and None; or None and the key of the text that could not be read."""


def reading_metric(
    name: str,
    read: Callable[[Json], Read | None],
    agree: Callable[[Read, Read], float],
    explain: Callable[[Json, Json], str],
    params: Mapping[str, Json],
    *,
    threshold: float = 1.0,
    canonical: Callable[[Read], Hashable] | None = None,
) -> BoundMetric:
    """Make a metric that scores `agree` of both values as `read` parses them; unreadable ones are compared as text.

    `canonical`: given where `agree` is an equality, 1.0 exactly where this is the same of both. In a long list each
    value is read once, whatever it is compared with.
    """

    def form(value: Json) -> Form:
        found = read(value)
        return (None, equality.text_key(value)) if found is None else (found, None)

    def score(one: Form, other: Form) -> float:
        if one[0] is None or other[0] is None:
            return 1.0 if one[0] is other[0] and one[1] == other[1] else 0.0
        return agree(one[0], other[0])

    if canonical is not None:
        return equality_metric(name, _parsed_key(form, canonical), explain, params)
    return BoundMetric(
        name=name,
        compare=lambda gold, extracted: score(form(gold), form(extracted)),
        params=params,
        threshold=threshold,
        explain=explain,
        matrix=_matrix(form, score),
    )


def _parsed_key(form: Callable[[Json], Form], canonical: Callable[[Any], Hashable]) -> Callable[[Json], Hashable]:
    def key(value: Json) -> Hashable:
        found, text = form(value)
        return ("text", text) if found is None else ("read", canonical(found))

    return key


def _matrix(form: Callable[[Json], Form], score: Callable[[Form, Form], float]) -> Matrix:
    def matrix(gold: Sequence[Json], extracted: Sequence[Json], least: float = 0.0) -> Any:
        import numpy as np

        del least
        columns = [form(value) for value in extracted]
        rows = (form(value) for value in gold)
        scores = [[score(row, column) for column in columns] for row in rows]
        return np.array(scores, np.float64).reshape(len(gold), len(extracted))

    return matrix
