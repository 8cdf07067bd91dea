"""Case file -> cases and mistakes: one case, `documents:`, `cases:` or `dataset:`, each with `defaults:`.

Of each case the files are read, the schema is compiled, gold and field names are checked against it, and its `variants`
are made: the same case on an altered document.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from pytest_extract.cases.edit import review_name
from pytest_extract.cases.model import (
    DOCUMENT_FORMS,
    FILE_KEYS,
    NOTHING,
    URL,
    Case,
    CaseSettings,
    FilePart,
    Modality,
    Thresholds,
    case_keys,
    case_settings,
    checked_value,
)
from pytest_extract.cases.schemas import SchemaCache, SchemaPlace, field_problem, values_at, wrapped_schema
from pytest_extract.cases.sources import (
    Mistake,
    SourceFile,
    Steps,
    errors_of,
    is_file,
    mistake_in,
    path_and_pointer,
    path_from,
    pointer_advice,
    pointer_steps,
    reached,
    read_source,
    source_lines,
)
from pytest_extract.core.case_result import AutoAccept, Origin
from pytest_extract.core.gates import GateConfig
from pytest_extract.core.results import RuleStatus
from pytest_extract.core.schema.annotations import RULES_KEYWORD
from pytest_extract.core.uncompared import find_uncompared
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import MISSING, FieldPath, Json, json_type, replaced, usual, value_at
from pytest_extract.documents import Document
from pytest_extract.errors import CaseFileError, SchemaError, nearest

if TYPE_CHECKING:
    from pytest_extract.core.scorer import Scorer
    from pytest_extract.documents.altered import Alteration

SUFFIXES = (".extract.yaml", ".extract.yml")
_MAGIC = re.compile(r"[*?\[]")
_A_CASE: Final = "a mapping with document, schema and gold"


def matched_documents(folder: Path, patterns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that the patterns match, sorted, each once; what is hidden is left out.

    Of each its path relative to the folder, with `/`, and the part of it that the wildcards match, without suffix:
    the case's id, which stays the same when other documents come and go. Raises CaseFileError, with the pattern in its
    message, for one that matches nothing or cannot be used.
    """
    seen: set[str] = set()
    for pattern in patterns:
        parts = PurePosixPath(pattern).parts
        fixed = next((at for at, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
        base = folder.joinpath(*parts[:fixed])
        try:
            paths = [path for path in base.glob("/".join(parts[fixed:])) if path.is_file()]
        except (ValueError, NotImplementedError, OSError) as error:
            raise CaseFileError(f"the pattern {pattern!r} cannot be used: {error}", path=folder) from None
        names = sorted(path.relative_to(base).as_posix() for path in paths)
        found = [name for name in names if not any(part.startswith(".") for part in PurePosixPath(name).parts)]
        if not found:
            raise CaseFileError(f"no document matches {pattern!r} in {folder}", path=folder)
        for name in found:
            file = PurePosixPath(*parts[:fixed], name).as_posix()
            if file not in seen:
                seen.add(file)
                yield file, PurePosixPath(name).with_suffix("").as_posix()


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """What a case file gives: the cases that can run, and every mistake, both in the order of the file."""

    path: Path
    cases: tuple[Case, ...]
    errors: tuple[CaseFileError, ...]


def case_name(path: Path) -> str:
    """Return the name of a case file without its suffix: the id of its one case, unless the case has its own."""
    name = path.name
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), None) or path.stem


def load_cases(path: Path, cache: SchemaCache | None = None) -> LoadedFile:
    """Load every case of a file; a user's mistake is never raised, it is one of `errors`.

    A mistake keeps only its own case from running; one in `defaults` keeps the cases that use what is wrong.
    `cache` holds what files share; hand the same one to every call of a collection. No document is opened.
    """
    try:
        source = read_source(path, "yaml")
    except CaseFileError as error:
        return LoadedFile(path, (), (error,))
    loader = _Loader(source, SchemaCache() if cache is None else cache)
    cases = tuple(loader.load())
    return LoadedFile(path, cases, errors_of(loader.mistakes, path))


