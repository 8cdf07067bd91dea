"""Says why a text that `json` refuses is no JSON: `json` finds about where, and `Reader` takes up shortly before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from pytest_extract.core.parse.brackets import STRING, Opened, opened_at
from pytest_extract.core.parse.reader import Reader, SyntaxProblem
from pytest_extract.core.parse.text import StrictDecoder
from pytest_extract.core.results import FailureKind
from pytest_extract.core.values import FieldPath, Step
from pytest_extract.lazy import lazy_pattern

_ODD_NUMBER: Final = lazy_pattern(
    rf"(?:[^\"NI0-9-]++|{STRING}|-?[0-9.]{{1,300}}+(?![0-9.eE])|-(?![0-9NI]))*+"
    r"(-?(?:NaN|Infinity|[0-9][0-9.]*+(?:[eE][+-]?[0-9]++)?+))?+",
    re.DOTALL,
)
"""What may be no number that JSON can hold and Python compare: after all that is plainly none, and plain numbers."""
_KEYS: Final = lazy_pattern(rf"({STRING})(\s*+:)?+|([\[\]{{}}])", re.DOTALL)


def find_mistake(
    text: str, start: int, stop: int, *, opened: Opened | None = None, formed: bool = False
) -> SyntaxProblem | None:
    """Return what is wrong with the JSON at `text[start:stop]`, which begins with a bracket; None where nothing is.

    The first mistake in the order of the text; a repeated key only where nothing else is wrong. `opened`: how far
    the text is JSON in form, where that is known; `formed`: it is all of it, as `Region` has it.
    """
    if opened is None and not formed:
        read = StrictDecoder().read(text[start:stop], 0)
        end = start + (read.pos if isinstance(read, json.JSONDecodeError) else read[1]) if read is not None else stop
        opened = opened_at(text, start, end)
    end = stop if opened is None else opened.end
    wrong = next(_out_of_range(text, start, end), None)
    if wrong is not None:
        opened = opened_at(text, start, wrong)
        end = opened.end
    if opened is not None:
        try:
            Reader(text, start, stop).read_on(opened)
        except SyntaxProblem as problem:
            if problem.kind is not FailureKind.DUPLICATE_KEY:
                return problem
    return _repeated_key(text, start, end)


def _out_of_range(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the offsets of NaN, of infinities, and of numbers that are too large or too long."""
    position = start
    while position < end:
        token = _ODD_NUMBER.match(text, position, end)
        if token is None or token[1] is None:
            return
        if not _fits(token[1]):
            yield token.start(1)
        position = token.end()


def _fits(number: str) -> bool:
    try:
        value = int(number) if number.lstrip("-").isdecimal() else float(number)
    except ValueError:
        return False
    return value - value == 0


def _repeated_key(text: str, start: int, stop: int) -> SyntaxProblem | None:
    """Find the first key that its object has twice; `text[start:stop]` is JSON otherwise."""
    keys: list[set[str] | None] = []
    for token in _KEYS.finditer(text, start, stop):
        bracket = token[3]
        if bracket is not None:
            if bracket in "{[":
                keys.append(set() if bracket == "{" else None)
            else:
                keys.pop()
        elif token[2] is not None and keys[-1] is not None:
            written = token[1]
            key: str = json.loads(written) if "\\" in written else written[1:-1]
            if key in keys[-1]:
                path = FieldPath((*_path_to(text, start, token.start()), key))
                message = f"the key {key!r} stands twice in one object"
                return SyntaxProblem(FailureKind.DUPLICATE_KEY, message, token.start(), path)
            keys[-1].add(key)
    return None


def _path_to(text: str, start: int, place: int) -> Iterator[Step]:
    """Yield the steps to the innermost value that is open at `place`."""
    for outer, inner in pairwise(opened_at(text, start, place).brackets):
        before = text[outer:inner].rstrip()
        if text[outer] == "[":
            yield len(json.loads(f"{before.removesuffix(',')}]"))
        else:
            yield from list(json.loads(f"{before}0}}"))[-1:]
