"""A run says which of its green rests on nothing."""

import pytest

from tests.plugin.conftest import RED, plain_and_workers

TEXT = {"type": "string", "evaluation_config": "string_exact"}
NAMES = ("title", "place", "course", "category")
SCHEMA = {"type": "object", "properties": dict.fromkeys(NAMES, TEXT)}
GOLD = {"title": "Final", "events": [{"name": "Ada", "time": 59.1}, {"name": "Bob", "time": 61.0}]}


@plain_and_workers
@pytest.mark.usefixtures("echo")
def test_the_summary_says_what_a_case_is_allowed(run, write_case, workers):
    allowed = {"schema": SCHEMA, "gold": GOLD, "uncompared": "allow"}
    write_case("empty", {"title": "Final"}, **allowed)
    write_case("wrong", {"hello": 1}, **allowed)
    free = {name: {"threshold": 0} for name in NAMES[1:]}
    mixed = {**dict.fromkeys(NAMES, "wrong"), "title": "right"}
    write_case("free", mixed, schema=SCHEMA, gold=dict.fromkeys(NAMES, "right"), overrides=free)
    lines = [
        "*pass_rate 0.75 is below 1, by 0.25: 3 of 4 fields passed, 3 of them by emptiness",
        "right by emptiness, without a value on either side, in 2 cases: *empty (3 of 4 passed fields)*",
        "gold values that are compared with nothing, in 2 cases: *empty (4 of 5: events)*",
        "fields of which no wrong value fails the case, in 1 case: free (place, course, category)",
    ]
    run(*workers, passed=2, failed=1, lines=lines)
    write_case("empty", GOLD, schema=SCHEMA, gold=GOLD)
    stops = "*empty.extract.yaml:1:*: 4 of 5 gold values are compared with nothing: `events` (4)*"
    run("empty.extract.yaml", status=RED, lines=[stops])


@pytest.mark.usefixtures("echo")
def test_one_annotation_takes_no_nullable_field_out_of_the_verdict(run, write_case):
    paid = {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
    properties = {"id": TEXT, "total": {"type": ["number", "null"]}, "paid": paid}
    keys = {"schema": {"type": "object", "properties": properties}, "gold": {"id": "7", "total": 2.5, "paid": True}}
    write_case("wrong", {"id": "7", "total": 999, "paid": False}, **keys)
    write_case("named", {"id": "7", "total": 999, "paid": True}, **keys, semantics="extract-bench")
    result = run(failed=2)
    result.stdout.fnmatch_lines_random(["*wrong*: 1 of 3 fields passed*", "*named*: 2 of 3 fields*"])
