"""The extract cases of one pytest session in one process: created for the first case file, it owns what cases share.

It starts with options and files checked before the first call, and ends even where calls have not: at exit Python joins
the threads that libraries started for a call, and a thread that stands in an import keeps the lock that the exit needs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from fnmatch import fnmatch
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from _pytest.outcomes import OutcomeException
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

from pytest_extract import changed
from pytest_extract.cases.load import SUFFIXES
from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import CaseResult, Outcome, Spending, Variant
from pytest_extract.core.metrics import JUDGED
from pytest_extract.core.results import Judge
from pytest_extract.core.values import text_digest
from pytest_extract.documents.pdf import FOLDER, use_text_store
from pytest_extract.errors import ConfigError, ExtractError
from pytest_extract.extraction.call import LOOP_THREAD, Extraction
from pytest_extract.files import display_path
from pytest_extract.plugin.extraction import ExtractionService, Judges
from pytest_extract.plugin.items import CASE, CaseRepr, ExtractItem, clean_report
from pytest_extract.plugin.options import PARAMS, SETTINGS, Settings
from pytest_extract.plugin.project import (
    EXTRACTOR,
    ItemFixtures,
    ProjectExtensions,
    check_not_parametrized,
    extractor_function,
    extractor_params,
    has_fixture,
    value_made_before,
)
from pytest_extract.plugin.run_results import run_results_of
from pytest_extract.redact import TALLY, find_secrets_of_process
from pytest_extract.results import safe_form
from pytest_extract.run_case import NotRun, RunPlan, keys_in_result, run_case, score_extraction

if TYPE_CHECKING:
    from pytest_extract.plugin.update_gold import GoldWriter

_OURS: Final = "pytest-extract-"
"""How the names of all threads begin in which calls are made."""
_WINDOW = 4
"""Calls planned in advance, as a multiple of those in flight: room for the others while one is slow."""


class Prefetcher:
    """The calls that one process begins before their turn: extraction waits on the network.

    Items run one by one and in order; each finds its output in progress or finished. Only the main thread knows which
    calls can be made before an item's turn (fixtures), so that thread plans a window of calls and a few threads make
    them in order. Closed at the end of the session, which abandons the calls in flight.
    """

    def __init__(self, session: pytest.Session, extraction_service: ExtractionService, judges: Judges) -> None:
        self._session = session
        self._extraction_service = extraction_service
        self._judges = judges
        debugged = any(session.config.getoption(name, default=False) for name in ("usepdb", "trace"))
        self._limit = 1 if debugged else session.config.stash[SETTINGS].concurrency  # one debugger, at one case
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
        if self._limit < 2 or self._extraction_service.replays_only:
            return
        with self._planning:  # no thread asks for a slot before the main thread does
            # a single call is made here in the main thread, unless it was begun already
            if plan.sure > 1 and item.nodeid not in self._planned:
                self._plan(item, plan, self._extraction_service.extractor_for(item), judge)
            # After a failure under -x nothing more is started; calls in flight cost money, so the window is small then.
            most = self._limit * (1 if item.config.getoption("maxfail", 0) else _WINDOW)
            # What cannot be planned never fills the window; without a bound, each item would look at all that follow.
            planned = sum(map(len, self._planned.values()))
            for following in islice(self._following(item), self._limit * _WINDOW):
                if planned >= most:
                    break
                if following.nodeid in self._planned or not _will_run(following):
                    continue
                # Its fixtures are not set up; its extractor may be known all the same.
                known, extractor = following.variant.model is not None, None
                if has_fixture(following, EXTRACTOR):
                    known, extractor = value_made_before(following, EXTRACTOR)
                elif known:
                    extractor = self._extraction_service.extractor_for(following)
                if known:
                    judge = self._judges.judge_before_turn(following)
                    plan = self._extraction_service.plan_for(following)
                    self._plan(following, plan, extractor, judge)
                    planned += plan.sure

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
        if future is not None:
            return future.result()
        return self._extraction_service.extraction(item, index, partial(self._extraction_service.extractor_for, item))

    def forget(self, item: ExtractItem) -> None:
        """Drop what was prefetched for an item whose turn is over."""
        self._planned.pop(item.nodeid, None)

    def close(self) -> None:
        """Start nothing more; threads end by themselves when their call returns."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _plan(self, item: ExtractItem, plan: RunPlan, extractor: object, judge: Judge | None) -> None:
        self._extraction_service.prepare_calls(item, extractor, plan.sure)
        self._planned[item.nodeid] = {
            index: self._threads.submit(self._call, item, index, extractor, judge) for index in range(plan.sure)
        }

    def _call(self, item: ExtractItem, index: int, extractor: object, judge: Judge | None) -> Extraction:
        """Make a call, then have the judge's questions about its output answered: its cache keeps the answers."""
        with self._planning:
            if self._session.shouldfail or self._session.shouldstop:
                raise NotRun("the run ends")
        extraction = self._extraction_service.extraction(item, index, lambda: extractor)
        if judge is not None:
            with suppress(BaseException):  # pytest.skip() too; raised again when the item is scored
                options = replace(item.case.score_options, judge=judge)
                score_extraction(item.case.scorer, item.case.gold, extraction, options)
        return extraction


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
    *("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "setup.py", *(f"*{suffix}" for suffix in SUFFIXES)),
)
"""Files that no extractor reads: tests, settings, pages for people, case files."""
_HIDDEN: Final = ".*", "__pycache__"
"""Files and folders that it does not read either."""


