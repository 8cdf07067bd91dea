"""Random JSON against random schemas: `python tests/fuzz pairs --minutes 10 --seed 1`.

A schema is compiled once and used for many pairs; of every pair the laws in `tests/fuzz/laws.py` are checked. A failure
is printed as one line of JSON that `--replay FILE` (`-` for standard input) runs again, made as small as it gets by
itself; failures that look alike (same law, same exception, same place in the code) are counted under the first.
Equal options give equal pairs, whatever `--jobs` is. Exit status: 0 when every law held, 1 when one was broken.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_extract import MISSING, SchemaError, compile_schema
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.transforms import TRANSFORMS
from tests.fuzz.generate import Maker, Setup
from tests.fuzz.laws import LAWS, Broken, Pair, frozen, judge_of

Json = Any
PAIRS_A_SCHEMA = 32
CPU_LIMIT_S = 2.0
SHRINK_S = 4.0
SHRINK_STEPS = 400
ROOT = Path(__file__).parents[2]


import_module("deepdiff")  # it brings pandas along where that is installed, which no pair has to pay for


class TooSlow(BaseException):
    """A pair took more CPU time than allowed; no product code may swallow that."""


@dataclass
class Tally:
    """What was done; tallies of several processes add up."""

    pairs: int = 0
    schemas: int = 0
    refused: int = 0
    cpu_s: float = 0.0
    shrink_s: float = 0.0
    checks: Counter[str] = field(default_factory=Counter)
    metrics: Counter[str] = field(default_factory=Counter)
    transforms: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    semantics: Counter[str] = field(default_factory=Counter)
    partial: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    lines: dict[str, str] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        self.pairs += other.pairs
        self.schemas += other.schemas
        self.refused += other.refused
        self.cpu_s += other.cpu_s
        self.shrink_s += other.shrink_s
        self.partial += other.partial
        for name in ("checks", "metrics", "transforms", "statuses", "semantics", "failures"):
            getattr(self, name).update(getattr(other, name))
        self.lines = {**other.lines, **self.lines}


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow(f"more than {seconds:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
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


def compiled(setup: Setup) -> Any:
    return compile_schema(setup.schema, **setup.options)


def found_in(law: str, error: BaseException) -> Found:
    text = f"{type(error).__name__}: {error}"
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if "pytest_extract" in frame.filename:
            place = f" at {Path(frame.filename).relative_to(ROOT)}:{frame.lineno}"
    if isinstance(error, Broken):
        place = ""
    if isinstance(error, RecursionError | TooSlow):  # where it ends is chance
        place = ""
    coarse = re.sub(r"\d+(\.\d+)?(e-?\d+)?", "N", re.sub(r"'[^']*'|\"[^\"]*\"|\[.*\]", "_", str(error).splitlines()[0] if str(error) else ""))  # fmt: skip
    if isinstance(error, Broken):
        metric = re.search(r" by (\S*):", str(error))
        coarse = re.sub(r": .*? by (\S*):", ": ... by \\1:", coarse) if metric else coarse
    return Found(law, f"{text:.300}{place}", f"{law}: {type(error).__name__}: {coarse[:110]}{place}")


def check_pair(scorer: Any, setup: Setup, gold: Json, extracted: Json, seed: int, only: str | None = None) -> tuple[Found | None, Any, list[str]]:  # fmt: skip
    """Score one pair and check the laws that `seed` chooses, or `only` that one; return the first that is broken."""
    rng = random.Random(seed)
    done: list[str] = []
    law, score = "score", None
    before = frozen(gold), frozen(extracted)
    try:
        judge = judge_of(setup.judge)
        score = scorer.score(gold, extracted, judge=judge)
        pair = Pair(setup, scorer, gold, extracted, judge, score, seed)
        for law, (check, share) in LAWS.items():
            drawn = rng.random() < share
            if drawn if only is None else only in {law, "inputs"}:
                check(pair)
                done.append(law)
        law = "inputs"
        if before != (frozen(gold), frozen(extracted)):
            raise Broken("gold or output was changed by scoring")
    except (Exception, TooSlow) as error:
        return found_in(law, error), score, done
    return None, score, done


def try_once(setup: Setup, gold: Json, extracted: Json, seed: int, law: str) -> Found | None:
    """Run one pair from the start, as a replay does."""
    with cpu_limit(CPU_LIMIT_S):
        try:
            scorer = compiled(setup)
        except SchemaError:
            return None
        except (Exception, TooSlow) as error:
            return found_in("compile", error)
        if law == "compile":
            return None
        return check_pair(scorer, setup, gold, extracted, seed, law)[0]


# --- failures as lines


def encoded(value: Json) -> Json:
    """Return a value that JSON can hold exactly: integers of any length, NaN and MISSING marked."""
    if value is MISSING:
        return {"$missing": True}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**100:
        return {"$int": hex(value)}
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    if isinstance(value, dict):
        return {key: encoded(item) for key, item in value.items()}
    return value


def decoded(value: Json) -> Json:
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"$missing"}:
            return MISSING
        if value.keys() == {"$int"}:
            return int(value["$int"], 16)
        return {key: decoded(item) for key, item in value.items()}
    return value


def as_line(setup: Setup, gold: Json, extracted: Json, seed: int, found: Found) -> str:
    record = {
        "law": found.law, "what": found.what, "schema": setup.schema, "options": setup.options, "judge": setup.judge,
        "gold": gold, "extracted": extracted, "seed": seed,
    }  # fmt: skip
    try:
        return json.dumps(encoded(record))
    except RecursionError:
        return json.dumps({"law": found.law, "what": found.what, "seed": seed, "nested": "too deep to write"})


def replay(line: str) -> Found | None:
    record = decoded(json.loads(line))
    setup = Setup(record["schema"], record["options"], judge=record["judge"])
    return try_once(setup, record["gold"], record["extracted"], record["seed"], record["law"])


# --- making failures small


def smaller(value: Json) -> Iterator[Json]:
    """Yield values that are a step smaller."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield {k: v for k, v in value.items() if k != key}
            if isinstance(item, dict | list):
                yield item
        for key, item in value.items():
            for less in smaller(item):
                yield {**value, key: less}
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield value[:place] + value[place + 1 :]
            if isinstance(item, dict | list):
                yield item
        for place, item in enumerate(value):
            for less in smaller(item):
                yield [*value[:place], less, *value[place + 1 :]]
    elif isinstance(value, str) and len(value) > 1:
        yield value[: len(value) // 2]
        yield value[1:]
    elif value not in (None, 0, 1, "") and not isinstance(value, bool):
        yield 1


def shrunk(setup: Setup, gold: Json, extracted: Json, seed: int, found: Found) -> tuple[Setup, Json, Json, Found]:
    """Take away what the failure does not need, for a bounded time."""
    wanted = found.signature
    end = time.process_time() + SHRINK_S
    steps = 0

    def still(*candidate: Any) -> Found | None:
        nonlocal steps
        steps += 1
        try:
            again = try_once(*candidate, seed, found.law)
        except TooSlow:
            return None
        return again if again is not None and again.signature == wanted else None

    if (now := still(setup, gold, extracted)) is None:
        return setup, gold, extracted, found
    moved = True
    while moved and time.process_time() < end and steps < SHRINK_STEPS:
        moved = False
        for candidate in _steps(setup, gold, extracted):
            if time.process_time() > end or steps >= SHRINK_STEPS:
                break
            if (then := still(*candidate)) is not None:
                setup, gold, extracted = candidate
                now, moved = then, True
                break
    return setup, gold, extracted, now


def _steps(setup: Setup, gold: Json, extracted: Json) -> Iterator[tuple[Setup, Json, Json]]:
    for key, option in setup.options.items():
        without = {k: v for k, v in setup.options.items() if k != key}
        yield Setup(setup.schema, without, judge=setup.judge), gold, extracted
        if key == "overrides":
            for less in smaller(option):
                yield Setup(setup.schema, {**without, key: less}, judge=setup.judge), gold, extracted
    if setup.judge is not None:
        yield Setup(setup.schema, setup.options, judge=None), gold, extracted
    for less in smaller(gold):
        yield setup, less, less if extracted == gold else extracted
    for less in smaller(extracted):
        yield setup, gold, less
    for schema in smaller(setup.schema):
        yield Setup(schema, setup.options, judge=setup.judge), gold, extracted


# --- a run


def run_group(seed: int, group: int, tally: Tally, pairs: int = PAIRS_A_SCHEMA, small: bool = True) -> None:
    """Draw one schema and its pairs, and check them."""
    rng = random.Random(f"{seed}:{group}")
    maker = Maker(rng)
    setup = maker.setup()
    before = frozen([setup.schema, setup.options])
    tally.schemas += 1

    def tell(found: Found, gold: Json, extracted: Json, pair_seed: int) -> None:
        tally.failures[found.signature] += 1
        if found.signature in tally.lines:
            return
        subject = (setup, gold, extracted, found)
        if small:
            begin = time.process_time()
            subject = shrunk(setup, gold, extracted, pair_seed, found)
            tally.shrink_s += time.process_time() - begin
        tally.lines[found.signature] = as_line(*subject[:3], pair_seed, subject[3])

    try:
        with cpu_limit(CPU_LIMIT_S):
            scorer = compiled(setup)
    except SchemaError:
        tally.refused += 1
        return
    except (Exception, TooSlow) as error:
        tell(found_in("compile", error), None, None, 0)
        return
    tally.semantics[scorer.semantics] += 1
    text = json.dumps(encoded([setup.schema, setup.options]))
    tally.transforms.update(name for name in TRANSFORMS if f'"{name}"' in text)
    for _ in range(pairs):
        gold = maker.value(setup.schema) if rng.random() < 0.97 else maker.any_json(3)
        extracted = maker.extracted(setup.schema, gold)
        pair_seed = rng.getrandbits(32)
        try:
            with cpu_limit(CPU_LIMIT_S):
                found, score, done = check_pair(scorer, setup, gold, extracted, pair_seed)
        except TooSlow as error:  # between two statements of ours
            found, score, done = found_in("score", error), None, []
        tally.pairs += 1
        tally.checks.update(done)
        if score is not None:
            tally.metrics.update({r.metric for r in (*score.leaves, *score.fields) if r.metric in METRICS})
            tally.statuses.update(str(result.status) for result in score.leaves)
            tally.partial += any(0.0 < result.score < 1.0 for result in score.fields)
        if found is not None:
            tell(found, gold, extracted, pair_seed)
            if "TooSlow" in found.signature:
                break  # its siblings would hang as well
    if before != frozen([setup.schema, setup.options]):
        tell(found_in("inputs", Broken("the schema or an option was changed by scoring")), None, None, 0)


def run_share(seed: int, first: int, step: int, groups: int | None, end: float | None, tell: bool) -> Tally:
    """Run every `step`-th group from `first` on, `groups` of them or until `end` (`time.monotonic`)."""
    tally = Tally()
    begin = time.process_time()
    told = time.monotonic()
    shown: set[str] = set()
    group = first
    while (groups is None or group < groups) and (end is None or time.monotonic() < end):
        run_group(seed, group, tally)
        group += step
        if tell and time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"... {tally.pairs:,} pairs, {sum(tally.failures.values())} failures", file=sys.stderr, flush=True)
            for signature in tally.failures.keys() - shown:
                print(tally.lines[signature], file=sys.stderr, flush=True)
            shown.update(tally.failures)
    tally.cpu_s = time.process_time() - begin - tally.shrink_s
    return tally


