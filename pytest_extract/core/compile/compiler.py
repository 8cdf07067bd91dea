"""Compiles a JSON Schema: its nodes, one per place, under the policies of the semantics.

Every configuration mistake ends here, before any document is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from numbers import Real
from threading import RLock
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, cast

from pytest_extract.core.arguments import plain_json
from pytest_extract.core.compile.nodes import (
    Align,
    AlignMode,
    Array,
    ArrayMetric,
    FieldMetric,
    Leaf,
    NamedMetric,
    Node,
    Object,
    Program,
    RecursiveRef,
    Skip,
    Transform,
    Union,
)
from pytest_extract.core.extensions import POST_PROCESSORS, AlignerSpec, BatchMetric, Extensions, PostSpec
from pytest_extract.core.metrics import METRICS, PRESETS
from pytest_extract.core.metrics.base import (
    BoundMetric,
    Broken,
    MetricSpec,
    SemanticsName,
    TransformSpec,
    check_params,
    with_defaults,
)
from pytest_extract.core.results import Judge
from pytest_extract.core.schema.annotations import (
    ALIGNERS,
    NOT_ANNOTATED,
    AlignUse,
    Annotation,
    MetricUse,
    Report,
    misspelled_keys,
    parse_override,
    parse_post,
)
from pytest_extract.core.schema.source import Key, refuse_endless
from pytest_extract.core.schema.tree import Schema, SchemaNode
from pytest_extract.core.semantics import DEFAULT, EXTRACT_BENCH, SEMANTICS, STRUCT_EXTRACT_EVAL, Semantics
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.values import (
    ANY_KEY,
    ROOT,
    Json,
    canonical_json,
    copied,
    fold_case,
    is_row,
    path_below,
    short_repr,
    usual,
)
from pytest_extract.errors import SchemaError, SchemaErrors, closest, nearest

JudgeMode: TypeAlias = Literal["exact", "fuzzy", "llm"]
_LEAST_LIKE: Final = 1e-6
"""How alike any two values are that a judge may find the same: so little that only rows without a likeness notice."""

_Spec = TypeVar("_Spec", TransformSpec, PostSpec, AlignerSpec, MetricSpec | BatchMetric)


@dataclass
class Binder:
    """Binds the names that one schema uses to metrics, transforms and aligners with checked parameters."""

    semantics: Semantics
    extensions: Extensions
    judge_mode: JudgeMode
    report: Report
    judges: dict[str, Judge] = field(default_factory=dict)
    _bound: dict[tuple[str, str, SemanticsName], FieldMetric] = field(default_factory=dict)
    _batches: dict[tuple[str, str], BatchMetric] = field(default_factory=dict)

    @cached_property
    def _metrics(self) -> Mapping[str, MetricSpec]:
        return {**METRICS, **self.extensions.metrics}

    def metrics(self, annotation: Annotation) -> tuple[FieldMetric, ...]:
        """Return the metrics that a configuration names, transforms included; unusable ones are reported."""
        found = [self._bind_use(use) for use in annotation.metrics or ()]
        return self.adjusted([metric for metric in found if metric is not None], annotation)

    def adjusted(self, metrics: Sequence[FieldMetric], annotation: Annotation) -> tuple[FieldMetric, ...]:
        """Return metrics with a configuration's transforms, weight and threshold."""
        transforms: list[Transform] = []
        for use in annotation.transforms or ():
            named = self.named_in({**TRANSFORMS, **self.extensions.transforms}, use, "transform")
            if named is not None:
                transform, is_own = named[0].make(named[1]), use.name in self.extensions.transforms
                transforms.append(_only_value_errors(transform, use.name) if is_own else transform)

        def transformed(value: Json) -> Json:
            for transform in transforms:
                value = transform(value)
            return value

        weight = 1.0 if annotation.weight is None else annotation.weight
        return tuple(
            replace(
                metric,
                weight=weight * metric.weight,
                threshold=metric.threshold if annotation.threshold is None else annotation.threshold,
                transform=transformed if transforms else None,
            )
            for metric in metrics
        )

    def bind(self, name: str, params: Mapping[str, Json], semantics: SemanticsName | None = None) -> FieldMetric:
        """Return a metric of checked parameters; fields of one metric share it."""
        semantics = semantics or self.semantics.name
        key = (name, canonical_json(dict(params)), semantics)
        if key in self._bound:
            return self._bound[key]
        metric, likeness = self._metrics[name].bind(params, semantics), None
        if name in self.extensions.metrics:
            metric = replace(metric, compare=_never_raising(metric.compare))
        if metric.judged and not metric.aligns:
            if self.judge_mode == "llm":
                likeness = self._likeness(metric, least=_LEAST_LIKE)
            else:
                metric = self._likeness(metric) if self.judge_mode == "fuzzy" else replace(metric, judged=False)
        self._bound[key] = FieldMetric(metric=metric, threshold=metric.threshold, likeness=likeness)
        return self._bound[key]

    def _bind_use(self, use: MetricUse) -> FieldMetric | None:
        if use.preset and use.name in PRESETS:
            use = replace(use, params=PRESETS[use.name])
        known: Mapping[str, MetricSpec | BatchMetric] = {**self._metrics, **self.extensions.batches}
        named = self.named_in(known, use, "metric", also=("skip",) if use.preset else ())
        if named is None:
            return None
        spec, params = named
        if isinstance(spec, BatchMetric):
            # fields are compared together that name it with the same parameters
            made = replace(spec, compare=partial(spec.compare, **params)) if params else spec
            batch = self._batches.setdefault((use.name, canonical_json(params)), made)
            bound = BoundMetric(
                name=use.name, compare=lambda _gold, _other: 0.0, params=dict(use.params), reflexive=False
            )
            return FieldMetric(metric=bound, threshold=batch.threshold, batch=batch, weight=use.weight)
        metric = self.bind(use.name, use.params)
        if judge := metric.metric.judge:
            if judge not in self.extensions.judges:
                self.report(f"no judge {judge!r}{nearest(judge, self.extensions.judges)}", use.where)
            elif self.judge_mode == "llm":
                self.judges[judge] = self.extensions.judges[judge].judge
        # results show the parameters that a schema names, and of a metric that it does not name all of them
        return replace(metric, metric=replace(metric.metric, params=dict(use.params)), weight=use.weight)

    def _likeness(self, metric: BoundMetric, least: float = 0.0) -> BoundMetric:
        """Return how alike two values are without asking: 1.0 where the judge would not be asked, else by letters.

        `least`: what it is where the letters have nothing in common.
        """
        from pytest_extract.core.metrics.texts import text_matrix

        fuzzy = self._metrics["fuzzy"].bind({}, "default")

        def compare(gold: Json, extracted: Json) -> float:
            return 1.0 if metric.compare(gold, extracted) == 1.0 else max(least, fuzzy.compare(gold, extracted))

        def folded(value: Json) -> str | None:
            return fold_case(value) if isinstance(value, str) else None

        # texts that need no judge are equal for fuzzy too; only other values need a look at both
        return replace(
            metric, compare=compare, judged=False, key=None, matrix=text_matrix(folded, compare, least=least)
        )

    def align(self, use: AlignUse) -> Align | None:
        """Return the alignment that a configuration names."""
        if use.name in self.extensions.aligners or use.name not in ALIGNERS:
            named = self.named_in(self.extensions.aligners, use, "aligner", also=ALIGNERS)
            if named is None:
                return None
            spec, params = named
            return Align(mode="custom", custom=lambda gold, extracted: spec.align(gold, extracted, params))
        if use.params:
            self.report(f"`params` has no meaning when rows are aligned by {use.name}", f"{use.where}/params")
        by_fit = use.name == "hungarian" or (use.name == "judge" and self.judge_mode != "llm")
        mode = cast("AlignMode", "best_fit" if by_fit else use.name)
        return Align(mode=mode, key=use.key, key_cutoff=use.key_cutoff)

    def named_in(
        self, table: Mapping[str, _Spec], use: MetricUse, kind: str, also: Iterable[str] = ()
    ) -> tuple[_Spec, dict[str, Json]] | None:
        """Return the named entry of a table with its parameters, defaults included; None where either is wrong.

        `also`: further names that would be right.
        """
        spec = table.get(use.name)
        if spec is None:
            self.report(f"no {kind} {use.name!r}{nearest(use.name, {*table, *also})}", use.where)
            return None
        problems = check_params(use.params, spec.params, f"{kind} {use.name!r}")
        for problem in problems:
            self.report(problem, use.where)
        return None if problems else (spec, with_defaults(use.params, spec.params))


