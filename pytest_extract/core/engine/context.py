"""State of one scoring: the results so far, what is still to be asked, and the knobs that the walk reads often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import FieldMetric, NamedMetric, Node, Program
from pytest_extract.core.engine.matches import Kept
from pytest_extract.core.metrics import equality
from pytest_extract.core.results import MATCH, STRUCTURE, Answer, ArrayResult, FieldResult, Pairing, Question, Status
from pytest_extract.core.values import MISSING, FieldPath, Json, Step, Value, Values, as_place

Path: TypeAlias = tuple[Step, ...]
Outcome: TypeAlias = tuple[Status, float, str | None]
"""Status and score of a comparison, and why it is not right."""
Walker: TypeAlias = Callable[["ScoringContext", Any, Value, Value, Path, Path | None], None]
"""(run, plan, gold, extracted, path, where the extracted value stands if not there) -> None."""

NO_ANSWER: Final = "the judge gave no usable answer"
_STRUCTURE: Final[NamedMetric] = (STRUCTURE, {}, 1.0)
DEEPEST: Final = 96
"""Steps of the longest path that is walked; what is nested deeper is compared as one value."""
MOST_KEPT: Final = 100_000
_new: Final = tuple.__new__
"""Makes a named tuple in a quarter of the time that its own constructor takes."""


class Recall(NamedTuple):
    """An array whose result is its recall, counted when all leaves are decided.

    `threshold`: lowest recall that passes. `height`: number of gold's rows. `field`: index of its result in
    `ScoringContext.fields`. `leaves`: what `ScoringContext.leaves` keeps of its rows.
    """

    threshold: float
    pairing: Pairing
    height: int
    path: Path
    field: int
    leaves: slice


class NoAnswer(NamedTuple):
    """A question that was asked and not answered, and why."""

    reason: str


Checkpoint: TypeAlias = tuple[int, int, int, int, int, int, int]
"""How far the results were, for `ScoringContext.rollback`."""
Known: TypeAlias = Mapping[str, Answer | NoAnswer]
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


class ScoringContext:
    """One walk over one document. `trial` runs only score a pair of rows: they ask nothing."""

    def __init__(
        self,
        program: Program,
        walkers: Mapping[type, Walker],
        answers: Known,
        rules: CaseRules,
        unanswered: str = "",
        *,
        depth: int = 0,
        pairings: dict[tuple[int, int, int], tuple[Pairing, tuple[list[Json], list[Json]]]] | None = None,
    ) -> None:
        self.program = program
        self.walkers = walkers
        self.answers = answers
        self.rules = rules
        self.accept = rules.accept
        self.absent_rules = rules.absent
        self.unanswered = unanswered
        self.depth = depth
        self.pairings = {} if pairings is None else pairings
        semantics = program.semantics
        self.absent = semantics.nulls == "absent"
        self.both_passed = semantics.both_absent == "passed"
        self.empty_is_free = semantics.empty_subtree == "free"
        self.f1 = semantics.pair_objective == "f1"
        self.fits = program.fits
        self.leaves: list[Kept] = []
        self.fields: list[Kept] = []
        self.arrays: list[ArrayResult] = []
        self.questions: dict[str, Question] = {}
        self.pending: list[Pending] = []
        self.recalls: list[Recall] = []
        self.tables: list[Any] = []  # of `engine.table.ListTable`, whose module needs this one
        self.vacuous = 0
        self.mismatch_count = 0
        self.wrapped: Path | None = None  # place of the value that is being scored as a list of itself

    def sub(self, *, ruled: bool = True) -> ScoringContext:
        """Return a run for the score of one pair; not `ruled`: as if the case had no rules."""
        ruled = ruled or not (self.accept or self.absent_rules)
        return ScoringContext(
            self.program,
            self.walkers,
            self.answers,
            self.rules if ruled else CaseRules(),
            depth=self.depth + 1,
            pairings=self.pairings if ruled else {},
        )

    def walk(self, plan: Node, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
        """Score one place."""
        self.walkers[type(plan)](self, plan, gold, extracted, path, at)

    def emit(self, result: FieldResult, node: Node) -> None:
        """Keep a leaf result of a node, and count it where it is wrong."""
        self.leaves.append(result)
        if node.field:
            self.fields.append(result)
        if result.score != 1.0 or not result.passed:
            self.mismatch_count += 1

    def keep(self, found: Kept, node: Node) -> None:
        """Keep a node's leaves that match but for some, or one; outside arrays they are field results too."""
        self.leaves.append(found)
        if node.field:
            self.fields.append(found)

    def ask(self, question: Question, noun: str) -> Answer | NoAnswer:
        """Return what a judge answers, or why it does not; `noun`: what the question shows."""
        try:
            key = question.key
        except RecursionError:
            return NoAnswer(f"the {noun} are nested too deep to show to a judge")
        if key not in self.answers:
            self.questions.setdefault(key, question)
            return NoAnswer(self.unanswered)
        return self.answers[key]

    def mark(self) -> Checkpoint:
        """Note how far the results are."""
        return (
            len(self.leaves), len(self.fields), len(self.arrays), len(self.pending), len(self.questions),
            self.mismatch_count, self.vacuous,
        )  # fmt: skip

    def rollback(self, mark: Checkpoint) -> None:
        """Forget all that came after a mark."""
        leaves, fields, arrays, pending, questions, self.mismatch_count, self.vacuous = mark
        del self.leaves[leaves:], self.fields[fields:], self.arrays[arrays:], self.pending[pending:]
        while len(self.questions) > questions:
            self.questions.popitem()

    def remember(self, key: tuple[int, int, int], pairing: Pairing, lists: tuple[list[Json], list[Json]]) -> None:
        """Keep the pairing of two lists of rows with them: while they live, no other list has their identities."""
        if len(self.pairings) < MOST_KEPT:
            self.pairings[key] = pairing, lists

    def shape(
        self, plan: Node, status: Status, values: Values, path: Path, at: Path | None, reason: str | None = None
    ) -> None:
        """Keep a result about the shape of a place, not about a value that a metric compares."""
        outcome = status, 1.0 if status is MATCH else 0.0, reason
        self.emit(make_result(plan, _STRUCTURE, outcome, values, path, at), plan)


def make_result(
    node: Node, metric: NamedMetric, outcome: Outcome, values: Values, path: Path, at: Path | None
) -> FieldResult:
    """Return a result of a node; right is what matches."""
    (name, params, weight), (status, score, reason), (gold, extracted) = metric, outcome, values
    own = path if type(path) is FieldPath else FieldPath(path)
    result = (
        own, node.pattern, name, params, status, score, status is MATCH, gold, extracted, reason, weight,
        None if at is None else as_place(at),
    )  # fmt: skip
    return _new(FieldResult, result)


def is_present(value: Value) -> bool:
    """Whether a container's place holds anything: not a missing key and not null."""
    return value is not MISSING and value is not None


def equal(run: ScoringContext, gold: Json, extracted: Json) -> bool:
    """Whether two values of the wrong kind are the same (as Python says under struct-extract-eval)."""
    return equality.python_equal(gold, extracted) if run.empty_is_free else equality.same(gold, extracted)


def absence(value: Value) -> str:
    """Name the way in which a value is not there."""
    if value is MISSING:
        return "missing"
    return "null" if value is None else "empty"


def agreed_absence(gold: Value, extracted: Value) -> str:
    """Say in which way both sides have nothing."""
    one, other = absence(gold), absence(extracted)
    return f"both are {one}" if one == other else f"both are absent: gold {one}, extracted {other}"
