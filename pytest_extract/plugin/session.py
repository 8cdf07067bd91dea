"""The extract cases of one pytest session in one process: created for the first case file, it owns what cases share.

It starts with options and files checked before the first call, and ends even where calls have not: at exit Python joins
the threads that libraries started for a call, and a thread that stands in an import keeps the lock that the exit needs.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

import pytest
from _pytest.outcomes import OutcomeException
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

from pytest_extract.cases.load import SUFFIXES
from pytest_extract.cases.model import Case
from pytest_extract.changed import (
    Revision,
    Selection,
    case_key_below,
    cases_at,
    declared_files,
    extractor_sources,
    file_of,
    gone_files,
    inputs_at,
    inputs_now,
    open_tree,
    select_cases,
)
from pytest_extract.core.case_result import CaseResult, Spending, Variant
from pytest_extract.core.metrics import JUDGED
from pytest_extract.core.results import Judge
from pytest_extract.documents.pdf import FOLDER, use_text_store
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.call import LOOP_THREAD, Extraction
from pytest_extract.plugin.extraction import (
    Budget,
    CallSlots,
    ExtractionService,
    Judges,
    limit_folder,
)
from pytest_extract.plugin.items import ExtractItem
from pytest_extract.plugin.options import PARAMS, SETTINGS, Settings
from pytest_extract.plugin.project import (
    EXTRACTOR,
    ItemFixtures,
    ProjectExtensions,
    RunWith,
    check_not_parametrized,
    extractor_params,
    has_fixture,
    value_made_before,
)
from pytest_extract.plugin.run_results import run_results_of
from pytest_extract.plugin.terminal import Note
from pytest_extract.redact import find_secrets_of_process
from pytest_extract.report.summary import Forecast
from pytest_extract.run_case import NotRun, RunPlan, run_case, score_extraction

if TYPE_CHECKING:
    from pytest_extract.extraction.call import Extraction
    from pytest_extract.plugin.update_gold import GoldWriter

_OURS: Final = "pytest-extract-"
"""How the names of all threads begin in which calls are made."""
PATIENCE_S = 15.0
"""After so long a wait for one output, and again after as long, the terminal reports it."""
_WINDOW = 4
"""Calls planned in advance, as a multiple of those in flight: room for the others while one is slow."""


class Prefetcher:
    """The calls that one process begins before their turn: extraction waits on the network.

    Items run one by one and in order; each finds its output in progress or finished. Only the main thread knows which
    calls can be made before an item's turn (fixtures), so that thread plans a window of calls and a few threads make
    them in order. Closed at the end of the session, which abandons the calls in flight.
    """

    def __init__(
        self, session: pytest.Session, extraction_service: ExtractionService, judges: Judges, limit: int
    ) -> None:
        self._session = session
        self._extraction_service = extraction_service
        self._judges = judges
        debugged = any(session.config.getoption(name, default=False) for name in ("usepdb", "trace"))
        self._limit = 1 if debugged else limit  # one debugger, at one case
        self._indices = {id(item): index for index, item in enumerate(session.items)}
        self._xdist_worker: Any = None
        if hasattr(session.config, "workerinput"):  # xdist's object that runs this worker's items knows which they are
            self._indices = {}
            plugins = session.config.pluginmanager.get_plugins()
            workers = (each for each in plugins if hasattr(getattr(each, "torun", None), "lock"))  # since xdist 3.7
            self._xdist_worker = next(workers, None)
        self._planned: dict[str, dict[int, Future[Extraction]]] = {}
        self._planning = threading.Lock()
        self._threads = ThreadPoolExecutor(self._limit, thread_name_prefix=f"{_OURS}prefetch")

    def begin(self, item: ExtractItem, plan: RunPlan, judge: Judge | None) -> None:
        """Plan the calls of the item whose turn it is, then those of the items that follow."""
        if self._limit < 2 or not self._extraction_service.calls_for(item):
            return
        with self._planning:  # no thread asks for a slot before the main thread does
            if plan.sure > 1:  # a single call is made here in the main thread, unless it was begun already
                self._plan(item, plan, self._extraction_service.extractor_for(item), judge)
            # After a failure under -x nothing more is started; calls in flight cost money, so the window is small then.
            most = self._limit * (1 if item.config.getoption("maxfail", 0) else _WINDOW)
            planned = self._planned_calls()
            # What cannot be planned never fills the window; without a bound, each item would look at all that follow.
            for following in islice(self._following(item), self._limit * _WINDOW):
                if planned >= most:
                    break
                if following.nodeid not in self._planned and _will_run(following):
                    self._plan_before_turn(following)
                    planned = self._planned_calls()

    def _following(self, item: ExtractItem) -> Iterator[ExtractItem]:
        """Yield the cases that run after an item in this process; under xdist, those assigned to it so far."""
        items = self._session.items
        indices: Iterable[int] = range(self._indices.get(id(item), len(items)) + 1, len(items))
        if self._xdist_worker is not None:
            with self._xdist_worker.torun.lock() as queue:
                waiting = [self._xdist_worker.nextitem_index, *queue]
            indices = [index for index in waiting if isinstance(index, int)]
        return (following for index in indices if isinstance(following := items[index], ExtractItem))

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
        self._threads.shutdown(wait=False, cancel_futures=True)

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
        self._planned[item.nodeid] = {
            index: self._threads.submit(self._call, item, index, extractor, judge) for index in range(plan.sure)
        }

    def _call(self, item: ExtractItem, index: int, extractor: object, judge: Judge | None) -> Extraction:
        """Make a call, then have the judge's questions about its output answered: its cache keeps the answers."""
        with self._planning:
            if self._session.shouldfail or self._session.shouldstop:
                raise NotRun("the run ends")
        extraction = self._extraction_service.extraction_with(item, index, extractor)
        if judge is not None:
            with suppress(BaseException):  # pytest.skip() too; raised again when the item is scored
                score_extraction(item.case, extraction, judge)
        return extraction

    def _report_waiting(self, item: ExtractItem) -> None:
        """Report on the terminal that a long run goes on; an xdist worker has no terminal."""
        reporter = item.config.pluginmanager.getplugin("terminalreporter")
        capture = item.config.pluginmanager.getplugin("capturemanager")
        if reporter is None or capture is None or item.config.get_verbosity() < 0:
            return
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(f"waiting for {item.nodeid}; {self._planned_calls()} more calls are begun or planned")


