"""`pytest-extract runs merge SHARD... -o FILE`: joins the results files of shards into one run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_extract.errors import ExtractError

EXIT_CONFLICT = 1
EXIT_USAGE = 2


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


def run(args: argparse.Namespace) -> int:
    """Merge, write, and return the exit status."""
    try:
        return _merge(args)
    except ExtractError as error:
        _say(str(error))
        return EXIT_USAGE


def _merge(args: argparse.Namespace) -> int:
    from pytest_extract.regression.shards import merge
    from pytest_extract.results import dump_result, read_results, write_results

    files = [(str(path), read_results(path)) for path in args.shards]
    for name, file in files:
        if file.torn:
            _say(f"{name}: the last line is cut off (a killed run?); its case is left out")
    merged = merge((name, file.results) for name, file in files)
    for text in (*merged.notes, *merged.conflicts):
        _say(text)
    if merged.conflicts and not args.take_later:
        _say(f"{len(merged.conflicts)} conflicts: nothing written; shards of one run do not overlap (--take-later)")
        return EXIT_CONFLICT
    if args.output is None:
        sys.stdout.write("".join(f"{dump_result(result)}\n" for result in merged.results))
    else:
        write_results(args.output, merged.results)
        _say(f"{args.output}: {len(merged.results)} results of {len(files)} files")
    return 0


def _say(text: str) -> None:
    print(f"pytest-extract runs merge: {text}", file=sys.stderr)  # noqa: T201 - printing is the command
