"""A place on a page, and what a document raises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_extract.core.results import FailureKind
from pytest_extract.errors import ExtractError


class Box(NamedTuple):
    """A rectangle on a page as it is shown: shares of its width and height in [0, 1], from the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


def box_around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around others, of which there is at least one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


class DocumentError(ExtractError):
    """A document, or what is asked of it, that cannot be had; `kind` is the failure that an extraction then has."""

    def __init__(self, message: str, *, kind: FailureKind = FailureKind.EXTRACTOR_ERROR) -> None:
        super().__init__(message)
        self.kind = kind
