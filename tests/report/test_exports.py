"""What CI services show of a run: annotations, code quality, comment, JUnit properties."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_extract.core.case_result import Attempt, Breach, Outcome, Usage
from pytest_extract.core.scorer import compile_schema
from pytest_extract.report import exports
from pytest_extract.report.exports import Problem, code_quality, github_commands, junit_properties, problems_of
from pytest_extract.report.markdown import LIMIT, MARKER, markdown
from pytest_extract.report.run_report import CaseFinder, RunReport, job_link, repository_root
from tests.report.runs import GOLD, SCHEMA, TEXT, broken, case, scored, wrong

KINDS = ("exact", "fuzzy")
REPEAT = Breach(what="repeat", message="0 of 2 repeats passed")
GOLD_LINES = json.dumps(GOLD, indent=1).split("\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a repository with the case file of the results, whose gold is a file."""
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "gold.json").write_text("\n".join(GOLD_LINES), encoding="utf-8")
    shared = f"defaults: {{text: x, schema: {json.dumps(SCHEMA)}, gold: gold.json}}"
    (folder / "all.extract.yaml").write_text(f"{shared}\ncases:\n- id: a\n- id: b\n- id: c\n", encoding="utf-8")
    return tmp_path


def run_of(root: Path, *results: object, **keys: object) -> RunReport:
    return RunReport(results=results, find_case=CaseFinder(root), root=root, **keys)  # type: ignore[arg-type]


def problems(root: Path, *results: object, **keys: object) -> list[list[Problem]]:
    return problems_of(run_of(root, *results, **keys))


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(GOLD_LINES, start=1) if text in line)


def test_a_failing_field_stands_at_its_gold_s_line(root: Path) -> None:
    ((whole, first, second),) = problems(root, scored("b", wrong(total=1, items=GOLD["items"][:1])))
    assert (whole.path, whole.line, whole.level, whole.title) == (
        "cases/all.extract.yaml", 4, "error", "cases/all.extract.yaml::b",
    )  # fmt: skip
    assert (first.path, first.line) == ("cases/gold.json", line_of('"total"'))
    assert first.text.startswith("total: mismatch, gold 907.2, extracted 1")
    assert (second.path, second.line) == ("cases/gold.json", line_of('"Nut"') - 1)
    assert second.text.startswith("items[1]: omission")


def test_a_gold_outside_the_repository_leaves_the_place_to_the_case(root: Path) -> None:
    run = RunReport(results=[scored("a", wrong(total=1))], find_case=CaseFinder(root))
    (root / "repository").mkdir()
    (root / "cases/gold.json").rename(root / "gold.json")
    (root / "cases").rename(root / "repository/cases")
    path = root / "repository/cases/all.extract.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("gold.json", "../../gold.json"), encoding="utf-8")
    ((_, field),) = problems_of(replace(run, find_case=CaseFinder(root / "repository"), root=root / "repository"))
    assert (field.path, field.line) == ("cases/all.extract.yaml", 3)
    assert field.text.startswith("total: mismatch")


def test_an_invented_value_stands_at_what_is_around_it_and_a_case_that_broke_at_the_case(root: Path) -> None:
    more = {**GOLD, "more": 1}
    (_, invented), (down,) = problems(root, scored("a", more), broken("c", "RuntimeError: down"))
    assert (invented.path, invented.line) == ("cases/gold.json", 1)
    assert (down.path, down.line, down.text) == ("cases/all.extract.yaml", 5, "RuntimeError: down")


def test_without_the_case_file_the_place_is_the_file(tmp_path: Path) -> None:
    ((whole, field),) = problems(tmp_path, scored("a", wrong(total=1)))
    assert (whole.path, whole.line, field.path, field.line) == (
        "cases/all.extract.yaml",
        1,
        "cases/all.extract.yaml",
        1,
    )


def test_under_another_gate_a_case_is_a_warning_and_comes_after_errors(root: Path) -> None:
    failed, down = scored("a", wrong(total=1)), broken("b", "down")
    found = problems(root, failed, down, gate="suite", suite=[(False, "pass_rate 0.5 is below 0.9")])
    assert [group[0].level for group in found] == ["error", "error", "warning"]
    assert "pass_rate 0.5 is below 0.9" in found[0][0].text


