"""--extract-update-gold: new drafts golds, fix and review change them."""

import json
import sys
from types import SimpleNamespace

import pytest

from pytest_extract.regression.baseline import CI
from tests.plugin.conftest import GOLD, GREEN, RED, SCHEMA, refused, results, text_of

pytestmark = pytest.mark.usefixtures("no_ci")
FIX = "--extract-update-gold=fix"
DRAFT = "--extract-update-gold=new"
FORCE = "--extract-force"
LETTER = """\
Invoice of ACME GmbH, total 1,109.00
1 Bolt 2.50
2 Nut 10.00
"""
RIGHT = {**GOLD, "total": 1109}
BOLT, NUT = GOLD["items"]
WRONG = {**RIGHT, "vendor": "ACME Ltd"}
TOLD = 'acme.gold.json:2: vendor: "ACME Ltd" -> "ACME GmbH" (old nowhere in the document, new at line 1, column 12)'


@pytest.fixture
def no_ci(monkeypatch):
    for name in CI:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def extracted(pytester, write_extractor, write_files):
    """Write a case whose document is LETTER, what its extractor gives, and its gold; return what reads the gold."""

    def write(output, gold=None, **keys):
        write_extractor('return json.loads((HERE / "output.json").read_text())')
        case = {"text": LETTER, "schema": SCHEMA, "gold": "acme.gold.json", **keys}
        golds = {} if gold is None else {"acme.gold.json": json.dumps(gold, indent=2)}
        write_files({"output.json": output, "acme.extract.yaml": case, **golds})
        return lambda: json.loads(text_of(pytester, "acme.gold.json"))

    return write


def test_the_gold_file_takes_what_was_extracted_and_without_the_option_nothing(pytester, run, extracted, write_case):
    gold = extracted(RIGHT, WRONG)
    write_case("same", json.dumps(RIGHT), gold=RIGHT)
    run(passed=1, failed=1)
    assert gold() == WRONG
    lines = [
        "*its gold was updated from this output (1 value): review the change, and run without *",
        "2 cases: 1 passed, 1 failed*",
        "golds: 1 updated, 1 unchanged",
        f"  {TOLD}",
    ]
    run(FIX, passed=1, failed=1, status=RED, lines=lines)
    assert text_of(pytester, "acme.gold.json") == json.dumps(RIGHT, indent=2)
    run(passed=2, status=GREEN)


YAML = """\
# what suppliers sent us
defaults:
  schema: {type: object, properties: {a: {type: string}, b: {type: integer}}}
cases:
  - id: one   # the first
    text: '{"a": "new", "b": 1}'
    gold: {a: old, b: 1}
  - id: two
    text: '{"a": "y", "b": 3}'
    gold:
      a: x  # by hand
      b: 3
"""


@pytest.mark.usefixtures("echo")
def test_golds_inside_a_case_file_keep_its_style_and_lines_are_those_after_the_run(pytester, run):
    path = pytester.path / "many.extract.yaml"
    path.write_text(YAML.replace("gold: {a: old, b: 1}", "gold:\n      a: old"), encoding="utf-8")
    lines = [
        "golds: 2 updated",
        '  many.extract.yaml:8: a: "old" -> "new" (old nowhere in the document, new at *)',
        "  many.extract.yaml:9: b: (missing) -> 1 (new at *",
        '  many.extract.yaml:13: a: "x" -> "y" (old nowhere in the document, new at *)',
    ]
    run(FIX, FORCE, lines=lines)
    path.write_text(YAML, encoding="utf-8")
    run(FIX)
    assert path.read_text(encoding="utf-8") == YAML.replace("a: old,", "a: new,").replace("a: x  #", "a: y  #")


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("no JSON", "there is no output to take it from: no_json*"),
        ({**GOLD, "total": "12"}, "*fails the schema gate: *breaks the schema at *total*"),
        ([GOLD], "the output fails the schema gate: *"),
        ({**GOLD, "items": []}, "the output fails the coverage gate: * with --extract-force"),
    ],
    ids=["no-json", "schema", "array", "half-of-it"],
)
@pytest.mark.usefixtures("echo")
def test_what_cannot_be_gold_leaves_it_and_fails(pytester, run, write_case, output, why):
    write_case("acme", output)
    before = text_of(pytester, "acme.extract.yaml")
    run(FIX, failed=1, lines=["golds: 1 kept", f"  acme.extract.yaml::acme: {why}"])
    assert text_of(pytester, "acme.extract.yaml") == before


