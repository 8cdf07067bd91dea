"""`pytest-extract score` and `explain`: score one output from files; the reference of metrics and transforms."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeAlias

from pytest_extract.cases.sources import read_text, read_value
from pytest_extract.cli.files import load_extensions, print_note, print_text, read_schema, refuse_options, write_json
from pytest_extract.core.extensions import POST_PROCESSORS, Extension, Extensions
from pytest_extract.core.metrics import JUDGED, METRICS, PRESETS, bind_metric
from pytest_extract.core.metrics.base import MetricSpec, TransformSpec
from pytest_extract.core.output_shape import unwrap
from pytest_extract.core.parse import SchemaFit, parse_output
from pytest_extract.core.results import RuleStatus
from pytest_extract.core.scorer import Score, ScoreOptions, compile_schema
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import MISSING, Json
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.files import MOST_BULK_BYTES
from pytest_extract.report.lines import safe, safe_prose, shorten, show
from pytest_extract.run_case import rule_text
from pytest_extract.systems import ENGINES, SYSTEMS, SystemColumn, compare_systems

_MOST_ROWS: Final = 40
_PATH_WIDTH: Final = 44
_NO_MODEL: Final = "semantic fields were decided without a model: --judge "


def score_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    parser.add_argument("gold", type=Path, metavar="GOLD")
    parser.add_argument("output", type=Path, metavar="OUTPUT")
    parser.add_argument("--as", dest="as_", metavar="S,S", help=f"side by side: {', '.join(SYSTEMS)}, or `all`")
    parser.add_argument("--document-report", action="store_true", help="print ExtractBench's report as JSON")
    parser.add_argument("--judge", choices=("exact", "fuzzy", "llm"), default="exact", help="default: exact")
    parser.add_argument("--judge-model", metavar="PROVIDER/NAME", help="model of `--judge llm`")
    parser.add_argument("--modality", choices=("text", "image", "audio"), default="text")
    parser.add_argument("--extensions", metavar="MODULE[:NAME]", help="the project's own metrics, as for `check`")
    parser.add_argument("--confidence", metavar="SHAPE", help="shape of an output with confidence, as in a case")
    parser.add_argument("--repair", action="store_true", help="repair trailing commas, comments, open brackets")
    parser.add_argument("--no-schema-gate", action="store_true", help="score what breaks the schema, too")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--all", action="store_true", help=f"list every leaf, not the first {_MOST_ROWS}")


def run_score(args: argparse.Namespace) -> int:
    """Score the JSON in OUTPUT (or a model's raw answer) against GOLD under SCHEMA."""
    if args.document_report and args.as_ is not None:
        raise ConfigError("--document-report is that of extract-bench; --as shows systems: give one of them")
    if args.judge != "llm":
        refuse_options(args, "without --judge=llm", "judge-model")
    elif args.judge_model is None:
        raise ConfigError("--judge llm needs --judge-model PROVIDER/NAME; --judge exact and fuzzy need no model")
    if args.document_report or args.as_ is not None:
        refuse_options(args, "with --document-report or --as, which list no leaves", "all")
    schema, gold = read_schema(args.schema), read_value(args.gold)
    options: dict[str, Any] = {"modality": args.modality, "gates": {"schema": False} if args.no_schema_gate else None}
    if args.judge == "llm":
        from pytest_extract.extraction.caching_judge import build_judge

        options["judge"] = build_judge(model=args.judge_model)
    compiling: dict[str, Any] = {"judge_mode": args.judge, "extensions": load_extensions(args.extensions)}
    text = read_text(args.output, MOST_BULK_BYTES, streams=True)
    parsed = parse_output(text, repair=args.repair, fits=SchemaFit(schema, Validator(schema).is_valid))
    notes = [*map(str, parsed.notes)]
    if parsed.failure is not None and (args.document_report or args.as_ is not None):
        notes.append(str(parsed.failure))
    for note in notes:
        print_note("score", f"{args.output}: {safe(note)}")
    record: Json
    if args.as_ is None:
        scorer = compile_schema(schema, semantics="extract-bench" if args.document_report else None, **compiling)
        score = scorer.score_text(gold, text, repair=args.repair, confidence=args.confidence, **options)
        if args.document_report:
            record, lines = _document_report(score, schema, gold), []
        else:
            record, lines = score.to_dict() if args.json else None, _score_lines(score, args)
    else:
        extracted = parsed.value
        if args.confidence is not None and extracted is not MISSING:
            extracted = unwrap(extracted, ScoreOptions(confidence=args.confidence).confidence).value  # type: ignore[arg-type]
        names = SYSTEMS if args.as_ == "all" else dict.fromkeys(name.strip() for name in args.as_.split(","))
        columns = compare_systems(
            schema, gold, extracted, [*names], failure=parsed.failure, text=text, **options, **compiling
        )
        record = {column.system: asdict(column) for column in columns}
        lines = _column_lines(columns, args.judge)
    if args.json or args.document_report:
        write_json(record)
    else:
        print_text("\n".join(lines))
    return 0


def _document_report(score: Score, schema: Json, gold: Json) -> Json:
    from pytest_extract.core.aggregate import content_coverage, extract_bench_report

    report = extract_bench_report(score.to_dict()["fields"], content_coverage(schema, gold, score.extracted))
    record = asdict(report)
    record["confusion"] |= {name: getattr(report.confusion, name) for name in ("precision", "recall", "f1")}
    return {**record, "failed": report.failed, "pass_rate": report.pass_rate}


def _score_lines(score: Score, args: argparse.Namespace) -> list[str]:
    lines = [f"semantics {score.semantics}"]
    if args.judge != "llm" and any(result.metric in JUDGED for result in (*score.fields, *score.leaves)):
        lines.append(f"{_NO_MODEL}{args.judge}")
    if score.failure is not None:
        lines.append(f"failure  {safe(str(score.failure))}")
    lines += [f"{gate.name} gate: {safe(gate.why)}" for gate in score.gates.failed]
    lines += [f"{name:<20} {value:.6g}" for name, value in score.measures.items()]
    lines += [safe_prose(rule_text(rule)) for rule in score.rules if args.all or rule.status is not RuleStatus.HELD]
    if score.failure is not None and score.unread is None:
        measures = ", ".join(f"{name} {value:.6g}" for name, value in score.ungated.items())
        lines.append(f"without the schema gate: {measures}")
    wrong = [leaf for leaf in score.leaves if not leaf.passed]
    lines.append(f"{len(wrong)} of {len(score.leaves)} leaves are not right")
    for leaf in wrong[: None if args.all else _MOST_ROWS]:
        path = shorten(safe(str(leaf.path)), _PATH_WIDTH)
        values = f"gold {show(leaf.gold, 40)}  extracted {show(leaf.extracted, 40)}"
        lines.append(f"  {path:<{_PATH_WIDTH}}  {leaf.metric:<18} {leaf.status.text:<13} {values}")
    return lines


def _column_lines(columns: Sequence[SystemColumn], judge: str) -> list[str]:
    lines = []
    for column in columns:
        lines.append(column.system)
        lines += [f"  {name:<20} {value:.6g}" for name, value in column.measures.items()]
        if (raw := column.raw_text) is not None:
            numbers = f"format {raw.format}, detailed {raw.detailed:.6g}, strict {raw.strict}"
            lines.append(f"  published protocol on the raw text: {numbers} ({raw.note})")
        lines += [f"  ({safe_prose(note)})" for note in column.notes]
    if any(column.system in ENGINES for column in columns) and judge != "llm":
        lines.append(f"{_NO_MODEL}{judge}")
    return lines


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
>>> from pytest_extract import compare_values

```
"""


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
        own = load_extensions(args.extensions) or Extensions()
        tables: Tables = {  # what is the project's own wins
            "metric": {**METRICS, **own.metrics, **own.batches},
            "transform": {**TRANSFORMS, **own.transforms},
            "aligner": own.aligners,
            "post-processor": {**POST_PROCESSORS, **own.post_processors},
            "judge": own.judges,
        }
        names = args.names or [name for table in tables.values() for name in table if args.all]
        lines = _sections(_named_specs(names, tables)) if names else _overview(tables)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _overview(tables: Tables) -> Iterator[str]:
    """Yield one line for each: its name and the first sentence of its explanation."""
    for kind, table in tables.items():
        yield from (f"{kind}s (explained by: pytest-extract explain NAME)",) if table else ()
        for name, spec in table.items():
            first = spec.doc.partition(". ")[0].removesuffix(".")
            yield f"  {name:<24} {textwrap.shorten(f'{first}.', 90, placeholder=' ...')}"


def metrics_manual(names: Iterable[str]) -> Iterator[str]:
    """Yield the explanation of metrics and transforms as a page of the manual (Markdown)."""
    specs = [*_named_specs(names, {"metric": METRICS, "transform": TRANSFORMS})]
    yield from _MANUAL.split("\n")
    for title, kind in (("Metrics", MetricSpec), ("Transforms", TransformSpec)):
        found = [spec for spec in specs if isinstance(spec, kind)]
        yield from (f"## {title}", "") if found else ()
        yield from _sections(found, most=2)


def _sections(specs: Iterable[Extension], most: int | None = None) -> Iterator[str]:
    """Yield what each does, its parameters, and at most some of its worked numbers as doctests."""
    shown: list[Extension] = []
    for spec in specs:
        same = next((each.name for each in shown if each.params == spec.params), None) if most is not None else None
        yield from (f"### `{spec.name}`", "", spec.doc, "")
        if spec.params and same is not None:
            yield from (f"Parameters as of `{same}`.", "")
        elif spec.params:
            for param in spec.params:
                default = "" if param.default is None else f" (default {json.dumps(param.default, ensure_ascii=False)})"
                yield f"- `{param.name}`{' (required)' if param.required else default}: {param.doc}"
            yield ""
            shown.append(spec)
        if params := PRESETS.get(spec.name):
            yield from (f"As a preset: `{json.dumps(params)}`.", "")
        if isinstance(spec, MetricSpec) and spec.examples:
            yield from ("```python", *_worked(spec, most), "", "```", "")
        elif isinstance(spec, TransformSpec) and spec.examples:
            yield from (f"{'; '.join(_changed(*example) for example in spec.examples)}.", "")


def _named_specs(names: Iterable[str], tables: Tables) -> Iterator[Extension]:
    for name in names:
        found = [table[name] for table in tables.values() if name in table]
        if not found:
            known = [known for table in tables.values() for known in table]
            raise ConfigError(f"no metric or transform {name!r}{nearest(name, known)}")
        yield from found


def _changed(before: Json, after: Json, params: Mapping[str, Json]) -> str:
    how = f" with `{json.dumps(dict(params))}`" if params else ""
    return f"`{json.dumps(before)}` becomes `{json.dumps(after)}`{how}"


def _worked(spec: MetricSpec, most: int | None = None) -> Iterator[str]:
    """Yield worked numbers as doctests, at most some."""
    for example in spec.examples[:most]:
        how = f", {dict(example.params)!r}" if example.params else ""
        how += f", semantics={example.semantics!r}" if example.semantics != "default" else ""
        score = bind_metric(spec.name, example.params, example.semantics).compare(example.gold, example.extracted)
        yield f">>> compare_values({spec.name!r}, {example.gold!r}, {example.extracted!r}{how})"
        yield repr(score)
