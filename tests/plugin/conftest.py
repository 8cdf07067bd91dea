"""A small project with an extractor that answers from the document's own text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from pytest_extract import redact as secrets
from tests.loaded import call_model_once, load_everything

load_everything()

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
            },
        },
    },
    "required": ["vendor", "total"],
}
GOLD: dict[str, Any] = {
    "vendor": "ACME GmbH",
    "total": 12.5,
    "items": [{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 10}],
}
ECHO = """
import pytest

@pytest.fixture(scope="session")
def extractor():
    def extract(document, model=None):
        return document.text
    return extract
"""


@pytest.fixture(scope="session")
def called_model() -> None:
    """For tests that call a model in this process."""
    call_model_once()


@pytest.fixture(autouse=True)
def quiet_plugins(compiled_modules: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load no other plugins in the inner runs than these two: hypothesis, asyncio and others take half of their time.

    A test that is about another plugin loads it with `-p`. (pytester itself has thrown PYTEST_ADDOPTS away by now.)
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p pytest_extract -p xdist")
    monkeypatch.setenv("COLUMNS", "120")
    # An inner run must not meet the compiled file of a conftest.py that the test has edited since, within one second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # What an inner run finds out about its environment ends with the test.
    monkeypatch.setattr(secrets, "_current", None)
    secrets.TALLY.taken()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def write_case(pytester: pytest.Pytester) -> Callable[..., None]:
    """Write `NAME.extract.yaml` with an inline document whose text is the output that the echo extractor gives."""

    def write(name: str, output: object = GOLD, **keys: object) -> None:
        text = output if isinstance(output, str) else json.dumps(output)
        case = {"text": text, "schema": SCHEMA, "gold": GOLD, **keys}
        path = pytester.path / f"{name}.extract.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(case), encoding="utf-8")

    return write


@pytest.fixture
def echo(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(ECHO)
