"""A run says which of its green rests on nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]
TEXT = {"type": "string", "evaluation_config": "string_exact"}
SCHEMA = {"type": "object", "properties": dict.fromkeys(("title", "place", "course", "category"), TEXT)}
GOLD = {"title": "Final", "events": [{"name": "Ada", "time": 59.1}, {"name": "Bob", "time": 61.0}]}


def test_a_gold_that_is_mostly_compared_with_nothing_does_not_run(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("race", GOLD, schema=SCHEMA, gold=GOLD)
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*race.extract.yaml:1:*: 4 of 5 gold values are compared with nothing: `events` (4)*"])


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["serial", "xdist"])
def test_where_the_case_allows_it_the_summary_says_so(
    pytester: pytest.Pytester, write_case: Write, workers: list[str]
) -> None:
    write_case("race", {"title": "Final"}, schema=SCHEMA, gold=GOLD, uncompared="allow")
    result = pytester.runpytest(*workers)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "right by emptiness, without a value on either side, in 1 case: race (3 of 4 passed fields)",
            "gold values that are compared with nothing, in 1 case: race (4 of 5: events)",
        ]
    )


def test_a_failing_case_counts_what_is_right_by_emptiness(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("race", {"hello": 1}, schema=SCHEMA, gold=GOLD, uncompared="allow")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*pass_rate 0.75 is below 1, by 0.25: 3 of 4 fields passed, 3 of them by emptiness", "*by emptiness: 3 of 3*"]
    )


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["serial", "xdist"])
def test_fields_of_which_no_wrong_value_fails_a_case_are_named(
    pytester: pytest.Pytester, write_case: Write, workers: list[str]
) -> None:
    names = [f"f{number}" for number in range(7)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in [*names, "held"]}}
    free = {name: {"threshold": 0} for name in names}
    gold = dict.fromkeys(names, "right") | {"held": "x"}
    wrong = dict.fromkeys(names, "wrong") | {"held": "x"}
    write_case("race", wrong, schema=schema, gold=gold, overrides=free)
    result = pytester.runpytest(*workers)
    result.assert_outcomes(passed=1)
    told = "fields of which no wrong value fails the case, in 1 case: race (f0, f1, f2, f3, f4 and 2 more)"
    result.stdout.fnmatch_lines([told])


def test_one_annotation_takes_no_nullable_field_out_of_the_verdict(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "id": TEXT,
            "total": {"type": ["number", "null"]},
            "paid": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        },
    }
    gold = {"id": "7", "total": 2.5, "paid": True}
    write_case("wrong", {"id": "7", "total": 999, "paid": False}, schema=schema, gold=gold)
    write_case("named", {"id": "7", "total": 999, "paid": True}, schema=schema, gold=gold, semantics="extract-bench")
    write_case("right", gold, schema=schema, gold=gold)
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*wrong*: 1 of 3 fields passed*"])
    result.stdout.fnmatch_lines(["*named*: 2 of 3 fields*"])
