"""`pytest-extract schema print | infer | annotate | resolve`: JSON Schemas of case files, and for golds."""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
from pathlib import Path

from pytest_extract.cases.edit import with_value, write_text
from pytest_extract.cases.model import case_file_schema
from pytest_extract.cases.schemas import without_annotations
from pytest_extract.cases.sources import path_and_pointer, pointer_steps, reached, read_source
from pytest_extract.cli.files import print_text, read_records, read_schema, refuse_options, schema_of_class, write_json
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.errors import ConfigError
from pytest_extract.files import write_atomic
from pytest_extract.schema_tools.golds import DEFAULTS, annotate_schema, infer_schema
from pytest_extract.schema_tools.resolve import DIALECTS, as_json_schema, resolve_schema_references


def print_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""


def run_print(args: argparse.Namespace) -> int:
    """Print the JSON Schema of *.extract.yaml, for completion and validation in an editor."""
    del args
    print(case_file_schema(), end="")  # noqa: T201 - printing is the command
    return 0


def infer_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("golds", nargs="+", metavar="GOLD|MODULE:CLASS", help="JSON, YAML or .jsonl files, or a class")
    parser.add_argument("--each", action="store_true", help="a file that holds an array holds one gold an item")
    parser.add_argument("--first-type", action="store_true", help="take the first value's type, as struct-extract-eval")
    parser.add_argument("--annotate", choices=tuple(DEFAULTS), help="write the default metrics in too")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")


def run_infer(args: argparse.Namespace) -> int:
    """Infer a JSON Schema that every one of the golds satisfies.

    It has number for 1 and 2.5, null where it occurs, keys that are always there required. Of a pydantic model,
    dataclass or TypedDict (MODULE:CLASS), print its schema.
    """
    classes = [given for given in args.golds if ":" in given and not Path(given).exists()]
    if classes and len(args.golds) > 1:
        raise ConfigError(f"{classes[0]} is a class: give it alone")
    if classes:
        refuse_options(args, "for a class", "each", "first-type")
        schema = schema_of_class(classes[0])
    else:
        values = [value for _, value in read_records(map(Path, args.golds), each=args.each)]
        schema = infer_schema(values, widen=not args.first_type)
    if args.annotate:
        schema = annotate_schema(schema, dialect=args.annotate)
    write_json(schema, args.output)
    return 0


def annotate_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    parser.add_argument("--dialect", choices=tuple(DEFAULTS), help="default: the schema's own, else x-eval")
    parser.add_argument(
        "--metric", action="append", default=[], type=_metric, metavar="TYPE=METRIC", help="such as string=text"
    )
    parser.add_argument("--golds", nargs="+", type=Path, default=[], metavar="GOLD", help="propose by these golds")
    parser.add_argument("--write", action="store_true", help="with --golds: write the changes into SCHEMA")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")


def run_annotate(args: argparse.Namespace) -> int:
    """Write a metric into every leaf of a schema that has none, in one of the two annotation dialects.

    --metric sets that of a JSON type, such as string=text or number={"number": {"abs": 0.01}}. With --golds (JSON,
    YAML, .jsonl), metrics are proposed by their values, and only what changes in SCHEMA is printed.
    """
    schema = read_schema(args.schema)
    if args.write and (args.output is not None or not args.golds):
        raise ConfigError("--write goes with --golds, and without -o: it writes into the schema's own file")
    # a schema of both dialects would leave open how it is scored
    is_x_eval = without_annotations(schema, ("evaluation_config",)) == schema
    annotated = annotate_schema(
        schema,
        dialect=args.dialect or ("x-eval" if is_x_eval else "evaluation_config"),
        metrics=dict(args.metric),
        golds=[value for _, value in read_records(args.golds)],
    )
    if args.golds:
        _write_changes(args, schema, annotated)
    else:
        write_json(annotated, args.output)
    return 0


def _write_changes(args: argparse.Namespace, schema: Json, annotated: Json) -> None:
    """Print what changes in the text of the schema's file, and write it where asked to."""
    name, pointer = path_and_pointer(args.schema)
    source = read_source(Path(name))
    steps = pointer_steps(source.value, pointer) or ()
    if canonical_json(reached(source.value, steps)) != canonical_json(schema):
        raise ConfigError(f"{args.schema} refers to other parts of the file: write it out first (schema resolve)")
    text = with_value(source, steps, annotated)
    target = args.output or Path(name)
    before, after = source.text.splitlines(), text.splitlines()
    diff = difflib.unified_diff(before, after, fromfile=name, tofile=str(target), lineterm="")
    for each in itertools.islice(diff, 2):
        print(each)  # noqa: T201 - `--- name`, which a CI service may take for a headline, but `patch` needs
    for each in diff:
        print_text(each)
    if args.write:
        write_text(target, text)
    elif args.output is not None:
        write_atomic(target, text)


def _metric(text: str) -> tuple[str, Json]:
    kind, _, metric = text.partition("=")
    try:
        return kind, json.loads(metric) if metric.startswith("{") else metric
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{metric!r} is no JSON ({error})") from error


def resolve_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    parser.add_argument(
        "--from", dest="dialect", choices=DIALECTS, help="only translate a schema of OpenAPI 3.0 or Gemini"
    )
    parser.add_argument("--published", action="store_true", help="lose what struct-extract-eval loses")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")


def run_resolve(args: argparse.Namespace) -> int:
    """Write a schema with local references, `allOf` and `anyOf` of plain types resolved.

    Annotations beside a `$ref` and `required` of every branch are kept; a recursive reference stays, with its
    definition.
    """
    schema = read_schema(args.schema)
    if args.dialect is not None:
        refuse_options(args, "with --from", "published")
        write_json(as_json_schema(schema), args.output)
    else:
        write_json(resolve_schema_references(schema, published=args.published), args.output)
    return 0
