"""Reads Python's regular expressions into the nodes that the automaton is built from.

The standard library's parser reads them, so each has the meaning and the error that `re` gives it. A class of
characters is asked of `re` too, one character at a time.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from math import inf
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple, TypeAlias

Test: TypeAlias = Callable[[str], object]


class Character(NamedTuple):
    """One character that passes a test."""

    test: Test


class SyntaxPosition(NamedTuple):
    """A place between two characters: the kind of `at_place`."""

    kind: str


class Lookaround(NamedTuple):
    """A place where `node` matches from `behind` characters before it (0: looking ahead), or where it does not."""

    node: PatternNode
    behind: int
    negative: bool


class Repetition(NamedTuple):
    """`node` at least `low` and at most `high` times (None: without end)."""

    node: PatternNode
    low: int
    high: int | None


class Sequence(NamedTuple):
    """Nodes one after the other."""

    nodes: tuple[PatternNode, ...]


class Branch(NamedTuple):
    """One of several nodes; of none, it matches nowhere."""

    options: tuple[PatternNode, ...]


PatternNode: TypeAlias = Character | SyntaxPosition | Lookaround | Repetition | Sequence | Branch

_HIGH: Final = 100
"""Further repeats from which on it pays to leave a bound out for the texts that cannot reach it."""
_NOTHING: Final = Sequence(())

NEWLINE: Final = 1
WORD: Final = 2
ASCII_WORD: Final = 4
EDGE: Final = 8
"""The text's start or end, instead of a character."""
FINAL: Final = 16
"""Said of a newline that is the text's last character."""

_EMPTY_INSIDE: Final = re.search(r"\B", "") is not None  # Python 3.14 changed it


def at_place(kind: str, before: int, after: int) -> bool:
    """Whether a place is of a kind, by the characters before and after it (the bits above)."""
    match kind:
        case "start":
            return bool(before & EDGE)
        case "line start":
            return bool(before & (EDGE | NEWLINE))
        case "end":
            return bool(after & (EDGE | FINAL))
        case "line end":
            return bool(after & (EDGE | NEWLINE))
        case "text end":
            return bool(after & EDGE)
    changes = bool((before ^ after) & (ASCII_WORD if kind.startswith("ascii") else WORD))
    if kind.endswith("boundary"):
        return changes
    return not changes and (_EMPTY_INSIDE or not before & after & EDGE)


_CATEGORIES: Final = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_REFUSED: Final = {
    codes.GROUPREF: ("a back reference", "write what may come back as alternatives"),
    codes.GROUPREF_EXISTS: ("a condition on a group", "write both cases as alternatives"),
    codes.ATOMIC_GROUP: ("an atomic group", "write (?:...)"),
    codes.POSSESSIVE_REPEAT: ("a possessive quantifier", "leave its + out"),
}
_CHARACTER_FLAGS: Final = re.IGNORECASE | re.DOTALL | re.ASCII


