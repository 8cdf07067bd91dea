"""A compiled schema as users hold it: ask, then score; one schema, many documents."""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

from pytest_extract.core import arguments
from pytest_extract.core.answers import FitRank, SchemaFit
from pytest_extract.core.arguments import json_argument, json_output, schema_argument
from pytest_extract.core.compile.compiler import JudgeMode, compile_program
from pytest_extract.core.compile.nodes import Program
from pytest_extract.core.engine.context import CaseRules, NoAnswer
from pytest_extract.core.engine.walk import score_values
from pytest_extract.core.extensions import Extensions, MeasureSpec
from pytest_extract.core.gates import GateConfig
from pytest_extract.core.judges import NO_JUDGE, ask, judges_of
from pytest_extract.core.measures.published import DocumentSchema
from pytest_extract.core.parse import parse_output, too_many_bytes, too_many_values
from pytest_extract.core.results import (
    Answer,
    Failure,
    FailureKind,
    FieldResult,
    Judge,
    Metadata,
    Question,
    Status,
    Wrapping,
    annotate,
)
from pytest_extract.core.schema.annotations import RULES_KEYWORD
from pytest_extract.core.score import Keywords, Score, ScoredSchema, ScoreKeywords, ScoreOptions, split_keywords
from pytest_extract.core.values import MARSHAL_VERSION, MISSING, Json, Missing, short_repr
from pytest_extract.errors import ConfigError, SchemaErrors, nearest

