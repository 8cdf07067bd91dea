"""Compiled schema, gold, extracted and answers -> results, and the questions that are still open. Pure and total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.collector import without_collection
from pytest_extract.core.compile.nodes import Array, Leaf, Object, Program, RecursiveRef, Skip, Union
from pytest_extract.core.engine.array import walk_array
from pytest_extract.core.engine.batch import finish_batches
from pytest_extract.core.engine.context import CaseRules, Known, ScoringContext, Walker
from pytest_extract.core.engine.leaf import walk_leaf, walk_skip
from pytest_extract.core.engine.matches import Kept, make_results
from pytest_extract.core.engine.table import ListTable
from pytest_extract.core.engine.walk import walk_choice, walk_lazy, walk_object
from pytest_extract.core.engine.whole import finish_recalls
from pytest_extract.core.results import ArrayResult, FieldResult, Question
from pytest_extract.core.values import Value

_WALKERS: Final[Mapping[type, Walker]] = MappingProxyType(
    {
        Leaf: walk_leaf,
        Skip: walk_skip,
        Object: walk_object,
        Array: walk_array,
        Union: walk_choice,
        RecursiveRef: walk_lazy,
    }
)
_new: Final = tuple.__new__


class Scored(NamedTuple):
    """What one walk found.

    `fields` and `leaves`: what was compared; `arrays`: how rows were paired; `questions`: what a judge is still to
    answer, by key; `vacuous`: places where both sides agree only on having nothing; `tables`: lists of flat objects,
    each row of which has all columns of its table and no others.
    """

    fields: tuple[Kept, ...]
    leaves: tuple[Kept, ...]
    arrays: tuple[ArrayResult, ...]
    questions: Mapping[str, Question]
    vacuous: int
    tables: Sequence[ListTable]

    def results(self) -> tuple[tuple[FieldResult, ...], tuple[FieldResult, ...]]:
        """Make the results of `fields` and `leaves`."""
        return make_results(self.fields, self.leaves)


@without_collection
def score_values(
    program: Program, gold: Value, extracted: Value, answers: Known, rules: CaseRules, unanswered: str
) -> Scored:
    """Score one extracted value against gold; `answers` maps `Question.key` to what the judge said, None included.

    `unanswered`: why a question has no answer that is not among them.
    """
    run = ScoringContext(program, _WALKERS, answers, rules, unanswered)
    run.walk(program.root, gold, extracted, (), None)
    finish_batches(run)
    finish_recalls(run)
    fields, leaves = tuple(run.fields), tuple(run.leaves)
    if program.post_processors:
        from pytest_extract.core.engine.post_process import post_process

        fields, leaves = post_process(program, *make_results(fields, leaves))
    return _new(Scored, (fields, leaves, tuple(run.arrays), run.questions, run.vacuous, tuple(run.tables)))