class RevisionView:
    """A revision's files, written to a folder of their own, so that case files load from there."""

    def __init__(self, config: pytest.Config, ref: str) -> None:
        """Raise ConfigError where there is no git, no repository or no such revision."""
        self.ref = ref
        self._root = config.rootpath
        self._settings = config.stash[SETTINGS]
        self.tree = changed.open_tree(self._root, ref)
        temporary = tempfile.TemporaryDirectory(prefix="pytest-extract-view-", ignore_cleanup_errors=True)
        config.add_cleanup(temporary.cleanup)
        self._folder = Path(temporary.name).resolve()
        self.tree.write_view(self._folder)
        self._files: dict[Path, changed.Revision] = {}

    def load(self, file: Path, cases: Iterable[Case]) -> str | None:
        """Load a case file of the revision and return its mistake; git need not keep the documents of today's cases."""
        documents = [case.document.file for case in cases if case.document.file is not None]
        self._files[file] = changed.cases_at(self.tree, [file], self._folder, documents=documents)
        return next(iter(self._files[file].unread.values()), None)

    def case_at_revision(self, case: Case, file: Path) -> Case | None:
        """Return a case of a loaded file with the revision's prompt and schema; None where it has no such case.

        Document, gold, scoring and thresholds are today's: the variants differ in what the extractor is given.
        """
        old = self._files[file].cases.get(changed.case_key_below(case, self.tree.root))
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

    def selections(self, items: Sequence[ExtractItem]) -> dict[str, changed.Selection]:
        """Decide for each item, by node id, whether it is called or replayed."""
        keys = {item.nodeid: changed.case_key_below(item.case, self.tree.root) for item in items}
        cases = {keys[item.nodeid]: item.case for item in items}
        documents = [case.document.file for case in cases.values() if case.document.file is not None]
        files = [*dict.fromkeys(item.path for item in items), *changed.gone_files(self.tree, self._root)]
        old = changed.cases_at(self.tree, files, self._folder, documents=documents)
        before = changed.inputs_at(old, self.tree, self._folder)
        now = changed.inputs_now(cases.values(), self.tree)
        known = set()  # the files of cases, as the work tree has them, besides those of their extractors
        for case in (*cases.values(), *old.cases.values()):
            paths = [case.path, case.document.file, case.schema_path, *case.schema_files, case.gold_path]
            paths += [] if case.prompt is None else [case.prompt.path]
            known |= {self._place_now(path) for path in paths if path is not None}
        declared = self.declared_files(self._settings.files)
        groups: dict[Any, list[str]] = {}  # each conftest may have an extractor of its own
        for item in items:
            groups.setdefault(extractor_function(item), []).append(item.nodeid)
        selections: dict[str, changed.Selection] = {}
        for function, group in groups.items():
            sources = () if function is None else changed.extractor_sources(function, self._root, declared)
            new = sorted(map(self._shown, self.tree.changed(sources)))
            unknown = self._unknown_changes(function, {*known, *sources})
            parts = {keys[nodeid]: now[keys[nodeid]] for nodeid in group}
            chosen = changed.select_cases(parts, before, sources=new, unread=old.unread, ref=self.ref)
            selected = {each.case: replace(each, unknown=unknown) for each in chosen}
            selections |= {nodeid: selected[keys[nodeid]] for nodeid in group}
        return selections

    def _shown(self, path: Path) -> str:
        return self.tree.name(path) or str(path)

    def declared_files(self, patterns: Sequence[str]) -> list[Path]:
        """Return the files that `extract_files` declares, also those of the revision that are gone."""
        view = self._folder / self._root.resolve().relative_to(self.tree.root)
        then = (self.tree.root / path.relative_to(self._folder) for path in changed.declared_files(patterns, view))
        return [*changed.declared_files(patterns, self._root), *(path for path in then if not path.exists())]

    def _unknown_changes(self, function: object, known: AbstractSet[Path]) -> tuple[str, ...]:
        """Return the changed files beside the extractor, or below, that may be read by it and are no file of a case."""
        file = changed.file_of(function)
        if file is None or not file.is_relative_to(self._root.resolve()):
            return ()
        written = [value.resolve() for value in vars(self._settings).values() if isinstance(value, Path)]
        written += [each.path.resolve() for each in self._settings.report]
        known = {path.resolve() for path in (*known, *self._settings.prompt)}
        return tuple(
            self._shown(path)
            for path in self.tree.changed_below(file.parent)
            if path.resolve() not in known
            and not any(path.is_relative_to(each) for each in written)
            and not any(fnmatch(part, hidden) for part in path.relative_to(self.tree.root).parts for hidden in _HIDDEN)
            and not any(fnmatch(path.name, pattern) for pattern in _NO_INPUTS)
        )


