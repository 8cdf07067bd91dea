"""What a case is: the keys that a file may have, checked, and the frozen `Case` that they make.

`case.schema.json` describes the keys; here values are checked by it and mistakes get their words. A schema's `title` is
the noun phrase of a message ("must be a number from 0 to 1"), its `description` the text of the manual. Keys are merged
with the defaults that cases share. Nothing here reads a document or knows the schema of a case.
"""

from __future__ import annotations

import ast
import itertools
import json
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from pytest_extract.cases.sources import Mistake, SourceFile, Steps, is_file, mistake_in, no_file, path_from, reached
from pytest_extract.core import arguments
from pytest_extract.core.case_result import Origin
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import Json, Step, json_type, path_text, short_repr, usual, with_article
from pytest_extract.errors import CaseFileError, ConfigError, closest, nearest

if TYPE_CHECKING:
    from jsonschema import ValidationError

    from pytest_extract.core.case_result import AutoAccept
    from pytest_extract.core.gates import GateConfig
    from pytest_extract.core.output_shape import OutputShape
    from pytest_extract.core.results import Citation
    from pytest_extract.core.scorer import ScoreOptions, Scorer
    from pytest_extract.core.uncompared import Uncompared
    from pytest_extract.documents import Document


T = TypeVar("T")
Modality: TypeAlias = Literal["text", "image", "audio"]

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def _nothing() -> Mapping[str, Any]:
    return NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt file: its text is handed to the extractor, its digest (SHA-256, hex) is recorded."""

    path: Path
    text: str
    sha256: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Run the extractor `of` times; the case passes when `passes` of the attempts do."""

    of: int = 1
    passes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A pytest mark as data: `xfail(reason='scanned upside down')`."""

    name: str
    args: tuple[Json, ...] = ()
    kwargs: Mapping[str, Json] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """A field (pattern or concrete path) that is left out of the verdict up to and including the day `until`."""

    path: str
    until: date | None = None
    reason: str = ""

    def expired(self, today: date) -> bool:
        """Whether the day is over: an expired known failure fails the case."""
        return self.until is not None and today > self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Lowest values that pass: per measure, per field pattern (mean score of its values); highest cost and time.

    When neither a measure nor a field is given, `measures` is `{"pass_rate": 1.0}`.
    """

    measures: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({"pass_rate": 1.0}))
    fields: Mapping[str, float] = field(default_factory=_nothing)
    max_cost_usd: float | None = None
    max_latency_s: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Thresholds:
        """Take the checked value of the key."""
        others = ("fields", "measures", *LIMITS)
        measures = {name: bound for name, bound in given.items() if name not in others} | given.get("measures", {})
        fields = given.get("fields", {})
        limits = {name: given[name] for name in LIMITS if name in given}
        return cls(measures=measures if measures or fields else {"pass_rate": 1.0}, fields=fields, **limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One document, one schema, one gold, with what is asked of the output.

    `path`, `line`, `steps`: the case file, or the line of the JSONL dataset, that holds the case, and its place there.
    `gold_path`, `gold_steps`, `gold_line`: the file that holds the gold, the place of the value in it (`()`: all of
    it), and the line at which its JSON text begins (other than 1 only in a dataset).
    `gold_is_missing`: the file is to be written by this run (`--extract-update-gold=new`); `gold` is null.
    `draft`: the gold's review says that nobody has reviewed it (`edit.GoldReview`).
    `schema` is the JSON Schema as written, `scorer` its compiled form, shared by all cases that name the same one.
    `accept`, `absent`, `overrides` and the thresholds' fields are keyed by field pattern or concrete path.
    `max_output_bytes`: the longest output that is read; None: that of the option, or the default.
    `post_process`: names of post-processors, as written. `rules`: the case's own rules across fields, as written.
    `auto_accept`: which values are accepted by their confidence, and which share of them must be right over the run.
    `confidence`: the shape in which the output holds its values with their confidence; None where they are bare.
    `altered`: what differs from the case that this one is made of by `variants`, such as `without-total`.
    `evidence`: where the values of fields stand in the document, by field pattern or concrete path.
    `uncompared`: the gold values that no comparison reaches; None where all are compared or skipped on purpose.
    """

    id: str
    path: Path
    line: int
    steps: tuple[Step, ...] = ()
    document: Document
    schema: Json
    scorer: Scorer
    gold: Json
    gold_path: Path
    gold_steps: tuple[Step, ...] = ()
    gold_line: int = 1
    gold_is_missing: bool = False
    draft: bool = False
    schema_path: Path
    schema_sha256: str
    schema_files: tuple[Path, ...] = ()
    question: str | None = None
    prompt: Prompt | None = None
    semantics: str
    nulls: Literal["absent", "value"] | None = None
    modality: Modality = "text"
    marks: tuple[Mark, ...] = ()
    tags: Mapping[str, str] = field(default_factory=_nothing)
    origin: Origin = Origin.SAMPLE
    altered: str = ""
    repeat: Repeat = field(default_factory=Repeat)
    accept: Mapping[str, tuple[Json, ...]] = field(default_factory=_nothing)
    absent: Mapping[str, Literal["must", "either"]] = field(default_factory=_nothing)
    known_failures: tuple[KnownFailure, ...] = ()
    gates: GateConfig
    max_output_bytes: int | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)
    overrides: Mapping[str, Json] = field(default_factory=_nothing)
    post_process: Json = None
    rules: Json = None
    uncompared: Uncompared | None = None
    confidence: OutputShape | None = None
    evidence: Mapping[str, tuple[Citation, ...]] = field(default_factory=_nothing)
    auto_accept: AutoAccept | None = None

    @property
    def score_options(self) -> ScoreOptions:
        """What the case says of how an output is scored."""
        from pytest_extract.core.scorer import ScoreOptions

        return ScoreOptions(
            modality=self.modality,
            gates=self.gates,
            accept=self.accept,
            absent=self.absent,
            confidence=self.confidence,
            max_output_bytes=self.max_output_bytes,
        )


# --- the keys, as their JSON Schema has them

_SHARE: Final = "#/$defs/share"
EDITOR_SCHEMA: Final = "extract.schema.json"
"""File beside case files that holds their JSON Schema."""


def case_file_schema() -> str:
    """Return the text of the JSON Schema of the case file, which is a file of the package."""
    return files("pytest_extract.cases").joinpath("case.schema.json").read_text(encoding="utf-8")


def renewed_schema() -> str:
    """Return the text of the JSON Schema with the measures that thresholds can bound, as their table has them."""
    from pytest_extract.core.measures import MEASURES

    schema = json.loads(case_file_schema())
    thresholds = schema["$defs"]["thresholds"]
    others = {name: part for name, part in thresholds["properties"].items() if part.get("$ref") != _SHARE}
    measures = {name: {"description": measure.doc, "$ref": _SHARE} for name, measure in MEASURES.items()}
    thresholds["properties"] = measures | others
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


MERGED: Final = frozenset(("tags", "accept", "absent", "auto_accept", "gates", "thresholds", "overrides"))
"""Keys that a case and its defaults share key by key, the case winning; every other key is replaced as a whole."""
FILE_KEYS: Final = ("cases", "defaults", "dataset")
"""Keys that a file may have beside a case's, or instead."""
LIMITS: Final = ("max_cost_usd", "max_latency_s")


class WrongKeyError(Exception):
    """What is wrong below a key and what would be right; `on_key`: in the key at `steps`, not in its value."""

    def __init__(self, message: str, *steps: Step, on_key: bool = False) -> None:
        super().__init__(message)
        self.message, self.steps, self.on_key = message, steps, on_key

    def text(self) -> str:
        """Return the message with the place it is about, as the file writes it."""
        return self.message if self.on_key else f"`{path_text(self.steps)}` {self.message}"


@cache
def _definitions() -> Mapping[str, Any]:
    definitions: Mapping[str, Any] = json.loads(case_file_schema())["$defs"]
    return definitions


@cache
def case_keys() -> tuple[str, ...]:
    """Return every key of a case, the keys that are needed most often first."""
    return tuple(_definitions()["case"]["properties"])


@cache
def _validator_of(key: str) -> Validator:
    definitions = {name: part for name, part in _definitions().items() if name != "case"}
    return Validator({"$ref": f"#/$defs/{key}", "$defs": definitions})


def checked_value(key: str, value: Json) -> tuple[Any, tuple[WrongKeyError, ...]]:
    """Return the value of a key as `Case` has it, and no mistake, or None and every mistake."""
    if key not in _UNREAD:
        is_fit = _validator_of(key).is_valid(value)
    elif isinstance(value, str):
        is_fit = bool(value.strip()) and "\0" not in value
    else:
        is_fit = isinstance(value, _UNREAD[key])
    if not is_fit:
        from jsonschema import Draft202012Validator

        errors = Draft202012Validator(_validator_of(key).schema).iter_errors(value)
        return None, tuple(told for error in errors for told in _told(error, key))
    try:
        return _MADE[key](value) if key in _MADE else value, ()
    except WrongKeyError as error:
        return None, (WrongKeyError(error.message, key, *error.steps),)


def checked_argument(name: str, value: Any) -> Any:
    """Check an argument that is a key of cases, and return it as `Case` has it; ConfigError with all mistakes in it."""
    clean, mistakes = checked_value(name, dict(arguments.mapping(name, value)))
    if mistakes:
        raise ConfigError("\n".join(f"{'.'.join(map(str, told.steps))}: {told.message}" for told in mistakes))
    return clean


# --- words of what the schema refuses


def _told(error: ValidationError, at: str) -> Iterator[WrongKeyError]:
    """Word one error of jsonschema; of alternatives, the one that the value's type fits speaks."""
    here = (at, *error.absolute_path)
    schema: Any = error.schema
    value: Any = error.instance
    branches = itertools.groupby(error.context or (), key=lambda inner: inner.relative_schema_path[0])
    fitting = [
        errors
        for errors in (list(branch) for _, branch in branches)
        if not any(inner.validator in {"type", "enum"} and not inner.relative_path for inner in errors)
    ]
    if error.validator == "additionalProperties" and error.validator_value is False:
        name = path_text(here) if isinstance(here[-1], int) else here[-1]
        for key in value.keys() - schema["properties"].keys():
            message = f"{name} has no key {key!r}{nearest(key, schema['properties'])}"
            yield WrongKeyError(message, *here, key, on_key=True)
    elif error.validator == "required":
        for key in schema["required"]:
            if key not in value:
                meaning = schema["properties"][key].get("description")
                yield WrongKeyError(f"needs `{key}`: {meaning}" if meaning else f"needs `{key}`", *here)
    elif len(fitting) == 1:
        for inner in fitting[0]:
            yield from _told(inner, at)
    else:
        is_number = schema.get("type") == "string" and isinstance(value, int | float)
        hint = closest(value, schema["enum"]) if "enum" in schema else "; put it in quotes" if is_number else ""
        yield WrongKeyError(f"must be {value_phrase(schema)}, not {_value_text(value)}{hint}", *here)


def value_phrase(schema: Mapping[str, Any]) -> str:
    """Say in a noun phrase which values the schema of a key, or of a part of its value, takes."""
    if "title" in schema:
        return str(schema["title"])
    if "$ref" in schema:
        return value_phrase(_definitions()[schema["$ref"].removeprefix("#/$defs/")])
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    if "anyOf" in schema:
        return " or ".join(map(value_phrase, schema["anyOf"]))
    if "properties" in schema:
        return f"a mapping with {', '.join(schema['properties'])}"
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " or ".join(_TYPES[name] for name in types)


_TYPES: Final = {
    "string": "a text", "boolean": "true or false", "integer": "a whole number", "number": "a number",
    "array": "a list", "object": "a mapping",
}  # fmt: skip


def _value_text(value: Json) -> str:
    """Return a value for a message: as JSON if it is a short scalar, else its type."""
    if value in ([], {}):
        return "an empty one"
    if isinstance(value, (dict, list)):
        return with_article(json_type(value))
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return short_repr(value)


# --- what the schema cannot say, and the values as `Case` has them


_UNREAD: Final = {"schema": (dict, bool), "gold": (dict, list, int, float, type(None))}
"""Keys whose values may be large, hostile or hold what JSON cannot: only their type, beside a path's, is looked at."""


def _id(value: str | int) -> str:
    text = str(int(value)) if not isinstance(value, str) else value
    if not text.isprintable():
        raise WrongKeyError(f"must be {value_phrase(_definitions()['id'])}, not {_value_text(text)}")
    return text


_LONGEST_MARK: Final = 10_000


def parse_mark(text: str) -> Mark:
    """Parse `slow` or `xfail(reason='scanned upside down')`, without evaluating it; ValueError with what is wrong."""
    try:
        mark = _literal_mark(text.strip())
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        example = "a name, or a call with literal arguments such as \"xfail(reason='…')\""
        raise ValueError(f"{text!r:.80} is no mark; expected {example}") from None
    if mark.name == "parametrize":
        raise ValueError("`parametrize` makes no cases: write them under `cases:` or in a `dataset:`")
    return mark


def _literal_mark(text: str) -> Mark:
    if len(text) > _LONGEST_MARK:
        raise ValueError("too long")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an escape such as "\d" in a reason
        call = ast.parse(text, mode="eval").body
    name, given, named = (call.func, call.args, call.keywords) if isinstance(call, ast.Call) else (call, [], [])
    if not isinstance(name, ast.Name) or not all(keyword.arg for keyword in named):
        raise TypeError("no name, or `**`")
    kwargs = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in named}
    return Mark(name=name.id, args=tuple(map(ast.literal_eval, given)), kwargs=MappingProxyType(kwargs))


