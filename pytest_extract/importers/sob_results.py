"""SOB's own result files: rows of `evaluate.py`, the same as columns, and means by model and modality.

- JSONL, a row a record: `record_id, model_id, difficulty_weight` and the ten metrics of `SOB_METRICS`.
- JSON with `columns`: metric -> list of numbers, with `difficulty_weight`; beside it `model`, `modality` and, where the
  published intervals were made otherwise, `bootstrap_samples`.
- JSON with `summary`: the published `MODEL/eval_summary.json`, with the means and intervals of one model and modality.
- JSON with `models`: model -> modality -> metric -> complexity-weighted mean.

Files may be compressed (`.gz`).
"""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_extract.core.aggregate.bootstrap import Estimate
from pytest_extract.core.aggregate.sob import CATEGORIES, MODALITY_WEIGHTS, SOB_METRICS, SobSummary
from pytest_extract.errors import CaseFileError
from pytest_extract.files import MOST_BULK_BYTES, read_regular

WEIGHT: Final = "difficulty_weight"
_MODALITY: Final = "|".join(MODALITY_WEIGHTS)
_FILE: Final = re.compile(rf"(?P<first>{_MODALITY})(?![a-z]).*|.*[_-](?P<last>{_MODALITY})", re.DOTALL)
_FOLDER: Final = re.compile(rf"({_MODALITY})s?(?:_responses)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SobRun:
    """One model on one modality: rows with their weights, their summaries, or only the weighted `means` of the metrics.

    `summaries`: plain and weighted by complexity, as published. `samples`: resamples of the published intervals, None
    where the file does not say.
    """

    model: str
    modality: str
    rows: Sequence[Mapping[str, float]] = ()
    weights: Sequence[float] = ()
    summaries: tuple[SobSummary, SobSummary] | None = None
    means: Mapping[str, float] | None = None
    samples: int | None = None


def read_sob_results(path: Path, *, modality: str | None = None) -> list[SobRun]:
    """Read a result file; raises CaseFileError with the line or the place of what cannot be used.

    `modality`: that of rows; by default that of the file's place (`published_modality`).
    """
    text = _text(path)
    if ".jsonl" in path.suffixes:
        return _runs_of_rows(path, text, modality or published_modality(path))
    value = _json(path, text)
    if isinstance(value, dict) and isinstance(value.get("columns"), dict):
        return [_run_of_columns(path, value, modality)]
    if isinstance(value, dict) and isinstance(value.get("summary"), dict):
        return [_run_of_summary(path, value["summary"], modality or published_modality(path))]
    if isinstance(value, dict) and isinstance(value.get("models"), dict):
        return list(_runs_of_means(path, value["models"]))
    raise CaseFileError("a result file of SOB is JSONL, or an object with `columns`, `summary` or `models`", path=path)


def _text(path: Path) -> str:
    try:
        data = read_regular(path, MOST_BULK_BYTES)
        if path.suffix == ".gz":
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST_BULK_BYTES + 1)
            if len(data) > MOST_BULK_BYTES:
                raise CaseFileError(f"more than {MOST_BULK_BYTES:,} bytes when unpacked", path=path)
        return data.decode("utf-8")
    except (OSError, EOFError, zlib.error) as error:
        raise CaseFileError(f"cannot be read: {error}", path=path) from error
    except UnicodeDecodeError as error:
        raise CaseFileError("is not UTF-8", path=path) from error


