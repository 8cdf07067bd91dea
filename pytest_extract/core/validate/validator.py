"""JSON Schema as a yes/no gate with readable reasons; compiled once, never fetching, never raising on bad input.

jsonschema decides, and words messages. Where jsonschema-rs cannot differ from it, it gives the answer 500 times faster:
a 10-Q of 1,388 leaves takes 0.05 ms instead of 24 ms. Where it is missing (no wheel), jsonschema gives all answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

from pytest_extract.core.parse.brackets import MAX_DEPTH
from pytest_extract.core.parse.text import too_deep
from pytest_extract.core.validate.traits import DRAFT7, Traits, draft_of, traits_of
from pytest_extract.core.validate.violations import Violation, schema_violation, shortened, violation
from pytest_extract.core.values import FieldPath, Json, json_type

_MOST_PROBLEMS: Final = 20
_DATA: Final = ("const", "enum", "default", "examples")
"""Keywords whose values are no schemas."""


class Validator:
    """A schema ready to be asked; thread-safe once made. An unusable schema is kept as `problem` and admits nothing.

    `is_valid` and `valid_schema` go by the draft that `$schema` declares, else the latest (as DeepJSONEval does);
    the `draft7` twins by Draft 7 whatever is declared (as SOB does). Formats are never asserted, 3.0 is an integer,
    a `$ref` that names nothing here makes every value it is asked about invalid.
    """

    def __init__(self, schema: Json) -> None:
        self.schema = schema

    @cached_property
    def _traits(self) -> Traits:
        return traits_of(self.schema)

    @cached_property
    def _declared(self) -> _Draft:
        return _Draft(self.schema, draft_of(self.schema), self._traits)

    @cached_property
    def _draft7(self) -> _Draft:
        return self._declared if self._declared.name == DRAFT7 else _Draft(self.schema, DRAFT7, self._traits)

    @property
    def problem(self) -> str | None:
        """What is wrong with the schema itself, with the JSON pointer; None when it can be used."""
        return self._declared.problem

    @property
    def problems(self) -> tuple[Violation, ...]:
        """All that is wrong with the schema itself, up to 20 places; none when it can be used."""
        return self._declared.problems

    @property
    def valid_schema(self) -> bool:
        """Whether the schema satisfies the metaschema of its declared draft."""
        return self._declared.problem is None

    @cached_property
    def valid_schema_draft7(self) -> bool:
        """SOB's `schema_valid_input`: an object that satisfies Draft 7's metaschema (`true` is none)."""
        if not isinstance(self.schema, dict):
            return False
        return (self._traits.valid_in_draft7 and self.valid_schema) or self._draft7.problem is None

    @cached_property
    def same_as_draft7(self) -> bool:
        """Whether the two drafts cannot differ about any value."""
        return self._declared.name == DRAFT7 or (
            self._traits.same_as_draft7 and self.valid_schema and self.valid_schema_draft7
        )

    @property
    def asserts_required(self) -> bool:
        """Whether a valid value surely has the required keys of its objects that `properties` and `items` lead to."""
        return self._traits.asserts_required

    def is_valid(self, value: Json, *, shallow: bool = False) -> bool:
        """Whether the schema is usable and admits the value; `shallow`: it is known not to be nested deeply."""
        return self._declared.admits(value, shallow=shallow)

    def is_valid_draft7(self, value: Json, *, shallow: bool = False) -> bool:
        """SOB's `schema_compliance`; `shallow` as for `is_valid`."""
        if not self.valid_schema_draft7:
            return False
        return (self._declared if self.same_as_draft7 else self._draft7).admits(value, shallow=shallow)

    def first_error(self, value: Json, *, shallow: bool = False) -> Violation | None:
        """Return one violation of a value; None when it is valid. `shallow` as for `is_valid`."""
        return next(iter(self.errors(value, limit=1, shallow=shallow)), None)

    def errors(self, value: Json, *, limit: int = 20, shallow: bool = False) -> tuple[Violation, ...]:
        """Return up to `limit` violations, in the order in which the validator meets them."""
        if self._declared.problem is not None:
            return (Violation(path=FieldPath(), message=f"the schema itself is invalid: {self._declared.problem}"),)
        return tuple(self._declared.violations(value, limit, shallow=shallow))


