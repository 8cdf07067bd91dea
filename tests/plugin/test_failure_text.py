"""What the terminal, the log of a CI service and JUnit show of cases that fail or break."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from xml.etree import ElementTree as ET

import pytest

from tests.plugin.conftest import ECHO, GOLD, plain_and_workers, results, text_of
from tests.small_pdf import small_pdf

BAD = {**GOLD, "vendor": "ACME Gmbh"}
DIFF = '*vendor  text  mismatch  gold "ACME GmbH"  extracted "ACME Gmbh"  ACME Gmb?H→h?*'


@pytest.mark.parametrize(
    ("args", "diff", "crash_lines"),
    [
        ("--tb=auto", DIFF, 1),
        ("--tb=auto -n1", DIFF, 1),
        ("--tb=long", DIFF, 1),
        ("--tb=short", DIFF, 1),
        ("--tb=native", DIFF, 1),
        ("--tb=line", "", 1),
        ("--tb=line -n1", "", 1),
        ("--tb=no", "", 0),
    ],
)
def test_tb_styles(write_case, run, echo, args, diff, crash_lines):
    write_case("acme", BAD)
    summary = "FAILED acme.extract.yaml::acme - pass_rate 0.667 is below 1, *"
    result = run(*args.split(), failed=1, lines=[summary])
    assert any(fnmatch(line, DIFF) for line in result.outlines) is bool(diff)
    assert ("worst fields" in result.outlines) is (not diff)  # where a diff is shown, it says all of the only case
    places = [each for each in result.outlines if each.startswith("acme.extract.yaml:1: ")]
    told = "failed" if diff else "pass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed"
    assert places == [f"acme.extract.yaml:1: {told}"] * crash_lines


@plain_and_workers
def test_colours(write_case, run, echo, monkeypatch, workers):
    write_case("acme", BAD)
    assert "\x1b" not in run("--color=no", *workers).stdout.str()
    text = run("--color=yes", *workers).stdout.str()
    assert "\x1b[31mpass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed\x1b[0m" in text
    assert '\x1b[32m"ACME GmbH"\x1b[0m' in text
    assert "\x1b[1m\x1b[36m[H→h]\x1b[0m" in text or "\x1b[36m\x1b[1m[H→h]\x1b[0m" in text
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in run(*workers).stdout.str()


def test_the_width_of_the_terminal_is_kept(write_case, run, echo, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    write_case("acme", {**GOLD, "vendor": "A" * 500, "items": [{"name": "x" * 300, "price": 1}]})
    lines = run().outlines
    start = next(i for i, line in enumerate(lines) if line.startswith("____")) + 1
    shown = [line for line in lines[start:] if line.startswith("  ") and "pass_rate" not in line]
    assert shown
    assert max(map(len, shown)) <= 60


def test_v_tells_where_the_values_occur(write_case, run, echo):
    write_case("acme", json.dumps({**BAD, "remark": "not the ACME GmbH"}, indent=1))
    place = "*gold at line 14, column 21; extracted at line 2, column 13"
    run("-v", lines=["*vendor  text *ACME Gmb?H→h?*", place])
    run().stdout.no_fnmatch_line("*gold at line*")


def test_the_text_of_a_pdf_is_kept_between_runs(pytester, write_files, run, monkeypatch):
    pytest.importorskip("pypdfium2")
    pytester.makeconftest(ECHO.replace("document.text", "{'total': 12}"))
    case = "document: a.pdf\nschema: {properties: {total: {type: number}}}\ngold: {total: 12.5}"
    write_files({"a.pdf": small_pdf("Total 12.50 EUR"), "a.extract.yaml": case})
    place = "*gold at line 1, column 7; extracted stands nowhere in the document*"
    run("-v", lines=[place])
    monkeypatch.setattr("pytest_extract.documents.pdf_pages", lambda *_, **__: ("another text",))
    run("-v", lines=[place])
    run("-v", "--cache-clear").stdout.no_fnmatch_line(place)


# hostile texts

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
WAYS = {
    "value": 'return {"a": text, "b": ["##vso" + text]}',
    "key": 'return {"a": "x", text: {text: text}}',
    "prose": 'return "word " * 13 + text + " tail\\n" + text',
    "long": 'return {"a": " ".join([text] * 30)}',
    "raises": 'raise RuntimeError("provider said:\\n" + text + "\\n " + text)',
    "prints": 'print(text); return {"a": "y"}',
    "fails": 'raise pytest_extract.ExtractionFailure("refusal", text + "\\n" + text)',
}


@pytest.mark.parametrize(
    ("args", "width"), [("-q", "80"), ("-vv", "160"), ("--tb=short", "160"), ("--extract-gate=none", "80")]
)
def test_no_text_of_a_model_is_a_command_of_a_ci_service(
    pytester, write_extractor, write_suite, run, monkeypatch, args, width
):
    for name, value in {"COLUMNS": width, "GITHUB_ACTIONS": "true", "CI": "1"}.items():
        monkeypatch.setenv(name, value)
    ways = "\n".join(f"if document.text == {name!r}: {how}" for name, how in WAYS.items())
    write_extractor(f"import pytest_extract\ntext = case.id.partition(' ')[2]\n{ways}", "document, case")
    cases = [{"id": f"{way} {command}", "text": way} for way in WAYS for command in COMMANDS]
    cases += [{"id": f"{command} first", "text": "prints"} for command in COMMANDS]
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {}}}}
    write_suite(cases, schema=schema, gold={"a": "x", "b": ["##vso[x]"]})
    shown = run("--extract-concurrency=1", "--extract-report=r.md", "-rA", args)
    text = shown.stdout.str() + text_of(pytester, "r.md")
    own = [line for line in text.splitlines() if line.startswith(("::error ", "::warning "))]
    assert len(own) >= 10
    assert OBEYED.findall(text) == []
    assert "\\x23#vso[task.complete" in text


def test_hostile_text_stays_text(pytester, write_case, run, echo):
    hostile = {**GOLD, "vendor": "\x1b[2J\u202eevil", "\x1b]0;title\x07": 1}
    write_case("acme", hostile, tags={"\x1b[31m": "x"})
    text = run("-vv", "--junitxml=out.xml", failed=1).stdout.str()
    assert "\\x1b[2J\\u202eevil" in text
    assert not {"\x1b", "\u202e", "\x07"} & {*text, *text_of(pytester, "out.xml")}
    (case,) = ET.parse(pytester.path / "out.xml").iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("acme.extract.yaml", "acme")
    assert "ACME GmbH" in case.find("failure").text


@plain_and_workers
def test_what_an_exception_and_a_log_hold_can_harm_no_terminal_and_no_report(
    pytester, write_case, write_extractor, workers
):
    write_extractor(
        r"""
        import logging
        logging.getLogger().warning("log \ud800 \x1b[31m")
        raise ValueError("boom \ud800 \x1b[2J \u202e12.50\u2066")
        """
    )
    write_case("a")
    write_case("b")
    # In a process of its own: what is logged would reach this test's report too, and break the outer run's xdist.
    result = pytester.runpytest_subprocess("--junitxml=out.xml", *workers)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([r"E * ValueError: boom \ud800 \x1b?2J \u202e12.50\u2066", r"*log \ud800 \x1b?31m"])
    result.stdout.fnmatch_lines_random(
        [r"ERROR ?.extract.yaml::? - and 1 more case: ValueError: boom \ud800 \x1b?2J *"]
    )
    assert text_of(pytester, "out.xml").count("boom") >= 2


def test_an_integer_of_401_digits_leaves_the_run_whole(pytester, write_case, run, echo):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    how = {"schema": schema, "gates": {"schema": False}, "semantics": "extract-bench"}
    write_case("huge", '{"a": 1' + "0" * 400 + "}", gold={"a": 0}, **how)
    write_case("other", {"a": "x"}, gold={"a": "y"}, **how)
    files = ["--extract-report=r.html", "--extract-report=r.jsonl"]
    told = ["*off by more than a float can hold*", "2 cases: 2 failed*", "reports: *r.html, *r.jsonl"]
    run("--extract-judge=exact", *files, failed=2, lines=told)
    assert len(results(pytester)) == 2


# what a case is told besides its fields


def test_what_keeps_a_case_from_passing_is_told(write_case, run, echo):
    price = [{**item, "price": 1} for item in GOLD["items"]]
    known = [{"path": "items[].price", "until": "2999-01-31", "reason": "EX-412"}]
    write_case("a", {**GOLD, "items": price}, known_failures=known)
    write_case("b", {**GOLD, "items": price, "total": 1}, known_failures=known)
    write_case("c", known_failures=[{**known[0], "until": "2020-01-31"}])
    short = {"vendor": "ACME GmbH", "total": 12.5}
    write_case("d", GOLD, gold=short, absent={"items": "must"}, thresholds={"pass_rate": 0.1})
    bounds = {"fields": {"items[].price": 0.9, "vendor": 0.9}, "precision": 0.99, "value_accuracy": 0.5}
    write_case("e", {**BAD, "items": [GOLD["items"][0], {"name": "Nut", "price": 11}]}, thresholds=bounds)
    write_case("f", {**GOLD, "total": "12.50"})
    undeclared = {"gold": {"meta": {"a": [1, 2], "b": "x"}}, "schema": {"properties": {"meta": {}}}}
    write_case("g", {"meta": {"a": [1, 3], "c": True}}, **undeclared)
    told = [
        "*2 of 3 fields passed",
        "*total *mismatch*",
        "  3 values match, 2 known failures",
        "  known failure items??.price expired on 2020-01-31: EX-412",
        "  items* must stay empty, but was extracted",
        "  precision 0.667 is below 0.99, by 0.323",
        "  field items??.price 0.5 is below 0.9, by 0.4: mean of 2 values",
        "  field vendor 0 is below 0.9, by 0.9",
        "  pass_rate 0 is below 1, by 1: the schema gate failed",
        "  schema gate: *total*",
        "*total *mismatch*",
        "*meta *mismatch*",
        "*a?1? 2→3*",
    ]
    run(passed=1, failed=6, lines=told).stdout.no_fnmatch_line("  items?0?.price *")


@plain_and_workers
def test_a_fence_is_said_of_every_case(pytester, write_case, run, echo, workers):
    fenced = f"Sure!\n```json\n{json.dumps(GOLD)}\n```\nbye"
    write_case("acme", fenced)
    write_case("bare", fenced, gates={"bare": True})
    write_case("wrong", fenced.replace("GmbH", "Gmbh"))
    result = run("-v", "--extract-report=r.jsonl", *workers, passed=1, failed=2)
    taken = "JSON taken from a fenced block"
    told = [f"*the text is more than its JSON: {taken}*", f"*{taken}", DIFF, "unusable outputs: 1 not_bare"]
    result.stdout.fnmatch_lines_random([*told, "not bare JSON, in * acme (fenced)*"])
    attempt = next(each for each in results(pytester) if each.case_id == "acme").attempts[0]
    assert (attempt.notes, attempt.score.wrapped) == ((taken,), {"fenced": taken})


def test_an_output_above_its_bound_is_not_read(write_case, run, echo):
    write_case("acme")
    run("-o", "extract_max_output_bytes=50", failed=1, lines=["unusable outputs: 1 output_too_large"])


def test_a_fixture_that_is_not_there_is_told_at_the_case(write_case, write_extractor, run):
    write_extractor("return {}", needs="gone", fixture="")
    write_case("direct", marks=["usefixtures('missing')"])
    write_case("below")
    result = run(errors=2)
    told = ["file */below.extract.yaml, line 1", "E * fixture 'gone' not found", "E * fixture 'missing' not found"]
    told += ["*direct.extract.yaml:1", "error: 1 case: fixture 'gone' not found"]
    result.stdout.fnmatch_lines_random(told)
    result.stdout.no_fnmatch_line("*source code not available*")


# equal causes

DOWN = 'raise ConnectionError("provider is down")'
SAME = "for the same reason: "


@pytest.fixture
def broken(write_case, write_extractor):
    """Write cases `c0`, `c1`, ... whose extractor has this body."""

    def write(count, body=DOWN, needs=""):
        write_extractor(body, needs=needs)
        for number in range(count):
            write_case(f"c{number}", f"document {number}")

    return write


@pytest.mark.parametrize("args", [[], ["-n1"], ["--tb=long"], ["--tb=short"], ["--tb=line"], ["--tb=no"]], ids=str)
def test_many_cases_of_one_cause_are_few_lines(pytester, broken, run, args):
    broken(40)
    told = "ERROR c*.extract.yaml::c* - and 39 more cases: ConnectionError: provider is down"
    result = run("-q", "--junitxml=out.xml", *args, failed=40, lines=told)
    lines = [line for line in result.outlines if "bringing up nodes" not in line]
    assert len([line for line in lines if line.startswith("39 more cases failed")]) == (args != ["--tb=no"])
    assert len(lines) <= 27, "\n".join(lines)  # one of them on JUnit's file
    cases = [*ET.parse(pytester.path / "out.xml").iter("testcase")]
    assert len(cases) == 40
    assert all("provider is down" in str(case[-1].get("message")) for case in cases)


def test_five_are_named_and_vv_shows_each(broken, run):
    broken(8)
    run("-v", lines=[f"7 more cases failed {SAME}c1, c2, c3, c4, c5 and 2 more"])
    assert run("-vv").stdout.str().count(f">       {DOWN}") == 8


def test_an_error_of_a_fixture_is_shown_once(broken, add_to_conftest, run):
    broken(6, needs="down")
    add_to_conftest(f"@pytest.fixture(scope='session')\ndef down():\n    {DOWN}\n")
    result = run("-q", errors=6, lines=[f"5 more cases failed {SAME}c1, *"])
    assert result.stdout.str().count("E       ConnectionError") == 1


def test_numbers_of_requests_and_addresses_do_not_tell_causes_apart(broken, run):
    broken(5, 'raise RuntimeError(f"request req_{abs(hash(document.text)):x} of {object()}")')
    run("-q", lines=[f"4 more cases failed {SAME}*"])


@pytest.mark.parametrize(
    "body",
    [
        "raise KeyError(document.text)",
        'raise KeyError("gpt-4o-2024-08-0" + document.text.split()[1])',
        'line = int(document.text.split()[1]); exec(compile("\\n" * line + "1 / 0", "generated.py", "exec"))',
        "return document.text",
    ],
    ids=["messages", "models", "places", "failed"],
)
def test_other_causes_and_failed_cases_are_shown_each(broken, run, body):
    broken(4, body)
    run("-q", failed=4).stdout.no_fnmatch_line(f"*{SAME}*")