def _only_value_errors(transform: Transform, name: str) -> Transform:
    """Let a project's own transform raise anything, or return no JSON: it then does not apply, and results say why."""

    def apply(value: Json) -> Json:
        try:
            return plain_json(transform(value))
        except Exception as error:  # a user's function may raise anything
            raise ValueError(f"{name} raised {type(error).__name__}: {error}") from error

    return apply


def _never_raising(compare: Callable[[Json, Json], float]) -> Callable[[Json, Json], float]:
    """Make a project's own metric total: what raises gives a NaN that says why, which makes the case an error."""

    def total(gold: Json, extracted: Json) -> float:
        try:
            score: object = compare(copied(gold), copied(extracted))  # its type is not to be relied on
            if isinstance(score, Real) and 0.0 <= float(score) <= 1.0:
                return float(score)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            return Broken(f"{type(error).__name__}: {error}")
        return Broken(f"it gave {score!r:.80}, not a score from 0 to 1")

    return total


MOST_EAGER: Final = 5_000
"""Nodes that are compiled ahead of any document: a few recursive definitions unfold to millions."""
DEEPEST_EAGER: Final = 60
_SCALAR_TYPES: Final = ("string", "number", "integer", "boolean", "null")


class _Spot(NamedTuple):
    """A place that is compiled: what its schema says, the configuration that holds, and its pattern.

    `field`: whether its results are field results too.
    """

    schema: SchemaNode
    annotation: Annotation
    pattern: str
    field: bool


