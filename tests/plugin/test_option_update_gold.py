from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.plugin.conftest import GOLD, SCHEMA

pytestmark = pytest.mark.usefixtures("echo")
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


def test_the_gold_file_takes_what_was_extracted(pytester: pytest.Pytester, write_case: Write) -> None:
    gold = pytester.path / "acme.gold.json"
    gold.write_text(json.dumps(GOLD, indent=4), encoding="utf-8")
    write_case("acme", NEW, gold="acme.gold.json")
    write_case("same")
    result = pytester.runpytest("--extract-update-gold")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["golds: 1 updated, 1 unchanged"])
    assert gold.read_text(encoding="utf-8") == json.dumps(NEW, indent=4)
    pytester.runpytest().assert_outcomes(passed=2)


def test_golds_inside_a_case_file_keep_its_style(pytester: pytest.Pytester) -> None:
    path = pytester.path / "many.extract.yaml"
    path.write_text(YAML, encoding="utf-8")
    pytester.runpytest("--extract-update-gold").stdout.fnmatch_lines(["golds: 2 updated"])
    expected = YAML.replace("gold: {a: old, b: 1}", "gold: {a: new, b: 1}").replace(
        "a: x  # by hand", "a: y  # by hand"
    )
    assert path.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    ("output", "why"),
    [
        pytest.param("no JSON", "there is no output to take it from", id="no-json"),
        pytest.param({**GOLD, "total": "12"}, "the output breaks the schema at *total*", id="schema"),
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
    result.assert_outcomes(passed=3)
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
