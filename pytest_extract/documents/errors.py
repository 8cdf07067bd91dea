"""What a document raises."""

from __future__ import annotations

from pytest_extract.core.results import FailureKind
from pytest_extract.errors import ExtractError


class DocumentError(ExtractError):
    """A document, or what is asked of it, that cannot be had; `kind` is the failure that an extraction then has."""

    def __init__(self, message: str, *, kind: FailureKind = FailureKind.EXTRACTOR_ERROR) -> None:
        super().__init__(message)
        self.kind = kind
