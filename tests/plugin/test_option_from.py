from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pytest_extract.results import read_results
from tests.plugin.conftest import ECHO, GOLD

Write = Callable[..., None]
BAD = {**GOLD, "vendor": "ACME Gmbh"}


@pytest.fixture(autouse=True)
def past_run(pytester: pytest.Pytester, write_case: Write) -> None:
    """Two cases ran, one failed; from then on nothing can be called."""
    pytester.makeconftest(ECHO)
    write_case("good")
    write_case("bad", BAD)
    pytester.runpytest("--extract-report=past.jsonl").assert_outcomes(passed=1, failed=1)
    pytester.makeconftest("import pytest\n\n@pytest.fixture\ndef extractor():\n    raise RuntimeError('called')\n")


def test_the_same_outputs_give_the_same_verdict_without_a_call(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--extract-from=past.jsonl", "--extract-report=now.jsonl").assert_outcomes(passed=1, failed=1)
    again = pytester.runpytest("--extract-from=now.jsonl", "-n1")
    again.assert_outcomes(passed=1, failed=1)


def test_today_s_thresholds_decide(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("bad", BAD, thresholds={"pass_rate": 0.6})
    pytester.runpytest("--extract-from=past.jsonl").assert_outcomes(passed=2)


def test_a_case_that_the_past_run_has_not_is_not_run(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("fresh")
    result = pytester.runpytest("--extract-from=past.jsonl", "-rs")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["*not run: 1 case: past.jsonl has no result of this case", "*not run: past.jsonl has no result of this case"]
    )


def test_a_changed_document_is_not_judged_by_the_output_of_another(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    write_case("good", {**GOLD, "total": 99})
    result = pytester.runpytest("--extract-from=past.jsonl", "-k", "good")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["not run: 1 case: the document has changed since past.jsonl was written*"])


def test_an_output_of_nobody_knows_which_document_is_not_judged(pytester: pytest.Pytester) -> None:
    past = pytester.path / "past.jsonl"
    lines = [json.loads(line) for line in past.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        del line["digests"]
    past.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    result = pytester.runpytest("--extract-from=past.jsonl")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["not run: 2 cases: *past.jsonl was written, or it has no digest of it*"])
    assert result.ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.parametrize("args", [(), ("-n1",)], ids=["plain", "n1"])
def test_every_repeat_that_was_measured_decides_again(
    pytester: pytest.Pytester, write_case: Write, args: tuple[str, ...]
) -> None:
    write_case("bad", BAD, repeat={"of": 2, "pass": 1})
    pytester.makeconftest(ECHO)
    pytester.runpytest("--extract-repeat=3", "--extract-report=three.jsonl").assert_outcomes(passed=1, failed=1)
    result = pytester.runpytest("--extract-from=three.jsonl", "--extract-report=again.jsonl", *args)
    result.assert_outcomes(passed=1, failed=1)
    again = {each.case_id: each for each in read_results(pytester.path / "again.jsonl").results}
    assert {name: (len(each.attempts), each.needed) for name, each in again.items()} == {"good": (3, 3), "bad": (3, 2)}


def test_the_models_of_the_past_run_are_run(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(ECHO)
    pytester.runpytest("--extract-model=a", "--extract-model=b", "--extract-report=two.jsonl")
    result = pytester.runpytest("--extract-from=two.jsonl", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["bad.extract.yaml::bad?a?", "bad.extract.yaml::bad?b?", "good.extract.yaml::good?a?"])


def test_a_case_runs_on_the_variants_that_it_had(pytester: pytest.Pytester, write_case: Write) -> None:
    below = "@pytest.fixture{}\ndef extractor({}):\n    return lambda document: document.text\n"
    for name, params in [("one", ""), ("two", "(params=['regex', 'llm'])")]:
        write_case(f"{name}/acme")
        conftest = "import pytest\n\n" + below.format(params, "request" if params else "")
        (pytester.path / name / "conftest.py").write_text(conftest)
    pytester.runpytest("one", "two", "--extract-report=some.jsonl").assert_outcomes(passed=3)
    again = pytester.runpytest("one", "two", "--extract-from=some.jsonl")
    again.assert_outcomes(passed=3)
    assert again.ret == 0


def test_the_prompt_of_the_past_run_stays_the_prompt_of_its_outputs(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    for name in ("p.md", "q.md"):
        (pytester.path / name).write_text(name, encoding="utf-8")
    write_case("good", prompt="p.md")
    pytester.makeconftest(ECHO.replace("model=None", "prompt"))
    pytester.runpytest("-k", "good", "--extract-prompt=q.md", "--extract-report=q.jsonl")
    pytester.runpytest("-k", "good", "--extract-from=q.jsonl", "--extract-report=again.jsonl")
    (past,), (again,) = (read_results(pytester.path / name).results for name in ("q.jsonl", "again.jsonl"))
    assert (again.digests, again.prompt_file) == (past.digests, past.prompt_file)
    assert past.prompt_file == "q.md"


@pytest.mark.parametrize("args", [(), ("-n1",)], ids=["plain", "n1"])
def test_the_first_variant_of_the_past_run_is_the_base(pytester: pytest.Pytester, args: tuple[str, ...]) -> None:
    pytester.makeconftest(ECHO)
    pytester.runpytest("--extract-model=b", "--extract-model=a", "--extract-gate=none", "--extract-report=two.jsonl")
    result = pytester.runpytest("--extract-from=two.jsonl", "--extract-gate=none", *args)
    result.stdout.fnmatch_lines(["*[[]b -> a[]]*"])


def test_an_extractor_that_had_raised_is_broken_again(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--extract-report=broken.jsonl")
    pytester.makeconftest(
        "import pytest\n\n@pytest.fixture\ndef extractor():\n"
        "    def extract(document):\n        raise ValueError('down')\n    return extract\n"
    )
    pytester.runpytest("--extract-report=broken.jsonl")
    result = pytester.runpytest("--extract-from=broken.jsonl")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["BROKEN: broken in the past run: ValueError: down", "2 cases: 2 broken"])


def test_a_damaged_file_is_a_usage_error(pytester: pytest.Pytester) -> None:
    (pytester.path / "bad.jsonl").write_text("nonsense\n{}\n", encoding="utf-8")
    result = pytester.runpytest("--extract-from=bad.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--extract-from: *bad.jsonl:1: not JSON*"])
