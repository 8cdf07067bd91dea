"""`pytest-extract report`, `leaderboard` and `merge`: report on the results files of runs, rank or join them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_extract.cli.files import (
    json_without_commands,
    note_torn,
    print_lines,
    print_note,
    refuse_options,
    terminal_width,
    write_json,
)
from pytest_extract.core.aggregate import MODALITY_WEIGHTS, standings
from pytest_extract.core.aggregate.slices import DIMENSIONS, dimension, natural_key, slice_tables
from pytest_extract.core.case_result import CaseResult, counted
from pytest_extract.core.measures import SCORE_MEASURES
from pytest_extract.core.values import Json
from pytest_extract.core.words import plural
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.files import write_bytes_atomic
from pytest_extract.importers.sob import read_sob_results
from pytest_extract.regression.snapshots import CaseKey, case_key, merge, snapshot
from pytest_extract.regression.suite import rank_variants
from pytest_extract.report import aggregates
from pytest_extract.report.aggregates import MOST_SLICES, VIEWS, Part, slice_table
from pytest_extract.report.formats import HELP, ReportFile, report_file, report_problems, write_reports
from pytest_extract.report.lines import text_of, told
from pytest_extract.report.run_report import RunReport, case_finder, repository_root, written_now
from pytest_extract.report.summary import totals_of
from pytest_extract.results import ResultsReader, load_result, write_results


def _read_results(command: str, args: argparse.Namespace) -> list[CaseResult]:
    """Return the results of all files, a case on a variant once for each file.

    Raises StoreError for a file that cannot be read, ConfigError for no result and for a tag of --by that no case has.
    Files that have a case on the same variant are runs of their own: their variants bear the file's name as well. Other
    files are parts of one run. A later line of a file replaces an earlier one of the same case and variant.
    """
    kept: dict[CaseKey, dict[Path, CaseResult]] = {}
    for path in dict.fromkeys(args.results):
        reader = ResultsReader(path)
        for result in reader:
            missing = [name for score in result.scores for name in SCORE_MEASURES if name not in score.measures]
            if missing:
                what = f"the result of {result.nodeid!r} has no measure {missing[0]!r}; was the file edited?"
                raise StoreError(f"{path}: {what}")
            kept.setdefault(case_key(result), {})[path] = result
        note_torn(command, reader)
    if not kept:
        raise ConfigError(f"no result in {', '.join(map(str, args.results))}")
    several = {key.variant for key, found in kept.items() if len(found) > 1}
    results = []
    for path, result in (each for found in kept.values() for each in found.items()):
        if result.variant.label in several:
            name = _name_of_file(path, args.results)
            variant = replace(result.variant, model=f"{result.variant.model or ''} ({name})".strip())
            results.append(replace(result, variant=variant, nodeid=f"{result.nodeid} ({name})"))
        else:
            results.append(result)
    for note in aggregates.unknown_tag_notes(results, args.by):
        raise ConfigError(f"--by: {note}")
    return results


def _name_of_file(path: Path, paths: Iterable[Path]) -> str:
    """Return the stem of a file, or all of its path where another has the stem."""
    return path.stem if [each.stem for each in {*paths}].count(path.stem) == 1 else str(path)


def runs_over_time(results: Sequence[CaseResult], paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the labels of one variant's runs, a file each and in their order; none where variants are several."""
    variants = {result.variant for result in results}
    names = [_name_of_file(path, paths) for path in dict.fromkeys(paths)]
    found = tuple(one.label for name in names for one in variants if (one.model or "").endswith(f"({name})"))
    return found if len(found) == len(variants) == len(names) > 1 else ()


def _print_parts(parts: Iterable[Part], args: argparse.Namespace) -> None:
    if args.json:
        write_json([part.record() for part in parts])
    else:
        print_lines(aggregates.join_blocks(part.lines(terminal_width()) for part in parts))


