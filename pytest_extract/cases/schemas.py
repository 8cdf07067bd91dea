"""What several cases share, read and compiled once: schemas, golds, defaults and prompts; and the fields of schemas.

A schema out of a file stands by itself, with what it refers to elsewhere in that file and in others brought along.
Cases name fields as pattern paths (`items[].price`) and concrete ones (`items[3].price`). Listing cases and the inputs
of their outputs needs neither the project's own metrics nor a judge: pass `compile_structure` to `SchemaCache`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar
from urllib.parse import unquote

from pytest_extract.cases.edit import REVIEWED, GoldReview, read_reviews, review_path
from pytest_extract.cases.model import Prompt
from pytest_extract.cases.sources import (
    SourceFile,
    Steps,
    path_from,
    pointer_advice,
    pointer_steps,
    reached,
    read_source,
    read_text,
    read_value,
)
from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object, Program, Skip, nodes_at
from pytest_extract.core.schema.source import EVERYWHERE, SchemaSource, escape, map_children, map_parts, schema_objects
from pytest_extract.core.validate import Validator, Violation
from pytest_extract.core.values import (
    AnyKey,
    FieldPath,
    FieldStep,
    Json,
    Step,
    canonical_json,
    iter_leaves,
    parse_field,
    path_text,
    text_digest,
    usual,
)
from pytest_extract.errors import CaseFileError, SchemaError, nearest

if TYPE_CHECKING:
    from pytest_extract.core.scorer import Scorer


T = TypeVar("T")

# --- the fields of a schema


def field_problem(
    text: str, program: Program, gold: Json, *, bounded: bool = False, absence: str | None = None
) -> str | None:
    """Say what is wrong with a field that a case names; None when the schema declares it, or the gold has it.

    `bounded`: its score is held against a threshold. `absence`: what is asked of it, which nobody would see held where
    it is skipped, and which a value of the gold contradicts.
    """
    steps = parse_field(text)
    if steps is None:
        return f"{text!r} is no field; write it as `a.b`, `items[].price` or `items[3].price`"
    nodes = [*nodes_at(program.root, steps)]
    if not nodes and path_text(steps) not in program.patterns:
        if not values_at(gold, text):
            return f"the schema has no field {text!r}{nearest(path_text(steps), program.patterns)}"
        around = [] if isinstance(steps[-1], AnyKey) else nodes_at(program.root, steps[:-1])
        if any(isinstance(node, Object) and node.extra == "compare" for node in around):
            return None
        return f"{text!r} is not compared by itself: name what is around it, or declare it in the schema"
    unseen = {
        "must": all(map(_is_skipped, nodes)),  # there are none inside of what is skipped
        "either": bool(nodes) and all(isinstance(node, Object) and not node.checks for node in nodes),
    }
    scores = [
        isinstance(node, Leaf)
        or (isinstance(node, Object | Array) and bool(node.checks))
        or (isinstance(node, Array) and node.result is not None)
        for node in nodes
        if not _is_skipped(node)
    ]
    if (bounded and not any(scores)) or (absence is not None and unseen[absence]):
        return f"{text!r} is skipped, or has no score of its own: name the fields in it"
    if absence == "must" and has_value(gold, text):
        return f"{text!r} must stay empty, but the gold has a value there"
    return None


def _is_skipped(node: Node) -> bool:
    return isinstance(node, Skip) or (isinstance(node, Leaf) and node.skipped)


def is_skipped(text: str, program: Program) -> bool:
    """Whether the schema declares a field that nothing looks at."""
    nodes = [*nodes_at(program.root, parse_field(text) or ())]
    return (bool(nodes) or usual(text) in program.patterns) and all(map(_is_skipped, nodes))


def has_value(gold: Json, text: str) -> bool:
    """Whether the gold has a value at a field: something other than null, empty text and what holds only those."""
    return any(leaf not in (None, "") for _, value in values_at(gold, text) for _, leaf in iter_leaves(value))


def values_at(value: Json, text: str) -> list[tuple[tuple[Step, ...], Json]]:
    """Return every value that a field's path leads to, with its concrete place."""
    found: list[tuple[tuple[Step, ...], Json]] = [((), value)]
    for step in parse_field(text) or ():
        found = [((*place, key), part[key]) for place, part in found for key in _keys_at(part, step)]
    return found


