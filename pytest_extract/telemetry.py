"""OpenTelemetry events of results (extra `otel`): they go where the project's own tracer sends spans, or nowhere."""

from __future__ import annotations

from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.errors import ConfigError

EVENT: Final = "gen_ai.evaluation.result"
_ALWAYS: Final = ("pass_rate", "f1")
_LONGEST: Final = 1_000


def emit_result(result: CaseResult) -> None:
    """Add an event for each bounded measure of a result, and for `pass_rate` and `f1`, to a span of the case.

    The span is a child of the current one. Without a tracer provider of the project's own this does nothing. Names and
    attributes are those of OpenTelemetry's semantic conventions for generative AI; values of documents are no part of
    them. Raises ConfigError if `opentelemetry-api` is not installed.
    """
    try:
        from opentelemetry import trace
    except ImportError:
        raise ConfigError("--extract-otel needs opentelemetry: pip install 'pytest-extract[otel]'") from None
    bounded = {breach.what: breach.message for breach in result.breaches}
    bounded |= {breach.what: breach.message for attempt in result.attempts for breach in attempt.breaches}
    scores = result.scores
    names = [name for name in dict.fromkeys((*_ALWAYS, *bounded)) if all(name in each.measures for each in scores)]
    with trace.get_tracer("pytest_extract").start_as_current_span("evaluate extraction") as span:
        span.set_attribute("test.case.name", result.nodeid)
        if result.arm.model is not None:
            span.set_attribute("gen_ai.request.model", result.arm.model)
        if result.outcome is Outcome.BROKEN or not scores:
            span.add_event(EVENT, {"gen_ai.evaluation.name": "outcome", "error.type": str(result.outcome)})
            return
        label = "pass" if result.outcome is Outcome.PASSED else "fail"
        for name in names:
            attributes: dict[str, str | float] = {
                "gen_ai.evaluation.name": name,
                "gen_ai.evaluation.score.value": sum(each.measures[name] for each in scores) / len(scores),
                "gen_ai.evaluation.score.label": "fail" if name in bounded else label,
            }
            if name in bounded:
                attributes["gen_ai.evaluation.explanation"] = bounded[name][:_LONGEST]
            span.add_event(EVENT, attributes)
