"""Fields as a case names them: pattern paths (`items[].price`) and concrete ones (`items[3].price`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object, Program, Skip, nodes_at
from pytest_extract.core.values import ROOT, AnyKey, FieldStep, Json, Step, iter_leaves, parse_field, path_text, usual
from pytest_extract.errors import nearest


def declared(text: str, program: Program) -> bool:
    """Whether the schema declares a field."""
    steps = parse_field(text)
    return steps is not None and (path_text(steps) in program.patterns or any(nodes_at(program.root, steps)))


def unknown_field(text: str, program: Program, gold: Json) -> str | None:
    """Say what is wrong with a field that a case names, or None when the schema declares it or the gold has it."""
    steps = parse_field(text)
    if steps is None:
        return f"{text!r} is no field; write it as `a.b`, `items[].price` or `items[3].price`"
    if declared(text, program):
        return None
    if not any(values_at(gold, text)):
        return f"the schema has no field {text!r}{nearest(path_text(steps), program.patterns)}"
    known = next(end for end in range(len(steps)) if not any(nodes_at(program.root, steps[: end + 1])))
    around = list(nodes_at(program.root, steps[:known]))
    by_key = any(isinstance(plan, Object) for plan in around) and not isinstance(steps[known], AnyKey)
    whole = steps[: known + 1] if by_key else steps[:known]
    if whole == steps:
        return None
    return f"{text!r} is not compared by itself: the schema declares nothing inside {path_text(whole)!r}; name that"


def has_value(gold: Json, text: str) -> bool:
    """Whether the gold has a value at a field: something other than null, empty text and what holds only those."""
    return any(leaf not in (None, "") for _, value in values_at(gold, text) for _, leaf in iter_leaves(value))


def is_skipped(text: str, program: Program) -> bool:
    """Whether nothing looks at a field that the schema declares."""
    plans = list(nodes_at(program.root, parse_field(text) or ()))
    return all(isinstance(plan, Skip) or (isinstance(plan, Leaf) and plan.skipped) for plan in plans)


def without_absence(text: str, program: Program) -> str | None:
    """Say why a declared field has no absence of its own that a case may leave open; None when it has."""
    plans = list(nodes_at(program.root, parse_field(text) or ()))
    if plans and all(isinstance(plan, Object) and not plan.checks for plan in plans):
        return f"{text!r} is an object, of which only the fields are compared: name them, as {_inside(text, program)}"
    return None


def without_score(text: str, program: Program) -> str | None:
    """Say why a field that the schema declares never has a score of its own to be bounded; None when it has one."""
    plans = list(nodes_at(program.root, parse_field(text) or ()))
    if any(map(_scored, plans)) or not declared(text, program):
        return None
    if all(isinstance(plan, Skip) for plan in plans):  # none where it is inside of what is skipped
        return f"{text!r} is skipped: it has no score to bound"
    return f"{text!r} has no score of its own; bound what is in it: {_inside(text, program)}"


def _inside(text: str, program: Program) -> str:
    """Name the fields below one that have a score."""

    def has_score(name: str) -> bool:
        return any(map(_scored, nodes_at(program.root, parse_field(name) or ())))

    own = usual(text)
    inside = ("",) if own == ROOT else (f"{own}.", f"{own}[")
    below = [name for name in program.patterns if name.startswith(inside) and has_score(name)]
    return f"{', '.join(below[:3])}{', …' * (len(below) > 3)}"


def _scored(plan: Node) -> bool:
    match plan:
        case Leaf():
            return not plan.skipped
        case Object():
            return bool(plan.checks)
        case Array():
            return plan.result is not None or bool(plan.checks)
        case _:
            return False


def values_at(value: Json, text: str) -> Iterator[tuple[tuple[Step, ...], Json]]:
    """Yield every value that a field's path leads to, with its concrete place."""

    def places(
        value: Json, steps: tuple[FieldStep, ...], at: tuple[Step, ...]
    ) -> Iterator[tuple[tuple[Step, ...], Json]]:
        if not steps:
            yield at, value
            return
        step = steps[0]
        found: Iterable[Step] = ()
        if isinstance(value, dict):
            found = value if isinstance(step, AnyKey) else [step] if isinstance(step, str) and step in value else ()
        elif isinstance(value, list) and not isinstance(step, str | AnyKey):
            found = range(len(value)) if step is None else [step] if 0 <= step < len(value) else ()
        for key in found:
            yield from places(value[key], steps[1:], (*at, key))

    return places(value, parse_field(text) or (), ())
