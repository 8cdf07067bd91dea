"""`pytest-extract compare A B`: tests whether run B is worse than run A, a results file or a baseline."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_extract.cli.files import note_torn, print_lines, terminal_width, write_json
from pytest_extract.core.aggregate.slices import slice_name
from pytest_extract.core.result_json import to_json
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, StoreError, nearest
from pytest_extract.files import MOST_BULK_BYTES, open_regular, read_regular_text
from pytest_extract.regression.baseline import Baseline, Resolution, load_baseline, resolutions
from pytest_extract.regression.gate import GateDecision, evaluate_gate, exit_status, resolution_text
from pytest_extract.regression.rules import Rules, read_rule
from pytest_extract.regression.snapshots import Snapshot, snapshot
from pytest_extract.report.gate import gate_lines
from pytest_extract.report.lines import line, safe_prose
from pytest_extract.results import ResultsReader

FORMAT: Final = 4
"""Version of the JSON."""


class Side(NamedTuple):
    """What one of the two files holds: a snapshot, and where it comes from."""

    snapshot: Snapshot
    baseline: Baseline | None
    run: ResultsReader | None


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("before", type=Path, metavar="A", help="results file, or baseline")
    parser.add_argument("after", type=Path, metavar="B", help="results file")
    parser.add_argument("--before-variant", metavar="VARIANT", help="compare this variant (model, prompt) of A only")
    parser.add_argument("--after-variant", metavar="VARIANT", help="compare this variant (model, prompt) of B only")
    parser.add_argument(
        "--inconclusive", choices=("pass", "warn", "fail"), help="exit 0, 0 or 1 if UNDECIDED (default 3)"
    )
    parser.add_argument(
        "--rule", action="append", default=[], type=_rule, metavar="RULE=VALUE", help="such as alpha=0.05; repeatable"
    )
    parser.add_argument(
        "--by", action="append", default=[], metavar="TAG", help="judge each value of this tag too; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="show every changed field and case")


def run_compare(args: argparse.Namespace) -> int:
    """Compare two runs, field by field.

    --rule sets a rule of the gate (alpha=0.05, max_fallen=0, ...), as --extract-rule of pytest does. Exit status: 0
    PASS, 1 WORSE, 2 usage, 3 UNDECIDED.
    """
    given = dict(args.rule)
    by = map(slice_name, [*given.pop("by", ()), *args.by])
    rules = Rules(**given, by=tuple(dict.fromkeys(by)))
    before, after = (read_side(path, allow_drafts=rules.allow_drafts) for path in (args.before, args.after))
    if after.baseline is not None:
        raise ConfigError(f"{args.after}: B must be a results file, not a baseline")
    known = {name for side in (before, after) for state in side.snapshot.values() for name in state.slices}
    for name in rules.by:
        if name not in known:
            raise ConfigError(f"--by: no case has the tag {name!r}{nearest(name, known)}")
    earlier, later = (
        _of_variant(side.snapshot, variant)
        for side, variant in ((before, args.before_variant), (after, args.after_variant))
    )
    is_same_run = before.run is not None and after.run is not None and before.run.has_same_content(after.run)
    if (args.before_variant is None) is not (args.after_variant is None) and is_same_run:
        missing = "--after-variant" if args.after_variant is None else "--before-variant"
        raise ConfigError(f"A and B are the same run: a comparison of its variants needs {missing} too")
    judged = evaluate_gate(earlier, later, rules, same_run=args.before_variant == args.after_variant and is_same_run)
    for side in (before, after):
        if side.run is not None:
            note_torn("compare", side.run)
    shown = resolutions(earlier, rules)
    if args.json:
        write_json(comparison_record(judged, shown))
    else:
        lines = gate_lines(judged, width=terminal_width(100), verbosity=args.verbose)
        print_lines([*lines, *(line(safe_prose(f"{resolution_text(each)}."), indent=2) for each in shown)])
    return exit_status(judged, args.inconclusive)


def _rule(text: str) -> tuple[str, Any]:
    try:
        return read_rule(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} {error}") from None


def read_side(path: Path, *, allow_drafts: bool = False) -> Side:
    """Read a baseline or a results file, whichever it is. Raises StoreError with the path.

    `allow_drafts`: cases whose golds nobody has reviewed count too.
    """
    try:
        with open_regular(path, MOST_BULK_BYTES) as file:
            first = file.readline()
        if not first.startswith((b'{"format":', b"PAR1")):
            baseline = load_baseline(read_regular_text(path, MOST_BULK_BYTES))
            if baseline is not None:
                return Side(baseline.cases, baseline, None)
    except (OSError, UnicodeDecodeError, StoreError) as error:
        raise StoreError(f"{path}: {'' if isinstance(error, StoreError) else 'cannot be read: '}{error}") from error
    reader = ResultsReader(path)
    reviewed = (result for result in reader if allow_drafts or not result.draft)
    return Side(snapshot(reviewed), None, reader)


def _of_variant(states: Snapshot, variant: str | None) -> Snapshot:
    """Return the part of a snapshot that is of one variant, all for None. Raises ConfigError for an unknown one."""
    if variant is None:
        return states
    variants = {key.variant for key in states}
    if variant not in variants:
        raise ConfigError(f"no variant {variant!r}{nearest(variant, variants)}")
    return {key: state for key, state in states.items() if key.variant == variant}


def comparison_record(judged: GateDecision, shown: Sequence[Resolution] = ()) -> dict[str, Json]:
    """Return a decision as JSON, with its comparison and tests, and what the suite can show.

    An object for each type, with the names of its fields. Shares are in [0, 1]; a missing value has no key.
    """
    return {
        "format": FORMAT,
        "pairs": judged.comparison.pairs,
        **to_json(judged),
        "shows": [to_json(each) for each in shown],
    }
