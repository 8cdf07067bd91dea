"""Answers of judges, kept on disk by content, so that equal pairs never get two verdicts and a second run asks nothing.

A file is `DIR/KK/KEY-JUDGE.json`: `KEY` from the question's content (`Question.key`), `JUDGE` from the judge's identity
and the version of the prompt for its kind of question. The first answer written stays; later writers get it back. A
file's time of change is the day of its last use, for no case file tells which questions an output will raise.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_extract.atomic import write_atomic, write_once
from pytest_extract.core.results import Alignment, JudgeAnswer, Question
from pytest_extract.core.values import Json
from pytest_extract.digest import sha256
from pytest_extract.errors import StoreError
from pytest_extract.extraction.judge.answers import Decision, UnansweredQuestion, checked
from pytest_extract.extraction.judge.keys import pair_key
from pytest_extract.extraction.judge.prompt import PROMPT_VERSIONS
from pytest_extract.redact.secrets import TALLY, current
from pytest_extract.regular_file import read_regular_text
from pytest_extract.sharing.claims import Claims
from pytest_extract.sharing.news import News

FORMAT: Final = 1
_DAY_S: Final = 86_400.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """A kept answer to an "equal" question, for audits: `pair` is the digest of gold and extracted."""

    path: Path
    judge: str
    prompt_version: int
    pair: str
    instructions: str
    score: float
    reason: str


class AnswerCache:
    """The answers of one judge in `folder`; safe to share between threads and processes.

    `claims`: who is asking what just now.
    """

    def __init__(self, folder: Path, judge: str) -> None:
        self.folder = folder
        self.judge = judge
        self._suffixes = {kind: sha256(f"{judge}\n{version}")[:8] for kind, version in PROMPT_VERSIONS.items()}
        shared = sha256(f"{judge}\n{sorted(PROMPT_VERSIONS.items())}")[:8]
        self._shared = folder / shared
        self.claims = Claims(self._shared)

    def renewed(self) -> News:
        """Return the news of which answers (by key) those that ask anew have renewed; for them alone."""
        return News(self._shared)

    def get(self, question: Question, key: str) -> Decision | None:
        """Return the kept answer, None without one; a damaged file leaves the question undecided, saying so."""
        path = self._path(key, question.kind)
        try:
            body = json.loads(read_regular_text(path))
            answer = body["answer"]
            found = Alignment(_pairs(answer), reason=answer["reason"]) if question.kind == "align" else _verdict(answer)
            _mark_used(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            return UnansweredQuestion(
                f"{path}: no kept answer that can be read ({type(error).__name__}); delete it to ask again"
            )
        return checked(question, found)

    def put(self, question: Question, key: str, answer: JudgeAnswer | Alignment, *, replace: bool = False) -> Decision:
        """Keep an answer; return the one that counts: another process may have been first. Raises NotWritten."""
        path, text = self._path(key, question.kind), _dump(self.judge, question, key, answer)
        if replace:
            write_atomic(path, text)
            return answer
        return answer if write_once(path, text) else self.get(question, key) or answer

    def _path(self, key: str, kind: str = "equal") -> Path:
        return self.folder / key[:2] / f"{key[:24]}-{self._suffixes[kind]}.json"


def answer_files(folder: Path) -> list[Path]:
    """Return the files of all kept answers below `folder`, of all judges, by name."""
    return sorted(folder.glob("*/*.json"))


def idle_days(path: Path, now: float | None = None) -> float:
    """Return for how many days no run on this machine has used an answer; a fresh checkout counts as use."""
    return max(0.0, ((time.time() if now is None else now) - path.stat().st_mtime) / _DAY_S)


def _mark_used(path: Path) -> None:
    if idle_days(path) >= 1.0:
        with suppress(OSError):  # a read-only folder still answers
            os.utime(path)


def kept_answers(folder: Path) -> Iterator[KeptAnswer]:
    """Yield every kept "equal" answer below `folder`, of all judges, by file name; StoreError for a damaged file."""
    for path in answer_files(folder):
        try:
            body = json.loads(read_regular_text(path))
            if body["question"]["kind"] != "equal":
                continue
            answer, judge, pair = body["answer"], body["judge"], body["pair"]
            verdict = _verdict(answer)
            instructions, version = body["question"]["instructions"], int(body["prompt_version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path}: no kept answer that can be read ({type(error).__name__}); delete it") from error
        yield KeptAnswer(
            path=path,
            judge=judge,
            prompt_version=version,
            pair=pair,
            instructions=instructions,
            score=verdict.score,
            reason=verdict.reason,
        )


def _verdict(answer: Json) -> JudgeAnswer:
    return JudgeAnswer(float(answer["score"]), str(answer["reason"]))


def _pairs(answer: Json) -> tuple[tuple[int, int], ...]:
    return tuple((int(gold), int(extracted)) for gold, extracted in answer["pairs"])


def _dump(judge: str, question: Question, key: str, answer: JudgeAnswer | Alignment) -> str:
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
