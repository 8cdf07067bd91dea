from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Spending, Usage, Variant
from pytest_extract.core.results import FieldResult, NamedMistake
from pytest_extract.core.values import FieldPath
from pytest_extract.report.lines import text_of
from pytest_extract.report.summary import Forecast, forecast_lines, summary_lines, totals_of
from tests.records import field_result, score_record


def leaf(pattern: str, status: str, score: float = 0.0) -> FieldResult:
    return field_result("a", 1, status=status, score=score, pattern=pattern)


def attempt(pass_rate: float = 1.0, *leaves: FieldResult, **keys: Any) -> Attempt:
    outcome = keys.pop("outcome", Outcome.PASSED if pass_rate == 1 else Outcome.FAILED)
    failure = keys.pop("failure", None)
    score = score_record(*leaves, measures={"pass_rate": pass_rate, "f1": pass_rate}, failure=failure)
    return Attempt(index=0, outcome=outcome, score=score, **keys)


def case(name: str, *attempts: Attempt, **keys: Any) -> CaseResult:
    outcome = attempts[0].outcome if attempts else Outcome.NOT_RUN
    base = {
        "nodeid": f"{name}.extract.yaml::{name}",
        "case_id": name,
        "file": "f",
        "variant": Variant(),
        "outcome": outcome,
    }
    return CaseResult(attempts=attempts, **{**base, **keys})


def told(*results: CaseResult, **how: Any) -> list[str]:
    return [text_of(each) for each in summary_lines(results, **how)]


def test_outcomes_stay_apart_and_broken_cases_are_in_no_measure() -> None:
    broken = Attempt(index=0, outcome=Outcome.BROKEN, error="ValueError: down")
    lines = told(
        case("a", attempt(1.0)),
        case("b", attempt(0.5)),
        case("c", broken, why="ValueError: down"),
        case("d", why="the budget is spent"),
    )
    assert lines[0] == "4 cases: 1 passed, 1 failed, 1 broken, 1 not run; fields right 75 %; f1 0.75"
    assert "broken: 1 case: ValueError: down" in lines
    assert "not run: 1 case: the budget is spent" in lines


def test_reasons_that_are_not_shown_are_counted() -> None:
    broken = Attempt(index=0, outcome=Outcome.BROKEN, error="E")
    whys = [*"aabbccddee", "f", "g"]
    lines = told(*(case(f"k{index}", broken, why=why) for index, why in enumerate(whys)))
    assert [each for each in lines if each.startswith("broken: ")] == [
        *(f"broken: 2 cases: {why}" for why in "abcde"),
        "broken: 2 cases for other reasons",
    ]


def test_what_xfail_announced_is_said() -> None:
    line = told(case("a", attempt(1.0)), case("b", attempt(0.5)), expected=1)[0]
    assert line.startswith("2 cases: 1 passed, 1 failed (1 as an xfail mark says); fields right")


def test_a_case_s_repeats_count_as_one_case() -> None:
    results = [case("a", attempt(1.0), attempt(0.0), attempt(0.5)), case("b", attempt(1.0))]
    assert totals_of(results).means == {"pass_rate": 0.75, "f1": 0.75}


def test_a_judged_out_repeat_is_in_no_measure() -> None:
    results = [case("a", attempt(1.0), attempt(0.0, outcome=Outcome.BROKEN))]
    assert totals_of(results).means == {"pass_rate": 1.0, "f1": 1.0}


def test_worst_fields_stand_first_over_all_cases() -> None:
    lines = told(
        case("a", attempt(0.5, leaf("x", "mismatch", 0.9), leaf("y", "omission"), leaf("z", "match", 1.0))),
        case("b", attempt(0.5, leaf("x", "match", 1.0), leaf("y", "hallucination"), leaf("z", "match", 1.0))),
        case("c", attempt(0.0, leaf("y", "omission"), failure="no_json")),
        case("d", attempt(0.5, leaf("known", "mismatch")), known=("known",)),
    )
    start = lines.index("worst fields")
    assert [line.split() for line in lines[start + 1 : start + 3]] == [
        ["field", "wrong", "cases", "how"],
        ["y", "2", "of", "2", "(100", "%)", "2", "1", "omission,", "1", "hallucination"],
    ]
    assert "unusable outputs: 1 no_json" in lines
    assert not any(line.startswith(("  x", "  z", "  known ")) for line in lines)


def test_known_failures_are_told_and_those_that_pass_named() -> None:
    lines = told(
        case("a", attempt(1.0, leaf("x", "mismatch"), leaf("y", "match", 1.0)), known=("x", "y")),
        case(
            "b", attempt(1.0, leaf("x", "mismatch"), leaf("z", "mismatch"), leaf("w", "match", 1.0)), known=("x", "z")
        ),
        case("c", attempt(1.0, leaf("x", "match", 1.0)), attempt(0.5, leaf("x", "omission")), known=("x",)),
        case("d", attempt(0.0, leaf("x", "match", 1.0), failure="no_json"), known=("x",)),
        case("e", attempt(1.0, leaf("x", "match", 1.0))),
    )
    assert lines[-2:] == [
        "known failures, not in the verdict, in 3 cases: a (1 value), b (2 values), c (1 value)",
        "known failures that pass now (take them out of known_failures), in 1 case: a (y)",
    ]


