"""Builds the plan's nodes, one per place of the schema; the semantics' choices are made here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import itemgetter
from threading import RLock
from typing import Final

from pytest_extract.core.compile.array import array_plan
from pytest_extract.core.compile.bind import Binder
from pytest_extract.core.compile.nodes import (
    NOTHING,
    SCALARS,
    FieldMetric,
    FlatPaths,
    FlatTable,
    Leaf,
    Node,
    Object,
    RecursiveRef,
    Skip,
    TableColumn,
    Union,
)
from pytest_extract.core.extensions import BatchMetric
from pytest_extract.core.pattern import (
    ROOT,
    any_property_pattern,
    items_pattern,
    place_pattern,
    property_pattern,
)
from pytest_extract.core.schema.annotations import AlignUse, Annotation, Report
from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema, SchemaNode
from pytest_extract.core.semantics import Semantics

MOST_EAGER: Final = 20_000
DEEPEST_EAGER: Final = 60
_SCALAR_TYPES: Final = ("string", "number", "integer", "boolean", "null")


class Builder:
    """Compiles one schema. `patterns`: every place compiled so far; `judged`: whether any of them needs a judge."""

    def __init__(
        self,
        schema: Schema,
        semantics: Semantics,
        binder: Binder,
        overrides: Mapping[str, Annotation],
        report: Report,
    ) -> None:
        self.schema = schema
        self.semantics = semantics
        self.binder = binder
        self.report = report
        self.patterns: dict[str, Node] = {}
        self.judged = False
        self._overrides = overrides
        self._lazy: list[RecursiveRef] = []
        self._stack: list[tuple[Key, str]] = []
        self._lock = RLock()  # recursive places are compiled while scoring, which threads may do at once

    @property
    def published(self) -> bool:
        """Whether extract-bench's own rules for containers hold."""
        return self.semantics.name == "extract-bench"

    def build(self, key: Key, pattern: str, *, inside: bool = False) -> Node:
        """Compile the node of `key` at a place; `inside`: its results are no field results."""
        recursive = any(key == above for above, _ in self._stack)
        if recursive or len(self._stack) > DEEPEST_EAGER or len(self.patterns) > MOST_EAGER:
            lazy = RecursiveRef(lambda: self._fresh(key, pattern, inside=inside), pattern, field=not inside)
            self._lazy.append(lazy)
            return self.patterns.setdefault(pattern, lazy)
        return self._now(key, pattern, inside=inside)

    def _now(self, key: Key, pattern: str, *, inside: bool) -> Node:
        self._stack.append((key, pattern))
        try:
            plan = self._node(self.schema.node(key), pattern, inside=inside)
        finally:
            self._stack.pop()
        self.patterns[pattern] = plan
        return plan

    def _fresh(self, key: Key, pattern: str, *, inside: bool) -> Node:
        with self._lock:
            kept, self._stack = self._stack, []
            try:
                return self._now(key, pattern, inside=inside)
            finally:
                self._stack = kept

    def reach(self, pattern: str) -> bool:
        """Whether the pattern is a place of the schema; opens recursive places on the way to it."""
        if pattern == ROOT:
            return True
        while pattern not in self.patterns or isinstance(self.patterns[pattern], RecursiveRef):
            found = next((lazy for lazy in self._lazy if pattern.startswith(lazy.pattern)), None)
            if found is None:
                return pattern in self.patterns
            self._lazy.remove(found)
            found.plan()
        return True

    def said(self, node: SchemaNode, pattern: str) -> Annotation | None:
        """Return the configuration that holds at a place: the case's override, completed by the schema's own."""
        override = self._overrides.get(pattern)
        return node.annotation if override is None else override.over(node.annotation)

    def _node(self, node: SchemaNode, pattern: str, *, inside: bool) -> Node:
        said = self.said(node, pattern)
        override = self._overrides.get(pattern)
        bare = node.bare_union and (override is None or override.metrics is None)
        if self.published and (bare or "anyOf[" in pattern):
            # the published program never scores these; here they are leaf results
            inside = True
        if said is not None and said.skip:
            return self._skipped(node, said, pattern, inside=inside)
        if said is not None and said.align is not None:
            self._check_align(node, said.align)
        return self.structure(node, said, pattern, inside=inside)

    def _check_align(self, node: SchemaNode, align: AlignUse) -> None:
        """Only an array is aligned, and by key only one of objects."""
        types = self._types(node)
        if types and "array" not in types:
            self.report(f"only an array is aligned, and this is {' or '.join(types)}", align.where)
        elif align.mode == "key" and node.items is not None:
            rows = self._types(self.schema.node(node.items))
            if rows and "object" not in rows:
                self.report(
                    f"rows are aligned by key where they are objects; these are {' or '.join(rows)}", align.where
                )
        elif align.mode == "key" and types and not self.semantics.defaults and not node.branches:
            self.report("rows are aligned by key where `items` says what they are", align.where)

    def _types(self, node: SchemaNode) -> tuple[str, ...]:
        if not node.branches:
            return node.types
        return tuple(name for branch in node.branches for name in self._types(self.schema.node(branch)))

    def _skipped(self, node: SchemaNode, said: Annotation, pattern: str, *, inside: bool) -> Node:
        override = self._overrides.get(pattern)
        if override is not None and override.skip:
            self._place_below(node, pattern)
            return Skip(pattern=pattern, field=not inside)
        if self.semantics.name == "struct-extract-eval":
            # a skipped container is scored all the same where it is a row or the root, as published
            if self.has_children(node) and said.metrics is None:
                return replace(self.structure(node, said, pattern, inside=inside), skipped=True)  # type: ignore[type-var]
            return Skip(pattern=pattern, field=not inside, always=True)
        if self.published and said.dialect == "evaluation_config":
            unscored = replace(said, skip=None, metrics=None)
            if node.types == ("object",) and not node.via_union and self.has_children(node):
                return self.structure(node, unscored, pattern, inside=inside)
            return Skip(pattern=pattern, field=not inside, never=True)
        self._place_below(node, pattern)
        return Skip(pattern=pattern, field=not inside)

    def _place_below(self, node: SchemaNode, pattern: str) -> None:
        """Note the places below a skipped one, so that an override of them is no unknown field."""
        kept = self.judged, self.report
        self.report = lambda _message, _where: None
        self.structure(node, None, pattern, inside=True)
        self.judged, self.report = kept

    def has_children(self, node: SchemaNode) -> bool:
        """Whether a container is scored by what is in it."""
        if node.types == ("object",):
            further = node.patterns or isinstance(node.additional, tuple)
            return bool(node.properties or (further and self.semantics.name != "struct-extract-eval"))
        return node.types == ("array",) and (node.items is not None and self.schema.node(node.items).said)

    def structure(self, node: SchemaNode, said: Annotation | None, pattern: str, *, inside: bool) -> Node:
        """Compile a node that is not skipped."""
        checks = self.checks(said)
        whole = said is not None and said.metrics is not None
        if whole and not checks and said is not None:
            asks_for_none = node.types == ("array",) and said.align is None  # by `metrics: []`
            if said.metrics or asks_for_none:  # or all of its metrics were reported
                return Skip(pattern=pattern, field=not inside, never=True)
        aligned = self.published or any(check.metric.aligns for check in checks)
        if node.types == ("array",) or (aligned and checks and any(check.metric.aligns for check in checks)):
            plan = array_plan(self, node, said, checks, pattern, inside=inside)
            if plan is not None:
                return plan
        if node.types == ("object",) and self._is_object(node):
            if not checks or (self.published and not node.via_union):
                return self._object(node, checks, pattern, inside=inside)
            below = self._object(node, (), pattern, inside=inside)
            return self.leaf(node, checks, pattern, inside=inside, structure=below)
        if whole and said is not None:
            return self.leaf(node, checks, pattern, inside=inside)
        if node.branches or len(node.types) > 1:
            return self._choice(node, said, pattern, inside=inside)
        return self.default_leaf(node, said, pattern, inside=inside)

    def _is_object(self, node: SchemaNode) -> bool:
        return self.published or self.has_children(node)

    def checks(self, said: Annotation | None) -> tuple[FieldMetric, ...]:
        """Return the checks that a configuration names, transforms included."""
        if said is None or not said.metrics:
            return ()
        found = self.binder.with_transforms(self.binder.checks(said, self.report), said, self.report)
        return self.noted(found)

    def noted(self, checks: tuple[FieldMetric, ...]) -> tuple[FieldMetric, ...]:
        """Return the checks, having noted whether they need a judge."""
        self.judged = self.judged or any(check.metric.judged for check in checks)
        return checks

    def leaf(
        self,
        node: SchemaNode,
        checks: tuple[FieldMetric, ...],
        pattern: str,
        *,
        inside: bool,
        structure: Node | None = None,
    ) -> Node:
        """Compile a value that is compared as one."""
        listed = self.semantics.nulls == "absent" and node.types == ("array",)
        typed = self.published and node.types and not node.via_union
        if not checks:
            return Skip(pattern=pattern, field=not inside, never=True)
        return Leaf(
            pattern=pattern,
            checks=checks,
            field=not inside,
            types=frozenset(node.types) if typed else None,
            structure=structure if self.semantics.name == "struct-extract-eval" else None,
            empty_absent=listed and not (self.published and node.via_union),
        )

    def default_leaf(self, node: SchemaNode, said: Annotation | None, pattern: str, *, inside: bool) -> Node:
        """Compile a leaf without a metric of its own."""
        if not self.semantics.defaults and node.dangling is None:
            wanted = "`x-eval-compare`, or `x-eval-skip: true`"
            self.report(f"a leaf needs {wanted} under the semantics struct-extract-eval", node.pointer)
            return Skip(pattern=pattern, field=not inside, never=True)
        one = node.types[0] if node.types else "null" if node.nullable else None
        if one in _SCALAR_TYPES and one is not None:
            check = self.binder.default(one)
            checks = () if check is None else self.adjusted((check,), said)
            return self.leaf(node, checks, pattern, inside=inside)
        return self.anything(pattern, said, inside=inside)

    def adjusted(self, checks: tuple[FieldMetric, ...], said: Annotation | None) -> tuple[FieldMetric, ...]:
        """Return default checks with a configuration's transforms, weight and threshold."""
        if said is None:
            return self.noted(checks)
        checks = self.binder.with_transforms(checks, said, self.report)
        weight, threshold = said.weight, said.threshold
        return self.noted(
            tuple(
                replace(
                    check,
                    weight=check.weight if weight is None else weight,
                    threshold=check.threshold if threshold is None else threshold,
                )
                for check in checks
            )
        )

    def anything(self, pattern: str, said: Annotation | None = None, *, inside: bool) -> Leaf:
        """Compile a value of which the schema says nothing: compared by the type that gold has."""
        found = {name: self.binder.default(name) for name in _SCALAR_TYPES}
        by_type = {name: self.adjusted((check,), said) for name, check in found.items() if check is not None}
        exact = self.adjusted((self.binder.exact(),), said)
        return Leaf(pattern=pattern, checks=exact, by_type=by_type, field=not inside)

    def _choice(self, node: SchemaNode, said: Annotation | None, pattern: str, *, inside: bool) -> Node:
        if not node.branches:
            if not set(node.types) & {"object", "array"} or not self.semantics.defaults:
                if not self.semantics.defaults:
                    return self.default_leaf(node, said, pattern, inside=inside)
                return self.anything(pattern, said, inside=inside)
            options = [replace(node, types=(name,)) for name in node.types]
            plans = [(option, self.structure(option, said, pattern, inside=inside)) for option in options]
            return Union(pattern=pattern, branches=tuple(plans), field=not inside)
        # a branch that leads back to its own choice says nothing
        keys = [key for key in node.branches if (key, pattern) not in self._stack]
        built = [(self.schema.node(key), self.build(key, pattern, inside=inside)) for key in keys]
        if not built:
            return self.anything(pattern, said, inside=inside)
        return Union(pattern=pattern, branches=tuple(built), field=not inside)

    def _object(self, node: SchemaNode, checks: tuple[FieldMetric, ...], pattern: str, *, inside: bool) -> Object:
        entries = [
            _entry(name, _unscored(self.build(key, property_pattern(pattern, name), inside=inside)), field=not inside)
            for name, key in node.properties.items()
        ]
        further = any_property_pattern(pattern)
        patterns = tuple((regex, self.build(key, further, inside=inside)) for regex, key in node.patterns)
        other, extra = None, "ignore"
        if self.semantics.name == "struct-extract-eval":
            extra = "hallucinate"
        elif isinstance(node.additional, tuple):
            other, extra = self.build(node.additional, further, inside=inside), "compare"
        elif self.semantics.undeclared:
            extra = "compare"
        groups = {id(check.batch): check.batch for entry in entries for check in _batches(entry.plan) if check.batch}
        return Object(
            pattern=pattern,
            entries=tuple(entries),
            names=frozenset(node.properties),
            places=FlatPaths(tuple(node.properties)),
            bulk=None if checks else bulk(entries),
            patterns=patterns,
            other=other,
            extra=extra,  # type: ignore[arg-type]  # one of its three words
            checks=checks,
            descend=not any(check.metric.judged for check in checks),
            groups=tuple(group for group in groups.values() if self._whole(group, entries, node)),
            field=not inside,
        )

    def _whole(self, group: BatchMetric, entries: list[TableColumn], node: SchemaNode) -> bool:
        """Whether a batch metric is one over siblings; it must be named at each of them, with the same parameters."""
        named = [entry.name for entry in entries if any(check.batch is group for check in _batches(entry.plan))]
        if group.fields and set(named) != set(group.fields):
            wanted, found = (", ".join(map(repr, names)) for names in (group.fields, named))
            together = f"metric {group.name!r} compares {wanted} as one: name it at each, with the same parameters"
            self.report(f"{together}; here it stands at {found}", node.pointer)
        return bool(group.fields)

    def items(self, node: SchemaNode, pattern: str, *, inside: bool) -> tuple[tuple[Node, ...], Node]:
        """Compile the places of a tuple and the rows after them."""
        inside = inside or self.semantics.array_result is not None
        places = tuple(
            self.build(key, place_pattern(pattern, index), inside=inside) for index, key in enumerate(node.prefix)
        )
        if node.items is None:
            return places, self.anything(items_pattern(pattern), inside=inside)
        return places, self.build(node.items, items_pattern(pattern), inside=inside)


