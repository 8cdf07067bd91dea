"""Case files from published datasets and from corrections: here what all importers write, the datasets and case files.

A dataset has one case a line, a case file says why a gate is off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_extract.cases.model import EDITOR_SCHEMA, case_file_schema, editor_line
from pytest_extract.cases.sources import read_json_lines, read_value
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.uncompared import Uncompared, find_uncompared
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import MISSING, Json, Missing, canonical_json, text_digest
from pytest_extract.errors import CaseFileError, ConfigError, SchemaError, StoreError
from pytest_extract.files import write_atomic, write_bytes_atomic

_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """What models answered to cases of a file that have the same gates, as records that `bulk` scores under them."""

    file: Path
    gates: Mapping[str, Json] | None
    records: tuple[Mapping[str, Json], ...]


class Record(NamedTuple):
    """One case of a dataset: its keys, and what is wrong with its gold under its own schema, if anything is.

    `uncompared`: the gold values that no comparison reaches. `judged`: some field needs a judge.
    `responses`: what models answered, as columns of `bulk` (`output`, `model`, ...); the keys have the other columns.
    """

    keys: Mapping[str, Json]
    problem: str | None
    uncompared: Uncompared | None
    judged: bool
    responses: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import made: files and cases; `notes` for the user, one a gold with values that no comparison reaches.

    `responses`: what models answered, where the dataset has that.
    """

    files: tuple[Path, ...]
    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()
    responses: tuple[Responses, ...] = ()

    @property
    def broken(self) -> int:
        """How many golds break their own schema."""
        return sum(record.problem is not None for record in self.records)

    @property
    def uncompared(self) -> int:
        """How many golds hold values that no comparison reaches."""
        return sum(record.uncompared is not None for record in self.records)

    @property
    def judged(self) -> int:
        """How many cases have fields that only a judge can compare."""
        return sum(record.judged for record in self.records)


@dataclass(slots=True, kw_only=True)
class ImportFolder:
    """The folder that an import writes to. It overwrites no file unless `force` is set.

    `show_replaced` is called with every gold that is about to be replaced by another value: where it stands, its value
    now, and the new value (MISSING: the case is gone).
    """

    folder: Path
    show_replaced: Callable[[str, Json, Json | Missing], None]
    force: bool = False
    written: list[Path] = field(default_factory=list)

    def check(self, names: Iterable[str]) -> None:
        """Raise StoreError when one of the files is there already."""
        there = [str(self.folder / name) for name in names if (self.folder / name).exists()]
        if there and not self.force:
            more = f" and {len(there) - _MOST_NAMED} more" if len(there) > _MOST_NAMED else ""
            raise StoreError(
                f"already there: {', '.join(there[:_MOST_NAMED])}{more}; nothing was written; --force writes over "
                "them, and shows which golds change"
            )

    def replace_gold(self, where: str, old: Json, new: Json | Missing) -> None:
        """Show a gold that is about to be replaced, if its value changes."""
        if new is MISSING or canonical_json(old) != canonical_json(new):
            self.show_replaced(where, old, new)

    def write(self, name: str, text: str) -> None:
        """Write a file below the folder, whole or not at all; raises StoreError.

        A case file gets the line by which editors find the schema of case files, which is written as well.
        """
        path = self.folder / name
        if name.endswith(".extract.yaml"):
            text = editor_line(name) + text
            write_atomic(self.folder / EDITOR_SCHEMA, case_file_schema())
        write_atomic(path, text)
        self.written.append(path)

    def copy(self, name: str, file: Path) -> None:
        """Copy a file below the folder; raises StoreError."""
        write_bytes_atomic(self.folder / name, lambda there: there.write(file.read_bytes()))


