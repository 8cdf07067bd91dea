"""An expression as an automaton, and the automaton run over a text.

All states are kept side by side (Thompson, CACM 11(6), 1968), so a character of the text costs at most one step of
each. The text is read from its end: the set of states at a place is then the set from which the expression can be
matched from there on, and one run answers for every place at which a match may start. Looking ahead and behind needs
just that answer of the expression inside (Barrière and Pit-Claudel, PLDI 2024), so it is linear as well.

Sets that were met once are kept with the sets that follow them, so an ordinary text costs one look-up a character.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from pytest_extract.core.regex.syntax import (
    ASCII_WORD,
    EDGE,
    FINAL,
    NEWLINE,
    WORD,
    Branch,
    Character,
    Lookaround,
    PatternNode,
    Repetition,
    Sequence,
    SyntaxPosition,
    Test,
    at_place,
)

MOST_STATES: Final = 10_000
_MOST_KEPT: Final = 20_000
"""States in all the sets that one expression keeps, before it forgets them and starts anew."""
_MOST_LETTERS: Final = 2_000
_FIRST_TEST: Final = 8
"""Lower bits of a symbol say what kind of character it is; from here on, which tests it passes; then, which looks."""
_MATCHED: Final = 0
"""The state in which all is matched."""


class StepsUsedUpError(Exception):
    """A text costs more steps than one may."""


class TooLargeError(ValueError):
    """An expression has too many states."""


class State(NamedTuple):
    """A condition on the way, and the states after it: a test of the next character, a place, a look, or none.

    test: index of the test that the next character must pass; look: index of the expression that must match here.
    """

    after: tuple[int, ...]
    test: int | None = None
    place: str = ""
    look: int | None = None
    negative: bool = False


class Automaton(NamedTuple):
    """The states of an expression.

    entries: for each state, the states that reach it without reading a character.
    readers: for each state, the states that reach it by a character, with the bit of the test it must pass.
    looks: the expressions inside lookarounds, with how many characters they look behind.
    """

    states: tuple[State, ...]
    start: int
    entries: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[tuple[int, int], ...], ...]
    tests: tuple[Test, ...]
    looks: tuple[tuple[Automaton, int], ...]

    @property
    def size(self) -> int:
        """Number of states, those of lookarounds included."""
        return len(self.states) + sum(inner.size for inner, _ in self.looks)


def build(node: PatternNode, tests: tuple[Test, ...]) -> Automaton:
    """Make the automaton of an expression; raises TooLargeError."""
    builder = _AutomatonBuilder(tests)
    start = builder.add(node, _MATCHED)
    entries: list[list[int]] = [[] for _ in builder.states]
    readers: list[list[tuple[int, int]]] = [[] for _ in builder.states]
    for index, state in enumerate(builder.states):
        for after in state.after:
            if state.test is None:
                entries[after].append(index)
            else:
                readers[after].append((1 << _FIRST_TEST + state.test, index))
    return Automaton(
        states=tuple(builder.states),
        start=start,
        entries=tuple(map(tuple, entries)),
        readers=tuple(map(tuple, readers)),
        tests=tests,
        looks=tuple(builder.looks.values()),
    )


class _AutomatonBuilder:
    def __init__(self, tests: tuple[Test, ...]) -> None:
        self.tests = {test: index for index, test in enumerate(tests)}
        self.states = [State(after=())]
        self.looks: dict[int, tuple[Automaton, int]] = {}

    def state(self, state: State) -> int:
        if len(self.states) >= MOST_STATES:
            raise TooLargeError(
                f"is too large: its repeats make more than {MOST_STATES:,} states when they are written out"
            )
        self.states.append(state)
        return len(self.states) - 1

    def add(self, node: PatternNode, after: int) -> int:
        """Add the states of `node` that go on at state `after`; return the first of them."""
        match node:
            case Character(test):
                return self.state(State((after,), test=self.tests[test]))
            case SyntaxPosition(kind):
                return self.state(State((after,), place=kind))
            case Lookaround(inner, behind, negative):
                if id(inner) not in self.looks:
                    self.looks[id(inner)] = build(inner, tuple(self.tests)), behind
                return self.state(State((after,), look=list(self.looks).index(id(inner)), negative=negative))
            case Sequence(nodes):
                for one in reversed(nodes):
                    after = self.add(one, after)
                return after
            case Branch(options):
                return self.state(State(tuple(self.add(option, after) for option in options)))
            case Repetition(inner, low, high):
                if high is not None:
                    return self.state(State(tuple(self.copies(inner, high, after)[low:])))
                loop = self.state(State(()))
                self.states[loop] = State((self.add(inner, loop), after))
                return self.copies(inner, low, loop)[-1]

    def copies(self, node: PatternNode, most: int, after: int) -> list[int]:
        """Return where 0, 1, ... `most` copies of `node` start that go on at state `after`."""
        starts = [after]
        while len(starts) <= most:
            starts.append(self.add(node, starts[-1]))  # always a new state: nodes without any are not repeated
        return starts


class _Set(dict[int, "_Set"]):
    """A set of states that have just read the character after a place; by the symbol before it, the set there.

    matched: whether the expression matches from the place to the right of this one.
    """

    __slots__ = ("_machine", "after", "matched", "members")

    def __init__(self, machine: Machine, members: frozenset[int], after: int, *, matched: bool) -> None:
        super().__init__()
        self._machine = machine
        self.members = members
        self.after = after
        self.matched = matched

    def __missing__(self, symbol: int) -> _Set:
        found = self[symbol] = self._machine.before(self, symbol)
        return found


class _Letters(dict[str, int]):
    """The symbol of each character: what it is at a place's side, and which tests it passes."""

    def __init__(self, tests: Iterable[Test]) -> None:
        super().__init__()
        self._tests = tuple(enumerate(tests, start=_FIRST_TEST))

    def __missing__(self, letter: str) -> int:
        if len(self) >= _MOST_LETTERS:
            self.clear()
        word = letter.isalnum() or letter == "_"
        symbol = NEWLINE * (letter == "\n") | WORD * word | ASCII_WORD * (word and letter.isascii())
        for bit, test in self._tests:
            if test(letter):
                symbol |= 1 << bit
        self[letter] = symbol
        return symbol


