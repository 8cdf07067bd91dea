"""The manual's examples run, and give what the manual says."""

from __future__ import annotations

import doctest
from importlib import resources

import pytest

PAGES = sorted(page.name for page in resources.files("pytest_extract.docs").iterdir() if page.name.endswith(".md"))


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_the_manual(page):
    text = (resources.files("pytest_extract.docs") / page).read_text(encoding="utf-8")
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    result = doctest.DocTestRunner(optionflags=flags).run(test)
    assert result.attempted > 0
    assert result.failed == 0
