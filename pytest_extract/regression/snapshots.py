"""A snapshot of a run: for each case, variant and field pattern the number of checked fields, and the failed fields.

Results of the shards of one run are joined by the same keys.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, NamedTuple, TypeAlias

from pytest_extract.core.aggregate.slices import case_slices
from pytest_extract.core.case_result import CaseResult, Origin, Outcome, Variant
from pytest_extract.core.metrics import JUDGED
from pytest_extract.core.results import STRUCTURE, FieldResult, NamedMistake, ScoreRecord, Status
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, canonical_json, path_text, text_digest

STRUCTURAL_GATES: Final = ("parse", "root", "schema")
_UNDECIDED: Final = frozenset({Status.SKIPPED, Status.JUDGE_ERROR})


class CaseKey(NamedTuple):
    """A case and its variant: what pairs a result with its earlier self."""

    case: str
    variant: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingField:
    """One field that failed in at least one run of its case.

    `runs`: passed or not, one a run, in order. `invented`: gold has no value there, so only failures are recorded.
    `gold` is the expected value, `value` that of the last failing run; MISSING for a missing key. `mistake` names what
    went wrong in that run; a baseline does not keep it.
    """

    SPARSE: ClassVar = True

    pattern: str
    runs: tuple[bool, ...]
    gold: Json | Missing = MISSING
    value: Json | Missing = MISSING
    invented: bool = False
    mistake: NamedMistake | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PatternState:
    """How many fields of a pattern gold asks for in a case, and digests of how they are checked and of their values.

    `metric` is empty where no value got as far as a metric.
    """

    of: int
    metric: str
    gold: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseState:
    """One case on one variant: everything that a comparison needs.

    `runs` counts the attempts that were scored; `gates` holds, for each structural gate that ever failed, passed or not
    in each run. `measures` has the value of each run; `cost_usd` is the mean of a priced call and `latency_s` that of a
    call, None if unknown.
    `errors` counts the attempts that ended in error, by kind. `slices`: what the case is grouped by (`case_slices`).
    `builds`: the models that served the calls, as their providers name them.
    `replayed`: every scored output came from a recording; `other_code`: some of another version of the code.
    `lost`: there is nothing to compare (error or not run).
    """

    SPARSE: ClassVar = True

    case_id: str
    variant: Variant
    outcome: Outcome
    runs: int
    patterns: Mapping[str, PatternState] = field(default_factory=dict)
    failing: Mapping[str, FailingField] = field(default_factory=dict)
    gates: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    measures: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict)
    slices: Mapping[str, Json] = field(default_factory=dict)
    origin: Origin = Origin.SAMPLE
    cost_usd: float | None = None
    latency_s: float | None = None
    builds: tuple[str, ...] = ()
    replayed: bool = False
    other_code: bool = False
    why: str | None = None

    @property
    def lost(self) -> bool:
        """Whether there is nothing to compare, because of an outage, the budget or a stop."""
        return self.outcome in (Outcome.ERROR, Outcome.NOT_RUN) or self.runs == 0

    def with_runs(self, start: int, stop: int) -> CaseState:
        """Return the state of the scored runs from `start` to before `stop`, in their order, without errors.

        Cost and latency stay those of all runs.
        """
        part = slice(start, stop)
        failing = {path: replace(entry, runs=entry.runs[part]) for path, entry in self.failing.items()}
        gates = {name: runs[part] for name, runs in self.gates.items()}
        return replace(
            self,
            runs=len(range(self.runs)[part]),
            failing={path: entry for path, entry in failing.items() if not all(entry.runs)},
            gates={name: runs for name, runs in gates.items() if not all(runs)},
            measures={name: values[part] for name, values in self.measures.items()},
            errors={},
        )


Snapshot: TypeAlias = Mapping[CaseKey, CaseState]


_Run: TypeAlias = Mapping[FieldPath, FieldResult]
"""The decided leaf results of one run, by path."""


def snapshot(results: Iterable[CaseResult]) -> dict[CaseKey, CaseState]:
    """Reduce results to what comparisons need. Of two results for one case and variant the later one counts."""
    return {case_key(result): case_state(result) for result in results}


def counted_states(states: Snapshot) -> Snapshot:
    """Return the states that the gate counts: those of samples; all where there is none."""
    return {key: state for key, state in states.items() if state.origin is Origin.SAMPLE} or states


def case_key(result: CaseResult) -> CaseKey:
    """Return the key of a result: file and case id, and the variant's label."""
    return CaseKey(f"{result.file}::{result.case_id}", result.variant.label)


def case_state(result: CaseResult) -> CaseState:
    """Reduce one result."""
    scored = [
        attempt
        for attempt in result.attempts
        if attempt.score is not None and attempt.outcome not in (Outcome.ERROR, Outcome.NOT_RUN)
    ]
    scores = [attempt.score for attempt in scored if attempt.score is not None]
    mistakes = [{path: mistake for mistake in score.mistakes for path in mistake.paths} for score in scores]
    gates = {name: tuple(getattr(score.gates, name).passed for score in scores) for name in STRUCTURAL_GATES}
    merged, failing = _merge_runs([_decided_leaves(score) for score in scores], mistakes)
    return CaseState(
        case_id=result.case_id,
        variant=result.variant,
        outcome=result.outcome,
        runs=len(scored),
        patterns=_patterns_of(merged, result.digests.get("judge", "")),
        failing=failing,
        gates={name: passed for name, passed in gates.items() if not all(passed)},
        measures=_measures_by_run(scores),
        digests=result.digests,
        known=result.known,
        errors=_error_kinds(result),
        slices=case_slices(result),
        origin=result.origin,
        cost_usd=_mean([attempt.cost_usd for attempt in result.attempts if attempt.cost_usd is not None]),
        latency_s=_mean([attempt.latency_s for attempt in scored if attempt.latency_s is not None]),
        builds=tuple(sorted({attempt.build for attempt in scored if attempt.build is not None})),
        replayed=bool(scored) and all(attempt.recorded for attempt in scored),
        other_code=any(attempt.other_code for attempt in scored),
        why=result.why or next((attempt.error for attempt in result.attempts if attempt.error), None),
    )


