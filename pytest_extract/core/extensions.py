"""What a project adds by name: metrics, transforms, aligners, batch metrics and post-processors.

They are handed over as one argument; there is no registry to fill or to reset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pytest_extract.core.metrics.base import MetricSpec, Param, TransformSpec
from pytest_extract.core.results import FieldResult
from pytest_extract.core.values import Json

Pairs: TypeAlias = Sequence[tuple[int, int]]
Transformed: TypeAlias = Callable[[FieldResult], tuple[Json, Json]]
"""A result -> its gold and extracted value as the metric saw them; (MISSING, MISSING) for a whole container."""


class Aligner(Protocol):
    """Pairs the rows of two lists: index pairs (gold, extracted), each index at most once."""

    def __call__(self, gold: list[Json], extracted: list[Json], params: Mapping[str, Json], /) -> Pairs:
        """Return the pairs; what is in none is missing or invented."""
        ...


class PostProcessor(Protocol):
    """Rewrites a document's leaf results after scoring, before any number is made of them."""

    def __call__(
        self, results: Sequence[FieldResult], params: Mapping[str, Json], transformed: Transformed, /
    ) -> Sequence[FieldResult]:
        """Return the results to keep, one for each given, in the same order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMetric:
    """A metric that sees several fields at once.

    With `fields`, siblings of these names are compared as one: `compare` is called once an object with
    [(gold members, extracted members)]; `primary` (default: the first) gets the score, the others are skipped.
    Without, `compare` is called once a document with all (gold, extracted) values of the fields that name it.
    It returns a score in [0, 1] or None (not decided) for each pair; what raises or falls short breaks the fields.
    """

    name: str
    compare: Callable[[Sequence[tuple[Json, Json]]], Sequence[float | None]]
    fields: tuple[str, ...] = ()
    primary: str | None = None
    threshold: float = 1.0
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignerSpec:
    """A custom aligner and the parameters that it takes."""

    name: str
    align: Aligner
    params: tuple[Param, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostSpec:
    """A post-processor and the parameters that it takes."""

    name: str
    process: PostProcessor
    params: tuple[Param, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """Everything that a project adds, by name; a name that the package has already is taken over."""

    metrics: Mapping[str, MetricSpec] = field(default_factory=dict)
    transforms: Mapping[str, TransformSpec] = field(default_factory=dict)
    aligners: Mapping[str, AlignerSpec] = field(default_factory=dict)
    batches: Mapping[str, BatchMetric] = field(default_factory=dict)
    post_processors: Mapping[str, PostSpec] = field(default_factory=dict)
