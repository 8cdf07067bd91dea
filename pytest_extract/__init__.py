"""pytest-extract: regression tests for LLM and document extraction.

Importing the package loads nothing; each public name imports what it needs at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_extract.lazy import lazy_names

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

if TYPE_CHECKING:
    from pytest_extract.core.extensions import AlignerSpec as AlignerSpec
    from pytest_extract.core.extensions import BatchMetric as BatchMetric
    from pytest_extract.core.extensions import Extensions as Extensions
    from pytest_extract.core.extensions import JudgeSpec as JudgeSpec
    from pytest_extract.core.extensions import PostSpec as PostSpec
    from pytest_extract.core.gates import GateConfig as GateConfig
    from pytest_extract.core.metrics import compare_values as compare_values
    from pytest_extract.core.metrics.base import BoundMetric as BoundMetric
    from pytest_extract.core.metrics.base import MetricSpec as MetricSpec
    from pytest_extract.core.metrics.base import Param as Param
    from pytest_extract.core.metrics.base import TransformSpec as TransformSpec
    from pytest_extract.core.results import Alignment as Alignment
    from pytest_extract.core.results import Citation as Citation
    from pytest_extract.core.results import Failure as Failure
    from pytest_extract.core.results import FailureKind as FailureKind
    from pytest_extract.core.results import FieldResult as FieldResult
    from pytest_extract.core.results import GateResult as GateResult
    from pytest_extract.core.results import Gates as Gates
    from pytest_extract.core.results import JudgeAnswer as JudgeAnswer
    from pytest_extract.core.results import Question as Question
    from pytest_extract.core.results import RuleResult as RuleResult
    from pytest_extract.core.results import RuleStatus as RuleStatus
    from pytest_extract.core.results import Status as Status
    from pytest_extract.core.results import Verdict as Verdict
    from pytest_extract.core.scorer import Score as Score
    from pytest_extract.core.scorer import ScoreOptions as ScoreOptions
    from pytest_extract.core.scorer import Scorer as Scorer
    from pytest_extract.core.scorer import compile_schema as compile_schema
    from pytest_extract.core.scorer import score as score
    from pytest_extract.core.scorer import score_text as score_text
    from pytest_extract.core.values import MISSING as MISSING
    from pytest_extract.core.values import FieldPath as FieldPath
    from pytest_extract.documents import Document as Document
    from pytest_extract.errors import CaseFileError as CaseFileError
    from pytest_extract.errors import CaseFileErrors as CaseFileErrors
    from pytest_extract.errors import ConfigError as ConfigError
    from pytest_extract.errors import ExtractError as ExtractError
    from pytest_extract.errors import SchemaError as SchemaError
    from pytest_extract.errors import SchemaErrors as SchemaErrors
    from pytest_extract.errors import StoreError as StoreError
    from pytest_extract.extraction.caching_judge import build_judge as build_judge
    from pytest_extract.extraction.call import Extraction as Extraction
    from pytest_extract.extraction.call import ExtractionFailure as ExtractionFailure
    from pytest_extract.extraction.litellm import LitellmExtractor as LitellmExtractor
    from pytest_extract.extraction.litellm import Retry as Retry
    from pytest_extract.schema_tools.golds import GoldProblem as GoldProblem
    from pytest_extract.schema_tools.golds import annotate_schema as annotate_schema
    from pytest_extract.schema_tools.golds import infer_schema as infer_schema
    from pytest_extract.schema_tools.golds import validate_golds as validate_golds
    from pytest_extract.schema_tools.resolve import resolve_schema_references as resolve_schema_references
    from pytest_extract.testing import assert_extraction as assert_extraction
else:
    __getattr__, __dir__, __all__ = lazy_names(
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
