"""What of a run is worth comparing: per case, arm and field pattern how much was checked, and which fields failed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.case_result import Arm, Attempt, CaseResult, Outcome
from pytest_extract.core.results import FieldResult, ScoreRecord, Status
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, canonical_json

STRUCTURAL_GATES: Final = ("parse", "root", "schema")
_JUDGED: Final = frozenset({"semantic", "string_semantic", "string_llm", "array_llm"})
"""Metrics that a judge decides; under `--extract-judge=exact` and `fuzzy` the scorer does in its place."""
_STRUCTURE: Final = "structure"  # what a value of the wrong JSON type is told by, whatever the field's own metric is
_UNWRITABLE: Final = "<nested too deep or too long to write>"
_UNDECIDED: Final = frozenset({Status.SKIPPED, Status.JUDGE_ERROR})


class CaseKey(NamedTuple):
    """A case and its arm: what pairs a result with its earlier self."""

    case: str
    arm: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """One field that failed in at least one run of its case.

    `runs`: passed or not, one a run, in order. `invented`: gold has nothing there, so only a failure leaves a trace.
    `gold` and `value` are what was wanted and what the last failing run gave; MISSING where the key is not there.
    """

    pattern: str
    runs: tuple[bool, ...]
    gold: Json | Missing = MISSING
    value: Json | Missing = MISSING
    invented: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternState:
    """How many fields of a pattern gold asks for in a case, and digests of how they are checked and against what.

    `metric` is empty where no value got as far as a metric.
    """

    of: int
    metric: str
    gold: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseState:
    """One case on one arm: everything that a comparison reads.

    `runs` counts the attempts that were scored; `gates` holds, for each structural gate that ever failed, passed or not
    in each run. `measures` are means over the runs; `cost_usd` is the mean of a priced call, None if none was priced.
    `replayed`: every scored output came from a recording. `lost`: nothing can be read off it (broken or not run).
    """

    case_id: str
    arm: Arm
    outcome: Outcome
    runs: int
    patterns: Mapping[str, PatternState] = field(default_factory=dict)
    failing: Mapping[str, Failing] = field(default_factory=dict)
    gates: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    cost_usd: float | None = None
    replayed: bool = False
    why: str | None = None

    @property
    def lost(self) -> bool:
        """Whether an outage (or a budget, or a stop) kept the case from giving anything that can be compared."""
        return self.outcome in (Outcome.BROKEN, Outcome.NOT_RUN) or self.runs == 0


Snapshot: TypeAlias = Mapping[CaseKey, CaseState]


_Run: TypeAlias = Mapping[FieldPath, FieldResult]
"""The decided leaf results of one run, by path."""


def snapshot(results: Iterable[CaseResult]) -> dict[CaseKey, CaseState]:
    """Reduce results to what comparisons need. Of two results for one case and arm the later one counts."""
    return {case_key(result): case_state(result) for result in results}


def case_key(result: CaseResult) -> CaseKey:
    """Return the key of a result: file and case id, and the arm's label."""
    return CaseKey(f"{result.file}::{result.case_id}", result.arm.label)


def case_state(result: CaseResult) -> CaseState:
    """Reduce one result."""
    scored = [
        attempt
        for attempt in result.attempts
        if attempt.score is not None and attempt.outcome not in (Outcome.BROKEN, Outcome.NOT_RUN)
    ]
    judge = result.digests.get("judge", "")
    runs = [_decided(attempt.score) for attempt in scored if attempt.score is not None]
    shapes, failing = _merge(runs)
    return CaseState(
        case_id=result.case_id,
        arm=result.arm,
        outcome=result.outcome,
        runs=len(scored),
        patterns=_patterns(shapes, judge),
        failing=failing,
        gates=_gates(scored),
        measures=_measures(scored),
        digests=dict(result.digests),
        known=result.known,
        cost_usd=_mean([attempt.cost_usd for attempt in result.attempts if attempt.cost_usd is not None]),
        replayed=bool(scored) and all(attempt.recorded for attempt in scored),
        why=result.why or next((attempt.error for attempt in result.attempts if attempt.error), None),
    )


def judged(result: CaseResult) -> bool:
    """Whether some field of a result is of the kind that a judge decides, whoever stood in for one."""
    scores = [attempt.score for attempt in result.attempts if attempt.score is not None]
    return any(leaf.metric in _JUDGED for score in scores for leaf in score.leaves)


