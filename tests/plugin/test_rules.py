"""Rules across fields in a run: mistakes at loading, the diff, the summary, and every report."""

import json
import re
from importlib import resources

import pytest
import yaml

from pytest_extract import compile_schema
from pytest_extract.cli import main
from tests.plugin.conftest import GREEN, results, shows, text_of

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
OFF = {**GOLD, "total": "1,250.00"}
SUM = "sum(items[].total) == total"
PERIOD = "start <= end"
SHOWN_SUM = SUM.replace("[", "[[]")


@pytest.fixture
def run(run, write_files, write_extractor):
    """Run one case, or a file of cases, on this output."""

    def run_case(case, *args, output=OFF, **held):
        files = {"schema.json": SCHEMA, "a.extract.yaml": case}
        write_files({name: json.dumps(content, indent=1) for name, content in files.items()})
        write_extractor(f"return {output!r}")
        return run(*args, **held)

    return run_case


def case(**keys):
    return {"text": "Invoice", "schema": "schema.json", "gold": GOLD, **keys}


def test_a_gold_that_breaks_a_rule_is_a_mistake_at_the_rule(run):
    rules = [PERIOD, SUM]
    broken = case(id="bad", gold={**OFF, "item_count": 3})
    total = "sum(items[[]].total) = 1,240, total = 1,250 (off by 10); fix the gold or the rule (*"
    count = "count(items) = 2, item_count = 3 (off by 1); *"
    lines = [
        "a.extract.yaml::good",
        f"*a.extract.yaml:5:4: `rules`: the gold of bad breaks the rule {SHOWN_SUM!r}: {total}",
        f"*schema.json:4:3: the gold of bad breaks the rule 'count(items) == item_count': {count}",
    ]
    run({"defaults": {"rules": rules}, "cases": [case(id="good"), broken]}, "--collect-only", "-q", lines=lines)


@pytest.mark.parametrize("keys", [{"gates": {"rules": False}}, {"thresholds": {"rules_held": 0.5}}])
def test_a_gold_may_break_a_rule_that_fails_nothing(run, keys):
    lines = [f"rule {SHOWN_SUM}: broken in 1 of 1 output (a)"]
    run(case(**{"rules": [SUM], "gold": OFF, **keys}), status=GREEN, lines=lines)


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ({"rul": "x"}, "21:4: rules[[]1] has no key 'rul'; did you mean 'rule'?"),
        ({"rule": "sum(items[].totl) == total"}, "21:12: `rules`: *no field 'items[[]].totl'; did you mean *"),
        ("total = 3", "20:3: `rules`: 'total = 3': invalid syntax at '= 3'; a rule looks like `net + tax == total`"),
    ],
)
def test_a_mistake_in_a_rule_has_its_place(run, rule, place):
    run(case(rules=[PERIOD, rule]), "--collect-only", "-q", lines=[f"*a.extract.yaml:{place}"])


def test_a_broken_rule_fails_the_case_and_is_in_every_report(pytester, run):
    options = [f"--extract-report={kind}:{kind}" for kind in ("markdown", "html", "jsonl")]
    acme = case(id="acme", rules=[SUM, PERIOD], thresholds={"pass_rate": 0})
    result = run(acme, *options, "--junitxml=junit.xml", output={**OFF, "end": None}, failed=1)
    broken = "sum(items[].total) = 1,240, total = 1,250 (off by 10)"
    shows(
        result,
        f"  rule {SUM} is broken: {broken}".replace("[", "[[]"),
        f"  rule {PERIOD} cannot be checked: end is null; not so in the gold",
        f"rule {PERIOD}: unchecked in 1 of 1 output (acme)",
    )
    assert broken in text_of(pytester, "markdown")
    assert broken in text_of(pytester, "html")
    junit = text_of(pytester, "junit.xml")
    assert 'rules_held" value="0.333333"' in junit
    (attempt,) = results(pytester, "jsonl")[0].attempts
    assert [breach.what for breach in attempt.breaches] == [f"rules.{SUM}", f"rules.{PERIOD}"]
    assert [(rule.name, rule.status) for rule in attempt.score.rules] == [
        ("count(items) == item_count", "held"),
        (SUM, "broken"),
        (PERIOD, "unchecked"),
    ]


def test_a_threshold_takes_the_place_of_the_gate(run):
    rules = [SUM, "start != '2026-01-01'"]
    lines = ["  rules_held 0.667 is below 0.9, by 0.233", f"  rule {SHOWN_SUM} is broken: *"]
    run(case(rules=rules, thresholds={"rules_held": 0.9}), failed=1, lines=lines)
    run(case(rules=rules, thresholds={"rules_held": 0.6}), passed=1)


def test_a_rule_that_compares_nothing_is_named_and_one_that_holds_is_no_news(run):
    gold = {**GOLD, "start": None}
    lines = [f"rule {PERIOD}: not applicable in 1 of 1 output"]
    result = run(case(gold=gold, rules=[PERIOD, SUM]), "-v", output=gold, passed=1, lines=lines)
    result.stdout.no_fnmatch_line("rule sum*")
    nothing = {"text": "x", "schema": {"type": "object"}, "gold": {}, "thresholds": {"rules_held": 1}}
    run(nothing, lines=["*rules_held cannot be checked: what it is made of is not there (*"])


def test_rules_of_the_manual_are_yaml_and_compile():
    page = (resources.files("pytest_extract.docs") / "rules.md").read_text(encoding="utf-8")
    lines = {"type": "array", "items": {"type": "object", "properties": {"amount": {"type": "number"}}}}
    rows = {"type": "object", "properties": {"total": {"type": "number"}, "lines": lines}}
    names = {key: {} for key in ("total", "start", "end", "item_count", "net", "tax")}
    schema = {"type": "object", "properties": {**names, "items": {"type": "array", "items": rows}}}
    written = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    rules = [rule for each in written for rule in each.get("rules", ())]
    assert len(compile_schema(schema, rules=rules).rules) == 6


def test_the_score_command_shows_rules(tmp_path, capsys):
    values = {"schema": SCHEMA, "gold": GOLD, "output": {**OFF, "item_count": 3}}
    for name, value in values.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    main(["score", *(str(tmp_path / f"{name}.json") for name in values)])
    shown = capsys.readouterr().out
    assert "rule count(items) == item_count is broken: count(items) = 2, item_count = 3 (off by 1)" in shown
    assert "rules_held           0" in shown
