"""A compiled schema: one small frozen node per place, with names resolved and defaults filled in.

Scoring dispatches on the node's type and reads nothing else; whatever the semantics decide for a place is decided here.
Nodes are named tuples because a schema has many, and a frozen dataclass takes three times as long to make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain, cycle, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.extensions import BatchMetric, PostSpec
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.results import Judge
from pytest_extract.core.schema.tree import SchemaNode
from pytest_extract.core.semantics import Semantics
from pytest_extract.core.values import MISSING, FieldPath, Json, Step
from pytest_extract.lazy import dataclass

if TYPE_CHECKING:
    from pytest_extract.core.regex import Regex

Transform: TypeAlias = Callable[[Json], Json]
"""All transforms of a field in order; raises ValueError, saying why, where one does not apply."""
SCALARS: Final = frozenset({str, int, float, bool})
NOTHING: Final[frozenset[type]] = frozenset()
NO_OPTIONS: Final[Mapping[str, Any]] = {}
NamedMetric: TypeAlias = tuple[str, Mapping[str, Json], float]
"""A metric as results name it: name, parameters, weight."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldMetric:
    """One comparison of a field: metric, threshold, weight, and what is done to both values before.

    `fast`: types whose equal values match without calling anything.
    `likeness`: how alike two values are for pairing rows, where `metric` itself asks a judge or may break.
    `named`: what results say of it.
    """

    metric: BoundMetric
    threshold: float = 1.0
    weight: float = 1.0
    transform: Transform | None = None
    fast: frozenset[type] = NOTHING
    batch: BatchMetric | None = None
    likeness: BoundMetric | None = None
    named: NamedMetric = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "named", (self.metric.name, self.metric.params, self.weight))


class Leaf(NamedTuple):
    """A value that is compared as one.

    field: its results are field results too (it stands outside arrays).
    types: JSON types that the schema declares, where another type is a mismatch whatever the metric says.
    by_type: checks by the gold value's JSON type, where the schema does not say one; then `checks` is for the rest.
    structure: the node of what is below, for a container that one side lacks (where the semantics count its leaves).
    empty_absent: it is an array, of which `[]` counts as absent.
    """

    pattern: str
    checks: tuple[FieldMetric, ...] = ()
    field: bool = True
    types: frozenset[str] | None = None
    by_type: Mapping[str, tuple[FieldMetric, ...]] | None = None
    structure: Node | None = None
    empty_absent: bool = False
    skipped: bool = False

    @property
    def has_only_checks(self) -> bool:
        """Whether nothing but `checks` scores it, whatever the values are."""
        return self.by_type is None and self.structure is None and not self.empty_absent


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


class TableColumn(NamedTuple):
    """A declared property. The slots after `node` are set where it is a leaf with one plain metric, the usual case."""

    name: str
    node: Node
    pattern: str
    metric: str
    params: Mapping[str, Json]
    weight: float
    fast: frozenset[type]


Property: TypeAlias = tuple[int, str, "Node", frozenset[type], str, str, Mapping[str, Json], float]
"""Place, name, node, `fast`, pattern, metric, parameters and weight of a column, for the walk and for what it keeps.

A plain tuple is taken apart in a third of a named one's time.
"""


def properties_of(columns: Iterable[TableColumn]) -> tuple[Property, ...]:
    """Return what the walk reads of columns."""
    found = []
    for place, (name, node, pattern, metric, params, weight, fast) in enumerate(columns):
        found.append((place, name, node, fast, pattern, metric, params, weight))
    return tuple(found)


