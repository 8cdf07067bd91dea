"""`pytest-extract mutate [CASES]`: lists the mistakes that metrics and thresholds would let pass."""

from __future__ import annotations

import argparse
import functools
from pathlib import Path

from pytest_extract.cases.cache import SchemaCache
from pytest_extract.cli.console import print_text
from pytest_extract.cli.files import case_files, load_all_cases, load_extensions, write_json
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError
from pytest_extract.golds.mutate import FieldMutants, MutationReport, mutate_golds
from pytest_extract.report.lines import percent, plural, safe_prose
from pytest_extract.report.values import show

MOST_FIELDS = 20
_WIDTH = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Corrupt every gold value in the ways that models err, score the corruptions offline, and list by field those "
        "that pass, with the smallest change that would catch them. Right values in another notation are counted "
        "apart. Exit status: 0, or 1 where the share of caught corruptions is below --fail-under."
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="CASES", help="case files, or folders of them (default: .)"
    )
    parser.add_argument("--fail-under", type=_share, metavar="SHARE", help="lowest share of caught corruptions, 0 to 1")
    parser.add_argument(
        "--judge", choices=("exact", "fuzzy"), default="exact", help="what stands in for the judge (default: exact)"
    )
    parser.add_argument("--extensions", metavar="MODULE[:NAME]", help="the project's own metrics, as for `check`")
    parser.add_argument("--all", action="store_true", help=f"list all fields, not the {MOST_FIELDS} worst")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Mutate and print; raises ConfigError where there is no case, or one has a mistake."""
    extensions = load_extensions(args.extensions)
    cache = SchemaCache(functools.partial(compile_schema, extensions=extensions, judge_mode=args.judge))
    files = case_files(args.paths or [Path()])
    cases = load_all_cases(files, cache, "the cases have mistakes (pytest-extract check):", most=5)
    if not cases:
        raise ConfigError("no case file here")
    report = mutate_golds(cases)
    if args.json:
        write_json(_record(report), None)
    else:
        print_text(_text(report, None if args.all else MOST_FIELDS))
    return 1 if args.fail_under is not None and report.score < args.fail_under else 0


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError(text)
    return share


def _text(report: MutationReport, most: int | None) -> str:
    undecided = sum(each.undecided for each in report.fields.values())
    lines = [
        f"{plural(report.cases, 'case')}: {report.caught:,} of {report.total:,} corruptions caught "
        f"({percent(report.score)})" + (f"; {undecided:,} need a judge" if undecided else "")
    ]
    passed = sum(each.notation_passed for each in report.fields.values())
    noted = passed + sum(each.notation_caught for each in report.fields.values())
    lines.append(f"right values in another notation: {passed:,} of {noted:,} pass")
    worst = sorted(
        (name for name in report.fields if report.fields[name].missed), key=lambda n: -report.fields[n].missed
    )
    for name in worst[:most]:
        lines += _field_lines(name, report.fields[name], report.advice[name])
    if most is not None and len(worst) > most:
        lines.append(f"... and {plural(len(worst) - most, 'more field')} (--all)")
    return "\n".join(lines)


def _field_lines(name: str, mutants: FieldMutants, advice: str) -> list[str]:
    lines = [f"{safe_prose(name)}  {mutants.missed:,} of {mutants.total:,} pass"]
    for title, counts in (("the metric accepts", mutants.by_metric), ("the thresholds tolerate", mutants.by_threshold)):
        if counts:
            kinds = ", ".join(f"{kind} ({count:,})" for kind, count in counts.most_common(4))
            first = mutants.examples.get(counts.most_common(1)[0][0])
            shown = f", such as {show(first.old, _WIDTH)} -> {show(first.new, _WIDTH)}" if first else ""
            lines.append(f"    {title} {kinds}{shown}")
    lines.append(f"    to catch them: {safe_prose(advice)}")
    return lines


def _record(report: MutationReport) -> Json:
    fields: dict[str, Json] = {
        name: {
            "total": each.total,
            "caught": each.caught,
            "metric_accepts": dict(each.by_metric),
            "thresholds_tolerate": dict(each.by_threshold),
            "notation_passed": each.notation_passed,
            "notation_caught": each.notation_caught,
            "undecided": each.undecided,
            "advice": report.advice.get(name),
        }
        for name, each in report.fields.items()
    }
    return {
        "cases": report.cases,
        "total": report.total,
        "caught": report.caught,
        "score": report.score,
        "fields": fields,
    }