@pytest.mark.usefixtures("echo")
def test_cases_that_share_a_gold_do_not_overwrite_each_other(pytester, run, write_case, write_files):
    write_files({"acme.gold.json": GOLD})
    new = {**GOLD, "vendor": "ACME Ltd"}
    for name, output in (("a", new), ("b", new), ("c", GOLD)):
        write_case(name, output, gold="acme.gold.json")
    kept = "  *c: its gold is that of *a too, which gave another value; *"
    lines = ["golds: 1 updated, 1 unchanged, 1 kept", kept]
    run(FIX, "-p", "no:randomly", passed=1, failed=2, lines=lines)
    assert json.loads(text_of(pytester, "acme.gold.json")) == new


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([FIX, "-n1"], "*run it without xdist*"),
        ([FIX, "--extract-model=a", "--extract-model=b"], "*takes one model and one prompt*"),
        (["--extract-update-gold"], "*expected one argument*"),
        (["--extract-update-gold=all"], "*--extract-update-gold: *must be one of new, fix, review*"),
        (["--extract-update-gold=review"], "*pytest-extract review R.jsonl*"),  # without a terminal
    ],
)
def test_what_would_make_it_a_guess_is_a_usage_error(pytester, extracted, monkeypatch, args, message):
    monkeypatch.setattr(sys, "__stdin__", SimpleNamespace(isatty=lambda: False))
    extracted(RIGHT, RIGHT)
    refused(pytester.runpytest(*args), message)


@pytest.mark.parametrize("name", CI)
def test_ci_writes_no_gold(pytester, extracted, monkeypatch, name):
    gold = extracted(RIGHT, WRONG)
    monkeypatch.setenv(name, "true")
    refused(pytester.runpytest(FIX), "*--extract-update-gold writes nothing in CI*--extract-force*")
    assert gold() == WRONG


@pytest.mark.parametrize(
    ("args", "keys"),
    [
        (["--extract-gate=none"], {}),
        (["--extract-gate=suite", "-o", "extract_suite_thresholds=pass_rate=0"], {}),
        ([FORCE], {"thresholds": {"pass_rate": 0}}),
        ([], {"marks": ["xfail"]}),
        (["-p", "rerunfailures", "--reruns=1"], {}),
    ],
    ids=["no-gate", "suite", "passes-in-ci", "xfail", "rerun"],
)
def test_an_updated_gold_is_told_and_red_whatever_decides(pytester, run, extracted, monkeypatch, args, keys):
    gold = extracted(RIGHT, WRONG, **keys)
    if FORCE in args:
        monkeypatch.setenv("CI", "true")
    lines = ["golds: 1 updated", f"  {TOLD}"]
    result = run(FIX, "--extract-report=r.jsonl", *args, status=RED, lines=lines)
    assert "passed" not in result.parseoutcomes()
    (record,) = results(pytester)
    assert record.outcome == "failed"
    assert "gold" in {breach.what for breach in record.breaches}
    assert gold() == RIGHT


def test_no_secret_is_told(run, extracted):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    extracted({**RIGHT, "vendor": secret}, RIGHT, text=f"{LETTER} {secret}")
    result = run(FIX, FORCE, lines=['  acme.*: vendor: "ACME GmbH" -> *redacted*'])
    assert not any(secret in line for line in result.outlines if " -> " in line)


def test_new_drafts_a_gold_that_is_not_there(pytester, run, extracted):
    extracted(RIGHT)
    lines = [
        "acme.extract.yaml d *",
        "golds: 1 drafted (6 values to decide; next: pytest-extract review)",
        "  acme.gold.json: draft of 1 output: 0 values agreed, 6 to decide: vendor, total, items[[]0[]].name, *",
        "=* 1 drafted in *",
    ]
    result = run(DRAFT, status=RED, lines=lines)
    result.stdout.no_re_match_line("invented|pass_rate|FAILURES|failed")
    assert text_of(pytester, "acme.gold.json") == json.dumps(RIGHT, indent=2) + "\n"
    unreviewed = "golds that nobody has reviewed (pytest-extract review): no evidence *, in 1 case: *"
    run(DRAFT, passed=1, lines=[unreviewed])

    baseline = ("--extract-baseline=b.json", "--extract-update-baseline")
    allowed = ("-o", "extract_rule=allow_drafts=true")
    gate = ("--extract-baseline=b.json", "--extract-gate=regression")
    run(*baseline, lines=["*baseline not written: the gold is an unreviewed draft*"])  # a draft is no evidence
    run(*baseline, *allowed, lines=["*baseline written*1 case*"])
    run(*gate, status=RED)
    run(*gate, *allowed).stdout.no_fnmatch_line("*nothing was compared*")