class _Loader:
    """Loads one case file."""

    def __init__(self, source: SourceFile, cache: SchemaCache) -> None:
        self._source = source
        self._file = CaseSettings(FilePart(source, (), source.value), None, {}, mistakes=[*source.mistakes])
        self.mistakes = self._file.mistakes
        self._name = case_name(source.path)
        self._cache = cache
        self._defaults: FilePart | None = None
        self._ids: dict[str, tuple[int, Steps]] = {}

    def load(self) -> Iterator[Case]:
        """Yield the cases of the file; its mistakes are in `mistakes` when the iteration is over."""
        root = self._source.value
        if not isinstance(root, dict):
            found = "an empty file" if root is None else json_type(root)
            self._file.tell(f"a case file is {_A_CASE}, or with cases or dataset; found {found}")
            return
        if root.get("defaults") is not None:
            self._defaults = self._read_defaults(root["defaults"])
            if self._defaults is None:
                return
        if not all(mistake.steps for mistake in self._source.mistakes):
            return
        forms = [key for key in ("cases", "dataset") if key in root]
        for key in root.keys() - {*FILE_KEYS} if forms else ():
            hint = "; put it under `defaults`" if key in case_keys() else nearest(key, FILE_KEYS)
            self._file.tell(f"{key!r} cannot stand beside `{forms[0]}`{hint}", key, on_key=True)
        if len(forms) > 1:
            self._file.tell("has both `cases` and `dataset`; keep one", "dataset", on_key=True)
        elif "dataset" in root:
            yield from self._dataset(root["dataset"])
        elif "cases" not in root:
            keys = {key: value for key, value in root.items() if key not in FILE_KEYS}
            yield from self._case(FilePart(self._source, (), keys), self._name, 1)
        elif isinstance(cases := root["cases"], list) and cases:
            places = self._source.places((("cases", index), False) for index in range(len(cases)))
            for index, (raw, place) in enumerate(zip(cases, places, strict=True)):
                own = FilePart(self._source, ("cases", index), raw)
                yield from self._case(own, f"{self._name}-{index + 1}", place.line)
        else:
            self._file.tell("`cases` must be a list with at least one case", "cases")

    def _read_defaults(self, value: Json) -> FilePart | None:
        """Return the defaults, or None where they cannot be used: each case may lack what they hold."""
        layer = FilePart(self._source, ("defaults",), value)
        if isinstance(value, str):
            source = self._file.read("defaults", value, self._cache.defaults)
            if source is None:
                return None
            self.mistakes += source.mistakes
            layer = FilePart(source, (), source.value)
        if isinstance(layer.value, dict):
            return layer
        wanted = "a mapping of case keys, or the path of a YAML file"
        message = f"`defaults` must be {wanted}, not {json_type(layer.value)}"
        self.mistakes.append(Mistake(layer.source, layer.steps, message))
        return None

    def _dataset(self, value: Json) -> Iterator[Case]:
        if not isinstance(value, str) or not value.strip():
            self._file.tell(f"`dataset` must be the path of a JSONL file, not {json_type(value)}", "dataset")
            return
        path = self._file.place_of("dataset", value)
        if path is None:
            return
        number = 0
        try:
            for number, line in source_lines(Path(path)):
                if isinstance(line, CaseFileError):
                    self.mistakes.append(mistake_in(line))
                else:
                    self.mistakes += line.mistakes
                    yield from self._case(FilePart(line, (), line.value), f"{self._name}-{number}", number)
        except CaseFileError as error:
            self.mistakes.append(mistake_in(error))
            return
        if not number:
            message = f"`dataset`: {path} has no line; a dataset is JSONL with at least one case, an object a line"
            self._file.tell(message, "dataset")

    def _case(self, own: FilePart, name: str, line: int) -> Iterator[Case]:
        if not isinstance(own.value, dict):
            message = f"a case is {_A_CASE}, not {json_type(own.value)}"
            self.mistakes.append(Mistake(own.source, own.steps, message))
            return
        settings = case_settings(own, self._defaults)
        if "documents" in settings.values and not settings.mistakes:
            yield from self._case_of_each(settings, line)
        else:
            name = str(settings.values.get("id", name))
            other = self._ids.setdefault(name, (line, own.steps))
            if other != (line, own.steps):
                message = f"the id {name!r} is taken by the case of line {other[0]}"
                settings.mistakes.append(Mistake(own.source, (*own.steps, "id"), message))
            yield from self._built(settings, name, line)
        self.mistakes += settings.mistakes

    def _built(self, settings: CaseSettings, name: str, line: int) -> Iterator[Case]:
        """Yield a case and those that its `variants` make of it; a run that writes golds has no use for them."""
        case = _CaseBuilder(settings, self._cache).build(name, line)
        if case is None:
            return
        yield case
        if "variants" not in settings.values or self._cache.updates_golds:
            return
        from pytest_extract.documents.altered import alterations

        for each in alterations(settings.values["variants"]):
            altered = altered_case(case, each)
            if altered is not None and altered.id not in self._ids:
                self._ids[altered.id] = (case.line, (*case.steps, "variants"))
                yield altered
                continue
            message = f"`variants`: the gold has no single value at {each.how!r} to take out"
            if altered is not None:
                message = f"the id {altered.id!r} is taken; keep one of the variants, or cases, that have it"
            settings.tell(message, "variants")

    def _case_of_each(self, settings: CaseSettings, line: int) -> Iterator[Case]:
        """Yield a case for each document that the patterns of `documents` match."""
        folder = Path(settings.layer_of("documents").source.folder)
        golds: set[str] = set()
        try:
            for file, path in matched_documents(folder, settings.values["documents"]):
                values = {"id": path, **settings.values, "document": file}
                for key in ("id", "gold"):
                    if isinstance(values.get(key), str):
                        values[key] = values[key].replace("{stem}", PurePosixPath(file).stem).replace("{path}", path)
                name, gold = str(values["id"]), values.get("gold")
                place = line, (*settings.own.steps, file)
                unfit = checked_value("id", name)[1]
                is_taken = self._ids.setdefault(name, place) != place
                if unfit:
                    settings.tell(f"the id of {file} {unfit[0].message}", "documents")
                elif is_taken or (isinstance(gold, str) and gold in golds):
                    key = "id" if is_taken else "gold"
                    advice = f"with {{path}}, or give patterns entries of `cases`, each with its own `{key}`"
                    message = f"{file} has the {key} {values[key]!r} of another case; write `{key}` {advice}"
                    settings.tell(message, "documents")
                else:
                    golds |= {gold} if isinstance(gold, str) else set()
                    of_document = replace(settings, values=values, mistakes=[])
                    yield from self._built(of_document, name, line)
                    self.mistakes += of_document.mistakes
        except CaseFileError as error:
            settings.tell(f"`documents`: {error.message}", "documents")


