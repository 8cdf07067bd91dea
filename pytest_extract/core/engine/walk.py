"""Walks objects, choices and recursive places; one side missing, null or of the wrong type included."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object, RecursiveRef, Skip, Union
from pytest_extract.core.engine.context import DEEPEST, Path, ScoringContext, equal, is_present
from pytest_extract.core.engine.leaf import one_sided, readings, score_groups, walk_leaf, walk_skip
from pytest_extract.core.metrics import equality
from pytest_extract.core.results import HALLUCINATION, MATCH, MISMATCH, OMISSION, Status
from pytest_extract.core.schema.tree import SchemaNode, type_fits
from pytest_extract.core.values import MISSING, FieldPath, Json, Value, path_below

EMPTY: Final[dict[str, Json]] = {}


def score_missing(
    run: ScoringContext, node: Node, value: Json, status: Status, path: Path, at: Path | None, *, null: bool = False
) -> None:
    """Score what stands on one side only; `null`: the other side is an explicit null, not a missing key."""
    gold, extracted = (value, MISSING) if status is OMISSION else (MISSING, value)
    if len(path) > DEEPEST:
        run.shape(node, status, (gold, extracted), path, at, f"nested more than {DEEPEST} steps deep: counted as one")
        return
    if isinstance(node, RecursiveRef):
        node = node.node()
    if isinstance(node, Union):
        node = branch_of(run.fits, node, value)
    if run.empty_is_free:
        if not node.skipped:
            _score_missing_published(run, node, value, status, path, at)
        return
    if not isinstance(node, Object):
        run.walk(node, gold, extracted, path, at)
    elif type(value) is not dict or (not value and not run.both_passed):
        side = "extracted" if status is OMISSION else "gold"
        kind = "" if type(value) is dict else f", and the other side is {equality.a_type(value)}, not an object"
        run.shape(node, status, (gold, extracted), path, at, f"{side} is {'null' if null else 'missing'}{kind}")
    else:
        ours, theirs = (value, EMPTY) if status is OMISSION else (EMPTY, value)
        run.walk(node._replace(checks=()) if node.checks else node, ours, theirs, path, at)


def _score_missing_published(
    run: ScoringContext, node: Node, value: Json, status: Status, path: Path, at: Path | None
) -> None:
    """Score a one-sided subtree as struct-extract-eval does: declared keys that are there, each row of a list."""
    values = (value, MISSING) if status is OMISSION else (MISSING, value)
    if isinstance(node, Leaf) and node.structure is not None:
        _score_missing_published(run, node.structure, value, status, path, at)
    elif isinstance(node, Leaf):
        for check in node.checks:
            run.emit(one_sided(run, node, check, status, values, path, at), node)
    elif isinstance(node, Object) and type(value) is dict:
        for name, inner in node.properties.items():
            if name in value:
                score_missing(run, inner, value[name], status, (*path, name), None if at is None else (*at, name))
    elif isinstance(node, Array) and (type(value) is not list or not value):
        run.shape(node, status, values, path, at)
    elif isinstance(node, Array):
        for index, row in enumerate(value):
            own = index if status is OMISSION else -index - 1
            score_missing(run, node.items, row, status, (*path, own), None if at is None else (*at, index))


def walk_choice(
    run: ScoringContext, choice: Union | RecursiveRef, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    """Score the branch that fits gold (what was extracted, where gold has nothing)."""
    value = gold if is_present(gold) else extracted
    if is_present(value):
        run.walk(node_for(run, choice, value), gold, extracted, path, at)
    elif isinstance(choice, Union):  # nothing on either side: agreement on absence counts once, not once a branch
        if run.both_passed and choice.field:
            run.walk(choice.branches[0][1], gold, extracted, path, at)
        elif not (run.empty_is_free and gold is MISSING and extracted is MISSING):
            run.vacuous += 1


def node_for(run: ScoringContext, node: Node, value: Json) -> Node:
    """Return the node that scores a gold value at a place, choices and types opened; it is kept by content."""
    while isinstance(node, Union | RecursiveRef):
        if isinstance(node, RecursiveRef):
            node = node.node()
            continue
        key: Hashable = ("branch", id(node), run.content(value))
        if key not in run.known:
            run.known[key] = branch_of(run.fits, node, value)
        node = run.known[key]
    return node.for_value(value) if isinstance(node, Leaf) else node


def branch_of(fits: Callable[[SchemaNode, Json], bool], choice: Union, value: Json) -> Node:
    """Return the first branch that a value fits; failing that, the first of its type; failing that, the first."""
    fitting = (branch for schema, branch in choice.branches if fits(schema, value))
    of_its_type = (branch for schema, branch in choice.branches if type_fits(schema.types, value))
    found = next(fitting, None) or next(of_its_type, None) or choice.branches[0][1]
    return found.node() if isinstance(found, RecursiveRef) else found


def accepted(run: ScoringContext, node: Node, gold: Value, extracted: Value, path: Path) -> Value:
    """Return the accepted reading that a container equals, else gold."""
    right = any(_same(run, reading, extracted) for reading in readings(run, node.pattern, path))
    return extracted if right else gold


def _same(run: ScoringContext, reading: Json, extracted: Value) -> bool:
    """Whether a container equals a reading; where null is absent, so are a missing key and a list of nothing."""
    if equality.same(reading, extracted):
        return True
    return run.absent and reading in (None, []) and (extracted is MISSING or extracted in (None, []))


def compare_as_one(run: ScoringContext, wanted: str, gold: Json, extracted: Json) -> tuple[Status, str]:
    """Compare what stands in the place of a container; say that it is none, and which side's is of another kind."""
    if equal(run, gold, extracted):
        return MATCH, f"not {wanted}, but equal to gold"
    kinds = equality.a_type(gold), equality.a_type(extracted)
    if kinds[0] == wanted:
        return MISMATCH, f"expected {wanted}, got {kinds[1]}"
    return MISMATCH, f"expected {wanted}; gold is {kinds[0]}, extracted {kinds[1]}"


