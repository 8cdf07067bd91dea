"""What a kind of mistake is: a row of the table in `core.mistakes.table`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple, TypeAlias

from pytest_extract.core.mistakes.output import ComparedOutput
from pytest_extract.core.results import NamedMistake
from pytest_extract.core.values import Json, Missing
from pytest_extract.lazy import dataclass

CompareValues: TypeAlias = Callable[[Json, Json], str]
"""What went wrong between a gold and an extracted value, in words; "" if it is not this kind of mistake."""
FindMistakes: TypeAlias = Callable[[ComparedOutput], Iterator[NamedMistake]]
"""Mistakes of one kind that only the whole output shows: rows, columns, keys, values of other fields."""
MakeMistake: TypeAlias = Callable[[Json, Random], Json | Missing]
"""Returns a copy of a gold value, or of a whole gold, with a mistake of this kind; MISSING where none is possible."""


class MistakeExample(NamedTuple):
    """A gold and an extracted value (of a kind with `find`: whole documents), and what is said of them."""

    gold: Json
    extracted: Json
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeKind:
    """One kind of mistake: a small rule that names it, without a model, and never changes a score.

    `name` is what results, filters and counts call it; `doc` says in a sentence what it is. A kind has either `compare`
    (two values tell it) or `find` (the whole output tells it). `make` makes such a mistake from a gold: from one value
    where the kind has `compare`, from the whole document where it has `find`; None where it cannot be made from gold
    alone.
    """

    name: str
    doc: str
    examples: tuple[MistakeExample, ...]
    compare: CompareValues | None = None
    find: FindMistakes | None = None
    make: MakeMistake | None = None
