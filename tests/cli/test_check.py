"""`pytest-extract check`: case files, what is doubtful about their golds, mutation, coverage, and golds on their own."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.golds.lint import schema_coverage
from tests.commands import write
from tests.core.schemas import INTEGER, NUMBER, TEXT, array, obj, table
from tests.shared_data import shared

SCHEMA = obj(total=NUMBER, notes=TEXT, rows=table(sku=TEXT))
ONE = "1 good case in 1 file, no mistake"
EMPTY = "the gold has no value, so that only an invented one"
REQUIRED = {"schema": SCHEMA | {"required": ["rows"]}, "thresholds": {"required_key_recall": 1}}
INVOICE = "ACME GmbH, Berlin, 2 August 2024\nTotal due: 1,109.00 EUR\n"


@pytest.fixture
def check(run):
    """Write cases `c0`, `c1` with golds in files of their own, and check all that is there."""
    write({"s.schema.json": SCHEMA})

    def check(*cases, options=""):
        for number, keys in enumerate(cases):
            gold, case = f"c{number}.gold.json", {"text": f"t{number}", "schema": "s.schema.json"} | keys
            write({gold: json.dumps(case.pop("gold", {"total": number}), indent=1)})
            case = {key: value for key, value in case.items() if value is not None}
            write({f"c{number}.extract.yaml": {**case, "gold": gold}})
        return run(f"check {options}")

    return check


def test_sound_cases_have_no_finding(check):
    of_calls_and_papers = {"max_cost_usd": 0.01, "max_latency_s": 2, "anls_star": 0.9, "n_ted": 0.9}
    assert check({}, {"thresholds": of_calls_and_papers})[:2] == (0, "2 good cases in 2 files, no mistake\n")


def test_mistakes_are_told_with_their_places(check):
    write({"sub/bad.extract.yaml": "text: x\nschema: ../s.schema.json\ngold: {total: x}\nmark: slow\n"})
    ended = check({})
    assert ended.status == 1
    first, second, *rest = ended.lines
    assert first.startswith("sub/bad.extract.yaml:3:15: the gold does not satisfy its schema at total: ")
    assert second.startswith("sub/bad.extract.yaml:4:1: unknown key 'mark'; did you mean 'marks'?")
    assert rest == ["1 good case in 2 files, 2 mistakes"]


def test_mistakes_of_a_shared_schema_are_told_once_with_their_places(check):
    text = '{"type": "object",\n "properteis": {"v": {}},\n "properties": {"total": {"x-eval-metric": 1}}}'
    write({"s.schema.json": text})
    ended = check({}, {})
    at = "s.schema.json:%s: the schema at /%s: no %s"
    assert (ended.status, len(ended.lines)) == (1, 3)
    assert at % ("2:16", "properteis", "keyword 'properteis'; did you mean 'properties'?") in ended.out
    assert at % ("3:44", "properties/total/x-eval-metric", "annotation 'x-eval-metric'; known: ") in ended.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--coverage 90", "--coverage must be a number from 0 to 1, such as 0.9, not 90"),
        ("sub", "no case file (*.extract.yaml, *.extract.yml)"),
        ("--schema s.schema.json", "needs the golds"),
        ("--schema bad.json c0.gold.json", "no valid JSON Schema"),
    ],
)
def test_what_cannot_be_checked_is_usage(check, options, told):
    write({"sub/x.yaml": "", "bad.json": {"type": "strnig"}})
    check({}, options=options).assert_refused(told)


def test_golds_can_be_held_to_more_than_the_schema(check):
    assert check({"gold": {"total": 1, "extra": 2}}).status == 0
    ended = check({"gold": {"total": 1, "extra": 2}}, options="--golds")
    assert (ended.status, "c0.gold.json:1:1: gold: declared by the schema, but not there" in ended.out) == (1, True)
    assert "c0.gold.json:3:11: gold: the schema declares no such field; known: notes" in ended.out


IDLE = TEXT | {"evaluation_config": {"metric_id": "string_exact", "threshold": 0}}


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"thresholds": {"pass_rate": 0}}, "an output without any JSON passes"),
        ({"thresholds": {"fields": {"total": 0}}}, "an output without any JSON passes"),
        ({"thresholds": {"json_parse": 1}}, "cannot fail on missing values: the output {} passes"),
        (REQUIRED | {"gates": {"schema": False}}, "no output can pass, as the gold itself fails: required_key_recall"),
        (
            {"gold": {"total": 1, "notes": "x", "extra": 2}, "semantics": "extract-bench"},
            "1 of 3 gold values are compared with nothing: `extra` (1)",
        ),
        ({"gold": {}}, EMPTY),
        ({"gold": {"notes": "", "rows": []}}, EMPTY),
        ({"gold": {"notes": None}, "schema": obj(notes={"type": ["string", "null"]})}, EMPTY),
        ({"gold": {}, "absent": {"$": "must"}}, None),
        ({"gold": {"rows": []}, "absent": {"rows": "must"}}, None),
    ],
)
def test_a_case_that_decides_nothing_is_warned_of(check, keys, told):
    ended = check(keys)
    assert (ended.status, ended.lines[-1]) == (0, ONE + (", 1 warning" if told else ""))
    assert told is None or re.fullmatch(rf"c0\.\w+\.\w+:\d+:\d+: warning: .*{re.escape(told)}.*", ended.lines[0])


def test_fields_that_cannot_fail_a_case_and_thresholds_of_0_are_warned_of(check):
    ended = check(
        {
            "schema": obj(a=TEXT, b=NUMBER, r=array(TEXT), s=TEXT),
            "gold": {"a": "x", "b": 1, "r": ["q"], "s": "t"},
            "overrides": {"a": {"threshold": 0}, "r": {"threshold": 0}, "s": "skip"},
            "thresholds": {"pass_rate": 1, "mean_score": 0, "fields": {"b": 0}},
        }
    )
    assert [line.partition(": warning: c0: ")[2] for line in ended.lines[:2]] == [
        "no wrong value of 2 fields can fail a case: `a`, `r`",
        "a threshold of 0 bounds nothing: `mean_score: 0`, `fields: {b: 0}`",
    ]


@pytest.mark.parametrize(
    ("thresholds", "free"),
    [
        ({"pass_rate": 1}, "`a`, `rows[].c`, `none`"),
        ({"pass_rate": 1, "fields": {"a": 1}}, "`rows[].c`, `none`"),
        ({"mean_score": 0.9}, "`rows[].c`, `none`"),
        ({"pass_rate": 1, "f1": 0.5}, ""),
    ],
)
def test_a_field_can_fail_where_some_bound_is_about_it(check, thresholds, free):
    strict = TEXT | {"evaluation_config": "string_exact"}
    rows = table(k=strict, c=IDLE) | {"evaluation_config": {"align": "position"}}
    schema = obj(a=IDLE, b=strict, rows=rows, none=TEXT | {"evaluation_config": {}})
    gold = {"a": "x", "b": "y", "rows": [{"k": "p", "c": "q"}]}
    ended = check({"schema": schema, "gold": gold, "thresholds": thresholds})
    assert ended.status == 0
    assert (f"can fail a case: {free}\n" in ended.out) if free else ("can fail a case" not in ended.out)


def test_a_name_that_a_published_system_does_not_have_is_told(check, run):
    """A project may have registered a comparator of its own there, which means something else."""
    date, name = TEXT | {"x-eval-compare": "date"}, TEXT | {"x-eval-transform": ["strip", "null_if"]}
    case = {"schema": obj(due=date, paid=date, name=name | {"x-eval-compare": "exact"})}
    ended = check({**case, "gold": {"due": "2026-01-02", "paid": "2026-01-03", "name": "a"}})
    assert ended.lines[0].startswith(
        "`date` is ours, not struct-extract-eval's, at /properties/due and 1 more place; "
        "`null_if` is ours, not struct-extract-eval's, at /properties/name: if this schema meant a comparator"
    )
    code = "from pytest_extract import extend\n@extend.metric()\ndef date(gold, extracted):\n    return True\n"
    write({"own_names.py": code})
    own = {"schema": obj(due=date), "gold": {"due": "2026-01-02"}}
    assert check(own, options="--extensions own_names").lines == [ONE]


def test_check_knows_the_metrics_of_a_project(check):
    code = "from pytest_extract import Extensions, extend\n@extend.metric()\ndef my_metric(gold, extracted):\n    return 1\n"
    write({"mine.py": f"{code}extensions = Extensions.of(my_metric)\nother = 5\n"})
    case = {"schema": obj(a={"x-eval-compare": "my_metric"}), "gold": {"a": "x"}}
    assert "my_metric" in check(case).out
    assert check(case, options="--extensions mine:extensions").status == 0
    assert "an Extensions object is needed, not int" in check(case, options="--extensions mine:other").err
    assert "No module named" in check(case, options="--extensions no_such_module_here:x").err


def test_keys_that_do_not_tell_rows_apart_are_found_where_they_stand(check):
    gold = {"total": 1, "rows": [{"sku": "a"}, {"sku": "b"}, {"sku": "a"}, {}]}
    assert check({"gold": gold, "overrides": {"rows": {"align": "key", "key": "sku"}}}).lines[:-1] == [
        'c0.gold.json:10:3: warning: the key `sku` is not unique: row 0 has "a" as well',
        "c0.gold.json:13:3: warning: the row has no key: `sku` is missing",
    ]


def test_one_document_with_two_golds_is_a_mistake_and_twice_with_one_a_warning(check):
    same = {"text": "same"}
    ended = check(same, same, same | {"question": "which?"})
    assert ended.status == 1
    assert ended.lines == [
        "c1.gold.json:2:11: the document is that of c0 (c0.extract.yaml:1), whose gold has 0 here, not 1",
        "3 good cases in 3 files, 1 mistake",
    ]
    twice = [same | {"gold": {"total": 5}}, same | {"gold": {"total": 5}}]
    ended = check(*twice)
    assert (ended.status, check(*twice, options="--strict").status) == (0, 1)
    assert ended.lines[0].startswith("c1.extract.yaml:1:1: warning: c1: the document is that of c0")


def test_files_that_no_case_uses(check):
    names = ("old.gold.json", "old.schema.json", "package.json", "extract.schema.json", "README.gold.json")
    write({name: {} for name in names})
    assert check({}).lines == [
        "old.gold.json:1:1: warning: no case uses this gold",
        "old.schema.json:1:1: warning: no case uses this schema",
        f"{ONE}, 2 warnings",
    ]
    assert check(options="c0.extract.yaml").lines == [ONE]


def test_a_file_of_defaults_is_used_and_a_case_file_is_checked_once(check):
    write({"shared.yaml": "schema: s.schema.json\ntext: x\n", "gold.yaml": "total: 1\n"})
    write({"a.extract.yaml": "defaults: shared.yaml\ncases: [{gold: gold.yaml}]\n"})
    assert check(options=". a.extract.yaml --strict")[:2] == (0, f"{ONE}\n")


def test_findings_as_json(check):
    ended = check({"thresholds": {"pass_rate": 0}}, {"gold": {"total": "x"}}, options="--json")
    mistake, warning = ended.json
    assert ended.status == 1
    assert [mistake[key] for key in ("kind", "severity", "file", "line")] == ["case_file", "mistake", "c1.gold.json", 2]
    assert [warning[key] for key in ("kind", "severity", "case")] == ["cannot_fail", "warning", "c0"]


def test_evidence_names_values_that_the_document_does_not_have(check):
    schema = obj(vendor={}, date={}, total={}, paid={}, note={})
    gold = {"vendor": "ACME GMBH", "date": "2024-08-02", "total": 1190.0, "paid": True, "note": None}
    case = {"text": INVOICE, "schema": schema, "gold": gold}
    assert check(case, options="--evidence").lines == [
        'c0.gold.json:4:11: warning: total 1190.0 not found in the document; nearest "1,109.00", line 2, column 12',
        "evidence: 2 of 3 gold values stand in their documents",
        f"{ONE}, 1 warning",
    ]
    assert check(case, options="--evidence --strict").status == 1
    assert check(case).lines == [ONE]


def test_labels_that_stand_nowhere_are_counted_and_not_listed(check):
    schema = obj(vendor={}, kind={}, unit={})
    golds = [{"vendor": "ACME", "kind": f"class-{letter}", "unit": "NA"} for letter in "abc"]
    cases = [{"text": f"{INVOICE}{n}", "schema": schema, "gold": gold} for n, gold in enumerate(golds)]
    derived = "6 are derived (units, categories and the like, which stand nowhere)"
    assert check(*cases, options="--evidence").lines == [
        f"evidence: 3 of 9 gold values stand in their documents; {derived}",
        "3 good cases in 3 files, no mistake",
    ]


def test_skipped_fields_and_documents_without_text_are_not_looked_up(check):
    write({"scan.png": b"PNG"})
    skipped = {"gold": {"total": 7}, "overrides": {"total": "skip"}, "thresholds": {"json_parse": 1}}
    lines = check(skipped, {"text": None, "document": "scan.png"}, options="--evidence").lines
    assert "evidence: 0 of 0 gold values stand in their documents; 1 document has no text (scans?)" in lines
    assert not any("not found" in line for line in lines)


def test_evidence_on_published_golds_finds_known_mistakes(run):
    assert run("import extract-bench", shared("data/extract-bench/dataset/sport"), "here").status == 0
    ended = run("check --evidence here")
    name = "CLUB BANCARIO DE GUADALAJAR"
    assert f'{name}RA" not found in the document; nearest "{name}A"' in ended.out


SOLD = {"vendor": "ACME GmbH Berlin", "total": 1109.5, "paid": True}
SOLD["rows"] = [{"sku": "A-1x", "qty": 12}, {"sku": "B-2y", "qty": 37}]
SALE = obj(vendor=TEXT, total=NUMBER, paid={"type": "boolean"}, rows=table(sku=TEXT, qty=INTEGER))


DIGITS = "another digit, two digits swapped, ten times, another sign"
LENIENT = {
    "vendor": "3 of 4: cut in half, a word lost, another text",
    "total": f"4 of 5: {DIGITS}",
    "paid": "1 of 2: the other one",
    "rows": "3 of 4: a row lost, a row twice, the second half lost",
    "rows[].sku": "3 of 4: another digit, cut in half, another text",
    "rows[].qty": f"4 of 5: {DIGITS}",
}
FUZZY = {"metric": "fuzzy", "threshold": 0.5}
BOUND, METRIC = "`thresholds: {fields: {", "a stricter metric in the schema or in `overrides` would fail them"


@pytest.mark.parametrize(
    ("keys", "told", "remedy"),
    [
        ({}, {}, ""),  # strict metrics and thresholds let no change pass
        ({"overrides": {"vendor": "skip"}}, {}, ""),
        ({"overrides": {"vendor": FUZZY}}, {"vendor": "2 of 4: cut in half, a word lost"}, METRIC),
        ({"thresholds": {"pass_rate": 0.6}}, LENIENT, BOUND),
        (
            {"thresholds": {"pass_rate": 0.6, "fields": {"total": 1.0, "rows": 1.0}}},
            {place: LENIENT[place] for place in ("vendor", "paid")},
            BOUND,
        ),
    ],
)
def test_changes_of_a_gold_that_would_pass_are_named(check, keys, told, remedy):
    ended = check({"schema": SALE, "gold": SOLD, **keys}, options="--mutate --json --strict")
    assert {each["kind"] for each in ended.json} <= {"mutation", "cannot_fail"}
    text = r"warning: c0: `(.*?)`: (.*?) changes of its gold pass \((.*?)\), such as (.*)"
    found = [re.fullmatch(text, each["message"]) for each in ended.json if each["kind"] == "mutation"]
    assert {each[1]: f"{each[2]}: {each[3]}" for each in found} == told
    assert all(remedy in each[4] for each in found)
    assert ended.status == bool(told)


NODE = {"$ref": "#/$defs/node"}
WIDE = {
    **obj(
        vendor=TEXT,
        currency={"enum": ["EUR", "USD", None]},
        paid={"type": "boolean"},
        items=table(sku=TEXT),
        party={"anyOf": [TEXT, obj(name=TEXT)]},
        meta=obj(page=INTEGER),
    ),
    "required": ["vendor"],
}


def covered(schema, *golds):
    cases = [{"id": f"c{n}", "text": "x", "schema": schema, "gold": gold} for n, gold in enumerate(golds)]
    write({"a.extract.yaml": {"cases": cases}})
    loaded = load_cases(Path("a.extract.yaml"), SchemaCache())
    assert loaded.errors == ()
    (found,) = schema_coverage(loaded.cases)
    return found


def test_coverage_lists_what_no_gold_has_until_nothing_is_missing(run):
    first = {"vendor": "A", "currency": "EUR", "paid": True, "items": [{"sku": "x"}, {}], "party": "B"}
    assert covered(WIDE, first).missing == {
        "currency": ["absent", '"USD"'],
        "paid": ["absent", "false"],
        "items": ["absent", "empty"],
        "party": ["absent", "alternative 2 of 2"],
        "party.name": ["a value", "absent"],
        "meta": ["a value"],
    }
    second = {"vendor": "B", "currency": "USD", "paid": False, "items": [], "party": {"name": "C"}, "meta": {}}
    third = {"vendor": "D", "party": {}, "meta": {"page": 1}}
    golds = [first, second, third, {"vendor": "E"}]
    shares = [covered(WIDE, *golds[:count]).share for count in (1, 2, 4)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    node = obj(next=NODE) | {"$defs": {"node": obj(next=NODE)}}
    assert covered(node, {}).missing == {"next": ["a value"]}
    skipped = obj(a=TEXT | {"x-eval-skip": True}, b=TEXT | {"x-eval-compare": "exact"})
    assert {state.pattern for state in covered(skipped, {"b": "x"}).states} == {"b"}


def test_check_lists_coverage_and_fails_below_a_share(check):
    case = {"schema": obj(a={"enum": ["EUR", "USD"]}), "gold": {"a": "EUR"}}
    write({"s.schema.json": case["schema"]})
    case["schema"] = "s.schema.json"
    share = "schema coverage: s.schema.json 50 % (2 of 4 states, 1 gold"
    assert check(case, options="--coverage").lines == [f"{share})", '  a: never absent, "USD"', ONE]
    assert check(case, options="--coverage=0.5").status == 0
    ended = check(case, options="--coverage=0.6")
    assert (ended.status, f"{share}, below 0.6)" in ended.out) == (1, True)
    (found,) = [each for each in check(case, options="--coverage --json").json if each["kind"] == "coverage"]
    assert (found["missing"], found["share"]) == ({"a": ["absent", '"USD"']}, 0.5)


PAGE = (resources.files("pytest_extract.docs") / "golds.md").read_text(encoding="utf-8")
CONSOLE = dict(re.findall(r"(?m)^```console\n\$ pytest-extract ([^\n]+)\n(.*?)^```", PAGE, re.DOTALL))


def test_the_manual_shows_what_the_commands_print(run):
    (case,) = re.findall(r"(?m)^```yaml\n(.*?)^```", PAGE, re.DOTALL)
    write({"invoice.extract.yaml": case})
    assert [*CONSOLE] == ["check --mutate", "check --coverage"]
    assert {command: run(command).out for command in CONSOLE} == CONSOLE


def test_golds_on_their_own_are_held_against_a_schema(run):
    write({"s.json": obj(a=TEXT), "gold.json": {"a": "x", "n": 1}, "more.jsonl": '{"n": 2.5}\n\n{"a": null}\n'})
    write({"bare.json": {}})
    ended = run("check --schema s.json gold.json more.jsonl")
    assert ended.status == 1
    assert ended.lines == [
        "gold.json: error: `n`: the schema declares no such field; known: a",
        "more.jsonl:1: error: `n`: the schema declares no such field; known: a",
        "more.jsonl:1: warning: `a`: declared by the schema, but not there",
        "more.jsonl:3: error: `a`: null where a string was expected",
        "3 golds: 3 mistakes, 1 warning",
    ]
    ended = run("check --schema s.json bare.json")
    assert (ended.status, "0 mistakes, 1 warning" in ended.out) == (0, True)
    assert run("check --schema s.json bare.json --strict").status == 1