def _marks(value: str | list[str]) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    for index, text in enumerate([value] if isinstance(value, str) else value):
        try:
            marks.append(parse_mark(text))
        except ValueError as error:
            raise WrongKeyError(str(error), *(() if text is value else (index,))) from None
    return tuple(marks)


def _repeat(value: Json) -> Repeat:
    asked: dict[str, Any] = value if isinstance(value, dict) else {"of": value}
    repeat = Repeat(of=int(asked["of"]), passes=int(asked.get("pass", asked["of"])))
    if repeat.passes > repeat.of:
        raise WrongKeyError(f"cannot be more than `of`: {repeat.passes} of {repeat.of}", "pass")
    return repeat


def _known_failures(value: list[dict[str, str]]) -> tuple[KnownFailure, ...]:
    known: list[KnownFailure] = []
    for index, entry in enumerate(value):
        try:
            until = {"until": date.fromisoformat(entry["until"])} if "until" in entry else {}
        except ValueError:
            wanted = f"must be a day written YYYY-MM-DD, not {_value_text(entry['until'])}"
            raise WrongKeyError(wanted, index, "until") from None
        known.append(KnownFailure(**{**entry, **until, "path": usual(entry["path"])}))  # type: ignore[arg-type]
    return tuple(known)


def _tags(value: dict[str, Json]) -> dict[str, str]:
    return {name: tag if isinstance(tag, str) else str(tag).lower() for name, tag in value.items()}


