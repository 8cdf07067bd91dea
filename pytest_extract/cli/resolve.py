"""`pytest-extract schema resolve SCHEMA`: replaces references and compositions by their content."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_extract.cli.files import read_schema, refuse_options, write_json
from pytest_extract.schema_tools.resolve import DIALECTS, as_json_schema, resolve_schema_references


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Write a schema with local references, `allOf` and `anyOf` of plain types resolved. Annotations "
        "beside a `$ref` and `required` of every branch are kept; a recursive reference stays, with its definition."
    )
    parser.add_argument("schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    parser.add_argument(
        "--from",
        dest="dialect",
        choices=DIALECTS,
        help="only translate a schema of OpenAPI 3.0 or Gemini (`nullable`, types in capitals) into JSON Schema",
    )
    parser.add_argument(
        "--published", action="store_true", help="lose what struct-extract-eval loses, to get its very output"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")


def run(args: argparse.Namespace) -> int:
    """Write the resolved schema; one that cannot be resolved raises ExtractError."""
    schema = read_schema(args.schema)
    if args.dialect is not None:
        refuse_options(args, "with --from", "published")
        write_json(as_json_schema(schema), args.output)
    else:
        write_json(resolve_schema_references(schema, published=args.published), args.output)
    return 0