@dataclass
class Compiler:
    """Compiles one schema. `patterns`: every place compiled so far; `judged`: whether any of them needs a judge.

    `enumerations`: those whose values the schema lists. `added`: choices without a metric of their own, which have no
    field result under a semantics without `union_fields`. They get one all the same unless results are to be
    `as_published`: a case must not pass whatever stands there.
    """

    schema: Schema
    semantics: Semantics
    binder: Binder
    overrides: Mapping[str, Annotation]
    report: Report
    _: KW_ONLY
    as_published: bool
    patterns: dict[str, Node] = field(default_factory=dict)
    enumerations: set[str] = field(default_factory=set)
    added: list[str] = field(default_factory=list)
    judged: bool = False
    _made: int = 0  # nodes; alternatives have places in common
    _unopened: list[RecursiveRef] = field(default_factory=list)
    _open: dict[Key, str] = field(default_factory=dict)  # nodes being compiled, outermost first, and their patterns
    _lock: Any = field(default_factory=RLock)  # recursive places are compiled while scoring, in threads maybe

    def compile(self, key: Key, pattern: str = ROOT, *, field: bool = True) -> Node:
        """Compile the node of `key` at a place; a place inside itself is compiled when a document reaches it."""
        is_eager = self._made <= MOST_EAGER and len(self._open) <= DEEPEST_EAGER
        if key not in self._open and (is_eager or not self.schema.node(key).children()):  # values are compiled at once
            return self._compile_now(key, pattern, field=field)

        def late() -> Node:
            with self._lock:
                kept, self._open = self._open, {}
                try:
                    return self._compile_now(key, pattern, field=field)
                finally:
                    self._open = kept

        ref = RecursiveRef(late, pattern, field=field)
        self._unopened.append(ref)
        self.patterns.setdefault(pattern, ref)
        return ref

    def _compile_now(self, key: Key, pattern: str, *, field: bool) -> Node:
        self._made += 1
        self._open[key] = pattern
        try:
            node = self._node(self.schema.node(key), pattern, field=field)
        finally:
            del self._open[key]
        self.patterns[pattern] = node
        return node

    def has_place(self, pattern: str) -> bool:
        """Whether the pattern is a place of the schema; opens recursive places on the way to it."""
        if pattern == ROOT:
            return True
        while pattern not in self.patterns or isinstance(self.patterns[pattern], RecursiveRef):
            found = next((ref for ref in self._unopened if pattern.startswith(ref.pattern)), None)
            if found is None:
                return pattern in self.patterns
            self._unopened.remove(found)
            _ = found.node
        return True

    def _node(self, schema: SchemaNode, pattern: str, *, field: bool) -> Node:
        override = self.overrides.get(pattern)
        annotation = (schema.annotation if override is None else override.over(schema.annotation)) or NOT_ANNOTATED
        if not self.semantics.union_fields:
            own = override is not None and override.metrics is not None
            if "anyOf[" in pattern or (schema.bare_union and not own):
                field = field and not self.as_published
                self.added.append(pattern)
        if schema.values is not None:
            self.enumerations.add(pattern)
        place = _Spot(schema, annotation, pattern, field)
        if annotation.skip:
            return self._skipped(place, everything=override is not None and override.skip is True)
        if annotation.align is not None:
            self._check_align(schema, annotation.align)
        node = self._scored(place)
        if override is not None and [*self._open.values()].count(pattern) == 1:  # no alternative of several
            self._check_effect(override, node)
        return node

    def _check_effect(self, override: Annotation, node: Node) -> None:
        """Report what an override says of a container that only a value compared as one can have."""
        if not isinstance(node, Object | Array) or node.checks:
            return
        has_result = isinstance(node, Array) and node.field and node.result is not None
        settings = {"transforms": "transform"} | ({} if has_result else {"weight": "weight", "threshold": "threshold"})
        names = " and ".join(f"`{key}`" for name, key in settings.items() if getattr(override, name) is not None)
        if names:
            what, inside = ("an array", "[]") if isinstance(node, Array) else ("an object", ".NAME")
            told = f"{names}: no effect on {what} that is not compared as one value; name what is in it"
            self.report(f"{told}, such as {node.pattern + inside!r}", IN_OVERRIDES + node.pattern)

    def _check_align(self, schema: SchemaNode, align: AlignUse) -> None:
        """Only an array is aligned, and by key only one of objects."""
        types = self._types(schema)
        if types and "array" not in types:
            self.report(f"only an array is aligned, and this is {' or '.join(types)}", align.where)
        elif align.name == "key" and schema.items is not None:
            row = self.schema.node(schema.items)
            rows = self._types(row)
            is_described = row.properties and not row.patterns and not row.branches and not self.as_published
            for name in align.key if is_described else ():
                is_slip = row.additional is None and closest(name, row.properties)
                if name not in row.properties and (row.additional is False or is_slip):
                    hint = nearest(name, row.properties)
                    self.report(f"the rows have no {name!r} to be aligned by{hint}", align.where)
            if rows and "object" not in rows:
                wanted = "rows are aligned by key where they are objects"
                self.report(f"{wanted}; these are {' or '.join(rows)}", align.where)
        elif align.name == "key" and types and not self.semantics.default_metrics and not schema.branches:
            self.report("rows are aligned by key where `items` says what they are", align.where)

    def _types(self, schema: SchemaNode) -> tuple[str, ...]:
        if not schema.branches:
            return schema.types
        return tuple(name for branch in schema.branches for name in self._types(self.schema.node(branch)))

    # --- skipped places

    def _skipped(self, place: _Spot, *, everything: bool) -> Node:
        """Compile a skipped place. `everything`: what is below it is not scored either, whatever the semantics."""
        schema, annotation, pattern, field = place
        policy = "all" if everything else self.semantics.skipped_container
        if policy == "as_property":
            if self._has_children(schema) and annotation.metrics is None:
                node = self._scored(place)
                return node if isinstance(node, RecursiveRef) else node._replace(skipped=True)
            return Skip(pattern=pattern, field=field, always=True)
        if policy == "own_metrics" and annotation.dialect == "evaluation_config":
            if schema.types == ("object",) and not schema.via_union and self._has_children(schema):
                return self._scored(place._replace(annotation=replace(annotation, skip=None, metrics=None)))
            return Skip(pattern=pattern, field=field, never=True)
        # the places below are known, so that an override of them is no unknown field
        kept = self.judged, self.report
        self.report = lambda _message, _where: None
        self._scored(place._replace(annotation=NOT_ANNOTATED, field=False))
        self.judged, self.report = kept
        return Skip(pattern=pattern, field=field)

    # --- scored places

    def _scored(self, place: _Spot) -> Node:
        """Compile a place that is not skipped."""
        schema, annotation, pattern, field = place
        metrics: tuple[FieldMetric, ...] = ()
        if annotation.metrics:
            metrics = self._note_judge(self.binder.metrics(annotation))
        named = annotation.metrics is not None
        if named and not metrics:
            asks_for_none = schema.types == ("array",) and annotation.align is None  # by `metrics: []`
            if annotation.metrics or asks_for_none:  # or all of its metrics were reported
                return Skip(pattern=pattern, field=field, never=True, asked=False)
        if schema.types == ("array",) or any(metric.metric.aligns for metric in metrics):
            array = self._array(place, metrics)
            if array is not None:
                return array
        if schema.types == ("object",) and (self.semantics.bare_object == "object" or self._has_children(schema)):
            if not metrics or (self.semantics.object_metrics == "add" and self._is_container(schema)):
                return self._object(place, metrics)
            return self._leaf(place, metrics, self._object(place, ()))
        if named:
            return self._leaf(place, metrics)
        if schema.branches or len(schema.types) > 1:
            return self._union(place)
        return self._default_leaf(place)

    def _has_children(self, schema: SchemaNode) -> bool:
        """Whether a container is scored by what is in it."""
        if schema.types == ("object",):
            further = schema.patterns or isinstance(schema.additional, tuple)
            return bool(schema.properties or (further and self.semantics.undeclared_keys != "hallucinate"))
        return schema.types == ("array",) and schema.items is not None and self.schema.node(schema.items).described

    def _is_container(self, schema: SchemaNode) -> bool:
        """Whether the rules of objects and arrays hold for a container at this place."""
        return self.semantics.nullable_containers or not schema.via_union

    def _note_judge(self, metrics: tuple[FieldMetric, ...]) -> tuple[FieldMetric, ...]:
        self.judged = self.judged or any(metric.metric.judged for metric in metrics)
        return metrics

    def _default(self, place: _Spot, json_type: str | None, text_format: str | None) -> tuple[FieldMetric, ...]:
        """Return the semantics' metric for a leaf of a type and format that names none; empty: it is not scored.

        Without a type: the metric for whole values of which nothing is known.
        """
        if json_type is None:
            found = [self.binder.bind("exact", {}, "default")]
        else:
            of_format = self.semantics.format_metrics.get(text_format or "") if json_type == "string" else None
            default = of_format or self.semantics.default_metrics.get(json_type)
            found = [] if default is None else [self.binder.bind(default.name, default.params)]
        return self._note_judge(self.binder.adjusted(found, place.annotation))

    def _leaf(self, place: _Spot, metrics: tuple[FieldMetric, ...], structure: Node | None = None) -> Leaf | Skip:
        """Compile a value that is compared as one."""
        if not metrics:
            return Skip(pattern=place.pattern, field=place.field, never=True, asked=False)
        semantics, types = self.semantics, place.schema.types
        is_container = self._is_container(place.schema)
        return Leaf(
            pattern=place.pattern,
            checks=metrics,
            field=place.field,
            types=frozenset(types) if semantics.enforce_types and is_container and types else None,
            structure=structure if semantics.missing_container == "leaves" else None,
            empty_absent=semantics.nulls == "absent" and is_container and types == ("array",),
        )

    def _default_leaf(self, place: _Spot) -> Node:
        """Compile a leaf without a metric of its own."""
        schema = place.schema
        if not self.semantics.default_metrics and schema.dangling is None:
            wanted = "`x-eval-compare`, or `x-eval-skip: true`"
            self.report(f"a leaf needs {wanted} under the semantics {self.semantics.name}", schema.pointer)
            return Skip(pattern=place.pattern, field=place.field, never=True)
        json_type = schema.types[0] if schema.types else "null" if schema.nullable else None
        if json_type in _SCALAR_TYPES:
            return self._leaf(place, self._default(place, json_type, schema.format))
        return self._any_value(place, schema.format)

    def _any_value(self, place: _Spot, text_format: str | None = None) -> Leaf:
        """Compile a value of which the schema says no type: compared by the type that gold has."""
        found = {name: self._default(place, name, text_format) for name in _SCALAR_TYPES}
        rest = Leaf(pattern=place.pattern, checks=self._default(place, None, None), field=place.field)
        by_type = {name: rest._replace(checks=metrics) for name, metrics in found.items() if metrics}
        return rest._replace(by_type={**by_type, "": rest})

    def _union(self, place: _Spot) -> Node:
        schema, _, pattern, field = place
        if schema.branches:
            # a branch that leads back to its own union adds nothing
            keys = [key for key in schema.branches if self._open.get(key) != pattern]
            if not keys:
                return self._any_value(place)
            branches = []
            for key in keys:
                branch = self.schema.node(key)
                # a choice in a choice is compiled at once, else a choice could wait for itself
                make = self._compile_now if branch.branches and key not in self._open else self.compile
                branches.append((branch, make(key, pattern, field=field)))
            return Union(pattern=pattern, branches=tuple(branches), field=field)
        if not self.semantics.default_metrics:
            return self._default_leaf(place)
        if not {"object", "array"} & {*schema.types}:
            return self._any_value(place, schema.format)
        options = [schema._replace(types=(name,)) for name in schema.types]
        scored = [(option, self._scored(place._replace(schema=option))) for option in options]
        return Union(pattern=pattern, branches=tuple(scored), field=field)

    # --- objects

    def _object(self, place: _Spot, metrics: tuple[FieldMetric, ...]) -> Object:
        schema, _, pattern, field = place
        properties = {
            name: _as_property(self.compile(key, path_below(pattern, name), field=field))
            for name, key in schema.properties.items()
        }
        further, extra = path_below(pattern, ANY_KEY), self.semantics.undeclared_keys
        patterns = [(regex, self.compile(key, further, field=field)) for regex, key in schema.patterns]
        other = None
        if isinstance(schema.additional, tuple) and extra != "hallucinate":
            other, extra = self.compile(schema.additional, further, field=field), "compare"
        return Object(
            pattern=pattern,
            properties=properties,
            patterns=tuple(patterns),
            other=other,
            extra=extra,
            checks=metrics,
            descend=not any(metric.metric.judged for metric in metrics),
            groups=self._sibling_groups(properties, schema) if self.binder.extensions.batches else (),
            field=field,
        )

    def _sibling_groups(self, properties: Mapping[str, Node], schema: SchemaNode) -> tuple[BatchMetric, ...]:
        """Return the batch metrics over siblings; one must be named at each of them, with the same parameters."""
        members: dict[int, tuple[BatchMetric, list[str]]] = {}
        for name, node in properties.items():
            for metric in node.checks if isinstance(node, Leaf) else ():
                if metric.batch is not None and metric.batch.fields:
                    members.setdefault(id(metric.batch), (metric.batch, []))[1].append(name)
        for group, names in members.values():
            if set(names) != set(group.fields):
                wanted, found = (", ".join(map(repr, some)) for some in (group.fields, names))
                together = f"metric {group.name!r} compares {wanted} as one: name it at each, with the same parameters"
                self.report(f"{together}; here it stands at {found}", schema.pointer)
        return tuple(group for group, _ in members.values())

    # --- arrays

    def _array(self, place: _Spot, metrics: tuple[FieldMetric, ...]) -> Node | None:
        """Compile an array, or what `array_llm` compares as a list; None where it is compared as one value."""
        schema, annotation, pattern, field = place
        semantics = self.semantics
        judging = next((metric for metric in metrics if metric.metric.aligns), None)
        whole = tuple(metric for metric in metrics if not metric.metric.aligns)
        if judging is None:
            rows = semantics.bare_array == "rows" or self._has_children(schema)
            if whole and not (annotation.align is not None and semantics.array_metrics == "add"):
                structure = None
                if rows and semantics.missing_container == "leaves":  # only there a missing array's rows matter
                    structure = self._array(place._replace(annotation=NOT_ANNOTATED), ())
                return self._leaf(place, whole, structure)
            if not rows:
                return None
            if semantics.default_array_metric is not None and annotation.metrics is None:
                use = MetricUse(name=semantics.default_array_metric)
                (judging,) = self._note_judge(self.binder.metrics(replace(annotation, metrics=(use,))))
        # of a union, the branch that is an array describes the list
        branches = () if schema.types == ("array",) else map(self.schema.node, schema.branches)
        listed = next((branch for branch in branches if branch.types == ("array",)), schema)
        as_fields = field and semantics.array_result is None
        prefix = tuple(
            self.compile(key, path_below(pattern, index), field=as_fields) for index, key in enumerate(listed.prefix)
        )
        if listed.items is None:
            items: Node = self._any_value(_Spot(schema, NOT_ANNOTATED, path_below(pattern, None), as_fields))
        else:
            items = self.compile(listed.items, path_below(pattern, None), field=as_fields)
        is_fixed = listed.fixed_length and not isinstance(items, Object)
        in_place = is_fixed or (is_row(pattern) and _holds_values(items))
        align = self._align(annotation.align, items, judging, is_tuple=bool(prefix), in_place=in_place)
        proper = schema.types == ("array",) and self._is_container(schema)
        lenient = semantics.nullable_containers
        return Array(
            pattern=pattern,
            items=items,
            prefix=prefix,
            align=align,
            result=self._array_result(annotation, judging, align),
            checks=whole,
            field=field,
            empty_absent=semantics.nulls == "absent" and (proper or lenient),
            wrap=any(metric.metric.aligns for metric in metrics) and not proper and not lenient,
        )

    def _align(
        self, named: AlignUse | None, items: Node, judging: FieldMetric | None, *, is_tuple: bool, in_place: bool
    ) -> Align:
        """Choose how rows are paired; `in_place`: coordinates and cells mean something by where they stand."""
        if named is not None:
            found = self.binder.align(named)
            if found is not None and found.mode != "judge":
                return found
        if is_tuple:
            return Align(mode="position")
        if judging is None and (named is None or named.name != "judge"):
            scalars = isinstance(items, Leaf | Skip) and not items.skipped
            mode = self.semantics.scalars_array if scalars else self.semantics.objects_array
            return Align(mode="position" if in_place and self.semantics.scalars_array == "multiset" else mode)
        if self.binder.judge_mode != "llm":
            return Align(mode="best_fit")
        self.judged = True
        align = Align(mode="judge", metrics=dict(_metric_names(items)))
        if judging is None:
            return align
        metric = judging.metric
        return align._replace(instructions=metric.instructions, judge=metric.judge, options=metric.options)

    def _array_result(self, annotation: Annotation, judging: FieldMetric | None, align: Align) -> ArrayMetric | None:
        number = self.semantics.array_result
        if number is None:
            return None
        threshold = self.semantics.array_threshold
        weight = 1.0 if annotation.weight is None else annotation.weight
        named: NamedMetric = "array", {"align": align.mode, **({"key": [*align.key]} if align.key else {})}, weight
        if judging is not None:
            named = judging.named
            if self.semantics.default_array_metric is not None or "pass_threshold" in judging.metric.params:
                threshold = judging.threshold
        if annotation.threshold is not None:
            threshold = annotation.threshold
        return ArrayMetric(named, number, threshold)


