"""JSON Schema as a yes/no gate with readable reasons; compiled once, never fetching, never raising on bad input.

jsonschema-rs decides: it takes all drafts from 4 on, reads regular expressions as ECMA-262 means them, and bounds their
steps. jsonschema words what is wrong with a schema itself: it finds all mistakes at once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final
from urllib.parse import quote

from pytest_extract.core.parse import too_deep
from pytest_extract.core.schema.source import escape, map_parts, refuse_endless
from pytest_extract.core.values import (
    MAX_DEPTH,
    FieldPath,
    Json,
    canonical_json,
    compile_regex,
    json_type,
    value_at,
    with_article,
    without_surrogates,
)
from pytest_extract.errors import SchemaError, nearest

_DRAFTS: Final = {
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
}
"""`$schema` -> class name, the same in both libraries."""
_LATEST: Final = "Draft202012Validator"
_DRAFT7: Final = "Draft7Validator"

_MOST_PROBLEMS: Final = 20
_SHOWN: Final = 60
_DEEP: Final = 12
"""Levels beyond which only the first mistake is looked for: a recursive `allOf` tells one twice as often at each."""
_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
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
        return "".join(f"/{escape(str(step))}" for step in self.path) or "/"


class Validator:
    """A schema under one draft, compiled when it is first asked. An unusable one has a `problem` and admits nothing.

    `draft`: the one that `$schema` declares, else the latest (as DeepJSONEval does). `is_valid_draft7` and
    `valid_schema_draft7` go by Draft 7 whatever is declared (as SOB does). Formats are never asserted, 3.0 is an
    integer, a schema with a `$ref` that names nothing admits nothing.
    """

    def __init__(self, schema: Json, draft: str | None = None) -> None:
        declared = schema.get("$schema") if isinstance(schema, dict) else None
        of_schema = _DRAFTS.get(declared.removesuffix("#")) if isinstance(declared, str) else None
        self.schema = schema
        self.draft = draft or of_schema or _LATEST

    @cached_property
    def _compiled(self) -> Any:
        """jsonschema-rs's validator, or the error that it raised."""
        return _compile(self.draft, self.schema)

    @cached_property
    def _of_messages(self) -> Any:
        """As `_compiled`, for messages: it does not look for what breaks alternatives, twice as much at each level."""
        compiled = _compile(self.draft, _closed(self.schema, looked_at='"unevaluated' in canonical_json(self.schema)))
        return self._compiled if isinstance(compiled, Exception) else compiled

    @cached_property
    def problems(self) -> tuple[Violation, ...]:
        """All that is wrong with the schema itself, up to 20 places; none when it can be used."""
        if not isinstance(self.schema, dict | bool):
            return _at_root(f"a JSON Schema is an object, not {json_type(self.schema)}")
        if too_deep(self.schema):
            return _at_root("nested too deeply")
        try:
            refuse_endless(self.schema)
        except SchemaError as error:
            steps = [step.replace("~1", "/").replace("~0", "~") for step in error.pointer.split("/")[1:]]
            return (Violation(path=FieldPath(steps), message=error.message),)
        return _metaschema_violations(self.draft, self.schema) if isinstance(self._compiled, Exception) else ()

    @property
    def problem(self) -> str | None:
        """What is wrong with the schema itself, with the JSON pointer; None when it can be used."""
        if not self.problems:
            return None
        first = self.problems[0]
        return f"at {first.pointer}: {first.message}" if isinstance(self.schema, dict) else first.message

    def is_valid(self, value: Json) -> bool:
        """Whether the schema is usable and admits the value."""
        if self.problems or isinstance(self._compiled, Exception) or too_deep(value):
            return False
        return bool(self._asked(self._compiled.is_valid, value))

    @cached_property
    def _draft7(self) -> Validator:
        return self if self.draft == _DRAFT7 else Validator(self.schema, _DRAFT7)

    @property
    def valid_schema_draft7(self) -> bool:
        """SOB's `schema_valid_input`: an object that satisfies Draft 7's metaschema (`true` is none)."""
        return isinstance(self.schema, dict) and not self._draft7.problems

    def is_valid_draft7(self, value: Json) -> bool:
        """SOB's `schema_compliance`."""
        return self.valid_schema_draft7 and self._draft7.is_valid(value)

    def first_error(self, value: Json) -> Violation | None:
        """Return one violation of a value; None when it is valid."""
        return next(iter(self.errors(value, limit=1)), None)

    def errors(self, value: Json, *, limit: int = 20) -> tuple[Violation, ...]:
        """Return up to `limit` violations, in the order in which the validator meets them."""
        if self.problem is not None:
            return _at_root(f"the schema itself is invalid: {self.problem}")
        if isinstance(self._compiled, Exception):
            reason = shortened(str(self._compiled).partition("\n")[0])
            return _at_root(f"the schema cannot be applied: {reason}")
        if too_deep(value):
            return _at_root(f"nested more than {MAX_DEPTH} levels deep")
        ask = self._first_mistake if too_deep(value, MAX_DEPTH - _DEEP) else self._of_messages.iter_errors
        found = []
        for error in itertools.islice(self._asked(ask, value), limit):
            steps, path = list(error.schema_path), FieldPath(error.instance_path)
            keyword, schema = steps[-1] if steps else "", value_at(self.schema, steps[:-1])
            expected, instance = value_at(self.schema, steps), value_at(value, path)
            found.append(_violation(path, keyword, expected, instance, error.message, schema))
        return tuple(found)

    @cached_property
    def _has_surrogates(self) -> bool:
        """Whether the schema was compiled with other texts than it has: those of values are changed alike."""
        return bool(_plain(self.schema) != self.schema)

    def _asked(self, question: Callable[[Json], Any], value: Json) -> Any:
        """Ask about a value, and where jsonschema-rs does not take it, about its copy of plain types."""
        with suppress(ValueError):
            if not self._has_surrogates:
                return question(value)
        return question(_plain(value))

    def _first_mistake(self, value: Json) -> list[Any]:
        import jsonschema_rs

        try:
            self._of_messages.validate(value)
        except jsonschema_rs.ValidationError as error:
            return [error]
        return []


