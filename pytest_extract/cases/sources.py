"""Files that cases name, read once each: value, mistakes, and the positions of parts."""

from __future__ import annotations

import codecs
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pytest_extract.cases.json_text import (
    ParsedFile,
    SourcePosition,
    Steps,
    TextError,
    TextTarget,
    find_in_json,
    read_json,
)
from pytest_extract.cases.yaml_text import find_in_yaml, read_yaml
from pytest_extract.core.values import Json
from pytest_extract.errors import CaseFileError, closest
from pytest_extract.files import MOST_BULK_BYTES, MOST_BYTES, other_kind, read_regular

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
YAML_SUFFIXES = frozenset((".yaml", ".yml"))


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text that was read; `first_line` is other than 1 for a line of a JSONL file."""

    path: Path
    text: str
    language: Literal["json", "yaml"]
    parsed: ParsedFile
    first_line: int = 1

    @property
    def value(self) -> Json:
        """The JSON value of the text."""
        return self.parsed.value

    @property
    def mistakes(self) -> list[Mistake]:
        """What is wrong in the text by itself: parts that are no JSON values."""
        return [Mistake(self, each.steps, each.message, place=each.place) for each in self.parsed.problems]

    @property
    def folder(self) -> str:
        """Where the paths that the text names resolve from."""
        return os.path.dirname(self.path)  # noqa: PTH120 - a path a case, and pathlib takes five times as long

    def places(self, targets: Iterable[TextTarget]) -> dict[TextTarget, SourcePosition]:
        """Return the place of each target, or of the nearest thing around it that is there."""
        asked = set(targets)
        ladder = {target: tuple(_around(target)) for target in asked}
        wanted = {step for rungs in ladder.values() for step in rungs}
        if self.language == "yaml":
            found = find_in_yaml(self.text, wanted)
        else:
            found = find_in_json(self.text, wanted, self.first_line)
        start = SourcePosition(self.first_line, 1)
        return {target: next((found[step] for step in ladder[target] if step in found), start) for target in asked}


def _around(target: TextTarget) -> Iterable[TextTarget]:
    """Yield the target and then what is around it, from the inside out; of a missing value its parent's key."""
    yield target
    if target.on_key:
        yield TextTarget(target.steps)
    for end in range(len(target.steps) - 1, -1, -1):
        yield TextTarget(target.steps[:end], on_key=True)
        yield TextTarget(target.steps[:end])


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a place of a source; the line and column are looked up last, for all mistakes at once."""

    source: SourceFile
    steps: Steps
    message: str
    on_key: bool = False
    place: SourcePosition | None = None


def mistake_in(error: CaseFileError) -> Mistake:
    """Carry over a mistake that a file's reader placed itself."""
    source = SourceFile(error.path, "", "json", ParsedFile(None))
    return Mistake(source, (), error.message, place=SourcePosition(error.line or 1, error.column or 1))


def is_file(path: str | Path) -> bool:
    """Whether a file is there; False for a name that no file can have, on which pathlib raises."""
    return os.path.isfile(path)  # noqa: PTH113


def path_from(folder: str, name: str) -> str:
    """Return the path that a file in `folder` names, without `..`; behind a link, as the system follows both."""
    path = os.path.join(folder, name)  # noqa: PTH118 - a path a case, and pathlib takes five times as long
    plain = os.path.normpath(path)
    if ".." in name and os.path.realpath(plain) != (real := os.path.realpath(path)):
        return real
    return plain


def path_and_pointer(given: str, is_there: Callable[[str], bool] = is_file) -> tuple[str, str]:
    """Split a path from the JSON pointer after its `#`, which may also be part of the file's name."""
    if "#" not in given or is_there(given):
        return given, ""
    marks = [at for at, character in enumerate(given) if character == "#"]
    pointed = [at for at in marks if given[at + 1 :].startswith("/") or at == len(given) - 1]
    files = [at for at in marks if is_there(given[:at])]
    at = (files[-1:] or pointed or [len(given)])[0]
    return given[:at], given[at + 1 :]


def no_file(key: str, path: Path) -> str:
    """Say that a file is not there, with the nearest name in its folder, or what is there that is no regular file."""
    with suppress(OSError, ValueError):
        kind = other_kind(os.stat(path).st_mode)  # noqa: PTH116 - pathlib's raises on a name that is too long
        return f"`{key}`: {path} is {kind}, not a file"
    other = _spelled_otherwise(path)
    if other:
        return f"`{key}`: no file {path}; {other}"
    if not os.path.isdir(path.parent):  # noqa: PTH112
        return f"`{key}`: no file {path}: there is no folder {path.parent}"
    return f"`{key}`: no file {path}{closest(path.name, _names_in(path.parent))}"


