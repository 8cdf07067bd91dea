"""Outputs for items: replayed, or from the user's extractor or the built-in one, called now."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_extract.core.values import canonical_json, copied, text_digest
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.base import Extraction
from pytest_extract.extraction.call import call_extractor
from pytest_extract.extraction.loop import BackgroundLoop
from pytest_extract.extraction.recordings.key import display_path
from pytest_extract.extraction.recordings.store import NotRecorded, Recordings, RecordMode
from pytest_extract.plugin.arms import EXTRACTOR, visible
from pytest_extract.plugin.budget import Budget
from pytest_extract.plugin.forecast import call_price
from pytest_extract.plugin.options import Settings
from pytest_extract.plugin.write_errors import WriteErrors
from pytest_extract.report.totals import Forecast, JudgeSpending

if TYPE_CHECKING:
    from pytest_extract.core.case_result import CaseResult
    from pytest_extract.extraction.recordings.key import RecordingKey
    from pytest_extract.plugin.items import ExtractItem
    from pytest_extract.plugin.replay import ResultsReplay
    from pytest_extract.regression.selection import Selection

_USUAL_FOLDER = "extract-recordings"


class ExtractionService:
    """The one place where outputs come from. `extraction` is what a scheduler that calls ahead stands in for."""

    def __init__(
        self, settings: Settings, root: Path, purse: Budget | None, slots: AbstractContextManager[object]
    ) -> None:
        self._settings = settings
        self._root = root
        self._purse = purse
        self.slots = slots
        self.loop = BackgroundLoop()
        self._built_in: dict[str, Callable[..., Any]] = {}
        self._recordings: dict[str, Recordings] = {}
        self._digests: dict[int, tuple[object, str]] = {}
        self._made_by: dict[str, set[str | None]] = {}
        self.unkept = WriteErrors()
        self.past = _past(settings.from_results)
        self.choices: dict[str, Selection] = {}

    @property
    def may_replay(self) -> bool:
        """Whether an output may come from elsewhere, so that making the extractor can wait until it is called."""
        return self.replays_only or self._settings.record in {"once", "new"} or self._settings.changed is not None

    @property
    def replays_only(self) -> bool:
        """Whether no extractor is ever called."""
        return self.past is not None or self._settings.record == "none" or self._settings.dry_run

    def _mode(self, item: ExtractItem) -> RecordMode:
        """How recordings serve a case; under `--extract-changed` what is called is called, and the rest replayed."""
        choice = self.choices.get(item.nodeid)
        mode = self._settings.record
        if choice is None:
            return mode
        if not choice.live:
            return "none"
        return "off" if mode in {"off", "none"} else "all"

    def _recordings_for(self, item: ExtractItem) -> Recordings:
        mode = self._mode(item)
        if mode not in self._recordings:
            renewal = _renewal(self._settings, self._root)
            self._recordings[mode] = Recordings(
                self._settings.recordings, mode, renewal, self.unkept.output, self.unkept.refused
            )
        return self._recordings[mode]

    def extraction(self, item: ExtractItem, index: int) -> Extraction:
        """Return the output of repeat `index`; raises what the extractor raises, NotRecorded and NotRun."""
        if self.past is not None or self._mode(item) == "off":
            return self.extraction_with(item, index, None if self.past else self.extractor_for(item))
        extractor, error = self._extractor_or_error(item)
        return self._recorded(item, index, extractor, error)

    def extraction_with(self, item: ExtractItem, index: int, extractor: object) -> Extraction:
        """Return the output of repeat `index` by an extractor that is there already; safe in any thread."""
        if self.past is not None:
            return self._replayed(item, self.past.extraction(item, index))
        if self._mode(item) == "off":
            return self._call(item, extractor)
        return self._recorded(item, index, extractor, None)

    def _recorded(self, item: ExtractItem, index: int, extractor: object, error: Exception | None) -> Extraction:
        """Look for a recording first: it may stand in also for an extractor that cannot be made here (no key in CI)."""

        def called() -> Extraction:
            if error is not None:
                raise error
            return replace(self._call(item, extractor), extractor=self._digest_of(extractor))

        try:
            found = self._recordings_for(item).obtain(self._key(item, extractor, index), called, item.owned)
        except NotRecorded as missing:
            raise missing if error is None else NotRecorded(f"{missing}\nwithout an extractor: {error!r}") from error
        return self._replayed(item, found) if found.recorded else found

    def _replayed(self, item: ExtractItem, found: Extraction) -> Extraction:
        self._made_by.setdefault(item.nodeid, set()).add(found.extractor)
        return found

    def _extractor_or_error(self, item: ExtractItem) -> tuple[Any, Exception | None]:
        try:
            return self.extractor_for(item), None
        except Exception as error:  # noqa: BLE001  # a user's fixture; raised again if nothing stands in for it
            return None, error

    def forecast(self, item: ExtractItem, repeats: int) -> Forecast:
        """Say what running the item would take, without a call."""
        recorded = 0
        mode = self._mode(item)
        if mode not in {"off", "all"}:
            extractor, _ = self._extractor_or_error(item)
            recorded = sum(self._is_recorded(item, self._key(item, extractor, index)) for index in range(repeats))
        calls = 0 if mode == "none" else repeats - recorded
        each = call_price(item.case, item.arm.model) if calls else 0.0
        return Forecast(calls=calls, recorded=recorded, cost_usd=None if each is None else each * calls)

    def _is_recorded(self, item: ExtractItem, key: RecordingKey) -> bool:
        try:
            return self._recordings_for(item).lookup(key) is not None
        except NotRecorded:
            return False

    def _key(self, item: ExtractItem, extractor: object, index: int) -> RecordingKey:
        from pytest_extract.extraction.recordings.key import key_of

        return key_of(
            item.case,
            extractor=extractor,
            nodeid=item.nodeid,
            root=self._root,
            model=item.arm.model,
            repeat=index,
            revision=item.arm.revision,
        )

    def _call(self, item: ExtractItem, extractor: object) -> Extraction:
        # The extractor may prepare the schema for its model in place: cases share it, and are scored by it.
        case = replace(item.case, schema=copied(item.case.schema), gold=copied(item.case.gold))
        with self.slots:
            if self._purse is not None:
                self._purse.check()
            extraction = call_extractor(
                extractor,
                loop=self.loop,
                document=case.document,
                schema=case.schema,
                question=case.question,
                prompt=None if case.prompt is None else case.prompt.text,
                model=item.arm.model,
                case=case,
            )
            if self._purse is not None and not extraction.recorded:
                self._purse.spend(extraction.cost_usd)
        return extraction

    def make_ready(self, item: ExtractItem, extractor: object, repeats: int) -> None:
        """Import what calls by the built-in extractor need, before another thread makes one.

        The import warns a lot, and is silenced by filters of the whole process. Those pytest changes between two items:
        in a suite that turns warnings to errors, an import in another thread would fail now and then.
        """
        if "litellm" in sys.modules or extractor not in self._built_in.values():
            return
        keys = [] if self._mode(item) == "off" else [self._key(item, extractor, index) for index in range(repeats)]
        if not keys or not all(self._is_recorded(item, key) for key in keys):
            from pytest_extract.extraction.llm.client import load_litellm

            with suppress(ConfigError):  # told by the call itself
                load_litellm()

    def pay(self, judged: JudgeSpending) -> None:
        """Take what the judge cost out of the run's purse."""
        if self._purse is not None and judged.calls:
            self._purse.spend(None if judged.unpriced else judged.cost_usd, judged.calls)

    def extractor_for(self, item: ExtractItem) -> Any:
        """Return the project's extractor; without one, the built-in one for the arm's model; else None."""
        if visible(item, EXTRACTOR):
            return item.fixture(EXTRACTOR)
        model = item.arm.model
        if model is None:
            return None
        if model not in self._built_in:
            from pytest_extract.extraction.litellm import LitellmExtractor
            from pytest_extract.extraction.llm.client import Retry

            retry = Retry(timeout_s=self._settings.timeout)
            self._built_in[model] = LitellmExtractor(model=model, mode=self._settings.mode, retry=retry)
        return self._built_in[model]

    def extractor_digest(self, item: ExtractItem, result: CaseResult) -> str | None:
        """Digest of the extractor that made a result's outputs: its source below the root, its parameters.

        Of a replayed output, what was recorded with it. None where that is not known of every output.
        """
        made_by = self._made_by.pop(item.nodeid, set())
        if any(attempt.score is not None and not attempt.recorded for attempt in result.attempts):
            made_by.add(self._digest_of(self.extractor_for(item)))
        known = [digest for digest in made_by if digest is not None]
        if not known or len(known) < len(made_by):
            return None
        return known[0] if len(known) == 1 else text_digest("\n".join(sorted(known)))

    def _digest_of(self, extractor: object) -> str:
        if id(extractor) not in self._digests:
            self._digests[id(extractor)] = (extractor, _digest(extractor, self._root))
        return self._digests[id(extractor)][1]

    def close(self) -> None:
        """End the thread that ran coroutines."""
        self.loop.close()


def _renewal(settings: Settings, root: Path) -> list[str]:
    """Options that the recordings of this run, or the ids of its items, hang on; the model is in each key."""
    recordings = display_path(settings.recordings, root)
    given: dict[str, list[object]] = {
        "prompt": [display_path(path, root) for path in settings.prompt],
        "mode": [settings.mode] if settings.mode != "prompt" else [],
        "repeat": [settings.repeat] if settings.repeat is not None else [],
        "base-ref": [settings.base_ref] if settings.base_ref is not None else [],
        "recordings": [] if recordings == _USUAL_FOLDER else [recordings],
    }
    return [f"--extract-{name}={value}" for name, values in given.items() for value in values]


def _past(path: Path | None) -> ResultsReplay | None:
    if path is None:
        return None
    from pytest_extract.plugin.replay import ResultsReplay

    return ResultsReplay(path)


def _digest(extractor: object, root: Path) -> str:
    from pytest_extract.regression.extractor_sources import extractor_sources, sources_digest

    params = getattr(extractor, "extract_params", {})
    return text_digest(sources_digest(extractor_sources(extractor, root), root) + canonical_json(dict(params)))