if TYPE_CHECKING:
    from pytest_extract.core.complexity import SchemaShape, Shape
    from pytest_extract.core.rules import RuleSet


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
    source: the arguments of `compile_schema`; rules: the rules across fields, those of the schema first.
    """

    def __init__(self, program: Program, source: Mapping[str, Any], rules: RuleSet = (), *, gated: bool) -> None:
        self.program = program
        self.rules: RuleSet = rules
        self.source = source
        self.semantics: str = program.semantics.name
        default_gates = _GATED if gated else _UNGATED
        self._schema = ScoredSchema(program, DocumentSchema(source["schema"]), rules, self.measures, default_gates)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(compile_schema, **self.source), ()

    @property
    def schema(self) -> Json:
        """The schema that was compiled."""
        return self.source["schema"]

    def shape_of(self, gold: Json) -> Shape:
        """Measure a case of this schema: how deep it is, how many fields and values it has."""
        return self._shape.of(gold)

    @cached_property
    def _shape(self) -> SchemaShape:
        from pytest_extract.core.complexity import SchemaShape

        return SchemaShape(self.schema)

    @property
    def enumerations(self) -> frozenset[str]:
        """The patterns of the fields whose values the schema lists."""
        return self.program.enumerations

    def fits(self, value: Json) -> FitRank:
        """Rank a value by how well it fits the schema, to choose among several in one output."""
        return self._fit(value)

    @cached_property
    def _fit(self) -> SchemaFit:
        return SchemaFit(self.schema, self._schema.document.validator.is_valid)

    @property
    def judges(self) -> Mapping[str, Judge]:
        """The project's judges that fields name, by name: those of the extensions that this was compiled with."""
        return self.program.judges

    @property
    def measures(self) -> Mapping[str, MeasureSpec]:
        """The project's own measures, by name: those of the extensions that this was compiled with."""
        extensions: Extensions | None = self.source["extensions"]
        return {} if extensions is None else extensions.measures

    @property
    def needs_judge(self) -> bool:
        """Whether some field can be decided by a judge only (equal values never need one)."""
        return self.program.judged

    def score(
        self,
        gold: Json,
        extracted: Json | Missing,
        options: ScoreOptions | None = None,
        **keywords: Unpack[ScoreKeywords],
    ) -> Score:
        """Score an extracted JSON value against gold, by `ScoreOptions` or its fields as keywords.

        Python values that correspond to JSON (models of pydantic, dates, Decimal, ...) are converted, in gold as well.
        Raises ConfigError for arguments that cannot be used.
        """
        options = ScoreOptions.of(options, keywords)
        gold, extracted = json_argument("gold", gold), json_argument("extracted", extracted)
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
        text = bytes(text) if isinstance(text, bytearray) else json_output(text)
        large = too_many_bytes(text, gold, options.max_output_bytes) if isinstance(text, str | bytes) else None
        if large is not None:
            return self.failed(gold, large, options)

        def fits(value: Json) -> FitRank:  # of an output that holds confidence, by the values that it has
            return self.fits(_unwrapped(value, options)[0])

        parsed = parse_output(text, repair=options.repair, finish_reason=options.finish_reason, fits=fits)
        failure = parsed.failure
        if parsed.value is not MISSING:
            value, metadata, notes = _unwrapped(parsed.value, options)
            unfit = too_many_values(value, gold, options.max_output_bytes)
            if unfit is None and parsed.wrapped and self._schema.gates(options.gates).bare:
                around = f"the text is more than its JSON: {'; '.join(parsed.notes)}"
                message = f"{around} (`gates: {{bare: true}}` takes what json.loads() reads)"
                unfit = Failure(kind=FailureKind.NOT_BARE, message=message)
            if unfit is None:
                found = replace(options, failure=failure)
                return self._scored(gold, value, found, metadata, notes=notes, wrapped=parsed.wrapped)
            failure = unfit
        if failure is None:
            raise TypeError("an output without a value has a failure")
        return self._failed(gold, failure, options, parsed.wrapped)

    def questions(
        self,
        gold: Json,
        extracted: Json | Missing,
        options: ScoreOptions | None = None,
        **keywords: Unpack[ScoreKeywords],
    ) -> tuple[Question, ...]:
        """Return what a judge is to be asked next, each question once; empty when all is decided."""
        options = ScoreOptions.of(options, keywords)
        gold, extracted = json_argument("gold", gold), json_argument("extracted", extracted)
        scored = score_values(self.program, gold, extracted, options.answers or {}, options.rules, NO_JUDGE)
        return tuple(scored.questions.values())

    def failed(self, gold: Json, failure: Failure, options: ScoreOptions | None = None) -> Score:
        """Return the score of an output that could not be read: every field failed, every measure 0."""
        return self._failed(json_argument("gold", gold), failure, options or ScoreOptions())

    def gold_problem(self, gold: Json, options: ScoreOptions) -> str | None:
        """Say why no output can be right by the schema: the gold breaks it, or it is none; None where one can."""
        validator = self._schema.document.validator
        if not self._schema.gates(options.gates).schema or validator.is_valid(gold):
            return None
        if validator.problem is not None:
            return f"the schema is no valid JSON Schema {validator.problem}"
        places = "; ".join(map(str, validator.errors(gold, limit=_MOST_VIOLATIONS)))
        return f"the gold does not satisfy its schema: {places}. Mend it, or pass gates={{'schema': False}}"

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
        answered: dict[str, Answer | NoAnswer] = dict(options.answers or {})
        rules, rounds, asked = options.rules, 0, 0
        scored = score_values(self.program, gold, extracted, answered, rules, NO_JUDGE if judge is None else UNDECIDED)
        while judge is not None and scored.questions and rounds < MOST_ROUNDS:
            rounds += 1
            asked += len(scored.questions)
            answered |= ask(judge, scored.questions)
            scored = score_values(self.program, gold, extracted, answered, rules, UNDECIDED)
        if metadata:
            known: dict[int, FieldResult] = {}
            fields, leaves = (annotate(each, metadata, known) for each in (scored.fields, scored.leaves))
            scored = scored._replace(fields=tuple(fields), leaves=tuple(leaves))
        return Score(
            self._schema, options, scored, gold, extracted, questions_asked=asked, wrapped=wrapped, notes=notes
        )

    def _failed(
        self, gold: Json, failure: Failure, options: ScoreOptions, wrapped: Mapping[Wrapping, str] | None = None
    ) -> Score:
        scored = score_values(self.program, gold, MISSING, {}, CaseRules(), NO_JUDGE)
        wrong: dict[str, Any] = {
            "status": Status.MISMATCH,
            "score": 0.0,
            "passed": False,
            "reason": f"no output: {failure.kind}",
        }
        fields, leaves = (  # also those that passed by agreeing on absence
            tuple(result._replace(**wrong) if result.passed else result for result in results)
            for results in (scored.fields, scored.leaves)
        )
        scored = scored._replace(fields=fields, leaves=leaves)
        return Score(self._schema, replace(options, failure=failure), scored, gold, MISSING, wrapped=wrapped)


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
    if judge_mode not in _JUDGE_MODES:
        raise ConfigError(f"no judge mode {judge_mode!r}{nearest(judge_mode, _JUDGE_MODES)}")
    if nulls is not None:
        arguments.one_of("nulls", nulls, _NULLS)
    arguments.instance("extensions", extensions, Extensions, "an Extensions")
    if isinstance(rules, str | bytes | Mapping) or not isinstance(rules, Sequence | None):
        raise ConfigError(f"rules must be a list of rules, not {short_repr(rules)}")
    if as_published is not None:
        arguments.flag("as_published", as_published)
    given = {
        "schema": schema_argument(schema),
        "semantics": semantics,
        "nulls": nulls,
        "overrides": dict(arguments.mapping("overrides", overrides)),
        "judge_mode": judge_mode,
        "post_process": post_process,
        "rules": [*(rules or ())],
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
        if errors:
            raise errors[0] if len(errors) == 1 else SchemaErrors(errors)
        known = {(rule.text, rule.name) for rule in in_schema}
        rules = (*in_schema, *(rule for rule in beside if (rule.text, rule.name) not in known))
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

    `repair` mends broken JSON and tells so. An output of more than `max_output_bytes` (default 10 MB, or ten times the
    gold) is the failure `output_too_large`.
    """
    compiling, options = split_keywords(keywords)
    return compile_schema(schema, **compiling).score_text(gold, text, options)


__all__ = ["Score", "ScoreOptions", "Scorer", "compile_schema", "score", "score_text"]
