"""Rules across fields in a run: mistakes at loading, the diff, the summary, and every report."""

from __future__ import annotations

import json
import re
from importlib import resources

import pytest
import yaml

from pytest_extract import compile_schema
from pytest_extract.cli import main
from pytest_extract.results import read_results

SCHEMA = {
    "type": "object",
    "x-eval-rules": ["count(items) == item_count"],
    "properties": {
        "total": {"type": "string"},
        "item_count": {"type": "integer"},
        "start": {"type": ["string", "null"]},
        "end": {"type": ["string", "null"]},
        "items": {"type": "array", "items": {"type": "object", "properties": {"total": {"type": "number"}}}},
    },
}
GOLD = {
    "total": "1,240.00",
    "item_count": 2,
    "start": "2026-01-02",
    "end": "2026-02-01",
    "items": [{"total": 1200}, {"total": 40}],
}
OUTPUT = {**GOLD, "total": "1,250.00", "end": None}
SUM = "sum(items[].total) == total"


@pytest.fixture
def suite(pytester):
    def write(cases, output=OUTPUT):
        pytester.path.joinpath("schema.json").write_text(json.dumps(SCHEMA, indent=1))
        pytester.path.joinpath("a.extract.yaml").write_text(json.dumps(cases, indent=1))
        pytester.makeconftest(
            f"import pytest\n@pytest.fixture\ndef extractor():\n    return lambda document: {output!r}\n"
        )
        return pytester

    return write


def case(**keys):
    return {"text": "Invoice", "schema": "schema.json", "gold": GOLD, **keys}


def test_a_gold_that_breaks_a_rule_is_a_mistake_at_the_rule(suite):
    broken = {**GOLD, "total": "1,250.00", "item_count": 3}
    rules = ["start <= end", {"rule": SUM, "name": "total"}]
    pytester = suite({"defaults": {"rules": rules}, "cases": [case(id="good"), case(id="bad", gold=broken)]})
    result = pytester.runpytest_inprocess("--collect-only", "-q")
    result.stdout.fnmatch_lines(
        [
            "a.extract.yaml::good",
            (
                "*a.extract.yaml:5:4: `rules`: the gold of bad breaks the rule 'total': sum(items[[]].total) = 1,240, "
                "total = 1,250 (off by 10); mend the gold or the rule (*"
            ),
            (
                "*schema.json:4:3: the gold of bad breaks the rule 'count(items) == item_count': count(items) = 2, "
                "item_count = 3 (off by 1); *"
            ),
        ]
    )


@pytest.mark.parametrize(
    "keys",
    [
        {"gates": {"rules": False}},
        {"thresholds": {"rules_held": 0.5}},
        {"rules": [{"rule": SUM, "severity": "warning"}]},
    ],
)
def test_a_gold_may_break_a_rule_that_fails_nothing(suite, keys):
    gold = {**GOLD, "total": "1,250.00"}
    pytester = suite(case(**{"rules": [SUM], "gold": gold, **keys}), output=gold)
    result = pytester.runpytest_inprocess()
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"rule {SUM.replace('[', '[[]')}: broken in 1 of 1 output (a)"])


def test_a_mistake_in_a_rule_has_its_place(suite):
    pytester = suite(case(rules=["start <= end", {"rule": "sum(items[].totl) == total"}, "total = 3", {"rul": "x"}]))
    first = pytester.runpytest_inprocess("--collect-only", "-q")
    first.stdout.fnmatch_lines(["*a.extract.yaml:25:4: rules[[]3] has no key 'rul'; did you mean 'rule'?"])
    pytester = suite(case(rules=["start <= end", {"rule": "sum(items[].totl) == total"}, "total = 3"]))
    second = pytester.runpytest_inprocess("--collect-only", "-q")
    second.stdout.fnmatch_lines(
        [
            (
                "*a.extract.yaml:21:12: `rules`: 'sum(items[[]].totl) == total': the schema has no field 'items[[]].totl'; did "
                "you mean 'items[[]].total'?"
            ),
            "*a.extract.yaml:23:3: `rules`: 'total = 3': invalid syntax at '= 3'; a rule looks like `net + tax == total`",
        ]
    )


