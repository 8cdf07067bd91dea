"""SOB: one JSONL file of records with `metadata`, `input.json_schema`, `output.ground_truth`; and its result files.

A result file is JSONL with a row a record, as SOB's `evaluate.py` writes it (`record_id, model_id, difficulty_weight`
and the ten metrics of `SOB_METRICS`), or the published `MODEL/eval_summary.json`, with the means and intervals of one
model and modality under `summary`.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_extract.cases.sources import read_value
from pytest_extract.core.aggregate import CATEGORIES, MODALITY_WEIGHTS, SOB_METRICS, Estimate, SobSummary
from pytest_extract.core.complexity import WEIGHTS
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.errors import CaseFileError
from pytest_extract.importers import Imported, Record, as_dataset, checked, json_objects, plain_id

RESPONSES_FILE: Final = "sob-responses.jsonl"
"""The results file of the published responses, beside the case files."""
_TEXTS: Final = ("text", "context", "document", "transcript", "passage")
_COMPLEXITY: Final = ("schema_complexity", "difficulty", "complexity")
RESPONSES: Final = (
    "the records hold no document: each case's text is the published response, which an extractor that "
    "returns document.text hands on to be scored again"
)


def import_sob(source: Path, *, modality: str | None = None) -> Imported:
    """Return one dataset, a case a record, of one modality: by default that of the file's place.

    A record's document is the first of `input.text`, `context`, `document`, `transcript` and `passage` that is a text;
    where none is, the published response. Its complexity (`schema_complexity`, `difficulty` or `complexity`) becomes
    that of the case. Its `candidate_response` and `model_id` become a response to the case. Records that ask the same
    (id, question, document and gold) of several models are one case, also where a model was given the schema in
    another spelling: the case has the schema of most, each response is scored under its own. Without documents they
    are a case each, and their responses have the id of the first. Raises CaseFileError with the line of a record that
    cannot be used.
    """
    modality = modality or published_modality(source)
    groups: defaultdict[tuple[str, bool, int], list[Record]] = defaultdict(list)
    repeats: Counter[tuple[str, str]] = Counter()
    for number, row in json_objects(source):
        record, asked, is_without_document = _record(source, number, row, modality)
        model = str(_part(row, "metadata").get("model_id"))
        groups[asked, is_without_document, repeats[asked, model]].append(record)
        repeats[asked, model] += 1
    cases: list[Record] = []
    for (_, is_without_document, _), group in groups.items():
        parts = [[record] for record in group] if is_without_document else [group]
        cases += [_case_of(part, group[0].keys["id"]) for part in parts]
    rows = repeats.total()
    without = sum(len(group) for (_, is_without_document, _), group in groups.items() if is_without_document)
    heading = ("SOB", *((RESPONSES,) if without == rows else ()))
    return as_dataset("sob", cases, heading=heading, notes=[f"{without} of {rows}: {RESPONSES}"] if without else ())


def _case_of(records: Sequence[Record], asked: str) -> Record:
    """Make one case of the records of several models: with the schema of most, and the tags that they agree on.

    `asked`: the id of the case that their responses answer.
    """
    first = records[0]
    schemas = [canonical_json(record.keys["schema"]) for record in records]
    usual = records[schemas.index(Counter(schemas).most_common(1)[0][0])]
    tags = {
        name: tag
        for name, tag in first.keys["tags"].items()
        if all(record.keys["tags"].get(name) == tag for record in records)
    }
    responses = tuple(
        {**response, "id": asked, "schema": json.dumps(record.keys["schema"])}
        for record in records
        for response in record.responses
    )
    return usual._replace(keys={**usual.keys, "id": first.keys["id"], "tags": tags}, responses=responses)


def _record(path: Path, number: int, row: dict[str, Any], modality: str) -> tuple[Record, str, bool]:
    """Return a record as a case with its response, what it asks as one text, and whether it has no document."""
    given, output, metadata = (_part(row, name) for name in ("input", "output", "metadata"))
    if "json_schema" not in given or "ground_truth" not in output:
        raise CaseFileError("a record of SOB has input.json_schema and output.ground_truth", path=path, line=number)
    schema, gold, response = given["json_schema"], output["ground_truth"], output.get("candidate_response")
    text = next((given[name] for name in _TEXTS if isinstance(given.get(name), str)), None)
    published = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    keys: dict[str, Json] = {
        "id": plain_id(f"{number}-{metadata['record_id']}") if metadata.get("record_id") else str(number),
        "text": published if text is None else text,
        "schema": schema if isinstance(schema, dict | bool) else True,
        "gold": gold,
        "modality": modality,
        "tags": _tags(metadata) | {"modality": modality},
    }
    if isinstance(given.get("question"), str):
        keys["question"] = given["question"]
    record = checked(keys, schema, gold)
    if "candidate_response" in output:
        answer = {"output": response, "model": metadata.get("model_id"), "tags": keys["tags"]}
        record = record._replace(responses=(answer,))
    asked = canonical_json([metadata.get("record_id") or number, given.get("question"), text, gold])
    return record, asked, text is None


def _part(row: dict[str, Any], name: str) -> dict[str, Any]:
    part = row.get(name)
    return part if isinstance(part, dict) else {}


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
    """One model on one modality: rows with their weights, or their summaries as published, plain and weighted."""

    model: str
    modality: str
    rows: Sequence[Mapping[str, float]] = ()
    weights: Sequence[float] = ()
    summaries: tuple[SobSummary, SobSummary] | None = None


def read_sob_results(path: Path, *, modality: str | None = None) -> list[SobRun]:
    """Read a result file; raises CaseFileError with the line or the place of what cannot be used.

    `modality`: by default that of the file's place (`published_modality`).
    """
    modality = modality or published_modality(path)
    if path.suffix == ".jsonl":
        models: dict[str, tuple[list[dict[str, float]], list[float]]] = {}
        for number, row in json_objects(path):
            rows, weights = models.setdefault(str(row.get("model_id", "unknown")), ([], []))
            rows.append({name: _number(row.get(name), name, path, number) for name in SOB_METRICS})
            weights.append(_number(row.get(WEIGHT, 0.0), WEIGHT, path, number))
        return [
            SobRun(model=model, modality=modality, rows=rows, weights=weights)
            for model, (rows, weights) in models.items()
        ]
    value = read_value(path)
    blocks = value.get("summary") if isinstance(value, dict) else None
    if not isinstance(blocks, dict):
        raise CaseFileError("a result file of SOB is JSONL with a row a record, or its `eval_summary.json`", path=path)
    plain, weighted = (_summary(path, blocks.get(name), name) for name in ("overall", "overall_weighted"))
    model = path.resolve().parent.name  # as SOB's leaderboard names it
    return [SobRun(model=model, modality=modality, summaries=(plain, weighted))]


def published_modality(path: Path) -> str:
    """Return the modality that a file's name begins or ends with, else that of the nearest folder named so, else text.

    SOB publishes `evaluation/image/MODEL/eval_records.jsonl` and `images_responses/response_MODEL_image.jsonl`.
    """
    found = _FILE.fullmatch(path.stem.lower())
    if found is not None:
        return found["first"] or found["last"]
    folders = (_FOLDER.fullmatch(folder.name.lower()) for folder in path.resolve().parents)
    return next((folder[1] for folder in folders if folder is not None), "text")


def _number(value: Any, name: str, path: Path, line: int | None = None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise CaseFileError(f"{name!r} must be a number, not {value!r}", path=path, line=line)
    return float(value)


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
