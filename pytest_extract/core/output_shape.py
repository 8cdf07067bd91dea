"""The shape of an output that holds confidence and citations beside its values, and the values taken out of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias, TypeGuard

from pytest_extract.core import arguments
from pytest_extract.core.result_json import path_of
from pytest_extract.core.results import Citation, Corners, FieldMetadata, Metadata, ReportedMetadata
from pytest_extract.core.values import (
    MISSING,
    FieldPath,
    Json,
    Missing,
    Step,
    iter_leaves,
    path_text,
    short_repr,
    value_at,
)
from pytest_extract.core.words import first_of
from pytest_extract.errors import ConfigError, closest, nearest

Unit: TypeAlias = Literal["page", "point", "inch"]
UNITS: Final[tuple[Unit, ...]] = ("page", "point", "inch")
SHAPE_KEYS: Final = ("values", "wrapper", "confidence", "citations", "scale", "first_page", "unit")
WRAPPER_KEYS: Final = ("value", "confidence", "citations")


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """Where something stands: `before`, then the path of the value, then `after`.

    by: whether the path is followed step by step, or its text is one key; empty for a place that has no path in it.
    """

    before: tuple[Step, ...]
    by: Literal["", "step", "key"] = ""
    after: tuple[Step, ...] = ()

    @classmethod
    def parse(cls, name: str, text: str) -> PathTemplate:
        """Read `metadata.{path}.score` or `metadata["{path}"].score`; ConfigError for what is none."""
        by: Literal["step", "key"] = "key" if '["{path}"]' in text else "step"
        before, found, after = text.partition('["{path}"]' if by == "key" else "{path}")
        if not found:
            raise ConfigError(f"{name}: {text!r} needs {{path}} for the path of the value: `metadata.{{path}}.{name}`")
        first, last = (_path(name, side) if side else () for side in (before.removesuffix("."), after.lstrip(".")))
        return cls(first, by, last)

    def find(self, root: Json, path: FieldPath) -> Json | Missing:
        """Return what stands in `root` for the value at `path`; MISSING where nothing does."""
        place = {"": (), "step": path, "key": (path_text(path),)}[self.by]
        return value_at(root, (*self.before, *place, *self.after))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputShape:
    """How an output holds its values, their confidence and their citations.

    values: where the values stand, the first place that is there. With `wrapper`, each value has an object around it,
    which has one of these keys for the value, and another one of `confidence` and `citations`, places in it. Without
    one, these are the places for a value, from the root of the output. Of several, the first that is there counts.
    lowest, highest: the ends of the scale of confidence. first_page: the number of the first page. unit: of boxes.
    """

    values: tuple[FieldPath, ...] = (FieldPath(),)
    wrapper: tuple[str, ...] = ()
    confidence: tuple[PathTemplate, ...] = ()
    citations: tuple[PathTemplate, ...] = ()
    lowest: float = 0.0
    highest: float = 1.0
    first_page: int = 1
    unit: Unit = "page"

    @classmethod
    def from_json(cls, given: Json) -> OutputShape:
        """Read a declaration: the name of a shape, or a mapping of `SHAPE_KEYS`. Raises ConfigError."""
        if isinstance(given, OutputShape):
            return given
        if isinstance(given, str) and given in SHAPES:
            return SHAPES[given]
        if not isinstance(given, Mapping):
            wanted = f"the name of a shape ({', '.join(SHAPES)}) or a mapping with {', '.join(SHAPE_KEYS)}"
            raise ConfigError(f"must be {wanted}, not {short_repr(given)}{closest(given, SHAPES)}")
        arguments.known_keys("", given, SHAPE_KEYS)
        is_wrapped = "wrapper" in given
        if is_wrapped == bool(given.keys() & {"confidence", "citations"}):
            raise ConfigError(
                "needs either `wrapper`, the keys of the object around each value, or the places of `confidence` and "
                "`citations` with {path} in them, such as `metadata.{path}.confidence`"
            )
        scale, first_page, unit = given.get("scale", 1), given.get("first_page", 1), given.get("unit", "page")
        ends = scale if isinstance(scale, list) else [0, scale]
        if len(ends) != 2 or not all(map(_is_number, ends)) or not ends[0] < ends[1]:
            raise ConfigError(
                f"scale must be the highest confidence (100), or lowest and highest ([1, 5]), not {short_repr(scale)}"
            )
        if first_page not in (0, 1) or isinstance(first_page, bool):
            raise ConfigError(f"first_page must be 0 or 1, not {short_repr(first_page)}")
        arguments.one_of("unit", unit, UNITS)
        wrapper = {name: name for name in WRAPPER_KEYS} | dict(arguments.mapping("wrapper", given.get("wrapper")))
        arguments.known_keys("wrapper", wrapper, WRAPPER_KEYS)
        places: dict[str, tuple[PathTemplate, ...]] = {}
        for name in ("confidence", "citations"):
            if is_wrapped:
                places[name] = tuple(
                    PathTemplate(_path(name, text)) for text in _texts(f"wrapper.{name}", wrapper[name])
                )
            elif name in given:
                places[name] = tuple(PathTemplate.parse(name, text) for text in _texts(name, given[name]))
        return cls(
            values=tuple(_path("values", text) for text in _texts("values", given.get("values", "$"))),
            wrapper=tuple(_texts("wrapper.value", wrapper["value"])) if is_wrapped else (),
            **places,
            lowest=float(ends[0]),
            highest=float(ends[1]),
            first_page=first_page,
            unit=unit,
        )

    def place_of_values(self, output: Json) -> FieldPath | None:
        """Return where the values of an output stand; None where there is no object and no array."""
        return next((path for path in self.values if isinstance(value_at(output, path), dict | list)), None)

    def key_of(self, node: Mapping[str, Json]) -> str | None:
        """Return the key of the value in the object around it; None for an object that is no such one."""
        others = {place.before[0] for place in (*self.confidence, *self.citations) if place.before}
        return next((key for key in self.wrapper if key in node), None) if node.keys() & others else None


def _texts(name: str, given: Json) -> list[str]:
    texts = given if isinstance(given, list) else [given]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise ConfigError(f"{name} must be a path or a list of paths, not {short_repr(given)}")
    return texts


def _path(name: str, text: str) -> FieldPath:
    try:
        return FieldPath.parse(text)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}; write it as `data.fields` or `result[0]`") from None


def _is_number(value: Json | Missing) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max  # no integer beyond floats


_DECLARATIONS: Final[Mapping[str, Json]] = {
    "reducto": {
        "values": ["result[0]", "result", "$"],
        "wrapper": {"confidence": ["citations[0].granular_confidence.extract_confidence", "citations[0].confidence"]},
    },
    "extend": {
        "values": ["output.value", "value"],
        "confidence": [
            'output.metadata["{path}"].logprobsConfidence',
            'output.metadata["{path}"].ocrConfidence',
            'metadata["{path}"].logprobsConfidence',
            'metadata["{path}"].ocrConfidence',
        ],
        "citations": ['output.metadata["{path}"].citations', 'metadata["{path}"].citations'],
        "unit": "point",
    },
    "llamaextract": {
        "values": ["data", "extract_result"],
        "confidence": [
            "extraction_metadata.field_metadata.{path}.confidence",
            "extraction_metadata.field_metadata.{path}.extraction_confidence",
            "extract_metadata.field_metadata.{path}.confidence",
            "extract_metadata.field_metadata.{path}.extraction_confidence",
        ],
        "citations": [
            "extraction_metadata.field_metadata.{path}.citation",
            "extract_metadata.field_metadata.{path}.citation",
        ],
        "unit": "point",
    },
    "wrapper": {"wrapper": {}},
}
SHAPES: Final = MappingProxyType({name: OutputShape.from_json(given) for name, given in _DECLARATIONS.items()})
"""Ready shapes by name: those of services by their manuals, and `{value, confidence, citations}` around each value."""


class Unwrapped(NamedTuple):
    """The values of an output, what is reported for them, and notes on what could not be read."""

    value: Json
    metadata: Metadata
    notes: tuple[str, ...] = ()


def unwrap(output: Json, shape: OutputShape | None, reported: ReportedMetadata | None = None) -> Unwrapped:
    """Take values, confidence and citations out of an output; what the extractor reported beside it wins."""
    reader = _ShapeReader(shape or OutputShape())
    value, notes = output, []
    if shape is not None:
        place = shape.place_of_values(output)
        if place is None:
            places = " or ".join(f"`{path}`" for path in shape.values)
            note = f"`confidence`: the output has no object and no array at {places}; scored as it is"
            return Unwrapped(output, {}, (note,))
        value = value_at(output, place)
        if shape.wrapper:
            value = reader.unwrapped(value, ())
        else:
            reader.read_beside(value, output, output)
        if not reader.found and not reader.problems:
            notes.append("`confidence`: no confidence and no citation stands where the declared shape has them")
    if reported is not None:
        reader.shape = _BESIDE  # what the output has its own scale for, an extractor reports from 0 to 1
        for given in (reported.confidence, reported.citations):
            reader.problems += _unknown_places(value, given)
        reader.read_beside(value, reported.confidence, reported.citations)
    if problems := reader.problems:
        told = "; ".join(first_of(problems, 3))
        notes.append(f"`confidence`: {len(problems):,} cannot be read: {told}")
    return Unwrapped(value, reader.found, tuple(notes))


def _unknown_places(value: Json, reported: Json) -> Iterator[str]:
    """Yield what is wrong with the places at the root of what is reported beside an output."""
    keys = value.keys() if isinstance(value, dict) else ()
    for name in reported if isinstance(reported, Mapping) and keys else ():
        step = path_of(name)[:1]
        if name not in keys and not set(step) <= {*keys}:
            yield f"{name!r}: the output has no such place{nearest(name, keys)}"


def undeclared_shape(output: Json, gold: Json) -> str | None:
    """Return the name of the ready shape that an output seems to have, and its gold has not."""
    for name, shape in SHAPES.items():
        at_root = shape.place_of_values(output) == ()
        if (name == "wrapper" or not at_root) and unwrap(output, shape).metadata and not unwrap(gold, shape).metadata:
            return name
    return None


_BY_PATH: Final = (PathTemplate((), "step"), PathTemplate((), "key"))
_BESIDE: Final = OutputShape(confidence=_BY_PATH, citations=_BY_PATH)
"""Where what an extractor reports for a value stands in what it returned beside its output."""


class _ShapeReader:
    """Reads one output of a shape; `found` maps the place of a value to what is reported for it."""

    def __init__(self, shape: OutputShape) -> None:
        self.shape = shape
        self.found: dict[FieldPath, FieldMetadata] = {}
        self.problems: list[str] = []

    def unwrapped(self, value: Json, path: tuple[Step, ...]) -> Json:
        """Return the bare values."""
        if isinstance(value, list):
            return [self.unwrapped(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        key = self.shape.key_of(value)
        if key is None:
            return {name: self.unwrapped(item, (*path, name)) for name, item in value.items()}
        place = FieldPath(path)
        places = self.shape.confidence, self.shape.citations
        self._add(place, *(_first(each.find(value, place) for each in listed) for listed in places))
        return self.unwrapped(value[key], path)

    def read_beside(self, value: Json, confidences: Json, citations: Json) -> None:
        """Look for every value in what stands beside the values, from the roots of their places."""
        roots = (confidences, self.shape.confidence), (citations, self.shape.citations)
        for path, node in iter_leaves(value, containers=True):
            is_key = isinstance(value, dict) and len(path) > 1 and path_text(path) in value  # and so means no path
            confidence, cited = (
                _first(place.find(root, path) for place in places if not (place.by == "key" and is_key))
                for root, places in roots
            )
            if isinstance(node, dict | list):  # an object may hold what is reported for the values inside
                confidence = confidence if _is_number(confidence) else MISSING
                own_keys = node.keys() if isinstance(node, dict) else ()
                is_of_values = isinstance(cited, dict) and not cited.keys().isdisjoint(own_keys)
                cited = cited if _is_list_of_citations(cited) and not is_of_values else MISSING
            self._add(path, confidence, cited)

    def _add(self, path: FieldPath, confidence: Json | Missing, citations: Json | Missing) -> None:
        number = self._confidence(path, confidence)
        listed = citations if isinstance(citations, list) else [citations]
        cited = (read_citation(each, first_page=self.shape.first_page, unit=self.shape.unit) for each in listed)
        citations = tuple(each for each in cited if each is not None)
        if number is None and not citations:
            return
        old = self.found.get(path, FieldMetadata())
        self.found[path] = FieldMetadata(old.confidence if number is None else number, citations or old.citations)

    def _confidence(self, path: FieldPath, given: Json | Missing) -> float | None:
        if given is MISSING:
            return None
        try:
            number = float(given) if isinstance(given, str) else given
        except ValueError:
            number = None
        lowest, highest = self.shape.lowest, self.shape.highest
        if _is_number(number) and lowest <= number <= highest:
            return float((number - lowest) / (highest - lowest))
        self.problems.append(f"{path}: {short_repr(given)} is no number from {lowest:g} to {highest:g}")
        return None


def _first(found: Iterable[Json | Missing]) -> Json | Missing:
    """Return the first that is there and not null."""
    return next((each for each in found if each is not MISSING and each is not None), MISSING)


_LONGEST_PAGE: Final = 10
_PAGE_KEYS: Final = ("page", "page_number", "pageNumber")
_QUOTE_KEYS: Final = ("quote", "text", "content", "matching_text", "referenceText")
_BOX_KEYS: Final = ("box", "bbox", "boundingBox", "polygon")
_CITATION_KEYS: Final = frozenset((*_PAGE_KEYS, *_QUOTE_KEYS, *_BOX_KEYS, "bounding_boxes"))


def _is_list_of_citations(value: Json | Missing) -> bool:
    """Whether it is citations, and not an object that holds those of the values inside."""
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(
        isinstance(item, str) or (isinstance(item, dict) and bool(item.keys() & _CITATION_KEYS)) for item in items
    )


def read_citation(given: Json | Missing, *, first_page: int = 1, unit: Unit = "page") -> Citation | None:
    """Read one citation; None where it names no page, no quote and no box.

    A text is a quote. An object has a page (`page`, `page_number`, `pageNumber`, or the page of its box), a quote
    (`quote`, `text`, `content`, `matching_text`, `referenceText`) and a box (`box`, `bbox`, `boundingBox`, `polygon`,
    the first of `bounding_boxes`), in any of the usual forms (`read_box`).
    """
    if isinstance(given, str):
        return Citation(quote=given) if given.strip() else None
    if not isinstance(given, Mapping):
        return None
    shape = _first((*map(given.get, _BOX_KEYS), value_at(given, ("bounding_boxes", 0))))
    inner: Mapping[str, Json] = shape if isinstance(shape, Mapping) else {}
    number = _first((*map(given.get, _PAGE_KEYS), inner.get("original_page"), inner.get("page")))
    size = _first((given.get("page_dimensions"), number))
    if isinstance(number, Mapping):
        number = number.get("number")
    if isinstance(number, str) and number.strip().isdecimal() and len(number) < _LONGEST_PAGE:
        number = int(number)
    page = int(number) - first_page + 1 if _is_number(number) and number == int(number) else 0
    quote = _first(map(given.get, _QUOTE_KEYS))
    box, of_page = _scaled(read_box(shape), unit, _pair(size, "width", "height"))
    citation = Citation(
        page=page if page > 0 else None,
        quote=quote if isinstance(quote, str) and quote.strip() else None,
        box=box,
        unit=of_page,
    )
    return None if (citation.page, citation.quote, citation.box) == (None, None, None) else citation


def _scaled(
    box: Corners | None, unit: Unit, size: tuple[float, float] | None
) -> tuple[Corners | None, Literal["page", "point"]]:
    """Return a box in fractions of its page, where the size of that is known or not needed; else in points."""
    if box is None or unit == "page":
        return box, "page"
    wide, high = size or (0, 0)
    if wide > 0 and high > 0:
        return (box[0] / wide, box[1] / high, box[2] / wide, box[3] / high), "page"
    points = 72 if unit == "inch" else 1
    return (box[0] * points, box[1] * points, box[2] * points, box[3] * points), "point"


def read_box(given: Json | Missing) -> Corners | None:
    """Read a box: `{left, top, width, height}`, `{left, top, right, bottom}`, `{x, y, w, h}`, `{x0, y0, x1, y1}`.

    Also a list of four numbers (left, top, right, bottom), or a polygon: a list of `{x, y}`, or of its coordinates.
    """
    if isinstance(given, Mapping):
        corner = _pair(given, "left", "top") or _pair(given, "x", "y") or _pair(given, "x0", "y0")
        size = _pair(given, "width", "height") or _pair(given, "w", "h")
        other = _pair(given, "right", "bottom") or _pair(given, "x1", "y1")
        if corner is None:
            return None
        if other is None and size is not None:
            other = corner[0] + size[0], corner[1] + size[1]
        return None if other is None else (*corner, *other)
    flat: list[Json] = []
    for point in given if isinstance(given, list) else ():
        flat += (point.get("x"), point.get("y")) if isinstance(point, Mapping) else (point,)
    sides = [side for side in flat if _is_number(side)]
    if len(sides) < len(flat) or len(sides) < 4 or len(sides) % 2:
        return None
    across, down = sides[0::2], sides[1::2]
    return float(min(across)), float(min(down)), float(max(across)), float(max(down))


def _pair(given: Json | Missing, first: str, second: str) -> tuple[float, float] | None:
    one, other = (given.get(first), given.get(second)) if isinstance(given, Mapping) else (None, None)
    return (float(one), float(other)) if _is_number(one) and _is_number(other) else None