def _will_run(item: pytest.Item) -> bool:
    """Whether no mark keeps the item from running; pytest reports a mark that raises at the item's turn."""
    try:
        if evaluate_skip_marks(item) is not None:
            return False
        xfail = evaluate_xfail_marks(item)
    except (OutcomeException, Exception):  # noqa: BLE001  # conditions in marks are the user's code
        return False
    return xfail is None or xfail.run or bool(item.config.getoption("runxfail", default=True))


_GRACE_S: Final = 2.0
_sessions: list[tuple[pytest.Session, bool]] = []
"""The last session of the process, whose exit status is that of the process, and whether it was interrupted."""


def wait_for_calls() -> None:
    """Give calls under way, which are paid, a moment to be recorded; a further Ctrl-C ends the wait."""
    deadline = time.monotonic() + _GRACE_S
    with suppress(KeyboardInterrupt):
        for thread in _our_threads():
            if thread.name != LOOP_THREAD:  # runs until it is stopped
                thread.join(max(0.0, deadline - time.monotonic()))


def leave_after(session: pytest.Session, *, interrupted: bool) -> None:
    """Have the process end with the status of this session, even if calls never do.

    After an interrupt, it does not wait either for the threads in which libraries make calls.
    """
    if not _sessions:
        # Called before Python joins any thread, and so before `atexit`: as concurrent.futures ends its own threads.
        threading._register_atexit(_leave)  # type: ignore[attr-defined]  # noqa: SLF001
    _sessions[:] = [(session, interrupted)]


