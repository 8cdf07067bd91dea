"""Token F1 of many pairs of texts at once, with numpy: the same floats as `token_f1`.

Words are numbered, and a word that a text has had before has another number. So texts are sets of numbers, and what
two of them share stands twice where both are sorted together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain, count
from typing import Any, Final

from pytest_extract.core.measures.token_f1 import ARTICLES, WORD, token_f1

_IN_WORDS: Final = [chr(code).lower() if WORD.match(chr(code)) else " " for code in range(128)]
_FOLDED: Final = "".join(_IN_WORDS).encode() + bytes(range(128, 256))
"""Translates UTF-8: capitals of ASCII become small, and what of it no word holds a space."""
_NO_TEXT: Final = 0xFF << 56
"""Marks what UTF-8 never writes."""
_MULTIPLIERS: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
"""Odd numbers that spread words over the slots."""
_SLOT_BITS: Final = 20
"""Slots take 8 MB. glibc keeps twice as much as was freed once, so other arrays find no fresh pages: half the time."""
_MOST: Final = 1_000_000
"""Pairs, and characters of them, that are compared at once: some 25 MB."""
_TIMES_BITS: Final = 20
_ITEM_BITS: Final = 42
"""An item is the number of a word (below 3 for each character), then how often its text has had the word before."""


def texts_f1(gold: Sequence[str], extracted: Sequence[str]) -> list[float]:
    """Return the token F1 of each text with the one in its place."""
    if len(gold) > _MOST or sum(map(len, chain(gold, extracted))) > _MOST:
        half = len(gold) // 2
        if not half:
            return [token_f1(gold[0], extracted[0])]
        return texts_f1(gold[:half], extracted[:half]) + texts_f1(gold[half:], extracted[half:])
    import numpy as np

    numbers = dict(zip({*gold, *extracted}, count(), strict=False))
    items, sizes = _items(numbers)
    texts = np.fromiter(map(numbers.__getitem__, chain(gold, extracted)), np.int64)
    size = sizes[texts]
    first = (np.cumsum(sizes) - sizes)[texts] - (np.cumsum(size) - size)
    both = items[np.arange(size.sum()) + np.repeat(first, size)]
    both |= np.repeat(np.tile(np.arange(len(gold)) << _ITEM_BITS, 2), size)
    both.sort(kind="stable")  # each half is sorted already
    shared = np.bincount(both[1:][both[1:] == both[:-1]] >> _ITEM_BITS, minlength=len(gold))
    total = size[: len(gold)] + size[len(gold) :]
    found: list[float] = np.where(total == 0, 1.0, 2 * shared / np.maximum(total, 1)).tolist()
    return found


def _items(texts: Collection[str]) -> tuple[Any, Any]:
    """Return the items of all texts, text by text and ascending, and how many each text has."""
    import numpy as np

    joined = " ".join(texts)
    if joined.isascii():
        sizes, joined_bytes = [*map(len, texts)], joined.encode()
    else:
        parts = [text.encode() if text.isascii() else " ".join(WORD.findall(text.lower())).encode() for text in texts]
        sizes, joined_bytes = [*map(len, parts)], b" ".join(parts)
    written = b" ".join([b"", joined_bytes, bytes(16)]).translate(_FOLDED)
    blanks = np.flatnonzero(np.frombuffer(written, np.uint8)[:-16] == ord(" "))
    gaps = np.diff(blanks)
    starts, lengths = blanks[:-1][gaps > 1] + 1, gaps[gaps > 1] - 1
    ids, kept = _numbered(written, starts, lengths)
    ends = np.cumsum(np.array(sizes) + 1)
    words = np.diff(np.searchsorted(starts, ends, side="right"), prepend=0)
    spoken = (np.repeat(np.arange(len(sizes)) << _ITEM_BITS, words) | ids << _TIMES_BITS)[kept]
    spoken.sort()
    again = np.flatnonzero(spoken[1:] == spoken[:-1]) + 1
    runs = np.arange(len(again))
    spoken[again] += runs + 1 - np.maximum.accumulate(np.where(np.diff(again, prepend=-1) > 1, runs, 0))
    return spoken & (1 << _ITEM_BITS) - 1, np.bincount(spoken >> _ITEM_BITS, minlength=len(sizes))


def _numbered(written: bytes, starts: Any, lengths: Any) -> tuple[Any, Any]:
    """Return a number for each word, the same for equal ones, and whether it is no article.

    A word is the two integers that its first 16 bytes are; of a longer one the second stands for all of the rest. Its
    number is the place of an equal one: of the last word in its slot, if that is equal; the others are counted one by
    one.
    """
    import numpy as np

    heads = np.ndarray((len(written) - 7,), "<u8", buffer=written, strides=(1,))
    own_bytes = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
    head = heads.take(starts) & own_bytes.take(lengths, mode="clip")
    rest = np.zeros(len(starts), np.uint64)
    long = np.flatnonzero(lengths > 8)
    rest[long] = heads[starts[long] + 8] & own_bytes.take(lengths[long] - 8, mode="clip")
    seen: dict[object, int] = {}
    longer = np.flatnonzero(lengths > 16)
    rest[longer] = [
        _NO_TEXT | seen.setdefault(written[start : start + length], len(seen))
        for start, length in zip(starts[longer].tolist(), lengths[longer].tolist(), strict=True)
    ]
    slots = (head * np.uint64(_MULTIPLIERS[0]) + rest * np.uint64(_MULTIPLIERS[1])) >> np.uint64(64 - _SLOT_BITS)
    slots = slots.astype(np.int64)
    last = np.empty(1 << _SLOT_BITS, np.int64)
    last[slots] = np.arange(len(slots))
    ids = last[slots]
    lost = np.flatnonzero((head[ids] != head) | (rest[ids] != rest))
    ids[lost] = [
        len(starts) + seen.setdefault(word, len(seen))
        for word in zip(head[lost].tolist(), rest[lost].tolist(), strict=True)
    ]
    articles = np.array([int.from_bytes(article.encode(), "little") for article in ARTICLES], np.uint64)
    return ids, ~np.isin(head, articles)
