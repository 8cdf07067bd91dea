"""The reference pages of the manual are what the code gives."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from pytest_extract.cases.model import case_file_schema
from pytest_extract.core.measures import MEASURES
from pytest_extract.docs.__main__ import PAGES, page_text
from pytest_extract.plugin.options import OPTIONS


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_what_the_code_gives(name):
    page = (resources.files("pytest_extract.docs") / name).read_text(encoding="utf-8")
    assert page == page_text(name), "write the pages anew: python -m pytest_extract.docs"


def test_the_pages_have_a_row_for_every_option_measure_and_key():
    options = page_text("options.md").splitlines()
    for option in OPTIONS:
        shown = [f"`--extract-{option.name}"] * option.command_line + [f"`{option.dest}`"] * option.ini
        (row,) = (line for line in options if line.endswith(f"| {option.help} |"))
        assert all(text in row for text in [*shown, option.shown_default or ""])
    measures = page_text("measures.md").splitlines()
    for name, measure in MEASURES.items():
        row = next(line for line in measures if line.startswith(f"| `{name}` |"))
        assert all(text in row for text in [*measure.systems, measure.doc, measure.column or ""])


def keys_of(schema):
    """Yield every name under `properties`, at any depth."""
    if isinstance(schema, dict):
        yield from schema["properties"] if isinstance(schema.get("properties"), dict) else ()
        for part in schema.values():
            yield from keys_of(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from keys_of(part)


def test_the_page_of_case_keys_has_every_key_at_every_depth():
    definitions = json.loads(case_file_schema())["$defs"]
    del definitions["post_processor"]  # a mapping of its name and free parameters
    rows = {line.split("|")[1].strip(" `") for line in page_text("case-keys.md").splitlines() if line.startswith("| `")}
    assert rows == {*keys_of(definitions), "cases", "defaults", "dataset"} - {*MEASURES}
