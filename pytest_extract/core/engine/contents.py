"""What lists inside rows hold, property by property: it bounds what two of them score, whatever is paired inside."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any, Final

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, Node, Object, Skip
from pytest_extract.core.engine.context import ScoringContext, is_present
from pytest_extract.core.engine.leaf import transformed
from pytest_extract.core.engine.table import ABSENT
from pytest_extract.core.matching.columns import Content, LeafColumn, bag, strict_keys
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.metrics.equality import keys_of
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import MISSING, Json, Value

DEEPEST_TRIAL: Final = 16
"""Alignments inside alignments; what is nested deeper counts in the choice of rows as one value."""
_LISTS: Final = ABSENT | {list}
_OBJECTS: Final = ABSENT | {dict}
_NOTHING: Final[dict[str, Any]] = {}


class IrregularError(Exception):
    """A value is not scored leaf by leaf: it is of the wrong kind, or a union, a batch or an aligner scores it."""


def contents_of(run: ScoringContext, array: Array, values: Sequence[Value], *, gold: bool) -> list[Content | None]:
    """Return what the lists of some rows hold; None where there is none. Raise IrregularError if it is unknown."""
    reader = ContentReader(run, gold=gold, keyed=True)
    keys = reader.read(array, values, range(len(values) + 1))
    return [None if key is MISSING else Content(key, reader.columns, row) for row, key in enumerate(keys)]


class ContentReader:
    """Reads values of rows, column by column: `columns` are their leaves, in the order of the schema.

    `keyed`: whether lists get keys, as leaves do. `judged`: whether a judge scores or pairs some of what they hold.
    """

    def __init__(self, run: ScoringContext, *, gold: bool, keyed: bool = False) -> None:
        self._run = run
        self._gold = gold
        self._keyed = keyed
        self._depth = DEEPEST_TRIAL - run.depth
        self.columns: list[LeafColumn] = []
        self.judged = False

    def read(self, node: Node, values: Sequence[Value], ends: Sequence[int]) -> Sequence[Hashable]:
        """Return a key for each value, the same for values that match in every leaf; MISSING for what is not there.

        `ends`: where the values of each row end, after the 0 at which the first row's begin.
        """
        if isinstance(node, Leaf):
            return self._leaves(node, values, ends)
        if isinstance(node, Object):
            return self._objects(node, values, ends)
        if isinstance(node, Array):
            return self._lists(node, values, ends)
        if isinstance(node, Skip):
            return [MISSING] * len(values)
        raise IrregularError

    def _lists(self, array: Array, values: Sequence[Value], ends: Sequence[int]) -> Sequence[Hashable]:
        known = _LISTS - {type(None)} if self._run.empty_is_free else _LISTS
        if not known.issuperset(map(type, values)) or ([] in values and not array.empty_absent):
            raise IrregularError
        if self._depth <= 0 or not self._is_regular(array):
            raise IrregularError
        lists = [value if isinstance(value, list) else [] for value in values]
        self._depth -= 1
        stops = [*accumulate(map(len, lists), initial=0)]
        items = [*chain.from_iterable(lists)]
        if isinstance(array.items, Object) and not all(items):
            raise IrregularError
        keys = self.read(array.items, items, [stops[end] for end in ends])
        self._depth += 1
        if not self._keyed:
            return ()
        slices = [keys[start:end] for start, end in pairwise(stops)]
        if array.align.mode == "position":
            return [tuple(own) if own else MISSING for own in slices]
        return [frozenset(bag(own)) if own else MISSING for own in slices]

    def _is_regular(self, array: Array) -> bool:
        """Whether a list is scored by nothing but its elements, each with one other at most, equal ones first."""
        if array.prefix or array.checks or array.wrap:
            return False
        mode = array.align.mode
        self.judged = self.judged or mode == "judge"
        if mode in ("best_fit", "judge"):
            return True
        if mode == "multiset" and isinstance(array.items, Leaf) and len(array.items.checks) == 1:
            check = array.items.checks[0]
            if check.likeness is None and check.metric.key is not None:
                return True
        rules = self._run.rules
        return mode in ("position", "key") and not (self._run.empty_is_free or rules.accept or rules.absent)

    def _objects(self, node: Object, values: Sequence[Value], ends: Sequence[int]) -> Sequence[Hashable]:
        if node.groups or node.checks:
            raise IrregularError
        kinds = {*map(type, values)}
        if not kinds <= _OBJECTS or {} in values:
            raise IrregularError
        rows: Any = values if kinds == {dict} else [value if type(value) is dict else _NOTHING for value in values]
        columns = [
            self.read(entry.node, [row.get(entry.name, MISSING) for row in rows], ends) for entry in node.entries
        ]
        if node.extra != "ignore":
            columns.append(self._undeclared(node, rows, ends))
        return [*zip(*columns, strict=True)] if columns and self._keyed else [MISSING] * len(values)

    def _undeclared(self, node: Object, rows: Sequence[dict[str, Json]], ends: Sequence[int]) -> Sequence[Hashable]:
        """Count the keys that the schema does not have: those of an output match nothing of a gold that has none."""
        sizes = [0] * (len(ends) - 1)
        found: Sequence[Hashable] = [MISSING] * len(rows)
        if not all(map(node.names.issuperset, rows)):
            strict = node.extra == "compare" or self._run.empty_is_free
            if strict and (self._gold or self._run.empty_is_free or node.other is not None or node.patterns):
                raise IrregularError
            found = [object() if row.keys() - node.names else MISSING for row in rows]
            if not self._gold:
                counted = node.extra == "hallucinate"
                own = [sum(counted or is_present(row[name]) for name in row.keys() - node.names) for row in rows]
                sizes = [sum(own[start:end]) for start, end in pairwise(ends)]
        self.columns.append(LeafColumn(sizes, 1.0, None, counts=True))
        return found

    def _leaves(self, leaf: Leaf, values: Sequence[Value], ends: Sequence[int]) -> Sequence[Hashable]:
        if not (leaf.has_only_checks and leaf.checks):
            raise IrregularError
        found = [self._leaf(leaf, check, values, ends) for check in leaf.checks]
        return found[0] if len(found) == 1 or not self._keyed else [*zip(*found, strict=True)]

    def _leaf(self, leaf: Leaf, check: FieldMetric, values: Sequence[Value], ends: Sequence[int]) -> Sequence[Hashable]:
        metric = check.likeness or check.metric
        if check.batch is not None or (self._keyed and not are_typed(leaf, values)):
            raise IrregularError
        if check.transform is not None:
            values = [transformed(check, value, MISSING)[0][0] for value in values]
        absent = ABSENT if self._run.absent else ABSENT - {type(None)}
        has_gaps = not absent.isdisjoint(map(type, values))
        there = [value for value in values if type(value) not in absent] if has_gaps else values
        keys = _keys_of(metric, there) if self._keyed else ()
        read = (lambda: keys) if self._keyed else partial(_keys_of, metric, there)
        counts = check.likeness is None and not metric.judged
        self.judged = self.judged or not counts
        sizes = [end - start for start, end in pairwise(ends)]
        if has_gaps:
            sizes = [sum([type(value) not in absent for value in values[start:end]]) for start, end in pairwise(ends)]
        self.columns.append(LeafColumn(sizes, check.weight, None if metric.key is None else read, counts=counts))
        if not self._keyed:
            return ()
        waiting = iter(keys)
        return [MISSING if type(value) in absent else next(waiting) for value in values]


def _keys_of(metric: BoundMetric, values: Sequence[Json]) -> Sequence[Hashable]:
    """Return the keys of leaves, the same for those that match; of a metric that is no equality, for equal ones."""
    if metric.key is None:
        return strict_keys(values)[0] if metric.reflexive else [object() for _ in values]
    keys = keys_of(metric.key, values)
    if metric.reflexive:
        return keys
    return [key if key == metric.key(value) else object() for key, value in zip(keys, values, strict=True)]


def are_typed(leaf: Leaf, values: Sequence[Value]) -> bool:
    """Whether no value is of a type that the schema rules out."""
    types = leaf.types
    return types is None or all(not is_present(value) or type_fits(types, value) for value in values)
