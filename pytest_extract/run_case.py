"""Runs one case: extracts, parses, scores, asks the judge, and compares the result with the case's thresholds.

This module knows neither pytest nor results files. The caller supplies the output of a call, a recording or a past run.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import partial
from itertools import chain
from math import fsum
from typing import TYPE_CHECKING, Any

from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome, Variant, count_accepted, decided
from pytest_extract.core.compile.nodes import Array, ArrayMetric, Leaf, Node, Program, Skip, Union
from pytest_extract.core.complexity import complexity_of
from pytest_extract.core.judges import NO_JUDGE, WITHOUT_JUDGE
from pytest_extract.core.measures import accepted_measures, citation_measures, count_leaves, field_measures
from pytest_extract.core.measures.published import PAPER_MEASURES
from pytest_extract.core.results import (
    WRONG,
    FailureKind,
    FieldResult,
    Judge,
    RuleResult,
    RuleStatus,
    Status,
    is_covered,
)
from pytest_extract.core.values import (
    MISSING,
    ROUNDING,
    at_or_below,
    canonical_json,
    short_repr,
    text_below,
    text_digest,
)
from pytest_extract.core.words import first_of, listed, plural
from pytest_extract.documents import Document, DocumentError
from pytest_extract.errors import ExtractError
from pytest_extract.extraction.call import Extraction, as_extraction, failure_of

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case, Thresholds
    from pytest_extract.core.results import ScoreRecord
    from pytest_extract.core.scorer import Score, ScoreOptions, Scorer
    from pytest_extract.core.semantics import Semantics
    from pytest_extract.core.values import Json

Results = Sequence[FieldResult]
Extract = Callable[[int], Extraction]
"""Gives the output of repeat number `index` (from 0), or raises what the extractor raised."""


class NotRun(Exception):
    """Raised by an `Extract` that may not call any more (the budget is spent): the case is not run, never failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """How a case is run: `of` repeats of which `needed` must pass; `to_the_end` also when the verdict is settled."""

    of: int = 1
    needed: int = 1
    to_the_end: bool = False

    @property
    def sure(self) -> int:
        """Repeats that run however the others end; the others run until the outcome is settled."""
        return self.of if self.to_the_end else min(self.needed, self.of - self.needed + 1)