class _Draft:
    """One schema under one draft, both validators built when first needed."""

    def __init__(self, schema: Json, name: str, traits: Traits) -> None:
        self.schema = schema
        self.name = name
        self._traits = traits

    @cached_property
    def _rust(self) -> Any:
        """The jsonschema-rs validator where it may answer, else None; for a schema that is not nested too deeply."""
        return self._compile_rust(self.schema) if self._traits.rust else None

    @cached_property
    def _rust_in_words(self) -> Any:
        """As `_rust`, for messages: it never looks into alternatives, which costs twice as much a level.

        What has two negations is decided, without a word on why it fails.
        """
        found = self._compile_rust(_closed(self.schema)) if self._traits.refers else None
        return found or self._rust

    def _compile_rust(self, schema: Json) -> Any:
        try:
            import jsonschema_rs
        except ImportError:
            return None
        try:
            return getattr(jsonschema_rs, self.name)(
                schema,
                validate_formats=False,
                retriever=_refuse_remote,
                pattern_options=jsonschema_rs.RegexOptions(),  # its engine whose time is linear
            )
        except (ValueError, TypeError):  # a schema that it does not take is jsonschema's to judge
            return None

    @cached_property
    def _python(self) -> Any:
        import jsonschema
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

        from pytest_extract.core.validate.linear import linear_validator  # its regular expressions are seldom needed

        return linear_validator(getattr(jsonschema, self.name))(self.schema, registry=REGISTRY)

    @cached_property
    def problem(self) -> str | None:
        if not self.problems:
            return None
        first = self.problems[0]
        return f"at {first.pointer}: {first.message}" if isinstance(self.schema, dict) else first.message

    @cached_property
    def problems(self) -> tuple[Violation, ...]:
        if not isinstance(self.schema, dict | bool):
            return _at_root(f"a JSON Schema is an object, not {json_type(self.schema)}")
        if too_deep(self.schema):
            return _at_root("nested too deeply")
        if self._rust is not None:
            return ()
        return self._python_problems()

    def _python_problems(self) -> tuple[Violation, ...]:
        from jsonschema.validators import validator_for

        try:
            meta = self._python.META_SCHEMA
            judge = validator_for(meta, default=type(self._python))
            errors = judge(meta, format_checker=_format_checker(judge)).iter_errors(self.schema)
            found = {
                str(problem): problem for problem in map(schema_violation, errors)
            }  # one mistake may break several rules
            return tuple(itertools.islice(found.values(), _MOST_PROBLEMS))
        except BaseException as error:  # noqa: BLE001 - whatever stops the check is the schema's problem
            _reraise_foreign(error)
            return _at_root(f"{type(error).__name__}: {shortened(str(error))}")

    def admits(self, value: Json, *, shallow: bool = False) -> bool:
        if self.problem is not None or (not shallow and too_deep(value)):
            return False
        if self._rust is None:
            return self._python_admits(value)
        try:
            return bool(self._rust.is_valid(value))
        except (ValueError, TypeError):  # a lone surrogate as a key
            return self._python_admits(value)

    def _python_admits(self, value: Json) -> bool:
        try:
            return bool(self._python.is_valid(value))
        except BaseException as error:  # noqa: BLE001 - dangling references, endless recursion: nothing is admitted
            _reraise_foreign(error)
            return False

    def violations(self, value: Json, limit: int, *, shallow: bool = False) -> Iterator[Violation]:
        if not shallow and too_deep(value):
            yield Violation(path=FieldPath(), message=f"nested more than {MAX_DEPTH} levels deep")
            return
        if self._rust is not None:
            try:
                errors = list(itertools.islice(self._rust_in_words.iter_errors(value), limit))
            except (ValueError, TypeError):  # a lone surrogate as a key
                pass
            else:
                for error in errors:
                    steps = list(error.schema_path)
                    path = FieldPath(error.instance_path)
                    expected = _at(self.schema, steps)
                    yield violation(
                        path,
                        steps[-1] if steps else "",
                        expected,
                        _at(value, path),
                        error.message,
                        _at(self.schema, steps[:-1]),
                    )
                return
        yield from self._python_violations(value, limit)

    def _python_violations(self, value: Json, limit: int) -> Iterator[Violation]:
        from pytest_extract.core.regex.linear import UndecidedError

        try:
            for error in itertools.islice(self._python.iter_errors(value), limit):
                path = FieldPath(error.absolute_path)
                yield violation(
                    path, error.validator, error.validator_value, error.instance, error.message, error.schema
                )
        except UndecidedError as problem:
            yield Violation(path=FieldPath(), message=str(problem))
        except BaseException as problem:  # noqa: BLE001 - see _python_admits
            _reraise_foreign(problem)
            message = f"the schema cannot be applied: {shortened(str(problem))}"
            yield Violation(path=FieldPath(), message=message)


def _reraise_foreign(error: BaseException) -> None:
    """Let through what no schema can cause: Ctrl-C, exit. A panic inside jsonschema's Rust parts is no Exception."""
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error


def _at_root(message: str) -> tuple[Violation, ...]:
    return (Violation(path=FieldPath(), message=message),)


def _closed(schema: Json) -> Json:
    """Return a schema whose alternatives are decided without a look at what breaks them."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: item if name in _DATA else _closed(item) for name, item in schema.items()}
    for keyword in ("anyOf", "oneOf"):
        if isinstance(listed := made.get(keyword), list):
            made[keyword] = [{"not": {"not": branch}} for branch in listed]
    return made


def _refuse_remote(uri: str) -> Json:
    raise ValueError(f"remote references are not fetched: {uri}")


def _format_checker(judge: Any) -> Any:
    """Return the formats that a metaschema asserts, with `regex` as what can be matched here."""
    from jsonschema import FormatChecker

    checker = FormatChecker(())
    checker.checkers = {**judge.FORMAT_CHECKER.checkers, "regex": (_is_regex, ValueError)}
    return checker


def _is_regex(value: object) -> bool:
    from pytest_extract.core.regex.ecma import compile_ecma

    return not isinstance(value, str) or bool(compile_ecma(value))


def _at(value: Json, steps: FieldPath | list[str | int]) -> Json:
    """Value at a path; None where the path leads nowhere."""
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value
