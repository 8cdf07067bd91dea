"""`pytest-extract explain [NAME]`: prints the reference of all metrics and transforms, from the tables that score."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from pytest_extract.cli.files import load_extensions, refuse_options
from pytest_extract.core.extensions import Extension, Extensions
from pytest_extract.core.metrics import METRICS, PRESETS, bind_metric
from pytest_extract.core.metrics.base import MetricSpec, Param, TransformSpec
from pytest_extract.core.post_processors import POST_PROCESSORS
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.errors import ConfigError, nearest

Tables: TypeAlias = Mapping[str, Mapping[str, Extension]]
"""Kind in words -> name -> what it is."""

_MANUAL = """\
# Metrics and transforms

This page is written by `pytest-extract explain --markdown`. `pytest-extract explain NAME` explains one in the terminal,
with all of its worked numbers. A metric gives a gold value and an extracted value a score from 0 to 1; the field passes
from the metric's threshold on. Either dialect names it, with parameters where the default is not right:

```json
{"type": "string", "x-eval-compare": {"date": {"order": "DMY"}}}
{"type": "string", "evaluation_config": {"metrics": [{"metric_id": "date", "params": {"order": "DMY"}}]}}
```

A transform changes both values before they are compared (`x-eval-transform`). Every number here is run by the tests:

```python
>>> from pytest_extract import compare_values, transform_value

```
"""
_MOST_EXAMPLES = 2
"""Worked numbers of a metric that its part of the manual shows."""


def explain_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="metric or transform to explain; default: list all")
    parser.add_argument("--all", action="store_true", help="explain all")
    parser.add_argument("--extensions", metavar="MODULE[:NAME]", help="the project's own ones too, as for `check`")
    parser.add_argument("--markdown", action="store_true", help="print as Markdown")


def run_explain(args: argparse.Namespace) -> int:
    """List all metrics and transforms, or explain one with its parameters and worked numbers."""
    if args.names:
        refuse_options(args, "beside names", "all")
    if args.markdown:
        refuse_options(args, "with --markdown", "extensions", "all")
        lines = metrics_manual(args.names or [*METRICS, *TRANSFORMS])
    else:
        tables = _extension_tables(load_extensions(args.extensions) or Extensions())
        names = list(args.names) or ([name for table in tables.values() for name in table] if args.all else [])
        lines = metrics_reference(names, tables) if names else metrics_overview(tables)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _extension_tables(own: Extensions) -> Tables:
    """Return everything that has a name, by what it is; what is the project's own wins."""
    return {
        "metric": {**METRICS, **own.metrics, **own.batches},
        "transform": {**TRANSFORMS, **own.transforms},
        "aligner": own.aligners,
        "post-processor": {**POST_PROCESSORS, **own.post_processors},
        "judge": own.judges,
    }


def metrics_overview(tables: Tables) -> Iterator[str]:
    """Yield one line for each: its name and the first sentence of its explanation."""
    for kind, table in tables.items():
        if not table:
            continue
        yield f"{kind}s (explained by: pytest-extract explain NAME)"
        for name, spec in table.items():
            first = spec.doc.partition(". ")[0].removesuffix(".")
            yield f"  {name:<24} {textwrap.shorten(f'{first}.', 90, placeholder=' ...')}"


def metrics_reference(names: Iterable[str], tables: Tables) -> Iterator[str]:
    """Yield the explanation of each: what it does, its parameters, all worked numbers."""
    for spec in _named_specs(names, tables):
        yield from _section(spec, (), None)


def metrics_manual(names: Iterable[str]) -> Iterator[str]:
    """Yield the same as a page of the manual (Markdown)."""
    yield from _MANUAL.split("\n")
    specs = [*_named_specs(names, {"metric": METRICS, "transform": TRANSFORMS})]
    before: list[Extension] = []
    for title, kind in (("Metrics", MetricSpec), ("Transforms", TransformSpec)):
        found = [spec for spec in specs if isinstance(spec, kind)]
        yield from (f"## {title}", "") if found else ()
        for spec in found:
            yield from _section(spec, before, _MOST_EXAMPLES)
            before.append(spec)


def _section(spec: Extension, before: Iterable[Extension], most: int | None) -> Iterator[str]:
    """Yield what one does, its parameters unless they stand `before` already, and worked numbers as doctests."""
    yield from (f"### `{spec.name}`", "", spec.doc, "")
    same = next((each.name for each in before if each.params == spec.params), None)
    if spec.params and same is not None:
        yield from (f"Parameters as of `{same}`.", "")
    elif spec.params:
        yield from (*map(_parameter, spec.params), "")
    if PRESETS.get(spec.name, ("", {}))[1]:
        yield from (f"As a preset: `{json.dumps(dict(PRESETS[spec.name][1]))}`.", "")
    if examples := [*_worked(spec, most)]:
        yield from ("```python", *examples, "", "```", "")


def _parameter(param: Param) -> str:
    how = " (required)" if param.required else f" (default {json.dumps(param.default, ensure_ascii=False)})"
    return f"- `{param.name}`{how if param.required or param.default is not None else ''}: {param.doc}"


def _named_specs(names: Iterable[str], tables: Tables) -> Iterator[Extension]:
    for name in names:
        found = [table[name] for table in tables.values() if name in table]
        if not found:
            known = [known for table in tables.values() for known in table]
            raise ConfigError(f"no metric or transform {name!r}{nearest(name, known)}")
        yield from found


def _worked(spec: Extension, most: int | None = None) -> Iterator[str]:
    """Yield worked numbers as doctests, at most some; nothing for what has none."""
    if isinstance(spec, TransformSpec):
        for before, after, params in spec.examples[:most]:
            how = f", {dict(params)!r}" if params else ""
            yield f">>> transform_value({spec.name!r}, {before!r}{how})"
            yield from () if after is None else (repr(after),)
    elif isinstance(spec, MetricSpec):
        for example in spec.examples[:most]:
            how = f", {dict(example.params)!r}" if example.params else ""
            how += f", semantics={example.semantics!r}" if example.semantics != "default" else ""
            score = bind_metric(spec.name, example.params, example.semantics).compare(example.gold, example.extracted)
            yield f">>> compare_values({spec.name!r}, {example.gold!r}, {example.extracted!r}{how})"
            yield repr(score)
