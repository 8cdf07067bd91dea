"""The JSON Schema of case files: its text, and the line by which editors find it."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final

_SHARE: Final = "#/$defs/share"
EDITOR_SCHEMA: Final = "extract.schema.json"
"""File beside case files that holds their JSON Schema."""


def case_file_schema() -> str:
    """Return the text of the JSON Schema of the case file, which is a file of the package."""
    return files("pytest_extract.cases").joinpath("case.schema.json").read_text(encoding="utf-8")


def editor_line(case_file: str, schema: str = EDITOR_SCHEMA) -> str:
    """Return the comment by which an editor's YAML support finds the schema; both paths are relative to one folder."""
    place = PurePosixPath(os.path.relpath(schema, os.path.dirname(case_file) or "."))  # noqa: PTH120 - both relative
    return f"# yaml-language-server: $schema={place}\n"


def renewed_schema() -> str:
    """Return the text of the JSON Schema with the measures that thresholds can bound, as their table has them."""
    from pytest_extract.core.measures.table import MEASURES

    schema = json.loads(case_file_schema())
    thresholds = schema["$defs"]["thresholds"]
    others = {name: part for name, part in thresholds["properties"].items() if part.get("$ref") != _SHARE}
    measures = {name: {"description": measure.doc, "$ref": _SHARE} for name, measure in MEASURES.items()}
    thresholds["properties"] = measures | others
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
