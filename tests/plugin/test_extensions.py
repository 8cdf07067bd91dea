"""A project's own metrics and the like, from conftest files, hooks and plugins, in cases and in plain tests."""

from __future__ import annotations

import json
import re
from importlib import resources

import pytest

from pytest_extract.cli import main
from tests.plugin.conftest import ECHO, plain_and_workers, refused, results

INITIALS = """
from pytest_extract import extend

@extend.metric()
def initials(gold, extracted, *, most: int = 9):
    return [w[0] for w in gold.split()][:most] == [w[0] for w in extracted.split()][:most]
"""
NOTHING_ALIKE = """
from pytest_extract import extend

@extend.metric("initials")
def nothing_is_alike(gold, extracted):
    return 0.0
"""
HOOK = """
from pytest_extract import Extensions, extend

@extend.metric()
def never(gold, extracted):
    return False

def pytest_extract_extensions(config):
    @extend.metric()
    def initials(gold, extracted):
        return gold[0] == extracted[0]

    return {answer}
"""


def named(metric="initials"):
    return {"type": "object", "properties": {"name": {"type": "string", "x-eval-compare": metric}}}


@pytest.fixture
def case(write_case):
    """Write a case whose output is right by the metric `initials` only."""

    def write(name="a", metric="initials"):
        write_case(name, {"name": "A K"}, schema=named(metric), gold={"name": "Ada King"})

    return write


def test_a_decorated_function_of_a_conftest_is_a_metric_of_this_session(pytester, case, run):
    pytester.makeconftest(ECHO + INITIALS)
    case()
    run(passed=1)
    pytester.makeconftest(ECHO)
    run(errors=1, lines=["*no metric 'initials'*"])


@plain_and_workers
def test_what_a_folder_brings_along_holds_there_and_below(pytester, case, write_files, run, workers):
    pytester.makeconftest(ECHO)
    for folder, text in {"near": INITIALS, "near/below": "", "near/own": NOTHING_ALIKE, "other": ""}.items():
        write_files({f"{folder}/conftest.py": text})
        case(f"{folder}/a")
    told = "*other/a.extract.yaml:1:*no metric 'initials'*"
    run(*workers, passed=2, failed=1, errors=1, lines=[told, "FAILED near/own/a.extract.yaml::a*"])


@pytest.mark.parametrize(
    ("answer", "outcome", "told"),
    [
        ("Extensions.of(initials)", "passed", "*1 passed*"),
        ("[initials]", "errors", "*conftest.py: pytest_extract_extensions must return Extensions.of(FUNCTION, ...), *"),
        ("Extensions.of(len)", "errors", "*an extension is a function with a decorator*"),
    ],
)
def test_the_hook_of_a_conftest_gives_extensions(pytester, case, run, answer, outcome, told):
    pytester.makeconftest(ECHO + HOOK.format(answer=answer))
    case()
    run(lines=[told], **{outcome: 1})


def test_a_conftest_overrides_third_party_plugins_and_two_of_them_clash(pytester, case, run):
    pytester.makepyfile(ours=INITIALS, theirs=NOTHING_ALIKE)
    pytester.syspathinsert()
    pytester.makeconftest(ECHO)
    case()
    run("-p", "ours", passed=1)
    clash = "*the metric 'initials' is brought along by two plugins, 'ours' and 'theirs'"
    run("-p", "ours", "-p", "theirs", errors=1, lines=[clash])
    pytester.makeconftest(ECHO + NOTHING_ALIKE)
    run("-p", "ours", failed=1)


def test_a_wrong_use_is_a_collection_error(pytester, case, run):
    pytester.makeconftest(ECHO + INITIALS)
    case("a", metric="initialz")
    case("b", metric={"initials": {"mots": 1}})
    case("c", metric={"initials": {"most": "two"}})
    told = [
        "*a.extract.yaml:1:*no metric 'initialz'; did you mean 'initials'?",
        "*no parameter 'mots'; did you mean 'most'?",
        "*parameter 'most' must be a whole number, not 'two'",
    ]
    run("--collect-only", errors=3, lines=told)


