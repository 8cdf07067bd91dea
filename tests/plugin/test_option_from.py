"""--extract-from: the outputs of an earlier run, judged anew."""

import json

import pytest

from tests.plugin.conftest import ECHO, GOLD, GREEN, STOPPED, plain_and_workers, refused, results, shows, text_of

BAD = {**GOLD, "vendor": "ACME Gmbh"}
PAST = "--extract-from=past.jsonl"


@pytest.fixture(autouse=True)
def past_run(pytester, write_case, write_fixture):
    """Two cases ran, one failed; from then on nothing can be called."""
    pytester.makeconftest(ECHO)
    write_case("good")
    write_case("bad", BAD)
    pytester.runpytest("--extract-report=past.jsonl").assert_outcomes(passed=1, failed=1)
    write_fixture("raise RuntimeError('called')")


def test_the_same_outputs_give_the_same_verdict_without_a_call(run, write_case):
    run(PAST, "--extract-report=now.jsonl", passed=1, failed=1)
    run("--extract-from=now.jsonl", "-n1", passed=1, failed=1)
    write_case("bad", BAD, thresholds={"pass_rate": 0.6})  # today's thresholds decide
    run(PAST, passed=2)


def test_what_the_past_run_cannot_tell_is_not_run(pytester, run, write_case):
    write_case("fresh")
    write_case("good", {**GOLD, "total": 99})
    result = run(PAST, "-rs", failed=1, skipped=2)
    none, changed = "past.jsonl has no result of this case", "the document has changed since past.jsonl was written*"
    result.stdout.fnmatch_lines_random([f"not run: 1 case: {none}", f"*not run: {none}", f"not run: 1 case: {changed}"])
    run(PAST, "-k", "good", skipped=1, status=STOPPED)
    lines = [json.loads(line) for line in text_of(pytester, "past.jsonl").splitlines()]
    without = [json.dumps({key: value for key, value in line.items() if key != "digests"}) + "\n" for line in lines]
    (pytester.path / "past.jsonl").write_text("".join(without), encoding="utf-8")
    why = "not run: 2 cases: *past.jsonl was written, or it has no digest of it*"
    run(PAST, skipped=3, status=STOPPED, lines=[why])


@plain_and_workers
def test_every_repeat_that_was_measured_decides_again(pytester, run, write_case, workers):
    write_case("bad", BAD, repeat={"of": 2, "pass": 1})
    pytester.makeconftest(ECHO)
    run("--extract-repeat=3", "--extract-report=three.jsonl", passed=1, failed=1)
    run("--extract-from=three.jsonl", "--extract-report=again.jsonl", *workers, passed=1, failed=1)
    again = {each.case_id: (len(each.attempts), each.needed) for each in results(pytester, "again.jsonl")}
    assert again == {"good": (3, 3), "bad": (3, 2)}


@plain_and_workers
def test_the_models_of_the_past_run_are_run_and_its_first_is_the_base(pytester, workers):
    pytester.makeconftest(ECHO)
    pytester.runpytest("--extract-model=b", "--extract-model=a", "--extract-gate=none", "--extract-report=two.jsonl")
    result = pytester.runpytest("--extract-from=two.jsonl", "--extract-gate=none", "-v", *workers)
    names = [f"*{case}.extract.yaml::{case}[[]{model}[]]*" for case in ("bad", "good") for model in "ab"]
    result.stdout.fnmatch_lines_random(names)
    shows(result, "*[[]b -> a[]]*")


def test_a_case_runs_on_the_variants_that_it_had(run, write_case, write_extractor):
    for folder, fixture in [("one", ""), ("two", "(params=['regex', 'llm'])")]:
        write_case(f"{folder}/acme")
        write_extractor("return document.text", needs="request", fixture=fixture, folder=folder)
    run("one", "two", "--extract-report=some.jsonl", passed=3)
    run("one", "two", "--extract-from=some.jsonl", passed=3, status=GREEN)


def test_the_prompt_of_the_past_run_stays_the_prompt_of_its_outputs(pytester, write_case, write_files):
    write_files({"p.md": "p", "q.md": "q"})
    write_case("good", prompt="p.md")
    pytester.makeconftest(ECHO.replace("model=None", "prompt"))
    pytester.runpytest("-k", "good", "--extract-prompt=q.md", "--extract-report=q.jsonl")
    pytester.runpytest("-k", "good", "--extract-from=q.jsonl", "--extract-report=again.jsonl")
    (past,), (again,) = results(pytester, "q.jsonl"), results(pytester, "again.jsonl")
    assert (again.digests, again.prompt_file) == (past.digests, past.prompt_file)
    assert past.prompt_file == "q.md"


def test_an_extractor_that_had_raised_is_broken_again(pytester, run, write_extractor):
    write_extractor("raise ValueError('down')")
    pytester.runpytest("--extract-report=broken.jsonl")
    lines = ["ERROR: an error in the past run: ValueError: down", "2 cases: 2 errors"]
    run("--extract-from=broken.jsonl", failed=2, lines=lines)


def test_an_output_that_no_json_holds_fails_in_the_same_way_again_from_a_recording_and_from_results(
    pytester, run, write_extractor
):
    write_extractor('return {"vendor": "ACME", "total": float("nan")}')
    run("--extract-record=once", "--extract-report=nan.jsonl", failed=2)
    for option in ("--extract-record=none", "--extract-from=nan.jsonl"):
        run(option, "--extract-report=again.jsonl", failed=2)
        for (attempt,) in (each.attempts for each in results(pytester, "again.jsonl")):
            assert str(attempt.score.failure) == "malformed_json at total: nan is no JSON value"
            assert attempt.output == '{"vendor": "ACME", "total": NaN}'


def test_a_damaged_file_is_a_usage_error(pytester):
    (pytester.path / "bad.jsonl").write_text("nonsense\n{}\n", encoding="utf-8")
    refused(pytester.runpytest("--extract-from=bad.jsonl"), "*bad.jsonl:1: not JSON*")
