"""The keys of a case and their values: one small function per key, all in one table (`CASE_KEYS`).

A check gets the value as the file has it, and returns a clean plain value or BAD. It adds every mistake that it finds,
with the place below the key. Nothing here reads a file or knows a schema.
"""

from __future__ import annotations

import ast
import json
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from pytest_extract.cases.model import KnownFailure, Mark, Repeat
from pytest_extract.cases.source_position import Steps
from pytest_extract.core import arguments
from pytest_extract.core.gates import COVERAGE_MODES, MODALITIES
from pytest_extract.core.measures.table import MEASURES, THRESHOLD_MEASURES
from pytest_extract.core.rules.entries import RULE_KEYS, SEVERITIES, entry_problems
from pytest_extract.core.semantics import SEMANTICS
from pytest_extract.core.values import Json, json_type, short_repr
from pytest_extract.errors import ConfigError, nearest


class _Bad(Enum):
    BAD = "BAD"


BAD: Final = _Bad.BAD
"""A value that cannot be used; its mistake has been added."""


class AddMistake(Protocol):
    """Adds a mistake: its place, what is wrong and what would be right; `on_key`: in the key, not in its value."""

    def __call__(self, at: Steps, message: str, *, on_key: bool = False) -> None:
        """Add one mistake."""


Check: TypeAlias = Callable[[Json, Steps, AddMistake], Any]

LIMITS: Final = ("max_cost_usd", "max_latency_s")
NULLS: Final = ("absent", "value")
ABSENCES: Final = ("must", "either")
UNCOMPARED: Final = ("refuse", "allow")


def _is_number(value: Json) -> bool:
    return value.__class__ in (int, float) and math.isfinite(value)


def _value_text(value: Json) -> str:
    """Return a value for a message: as JSON if it is a short scalar, else its type."""
    if isinstance(value, (dict, list)):
        return f"{'an' if json_type(value)[0] in 'ao' else 'a'} {json_type(value)}"
    if isinstance(value, str | int) and not isinstance(value, bool):
        return short_repr(value)
    return json.dumps(value)


def _check_text(value: Json, at: Steps, add_mistake: AddMistake) -> str | Literal[_Bad.BAD]:
    if value.__class__ is str:
        return str(value)
    add_mistake(at, f"must be a text, not {_value_text(value)}{_quote_hint(value)}")
    return BAD


def _quote_hint(value: Json) -> str:
    return "; put it in quotes" if value.__class__ in (int, float, bool) else ""


def _check_file_path(value: Json, at: Steps, add_mistake: AddMistake) -> str | Literal[_Bad.BAD]:
    if value.__class__ is str and value.strip() and "\0" not in value:
        return str(value)
    add_mistake(at, f"must be the path of a file, not {_value_text(value)}")
    return BAD


