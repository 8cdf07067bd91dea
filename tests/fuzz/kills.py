"""Runs that end badly: `python tests/fuzz kills --kills 100`.

Real pytest runs are killed (SIGKILL, with their workers) at random moments: while outputs are recorded, while the run
ends (results, baseline, HTML page), and at the instant at which a file is being written; serial and with two workers.
Each is run again, which must be green and pay only for what was not recorded. Then a disk that is full (a small tmpfs,
for root only), a limit on the size of files, and folders that the user may not write to. Printed: what was lost,
damaged, left behind or paid for twice. Exit status 1 for anything lost, damaged or paid twice, or not refused in time.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_extract.errors import StoreError
from pytest_extract.regression.baseline import read_baseline
from pytest_extract.results import read_results
from tests.fuzz.table import parser_of, put_row, quiet_env

CASES = 24
NOBODY = 65534
RUN_S = 120
ROW = {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}}}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "rows": {"type": "array", "items": ROW}}}
CONFTEST = """
import os, time
import pytest

def log(*words):
    file = os.open(os.environ["FUZZ_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(file, (" ".join(words) + "\\n").encode())
    os.close(file)

def slowly(rename):
    # whoever is to be killed between the writing of a file and its renaming waits there
    def slow(*args, **how):
        log("rename")
        time.sleep(0.02)
        return rename(*args, **how)
    return slow

if "FUZZ_SLOW" in os.environ:
    os.replace, os.link = slowly(os.replace), slowly(os.link)

@pytest.fixture(scope="session")
def extractor():
    def extract(document, case):
        log("call", case.id)
        time.sleep(0.005)
        return document.text
    return extract

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        log("finish", str(time.time()))
"""
REPORTS = [f"--extract-report=r.{form}" for form in ("jsonl", "html", "md", "csv")]
OUTLETS = ("--extract-record=once", *REPORTS, "--extract-baseline=b.json", "--extract-update-baseline")


def make_project(folder: Path, cases: int = CASES, size: int = 40) -> None:
    """Write cases whose outputs are right and hold `size` rows."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conftest.py").write_text(CONFTEST)
    found = []
    for number in range(cases):
        gold = {"name": f"case {number}", "rows": [{"n": n, "t": f"text {number}.{n}"} for n in range(size)]}
        found.append({"id": f"c{number}", "text": json.dumps(gold), "gold": gold})
    (folder / "all.extract.yaml").write_text(json.dumps({"defaults": {"schema": SCHEMA}, "cases": found}))


@dataclass
class Run:
    """A pytest run in a project, its own log of calls, and what it printed; `scratch` is where these two stand."""

    folder: Path
    name: str = "first"
    workers: int = 0
    outlets: Sequence[str] = OUTLETS
    prefix: Sequence[str] = ()
    prepare: Callable[[], None] | None = None
    scratch: Path | None = None
    slow: bool = False

    def __post_init__(self) -> None:
        own = self.scratch or self.folder.parent
        self.log, self.out, self.temporary = own / f"{self.name}.calls", own / f"{self.name}.out", own / "tmp"

    def start(self) -> subprocess.Popen[bytes]:
        workers = ["-n", str(self.workers)] if self.workers else ["-p", "no:xdist"]
        pytest = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *workers, *self.outlets]
        self.temporary.mkdir(exist_ok=True)
        self.temporary.chmod(0o777)
        env = quiet_env(FUZZ_LOG=str(self.log), TMPDIR=str(self.temporary), COLUMNS="120")
        with self.out.open("wb") as out:
            return subprocess.Popen(
                [*self.prefix, *pytest],
                cwd=self.folder,
                env=env | ({"FUZZ_SLOW": "1"} if self.slow else {}),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self.prepare,  # noqa: PLW1509  # there are no threads here
            )

    def until(self, reached: Callable[[Run], bool], delay: float = 0.0) -> bool:
        """Kill the run some time after it has reached something; say whether it did before its end."""
        process = self.start()
        deadline = time.monotonic() + RUN_S
        while process.poll() is None and time.monotonic() < deadline and not reached(self):
            time.sleep(0.0005)
        time.sleep(delay)
        in_time = process.poll() is None
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        self.status = process.wait()
        return in_time

    def to_end(self) -> int:
        self.until(lambda _: False)
        return self.status

    @property
    def logged(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def calls(self) -> list[str]:
        return [line.removeprefix("call ") for line in self.logged if line.startswith("call ")]

    @property
    def printed(self) -> str:
        return self.out.read_text(errors="replace")

    @property
    def traceback(self) -> list[str]:
        return ["a traceback"] if "INTERNALERROR" in self.printed or "Traceback" in self.printed else []


@dataclass
class State:
    """What stands in a project's folder: recorded cases, results, and what is wrong with the files."""

    recorded: set[str] = field(default_factory=set)
    results: set[str] = field(default_factory=set)
    damaged: list[str] = field(default_factory=list)


def state_of(folder: Path) -> State:
    state = State()

    def read(path: Path) -> None:
        if path.name == "r.jsonl":
            state.results = {result.case_id for result in read_results(path).results}
        elif path.name == "b.json":
            read_baseline(path)
        elif path.name == "r.html":
            if not path.read_text().rstrip().endswith("</html>"):
                raise ValueError("no whole page")
        else:
            state.recorded.add(json.loads(path.read_text())["case"].rpartition("::")[2])

    own = (folder / name for name in ("r.jsonl", "b.json", "r.html"))
    for path in (*filter(Path.exists, own), *folder.glob("extract-recordings/*/*.json")):
        try:
            read(path)
        except (StoreError, ValueError, KeyError) as error:
            state.damaged.append(f"{path.name} damaged: {error}")
    return state


@dataclass
class Fate:
    """A run that was ended, what was left of it, and what was wrong with that and with the run after it."""

    moment: str
    calls: int
    recorded: int
    problems: list[str]
    in_time: bool = True
    strays: int = 0


def rerun(first: Run, left: State, moment: str, problems: list[str], *, in_time: bool = True) -> Fate:
    """Run again what ended badly: that must be green, and pay for nothing that was recorded."""
    second = Run(first.folder, "second", first.workers, scratch=first.scratch)
    status = second.to_end()
    after = state_of(second.folder)
    twice = {call for call in second.calls if call in left.recorded or second.calls.count(call) > 1}
    problems = [*problems, *left.damaged, *after.damaged, *(f"{case} paid twice" for case in sorted(twice))]
    if (status, len(after.results), len(after.recorded)) != (0, CASES, CASES):
        tail = " | ".join(second.printed.splitlines()[-3:])
        problems.append(f"exit {status}, {len(after.results)} results, {len(after.recorded)} recordings: {tail}")
    strays = len([*second.folder.rglob("*.tmp")])
    return Fate(moment, len(first.calls), len(left.recorded), problems, in_time, strays)


# --- kills


def called(times: int) -> Callable[[Run], bool]:
    return lambda run: len(run.calls) >= times


def finishing(run: Run) -> bool:
    return any(line.startswith("finish") for line in run.logged)


def written(nth: int) -> Callable[[Run], bool]:
    """Return a watch for the `nth` temporary file: written, and not yet renamed."""
    return lambda run: run.logged.count("rename") >= nth


def kill_and_rerun(
    folder: Path, template: Path, moment: str, reached: Callable[[Run], bool], delay: float = 0.0, **how: Any
) -> Fate:
    """Start a run, kill it when it has reached something, look at what it left, and run it again."""
    project = folder / "project"
    make_project(project)
    for name in ("b.json", "r.html"):  # a page and a baseline of before, which must stay whole or be replaced
        shutil.copy(template / name, project)
    first = Run(project, **how)
    in_time = first.until(reached, delay)
    left = state_of(project)
    lines = re.findall(r"^.*PASSED.*$", first.printed, re.MULTILINE)
    passed = {found[1] for line in lines if (found := re.search(r"::(c\d+)\b", line))}
    lost = [f"{case} was told as passed, but is not recorded" for case in passed - left.recorded]
    lost += [f"{case} was told as passed, but has no result" for case in passed - left.results]
    return rerun(first, left, moment, lost, in_time=in_time)


def kills(folder: Path, count: int, seed: int) -> Iterator[Fate]:
    rng = random.Random(seed)
    template = folder / "template" / "project"
    make_project(template)
    whole = Run(template)
    if whole.to_end() != 0:
        raise SystemExit(f"the run that is not killed fails:\n{whole.printed}")
    ending = max(0.05, time.time() - float(whole.logged[-1].removeprefix("finish ")))
    for number in range(count):
        workers, kind, at = 2 * (number % 2), number // 2 % 3, rng.randint(1, CASES)
        delay = rng.uniform(0, (0.03, ending, 0)[kind])
        moment = (f"{at} calls", "ending", f"temporary file {at}")[kind]

        reached = (called(at), finishing, written(at))[kind]
        own, told = folder / f"kill{number}", f"{moment} + {delay * 1000:.0f} ms, {workers} workers"
        fate = kill_and_rerun(own, template, told, reached, delay, workers=workers, slow=kind == 2)
        if not fate.problems:
            shutil.rmtree(own)
        yield fate


# --- no room, no right


def full_disk(folder: Path, kilobytes: int = 260) -> Iterator[Fate | str]:
    """Run on a disk that fills up, give it room, and run again."""
    disk = folder / "disk"
    disk.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        yield f"full disk: skipped, a tmpfs cannot be mounted here ({mounted.stderr.strip()})"
        return
    try:
        room = ["mount", "-o", "remount,size=64m", str(disk)]
        run = Run(disk / "project", scratch=folder)
        yield _short_of_room("full disk", run, lambda: subprocess.run(room, check=True))
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def small_files(folder: Path, size: int = 30_000) -> Iterator[Fate | str]:
    """Run where no file may grow beyond `size` bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # noqa: E731
    yield _short_of_room("limit on the size of files", Run(folder / "project", prepare=limit), lambda: None)


def _short_of_room(what: str, first: Run, give_room: Callable[[], object]) -> Fate:
    make_project(first.folder)
    status = first.to_end()
    left = state_of(first.folder)
    problems = [*first.traceback] if status == 1 else [*first.traceback, f"exit status {status} instead of 1"]
    if "cannot be written" not in first.printed and "not recorded" not in first.printed:
        problems.append("nothing said")
    give_room()
    return rerun(first, left, what, problems)


PLACES = {
    "recordings": ("--extract-record=once", "--extract-recordings={}/rec"),
    **{form: (f"--extract-report={{}}/r.{form}",) for form in ("jsonl", "html", "md", "csv")},
    "baseline": ("--extract-baseline={}/b.json", "--extract-update-baseline"),
}


def read_only(folder: Path) -> Iterator[Fate | str]:
    """Run as a user who may not write where the options point: refused (exit status 4) before anything is called."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            yield "read-only folder: skipped, root needs setpriv to run as a user without rights"
            return
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        folder.mkdir(parents=True)
        for parent in (folder, *folder.parents):
            if str(parent).startswith(tempfile.gettempdir() + "/"):
                parent.chmod(0o755)
    for option, arguments in PLACES.items():
        own = folder / option
        project, closed = own / "project", own / "closed"
        make_project(project, 3)
        closed.mkdir()
        for path, mode in ((closed, 0o555), (project, 0o555), (own, 0o777)):
            path.chmod(mode)
        run = Run(project, outlets=[each.format(closed) for each in arguments], prefix=prefix)
        status = run.to_end()
        if status == 1 and "PermissionError" in run.printed and not run.calls and "pytest_extract" not in run.printed:
            yield f"read-only folder: skipped, the other user cannot run this Python: {run.printed[-200:]}"
            return
        problems = [*run.traceback] if status == 4 else [*run.traceback, f"exit status {status} instead of 4"]
        problems += [f"{len(run.calls)} calls paid before that"] if run.calls else []
        yield Fate(f"read-only {option}", len(run.calls), 0, problems)
        for path in (project, closed):
            path.chmod(0o755)


def main(argv: list[str]) -> int:
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="runs to kill (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="other seeds, other moments (default %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work there and keep what went wrong")
    args = parser.parse_args(argv)
    folder = args.keep or Path(tempfile.mkdtemp(prefix="fuzz-kills-"))
    folder.mkdir(parents=True, exist_ok=True)
    widths = (34, 5, 8, 6, 9, 0)
    fates: list[Fate] = []
    try:
        put_row(("ended at", "calls", "recorded", "strays", "", ""), widths)
        killed = kills(folder, args.kills, args.seed) if args.kills else ()
        parts = (full_disk(folder / "full"), small_files(folder / "small"), read_only(folder / "closed"))
        for fate in chain(killed, *parts):
            if isinstance(fate, str):
                print(fate)
                continue
            fates.append(fate)
            late = "" if fate.in_time else "had ended"
            put_row((fate.moment, fate.calls, fate.recorded, fate.strays, late, "; ".join(fate.problems[:6])), widths)
    finally:
        if args.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    bad = sum(bool(fate.problems) for fate in fates)
    print(f"\n{len(fates)} runs, {bad} of them with something lost, damaged, paid twice or not refused in time")
    return 1 if bad else 0
