"""The JSON Schema of case files as a file beside them, and the line by which editors find it."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final

EDITOR_SCHEMA: Final = "extract.schema.json"
"""File beside case files that holds their JSON Schema."""


def case_file_schema() -> str:
    """Return the text of the JSON Schema of the case file, which is a file of the package."""
    return files("pytest_extract.cases").joinpath("case.schema.json").read_text(encoding="utf-8")


def editor_line(case_file: str, schema: str = EDITOR_SCHEMA) -> str:
    """Return the comment by which an editor's YAML support finds the schema; both paths are relative to one folder."""
    place = PurePosixPath(os.path.relpath(schema, os.path.dirname(case_file) or "."))  # noqa: PTH120 - both relative
    return f"# yaml-language-server: $schema={place}\n"
