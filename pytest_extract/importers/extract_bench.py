"""ExtractBench: folders with `*-schema.json` beside `pdf+gold/`, which holds `NAME.pdf` and `NAME.gold.json`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_extract.cases.embedded_schema import wrapped_schema
from pytest_extract.cases.sources import read_value
from pytest_extract.core.schema.source import SchemaSource
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError
from pytest_extract.importers.files import (
    Imported,
    ImportFolder,
    Record,
    checked,
    one_line,
    plain_id,
    reading_replaced,
    yaml_quoted,
)

GOLDS: Final = "pdf+gold"
SUFFIX: Final = ".gold.json"


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder of the dataset: its schema, in a file or at a pointer of one, and where its case file is written to."""

    path: Path
    inside: Path
    schema_file: Path
    pointer: str
    schema: Json

    @property
    def case_file(self) -> str:
        return (self.inside / f"{self.path.resolve().name}.extract.yaml").as_posix()

    def golds(self) -> Iterator[tuple[Path, Path]]:
        """Yield each gold, and the document that should be beside it."""
        for gold in sorted((self.path / GOLDS).glob(f"*{SUFFIX}")):
            yield gold, gold.with_name(f"{gold.name.removesuffix(SUFFIX)}.pdf")

    def files(self) -> Iterator[Path]:
        """Yield the files that a copy of the dataset has."""
        yield self.schema_file
        yield from (file for gold, document in self.golds() if document.is_file() for file in (document, gold))


def import_extract_bench(source: Path, target: ImportFolder, *, copy: bool = False) -> Imported:
    """Write one case file a schema, `FOLDER/FOLDER.extract.yaml`, with a case a document.

    Files are named where they stand, relative to the case file, or with `copy` copied beside it. Raises ConfigError
    where there is no such folder, CaseFileError for a JSON file that cannot be read.
    """
    paths = sorted(path.parent for path in source.rglob("*-schema.json") if (path.parent / GOLDS).is_dir())
    if not paths:
        raise ConfigError(f"{source}: no folder with a *-schema.json beside {GOLDS}/ is there")
    folders = [_folder(path, source) for path in paths]
    files = {(each.inside / file.name).as_posix(): file for each in folders for file in each.files() if copy}
    target.check([*(each.case_file for each in folders), *files])
    _copy(files, target)
    records: list[Record] = []
    notes: list[str] = []
    for each in folders:
        case_file = target.folder / each.case_file

        def named(file: Path, beside: Path = case_file.parent) -> str:
            return file.name if copy else Path(os.path.relpath(file.resolve(), beside.resolve())).as_posix()

        # the dataset has a folder a domain above those of the schemas: `finance` of `finance/10kq`
        domain = each.inside.parent.name or source.resolve().name
        defaults = {
            "schema": named(each.schema_file) + each.pointer,
            "tags": {"domain": domain, "schema": each.path.resolve().name},
        }
        text = f"# ExtractBench, {each.inside.as_posix()}\ndefaults: {yaml_quoted(defaults)}\ncases:\n"
        before = len(records)
        for gold, document in each.golds():
            if not document.is_file():
                notes.append(f"{gold}: left out, {document.name} is not there")
                continue
            identity = plain_id(gold.name.removesuffix(SUFFIX))
            keys = {"id": identity, "document": named(document), "gold": named(gold)}
            record = checked(keys, each.schema, read_value(gold))
            records.append(record)
            text += _case_text(record)
            if record.uncompared is not None:
                notes.append(f"{gold}: {record.uncompared}")
        if len(records) > before:
            target.write(each.case_file, text)
    return Imported(files=tuple(target.written), records=tuple(records), notes=tuple(notes))


def _copy(files: Mapping[str, Path], target: ImportFolder) -> None:
    """Copy files by their names in the target, once each gold that this replaces is shown."""
    for name, file in files.items():
        there = target.folder / name
        if name.endswith(SUFFIX) and there.exists():
            with reading_replaced():
                old = read_value(there)
            target.replace_gold(str(there), old, read_value(file))
    for name, file in files.items():
        target.copy(name, file)


def _folder(path: Path, source: Path) -> _Folder:
    files = sorted(path.glob("*-schema.json"))
    if len(files) > 1:
        raise ConfigError(f"{path}: holds several schemas: {', '.join(file.name for file in files)}")
    value, pointer = read_value(files[0]), ""
    if (inner := wrapped_schema(value)) is not None:
        value, pointer = SchemaSource(value).at(f"/{inner}"), f"#/{inner}"
    return _Folder(path, path.relative_to(source), files[0], pointer, value)


def _case_text(record: Record) -> str:
    """Write a case as YAML."""
    first, *others = (f"{key}: {yaml_quoted(value)}" for key, value in record.keys.items())
    lines = [f"- {first}", *(f"  {line}" for line in others)]
    if record.problem is not None:
        lines += [
            "  # The gold breaks its own schema, so its gate would fail whatever is extracted:",
            f"  # {record.problem}",
            "  gates: {schema: false}",
        ]
    if record.uncompared is not None and record.uncompared.is_most:
        lines += [f"  # {one_line(str(record.uncompared))}", "  uncompared: allow"]
    return "\n".join(lines) + "\n"
