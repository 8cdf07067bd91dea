"""Checking golds against a schema before anything is scored: unknown fields, missing fields, types, record ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pytest_extract.core import arguments
from pytest_extract.core.pattern import pattern_of
from pytest_extract.core.python_values import json_argument, schema_argument
from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema, SchemaNode
from pytest_extract.core.values import FieldPath, Json, Step, json_type
from pytest_extract.errors import SchemaErrors, nearest

Severity: TypeAlias = Literal["error", "warning"]
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
    problems: list[GoldProblem] = []
    for index, gold in enumerate(golds):
        checker = _Checker(tree, index, id_field, warn_missing=warn_missing, strict_types=strict_types)
        problems.extend(checker.record_problems(gold))
    return tuple(problems)


class _Checker:
    """Checks one gold."""

    def __init__(
        self, tree: Schema, record: int, id_field: str | None, *, warn_missing: bool, strict_types: bool
    ) -> None:
        self._tree = tree
        self._record = record
        self._record_id: str | int = record
        self._id_field = id_field
        self._warn_missing = warn_missing
        self._strict = strict_types

    def record_problems(self, gold: Json) -> Iterator[GoldProblem]:
        """Yield the problems of the whole gold."""
        if self._id_field is not None:
            found = gold.get(self._id_field) if isinstance(gold, dict) else None
            if isinstance(found, bool) or not isinstance(found, str | int):
                got = "is missing" if found is None else f"must be a string or an integer, not {json_type(found)}"
                yield self._problem("error", (self._id_field,), f"the id {got}")
                return
            self._record_id = found
        yield from self._node(Schema.root, gold, ())

    def _problem(self, severity: Severity, path: tuple[Step, ...], message: str) -> GoldProblem:
        return GoldProblem(
            severity=severity,
            record=self._record,
            record_id=self._record_id,
            path=FieldPath(path),
            message=message,
        )

    def _node(self, key: Key, value: Json, path: tuple[Step, ...]) -> Iterator[GoldProblem]:
        node = self._tree.node(key)
        if value is None or len(path) > DEEPEST:
            return
        if node.branches:
            yield from self._branches(node, value, path)
            return
        wrong = self._wrong_type(node, value, path)
        if wrong is not None:
            yield wrong
        elif not _as_a_whole(node):
            yield from self._inside(node, value, path)

    def _branches(self, node: SchemaNode, value: Json, path: tuple[Step, ...]) -> Iterator[GoldProblem]:
        """Yield the problems against the branch, among those of the value's type, that has the fewest errors."""
        kind = json_type(value)
        fitting = [branch for branch in node.branches if _admits(self._tree.node(branch), kind)]
        found = [list(self._node(branch, value, path)) for branch in fitting or node.branches]
        yield from min(found, key=lambda problems: (sum(p.severity == "error" for p in problems), len(problems)))

    def _wrong_type(self, node: SchemaNode, value: Json, path: tuple[Step, ...]) -> GoldProblem | None:
        kind = json_type(value)
        if _admits(node, kind):
            return None
        message = f"{' or '.join(node.types)} expected, got {kind}"
        if self._strict:
            return self._problem("error", path, message)
        container = (node.properties or node.items is not None) and not _as_a_whole(node)
        return self._problem("warning", path, message) if container else None

    def _inside(self, node: SchemaNode, value: Json, path: tuple[Step, ...]) -> Iterator[GoldProblem]:
        if isinstance(value, dict) and (node.properties or node.patterns):
            yield from self._object(node, value, path)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                key = node.prefix[index] if index < len(node.prefix) else node.items
                if key is not None:
                    yield from self._node(key, item, (*path, index))

    def _object(self, node: SchemaNode, value: dict[str, Json], path: tuple[Step, ...]) -> Iterator[GoldProblem]:
        for name, item in value.items():
            key = _key_of(node, name)
            if isinstance(key, tuple):
                yield from self._node(key, item, (*path, name))
            elif key is not True and not (name == self._id_field and not path):
                hint = nearest(name, node.properties)
                yield self._problem("error", (*path, name), f"the schema declares no such field{hint}")
        for name in node.properties if self._warn_missing else ():
            if name not in value:
                need = "required" if name in node.required else "declared"
                yield self._problem("warning", (*path, name), f"{need} by the schema, but not there")


def _admits(node: SchemaNode, kind: str) -> bool:
    """Whether a value of that JSON type may stand here; integer and number stand for each other."""
    fitting = {"integer", "number"} if kind in {"integer", "number"} else {kind}
    return not node.types or bool(fitting & set(node.types))


def _key_of(node: SchemaNode, name: str) -> Key | bool | None:
    if name in node.properties:
        return node.properties[name]
    pattern = next((key for pattern, key in node.patterns if pattern.search(name)), None)
    return pattern if pattern is not None else node.additional


def _as_a_whole(node: SchemaNode) -> bool:
    """Whether the node's own configuration compares it as one value; in evaluation_config also, whether it skips it.

    struct-extract-eval looks into what it skips, and through metrics of containers extract-bench scores what is inside.
    """
    said = node.annotation
    if said is None:
        return False
    return bool(said.metrics if said.dialect == "x-eval" else said.skip)