def _holds_values(items: Node) -> bool:
    """Whether rows are single values: no objects and no lists."""
    if isinstance(items, Union):
        return all(_holds_values(branch) for _, branch in items.branches)
    return isinstance(items, Leaf | Skip) and not items.skipped


def _metric_names(node: Node, place: str = ROOT) -> Iterator[tuple[str, str]]:
    """Yield (pattern below the row, metrics) of an item's fields, for the judge to read; of a choice, the first."""
    if isinstance(node, Leaf) and node.checks:
        yield place, " + ".join(check.metric.name for check in node.checks)
    elif isinstance(node, Object):
        for name, inner in node.properties.items():
            yield from _metric_names(inner, path_below(place, name))
    elif isinstance(node, Array):
        yield from _metric_names(node.items, path_below(place, None))
    elif isinstance(node, Union):
        yield from _metric_names(node.branches[0][1], place)


def _as_property(node: Node) -> Node:
    """Return a node as a property has it: only as a row or as the root is a skipped container scored."""
    if node.skipped and not isinstance(node, Skip):
        return Skip(pattern=node.pattern, field=node.field, always=True)
    return node


IN_OVERRIDES: Final = "overrides:"
"""Starts the place of a part of a case's overrides; a JSON pointer never does."""
IN_POST: Final = "post_process:"
"""Starts the place of a part of a case's `post_process`."""


