"""`pytest-extract schema annotate SCHEMA`: writes default metrics into a schema, for review."""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
from collections.abc import Iterable
from pathlib import Path

from pytest_extract.cases.cache import without_annotations
from pytest_extract.cases.edit import with_value, write_text
from pytest_extract.cases.sources import path_and_pointer, pointer_steps, reached, read_source
from pytest_extract.cli.files import print_text, read_records, read_schema, write_json
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.errors import ConfigError
from pytest_extract.files import write_atomic
from pytest_extract.schema_tools.annotate import DEFAULTS, AnnotationDialect, annotate_schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Write a metric into every leaf of a schema that has none, in one of the two annotation dialects."
    )
    parser.add_argument("schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    parser.add_argument("--dialect", choices=tuple(DEFAULTS), help="default: the schema's own, else x-eval")
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="TYPE=METRIC",
        help='metric of a JSON type, such as string=text or number={"number": {"abs": 0.01}}; repeatable',
    )
    parser.add_argument(
        "--golds",
        nargs="+",
        type=Path,
        default=[],
        metavar="GOLD",
        help="propose by the values of these golds (JSON, YAML, .jsonl), and print what changes in SCHEMA",
    )
    parser.add_argument("--write", action="store_true", help="with --golds: write the changes into SCHEMA")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")


def run(args: argparse.Namespace) -> int:
    """Write the annotated schema; a wrong metric raises ExtractError."""
    schema = read_schema(args.schema)
    if args.write and (args.output is not None or not args.golds):
        raise ConfigError("--write goes with --golds, and without -o: it writes into the schema's own file")
    annotated = annotate_schema(
        schema,
        dialect=args.dialect or _annotation_dialect(schema),
        metrics=_metric_options(args.metric),
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


def _annotation_dialect(schema: Json) -> AnnotationDialect:
    """Return the dialect that a schema is annotated in: both in one schema leave open how it is scored."""
    return "x-eval" if without_annotations(schema, ("evaluation_config",)) == schema else "evaluation_config"


def _metric_options(given: Iterable[str]) -> dict[str, Json]:
    metrics: dict[str, Json] = {}
    for text in given:
        kind, sign, metric = text.partition("=")
        if not sign or not metric:
            raise ConfigError(f"--metric wants TYPE=METRIC, such as string=text, not {text!r}")
        try:
            metrics[kind] = json.loads(metric) if metric.startswith("{") else metric
        except ValueError as error:
            raise ConfigError(f"--metric {kind}=: {metric!r} is no JSON ({error})") from error
    return metrics
