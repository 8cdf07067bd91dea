"""Cases as pytest items: node ids, selection, marks, what projects' hooks read, and the plugins that run items."""

from __future__ import annotations

import json

import pytest

from pytest_extract.documents import Document
from tests.plugin.conftest import ECHO, GOLD, SCHEMA, results, text_of

BAD = {**GOLD, "vendor": "ACME Gmbh"}
MODELS = ("--extract-model=p/m", "--extract-model=p/n")


@pytest.fixture
def nodeids(echo, run):
    """Return the node ids that arguments select."""

    def collect(*args):
        return [line for line in run("--collect-only", "-q", *args).outlines if "::" in line]

    return collect


@pytest.fixture
def strict_markers(pytester):
    pytester.makeini("[pytest]\nmarkers =\n    slow: takes long\naddopts = --strict-markers\n")


def test_files_cases_and_lines_of_datasets_are_items(write_case, write_files, write_suite, nodeids, run):
    write_case("invoices/acme")
    write_case("other", id="own id")
    good, bad = ({"text": json.dumps(output)} for output in (GOLD, BAD))
    write_suite([{"id": "good", **good}, {"id": "bad", **bad}], name="many", schema=SCHEMA, gold=GOLD)
    lines = [json.dumps({"id": f"c{number}", "gold": GOLD, **good}) for number in range(2)]
    dataset = {"dataset": "records.jsonl", "defaults": {"schema": SCHEMA}}
    write_files({"records.jsonl": "\n".join(lines), "set.extract.yaml": dataset})
    write_files({"short.extract.yml": {"schema": SCHEMA, "gold": GOLD, **good}})
    assert nodeids() == [
        "invoices/acme.extract.yaml::acme",
        "many.extract.yaml::good",
        "many.extract.yaml::bad",
        "other.extract.yaml::own id",
        "set.extract.yaml::c0",
        "set.extract.yaml::c1",
        "short.extract.yml::short",
    ]
    run(passed=6, failed=1)


def test_collecting_reads_no_document(write_files, nodeids, run, monkeypatch):
    def unread(_document):
        raise OSError("it was read")

    monkeypatch.setattr(Document, "_read_bytes", unread)
    write_files({"a.pdf": "no PDF", "acme.extract.yaml": {"document": "a.pdf", "schema": SCHEMA, "gold": GOLD}})
    assert nodeids() == ["acme.extract.yaml::acme"]
    run(failed=1, lines=["*it was read*"])


@pytest.mark.parametrize(
    ("args", "selected"),
    [
        (["-k", "acme"], ["acme"]),
        (["-m", "slow"], ["beta"]),
        (["-m", "not slow"], ["acme"]),
        (["--deselect", "acme.extract.yaml::acme"], ["beta"]),
        (["acme.extract.yaml::acme"], ["acme"]),
        (["--ignore", "acme.extract.yaml"], ["beta"]),
    ],
)
def test_selection(write_case, nodeids, strict_markers, args, selected):
    write_case("acme")
    write_case("beta", marks=["slow"])
    assert nodeids(*args) == [f"{name}.extract.yaml::{name}" for name in selected]


def test_marks_act_as_on_any_item(write_case, run, echo, strict_markers):
    write_case("a", BAD, marks=["xfail(reason='scanned upside down')"])
    write_case("b", BAD, marks=["skip(reason='no')"])
    write_case("c", marks=["xfail(strict=True)"])
    write_case("d", marks=["skipif('sys.maxsize > 1', reason='everywhere')"])
    write_case("e", BAD, marks=["xfail('sys.maxsize > 1', reason='so far')"])
    write_case("f", marks=["skipif('sys.maxsize < 1', reason='nowhere')"])
    told = ["4 cases: 2 passed, 2 failed (2 as an xfail mark says)*", "XFAIL a.extract.yaml::a - scanned upside down*"]
    run("-rxs", xfailed=2, skipped=2, failed=1, passed=1, lines=told)


def test_an_unknown_mark_is_a_mistake_or_a_warning_of_its_case_file(write_case, run, echo):
    write_case("acme", marks=["slwo"])
    run("--strict-markers", errors=1, lines=["*acme.extract.yaml:1: *slwo*"])
    run("-Wdefault", lines=["*acme.extract.yaml:1: PytestUnknownMarkWarning: *slwo*"])


def test_a_hook_may_take_every_item_for_a_function(write_case, write_extractor, add_to_conftest, run):
    """Hooks of projects and plugins from before the cases; see https://docs.pytest.org for `Function`."""
    write_extractor("return document.text", "document, model")
    add_to_conftest(
        """
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
                assert item.location[:2] == (item.nodeid.partition("::")[0], 0)
                assert "extractor" in item.fixturenames and inspect.signature(item.function)
                if slow:
                    item.add_marker("slow")

        @pytest.fixture(autouse=True)
        def named(request):
            assert request.module.__name__ == request.node.module.__name__ and request.cls is None
        """
    )
    for name in ("a", "b", "big_slow"):
        write_case(name)
    run("-v", "-m", "slow", *MODELS, "-W", "ignore", passed=4, deselected=2)


