from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.plugin.conftest import GOLD, SCHEMA

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]
MIXED = """\
defaults:
  schema: {type: object, properties: {a: {type: string}}}
  gold: {a: x}
cases:
  - id: good
    text: '{"a": "x"}'
  - id: typo
    text: '{"a": "x"}'
    threshold: {pass_rate: 1}
  - id: bound
    text: '{"a": "x"}'
    thresholds: {pass_rate: 7}
"""


def mixed(pytester: pytest.Pytester) -> None:
    (pytester.path / "mixed.extract.yaml").write_text(MIXED, encoding="utf-8")


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_mistakes_are_told_at_once_and_the_good_cases_still_run(pytester: pytest.Pytester, args: list[str]) -> None:
    mixed(pytester)
    result = pytester.runpytest("-v", *args)
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting mixed.extract.yaml*",
            "*mixed.extract.yaml:9:5: *'threshold'*did you mean 'thresholds'?",
            "*mixed.extract.yaml:12:*: *",
        ]
    )


def test_a_good_case_can_be_run_by_itself(pytester: pytest.Pytester) -> None:
    mixed(pytester)
    pytester.runpytest("mixed.extract.yaml::good").assert_outcomes(passed=1)


def test_a_file_without_a_good_case_is_one_error_and_other_files_run(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    write_case("bad", schema="none.json")
    (pytester.path / "worse.extract.yaml").write_text("a: [", encoding="utf-8")
    write_case("good")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["*bad.extract.yaml:1:*none.json*", "*worse.extract.yaml:1:5: not YAML*"])


def test_a_broken_python_file_still_stops_the_run(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("good")
    write_case("bad", schema="none.json")
    pytester.makepyfile(test_broken="import nowhere")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=2)


def test_x_stops_at_a_mistake(pytester: pytest.Pytester) -> None:
    mixed(pytester)
    result = pytester.runpytest("-x")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=1)


def test_nothing_is_called_for_a_wrong_gold(pytester: pytest.Pytester, write_case: Write) -> None:
    (pytester.path / "acme.gold.json").write_text(json.dumps({**GOLD, "total": "12.50"}), encoding="utf-8")
    write_case("acme", gold="acme.gold.json")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*acme.gold.json:1:*total*"])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({"schema": {**SCHEMA, "properties": {"a": {"type": "string", "evaluation_config": "string_exakt"}}}, "gold": {}}, "string_exact", id="metric"),
        pytest.param({"overrides": {"vendr": "skip"}}, "did you mean 'vendor'", id="path-of-an-override"),
        pytest.param({"thresholds": {"fields": {"itemz[].name": 1.0}}}, "items*", id="path-of-a-threshold"),
        pytest.param({"repeat": {"of": 2, "pass": 3}}, "repeat*", id="repeat"),
        pytest.param({"known_failures": [{"path": "total", "until": "soon"}]}, "must be a day written YYYY-MM-DD", id="date"),
    ],
)  # fmt: skip
def test_all_configuration_is_checked_while_collecting(
    pytester: pytest.Pytester, write_case: Write, keys: dict[str, object], message: str
) -> None:
    write_case("acme", **keys)
    result = pytester.runpytest("--collect-only")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*acme.extract.yaml:1:*{message}*"])


def test_last_failed_knows_mistakes(pytester: pytest.Pytester, write_case: Write) -> None:
    mixed(pytester)
    write_case("other")
    pytester.runpytest().assert_outcomes(passed=2, errors=1)
    (pytester.path / "mixed.extract.yaml").write_text(MIXED.replace("threshold:", "thresholds:"), encoding="utf-8")
    result = pytester.runpytest("--lf", "-v")
    result.stdout.fnmatch_lines(["*mixed.extract.yaml:12:*"])


@pytest.mark.parametrize(("args", "shown"), [([], 100), (["-vv"], 150)], ids=["plain", "vv"])
def test_of_very_many_mistakes_the_first_are_told_and_the_rest_counted(
    pytester: pytest.Pytester, args: list[str], shown: int
) -> None:
    line = '{"text": "{}", "gold": {}, "extra": 1}\n'
    (pytester.path / "records.jsonl").write_text(line * 150, encoding="utf-8")
    (pytester.path / "many.extract.yaml").write_text(
        "dataset: records.jsonl\ndefaults: {schema: {}}\n", encoding="utf-8"
    )
    result = pytester.runpytest(*args)
    result.assert_outcomes(errors=1)
    assert sum("unknown key 'extra'" in line for line in result.outlines) == shown
    more = "… and 50 more (-vv shows all, and so does `pytest-extract check`)"
    assert result.outlines.count(more) == (shown == 100)
