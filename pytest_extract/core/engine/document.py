"""Compiled schema, gold, extracted and answers -> results, and the questions that are still open. Pure and total."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.core.compile.nodes import Array, Leaf, Object, Program, RecursiveRef, Skip, Union
from pytest_extract.core.engine.arrays import finish_arrays, walk_array
from pytest_extract.core.engine.batch import finish_batches
from pytest_extract.core.engine.context import CaseRules, Known, ScoringContext, Walker
from pytest_extract.core.engine.leaf import walk_leaf, walk_skip
from pytest_extract.core.engine.walk import walk_choice, walk_object
from pytest_extract.core.results import ArrayResult, FieldResult, Question
from pytest_extract.core.values import Value

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
        from pytest_extract.core.engine.post_process import post_process

        fields, leaves = post_process(program, fields, leaves)
    return Scored(fields, leaves, tuple(run.arrays), run.questions, run.vacuous)
