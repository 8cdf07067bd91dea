"""The shape of an output that holds confidence and citations beside its values, and the values taken out of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias, TypeGuard, cast

from pytest_extract.core.field_metadata import Citation, Corners, FieldMetadata, Metadata
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, Step, path_text, short_repr, value_at
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.lazy import lazy_pattern

Unit: TypeAlias = Literal["page", "point", "inch"]
UNITS: Final[tuple[Unit, ...]] = ("page", "point", "inch")
SHAPE_KEYS: Final = ("values", "wrapper", "confidence", "citations", "scale", "first_page", "unit")
WRAPPER_KEYS: Final = ("value", "confidence", "citations")
_PLACEHOLDER: Final = lazy_pattern(r'^(?P<before>.*?)(?:(?P<text>\["\{path\}"\])|\.?(?P<steps>\{path\}))(?P<after>.*)$')
_MOST_NOTED: Final = 3


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """Where something stands in an output: `before`, then the path of the value, then `after`.

    `path`: "steps" where the path is followed step by step, "text" where its text is one key, None where it is no part.
    """

    before: FieldPath
    path: Literal["steps", "text"] | None
    after: FieldPath

    @classmethod
    def parse(cls, text: str) -> PathTemplate:
        """Read `metadata.{path}.score` or `metadata["{path}"].score`; ValueError for what is no path."""
        found = _PLACEHOLDER.match(text)
        if found is None:
            return cls(FieldPath.parse(text), None, FieldPath())
        before, after = found["before"], found["after"].removeprefix(".")
        return cls(
            FieldPath.parse(before) if before else FieldPath(),
            "text" if found["text"] else "steps",
            FieldPath.parse(after) if after else FieldPath(),
        )

    def find(self, root: Json, path: FieldPath) -> Json | Missing:
        """Return what stands in `root` for the value at `path`; MISSING where nothing does."""
        place: tuple[Step, ...] = () if self.path is None else (path_text(path),) if self.path == "text" else path
        return value_at(root, (*self.before, *place, *self.after))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """The object around a value: the key that holds the value, and where confidence and citations stand in it.

    Of several, the first that is there counts. An object is a wrapper if it has the key of a value and another one of
    these. `marker`: a key that marks a wrapper whose value is left out for null. `quotes`: with citations that are
    places only, a list of `{offset, length}` in the text at one of `texts` of the output.
    """

    value: tuple[str, ...] = ("value",)
    confidence: tuple[FieldPath, ...] = (FieldPath(("confidence",)),)
    citations: tuple[FieldPath, ...] = (FieldPath(("citations",)),)
    marker: str | None = None
    quotes: str | None = None
    texts: tuple[FieldPath, ...] = ()

    @property
    def others(self) -> frozenset[Step]:
        """The keys of which a wrapper has at least one, beside that of its value."""
        keys = {path[0] for path in (*self.confidence, *self.citations) if path}
        return frozenset(keys | {key for key in (self.marker, self.quotes) if key is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputShape:
    """How an output holds its values, their confidence and their citations.

    values: where the values stand, the first place that is there. With `wrapper`, each value has an object around it;
    without one, `confidence` and `citations` are the places for a value, from the root of the output.
    lowest, highest: the ends of the scale of confidence. first_page: the number of the first page. unit: of boxes.
    chunks: a list of `{id, grounding, markdown}` that citations name by id.
    """

    values: tuple[FieldPath, ...] = (FieldPath(),)
    wrapper: Wrapper | None = None
    confidence: tuple[PathTemplate, ...] = ()
    citations: tuple[PathTemplate, ...] = ()
    lowest: float = 0.0
    highest: float = 1.0
    first_page: int = 1
    unit: Unit = "page"
    chunks: FieldPath | None = None

    @classmethod
    def from_json(cls, given: Json) -> OutputShape:
        """Read a declaration: the name of a shape, or a mapping of `SHAPE_KEYS`. Raises ConfigError."""
        if isinstance(given, OutputShape):
            return given
        if isinstance(given, str):
            if given not in SHAPES:
                raise ConfigError(f"must be a mapping or the name of a shape, not {given!r}{nearest(given, SHAPES)}")
            return SHAPES[given]
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"must be the name of a shape ({', '.join(SHAPES)}) or a mapping with {', '.join(SHAPE_KEYS)}, "
                f"not {short_repr(given)}"
            )
        _refuse_unknown(given, SHAPE_KEYS, "")
        if ("wrapper" in given) == bool(given.keys() & {"confidence", "citations"}):
            raise ConfigError(
                "needs either `wrapper`, the keys of the object around each value, or the places of `confidence` and "
                "`citations` with {path} in them, such as `metadata.{path}.confidence`"
            )
        lowest, highest = _scale(given.get("scale", [0, 1]))
        first_page, unit = given.get("first_page", 1), given.get("unit", "page")
        if first_page not in (0, 1) or isinstance(first_page, bool):
            raise ConfigError(f"first_page must be 0 or 1, not {short_repr(first_page)}")
        if unit not in UNITS:
            raise ConfigError(f"unit must be one of {', '.join(UNITS)}, not {short_repr(unit)}")
        return cls(
            values=tuple(_path("values", text) for text in _texts("values", given.get("values", "$"))),
            wrapper=_wrapper(given["wrapper"]) if "wrapper" in given else None,
            confidence=_templates("confidence", given),
            citations=_templates("citations", given),
            lowest=lowest,
            highest=highest,
            first_page=first_page,
            unit=unit,
        )


def _refuse_unknown(given: Mapping[str, Json], names: Sequence[str], owner: str) -> None:
    for name in given:
        if name not in names:
            raise ConfigError(f"{owner}has no key {name!r}{nearest(name, names)}")


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


def _templates(name: str, given: Mapping[str, Json]) -> tuple[PathTemplate, ...]:
    found = []
    for text in _texts(name, given[name]) if name in given else ():
        try:
            template = PathTemplate.parse(text)
        except ValueError as error:
            raise ConfigError(f"{name}: {error}; write it as `metadata.{{path}}.{name}`") from None
        if template.path is None:
            raise ConfigError(f"{name}: {text!r} needs {{path}} for the path of the value: `metadata.{{path}}.{name}`")
        found.append(template)
    return tuple(found)


def _wrapper(given: Json) -> Wrapper:
    if not isinstance(given, Mapping):
        raise ConfigError(f"wrapper must be a mapping with {', '.join(WRAPPER_KEYS)}, not {short_repr(given)}")
    _refuse_unknown(given, WRAPPER_KEYS, "wrapper ")
    value = tuple(_texts("wrapper.value", given.get("value", "value")))
    confidence, citations = (
        tuple(_path(f"wrapper.{name}", text) for text in _texts(f"wrapper.{name}", given.get(name, name)))
        for name in ("confidence", "citations")
    )
    return Wrapper(value=value, confidence=confidence, citations=citations)


def _scale(given: Json) -> tuple[float, float]:
    ends = given if isinstance(given, list) else [0, given]
    if len(ends) != 2 or not all(_is_number(end) for end in ends) or not ends[0] < ends[1]:
        raise ConfigError(
            f"scale must be the highest confidence (100), or lowest and highest ([1, 5]), not {short_repr(given)}"
        )
    return float(ends[0]), float(ends[1])


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _paths(*texts: str) -> tuple[FieldPath, ...]:
    return tuple(map(FieldPath.parse, texts))


def _places(*texts: str) -> tuple[PathTemplate, ...]:
    return tuple(map(PathTemplate.parse, texts))


SHAPES: Final[Mapping[str, OutputShape]] = MappingProxyType(
    {
        "wrapper": OutputShape(wrapper=Wrapper()),
        "reducto": OutputShape(
            values=_paths("result[0]", "result", "$"),
            wrapper=Wrapper(
                confidence=_paths("citations[0].granular_confidence.extract_confidence", "citations[0].confidence")
            ),
        ),
        "extend": OutputShape(
            values=_paths("output.value", "value"),
            confidence=_places(
                'output.metadata["{path}"].logprobsConfidence',
                'output.metadata["{path}"].ocrConfidence',
                'metadata["{path}"].logprobsConfidence',
                'metadata["{path}"].ocrConfidence',
            ),
            citations=_places('output.metadata["{path}"].citations', 'metadata["{path}"].citations'),
            unit="point",
        ),
        "llamaextract": OutputShape(
            values=_paths("data", "extract_result"),
            confidence=_places(
                "extraction_metadata.field_metadata.{path}.confidence",
                "extraction_metadata.field_metadata.{path}.extraction_confidence",
                "extract_metadata.field_metadata.{path}.confidence",
                "extract_metadata.field_metadata.{path}.extraction_confidence",
            ),
            citations=_places(
                "extraction_metadata.field_metadata.{path}.citation",
                "extract_metadata.field_metadata.{path}.citation",
            ),
            unit="point",
        ),
        "landingai": OutputShape(
            values=_paths("extraction", "extracted_schema"),
            confidence=_places("extraction_metadata.{path}.confidence"),
            citations=_places("extraction_metadata.{path}.references", "extraction_metadata.{path}.chunk_references"),
            first_page=0,
            chunks=FieldPath(("chunks",)),
        ),
        "box": OutputShape(
            values=_paths("answer"),
            confidence=_places("confidence_score.{path}.score", "confidence_score.{path}"),
            citations=_places("reference.{path}"),
        ),
        "azure": OutputShape(
            values=_paths(
                "result.contents[0].fields",
                "contents[0].fields",
                "analyzeResult.documents[0].fields",
                "documents[0].fields",
                "fields",
            ),
            wrapper=Wrapper(
                value=(
                    "valueObject", "valueArray", "valueString", "valueNumber", "valueInteger", "valueBoolean",
                    "valueDate", "valueTime", "valueJson", "valuePhoneNumber", "valueCountryRegion",
                    "valueSelectionMark", "valueSignature", "valueCurrency", "valueAddress", "valueSelectionGroup",
                ),
                citations=_paths("source", "boundingRegions"),
                marker="type",
                quotes="spans",
                texts=_paths("result.contents[0].markdown", "contents[0].markdown", "analyzeResult.content", "content"),
            ),
            unit="inch",
        ),
    }
)  # fmt: skip
"""Ready shapes by name: `{value, confidence, citations}` around each value, and those of services by their manuals."""


class ReportedMetadata(NamedTuple):
    """What an extractor returned beside its output: for each value a confidence, and a list of citations.

    Each is an object that is nested as the output, or has the paths of values for keys; a single number is the
    confidence of the whole output.
    """

    confidence: Json = None
    citations: Json = None


class Unwrapped(NamedTuple):
    """The values of an output, what is reported for them, and notes on what could not be read."""

    value: Json
    metadata: Metadata
    notes: tuple[str, ...] = ()


def unwrap(output: Json, shape: OutputShape | None, reported: ReportedMetadata | None = None) -> Unwrapped:
    """Take values, confidence and citations out of an output; what the extractor reported beside it wins."""
    reader = _ShapeReader(output, shape or OutputShape())
    value = output
    notes: tuple[str, ...] = ()
    if shape is not None:
        place = next((path for path in shape.values if isinstance(value_at(output, path), dict | list)), None)
        if place is None:
            return Unwrapped(output, {}, (f"`confidence`: {_missing_values_text(shape)}; scored as it is",))
        try:
            value = reader.values(value_at(output, place))
        except RecursionError:
            return Unwrapped(output, {}, ("`confidence`: the output is nested too deeply; scored as it is",))
        if not reader.found and not reader.problems:
            notes = ("`confidence`: no confidence and no citation stands where the declared shape has them",)
    if reported is not None:
        reader.add_reported(reported, value)
    return Unwrapped(value, reader.found, (*notes, *reader.notes()))


_MOST_LOOKED_AT: Final = 30


def undeclared_shape(output: Json, gold: Json) -> str | None:
    """Return the name of the ready shape that an output seems to have, and its gold has not; a look at a few values."""
    for name, shape in SHAPES.items():
        places = (path for path in shape.values if path and isinstance(value_at(output, path), dict | list))
        place = next((path for path in places if value_at(gold, path) is MISSING), None)
        if place is None:
            continue
        if shape.wrapper is not None:
            if _has_wrapper(value_at(output, place), gold, shape.wrapper):
                return name
        elif any(
            template.before and isinstance(value_at(output, template.before), dict)
            for template in (*shape.confidence, *shape.citations)
        ):
            return name
    return "wrapper" if _has_wrapper(output, gold, Wrapper()) else None


def _has_wrapper(value: Json, gold: Json, wrapper: Wrapper) -> bool:
    """Whether one of the first values is wrapped, where gold has no object."""
    level = [(value, gold)]
    looked_at = 0
    while level and looked_at < _MOST_LOOKED_AT:
        node, expected = level.pop(0)
        looked_at += 1
        if isinstance(node, dict):
            is_wrapper = any(key in node for key in wrapper.value) and node.keys() & wrapper.others
            if is_wrapper and not isinstance(expected, dict):
                return True
            for name, item in islice(node.items(), _MOST_LOOKED_AT):
                level.append((item, expected.get(name) if isinstance(expected, dict) else None))
        elif isinstance(node, list) and node:
            level.append((node[0], expected[0] if isinstance(expected, list) and expected else None))
    return False


def _missing_values_text(shape: OutputShape) -> str:
    return f"the output has no object and no array at {' or '.join(f'`{path}`' for path in shape.values)}"


class _ShapeReader:
    """Reads one output of a shape; `found` maps the place of a value to what is reported for it."""

    def __init__(self, output: Json, shape: OutputShape) -> None:
        self._output = output
        self._shape = shape
        self.found: dict[FieldPath, FieldMetadata] = {}
        self.problems: list[str] = []
        self._chunks: Mapping[str, Mapping[str, Json]] = {}
        if shape.chunks is not None:
            listed = value_at(output, shape.chunks)
            rows = listed if isinstance(listed, list) else []
            self._chunks = {row["id"]: row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)}
        wrapper = shape.wrapper
        texts = () if wrapper is None else (value_at(output, path) for path in wrapper.texts)
        self._text = next((text for text in texts if isinstance(text, str)), "")

    def values(self, value: Json) -> Json:
        """Return the bare values."""
        if self._shape.wrapper is not None:
            return self._unwrapped(value, (), self._shape.wrapper)
        for path, node in _nodes(value):
            self._read_beside(path, node)
        return value

    def _unwrapped(self, value: Json, path: tuple[Step, ...], wrapper: Wrapper) -> Json:
        if isinstance(value, list):
            return [self._unwrapped(item, (*path, index), wrapper) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        key = next((name for name in wrapper.value if name in value), None)
        if key is None and wrapper.marker is not None and isinstance(value.get(wrapper.marker), str):
            self._read_wrapper(FieldPath(path), value, wrapper)
            return None
        if key is None or not value.keys() & wrapper.others:
            return {name: self._unwrapped(item, (*path, name), wrapper) for name, item in value.items()}
        self._read_wrapper(FieldPath(path), value, wrapper)
        return self._unwrapped(value[key], path, wrapper)

    def _read_wrapper(self, path: FieldPath, value: Mapping[str, Json], wrapper: Wrapper) -> None:
        confidence = _first(value_at(value, place) for place in wrapper.confidence)
        given = _first(value_at(value, place) for place in wrapper.citations)
        citations = self._citations(given)
        if wrapper.quotes is not None:
            citations = _with_quotes(citations, self._quotes(value.get(wrapper.quotes)))
        self._add(path, self._confidence(path, confidence), citations)

    def _quotes(self, spans: Json) -> list[str]:
        quotes = []
        for span in spans if isinstance(spans, list) else []:
            offset, length = (span.get(name) if isinstance(span, dict) else None for name in ("offset", "length"))
            if isinstance(offset, int) and isinstance(length, int) and 0 <= offset <= len(self._text) and length > 0:
                quotes.append(self._text[offset : offset + length])
        return [quote for quote in quotes if quote]

    def _read_beside(self, path: FieldPath, node: Json) -> None:
        confidence = _first(place.find(self._output, path) for place in self._shape.confidence)
        if isinstance(node, dict | list) and not _is_number(confidence):
            confidence = None  # an object that holds what is reported for the values inside
        given = _first(place.find(self._output, path) for place in self._shape.citations)
        if isinstance(node, dict | list) and not _is_list_of_citations(given):
            given = None
        self._add(path, self._confidence(path, confidence), self._citations(given))

    def add_reported(self, reported: ReportedMetadata, value: Json) -> None:
        """Add what the extractor returned beside its output."""
        for path, given in _reported(reported.confidence, value, _is_scalar):
            self._add(path, self._confidence(path, given), ())
        for path, given in _reported(reported.citations, value, _is_list_of_citations):
            self._add(path, None, self._citations(given))

    def _add(self, path: FieldPath, confidence: float | None, citations: tuple[Citation, ...]) -> None:
        if confidence is None and not citations:
            return
        old = self.found.get(path, FieldMetadata())
        new = FieldMetadata(old.confidence if confidence is None else confidence, citations or old.citations)
        self.found[path] = new

    def _confidence(self, path: FieldPath, given: Json | Missing) -> float | None:
        if given is MISSING or given is None:
            return None
        number = given
        if isinstance(given, str):
            try:
                number = float(given)
            except ValueError:
                number = None
        lowest, highest = self._shape.lowest, self._shape.highest
        if _is_number(number) and lowest <= number <= highest:
            return float((number - lowest) / (highest - lowest))
        self.problems.append(f"{path}: {short_repr(given)} is no number from {lowest:g} to {highest:g}")
        return None

    def _citations(self, given: Json | Missing) -> tuple[Citation, ...]:
        if given is MISSING or given is None:
            return ()
        if isinstance(given, str) and given.startswith("D("):
            return tuple(_azure_citations(given))
        found = []
        for each in given if isinstance(given, list) else [given]:
            item = self._chunks[each] if isinstance(each, str) and each in self._chunks else each
            if item is each and isinstance(each, str) and self._shape.chunks is not None:
                continue  # an id of what the output does not have
            citation = read_citation(item, first_page=self._shape.first_page, unit=self._shape.unit)
            if citation is not None:
                found.append(citation)
        return tuple(found)

    def notes(self) -> tuple[str, ...]:
        """Return a sentence on the confidences that could not be read."""
        if not self.problems:
            return ()
        listed = "; ".join(self.problems[:_MOST_NOTED])
        more = f"; and {len(self.problems) - _MOST_NOTED:,} more" if len(self.problems) > _MOST_NOTED else ""
        return (f"`confidence`: {len(self.problems):,} cannot be read: {listed}{more}",)


def _first(found: Iterable[Json | Missing]) -> Json | Missing:
    """Return the first that is there and not null."""
    return next((each for each in found if each is not MISSING and each is not None), MISSING)


def _nodes(value: Json) -> Iterator[tuple[FieldPath, Json]]:
    """Yield every value with its place, objects and arrays too."""
    stack: list[tuple[tuple[Step, ...], Json]] = [((), value)]
    while stack:
        here, node = stack.pop()
        yield FieldPath(here), node
        if isinstance(node, dict):
            stack.extend(((*here, name), item) for name, item in node.items())
        elif isinstance(node, list):
            stack.extend(((*here, index), item) for index, item in enumerate(node))


def _is_scalar(value: Json) -> bool:
    return not isinstance(value, dict | list)


_PAGE_KEYS: Final = ("page", "page_number", "pageNumber")
_QUOTE_KEYS: Final = ("quote", "text", "content", "matching_text", "referenceText", "reference_text")
_BOX_KEYS: Final = ("box", "bbox", "boundingBox", "bounding_box", "polygon")
_CITATION_KEYS: Final = frozenset((*_PAGE_KEYS, "page_idx", *_QUOTE_KEYS, *_BOX_KEYS, "bounding_boxes", "grounding"))


def _is_list_of_citations(value: Json | Missing) -> bool:
    """Whether it is citations, and not an object that holds those of the values inside."""
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(
        isinstance(item, str) or (isinstance(item, dict) and bool(item.keys() & _CITATION_KEYS)) for item in items
    )


def _reported(given: Json, value: Json, is_entry: Callable[[Json], bool]) -> Iterator[tuple[FieldPath, Json]]:
    """Yield what is reported by the place of the value; at the top, a key that the output lacks is a path."""
    if given is None:
        return
    if not isinstance(given, dict):
        entries = [(FieldPath(), given)]
    else:
        entries = []
        for key, item in given.items():
            path = FieldPath((key,))
            if not (isinstance(value, dict) and key in value):
                with suppress(ValueError):
                    path = FieldPath.parse(key)
            entries.append((path, item))
    while entries:
        path, item = entries.pop(0)
        if is_entry(item):
            yield path, item
        elif isinstance(item, dict):
            entries += [(FieldPath((*path, name)), inner) for name, inner in item.items()]
        elif isinstance(item, list):
            entries += [(FieldPath((*path, index)), inner) for index, inner in enumerate(item)]


def read_citation(given: Json, *, first_page: int = 1, unit: Unit = "page") -> Citation | None:
    """Read one citation; None where it names no page, no quote and no box.

    A text is a quote. An object has a page (`page`, `page_number`, `pageNumber`, or the page of its box), a quote
    (`quote`, `text`, `content`, `matching_text`, `referenceText`) and a box (`box`, `bbox`, `boundingBox`, `polygon`,
    the first of `bounding_boxes`), in any of the usual forms (`read_box`).
    """
    if isinstance(given, str):
        return Citation(quote=given) if given.strip() else None
    if not isinstance(given, Mapping):
        return None
    grounding = given.get("grounding")
    around: Mapping[str, Json] = grounding if isinstance(grounding, Mapping) else given
    shape = _first(around.get(name) for name in _BOX_KEYS)
    if shape is MISSING and isinstance(boxes := around.get("bounding_boxes"), list) and boxes:
        shape = boxes[0]
    inner: Mapping[str, Json] = shape if isinstance(shape, Mapping) else {}
    number = _first(around.get(name) for name in _PAGE_KEYS)
    size = _first((around.get("page_dimensions"), number))
    if isinstance(number, Mapping):
        number = number.get("number", MISSING)
    if number is MISSING:
        number = _first((inner.get("original_page"), inner.get("page")))
    page = number - first_page + 1 if isinstance(number, int) and not isinstance(number, bool) else None
    quote = _first(given.get(name) for name in (*_QUOTE_KEYS, "markdown"))
    box, of_page = _scaled(read_box(shape), unit, size)
    citation = Citation(
        page=page if page is not None and page > 0 else None,
        quote=quote if isinstance(quote, str) and quote.strip() else None,
        box=box,
        unit=of_page,
    )
    return None if (citation.page, citation.quote, citation.box) == (None, None, None) else citation


def _scaled(box: Corners | None, unit: Unit, size: Json | Missing) -> tuple[Corners | None, Literal["page", "point"]]:
    """Return a box in fractions of its page, where the size of that is known or not needed; else in points."""
    if box is None or unit == "page":
        return box, "page"
    if isinstance(size, Mapping) and all(_is_number(size.get(name)) and size[name] > 0 for name in ("width", "height")):
        wide, high = float(size["width"]), float(size["height"])
        return (box[0] / wide, box[1] / high, box[2] / wide, box[3] / high), "page"
    if unit == "inch":
        return cast("Corners", tuple(72 * side for side in box)), "point"
    return box, "point"


def read_box(given: Json | Missing) -> Corners | None:
    """Read a box: `{left, top, width, height}`, `{left, top, right, bottom}`, `{x, y, w, h}`, `{x0, y0, x1, y1}`.

    Also a list of four numbers (left, top, right, bottom), or a polygon: a list of `{x, y}`, or of its coordinates.
    """
    if isinstance(given, Mapping):
        corner = _numbers(given, ("left", "top")) or _numbers(given, ("x", "y")) or _numbers(given, ("x0", "y0"))
        size = _numbers(given, ("width", "height")) or _numbers(given, ("w", "h"))
        other = _numbers(given, ("right", "bottom")) or _numbers(given, ("x1", "y1"))
        if corner is None or (size is None and other is None):
            return None
        right, bottom = other if other is not None else (corner[0] + size[0], corner[1] + size[1]) if size else corner
        return (*corner, right, bottom)
    if not isinstance(given, list) or not given:
        return None
    if all(isinstance(point, Mapping) for point in given):
        points = [_numbers(point, ("x", "y")) for point in given]
        if None in points:
            return None
        flat = [side for point in points if point is not None for side in point]
    else:
        flat = given
    if len(flat) < 4 or len(flat) % 2 or not all(map(_is_number, flat)):
        return None
    across, down = flat[0::2], flat[1::2]
    return float(min(across)), float(min(down)), float(max(across)), float(max(down))


def _numbers(given: Mapping[str, Json], names: tuple[str, str]) -> tuple[float, float] | None:
    first, second = given.get(names[0]), given.get(names[1])
    return (float(first), float(second)) if _is_number(first) and _is_number(second) else None


_AZURE_SOURCE: Final = lazy_pattern(r"D\((\d+)((?:,-?[\d.]+){4,})\)")


def _azure_citations(source: str) -> Iterator[Citation]:
    """Read `D(page,x1,y1,x2,y2,...)`, several joined by `;`; the coordinates are inches."""
    for page, sides in _AZURE_SOURCE.findall(source):
        try:
            box, unit = _scaled(read_box([float(side) for side in sides.split(",") if side]), "inch", MISSING)
        except ValueError:
            continue
        yield Citation(page=int(page), box=box, unit=unit)


def _with_quotes(citations: Sequence[Citation], quotes: Sequence[str]) -> tuple[Citation, ...]:
    pairs = zip_longest(citations, quotes)
    return tuple(Citation(quote=quote) if each is None else replace(each, quote=quote) for each, quote in pairs)
