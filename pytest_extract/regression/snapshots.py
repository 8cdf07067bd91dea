"""A snapshot of a run: for each case, arm and field pattern the number of checked fields, and the failed fields."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.case_result import Arm, Attempt, CaseResult, Outcome
from pytest_extract.core.results import STRUCTURE, FieldResult, ScoreRecord, Status
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, canonical_json, text_digest

STRUCTURAL_GATES: Final = ("parse", "root", "schema")
_JUDGED: Final = frozenset({"semantic", "string_semantic", "string_llm", "array_llm"})
"""Metrics that a judge decides; under `--extract-judge=exact` and `fuzzy` the scorer does in its place."""
_UNWRITABLE: Final = "<nested too deep or too long to write>"
_UNDECIDED: Final = frozenset({Status.SKIPPED, Status.JUDGE_ERROR})


class CaseKey(NamedTuple):
    """A case and its arm: what pairs a result with its earlier self."""

    case: str
    arm: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingField:
    """One field that failed in at least one run of its case.

    `runs`: passed or not, one a run, in order. `invented`: gold has no value there, so only failures are recorded.
    `gold` is the expected value, `value` that of the last failing run; MISSING for a missing key.
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
    """One case on one arm: everything that a comparison needs.

    `runs` counts the attempts that were scored; `gates` holds, for each structural gate that ever failed, passed or not
    in each run. `measures` has the value of each run; `cost_usd` is the mean of a priced call and `latency_s` that
    of a call, None if unknown. `broken` counts the attempts that broke, `errors` their kinds.
    `replayed`: every scored output came from a recording. `lost`: there is nothing to compare (broken or not run).
    """

    case_id: str
    arm: Arm
    outcome: Outcome
    runs: int
    patterns: Mapping[str, PatternState] = field(default_factory=dict)
    failing: Mapping[str, FailingField] = field(default_factory=dict)
    gates: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    measures: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    broken: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, Json] = field(default_factory=dict)
    cost_usd: float | None = None
    latency_s: float | None = None
    replayed: bool = False
    why: str | None = None

    @property
    def lost(self) -> bool:
        """Whether there is nothing to compare, because of an outage, the budget or a stop."""
        return self.outcome in (Outcome.BROKEN, Outcome.NOT_RUN) or self.runs == 0


Snapshot: TypeAlias = Mapping[CaseKey, CaseState]


_Run: TypeAlias = Mapping[FieldPath, FieldResult]
"""The decided leaf results of one run, by path."""


def snapshot(results: Iterable[CaseResult]) -> dict[CaseKey, CaseState]:
    """Reduce results to what comparisons need. Of two results for one case and arm the later one counts."""
    return {case_key(result): case_state(result) for result in results}


def reviewed_results(results: Sequence[CaseResult], *, allow_drafts: bool) -> Sequence[CaseResult]:
    """Return the results that are evidence: a gold that nobody has reviewed says nothing about an output."""
    return results if allow_drafts else [result for result in results if not result.draft]


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
    broken = [attempt for attempt in result.attempts if attempt.outcome is Outcome.BROKEN]
    judge = result.digests.get("judge", "")
    runs = [_decided_leaves(attempt.score) for attempt in scored if attempt.score is not None]
    shapes, failing = _merge_runs(runs)
    return CaseState(
        case_id=result.case_id,
        arm=result.arm,
        outcome=result.outcome,
        runs=len(scored),
        patterns=_pattern_states(shapes, judge),
        failing=failing,
        gates=_failed_gates(scored),
        measures=_measures_by_run(scored),
        digests=dict(result.digests),
        known=result.known,
        broken=len(broken) or int(result.outcome is Outcome.BROKEN),
        errors=_error_kinds(broken, result.why if result.outcome is Outcome.BROKEN else None),
        tags=dict(result.tags),
        cost_usd=_mean([attempt.cost_usd for attempt in result.attempts if attempt.cost_usd is not None]),
        latency_s=_mean([attempt.latency_s for attempt in scored if attempt.latency_s is not None]),
        replayed=bool(scored) and all(attempt.recorded for attempt in scored),
        why=result.why or next((attempt.error for attempt in result.attempts if attempt.error), None),
    )


def uses_judge(result: CaseResult) -> bool:
    """Whether some field of a result has a metric that a judge decides, also if the scorer decided in its place."""
    scores = [attempt.score for attempt in result.attempts if attempt.score is not None]
    return any(leaf.metric in _JUDGED for score in scores for leaf in score.leaves)


def _decided_leaves(score: ScoreRecord) -> _Run:
    return {leaf.path: leaf for leaf in score.leaves or score.fields if leaf.status not in _UNDECIDED}


