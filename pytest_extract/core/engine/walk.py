"""Walks a compiled schema with gold and an output: results, pairings, and the questions that are still open.

Pure and total: one side may be missing, null or of the wrong type, at any place.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from math import fsum
from typing import Any, Final, NamedTuple

from pytest_extract.core.arguments import json_argument
from pytest_extract.core.compile.nodes import Array, ArrayMetric, Leaf, Node, Object, Program, RecursiveRef, Skip, Union
from pytest_extract.core.engine.context import (
    CaseRules,
    Known,
    OpenArray,
    Outcome,
    Path,
    ScoringContext,
    agreed_absence,
    branch_of,
    is_present,
    make_result,
    node_for,
)
from pytest_extract.core.engine.leaf import (
    finish_batches,
    one_sided,
    readings,
    score_groups,
    transformed,
    walk_leaf,
    walk_skip,
)
from pytest_extract.core.engine.pairing import pair_rows, paired
from pytest_extract.core.results import STRUCTURE, ArrayResult, FieldResult, Question, Status
from pytest_extract.core.values import MISSING, FieldPath, Json, Step, Value, Values, a_type, as_place, path_below, same

EMPTY: Final[dict[str, Json]] = {}


def score_missing(run: ScoringContext, node: Node, value: Json, status: Status, path: Path, at: Path | None) -> None:
    """Score what stands on one side only."""
    gold, extracted = (value, MISSING) if status is Status.OMISSION else (MISSING, value)
    if isinstance(node, RecursiveRef):
        node = node.node
    if isinstance(node, Union):
        node = branch_of(run.fits, node, value)
    if run.empty_is_free:
        if not node.skipped:
            _score_missing_published(run, node, value, status, path, at)
        return
    if not isinstance(node, Object):
        walk(run, node, gold, extracted, path, at)
    elif type(value) is not dict or (not value and not run.both_passed):
        side = "extracted" if status is Status.OMISSION else "gold"
        kind = "" if type(value) is dict else f", and the other side is {a_type(value)}, not an object"
        run.shape(node, status, (gold, extracted), path, at, f"{side} has nothing here{kind}")
    else:
        ours, theirs = (value, EMPTY) if status is Status.OMISSION else (EMPTY, value)
        walk(run, node._replace(checks=()) if node.checks else node, ours, theirs, path, at)


def _score_missing_published(
    run: ScoringContext, node: Node, value: Json, status: Status, path: Path, at: Path | None
) -> None:
    """Score a one-sided subtree as struct-extract-eval does: declared keys that are there, each row of a list."""
    values = (value, MISSING) if status is Status.OMISSION else (MISSING, value)
    if isinstance(node, Leaf) and node.structure is not None:
        _score_missing_published(run, node.structure, value, status, path, at)
    elif isinstance(node, Leaf):
        for check in node.checks:
            outcome = one_sided(run, node, status, values, path)
            run.keep(make_result(node, check.named, outcome, values, path, at), node)
    elif isinstance(node, Object) and type(value) is dict:
        for name, inner in node.properties.items():
            if name in value:
                score_missing(run, inner, value[name], status, (*path, name), None if at is None else (*at, name))
    elif isinstance(node, Array) and (type(value) is not list or not value):
        run.shape(node, status, values, path, at)
    elif isinstance(node, Array):
        for index, row in enumerate(value):
            own = index if status is Status.OMISSION else -index - 1
            score_missing(run, node.items, row, status, (*path, own), None if at is None else (*at, index))


def walk_choice(
    run: ScoringContext, choice: Union | RecursiveRef, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    """Score the branch that fits gold (what was extracted, where gold has nothing)."""
    value = gold if is_present(gold) else extracted
    if is_present(value):
        walk(run, node_for(run, choice, value), gold, extracted, path, at)
    elif isinstance(choice, Union):  # nothing on either side: agreement on absence counts once, not once a branch
        if run.both_passed and choice.field:
            walk(run, choice.branches[0][1], gold, extracted, path, at)
        elif not (run.empty_is_free and gold is MISSING and extracted is MISSING):
            run.vacuous.append(path)


def accepted(run: ScoringContext, node: Node, gold: Value, extracted: Value, path: Path) -> Value:
    """Return the accepted reading that a container equals, else gold."""
    # where null is absent, so are a missing key and a list of nothing
    is_absent = run.absent and (extracted is MISSING or extracted in (None, []))
    right = any(
        same(reading, extracted) or (is_absent and reading in (None, []))
        for reading in readings(run, node.pattern, path)
    )
    return extracted if right else gold


def compare_as_one(run: ScoringContext, wanted: str, gold: Json, extracted: Json) -> tuple[Status, str]:
    """Compare what stands in the place of a container; say that it is none, and which side's is of another kind."""
    if same(gold, extracted) or (run.empty_is_free and gold == extracted):
        return Status.MATCH, f"not {wanted}, but equal to gold"
    kinds = a_type(gold), a_type(extracted)
    if kinds[0] == wanted:
        return Status.MISMATCH, f"expected {wanted}, got {kinds[1]}"
    return Status.MISMATCH, f"expected {wanted}; gold is {kinds[0]}, extracted {kinds[1]}"


