"""A compiled schema as users hold it, ask, then score; the options of one output; the score that comes of it."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypedDict, Unpack

from pytest_extract.core import arguments
from pytest_extract.core.arguments import NotJson, json_argument, json_output, schema_argument
from pytest_extract.core.compile.compiler import JudgeMode, compile_program
from pytest_extract.core.compile.nodes import Program
from pytest_extract.core.engine.context import CaseRules, Decision
from pytest_extract.core.engine.walk import Scored, score_values
from pytest_extract.core.extensions import Extensions, MeasureSpec
from pytest_extract.core.gates import MODALITIES, GateConfig, OutputCheck, check_output
from pytest_extract.core.judges import NO_JUDGE, ask, judges_of
from pytest_extract.core.measures import field_measures
from pytest_extract.core.measures.published import DocumentPair, DocumentSchema, document_measures
from pytest_extract.core.mistakes import ComparedOutput, compared_results, mistakes_by_path
from pytest_extract.core.parse import FitRank, SchemaFit, no_value, parse_output, too_many_bytes, too_many_values
from pytest_extract.core.results import (
    WRONG,
    ArrayResult,
    Failure,
    FailureKind,
    FieldResult,
    Gates,
    Judge,
    Metadata,
    NamedMistake,
    ReportedMetadata,
    RuleResult,
    ScoreRecord,
    Status,
    Wrapping,
    annotate,
    is_covered,
)
from pytest_extract.core.schema.annotations import RULES_KEYWORD
from pytest_extract.core.values import MARSHAL_VERSION, MISSING, Json, Missing, short_json, usual
from pytest_extract.core.words import listed
from pytest_extract.errors import ConfigError, SchemaError, SchemaErrors

if TYPE_CHECKING:
    from pytest_extract.core.compile.nodes import Program
    from pytest_extract.core.complexity import Shape
    from pytest_extract.core.mistakes import FindsValue
    from pytest_extract.core.output_shape import OutputShape
    from pytest_extract.core.rules import RuleSet

_ABSENT_RULES: Final = ("must", "either")


class CompileKeywords(TypedDict, total=False):
    """The keywords of `compile_schema`, which has a sentence on each."""

    semantics: str | None
    nulls: Literal["absent", "value"] | None
    overrides: Mapping[str, Json] | None
    extensions: Extensions | None
    judge_mode: JudgeMode
    post_process: Json
    rules: Sequence[Json] | None
    as_published: bool | None


class ScoreKeywords(TypedDict, total=False):
    """The fields of `ScoreOptions`, as keywords."""

    judge: Judge | None
    modality: str
    gates: GateConfig | Mapping[str, Json] | None
    accept: Mapping[str, Sequence[Json]] | None
    absent: Mapping[str, str] | None
    confidence: OutputShape | Mapping[str, Json] | str | None
    failure: Failure | None
    repair: bool
    finish_reason: str | None
    max_output_bytes: int | None
    reported: ReportedMetadata | None


class Keywords(CompileKeywords, ScoreKeywords, total=False):
    """The keywords of functions that compile a schema and score an output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """How one output is scored; raises ConfigError for what cannot be used.

    judge: asked in rounds, each open question once, but for what fields give to judges of their own.
    gates: as in a case. None is what a case has by default, but where a published system's semantics were asked for by
    name: its program looks neither at the root nor at the schema, and so the measures are its numbers.
    accept: further right readings of a field; `absent`: fields that `must` or may (`either`) stay empty.
    confidence: the shape in which the output holds values with their confidence, as in a case; `reported`: confidence
    and citations that the extractor returned beside the output.
    failure: what is wrong with the output although there is a value.
    Of texts: `repair` fixes trailing commas, comments and open brackets, and tells so; `finish_reason` as the provider
    gave it; `max_output_bytes`: the longest that is read, and 200 times the values that are scored (default 10 MB, or
    ten times the gold).
    """

    judge: Judge | None = None
    modality: str = "text"
    gates: GateConfig | Mapping[str, Json] | None = None
    accept: Mapping[str, Sequence[Json]] | None = None
    absent: Mapping[str, str] | None = None
    confidence: OutputShape | Mapping[str, Json] | str | None = None
    failure: Failure | None = None
    repair: bool = False
    finish_reason: str | None = None
    max_output_bytes: int | None = None
    reported: ReportedMetadata | None = None

    def __post_init__(self) -> None:
        arguments.function("judge", self.judge)
        arguments.instance("failure", self.failure, Failure, "a Failure")
        arguments.flag("repair", self.repair)
        arguments.instance("finish_reason", self.finish_reason, str, "a text")
        arguments.count("max_output_bytes", self.max_output_bytes)
        arguments.one_of("modality", self.modality, MODALITIES)
        accept, absent = arguments.mapping("accept", self.accept), arguments.mapping("absent", self.absent)
        for place, values in accept.items():
            arguments.values(f"accept.{place}", values)
        for place, rule in absent.items():
            arguments.one_of(f"absent.{place}", rule, _ABSENT_RULES)
        read: dict[str, Any] = {
            "accept": {usual(place): tuple(json_argument(f"accept.{place}", each)) for place, each in accept.items()},
            "absent": {usual(place): rule for place, rule in absent.items()},
        }
        if self.gates is not None and not isinstance(self.gates, GateConfig):
            read["gates"] = gates = GateConfig.from_json(self.gates)
            if gates.grounded:
                raise ConfigError("gates.grounded needs a document: a case has one, this call has not")
        if self.confidence is not None:
            from pytest_extract.core.output_shape import OutputShape

            try:
                read["confidence"] = OutputShape.from_json(self.confidence)
            except ConfigError as error:
                raise ConfigError(f"confidence: {error}") from None
        for name, value in read.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, options: Self | None, keywords: Mapping[str, Any]) -> Self:
        """Return options, changed by keywords."""
        if options is None:
            return cls(**keywords)
        return replace(options, **keywords) if keywords else options

    @property
    def rules_gate(self) -> bool | None:
        """Whether rules across fields are gated; None where nothing says so."""
        return self.gates.rules if isinstance(self.gates, GateConfig) else None

    @property
    def rules(self) -> CaseRules:
        """What the options say beside gold."""
        return CaseRules(self.accept or {}, self.absent or {})


