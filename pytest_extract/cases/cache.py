"""What several cases share, read and compiled once: schemas, golds, defaults and prompts.

A schema out of a file stands by itself, with what it refers to elsewhere in that file and in others brought along.
Listing cases and the inputs of their outputs needs neither the project's own metrics nor a judge: pass
`compile_structure` to `SchemaCache`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar
from urllib.parse import unquote

from pytest_extract.cases.model import Prompt, Repeat, Thresholds
from pytest_extract.cases.patterns import declared, unknown_field, without_score
from pytest_extract.cases.review_file import REVIEWED, GoldReview, read_reviews, review_path
from pytest_extract.cases.sources import (
    Mistake,
    SourceFile,
    Steps,
    path_from,
    pointer_steps,
    reached,
    read_source,
    read_text,
)
from pytest_extract.core.gates import GateConfig
from pytest_extract.core.schema.source import SchemaSource, escape, map_children, map_parts
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import Json, canonical_json, text_digest
from pytest_extract.errors import CaseFileError, SchemaError, nearest
from pytest_extract.lazy import lazy_pattern

if TYPE_CHECKING:
    from pytest_extract.core.scorer import Scorer


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


S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SchemaPlace:
    """A schema with its location (the source and the steps inside it) and the digest of its content.

    `moved`: definitions from elsewhere in the source (`embedded_schema`): name in `$defs` -> steps in the source.
    `others`: further files that it refers to.
    """

    value: Json
    source: SourceFile
    steps: Steps
    sha256: str
    moved: Mapping[str, Steps] = field(default_factory=dict)
    others: tuple[SourceFile, ...] = ()

    def steps_to(self, inside: Steps) -> Steps:
        """Return the steps in the source to a place inside the schema."""
        if len(inside) > 1 and inside[0] == "$defs" and inside[1] in self.moved:
            return (*self.moved[str(inside[1])], *inside[2:])
        return (*self.steps, *inside)


class SchemaCache:
    """Reads each file once while it stays the same on disk, and compiles each schema once per way of scoring it.

    `repeat`, `thresholds`, `gates`: what a case has that says nothing of them, the same objects for all.
    One cache serves a whole collection; there is no other state. Errors are kept as well, so that a broken schema
    that a thousand cases name is read once and told once.

    `compile_schema` is called with (schema, semantics=, nulls=, overrides=, post_process=, as_published=); a project's
    own metrics are bound in it.
    `structure_only`: how fields are scored is not known, so that nothing in a case can be a mistake by it.
    `updates_golds`: the run writes golds, so that one may break its schema; with `new`, its file need not be there.
    """

    def __init__(
        self, compile_schema: Callable[..., Scorer] | None = None, *, updates_golds: Literal["new", "fix"] | None = None
    ) -> None:
        self.updates_golds = updates_golds
        self.structure_only = compile_schema is compile_structure
        self.repeat = Repeat()
        self.thresholds = Thresholds()
        self.gates = GateConfig()
        self._compile = compile_schema or _compiler()
        self._files: dict[tuple[str, str], tuple[tuple[int, int], object]] = {}
        self._places: dict[tuple[str, str], str] = {}
        self._schemas: dict[tuple[int, Steps, str], SchemaPlace] = {}
        self._digests: dict[int, tuple[Json, str, bool]] = {}  # a value, its digest, and whether it has references
        self._validators: dict[str, Validator] = {}
        self._dangling: dict[str, tuple[Dangling, ...]] = {}
        self._said: dict[Callable[[Any], object], dict[str, object]] = {}
        self._sound: set[tuple[int, str, bool]] = set()
        self._compiled: dict[tuple[str, str, str, str], Scorer | tuple[SchemaError, ...]] = {}

    def place(self, folder: str, name: str) -> str:
        """Return the one spelling of a path that a file in `folder` names, so that each file is known once."""
        key = (folder, name)
        kept = self._places.get(key)
        if kept is None:
            kept = self._places[key] = path_from(folder, name)
        return kept

    @property
    def defaults_files(self) -> list[Path]:
        """The files that `defaults` of case files name."""
        return [Path(place) for kind, place in self._files if kind == "yaml"]

    def source(self, place: str) -> SourceFile:
        """Return a JSON or YAML file; raises CaseFileError when it cannot be read."""
        return self.keep("source", place, read_source)

    def prompt(self, place: str) -> Prompt:
        """Return a prompt file; raises CaseFileError when it cannot be read."""
        return self.keep("prompt", place, _read_prompt)

    def review(self, gold_path: Path, name: str) -> GoldReview:
        """Return the review of a gold; raises CaseFileError when its file cannot be read."""
        return self.keep("reviews", str(review_path(gold_path)), read_reviews).get(name, REVIEWED)

    def keep(self, kind: str, place: str, read: Callable[[Path], T]) -> T:
        """Return what `read` makes of a file, called once while the file stays the same; raises its CaseFileError."""
        try:
            status = os.stat(place)  # noqa: PTH116 - see `SourceFile.folder`
        except (OSError, ValueError):
            stamp = (0, -1)
        else:
            stamp = (status.st_mtime_ns, status.st_size)
        key = (kind, place)
        kept = self._files.get(key)
        if kept is None or kept[0] != stamp:
            content: object
            try:
                content = read(Path(place))
            except CaseFileError as error:
                content = error
            kept = self._files[key] = (stamp, content)
        if isinstance(kept[1], CaseFileError):
            raise kept[1]
        return kept[1]  # type: ignore[return-value]  # the kind in the key is the type that `read` returns

    def schema_in(self, source: SourceFile, pointer: str) -> SchemaPlace | None:
        """Return the schema that a JSON pointer names in a source; None if there is none."""
        return self._embedded(source, source.value, (), pointer)

    def inline_schema(self, value: Json, source: SourceFile, steps: Steps) -> SchemaPlace:
        """Return a schema inside a case file; its references mean places of itself, or of other files."""
        plain = SchemaPlace(*self._with_digest(value, source, steps))
        embedded = self._embedded(source, value, steps, "") if self._digests[id(value)][2] else None
        return embedded or plain

    def _embedded(self, source: SourceFile, root: Json, at: Steps, pointer: str) -> SchemaPlace | None:
        """Return the schema at a pointer of a document, which stands in a source."""
        key = (id(source), at, pointer)
        kept = self._schemas.get(key)
        if kept is not None and kept.source is source and all(map(self._is_unchanged, kept.others)):
            return kept
        steps = pointer_steps(root, pointer)
        if steps is None:
            return None
        read: dict[Path, SourceFile] = {}

        def read_other(file: Path) -> Json:
            read[file] = self.source(str(file))
            return read[file].value

        whole = embedded_schema(root, pointer, reached(root, steps), source.path, read_other)
        moved = {name: (*at, *place) for name, place in whole.moved.items()}
        place = SchemaPlace(*self._with_digest(whole.value, source, (*at, *steps)), moved, tuple(read.values()))
        self._schemas[key] = place
        return place

    def _is_unchanged(self, file: SourceFile) -> bool:
        try:
            return self.source(str(file.path)) is file
        except CaseFileError:
            return False

    def _with_digest(self, value: Json, source: SourceFile, steps: Steps) -> tuple[Json, SourceFile, Steps, str]:
        kept = self._digests.get(id(value))
        if kept is None or kept[0] is not value:
            text = canonical_json(value)
            kept = self._digests[id(value)] = (value, text_digest(text), '"$ref"' in text)
        return kept[0], source, steps, kept[1]

    def validator(self, schema: SchemaPlace) -> Validator:
        """Return the validator of a schema."""
        kept = self._validators.get(schema.sha256)
        if kept is None:
            kept = self._validators[schema.sha256] = Validator(schema.value)
        return kept

    def dangling(self, schema: SchemaPlace) -> tuple[Dangling, ...]:
        """Return the references of a schema that lead nowhere."""
        kept = self._dangling.get(schema.sha256)
        if kept is None:
            kept = self._dangling[schema.sha256] = tuple(dangling(schema.value))
        return kept

    def once(self, make: Callable[[S], T], said: S) -> T:
        """Return what `make` gives for a checked value: the same object for all cases that say the same.

        Thousands of cases wait in a collection, most of them in the same words, and Python's garbage collector looks at
        every object of each again and again. What checks let through is plain enough that its `repr` says all of it.
        """
        known = self._said.setdefault(make, {})
        words = repr(said)
        if words not in known:
            known[words] = make(said)
        return known[words]  # type: ignore[return-value]  # `make` made it

    def field_problem(self, field: str, scorer: Scorer, gold: Json, *, bounded: bool) -> str | None:
        """Say what is wrong with a field that a case names; `bounded`: its score is to be held against a threshold."""
        key = (id(scorer), field, bounded)  # compiled schemas live as long as the cache
        if key in self._sound:
            return None
        problem = unknown_field(field, scorer.program, gold)
        if problem is None and declared(field, scorer.program):
            problem = without_score(field, scorer.program) if bounded else None
            if problem is None:
                self._sound.add(key)
        return problem

    def scorer(
        self,
        schema: SchemaPlace,
        semantics: str | None,
        nulls: str | None,
        overrides: Mapping[str, Json],
        post_process: Json = None,
        rules: Json = None,
    ) -> Scorer | tuple[SchemaError, ...]:
        """Return the compiled schema, or every configuration mistake in it."""
        further = ""
        if overrides or post_process is not None or rules:
            further = canonical_json([dict(overrides), post_process, rules])
        key = (schema.sha256, semantics or "", nulls or "", further)
        kept = self._compiled.get(key)
        if kept is None:
            try:
                how = {"semantics": semantics, "nulls": nulls, "overrides": overrides, "post_process": post_process}
                how["as_published"] = False
                how |= {"rules": rules} if rules else {}
                kept = self._compile(schema.value, **how)
            except SchemaError as error:
                kept = error.errors
            self._compiled[key] = kept
        return kept


def _compiler() -> Callable[..., Scorer]:
    from pytest_extract.core.scorer import compile_schema

    return compile_schema


def _read_prompt(path: Path) -> Prompt:
    text = read_text(path)
    return Prompt(path=path, text=text, sha256=text_digest(text))


def mistakes_around(source: SourceFile, steps: Steps) -> tuple[Mistake, ...]:
    """Return the source's own mistakes at or around a place, so that no invalid part is used."""
    return tuple(
        mistake
        for mistake in source.mistakes
        if mistake.steps[: len(steps)] == steps or steps[: len(mistake.steps)] == mistake.steps
    )


ANNOTATION_PREFIXES: Final = ("evaluation_config", "x-eval-")
"""How the keys of either annotation dialect start."""
_DEEPEST: Final = 200


def compile_structure(schema: Json, **_how_to_score: Json) -> Scorer:
    """Compile a schema without its scoring annotations; never raises for a metric's name."""
    from pytest_extract.core.scorer import compile_schema

    return compile_schema(without_annotations(schema), semantics="default")


def without_annotations(schema: Json, drop: tuple[str, ...] = ANNOTATION_PREFIXES, level: int = 0) -> Json:
    """Return a copy of a schema without scoring annotations: those whose keys start with one of `drop`."""
    if level > _DEEPEST:
        return schema
    if isinstance(schema, dict):
        schema = {key: part for key, part in schema.items() if not str(key).startswith(drop)}
    return map_parts(schema, partial(without_annotations, drop=drop, level=level + 1))
