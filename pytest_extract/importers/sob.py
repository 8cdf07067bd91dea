"""SOB: one JSONL file of records with `metadata`, `input.json_schema`, `output.ground_truth`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_extract.core.complexity import WEIGHTS
from pytest_extract.core.values import Json
from pytest_extract.errors import CaseFileError
from pytest_extract.importers.files import (
    Imported,
    ImportFolder,
    Record,
    SchemaCheck,
    gold_problem,
    json_lines,
    plain_id,
    write_datasets,
)
from pytest_extract.importers.sob_results import published_modality

NAME: Final = "sob"
RESPONSES_FILE: Final = f"{NAME}-responses.jsonl"
"""The results file of the published responses, beside the case files."""
_TEXTS: Final = ("text", "context", "document", "transcript", "passage")
RESPONSES: Final = (
    "the records hold no document: each case's text is the published response, which an extractor that "
    "returns document.text hands on to be scored again"
)


def import_sob(source: Path, target: ImportFolder, *, modality: str | None = None) -> Imported:
    """Write one dataset, a case a record, of one modality: by default that of the file's place.

    A record's document is the first of `input.text`, `context`, `document`, `transcript` and `passage` that is a text;
    where none is, the published response. Its complexity (`schema_complexity`, else `difficulty`) becomes the case's.
    Its `candidate_response` and `model_id` become a response to the case. Records that differ in these only are one
    case; without documents they are a case each, and their responses have the id of the first.
    Raises CaseFileError with the line of a record that cannot be used.
    """
    target.check([RESPONSES_FILE])
    modality = modality or published_modality(source)
    records: list[Record] = []
    answered: dict[str, tuple[int, set[str]]] = {}  # what is asked -> position of its first record, models
    rows, documents = 0, 0
    for number, row in json_lines(source):
        record, has_document = _record(source, number, row, modality)
        rows += 1
        documents += has_document
        metadata = _part(row, "metadata")
        model = str(metadata.get("model_id"))
        asked = json.dumps([metadata.get("record_id"), row["input"], row["output"]["ground_truth"]], sort_keys=True)
        first, models = answered.setdefault(asked, (len(records), set()))
        if not metadata.get("record_id") or not models or model in models:
            records.append(record)
        elif has_document:
            case = records[first]
            tags = {name: tag for name, tag in case.keys["tags"].items() if name != "model_id"}
            records[first] = replace(
                case, keys={**case.keys, "tags": tags}, responses=(*case.responses, *record.responses)
            )
        else:
            shared = tuple({**response, "id": records[first].keys["id"]} for response in record.responses)
            records.append(replace(record, responses=shared))
        models.add(model)
    heading = ("SOB", *(() if documents else (RESPONSES,)))
    made = write_datasets(target, NAME, records, heading=heading)
    notes = () if documents == rows else (f"{rows - documents} of {rows}: {RESPONSES}",)
    return replace(made, notes=(*notes, *made.notes))


def _record(path: Path, number: int, row: dict[str, Any], modality: str) -> tuple[Record, bool]:
    given, output, metadata = (_part(row, name) for name in ("input", "output", "metadata"))
    if "json_schema" not in given or "ground_truth" not in output:
        raise CaseFileError("a record of SOB has input.json_schema and output.ground_truth", path=path, line=number)
    schema, gold = given["json_schema"], output["ground_truth"]
    problem = gold_problem(schema, gold) if isinstance(schema, dict | bool) else "the schema is none"
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
    check = SchemaCheck.of(keys["schema"])
    responses: tuple[dict[str, Json], ...] = ()
    if "candidate_response" in output:
        response = {"output": output["candidate_response"], "model": metadata.get("model_id"), "tags": keys["tags"]}
        responses = (response,)
    uncompared = check.uncompared(gold)
    record = Record(keys=keys, problem=problem, uncompared=uncompared, judged=check.judged, responses=responses)
    return record, text is not None


def _part(row: dict[str, Any], name: str) -> dict[str, Any]:
    part = row.get(name)
    return part if isinstance(part, dict) else {}


def _response(output: dict[str, Any]) -> str:
    response = output.get("candidate_response")
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def _tags(metadata: dict[str, Any]) -> dict[str, str]:
    tags = {name: str(metadata[name]) for name in ("record_id", "model_id", "category") if metadata.get(name)}
    classes = (metadata.get(name) for name in ("schema_complexity", "difficulty"))
    known = next((each for each in classes if isinstance(each, str) and each in WEIGHTS), None)
    return tags | ({"complexity": known} if known is not None else {})
