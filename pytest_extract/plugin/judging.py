"""Who decides semantic comparisons: the project's `extract_judge`, or the judge that the options name."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_extract.core.judges import Panel
from pytest_extract.core.results import Judge
from pytest_extract.core.values import Json, canonical_json, text_digest
from pytest_extract.errors import CaseFileErrors
from pytest_extract.extraction.loop import BackgroundLoop
from pytest_extract.extraction.recordings.folder import JUDGE_FOLDER
from pytest_extract.plugin.options import Settings
from pytest_extract.plugin.write_errors import WriteErrors
from pytest_extract.report.totals import JudgeSpending

if TYPE_CHECKING:
    from pytest_extract.extraction.judge.cache import CachingJudge

VERDICTS = "verdicts.yaml"


class Judges:
    """One judge for the session, and one for each that a project's fixtures and extensions give."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        *,
        loop: BackgroundLoop,
        slots: AbstractContextManager[object],
        unkept: WriteErrors,
    ) -> None:
        self._settings = settings
        self._loop = loop
        self._slots = slots
        self._unkept = unkept
        self._config = config
        self._verdicts = (settings.recordings / VERDICTS, config.rootpath / VERDICTS)
        self._judges: dict[int, tuple[object, CachingJudge]] = {}

    def judge_for(self, user: object, named: Mapping[str, Judge]) -> Judge | None:
        """Return the judge of a case: the judges that its schema names, and `caching_judge_for` for other questions."""
        default = self.caching_judge_for(user)
        if not named:
            return default
        judges = {name: own for name, judge in named.items() if (own := self.caching_judge_for(judge)) is not None}
        return Panel(default=default, named=judges)

    def digest(self, user: object, named: Mapping[str, Judge]) -> str:
        """Digest of who decides a case's semantic comparisons; with another judge they are another question."""
        from pytest_extract.extraction.judge.prompt import PROMPT_VERSIONS
        from pytest_extract.extraction.judge.user import identity_of

        who: Json = [self._settings.judge]
        if self._settings.judge == "llm":
            asked = [self._settings.judge_model, dict(PROMPT_VERSIONS)] if user is None else [identity_of(user)]
            who += [*asked, *([name, identity_of(judge)] for name, judge in sorted(named.items()))]
        return text_digest(canonical_json(who))

    def caching_judge_for(self, user: object) -> CachingJudge | None:
        """Return the fixture's judge, or (`user` is None) that of the options; None where nobody can be asked.

        Under `exact` and `fuzzy` the scorer itself decides.
        """
        settings = self._settings
        if settings.judge != "llm" or (user is None and settings.judge_model is None):
            return None
        if id(user) not in self._judges:
            self._judges[id(user)] = (user, self._new_judge(user))
        return self._judges[id(user)][1]

    def _new_judge(self, user: object) -> CachingJudge:
        from pytest_extract.extraction.judge import build_judge
        from pytest_extract.extraction.llm.client import Retry

        settings = self._settings
        verdicts = [path for path in dict.fromkeys(self._verdicts) if path.is_file()]
        if len(verdicts) > 1:
            raise pytest.UsageError(f"people's verdicts stand in {verdicts[0]} and in {verdicts[1]}; keep one of them")
        try:
            return build_judge(
                settings.judge,
                model=settings.judge_model,
                user=user,
                folder=answers_folder(self._config, settings),
                overrides=verdicts[0] if verdicts else None,
                slots=self._slots,
                replay_only=settings.record == "none",
                refresh=settings.record == "all",
                on_write_error=None if settings.record == "off" else self._unkept.answer,  # nobody asked for it
                retry=Retry(timeout_s=settings.timeout),
                loop=self._loop,
            )
        except CaseFileErrors as error:
            raise pytest.UsageError(str(error)) from error

    def spent(self) -> JudgeSpending:
        """Return what the judges' models have used so far in this process."""
        spent = [judge.spent for _, judge in self._judges.values()]
        return JudgeSpending(
            calls=sum(one.calls for one in spent),
            unpriced=sum(one.unpriced for one in spent),
            cost_usd=sum(one.cost_usd for one in spent),
            tokens=sum(one.prompt_tokens + one.completion_tokens for one in spent),
        )


def answers_folder(config: pytest.Config, settings: Settings) -> Path | None:
    """Where answers are kept: beside the recordings when the run records or replays, else in pytest's own cache."""
    if settings.record != "off":
        return settings.recordings / JUDGE_FOLDER
    cache = getattr(config, "cache", None)
    if cache is None:
        return None
    try:
        return Path(cache.mkdir("extract-judge"))
    except OSError:  # a read-only project: pytest does without its cache there, too
        return None
