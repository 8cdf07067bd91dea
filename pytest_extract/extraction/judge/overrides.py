"""Verdicts that people gave (`verdicts.yaml`): they win over every judge from then on.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_extract.cases.sources import Mistake, SourceFile, errors_of, parse_source, read_text
from pytest_extract.core.results import JudgeAnswer, Question
from pytest_extract.core.values import Json, Step, canonical_json, text_digest
from pytest_extract.errors import CaseFileError, CaseFileErrors, nearest

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
