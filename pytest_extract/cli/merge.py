"""`pytest-extract merge SHARD... -o FILE`: joins the results files of shards into one run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_extract.cli.console import print_note
from pytest_extract.cli.files import json_without_commands
from pytest_extract.collector import no_collection

if TYPE_CHECKING:
    from pytest_extract.results import StoredLine, StoredResults

EXIT_CONFLICT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Join results files: each case and arm once. A case that a shard did not run is taken from the one that "
        "did. Two different results for one case are a conflict: nothing is written, unless --take-later. "
        "Exit status: 0 written, 1 conflict, 2 usage."
    )
    parser.add_argument("shards", type=Path, nargs="+", metavar="SHARD.jsonl")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.jsonl", help="write here (default: standard output)")
    parser.add_argument("--take-later", action="store_true", help="of two different results keep the later file's")


@no_collection()
def run(args: argparse.Namespace) -> int:
    """Merge, write, and return the exit status; a file that cannot be read raises ExtractError."""
    from pytest_extract.regression.shards import merge
    from pytest_extract.results import ResultsReader, StoredResults

    readers = [ResultsReader(path) for path in args.shards]
    with StoredResults() as stored:
        merged = merge(((str(reader.path), stored.read(reader)) for reader in readers), stored.load, stored.line)
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
            for place in merged.results:
                sys.stdout.write(json_without_commands(f"{stored.line(place).decode('utf-8')}\n"))
            return 0
        _write(args.output, merged.results, stored)
    print_note("merge", f"{args.output}: {len(merged.results)} results of {len(readers)} files")
    return 0


def _write(path: Path, places: Sequence[StoredLine], stored: StoredResults) -> None:
    """Write the results: lines as they are, and those of an output that is Parquet as its rows."""
    from pytest_extract.files import write_bytes_atomic

    if path.suffix.lower() == ".parquet":
        from pytest_extract.parquet import write_parquet

        write_parquet(path, map(stored.load, places))
    else:
        write_bytes_atomic(path, lambda file: file.writelines(b"%s\n" % stored.line(place) for place in places))
