"""Checking golds against a schema before anything is scored: unknown fields, missing fields, types, record ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pytest_extract.core import arguments
from pytest_extract.core.arguments import json_argument, schema_argument
from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema, SchemaNode
from pytest_extract.core.values import FieldPath, Json, Step, json_type, pattern_of
from pytest_extract.errors import SchemaErrors, nearest

Severity: TypeAlias = Literal["error", "warning"]
_Path: TypeAlias = tuple[Step, ...]
_Finding: TypeAlias = tuple[Severity, _Path, str]
DEEPEST = 256
"""Levels of a gold that are looked into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldProblem:
    """One thing that is wrong with one gold.

    `record`: its position; `record_id`: its id, or the position where it has none.
    `path`: the place in the gold; `pattern`: the same without indices (`items[].price`).
    """

    severity: Severity
    record: int
    record_id: str | int
    path: FieldPath
    message: str

    @property
    def pattern(self) -> str:
        """The path with `[]` for every index; a key with a dot or bracket is quoted."""
        return pattern_of(self.path)

    def __str__(self) -> str:
        return f"{self.severity}: record {self.record_id!r}, `{self.path}`: {self.message}"


def validate_golds(
    golds: Sequence[Json],
    schema: Json,
    *,
    id_field: str | None = None,
    warn_missing: bool = True,
    strict_types: bool = False,
) -> tuple[GoldProblem, ...]:
    """Return what is wrong with `golds`, in their order.

    Errors: a field that the schema does not declare, a missing or unusable id, and with `strict_types` a value of
    another type (null is always allowed; integer and number stand for each other, a boolean for neither).
    Warnings: an object or array that is neither, and with `warn_missing` a declared field that is not there.
    Values that are compared as a whole are not looked into, nor what `evaluation_config` skips. Raises SchemaErrors
    for a schema that cannot be read. JSON Schema validation proper (`enum`, `pattern`, ...) is the schema gate's.
    """
    arguments.values("golds", golds)
    arguments.instance("id_field", id_field, str, "a text")
    golds = [json_argument(f"golds[{index}]", gold) for index, gold in enumerate(golds)]
    tree = Schema(schema_argument(schema))
    for _ in tree.walk():  # makes every node, and finds its mistakes
        pass
    if tree.problems:
        raise SchemaErrors(tree.problems)
    checker = _Checker(tree, id_field, warn_missing=warn_missing, strict_types=strict_types)
    problems: list[GoldProblem] = []
    for index, gold in enumerate(golds):
        record_id: Json = index
        found: Iterable[_Finding] = checker.node(Schema.root, gold, ())
        if id_field is not None:
            record_id = gold.get(id_field) if isinstance(gold, dict) else None
            if isinstance(record_id, bool) or not isinstance(record_id, str | int):
                got = f"must be a string or an integer, not {json_type(record_id)}"
                found = [("error", (id_field,), f"the id {'is missing' if record_id is None else got}")]
                record_id = index
        problems += (
            GoldProblem(severity=severity, record=index, record_id=record_id, path=FieldPath(path), message=message)
            for severity, path, message in found
        )
    return tuple(problems)


class _Checker:
    def __init__(self, tree: Schema, id_field: str | None, *, warn_missing: bool, strict_types: bool) -> None:
        self._tree = tree
        self._id_field = id_field
        self._warn_missing = warn_missing
        self._strict_types = strict_types

    def node(self, key: Key, value: Json, path: _Path) -> Iterator[_Finding]:
        """Yield what is wrong with a value, and with what is in it."""
        node = self._tree.node(key)
        if value is None or len(path) > DEEPEST:
            return
        kind = json_type(value)
        if node.branches:  # the branch counts, among those of the value's type, that has the fewest errors
            fitting = [branch for branch in node.branches if _admits(self._tree.node(branch), kind)]
            found = [list(self.node(branch, value, path)) for branch in fitting or node.branches]
            yield from min(found, key=lambda some: (sum(severity == "error" for severity, _, _ in some), len(some)))
        elif not _admits(node, kind):
            container = (node.properties or node.items is not None) and not _as_a_whole(node)
            if self._strict_types or container:
                message = f"{' or '.join(node.types)} expected, got {kind}"
                yield "error" if self._strict_types else "warning", path, message
        elif _as_a_whole(node):
            return
        elif isinstance(value, dict) and (node.properties or node.patterns):
            yield from self._object(node, value, path)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                row = node.prefix[index] if index < len(node.prefix) else node.items
                if row is not None:
                    yield from self.node(row, item, (*path, index))

    def _object(self, node: SchemaNode, value: dict[str, Json], path: _Path) -> Iterator[_Finding]:
        for name, item in value.items():
            matching = next((key for pattern, key in node.patterns if pattern.search(name)), node.additional)
            key = node.properties.get(name, matching)
            if isinstance(key, tuple):
                yield from self.node(key, item, (*path, name))
            elif key is not True and not (name == self._id_field and not path):
                hint = nearest(name, node.properties)
                yield "error", (*path, name), f"the schema declares no such field{hint}"
        for name in node.properties if self._warn_missing else ():
            if name not in value:
                need = "required" if name in node.required else "declared"
                yield "warning", (*path, name), f"{need} by the schema, but not there"


def _admits(node: SchemaNode, kind: str) -> bool:
    """Whether a value of that JSON type may stand here; integer and number stand for each other."""
    fitting = {"integer", "number"} if kind in {"integer", "number"} else {kind}
    return not node.types or bool(fitting & set(node.types))


def _as_a_whole(node: SchemaNode) -> bool:
    """Whether the node's own configuration compares it as one value; in evaluation_config also, whether it skips it.

    struct-extract-eval looks into what it skips, and through metrics of containers extract-bench scores what is inside.
    """
    said = node.annotation
    return said is not None and bool(said.metrics if said.dialect == "x-eval" else said.skip)
