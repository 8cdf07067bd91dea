"""A project's own metrics and the like, from conftest files, hooks and plugins, in cases and in plain tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_extract.cli import main
from tests.plugin.conftest import ECHO

Write = Callable[..., None]
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


def named(metric: object = "initials") -> dict[str, object]:
    return {"type": "object", "properties": {"name": {"type": "string", "x-eval-compare": metric}}}


def case(write_case: Write, name: str = "a", **keys: object) -> None:
    write_case(name, {"name": "A K"}, **{"schema": named(), "gold": {"name": "Ada King"}, **keys})


def test_a_decorated_function_of_a_conftest_is_a_metric(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(ECHO + INITIALS)
    case(write_case)
    pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_what_a_folder_brings_along_holds_there_and_below(
    pytester: pytest.Pytester, write_case: Write, args: list[str]
) -> None:
    pytester.makeconftest(ECHO + INITIALS)
    for folder, text in {"near": NOTHING_ALIKE, "near/below": "", "other": ""}.items():
        (pytester.mkdir(folder) / "conftest.py").write_text(text, encoding="utf-8")
        case(write_case, f"{folder}/a")
    result = pytester.runpytest("-v", *args)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        ["*other/a.extract.yaml::a*PASSED*" if not args else "*PASSED*other/a.extract.yaml::a*"]
    )


def test_a_name_of_another_folder_is_unknown(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(ECHO)
    (pytester.mkdir("near") / "conftest.py").write_text(INITIALS, encoding="utf-8")
    case(write_case, "near/a")
    case(write_case, "other/a")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*other/a.extract.yaml:1:*no metric 'initials'*"])


@pytest.mark.parametrize(
    "answer",
    ["Extensions.of(initials)", "[initials]", "(each for each in [initials])"],
    ids=["object", "list", "generator"],
)
def test_the_hook_of_a_conftest(pytester: pytest.Pytester, write_case: Write, answer: str) -> None:
    pytester.makeconftest(ECHO + HOOK.format(answer=answer))
    case(write_case)
    pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("answer", "message"),
    [("7", "*pytest_extract_extensions must return*not 7"), ("[len]", "*an extension is a function with a decorator*")],
)
def test_a_hook_that_returns_something_else(
    pytester: pytest.Pytester, write_case: Write, answer: str, message: str
) -> None:
    pytester.makeconftest(ECHO + HOOK.format(answer=answer))
    case(write_case)
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_a_third_party_plugin(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makepyfile(our_metrics=INITIALS)
    pytester.syspathinsert()
    pytester.makeconftest(ECHO)
    case(write_case)
    pytester.runpytest("-p", "our_metrics").assert_outcomes(passed=1)
    pytester.makeconftest(ECHO + NOTHING_ALIKE)
    pytester.runpytest("-p", "our_metrics").assert_outcomes(failed=1)


def test_two_plugins_with_one_name_clash(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makepyfile(ours=INITIALS, theirs=NOTHING_ALIKE)
    pytester.syspathinsert()
    pytester.makeconftest(ECHO)
    case(write_case)
    result = pytester.runpytest("-p", "ours", "-p", "theirs")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the metric 'initials' is brought along by two plugins, 'ours' and 'theirs'"])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (named("initialz"), "*a.extract.yaml:1:*no metric 'initialz'; did you mean 'initials'?"),
        (named({"initials": {"mots": 1}}), "*no parameter 'mots'; did you mean 'most'?"),
        (named({"initials": {"most": "two"}}), "*parameter 'most' must be a whole number, not 'two'"),
    ],
    ids=["name", "parameter", "value"],
)
def test_a_wrong_use_is_a_collection_error(
    pytester: pytest.Pytester, write_case: Write, schema: object, message: str
) -> None:
    pytester.makeconftest(ECHO + INITIALS)
    case(write_case, schema=schema)
    result = pytester.runpytest("--collect-only")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_nothing_leaks_into_the_next_session(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(ECHO + INITIALS)
    case(write_case)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    pytester.makeconftest(ECHO)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no metric 'initials'*"])


def test_a_post_processor_in_a_case(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(ECHO)
    schema = named("exact")
    write_case("a", {"name": ""}, schema=schema, gold={"name": None}, gates={"schema": False}, thresholds={"f1": 1})
    write_case(
        "b",
        {"name": ""},
        schema=schema,
        gold={"name": None},
        gates={"schema": False},
        thresholds={"f1": 1},
        post_process={"name": "reclassify_nulls", "absent_values": [None, ""]},
    )
    pytester.runpytest().assert_outcomes(failed=1, passed=1)


def test_a_post_processor_that_breaks_breaks_the_case(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        ECHO
        + """
