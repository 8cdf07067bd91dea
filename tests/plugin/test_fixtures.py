"""The fixture `extractor` and the others of a project: scopes, folders, params, errors; and what extractors return."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import GOLD, GREEN, SCHEMA, results, text_of


@pytest.mark.parametrize(
    ("scope", "times"), [("function", 3), ("class", 3), ("module", 2), ("package", 1), ("session", 1)]
)
def test_any_scope_works_and_is_set_up_as_often_as_it_says(write_case, write_suite, write_fixture, run, scope, times):
    body = "print('\\nset up'); yield lambda document: document.text; print('\\ntorn down')"
    write_fixture(body, fixture=f"(scope={scope!r})")
    write_suite([{}, {}], text=json.dumps(GOLD), schema=SCHEMA, gold=GOLD)
    write_case("below/c")
    result = run("-s", passed=3)
    assert result.outlines.count("set up") == result.outlines.count("torn down") == times


def test_the_nearest_conftest_wins_and_may_use_the_one_above(pytester, write_case, write_extractor, run):
    write_extractor("return document.text[::-1]")
    pytester.mkdir("near")
    write_extractor("return extractor(document)[::-1]", needs="extractor", folder="near")
    write_case("near/acme")
    write_case("far/acme")
    run("-v", lines=["far/acme.extract.yaml::acme FAILED*", "near/acme.extract.yaml::acme PASSED*"])


def test_autouse_fixtures_run_around_a_case_and_record_properties(
    pytester, write_case, write_extractor, add_to_conftest, run
):
    write_extractor("return document.text", needs="tmp_path, request", fixture="")
    add_to_conftest(
        """
        from collections import namedtuple

        @pytest.fixture(autouse=True)
        def around(request, record_property):
            record_property("size", namedtuple("Size", "width height")(3, "4"))
            print("before", request.node.name)
            yield
            print("after", request.node.name)
        """
    )
    write_case("acme")
    junit = ("--junitxml=junit.xml", "-o", "junit_family=xunit1")
    run("-s", *junit, passed=1, lines=["*before acme*", "*after acme*"])
    assert "value=\"Size(width=3, height='4')\"" in text_of(pytester, "junit.xml")


# what an extractor is given, and what it returns


def test_an_extractor_gets_what_its_signature_names(write_case, write_extractor, run):
    extract = "assert (question, prompt, model) == ('What?', None, None)\nreturn case.document.text"
    write_extractor(extract, arguments="document, question, prompt, model, case, other=1")
    write_case("acme", question="What?")
    run(passed=1)


def test_an_extractor_that_changes_what_it_is_given_changes_no_case(write_extractor, write_suite, run):
    write_extractor(
        """
        assert schema["required"] == ["vendor", "total"]
        schema["required"] = ["nothing"]
        schema["properties"].clear()
        case.gold.clear()
        return document.text
        """,
        arguments="document, schema, case",
    )
    bad = json.dumps({**GOLD, "total": 1})
    write_suite([{"text": json.dumps(GOLD)}, {"text": bad}], schema=SCHEMA, gold=GOLD)
    run(passed=1, failed=1, lines=["  pass_rate 0.667 is below 1, *"])


def test_a_declined_document_fails_its_case_and_is_replayed(pytester, write_case, write_extractor, calls, run):
    write_extractor(
        "import pytest_extract\nraise pytest_extract.ExtractionFailure(document.text, 'more than the model takes: 1,200')"
    )
    kinds = ("context_length", "page_limit", "refusal", "schema_rejected")
    for kind in kinds:
        write_case(kind, kind)
    told = [f"  {kind}: more than the model takes: 1,200" for kind in kinds]
    told += [f"unusable outputs: {', '.join(f'1 {kind}' for kind in kinds)}"]
    live = ["--extract-record=once", "--extract-report=r.jsonl", "--extract-budget=1", "--extract-concurrency=1"]
    for args in (live, ["--extract-record=none"], ["--extract-from=r.jsonl"]):
        run(*args, failed=4, lines=told).stdout.no_fnmatch_line("*ERROR*")
    assert calls() == 4
    scores = [each.attempts[0].score for each in results(pytester)]
    assert [(score.failure.kind, score.measures["pass_rate"]) for score in scores] == [(kind, 0.0) for kind in kinds]


# no extractor, or one that raises


def test_without_an_extractor_one_error_says_what_to_write(write_case, run):
    for name in "abcd":
        write_case(name)
    run("--collect-only", status=GREEN)
    result = run(errors=4, lines=["no extractor for this case*conftest.py*", "*--extract-model=PROVIDER/NAME*"])
    assert result.stdout.str().count("def extractor():") == 1
    result.stdout.no_fnmatch_line("*raise ConfigError*")


def test_a_failing_fixture_is_an_error_of_its_cases(pytester, write_case, write_fixture, run):
    write_fixture("raise RuntimeError('no key')", fixture="")
    write_case("acme")
    result = run("--extract-report=r.jsonl", errors=1, lines=["*raise RuntimeError('no key')*", "1 case: 1 error"])
    for frames in ("*_pytest?fixtures.py*", "*pluggy?_callers.py*"):
        result.stdout.no_fnmatch_line(frames)
    assert results(pytester)[0].outcome == "error"


def test_a_raising_extractor_breaks_its_case_only(write_case, write_extractor, add_to_conftest, run):
    write_extractor("return helper(document) if 'boom' in document.text else document.text")
    add_to_conftest("def helper(document):\n    return {'vendor': 1}['total']\n")
    write_case("bad", "boom")
    write_case("good")
    told = [
        "ERROR: the extractor raised; this case says nothing about the extraction",
        "*return helper(document) if*",
        "conftest.py:*",
        "*return {'vendor': 1}?'total'?*",
        "E *KeyError: 'total'",
        "2 cases: 1 passed, 1 error*",
        "error: 1 case: KeyError: 'total'",
        "ERROR bad.extract.yaml::bad - KeyError: 'total'",
    ]
    assert "call_extractor" not in run(passed=1, failed=1, lines=told).stdout.str()


@pytest.mark.parametrize("style", ["auto", "short", "native", "line", "no"])
def test_a_raising_coroutine_shows_the_user_s_frames_as_tb_says(write_case, write_fixture, run, style):
    write_fixture('async def extract(document):\n    raise ValueError("late")\nreturn extract')
    write_case("acme")
    text = run(f"--tb={style}", lines=["ERROR acme.extract.yaml::acme - ValueError: late"]).stdout.str()
    assert ('raise ValueError("late")' in text) == (style not in {"line", "no"})
    if style != "native":
        assert "futures" not in text
        assert "pytest_extract/" not in text


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("--setup-show", "*acme.extract.yaml::acme?m? (fixtures used: *extractor*)*"),
        ("--setup-plan", "*SETUP * extractor"),
        ("--fixtures-per-test", "extractor -- conftest.py:*"),
        ("--fixtures", "extract_model ?session scope? -- *"),
    ],
)
def test_pytest_s_own_reports_on_fixtures(write_case, write_extractor, run, option, line):
    write_extractor("return document.text", "document, model")
    write_case("acme")
    run(option, "--extract-model=m", "--extract-model=n", lines=[line]).stdout.no_fnmatch_line("*INTERNALERROR*")


# params


@pytest.mark.parametrize(
    ("fixtures", "name", "option"),
    [
        ("@pytest.fixture(params='xy')\ndef extractor(): return lambda model: '{}'", "extractor", "--extract-model=m"),
        ("@pytest.fixture(params='xy', autouse=True)\ndef other(): ...", "other", "--extract-model=m"),
        ("@pytest.fixture(params='xy')\ndef behind(): ...", "behind", "--extract-record=off"),
        ("@pytest.fixture(params='xy')\ndef behind(): ...", "behind", "--extract-record=once"),
    ],
)
def test_params_that_make_no_variants_say_what_to_do_instead(
    write_case, write_extractor, add_to_conftest, run, fixtures, name, option
):
    write_extractor("return {}", "model", needs="behind" if name == "behind" else "", fixture="")
    add_to_conftest(fixtures)
    write_case("acme")
    run(option, errors=1, lines=[f"the fixture '{name}' has params, and a case is not run once for each: *"])


GIVES_ITS_PARAM = """
print("made", request.param)
yield lambda document: {"vendor": "ACME GmbH" if request.param == "regex" else "ACNE", "total": request.param}
print("closed", request.param)
"""


@pytest.mark.parametrize(
    ("ids", "names", "workers"),
    [
        (None, ["regex", "extractor1", "3"], "-n2"),
        (["a", "b", "c"], ["a", "b", "c"], "-n0"),
        ("lambda value: 'llm' if isinstance(value, dict) else None", ["regex", "llm", "3"], "-n0"),
    ],
)
def test_params_of_the_extractor_are_variants(pytester, write_case, write_fixture, run, ids, names, workers):
    write_fixture(GIVES_ITS_PARAM, "request", f"(params=['regex', {{'llm': 1}}, 3], ids={ids}, scope='session')")
    for name in ("acme", "born"):
        write_case(name)
    result = run(workers, "--extract-record=once", "--extract-report=r.jsonl", "-s", lines=[f"*{names[0]} -> *"])
    variants = {one.nodeid: one.variant.param for one in results(pytester)}
    assert variants == {f"{case}.extract.yaml::{case}[{name}]": name for case in ("acme", "born") for name in names}
    if workers == "-n0":
        assert [result.stdout.str().count(word) for word in ("made ", "closed ")] == [3, 3]
    run(f"acme.extract.yaml::acme[{names[1]}]", failed=1)
    run("--extract-from=r.jsonl", "--extract-report=again.jsonl", failed=6, lines=[f"*{names[0]} -> *"])
    run("--extract-record=none", "--extract-report=replayed.jsonl", failed=6)
    for report in ("r", "again", "replayed"):
        found = results(pytester, f"{report}.jsonl")
        assert len(found) == 6
        outputs = {one.variant.param: one.attempts[0].output["total"] for one in found}
        assert outputs == dict(zip(names, ["regex", {"llm": 1}, 3], strict=True))
    refused = "*: several variants of the extractor cannot update one gold*"
    run("--extract-update-gold=fix", lines=[refused])


def test_params_are_named_and_given_as_pytest_does(pytester, write_case, write_fixture, run):
    odd = "pytest.param('gpt', id='small'), pytest.param('b', marks=pytest.mark.skip('later'))"
    body = "return lambda document: {'vendor': str(request.param), 'total': 1}"
    write_fixture(body, "request", f"(params=[{odd}, None, dict, 'a', 'a'])")
    pytester.makepyfile(test_own="def test_params(extractor): ...")
    write_case("acme")
    own = run("--collect-only", "-q", "test_own.py").outlines
    ids = {line.partition("[")[2] for line in own if "[" in line}
    run("acme.extract.yaml", "--extract-report=r.jsonl", failed=5, skipped=1)
    found = results(pytester)
    assert {one.nodeid.partition("[")[2] for one in found} == ids - {"b]"}
    said = {one.variant.param: one.attempts[0].output["vendor"] for one in found if one.attempts}
    assert said == {"small": "gpt", "None": "None", "dict": "<class 'dict'>", "a0": "a", "a1": "a"}


@pytest.mark.parametrize(
    ("own", "params"),
    [
        ("@pytest.fixture\ndef extractor(tmp_path_factory): return lambda: '{}'", [None]),
        ("@pytest.fixture\ndef extractor(extractor): return extractor", ["a", "b"]),
        ("@pytest.fixture(params=['c'])\ndef extractor(extractor, request): return extractor", ["c"]),
    ],
    ids=["no params of its own", "asks for the one above", "own params"],
)
def test_an_extractor_of_a_folder_may_override_one_with_params(pytester, write_case, write_files, run, own, params):
    above = "@pytest.fixture(params=['a', 'b'])\ndef extractor(tmp_path): return lambda: '{}'"
    write_files({"conftest.py": f"import pytest\n\n{above}\n", "below/conftest.py": f"import pytest\n\n{own}\n"})
    write_case("below/acme")
    result = run("--extract-report=r.jsonl")
    assert "errors" not in result.parseoutcomes()
    assert [(one.variant.param, len(one.attempts)) for one in results(pytester)] == [(param, 1) for param in params]
