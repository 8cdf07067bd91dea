"""The published systems: the numbers of one output under each, each one's own report of a run, and its metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from pytest_extract.cases.schemas import compile_structure, without_annotations
from pytest_extract.core.arguments import json_argument, schema_argument
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.measures import measures_of_system
from pytest_extract.core.measures.published import DeepJsonScore
from pytest_extract.core.measures.published import deepjson_text as deepjson_text
from pytest_extract.core.metrics import PRESETS
from pytest_extract.core.results import Failure, Judge
from pytest_extract.core.schema.annotations import Dialect
from pytest_extract.core.schema.tree import Schema
from pytest_extract.core.scorer import Score, compile_schema
from pytest_extract.core.values import Json, Missing
from pytest_extract.errors import ConfigError, SchemaError, nearest
from pytest_extract.lazy import lazy_names

if TYPE_CHECKING:
    from pytest_extract.core.aggregate import SOB_METRICS as SOB_METRICS
    from pytest_extract.core.aggregate import StructRun
    from pytest_extract.core.aggregate import content_coverage as content_coverage
    from pytest_extract.core.aggregate import extract_bench_rates as extract_bench_rates
    from pytest_extract.core.aggregate import extract_bench_report as extract_bench_report
    from pytest_extract.core.aggregate import sob_leaderboard_row as sob_leaderboard_row
    from pytest_extract.core.aggregate import sob_summary as sob_summary
    from pytest_extract.core.aggregate import struct_eval_run as struct_eval_run
else:
    __getattr__, _, __all__ = lazy_names(
        __name__,
        {
            "core.aggregate": (
                "SOB_METRICS content_coverage extract_bench_rates extract_bench_report sob_leaderboard_row sob_summary"
                " struct_eval_run"
            ),
        },
    )
    __all__ += ["SYSTEMS", "StructEvaluation", "SystemColumn", "compare_systems", "deepjson_text", "struct_evaluate"]

_PUBLISHED: Final[Mapping[Dialect, frozenset[str]]] = {
    "evaluation_config": frozenset({*PRESETS, "skip"}),
    "x-eval": frozenset(
        {"exact", "numeric", "oneof", "semantic"}
        | {"lowercase", "strip", "normalize_whitespace", "sort_tokens", "round_digits", "type_convert"}
    ),
}
SYSTEM_OF_DIALECT: Final[Mapping[Dialect, str]] = {"evaluation_config": "ExtractBench", "x-eval": "struct-extract-eval"}


def not_published(schema: Json, extensions: Extensions | None) -> Iterator[tuple[Dialect, str, str]]:
    """Yield dialect, name and pointer where a schema names a metric or transform that is ours alone.

    In a schema that comes from a published system it means something else, unless the project registers its own.
    """
    own = {*extensions.metrics, *extensions.batches, *extensions.transforms} if extensions is not None else set()
    for node in Schema(schema).annotated():
        annotation = node.annotation
        if annotation is not None and annotation.dialect in _PUBLISHED:
            for use in (*(annotation.metrics or ()), *(annotation.transforms or ())):
                if use.name not in _PUBLISHED[annotation.dialect] and use.name not in own:
                    yield annotation.dialect, use.name, node.pointer


ENGINES: Final = ("default", "extract-bench", "struct-extract-eval")
SYSTEMS: Final = (*ENGINES, "sob", "deepjsoneval")
BLIND_TO: Final = {"extract-bench": ("x-eval-",), "struct-extract-eval": ("evaluation_config",)}
"""The annotations that a published program does not know: how their names begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemColumn:
    """One system's view: its own measures, and what must be known to read them.

    `raw_text`: the numbers that its published program gives to the raw text of the answer, where it reads that.
    """

    system: str
    measures: Mapping[str, float]
    notes: tuple[str, ...] = ()
    raw_text: DeepJsonScore | None = None


