"""`pytest-extract resolve SCHEMA`: references and compositions replaced by what they say."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_extract.cli.files import read_schema, write_json
from pytest_extract.schema_tools.resolve import resolve_schema_references


def add_parser(subparsers: Any) -> None:
    """Add the command to the parser of `pytest-extract`."""
    parser = subparsers.add_parser(
        "resolve",
        help="resolve `$ref`, `allOf` and simple `anyOf` of a schema",
        description="Write a schema with local references, `allOf` and `anyOf` of plain types resolved. Annotations "
        "beside a `$ref` and `required` of every branch are kept; a recursive reference stays, with its definition.",
    )
    parser.add_argument("schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    parser.add_argument(
        "--published", action="store_true", help="lose what struct-extract-eval loses, to get its very output"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the resolved schema; one that cannot be resolved raises ExtractError."""
    write_json(resolve_schema_references(read_schema(args.schema), published=args.published), args.output)
    return 0