def _leave() -> None:
    ((session, interrupted),) = _sessions
    if _our_threads() or (interrupted and threading.active_count() > 1):
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        # A second Ctrl-C may come before pytest has noted the first.
        os._exit(int(session.exitstatus or (pytest.ExitCode.INTERRUPTED if interrupted else pytest.ExitCode.OK)))


def _our_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(_OURS)]


# git revisions

_NO_INPUTS: Final = (
    *("test_*.py", "*_test.py", "README*", "CHANGELOG*", "CONTRIBUTING*", "LICENSE*", "*.lock", "requirements*.txt"),
    *("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "setup.py"),
)


class RevisionView:
    """A revision's files, written to a folder of their own, so that case files load from there."""

    def __init__(self, root: Path, ref: str) -> None:
        """Raise ConfigError where there is no git, no repository or no such revision."""
        self.ref = ref
        self.tree = open_tree(root, ref)
        self._folder = Path(tempfile.mkdtemp(prefix="pytest-extract-view-")).resolve()
        self.tree.write(self._folder)
        self._files: dict[Path, Revision] = {}

    def load(self, file: Path, cases: Iterable[Case]) -> str | None:
        """Load a case file of the revision and return its mistake; git need not keep the documents of today's cases."""
        if file not in self._files:
            documents = [case.document.file for case in cases if case.document.file is not None]
            self._files[file] = cases_at(self.tree, [file], self._folder, documents=documents)
        return next(iter(self._files[file].unread.values()), None)

    def case_at_revision(self, case: Case, file: Path) -> Case | None:
        """Return a case of a loaded file with the revision's prompt and schema; None where it has no such case.

        Document, gold, scoring and thresholds are today's: the variants differ in what the extractor is given.
        """
        old = self._files[file].cases.get(case_key_below(case, self.tree.root))
        if old is None:
            return None
        prompt = old.prompt and replace(old.prompt, path=self._place_now(old.prompt.path))
        return replace(case, prompt=prompt, schema=old.schema, schema_sha256=old.schema_sha256)

    def _place_now(self, path: Path) -> Path:
        """Return where the work tree has a file of the view; one elsewhere is the same at each revision."""
        return self.tree.root / path.relative_to(self._folder) if path.is_relative_to(self._folder) else path

    def prompt_path(self, path: Path) -> Path | None:
        """Return the revision's version of a prompt file of the command line."""
        name = self.tree.name(path)
        return self._folder / name if name is not None and name in self.tree.files else None

    def selections(self, items: Sequence[ExtractItem], root: Path, settings: Settings) -> dict[str, Selection]:
        """Decide for each item, by node id, whether it is called or replayed."""
        cases = {case_key_below(item.case, self.tree.root): item.case for item in items}
        documents = [case.document.file for case in cases.values() if case.document.file is not None]
        files = [*dict.fromkeys(item.path for item in items), *gone_files(self.tree, root)]
        old = cases_at(self.tree, files, self._folder, documents=documents)
        before = inputs_at(old, self.tree, self._folder)
        now = inputs_now(cases.values(), self.tree)
        known = self._files_of((*cases.values(), *old.cases.values()))
        selections: dict[str, Selection] = {}
        groups = self._by_changed_sources(items, root, settings, known)
        for (sources, unknown), group in groups.items():
            parts = {name: now[name] for item in group if (name := case_key_below(item.case, self.tree.root)) in now}
            chosen = select_cases(parts, before, sources=sources, unread=old.unread, ref=self.ref)
            selected = {each.case: replace(each, unknown=unknown) for each in chosen}
            selections |= {item.nodeid: selected[case_key_below(item.case, self.tree.root)] for item in group}
        return selections

    def _files_of(self, cases: Iterable[Case]) -> set[Path]:
        """Return the files of cases, as the work tree has them, besides those of their extractors."""
        prompts = ((case, None if case.prompt is None else case.prompt.path) for case in cases)
        files = (
            (case.path, case.document.file, case.schema_path, *case.schema_files, case.gold_path, prompt)
            for case, prompt in prompts
        )
        return {self._place_now(path) for paths in files for path in paths if path is not None}

    def _by_changed_sources(
        self, items: Iterable[ExtractItem], root: Path, settings: Settings, known: AbstractSet[Path]
    ) -> dict[tuple[tuple[str, ...], tuple[str, ...]], list[ExtractItem]]:
        """Group items by the changed source files of their extractor (each conftest may have one)."""
        changes: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[ExtractItem]] = {}
        declared = self.declared_files(settings.files, root)
        for item in items:
            definitions = item._fixtureinfo.name2fixturedefs.get(EXTRACTOR)  # noqa: SLF001  # as in items.py
            function = definitions[-1].func if definitions else None
            if id(function) not in changes:
                sources = () if function is None else extractor_sources(function, root, declared)
                changed = tuple(sorted(map(self._shown, self.tree.changed(sources))))
                changes[id(function)] = changed, self._unknown_changes(function, root, settings, {*known, *sources})
            groups.setdefault(changes[id(function)], []).append(item)
        return groups

    def _shown(self, path: Path) -> str:
        return self.tree.name(path) or str(path)

    def declared_files(self, patterns: Sequence[str], root: Path) -> list[Path]:
        """Return the files that `extract_files` declares, also those of the revision that are gone."""
        view = self._folder / root.resolve().relative_to(self.tree.root)
        then = (self.tree.root / path.relative_to(self._folder) for path in declared_files(patterns, view))
        return [*declared_files(patterns, root), *(path for path in then if not path.exists())]

    def _unknown_changes(
        self, function: object, root: Path, settings: Settings, known: AbstractSet[Path]
    ) -> tuple[str, ...]:
        """Return the changed files beside the extractor, or below, that may be read by it and are no file of a case."""
        file = file_of(function)
        if file is None or not file.is_relative_to(root.resolve()):
            return ()
        written = [value.resolve() for value in vars(settings).values() if isinstance(value, Path)]
        written += [each.path.resolve() for each in settings.report]
        known = {path.resolve() for path in (*known, *settings.prompt)}
        return tuple(
            self._shown(path)
            for path in self.tree.changed_below(file.parent)
            if path.resolve() not in known
            and not any(path.is_relative_to(each) for each in written)
            and not _is_no_input(path.relative_to(self.tree.root))
        )

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _is_no_input(path: PurePath) -> bool:
    """Whether a file is known to be none that an extractor reads: tests, settings, pages for people, case files."""
    return (
        path.name.endswith(SUFFIXES)
        or any(part.startswith(".") or part == "__pycache__" for part in path.parts)
        or any(fnmatch(path.name, pattern) for pattern in _NO_INPUTS)
    )


