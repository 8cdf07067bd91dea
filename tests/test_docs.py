"""The manual's examples run, and give what the manual says."""

from __future__ import annotations

import doctest
import re
from email import message_from_string
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(page.name for page in resources.files("pytest_extract.docs").iterdir() if page.name.endswith(".md"))
WITHOUT_EXAMPLES = {
    "case-keys.md",
    "contributing.md",
    "golds.md",
    "howto.md",
    "options.md",
    "recordings.md",
    "tutorial.md",
}

MANUAL = "pytest_extract/docs/"
LINK = re.compile(r"\]\(([^)\s]+)\)")
ABSOLUTE = "https://github.com/pytest-extract/pytest-extract/blob/main/"
PICTURES = "https://raw.githubusercontent.com/pytest-extract/pytest-extract/main/"


@pytest.mark.parametrize("page", PAGES)
def test_pages_link_to_pages_that_are_there(page):
    text = (resources.files("pytest_extract.docs") / page).read_text(encoding="utf-8")
    links = {link for link in LINK.findall(text) if link.endswith(".md")}
    assert links <= set(PAGES)


def test_the_readme_links_to_every_page_of_the_manual_and_to_files_that_are_there():
    links = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    # Links into the manual are looked for in the package: tests of the built wheel run without its folder in ROOT.
    manual = {link.removeprefix(MANUAL) for link in links if link.startswith(MANUAL)}
    assert {name for name in manual if name.endswith(".md")} == set(PAGES)
    assert all((resources.files("pytest_extract.docs") / name).is_file() for name in manual)
    assert all((ROOT / link).is_file() for link in links if not link.startswith(MANUAL))


def test_the_built_package_s_description_has_absolute_links(tmp_path, monkeypatch):
    """The package index shows the description without the files around it."""
    from hatchling.build import prepare_metadata_for_build_wheel

    monkeypatch.chdir(ROOT)
    metadata = tmp_path / prepare_metadata_for_build_wheel(str(tmp_path)) / "METADATA"
    built = message_from_string(metadata.read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    absolute = [(PICTURES if link.endswith(".png") else ABSOLUTE) + link for link in LINK.findall(readme)]
    description = built.get_payload()
    assert LINK.findall(description) == absolute
    assert description.replace(ABSOLUTE, "").replace(PICTURES, "").strip() == readme.strip()
    assert built["Description-Content-Type"] == "text/markdown"


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_the_manual(page):
    text = (resources.files("pytest_extract.docs") / page).read_text(encoding="utf-8")
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    result = doctest.DocTestRunner(optionflags=flags).run(test)
    assert result.attempted > 0 or page in WITHOUT_EXAMPLES
    assert result.failed == 0


def test_the_page_for_contributors_names_files_that_are_there():
    text = (resources.files("pytest_extract.docs") / "contributing.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([\w/]+\.(?:py|js|css|json))`", text))
    there = {path.as_posix() for folder in ("pytest_extract", "tests") for path in (ROOT / folder).rglob("*.*")}
    if not (ROOT / "pytest_extract").is_dir():
        pytest.skip("tests of the built wheel run without the package's folder in ROOT")
    assert [name for name in sorted(names) if not any(path.endswith(f"/{name}") for path in there)] == []