def _decided(score: ScoreRecord) -> _Run:
    return {leaf.path: leaf for leaf in score.leaves or score.fields if leaf.status not in _UNDECIDED}


def _asked(result: FieldResult) -> bool:
    """Whether gold has a value at the place."""
    return result.status is not Status.HALLUCINATION and result.gold is not MISSING and result.gold is not None


def _merge(runs: Sequence[_Run]) -> tuple[_Run, dict[str, Failing]]:
    """Bring the runs of a case together: each field once, and those that failed with their verdict in every run."""
    shapes: dict[FieldPath, FieldResult] = {}
    for run in runs:
        for path, result in run.items():
            if path not in shapes or (not _asked(shapes[path]) and _asked(result)):
                shapes[path] = result
    inner = {path[:size] for path in shapes for size in range(len(path))}
    shapes = {path: result for path, result in shapes.items() if path not in inner}
    failed = {path for run in runs for path, result in run.items() if not result.passed}
    suspects = [path for path in shapes if any(path[:size] in failed for size in range(len(path) + 1))]
    failing = {str(path): _failing(path, shapes[path], runs) for path in suspects}
    return shapes, {path: state for path, state in failing.items() if not all(state.runs)}


def _failing(path: FieldPath, shape: FieldResult, runs: Sequence[_Run]) -> Failing:
    verdicts: list[bool] = []
    value: Json | Missing = MISSING
    for run in runs:
        here = run.get(path)
        if here is None:
            verdicts.append(all(run[place].passed for place in path.parents if place in run))
            continue
        verdicts.append(here.passed)
        if not here.passed:
            value = here.extracted
    asked = _asked(shape)
    return Failing(pattern=shape.pattern, runs=tuple(verdicts), gold=shape.gold, value=value, invented=not asked)


def containers(path: str) -> Iterator[str]:
    """Yield the places that hold `path`, nearest first, the root `$` last: `a.b[0].c` -> `a.b[0]`, `a.b`, `a`, `$`."""
    if path == "$":
        return
    quoted = False
    for index in range(len(path) - 1, 0, -1):
        mark = path[index]
        if mark == '"' and not _escaped(path, index):
            quoted = not quoted
        elif not quoted and mark in ".[":
            yield path[:index]
    yield "$"


def _escaped(text: str, index: int) -> bool:
    before = text[:index]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _patterns(shapes: _Run, judge: str) -> dict[str, PatternState]:
    grouped: dict[str, list[FieldResult]] = {}
    for result in shapes.values():
        grouped.setdefault(result.pattern, []).append(result)
    return {pattern: _pattern_state(results, judge) for pattern, results in sorted(grouped.items())}


def _pattern_state(results: Sequence[FieldResult], judge: str) -> PatternState:
    asked = sorted((str(result.path), result.gold) for result in results if _asked(result))
    # results of one place of the schema share their parameters: each is written once
    bound = {(result.metric, id(result.params)): result for result in results if result.metric != _STRUCTURE}
    metrics = sorted({canonical_json([result.metric, dict(result.params)]) for result in bound.values()})
    judged = any(result.metric in _JUDGED for result in bound.values())
    return PatternState(
        of=len(asked),
        metric=_short_digest([metrics, judge if judged else ""]) if metrics else "",
        gold=_short_digest(asked),
    )


def _short_digest(value: Json) -> str:
    return hashlib.sha256(value_text(value).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def value_text(value: Json | Missing) -> str:
    """Return one text per value, `MISSING` too; never raises, whatever the value is."""
    if value is MISSING:
        return "missing"
    try:
        return canonical_json(value)
    except RecursionError:
        return _UNWRITABLE


def writable(value: Json) -> Json:
    """Return the value, or a text in its place where it cannot be written as JSON."""
    try:
        json.dumps(value)
    except (RecursionError, ValueError):
        return _UNWRITABLE
    return value


def _gates(scored: Sequence[Attempt]) -> dict[str, tuple[bool, ...]]:
    gates: dict[str, tuple[bool, ...]] = {}
    for name in STRUCTURAL_GATES:
        passed = tuple(getattr(attempt.score.gates, name).passed for attempt in scored if attempt.score is not None)
        if not all(passed):
            gates[name] = passed
    return gates


def _measures(scored: Sequence[Attempt]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for attempt in scored:
        for name, value in attempt.score.measures.items() if attempt.score is not None else ():
            if math.isfinite(value):
                values.setdefault(name, []).append(float(value))
    return {name: math.fsum(found) / len(found) for name, found in sorted(values.items())}


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
