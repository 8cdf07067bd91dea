"""`pytest-extract merge SHARD... -o FILE`: joins the results files of shards into one run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_extract.cli.files import json_without_commands, print_note
from pytest_extract.core.case_result import CaseResult
from pytest_extract.files import write_bytes_atomic

EXIT_CONFLICT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Join results files: each case and variant once. A case that a shard did not run is taken from the one that "
        "did. Two different results for one case are a conflict: nothing is written, unless --take-later. "
        "Exit status: 0 written, 1 conflict, 2 usage."
    )
    parser.add_argument("shards", type=Path, nargs="+", metavar="SHARD.jsonl")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.jsonl", help="write here (default: standard output)")
    parser.add_argument("--take-later", action="store_true", help="of two different results keep the later file's")


def run(args: argparse.Namespace) -> int:
    """Merge, write, and return the exit status; a file that cannot be read raises ExtractError."""
    from pytest_extract.regression.shards import merge
    from pytest_extract.results import ResultsReader, load_result, write_results

    readers = [ResultsReader(path) for path in args.shards]

    def load(line: bytes) -> CaseResult:
        return load_result(line.decode("utf-8"))

    merged = merge(((str(reader.path), reader.lines()) for reader in readers), load)
    for reader in readers:
        if reader.torn:
            print_note("merge", f"{reader.path}: the last line is cut off (a killed run?); its case is left out")
    for text in (*merged.notes, *merged.conflicts):
        print_note("merge", text)
    if merged.conflicts and not args.take_later:
        print_note(
            "merge",
            f"{len(merged.conflicts)} conflicts: nothing written; shards of one run do not overlap (--take-later)",
        )
        return EXIT_CONFLICT
    if args.output is None:
        for line in merged.lines:
            sys.stdout.write(json_without_commands(f"{line.decode('utf-8')}\n"))
        return 0
    if args.output.suffix.lower() == ".parquet":
        write_results(args.output, map(load, merged.lines))
    else:
        write_bytes_atomic(args.output, lambda file: file.writelines(b"%s\n" % line for line in merged.lines))
    print_note("merge", f"{args.output}: {len(merged.lines)} results of {len(readers)} files")
    return 0
