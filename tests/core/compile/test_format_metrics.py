"""`format` of a JSON Schema picks the metric of a text that names none, under our own semantics only."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema
from pytest_extract.core.compile.nodes import Leaf
from pytest_extract.core.semantics import DEFAULT, SEMANTICS


def metrics(place, **how):
    """The metrics of a place as a property, as a row, and beside a place that is not plain."""
    scorer = compile_schema(
        {
            "type": "object",
            "properties": {"a": place, "rows": {"type": "array", "items": place}, **how.pop("others", {})},
        },
        judge_mode="fuzzy",
        **how,
    )
    nodes = [scorer.program.patterns[name] for name in ("a", "rows[]")]
    return {check.metric.name for node in nodes if isinstance(node, Leaf) for check in node.checks}


@pytest.mark.parametrize("others", [{}, {"b": {"$ref": "#"}}], ids=["plain", "compiled"])
@pytest.mark.parametrize(
    ("text_format", "gold", "same", "other"),
    [
        ("date", "2026-03-04", "2026-03-04T00:00:00", "2026-04-03"),
        ("date-time", "2026-03-04T10:00:00Z", "2026-03-04T11:00:00+01:00", "2026-03-04T11:00:00Z"),
        ("email", "jo@example.com", "mailto:Jo@Example.com", "jo@example.org"),
        ("uri", "https://Example.com:443/a/", "https://example.com/a", "http://example.com/a"),
        ("url", "https://x.org/a#top", "https://x.org/a/#top", "https://x.org/a"),
        ("uuid", "9B2DC5F0-0000-4000-8000-000000000000", "9b2dc5f0-0000-4000-8000-000000000000", "x"),
        ("hostname", "Example.com", "example.com", "example.org"),
        ("time", "10:00:00", "10:00:00", "10:00"),
        ("date", "Q3 2024", "Q3  2024", "Q4 2024"),
    ],
)
def test_values_of_a_format(text_format, gold, same, other, others):
    for types in ("string", ["string", "null"], ["null", "string"], ["string", "integer"]):
        place = {"type": types, "format": text_format}
        properties = {"a": place, **others}
        if "integer" not in types:
            properties["rows"] = {"type": "array", "items": place}
        scorer = compile_schema({"type": "object", "properties": properties})
        for extracted, passes in ((same, True), (other, False)):
            golds, values = (
                {name: [value] if name == "rows" else value for name in properties if name != "b"}
                for value in (gold, extracted)
            )
            assert {leaf.passed for leaf in scorer.score(golds, values).leaves} == {passes}


def test_the_metric_of_a_format():
    assert metrics({"type": "string", "format": "date"}) == {"date"}
    assert metrics({"type": "string"}) == {"text"}
    assert metrics({"type": "string", "format": "no-such-format"}) == {"text"}
    assert metrics({"type": "string", "format": ["date"]}) == {"text"}
    assert metrics({"type": "integer", "format": "date"}) == {"integer"}
    assert metrics({"type": "string", "format": "date"}, others={"b": {"$ref": "#"}}) == {"date"}
    union = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
    assert metrics(union) == {"date"}
    composed = {"allOf": [{"type": "string"}, {"format": "email"}]}
    assert metrics(composed) == {"email"}


def test_an_annotation_or_override_wins():
    annotated = {"type": "string", "format": "date", "evaluation_config": "string_exact"}
    assert metrics(annotated, semantics="default") == {"string_exact"}
    plain = {"type": "string", "format": "date"}
    assert metrics(plain, overrides={"a": "fuzzy", "rows[]": "fuzzy"}) == {"fuzzy"}


@pytest.mark.parametrize("semantics", [name for name in SEMANTICS if name != "default"])
def test_the_published_semantics_know_no_formats(semantics):
    assert not SEMANTICS[semantics].format_metrics
    for text_format in DEFAULT.format_metrics:
        place = (
            {"type": "string", "x-eval-compare": "exact"} if semantics == "struct-extract-eval" else {"type": "string"}
        )
        assert metrics({**place, "format": text_format}, semantics=semantics) == metrics(place, semantics=semantics)
