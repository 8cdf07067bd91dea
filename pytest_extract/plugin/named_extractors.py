"""A pytest plugin of its own (`-p pytest_extract.plugin.named_extractors`): models are functions, named by import path.

`pytest-extract draft --extractor MODULE:FUNCTION` runs with it. An `extractor` fixture of a conftest comes first.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from pytest_extract.errors import ConfigError


@pytest.fixture(scope="session")
def extractor(extract_model: str | None) -> Callable[..., Any]:
    """Give the function that `--extract-model=MODULE:FUNCTION` names."""
    module, _, name = (extract_model or "").partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"--extractor {extract_model}: must be MODULE:FUNCTION that can be imported: {error}"
        ) from error
    if not callable(found):
        raise ConfigError(f"--extractor {extract_model}: is no function but {type(found).__name__}")
    return found  # type: ignore[no-any-return]  # callable, as checked
