"""The server that stands for all providers, and waits between attempts that take no time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_extract.extraction import litellm
from tests.llm_server import llm_server

__all__ = ["llm_server"]


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """How long calls have waited between their attempts: told, and not waited for."""
    found = []
    monkeypatch.setattr(litellm, "time", SimpleNamespace(perf_counter=litellm.time.perf_counter, sleep=found.append))
    return found