def _keys_at(value: Json, step: FieldStep) -> Iterable[Any]:
    """Return the keys, or indices, of a value that a step means."""
    if isinstance(value, dict):
        return value if isinstance(step, AnyKey) else [step] if isinstance(step, str) and step in value else ()
    if isinstance(value, list) and not isinstance(step, str | AnyKey):
        return range(len(value)) if step is None else [step] if 0 <= step < len(value) else ()
    return ()


# --- schemas out of files

_METASCHEMAS: Final = ("http://json-schema.org/", "https://json-schema.org/")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_PROJECT_FILES: Final = ("pyproject.toml", "pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", ".git")
_OF_DOCUMENTS: Final = ("$id", "id", "$schema")
"""Keywords that would make a definition a document of its own."""
_WRAPPERS: Final = {
    "json_schema": ("json_schema/schema", "schema"),
    "function": ("function/parameters", "parameters"),
}
"""`type` of what a model's API takes in place of a schema -> where the schema stands in it."""
_OF_SCHEMAS: Final = frozenset(
    (*EVERYWHERE, "type", "enum", "const", "required", "$ref", "$dynamicRef", "evaluation_config")
)
"""A schema's root has at least one of these keywords, unless it accepts any value."""


class EmbeddedSchema(NamedTuple):
    """A self-contained schema. `moved`: name in its `$defs` -> place in the file of that definition.

    `others`: further files that it refers to.
    """

    value: Json
    moved: Mapping[str, Steps]
    others: tuple[Path, ...] = ()


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
        return _Bundler(root, _Target(file, pointer), read).bundled(inside)
    except RecursionError:  # told where the schema is compiled
        return EmbeddedSchema(inside, {})


class _Bundler:
    def __init__(self, root: Json, start: _Target, read: Callable[[Path], Json]) -> None:
        self._start = start
        self._read = read
        self._sources: dict[Path, SchemaSource | None] = {start.file: SchemaSource(root)}
        self._names: dict[_Target, str] = {}
        self._taken: set[str] = set()
        self._waiting: list[tuple[_Target, Json]] = []

    def bundled(self, inside: dict[str, Json]) -> EmbeddedSchema:
        own = inside["$defs"] if isinstance(inside.get("$defs"), dict) else {}
        self._taken = {*own}
        value = self._rewritten(inside, self._start)
        brought: dict[str, Json] = {}
        for target, definition in self._waiting:  # which grows on the way
            made = self._rewritten(definition, target)
            if target.file != self._start.file and isinstance(made, dict):
                made = {name: part for name, part in made.items() if name not in _OF_DOCUMENTS}
            brought[self._names[target]] = made
        (_, root), *others = [(file, source.root) for file, source in self._sources.items() if source is not None]
        files = tuple(file for file, _ in others)
        if not brought:
            return EmbeddedSchema(inside, {}, files)
        moved = {
            name: pointer_steps(root, target.pointer) or ()
            for target, name in self._names.items()
            if target.file == self._start.file
        }
        return EmbeddedSchema({**value, "$defs": {**(value["$defs"] if own else {}), **brought}}, moved, files)

    def _rewritten(self, schema: Json, at: _Target) -> Json:
        if not isinstance(schema, dict):
            return schema
        new = map_children(schema, at.pointer, lambda part, pointer: self._rewritten(part, _Target(at.file, pointer)))
        ref = schema.get("$ref")
        target = self._target(ref, at.file) if isinstance(ref, str) else None
        return new if target is None else {**new, "$ref": self._place_of(target)}

    def _target(self, ref: str, file: Path) -> _Target | None:
        likely, (name, _, fragment) = [(file, ref)], ref.partition("#")
        if name and not _URL.match(name):
            likely.append((Path(path_from(str(file.parent), unquote(name))), f"#{fragment}"))
        for place, inside in likely:
            source = self._source(place)
            pointer = None if source is None else source.target(inside)
            if pointer is not None:
                return _Target(place, pointer)
        return None

    def _source(self, file: Path) -> SchemaSource | None:
        """Return a file as a schema; None where it is no file of the project, or cannot be read."""
        if file not in self._sources:
            self._sources[file] = None
            try:
                if file.resolve().is_relative_to(_project_folder(self._start.file)) and file.is_file():
                    self._sources[file] = SchemaSource(self._read(file))
            except (CaseFileError, OSError, ValueError):
                pass
        return self._sources[file]

    def _place_of(self, target: _Target) -> str:
        start = self._start
        if target == start:
            return "#"
        if target.file == start.file and target.pointer.startswith(f"{start.pointer}/"):
            return f"#{target.pointer.removeprefix(start.pointer)}"
        if target not in self._names:
            source = self._source(target.file)
            assert source is not None  # noqa: S101 - else nothing would have been found in it
            last = target.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
            name = last or ("root" if target.file == start.file else target.file.stem)
            names = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
            self._names[target] = next(free for free in names if free not in self._taken)
            self._taken.add(self._names[target])
            self._waiting.append((target, source.at(target.pointer)))
        return f"#/$defs/{escape(self._names[target])}"