def split_keywords(keywords: Keywords) -> tuple[CompileKeywords, ScoreOptions]:
    """Return the keywords of `compile_schema` among all, and the options that the others make."""
    compiling = {name: value for name, value in keywords.items() if name in CompileKeywords.__annotations__}
    scoring: dict[str, Any] = {name: value for name, value in keywords.items() if name not in compiling}
    return CompileKeywords(**compiling), ScoreOptions(**scoring)  # type: ignore[typeddict-item]


class Score:
    """How one output compares with gold. Read-only.

    fields: the field results: leaves outside arrays, and one for each array; `leaves`: the leaf results everywhere.
    arrays: how the rows of each array were paired, with its numbers.
    unread: why there was no output to score, None where there was one; `semantics`: the name of those used.
    wrapped: what stood around the JSON in the output's text, each kind with a sentence; empty where that was all of it.
    notes: what could not be read of confidence and citations.
    extracted: the value that was scored, without what an output of a declared shape holds around it.
    vacuous: places where both sides agree only on having nothing; `questions_asked`: what the judge was asked.
    """

    def __init__(
        self,
        schema: Scorer,
        options: ScoreOptions,
        scored: Scored,
        gold: Json,
        extracted: Json | Missing,
        *,
        questions_asked: int = 0,
        wrapped: Mapping[Wrapping, str] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.fields: tuple[FieldResult, ...] = scored.fields
        self.leaves: tuple[FieldResult, ...] = scored.leaves
        self.arrays: tuple[ArrayResult, ...] = scored.arrays
        self.vacuous = scored.vacuous
        self.unread = options.failure
        self.semantics: str = schema.program.semantics.name
        self.questions_asked = questions_asked
        self.wrapped: Mapping[Wrapping, str] = wrapped or {}
        self.notes = notes
        self.extracted = extracted
        self._schema: Scorer | None = schema
        self._gold = gold
        self._modality = options.modality
        self._config = schema.gates(options.gates)
        self._added = schema.program.added
        self._empty = schema.program.semantics.empty_rate
        self._further: dict[str, float] = {}
        if schema.measures:  # at once, as they may raise
            counts = self.unread is None and self.gates.structural and extracted is not MISSING
            own = schema.measures.items()
            self._further = {name: spec.value(gold, extracted) if counts else 0.0 for name, spec in own}

    def __repr__(self) -> str:
        return f"<Score {self.semantics}: {len(self.fields)} fields, {len(self.leaves)} leaves>"

    def __getstate__(self) -> dict[str, object]:
        """Work everything out: what is pickled needs neither the gold nor the schema any more."""
        _ = self._values, self._check, self.mistakes, self.rules
        kept = {name: value for name, value in vars(self).items() if name != "_sides"}
        return kept | {"_schema": None, "_gold": MISSING}

    @cached_property
    def _sides(self) -> DocumentPair:
        if self._schema is None:
            raise TypeError("a score without its schema has been worked out")
        return DocumentPair(self._gold, self.extracted, self._schema.document)

    @cached_property
    def _values(self) -> dict[str, float]:
        """The measures of gold and output, worked out together when one of them is first asked for."""
        own = self.ungated
        if self.unread is not None or not self.gates.structural:
            own = dict.fromkeys(own, 0.0)
        return own | document_measures(self._sides, self._config.coverage(self._modality))

    @cached_property
    def _check(self) -> OutputCheck:
        """Gates and failure."""
        return check_output(self._sides, self.unread, self._modality, self._config)

    @property
    def gates(self) -> Gates:
        """The parse, root, schema and coverage gates, each with its arithmetic."""
        return self._check.gates

    @property
    def failure(self) -> Failure | None:
        """Why the output does not count: why there is none, or a `schema_violation`; None where it does."""
        return self._check.failure

    @property
    def ungated(self) -> dict[str, float]:
        """The measures over results whatever the gates say: what an output that breaks its schema got right."""
        return field_measures(self.fields, self.leaves, empty=self._empty, vacuous=self.vacuous)

    @property
    def empty_passes(self) -> int:
        """Field results that passed although neither side has a value (`pass_rate` counts them: extract-bench)."""
        return sum(result.passed_empty for result in self.fields)

    @property
    def added(self) -> tuple[str, ...]:
        """Patterns of field results that count here and not as published: nullable fields under `extract-bench`."""
        return tuple({result.pattern: None for result in self.fields if is_covered(result, self._added)})

    @property
    def measures(self) -> dict[str, float]:
        """All measures by name; those over results are 0 where a structural gate fails."""
        measures = {**self._values}
        if self.rules:
            from pytest_extract.core.measures import rule_measures

            measures |= rule_measures(self.rules)
        return measures | self._further

    @cached_property
    def rules(self) -> tuple[RuleResult, ...]:
        """What came of each rule across fields; they change no other result and no measure but `rules_held`."""
        return tuple(rule.result(self._gold, self.extracted) for rule in (self._schema.rules if self._schema else ()))

    def with_measures(self, further: Mapping[str, float]) -> Score:
        """Return the score with further measures, which need more than gold and output."""
        other = object.__new__(Score)
        vars(other).update(vars(self), _further={**self._further, **further})
        return other

    @cached_property
    def mistakes(self) -> tuple[NamedMistake, ...]:
        """What went wrong at the failing results, as far as rules can name it without the document."""
        return self._named_mistakes(None)

    def _named_mistakes(self, in_document: FindsValue | None) -> tuple[NamedMistake, ...]:
        if self.unread is not None or self._gold is MISSING or self.extracted is MISSING:
            return ()
        if not any(one.status in WRONG for one in chain(self.leaves, self.fields)):
            return ()
        from pytest_extract.core.mistakes.table import name_mistakes

        output = ComparedOutput(
            results=compared_results(self.leaves, self.fields),
            gold=self._gold,
            extracted=self.extracted,
            arrays=self.arrays,
            in_document=in_document,
        )
        return name_mistakes(output)

    def record(self, in_document: FindsValue | None = None) -> ScoreRecord:
        """Return all of it as one frozen value, every measure worked out.

        `in_document` says whether a value stands in the document, for the names of mistakes that depend on it.
        """
        return ScoreRecord(
            semantics=self.semantics,
            failure=self.failure,
            fields=self.fields,
            leaves=self.leaves,
            arrays=self.arrays,
            measures=self.measures,
            gates=self.gates,
            vacuous=self.vacuous,
            questions=self.questions_asked,
            wrapped={str(kind): text for kind, text in self.wrapped.items()},
            mistakes=self.mistakes if in_document is None else self._named_mistakes(in_document),
            rules=self.rules,
            added=self.added,
        )

    def feedback(self, most: int = 10) -> str:
        """Return what is wrong, and how, in a few lines of up to `most` mistakes: for prompt optimizers and people."""
        if self.unread is not None:
            return f"The output could not be read: {self.unread}"
        fields = [result for result in self.fields if result.status is not Status.SKIPPED]
        lines = [f"{sum(result.passed for result in fields)} of {len(fields)} fields are right."]
        lines += [f"The {gate.name} gate failed: {gate.why}." for gate in self.gates.failed if gate.name != "coverage"]
        named = mistakes_by_path(self.mistakes)
        written: set[int] = set()
        mistakes = []
        for result in compared_results(self.leaves, self.fields):
            mistake = named.get(result.path)
            if result.status not in WRONG or id(mistake) in written:
                continue
            found = "missing" if result.status is Status.OMISSION else _value_text(result.extracted)
            expected = "no value" if result.status is Status.HALLUCINATION else _value_text(result.gold)
            where, why = str(result.path), result.reason if result.status is Status.MISMATCH else None
            if mistake is not None:  # a line for each, with all its fields
                written.add(id(mistake))
                where = listed([str(path) for path in mistake.paths], _MOST_PATHS)
                why = f"{mistake.kind.replace('_', ' ')}: {mistake.text}"
            mistakes.append(f"- {where}: is {found}, expected {expected}{f' ({why})' if why else ''}")
        lines += mistakes[:most]
        if len(mistakes) > most:
            lines.append(f"And {len(mistakes) - most} more mistakes.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Json]:
        """Return plain JSON, as a line of the results file holds it; NaN and infinities become texts."""
        from pytest_extract.core.result_json import dump_json, to_json

        plain: dict[str, Json] = json.loads(dump_json(to_json(self.record())))
        return plain


_LONGEST_VALUE: Final = 80
_MOST_PATHS: Final = 3


def _value_text(value: Json | Missing) -> str:
    return "nothing" if value is MISSING else short_json(value, _LONGEST_VALUE)


MOST_ROUNDS: Final = 12
"""Times that a judge is asked about one document: alignments inside aligned rows take a round each."""
UNDECIDED: Final = "the judge was not asked: alignments are nested too deep"
MOST_SCORERS: Final = 64
"""Compiled schemas that are kept for those who compile equal ones."""
_MOST_VIOLATIONS: Final = 3
"""Places told of where a gold breaks its schema."""
_GATED: Final = GateConfig()
_UNGATED: Final = GateConfig(root=False, schema=False)
_NULLS: Final = ("absent", "value")
_JUDGE_MODES: Final = ("exact", "fuzzy", "llm")


class Scorer:
    """One compiled schema; made by `compile_schema`. Holds no state of any document, so threads may share it.

    A pickle of it holds the schema and the arguments of `compile_schema`, and compiles them again where it is loaded.
    schema: the one that was compiled; source: the arguments of `compile_schema`; semantics: the name of those used.
    rules: the rules across fields, those of the schema first; enumerations: patterns of fields whose values it lists.
    measures, judges: the project's own, by name: those of the extensions that this was compiled with.
    needs_judge: whether some field can be decided by a judge only (equal values never need one).
    """

    def __init__(self, program: Program, source: Mapping[str, Any], rules: RuleSet = (), *, gated: bool) -> None:
        self.program = program
        self.source = source
        self.schema: Json = source["schema"]
        self.document = DocumentSchema(self.schema)
        self.semantics: str = program.semantics.name
        self.rules: RuleSet = rules
        self.enumerations: frozenset[str] = program.enumerations
        self.judges: Mapping[str, Judge] = program.judges
        self.needs_judge: bool = program.judged
        self.measures: Mapping[str, MeasureSpec] = source["extensions"].measures if source["extensions"] else {}
        self._default_gates = _GATED if gated else _UNGATED

    def __reduce__(self) -> tuple[object, ...]:
        return partial(compile_schema, **self.source), ()

    @cached_property
    def shape_of(self) -> Callable[[Json], Shape]:
        """What measures a gold of this schema: how deep it is, how many fields and values it has."""
        from pytest_extract.core.complexity import shapes_of

        return shapes_of(self.schema)

    @cached_property
    def fits(self) -> SchemaFit:
        """What ranks a value by how well it fits the schema, to choose among several in one output."""
        return SchemaFit(self.schema, self.document.validator.is_valid)

    def gates(self, given: object) -> GateConfig:
        """Return the gates that hold: those given, as `ScoreOptions` reads them, or the default."""
        return given if isinstance(given, GateConfig) else self._default_gates

    def score(
        self,
        gold: Json,
        extracted: Json | Missing,
        options: ScoreOptions | None = None,
        **keywords: Unpack[ScoreKeywords],
    ) -> Score:
        """Score an extracted JSON value against gold, by `ScoreOptions` or its fields as keywords.

        Python values that correspond to JSON (models of pydantic, dates, Decimal, ...) are converted, in gold as well.
        So are NaN and infinities taken, which equal themselves: published programs read them. What else no JSON holds
        is a failure of the output. Raises ConfigError for arguments that cannot be used.
        """
        options = ScoreOptions.of(options, keywords)
        gold = json_argument("gold", gold, nan=True)
        try:
            extracted = extracted if extracted is MISSING else json_output(extracted, "extracted is no JSON", nan=True)
        except NotJson as problem:
            return self._failed(gold, no_value(problem), options)
        value, metadata, notes = _unwrapped(extracted, options)
        return self._scored(gold, value, options, metadata, notes=notes)

    def score_text(
        self,
        gold: Json,
        text: object,
        options: ScoreOptions | None = None,
        **keywords: Unpack[ScoreKeywords],
    ) -> Score:
        """Parse a model's output and score it; what cannot be parsed scores 0, with the reason in `failure`."""
        options = ScoreOptions.of(options, keywords)
        gold = json_argument("gold", gold)
        try:
            text = bytes(text) if isinstance(text, bytes | bytearray) else json_output(text)
        except NotJson as problem:
            return self._failed(gold, no_value(problem), options)
        large = too_many_bytes(text, gold, options.max_output_bytes) if isinstance(text, str | bytes) else None
        if large is not None:
            return self.failed(gold, large, options)

        def fits(value: Json) -> FitRank:  # of an output that holds confidence, by the values that it has
            return self.fits(_unwrapped(value, options)[0])

        parsed = parse_output(text, repair=options.repair, finish_reason=options.finish_reason, fits=fits)
        value, metadata, notes = _unwrapped(parsed.value, options)
        unfit = parsed.failure
        if parsed.value is not MISSING:
            unfit = too_many_values(value, gold, options.max_output_bytes)
        if unfit is None and parsed.wrapped and self.gates(options.gates).bare:
            around = f"the text is more than its JSON: {'; '.join(parsed.notes)}"
            message = f"{around} (`gates: {{bare: true}}` takes what json.loads() reads)"
            unfit = Failure(kind=FailureKind.NOT_BARE, message=message)
        if unfit is not None:
            return self._failed(gold, unfit, options, parsed.wrapped)
        found = replace(options, failure=parsed.failure)
        return self._scored(gold, value, found, metadata, notes=notes, wrapped=parsed.wrapped)

    def failed(self, gold: Json, failure: Failure, options: ScoreOptions | None = None) -> Score:
        """Return the score of an output that could not be read: every field failed, every measure 0."""
        return self._failed(json_argument("gold", gold), failure, options or ScoreOptions())

    def gold_problem(self, gold: Json, options: ScoreOptions) -> str | None:
        """Say why no output can be right by the schema: the gold breaks it, or it is none; None where one can."""
        validator = self.document.validator
        if not self.gates(options.gates).schema or validator.is_valid(gold):
            return None
        if validator.problem is not None:
            return f"the schema is no valid JSON Schema {validator.problem}"
        places = "; ".join(map(str, validator.errors(gold, limit=_MOST_VIOLATIONS)))
        return f"the gold does not satisfy its schema: {places}. Fix it, or pass gates={{'schema': False}}"

    def _scored(
        self,
        gold: Json,
        extracted: Json | Missing,
        options: ScoreOptions,
        metadata: Metadata,
        *,
        notes: tuple[str, ...],
        wrapped: Mapping[Wrapping, str] | None = None,
    ) -> Score:
        """Score a value; `metadata`, `notes`: what was taken out of an output that holds confidence beside values."""
        failure = options.failure
        if failure is not None and failure.kind is FailureKind.NOT_STRUCTURED and not isinstance(gold, dict | list):
            options = replace(options, failure=None)  # a bare value is what this gold asks for
        judge = judges_of(options.judge, self.program.judges)
        answered: dict[str, Decision] = {}
        rules, rounds, asked = options.rules, 0, 0
        scored = score_values(self.program, gold, extracted, answered, rules, NO_JUDGE if judge is None else UNDECIDED)
        while judge is not None and scored.questions and rounds < MOST_ROUNDS:
            rounds += 1
            asked += len(scored.questions)
            answered |= ask(judge, scored.questions)
            scored = score_values(self.program, gold, extracted, answered, rules, UNDECIDED)
        if metadata:
            fields, leaves = annotate(metadata, scored.fields, scored.leaves)
            scored = scored._replace(fields=fields, leaves=leaves)
        return Score(self, options, scored, gold, extracted, questions_asked=asked, wrapped=wrapped, notes=notes)

    def _failed(
        self, gold: Json, failure: Failure, options: ScoreOptions, wrapped: Mapping[Wrapping, str] | None = None
    ) -> Score:
        scored = score_values(self.program, gold, MISSING, {}, CaseRules(), NO_JUDGE)
        reason = f"no output: {failure.kind}"
        wrong: dict[str, Any] = {"status": Status.MISMATCH, "score": 0.0, "passed": False, "reason": reason}
        fields, leaves = (  # also those that passed by agreeing on absence
            tuple(result._replace(**wrong) if result.passed else result for result in results)
            for results in (scored.fields, scored.leaves)
        )
        scored = scored._replace(fields=fields, leaves=leaves)
        return Score(self, replace(options, failure=failure), scored, gold, MISSING, wrapped=wrapped)


def compile_schema(
    schema: Json,
    *,
    semantics: str | None = None,
    nulls: Literal["absent", "value"] | None = None,
    overrides: Mapping[str, Json] | None = None,
    extensions: Extensions | None = None,
    judge_mode: JudgeMode = "llm",
    post_process: Json = None,
    rules: Sequence[Json] | None = None,
    as_published: bool | None = None,
) -> Scorer:
    """Compile a JSON Schema, with its scoring annotations, for scoring many documents.

    `schema`: a JSON Schema, or a class of pydantic, a dataclass or a TypedDict, whose schema pydantic gives.
    `semantics`: default, extract-bench or struct-extract-eval; None: by the annotations' dialect. `overrides`: pattern
    -> scoring, as in a case. `judge_mode`: `exact` and `fuzzy` decide semantic fields without a judge.
    `post_process`: names of post-processors, or mappings of `name` and parameters.
    `rules`: rules across fields, as in a case, beside those of the schema.
    `as_published`: results and measures are those of the published system whose semantics hold. Without it (as in a
    case) choices and nullable fields count under `extract-bench` as well, and the gates of a case hold. Default:
    whether `semantics` is given.
    Raises SchemaError for a mistake in the configuration, whose `errors` holds all of them; ConfigError for an argument
    of the wrong type, and for an unknown `nulls` or `judge_mode`.
    """
    arguments.one_of("judge_mode", judge_mode, _JUDGE_MODES)
    if nulls is not None:
        arguments.one_of("nulls", nulls, _NULLS)
    arguments.instance("extensions", extensions, Extensions, "an Extensions")
    arguments.values("rules", rules or ())
    if as_published is not None:
        arguments.flag("as_published", as_published)
    given = {
        "schema": schema_argument(schema),
        "semantics": semantics,
        "nulls": nulls,
        "overrides": json_argument("overrides", dict(arguments.mapping("overrides", overrides))),
        "judge_mode": judge_mode,
        "post_process": json_argument("post_process", post_process),
        "rules": json_argument("rules", [*(rules or ())]),
        "as_published": semantics is not None if as_published is None else as_published,
    }
    try:
        key = marshal.dumps(given, MARSHAL_VERSION)
    except ValueError:  # it holds what JSON does not
        return _compile(given, extensions)
    return _compile_content(key, extensions)


@lru_cache(maxsize=MOST_SCORERS)
def _compile_content(key: bytes, extensions: Extensions | None) -> Scorer:
    """Compile a copy of the schema, for all who compile an equal one."""
    return _compile(marshal.loads(key), extensions)  # noqa: S302 - dumped by `compile_schema`


def _compile(given: Mapping[str, Any], extensions: Extensions | None) -> Scorer:
    """Compile a schema, its rules and those beside it; raises SchemaError, or SchemaErrors with all mistakes."""
    given = {**given, "extensions": extensions}
    program = compile_program(**{name: value for name, value in given.items() if name != "rules"})
    gated = not given["as_published"] or program.semantics.gated  # the published programs have no gates
    own = given["schema"].get(RULES_KEYWORD) if isinstance(given["schema"], dict) else None
    rules: RuleSet = ()
    if own is not None or given["rules"]:
        from pytest_extract.core.rules import compile_rules

        in_schema, errors = compile_rules([] if own is None else own, program, of_schema=True)
        beside, others = compile_rules(given["rules"], program, of_schema=False)
        errors += others
        known = {rule.name: rule for rule in in_schema}
        for rule in beside:
            same = known.get(rule.name, rule)
            if (same.rel, same.tolerance) != (rule.rel, rule.tolerance):
                message = f"the schema has the rule {rule.name!r} with another tolerance; change it there"
                errors.append(SchemaError(message, at=("rules", rule.index)))
        if errors:
            raise errors[0] if len(errors) == 1 else SchemaErrors(errors)
        rules = (*in_schema, *(rule for rule in beside if rule.name not in known))
    return Scorer(program, given, rules, gated=gated)


def _unwrapped(value: Json | Missing, options: ScoreOptions) -> tuple[Json | Missing, Metadata, tuple[str, ...]]:
    """Take the values out of an output that may hold confidence or citations beside them, these, and notes on them."""
    if value is MISSING or (options.confidence is None and options.reported is None):
        return value, {}, ()
    from pytest_extract.core.output_shape import unwrap

    return unwrap(value, options.confidence, options.reported)  # type: ignore[arg-type] # read by ScoreOptions


def score(schema: Json, gold: Json, extracted: Json | Missing, **keywords: Unpack[Keywords]) -> Score:
    """Score an extracted JSON value against gold under a JSON Schema.

    The keywords are those of `compile_schema` (`semantics`, `nulls`, `overrides`, `extensions`, `judge_mode`, ...) and
    the fields of `ScoreOptions` (`judge`, `modality`, `gates`, `accept`, `absent`, `confidence`, ...). Whoever scores
    many documents calls `compile_schema(...).score(...)`.
    Raises SchemaError for a mistake in the scoring configuration, ConfigError for one in the other arguments.
    """
    compiling, options = split_keywords(keywords)
    return compile_schema(schema, **compiling).score(gold, extracted, options)


def score_text(schema: Json, gold: Json, text: object, **keywords: Unpack[Keywords]) -> Score:
    """Parse a model's raw output, gate it, and score it; the keywords are those of `score`.

    `repair` fixes trailing commas, comments and open brackets, and tells so. An output of more than `max_output_bytes`
    (default 10 MB, or ten times the gold) is the failure `output_too_large`.
    """
    compiling, options = split_keywords(keywords)
    return compile_schema(schema, **compiling).score_text(gold, text, options)


__all__ = ["Score", "ScoreOptions", "Scorer", "compile_schema", "score", "score_text"]
