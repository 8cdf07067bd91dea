"""Answers of judges: people's verdicts first, then stored answers, then the judge itself, which is asked once.

`CachingJudge` answers the questions of cases. `AnswerCache` stores answers on disk by content, so that equal pairs get
the same verdict and a second run asks nothing. A file is `DIR/KK/KEY-JUDGE.json`: `KEY` is the digest of the question's
content (`Question.key`), `JUDGE` that of the judge's identity and the version of the prompt for its kind of question.
The first answer written stays; later writers get it back. A file's modification time is the day of its last use, as no
case file tells which questions an output will raise.

People's verdicts (`verdicts.yaml`) win over every judge from then on:

    - gold: ACME Corporation
      extracted: Acme Corp.
      equal: true                     # or `score: 0.5`
      instructions: Compare names.    # optional: only for questions with just these instructions
      reason: the same company        # optional
      by: anna                        # optional

A list as above, or under the key `verdicts`. Values are those that were compared, as JSON; scalars are read as in
case files (`no` is a string).
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pytest_extract.cases.sources import Mistake, SourceFile, errors_of, parse_source, read_text
from pytest_extract.core.case_result import Spending
from pytest_extract.core.judges import GIVE_A_JUDGE
from pytest_extract.core.results import Alignment, Answer, JudgeAnswer, Question
from pytest_extract.core.values import Json, Step, canonical_json, text_digest
from pytest_extract.errors import CaseFileError, CaseFileErrors, ConfigError, NotWritten, StoreError, nearest
from pytest_extract.extraction.judges import (
    Ask,
    Decision,
    UnansweredQuestion,
    UserJudge,
    ask_exact,
    ask_fuzzy,
    checked_answer,
)
from pytest_extract.extraction.llm_judge import PROMPT_VERSIONS, LlmJudge
from pytest_extract.files import making, read_regular_text, write_atomic, write_once
from pytest_extract.redact import TALLY, current

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pytest_extract.extraction.call import BackgroundLoop
    from pytest_extract.extraction.completions import Retry


KEYS: Final = ("gold", "extracted", "equal", "score", "instructions", "reason", "by")
_MISSING: Final = object()


def pair_key(gold: Json, extracted: Json) -> str:
    """Return the digest of a pair of values, whatever was asked about them."""
    return text_digest(canonical_json([gold, extracted]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One person's verdict. `instructions` is None where it holds whatever was instructed."""

    gold: Json
    extracted: Json
    score: float
    instructions: str | None = None
    reason: str = ""
    by: str = ""

    @property
    def pair(self) -> str:
        """Digest of the two values."""
        return pair_key(self.gold, self.extracted)


class Overrides:
    """All verdicts of a file, by what they are about."""

    def __init__(self, verdicts: Sequence[Override] = ()) -> None:
        self.verdicts = tuple(verdicts)
        self._by_content = {(item.pair, item.instructions): item for item in verdicts}

    def find(self, question: Question) -> JudgeAnswer | None:
        """Return the verdict on an "equal" question; one for its very instructions goes first."""
        if not self._by_content or question.kind != "equal":
            return None
        found = self.about(pair_key(question.gold, question.extracted), question.instructions)
        return None if found is None else JudgeAnswer(found.score, _said(found))

    def about(self, pair: str, instructions: str) -> Override | None:
        """Return what people said about a pair of values (its digest) under these instructions."""
        return self._by_content.get((pair, instructions)) or self._by_content.get((pair, None))


def load_overrides(path: Path) -> Overrides:
    """Read `verdicts.yaml`. Raises CaseFileErrors with every mistake and its place."""
    try:
        source = parse_source(path, read_text(path), "yaml")
    except CaseFileError as error:
        raise CaseFileErrors([error]) from None
    mistakes = source.mistakes
    found: dict[tuple[str, str | None], int] = {}
    overrides: list[Override] = []
    for index, (steps, entry) in enumerate(_entries(source, mistakes)):
        problems = list(_problems(source, steps, entry))
        mistakes.extend(problems)
        if problems:
            continue
        override = _override(entry)
        first = found.setdefault((override.pair, override.instructions), index)
        if first != index:
            mistakes.append(Mistake(source, steps, f"the same pair has a verdict already: number {first + 1}"))
        overrides.append(override)
    if mistakes:
        raise CaseFileErrors(errors_of(mistakes, path))
    return Overrides(overrides)


