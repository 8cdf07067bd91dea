from __future__ import annotations

import sys

import pytest

from pytest_extract.core.validate.validator import Validator


@pytest.fixture(params=["rust", "python"])
def make(request, monkeypatch):
    """Validators as with the extra `fast` and without it."""
    if request.param == "python":
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    else:
        pytest.importorskip("jsonschema_rs")
    return Validator
