"""What the regression gate prints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Arm
from pytest_extract.core.stats.power import Needs
from pytest_extract.regression.comparison_json import decision_record
from pytest_extract.regression.gate import evaluate_gate
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.report.gate import gate_lines, needs_text
from pytest_extract.report.lines import text_of
from tests.regression.make import INVENTED, attempt, broken, prompt_changed, result, suite

GOOD = {"n": True, "m": True, "k": True}


def judged(before, after, **rules):
    return evaluate_gate(snapshot(before), snapshot(prompt_changed(after)), Rules(**rules))


def told(before, after, verbosity=0, **rules):
    return [text_of(line) for line in gate_lines(judged(before, after, **rules), verbosity=verbosity)]


def test_the_story_of_a_change_that_fixes_one_field_and_breaks_another():
    before = suite(12, GOOD | {"n": ("2024-01-02", "01/02/2024")})
    after = suite(12, GOOD | {"n": ("2024-01-02", "2024-01-02"), "m": ("12.50", "1250")})
    lines = told(before, after)
    assert lines[0] == "regression gate: worse"
    assert lines[1].strip().startswith("m: 12 broken, 0 fixed, more than noise gives (p = 0.00024")
    text = "\n".join(lines)
    assert "12 cases, 36 fields compared (12 shifted)" in text
    assert 'invoices/acme.extract.yaml::c0 m: "12.50" -> "1250" (gold "12.50")' in text
    assert 'invoices/acme.extract.yaml::c0 n: "01/02/2024" -> "2024-01-02" (gold "2024-01-02")' in text
    assert "broken (12):" in text
    assert "fixed (12):" in text
    assert "... and 2 more fields (-v shows all)" in text
    assert "1 pattern unchanged" in text


def test_verbose_shows_every_row():
    lines = told(suite(12, GOOD), suite(12, GOOD | {"m": False}), verbosity=1)
    assert sum("::c" in line and " m: " in line for line in lines) == 12
    assert not any("-v shows all" in line for line in lines)


def test_what_cannot_be_told_says_what_would_decide():
    text = "\n".join(told(suite(3, GOOD), suite(3, GOOD)))
    assert "regression gate: cannot tell" in text
    assert "3 cases cannot exclude a drop of 25.0 points (asked: less than 5.0 points)" in text
    assert 'would decide (likely "not worse"), if what is seen is the truth: about' in text
    assert "calls, $0." in text


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ((None, None, None, None, None, None, False), "no number of cases or repeats"),
        ((1, None, 2, None, 0.004, None, False), "about 1 more case (2 calls, $0.004)"),
        ((None, 2, None, 40, None, None, True), "at least 2 more repeats of each case (40 calls, cost unknown)"),
        (
            (5, 1, 10, 20, 1.5, 3.0, False),
            "5 more cases (10 calls, $1.50), or 1 more repeat of each case (20 calls, $3.00)",
        ),
        ((5, None, 10, None, 0.0, None, False), "5 more cases (10 calls, $0.00)"),
    ],
)
def test_needs_in_words(needs, expected):
    names = ("cases", "repeats", "cases_calls", "repeats_calls", "cases_cost_usd", "repeats_cost_usd", "guess")
    assert expected in needs_text(Needs(towards="not worse", **dict(zip(names, needs, strict=True))))


def test_outages_new_and_gone_cases_have_their_own_lines():
    before = suite(4, GOOD)
    after = [*suite(2, GOOD), broken("c2"), result("d", GOOD)]
    text = "\n".join(told(before, after))
    assert "1 case lost:" in text
    assert "invoices/acme.extract.yaml::c2: now broken: ConnectionError: no route" in text
    assert "traceback" not in text
    assert "1 case new:" in text
    assert "1 case gone:" in text


def test_hostile_text_does_not_reach_the_terminal():
    evil = "\x1b[31mred\u202e"
    after = [result("c\x1b0", GOOD | {"m": ("right", evil)}), result("e", why=evil, outcome=broken("x").outcome)]
    lines = told([result("c\x1b0", GOOD), result("e", GOOD)], after, verbosity=2)
    assert all(line.isprintable() for line in lines)


def test_repeats_show_rates_and_an_invented_value_shows_what_was_missing():
    runs = [GOOD, GOOD, GOOD]
    lines = told([result("a", *runs)], [result("a", GOOD, GOOD | {"m": False, "x": INVENTED}, GOOD | {"m": False})])
    assert any("m [100 % -> 33.3 % of the runs]" in line for line in lines)
    assert any('x [100 % -> 66.7 % of the runs]: (missing) -> "made up" (gold (missing))' in line for line in lines)


def test_a_gate_is_a_line_without_values():
    lines = told(suite(12, GOOD), [result(f"c{number}", attempt(GOOD, failed_gate="schema")) for number in range(12)])
    assert "    invoices/acme.extract.yaml::c0 (schema gate)" in lines
    assert any(line.startswith("  (schema gate) broken") for line in lines)


def test_arms_are_named():
    before = suite(3, GOOD, arm=Arm(model="a")) + suite(3, GOOD, arm=Arm(model="b"))
    lines = told(before, before)
    assert sum(line.startswith(("[a] 3 cases", "[b] 3 cases")) for line in lines) == 2


def test_the_same_as_json():
    before = suite(12, GOOD)
    after = [*suite(11, GOOD | {"m": False}), broken("c11")]
    record = json.loads(json.dumps(decision_record(judged(before, after))))
    (arm,) = record["arms"]
    assert (record["format"], record["verdict"], record["pairs"]) == (1, "worse", 33)
    assert arm["counts"] == {"broken": 11, "lost": 1}
    assert arm["effect"]["bounds"]["change"] == pytest.approx(-1 / 3)
    row = next(row for row in arm["patterns"] if row["pattern"] == "m")
    assert (row["broken"], row["before"], row["after"], row["test"]["mcnemar"]) == (11, 1.0, 0.0, 0.5**11)
    assert arm["fields"][0]["value_before"] == "right"
    assert {case["kind"] for case in arm["cases"]} == {"broken", "lost"}
    assert arm["overall"]["adjusted"] < 0.05


def test_a_missing_value_has_no_key_in_json():
    verdict = judged([result("a", GOOD)], [result("a", GOOD | {"x": INVENTED})])
    (field,) = decision_record(verdict)["arms"][0]["fields"]
    assert "value_before" not in field
    assert field["value_after"] == "made up"


def test_an_arm_with_nothing_compared_has_no_effect_in_json():
    verdict = judged([], suite(1, GOOD))
    (arm,) = decision_record(verdict)["arms"]
    assert (arm["effect"], arm["overall"]) == (None, None)
    assert replace(verdict, notes=()).compared_nothing
