from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_extract.regression.baseline import CI
from tests.plugin.conftest import GOLD, SCHEMA

pytestmark = pytest.mark.usefixtures("echo", "no_ci")
Write = Callable[..., None]
NEW = {**GOLD, "vendor": "ACME Ltd"}
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


@pytest.fixture
def no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CI:
        monkeypatch.delenv(name, raising=False)


def test_the_gold_file_takes_what_was_extracted(pytester: pytest.Pytester, write_case: Write) -> None:
    gold = pytester.path / "acme.gold.json"
    gold.write_text(json.dumps(GOLD, indent=4), encoding="utf-8")
    write_case("acme", NEW, gold="acme.gold.json")
    write_case("same")
    result = pytester.runpytest("--extract-update-gold=fix")
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*its gold was updated from this output (1 value): review the change, and run without *",
            "2 cases: 1 passed, 1 failed*",
            "golds: 1 updated, 1 unchanged",
            '  acme.gold.json:2: vendor: "ACME GmbH" -> "ACME Ltd" (old nowhere in the document, new at line 1, column 13)',
        ]
    )
    assert gold.read_text(encoding="utf-8") == json.dumps(NEW, indent=4)
    pytester.runpytest().assert_outcomes(passed=2)


def test_golds_inside_a_case_file_keep_its_style(pytester: pytest.Pytester) -> None:
    path = pytester.path / "many.extract.yaml"
    path.write_text(YAML, encoding="utf-8")
    pytester.runpytest("--extract-update-gold=fix").stdout.fnmatch_lines(
        [
            "golds: 2 updated",
            '  many.extract.yaml:7: a: "old" -> "new" (old nowhere in the document, new at *)',
            '  many.extract.yaml:11: a: "x" -> "y" (old nowhere in the document, new at *)',
        ]
    )
    expected = YAML.replace("gold: {a: old, b: 1}", "gold: {a: new, b: 1}").replace(
        "a: x  # by hand", "a: y  # by hand"
    )
    assert path.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    ("output", "why"),
    [
        pytest.param("no JSON", "there is no output to take it from: no_json*", id="no-json"),
        pytest.param({**GOLD, "total": "12"}, "*fails the schema gate: *breaks the schema at *total*", id="schema"),
        pytest.param([GOLD], "the output fails the schema gate: *", id="array"),
        pytest.param(
            {**GOLD, "items": []}, "the output fails the coverage gate: * with --extract-force", id="half-of-it"
        ),
    ],
)
def test_what_cannot_be_gold_leaves_it_and_fails(
    pytester: pytest.Pytester, write_case: Write, output: object, why: str
) -> None:
    write_case("acme", output)
    before = (pytester.path / "acme.extract.yaml").read_text(encoding="utf-8")
    result = pytester.runpytest("--extract-update-gold=fix")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["golds: 1 kept", f"  acme.extract.yaml::acme: {why}"])
    assert (pytester.path / "acme.extract.yaml").read_text(encoding="utf-8") == before


def test_cases_that_share_a_gold_do_not_overwrite_each_other(pytester: pytest.Pytester, write_case: Write) -> None:
    gold = pytester.path / "acme.gold.json"
    gold.write_text(json.dumps(GOLD), encoding="utf-8")
    for name, output in (("a", NEW), ("b", NEW), ("c", GOLD)):
        write_case(name, output, gold="acme.gold.json")
    result = pytester.runpytest("--extract-update-gold=fix", "-p", "no:randomly")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        ["golds: 1 updated, 1 unchanged, 1 kept", "  *c: its gold is that of *a too, which gave another value; *"]
    )
    assert json.loads(gold.read_text(encoding="utf-8")) == NEW


