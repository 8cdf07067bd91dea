"""Names in a schema's configuration -> metrics, transforms and aligners with checked parameters."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Final, Literal, TypeAlias, TypeVar, cast

from pytest_extract.core.compile.nodes import (
    Align,
    AlignMode,
    BoundPostProcessor,
    FieldMetric,
    Transform,
)
from pytest_extract.core.extensions import POST_PROCESSORS, AlignerSpec, BatchMetric, Extensions, PostSpec
from pytest_extract.core.metrics import METRICS, PRESETS, equality
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
from pytest_extract.core.schema.annotations import ALIGNERS, AlignUse, Annotation, MetricUse, Report
from pytest_extract.core.semantics import Semantics
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.values import Json, canonical_json, copied
from pytest_extract.errors import nearest

JudgeMode: TypeAlias = Literal["exact", "fuzzy", "llm"]
_LEAST_LIKE: Final = 1e-6
"""How alike any two values are that a judge may find the same: so little that only rows without a likeness notice."""

_Spec = TypeVar("_Spec", TransformSpec, PostSpec, AlignerSpec, MetricSpec | BatchMetric)


class Binder:
    """Binds the names that one schema uses; what is wrong goes to the `report` of each call."""

    def __init__(self, semantics: Semantics, extensions: Extensions, judge_mode: JudgeMode) -> None:
        self.uses_judge: Final = judge_mode == "llm"
        self.has_batches: Final = bool(extensions.batches)
        self.judges: dict[str, Judge] = {}
        self._semantics = semantics
        self._extensions = extensions
        self._judge_mode: JudgeMode = judge_mode
        self._metrics: Mapping[str, MetricSpec] = ChainMap(dict(extensions.metrics), METRICS)  # type: ignore[arg-type]  # read only
        self._bound: dict[tuple[str, str, SemanticsName, bool], FieldMetric] = {}
        self._batches: dict[tuple[str, str], BatchMetric] = {}

    def default_metrics(self, json_type: str | None, text_format: str | None = None) -> tuple[FieldMetric, ...]:
        """Return the semantics' metric for a leaf of a type and format that names none; empty: it is not scored.

        Without a type: the metric for whole values of which nothing is known.
        """
        if json_type is None:
            return (self.bind("exact", {}, "default", show_defaults=True),)
        default = self._semantics.default_metrics.get(json_type)
        if text_format is not None and json_type == "string":
            default = self._semantics.format_metrics.get(text_format) or default
        return () if default is None else (self.bind(default.name, default.params, show_defaults=True),)

    def metrics(self, annotation: Annotation, report: Report) -> tuple[FieldMetric, ...]:
        """Return the metrics that a configuration names, transforms included; unusable ones are reported."""
        found = [
            replace(metric, weight=use.weight)
            for use in annotation.metrics or ()
            if (metric := self._bind_use(use, report)) is not None
        ]
        return self.adjusted(found, annotation, report)

    def adjusted(
        self, metrics: Sequence[FieldMetric], annotation: Annotation, report: Report
    ) -> tuple[FieldMetric, ...]:
        """Return metrics with a configuration's transforms, weight and threshold."""
        found = [self._transform(use, report) for use in annotation.transforms or ()]
        transforms = [transform for transform in found if transform is not None]
        weight = 1.0 if annotation.weight is None else annotation.weight
        return tuple(
            replace(
                metric,
                weight=weight * metric.weight,
                threshold=metric.threshold if annotation.threshold is None else annotation.threshold,
                transform=_chain(transforms) if transforms else None,
            )
            for metric in metrics
        )

    def bind(
        self,
        name: str,
        params: Mapping[str, Json],
        semantics: SemanticsName | None = None,
        *,
        show_defaults: bool = False,
    ) -> FieldMetric:
        """Return a metric of checked parameters. `show_defaults`: results show those that are left out too."""
        semantics = semantics or self._semantics.name
        key = (name, canonical_json(dict(params)), semantics, show_defaults)
        if key not in self._bound:
            spec = self._metrics[name]
            bound = spec.bind(params, semantics)
            bound = bound if show_defaults else replace(bound, params=dict(params))
            self._bound[key] = self._field_metric(bound, custom=name in self._extensions.metrics)
        return self._bound[key]

    def _bind_use(self, use: MetricUse, report: Report) -> FieldMetric | None:
        if use.preset and use.name in PRESETS and not use.params:
            name, own = PRESETS[use.name]
            use = replace(use, name=name, params=own)
        known: Mapping[str, MetricSpec | BatchMetric] = {**self._metrics, **self._extensions.batches}
        named = _named_in(known, use, "metric", report, also=("skip",) if use.preset else ())
        if named is None:
            return None
        spec, params = named
        if isinstance(spec, BatchMetric):
            return self._bind_batch(use, spec, params)
        metric = self.bind(use.name, use.params)
        if (judge := metric.metric.judge) and judge not in self._extensions.judges:
            report(f"no judge {judge!r}{nearest(judge, self._extensions.judges)}", use.where)
            return None
        if judge and self.uses_judge:
            self.judges[judge] = self._extensions.judges[judge].judge
        return metric

    def _bind_batch(self, use: MetricUse, spec: BatchMetric, params: dict[str, Json]) -> FieldMetric:
        key = (use.name, canonical_json(params))  # fields are compared together that name it with the same parameters
        if key not in self._batches:
            self._batches[key] = replace(spec, compare=partial(spec.compare, **params)) if params else spec
        batch = self._batches[key]
        metric = BoundMetric(
            name=use.name, compare=lambda _gold, _extracted: 0.0, params=dict(use.params), reflexive=False
        )
        return FieldMetric(metric=metric, threshold=batch.threshold, batch=batch)

    def _field_metric(self, metric: BoundMetric, *, custom: bool) -> FieldMetric:
        if custom:
            metric = replace(metric, compare=_never_raising(metric.compare))
        likeness = None
        if metric.judged and not metric.aligns:
            if self._judge_mode == "llm":
                likeness = self._likeness(metric, least=_LEAST_LIKE)
            elif self._judge_mode == "fuzzy":
                metric = self._likeness(metric)
            else:
                metric = replace(metric, judged=False)
        return FieldMetric(metric=metric, threshold=metric.threshold, likeness=likeness)

    def _likeness(self, metric: BoundMetric, least: float = 0.0) -> BoundMetric:
        """Return how alike two values are without asking: 1.0 where the judge would not be asked, else by letters.

        `least`: what it is where the letters have nothing in common.
        """
        from pytest_extract.core.metrics.texts import text_matrix

        fuzzy = self._metrics["fuzzy"].bind({}, "default")

        def compare(gold: Json, extracted: Json) -> float:
            return 1.0 if metric.compare(gold, extracted) == 1.0 else max(least, fuzzy.compare(gold, extracted))

        def folded(value: Json) -> str | None:
            return equality.fold_case(value) if isinstance(value, str) else None

        # texts that need no judge are equal for fuzzy too; only other values need a look at both
        return replace(
            metric, compare=compare, judged=False, key=None, matrix=text_matrix(folded, compare, least=least)
        )

    def _transform(self, use: MetricUse, report: Report) -> Transform | None:
        named = _named_in({**TRANSFORMS, **self._extensions.transforms}, use, "transform", report)
        if named is None:
            return None
        spec, params = named
        transform = spec.make(params)
        return _only_value_errors(transform, use.name) if use.name in self._extensions.transforms else transform

    def align(self, use: AlignUse, report: Report) -> Align | None:
        """Return the alignment that a configuration names."""
        if use.mode in self._extensions.aligners or use.mode not in ALIGNERS:
            named_use = MetricUse(name=use.mode, params=use.params, where=use.where)
            named = _named_in(self._extensions.aligners, named_use, "aligner", report, also=ALIGNERS)
            if named is None:
                return None
            spec, params = named
            return Align(mode="custom", custom=lambda gold, extracted: spec.align(gold, extracted, params))
        if use.params:
            report(f"aligning by {use.mode} takes no parameters", f"{use.where}/params")
        if use.key_cutoff is not None and use.mode != "key":
            report("`key_cutoff` has a meaning only when rows are aligned by key", f"{use.where}/key_cutoff")
        by_fit = use.mode == "hungarian" or (use.mode == "judge" and not self.uses_judge)
        mode = cast("AlignMode", "best_fit" if by_fit else use.mode)
        return Align(mode=mode, key=use.key, key_cutoff=use.key_cutoff)

    def post_processor(self, use: MetricUse, report: Report) -> BoundPostProcessor | None:
        """Return a post-processor with its parameters."""
        table = {**POST_PROCESSORS, **self._extensions.post_processors}
        named = _named_in(table, use, "post-processor", report)
        return None if named is None else BoundPostProcessor(*named)


