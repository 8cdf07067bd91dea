"""Frozen result types of scoring one output: what was compared, what it gave, and what is still to be asked.

What an extractor reported beside its values, its confidence and citations, belongs to a result, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, Step, at_or_below, canonical_json, text_digest
from pytest_extract.core.words import Word

Corners: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, from the top left corner of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A place of the document that an extractor names as the source of a value.

    page: from 1; quote: the text that stands there; box: where it stands on the page. The box is in fractions of the
    page's width and height where `unit` is `page`, in points (1/72 inch) where it is `point`.
    """

    page: int | None = None
    quote: str | None = None
    box: Corners | None = None
    unit: Literal["page", "point"] = "page"


class FieldMetadata(NamedTuple):
    """The confidence of one value, from 0 to 1 (None where none is reported), and its citations."""

    confidence: float | None = None
    citations: tuple[Citation, ...] = ()


NO_METADATA: Final = FieldMetadata()
Metadata: TypeAlias = Mapping[FieldPath, FieldMetadata]
"""Metadata by the place of the value in the output; that of an object or array counts for values inside without own."""


class ReportedMetadata(NamedTuple):
    """What an extractor returned beside its output: for each value a confidence, and a list of citations.

    Each is an object that is nested as the output, or has the paths of values for keys; a single number is the
    confidence of the whole output.
    """

    confidence: Json = None
    citations: Json = None


class Status(Word):
    """Outcome of one comparison (struct-extract-eval's statuses, and our `judge_error`).

    People read *missing* for an omission and *invented* for a hallucination.
    """

    MATCH = "match"
    MISMATCH = "mismatch"
    OMISSION = "omission"
    HALLUCINATION = "hallucination"
    SKIPPED = "skipped"
    JUDGE_ERROR = "judge_error"

    @property
    def text(self) -> str:
        """The status as people read it."""
        return {"omission": "missing", "hallucination": "invented"}.get(self, super().text)


SCORED: Final = frozenset({Status.MATCH, Status.MISMATCH})
"""Outcomes of two values that a metric compared."""
WRONG: Final = frozenset({Status.MISMATCH, Status.OMISSION, Status.HALLUCINATION})
"""Outcomes in which the output is wrong."""
COUNTED: Final = SCORED | WRONG
"""Outcomes that a mean over results counts: all but what is skipped or undecided."""
STRUCTURE: Final = "structure"
"""Metric name of a result that is about shape: a wrong container, `{}` against `{}`, an undeclared key."""

_ABSENT: Final[tuple[Json | Missing, ...]] = (MISSING, None, [])


class FieldResult(NamedTuple):
    """One comparison.

    A NamedTuple and not a dataclass: a 10-Q makes 1,400 of these, and a frozen dataclass costs five times as much.
    `score` is in [0, 1]; `gold` and `extracted` are the raw values, MISSING where the key is not there.
    `reason` says why it is no match (or a match by agreement on absence), `None` when there is nothing to say.
    """

    path: FieldPath
    pattern: str
    metric: str
    params: Mapping[str, Json]
    status: Status
    score: float
    passed: bool
    gold: Json | Missing = MISSING
    extracted: Json | Missing = MISSING
    reason: str | None = None
    weight: float = 1.0
    matched: FieldPath | None = None
    """Path of the extracted value when alignment paired it with a row of another index."""
    confidence: float | None = None
    """The extractor's confidence in the extracted value, from 0 to 1; None where it reports none."""
    citations: tuple[Citation, ...] = ()
    """The places of the document that the extractor names for the extracted value."""

    @property
    def passed_empty(self) -> bool:
        """Whether it is a match by agreement on absence: neither side has a value, and the reason says so."""
        return (
            self.status is Status.MATCH
            and self.reason is not None
            and self.gold in _ABSENT
            and self.extracted in _ABSENT
        )


def is_covered(result: FieldResult, places: Sequence[str]) -> bool:
    """Whether a place (pattern or concrete path), or one above the result, is among `places`."""
    if not places:  # most cases have none, and the text of a path takes time
        return False
    path = str(result.path)
    return any(at_or_below(path, place) or at_or_below(result.pattern, place) for place in places)


def annotate(metadata: Metadata, *several: Sequence[FieldResult]) -> list[tuple[FieldResult, ...]]:
    """Return several lists of results with what is reported for the values that they compare; of one in two, one.

    That is a value's own confidence and citations, else those of the nearest place above.
    """
    known: dict[int, FieldResult] = {}
    for result in chain(*several):
        if id(result) in known:
            continue
        confidence, citations = NO_METADATA
        place = result.path if result.matched is None else result.matched
        for around in (place, *place.parents) if result.extracted is not MISSING else ():
            found = metadata.get(around, NO_METADATA)
            confidence = found.confidence if confidence is None else confidence
            citations = citations or found.citations
        known[id(result)] = result._replace(confidence=confidence, citations=citations)
    return [tuple(known[id(result)] for result in results) for results in several]