class _Problems:
    """Configuration mistakes, each listed once."""

    def __init__(self) -> None:
        self.found: dict[str, SchemaError] = {}

    def add(self, *errors: SchemaError) -> None:
        for error in errors:
            self.found.setdefault(str(error), error)

    def report(self, message: str, where: str = "") -> None:
        if where.startswith(IN_OVERRIDES):
            self.add(SchemaError(message, at=("overrides", where.removeprefix(IN_OVERRIDES).split("\n")[0])))
        elif where.startswith(IN_POST):
            index = where.removeprefix(IN_POST).strip("/")
            self.add(SchemaError(message, at=("post_process", int(index)) if index else ("post_process",)))
        else:
            self.add(SchemaError(message, pointer=where))


def compile_program(
    schema: Json,
    *,
    semantics: str | None = None,
    nulls: Literal["absent", "value"] | None = None,
    overrides: Mapping[str, Json] | None = None,
    extensions: Extensions | None = None,
    judge_mode: JudgeMode = "llm",
    post_process: Json = None,
    as_published: bool = False,
) -> Program:
    """Compile a JSON Schema for scoring; raises SchemaError, or SchemaErrors with all mistakes at once.

    `as_published`: results are those of the published system that `semantics` names, also where that leaves out what
    would count here.
    """
    refuse_endless(schema)
    problems = _Problems()
    problems.add(*misspelled_keys(schema, as_published=as_published))
    tree = Schema(schema)
    configured = tree.annotated()
    root = tree.node(tree.root)
    for node in configured:
        if node.pointer != root.pointer:
            _report_root_only(node.annotation, node.pointer, problems)
    chosen = _semantics(tree, semantics, problems)
    by_pattern = _overrides(overrides or {}, problems)
    of_root = by_pattern[ROOT].over(root.annotation) if ROOT in by_pattern else root.annotation
    nulls = nulls or (of_root.nulls if of_root is not None else None)
    chosen = replace(chosen, nulls=nulls) if nulls is not None else chosen
    binder = Binder(chosen, extensions or Extensions(), judge_mode, problems.report)
    for annotation in (*(node.annotation for node in configured), *by_pattern.values()):
        if annotation is not None:  # names are bound for their mistakes, wherever in the schema they are
            binder.metrics(annotation)
            if annotation.align is not None:
                binder.align(annotation.align)
    compiler = Compiler(tree, chosen, binder, by_pattern, problems.report, as_published=as_published)
    compiled = compiler.compile(tree.root)
    problems.add(*tree.problems)
    for pattern in by_pattern:
        if not compiler.has_place(pattern):
            hint = nearest(pattern, compiler.patterns)
            problems.report(f"the schema has no field {pattern!r}{hint}", IN_OVERRIDES + pattern)
    uses = () if post_process is None else parse_post(post_process, IN_POST, problems.report)
    uses += (of_root.post or ()) if of_root is not None else ()
    known_posts = {**POST_PROCESSORS, **binder.extensions.post_processors}
    bound = [binder.named_in(known_posts, use, "post-processor") for use in uses]
    errors = sorted(problems.found.values(), key=lambda error: error.at[:1] == ("overrides",))
    if errors:
        raise errors[0] if len(errors) == 1 else SchemaErrors(errors)
    return Program(
        root=compiled,
        semantics=chosen,
        patterns=dict(compiler.patterns),
        enumerations=frozenset(compiler.enumerations),
        added=tuple(compiler.added),
        judged=compiler.judged,
        judges=binder.judges,
        post_processors=tuple(post_processor for post_processor in bound if post_processor is not None),
        fits=tree.fits,
    )


