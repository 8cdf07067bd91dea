"""The public functions: they score one output, or compile a schema for many outputs."""

from __future__ import annotations

from typing import Unpack

from pytest_extract.core.options import Keywords, ScoreOptions, split_keywords
from pytest_extract.core.score import Score
from pytest_extract.core.scorer import Scorer, compile_schema
from pytest_extract.core.values import Json, Missing


def score(schema: Json, gold: Json, extracted: Json | Missing, **keywords: Unpack[Keywords]) -> Score:
    """Score an extracted JSON value against gold under a JSON Schema.

    The keywords are those of `compile_schema` (`semantics`, `nulls`, `overrides`, `extensions`, `judge_mode`, ...) and
    the fields of `ScoreOptions` (`judge`, `modality`, `gates`, `accept`, `absent`, `confidence`, ...). Whoever scores
    many documents calls `compile_schema(...).score(...)`.
    Raises SchemaError for a mistake in the scoring configuration, ConfigError for one in the other arguments.
    """
    compiling, options = split_keywords(keywords)
    return compile_schema(schema, **compiling).score(gold, extracted, options)


def score_text(schema: Json, gold: Json, text: object, **keywords: Unpack[Keywords]) -> Score:
    """Parse a model's raw output, gate it, and score it; the keywords are those of `score`.

    `repair` mends broken JSON and tells so. An output of more than `max_output_bytes` (default 10 MB, or ten times the
    gold) is the failure `output_too_large`.
    """
    compiling, options = split_keywords(keywords)
    return compile_schema(schema, **compiling).score_text(gold, text, options)


__all__ = ["Score", "ScoreOptions", "Scorer", "compile_schema", "score", "score_text"]
