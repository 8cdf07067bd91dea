"""Scores a value that is compared as one: absence, types, transforms, metric or judge, accepted readings."""

from __future__ import annotations

from typing import Final, NamedTuple

from pytest_extract.core.compile.nodes import FieldMetric, Leaf, Skip
from pytest_extract.core.engine.context import (
    NO_ANSWER,
    NO_PARAMS,
    NoAnswer,
    Path,
    Pending,
    ScoringContext,
    absence,
    agreed_absence,
    is_present,
    make_result,
)
from pytest_extract.core.engine.matches import explanation
from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.base import Broken
from pytest_extract.core.results import MATCH, MISMATCH, FieldResult, JudgeAnswer, Question, Status
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import MISSING, FieldPath, Json, Value, Values, json_type, path_text


class _Outcome(NamedTuple):
    """Score of a comparison; None: undecided, for the reason given."""

    score: float | None
    reason: str | None = None


_RIGHT: Final = _Outcome(1.0)


def walk_leaf(run: ScoringContext, leaf: Leaf, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score a leaf with every check that it has."""
    checks = leaf.checks
    if leaf.by_type is not None:  # gold's type chooses, where the schema leaves it open
        checks = leaf.by_type.get(json_type(gold if is_present(gold) else extracted), checks)
    for index, check in enumerate(checks):
        result = check_leaf(run, leaf, check, gold, extracted, path, at)
        if result is not None:
            run.emit(result, field=leaf.field)
        else:
            if index == 0:
                run.vacuous += 1
            if run.both_passed and leaf.field:
                reason = agreed_absence(gold, extracted)
                run.fields.append(_result(leaf, check, MATCH, 1.0, (gold, extracted), path, at, reason))


def check_leaf(
    run: ScoringContext, leaf: Leaf, check: FieldMetric, gold: Value, extracted: Value, path: Path, at: Path | None
) -> FieldResult | None:
    """Return the result of one check of a leaf, to be kept next; None where neither side has a value."""
    if (
        check.transform is None
        and not (run.accept or leaf.empty_absent)
        and not (gold is None or extracted is None or gold is MISSING or extracted is MISSING)
    ):
        return _compared(run, leaf, check, gold, extracted, (gold, extracted), path, at, None)
    ours, problem = gold, None
    if run.accept:
        ours = _reading(run, leaf, check, gold, extracted, path)
    values = ours, extracted
    if check.transform is not None:
        values, problem = transformed(check, ours, extracted)
    no_gold = values[0] is MISSING or (run.absent and values[0] is None)
    none = values[1] is MISSING or (run.absent and values[1] is None)
    if leaf.empty_absent:
        no_gold, none = no_gold or values[0] == [], none or values[1] == []
    if no_gold and none:
        return None
    if no_gold or none:
        status = Status.HALLUCINATION if no_gold else Status.OMISSION
        return one_sided(run, leaf, check, status, (gold, extracted), path, at)
    return _compared(run, leaf, check, *values, (gold, extracted), path, at, problem)


def walk_skip(run: ScoringContext, skip: Skip, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Note a place that is not scored, where there is something to note."""
    if skip.never or (not skip.always and gold is MISSING and extracted is MISSING):
        return
    values = gold, extracted
    result = make_result(skip.pattern, "skip", NO_PARAMS, 0.0, Status.SKIPPED, 0.0, values, path, at, "not scored")
    run.leaves.append(result)
    if skip.field:
        run.fields.append(result)


def transformed(check: FieldMetric, gold: Value, extracted: Value) -> tuple[Values, str | None]:
    """Return both values after the check's transforms, and what went wrong; a value that cannot be stays as it is."""
    if check.transform is None:
        return (gold, extracted), None
    found, problems = [], []
    for side, value in (("gold", gold), ("extracted", extracted)):
        try:
            found.append(value if value is MISSING else check.transform(value))
        except ValueError as error:
            found.append(value)
            problems.append(f"{side} is not transformed: {error}")
    return (found[0], found[1]), "; ".join(problems) or None


def one_sided(
    run: ScoringContext, leaf: Leaf, check: FieldMetric, status: Status, values: Values, path: Path, at: Path | None
) -> FieldResult:
    """Return an omission or a hallucination, or that it is skipped where the case says that the field may be empty."""
    side, absent = ("extracted", values[1]) if status is Status.OMISSION else ("gold", values[0])
    reason = f"{side} is {absence(absent)}"
    if run.absent_rules and rule_of(run, leaf.pattern, path) == "either":
        status, reason = Status.SKIPPED, f"{reason}; the case lets this field be empty or not"
    return _result(leaf, check, status, 0.0, values, path, at, reason)


def _compared(
    run: ScoringContext,
    leaf: Leaf,
    check: FieldMetric,
    gold: Json,
    extracted: Json,
    raw: tuple[Json, Json],
    path: Path,
    at: Path | None,
    problem: str | None,
) -> FieldResult:
    """Compare two values, of which `raw` are the transformed ones."""
    if check.batch is not None:  # it stands for the field until all of its batch are known
        run.pending.append(Pending(check, len(run.leaves), len(run.fields) if leaf.field else None, gold, extracted))
        return _result(leaf, check, Status.JUDGE_ERROR, 0.0, raw, path, at, "waits for its batch")
    if leaf.types is not None and type_fits(leaf.types, raw[0]) and not type_fits(leaf.types, raw[1]):
        wrong = f"expected {' or '.join(sorted(leaf.types))}, got {equality.a_type(raw[1])}"
        return _result(leaf, check, MISMATCH, 0.0, raw, path, at, wrong)
    metric, reason = check.metric, None
    if metric.judged:
        score, reason = _ask(run, check, gold, extracted, path)
    else:
        kind = type(gold)
        alike = kind in check.fast and kind is type(extracted) and gold == extracted
        score = 1.0 if alike else metric.compare(gold, extracted)
        if not 0.0 <= score <= 1.0:
            why = score.why if isinstance(score, Broken) else f"it gave {score!r}, not a score from 0 to 1"
            score, reason = None, f"the metric {metric.name!r} broke: {why}"
    if run.accept and metric.judged and score is not None and score < check.threshold:
        score, reason = _judged_reading(run, leaf, check, extracted, path, _Outcome(score, reason))
    if score is None:
        return _result(leaf, check, Status.JUDGE_ERROR, 0.0, raw, path, at, reason)
    right = score >= check.threshold
    if reason is None and problem is not None and not right:
        reason = problem
    elif reason is None and score < 1.0 and not run.depth and metric.explain is not None:
        reason = explanation(metric.explain, gold, extracted)
    return _result(leaf, check, MATCH if right else MISMATCH, score, raw, path, at, reason)


def _ask(run: ScoringContext, check: FieldMetric, gold: Json, extracted: Json, path: Path) -> _Outcome:
    metric = check.metric
    if run.depth and check.likeness is not None:
        return _Outcome(check.likeness.compare(gold, extracted))
    if metric.compare(gold, extracted) == 1.0:
        return _RIGHT
    question = Question(
        kind="equal",
        path=FieldPath(path),
        gold=gold,
        extracted=extracted,
        instructions=metric.instructions,
        judge=metric.judge,
        options=metric.options,
    )
    answer = run.ask(question, "values")
    if isinstance(answer, JudgeAnswer):
        return _Outcome(answer.score, answer.reason or None)
    return _Outcome(None, answer.reason if isinstance(answer, NoAnswer) else NO_ANSWER)


def _reading(run: ScoringContext, leaf: Leaf, check: FieldMetric, gold: Value, extracted: Value, path: Path) -> Value:
    """Return the accepted reading that the extracted value agrees with, where gold itself does not; else gold."""
    found = (gold, *readings(run, leaf.pattern, path))
    return next((reading for reading in found if agree(check, reading, extracted)), gold)


def agree(check: FieldMetric, reading: Value, extracted: Value) -> bool:
    """Whether a check finds the extracted value right by this reading, without asking a judge."""
    ours, theirs = transformed(check, reading, extracted)[0]
    if ours is MISSING or ours is None or theirs is MISSING or theirs is None:
        return ours in (MISSING, None) and theirs in (MISSING, None)
    return check.metric.compare(ours, theirs) >= (1.0 if check.metric.judged else check.threshold)


def _judged_reading(
    run: ScoringContext, leaf: Leaf, check: FieldMetric, extracted: Json, path: Path, outcome: _Outcome
) -> _Outcome:
    """Ask about the case's further right readings, where the judge found the value unlike gold."""
    for reading in readings(run, leaf.pattern, path):
        ours = transformed(check, reading, MISSING)[0][0]
        other = _ask(run, check, ours, extracted, path)
        if other.score is None or (outcome.score is not None and other.score > outcome.score):
            outcome = other
        if other.score is None or other.score >= check.threshold:
            break
    return outcome


def readings(run: ScoringContext, pattern: str, path: Path) -> tuple[Json, ...]:
    """Return the accepted readings of a place, by its pattern and by its path; an invented row has none."""
    if any(type(step) is int and step < 0 for step in path):
        return ()
    found = tuple(run.accept.get(pattern, ()))
    text = path_text(path)
    return found if text == pattern else found + tuple(run.accept.get(text, ()))


def rule_of(run: ScoringContext, pattern: str, path: Path) -> str | None:
    """Return what the case says about a place that is empty: must, either, or nothing."""
    return run.absent_rules.get(pattern) or run.absent_rules.get(path_text(path))


def _result(
    leaf: Leaf,
    check: FieldMetric,
    status: Status,
    score: float,
    values: Values,
    path: Path,
    at: Path | None,
    reason: str | None,
) -> FieldResult:
    metric = check.metric
    return make_result(leaf.pattern, metric.name, metric.params, check.weight, status, score, values, path, at, reason)
