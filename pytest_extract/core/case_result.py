"""The result of one case on one variant (a model, prompt, mode, revision): what reports, gates and results files read.

The results file holds every field of these types under its name, in this order (`results`). A file of an earlier
version lacks later fields, so a new field has a default. `run_case` fills fields that `Case` has under the same name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, NamedTuple

from pytest_extract.core.results import FieldResult, ScoreRecord, Status, is_covered
from pytest_extract.core.values import Json
from pytest_extract.core.words import Word


class Outcome(Word):
    """The outcomes that stay apart everywhere: wrong (failed), error, and not run."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    NOT_RUN = "not_run"


class Origin(StrEnum):
    """Where a case comes from; headline rates and the regression gate count samples, if there are any."""

    SAMPLE = "sample"
    CORRECTION = "correction"
    SYNTHETIC = "synthetic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """One bound that a case misses: `what` is a measure, `fields.total`, `max_cost_usd`, `absent.po_number`, ..."""

    what: str
    message: str
    bound: float | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What a case is run with, besides its own inputs; variants of one run are compared with each other.

    `prompt` is the path of a prompt given on the command line, `revision` a git revision (`--extract-base-ref`).
    `mode` is how the built-in extractor asks (`prompt`, `structured`), set if a run compares several modes. `param`
    is the id of a parameter of the project's `extractor` fixture, where that has `params`.
    """

    model: str | None = None
    prompt: str | None = None
    revision: str | None = None
    mode: str | None = None
    param: str | None = None

    @property
    def label(self) -> str:
        """Text in node ids and tables: the parts that are set, joined by `-`; empty for the only variant."""
        return "-".join(filter(None, (self.param, self.model, self.prompt, self.mode, self.revision)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call, as the provider counts them; `None` where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None

    @property
    def complete(self) -> bool:
        """Whether all that a price depends on is known."""
        return self.prompt_tokens is not None and self.completion_tokens is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One repeat: what came back and how it scored.

    `score` is None when nothing was scored; `output` is the raw text, or JSON, that the extractor returned; `error` the
    text of the error (of the extractor or judge).
    `withheld` says why a results file does not have the output (it holds a secret), None where it does.
    `cost_usd` is None when unknown (an unpriced model), never 0 for that reason.
    `confidence`, `citations`: what the extractor returned beside the output (`Extraction`), None where it is nothing.
    """

    index: int
    outcome: Outcome
    score: ScoreRecord | None = None
    output: Json = None
    error: str | None = None
    breaches: tuple[Breach, ...] = ()
    usage: Usage | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    finish_reason: str | None = None
    build: str | None = None
    """The model that served the call, as its provider names it."""
    recorded: bool = False
    other_code: bool = False
    """Whether the recording is of another version of the extractor's code than the run's."""
    notes: tuple[str, ...] = ()
    """What a reader should know of the output: repaired, a secret hidden, not recorded, ..."""
    adjustments: tuple[str, ...] = ()
    """What of the request was changed for the model."""
    withheld: str | None = None
    confidence: Json = None
    citations: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case on one variant, all repeats: a line of the results file.

    `digests` names what the result depends on: `document`, `schema`, `gold`, `prompt`, `extractor` -> SHA-256 (hex).
    `needed` of the `len(attempts)` repeats had to pass. `complexity` is easy, medium or hard, `None` if unknown.
    `modality` is the case's: text, image or audio. `origin`: where the case comes from.
    `enumerations`: the patterns of the fields whose values the schema lists.
    `prompt_file`: the prompt that the case names, from the folder of its file.
    `altered`: how its document is altered (`without-total`), which its id ends with in brackets; empty: not at all.
    `uncompared`: pattern of each place of the gold that no comparison reaches -> number of values at or below it
    (of `shape["leaves"]`). `draft`: nobody has reviewed the gold, so the regression gate does not count the case.
    `cannot_fail`: patterns of the fields of which no wrong value fails the case.
    `auto_accept`: which values the case accepts by their confidence; None where it says nothing of that.
    """

    nodeid: str
    case_id: str
    file: str
    variant: Variant
    outcome: Outcome
    why: str | None = None
    needed: int = 1
    breaches: tuple[Breach, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    tags: Mapping[str, Json] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    complexity: str | None = None
    modality: str = "text"
    prompt_file: str = ""
    enumerations: tuple[str, ...] = ()
    origin: Origin = Origin.SAMPLE
    altered: str = ""
    shape: Mapping[str, int] = field(default_factory=dict)
    uncompared: Mapping[str, int] = field(default_factory=dict)
    cannot_fail: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    draft: bool = False
    duration_s: float = 0.0
    auto_accept: AutoAccept | None = None

    @property
    def scores(self) -> list[ScoreRecord]:
        """Scores of the repeats that count in measures: none of a repeat in error, nor of a case in error."""
        if self.outcome in (Outcome.ERROR, Outcome.NOT_RUN):
            return []
        return [
            attempt.score
            for attempt in self.attempts
            if attempt.score is not None and attempt.outcome is not Outcome.ERROR
        ]

    @property
    def means(self) -> dict[str, float]:
        """The mean over these scores of each measure that all of them have."""
        scored = [score.measures for score in self.scores]
        names = [name for name in scored[0] if all(name in measures for measures in scored)] if scored else []
        return {name: math.fsum(measures[name] for measures in scored) / len(scored) for name in names}


def counted(results: Iterable[CaseResult]) -> list[CaseResult]:
    """Return the results that headline rates count: those of samples; all where there is none."""
    every = list(results)
    return [result for result in every if result.origin is Origin.SAMPLE] or every


def decided(passes: int, failures: int, needed: int, of: int) -> bool:
    """Whether no further repeat can change that `needed` of `of` pass, so that the rest need not be paid for."""
    return passes >= needed or failures > of - needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Calls, tokens and cost, of an extractor or a judge.

    `cost_usd` counts priced calls only; `unpriced` is the number of the others, and `uncounted` that of those among
    them whose provider did not report all tokens. `estimated_usd` is what a budget counts for the latter (a judge's),
    None where one of them has no price. Recorded outputs cost nothing.
    """

    calls: int = 0
    recorded: int = 0
    unpriced: int = 0
    uncounted: int = 0
    cost_usd: float = 0.0
    estimated_usd: float | None = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> Spending:
        """Add up all attempts."""
        total = cls()
        for result in results:
            for attempt in result.attempts:
                call = cls.of_call(attempt.usage, attempt.cost_usd)
                if attempt.recorded:
                    call = replace(call, calls=0, recorded=1, unpriced=0, uncounted=0, cost_usd=0.0)
                elif attempt.score is None or result.variant.model is None:
                    call = replace(call, uncounted=0)
                total += call
        return total

    @classmethod
    def of_call(cls, usage: Usage | None, cost_usd: float | None, estimated_usd: float | None = 0.0) -> Spending:
        """Return what a call of a model took; the estimate counts where neither cost nor all tokens are known."""
        uncounted = cost_usd is None and not (usage is not None and usage.complete)
        return cls(
            calls=1,
            unpriced=int(cost_usd is None),
            uncounted=int(uncounted),
            cost_usd=cost_usd or 0.0,
            estimated_usd=estimated_usd if uncounted else 0.0,
            prompt_tokens=(usage and usage.prompt_tokens) or 0,
            completion_tokens=(usage and usage.completion_tokens) or 0,
        )

    def __add__(self, other: Spending) -> Spending:
        return self._with(other, 1)

    def __sub__(self, other: Spending) -> Spending:
        return self._with(other, -1)

    def _with(self, other: Spending, sign: int) -> Spending:
        totals: dict[str, Any] = {}
        for name in (each.name for each in fields(self)):
            one, more = getattr(self, name), getattr(other, name)
            totals[name] = None if one is None or more is None else one + sign * more
        return Spending(**totals)

    @property
    def tokens(self) -> int:
        """Tokens of prompts and completions together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost_text(self) -> str:
        """The cost as text; `unknown` if no call has a known price, `-` without a call: recorded outputs had a cost."""
        if self.unpriced == self.calls:
            return "unknown" if self.calls else "-"
        return f"${self.cost_usd:,.4f}"

    @property
    def unknown(self) -> list[tuple[int, str]]:
        """The calls of unknown cost: their number, and what is missing."""
        kinds = (self.unpriced - self.uncounted, "without a known price"), (self.uncounted, "without reported tokens")
        return [(count, what) for count, what in kinds if count]


_UNDECIDED = frozenset({Status.SKIPPED, Status.JUDGE_ERROR})


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoAccept:
    """Which values are accepted, and which share of them must be right.

    confidence: the lowest with which a value is accepted, None where only `fields` are; fields: that of single fields,
    by pattern or path. precision: the share of the accepted values that must be right, None where none is asked for.
    """

    confidence: float | None = None
    precision: float | None = None
    fields: Mapping[str, float] = field(default_factory=dict)

    def accepts(self, leaf: FieldResult) -> bool:
        """Whether the value of a leaf result is taken without a person."""
        confidence = leaf.confidence
        if confidence is None:
            return False
        lowest = self.confidence
        if self.fields:
            lowest = self.fields.get(leaf.pattern, self.fields.get(str(leaf.path), lowest))
        return lowest is not None and confidence >= lowest

    @property
    def text(self) -> str:
        """The thresholds, for a sentence."""
        parts = [f"{name} {lowest:g}" for name, lowest in self.fields.items()]
        if self.confidence is not None:
            parts.insert(0, f"{self.confidence:g}")
        return ", ".join(parts)


class AcceptedCounts(NamedTuple):
    """Decided leaf results: all of them, those that are accepted, and those of the accepted that are wrong."""

    decided: float = 0
    accepted: float = 0
    wrong: float = 0

    @property
    def precision(self) -> float:
        """Share of the accepted values that are right; 1.0 where none is accepted."""
        return 1 - self.wrong / self.accepted if self.accepted else 1.0

    @property
    def coverage(self) -> float:
        """Share of the decided values that are accepted; 0.0 where none is decided."""
        return self.accepted / self.decided if self.decided else 0.0


def decided_leaves(leaves: Iterable[FieldResult], known: Sequence[str] = ()) -> list[FieldResult]:
    """Return the leaf results that count: neither skipped nor undecided, and at no place of a known failure."""
    return [leaf for leaf in leaves if leaf.status not in _UNDECIDED and not is_covered(leaf, known)]


def count_accepted(
    leaves: Iterable[FieldResult], rule: AutoAccept, known: Sequence[str] = (), *, usable: bool = True
) -> AcceptedCounts:
    """Count the values of one output by a rule; of one that fails a structural gate (`usable`) none is accepted."""
    decided = decided_leaves(leaves, known)
    accepted = [leaf for leaf in decided if usable and rule.accepts(leaf)]
    return AcceptedCounts(len(decided), len(accepted), sum(not leaf.passed for leaf in accepted))
