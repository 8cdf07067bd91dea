"""Compiled schema, gold, extracted and answers -> results, and the questions that are still open. Pure and total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.core.compile.nodes import (
    Array,
    BoundPostProcessor,
    Leaf,
    Object,
    Program,
    RecursiveRef,
    Skip,
    Union,
)
from pytest_extract.core.engine.arrays import finish_arrays, walk_array
from pytest_extract.core.engine.context import CaseRules, Known, ScoringContext, Walker
from pytest_extract.core.engine.leaf import finish_batches, transformed, walk_leaf, walk_skip
from pytest_extract.core.engine.walk import walk_choice, walk_object
from pytest_extract.core.extensions import Transformed
from pytest_extract.core.results import JUDGE_ERROR, SKIPPED, STRUCTURE, ArrayResult, FieldResult, Question, Status
from pytest_extract.core.values import MISSING, Value, Values

_WALKERS: Final[Mapping[type, Walker]] = MappingProxyType(
    {
        Leaf: walk_leaf,
        Skip: walk_skip,
        Object: walk_object,
        Array: walk_array,
        Union: walk_choice,
        RecursiveRef: walk_choice,
    }
)


class Scored(NamedTuple):
    """What one walk found.

    `fields` and `leaves`: what was compared; `arrays`: how rows were paired; `questions`: what a judge is still to
    answer, by key; `vacuous`: places where both sides agree only on having nothing.
    """

    fields: tuple[FieldResult, ...]
    leaves: tuple[FieldResult, ...]
    arrays: tuple[ArrayResult, ...]
    questions: Mapping[str, Question]
    vacuous: int


def score_values(
    program: Program, gold: Value, extracted: Value, answers: Known, rules: CaseRules, unanswered: str
) -> Scored:
    """Score one extracted value against gold; `answers` maps `Question.key` to what the judge said, None included.

    `unanswered`: why a question has no answer that is not among them.
    """
    run = ScoringContext(program, _WALKERS, answers, rules, unanswered)
    run.walk(program.root, gold, extracted, (), None)
    finish_batches(run)
    finish_arrays(run)
    fields, leaves = tuple(run.fields), tuple(run.leaves)
    if program.post_processors:
        from pytest_extract.core.engine.document import post_process

        fields, leaves = post_process(program, fields, leaves)
    return Scored(fields, leaves, tuple(run.arrays), run.questions, run.vacuous)


def post_process(
    program: Program, fields: tuple[FieldResult, ...], leaves: tuple[FieldResult, ...]
) -> tuple[tuple[FieldResult, ...], tuple[FieldResult, ...]]:
    """Return field and leaf results as the post-processors leave them; field results that are leaves follow."""

    def values_as_compared(result: FieldResult) -> Values:
        if result.metric == STRUCTURE:
            return MISSING, MISSING
        node = program.patterns.get(result.pattern)
        metrics = node.checks if isinstance(node, Leaf) else ()
        check = next((check for check in metrics if check.metric.name == result.metric), None)
        if check is None or check.transform is None:
            return result.gold, result.extracted
        return transformed(check, result.gold, result.extracted)[0]

    changed: Sequence[FieldResult] = leaves
    for post_processor in program.post_processors:
        changed = _run(post_processor, changed, values_as_compared)
    by_id = {id(old): new for old, new in zip(leaves, changed, strict=True)}
    return tuple(by_id.get(id(field), field) for field in fields), tuple(changed)


def _run(
    post_processor: BoundPostProcessor, results: Sequence[FieldResult], transformed: Transformed
) -> list[FieldResult]:
    """Run one post-processor; one that raises, or gives other than a result for each, breaks all of the fields."""
    spec, params = post_processor
    try:
        found = list(spec.process(results, params, transformed))
        problem = None if len(found) == len(results) else f"it gave {len(found)} results for {len(results)}"
        found = [_checked_result(result) for result in found]
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        problem, found = f"{type(error).__name__}: {error}", []
    if problem is None:
        return found
    reason = f"the post-processor {spec.name!r} broke: {problem}"
    return [
        result
        if result.status is SKIPPED
        else result._replace(status=JUDGE_ERROR, score=0.0, passed=False, reason=reason)
        for result in results
    ]


def _checked_result(result: FieldResult) -> FieldResult:
    if not isinstance(result, FieldResult):
        raise TypeError(f"{result!r} is no FieldResult")
    if isinstance(result.score, bool) or not 0.0 <= result.score <= 1.0:
        raise ValueError(f"the score of {result.path} is {result.score!r}, not a number from 0 to 1")
    return result._replace(status=Status(result.status), passed=bool(result.passed))
