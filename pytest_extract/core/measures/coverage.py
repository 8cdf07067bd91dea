"""ExtractBench's coverage of a document (`reporting/content_stats.py`): which leaves both sides have, metrics apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_extract.core.values import MISSING, Json, Missing, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Numbers of leaves: in both documents, in gold only, in the extracted one only, and missing though required."""

    both: int
    missing: int
    spurious: int
    required_missing: int


def coverage(schema: Json, gold: Json, extracted: Json | Missing) -> Coverage:
    """Compare the leaves of two documents.

    A leaf is a scalar, a null, or an empty container that is a value of an object (not one that is a list's item).
    Required counts only along object nodes of the schema, not inside arrays or anyOf.
    """
    expected, found = set(_leaves(gold)), set(_leaves(extracted))
    lost = expected - found
    required = set(_required(schema, ()))
    return Coverage(
        both=len(expected & found),
        missing=len(lost),
        spurious=len(found - expected),
        required_missing=len(lost & required),
    )


def _leaves(value: Json | Missing) -> Iterator[tuple[Step, ...]]:
    stack: list[tuple[tuple[Step, ...], Json]] = [] if value is MISSING else [((), value)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, dict) and node:
            stack.extend(((*path, name), child) for name, child in node.items())
        elif isinstance(node, list) and node:
            stack.extend(((*path, index), child) for index, child in enumerate(node))
        elif not isinstance(node, dict | list) or (path and isinstance(path[-1], str)):
            yield path


def _required(schema: Json, path: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    stack: list[tuple[tuple[Step, ...], Json]] = [(path, schema)]
    while stack:
        here, node = stack.pop()
        if not isinstance(node, dict) or not isinstance(members := node.get("properties"), dict):
            continue
        listed = node.get("required")
        yield from ((*here, name) for name in (listed if isinstance(listed, list) else ()) if isinstance(name, str))
        stack.extend(((*here, name), child) for name, child in members.items())
