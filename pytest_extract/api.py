"""The public functions: they score one output, or compile a schema for many outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pytest_extract.core.compile.bind import JudgeMode
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.results import Judge
from pytest_extract.core.score import Score
from pytest_extract.core.scorer import Scorer, compile_schema
from pytest_extract.core.values import Json, Missing

if TYPE_CHECKING:
    from pytest_extract.core.gates import GateConfig


def score(
    schema: Json,
    gold: Json,
    extracted: Json | Missing,
    judge: Judge | None = None,
    modality: str = "text",
    semantics: str | None = None,
    gates: GateConfig | Mapping[str, Json] | None = None,
    *,
    nulls: Literal["absent", "value"] | None = None,
    overrides: Mapping[str, Json] | None = None,
    extensions: Extensions | None = None,
    post_process: Json = None,
    judge_mode: JudgeMode = "llm",
    accept: Mapping[str, Sequence[Json]] | None = None,
    absent: Mapping[str, str] | None = None,
    confidence: Json = None,
) -> Score:
    """Score an extracted JSON value against gold under a JSON Schema.

    The arguments are those of `compile_schema` and `Scorer.score`, which one calls to score many documents.
    Raises SchemaError for a mistake in the scoring configuration, ConfigError for one in the other arguments.
    """
    scorer = compile_schema(
        schema, semantics=semantics, nulls=nulls, overrides=overrides, extensions=extensions,
        judge_mode=judge_mode, post_process=post_process,
    )  # fmt: skip
    return scorer.score(
        gold, extracted, judge=judge, modality=modality, gates=gates, accept=accept, absent=absent,
        confidence=confidence,
    )  # fmt: skip


def score_text(
    schema: Json,
    gold: Json,
    text: object,
    judge: Judge | None = None,
    modality: str = "text",
    semantics: str | None = None,
    gates: GateConfig | Mapping[str, Json] | None = None,
    *,
    repair: bool = False,
    finish_reason: str | None = None,
    max_output_bytes: int | None = None,
    nulls: Literal["absent", "value"] | None = None,
    overrides: Mapping[str, Json] | None = None,
    extensions: Extensions | None = None,
    post_process: Json = None,
    judge_mode: JudgeMode = "llm",
    accept: Mapping[str, Sequence[Json]] | None = None,
    absent: Mapping[str, str] | None = None,
    confidence: Json = None,
) -> Score:
    """Parse a model's raw output, gate it, and score it; `repair` mends broken JSON and tells so.

    An output of more than `max_output_bytes` (default 10 MB, or ten times the gold) is the failure `output_too_large`.
    """
    scorer = compile_schema(
        schema, semantics=semantics, nulls=nulls, overrides=overrides, extensions=extensions,
        judge_mode=judge_mode, post_process=post_process,
    )  # fmt: skip
    return scorer.score_text(
        gold, text, repair=repair, finish_reason=finish_reason, max_output_bytes=max_output_bytes, judge=judge,
        modality=modality, gates=gates, accept=accept, absent=absent, confidence=confidence,
    )  # fmt: skip


__all__ = ["Score", "Scorer", "compile_schema", "score", "score_text"]
