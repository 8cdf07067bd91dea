"""Fields as a case names them: pattern paths (`items[].price`) and concrete ones (`items[3].price`)."""

from __future__ import annotations

import json
import re
from typing import Final, TypeAlias

from pytest_extract.core.pattern import normal_pattern
from pytest_extract.core.plan_nodes import Array, Choice, Lazy, Leaf, Object, Plan, Program, Skip
from pytest_extract.core.values import Json, path_text
from pytest_extract.errors import nearest

FieldStep: TypeAlias = str | int | None
"""A key, an index, or None for "every row" (`[]`)."""

_STEP = re.compile(r'\.?([^.\[\]"]+)|\[(-?[0-9]{0,9})\]|\[("(?:[^"\\]|\\.)*")\]')
_DEEPEST: Final = 200


def parse_field(text: str) -> tuple[FieldStep, ...] | None:
    """Return the steps of a field's path, `()` for the root; None when the text is no path."""
    text = normal_pattern(text)
    if text == "$":
        return ()
    steps: list[FieldStep] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            return None
        named = match.group(1) is not None
        if (text[at] == ".") != (named and at > 0):
            return None
        if named:
            steps.append(match.group(1))
        elif match.group(3) is not None:
            try:
                steps.append(json.loads(match.group(3)))
            except json.JSONDecodeError:
                return None
        else:
            steps.append(int(match.group(2)) if match.group(2).strip("-") else None)
        at = match.end()
    return tuple(steps) if 0 < len(steps) <= _DEEPEST else None


def field_text(steps: tuple[FieldStep, ...]) -> str:
    """Return the one spelling of a field's path that results use: `["odd.key"]` for a key that is no plain name."""
    text = ""
    for step in steps:
        if step is None:
            text += "[]"
        elif isinstance(step, str) and text and not (part := path_text((step,))).startswith("["):
            text += f".{part}"
        else:
            text += path_text((step,))
    return text or "$"


def usual(text: str) -> str:
    """Return a field's path in the spelling of results; a text that is no path stays as it is."""
    steps = parse_field(text)
    return text if steps is None else field_text(steps)


def declared(text: str, program: Program) -> bool:
    """Whether the schema declares a field."""
    steps = parse_field(text)
    return steps is not None and (field_text(steps) in program.patterns or _declared(program.root, steps))


def unknown_field(text: str, program: Program, gold: Json) -> str | None:
    """Say what is wrong with a field that a case names, or None when the schema declares it or the gold has it."""
    steps = parse_field(text)
    if steps is None:
        return f"{text!r} is no field; write it as `a.b`, `items[].price` or `items[3].price`"
    if declared(text, program) or _in_gold(gold, steps):
        return None
    return f"the schema has no field {text!r}{nearest(field_text(steps), program.patterns)}"


def _declared(plan: Plan, steps: tuple[FieldStep, ...]) -> bool:
    while isinstance(plan, Lazy):
        plan = plan.plan()
    if not steps:
        return True
    step, rest = steps[0], steps[1:]
    match plan:
        case Object():
            return isinstance(step, str) and _declared_key(plan, step, rest)
        case Array():
            if isinstance(step, str):
                return False
            places = plan.prefix if step is None else plan.prefix[step : step + 1] if step >= 0 else ()
            return any(_declared(place, rest) for place in (*places, plan.items))
        case Choice():
            return any(_declared(branch, steps) for _, branch in plan.branches)
        case Leaf():
            return plan.structure is not None and _declared(plan.structure, steps)
        case Skip():
            return False


def _declared_key(plan: Object, key: str, rest: tuple[FieldStep, ...]) -> bool:
    below = [entry.plan for entry in plan.entries if entry.name == key]
    below += [child for pattern, child in plan.patterns if key == "*" or pattern.search(key)]
    if plan.other is not None and key not in plan.names:
        below.append(plan.other)
    return any(_declared(child, rest) for child in below)


def _in_gold(value: Json, steps: tuple[FieldStep, ...]) -> bool:
    if not steps:
        return True
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        return isinstance(step, str) and step in value and _in_gold(value[step], rest)
    if isinstance(value, list) and not isinstance(step, str):
        rows = value if step is None else value[step : step + 1] if step >= 0 else []
        return any(_in_gold(row, rest) for row in rows)
    return False
