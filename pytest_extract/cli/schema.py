"""`pytest-extract schema print`: prints the JSON Schema of case files, for editors and other checkers."""

from __future__ import annotations

import argparse
import json
from importlib.resources import files

from pytest_extract.core.measures.table import MEASURES, THRESHOLD_MEASURES


def case_file_schema() -> str:
    """Return the text of the JSON Schema of the case file: the packaged file with the measure table's thresholds."""
    schema = json.loads(files("pytest_extract.cases").joinpath("case.schema.json").read_text(encoding="utf-8"))
    share = {"$ref": "#/$defs/share"}
    measures = {name: {"description": MEASURES[name].doc, **share} for name in THRESHOLD_MEASURES}
    thresholds = schema["$defs"]["thresholds"]
    thresholds["properties"] = measures | thresholds["properties"]
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = "Print the JSON Schema of *.extract.yaml, for completion and validation in an editor."


def run(args: argparse.Namespace) -> int:
    """Print the schema; exit status 0."""
    del args
    print(case_file_schema(), end="")  # noqa: T201 - printing is the command
    return 0
