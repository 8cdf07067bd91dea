"""Kinds of mistakes: names for what went wrong in an output, found by small rules without a model.

`name_mistakes` in `table.py` names the failing results of one output by the rules there. A name changes no score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, repeat
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.results import WRONG, ArrayResult, FieldResult, NamedMistake, ScoreRecord
from pytest_extract.core.values import CONTAINERS, FieldPath, Json, Missing, Step, iter_leaves

FindsValue: TypeAlias = Callable[[Json], bool | None]
"""Whether a value stands in the document; None where that cannot be said (an image, a boolean)."""
Steps: TypeAlias = tuple[Step, ...]


class ContainerPair(NamedTuple):
    """Two objects or lists that belong together, and the paths of both.

    `rows`: the indices of the rows of two lists that belong together; by position if nothing has paired them.
    """

    path: Steps
    gold: Json
    at: Steps
    extracted: Json
    rows: Sequence[tuple[int, int]] = ()

    @property
    def members(self) -> list[ContainerPair]:
        """The values that belong together in two objects, or the rows in two lists.

        Of lists of which nothing has paired a row, which may all have other keys, it is those at one position.
        """
        path, gold, at, extracted, rows = self
        if isinstance(gold, dict):
            steps: Iterable[tuple[Step, Step]] = ((key, key) for key in gold if key in extracted)
        else:
            steps = rows or [(i, i) for i in range(len(gold)) if len(gold) == len(extracted)]
        return [ContainerPair((*path, one), gold[one], (*at, other), extracted[other]) for one, other in steps]

    @property
    def loose(self) -> tuple[list[int], list[int]]:
        """The gold rows of two lists without an extracted one, and the extracted rows without a gold one."""
        paired, taken = {i for i, _ in self.rows}, {j for _, j in self.rows}
        missing = [i for i in range(len(self.gold)) if i not in paired]
        return missing, [j for j in range(len(self.extracted)) if j not in taken]


MOST_NAMED: Final = 1_000
"""Failing results of one output whose mistakes are named."""


@dataclass(frozen=True, kw_only=True)
class ComparedOutput:
    """The results of one output, with both documents; `in_document` is None without a document.

    `results` are the leaf results, and the field results without a leaf result below them. `arrays` say which rows of
    lists belong together.
    """

    results: Sequence[FieldResult]
    gold: Json
    extracted: Json
    arrays: Sequence[ArrayResult] = ()
    in_document: FindsValue | None = None

    @cached_property
    def failing(self) -> tuple[FieldResult, ...]:
        """The first `MOST_NAMED` results that are wrong, in the order of the document."""
        return tuple(islice((result for result in self.results if result.status in WRONG), MOST_NAMED))

    @cached_property
    def failing_at(self) -> Mapping[Steps, Sequence[FieldPath]]:
        """Place -> paths of the failing results at it or inside it; of any other place, none."""
        return _by_place((tuple(result.path), result.path) for result in self.failing)

    @cached_property
    def failing_from(self) -> Mapping[Steps, Sequence[FieldPath]]:
        """Place of the output -> paths of the failing results whose value is from it or from inside it."""
        return _by_place((tuple(result.matched), result.path) for result in self.failing if result.matched is not None)

    @cached_property
    def gold_places(self) -> Mapping[str, Sequence[FieldPath]]:
        """Distinctive gold value (`value_key`) -> its paths."""
        places: dict[str, list[FieldPath]] = defaultdict(list)
        for path, value in iter_leaves(self.gold):
            if key := value_key(value):
                places[key].append(path)
        return places

    @cached_property
    def containers(self) -> Sequence[ContainerPair]:
        """The objects and lists that belong together and have failing results inside, the root first."""
        pairings = {tuple(array.path): array.pairs for array in self.arrays}
        found: list[ContainerPair] = []
        stack = [ContainerPair((), self.gold, (), self.extracted)]
        while stack:
            pair = stack.pop()
            kinds = {type(pair.gold), type(pair.extracted)}
            if not self.failing_at[pair.path] or kinds not in ({dict}, {list}):
                continue
            if kinds == {list}:
                size, other = len(pair.gold), len(pair.extracted)
                rows = pairings.get(pair.path, [(index, index) for index in range(min(size, other))])
                pair = pair._replace(rows=[(i, j) for i, j in rows if i < size and j < other])
            found.append(pair)
            stack += [each for each in reversed(pair.members) if isinstance(each.gold, CONTAINERS)]
        return found


def _by_place(results: Iterable[tuple[Steps, FieldPath]]) -> Mapping[Steps, Sequence[FieldPath]]:
    """Return for every place the results at it or inside it."""
    places: dict[Steps, list[FieldPath]] = defaultdict(list)
    for place, path in results:
        for size in range(len(place) + 1):
            places[place[:size]].append(path)
    return places


def value_key(value: Json | Missing) -> str:
    """Return a key that equal values share; "" for a value that occurs by chance (short, small, a boolean, null)."""
    if isinstance(value, str):
        text = " ".join(value.split())
        return f"s{text}" if len(text) > 2 else ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if isinstance(value, int):
        return f"n{value}" if abs(value) >= 10 and value.bit_length() < 200 else ""
    if value.is_integer() and abs(value) < 2**53:
        return value_key(int(value))
    return f"n{value!r}" if len(f"{value!r}".strip("-0.")) > 2 else ""


def compared_results(leaves: Iterable[FieldResult], fields: Iterable[FieldResult]) -> list[FieldResult]:
    """Return all comparisons of a score: its leaf results, and field results of which no leaf result tells.

    These are field results without a leaf result below them, and wrong ones with none below them that is wrong, such as
    those of lists with a row of nothing but nulls.
    """
    results, fields = [*leaves], [*fields]
    sizes = {len(result.path) for result in fields}
    shown = {leaf.path[:size] for leaf in results for size in sizes}
    wrong = {leaf.path[:size] for leaf in results if leaf.status in WRONG for size in sizes}
    return results + [each for each in fields if each.path not in (wrong if each.status in WRONG else shown)]


def mistake_kinds(score: ScoreRecord) -> Iterator[str]:
    """Yield the kind of each mistake of an output, and what stands for one of each that is not named."""
    yield from (mistake.kind for mistake in score.mistakes)
    if score.mistakes and len(score.leaves) + len(score.fields) > MOST_NAMED:
        wrong = sum(result.status in WRONG for result in compared_results(score.leaves, score.fields))
        yield from repeat("(not named)", wrong - MOST_NAMED)


# --- kinds of mistakes

Found: TypeAlias = tuple[Iterable[FieldPath], str]
"""The paths of wrong results, and what went wrong at all of them."""
FindMistakes: TypeAlias = Callable[[ComparedOutput], Iterator[Found]]
"""Mistakes of one kind that only the whole output or the document shows: rows, keys, values of other fields."""


class MistakeExample(NamedTuple):
    """A gold and an extracted value (of a kind with `find`: whole documents), what is said of them, and the document.

    `document` is the text of the document, where the kind asks it.
    """

    gold: Json
    extracted: Json
    text: str
    document: str = ""


class MistakeKind(NamedTuple):
    """One kind of mistake: a small rule that names it, without a model, and never changes a score.

    `name` is what results, filters and counts call it; `doc` says in a sentence what it is. `find` finds it in an
    output, of which some failing results have no name yet.
    """

    name: str
    doc: str
    example: MistakeExample
    find: Callable[[ComparedOutput, Sequence[FieldResult]], Iterator[Found]]


def values_kind(
    *example: Json, read: Callable[[Json, Json], tuple[Any, Any] | None] | None = None
) -> Callable[[Callable[[Any, Any], str]], MistakeKind]:
    """Make a kind of mistake of a rule for two values: the rule's name and docstring, and an example.

    `read`: the rule is for what this makes of both values; it says nothing where that is None.
    """

    def kind(rule: Callable[[Any, Any], str]) -> MistakeKind:
        def find(_output: ComparedOutput, unnamed: Sequence[FieldResult]) -> Iterator[Found]:
            for result in unnamed:
                sides = read(result.gold, result.extracted) if read else (result.gold, result.extracted)
                if sides is not None and (text := rule(*sides)):
                    yield (result.path,), text

        return MistakeKind(rule.__name__, rule.__doc__ or "", MistakeExample(*example), find)

    return kind


def output_kind(*example: Json) -> Callable[[FindMistakes], MistakeKind]:
    """Make a kind of mistake of a rule for the whole output: the rule's name and docstring, and an example."""
    return lambda rule: MistakeKind(
        rule.__name__, rule.__doc__ or "", MistakeExample(*example), lambda output, _unnamed: rule(output)
    )


def mistakes_by_path(mistakes: Iterable[NamedMistake]) -> dict[FieldPath, NamedMistake]:
    """Map the path of each failing result to what went wrong there."""
    return {path: mistake for mistake in mistakes for path in mistake.paths}
