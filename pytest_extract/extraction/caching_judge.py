"""Answers of judges: people's verdicts first, then stored answers, then the judge itself, which is asked once.

`CachingJudge` answers the questions of cases, and stores answers on disk by content, so that equal pairs get the same
verdict and a second run asks nothing. A file is `DIR/KK/KEY-JUDGE.json`: `KEY` is the digest of the question's content
(`Question.key`), `JUDGE` that of the judge's identity and the version of the prompt for its kind of question.

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
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pytest_extract.cases.sources import Mistake, errors_of, parse_source, read_text
from pytest_extract.core.case_result import Spending
from pytest_extract.core.engine.context import Decision, NoAnswer
from pytest_extract.core.judges import GIVE_A_JUDGE, checked_answer
from pytest_extract.core.result_json import from_json
from pytest_extract.core.results import Alignment, Answer, JudgeAnswer, Question
from pytest_extract.core.values import Json, canonical_json, short_repr, text_digest
from pytest_extract.errors import CaseFileError, CaseFileErrors, ConfigError, NotWritten, StoreError
from pytest_extract.extraction.judges import PROMPT_VERSIONS, Ask, LlmJudge, identity_of, user_judge
from pytest_extract.files import keep, making, read_kept
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


Overrides: TypeAlias = Mapping[tuple[str, str | None], Override]
"""People's verdicts by what they are about: the digest of a pair, and the instructions that they hold for."""


def verdict_on(overrides: Overrides, pair: str, instructions: str) -> Override | None:
    """Return what people said about a pair of values (its digest); a verdict for its very instructions goes first."""
    return overrides.get((pair, instructions)) or overrides.get((pair, None))


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
        about = pair_key(override.gold, override.extracted), override.instructions
        if overrides.setdefault(about, override) is not override:
            mistakes.append(Mistake(source, (*steps, index), "the same pair has a verdict already"))
    if mistakes:
        raise CaseFileErrors(errors_of(mistakes, path))
    return overrides