# --- one case

GOLD_ERRORS: Final = 5
"""Schema violations of one gold that are listed at once."""
ALLOW_UNCOMPARED: Final = "declare what stands there, or take the gold as it is with `uncompared: allow`"
ACCEPT_RULE: Final = "fix the gold or the rule (`gates: {rules: false}` only reports it)"
ACCEPT_GOLD: Final = "fix it, or take it as it is with `gates: {schema: false}`"


_AS_THEY_ARE: Final = ({*case_keys()} & Case.__dataclass_fields__.keys()) - {
    "id", "document", "schema", "gold", "prompt", "semantics", "modality", "uncompared",
    "thresholds", "gates", "auto_accept",
}  # fmt: skip
"""Keys whose checked value is a field of `Case` as it is."""


@dataclass(frozen=True, slots=True)
class _CaseBuilder:
    """Builds one case. Every mistake is told of in its settings; a case with one is not built."""

    _settings: CaseSettings
    _cache: SchemaCache

    def build(self, name: str, line: int) -> Case | None:
        """Return the case, or None after telling every mistake that keeps it from running."""
        values, settings, own = self._settings.values, self._settings, self._settings.own
        self._require()
        schema, gold = self._schema(), self._gold()
        document = Document(text=values["text"]) if "text" in values else None
        if document is None and "document" in values:
            key = "document" if "document" in settings.raw else "documents"
            document = settings.read(key, values["document"], Document)
        prompt = settings.read("prompt", values["prompt"], self._cache.prompt) if "prompt" in values else None
        scorer = self._scorer(schema) if schema is not None else None
        gates = GateConfig.from_json(values.get("gates", {}))
        if scorer is not None:
            self._check_fields(scorer, None if gold is None else gold.value)
        if schema is not None:
            for problem in self._cache.problems(schema) if gates.schema or not isinstance(schema.value, dict) else ():
                message = f"the schema is no valid JSON Schema at {problem.pointer}: {problem.message}"
                self._tell(schema.source, schema.steps_to(problem.path), message)
        uncompared, draft, is_missing = None, False, False
        if gold is not None:
            is_missing = self._cache.updates_golds == "new" and not gold.source.path.exists()
            try:  # the file beside the gold says whether somebody has reviewed it
                review = review_name(gold.steps, gold.source.first_line, name)
                draft = not self._cache.review(gold.source.path, review).reviewed
            except CaseFileError as error:
                settings.mistakes.append(mistake_in(error))
            if scorer is not None and schema is not None and not is_missing:
                if not self._cache.updates_golds:
                    self._check_gold(name, scorer, schema, gold, gates)
                uncompared = find_uncompared(scorer.program, gold.value)
                is_allowed = self._cache.structure_only or values.get("uncompared") == "allow"
                if uncompared is not None and uncompared.is_most and not is_allowed:
                    message = f"{uncompared}; {ALLOW_UNCOMPARED}"
                    self._tell(gold.source, (*gold.steps, *uncompared.first), message, on_key=True)
        if settings.mistakes:
            return None
        if document is None or schema is None or scorer is None or gold is None:
            return None  # the defaults that may name them cannot be read
        return Case(
            id=name,
            path=own.source.path,
            line=line,
            steps=own.steps,
            document=document,
            schema=schema.value,
            scorer=scorer,
            gold=gold.value,
            gold_path=gold.source.path,
            gold_steps=gold.steps,
            gold_line=gold.source.first_line,
            gold_is_missing=is_missing,
            draft=draft,
            schema_path=schema.source.path,
            schema_sha256=schema.sha256,
            schema_files=schema.others,
            prompt=prompt,
            semantics=scorer.semantics,
            modality=values.get("modality") or modality_of(document.media_type),
            uncompared=uncompared,
            thresholds=Thresholds.of(values.get("thresholds", {})),
            gates=gates,
            auto_accept=AutoAccept(**values["auto_accept"]) if "auto_accept" in values else None,
            **{key: value for key, value in values.items() if key in _AS_THEY_ARE},
        )

    def _tell(self, source: SourceFile, steps: Steps, message: str, *, on_key: bool = False) -> None:
        self._settings.mistakes.append(Mistake(source, steps, message, on_key))

    def _require(self) -> None:
        settings = self._settings
        if settings.broken:
            return  # an unknown key may be a misspelt one
        missing = [f"`{key}`" for key in ("schema", "gold") if key not in settings.raw]
        forms = [form for form in DOCUMENT_FORMS if form in settings.raw]
        if not forms:
            missing.append("either `document` (a path), `documents` (a pattern) or `text`")
        if missing:
            self._tell(settings.own.source, settings.own.steps, f"the case needs {' and '.join(missing)}")
        if len(forms) > 1:
            message = f"the case has both `{forms[0]}` and `{forms[1]}`; keep one of them"
            settings.tell(message, forms[-1], on_key=True)

    def _part(self, key: str) -> FilePart | None:
        """Return what a key has for its value, or the part that it means of the file that it names."""
        if key not in self._settings.values:
            return None
        value, layer = self._settings.values[key], self._settings.layer_of(key)
        if not isinstance(value, str):
            return FilePart(layer.source, (*layer.steps, key), value)
        name, pointer = path_and_pointer(value, lambda name: is_file(path_from(layer.source.folder, name)))
        source = self._settings.read(key, name, self._cache.source)
        if source is None:
            return None
        steps = pointer_steps(source.value, pointer)
        if steps is None:
            advice = pointer_advice(source.value, pointer)
            message = f"`{key}`: nothing stands at the pointer {pointer!r} of {source.path.name}{advice}"
            self._settings.tell(message, key)
            return None
        # no part that is wrong, or stands in one that is, is used
        found = [each for each in source.mistakes if all(map(operator.eq, each.steps, steps))]
        self._settings.mistakes += found
        return None if found else FilePart(source, steps, reached(source.value, steps))

    def _schema(self) -> SchemaPlace | None:
        part, value = self._part("schema"), self._settings.values.get("schema")
        if part is None:
            return None
        if not isinstance(value, str):
            return self._cache.schema(part.source, part.steps)
        place = self._cache.schema(part.source, (), part.steps)
        from pytest_extract.schema_tools.resolve import is_gemini

        inner = wrapped_schema(place.value)
        if inner is not None:
            at = f"{value if '#' in value else f'{value}#'}/{inner}"
            message = f"`schema` declares nothing at its root: the schema is its '{inner}'; write `{at}`"
        elif is_gemini(place.value):
            message = (
                f"`schema` is of Gemini's dialect (types in capitals), not JSON Schema; "
                f"`pytest-extract schema resolve {value} --from gemini -o FILE` translates it"
            )
        else:
            return place
        self._settings.tell(message, "schema")
        return None

    def _gold(self) -> FilePart | None:
        value = self._settings.values.get("gold")
        if self._cache.updates_golds == "new" and isinstance(value, str) and not URL.match(value) and "#/" not in value:
            path = Path(path_from(self._settings.layer_of("gold").source.folder, value))
            if not path.exists():
                return FilePart(SourceFile(path), (), None)
        return self._part("gold")

    def _scorer(self, schema: SchemaPlace) -> Scorer | None:
        how = {key: self._settings.values.get(key) for key in ("semantics", "nulls", "post_process", "rules")}
        try:
            return self._cache.scorer(schema, **how, overrides=self._settings.values.get("overrides", {}))
        except SchemaError as found:
            for error in found.errors:
                if error.at:
                    is_override = error.at[0] == "overrides"
                    place = f"{error.at[1]}: " if is_override else ""
                    message = f"`{error.at[0]}`: {place}{error.message}"
                    self._settings.tell(message, *error.at, on_key=is_override)
                else:
                    steps = pointer_steps(schema.value, error.pointer) or ()
                    where = f"at {error.pointer}: " if error.pointer else ""
                    self._tell(schema.source, schema.steps_to(steps), f"the schema {where}{error.message}")
            return None

    def _check_fields(self, scorer: Scorer, gold: Json) -> None:
        scored = not self._cache.structure_only
        absent = self._settings.values.get("absent", {})
        # as written, so that a name is checked even if its value is invalid
        named = [(*found, way) for way in _NAMES_OF_FIELDS for found in values_at(dict(self._settings.raw), way)]
        for steps, value, way in named:
            field = str(steps[-1]) if way.endswith("*") else value
            if not isinstance(field, str):
                continue
            bounded = scored and steps[0] == "thresholds"
            absence = absent.get(usual(field)) if scored and steps[0] == "absent" else None
            problem = field_problem(field, scorer.program, gold, bounded=bounded, absence=absence)
            if problem is not None:
                self._settings.tell(problem, *steps, on_key=steps[-1] != "path")
        for name in self._settings.values.get("thresholds", {}).get("measures", {}) if scored else ():
            if name not in scorer.measures:
                known = nearest(name, scorer.measures) or "; `@extend.measure()` in a conftest.py makes one"
                message = f"no measure of the project is called {name!r}{known}"
                self._settings.tell(message, "thresholds", "measures", name, on_key=True)

    def _check_gold(self, name: str, scorer: Scorer, schema: SchemaPlace, gold: FilePart, gates: GateConfig) -> None:
        """Hold the gold against a sound schema, and against the rules across fields, which are told at their place."""
        validator = self._cache.validator(schema)
        is_broken = gates.schema and not self._cache.problems(schema) and not validator.is_valid(gold.value)
        errors = validator.errors(gold.value, limit=GOLD_ERRORS + 1) if is_broken else ()
        more = f"; there are more than the {GOLD_ERRORS} that are listed" if len(errors) > GOLD_ERRORS else ""
        for number, error in enumerate(errors[:GOLD_ERRORS]):
            hint = "" if number else f"{more}; {ACCEPT_GOLD}"
            message = f"the gold does not satisfy its schema at {error.path}: {error.message}{hint}"
            self._tell(gold.source, (*gold.steps, *error.path), message)
        is_measured = "rules_held" in self._settings.values.get("thresholds", {})
        if gates.rules is False or (gates.rules is None and is_measured):
            return
        named = f"the gold of {name}" + ("" if gold.steps else f" ({gold.source.path.name})")
        for rule in scorer.rules:
            result = rule.result(gold.value, gold.value)
            if not result.fails:
                continue
            verb = "breaks" if result.status is RuleStatus.BROKEN else "has no values for"
            message = f"{named} {verb} the rule {rule.name!r}: {result.message}; {ACCEPT_RULE}"
            if rule.of_schema:
                self._tell(schema.source, schema.steps_to((RULES_KEYWORD, rule.index)), message)
            else:
                self._settings.tell(f"`rules`: {message}", "rules", rule.index)


