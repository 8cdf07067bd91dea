"""Leaf paths as SOB writes them, and the type and the required keys that a schema declares along them.

A path is `a.b[0].c`; names are not escaped, so that two places may share a path: the later one counts, as published.
Empty containers, a scalar root and the key `""` of the root, whose path is empty, give no leaf. Leaves are looked at
once, in one walk that also judges their types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pytest_extract.core.parse.text import too_deep
from pytest_extract.core.values import Json, Step
from pytest_extract.lazy import lazy_pattern

_PYTHON_TYPES: Final[dict[str, frozenset[type]]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
}
_NOTHING: Final[frozenset[type]] = frozenset()
_INDEX: Final = lazy_pattern(r"\[\d+\]")
_STEP: Final = lazy_pattern(r"([^.\[]+)|\[([^\]]*)(\]?)")


@dataclass(frozen=True, slots=True)
class TypeNode:
    """What SOB's type lookup sees at a schema node: it follows exact `object` and `array` types only.

    `members` holds plainly named properties; those with a dot, a bracket or no letter in their name are found by path.
    """

    members: dict[str, TypeNode]
    item: TypeNode | None
    leaf: frozenset[type]


BLANK: Final = TypeNode({}, None, _NOTHING)


class Found(NamedTuple):
    """Leaves of the extracted value: path -> value, and how many have the type that the schema declares.

    `ambiguous`: it has names that can make the paths of two places equal.
    """

    values: dict[str, Json]
    typed: int
    ambiguous: bool


@dataclass(frozen=True, slots=True)
class RequiredNode:
    """What a schema requires at a place: names of an object, what is required below some of them, or in its rows."""

    names: frozenset[str] = frozenset()
    below: tuple[tuple[str, RequiredNode], ...] = ()
    rows: RequiredNode | None = None


_NOT_REQUIRED: Final = RequiredNode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A schema, ready for SOB's lookups.

    required_keys: each required key, from the root on; `required_paths`: how many paths these are. ambiguous: some have
        ambiguous names.
    """

    schema: Json
    types: TypeNode
    required_paths: int
    required_keys: RequiredNode
    ambiguous: bool

    @property
    def required(self) -> list[tuple[str, tuple[str | None, ...]]]:
        """Path text and steps (None: any element) of each required key, in schema order."""
        return [*_required(self.schema, "", ())]


def declare(schema: Json) -> Declared:
    """Compile a schema of any kind; what SOB does not follow has no type, nor has anything in one nested too deeply."""
    if too_deep(schema):
        return declare({})
    keys = _required_node(schema)
    nodes = [keys]
    for node in nodes:
        nodes += [inner for _, inner in node.below]
        if node.rows is not None:
            nodes.append(node.rows)
    ambiguous = any(is_ambiguous_name(name) for node in nodes for name in node.names)
    paths = (
        len({path for path, _ in _required(schema, "", ())}) if ambiguous else sum(len(node.names) for node in nodes)
    )
    return Declared(
        schema=schema,
        types=_type_node(schema),
        required_paths=paths,
        required_keys=keys,
        ambiguous=ambiguous,
    )


def is_ambiguous_name(name: str) -> bool:
    """Whether a name can make the paths of two places equal."""
    return not name or "." in name or "[" in name


def leaf_map(value: Json) -> dict[str, Json]:
    """Path -> scalar of every leaf; at most MAX_DEPTH levels deep."""
    found: dict[str, Json] = {}
    if isinstance(value, dict | list):
        _collect(value, "", found)
    return found


def _collect(node: Any, path: str, found: dict[str, Json]) -> None:
    if type(node) is list:
        for index, value in enumerate(node):
            place = f"{path}[{index}]"
            kind = type(value)
            if kind is dict or kind is list:
                _collect(value, place, found)
            else:
                found[place] = value
        return
    for name, value in node.items():
        place = f"{path}.{name}" if path else name
        kind = type(value)
        if kind is dict or kind is list:
            _collect(value, place, found)
        elif place:
            found[place] = value


