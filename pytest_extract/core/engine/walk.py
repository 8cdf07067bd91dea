"""Walks choices and recursive places, and what stands on one side only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object, RecursiveRef, Union
from pytest_extract.core.engine.context import DEEPEST, Path, ScoringContext, equal, is_present
from pytest_extract.core.engine.leaf import one_sided, readings
from pytest_extract.core.metrics import equality
from pytest_extract.core.results import MATCH, MISMATCH, OMISSION, Status
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.schema.tree import SchemaNode
from pytest_extract.core.values import MISSING, Json, Value

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
        for entry in node.entries:
            if entry.name in value:
                below = None if at is None else (*at, entry.name)
                score_missing(run, entry.node, value[entry.name], status, (*path, entry.name), below)
    elif isinstance(node, Array) and (type(value) is not list or not value):
        run.shape(node, status, values, path, at)
    elif isinstance(node, Array):
        for index, row in enumerate(value):
            own = index if status is OMISSION else -index - 1
            score_missing(run, node.items, row, status, (*path, own), None if at is None else (*at, index))


def walk_choice(run: ScoringContext, choice: Union, gold: Value, extracted: Value, path: Path, at: Path | None) -> None:
    """Score the branch that fits gold (what was extracted, where gold has nothing)."""
    value = gold if is_present(gold) else extracted
    if not is_present(value) and choice.branches:
        # nothing on either side: agreement on absence counts once, not once a branch
        if run.both_passed and choice.field:
            run.walk(choice.branches[0][1], gold, extracted, path, at)
        elif not (run.empty_is_free and gold is MISSING and extracted is MISSING):
            run.vacuous += 1
        return
    if not run.depth:
        run.walk(branch_of(run.fits, choice, value), gold, extracted, path, at)
        return
    key = "branch", id(choice), run.content(value)  # each row is tried against many
    if key not in run.known:
        run.known[key] = branch_of(run.fits, choice, value)
    run.walk(run.known[key], gold, extracted, path, at)


def branch_of(fits: Callable[[SchemaNode, Json], bool], choice: Union, value: Json) -> Node:
    """Return the first branch that a value fits; failing that, the first of its type; failing that, the first."""
    fitting = (branch for schema, branch in choice.branches if fits(schema, value))
    of_its_type = (branch for schema, branch in choice.branches if type_fits(schema.types, value))
    found = next(fitting, None) or next(of_its_type, None) or choice.branches[0][1]
    return found.node() if isinstance(found, RecursiveRef) else found


def walk_recursive(
    run: ScoringContext, ref: RecursiveRef, gold: Value, extracted: Value, path: Path, at: Path | None
) -> None:
    """Score a recursive place, where there is anything to score."""
    if is_present(gold) or is_present(extracted):
        run.walk(ref.node(), gold, extracted, path, at)


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