def test_of_many_known_failures_that_pass_a_few_are_named() -> None:
    fields = [f"f{number}" for number in range(8)]
    lines = told(case("a", attempt(1.0, *(leaf(name, "match", 1.0) for name in fields)), known=tuple(fields)))
    assert " ".join(lines).endswith("in 1 case: a (f0, f1, f2, f3, f4 and 3 more)")


@pytest.mark.parametrize(("verbosity", "shown"), [(0, 10), (1, 10), (2, 15)])
def test_only_the_worst_fields_are_shown(verbosity: int, shown: int) -> None:
    bad = attempt(0.5, *(leaf(f"f{i:02}", "mismatch") for i in range(15)))
    alone = told(case("a", bad), verbosity=verbosity)
    assert ("worst fields" in alone) == (verbosity == 2)  # the diff of the only case says it all
    assert "worst fields" in told(case("a", bad), verbosity=verbosity, diffs=False)
    others = attempt(0.5, *(leaf(f"g{i:02}", "mismatch") for i in range(15)))
    assert "worst fields" not in told(case("a", bad), case("b", others))  # each diff says all of its own
    lines = told(case("a", bad), case("b", bad), verbosity=verbosity)
    assert sum(line.startswith(("  f0", "  f1")) for line in lines) == shown
    assert ("  and 5 more fields (-vv shows all)" in lines) == (shown == 10)


def test_a_line_per_variant() -> None:
    lines = told(
        case("a", attempt(1.0, cost_usd=0.5), variant=Variant(model="m")),
        case("a", attempt(0.5), variant=Variant(model="n")),
        case("b", attempt(0.0), variant=Variant(model="n")),
        case("a", attempt(1.0, cost_usd=0.5, recorded=True), variant=Variant(model="o")),
    )
    assert [line.split() for line in lines[1:5]] == [
        ["cases", "passed", "failed", "broken", "not", "run", "fields", "right", "f1", "cost"],
        ["m", "1", "1", "0", "0", "0", "100", "%", "1", "$0.5000"],
        ["n", "2", "0", "2", "0", "0", "25", "%", "0.25", "unknown"],
        ["o", "1", "1", "0", "0", "0", "100", "%", "1", "-"],
    ]


@pytest.mark.parametrize(
    ("attempts", "line"),
    [
        pytest.param(
            [{"cost_usd": 0.5, "usage": Usage(prompt_tokens=1000, completion_tokens=20)}],
            "tokens: 1,000 in, 20 out; cost: $0.5000",
            id="priced",
        ),
        pytest.param(
            [{"cost_usd": 0.5}, {}], "cost: $0.5000 (1 call without a known price not counted)", id="partly-priced"
        ),
        pytest.param(
            [{"usage": Usage(prompt_tokens=5)}],
            "tokens: 5 in, 0 out; cost: unknown (1 call without a known price)",
            id="unpriced",
        ),
        pytest.param(
            [{"cost_usd": 0.5, "recorded": True}],
            "recorded earlier: 1 output (nothing spent on them now)",
            id="recorded",
        ),
        pytest.param([{"cost_usd": 0.0}], "cost: $0.0000", id="free"),
    ],
)
def test_money(attempts: list[dict[str, Any]], line: str) -> None:
    assert line in told(case("a", *(attempt(1.0, **keys) for keys in attempts)))


@pytest.mark.parametrize(
    ("attempts", "line"),
    [
        pytest.param([{}, {}], "cost: unknown (2 calls without reported tokens)", id="none"),
        pytest.param(
            [{}, {"usage": Usage(prompt_tokens=5)}, {"usage": Usage(prompt_tokens=5, completion_tokens=1)}],
            "tokens: 10 in, 1 out; cost: unknown (1 call without a known price, 2 calls without reported tokens)",
            id="unpriced",
        ),
        pytest.param(
            [{"cost_usd": 0.5, "usage": Usage(prompt_tokens=5, completion_tokens=1)}, {}],
            "tokens: 5 in, 1 out; cost: $0.5000 (1 call without reported tokens not counted)",
            id="some",
        ),
    ],
)
def test_calls_of_a_model_without_tokens_are_listed(attempts: list[dict[str, Any]], line: str) -> None:
    assert line in told(case("a", *(attempt(1.0, **keys) for keys in attempts), variant=Variant(model="m")))


def test_an_unknown_cost_is_never_counted_as_free() -> None:
    spent = Spending.of([case("a", attempt(1.0), attempt(1.0))])
    assert (spent.calls, spent.unpriced, spent.cost_text) == (2, 2, "unknown")


