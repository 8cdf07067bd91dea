"""Judges: who decides whether two values mean the same. `build_judge` makes the one that a run is configured for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pytest_extract.core.values import Json
    from pytest_extract.errors import NotWritten
    from pytest_extract.extraction.call import BackgroundLoop
    from pytest_extract.extraction.completions import Retry
    from pytest_extract.extraction.judge.cache import CachingJudge

JudgeMode: TypeAlias = Literal["exact", "fuzzy", "llm"]
JUDGE_MODES: Final[tuple[JudgeMode, ...]] = ("exact", "fuzzy", "llm")


def build_judge(
    mode: JudgeMode = "llm",
    *,
    model: str | None = None,
    user: object = None,
    folder: Path | None = None,
    overrides: Path | None = None,
    slots: AbstractContextManager[object] | None = None,
    replay_only: bool = False,
    since: float | None = None,
    on_write_error: Callable[[NotWritten], None] | None = None,
    retry: Retry | None = None,
    options: Mapping[str, Json] | None = None,
    loop: BackgroundLoop | None = None,
) -> CachingJudge:
    """Return a judge: questions -> answers, `None` where undecided (`.why(question)` says why, `.spent` what it cost).

    mode: `exact` and `fuzzy` ask nobody; `llm` asks `user` (what the fixture `extract_judge` gave), else `model`.
    folder: where answers are stored; None: nowhere. overrides: `verdicts.yaml`. replay_only: stored answers or none.
    since: ask again what was stored before this time (seconds of the epoch). on_write_error: called with each answer
    that cannot be written. slots: each call holds one of them. Raises ConfigError if there is no judge to ask,
    CaseFileErrors for bad overrides.
    """
    from pytest_extract.extraction.judge.cache import AnswerCache, CachingJudge
    from pytest_extract.extraction.judge.judges import UserJudge, ask_exact, ask_fuzzy
    from pytest_extract.extraction.judge.llm import LlmJudge
    from pytest_extract.extraction.judge.overrides import Overrides, load_overrides

    _check(mode, model, user)
    people = Overrides() if overrides is None else load_overrides(overrides)
    if mode == "exact":
        return CachingJudge(ask_exact, overrides=people)
    if mode == "fuzzy":
        return CachingJudge(ask_fuzzy, overrides=people)
    ask: UserJudge | LlmJudge
    if user is not None:
        ask = UserJudge(user, loop, slots)
    else:
        ask = LlmJudge(str(model), slots=slots, retry=retry, options=options)
    stored = None
    if folder is not None and ask.identity is not None:
        stored = AnswerCache(folder, ask.identity, since=since, on_write_error=on_write_error)
    return CachingJudge(None if replay_only else ask, stored=stored, overrides=people)


def _check(mode: str, model: str | None, user: object) -> None:
    from pytest_extract.errors import ConfigError, nearest

    if mode not in JUDGE_MODES:
        raise ConfigError(f"no judge {mode!r}{nearest(mode, JUDGE_MODES)}")
    if mode == "llm" and user is None and not model:
        from pytest_extract.core.judges import GIVE_A_JUDGE

        raise ConfigError(f"a comparison needs a judge and none is configured: {GIVE_A_JUDGE}")