def _report_root_only(annotation: Annotation | None, where: str, problems: _Problems) -> None:
    """Say what is wrong with a configuration at any other place than the root."""
    for name in ("nulls", "post"):
        if annotation is not None and getattr(annotation, name) is not None:
            problems.report(f"`{name}` holds for the whole document: it stands at the root only", where)


def _semantics(schema: Schema, name: str | None, problems: _Problems) -> Semantics:
    """Return the semantics asked for, or those of the schema's dialect."""
    if name is not None:
        if name in tuple(SEMANTICS):  # a list as name has no hash
            return SEMANTICS[name]
        problems.report(f"no semantics {short_repr(name)}{nearest(name, SEMANTICS)}")
        return DEFAULT
    dialects = schema.dialects()
    if len(dialects) > 1:
        both = "the schema holds both `evaluation_config` and `x-eval-*`"
        problems.report(f"{both}; say which `semantics` to score with: {', '.join(SEMANTICS)}")
    if "evaluation_config" in dialects:
        return EXTRACT_BENCH
    return STRUCT_EXTRACT_EVAL if dialects else DEFAULT


def _overrides(overrides: Mapping[str, Json], problems: _Problems) -> dict[str, Annotation]:
    """Return a case's overrides by pattern, in the spelling of results."""
    found: dict[str, Annotation] = {}
    for text, value in overrides.items():
        where = f"{IN_OVERRIDES}{text}\n"
        annotation = parse_override(value, where, problems.report)
        pattern = usual(str(text))
        if pattern in found:
            problems.report(f"says the same place twice: {pattern}", where)
        if pattern != ROOT:
            _report_root_only(annotation, where, problems)
        if annotation is not None:
            found[pattern] = annotation
    return found
