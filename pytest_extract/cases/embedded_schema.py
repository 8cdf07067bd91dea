"""A schema out of a file, with what it refers to elsewhere in that file and in others brought along."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from pytest_extract.cases.json_text import Steps, pointer_steps
from pytest_extract.cases.sources import path_from
from pytest_extract.core.schema.source import SchemaSource, escape, map_children
from pytest_extract.core.values import Json
from pytest_extract.errors import CaseFileError, nearest
from pytest_extract.lazy import lazy_pattern

_METASCHEMAS: Final = ("http://json-schema.org/", "https://json-schema.org/")
_URL: Final = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_PROJECT_FILES: Final = ("pyproject.toml", "pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", ".git")
_OF_DOCUMENTS: Final = ("$id", "id", "$schema")
"""Keywords that would make a definition a document of its own."""
_WRAPPERS: Final = {
    "json_schema": ("json_schema/schema", "schema"),
    "function": ("function/parameters", "parameters"),
}
"""`type` of what a model's API takes in place of a schema -> where the schema stands in it."""
_SHARED: Final = ("$defs", "definitions")

SCHEMA_KEYWORDS: Final = frozenset(
    (
        "type", "properties", "items", "enum", "const", "required", "not", "if", "$ref", "allOf", "anyOf",
        "oneOf", "$defs", "definitions", "prefixItems", "additionalProperties", "patternProperties", "propertyNames",
        "dependentSchemas", "contains", "$dynamicRef", "evaluation_config",
    )
)  # fmt: skip
"""A schema's root has at least one of these keywords, unless it accepts any value."""


class EmbeddedSchema(NamedTuple):
    """A self-contained schema.

    moved: name in its `$defs` -> place in the file of that definition, or of what brought it from another file.
    """

    value: Json
    moved: Mapping[str, Steps]


class _Target(NamedTuple):
    """What a reference means: a place of a file."""

    file: Path
    pointer: str


def embedded_schema(root: Json, pointer: str, inside: Json, file: Path, read: Callable[[Path], Json]) -> EmbeddedSchema:
    """Make the schema `inside` a file, at a pointer, stand by itself.

    Its references mean places of the file, or of other files below the project's folder, which `read` reads. One that
    leads nowhere is left as it is: it may mean a place of the schema itself. A part of a file with an `$id` is a
    document of its own.
    """
    if not isinstance(inside, dict) or (pointer and "$id" in inside):
        return EmbeddedSchema(inside, {})
    try:
        return _Bundler(root, _Target(file, pointer), inside, read).bundled()
    except RecursionError:  # told where the schema is compiled
        return EmbeddedSchema(inside, {})


class _Bundler:
    def __init__(self, root: Json, start: _Target, inside: dict[str, Json], read: Callable[[Path], Json]) -> None:
        self._root = root
        self._start = start
        self._inside = inside
        self._read = read
        self._sources: dict[Path, SchemaSource | None] = {start.file: SchemaSource(root)}
        own = inside.get("$defs")
        self._taken = set(own) if isinstance(own, dict) else set()
        self._names: dict[_Target, str] = {}
        self._brought_by: dict[_Target, str] = {}

    def bundled(self) -> EmbeddedSchema:
        value = self._rewritten(self._inside, self._start)
        done: dict[str, Json] = {}
        while waiting := [target for target in self._names if self._names[target] not in done]:
            for target in waiting:
                source = self._sources[target.file]
                assert source is not None  # noqa: S101 - else nothing would have been found in it
                made = self._rewritten(source.at(target.pointer), target)
                if target.file != self._start.file and isinstance(made, dict):
                    made = {name: part for name, part in made.items() if name not in _OF_DOCUMENTS}
                done[self._names[target]] = made
        if not done:
            return EmbeddedSchema(self._inside, {})
        moved = {name: pointer_steps(self._root, self._place(target)) or () for target, name in self._names.items()}
        own = value.get("$defs")
        merged = {**value, "$defs": {**(own if isinstance(own, dict) else {}), **done}}
        return EmbeddedSchema(merged, moved)

    def _place(self, target: _Target) -> str:
        """Return the pointer in the first file of a definition, or of the reference that brought it."""
        return target.pointer if target.file == self._start.file else self._brought_by[target]

    def _rewritten(self, schema: Json, at: _Target) -> Json:
        if not isinstance(schema, dict):
            return schema
        new = map_children(schema, at.pointer, lambda part, pointer: self._rewritten(part, _Target(at.file, pointer)))
        ref = schema.get("$ref")
        target = self._target(ref, at.file) if isinstance(ref, str) else None
        if target is None:
            return new
        self._brought_by.setdefault(target, f"{at.pointer}/$ref" if at.file == self._start.file else "")
        return {**new, "$ref": self._place_of(target)}

    def _target(self, ref: str, file: Path) -> _Target | None:
        source = self._sources[file]
        own = None if source is None else source.target(ref)
        if own is not None:
            return _Target(file, own)
        name, _, fragment = ref.partition("#")
        if not name or _URL.match(name):
            return None
        other = Path(path_from(str(file.parent), unquote(name)))
        if other not in self._sources:
            self._sources[other] = self._other_source(other)
        source = self._sources[other]
        pointer = None if source is None else source.target(f"#{fragment}")
        return None if pointer is None else _Target(other, pointer)

    def _other_source(self, file: Path) -> SchemaSource | None:
        """Read another file; None where it is no file of the project, or cannot be read."""
        try:
            if not file.resolve().is_relative_to(_project_folder(self._start.file)) or not file.is_file():
                return None
            return SchemaSource(self._read(file))
        except (CaseFileError, OSError, ValueError):
            return None

    def _place_of(self, target: _Target) -> str:
        start = self._start
        if target == start:
            return "#"
        if target.file == start.file and target.pointer.startswith(f"{start.pointer}/"):
            return f"#{target.pointer.removeprefix(start.pointer)}"
        if target not in self._names:
            self._names[target] = self._free_name(target)
        return f"#/$defs/{escape(self._names[target])}"

    def _free_name(self, target: _Target) -> str:
        last = target.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        name = last or ("root" if target.file == self._start.file else target.file.stem)
        taken = self._taken | set(self._names.values())
        return next(free for free in _numbered(name) if free not in taken)


