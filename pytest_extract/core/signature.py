"""Parameters of a plain function, from its signature: keyword-only arguments, checked by their annotations."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, Union

from pytest_extract.core.metrics.base import Param
from pytest_extract.core.metrics.params import any_list, boolean, integer, number
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError

Check: TypeAlias = Callable[[Json], str | None]

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ANY: Final = (Any, object, inspect.Parameter.empty)


def _check_text(value: Json) -> str | None:
    return None if isinstance(value, str) else "must be a text"


def _check_mapping(value: Json) -> str | None:
    return None if isinstance(value, dict) else "must be a mapping"


def _check_nothing(_value: Json) -> str | None:
    return None


_PLAIN: Final[Mapping[object, Check]] = {
    bool: boolean,
    int: integer(),
    float: number(),
    str: _check_text,
    list: any_list,
    dict: _check_mapping,
}


def params_of(function: Callable[..., object], values: Sequence[str], owner: str) -> tuple[Param, ...]:
    """Return a function's keyword-only arguments as parameters; `values` names what it is called with by position.

    An argument without a default is required. The annotation says what is right: bool, int, float, str, list, dict,
    `Literal`, lists of these, unions; without one, anything is. Raises ConfigError, naming `owner`, for a function that
    cannot be called so, and for an annotation that says something else.
    """
    signature = inspect.signature(function)
    arguments = list(signature.parameters.values())
    _check_positions(arguments, values, owner)
    named = [one for one in arguments if one.kind is inspect.Parameter.KEYWORD_ONLY]
    hints = _type_hints(function, owner) if named else {}
    return tuple(
        Param(
            name=one.name,
            check=_check_for(hints.get(one.name, Any), f"{owner}: parameter {one.name!r}"),
            doc=_annotation_text(one),
            default=None if one.default is one.empty else one.default,
            required=one.default is one.empty,
        )
        for one in named
    )


def _check_positions(arguments: Sequence[inspect.Parameter], values: Sequence[str], owner: str) -> None:
    kinds = [one.kind for one in arguments]
    places = [one for one in arguments if one.kind in _POSITIONAL]
    if inspect.Parameter.VAR_KEYWORD in kinds or inspect.Parameter.VAR_POSITIONAL in kinds:
        raise ConfigError(f"{owner}: must name its arguments; *args and **kwargs leave nothing to check")
    if len(places) != len(values):
        wanted = ", ".join(values)
        raise ConfigError(
            f"{owner}: must take ({wanted}) by position, and parameters by keyword, after `*`; "
            f"it takes ({', '.join(one.name for one in places)})"
        )


def _type_hints(function: Callable[..., object], owner: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError) as error:
        raise ConfigError(f"{owner}: an annotation cannot be read ({error}); give `params=`") from error


def _check_for(hint: Any, what: str) -> Check:
    if hint in _ANY:
        return _check_nothing
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return _one_of(args)
    if origin in (Union, types.UnionType):
        return _any_of([_check_for(arg, what) for arg in args if arg is not type(None)])
    if origin in (list, Sequence):
        return _list_of(_check_for(args[0], what))
    if origin in (dict, Mapping):
        return _check_mapping
    raise ConfigError(f"{what}: the annotation {hint!r} is no JSON type (bool, int, float, str, list, dict, Literal)")


def _list_of(item: Check) -> Check:
    def check(value: Json) -> str | None:
        if not isinstance(value, list):
            return any_list(value)
        return next((f"item {i} {problem}" for i, one in enumerate(value) if (problem := item(one))), None)

    return check


def _one_of(values: Sequence[Json]) -> Check:
    wanted = f"must be one of {', '.join(map(repr, values))}"

    def check(value: Json) -> str | None:
        return None if any(type(value) is type(one) and value == one for one in values) else wanted

    return check


def _any_of(checks: Sequence[Check]) -> Check:
    def check(value: Json) -> str | None:
        problems = [problem for one in checks if (problem := one(value)) is not None]
        if len(problems) < len(checks):
            return None
        return " or ".join([problems[0], *(problem.removeprefix("must ") for problem in problems[1:])])

    return check


def _annotation_text(argument: inspect.Parameter) -> str:
    hint = argument.annotation
    if hint is argument.empty:
        return "parameter"
    return hint if isinstance(hint, str) else inspect.formatannotation(hint)
