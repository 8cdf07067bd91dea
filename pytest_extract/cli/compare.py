"""`pytest-extract compare A B` and `bisect BASE..HEAD`: whether a run is worse, and by which change."""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum
from pathlib import Path
from typing import Any, Final

from pytest_extract.changed import GitTree, open_tree
from pytest_extract.cli.files import note_torn, print_lines, print_note, print_text, terminal_width, write_json
from pytest_extract.core.aggregate.slices import slice_name
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.result_json import to_json
from pytest_extract.core.values import Json, canonical_json, text_digest
from pytest_extract.core.words import percent, plural
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.extraction.recordings import DEFAULT_FOLDER
from pytest_extract.regression.baseline import Resolution, read_baseline, resolutions
from pytest_extract.regression.compare import compare, gate_label
from pytest_extract.regression.facts import Rules, Subject, read_rule, run_tests
from pytest_extract.regression.gate import (
    EXIT_PASS,
    EXIT_UNDECIDED,
    GateDecision,
    evaluate_gate,
    exit_status,
    resolution_text,
)
from pytest_extract.regression.snapshots import STRUCTURAL_GATES, Snapshot, snapshot
from pytest_extract.report.lines import line, safe_prose
from pytest_extract.report.run_report import gate_lines
from pytest_extract.results import ResultsReader, read_results

