"""What a kind of mistake is: a rule, a sentence and an example. The table in `core.mistakes.table` has their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from pytest_extract.core.mistakes.output import ComparedOutput
from pytest_extract.core.values import FieldPath, Json

CompareValues: TypeAlias = Callable[[Json, Json], str]
"""What went wrong between a gold and an extracted value, in words; "" if it is not this kind of mistake."""
Found: TypeAlias = tuple[Iterable[FieldPath], str]
"""The paths of wrong results, and what went wrong at all of them."""
FindMistakes: TypeAlias = Callable[[ComparedOutput], Iterator[Found]]
"""Mistakes of one kind that only the whole output or the document shows: rows, keys, values of other fields."""


class MistakeExample(NamedTuple):
    """A gold and an extracted value (of a kind with `find`: whole documents), what is said of them, and the document.

    `document` is the text of the document, where the kind asks it.
    """

    gold: Json
    extracted: Json
    text: str
    document: str = ""


class MistakeKind(NamedTuple):
    """One kind of mistake: a small rule that names it, without a model, and never changes a score.

    `name` is what results, filters and counts call it; `doc` says in a sentence what it is. A kind has either `compare`
    (two values tell it) or `find` (the whole output tells it).
    """

    name: str
    doc: str
    example: MistakeExample
    compare: CompareValues | None = None
    find: FindMistakes | None = None


def values_kind(*example: Json) -> Callable[[CompareValues], MistakeKind]:
    """Make a kind of mistake of a rule for two values: the rule's name and docstring, and an example."""
    return lambda rule: MistakeKind(rule.__name__, rule.__doc__ or "", MistakeExample(*example), compare=rule)


def output_kind(*example: Json) -> Callable[[FindMistakes], MistakeKind]:
    """Make a kind of mistake of a rule for the whole output: the rule's name and docstring, and an example."""
    return lambda rule: MistakeKind(rule.__name__, rule.__doc__ or "", MistakeExample(*example), find=rule)
