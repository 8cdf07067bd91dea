"""What a project adds by name: metrics, transforms, aligners, batch metrics, post-processors, judges and measures.

They are handed over as one argument; there is no registry to fill or to reset. `function` of a spec is the decorated
function that it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Final, TypeAlias

from pytest_extract.core.metrics.base import MetricSpec, Param, Spec, TransformSpec, any_list, boolean
from pytest_extract.core.results import COUNTED, SCORED, STRUCTURE, FieldResult, Judge, Status
from pytest_extract.core.values import MISSING, Json, copied
from pytest_extract.errors import ConfigError

MARK: Final = "__extract_extension__"
"""Attribute under which a decorated function carries what it makes (`pytest_extract.extend`)."""

Pairs: TypeAlias = Sequence[tuple[int, int]]
Transformed: TypeAlias = Callable[[FieldResult], tuple[Json, Json]]
"""A result -> its gold and extracted value as the metric saw them; (MISSING, MISSING) for a whole container."""


Aligner: TypeAlias = Callable[[list[Json], list[Json], Mapping[str, Json]], Pairs]
"""(gold, extracted, parameters) -> index pairs of their rows; what is in none is missing or invented."""
PostProcessor: TypeAlias = Callable[[Sequence[FieldResult], Mapping[str, Json], Transformed], Sequence[FieldResult]]
"""(leaf results, parameters, transformed) -> the results to keep, one for each given, in the same order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMetric(Spec):
    """A metric that sees several fields at once.

    With `fields`, siblings of these names are compared as one: `compare` is called once an object with
    [(gold members, extracted members)]; `primary` (default: the first) gets the score, the others are skipped.
    Without, `compare` is called once a document with all (gold, extracted) values of the fields that name it.
    It returns a score in [0, 1] or None (not decided) for each pair; what raises or falls short breaks the fields.
    With `params`, `compare` gets their values by keyword; fields that give other values are other groups.
    """

    compare: Callable[..., Sequence[float | None]]
    fields: tuple[str, ...] = ()
    primary: str | None = None
    threshold: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignerSpec(Spec):
    """A custom aligner and the parameters that it takes."""

    align: Aligner


@dataclass(frozen=True, slots=True, kw_only=True)
class PostSpec(Spec):
    """A post-processor and the parameters that it takes."""

    process: PostProcessor


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec(Spec):
    """A judge that fields may name (`judge: NAME` among the parameters of a semantic metric); it has no parameters."""

    judge: Judge


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureSpec(Spec):
    """A number in [0, 1] of a whole output; a better output has a higher one. It has no parameters."""

    measure: Callable[[Json, Json], float]

    def value(self, gold: Json, extracted: Json) -> float:
        """Measure an output; ConfigError for what is no number in [0, 1], and for what the function raises."""
        try:
            found: object = self.measure(copied(gold), copied(extracted))
        except Exception as error:
            raise ConfigError(f"the measure {self.name!r} raised {type(error).__name__}: {error}") from error
        if not isinstance(found, int | float) or not 0 <= found <= 1:
            raise ConfigError(f"the measure {self.name!r} gave {found!r}: a number from 0 to 1 was expected")
        return float(found)


