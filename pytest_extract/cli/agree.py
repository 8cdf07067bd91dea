"""`pytest-extract agree A B`: how far two sets of golds agree, or the judge's verdicts with those of people."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pytest_extract.cases.review_file import (
    REVIEW_SUFFIX,
    REVIEWED,
    WHOLE_FILE,
    OpenField,
    read_reviews,
    review_path,
    write_review,
)
from pytest_extract.cases.sources import read_value
from pytest_extract.cli.files import print_note, print_text, read_schema, refuse_options, write_json
from pytest_extract.core.scorer import Scorer, compile_schema
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.judge.audit import Agreement, JudgedPair, audit
from pytest_extract.extraction.judge.cache import stored_answers
from pytest_extract.extraction.judge.overrides import load_overrides
from pytest_extract.extraction.recordings.store import DEFAULT_FOLDER, JUDGE_FOLDER
from pytest_extract.golds.review import differing_fields, with_disputes
from pytest_extract.report.lines import percent, plural, safe_prose

SUFFIXES = (".json", ".yaml", ".yml")


def agree_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Compare the golds of two reviewers (A B --schema SCHEMA), file by file, by the schema's own metrics, and "
        "print for each field how often they agree. Or compare the kept answers of judges with the verdicts that "
        "people gave (VERDICTS.yaml alone), which win over every judge in a run: agreement and Cohen's kappa for each "
        "judge, and every pair on which they differ."
    )
    parser.epilog = (
        "Exit status: 0; 1 where golds disagree, or a judge stays below a bound; 2 where there is nothing to compare."
    )
    parser.add_argument("first", type=Path, metavar="A", help="gold, or folder of golds, of one reviewer; or verdicts")
    parser.add_argument("second", type=Path, metavar="B", nargs="?", help="the other's; files are paired by name")
    golds = parser.add_argument_group("golds")
    golds.add_argument("--schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    golds.add_argument(
        "--dispute",
        action="store_true",
        help="open in A's reviews what they disagree on, with both values, and close what they no longer do",
    )
    golds.add_argument("--json", action="store_true", help="print JSON")
    verdicts = parser.add_argument_group("verdicts")
    verdicts.add_argument(
        "--recordings",
        type=Path,
        default=Path(DEFAULT_FOLDER),
        metavar="DIR",
        help="folder of the recordings, beside which the judge's answers are kept (default: %(default)s)",
    )
    verdicts.add_argument("--min-agreement", type=float, metavar="RATE", help="exit 1 below this rate (0 to 1)")
    verdicts.add_argument("--min-kappa", type=float, metavar="KAPPA", help="exit 1 below this kappa")


def run_agree(args: argparse.Namespace) -> int:
    """Compare, print, and return the exit status; raises ExtractError for files that cannot be used."""
    if args.second is None and args.schema is None:
        refuse_options(args, "on verdicts", "dispute", "json")
        return _compare_verdicts(args)
    if args.second is None or args.schema is None:
        raise ConfigError("golds are compared by A, B and --schema SCHEMA; verdicts by their file alone")
    refuse_options(args, "on golds", "recordings", "min-agreement", "min-kappa")
    return _compare_golds(args)


@dataclass(slots=True)
class GoldAgreement:
    """How often two golds agree: by pattern, agreeing and compared values; the disputed fields of each file."""

    agreed: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    disputed: dict[Path, dict[str, OpenField]] = field(default_factory=dict)


def _compare_golds(args: argparse.Namespace) -> int:
    scorer = compile_schema(read_schema(args.schema), judge_mode="exact")
    pairs, unpaired = _pairs(args.first, args.second)
    if not pairs:
        raise ConfigError(f"{args.first} and {args.second} have no gold of the same name")
    for path in unpaired:
        print_note("agree", f"{path}: the other reviewer has no gold of this name; it is not compared")
    names = str(args.first), str(args.second)
    agreement = _agreement(scorer, pairs, names)
    if not agreement.compared:
        raise ConfigError(f"{args.first} and {args.second} have no value that {args.schema} compares: give other golds")
    if args.dispute:
        for path, fields in agreement.disputed.items():
            review = read_reviews(review_path(path)).get(WHOLE_FILE, REVIEWED)
            if (disputed := with_disputes(review, fields, names)) != review:
                write_review(path, WHOLE_FILE, disputed)
    if args.json:
        write_json(_record(agreement), None)
    else:
        print_text(_text(agreement, len(pairs)))
    return 1 if agreement.agreed != agreement.compared or any(agreement.disputed.values()) else 0


def _pairs(first: Path, second: Path) -> tuple[list[tuple[Path, Path]], list[Path]]:
    """Return the golds that are compared, and those that only one of them has."""
    if first.is_file() and second.is_file():
        return [(first, second)], []
    for path in (first, second):
        if not path.is_dir():
            what = "is no folder" if path.exists() else "is not there"
            raise ConfigError(f"{path} {what}: give two golds, or two folders of golds")
    one, other = _golds_below(first), _golds_below(second)
    pairs = [(path, other[name]) for name, path in one.items() if name in other]
    return pairs, [
        path for mine, theirs in ((one, other), (other, one)) for name, path in mine.items() if name not in theirs
    ]


def _golds_below(folder: Path) -> dict[Path, Path]:
    """Return the golds of a folder by their names in it, sorted."""
    return {
        path.relative_to(folder): path
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and not path.name.endswith(REVIEW_SUFFIX) and path.is_file()
    }


def _agreement(scorer: Scorer, pairs: Iterable[tuple[Path, Path]], names: tuple[str, str]) -> GoldAgreement:
    found = GoldAgreement()
    for one, other in pairs:
        fields, compared = differing_fields(scorer, read_value(one), read_value(other), names)
        found.disputed[one] = fields
        for pattern, agrees in compared:
            found.compared[pattern] += 1
            found.agreed[pattern] += agrees
    return found


def _text(agreement: GoldAgreement, golds: int) -> str:
    compared, agreed = agreement.compared, agreement.agreed
    total = compared.total()
    share = percent(agreed.total() / total)
    lines = [f"{plural(golds, 'gold')}: {agreed.total():,} of {total:,} values agree ({share})"]
    wide = max(len(safe_prose(name)) for name in compared)
    for name in sorted(compared, key=lambda each: (agreed[each] / compared[each], each)):
        share = percent(agreed[name] / compared[name])
        lines.append(f"  {safe_prose(name):<{wide}}  {agreed[name]:>6,} of {compared[name]:>6,}  {share:>8}")
    for path, fields in agreement.disputed.items():
        if fields:
            lines.append(f"{safe_prose(str(path))}: {safe_prose(', '.join(fields))}")
    return "\n".join(lines)


def _record(agreement: GoldAgreement) -> Json:
    fields: Json = {
        name: {"agreed": agreement.agreed[name], "compared": agreement.compared[name]} for name in agreement.compared
    }
    disputed: Json = {str(path): [*fields] for path, fields in agreement.disputed.items() if fields}
    return {"fields": fields, "disputed": disputed}


def _compare_verdicts(args: argparse.Namespace) -> int:
    """Print how far each judge agrees with people; exit status 0, 1 (a bound is missed) or 2 (nothing to compare)."""
    overrides = load_overrides(args.first)
    agreements, unmet = audit(overrides, stored_answers(args.recordings / JUDGE_FOLDER))
    for line in _audit_lines(agreements, unmet):
        print_text(line)
    if not agreements:
        print_text(f"nothing to compare: no judge's answer below {args.recordings} is about a pair of {args.first}")
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
            f"({percent(agreement.rate)}), Cohen's kappa {kappa}"
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
