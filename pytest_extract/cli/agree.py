"""`pytest-extract agree A B --schema SCHEMA`: measures on which fields two reviewers' golds agree."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
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
from pytest_extract.cli.console import print_text
from pytest_extract.cli.files import read_schema, read_value, write_json
from pytest_extract.core.scorer import Scorer, compile_schema
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError
from pytest_extract.golds.review import differing_fields
from pytest_extract.report.lines import percent, plural, safe_prose

SUFFIXES = (".json", ".yaml", ".yml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Compare the golds of two reviewers, file by file, by the schema's own metrics, and print for each field how "
        "often they agree. Exit status: 0 they agree everywhere, 1 they do not."
    )
    parser.add_argument("first", type=Path, metavar="A", help="gold, or folder of golds, of one reviewer")
    parser.add_argument("second", type=Path, metavar="B", help="that of the other; files are paired by name")
    parser.add_argument(
        "--schema", required=True, metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside"
    )
    parser.add_argument(
        "--dispute", action="store_true", help="mark what they disagree on as open in A's reviews, with both values"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


@dataclass(slots=True)
class GoldAgreement:
    """How often two golds agree: by pattern, agreeing and compared values; the disputed fields of each file."""

    agreed: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    disputed: dict[Path, dict[str, OpenField]] = field(default_factory=dict)


def run(args: argparse.Namespace) -> int:
    """Compare, print, and return 1 where the golds disagree; raises ExtractError for files that cannot be used."""
    scorer = compile_schema(read_schema(args.schema))
    pairs = list(_pairs(args.first, args.second))
    if not pairs:
        raise ConfigError(f"{args.first} and {args.second} have no gold of the same name")
    agreement = _agreement(scorer, pairs, (args.first.name, args.second.name))
    if args.dispute:
        for path, fields in agreement.disputed.items():
            review = read_reviews(review_path(path)).get(WHOLE_FILE, REVIEWED)
            if fields:
                write_review(path, WHOLE_FILE, replace(review, reviewed=False, open={**review.open, **fields}))
    if args.json:
        write_json(_record(agreement), None)
    else:
        print_text(_text(agreement, len(pairs)))
    return 1 if any(agreement.disputed.values()) else 0


def _pairs(first: Path, second: Path) -> Iterator[tuple[Path, Path]]:
    if first.is_file() and second.is_file():
        yield first, second
        return
    for path in sorted(first.rglob("*")) if first.is_dir() else ():
        other = second / path.relative_to(first)
        if path.suffix in SUFFIXES and not path.name.endswith(REVIEW_SUFFIX) and other.is_file():
            yield path, other


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
    share = percent(agreed.total() / max(total, 1))
    lines = [f"{plural(golds, 'gold')}: {agreed.total():,} of {total:,} values agree ({share})"]
    wide = max((len(safe_prose(name)) for name in compared), default=0)
    for name in sorted(compared, key=lambda each: (agreed[each] / compared[each], each)):
        share = percent(agreed[name] / compared[name])
        lines.append(f"  {safe_prose(name):<{wide}}  {agreed[name]:>6,} of {compared[name]:>6,}  {share:>7}")
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