class Steps:
    """Steps that are left; `None` for any number."""

    def __init__(self, left: int | None = None) -> None:
        self._left = left

    def take(self, number: int) -> None:
        """Use up steps; raises StepsUsedUpError when none are left."""
        if self._left is not None:
            self._left -= number
            if self._left < 0:
                raise StepsUsedUpError


class Machine:
    """Runs an automaton over texts and keeps the sets that it meets."""

    def __init__(self, automaton: Automaton, steps: Steps) -> None:
        self.automaton = automaton
        self._steps = steps
        self._looks = [(Machine(inner, steps), behind) for inner, behind in automaton.looks]
        self._letters = _Letters(automaton.tests)
        self._sees_places = any(state.place for state in automaton.states)
        self._kept: dict[tuple[frozenset[int], int, bool], _Set] = {}
        self._size = 0

    def search(self, text: str) -> bool:
        """Whether a match starts at any place of a text."""
        return any(self.matches(text))

    def matches_at_start(self, text: str) -> bool:
        """Whether a match starts at the start of a text."""
        matched = False
        for matched in self.matches(text):  # noqa: B007 - the last one
            pass
        return matched

    def matches(self, text: str) -> Iterator[bool]:
        """Yield whether a match starts at each place, from the last to the first."""
        place = self._set(frozenset(), EDGE, matched=False)
        if not self._looks:
            letters = self._letters
            for letter in reversed(text):
                place = place[letters[letter]]
                yield place.matched
            yield place[EDGE].matched
            return
        symbols = self._symbols(text)
        for symbol in symbols:
            place = place[symbol]
            yield place.matched

    def _symbols(self, text: str) -> Iterator[int]:
        """Yield what precedes each place and which lookarounds' expressions match there, from the last place."""
        first = _FIRST_TEST + len(self.automaton.tests)
        found = [bytes(machine.matches(text))[::-1] for machine, _ in self._looks]
        for place in range(len(text), -1, -1):
            symbol = self._letters[text[place - 1]] if place else EDGE
            for bit, (matches, (_, behind)) in enumerate(zip(found, self._looks, strict=True), start=first):
                if place >= behind and matches[place - behind]:
                    symbol |= 1 << bit
            yield symbol

    def before(self, at: _Set, symbol: int) -> _Set:
        """Return the set one place before: where the states stand that can read the character `symbol` there."""
        reached = self._reached(at, symbol)
        readers = self.automaton.readers
        members = frozenset(index for state in reached for bit, index in readers[state] if symbol & bit)
        self._steps.take(len(reached) + sum(len(readers[state]) for state in reached))
        after = symbol & (NEWLINE | WORD | ASCII_WORD) if self._sees_places else 0
        if after & NEWLINE and at.after & EDGE:
            after |= FINAL
        return self._set(members, after, matched=self.automaton.start in reached)

    def _reached(self, at: _Set, symbol: int) -> set[int]:
        """Return all states from which the set, or a match, is reached without reading a character."""
        automaton = self.automaton
        first = _FIRST_TEST + len(automaton.tests)
        reached = {_MATCHED, *at.members}
        stack = list(reached)
        while stack:
            for index in automaton.entries[stack.pop()]:
                state = automaton.states[index]
                if index in reached or (state.place and not at_place(state.place, symbol, at.after)):
                    continue
                if state.look is not None and bool(symbol >> (first + state.look) & 1) is state.negative:
                    continue
                reached.add(index)
                stack.append(index)
        return reached

    def _set(self, members: frozenset[int], after: int, *, matched: bool) -> _Set:
        key = (members, after, matched)
        found = self._kept.get(key)
        if found is None:
            if self._size > _MOST_KEPT:
                self._kept.clear()
                self._size = 0
            found = self._kept[key] = _Set(self, members, after, matched=matched)
        self._size += len(members) + 1
        return found
