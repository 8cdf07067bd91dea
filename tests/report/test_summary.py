"""The lines at the end of a run: cases, measures, variants, worst fields, remarks on cases, repeats, lists, cost."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from pytest_extract.cli import main
from pytest_extract.core.aggregate.slices import list_recalls
from pytest_extract.core.case_result import Attempt, Outcome, Spending, Usage, Variant
from pytest_extract.core.results import NamedMistake
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import FieldPath
from pytest_extract.report.diff import DiffOptions, case_lines
from pytest_extract.report.html.page import page
from pytest_extract.report.markdown import markdown
from pytest_extract.report.run_report import RunReport, repeat_lines
from pytest_extract.report.summary import (
    Forecast,
    PatternCounts,
    forecast_lines,
    list_tables,
    remark_lines,
    summary_lines,
    totals_of,
    worst_patterns,
)
from pytest_extract.results import dump_result, load_result
from tests.records import field_result, score_record
from tests.regression import make
from tests.report.runs import GOLD, SCORER, TEXT, scored, texts
from tests.report.runs import case as read_case


def leaf(pattern, status, score=0.0):
    return field_result("a", 1, status=status, score=score, pattern=pattern)


MATCH, WRONG = leaf("x", "match", 1.0), leaf("x", "mismatch")


def attempt(pass_rate=1.0, *leaves, **keys):
    outcome = keys.pop("outcome", Outcome.PASSED if pass_rate == 1 else Outcome.FAILED)
    measures = {"pass_rate": pass_rate, "f1": pass_rate}
    score = score_record(*leaves, measures=measures, failure=keys.pop("failure", None))
    return Attempt(index=0, outcome=outcome, score=score, **keys)


def case(name, *attempts, **keys):
    return read_case(name, attempts[0].outcome if attempts else Outcome.NOT_RUN, *attempts, **keys)


def told(*results, **how):
    return texts(summary_lines(results, **how))


def remarks(*results, **how):
    return texts(remark_lines(totals_of(results).remarks, width=200, **how))


# --- cases and measures


def test_outcomes_stay_apart_and_broken_cases_are_in_no_measure():
    down = Attempt(index=0, outcome=Outcome.ERROR, error="down")
    lines = told(case("a", attempt(1.0)), case("b", attempt(0.5)), case("c", down, why="down"), case("d", why="spent"))
    assert lines[0] == "4 cases: 1 passed, 1 failed, 1 error, 1 not run; fields right 75 %; f1 0.75"
    assert "error: 1 case: down" in lines
    assert "not run: 1 case: spent" in lines
    expected = told(case("a", attempt(1.0)), case("b", attempt(0.5)), expected=1)[0]
    assert expected.startswith("2 cases: 1 passed, 1 failed (1 as an xfail mark says); fields right")


def test_reasons_that_are_not_shown_are_counted_and_all_are_short():
    down = Attempt(index=0, outcome=Outcome.ERROR, error="E")
    lines = told(*(case(f"k{index}", down, why=why) for index, why in enumerate("aabbccddeefg")))
    assert [line for line in lines if line.startswith("error: ")] == [
        *(f"error: 2 cases: {why}" for why in "abcde"),
        "error: 2 cases for other reasons",
    ]
    both = [case("a", attempt(1.0, adjustments=("b", "a"))), case("b", attempt(1.0, adjustments=("a",)))]
    assert told(*both)[1:3] == ["requests changed: 2 cases: a", "requests changed: 1 case: b"]
    many = told(case("a", attempt(1.0, adjustments=tuple(f"{number:03}" + "x" * 500 for number in range(30)))))
    assert "requests changed: 25 cases for other reasons" in many
    assert sum(map(len, many)) < 3_000


@pytest.mark.parametrize(
    ("results", "mean"),
    [
        ([case("a", attempt(1.0), attempt(0.0), attempt(0.5)), case("b", attempt(1.0))], 0.75),  # a case counts once
        ([case("a", attempt(1.0), attempt(0.0, outcome=Outcome.ERROR))], 1.0),
    ],
)
def test_means_over_cases(results, mean):
    assert totals_of(results).means == {"pass_rate": mean, "f1": mean}


def test_a_line_per_variant():
    results = [
        case("a", attempt(1.0, cost_usd=0.5), model="m"),
        case("a", attempt(0.5), model="n"),
        case("b", attempt(0.0), model="n"),
        case("a", attempt(1.0, cost_usd=0.5, recorded=True), model="o"),
    ]
    assert [" ".join(line.split()) for line in told(*results)[1:5]] == [
        "cases passed failed error not run fields right f1 cost",
        "m 1 1 0 0 0 100 % 1 $0.5000",
        "n 2 0 2 0 0 25 % 0.25 unknown",
        "o 1 1 0 0 0 100 % 1 -",
    ]


def test_a_run_of_several_models_stays_in_a_narrow_window():
    judge = Spending(calls=30, unpriced=15, uncounted=7, cost_usd=0.5, prompt_tokens=1_000)
    results = [
        case(f"a-case-with-a-long-name-{n}", attempt(1.0, usage=BOTH), model=f"provider/a-long-model-name-{n % 2}")
        for n in range(6)
    ]
    lines = told(*results, width=80, judge=judge)
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).endswith(
        "judge: 30 calls; tokens: 1,000 in, 0 out; cost: $0.5000 (8 calls without a known price, 7 calls without "
        "reported tokens not counted)"
    )


# --- worst fields, kinds of mistakes


def test_worst_fields_stand_first_over_all_cases():
    lines = told(
        case("a", attempt(0.5, leaf("x", "mismatch", 0.9), leaf("y", "omission"), leaf("z", "match", 1.0))),
        case("b", attempt(0.5, leaf("x", "match", 1.0), leaf("y", "hallucination"), leaf("z", "match", 1.0))),
        case("c", attempt(0.0, leaf("y", "omission"), failure="no_json")),
        case("d", attempt(0.5, leaf("known", "mismatch")), known=("known",)),
    )
    start = lines.index("worst fields")
    assert lines[start + 2].split() == ["y", "2", "of", "2", "(100", "%)", "2", "1", "missing,", "1", "invented"]
    assert "unusable outputs: 1 no_json" in lines
    assert not any(line.startswith(("  x", "  z", "  known ")) for line in lines)


def test_worst_is_what_lost_most_then_what_failed_in_the_largest_share():
    found = {
        "rare": PatternCounts(statuses=Counter(mismatch=1, match=11), lost=1.0),
        "a good one": PatternCounts(statuses=Counter(match=12)),
        "often": PatternCounts(statuses=Counter(omission=1, match=3), lost=1.0),
        "nearly": PatternCounts(statuses=Counter(mismatch=4), lost=0.2),
        "most": PatternCounts(statuses=Counter(hallucination=2, match=30), lost=2.0),
        "as often": PatternCounts(statuses=Counter(mismatch=1, match=3), lost=1.0),
    }
    assert [name for name, _ in worst_patterns(found)] == ["most", "as often", "often", "rare", "nearly"]


@pytest.mark.parametrize(("verbosity", "shown"), [(0, 10), (1, 10), (2, 15)])
def test_only_the_worst_fields_are_shown(verbosity, shown):
    one, other = (case(name, attempt(0.5, *(leaf(f"{name}{i:02}", "mismatch") for i in range(15)))) for name in "fg")
    alone = told(one, verbosity=verbosity)
    assert ("worst fields" in alone) == (verbosity == 2)  # the diff of the only case says it all
    assert "worst fields" in told(one, verbosity=verbosity, diffs=False)
    assert "worst fields" not in told(one, other)  # each diff says all of its own
    lines = told(one, replace(one, nodeid="twin"), verbosity=verbosity)
    assert sum(line.startswith(("  f0", "  f1")) for line in lines) == shown
    assert ("  and 5 more fields (-vv shows all)" in lines) == (shown == 10)


def test_mistakes_are_counted_by_kind_with_those_that_are_not_named():
    kinds = ("sign", "case", "sign", *map(str, range(9)))
    bad = attempt(0.5, WRONG)
    names = tuple(NamedMistake(kind, (FieldPath(("x",)),), "") for kind in kinds)
    lines = " ".join(told(case("a", replace(bad, score=replace(bad.score, mistakes=names)))))
    assert "kinds of mistakes: 2 sign, 1 0, 1 1, 1 2, 1 3, 1 4, 1 5, 1 6, 1 7, 1 8 and 1 more kinds" in lines
    assert not any("kinds" in line for line in told(case("a", attempt(1.0))))
    leaves = [field_result(f"rows[{index}]", index, 1000 * index) for index in range(1, 1202)]
    named = NamedMistake("power_of_ten", (leaves[0].path,), "1,000 times the gold")
    many = Attempt(index=0, outcome=Outcome.FAILED, score=score_record(*leaves, mistakes=(named,)))
    assert "kinds of mistakes: 402 (not named), 2 power of ten" in told(case("a", many), case("b", many))


# --- remarks


def test_passed_cases_with_wrong_values_are_named():
    def within(*leaves):
        return attempt(0.9, *leaves, outcome=Outcome.PASSED)

    assert remarks(
        case("a", within(WRONG, MATCH)),
        case("b", within(WRONG, WRONG), within(WRONG)),
        case("c", attempt(1.0, MATCH)),
        case("d", attempt(0.5, WRONG)),
        case("e", within(field_result("a", 1, 2)), known=("a",)),
    )[0].endswith("wrong values within the thresholds, in 2 cases: a (1), b (2)")
    many = [case(f"k{i}", within(WRONG)) for i in range(7)]
    ((few,), (every,)) = (remarks(*many, verbosity=verbosity) for verbosity in (0, 1))
    assert few.endswith(", in 7 cases: k0 (1), k1 (1), k2 (1), k3 (1), k4 (1) and 2 more (-v shows all)")
    assert every.endswith("k5 (1), k6 (1)")


def test_known_failures_are_told_and_those_that_pass_named():
    y, z, w = leaf("y", "match", 1.0), leaf("z", "mismatch"), leaf("w", "match", 1.0)
    assert remarks(
        case("a", attempt(1.0, WRONG, y), known=("x", "y")),
        case("b", attempt(1.0, WRONG, z, w), known=("x", "z")),
        case("c", attempt(1.0, MATCH), attempt(0.5, leaf("x", "omission")), known=("x",)),
        case("d", attempt(0.0, MATCH, failure="no_json"), known=("x",)),
        case("e", attempt(1.0, MATCH)),
    ) == [
        "known failures, not in the verdict, in 3 cases: a (1 value), b (2 values), c (1 value)",
        "known failures that pass now (take them out of known_failures), in 1 case: a (y)",
    ]
    names = [f"f{number}" for number in range(8)]
    (many,) = remarks(case("a", attempt(1.0, *(leaf(name, "match", 1.0) for name in names)), known=tuple(names)))
    assert many.endswith("in 1 case: a (f0, f1, f2, f3, f4 and 3 more)")


SPARSE = {"type": "object", "properties": dict.fromkeys("abcde", TEXT)}
BENCH = compile_schema(SPARSE, semantics="extract-bench", judge_mode="exact")
DEFAULT = compile_schema(SPARSE)


def sparse(name, extracted, gold, **keys):
    """Make a result: four of five fields are empty, and what is not there passes under extract-bench."""
    return scored(name, extracted, gold=gold, **{"scorer": BENCH, **keys})


def test_what_a_pass_rate_does_not_rest_on_is_told_in_every_report(tmp_path, capsys):
    wrong = sparse("wrong", {"hello": 1}, {"a": "x"}, uncompared={"events": 60, "heats": 6}, shape={"leaves": 67})
    empty = "right by emptiness, without a value on either side, in "
    one = f"{empty}1 case: wrong (4 of 4 passed fields)"
    nothing = "gold values that are compared with nothing, in 1 case: wrong (66 of 67: events, heats)"
    assert remarks(wrong) == [one, nothing]
    assert remarks(wrong, sparse("right", {"a": "x"}, {"a": "x"}))[0] == (
        f"{empty}2 cases: wrong (4 of 4 passed fields), right (4 of 5 passed fields)"
    )
    assert remarks(sparse("none", {}, {}, scorer=DEFAULT)) == [f"{empty}1 case: none (nothing was compared)"]
    full = dict.fromkeys("abc", "x")
    assert remarks(*(sparse("full", full, full, scorer=scorer) for scorer in (DEFAULT, BENCH))) == []
    diff = "\n".join(texts(case_lines(wrong, DiffOptions(width=200))))
    assert "right by emptiness: 4 of 4 passed fields" in diff
    assert "66 of 67 gold values are compared with nothing: `events` (60), `heats` (6)" in diff
    newer = dump_result(sparse("old", {"hello": 1}, {"a": "x"}))
    older = newer.replace('"uncompared":{},', "").replace(',"empty_passes":4', "")
    assert not {"uncompared", "empty_passes"} & {*re.findall(r"\w+", older)}
    assert remarks(load_result(older)) == [f"{empty}1 case: old (4 of 4 passed fields)"]
    (tmp_path / "r.jsonl").write_text(f"{dump_result(wrong)}\n", encoding="utf-8")
    main(["report", str(tmp_path / "r.jsonl")])
    run = RunReport(results=[wrong])
    for text in (capsys.readouterr().out, markdown(run), page(run)):
        assert one.removeprefix(empty) in " ".join(text.split())
        assert "(66 of 67: events, heats)" in " ".join(text.split())


def test_outputs_whose_text_is_more_than_their_json_are_named_in_every_report():
    def output(name, text):
        score = SCORER.score_text(GOLD, text).record()
        return case(name, Attempt(index=0, outcome=Outcome.PASSED, score=score, output=text))

    plain, fenced = output("plain", '{"vendor": "x"}'), output("fenced", '```json\n{"vendor": "x"}\n```')
    prose, twin = output("prose", 'So: {"vendor": "x"}.'), replace(fenced, file="other", nodeid="other::fenced")
    text = "fenced (fenced), prose (surrounded by prose), fenced (fenced)"
    assert remarks(plain, fenced, prose, twin)[-1] == f"not bare JSON, in 3 cases: {text}"
    run = RunReport(results=[plain, fenced, prose, twin])
    assert text in page(run)
    assert text in markdown(run)


def test_hostile_names_are_escaped():
    hostile = attempt(0.5, leaf("x\x1b[31m", "mismatch"))
    text = "\n".join(told(case("a\x1b[31m", hostile, why="\x07"), case("b", hostile)))
    assert "\x1b" not in text
    assert "\\x1b" in text


# --- repeats and lists

WIDE = {f"f{number}": True for number in range(14)}


def test_repeats_have_a_line_for_each_unsteady_field():
    def repeats(*runs, **keys):
        return texts(repeat_lines([make.result("a", *runs, **keys), make.broken("b")]))

    assert repeats(WIDE) == []
    assert repeats(WIDE, WIDE) == ["repeats: pass^1 100 %, pass^2 100 %; 0 unsteady fields"]
    assert repeats({"n": True}, {"n": False}, {"n": True}, variant=Variant(model="x")) == [
        "repeats: pass^1 66.7 %, pass^2 33.3 %, pass^3 0 %; 1 unsteady field",
        "  invoices/acme.extract.yaml::a [x] n: passed 2 of 3 runs",
    ]
    assert repeats(WIDE, dict.fromkeys(WIDE, False))[-1] == "  … and 4 more fields (-v shows all)"
    assert len(repeat_lines([make.result("a", WIDE, dict.fromkeys(WIDE, False))], verbosity=1)) == 15


def test_a_list_that_breaks_off_is_told_with_its_place():
    rows = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    scorer = compile_schema({"type": "object", "properties": {"rows": rows}})

    def listed(name, length, found):
        gold = {"rows": [{"n": number} for number in range(length)]}
        score = scorer.score(gold, {"rows": gold["rows"][:found]}).record()
        return make.result(name, Attempt(index=0, outcome=Outcome.FAILED, score=score))

    results = [listed(f"c{length}", length, min(length, 80)) for length in (30, 60, 90, 120, 150)]
    assert "rows is complete to row 80, and has 0 % of those beyond" in told(*results)
    (table,) = list_tables(results)
    assert table.rows[-2:] == [
        ("31 to 100", "230", "78.3 %", "150", "93.3 %"),
        ("101 to 300", "70", "0 %", "270", "59.3 %"),
    ]
    assert table.notes == ["5 lists; rows is complete to row 80, and has 0 % of those beyond"]
    (long,) = list_tables([listed("a", 10_050, 10_020)])
    assert long.rows[-1] == ("10,001 and more", "50", "40 %", "10,050", "99.7 %")
    assert list_recalls([listed("a", 5, 3), listed("b", 6, 6)]) == []
    assert [*list_tables([listed("a", 50, 50)])] == []


# --- money

IN, BOTH = Usage(prompt_tokens=5), Usage(prompt_tokens=1_000, completion_tokens=20)


@pytest.mark.parametrize(
    ("model", "attempts", "line"),
    [
        (None, [{"cost_usd": 0.5, "usage": BOTH}], "tokens: 1,000 in, 20 out; cost: $0.5000"),
        (None, [{"cost_usd": 0.5}, {}], "cost: $0.5000 (1 call without a known price not counted)"),
        (None, [{"usage": IN}], "tokens: 5 in, 0 out; cost: unknown (1 call without a known price)"),
        (None, [{"cost_usd": 0.5, "recorded": True}], "recorded earlier: 1 output (nothing spent on them now)"),
        (None, [{"cost_usd": 0.0}], "cost: $0.0000"),
        ("m", [{}, {}], "cost: unknown (2 calls without reported tokens)"),
        ("m", [{"cost_usd": 0.5}, {}], "cost: $0.5000 (1 call without reported tokens not counted)"),
    ],
)
def test_an_unknown_cost_is_never_counted_as_free(model, attempts, line):
    assert line in told(case("a", *(attempt(1.0, **keys) for keys in attempts), model=model), width=120)


def test_what_the_judge_cost():
    one, other = Spending(calls=2, cost_usd=0.01, prompt_tokens=300), Spending(calls=1, cost_usd=0.01)
    free = Spending(calls=2, unpriced=2, uncounted=2) - Spending(calls=1, unpriced=1, uncounted=1)
    for judge, line in (
        (one + other, "judge: 3 calls; tokens: 300 in, 0 out; cost: $0.0200"),
        (free, "judge: 1 call; cost: unknown (1 call without reported tokens)"),
    ):
        assert line in told(case("a", attempt()), judge=judge)


@pytest.mark.parametrize(
    ("forecasts", "lines"),
    [
        ([(2, 1, 0.5), (1, 0, 0.25)], ["2 cases: 3 calls, 1 recorded", "cost: about $0.7500"]),
        ([(2, 0, None)], ["1 case: 2 calls, 0 recorded", "2 calls without a known price, not counted"]),
        ([(0, 3, 0.0)], ["1 case: 0 calls, 3 recorded", "cost: about $0.0000"]),
    ],
)
def test_forecast(forecasts, lines):
    found = [Forecast(calls=calls, recorded=recorded, cost_usd=cost) for calls, recorded, cost in forecasts]
    assert texts(forecast_lines(found)) == lines