def report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    built_in = "; ".join(f"`{name}`: {each.doc}" for name, each in DIMENSIONS.items())
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS.jsonl")
    parser.add_argument(
        "--by", action="append", default=[], metavar="TAG", help=f"split by this tag, or one of these: {built_in}"
    )
    parser.add_argument("--as", dest="as_", choices=VIEWS, help=f"whose numbers `--by` shows (default: {VIEWS[0]})")
    parser.add_argument(
        "--auto-accept", type=float, metavar="PRECISION", help="propose by field from which confidence values are right"
    )
    parser.add_argument("--calibration", action="store_true", help="compare confidence with the share of right values")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="list every field and every case")
    parser.add_argument("-o", "--output", action="append", default=[], type=_report_file, metavar="FILE", help=HELP)
    parser.add_argument(
        "--html-pages", choices=("none", "evidence", "all"), default="evidence", help="default: %(default)s"
    )


def _report_file(text: str) -> ReportFile:
    try:
        return report_file(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} {error}") from None


def run_report(args: argparse.Namespace) -> int:
    """Report on a run from its results file: measures with intervals, fields, each system's numbers.

    --auto-accept proposes by field, on half of the cases, the lowest confidence from which PRECISION (such as 0.99) of
    the values is right, and checks it on the others. --html-pages shows pages of PDFs as images in the HTML page:
    those with a value of the case (evidence), or all. --by may be given several times.
    """
    if args.auto_accept is not None and not 0 < args.auto_accept < 1:
        raise ConfigError(f"--auto-accept must be a number above 0 and below 1, such as 0.99, not {args.auto_accept:g}")
    if args.auto_accept is not None:
        refuse_options(args, "with --auto-accept", "calibration", "by", "as", "output")
    elif args.calibration:
        refuse_options(args, "with --calibration", "by", "as", "output")
    elif args.output:
        refuse_options(args, "with --output", "json")
    if args.as_ is not None and not args.by:
        raise ConfigError("--as shows the slices of --by in the numbers of a system; give --by, or leave --as out")
    if not any(each.format.name == "html" for each in args.output):
        refuse_options(args, "without --output=FILE.html", "html-pages")
    if problems := report_problems(args.output):
        raise ConfigError("\n".join(problems))
    results = _read_results("report", args)
    if args.auto_accept is not None or args.calibration:
        _print_parts(_confidence_parts(results, args), args)
        return 0
    if args.output:
        return _write_report_files(results, args)
    shown = results if "origin" in args.by else counted(results)
    if len(shown) < len(results):
        left_out = f"{plural(len(results) - len(shown), 'result')} of cases that are no samples left out"
        print_note("report", f"{left_out}; --by=origin shows them beside the others")
    view, every = args.as_ or VIEWS[0], bool(args.verbose or args.json)
    parts = [
        Part({"by": table.by.name}, [slice_table(table, view=view, most=None if every else MOST_SLICES)])
        for table in slice_tables(shown, args.by)
    ]
    if not args.by:
        parts = [aggregates.variant_part(each, width=terminal_width(), every=every) for each in standings(shown)]
    _print_parts(parts, args)
    return 0


def _write_report_files(results: Sequence[CaseResult], args: argparse.Namespace) -> int:
    report = RunReport(
        results=results,
        written=written_now(),
        by=tuple(args.by),
        view=args.as_ or VIEWS[0],
        runs=runs_over_time(results, args.results),
        facts={"made from": ", ".join(map(str, args.results))},
        find_case=case_finder(Path.cwd(), *(path.resolve().parent for path in args.results)),
        pages=args.html_pages,
        root=repository_root(Path.cwd()),
    )
    lines = write_reports(args.output, report)
    for each in lines:
        print_note("report", text_of(each))
    return 2 if any(span.style == "bad" for each in lines for span in each) else 0


def _confidence_parts(results: Sequence[CaseResult], args: argparse.Namespace) -> Iterator[Part]:
    """Yield for each variant what its confidence is worth; ConfigError where no value has one."""
    from pytest_extract.core.aggregate.confidence import CaseConfidences, calibrations, propose_thresholds

    variants: dict[str, CaseConfidences] = {}
    for result in results:
        variants.setdefault(result.variant.label, CaseConfidences()).add(result)
    if not any(found.patterns for found in variants.values()):
        option = "--calibration" if args.auto_accept is None else "--auto-accept"
        raise ConfigError(
            f"{option}: no value of these results has a confidence; `confidence` in a case declares where it stands"
        )
    for variant, found in variants.items():
        if args.auto_accept is not None:
            proposals = propose_thresholds(found, args.auto_accept)
            first, second = found.halves()
            yield aggregates.threshold_part(variant, proposals, args.auto_accept, (len(first), len(second)))
        elif parts := calibrations(found):
            yield aggregates.calibration_part(variant, parts)


