"""The start of a session: files are opened, and read, before anything is paid for."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.plugin.arms import EXTRACTOR, JUDGE, visible
from pytest_extract.plugin.options import SETTINGS
from pytest_extract.plugin.report_files import check_outputs
from pytest_extract.plugin.run_results import open_results
from pytest_extract.plugin.session import PURSE, budget_file, session_of


def open_files(config: pytest.Config) -> None:
    """Read the past run that stands in for calls, start the results file; UsageError where that is not possible."""
    try:
        run = session_of(config)
        if config.stash[SETTINGS].changed is not None:
            run.view_of(str(config.stash[SETTINGS].changed))
    except StoreError as error:
        raise pytest.UsageError(f"--extract-from: {error}") from error
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from error
    settings = config.stash[SETTINGS]
    if not hasattr(config, "workerinput"):
        check_outputs(settings)
    if settings.gate == "regression" or settings.baseline is not None or settings.update_baseline:
        from pytest_extract.plugin.regression import prepare

        prepare(config, settings)
    if not hasattr(config, "workerinput"):
        open_results(config)


def check_models(session: pytest.Session) -> None:
    """Raise UsageError for the name of a model that nothing could be called by, before the first call."""
    from pytest_extract.extraction.llm.client import check_model
    from pytest_extract.plugin.items import ExtractItem

    settings = session.config.stash[SETTINGS]
    asked = settings.judge_model if settings.judge == "llm" else None
    if (
        session.config.option.collectonly
        or not (settings.model or asked)
        or session_of(session.config).calls.replays_only
    ):
        return
    items = [item for item in session.items if isinstance(item, ExtractItem)]
    names = {f"--extract-model={item.arm.model}": item.arm.model for item in items if not visible(item, EXTRACTOR)}
    if any(item.case.scorer.needs_judge and not visible(item, JUDGE) for item in items):
        names[f"--extract-judge-model={asked}"] = asked
    problems: list[str] = []
    for option, name in names.items():
        if name is not None:
            try:
                check_model(name)
            except ConfigError as error:
                problems.append(f"{option}: {error}")
    if problems:
        raise pytest.UsageError("\n".join(problems))


def share_budget(config: pytest.Config, node: Any) -> None:
    """Tell an xdist worker where the run's purse is."""
    node.workerinput[PURSE] = str(budget_file(config))


def choose_calls(session: pytest.Session) -> None:
    """`--extract-changed`: decide which cases are called."""
    from pytest_extract.plugin.items import ExtractItem

    items = [item for item in session.items if isinstance(item, ExtractItem)]
    if items:
        session_of(session.config).choose(items)
