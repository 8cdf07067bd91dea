"""`pytest-extract review` and `agree`: decide what is open in golds, and measure how far golds or verdicts agree."""

from __future__ import annotations

import argparse
import getpass
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pytest_extract.cases.edit import (
    REVIEW_SUFFIX,
    REVIEWED,
    WHOLE_FILE,
    GoldReview,
    read_gold,
    read_reviews,
    review_path,
    write_review,
)
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cases.sources import read_value
from pytest_extract.changed import git_line
from pytest_extract.cli.files import found_case_files, print_note, print_text, read_schema, refuse_options
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, Json
from pytest_extract.core.words import percent, plural
from pytest_extract.errors import ConfigError, ExtractError
from pytest_extract.extraction.caching_judge import audit, load_overrides
from pytest_extract.extraction.recordings import DEFAULT_FOLDER, JUDGE_FOLDER
from pytest_extract.golds.review import (
    Action,
    Reviewer,
    ReviewItem,
    differing_fields,
    failing_items,
    merged_items,
    open_items,
    read_typed,
    with_disputes,
)
from pytest_extract.report.lines import safe_prose, show
from pytest_extract.results import ResultsReader

KEYS: dict[str, Action] = {"a": "accept", "k": "keep", "o": "also", "e": "edit", "x": "absent", "d": "dispute"}
HELP = (
    "a accept 1 - 1..9 accept that - k keep the gold - o also accept - e edit - x absent - d dispute - s skip - q quit"
)


def review_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="RUN.jsonl|CASES", help="files or folders (default: .)")
    parser.add_argument("--terminal", action="store_true", help="ask here, in place of a page")
    parser.add_argument("--by", metavar="NAME", help="who decides (default: git's user.name, or the user's name)")
    parser.add_argument("--port", type=int, default=0, help="port of the page on 127.0.0.1 (default: a free one)")
    parser.add_argument("--list", action="store_true", help="list what is open, and decide nothing")


def run_review(args: argparse.Namespace) -> int:
    """Decide what is open in golds.

    Open are the fields of drafts on which outputs disagree or that stand nowhere in the document, what reviewers
    disputed and, with results files, the failing fields of a run. Each decision is written at once, to that place of
    the gold alone; who decided is kept beside the gold. Exit status: 0 nothing is open any more, 1 something is, or a
    case file has a mistake.
    """
    if args.list:
        refuse_options(args, "with --list", "terminal", "by", "port")
    if args.terminal:
        refuse_options(args, "with --terminal", "port")
    runs = [path for path in args.paths if path.suffix == ".jsonl"]
    cache = SchemaCache()
    files = found_case_files([path for path in args.paths if path not in runs] or [Path()])
    loaded = [load_cases(file, cache) for file in files]
    mistakes = [str(error) for file in loaded for error in file.errors]
    cases = [case for file in loaded for case in file.cases if not case.altered]
    notes: list[str] = []
    failing = [item for path in runs for item in failing_items(cases, ResultsReader(path), notes, Path())]
    items = merged_items([*open_items(cases), *failing])
    for note in (*mistakes, *notes):
        print_note("review", note)
    if not items:
        print_text("nothing else is open" if mistakes else "nothing is open")
        return 1 if mistakes else 0
    reviewer = Reviewer(args.by or user_name(), items, cases)
    if args.list:
        for item in items:
            print_text(safe_prose(f"{item.title}: {item.why}"))
    elif args.terminal:
        ask_in_terminal(reviewer)
    else:
        _serve(reviewer, args)
    print_text(f"{sum(bool(item.done) for item in items)} of {len(items)} decided")
    return 0 if not mistakes and all(item.done and item.done != "disputed" for item in items) else 1


def user_name() -> str:
    """Return git's user.name, or the name of the user."""
    try:
        return git_line(Path(), "config", "user.name") or getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "unknown"


def _serve(reviewer: Reviewer, args: argparse.Namespace) -> None:
    from pytest_extract.golds.review_server import ReviewServer

    try:
        server = ReviewServer(reviewer, args.port)
    except OSError as error:
        raise ConfigError(f"--port {args.port}: {error.strerror or error}") from error
    with server:
        print(f"{len(reviewer.items)} to decide: {server.address}", flush=True)  # noqa: T201 - printing is the command
        print("Ctrl+C ends the review; every decision is written already", flush=True)  # noqa: T201 - as above
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print()  # noqa: T201 - as above


def ask_in_terminal(reviewer: Reviewer) -> None:
    """Ask for each open item in turn; end of input and `q` leave the rest open."""
    print(HELP)  # noqa: T201 - printing is the command
    for number, item in enumerate(reviewer.items, start=1):
        print(f"\n[{number}/{len(reviewer.items)}] {safe_prose(item.title)}: {safe_prose(item.why)}")  # noqa: T201
        for place, candidate in enumerate(item.candidates, start=1):
            shown = "(absent)" if candidate.value is MISSING else show(candidate.value, 200)
            where = "nowhere in the document" if candidate.evidence == "" else candidate.evidence or ""
            about = ", ".join(filter(None, (*candidate.sources, where)))
            print(f"  {place}  {shown}  ({safe_prose(about)})")  # noqa: T201 - as above
        while not item.done:
            answer = _read("> ")
            if answer in (None, "q"):
                return
            if answer == "s":
                break
            try:
                print(f"  {_decided(reviewer, item, str(answer))}")  # noqa: T201 - as above
            except (ExtractError, ValueError, RecursionError) as error:  # the latter: of JSON that no reader takes
                print(f"  {safe_prose(str(error))}")  # noqa: T201 - as above


