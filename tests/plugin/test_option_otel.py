"""`--extract-otel`: events of each result in a span of the project's own tracer."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.plugin.conftest import ECHO, GOLD

TRACED = (
    ECHO
    + """
import json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

EXPORTER = InMemorySpanExporter()

def pytest_configure():
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)

def pytest_unconfigure():
    spans = [
        {"name": span.name, **dict(span.attributes), "events": [[event.name, dict(event.attributes)] for event in span.events]}
        for span in EXPORTER.get_finished_spans()
    ]
    open("spans.json", "w").write(json.dumps(spans))
"""
)


def test_each_result_is_a_span_with_events(pytester: pytest.Pytester, write_case: Callable[..., None]) -> None:
    pytest.importorskip("opentelemetry.sdk")
    pytester.makeconftest(TRACED)
    write_case("a")
    write_case("b", {**GOLD, "total": 7, "vendor": "Not said"})
    result = pytester.runpytest_subprocess("--extract-otel", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    one, other = json.loads((pytester.path / "spans.json").read_text(encoding="utf-8"))
    assert one["test.case.name"] == "a.extract.yaml::a"
    assert [name for name, _ in one["events"]] == ["gen_ai.evaluation.result"] * 2
    rate = {attributes["gen_ai.evaluation.name"]: attributes for _, attributes in other["events"]}["pass_rate"]
    assert rate["gen_ai.evaluation.score.value"] == pytest.approx(1 / 3)
    assert rate["gen_ai.evaluation.score.label"] == "fail"
    assert "pass_rate 0.333 is below 1" in rate["gen_ai.evaluation.explanation"]
    assert "Not said" not in json.dumps(other), "values are no part of an event"


def test_without_the_option_nothing_is_traced(pytester: pytest.Pytester, write_case: Callable[..., None]) -> None:
    pytest.importorskip("opentelemetry.sdk")
    pytester.makeconftest(TRACED)
    write_case("a")
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
    assert json.loads((pytester.path / "spans.json").read_text(encoding="utf-8")) == []
