"""Agreement with struct-extract-eval's schema tools, command by command."""

from __future__ import annotations

import re

import pytest

from pytest_extract import compile_schema
from pytest_extract.errors import ExtractError, SchemaError
from pytest_extract.schema_tools.golds import annotate_schema, infer_schema, validate_golds
from pytest_extract.schema_tools.resolve import resolve_schema_references
from tests.shared_data import jsonl


def vectors(kind):
    found = [vector for vector in jsonl("vectors/xeval_schema.jsonl") if vector["kind"] == kind]
    assert len(found) > 10
    return found


def check(kind, run):
    """Run what a tool does on each vector of a kind: it gives what is published, or refuses what is refused there."""
    for vector in vectors(kind):
        if "error" in vector:
            with pytest.raises(ExtractError):
                run(vector)
        else:
            before = repr(vector)
            assert run(vector) == vector["expected"], vector["id"]
            assert repr(vector) == before, "what is given is left alone"


def test_annotate_infer_and_resolve_as_published():
    check("annotate", lambda vector: annotate_schema(vector["schema"]))
    check("infer", lambda vector: infer_schema(vector["values"]))
    check("resolve", lambda vector: resolve_schema_references(vector["schema"], published=True))


def test_resolve_differs_only_in_what_it_keeps():
    def resolved(vector):
        found = resolve_schema_references(vector["schema"])
        return vector["expected"] if keepable(vector["schema"]) else found

    check("resolve", resolved)


def keepable(schema):
    """Whether a schema has what struct-extract-eval loses: keys beside a `$ref`, `required` in an `allOf`, or null."""
    if isinstance(schema, list):
        return any(map(keepable, schema))
    if not isinstance(schema, dict):
        return False
    merged = any("required" in branch for branch in schema.get("allOf", []))
    nullable = {"type": "null"} in schema.get("anyOf", [])
    return merged or nullable or ("$ref" in schema and len(schema) > 1) or any(map(keepable, schema.values()))


def test_validate_gold():
    for vector in vectors("validate_gold"):
        problems = validate_golds(vector["gold"], vector["schema"], **vector["options"])
        errors = [problem for problem in problems if problem.severity == "error"]
        if "error" in vector:
            assert errors[0].pattern == vector["error"]["path"], vector["id"]
            assert errors[0].record_id == vector["error"]["record_id"], vector["id"]
        else:
            assert not errors, vector["id"]


MORE = re.compile(
    r"Missing or invalid 'type'|x-eval-align is only valid on array nodes, but this node has type 'multi'"
)
"""What the published parser refuses and ours accepts: a node without a type, an alignment on a union with an array."""
LATE = re.compile(r"needs the parameter|parameter '\w+' must")
"""What the published parser accepts, and its program meets while it scores."""


def refusal(schema):
    """Our configuration error, None where the schema compiles."""
    try:
        compile_schema(schema, semantics="struct-extract-eval")
    except SchemaError as error:
        return str(error)
    return None


def test_parse():
    for vector in vectors("parse"):
        ours, theirs = refusal(vector["schema"]), vector.get("error", {}).get("message")
        if ours is None:
            assert theirs is None or MORE.search(theirs), vector["id"]
        else:
            assert theirs is not None or LATE.search(ours), vector["id"]