def figures(tally: Tally, put: Callable[[str], object] = print) -> None:
    rate = tally.pairs / tally.cpu_s if tally.cpu_s else 0.0
    put(f"pairs           {tally.pairs:,}, {tally.partial:,} with a field score between 0 and 1")
    put(f"schemas         {tally.schemas:,}, {tally.refused:,} refused with a SchemaError")
    put(
        f"cpu             {tally.cpu_s:.1f} s, {rate:,.0f} pairs a second, {1e6 / rate / 60 if rate else 0:.1f} min a million (beside {tally.shrink_s:.0f} s to make failures small)"
    )
    put("semantics       " + _counts(tally.semantics))
    put("laws checked    " + _counts(tally.checks))
    put("leaf statuses   " + _counts(tally.statuses))
    lacking = sorted({*METRICS} - {*tally.metrics}), sorted({*TRANSFORMS} - {*tally.transforms})
    put(f"metrics         {len(tally.metrics)} of {len(METRICS)} scored a leaf; never: {', '.join(lacking[0]) or '-'}")
    put(f"transforms      {len(tally.transforms)} of {len(TRANSFORMS)} used; never: {', '.join(lacking[1]) or '-'}")
    put(f"failures        {sum(tally.failures.values()):,} of {len(tally.failures)} kinds")
    for signature, count in tally.failures.most_common():
        put(f"  {count:7,}  {signature}")


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests/fuzz pairs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument(
        "--pairs", type=int, metavar="N", help="stop after about this many pairs (one million: 1000000)"
    )
    parser.add_argument("--minutes", type=float, metavar="M", help="stop after this time (default: 1, without --pairs)")
    parser.add_argument("--seed", type=int, default=1, help="other seeds, other pairs (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default %(default)s)")
    parser.add_argument("--failures", type=Path, metavar="FILE", help="write the failures there as well")
    parser.add_argument("--replay", metavar="FILE", help="run the failures of this file again instead")
    args = parser.parse_args(argv)
    if args.replay:
        return _replayed(sys.stdin.read() if args.replay == "-" else Path(args.replay).read_text())
    minutes = args.minutes if args.minutes is not None or args.pairs is not None else 1.0
    end = None if minutes is None else time.monotonic() + 60 * minutes
    tally = Tally()
    if args.pairs is None:
        tally.add(_shared(args.seed, args.jobs, 0, None, end))
    group = 0
    while args.pairs is not None and tally.pairs < args.pairs and (end is None or time.monotonic() < end):
        # of the schemas some are refused: what is lacking is drawn from further ones
        more = max(1, -(-(args.pairs - tally.pairs) // PAIRS_A_SCHEMA))
        tally.add(_shared(args.seed, args.jobs, group, group + more, end))
        group += more
    figures(tally)
    for signature in tally.failures:
        print(tally.lines[signature])
    if args.failures:
        args.failures.write_text("".join(f"{tally.lines[signature]}\n" for signature in tally.failures))
    return 1 if tally.failures else 0


def _shared(seed: int, jobs: int, first: int, groups: int | None, end: float | None) -> Tally:
    if jobs == 1:
        return run_share(seed, first, 1, groups, end, tell=True)
    tally = Tally()
    with ProcessPoolExecutor(jobs) as pool:
        shares = [pool.submit(run_share, seed, first + job, jobs, groups, end, job == 0) for job in range(jobs)]
        for share in shares:
            tally.add(share.result())
    return tally


def _replayed(text: str) -> int:
    bad = 0
    for line in filter(None, map(str.strip, text.splitlines())):
        found = replay(line)
        bad += found is not None
        print("holds" if found is None else f"BROKEN  {found.signature}\n        {found.what}")
    return 1 if bad else 0
