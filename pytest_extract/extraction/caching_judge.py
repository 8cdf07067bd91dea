"""Answers of judges: people's verdicts first, then stored answers, then the judge itself, which is asked once.

`CachingJudge` answers the questions of cases. `AnswerCache` stores answers on disk by content, so that equal pairs get
the same verdict and a second run asks nothing. A file is `DIR/KK/KEY-JUDGE.json`: `KEY` is the digest of the question's
content (`Question.key`), `JUDGE` that of the judge's identity and the version of the prompt for its kind of question.
The first answer written stays; later writers get it back.

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
import threading
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_extract.cases.sources import Mistake, errors_of, parse_source, read_text
from pytest_extract.core.case_result import Spending
from pytest_extract.core.engine.context import NoAnswer
from pytest_extract.core.judges import GIVE_A_JUDGE, Decision, checked_answer
from pytest_extract.core.results import Alignment, Answer, JudgeAnswer, Question
from pytest_extract.core.values import Json, canonical_json, short_repr, text_digest
from pytest_extract.errors import CaseFileError, CaseFileErrors, ConfigError, NotWritten, StoreError
from pytest_extract.extraction.judges import (
    PROMPT_VERSIONS,
    Ask,
    LlmJudge,
    identity_of,
    user_judge,
)
from pytest_extract.files import making, read_regular_text, write_atomic, write_once
from pytest_extract.redact import TALLY, current

if TYPE_CHECKING:
    from pytest_extract.extraction.call import BackgroundLoop
    from pytest_extract.extraction.litellm import Retry


_TEXT: Final = {"type": "string"}
_VERDICT: Final = {
    "type": "object",
    "properties": {
        "gold": True,
        "extracted": True,
        "equal": {"type": "boolean"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "instructions": _TEXT,
        "reason": _TEXT,
        "by": _TEXT,
    },
    "required": ["gold", "extracted"],
    "oneOf": [{"required": ["equal"]}, {"required": ["score"]}],
    "additionalProperties": False,
}
_FORM: Final = (
    "verdicts are a list of mappings, each with gold, extracted, and either equal (true or false) or score (0 to 1); "
    "texts that it may have: instructions, reason, by"
)


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

    def __init__(self, verdicts: Iterable[Override] = ()) -> None:
        self.verdicts = tuple(verdicts)
        self._by_content = {(item.pair, item.instructions): item for item in self.verdicts}

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
    from jsonschema import Draft202012Validator

    try:
        source = parse_source(path, read_text(path), "yaml")
    except CaseFileError as error:
        raise CaseFileErrors([error]) from None
    entries, steps = source.value, ()
    if isinstance(entries, dict) and set(entries) == {"verdicts"}:
        entries, steps = entries["verdicts"], ("verdicts",)  # type: ignore[assignment]
    schema = {"type": ["array", "null"], "items": _VERDICT}
    mistakes = source.mistakes or [
        Mistake(source, (*steps, *error.absolute_path), f"{short_repr(error.instance)} does not fit: {_FORM}")
        for error in Draft202012Validator(schema).iter_errors(entries)
    ]
    overrides: dict[tuple[str, str | None], Override] = {}
    for index, entry in enumerate(() if mistakes else entries or ()):
        scored = {name: value for name, value in entry.items() if name != "equal"}
        override = Override(**{"score": float(entry.get("equal", 0.0)), **scored})
        if overrides.setdefault((override.pair, override.instructions), override) is not override:
            mistakes.append(Mistake(source, (*steps, index), "the same pair has a verdict already"))
    if mistakes:
        raise CaseFileErrors(errors_of(mistakes, path))
    return Overrides(overrides.values())


def _said(override: Override) -> str:
    by = f" by {override.by}" if override.by else ""
    return f"decided{by}: {override.reason}" if override.reason else f"decided{by} in verdicts.yaml"


FORMAT: Final = 1
_MOST_LOCKS: Final = 100
"""Questions asked at once: each locks a file, and the system lets a process open a thousand or so."""


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
        keys = [question.key for question in questions]
        by_key = dict(zip(keys, questions, strict=True))
        decided = self._found(by_key)
        missing = [key for key in by_key if key not in decided]
        if self._ask is None:
            why = "replay only, and no answer is kept for this pair: run once with --extract-record=once"
            decided |= dict.fromkeys(missing, NoAnswer(why))
        else:
            for start in range(0, len(missing), _MOST_LOCKS):
                some = missing[start : start + _MOST_LOCKS]
                decided |= self._ask_once(self._ask, {key: by_key[key] for key in some})
        return [self._settled(key, decided[key]) for key in keys]

    def why(self, question: Question) -> str | None:
        """Return why a question was left undecided, None if it was not."""
        return self._undecided.get(question.key)

    @property
    def spent(self) -> Spending:
        """What the model that judges has cost so far in this process; nothing for other judges."""
        spent = getattr(self._ask, "spent", None)
        return spent if isinstance(spent, Spending) else Spending()

    def _found(self, questions: Mapping[str, Question]) -> dict[str, Decision]:
        """Return what is decided without asking: by people, in this process before, or in the store."""
        found: dict[str, Decision] = {}
        for key, question in questions.items():
            decision: Decision | None = self._overrides.find(question) or self._known.get(key)
            if decision is None and self._stored is not None:
                decision = self._stored.find(key, question)
            if decision is not None:
                found[key] = decision
        return found

    def _ask_once(self, ask: Ask, questions: Mapping[str, Question]) -> dict[str, Decision]:
        """Ask the questions that no other thread is asking, then wait for the decisions on the others.

        No thread waits before its own questions are decided, so that two cannot wait for each other.
        """
        with self._lock:
            others = {key: self._in_progress[key] for key in questions if key in self._in_progress}
            mine: dict[str, Future[Decision]] = {key: Future() for key in questions if key not in others}
            self._in_progress |= mine
        decided: dict[str, Decision] = dict.fromkeys(mine, NoAnswer("the judge was interrupted"))
        try:
            decided = self._ask_missing(ask, {key: questions[key] for key in mine})
        finally:
            with self._lock:
                for key, future in mine.items():
                    del self._in_progress[key]
                    future.set_result(decided[key])
        return decided | {key: future.result() for key, future in others.items()}

    def _ask_missing(self, ask: Ask, questions: Mapping[str, Question]) -> dict[str, Decision]:
        """Ask questions, each in one process at a time where answers are stored; the others wait, and find its answer.

        What another one leaves without an answer (it was killed, its judge failed) is asked here.
        """
        with nullcontext() if self._stored is None else self._stored.making(questions):
            decided = self._found(questions)
            missing = {key: question for key, question in questions.items() if key not in decided}
            answers = ask(list(missing.values())) if missing else ()
            for (key, question), answer in zip(missing.items(), answers, strict=True):
                kept = answer if self._stored is None else self._stored.put(key, question, answer)
                decided[key] = kept
                self._settled(key, kept)
        return decided

    def _settled(self, key: str, decision: Decision) -> Answer:
        """Remember a decision; the first one of this process counts."""
        if isinstance(decision, NoAnswer):
            self._undecided[key] = decision.reason
            return None
        self._undecided.pop(key, None)
        return self._known.setdefault(key, decision)


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """The stored answers of one judge in `folder`; safe to share between threads and processes.

    since: when the run began that asks all anew, in seconds of the epoch; an answer that was stored earlier does not
    count. on_write_error: called with each answer that cannot be written; it counts all the same, because it was paid
    for.
    """

    folder: Path
    judge: str
    _: KW_ONLY
    since: float | None = None
    on_write_error: Callable[[NotWritten], None] | None = None

    def making(self, keys: Collection[str]) -> AbstractContextManager[None]:
        """Hold the locks of questions: each is asked by one thread of one process at a time."""
        return making(self.folder / "-".join(map(self._suffix, PROMPT_VERSIONS)), keys)

    def find(self, key: str, question: Question) -> Decision | None:
        """Return the stored answer if it counts; a damaged file leaves the question undecided, with the reason."""
        path = self.path(key, question.kind)
        try:
            if self.since is not None and path.stat().st_mtime < self.since:
                return None
            found = _stored_answer(json.loads(read_regular_text(path)))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            return NoAnswer(f"{path}: no kept answer that can be read ({type(error).__name__}); delete it to ask again")
        return checked_answer(question, found)

    def put(self, key: str, question: Question, decision: Decision) -> Decision:
        """Store an answer; return the one that counts: another process may have been first."""
        if isinstance(decision, NoAnswer):
            return decision
        try:
            path, text = self.path(key, question.kind), _file_text(self.judge, question, key, decision)
            if self.since is not None:
                write_atomic(path, text)
            elif not write_once(path, text):
                return self.find(key, question) or decision
        except NotWritten as error:
            if self.on_write_error is not None:
                self.on_write_error(error)
        return decision

    def path(self, key: str, kind: str) -> Path:
        """Return the file of an answer."""
        return self.folder / key[:2] / f"{key[:24]}-{self._suffix(kind)}.json"

    def _suffix(self, kind: str) -> str:
        return text_digest(f"{self.judge}\n{PROMPT_VERSIONS[kind]}")[:8]


def _stored_answer(body: Json) -> JudgeAnswer | Alignment:
    answer = body["answer"]
    if "pairs" in answer:
        return Alignment(
            tuple((int(gold), int(extracted)) for gold, extracted in answer["pairs"]), reason=answer["reason"]
        )
    return JudgeAnswer(float(answer["score"]), str(answer["reason"]))


def answer_files(folder: Path) -> list[Path]:
    """Return the files of all stored answers below `folder`, of all judges, by name."""
    return sorted(folder.glob("*/*.json"))


def _file_text(judge: str, question: Question, key: str, answer: JudgeAnswer | Alignment) -> str:
    asked = {name: getattr(question, name) for name in ("kind", "gold", "extracted", "instructions")}
    asked |= {"metrics": dict(question.metrics)} | ({"options": dict(question.options)} if question.options else {})
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


class JudgedPair(NamedTuple):
    """A judge's stored answer beside a person's verdict on the same pair."""

    answer: JudgeAnswer
    override: Override

    @property
    def labels(self) -> tuple[bool, bool]:
        """Equal or not: the judge's word, the person's word."""
        return (self.answer.score >= EQUAL_FROM, self.override.score >= EQUAL_FROM)

    @property
    def agree(self) -> bool:
        """Whether both say the same."""
        return len(set(self.labels)) == 1


class Agreement(NamedTuple):
    """One judge (with one version of our prompt) against people."""

    judge: str
    prompt_version: int
    comparisons: Sequence[JudgedPair]

    @property
    def agreed(self) -> int:
        """Number of pairs on which both say the same."""
        return sum(comparison.agree for comparison in self.comparisons)

    @property
    def rate(self) -> float:
        """Observed agreement, in [0, 1]."""
        return self.agreed / len(self.comparisons)

    @property
    def kappa(self) -> float | None:
        """`cohen_kappa` of the judge and the people."""
        return cohen_kappa([comparison.labels for comparison in self.comparisons])


def audit(overrides: Overrides, folder: Path) -> tuple[list[Agreement], int]:
    """Return the agreement of each judge with stored answers about overridden pairs, and the number of pairs without.

    Raises StoreError for a damaged file.
    """
    groups: dict[tuple[str, int], list[JudgedPair]] = {}
    met: set[int] = set()
    for path in answer_files(folder):
        try:
            body = json.loads(read_regular_text(path))
            answer, override = _stored_answer(body), overrides.about(body["pair"], body["question"]["instructions"])
            judge = body["judge"], int(body["prompt_version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path}: no kept answer that can be read ({type(error).__name__}); delete it") from error
        if override is not None and isinstance(answer, JudgeAnswer):
            met.add(id(override))
            groups.setdefault(judge, []).append(JudgedPair(answer, override))
    agreements = [Agreement(*judge, groups[judge]) for judge in sorted(groups)]
    return agreements, sum(id(override) not in met for override in overrides.verdicts)


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa of two raters' labels: (observed - expected) / (1 - expected agreement), in [-1, 1].

    None where it is undefined: no pair, or both raters give all the same label. (Cohen 1960, equation 1.)
    """
    total = len(pairs)
    same = sum(first == second for first, second in pairs)
    left, right = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum(left[label] * right[label] for label in left)
    return None if chance == total * total else (same * total - chance) / (total * total - chance)


def build_judge(
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

    It asks `user` (what the fixture `extract_judge` gave), else `model`; each call holds one of `slots`. folder: where
    answers are stored; None: nowhere. overrides: `verdicts.yaml`. replay_only: stored answers or none. since: ask again
    what was stored before this time (seconds of the epoch). on_write_error: called with each answer that cannot be
    written. Raises ConfigError if there is no judge to ask, CaseFileErrors for bad overrides.
    """
    if user is None and not model:
        raise ConfigError(f"a comparison needs a judge and none is configured: {GIVE_A_JUDGE}")
    people = Overrides() if overrides is None else load_overrides(overrides)
    if user is None:
        ask: Ask = LlmJudge(str(model), slots=slots, retry=retry, options=options)
        identity = model
    else:
        ask, identity = user_judge(user, loop, slots), identity_of(user)
    stored = None
    if folder is not None and identity is not None:
        stored = AnswerCache(folder, identity, since=since, on_write_error=on_write_error)
    return CachingJudge(None if replay_only else ask, stored=stored, overrides=people)
