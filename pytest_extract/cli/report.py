"""`pytest-extract report RESULTS.jsonl`: prints each published system's report of a run, variant by variant."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_extract.cli.files import print_lines, print_note, refuse_options, terminal_width, write_json
from pytest_extract.cli.run_results import read_all_results, runs_over_time
from pytest_extract.core.aggregate.bootstrap import SAMPLES
from pytest_extract.core.aggregate.run import aggregate, standings
from pytest_extract.core.aggregate.slices import DIMENSIONS, known_tags, slice_tables, tags_among
from pytest_extract.core.case_result import CaseResult, counted
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.report.aggregates import aggregate_record, join_blocks, variant_report_lines
from pytest_extract.report.evidence import CaseFinder
from pytest_extract.report.formats import HELP, ReportFile, report_file, report_problems, write_reports
from pytest_extract.report.lines import plural, text_of
from pytest_extract.report.run_report import RunReport, job_link, repository_root, written_now
from pytest_extract.report.slices import MOST_SLICES, VIEWS, slice_lines, slice_record

if TYPE_CHECKING:
    from pytest_extract.core.aggregate.confidence import CaseConfidences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Report on a run from its results file: measures with intervals, fields, each system's numbers."
    )
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS.jsonl")
    add_slice_arguments(parser)
    parser.add_argument(
        "--auto-accept",
        type=float,
        metavar="PRECISION",
        help="propose by field the lowest confidence from which this share of values is right, on half of the cases; "
        "check it on the others",
    )
    parser.add_argument(
        "--calibration",
        action="store_true",
        help="show by field whether values are right as often as their confidence says",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="list every field and every case")
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, metavar="N", help="resamples of the intervals (default %(default)s)"
    )
    parser.add_argument("-o", "--output", action="append", default=[], metavar="FILE", help=HELP)
    parser.add_argument(
        "--html-pages",
        choices=("none", "evidence", "all"),
        default="evidence",
        help="show pages of PDFs in the HTML page as images (default: %(default)s, those with a value of the case)",
    )


def add_slice_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options that split a run."""
    built_in = "; ".join(f"`{name}`: {each.doc}" for name, each in DIMENSIONS.items())
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="TAG",
        help=f"split the run by this tag of the cases, or by one of these; repeatable. {built_in}",
    )
    parser.add_argument(
        "--as",
        dest="as_",
        choices=VIEWS,
        help=f"the system whose numbers `--by` shows (default: {VIEWS[0]})",
    )


def check_tags(results: Iterable[CaseResult], by: Sequence[str]) -> None:
    """Raise ConfigError for a tag that no case has."""
    tags = tags_among(by)
    known = known_tags(results) if tags else []
    for name in tags:
        if name not in known:
            raise ConfigError(
                f"--by: no case has the tag {name!r}{nearest(name, dict.fromkeys([*known, *DIMENSIONS]))}"
            )


def _check_options(args: argparse.Namespace) -> None:
    if args.samples < 1:
        raise ConfigError(f"--samples must be 1 or more, not {args.samples}")
    if args.auto_accept is not None and not 0 < args.auto_accept < 1:
        raise ConfigError(f"--auto-accept must be a number above 0 and below 1, such as 0.99, not {args.auto_accept:g}")
    if args.auto_accept is not None:
        refuse_options(args, "with --auto-accept", "calibration", "by", "as", "output", "samples")
    elif args.calibration:
        refuse_options(args, "with --calibration", "by", "as", "output", "samples")
    elif args.output:
        refuse_options(args, "with --output", "json", "samples")
    elif args.by:
        refuse_options(args, "with --by", "samples")
    if args.as_ is not None and not args.by:
        raise ConfigError("--as shows the slices of --by in the numbers of a system; give --by, or leave --as out")


def _report_files(texts: Sequence[str]) -> list[ReportFile]:
    files = []
    for text in texts:
        try:
            files.append(report_file(text))
        except ValueError as error:
            raise ConfigError(f"--output: {text!r} {error}") from None
    problems = report_problems(files)
    if problems:
        raise ConfigError("\n".join(problems))
    return files


