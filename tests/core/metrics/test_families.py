"""The table of metrics has the rows of every family."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from pytest_extract.core import metrics
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.base import MetricSpec


def test_the_table_names_every_metric_of_every_module_once() -> None:
    modules = [import_module(f"{metrics.__name__}.{found.name}") for found in pkgutil.iter_modules(metrics.__path__)]
    names = {row.name for module in modules for row in vars(module).values() if isinstance(row, MetricSpec)}
    assert names == set(METRICS)
    assert {name: spec.name for name, spec in METRICS.items()} == {name: name for name in METRICS}