def test_what_is_green_or_announced_is_no_problem(root: Path) -> None:
    failed = scored("b", wrong(total=1))
    assert problems(root, scored("a", GOLD), failed, expected=frozenset({failed.nodeid})) == []


def test_a_file_with_mistakes_stands_at_its_line(root: Path) -> None:
    told = f"{root}/cases/odd.extract.yaml:2:1: unknown key 'schma'"
    ((problem,),) = problems(root, mistakes=[told])
    assert (problem.path, problem.line, problem.text) == ("cases/odd.extract.yaml", 2, "unknown key 'schma'")


def test_each_mistake_of_a_file_stands_at_its_own_line(root: Path) -> None:
    path = f"{root}/cases/odd.extract.yaml"
    told = f"{path}:2:1: unknown key 'schma'\n{path}:7:3: not YAML:\n  here: 12: it ends\n... and 3 more"
    first, second = github_commands(problems(root, mistakes=[told]))
    assert first.startswith("::error file=cases/odd.extract.yaml,line=2,title=mistake in a case file::unknown key")
    assert second.partition("::not")[0].endswith("odd.extract.yaml,line=7,title=mistake in a case file")
    assert second.endswith("YAML:%0A  here: 12: it ends%0A... and 3 more")
    assert [
        issue["location"]["lines"]["begin"] for issue in json.loads(code_quality(run_of(root, mistakes=[told])))
    ] == [2, 7]


def test_commands_of_github_are_escaped(root: Path) -> None:
    scary = "100 %\n::error::x,y:\x1b"
    commands = github_commands(problems(root, scored("a", wrong(vendor=scary)), broken("b,c: 5 %", scary)))
    assert all("\n" not in command and "\x1b" not in command for command in commands)
    assert commands[0].startswith(f"::error file=cases/gold.json,line={line_of('vendor')},title=cases/all.extract.yaml")
    head, _, text = commands[0].removeprefix("::").partition("::")
    assert "%3A%3Aa" in head
    assert "100 %25" in text
    assert "title=cases/all.extract.yaml%3A%3Ab%2Cc%3A 5 %25" in commands[1]


def test_an_annotation_stands_at_the_worst_field(root: Path) -> None:
    (command,) = github_commands(problems(root, scored("a", wrong(vendor="x"))))
    assert command.startswith(f"::error file=cases/gold.json,line={line_of('vendor')},")


def test_each_case_has_one_annotation_with_its_first_fields(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "MOST_FIELDS", 1)
    monkeypatch.setattr(exports, "MOST_ANNOTATIONS", 2)
    results = [scored(name, wrong(vendor="x", total=1)) for name in "abc"]
    first, second, more = github_commands(problems(root, *results))
    assert first.count("%0A") == 2
    assert first.endswith("%0A… and 1 more field")
    assert second.startswith("::error file=cases/gold.json")
    assert more == "::warning ::1 more problem without an annotation"


def test_code_quality_has_an_issue_for_each_field(root: Path) -> None:
    results = [scored("a", wrong(vendor="x", total=1)), broken("b", "down")]
    issues = json.loads(code_quality(run_of(root, *results)))
    assert [issue["location"]["path"] for issue in issues] == [
        "cases/gold.json",
        "cases/gold.json",
        "cases/all.extract.yaml",
    ]
    assert len({issue["fingerprint"] for issue in issues}) == 3
    again = json.loads(code_quality(run_of(root, scored("a", wrong(vendor="y", total=2)), results[1])))
    assert [issue["fingerprint"] for issue in issues] == [issue["fingerprint"] for issue in again]
    assert {(issue["check_name"], issue["severity"]) for issue in issues} == {("pytest-extract", "major")}


def test_what_one_mistake_or_one_of_several_metrics_says_has_its_own_issue(root: Path) -> None:
    text = {"type": "string", "evaluation_config": {"metrics": [{"metric_id": f"string_{each}"} for each in KINDS]}}
    twice = compile_schema({"type": "object", "properties": {"e": text}})
    swapped = compile_schema({"type": "object", "properties": dict.fromkeys("abcd", TEXT)})
    gold = {"a": "Alice", "b": "Bonn Ltd", "c": "Paris", "d": "Dora"}
    output = {"a": "Bonn Ltd", "b": "Alice", "c": "Dora", "d": "Paris"}
    results = [
        scored("a", output, gold=gold, scorer=swapped),
        scored("b", {"e": "zz"}, gold={"e": "x"}, scorer=twice),
    ]
    issues = json.loads(code_quality(run_of(root, *results)))
    assert [issue["description"].split(": ")[1] for issue in issues] == ["$", "$", "e", "e"]
    assert len({issue["fingerprint"] for issue in issues}) == 4


