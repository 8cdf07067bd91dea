"""`pytest-extract schema infer GOLD...`: infers a JSON Schema from golds."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_extract.cli.files import read_records, write_json
from pytest_extract.schema_tools.annotate import DEFAULTS, annotate_schema
from pytest_extract.schema_tools.infer import infer_schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Infer a JSON Schema from golds: types from the first value that is not null, all keys, all items."
    )
    parser.add_argument(
        "golds", nargs="+", type=Path, metavar="GOLD", help="JSON or YAML file, or .jsonl with one a line"
    )
    parser.add_argument("--each", action="store_true", help="a file that holds an array holds one gold an item")
    parser.add_argument(
        "--widen",
        action="store_true",
        help="make it hold for every gold: number for 1 and 2.5, null where it occurs, required keys",
    )
    parser.add_argument("--annotate", choices=tuple(DEFAULTS), help="write the default metrics in too")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")


def run(args: argparse.Namespace) -> int:
    """Write the schema; a file that cannot be read raises ExtractError."""
    values = [value for _, value in read_records(args.golds, each=args.each)]
    schema = infer_schema(values, widen=args.widen)
    if args.annotate:
        schema = annotate_schema(schema, dialect=args.annotate)
    write_json(schema, args.output)
    return 0