def test_without_the_option_nothing_is_written(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme", NEW)
    pytester.runpytest().assert_outcomes(failed=1)
    case = json.loads((pytester.path / "acme.extract.yaml").read_text(encoding="utf-8"))
    assert (case["gold"], case["schema"]) == (GOLD, SCHEMA)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["-n1"], "*run it without xdist*", id="xdist"),
        pytest.param(["--extract-model=a", "--extract-model=b"], "*takes one model and one prompt*", id="models"),
    ],
)
def test_what_would_make_it_a_guess_is_a_usage_error(pytester: pytest.Pytester, args: list[str], message: str) -> None:
    result = pytester.runpytest("--extract-update-gold=fix", *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize("name", CI)
def test_ci_writes_no_gold_unless_forced(
    pytester: pytest.Pytester, write_case: Write, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_case("acme", NEW)
    before = (pytester.path / "acme.extract.yaml").read_text(encoding="utf-8")
    monkeypatch.setenv(name, "true")
    result = pytester.runpytest("--extract-update-gold=fix")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*writes no gold in CI*--extract-force*"])
    assert (pytester.path / "acme.extract.yaml").read_text(encoding="utf-8") == before


def test_forced_it_writes_in_ci_and_is_red(
    pytester: pytest.Pytester, write_case: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case("acme", NEW)
    monkeypatch.setenv("CI", "true")
    result = pytester.runpytest("--extract-update-gold=fix", "--extract-force")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "golds: 1 updated",
            '  acme.extract.yaml:1: vendor: "ACME GmbH" -> "ACME Ltd" (old nowhere in the document, new at line 1, column 13)',
        ]
    )
    monkeypatch.delenv("CI")
    assert pytester.runpytest().ret == 0


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(["--extract-gate=none"], id="no-gate"),
        pytest.param(["--extract-gate=suite", "-o", "extract_suite_thresholds=pass_rate=0"], id="suite"),
    ],
)
def test_an_updated_gold_is_red_under_every_gate(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    write_case("acme", NEW)
    result = pytester.runpytest("--extract-update-gold=fix", *args)
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("keys", [{"thresholds": {"pass_rate": 0}}, {"marks": ["xfail"]}], ids=["passes", "xfail"])
def test_no_mark_and_no_threshold_makes_an_update_green(
    pytester: pytest.Pytester, write_case: Write, keys: dict[str, object]
) -> None:
    write_case("acme", NEW, **keys)
    result = pytester.runpytest("--extract-update-gold=fix", "--extract-report=r.jsonl")
    assert "passed" not in result.parseoutcomes()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    record = json.loads((pytester.path / "r.jsonl").read_text(encoding="utf-8"))
    assert (record["outcome"], record["breaches"][0]["what"]) == ("failed", "gold")


def test_every_value_is_told_with_its_line_and_both_values(pytester: pytest.Pytester, write_case: Write) -> None:
    gold = pytester.path / "acme.gold.json"
    gold.write_text(json.dumps({**GOLD, "note": "x"}, indent=1), encoding="utf-8")
    rows = [{"name": "Bolt", "price": 3}, GOLD["items"][1], {"name": "Nail", "price": 1}]
    write_case("acme", {**GOLD, "items": rows}, gold="acme.gold.json")
    result = pytester.runpytest("--extract-update-gold=fix", "--extract-force")
    result.stdout.fnmatch_lines(
        [
            "golds: 1 updated",
            "  acme.gold.json:7: items[[]0[]].price: 2.5 -> 3 (*",
            '  acme.gold.json:1: note: "x" -> (missing) (old nowhere in the document)',
            '  acme.gold.json:14: items[[]2[]].name: (missing) -> "Nail" (new at line 1, *)',
            "  acme.gold.json:15: items[[]2[]].price: (missing) -> 1 (new at *",
        ]
    )


def test_lines_are_those_of_the_file_after_the_run(pytester: pytest.Pytester) -> None:
    path = pytester.path / "many.extract.yaml"
    path.write_text(YAML.replace("gold: {a: old, b: 1}", "gold:\n      a: old"), encoding="utf-8")
    result = pytester.runpytest("--extract-update-gold=fix", "--extract-force")
    result.stdout.fnmatch_lines(
        [
            "  many.extract.yaml:9: b: (missing) -> 1 (new at *",
            '  many.extract.yaml:13: a: "x" -> "y" (old nowhere in the document, new at *)',
        ]
    )


def test_a_rerun_tells_what_the_case_changed_in_all(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme", NEW)
    result = pytester.runpytest("--extract-update-gold=fix", "-p", "rerunfailures", "--reruns=1")
    result.stdout.fnmatch_lines(
        [
            "golds: 1 updated",
            '  acme.extract.yaml:1: vendor: "ACME GmbH" -> "ACME Ltd" (old nowhere in the document, new at line 1, column 13)',
        ]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_no_secret_is_told(pytester: pytest.Pytester, write_case: Write) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    write_case("acme", {**GOLD, "vendor": secret})
    result = pytester.runpytest("--extract-update-gold=fix")
    result.stdout.fnmatch_lines(['  acme.extract.yaml:1: vendor: "ACME GmbH" -> *redacted*'])
    told = [line for line in result.outlines if " -> " in line]
    assert told
    assert not any(secret in line for line in told)


LETTER = """\
Invoice of ACME GmbH, total 1,109.00
1 Bolt 2.50
2 Nut 10.00
"""
CONFTEST = """
import json, pathlib, pytest

@pytest.fixture(scope="session")
def extractor():
    return lambda document, case: json.loads(pathlib.Path(case.path.parent, "output.json").read_text())
"""
RIGHT: dict[str, Any] = {**GOLD, "total": 1109}


@pytest.fixture
def extracted(pytester: pytest.Pytester) -> Callable[..., Path]:
    """Write a case whose document is LETTER, what its extractor gives, and its gold; return the gold's path."""

    def write(output: object, gold: object = None, **keys: object) -> Path:
        pytester.makeconftest(CONFTEST)
        (pytester.path / "output.json").write_text(json.dumps(output), encoding="utf-8")
        path = pytester.path / "acme.gold.json"
        if gold is not None:
            path.write_text(json.dumps(gold, indent=2), encoding="utf-8")
        case = {"text": LETTER, "schema": SCHEMA, "gold": path.name, **keys}
        (pytester.path / "acme.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
        return path

    return write


def test_new_drafts_a_gold_that_is_not_there(pytester: pytest.Pytester, extracted: Callable[..., Path]) -> None:
    gold = extracted(RIGHT)
    result = pytester.runpytest("--extract-update-gold=new")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "acme.extract.yaml d *",
            "1 of 1 gold drafted, 6 values to decide; next: pytest-extract review",
            "  acme.gold.json: draft of 1 output: 0 values agreed, 6 to decide: vendor, total, items[[]0[]].name, *",
            "=* 1 drafted in *",
        ]
    )
    result.stdout.no_re_match_line("hallucination|pass_rate|FAILURES|failed")
    assert gold.read_text(encoding="utf-8") == json.dumps(RIGHT, indent=2) + "\n"
    again = pytester.runpytest("--extract-update-gold=new")
    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines(["golds that nobody has reviewed (pytest-extract review): no evidence *, in 1 case: *"])


def _with_confidence(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_confidence(each) for key, each in value.items()}
    if isinstance(value, list):
        return [*map(_with_confidence, value)]
    return {"value": value, "confidence": 0.9}


def test_a_draft_has_values_without_their_confidence(pytester: pytest.Pytester, extracted: Callable[..., Path]) -> None:
    gold = extracted(_with_confidence(RIGHT), confidence="wrapper")
    pytester.runpytest("--extract-update-gold=new").stdout.fnmatch_lines(["1 of 1 gold drafted, *"])
    assert json.loads(gold.read_text(encoding="utf-8")) == RIGHT


TWO_MODELS = """
import json, pathlib, pytest

@pytest.fixture(scope="session")
def extractor(extract_model):
    return lambda document, case: json.loads(pathlib.Path(case.path.parent, f"{extract_model}.json").read_text())
"""


def test_models_that_agree_leave_only_what_they_dispute(
    pytester: pytest.Pytester, extracted: Callable[..., Path]
) -> None:
    gold = extracted({})
    pytester.makeconftest(TWO_MODELS)
    for model, output in (("a", {**RIGHT, "vendor": "ACNE GmbH"}), ("b", RIGHT)):
        (pytester.path / f"{model}.json").write_text(json.dumps(output), encoding="utf-8")
    result = pytester.runpytest("--extract-update-gold=new", "--extract-model=a", "--extract-model=b")
    result.stdout.fnmatch_lines(
        [
            "1 of 1 gold drafted, 1 value to decide; next: pytest-extract review",
            "  acme.gold.json: draft of 2 outputs: 5 values agreed, 1 to decide: vendor",
        ]
    )
    assert json.loads(gold.read_text(encoding="utf-8")) == RIGHT
    review = json.loads((pytester.path / "acme.gold.review.json").read_text(encoding="utf-8"))["golds"]["$"]
    assert review["reviewed"] is False
    assert review["open"]["vendor"]["candidates"] == [
        {"value": "ACME GmbH", "sources": ["b"], "evidence": "line 1, column 12"},
        {"value": "ACNE GmbH", "sources": ["a"], "evidence": ""},
    ]
    kept = pytester.runpytest("--extract-update-gold=new", "--extract-model=a", "--extract-model=b")
    kept.stdout.fnmatch_lines(
        ["golds: 2 kept", "*its gold is there, and several variants are not to change it: name one *"]
    )


@pytest.mark.parametrize(("params", "changes"), [(["new", "newer"], "2 kept"), (["new"], "1 updated")])
def test_a_gold_that_is_there_is_changed_by_one_param_only(
    pytester: pytest.Pytester, params: list[str], changes: str
) -> None:
    pytester.makeconftest(
        f"""
        import pytest

        @pytest.fixture(params={params})
        def extractor(request):
            return lambda: {{"a": "old", "b": request.param}}
        """
    )
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    case = {"text": "old new newer", "schema": schema, "gold": {"a": "old"}}
    (pytester.path / "acme.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    result = pytester.runpytest("--extract-update-gold=new", "--extract-force")
    result.stdout.fnmatch_lines([f"golds: {changes}"])


def test_a_draft_is_no_evidence_for_the_gate(pytester: pytest.Pytester, extracted: Callable[..., Path]) -> None:
    extracted(RIGHT)
    pytester.runpytest("--extract-update-gold=new")
    written = pytester.runpytest("--extract-baseline=b.json", "--extract-update-baseline", "--extract-force")
    written.stdout.fnmatch_lines(["*baseline not written*"])
    rule = ("-o", "extract_rule=allow_drafts=true")
    pytester.runpytest(
        "--extract-baseline=b.json", "--extract-update-baseline", "--extract-force", *rule
    ).stdout.fnmatch_lines(["*baseline written*1 case*"])
    gate = ("--extract-gate=regression", "--extract-baseline=b.json")
    assert pytester.runpytest(*gate).ret != 0
    pytester.runpytest(*gate, *rule).stdout.no_fnmatch_line("*nothing was compared*")


@pytest.mark.parametrize("mode", ["fix", None])
def test_a_gold_that_is_not_there_is_a_mistake_otherwise(
    pytester: pytest.Pytester, extracted: Callable[..., Path], mode: str | None
) -> None:
    gold = extracted(RIGHT)
    result = pytester.runpytest(*([f"--extract-update-gold={mode}"] if mode else []))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*`gold`: no file *acme.gold.json*"])
    assert not gold.exists()


def test_an_output_that_breaks_the_schema_makes_no_gold(
    pytester: pytest.Pytester, extracted: Callable[..., Path]
) -> None:
    gold = extracted({**RIGHT, "total": "much"})
    result = pytester.runpytest("--extract-update-gold=new")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "its gold is not drafted: the output fails the schema gate: *",
            "0 of 1 gold drafted",
            "  acme.extract.yaml::acme: not drafted: the output fails the schema gate: *",
            "  fix the schema or the extractor and draft again *",
        ]
    )
    assert not gold.exists()


def test_new_adds_keys_and_changes_nothing_that_is_there(
    pytester: pytest.Pytester, extracted: Callable[..., Path]
) -> None:
    wrong = [{"name": "Bolt", "price": 3}, {"name": "Nut", "price": 10}, {"name": "Nail", "price": 1}]
    there = {"vendor": "ACME", "items": [{"name": "Bolt"}, {"name": "Nut", "price": None}]}
    gold = extracted({**RIGHT, "items": wrong}, there)
    result = pytester.runpytest("--extract-update-gold=new", "--extract-force")
    result.stdout.fnmatch_lines(
        [
            "golds: 1 updated",
            "  acme.gold.json:13: total: (missing) -> 1109 (new at line 1, column 29)",
            "  acme.gold.json:6: items[[]0[]].price: (missing) -> 3 (new nowhere in the document)",
        ],
        consecutive=False,
    )
    assert json.loads(gold.read_text(encoding="utf-8")) == {
        "vendor": "ACME",
        "items": [{"name": "Bolt", "price": 3}, {"name": "Nut", "price": None}],
        "total": 1109,
    }


def test_fix_changes_what_fails_and_keeps_what_passes(
    pytester: pytest.Pytester, extracted: Callable[..., Path]
) -> None:
    rows = [{"name": "Nut", "price": 10.0}, {"name": "Bolt", "price": 2.5}]
    old = {**GOLD, "vendor": "Acme gmbh", "total": 190, "items": GOLD["items"]}
    gold = extracted(
        {**RIGHT, "items": rows}, old, overrides={"vendor": {"metric": "text", "transform": ["lowercase"]}}
    )
    result = pytester.runpytest("--extract-update-gold=fix")
    result.stdout.fnmatch_lines(
        [
            "golds: 1 updated",
            "  acme.gold.json:3: total: 190 -> 1109 (old nowhere in the document, new at line 1, column 29)",
        ]
    )
    assert json.loads(gold.read_text(encoding="utf-8")) == {**old, "total": 1109}


def test_fix_keeps_what_the_document_has_and_the_output_has_not(
    pytester: pytest.Pytester, extracted: Callable[..., Path]
) -> None:
    noisy = {"vendor": "ÜNAL SÖHNE", "total": 1190, "items": GOLD["items"]}
    gold = extracted(noisy, RIGHT)
    before = gold.read_text(encoding="utf-8")
    result = pytester.runpytest("--extract-update-gold=fix")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "golds: 1 unchanged",
            '  acme.gold.json:2: vendor: kept "ACME GmbH", not "ÜNAL SÖHNE" (old at line 1, column 12, new nowhere *)',
            "  acme.gold.json:3: total: kept 1109, not 1190 (old at line 1, column 29, new nowhere in the document)",
        ]
    )
    assert gold.read_text(encoding="utf-8") == before
    forced = pytester.runpytest("--extract-update-gold=fix", "--extract-force")
    forced.stdout.fnmatch_lines(["golds: 1 updated", '  acme.gold.json:2: vendor: "ACME GmbH" -> "ÜNAL SÖHNE" (*'])
    assert json.loads(gold.read_text(encoding="utf-8")) == noisy


