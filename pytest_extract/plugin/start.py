"""The start of a session: files are opened, read and checked before the first call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_extract.errors import ConfigError, NotWritten, StoreError
from pytest_extract.files import check_file, check_folder
from pytest_extract.plugin.options import SETTINGS, Settings
from pytest_extract.plugin.run_results import open_results
from pytest_extract.plugin.session import BUDGET_FILE, budget_file, session_of
from pytest_extract.report.formats import report_problems


def open_files(config: pytest.Config) -> None:
    """Read a past run, a revision and a baseline, open the results file; UsageError where that is not possible."""
    settings = config.stash[SETTINGS]
    try:
        session = session_of(config)
        if settings.changed is not None:
            session.revision_view(settings.changed)
    except StoreError as error:
        raise pytest.UsageError(f"--extract-from: {error}") from error
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from error
    if not hasattr(config, "workerinput"):
        check_outputs(settings)
    if settings.gate == "regression" or settings.baseline is not None or settings.update_baseline:
        from pytest_extract.plugin.regression import read_gate_inputs

        read_gate_inputs(config, settings)
    if not hasattr(config, "workerinput"):
        open_results(config)


def check_outputs(settings: Settings) -> None:
    """Check that all files of this run can be written, before the first call; UsageError with all that cannot."""
    problems = [f"--extract-report: {problem}" for problem in report_problems(settings.report)]

    def check(option: str, path: Path, check_path: Callable[[Path], None], wanted: str) -> None:
        try:
            check_path(path)
        except NotWritten as error:
            problems.append(f"--extract-{option}: cannot write {path}: {error.reason}; {wanted} that can be written")

    if settings.baseline is not None and settings.update_baseline:
        check("baseline", settings.baseline, check_file, "name a file")
    if settings.record not in {"off", "none"} and settings.from_results is None:
        check("recordings", settings.recordings, check_folder, "name a folder")
    if problems:
        raise pytest.UsageError("\n".join(problems))


def share_budget(config: pytest.Config, node: Any) -> None:
    """Send an xdist worker the path of the budget's file."""
    node.workerinput[BUDGET_FILE] = str(budget_file(config))