# the session

_SESSION = pytest.StashKey["ExtractSession"]()
_BUDGET_FILE = pytest.StashKey[Path]()
BUDGET_FILE = "extract_budget_file"
"""Where an xdist worker finds the path of the budget's file in its `workerinput`."""

NO_EXTRACTOR = """\
no extractor for this case. Write one in a conftest.py beside the case file or above it:

    import pytest

    @pytest.fixture(scope="session")
    def extractor():
        def extract(document, schema):
            return {...}  # JSON for document.text (or .path, .bytes, .pages): str, dict, list or pydantic model
        return extract

or have a model called: pytest --extract-model=PROVIDER/NAME (pip install 'pytest-extract[llm]')."""
NO_EXTRACTOR_AGAIN = "no extractor for this case; the first such error says what to write"


def session_of(config: pytest.Config) -> ExtractSession:
    """Return the session's `ExtractSession`; the first call creates it."""
    if _SESSION not in config.stash:
        config.stash[_SESSION] = ExtractSession(config)
    return config.stash[_SESSION]


def started_session(config: pytest.Config) -> ExtractSession | None:
    """Return the session's `ExtractSession` if a case file was collected."""
    return config.stash.get(_SESSION, None)


def budget_of(config: pytest.Config, limit: float | None) -> Budget | None:
    """Return the run's budget; an xdist worker gets the path of its file from the controller."""
    if limit is None:
        return None
    workerinput: dict[str, str] = getattr(config, "workerinput", {})
    path = Path(workerinput[BUDGET_FILE]) if BUDGET_FILE in workerinput else budget_file(config)
    return Budget(path, limit)


