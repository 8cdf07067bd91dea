"""Corners of the semantics struct-extract-eval, each decided by the rule in scoring.md, part B.2."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema


def leaves(schema, gold, extracted, **options):
    scorer = compile_schema(schema, semantics="struct-extract-eval", **options)
    score = scorer.score(gold, extracted, gates={"schema": False})
    return [(str(result.path), str(result.status)) for result in score.leaves]


def leaf(kind, compare, *transforms):
    return {"type": kind, "x-eval-compare": compare, "x-eval-transform": list(transforms)}


def to(kind):
    return {"type_convert": {"to": kind}}


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        (leaf("boolean", "numeric"), True, "match"),
        (leaf("boolean", "numeric", to("str")), True, "mismatch"),  # the text "True" is no number, even beside itself
        (leaf("number", "numeric", to("str")), 2.5, "match"),
        (leaf("string", "numeric", to("bool")), "true", "match"),
        (leaf("string", "numeric"), "true", "mismatch"),
        (leaf("integer", {"oneof": {"values": ["1"]}}, to("str")), 1, "match"),
        (leaf("integer", {"oneof": {"values": [1]}}, to("str")), 1, "mismatch"),
    ],
)
def test_a_metric_sees_equal_values_as_the_transforms_leave_them(field, value, status):
    schema = {"type": "object", "properties": {"a": field, "b": {"type": "string", "x-eval-compare": "exact"}}}
    assert leaves(schema, {"a": value, "b": "x"}, {"a": value, "b": "x"}) == [("a", status), ("b", "match")]
