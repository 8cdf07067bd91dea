"""One walk over gold and extracted value together that counts all that SOB's measures are made of.

It is fast because it writes no path. Where ambiguous names could give two places one path, the counts come from the
path maps of `leaf_paths` instead, as published.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import compress, cycle, repeat
from operator import add, contains, ne
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_extract.core.measures.leaf_paths import BLANK, Declared, TypeNode, is_ambiguous_name, leaf_map, typed_leaves
from pytest_extract.core.measures.token_f1 import Words, token_f1, words, words_f1
from pytest_extract.core.parse.brackets import MAX_DEPTH
from pytest_extract.core.values import CONTAINERS, MISSING, Json, Missing, Value, canonical_json

if TYPE_CHECKING:
    from pytest_extract.core.engine.table import Cells, ListTable, Table


class TooDeep(ValueError):
    """A value nested deeper than anything here recurses."""


class LeafCounts(NamedTuple):
    """Counts over leaves, and what DeepJSONEval's comparison finds on the same walk.

    expected, found: leaves of gold and of extracted value; shared: paths of both; equal: shared paths with values equal
    in Python; same: those also written the same in JSON; tokens: summed token F1 over the gold's leaves (a missing one
    reads "null"); typed: extracted leaves of the declared type; ambiguous: whether paths may collide. key_match: the
    measure of that name, of two containers of one kind; None of other values.
    """

    expected: int = 0
    found: int = 0
    shared: int = 0
    equal: int = 0
    same: int = 0
    tokens: float = 0.0
    typed: int = 0
    ambiguous: bool = False
    key_match: float | None = None


def count_leaves(
    gold: Json, extracted: Json | Missing, declared: Declared, tables: Sequence[ListTable] = ()
) -> LeafCounts:
    """Count over two JSON values, or a gold and MISSING; raises TooDeep beyond MAX_DEPTH levels.

    `tables`: lists in them that are laid out already, each row with all columns of its table and no others.
    """
    walk = _LeafCountWalk(tables)
    structured = isinstance(extracted, CONTAINERS)  # a bare value at the root is no leaf
    key_match = None
    if isinstance(gold, CONTAINERS):
        key_match = walk.containers(gold, extracted if structured else MISSING, declared.types, 0)
    elif structured:
        walk.only_found(extracted, declared.types, 0)
    return _by_path(gold, extracted, declared, key_match) if walk.ambiguous else walk.counts(key_match)


def _by_path(gold: Json, extracted: Json | Missing, declared: Declared, key_match: float | None = None) -> LeafCounts:
    """Count over path maps, where a later leaf takes the place of an earlier one with the same path."""
    shared = equal = 0
    tokens = 0.0
    expected, found = leaf_map(gold), typed_leaves(extracted, declared)
    for path, value in expected.items():
        other = found.values.get(path, MISSING)
        if other is MISSING:
            tokens += token_f1(value, None)
            continue
        shared += 1
        equal += value == other
        tokens += token_f1(value, other)
    return LeafCounts(
        expected=len(expected), found=len(found.values), shared=shared, equal=equal, tokens=tokens, typed=found.typed,
        ambiguous=True, key_match=key_match,
    )  # fmt: skip


def _jaccard(gold: list[Json], value: list[Json]) -> float:
    """Return the Jaccard index of two lists as sets; where they hold lists or objects, as multisets of texts."""
    try:
        one, other = set(gold), set(value)
    except TypeError:
        ours, theirs = Counter(map(canonical_json, gold)), Counter(map(canonical_json, value))
        return (ours & theirs).total() / (ours | theirs).total()
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


_new: Final = tuple.__new__
_NULL: Final = words(None)
_EMPTY: Final[dict[str, Json]] = {}
_DICT: Final = frozenset({dict})
_TEXT: Final = frozenset({str})
_CONTAINERS: Final = frozenset(CONTAINERS)
_NUMPY_PAYS: Final = 200_000  # characters of gold from which importing numpy pays for a few such documents
_NUMPY_PAYS_LOADED: Final = 5_000
_MANY_TEXTS: Final = 50
_LONG_TEXT: Final = 40
"""Characters of texts in a table, which are compared at once where many are wrong."""
_LEAST_CELLS: Final = 8
"""Cells of a table from which on they are counted faster by columns than leaf by leaf."""


class _LeafCountWalk:
    """The walk; each method takes the depth it is called at.

    The counts are those of `LeafCounts`. matched: leaves that are the same on both sides, which no other number counts
    before the end. plain: undeclared names met so far that are not ambiguous, as declared ones never are; spoken: the
    words of texts, since a document repeats many of them.
    """

    __slots__ = (
        "ambiguous", "compared", "equal", "expected", "found", "matched", "plain", "same", "shared", "spoken", "tables",
        "tokens", "typed",
    )  # fmt: skip

    def __init__(self, tables: Sequence[ListTable]) -> None:
        self.expected = self.found = self.shared = self.equal = self.same = self.typed = 0
        self.tokens = 0.0
        self.ambiguous = False
        self.tables = {}
        for gold, extracted, table in tables:
            if len(table.gold) >= _LEAST_CELLS:
                self.tables[id(gold), id(extracted)] = table
        self.matched = 0
        self.plain: set[str] = set()
        self.spoken: dict[str, Words] = {}
        self.compared: dict[tuple[str, str], float] = {}

    def counts(self, key_match: float | None) -> LeafCounts:
        """Return the counts by themselves: a score keeps them, and not what the walk needed."""
        matched = self.matched
        counts = (
            self.expected + matched, self.found + matched, self.shared + matched, self.equal + matched,
            self.same + matched, self.tokens, self.typed, False, key_match,
        )  # fmt: skip
        return _new(LeafCounts, counts)

    def containers(self, gold: Any, extracted: Any, types: TypeNode, depth: int) -> float:
        """Count a container of the gold and the value in its place; return how DeepJSONEval compares them."""
        kind = type(gold)
        if kind is type(extracted):
            if kind is dict:
                return self._objects(gold, extracted, types, depth)
            return self._arrays(gold, extracted, types.item or BLANK, depth)
        if kind is dict:
            self._objects(gold, _EMPTY, BLANK, depth)
        else:
            self._arrays(gold, [], BLANK, depth)
        self._instead(extracted, types, depth)
        return 0.0

    def _objects(  # noqa: C901, PLR0912 - a call for each kind of value costs a third of the time
        self, gold: dict[str, Json], extracted: dict[str, Json], types: TypeNode, depth: int
    ) -> float:
        if depth >= MAX_DEPTH:
            raise TooDeep
        members = types.members
        matched = typed = shared = 0
        score = 0.0
        for name, value in gold.items():
            child = members.get(name)
            if child is None:
                child = BLANK
                if name not in self.plain:
                    self._learn(name)
            other = extracted.get(name, MISSING)
            kind = type(value)
            if kind in _CONTAINERS:
                shared += other is not MISSING
                if kind is dict and type(other) is dict:
                    score += self._objects(value, other, child, depth + 1)
                elif kind is list and type(other) is list:
                    score += self._arrays(value, other, child.item or BLANK, depth + 1)
                else:
                    score += self.containers(value, other, child, depth + 1)
            elif kind is type(other) and value == other and (kind is not float or value):
                matched += 1
                if value is not None:
                    score += 1.0
                if kind in child.leaf:
                    typed += 1
            else:
                shared += other is not MISSING
                if value is not None and value == other:
                    score += 1.0
                self._leaf(value, other, child, depth + 1)
        if matched:
            self.matched += matched
            self.tokens += matched
            self.typed += typed
        if len(extracted) > shared + matched:
            rest = {name: value for name, value in extracted.items() if name not in gold}
            self.only_found(rest, types, depth)
        if not gold:
            return 0.0 if extracted else 1.0
        return score / (len(gold) + len(extracted) - shared - matched)

    def _arrays(self, gold: list[Json], extracted: list[Json], item: TypeNode, depth: int) -> float:
        if depth >= MAX_DEPTH:
            raise TooDeep
        table = self.tables.get((id(gold), id(extracted)))
        if table is not None and len(gold) == len(extracted) == table.height:
            return self._rows(gold, extracted, table, item, depth + 1)
        if gold and _TEXT.issuperset(map(type, gold)) and _TEXT.issuperset(map(type, extracted)):
            return self._texts(gold, extracted, item)
        count = len(extracted)
        scores: list[float] = []
        for index, value in enumerate(gold):
            other = extracted[index] if index < count else MISSING
            kind = type(value)
            if kind is dict and type(other) is dict:
                scores.append(self._objects(value, other, item, depth + 1))
            elif kind is dict or kind is list:
                scores.append(self.containers(value, other, item, depth + 1))
            else:
                self._leaf(value, other, item, depth + 1)
        if count > len(gold):
            self._items(extracted[len(gold) :], item, depth + 1)
        if not _DICT.issuperset(map(type, gold)):
            return _jaccard(gold, extracted)
        if not gold:
            return 0.0 if extracted else 1.0
        return sum(scores) / max(len(gold), count) if _DICT.issuperset(map(type, extracted)) else 0.0

    def _texts(self, gold: list[Any], extracted: list[Any], item: TypeNode) -> float:
        """Count two lists of texts."""
        if str in item.leaf:
            self.typed += len(extracted)
        if gold == extracted:
            self.matched += len(gold)
            self.tokens = reduce(add, repeat(1.0, len(gold)), self.tokens)
            return 1.0
        both = min(len(gold), len(extracted))
        unlike = [*compress(range(both), map(ne, gold, extracted))]
        f1s = [1.0] * both
        for place, f1 in zip(unlike, self._f1s([gold[i] for i in unlike], [extracted[i] for i in unlike]), strict=True):
            f1s[place] = f1
        f1s += [words_f1(self._words(value), _NULL) for value in gold[both:]]
        self.tokens = reduce(add, f1s, self.tokens)
        self.matched += both - len(unlike)
        self.expected += len(gold) - both + len(unlike)
        self.found += len(extracted) - both + len(unlike)
        self.shared += len(unlike)
        return _jaccard(gold, extracted)

    def _f1s(self, gold: Sequence[str], extracted: Sequence[str]) -> list[float]:
        """Return the token F1 of each text with the one in its place."""
        if sum(map(len, gold)) > (_NUMPY_PAYS_LOADED if "numpy" in sys.modules else _NUMPY_PAYS):
            from pytest_extract.core.matching.assignment import installed  # few outputs have so many wrong texts
            from pytest_extract.core.measures.token_f1_numpy import texts_f1

            if installed("numpy"):
                return texts_f1(gold, extracted)
        return [*map(self._tokens, gold, extracted)]

    def _rows(  # noqa: C901 - most rows are right, and a call for each takes as long as the rest
        self, gold: list[Json], extracted: list[Json], table: Table, item: TypeNode, depth: int
    ) -> float:
        """Count two lists whose rows all have the same keys by the cells that may differ, in the order of each."""
        if depth >= MAX_DEPTH:
            raise TooDeep
        names, width, cells = table.items.places.names, table.width, table.extracted
        differing, both_absent = table.diff
        if item.members or not self.plain.issuperset(names):
            self._columns(table, item)
        unlike = differing
        if both_absent or not all(cells):
            zeros = [place for place, cell in enumerate(cells) if type(cell) is float and not cell]
            unlike = sorted({*differing, *both_absent, *zeros})
        if not unlike:
            self.matched += len(cells)
            self.tokens = reduce(add, repeat(width, len(gold)), self.tokens)
            return 1.0
        if len(unlike) >= _MANY_TEXTS:
            self._compare_long_texts([(table.gold[cell], cells[cell]) for cell in unlike])
        by_row: dict[int, list[int]] = {}
        for cell in unlike:
            by_row.setdefault(cell // width, []).append(cell)
        order = (*gold[0],)
        scores = [1.0] * len(gold)
        for row in range(len(gold)):
            places = by_row.get(row)
            if places is None:
                self.matched += width
                self.tokens += width
                continue
            if len(places) > 1:
                if (*gold[row],) != order:
                    scores[row] = self._objects(gold[row], extracted[row], BLANK, depth)
                    continue
                places.sort(key=lambda cell: order.index(names[cell % width]))
            scores[row] = self._cells(table.gold, cells, places, width) / width
        return sum(scores) / len(scores)

    def _compare_long_texts(self, pairs: Iterable[tuple[Value, Value]]) -> None:
        """Compare long texts at once; `_tokens` finds how alike they are."""
        texts = {(one, other) for one, other in pairs if type(one) is str is type(other) and len(one) >= _LONG_TEXT}
        if texts:
            self.compared.update(zip(texts, self._f1s(*zip(*texts, strict=True)), strict=True))

    def _columns(self, table: Table, item: TypeNode) -> None:
        """Learn the names of a table, and count the cells of the declared types."""
        names = table.items.places.names
        for name in names:
            if name not in self.plain:
                self._learn(name)
        kinds = [item.members.get(name, BLANK).leaf for name in names]
        self.typed += sum(map(contains, cycle(kinds), map(type, table.extracted)))

    def _cells(self, gold: Cells, extracted: Cells, places: Sequence[int], width: int) -> float:
        """Count a row of a table, of which the cells at these places may differ; return how many match."""
        matched = right = width - len(places)
        for place in places:
            value, other = gold[place], extracted[place]
            if value != other:
                self.expected += 1
                self.found += 1
                self.shared += 1
                self.tokens += self._tokens(value, other)
                continue
            right += value is not None
            if type(value) is type(other) and (type(value) is not float or value):
                matched += 1
            else:
                self._leaf(value, other, BLANK, 0)
        self.matched += matched
        self.tokens += matched
        return right

    def _leaf(self, value: Json, other: Json | Missing, types: TypeNode, depth: int) -> None:
        """Count a gold leaf and the value in its place."""
        self.expected += 1
        if other is MISSING or isinstance(other, CONTAINERS):
            self.tokens += words_f1(self._words(value), _NULL)
        else:
            self.shared += 1
            alike = value == other
            self.equal += alike
            if alike and type(value) is type(other):
                self.tokens += 1.0
                self.same += not isinstance(value, float) or repr(value) == repr(other)  # 0.0 is not -0.0
            else:
                self.tokens += self._tokens(value, other)
        self._instead(other, types, depth)

    def _tokens(self, value: Json, other: Json) -> float:
        """Return the token F1 of two scalars, of repeated texts as it was; the word of an integer is its digits."""
        if type(value) is str and type(other) is str:
            found = self.compared.get((value, other))
            if found is None:
                found = self.compared[value, other] = words_f1(self._words(value), self._words(other))
            return found
        if type(value) is int and type(other) is int:
            return 1.0 if abs(value) == abs(other) else 0.0
        return words_f1(self._words(value), self._words(other))

    def _words(self, value: Json) -> Words:
        if type(value) is not str:
            return words(value)
        found = self.spoken.get(value)
        if found is None:
            found = self.spoken[value] = words(value)
        return found

    def _instead(self, other: Json | Missing, types: TypeNode, depth: int) -> None:
        """Count what the extracted value has in a place where the gold has something of another shape."""
        if isinstance(other, CONTAINERS):
            self.only_found(other, types, depth)
        elif other is not MISSING:
            self.found += 1
            self.typed += type(other) in types.leaf

    def only_found(self, value: Any, types: TypeNode, depth: int) -> None:
        """Count the leaves of a container that the gold has not."""
        if depth >= MAX_DEPTH:
            raise TooDeep
        if type(value) is list:
            self._items(value, types.item or BLANK, depth + 1)
            return
        for name, inner in value.items():
            if name not in self.plain:
                self._learn(name)
            self._instead(inner, types.members.get(name, BLANK), depth + 1)

    def _items(self, values: list[Json], item: TypeNode, depth: int) -> None:
        for value in values:
            self._instead(value, item, depth)

    def _learn(self, name: str) -> None:
        if is_ambiguous_name(name):
            self.ambiguous = True
        else:
            self.plain.add(name)
