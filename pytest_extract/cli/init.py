"""`pytest-extract init [DIR]`: writes a first case that passes, with its schema and an extractor to replace."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Final

from pytest_extract.errors import StoreError
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


@pytest.fixture(scope="session")
def extractor():
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
    "cases/first.extract.yaml": _CASE,
    "cases/first.schema.json": _SCHEMA,
    "cases/conftest.py": _CONFTEST,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = f"Write {', '.join(FILES)} below DIR; what is there already is never touched."
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="DIR", help="default: here")


def run(args: argparse.Namespace) -> int:
    """Write the files; raises StoreError, having written nothing, when one of them is there already."""
    there = [str(args.folder / name) for name in FILES if (args.folder / name).exists()]
    if there:
        raise StoreError(f"already there: {', '.join(there)}; nothing was written")
    for name, text in FILES.items():
        path = args.folder / name
        write_atomic(path, text)
        print(f"wrote {path}")  # noqa: T201 - printing is the command
    print(f"now run: pytest {shlex.quote(str(args.folder / 'cases'))}")  # noqa: T201
    return 0
