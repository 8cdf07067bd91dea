"""`pytest-extract agree A B`: how far two sets of golds agree, or the judge's verdicts with those of people."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_extract.cases.edit import (
    REVIEW_SUFFIX,
    REVIEWED,
    WHOLE_FILE,
    GoldReview,
    read_reviews,
    review_path,
    write_review,
)
from pytest_extract.cases.sources import read_value
from pytest_extract.cli.files import print_note, print_text, read_schema, refuse_options, write_json
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.caching_judge import JudgedPair, audit, load_overrides
from pytest_extract.extraction.recordings import DEFAULT_FOLDER, JUDGE_FOLDER
from pytest_extract.golds.review import differing_fields, with_disputes
from pytest_extract.report.lines import percent, plural, safe_prose

SUFFIXES = (".json", ".yaml", ".yml")


def agree_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("first", type=Path, metavar="A", help="gold, or folder of golds, of one reviewer; or verdicts")
    parser.add_argument("second", type=Path, metavar="B", nargs="?", help="the other's; files are paired by name")
    golds = parser.add_argument_group("golds")
    golds.add_argument("--schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    golds.add_argument("--dispute", action="store_true", help="open in A's reviews what they dispute, close the rest")
    golds.add_argument("--json", action="store_true", help="print JSON")
    verdicts = parser.add_argument_group("verdicts")
    verdicts.add_argument(
        "--recordings", type=Path, default=Path(DEFAULT_FOLDER), metavar="DIR", help="default: %(default)s"
    )
    verdicts.add_argument("--min-agreement", type=float, metavar="RATE", help="exit 1 below this rate (0 to 1)")
    verdicts.add_argument("--min-kappa", type=float, metavar="KAPPA", help="exit 1 below this kappa")


def run_agree(args: argparse.Namespace) -> int:
    """Measure how far the golds of two reviewers agree, or the verdicts of judges with those of people.

    Golds (A B --schema SCHEMA) are compared file by file, by the schema's own metrics, with how often they agree for
    each field. Verdicts that people gave (VERDICTS.yaml alone), which win over every judge in a run, are compared with
    the kept answers of judges: agreement and Cohen's kappa for each judge, and every pair on which they differ. Exit
    status: 0; 1 where golds disagree, or a judge stays below a bound; 2 where there is nothing to compare.
    """
    if args.second is None and args.schema is None:
        refuse_options(args, "on verdicts", "dispute", "json")
        return _compare_verdicts(args)
    if args.second is None or args.schema is None:
        raise ConfigError("golds are compared by A, B and --schema SCHEMA; verdicts by their file alone")
    refuse_options(args, "on golds", "recordings", "min-agreement", "min-kappa")
    return _compare_golds(args)


def _compare_golds(args: argparse.Namespace) -> int:
    scorer = compile_schema(read_schema(args.schema), judge_mode="exact")
    names = str(args.first), str(args.second)
    pairs = [*_pairs(args.first, args.second)]
    if not pairs:
        raise ConfigError(f"{args.first} and {args.second} have no gold of the same name")
    agreed: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    disputed: dict[Path, list[str]] = {}
    reviews: dict[Path, GoldReview] = {}  # written when all has been read
    for one, other in pairs:
        fields, found = differing_fields(scorer, read_value(one), read_value(other), names)
        compared.update(pattern for pattern, _ in found)
        agreed.update(pattern for pattern, agrees in found if agrees)
        if fields:
            disputed[one] = [*fields]
        review = read_reviews(review_path(one)).get(WHOLE_FILE, REVIEWED) if args.dispute else REVIEWED
        if args.dispute and (changed := with_disputes(review, fields, names)) != review:
            reviews[one] = changed
    if not compared:
        raise ConfigError(f"{args.first} and {args.second} have no value that {args.schema} compares: give other golds")
    for path, review in reviews.items():
        write_review(path, WHOLE_FILE, review)
    if args.json:
        counts: Json = {name: {"agreed": agreed[name], "compared": compared[name]} for name in compared}
        write_json({"fields": counts, "disputed": {str(path): fields for path, fields in disputed.items()}})
    else:
        _print_agreement(len(pairs), agreed, compared, disputed)
    return 1 if disputed or agreed != compared else 0


def _pairs(first: Path, second: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the golds that are compared, and note those that only one reviewer has."""
    if first.is_file() and second.is_file():
        yield first, second
        return
    for path in (first, second):
        if not path.is_dir():
            what = "is no folder" if path.exists() else "is not there"
            raise ConfigError(f"{path} {what}: give two golds, or two folders of golds")
    one, other = _golds_below(first), _golds_below(second)
    yield from ((path, other[name]) for name, path in one.items() if name in other)
    for name, path in (*one.items(), *other.items()):
        if name not in one or name not in other:
            print_note("agree", f"{path}: the other reviewer has no gold of this name; it is not compared")


def _golds_below(folder: Path) -> dict[Path, Path]:
    """Return the golds of a folder by their names in it, sorted."""
    return {
        path.relative_to(folder): path
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and not path.name.endswith(REVIEW_SUFFIX) and path.is_file()
    }


def _print_agreement(
    golds: int, agreed: Counter[str], compared: Counter[str], disputed: Mapping[Path, Sequence[str]]
) -> None:
    share = percent(agreed.total() / compared.total())
    print_text(f"{plural(golds, 'gold')}: {agreed.total():,} of {compared.total():,} values agree ({share})")
    wide = max(len(safe_prose(name)) for name in compared)
    for name in sorted(compared, key=lambda each: (agreed[each] / compared[each], each)):
        share = percent(agreed[name] / compared[name])
        print_text(f"  {safe_prose(name):<{wide}}  {agreed[name]:>6,} of {compared[name]:>6,}  {share:>8}")
    for path, fields in disputed.items():
        print_text(f"{safe_prose(str(path))}: {safe_prose(', '.join(fields))}")


def _compare_verdicts(args: argparse.Namespace) -> int:
    """Print how far each judge agrees with people; exit status 0, 1 (a bound is missed) or 2 (nothing to compare)."""
    agreements, unmet = audit(load_overrides(args.first), args.recordings / JUDGE_FOLDER)
    misses_bound = False
    for each in agreements:
        kappa = "undefined (all verdicts alike)" if each.kappa is None else f"{each.kappa:.3f}"
        counts = f"{each.agreed} of {len(each.comparisons)} verdicts agree ({percent(each.rate)})"
        print_text(f"{each.judge} (prompt {each.prompt_version}): {counts}, Cohen's kappa {kappa}")
        for pair in each.comparisons:
            if not pair.agree:
                print_text(_disagreement_line(pair))
        misses_bound |= args.min_agreement is not None and each.rate < args.min_agreement
        misses_bound |= args.min_kappa is not None and each.kappa is not None and each.kappa < args.min_kappa
    if unmet:
        print_text(f"{unmet} of the people's verdicts are about pairs that no judge was asked about")
    if not agreements:
        print_text(f"nothing to compare: no judge's answer below {args.recordings} is about a pair of {args.first}")
        print_text("answers are kept there by a run with --extract-record=once")
        return 2
    return 1 if misses_bound else 0


def _disagreement_line(pair: JudgedPair) -> str:
    answer, override = pair.answer, pair.override
    why = f" ({override.reason})" if override.reason else ""
    return (
        f"  gold {override.gold!r:.200}, extracted {override.extracted!r:.200}: "
        f"judge {answer.score:g} ({answer.reason}), {override.by or 'a person'} {override.score:g}{why}"
    )
