"""Calls that run ahead: extraction waits on the network, so the calls of coming cases start before their turn.

Items still run one by one and in order; each finds its output under way or there. What can be called ahead is known in
pytest's thread only (fixtures), so that thread plans a window of calls and a few threads work it off in order.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_extract.core.results import Judge
from pytest_extract.extraction.base import Extraction
from pytest_extract.plugin.arms import EXTRACTOR, visible
from pytest_extract.plugin.items import ExtractItem
from pytest_extract.plugin.upcoming import Upcoming, made
from pytest_extract.run_case import RunPlan, score_extraction

if TYPE_CHECKING:
    from pytest_extract.plugin.session import ExtractSession

PATIENCE_S = 15.0
"""After so long a wait for one output, and again after as long, the terminal says so."""
_WINDOW = 4
"""Calls planned ahead, as a multiple of those in flight: room for the others while one is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One call: made by `extract`, and what a judge is asked about it while nobody waits."""

    extract: Callable[[], Extraction]
    warm: Callable[[Extraction], None]
    future: Future[Extraction]


class Prefetcher:
    """The calls of one process. Closed at the end of the session: what is under way then is given up."""

    def __init__(self, session: pytest.Session, run: ExtractSession) -> None:
        self._session = session
        self._run = run
        self._calls = run.calls
        debugged = any(session.config.getoption(name, default=False) for name in ("usepdb", "trace"))
        self._concurrency = 1 if debugged else run.settings.concurrency  # one debugger, at one case
        self._upcoming = Upcoming(session)
        self._planned: dict[str, dict[int, Future[Extraction]]] = {}
        self._tasks: deque[_Task] = deque()
        self._changed = threading.Condition()
        self._idle = 0
        self._threads = 0
        self._closed = False

    def begin(self, item: ExtractItem, plan: RunPlan, judge: Judge | None) -> None:
        """Plan the calls of an item whose turn it is, then those of the items that follow."""
        if self._concurrency < 2 or self._calls.replays_only:
            return
        if plan.sure > 1:  # else it is called here, in pytest's own thread, unless that was begun already
            self._plan(item, plan, self._calls.extractor_for(item), judge)
        # After a failure under -x nothing more is started; what was is money spent, so the window is small then.
        most = self._concurrency * (1 if item.config.getoption("maxfail", 0) else _WINDOW)
        waiting = sum(len(found) for found in self._planned.values())
        for following in self._upcoming.after(item):
            if waiting >= most:
                break
            if following.nodeid not in self._planned:
                waiting += self._plan_ahead(following)

    def _plan_ahead(self, item: ExtractItem) -> int:
        known, extractor = self._extractor_of(item)
        if not known:
            return 0
        plan = self._run.plan_for(item)
        return self._plan(item, plan, extractor, self._run.judge_ahead(item))

    def forget(self, item: ExtractItem) -> None:
        """Drop what was called ahead for an item whose turn is over."""
        self._planned.pop(item.nodeid, None)

    def extraction(self, item: ExtractItem, index: int) -> Extraction:
        """Return the output of a repeat: waits for the call under way, or calls now."""
        future = self._planned.get(item.nodeid, {}).pop(index, None)
        return self._calls.extraction(item, index) if future is None else self._wait(item, future)

    def _wait(self, item: ExtractItem, future: Future[Extraction]) -> Extraction:
        while True:
            try:
                return future.result(timeout=PATIENCE_S)
            except TimeoutError:
                if future.done():  # the extractor's own
                    raise
                self._tell(item)

    def _tell(self, item: ExtractItem) -> None:
        """Say on the terminal that a long run goes on; an xdist worker has none, its controller shows what ends."""
        reporter = item.config.pluginmanager.getplugin("terminalreporter")
        capture = item.config.pluginmanager.getplugin("capturemanager")
        if reporter is None or capture is None or item.config.get_verbosity() < 0:
            return
        begun = sum(len(found) for found in self._planned.values())
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(f"waiting for {item.nodeid}; {begun} more calls are begun or planned")

    def close(self) -> None:
        """Start nothing more; threads end by themselves when their call returns."""
        with self._changed:
            self._closed = True
            self._tasks.clear()
            self._changed.notify_all()

    def _extractor_of(self, item: ExtractItem) -> tuple[bool, Any]:
        if visible(item, EXTRACTOR):
            return made(item, EXTRACTOR)
        return item.arm.model is not None, self._calls.extractor_for(item)

    def _plan(self, item: ExtractItem, plan: RunPlan, extractor: object, judge: Judge | None) -> int:
        if item.nodeid in self._planned:
            return 0
        self._calls.make_ready(item, extractor, plan.sure)
        futures: dict[int, Future[Extraction]] = {}
        for index in range(plan.sure):
            futures[index] = Future()
            extract = partial(self._calls.extraction_with, item, index, extractor)
            self._add(_Task(extract=extract, warm=partial(_warm, item, judge), future=futures[index]))
        self._planned[item.nodeid] = futures
        return len(futures)

    def _add(self, task: _Task) -> None:
        with self._changed:
            self._tasks.append(task)
            if self._idle:
                self._changed.notify()
            elif self._threads < self._concurrency:
                self._threads += 1
                threading.Thread(target=self._work, name="pytest-extract-ahead", daemon=True).start()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            try:
                extraction = task.extract()
            except BaseException as error:  # noqa: BLE001  # raised again where the item waits for it
                task.future.set_exception(error)
                continue
            task.warm(extraction)
            task.future.set_result(extraction)

    def _next(self) -> _Task | None:
        with self._changed:
            while not self._closed:
                if self._tasks and not (self._session.shouldfail or self._session.shouldstop):
                    return self._tasks.popleft()
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            return None


def _warm(item: ExtractItem, judge: Judge | None, extraction: Extraction) -> None:
    """Have a judge's questions answered ahead too: it remembers the answers until the item is scored."""
    if judge is None:
        return
    try:
        score_extraction(item.case, extraction, judge)
    except Exception:  # noqa: BLE001  # told when the item is scored
        return