def leaderboard_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS.jsonl")
    parser.add_argument(
        "--by", action="append", default=[], metavar="TAG", help="rank each slice of this tag of the cases; repeatable"
    )
    parser.add_argument("--as", dest="as_", choices=("sob",), help="print SOB's tables from its own result files")
    parser.add_argument("--samples", type=int, metavar="N", help="with --as sob: resamples")
    parser.add_argument("--modality", choices=tuple(MODALITY_WEIGHTS), help="with --as sob (default: as the path says)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run_leaderboard(args: argparse.Namespace) -> int:
    """Rank variants (models, prompts, revisions) of one or several results files, and say which of them are tied."""
    if args.as_ == "sob":
        return _print_sob_tables(args)
    refuse_options(args, "without --as=sob", "modality", "samples")
    results = _read_results("leaderboard", args)
    boards = [] if args.by else [("", "", results)]
    for each in map(dimension, args.by):
        if (slice_of := each.of_case) is None:
            raise ConfigError(f"--by {each.name} splits values, and a leaderboard ranks cases; `report` takes it")
        slices: dict[str, list[CaseResult]] = {}
        for result in results:
            slices.setdefault(slice_of(result), []).append(result)
        boards += [(each.name, label, slices[label]) for label in sorted(slices, key=natural_key)]
    parts: list[Part] = []
    for name, label, everything in boards:
        members = counted(everything)
        places = rank_variants(snapshot(members))
        ranking = aggregates.ranking_table(places, totals_of(members).variants)
        tables = aggregates.leaderboard_tables(ranking, standings(members))
        about: dict[str, Json] = {"by": name, "slice": label} if name else {}
        title = [[told(f"{name} {label}: {plural(len(members), 'result')}", "head")]] if name else []
        parts.append(Part(about, [*title, *tables]))
    _print_parts(parts, args)
    return 0


def _print_sob_tables(args: argparse.Namespace) -> int:
    if args.samples is not None and args.samples < 1:
        raise ConfigError(f"--samples must be 1 or more, not {args.samples}")
    if args.by:
        raise ConfigError("--by splits results of pytest-extract; --as sob always prints each modality by itself")
    runs = [run for path in args.results for run in read_sob_results(path, modality=args.modality)]
    if not runs:
        raise ConfigError(f"no result in {', '.join(map(str, args.results))}")
    part = aggregates.sob_part(runs, samples=args.samples)
    if args.json:
        write_json(dict(part.about))
    else:
        print_lines(part.lines(terminal_width()))
    return 0


def merge_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("shards", type=Path, nargs="+", metavar="SHARD.jsonl")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.jsonl", help="write here (default: standard output)")


def run_merge(args: argparse.Namespace) -> int:
    """Join results files: each case and variant once.

    A case that a shard did not run is taken from the one that did. Different results of two shards for one case are a
    conflict, and nothing is written. Exit status: 0 written, 1 conflict, 2 usage.
    """
    readers = [ResultsReader(path) for path in args.shards]
    lines, conflicts = merge((str(reader.path), reader.lines()) for reader in readers)
    for reader in readers:
        note_torn("merge", reader)
    for text in conflicts:
        print_note("merge", text)
    if conflicts:
        told = f"{plural(len(conflicts), 'conflict')}: nothing written; shards of one run do not overlap"
        print_note("merge", f"{told}: leave one of the files out")
        return 1
    if args.output is None:
        for line in lines:
            sys.stdout.write(json_without_commands(f"{line.decode('utf-8')}\n"))
        return 0
    if args.output.suffix.lower() == ".parquet":
        write_results(args.output, (load_result(line.decode("utf-8")) for line in lines))
    else:
        write_bytes_atomic(args.output, lambda file: file.writelines(b"%s\n" % line for line in lines))
    print_note("merge", f"{args.output}: {len(lines)} results of {len(readers)} files")
    return 0
