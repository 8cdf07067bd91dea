"""Citations of an extractor held against the document: whether the quote stands there, holds the value, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.core.case_result import decided_leaves
from pytest_extract.core.measures import CitationCounts
from pytest_extract.core.results import Citation, Corners, FieldResult, is_covered
from pytest_extract.core.values import MISSING, Json, usual
from pytest_extract.documents import Document, DocumentError
from pytest_extract.documents.evidence import Box, Evidence, TextLocation, find_boxes, find_evidence, stands_in
from pytest_extract.documents.pdf import box_around

__all__ = (
    "CitationCheck",
    "box_overlap",
    "check_citation",
    "check_citations",
    "count_citations",
    "grounded_rate",
    "ungrounded",
)

LEAST_OVERLAP: Final = 0.5
"""Intersection over union of a cited box and that of the evidence, from which on the box is right."""
_MOST_LOCATIONS: Final = 1_000
_MOST_BOXES: Final = 20
"""Places of a quote, and of its value, whose boxes are compared."""


class CitationCheck(NamedTuple):
    """Why a citation is wrong, empty where it is right; `overlap`: of its box, None where no box is compared."""

    why: str = ""
    overlap: float | None = None

    @property
    def right(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.why


def check_citation(document: Document, value: Json, citation: Citation) -> CitationCheck:
    """Hold one citation against the document; see `check_citations`."""
    return check_citations(document, [(value, citation)])[0]


def check_citations(document: Document, cited: Sequence[tuple[Json, Citation]]) -> list[CitationCheck]:
    """Hold the citations of values against the document.

    A quote must stand on the page that is named, or anywhere where none is, and must hold the value, both folded (white
    space, case, numbers and dates in any notation). Without a quote, the value must stand on the page. A box must
    overlap that of the quote, or of the value, by `LEAST_OVERLAP`; a document that is no PDF has no boxes, and only the
    quote counts. The PDF is opened once for all boxes. Raises DocumentError for a document without text.
    """
    found = [_check_text(document, value, citation) for value, citation in cited]
    boxed = [
        (index, citation, places)
        for index, ((_, citation), (_, places)) in enumerate(zip(cited, found, strict=True))
        if places and citation.box is not None and document.media_type == "application/pdf"
    ]
    boxes = iter(find_boxes(document, [place for _, _, places in boxed for place in places]))
    checks = [CitationCheck(why) for why, _ in found]
    for index, citation, places in boxed:
        overlap = max(box_overlap(_in_page(document, citation, place.page), next(boxes)) for place in places)
        why = "" if overlap >= LEAST_OVERLAP else f"the box overlaps the evidence by {overlap:.2f} only"
        checks[index] = CitationCheck(why, overlap)
    return checks


def _check_text(document: Document, value: Json, citation: Citation) -> tuple[str, list[TextLocation]]:
    """Say what is wrong with page and quote, "" for nothing, and where the quote and the value stand."""
    pages, page = len(document.pages), citation.page
    if page is not None and page > pages:
        return f"the document has {pages:,} pages, not {page:,}", []
    where = f"on page {page}" if page is not None else "in the document"
    values = find_evidence(document, value, most=_MOST_LOCATIONS, nearest=False)
    value_places = _on_page(values, page)
    if citation.quote is None:
        missing = values is not None and not value_places
        return f"the value does not stand {where}" if missing else "", value_places
    places = _on_page(find_evidence(document, citation.quote, most=_MOST_LOCATIONS, nearest=False), page)
    if not places:
        return f"the quote does not stand {where}", []
    if stands_in(Document(text=citation.quote), value) is False:
        return "the quote does not hold the value", []
    return "", [*places, *value_places]


def _on_page(evidence: Evidence | None, page: int | None) -> list[TextLocation]:
    """Return the first places of evidence, on one page or on any."""
    locations = () if evidence is None else evidence.locations
    return [each for each in locations if page is None or (each.page or 1) == page][:_MOST_BOXES]


def _in_page(document: Document, citation: Citation, page: int | None) -> Corners:
    """Return a cited box in fractions of the page where evidence stands."""
    left, top, right, bottom = citation.box or (0.0, 0.0, 0.0, 0.0)
    if citation.unit == "page":
        return left, top, right, bottom
    from pytest_extract.documents.pdf import pdf_page_sizes

    sizes = document.once("sizes", lambda: pdf_page_sizes(document.bytes, str(document.path or "the document")))
    wide, high = sizes[(page or 1) - 1]
    return left / wide, top / high, right / wide, bottom / high


def box_overlap(cited: Corners, boxes: Sequence[Box]) -> float:
    """Return the intersection over union of a cited box and the smallest box around `boxes`; 0.0 without any."""
    if not boxes:
        return 0.0
    left, top, right, bottom = box_around(boxes)
    shared = max(0.0, min(right, cited[2]) - max(left, cited[0])) * max(0.0, min(bottom, cited[3]) - max(top, cited[1]))
    both = (right - left) * (bottom - top) + (cited[2] - cited[0]) * (cited[3] - cited[1]) - shared
    return shared / both if both > 0 else 0.0


def count_citations(
    document: Document, leaves: Iterable[FieldResult], evidence: Mapping[str, Sequence[Citation]] = MappingProxyType({})
) -> CitationCounts:
    """Check the citations of all decided leaf results with a value: those of fields with `evidence` by that.

    Raises DocumentError for a document without text, unless some fields have evidence: then these alone count.
    """
    valued = [leaf for leaf in decided_leaves(leaves) if leaf.extracted is not MISSING and leaf.extracted is not None]
    places = [evidence.get(str(leaf.path)) or evidence.get(leaf.pattern) for leaf in valued]
    others = [leaf for leaf, known in zip(valued, places, strict=True) if not known]
    found = [  # of each value: which of its citations are right, and whether it is citable
        ([_agrees(document, each, known) for each in leaf.citations], True)
        for leaf, known in zip(valued, places, strict=True)
        if known
    ]
    try:
        checks = iter(check_citations(document, [(leaf.extracted, each) for leaf in others for each in leaf.citations]))
        for leaf in others:
            own = [next(checks).right for _ in leaf.citations]
            found.append((own, any(own) or _is_grounded(document, leaf) is True))
    except DocumentError:
        if not any(places):
            raise
    return CitationCounts(
        given=sum(len(own) for own, _ in found),
        right=sum(sum(own) for own, _ in found),
        citable=sum(citable for _, citable in found),
        cited=sum(any(own) for own, _ in found),
    )


def _agrees(document: Document, cited: Citation, evidence: Sequence[Citation]) -> bool:
    """Whether a citation names the page of one of the places, and overlaps its box where both have one."""

    def agrees(place: Citation) -> bool:
        if cited.page is not None and cited.page != place.page:
            return False
        if cited.box is None or place.box is None:
            return cited.page is not None
        return box_overlap(_in_page(document, cited, place.page), [Box(*place.box)]) >= LEAST_OVERLAP

    return any(map(agrees, evidence))


def ungrounded(document: Document, leaves: Iterable[FieldResult], fields: Sequence[str] = ("$",)) -> list[FieldResult]:
    """Return the leaf results below `fields` whose extracted value stands nowhere in the document.

    A value that no text can show (a boolean, null) is left out. Raises DocumentError for a document without text.
    """
    places = [usual(field) for field in fields]
    return [leaf for leaf in leaves if is_covered(leaf, places) and _is_grounded(document, leaf) is False]


def grounded_rate(document: Document, leaves: Iterable[FieldResult]) -> float:
    """Return the share of the extracted values that stand in the document; 1.0 without any that text can show."""
    found = [_is_grounded(document, leaf) for leaf in leaves]
    shown = [each for each in found if each is not None]
    return sum(shown) / len(shown) if shown else 1.0


def _is_grounded(document: Document, leaf: FieldResult) -> bool | None:
    return None if leaf.extracted is MISSING else stands_in(document, leaf.extracted)
