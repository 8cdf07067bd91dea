"""A pytest plugin of its own (`-p pytest_extract.plugin.named_extractors`): models are functions, named by import path.

`pytest-extract draft --extractor MODULE:FUNCTION` runs with it. It comes before every `extractor` fixture of a project.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from pytest_extract.errors import ConfigError
from pytest_extract.plugin.options import SETTINGS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session) -> None:
    """Refuse two names of one function, which would agree with itself."""
    found: list[tuple[str, object]] = []
    for name in session.config.stash[SETTINGS].model:
        try:
            function = _named(name)
        except ConfigError as error:
            raise pytest.UsageError(str(error)) from error
        same = next((other for other, known in found if known == function), None)
        if same is not None:
            raise pytest.UsageError(f"--extractor {same} and --extractor {name} are one function; name each once")
        found.append((name, function))


@pytest.fixture(scope="session")
def extractor(extract_model: str | None) -> Callable[..., Any]:
    """Give the function that `--extract-model=MODULE:FUNCTION` names."""
    return _named(extract_model or "")


def _named(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"--extractor {path}: must be MODULE:FUNCTION that can be imported: {error}") from error
    if not callable(found):
        raise ConfigError(f"--extractor {path}: is no function but {type(found).__name__}")
    return found  # type: ignore[no-any-return]  # callable, as checked
