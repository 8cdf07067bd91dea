"""Compares a score with the case's thresholds: measures, fields, cost, latency, `absent`, known failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import chain
from math import fsum
from typing import TYPE_CHECKING, Any, Final

from pytest_extract.core.case_result import Attempt, Breach, Outcome
from pytest_extract.core.compile.nodes import Array, ArrayMetric, Leaf, Node, Program, Skip, Union
from pytest_extract.core.results import WRONG, FieldResult, RuleResult, RuleStatus, Status, is_covered
from pytest_extract.core.uncompared import MOST_NAMED
from pytest_extract.core.values import MISSING, ROUNDING, at_or_below, text_below

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case, Thresholds
    from pytest_extract.core.results import ScoreRecord
    from pytest_extract.core.score import Score
    from pytest_extract.core.semantics import Semantics
    from pytest_extract.core.values import Json

_NEEDED: Final = {
    "auto_accept_precision": "the case has no `auto_accept`",
    "auto_accept_coverage": "the case has no `auto_accept`",
    "citation_precision": "the output has no citations, or the document no text",
    "citation_recall": "the output has no citations, or the document no text",
    "grounded_rate": "the document has no text",
    "rules_held": "the case has no `rules`, nor has its schema",
}
"""What a case lacks that a measure is not there for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a score is held against; `known` are the places of known failures, `rules` is the gate of `GateConfig`."""

    thresholds: Thresholds
    absent: Mapping[str, str]
    known: Sequence[str] = ()
    rules: bool | None = None

    @classmethod
    def of(cls, case: Case, today: date) -> Requirements:
        """Take the bounds of a case; a known failure that has expired excuses nothing."""
        return cls(
            thresholds=case.thresholds, absent=case.absent, known=known_patterns(case, today), rules=case.gates.rules
        )


def thresholds_of(given: Mapping[str, Any] | None) -> Thresholds:
    """Read the `thresholds` of a case, given as an argument; ConfigError with all mistakes in it."""
    from pytest_extract.cases.keys import LIMITS, bounded_measures, checked_argument
    from pytest_extract.cases.model import Thresholds
    from pytest_extract.core.values import usual

    clean = checked_argument("thresholds", given)
    measures = bounded_measures(clean)
    fields = {usual(place): bound for place, bound in clean.get("fields", {}).items()}
    limits = {name: clean[name] for name in LIMITS if name in clean}
    if measures or fields:
        return Thresholds(measures=measures, fields=fields, **limits)
    return Thresholds(**limits)


def with_bounded_measures(score: Score, gold: Json, thresholds: Thresholds) -> Score:
    """Add the measures of papers that have a bound: they take long, so no other score has them."""
    from pytest_extract.core.measures.papers import PAPER_MEASURES

    unread = score.unread is not None or score.extracted is MISSING
    for name in PAPER_MEASURES.keys() & thresholds.measures.keys():
        score = score.with_measures({name: 0.0 if unread else PAPER_MEASURES[name](gold, score.extracted)})
    return score


def breaches_of(
    bounds: Requirements, score: Score, *, cost_usd: float | None = None, latency_s: float | None = None
) -> tuple[Breach, ...]:
    """Return every bound that one output misses: measures, fields, `absent`, cost and time."""
    return (
        *_measure_breaches(bounds.thresholds, score, bounds.known),
        *_field_breaches(bounds.thresholds, score, bounds.known),
        *_absent_breaches(bounds.absent, score),
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
            checks = (*node.checks, *chain.from_iterable((node.by_type or {}).values()))
            own = [(each.threshold, each.weight) for each in checks]
            if not node.field:  # in a row, which counts by its leaves that pass, or by the mean of their scores
                by_pass, by_score = semantics.array_result == "recall", semantics.array_result == "f1"
        case _:
            return False
    return not any((by_pass and threshold > 0) or (by_score and weight > 0) for threshold, weight in own)


def cannot_fail_text(patterns: Sequence[str]) -> str:
    """Name the fields of which no wrong value fails a case."""
    named = ", ".join(f"`{pattern}`" for pattern in patterns[:MOST_NAMED])
    left = len(patterns) - MOST_NAMED
    more = f" and {left:,} more" if left > 0 else ""
    fields = "1 field" if len(patterns) == 1 else f"{len(patterns):,} fields"
    return f"no wrong value of {fields} can fail a case: {named}{more}"


def case_breaches(
    case: Case, attempts: Sequence[Attempt], *, needed: int, of: int, outcome: Outcome, today: date
) -> tuple[Breach, ...]:
    """Return what a case misses: the bounds of its only attempt, or the number of repeats; and expired excuses."""
    expired = tuple(
        Breach(
            what=f"known_failures.{known.path}",
            message=f"known failure {known.path} expired on {known.until}{': ' * bool(known.reason)}{known.reason}",
        )
        for known in case.known_failures
        if known.expired(today)
    )
    if outcome is not Outcome.FAILED:
        return expired if outcome is Outcome.PASSED else ()
    if of == 1:
        return (*attempts[0].breaches, *expired)
    passed = sum(attempt.outcome is Outcome.PASSED for attempt in attempts)
    message = f"{passed} of {len(attempts)} repeats passed, {needed} of {of} needed"
    return (Breach(what="repeat", message=message, bound=needed, value=passed), *expired)


def known_patterns(case: Case, today: date) -> tuple[str, ...]:
    """Places of the known failures that have not expired."""
    return tuple(known.path for known in case.known_failures if not known.expired(today))


def _measure_breaches(thresholds: Thresholds, score: Score, known: Sequence[str]) -> Iterable[Breach]:
    values = measures_without(score, known)
    for name, bound in thresholds.measures.items():
        value = values.get(name)
        if value is None:
            needed = _NEEDED.get(name, "no extension gives a measure of this name")
            yield Breach(what=name, message=f"{name} cannot be checked: {needed}", bound=bound)
        elif value < bound - ROUNDING:
            message = _shortfall_text(name, value, bound) + _shortfall_detail(name, score, known)
            yield Breach(what=name, message=message, bound=bound, value=value)


def _shortfall_text(name: str, value: float, bound: float) -> str:
    return f"{name} {text_below(value, bound, 'g')} is below {bound:g}, by {_gap_text(bound - value)}"


def _gap_text(gap: float) -> str:
    """Write three digits that count, without an exponent."""
    return format(Decimal(f"{gap:.3g}"), "f")


def _shortfall_detail(name: str, score: Score, known: Sequence[str]) -> str:
    if score.unread is not None:
        return f": {score.unread.kind}"
    if not score.gates.structural:
        gates = (score.gates.parse, score.gates.root, score.gates.schema)
        failed = ", ".join(gate.name for gate in gates if not gate.passed)
        return f": the {failed} gate failed"
    if name != "pass_rate":
        return ""
    fields, _ = results_without(score, known)
    evaluated = [result for result in fields if result.status is not Status.SKIPPED]
    passed = sum(result.passed for result in evaluated)
    empty = sum(result.passed_empty for result in evaluated)
    by_emptiness = f", {empty:,} of them by emptiness" if empty else ""
    return f": {passed:,} of {len(evaluated):,} {'field' if len(evaluated) == 1 else 'fields'} passed{by_emptiness}"


def measures_without(score: Score, known: Sequence[str]) -> Mapping[str, float]:
    """Return the score's measures; those over field and leaf results leave known failures out."""
    if not known or score.unread is not None or not score.gates.structural:
        return score.measures
    from pytest_extract.core.measures.fields import field_measures

    fields, leaves = results_without(score, known)
    return {**score.measures, **field_measures(fields, leaves, vacuous=score.vacuous)}