def parse(pattern: str, flags: re.RegexFlag) -> tuple[PatternNode, tuple[Test, ...]]:
    """Return the expression and its tests; raises ValueError that says what is wrong, after "the pattern ..."."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # a set in a set, which `re` reads as it always did
            re.compile(pattern, flags)
            parsed = _parser.parse(pattern, flags)
        reader = _PatternParser()
        return reader.sequence(parsed, flags | parsed.state.flags), tuple(reader.tests.values())
    except (re.error, OverflowError) as error:
        raise ValueError(f"is no regular expression: {error}") from error


def shortest(node: PatternNode) -> PatternNode:
    """Return what matches from the same places, but with as little as can be at the end of each match."""
    match node:
        case Sequence(nodes) if nodes:
            last = shortest(nodes[-1])
            return shortest(Sequence(nodes[:-1])) if last == _NOTHING else Sequence((*nodes[:-1], last))
        case Branch(options):
            return Branch(tuple(map(shortest, options)))
        case Repetition(inner, low, _):
            return Repetition(inner, low, low) if low else _NOTHING
    return node


def opened(node: PatternNode) -> tuple[PatternNode, float]:
    """Return the node with its high bounds of repeats left out, and up to which length of text that is the same."""
    match node:
        case Sequence(nodes) | Branch(nodes):
            parts = [opened(one) for one in nodes]
            same = Sequence if isinstance(node, Sequence) else Branch
            return same(tuple(part for part, _ in parts)), min((length for _, length in parts), default=inf)
        case Lookaround(inner, behind, negative):
            part, length = opened(inner)
            return Lookaround(part, behind, negative), length
        case Repetition(inner, low, high):
            part, length = opened(inner)
            if high is None or high - low < _HIGH:
                return Repetition(part, low, high), length
            return Repetition(part, low, None), min(length, high)
    return node, inf


class _PatternParser:
    def __init__(self) -> None:
        self.tests: dict[tuple[str, int], Test] = {}

    def sequence(self, parsed: Iterable[tuple[Any, Any]], flags: int) -> PatternNode:
        nodes = tuple(self.node(code, argument, flags) for code, argument in parsed)
        nodes = tuple(node for node in nodes if node != _NOTHING)
        return nodes[0] if len(nodes) == 1 else Sequence(nodes)

    def node(self, code: Any, argument: Any, flags: int) -> PatternNode:
        if code in {codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN}:
            return self.character(_source(code, argument), flags & _CHARACTER_FLAGS)
        if code is codes.BRANCH:
            return Branch(tuple(self.sequence(option, flags) for option in argument[1]))
        if code is codes.SUBPATTERN:
            _, added, removed, inner = argument
            kept = flags & ~(re.ASCII | re.UNICODE) if added & (re.ASCII | re.UNICODE) else flags
            return self.sequence(inner, (kept | added) & ~removed)
        if code in {codes.MAX_REPEAT, codes.MIN_REPEAT}:
            low, high, inner = argument
            repeated = self.sequence(inner, flags)
            if high == 0 or repeated == _NOTHING:
                return _NOTHING
            return Repetition(repeated, low, None if high == codes.MAXREPEAT else high)
        if code in {codes.ASSERT, codes.ASSERT_NOT}:
            direction, inner = argument
            behind = inner.getwidth()[0] if direction < 0 else 0  # `re` takes only fixed widths
            return Lookaround(shortest(self.sequence(inner, flags)), behind, code is codes.ASSERT_NOT)
        if code is codes.AT:
            return SyntaxPosition(_assertion_name(argument, flags))
        if code is codes.FAILURE:
            return Branch(())
        what, instead = _REFUSED.get(code, (f"syntax that is not known here ({code})", "write it otherwise"))
        raise ValueError(f"has {what}, which cannot be matched in linear time; {instead}")

    def character(self, source: str, flags: int) -> Character:
        test = self.tests.get((source, flags))
        if test is None:
            test = self.tests[source, flags] = re.compile(source, flags).fullmatch
        return Character(test)


def _source(code: Any, argument: Any) -> str:
    """Write a single character, or a class of them, as an expression that means it whatever the flags."""
    if code is codes.LITERAL:
        return _spelled(argument)
    if code is codes.NOT_LITERAL:
        return f"[^{_spelled(argument)}]"
    if code is codes.ANY:
        return "."
    parts = []
    for kind, value in argument:
        if kind is codes.NEGATE:
            parts.append("^")
        elif kind is codes.CATEGORY:
            parts.append(_CATEGORIES[value])
        elif kind is codes.RANGE:
            parts.append(f"{_spelled(value[0])}-{_spelled(value[1])}")
        else:
            parts.append(_spelled(value))
    return f"[{''.join(parts)}]"


def _spelled(number: int) -> str:
    return f"\\U{number:08x}"


def _assertion_name(code: Any, flags: int) -> str:
    lines = "line " if flags & re.MULTILINE else ""
    words = "ascii " if flags & re.ASCII else ""
    kinds = {
        codes.AT_BEGINNING: f"{lines}start",
        codes.AT_BEGINNING_STRING: "start",
        codes.AT_END: f"{lines}end",
        codes.AT_END_STRING: "text end",
        codes.AT_BOUNDARY: f"{words}boundary",
        codes.AT_NON_BOUNDARY: f"{words}inside",
    }
    return kinds[code]
