"""State of one scoring: the results so far, what is still to be asked, and the knobs that the walk reads often."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, NamedMetric, Node, Program, RecursiveRef, Union
from pytest_extract.core.results import STRUCTURE, Alignment, FieldResult, JudgeAnswer, Pairing, Question, Status
from pytest_extract.core.schema.tree import SchemaNode, type_fits
from pytest_extract.core.values import (
    MISSING,
    Json,
    Step,
    Value,
    Values,
    as_place,
    at_or_below,
    canonical_json,
    strict_key,
)

Path: TypeAlias = tuple[Step, ...]
Outcome: TypeAlias = tuple[Status, float, str | None]
"""Status and score of a comparison, and why it is not right."""
Walk: TypeAlias = Callable[["ScoringContext", Node, Value, Value, Path, Path | None], None]
"""(run, node, gold, extracted, path, where the extracted value stands if not there) -> None."""

_STRUCTURE: Final[NamedMetric] = (STRUCTURE, {}, 1.0)
_ONE_SIDED: Final = frozenset({Status.OMISSION, Status.HALLUCINATION})
_INDEX: Final = re.compile(r"\[\d+\]")


class OpenArray(NamedTuple):
    """An array whose numbers are worked out when all leaves are decided: a batch metric may still be open.

    field: the place of its own result, if it has one, in `ScoringContext.fields`.
    leaves: what `ScoringContext.leaves` keeps of its rows.
    """

    array: Array
    path: Path
    pairing: Pairing
    field: int | None
    leaves: slice


class NoAnswer(NamedTuple):
    """A question that was asked and not answered, and why."""

    reason: str


Decision: TypeAlias = JudgeAnswer | Alignment | NoAnswer
Known: TypeAlias = Mapping[str, Decision]
"""What is known of questions, by `Question.key`."""


class Pending(NamedTuple):
    """A field of a batch metric that waits for the others: its places in the lists of results."""

    check: FieldMetric
    leaf: int
    field: int | None
    gold: Json
    extracted: Json


class CaseRules(NamedTuple):
    """What a case says beside gold: further right readings, and fields that may stay empty; by pattern or path."""

    accept: Mapping[str, Sequence[Json]] = {}
    absent: Mapping[str, str] = {}


class Fit(NamedTuple):
    """How well two values fit, as weighted sums over the leaves below them.

    `weight`: of all leaves; under struct-extract-eval half of what one side lacks, so that the share is the F1.
    `undecided`: the part of it that a judge or a batch metric has not decided, which is right nowhere.
    """

    score: float
    weight: float
    undecided: float = 0.0

    @property
    def share(self) -> float:
        """The pair's score; 1.0 where nothing is compared."""
        return self.score / self.weight if self.weight else 1.0


