"""Random JSON against random schemas: `python tests/fuzz pairs --minutes 10 --seed 1`.

A schema is compiled once and used for many pairs; of every pair the laws in `tests/fuzz/laws.py` are checked. A failure
is printed as one line of JSON that `--replay FILE` (`-` for standard input) runs again, made as small as it gets by
itself; failures that look alike (same law, same exception, same place in the code) are counted under the first.
Equal options give equal pairs. Exit status: 0 when every law held, 1 when one was broken.
"""

from __future__ import annotations

import json
import random
import re
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_extract import MISSING, ConfigError, SchemaError, compile_schema
from pytest_extract.core.arguments import NotJson, plain_json
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.transforms import TRANSFORMS
from tests.fuzz.generate import Maker, Setup
from tests.fuzz.laws import LAWS, Broken, Pair, frozen, judge_of
from tests.fuzz.table import ROOT, parser_of

Json = Any
PAIRS_A_SCHEMA = 32
CPU_LIMIT_S = 2.0
SHRINK_S = 4.0

import_module("deepdiff")  # it brings pandas along where that is installed, which no pair has to pay for


class TooSlow(BaseException):
    """A pair took more CPU time than allowed; no product code may swallow that."""


@contextmanager
def cpu_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow(f"more than {CPU_LIMIT_S:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# --- one pair


@dataclass(frozen=True)
class Found:
    """A broken law: its name, what happened, and a signature that failures of one cause share."""

    law: str
    what: str
    signature: str


def found_in(law: str, error: BaseException) -> Found:
    place = ""
    if not isinstance(error, Broken | RecursionError | TooSlow):  # where these end is chance
        for frame in traceback.extract_tb(error.__traceback__):
            if "pytest_extract" in frame.filename:
                place = f" at {Path(frame.filename).relative_to(ROOT)}:{frame.lineno}"
    name, first = type(error).__name__, (str(error).splitlines() or [""])[0]
    coarse = re.sub(r"\d+(\.\d+)?(e-?\d+)?", "N", re.sub(r"'[^']*'|\"[^\"]*\"|\[.*\]", "_", first))
    if isinstance(error, Broken):
        coarse = re.sub(r": .*? by (\S*):", r": ... by \1:", coarse)
    return Found(law, f"{name}: {error!s:.300}{place}", f"{law}: {name}: {coarse[:110]}{place}")


def is_json(value: Json, *, nan: bool = False) -> bool:
    try:
        plain_json(value, nan=nan)
    except NotJson:
        return False
    return True


def compiled(setup: Setup) -> Any:
    try:
        return compile_schema(setup.schema, **setup.options)
    except ConfigError as error:
        if is_json([setup.schema, setup.options]):
            raise
        raise SchemaError(str(error)) from error


def check_pair(scorer: Any, setup: Setup, gold: Json, extracted: Json, seed: int, only: str = "") -> tuple[Found | None, Any, list[str]]:  # fmt: skip
    """Score one pair and check the laws that `seed` chooses, or `only` that one; return the first that is broken."""
    rng = random.Random(seed)
    done: list[str] = []
    law, score = "score", None
    before = frozen(gold), frozen(extracted)
    try:
        judge = judge_of(setup.judge)
        try:
            score = scorer.score(gold, extracted, judge=judge)
        except ConfigError:
            if is_json(gold, nan=True):
                raise
            return None, None, done
        if extracted is not MISSING and not is_json(extracted, nan=True):
            if score.failure is None or str(score.failure.kind) != "malformed_json":
                raise Broken("an output that is no JSON does not fail")
            return None, score, done
        pair = Pair(setup, scorer, gold, extracted, judge, score, seed)
        for law, (check, share) in LAWS.items():
            drawn = rng.random() < share
            if only in {law, "inputs"} or (drawn and not only):
                check(pair)
                done.append(law)
        law = "inputs"
        if before != (frozen(gold), frozen(extracted)):
            raise Broken("gold or output was changed by scoring")
    except (Exception, TooSlow) as error:
        return found_in(law, error), score, done
    return None, score, done


# --- failures as records: a line of JSON each, that is run again and made small


def encoded(value: Json) -> Json:
    """Return a value that JSON can hold exactly: integers of any length, NaN and MISSING marked."""
    if value is MISSING:
        return {"$missing": True}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**100:
        return {"$int": hex(value)}
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    return {key: encoded(item) for key, item in value.items()} if isinstance(value, dict) else value


def decoded(value: Json) -> Json:
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$missing"}:
        return MISSING
    return int(value["$int"], 16) if value.keys() == {"$int"} else {key: decoded(item) for key, item in value.items()}


def try_once(record: dict[str, Json]) -> Found | None:
    """Run a record from the start."""
    setup = Setup(record["schema"], record["options"], judge=record["judge"])
    with cpu_limit():
        try:
            scorer = compiled(setup)
        except SchemaError:
            return None
        except (Exception, TooSlow) as error:
            return found_in("compile", error)
        if record["law"] == "compile":
            return None
        return check_pair(scorer, setup, record["gold"], record["extracted"], record["seed"], record["law"])[0]


def replay(line: str) -> Found | None:
    return try_once(decoded(json.loads(line)))


def smaller(value: Json) -> Iterator[Json]:
    """Yield values that are a step smaller."""
    if isinstance(value, dict | list):
        of, items = (dict, value.items()) if isinstance(value, dict) else (list, enumerate(value))
        for key, item in [*items]:
            yield {k: v for k, v in value.items() if k != key} if of is dict else value[:key] + value[key + 1 :]
            if isinstance(item, dict | list):
                yield item
            for less in smaller(item):
                yield {**value, key: less} if of is dict else [*value[:key], less, *value[key + 1 :]]
    elif isinstance(value, str) and len(value) > 1:
        yield from (value[: len(value) // 2], value[1:])
    elif value not in (None, 0, 1, "") and not isinstance(value, bool):
        yield 1


def shrunk(record: dict[str, Json], wanted: str) -> dict[str, Json]:
    """Take away what the failure does not need, for a bounded time."""
    end = time.process_time() + SHRINK_S
    moved = True
    while moved:
        moved = False
        for part in ("options", "judge", "gold", "extracted", "schema"):
            for less in [None] if part == "judge" and record[part] else smaller(record[part]):
                if time.process_time() > end:
                    return record
                candidate = record | {part: less}
                try:
                    again = try_once(candidate) if isinstance(candidate["options"], dict) else None
                except (TooSlow, TypeError):
                    again = None
                if again is not None and again.signature == wanted:
                    record, moved = candidate | {"what": again.what}, True
                    break
    return record


# --- a run


@dataclass
class Tally:
    """What was done, counted by kind; tallies of several processes add up."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    lines: dict[str, str] = field(default_factory=dict)
    cpu_s: float = 0.0

    def add(self, other: Tally) -> None:
        for kind, counts in other.counts.items():
            self.counts[kind].update(counts)
        self.lines = other.lines | self.lines
        self.cpu_s += other.cpu_s

    def tell(self, found: Found, setup: Setup, gold: Json, extracted: Json, seed: int) -> None:
        self.counts["failures"][found.signature] += 1
        if found.signature in self.lines:
            return
        record = {
            "law": found.law, "what": found.what, "schema": setup.schema, "options": setup.options,
            "judge": setup.judge, "gold": gold, "extracted": extracted, "seed": seed,
        }  # fmt: skip
        begin = time.process_time()
        record = shrunk(record, found.signature)
        self.cpu_s -= time.process_time() - begin
        try:
            self.lines[found.signature] = json.dumps(encoded(record))
        except RecursionError:
            self.lines[found.signature] = f"{found.law}: {found.what} (nested too deep to write)"


def run_group(seed: int, group: int, tally: Tally, pairs: int = PAIRS_A_SCHEMA) -> None:
    """Draw one schema and its pairs, and check them."""
    rng = random.Random(f"{seed}:{group}")
    maker = Maker(rng)
    setup = maker.setup()
    before = frozen([setup.schema, setup.options])
    counts = tally.counts
    counts["schemas"]["drawn"] += 1
    try:
        with cpu_limit():
            scorer = compiled(setup)
    except SchemaError:
        counts["schemas"]["refused"] += 1
        return
    except (Exception, TooSlow) as error:
        tally.tell(found_in("compile", error), setup, None, None, 0)
        return
    counts["semantics"][scorer.semantics] += 1
    text = json.dumps(encoded([setup.schema, setup.options]))
    counts["transforms"].update(name for name in TRANSFORMS if f'"{name}"' in text)
    for _ in range(pairs):
        gold = maker.value(setup.schema) if rng.random() < 0.97 else maker.any_json(3)
        extracted = maker.extracted(setup.schema, gold)
        pair_seed = rng.getrandbits(32)
        try:
            with cpu_limit():
                found, score, done = check_pair(scorer, setup, gold, extracted, pair_seed)
        except TooSlow as error:  # between two statements of ours
            found, score, done = found_in("score", error), None, []
        counts["pairs"]["scored"] += 1
        counts["laws"].update(done)
        if score is not None:
            counts["metrics"].update({r.metric for r in (*score.leaves, *score.fields) if r.metric in METRICS})
            counts["statuses"].update(str(result.status) for result in score.leaves)
            counts["pairs"]["with a score between 0 and 1"] += any(0.0 < r.score < 1.0 for r in score.fields)
        if found is not None:
            tally.tell(found, setup, gold, extracted, pair_seed)
            if "TooSlow" in found.signature:
                break  # its siblings would hang as well
    if before != frozen([setup.schema, setup.options]):
        tally.tell(found_in("inputs", Broken("the schema or an option was changed by scoring")), setup, None, None, 0)


def run_share(seed: int, first: int, step: int, pairs: int | None, end: float | None) -> Tally:
    """Run every `step`-th group from `first` on, until so many pairs are scored or until `end` (`time.monotonic`)."""
    tally = Tally()
    begin, told, shown = time.process_time(), time.monotonic(), set[str]()
    group = first
    while (pairs is None or tally.counts["pairs"]["scored"] < pairs) and (end is None or time.monotonic() < end):
        run_group(seed, group, tally)
        group += step
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"... {tally.counts['pairs']['scored']:,} pairs", file=sys.stderr, flush=True)
            for signature in tally.lines.keys() - shown:
                print(tally.lines[signature], file=sys.stderr, flush=True)
            shown.update(tally.lines)
    tally.cpu_s += time.process_time() - begin
    tally.counts = dict(tally.counts)  # a lambda cannot go to another process
    return tally


def print_figures(tally: Tally) -> None:
    for kind, counts in tally.counts.items():
        if kind != "failures":
            known = {"metrics": METRICS, "transforms": TRANSFORMS, "laws": LAWS}.get(kind, ())
            never = f"; never: {', '.join(sorted({*known} - {*counts})) or '-'}" if known else ""
            print(f"{kind:12}", ", ".join(f"{name} {count:,}" for name, count in counts.most_common()) + never)
    rate = tally.counts["pairs"]["scored"] / max(tally.cpu_s, 1e-9)
    print(f"cpu          {tally.cpu_s:.1f} s, {rate:,.0f} pairs a second, but to make failures small")
    failures = tally.counts["failures"]
    print(f"failures     {failures.total():,} of {len(failures)} kinds")
    for signature, count in failures.most_common():
        print(f"  {count:7,}  {signature}\n{tally.lines[signature]}")


def main(argv: list[str]) -> int:
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--pairs", type=int, metavar="N", help="stop after about this many pairs (a million: 1000000)")
    parser.add_argument("--minutes", type=float, metavar="M", help="stop after this time (default: 1, without --pairs)")
    parser.add_argument("--seed", type=int, default=1, help="other seeds, other pairs (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default %(default)s)")
    parser.add_argument("--failures", type=Path, metavar="FILE", help="write the failures there as well")
    parser.add_argument("--replay", metavar="FILE", help="run the failures of this file again instead")
    args = parser.parse_args(argv)
    if args.replay:
        bad = 0
        text = sys.stdin.read() if args.replay == "-" else Path(args.replay).read_text()
        for line in filter(None, map(str.strip, text.splitlines())):
            found = replay(line)
            bad += found is not None
            print("holds" if found is None else f"BROKEN  {found.signature}\n        {found.what}")
        return 1 if bad else 0
    minutes = args.minutes if args.minutes is not None or args.pairs is not None else 1.0
    end = None if minutes is None else time.monotonic() + 60 * minutes
    tally, share = Tally(), None if args.pairs is None else -(-args.pairs // args.jobs)
    if args.jobs == 1:
        tally.add(run_share(args.seed, 0, 1, share, end))
    else:
        with ProcessPoolExecutor(args.jobs) as pool:
            for done in [pool.submit(run_share, args.seed, job, args.jobs, share, end) for job in range(args.jobs)]:
                tally.add(done.result())
    print_figures(tally)
    if args.failures:
        args.failures.write_text("".join(f"{line}\n" for line in tally.lines.values()))
    return 1 if tally.lines else 0