def _compile(draft: str, schema: Json) -> Any:
    import jsonschema_rs

    kind = getattr(jsonschema_rs, draft)
    try:
        return kind(schema, validate_formats=False, retriever=_refuse_remote)
    except (ValueError, TypeError) as error:
        try:
            return kind(_strictly_written(_plain(schema)), validate_formats=False, retriever=_refuse_remote)
        except (ValueError, TypeError):
            return error


_LOOSE: Final = re.compile(r"\\[pPu]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}|(?P<bare>[\]{}])", re.DOTALL)
_IN_REFERENCES: Final = "#/%:?=&+,;@!$'()*~"


def _strictly_written(schema: Json) -> Json:
    """Return a schema with what real ones write loosely, and jsonschema-rs refuses up to Draft 7, by the standards.

    A bare bracket or brace in a pattern is escaped, and names such as `Page<Item>` in a `$ref` are percent-encoded.
    """
    made = map_parts(schema, _strictly_written)
    if isinstance(made, dict):
        if isinstance(pattern := made.get("pattern"), str):
            made["pattern"] = _with_escapes(pattern)
        if isinstance(reference := made.get("$ref"), str):
            made["$ref"] = quote(reference, safe=_IN_REFERENCES)
        if isinstance(named := made.get("patternProperties"), dict):
            made["patternProperties"] = {_with_escapes(key): child for key, child in named.items()}
    return made


def _with_escapes(pattern: str) -> str:
    return _LOOSE.sub(lambda token: f"\\{token[0]}" if token["bare"] else token[0], pattern)


