"""What best fit compares: rows as columns of values, and the score of one pair of nested values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Final

from pytest_extract.core.compile.nodes import Array, FieldMetric, FlatPaths, Leaf, Node, Object, Skip, TableColumn
from pytest_extract.core.engine.batch import finish_batches
from pytest_extract.core.engine.contents import DEEPEST_TRIAL, IrregularError, are_typed, contents_of
from pytest_extract.core.engine.context import ScoringContext, equal, is_present
from pytest_extract.core.engine.leaf import transformed
from pytest_extract.core.engine.matches import Kept, weights_or_results
from pytest_extract.core.engine.table import RowFit, Table
from pytest_extract.core.engine.walk import score_missing
from pytest_extract.core.matching.columns import Column, PairScore, objective_score
from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.results import HALLUCINATION, JUDGE_ERROR, MATCH, MISMATCH, OMISSION, STRUCTURE, FieldResult
from pytest_extract.core.values import MISSING, Json, Value

MOST_UNDECLARED: Final = 16
_new: Final = tuple.__new__


def columns_of(run: ScoringContext, items: Node, gold: Sequence[Json], extracted: Sequence[Json]) -> list[Column]:
    """Lay out two lists of rows as columns."""
    if not isinstance(items, Object) or items.groups or items.checks:
        return [_whole(run, items, gold, extracted)]
    if not run.empty_is_free and (_empty_meets_null(gold, extracted) or _empty_meets_null(extracted, gold)):
        return [_whole(run, items, gold, extracted)]
    columns = _invented(run, items, gold, extracted) if items.extra == "hallucinate" else []
    names = {*chain.from_iterable(row for row in chain(gold, extracted) if type(row) is dict)}
    for entry in items.entries:
        if entry.name in names:  # what no row has tells no row from another
            columns += _columns(run, entry, gold, extracted)
    if not all(type(row) is dict for row in (*gold, *extracted)):
        columns.append(_no_objects(run, gold, extracted))
    if items.extra == "compare":
        columns += _undeclared(run, items, gold, extracted)
    return columns


def table_columns(run: ScoringContext, table: Table) -> list[Column]:
    """Return the columns of a table; `columns_of` finds the same in its rows, in three times the time."""
    sides, width = (table.gold, table.extracted), table.width
    return [_whole(run, leaf, *[side[place::width] for side in sides]) for place, leaf in enumerate(table.bulk.leaves)]


def _empty_meets_null(one: Sequence[Json], other: Sequence[Json]) -> bool:
    """Whether `{}` may stand against null: an omission of which no column knows."""
    return None in other and any(type(row) is dict and not row for row in one)


def _whole(run: ScoringContext, items: Node, gold: Sequence[Json], extracted: Sequence[Json]) -> Column:
    """Return values as one column: by their metric where they are plain ones."""
    if isinstance(items, Leaf) and (check := single_check(items)) is not None and are_typed(items, [*gold, *extracted]):
        return leaf_column(run, check, gold, extracted)
    return Column(gold=gold, extracted=extracted, pair=pair_score(run, items))


def single_check(leaf: Leaf) -> FieldMetric | None:
    """Return a leaf's one check, where the leaf is scored by nothing else."""
    one = leaf.has_only_checks and len(leaf.checks) == 1
    return leaf.checks[0] if one and leaf.checks[0].batch is None else None


def _columns(run: ScoringContext, entry: TableColumn, gold: Sequence[Json], extracted: Sequence[Json]) -> list[Column]:
    plan, name = entry.node, entry.name
    if isinstance(plan, Skip):
        return []
    ours, theirs = _values(gold, name), _values(extracted, name)
    if isinstance(plan, Object) and _are_objects(run, plan, [*ours, *theirs]):
        return columns_of(run, plan, ours, theirs)
    return [_lists(run, plan, ours, theirs) if isinstance(plan, Array) else _whole(run, plan, ours, theirs)]


def _are_objects(run: ScoringContext, obj: Object, values: Sequence[Value]) -> bool:
    """Whether each value is an object whose properties say all, or is not there.

    Under struct-extract-eval a key that the schema does not have counts only where the other side has an object.
    """
    some: list[Any] = [value for value in values if is_present(value)]
    if not all(type(value) is dict and value for value in some):
        return False
    return not run.empty_is_free or all(map(obj.names.issuperset, some))


def _lists(run: ScoringContext, array: Array, gold: Sequence[Value], extracted: Sequence[Value]) -> Column:
    """Return the lists of a property, with their contents where each is scored leaf by leaf."""
    try:
        contents = contents_of(run, array, gold, gold=True), contents_of(run, array, extracted, gold=False)
    except IrregularError:
        return Column(gold=gold, extracted=extracted, pair=pair_score(run, array))
    return Column(gold=gold, extracted=extracted, pair=pair_score(run, array, ruled=False), contents=contents)


def _values(rows: Sequence[Json], name: str) -> list[Value]:
    return [row.get(name, MISSING) if type(row) is dict else MISSING for row in rows]


def leaf_column(run: ScoringContext, check: FieldMetric, gold: Sequence[Value], extracted: Sequence[Value]) -> Column:
    """Return one field of all rows as best fit wants it: transformed, by likeness where a judge would be asked."""
    metric = check.metric if check.likeness is None else check.likeness
    if check.transform is not None:
        gold = [transformed(check, value, MISSING)[0][0] for value in gold]
        extracted = [transformed(check, MISSING, value)[0][1] for value in extracted]
    if run.absent:
        gold = [MISSING if value is None else value for value in gold]
        extracted = [MISSING if value is None else value for value in extracted]
    return Column(gold=gold, extracted=extracted, weight=check.weight, metric=metric)


