"""Regular expressions that are compiled at their first use."""

from __future__ import annotations

import copy
import re

import pytest

from pytest_extract import lazy


def test_a_pattern_is_compiled_when_it_is_first_asked() -> None:
    found = lazy.lazy_pattern(r"(a)(b)?", re.IGNORECASE)
    assert not hasattr(found, "__len__")
    assert set(vars(found)) == {"_source", "_flags"}
    assert found.match("AB").groups() == ("A", "B")
    assert (found.sub("x", "aab"), found.pattern, found.groups) == ("xx", r"(a)(b)?", 2)
    assert "match" in vars(found)
    assert copy.deepcopy(found).search("-ab").start() == 1
    with pytest.raises(AttributeError):
        found.no_such_method  # noqa: B018


def test_a_pattern_that_is_none_says_so_when_it_is_used() -> None:
    with pytest.raises(re.error, match="missing"):
        lazy.lazy_pattern("(").match("")
