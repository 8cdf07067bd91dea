"""SOB: one JSONL file of records with `metadata`, `input.json_schema`, `output.ground_truth`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_extract.core.complexity import WEIGHTS
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.errors import CaseFileError
from pytest_extract.importers.files import (
    Imported,
    ImportFolder,
    Record,
    checked,
    json_objects,
    plain_id,
    write_datasets,
)
from pytest_extract.importers.sob_results import published_modality

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
    made = write_datasets(target, NAME, [_case_of(group) for group in groups], heading=heading)
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
