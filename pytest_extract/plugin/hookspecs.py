"""Hooks that a `conftest.py` or a plugin may implement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from pytest_extract.core.extensions import Extensions


def pytest_extract_extensions(config: pytest.Config) -> Extensions | Iterable[Callable[..., Any]] | None:
    """Return what schemas and cases may name besides the built-in metrics, transforms, aligners and post-processors.

    An `Extensions`, or functions with a decorator of `pytest_extract.extend`. Called when the first case file of a
    folder is collected, never without one. What a `conftest.py` gives holds for the cases in its folder and below; the
    nearest wins. Decorated functions of a `conftest.py`, or of a plugin module, need no hook: they are found.
    """
