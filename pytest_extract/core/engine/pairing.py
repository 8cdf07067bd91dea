"""Decides which rows of two lists belong together, by whatever the plan says."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, Node
from pytest_extract.core.engine.context import NO_ANSWER, NoAnswer, Path, ScoringContext
from pytest_extract.core.engine.leaf import agree, readings, transformed
from pytest_extract.core.engine.pairs import columns_of, leaf_column, single_check, table_columns
from pytest_extract.core.engine.quick_fit import MOST_SCORES, fit_small_table
from pytest_extract.core.engine.table import Table
from pytest_extract.core.engine.whole import Undecided
from pytest_extract.core.matching.assignment import best_assignment
from pytest_extract.core.matching.fit import best_fit
from pytest_extract.core.matching.pairing import by_first_key, by_key, by_position, multiset, paired
from pytest_extract.core.metrics import equality
from pytest_extract.core.results import Alignment, Pairing, Question
from pytest_extract.core.values import MISSING, FieldPath, Json


def pair_rows(
    run: ScoringContext, array: Array, gold: list[Json], extracted: list[Json], table: Table | None, path: Path
) -> Pairing | Undecided:
    """Pair the rows of two lists as the array's plan says; `table`: the rows laid out, where they are flat objects."""
    match array.align.mode:
        case "position":
            return by_position(len(gold), len(extracted))
        case "key":
            return _by_key(run, array, gold, extracted)
        case "multiset":
            found = _by_value(run, array, gold, extracted)
            return _by_reading(run, array.items, extracted, found, path) if run.accept else found
        case "custom":
            return _custom(array, gold, extracted)
        case "judge" if not run.depth:
            return _by_judge(run, array, gold, extracted, path)
        case "judge" | "best_fit":
            return _best_fit(run, array, gold, extracted, table)


def _best_fit(
    run: ScoringContext, array: Array, gold: list[Json], extracted: list[Json], table: Table | None
) -> Pairing:
    few, by_mean = len(gold) * len(extracted) <= MOST_SCORES, not run.f1 and run.absent
    if table is not None and table.declared is array.items and few and by_mean and None not in table.bulk.likeness:
        return fit_small_table(table)
    columns = table_columns(run, table) if table and table.full else columns_of(run, array.items, gold, extracted)
    return best_fit(columns, len(gold), len(extracted), objective=run.program.semantics.pair_objective)


def _by_key(run: ScoringContext, array: Array, gold: list[Json], extracted: list[Json]) -> Pairing:
    """Pair by key, and rows of the same key by best fit; under struct-extract-eval the first row of a key counts."""
    names, cutoff = array.align.key, array.align.key_cutoff
    keys = [_key(row, names) for row in gold], [_key(row, names) for row in extracted]
    if cutoff is None and run.program.semantics.repeated_keys == "first":
        return by_first_key(*keys)

    def fit(rows: Sequence[int], columns: Sequence[int]) -> Pairing:
        # sorted by what they hold, so that their order decides no tie
        ours = sorted(rows, key=lambda row: equality.json_text(gold[row]))
        theirs = sorted(columns, key=lambda column: equality.json_text(extracted[column]))
        found = _best_fit(run, array, [gold[row] for row in ours], [extracted[column] for column in theirs], None)
        return Pairing(
            tuple((ours[i], theirs[j]) for i, j in found.pairs),
            tuple(ours[i] for i in found.missing),
            tuple(theirs[j] for j in found.extra),
        )

    return by_key(*keys, fit, cutoff=cutoff)


def _key(row: Json, names: Sequence[str]) -> Hashable | None:
    """Return what names a row; None where the row is no object or a part is no text or number."""
    if type(row) is not dict:
        return None
    parts = tuple(row.get(name) for name in names)
    if not all(type(part) in (str, int, float) for part in parts):
        return None
    return parts[0] if len(parts) == 1 else parts