def _decided(reviewer: Reviewer, item: ReviewItem, answer: str) -> str:
    if answer.isdecimal():
        return reviewer.decide(item, "accept", choice=int(answer) - 1)
    action = KEYS.get(answer)
    if action is None:
        return HELP
    value: Json = None
    if action == "edit":
        typed = _read("  new value (JSON, or a text): ")
        if typed is None:
            return "left as it is"
        value = read_typed(typed, item.case, item.path, read_gold(item.case))
    return reviewer.decide(item, action, value=value)


def _read(prompt: str) -> str | None:
    try:
        return input(prompt).strip()
    except (EOFError, KeyboardInterrupt):
        print()  # noqa: T201 - printing is the command
        return None


def agree_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("first", type=Path, metavar="A", help="gold, or folder of golds, of one reviewer; or verdicts")
    parser.add_argument("second", type=Path, metavar="B", nargs="?", help="the other's; files are paired by name")
    golds = parser.add_argument_group("golds")
    golds.add_argument("--schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    golds.add_argument("--dispute", action="store_true", help="open in A's reviews what they dispute, close the rest")
    verdicts = parser.add_argument_group("verdicts")
    verdicts.add_argument(
        "--recordings", type=Path, default=Path(DEFAULT_FOLDER), metavar="DIR", help="default: %(default)s"
    )
    verdicts.add_argument("--min-kappa", type=float, metavar="KAPPA", help="exit 1 below this kappa")


def run_agree(args: argparse.Namespace) -> int:
    """Measure how far the golds of two reviewers agree, or the verdicts of judges with those of people.

    Golds (A B --schema SCHEMA) are compared file by file, by the schema's own metrics, with how often they agree for
    each field. Verdicts that people gave (VERDICTS.yaml alone), which win over every judge in a run, are compared with
    the kept answers of judges: agreement and Cohen's kappa for each judge, and every pair on which they differ. Exit
    status: 0; 1 where golds disagree, or a judge stays below the bound; 2 where there is nothing to compare.
    """
    if args.second is None and args.schema is None:
        refuse_options(args, "on verdicts", "dispute")
        return _compare_verdicts(args)
    if args.second is None or args.schema is None:
        raise ConfigError("golds are compared by A, B and --schema SCHEMA; verdicts by their file alone")
    refuse_options(args, "on golds", "recordings", "min-kappa")
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
    share = percent(agreed.total() / compared.total())
    print_text(f"{plural(len(pairs), 'gold')}: {agreed.total():,} of {compared.total():,} values agree ({share})")
    wide = max(len(safe_prose(name)) for name in compared)
    for name in sorted(compared, key=lambda each: (agreed[each] / compared[each], each)):
        share = percent(agreed[name] / compared[name])
        print_text(f"  {safe_prose(name):<{wide}}  {agreed[name]:>6,} of {compared[name]:>6,}  {share:>8}")
    for path, names_of_fields in disputed.items():
        print_text(f"{safe_prose(str(path))}: {safe_prose(', '.join(names_of_fields))}")
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
        if path.suffix in {".json", ".yaml", ".yml"} and not path.name.endswith(REVIEW_SUFFIX) and path.is_file()
    }


def _compare_verdicts(args: argparse.Namespace) -> int:
    """Print how far each judge agrees with people; exit status 0, 1 (the bound is missed) or 2 (nothing to compare)."""
    agreements, unmet = audit(load_overrides(args.first), args.recordings / JUDGE_FOLDER)
    misses_bound = False
    for each in agreements:
        kappa = "undefined (all verdicts alike)" if each.kappa is None else f"{each.kappa:.3f}"
        total = len(each.comparisons)
        counts = f"{each.agreed} of {total} verdicts agree ({percent(each.agreed / total)})"
        print_text(f"{each.judge} (prompt {each.prompt_version}): {counts}, Cohen's kappa {kappa}")
        for pair in each.comparisons:
            answer, override = pair.answer, pair.override
            why = f" ({override.reason})" if override.reason else ""
            judged = f"judge {answer.score:g} ({answer.reason}), {override.by or 'a person'} {override.score:g}{why}"
            if not pair.agree:
                print_text(f"  gold {override.gold!r:.200}, extracted {override.extracted!r:.200}: {judged}")
        misses_bound |= args.min_kappa is not None and each.kappa is not None and each.kappa < args.min_kappa
    if unmet:
        print_text(f"{unmet} of the people's verdicts are about pairs that no judge was asked about")
    if not agreements:
        print_text(f"nothing to compare: no judge's answer below {args.recordings} is about a pair of {args.first}")
        print_text("answers are kept there by a run with --extract-record=once")
        return 2
    return 1 if misses_bound else 0
