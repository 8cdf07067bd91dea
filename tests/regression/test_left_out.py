"""What the gate counts, and what it leaves out: several metrics of a field, known failures, broken cases, origins."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from pytest_extract.bulk import BulkScorer
from pytest_extract.cli import main
from pytest_extract.core.aggregate.slices import natural_key
from pytest_extract.core.case_result import Origin, Outcome
from pytest_extract.core.scorer import compile_schema
from pytest_extract.regression.baseline import Baseline, dump_baseline, load_baseline, updated_baseline
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import Answer, evaluate_gate
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.results import write_results
from tests.regression.make import merged_results, prompt_changed, suite

METRICS = [{"metric_id": "string_exact"}, {"metric_id": "string_case_insensitive"}]
GOOD = {"a": True, "b": True, "c": True, "d": True}


def run(extracted, *, metrics=METRICS, count=20, gold=None, **keys):
    schema = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": {"metrics": metrics}}}}
    scorer = BulkScorer(scorer=compile_schema(schema), **keys)
    gold = gold or {"a": "x"}
    return [scorer.score({"id": f"c{index}", "gold": gold, "output": extracted}) for index in range(count)]


def verdict(before, after, **rules):
    return evaluate_gate(snapshot(before), snapshot(prompt_changed(after)), Rules(**rules))


@pytest.mark.parametrize("metrics", [METRICS, METRICS[::-1]], ids=["strict first", "strict last"])
def test_a_field_is_right_where_all_of_its_metrics_find_it_so(metrics):
    found = verdict(run({"a": "x"}, metrics=metrics), run({"a": "X"}, metrics=metrics))
    assert found.answer is Answer.WORSE
    assert verdict(run({"a": "x"}, metrics=metrics), run({"a": "x"}, metrics=metrics)).answer is Answer.PASS


@pytest.mark.parametrize("metrics", [METRICS, METRICS[::-1]], ids=["strict first", "strict last"])
def test_a_bound_of_a_field_counts_all_of_its_metrics(metrics):
    (result,) = run({"a": "X"}, metrics=metrics, count=1, thresholds={"fields": {"a": 1.0}})
    assert result.outcome is Outcome.FAILED
    assert "field a 0.5 is below 1" in result.why


def test_a_measure_leaves_out_cases_with_known_failures_and_other_golds():
    before, after = suite(20, GOOD), suite(20, GOOD | {"a": False})
    known = [replace(each, known=("a",)) for each in after]
    assert verdict(before, after, measure="pass_rate").answer is Answer.WORSE
    found = verdict(before, known, measure="pass_rate")
    assert found.answer is not Answer.WORSE
    assert any("pass_rate counts a known failure" in note for note in found.notes)


def test_a_gate_is_no_field_that_fell(tmp_path, capsys):
    scorer = BulkScorer(scorer=compile_schema({"type": "object", "properties": {"a": {}, "b": {}}}))
    gold = {"a": 1, "b": 2}
    sides = [[scorer.score({"id": "c", "gold": gold, "output": output})] for output in (gold, "no JSON")]
    for name, side in zip(("a", "b"), sides, strict=True):
        write_results(tmp_path / f"{name}.jsonl", side)
    main(["compare", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"), "--rule=max_fallen=0"])
    assert "rule: 2 fields fell, at most 0 allowed" in capsys.readouterr().out


def test_a_baseline_holds_what_it_was_made_of():
    results = [
        replace(each, attempts=tuple(replace(one, cost_usd=0.0104, latency_s=1.04) for one in each.attempts))
        for each in suite(3, {"a": True, "b": True, "c": False})
    ]
    baseline = load_baseline(dump_baseline(updated_baseline(None, snapshot(results))))
    assert isinstance(baseline, Baseline)
    rules = {"measure": "pass_rate", "max_drop": 0.0, "max_cost_rise": 0.0, "max_latency_rise": 0.0}
    found = evaluate_gate(baseline.cases, snapshot(results), Rules(**rules))
    assert (found.answer, found.by_rule) == (Answer.PASS, False)


def test_a_run_without_samples_is_compared_case_by_case():
    made = [replace(each, origin=Origin.SYNTHETIC, case_id=f"s{each.case_id}") for each in suite(6, GOOD)]
    found = verdict([*suite(4, GOOD), *made], made)
    assert found.comparison.pairs == 24


def test_a_run_of_samples_is_compared_with_samples():
    before = [
        *suite(4, GOOD),
        *(replace(each, origin=Origin.SYNTHETIC, case_id=f"s{each.case_id}") for each in suite(9, GOOD)),
    ]
    found = verdict(before, suite(4, GOOD))
    assert (found.answer, found.comparison.pairs) == (Answer.PASS, 16)


def test_a_broken_case_takes_part_in_no_measure():
    whole = suite(1, GOOD)[0]
    broken = replace(whole, outcome=Outcome.BROKEN)
    assert (len(whole.scores) > 0, broken.scores) == (True, [])


def test_parquet_is_compared_as_json_lines_are(tmp_path, capsys):
    for name in ("a.parquet", "b.jsonl"):
        write_results(tmp_path / name, suite(3, GOOD))
    assert main(["compare", str(tmp_path / "a.parquet"), str(tmp_path / "b.jsonl")]) == 0
    assert main(["compare", str(tmp_path / "b.jsonl"), str(tmp_path / "a.parquet")]) == 0
    assert "PASS" in capsys.readouterr().out


def test_variants_of_one_file_are_compared_by_both_names(tmp_path, capsys):
    results = [
        replace(each, variant=replace(each.variant, model=model)) for model in ("m1", "m2") for each in suite(2, GOOD)
    ]
    write_results(tmp_path / "v.jsonl", results)
    command = ["compare", str(tmp_path / "v.jsonl"), str(tmp_path / "v.jsonl"), "--before-variant=m1"]
    assert main(command) == 2
    assert "needs --after-variant too" in capsys.readouterr().err
    assert main([*command, "--after-variant=m2"]) == 0


def test_results_that_differ_in_time_are_the_same():
    first = suite(2, GOOD)
    later = [
        replace(each, attempts=tuple(replace(one, latency_s=9.0) for one in each.attempts), duration_s=9.0)
        for each in first
    ]
    assert not merged_results(("one", first), ("two", later)).conflicts


@pytest.mark.slow
def test_a_case_of_many_wrong_fields_is_paired_in_linear_time():
    def calls(size):
        names = [f"k{index}" for index in range(size)]
        before, after = ([{name: (index % 2 == side) for index, name in enumerate(names)}] for side in (0, 1))
        sides = snapshot(suite(1, before[0])), snapshot(suite(1, after[0]))
        counted = 0

        def count(_frame, event, _arg):
            nonlocal counted
            counted += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            evaluate_gate(*sides)
        finally:
            sys.setprofile(None)
        return counted

    assert calls(2_000) < 3 * calls(1_000)


def test_a_label_may_have_any_number_of_digits():
    labels = ["9" * 5_000, "10", "2", "1,000"]
    assert sorted(labels, key=natural_key) == ["2", "10", "1,000", "9" * 5_000]


def test_outputs_of_other_code_are_no_evidence_for_pass(pytester):
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def extractor():
            return lambda document: {"a": document.text}
        """
    )
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    cases = [{"id": f"c{number}", "text": f"t{number}", "gold": {"a": f"t{number}"}} for number in range(3)]
    path = pytester.path / "all.extract.yaml"
    path.write_text(json.dumps({"defaults": {"schema": schema}, "cases": cases}), encoding="utf-8")
    options = ["--extract-record=once", "--extract-baseline=b.json"]
    pytester.runpytest(*options, "--extract-update-baseline", "--extract-force").assert_outcomes(passed=3)
    conftest = pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("document.text}", "document.text + '!'}"))

    gate = [*options, "--extract-gate=regression"]
    told = pytester.runpytest_subprocess(*gate)
    told.stdout.fnmatch_lines(["UNDECIDED. *; 3 cases replayed outputs of other code than today's*"])
    allowed = pytester.runpytest_subprocess(*gate, "--extract-other-code=allow")
    allowed.stdout.fnmatch_lines(["PASS. *"])


def test_a_run_of_drafts_alone_says_so(pytester):
    pytester.makeconftest("import pytest\n@pytest.fixture\ndef extractor(): return lambda: {'a': 'x'}\n")
    case = {"text": "x", "schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "gold": "g.json"}
    (pytester.path / "one.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    pytester.runpytest("--extract-update-gold=new")
    told = pytester.runpytest_subprocess("--extract-baseline=b.json", "--extract-update-baseline", "--extract-force")
    told.stdout.fnmatch_lines(["baseline not written: the gold is an unreviewed draft: pytest-extract review*"])
