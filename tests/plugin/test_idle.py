"""What a run loads: without cases the options and nothing else, with a case what it needs and no more."""

from __future__ import annotations

import sys

import pytest

from tests.plugin.conftest import GOLD, SCHEMA, text_of

HEAVY = {"asyncio", "deepdiff", "jinja2", "jsonschema", "jsonschema_rs", "litellm", "numpy", "rapidfuzz", "scipy"}
HEAVY |= {"lxml", "statistics", "yaml"}
LOADED = f"""
import pytest, sys

@pytest.fixture
def extractor():
    return lambda document: {{"a": 1, "b": ["x", "y"]}}

def pytest_unconfigure(config):
    print("OURS", *sorted(name for name in sys.modules if name.split(".")[0] == "pytest_extract"))
    print("LIBRARIES", *sorted({HEAVY} & sys.modules.keys()))
    print("REWRITTEN", *sorted(
        name for name, module in sys.modules.items()
        if name.startswith("pytest_extract.") and "Rewriting" in type(module.__loader__).__name__
    ))
"""
IDLE = ["pytest_extract", *(f"pytest_extract.{name}" for name in ("lazy", "plugin", "plugin.options"))]
IDLE += [f"pytest_extract.{name}" for name in ("report", "report.formats")]
MAY_LOAD = """
cases cases.edit cases.load cases.model cases.schemas cases.sources
documents documents.pdf
collector errors
extraction extraction.call extraction.provider_errors
files lazy
plugin plugin.collect plugin.extraction plugin.finish plugin.items plugin.options plugin.project
plugin.run_results plugin.session plugin.terminal
redact
changed changed.inputs
report report.findings report.formats report.lines report.summary
results run_case
schema_tools
"""
"""What a passing case may load outside of `core`; another module is imported at its point of use, or has its reason."""
NEVER_OF_CORE = ("core.feedback", "core.mistakes.table", "core.mistakes.values", "core.output_shape")
"""Parts of `core` that a passing case does not need."""


@pytest.fixture
def loaded(pytester, monkeypatch):
    """Run pytest without other plugins in a process of its own; returns what it has loaded by kind."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p pytest_extract")
    pytester.makeconftest(LOADED)

    def loaded(*args):
        lines = pytester.runpytest_subprocess(*args).outlines
        return {line.split()[0]: line.split()[1:] for line in lines if line.startswith(("OURS", "LIB", "REWR"))}

    return loaded


@pytest.mark.parametrize("args", [[], ["--collect-only"], ["--help"]], ids=["run", "collect", "help"])
def test_a_run_without_cases_loads_options_and_nothing_else(pytester, loaded, args):
    pytester.makepyfile("def test_it(): pass")
    found = loaded(*args)
    assert found["OURS"] == IDLE
    assert found["LIBRARIES"] == []


def test_a_case_of_a_model_is_collected_without_litellm_and_array_libraries(write_case, loaded):
    write_case("a")
    found = loaded("--extract-model=m", "--collect-only")
    assert {"deepdiff", "jinja2", "litellm", "numpy", "scipy"}.isdisjoint(found["LIBRARIES"])


def test_a_passing_case_loads_what_it_needs_and_no_more(write_case, loaded):
    items = {"type": "string", "minLength": 1}
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": items}}}
    write_case("a", schema=schema, gold={"a": 1, "b": ["x", "y"]})
    found = loaded()
    modules = {name.removeprefix("pytest_extract.") for name in found["OURS"]} - {"pytest_extract", "core"}
    assert {name for name in modules if not name.startswith("core.")} - {*MAY_LOAD.split()} == set()
    assert {name for name in modules if name.startswith(NEVER_OF_CORE)} == set()
    assert {*found["LIBRARIES"]} <= {"asyncio", "jsonschema_rs", "yaml"}
    # what pytest loads before the plugin can say where its modules are
    assert {*found["REWRITTEN"]} <= {"pytest_extract.lazy", "pytest_extract.plugin"}


def test_a_run_in_process_leaves_the_import_system_as_it_was(pytester):
    before = [*sys.meta_path]
    pytester.makepyfile("def test_it(): pass")
    assert pytest.main([str(pytester.path), "-q", "-p", "no:cacheprovider"]) == 0
    assert sys.meta_path == before


# memory

CASES, FIRST = 140, 40
MOST_BYTES = 3 * 1024
MEASURED = f"""
import gc, tracemalloc
from pathlib import Path
import pytest

@pytest.fixture(scope="session")
def extractor():
    def extract(case):
        return {{**case.gold, "total": 1.0}} if int(case.id) % 10 == 3 else case.gold
    return extract

class Bare(pytest.File):
    obj = None
    def collect(self):
        return [Item.from_parent(self, name=str(index)) for index in range({CASES})]

class Item(pytest.Item):
    def runtest(self):
        if int(self.name) % 10 == 3:
            raise ValueError
    def repr_failure(self, excinfo, style=None):
        return "x" * 100

def pytest_collect_file(file_path, parent):
    return Bare.from_parent(parent, path=file_path) if file_path.suffix == ".bare" else None

def pytest_collection_finish():
    tracemalloc.start()

TRACED, ENDED = {{}}, set()

def pytest_runtest_logreport(report):
    if report.when == "teardown":
        ENDED.add(report.nodeid)
        if len(ENDED) in ({FIRST}, {CASES}):
            gc.collect()
            TRACED[len(ENDED)] = tracemalloc.get_traced_memory()[0]

def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        Path("growth.txt").write_text(str((TRACED[{CASES}] - TRACED[{FIRST}]) / ({CASES} - {FIRST})))
"""


@pytest.mark.slow
@pytest.mark.parametrize("args", [["--extract-report=r.jsonl"], ["-n1"]], ids=["plain", "n1"])
def test_a_case_that_has_ended_takes_little_more_memory_than_a_bare_item(pytester, write_files, write_suite, args):
    def growth(*arguments):
        """Bytes that each test leaves behind in the only process, or in xdist's controller."""
        plugins = [f"-pno:{name}" for name in ("rerunfailures", "cacheprovider", "hypothesispytest")]
        result = pytester.runpytest_subprocess("--tb=line", *plugins, *arguments)
        result.assert_outcomes(passed=126, failed=14)
        return float(text_of(pytester, "growth.txt"))

    pytester.makeconftest(MEASURED)
    write_files({"a.bare": ""})
    cases = [{"id": str(index), "text": str(index), "gold": {**GOLD, "total": index}} for index in range(CASES)]
    write_suite(cases, schema=SCHEMA)
    bare = growth("a.bare", *(arg for arg in args if arg == "-n1"))
    assert growth("all.extract.yaml", *args) - bare <= MOST_BYTES
