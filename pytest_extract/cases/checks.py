"""The keys of a case and what each may hold: one small function per key, all in one table (`CASE_KEYS`).

A check gets the value as the file has it, and returns a clean plain value or BAD. It tells every mistake that it finds,
with the place below the key; nothing here reads a file or knows a schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from pytest_extract.cases.marks import parse_mark
from pytest_extract.cases.model import KnownFailure, Mark, Repeat
from pytest_extract.cases.source_position import Steps
from pytest_extract.core.gates import COVERAGE_MODES, MODALITIES
from pytest_extract.core.measures.table import MEASURES, THRESHOLD_MEASURES
from pytest_extract.core.semantics import SEMANTICS
from pytest_extract.core.values import Json, json_type
from pytest_extract.errors import nearest


class _Bad(Enum):
    BAD = "BAD"


BAD: Final = _Bad.BAD
"""A value that cannot be used; the mistake has been told."""


class Tell(Protocol):
    """Notes a mistake: its place, what is wrong and what would be right; `on_key`: the key is meant, not its value."""

    def __call__(self, at: Steps, message: str, *, on_key: bool = False) -> None:
        """Note one mistake."""


Check: TypeAlias = Callable[[Json, Steps, Tell], Any]

LIMITS: Final = ("max_cost_usd", "max_latency_s")
NULLS: Final = ("absent", "value")
ABSENCES: Final = ("must", "either")
UNCOMPARED: Final = ("refuse", "allow")


def _is_number(value: Json) -> bool:
    return value.__class__ in (int, float) and math.isfinite(value)


def _shown(value: Json) -> str:
    """Say a value in a message: as JSON when it is a short scalar, else by its type."""
    if isinstance(value, (dict, list)):
        return f"{'an' if json_type(value)[0] in 'ao' else 'a'} {json_type(value)}"
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _text(value: Json, at: Steps, tell: Tell) -> str | Literal[_Bad.BAD]:
    if value.__class__ is str:
        return str(value)
    tell(at, f"must be a text, not {_shown(value)}{_quote_hint(value)}")
    return BAD


def _quote_hint(value: Json) -> str:
    return "; put it in quotes" if value.__class__ in (int, float, bool) else ""


def _name_of_file(value: Json, at: Steps, tell: Tell) -> str | Literal[_Bad.BAD]:
    if value.__class__ is str and value.strip() and "\0" not in value:
        return str(value)
    tell(at, f"must be the path of a file, not {_shown(value)}")
    return BAD


def _one_of(names: Iterable[str]) -> Check:
    known = tuple(names)

    def check(value: Json, at: Steps, tell: Tell) -> Any:
        if value.__class__ is str and value in known:
            return value
        hint = nearest(value, known) if isinstance(value, str) else ""
        tell(at, f"must be one of {', '.join(known)}, not {_shown(value)}{hint if 'mean' in hint else ''}")
        return BAD

    return check


def _identity(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is int:
        return str(value)
    if value.__class__ is not str:
        tell(at, f"must be a text, not {_shown(value)}{_quote_hint(value)}")
        return BAD
    if not value.strip() or value != value.strip() or "::" in value or not value.isprintable():
        wanted = "a printable text without `::` and without spaces at its ends (it becomes part of the test's id)"
        tell(at, f"must be {wanted}, not {_shown(value)}")
        return BAD
    return value


def _schema(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ in (dict, bool) or (value.__class__ is str and value.strip() and "\0" not in value):
        return value
    tell(at, f"must be a path (`file.json`, `file.json#/pointer`) or a JSON Schema, not {_shown(value)}")
    return BAD


def _anything(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is str and (not value.strip() or "\0" in value):
        tell(at, f"must be the path of a file, or the gold value itself, not {_shown(value)}")
        return BAD
    return value


def _marks(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is str:
        value, single = [value], True
    else:
        single = False
    if value.__class__ is not list:
        tell(at, f"must be a list of marks, not {_shown(value)}")
        return BAD
    marks: list[Mark] = []
    for index, text in enumerate(value):
        here = at if single else (*at, index)
        if text.__class__ is not str:
            tell(here, f"must be a mark as a text, not {_shown(text)}")
            continue
        try:
            marks.append(parse_mark(text))
        except ValueError as error:
            tell(here, str(error))
    return tuple(marks) if len(marks) == len(value) else BAD


def _mapping(what: str, check: Check) -> Check:
    """Make the check of a mapping of any keys whose values obey `check`."""

    def check_mapping(value: Json, at: Steps, tell: Tell) -> Any:
        if value.__class__ is not dict:
            tell(at, f"must be a mapping of {what}, not {_shown(value)}")
            return BAD
        clean: dict[str, Any] = {}
        for key, part in value.items():
            clean[key] = check(part, (*at, key), tell)
        return clean if BAD not in clean.values() else BAD

    return check_mapping


def _tag(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is str:
        return value
    if value.__class__ in (int, float):
        return str(value)
    if value.__class__ is bool:
        return "true" if value else "false"
    tell(at, f"must be a text or a number, not {_shown(value)}")
    return BAD


def _share(value: Json, at: Steps, tell: Tell) -> Any:
    if _is_number(value) and 0 <= value <= 1:
        return float(value)
    tell(at, f"must be a number from 0 to 1, not {_shown(value)}")
    return BAD


def _amount(value: Json, at: Steps, tell: Tell) -> Any:
    if _is_number(value) and value >= 0:
        return float(value)
    tell(at, f"must be a number, 0 or more, not {_shown(value)}")
    return BAD


def _flag(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is bool:
        return value
    tell(at, f"must be true or false, not {_shown(value)}")
    return BAD


def _count(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is int and value >= 1:
        return value
    tell(at, f"must be a whole number, 1 or more, not {_shown(value)}")
    return BAD


def _fields_of(what: str, checks: Mapping[str, Check]) -> Check:
    """Make the check of a mapping with fixed keys, each with its own check and all optional."""

    def check_fields(value: Json, at: Steps, tell: Tell) -> Any:
        if value.__class__ is not dict:
            tell(at, f"must be a mapping with {', '.join(checks)}, not {_shown(value)}")
            return BAD
        clean: dict[str, Any] = {}
        for key, part in value.items():
            check = checks.get(key)
            if check is None:
                tell((*at, key), f"{what} has no key {key!r}{nearest(key, checks)}", on_key=True)
            else:
                clean[key] = check(part, (*at, key), tell)
        return clean if len(clean) == len(value) and BAD not in clean.values() else BAD

    return check_fields


_REPEAT_KEYS = _fields_of("repeat", {"of": _count, "pass": _count})


def _repeat(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is not dict:
        count = _count(value, at, tell)
        return BAD if count is BAD else Repeat(of=count, passes=count)
    clean = _REPEAT_KEYS(value, at, tell)
    if clean is BAD:
        return BAD
    if "of" not in clean:
        tell(at, "needs `of`, how often to run")
        return BAD
    repeat = Repeat(of=clean["of"], passes=clean.get("pass", clean["of"]))
    if repeat.passes > repeat.of:
        tell((*at, "pass"), f"cannot be more than `of`: {repeat.passes} of {repeat.of}")
        return BAD
    return repeat


def _readings(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is list and value:
        return tuple(value)
    tell(at, f"must be a list of further right values, not {_shown(value) if value != [] else 'an empty one'}")
    return BAD


def _day(value: Json, at: Steps, tell: Tell) -> Any:
    try:
        if isinstance(value, str) and len(value) == 10:
            return date.fromisoformat(value)
    except ValueError:
        pass
    tell(at, f"must be a day written YYYY-MM-DD, not {_shown(value)}")
    return BAD


_KNOWN_FAILURE = _fields_of("a known failure", {"path": _text, "until": _day, "reason": _text})


def _known_failures(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is not list:
        tell(at, f"must be a list of {{path, until, reason}}, not {_shown(value)}")
        return BAD
    known: list[KnownFailure] = []
    for index, entry in enumerate(value):
        here = (*at, index)
        clean = _KNOWN_FAILURE(entry, here, tell)
        if clean is BAD:
            continue
        if "path" not in clean:
            tell(here, "needs `path`, the field that fails")
            continue
        known.append(KnownFailure(**clean))
    return tuple(known) if len(known) == len(value) else BAD


def _floor(value: Json, at: Steps, tell: Tell) -> Any:
    if _is_number(value) and 0 < value <= 1:
        return float(value)
    tell(at, f"must be a number above 0, at most 1, not {_shown(value)}")
    return BAD


_COVERAGE_KEYS = _fields_of("coverage", {"mode": _one_of(COVERAGE_MODES), "floor": _floor})


def _coverage(value: Json, at: Steps, tell: Tell) -> Any:
    return value if value.__class__ is bool else _COVERAGE_KEYS(value, at, tell)


_FIELD_SHARES = _mapping("field to lowest mean score", _share)
THRESHOLDS: Final[Mapping[str, Check]] = MappingProxyType(
    {**dict.fromkeys(THRESHOLD_MEASURES, _share), "fields": _FIELD_SHARES, **dict.fromkeys(LIMITS, _amount)}
)


def _thresholds(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ is not dict:
        tell(at, f"must be a mapping of measure to lowest value, not {_shown(value)}")
        return BAD
    clean: dict[str, Any] = {}
    for key, part in value.items():
        check = THRESHOLDS.get(key)
        if check is None:
            tell((*at, key), f"no measure or limit {key!r}{nearest(key, THRESHOLDS)}", on_key=True)
        else:
            clean[key] = check(part, (*at, key), tell)
    return clean if len(clean) == len(value) and BAD not in clean.values() else BAD


def _override(value: Json, at: Steps, tell: Tell) -> Any:
    if value.__class__ in (str, dict):
        return value
    tell(at, f"must be a metric's name, `skip`, or a mapping such as {{metric: …}}, not {_shown(value)}")
    return BAD


def _post_process(value: Json, at: Steps, tell: Tell) -> Any:
    entries = value if value.__class__ is list else [value]
    for index, entry in enumerate(entries):
        if entry.__class__ is not str and not (entry.__class__ is dict and isinstance(entry.get("name"), str)):
            here = (*at, index) if value.__class__ is list else at
            tell(here, f"must be a post-processor's name, or a mapping with `name`, not {_shown(entry)}")
            return BAD
    return value


class CaseKey(NamedTuple):
    """A key of a case: the check of its value, what it means, and the JSON Schema of the values that pass."""

    check: Check
    description: str
    schema: Mapping[str, Json]


def _described(description: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"description": description, **schema}


def _object(required: Iterable[str] = (), /, **properties: Json) -> dict[str, Json]:
    needed = {"required": [*required]} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _object_of(schema: Json) -> dict[str, Json]:
    return {"type": "object", "additionalProperties": schema}


_PATH: Final = {"$ref": "#/$defs/path"}
_SHARE: Final = {"$ref": "#/$defs/share"}
_COUNT: Final = {"$ref": "#/$defs/count"}
_POST_PROCESSOR: Final = {"$ref": "#/$defs/post_processor"}
_STRING: Final = {"type": "string"}
_BOOLEAN: Final = {"type": "boolean"}
SHARED_SCHEMAS: Final[Mapping[str, Json]] = MappingProxyType(
    {
        "path": {"type": "string", "pattern": "\\S"},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "count": {"type": "integer", "minimum": 1},
        "post_processor": {
            "anyOf": [_STRING, {"type": "object", "properties": {"name": _STRING}, "required": ["name"]}]
        },
    }
)
"""Definitions that several keys refer to."""

CASE_KEYS: Final[Mapping[str, CaseKey]] = MappingProxyType(
    {
        "document": CaseKey(
            _name_of_file,
            "Path of the document (text, Markdown, HTML, JSON, PDF, image or audio), relative to this file.",
            _PATH,
        ),
        "text": CaseKey(_text, "The text of the document, in place of `document`.", _STRING),
        "schema": CaseKey(
            _schema,
            "Path of the JSON Schema (JSON or YAML; `file.json#/pointer` reaches inside), or the schema itself.",
            {"anyOf": [_PATH, {"type": "object"}, _BOOLEAN]},
        ),
        "gold": CaseKey(
            _anything,
            "Path of the right value (JSON or YAML), or the right value itself.",
            {"anyOf": [_PATH, {"type": ["object", "array", "number", "boolean", "null"]}]},
        ),
        "id": CaseKey(
            _identity,
            "Name of the case in test ids. Default: the file's name without `.extract.yaml`; `NAME-2` "
            "for the second of several cases, `NAME-7` for line 7 of a dataset.",
            {"type": ["string", "integer"], "pattern": "^(?!\\s)(?!.*::)[^\\x00-\\x1f\\x7f]*\\S$"},
        ),
        "thresholds": CaseKey(
            _thresholds,
            "Lowest value of each measure with which the case passes. Default: `pass_rate: 1.0` where "
            "neither a measure nor a field is named.",
            _object(
                **{name: _described(MEASURES[name].doc, _SHARE) for name in THRESHOLD_MEASURES},
                fields=_described(
                    'Lowest mean score of a field\'s values, by field, such as `"items[].price": 0.8`.',
                    _object_of(_SHARE),
                ),
                max_cost_usd=_described("Highest cost of the case's calls in USD.", {"type": "number", "minimum": 0}),
                max_latency_s=_described("Longest time of a call in seconds.", {"type": "number", "minimum": 0}),
            ),
        ),
        "overrides": CaseKey(
            _mapping("field to scoring", _override),
            "How a field is scored, by field, in place of the schema's annotation: `skip`, a metric's "
            "name, or a mapping.",
            _object_of(
                {
                    "anyOf": [
                        _STRING,
                        _object(
                            metric=_described("Metric that compares the field.", _STRING),
                            metrics=_described("Several metrics, as in `evaluation_config`.", {"type": "array"}),
                            params=_described("Parameters of the metric.", {"type": "object"}),
                            weight=_described("Weight of the field in means. Default: 1.", {"type": "number"}),
                            align=_described(
                                "How rows are paired: `position`, `key`, `hungarian` (or `best_fit`), `multiset`, "
                                "`judge`, or an aligner of your own.",
                                {"type": ["string", "object"]},
                            ),
                            key=_described(
                                "Field or fields that identify a row, with `align: key`.", {"type": ["string", "array"]}
                            ),
                            key_cutoff=_described(
                                "Similarity from which on two keys are the same. Default: only equal keys are.",
                                {"type": "number"},
                            ),
                            transform=_described(
                                "Transforms of both values before they are compared, in order.", {"type": "array"}
                            ),
                            threshold=_described("Lowest score with which the field passes.", _SHARE),
                            skip=_described("Whether the field is left out of the score.", _BOOLEAN),
                            nulls=_described(
                                "Whether null counts as absent or is a value in this field.", {"enum": [*NULLS]}
                            ),
                            post=_described(
                                "Post-processors of the field's results.", {"type": ["string", "object", "array"]}
                            ),
                        ),
                    ]
                }
            ),
        ),
        "accept": CaseKey(
            _mapping("field to list of right values", _readings),
            "Further right values of a field, beside the gold.",
            _object_of({"type": "array", "minItems": 1}),
        ),
        "absent": CaseKey(
            _mapping("field to must or either", _one_of(ABSENCES)),
            "Fields that must stay empty (`must`: inventing one fails the case) or may be empty or not (`either`).",
            _object_of({"enum": [*ABSENCES]}),
        ),
        "marks": CaseKey(
            _marks,
            "Marks of pytest: names, or calls with literal arguments such as `\"xfail(reason='scanned "
            "upside down')\"` or `\"skipif('sys.version_info < (3, 12)', reason='new rules')\"`.",
            {"anyOf": [_STRING, {"type": "array", "items": _STRING}]},
        ),
        "known_failures": CaseKey(
            _known_failures,
            "Fields that are reported but do not fail the case, up to and including a day; an expired entry fails it.",
            {
                "type": "array",
                "items": _object(
                    ["path"],
                    path=_described("Field that fails.", _STRING),
                    until=_described(
                        "Last day on which the failure is known, as YYYY-MM-DD. Default: no end.",
                        {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
                    ),
                    reason=_described("Why it fails.", _STRING),
                ),
            },
        ),
        "repeat": CaseKey(
            _repeat,
            "How often the extractor runs; `{of: 3, pass: 2}` asks that two of three attempts pass, a "
            "number that all pass. Default: 1.",
            {
                "anyOf": [
                    _COUNT,
                    _object(
                        ["of"],
                        **{
                            "of": _described("Number of attempts.", _COUNT),
                            "pass": _described("Number of attempts that must pass. Default: all.", _COUNT),
                        },
                    ),
                ]
            },
        ),
        "tags": CaseKey(
            _mapping("tag to value", _tag),
            "Free keys and values by which reports group cases.",
            _object_of({"type": ["string", "number", "boolean"]}),
        ),
        "question": CaseKey(_text, "A question that the extractor gets.", _STRING),
        "prompt": CaseKey(
            _name_of_file, "Path of a prompt file; the extractor gets its text, and recordings keep its digest.", _PATH
        ),
        "gates": CaseKey(
            _fields_of("gates", {"schema": _flag, "coverage": _coverage, "bare": _flag}),
            "Checks of the output as a whole. Default: by the modality.",
            _object(
                schema=_described("Whether gold and output must satisfy the schema. Default: true.", _BOOLEAN),
                bare=_described(
                    "Whether the text of the output must be JSON as a whole, without a fence or prose. Default: false.",
                    _BOOLEAN,
                ),
                coverage=_described(
                    "How `structure_coverage` counts in SOB's measures; `false` turns the gate off.",
                    {
                        "anyOf": [
                            _BOOLEAN,
                            _object(
                                mode=_described(
                                    "`hard`: 0 below the floor; `soft`: the square of coverage / floor; "
                                    "`off`: no gate.",
                                    {"enum": [*COVERAGE_MODES]},
                                ),
                                floor=_described(
                                    "Coverage from which on nothing is taken off. "
                                    "Default: 0.95 for `hard`, 0.9 for `soft`.",
                                    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                                ),
                            ),
                        ]
                    },
                ),
            ),
        ),
        "semantics": CaseKey(
            _one_of(SEMANTICS),
            "The rules by which fields are scored. Default: those of the schema's annotations.",
            {"enum": [*SEMANTICS]},
        ),
        "nulls": CaseKey(
            _one_of(NULLS),
            "Whether null counts as absent or is a value. Default: that of the semantics.",
            {"enum": [*NULLS]},
        ),
        "max_output_bytes": CaseKey(
            _count,
            "Longest output that is read; an output with more values than one for each 200 bytes of "
            "this limit is refused as well. Default: 10,000,000 or ten times the gold; "
            "`--extract-max-output-bytes` sets it for all cases.",
            _COUNT,
        ),
        "modality": CaseKey(
            _one_of(MODALITIES),
            "Modality that selects the coverage gate. Default: `image` for images and PDF, `audio` "
            "for audio, else `text`.",
            {"enum": [*MODALITIES]},
        ),
        "post_process": CaseKey(
            _post_process,
            "Post-processors of the leaf results, in order: names, or mappings of `name` and parameters.",
            {"anyOf": [_POST_PROCESSOR, {"type": "array", "items": _POST_PROCESSOR}]},
        ),
        "uncompared": CaseKey(
            _one_of(UNCOMPARED),
            "Whether a gold may hold mostly values that nothing is compared with. Default: `refuse`.",
            {"enum": [*UNCOMPARED]},
        ),
    }
)
"""Every key of a case, the keys that are needed most often first (`case-keys.md` lists them in this order)."""
CHECKS: Final[Mapping[str, Check]] = MappingProxyType({name: key.check for name, key in CASE_KEYS.items()})
"""Every key of a case and its check."""
MERGED: Final = frozenset(("tags", "accept", "absent", "gates", "thresholds", "overrides"))
"""Keys that a case and its defaults share key by key, the case winning; every other key is replaced as a whole."""
FILE_KEYS: Final = ("cases", "defaults", "dataset")
"""Keys that a file may have beside a case's, or instead."""
