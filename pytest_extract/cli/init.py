"""`pytest-extract init [DOCS | DIR]`: writes a suite for documents, or a first case that passes with an extractor."""

from __future__ import annotations

import argparse
import glob
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_extract.cases.keys import EDITOR_SCHEMA, case_file_schema, editor_line
from pytest_extract.cases.load import SUFFIXES, case_name, matched_documents
from pytest_extract.cases.sources import path_and_pointer
from pytest_extract.cli.files import read_schema
from pytest_extract.core.values import Json
from pytest_extract.documents import MEDIA_TYPES
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.files import write_atomic

_CASE: Final = """\
# One document, the JSON Schema of what is wanted, and the JSON that is right. All keys: pytest-extract schema print
text: |
  ACME GmbH, Hauptstr. 1, Berlin
  Invoice 2026-117
  Total due: 12.50 EUR
# document: invoice.pdf   # a file beside this one, in place of `text`
schema: first.schema.json
gold: {vendor: ACME GmbH, number: 2026-117, total: 12.5}
thresholds: {pass_rate: 1.0}
"""
_SCHEMA: Final = """\
{
  "type": "object",
  "required": ["vendor", "total"],
  "additionalProperties": false,
  "properties": {
    "vendor": {"type": "string"},
    "number": {"type": "string"},
    "total": {"type": "number"}
  }
}
"""
_CONFTEST: Final = '''\
"""The extractor under test. Put yours in the place of `extract`; a model: pytest --extract-model=PROVIDER/NAME."""

import re

import pytest

from pytest_extract import LitellmExtractor


@pytest.fixture(scope="session")
def extractor(extract_model, extract_mode):
    if extract_model is not None:
        return LitellmExtractor(model=extract_model, mode=extract_mode)

    def extract(document, schema):
        lines = document.text.splitlines()
        return {
            "vendor": lines[0].partition(",")[0],
            "number": re.search(r"Invoice (\\S+)", document.text)[1],
            "total": float(re.search(r"Total due: ([0-9.]+)", document.text)[1]),
        }

    return extract
'''
FILES: Final = {
    "cases/first.extract.yaml": editor_line("first.extract.yaml") + _CASE,
    "cases/first.schema.json": _SCHEMA,
    "cases/conftest.py": _CONFTEST,
    f"cases/{EDITOR_SCHEMA}": case_file_schema(),
}
_SUITE: Final = """\
# A case for each document. All keys: pytest-extract schema print
documents: {documents}
schema: {schema}
gold: {gold}
thresholds: {{pass_rate: 1.0}}
"""
_GROUPS: Final = """\
# A case for each document, named by what tells documents of one name apart. All keys: pytest-extract schema print
defaults:
  schema: {schema}
  thresholds: {{pass_rate: 1.0}}
cases:
"""
_GROUP: Final = """\
  - documents: {documents}
    id: {id}
    gold: {gold}
"""
_DRAFT_SCHEMA: Final = """\
{
  "type": "object",
  "properties": {
    "title": {"type": ["string", "null"], "description": "Replace this field by those that you want extracted."}
  }
}
"""
_NOT_DOCUMENTS: Final = frozenset({".json", ".jsonl", ".yaml", ".yml", ".log"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        f"Without documents, write {', '.join(FILES)} below DIR. With documents (files, or folders that hold some), "
        "write a suite with a case for each of them. What is there already is never touched."
    )
    parser.add_argument(
        "paths", type=Path, nargs="*", default=[], metavar="DOCS|DIR", help="documents, or a folder for the first case"
    )
    parser.add_argument(
        "--schema", metavar="SCHEMA", help="JSON Schema of the documents; `file.json#/pointer` reaches inside"
    )
    parser.add_argument(
        "--suite", type=Path, metavar="FILE", help="case file of the documents (default: cases/FOLDER.extract.yaml)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the files; raises StoreError, having written nothing, when one of them is there already."""
    patterns = document_patterns(args.paths)
    if patterns:
        suite = args.suite or suite_path(patterns)
        unwritten = write_suite(patterns, suite, args.schema)
        if unwritten is not None:
            print(f"write the fields that you want into {unwritten}")  # noqa: T201 - printing is the command
        shown = shlex.quote(str(suite))
        print(f"then make the golds: pytest-extract draft {shown} --model=PROVIDER/NAME --budget=USD")  # noqa: T201
        print(f"now run: pytest {shown}")  # noqa: T201 - as above
        return 0
    if len(args.paths) > 1 or args.schema or args.suite:
        raise ConfigError("no document is there: give files, or folders that hold documents")
    folder = args.paths[0] if args.paths else Path()
    _write({folder / name: text for name, text in FILES.items()})
    print(f"now run: pytest {shlex.quote(str(folder / 'cases'))}")  # noqa: T201 - printing is the command
    return 0


def _write(texts: Mapping[Path, str]) -> None:
    there = [str(path) for path in texts if path.exists() and path.name != EDITOR_SCHEMA]
    if there:
        raise StoreError(f"already there: {', '.join(there)}; nothing was written")
    for path, text in texts.items():
        write_atomic(path, text)
        print(f"wrote {path}")  # noqa: T201 - printing is the command


def document_patterns(paths: Sequence[Path]) -> list[Path]:
    """Return the paths that are documents, and a pattern for each kind of document below the folders."""
    found: list[Path] = []
    for path in paths:
        if path.is_file():
            found.append(path)
        elif path.is_dir() and path.resolve() != Path.cwd():
            suffixes = {
                file.suffix
                for file in path.rglob("*")
                if file.is_file()
                and file.suffix.lower() in MEDIA_TYPES.keys() - _NOT_DOCUMENTS
                and not any(part.startswith(".") for part in file.relative_to(path).parts)
            }
            if not any(path.rglob("*.extract.y*ml")):
                found += [path / "**" / f"*{suffix}" for suffix in sorted(suffixes)]
        elif not path.exists() and path.suffix.lower() in MEDIA_TYPES:
            raise ConfigError(f"{path} is not there")
    return found


def suite_path(patterns: Sequence[Path]) -> Path:
    """Return the case file that a suite of documents has by default."""
    name = plain_name(_home(patterns[0]).name)
    return Path("cases") / f"{name}.extract.yaml"


def write_suite(patterns: Sequence[Path], suite: Path, schema: str | None) -> Path | None:
    """Write a suite with a case for each document; return the schema that is left to write, None where there is one.

    Raises ConfigError for names that cannot be used, StoreError where a file is there.
    """
    if not suite.name.endswith(SUFFIXES):
        raise ConfigError(f"--suite {suite}: the name of a case file ends in {' or '.join(SUFFIXES)}")
    folder = suite.parent
    texts = {}
    if schema is not None:
        read_schema(schema)
        file, pointer = path_and_pointer(schema)
        named = _relative(Path(file), folder) + (f"#{pointer}" if pointer else "")
    else:
        named = f"{case_name(suite)}.schema.json"
        texts[folder / named] = _DRAFT_SCHEMA
    groups = _groups(patterns)
    keys = [
        {
            "documents": _yaml(names[0] if len(names := [_pattern(path, folder) for path in group]) == 1 else names),
            "id": _yaml(name),
            "gold": _yaml(f"golds/{name}.json"),
        }
        for name, group in groups.items()
    ]
    if len(keys) == 1:
        text = _SUITE.format(schema=_yaml(named), **keys[0])
    else:
        text = _GROUPS.format(schema=_yaml(named)) + "".join(_GROUP.format(**each) for each in keys)
    _write({suite: editor_line(suite.name) + text, **texts, folder / EDITOR_SCHEMA: case_file_schema()})
    return next(iter(texts), None)


def _groups(patterns: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the patterns by the ids of their documents: all together, or by folder and kind where ids would be alike.

    A pattern of which another, of a folder above, has all documents is left out.
    """
    found: list[Path] = []
    ids: dict[Path, str] = {}
    for pattern in sorted(patterns, key=lambda each: len(_home(each).parts)):
        documents = {Path(each.file).resolve(): each.path for each in matched_documents(Path(), [_pattern(pattern)])}
        if not documents.keys() <= ids.keys():
            found.append(pattern)
            ids |= documents
    if len(set(ids.values())) == len(ids):
        return {"{stem}" if all(pattern.is_file() for pattern in found) else "{path}": found}
    top = os.path.commonpath([_home(pattern) for pattern in found])
    has_kinds = len({pattern.suffix for pattern in found}) > 1
    groups: dict[str, list[Path]] = {}
    for pattern in found:
        name = Path(os.path.relpath(_home(pattern), top), "{path}").as_posix()
        groups.setdefault(name + pattern.suffix if has_kinds else name, []).append(pattern)
    return groups


def _home(pattern: Path) -> Path:
    """Return the folder of a document, or that below which a pattern looks for some."""
    return (pattern.parent if pattern.is_file() else pattern.parents[1]).resolve()


def _pattern(pattern: Path, folder: Path | None = None) -> str:
    """Return a document or pattern as a case file in `folder` (None: here) writes it: only wildcards are any."""
    fixed, wild = (pattern, ()) if pattern.is_file() else (pattern.parents[1], pattern.parts[-2:])
    text = glob.escape(str(fixed) if folder is None else _relative(fixed, folder))
    return Path(text, *wild).as_posix()


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _yaml(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def plain_name(name: str) -> str:
    """Return a folder's name as the name of a case file."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in name).strip("-.") or "documents"
