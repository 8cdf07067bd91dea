"""Prefetching: extraction waits on the network, so the calls of the next cases start before their turn.

Items run one by one and in order; each finds its output in progress or finished. Only the main thread knows which
calls can be made before an item's turn (fixtures), so that thread plans a window of calls and a few threads make them
in order.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import pytest
from _pytest.outcomes import OutcomeException
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

from pytest_extract.core.results import Judge
from pytest_extract.extraction.call import Extraction
from pytest_extract.plugin.extraction import ExtractionService
from pytest_extract.plugin.items import ExtractItem
from pytest_extract.plugin.judging import Judges
from pytest_extract.plugin.project import EXTRACTOR, has_fixture, value_made_before
from pytest_extract.run_case import RunPlan, score_extraction

PATIENCE_S = 15.0
"""After so long a wait for one output, and again after as long, the terminal reports it."""
_WINDOW = 4
"""Calls planned in advance, as a multiple of those in flight: room for the others while one is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One call: `extract` makes it, `ask_judge` then has the judge's questions about its output answered."""

    extract: Callable[[], Extraction]
    ask_judge: Callable[[Extraction], None]
    future: Future[Extraction]


class Prefetcher:
    """The calls of one process. Closed at the end of the session, which abandons the calls in flight."""

    def __init__(
        self, session: pytest.Session, extraction_service: ExtractionService, judges: Judges, limit: int
    ) -> None:
        self._session = session
        self._extraction_service = extraction_service
        self._judges = judges
        debugged = any(session.config.getoption(name, default=False) for name in ("usepdb", "trace"))
        self._limit = 1 if debugged else limit  # one debugger, at one case
        self._upcoming = UpcomingItems(session)
        self._planned: dict[str, dict[int, Future[Extraction]]] = {}
        self._tasks: deque[_Task] = deque()
        self._changed = threading.Condition()
        self._idle_threads = 0
        self._threads = 0
        self._closed = False

    def begin(self, item: ExtractItem, plan: RunPlan, judge: Judge | None) -> None:
        """Plan the calls of the item whose turn it is, then those of the items that follow."""
        if self._limit < 2 or not self._extraction_service.calls_for(item):
            return
        if plan.sure > 1:  # a single call is made here in the main thread, unless it was begun already
            self._plan(item, plan, self._extraction_service.extractor_for(item), judge)
        # After a failure under -x nothing more is started; calls in flight cost money, so the window is small then.
        most = self._limit * (1 if item.config.getoption("maxfail", 0) else _WINDOW)
        planned = self._planned_calls()
        # What cannot be planned never fills the window; without a bound, each item would look at all that follow.
        for following in islice(self._upcoming.after(item), self._limit * _WINDOW):
            if planned >= most:
                break
            if following.nodeid not in self._planned and _will_run(following):
                self._plan_before_turn(following)
                planned = self._planned_calls()

    def extraction(self, item: ExtractItem, index: int) -> Extraction:
        """Return the output of a repeat: waits for the call in flight, or calls now."""
        future = self._planned.get(item.nodeid, {}).pop(index, None)
        if future is None:
            return self._extraction_service.extraction(item, index)
        while True:
            try:
                return future.result(timeout=PATIENCE_S)
            except TimeoutError:
                if future.done():  # the extractor's own
                    raise
                self._report_waiting(item)

    def forget(self, item: ExtractItem) -> None:
        """Drop what was prefetched for an item whose turn is over."""
        self._planned.pop(item.nodeid, None)

    def close(self) -> None:
        """Start nothing more; threads end by themselves when their call returns."""
        with self._changed:
            self._closed = True
            self._tasks.clear()
            self._changed.notify_all()

    def _planned_calls(self) -> int:
        return sum(len(futures) for futures in self._planned.values())

    def _plan_before_turn(self, item: ExtractItem) -> None:
        """Plan the calls of an item whose fixtures are not set up, where its extractor is known all the same."""
        known, extractor = item.variant.model is not None, None
        if has_fixture(item, EXTRACTOR):
            known, extractor = value_made_before(item, EXTRACTOR)
        elif known:
            extractor = self._extraction_service.extractor_for(item)
        if known:
            plan = self._extraction_service.plan_for(item)
            self._plan(item, plan, extractor, self._judges.judge_before_turn(item))

    def _plan(self, item: ExtractItem, plan: RunPlan, extractor: object, judge: Judge | None) -> None:
        if item.nodeid in self._planned:
            return
        self._extraction_service.import_litellm(item, extractor, plan.sure)
        futures: dict[int, Future[Extraction]] = {index: Future() for index in range(plan.sure)}
        self._planned[item.nodeid] = futures
        for index, future in futures.items():
            extract = partial(self._extraction_service.extraction_with, item, index, extractor)
            task = _Task(extract=extract, ask_judge=partial(_ask_judge, item, judge), future=future)
            with self._changed:
                self._tasks.append(task)
                if self._idle_threads:
                    self._changed.notify()
                elif self._threads < self._limit:
                    self._threads += 1
                    threading.Thread(target=self._make_calls, name="pytest-extract-prefetch", daemon=True).start()

    def _make_calls(self) -> None:
        while (task := self._next_task()) is not None:
            try:
                extraction = task.extract()
            except BaseException as error:  # noqa: BLE001  # raised again where the item waits for it
                task.future.set_exception(error)
                continue
            task.ask_judge(extraction)
            task.future.set_result(extraction)

    def _next_task(self) -> _Task | None:
        with self._changed:
            while not self._closed:
                if self._tasks and not (self._session.shouldfail or self._session.shouldstop):
                    return self._tasks.popleft()
                self._idle_threads += 1
                self._changed.wait()
                self._idle_threads -= 1
            return None

    def _report_waiting(self, item: ExtractItem) -> None:
        """Report on the terminal that a long run goes on; an xdist worker has no terminal."""
        reporter = item.config.pluginmanager.getplugin("terminalreporter")
        capture = item.config.pluginmanager.getplugin("capturemanager")
        if reporter is None or capture is None or item.config.get_verbosity() < 0:
            return
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(f"waiting for {item.nodeid}; {self._planned_calls()} more calls are begun or planned")


