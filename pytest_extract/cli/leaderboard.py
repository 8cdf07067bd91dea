"""`pytest-extract leaderboard RESULTS.jsonl...`: compares models, prompts or runs, the best first."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pytest_extract.cli.files import print_lines, refuse_options, terminal_width, write_json
from pytest_extract.cli.report import check_tags
from pytest_extract.cli.run_results import read_all_results
from pytest_extract.core.aggregate.run import aggregate, standings
from pytest_extract.core.aggregate.slices import dimension, natural_key
from pytest_extract.core.aggregate.sob import MODALITY_WEIGHTS
from pytest_extract.core.case_result import CaseResult, counted
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError
from pytest_extract.importers.sob import read_sob_results
from pytest_extract.regression.ranking import rank_variants
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.report.aggregates import (
    join_blocks,
    leaderboard_lines,
    ranking_table,
    sob_lines,
    sob_record,
    sob_tables,
    standing_record,
)
from pytest_extract.report.lines import Line, Span, line, plural, safe_prose
from pytest_extract.report.totals import totals_of

SHOWN = ("pass_rate", "f1")
"""Measures whose means the leaderboard shows beside SOB's columns."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Rank variants (models, prompts, revisions) of one or several results files, and say which of them are tied."
    )
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS.jsonl")
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="TAG",
        help="rank each slice of this tag of the cases (or depth, breadth, modality, ...) by itself; repeatable",
    )
    parser.add_argument(
        "--as",
        dest="as_",
        choices=("sob",),
        help="read SOB's own result files (rows as JSONL, columns or means as JSON, also .gz) and print its tables",
    )
    parser.add_argument(
        "--modality",
        choices=tuple(MODALITY_WEIGHTS),
        help="with --as sob: the modality of rows (default: as the name of the file or of a folder above it says)",
    )
    parser.add_argument("--samples", type=int, metavar="N", help="with --as sob: resamples of the intervals")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Rank, print, and return 0; a file that cannot be read raises ExtractError."""
    if args.as_ == "sob":
        return _print_sob_tables(args)
    refuse_options(args, "without --as=sob", "modality", "samples")
    results = read_all_results("leaderboard", args.results)
    check_tags(results, args.by)
    boards = [("", "", results)] if not args.by else _slices_of(results, args.by)
    records: list[Json] = []
    blocks: list[list[Line]] = []
    for name, label, everything in boards:
        members = counted(everything)
        variants = {variant.variant: variant for variant in standings(members)}
        runs = {name: aggregate(variant.results, measures=SHOWN) for name, variant in variants.items()}
        places = rank_variants(snapshot(members))
        rows = [
            standing_record(place, rank, variants[place.variant], runs[place.variant])
            for rank, place in enumerate(places, start=1)
        ]
        records += [{"by": name, "slice": label, **row} for row in rows] if name else rows
        title = [line(Span(safe_prose(f"{name} {label}: {plural(len(members), 'result')}"), "head"))] if name else []
        ranking = ranking_table(places, totals_of(members).variants)
        blocks.append([*title, *leaderboard_lines(ranking, [*variants.values()], runs, width=terminal_width())])
    if args.json:
        write_json(records, None)
    else:
        print_lines(join_blocks(blocks))
    return 0


def _print_sob_tables(args: argparse.Namespace) -> int:
    if args.samples is not None and args.samples < 1:
        raise ConfigError(f"--samples must be 1 or more, not {args.samples}")
    if args.by:
        raise ConfigError("--by splits results of pytest-extract; --as sob always prints each modality by itself")
    runs = [run for path in args.results for run in read_sob_results(path, modality=args.modality)]
    if not runs:
        raise ConfigError(f"no result in {', '.join(map(str, args.results))}")
    tables = sob_tables(runs, samples=args.samples)
    if args.json:
        write_json(sob_record(tables), None)
    else:
        print_lines(sob_lines(tables, width=terminal_width()))
    return 0


def _slices_of(results: Sequence[CaseResult], by: Sequence[str]) -> list[tuple[str, str, list[CaseResult]]]:
    """Return (name, slice, results) of each slice of each dimension; ConfigError for one that does not split cases."""
    found: list[tuple[str, str, list[CaseResult]]] = []
    for each in map(dimension, by):
        if each.of_case is None:
            raise ConfigError(f"--by {each.name} splits values, and a leaderboard ranks cases; `report` takes it")
        members: dict[str, list[CaseResult]] = {}
        for result in results:
            members.setdefault(each.of_case(result), []).append(result)
        found += [(each.name, label, members[label]) for label in sorted(members, key=natural_key)]
    return found
