"""Kinds of mistakes: names for what went wrong in an output, found by small rules without a model.

`name_mistakes` names the failing results of one output by the rules in `table.py`. A name changes no score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_extract.core.mistakes.output import MOST_NAMED, ComparedOutput, FindsValue, compared_results
from pytest_extract.core.results import NamedMistake
from pytest_extract.core.values import FieldPath

if TYPE_CHECKING:
    from pytest_extract.core.mistakes.output import MistakeKind

__all__ = (
    "MOST_NAMED",
    "ComparedOutput",
    "FindsValue",
    "compared_results",
    "mistakes_by_path",
    "name_mistakes",
)


def name_mistakes(output: ComparedOutput) -> tuple[NamedMistake, ...]:
    """Name what went wrong at the failing results, in the order of the table; each result has one name at most.

    Without `output.in_document`, the kinds that ask the document find nothing. Of more than `MOST_NAMED` failing
    results, the first are named.
    """
    from pytest_extract.core.mistakes.table import MISTAKE_KINDS  # the rules: only an output with mistakes asks

    named: dict[FieldPath, NamedMistake] = {}
    found: list[NamedMistake] = []

    def found_by(kind: MistakeKind) -> Iterator[tuple[Iterable[FieldPath], str]]:
        if kind.find is not None:
            yield from kind.find(output)
        elif kind.compare is not None:
            for result in output.failing:
                text = "" if result.path in named else kind.compare(result.gold, result.extracted)
                if text:
                    yield (result.path,), text

    failing = len({result.path for result in output.failing})
    for kind in MISTAKE_KINDS.values():
        if len(named) == failing:
            break
        with suppress(RecursionError):  # documents nested a thousand levels deep have no names for their mistakes
            for paths, text in found_by(kind):
                new = tuple(dict.fromkeys(path for path in paths if path not in named))
                if new:
                    found.append(NamedMistake(kind.name, new, text))
                    named.update(dict.fromkeys(new, found[-1]))
    return tuple(found)


def mistakes_by_path(mistakes: Iterable[NamedMistake]) -> dict[FieldPath, NamedMistake]:
    """Map the path of each failing result to what went wrong there."""
    return {path: mistake for mistake in mistakes for path in mistake.paths}