def test_models_that_agree_leave_only_what_they_dispute(pytester, run, extracted, write_extractor, write_files):
    gold = extracted({})
    write_extractor('return json.loads((HERE / f"{extract_model}.json").read_text())', needs="extract_model")
    write_files({"a.json": {**RIGHT, "vendor": "ACNE GmbH"}, "b.json": RIGHT})
    models = ("--extract-model=a", "--extract-model=b")
    drafted = "golds: 1 drafted (1 value to decide; next: pytest-extract review)"
    run(DRAFT, *models, lines=[drafted, "*gold.json: draft of 2 outputs: 5 values agreed, 1 to decide: vendor"])
    assert gold() == RIGHT
    review = json.loads(text_of(pytester, "acme.gold.review.json"))["golds"]["$"]
    assert review["reviewed"] is False
    assert review["open"]["vendor"]["candidates"] == [
        {"value": "ACME GmbH", "sources": ["b"], "evidence": "line 1, column 12"},
        {"value": "ACNE GmbH", "sources": ["a"], "evidence": ""},
    ]
    kept = "*its gold is there, and several variants are not to change it: name one *"
    run(DRAFT, *models, lines=["golds: 2 kept", kept])


@pytest.mark.parametrize(
    ("taken", "why"),
    [("acme.gold.json", "it is a folder, not a regular file"), ("acme.gold.review.json", "cannot be written: *")],
)
def test_a_draft_that_cannot_be_written_is_told(pytester, run, extracted, write_extractor, taken, why):
    extracted(RIGHT)
    write_extractor(f'(HERE / "{taken}").mkdir()\nreturn json.loads((HERE / "output.json").read_text())')
    run(DRAFT, status=RED, lines=["golds: 1 undrafted", f"  acme.gold.json: not drafted: *{taken}: *{why}"])
    assert [path.name for path in pytester.path.glob("acme.gold*") if path.is_file()] in ([], ["acme.gold.review.json"])


@pytest.mark.parametrize(("params", "changes"), [(["new", "newer"], "2 kept"), (["new"], "1 updated")])
def test_a_gold_that_is_there_is_changed_by_one_param_only(run, write_case, write_extractor, params, changes):
    write_extractor('return {"a": "old", "b": request.param}', needs="request", fixture=f"(params={params})")
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    write_case("acme", "old new newer", schema=schema, gold={"a": "old"})
    run(DRAFT, FORCE, lines=[f"golds: {changes}"])


def test_a_gold_that_is_not_there_is_a_mistake_but_for_drafts_of_outputs_that_pass_the_schema(pytester, run, extracted):
    extracted({**RIGHT, "total": "much"})
    for args in ([], [FIX]):
        run(*args, errors=1, lines=["*`gold`: no file *acme.gold.json*"])
    lines = [
        "its gold is not drafted: the output fails the schema gate: *",
        "golds: 1 undrafted",
        "  acme.gold.json: not drafted: the output fails the schema gate: *",
        "  fix the schema or the extractor and draft again *",
    ]
    run(DRAFT, failed=1, lines=lines)
    assert not (pytester.path / "acme.gold.json").exists()


def test_new_adds_keys_and_changes_nothing_that_is_there(run, extracted):
    wrong = [{"name": "Bolt", "price": 3}, NUT, {"name": "Nail", "price": 1}]
    there = {"vendor": "ACME", "items": [{"name": "Bolt"}, {"name": "Nut", "price": None}]}
    gold = extracted({**RIGHT, "items": wrong}, there)
    added = [
        "  acme.gold.json:13: total: (missing) -> 1109 (new at line 1, column 29)",
        "  acme.gold.json:6: items[[]0[]].price: (missing) -> 3 (new nowhere in the document)",
    ]
    run(DRAFT, FORCE, lines=["golds: 1 updated", *added])
    assert gold() == {**there, "items": [{"name": "Bolt", "price": 3}, {"name": "Nut", "price": None}], "total": 1109}


def test_fix_changes_what_fails_and_keeps_what_passes(run, extracted):
    old = {**GOLD, "vendor": "Acme gmbh", "total": 190}
    lowercase = {"vendor": {"metric": "text", "transform": ["lowercase"]}}
    gold = extracted({**RIGHT, "items": [{**NUT, "price": 10.0}, BOLT]}, old, overrides=lowercase)
    run(FIX, lines=["*:3: total: 190 -> 1109 (old nowhere in the document, new at line 1, column 29)"])
    assert gold() == {**old, "total": 1109}