def _gold_has_value(result: FieldResult) -> bool:
    """Whether gold has a value at the place."""
    return result.status is not Status.HALLUCINATION and result.gold is not MISSING and result.gold is not None


def _merge_runs(runs: Sequence[_Run]) -> tuple[_Run, dict[str, FailingField]]:
    """Merge the runs of a case: each field once, and those that failed with passed or not in every run."""
    shapes: dict[FieldPath, FieldResult] = {}
    for run in runs:
        for path, result in run.items():
            if path not in shapes or (not _gold_has_value(shapes[path]) and _gold_has_value(result)):
                shapes[path] = result
    sizes = {len(path) for path in shapes}
    inner = {path[:size] for path in shapes for size in sizes if size < len(path)}
    shapes = {path: result for path, result in shapes.items() if path not in inner}
    failed = {path for run in runs for path, result in run.items() if not result.passed}
    sizes = {len(path) for path in failed}
    suspects = [path for path in shapes if any(path[:size] in failed for size in sizes)]
    failing = {str(path): _failing_field(path, shapes[path], runs) for path in suspects}
    return shapes, {path: state for path, state in failing.items() if not all(state.runs)}


def _failing_field(path: FieldPath, shape: FieldResult, runs: Sequence[_Run]) -> FailingField:
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
    asked = _gold_has_value(shape)
    return FailingField(pattern=shape.pattern, runs=tuple(verdicts), gold=shape.gold, value=value, invented=not asked)


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


def _pattern_states(shapes: _Run, judge: str) -> dict[str, PatternState]:
    grouped: dict[str, list[FieldResult]] = {}
    for result in shapes.values():
        grouped.setdefault(result.pattern, []).append(result)
    digests: dict[frozenset[tuple[str, str]], str] = {}
    return {pattern: _pattern_state(grouped[pattern], judge, digests) for pattern in sorted(grouped)}


def _pattern_state(
    results: Sequence[FieldResult], judge: str, digests: dict[frozenset[tuple[str, str]], str]
) -> PatternState:
    """Return the state of a pattern; `digests` keeps those of the metrics, which most patterns share."""
    asked = sorted((str(result.path), result.gold) for result in results if _gold_has_value(result))
    # results of one place of the schema share their parameters: each is written once
    bound = {(result.metric, id(result.params)): result for result in results if result.metric != STRUCTURE}
    checks = frozenset((result.metric, repr(result.params)) for result in bound.values())
    metric = digests.get(checks, "")
    if checks and not metric:
        metrics = sorted({canonical_json([result.metric, dict(result.params)]) for result in bound.values()})
        judged = any(result.metric in _JUDGED for result in bound.values())
        metric = digests[checks] = _short_digest([metrics, judge if judged else ""])
    return PatternState(of=len(asked), metric=metric, gold=_short_digest(asked))


def _short_digest(value: Json) -> str:
    return text_digest(value_text(value))[:8]


def value_text(value: Json | Missing) -> str:
    """Return one text per value, `MISSING` too; never raises, whatever the value is."""
    if value is MISSING:
        return "missing"
    try:
        return canonical_json(value)
    except RecursionError:
        return _UNWRITABLE


def json_or_placeholder(value: Json) -> Json:
    """Return the value, or a text in its place where it cannot be written as JSON."""
    try:
        json.dumps(value)
    except (RecursionError, ValueError):
        return _UNWRITABLE
    return value


def _error_kinds(broken: Sequence[Attempt], why: str | None) -> dict[str, int]:
    """Count what broke by kind: the name of the exception, which an error's text begins with."""
    texts = [attempt.error or "" for attempt in broken] or ([why] if why else [])
    kinds: dict[str, int] = {}
    for text in texts:
        name = text.partition(":")[0].strip().rpartition(".")[2]
        kind = name if name.isidentifier() else "other error"
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def _failed_gates(scored: Sequence[Attempt]) -> dict[str, tuple[bool, ...]]:
    gates: dict[str, tuple[bool, ...]] = {}
    for name in STRUCTURAL_GATES:
        passed = tuple(getattr(attempt.score.gates, name).passed for attempt in scored if attempt.score is not None)
        if not all(passed):
            gates[name] = passed
    return gates


def _measures_by_run(scored: Sequence[Attempt]) -> dict[str, tuple[float, ...]]:
    """Return each measure in every run; a run without a finite value has the mean of the others."""
    names = {name for attempt in scored if attempt.score is not None for name in attempt.score.measures}
    found: dict[str, tuple[float, ...]] = {}
    for name in sorted(names):
        values = [float(attempt.score.measures.get(name, math.nan)) for attempt in scored if attempt.score is not None]
        finite = [value for value in values if math.isfinite(value)]
        if finite:
            mean = math.fsum(finite) / len(finite)
            found[name] = tuple(value if math.isfinite(value) else mean for value in values)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
