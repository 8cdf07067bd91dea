"""The start of a session: files are opened, and read, before anything is paid for."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_extract.errors import StoreError
from pytest_extract.plugin.gather import open_results
from pytest_extract.plugin.options import SETTINGS
from pytest_extract.plugin.session import PURSE, purse_file, run_of


def open_files(config: pytest.Config) -> None:
    """Read the past run that stands in for calls, start the results file; UsageError where that is not possible."""
    try:
        run_of(config)
    except StoreError as error:
        raise pytest.UsageError(f"--extract-from: {error}") from error
    settings = config.stash[SETTINGS]
    if settings.gate == "regression" or settings.baseline is not None or settings.update_baseline:
        from pytest_extract.plugin.regression import prepare

        prepare(config, settings)
    if not hasattr(config, "workerinput"):
        open_results(config)


def share_purse(config: pytest.Config, node: Any) -> None:
    """Tell an xdist worker where the run's purse is."""
    node.workerinput[PURSE] = str(purse_file(config))