def test_a_post_processor_in_a_case(pytester, write_case, run):
    pytester.makeconftest(
        ECHO
        + """
from pytest_extract import extend

@extend.post_processor()
def clumsy(results, transformed):
    return results["a"]
"""
    )
    keys = {"gold": {"name": None}, "gates": {"schema": False}, "thresholds": {"f1": 1}}
    nulls = {"name": "reclassify_nulls", "absent_values": [None, ""]}
    write_case("a", {"name": ""}, schema=named("exact"), **keys)
    write_case("b", {"name": ""}, schema=named("exact"), **keys, post_process=nulls)
    write_case("c", post_process="clumsy")
    run(failed=2, passed=1, lines=["*ERROR*", "*the post-processor 'clumsy' broke: TypeError*"])


def test_the_fixture_gives_them_to_plain_tests(pytester, run):
    pytester.makeconftest(INITIALS)
    pytester.makepyfile(
        f"""
        from pytest_extract import assert_extraction, score

        SCHEMA = {named()!r}
        VALUES = dict(gold={{"name": "Ada King"}}, schema=SCHEMA)

        def test_assert(extract_extensions):
            assert_extraction({{"name": "A K"}}, extensions=extract_extensions, **VALUES)

        def test_score(extract_extensions):
            assert score(SCHEMA, VALUES["gold"], {{"name": "A X"}}, extensions=extract_extensions).measures["f1"] == 0
        """
    )
    run(passed=2)


def test_the_manual_s_own_conftest_runs(write_files, run):
    page = (resources.files("pytest_extract.docs") / "extending.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"^`([\w.]+)`:\n+```\w*\n(.*?\n)```", page, re.MULTILINE | re.DOTALL))
    assert {*files} == {"conftest.py", "people.schema.json", "staff.extract.yaml", "test_plain.py"}
    write_files(files)
    json.loads(files["people.schema.json"])
    run("-v", passed=2)


def test_a_measure_of_a_conftest_is_bounded_reported_and_compared(
    pytester, write_extractor, add_to_conftest, write_suite, run, capsys
):
    write_extractor("return {'a': document.text}")
    add_to_conftest(
        """
        from pytest_extract import extend

        @extend.measure()
        def straight_through(gold, extracted):
            return gold["a"] == extracted["a"]
        """
    )

    def suite(measure):
        cases = [{"id": name, "text": name, "gold": {"a": "x"}} for name in ("x", "y")]
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        write_suite(cases, schema=schema, thresholds={"measures": {measure: 1.0}})

    suite("straight_through")
    run("--extract-report=r.jsonl", passed=1, failed=1, lines=["  straight_through 0 is below 1, by 1"])
    measured = [each.attempts[0].score.measures["straight_through"] for each in results(pytester)]
    assert sorted(measured) == [0.0, 1.0]
    capsys.readouterr()
    assert main(["report", "r.jsonl"]) == 0
    assert re.search(r"straight_through +0\.5 ", capsys.readouterr().out)
    rule = ("--extract-baseline=b.json", "--extract-rule=measure=straight_through")
    run("--extract-update-baseline", *rule, lines=["baseline written: *"])
    run("--extract-gate=regression", *rule, lines=["PASS. straight_through 50.0 %, was 50.0 %*"])
    gate = ("--extract-gate=suite", "-o")
    missed = "*straight_through 0.5000 < 0.9 over 2 cases*"
    run(*gate, "extract_suite_thresholds=straight_through=0.9", lines=[missed])
    unknown = "*no measure 'strait_through'; did you mean 'straight_through'?"
    refused(run(*gate, "extract_suite_thresholds=strait_through=0.9"), unknown)
    suite("strait_through")
    run(lines=["*: no measure of the project is called 'strait_through'; did you mean 'straight_through'?"])


def test_a_wrapper_of_the_hook_is_called_as_pluggy_calls_it(write_case, run, echo, add_to_conftest):
    add_to_conftest(
        """
        @pytest.hookimpl(wrapper=True)
        def pytest_extract_extensions(config):
            return (yield)
        """
    )
    write_case("acme")
    run(passed=1)
