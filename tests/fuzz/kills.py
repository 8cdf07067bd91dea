"""Runs that end badly: `python tests/fuzz kills --kills 100`.

Real pytest runs are killed (SIGKILL, with their workers) at random moments: while outputs are recorded, while the run
ends (results, baseline, HTML page), and at the instant at which a file is being written; serial and with two workers.
Each is run again, which must be green and pay only for what was not recorded. Then a disk that is full (a small tmpfs,
for root only), a limit on the size of files, and folders that the user may not write to. Printed: what was lost,
damaged, left behind or paid for twice. Exit status 1 for anything lost, damaged or paid twice, or not refused in time.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pytest_extract.errors import StoreError
from pytest_extract.regression.baseline import read_baseline
from pytest_extract.results import read_results
from tests.fuzz.table import put_row, put_table, quiet_env

CASES = 24
NOBODY = 65534
RUN_S = 120
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}}},
        },
    },
}
CONFTEST = """
import json, os, time
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
        log("finish")
"""
OUTLETS = ("--extract-record=once", "--extract-report=r.jsonl", "--extract-report=r.html", "--extract-report=r.md", "--extract-report=r.csv", "--extract-baseline=b.json", "--extract-update-baseline")  # fmt: skip


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
    """A pytest run in a project: its folder, its own log of calls, and what it printed."""

    folder: Path
    workers: int = 0
    outlets: Sequence[str] = OUTLETS
    extra: Sequence[str] = ()
    prefix: Sequence[str] = ()
    prepare: Callable[[], None] | None = None
    scratch: Path | None = None
    name: str = "first"
    slow: bool = False

    @property
    def own(self) -> Path:
        return self.scratch or self.folder.parent

    @property
    def log(self) -> Path:
        return self.own / f"{self.name}.calls"

    @property
    def out(self) -> Path:
        return self.own / f"{self.name}.out"

    def start(self) -> subprocess.Popen[bytes]:
        workers = ["-n", str(self.workers)] if self.workers else ["-p", "no:xdist"]
        command = [
            *self.prefix,
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-p",
            "no:cacheprovider",
            *workers,
            *self.outlets,
            *self.extra,
        ]
        temporary = self.own / "tmp"
        temporary.mkdir(exist_ok=True)
        temporary.chmod(0o777)
        env = quiet_env(FUZZ_LOG=str(self.log), TMPDIR=str(temporary), COLUMNS="120")
        if self.slow:
            env["FUZZ_SLOW"] = "1"
        with self.out.open("wb") as out:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=env,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self.prepare,  # noqa: PLW1509  # there are no threads here
            )

    def to_end(self) -> int:
        process = self.start()
        try:
            return process.wait(RUN_S)
        except subprocess.TimeoutExpired:
            kill(process)
            return -1

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
    def told_passed(self) -> set[str]:
        """Cases that the run has told as passed."""
        lines = re.findall(r"^.*PASSED.*$", self.printed, re.MULTILINE)
        return {found[1] for line in lines if (found := re.search(r"::(c\d+)\b", line))}


def kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclass
class State:
    """What stands in a project's folder: recorded cases, results, and what is wrong with the files."""

    recorded: set[str] = field(default_factory=set)
    results: set[str] = field(default_factory=set)
    damaged: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)


def state_of(folder: Path) -> State:
    state = State()
    for path in folder.glob("extract-recordings/*/*.json"):
        try:
            body = json.loads(path.read_text())
            state.recorded.add(body["case"].rpartition("::")[2])
        except (ValueError, KeyError) as error:
            state.damaged.append(f"{path.name}: {error}")
    results = folder / "r.jsonl"
    if results.exists():
        try:
            state.results = {result.case_id for result in read_results(results).results}
        except StoreError as error:
            state.damaged.append(str(error))
    baseline = folder / "b.json"
    if baseline.exists():
        try:
            read_baseline(baseline)
        except StoreError as error:
            state.damaged.append(str(error))
    page = folder / "r.html"
    if page.exists() and not page.read_text().rstrip().endswith("</html>"):
        state.damaged.append("r.html: no whole page")
    state.strays = [str(path.relative_to(folder)) for path in folder.rglob("*.tmp")]
    return state


@dataclass
class Fate:
    """A run that was ended, and the run after it."""

    moment: str
    workers: int
    calls: int = 0
    recorded: int = 0
    lost: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    not_green: str = ""
    in_time: bool = True

    @property
    def bad(self) -> bool:
        return bool(self.lost or self.damaged or self.twice or self.not_green)


def when_called(run: Run, count: int, delay: float) -> Callable[[], bool]:
    return lambda: len(run.calls) >= count and (time.sleep(delay) or True)


def when_finishing(run: Run, delay: float) -> Callable[[], bool]:
    return lambda: "finish" in run.logged and (time.sleep(delay) or True)


def when_writing(run: Run, nth: int) -> Callable[[], bool]:
    """Return a watch for the `nth` temporary file: written, and not yet renamed."""
    run.slow = True
    return lambda: run.logged.count("rename") >= nth


