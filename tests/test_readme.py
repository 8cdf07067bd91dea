"""The README's first case fails just as the README shows it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.loaded import load_everything

load_everything()

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
NAMES = ("Bolt", "Nut", "Washer", "Screw", "Bracket", "Hinge", "Rail", "Lock", "Handle", "Panel", "Seal", "Cable")
GOLD = {
    "vendor": "ACME GmbH",
    "due_date": "2026-02-14",
    "total": 1234.5,
    "items": [{"name": name, "qty": 10 + at, "price": 2.5 * (at + 1)} for at, name in enumerate(NAMES)],
}
SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "due_date": {"type": "string"},
        "total": {"type": "number"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "qty": {"type": "integer"}, "price": {"type": "number"}},
            },
        },
    },
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?m)^```{language}\n(.*?)^```", README, re.DOTALL)


def extracted() -> dict[str, object]:
    rows = [dict(row) for row in GOLD["items"]]
    rows[7]["price"] = 200.0
    del rows[4]
    return {**GOLD, "vendor": "ACME Gmbh", "total": 1243.5, "items": rows}


def test_the_first_case_fails_as_shown(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:asyncio")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    case = next(block for block in blocks("yaml") if "acme.extract.yaml" in block)
    conftest = next(block for block in blocks("python") if "def extractor" in block)
    folder = pytester.mkdir("invoices")
    (folder / "acme.extract.yaml").write_text(case, encoding="utf-8")
    (folder / "acme.pdf").write_bytes(b"%PDF-1.4")
    (folder / "invoice.schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (folder / "acme.gold.json").write_text(json.dumps(GOLD), encoding="utf-8")
    answer = f"def call_my_model(data, schema):\n    return {extracted()!r}\n"
    pytester.makeconftest(f"{conftest}\n{answer}".replace("document.text", "document.bytes"))  # without pypdfium2, too
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    lines = [line for line in result.outlines if line.strip()]
    start = next(index for index, line in enumerate(lines) if line.strip("_ ") == "acme")
    end = lines.index("invoices/acme.extract.yaml:1: failed")
    shown = next(block for block in blocks("console") if "is below" in block)
    assert [line for line in shown.splitlines()[1:] if line.strip()] == lines[start + 1 : end + 1]
