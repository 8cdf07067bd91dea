"""Decorators that turn a plain function into a named metric, transform, aligner, post-processor or judge.

A decorated function stays what it is; it only carries a mark. pytest finds the marked functions of a `conftest.py` as
it finds fixtures, and everything else is handed over: `score(..., extensions=Extensions.of(initials))`. There is no
registry: what no conftest, plugin or argument brings along does not exist.

Parameters are a function's keyword-only arguments; their annotations say what is right (`core/signature.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pytest_extract.core.extensions import (
    MARK,
    AlignerSpec,
    BatchMetric,
    Extension,
    JudgeSpec,
    Pairs,
    PostSpec,
    Transformed,
)
from pytest_extract.core.metrics.base import BoundMetric, MetricSpec, Param, TransformSpec
from pytest_extract.core.results import FieldResult
from pytest_extract.core.signature import params_of
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError

__all__ = ["aligner", "batch", "compound", "judge", "metric", "post_processor", "transform"]

F = TypeVar("F", bound=Callable[..., Any])


def metric(
    name: str | None = None,
    *,
    threshold: float = 1.0,
    reflexive: bool = True,
    params: Sequence[Param] | None = None,
) -> Callable[[F], F]:
    """Make `function(gold, extracted, *, parameters) -> score` a metric.

    The score is a number in [0, 1], or a bool; what else comes back, or is raised, breaks the field and never counts
    as wrong. `name`: default the function's own; `threshold`: lowest score that passes; `reflexive`: equal values score
    1 without a call; `params`: in place of those that the signature tells.
    """
    _check_brackets("metric", name)

    def mark(function: F) -> F:
        known = _params(function, ("gold", "extracted"), f"metric {_name(function, name)!r}", params)

        def make(given: Mapping[str, Json], _semantics: str) -> BoundMetric:
            compare: Callable[[Json, Json], float] = partial(function, **given)
            return BoundMetric(name=_name(function, name), compare=compare, threshold=threshold, reflexive=reflexive)

        spec = MetricSpec(name=_name(function, name), make=make, doc=_doc(function), params=known, symmetric=False)
        return _marked(function, spec)

    return mark


def transform(name: str | None = None, *, params: Sequence[Param] | None = None) -> Callable[[F], F]:
    """Make `function(value, *, parameters) -> value` a transform, done to gold and extracted before they are compared.

    What it raises leaves the value as it is, and the result says why.
    """
    _check_brackets("transform", name)

    def mark(function: F) -> F:
        known = _params(function, ("value",), f"transform {_name(function, name)!r}", params)

        def make(given: Mapping[str, Json]) -> Callable[[Json], Json]:
            return partial(function, **given)

        return _marked(function, TransformSpec(name=_name(function, name), make=make, doc=_doc(function), params=known))

    return mark


def aligner(name: str | None = None, *, params: Sequence[Param] | None = None) -> Callable[[F], F]:
    """Make `function(gold_rows, extracted_rows, *, parameters) -> pairs` an aligner of lists.

    Pairs are (index in gold, index in extracted), each index at most once; what is in none is missing or invented.
    """
    _check_brackets("aligner", name)

    def mark(function: F) -> F:
        known = _params(function, ("gold", "extracted"), f"aligner {_name(function, name)!r}", params)

        def align(gold: list[Json], extracted: list[Json], given: Mapping[str, Json], /) -> Pairs:
            pairs: Pairs = function(gold, extracted, **given)
            return pairs

        return _marked(function, AlignerSpec(name=_name(function, name), align=align, params=known, doc=_doc(function)))

    return mark


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

    def mark(function: F) -> F:
        known = _params(function, ("gold", "extracted"), f"compound metric {_name(function, name)!r}", params)

        def compare(pairs: Sequence[tuple[Json, Json]], **given: Json) -> list[float | None]:
            return [function(gold, extracted, **given) for gold, extracted in pairs]

        spec = BatchMetric(
            name=_name(function, name),
            compare=compare,
            fields=fields,
            primary=primary,
            threshold=threshold,
            params=known,
            doc=_doc(function),
        )
        return _marked(function, spec)

    return mark


def batch(
    name: str | None = None, *, threshold: float = 1.0, params: Sequence[Param] | None = None
) -> Callable[[F], F]:
    """Make `function(pairs, *, parameters) -> scores` a metric that is called once a document.

    `pairs` are the (gold, extracted) values of all fields that name it; a score of None is not decided.
    """
    _check_brackets("batch", name)

    def mark(function: F) -> F:
        known = _params(function, ("pairs",), f"batch metric {_name(function, name)!r}", params)
        compare: Callable[..., Sequence[float | None]] = function
        spec = BatchMetric(
            name=_name(function, name), compare=compare, threshold=threshold, params=known, doc=_doc(function)
        )
        return _marked(function, spec)

    return mark


def post_processor(name: str | None = None, *, params: Sequence[Param] | None = None) -> Callable[[F], F]:
    """Make `function(results, transformed, *, parameters) -> results` a post-processor.

    It gets a document's leaf results before any number is made of them and returns one for each, in the same order;
    `transformed(result)` gives gold and extracted value as the metric saw them.
    """
    _check_brackets("post_processor", name)

    def mark(function: F) -> F:
        known = _params(function, ("results", "transformed"), f"post-processor {_name(function, name)!r}", params)

        def process(
            results: Sequence[FieldResult], given: Mapping[str, Json], transformed: Transformed, /
        ) -> Sequence[FieldResult]:
            kept: Sequence[FieldResult] = function(results, transformed, **given)
            return kept

        return _marked(
            function, PostSpec(name=_name(function, name), process=process, params=known, doc=_doc(function))
        )

    return mark


def judge(name: str | None = None) -> Callable[[F], F]:
    """Make `function(questions) -> answers` the judge of every field that names it (`judge: NAME`).

    Answers are as many, in the same order: `Verdict`, `Alignment`, or None for not decided. In pytest it may be async,
    and its answers are kept as those of every judge.
    """
    _check_brackets("judge", name)

    def mark(function: F) -> F:
        owner = f"judge {_name(function, name)!r}"
        if _params(function, ("questions",), owner, None, may_wait=True):
            raise ConfigError(f"{owner}: takes the questions only; what it is to know besides it closes over")
        return _marked(function, JudgeSpec(name=_name(function, name), judge=function, doc=_doc(function)))

    return mark


def _check_brackets(decorator: str, name: object) -> None:
    if name is not None and not isinstance(name, str):
        raise ConfigError(f"write `@extend.{decorator}()`, with brackets, above {getattr(name, '__name__', name)!r}")


def _name(function: Callable[..., object], name: str | None) -> str:
    return name or str(getattr(function, "__name__", function))


def _doc(function: Callable[..., object]) -> str:
    return inspect.getdoc(function) or ""


def _params(
    function: Callable[..., object],
    values: Sequence[str],
    owner: str,
    params: Sequence[Param] | None,
    *,
    may_wait: bool = False,
) -> tuple[Param, ...]:
    if not inspect.isfunction(function):
        raise ConfigError(f"{owner}: a decorator of pytest_extract.extend stands above a function, not {function!r}")
    if not may_wait and (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
        raise ConfigError(f"{owner}: cannot be async: scoring waits for nothing; what asks a service is a judge")
    return tuple(params) if params is not None else params_of(function, values, owner)


def _marked(function: F, spec: Extension) -> F:
    setattr(function, MARK, replace(spec, function=function))
    return function