def _entries(source: SourceFile, mistakes: list[Mistake]) -> Iterator[tuple[tuple[Step, ...], Json]]:
    value, steps = source.value, ()
    if isinstance(value, dict) and set(value) == {"verdicts"}:
        value, steps = value["verdicts"], ("verdicts",)  # type: ignore[assignment]
    if value is None:
        return
    if not isinstance(value, list):
        mistakes.append(Mistake(source, steps, "must be a list of verdicts, each with gold, extracted and equal"))
        return
    yield from (((*steps, index), entry) for index, entry in enumerate(value))


def _problems(source: SourceFile, steps: tuple[Step, ...], entry: Json) -> Iterator[Mistake]:
    if not isinstance(entry, dict):
        yield Mistake(source, steps, "a verdict is a mapping with gold, extracted and equal (or score)")
        return
    for key in entry:
        if key not in KEYS:
            yield Mistake(source, (*steps, key), f"unknown key {key!r}{nearest(key, KEYS)}", on_key=True)
    for key in ("gold", "extracted"):
        if key not in entry:
            yield Mistake(source, steps, f"a verdict needs {key!r}")
    for key in ("instructions", "reason", "by"):
        if not isinstance(entry.get(key, ""), str):
            yield Mistake(source, (*steps, key), f"{key!r} must be a text")
    yield from _score_problems(source, steps, entry)


def _score_problems(source: SourceFile, steps: tuple[Step, ...], entry: dict[str, Json]) -> Iterator[Mistake]:
    equal, score = entry.get("equal", _MISSING), entry.get("score", _MISSING)
    if (equal is _MISSING) is (score is _MISSING):
        yield Mistake(source, steps, "a verdict has either `equal` (true or false) or `score` (0 to 1)")
    elif score is _MISSING:
        if not isinstance(equal, bool):
            yield Mistake(source, (*steps, "equal"), f"`equal` must be true or false, not {equal!r}")
    elif isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        yield Mistake(source, (*steps, "score"), f"`score` must be a number from 0 to 1, not {score!r}")


def _override(entry: dict[str, Json]) -> Override:
    return Override(
        gold=entry["gold"],
        extracted=entry["extracted"],
        score=float(entry["score"] if "score" in entry else entry["equal"]),
        instructions=entry.get("instructions"),
        reason=entry.get("reason", ""),
        by=entry.get("by", ""),
    )


def _said(override: Override) -> str:
    by = f" by {override.by}" if override.by else ""
    return f"decided{by}: {override.reason}" if override.reason else f"decided{by} in verdicts.yaml"


FORMAT: Final = 1
_DAY_S: Final = 86_400.0
_MOST_LOCKS: Final = 100
"""Questions asked at once: each locks a file, and the system lets a process open a thousand or so."""


def question_key(question: Question) -> str | UnansweredQuestion:
    """Return `Question.key`; `UnansweredQuestion` where no prompt can hold a value (too deep, too long a number)."""
    try:
        json.dumps([question.gold, question.extracted])  # a prompt is written so; the key alone could be computed
    except RecursionError:
        return UnansweredQuestion("the values are nested too deeply to ask a judge about them")
    except ValueError as error:
        return UnansweredQuestion(f"the values cannot be written down for a judge: {error}")
    return question.key