class Pairing(NamedTuple):
    """Who belongs to whom, by index.

    `pairs`: (gold, extracted), by gold index; `missing`: gold elements without a partner, in order; `extra`: extracted
    elements without one, in order of appearance (of rows paired by key: those whose key nobody asked for come first).
    """

    pairs: tuple[tuple[int, int], ...]
    missing: tuple[int, ...]
    extra: tuple[int, ...]


class ArrayResult(NamedTuple):
    """How one array's rows were paired, by index, with two families of numbers; each is 1.0 on an empty denominator.

    `precision`, `recall`, `f1` count each pair with its own score (weighted mean of its leaves, or its F1 under
    struct-extract-eval). `set_precision`, `set_recall`, `set_f1` count each pair as one, whatever differs in it: the
    ExtractBench paper's numbers, from the sets of pairs, missed rows and spurious rows.
    """

    path: FieldPath
    pairs: tuple[tuple[int, int], ...]
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    precision: float
    recall: float
    f1: float

    @property
    def set_precision(self) -> float:
        """Pairs over extracted rows."""
        return share(len(self.pairs), len(self.pairs) + len(self.extra))

    @property
    def set_recall(self) -> float:
        """Pairs over gold's rows."""
        return share(len(self.pairs), len(self.pairs) + len(self.missing))

    @property
    def set_f1(self) -> float:
        """Harmonic mean of `set_precision` and `set_recall`."""
        paired = 2 * len(self.pairs)
        return share(paired, paired + len(self.missing) + len(self.extra))


def share(part: float, whole: float) -> float:
    """Return a part over the whole; 1.0 of nothing."""
    return part / whole if whole else 1.0


class FailureKind(StrEnum):
    """Why an output could not be scored."""

    EXTRACTOR_ERROR = "extractor_error"
    EMPTY_RESPONSE = "empty_response"
    NO_JSON = "no_json"
    TRAILING_COMMA = "trailing_comma"
    TRUNCATED_JSON = "truncated_json"
    MALFORMED_JSON = "malformed_json"
    DUPLICATE_KEY = "duplicate_key"
    NOT_STRUCTURED = "not_structured"
    SCHEMA_VIOLATION = "schema_violation"
    PAGE_LIMIT = "page_limit"
    CONTEXT_LENGTH = "context_length"
    REFUSAL = "refusal"
    SCHEMA_REJECTED = "schema_rejected"
    OUTPUT_TOO_LARGE = "output_too_large"
    NOT_BARE = "not_bare"


DECLINED: Final = frozenset(
    {FailureKind.PAGE_LIMIT, FailureKind.CONTEXT_LENGTH, FailureKind.REFUSAL, FailureKind.SCHEMA_REJECTED}
)
"""Kinds that say why a model or its provider took the request and gave no output; the output itself cannot tell."""


class Wrapping(StrEnum):
    """What an output has around its JSON, or what was done to read it: what `json.loads()` would refuse."""

    FENCED = "fenced"
    PROSE = "surrounded by prose"
    SEVERAL = "several values"
    REASONING = "reasoning"
    BYTE_ORDER_MARK = "byte order mark"
    REPAIRED = "repaired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is wrong with an output: kind, message, and where (line and column of the text, or a path)."""

    kind: FailureKind
    message: str
    line: int | None = None
    column: int | None = None
    path: FieldPath | None = None

    def __str__(self) -> str:
        where = ""
        if self.line is not None:
            where = f" at line {self.line}, column {self.column}"
        elif self.path is not None:
            where = f" at {self.path}"
        return f"{self.kind}{where}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One gate: whether it passed, the factor in [0, 1] that it multiplies measures by, and its arithmetic in words."""

    name: Literal["parse", "root", "schema", "coverage"]
    passed: bool
    factor: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """The four gates of an output, in the order in which they are applied."""

    parse: GateResult
    root: GateResult
    schema: GateResult
    coverage: GateResult

    @property
    def structural(self) -> bool:
        """Whether parse, root and schema gates all let the output through."""
        return self.parse.passed and self.root.passed and self.schema.passed

    @property
    def failed(self) -> tuple[GateResult, ...]:
        """The gates that did not let the output through."""
        return tuple(gate for gate in (self.parse, self.root, self.schema, self.coverage) if not gate.passed)