def run(args: argparse.Namespace) -> int:
    """Report, and return 0; a file that cannot be read raises ExtractError."""
    _check_options(args)
    files = _report_files(args.output)
    if not any(each.format.name == "html" for each in files):
        refuse_options(args, "without --output=FILE.html", "html-pages")
    view = args.as_ or VIEWS[0]
    results = read_all_results("report", args.results)
    check_tags(results, args.by)
    if args.auto_accept is not None:
        _print_thresholds(results, args)
        return 0
    if args.calibration:
        _print_calibration(results, args)
        return 0
    if files:
        folders = (Path.cwd(), *(path.resolve().parent for path in args.results))
        report = RunReport(
            results=results,
            written=written_now(),
            by=tuple(args.by),
            view=view,
            runs=runs_over_time(results, args.results),
            facts={"made from": ", ".join(map(str, args.results)), "job": job_link()},
            find_case=CaseFinder(*folders),
            pages=args.html_pages,
            root=repository_root(Path.cwd()),
        )
        lines = write_reports(files, report)
        for each in lines:
            print_note("report", text_of(each))
        return 2 if any(span.style == "bad" for each in lines for span in each) else 0
    shown = results if "origin" in args.by else counted(results)
    if len(shown) < len(results):
        left_out = plural(len(results) - len(shown), "result")
        print_note(
            "report", f"{left_out} of cases that are no samples left out; --by=origin shows them beside the others"
        )
    if args.by:
        tables = slice_tables(shown, args.by)
        if args.json:
            write_json([slice_record(table) for table in tables], None)
        else:
            most = None if args.verbose else MOST_SLICES
            print_lines(slice_lines(tables, width=terminal_width(), view=view, most=most))
        return 0
    variants = standings(shown)
    runs = [(aggregate(variant.results, samples=args.samples), variant) for variant in variants]
    if args.json:
        write_json([aggregate_record(found, variant) for found, variant in runs], None)
    else:
        width = terminal_width()
        print_lines(
            join_blocks(
                variant_report_lines(found, variant, width=width, verbosity=args.verbose) for found, variant in runs
            )
        )
    return 0


def _confidences(results: Sequence[CaseResult], option: str) -> dict[str, CaseConfidences]:
    """Return the values with their confidence by variant; ConfigError where none has one."""
    from pytest_extract.core.aggregate.confidence import CaseConfidences

    variants: dict[str, CaseConfidences] = {}
    for result in results:
        variants.setdefault(result.variant.label, CaseConfidences()).add(result)
    if not any(found.patterns for found in variants.values()):
        raise ConfigError(
            f"{option}: no value of these results has a confidence; `confidence` in a case declares where it stands"
        )
    return variants


def _print_thresholds(results: Sequence[CaseResult], args: argparse.Namespace) -> None:
    from pytest_extract.core.aggregate.confidence import propose_thresholds
    from pytest_extract.report.confidence import threshold_lines, threshold_record

    blocks, records = [], []
    for variant, confidences in _confidences(results, "--auto-accept").items():
        proposals = propose_thresholds(confidences, args.auto_accept)
        first, second = confidences.halves()
        sizes = len(first), len(second)
        blocks.append(threshold_lines(variant, proposals, args.auto_accept, sizes, width=terminal_width()))
        records.append(threshold_record(variant, proposals, args.auto_accept))
    if args.json:
        write_json(records, None)
    else:
        print_lines(join_blocks(blocks))


def _print_calibration(results: Sequence[CaseResult], args: argparse.Namespace) -> None:
    from pytest_extract.core.aggregate.confidence import calibrations
    from pytest_extract.report.confidence import calibration_lines, calibration_record

    variants = _confidences(results, "--calibration")
    found = {variant: parts for variant, each in variants.items() if (parts := calibrations(each))}
    if args.json:
        write_json([calibration_record(variant, parts) for variant, parts in found.items()], None)
        return
    width = terminal_width()
    print_lines(join_blocks(calibration_lines(variant, parts, width=width) for variant, parts in found.items()))
