"""Schema coverage: which parts of a schema no gold exercises, so that nobody knows how they are extracted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from pytest_extract.cases.model import Case
from pytest_extract.core.schema.conformance import Conformance
from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema, SchemaNode
from pytest_extract.core.values import MISSING, ROOT, Json, Missing, canonical_json, path_below
from pytest_extract.report.values import show

DEEPEST: Final = 12
"""Levels of a schema that are looked into; a recursive schema has no end."""
MOST_MEMBERS: Final = 100
"""Members of an enumeration that count; a longer one is a list of codes, of which no suite has all."""


class SchemaState(NamedTuple):
    """One thing that golds can exercise: a state of a field, in words (`a value`, `absent`, `empty`, `"EUR"`, ...)."""

    pattern: str
    state: str
    covered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCoverage:
    """What the golds of one schema exercise. `golds`: their number."""

    path: Path
    golds: int
    states: tuple[SchemaState, ...]

    @property
    def covered(self) -> int:
        """States that some gold has."""
        return sum(state.covered for state in self.states)

    @property
    def share(self) -> float:
        """Covered states over all states; 1.0 for a schema without any."""
        return self.covered / len(self.states) if self.states else 1.0

    def to_dict(self) -> dict[str, Json]:
        """Return the coverage as JSON."""
        counts: dict[str, Json] = {"golds": self.golds, "states": len(self.states), "covered": self.covered}
        return {"kind": "coverage", "file": str(self.path), "share": self.share, **counts, "missing": self.missing}

    @property
    def missing(self) -> dict[str, list[str]]:
        """Pattern -> states that no gold has; what is below a field without any value is left out."""
        found: dict[str, list[str]] = {}
        for state in self.states:
            if not state.covered and not any(
                _is_below(state.pattern, other) for other in found if "a value" in found[other]
            ):
                found.setdefault(state.pattern, []).append(state.state)
        return found


def _is_below(pattern: str, other: str) -> bool:
    return pattern.startswith((f"{other}.", f"{other}["))


def schema_coverage(cases: Iterable[Case]) -> list[SchemaCoverage]:
    """Return the coverage of each schema of the cases, in their order; a gold that cases share counts once."""
    golds: dict[str, dict[str, Json]] = {}
    schemas: dict[str, tuple[Path, Json]] = {}
    for case in cases:
        if not case.gold_is_missing:
            schemas.setdefault(case.schema_sha256, (case.schema_path, case.schema))
            golds.setdefault(case.schema_sha256, {})[f"{case.gold_path} {case.gold_steps} {case.gold_line}"] = case.gold
    found = []
    for digest, (path, schema) in schemas.items():
        values = [*golds[digest].values()]
        states = tuple(_SchemaWalk(schema).states(Schema.root, ROOT, values, optional=False, depth=0))
        found.append(SchemaCoverage(path=path, golds=len(values), states=states))
    return found


class _SchemaWalk:
    """Walks a schema together with all values that golds have at each of its places."""

    def __init__(self, schema: Json) -> None:
        self._tree = Schema(schema)
        self._fits = Conformance(self._tree)

    def states(
        self, key: Key, pattern: str, values: Sequence[Json | Missing], *, optional: bool, depth: int
    ) -> Iterator[SchemaState]:
        """Yield the states of a place and of what is below it."""
        node = self._tree.node(key)
        if depth > DEEPEST or (node.annotation is not None and node.annotation.skip):
            return
        there = [value for value in values if value is not MISSING and value is not None]
        if pattern != ROOT:
            yield SchemaState(pattern, "a value", bool(there))
            if optional or node.nullable:
                yield SchemaState(pattern, "absent", len(there) < len(values))
        yield from self._own_states(node, pattern, there)
        for number, branch in enumerate(node.branches):
            fitting = [value for value in there if self._branch(node, value) == number]
            yield SchemaState(pattern, f"alternative {number + 1} of {len(node.branches)}", bool(fitting))
            yield from (
                state
                for state in self.states(branch, pattern, fitting, optional=False, depth=depth + 1)
                if state.pattern != pattern or state.state not in ("a value", "absent")
            )
        for name, child in node.properties.items():
            inner = [value.get(name, MISSING) for value in there if isinstance(value, dict)]
            at = path_below(pattern, name)
            yield from self.states(child, at, inner, optional=name not in node.required, depth=depth + 1)
        if node.items is not None:
            rows = [row for value in there if isinstance(value, list) for row in value]
            yield from self.states(node.items, path_below(pattern, None), rows, optional=False, depth=depth + 1)

    def _own_states(self, node: SchemaNode, pattern: str, there: Sequence[Json]) -> Iterator[SchemaState]:
        if node.values is not None and len(node.values) <= MOST_MEMBERS:
            seen = {canonical_json(value) for value in there}
            for member in node.values:
                if member is not None:
                    yield SchemaState(pattern, show(member, 40), canonical_json(member) in seen)
        elif node.types == ("boolean",):
            yield SchemaState(pattern, "true", any(value is True for value in there))
            yield SchemaState(pattern, "false", any(value is False for value in there))
        if node.types == ("array",):
            sizes = [len(value) for value in there if isinstance(value, list)]
            yield SchemaState(pattern, "empty", 0 in sizes)
            yield SchemaState(pattern, "two or more", any(size > 1 for size in sizes))

    def _branch(self, node: SchemaNode, value: Json) -> int:
        fitting = (number for number, branch in enumerate(node.branches) if self._fits(self._tree.node(branch), value))
        return next(fitting, -1)