def _refuse_remote(uri: str) -> Json:
    raise ValueError(f"remote references are not fetched: {uri}")


def _plain(value: Json) -> Json:
    """Copy a value of subclasses of JSON's types; each lone surrogate, which JSON can hold, becomes U+FFFD."""
    if isinstance(value, str):
        return without_surrogates(str.__str__(value))
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(name): _plain(item) for name, item in value.items()}
    return float(value) if isinstance(value, float) else value


def _closed(schema: Json, *, looked_at: bool) -> Json:
    """Return a schema whose alternatives are decided without a look at what breaks them.

    `looked_at`: with what `unevaluated…` wants to know, the places that the fitting alternatives looked at.
    """
    made = map_parts(schema, partial(_closed, looked_at=looked_at))
    for keyword in ("anyOf", "oneOf") if isinstance(made, dict) else ():
        if isinstance(listed := made.get(keyword), list):
            made[keyword] = [{"not": {"not": branch}} for branch in listed]
            if looked_at:
                looks = [{"if": branch, "then": True, "else": True} for branch in listed]
                made["allOf"] = [*made.get("allOf", ()), *looks]
    return made


def _metaschema_violations(draft: str, schema: Json) -> tuple[Violation, ...]:
    """All that is wrong with a schema, once each; none where it is right in itself and refers to nothing."""
    import jsonschema

    def is_pattern(value: object) -> bool:
        return not isinstance(value, str) or bool(compile_regex(value))

    judge = getattr(jsonschema, draft)
    checker = jsonschema.FormatChecker(())
    checker.checkers = {**judge.FORMAT_CHECKER.checkers, "regex": (is_pattern, ValueError)}
    errors = judge(judge.META_SCHEMA, format_checker=checker).iter_errors(schema)
    try:
        found = {str(problem): problem for problem in map(_schema_violation, errors)}
    except ValueError:  # jsonschema's own message shows an integer of more digits than Python writes
        return _at_root("it has an integer of more than 4300 digits where none can stand")
    return tuple(itertools.islice(found.values(), _MOST_PROBLEMS))


def _violation(
    path: FieldPath, keyword: object, expected: Json, instance: Json, message: str, schema: Json = None
) -> Violation:
    """Return a validator's finding; `message` is its own text, for most keywords."""
    text = shortened(message)
    if keyword == "type" and isinstance(expected, str | list):
        names = [expected] if isinstance(expected, str) else map(str, expected)
        found = f"{_instance_text(instance)} is {with_article(json_type(instance))},"
        text = f"{'null where' if instance is None else found} {' or '.join(map(with_article, names))} was expected"
    elif keyword in ("anyOf", "oneOf") and isinstance(expected, list) and "more than one" not in message:
        text = f"{_instance_text(instance)} fits none of the {len(expected)} alternatives"
    if instance is None and isinstance(schema, dict) and schema.get("nullable") is True:
        text += f"; {_NULLABLE}"
    return Violation(path=path, message=text)


def _schema_violation(error: Any) -> Violation:
    """Tell what jsonschema found in a schema that it held against the metaschema."""
    path = FieldPath(error.absolute_path)
    if isinstance(error.instance, str) and error.validator == "anyOf" and path[-1:] == ("type",):
        return Violation(path=path, message=f"no type {error.instance!r}{nearest(error.instance, _TYPES)}")
    if error.validator == "format" and error.validator_value == "regex":
        return Violation(path=path, message=f"{_instance_text(error.instance)} {error.cause}")
    return _violation(path, error.validator, error.validator_value, error.instance, error.message)


def _at_root(message: str) -> tuple[Violation, ...]:
    return (Violation(path=FieldPath(), message=message),)


def _instance_text(value: Json) -> str:
    return shortened(canonical_json(value))


def shortened(text: str) -> str:
    """Put a text on one line of a bearable length."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN * 3 else f"{line[: _SHOWN * 3 - 1]}…"