def bulk(entries: list[TableColumn]) -> FlatTable | None:
    """Lay out an object's properties to be compared all at once; None unless they are plain leaves."""
    if len(entries) < 2 or not all(entry.fast for entry in entries):
        return None
    names, plans, patterns, metrics, params, weights, fast = zip(*entries, strict=True)
    odd = tuple((index, kinds | {type(None)}) for index, kinds in enumerate(fast) if not kinds >= SCALARS)
    weight = sum(weights) if all(weights) else 0.0
    checks = [plan.checks[0] for plan in plans]
    likeness = tuple(None if check.transform is not None else check.likeness or check.metric for check in checks)
    return FlatTable(itemgetter(*names), patterns, metrics, params, weights, odd, plans, weight, likeness)


def _batches(plan: Node) -> tuple[FieldMetric, ...]:
    return plan.checks if isinstance(plan, Leaf) else ()


def _unscored(plan: Node) -> Node:
    """Return a skipped property as such; only as a row or as the root is a skipped container scored."""
    if plan.skipped and not isinstance(plan, Skip):
        return Skip(pattern=plan.pattern, field=plan.field, always=True)
    return plan


def _entry(name: str, plan: Node, *, field: bool) -> TableColumn:
    """Lay out a property for the walk; a leaf with one plain check can be compared without a call."""
    if isinstance(plan, Leaf) and len(plan.checks) == 1 and plan.by_type is None and plan.field is field:
        check = plan.checks[0]
        return TableColumn(name, plan, plan.pattern, check.metric.name, check.metric.params, check.weight, check.fast)
    return TableColumn(name, plan, plan.pattern, "", {}, 1.0, NOTHING)