def _decided_leaves(score: ScoreRecord) -> _Run:
    found: dict[FieldPath, FieldResult] = {}
    for leaf in score.leaves or score.fields:
        if leaf.status in _UNDECIDED:
            continue
        other = found.setdefault(leaf.path, leaf)
        if other is not leaf:  # several metrics: the place is right where all of them find it so
            both = {each.metric: dict(each.params) for each in (other, leaf)}
            worse = leaf if other.passed else other
            found[leaf.path] = worse._replace(metric=f"{other.metric}, {leaf.metric}", params=both)
    return found


def _gold_has_value(result: FieldResult) -> bool:
    """Whether gold has a value at the place."""
    return result.status is not Status.HALLUCINATION and result.gold is not MISSING and result.gold is not None


def _merge_runs(
    runs: Sequence[_Run], mistakes: Sequence[Mapping[FieldPath, NamedMistake]]
) -> tuple[_Run, dict[str, FailingField]]:
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
    failing: dict[str, FailingField] = {}
    for path, shape in shapes.items():
        if not any(path[:size] in failed for size in sizes):
            continue
        verdicts: list[bool] = []
        value: Json | Missing = MISSING
        mistake: NamedMistake | None = None
        for run, named in zip(runs, mistakes, strict=True):
            here = run.get(path)
            passed = here.passed if here else all(run[place].passed for place in path.parents if place in run)
            verdicts.append(passed)
            if not passed:
                mistake, value = named.get(path), here.extracted if here else value
        if not all(verdicts):
            failing[str(path)] = FailingField(
                pattern=shape.pattern,
                runs=tuple(verdicts),
                gold=shape.gold,
                value=value,
                invented=not _gold_has_value(shape),
                mistake=mistake,
            )
    return shapes, failing


def _patterns_of(fields: _Run, judge: str) -> dict[str, PatternState]:
    """Return the patterns of a case by the results of its fields; `judge`: the digest of the judge."""
    grouped: dict[str, list[FieldResult]] = {}
    for result in fields.values():
        grouped.setdefault(result.pattern, []).append(result)
    found: dict[str, PatternState] = {}
    for pattern, results in sorted(grouped.items()):
        asked = sorted(f"{path_text(each.path)} {value_text(each.gold)}" for each in results if _gold_has_value(each))
        checked = [each for each in results if each.metric != STRUCTURE]
        metrics = {canonical_json([each.metric, dict(each.params)]) if each.params else each.metric for each in checked}
        judged = any(name in JUDGED for each in checked for name in each.metric.split(", "))
        lines = [*sorted(metrics), *([judge] if judged else [])]
        metric = text_digest("\n".join(lines))[:8] if metrics else ""
        found[pattern] = PatternState(len(asked), metric, text_digest("\n".join(asked))[:8])
    return found


def value_text(value: Json | Missing) -> str:
    """Return one text per value, `MISSING` too."""
    return "missing" if value is MISSING else canonical_json(value)


def _error_kinds(result: CaseResult) -> dict[str, int]:
    """Count the errors of a case by kind: the name of the exception, which an error's text begins with."""
    texts = [attempt.error or "" for attempt in result.attempts if attempt.outcome is Outcome.ERROR]
    if result.outcome is Outcome.ERROR and not texts:
        texts = [result.why or ""]
    names = [text.partition(":")[0].strip().split(".") for text in texts]
    return Counter(each[-1] if all(map(str.isidentifier, each)) else "other error" for each in names)


def _measures_by_run(scores: Sequence[ScoreRecord]) -> dict[str, tuple[float, ...]]:
    """Return each measure in every run; a run without a finite value has the mean of the others."""
    found: dict[str, tuple[float, ...]] = {}
    for name in sorted({name for score in scores for name in score.measures}):
        values = [float(score.measures.get(name, math.nan)) for score in scores]
        finite = [value for value in values if math.isfinite(value)]
        if finite:
            mean = math.fsum(finite) / len(finite)
            found[name] = tuple(value if math.isfinite(value) else mean for value in values)
    return found


def _mean(values: Sequence[float]) -> float | None:
    """Return the mean to six digits, which a baseline keeps and a run compares with."""
    return float(f"{math.fsum(values) / len(values):.6g}") if values else None


def merge(shards: Iterable[tuple[str, Iterable[tuple[bytes, CaseResult]]]]) -> tuple[list[bytes], list[str]]:
    """Join named shards of results, each with its line; return lines in the order of the shards, and conflicts.

    A case that one shard did not run is taken from the shard that did, and equal lines are kept once. Of a case that a
    shard has run again, its last line counts. Anything else that two shards have of a case and variant is a conflict:
    nothing shows which of them belongs to the run.
    """
    kept: dict[CaseKey, tuple[str, bytes, bool]] = {}  # the shard, the line, and whether it was run there
    conflicts: list[str] = []
    for shard, results in shards:
        for line, result in results:
            key, runs = case_key(result), result.outcome is not Outcome.NOT_RUN
            first, first_line, ran = kept.setdefault(key, (shard, line, runs))
            if not ran or (runs and first == shard):
                kept[key] = shard, line, runs
            elif runs and line != first_line:
                conflicts.append(f"{result.nodeid}: {first} and {shard} differ")
    return [line for _, line, _ in kept.values()], conflicts
