"""`pytest-extract runs report RESULTS.jsonl`: prints each published system's report of a run, arm by arm."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_extract.cli.console import print_lines, print_note, read_all_results, terminal_width
from pytest_extract.cli.files import write_json
from pytest_extract.core.aggregate.bootstrap import SAMPLES
from pytest_extract.core.aggregate.leaderboard import standings
from pytest_extract.core.aggregate.run import aggregate
from pytest_extract.errors import ConfigError
from pytest_extract.files import write_atomic
from pytest_extract.report.aggregates import aggregate_record, arm_report_lines, join_blocks
from pytest_extract.report.files import report_texts, written_now
from pytest_extract.report.run_report import RunReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Report on a run from its results file: measures with intervals, fields, each system's numbers."
    )
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS.jsonl")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="list every field and every case")
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, metavar="N", help="resamples of the intervals (default %(default)s)"
    )
    for name, what in (("html", "one HTML page"), ("markdown", "Markdown"), ("csv", "CSV, a row per value")):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=f"write the run as {what} instead")


def run(args: argparse.Namespace) -> int:
    """Report, and return 0; a file that cannot be read raises ExtractError."""
    if args.samples < 1:
        raise ConfigError(f"--samples must be 1 or more, not {args.samples}")
    files = {"html": args.html, "markdown": args.markdown, "csv": args.csv}
    results = read_all_results("runs report", args.results, values=any(files.values()))
    if any(files.values()):
        for path, text_of_report in report_texts(RunReport(results=results, written=written_now()), **files):
            write_atomic(path, text_of_report())
            print_note("runs report", f"{path} written")
        return 0
    arms = standings(results)
    runs = [(aggregate(arm.results, samples=args.samples), arm) for arm in arms]
    if args.json:
        write_json([aggregate_record(found, arm) for found, arm in runs], None)
    else:
        width = terminal_width()
        print_lines(
            join_blocks(arm_report_lines(found, arm, width=width, verbosity=args.verbose) for found, arm in runs)
        )
    return 0