def compare_systems(
    schema: Json,
    gold: Json,
    extracted: Json | Missing,
    systems: Sequence[str] = SYSTEMS,
    *,
    judge: Judge | None = None,
    judge_mode: str = "exact",
    modality: str = "text",
    extensions: Extensions | None = None,
    gates: Mapping[str, Json] | None = None,
    failure: Failure | None = None,
    text: str | None = None,
) -> tuple[SystemColumn, ...]:
    """Score one output as each of `systems` would.

    Raises ConfigError for a name that is none of `SYSTEMS`, SchemaError for a mistake in the schema.

    A published system reads its own annotations only, and has its own defaults for the rest; ours reads both dialects.
    Without a judge, `judge_mode` decides semantic fields (`exact`, `fuzzy`). `extensions`: the project's own metrics.
    `gates`: as in a case, for the systems that score by field; SOB and DeepJSONEval have theirs. None: ours has those
    of a case, the published programs have none but for an output that is no JSON. `failure`: why there is no
    extracted value, where there is none. `text`: the raw answer, for the systems that read that themselves.
    """
    for name in systems:
        if name not in SYSTEMS:
            raise ConfigError(f"no system {name!r}{nearest(name, SYSTEMS)}")
    schema = schema_argument(schema)
    gold, extracted = json_argument("gold", gold), json_argument("extracted", extracted)
    mode = "llm" if judge is not None else judge_mode
    compiled = partial(compile_schema, judge_mode=mode, extensions=extensions)  # type: ignore[arg-type]
    compiled(schema, semantics="default")  # a mistake in it is an error, and no system's view
    document = compile_structure(schema).score(gold, extracted, modality=modality, failure=failure)

    def column(name: str) -> SystemColumn:
        score = document
        notes: list[str] = []
        if name in ENGINES:
            seen = without_annotations(schema, BLIND_TO.get(name, ()))
            try:
                own = _annotated(seen) if name == "struct-extract-eval" else seen
                scorer = compiled(own, semantics=name)
                ours = {use for _, use, _ in not_published(own, scorer.source["extensions"])}
            except SchemaError as error:
                return SystemColumn(system=name, measures={}, notes=(f"cannot score by this schema: {error}",))
            if seen != schema:
                notes.append(f"{name} does not read `{BLIND_TO[name][0]}`: its own defaults were used there")
            if ours:
                notes.append(f"{name} has no {', '.join(map(repr, sorted(ours)))}: ours of that name was used")
            score = scorer.score(gold, extracted, judge=judge, modality=modality, gates=gates, failure=failure)
        notes += (f"the {gate.name} gate failed: {gate.why}" for gate in score.gates.failed if gate.name != "coverage")
        return SystemColumn(
            system=name,
            measures={measure: score.measures[measure] for measure in measures_of_system(name)},
            notes=tuple(notes),
            raw_text=deepjson_text(text, gold, schema) if name == "deepjsoneval" and text is not None else None,
        )

    return tuple(map(column, systems))


def _annotated(schema: Json) -> Json:
    """Return the schema as struct-extract-eval's program completes it: each leaf has a comparator."""
    from pytest_extract.schema_tools.golds import annotate_schema
    from pytest_extract.schema_tools.resolve import resolve_schema_references

    # it takes neither references nor choices: they are resolved before a schema is annotated
    return schema if annotate_schema(schema) == schema else annotate_schema(resolve_schema_references(schema))


@dataclass(frozen=True, slots=True, kw_only=True)
class StructEvaluation:
    """A run of struct-extract-eval: the score of each record, and the means, totals and table of fields over all."""

    records: tuple[Score, ...]
    run: StructRun


def struct_evaluate(
    schema: Json,
    golds: Sequence[Json],
    outputs: Sequence[object],
    *,
    metrics: Mapping[str, Json] | None = None,
    judge: Judge | None = None,
    post_process: Json = None,
    extensions: Extensions | None = None,
) -> StructEvaluation:
    """Score many outputs against their golds under one schema, as struct-extract-eval does.

    outputs: texts, or values that an extractor may return. Leaves without a comparator (`x-eval-*`) get the default of
    their type; `metrics` replaces defaults by type, as in `annotate_schema`. Raises ConfigError if golds and outputs
    differ in number and for wrong arguments, SchemaError for a mistake in the schema.
    """
    from pytest_extract.core.aggregate import struct_eval_run
    from pytest_extract.schema_tools.golds import annotate_schema

    if len(golds) != len(outputs):
        raise ConfigError(f"as many outputs as golds are needed, not {len(outputs):,} for {len(golds):,}")
    schema = schema_argument(schema)
    annotated = annotate_schema(schema, metrics=metrics) if isinstance(schema, dict) else schema
    scorer = compile_schema(
        annotated, semantics="struct-extract-eval", post_process=post_process, extensions=extensions
    )
    records = tuple(scorer.score_text(gold, output, judge=judge) for gold, output in zip(golds, outputs, strict=True))
    return StructEvaluation(records=records, run=struct_eval_run([record.leaves for record in records]))
