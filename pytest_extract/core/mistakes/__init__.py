"""Kinds of mistakes: names for what went wrong in an output, found by small rules without a model.

`name_mistakes` names the failing results of one output by the rules in `table.py`. A name changes no score.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
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

    value_kinds = [kind for kind in MISTAKE_KINDS.values() if kind.compare is not None]

    def found_by(kind: MistakeKind) -> Iterator[tuple[MistakeKind, Iterable[FieldPath], str]]:
        if kind.name == "duplicated_row":  # the first that takes rows for missing or invented
            yield from _compared(value_kinds, output, named, several=True)
        if kind.find is None:
            yield from _compared((kind,), output, named, several=False)
        else:
            yield from ((kind, *each) for each in kind.find(output))

    failing = len({result.path for result in output.failing})
    for kind in MISTAKE_KINDS.values():
        if len(named) == failing:
            break
        with suppress(RecursionError):  # documents nested a thousand levels deep have no names for their mistakes
            for each, paths, text in found_by(kind):
                new = tuple(dict.fromkeys(path for path in paths if path not in named))
                if new:
                    found.append(NamedMistake(each.name, new, text))
                    named.update(dict.fromkeys(new, found[-1]))
    return tuple(found)


def _compared(
    kinds: Sequence[MistakeKind], output: ComparedOutput, named: Container[FieldPath], *, several: bool
) -> Iterator[tuple[MistakeKind, Sequence[FieldPath], str]]:
    """Compare the values of single results, or (`several`) of pairs of rows, each of which is several results."""
    for paths, gold, extracted in output.differences:
        if (len(paths) > 1) is not several or any(path in named for path in paths):
            continue
        for kind in kinds:
            text = kind.compare(gold, extracted) if kind.compare is not None else ""
            if text:
                yield kind, paths, text
                break


def mistakes_by_path(mistakes: Iterable[NamedMistake]) -> dict[FieldPath, NamedMistake]:
    """Map the path of each failing result to what went wrong there."""
    return {path: mistake for mistake in mistakes for path in mistake.paths}