def test_fix_removes_and_adds_rows_by_the_document(pytester: pytest.Pytester, extracted: Callable[..., Path]) -> None:
    old = [{"name": "Cable", "price": 77}, GOLD["items"][0]]
    gold = extracted({**RIGHT, "items": [GOLD["items"][1], GOLD["items"][0]]}, {**RIGHT, "items": old})
    result = pytester.runpytest("--extract-update-gold=fix", "--extract-force")
    result.stdout.fnmatch_lines(
        ['*items[[]0[]].name: "Cable" -> (missing) (old nowhere*', '*items[[]1[]].name: (missing) -> "Nut" (new at*']
    )
    assert json.loads(gold.read_text(encoding="utf-8")) == {**RIGHT, "items": [GOLD["items"][0], GOLD["items"][1]]}


def test_fix_removes_rows_inside_rows_and_moves_what_the_case_says_of_later_ones(pytester: pytest.Pytester) -> None:
    key = {"ordered": False, "match_by": "key_field", "key": "k"}
    row: dict[str, Any] = {"type": "object", "properties": {"k": {"type": "string", "x-eval-compare": "exact"}}}
    parts = {"type": "array", "x-eval-align": key, "items": row}
    rows = {**parts, "items": {"type": "object", "properties": {**row["properties"], "parts": parts}}}

    def table(*names: str, without: str = "") -> dict[str, Any]:
        ends = [(name, [f"{name}{end}" for end in "12" if f"{name}{end}" != without]) for name in names]
        return {"rows": [{"k": name, "parts": [{"k": part} for part in both]} for name, both in ends]}

    pytester.makeconftest(CONFTEST)
    (pytester.path / "output.json").write_text(json.dumps(table(*"ACD", without="C1")), encoding="utf-8")
    gold = pytester.path / "gold.json"
    gold.write_text(json.dumps(table(*"ABCD")), encoding="utf-8")
    case = {"text": "x", "schema": {"type": "object", "properties": {"rows": rows}}, "gold": "gold.json"}
    accept = {"rows[1].k": ["b"], "rows[3].k": ["d"]}
    path = pytester.path / "a.extract.yaml"
    path.write_text(json.dumps({**case, "accept": accept}), encoding="utf-8")
    pytester.runpytest("--extract-update-gold=fix", "--extract-force").stdout.fnmatch_lines(["golds: 1 updated"])
    assert json.loads(gold.read_text(encoding="utf-8")) == table(*"ACD", without="C1")
    assert json.loads(path.read_text(encoding="utf-8")) == {**case, "accept": {"rows[2].k": ["d"]}}