def checked(
    keys: Mapping[str, Json], schema: Json, gold: Json, responses: tuple[Mapping[str, Json], ...] = ()
) -> Record:
    """Make a case of a gold that is held against its schema; `keys` get what lets a gold with something wrong pass.

    A schema that cannot be compiled is told by `check`.
    """
    uncompared, judged = None, False
    with suppress(SchemaError):
        scorer = compile_schema(schema)
        uncompared, judged = find_uncompared(scorer.program, gold), scorer.needs_judge
    validator, problem = Validator(schema), None
    if validator.problem is not None:
        problem = f"the schema is no valid JSON Schema: {validator.problem}"
    elif not validator.is_valid(gold):
        first, *more = validator.errors(gold, limit=1_000)
        places = f" (and {len(more)} more)" if more else ""
        problem = one_line(f"{first.path}: {first.message}{places}")
    if problem is not None:  # else the gate would fail whatever is extracted
        keys = {**keys, "gates": {"schema": False}}
    if uncompared is not None and uncompared.is_most:
        keys = {**keys, "uncompared": "allow"}
    return Record(keys, problem, uncompared, judged, responses)


def plain_id(name: str) -> str:
    """Return a name as a case's id, brackets made round: pytest takes what follows `[` in an id for parameters."""
    return name.strip().replace("[", "(").replace("]", ")")


def one_line(text: str, width: int = 160) -> str:
    """Make a text fit for a comment in a YAML file."""
    flat = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


def json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSONL file; raises CaseFileError with the line for anything else."""
    for number, value in read_json_lines(path):
        if not isinstance(value, dict):
            raise CaseFileError("a record is a JSON object", path=path, line=number)
        yield number, value


def write_dataset(target: ImportFolder, name: str, records: Sequence[Record], *, heading: Sequence[str]) -> Imported:
    """Write `NAME.extract.yaml` with its dataset."""
    if not records:
        raise ConfigError("there is no record to import")
    dataset, case_file = f"{name}.jsonl", f"{name}.extract.yaml"
    target.check((dataset, case_file))
    golds = {one.keys["id"]: one.keys["gold"] for one in records}
    for identity, old in list(_golds_there(target.folder / dataset)):
        target.replace_gold(f"{target.folder / dataset}: {identity}", old, golds.get(identity, MISSING))
    lines = [json.dumps(_line(target, name, one), ensure_ascii=True) for one in records]
    target.write(dataset, "\n".join(lines) + "\n")
    target.write(case_file, f"{head_of(heading, records)}dataset: {json.dumps(dataset)}\n")
    responses: list[Responses] = []
    for gates in (None, {"schema": False}):
        some = [one for one in records if one.keys.get("gates") == gates]
        answered = tuple({**_columns(one.keys), **response} for one in some for response in one.responses)
        if answered:
            responses.append(Responses(file=target.folder / case_file, gates=gates, records=answered))
    notes = tuple(f"{one.keys['id']}: {one.uncompared}" for one in records if one.uncompared is not None)
    return Imported(files=tuple(target.written), records=tuple(records), notes=notes, responses=tuple(responses))


def _columns(keys: Mapping[str, Json]) -> dict[str, Json]:
    """Return what `bulk` reads of a case beside an answer."""
    case = {name: keys[name] for name in ("id", "modality", "tags") if name in keys}
    return case | {name: json.dumps(keys[name]) for name in ("schema", "gold")}


def _golds_there(path: Path) -> Iterator[tuple[Json, Json]]:
    """Yield id and gold of the cases of a dataset that is there; a text names a file, as in every dataset."""
    for _, row in json_objects(path) if path.exists() else ():
        gold = row.get("gold")
        file = path.parent / gold if isinstance(gold, str) else None
        yield row.get("id"), read_value(file) if file is not None and file.is_file() else gold


def _line(target: ImportFolder, name: str, record: Record) -> dict[str, Json]:
    """Return the keys of a case; a gold that is a text itself goes to a file, as a text here names one."""
    keys = dict(record.keys)
    if isinstance(keys["gold"], str):
        digest = text_digest(keys["gold"])
        place = f"{name}-golds/{digest[:16]}.json"
        target.write(place, json.dumps(keys["gold"]) + "\n")
        keys["gold"] = place
    return keys


def head_of(heading: Sequence[str], records: Sequence[Record]) -> str:
    """Return the comments at the head of a case file: what it is, and which golds break their schema."""
    lines = [*map(one_line, heading)]
    broken = [f"  {one_line(str(one.keys['id']))}: {one.problem}" for one in records if one.problem is not None]
    if broken:
        lines += ["The schema gates of these cases are off, as their golds break their own schema:", *broken]
    return "".join(f"# {line}\n" for line in lines)