class CachingJudge:
    """A `Judge` (`core.results`): `judge(questions) -> answers`, None where undecided; `why` gives the reason.

    ask: the judge itself, None to replay only. stored: None remembers answers in this process only.
    """

    def __init__(
        self, ask: Ask | None, *, stored: AnswerCache | None = None, overrides: Overrides | None = None
    ) -> None:
        self._ask = ask
        self._stored = stored
        self._overrides = overrides or Overrides()
        self._lock = threading.Lock()
        self._known: dict[str, JudgeAnswer | Alignment] = {}
        self._undecided: dict[str, str] = {}
        self._in_progress: dict[str, Future[Decision]] = {}

    def __call__(self, questions: Sequence[Question]) -> list[Answer]:
        """Answer all questions; equal ones get one answer, and are asked once."""
        keys = [question_key(question) for question in questions]
        by_key = {key: question for key, question in zip(keys, questions, strict=True) if isinstance(key, str)}
        found = {key: self._answer_without_asking(key, question) for key, question in by_key.items()}
        decided = {key: decision for key, decision in found.items() if decision is not None}
        decided |= self._ask_once({key: question for key, question in by_key.items() if key not in decided})
        with self._lock:
            settled = {key: self._settle(key, decision) for key, decision in decided.items()}
        return [settled[key] if isinstance(key, str) else None for key in keys]

    def why(self, question: Question) -> str | None:
        """Return why a question was left undecided, None if it was not."""
        key = question_key(question)
        return key.reason if isinstance(key, UnansweredQuestion) else self._undecided.get(key)

    @property
    def spent(self) -> Spending:
        """What the model that judges has cost so far in this process; nothing for other judges."""
        spent = getattr(self._ask, "spent", None)
        return spent if isinstance(spent, Spending) else Spending()

    @property
    def undecided(self) -> Mapping[str, str]:
        """Reasons by question key."""
        return dict(self._undecided)

    def _answer_without_asking(self, key: str, question: Question) -> Decision | None:
        override = self._overrides.find(question)
        if override is not None:
            return override
        with self._lock:
            known = self._known.get(key)
        if known is not None or self._stored is None:
            return known
        return self._stored.find(key, question)

    def _ask_once(self, questions: Mapping[str, Question]) -> dict[str, Decision]:
        """Ask the questions that no other thread is asking, then wait for the answers to the others.

        No thread waits before its own questions are answered, so that two cannot wait for each other.
        """
        if not questions:
            return {}
        if self._ask is None:
            why = "replay only, and no answer is kept for this pair: run once with --extract-record=once"
            return dict.fromkeys(questions, UnansweredQuestion(why))
        mine, others = self._divide(questions)
        decided: dict[str, Decision] = {}
        try:
            wanted = {key: questions[key] for key in mine}
            if wanted and self._stored is not None:
                decided = self._stored.find_or_ask(self._ask, wanted)
            elif wanted:
                decided = dict(zip(wanted, self._ask(list(wanted.values())), strict=True))
        except BaseException:
            decided = dict.fromkeys(mine, UnansweredQuestion("the judge was interrupted"))
            raise
        finally:
            with self._lock:
                for key, future in mine.items():
                    if not isinstance(decision := decided[key], UnansweredQuestion):
                        self._known.setdefault(key, decision)
                    future.set_result(decision)
                    del self._in_progress[key]
        return decided | {key: future.result() for key, future in others.items()}

    def _divide(self, questions: Iterable[str]) -> tuple[dict[str, Future[Decision]], dict[str, Future[Decision]]]:
        """Divide questions into those that this thread asks, and those that another one is asking or has asked."""
        with self._lock:
            others = {key: self._in_progress[key] for key in questions if key in self._in_progress}
            mine: dict[str, Future[Decision]] = {key: Future() for key in questions if key not in others}
            for key, future in mine.items():
                if key in self._known:  # answered since this thread looked
                    future.set_result(self._known[key])
            others |= {key: future for key, future in mine.items() if future.done()}
            mine = {key: future for key, future in mine.items() if key not in others}
            self._in_progress |= mine
        return mine, others

    def _settle(self, key: str, decision: Decision) -> Answer:
        """Remember a decision; the first one of this process counts, also when two threads asked at once."""
        if isinstance(decision, UnansweredQuestion):
            self._undecided[key] = decision.reason
            return None
        self._undecided.pop(key, None)
        return self._known.setdefault(key, decision)