def test_marks_and_hooks_may_ask_for_fixtures(write_case, write_extractor, add_to_conftest, run):
    write_extractor("return document.text")
    add_to_conftest(
        """
        @pytest.fixture
        def noisy(request):
            print("noisy for", request.node.name)

        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name != "marked":
                    item.fixturenames.append("noisy")
        """
    )
    write_case("acme")
    write_case("marked", marks=["usefixtures('noisy')"])
    write_case("other")
    run("-s", passed=3, lines=["*noisy for acme*", "*noisy for marked*", "*noisy for other*"])


@pytest.mark.parametrize(
    ("name", "args"),
    [("plain", ()), ("a[1]", ()), ("a[b][c] d", ()), ("[x]", ()), ("plain", MODELS), ("a[b][c] d", MODELS)],
)
def test_last_failed_and_stepwise_know_a_case(write_case, run, nodeids, name, args):
    write_case("bad", BAD, id=name)
    write_case("good", id="good[0]")
    run(*args, passed=len(args) or 1, failed=len(args) or 1)
    models = ("[p/m]", "[p/n]") if args else ("",)
    shown = name if args or name.endswith("]") else name.replace("[", "(").replace("]", ")")
    assert nodeids("--lf", *args) == [f"bad.extract.yaml::{shown}{model}" for model in models]
    run("--sw", *args, failed=1)
    run("--sw", "-v", *args).stdout.no_fnmatch_line("*previously failed test not found*")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("[fan24] rag survey", "(fan24) rag survey"), ("a[1", "a(1"), ("a[1]", "a[1]"), ("a]", "a]")],
)
def test_an_id_with_brackets_is_shown_whole(pytester, write_case, run, echo, name, shown):
    write_case("x", {**GOLD, "total": 1}, id=name)
    result = run("--junitxml=j.xml", "--extract-report=r.jsonl")
    result.stdout.fnmatch_lines_random([f"FAILED x.extract.yaml::{shown} - *".replace("[", "[[]")])
    assert f' name="{shown}"' in text_of(pytester, "j.xml")
    assert results(pytester)[0].case_id == name
    run(f"x.extract.yaml::{shown}", "--extract-from=r.jsonl", failed=1)


@pytest.mark.parametrize(
    "args", [["../a/x.extract.yaml", "../b/x.extract.yaml"], ["../a", "../b"], [".."]], ids=["files", "folders", "all"]
)
def test_cases_outside_of_rootdir_keep_apart(pytester, write_case, write_files, run, monkeypatch, args):
    write_case("a/x", id="one")
    write_case("b/x", BAD, id="one")
    write_files({"root/pytest.ini": "[pytest]\n", "echo_plugin.py": ECHO})
    pytester.syspathinsert()
    monkeypatch.chdir("root")
    record = ("--extract-record=once", "--extract-recordings=recorded", "--extract-report=r.jsonl")
    for _ in range(2):
        run("-c", "pytest.ini", "-p", "echo_plugin", *record, *args, passed=1, failed=1)
        found = sorted(each.nodeid for each in results(pytester, "root/r.jsonl"))
        assert found == ["../a/x.extract.yaml::one", "../b/x.extract.yaml::one"]


def test_reruns_call_the_extractor_again(pytester, write_case, write_extractor, calls, run):
    write_extractor(
        """
        made = len((HERE / "calls").read_text())
        return Extraction(document.text if made > 2 else "{}", cost_usd=1.5)
        """
    )
    write_case("acme")
    cost = "cost: $4.5000 ($3.0000 of it for 2 calls before reruns)"
    files = ("--extract-report=r.jsonl", "--extract-report=r.md")
    run("-p", "rerunfailures", "--reruns=3", *files, passed=1, lines=[cost, "*1 passed, 2 rerun*"])
    assert calls() == 3
    assert cost in text_of(pytester, "r.md")
    assert [each.outcome for each in results(pytester)] == ["passed"]


def test_a_time_out_breaks_the_case(write_case, write_extractor, run):
    write_extractor("time.sleep(3600)", fixture="")  # of each case its own: no thread goes on
    for name in ("slow", "slow2"):
        write_case(name, marks=["timeout(1, method='signal', func_only=True)"])
    run("-p", "timeout", failed=2, lines=["2 cases: 2 errors", "error: 2 cases: Failed: Timeout*"])


def test_an_extractor_that_skips_skips_the_case(write_case, write_extractor, run):
    write_extractor("pytest.skip('no key here')")
    write_case("acme")
    run("-rs", skipped=1).stdout.no_fnmatch_line("*= extraction =*")


def test_results_carry_the_complexity_of_their_case(pytester, write_case, run, echo):
    write_case("flat", {"a": 1}, schema={"properties": {"a": {"type": "integer"}}}, gold={"a": 2})
    write_case("invoice")
    write_case("odd", tags={"complexity": "very"})
    write_case("said", tags={"complexity": "hard"})
    run("--extract-report=r.jsonl", passed=3, failed=1)
    found = results(pytester)
    assert [each.complexity for each in found] == ["easy", "medium", "medium", "hard"]
    assert {each.modality for each in found} == {"text"}
    shape = {"fields": 4, "breadth": 3, "depth": 3, "arrays": 1, "array_items": 2, "leaves": 6, "values": 6}
    assert found[1].shape == shape
