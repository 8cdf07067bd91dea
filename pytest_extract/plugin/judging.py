"""Who decides semantic comparisons: the project's `extract_judge`, or the judge that the options name."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_extract.core.case_result import CaseResult, Spending
from pytest_extract.core.judges import Panel
from pytest_extract.core.metrics import JUDGED
from pytest_extract.core.results import Judge
from pytest_extract.core.values import Json, canonical_json, text_digest
from pytest_extract.errors import CaseFileErrors
from pytest_extract.plugin.extraction import ExtractionService
from pytest_extract.plugin.items import ExtractItem
from pytest_extract.plugin.options import RUN_STARTED, Settings
from pytest_extract.plugin.project import JUDGE, value_made_before

if TYPE_CHECKING:
    from pytest_extract.extraction.caching_judge import CachingJudge

VERDICTS = "verdicts.yaml"


class Judges:
    """The judges of a session: the one of the options, and those that fixtures and extensions give; each is cached."""

    def __init__(self, config: pytest.Config, settings: Settings, extraction_service: ExtractionService) -> None:
        self._config = config
        self._settings = settings
        self._extraction_service = extraction_service
        self._run_started = getattr(config, "workerinput", {}).get(RUN_STARTED) or time.time()
        self._judges: dict[int, tuple[object, CachingJudge]] = {}

    def judge_for(self, item: ExtractItem) -> Judge | None:
        """Return who answers a case's questions; None where nobody can be asked, or nothing has to be."""
        return self._judge_of(item, item.fixture(JUDGE)) if item.case.scorer.needs_judge else None

    def judge_before_turn(self, item: ExtractItem) -> Judge | None:
        """Return the judge of an item whose fixtures are not set up; None where it is not known yet."""
        if not item.case.scorer.needs_judge:
            return None
        known, user = value_made_before(item, JUDGE)
        # The main thread imports litellm first: see ExtractionService.import_litellm
        return self._judge_of(item, user) if known and (user is not None or "litellm" in sys.modules) else None

    def digest(self, item: ExtractItem) -> str:
        """Return the digest of who decides a case's semantic comparisons: another judge makes it another question."""
        from pytest_extract.extraction.judges import identity_of
        from pytest_extract.extraction.llm_judge import PROMPT_VERSIONS

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
        if id(user) not in self._judges:
            self._judges[id(user)] = (user, self._build_judge(user))
        return self._judges[id(user)][1]

    def _build_judge(self, user: object) -> CachingJudge:
        from pytest_extract.extraction.caching_judge import build_judge
        from pytest_extract.extraction.completions import Retry

        settings = self._settings
        folders = dict.fromkeys((settings.recordings, self._config.rootpath))
        verdicts = [folder / VERDICTS for folder in folders if (folder / VERDICTS).is_file()]
        if len(verdicts) > 1:
            raise pytest.UsageError(f"there are people's verdicts in {verdicts[0]} and in {verdicts[1]}; keep one file")
        try:
            return build_judge(
                settings.judge,
                model=settings.judge_model,
                user=user,
                folder=self._cache_folder(),
                overrides=verdicts[0] if verdicts else None,
                slots=self._extraction_service.concurrency_limit,
                replay_only=settings.record == "none",
                since=self._run_started if settings.record == "all" else None,
                # with `off` nobody asked for a cache
                on_write_error=None if settings.record == "off" else self._extraction_service.write_errors.add_answer,
                retry=Retry(timeout_s=settings.timeout),
                loop=self._extraction_service.loop,
            )
        except CaseFileErrors as error:
            raise pytest.UsageError(str(error)) from error

    def _cache_folder(self) -> Path | None:
        """Return the folder of answers: that of the recordings if the run records or replays, else pytest's cache."""
        if self._settings.record != "off":
            from pytest_extract.extraction.recordings import JUDGE_FOLDER

            return self._settings.recordings / JUDGE_FOLDER
        cache = getattr(self._config, "cache", None)
        if cache is None:
            return None
        try:
            return Path(cache.mkdir("extract-judge"))
        except OSError:  # a read-only project: pytest's own plugins run without its cache there, too
            return None


def uses_judge(result: CaseResult) -> bool:
    """Whether some field of a result has a metric that a judge decides, also if the scorer decided in its place."""
    return any(leaf.metric in JUDGED for score in result.scores for leaf in score.leaves)
