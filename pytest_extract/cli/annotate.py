"""`pytest-extract annotate SCHEMA`: default metrics written into a schema, where they can be read and changed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_extract.cli.files import read_schema, write_json
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError
from pytest_extract.schema_tools.annotate import DEFAULTS, annotate_schema


def add_parser(subparsers: Any) -> None:
    """Add the command to the parser of `pytest-extract`."""
    parser = subparsers.add_parser(
        "annotate",
        help="write default metrics into a schema",
        description="Write a metric into every leaf of a schema that has none, in one of the two annotation dialects.",
    )
    parser.add_argument("schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    parser.add_argument("--dialect", choices=tuple(DEFAULTS), default="x-eval", help="default: x-eval")
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="TYPE=METRIC",
        help='metric of a JSON type, such as string=text or number={"number": {"abs": 0.01}}; repeatable',
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the annotated schema; a wrong metric raises ExtractError."""
    schema = annotate_schema(read_schema(args.schema), dialect=args.dialect, metrics=_metrics(args.metric))
    write_json(schema, args.output)
    return 0


def _metrics(given: Iterable[str]) -> dict[str, Json]:
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
