"""Says why a text that `json` refuses is no JSON: `json` finds about where, and `Reader` takes up shortly before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from pytest_extract.collector import no_collection
from pytest_extract.core.parse.brackets import STRING, members, object_end, opened_at, shallow_items
from pytest_extract.core.parse.reader import Reader, SyntaxProblem
from pytest_extract.core.parse.text import Region, StrictDecoder
from pytest_extract.core.results import FailureKind
from pytest_extract.core.values import FieldPath, Step
from pytest_extract.lazy import lazy_pattern

_ODD_NUMBER: Final = lazy_pattern(
    rf"(?:[^\"NI0-9-]++|{STRING}|-?[0-9.]{{1,300}}+(?![0-9.eE])|-(?![0-9NI]))*+"
    r"(-?(?:NaN|Infinity|[0-9][0-9.]*+(?:[eE][+-]?[0-9]++)?+))?+",
    re.DOTALL,
)
"""What may be no number that JSON can hold and Python compare: after all that is plainly none, and plain numbers."""


@no_collection()
def find_mistake(text: str, region: Region) -> SyntaxProblem | None:
    """Return what is wrong with a region that begins with a bracket; None where nothing is.

    The first mistake in the order of the text; a repeated key only where nothing else is wrong.
    """
    start, stop, opened = region.start, region.stop, region.opened
    read = StrictDecoder().read(text[:stop], start) if region.read is None else region.read
    sound = read.formed and not read.deep
    if sound and read.repeated is not None and read.number is None:
        return _repeated_key(text, start, object_end(text, start, stop, number=read.repeated + 1, objects=read.objects))
    end = opened.end if opened is not None else stop if read.stop is None else read.stop
    wrong = None
    if read.number is not None:
        behind = object_end(text, start, stop, number=read.number, objects=read.objects)
        wrong = next(_out_of_range(text, behind, end), None)
    try:
        if wrong is not None and sound:  # nothing before it is wrong, nor is it cut
            Reader(text, wrong, stop).read()
        if wrong is not None or opened is None:
            opened = opened_at(text, start, end if wrong is None else wrong)
        Reader(text, start, stop).read_on(opened)
        if not sound:  # `json` also gives up where Python's own stack is nearly used up
            Reader(text, start, stop).read()
    except SyntaxProblem as problem:
        return problem
    return None


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


def _repeated_key(text: str, start: int, end: int) -> SyntaxProblem | None:
    """Find the first key that its object has twice; `end`: where the first object ends that has one.

    No object that ends before has one, so the key is in this object or, further ahead, in one around it.
    """
    path: list[Step] = []
    for outer, inner in pairwise([*opened_at(text, start, end - 1).brackets, end]):
        if text[outer] == "[":
            count, position = shallow_items(text, outer + 1, inner)
            rest = text[position:inner].rstrip().removesuffix(",")  # from the first item on that is nested deeply
            path.append(count + len(json.loads(f"[{rest}]", object_pairs_hook=len)))
            continue
        key, keys = "", set[str]()
        for written, place in members(text, outer, inner):
            key = json.loads(written) if "\\" in written else written[1:-1]
            if key in keys:
                message = f"the key {key!r} stands twice in one object"
                return SyntaxProblem(FailureKind.DUPLICATE_KEY, message, place, FieldPath((*path, key)))
            keys.add(key)
        path.append(key)
    return None
