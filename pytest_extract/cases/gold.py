"""Write a value into the gold of a case, in whichever file it is, in the style of that file."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path

from pytest_extract.cases.edit import new_text, reached, with_value
from pytest_extract.cases.model import Case
from pytest_extract.cases.source_position import Steps, TextTarget
from pytest_extract.cases.sources import YAML_SUFFIXES, SourceFile, parse_source, read_text
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.errors import CaseFileError, StoreError
from pytest_extract.files import MOST_BULK_BYTES, read_regular, write_atomic


def update_gold(case: Case, value: Json) -> bool:
    """Make `value` the case's gold; whether the file had to change.

    Works on a gold file (JSON, YAML), a gold inside a case or defaults file, and a line of a dataset. The file is read
    afresh, so that several cases of one file can be updated one after the other. A missing file is written whole.
    Raises StoreError, CaseFileError.
    """
    if case.gold_is_missing and not case.gold_path.exists():
        write_atomic(case.gold_path, new_text(value, is_yaml=case.gold_path.suffix.lower() in YAML_SUFFIXES))
        return True
    source, lines = _read(case)
    try:
        old = reached(source.value, case.gold_steps)
    except (LookupError, TypeError):
        raise StoreError(f"{source.path}: the gold of {case.id} is not where it was; collect again") from None
    if canonical_json(old) == canonical_json(value):
        return False
    lines[source.first_line - 1] = with_value(source, case.gold_steps, value)
    _write(source.path, "\n".join(lines))
    return True


def read_gold(case: Case) -> Json:
    """Return a case's gold as the file has it now. Raises CaseFileError, StoreError."""
    source, _ = _read(case)
    try:
        return reached(source.value, case.gold_steps)
    except (LookupError, TypeError):
        raise StoreError(f"{source.path}: the gold of {case.id} is not where it was; collect again") from None


def add_accepted(case: Case, field: str, value: Json) -> None:
    """Add a further right value of a field to the `accept` of a case, in its file. Raises CaseFileError, StoreError."""
    is_yaml = case.path.suffix.lower() in YAML_SUFFIXES
    source = parse_source(case.path, read_text(case.path, MOST_BULK_BYTES), "yaml" if is_yaml else "json")
    root = source.value if isinstance(source.value, dict) else {}
    steps: Steps = ()
    if "cases" in root:
        lines = source.parsed.rows.get("cases", [])
        if case.line not in lines:
            raise StoreError(f"{case.path}: the case {case.id} is not where it was; collect again")
        steps = ("cases", lines.index(case.line))
    keys = reached(source.value, steps)
    if "dataset" in root or not isinstance(keys, dict) or "documents" in keys:
        raise StoreError(f"{case.path}: `accept` of {case.id} would hold for its other cases too; write it by hand")
    accepted = dict(keys.get("accept") or {})
    accepted[field] = [*accepted.get(field, ()), value]
    _write(case.path, with_value(source, steps, {**keys, "accept": accepted}))


def gold_lines_of(path: Path, steps: Steps, first_line: int, places: Sequence[Steps]) -> list[int]:
    """Return the line of each place of a gold file as it is now; what is gone has that of what stood around it.

    `steps` and `first_line` say where the gold begins: a case's `gold_steps` and `gold_line`.
    """
    try:
        source = _source(path, steps, first_line)[0]
    except (CaseFileError, StoreError):  # another program has changed it since
        return [first_line] * len(places)
    found = source.places(TextTarget(place, on_key=True) for place in places)
    return [found[TextTarget(place, on_key=True)].line for place in places]


def gold_source(case: Case) -> SourceFile:
    """Return the text that holds the gold, read afresh, to place mistakes in it. Raises CaseFileError, StoreError."""
    return _read(case)[0]


def _read(case: Case) -> tuple[SourceFile, list[str]]:
    """Return the source of the gold and the file's text, cut into lines where one of them is the source."""
    return _source(case.gold_path, case.gold_steps, case.gold_line)


def _source(path: Path, steps: Steps, first_line: int) -> tuple[SourceFile, list[str]]:
    is_yaml = path.suffix.lower() in YAML_SUFFIXES
    text = read_text(path, MOST_BULK_BYTES)
    lines, number = [text], 0
    if steps and not is_yaml and (first_line > 1 or not _is_one_value(path, text)):  # a line of a dataset
        lines, number = text.split("\n"), first_line - 1
    if number >= len(lines):
        raise StoreError(f"{path}: line {first_line} is gone; collect again")
    return parse_source(path, lines[number], "yaml" if is_yaml else "json", number + 1), lines


def _is_one_value(path: Path, text: str) -> bool:
    """Whether a file is a JSON text, in which a pointer names the gold, rather than the lines of a dataset."""
    try:
        parse_source(path, text, "json")
    except CaseFileError:
        return False
    return True


def _write(path: Path, text: str) -> None:
    """Write with the line ends, byte order mark and access rights that the file has."""
    before = read_regular(path, MOST_BULK_BYTES)
    mode = path.stat().st_mode
    if before.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise StoreError(f"{path}: is UTF-16; save it as UTF-8 to have gold written")
    if b"\r\n" in before:
        text = text.replace("\n", "\r\n")
    write_atomic(path, ("\ufeff" if before.startswith(codecs.BOM_UTF8) else "") + text)
    path.chmod(mode)
