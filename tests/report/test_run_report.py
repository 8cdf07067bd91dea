"""The verdict of a run, and what the regression gate prints and writes."""

import json
from dataclasses import replace

import pytest

from pytest_extract.cli.compare import comparison_record
from pytest_extract.core.case_result import Outcome, Variant
from pytest_extract.regression.baseline import Falls, Resolution
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import evaluate_base, evaluate_gate, resolution_text
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.report.run_report import RunReport, gate_lines, headline
from tests.regression import make
from tests.regression.make import INVENTED, attempt, prompt_changed, result, suite
from tests.report.runs import GOLD, broken, case, scored, texts, wrong

GOOD = [scored("a", GOLD), scored("b", GOLD)]
BAD = [scored("a", GOLD), scored("b", wrong(total=1))]
DOWN = broken("c", "down")
VARIANTS = [*BAD, scored("b", wrong(total=1), model="m"), broken("b", "down", model="n")]
LATER = case("d", Outcome.NOT_RUN, why="the budget is spent")
EXPECTED, IN_ERROR = {"expected": frozenset({BAD[1].nodeid})}, "1 of 4 cases in error"
BELOW = "1 of 2 cases below their thresholds"
REACHED, MISSED = (True, "f1 reaches 0.5"), (False, "pass_rate 0.7 < 0.9")


@pytest.mark.parametrize(
    ("results", "keys", "told"),
    [
        (GOOD, {}, ("good", "Passed", "all 2 cases passed")),
        (BAD, {}, ("bad", "Failed", "1 of 2 cases failed")),
        ([*BAD, DOWN], {}, ("bad", "Failed", "1 of 3 cases failed", "1 of 3 cases in error")),
        ([*GOOD, DOWN], {}, ("bad", "Failed", "1 of 3 cases in error")),
        ([*GOOD, DOWN], {"gate": "none"}, ("bad", "Failed", "1 of 3 cases in error")),
        ([*GOOD, LATER], {}, ("warn", "Not complete", "1 of 3 cases not run")),
        (GOOD, {"mistakes": ["x"]}, ("bad", "Failed", "1 case file with mistakes")),
        (VARIANTS, {}, ("bad", "Failed", "(no model): 1 of 2 cases failed", "m: 1 of 1 case failed", IN_ERROR)),
        ([], {}, ("warn", "Nothing run", "no case was run")),
        (BAD, EXPECTED, ("good", "Passed", "1 of 2 cases passed", "1 case not green as an xfail mark says")),
        (BAD, {"gate": "none"}, ("warn", "No gate", "1 of 2 cases passed", BELOW)),
        (BAD, {"gate": "suite", "suite": [REACHED, MISSED]}, ("bad", "Failed", MISSED[1], BELOW)),
        (BAD, {"gate": "suite", "suite": [REACHED]}, ("good", "Passed", "1 of 2 cases passed", BELOW)),
        (GOOD, {"gate": "regression"}, ("bad", "Nothing compared", "nothing was compared")),
    ],
)
def test_headline(results, keys, told):
    found = headline(RunReport(results=results, **keys))
    assert (found.tone, found.word, found.text, *found.reasons) == told


def variants(count, worse, **changes):
    """Return cases of two models, of which the second is wrong in some."""
    right = [scored(f"c{index}", GOLD, model="a") for index in range(count)]
    return right + [scored(f"c{i}", wrong(**changes) if i < worse else GOLD, model="b") for i in range(count)]


SAME, FELL, DOUBTFUL = variants(80, 0), variants(8, 8, total=1, vendor="x"), variants(20, 4, total=1)


