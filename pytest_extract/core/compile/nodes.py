"""A compiled schema: one small frozen node per place, with names resolved and defaults filled in.

Scoring dispatches on the node's type and reads nothing else; whatever the semantics decide for a place is decided here.
Nodes are named tuples because a schema has many, and a frozen dataclass takes three times as long to make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.extensions import BatchMetric, PostSpec
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.results import Judge
from pytest_extract.core.schema.tree import SchemaNode
from pytest_extract.core.semantics import Semantics
from pytest_extract.core.values import AnyKey, FieldStep, Json, Regex, Value, json_type

Transform: TypeAlias = Callable[[Json], Json]
"""All transforms of a field in order; raises ValueError, saying why, where one does not apply."""
NO_OPTIONS: Final[Mapping[str, Any]] = {}
NamedMetric: TypeAlias = tuple[str, Mapping[str, Json], float]
"""A metric as results name it: name, parameters, weight."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldMetric:
    """One comparison of a field: metric, threshold, weight, and what is done to both values before.

    `likeness`: how alike two values are for pairing rows, where `metric` itself asks a judge.
    """

    metric: BoundMetric
    threshold: float = 1.0
    weight: float = 1.0
    transform: Transform | None = None
    batch: BatchMetric | None = None
    likeness: BoundMetric | None = None

    @property
    def named(self) -> NamedMetric:
        """What results say of it."""
        return self.metric.name, self.metric.params, self.weight


class Leaf(NamedTuple):
    """A value that is compared as one.

    field: its results are field results too (it stands outside arrays).
    types: JSON types that the schema declares, where another type is a mismatch whatever the metric says.
    by_type: the leaf for each JSON type of gold's value, where the schema does not say one; under "", for others.
    structure: the node of what is below, for a container that one side lacks (where the semantics count its leaves).
    empty_absent: it is an array, of which `[]` counts as absent.
    """

    pattern: str
    checks: tuple[FieldMetric, ...] = ()
    field: bool = True
    types: frozenset[str] | None = None
    by_type: Mapping[str, Leaf] | None = None
    structure: Node | None = None
    empty_absent: bool = False
    skipped: bool = False

    def for_value(self, value: Value) -> Leaf:
        """Return the leaf that scores a value of gold."""
        return self if self.by_type is None else self.by_type.get(json_type(value), self.by_type[""])

    @property
    def has_only_checks(self) -> bool:
        """Whether nothing but `checks`, each by itself, scores it, whatever the values are."""
        is_plain = self.by_type is None and self.structure is None and not self.empty_absent
        return is_plain and all(check.batch is None for check in self.checks)


class Skip(NamedTuple):
    """A place that is not scored. `always`: has a skipped result even where both sides lack it; `never`: has none.

    `asked`: the configuration says so in as many words, and is not only one without metrics.
    """

    pattern: str
    field: bool = True
    always: bool = False
    never: bool = False
    asked: bool = True
    skipped: bool = True


class Object(NamedTuple):
    """An object scored property by property.

    checks: metrics on the object itself; `descend`: its properties are scored as well.
    extra: what keys that nothing declares are: compared with gold's, hallucinations, or ignored.
    other: the node of such keys where the schema or the semantics have one.
    """

    pattern: str
    properties: Mapping[str, Node]
    patterns: tuple[tuple[Regex, Node], ...] = ()
    other: Node | None = None
    extra: Literal["compare", "hallucinate", "ignore"] = "ignore"
    checks: tuple[FieldMetric, ...] = ()
    descend: bool = True
    groups: tuple[BatchMetric, ...] = ()
    field: bool = True
    skipped: bool = False

    def node_of(self, name: str) -> Node | None:
        """Return what scores a key; None where the schema says nothing of it."""
        declared = self.properties.get(name)
        return declared or next((child for regex, child in self.patterns if regex.search(name)), self.other)


AlignMode: TypeAlias = Literal["position", "key", "best_fit", "multiset", "judge", "custom"]


