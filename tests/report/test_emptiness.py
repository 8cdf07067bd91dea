"""Reports say what a pass rate does not rest on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_extract.cli import main
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.scorer import compile_schema
from pytest_extract.report.diff import DiffOptions, case_lines
from pytest_extract.report.html.page import page
from pytest_extract.report.lines import text_of
from pytest_extract.report.markdown import markdown
from pytest_extract.report.run_report import RunReport
from pytest_extract.report.summary import remark_lines, summary_lines, totals_of
from pytest_extract.results import dump_result, load_result
from tests.report.runs import scored

TEXT = {"type": "string"}
SPARSE = {"type": "object", "properties": dict.fromkeys("abcde", TEXT)}
BENCH = compile_schema(SPARSE, semantics="extract-bench", judge_mode="exact")
DEFAULT = compile_schema(SPARSE)
GOLD = {"a": "x"}
"""Four of five fields are empty, and what is not there passes under extract-bench."""


def result(name: str, extracted: object, gold: object = GOLD, **keys: Any) -> CaseResult:
    return scored(name, extracted, gold=gold, **{"scorer": BENCH, **keys})


def told(*results: CaseResult, **how: Any) -> str:
    return " ".join(text_of(each) for each in remark_lines(totals_of(results).remarks, width=200, **how))


def test_a_case_most_of_whose_passes_are_empty_is_named() -> None:
    wrong, right = result("wrong", {"hello": 1}), result("right", GOLD)
    assert told(wrong, right) == (
        "right by emptiness, without a value on either side, in 2 cases: wrong (4 of 4 passed fields), "
        "right (4 of 5 passed fields)"
    )


def test_a_case_in_which_nothing_was_compared_is_named() -> None:
    assert "in 1 case: none (nothing was compared)" in told(result("none", {}, {}, scorer=DEFAULT))


@pytest.mark.parametrize("scorer", [DEFAULT, BENCH], ids=["default", "extract-bench"])
def test_a_case_with_more_values_than_not_is_not(scorer: object) -> None:
    full = dict.fromkeys("abc", "x")
    assert told(result("full", full, full, scorer=scorer)) == ""


def test_a_results_file_of_an_older_version_counts_the_same() -> None:
    line = dump_result(result("old", {"hello": 1})).replace('"uncompared":{},', "").replace(',"empty_passes":4', "")
    assert "empty_passes" not in line
    assert "uncompared" not in line
    old = load_result(line)
    assert old.uncompared == {}
    assert "old (4 of 4 passed fields)" in told(old)


def test_many_cases_are_counted_and_all_named_with_v() -> None:
    results = [result(f"case{number}", GOLD) for number in range(8)]
    assert "case4 (4 of 5 passed fields) and 3 more (-v shows all)" in told(*results)
    assert "case7" in told(*results, verbosity=1)


def test_gold_values_that_nothing_compares_are_told_of_each_case() -> None:
    keys = {"uncompared": {"events": 66}, "shape": {"leaves": 67}}
    full = dict.fromkeys("abcde", "x")
    results = [
        result("one", full, full, **keys),
        result("two", full, full, **{**keys, "uncompared": {"events": 60, "heats": 2}}),
    ]
    assert told(*results) == (
        "gold values that are compared with nothing, in 2 cases: one (66 of 67: events), two (62 of 67: events, heats)"
    )


def test_every_report_has_both() -> None:
    case = result("wrong", {"hello": 1}, uncompared={"events": 66}, shape={"leaves": 67})
    diff = "\n".join(text_of(each) for each in case_lines(case, DiffOptions(width=200)))
    assert "right by emptiness: 4 of 4 passed fields" in diff
    assert "66 of 67 gold values are compared with nothing: `events` (66)" in diff
    summary = "\n".join(text_of(each) for each in summary_lines([case], width=200))
    run = RunReport(results=[case])
    for text in (summary, markdown(run), page(run)):
        assert "right by emptiness" in text
        assert "66 of 67: events" in text


def test_the_report_command_has_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "r.jsonl"
    case = result("wrong", {"hello": 1}, uncompared={"events": 66}, shape={"leaves": 67})
    file.write_text(f"{dump_result(case)}\n", encoding="utf-8")
    assert main(["report", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "in 1 case: wrong (4 of 4 passed fields)" in out
    assert "gold values that are compared with nothing, in 1 case: wrong (66 of 67: events)" in out