Extension: TypeAlias = MetricSpec | TransformSpec | AlignerSpec | BatchMetric | PostSpec | JudgeSpec | MeasureSpec
_TABLES: Final[Mapping[type, str]] = {
    MetricSpec: "metrics",
    TransformSpec: "transforms",
    AlignerSpec: "aligners",
    BatchMetric: "batches",
    PostSpec: "post_processors",
    JudgeSpec: "judges",
    MeasureSpec: "measures",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extensions:
    """Everything that a project adds, by name; a name that the package has already is taken over."""

    metrics: Mapping[str, MetricSpec] = field(default_factory=dict)
    transforms: Mapping[str, TransformSpec] = field(default_factory=dict)
    aligners: Mapping[str, AlignerSpec] = field(default_factory=dict)
    batches: Mapping[str, BatchMetric] = field(default_factory=dict)
    post_processors: Mapping[str, PostSpec] = field(default_factory=dict)
    judges: Mapping[str, JudgeSpec] = field(default_factory=dict)
    measures: Mapping[str, MeasureSpec] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        """Let decorated functions travel by name: what the decorators make of them cannot be pickled."""
        items = (spec.function or spec for table in _TABLES.values() for spec in getattr(self, table).values())
        return Extensions.of, (*items,)

    @classmethod
    def of(cls, *items: object) -> Extensions:
        """Gather functions marked by the decorators of `pytest_extract.extend`, and specs made by hand.

        Raises ConfigError for anything else, and for two things that share a name.
        """
        tables: dict[str, dict[str, Extension]] = {table: {} for table in _TABLES.values()}
        taken: dict[tuple[str, str], Extension] = {}
        for item in items:
            spec = item if isinstance(item, Extension) else getattr(item, MARK, None)
            if not isinstance(spec, Extension):
                wanted = "a function with a decorator of pytest_extract.extend, or a spec (MetricSpec, ...)"
                raise ConfigError(f"an extension is {wanted}, not {item!r}")
            table = _TABLES[type(spec)]
            noun = _noun(table)  # batches are metrics, too: both are named where a metric is
            if taken.setdefault((noun, spec.name), spec) is not spec:
                raise ConfigError(f"two extensions are called {spec.name!r}: {noun} names are unique")
            tables[table][spec.name] = spec
        return cls(**tables)  # type: ignore[arg-type]  # each table holds its own kind

    @classmethod
    def marked_in(cls, namespace: Mapping[str, object]) -> Extensions:
        """Gather every marked function of a module's namespace, imported ones included."""
        found = [value for value in namespace.values() if isinstance(value, FunctionType) and MARK in vars(value)]
        return cls.of(*{id(function): function for function in found}.values())

    def over(self, below: Extensions) -> Extensions:
        """Return both, these winning where a name is in both."""
        metrics = {*self.metrics, *self.batches}

        def both(table: str) -> dict[str, Any]:
            hidden = metrics if table in ("metrics", "batches") else set()
            others = {name: spec for name, spec in getattr(below, table).items() if name not in hidden}
            return {**others, **getattr(self, table)}

        return Extensions(**{table: both(table) for table in _TABLES.values()})

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield (kind, name) of everything, in words: ("transform", "digits")."""
        for table in _TABLES.values():
            yield from ((_noun(table), name) for name in getattr(self, table))


def _noun(table: str) -> str:
    return {"batches": "metric", "post_processors": "post-processor"}.get(table, table.removesuffix("s"))


# --- the package's own post-processors


def reclassify_nulls(
    results: Sequence[FieldResult], params: Mapping[str, Json], transformed: Transformed
) -> list[FieldResult]:
    """Count values that stand for "nothing" as not there (struct-extract-eval's post-processor of this name).

    `absent_values`: what stands for nothing (equal and of the same type); `both_absent_skip`: nothing on both sides
    is skipped, else a match. A result about the shape of a container holds no values to compare, so one that matches
    counts as null on both sides, as published; a wrong type stays wrong whatever null means.
    """
    blank, skip = params["absent_values"], bool(params["both_absent_skip"])

    def absent(value: Json) -> bool:
        return any(type(value) is type(one) and value == one for one in blank)

    def reclassified(result: FieldResult) -> FieldResult:
        if result.status not in COUNTED:
            return result
        gold, extracted = transformed(result)
        if result.metric == STRUCTURE and result.status in SCORED:
            no_gold = none = result.status is Status.MATCH and absent(None)
        elif result.status in _ONE_SIDED:  # null counts as absent, and what the other side has may as well
            is_null = absent(None) and (result.gold is None or result.extracted is None)
            no_gold = none = is_null and all(value is None or absent(value) for value in (gold, extracted))
        else:
            known = gold is not MISSING and extracted is not MISSING
            no_gold, none = known and absent(gold), known and absent(extracted)
        if no_gold and none:
            status, reason = Status.SKIPPED if skip else Status.MATCH, "nothing on either side"
        elif no_gold:
            status, reason = Status.HALLUCINATION, "gold has nothing here"
        elif none:
            status, reason = Status.OMISSION, "extracted has nothing here"
        else:
            return result
        passed = status is Status.MATCH
        return result._replace(status=status, score=float(passed), passed=passed, reason=reason)

    return [reclassified(result) for result in results]


_ONE_SIDED: Final = frozenset({Status.OMISSION, Status.HALLUCINATION})


def propagate_batch_errors(
    results: Sequence[FieldResult], params: Mapping[str, Json], transformed: Transformed
) -> list[FieldResult]:
    """Make every field of a metric undecided where one is: a judge or batch that failed once is trusted in nothing."""
    del params, transformed
    broken = {result.metric for result in results if result.status is Status.JUDGE_ERROR}
    return [
        result._replace(status=Status.JUDGE_ERROR, score=0.0, passed=False, reason="another field of its batch failed")
        if result.metric in broken and result.status in SCORED
        else result
        for result in results
    ]


POST_PROCESSORS: Final[Mapping[str, PostSpec]] = {
    "reclassify_nulls": PostSpec(
        name="reclassify_nulls",
        process=reclassify_nulls,
        params=(
            Param(name="absent_values", check=any_list, doc="values that stand for nothing", default=[None]),
            Param(name="both_absent_skip", check=boolean, doc="skip what neither side has", default=True),
        ),
        doc="Values that stand for nothing count as not there.",
    ),
    "propagate_batch_errors": PostSpec(
        name="propagate_batch_errors",
        process=propagate_batch_errors,
        doc="One undecided field of a metric makes all of its fields undecided.",
    ),
}
