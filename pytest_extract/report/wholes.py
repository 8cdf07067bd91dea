"""Rows, objects and arrays that are missing or invented as a whole: one entry in place of one a field."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from pytest_extract.core.values import MISSING, Json
from pytest_extract.report.entries import Entry
from pytest_extract.report.lines import plural

STEP: Final = re.compile(r'\[(?P<at>-?\d+)\]|\["(?:[^"\\]|\\.)*"\]|[^\[.]+')
"""One step of a path's text: a row, a quoted key, a plain name."""


class Container(NamedTuple):
    """A place above a field: its path as text, how many steps that has, and what it is."""

    text: str
    steps: int
    kind: Literal["row", "array", "object"]


def containers_of(path: str) -> list[Container]:
    """Return the places above a field, outermost first, but for the root."""
    steps = list(STEP.finditer(path))
    found: list[Container] = []
    for number, (step, following) in enumerate(pairwise(steps), start=1):
        kind: Literal["row", "array", "object"] = "object"
        if step["at"] is not None:
            kind = "row"
        elif following["at"] is not None:
            kind = "array"
        found.append(Container(path[: step.end()], number, kind))
    return found


def fold_wholes(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Map each outermost container whose fields are all missing, or all invented, to the one entry that tells it."""
    members: dict[Container, list[Entry]] = defaultdict(list)
    for item in entries:
        for container in containers_of(item.path):
            members[container].append(item)
    folded: dict[str, Entry] = {}
    for container in sorted(members, key=lambda each: each.steps):
        inside = any(outer.text in folded for outer in containers_of(members[container][0].path)[: container.steps - 1])
        whole = None if inside else _whole(container, members[container])
        if whole is not None:
            folded[container.text] = whole
    return folded


def _whole(container: Container, members: Sequence[Entry]) -> Entry | None:
    statuses = {item.status for item in members}
    if len(members) < 2 or statuses not in ({"omission"}, {"hallucination"}):
        return None
    lost = statuses == {"omission"}
    value = value_of(container, [(item.path, item.gold if lost else item.extracted) for item in members])
    if container.kind == "array" and len(value) == 1:
        return None  # then its row says the same, and where it stands
    count = plural(len(members), "field")
    if container.kind == "array":
        count = plural(len(value), "row" if isinstance(value[0], dict | list) else "value")
    first = members[0]
    return first._replace(
        path=container.text,
        metric=container.kind,
        params={},
        gold=value if lost else MISSING,
        extracted=MISSING if lost else value,
        reason=None,
        matched=_above(first.matched, container.steps),
        weight=max(item.weight for item in members),
        note=f"{f'whole {container.kind} missing' if lost else f'invented {container.kind}'}, {count}",
        stands_for=len(members),
    )


def _above(path: str | None, steps: int) -> str | None:
    """Cut a path after so many steps."""
    ends = [step.end() for step in STEP.finditer(path or "")]
    return (path or "")[: ends[steps - 1]] if steps <= len(ends) else None


def value_of(container: Container, leaves: Sequence[tuple[str, Json]]) -> Json:
    """Put a container together from the paths and values of its fields."""
    tree: dict[str, Json] = {}
    for path, value in leaves:
        node = tree
        steps = [step[0] for step in STEP.finditer(path)][container.steps :] or ["$"]
        for step in steps[:-1]:
            inner = node.setdefault(step, {})
            node = inner if isinstance(inner, dict) else {}
        node[steps[-1]] = value
    return _with_lists(tree)


def _with_lists(tree: Json) -> Json:
    if not isinstance(tree, dict):
        return tree
    inside = [_with_lists(value) for value in tree.values()]
    if tree and all(STEP.fullmatch(key) and key[0] == "[" and key[1] != '"' for key in tree):
        return inside
    return dict(zip(tree, inside, strict=True))
