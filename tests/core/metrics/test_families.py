"""The table of metrics has the rows of every family."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from pytest_extract.core import metrics
from pytest_extract.core.metrics import METRICS


def test_the_table_names_every_metric_of_every_module_once() -> None:
    modules = [import_module(f"{metrics.__name__}.{found.name}") for found in pkgutil.iter_modules(metrics.__path__)]
    names = [spec.name for module in modules for spec in getattr(module, "SPECS", ())]
    assert sorted(names) == sorted(METRICS)
    assert {name: spec.name for name, spec in METRICS.items()} == {name: name for name in METRICS}
