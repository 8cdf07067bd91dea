"""Corrections from production: JSONL of documents, what a model extracted, and what people made of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pytest_extract.cases.model import checked_value
from pytest_extract.cases.schemas import field_problem, schema_at
from pytest_extract.cases.sources import is_file, path_and_pointer
from pytest_extract.core.case_result import Origin
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, FieldPath, Json, replaced, same, value_at
from pytest_extract.errors import CaseFileError, ConfigError, ExtractError, SchemaError, nearest
from pytest_extract.importers import Imported, Record, as_dataset, checked, json_objects, plain_id

NAME: Final = "corrections"
KEYS: Final = ("id", "document", "text", "schema", "output", "corrected", "corrections", "by", "at", "tags", "question")


def import_corrections(source: Path, target: Path) -> Imported:
    """Write one dataset, a case a correction, each with `origin: correction`.

    A line has `document` (a path from the file) or `text`; `schema` (a path from the file, which may end in `#` and a
    JSON pointer, or the schema itself); the `output`; and either `corrected`, the right value as a whole, or
    `corrections`, right values by field path. `id`, `by`, `at`, `tags` and `question` are optional. Raises
    CaseFileError with the first line that cannot be used.
    """
    root = os.path.relpath(source.parent.resolve(), target.resolve())
    records: dict[Json, Record] = {}
    for number, row in json_objects(source):
        try:
            record = _record(source.parent, number, row, root)
            if record.keys["id"] in records:
                raise ConfigError(f"the id {record.keys['id']!r} is taken; give each correction an id of its own")
        except (ExtractError, ValueError) as error:
            raise CaseFileError(str(error), path=source, line=number) from None
        records[record.keys["id"]] = record
    heading = ("What people corrected in production; regression tests, which stay out of headline rates",)
    return as_dataset(NAME, [*records.values()], heading=heading)


def _record(folder: Path, number: int, row: Mapping[str, Any], root: str) -> Record:
    """Return a correction as a case; `root`: the way from the folder of the dataset to that of the file."""
    for key in row:
        if key not in KEYS:
            raise ConfigError(f"a correction has no key {key!r}{nearest(key, KEYS)}")
    if "schema" not in row or ("document" in row) == ("text" in row) or ("corrected" in row) == ("corrections" in row):
        needed = "`schema`, either `document` or `text`, and either `corrected` or `corrections`"
        raise ConfigError(f"a correction has {needed}")
    keys = {key: row[key] for key in ("id", "document", "text", "schema", "question", "tags") if key in row}
    for key, value in keys.items():
        for mistake in checked_value(key, value)[1]:
            raise ConfigError(mistake.text())
    schema, output = row["schema"], row.get("output")
    if isinstance(schema, str):
        file, pointer = path_and_pointer(schema, lambda name: is_file(folder / name))
        schema = schema_at(folder / file, pointer)
        keys["schema"] = Path(root, file).as_posix() + (f"#{pointer}" if pointer else "")
    gold = row["corrected"] if "corrected" in row else _corrected(output, row["corrections"], schema)
    if same(output, gold):
        raise ConfigError("the correction changes nothing: the output is the corrected value")
    stem = NAME
    if "document" in keys:
        if not is_file(folder / row["document"]):
            raise ConfigError(f"{row['document']} is no file beside the corrections")
        stem, keys["document"] = Path(row["document"]).stem, Path(root, row["document"]).as_posix()
    who = {f"corrected_{key}": str(row[key]) for key in ("by", "at") if row.get(key) is not None}
    keys |= {
        "id": plain_id(str(row.get("id", f"{stem}-{number}"))),
        "gold": gold,
        "origin": str(Origin.CORRECTION),
        "tags": who | row.get("tags", {}),
    }
    return checked(keys, schema, gold)


def _corrected(output: Json, corrections: Json, schema: Json) -> Json:
    """Return an output with right values put in by field path.

    Raises ConfigError for a path that it has no place for, or that has a key which neither it nor the schema has.
    """
    if not isinstance(corrections, dict) or not corrections:
        raise ConfigError("`corrections` must be an object of field paths and their right values")
    program, value, advice = None, output, "write the whole value as `corrected`"
    with suppress(SchemaError):  # what is wrong with the schema, `check` says
        program = compile_schema(schema).program
    for text, right in corrections.items():
        path = FieldPath.parse(text)
        if program is not None and value_at(output, path) is MISSING:
            problem = field_problem(text, program, output)
            if problem is not None:
                raise ConfigError(f"`corrections`: {problem}; if it is right, {advice}")
        for end, step in enumerate(path):
            kind = dict if isinstance(step, str) else list
            around = value_at(value, path[:end])
            if around is MISSING or around is None:
                around = kind()  # what is null or missing on the way can be made, nothing else may go
            if not isinstance(around, kind) or (isinstance(step, int) and not 0 <= step <= len(around)):
                raise ConfigError(f"`corrections`: the output has no place {text}; {advice}")
        value = replaced(value, path, right)
    return value