def _by_value(run: ScoringContext, array: Array, gold: list[Json], extracted: list[Json]) -> Pairing:
    """Pair equal values in order; then what a metric that is no equality lets pass, best fits first."""
    check = single_check(array.items) if isinstance(array.items, Leaf) else None
    sides = [gold, extracted]
    if check is not None and check.transform is not None:
        sides = [[transformed(check, value, MISSING)[0][0] for value in rows] for rows in sides]
    if check is not None and check.metric.key is not None and not check.metric.judged:
        return multiset(sides[0], sides[1], check.metric.key)
    same = multiset(sides[0], sides[1])
    if not same.missing or not same.extra:
        return same
    left = [sides[0][i] for i in same.missing], [sides[1][j] for j in same.extra]
    if check is None:  # values of any type: those that their own types find equal
        return _with(same, multiset(*left, equality.text_key).pairs)
    judged = check.metric.judged
    if not judged and _none_passes(check, *left):
        return same
    column = leaf_column(run, check, [gold[i] for i in same.missing], [extracted[j] for j in same.extra])
    close = best_fit([column], len(left[0]), len(left[1]), objective="mean").pairs
    passes = [(i, j) for i, j in close if judged or check.metric.compare(left[0][i], left[1][j]) >= check.threshold]
    return _with(same, passes)


def _none_passes(check: FieldMetric, ours: list[Any], theirs: list[Any]) -> bool:
    """Whether no value passes for one of the other side; False where finding out is dear, or a value is null."""
    if len(ours) * len(theirs) > MOST_SCORES or None in ours or None in theirs:
        return False
    return all(check.metric.compare(one, other) < check.threshold for one in ours for other in theirs)


def _by_reading(run: ScoringContext, items: Node, extracted: list[Json], found: Pairing, path: Path) -> Pairing:
    """Pair what is left with the places whose further right readings it agrees with, as many as can be."""
    check = single_check(items) if isinstance(items, Leaf) else None
    if check is None or not found.missing or not found.extra:
        return found
    allowed = [readings(run, items.pattern, (*path, i)) for i in found.missing]
    fits = [
        [1.0 if any(agree(check, reading, extracted[j]) for reading in own) else 0.0 for j in found.extra]
        for own in allowed
    ]
    return _with(found, [(i, j) for i, j in best_assignment(fits).pairs if fits[i][j]])


def _with(pairing: Pairing, more: Sequence[tuple[int, int]]) -> Pairing:
    """Return a pairing with pairs of what it left over, which are given by their places among that."""
    pairs, missing, extra = pairing
    pairs += tuple((missing[i], extra[j]) for i, j in more)
    return paired(pairs, len(pairing.pairs) + len(missing), len(pairing.pairs) + len(extra))


def _custom(array: Array, gold: list[Json], extracted: list[Json]) -> Pairing | Undecided:
    """Pair by a project's aligner; what raises, or pairs a row twice, breaks the array."""
    if array.align.custom is None:
        return Undecided("no aligner")
    try:
        pairs = [(int(i), int(j)) for i, j in array.align.custom(gold, extracted)]
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        return Undecided(f"the aligner broke: {type(error).__name__}: {error}")
    return _checked(pairs, len(gold), len(extracted)) or Undecided("the aligner paired a row twice, or one not there")


def _checked(pairs: Sequence[tuple[int, int]], height: int, width: int) -> Pairing | None:
    inside = all(0 <= i < height and 0 <= j < width for i, j in pairs)
    once = len({i for i, _ in pairs}) == len(pairs) == len({j for _, j in pairs})
    return paired(pairs, height, width) if inside and once else None


def _by_judge(
    run: ScoringContext, array: Array, gold: list[Json], extracted: list[Json], path: Path
) -> Pairing | Undecided:
    """Pair as the judge says; lists of the same rows in any order need no judge."""
    same = multiset(gold, extracted, equality.json_text)
    if not gold or not extracted or not (same.missing or same.extra):
        return same
    question = Question(
        kind="align",
        path=FieldPath(path),
        gold=gold,
        extracted=extracted,
        instructions=array.align.instructions,
        metrics=array.align.metrics,
        judge=array.align.judge,
        options=array.align.options,
    )
    answer = run.ask(question, "rows")
    if not isinstance(answer, Alignment):
        return Undecided(answer.reason if isinstance(answer, NoAnswer) else NO_ANSWER)
    pairing = _checked([(int(i), int(j)) for i, j in answer.pairs], len(gold), len(extracted))
    return pairing or Undecided("the judge paired a row twice, or one that is not there")