class NamedMistake(NamedTuple):
    """What went wrong at one or more fields: the name of its kind (`core.mistakes`), and a text about these values.

    `paths` are those of the failing results that it explains, the first first.
    """

    kind: str
    paths: tuple[FieldPath, ...]
    text: str


class RuleStatus(Word):
    """Outcome of a rule across fields in one output.

    unchecked: the output lacks a value that the rule needs and gold has, or holds one that it cannot compute with.
    not_applicable: gold lacks a value that the rule needs, too, so there is nothing to check.
    """

    HELD = "held"
    BROKEN = "broken"
    UNCHECKED = "unchecked"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """One rule across the fields of an output: what was computed, and what came of it.

    name: the rule as it is written, and the array for each of whose rows it is computed.
    message: both sides as computed, in the first row that breaks the rule, and how many rows do; or why they were not.
    """

    name: str
    status: RuleStatus
    message: str

    @property
    def fails(self) -> bool:
        """Whether the gate `rules` fails because of it."""
        return self.status in (RuleStatus.BROKEN, RuleStatus.UNCHECKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRecord:
    """Everything that scoring one output gave, as attempts, reports, gates and results files carry it.

    `fields`, `leaves`, `arrays`, `measures`, `gates`, `failure`, `vacuous` and `wrapped` are those of `Score`;
    `questions` counts what the judge was asked.
    """

    semantics: str
    failure: Failure | None
    fields: tuple[FieldResult, ...]
    leaves: tuple[FieldResult, ...]
    arrays: tuple[ArrayResult, ...]
    measures: Mapping[str, float]
    gates: Gates
    vacuous: int
    questions: int
    wrapped: Mapping[str, str] = field(default_factory=dict)
    mistakes: tuple[NamedMistake, ...] = ()
    """What went wrong, as far as the rules of `core.mistakes` can name it."""
    rules: tuple[RuleResult, ...] = ()
    """What came of each rule across fields."""
    added: tuple[str, ...] = ()
    """Patterns of field results that the published system, whose semantics these are, has not."""

    @property
    def empty_passes(self) -> int:
        """Field results that passed although neither side has a value (`pass_rate` counts them: extract-bench)."""
        return sum(result.passed_empty for result in self.fields)

    @property
    def reordered(self) -> tuple[FieldPath, ...]:
        """The lists of values whose matches stand in another order, which was not compared."""
        suspects: dict[tuple[Step, ...], list[int]] = {
            array.path: [] for array in self.arrays if (order := [index for _, index in array.pairs]) != sorted(order)
        }
        for result in self.leaves if suspects else ():
            if result.status is Status.MATCH and result.pattern.endswith("[]") and result.path[:-1] in suspects:
                at = result.path if result.matched is None else result.matched
                suspects[result.path[:-1]].append(cast("int", at[-1]))
        return tuple(FieldPath(path) for path, indices in suspects.items() if indices != sorted(indices))

    @property
    def readable(self) -> bool:
        """Whether there is a value to show field by field: the output was read, even if it breaks its schema."""
        return self.failure is None or self.failure.kind is FailureKind.SCHEMA_VIOLATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One thing that only a judge can decide.

    `kind` is "equal" (are these two values the same?) or "align" (which rows of these two lists belong together?).
    `metrics` describes, for "align", the metric of each field of an item: pattern -> metric name.
    `judge` is the name of the field's own judge, empty for the one that answers everything else; `options` is what the
    field asks of a judge that is a model: `model`, `temperature`, `max_tokens`.
    """

    kind: Literal["equal", "align"]
    path: FieldPath
    gold: Json
    extracted: Json
    instructions: str = ""
    metrics: Mapping[str, str] = field(default_factory=dict)
    judge: str = ""
    options: Mapping[str, Json] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Content digest (SHA-256, hex): equal pairs share it wherever they stand, so they never get two verdicts."""
        content = [self.kind, self.gold, self.extracted, self.instructions, dict(self.metrics)]
        content += [self.judge, dict(self.options)] if self.judge or self.options else []
        return text_digest(canonical_json(content))


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """Answer to an "equal" question: score in [0, 1] and the judge's reason."""

    score: float
    reason: str = ""


Verdict: TypeAlias = JudgeAnswer
"""The public name of `JudgeAnswer`: judges of users return it."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Answer to an "align" question: index pairs (gold, extracted), and the indices left over on each side."""

    pairs: tuple[tuple[int, int], ...]
    missed: tuple[int, ...] = ()
    spurious: tuple[int, ...] = ()
    reason: str = ""


Answer: TypeAlias = JudgeAnswer | Alignment | None
Judge: TypeAlias = Callable[[Sequence[Question]], Sequence[Answer]]
"""Answers in the order and number of the questions; `None` where it could not decide (`judge_error`)."""