def _project_folder(file: Path) -> Path:
    """Return the folder that references may not leave: the project's, else the working directory or the file's own."""
    folder = file.resolve().parent
    above = (folder, *folder.parents)
    marked = (each for each in above if any((each / name).exists() for name in _PROJECT_FILES))
    here = Path.cwd()
    return next(marked, here if here in above else folder)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


class Dangling(NamedTuple):
    """A reference that leads nowhere: the pointer of its place, and what is wrong with it."""

    pointer: str
    message: str


def dangling(schema: Json) -> list[Dangling]:
    """Return the references of a schema that lead nowhere in it.

    None for a schema that holds documents of their own (with an `$id`): what a reference means inside those is
    jsonschema's to say.
    """
    source = SchemaSource(schema)
    found: list[Dangling] = []
    documents: list[str] = []

    def look(part: Json, pointer: str) -> Json:
        if isinstance(part, dict):
            if pointer and isinstance(part.get("$id"), str):
                documents.append(pointer)
            ref = part.get("$ref")
            if isinstance(ref, str) and not ref.startswith(_METASCHEMAS) and source.target(ref) is None:
                found.append(Dangling(f"{pointer}/$ref", _message(ref, schema)))
            map_children(part, pointer, look)
        return part

    try:
        look(schema, "")
    except RecursionError:  # told where the schema is compiled
        return []
    return [] if documents else found


def _message(ref: str, schema: Json) -> str:
    if _URL.match(ref):
        return f"the reference {ref!r} leads to another document, which is not fetched; put what it means under `$defs`"
    if not ref.startswith("#"):
        return (
            f"the reference {ref!r} leads to no place of a file beside the schema or elsewhere in the project's folder"
        )
    known = [f"#/{key}/{escape(name)}" for key in _SHARED for name in _members(schema, key)]
    return f"the reference {ref!r} leads nowhere{nearest(ref, known)}"


def _members(schema: Json, key: str) -> list[str]:
    members = schema.get(key) if isinstance(schema, dict) else None
    return [str(name) for name in members] if isinstance(members, dict) else []


def wrapped_schema(value: Json) -> str | None:
    """Return where the schema stands, below a root that is no schema, as the rest of a JSON pointer."""
    if not isinstance(value, dict):
        return None
    if isinstance(kind := value.get("type"), str) and kind in _WRAPPERS:
        source = SchemaSource(value)
        return next((path for path in _WRAPPERS[kind] if source.target(f"#/{path}") is not None), None)
    if any(key in SCHEMA_KEYWORDS or key[:7] == "x-eval-" for key in value):
        return None
    inner = [key for key, part in value.items() if isinstance(part, dict) and ("type" in part or "properties" in part)]
    return escape(inner[0]) if len(inner) == 1 and inner[0] not in ("$defs", "definitions") else None