@pytest.mark.parametrize(
    ("results", "inconclusive", "told"),
    [
        (FELL, "warn", ("bad", "WORSE")),
        (SAME, "warn", ("good", "PASS")),
        (DOUBTFUL, "warn", ("warn", "UNDECIDED")),
        (DOUBTFUL, "fail", ("bad", "UNDECIDED")),
        ([*SAME, DOWN], "warn", ("bad", "PASS")),
        ([*SAME, LATER], "warn", ("warn", "PASS")),
    ],
    ids=["worse", "not worse", "doubtful", "doubtful, fail", "broken", "not run"],
)
def test_headline_of_a_comparison(results, inconclusive, told):
    rules = Rules(inconclusive=inconclusive)
    judged = evaluate_base([result for result in results if result.variant.model], "a", rules)
    found = headline(RunReport(results=results, gate="regression", judged=judged))
    assert (found.tone, found.word, found.text) == (*told, judged.reasons[0])


# --- the regression gate

RIGHT = {"n": True, "m": True, "k": True}
M_WRONG = RIGHT | {"m": False}
DEAD = dict.fromkeys(RIGHT, False)
FIVE = "(c0, c1, c10, c11, c2 and 7 more)"


def judge(before, after):
    return evaluate_gate(snapshot(before), snapshot(prompt_changed(after)), Rules())


def gate(before, after, verbosity=0):
    return texts(gate_lines(judge(before, after), verbosity=verbosity))


def fallen(cases, count):
    """Cases of which some are wrong in one field and better in none."""
    return [*suite(count, M_WRONG), *suite(cases, RIGHT)[count:]]


def test_the_story_of_a_change_that_fixes_one_field_and_breaks_another():
    before = suite(12, RIGHT | {"n": ("2024-01-02", "01/02/2024")})
    after = suite(12, RIGHT | {"n": ("2024-01-02", "2024-01-02"), "m": ("12.50", "1250")})
    text = "\n".join(gate(before, after))
    for part in (
        "12 cases, 36 fields compared (12 shifted)",
        'fell (12):\n    invoices/acme.extract.yaml::c0 m: "12.50" -> "1250" (gold "12.50")',
        'rose (12):\n    invoices/acme.extract.yaml::c0 n: "01/02/2024" -> "2024-01-02" (gold "2024-01-02")',
        "1 field unchanged",
    ):
        assert part in text
    assert (text.count("::c"), text.count("… and 7 more fields (-v shows all)")) == (10, 2)
    verbose = gate(before, after, verbosity=1)
    assert sum("::c" in line and " m: " in line for line in verbose) == 12
    assert not any("-v shows all" in line for line in verbose)


def test_the_verdict_comes_last_and_begins_with_a_sentence():
    lines = gate(suite(12, RIGHT), suite(12, M_WRONG))
    worse = f"worse in 12 of 12 documents {FIVE}, better in 0"
    change = "change -33.3 points, from -33.3 to -33.3 at 94 %"
    assert lines[-5:] == [
        f"WORSE. fields right 66.7 %, was 100.0 %: {worse} ({change}; p < 0.001 after correction).",
        f"  m: 0.0 % right, was 100.0 %: {worse} (p < 0.001 after correction).",
        f"  look first at {FIVE[1:-1]}.",
        "  12 cases: 1 run of each before, 1 run now.",
        "  cost of a call $0.01, was $0.01 (+0 %).",
    ]


@pytest.mark.parametrize(
    ("before", "after", "first"),
    [
        (suite(70, RIGHT), suite(70, RIGHT), "PASS. fields right 100.0 %, was 100.0 %; no fall found; falls of the "),
        (suite(20, RIGHT), fallen(20, 4), "UNDECIDED. fields right 93.3 %, was 100.0 %; m: 80.0 % right, was 100.0 %"),
        (suite(4, RIGHT), suite(4, DEAD), "WORSE. fields right 0.0 %, was 100.0 %; 4 of 4 documents"),
        ([], [], "UNDECIDED. nothing was compared, "),
    ],
    ids=["pass", "undecided", "dead", "nothing"],
)
def test_the_first_words_of_a_verdict(before, after, first):
    assert any(line.startswith(first) for line in gate(before, after))