def typed_leaves(value: Json, declared: Declared) -> Found:
    """Leaves of an extracted value with the number of those whose type the schema declares at their path."""
    walk = _TypedWalk()
    if isinstance(value, dict | list):
        walk.visit(value, "", declared.types)
    if not walk.ambiguous:
        return Found(walk.values, walk.typed, ambiguous=False)
    places = leaf_steps(value)
    typed = sum(type(walk.values[path]) in _type_at(declared, path, steps) for path, steps in places.items())
    return Found(walk.values, typed, ambiguous=True)


class _TypedWalk:
    """Counts well-typed leaves on the way; `ambiguous`: paths collide, so that the count cannot be trusted."""

    __slots__ = ("ambiguous", "typed", "values")

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}
        self.typed = 0
        self.ambiguous = False

    def visit(self, node: Any, path: str, types: TypeNode) -> None:
        if type(node) is list:
            self._array(node, path, types.item or BLANK)
            return
        values = self.values
        members = types.members
        for name, value in node.items():
            child = members.get(name)
            if child is None:
                child = BLANK
                self.ambiguous = self.ambiguous or is_ambiguous_name(name)
            place = f"{path}.{name}" if path else name
            kind = type(value)
            if kind is dict or kind is list:
                self.visit(value, place, child)
            elif place:
                values[place] = value
                if kind in child.leaf:
                    self.typed += 1

    def _array(self, node: list[Json], path: str, item: TypeNode) -> None:
        leaf = item.leaf
        for index, value in enumerate(node):
            place = f"{path}[{index}]"
            kind = type(value)
            if kind is dict or kind is list:
                self.visit(value, place, item)
            else:
                self.values[place] = value
                if kind in leaf:
                    self.typed += 1


def leaf_steps(value: Json) -> dict[str, tuple[Step, ...]]:
    """Path -> steps of every leaf, the later of two with one path."""
    found: dict[str, tuple[Step, ...]] = {}
    stack: list[tuple[str, tuple[Step, ...], Any]] = [("", (), value)]
    while stack:
        path, steps, node = stack.pop()
        if isinstance(node, dict):
            inside = [(f"{path}.{name}" if path else name, (*steps, name), node[name]) for name in node]
            stack.extend(reversed(inside))
        elif isinstance(node, list):
            items = [(f"{path}[{index}]", (*steps, index), child) for index, child in enumerate(node)]
            stack.extend(reversed(items))
        elif path:
            found[path] = steps
    return found


def missing_required(value: Json, declared: Declared, *, ambiguous: bool) -> list[str]:
    """List the required paths (`items[].name`) that the extracted value has nowhere, sorted.

    `ambiguous`: the value has names that can make paths of two places equal; paths are then compared as text.
    """
    if not ambiguous and not declared.ambiguous:
        if _has_all(value, declared.required_keys):
            return []
        return sorted({path for path, steps in declared.required if not _exists(value, steps, 0)})
    there = _patterns(value)
    return sorted({path for path, _ in declared.required if path not in there})


def _has_all(node: Json, required: RequiredNode) -> bool:
    """Whether a value has every required key; False, too, where no one row has all that rows need."""
    rows, names = required.rows, required.names
    if rows is not None:
        for row in node if isinstance(node, list) else ():  # noqa: SIM110 - as below
            if _has_all(row, rows):
                return True
        return False
    if names and not (isinstance(node, dict) and node.keys() >= names):
        return False
    for name, inner in required.below:  # noqa: SIM110 - a generator for each object takes as long as the rest
        if not _has_all(node[name], inner):
            return False
    return True


def _exists(node: Json, steps: tuple[str | None, ...], position: int) -> bool:
    while position < len(steps):
        step = steps[position]
        if step is None:
            return isinstance(node, list) and any(_exists(item, steps, position + 1) for item in node)
        if not isinstance(node, dict) or step not in node:
            return False
        node = node[step]
        position += 1
    return True