def _numbers(value: Json) -> Json:
    """Return a mapping with its numbers as floats, at any depth; none of them infinite or no number."""
    if isinstance(value, dict):
        return {key: _numbers(part) for key, part in value.items()}
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if not math.isfinite(value):
        raise WrongKeyError(f"must hold numbers that JSON can write, not {value}")
    return float(value)


def _by_fields(value: dict[str, Json]) -> Json:
    """Return a mapping with `fields` in it, each by its usual name, and the numbers as floats."""
    numbers = _numbers(value)
    if "fields" in numbers:
        numbers["fields"] = {usual(field): bound for field, bound in numbers["fields"].items()}
    return numbers


def _auto_accept(value: dict[str, Json]) -> Json:
    if not value.keys() & {"confidence", "fields"}:
        raise WrongKeyError("needs `confidence`, the lowest with which a value is accepted, or `fields`")
    return _by_fields(value)


def _confidence(value: Json) -> Any:
    from pytest_extract.core.output_shape import OutputShape  # few cases name one

    try:
        return OutputShape.from_json(value)
    except ConfigError as error:
        raise WrongKeyError(str(error)) from None


def _evidence(value: dict[str, list[dict[str, Any]]]) -> Any:
    from pytest_extract.core.results import Citation

    made: dict[str, tuple[Citation, ...]] = {}
    for name, places in value.items():
        for index, given in enumerate(places):
            left, top, right, bottom = given.get("box", (0, 0, 1, 1))
            if left >= right or top >= bottom:
                wanted = "left, top, right and bottom, each side before the other"
                raise WrongKeyError(f"must be {wanted}, not {given['box']}", name, index, "box")
        boxes = [tuple(given["box"]) if "box" in given else None for given in places]
        made[usual(name)] = tuple(Citation(page=each["page"], box=box) for each, box in zip(places, boxes, strict=True))
    return made


