"""The manual's examples run, and give what the manual says."""

from __future__ import annotations

import doctest
import re
from importlib import resources
from pathlib import Path

import pytest

PAGES = sorted(page.name for page in resources.files("pytest_extract.docs").iterdir() if page.name.endswith(".md"))


LINK = re.compile(r"\]\(([^)\s]+)\)")
ABSOLUTE = "https://github.com/pytest-extract/pytest-extract/blob/main/"


@pytest.mark.parametrize("page", PAGES)
def test_pages_link_to_pages_that_are_there(page):
    text = (resources.files("pytest_extract.docs") / page).read_text(encoding="utf-8")
    links = {link for link in LINK.findall(text) if link.endswith(".md")}
    assert links <= set(PAGES)


def test_the_readme_s_links_work_where_the_package_is_published():
    root = Path(__file__).parents[1]
    links = LINK.findall((root / "README.md").read_text(encoding="utf-8"))
    assert links
    assert {link for link in links if not link.startswith("https://")} == set()
    inside = [link.removeprefix(ABSOLUTE) for link in links if link.startswith(ABSOLUTE)]
    pages = [place for place in inside if place.startswith("pytest_extract/docs/")]
    assert {place.rpartition("/")[2] for place in pages} == set(PAGES)
    assert all((root / place).is_file() for place in inside if place not in pages)


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_the_manual(page):
    text = (resources.files("pytest_extract.docs") / page).read_text(encoding="utf-8")
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    result = doctest.DocTestRunner(optionflags=flags).run(test)
    assert result.attempted > 0
    assert result.failed == 0