def _json(path: Path, text: str, line: int | None = None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaseFileError(f"not JSON: {error}", path=path, line=line) from error


def published_modality(path: Path) -> str:
    """Return the modality that a file's name begins or ends with, else that of the nearest folder named so, else text.

    SOB publishes `evaluation/image/MODEL/eval_records.jsonl` and `images_responses/response_MODEL_image.jsonl`.
    """
    name = path.name.lower()
    for suffix in (".gz", ".jsonl", ".json"):
        name = name.removesuffix(suffix)
    found = _FILE.fullmatch(name)
    if found is not None:
        return found["first"] or found["last"]
    folders = (_FOLDER.fullmatch(folder.name.lower()) for folder in path.resolve().parents)
    return next((folder[1] for folder in folders if folder is not None), "text")


def _number(value: Any, name: str, path: Path, line: int | None = None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise CaseFileError(f"{name!r} must be a number, not {value!r}", path=path, line=line)
    return float(value)


def _runs_of_rows(path: Path, text: str, modality: str) -> list[SobRun]:
    models: dict[str, tuple[list[dict[str, float]], list[float]]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        row = _json(path, line, number)
        if not isinstance(row, dict):
            raise CaseFileError("a row is a JSON object", path=path, line=number)
        rows, weights = models.setdefault(str(row.get("model_id", "unknown")), ([], []))
        rows.append({name: _number(row.get(name), name, path, number) for name in SOB_METRICS})
        weights.append(_number(row.get(WEIGHT, 0.0), WEIGHT, path, number))
    return [
        SobRun(model=model, modality=modality, rows=rows, weights=weights) for model, (rows, weights) in models.items()
    ]


def _run_of_columns(path: Path, value: Mapping[str, Any], modality: str | None) -> SobRun:
    columns: dict[str, list[float]] = {}
    for name in (*SOB_METRICS, WEIGHT):
        column = value["columns"].get(name)
        if not isinstance(column, list):
            raise CaseFileError(f"`columns` has no list {name!r}", path=path)
        columns[name] = [_number(each, name, path) for each in column]
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise CaseFileError(f"the columns differ in length: {sizes}", path=path)
    samples = value.get("bootstrap_samples")
    return SobRun(
        model=str(value.get("model", path.name.partition(".")[0])),
        modality=modality or str(value.get("modality") or published_modality(path)),
        rows=[{name: columns[name][index] for name in SOB_METRICS} for index in range(sizes[WEIGHT])],
        weights=columns[WEIGHT],
        samples=samples if isinstance(samples, int) and samples > 0 else None,
    )


def _run_of_summary(path: Path, value: Mapping[str, Any], modality: str) -> SobRun:
    """Read the summary of a model, which is named after its folder, as SOB's leaderboard does."""
    plain, weighted = (_summary(path, value.get(name), name) for name in ("overall", "overall_weighted"))
    return SobRun(model=path.resolve().parent.name, modality=modality, summaries=(plain, weighted))


def _summary(path: Path, block: Any, name: str) -> SobSummary:
    def estimates(part: str, names: Iterable[str]) -> dict[str, Estimate]:
        found = block.get(part) if isinstance(block, dict) else None
        rows = found if isinstance(found, dict) else {}
        return {each: estimate(rows.get(each), f"{name}.{part}.{each}") for each in names}

    def estimate(row: Any, place: str) -> Estimate:
        row = row if isinstance(row, dict) else {}
        mean, low, high = (_number(row.get(key), f"{place}.{key}", path) for key in ("mean", "ci95_low", "ci95_high"))
        return Estimate(mean=mean, low=low, high=high)

    metrics, categories = estimates("metrics", SOB_METRICS), estimates("category_scores", CATEGORIES)
    return SobSummary(n=int(_number(block.get("n"), f"{name}.n", path)), metrics=metrics, categories=categories)


def _runs_of_means(path: Path, models: Mapping[str, Any]) -> Iterator[SobRun]:
    for model, modalities in models.items():
        for modality, means in modalities.items() if isinstance(modalities, dict) else ():
            if means is None:  # the model has no results on it
                continue
            if modality not in MODALITY_WEIGHTS or not isinstance(means, dict):
                raise CaseFileError(f"{model!r}: {modality!r} is none of {', '.join(MODALITY_WEIGHTS)}", path=path)
            found = {name: _number(means.get(name), f"{model}.{modality}.{name}", path) for name in SOB_METRICS}
            yield SobRun(model=str(model), modality=modality, means=found)
