from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pytest_extract.regression.baseline_file import CI
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
    result = pytester.runpytest("--extract-update-gold")
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*its gold was updated from this output (1 value): review the change, and run without *",
            "2 cases: 1 passed, 1 failed*",
            "golds: 1 updated, 1 unchanged",
            '  acme.gold.json:2: vendor: "ACME GmbH" -> "ACME Ltd"',
        ]
    )
    assert gold.read_text(encoding="utf-8") == json.dumps(NEW, indent=4)
    pytester.runpytest().assert_outcomes(passed=2)


def test_golds_inside_a_case_file_keep_its_style(pytester: pytest.Pytester) -> None:
    path = pytester.path / "many.extract.yaml"
    path.write_text(YAML, encoding="utf-8")
    pytester.runpytest("--extract-update-gold").stdout.fnmatch_lines(
        ["golds: 2 updated", '  many.extract.yaml:7: a: "old" -> "new"', '  many.extract.yaml:11: a: "x" -> "y"']
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
    result = pytester.runpytest("--extract-update-gold")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["golds: 1 kept", f"  acme.extract.yaml::acme: {why}"])
    assert (pytester.path / "acme.extract.yaml").read_text(encoding="utf-8") == before


def test_cases_that_share_a_gold_do_not_overwrite_each_other(pytester: pytest.Pytester, write_case: Write) -> None:
    gold = pytester.path / "acme.gold.json"
    gold.write_text(json.dumps(GOLD), encoding="utf-8")
    for name, output in (("a", NEW), ("b", NEW), ("c", GOLD)):
        write_case(name, output, gold="acme.gold.json")
    result = pytester.runpytest("--extract-update-gold", "-p", "no:randomly")
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
        pytest.param(["-n2"], "*run it without xdist*", id="xdist"),
        pytest.param(["--extract-model=a", "--extract-model=b"], "*takes one model and one prompt*", id="models"),
    ],
)
def test_what_would_make_it_a_guess_is_a_usage_error(pytester: pytest.Pytester, args: list[str], message: str) -> None:
    result = pytester.runpytest("--extract-update-gold", *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize("name", CI)
def test_ci_writes_no_gold_unless_forced(
    pytester: pytest.Pytester, write_case: Write, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_case("acme", NEW)
    before = (pytester.path / "acme.extract.yaml").read_text(encoding="utf-8")
    monkeypatch.setenv(name, "true")
    result = pytester.runpytest("--extract-update-gold")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*a gold is not written in CI*--extract-force*"])
    assert (pytester.path / "acme.extract.yaml").read_text(encoding="utf-8") == before


def test_forced_it_writes_in_ci_and_is_red(
    pytester: pytest.Pytester, write_case: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case("acme", NEW)
    monkeypatch.setenv("CI", "true")
    result = pytester.runpytest("--extract-update-gold", "--extract-force")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["golds: 1 updated", '  acme.extract.yaml:1: vendor: "ACME GmbH" -> "ACME Ltd"'])
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
    result = pytester.runpytest("--extract-update-gold", *args)
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("keys", [{"thresholds": {"pass_rate": 0}}, {"marks": ["xfail"]}], ids=["passes", "xfail"])
def test_no_mark_and_no_threshold_makes_an_update_green(
    pytester: pytest.Pytester, write_case: Write, keys: dict[str, object]
) -> None:
    write_case("acme", NEW, **keys)
    result = pytester.runpytest("--extract-update-gold", "--extract-results=r.jsonl")
    assert "passed" not in result.parseoutcomes()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    record = json.loads((pytester.path / "r.jsonl").read_text(encoding="utf-8"))
    assert (record["outcome"], record["breaches"][0]["what"]) == ("failed", "gold")


def test_every_value_is_told_with_its_line_and_both_values(pytester: pytest.Pytester, write_case: Write) -> None:
    gold = pytester.path / "acme.gold.json"
    gold.write_text(json.dumps({**GOLD, "note": "x"}, indent=1), encoding="utf-8")
    rows = [{"name": "Bolt", "price": 3}, GOLD["items"][1], {"name": "Nail", "price": 1}]
    write_case("acme", {**GOLD, "items": rows}, gold="acme.gold.json")
    result = pytester.runpytest("--extract-update-gold", "--extract-force")
    result.stdout.fnmatch_lines(
        [
            "golds: 1 updated",
            "  acme.gold.json:7: items[[]0[]].price: 2.5 -> 3",
            '  acme.gold.json:14: items[[]2[]].name: (missing) -> "Nail"',
            "  acme.gold.json:15: items[[]2[]].price: (missing) -> 1",
            '  acme.gold.json:1: note: "x" -> (missing)',
        ]
    )


def test_lines_are_those_of_the_file_after_the_run(pytester: pytest.Pytester) -> None:
    path = pytester.path / "many.extract.yaml"
    path.write_text(YAML.replace("gold: {a: old, b: 1}", "gold:\n      a: old"), encoding="utf-8")
    result = pytester.runpytest("--extract-update-gold", "--extract-force")
    result.stdout.fnmatch_lines(["  many.extract.yaml:9: b: (missing) -> 1", '  many.extract.yaml:13: a: "x" -> "y"'])


def test_a_rerun_tells_what_the_case_changed_in_all(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme", NEW)
    result = pytester.runpytest("--extract-update-gold", "--reruns=1")
    result.stdout.fnmatch_lines(["golds: 1 updated", '  acme.extract.yaml:1: vendor: "ACME GmbH" -> "ACME Ltd"'])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_no_secret_is_told(pytester: pytest.Pytester, write_case: Write) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    write_case("acme", {**GOLD, "vendor": secret})
    result = pytester.runpytest("--extract-update-gold")
    result.stdout.fnmatch_lines(['  acme.extract.yaml:1: vendor: "ACME GmbH" -> *redacted*'])
    told = [line for line in result.outlines if " -> " in line]
    assert told
    assert not any(secret in line for line in told)
