"""The manual and the README: their links and examples, the reference pages, the case that fails as shown."""

from __future__ import annotations

import doctest
import json
import re
from email import message_from_string
from importlib import resources
from pathlib import Path

import pytest

from pytest_extract.cases.model import case_file_schema
from pytest_extract.core.measures import MEASURES
from pytest_extract.docs.__main__ import PAGES as REFERENCE_PAGES
from pytest_extract.docs.__main__ import page_text
from pytest_extract.plugin.options import OPTIONS
from tests.core.schemas import INTEGER, NUMBER, TEXT, obj, table
from tests.loaded import load_everything

load_everything()

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FOLDER = resources.files("pytest_extract.docs")
PAGES = {page.name: page.read_text("utf-8") for page in FOLDER.iterdir() if page.name.endswith(".md")}
WITHOUT_EXAMPLES = {f"{name}.md" for name in ("case-keys", "contributing", "golds", "howto", "options", "recordings")}
WITHOUT_EXAMPLES |= {"tutorial.md"}
MANUAL = "pytest_extract/docs/"
LINK = re.compile(r"\]\(([^)\s]+)\)")
ABSOLUTE = "https://github.com/pytest-extract/pytest-extract/blob/main/"
PICTURES = "https://raw.githubusercontent.com/pytest-extract/pytest-extract/main/"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_links_to_pages_that_are_there_and_its_examples_give_what_it_says(page):
    assert {link for link in LINK.findall(PAGES[page]) if link.endswith(".md")} <= PAGES.keys()
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    test = doctest.DocTestParser().get_doctest(PAGES[page], {}, page, page, 0)
    result = doctest.DocTestRunner(optionflags=flags).run(test)
    assert result.attempted > 0 or page in WITHOUT_EXAMPLES
    assert result.failed == 0


def test_the_readme_links_to_every_page_of_the_manual_and_to_files_that_are_there():
    links = LINK.findall(README)
    # Links into the manual are looked for in the package: tests of the built wheel run without its folder in ROOT.
    manual = {link.removeprefix(MANUAL) for link in links if link.startswith(MANUAL)}
    assert {name for name in manual if name.endswith(".md")} == PAGES.keys()
    assert all((FOLDER / name).is_file() for name in manual)
    assert all((ROOT / link).is_file() for link in links if not link.startswith(MANUAL))


def test_the_built_package_s_description_has_absolute_links(tmp_path, monkeypatch):
    """The package index shows the description without the files around it."""
    from hatchling.build import prepare_metadata_for_build_wheel

    monkeypatch.chdir(ROOT)
    metadata = tmp_path / prepare_metadata_for_build_wheel(str(tmp_path)) / "METADATA"
    built = message_from_string(metadata.read_text(encoding="utf-8"))
    description = built.get_payload()
    absolute = [(PICTURES if link.endswith(".png") else ABSOLUTE) + link for link in LINK.findall(README)]
    assert LINK.findall(description) == absolute
    assert description.replace(ABSOLUTE, "").replace(PICTURES, "").strip() == README.strip()
    assert built["Description-Content-Type"] == "text/markdown"


@pytest.mark.skipif(not (ROOT / "pytest_extract").is_dir(), reason="the built wheel is under test")
def test_the_page_for_contributors_names_files_that_are_there():
    names = set(re.findall(r"`([\w/]+\.(?:py|js|css|json))`", PAGES["contributing.md"]))
    there = {path.as_posix() for folder in ("pytest_extract", "tests") for path in (ROOT / folder).rglob("*.*")}
    assert [name for name in sorted(names) if not any(path.endswith(f"/{name}") for path in there)] == []


# --- the reference pages


@pytest.mark.parametrize("name", REFERENCE_PAGES)
def test_a_reference_page_is_what_the_code_gives(name):
    assert PAGES[name] == page_text(name), "write the pages anew: python -m pytest_extract.docs"


def test_the_pages_have_a_row_for_every_option_and_measure():
    options = PAGES["options.md"].splitlines()
    for option in OPTIONS:
        shown = [f"`--extract-{option.name}"] * option.command_line + [f"`{option.dest}`"] * option.ini
        (row,) = (line for line in options if line.endswith(f"| {option.help} |"))
        assert all(text in row for text in [*shown, option.shown_default or ""])
    measures = PAGES["measures.md"].splitlines()
    for name, measure in MEASURES.items():
        row = next(line for line in measures if line.startswith(f"| `{name}` |"))
        assert all(text in row for text in [*measure.systems, measure.doc, measure.column or ""])


def keys_of(schema):
    """Yield every name under `properties`, at any depth."""
    if isinstance(schema, dict):
        yield from schema["properties"] if isinstance(schema.get("properties"), dict) else ()
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else ():
        yield from keys_of(part)


def test_the_page_of_case_keys_has_every_key_at_every_depth():
    definitions = json.loads(case_file_schema())["$defs"]
    del definitions["post_processor"]  # a mapping of its name and free parameters
    rows = {line.split("|")[1].strip(" `") for line in PAGES["case-keys.md"].splitlines() if line.startswith("| `")}
    assert rows == {*keys_of(definitions), "cases", "defaults", "dataset"} - {*MEASURES}


# --- the first case of the README

NAMES = ("Bolt", "Nut", "Washer", "Screw", "Bracket", "Hinge", "Rail", "Lock", "Handle", "Panel", "Seal", "Cable")
ROWS = [{"name": name, "qty": 10 + at, "price": 2.5 * (at + 1)} for at, name in enumerate(NAMES)]
GOLD = {"vendor": "ACME GmbH", "due_date": "2026-02-14", "total": 1234.5, "items": ROWS}
WRONG_ROWS = [*ROWS[:4], *ROWS[5:7], {**ROWS[7], "price": 200.0}, *ROWS[8:]]
WRONG = {**GOLD, "vendor": "ACME Gmbh", "total": 1243.5, "items": WRONG_ROWS}
ITEMS = table(name=TEXT, qty=INTEGER, price=NUMBER)
SCHEMA = obj(vendor=TEXT, due_date=TEXT, total=NUMBER, items=ITEMS)


def block(language, words):
    return next(each for each in re.findall(rf"(?ms)^```{language}\n(.*?)^```", README) if words in each)


def test_the_first_case_fails_as_shown(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:asyncio")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    folder = pytester.mkdir("invoices")
    (folder / "acme.extract.yaml").write_text(block("yaml", "acme.extract.yaml"), encoding="utf-8")
    (folder / "acme.pdf").write_bytes(b"%PDF-1.4")
    (folder / "invoice.schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (folder / "acme.gold.json").write_text(json.dumps(GOLD), encoding="utf-8")
    extractor = block("python", "def extractor").replace("document.text", "document.bytes")  # without pypdfium2, too
    pytester.makeconftest(f"{extractor}\ndef call_my_model(data, schema):\n    return {WRONG!r}\n")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    lines = [line for line in result.outlines if line.strip()]
    start = next(index for index, line in enumerate(lines) if line.strip("_ ") == "acme")
    end = lines.index("invoices/acme.extract.yaml:1: failed")
    shown = block("console", "is below").splitlines()[1:]
    assert [line for line in shown if line.strip()] == lines[start + 1 : end + 1]
