"""SOB: one JSONL file of records with `metadata`, `input.json_schema`, `output.ground_truth`; and its result files.

A result file has rows of SOB's `evaluate.py`, the same as columns, or means by model and modality:

- JSONL, a row a record: `record_id, model_id, difficulty_weight` and the ten metrics of `SOB_METRICS`.
- JSON with `columns`: metric -> list of numbers, with `difficulty_weight`; beside it `model`, `modality` and, where the
  published intervals were made otherwise, `bootstrap_samples`.
- JSON with `summary`: the published `MODEL/eval_summary.json`, with the means and intervals of one model and modality.
- JSON with `models`: model -> modality -> metric -> complexity-weighted mean.

Result files may be compressed (`.gz`).
"""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_extract.cases.sources import parse_source, sound_value
from pytest_extract.core.aggregate.published import CATEGORIES, MODALITY_WEIGHTS, SOB_METRICS, Estimate, SobSummary
from pytest_extract.core.complexity import WEIGHTS
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.errors import CaseFileError
from pytest_extract.files import MOST_BULK_BYTES, read_regular
from pytest_extract.importers import (
    Imported,
    ImportFolder,
    Record,
    checked,
    json_objects,
    plain_id,
    write_dataset,
)

NAME: Final = "sob"
RESPONSES_FILE: Final = f"{NAME}-responses.jsonl"
"""The results file of the published responses, beside the case files."""
_TEXTS: Final = ("text", "context", "document", "transcript", "passage")
_COMPLEXITY: Final = ("schema_complexity", "difficulty", "complexity")
RESPONSES: Final = (
    "the records hold no document: each case's text is the published response, which an extractor that "
    "returns document.text hands on to be scored again"
)


def import_sob(source: Path, target: ImportFolder, *, modality: str | None = None) -> Imported:
    """Write one dataset, a case a record, of one modality: by default that of the file's place.

    A record's document is the first of `input.text`, `context`, `document`, `transcript` and `passage` that is a text;
    where none is, the published response. Its complexity (`schema_complexity`, `difficulty` or `complexity`) becomes
    that of the case. Its `candidate_response` and `model_id` become a response to the case. Records that ask the same
    (id, question, document and gold) of several models are one case, also where a model was given the schema in
    another spelling: the case has the schema of most, each response is scored under its own. Without documents they
    are a case each, and their responses have the id of the first. Raises CaseFileError with the line of a record that
    cannot be used.
    """
    target.check([RESPONSES_FILE])
    modality = modality or published_modality(source)
    groups: list[list[Record]] = []
    answered: dict[str, tuple[list[Record], set[str]]] = {}  # what is asked -> records of different models, the models
    rows, documents = 0, 0
    for number, row in json_objects(source):
        record, text = _record(source, number, row, modality)
        rows += 1
        documents += text is not None
        metadata = _part(row, "metadata")
        model = str(metadata.get("model_id"))
        asked = canonical_json([metadata.get("record_id"), row["input"].get("question"), text, record.keys["gold"]])
        group, models = answered.setdefault(asked, ([], set()))
        if not metadata.get("record_id") or not models or model in models:
            group = [] if models else group
            group.append(record)
            groups.append(group)
        elif text is not None:
            group.append(record)
        else:
            shared = tuple({**response, "id": group[0].keys["id"]} for response in record.responses)
            groups.append([record._replace(responses=shared)])
        models.add(model)
    heading = ("SOB", *(() if documents else (RESPONSES,)))
    made = write_dataset(target, NAME, [_case_of(group) for group in groups], heading=heading)
    notes = () if documents == rows else (f"{rows - documents} of {rows}: {RESPONSES}",)
    return replace(made, notes=(*notes, *made.notes))


def _case_of(records: Sequence[Record]) -> Record:
    """Make one case of the records of several models: with the schema of most, and the tags that they agree on."""
    first = records[0]
    schemas = [canonical_json(record.keys["schema"]) for record in records]
    usual = records[schemas.index(Counter(schemas).most_common(1)[0][0])]
    tags = {
        name: tag
        for name, tag in first.keys["tags"].items()
        if all(record.keys["tags"].get(name) == tag for record in records)
    }
    responses = tuple(
        {"schema": json.dumps(record.keys["schema"]), **response} for record in records for response in record.responses
    )
    keys = {**usual.keys, "id": first.keys["id"], "tags": tags}
    return usual._replace(keys=keys, responses=responses)