@pytest.mark.parametrize(("fell", "cell"), [(2, ">0.05"), (12, "<0.001")])
def test_a_p_value_is_shown_where_a_fall_is_beyond_noise(fell, cell):
    (row,) = [line for line in gate(suite(30, RIGHT), fallen(30, fell)) if line.startswith("  m ")]
    assert row.endswith(cell)


def test_what_is_undecided_says_what_would_decide():
    text = "\n".join(gate(suite(20, RIGHT), fallen(20, 4)))
    assert "better in 0 (p = 0.062 after correction); it may be noise." in text
    assert "run 4 cases that fell again on both sides: pytest --extract-confirm (16 " in text


def test_what_a_suite_can_show_in_words():
    falls = [Falls(mean=0.031, field=0.14), Falls(mean=0.02, field=None), Falls(mean=None, field=None)]
    found = Resolution(variant="a", cases=60, runs=3, now=falls[0], more_cases=falls[1], more_runs=falls[2])
    assert resolution_text(found) == (
        "[a] 60 cases with 3 runs of each before and one later show a fall of the mean by 3.1 points or of one field by "
        "14.0 points, in 8 of 10 comparisons; 20 cases more: a fall of the mean by 2.0 points; 2 runs more: only a collapse"
    )


def test_what_else_differs_has_lines_of_its_own():
    runs = [RIGHT, M_WRONG | {"x": INVENTED}, M_WRONG]
    before = [*suite(4, RIGHT), result("a", RIGHT, RIGHT, RIGHT), result("g", RIGHT)]
    after = [*suite(2, RIGHT), make.broken("c2"), result("d", RIGHT), result("a", *runs)]
    text = "\n".join(gate(before, [*after, result("g", attempt(RIGHT, failed_gate="schema"))]))
    for part in (
        "1 case lost:\n    invoices/acme.extract.yaml::c2: now error: ConnectionError: no route",
        "1 case new:",
        "1 case gone:",
        "m [100 % -> 33.3 % of the runs]",
        'x [100 % -> 66.7 % of the runs]: (missing) -> "made up" (gold (missing))',
        "\n    invoices/acme.extract.yaml::g (schema gate)\n",
        "\n  (schema gate) ",
    ):
        assert part in text
    assert "traceback" not in text


def test_variants_are_named():
    both = suite(3, RIGHT, variant=Variant(model="a")) + suite(3, RIGHT, variant=Variant(model="b"))
    assert [line[:11] for line in gate(both, both) if " compared (" in line] == ["[a] 3 cases", "[b] 3 cases"]


def test_hostile_text_does_not_reach_the_terminal():
    evil = "\x1b[31mred\u202e"
    after = [result("c\x1b0", RIGHT | {"m": ("right", evil)}), make.broken("e", why=evil)]
    lines = gate([result("c\x1b0", RIGHT), result("e", RIGHT)], after, verbosity=2)
    assert all(line.isprintable() for line in lines)


def test_the_same_as_json():
    after = [*suite(11, M_WRONG), make.broken("c11"), result("x", RIGHT | {"x": INVENTED})]
    record = json.loads(json.dumps(comparison_record(judge([*suite(12, RIGHT), result("x", RIGHT)], after))))
    (variant,) = record["comparison"]["variants"]
    assert (record["format"], record["answer"], record["pairs"]) == (5, "WORSE", 37)
    assert record["effects"][0]["bounds"]["change"] < -0.2
    row = next(row for row in variant["patterns"] if row["pattern"] == "m")
    assert (row["fell"], row["before"], row["after"]) == (11, 1.0, pytest.approx(1 / 12))
    first, *_, invented = variant["fields"]
    assert (first["value_before"], invented["value_after"], "value_before" in invented) == ("right", "made up", False)
    assert {test["subject"]: test["adjusted"] < 0.05 for test in record["tests"]}["all fields"]
    nothing = judge([], suite(1, RIGHT))
    assert (comparison_record(nothing)["effects"], comparison_record(nothing)["tests"]) == ([], [])
    assert replace(nothing, notes=()).compared_nothing
