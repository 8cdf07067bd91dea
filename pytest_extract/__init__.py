"""pytest-extract: regression tests for LLM and document extraction.

Importing the package loads nothing; each public name imports what it needs at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_extract.lazy import lazy_names

if TYPE_CHECKING:
    from pytest_extract.core.extensions import (
        AlignerSpec,
        BatchMetric,
        Extensions,
        JudgeSpec,
        PostSpec,
    )
    from pytest_extract.core.gates import GateConfig
    from pytest_extract.core.metrics import compare_values
    from pytest_extract.core.metrics.base import BoundMetric, MetricSpec, Param, TransformSpec
    from pytest_extract.core.results import (
        Alignment,
        Citation,
        Failure,
        FailureKind,
        FieldResult,
        GateResult,
        Gates,
        JudgeAnswer,
        Question,
        RuleResult,
        RuleStatus,
        Status,
        Verdict,
    )
    from pytest_extract.core.scorer import Score, ScoreOptions, Scorer, compile_schema, score, score_text
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
    from pytest_extract.extraction.caching_judge import build_judge
    from pytest_extract.extraction.call import Extraction, ExtractionFailure
    from pytest_extract.extraction.litellm import LitellmExtractor, Retry
    from pytest_extract.schema_tools.golds import GoldProblem, annotate_schema, infer_schema, validate_golds
    from pytest_extract.schema_tools.resolve import resolve_schema_references
    from pytest_extract.testing import assert_extraction

PUBLIC_MODULES = (
    "pytest_extract",
    "pytest_extract.bulk",
    "pytest_extract.cases",
    "pytest_extract.citations",
    "pytest_extract.cli",
    "pytest_extract.documents.evidence",
    "pytest_extract.extend",
    "pytest_extract.feedback",
    "pytest_extract.regression",
    "pytest_extract.results",
    "pytest_extract.systems",
    "pytest_extract.testing",
)
"""The modules that users import from. What is in the `__all__` of one of them is public, and nothing else is."""

__all__ = [
    "MISSING",
    "AlignerSpec",
    "Alignment",
    "BatchMetric",
    "BoundMetric",
    "CaseFileError",
    "CaseFileErrors",
    "Citation",
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
    "Retry",
    "RuleResult",
    "RuleStatus",
    "SchemaError",
    "SchemaErrors",
    "Score",
    "ScoreOptions",
    "Scorer",
    "Status",
    "StoreError",
    "TransformSpec",
    "Verdict",
    "annotate_schema",
    "assert_extraction",
    "build_judge",
    "compare_values",
    "compile_schema",
    "infer_schema",
    "resolve_schema_references",
    "score",
    "score_text",
    "validate_golds",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "core.extensions": "AlignerSpec BatchMetric Extensions JudgeSpec PostSpec",
        "core.gates": "GateConfig",
        "core.metrics": "compare_values",
        "core.metrics.base": "BoundMetric MetricSpec Param TransformSpec",
        "core.results": (
            "Alignment Citation Failure FailureKind FieldResult GateResult Gates JudgeAnswer Question RuleResult"
            " RuleStatus Status Verdict"
        ),
        "core.scorer": "Score ScoreOptions Scorer compile_schema score score_text",
        "core.values": "FieldPath MISSING",
        "documents": "Document",
        "errors": "CaseFileError CaseFileErrors ConfigError ExtractError SchemaError SchemaErrors StoreError",
        "extraction.call": "Extraction ExtractionFailure",
        "extraction.caching_judge": "build_judge",
        "extraction.litellm": "LitellmExtractor Retry",
        "schema_tools.golds": "GoldProblem annotate_schema infer_schema validate_golds",
        "schema_tools.resolve": "resolve_schema_references",
        "testing": "assert_extraction",
    },
)