def _no_objects(run: ScoringContext, gold: Sequence[Json], extracted: Sequence[Json]) -> Column:
    """Return the rows that are no objects as a column of their own: right only against an equal one."""
    sides = [
        [row if is_present(row) and type(row) is not dict else MISSING for row in rows] for rows in (gold, extracted)
    ]
    return Column(gold=sides[0], extracted=sides[1], metric=_equality(run))


def _equality(run: ScoringContext) -> BoundMetric:
    def compare(one: Json, other: Json) -> float:
        return 1.0 if equal(run, one, other) else 0.0

    return BoundMetric(
        name=STRUCTURE, compare=compare, key=None if run.empty_is_free else equality.same_key, detour=0.0
    )


def _undeclared(run: ScoringContext, items: Object, gold: Sequence[Json], extracted: Sequence[Json]) -> list[Column]:
    """Return the keys that the schema does not declare as columns, or as one where there are many or have a plan."""
    sides = [[_rest(row, items) for row in rows] for rows in (gold, extracted)]
    names = {name: None for side in sides for rest in side if rest is not MISSING for name in rest}
    if not names:
        return []
    if items.other is None and not items.patterns and len(names) <= MOST_UNDECLARED:
        metric = _equality(run)
        lists = [[[_known(rest, name) for rest in side] for side in sides] for name in names]
        return [Column(gold=ours, extracted=theirs, metric=metric) for ours, theirs in lists]
    rest = Object(
        pattern=items.pattern, entries=(), properties=(), names=frozenset(), places=FlatPaths(()),
        patterns=items.patterns, other=items.other, extra="compare", field=False,
    )  # fmt: skip
    return [Column(gold=sides[0], extracted=sides[1], pair=pair_score(run, rest))]


def _rest(row: Json, items: Object) -> Value:
    if type(row) is not dict or row.keys() <= items.names:
        return MISSING
    return {name: value for name, value in row.items() if name not in items.names}


def _known(rest: Value, name: str) -> Value:
    value = MISSING if rest is MISSING else rest.get(name)
    return MISSING if value is None else value


def _invented(run: ScoringContext, items: Object, gold: Sequence[Json], extracted: Sequence[Json]) -> list[Column]:
    """Return the keys that the schema does not have as columns: of rows that have as many, all of them weigh as one."""
    counts = [len(row.keys() - items.names) if type(row) is dict else 0 for row in extracted]
    none, metric = [MISSING] * len(gold), _equality(run)
    return [
        Column(
            gold=none,
            extracted=[True if own == count else MISSING for own in counts],
            weight=float(count),
            metric=metric,
        )
        for count in sorted({*counts} - {0})
    ]


def pair_score(run: ScoringContext, plan: Node, *, ruled: bool = True) -> Callable[[Value, Value], PairScore]:
    """Return the function that scores a pair of values of this plan, one of which may be missing."""

    def score(gold: Value, extracted: Value) -> PairScore:
        if gold is MISSING and extracted is MISSING:
            return PairScore(0.0, 0.0, 0.0, 0.0)
        if run.depth >= DEEPEST_TRIAL:
            same = equality.same(gold, extracted)
            return PairScore(1.0 if same else 0.0, 1.0, 0.0, 0.0)
        sub = run.sub(ruled=ruled)
        if run.empty_is_free and extracted is MISSING:
            score_missing(sub, plan, gold, OMISSION, (), None)
        elif run.empty_is_free and gold is MISSING:
            score_missing(sub, plan, extracted, HALLUCINATION, (), None)
        else:
            sub.walk(plan, gold, extracted, (), None)
        finish_batches(sub)
        return sums(sub.leaves)[0]

    return score


def sums(kept: Iterable[Kept]) -> tuple[PairScore, list[float]]:
    """Return the weighted sums over leaves, and the weights of undecided ones, which do not count, as skipped ones."""
    score = compared = omitted = hallucinated = 0.0
    undecided: list[float] = []
    for one in kept:
        for leaf in (one,) if isinstance(one, FieldResult) else weights_or_results(one):
            if not isinstance(leaf, FieldResult):
                score += leaf
                compared += leaf
            elif (status := leaf.status) is MATCH or status is MISMATCH:
                score += leaf.weight * leaf.score
                compared += leaf.weight
            elif status is OMISSION:
                omitted += leaf.weight
            elif status is HALLUCINATION:
                hallucinated += leaf.weight
            elif status is JUDGE_ERROR:
                undecided.append(leaf.weight)
    return _new(PairScore, (score, compared, omitted, hallucinated)), undecided


def row_fit(run: ScoringContext, array: Array, kept: Iterable[Kept]) -> RowFit:
    """Return how well the pair of rows that gave these leaves fits."""
    found, undecided = sums(kept)
    score = objective_score(run.program.semantics.pair_objective, found)
    apart = not undecided and score == 0.0 and array.align.mode in ("best_fit", "multiset")
    weight = found.compared + found.omitted + found.hallucinated + sum(undecided)
    return score, (weight - found.score) / weight if weight else 0.0, apart