def test_a_broken_rule_fails_the_case_and_is_in_every_report(suite, tmp_path):
    pytester = suite(
        case(id="acme", rules=[SUM, {"rule": "start <= end", "name": "period"}], thresholds={"pass_rate": 0})
    )
    options = [f"--extract-report={kind}:{tmp_path / kind}" for kind in ("csv", "markdown", "html", "jsonl")]
    result = pytester.runpytest_inprocess(*options, f"--junitxml={tmp_path / 'junit.xml'}")
    result.assert_outcomes(failed=1)
    broken = "sum(items[].total) = 1,240, total = 1,250 (off by 10)"
    result.stdout.fnmatch_lines(
        [
            f"  rule {SUM} is broken: {broken}".replace("[", "[[]"),
            "  rule period cannot be checked: end is null; not so in the gold",
            "*, 1 of 3 rules holds",
            "rule period: unchecked in 1 of 1 output (acme)",
        ]
    )
    table = (tmp_path / "csv").read_text()
    assert f'{SUM},rule,broken,0.0,,,"{broken}"' in table
    assert "period,rule,unchecked,0.0" in table
    assert "count(items) == item_count,rule,held,1.0" in table
    for report in ("markdown", "html"):
        assert broken in (tmp_path / report).read_text()
    junit = (tmp_path / "junit.xml").read_text()
    assert 'rule.period" value="1 unchecked"' in junit
    assert 'rules_held" value="0.333333"' in junit
    (read,) = read_results(tmp_path / "jsonl").results
    (attempt,) = read.attempts
    assert [breach.what for breach in attempt.breaches] == [f"rules.{SUM}", "rules.period"]
    assert [(rule.name, rule.status, rule.left) for rule in attempt.score.rules] == [
        ("count(items) == item_count", "held", "2"),
        (SUM, "broken", "1,240"),
        ("period", "unchecked", None),
    ]


def test_a_threshold_takes_the_place_of_the_gate(suite):
    keys = {"rules": [SUM, "start != '2026-01-01'"], "thresholds": {"rules_held": 0.9}}
    result = suite(case(**keys)).runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["  rules_held 0.667 is below 0.9, by 0.233", "  rule sum(items[[]].total) == total is broken: *"]
    )
    keys["thresholds"] = {"rules_held": 0.6}
    suite(case(**keys)).runpytest_inprocess().assert_outcomes(passed=1)


def test_a_rule_that_compares_nothing_is_named(suite):
    gold = {**GOLD, "start": None}
    result = suite(case(gold=gold, rules=["start <= end"]), output=gold).runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["rule start <= end: not applicable in 1 of 1 output"])
    nothing = {"text": "x", "schema": {"type": "object"}, "gold": {}, "thresholds": {"rules_held": 1}}
    result = suite(nothing).runpytest_inprocess()
    result.stdout.fnmatch_lines(["*rules_held cannot be checked: what it is made of is not there (*"])


def test_the_regression_verdict_names_a_rule_that_is_newly_broken(suite, pytester, tmp_path):
    cases = {"defaults": {"rules": [SUM, "start <= end"]}, "cases": [case(id=name) for name in ("one", "two")]}
    late = {**GOLD, "start": "2027-01-01"}
    written = suite(cases, output=late).runpytest_inprocess("--extract-baseline=base.json", "--extract-update-baseline")
    written.stdout.fnmatch_lines(["baseline written: *"])
    stored = (pytester.path / "base.json").read_text()
    assert '"rules": {"count(items) == item_count": [true], "start <= end": [false]' in stored
    output = {**late, "total": "1,250.00", "start": GOLD["start"]}
    results = tmp_path / "now.jsonl"
    options = ["--extract-baseline=base.json", "--extract-gate=regression", f"--extract-report={results}"]
    html = tmp_path / "report.html"
    result = suite(cases, output=output).runpytest_inprocess(*options, f"--extract-report={html}")
    broken = f"rule {SUM}: broken in 2 documents that kept it before (one, two)"
    result.stdout.fnmatch_lines(
        [
            f"  note: {broken}".replace("[", "[[]"),
            "  note: rule start <= end: kept in 2 documents that broke it before (one, two)",
        ]
    )
    assert broken in html.read_text()


def test_rules_that_all_hold_are_no_news(suite):
    suite(case(rules=[SUM]), output=GOLD).runpytest_inprocess("-v").stdout.no_fnmatch_line("rule *")


def test_rules_of_the_manual_are_yaml_and_compile():
    page = (resources.files("pytest_extract.docs") / "rules.md").read_text(encoding="utf-8")
    names = ("total", "start", "end", "item_count", "net", "tax")
    lines = {"type": "array", "items": {"type": "object", "properties": {"amount": {"type": "number"}}}}
    rows = {"type": "object", "properties": {"total": {"type": "number"}, "lines": lines}}
    schema = {
        "type": "object",
        "properties": {**{name: {} for name in names}, "items": {"type": "array", "items": rows}},
    }
    written = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    rules = [rule for each in written for rule in each.get("rules", ())]
    assert len(compile_schema(schema, rules=rules).rules) == 6


def test_the_score_command_shows_rules(tmp_path, capsys):
    for name, value in (("schema", SCHEMA), ("gold", GOLD), ("output", {**OUTPUT, "item_count": 3})):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    main(["score", *(str(tmp_path / f"{name}.json") for name in ("schema", "gold", "output"))])
    shown = capsys.readouterr().out
    assert "rule count(items) == item_count is broken: count(items) = 2, item_count = 3 (off by 1)" in shown
    assert "rules_held           0" in shown
