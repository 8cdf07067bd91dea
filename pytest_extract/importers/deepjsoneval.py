"""DeepJSONEval: JSONL or .xlsx of `id, schema, text, json, category, true_depth`; `schema` and `json` hold JSON."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pytest_extract.core.values import Json
from pytest_extract.errors import CaseFileError, ConfigError
from pytest_extract.files import MOST_BULK_BYTES
from pytest_extract.importers.files import (
    Imported,
    ImportFolder,
    Record,
    checked,
    json_objects,
    plain_id,
    write_dataset,
)

NAME: Final = "deepjsoneval"
_NEEDED: Final = ("schema", "text", "json")


def import_deepjsoneval(source: Path, target: ImportFolder) -> Imported:
    """Write one dataset, a case a row of JSONL or .xlsx; raises CaseFileError with the row that cannot be used."""
    rows = workbook_rows(source) if source.suffix.lower() == ".xlsx" else json_objects(source)
    records = [_record(source, number, row) for number, row in rows]
    return write_dataset(
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


def workbook_rows(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    """Yield (row number, values by column name) of the first sheet of an .xlsx file, whose first row names the columns.

    Raises CaseFileError for a file that is none, ConfigError without openpyxl (extra `xlsx`).
    """
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise ConfigError(f"{path}: an .xlsx file needs openpyxl: pip install 'pytest-extract[xlsx]'") from None
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MOST_BULK_BYTES:
            raise CaseFileError(f"the workbook unpacks to {size:,} bytes, more than {MOST_BULK_BYTES:,}", path=path)
        book = load_workbook(path, read_only=True, data_only=True)
        try:
            rows = enumerate(book.worksheets[0].iter_rows(values_only=True), start=1)
            _, names = next(rows, (1, ()))
            for number, cells in rows:
                values = {str(name): cell for name, cell in zip(names, cells, strict=False) if name is not None}
                if any(cell is not None for cell in values.values()):
                    yield number, values
        finally:
            book.close()
    except (zipfile.BadZipFile, InvalidFileException, KeyError, IndexError, OSError) as error:
        raise CaseFileError(f"is no workbook that can be read: {error}", path=path) from error