class AnswerCache:
    """The stored answers of one judge in `folder`; safe to share between threads and processes.

    since: when the run began that asks all anew, in seconds of the epoch; an answer that was stored earlier does not
    count. on_write_error: called with each answer that cannot be written; it counts all the same, because it was paid
    for.
    """

    def __init__(
        self,
        folder: Path,
        judge: str,
        *,
        since: float | None = None,
        on_write_error: Callable[[NotWritten], None] | None = None,
    ) -> None:
        self.folder = folder
        self.judge = judge
        self._on_write_error = on_write_error
        self._suffixes = {kind: text_digest(f"{judge}\n{version}")[:8] for kind, version in PROMPT_VERSIONS.items()}
        self._shared = folder / text_digest(f"{judge}\n{sorted(PROMPT_VERSIONS.items())}")[:8]
        self._since = since

    def find(self, key: str, question: Question) -> Decision | None:
        """Return the stored answer if it counts; a damaged file leaves the question undecided, with the reason."""
        if self._since is not None:
            try:
                if self.path(key, question.kind).stat().st_mtime < self._since:
                    return None
            except OSError:
                return None
        return self.get(question, key)

    def find_or_ask(self, ask: Ask, questions: Mapping[str, Question]) -> dict[str, Decision]:
        """Answer questions, each asked by one process at a time; the others wait for the stored answer.

        A waiting process holds no slot. What another process leaves without an answer (it was killed, its judge failed)
        is asked here.
        """
        decided: dict[str, Decision] = {}
        keys = sorted(questions)
        for start in range(0, len(keys), _MOST_LOCKS):
            some = keys[start : start + _MOST_LOCKS]
            with making(self._shared, some):
                decided |= self._ask_missing(ask, {key: question for key, question in questions.items() if key in some})
        return decided

    def _ask_missing(self, ask: Ask, questions: Mapping[str, Question]) -> dict[str, Decision]:
        found = {key: self.find(key, question) for key, question in questions.items()}
        decided = {key: decision for key, decision in found.items() if decision is not None}
        missing = {key: question for key, question in questions.items() if key not in decided}
        if missing:
            answers = ask(list(missing.values()))
            decided |= {key: self._store(key, missing[key], one) for key, one in zip(missing, answers, strict=True)}
        return decided

    def _store(self, key: str, question: Question, decision: Decision) -> Decision:
        if isinstance(decision, UnansweredQuestion):
            return decision
        try:
            return self.put(question, key, decision)
        except NotWritten as error:
            if self._on_write_error is not None:
                self._on_write_error(error)
            return decision
        except RecursionError as error:
            return UnansweredQuestion(f"the answer could not be kept: {error}")

    def get(self, question: Question, key: str) -> Decision | None:
        """Return the answer in the file, None without one; `find` is the one that heeds `since`."""
        path = self.path(key, question.kind)
        try:
            answer = json.loads(read_regular_text(path))["answer"]
            found: JudgeAnswer | Alignment
            if question.kind == "align":
                pairs = tuple((int(gold), int(extracted)) for gold, extracted in answer["pairs"])
                found = Alignment(pairs, reason=answer["reason"])
            else:
                found = _judge_answer(answer)
            if idle_days(path) >= 1.0:
                with suppress(OSError):  # a read-only folder still answers
                    os.utime(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            return UnansweredQuestion(
                f"{path}: no kept answer that can be read ({type(error).__name__}); delete it to ask again"
            )
        return checked_answer(question, found)

    def put(self, question: Question, key: str, answer: JudgeAnswer | Alignment) -> Decision:
        """Write an answer; return the one that counts: another process may have been first. Raises NotWritten."""
        path, text = self.path(key, question.kind), _file_text(self.judge, question, key, answer)
        if self._since is not None:
            write_atomic(path, text)
            return answer
        return answer if write_once(path, text) else self.get(question, key) or answer

    def path(self, key: str, kind: str = "equal") -> Path:
        """Return the file of an answer."""
        return self.folder / key[:2] / f"{key[:24]}-{self._suffixes[kind]}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """A stored answer to an "equal" question, for audits: `pair` is the digest of gold and extracted."""

    path: Path
    judge: str
    prompt_version: int
    pair: str
    instructions: str
    score: float
    reason: str


def stored_answers(folder: Path) -> Iterator[StoredAnswer]:
    """Yield every stored "equal" answer below `folder`, of all judges, by file name; StoreError for a damaged file."""
    for path in answer_files(folder):
        try:
            body = json.loads(read_regular_text(path))
            if body["question"]["kind"] != "equal":
                continue
            answer = _judge_answer(body["answer"])
            stored = StoredAnswer(
                path=path,
                judge=body["judge"],
                prompt_version=int(body["prompt_version"]),
                pair=body["pair"],
                instructions=body["question"]["instructions"],
                score=answer.score,
                reason=answer.reason,
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path}: no kept answer that can be read ({type(error).__name__}); delete it") from error
        yield stored


def answer_files(folder: Path) -> list[Path]:
    """Return the files of all stored answers below `folder`, of all judges, by name."""
    return sorted(folder.glob("*/*.json"))


def idle_days(path: Path, now: float | None = None) -> float:
    """Return for how many days no run on this machine has used an answer; a fresh checkout counts as use."""
    return max(0.0, ((time.time() if now is None else now) - path.stat().st_mtime) / _DAY_S)


def _judge_answer(answer: Json) -> JudgeAnswer:
    return JudgeAnswer(float(answer["score"]), str(answer["reason"]))


def _file_text(judge: str, question: Question, key: str, answer: JudgeAnswer | Alignment) -> str:
    asked = {
        "kind": question.kind,
        "gold": question.gold,
        "extracted": question.extracted,
        "instructions": question.instructions,
        "metrics": dict(question.metrics),
        **({"options": dict(question.options)} if question.options else {}),
    }
    what: dict[str, Json] = {"score": answer.score} if isinstance(answer, JudgeAnswer) else {"pairs": answer.pairs}
    clean = current().without({"question": asked, "answer": {**what, "reason": answer.reason}})
    TALLY.add("kept judge answer", clean.secrets)
    body = {
        "format": FORMAT,
        "judge": question.options.get("model", judge),
        "prompt_version": PROMPT_VERSIONS[question.kind],
        "key": key,
        "pair": pair_key(question.gold, question.extracted),
        "redacted": bool(clean.secrets),
        **clean.value,
    }
    return json.dumps(body, indent=1) + "\n"


EQUAL_FROM: Final = 0.7
"""Score from which a verdict counts as "equal": ExtractBench's threshold for judged metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """A judge's kept answer beside a person's verdict on the same pair."""

    answer: StoredAnswer
    override: Override

    @property
    def labels(self) -> tuple[bool, bool]:
        """Equal or not: the judge's word, the person's word."""
        return (self.answer.score >= EQUAL_FROM, self.override.score >= EQUAL_FROM)

    @property
    def agree(self) -> bool:
        """Whether both say the same."""
        judge, person = self.labels
        return judge is person


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One judge (with one version of our prompt) against people. `kappa` is None where it is undefined."""

    judge: str
    prompt_version: int
    comparisons: tuple[JudgedPair, ...]
    kappa: float | None

    @property
    def agreed(self) -> int:
        """Number of pairs on which both say the same."""
        return sum(comparison.agree for comparison in self.comparisons)

    @property
    def rate(self) -> float:
        """Observed agreement, in [0, 1]."""
        return self.agreed / len(self.comparisons)


def audit(overrides: Overrides, answers: Iterable[StoredAnswer]) -> tuple[tuple[Agreement, ...], int]:
    """Return the agreement of each judge that answered about an overridden pair, and the number of pairs none did."""
    groups: dict[tuple[str, int], list[JudgedPair]] = {}
    met: set[int] = set()
    for answer in answers:
        override = overrides.about(answer.pair, answer.instructions)
        if override is not None:
            met.add(id(override))
            comparison = JudgedPair(answer=answer, override=override)
            groups.setdefault((answer.judge, answer.prompt_version), []).append(comparison)
    agreements = tuple(_agreement(*name, groups[name]) for name in sorted(groups))
    return agreements, sum(id(override) not in met for override in overrides.verdicts)


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa of two raters' labels: (observed - expected) / (1 - expected agreement), in [-1, 1].

    None where it is undefined: no pair, or both raters give all the same label. (Cohen 1960, equation 1.)
    """
    if not pairs:
        return None
    total = len(pairs)
    observed = sum(first == second for first, second in pairs) / total
    left, right = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum(left[label] * right[label] for label in left)
    if chance == total * total:
        return None
    expected = chance / (total * total)
    return (observed - expected) / (1 - expected)


def _agreement(judge: str, prompt_version: int, comparisons: Sequence[JudgedPair]) -> Agreement:
    kappa = cohen_kappa([comparison.labels for comparison in comparisons])
    return Agreement(judge=judge, prompt_version=prompt_version, comparisons=tuple(comparisons), kappa=kappa)


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
    if mode not in JUDGE_MODES:
        raise ConfigError(f"no judge {mode!r}{nearest(mode, JUDGE_MODES)}")
    if mode == "llm" and user is None and not model:
        raise ConfigError(f"a comparison needs a judge and none is configured: {GIVE_A_JUDGE}")
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