def test_what_cases_that_share_a_gold_say_of_later_rows_moves_in_each(pytester: pytest.Pytester) -> None:
    key = {"ordered": False, "match_by": "key_field", "key": "k"}
    row: dict[str, Any] = {"type": "object", "properties": {"k": {"type": "string", "x-eval-compare": "exact"}}}
    rows = {"type": "array", "x-eval-align": key, "items": row}
    pytester.makeconftest(CONFTEST)
    Path("output.json").write_text(json.dumps({"rows": [{"k": "b"}]}), "utf-8")
    Path("golds.json").write_text(json.dumps({"acme": {"rows": [{"k": "a"}, {"k": "b"}]}}), "utf-8")
    case = {"text": "b", "schema": {"type": "object", "properties": {"rows": rows}}, "gold": "golds.json#/acme"}
    for name in ("one", "two"):
        Path(f"{name}.extract.yaml").write_text(json.dumps({**case, "accept": {"rows[1].k": ["c"]}}), "utf-8")
    pytester.runpytest("--extract-update-gold=fix", "--extract-force")
    assert json.loads(Path("golds.json").read_text("utf-8")) == {"acme": {"rows": [{"k": "b"}]}}
    for name in ("one", "two"):
        assert json.loads(Path(f"{name}.extract.yaml").read_text("utf-8"))["accept"] == {"rows[0].k": ["c"]}


