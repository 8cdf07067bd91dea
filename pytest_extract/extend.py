"""Decorators that turn a plain function into a named metric, transform, aligner, post-processor, judge or measure.

A decorated function stays what it is; it only carries a mark. pytest finds the marked functions of a `conftest.py` as
it finds fixtures, and everything else is handed over: `score(..., extensions=Extensions.of(initials))`. There is no
registry: what no conftest, plugin or argument brings along does not exist.

Parameters are a function's keyword-only arguments; their annotations say what is right (`params_of`).
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, TypeVar, Union

from pytest_extract.core.extensions import MARK, AlignerSpec, BatchMetric, Extension, JudgeSpec, MeasureSpec, PostSpec
from pytest_extract.core.measures import MEASURES
from pytest_extract.core.metrics.base import (
    BoundMetric,
    Check,
    MetricSpec,
    Param,
    TransformSpec,
    any_list,
    any_text,
    boolean,
    choice,
    integer,
    list_of,
    number,
)
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError


def _check_mapping(value: Json) -> str | None:
    return None if isinstance(value, dict) else "must be a mapping"


_PLAIN: Final[Mapping[object, Check]] = {
    **dict.fromkeys((Any, object), lambda _: None),
    bool: boolean,
    int: integer(),
    float: number(),
    str: any_text,
    list: any_list,
    dict: _check_mapping,
}


def params_of(function: Callable[..., object], values: Sequence[str], owner: str) -> tuple[Param, ...]:
    """Return a function's keyword-only arguments as parameters; `values` names what it is called with by position.

    An argument without a default is required. The annotation says what is right: bool, int, float, str, list, dict,
    `Literal`, lists of these, unions; without one, anything is. Raises ConfigError, naming `owner`, for a function that
    cannot be called so, and for an annotation that says something else.
    """
    arguments = list(inspect.signature(function).parameters.values())
    named = [one for one in arguments if one.kind is one.KEYWORD_ONLY]
    places = [str(one.replace(annotation=one.empty, default=one.empty)) for one in arguments if one not in named]
    if len(places) != len(values) or any(place.startswith("*") for place in places):
        raise ConfigError(
            f"{owner}: must take ({', '.join(values)}) by position, and parameters by keyword, after `*`; "
            f"it takes ({', '.join(places)})"
        )
    try:
        hints = typing.get_type_hints(function) if named else {}
    except (NameError, TypeError, AttributeError) as error:
        raise ConfigError(f"{owner}: an annotation cannot be read ({error}); give `params=`") from error
    return tuple(
        Param(
            name=one.name,
            check=_check_for(hints.get(one.name, Any), f"{owner}: parameter {one.name!r}"),
            doc=_annotation_text(one.annotation),
            default=None if one.default is one.empty else one.default,
            required=one.default is one.empty,
        )
        for one in named
    )


def _annotation_text(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return "parameter" if annotation is inspect.Parameter.empty else inspect.formatannotation(annotation)


def _check_for(hint: Any, what: str) -> Check:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return choice(args)
    if origin in (Union, types.UnionType):
        kinds = [arg for arg in args if arg is not type(None)]  # null stands for the default
        checks = [_check_for(kind, what) for kind in kinds]
        if len(checks) == 1:
            return checks[0]
        wrong = f"must be `{' | '.join(map(inspect.formatannotation, kinds))}`"
        return lambda value: wrong if all(check(value) is not None for check in checks) else None
    if origin in (list, Sequence):
        return list_of(_check_for(args[0], what), least=0)
    if origin in (dict, Mapping):
        return _check_mapping
    raise ConfigError(f"{what}: the annotation {hint!r} is no JSON type (bool, int, float, str, list, dict, Literal)")


__all__ = ["aligner", "batch", "compound", "judge", "measure", "metric", "post_processor", "transform"]

F = TypeVar("F", bound=Callable[..., Any])


def metric(
    name: str | None = None, *, threshold: float = 1.0, reflexive: bool = True, params: Sequence[Param] | None = None
) -> Callable[[F], F]:
    """Make `function(gold, extracted, *, parameters) -> score` a metric.

    The score is a number in [0, 1], or a bool; what else comes back, or is raised, breaks the field and never counts
    as wrong. `name`: default the function's own; `threshold`: lowest score that passes; `reflexive`: equal values score
    1 without a call; `params`: in place of those that the signature tells.
    """

    def make(name: str, function: F) -> MetricSpec:
        def bound(given: Mapping[str, Json], _semantics: str) -> BoundMetric:
            compare: Callable[[Json, Json], float] = partial(function, **given)
            return BoundMetric(name=name, compare=compare, threshold=threshold, reflexive=reflexive)

        return MetricSpec(name=name, make=bound)

    return _marking("metric", name, ("gold", "extracted"), make, params)


def transform(name: str | None = None, *, params: Sequence[Param] | None = None) -> Callable[[F], F]:
    """Make `function(value, *, parameters) -> value` a transform, done to gold and extracted before they are compared.

    What it raises leaves the value as it is, and the result says why.
    """

    def make(name: str, function: F) -> TransformSpec:
        return TransformSpec(name=name, make=lambda given: partial(function, **given))

    return _marking("transform", name, ("value",), make, params)


def aligner(name: str | None = None, *, params: Sequence[Param] | None = None) -> Callable[[F], F]:
    """Make `function(gold_rows, extracted_rows, *, parameters) -> pairs` an aligner of lists.

    Pairs are (index in gold, index in extracted), each index at most once; what is in none is missing or invented.
    """

    def make(name: str, function: F) -> AlignerSpec:
        return AlignerSpec(name=name, align=lambda gold, extracted, given: function(gold, extracted, **given))

    return _marking("aligner", name, ("gold", "extracted"), make, params)


def compound(
    *fields: str,
    primary: str | None = None,
    name: str | None = None,
    threshold: float = 1.0,
    params: Sequence[Param] | None = None,
) -> Callable[[F], F]:
    """Make `function(gold, extracted, *, parameters) -> score` one comparison of several sibling fields.

    It is called once for each object, with `{field: value}` of both sides; `primary` (default: the first of `fields`)
    gets the score, the others are skipped. None for a score: not decided.
    """
    if len(fields) < 2 or (primary is not None and primary not in fields):
        raise ConfigError(f"compound{fields!r}: needs two fields or more, and a `primary` that is one of them")

    def make(name: str, function: F) -> BatchMetric:
        def compare(pairs: Sequence[tuple[Json, Json]], **given: Json) -> list[float | None]:
            return [function(gold, extracted, **given) for gold, extracted in pairs]

        return BatchMetric(name=name, compare=compare, fields=fields, primary=primary, threshold=threshold)

    return _marking("compound metric", name, ("gold", "extracted"), make, params)


def batch(
    name: str | None = None, *, threshold: float = 1.0, params: Sequence[Param] | None = None
) -> Callable[[F], F]:
    """Make `function(pairs, *, parameters) -> scores` a metric that is called once a document.

    `pairs` are the (gold, extracted) values of all fields that name it; a score of None is not decided.
    """

    def make(name: str, function: F) -> BatchMetric:
        return BatchMetric(name=name, compare=function, threshold=threshold)

    return _marking("batch metric", name, ("pairs",), make, params)


def post_processor(name: str | None = None, *, params: Sequence[Param] | None = None) -> Callable[[F], F]:
    """Make `function(results, transformed, *, parameters) -> results` a post-processor.

    It gets a document's leaf results before any number is made of them and returns one for each, in the same order;
    `transformed(result)` gives gold and extracted value as the metric saw them.
    """

    def make(name: str, function: F) -> PostSpec:
        return PostSpec(name=name, process=lambda results, given, transformed: function(results, transformed, **given))

    return _marking("post-processor", name, ("results", "transformed"), make, params)


def judge(name: str | None = None) -> Callable[[F], F]:
    """Make `function(questions) -> answers` the judge of every field that names it (`judge: NAME`).

    Answers are as many, in the same order: `JudgeAnswer`, `Alignment`, or None for not decided. In pytest it may be
    async, and its answers are kept as those of every judge.
    """
    return _marking("judge", name, ("questions",), lambda name, function: JudgeSpec(name=name, judge=function))


def measure(name: str | None = None) -> Callable[[F], F]:
    """Make `function(gold, extracted) -> number` a measure of whole outputs: a number in [0, 1], or a bool.

    Every case beside it is measured; `thresholds: {measures: {NAME: 0.9}}` bounds it. An output that cannot be read, or
    breaks its schema, has 0 without a call.
    """

    def make(name: str, function: F) -> MeasureSpec:
        if name in MEASURES:
            raise ConfigError(f"measure {name!r}: there is one of this name already")
        return MeasureSpec(name=name, measure=function)

    return _marking("measure", name, ("gold", "extracted"), make)


def _marking(
    kind: str,
    name: Any,
    values: Sequence[str],
    make: Callable[[str, F], Extension],
    params: Sequence[Param] | None = None,
) -> Callable[[F], F]:
    """Return a decorator that leaves a function as it is, but for the mark with what `make` makes of it.

    `params`: in place of those that the signature tells.
    """
    if name is not None and not isinstance(name, str):
        decorator = kind.removesuffix(" metric").replace("-", "_")
        raise ConfigError(f"write `@extend.{decorator}()`, with brackets, above {getattr(name, '__name__', name)!r}")

    def mark(function: F) -> F:
        own = name or str(getattr(function, "__name__", function))
        owner = f"{kind} {own!r}"
        if not inspect.isfunction(function):
            raise ConfigError(f"{owner}: its decorator stands above a function, not {function!r}")
        if kind != "judge" and (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
            raise ConfigError(f"{owner}: cannot be async: scoring waits for nothing; what asks a service is a judge")
        if hasattr(function, MARK):
            raise ConfigError(f"{owner}: the function is decorated already; write a function for each decorator")
        known = params_of(function, values, owner) if params is None else tuple(params)
        if known and kind in {"judge", "measure"}:
            raise ConfigError(f"{owner}: has no parameters, and {known[0].name!r} is one; close over it")
        spec = replace(make(own, function), doc=inspect.getdoc(function) or "", params=known, function=function)
        setattr(function, MARK, spec)
        return function

    return mark
