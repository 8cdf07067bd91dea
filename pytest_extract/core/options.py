"""How one output is scored beside its schema, and the keywords of all functions that compile or score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypedDict

from pytest_extract.core import arguments
from pytest_extract.core.arguments import json_argument
from pytest_extract.core.compile.compiler import JudgeMode
from pytest_extract.core.engine.context import CaseRules
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.gates import MODALITIES, GateConfig
from pytest_extract.core.results import Answer, Failure, Judge
from pytest_extract.core.values import Json, usual
from pytest_extract.errors import ConfigError, nearest

if TYPE_CHECKING:
    from pytest_extract.core.output_shape import OutputShape, ReportedMetadata

_ABSENT_RULES: Final = ("must", "either")


class CompileKeywords(TypedDict, total=False):
    """The keywords of `compile_schema`, which has a sentence on each."""

    semantics: str | None
    nulls: Literal["absent", "value"] | None
    overrides: Mapping[str, Json] | None
    extensions: Extensions | None
    judge_mode: JudgeMode
    post_process: Json
    rules: Sequence[Json] | None
    as_published: bool | None


class ScoreKeywords(TypedDict, total=False):
    """The fields of `ScoreOptions`, as keywords."""

    judge: Judge | None
    answers: Mapping[str, Answer] | None
    modality: str
    gates: GateConfig | Mapping[str, Json] | None
    accept: Mapping[str, Sequence[Json]] | None
    absent: Mapping[str, str] | None
    confidence: OutputShape | Mapping[str, Json] | str | None
    failure: Failure | None
    repair: bool
    finish_reason: str | None
    max_output_bytes: int | None
    reported: ReportedMetadata | None


class Keywords(CompileKeywords, ScoreKeywords, total=False):
    """The keywords of functions that compile a schema and score an output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """How one output is scored; raises ConfigError for what cannot be used.

    judge: asked in rounds, each open question once, but for what fields give to judges of their own; `answers`
    (by `Question.key`) are known beforehand.
    gates: as in a case. None is what a case has by default, but where a published system's semantics were asked for by
    name: its program looks neither at the root nor at the schema, and so the measures are its numbers.
    accept: further right readings of a field; `absent`: fields that `must` or may (`either`) stay empty.
    confidence: the shape in which the output holds values with their confidence, as in a case; `reported`: confidence
    and citations that the extractor returned beside the output.
    failure: what is wrong with the output although there is a value.
    Of texts: `repair` mends broken JSON and tells so; `finish_reason` as the provider gave it; `max_output_bytes`: the
    longest that is read, and 200 times the values that are scored (default 10 MB, or ten times the gold).
    """

    judge: Judge | None = None
    answers: Mapping[str, Answer] | None = None
    modality: str = "text"
    gates: GateConfig | Mapping[str, Json] | None = None
    accept: Mapping[str, Sequence[Json]] | None = None
    absent: Mapping[str, str] | None = None
    confidence: OutputShape | Mapping[str, Json] | str | None = None
    failure: Failure | None = None
    repair: bool = False
    finish_reason: str | None = None
    max_output_bytes: int | None = None
    reported: ReportedMetadata | None = None

    def __post_init__(self) -> None:
        arguments.function("judge", self.judge)
        arguments.instance("failure", self.failure, Failure, "a Failure")
        arguments.flag("repair", self.repair)
        arguments.instance("finish_reason", self.finish_reason, str, "a text")
        arguments.count("max_output_bytes", self.max_output_bytes)
        if self.modality not in MODALITIES:
            raise ConfigError(f"no modality {self.modality!r}{nearest(self.modality, MODALITIES)}")
        accept, absent = arguments.mapping("accept", self.accept), arguments.mapping("absent", self.absent)
        for place, values in accept.items():
            if isinstance(values, str | bytes | Mapping) or not isinstance(values, Sequence):
                raise ConfigError(f"accept.{place} must be a list of right readings, not {values!r}")
        for place, rule in absent.items():
            if rule not in _ABSENT_RULES:
                raise ConfigError(f"absent.{place} must be must or either, not {rule!r}")
        read: dict[str, Any] = {
            "accept": {usual(place): tuple(json_argument(f"accept.{place}", each)) for place, each in accept.items()},
            "absent": {usual(place): rule for place, rule in absent.items()},
        }
        read["answers"] = dict(arguments.mapping("answers", self.answers))
        if self.gates is not None and not isinstance(self.gates, GateConfig):
            read["gates"] = gates = GateConfig.from_json(self.gates)
            if gates.grounded:
                raise ConfigError("gates.grounded needs a document: a case has one, this call has not")
        if self.confidence is not None:
            read["confidence"] = _shape(self.confidence)
        for name, value in read.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, options: Self | None, keywords: Mapping[str, Any]) -> Self:
        """Return options, changed by keywords."""
        if options is None:
            return cls(**keywords)
        return replace(options, **keywords) if keywords else options

    @property
    def rules_gate(self) -> bool | None:
        """Whether rules across fields are gated; None where nothing says so."""
        return self.gates.rules if isinstance(self.gates, GateConfig) else None

    @property
    def rules(self) -> CaseRules:
        """What the options say beside gold."""
        return CaseRules(self.accept or {}, self.absent or {})


def split_keywords(keywords: Keywords) -> tuple[CompileKeywords, ScoreOptions]:
    """Return the keywords of `compile_schema` among all, and the options that the others make."""
    compiling = {name: value for name, value in keywords.items() if name in CompileKeywords.__annotations__}
    scoring: dict[str, Any] = {name: value for name, value in keywords.items() if name not in compiling}
    return CompileKeywords(**compiling), ScoreOptions(**scoring)  # type: ignore[typeddict-item]


def _shape(given: OutputShape | Mapping[str, Json] | str) -> OutputShape:
    from pytest_extract.core.output_shape import OutputShape

    try:
        return OutputShape.from_json(given)
    except ConfigError as error:
        raise ConfigError(f"confidence: {error}") from None