def test_a_bound_that_is_about_no_field_has_an_issue_beside_the_fields(root: Path) -> None:
    missed = Breach(what="rules.total == 1", message="rule total == 1 is broken")
    result = scored("a", wrong(total=2), breaches=(missed,))
    again = replace(result.attempts[0], breaches=(missed,))
    repeated = replace(scored("b", wrong(total=2), breaches=(REPEAT,)), attempts=(again, again))
    issues = json.loads(code_quality(run_of(root, result, repeated)))
    assert [issue["description"].split(": ", 1)[1] for issue in issues if "mismatch" not in issue["description"]] == [
        "rule total == 1 is broken",
        "0 of 2 repeats passed; rule total == 1 is broken",
    ]


def test_issues_that_are_left_out_are_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "MOST_ISSUES", 1)
    issues = json.loads(code_quality(run_of(root, scored("a", wrong(vendor="x", total=1)))))
    assert [issue["description"].partition(", ")[0] for issue in issues] == [
        "cases/all.extract.yaml::a: vendor: mismatch",
        "pytest-extract: 1 more issue left out; the other reports have them",
    ]


def test_a_green_run_has_no_issue(root: Path) -> None:
    assert json.loads(code_quality(run_of(root, scored("a", GOLD)))) == []


def test_markdown_has_a_marker_the_revision_and_the_job() -> None:
    job = job_link({"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7"})
    run = RunReport(results=[scored("a", wrong(total=1))], facts={"revision": "0123456789ab and changes", "job": job})
    text = markdown(run)
    assert text.startswith(f"{MARKER}\n## ❌ Failed\n")
    assert text.endswith("\n`0123456789ab` · [job](https://github.com/o/r/actions/runs/7)\n")
    hostile = job_link({"CI_PIPELINE_URL": "https://x/) [y](javascript:1"})
    assert "javascript" not in markdown(replace(run, facts={"job": hostile}))
    many = [scored(f"c{index}", wrong(vendor="`" * 3_000)) for index in range(60)]
    assert len(markdown(replace(run, results=many)).encode("utf-16-le")) // 2 < LIMIT


def test_junit_properties_have_measures_cost_and_fields() -> None:
    result = scored("a", {"total": 1, "items": GOLD["items"]}, tags={"domain": "mail"}, model="m/x")
    score = result.attempts[0].score
    attempt = Attempt(
        index=0, outcome=Outcome.FAILED, score=score, cost_usd=0.25, usage=Usage(prompt_tokens=7, completion_tokens=3)
    )
    found = dict(junit_properties(case("a", Outcome.FAILED, attempt, tags={"domain": "mail"}, model="m/x")))
    expected = {
        "outcome": "failed", "model": "m/x", "pass_rate": "0.333333", "cost_usd": "0.250000", "prompt_tokens": "7",
        "completion_tokens": "3", "tag.domain": "mail", "field.vendor": "1 omission", "field.total": "1 mismatch",
        "field.items[].name": "2 match",
    }  # fmt: skip
    assert {name: found[f"extract.{name}"] for name in expected} == expected


def test_junit_properties_have_bounds_and_no_harmful_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "MOST_PROPERTIES", 1)
    found = dict(junit_properties(scored("a", GOLD, tags={"x\x1b": "y\x00" * 1_000})))
    assert found["extract.fields_left_out"] == "3"
    assert all(re.fullmatch(r"[^\x00-\x1f]*", f"{name}{value}") for name, value in found.items())


def test_the_root_is_that_of_the_checkout(tmp_path: Path) -> None:
    assert repository_root(tmp_path, {}) == tmp_path
    assert repository_root(tmp_path, {"GITHUB_WORKSPACE": "/w"}) == Path("/w")
    assert repository_root(tmp_path, {"CI_PROJECT_DIR": "/b"}) == Path("/b")
