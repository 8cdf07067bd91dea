"""What an extractor reports beside a value: its confidence, and citations of the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.values import FieldPath, Json

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


def metadata_to_json(metadata: FieldMetadata) -> dict[str, Json]:
    """Return metadata as JSON: `confidence` and `citations`, each left out where there is none."""
    record: dict[str, Json] = {}
    if metadata.confidence is not None:
        record["confidence"] = metadata.confidence
    if metadata.citations:
        record["citations"] = citations_to_json(metadata.citations)
    return record


def citations_to_json(citations: Sequence[Citation]) -> list[dict[str, Json]]:
    """Return citations as JSON objects with the keys that they have."""
    return [_citation_to_json(each) for each in citations]


def _citation_to_json(citation: Citation) -> dict[str, Json]:
    record: dict[str, Json] = {"page": citation.page, "quote": citation.quote}
    record = {name: value for name, value in record.items() if value is not None}
    if citation.box is not None:
        record |= {"box": list(citation.box), "unit": citation.unit}
    return record


def metadata_from_json(record: Mapping[str, Any]) -> FieldMetadata:
    """Read the `confidence` and `citations` of a record; TypeError or ValueError for what is none."""
    confidence = record.get("confidence")
    if confidence is not None and (isinstance(confidence, bool) or not isinstance(confidence, int | float)):
        raise TypeError(f"{confidence!r} is no confidence")
    return FieldMetadata(confidence, tuple(map(_citation_from_json, record.get("citations", ()))))


def _citation_from_json(record: Mapping[str, Any]) -> Citation:
    box = record.get("box")
    if box is None:
        return Citation(page=record.get("page"), quote=record.get("quote"))
    left, top, right, bottom = map(float, box)
    unit: Literal["page", "point"] = "point" if record.get("unit") == "point" else "page"
    return Citation(page=record.get("page"), quote=record.get("quote"), box=(left, top, right, bottom), unit=unit)