def kill_and_rerun(
    folder: Path, template: Path, moment: str, workers: int, watch_of: Callable[[Run], Callable[[], bool]]
) -> Fate:
    """Start a run, kill it when `watch` says so, look at what it left, and run it again."""
    project = folder / "project"
    make_project(project)
    shutil.copy(template / "b.json", project)  # a page and a baseline of before, which must stay whole or be replaced
    shutil.copy(template / "r.html", project)
    first = Run(project, workers)
    watch = watch_of(first)
    process = first.start()
    deadline = time.monotonic() + RUN_S
    while process.poll() is None and time.monotonic() < deadline and not watch():
        time.sleep(0.0005)
    in_time = process.poll() is None
    kill(process)
    left = state_of(project)
    fate = Fate(
        moment, workers, calls=len(first.calls), recorded=len(left.recorded), damaged=left.damaged, in_time=in_time
    )
    told = first.told_passed
    fate.lost = sorted(f"{case} was told as passed, but {what}" for what, there in (("is not recorded", left.recorded), ("has no result", left.results)) for case in told - there)  # fmt: skip
    return again(fate, Run(project, workers, name="second"), left.recorded)


def again(fate: Fate, second: Run, recorded: set[str], cases: int = CASES) -> Fate:
    status = second.to_end()
    after = state_of(second.folder)
    fate.twice = sorted(set(second.calls) & recorded) + [
        case for case in set(second.calls) if second.calls.count(case) > 1
    ]
    fate.damaged += after.damaged
    fate.strays = after.strays
    if status != 0 or len(after.results) != cases or len(after.recorded) != cases:
        tail = " | ".join(second.printed.splitlines()[-3:])
        fate.not_green = f"exit status {status}, {len(after.results)} results, {len(after.recorded)} recordings: {tail}"
    return fate


def kills(folder: Path, count: int, seed: int) -> list[Fate]:
    rng = random.Random(seed)
    template = folder / "template" / "project"
    make_project(template)
    begin = time.monotonic()
    whole = Run(template)
    if whole.to_end() != 0:
        raise SystemExit(f"the run that is not killed fails:\n{whole.printed}")
    ending = _ending_s(whole)
    print(f"a whole run takes {time.monotonic() - begin:.1f} s, of which it ends for {ending:.2f} s", flush=True)
    fates = []
    put_row(HEAD, WIDTHS)
    for number in range(count):
        workers = 2 if number % 2 else 0
        kind = number // 2 % 3
        if kind == 0:
            at, delay = rng.randint(1, CASES), rng.uniform(0, 0.03)
            fate = _one(folder, number, template, f"{at} calls + {delay * 1000:.0f} ms", workers, lambda run, at=at, delay=delay: when_called(run, at, delay))  # fmt: skip
        elif kind == 1:
            delay = rng.uniform(0, ending)
            fate = _one(folder, number, template, f"ending + {delay * 1000:.0f} ms", workers, lambda run, delay=delay: when_finishing(run, delay))  # fmt: skip
        else:
            nth = rng.randint(1, CASES + 4)
            fate = _one(folder, number, template, f"temporary file {nth}", workers, lambda run, nth=nth: when_writing(run, nth))  # fmt: skip
        fates.append(fate)
        put_row(_cells(fate), WIDTHS)
    return fates


HEAD = ("killed at", "workers", "calls", "recorded", "lost", "damaged", "twice", "strays", "", "")
WIDTHS = (22, 7, 5, 8, 4, 7, 5, 6, 9, 0)


def _cells(fate: Fate) -> list[str]:
    told = "; ".join([*fate.lost[:2], *fate.damaged[:2], *fate.twice[:2], fate.not_green])
    counts = (fate.calls, fate.recorded, len(fate.lost), len(fate.damaged), len(fate.twice), len(fate.strays))
    late = "" if fate.in_time else "had ended"
    return [fate.moment, str(fate.workers or "serial"), *map(str, counts), late, told]


def _one(
    folder: Path, number: int, template: Path, moment: str, workers: int, watch_of: Callable[[Run], Callable[[], bool]]
) -> Fate:
    own = folder / f"kill{number}"
    fate = kill_and_rerun(own, template, moment, workers, watch_of)
    if not fate.bad:
        shutil.rmtree(own)
    return fate


def _ending_s(run: Run) -> float:
    """Measure how long a run takes from the session's finish to its exit."""
    shutil.rmtree(run.folder / "extract-recordings")
    timed = Run(run.folder, name="timed")
    process = timed.start()
    while process.poll() is None and "finish" not in timed.logged:
        time.sleep(0.001)
    begin = time.monotonic()
    process.wait(RUN_S)
    return max(time.monotonic() - begin, 0.05)


# --- no room, no right


@dataclass(frozen=True)
class Check:
    """What a run did where it could not write; `problem` is empty when that was right."""

    what: str
    status: int
    calls: int
    problem: str


