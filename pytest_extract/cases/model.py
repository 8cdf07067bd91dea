"""What a case is, once everything about it has been read and checked: frozen, and without a trace of YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pytest_extract.core.case_result import Origin
from pytest_extract.core.values import Json, Step

if TYPE_CHECKING:
    from pytest_extract.core.auto_accept import AutoAccept
    from pytest_extract.core.gates import GateConfig
    from pytest_extract.core.options import ScoreOptions
    from pytest_extract.core.output_shape import OutputShape
    from pytest_extract.core.results import Citation
    from pytest_extract.core.scorer import Scorer
    from pytest_extract.core.uncompared import Uncompared
    from pytest_extract.documents import Document

Modality: TypeAlias = Literal["text", "image", "audio"]
Absence: TypeAlias = Literal["must", "either"]

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def _nothing() -> Mapping[str, Any]:
    return NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt file: its text is handed to the extractor, its digest (SHA-256, hex) is recorded."""

    path: Path
    text: str
    sha256: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Run the extractor `of` times; the case passes when `passes` of the attempts do."""

    of: int = 1
    passes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A pytest mark as data: `xfail(reason='scanned upside down')`."""

    name: str
    args: tuple[Json, ...] = ()
    kwargs: Mapping[str, Json] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """A field (pattern or concrete path) that is left out of the verdict up to and including the day `until`."""

    path: str
    until: date | None = None
    reason: str = ""

    def expired(self, today: date) -> bool:
        """Whether the day is over: an expired known failure fails the case."""
        return self.until is not None and today > self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Lowest values that pass: per measure, per field pattern (mean score of its values); highest cost and time.

    When neither a measure nor a field is given, `measures` is `{"pass_rate": 1.0}`.
    """

    measures: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({"pass_rate": 1.0}))
    fields: Mapping[str, float] = field(default_factory=_nothing)
    max_cost_usd: float | None = None
    max_latency_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One document, one schema, one gold, with what is asked of the output.

    `path`, `line`, `steps`: the case file, or the line of the JSONL dataset, that holds the case, and its place there.
    `gold_path`, `gold_steps`, `gold_line`: the file that holds the gold, the place of the value in it (`()`: all of
    it), and the line at which its JSON text begins (other than 1 only in a dataset).
    `gold_is_missing`: the file is to be written by this run (`--extract-update-gold=new`); `gold` is null.
    `draft`: the gold's review says that nobody has reviewed it (`review_file`).
    `schema` is the JSON Schema as written, `scorer` its compiled form, shared by all cases that name the same one.
    `accept`, `absent`, `overrides` and the thresholds' fields are keyed by field pattern or concrete path.
    `max_output_bytes`: the longest output that is read; None: that of the option, or the default.
    `post_process`: names of post-processors, as written. `rules`: the case's own rules across fields, as written.
    `auto_accept`: which values are accepted by their confidence, and which share of them must be right over the run.
    `confidence`: the shape in which the output holds its values with their confidence; None where they are bare.
    `altered`: what differs from the case that this one is made of by `variants`, such as `without-total`.
    `evidence`: where the values of fields stand in the document, by field pattern or concrete path.
    `uncompared`: the gold values that no comparison reaches; None where all are compared or skipped on purpose.
    """

    id: str
    path: Path
    line: int
    steps: tuple[Step, ...] = ()
    document: Document
    schema: Json
    scorer: Scorer
    gold: Json
    gold_path: Path
    gold_steps: tuple[Step, ...] = ()
    gold_line: int = 1
    gold_is_missing: bool = False
    draft: bool = False
    schema_path: Path
    schema_sha256: str
    schema_files: tuple[Path, ...] = ()
    question: str | None = None
    prompt: Prompt | None = None
    semantics: str
    nulls: Literal["absent", "value"] | None = None
    modality: Modality = "text"
    marks: tuple[Mark, ...] = ()
    tags: Mapping[str, str] = field(default_factory=_nothing)
    origin: Origin = Origin.SAMPLE
    altered: str = ""
    repeat: Repeat = field(default_factory=Repeat)
    accept: Mapping[str, tuple[Json, ...]] = field(default_factory=_nothing)
    absent: Mapping[str, Absence] = field(default_factory=_nothing)
    known_failures: tuple[KnownFailure, ...] = ()
    gates: GateConfig
    max_output_bytes: int | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)
    overrides: Mapping[str, Json] = field(default_factory=_nothing)
    post_process: Json = None
    rules: Json = None
    uncompared: Uncompared | None = None
    confidence: OutputShape | None = None
    evidence: Mapping[str, tuple[Citation, ...]] = field(default_factory=_nothing)
    auto_accept: AutoAccept | None = None

    @property
    def score_options(self) -> ScoreOptions:
        """What the case says of how an output is scored."""
        from pytest_extract.core.options import ScoreOptions

        return ScoreOptions(
            modality=self.modality,
            gates=self.gates,
            accept=self.accept,
            absent=self.absent,
            confidence=self.confidence,
            max_output_bytes=self.max_output_bytes,
        )
