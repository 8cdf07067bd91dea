"""Case files from published datasets and from corrections: here what all importers write, the datasets and case files.

A dataset has one case a line, a case file says why a gate is off.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pytest_extract.cases.sources import read_json_lines
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.uncompared import Uncompared, find_uncompared
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import Json, text_digest
from pytest_extract.errors import CaseFileError, ConfigError, SchemaError


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
    """What an import makes: cases, and texts by the names of their files below a folder."""

    records: Sequence[Record]
    texts: Mapping[str, str]
    notes: Sequence[str] = ()


def checked(keys: Mapping[str, Json], schema: Json, gold: Json) -> Record:
    """Make a case of a gold that is held against its schema; `keys` get what lets a gold with something wrong pass.

    A schema that cannot be compiled is told by `check`.
    """
    uncompared, judged = None, False
    with suppress(SchemaError):
        scorer = compile_schema(schema)
        uncompared, judged = find_uncompared(scorer.program, gold), scorer.needs_judge
    validator, problem = Validator(schema), None
    if not validator.is_valid(gold):
        first, *more = validator.errors(gold, limit=1_000)
        places = f" (and {len(more)} more)" if more else ""
        problem = one_line(f"{first.path}: {first.message}{places}")
        keys = {**keys, "gates": {"schema": False}}  # else the gate would fail whatever is extracted
    if uncompared is not None and uncompared.is_most:
        keys = {**keys, "uncompared": "allow"}
    return Record(keys, problem, uncompared, judged)


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


def as_dataset(name: str, records: Sequence[Record], *, heading: Sequence[str], notes: Sequence[str] = ()) -> Imported:
    """Return `NAME.extract.yaml` with its dataset `NAME.jsonl`, where a text names a file, so a text gold gets one."""
    if not records:
        raise ConfigError("there is no record to import")
    texts: dict[str, str] = {}
    lines: list[str] = []
    for one in records:
        keys = dict(one.keys)
        if isinstance(gold := keys["gold"], str):
            keys["gold"] = f"{name}-golds/{text_digest(gold)[:16]}.json"
            texts[keys["gold"]] = f"{json.dumps(gold)}\n"
        lines.append(f"{json.dumps(keys)}\n")
    texts |= {
        f"{name}.jsonl": "".join(lines),
        f"{name}.extract.yaml": f'{head_of(heading, records)}dataset: "{name}.jsonl"\n',
    }
    told = [f"{one.keys['id']}: {one.uncompared}" for one in records if one.uncompared is not None]
    return Imported(records=records, texts=texts, notes=(*notes, *told))


def head_of(heading: Sequence[str], records: Sequence[Record]) -> str:
    """Return the comments at the head of a case file: what it is, and which golds break their schema."""
    lines = [*map(one_line, heading)]
    broken = [f"  {one_line(str(one.keys['id']))}: {one.problem}" for one in records if one.problem is not None]
    if broken:
        lines += ["The schema gates of these cases are off, as their golds break their own schema:", *broken]
    return "".join(f"# {line}\n" for line in lines)
