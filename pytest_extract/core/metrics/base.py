"""What a metric is: a row in a table that makes a comparison of two JSON values from checked parameters; their checks.

A check returns what is wrong with a value, in words, or None.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias

from pytest_extract.core.values import Json, short_repr
from pytest_extract.errors import ConfigError, closest, nearest

SemanticsName: TypeAlias = Literal["default", "extract-bench", "struct-extract-eval"]
Compare: TypeAlias = Callable[[Json, Json], float]
"""(gold, extracted) -> score in [0, 1]; total: any two JSON values give a number, nothing raises."""
Matrix: TypeAlias = Callable[[Sequence[Json], Sequence[Json]], Any]
"""(gold values, extracted values) -> float array [len(gold), len(extracted)], as `BoundMetric` says."""
Check: TypeAlias = Callable[[Json], str | None]
Params: TypeAlias = Mapping[str, Json]
"""Checked parameters of a metric or transform, those that are left out with their defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter of a metric or transform.

    `check` returns what is wrong with a value, in words ("must be a number >= 0"), or None when it is right.
    """

    name: str
    check: Check
    doc: str
    default: Json = None
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMetric:
    """A metric with its parameters fixed.

    `name`, `params`: filled in by `MetricSpec.bind`.
    `threshold`: a comparison passes when score >= threshold.
    `reflexive`: two values equal as JSON (same type, same content) score 1 without calling `compare`.
    `judged`: a judge decides; `compare` is then the cheap pre-check (1.0: equal without asking, else ask).
    `explain`: the reason for a score below 1; pairs of rows that are only tried are not asked for theirs.
    `matrix`: for all pairs at once (numpy), numbers that are no lower than `compare`'s.
    `key`: set by metrics that are an equality: `compare` gives 1.0 where the keys of both values are equal, else 0.0.
    The last two only make the alignment of long lists fast; a metric without them is aligned pair by pair.
    """

    compare: Compare
    name: str = ""
    params: Mapping[str, Json] = field(default_factory=dict)
    threshold: float = 1.0
    reflexive: bool = True
    judged: bool = False
    aligns: bool = False
    instructions: str = ""
    judge: str = ""
    options: Mapping[str, Json] = field(default_factory=dict)
    explain: Callable[[Json, Json], str] | None = None
    matrix: Matrix | None = None
    key: Callable[[Json], Hashable] | None = None


class Broken(float):
    """A NaN with its reason: the result of a project's own metric that raises."""

    __slots__ = ("why",)

    def __new__(cls, why: str) -> Self:
        """Keep the reason."""
        made = super().__new__(cls, "nan")
        made.why = why
        return made

    why: str


