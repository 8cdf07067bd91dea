"""`--extract-from`: the outputs of a past run replace calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Variant
from pytest_extract.core.results import DECLINED, Failure
from pytest_extract.errors import ExtractError
from pytest_extract.extraction.base import Extraction
from pytest_extract.plugin.items import ExtractItem
from pytest_extract.results import read_results
from pytest_extract.run_case import NotRun


class ReplayError(ExtractError):
    """The extractor raised in the past run, so there is no output to score."""


class ResultsReplay:
    """The results of a past run, by case and variant; StoreError when its file cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results: Mapping[tuple[str, str, str], CaseResult] = {
            (result.file, result.case_id, result.variant.label): result for result in read_results(path).results
        }

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants of that run, in its order."""
        return tuple(dict.fromkeys(result.variant for result in self._results.values()))

    def repeats_of(self, item: ExtractItem) -> int | None:
        """Return how often that run repeated the case, where that is more often than the case itself asks for."""
        result = self._results.get(_case_key(item))
        return len(result.attempts) if result is not None and len(result.attempts) > item.case.repeat.of else None

    def extraction(self, item: ExtractItem, index: int) -> Extraction:
        """Return the output of a repeat; NotRun where that run has none for this document."""
        result = self._results.get(_case_key(item))
        if result is None:
            raise NotRun(f"{self.path.name} has no result of this case")
        if index >= len(result.attempts):
            raise NotRun(
                f"{self.path.name} has {len(result.attempts)} repeats of this case: {result.why or 'it stopped'}"
            )
        document = result.digests.get("document")
        if document is None:
            raise NotRun(f"{self.path.name} does not say of which document this output is: it has no digest of it")
        if document != item.case.document.sha256:
            raise NotRun(f"the document has changed since {self.path.name} was written")
        return _replayed_attempt(result.attempts[index], result.digests.get("extractor"))


def _case_key(item: ExtractItem) -> tuple[str, str, str]:
    return item.nodeid.partition("::")[0], item.case.id, item.variant.label


def _replayed_attempt(attempt: Attempt, extractor: str | None) -> Extraction:
    if attempt.score is None and attempt.outcome is Outcome.BROKEN:
        raise ReplayError(f"broken in the past run: {attempt.error}")
    if attempt.withheld is not None:
        raise NotRun(f"the past run did not keep this output: {attempt.withheld}")
    failure = None if attempt.score is None else attempt.score.failure
    # Only the provider knows that a model declined; scoring finds any other failure again from the output.
    failure = failure and (Failure(kind=failure.kind, message=failure.message) if failure.kind in DECLINED else None)
    return Extraction(
        attempt.output,
        usage=attempt.usage,
        latency_s=attempt.latency_s,
        cost_usd=attempt.cost_usd,
        finish_reason=attempt.finish_reason,
        build=attempt.build,
        recorded=True,
        failure=failure,
        adjustments=attempt.adjustments,
        extractor=extractor,
        confidence=attempt.confidence,
        citations=attempt.citations,
    )