def test_a_row_that_a_model_loses_stays(pytester: pytest.Pytester, extracted: Callable[..., Path]) -> None:
    gold = extracted({**RIGHT, "items": [GOLD["items"][1]]}, RIGHT, gates={"coverage": False})
    result = pytester.runpytest("--extract-update-gold=fix")
    result.stdout.fnmatch_lines(
        ["golds: 1 unchanged", '  *items[[]0[]].name: kept "Bolt", not (missing) (old at line 2*']
    )
    assert json.loads(gold.read_text(encoding="utf-8")) == RIGHT


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"known_failures": [{"path": "total"}]}, id="known-failure"),
        pytest.param({"absent": {"total": "must"}}, id="must-stay-empty"),
    ],
)
def test_what_the_case_excuses_is_never_taken(
    pytester: pytest.Pytester, extracted: Callable[..., Path], keys: dict[str, object]
) -> None:
    schema = {**SCHEMA, "required": ["vendor"]}
    there = {"vendor": "ACME GmbH", "items": GOLD["items"], **({"total": 190} if "known_failures" in keys else {})}
    gold = extracted(RIGHT, there, schema=schema, **keys)
    for mode in ("new", "fix"):
        pytester.runpytest(f"--extract-update-gold={mode}", "--extract-force").stdout.fnmatch_lines(
            ["golds: 1 unchanged"]
        )
    assert json.loads(gold.read_text(encoding="utf-8")) == there


