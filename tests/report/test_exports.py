"""What CI services and tables show of a run: annotations, code quality, JUnit properties, CSV."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_extract.core.case_result import Attempt, Breach, Outcome
from pytest_extract.report import exports
from pytest_extract.report.exports import code_quality, csv_table, github_commands, junit_properties, problems_of
from pytest_extract.report.run_report import RunReport, case_finder, repository_root
from tests.records import field_result, score_record
from tests.report.runs import GOLD, SCHEMA, broken, case, scored, wrong

CASES = "cases/all.extract.yaml"
GOLD_LINES = json.dumps(GOLD, indent=1).split("\n")
TOTAL = wrong(total=1)
BOTH = wrong(vendor="x", total=1)


@pytest.fixture
def root(tmp_path):
    """Give a repository with the case file of the results, whose gold is a file."""
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "gold.json").write_text("\n".join(GOLD_LINES), encoding="utf-8")
    shared = f"defaults: {{text: x, schema: {json.dumps(SCHEMA)}, gold: gold.json}}"
    (folder / "all.extract.yaml").write_text(f"{shared}\ncases:\n- id: a\n- id: b\n- id: c\n", encoding="utf-8")
    return tmp_path


def run_of(root, *results, **keys):
    return RunReport(results=results, find_case=case_finder(root), root=root, **keys)


def problems(root, *results, **keys):
    return problems_of(run_of(root, *results, **keys))


def issues(root, *results, **keys):
    return json.loads(code_quality(run_of(root, *results, **keys)))


def place(problem):
    return problem.path, problem.line


def line_of(text):
    return next(number for number, line in enumerate(GOLD_LINES, start=1) if text in line)


def test_a_case_stands_at_the_gold_s_line_of_its_worst_field(root):
    fewer, more, down = problems(
        root,
        scored("b", wrong(total=1, items=GOLD["items"][:1])),
        scored("a", {**GOLD, "more": 1}),
        broken("c", "down"),
    )
    assert place(fewer) == ("cases/gold.json", line_of('"total"'))
    assert (fewer.level, fewer.title) == ("error", f"{CASES}::b")
    reason, total, items = fewer.text.split("\n")
    assert reason == "pass_rate 0.333 is below 1"
    assert total.startswith("total: mismatch, gold 907.2, extracted 1")
    assert items.startswith("items[1]: missing")
    assert place(more) == ("cases/gold.json", 1)
    assert (place(down), down.text) == ((CASES, 5), "down")


def test_without_the_file_of_the_case_or_gold_the_place_is_around_it(root, tmp_path):
    (found,) = problems(tmp_path / "elsewhere", scored("a", TOTAL))
    assert place(found) == (CASES, 1)
    (root / "repository").mkdir()
    (root / "cases/gold.json").rename(root / "gold.json")
    (root / "cases").rename(root / "repository/cases")
    path = root / "repository/cases/all.extract.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("gold.json", "../../gold.json"), encoding="utf-8")
    (found,) = problems(root / "repository", scored("a", TOTAL))
    assert place(found) == (CASES, 3)
    assert "\ntotal: mismatch" in found.text


def test_under_another_gate_a_case_is_a_warning_and_comes_after_errors(root):
    suite = [(False, "pass_rate 0.5 is below 0.9")]
    found = problems(root, scored("a", TOTAL), broken("b", "down"), gate="suite", suite=suite)
    assert [each.level for each in found] == ["error", "error", "warning"]
    assert "pass_rate 0.5 is below 0.9" in found[0].text


def test_what_is_green_or_announced_is_no_problem(root):
    green, failed = scored("a", GOLD), scored("b", TOTAL)
    assert problems(root, green, failed, expected=frozenset({failed.nodeid})) == []
    assert issues(root, green) == []


def test_each_mistake_of_a_file_stands_at_its_own_line(root):
    path = f"{root}/cases/odd.extract.yaml"
    told = f"{path}:2:1: unknown key 'schma'\n{path}:7:3: not YAML:\n  here: 12: it ends\n... and 3 more"
    first, second = github_commands(problems(root, mistakes=[told]))
    head = "::error file=cases/odd.extract.yaml,line={},title=mistake in a case file::"
    assert first == f"{head.format(2)}unknown key 'schma'"
    assert second == f"{head.format(7)}not YAML:%0A  here: 12: it ends%0A... and 3 more"
    assert [issue["location"]["lines"]["begin"] for issue in issues(root, mistakes=[told])] == [2, 7]


def test_an_annotation_stands_at_the_worst_field_and_is_escaped(root):
    scary = "100 %\n::error::x,y:\x1b"
    commands = [*github_commands(problems(root, scored("a", wrong(vendor=scary)), broken("b,c: 5 %", scary)))]
    assert all("\n" not in command and "\x1b" not in command for command in commands)
    head, _, text = commands[0].removeprefix("::").partition("::")
    assert head == f"error file=cases/gold.json,line={line_of('vendor')},title={CASES}%3A%3Aa"
    assert "100 %25" in text
    assert f"title={CASES}%3A%3Ab%2Cc%3A 5 %25" in commands[1]


def test_what_is_left_out_is_counted(root, monkeypatch):
    for name, most in (("MOST_FIELDS", 1), ("MOST_ANNOTATIONS", 2), ("MOST_PROPERTIES", 1)):
        monkeypatch.setattr(exports, name, most)
    first, second, more = github_commands(problems(root, *(scored(name, BOTH) for name in "abc")))
    assert first.count("%0A") == 2
    assert first.endswith("%0A… and 1 more field")
    assert second.startswith("::error file=cases/gold.json")
    assert more == "::warning ::1 more problem without an annotation"
    found = dict(junit_properties(scored("a", GOLD, tags={"x\x1b": "y\x00" * 1_000})))
    assert found["extract.fields_left_out"] == "3"
    assert all(re.fullmatch(r"[^\x00-\x1f]*", f"{name}{value}") for name, value in found.items())


def test_code_quality_has_an_issue_for_each_case_that_stays_while_the_same_fields_fail(root):
    now = issues(root, scored("a", BOTH), broken("b", "down"))
    then = issues(root, scored("a", wrong(vendor="y", total=2)), broken("b", "down"))
    other = issues(root, scored("a", TOTAL), broken("b", "down"))
    assert [issue["location"]["path"] for issue in now] == ["cases/gold.json", CASES]
    prints, same, others = ([issue["fingerprint"] for issue in found] for found in (now, then, other))
    assert (prints == same, prints[0] == others[0], prints[1] == others[1]) == (True, False, True)
    assert {(issue["check_name"], issue["severity"]) for issue in now} == {("pytest-extract", "major")}


def test_a_bound_that_is_about_no_field_is_told_beside_the_fields(root):
    missed = Breach(what="rules.total == 1", message="rule total == 1 is broken")
    result = scored("a", wrong(total=2), breaches=(missed,))
    again = replace(result.attempts[0], breaches=(missed,))
    repeat = Breach(what="repeat", message="0 of 2 repeats passed")
    repeated = replace(scored("b", wrong(total=2), breaches=(repeat,)), attempts=(again, again))
    assert [each.text.split("\n")[0] for each in problems(root, result, repeated)] == [
        "rule total == 1 is broken",
        "0 of 2 repeats passed; rule total == 1 is broken",
    ]


def test_junit_properties_have_measures_cost_tags_and_fields():
    score = scored("a", {"total": 1, "items": GOLD["items"]}).attempts[0].score
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score, cost_usd=0.25)
    found = dict(junit_properties(case("a", Outcome.FAILED, attempt, tags={"domain": "mail"})))
    expected = {"pass_rate": "0.333333", "cost_usd": "0.250000", "tag.domain": "mail", "field.vendor": "1 missing"}
    assert {name: found[f"extract.{name}"] for name in expected} == expected
    assert found["extract.field.items[].name"] == "2 match"


def test_the_root_is_that_of_the_checkout(tmp_path, monkeypatch):
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert repository_root(tmp_path) == tmp_path
    for name in ("CI_PROJECT_DIR", "GITHUB_WORKSPACE"):
        monkeypatch.setenv(name, f"/{name}")
        assert repository_root(tmp_path) == Path(f"/{name}")


CELLS = {
    "=cmd()": "'=cmd()",
    "@sum": "'@sum",
    "\t=1": "'\t=1",
    "＝1": "'＝1",
    "+49 30 1": "'+49 30 1",
    "-nan()": "'-nan()",
    "-1": "-1",
    "-1.5e3": "-1.5e3",
    'a,b\n"c"': 'a,b\n"c"',
    "a\x00b": "a\\x00b",
    "a\rb": "a\\rb",
    "\ud800": "\\ud800",
    "漢字": "漢字",
}


@pytest.mark.parametrize("text", CELLS)
def test_no_cell_of_the_csv_is_a_formula_and_each_can_be_read_anywhere(text):
    leaf = field_result("a", text)._replace(pattern=text)
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score_record(leaf))
    written = csv_table(RunReport(results=[case("c", Outcome.FAILED, attempt)])).encode("utf-8").decode("utf-8")
    (row,) = csv.DictReader(io.StringIO(written, newline=""))
    assert (row["pattern"], row["extracted"]) == (CELLS[text], "")
    assert json.loads(row["gold"]) == text


def test_null_in_the_csv_is_no_missing_value_and_a_case_without_values_has_a_row():
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score_record(field_result("a", None)))
    run = RunReport(results=[case("c", Outcome.FAILED, attempt), broken("d", "ValueError: -2+3 down")])
    null, down = csv.DictReader(io.StringIO(csv_table(run)))
    assert (null["gold"], null["extracted"]) == ("null", "")
    assert (down["outcome"], down["path"], down["reason"]) == ("error", "", "ValueError: -2+3 down")