class Align(NamedTuple):
    """How the rows of an array are paired; `custom` is the function of a custom aligner, parameters bound."""

    mode: AlignMode
    key: tuple[str, ...] = ()
    key_cutoff: float | None = None
    custom: Callable[[list[Json], list[Json]], Any] | None = None
    instructions: str = ""
    judge: str = ""
    options: Mapping[str, Json] = NO_OPTIONS
    metrics: Mapping[str, str] = NO_OPTIONS


class ArrayMetric(NamedTuple):
    """The one result that an array gives: which number, and from where on it passes."""

    named: NamedMetric
    number: Literal["f1", "recall"]
    threshold: float


class Array(NamedTuple):
    """An array whose rows are paired and then scored.

    prefix: the nodes of a tuple's places; `items`: of all rows after them.
    result: the array's own result, None where its rows speak for themselves.
    checks: further metrics that compare the two lists as one value.
    empty_absent: whether `[]` counts as absent. `wrap`: a value that is no list counts as a list of it.
    """

    pattern: str
    items: Node
    align: Align
    prefix: tuple[Node, ...] = ()
    result: ArrayMetric | None = None
    checks: tuple[FieldMetric, ...] = ()
    field: bool = True
    empty_absent: bool = True
    wrap: bool = False
    skipped: bool = False

    def row(self, index: int) -> Node:
        """Return what scores the row at this place."""
        return self.prefix[index] if index < len(self.prefix) else self.items


class Union(NamedTuple):
    """Alternatives of an `anyOf`, `oneOf` or type list: the first that fits gold scores."""

    pattern: str
    branches: tuple[tuple[SchemaNode, Node], ...]
    field: bool = True
    skipped: bool = False


@dataclass(eq=False)
class RecursiveRef:
    """A place inside a recursive schema: compiled when a document reaches it, then kept."""

    compile: Callable[[], Node]
    pattern: str
    field: bool
    skipped: bool = False

    @cached_property
    def node(self) -> Node:
        """The compiled node."""
        return self.compile()


Choice: TypeAlias = Union | RecursiveRef
"""What is opened before a value is scored."""
Node: TypeAlias = Leaf | Skip | Object | Array | Union | RecursiveRef


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """A compiled schema: its root, its semantics, and what every scoring with it needs.

    patterns: the places that were compiled ahead of any document, in the schema's order.
    enumerations: those of them whose values the schema lists (`enum`, `const`).
    added: patterns of places whose field results, and those below them, the published system does not have.
    judged: whether a judge may be needed. `judges`: the project's own that fields name, by name.
    fits: whether a value fits a schema node, to choose between the branches of a union.
    """

    root: Node
    semantics: Semantics
    patterns: Mapping[str, Node]
    judged: bool
    enumerations: frozenset[str] = frozenset()
    added: tuple[str, ...] = ()
    judges: Mapping[str, Judge] = field(default_factory=dict)
    post_processors: tuple[tuple[PostSpec, Mapping[str, Json]], ...] = ()
    fits: Callable[[SchemaNode, Json], bool]


def nodes_at(node: Node, steps: tuple[FieldStep, ...], *, ignored: bool = False) -> Iterator[Node]:
    """Yield every node that a field's path leads to, choices opened; `ignored`: also of keys that nothing scores."""
    while isinstance(node, RecursiveRef):
        node = node.node
    if isinstance(node, Union):
        for _, branch in node.branches:
            yield from nodes_at(branch, steps, ignored=ignored)
    elif not steps:
        yield node
    else:
        for below in _below(node, steps[0], ignored=ignored):
            yield from nodes_at(below, steps[1:], ignored=ignored)


def _below(node: Node, step: FieldStep, *, ignored: bool) -> Iterator[Node]:
    match node:
        case Object() if isinstance(step, str | AnyKey):
            if isinstance(step, str) and step in node.properties:
                yield node.properties[step]
            if ignored or node.extra != "ignore":
                yield from (child for regex, child in node.patterns if isinstance(step, AnyKey) or regex.search(step))
            if node.other is not None and step not in node.properties:
                yield node.other
        case Array() if not isinstance(step, str | AnyKey):
            yield from node.prefix if step is None else node.prefix[step : step + 1] if step >= 0 else ()
            yield node.items
        case Leaf() if node.structure is not None:
            yield from _below(node.structure, step, ignored=ignored)
