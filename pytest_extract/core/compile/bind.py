"""Names in a schema's configuration -> metrics, transforms and aligners with checked parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Literal, TypeAlias

from pytest_extract.core.compile.nodes import NOTHING, SCALARS, Align, FieldMetric, Transform
from pytest_extract.core.extensions import BatchMetric, Extensions
from pytest_extract.core.metrics import METRICS, PRESETS, equality
from pytest_extract.core.metrics.base import BoundMetric, Broken, MetricSpec, Param, check_params, with_defaults
from pytest_extract.core.metrics.vectorized import text_against, text_matrix
from pytest_extract.core.results import Judge
from pytest_extract.core.schema.annotations import ALIGNERS, AlignUse, Annotation, MetricUse, Report
from pytest_extract.core.semantics import Semantics
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.errors import nearest

JudgeMode: TypeAlias = Literal["exact", "fuzzy", "llm"]


def _folded(value: Json) -> str | None:
    return equality.fold_case(value) if isinstance(value, str) else None


class Binder:
    """Resolves names for one schema; what is wrong goes to the `report` of each call."""

    def __init__(self, semantics: Semantics, extensions: Extensions, judge_mode: JudgeMode) -> None:
        self._semantics = semantics
        self._extensions = extensions
        self._judge_mode = judge_mode
        self._metrics: Mapping[str, MetricSpec] = {**METRICS, **extensions.metrics}
        self._defaults: dict[str, FieldMetric] = {}
        self._batches: dict[tuple[str, str], BatchMetric] = {}
        self._judges: dict[str, Judge] = {}

    def default(self, json_type: str) -> FieldMetric | None:
        """Return the semantics' check for a leaf of this type that has none of its own."""
        name = self._semantics.defaults.get(json_type)
        if name is None:
            return None
        if name not in self._defaults:
            metric, params = PRESETS.get(name, (name, {})) if self._semantics.name == "extract-bench" else (name, {})
            spec = self._metrics[metric]
            self._defaults[name] = self._check(spec.make(with_defaults(params, spec.params), self._semantics.name))
        return self._defaults[name]

    @property
    def asks(self) -> bool:
        """Whether a judge may be asked."""
        return self._judge_mode == "llm"

    @property
    def judges(self) -> Mapping[str, Judge]:
        """The project's judges that the configurations bound so far name."""
        return dict(self._judges)

    def array_default(self) -> FieldMetric:
        """Return the check of an array under extract-bench that names none."""
        spec = self._metrics["array_llm"]
        bound = spec.make(with_defaults({}, spec.params), self._semantics.name)
        return self._check(replace(bound, params={}))

    def exact(self) -> FieldMetric:
        """Return the check for whole values that nothing is said about."""
        spec = self._metrics["exact"]
        return self._check(spec.make(with_defaults({}, spec.params), "ours"))

    def checks(self, said: Annotation, report: Report) -> tuple[FieldMetric, ...]:
        """Return the checks that a configuration names; those that cannot be used are reported and left out."""
        weight = 1.0 if said.weight is None else said.weight
        found = []
        for use in said.metrics or ():
            check = self._named(use, report)
            if check is not None:
                threshold = check.threshold if said.threshold is None else said.threshold
                found.append(replace(check, weight=weight * use.weight, threshold=threshold))
        return tuple(found)

    def _named(self, use: MetricUse, report: Report) -> FieldMetric | None:
        if use.name in self._extensions.batches:
            return self._batch(use, report)
        name, params = use.name, use.params
        if use.preset and name in PRESETS and not params:
            name, params = PRESETS[name]
        spec = self._metrics.get(name)
        if spec is None:
            known = {*self._metrics, *self._extensions.batches, *(("skip",) if use.preset else ())}
            report(f"no metric {name!r}{nearest(name, known)}", use.where)
            return None
        problems = check_params(params, spec.params, f"metric {name!r}")
        for problem in problems:
            report(problem, use.where)
        if problems:
            return None
        bound = spec.make(with_defaults(params, spec.params), self._semantics.name)
        if bound.judge and not self._knows(bound.judge, use, report):
            return None
        return self._check(replace(bound, params=dict(params)), custom=name in self._extensions.metrics)

    def _knows(self, judge: str, use: MetricUse, report: Report) -> bool:
        spec = self._extensions.judges.get(judge)
        if spec is None:
            report(f"no judge {judge!r}{nearest(judge, self._extensions.judges)}", use.where)
        elif self.asks:
            self._judges[judge] = spec.judge
        return spec is not None

    def _batch(self, use: MetricUse, report: Report) -> FieldMetric | None:
        spec = self._extensions.batches[use.name]
        params = _checked(use, spec.params, f"metric {use.name!r}", report)
        if params is None:
            return None
        key = (use.name, canonical_json(params))  # fields are compared together that name it with the same parameters
        if key not in self._batches:
            self._batches[key] = replace(spec, compare=partial(spec.compare, **params)) if params else spec
        batch = self._batches[key]
        metric = BoundMetric(
            name=use.name, compare=lambda _gold, _extracted: 0.0, params=dict(use.params), reflexive=False
        )
        return FieldMetric(metric=metric, threshold=batch.threshold, batch=batch)

    def _check(self, metric: BoundMetric, *, custom: bool = False) -> FieldMetric:
        if custom:
            metric = replace(metric, compare=_guarded(metric.compare))
        likeness = replace(metric, compare=_alike(metric.compare)) if custom and metric.key is None else None
        if metric.judged and not metric.aligns:
            likeness = self._likeness(metric)
            if self._judge_mode != "llm":
                metric, likeness = (likeness if self._judge_mode == "fuzzy" else replace(metric, judged=False)), None
        fast = SCALARS if metric.reflexive else metric.sure
        return FieldMetric(metric=metric, threshold=metric.threshold, fast=fast, likeness=likeness)

    def _likeness(self, metric: BoundMetric) -> BoundMetric:
        """Return how alike two values are without asking: 1.0 where the judge would not be asked, else by letters."""
        spec = self._metrics["fuzzy"]
        fuzzy = spec.make(with_defaults({}, spec.params), "ours")

        def compare(gold: Json, extracted: Json) -> float:
            return 1.0 if metric.compare(gold, extracted) == 1.0 else fuzzy.compare(gold, extracted)

        # texts that need no judge are equal for fuzzy too; only other values need a look at both
        return replace(
            metric,
            compare=compare,
            judged=False,
            key=None,
            matrix=text_matrix(_folded, compare),
            near=None,
            against=text_against(_folded, compare),
            triangle=False,
        )

    def with_transforms(
        self, checks: Sequence[FieldMetric], said: Annotation | None, report: Report
    ) -> tuple[FieldMetric, ...]:
        """Return the checks with a configuration's transforms put before them."""
        functions = [self._transform(use, report) for use in (said.transforms or () if said is not None else ())]
        known = [function for function in functions if function is not None]
        if not known:
            return tuple(checks)
        chain = _chain(known)
        # what a metric says of the values that surely match holds for those it sees, which a transform makes
        return tuple(
            replace(check, transform=chain, fast=check.fast if check.metric.reflexive else NOTHING) for check in checks
        )

    def _transform(self, use: MetricUse, report: Report) -> Transform | None:
        table = {**TRANSFORMS, **self._extensions.transforms}
        spec = table.get(use.name)
        if spec is None:
            report(f"no transform {use.name!r}{nearest(use.name, table)}", use.where)
            return None
        params = _checked(use, spec.params, f"transform {use.name!r}", report)
        if params is None:
            return None
        return _total(spec.make(params), use.name) if use.name in self._extensions.transforms else spec.make(params)

    def align(self, use: AlignUse, report: Report) -> Align | None:
        """Return the alignment that a configuration names."""
        if use.mode in self._extensions.aligners:
            spec = self._extensions.aligners[use.mode]
            named = MetricUse(name=use.mode, params=use.params, where=use.where)
            params = _checked(named, spec.params, f"aligner {use.mode!r}", report)
            if params is None:
                return None
            return Align(mode="custom", custom=lambda gold, extracted: spec.align(gold, extracted, params))
        if use.mode not in ALIGNERS:
            report(f"no aligner {use.mode!r}{nearest(use.mode, {*ALIGNERS, *self._extensions.aligners})}", use.where)
            return None
        if use.params:
            report(f"aligning by {use.mode} takes no parameters", f"{use.where}/params")
        if use.key_cutoff is not None and use.mode != "key":
            report("`key_cutoff` has a meaning only when rows are aligned by key", f"{use.where}/key_cutoff")
        modes: dict[str, Literal["position", "key", "best_fit", "multiset", "judge"]] = {
            "position": "position", "key": "key", "hungarian": "best_fit", "best_fit": "best_fit",
            "multiset": "multiset", "judge": "judge" if self._judge_mode == "llm" else "best_fit",
        }  # fmt: skip
        return Align(mode=modes[use.mode], key=use.key, key_cutoff=use.key_cutoff)

    def post(self, use: MetricUse, report: Report) -> Callable[..., object] | None:
        """Return a post-processor with its parameters bound."""
        from pytest_extract.core.engine.post_process import POST_PROCESSORS, processed

        table = {**POST_PROCESSORS, **self._extensions.post_processors}
        spec = table.get(use.name)
        if spec is None:
            report(f"no post-processor {use.name!r}{nearest(use.name, table)}", use.where)
            return None
        params = _checked(use, spec.params, f"post-processor {use.name!r}", report)
        if params is None:
            return None
        return lambda results, transformed: processed(spec, params, results, transformed)


