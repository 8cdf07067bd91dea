"""One output scored as each of the systems would: their numbers side by side, and the leaves that make them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pytest_extract.cases.structure import compile_structure
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.results import FieldResult, Judge, Status
from pytest_extract.core.score_result import Score
from pytest_extract.core.scorer import Scorer, compile_schema
from pytest_extract.core.values import MISSING, Json, Missing, iter_leaves, path_text
from pytest_extract.errors import ConfigError, nearest

ENGINES: Final = ("ours", "extract-bench", "struct-extract-eval")
SYSTEMS: Final = (*ENGINES, "sob", "deepjsoneval")
SHOWN: Final = {
    "ours": ("pass_rate", "mean_score", "precision", "recall", "f1"),
    "extract-bench": ("pass_rate", "mean_score"),
    "struct-extract-eval": ("precision", "recall", "f1"),
    "sob": (
        "json_parse", "json_pass", "value_accuracy", "faithfulness", "path_recall", "structure_coverage",
        "type_safety", "perfect", "required_key_recall",
    ),
    "deepjsoneval": ("syntax", "key_match", "strict"),
}  # fmt: skip
"""The measures that each system has itself."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one system says of one leaf: status and score in [0, 1]."""

    status: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One system's view: its own measures, its leaves by path, and what had to be assumed to get them."""

    system: str
    measures: Mapping[str, float]
    leaves: Mapping[str, Cell]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """All columns, and the leaves on whose score they do not agree, by path (`None`: not looked at there)."""

    columns: tuple[Column, ...]
    differing: Mapping[str, tuple[Cell | None, ...]] = field(default_factory=dict)


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
) -> Bridge:
    """Score one output as each of `systems` would; raises ConfigError for a name that is none of `SYSTEMS`.

    Without a judge, `judge_mode` decides semantic fields (`exact`, `fuzzy`). `extensions`: the project's own metrics.
    """
    for name in systems:
        if name not in SYSTEMS:
            raise ConfigError(f"no system {name!r}{nearest(name, SYSTEMS)}")
    mode = "llm" if judge is not None else judge_mode
    columns = tuple(
        _engine_column(
            name,
            schema,
            partial(compile_schema, judge_mode=mode, extensions=extensions),  # type: ignore[arg-type]
            lambda scorer: scorer.score(gold, extracted, judge=judge, modality=modality),
        )
        if name in ENGINES
        else _document_column(name, schema, gold, extracted, modality)
        for name in systems
    )
    return Bridge(columns=columns, differing=dict(_differing(columns)))


def _engine_column(
    name: str, schema: Json, compiled: Callable[..., Scorer], scored: Callable[[Scorer], Score]
) -> Column:
    note = ""
    if name == "struct-extract-eval":
        from pytest_extract.schema_tools.annotate import annotate_schema

        annotated = annotate_schema(schema)
        if annotated != schema:
            note = "leaves without x-eval-compare were given the published defaults of `annotate`"
        schema = annotated
    score = scored(compiled(schema, semantics=name))
    return Column(system=name, measures=_own(name, score), leaves=_cells(score.leaves), note=note)


def _document_column(name: str, schema: Json, gold: Json, extracted: Json | Missing, modality: str) -> Column:
    score = compile_structure(schema).score(gold, extracted, modality=modality)
    leaves = _by_place(gold, extracted) if name == "sob" else dict(_by_level(gold, extracted, ()))
    note = "" if score.gates.schema.passed else "the schema gate failed: what is in the leaves does not count"
    return Column(system=name, measures=_own(name, score), leaves=leaves, note=note)


def _own(name: str, score: Score) -> dict[str, float]:
    return {measure: score.measures[measure] for measure in SHOWN[name]}


def _cells(results: Sequence[FieldResult]) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for result in results:
        path = path_text(result.path)
        if path not in cells or result.score < cells[path].score:
            cells[path] = Cell(str(result.status), result.score)
    return cells


def _by_place(gold: Json, extracted: Json | Missing) -> dict[str, Cell]:
    """SOB looks at each leaf in its place: there or not, equal or not (`True == 1`, as there)."""
    found = dict(iter_leaves(extracted)) if extracted is not MISSING else {}
    cells = {}
    for path, value in iter_leaves(gold):
        if path not in found:
            cells[path_text(path)] = Cell(Status.OMISSION, 0.0)
        else:
            equal = found.pop(path) == value
            cells[path_text(path)] = Cell(Status.MATCH if equal else Status.MISMATCH, float(equal))
    return cells | {path_text(path): Cell(Status.HALLUCINATION, 0.0) for path in found}


def _by_level(gold: Json | Missing, value: Json | Missing, path: tuple[str | int, ...]) -> Iterator[tuple[str, Cell]]:
    """DeepJSONEval goes down level by level: objects by key, lists of objects by index, other lists as sets."""
    if isinstance(gold, dict) and isinstance(value, dict):
        for key in [*gold, *(key for key in value if key not in gold)]:
            yield from _by_level(gold.get(key, MISSING), value.get(key, MISSING), (*path, key))
    elif isinstance(gold, list) and isinstance(value, list):
        if all(isinstance(item, dict) for item in (*gold, *value)):
            for index in range(max(len(gold), len(value))):
                yield from _by_level(_at(gold, index), _at(value, index), (*path, index))
        else:
            for index, item in enumerate(gold):
                found = item in value
                yield path_text((*path, index)), Cell(Status.MATCH if found else Status.OMISSION, float(found))
            for number in range(1, 1 + sum(item not in gold for item in value)):
                yield path_text((*path, -number)), Cell(Status.HALLUCINATION, 0.0)
    elif value is MISSING:
        yield path_text(path), Cell(Status.OMISSION, 0.0)
    elif gold is MISSING:
        yield path_text(path), Cell(Status.HALLUCINATION, 0.0)
    else:
        equal = gold is not None and gold == value
        yield path_text(path), Cell(Status.MATCH if equal else Status.MISMATCH, float(equal))


def _at(items: list[Json], index: int) -> Json | Missing:
    return items[index] if index < len(items) else MISSING


def _differing(columns: Sequence[Column]) -> Iterator[tuple[str, tuple[Cell | None, ...]]]:
    paths = dict.fromkeys(path for column in columns for path in column.leaves)
    for path in paths:
        cells = tuple(column.leaves.get(path) for column in columns)
        if len({None if cell is None or cell.status == Status.SKIPPED else round(cell.score, 9) for cell in cells}) > 1:
            yield path, cells
