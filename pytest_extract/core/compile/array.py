"""Compiles arrays: how rows are paired, what the array's one result is, and what stands in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_extract.core.compile.nodes import (
    Align,
    AlignMode,
    Array,
    ArrayMetric,
    FieldMetric,
    Leaf,
    Node,
    Object,
    RecursiveRef,
    Skip,
    Union,
)
from pytest_extract.core.schema.annotations import Annotation
from pytest_extract.core.schema.tree import SchemaNode

if TYPE_CHECKING:
    from pytest_extract.core.compile.build import Builder


def array_plan(
    builder: Builder,
    node: SchemaNode,
    said: Annotation | None,
    checks: tuple[FieldMetric, ...],
    pattern: str,
    *,
    inside: bool,
) -> Node | None:
    """Compile an array, or another node that `array_llm` compares as a list; None where it is compared as one value."""
    aligning = [check for check in checks if check.metric.aligns]
    whole = tuple(check for check in checks if not check.metric.aligns)
    aligned = said is not None and said.align is not None
    if builder.semantics.name == "struct-extract-eval" and not aligning:
        if whole:
            below = array_plan(builder, node, None, (), pattern, inside=inside) if builder.has_children(node) else None
            return builder.leaf(node, whole, pattern, inside=inside, structure=below)
        if not builder.has_children(node):
            return None
    elif whole and not aligning and not aligned:
        return builder.leaf(node, whole, pattern, inside=inside)
    listed = _listed(builder, node)
    places, items = builder.items(listed, pattern, inside=inside)
    judging = aligning[0] if aligning else _default_judge(builder, said)
    align = _align(builder, said, items, judging, tuple_like=bool(places))
    proper = node.types == ("array",) and not node.via_union  # extract-bench keeps its array rules to these
    return Array(
        pattern=pattern,
        items=items,
        prefix=places,
        align=align,
        result=_result(builder, said, judging, align),
        checks=whole,
        field=not inside,
        empty_absent=builder.semantics.nulls == "absent" and (proper or not builder.published),
        wrap=builder.published and bool(aligning) and not proper,
        equal_first=_equal_first(builder, align) and not whole,
    )


def _equal_first(builder: Builder, align: Align) -> bool:
    """Whether lists that look equal are tried row by row: no pairing beats one of nothing but matches.

    Not where a judge or a project's aligner pairs (a look tells 0 and 0.0 not apart), nor by key under
    struct-extract-eval, which leaves rows with unusable keys unpaired.
    """
    by_key = align.mode == "key" and builder.semantics.name == "struct-extract-eval"
    return align.mode not in ("custom", "judge") and not by_key


def _listed(builder: Builder, node: SchemaNode) -> SchemaNode:
    """Return the node that says what rows are: the node itself, or the branch that is an array."""
    if node.types == ("array",):
        return node
    branches = (builder.schema.node(key) for key in node.branches)
    return next((branch for branch in branches if branch.types == ("array",)), node)


def _default_judge(builder: Builder, said: Annotation | None) -> FieldMetric | None:
    """Return extract-bench's `array_llm`, which an array has without saying so."""
    if not builder.published or (said is not None and said.metrics is not None):
        return None
    return builder.adjusted((builder.binder.array_default(),), said)[0]


def _align(
    builder: Builder, said: Annotation | None, items: Node, judging: FieldMetric | None, *, tuple_like: bool
) -> Align:
    if said is not None and said.align is not None:
        found = builder.binder.align(said.align, builder.report)
        if found is not None and found.mode != "judge":
            return found
    mode: AlignMode
    if tuple_like:
        return Align(mode="position")
    mode = builder.semantics.objects_array if _is_container(items) else builder.semantics.scalars_array
    if judging is not None or (said is not None and said.align is not None and said.align.mode == "judge"):
        mode = "judge"
    if mode == "judge" and not builder.binder.asks:
        return Align(mode="best_fit")
    if mode != "judge":
        return Align(mode=mode)
    builder.judged = True
    metric = None if judging is None else judging.metric
    return Align(
        mode="judge",
        instructions="" if metric is None else metric.instructions,
        judge="" if metric is None else metric.judge,
        options={} if metric is None else metric.options,
        metrics=dict(_metrics_of(items)),
    )


def _is_container(plan: Node) -> bool:
    return not isinstance(plan, Leaf | Skip) or plan.skipped


def _metrics_of(plan: Node, prefix: str = "", depth: int = 0) -> list[tuple[str, str]]:
    """Return (pattern below the row, metric) of an item's fields, for the judge to read."""
    match plan:
        case Leaf():
            names = " + ".join(check.metric.name for check in plan.checks)
            return [(prefix or "$", names)] if names else []
        case Object() if depth < 4:
            found = []
            for entry in plan.entries:
                found += _metrics_of(entry.plan, f"{prefix}.{entry.name}" if prefix else entry.name, depth + 1)
            return found
        case Array() if depth < 4:
            return _metrics_of(plan.items, f"{prefix}[]", depth + 1)
        case Union() if plan.branches:
            return _metrics_of(plan.branches[0][1], prefix, depth + 1)
        case Object() | Array() | Union() | Skip() | RecursiveRef():
            return []


def _result(builder: Builder, said: Annotation | None, judging: FieldMetric | None, align: Align) -> ArrayMetric | None:
    number = builder.semantics.array_result
    if number is None:
        return None
    threshold = builder.semantics.array_threshold
    weight = 1.0 if said is None or said.weight is None else said.weight
    if judging is not None:
        if builder.published or "pass_threshold" in judging.metric.params:
            threshold = judging.threshold
        weight = judging.weight
    if said is not None and said.threshold is not None:
        threshold = said.threshold
    if judging is not None:
        name, params = judging.metric.name, judging.metric.params
    else:
        name, params = "array", {"align": align.mode, **({"key": list(align.key)} if align.key else {})}
    return ArrayMetric(metric=name, params=params, number=number, threshold=threshold, weight=weight)
