"""Reads and writes the files that commands name, and prints what is safe for a terminal and for a CI service's log."""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_extract.cases.schemas import schema_at
from pytest_extract.cases.sources import path_and_pointer, read_json_lines, read_value
from pytest_extract.core.arguments import class_schema
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError
from pytest_extract.files import own_place, write_atomic
from pytest_extract.report.lines import Line, printed, safe_controls, text_of

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case
    from pytest_extract.cases.schemas import SchemaCache
    from pytest_extract.results import ResultsReader

_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})


def refuse_options(args: argparse.Namespace, where: str, *names: str) -> None:
    """Raise ConfigError for options that were given, and would change nothing here."""
    given = [f"--{name}" for name in names if name in args.given]
    if given:
        raise ConfigError(f"{' and '.join(given)} {'has' if len(given) == 1 else 'have'} no effect {where}")


def read_schema(given: str) -> Json:
    """Return the schema of `file.json` or `file.json#/pointer`, with what it refers to there; raises CaseFileError."""
    name, pointer = path_and_pointer(given)
    return schema_at(Path(name), pointer)


def read_records(paths: Iterable[Path], *, each: bool = False) -> Iterator[tuple[str, Json]]:
    """Yield (where, value) of every record: one a file, one a line of a `.jsonl`, or with `each` one an array item."""
    for path in paths:
        if path.suffix.lower() == ".jsonl":
            yield from ((f"{path}:{number}", value) for number, value in read_json_lines(path))
            continue
        value = read_value(path)
        if each and isinstance(value, list):
            yield from ((f"{path}#/{index}", item) for index, item in enumerate(value))
        else:
            yield str(path), value


def json_without_commands(text: str) -> str:
    """Return JSON that prints no command of a CI service (`##vso[...]`) into a log; it holds the same values."""
    return text.replace("##", "#\\u0023")


def write_json(value: Json, output: Path | None = None) -> None:
    """Write a value as indented JSON into a file, or to standard output; raises StoreError.

    What the encoding cannot hold is escaped, as half a surrogate pair always is, and so are commands of CI services.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode("utf-8" if output is not None else sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    if output is None:
        sys.stdout.write(f"{json_without_commands(text)}\n")
    else:
        write_atomic(output, f"{text}\n")


def load_extensions(given: str | None) -> Extensions | None:
    """Import what `module:name` means (current folder first); raises ConfigError.

    An Extensions object; without `:name`, the module's decorated functions (`conftest`, for one in this folder).
    """
    if given is None:
        return None
    module, _, name = given.partition(":")
    try:
        home = _imported(module)
        found = getattr(home, name) if name else Extensions.marked_in(vars(home))
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"--extensions {given}: {error}") from error
    if not isinstance(found, Extensions):
        raise ConfigError(f"--extensions {given}: an Extensions object is needed, not {type(found).__name__}")
    if not any(found.names()):
        raise ConfigError(f"--extensions {given}: no function with a decorator of pytest_extract.extend is there")
    return found


def schema_of_class(given: str) -> Json:
    """Return the JSON Schema of MODULE:CLASS, a pydantic model (or dataclass or TypedDict). Raises ConfigError."""
    module, _, name = given.partition(":")
    try:
        found = attrgetter(name)(_imported(module))
    except Exception as error:  # importing runs the user's code
        raise ConfigError(f"{given} gives no JSON Schema: {type(error).__name__}: {error}") from error
    return class_schema(given, found)


def _imported(module: str) -> Any:
    """Import a module, from the current folder first."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.pop(0)


def load_all_cases(files: Iterable[Path], cache: SchemaCache, problem: str) -> list[Case]:
    """Return the cases of all files; ConfigError for mistakes in them: `problem` and the mistakes."""
    from pytest_extract.cases.load import load_cases  # `score` reads no cases

    loaded = [load_cases(file, cache) for file in files]
    errors = [str(error) for each in loaded for error in each.errors]
    if errors:
        raise ConfigError("\n".join([problem, *errors]))
    return [case for each in loaded for case in each.cases]


def found_case_files(paths: Sequence[Path]) -> list[Path]:
    """Return the case files among `paths` and below them; raises ConfigError where there is none."""
    files = [*case_files(paths)]
    if not files:
        from pytest_extract.cases.load import SUFFIXES

        names = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
        raise ConfigError(f"no case file ({names}) in {', '.join(map(str, paths))}")
    return files


def case_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the case files among `paths` and below them, each once, sorted; none in hidden folders and environments."""
    from pytest_extract.cases.load import SUFFIXES

    seen: set[Path] = set()
    for path in paths:
        is_folder = path.is_dir()
        for file in sorted(each for suffix in SUFFIXES for each in path.rglob(f"*{suffix}")) if is_folder else [path]:
            folders = file.relative_to(path).parts[:-1]
            place = own_place(file)  # a link in another folder has files of its own beside it
            if place in seen or any(name in _SKIPPED_FOLDERS or name.startswith(".") for name in folders):
                continue
            seen.add(place)
            yield file


def print_note(command: str, text: str) -> None:
    """Print a note to standard error, beside the output."""
    sys.stderr.write(f"pytest-extract {command}: {safe_controls(text)}\n")


def note_torn(command: str, reader: ResultsReader) -> None:
    """Note that a results file that was read ends within a line."""
    if reader.torn:
        print_note(command, f"{reader.path}: the last line is cut off (a killed run?); its case is left out")


def print_text(text: object) -> None:
    """Print a text that may be of any origin."""
    sys.stdout.write(f"{safe_controls(str(text))}\n")


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{text_of(printed(each)).rstrip()}\n" for each in lines))


def terminal_width(fallback: int = 120) -> int:
    """Return the columns of the terminal, at least 60; `fallback` without a terminal."""
    return max(60, shutil.get_terminal_size((fallback, 24)).columns)
