"""The table of the kinds of mistakes, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_extract.core.mistakes import scalars, structure, texts
from pytest_extract.core.mistakes.base import MistakeKind

MISTAKE_KINDS: Final[Mapping[str, MistakeKind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            *structure.ROWS_AND_KEYS,  # several fields at once: what they have in common says more than each
            *scalars.TYPES,
            *texts.FORMS,
            *scalars.DATES,
            *scalars.AMOUNTS,
            *structure.UNPAIRED_ROWS,
            *structure.ELSEWHERE,  # behind the same value in another form, before one that is similar by chance
            *scalars.DIGITS,
            *texts.PARTS,
            *structure.IN_DOCUMENT,
            *structure.ABSENT,
        )
    }
)
"""Name -> kind. A failing field gets the name of the first kind that explains it."""
