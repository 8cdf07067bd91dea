"""DeepJSONEval: JSONL or .xlsx of `id, schema, text, json, category, true_depth`; `schema` and `json` hold JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pytest_extract.core.values import Json
from pytest_extract.errors import CaseFileError
from pytest_extract.importers.files import (
    Imported,
    ImportFolder,
    Record,
    checked,
    json_objects,
    plain_id,
    workbook_rows,
    write_datasets,
)

NAME: Final = "deepjsoneval"
_NEEDED: Final = ("schema", "text", "json")


def import_deepjsoneval(source: Path, target: ImportFolder) -> Imported:
    """Write one dataset, a case a row of JSONL or .xlsx; raises CaseFileError with the row that cannot be used."""
    rows = workbook_rows(source) if source.suffix.lower() == ".xlsx" else json_objects(source)
    records = [_record(source, number, row) for number, row in rows]
    return write_datasets(
        target, NAME, records, heading=("DeepJSONEval: its measures are syntax, key_match and strict",)
    )


def _record(path: Path, number: int, row: dict[str, Any]) -> Record:
    for key in _NEEDED:
        if not isinstance(row.get(key), str):
            raise CaseFileError(f"a row of DeepJSONEval has the text {key!r}", path=path, line=number)
    schema, gold = (_inner(path, number, key, row[key]) for key in ("schema", "json"))
    tags = {key: str(row[key]) for key in ("category", "true_depth") if row.get(key) is not None}
    keys: dict[str, Json] = {
        "id": plain_id(str(row.get("id", number))), "text": row["text"], "schema": schema, "gold": gold, "tags": tags,
    }  # fmt: skip
    return checked(keys, schema, gold)


def _inner(path: Path, number: int, key: str, text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaseFileError(f"{key!r} holds no JSON text: {error}", path=path, line=number) from error
