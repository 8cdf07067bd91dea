"""The two datasets that are called ExtractBench, and DeepJSONEval.

ExtractBench (arXiv 2602.12247): folders with `*-schema.json` beside `pdf+gold/`, which holds `NAME.pdf` and
`NAME.gold.json`. The ExtractBench of run-llama (arXiv 2607.29677): a `NAME.test.json` beside each document.
DeepJSONEval: JSONL or .xlsx of `id, schema, text, json, category, true_depth`; `schema` and `json` hold JSON.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pytest_extract.cases.edit import new_text
from pytest_extract.cases.schemas import schema_at, wrapped_schema
from pytest_extract.cases.sources import read_value
from pytest_extract.core.metrics.dates import read_iso
from pytest_extract.core.values import FieldPath, Json, iter_leaves, pattern_of, value_at
from pytest_extract.errors import CaseFileError, ConfigError
from pytest_extract.files import MOST_BULK_BYTES
from pytest_extract.importers import Imported, Record, as_dataset, checked, head_of, json_objects, plain_id

GOLDS: Final = "pdf+gold"
GOLD_SUFFIX: Final = ".gold.json"


def import_extract_bench(source: Path, target: Path) -> Imported:
    """Write one case file a schema, `FOLDER/FOLDER.extract.yaml`, with a case a document.

    Files are named where they stand, relative to the case file. Raises ConfigError where there is no such folder,
    CaseFileError for a JSON file that cannot be read.
    """
    paths = sorted(path.parent for path in source.rglob("*-schema.json") if (path.parent / GOLDS).is_dir())
    if not paths:
        raise ConfigError(f"{source}: no folder with a *-schema.json beside {GOLDS}/ is there")
    texts: dict[str, str] = {}
    records: list[Record] = []
    notes: list[str] = []
    for path in paths:
        inside, name = path.relative_to(source), path.resolve().name
        schemas = sorted(path.glob("*-schema.json"))
        if len(schemas) > 1:
            raise ConfigError(f"{path}: holds several schemas: {', '.join(file.name for file in schemas)}")
        inner = wrapped_schema(read_value(schemas[0]))
        pointer = "" if inner is None else f"/{inner}"
        schema, beside = schema_at(schemas[0], pointer), target / inside
        # the dataset has a folder a domain above those of the schemas: `finance` of `finance/10kq`
        tags = {"domain": inside.parent.name or source.resolve().name, "schema": name}
        defaults = {"schema": _named(schemas[0], beside) + (pointer and f"#{pointer}"), "tags": tags}
        found: list[Record] = []
        for gold in sorted((path / GOLDS).glob(f"*{GOLD_SUFFIX}")):
            stem = gold.name.removesuffix(GOLD_SUFFIX)
            document = gold.with_name(f"{stem}.pdf")
            if not document.is_file():
                notes.append(f"{gold}: left out, {document.name} is not there")
                continue
            keys = {"id": plain_id(stem), "document": _named(document, beside), "gold": _named(gold, beside)}
            record = checked(keys, schema, read_value(gold))
            if record.uncompared is not None:
                notes.append(f"{gold}: {record.uncompared}")
            found.append(record)
        if found:
            head = head_of((f"ExtractBench, {inside.as_posix()}",), found)
            suite: dict[str, Json] = {"defaults": defaults, "cases": [dict(record.keys) for record in found]}
            texts[(inside / f"{name}.extract.yaml").as_posix()] = head + new_text(suite, is_yaml=True)
            records += found
    return Imported(records=records, texts=texts, notes=notes)


def _named(file: Path, folder: Path) -> str:
    """Return the path of a file as a case file in a folder names it."""
    return Path(os.path.relpath(file.resolve(), folder.resolve())).as_posix()


_SUFFIX: Final = ".test.json"
_DOCUMENTS: Final = (".pdf", ".docx", ".png", ".jpg", ".jpeg", ".jfif")
"""Of the documents beside a file, the first of these is meant."""


def import_llama_extract_bench(source: Path, target: Path) -> Imported:
    """Write one dataset, a case a document, that names document and schema where they stand.

    Null is a value there, so a key that is left out is wrong; dates agree in any usual format. Further readings of a
    value become `accept`, its pages and boxes `evidence`. Raises CaseFileError for a file that cannot be used.
    """
    files = sorted(source.rglob(f"*{_SUFFIX}"))
    if not files:
        raise ConfigError(f"{source}: no NAME{_SUFFIX} beside a document is there")
    found = [_record(path, source, target) for path in files]
    records, lenient = [record for record, _ in found], sum(normalizers for _, normalizers in found)
    heading = ["ExtractBench of run-llama: its value F1 is the measure f1"]
    told = f"{lenient} fields have normalizers (case, punctuation, telephone numbers), which are not imported"
    return as_dataset("llama-extract-bench", records, heading=heading, notes=[told] if lenient else ())


def _record(path: Path, source: Path, folder: Path) -> tuple[Record, int]:
    content = read_value(path)
    if not isinstance(content, dict) or not {"data_schema", "expected_output"} <= content.keys():
        raise CaseFileError("has no `data_schema` and `expected_output`", path=path, line=1)
    schema, gold = content["data_schema"], content["expected_output"]
    stem = path.name.removesuffix(_SUFFIX)
    document = next((file for suffix in _DOCUMENTS if (file := path.with_name(stem + suffix)).is_file()), None)
    if document is None:
        raise CaseFileError(f"no document {stem} ({', '.join(_DOCUMENTS)}) stands beside it", path=path, line=1)
    dates = {
        pattern_of(path)
        for path, value in iter_leaves(gold)
        if isinstance(value, str) and len(value) == 10 and (day := read_iso(value)) is not None and day.day is not None
    }
    accept: defaultdict[str, list[Json]] = defaultdict(list)
    evidence: dict[str, list[Json]] = {}
    name = None
    try:
        tags = ", ".join(map(str, content.get("tags") or ()))
        listed = [rule for rule in content.get("test_rules") or () if isinstance(rule, dict)]
        given = dict(content.get("_field_rules") or {})
        given |= {rule["field_path"]: rule for rule in listed if isinstance(rule.get("field_path"), str)}
        rules = {name: rule for name, rule in given.items() if isinstance(rule, Mapping)}
        for name, rule in rules.items():
            expected = value_at(gold, FieldPath.parse(name))
            for reading in [entry.get("value") for entry in rule.get("evidence") or ()]:
                if reading is not None and reading != expected and reading not in accept[name]:
                    accept[name].append(reading)
            evidence[name] = _places(rule)
    except (AttributeError, TypeError, ValueError) as error:
        what = "`_field_rules`, `test_rules` or `tags`" if name is None else f"the rule of {name!r}"
        raise CaseFileError(f"{what} is of another form: {error}", path=path, line=1) from None
    keys: dict[str, Json] = {
        "id": plain_id((path.parent.relative_to(source) / stem).as_posix()),
        "document": _named(document, folder),
        "schema": f"{_named(path, folder)}#/data_schema",
        "gold": gold,
        "nulls": "value",
        "tags": {"group": path.parent.name} | ({"tags": tags} if tags else {}),
        "overrides": dict.fromkeys(sorted(dates), "date"),  # whole ones in ISO 8601
        "accept": dict(accept),
        "evidence": {name: places for name, places in evidence.items() if places},
    }
    record = checked({key: value for key, value in keys.items() if value != {}}, schema, gold)
    return record, sum(bool(rule.get("normalizers")) for rule in rules.values())


def _places(rule: Mapping[str, Any]) -> list[Json]:
    """Return pages and boxes: of a value in several lines, the box around all."""
    entries = [*(rule.get("evidence") or ()), *(rule.get("bboxes") or ())]
    around = {entry.get("page") for entry in entries if entry.get("coarse")}
    places: list[Json] = []
    for entry in entries:
        page, box = entry.get("page"), entry.get("bbox")
        if not isinstance(page, int) or (page in around and not entry.get("coarse")):
            continue
        place: dict[str, Json] = {"page": page}
        if isinstance(box, list) and len(box) == 4:
            left, top, wide, high = map(float, box)
            box = [min(max(side, 0.0), 1.0) for side in (left, top, left + wide, top + high)]
            place |= {"box": box} if box[0] < box[2] and box[1] < box[3] else {}
        if place not in places:
            places.append(place)
    return places


def import_deepjsoneval(source: Path) -> Imported:
    """Write one dataset, a case a row of JSONL or .xlsx; raises CaseFileError with the row that cannot be used."""
    records: list[Record] = []
    for number, row in workbook_rows(source) if source.suffix.lower() == ".xlsx" else json_objects(source):
        for key in ("schema", "text", "json"):
            if not isinstance(row.get(key), str):
                raise CaseFileError(f"a row of DeepJSONEval has the text {key!r}", path=source, line=number)
        inner: dict[str, Json] = {}
        for key in ("schema", "json"):
            try:
                inner[key] = json.loads(row[key])
            except (ValueError, RecursionError) as error:
                raise CaseFileError(f"{key!r} holds no JSON text: {error}", path=source, line=number) from error
        keys: dict[str, Json] = {
            "id": plain_id(str(row.get("id", number))),
            "text": row["text"],
            "schema": inner["schema"],
            "gold": inner["json"],
            "tags": {key: str(row[key]) for key in ("category", "true_depth") if row.get(key) is not None},
        }
        records.append(checked(keys, inner["schema"], inner["json"]))
    heading = ["DeepJSONEval: its measures are syntax, key_match and strict"]
    return as_dataset("deepjsoneval", records, heading=heading)


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