def results_without(
    score: Score | ScoreRecord, known: Sequence[str]
) -> tuple[Sequence[FieldResult], Sequence[FieldResult]]:
    """Return field and leaf results without known failures; an array counts by its leaves that are left."""
    if not known:
        return score.fields, score.leaves
    leaves = [result for result in score.leaves if not is_covered(result, known)]
    excused = [result for result in score.leaves if is_covered(result, known)]
    fields = [_rescore_array(result, leaves, excused) for result in score.fields if not is_covered(result, known)]
    return fields, leaves


def _rescore_array(field: FieldResult, leaves: Sequence[FieldResult], excused: Sequence[FieldResult]) -> FieldResult:
    """Score an array again from the leaves inside it that no known failure covers; other fields stay."""
    size = len(field.path)
    if field.passed or not any(leaf.path[:size] == field.path and len(leaf.path) > size for leaf in excused):
        return field
    from pytest_extract.core.measures.fields import count_leaves

    inside = [leaf for leaf in leaves if leaf.path[:size] == field.path]
    if any(leaf.status in WRONG for leaf in inside):
        return field._replace(score=count_leaves(inside).f1)
    return field._replace(score=1.0, passed=True, status=Status.MATCH)


def _field_breaches(thresholds: Thresholds, score: Score, known: Sequence[str]) -> Iterable[Breach]:
    if not thresholds.fields:
        return
    fields, leaves = results_without(score, known)
    results = {(result.path, result.metric): result for result in (*fields, *leaves)}.values()  # a leaf may be a field
    for place, bound in thresholds.fields.items():
        scores = [
            0.0 if score.unread is not None else result.score
            for result in results
            if place in {result.pattern, str(result.path)} and result.status is not Status.SKIPPED
        ]
        if scores and (value := fsum(scores) / len(scores)) < bound - ROUNDING:
            count = f": mean of {len(scores):,} values" if len(scores) > 1 else ""
            message = _shortfall_text(f"field {place}", value, bound) + count
            yield Breach(what=f"fields.{place}", message=message, bound=bound, value=value)


def _absent_breaches(absent: Mapping[str, str], score: Score) -> Iterable[Breach]:
    for place, rule in absent.items():
        if rule != "must":
            continue
        invented = next((r for r in (*score.leaves, *score.fields) if is_covered(r, [place]) and _invented(r)), None)
        if invented is not None:
            yield Breach(what=f"absent.{place}", message=f"{invented.path} must stay empty, but was extracted")


def _invented(result: FieldResult) -> bool:
    return result.status in WRONG and result.extracted is not MISSING and result.extracted not in (None, [], {})


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
    bound = thresholds.max_cost_usd
    if bound is not None and cost_usd is None:
        yield Breach(
            what="max_cost_usd",
            message=f"max_cost_usd {bound:g} cannot be checked: the cost is unknown (an unpriced model,"
            " or an extractor that reports no cost_usd)",
            bound=bound,
        )
    elif bound is not None and cost_usd is not None and cost_usd > bound + ROUNDING:
        yield _excess_breach("max_cost_usd", "cost", cost_usd, bound, " USD")
    bound = thresholds.max_latency_s
    if bound is not None and latency_s is None:
        message = f"max_latency_s {bound:g} cannot be checked: the latency is unknown (give it in an `Extraction`)"
        yield Breach(what="max_latency_s", message=message, bound=bound)
    elif bound is not None and latency_s is not None and latency_s > bound + ROUNDING:
        yield _excess_breach("max_latency_s", "latency", latency_s, bound, " s")


def _excess_breach(what: str, name: str, value: float, bound: float, unit: str) -> Breach:
    message = f"{name} {value:.4g}{unit} is above {bound:g}{unit}, by {_gap_text(value - bound)}"
    return Breach(what=what, message=message, bound=bound, value=value)