def _patterns(value: Json) -> set[str]:
    """Paths of every key and row, containers too, with `[]` for indices."""
    found: set[str] = set()
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, node = stack.pop()
        if path:
            found.add(_INDEX.sub("[]", path))
        if isinstance(node, dict):
            stack.extend((f"{path}.{name}" if path else name, child) for name, child in node.items())
        elif isinstance(node, list):
            stack.extend((f"{path}[]", child) for child in node)
    return found


# -- the schema's side ------------------------------------------------------------------------------------------


def _type_node(schema: Json) -> TypeNode:
    if not isinstance(schema, dict):
        return BLANK
    declared = schema.get("type")
    if declared == "object":
        members = schema.get("properties")
        if not isinstance(members, dict):
            return BLANK
        return TypeNode(
            {name: _type_node(node) for name, node in members.items() if not is_ambiguous_name(name)}, None, _NOTHING
        )
    if declared == "array":
        return TypeNode({}, _type_node(schema.get("items")), _NOTHING)
    return TypeNode({}, None, _leaf_types(declared))


def _leaf_types(declared: Json) -> frozenset[type]:
    """Python types that fit a leaf; a list with one type besides null is that type alone, as published."""
    if isinstance(declared, str):
        return _PYTHON_TYPES.get(declared, _NOTHING)
    if not isinstance(declared, list):
        return _NOTHING
    names = [name for name in declared if isinstance(name, str)]
    real = [name for name in names if name != "null"]
    taken = real if len(real) == 1 else names
    return frozenset().union(*(_PYTHON_TYPES.get(name, _NOTHING) for name in taken))


def _type_at(declared: Declared, path: str, steps: tuple[Step, ...]) -> frozenset[type]:
    """Types at a path read back from its text, as published; where that text cannot be read, at its steps."""
    read = _read_path(path)
    node = declared.schema
    for step in steps if read is None else read:
        if not isinstance(node, dict):
            return _NOTHING
        if isinstance(step, int):
            node = node.get("items") if node.get("type") == "array" else None
        else:
            members = node.get("properties") if node.get("type") == "object" else None
            node = members.get(step) if isinstance(members, dict) else None
    return _leaf_types(node.get("type")) if isinstance(node, dict) else _NOTHING


def _read_path(path: str) -> list[Step] | None:
    """Read a path's text: names between dots, indices in brackets; None where brackets hold no number."""
    steps: list[Step] = []
    for name, index, closed in _STEP.findall(path):
        if name:
            steps.append(name)
            continue
        try:
            steps.append(int(index if closed else ""))
        except ValueError:
            return None
    return steps


def _required_node(schema: Json) -> RequiredNode:
    """Return what is required at a place of a schema, and below what is required."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "array":
        rows = _required_node(schema.get("items"))
        return _NOT_REQUIRED if rows is _NOT_REQUIRED else RequiredNode(rows=rows)
    listed = schema.get("required") if kind == "object" else None
    if not listed or not isinstance(listed, list | str):
        return _NOT_REQUIRED
    members = schema.get("properties")
    names = dict.fromkeys([name for name in listed if isinstance(name, str)])
    inside = [(name, _required_node(members.get(name))) for name in names] if isinstance(members, dict) else []
    below = tuple([(name, inner) for name, inner in inside if inner is not _NOT_REQUIRED])
    return RequiredNode(frozenset(names), below) if names else _NOT_REQUIRED


def _required(schema: Json, path: str, steps: tuple[str | None, ...]) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    """Yield required keys depth first; what is required inside an optional object is not asked for, as published."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "array":
        yield from _required(schema.get("items"), f"{path}[]", (*steps, None))
    listed = schema.get("required") if kind == "object" else None
    members = schema.get("properties") if kind == "object" else None
    for name in listed if isinstance(listed, list | str) else ():
        if isinstance(name, str):
            place = f"{path}.{name}" if path else name
            yield place, (*steps, name)
            inner = members.get(name) if isinstance(members, dict) else None
            yield from _required(inner, place, (*steps, name))
