"""Outputs and judges for items: replayed, or from calls of extractors and judges, within limits of number and cost.

Outputs and judge answers that could not be saved are reported at the end of the run, which then fails.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Spending, Variant
from pytest_extract.core.judges import Panel
from pytest_extract.core.results import DECLINED, FailureKind, Judge
from pytest_extract.core.values import Json, canonical_json, copied, text_digest
from pytest_extract.core.words import listed, plural
from pytest_extract.errors import CaseFileErrors, ConfigError, ExtractError, NotWritten
from pytest_extract.extraction.call import BackgroundLoop, Extraction, call_extractor
from pytest_extract.files import POLL_S, display_path
from pytest_extract.plugin.items import ExtractItem, Note
from pytest_extract.plugin.options import RUN, SETTINGS, Mode
from pytest_extract.plugin.project import EXTRACTOR, JUDGE, has_fixture, value_made_before
from pytest_extract.report.summary import Forecast
from pytest_extract.results import read_results
from pytest_extract.run_case import NotRun, RunPlan, plan_of

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from pytest_extract.changed import Selection
    from pytest_extract.extraction.caching_judge import CachingJudge
    from pytest_extract.extraction.recordings import RecordingKey, Recordings, RecordMode


class CallSlots:
    """The slots of all calls of a run, extractor's and judge's; none is given any more when the run has ended.

    `folder`: where the run has several processes, it has a lock file for each call, which the system releases if a
    worker dies. One thread of a process looks for a free lock at a time, so that each process gets its share; what it
    locks is its own, as filelock keeps that by thread.
    """

    def __init__(self, count: int, folder: Path | None = None) -> None:
        self._locks: list[BaseFileLock] = []
        if folder is not None:
            from filelock import FileLock

            folder.mkdir(mode=0o700, exist_ok=True)
            self._locks = [FileLock(folder / f"slot-{number}") for number in range(count)]
        self._free = threading.Semaphore(1 if self._locks else count)
        self._closed = False

    def __enter__(self) -> None:
        if self._locks:
            with self._free:
                self._lock_any()
        else:
            self._free.acquire()
        if self._closed:  # also for who has waited for a slot meanwhile
            self.__exit__()
            raise NotRun("the run has ended")

    def __exit__(self, *failure: object) -> None:
        if self._locks:
            next(lock for lock in self._locks if lock.is_locked).release()
        else:
            self._free.release()

    def _lock_any(self) -> None:
        from filelock import Timeout

        while True:
            for lock in self._locks:
                with suppress(Timeout):
                    lock.acquire(blocking=False)
                    return
            time.sleep(POLL_S)

    def close(self) -> None:
        """Let no call begin from now on."""
        self._closed = True


class Budget:
    """What a run has spent: a file to which all processes of the run append a line for each payment.

    Each call looks, so only what was appended since the last look is read.
    """

    def __init__(self, path: Path, limit: float) -> None:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=0o600)
        self._path = path
        self._limit = limit
        self._lock = threading.Lock()
        self._bytes_read = 0
        self._spent = self._estimated_usd = 0.0
        self._estimated = 0
        self._unknown = False

    def check(self) -> None:
        """Raise NotRun when the budget is spent, or when a call of unknown cost makes it impossible to keep."""
        self._read()
        if self._unknown:
            raise NotRun(
                f"the budget of ${self._limit:g} cannot be kept: a call reported no cost (an unpriced model, or an "
                "extractor without cost_usd)"
            )
        if self._spent >= self._limit:
            raise NotRun(f"the budget of ${self._limit:g} is spent")

    def notes(self) -> list[str]:
        """Say by how much the budget was exceeded, and what of it is spent by an estimate only."""
        self._read()
        notes = []
        if self._spent > self._limit:
            over = self._spent - self._limit
            notes.append(
                f"budget of ${self._limit:g} exceeded by ${over:,.4f}: what a call costs is known when it ends"
            )
        if self._estimated:
            notes.append(
                f"budget of ${self._limit:g}: about ${self._estimated_usd:,.6f} is counted for "
                f"{plural(self._estimated, 'call')} that reported no cost, an estimate by the length of the texts"
            )
        return notes

    def _read(self) -> None:
        with self._lock, self._path.open("rb") as file:
            file.seek(self._bytes_read)
            for line in file:
                usd, calls, is_estimate = json.loads(line)
                self._spent += usd or 0.0
                self._unknown |= usd is None
                if is_estimate:
                    self._estimated += calls
                    self._estimated_usd += usd
                self._bytes_read += len(line)

    def spend(self, cost_usd: float | None, calls: int = 1, *, estimated_usd: float | None = None) -> None:
        """Add the cost of some calls, or the estimate of it where it is unknown.

        It is one short append, which other processes cannot interrupt.
        """
        usd = estimated_usd if cost_usd is None else cost_usd
        text = json.dumps([usd, calls, cost_usd is None and usd is not None])
        with self._path.open("ab", buffering=0) as file:
            file.write(f"{text}\n".encode("ascii"))


def budget_of(config: pytest.Config) -> Budget | None:
    """Return the budget of the run, if it has one."""
    limit = config.stash[SETTINGS].budget
    return None if limit is None else Budget(config.stash[RUN].folder / "spent", limit)


class ResultsReplay:
    """The results of a past run, by case and variant; StoreError when its file cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results: dict[tuple[str, str], dict[str, CaseResult]] = defaultdict(dict)
        results = read_results(path).results
        for result in results:
            self._results[result.file, result.case_id][result.variant.label] = result
        self.variants = tuple(dict.fromkeys(result.variant for result in results))

    def leaves_out(self, file: str, case_id: str, variant: Variant) -> bool:
        """Whether that run has a case on other variants only."""
        runs = self._results.get((file, case_id))
        return runs is not None and variant.label not in runs

    def result_of(self, item: ExtractItem) -> CaseResult | None:
        """Return the result of a case in that run."""
        return self._results.get((item.nodeid.partition("::")[0], item.case.id), {}).get(item.variant.label)

    def extraction(self, item: ExtractItem, index: int) -> Extraction:
        """Return the output of a repeat; NotRun where that run has none of it, ExtractError where it raised."""
        result = self.result_of(item)
        if result is None:
            raise NotRun(f"{self.path.name} has no result of this case")
        if index >= len(result.attempts):
            raise NotRun(
                f"{self.path.name} has {len(result.attempts)} repeats of this case: {result.why or 'it stopped'}"
            )
        if result.digests.get("document") != item.case.document.sha256:
            raise NotRun(f"the document has changed since {self.path.name} was written, or it has no digest of it")
        attempt = result.attempts[index]
        if attempt.score is None and attempt.outcome is Outcome.ERROR:
            raise ExtractError(f"an error in the past run: {attempt.error}")
        if attempt.withheld is not None:
            raise NotRun(f"the past run did not keep this output: {attempt.withheld}")
        failure = None if attempt.score is None else attempt.score.failure
        if failure is not None and failure.kind not in DECLINED:
            # Scoring finds it again from the output; not that a value was no JSON, from the text kept of it.
            failure = failure if failure.kind is FailureKind.MALFORMED_JSON and failure.path is not None else None
        names = Attempt.__dataclass_fields__.keys() & Extraction.__dataclass_fields__.keys() - {"recorded", "notes"}
        told: dict[str, Any] = {name: getattr(attempt, name) for name in names}
        return Extraction(**told, recorded=True, failure=failure, extractor=result.digests.get("extractor"))