def _named_in(
    table: Mapping[str, _Spec], use: MetricUse, kind: str, report: Report, also: Iterable[str] = ()
) -> tuple[_Spec, dict[str, Json]] | None:
    """Return the named entry of a table with its parameters, defaults included; None where either is wrong.

    `also`: further names that would be right.
    """
    spec = table.get(use.name)
    if spec is None:
        report(f"no {kind} {use.name!r}{nearest(use.name, {*table, *also})}", use.where)
        return None
    problems = check_params(use.params, spec.params, f"{kind} {use.name!r}")
    for problem in problems:
        report(problem, use.where)
    return None if problems else (spec, with_defaults(use.params, spec.params))


def _chain(transforms: Sequence[Transform]) -> Transform:
    def apply(value: Json) -> Json:
        for transform in transforms:
            value = transform(value)
        return value

    return apply


def _only_value_errors(transform: Transform, name: str) -> Transform:
    """Let a project's own transform raise anything: it then does not apply, and the result says why."""

    def apply(value: Json) -> Json:
        try:
            return transform(value)
        except Exception as error:  # a user's function may raise anything
            raise ValueError(f"{name} raised {type(error).__name__}: {error}") from error

    return apply


def _never_raising(compare: Callable[[Json, Json], float]) -> Callable[[Json, Json], float]:
    """Make a project's own metric total: what raises gives a NaN that says why, which scoring reports as broken."""

    def total(gold: Json, extracted: Json) -> float:
        try:
            score: object = compare(copied(gold), copied(extracted))  # its type is not to be relied on
            if isinstance(score, Real):
                return float(score)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            return Broken(f"{type(error).__name__}: {error}")
        return Broken(f"it gave {score!r:.80}, not a score from 0 to 1")

    return total
