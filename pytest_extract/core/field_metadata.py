"""What an extractor reports beside a value: its confidence, and citations of the document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.values import FieldPath

Corners: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, from the top left corner of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A place of the document that an extractor names as the source of a value.

    page: from 1; quote: the text that stands there; box: where it stands on the page. The box is in fractions of the
    page's width and height where `unit` is `page`, in points (1/72 inch) where it is `point`.
    """

    page: int | None = None
    quote: str | None = None
    box: Corners | None = None
    unit: Literal["page", "point"] = "page"


class FieldMetadata(NamedTuple):
    """The confidence of one value, from 0 to 1 (None where none is reported), and its citations."""

    confidence: float | None = None
    citations: tuple[Citation, ...] = ()


NO_METADATA: Final = FieldMetadata()
Metadata: TypeAlias = Mapping[FieldPath, FieldMetadata]
"""Metadata by the place of the value in the output; that of an object or array counts for values inside without own."""


def metadata_at(metadata: Metadata, path: FieldPath) -> FieldMetadata:
    """Return what is reported for a place: its own confidence and citations, else those of the nearest place above."""
    own = metadata.get(path, NO_METADATA)
    confidence, citations = own
    if confidence is not None and citations:
        return own
    for place in path.parents:
        found = metadata.get(place)
        if found is not None:
            confidence = found.confidence if confidence is None else confidence
            citations = citations or found.citations
    return FieldMetadata(confidence, citations)