BASELINE_RUNS: Final = 3
"""Runs of each case of a baseline that a model makes, where no number is given."""
_INSTRUCTION_TOKENS: Final = 300


class ExtractionService:
    """The only source of outputs. `Prefetcher` calls `extraction` in other threads, before an item's turn.

    `selections`: under `--extract-changed`, whether each case is called or replayed, by node id.
    `check_extractor`: refuses, before a call, an extractor that cannot see something that was asked for.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._settings = settings = config.stash[SETTINGS]
        self._root = config.rootpath
        self._budget = budget_of(config)
        shared = config.stash[RUN].folder if hasattr(config, "workerinput") else None
        self.concurrency_limit = CallSlots(settings.concurrency, shared)
        self.loop = BackgroundLoop()
        self._notes: deque[Note] = deque()
        self.replay = None if settings.from_results is None else ResultsReplay(settings.from_results)
        self.selections: dict[str, Selection] = {}
        self.check_extractor: Callable[[ExtractItem, object], None] | None = None
        self._built_in_extractors: dict[tuple[str, Mode], Callable[..., Any]] = {}
        self._recordings: dict[str, Recordings] = {}
        self._digests: dict[int, tuple[object, str]] = {}
        self._calls_model_for_baseline = False
        self._sources: dict[Path | None, tuple[tuple[Path, ...], str]] = {}

    @property
    def replays_only(self) -> bool:
        """Whether no extractor is ever called."""
        return self.replay is not None or self._settings.record == "none" or self._settings.dry_run

    def plan_for(self, item: ExtractItem) -> RunPlan:
        """Return how often an item runs: the option decides, then a replayed run, then the case."""
        if item.fresh_runs:
            return RunPlan(of=item.fresh_runs, needed=item.fresh_runs, to_the_end=True)
        repeat = self._settings.repeat
        past = None if self.replay is None else self.replay.result_of(item)
        if repeat is None and past is not None and len(past.attempts) > item.case.repeat.of:
            repeat = len(past.attempts)
        if repeat is None and self._calls_model_for_baseline and item.case.repeat.of == 1:
            repeat = BASELINE_RUNS
        return plan_of(item.case, repeat)

    def plan_for_baseline(self, item: ExtractItem, result: CaseResult) -> RunPlan | None:
        """Return the plan by which a case runs on that has run once, if it is to become part of a baseline; else None.

        One run of a model is luck, so a baseline has several by default. A replay costs nothing and stays one; so does
        an extractor that tells of no tokens and no cost, as it may call no model.
        """
        settings = self._settings
        if settings.update_baseline != "replace" or settings.repeat is not None or item.case.repeat.of > 1:
            return None
        if len(result.attempts) != 1 or result.attempts[0].recorded or result.attempts[0].score is None:
            return None
        first = result.attempts[0]
        if item.variant.model is None and not first.usage and not first.cost_usd:
            return None
        # With recordings, each case shows for itself if it is called or replayed.
        self._calls_model_for_baseline = settings.record in {"off", "all"} and settings.changed is None
        return plan_of(item.case, BASELINE_RUNS)

    def _mode(self, item: ExtractItem) -> RecordMode:
        """Return how recordings serve a case; under `--extract-changed` selected cases are called, others replayed."""
        selection = None if item.fresh_runs else self.selections.get(item.nodeid)
        mode = self._settings.record
        if selection is None:
            return mode
        if not selection.live:
            return "none"
        return "off" if mode in {"off", "none"} else "all"

    def _recordings_for(self, item: ExtractItem) -> Recordings:
        mode, settings = self._mode(item), self._settings
        if mode not in self._recordings:
            from pytest_extract.extraction.recordings import DEFAULT_FOLDER, Recordings

            # The options on which recordings, or node ids, depend, to record again with; each key holds the model.
            folder = display_path(settings.recordings, self._root)
            given: list[tuple[str, object]] = [
                *(("prompt", display_path(path, self._root)) for path in settings.prompt),
                *(("mode", mode) for mode in settings.mode if settings.mode != ("prompt",)),
                ("repeat", settings.repeat),
                ("base-ref", settings.base_ref),
                ("recordings", None if folder == DEFAULT_FOLDER else folder),
                ("confirm", settings.confirm),
            ]
            self._recordings[mode] = Recordings(
                settings.recordings,
                mode,
                [f"--extract-{name}={value}" for name, value in given if value is not None],
                partial(self.note_not_written, "an output"),
                lambda why: self._notes.append(("warn", f"not recorded: {why}")),
            )
        return self._recordings[mode]

    def extraction(self, item: ExtractItem, index: int, make: Callable[[], Any]) -> Extraction:
        """Return the output of repeat `index`; `make` gives its extractor. Safe in any thread if `make` is.

        Raises what the extractor raises, NotRecorded and NotRun. A recording also replaces an extractor that cannot be
        made here (no key in CI).
        """
        if self.replay is not None:
            return self.replay.extraction(item, index)
        if self._mode(item) == "off":
            return self._call(item, make())
        from pytest_extract.extraction.recordings import NotRecorded

        extractor, error = _made_or_error(make)

        def call() -> Extraction:
            if error is not None:
                raise error
            return self._call(item, extractor)

        try:
            found = self._recordings_for(item).obtain(self._key(item, extractor, index), call, item.owned)
        except NotRecorded as missing:
            raise missing if error is None else NotRecorded(f"{missing}\nwithout an extractor: {error!r}") from error
        if not found.recorded or error is not None or found.extractor in {None, self._digest_of(extractor)}:
            return found
        names = [display_path(path, self._root.resolve()) for path in self._sources_of(extractor)[0]]
        code = f"other code ({listed(names)})" if names else "another extractor"
        is_meant = self._settings.changed is not None or self._settings.other_code == "allow"
        if self._settings.record == "none" and not is_meant:
            raise NotRecorded(
                f"this output was recorded by {code}; renew it with --extract-record=all, or replay it all the same "
                "with --extract-other-code=allow"
            )
        text = f"an output is recorded by {code}; --extract-record=all renews what it replays"
        self._notes.append(("warn", text))
        return replace(found, other_code=not is_meant)

    def note_not_written(self, what: str, error: NotWritten) -> None:
        """Note an output, or an answer of a judge, that cannot be written; from any thread."""
        text = (
            f"{what} is not recorded: {error.path.parents[1]} cannot be written: {error.reason}; it counts in this "
            "run, and will be paid for again in the next; give a folder that can be written to "
            "(--extract-recordings=DIR)"
        )
        self._notes.append(("bad", text))

    def take_notes(self) -> list[Note]:
        """Return what was noted since the last call, for a report to take to the end of the run."""
        return [self._notes.popleft() for _ in range(len(self._notes))]

    def forecast(self, item: ExtractItem) -> Forecast:
        """Estimate the calls and the cost of an item, without a call."""
        repeats = self.plan_for(item).of
        if self.replay is not None:
            return Forecast(calls=0, recorded=repeats, cost_usd=0.0)
        recorded = 0
        mode = self._mode(item)
        if mode not in {"off", "all"}:
            extractor, _ = _made_or_error(partial(self.extractor_for, item))
            recorded = sum(self._is_recorded(item, extractor, index) for index in range(repeats))
        calls = 0 if mode == "none" else repeats - recorded
        each = _price_of_call(item.case, item.variant.model) if calls else 0.0
        return Forecast(calls=calls, recorded=recorded, cost_usd=None if each is None else each * calls)

    def _is_recorded(self, item: ExtractItem, extractor: object, index: int) -> bool:
        from pytest_extract.extraction.recordings import NotRecorded

        try:
            return self._recordings_for(item).lookup(self._key(item, extractor, index)) is not None
        except NotRecorded:
            return False

    def _key(self, item: ExtractItem, extractor: object, index: int) -> RecordingKey:
        from pytest_extract.extraction.recordings import key_of

        return key_of(
            item.case,
            extractor=extractor,
            nodeid=item.nodeid,
            root=self._root,
            model=item.variant.model or item.variant.param,
            repeat=index,
            revision=item.variant.revision,
            mode=item.variant.mode,
            confirmation=bool(item.fresh_runs),
            extractor_digest=None if extractor is None else self._digest_of(extractor),
        )

    def _call(self, item: ExtractItem, extractor: object) -> Extraction:
        if self.check_extractor is not None:
            self.check_extractor(item, extractor)
        # The extractor may prepare the schema for its model in place: cases share it, and are scored by it.
        case = replace(item.case, schema=copied(item.case.schema), gold=copied(item.case.gold))
        with self.concurrency_limit:
            if self._budget is not None:
                self._budget.check()
            extraction = call_extractor(
                extractor,
                loop=self.loop,
                document=case.document,
                schema=case.schema,
                question=case.question,
                prompt=None if case.prompt is None else case.prompt.text,
                model=item.variant.model,
                case=case,
            )
            if self._budget is not None and not extraction.recorded:
                self._budget.spend(extraction.cost_usd, estimated_usd=extraction.estimated_usd)
        return replace(extraction, extractor=self._digest_of(extractor))

    def prepare_calls(self, item: ExtractItem, extractor: object, repeats: int) -> None:
        """Do what calls by other threads must not: read the extractor's code, import litellm if they need it.

        Of two threads that parse code at a time, one fails under Python 3.11 (CPython issue 106905). The import warns
        a lot, and the filters that silence it are those of the whole process. pytest changes them between two items: in
        a suite that turns warnings to errors, an import in another thread would fail sometimes.
        """
        if extractor is not None:
            self._digest_of(extractor)
        if "litellm" in sys.modules or extractor not in self._built_in_extractors.values():
            return
        if self._mode(item) == "off" or not all(self._is_recorded(item, extractor, each) for each in range(repeats)):
            from pytest_extract.extraction.litellm import load_litellm

            with suppress(ConfigError):  # the call itself raises it again
                load_litellm()

    def pay_judge(self, spending: Spending) -> None:
        """Take the cost of a judge's calls from the run's budget."""
        if self._budget is None or not spending.calls:
            return
        counted = spending.calls - spending.uncounted
        if counted:
            cost = spending.cost_usd if spending.unpriced == spending.uncounted else None
            self._budget.spend(cost, counted)
        if spending.uncounted:
            self._budget.spend(None, spending.uncounted, estimated_usd=spending.estimated_usd)

    def extractor_for(self, item: ExtractItem) -> Any:
        """Return the project's extractor; without one, the built-in one for the variant's model; else None."""
        if has_fixture(item, EXTRACTOR):
            return item.fixture(EXTRACTOR)
        model = item.variant.model
        if model is None:
            return None
        key = model, cast("Mode", item.variant.mode or self._settings.mode[0])
        if key not in self._built_in_extractors:
            from pytest_extract.extraction.litellm import LitellmExtractor, Retry

            retry = Retry(timeout_s=self._settings.timeout)
            self._built_in_extractors[key] = LitellmExtractor(model=model, mode=key[1], retry=retry)
        return self._built_in_extractors[key]

    def _digest_of(self, extractor: object) -> str:
        """Return the digest of what makes an extractor: its source below the root, and its parameters."""
        from pytest_extract.extraction.call import recorded_params
        from pytest_extract.redact import without_credentials

        if id(extractor) not in self._digests:
            _, sources = self._sources_of(extractor)
            params = canonical_json(without_credentials(recorded_params(extractor)))
            self._digests[id(extractor)] = (extractor, text_digest(sources + params))
        return self._digests[id(extractor)][1]

    def _sources_of(self, extractor: object) -> tuple[tuple[Path, ...], str]:
        """Return the files that make an extractor, and their digest; read once for all extractors of a file."""
        from pytest_extract.changed import declared_files, extractor_sources, file_of, sources_digest

        file = file_of(extractor)
        if file not in self._sources:
            paths = extractor_sources(extractor, self._root, declared_files(self._settings.files, self._root))
            self._sources[file] = paths, sources_digest(paths, self._root)
        return self._sources[file]


def _made_or_error(make: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return make(), None
    except Exception as error:  # noqa: BLE001  # a user's fixture; raised again if there is no recording
        return None, error


def _price_of_call(case: Case, model: str | None) -> float | None:
    """Estimate the cost of one call in USD from the sizes of its input and of the gold; None without a known price."""
    if model is None:
        return None
    from pytest_extract.documents import DocumentError
    from pytest_extract.extraction.litellm import ATTACHMENT_TOKENS, price, text_tokens

    try:
        document_tokens = text_tokens(case.document.text)
    except DocumentError:  # an image, audio
        document_tokens = ATTACHMENT_TOKENS
    instructions = json.dumps(case.schema) + (case.prompt.text if case.prompt is not None else "")
    prompt_tokens = document_tokens + _INSTRUCTION_TOKENS + text_tokens(instructions)
    return price(model, prompt_tokens, text_tokens(canonical_json(case.gold)))


VERDICTS = "verdicts.yaml"


class Judges:
    """The judges of a session: the one of the options, and those that fixtures and extensions give; each is cached."""

    def __init__(self, config: pytest.Config, extraction_service: ExtractionService) -> None:
        self._config = config
        self._settings = config.stash[SETTINGS]
        self._extraction_service = extraction_service
        self._judges: dict[int, tuple[object, CachingJudge]] = {}

    def judge_for(self, item: ExtractItem) -> Judge | None:
        """Return who answers a case's questions; None where nobody can be asked, or nothing has to be."""
        return self._judge_of(item, item.fixture(JUDGE)) if item.case.scorer.needs_judge else None

    def judge_before_turn(self, item: ExtractItem) -> Judge | None:
        """Return the judge of an item whose fixtures are not set up; None where it is not known yet."""
        if not item.case.scorer.needs_judge:
            return None
        known, user = value_made_before(item, JUDGE)
        # The main thread imports litellm first: see ExtractionService.prepare_calls
        return self._judge_of(item, user) if known and (user is not None or "litellm" in sys.modules) else None

    def digest(self, item: ExtractItem) -> str:
        """Return the digest of who decides a case's semantic comparisons: another judge makes it another question."""
        from pytest_extract.extraction.judges import PROMPT_VERSIONS, identity_of

        identity: Json = [self._settings.judge]
        if self._settings.judge == "llm":
            user = item.fixture(JUDGE)
            asked = [self._settings.judge_model, dict(PROMPT_VERSIONS)] if user is None else [identity_of(user)]
            named = sorted(item.case.scorer.judges.items())
            identity += [*asked, *([name, identity_of(judge)] for name, judge in named)]
        return text_digest(canonical_json(identity))

    def spent(self) -> Spending:
        """Return what the judges' models have used so far in this process."""
        return sum((judge.spent for _, judge in self._judges.values()), Spending())

    def _judge_of(self, item: ExtractItem, user: object) -> Judge | None:
        """Return the judges that the case's schema names, and for all other questions the fixture's or the options'."""
        default, named = self._caching_judge(user), item.case.scorer.judges
        if not named:
            return default
        judges = {name: cached for name, judge in named.items() if (cached := self._caching_judge(judge)) is not None}
        return Panel(default=default, named=judges)

    def _caching_judge(self, user: object) -> CachingJudge | None:
        """Return the cached judge of a fixture, or (`user` is None) of the options; None where nobody can be asked.

        Under `exact` and `fuzzy` the scorer itself decides.
        """
        settings = self._settings
        if settings.judge != "llm" or (user is None and settings.judge_model is None):
            return None
        if id(user) in self._judges:
            return self._judges[id(user)][1]
        from pytest_extract.extraction.caching_judge import build_judge
        from pytest_extract.extraction.litellm import Retry
        from pytest_extract.extraction.recordings import JUDGE_FOLDER

        answers: Path | None = settings.recordings / JUDGE_FOLDER
        if settings.record == "off":
            cache, answers = getattr(self._config, "cache", None), None
            with suppress(OSError):  # a read-only project: pytest's own plugins run without its cache there, too
                answers = None if cache is None else Path(cache.mkdir("extract-judge"))
        folders = dict.fromkeys((settings.recordings, self._config.rootpath))
        verdicts = [folder / VERDICTS for folder in folders if (folder / VERDICTS).is_file()]
        if len(verdicts) > 1:
            raise pytest.UsageError(f"there are people's verdicts in {verdicts[0]} and in {verdicts[1]}; keep one file")
        try:
            built = build_judge(
                model=settings.judge_model,
                user=user,
                folder=answers,
                overrides=verdicts[0] if verdicts else None,
                slots=self._extraction_service.concurrency_limit,
                replay_only=settings.record == "none",
                since=self._config.stash[RUN].started if settings.record == "all" else None,
                # with `off` nobody asked for a cache
                on_write_error=None
                if settings.record == "off"
                else partial(self._extraction_service.note_not_written, "an answer of the judge"),
                retry=Retry(timeout_s=settings.timeout),
                loop=self._extraction_service.loop,
            )
        except CaseFileErrors as error:
            raise pytest.UsageError(str(error)) from error
        self._judges[id(user)] = (user, built)
        return built