@pytest.mark.parametrize("value", ["", "all", "review-later"])
def test_an_unknown_mode_is_a_usage_error(pytester: pytest.Pytester, write_case: Write, value: str) -> None:
    write_case("acme")
    result = pytester.runpytest(f"--extract-update-gold={value}" if value else "--extract-update-gold")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--extract-update-gold: *must be one of new, fix, review*" if value else "*expected one argument*"]
    )


def test_review_asks_for_each_failing_value_and_is_red(
    pytester: pytest.Pytester, extracted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = extracted({**RIGHT, "vendor": "ACME"}, {**RIGHT, "total": 1190})
    answers = iter(["k", "a"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(answers))
    monkeypatch.setattr(sys, "__stdin__", SimpleNamespace(isatty=lambda: True))
    result = pytester.runpytest("--extract-update-gold=review")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    told = result.stdout.str()
    assert "[2/2] acme.extract.yaml::acme  total: fails in the run" in told
    assert "accepted: 1190 -> 1109" in told
    assert json.loads(gold.read_text(encoding="utf-8")) == RIGHT


def test_review_without_a_terminal_is_a_usage_error(
    pytester: pytest.Pytester, extracted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    extracted(RIGHT, RIGHT)
    monkeypatch.setattr(sys, "__stdin__", SimpleNamespace(isatty=lambda: False))
    result = pytester.runpytest("--extract-update-gold=review")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pytest-extract review R.jsonl*"])