def _listed(value: Json) -> tuple[Json, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


_MADE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "id": _id,
    "documents": _listed,
    "thresholds": _by_fields,
    "accept": lambda value: {usual(field): tuple(values) for field, values in value.items()},
    "absent": lambda value: {usual(field): rule for field, rule in value.items()},
    "marks": _marks,
    "known_failures": _known_failures,
    "repeat": _repeat,
    "tags": _tags,
    "origin": Origin,
    "gates": _numbers,
    "max_output_bytes": int,
    "confidence": _confidence,
    "evidence": _evidence,
    "auto_accept": _auto_accept,
}


# --- the keys of a case over its defaults

DOCUMENT_FORMS: Final = ("document", "documents", "text")
URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class FilePart(NamedTuple):
    """A part of a file: keys of a case as written, a schema or a gold. Its paths start in the folder of `source`."""

    source: SourceFile
    steps: Steps
    value: Any


@dataclass(slots=True)
class CaseSettings:
    """The keys of a case over its defaults: as written (`raw`), and checked (`values`).

    `mistakes`: all that is wrong with the case, in whichever file. `broken`: some of it with the mappings as a whole,
    such as an unknown or a duplicate key.
    """

    own: FilePart
    defaults: FilePart | None
    raw: Mapping[str, Json]
    values: dict[str, Any] = field(default_factory=dict)
    broken: bool = False
    mistakes: list[Mistake] = field(default_factory=list)

    def tell(self, message: str, *steps: Step, on_key: bool = False) -> None:
        """Add a mistake at a key, or at a place below it, where that is written."""
        layer = self.layer_of(*steps)
        self.mistakes.append(Mistake(layer.source, (*layer.steps, *steps), message, on_key))

    def layer_of(self, *steps: Step) -> FilePart:
        """Return the layer, own keys or defaults, that holds the value at a key, or at a place below it."""
        if self.defaults is None:
            return self.own
        try:
            reached(self.own.value, steps)
        except (LookupError, TypeError):
            return self.defaults
        return self.own

    def place_of(self, key: str, name: str) -> str | None:
        """Return the path of the file that a key names; None after telling that there is none."""
        place = path_from(self.layer_of(key).source.folder, name)
        if URL.match(name):
            self.tell(f"`{key}` is a URL, and nothing is fetched; save the file and write its path", key)
        elif is_file(place):
            return place
        else:
            can_be_made = key == "gold" and "#/" not in self.values["gold"]
            hint = "; make it with --extract-update-gold=new" if can_be_made else ""
            self.tell(no_file(key, Path(place)) + hint, key)
        return None

    def read(self, key: str, name: str, read: Callable[[str], T]) -> T | None:
        """Read the file that a key names; a mistake of the file's own keeps its own place."""
        place = self.place_of(key, name)
        try:
            return None if place is None else read(place)
        except CaseFileError as error:
            self.mistakes.append(mistake_in(error))
            return None


