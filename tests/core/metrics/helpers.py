"""Making a metric as scoring does: parameters checked, defaults filled in."""

from __future__ import annotations

from typing import Any

from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.base import BoundMetric, check_params


def bound(name: str, params: dict[str, Any] | None = None, semantics: Any = "default") -> BoundMetric:
    spec = METRICS[name]
    assert check_params(params or {}, spec.params, name) == []
    return spec.bind(params or {}, semantics)
