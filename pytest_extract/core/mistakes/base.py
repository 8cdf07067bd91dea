"""What a kind of mistake is: a row of the table in `core.mistakes.table`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pytest_extract.core.mistakes.output import ComparedOutput
from pytest_extract.core.results import NamedMistake
from pytest_extract.core.values import Json

CompareValues: TypeAlias = Callable[[Json, Json], str]
"""What went wrong between a gold and an extracted value, in words; "" if it is not this kind of mistake."""
FindMistakes: TypeAlias = Callable[[ComparedOutput], Iterator[NamedMistake]]
"""Mistakes of one kind that only the whole output or the document shows: rows, keys, values of other fields."""


class MistakeExample(NamedTuple):
    """A gold and an extracted value (of a kind with `find`: whole documents), what is said of them, and the document.

    `document` is the text of the document, where the kind asks it.
    """

    gold: Json
    extracted: Json
    text: str
    document: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeKind:
    """One kind of mistake: a small rule that names it, without a model, and never changes a score.

    `name` is what results, filters and counts call it; `doc` says in a sentence what it is. A kind has either `compare`
    (two values tell it) or `find` (the whole output tells it).
    """

    name: str
    doc: str
    example: MistakeExample
    compare: CompareValues | None = None
    find: FindMistakes | None = None