def plan_of(case: Case, repeat: int | None = None) -> RunPlan:
    """Take the case's own `repeat`, or `repeat` from the command line.

    The case's own stops once decided. The command line's measures: all repeats run, and the same share (rounded up) has
    to pass as the case asks for.
    """
    if repeat is None:
        return RunPlan(of=case.repeat.of, needed=case.repeat.passes)
    needed = -(-repeat * case.repeat.passes // case.repeat.of)
    return RunPlan(of=repeat, needed=needed, to_the_end=True)


def run_case(
    case: Case,
    extract: Extract,
    *,
    nodeid: str,
    file: str,
    variant: Variant | None = None,
    judge: Judge | None = None,
    plan: RunPlan | None = None,
    today: date | None = None,
    on_error: Callable[[Exception], None] | None = None,
) -> CaseResult:
    """Run all repeats of a case and judge them together.

    An exception of the extractor breaks its repeat and is handed to `on_error`; nothing that it returns raises.
    """
    plan = plan or plan_of(case)
    today = today or date.today()  # noqa: DTZ011  # a known failure ends with the day where the suite runs
    bounds = Requirements.of(case, today)
    started = time.perf_counter()
    attempts: list[Attempt] = []
    stopped = None
    for index in range(plan.of):
        begun = time.perf_counter()
        try:
            extraction = as_extraction(extract(index), gold=case.gold)
        except NotRun as stop:
            stopped = str(stop)
            break
        except Exception as error:  # noqa: BLE001  # whatever the user's code raises is that case's error
            attempts.append(_declined_or_broken(case, bounds, error, index, time.perf_counter() - begun))
            if on_error is not None and attempts[-1].outcome is Outcome.ERROR:
                on_error(error)
        else:
            attempts.append(_scored(case, bounds, extraction, index, judge))
        passed = sum(attempt.outcome is Outcome.PASSED for attempt in attempts)
        if not plan.to_the_end and decided(passed, len(attempts) - passed, plan.needed, plan.of):
            break
    outcome, breaches, why = _verdict(case, attempts, plan, stopped, today)
    shape = case.scorer.shape_of(case.gold)
    return CaseResult(
        nodeid=nodeid,
        case_id=case.id,
        file=file,
        variant=variant or Variant(),
        outcome=outcome,
        attempts=tuple(attempts),
        breaches=breaches,
        needed=plan.needed,
        why=why,
        digests=digests_of(case),
        complexity=complexity_of(case.tags, shape),
        shape=shape.to_dict() | ({} if (pages := case.document.pages_read) is None else {"pages": pages}),
        uncompared={} if case.uncompared is None else dict(case.uncompared.places),
        cannot_fail=cannot_fail(case.scorer.program, case.thresholds),
        known=bounds.known,
        enumerations=tuple(sorted(case.scorer.enumerations)),
        prompt_file="" if case.prompt is None else os.path.relpath(case.prompt.path, case.path.parent),
        duration_s=time.perf_counter() - started,
        **keys_in_result(case),
    )


def keys_in_result(case: Case) -> dict[str, Any]:
    """Return the keys of a case that its result shows as they are."""
    return _shared(case, CaseResult, "uncompared")  # a result has only its places


def _shared(given: Any, wanted: Any, but: str) -> dict[str, Any]:
    """Return what a value of another type has it in common with: the fields that both types have, but for one."""
    names = given.__dataclass_fields__.keys() & wanted.__dataclass_fields__.keys()
    return {name: getattr(given, name) for name in names - {but}}


def digests_of(case: Case) -> dict[str, str]:
    """Return the SHA-256 of each input of a result, besides model and extractor."""
    gold = text_digest(canonical_json(case.gold))
    digests = {"document": case.document.sha256, "schema": case.schema_sha256, "gold": gold}
    return digests | ({"prompt": case.prompt.sha256} if case.prompt is not None else {})


def _verdict(
    case: Case, attempts: Sequence[Attempt], plan: RunPlan, stopped: str | None, today: date
) -> tuple[Outcome, tuple[Breach, ...], str | None]:
    """Return how a case ends, what it misses (the bounds of its only attempt, or repeats; excuses that ended), and why.

    Repeats in error decide nothing: a case is an error when, had they passed, it could have passed.
    """
    if stopped is not None:
        return Outcome.NOT_RUN, (), stopped or None
    passed = sum(attempt.outcome is Outcome.PASSED for attempt in attempts)
    failed = sum(attempt.outcome is Outcome.FAILED for attempt in attempts)
    if passed < plan.needed <= plan.of - failed:
        lines = next((attempt.error.splitlines() for attempt in attempts if attempt.error), [""])
        # the line that has the type: the first, but for a SyntaxError, whose place is above it
        why = next((line for line in lines if line and not line[0].isspace()), lines[-1])
        return Outcome.ERROR, (), why or None
    breaches = () if passed >= plan.needed else attempts[0].breaches
    if passed < plan.needed and plan.of > 1:
        message = f"{passed} of {len(attempts)} repeats passed, {plan.needed} of {plan.of} needed"
        breaches = (Breach(what="repeat", message=message, bound=plan.needed, value=passed),)
    breaches += tuple(
        Breach(
            what=f"known_failures.{known.path}",
            message=f"known failure {known.path} expired on {known.until}{': ' * bool(known.reason)}{known.reason}",
        )
        for known in case.known_failures
        if known.expired(today)
    )
    is_passed = passed >= plan.needed and not breaches
    told = "; ".join(breach.message for breach in breaches) or None
    return Outcome.PASSED if is_passed else Outcome.FAILED, breaches, told


def _declined_or_broken(case: Case, bounds: Requirements, error: Exception, index: int, latency_s: float) -> Attempt:
    """Fail the repeat when a provider declined the input for what it is; any other exception breaks it."""
    failure = failure_of(error)
    text = str(error) if isinstance(error, ExtractError) else "".join(traceback.format_exception_only(error)).rstrip()
    if failure.kind is FailureKind.EXTRACTOR_ERROR:
        return Attempt(index=index, outcome=Outcome.ERROR, error=text, latency_s=latency_s)
    # What a declined call cost is not known; that it was declined is breach enough.
    declined = Extraction(None, failure=failure, cost_usd=0.0, latency_s=latency_s)
    scored = _scored(case, bounds, declined, index, None)
    return replace(scored, outcome=Outcome.FAILED, error=text, cost_usd=None)


def _scored(case: Case, bounds: Requirements, extraction: Extraction, index: int, judge: Judge | None) -> Attempt:
    options = replace(case.score_options, judge=judge)
    score = _with_reported_measures(case, score_extraction(case.scorer, case.gold, extraction, options))
    outcome, breaches, undecided = judged(bounds, score, cost_usd=extraction.cost_usd, latency_s=extraction.latency_s)
    if case.gates.grounded and score.unread is None and (ungrounded := _grounded_breaches(case, score)):
        breaches += ungrounded
        outcome = Outcome.ERROR if undecided else Outcome.FAILED
    hint = _shape_hint(case, extraction, score) if breaches else ()
    return Attempt(
        index=index,
        outcome=outcome,
        score=score.record(partial(_stands_in, case.document)),
        error=undecided,
        breaches=breaches,
        **_shared(extraction, Attempt, "notes"),
        notes=(*extraction.notes, *score.wrapped.values(), *score.notes, *hint),
    )


def score_extraction(scorer: Scorer, gold: Json, extraction: Extraction, options: ScoreOptions) -> Score:
    """Parse what an extractor returned and score it, with what it reports beside the output."""
    if extraction.failure is not None:
        return scorer.failed(gold, extraction.failure, options)
    options = replace(options, reported=extraction.reported, finish_reason=extraction.finish_reason)
    return scorer.score_text(gold, extraction.output, options)


def _with_reported_measures(case: Case, score: Score) -> Score:
    """Add the measures over what the extractor reports beside its values, where the case asks for them."""
    if case.auto_accept is not None:
        accepted = count_accepted(score.leaves, case.auto_accept, usable=score.gates.structural)
        score = score.with_measures(accepted_measures(accepted))
    score = with_bounded_measures(score, case.gold, case.thresholds)
    cited = any(leaf.citations for leaf in score.leaves)
    if not (cited or case.gates.grounded or "grounded_rate" in case.thresholds.measures) or score.unread is not None:
        return score
    from pytest_extract.citations import count_citations, grounded_rate

    found: dict[str, float] = {}
    with suppress(DocumentError):  # a scan has no text, and citations where the case says where its values stand
        if cited:
            found |= citation_measures(count_citations(case.document, score.leaves, case.evidence))
        found["grounded_rate"] = grounded_rate(case.document, score.leaves)
    return score.with_measures(found)


def _grounded_breaches(case: Case, score: Score) -> tuple[Breach, ...]:
    """Return a breach of the gate `grounded` for the extracted values that stand nowhere in the document."""
    from pytest_extract.citations import ungrounded

    try:
        found = ungrounded(case.document, score.leaves, case.gates.grounded)
    except DocumentError as error:
        return (Breach(what="grounded", message=f"the grounded gate cannot be checked: {error}"),)
    if not found:
        return ()
    named = [f"{leaf.path} {short_repr(leaf.extracted, 40)}" for leaf in found]
    return (Breach(what="grounded", message=f"grounded gate: nowhere in the document: {listed(named)}"),)


def _shape_hint(case: Case, extraction: Extraction, score: Score) -> tuple[str, ...]:
    """Say how to declare the shape of an output that holds confidence or citations beside its values."""
    if case.confidence is not None or extraction.reported is not None or score.extracted is MISSING:
        return ()
    from pytest_extract.core.output_shape import undeclared_shape

    name = undeclared_shape(score.extracted, case.gold)
    hint = (
        "the output has confidence or citations beside its values: to score the values, declare its shape with "
        f"`confidence: {name}` in the case or its defaults, or `extract_confidence = {name}` in the ini file"
    )
    return () if name is None else (hint,)


def _stands_in(document: Document, value: Json) -> bool | None:
    """Whether a value stands in the document; None where that cannot be said."""
    from pytest_extract.documents.evidence import stands_in

    with suppress(DocumentError):  # an image has no text
        return stands_in(document, value)
    return None


# --- what a score is held against: measures, fields, cost, latency, `absent`, known failures


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a score is held against; `known` are the places of known failures, `rules` is the gate of `GateConfig`."""

    thresholds: Thresholds
    absent: Mapping[str, str]
    known: tuple[str, ...] = ()
    rules: bool | None = None

    @classmethod
    def of(cls, case: Case, today: date) -> Requirements:
        """Take the bounds of a case; a known failure that has expired excuses nothing."""
        known = tuple(known.path for known in case.known_failures if not known.expired(today))
        return cls(thresholds=case.thresholds, absent=case.absent, known=known, rules=case.gates.rules)


def with_bounded_measures(score: Score, gold: Json, thresholds: Thresholds) -> Score:
    """Add the measures of papers that have a bound: they take long, so no other score has them."""
    unread = score.unread is not None or score.extracted is MISSING
    asked = PAPER_MEASURES.keys() & thresholds.measures.keys()
    return score.with_measures({name: 0.0 if unread else PAPER_MEASURES[name](gold, score.extracted) for name in asked})


def judged(
    bounds: Requirements, score: Score, *, cost_usd: float | None = None, latency_s: float | None = None
) -> tuple[Outcome, tuple[Breach, ...], str | None]:
    """Return how one output ends, every bound that it misses, and what nobody decided: then it is an error.

    Who did not decide is the judge, or a metric of the project's own. That there is no judge is said first and shortly:
    the run says once what to do about it.
    """
    breaches = breaches_of(bounds, score, cost_usd=cost_usd, latency_s=latency_s)
    undecided: dict[str, dict[str, None]] = {}
    for result in (*score.fields, *score.leaves):
        if result.status is Status.JUDGE_ERROR:
            undecided.setdefault(result.reason or "no reason", {})[str(result.path)] = None
    if not undecided:
        return Outcome.FAILED if breaches else Outcome.PASSED, breaches, None
    told = [f"{listed([*paths])}: {reason}" for reason, paths in undecided.items() if reason != NO_JUDGE]
    if unjudged := undecided.get(NO_JUDGE):
        told = [f"{WITHOUT_JUDGE}{plural(len(unjudged), 'comparison')}: {listed([*unjudged])}", *told]
    return Outcome.ERROR, breaches, "; ".join(first_of(told, 3))


def breaches_of(
    bounds: Requirements, score: Score, *, cost_usd: float | None = None, latency_s: float | None = None
) -> tuple[Breach, ...]:
    """Return every bound that one output misses: measures, fields, `absent`, rules, cost and time."""
    fields, leaves = results_without(score, bounds.known)
    return (
        *_measure_breaches(bounds, score, fields, leaves),
        *_field_breaches(bounds, score, fields, leaves),
        *_absent_breaches(bounds, score),
        *_rule_breaches(bounds, score),
        *_cost_breaches(bounds.thresholds, cost_usd, latency_s),
    )


def cannot_fail(program: Program, thresholds: Thresholds) -> tuple[str, ...]:
    """Return the patterns of fields of which no wrong value fails a case: no bound is about them.

    Fields that are skipped in so many words are none of these, nor is what is inside one that is.
    """
    bounds = {name for name, bound in thresholds.measures.items() if bound > 0}
    if bounds - {"pass_rate", "mean_score"}:
        return ()
    held = {place for place, bound in thresholds.fields.items() if bound > 0}
    found = [
        pattern
        for pattern, node in program.patterns.items()
        if pattern not in held and _cannot_fail(node, bounds, program.semantics)
    ]
    return tuple(one for one in found if not any(one != other and at_or_below(one, other) for other in found))


def _cannot_fail(node: Node, bounds: AbstractSet[str], semantics: Semantics) -> bool:
    by_pass, by_score = "pass_rate" in bounds, "mean_score" in bounds
    match node:
        case Skip():
            return not node.asked
        case Union():
            return all(_cannot_fail(branch, bounds, semantics) for _, branch in node.branches)
        case Array(result=ArrayMetric() as result, field=True):
            own = [(result.threshold, result.named[2]), *((each.threshold, each.weight) for each in node.checks)]
        case Leaf():
            checks = (*node.checks, *chain.from_iterable(leaf.checks for leaf in (node.by_type or {}).values()))
            own = [(each.threshold, each.weight) for each in checks]
            if not node.field:  # in a row, which counts by its leaves that pass, or by the mean of their scores
                by_pass, by_score = semantics.array_result == "recall", semantics.array_result == "f1"
        case _:
            return False
    return not any((by_pass and threshold > 0) or (by_score and weight > 0) for threshold, weight in own)


def _measure_breaches(bounds: Requirements, score: Score, fields: Results, leaves: Results) -> Iterable[Breach]:
    values = score.measures
    if bounds.known and score.unread is None and score.gates.structural:
        values = {**values, **field_measures(fields, leaves, vacuous=score.vacuous)}
    for name, bound in bounds.thresholds.measures.items():
        value = values.get(name)
        if value is None:
            message = (
                f"{name} cannot be checked: what it is made of is not there (`auto_accept`, citations, a text of the "
                "document, `rules`, an extension)"
            )
            yield Breach(what=name, message=message, bound=bound)
        elif value < bound - ROUNDING:
            message = _shortfall_text(name, value, bound) + _shortfall_detail(name, score, fields)
            yield Breach(what=name, message=message, bound=bound, value=value)


def _shortfall_text(name: str, value: float, bound: float) -> str:
    return f"{name} {text_below(value, bound, 'g')} is below {bound:g}, by {_gap_text(bound - value)}"


def _gap_text(gap: float) -> str:
    """Write three digits that count, without an exponent."""
    return format(Decimal(f"{gap:.3g}"), "f")


def _shortfall_detail(name: str, score: Score, fields: Results) -> str:
    if score.unread is not None:
        return f": {score.unread.kind}"
    if not score.gates.structural:
        return f": the {score.gates.failed[0].name} gate failed"
    if name != "pass_rate":
        return ""
    evaluated = [result for result in fields if result.status is not Status.SKIPPED]
    passed = sum(result.passed for result in evaluated)
    empty = sum(result.passed_empty for result in evaluated)
    by_emptiness = f", {empty:,} of them by emptiness" if empty else ""
    return f": {passed:,} of {plural(len(evaluated), 'field')} passed{by_emptiness}"


def results_without(score: Score | ScoreRecord, known: Sequence[str]) -> tuple[Results, Results]:
    """Return field and leaf results without known failures; an array counts by its leaves that are left."""
    if not known:
        return score.fields, score.leaves
    leaves = [result for result in score.leaves if not is_covered(result, known)]
    excused = [result for result in score.leaves if is_covered(result, known)]
    fields = [_rescore_array(result, leaves, excused) for result in score.fields if not is_covered(result, known)]
    return fields, leaves


def _rescore_array(field: FieldResult, leaves: Results, excused: Results) -> FieldResult:
    """Score an array again from the leaves inside it that no known failure covers; other fields stay."""
    size = len(field.path)
    if field.passed or not any(leaf.path[:size] == field.path and len(leaf.path) > size for leaf in excused):
        return field
    inside = [leaf for leaf in leaves if leaf.path[:size] == field.path]
    if any(leaf.status in WRONG for leaf in inside):
        return field._replace(score=count_leaves(inside).f1)
    return field._replace(score=1.0, passed=True, status=Status.MATCH)


def _field_breaches(bounds: Requirements, score: Score, fields: Results, leaves: Results) -> Iterable[Breach]:
    if not bounds.thresholds.fields:
        return
    results = {(result.path, result.metric): result for result in (*fields, *leaves)}.values()  # a leaf may be a field
    for place, bound in bounds.thresholds.fields.items():
        scores = [
            0.0 if score.unread is not None else result.score
            for result in results
            if place in {result.pattern, str(result.path)} and result.status is not Status.SKIPPED
        ]
        if scores and (value := fsum(scores) / len(scores)) < bound - ROUNDING:
            count = f": mean of {len(scores):,} values" if len(scores) > 1 else ""
            message = _shortfall_text(f"field {place}", value, bound) + count
            yield Breach(what=f"fields.{place}", message=message, bound=bound, value=value)


def _absent_breaches(bounds: Requirements, score: Score) -> Iterable[Breach]:
    for place, rule in bounds.absent.items():
        if rule != "must":
            continue
        for found in (*score.leaves, *score.fields):
            empty = found.extracted is MISSING or found.extracted in (None, [], {})
            if found.status in WRONG and not empty and is_covered(found, [place]):
                yield Breach(what=f"absent.{place}", message=f"{found.path} must stay empty, but was extracted")
                break


def _rule_breaches(bounds: Requirements, score: Score) -> Iterable[Breach]:
    """Yield a breach of the gate `rules` for each rule across fields that does not hold."""
    gate = "rules_held" not in bounds.thresholds.measures if bounds.rules is None else bounds.rules
    if not gate or score.unread is not None:  # an output that cannot be read misses every measure
        return
    for result in score.rules:
        if result.fails:
            yield Breach(what=f"rules.{result.name}", message=rule_text(result))


def rule_text(result: RuleResult) -> str:
    """Return a sentence on a rule: `rule sum(items[].total) == total is broken: sum(items[].total) = 9, total = 10`."""
    outcome = {
        RuleStatus.HELD: "holds",
        RuleStatus.BROKEN: "is broken",
        RuleStatus.UNCHECKED: "cannot be checked",
        RuleStatus.NOT_APPLICABLE: "does not apply",
    }[result.status]
    return f"rule {result.name} {outcome}: {result.message}"


def _cost_breaches(thresholds: Thresholds, cost_usd: float | None, latency_s: float | None) -> Iterable[Breach]:
    for what, name, value, unit, unknown in (
        ("max_cost_usd", "cost", cost_usd, "USD", "an unpriced model, or an extractor that reports no cost_usd"),
        ("max_latency_s", "latency", latency_s, "s", "give it in an `Extraction`"),
    ):
        bound: float | None = getattr(thresholds, what)
        if bound is None:
            continue
        if value is None:
            message = f"{what} {bound:g} cannot be checked: the {name} is unknown ({unknown})"
            yield Breach(what=what, message=message, bound=bound)
        elif value > bound + ROUNDING:
            message = f"{name} {value:.4g} {unit} is above {bound:g} {unit}, by {_gap_text(value - bound)}"
            yield Breach(what=what, message=message, bound=bound, value=value)