@dataclass(eq=False)
class ScoringContext:
    """One walk over one document. Runs of some `depth` only score a pair of rows: they ask nothing.

    texts, known: what runs of all depths know of values, by content. wrapped: the place of the value that is being
    scored as a list of itself.
    """

    program: Program
    walk: Walk
    answers: Known
    rules: CaseRules
    unanswered: str = ""
    depth: int = 0
    texts: dict[int, tuple[str, Json]] = field(default_factory=dict)
    known: dict[Hashable, Any] = field(default_factory=dict)
    leaves: list[FieldResult] = field(default_factory=list)
    fields: list[FieldResult] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    arrays: list[OpenArray] = field(default_factory=list)
    vacuous: list[Path] = field(default_factory=list)
    questions: dict[str, Question] = field(default_factory=dict)
    wrapped: Path | None = None

    def __post_init__(self) -> None:
        self.accept, self.absent_rules = self.rules
        semantics = self.program.semantics
        self.absent = semantics.nulls == "absent"
        self.both_passed = semantics.both_absent == "passed"
        self.empty_is_free = semantics.empty_subtree == "free"
        self.f1 = semantics.pair_objective == "f1"
        self.fits = self.program.fits

    def trial(self) -> ScoringContext:
        """Return a run for the score of one pair of rows."""
        given = self.program, self.walk, self.answers, self.rules
        return ScoringContext(*given, depth=self.depth + 1, texts=self.texts, known=self.known)

    @cached_property
    def ruled(self) -> tuple[str, ...]:
        """The patterns of the places that the case itself has rules for."""
        return tuple({_INDEX.sub("[]", place) for places in (self.accept, self.absent_rules) for place in places})

    def is_ruled(self, node: Node) -> bool:
        """Whether the case has rules for a place or below it, so that a score depends on where a row stands."""
        return any(at_or_below(place, node.pattern) for place in self.ruled)

    def keep(self, result: FieldResult, node: Node) -> None:
        """Keep a leaf result of a node; outside arrays it is a field result too."""
        self.leaves.append(result)
        if node.field:
            self.fields.append(result)

    def ask(self, question: Question) -> Decision:
        """Return what a judge answers, or why it does not."""
        key = question.key
        if key not in self.answers:
            self.questions.setdefault(key, question)
            return NoAnswer(self.unanswered)
        return self.answers[key]

    def mark(self) -> tuple[int, ...]:
        """Note how far the results are."""
        return tuple(map(len, self._results()))

    def rollback(self, mark: tuple[int, ...]) -> None:
        """Forget all results that came after a mark."""
        for results, length in zip(self._results(), mark, strict=True):
            del results[length:]

    def _results(self) -> tuple[list[Any], ...]:
        return self.leaves, self.fields, self.arrays, self.pending, self.vacuous

    def fit(self, leaves: Iterable[FieldResult]) -> Fit:
        """Return the sums over leaves; what is skipped does not count."""
        score = weight = undecided = 0.0
        one_sided = 0.5 if self.f1 else 1.0
        for leaf in leaves:
            status = leaf.status
            if status is Status.MATCH or status is Status.MISMATCH:
                score += leaf.weight * leaf.score
                weight += leaf.weight
            elif status in _ONE_SIDED:
                weight += leaf.weight * one_sided
            elif status is Status.JUDGE_ERROR:
                undecided += leaf.weight
        return Fit(score, weight + undecided, undecided)

    def content(self, value: Value) -> Hashable:
        """Return a key that two values share where they are the same JSON of the same types."""
        if type(value) is not dict and type(value) is not list:
            return strict_key(value)
        found = self.texts.get(id(value))
        if found is None:  # kept with its value: while that lives, no other has its identity
            found = self.texts[id(value)] = canonical_json(value), value
        return found[0]

    def shape(
        self, node: Node, status: Status, values: Values, path: Path, at: Path | None, reason: str | None = None
    ) -> None:
        """Keep a result about the shape of a place, not about a value that a metric compares."""
        outcome = status, 1.0 if status is Status.MATCH else 0.0, reason
        self.keep(make_result(node, _STRUCTURE, outcome, values, path, at), node)


def make_result(
    node: Node, metric: NamedMetric, outcome: Outcome, values: Values, path: Path, at: Path | None
) -> FieldResult:
    """Return a result of a node; right is what matches."""
    (name, params, weight), (status, score, reason), (gold, extracted) = metric, outcome, values
    where = None if at is None else as_place(at)
    right = status is Status.MATCH
    return FieldResult(
        as_place(path), node.pattern, name, params, status, score, right, gold, extracted, reason, weight, where
    )


def is_present(value: Value) -> bool:
    """Whether a container's place holds anything: not a missing key and not null."""
    return value is not MISSING and value is not None


def absence(value: Value) -> str:
    """Name the way in which a value is not there."""
    return "missing" if value is MISSING else "null" if value is None else "empty"


def agreed_absence(gold: Value, extracted: Value) -> str:
    """Say in which way both sides have nothing."""
    one, other = absence(gold), absence(extracted)
    return f"both are {one}" if one == other else f"both are absent: gold {one}, extracted {other}"


def node_for(run: ScoringContext, node: Node, value: Json) -> Node:
    """Return the node that scores a gold value at a place, choices and types opened; it is kept by content."""
    while isinstance(node, Union | RecursiveRef):
        if isinstance(node, RecursiveRef):
            node = node.node
            continue
        key: Hashable = ("branch", id(node), run.content(value))
        if key not in run.known:
            run.known[key] = branch_of(run.fits, node, value)
        node = run.known[key]
    return node.for_value(value) if isinstance(node, Leaf) else node


def branch_of(fits: Callable[[SchemaNode, Json], bool], choice: Union, value: Json) -> Node:
    """Return the first branch that a value fits; failing that, the first of its type; failing that, the first."""
    fitting = (branch for schema, branch in choice.branches if fits(schema, value))
    of_its_type = (branch for schema, branch in choice.branches if type_fits(schema.types, value))
    found = next(fitting, None) or next(of_its_type, None) or choice.branches[0][1]
    return found.node if isinstance(found, RecursiveRef) else found
