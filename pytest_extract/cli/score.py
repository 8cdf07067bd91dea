"""`pytest-extract score SCHEMA GOLD OUTPUT`: scores one output from files, as one system or as several side by side."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from pytest_extract.cases.sources import read_text
from pytest_extract.cli.files import load_extensions, read_schema, read_value
from pytest_extract.cli.systems_lines import bridge_as_json, bridge_lines, padded, without_a_model
from pytest_extract.core.metrics.judged import SPECS as JUDGED
from pytest_extract.core.parse.output import parse_output
from pytest_extract.core.parse.size import most_repaired
from pytest_extract.core.results import Judge
from pytest_extract.core.score import Score
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError
from pytest_extract.files import MOST_BULK_BYTES
from pytest_extract.report.lines import safe
from pytest_extract.report.values import show
from pytest_extract.systems import SYSTEMS, compare_systems

_MOST_ROWS: Final = 40
_JUDGED: Final = frozenset(spec.name for spec in JUDGED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = "Score the JSON in OUTPUT (or a model's raw answer) against GOLD under SCHEMA."
    parser.add_argument("schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    parser.add_argument("gold", type=Path, metavar="GOLD")
    parser.add_argument("output", type=Path, metavar="OUTPUT")
    parser.add_argument(
        "--as", dest="systems", metavar="S,S", help=f"systems to put side by side: {', '.join(SYSTEMS)}, or `all`"
    )
    parser.add_argument("--judge", choices=("exact", "fuzzy", "llm"), default="exact", help="default: exact")
    parser.add_argument("--judge-model", metavar="PROVIDER/NAME", help="model of `--judge llm`")
    parser.add_argument("--modality", choices=("text", "image", "audio"), default="text")
    parser.add_argument("--extensions", metavar="MODULE[:NAME]", help="the project's own metrics, as for `check`")
    parser.add_argument("--repair", action="store_true", help="mend broken JSON, and say so")
    parser.add_argument(
        "--no-schema-gate",
        action="store_true",
        help="count what an output that breaks the schema got right, as `gates: {schema: false}` does in a case",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--all", action="store_true", help=f"list every leaf, not the first {_MOST_ROWS}")


def run(args: argparse.Namespace) -> int:
    """Score, print, and return 0; a wrong file or name raises ExtractError."""
    schema, gold = read_schema(args.schema), read_value(args.gold)
    judge, extensions = _judge(args), load_extensions(args.extensions)
    gates: dict[str, Json] | None = {"schema": False} if args.no_schema_gate else None
    text = read_text(args.output, MOST_BULK_BYTES, streams=True)
    parsed = parse_output(text, repair=args.repair, most_repaired=most_repaired(gold, None))
    for note in parsed.notes:
        print(f"{args.output}: {safe(note)}", file=sys.stderr)  # noqa: T201 - printing is the command
    if args.systems is None:
        scorer = compile_schema(schema, judge_mode=args.judge, extensions=extensions)
        how: dict[str, Any] = {"judge": judge, "modality": args.modality, "repair": args.repair, "gates": gates}
        score = scorer.score_text(gold, text, **how)
        print(json.dumps(score.to_dict(), indent=1) if args.json else "\n".join(_score_lines(score, args)))  # noqa: T201
        return 0
    if parsed.failure is not None:
        print(f"{args.output}: {safe(str(parsed.failure))}", file=sys.stderr)  # noqa: T201
    bridge = compare_systems(
        schema,
        gold,
        parsed.value,
        _systems(args),
        judge=judge,
        judge_mode=args.judge,
        modality=args.modality,
        extensions=extensions,
        gates=gates,
        failure=parsed.failure,
        text=text,
    )
    most = None if args.all else _MOST_ROWS
    lines = [json.dumps(bridge_as_json(bridge), indent=1)] if args.json else bridge_lines(bridge, args.judge, most)
    print("\n".join(lines))  # noqa: T201
    return 0


def _systems(args: argparse.Namespace) -> list[str]:
    named = [name.strip() for name in args.systems.split(",") if name.strip()]
    if not named:
        raise ConfigError(f"--as names no system; known: {', '.join(SYSTEMS)}, or `all`")
    return list(SYSTEMS) if named == ["all"] else list(dict.fromkeys(named))


def _judge(args: argparse.Namespace) -> Judge | None:
    if args.judge != "llm":
        return None
    if args.judge_model is None:
        raise ConfigError("--judge llm needs --judge-model PROVIDER/NAME; --judge exact and fuzzy need no model")
    from pytest_extract.extraction.judge import build_judge

    return build_judge("llm", model=args.judge_model)


def _score_lines(score: Score, args: argparse.Namespace) -> list[str]:
    lines = [f"semantics {score.semantics}"]
    if args.judge != "llm" and any(result.metric in _JUDGED for result in (*score.fields, *score.leaves)):
        lines.append(without_a_model(args.judge))
    if score.failure is not None:
        lines.append(f"failure  {safe(str(score.failure))}")
    gates = (score.gates.parse, score.gates.root, score.gates.schema, score.gates.coverage)
    lines += [f"{gate.name} gate: {safe(gate.why)}" for gate in gates if not gate.passed]
    lines += [f"{name:<20} {value:.6g}" for name, value in score.measures.items()]
    if score.failure is not None and score.unread is None:
        told = ", ".join(f"{name} {value:.6g}" for name, value in score.ungated.items())
        lines.append(f"without the schema gate: {told}")
    if score.empty_passes:
        passed = sum(result.passed for result in score.fields)
        lines.append(
            f"right by emptiness, without a value on either side: {score.empty_passes} of {passed} passed fields"
        )
    lines += _array_lines(score, args)
    wrong = [leaf for leaf in score.leaves if not leaf.passed]
    lines.append(f"{len(wrong)} of {len(score.leaves)} leaves are not right")
    for leaf in wrong if args.all else wrong[:_MOST_ROWS]:
        values = f"gold {show(leaf.gold, 40)}  extracted {show(leaf.extracted, 40)}"
        lines.append(f"  {padded(str(leaf.path))}  {leaf.metric:<18} {leaf.status:<13} {values}")
    return lines


def _array_lines(score: Score, args: argparse.Namespace) -> list[str]:
    """Tell the arrays that are not wholly right: how many rows found each other, and how well they agree."""
    arrays = [array for array in score.arrays if array.f1 < 1.0]
    lines = [f"{len(arrays)} of {len(score.arrays)} arrays are not right"] if score.arrays else []
    for array in arrays if args.all else arrays[:_MOST_ROWS]:
        rows = f"{len(array.pairs)} rows paired, {len(array.missing)} missing, {len(array.extra)} extra"
        pairs = f"precision {array.precision:.3g}  recall {array.recall:.3g}  f1 {array.f1:.3g}"
        sets = f"precision {array.set_precision:.3g}  recall {array.set_recall:.3g}  f1 {array.set_f1:.3g}"
        lines.append(f"  {padded(str(array.path))}  {rows}; by pair scores: {pairs}; by rows: {sets}")
    return lines