def test_what_the_judge_cost() -> None:
    judge = Spending(calls=2, cost_usd=0.01, prompt_tokens=300) + Spending(calls=1, cost_usd=0.01, completion_tokens=5)
    assert "judge: 3 calls; tokens: 300 in, 5 out; cost: $0.0200" in told(case("a", attempt()), judge=judge)
    unknown = Spending(calls=2, unpriced=2, uncounted=2) - Spending(calls=1, unpriced=1, uncounted=1)
    assert "judge: 1 call; cost: unknown (1 call without reported tokens)" in told(case("a", attempt()), judge=unknown)
    assert "judge: 3 calls; tokens: 9 in, 0 out; cost: $0.0200 (1 call without reported tokens not counted)" in told(
        case("a", attempt()),
        judge=Spending(calls=3, unpriced=1, uncounted=1, estimated_usd=0.01, cost_usd=0.02, prompt_tokens=9),
    )


def test_hostile_names_are_escaped() -> None:
    hostile = attempt(0.5, leaf("x\x1b[31m", "mismatch"))
    text = "\n".join(told(case("a\x1b[31m", hostile, why="\x07"), case("b", hostile)))
    assert "\x1b" not in text
    assert "\\x1b" in text


@pytest.mark.parametrize(
    ("forecasts", "lines"),
    [
        pytest.param(
            [Forecast(calls=2, recorded=1, cost_usd=0.5), Forecast(calls=1, recorded=0, cost_usd=0.25)],
            ["2 cases: 3 calls, 1 recorded", "cost: about $0.7500"],
            id="priced",
        ),
        pytest.param(
            [Forecast(calls=2, recorded=0, cost_usd=None)],
            ["1 case: 2 calls, 0 recorded", "2 calls without a known price, not counted"],
            id="unpriced",
        ),
        pytest.param(
            [Forecast(calls=0, recorded=3, cost_usd=0.0)],
            ["1 case: 0 calls, 3 recorded", "cost: about $0.0000"],
            id="all-recorded",
        ),
    ],
)
def test_forecast(forecasts: list[Forecast], lines: list[str]) -> None:
    assert [text_of(each) for each in forecast_lines(forecasts)] == lines


def test_mistakes_are_counted_by_kind() -> None:
    names = [NamedMistake(kind, (FieldPath(("x",)),), "") for kind in ("sign", "case", "sign", *map(str, range(9)))]
    bad = attempt(0.5, leaf("x", "mismatch"))
    bad = replace(bad, score=replace(bad.score, mistakes=tuple(names)))
    lines = " ".join(told(case("a", bad)))
    assert "kinds of mistakes: 2 sign, 1 0, 1 1, 1 2, 1 3, 1 4, 1 5, 1 6, 1 7, 1 8 and 1 more kinds" in lines
    assert not any("kinds" in line for line in told(case("a", attempt(1.0))))


def test_passed_cases_with_wrong_values_are_named() -> None:
    bad = leaf("x", "mismatch")
    within = {"outcome": Outcome.PASSED}
    lines = told(
        case("a", attempt(0.9, bad, leaf("x", "match", 1.0), **within)),
        case("b", attempt(0.9, bad, bad, **within), attempt(0.95, bad, **within)),
        case("c", attempt(1.0, leaf("x", "match", 1.0))),
        case("d", attempt(0.5, bad)),
    )
    assert "wrong values within the thresholds, in 2 cases: a (1), b (2)" in lines


def test_known_failures_of_a_passed_case_are_no_wrong_values() -> None:
    excused = attempt(0.9, field_result("a", 1, 2), outcome=Outcome.PASSED)
    assert not any("wrong value" in line for line in told(case("a", excused, known=("a",))))


@pytest.mark.parametrize(("verbosity", "end"), [(0, "k4 (1) and 2 more (-v shows all)"), (1, "k5 (1), k6 (1)")])
def test_of_many_passed_cases_with_wrong_values_a_few_are_named(verbosity: int, end: str) -> None:
    results = [case(f"k{i}", attempt(0.9, leaf("x", "mismatch"), outcome=Outcome.PASSED)) for i in range(7)]
    (line,) = [each for each in told(*results, verbosity=verbosity, width=200) if "wrong values" in each]
    assert line.startswith("wrong values within the thresholds, in 7 cases")
    assert line.endswith(end)


def test_a_run_of_several_models_stays_in_a_narrow_window() -> None:
    results = [
        case(
            f"a-case-with-a-long-name-{n}",
            attempt(1.0),
            variant=Variant(model=f"provider/a-long-model-name-{n % 2}"),
        )
        for n in range(6)
    ]
    lines = told(*results, width=80)
    assert max(map(len, lines)) <= 80
    assert any("a-long-model-name-1" in line for line in lines)


def test_changes_of_requests_are_counted_and_bounded() -> None:
    lines = told(case("a", attempt(1.0, adjustments=("b", "a"))), case("b", attempt(1.0, adjustments=("a",))))
    assert [line for line in lines if line.startswith("requests")] == [
        "requests changed: 2 cases: a",
        "requests changed: 1 case: b",
    ]
    many = told(case("a", attempt(1.0, adjustments=tuple(f"{number:03}" + "x" * 500 for number in range(30)))))
    assert "requests changed: 25 cases for other reasons" in many
    assert sum(map(len, many)) < 3_000
