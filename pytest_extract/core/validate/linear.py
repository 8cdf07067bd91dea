"""jsonschema's validators with every regular expression matched as ECMA-262 means it, in linear time.

jsonschema searches with Python's `re` wherever a schema has a pattern: `pattern`, `patternProperties`,
`additionalProperties` and `unevaluatedProperties`, in every draft. Its functions are copied here with another `re`
among their globals, so all they do stays jsonschema's own, and jsonschema itself stays as it is for everybody else.
"""

from __future__ import annotations

import sys
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any, Final

from pytest_extract.core.regex.ecma import compile_ecma
from pytest_extract.core.regex.linear import UndecidedError

_SEARCHING: Final = ("jsonschema._utils", "jsonschema._keywords", "jsonschema._legacy_keywords")
"""jsonschema's modules that search, each after those it imports."""


@cache
def linear_validator(validator: Any) -> Any:
    """Return jsonschema's validator class as one that searches in linear time."""
    from attrs import fields
    from jsonschema.validators import extend, validator_for

    copies = _copies()
    keywords = {name: copies.get(function, function) for name, function in validator.VALIDATORS.items()}
    made: Any = extend(validator, keywords)  # type: ignore[no-untyped-call]
    evolve = made.evolve

    def evolve_linear(self: Any, **changes: Any) -> Any:
        """Go on with the class that the subschema's `$schema` names, made linear as well."""
        schema = changes.get("schema")
        if not isinstance(schema, dict) or "$schema" not in schema:
            return evolve(self, **changes)
        for field in fields(type(self)):
            if field.init:
                changes.setdefault(field.alias, getattr(self, field.name))
        named = validator_for(schema, default=validator)
        return linear_validator(named)(**changes)

    made.evolve = evolve_linear
    return made


@cache
def _copies() -> dict[Any, Any]:
    """Copy all functions of jsonschema's modules that search."""
    import jsonschema  # noqa: F401 - loads the modules

    copies: dict[Any, Any] = {}
    for name in _SEARCHING:
        names = {**vars(sys.modules[name]), "re": SimpleNamespace(search=_search)}
        for key, value in vars(sys.modules[name]).items():
            if not isinstance(value, FunctionType):
                continue
            if value.__module__ == name:
                copies[value] = FunctionType(
                    value.__code__, names, value.__name__, value.__defaults__, value.__closure__
                )
                copies[value].__kwdefaults__ = value.__kwdefaults__
            names[key] = copies.get(value, value)
    return copies


def _search(pattern: str, text: str) -> bool:
    try:
        return compile_ecma(pattern).search(text)
    except ValueError as problem:
        raise UndecidedError(f"the pattern {pattern!r} {problem}") from problem
