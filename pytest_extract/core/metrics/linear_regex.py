"""Regular expressions that are matched in time linear in the text, for values that nobody vouches for.

Python's `re` can need exponential time ("(a+)+$"), and there is no way to stop it. This keeps all states of the
expression side by side (Thompson, CACM 11(6), 1968), so a step of the text costs at most one step of each state.
It knows Python's syntax without what cannot be matched so: back references and looking around.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

MOST_STATES: Final = 1000
LONGEST_TEXT: Final = 5000

Test: TypeAlias = Callable[[str], object]


class Character(NamedTuple):
    """One character that passes a test."""

    test: Test


class Place(NamedTuple):
    r"""A place without a character: `^ $ \A \Z \b \B`."""

    kind: str


class Repeat(NamedTuple):
    """`node` at least `low` and at most `high` times (None: without end)."""

    node: Node
    low: int
    high: int | None


class Sequence(NamedTuple):
    """Nodes one after the other."""

    nodes: tuple[Node, ...]


class Branch(NamedTuple):
    """One of several nodes."""

    options: tuple[Node, ...]


Node: TypeAlias = Character | Place | Repeat | Sequence | Branch

# --- parsing

_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d+)\}|\{(\d*),(\d*)\})(\??)")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|0[0-7]{0,2}|.)", re.DOTALL)
_TIMES = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(slots=True)
class _Parser:
    text: str
    flags: re.RegexFlag
    place: int = 0
    tests: dict[str, Test] = field(default_factory=dict)

    def branch(self) -> Node:
        options = [self.sequence()]
        while self.text[self.place : self.place + 1] == "|":
            self.place += 1
            options.append(self.sequence())
        return options[0] if len(options) == 1 else Branch(tuple(options))

    def sequence(self) -> Node:
        nodes: list[Node] = []
        while self.place < len(self.text) and self.text[self.place] not in "|)":
            nodes.append(self.repeated(self.atom()))
        return Sequence(tuple(nodes))

    def repeated(self, node: Node) -> Node:
        match = _QUANTIFIER.match(self.text, self.place)
        if match is None:
            return node
        self.place = match.end()
        if self.text[self.place : self.place + 1] == "+":
            raise ValueError("has a possessive quantifier, which cannot be matched in linear time")
        low, high = _bounds(match)
        return Repeat(node, low, high)

    def atom(self) -> Node:
        letter = self.text[self.place]
        if letter == "(":
            return self.group()
        if letter in "^$":
            self.place += 1
            return Place(letter)
        if letter == "\\":
            return self.escape()
        match = _CLASS.match(self.text, self.place) if letter == "[" else None
        return self.character(match[0] if match else letter)

    def character(self, source: str) -> Character:
        self.place += len(source)
        single = source if len(source) > 1 or source == "." else re.escape(source)
        if single not in self.tests:
            self.tests[single] = re.compile(single, self.flags).fullmatch
        return Character(self.tests[single])

    def escape(self) -> Node:
        match = _ESCAPE.match(self.text, self.place)
        source = match[0] if match else "\\"
        if source[1:] in {"A", "Z", "b", "B"}:
            self.place += len(source)
            return Place(source)
        if source[1:2] in "123456789":
            raise ValueError("has a back reference, which cannot be matched in linear time")
        return self.character(source)

    def group(self) -> Node:
        match = re.compile(r"\((?:\?(?::|P<\w+>))?(?!\?)").match(self.text, self.place)
        if match is None:
            raise ValueError("has a group that is neither (...), (?:...) nor (?P<name>...)")
        self.place = match.end()
        inner = self.branch()
        self.place += 1  # the closing bracket: `re` has checked that it is there
        return inner


def _bounds(match: re.Match[str]) -> tuple[int, int | None]:
    if match[1]:
        return _TIMES[match[1]]
    if match[2]:
        return int(match[2]), int(match[2])
    return int(match[3] or 0), int(match[4]) if match[4] else None


# --- the machine


class _Step(NamedTuple):
    """One state: a test to pass, a place to be at, or neither; and where to go on."""

    test: Test | None
    place: str
    after: tuple[int, ...]


def _emit(steps: list[_Step], node: Node, after: int) -> int:
    """Add the states of `node` that go on at state `after`, last one first; return the first of them."""
    if len(steps) > MOST_STATES:
        raise ValueError(f"is too large: it has more than {MOST_STATES} states when its repeats are written out")
    match node:
        case Character(test):
            steps.append(_Step(test, "", (after,)))
        case Place(kind):
            steps.append(_Step(None, kind, (after,)))
        case Sequence(nodes):
            for one in reversed(nodes):
                after = _emit(steps, one, after)
            return after
        case Branch(options):
            starts = tuple(_emit(steps, option, after) for option in options)
            steps.append(_Step(None, "", starts))
        case Repeat(inner, low, high):
            return _emit_repeat(steps, inner, low, high, after)
    return len(steps) - 1


def _emit_repeat(steps: list[_Step], inner: Node, low: int, high: int | None, after: int) -> int:
    if high is None:
        loop = len(steps)
        steps.append(_Step(None, "", (after,)))
        start = _emit(steps, inner, loop)
        steps[loop] = _Step(None, "", (start, after))
        after = loop
    else:
        end = after
        for _ in range(high - low):
            start = _emit(steps, inner, after)
            steps.append(_Step(None, "", (start, end)))
            after = len(steps) - 1
    for _ in range(low):
        after = _emit(steps, inner, after)
    return after


def _at(kind: str, text: str, place: int) -> bool:
    before = place > 0 and (text[place - 1].isalnum() or text[place - 1] == "_")
    behind = place < len(text) and (text[place].isalnum() or text[place] == "_")
    match kind:
        case "^" | "\\A":
            return place == 0
        case "\\Z":
            return place == len(text)
        case "$":
            return place == len(text) or (place == len(text) - 1 and text[place] == "\n")
        case "\\b":
            return before is not behind
        case _:
            return before is behind


@dataclass(frozen=True, slots=True)
class LinearRegex:
    """A compiled expression: `fullmatch` and `search` say yes or no."""

    steps: tuple[_Step, ...]
    start: int

    def fullmatch(self, text: str) -> bool:
        """Whether the whole text matches."""
        return self._run(text, anywhere=False)

    def search(self, text: str) -> bool:
        """Whether some part of the text matches."""
        return self._run(text, anywhere=True)

    def _run(self, text: str, *, anywhere: bool) -> bool:
        current = self._closure([self.start], text, 0)
        for place, letter in enumerate(text):
            if anywhere and 0 in current:
                return True
            reached = [self.steps[s].after[0] for s in current if (test := self.steps[s].test) and test(letter)]
            current = self._closure([*reached, self.start] if anywhere else reached, text, place + 1)
            if not current and not anywhere:
                return False
        return 0 in current

    def _closure(self, states: list[int], text: str, place: int) -> set[int]:
        """Return all states that are reached without a character; state 0 is the end."""
        seen: set[int] = set()
        stack = states
        while stack:
            state = stack.pop()
            step = self.steps[state]
            if state in seen or (step.place and not _at(step.place, text, place)):
                continue
            seen.add(state)
            if step.test is None:
                stack.extend(step.after)
        return seen


def compile_linear(pattern: str, *, ignore_case: bool = False) -> LinearRegex:
    """Compile an expression; raises ValueError that says what is wrong with it, after "the pattern ..."."""
    flags = re.IGNORECASE if ignore_case else re.RegexFlag(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            re.compile(pattern, flags)
    except FutureWarning as warning:
        raise ValueError(
            f"may be read otherwise by a later Python: {warning}; write [ and - as \\[ and \\-"
        ) from warning
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {error}") from error
    steps = [_Step(None, "", ())]
    start = _emit(steps, _Parser(pattern, flags).branch(), 0)
    return LinearRegex(tuple(steps), start)