# the session

_SESSION = pytest.StashKey["ExtractSession"]()

NO_EXTRACTOR = """\
no extractor for this case. Write one in a conftest.py beside the case file or above it:

    import pytest

    @pytest.fixture(scope="session")
    def extractor():
        def extract(document, schema):
            return {...}  # JSON for document.text (or .path, .bytes, .pages): str, dict, list or pydantic model
        return extract

or have a model called: pytest --extract-model=PROVIDER/NAME (pip install 'pytest-extract[llm]')."""


def session_of(config: pytest.Config) -> ExtractSession:
    """Return the session's `ExtractSession`; the first call creates it."""
    if _SESSION not in config.stash:
        config.stash[_SESSION] = ExtractSession(config)
    return config.stash[_SESSION]


def started_session(config: pytest.Config) -> ExtractSession | None:
    """Return the session's `ExtractSession` if a case file was collected."""
    return config.stash.get(_SESSION, None)


class ExtractSession:
    """Variants, shared inputs and the services that run the cases of one session in one process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings: Settings = config.stash[SETTINGS]
        settings = self.settings
        find_secrets_of_process(settings.allow_secrets)
        use_text_store(partial(config.cache.mkdir, FOLDER) if getattr(config, "cache", None) is not None else None)
        self.extensions = ProjectExtensions(config)
        self.extraction_service = service = ExtractionService(config)
        self._views: dict[str, RevisionView] = {}
        self._past_variants = False
        root, several = config.rootpath.resolve(), len(settings.prompt) > 1
        names = [display_path(path.resolve(), root) if several else None for path in settings.prompt]
        self._prompts = dict(zip(names, settings.prompt, strict=True))
        self.variants = self._variants()
        may_replay = service.replays_only or settings.record in {"once", "new"} or settings.changed is not None
        self.fixtures = ItemFixtures(
            is_plain=len(self.variants) == 1, has_prompts=bool(settings.prompt), extractor_on_demand=may_replay
        )
        self.gold_writer: GoldWriter | None = None
        if settings.writes_golds is not None:
            from pytest_extract.plugin.update_gold import GoldWriter  # brings drafts, evidence and reviews along

            self.gold_writer = GoldWriter(settings.writes_golds, force=settings.force)
        self._judges = Judges(config, service)
        self._judge_spending = Spending()
        self._prefetcher: Prefetcher | None = None
        self.stopped = False

    # variants

    def _variants(self) -> tuple[Variant, ...]:
        """Return every model with every prompt and mode, also at the base revision; else the variants of a past run.

        A prompt that all cases share distinguishes nothing, so it is no part of the variant.
        """
        settings, replay = self.settings, self.extraction_service.replay
        names: list[str | None] = [*self._prompts] or [None]
        models: list[str | None] = [*settings.model] or [None]
        modes: Sequence[str | None] = settings.mode if len(settings.mode) > 1 else [None]
        combined = product(models, names, modes)
        variants = tuple(Variant(model=model, prompt=prompt, mode=mode) for model, prompt, mode in combined)
        if replay is not None:
            self._past_variants = variants == (Variant(),) and bool(replay.variants)
            return replay.variants if self._past_variants else variants
        if settings.base_ref is not None:
            self.revision_view(settings.base_ref)
            return tuple(replace(each, revision=ref) for each in variants for ref in (settings.base_ref, None))
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
        return self._prompts.get(variant.prompt, self._prompts.get(None))

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
            self._views[ref] = RevisionView(self.config, ref)
        return self._views[ref]

    def load_revisions(self, file: Path, cases: Sequence[Case]) -> Mapping[str, str]:
        """Load a case file at each revision that the run compares with; return the mistakes that it had there."""
        if self.extraction_service.replay is not None:
            return {}
        refs = {variant.revision for variant in self.variants if variant.revision is not None}
        return {ref: why for ref in refs if (why := self.revision_view(ref).load(file, cases)) is not None}

    # running

    def check_extractor(self, item: ExtractItem) -> None:
        """Raise ConfigError, which explains how to write one, for an item that has no extractor."""
        if self.extraction_service.replays_only:
            return
        # An extractor that is made on demand asks for more than the set-up has made.
        check_not_parametrized(item, item._fixtureinfo.names_closure)  # noqa: SLF001  # no public look-up
        if not item.variant.model and not has_fixture(item, EXTRACTOR):
            raise ConfigError(NO_EXTRACTOR)

    def run_item(self, item: ExtractItem) -> None:
        """Run a case, or forecast its cost; the item keeps the result, its gold's change, and what judges have used."""
        if self.settings.dry_run:
            item.forecast = self.extraction_service.forecast(item)
            return
        if self._prefetcher is None:
            self._prefetcher = Prefetcher(item.session, self.extraction_service, self._judges)
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
            on_error=item.keep_error,
        )
        try:
            result = run(plan=plan)
        except (KeyboardInterrupt, pytest.exit.Exception):
            self.stop_calls()  # before the teardown of fixtures, in which other threads could begin calls
            raise
        further = self.extraction_service.plan_for_baseline(item, result)
        if further is not None:
            result = run(plan=further)
        # All spending since the last case: judges are also asked about prefetched outputs, between two cases.
        before, self._judge_spending = self._judge_spending, self._judges.spent()
        item.judge_spending = self._judge_spending - before
        self.extraction_service.pay_judge(item.judge_spending)
        item.result = self._with_origin(item, result, {each.extractor for each in outputs.values()})
        if self.gold_writer is not None and result.outcome is not Outcome.NOT_RUN:
            several = len(cast("Any", item.parent).variants) > 1
            cases = (other.case for other in item.session.items if isinstance(other, ExtractItem))
            item.gold_change = self.gold_writer.write(item.case, item.result, item.owned, several=several, cases=cases)
            if item.gold_change.needs_review and item.error is None:
                item.result = item.gold_change.failed(item.result)

    def _with_origin(self, item: ExtractItem, result: CaseResult, extractors: AbstractSet[str | None]) -> CaseResult:
        """Return a result with what its outputs were made from: those of a past run with the prompt of that run.

        `extractors`: the digests of the code of its outputs, None for one that has none: then the result has none.
        """
        digests = dict(result.digests)
        replay = self.extraction_service.replay
        past = None if replay is None else replay.result_of(item)
        if past is not None:
            digests.pop("prompt", None)
            digests |= {name: digest for name, digest in past.digests.items() if name == "prompt"}
            result = replace(result, prompt_file=past.prompt_file)
        known = sorted(filter(None, extractors))
        if known and None not in extractors:
            digests["extractor"] = known[0] if len(known) == 1 else text_digest("\n".join(known))
        # also if the scorer decided in the judge's place
        if any(leaf.metric in JUDGED for score in result.scores for leaf in score.leaves):
            digests["judge"] = self._judges.digest(item)
        return replace(result, digests=digests)

    def finish_item(self, item: ExtractItem) -> None:
        """Drop what was prefetched for an item that did not use it."""
        if self._prefetcher is not None:
            self._prefetcher.forget(item)

    def stop_calls(self) -> None:
        """Begin no call any more: what pytest does until the end of the session takes time, and calls cost money."""
        self.stopped = True
        if self._prefetcher is not None:
            self._prefetcher.close()
        self.extraction_service.concurrency_limit.close()

    def close(self) -> None:
        """End the calls: those under way, which are paid, have a moment to be recorded; a Ctrl-C ends the wait."""
        self.stop_calls()
        deadline = time.monotonic() + _GRACE_S
        with suppress(KeyboardInterrupt):
            for thread in _our_threads():
                if thread.name != LOOP_THREAD:  # runs until it is stopped
                    thread.join(max(0.0, deadline - time.monotonic()))
        self.extraction_service.loop.close()


