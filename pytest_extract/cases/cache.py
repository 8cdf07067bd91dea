"""What several cases share, read and compiled once: schemas, golds, defaults and prompts.

Listing cases and the inputs of their outputs needs neither the project's own metrics nor a judge: pass
`compile_structure` to `SchemaCache`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from pytest_extract.cases.embedded_schema import Dangling, dangling, embedded_schema
from pytest_extract.cases.json_text import Steps, pointer_steps
from pytest_extract.cases.model import Prompt, Repeat, Thresholds
from pytest_extract.cases.patterns import declared, unknown_field, without_score
from pytest_extract.cases.review_file import REVIEWED, GoldReview, read_reviews, review_path
from pytest_extract.cases.sources import Mistake, SourceFile, path_from, reached, read_source, read_text
from pytest_extract.core.gates import GateConfig
from pytest_extract.core.schema.source import map_parts
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import Json, canonical_json, text_digest
from pytest_extract.errors import CaseFileError, SchemaError

if TYPE_CHECKING:
    from pytest_extract.core.scorer import Scorer


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
