"""Corrections from production: JSONL of documents, what a model extracted, and what people made of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pytest_extract.cases.model import checked_value
from pytest_extract.cases.schemas import SchemaCache, field_problem
from pytest_extract.cases.sources import SourceFile, is_file, path_and_pointer, pointer_advice, sound_value
from pytest_extract.core.case_result import Origin
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, FieldPath, Json, replaced, same, value_at
from pytest_extract.errors import CaseFileError, CaseFileErrors, SchemaError, nearest
from pytest_extract.importers import Imported, Record, as_dataset, checked, json_objects, plain_id

NAME: Final = "corrections"
KEYS: Final = ("id", "document", "text", "schema", "output", "corrected", "corrections", "by", "at", "tags", "question")


def import_corrections(source: Path, target: Path) -> Imported:
    """Write one dataset, a case a correction, each with `origin: correction`.

    A line has `document` (a path from the file) or `text`; `schema` (a path from the file, which may end in `#` and a
    JSON pointer, or the schema itself); the `output`; and either `corrected`, the right value as a whole, or
    `corrections`, right values by field path. `id`, `by`, `at`, `tags` and `question` are optional. Raises
    CaseFileErrors with the line of each that cannot be used.
    """
    records: list[Record] = []
    mistakes: list[CaseFileError] = []
    cache = SchemaCache()
    root = os.path.relpath(source.parent.resolve(), target.resolve())
    lines: dict[Json, int] = {}
    for number, row in json_objects(source):
        try:
            records.append(_record(source, number, row, cache, root))
        except CaseFileError as mistake:
            mistakes.append(mistake)
            continue
        name = records[-1].keys["id"]
        if lines.setdefault(name, number) != number:
            message = f"the id {name!r} is taken by line {lines[name]}; give each correction an id of its own"
            mistakes.append(CaseFileError(message, path=source, line=number))
    if mistakes:
        raise CaseFileErrors(mistakes)
    heading = ("What people corrected in production; regression tests, which stay out of headline rates",)
    return as_dataset(NAME, records, heading=heading)


def _path_from(root: str, given: str) -> str:
    file, mark, pointer = given.partition("#/")
    return f"{Path(root, file).as_posix()}{mark}{pointer}"


def _record(path: Path, number: int, row: Mapping[str, Any], cache: SchemaCache, root: str) -> Record:
    """Return a correction as a case; `root`: the way from the folder of the dataset to that of the file."""

    def wrong(message: str) -> CaseFileError:
        return CaseFileError(message, path=path, line=number)

    for key in row:
        if key not in KEYS:
            raise wrong(f"a correction has no key {key!r}{nearest(key, KEYS)}")
    if ("document" in row) == ("text" in row) or not isinstance(row.get("document", row.get("text")), str):
        raise wrong("a correction has either `document`, a path, or `text`")
    if "schema" not in row or ("corrected" in row) == ("corrections" in row):
        raise wrong("a correction has `schema`, and either `corrected` or `corrections`")
    for key in row.keys() & {"id", "question", "schema", "tags"}:
        for mistake in checked_value(key, row[key], (key,))[1]:
            raise wrong(mistake.text())
    schema, pointer = row["schema"], ""
    if isinstance(schema, str):
        schema, pointer = path_and_pointer(schema, lambda name: is_file(path.parent / name))
    for file in (row.get("document"), schema):
        if isinstance(file, str) and not is_file(path.parent / file):
            raise wrong(f"{file} is no file beside {path.name}")
    output = row.get("output")
    try:
        if isinstance(schema, str):
            schema = _schema_in(cache.source(str(path.parent / schema)), pointer, cache)
        gold = row["corrected"] if "corrected" in row else _corrected(output, row["corrections"], schema)
    except ValueError as error:
        raise wrong(str(error)) from None
    if same(output, gold):
        raise wrong("the correction changes nothing: the output is the corrected value")
    tags = {f"corrected_{key}": str(row[key]) for key in ("by", "at") if row.get(key) is not None}
    keys: dict[str, Json] = {
        "id": plain_id(str(row.get("id", f"{Path(row['document']).stem if 'document' in row else NAME}-{number}"))),
        **{key: row[key] for key in ("document", "text", "schema", "question") if key in row},
        **{key: _path_from(root, row[key]) for key in ("document", "schema") if isinstance(row.get(key), str)},
        "gold": gold,
        "origin": str(Origin.CORRECTION),
        "tags": tags | row.get("tags", {}),
    }
    return checked(keys, schema, gold)


def _schema_in(source: SourceFile, pointer: str, cache: SchemaCache) -> Json:
    """Return the schema at a place of a file; raises CaseFileError for a broken file, ValueError for no such place."""
    sound_value(source)
    place = cache.schema_in(source, pointer)
    if place is None:
        advice = pointer_advice(source.value, pointer)
        raise ValueError(f"`schema`: nothing stands at the pointer {pointer!r} of {source.path.name}{advice}")
    return place.value


def _corrected(output: Json, corrections: Json, schema: Json) -> Json:
    """Return an output with right values put in by field path.

    Raises ValueError for a path that it has no place for, or that has a key which neither it nor the schema has.
    """
    if not isinstance(corrections, dict) or not corrections:
        raise ValueError("`corrections` must be an object of field paths and their right values")
    paths = {text: FieldPath.parse(text) for text in corrections}
    with suppress(SchemaError):  # what is wrong with the schema, `check` says
        program = compile_schema(schema).program
        for text, path in paths.items():
            problem = field_problem(text, program, output) if value_at(output, path) is MISSING else None
            if problem is not None:
                raise ValueError(f"`corrections`: {problem}; if it is right, write the whole value as `corrected`")
    value = output
    for text, right in corrections.items():
        try:
            value = replaced(value, paths[text], right)
        except LookupError:
            raise ValueError(
                f"`corrections`: the output has no place {text}; write the whole value as `corrected`"
            ) from None
    return value