def _project_folder(file: Path) -> Path:
    """Return the folder that references may not leave: the project's, else the working directory or the file's own."""
    folder = file.resolve().parent
    above = (folder, *folder.parents)
    marked = (each for each in above if any((each / name).exists() for name in _PROJECT_FILES))
    here = Path.cwd()
    return next(marked, here if here in above else folder)


def schema_problems(schema: Json, validator: Validator) -> Sequence[Violation]:
    """Return all that is wrong with a schema itself, or else its references that lead nowhere in it."""
    return validator.problems or dangling(schema)


def dangling(schema: Json) -> list[Violation]:
    """Return the references of a schema that lead nowhere in it.

    None for a schema that holds documents of their own (with an `$id`): what a reference means inside those is
    jsonschema's to say.
    """
    source = SchemaSource(schema)
    found: list[Violation] = []
    for pointer, part in schema_objects(schema):
        if pointer and isinstance(part.get("$id"), str):
            return []
        ref = part.get("$ref")
        if isinstance(ref, str) and not ref.startswith(_METASCHEMAS) and source.target(ref) is None:
            shared = {key: schema[key] for key in ("$defs", "definitions") if isinstance(schema.get(key), dict)}
            known = [f"#/{key}/{escape(str(name))}" for key, names in shared.items() for name in names]
            advice = "; nothing is fetched: put what it means under `$defs`"
            hint = nearest(ref, known) if ref.startswith("#") else advice
            message = f"the reference {ref!r} leads nowhere in the schema or the project's folder{hint}"
            path = FieldPath(pointer_steps(schema, f"{pointer}/$ref") or ())
            found.append(Violation(path=path, message=message))
    return found


def wrapped_schema(value: Json) -> str | None:
    """Return where the schema stands, below a root that is no schema, as the rest of a JSON pointer."""
    if not isinstance(value, dict):
        return None
    if isinstance(kind := value.get("type"), str) and kind in _WRAPPERS:
        return next((path for path in _WRAPPERS[kind] if pointer_steps(value, f"/{path}") is not None), None)
    if any(key in _OF_SCHEMAS or key.startswith("x-eval-") for key in value):
        return None
    inner = [key for key, part in value.items() if isinstance(part, dict) and ("type" in part or "properties" in part)]
    return escape(inner[0]) if len(inner) == 1 else None


def schema_at(file: Path, pointer: str = "") -> Json:
    """Return the schema at a JSON pointer of a file, with what it refers to elsewhere; raises CaseFileError."""
    root = read_value(file)
    steps = pointer_steps(root, pointer)
    if steps is None:
        raise CaseFileError(f"nothing stands at #{pointer}{pointer_advice(root, pointer)}", path=file)
    value = reached(root, steps)
    inner = wrapped_schema(value)
    if inner is not None:
        message = f"declares nothing at its root: the schema is its '{inner}'; give {file}#{pointer}/{inner}"
        raise CaseFileError(message, path=file)
    return embedded_schema(root, pointer, value, file, read_value).value