def case_settings(own: FilePart, defaults: FilePart | None) -> CaseSettings:
    """Put the keys of a case over its defaults, and check every key.

    The mappings of MERGED are merged key by key, all others replaced as a whole. A case with a document of one form
    drops those of the defaults.
    """
    raw = dict(own.value)
    for key, value in ({} if defaults is None else defaults.value).items():
        if key in MERGED and isinstance(value, dict) and isinstance(raw.get(key), dict):
            raw[key] = _merged(value, own.value[key])
        elif key not in DOCUMENT_FORMS or own.value.keys().isdisjoint(DOCUMENT_FORMS):
            raw.setdefault(key, value)
    settings = CaseSettings(own, defaults, raw)
    for key, value in raw.items():
        if key in case_keys():
            result, wrong = checked_value(key, value)
            for told in wrong:
                settings.tell(told.text(), *told.steps, on_key=told.on_key)
            if not wrong:
                settings.values[key] = result
        else:
            known = (*case_keys(), *(() if own.steps else FILE_KEYS))
            unknown = f"unknown key {key!r}{nearest(key, known)}"
            settings.tell(f"`{key}` belongs at the top of the file" if key in FILE_KEYS else unknown, key, on_key=True)
            settings.broken = True
    for layer in filter(None, (own, defaults)):
        for mistake in layer.source.mistakes:
            if all(map(operator.eq, mistake.steps, layer.steps)):  # else it is elsewhere in the file
                inside = mistake.steps[len(layer.steps) :]
                if not inside or layer is own or inside[0] not in own.value or inside[0] in MERGED:
                    settings.mistakes.append(mistake)
                    settings.broken |= not inside
    return settings


def _merged(under: Mapping[str, Any], over: Any) -> dict[str, Any]:
    both = {**under, **over}
    for key in under.keys() & over.keys():
        if isinstance(under[key], dict) and isinstance(over[key], dict):
            both[key] = _merged(under[key], over[key])
    return both
