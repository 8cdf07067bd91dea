"""Scores objects property by property; one side missing, null or of the wrong type included."""

from __future__ import annotations

from typing import Final

from pytest_extract.core.compile.nodes import NO_METRIC, Leaf, Node, Object, RecursiveRef, Skip
from pytest_extract.core.engine.context import DEEPEST, Outcome, Path, ScoringContext, is_present, make_result
from pytest_extract.core.engine.leaf import walk_leaf, walk_skip
from pytest_extract.core.engine.walk import EMPTY, accepted, compare_as_one, score_missing
from pytest_extract.core.metrics import equality
from pytest_extract.core.results import HALLUCINATION, MATCH, MISMATCH, OMISSION
from pytest_extract.core.values import MISSING, FieldPath, Json, Value, Values, property_pattern

_RIGHT: Final[Outcome] = (MATCH, 1.0, None)


def walk_object(  # noqa: C901 - one loop over the properties
    run: ScoringContext, obj: Object, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    """Score the declared properties of an object, then what is not declared."""
    if run.accept and gold is not EMPTY and extracted is not EMPTY:  # EMPTY: it is missing, which no reading excuses
        gold = accepted(run, obj, gold, extracted, path)
    if obj.checks or type(gold) is not dict or type(extracted) is not dict or len(path) > DEEPEST:
        _score_otherwise(run, obj, gold, extracted, path, at)
        return
    if run.empty_is_free and not gold and not extracted:
        run.shape(obj, MATCH, (gold, extracted), path, at)
        return
    is_nothing_plain = not (run.accept or run.both_passed or run.empty_is_free)
    for name, node, named, fast in obj.entries:
        ours, theirs = gold.get(name, MISSING), extracted.get(name, MISSING)
        if is_nothing_plain and named is not NO_METRIC and ours is MISSING and theirs is MISSING:
            run.vacuous += 1  # wide schemas leave most of their properties out
            continue
        below, where, kind = FieldPath((*path, name)), None if at is None else FieldPath((*at, name)), type(ours)
        if kind in fast and kind is type(theirs) and ours == theirs and (ours or kind is not float):  # 0.0 is not -0.0
            run.keep(make_result(node, named, _RIGHT, (ours, theirs), below, where), obj)
        elif run.empty_is_free and (ours is MISSING or theirs is MISSING):
            _score_missing_property(run, node, ours, theirs, below, where)
        else:
            run.walk(node, ours, theirs, below, where)
    if obj.groups:
        from pytest_extract.core.engine.batch import score_groups

        score_groups(run, obj, gold, extracted)
    if obj.extra != "ignore":
        names = obj.names
        if not names.issuperset(extracted) or not (run.empty_is_free or names.issuperset(gold)):
            _score_undeclared(run, obj, gold, extracted, path, at)
        elif run.both_passed and obj.other is not None and not isinstance(obj.other, RecursiveRef):
            run.walk(obj.other, MISSING, MISSING, (*path, "*"), None)


def _score_missing_property(
    run: ScoringContext, node: Node, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    """Score a property that is missing on a side, under struct-extract-eval."""
    if node.skipped:
        skip = node if isinstance(node, Skip) else Skip(pattern=node.pattern, field=node.field, always=True)
        walk_skip(run, skip, gold, extracted, path, at)
    elif extracted is not MISSING:
        score_missing(run, node, extracted, HALLUCINATION, path, at)
    elif gold is not MISSING:
        score_missing(run, node, gold, OMISSION, path, at)


def _score_undeclared(
    run: ScoringContext, obj: Object, gold: dict[str, Json], extracted: dict[str, Json], path: Path, at: Path | None
) -> None:
    """Score the keys that are no declared properties, sorted by name."""
    names = set(extracted) if obj.extra == "hallucinate" else {*gold, *extracted}
    for name in sorted(names - obj.names):
        place, where = (*path, name), None if at is None else (*at, name)
        if obj.extra == "hallucinate":
            leaf = Leaf(pattern=property_pattern(obj.pattern, name), field=obj.field)
            values = (MISSING, extracted[name])
            run.shape(leaf, HALLUCINATION, values, place, where, "the schema has no such key")
            continue
        node = next((child for regex, child in obj.patterns if regex.search(name)), obj.other)
        ours, theirs = gold.get(name, MISSING), extracted.get(name, MISSING)
        if node is None:
            _score_unknown(run, obj, name, (ours, theirs), place, where)
        else:
            run.walk(node, ours, theirs, place, where)


def _score_unknown(run: ScoringContext, obj: Object, name: str, values: Values, path: Path, at: Path | None) -> None:
    """Score a key of which the schema says nothing: against gold's value where gold has it, else as invented."""
    gold, extracted = values
    leaf = Leaf(pattern=property_pattern(obj.pattern, name), field=obj.field)
    if not (is_present(gold) or is_present(extracted)):
        run.vacuous += 1
    elif not is_present(gold):
        run.shape(leaf, HALLUCINATION, values, path, at, "neither the schema nor gold has such a key")
    elif not is_present(extracted):
        run.shape(leaf, OMISSION, values, path, at, "extracted is missing")
    elif equality.same(gold, extracted):
        run.shape(leaf, MATCH, values, path, at)
    else:
        run.shape(leaf, MISMATCH, values, path, at, "values differ, under a key that the schema does not have")


def _score_otherwise(
    run: ScoringContext, obj: Object, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    """Score what is not two objects alone: too deep, metrics on the object itself, absence, other types."""
    if type(gold) is dict and type(extracted) is dict and len(path) > DEEPEST:
        status, _ = compare_as_one(run, "an object", gold, extracted)
        reason = f"nested more than {DEEPEST} steps deep: compared as one value"
        run.shape(obj, status, (gold, extracted), path, at, reason)
    elif obj.checks:
        walk_leaf(run, Leaf(pattern=obj.pattern, checks=obj.checks, field=obj.field), gold, extracted, path, at)
        if obj.descend:  # no judge has looked at its properties
            walk_object(run, obj._replace(checks=()), gold, extracted, path, at)
    elif is_present(gold) and is_present(extracted):
        status, reason = compare_as_one(run, "an object", gold, extracted)
        run.shape(obj, status, (gold, extracted), path, at, reason)
    elif is_present(gold) or is_present(extracted):
        value, other, status = (gold, extracted, OMISSION) if is_present(gold) else (extracted, gold, HALLUCINATION)
        if run.empty_is_free and type(value) is not dict:
            values = (value, None) if status is OMISSION else (None, value)
            run.shape(obj, status, values, path, at, "the other side is null")
        else:
            score_missing(run, obj, value, status, path, at, null=other is None)
    elif run.both_passed:
        _score_absent_properties(run, obj, path, at)
    elif not run.empty_is_free:
        run.vacuous += 1


def _score_absent_properties(run: ScoringContext, obj: Object, path: Path, at: Path | None) -> None:
    """Score the properties of an object that neither side has; a recursive place ends it."""
    for entry in obj.entries:
        if not isinstance(entry.node, RecursiveRef):
            run.walk(entry.node, MISSING, MISSING, (*path, entry.name), None if at is None else (*at, entry.name))
    if obj.other is not None and not isinstance(obj.other, RecursiveRef):
        run.walk(obj.other, MISSING, MISSING, (*path, "*"), None)
