"""A folder with an invoice, its schema and its gold, and a way to load case files there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache

_ROW = {"price": {"type": "number"}, "tax": {"type": "number"}, "description": {"type": "string"}}
SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "object", "properties": {"name": {"type": "string"}}},
        "po_number": {"type": ["string", "null"]},
        "odd key": {"type": "string"},
        "total": {"type": "number"},
        "notes": {"type": "string"},
        "items": {"type": "array", "items": {"type": "object", "properties": _ROW}},
    },
}
GOLD = {"vendor": {"name": "ACME"}, "total": 1.5, "items": [{"price": 1.5, "tax": 0}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "acme.txt": "Invoice",
        "invoice.schema.json": json.dumps(SCHEMA, indent=1),
        "acme.gold.json": json.dumps(GOLD, indent=1),
        "prompt.md": "Extract.\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def load(folder):
    """Write further files and a case file, as its text or its keys, and load its cases and mistakes."""

    def run(content, name="acme.extract.yaml", cache=None, **files):
        for file, text in {**files, name: content}.items():
            path = folder / file
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return load_cases(folder / name, SchemaCache() if cache is None else cache)

    return run


@pytest.fixture
def load_case(load):
    """Load the one case of a file in which nothing is wrong."""

    def run(content, *args, **files):
        loaded = load(content, *args, **files)
        assert loaded.errors == ()
        (case,) = loaded.cases
        return case

    return run
