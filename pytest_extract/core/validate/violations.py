"""Why a value breaks a schema, and why a schema is none, in words."""

from __future__ import annotations

from typing import Any, Final

from pytest_extract.core.values import FieldPath, Json, canonical_json, json_type
from pytest_extract.errors import nearest
from pytest_extract.lazy import dataclass

_SHOWN: Final = 60
_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
_OF_NAMES: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords below which a key is a name and no keyword."""

_NULLABLE: Final = (
    '`nullable` is OpenAPI 3.0 and means nothing in JSON Schema: write a list of types, as `["string", "null"]`, or '
    "translate the schema with `pytest-extract schema resolve --from openapi`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place where a value breaks its schema, in words."""

    path: FieldPath
    message: str

    def __str__(self) -> str:
        return f"`{self.path}`: {self.message}"

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer; `/` for the root, as jsonschema's users write it."""
        return "".join(f"/{step}" for step in self.path) or "/"


def violation(
    path: FieldPath, keyword: object, expected: Json, instance: Json, message: str, schema: Json = None
) -> Violation:
    """Return a validator's finding in our words; `message` is its own text, for other keywords."""
    text = shortened(message)
    if keyword == "type" and isinstance(expected, str | list):
        names = [expected] if isinstance(expected, str) else list(map(str, expected))
        found = "null where" if instance is None else f"{_instance_text(instance)} is {_a(json_type(instance))},"
        text = f"{found} {' or '.join(map(_a, names))} was expected"
    elif keyword == "enum" and isinstance(expected, list):
        text = f"{_instance_text(instance)} is none of {shortened(', '.join(map(_instance_text, expected)))}"
    elif keyword == "pattern" and isinstance(expected, str):
        text = shortened(f"{instance!r} does not match {expected!r}")
    elif keyword in ("anyOf", "oneOf") and isinstance(expected, list):
        text = f"{_instance_text(instance)} fits none of the {len(expected)} alternatives"
        text = shortened(message) if "more than one" in message or "each of" in message else text
    elif keyword == "required" and isinstance(expected, list) and isinstance(instance, dict):
        lost = [name for name in expected if name not in instance]
        names_lost = shortened(", ".join(map(repr, lost)))
        text = f"the required key {names_lost} is missing"
        text = text if len(lost) == 1 else f"the required keys {names_lost} are missing"
    if instance is None and isinstance(schema, dict) and schema.get("nullable") is True:
        text += f"; {_NULLABLE}"
    return Violation(path=path, message=text)


def schema_violation(error: Any) -> Violation:
    """Tell what jsonschema found in a schema that it held against the metaschema."""
    path = FieldPath(error.absolute_path)
    if _is_type_name(path, error.instance):
        return Violation(path=path, message=f"no type {error.instance!r}{nearest(error.instance, _TYPES)}")
    if error.validator == "format" and error.validator_value == "regex":
        return Violation(path=path, message=f"{_instance_text(error.instance)} {error.cause}")
    return violation(path, error.validator, error.validator_value, error.instance, error.message)


def _is_type_name(path: FieldPath, value: Json) -> bool:
    steps = path[:-1] if path and isinstance(path[-1], int) else path
    named = len(steps) > 1 and steps[-2] in _OF_NAMES and (len(steps) < 3 or steps[-3] not in _OF_NAMES)
    return isinstance(value, str) and steps[-1:] == ("type",) and not named


def _a(name: str) -> str:
    return name if name == "null" else f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def _instance_text(value: Json) -> str:
    try:
        text = canonical_json(value)
    except (ValueError, RecursionError, TypeError):
        text = f"a {json_type(value)}"
    return shortened(text)


def shortened(text: str) -> str:
    """Put a text on one line of a bearable length."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN * 3 else f"{line[: _SHOWN * 3 - 1]}…"