_NAMES_OF_FIELDS: Final = (
    *("thresholds.fields.*", "auto_accept.fields.*", "accept.*", "absent.*", "evidence.*"),
    *("gates.grounded.fields[]", "known_failures[].path"),
)
"""Where the keys of a mapping in a case name fields of the schema, or texts do."""


def modality_of(media_type: str) -> Modality:
    """Return the modality that a document has unless the case names one."""
    if media_type.startswith("image/") or media_type == "application/pdf":
        return "image"
    return "audio" if media_type.startswith("audio/") else "text"


# --- variants


def altered_case(case: Case, alteration: Alteration) -> Case | None:
    """Return a case on an altered document, `acme[without-total]`; it is no sample.

    A case without a value passes if nothing else is put in its place: its other bounds, gates and rules are those of
    another document. Every other case is held to what the case itself is held to. None where the gold has no single
    value to take out.
    """
    from pytest_extract.documents.altered import AlteredDocument

    altered = replace(
        case,
        id=f"{case.id}[{alteration.name}]",
        document=AlteredDocument(case.document, alteration, case.gold),
        origin=Origin.SYNTHETIC,
        altered=alteration.name,
    )
    if alteration.kind != "without":
        return altered
    try:
        path = FieldPath.parse(alteration.how)
    except ValueError:
        path = FieldPath()
    value = value_at(case.gold, path) if path else MISSING
    if value is MISSING or value is None or isinstance(value, dict | list | bool):
        return None
    gold = replaced(case.gold, path, None)
    if isinstance(path[-1], str) and not Validator(case.schema).is_valid(gold):
        gold = replaced(case.gold, path, MISSING)
    return replace(
        altered,
        gold=gold,
        absent={**case.absent, str(path): "must"},
        gates=GateConfig(schema=False, mode="off", rules=False),
        thresholds=replace(case.thresholds, measures={"json_parse": 1.0}, fields=NOTHING),
        known_failures=(),
        accept=NOTHING,
        auto_accept=None,
        uncompared=None,
        rules=None,
    )
