from __future__ import annotations

import json
import re
from collections.abc import Callable
from fnmatch import fnmatch

import pytest

from tests.plugin.conftest import ECHO, GOLD
from tests.small_pdf import small_pdf

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]
BAD = {**GOLD, "vendor": "ACME Gmbh"}
DIFF = '*vendor  text  mismatch  gold "ACME GmbH"  extracted "ACME Gmbh"  ACME Gmb?H→h?*'

BRIEF = "  vendor  ACME Gmb?H→h?  only the case differs"


@pytest.mark.parametrize(
    ("args", "diff", "crash_lines"),
    [
        ("--tb=auto", DIFF, 1),
        ("--tb=auto -n1", DIFF, 1),
        ("--tb=long", DIFF, 1),
        ("--tb=short", BRIEF, 1),
        ("--tb=native", DIFF, 1),
        ("--tb=line", "", 1),
        ("--tb=line -n1", "", 1),
        ("--tb=no", "", 0),
    ],
)
def test_tb_styles(pytester: pytest.Pytester, write_case: Write, args: str, diff: str, crash_lines: int) -> None:
    write_case("acme", BAD)
    result = pytester.runpytest(*args.split())
    result.assert_outcomes(failed=1)
    for each in (DIFF, BRIEF):
        shown = any(fnmatch(line, each) for line in result.outlines)
        assert shown is (each == diff)
    assert ("worst fields" in result.outlines) is (not diff)  # where a diff is shown, it says all of the only case
    places = [each for each in result.outlines if each.startswith("acme.extract.yaml:1: ")]
    told = "failed" if diff else "pass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed"
    assert places == [f"acme.extract.yaml:1: {told}"] * crash_lines
    result.stdout.fnmatch_lines(["FAILED acme.extract.yaml::acme - pass_rate 0.667 is below 1, *"])


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_colours(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    write_case("acme", BAD)
    text = pytester.runpytest("--color=yes", *args).stdout.str()
    assert "\x1b[31mpass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed\x1b[0m" in text
    assert '\x1b[32m"ACME GmbH"\x1b[0m' in text
    assert "\x1b[1m\x1b[36m[H→h]\x1b[0m" in text or "\x1b[36m\x1b[1m[H→h]\x1b[0m" in text


@pytest.mark.parametrize("how", ["option", "NO_COLOR"])
def test_no_colours(pytester: pytest.Pytester, write_case: Write, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    write_case("acme", BAD)
    if how == "NO_COLOR":
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("FORCE_COLOR", "1")
        text = pytester.runpytest().stdout.str()
    else:
        text = pytester.runpytest("--color=no").stdout.str()
    assert "\x1b" not in text


def test_the_width_of_the_terminal_is_kept(
    pytester: pytest.Pytester, write_case: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    write_case("acme", {**GOLD, "vendor": "A" * 500, "items": [{"name": "x" * 300, "price": 1}]})
    lines = pytester.runpytest().outlines
    start = next(i for i, line in enumerate(lines) if line.startswith("____")) + 1
    shown = [line for line in lines[start:] if line.startswith("  ") and "pass_rate" not in line]
    assert shown
    assert max(map(len, shown)) <= 60


def test_v_tells_where_the_values_occur(pytester: pytest.Pytester, write_case: Write) -> None:
    text = json.dumps({**BAD, "remark": "not the ACME GmbH"}, indent=1)
    write_case("acme", text)
    result = pytester.runpytest("-v")
    result.stdout.fnmatch_lines(
        ["*vendor  text *ACME Gmb?H→h?*", "*gold at line 14, column 21; extracted at line 2, column 13"]
    )
    pytester.runpytest().stdout.no_fnmatch_line("*gold at line*")


def test_hostile_text_stays_text(pytester: pytest.Pytester, write_case: Write) -> None:
    hostile = {**GOLD, "vendor": "\x1b[2J\u202eevil", "\x1b]0;title\x07": 1}
    write_case("acme", hostile, tags={"\x1b[31m": "x"})
    text = pytester.runpytest("-vv").stdout.str()
    assert "\\x1b[2J\\u202eevil" in text
    assert not {"\x1b", "\u202e", "\x07"} & set(text)


COMMANDS = (
    "::stop-commands::abc",
    "::notice title=x::hello",
    "##[add-mask]passed",
    "##vso[task.complete result=Succeeded]",
    "##teamcity[buildStatus status='SUCCESS']",
    "section_start:1:x",
    "+++ done",
)
OBEYED = re.compile(
    r"^\s*::(?:stop-commands|notice)|##\[add-mask|##vso\[task|##teamcity\[build|section_start:1|^\+\+\+ done",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    ("args", "width"), [(["-q"], "80"), (["-vv"], "160"), (["--tb=short"], "160"), (["--extract-gate=none"], "80")]
)
def test_no_text_of_a_model_is_a_command_of_a_ci_service(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, args: list[str], width: str
) -> None:
    for name, value in {"COLUMNS": width, "GITHUB_ACTIONS": "true", "CI": "1"}.items():
        monkeypatch.setenv(name, value)
    pytester.makeconftest(
        """
        import pytest
        from pytest_extract import ExtractionFailure
        from tests.plugin.test_failure_text import COMMANDS

        @pytest.fixture(scope="session")
        def extractor():
            def extract(document):
                how, _, index = document.text.partition(" ")
                text = COMMANDS[int(index)]
                if how == "value":
                    return {"a": text, "b": ["##vso" + text]}
                if how == "key":
                    return {"a": "x", text: {text: text}}
                if how == "prose":
                    return "word " * 13 + text + " tail\\n" + text
                if how == "long":
                    return {"a": " ".join([text] * 30)}
                if how == "raises":
                    raise RuntimeError("provider said:\\n" + text + "\\n " + text)
                if how == "prints":
                    print(text)
                    return {"a": "y"}
                raise ExtractionFailure("refusal", text + "\\n" + text)
            return extract
        """
    )
    ways = ("value", "key", "prose", "long", "raises", "prints", "fails")
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {}}}}
    cases = [
        {"id": f"{COMMANDS[index]} {how}", "text": f"{how} {index}", "gold": {"a": "x", "b": ["##vso[x]"]}}
        for how in ways
        for index in range(len(COMMANDS))
    ]
    (pytester.path / "x.extract.yaml").write_text(json.dumps({"defaults": {"schema": schema}, "cases": cases}))
    run = pytester.runpytest("--extract-concurrency=1", "--extract-report=r.md", "-rA", *args)
    text = run.stdout.str() + (pytester.path / "r.md").read_text()
    own = [line for line in text.splitlines() if line.startswith(("::error ", "::warning "))]
    assert len(own) >= 10
    assert OBEYED.findall(text) == []
    assert "\\x23#vso[task.complete" in text