def _ask_judge(item: ExtractItem, judge: Judge | None, extraction: Extraction) -> None:
    """Have a judge's questions answered in advance: its cache keeps the answers until the item is scored."""
    if judge is None:
        return
    try:
        score_extraction(item.case, extraction, judge)
    except BaseException:  # noqa: BLE001  # pytest.skip() too; raised again when the item is scored
        return


class UpcomingItems:
    """The items of a session in the order in which they run in this process; under xdist, those assigned so far."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._indices = {id(item): index for index, item in enumerate(session.items)}
        self._xdist_worker = None
        if hasattr(session.config, "workerinput"):  # xdist's object that runs this worker's items knows which they are
            plugins = session.config.pluginmanager.get_plugins()
            workers = (each for each in plugins if hasattr(each, "torun") and hasattr(each, "nextitem_index"))
            self._xdist_worker = next(workers, None)

    def after(self, item: ExtractItem) -> Iterator[ExtractItem]:
        """Yield the cases that follow `item`."""
        items = self._session.items
        for index in self._indices_after(item):
            following = items[index]
            if isinstance(following, ExtractItem):
                yield following

    def _indices_after(self, item: ExtractItem) -> Iterator[int]:
        if self._xdist_worker is not None:
            yield from _assigned_indices(self._xdist_worker)
        elif id(item) in self._indices:
            yield from range(self._indices[id(item)] + 1, len(self._session.items))


def _assigned_indices(worker: Any) -> list[int]:
    """Return the indices of the items assigned to this worker: the next and its queue (with a lock since xdist 3.7)."""
    queue = worker.torun
    lock = getattr(queue, "lock", None)
    if lock is not None:
        with lock() as waiting:
            indices = list(waiting)
    else:
        indices = list(getattr(queue, "queue", ()))
    return [index for index in (worker.nextitem_index, *indices) if isinstance(index, int)]


def _will_run(item: pytest.Item) -> bool:
    """Whether no mark keeps the item from running; pytest reports a mark that raises at the item's turn."""
    try:
        if evaluate_skip_marks(item) is not None:
            return False
        xfail = evaluate_xfail_marks(item)
    except (OutcomeException, Exception):  # noqa: BLE001  # conditions in marks are the user's code
        return False
    return xfail is None or xfail.run or bool(item.config.getoption("runxfail", default=True))
