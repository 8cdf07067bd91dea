"""Builds one case from its settings: reads its files, compiles its schema, checks gold and field names against it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from pytest_extract.cases.cache import SchemaCache, SchemaPlace, mistakes_around
from pytest_extract.cases.embedded_schema import wrapped_schema
from pytest_extract.cases.json_text import ParsedFile, Steps, pointer_advice, pointer_steps
from pytest_extract.cases.keys import DOCUMENT_FORMS, CaseSettings, CheckedKeys, bounded_measures, case_keys
from pytest_extract.cases.model import NOTHING, Case, KnownFailure, Modality, Prompt, Thresholds
from pytest_extract.cases.patterns import has_value, is_skipped, without_absence
from pytest_extract.cases.review_file import review_name
from pytest_extract.cases.sources import Mistake, SourceFile, is_file, mistake_in, no_file, path_and_pointer, reached
from pytest_extract.core.auto_accept import AutoAccept
from pytest_extract.core.gates import GateConfig
from pytest_extract.core.results import RuleStatus
from pytest_extract.core.schema.annotations import RULES_KEYWORD
from pytest_extract.core.uncompared import Uncompared, find_uncompared
from pytest_extract.core.values import Json, usual
from pytest_extract.documents import Document
from pytest_extract.errors import CaseFileError, SchemaError, nearest

if TYPE_CHECKING:
    from pytest_extract.core.scorer import Scorer
    from pytest_extract.core.validate import Validator

T = TypeVar("T")

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
GOLD_ERRORS: Final = 5
"""Schema violations of one gold that are listed."""
ALLOW_UNCOMPARED: Final = "declare what stands there, or take the gold as it is with `uncompared: allow`"
UNCHANGED_KEYS: Final = ({*case_keys()} & Case.__dataclass_fields__.keys()) - {
    "id", "document", "schema", "gold", "prompt", "semantics", "modality", "tags", "repeat", "accept", "absent",
    "known_failures", "gates", "thresholds", "overrides", "uncompared", "auto_accept",
}  # fmt: skip
"""Keys whose checked value is a field of `Case` as it is; `_case` makes the fields of the others."""
ACCEPT_RULE: Final = "mend the gold or the rule (`severity: warning` and `gates: {rules: false}` only report it)"
ACCEPT_GOLD: Final = "mend it, or take it as it is with `gates: {schema: false}`"


@dataclass(frozen=True, slots=True)
class _Gold:
    value: Json
    source: SourceFile
    steps: Steps
    is_missing: bool = False


class _Parts(NamedTuple):
    document: Document
    schema: SchemaPlace
    scorer: Scorer
    gold: _Gold
    prompt: Prompt | None
    gates: GateConfig
    uncompared: Uncompared | None
    draft: bool


class CaseBuilder:
    """Builds one case. Every mistake is added to `mistakes`; a case with one is not built."""

    def __init__(self, settings: CaseSettings, cache: SchemaCache, mistakes: list[Mistake]) -> None:
        self._settings = settings
        self._values = settings.values
        self._cache = cache
        self._mistakes = mistakes
        self._begin = len(mistakes)

    def build(self, name: str, line: int) -> Case | None:
        """Return the case, or None after adding every mistake that keeps it from running."""
        self._require()
        document = self._document()
        schema = self._schema()
        gold = self._gold()
        prompt = self._read("prompt", self._values["prompt"], self._cache.prompt) if "prompt" in self._values else None
        scorer = self._scorer(schema) if schema is not None else None
        gates = self._shared(GateConfig.from_json, "gates", self._cache.gates)
        if scorer is not None:
            self._check_fields(scorer, None if gold is None else gold.value)
        if (
            schema is not None
            and self._schema_holds(schema, gates)
            and gold is not None
            and gates.schema
            and not self._cache.updates_golds
        ):
            self._check_gold(self._cache.validator(schema), gold)
        if schema is not None and scorer is not None and gold is not None and scorer.rules:
            self._check_rules(name, scorer, schema, gold, gates)
        if "variants" in self._values and gold is not None and not gold.is_missing:
            from pytest_extract.cases.altered import unsuited_fields

            for path in unsuited_fields(self._values["variants"], gold.value):
                self._add_mistake(f"`variants`: the gold has no single value at {path!r} to take out", "variants")
        draft = gold is not None and self._is_draft(name, gold)
        uncompared = (
            self._uncompared(scorer, gold) if scorer is not None and gold is not None and not gold.is_missing else None
        )
        if len(self._mistakes) > self._begin or self._settings.invalid:
            return None
        if document is None or schema is None or scorer is None or gold is None:
            return None  # the defaults that may name them cannot be read
        return self._case(name, line, _Parts(document, schema, scorer, gold, prompt, gates, uncompared, draft))

    def _case(self, name: str, line: int, parts: _Parts) -> Case:
        values, schema, gold = self._values, parts.schema, parts.gold
        return Case(
            id=name,
            path=self._settings.own.source.path,
            line=line,
            steps=self._settings.own.steps,
            document=parts.document,
            schema=schema.value,
            scorer=parts.scorer,
            gold=gold.value,
            gold_path=gold.source.path,
            gold_steps=gold.steps,
            gold_line=gold.source.first_line,
            gold_is_missing=gold.is_missing,
            draft=parts.draft,
            schema_path=schema.source.path,
            schema_sha256=schema.sha256,
            schema_files=tuple([file.path for file in schema.others]),
            prompt=parts.prompt,
            semantics=parts.scorer.semantics,
            modality=values.get("modality") or modality_of(parts.document.media_type),
            tags=self._shared(_frozen, "tags", NOTHING),
            repeat=values.get("repeat") or self._cache.repeat,
            accept=self._shared(_by_field, "accept", NOTHING),
            absent=self._shared(_by_field, "absent", NOTHING),
            known_failures=self._shared(_known_failures, "known_failures", ()),
            gates=parts.gates,
            thresholds=self._shared(_thresholds, "thresholds", self._cache.thresholds),
            auto_accept=self._shared(_auto_accept, "auto_accept", None),
            overrides=self._shared(_frozen, "overrides", NOTHING),
            uncompared=parts.uncompared,
            **{key: value for key, value in values.items() if key in UNCHANGED_KEYS},
        )

    def _shared(self, make: Callable[[Any], T], key: str, otherwise: T) -> T:
        """Return what `make` gives for the value of a key, the same object for all cases that have the same value."""
        value = self._values.get(key)
        return self._cache.once(make, value) if value else otherwise

    def _add_mistake(self, message: str, key: str, *below: str | int, on_key: bool = False) -> None:
        layer = self._settings.layer_of(key, *below)
        self._mistakes.append(Mistake(layer.source, (*layer.steps, key, *below), message, on_key))

    def _require(self) -> None:
        own, defaults = self._settings.own, self._settings.defaults
        if defaults is not None and defaults.broken and not defaults.raw:
            return  # the defaults may hold the missing keys
        given = self._values.keys() | self._settings.invalid
        slips = [key for key in own.raw if key not in case_keys()]
        missing = [f"`{key}`" for key in ("schema", "gold") if key not in given and not is_misspelt(key, slips)]
        if not given & {*DOCUMENT_FORMS} and not is_misspelt("document", slips):
            missing.append("either `document` (a path), `documents` (a pattern) or `text`")
        if missing:
            *most, last = missing
            needed = f"{', '.join(most)} and {last}" if most else last
            self._mistakes.append(Mistake(own.source, own.steps, f"the case needs {needed}"))
        layers = (own,) if defaults is None else (own, defaults)
        forms = next(filter(None, ([form for form in DOCUMENT_FORMS if form in layer.raw] for layer in layers)), [])
        if len(forms) > 1:
            both = f"both `{forms[0]}` and `{forms[1]}`"
            self._add_mistake(f"the case has {both}; keep one of them", forms[-1], on_key=True)

    def _place(self, key: str, name: str) -> str:
        return self._cache.place(self._settings.layer_of(key).source.folder, name)

    def _read(self, key: str, name: str, read: Callable[[str], T]) -> T | None:
        """Read the file that a key names; a mistake of the file's own keeps its own place."""
        if self._is_url(key, name):
            return None
        place = self._place(key, name)
        try:
            return read(place)
        except CaseFileError as error:
            if is_file(place):
                self._mistakes.append(mistake_in(error))
            else:
                can_be_made = key == "gold" and "#/" not in self._values["gold"]
                hint = "; make it with --extract-update-gold=new" if can_be_made else ""
                self._add_mistake(no_file(key, Path(place)) + hint, key)
            return None

    def _is_url(self, key: str, name: str) -> bool:
        if not _URL.match(name):
            return False
        self._add_mistake(f"`{key}` is a URL, and nothing is fetched; save the file and write its path", key)
        return True

    def _document(self) -> Document | None:
        if "text" in self._values:
            return Document(text=self._values["text"])
        if "document" not in self._values:
            return None
        name = self._values["document"]
        if self._is_url("document", name):
            return None
        place = self._place("document" if "documents" not in self._values else "documents", name)
        if not is_file(place):
            self._add_mistake(no_file("document", Path(place)), "document")
            return None
        return Document(path=place)

    def _path_and_pointer(self, key: str, value: str) -> tuple[str, str]:
        """Split a path from the JSON pointer after its `#`, which may also be part of the file's name."""
        return path_and_pointer(value, lambda name: is_file(self._place(key, name)))

    def _schema(self) -> SchemaPlace | None:
        value = self._values.get("schema")
        if value is None:
            return None
        if not isinstance(value, str):
            layer = self._settings.layer_of("schema")
            return self._cache.inline_schema(value, layer.source, (*layer.steps, "schema"))
        name, pointer = self._path_and_pointer("schema", value)
        source = self._read("schema", name, self._cache.source)
        if source is None:
            return None
        place = self._cache.schema_in(source, pointer)
        if place is None:
            advice = pointer_advice(source.value, pointer)
            self._add_mistake(
                f"`schema`: nothing stands at the pointer {pointer!r} of {source.path.name}{advice}", "schema"
            )
            return None
        found = mistakes_around(source, place.steps)
        self._mistakes.extend(found)
        from pytest_extract.schema_tools.resolve import is_gemini

        inner = wrapped_schema(place.value)
        if inner is not None:
            at = f"{name}#{pointer}/{inner}"
            self._add_mistake(
                f"`schema` declares nothing at its root: the schema is its '{inner}'; write `{at}`", "schema"
            )
        elif is_gemini(place.value):
            self._add_mistake(
                f"`schema` is of Gemini's dialect (types in capitals), not JSON Schema; "
                f"`pytest-extract schema resolve {value} --from gemini -o FILE` translates it",
                "schema",
            )
            return None
        return None if found or inner is not None else place

    def _gold(self) -> _Gold | None:
        if "gold" not in self._values:
            return None
        value = self._values["gold"]
        if not isinstance(value, str):
            layer = self._settings.layer_of("gold")
            return _Gold(value, layer.source, (*layer.steps, "gold"))
        if self._cache.updates_golds == "new" and not _URL.match(value) and "#/" not in value:
            path = Path(self._place("gold", value))
            if not path.exists():
                return _Gold(None, SourceFile(path, "", "json", ParsedFile(None)), (), is_missing=True)
        name, pointer = self._path_and_pointer("gold", value)
        source = self._read("gold", name, self._cache.source)
        if source is None:
            return None
        steps = pointer_steps(source.value, pointer)
        if steps is None:
            advice = pointer_advice(source.value, pointer)
            self._add_mistake(
                f"`gold`: nothing stands at the pointer {pointer!r} of {source.path.name}{advice}", "gold"
            )
            return None
        found = mistakes_around(source, steps)
        self._mistakes.extend(found)
        return None if found else _Gold(reached(source.value, steps), source, steps)

    def _is_draft(self, case_id: str, gold: _Gold) -> bool:
        """Whether nobody has reviewed the gold, as the file beside it says."""
        try:
            name = review_name(gold.steps, gold.source.first_line, case_id)
            return not self._cache.review(gold.source.path, name).reviewed
        except CaseFileError as error:
            self._mistakes.append(mistake_in(error))
            return False

    def _scorer(self, schema: SchemaPlace) -> Scorer | None:
        values = self._values
        compiled = self._cache.scorer(
            schema,
            values.get("semantics"),
            values.get("nulls"),
            values.get("overrides", NOTHING),
            values.get("post_process"),
            values.get("rules"),
        )
        if not isinstance(compiled, tuple):
            return compiled
        for error in compiled:
            self._add_schema_error(error, schema)
        return None

    def _add_schema_error(self, error: SchemaError, schema: SchemaPlace) -> None:
        if error.override is not None:
            self._add_mistake(
                f"`overrides`: {error.override}: {error.message}", "overrides", error.override, on_key=True
            )
            return
        if error.post is not None:
            below = (error.post,) if isinstance(self._values["post_process"], list) else ()
            self._add_mistake(f"`post_process`: {error.message}", "post_process", *below)
            return
        if error.rule is not None:
            key = (
                ()
                if error.rule_key is None or isinstance(self._values["rules"][error.rule], str)
                else (error.rule_key,)
            )
            self._add_mistake(f"`rules`: {error.message}", "rules", error.rule, *key)
            return
        steps = pointer_steps(schema.value, error.pointer) or ()
        where = f"at {error.pointer}: " if error.pointer else ""
        self._mistakes.append(Mistake(schema.source, schema.steps_to(steps), f"the schema {where}{error.message}"))

    def _check_fields(self, scorer: Scorer, gold: Json) -> None:
        scored = not self._cache.structure_only
        for layer in (self._settings.defaults, self._settings.own):
            if layer is None:
                continue
            for field, steps in named_fields(layer.raw):
                bounded = scored and steps[0] == "thresholds"
                problem = self._cache.field_problem(field, scorer, gold, bounded=bounded)
                if problem is not None:
                    where = Mistake(layer.source, (*layer.steps, *steps), problem, on_key=steps[-1] != "path")
                    self._mistakes.append(where)
            if scored:
                self._check_measures(layer, scorer)
        if scored and len(self._mistakes) == self._begin:
            self._check_absent(scorer, gold)

    def _check_measures(self, layer: CheckedKeys, scorer: Scorer) -> None:
        """Add a mistake for each bound of a measure that no extension gives."""
        thresholds = layer.raw.get("thresholds")
        given = thresholds.get("measures") if isinstance(thresholds, dict) else None
        for name in given if isinstance(given, dict) else ():
            if name not in scorer.measures:
                known = nearest(name, scorer.measures) or "; `@extend.measure()` in a conftest.py makes one"
                problem, steps = (
                    f"no measure of the project is called {name!r}{known}",
                    ("thresholds", "measures", name),
                )
                self._mistakes.append(Mistake(layer.source, (*layer.steps, *steps), problem, on_key=True))

    def _check_absent(self, scorer: Scorer, gold: Json) -> None:
        """Add a mistake for each rule of absence that changes nothing, or that the gold contradicts."""
        for field, rule in self._values.get("absent", {}).items():
            problem = None
            if rule == "either":
                problem = without_absence(field, scorer.program)
            elif is_skipped(field, scorer.program):
                problem = f"{field!r} is skipped: nobody would see whether it stays empty"
            elif has_value(gold, field):
                problem = f"{field!r} must stay empty, but the gold has a value there"
            if problem is not None:
                self._add_mistake(problem, "absent", field, on_key=True)

    def _schema_holds(self, schema: SchemaPlace, gates: GateConfig) -> bool:
        problems = self._cache.validator(schema).problems
        lost = () if problems or not gates.schema else self._cache.dangling(schema)
        for each in lost:
            steps = schema.steps_to(pointer_steps(schema.value, each.pointer) or ())
            self._mistakes.append(Mistake(schema.source, steps, f"the schema at {each.pointer}: {each.message}"))
        if lost:
            return False
        if not problems or (not gates.schema and isinstance(schema.value, dict)):
            return not problems
        for problem in problems:
            message = f"the schema is no valid JSON Schema at {problem.pointer}: {problem.message}"
            self._mistakes.append(Mistake(schema.source, schema.steps_to(problem.path), message))
        return False

    def _uncompared(self, scorer: Scorer, gold: _Gold) -> Uncompared | None:
        """Return the gold values that no comparison reaches; a mistake where they are most of the gold."""
        found = find_uncompared(scorer.program, gold.value)
        allowed = self._cache.structure_only or self._values.get("uncompared") == "allow"
        if found is not None and found.is_most and not allowed:
            where = (*gold.steps, *found.first)
            self._mistakes.append(Mistake(gold.source, where, f"{found}; {ALLOW_UNCOMPARED}", on_key=True))
        return found

    def _check_rules(self, name: str, scorer: Scorer, schema: SchemaPlace, gold: _Gold, gates: GateConfig) -> None:
        """Add a mistake for each rule across fields that the gold breaks, at the place of the rule."""
        measured = (self._values.get("thresholds") or {}).keys() & {"rules_held"}
        if gates.rules is False or (gates.rules is None and measured) or gold.is_missing or self._cache.updates_golds:
            return
        named = f"the gold of {name}" + ("" if gold.steps else f" ({gold.source.path.name})")
        for rule in scorer.rules:
            result = rule.result(gold.value, gold.value)
            if not result.fails:
                continue
            verb = "breaks" if result.status is RuleStatus.BROKEN else "has no values for"
            message = f"{named} {verb} the rule {rule.name!r}: {result.message}; {ACCEPT_RULE}"
            if rule.of_schema:
                steps = schema.steps_to((RULES_KEYWORD, rule.index))
                self._mistakes.append(Mistake(schema.source, steps, message))
            else:
                self._add_mistake(f"`rules`: {message}", "rules", rule.index)

    def _check_gold(self, validator: Validator, gold: _Gold) -> None:
        if validator.is_valid(gold.value):
            return
        errors = validator.errors(gold.value, limit=GOLD_ERRORS + 1)
        for number, error in enumerate(errors):
            message = f"the gold does not satisfy its schema at {error.path}: {error.message}"
            if number == GOLD_ERRORS:
                message = f"the gold does not satisfy its schema in more than {GOLD_ERRORS} places, this is the next"
            hint = f"; {ACCEPT_GOLD}" if number == 0 else ""
            self._mistakes.append(Mistake(gold.source, (*gold.steps, *error.path), message + hint))