def test_an_object_without_declared_fields_is_diffed(pytester: pytest.Pytester, write_case: Write) -> None:
    gold = {"meta": {"a": [1, 2], "b": "x"}}
    write_case("acme", {"meta": {"a": [1, 3], "c": True}}, gold=gold, schema={"properties": {"meta": {}}})
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*meta *mismatch*", "*a?1? 2→3*"])


def test_known_failures_are_not_in_the_verdict_but_counted(pytester: pytest.Pytester, write_case: Write) -> None:
    output = {**GOLD, "items": [{**item, "price": 1} for item in GOLD["items"]]}
    known = [{"path": "items[].price", "until": "2999-01-31", "reason": "EX-412"}]
    write_case("acme", output, known_failures=known)
    pytester.runpytest().assert_outcomes(passed=1)
    write_case("acme", {**output, "total": 1}, known_failures=known)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*2 of 3 fields passed", "*total *mismatch*", "  3 values match, 2 known failures"])
    result.stdout.no_fnmatch_line("*items?0?.price*")


def test_an_expired_known_failure_fails(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme", known_failures=[{"path": "total", "until": "2020-01-31", "reason": "EX-412"}])
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["  known failure total expired on 2020-01-31: EX-412"])


def test_a_field_that_must_stay_empty(pytester: pytest.Pytester, write_case: Write) -> None:
    gold = {"vendor": "ACME GmbH", "total": 12.5}
    write_case("acme", GOLD, gold=gold, absent={"items": "must"}, thresholds={"pass_rate": 0.1})
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["  items* must stay empty, but was extracted"])


def test_thresholds_of_fields_and_measures(pytester: pytest.Pytester, write_case: Write) -> None:
    thresholds = {"fields": {"items[].price": 0.9, "vendor": 0.9}, "precision": 0.99, "value_accuracy": 0.5}
    output = {**BAD, "items": [{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 11}]}
    write_case("acme", output, thresholds=thresholds)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "  precision 0.667 is below 0.99, by 0.323",
            "  field items??.price 0.5 is below 0.9, by 0.4: mean of 2 values",
            "  field vendor 0 is below 0.9, by 0.9",
        ]
    )