from pytest_extract import extend

@extend.post_processor()
def clumsy(results, transformed):
    return results["a"]
"""
    )
    write_case("a", post_process="clumsy")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*BROKEN*", "*the post-processor 'clumsy' broke: TypeError*"])


def test_the_fixture_gives_them_to_plain_tests(pytester: pytest.Pytester) -> None:
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
    pytester.runpytest().assert_outcomes(passed=2)


def test_the_page_s_own_conftest_runs(pytester: pytest.Pytester) -> None:
    from importlib import resources

    page = (resources.files("pytest_extract.docs") / "extending.md").read_text(encoding="utf-8")
    files = files_of(page)
    assert {name.name for name in files} == {"conftest.py", "people.schema.json", "staff.extract.yaml", "test_plain.py"}
    for path, text in files.items():
        (pytester.path / path).write_text(text, encoding="utf-8")
    json.loads((pytester.path / "people.schema.json").read_text(encoding="utf-8"))
    result = pytester.runpytest("-v")
    result.assert_outcomes(passed=2)


def files_of(page: str) -> dict[Path, str]:
    """Files that a page shows: a line ``NAME:`` in backquotes, then a fenced block."""
    files, name, lines = {}, None, iter(page.split("\n"))
    for line in lines:
        if line.startswith("`") and line.endswith("`:"):
            name = Path(line.strip("`:"))
        elif line.startswith("```") and name is not None:
            block = []
            for inner in lines:
                if inner.startswith("```"):
                    break
                block.append(inner)
            files[name], name = "\n".join(block) + "\n", None
    return files


def test_a_measure_of_a_conftest_is_bounded_reported_and_compared(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    pytester.makeconftest(
        """
        import pytest
        from pytest_extract import extend

        @pytest.fixture
        def extractor():
            return lambda document: {"a": document.text}

        @extend.measure()
        def straight_through(gold, extracted):
            return gold["a"] == extracted["a"]
        """
    )
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    bound = {"measures": {"straight_through": 1.0}}
    cases = [{"id": name, "text": name, "gold": {"a": "x"}} for name in ("x", "y")]
    path = pytester.path / "a.extract.yaml"
    path.write_text(json.dumps({"defaults": {"schema": schema, "thresholds": bound}, "cases": cases}), encoding="utf-8")
    result = pytester.runpytest("--extract-report=r.jsonl")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["  straight_through 0 is below 1, by 1"])
    records = [json.loads(line) for line in (pytester.path / "r.jsonl").read_text("utf-8").splitlines()]
    measured = [each["attempts"][0]["score"]["measures"]["straight_through"] for each in records]
    assert sorted(measured) == [0.0, 1.0]
    assert main(["report", str(pytester.path / "r.jsonl")]) == 0
    assert re.search(r"straight_through +0\.5 ", capsys.readouterr().out)
    rule = ("--extract-baseline=b.json", "--extract-rule=measure=straight_through")
    pytester.runpytest("--extract-update-baseline", *rule).stdout.fnmatch_lines(["baseline written: *"])
    pytester.runpytest("--extract-gate=regression", *rule).stdout.fnmatch_lines(
        ["PASS. straight_through 50.0 %, was 50.0 %*"]
    )
    suite = ("--extract-gate=suite", "-o", "extract_suite_thresholds=straight_through=0.9")
    pytester.runpytest(*suite).stdout.fnmatch_lines(["*straight_through 0.5000 < 0.9 over 2 cases*"])
    other = pytester.runpytest(*suite[:2], "extract_suite_thresholds=strait_through=0.9")
    other.stderr.fnmatch_lines(["*no measure 'strait_through'; did you mean 'straight_through'?"])
    path.write_text(path.read_text("utf-8").replace("straight_through", "strait_through"), encoding="utf-8")
    wrong = pytester.runpytest()
    wrong.stdout.fnmatch_lines(
        ["*: no measure of the project is called 'strait_through'; did you mean 'straight_through'?"]
    )
