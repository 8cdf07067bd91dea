"""What lists inside rows hold, leaf by leaf: equal lists are seen at once, and a score is bounded without pairing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, Node, Object, Skip
from pytest_extract.core.engine.context import ScoringContext, is_present
from pytest_extract.core.engine.leaf import transformed
from pytest_extract.core.matching.columns import Content, strict_key
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import MISSING, Json, Missing

ABSENT: Final = -1
"""Code of what is not there."""
_NOTHING: Final[dict[str, Any]] = {}


class IrregularError(Exception):
    """A value is not scored leaf by leaf: it is of the wrong kind, or a union, a batch or an aligner scores it."""


class _Leaves:
    """Leaves of one list: their codes, and of lists inside what they weigh; `depth`: lists that may still be inside."""

    __slots__ = ("codes", "depth", "exact", "floor", "gold", "inexact", "weight")

    def __init__(self, depth: int, *, gold: bool) -> None:
        self.depth, self.gold = depth, gold
        self.codes: list[int] = []
        self.weight = self.floor = 0.0
        self.exact: dict[int, float] = {}
        self.inexact: dict[int, float] = {}

    def add(self, content: Content) -> None:
        self.weight += content.weight
        self.floor += content.floor
        for own, more in ((self.exact, content.exact), (self.inexact, content.inexact)):
            for name, weight in more.items():
                own[name] = own.get(name, 0.0) + weight


class _LeafKind(NamedTuple):
    """What all leaves of one code have in common; `name`: what a leaf must share to match."""

    name: int
    weight: float
    exact: bool
    counts: bool


class Contents:
    """The contents of the lists of one scoring; each list is read once, each distinct leaf is looked at once."""

    def __init__(self, run: ScoringContext) -> None:
        self._run = run
        self._numbers: dict[Hashable, int] = {}
        self._codes: dict[int, dict[Hashable, int]] = {}
        self._kinds: dict[int, _LeafKind] = {}
        # with the list itself, so that no other list gets its id
        self._lists: dict[tuple[int, int, bool], tuple[Json, Content]] = {}

    def of(self, array: Array, value: Json | Missing, depth: int, *, gold: bool) -> Content | None:
        """Return what a list holds; None where there is none. Raise IrregularError where it is not known."""
        if value is None and self._run.free:
            raise IrregularError
        if not is_present(value) or (value == [] and array.empty_absent):
            return None
        if type(value) is not list or not value or depth <= 0:
            raise IrregularError
        known = self._lists.get((id(array), id(value), gold))
        if known is not None:
            return known[1]
        items = array.items
        if not self._is_regular(array) or (isinstance(items, Object) and not all(value)):
            raise IrregularError
        leaves = _Leaves(depth, gold=gold)
        codes = [self._number_of(code) for code in self._value_codes(items, value, leaves)]
        key = (id(array), *(codes if array.align.mode == "position" else sorted(codes)))
        for code, count in Counter(leaves.codes).items():
            if code != ABSENT:
                kind = self._kinds[code]
                weight = kind.weight * count
                own = leaves.exact if kind.exact else leaves.inexact
                own[kind.name] = own.get(kind.name, 0.0) + weight
                leaves.weight += weight
                leaves.floor += weight if kind.counts else 0.0
        found = Content(self._number_of(key), leaves.weight, leaves.floor, leaves.exact, leaves.inexact)
        self._lists[id(array), id(value), gold] = value, found
        return found

    def _is_regular(self, array: Array) -> bool:
        """Whether a list is scored by nothing but its elements, each with one other at most, equal ones first."""
        if array.prefix or array.checks or array.wrap:
            return False
        mode = array.align.mode
        if mode in ("best_fit", "judge"):
            return True
        if mode == "multiset" and isinstance(array.items, Leaf) and len(array.items.checks) == 1:
            check = array.items.checks[0]
            if check.likeness is None and check.metric.key is not None:
                return True
        rules = self._run.rules
        return mode in ("position", "key") and not (self._run.free or rules.accept or rules.absent)

    def _number_of(self, code: Hashable) -> int:
        return self._numbers.setdefault(code, len(self._numbers))

    def _value_codes(self, node: Node, values: Sequence[Json | Missing], leaves: _Leaves) -> Sequence[Hashable]:
        """Add the leaves of some values of one node; return a code for each value, the same for the same content."""
        if isinstance(node, Leaf):
            return self._leaf_codes(node, values, leaves)
        if isinstance(node, Skip) or not any(map(is_present, values)):
            return [ABSENT] * len(values)
        if isinstance(node, Object):
            return self._object_codes(node, values, leaves)
        if not isinstance(node, Array):
            raise IrregularError
        codes = []
        for value in values:
            content = self.of(node, value, leaves.depth - 1, gold=leaves.gold)
            if content is not None:
                leaves.add(content)
            codes.append(ABSENT if content is None else content.key)
        return codes

    def _object_codes(self, node: Object, values: Sequence[Json | Missing], leaves: _Leaves) -> Sequence[Hashable]:
        if node.groups or node.checks:
            raise IrregularError
        rows = [_NOTHING if value is None or value is MISSING else value for value in values]
        if not {dict}.issuperset(map(type, rows)) or {} in values:
            raise IrregularError
        columns: list[Sequence[Hashable]] = [
            self._value_codes(entry.node, [row.get(entry.name, MISSING) for row in rows], leaves)
            for entry in node.entries
        ]
        if node.extra != "ignore" and not all(row.keys() <= node.names for row in rows):
            if self._run.free or node.extra == "compare":
                raise IrregularError
            undeclared = [len(row.keys() - node.names) for row in rows]
            leaves.weight += 0.0 if leaves.gold else sum(undeclared)
            columns.append([object() if count else ABSENT for count in undeclared])
        return [*zip(*columns, strict=True)] if columns else [ABSENT] * len(values)

    def _leaf_codes(self, leaf: Leaf, values: Sequence[Json | Missing], leaves: _Leaves) -> Sequence[Hashable]:
        if leaf.by_type is not None or leaf.structure is not None or leaf.empty_absent or not leaf.checks:
            raise IrregularError
        columns = []
        for check in leaf.checks:
            known = self._codes.setdefault(id(check), {})
            try:
                codes = [known[name] for name in zip(map(type, values), values, strict=True)]
            except (KeyError, TypeError):
                codes = []
                for value in values:
                    name = strict_key(value)
                    if name not in known:
                        known[name] = self._leaf_code(leaf, check, value)
                    codes.append(known[name])
            leaves.codes += codes
            columns.append(codes)
        return columns[0] if len(columns) == 1 else [*zip(*columns, strict=True)]

    def _leaf_code(self, leaf: Leaf, check: FieldMetric, value: Json | Missing) -> int:
        """Return the number of a leaf value, the same for values that match."""
        if value is MISSING or (self._run.absent and value is None):
            return ABSENT
        if check.batch is not None:
            raise IrregularError
        if leaf.types is not None and value is not None and not type_fits(leaf.types, value):
            raise IrregularError
        metric = check.metric if check.likeness is None else check.likeness
        value = transformed(check, value, MISSING)[0][0]
        if self._run.absent and value is None:
            return ABSENT
        key = strict_key(value) if metric.key is None else metric.key(value)
        equals_itself = metric.reflexive if metric.key is None else key == metric.key(value)
        code = self._number_of((id(check), key) if equals_itself else object())
        exact = metric.key is not None
        name = code if exact else self._number_of((id(check), "inexact"))
        self._kinds[code] = _LeafKind(name, check.weight, exact, metric is check.metric and not metric.judged)
        return code