_BASELINE: Final = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"(kind|cases)"')
"""A baseline begins so, and no line of results."""


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("before", type=Path, metavar="A", help="results file, or baseline")
    parser.add_argument("after", type=Path, metavar="B", help="results file")
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
    PASS, 1 WORSE, 2 usage, 3 UNDECIDED (0 or 1 with --rule inconclusive=warn or fail).
    """
    given: dict[str, Any] = dict(args.rule)
    by = map(slice_name, [*given.pop("by", ()), *args.by])
    rules = Rules(**given, by=tuple(dict.fromkeys(by)))
    before, first = read_side(args.before, allow_drafts=rules.allow_drafts)
    after, second = read_side(args.after, allow_drafts=rules.allow_drafts)
    if second is None:
        raise ConfigError(f"{args.after}: B must be a results file, not a baseline")
    known = {name for side in (before, after) for state in side.values() for name in state.slices}
    for name in rules.by:
        if name not in known:
            raise ConfigError(f"--by: no case has the tag {name!r}{nearest(name, known)}")
    judged = evaluate_gate(before, after, rules)
    for run in filter(None, (first, second)):
        note_torn("compare", run)
    shown = resolutions(before, rules)
    if args.json:
        write_json(comparison_record(judged, shown))
    else:
        lines = gate_lines(judged, width=terminal_width(100), verbosity=args.verbose)
        print_lines([*lines, *(line(safe_prose(f"{resolution_text(each)}."), indent=2) for each in shown)])
    return exit_status(judged)


def _rule(text: str) -> tuple[str, Any]:
    try:
        return read_rule(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} {error}") from None


def read_side(path: Path, *, allow_drafts: bool = False) -> tuple[Snapshot, ResultsReader | None]:
    """Read a baseline or a results file, whichever it is, and return the run of the latter. Raises StoreError.

    `allow_drafts`: cases whose golds nobody has reviewed count too.
    """
    reader = ResultsReader(path)
    if reader.begins_with(_BASELINE):
        return read_baseline(path).cases, None
    reviewed = (result for result in reader if allow_drafts or not result.draft)
    return snapshot(reviewed), reader


def comparison_record(judged: GateDecision, shown: Sequence[Resolution] = ()) -> dict[str, Json]:
    """Return a decision as JSON, with its comparison and tests, and what the suite can show.

    An object for each type, with the names of its fields. Shares are in [0, 1]; a missing value has no key.
    """
    return {
        "format": 5,  # the version of this form
        "pairs": judged.comparison.pairs,
        **to_json(judged),
        "shows": [to_json(each) for each in shown],
    }


_SEARCHED: Final = (".md", ".txt", ".prompt", ".jinja", ".j2", ".json", ".yaml", ".yml")
"""Of files that may be prompts or schemas; case files, golds and their reviews are none."""
_OTHERS: Final = (".extract.yaml", ".extract.yml", ".gold.json", ".gold.yaml", ".review.json")


_OUTPUT: Final = re.compile(r'\{\s*"(?:format": \d+,\s*"case"|kind": "pytest-extract)')
"""A recording or a baseline begins so: what runs write, and no input of them."""


@dataclass(frozen=True, slots=True, order=True)
class Hunk:
    """One change of a file: `old` lines, from index `start` of the old text, become `new`.

    `first`, `last`: the lines from 1 where it stands in the new text; `last` is less than `first` where lines are gone.
    """

    file: str
    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    first: int
    last: int

    def __str__(self) -> str:
        if self.last < self.first:
            where = f"after line {self.first - 1}, {len(self.old)} gone"
        else:
            where = f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"
        return f"{self.file}: {where}"


def hunks_between(file: str, old: str, new: str) -> list[Hunk]:
    """Return the hunks that make one text of another, in their order."""
    one, other = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return [
        Hunk(file, i, tuple(one[i:j]), tuple(other[k:m]), k + 1, m)
        for kind, i, j, k, m in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def with_hunks(old: str, hunks: Iterable[Hunk]) -> str:
    """Return a text with some of its hunks."""
    lines = old.splitlines(keepends=True)
    for hunk in sorted(hunks, reverse=True):
        lines[hunk.start : hunk.start + len(hunk.old)] = hunk.new
    return "".join(lines)


def causes_of(field: str, hunks: Sequence[Hunk], rates: Callable[[frozenset[Hunk]], Mapping[str, float]]) -> list[Hunk]:
    """Return the hunks that a field falls by: with them it is nearer to all hunks than to none.

    `rates`: the share of each field that is right with some hunks.
    A set of hunks is halved until one is left, or two that fall only together. A field without a rate has not fallen:
    some hunks give no result without others.
    Source: Zeller (1999), "Yesterday, my program worked. Today, it does not. Why?", the algorithm dd.
    """
    before, after = (rates(frozenset(some)).get(field, 0.0) for some in ((), hunks))

    def has_fallen(some: Sequence[Hunk]) -> bool:
        found = rates(frozenset(some))
        return field in found and found[field] <= (before + after) / 2

    def reduced(some: Sequence[Hunk], beside: Sequence[Hunk]) -> list[Hunk]:
        if len(some) == 1:
            return [*some]
        first, second = some[: len(some) // 2], some[len(some) // 2 :]
        for half in (first, second):
            if has_fallen([*beside, *half]):
                return reduced(half, beside)
        return [*reduced(first, [*beside, *second]), *reduced(second, [*beside, *first])]

    found = reduced(hunks, ())
    for hunk in tuple(found):
        others = [each for each in found if each != hunk]
        if others and has_fallen(others):
            found = others
    return sorted(found)


def most_runs(hunks: Sequence[Hunk], fields: int) -> int:
    """Return how many sets beside none and all are measured at most, where each field falls by one hunk.

    With two halves at each step, and all but the one hunk.
    """
    halvings = (len(hunks) - 1).bit_length()
    return fields * (2 * halvings + (halvings > 0))


_SHOWN_ERROR: Final = 2_000


def bisect_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("revisions", metavar="BASE..HEAD", help="two git revisions; HEAD may be left out")
    parser.add_argument("paths", nargs="*", default=[], metavar="PATH", help="cases to run (default: all)")
    parser.add_argument(
        "--recordings", type=Path, default=Path(DEFAULT_FOLDER), metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what it would take, and call nothing")
    parser.add_argument("--pytest", action="append", default=[], metavar="ARG", help="a further argument for pytest")


def run_bisect(args: argparse.Namespace) -> int:
    """Find the hunk of a prompt or schema file by which a field fell.

    The hunks between two revisions are applied in halves, to the cases that fell, with the code of HEAD. Outputs are
    recorded, so that a second search pays nothing twice. The repository and its files are not touched. Exit status: 0
    each fall has its hunks, or nothing fell; 3 falls that may be noise; 2 usage.
    """
    base, dots, head = args.revisions.partition("..")
    if not dots or not base or head.startswith("."):
        raise ConfigError(f"{args.revisions}: name two revisions as BASE..HEAD")
    before, after = (open_tree(Path.cwd(), ref) for ref in (base, head or "HEAD"))
    texts = {
        name: (before.text(name), after.text(name))
        for name in sorted(before.files.keys() & after.files.keys())
        if name.endswith(_SEARCHED) and not name.endswith(_OTHERS) and before.files[name] != after.files[name]
    }
    changed = {name: pair for name, pair in texts.items() if not any(map(_OUTPUT.match, pair))}
    hunks = [hunk for name, (old, new) in changed.items() for hunk in hunks_between(name, old, new)]
    if not hunks:
        raise ConfigError(f"no prompt or schema file of both differs between {before.ref} and {after.ref}")
    files = ", ".join(f"{name} ({count})" for name, count in Counter(hunk.file for hunk in hunks).items())
    print_text(f"{plural(len(hunks), 'hunk')} in {safe_prose(files)}")
    with tempfile.TemporaryDirectory(prefix="pytest-extract-bisect-") as folder:
        runs = _Runs(Path(folder), {name: old for name, (old, _) in changed.items()}, after, args)
        if args.dry_run:
            runs.run(hunks, args.paths, "--extract-dry-run")
            most = most_runs(hunks, fields=1)
            print_text(f"two runs of all cases, then at most {most} runs of those that fell for each field")
            return EXIT_PASS
        first, last = (runs.run(some, args.paths) for some in ((), hunks))
        tests = run_tests(compare(snapshot(first), snapshot(last)), Rules()).results
        fields = sorted((each for each in tests if each.subject is Subject.PATTERN), key=lambda each: -each.drop)
        if fallen := [each.name for each in fields if each.significant]:
            return _print_causes(runs, hunks, fallen, first, last)
    if doubtful := [each.name for each in fields if each.doubtful]:
        advice = "noise cannot be told apart; more cases or --pytest=--extract-repeat=3 show more"
        print_text(f"{', '.join(doubtful)} may have fallen: {advice}")
        return EXIT_UNDECIDED
    print_text("no field fell beyond noise")
    return EXIT_PASS


def _print_causes(
    runs: _Runs, hunks: Sequence[Hunk], fallen: Sequence[str], first: Sequence[CaseResult], last: Sequence[CaseResult]
) -> int:
    before = {each.nodeid: _rates([each], fallen) for each in first}

    def fell(case: CaseResult) -> bool:
        now, then = _rates([case], fallen), before.get(case.nodeid, {})
        return any(now.get(field, 0.0) < then.get(field, 0.0) for field in fallen)

    nodeids = [case.nodeid for case in last if fell(case)]
    known = {frozenset[Hunk](): first, frozenset(hunks): last}

    @cache
    def rates(some: frozenset[Hunk]) -> Mapping[str, float]:
        try:
            results = known[some] if some in known else runs.run(some, nodeids)
        except ConfigError:
            print_note("bisect", f"{plural(len(some), 'hunk')} cannot run without others: larger sets decide")
            return {}
        return _rates([each for each in results if each.nodeid in nodeids], fallen)

    print_text(f"{plural(len(nodeids), 'case')} fell; at most {most_runs(hunks, len(fallen))} runs of them follow")
    for field in fallen:
        causes = causes_of(field, hunks, rates)
        old, new = (rates(frozenset(some)).get(field, 0.0) for some in ((), causes))
        rest = rates(frozenset(hunks) - {*causes}).get(field)
        if rest is None:
            others = "the rest cannot run without it"
        else:
            others = "the rest changes nothing" if rest == old else f"the rest: {100 * (rest - old):+.1f} points"
        change = f"{100 * (new - old):+.1f} points ({percent(old)} to {percent(new)} in these cases)"
        print_text(f"{safe_prose(field)} falls by {safe_prose(' and '.join(map(str, causes)))}: {change}; {others}")
    print_text(f"{rates.cache_info().currsize} sets of hunks measured")
    return EXIT_PASS


def _rates(results: Sequence[CaseResult], fields: Iterable[str]) -> dict[str, float]:
    """Return the share of each field that is right; an output that could not be read has none right."""
    scores = [score for result in results for score in result.scores]
    found: dict[str, float] = {}
    for field in fields:
        shares = []
        for score in scores:
            leaves = [leaf.passed for leaf in (*score.leaves, *score.fields) if leaf.pattern == field]
            leaves += [getattr(score.gates, name).passed for name in STRUCTURAL_GATES if gate_label(name) == field]
            if leaves or not score.readable:
                shares.append(sum(leaves) / len(leaves) if leaves else 0.0)
        if shares:
            found[field] = fsum(shares) / len(shares)
    return found


class _Runs:
    """Runs of pytest on a copy of HEAD that has some of the hunks."""

    def __init__(self, folder: Path, old: Mapping[str, str], after: GitTree, args: argparse.Namespace) -> None:
        self._folder = folder / "tree"
        self._results = folder / "results.jsonl"
        self._old = old
        self._root = after.root.resolve()
        self._where = self._folder / Path.cwd().resolve().relative_to(self._root)
        self._recordings = args.recordings.resolve()
        self._options = ["--extract-record=once", *args.pytest]
        after.write(self._folder)

    def run(self, hunks: Iterable[Hunk], cases: Sequence[str], *options: str) -> list[CaseResult]:
        """Run cases, paths or node ids; raises ConfigError with what pytest said where no case has a result."""
        files = {
            name: with_hunks(old, [each for each in hunks if each.file == name]) for name, old in self._old.items()
        }
        for name, text in files.items():
            (self._folder / name).write_text(text, encoding="utf-8")
        # What an extractor reads by itself is no part of a recording's key: each set has recordings of its own.
        recordings = self._recordings / "bisect" / text_digest(canonical_json(files))[:16]
        given = [f"--extract-recordings={recordings}", *self._options, *options, *map(self._argument, cases)]
        results = self._run(given, is_dry="--extract-dry-run" in options)
        if any(attempt.other_code for result in results for attempt in result.attempts):
            results = self._run([*given, "--extract-record=all"])
        broken = sum(not result.scores for result in results)
        if broken:
            print_note("bisect", f"{plural(broken, 'case')} of {len(results):,} have no result in this run")
        return results

    def _run(self, given: Sequence[str], *, is_dry: bool = False) -> list[CaseResult]:
        self._results.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", "--extract-gate=none"]
        command += [f"--extract-report={self._results}", *given]
        done = subprocess.run(command, cwd=self._where, capture_output=True, text=True, check=False)  # noqa: S603 - our own interpreter
        if is_dry:
            print_text(done.stdout.strip())
            return []
        results = list(read_results(self._results).results) if self._results.exists() else []
        if not any(result.scores for result in results):
            raise ConfigError(f"pytest gave no result:\n{done.stdout[-_SHOWN_ERROR:]}{done.stderr[-_SHOWN_ERROR:]}")
        return results

    def _argument(self, case: str) -> str:
        """Return a node id as an argument from the folder where pytest runs; node ids begin at its root."""
        file, colons, name = case.partition("::")
        if Path(file).is_absolute():
            place = Path(file).resolve()
            if not place.is_relative_to(self._root):
                raise ConfigError(f"{file}: not in the repository {self._root}; name cases that are")
            return f"{self._folder / place.relative_to(self._root)}{colons}{name}"
        above = (self._where, *self._where.parents)
        folder = next(each for each in above if (each / file).exists() or each == self._folder)
        return f"{folder / file}{colons}{name}"