def walk_object(run: ScoringContext, obj: Object, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score the declared properties of an object, then what is not declared."""
    if run.accept and gold is not EMPTY and extracted is not EMPTY:  # EMPTY: it is missing, which no reading excuses
        gold = accepted(run, obj, gold, extracted, path)
    if obj.checks or type(gold) is not dict or type(extracted) is not dict:
        _score_otherwise(run, obj, gold, extracted, path, at)
        return
    if run.empty_is_free and not gold and not extracted:
        run.shape(obj, Status.MATCH, (gold, extracted), path, at)
        return
    waited = len(run.pending)
    for name, node in obj.properties.items():
        ours, theirs = gold.get(name, MISSING), extracted.get(name, MISSING)
        walk(run, node, ours, theirs, FieldPath((*path, name)), None if at is None else FieldPath((*at, name)))
    if obj.groups:
        score_groups(run, obj, gold, extracted, waited)
    if obj.extra != "ignore":
        known = obj.properties.keys()
        if not known >= extracted.keys() or not (run.empty_is_free or known >= gold.keys()):
            _score_undeclared(run, obj, gold, extracted, path, at)
        elif run.both_passed and obj.other is not None and not isinstance(obj.other, RecursiveRef):
            walk(run, obj.other, MISSING, MISSING, (*path, "*"), None)


def walk(run: ScoringContext, node: Node, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score one place; a missing side is scored as struct-extract-eval does where that is asked for."""
    if not run.empty_is_free or (gold is not MISSING and extracted is not MISSING):
        _WALKERS[type(node)](run, node, gold, extracted, path, at)
    elif node.skipped:
        skip = node if isinstance(node, Skip) else Skip(pattern=node.pattern, field=node.field, always=True)
        walk_skip(run, skip, gold, extracted, path, at)
    elif extracted is not MISSING:
        score_missing(run, node, extracted, Status.HALLUCINATION, path, at)
    elif gold is not MISSING:
        score_missing(run, node, gold, Status.OMISSION, path, at)


def _score_undeclared(
    run: ScoringContext, obj: Object, gold: dict[str, Json], extracted: dict[str, Json], path: Path, at: Path | None
) -> None:
    """Score the keys that are no declared properties, sorted by name."""
    names = set(extracted) if obj.extra == "hallucinate" else {*gold, *extracted}
    for name in sorted(names - obj.properties.keys()):
        place, where = (*path, name), None if at is None else (*at, name)
        ours, theirs = gold.get(name, MISSING), extracted.get(name, MISSING)
        node = obj.node_of(name)
        if obj.extra == "hallucinate":
            ours, status, reason = MISSING, Status.HALLUCINATION, "the schema has no such key"
        elif node is not None:
            walk(run, node, ours, theirs, place, where)
            continue
        elif not (is_present(ours) or is_present(theirs)):
            run.vacuous.append(path)
            continue
        elif not is_present(ours):
            status, reason = Status.HALLUCINATION, "neither the schema nor gold has such a key"
        elif not is_present(theirs):
            status, reason = Status.OMISSION, "extracted is missing"
        elif same(ours, theirs):
            status, reason = Status.MATCH, None
        else:
            status, reason = Status.MISMATCH, "values differ, under a key that the schema does not have"
        leaf = Leaf(pattern=path_below(obj.pattern, name), field=obj.field)
        run.shape(leaf, status, (ours, theirs), place, where, reason)


def _score_otherwise(
    run: ScoringContext, obj: Object, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    """Score what is not two objects alone: metrics on the object itself, absence, other types."""
    if obj.checks:
        walk_leaf(run, Leaf(pattern=obj.pattern, checks=obj.checks, field=obj.field), gold, extracted, path, at)
        if obj.descend:  # no judge has looked at its properties
            walk_object(run, obj._replace(checks=()), gold, extracted, path, at)
    elif is_present(gold) and is_present(extracted):
        status, reason = compare_as_one(run, "an object", gold, extracted)
        run.shape(obj, status, (gold, extracted), path, at, reason)
    elif is_present(gold) or is_present(extracted):
        value, status = (gold, Status.OMISSION) if is_present(gold) else (extracted, Status.HALLUCINATION)
        if run.empty_is_free and type(value) is not dict:
            run.shape(obj, status, (gold, extracted), path, at, "the other side is null")
        else:
            score_missing(run, obj, value, status, path, at)
    elif run.both_passed:
        walk_object(run, obj, EMPTY, EMPTY, path, at)
    elif not run.empty_is_free:
        run.vacuous.append(path)


class _Place(NamedTuple):
    """An array that is scored: what gold and the output have there, of whatever type, and where that is."""

    run: ScoringContext
    array: Array
    gold: Json
    extracted: Json
    path: Path
    at: Path | None

    def keep_result(self, status: Status, score: float, reason: str | None = None) -> None:
        """Keep the array's field result, where the semantics give one and the array stands outside others."""
        run, array, gold, extracted, path, at = self
        if array.result is not None and array.field:
            result = make_result(array, array.result.named, (status, score, reason), (gold, extracted), path, at)
            run.fields.append(result)

    def keep_shape(self, status: Status, reason: str | None = None) -> None:
        """Keep a leaf result about what stands in the array's place: a field result too where the array has no own."""
        array = self.array if self.array.result is None else self.array._replace(field=False)
        self.run.shape(array, status, (self.gold, self.extracted), self.path, self.at, reason)


def walk_array(run: ScoringContext, array: Array, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score an array, whatever stands in its place."""
    if run.accept:
        gold = accepted(run, array, gold, extracted, path)
    place = _Place(run, array, gold, extracted, path, at)
    if array.checks:
        whole = Leaf(pattern=array.pattern, checks=array.checks, field=array.field, empty_absent=array.empty_absent)
        walk_leaf(run, whole, gold, extracted, path, at)
    if array.wrap and is_present(gold) and is_present(extracted):
        single = type(gold) is not list and type(extracted) is not list
        if single and run.wrapped is not None and run.wrapped == path[:-1]:
            _score_as_one(place)  # a row that is no list, and may be one in turn
        else:
            outer, run.wrapped = run.wrapped, path if single else None
            ours, theirs = (value if type(value) is list else [value] for value in (gold, extracted))
            _score_rows(place._replace(gold=ours, extracted=theirs))
            run.wrapped = outer
    elif _is_absent(array, gold) or _is_absent(array, extracted):
        _score_absent(place)
    elif type(gold) is not list or type(extracted) is not list:
        _score_as_one(place)
    elif not gold and not extracted and run.empty_is_free:
        place.keep_shape(Status.MATCH)
    else:
        _score_rows(place)


def _is_absent(array: Array, value: Value) -> bool:
    return value is MISSING or value is None or (array.empty_absent and type(value) is list and not value)


def _score_absent(place: _Place) -> None:
    """Score an array that at least one side does not have."""
    run, array, gold, extracted, path, at = place
    no_gold = _is_absent(array, gold)
    if no_gold and _is_absent(array, extracted):
        if not run.empty_is_free:
            run.vacuous.append(path)
        if run.both_passed:
            place.keep_result(Status.MATCH, 1.0, agreed_absence(gold, extracted))
        return
    value, status = (extracted, Status.HALLUCINATION) if no_gold else (gold, Status.OMISSION)
    status, score, reason = one_sided(run, array, status, (gold, extracted), path)
    place.keep_result(status, score, reason)
    if status is Status.SKIPPED:
        return
    if type(value) is list and run.empty_is_free:
        score_missing(run, array, value, status, path, at)
    elif type(value) is list and value:
        _score_left_over(place, range(len(value)), status)
    else:
        place.keep_shape(status, reason)


def _score_as_one(place: _Place) -> None:
    """Score what stands in an array's place as one value: it is not a list on both sides."""
    status, reason = compare_as_one(place.run, "an array", place.gold, place.extracted)
    place.keep_result(status, float(status is Status.MATCH), reason)
    place.keep_shape(status, reason)


def _score_rows(place: _Place) -> None:
    """Pair the rows of two lists and score them; pairs that turn out to have nothing in common are taken back."""
    run, array, gold, extracted, path, at = place
    pairing = pair_rows(run, array, gold, extracted, path)
    if isinstance(pairing, str):
        place.keep_result(Status.JUDGE_ERROR, 0.0, pairing)
        place.keep_shape(Status.JUDGE_ERROR, pairing)
        return
    base, first = path if at is None else at, len(run.leaves)
    kept: list[tuple[int, int]] = []
    for i, j in pairing.pairs:
        mark, start = run.mark(), len(run.leaves)
        walk(run, array.row(i), gold[i], extracted[j], (*path, i), None if i == j and at is None else (*base, j))
        fit = run.fit(run.leaves[start:])
        if array.align.mode in ("best_fit", "multiset") and fit.share == 0.0 and not fit.undecided:
            run.rollback(mark)
        else:
            kept.append((i, j))
    if len(kept) < len(pairing.pairs):
        pairing = paired(kept, len(gold), len(extracted))
    _score_left_over(place, pairing.missing, Status.OMISSION)
    _score_left_over(place, pairing.extra, Status.HALLUCINATION)
    if not run.depth:  # its numbers, and its own result, are worked out at the end
        field = len(run.fields) if array.result is not None and array.field else None
        run.arrays.append(OpenArray(array, path, pairing, field, slice(first, len(run.leaves))))
        place.keep_result(Status.JUDGE_ERROR, 0.0)


def _score_left_over(place: _Place, indices: Sequence[int], status: Status) -> None:
    """Score rows without a partner; invented ones stand at -1, -2, ... in their order."""
    run, array, gold, extracted, path, at = place
    base = path if at is None else at
    for number, index in enumerate(indices):
        if status is Status.OMISSION:
            score_missing(run, array.row(index), gold[index], status, (*path, index), None)
        else:
            step = -number - 1
            score_missing(run, array.row(index), extracted[index], status, (*path, step), (*base, index))


# --- numbers and the array's own result


def finish_arrays(run: ScoringContext) -> tuple[ArrayResult, ...]:
    """Return the numbers of all arrays; work out the own results of those that have one."""
    arrays = []
    for one in run.arrays:
        depth, (pairs, missing, extra) = len(one.path), one.pairing
        height, width = len(pairs) + len(missing), len(pairs) + len(extra)
        rows: dict[Step, list[FieldResult]] = {row: [] for row, _ in pairs}
        for leaf in run.leaves[one.leaves]:
            if len(leaf.path) > depth and leaf.path[depth] in rows:
                rows[leaf.path[depth]].append(leaf)
        total = fsum(run.fit(leaves).share for leaves in rows.values())
        precision, recall = total / width if width else 1.0, total / height if height else 1.0
        f1 = 2 * total / (height + width) if height + width else 1.0
        found = ArrayResult(as_place(one.path), pairs, missing, extra, precision, recall, f1)
        arrays.append(found)
        if one.field is not None and one.array.result is not None:
            status, score, reason = _result_of(run, one.array.result, found, [*rows.values()])
            run.fields[one.field] = run.fields[one.field]._replace(
                status=status, score=score, passed=status is Status.MATCH, reason=reason
            )
    return tuple(arrays)


def _result_of(
    run: ScoringContext, result: ArrayMetric, found: ArrayResult, rows: Sequence[Sequence[FieldResult]]
) -> Outcome:
    """Return an array's own result: the F1 of its rows, or the share of gold's rows that are right in every leaf."""
    height, width = (len(found.pairs) + len(left) for left in (found.missing, found.extra))
    left = f"{len(found.missing)} missing, {len(found.extra)} invented"
    if result.number == "f1":
        fits = [run.fit(leaves) for leaves in rows]
        score, total = found.f1, fsum(fit.share for fit in fits)
        at_best = fsum((fit.score + fit.undecided) / fit.weight if fit.weight else 1.0 for fit in fits)
        depends = score < result.threshold <= (2 * at_best / (height + width) if height + width else 1.0)
        still_open = sum(fit.undecided > 0 for fit in fits) if depends else 0
        reason = f"{len(rows)} rows paired (their scores add up to {total:.4g}), {left}"
    else:
        flaws = [{leaf.status for leaf in leaves if not leaf.passed} - {Status.SKIPPED} for leaves in rows]
        right, still_open = flaws.count(set()), flaws.count({Status.JUDGE_ERROR})
        # two empty lists are equal; only the published metric, by its own rule for null, recalls nothing then
        published = run.absent and result.named[0] != "array"
        score = 1.0 if not height and not width and not published else right / max(1, height)
        reason = f"{right} of {height} gold rows are right in every field; {len(rows)} rows paired, {left}"
    if still_open:
        return Status.JUDGE_ERROR, 0.0, f"{still_open} pairs have undecided fields; {reason}"
    return Status.MATCH if score >= result.threshold else Status.MISMATCH, score, reason if score < 1.0 else None


_WALKERS: Final[Mapping[type, Any]] = {
    Leaf: walk_leaf,
    Skip: walk_skip,
    Object: walk_object,
    Array: walk_array,
    Union: walk_choice,
    RecursiveRef: walk_choice,
}


class Scored(NamedTuple):
    """What one walk found.

    `fields` and `leaves`: what was compared; `arrays`: how rows were paired; `questions`: what a judge is still to
    answer, by key; `vacuous`: places where both sides agree only on having nothing.
    """

    fields: tuple[FieldResult, ...]
    leaves: tuple[FieldResult, ...]
    arrays: tuple[ArrayResult, ...]
    questions: Mapping[str, Question]
    vacuous: int


def score_values(
    program: Program, gold: Value, extracted: Value, answers: Known, rules: CaseRules, unanswered: str
) -> Scored:
    """Score one extracted value against gold; `answers` maps `Question.key` to what the judge said.

    `unanswered`: why a question has no answer that is not among them.
    """
    run = ScoringContext(program, walk, answers, rules, unanswered)
    walk(run, program.root, gold, extracted, (), None)
    finish_batches(run)
    arrays = finish_arrays(run)
    fields, leaves = tuple(run.fields), tuple(run.leaves)
    if program.post_processors:
        fields, leaves = post_process(program, fields, leaves)
    return Scored(fields, leaves, arrays, run.questions, len(run.vacuous))


def post_process(
    program: Program, fields: tuple[FieldResult, ...], leaves: tuple[FieldResult, ...]
) -> tuple[tuple[FieldResult, ...], tuple[FieldResult, ...]]:
    """Return field and leaf results as the post-processors leave them; field results that are leaves follow.

    One that raises, or gives other than a result for each, breaks all of the fields.
    """

    def values_as_compared(result: FieldResult) -> Values:
        if result.metric == STRUCTURE:
            return MISSING, MISSING
        node = program.patterns.get(result.pattern)
        metrics = node.checks if isinstance(node, Leaf) else ()
        check = next((check for check in metrics if check.metric.name == result.metric), None)
        values = result.gold, result.extracted
        return values if check is None else transformed(check, *values)[0]

    changed: Sequence[FieldResult] = leaves
    for spec, params in program.post_processors:
        try:
            given = {id(value) for result in changed for value in (result.gold, result.extracted)}
            found = [_checked_result(result, given) for result in spec.process(changed, params, values_as_compared)]
            problem = "" if len(found) == len(changed) else f"it gave {len(found)} results for {len(changed)}"
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            found, problem = [], f"{type(error).__name__}: {error}"
        if problem:
            reason = f"the post-processor {spec.name!r} broke: {problem}"
            broken: dict[str, Any] = {"status": Status.JUDGE_ERROR, "score": 0.0, "passed": False, "reason": reason}
            found = [each if each.status is Status.SKIPPED else each._replace(**broken) for each in changed]
        changed = found
    by_id = {id(old): new for old, new in zip(leaves, changed, strict=True)}
    return tuple(by_id.get(id(field), field) for field in fields), tuple(changed)


def _checked_result(result: FieldResult, given: Container[int]) -> FieldResult:
    """Refuse what is no result, and values that are no JSON but for those `given`, by their ids."""
    if not isinstance(result, FieldResult):
        raise TypeError(f"{result!r} is no FieldResult")
    if isinstance(result.score, bool) or not 0.0 <= result.score <= 1.0:
        raise ValueError(f"the score of {result.path} is {result.score!r}, not a number from 0 to 1")
    if not isinstance(result.reason, str | None):
        raise TypeError(f"the reason of {result.path} is of type {type(result.reason).__name__}, not a text")
    for value in (result.gold, result.extracted):
        if id(value) not in given:
            json_argument(str(result.path), value)
    return result._replace(status=Status(result.status), passed=bool(result.passed))