def _checked(use: MetricUse, known: Sequence[Param], owner: str, report: Report) -> dict[str, Json] | None:
    problems = check_params(use.params, known, owner)
    for problem in problems:
        report(problem, use.where)
    return None if problems else with_defaults(use.params, known)


def _chain(functions: Sequence[Transform]) -> Transform:
    if len(functions) == 1:
        return functions[0]

    def transform(value: Json) -> Json:
        for function in functions:
            value = function(value)
        return value

    return transform


def _total(function: Transform, name: str) -> Transform:
    """Let a project's own transform raise what it likes: it then does not apply, and the result says why."""

    def transform(value: Json) -> Json:
        try:
            return function(value)
        except Exception as error:  # a user's function may raise anything
            raise ValueError(f"{name} raised {type(error).__name__}: {error}") from error

    return transform


def _alike(compare: Callable[[Json, Json], float]) -> Callable[[Json, Json], float]:
    """Make what is no score a 0 where rows are paired: the pair's own result then says that it is broken."""

    def alike(gold: Json, extracted: Json) -> float:
        score = compare(gold, extracted)
        return score if 0.0 <= score <= 1.0 else 0.0

    return alike


def _guarded(compare: Callable[[Json, Json], float]) -> Callable[[Json, Json], float]:
    """Make a project's own metric total: what raises gives a NaN that says why, which scoring reports as broken."""

    def guarded(gold: Json, extracted: Json) -> float:
        try:
            score: object = compare(gold, extracted)  # of the user's making: its type is not to be relied on
            if isinstance(score, Real):
                return float(score)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            return Broken(f"{type(error).__name__}: {error}")
        return Broken(f"it gave {score!r:.80}, not a score from 0 to 1")

    return guarded