def named_fields(raw: Mapping[str, Json]) -> Iterator[tuple[str, Steps]]:
    """Yield every field of the schema that a mapping of case keys names, with the place of its name.

    The values are raw, so that a name is checked even if its value is invalid.
    """
    limits = raw.get("thresholds")
    fields = limits.get("fields") if isinstance(limits, dict) else None
    if isinstance(fields, dict):
        yield from ((name, ("thresholds", "fields", name)) for name in fields)
    gates = raw.get("gates")
    grounded = gates.get("grounded") if isinstance(gates, dict) else None
    listed = grounded.get("fields") if isinstance(grounded, dict) else None
    for index, name in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(name, str):
            yield name, ("gates", "grounded", "fields", index)
    accepted = raw.get("auto_accept")
    fields = accepted.get("fields") if isinstance(accepted, dict) else None
    if isinstance(fields, dict):
        yield from ((name, ("auto_accept", "fields", name)) for name in fields)
    for key in ("accept", "absent", "evidence"):
        named = raw.get(key)
        if isinstance(named, dict):
            yield from ((name, (key, name)) for name in named)
    known = raw.get("known_failures")
    for index, entry in enumerate(known if isinstance(known, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("path"), str):
            yield entry["path"], ("known_failures", index, "path")


def is_misspelt(key: str, slips: Sequence[str]) -> bool:
    """Whether a missing key is there in a misspelling, which has its own mistake."""
    return bool(difflib.get_close_matches(key, slips, n=1, cutoff=0.6))


def modality_of(media_type: str) -> Modality:
    """Return the modality that a document has unless the case names one."""
    if media_type.startswith("image/") or media_type == "application/pdf":
        return "image"
    return "audio" if media_type.startswith("audio/") else "text"


def _frozen(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(value))


def _by_field(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({usual(field): said for field, said in value.items()})


def _auto_accept(value: Mapping[str, Any]) -> AutoAccept | None:
    fields = {usual(name): lowest for name, lowest in value.get("fields", {}).items()}
    return AutoAccept(**{**value, "fields": fields})


def _known_failures(value: Iterable[KnownFailure]) -> tuple[KnownFailure, ...]:
    return tuple(replace(entry, path=usual(entry.path)) for entry in value)


def _thresholds(clean: Mapping[str, Any]) -> Thresholds:
    """Return the bounds; `pass_rate: 1.0` where they name no measure and no field."""
    measures = bounded_measures(clean)
    fields = clean.get("fields")
    if not measures and not fields:
        measures = {"pass_rate": 1.0}
    return Thresholds(
        measures=MappingProxyType(measures),
        fields=_by_field(fields) if fields else NOTHING,
        max_cost_usd=clean.get("max_cost_usd"),
        max_latency_s=clean.get("max_latency_s"),
    )