def full_disk(folder: Path, kilobytes: int = 260) -> list[Check | str]:
    """Run on a disk that fills up, give it room, and run again."""
    disk = folder / "disk"
    disk.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        return [f"full disk: skipped, a tmpfs cannot be mounted here ({mounted.stderr.strip()})"]
    try:
        return [_short_of_room("full disk", disk / "project", folder, None, lambda: subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True))]  # fmt: skip
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def small_files(folder: Path, size: int = 30_000) -> list[Check | str]:
    """Run where no file may grow beyond `size` bytes."""

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return [_short_of_room("limit on the size of files", folder / "project", folder, prepare, lambda: None)]


def _short_of_room(
    what: str, project: Path, own: Path, prepare: Callable[[], None] | None, mend: Callable[[], object]
) -> Check:
    own.mkdir(parents=True, exist_ok=True)
    make_project(project)
    first = Run(project, prepare=prepare, scratch=own)
    status = first.to_end()
    left = state_of(project)
    problems = [*left.damaged]
    if status != 1:
        problems.append(f"exit status {status} instead of 1")
    if "INTERNALERROR" in first.printed or "Traceback" in first.printed:
        problems.append("a traceback")
    if "cannot be written" not in first.printed and "not recorded" not in first.printed:
        problems.append("nothing said")
    mend()
    fate = again(Fate(what, 0), Run(project, scratch=own, name="second"), left.recorded)
    problems += [*fate.damaged, *(f"{case} paid twice" for case in fate.twice)] + (
        [fate.not_green] if fate.not_green else []
    )
    return Check(f"{what} ({len(left.recorded)} of {CASES} recorded)", status, len(first.calls), "; ".join(problems))


PLACES = {
    "recordings": ("--extract-record=once", "--extract-recordings={}/rec"),
    "jsonl": ("--extract-report={}/r.jsonl",),
    "html": ("--extract-report={}/r.html",),
    "markdown": ("--extract-report={}/r.md",),
    "csv": ("--extract-report={}/r.csv",),
    "baseline": ("--extract-baseline={}/b.json", "--extract-update-baseline"),
}


def read_only(folder: Path) -> list[Check | str]:
    """Run as a user who may not write where the options point: refused (exit status 4) before anything is called."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            return ["read-only folder: skipped, root needs setpriv to run as a user without rights"]
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        for parent in (folder, *folder.parents):
            with suppress(OSError):
                if parent.stat().st_uid == 0 and str(parent).startswith(tempfile.gettempdir() + "/"):
                    parent.chmod(0o755)
    found: list[Check | str] = []
    for option, arguments in PLACES.items():
        own = folder / option.strip("-")
        project, closed = own / "project", own / "closed"
        make_project(project, 3)
        closed.mkdir()
        closed.chmod(0o555)
        project.chmod(0o555)
        own.chmod(0o777)
        run = Run(project, outlets=[a.format(closed) for a in arguments], prefix=prefix)
        run.out.touch()
        status = run.to_end()
        if status == 1 and "PermissionError" in run.printed and not run.calls and "pytest_extract" not in run.printed:
            return [f"read-only folder: skipped, the other user cannot run this Python: {run.printed[-200:]}"]
        wrong = [] if status == 4 else [f"exit status {status} instead of 4"]
        wrong += [f"{len(run.calls)} calls paid before that"] if run.calls else []
        wrong += ["a traceback"] if "Traceback" in run.printed or "INTERNALERROR" in run.printed else []
        found.append(Check(f"read-only {option}", status, len(run.calls), "; ".join(wrong)))
        project.chmod(0o755)
        closed.chmod(0o755)
    return found


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests/fuzz kills", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="runs to kill (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="other seeds, other moments (default %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work there and keep what went wrong")
    args = parser.parse_args(argv)
    folder = args.keep or Path(tempfile.mkdtemp(prefix="fuzz-kills-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return _all(folder, args.kills, args.seed)
    finally:
        if args.keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def _all(folder: Path, count: int, seed: int) -> int:
    fates = kills(folder, count, seed) if count else []
    if fates:
        print(
            f"\n{len(fates)} kills, {sum(f.in_time for f in fates)} of them before the run had ended: "
            f"{sum(len(f.lost) for f in fates)} results lost, {sum(len(f.damaged) for f in fates)} files damaged, "
            f"{sum(len(f.twice) for f in fates)} calls paid twice, {sum(bool(f.not_green) for f in fates)} second runs not "
            f"green, {sum(len(f.strays) for f in fates)} temporary files left behind"
        )
    checks = [*full_disk(folder / "full"), *small_files(folder / "small"), *read_only(folder / "closed")]
    for line in (check for check in checks if isinstance(check, str)):
        print(line)
    made = [check for check in checks if isinstance(check, Check)]
    put_table(("where", "exit status", "calls", ""), [(c.what, c.status, c.calls, c.problem) for c in made])
    return 1 if any(fate.bad for fate in fates) or any(check.problem for check in made) else 0
