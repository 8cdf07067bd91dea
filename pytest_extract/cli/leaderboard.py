"""`pytest-extract runs leaderboard RESULTS.jsonl...`: compares models, prompts or runs, the best first."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_extract.cli.console import print_lines, read_all_results, terminal_width
from pytest_extract.cli.files import write_json
from pytest_extract.core.aggregate.leaderboard import standings
from pytest_extract.core.aggregate.run import aggregate
from pytest_extract.report.aggregates import leaderboard_lines, standing_record

SHOWN = ("pass_rate", "f1")
"""Measures whose means the leaderboard shows beside SOB's columns."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Rank arms (models, prompts, revisions) of one or several results files as SOB's leaderboard does."
    )
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS.jsonl")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Rank, print, and return 0; a file that cannot be read raises ExtractError."""
    arms = standings(read_all_results("runs leaderboard", args.results, values=False))
    runs = {arm.arm: aggregate(arm.results, measures=SHOWN) for arm in arms}
    if args.json:
        write_json([standing_record(arm, runs[arm.arm]) for arm in arms], None)
    else:
        print_lines(leaderboard_lines(arms, runs, width=terminal_width()))
    return 0