class FlatTable(NamedTuple):
    """The properties of an object that has plain leaves only, laid out to be compared and kept all at once.

    `weight`: of all of them, 0.0 where one has none.
    `unsure`: the columns where equal values surely match only if they are of these types, which are not all scalars.
    `likeness`: what compares them where rows are paired; None where values are transformed before.
    """

    weights: tuple[float, ...]
    unsure: tuple[tuple[int, frozenset[type]], ...]
    leaves: tuple[Leaf, ...]
    weight: float
    likeness: tuple[BoundMetric | None, ...]

    @classmethod
    def of(cls, columns: Sequence[TableColumn]) -> FlatTable:
        """Return columns, each of a plain leaf, as a table."""
        leaves: tuple[Any, ...]
        _, leaves, _, _, _, weights, fast = zip(*columns, strict=True)
        unsure = tuple((index, kinds | {type(None)}) for index, kinds in enumerate(fast) if not kinds >= SCALARS)
        checks = [leaf.checks[0] for leaf in leaves]
        likeness = tuple(None if check.transform is not None else check.likeness or check.metric for check in checks)
        return cls(weights, unsure, leaves, sum(weights) if all(weights) else 0.0, likeness)


MOST_PLACES: Final = 16_384
"""Paths that one node keeps, some two megabytes."""
MOST_PARTS: Final = 16
"""Choices of its properties that one object keeps."""


def _picker(names: tuple[str, ...]) -> Callable[[Any], tuple[Json, ...]]:
    if len(names) == 1:  # `itemgetter` gives one value as it is
        name = names[0]
        return lambda row: (row[name],)
    return itemgetter(*names) if names else lambda _: ()


class FlatPaths:
    """Names of an object's properties, and their paths by the object's own: the same in every document, so made once.

    latest: that path and those of its properties when last asked for. An object outside arrays has no other, and a path
    takes long to hash.
    pick: takes the values of the properties from an object that has them all; KeyError for any other.
    """

    __slots__ = ("_kept", "_room", "_tables", "latest", "names", "parts", "pick")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.pick = _picker(names)
        self.parts: dict[tuple[str, ...], Object | None] = {}  # None: the object itself, without a circle
        self._room = MOST_PLACES
        self._kept: dict[tuple[Step, ...], tuple[FieldPath, ...]] = {}
        self._tables: dict[tuple[Step, ...], tuple[FieldPath, ...]] = {}
        self.latest: tuple[tuple[Step, ...] | None, tuple[FieldPath, ...]] = None, ()

    def values(self, gold: dict[str, Json]) -> tuple[Json, ...]:
        """Return the values of the properties, None where there is none."""
        try:
            return self.pick(gold)
        except KeyError:
            return tuple(map(gold.get, self.names))

    def of(self, path: tuple[Step, ...]) -> tuple[FieldPath, ...]:
        """Return the paths below `path`."""
        found = self._kept.get(path)
        if found is None:
            found = tuple([FieldPath((*path, name)) for name in self.names])
            self._keep(self._kept, path, found)
        self.latest = path, found
        return found

    def table(self, path: tuple[Step, ...], rows: int) -> tuple[FieldPath, ...]:
        """Return the paths of all properties of an array's first rows, one row after the other."""
        size = rows * len(self.names)
        found = self._tables.get(path, ())
        if len(found) < size:
            numbers = chain.from_iterable(map(repeat, range(rows), repeat(len(self.names))))
            found = tuple(map(FieldPath, zip(*map(repeat, path), numbers, cycle(self.names), strict=False)))
            self._keep(self._tables, path, found)
        return found if len(found) == size else found[:size]

    def _keep(
        self,
        table: dict[tuple[Step, ...], tuple[FieldPath, ...]],
        path: tuple[Step, ...],
        found: tuple[FieldPath, ...],
    ) -> None:
        if len(found) <= self._room:
            self._room -= len(found)
            table[path] = found


class ElementPaths(FlatPaths):
    """Paths of an array's elements that are plain values, by the array's path: a table of one column."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(("",))

    def table(self, path: tuple[Step, ...], rows: int) -> tuple[FieldPath, ...]:
        """Return the paths of an array's first elements."""
        found = self._tables.get(path, ())
        if len(found) < rows:
            found = tuple(map(FieldPath, zip(*map(repeat, path), range(rows), strict=False)))
            self._keep(self._tables, path, found)
        return found if len(found) == rows else found[:rows]