def _record(path: Path, number: int, row: dict[str, Any], modality: str) -> tuple[Record, str | None]:
    """Return a record as a case with its response, and the text of its document, where it has one."""
    given, output, metadata = (_part(row, name) for name in ("input", "output", "metadata"))
    if "json_schema" not in given or "ground_truth" not in output:
        raise CaseFileError("a record of SOB has input.json_schema and output.ground_truth", path=path, line=number)
    schema, gold = given["json_schema"], output["ground_truth"]
    text = next((given[name] for name in _TEXTS if isinstance(given.get(name), str)), None)
    keys: dict[str, Json] = {
        "id": plain_id(f"{number}-{metadata['record_id']}") if metadata.get("record_id") else str(number),
        "text": _response(output) if text is None else text,
        "schema": schema if isinstance(schema, dict | bool) else True,
        "gold": gold,
        "modality": modality,
        "tags": _tags(metadata) | {"modality": modality},
    }
    if isinstance(given.get("question"), str):
        keys["question"] = given["question"]
    responses: tuple[dict[str, Json], ...] = ()
    if "candidate_response" in output:
        response = {"output": output["candidate_response"], "model": metadata.get("model_id"), "tags": keys["tags"]}
        responses = (response,)
    return checked(keys, schema, gold, responses), text


def _part(row: dict[str, Any], name: str) -> dict[str, Any]:
    part = row.get(name)
    return part if isinstance(part, dict) else {}


def _response(output: dict[str, Any]) -> str:
    response = output.get("candidate_response")
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def _tags(metadata: dict[str, Any]) -> dict[str, str]:
    """Return the single values of a record's metadata as tags; `category` is `source_category` in some files."""
    tags = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in metadata.items()
        if name not in _COMPLEXITY and isinstance(value, str | int | float) and value != ""
    }
    if "source_category" in tags:
        tags.setdefault("category", tags["source_category"])
    classes = (metadata.get(name) for name in _COMPLEXITY)
    known = next((each for each in classes if isinstance(each, str) and each in WEIGHTS), None)
    return tags | ({"complexity": known} if known is not None else {})


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
        return _runs_of_rows(path, json_objects(path), modality or published_modality(path))
    value = sound_value(parse_source(path, text, "json"))
    parts = value if isinstance(value, dict) else {}
    if isinstance(parts.get("columns"), dict):
        return _runs_of_columns(path, parts, modality)
    if isinstance(parts.get("summary"), dict):
        plain, weighted = (_summary(path, parts["summary"].get(name), name) for name in ("overall", "overall_weighted"))
        # named after its folder, as SOB's leaderboard does
        model = path.resolve().parent.name
        return [SobRun(model=model, modality=modality or published_modality(path), summaries=(plain, weighted))]
    if isinstance(parts.get("models"), dict):
        return list(_runs_of_means(path, parts["models"]))
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


def _runs_of_rows(path: Path, rows: Iterable[tuple[int | None, Mapping[str, Any]]], modality: str) -> list[SobRun]:
    models: dict[str, tuple[list[dict[str, float]], list[float]]] = {}
    for number, row in rows:
        scores, weights = models.setdefault(str(row.get("model_id", "unknown")), ([], []))
        scores.append({name: _number(row.get(name), name, path, number) for name in SOB_METRICS})
        weights.append(_number(row.get(WEIGHT, 0.0), WEIGHT, path, number))
    return [
        SobRun(model=model, modality=modality, rows=scores, weights=weights)
        for model, (scores, weights) in models.items()
    ]


def _runs_of_columns(path: Path, value: Mapping[str, Any], modality: str | None) -> list[SobRun]:
    names = (*SOB_METRICS, WEIGHT)
    columns = [value["columns"].get(name) for name in names]
    if not all(isinstance(column, list) and len(column) == len(columns[-1]) for column in columns):
        raise CaseFileError(f"`columns` must have lists of one length: {', '.join(names)}", path=path)
    model = str(value.get("model", path.name.partition(".")[0]))
    rows = [(None, {"model_id": model, **dict(zip(names, cells, strict=True))}) for cells in zip(*columns, strict=True)]
    samples = value.get("bootstrap_samples")
    runs = _runs_of_rows(path, rows, modality or str(value.get("modality") or published_modality(path)))
    return [replace(run, samples=samples if isinstance(samples, int) and samples > 0 else None) for run in runs]


def _summary(path: Path, block: Any, name: str) -> SobSummary:
    def number(*keys: str) -> float:
        value = block
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return _number(value, ".".join((name, *keys)), path)

    def estimate(*keys: str) -> Estimate:
        return Estimate(mean=number(*keys, "mean"), low=number(*keys, "ci95_low"), high=number(*keys, "ci95_high"))

    metrics = {each: estimate("metrics", each) for each in SOB_METRICS}
    categories = {each: estimate("category_scores", each) for each in CATEGORIES}
    return SobSummary(n=int(number("n")), metrics=metrics, categories=categories)


def _runs_of_means(path: Path, models: Mapping[str, Any]) -> Iterator[SobRun]:
    for model, modalities in models.items():
        for modality, means in modalities.items() if isinstance(modalities, dict) else ():
            if means is None:  # the model has no results on it
                continue
            if modality not in MODALITY_WEIGHTS or not isinstance(means, dict):
                raise CaseFileError(f"{model!r}: {modality!r} is none of {', '.join(MODALITY_WEIGHTS)}", path=path)
            found = {name: _number(means.get(name), f"{model}.{modality}.{name}", path) for name in SOB_METRICS}
            yield SobRun(model=str(model), modality=modality, means=found)
