"""Hunks of the prompt and schema files between two revisions, and which of them makes a field fall.

The search halves a set of hunks until one is left; two that fall only together are found as a pair.
Source: Zeller (1999), "Yesterday, my program worked. Today, it does not. Why?", the algorithm dd.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

SUFFIXES: Final = (".md", ".txt", ".prompt", ".jinja", ".j2", ".json", ".yaml", ".yml")
"""Of files that may be prompts or schemas; case files, golds and their reviews are none."""
_OTHERS: Final = (".extract.yaml", ".extract.yml", ".gold.json", ".gold.yaml", ".review.json")


@dataclass(frozen=True, slots=True, order=True)
class Hunk:
    """One change of a file: `old` lines, from index `start` of the old text, become `new`.

    `first`, `last`: the lines from 1 where it stands in the new text; `last` is less than `first` where lines are gone.
    """

    file: str
    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    first: int
    last: int

    def __str__(self) -> str:
        if self.last < self.first:
            where = f"after line {self.first - 1}, {len(self.old)} gone"
        else:
            where = f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"
        return f"{self.file}: {where}"


def is_searched(name: str) -> bool:
    """Whether a file may be a prompt or a schema."""
    return PurePosixPath(name).suffix in SUFFIXES and not name.endswith(_OTHERS)


def is_output(text: str) -> bool:
    """Whether the text of a file is a recording or a baseline: what runs write, and no input of them."""
    return re.match(r'\{\s*"(?:format": \d+,\s*"case"|kind": "pytest-extract)', text) is not None


def hunks_between(file: str, old: str, new: str) -> list[Hunk]:
    """Return the hunks that make one text of another, in their order."""
    one, other = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return [
        Hunk(file, i, tuple(one[i:j]), tuple(other[k:m]), k + 1, m)
        for kind, i, j, k, m in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def with_hunks(old: str, hunks: Iterable[Hunk]) -> str:
    """Return a text with some of its hunks."""
    lines = old.splitlines(keepends=True)
    for hunk in sorted(hunks, reverse=True):
        lines[hunk.start : hunk.start + len(hunk.old)] = hunk.new
    return "".join(lines)


class Search:
    """Finds the hunks that make fields fall; `measure` gives the share of each field that is right with some hunks.

    Each set is measured once, whatever it is measured for. `runs` counts the sets. A field without a share has not
    fallen: some hunks give no result without others.
    """

    def __init__(self, hunks: Sequence[Hunk], measure: Callable[[frozenset[Hunk]], Mapping[str, float]]) -> None:
        self._hunks = tuple(hunks)
        self._measure = measure
        self._known: dict[frozenset[Hunk], Mapping[str, float]] = {}

    @property
    def runs(self) -> int:
        """Sets that were measured."""
        return len(self._known)

    def rates(self, hunks: Iterable[Hunk]) -> Mapping[str, float]:
        """Return the share of each field that is right with these hunks."""
        key = frozenset(hunks)
        if key not in self._known:
            self._known[key] = self._measure(key)
        return self._known[key]

    def causes(self, field: str) -> list[Hunk]:
        """Return the hunks that a field falls by: with them it is nearer to all hunks than to none."""
        before, after = self.rates(()).get(field, 0.0), self.rates(self._hunks).get(field, 0.0)

        def has_fallen(hunks: tuple[Hunk, ...]) -> bool:
            rates = self.rates(hunks)
            return field in rates and rates[field] <= (before + after) / 2

        def reduced(hunks: tuple[Hunk, ...], beside: tuple[Hunk, ...]) -> tuple[Hunk, ...]:
            if len(hunks) == 1:
                return hunks
            halves = hunks[: len(hunks) // 2], hunks[len(hunks) // 2 :]
            for half in halves:
                if has_fallen((*beside, *half)):
                    return reduced(half, beside)
            return (*reduced(halves[0], (*beside, *halves[1])), *reduced(halves[1], (*beside, *halves[0])))

        found = reduced(self._hunks, ())
        for hunk in found if len(found) > 1 else ():
            rest = tuple(each for each in found if each != hunk)
            found = rest if rest and has_fallen(rest) else found
        return sorted(found)

    def most_runs(self, fields: int) -> int:
        """Return how many sets are measured at most where each field falls by one hunk."""
        return 2 + fields * 2 * max(0, (len(self._hunks) - 1).bit_length())
