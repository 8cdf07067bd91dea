"""ExtractBench: folders with `*-schema.json` beside `pdf+gold/`, which holds `NAME.pdf` and `NAME.gold.json`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from pytest_extract.cases.embedded_schema import wrapped_schema
from pytest_extract.core.schema.source import SchemaSource
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.importers.files import (
    Imported,
    ImportFolder,
    SchemaCheck,
    gold_problem,
    json_file_value,
    one_line,
    plain_id,
    reading_replaced,
    yaml_quoted,
)

GOLDS: Final = "pdf+gold"
SUFFIX: Final = ".gold.json"


def import_extract_bench(source: Path, target: ImportFolder, *, copy: bool = False) -> Imported:
    """Write one case file a schema, `FOLDER/FOLDER.extract.yaml`, with a case a document.

    Files are named where they stand, relative to the case file, or with `copy` copied beside it. Raises ConfigError
    where there is no such folder, CaseFileError for a JSON file that cannot be read.
    """
    folders = sorted(path.parent for path in source.rglob("*-schema.json") if (path.parent / GOLDS).is_dir())
    if not folders:
        raise ConfigError(f"{source}: no folder with a *-schema.json beside {GOLDS}/ is there")
    copies = _copies(folders, source) if copy else {}
    target.check([*(_case_file(folder, source) for folder in folders), *copies])
    for name, file in copies.items():
        there = target.folder / name
        if name.endswith(SUFFIX) and there.exists():
            with reading_replaced():
                old = json_file_value(there)
            target.replace_gold(str(there), old, json_file_value(file))
    cases = broken = uncompared = judged = 0
    notes: list[str] = []
    for folder in folders:
        found = list(_cases(folder, target.folder / _case_file(folder, source), notes, copy=copy))
        schema = _place(folder, target.folder / _case_file(folder, source), copy=copy)
        tags = {"domain": _domain(folder, source), "schema": folder.resolve().name}
        defaults = f"defaults: {{schema: {yaml_quoted(schema)}, tags: {yaml_quoted(tags)}}}"
        head = f"# ExtractBench, {folder.relative_to(source).as_posix()}\n{defaults}\n"
        if found:
            text = f"{head}cases:\n" + "".join(each.text for each in found)
            target.write(_case_file(folder, source), text)
        cases += len(found)
        broken += sum(each.broken for each in found)
        uncompared += sum(each.uncompared for each in found)
        judged += sum(each.judged for each in found)
    return Imported(
        files=tuple(target.written),
        cases=cases,
        broken=broken,
        uncompared=uncompared,
        judged=judged,
        notes=tuple(notes),
    )


def _copies(folders: Iterable[Path], source: Path) -> dict[str, Path]:
    """Return the file that each copied file is a copy of, by its name below the folder that is written to."""
    copies: dict[str, Path] = {}
    for folder in folders:
        files = [_schema_of(folder)[0]]
        for gold in sorted((folder / GOLDS).glob(f"*{SUFFIX}")):
            document = _document_of(gold)
            files += [document, gold] if document.is_file() else []
        copies |= {(folder.relative_to(source) / file.name).as_posix(): file for file in files}
    return copies


def _document_of(gold: Path) -> Path:
    return gold.with_name(f"{gold.name.removesuffix(SUFFIX)}.pdf")


class _CaseText(NamedTuple):
    """A case as YAML; whether its gold breaks its schema, or holds values that no comparison reaches; `judged`."""

    text: str
    broken: bool
    uncompared: bool
    judged: bool


def _case_file(folder: Path, source: Path) -> str:
    inside = folder.relative_to(source)
    name = folder.resolve().name
    return (inside / f"{name}.extract.yaml").as_posix()


def _domain(folder: Path, source: Path) -> str:
    """Return the folder above that of a schema, as the dataset is laid out: `finance` of `finance/10kq`."""
    inside = folder.relative_to(source).parent
    return inside.name or source.resolve().name


def _schema_of(folder: Path) -> tuple[Path, str, Json]:
    """Return the schema's file, the pointer to it in there, and its value."""
    files = sorted(folder.glob("*-schema.json"))
    if len(files) > 1:
        raise ConfigError(f"{folder}: holds several schemas: {', '.join(file.name for file in files)}")
    value = json_file_value(files[0])
    inner = wrapped_schema(value)
    return (files[0], "", value) if inner is None else (files[0], f"#/{inner}", SchemaSource(value).at(f"/{inner}"))


def _place(folder: Path, case_file: Path, *, copy: bool) -> str:
    file, pointer, _ = _schema_of(folder)
    return _named(file, case_file, copy=copy) + pointer


def _named(file: Path, case_file: Path, *, copy: bool) -> str:
    """Return how a case file names a file, which is copied beside it first when asked for."""
    if not copy:
        return Path(os.path.relpath(file.resolve(), case_file.parent.resolve())).as_posix()
    try:
        case_file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, case_file.parent / file.name)
    except OSError as error:
        raise StoreError(f"{case_file.parent / file.name} cannot be written: {error.strerror or error}") from error
    return file.name


def _cases(folder: Path, case_file: Path, notes: list[str], *, copy: bool) -> Iterator[_CaseText]:
    """Yield each case as YAML."""
    _, _, schema = _schema_of(folder)
    check = SchemaCheck.of(schema)
    for gold in sorted((folder / GOLDS).glob(f"*{SUFFIX}")):
        name = gold.name.removesuffix(SUFFIX)
        document = _document_of(gold)
        if not document.is_file():
            notes.append(f"{gold}: left out, {document.name} is not there")
            continue
        value = json_file_value(gold)
        problem, uncompared = gold_problem(schema, value), check.uncompared(value)
        lines = [
            f"- id: {yaml_quoted(plain_id(name))}",
            f"  document: {yaml_quoted(_named(document, case_file, copy=copy))}",
            f"  gold: {yaml_quoted(_named(gold, case_file, copy=copy))}",
        ]
        if problem is not None:
            lines += [
                "  # The gold breaks its own schema, so its gate would fail whatever is extracted:",
                f"  # {problem}",
                "  gates: {schema: false}",
            ]
        if uncompared is not None:
            notes.append(f"{gold}: {uncompared}")
            if uncompared.is_most:
                lines += [f"  # {one_line(str(uncompared))}", "  uncompared: allow"]
        yield _CaseText("\n".join(lines) + "\n", problem is not None, uncompared is not None, check.judged)
