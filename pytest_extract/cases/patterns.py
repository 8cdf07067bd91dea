"""Whether a field that a case names is one of its schema's."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from pytest_extract.errors import nearest

_INDEX = re.compile(r"\[-?[0-9]+\]")


def pattern_of(path: str) -> str:
    """Return the pattern of a concrete path: `items[3].price` is one of `items[].price`."""
    return _INDEX.sub("[]", path)


def unknown_field(path: str, patterns: AbstractSet[str]) -> str | None:
    """Say what is wrong with a field's path (a pattern or a concrete one), or None when the schema has it."""
    pattern = pattern_of(path)
    if pattern in patterns or pattern == "$":
        return None
    return f"the schema has no field {path!r}{nearest(pattern, patterns)}"
