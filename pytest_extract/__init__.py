"""pytest-extract: regression tests for LLM and document extraction.

Importing the package loads nothing; each public name loads what it needs when first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_extract.api import Score, Scorer, compile_schema, score, score_text
    from pytest_extract.core.extensions import (
        AlignerSpec,
        BatchMetric,
        Extensions,
        JudgeSpec,
        PostSpec,
    )
    from pytest_extract.core.gates import GateConfig
    from pytest_extract.core.metrics.base import BoundMetric, MetricSpec, Param, TransformSpec
    from pytest_extract.core.results import (
        Alignment,
        Failure,
        FailureKind,
        FieldResult,
        GateResult,
        Gates,
        JudgeAnswer,
        Question,
        Status,
        Verdict,
    )
    from pytest_extract.core.values import MISSING, FieldPath
    from pytest_extract.documents import Document
    from pytest_extract.errors import (
        CaseFileError,
        CaseFileErrors,
        ConfigError,
        ExtractError,
        SchemaError,
        SchemaErrors,
        StoreError,
    )
    from pytest_extract.extraction.base import Extraction, ExtractionFailure
    from pytest_extract.extraction.litellm import LitellmExtractor
    from pytest_extract.schema_tools.annotate import annotate_schema
    from pytest_extract.schema_tools.golds import GoldProblem, validate_golds
    from pytest_extract.schema_tools.infer import infer_schema
    from pytest_extract.schema_tools.resolve import resolve_schema_references
    from pytest_extract.testing import assert_extraction

_API = "pytest_extract.api"
_RESULTS = "pytest_extract.core.results"
_EXTENSIONS = "pytest_extract.core.extensions"
_METRICS = "pytest_extract.core.metrics.base"
_ERRORS = "pytest_extract.errors"
_HOMES = {
    "Alignment": _RESULTS,
    "AlignerSpec": _EXTENSIONS,
    "BatchMetric": _EXTENSIONS,
    "BoundMetric": _METRICS,
    "CaseFileError": _ERRORS,
    "CaseFileErrors": _ERRORS,
    "ConfigError": _ERRORS,
    "Document": "pytest_extract.documents",
    "Extensions": _EXTENSIONS,
    "ExtractError": _ERRORS,
    "Extraction": "pytest_extract.extraction.base",
    "ExtractionFailure": "pytest_extract.extraction.base",
    "Failure": _RESULTS,
    "FailureKind": _RESULTS,
    "FieldPath": "pytest_extract.core.values",
    "FieldResult": _RESULTS,
    "GateConfig": "pytest_extract.core.gates",
    "GateResult": _RESULTS,
    "Gates": _RESULTS,
    "GoldProblem": "pytest_extract.schema_tools.golds",
    "JudgeSpec": _EXTENSIONS,
    "LitellmExtractor": "pytest_extract.extraction.litellm",
    "MISSING": "pytest_extract.core.values",
    "MetricSpec": _METRICS,
    "Param": _METRICS,
    "PostSpec": _EXTENSIONS,
    "Question": _RESULTS,
    "SchemaError": _ERRORS,
    "SchemaErrors": _ERRORS,
    "Score": _API,
    "Scorer": _API,
    "Status": _RESULTS,
    "StoreError": _ERRORS,
    "TransformSpec": _METRICS,
    "JudgeAnswer": _RESULTS,
    "Verdict": _RESULTS,
    "annotate_schema": "pytest_extract.schema_tools.annotate",
    "assert_extraction": "pytest_extract.testing",
    "compile_schema": _API,
    "infer_schema": "pytest_extract.schema_tools.infer",
    "resolve_schema_references": "pytest_extract.schema_tools.resolve",
    "score": _API,
    "score_text": _API,
    "validate_golds": "pytest_extract.schema_tools.golds",
}

__all__ = [
    "MISSING",
    "AlignerSpec",
    "Alignment",
    "BatchMetric",
    "BoundMetric",
    "CaseFileError",
    "CaseFileErrors",
    "ConfigError",
    "Document",
    "Extensions",
    "ExtractError",
    "Extraction",
    "ExtractionFailure",
    "Failure",
    "FailureKind",
    "FieldPath",
    "FieldResult",
    "GateConfig",
    "GateResult",
    "Gates",
    "GoldProblem",
    "JudgeAnswer",
    "JudgeSpec",
    "LitellmExtractor",
    "MetricSpec",
    "Param",
    "PostSpec",
    "Question",
    "SchemaError",
    "SchemaErrors",
    "Score",
    "Scorer",
    "Status",
    "StoreError",
    "TransformSpec",
    "Verdict",
    "annotate_schema",
    "assert_extraction",
    "compile_schema",
    "infer_schema",
    "resolve_schema_references",
    "score",
    "score_text",
    "validate_golds",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
