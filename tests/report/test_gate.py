"""What the regression gate prints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_extract.cli.compare import comparison_record
from pytest_extract.core.case_result import Variant
from pytest_extract.regression.baseline import Falls, Resolution
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import evaluate_gate, resolution_text
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.report.lines import text_of
from pytest_extract.report.run_report import gate_lines
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
    text = "\n".join(lines)
    assert "12 cases, 36 fields compared (12 shifted)" in text
    assert "fell (12):\n" in text
    assert 'invoices/acme.extract.yaml::c0 m: "12.50" -> "1250" (gold "12.50")' in text
    assert 'invoices/acme.extract.yaml::c0 n: "01/02/2024" -> "2024-01-02" (gold "2024-01-02")' in text
    assert "rose (12):\n" in text
    assert text.count("::c") == 10
    assert text.count("… and 7 more fields (-v shows all)") == 2
    assert "1 field unchanged" in text


def test_the_verdict_comes_last_and_begins_with_a_sentence():
    lines = told(suite(12, GOOD), suite(12, GOOD | {"m": False}))
    verdict = lines[next(index for index, line in enumerate(lines) if line.startswith("WORSE. ")) :]
    assert verdict[0] == (
        "WORSE. fields right 66.7 %, was 100.0 %: worse in 12 of 12 documents (c0, c1, c10, c11, c2 and 7 more), better in 0 "
        "(change -33.3 points, from -33.3 to -33.3 at 94 %; p < 0.001 after correction)."
    )
    assert verdict[1:] == [
        (
            "  m: 0.0 % right, was 100.0 %: worse in 12 of 12 documents (c0, c1, c10, c11, c2 and 7 more), better in 0 "
            "(p < 0.001 after correction)."
        ),
        "  look first at c0, c1, c10, c11, c2 and 7 more.",
        "  12 cases: 1 run of each before, 1 run now.",
        "  cost of a call $0.01, was $0.01 (+0 %).",
    ]


def fallen(cases, count):
    """Cases of which some are wrong in one field and better in none: too few for a proof, too many to ignore."""
    return [*suite(count, GOOD | {"m": False}), *suite(cases, GOOD)[count:]]


@pytest.mark.parametrize(
    ("before", "after", "first"),
    [
        (
            suite(70, GOOD),
            suite(70, GOOD),
            "PASS. fields right 100.0 %, was 100.0 %; no fall found; falls of the mean ",
        ),
        (suite(20, GOOD), fallen(20, 4), "UNDECIDED. fields right 93.3 %, was 100.0 %; m: 80.0 % right, was 100.0 %"),
        (
            suite(4, GOOD),
            suite(4, dict.fromkeys(GOOD, False)),
            "WORSE. fields right 0.0 %, was 100.0 %; 4 of 4 documents",
        ),
        ([], [], "UNDECIDED. nothing was compared, "),
    ],
    ids=["pass", "undecided", "dead", "nothing"],
)
def test_the_words(before, after, first):
    assert any(line.startswith(first) for line in told(before, after))


def test_a_p_value_is_shown_where_a_fall_is_beyond_noise():
    for fell, cell in ((2, ">0.05"), (12, "<0.001")):
        lines = told(suite(30, GOOD), suite(fell, GOOD | {"m": False}) + suite(30, GOOD)[fell:])
        (row,) = [line for line in lines if line.startswith("  m ")]
        assert row.endswith(cell)


def test_verbose_shows_every_row():
    lines = told(suite(12, GOOD), suite(12, GOOD | {"m": False}), verbosity=1)
    assert sum("::c" in line and " m: " in line for line in lines) == 12
    assert not any("-v shows all" in line for line in lines)


def test_what_is_undecided_says_what_would_decide():
    text = "\n".join(told(suite(20, GOOD), fallen(20, 4)))
    assert (
        "worse in 4 of 20 documents (c0, c1, c2, c3), better in 0 (p = 0.062 after correction); it may be noise."
        in text
    )
    assert (
        "  to see if the fall is real, run 4 cases that fell again on both sides: pytest --extract-confirm (16 " in text
    )


def test_what_a_suite_can_show_in_words():
    falls = [Falls(mean=0.031, field=0.14), Falls(mean=0.02, field=None), Falls(mean=None, field=None)]
    found = Resolution(variant="a", cases=60, runs=3, now=falls[0], more_cases=falls[1], more_runs=falls[2])
    assert resolution_text(found) == (
        "[a] 60 cases with 3 runs of each before and one later show a fall of the mean by 3.1 points or of one field by "
        "14.0 points, in 8 of 10 comparisons; 20 cases more: a fall of the mean by 2.0 points; 2 runs more: only a collapse"
    )


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
    assert any(line.startswith("  (schema gate) regressed") for line in lines)


def test_variants_are_named():
    before = suite(3, GOOD, variant=Variant(model="a")) + suite(3, GOOD, variant=Variant(model="b"))
    lines = told(before, before)
    assert sum(line.startswith(("[a] 3 cases", "[b] 3 cases")) for line in lines) == 2


def test_the_same_as_json():
    before = suite(12, GOOD)
    after = [*suite(11, GOOD | {"m": False}), broken("c11")]
    record = json.loads(json.dumps(comparison_record(judged(before, after))))
    (variant,) = record["comparison"]["variants"]
    assert (record["format"], record["answer"], record["pairs"]) == (4, "WORSE", 33)
    assert record["effects"][0]["bounds"]["change"] == pytest.approx(-1 / 3)
    row = next(row for row in variant["patterns"] if row["pattern"] == "m")
    assert (row["fell"], row["before"], row["after"]) == (11, 1.0, 0.0)
    assert variant["fields"][0]["value_before"] == "right"
    assert {case["kind"] for case in variant["cases"]} == {"fell", "lost"}
    assert {test["subject"]: test["adjusted"] < 0.05 for test in record["tests"]}["all fields"]


def test_a_missing_value_has_no_key_in_json():
    verdict = judged([result("a", GOOD)], [result("a", GOOD | {"x": INVENTED})])
    (field,) = comparison_record(verdict)["comparison"]["variants"][0]["fields"]
    assert "value_before" not in field
    assert field["value_after"] == "made up"


def test_a_variant_with_nothing_compared_has_no_effect_in_json():
    verdict = judged([], suite(1, GOOD))
    record = comparison_record(verdict)
    assert (record["effects"], record["tests"]) == ([], [])
    assert replace(verdict, notes=()).compared_nothing