def test_fix_keeps_what_the_document_has_and_the_output_has_not_unless_forced(run, extracted):
    noisy = {**RIGHT, "vendor": "ÜNAL SÖHNE", "total": 1190}
    gold = extracted(noisy, RIGHT)
    vendor = '*:2: vendor: kept "ACME GmbH", not "ÜNAL SÖHNE" (old at line 1, column 12, new nowhere *)'
    total = "*:3: total: kept 1109, not 1190 (old at line 1, column 29, new nowhere in the document)"
    run(FIX, failed=1, lines=["golds: 1 unchanged", vendor, total])
    assert gold() == RIGHT
    run(FIX, FORCE, lines=["golds: 1 updated", '  acme.gold.json:2: vendor: "ACME GmbH" -> "ÜNAL SÖHNE" (*'])
    assert gold() == noisy


def test_fix_removes_and_adds_rows_by_the_document(run, extracted):
    gold = extracted({**RIGHT, "items": [NUT, BOLT]}, {**RIGHT, "items": [{"name": "Cable", "price": 77}, BOLT]})
    gone = '*items[[]0[]].name: "Cable" -> (missing) (old nowhere*'
    run(FIX, FORCE, lines=[gone, '*items[[]1[]].name: (missing) -> "Nut" (new at*'])
    assert gold() == RIGHT
    gold = extracted({**RIGHT, "items": [NUT]}, RIGHT, gates={"coverage": False})
    kept = '  *items[[]0[]].name: kept "Bolt", not (missing) (old at line 2*'
    run(FIX, lines=["golds: 1 unchanged", kept])
    assert gold() == RIGHT


ROWS = {"type": "array", "x-eval-align": {"ordered": False, "match_by": "key_field", "key": "k"}}
KEY = {"k": {"type": "string", "x-eval-compare": "exact"}}
PARTS = {**ROWS, "items": {"type": "object", "properties": KEY}}
TABLE = {"properties": {"rows": {**ROWS, "items": {"type": "object", "properties": {**KEY, "parts": PARTS}}}}}


def test_fix_removes_rows_inside_rows_and_moves_what_each_case_says_of_later_ones(
    pytester, run, extracted, write_files
):
    def table(names, without=""):
        ends = {name: [f"{name}{end}" for end in "12" if f"{name}{end}" != without] for name in names}
        return {"rows": [{"k": name, "parts": [{"k": part} for part in parts]} for name, parts in ends.items()]}

    extracted(table("ACD", without="C1"))
    accept = {"rows[1].k": ["b"], "rows[3].k": ["d"]}
    case = {"text": LETTER, "schema": TABLE, "gold": "golds.json#/acme", "accept": accept}
    cases = dict.fromkeys(["acme.extract.yaml", "other.extract.yaml"], case)
    write_files({**cases, "golds.json": {"acme": table("ABCD")}})
    run(FIX, FORCE, lines=["golds: * updated*"])
    assert json.loads(text_of(pytester, "golds.json")) == {"acme": table("ACD", without="C1")}
    for name in cases:
        assert json.loads(text_of(pytester, name))["accept"] == {"rows[2].k": ["d"]}


@pytest.mark.parametrize(
    ("keys", "total"),
    [({"known_failures": [{"path": "total"}]}, {"total": 190}), ({"absent": {"total": "must"}}, {})],
    ids=["known-failure", "must-stay-empty"],
)
def test_what_the_case_excuses_is_never_taken(run, extracted, keys, total):
    there = {"vendor": "ACME GmbH", "items": GOLD["items"], **total}
    gold = extracted(RIGHT, there, schema={**SCHEMA, "required": ["vendor"]}, **keys)
    for option in (DRAFT, FIX):
        run(option, FORCE, lines=["golds: 1 unchanged"])
    assert gold() == there


def test_review_asks_for_each_failing_value_and_is_red(run, extracted, monkeypatch):
    gold = extracted({**RIGHT, "vendor": "ACME"}, {**RIGHT, "total": 1190})
    answers = iter(["k", "a"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(answers))
    monkeypatch.setattr(sys, "__stdin__", SimpleNamespace(isatty=lambda: True))
    told = run("--extract-update-gold=review", status=RED).stdout.str()
    assert "[2/2] acme.extract.yaml::acme  total: fails in the run" in told
    assert "accepted: 1190 -> 1109" in told
    assert gold() == RIGHT
