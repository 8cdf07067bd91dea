"""Notes of each test's own: what tests that run beside it leave each other is not in its way."""

from __future__ import annotations

import tempfile

import pytest


@pytest.fixture(autouse=True)
def own_notes(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
