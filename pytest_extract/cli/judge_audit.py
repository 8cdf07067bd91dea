"""`pytest-extract judge-audit VERDICTS`: measures how far the judge agrees with people."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_extract.cli.console import print_text
from pytest_extract.extraction.judge.audit import EQUAL_FROM, audit
from pytest_extract.extraction.judge.cache import stored_answers
from pytest_extract.extraction.judge.overrides import load_overrides
from pytest_extract.extraction.recordings.folder import DEFAULT_FOLDER, JUDGE_FOLDER

if TYPE_CHECKING:
    from pytest_extract.extraction.judge.audit import Agreement, JudgedPair

_DESCRIPTION = (
    "Compare the kept answers of judges with the verdicts that people gave (which win over every judge in a run): "
    "agreement and Cohen's kappa for each judge, and every pair on which they differ."
)
_EPILOG = (
    "Exit status: 0; 1 when a judge stays below --min-agreement or --min-kappa; 2 when there is nothing to compare."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("verdicts", type=Path, metavar="VERDICTS", help="the people's verdicts (verdicts.yaml)")
    parser.add_argument(
        "--recordings",
        type=Path,
        default=Path(DEFAULT_FOLDER),
        metavar="DIR",
        help="folder of the recordings, beside which the judge's answers are kept (default: %(default)s)",
    )
    parser.add_argument("--judge", metavar="MODEL", help="only answers of this judge")
    parser.add_argument(
        "--threshold",
        type=float,
        default=EQUAL_FROM,
        metavar="SCORE",
        help="score from which a verdict means equal (default: %(default)s)",
    )
    parser.add_argument(
        "--min-agreement", type=float, metavar="RATE", help="exit 1 below this rate of agreement (0 to 1)"
    )
    parser.add_argument("--min-kappa", type=float, metavar="KAPPA", help="exit 1 below this kappa")


def run(args: argparse.Namespace) -> int:
    """Print the audit; exit status 0, 1 (a bound is missed) or 2 (nothing to compare)."""
    overrides = load_overrides(args.verdicts)
    kept = (answer for answer in stored_answers(args.recordings / JUDGE_FOLDER) if args.judge in {None, answer.judge})
    agreements, unmet = audit(overrides, kept, args.threshold)
    for line in _audit_lines(agreements, unmet):
        print_text(line)
    if not agreements:
        print_text(f"nothing to compare: no judge's answer below {args.recordings} is about a pair of {args.verdicts}")
        print_text("answers are kept there by a run with --extract-record=once")
        return 2
    return 1 if any(_misses_bound(agreement, args) for agreement in agreements) else 0


def _misses_bound(agreement: Agreement, args: argparse.Namespace) -> bool:
    too_few = args.min_agreement is not None and agreement.rate < args.min_agreement
    kappa = agreement.kappa
    return too_few or (args.min_kappa is not None and kappa is not None and kappa < args.min_kappa)


def _audit_lines(agreements: tuple[Agreement, ...], unmet: int) -> Iterator[str]:
    for agreement in agreements:
        count = len(agreement.comparisons)
        kappa = "undefined (all verdicts alike)" if agreement.kappa is None else f"{agreement.kappa:.3f}"
        yield (
            f"{agreement.judge} (prompt {agreement.prompt_version}): {agreement.agreed} of {count} verdicts agree "
            f"({agreement.rate:.1%}), Cohen's kappa {kappa}"
        )
        yield from (_disagreement_line(item) for item in agreement.comparisons if not item.agree)
    if unmet:
        yield f"{unmet} of the people's verdicts are about pairs that no judge was asked about"


def _disagreement_line(comparison: JudgedPair) -> str:
    answer, override = comparison.answer, comparison.override
    person = override.by or "a person"
    return (
        f"  gold {override.gold!r:.200}, extracted {override.extracted!r:.200}: "
        f"judge {answer.score:g} ({answer.reason}), "
        f"{person} {override.score:g}{f' ({override.reason})' if override.reason else ''}"
    )
