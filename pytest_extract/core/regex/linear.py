"""Regular expressions whose time is linear in the text, for texts that nobody vouches for.

Python's `re` can need exponential time ("(a+)+$"), and there is no way to stop it. This gives the same answers for all
of Python's syntax but what is not regular: back references, conditions on groups, atomic groups and possessive
quantifiers. Steps are counted, not seconds: a text is decided on every machine or on none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from pytest_extract.core.regex.automaton import Machine, Steps, StepsUsedUpError, TooLargeError, build
from pytest_extract.core.regex.syntax import Sequence, SyntaxPosition, opened, parse, shortest

MOST_STEPS: Final = 2_500_000
"""Steps that one text may cost, about a second; a step is one state at a place that was not met so before."""
_ALWAYS_CHEAP: Final = 200_000
"""A text of fewer characters times states is decided without counting, and what was met is kept for the next text."""


class UndecidedError(Exception):
    """A text is too much for a pattern."""


class LinearRegex:
    """A compiled expression: `search` and `fullmatch` say yes or no, or raise UndecidedError."""

    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self.pattern = pattern
        self._node, self._tests = parse(pattern, flags)
        self._opened, self._short = opened(self._node)
        self._shared: dict[tuple[bool, bool], Machine] = {}
        self._machine("", whole=False)

    def search(self, text: str) -> bool:
        """Whether some part of the text matches."""
        try:
            return self._machine(text, whole=False).search(text)
        except (StepsUsedUpError, TooLargeError):
            raise self._undecided(text) from None

    def fullmatch(self, text: str) -> bool:
        """Whether the whole text matches."""
        try:
            return self._machine(text, whole=True).matches_at_start(text)
        except (StepsUsedUpError, TooLargeError):
            raise self._undecided(text) from None

    def _machine(self, text: str, *, whole: bool) -> Machine:
        short = len(text) <= self._short
        shared = self._shared.get((short, whole))
        if shared is None:
            node = self._opened if short else self._node
            ended = Sequence((node, SyntaxPosition("text end"))) if whole else shortest(node)
            shared = self._shared[short, whole] = Machine(build(ended, self._tests), Steps())
        if len(text) * shared.automaton.size <= _ALWAYS_CHEAP:
            return shared
        return Machine(shared.automaton, Steps(MOST_STEPS))

    def _undecided(self, text: str) -> UndecidedError:
        return UndecidedError(
            f"the pattern {self.pattern!r} cannot be decided within {MOST_STEPS:,} steps on a text of {len(text):,} "
            "characters; a pattern with fewer repeats can"
        )


@lru_cache(maxsize=256)
def compile_linear(pattern: str, *, ignore_case: bool = False) -> LinearRegex:
    """Compile an expression; raises ValueError that says what is wrong with it, after "the pattern ..."."""
    try:
        return LinearRegex(pattern, re.IGNORECASE if ignore_case else re.RegexFlag(0))
    except RecursionError:
        raise ValueError("is nested too deeply") from None
