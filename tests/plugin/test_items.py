from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_extract.results import read_results
from tests.plugin.conftest import ECHO, GOLD, SCHEMA

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]
BAD = {**GOLD, "vendor": "ACME Gmbh"}


def nodeids(pytester: pytest.Pytester, *args: str) -> list[str]:
    result = pytester.runpytest("--collect-only", "-q", *args)
    return [line for line in result.outlines if "::" in line]


def test_one_file_is_one_case(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("invoices/acme")
    write_case("other", id="own id")
    assert nodeids(pytester) == ["invoices/acme.extract.yaml::acme", "other.extract.yaml::own id"]
    pytester.runpytest().assert_outcomes(passed=2)


def test_the_short_suffix_counts_too(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme")
    (pytester.path / "acme.extract.yaml").rename(pytester.path / "acme.extract.yml")
    assert nodeids(pytester) == ["acme.extract.yml::acme"]


def test_many_cases_in_a_file_share_defaults(pytester: pytest.Pytester) -> None:
    cases = [{"id": "good", "text": json.dumps(GOLD)}, {"id": "bad", "text": json.dumps(BAD)}]
    whole = {"defaults": {"schema": SCHEMA, "gold": GOLD}, "cases": cases}
    (pytester.path / "many.extract.yaml").write_text(json.dumps(whole), encoding="utf-8")
    assert nodeids(pytester) == ["many.extract.yaml::good", "many.extract.yaml::bad"]
    pytester.runpytest().assert_outcomes(passed=1, failed=1)


def test_a_dataset_is_one_case_a_line(pytester: pytest.Pytester) -> None:
    lines = [json.dumps({"id": f"c{i}", "text": json.dumps(GOLD), "gold": GOLD}) for i in range(3)]
    (pytester.path / "records.jsonl").write_text("\n".join(lines), encoding="utf-8")
    whole = {"dataset": "records.jsonl", "defaults": {"schema": SCHEMA}}
    (pytester.path / "set.extract.yaml").write_text(json.dumps(whole), encoding="utf-8")
    assert nodeids(pytester) == [f"set.extract.yaml::c{i}" for i in range(3)]
    pytester.runpytest().assert_outcomes(passed=3)


def test_no_item_has_a_callspec(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme")
    items, _ = pytester.inline_genitems("--extract-model=m")
    assert [item.nodeid for item in items] == ["acme.extract.yaml::acme[m]"]
    assert not hasattr(items[0], "callspec")
    assert items[0].location == ("acme.extract.yaml", 0, "acme[m]")


def test_collect_only_reads_no_document(pytester: pytest.Pytester) -> None:
    case = {"document": "fifo.pdf", "schema": SCHEMA, "gold": GOLD}
    (pytester.path / "acme.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    document = pytester.path / "fifo.pdf"
    document.write_bytes(b"not a PDF")
    document.chmod(0)
    assert nodeids(pytester) == ["acme.extract.yaml::acme"]


@pytest.mark.parametrize(
    ("args", "selected"),
    [
        pytest.param(["-k", "acme"], ["acme"], id="k"),
        pytest.param(["-m", "slow"], ["beta"], id="m"),
        pytest.param(["-m", "not slow"], ["acme"], id="not-m"),
        pytest.param(["--deselect", "acme.extract.yaml::acme"], ["beta"], id="deselect"),
        pytest.param(["acme.extract.yaml::acme"], ["acme"], id="node-id"),
        pytest.param(["--ignore", "acme.extract.yaml"], ["beta"], id="ignore"),
    ],
)
def test_selection(pytester: pytest.Pytester, write_case: Write, args: list[str], selected: list[str]) -> None:
    pytester.makeini("[pytest]\nmarkers =\n    slow: takes long\naddopts = --strict-markers\n")
    write_case("acme")
    write_case("beta", marks=["slow"])
    assert nodeids(pytester, *args) == [f"{name}.extract.yaml::{name}" for name in selected]


def test_marks_act_as_on_any_item(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a", BAD, marks=["xfail(reason='scanned upside down')"])
    write_case("b", BAD, marks=["skip(reason='no')"])
    write_case("c", marks=["xfail(strict=True)"])
    result = pytester.runpytest("-rxs")
    result.assert_outcomes(xfailed=1, skipped=1, failed=1)
    result.stdout.fnmatch_lines(
        ["2 cases: 1 passed, 1 failed (1 as an xfail mark says)*", "XFAIL a.extract.yaml::a - scanned upside down*"]
    )


def test_a_hook_may_take_every_item_for_a_function(pytester: pytest.Pytester, write_case: Write) -> None:
    """Hooks of projects and plugins from before the cases; see https://docs.pytest.org for `Function`."""
    conftest = pytester.path / "conftest.py"
    hook = """

def pytest_collection_modifyitems(items):
    import inspect

    for item in items:
        module = item.module
        assert item.parent.obj is module and item.module.__file__ == str(item.path)
        slow = module.__name__.endswith("_slow") or item.originalname == "b"
        assert item.cls is None and item.instance is None and not hasattr(module, "SERIAL")
        assert item.obj.__name__ == item.function.__name__ == item.originalname and item.obj.__doc__ is None
        assert item.obj.__module__ == item.function.__module__ == module.__name__
        assert not inspect.iscoroutinefunction(item.obj) and not hasattr(item, "callspec")
        assert "extractor" in item.fixturenames and inspect.signature(item.function)
        if slow:
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def named(request):
    assert request.module.__name__ == request.node.module.__name__ and request.cls is None
"""
    conftest.write_text("import pytest\n" + conftest.read_text(encoding="utf-8") + hook, encoding="utf-8")
    for name in ("a", "b", "big_slow"):
        write_case(name)
    result = pytester.runpytest("-v", "-m", "slow", "--extract-model=m", "--extract-model=n", "-W", "ignore")
    result.assert_outcomes(passed=4, deselected=2)


def test_conditions_of_marks_are_evaluated(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a", marks=["skipif('sys.maxsize > 1', reason='everywhere')"])
    write_case("b", BAD, marks=["xfail('sys.maxsize > 1', reason='so far')"])
    write_case("c", marks=["skipif('sys.maxsize < 1', reason='nowhere')"])
    pytester.runpytest("--strict-markers").assert_outcomes(passed=1, skipped=1, xfailed=1)


def test_an_unknown_mark_is_a_collection_error_under_strict_markers(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    pytester.makeini("[pytest]\naddopts = --strict-markers\n")
    write_case("acme", marks=["slwo"])
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*acme.extract.yaml:1: *slwo*"])


def test_an_unknown_mark_warns_with_the_case_file_otherwise(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme", marks=["slwo"])
    result = pytester.runpytest("-Wdefault")
    result.stdout.fnmatch_lines(["*acme.extract.yaml:1: PytestUnknownMarkWarning: *slwo*"])


def test_usefixtures_as_a_mark(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def noisy(request):
            print("noisy for", request.node.name)

        @pytest.fixture
        def extractor():
            return lambda document: document.text
        """
    )
    write_case("acme", marks=["usefixtures('noisy')"])
    pytester.runpytest("-s").stdout.fnmatch_lines(["*noisy for acme*"])


def test_a_hook_may_ask_for_a_fixture_before_the_case_runs(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def noisy(request):
            print("noisy for", request.node.name)

        @pytest.fixture
        def extractor():
            return lambda document: document.text

        def pytest_collection_modifyitems(items):
            for item in items:
                assert "extractor" in item.fixturenames
                item.fixturenames.append("noisy")
        """
    )
    write_case("acme")
    write_case("other")
    result = pytester.runpytest("-s")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*noisy for acme*", "*noisy for other*"])


MODELS = ("--extract-model=p/m", "--extract-model=p/n")


def test_last_failed(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a", BAD)
    write_case("b")
    write_case("c", BAD)
    pytester.runpytest().assert_outcomes(passed=1, failed=2)
    assert nodeids(pytester, "--lf") == ["a.extract.yaml::a", "c.extract.yaml::c"]


@pytest.mark.parametrize(
    ("name", "args"),
    [("a[1]", ()), ("a[b][c] d", ()), ("[x]", ()), *((name, MODELS) for name in ("plain", "a[b][c] d"))],
)
def test_last_failed_knows_a_case_with_brackets(
    pytester: pytest.Pytester, write_case: Write, name: str, args: tuple[str, ...]
) -> None:
    write_case("bad", BAD, id=name)
    write_case("good", id="good[0]")
    pytester.runpytest(*args).assert_outcomes(passed=len(args) or 1, failed=len(args) or 1)
    models = ("[p/m]", "[p/n]") if args else ("",)
    shown = name if args or name.endswith("]") else name.replace("[", "(").replace("]", ")")
    assert nodeids(pytester, "--lf", *args) == [f"bad.extract.yaml::{shown}{model}" for model in models]
    pytester.runpytest("--sw", *args).assert_outcomes(failed=1)
    result = pytester.runpytest("--sw", "-v", *args)
    result.stdout.no_fnmatch_line("*previously failed test not found*")


@pytest.mark.parametrize(
    "args", [["../a/x.extract.yaml", "../b/x.extract.yaml"], ["../a", "../b"], [".."]], ids=["files", "folders", "all"]
)
def test_cases_outside_of_rootdir_keep_apart(
    pytester: pytest.Pytester,
    write_case: Write,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
) -> None:
    write_case("a/x", id="one")
    write_case("b/x", BAD, id="one")
    pytester.mkdir("root").joinpath("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    pytester.path.joinpath("echo_plugin.py").write_text(ECHO, encoding="utf-8")
    pytester.syspathinsert()
    monkeypatch.chdir("root")
    record = ("--extract-record=once", "--extract-recordings=recorded", "--extract-report=r.jsonl")
    for _ in range(2):
        result = pytester.runpytest("-c", "pytest.ini", "-p", "echo_plugin", *record, *args)
        result.assert_outcomes(passed=1, failed=1)
        results = read_results(pytester.path / "root" / "r.jsonl").results
        assert sorted(each.nodeid for each in results) == ["../a/x.extract.yaml::one", "../b/x.extract.yaml::one"]


def test_stop_at_the_first_failure(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a", BAD)
    write_case("b", BAD)
    pytester.runpytest("-x").assert_outcomes(failed=1)


def test_junit_xml_holds_the_diff(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme", {**GOLD, "vendor": "ACME\x1b[31m"})
    pytester.runpytest("--junitxml=out.xml").assert_outcomes(failed=1)
    text = (pytester.path / "out.xml").read_text(encoding="utf-8")
    assert re.search(r'<testcase classname="acme\.extract\.yaml" name="acme"', text)
    assert "vendor" in text
    assert "ACME GmbH" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("args", [[], ["-n0"], ["-n2"]], ids=["plain", "n0", "n2"])
def test_the_whole_way(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    write_case("good")
    write_case("bad", BAD)
    write_case("cut", '{"vendor": ')
    result = pytester.runpytest(*args)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            '*vendor * mismatch *gold "ACME GmbH"  extracted "ACME Gmbh"  ACME Gmb?H→h?*',
            "  truncated_json at line 1, column *",
            "3 cases: 1 passed, 2 failed; *",
            "unusable outputs: 1 truncated_json",
        ]
    )


def test_random_order(pytester: pytest.Pytester, write_case: Write) -> None:
    for name in "abcdef":
        write_case(name)
    first = nodeids(pytester)
    assert len(first) == 6


def test_reruns_call_the_extractor_again(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest
        import pytest_extract

        @pytest.fixture
        def extractor(request, pytestconfig):
            def extract(document):
                pytestconfig.calls = getattr(pytestconfig, "calls", 0) + 1
                text = document.text if pytestconfig.calls > 2 else "{}"
                return pytest_extract.Extraction(text, cost_usd=1.5)
            return extract
        """
    )
    write_case("acme")
    result = pytester.runpytest(
        "-p", "rerunfailures", "--reruns=3", "--extract-report=r.jsonl", "--extract-report=r.md"
    )
    result.assert_outcomes(passed=1)
    cost = "cost: $4.5000 ($3.0000 of it for 2 calls before reruns)"
    result.stdout.fnmatch_lines([cost, "*1 passed, 2 rerun*"])
    assert cost in Path("r.md").read_text(encoding="utf-8")
    lines = Path("r.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["passed"]


def test_a_time_out_breaks_the_case(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest, time

        @pytest.fixture
        def extractor():
            return lambda document: time.sleep(3600)
        """
    )
    for name in ("slow", "slow2"):
        write_case(name, marks=["timeout(1, method='signal', func_only=True)"])
    result = pytester.runpytest("-p", "timeout")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["2 cases: 2 broken", "broken: 2 cases: Failed: Timeout*"])


def test_an_extractor_that_skips_skips_the_case(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def extractor():
            return lambda document: pytest.skip("no key here")
        """
    )
    write_case("acme")
    result = pytester.runpytest("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.no_fnmatch_line("*= extraction =*")


def test_python_tests_run_beside_cases(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("acme")
    pytester.makepyfile("def test_it(extract_model): assert extract_model is None")
    pytester.runpytest().assert_outcomes(passed=2)


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    ("id_", "shown"),
    [("[fan24] rag survey", "(fan24) rag survey"), ("a[1", "a(1"), ("a[1]", "a[1]"), ("a]", "a]")],
)
def test_an_id_with_brackets_is_shown_whole(
    pytester: pytest.Pytester, write_case: Callable[..., None], id_: str, shown: str
) -> None:
    write_case("x", {**GOLD, "total": 1}, id=id_)
    result = pytester.runpytest("--junitxml=j.xml", "--extract-report=r.jsonl")
    result.stdout.fnmatch_lines_random([f"FAILED x.extract.yaml::{shown} - *".replace("[", "[[]")])
    assert f' name="{shown}"' in (pytester.path / "j.xml").read_text()
    assert f'"case_id":"{id_}"' in (pytester.path / "r.jsonl").read_text()
    pytester.runpytest(f"x.extract.yaml::{shown}", "--extract-from=r.jsonl").assert_outcomes(failed=1)
