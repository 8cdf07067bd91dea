"""The server that stands for all providers."""

from __future__ import annotations

from tests.llm_server import llm_server

__all__ = ["llm_server"]
