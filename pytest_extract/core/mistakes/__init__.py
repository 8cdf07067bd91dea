"""Kinds of mistakes: names for what went wrong in an output, found by small rules without a model.

`name_mistakes` names the failing results of one output; `MISTAKE_KINDS` is the table of the rules. A name changes no
score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_extract.core.mistakes.base import MistakeExample, MistakeKind
from pytest_extract.core.mistakes.output import ComparedOutput, FindsValue, compared_results
from pytest_extract.core.mistakes.table import MISTAKE_KINDS
from pytest_extract.core.results import NamedMistake
from pytest_extract.core.values import FieldPath

__all__ = (
    "MISTAKE_KINDS",
    "ComparedOutput",
    "FindsValue",
    "MistakeExample",
    "MistakeKind",
    "compared_results",
    "mistakes_by_path",
    "name_mistakes",
)


def name_mistakes(output: ComparedOutput) -> tuple[NamedMistake, ...]:
    """Name what went wrong at the failing results, in the order of the table; each result has one name at most.

    Without `output.in_document`, the kinds that ask the document find nothing.
    """
    named: dict[FieldPath, NamedMistake] = {}
    found: list[NamedMistake] = []
    for kind in MISTAKE_KINDS.values():
        if len(named) == len({result.path for result in output.failing}):
            break
        mistakes = kind.find(output) if kind.find is not None else _compared(kind, output, named)
        for mistake in mistakes:
            paths = tuple(path for path in mistake.paths if path not in named)
            if mistake.kind == kind.name and paths:
                found.append(mistake._replace(paths=paths))
                named.update(dict.fromkeys(paths, found[-1]))
    return tuple(found)


def _compared(kind: MistakeKind, output: ComparedOutput, named: Iterable[FieldPath]) -> Iterator[NamedMistake]:
    assert kind.compare is not None  # noqa: S101 - a kind has either
    for result in output.failing:
        if result.path not in named:
            text = kind.compare(result.gold, result.extracted)
            if text:
                yield NamedMistake(kind.name, (result.path,), text)


def mistakes_by_path(mistakes: Iterable[NamedMistake]) -> dict[FieldPath, NamedMistake]:
    """Map the path of each failing result to what went wrong there."""
    return {path: mistake for mistake in mistakes for path in mistake.paths}
