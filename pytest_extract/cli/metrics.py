"""`pytest-extract metrics [NAME]`: the reference of metrics and transforms, from the table that scores."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_extract.core.metrics import METRICS, PRESETS
from pytest_extract.core.metrics.base import Example, MetricSpec, Param, TransformSpec
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, nearest

_WIDTH = 100


def add_parser(subparsers: Any) -> None:
    """Add the command to the parser of `pytest-extract`."""
    parser = subparsers.add_parser(
        "metrics",
        help="list metrics and transforms, or explain one",
        description="List all metrics and transforms, or explain one with its parameters and worked numbers.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="metric or transform to explain; default: list all")
    parser.add_argument("--all", action="store_true", help="explain all")
    parser.add_argument("--markdown", action="store_true", help="print as Markdown")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the list or the reference; an unknown name raises ExtractError."""
    names = list(args.names) or ([*METRICS, *TRANSFORMS] if args.all or args.markdown else [])
    lines = reference(names, markdown=args.markdown) if names else overview()
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def overview() -> Iterator[str]:
    """Yield one line a metric and a transform: its name and the first sentence of its explanation."""
    for title, table in (("metrics", METRICS), ("transforms", TRANSFORMS)):
        yield f"{title} (explained by: pytest-extract metrics NAME)"
        for name, spec in table.items():
            yield f"  {name:<24} {textwrap.shorten(_first_sentence(spec.doc), 90, placeholder=' ...')}"


def reference(names: Iterable[str], *, markdown: bool = False) -> Iterator[str]:
    """Yield the explanation of each metric or transform: what it does, its parameters, worked numbers."""
    for name in names:
        metric, transform = METRICS.get(name), TRANSFORMS.get(name)
        if metric is None and transform is None:
            raise ConfigError(f"no metric or transform {name!r}{nearest(name, [*METRICS, *TRANSFORMS])}")
        if metric is not None:
            yield from _explained(f"{name} (metric)", metric, _metric_examples(metric), markdown=markdown)
        if transform is not None:
            yield from _explained(f"{name} (transform)", transform, _transform_examples(transform), markdown=markdown)


def _explained(title: str, spec: MetricSpec | TransformSpec, rows: list[str], *, markdown: bool) -> Iterator[str]:
    if markdown:
        yield from (f"### {title}", "", spec.doc, "")
        if spec.params:
            yield from ("| parameter | default | meaning |", "|---|---|---|")
            yield from (f"| `{p.name}` | {_cell(_default(p))} | {_cell(p.doc)} |" for p in spec.params)
            yield ""
        yield from ("```", *rows, "```", "")
        return
    yield title
    yield from textwrap.wrap(spec.doc, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    for param in spec.params:
        yield f"  {param.name}: {param.doc} ({_default(param)})"
    if PRESETS.get(spec.name, ("", {}))[1]:
        yield f"  as the preset {spec.name!r}: {_settings(PRESETS[spec.name][1])}"
    yield from (f"    {row}" for row in rows)
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _first_sentence(doc: str) -> str:
    head, separator, _ = doc.partition(". ")
    return head + "." if separator else head


def _default(param: Param) -> str:
    if param.required:
        return "required"
    return "optional" if param.default is None else f"default {json.dumps(param.default, ensure_ascii=False)}"


def _settings(params: Mapping[str, Json]) -> str:
    return json.dumps(dict(params), ensure_ascii=False)


def _metric_examples(spec: MetricSpec) -> list[str]:
    return [_metric_example(example) for example in spec.examples]


def _metric_example(example: Example) -> str:
    gold, extracted = (json.dumps(value, ensure_ascii=False) for value in (example.gold, example.extracted))
    how = [_settings(example.params)] if example.params else []
    how += [f"under {example.semantics}"] if example.semantics != "ours" else []
    return f"gold {gold}, extracted {extracted}: {example.score:.4g}" + (f"   with {', '.join(how)}" if how else "")


def _transform_examples(spec: TransformSpec) -> list[str]:
    rows = []
    for before, after, params in spec.examples:
        old, new = (json.dumps(value, ensure_ascii=False) for value in (before, after))
        rows.append(f"{old} becomes {new}" + (f"   with {_settings(params)}" if params else ""))
    return rows