def _spelled_otherwise(path: Path) -> str:
    """Say how the file is named that the path means on another system, and what differs; "" where there is none."""
    native = path.parts[bool(path.anchor) :]
    parts = [part for each in native for part in each.split("\\") if part]
    real = Path(path.anchor)
    same: list[str] = []
    for part in parts:
        name = part if os.path.lexists(real / part) else _same_name(part, _names_in(real))
        if name is None:
            return ""
        same.append(name)
        real /= name
    if not is_file(real):
        return ""
    slashed = [at for at, part in enumerate(native) if "\\" in part]
    differing = [at for at, part in enumerate(parts) if part != same[at]]
    first = min(slashed + differing)
    found = "/".join(same[first:])
    if slashed:
        return f"write {found!r} (a backslash divides folders on Windows only)"
    if _composed(found) != _composed("/".join(parts[first:])):
        return f"did you mean {found!r}? (upper and lower case count here)"
    form = (
        "characters of their own (NFD, as macOS writes them)"
        if found != _composed(found)
        else "one with their letters (NFC)"
    )
    return f"the file's name {found!a} has its accents as {form}: rename the file, or copy its name into the path"


def _same_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that differs in case or in the form of its accents only."""
    folded = _composed(_composed(name).casefold())
    alike = (each for each in names if _composed(_composed(each).casefold()) == folded)
    return min(alike, key=lambda each: (_composed(each) != _composed(name), each), default=None)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def reached(value: Json, steps: Steps) -> Json:
    """Return the part of a value at `steps`."""
    for step in steps:
        value = value[step]
    return value


def errors_of(mistakes: Iterable[Mistake], first: Path) -> tuple[CaseFileError, ...]:
    """Place every mistake (each source is read a second time, once); those of the file `first` first, by place."""
    by_source: dict[int, list[Mistake]] = {}
    for mistake in mistakes:
        by_source.setdefault(id(mistake.source), []).append(mistake)
    errors: dict[tuple[bool, str, int, int, str], CaseFileError] = {}
    for group in by_source.values():
        source = group[0].source
        places = source.places(TextTarget(item.steps, item.on_key) for item in group if item.place is None)
        for item in group:
            line, column = item.place or places[TextTarget(item.steps, item.on_key)]
            message = item.message.encode("utf-8", "backslashreplace").decode()  # lone surrogates cannot be printed
            error = CaseFileError(message, path=source.path, line=line, column=column)
            errors[source.path != first, str(source.path), line, column, message] = error
    return tuple(errors[key] for key in sorted(errors))


def read_text(path: Path, most: int = MOST_BYTES, *, streams: bool = False) -> str:
    """Return the text of a UTF-8 (or BOM-marked UTF-16) file; raises CaseFileError.

    A file that is no regular one (`streams`: but a pipe or device may be), or has more than `most` bytes, is not read.
    """
    return _decoded(path, _read_bytes(path, most, streams=streams))


def read_lines(path: Path) -> Iterator[tuple[int, str | CaseFileError]]:
    """Yield the number and text of each line, or what is wrong with its bytes; raises CaseFileError for no file."""
    data = _read_bytes(path, MOST_BULK_BYTES)
    try:
        yield from enumerate(_decoded(path, data).split("\n"), start=1)
    except CaseFileError:
        if data.startswith(_UTF_16):
            raise
        for number, line in enumerate(data.split(b"\n"), start=1):
            try:
                yield number, _decoded(path, line, number)
            except CaseFileError as error:
                yield number, error


def _read_bytes(path: Path, most: int, *, streams: bool = False) -> bytes:
    try:
        data = read_regular(path, most, streams=streams)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL or a lone surrogate in it
        reason = getattr(error, "strerror", None) or error
        raise CaseFileError(f"cannot be read: {reason}", path=path) from None
    return data.removeprefix(codecs.BOM_UTF8)


def _decoded(path: Path, data: bytes, first_line: int = 1) -> str:
    encoding = "utf-16" if first_line == 1 and data.startswith(_UTF_16) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + first_line, len(before) - (before.rfind(b"\n") + 1) + 1
        message = f"the byte 0x{data[error.start]:02x} is not {error.encoding.upper()}; save the file as UTF-8"
        raise CaseFileError(message, path=path, line=line, column=column) from None
    return text.replace("\r\n", "\n")


def read_source(path: Path) -> SourceFile:
    """Read a file by its suffix, `.yaml`/`.yml` as YAML and all else as JSON; raises CaseFileError."""
    return parse_source(path, read_text(path), "yaml" if path.suffix.lower() in YAML_SUFFIXES else "json")


def parse_source(path: Path, text: str, language: Literal["json", "yaml"], first_line: int = 1) -> SourceFile:
    """Parse the text of `path`; raises CaseFileError if it cannot be read to its end."""
    try:
        parsed = read_yaml(text) if language == "yaml" else read_json(text, first_line)
    except TextError as error:
        line, column = error.place or (first_line, None)
        raise CaseFileError(error.message, path=path, line=line, column=column) from None
    return SourceFile(path, text, language, parsed, first_line)


def read_value(path: Path) -> Json:
    """Return the value of a JSON (by suffix YAML) file; raises CaseFileError with line and column."""
    return _whole_value(read_source(path))


def read_json_lines(path: Path) -> Iterator[tuple[int, Json]]:
    """Yield line number and value of each line of a JSONL file that is not blank; raises CaseFileError."""
    for number, line in enumerate(read_text(path, MOST_BULK_BYTES).split("\n"), start=1):
        if line.strip():
            yield number, _whole_value(parse_source(path, line, "json", number))


def _whole_value(source: SourceFile) -> Json:
    for problem in source.parsed.problems:
        raise CaseFileError(problem.message, path=source.path, line=problem.place.line, column=problem.place.column)
    return source.value