def walk_object(run: ScoringContext, obj: Object, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score the declared properties of an object, then what is not declared."""
    if run.accept and gold is not EMPTY and extracted is not EMPTY:  # EMPTY: it is missing, which no reading excuses
        gold = accepted(run, obj, gold, extracted, path)
    if obj.checks or type(gold) is not dict or type(extracted) is not dict or len(path) > DEEPEST:
        _score_otherwise(run, obj, gold, extracted, path, at)
        return
    if run.empty_is_free and not gold and not extracted:
        run.shape(obj, MATCH, (gold, extracted), path, at)
        return
    waited = len(run.pending)
    for name, node in obj.properties.items():
        ours, theirs = gold.get(name, MISSING), extracted.get(name, MISSING)
        walk_place(run, node, ours, theirs, FieldPath((*path, name)), None if at is None else FieldPath((*at, name)))
    if obj.groups:
        score_groups(run, obj, gold, extracted, waited)
    if obj.extra != "ignore":
        known = obj.properties.keys()
        if not known >= extracted.keys() or not (run.empty_is_free or known >= gold.keys()):
            _score_undeclared(run, obj, gold, extracted, path, at)
        elif run.both_passed and obj.other is not None and not isinstance(obj.other, RecursiveRef):
            run.walk(obj.other, MISSING, MISSING, (*path, "*"), None)


def walk_place(run: ScoringContext, node: Node, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score what stands at a place; a missing side is scored as struct-extract-eval does where that is asked for."""
    if not run.empty_is_free or (gold is not MISSING and extracted is not MISSING):
        run.walk(node, gold, extracted, path, at)
    elif node.skipped:
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
    for name in sorted(names - obj.properties.keys()):
        place, where = (*path, name), None if at is None else (*at, name)
        ours, theirs = gold.get(name, MISSING), extracted.get(name, MISSING)
        node = obj.node_of(name)
        if obj.extra == "hallucinate":
            ours, status, reason = MISSING, HALLUCINATION, "the schema has no such key"
        elif node is not None:
            run.walk(node, ours, theirs, place, where)
            continue
        elif not (is_present(ours) or is_present(theirs)):
            run.vacuous += 1
            continue
        elif not is_present(ours):
            status, reason = HALLUCINATION, "neither the schema nor gold has such a key"
        elif not is_present(theirs):
            status, reason = OMISSION, "extracted is missing"
        elif equality.same(ours, theirs):
            status, reason = MATCH, None
        else:
            status, reason = MISMATCH, "values differ, under a key that the schema does not have"
        leaf = Leaf(pattern=path_below(obj.pattern, name), field=obj.field)
        run.shape(leaf, status, (ours, theirs), place, where, reason)


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
        for name, node in obj.properties.items():
            if not isinstance(node, RecursiveRef):  # it would not end
                run.walk(node, MISSING, MISSING, (*path, name), None if at is None else (*at, name))
        if obj.other is not None and not isinstance(obj.other, RecursiveRef):
            run.walk(obj.other, MISSING, MISSING, (*path, "*"), None)
    elif not run.empty_is_free:
        run.vacuous += 1