def budget_file(config: pytest.Config) -> Path:
    """Return the file of the run's budget, which the end of the session removes."""
    if _BUDGET_FILE not in config.stash:
        file, name = tempfile.mkstemp(prefix="pytest-extract-", suffix=".spent")
        os.close(file)
        path = config.stash[_BUDGET_FILE] = Path(name)
        config.add_cleanup(lambda: path.unlink(missing_ok=True))
    return config.stash[_BUDGET_FILE]


class ExtractSession:
    """Variants, shared inputs and the services that run the cases of one session in one process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings: Settings = config.stash[SETTINGS]
        find_secrets_of_process(self.settings.allow_secrets)
        use_text_store(partial(config.cache.mkdir, FOLDER) if getattr(config, "cache", None) is not None else None)
        self.extensions = ProjectExtensions(config, self.settings.judge, updates_golds=self.settings.writes_golds)
        workerinput: dict[str, str] = getattr(config, "workerinput", {})
        shared = limit_folder(workerinput["testrunuid"]) if "testrunuid" in workerinput else None
        self.extraction_service = ExtractionService(
            self.settings,
            config.rootpath,
            budget_of(config, self.settings.budget),
            CallSlots(self.settings.concurrency, shared),
        )
        self._views: dict[str, RevisionView] = {}
        self._past_variants = False
        self.variants = self._variants()
        first = RunWith(self.variants[0], self.prompt_path(self.variants[0]))
        self.fixtures = ItemFixtures(
            first if len(self.variants) == 1 else None, extractor_on_demand=self.extraction_service.may_replay
        )
        self.gold_writer = self._gold_writer()
        self._judges = Judges(config, self.settings, self.extraction_service)
        self._judge_spending = Spending()
        self._prefetcher: Prefetcher | None = None
        self.interrupted = False
        self._explained_extractor = False

    def _gold_writer(self) -> GoldWriter | None:
        if self.settings.writes_golds is None:
            return None
        from pytest_extract.plugin.update_gold import GoldWriter  # brings drafts, evidence and reviews along

        return GoldWriter(self.settings.writes_golds, force=self.settings.force)

    # variants

    def _variants(self) -> tuple[Variant, ...]:
        """Return every model with every prompt and mode, also at the base revision; else the variants of a past run.

        A prompt that all cases share distinguishes nothing, so it is no part of the variant.
        """
        settings, replay = self.settings, self.extraction_service.replay
        names: list[str | None] = [None]
        if len(settings.prompt) > 1:
            names = [*settings.prompt_names(self.config.rootpath)]
        models: list[str | None] = [*settings.model] or [None]
        modes: Sequence[str | None] = settings.mode if len(settings.mode) > 1 else [None]
        variants = tuple(
            Variant(model=model, prompt=prompt, mode=mode) for model in models for prompt in names for mode in modes
        )
        if replay is not None:
            run_results_of(self.config).past_variants = replay.variants
            self._past_variants = variants == (Variant(),) and bool(replay.variants)
            return replay.variants if self._past_variants else variants
        if settings.base_ref is not None:
            self.revision_view(settings.base_ref)
            return tuple(
                each for variant in variants for each in (replace(variant, revision=settings.base_ref), variant)
            )
        return variants

    def variants_of(self, file: pytest.Collector) -> Mapping[Variant, Collection[Any]]:
        """Return the variants of a file's cases, each with the marks of its param.

        They are those of the run, each with every param of the extractor's fixture, if it has any. Where models are
        chosen, or a past run gives the variants, params are none. Raises ConfigError for golds that several variants
        would update.
        """
        definitions = file.session._fixturemanager.getfixturedefs(EXTRACTOR, file)  # noqa: SLF001  # no public look-up
        found = extractor_params(definitions or ())
        if not found or any(variant.model is not None for variant in self.variants):
            return dict.fromkeys(self.variants, ())
        if len(found) > 1 and self.settings.update_gold not in (None, "new"):
            raise ConfigError(f"{', '.join(found)}: several variants of the extractor cannot update one gold")
        params = run_results_of(self.config).params
        params.update(dict.fromkeys(found))
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[PARAMS] = [*params]
        if any(variant.param is not None for variant in self.variants):
            return {each: found[each.param].marks if each.param in found else () for each in self.variants}
        return {replace(variant, param=name): param.marks for variant in self.variants for name, param in found.items()}

    def prompt_path(self, variant: Variant) -> Path | None:
        """Return the prompt file from the command line that a variant runs with."""
        prompts = self.settings.prompt
        if len(prompts) == 1:
            return prompts[0]
        return None if variant.prompt is None else self.settings.prompt_names(self.config.rootpath).get(variant.prompt)

    def case_on_variant(self, case: Case, file: pytest.Collector, variant: Variant) -> Case | None:
        """Return a case of a case file as a variant runs it.

        None where the variant's revision does not have it, or the past run that the variants are of had not run it so.
        """
        path, replay = self.prompt_path(variant), self.extraction_service.replay
        if replay is not None and self._past_variants and replay.leaves_out(file.nodeid, case.id, variant):
            return None
        if variant.revision is not None and replay is None:
            view = self.revision_view(variant.revision)
            path = path and (view.prompt_path(path) or path)
            at_revision = view.case_at_revision(case, file.path)
            if at_revision is None:
                return None
            case = at_revision
        if self.settings.max_output_bytes is not None and case.max_output_bytes is None:
            case = replace(case, max_output_bytes=self.settings.max_output_bytes)
        if self.settings.confidence is not None and case.confidence is None:
            case = replace(case, confidence=self.settings.confidence)
        return case if path is None else replace(case, prompt=self.extensions.default_cache.prompt(str(path)))

    # git revisions

    def revision_view(self, ref: str) -> RevisionView:
        """Return the files of a git revision, written once a session; ConfigError where there is no such revision."""
        if ref not in self._views:
            self._views[ref] = RevisionView(self.config.rootpath, ref)
            self.config.add_cleanup(self._views[ref].close)
        return self._views[ref]

    def load_revisions(self, file: Path, cases: Sequence[Case]) -> Mapping[str, str]:
        """Load a case file at each revision that the run compares with; return the mistakes that it had there."""
        if self.extraction_service.replay is not None:
            return {}
        refs = {variant.revision for variant in self.variants if variant.revision is not None}
        return {ref: why for ref in refs if (why := self.revision_view(ref).load(file, cases)) is not None}

    def select_changed(self, items: Sequence[ExtractItem]) -> None:
        """`--extract-changed`: decide for each case whether it is called or replayed, and why."""
        if self.settings.changed is not None:
            view = self.revision_view(self.settings.changed)
            self.extraction_service.selections |= view.selections(items, self.config.rootpath, self.settings)

    # running

    def check_extractor(self, item: ExtractItem) -> None:
        """Raise ConfigError for an item that has no extractor; the first of a session explains how to write one."""
        if not self.extraction_service.calls_for(item):
            return
        # An extractor that is made on demand asks for more than the set-up has made.
        check_not_parametrized(item, item._fixtureinfo.names_closure)  # noqa: SLF001  # no public look-up
        if item.variant.model or has_fixture(item, EXTRACTOR):
            return
        explained, self._explained_extractor = self._explained_extractor, True
        raise ConfigError(NO_EXTRACTOR_AGAIN if explained else NO_EXTRACTOR)

    def run_item(self, item: ExtractItem) -> CaseResult:
        """Run a case; the item keeps the first exception of its extractor, and what judges have used."""

        def keep(error: Exception) -> None:
            item.error = item.error or error

        if self._prefetcher is None:
            self._prefetcher = Prefetcher(
                item.session, self.extraction_service, self._judges, self.settings.concurrency
            )
        prefetcher = self._prefetcher
        plan, judge = self.extraction_service.plan_for(item), self._judges.judge_for(item)
        prefetcher.begin(item, plan, judge)
        outputs: dict[int, Extraction] = {}

        def extract(index: int) -> Extraction:
            if index not in outputs:
                outputs[index] = prefetcher.extraction(item, index)
            return outputs[index]

        run = partial(
            run_case,
            item.case,
            extract,
            nodeid=item.nodeid,
            file=item.nodeid.partition("::")[0],
            variant=item.variant,
            judge=judge,
            on_error=keep,
        )
        try:
            result = run(plan=plan)
        except (KeyboardInterrupt, pytest.exit.Exception):
            self.interrupt()  # before the teardown of fixtures, in which other threads could begin calls
            raise
        further = self.extraction_service.plan_for_baseline(item, result)
        if further is not None:
            result = run(plan=further)
        # All spending since the last case: judges are also asked about prefetched outputs, between two cases.
        before, self._judge_spending = self._judge_spending, self._judges.spent()
        item.judge_spending = self._judge_spending - before
        self.extraction_service.pay_judge(item.judge_spending)
        return self._with_origin(item, result)

    def _with_origin(self, item: ExtractItem, result: CaseResult) -> CaseResult:
        """Return a result with what its outputs were made from: those of a past run with the prompt of that run."""
        digests = dict(result.digests)
        replay = self.extraction_service.replay_for(item)
        past = None if replay is None else replay.result_of(item)
        if past is not None:
            digests.pop("prompt", None)
            digests |= {name: digest for name, digest in past.digests.items() if name == "prompt"}
            result = replace(result, prompt_file=past.prompt_file)
        extractor = self.extraction_service.extractor_digest(item, result)
        if extractor is not None:
            digests["extractor"] = extractor
        # also if the scorer decided in the judge's place
        if any(leaf.metric in JUDGED for score in result.scores for leaf in score.leaves):
            digests["judge"] = self._judges.digest(item)
        return replace(result, digests=digests)

    def forecast(self, item: ExtractItem) -> Forecast:
        """Estimate the calls and the cost of a case."""
        return self.extraction_service.forecast(item)

    @property
    def selections(self) -> Mapping[str, Selection]:
        """Under `--extract-changed`, whether each case is called or replayed, by node id."""
        return self.extraction_service.selections

    def take_notes(self) -> list[Note]:
        """Return what was not recorded, or made by other code, since the last call."""
        return self.extraction_service.take_notes()

    def finish_item(self, item: ExtractItem) -> None:
        """Drop what was prefetched for an item that did not use it."""
        if self._prefetcher is not None:
            self._prefetcher.forget(item)

    def interrupt(self) -> None:
        """Begin no call any more: what pytest does until the end of the session takes time, and calls cost money."""
        self.interrupted = True
        self._stop_calls()

    def _stop_calls(self) -> None:
        if self._prefetcher is not None:
            self._prefetcher.close()
        self.extraction_service.concurrency_limit.close()

    def close(self) -> None:
        """End the calls; those that do not end in a moment are abandoned."""
        self._stop_calls()
        wait_for_calls()
        self.extraction_service.loop.close()


def share_budget(config: pytest.Config, node: Any) -> None:
    """Send an xdist worker the path of the budget's file."""
    node.workerinput[BUDGET_FILE] = str(budget_file(config))