def _check_patterns(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    patterns = value if value.__class__ is list and value else [value]
    for pattern in patterns:
        if _check_file_path(pattern, at, add_mistake) is BAD:
            return BAD
        if str(pattern).startswith(("/", "~")):
            add_mistake(
                at, f"must be a pattern relative to this file, such as docs/**/*.pdf, not {short_repr(pattern)}"
            )
            return BAD
    return tuple(patterns)


def _one_of(names: Iterable[str]) -> Check:
    known = tuple(names)

    def check(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
        if value.__class__ is str and value in known:
            return value
        hint = nearest(value, known) if isinstance(value, str) else ""
        add_mistake(at, f"must be one of {', '.join(known)}, not {_value_text(value)}{hint if 'mean' in hint else ''}")
        return BAD

    return check


def _check_id(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is int:
        return str(value)
    if value.__class__ is not str:
        add_mistake(at, f"must be a text, not {_value_text(value)}{_quote_hint(value)}")
        return BAD
    if not value.strip() or value != value.strip() or "::" in value or not value.isprintable():
        wanted = "a printable text without `::` and without spaces at its ends (it becomes part of the test's id)"
        add_mistake(at, f"must be {wanted}, not {_value_text(value)}")
        return BAD
    return value


def _check_schema(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ in (dict, bool) or (value.__class__ is str and value.strip() and "\0" not in value):
        return value
    add_mistake(at, f"must be a path (`file.json`, `file.json#/pointer`) or a JSON Schema, not {_value_text(value)}")
    return BAD


def _check_gold(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is str and (not value.strip() or "\0" in value):
        add_mistake(at, f"must be the path of a file, or the gold value itself, not {_value_text(value)}")
        return BAD
    return value


_LONGEST_MARK = 10_000
_MARK_EXAMPLE = "expected a name, or a call with literal arguments such as \"xfail(reason='…')\""


def parse_mark(text: str) -> Mark:
    """Parse `slow` or `xfail(reason='scanned upside down')`, without evaluating it; ValueError with what is wrong."""
    if len(text) > _LONGEST_MARK:
        raise ValueError(f"a mark of more than {_LONGEST_MARK} characters")
    text = text.strip()
    if text.isidentifier():
        return Mark(name=_checked_mark_name(text))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about an escape such as "\d" in a reason
            node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r:.80} is no mark; {_MARK_EXAMPLE}") from None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise ValueError(f"{text!r:.80} is no mark; {_MARK_EXAMPLE}")  # noqa: TRY004 - a value of the right type
    if any(keyword.arg is None for keyword in node.keywords):
        raise ValueError(f"{text!r:.80} is no mark: `**` cannot be used")
    args = tuple(_literal_argument(argument, text) for argument in node.args)
    kwargs = {str(keyword.arg): _literal_argument(keyword.value, text) for keyword in node.keywords}
    return Mark(name=_checked_mark_name(node.func.id), args=args, kwargs=MappingProxyType(kwargs))


def _checked_mark_name(name: str) -> str:
    if name == "parametrize":
        raise ValueError("`parametrize` makes no cases: write them under `cases:` or in a `dataset:`")
    return name


def _literal_argument(node: ast.expr, text: str) -> Json:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        wrong = ast.get_source_segment(text, node) or text
        raise ValueError(f"the argument `{wrong[:80]}` is no literal (text, number, True, False, None, list)") from None


def _check_marks(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is str:
        value, single = [value], True
    else:
        single = False
    if value.__class__ is not list:
        add_mistake(at, f"must be a list of marks, not {_value_text(value)}")
        return BAD
    marks: list[Mark] = []
    for index, text in enumerate(value):
        here = at if single else (*at, index)
        if text.__class__ is not str:
            add_mistake(here, f"must be a mark as a text, not {_value_text(text)}")
            continue
        try:
            marks.append(parse_mark(text))
        except ValueError as error:
            add_mistake(here, str(error))
    return tuple(marks) if len(marks) == len(value) else BAD


def _mapping_of(what: str, check: Check) -> Check:
    """Return the check of a mapping of any keys, with `check` for each value."""

    def check_mapping(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
        if value.__class__ is not dict:
            add_mistake(at, f"must be a mapping of {what}, not {_value_text(value)}")
            return BAD
        clean: dict[str, Any] = {}
        for key, part in value.items():
            clean[key] = check(part, (*at, key), add_mistake)
        return clean if BAD not in clean.values() else BAD

    return check_mapping


def _check_tag(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is str:
        return value
    if value.__class__ in (int, float):
        return str(value)
    if value.__class__ is bool:
        return "true" if value else "false"
    add_mistake(at, f"must be a text, a number or a boolean, not {_value_text(value)}")
    return BAD


def _check_share(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if _is_number(value) and 0 <= value <= 1:
        return float(value)
    add_mistake(at, f"must be a number from 0 to 1, not {_value_text(value)}")
    return BAD


def _check_precision(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if _is_number(value) and 0 < value < 1:
        return float(value)
    add_mistake(
        at,
        f"must be a number above 0 and below 1, such as 0.99, not {_value_text(value)}; no number of cases shows that "
        "every value is right",
    )
    return BAD


def _check_amount(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if _is_number(value) and value >= 0:
        return float(value)
    add_mistake(at, f"must be a number, 0 or more, not {_value_text(value)}")
    return BAD


def _check_boolean(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is bool:
        return value
    add_mistake(at, f"must be true or false, not {_value_text(value)}")
    return BAD


def _check_count(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is int and value >= 1:
        return value
    add_mistake(at, f"must be a whole number, 1 or more, not {_value_text(value)}")
    return BAD


def _fields_of(what: str, checks: Mapping[str, Check]) -> Check:
    """Return the check of a mapping with fixed keys, each with its own check and all optional."""

    def check_fields(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
        if value.__class__ is not dict:
            add_mistake(at, f"must be a mapping with {', '.join(checks)}, not {_value_text(value)}")
            return BAD
        clean: dict[str, Any] = {}
        for key, part in value.items():
            check = checks.get(key)
            if check is None:
                add_mistake((*at, key), f"{what} has no key {key!r}{nearest(key, checks)}", on_key=True)
            else:
                clean[key] = check(part, (*at, key), add_mistake)
        return clean if len(clean) == len(value) and BAD not in clean.values() else BAD

    return check_fields


_REPEAT_KEYS = _fields_of("repeat", {"of": _check_count, "pass": _check_count})


def _check_repeat(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is not dict:
        count = _check_count(value, at, add_mistake)
        return BAD if count is BAD else Repeat(of=count, passes=count)
    clean = _REPEAT_KEYS(value, at, add_mistake)
    if clean is BAD:
        return BAD
    if "of" not in clean:
        add_mistake(at, "needs `of`, how often to run")
        return BAD
    repeat = Repeat(of=clean["of"], passes=clean.get("pass", clean["of"]))
    if repeat.passes > repeat.of:
        add_mistake((*at, "pass"), f"cannot be more than `of`: {repeat.passes} of {repeat.of}")
        return BAD
    return repeat


def _check_accepted_values(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is list and value:
        return tuple(value)
    add_mistake(
        at, f"must be a list of further right values, not {_value_text(value) if value != [] else 'an empty one'}"
    )
    return BAD


def _check_day(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    try:
        if isinstance(value, str) and len(value) == 10:
            return date.fromisoformat(value)
    except ValueError:
        pass
    add_mistake(at, f"must be a day written YYYY-MM-DD, not {_value_text(value)}")
    return BAD


_KNOWN_FAILURE = _fields_of("a known failure", {"path": _check_text, "until": _check_day, "reason": _check_text})


def _check_known_failures(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is not list:
        add_mistake(at, f"must be a list of {{path, until, reason}}, not {_value_text(value)}")
        return BAD
    known: list[KnownFailure] = []
    for index, entry in enumerate(value):
        here = (*at, index)
        clean = _KNOWN_FAILURE(entry, here, add_mistake)
        if clean is BAD:
            continue
        if "path" not in clean:
            add_mistake(here, "needs `path`, the field that fails")
            continue
        known.append(KnownFailure(**clean))
    return tuple(known) if len(known) == len(value) else BAD


def _check_coverage_floor(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if _is_number(value) and 0 < value <= 1:
        return float(value)
    add_mistake(at, f"must be a number above 0, at most 1, not {_value_text(value)}")
    return BAD


_COVERAGE_KEYS = _fields_of("coverage", {"mode": _one_of(COVERAGE_MODES), "floor": _check_coverage_floor})


def _check_coverage_gate(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    return value if value.__class__ is bool else _COVERAGE_KEYS(value, at, add_mistake)


def _check_field_list(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is list and value and all(field.__class__ is str for field in value):
        return value
    add_mistake(at, "must be a list of fields")
    return BAD


_GROUNDED_KEYS = _fields_of("grounded", {"fields": _check_field_list})


def _check_grounded_gate(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is bool:
        return value
    clean = _GROUNDED_KEYS(value, at, add_mistake)
    if clean is not BAD and not clean:
        add_mistake(at, "needs `fields`, the fields whose values must stand in the document; `true` takes all")
        return BAD
    return clean


_FIELD_SHARES = _mapping_of("field to lowest mean score", _check_share)
THRESHOLDS: Final[Mapping[str, Check]] = MappingProxyType(
    {**dict.fromkeys(THRESHOLD_MEASURES, _check_share), "fields": _FIELD_SHARES, **dict.fromkeys(LIMITS, _check_amount)}
)


def _check_thresholds(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is not dict:
        add_mistake(at, f"must be a mapping of measure to lowest value, not {_value_text(value)}")
        return BAD
    clean: dict[str, Any] = {}
    for key, part in value.items():
        check = THRESHOLDS.get(key)
        if check is None:
            add_mistake((*at, key), f"no measure or limit {key!r}{nearest(key, THRESHOLDS)}", on_key=True)
        else:
            clean[key] = check(part, (*at, key), add_mistake)
    return clean if len(clean) == len(value) and BAD not in clean.values() else BAD


def _check_override(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ in (str, dict):
        return value
    add_mistake(at, f"must be a metric's name, `skip`, or a mapping such as {{metric: …}}, not {_value_text(value)}")
    return BAD


def _check_post_process(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    entries = value if value.__class__ is list else [value]
    for index, entry in enumerate(entries):
        if entry.__class__ is not str and not (entry.__class__ is dict and isinstance(entry.get("name"), str)):
            here = (*at, index) if value.__class__ is list else at
            add_mistake(here, f"must be a post-processor's name, or a mapping with `name`, not {_value_text(entry)}")
            return BAD
    return value


def _check_confidence(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    from pytest_extract.core.output_shape import OutputShape  # few cases name one

    try:
        return OutputShape.from_json(value)
    except ConfigError as error:
        add_mistake(at, str(error))
        return BAD


_AUTO_ACCEPT_KEYS = _fields_of(
    "auto_accept",
    {
        "confidence": _check_share,
        "precision": _check_precision,
        "fields": _mapping_of("field to lowest confidence", _check_share),
    },
)


def _check_auto_accept(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    clean = _AUTO_ACCEPT_KEYS(value, at, add_mistake)
    if clean is not BAD and not clean.keys() & {"confidence", "fields"}:
        add_mistake(at, "needs `confidence`, the lowest with which a value is accepted, or `fields`")
        return BAD
    return clean


def _check_rules(value: Json, at: Steps, add_mistake: AddMistake) -> Any:
    if value.__class__ is not list or not value:
        wanted = "a list of rules such as `start <= end`"
        add_mistake(at, f"must be {wanted}, not {_value_text(value) if value != [] else 'an empty one'}")
        return BAD
    sound = True
    for index, entry in enumerate(value):
        for key, message in entry_problems(entry):
            sound = False
            here = (*at, index) if key is None else (*at, index, key)
            add_mistake(here, message, on_key=key is not None and key not in RULE_KEYS)
    return value if sound else BAD


class KeyDefinition(NamedTuple):
    """A key of a case: the check of its value, what it means, and the JSON Schema of the values that pass."""

    check: Check
    description: str
    schema: Mapping[str, Json]


def _described(description: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"description": description, **schema}


def _object_schema(required: Iterable[str] = (), /, **properties: Json) -> dict[str, Json]:
    needed = {"required": [*required]} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _mapping_schema(schema: Json) -> dict[str, Json]:
    return {"type": "object", "additionalProperties": schema}


_PATH: Final = {"$ref": "#/$defs/path"}
_SHARE: Final = {"$ref": "#/$defs/share"}
_COUNT: Final = {"$ref": "#/$defs/count"}
_POST_PROCESSOR: Final = {"$ref": "#/$defs/post_processor"}
_STRING: Final = {"type": "string"}
_BOOLEAN: Final = {"type": "boolean"}
_NUMBER: Final = {"type": "number"}
_PLACES: Final = {"anyOf": [_STRING, {"type": "array", "items": _STRING, "minItems": 1}]}
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

CASE_KEYS: Final[Mapping[str, KeyDefinition]] = MappingProxyType(
    {
        "document": KeyDefinition(
            _check_file_path,
            "Path of the document (text, Markdown, HTML, JSON, PDF, image or audio), relative to this file.",
            _PATH,
        ),
        "documents": KeyDefinition(
            _check_patterns,
            "Pattern of documents, or a list of them, such as `docs/**/*.pdf`: a case for each, in place of "
            "`document`. In `gold`, `id`, `prompt`, `question` and `tags`, `{stem}` is a document's name without "
            "suffix, `{name}` its name, `{path}` its path below the pattern's fixed folder without suffix, which is "
            "also the id.",
            {"anyOf": [_PATH, {"type": "array", "minItems": 1, "items": _PATH}]},
        ),
        "text": KeyDefinition(_check_text, "The text of the document, in place of `document`.", _STRING),
        "schema": KeyDefinition(
            _check_schema,
            "Path of the JSON Schema (JSON or YAML; `file.json#/pointer` reaches inside), or the schema itself.",
            {"anyOf": [_PATH, {"type": "object"}, _BOOLEAN]},
        ),
        "gold": KeyDefinition(
            _check_gold,
            "Path of the right value (JSON or YAML), or the right value itself.",
            {"anyOf": [_PATH, {"type": ["object", "array", "number", "boolean", "null"]}]},
        ),
        "id": KeyDefinition(
            _check_id,
            "Name of the case in test ids. Default: the file's name without `.extract.yaml`; `NAME-2` "
            "for the second of several cases, `NAME-7` for line 7 of a dataset.",
            {"type": ["string", "integer"], "pattern": "^(?!\\s)(?!.*::)[^\\x00-\\x1f\\x7f]*\\S$"},
        ),
        "thresholds": KeyDefinition(
            _check_thresholds,
            "Lowest value of each measure with which the case passes. Default: `pass_rate: 1.0` where "
            "neither a measure nor a field is named.",
            _object_schema(
                **{name: _described(MEASURES[name].doc, _SHARE) for name in THRESHOLD_MEASURES},
                fields=_described(
                    'Lowest mean score of a field\'s values, by field, such as `"items[].price": 0.8`.',
                    _mapping_schema(_SHARE),
                ),
                max_cost_usd=_described("Highest cost of the case's calls in USD.", {"type": "number", "minimum": 0}),
                max_latency_s=_described("Longest time of a call in seconds.", {"type": "number", "minimum": 0}),
            ),
        ),
        "overrides": KeyDefinition(
            _mapping_of("field to scoring", _check_override),
            "How a field is scored, by field, in place of the schema's annotation: `skip`, a metric's "
            "name, or a mapping.",
            _mapping_schema(
                {
                    "anyOf": [
                        _STRING,
                        _object_schema(
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
        "rules": KeyDefinition(
            _check_rules,
            "Rules across fields that gold and output must keep, such as `sum(items[].total) == total`: texts, or "
            "mappings. Those of the schema (`x-eval-rules`) hold as well.",
            {
                "type": "array",
                "minItems": 1,
                "items": {
                    "anyOf": [
                        _STRING,
                        _object_schema(
                            ["rule"],
                            rule=_described("The rule: two expressions over fields and a comparison.", _STRING),
                            name=_described("Its name in reports. Default: the rule itself.", _STRING),
                            each=_described(
                                "Array for each of whose rows the rule is computed, such as `items[]`; fields are then "
                                "those of the row, and those of the document begin with `$.`.",
                                _STRING,
                            ),
                            rel=_described(
                                "Tolerance relative to the larger side. Default: 1e-9, and none for whole numbers.",
                                {"type": "number", "minimum": 0},
                            ),
                            abs=_described(
                                "Tolerance as a number, of dates in days. Default: 0.", {"type": "number", "minimum": 0}
                            ),
                            severity=_described(
                                "`warning`: a rule that does not hold is reported, fails nothing and does not count in "
                                "`rules_held`. Default: `error`.",
                                {"enum": [*SEVERITIES]},
                            ),
                        ),
                    ]
                },
            },
        ),
        "accept": KeyDefinition(
            _mapping_of("field to list of right values", _check_accepted_values),
            "Further right values of a field, beside the gold.",
            _mapping_schema({"type": "array", "minItems": 1}),
        ),
        "absent": KeyDefinition(
            _mapping_of("field to must or either", _one_of(ABSENCES)),
            "Fields that must stay empty (`must`: inventing one fails the case) or may be empty or not (`either`).",
            _mapping_schema({"enum": [*ABSENCES]}),
        ),
        "marks": KeyDefinition(
            _check_marks,
            "Marks of pytest: names, or calls with literal arguments such as `\"xfail(reason='scanned "
            "upside down')\"` or `\"skipif('sys.version_info < (3, 12)', reason='new rules')\"`.",
            {"anyOf": [_STRING, {"type": "array", "items": _STRING}]},
        ),
        "known_failures": KeyDefinition(
            _check_known_failures,
            "Fields that are reported but do not fail the case, up to and including a day; an expired entry fails it.",
            {
                "type": "array",
                "items": _object_schema(
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
        "repeat": KeyDefinition(
            _check_repeat,
            "How often the extractor runs; `{of: 3, pass: 2}` asks that two of three attempts pass, a "
            "number that all pass. Default: 1.",
            {
                "anyOf": [
                    _COUNT,
                    _object_schema(
                        ["of"],
                        **{
                            "of": _described("Number of attempts.", _COUNT),
                            "pass": _described("Number of attempts that must pass. Default: all.", _COUNT),
                        },
                    ),
                ]
            },
        ),
        "tags": KeyDefinition(
            _mapping_of("tag to value", _check_tag),
            "Free keys and values by which reports group cases.",
            _mapping_schema({"type": ["string", "number", "boolean"]}),
        ),
        "question": KeyDefinition(_check_text, "A question that the extractor gets.", _STRING),
        "prompt": KeyDefinition(
            _check_file_path,
            "Path of a prompt file; the extractor gets its text, and recordings keep its digest.",
            _PATH,
        ),
        "gates": KeyDefinition(
            _fields_of(
                "gates",
                {
                    "schema": _check_boolean,
                    "coverage": _check_coverage_gate,
                    "bare": _check_boolean,
                    "grounded": _check_grounded_gate,
                    "rules": _check_boolean,
                },
            ),
            "Checks of the output as a whole. Default: by the modality.",
            _object_schema(
                schema=_described("Whether gold and output must satisfy the schema. Default: true.", _BOOLEAN),
                bare=_described(
                    "Whether the text of the output must be JSON as a whole, without a fence or prose. Default: false.",
                    _BOOLEAN,
                ),
                grounded=_described(
                    "Fields whose extracted values must stand in the document (`true`: all); a value that stands "
                    "nowhere fails the case. Default: false.",
                    {
                        "anyOf": [
                            _BOOLEAN,
                            _object_schema(
                                ["fields"],
                                fields=_described("The fields.", {"type": "array", "items": _STRING, "minItems": 1}),
                            ),
                        ]
                    },
                ),
                rules=_described(
                    "Whether a rule across fields that does not hold fails the case, and a gold that breaks one is a "
                    "mistake. Default: true, unless `thresholds` bound `rules_held`.",
                    _BOOLEAN,
                ),
                coverage=_described(
                    "How `structure_coverage` counts in SOB's measures; `false` turns the gate off.",
                    {
                        "anyOf": [
                            _BOOLEAN,
                            _object_schema(
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
        "semantics": KeyDefinition(
            _one_of(SEMANTICS),
            "The rules by which fields are scored. Default: those of the schema's annotations.",
            {"enum": [*SEMANTICS]},
        ),
        "nulls": KeyDefinition(
            _one_of(NULLS),
            "Whether null counts as absent or is a value. Default: that of the semantics.",
            {"enum": [*NULLS]},
        ),
        "max_output_bytes": KeyDefinition(
            _check_count,
            "Longest output that is read; an output with more values than one for each 200 bytes of "
            "this limit is refused as well. Default: 10,000,000 or ten times the gold; "
            "`--extract-max-output-bytes` sets it for all cases.",
            _COUNT,
        ),
        "modality": KeyDefinition(
            _one_of(MODALITIES),
            "Modality that selects the coverage gate. Default: `image` for images and PDF, `audio` "
            "for audio, else `text`.",
            {"enum": [*MODALITIES]},
        ),
        "post_process": KeyDefinition(
            _check_post_process,
            "Post-processors of the leaf results, in order: names, or mappings of `name` and parameters.",
            {"anyOf": [_POST_PROCESSOR, {"type": "array", "items": _POST_PROCESSOR}]},
        ),
        "confidence": KeyDefinition(
            _check_confidence,
            "The shape in which the output holds its values with their confidence and citations: the name of a ready "
            "shape, or the places of each.",
            {
                "anyOf": [
                    {"$ref": "#/$defs/output_shape"},
                    _object_schema(
                        values=_described("Path of the values in the output. Default: the whole output.", _PLACES),
                        wrapper=_described(
                            "Keys of the object around each value.",
                            _object_schema(
                                value=_described("Key of the value. Default: `value`.", _PLACES),
                                confidence=_described("Path of its confidence. Default: `confidence`.", _PLACES),
                                citations=_described("Path of its citations. Default: `citations`.", _PLACES),
                            ),
                        ),
                        confidence=_described(
                            "Path of a value's confidence from the root of the output, with `{path}` for the path of "
                            'the value: `metadata.{path}.score`, or `metadata["{path}"].score` where its text is a '
                            "key.",
                            _PLACES,
                        ),
                        citations=_described("Path of a value's citations, in the same way.", _PLACES),
                        scale=_described(
                            "Highest confidence, or lowest and highest. Default: `[0, 1]`.",
                            {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}]},
                        ),
                        first_page=_described("Number of the first page. Default: 1.", {"enum": [0, 1]}),
                        unit=_described(
                            "Unit of boxes: `page` (fractions of its width and height, the default), `point` or "
                            "`inch`.",
                            {"$ref": "#/$defs/unit"},
                        ),
                    ),
                ]
            },
        ),
        "auto_accept": KeyDefinition(
            _check_auto_accept,
            "Values that are accepted by their confidence, and the share of them that must be right over the run.",
            _object_schema(
                confidence=_described("Lowest confidence with which a value is accepted.", _SHARE),
                precision=_described(
                    "Share of the accepted values that must be right.",
                    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                ),
                fields=_described(
                    'Lowest confidence of single fields, by field, such as `"items[].price": 0.97`.',
                    _mapping_schema(_SHARE),
                ),
            ),
        ),
        "uncompared": KeyDefinition(
            _one_of(UNCOMPARED),
            "Whether a gold may hold mostly values that nothing is compared with. Default: `refuse`.",
            {"enum": [*UNCOMPARED]},
        ),
    }
)
"""Every key of a case, the keys that are needed most often first (`case-keys.md` lists them in this order)."""
CHECKS: Final[Mapping[str, Check]] = MappingProxyType({name: key.check for name, key in CASE_KEYS.items()})
"""Every key of a case and its check."""
MERGED: Final = frozenset(("tags", "accept", "absent", "auto_accept", "gates", "thresholds", "overrides"))
"""Keys that a case and its defaults share key by key, the case winning; every other key is replaced as a whole."""
FILE_KEYS: Final = ("cases", "defaults", "dataset")
"""Keys that a file may have beside a case's, or instead."""


def checked_argument(name: str, value: Any) -> Any:
    """Check an argument that is a key of cases, and return it as `Case` has it; ConfigError with all mistakes in it."""
    problems: list[str] = []

    def tell(steps: Sequence[object], message: str, **_: object) -> None:
        problems.append(f"{'.'.join(map(str, (name, *steps)))}: {message}")

    check: Callable[..., Any] = CHECKS[name]
    clean = check(dict(arguments.mapping(name, value)), (), tell)
    if problems:
        raise ConfigError("\n".join(problems))
    return clean
