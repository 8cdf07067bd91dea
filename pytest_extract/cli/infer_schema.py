"""`pytest-extract schema infer GOLD...`: infers a JSON Schema from golds."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_extract.cli.files import read_records, refuse_options, schema_of_class, write_json
from pytest_extract.errors import ConfigError
from pytest_extract.schema_tools.golds import DEFAULTS, annotate_schema, infer_schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Infer a JSON Schema that every one of the golds satisfies: number for 1 and 2.5, null where it occurs, keys "
        "that are always there required. Of a pydantic model, dataclass or TypedDict (MODULE:CLASS), print its schema."
    )
    parser.add_argument(
        "golds", nargs="+", metavar="GOLD|MODULE:CLASS", help="JSON or YAML file, .jsonl with one a line, or a class"
    )
    parser.add_argument("--each", action="store_true", help="a file that holds an array holds one gold an item")
    parser.add_argument(
        "--first-type",
        action="store_true",
        help="take the type of the first value that is not null and require nothing, as struct-extract-eval does",
    )
    parser.add_argument("--annotate", choices=tuple(DEFAULTS), help="write the default metrics in too")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")


def run(args: argparse.Namespace) -> int:
    """Write the schema; a file that cannot be read raises ExtractError."""
    classes = [given for given in args.golds if ":" in given and not Path(given).exists()]
    if classes and len(args.golds) > 1:
        raise ConfigError(f"{classes[0]} is a class: give it alone")
    if classes:
        refuse_options(args, "for a class", "each", "first-type")
        module, _, name = classes[0].partition(":")
        schema = schema_of_class(module, name)
    else:
        values = [value for _, value in read_records(map(Path, args.golds), each=args.each)]
        schema = infer_schema(values, widen=not args.first_type)
    if args.annotate:
        schema = annotate_schema(schema, dialect=args.annotate)
    write_json(schema, args.output)
    return 0
