"""Matches the brackets of JSON text without reading its values."""

from __future__ import annotations

import re
from typing import Final

from pytest_extract.core.values import MAX_DEPTH
from pytest_extract.lazy import lazy_pattern

_DEEPEST: Final = 5 * MAX_DEPTH
"""Nesting from which on nobody asks any more where it closes."""
_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NEXT: Final = lazy_pattern(rf'[^"\[\]{{}}]*+(?:{_STRING}[^"\[\]{{}}]*+)*+([\[\]{{}}])', re.DOTALL)


def closing(text: str, place: int, end: int) -> int:
    """Offset behind the bracket that closes the one at `place`; `end` where none does."""
    depth, position = 1, place + 1
    while depth <= _DEEPEST and (found := _NEXT.match(text, position, end)) is not None:
        position = found.end()
        depth += 1 if found[1] in "{[" else -1
        if depth == 0:
            return position
    return end
