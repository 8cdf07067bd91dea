"""`python -m pytest_extract.docs` writes the reference pages of the manual and `case.schema.json` from the code."""

from __future__ import annotations

from pathlib import Path

from pytest_extract.cases.keys import renewed_schema
from pytest_extract.docs.reference import PAGES, page_text
from pytest_extract.files import write_atomic

if __name__ == "__main__":
    write_atomic(Path(__file__).parents[1] / "cases" / "case.schema.json", renewed_schema())
    for name in PAGES:
        write_atomic(Path(__file__).parent / name, page_text(name))