# --- what several cases share


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
    others: tuple[Path, ...] = ()

    def steps_to(self, inside: Steps) -> Steps:
        """Return the steps in the source to a place inside the schema."""
        if len(inside) > 1 and inside[0] == "$defs" and inside[1] in self.moved:
            return (*self.moved[str(inside[1])], *inside[2:])
        return (*self.steps, *inside)


class SchemaCache:
    """Reads each file once, and compiles each schema once per way of scoring it.

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
        if compile_schema is None:
            from pytest_extract.core import scorer

            compile_schema = scorer.compile_schema
        self._compile = compile_schema
        self._made: dict[tuple[object, ...], Any] = {}

    def _once(self, make: Callable[[], T], *key: object) -> T:
        if key not in self._made:
            try:
                self._made[key] = make()
            except (CaseFileError, SchemaError) as error:
                self._made[key] = error
        made = self._made[key]
        if isinstance(made, Exception):
            raise made.with_traceback(None)
        return made  # type: ignore[no-any-return]  # `make` made it

    def source(self, place: str) -> SourceFile:
        """Return a JSON or YAML file; raises CaseFileError when it cannot be read."""
        return self._once(lambda: read_source(Path(place)), "source", place)

    def defaults(self, place: str) -> SourceFile:
        """Return a file that `defaults` of case files name; raises CaseFileError when it cannot be read."""
        return self._once(lambda: read_source(Path(place), "yaml"), "defaults", place)

    @property
    def defaults_files(self) -> list[Path]:
        """The files that were read as `defaults`."""
        return [Path(str(key[1])) for key in self._made if key[0] == "defaults"]

    def prompt(self, place: str) -> Prompt:
        """Return a prompt file; raises CaseFileError when it cannot be read."""

        def read() -> Prompt:
            text = read_text(Path(place))
            return Prompt(path=Path(place), text=text, sha256=text_digest(text))

        return self._once(read, "prompt", place)

    def review(self, gold_path: Path, name: str) -> GoldReview:
        """Return the review of a gold; raises CaseFileError when its file cannot be read."""
        path = review_path(gold_path)
        return self._once(lambda: read_reviews(path), "reviews", path).get(name, REVIEWED)

    def schema(self, source: SourceFile, whole: Steps, inside: Steps = ()) -> SchemaPlace:
        """Return the schema inside a document, which is the part of a source at `whole`.

        Its references mean places of the document, or of other files.
        """

        def read_other(file: Path) -> Json:
            return self.source(str(file)).value

        def make() -> SchemaPlace:
            root = reached(source.value, whole)
            made = EmbeddedSchema(reached(root, inside), {})
            text = canonical_json(made.value)
            if '"$ref"' in text:
                pointer = "".join(f"/{escape(str(step))}" for step in inside)
                made = embedded_schema(root, pointer, made.value, source.path, read_other)
                text = canonical_json(made.value)
            moved = {name: (*whole, *place) for name, place in made.moved.items()}
            return SchemaPlace(made.value, source, (*whole, *inside), text_digest(text), moved, made.others)

        # what a case holds itself is not kept: each line of a dataset would be
        return make() if whole else self._once(make, "schema", source.path, source.first_line, inside)

    def validator(self, schema: SchemaPlace) -> Validator:
        """Return the validator of a schema."""
        return self._once(lambda: Validator(schema.value), "validator", schema.sha256)

    def problems(self, schema: SchemaPlace) -> Sequence[Violation]:
        """Return all that is wrong with a schema itself."""
        return self._once(lambda: schema_problems(schema.value, self.validator(schema)), "problems", schema.sha256)

    def scorer(self, schema: SchemaPlace, **how: Json) -> Scorer:
        """Return the compiled schema; raises SchemaError with every configuration mistake in it."""
        if not how.get("rules"):
            how.pop("rules", None)
        compiled = partial(self._compile, schema.value, as_published=False, **how)
        return self._once(compiled, "scorer", schema.sha256, canonical_json(how))


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