def test_a_failed_schema_gate_is_told(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme", {**GOLD, "total": "12.50"})
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(
        ["  pass_rate 0 is below 1, by 1: the schema gate failed", "  schema gate: *total*", "*total *mismatch*"]
    )


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_what_an_exception_and_a_log_hold_can_harm_no_terminal_and_no_report(
    pytester: pytest.Pytester, write_case: Write, args: list[str]
) -> None:
    pytester.makeconftest(
        """
        import logging
        import pytest

        @pytest.fixture
        def extractor():
            def extract(document):
                logging.getLogger().warning("log \\ud800 \\x1b[31m")
                raise ValueError("boom \\ud800 \\x1b[2J")
            return extract
        """
    )
    write_case("a")
    write_case("b")
    # In a process of its own: what is logged would reach this test's report too, and break the outer run's xdist.
    result = pytester.runpytest_subprocess("--junitxml=out.xml", *args)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([r"E * ValueError: boom \ud800 \x1b?2J", r"*log \ud800 \x1b?31m"])
    result.stdout.fnmatch_lines_random([r"BROKEN ?.extract.yaml::? - ValueError: boom \ud800 \x1b?2J"])
    assert (pytester.path / "out.xml").read_text(encoding="utf-8").count("boom") >= 2


def test_a_fixture_that_is_not_there_is_told_at_the_case(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def extractor(gone):
            return dict
        """
    )
    write_case("direct", marks=["usefixtures('missing')"])
    write_case("below")
    result = pytester.runpytest()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines_random(
        [
            "file */below.extract.yaml, line 1",
            "E * fixture 'gone' not found",
            "E * fixture 'missing' not found",
            "*direct.extract.yaml:1",
            "broken: 1 case: fixture 'gone' not found",
        ]
    )
    result.stdout.no_fnmatch_line("*source code not available*")


def test_an_integer_of_401_digits_leaves_the_run_whole(pytester: pytest.Pytester, write_case: Write) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    how = {"schema": schema, "gates": {"schema": False}, "semantics": "extract-bench"}
    write_case("huge", '{"a": 1' + "0" * 400 + "}", gold={"a": 0}, **how)
    write_case("other", {"a": "x"}, gold={"a": "y"}, **how)
    result = pytester.runpytest("--extract-judge=exact", "--extract-report=r.html", "--extract-report=r.jsonl")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*off by more than a float holds*", "2 cases: 2 failed*", "reports: *r.html, *r.jsonl"]
    )
    assert len((pytester.path / "r.jsonl").read_text().splitlines()) == 2


FENCED = f"Sure!\n```json\n{json.dumps(GOLD)}\n```\nbye"


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_a_fence_is_said_of_a_case_that_passes(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    write_case("acme", FENCED)
    result = pytester.runpytest("-v", "--extract-report=r.jsonl", *args)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["not bare JSON, in 1 case: acme (fenced)"])
    (attempt,) = json.loads((pytester.path / "r.jsonl").read_text())["attempts"]
    assert attempt["notes"] == ["JSON taken from a fenced block"]
    assert attempt["score"]["wrapped"] == {"fenced": "JSON taken from a fenced block"}


def test_a_fence_is_said_in_the_diff_of_a_case(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme", FENCED.replace("GmbH", "Gmbh"))
    pytester.runpytest().stdout.fnmatch_lines(["*JSON taken from a fenced block", DIFF])


def test_the_bare_gate_fails_a_case_that_is_right_but_for_its_fence(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    write_case("acme", FENCED, gates={"bare": True})
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*the text is more than its JSON: JSON taken from a fenced block*", "unusable outputs: 1 not_bare"]
    )


@pytest.mark.parametrize("where", ["case", "ini", "option"])
def test_an_output_above_its_bound_is_not_read(pytester: pytest.Pytester, write_case: Write, where: str) -> None:
    write_case("acme", **({"max_output_bytes": 50} if where == "case" else {}))
    if where == "ini":
        pytester.makeini("[pytest]\nextract_max_output_bytes = 50\n")
    result = pytester.runpytest(*(["-o", "extract_max_output_bytes=50"] if where == "option" else []))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["unusable outputs: 1 output_too_large"])


def test_the_text_of_a_pdf_is_kept_between_runs(pytester, monkeypatch):
    pytest.importorskip("pypdfium2")
    (pytester.path / "a.pdf").write_bytes(small_pdf("Total 12.50 EUR"))
    pytester.makeconftest(ECHO.replace("document.text", "{'total': 12}"))
    pytester.makefile(
        ".extract.yaml", a="document: a.pdf\nschema: {properties: {total: {type: number}}}\ngold: {total: 12.5}"
    )
    place = "*gold at line 1, column 7; extracted stands nowhere in the document*"
    pytester.runpytest("-v").stdout.fnmatch_lines([place])
    monkeypatch.setattr("pytest_extract.documents.pdf_pages", lambda *_, **__: ("another text",))
    pytester.runpytest("-v").stdout.fnmatch_lines([place])
    pytester.runpytest("-v", "--cache-clear").stdout.no_fnmatch_line(place)