class Object(NamedTuple):
    """An object scored property by property.

    checks: metrics on the object itself; `descend`: its properties are scored as well.
    extra: what keys that nothing declares are: compared with gold's, hallucinations, or ignored.
    other: the node of such keys where the schema or the semantics have one.
    properties, places, bulk: what makes the walk fast.
    """

    pattern: str
    entries: tuple[TableColumn, ...]
    properties: tuple[Property, ...]
    names: frozenset[str]
    places: FlatPaths
    bulk: FlatTable | None = None
    patterns: tuple[tuple[Regex, Node], ...] = ()
    other: Node | None = None
    extra: Literal["compare", "hallucinate", "ignore"] = "ignore"
    checks: tuple[FieldMetric, ...] = ()
    descend: bool = True
    groups: tuple[BatchMetric, ...] = ()
    field: bool = True
    skipped: bool = False

    def part(self, names: Iterable[str]) -> Object:
        """Return the object with those of its properties only that are among these, two at least."""
        names = (*names,)
        parts = self.places.parts
        found = parts.get(names, MISSING)
        if found is MISSING:
            columns = tuple([entry for entry in self.entries if entry.name in names])
            found = None
            if 2 <= len(columns) < len(self.entries):
                own = tuple([column.name for column in columns])
                table = FlatTable.of(columns)
                properties = properties_of(columns)
                found = self._replace(entries=columns, properties=properties, places=FlatPaths(own), bulk=table)
            if len(parts) >= MOST_PARTS:
                parts.clear()
            parts[names] = found
        return found or self


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

    @property
    def shown_params(self) -> Mapping[str, Json]:
        """The alignment as results show it."""
        return {"align": self.mode, **({"key": list(self.key)} if self.key else {})}


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
    equal_first: whether lists that look equal are tried row by row before anything else.
    table: its rows as flat objects, all compared at once: `items`, or an object of one column where they are values.
    values: `table`, where they are values.
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
    equal_first: bool = True
    table: Object | None = None
    values: Object | None = None
    skipped: bool = False


class Union(NamedTuple):
    """Alternatives of an `anyOf`, `oneOf` or type list: the first that fits gold scores."""

    pattern: str
    branches: tuple[tuple[SchemaNode, Node], ...]
    field: bool = True
    skipped: bool = False


class RecursiveRef:
    """A place inside a recursive schema: compiled when a document reaches it, then kept."""

    __slots__ = ("_compile", "_node", "field", "pattern", "skipped")

    def __init__(self, compile_node: Callable[[], Node], pattern: str, *, field: bool) -> None:
        self._compile = compile_node
        self._node: Node | None = None
        self.pattern = pattern
        self.field = field
        self.skipped = False

    def node(self) -> Node:
        """Return the compiled node."""
        if self._node is None:
            self._node = self._compile()
        return self._node


Node: TypeAlias = Leaf | Skip | Object | Array | Union | RecursiveRef


class BoundPostProcessor(NamedTuple):
    """A post-processor with its parameters, defaults included."""

    spec: PostSpec
    params: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """A compiled schema: its root, its semantics, and what every scoring with it needs.

    patterns: the places that were compiled ahead of any document, in the schema's order.
    added: patterns of places whose field results, and those below them, the published system does not have.
    judged: whether a judge may be needed. `judges`: the project's own that fields name, by name.
    fits: whether a value fits a schema node, to choose between the branches of a union.
    """

    root: Node
    semantics: Semantics
    patterns: Mapping[str, Node]
    judged: bool
    added: tuple[str, ...] = ()
    judges: Mapping[str, Judge] = field(default_factory=dict)
    post_processors: tuple[BoundPostProcessor, ...] = ()
    fits: Callable[[SchemaNode, Json], bool]