def put_on_report(item: ExtractItem, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Add the case's result to the report of its call, or of its failed set-up."""
    clean_report(report)
    if call.when == "teardown":
        item.forget()
    if call.when == "teardown" or (call.when == "setup" and not report.failed):
        return
    if item.forecast is not None:
        setattr(report, CASE, {"forecast": asdict(item.forecast)})
    result = item.result
    if result is None:
        if call.excinfo is None or not report.failed:
            return  # skipped by a mark or by its extractor: the case did not run
        result = _result_of_error(item, call.excinfo)
    line, safe_result = item.safe_form if result is item.result else safe_form(result, item.owned)
    if item.config.getoption("xmlpath", None):  # pytest writes properties at the item's teardown
        from pytest_extract.report.exports import PROPERTY, junit_properties

        others = [each for each in item.user_properties if not each[0].startswith(PROPERTY)]  # of no earlier run
        item.user_properties[:] = [*others, *junit_properties(safe_result)]
    service = session_of(item.config).extraction_service
    shown, selection = report.longrepr, service.selections.get(item.nodeid)
    redacted = dict.fromkeys(f"redacted: {kind} ({place})" for place, kind, _ in TALLY.taken())
    told = {
        "line": line,
        "stands": item.stands,
        "judge_spending": asdict(item.judge_spending),
        "notes": [*service.take_notes(), *(("warn", text) for text in redacted)],
        "selection": selection and asdict(selection),
        "evidence": shown.evidence if isinstance(shown, CaseRepr) else None,
    }
    setattr(report, CASE, told)
    report.extract_outcome = str(result.outcome)  # type: ignore[attr-defined]  # for what pytest shows of it
    report.extract_gold_change = item.gold_change and item.gold_change.kind  # type: ignore[attr-defined]


def _result_of_error(item: ExtractItem, excinfo: pytest.ExceptionInfo[BaseException]) -> CaseResult:
    match excinfo.value:
        case ExtractError() as error:
            why = str(error).partition("\n")[0]
        case pytest.FixtureLookupError() as error:
            why = error.msg or f"fixture {error.argname!r} not found"
        case error:
            why = f"{excinfo.typename}: {error}"
    return CaseResult(
        nodeid=item.nodeid,
        case_id=item.case.id,
        file=item.nodeid.partition("::")[0],
        variant=item.variant,
        outcome=Outcome.ERROR,
        why=why,
        **keys_in_result(item.case),
    )