FORMAT: Final = 1
_MOST_LOCKS: Final = 100
"""Questions asked at once: each locks a file, and the system lets a process open a thousand or so."""
_WITHOUT_LOCKS: Final = threading.RLock()
"""Where files cannot be locked, one thread of this process asks at a time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CachingJudge:
    """A `Judge` (`core.results`): `judge(questions) -> answers`, None where undecided; `why` gives the reason.

    ask: the judge itself. folder: where its answers are stored, under its `identity`; None: they are remembered in this
    process only. since: when the run began that asks all anew, in seconds of the epoch; an answer that was stored
    earlier does not count. on_write_error: called with each answer that cannot be written; it counts all the same,
    because it was paid for. Safe to share between threads and processes.
    """

    ask: Ask
    identity: str | None = None
    folder: Path | None = None
    overrides: Overrides = field(default_factory=dict)
    since: float | None = None
    on_write_error: Callable[[NotWritten], None] | None = None
    _decided: dict[str, Decision] = field(default_factory=dict, init=False)

    def __call__(self, questions: Sequence[Question]) -> list[Answer]:
        """Answer all questions; equal ones get one answer, and are asked once.

        Each is asked by one thread of one process at a time; the others wait, and find its answer. What another process
        leaves without an answer (it was killed, its judge failed) is asked here.
        """
        keys = [question.key for question in questions]
        by_key = dict(zip(keys, questions, strict=True))
        before = {key: self._decided.get(key) for key in by_key}
        missing = list(self._missing(by_key, before).items())
        # without a folder, locks are those of this judge alone: nothing is written there
        store = (self.folder or Path(f"{os.getpid()}-{id(self)}")) / "-".join(map(self._suffix, PROMPT_VERSIONS))
        for start in range(0, len(missing), _MOST_LOCKS):
            some = dict(missing[start : start + _MOST_LOCKS])
            with making(store, some) as are_locked, nullcontext() if are_locked else _WITHOUT_LOCKS:
                left = self._missing(some, before)
                answers = self.ask(list(left.values())) if left else ()
                for (key, question), decision in zip(left.items(), answers, strict=True):
                    self._decided[key] = decision
                    if self.folder is not None and not isinstance(decision, NoAnswer):
                        text = _file_text(str(self.identity), question, key, decision)
                        keep(self._path(self.folder, key, question), text, self.on_write_error)
        decisions = (self._decided[key] for key in keys)
        return [None if isinstance(decision, NoAnswer) else decision for decision in decisions]

    def why(self, question: Question) -> str | None:
        """Return why a question was left undecided, None if it was not."""
        decision = self._decided.get(question.key)
        return decision.reason if isinstance(decision, NoAnswer) else None

    @property
    def spent(self) -> Spending:
        """What the model that judges has cost so far in this process; nothing for other judges."""
        spent = getattr(self.ask, "spent", None)
        return spent if isinstance(spent, Spending) else Spending()

    def _missing(self, questions: Mapping[str, Question], before: Mapping[str, Decision | None]) -> dict[str, Question]:
        """Return what neither this process, nor people, nor the store has decided.

        What was left undecided `before` a call is looked for, and asked, once more.
        """
        missing: dict[str, Question] = {}
        for key, question in questions.items():
            known = self._decided.get(key)
            if known is None or (isinstance(known, NoAnswer) and known is before[key]):
                found = self._said_by_people(question) or self._stored(key, question)
                if found is None:
                    missing[key] = question
                else:
                    self._decided[key] = found
        return missing

    def _said_by_people(self, question: Question) -> JudgeAnswer | None:
        if not self.overrides or question.kind != "equal":
            return None
        found = verdict_on(self.overrides, pair_key(question.gold, question.extracted), question.instructions)
        if found is None:
            return None
        by = f" by {found.by}" if found.by else ""
        why = f": {found.reason}" if found.reason else " in verdicts.yaml"
        return JudgeAnswer(found.score, f"decided{by}{why}")

    def _stored(self, key: str, question: Question) -> Decision | None:
        """Return the stored answer if it counts; a damaged file leaves the question undecided, with the reason."""
        if self.folder is None:
            return None
        path = self._path(self.folder, key, question)
        with suppress(OSError):
            if self.since is not None and path.stat().st_mtime < self.since:
                return None
        try:
            return checked_answer(question, read_kept(path, "judge's answer", _stored_answer))
        except StoreError as error:
            is_missing = isinstance(error.__cause__, FileNotFoundError | NotADirectoryError)
            return None if is_missing else NoAnswer(str(error))

    def _path(self, folder: Path, key: str, question: Question) -> Path:
        return folder / key[:2] / f"{key[:24]}-{self._suffix(question.kind)}.json"

    def _suffix(self, kind: str) -> str:
        return text_digest(f"{self.identity}\n{PROMPT_VERSIONS[kind]}")[:8]


def _stored_answer(body: Json) -> JudgeAnswer | Alignment:
    answer: JudgeAnswer | Alignment = from_json(Alignment if "pairs" in body["answer"] else JudgeAnswer, body["answer"])
    return answer


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
    def kappa(self) -> float | None:
        """Cohen's kappa of the judge and the people: (observed - expected) / (1 - expected agreement), in [-1, 1].

        None where it is undefined: both give all the same label. (Cohen 1960, equation 1.)
        """
        total = len(self.comparisons)
        judge, people = (Counter(labels) for labels in zip(*(each.labels for each in self.comparisons), strict=True))
        chance = sum(judge[label] * people[label] for label in judge)
        return None if chance == total * total else (self.agreed * total - chance) / (total * total - chance)


def audit(overrides: Overrides, folder: Path) -> tuple[list[Agreement], int]:
    """Return the agreement of each judge with stored answers about overridden pairs, and the number of pairs without.

    Raises StoreError for a damaged file.
    """
    groups: dict[tuple[str, int], list[JudgedPair]] = {}
    met: set[int] = set()

    def read(body: Json) -> tuple[tuple[str, int], JudgeAnswer | Alignment, Override | None]:
        override = verdict_on(overrides, body["pair"], body["question"]["instructions"])
        return (body["judge"], int(body["prompt_version"])), _stored_answer(body), override

    for path in answer_files(folder):
        judge, answer, override = read_kept(path, "judge's answer", read)
        if override is not None and isinstance(answer, JudgeAnswer):
            met.add(id(override))
            groups.setdefault(judge, []).append(JudgedPair(answer, override))
    agreements = [Agreement(*judge, groups[judge]) for judge in sorted(groups)]
    return agreements, sum(id(override) not in met for override in overrides.values())


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
    people = {} if overrides is None else load_overrides(overrides)
    ask: Ask
    if user is None:
        ask, identity = LlmJudge(str(model), slots=slots, retry=retry, options=options), model
    else:
        ask, identity = user_judge(user, loop, slots), identity_of(user)
    return CachingJudge(
        ask=_ask_nobody if replay_only else ask,
        identity=identity,
        folder=None if identity is None else folder,
        overrides=people,
        since=since,
        on_write_error=on_write_error,
    )


def _ask_nobody(questions: Sequence[Question]) -> list[Decision]:
    why = "replay only, and no answer is kept for this pair: run once with --extract-record=once"
    return [NoAnswer(why)] * len(questions)