class Example(NamedTuple):
    """A worked number of the docs; the tests run every one."""

    gold: Json
    extracted: Json
    score: float
    params: Mapping[str, Json] = MappingProxyType({})
    semantics: SemanticsName = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What every row of a table has besides the function that is called.

    `function`: the project's own function that it was made of.
    """

    name: str
    params: tuple[Param, ...] = ()
    doc: str = ""
    function: Callable[..., Any] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def row(cls, name: str, *examples: object, params: tuple[Param, ...] = ()) -> Callable[[Callable[..., Any]], Self]:
        """Make a row of the function that makes what is called, and of its docstring."""

        def row(make: Callable[..., Any]) -> Any:
            parts: dict[str, Any] = {"make": make, "doc": " ".join((make.__doc__ or "").split()), "examples": examples}
            return cls(name=name, params=params, **parts)

        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec(Spec):
    """One row of the metric table. `make` gets checked parameters with defaults filled in, and the semantics' name."""

    make: Callable[[Params, SemanticsName], BoundMetric]
    examples: tuple[Example, ...] = ()

    def bind(self, given: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
        """Make the metric with checked parameters."""
        params = with_defaults(given, self.params)
        made = self.make(params, semantics)
        return replace(made, name=self.name, params=made.params or params)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformSpec(Spec):
    """One row of the transform table. The made function raises ValueError, saying why, where it does not apply.

    `examples`: (value, transformed value, parameters), all run by the tests.
    """

    make: Callable[[Params], Callable[[Json], Json]]
    examples: tuple[tuple[Json, Json, Mapping[str, Json]], ...] = ()


def check_params(given: Mapping[str, Json], known: Sequence[Param], owner: str) -> list[str]:
    """Return what is wrong with `given`, each a sentence that names the parameter; empty when all is right."""
    names = {param.name for param in known}
    problems = [f"{owner} has no parameter {name!r}{nearest(name, names)}" for name in given if name not in names]
    for param in known:
        if given.get(param.name) is not None or (param.required and param.name in given):
            problem = param.check(given[param.name])
            if problem is not None:
                wrong, mark, advice = problem.partition("; ")
                problems.append(
                    f"{owner}: parameter {param.name!r} {wrong}, not {short_repr(given[param.name], 200)}{mark}{advice}"
                )
        elif param.required:
            problems.append(f"{owner} needs the parameter {param.name!r}: {param.doc}")
    return problems


def checked_params(given: Mapping[str, Json] | None, known: Sequence[Param], owner: str) -> Mapping[str, Json]:
    """Return parameters that are right; raises ConfigError that says what is wrong with others."""
    if problems := check_params(given or {}, known, owner):
        raise ConfigError("; ".join(problems))
    return given or {}


def with_defaults(given: Mapping[str, Json], known: Sequence[Param]) -> dict[str, Json]:
    """Return `given` with the defaults of the parameters that it leaves out or sets to null."""
    return {param.name: param.default if given.get(param.name) is None else given[param.name] for param in known}


# --- checks


def number(minimum: float = -math.inf, maximum: float = math.inf) -> Check:
    """Check for a finite number within bounds."""
    return _bounded("number", (int, float), minimum, maximum)


def numeric(minimum: float = -math.inf, maximum: float = math.inf) -> Check:
    """Check for a number or a text that is one ("0.5"), as ExtractBench converts them."""
    inner = number(minimum, maximum)

    def check(value: Json) -> str | None:
        try:
            return inner(float(value) if isinstance(value, str) else value)
        except ValueError:
            return inner(value)

    return check


def integer(minimum: float = -math.inf, maximum: float = math.inf) -> Check:
    """Check for a whole number within bounds."""
    return _bounded("whole number", int, minimum, maximum)


def _bounded(what: str, kinds: Any, minimum: float, maximum: float) -> Check:
    bounds = f" of {minimum:g} or more" if maximum == math.inf else f" from {minimum:g} to {maximum:g}"
    wanted = f"must be a {what}{'' if minimum == -math.inf else bounds}"

    def check(value: Json) -> str | None:
        is_one = isinstance(value, kinds) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
        return None if is_one and minimum <= value <= maximum else wanted

    return check


def _of_type(kind: type, what: str) -> Check:
    return lambda value: None if isinstance(value, kind) else f"must be {what}"


boolean: Final = _of_type(bool, "true or false")
any_text: Final = _of_type(str, "a text")
any_list: Final = _of_type(list, "a list")


def text(value: Json) -> str | None:
    """Check for a text that is not empty."""
    return None if isinstance(value, str) and value else "must be a text that is not empty"


def choice(values: Collection[Json]) -> Check:
    """Check for one of some values, of its type."""
    texts = [one for one in values if isinstance(one, str)]

    def check(value: Json) -> str | None:
        if any(type(value) is type(one) and value == one for one in values):
            return None
        return f"must be one of {', '.join(map(repr, values))}{closest(value, texts)}"

    return check


def list_of(item: Check, least: int = 1) -> Check:
    """Check for a list with at least so many items, 0 or 1, each of which passes `item`."""

    def check(value: Json) -> str | None:
        if not isinstance(value, list) or len(value) < least:
            return "must be a list with at least one item" if least else any_list(value)
        return next((f"item {i} {problem}" for i, one in enumerate(value) if (problem := item(one))), None)

    return check


def one_or_list(item: Check) -> Check:
    """Check for one item or a list of them."""
    many = list_of(item)
    return lambda value: many(value) if isinstance(value, list) else item(value)


def taken_by(read: Callable[[str], object], what: str) -> Check:
    """Check for a text that a function takes; the ValueError that it raises for others says what is wrong."""

    def check(value: Json) -> str | None:
        if not isinstance(value, str) or not value:
            return f"must be {what}"
        try:
            read(value)
        except ValueError as problem:
            return str(problem)
        return None

    return check


def as_list(value: Json) -> list[Json]:
    """Return a parameter that may be one item or a list of them as a list; null as none."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def threshold(default: float) -> Param:
    """Make the parameter `threshold`."""
    return Param(name="threshold", check=number(0, 1), default=default, doc="lowest score that passes")


def switch(name: str, doc: str, *, default: bool = False) -> Param:
    """Make a parameter that is true or false."""
    return Param(name=name, check=boolean, default=default, doc=doc)


def any_of(name: str, names: Collection[str], doc: str) -> Param:
    """Make a parameter that is one of some names, the first where none is given."""
    return Param(name=name, check=choice(names), default=next(iter(names)), doc=doc)


def tolerance(name: str, doc: str) -> Param:
    """Make a parameter that is a number of 0 or more, 0 where none is given."""
    return Param(name=name, check=number(0), default=0.0, doc=doc)
