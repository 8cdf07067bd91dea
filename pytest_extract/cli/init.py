"""`pytest-extract init [DOCS | DIR]`: writes a suite for documents, or a first case that passes with an extractor."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_extract.cases.keys import EDITOR_SCHEMA, case_file_schema, editor_line
from pytest_extract.cases.load import SUFFIXES, case_name
from pytest_extract.cli.files import read_schema
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
    name = plain_name((patterns[0].parent if patterns[0].is_file() else patterns[0].parents[1]).resolve().name)
    return Path("cases") / f"{name}.extract.yaml"


def write_suite(patterns: Sequence[Path], suite: Path, schema: str | None) -> Path | None:
    """Write a suite with a case for each document; return the schema that is left to write, None where there is one.

    Raises ConfigError for names that cannot be used, StoreError where a file is there.
    """
    if not suite.name.endswith(SUFFIXES):
        raise ConfigError(f"--suite {suite}: the name of a case file ends in {' or '.join(SUFFIXES)}")
    folder = suite.parent
    names = [_relative(pattern, folder) for pattern in patterns]
    stems = {pattern.stem for pattern in patterns}
    is_flat = all(pattern.is_file() for pattern in patterns) and len(stems) == len(patterns)
    gold = f"golds/{{{'stem' if is_flat else 'path'}}}.json"
    texts = {}
    if schema is not None:
        read_schema(schema)
        file, hash_, pointer = schema.partition("#")
        named = _relative(Path(file), folder) + hash_ + pointer
    else:
        named = f"{case_name(suite)}.schema.json"
        texts[folder / named] = _DRAFT_SCHEMA
    documents = json.dumps(names[0] if len(names) == 1 else names, ensure_ascii=False)
    text = _SUITE.format(documents=documents, schema=json.dumps(named, ensure_ascii=False), gold=json.dumps(gold))
    _write({suite: editor_line(suite.name) + text, **texts, folder / EDITOR_SCHEMA: case_file_schema()})
    return next(iter(texts), None)


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def plain_name(name: str) -> str:
    """Return a folder's name as the name of a case file."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in name).strip("-.") or "documents"
