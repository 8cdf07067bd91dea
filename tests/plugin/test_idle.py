from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import sys

def pytest_unconfigure(config):
    print("LOADED", sorted(name for name in sys.modules if name.split(".")[0] in {names!r}))
"""
HEAVY = {
    "numpy",
    "scipy",
    "litellm",
    "jinja2",
    "deepdiff",
    "jsonschema",
    "jsonschema_rs",
    "yaml",
    "rapidfuzz",
    "asyncio",
}


def loaded(folder: Path, names: set[str], *args: str) -> str:
    (folder / "conftest.py").write_text(LOADED.format(names=names), encoding="utf-8")
    others = ["asyncio", "hypothesispytest", "anyio", "randomly"]  # they load some of the same
    without = [part for name in others for part in ("-p", f"no:{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *without, *args], cwd=folder, capture_output=True, text=True, check=False
    )
    return next(line for line in done.stdout.splitlines() if line.startswith("LOADED"))


@pytest.mark.parametrize("args", [[], ["--collect-only"], ["--help"]], ids=["run", "collect", "help"])
def test_a_run_without_cases_loads_options_and_nothing_else(tmp_path: Path, args: list[str]) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    found = loaded(tmp_path, {"pytest_extract"}, *args)
    names = ("", ".lazy", ".plugin", ".plugin.options", ".report", ".report.formats")
    assert found == f"LOADED {[f'pytest_extract{name}' for name in names]}"


def test_a_run_without_cases_loads_no_library_of_ours(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    assert loaded(tmp_path, HEAVY) == "LOADED []"


def test_a_run_of_a_case_loads_no_model_and_no_array_library(tmp_path: Path) -> None:
    (tmp_path / "a.extract.yaml").write_text(
        '{"text": "x", "gold": {"a": 1}, "schema": {"properties": {"a": {"type": "integer"}}}}', encoding="utf-8"
    )
    assert (
        loaded(tmp_path, {"numpy", "scipy", "litellm", "jinja2", "deepdiff"}, "--extract-model=m", "--collect-only")
        == "LOADED []"
    )


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

NEVER_OF_CORE = (
    "feedback",
    "mistakes.table",
    "mistakes.values",
    "output_shape",
)
"""Parts of `core` that a passing case does not need."""

ONE_CASE = """
import pytest, sys

@pytest.fixture
def extractor():
    return lambda document: {"a": 1, "b": ["x", "y"]}

def pytest_unconfigure(config):
    print("LOADED", *sorted(name for name in sys.modules if name.startswith("pytest_extract.")))
    names = {"jsonschema", "statistics", "rapidfuzz", "numpy", "scipy", "lxml", "deepdiff", "jinja2"}
    print("LIBRARIES", *sorted(names & sys.modules.keys()))
    print("REWRITTEN", *sorted(
        name for name, module in sys.modules.items()
        if name.startswith("pytest_extract.") and "Rewriting" in type(module.__loader__).__name__
    ))
"""


def test_a_passing_case_loads_what_it_needs_and_no_more(tmp_path: Path) -> None:
    schema = '{"properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string", "minLength": 1}}}}'
    (tmp_path / "a.extract.yaml").write_text(
        f'text: x\ngold: {{"a": 1, "b": ["x", "y"]}}\nschema: {schema}', encoding="utf-8"
    )
    (tmp_path / "conftest.py").write_text(ONE_CASE, encoding="utf-8")
    others = ["asyncio", "hypothesispytest", "anyio", "randomly", "rerunfailures", "timeout", "xdist"]
    without = [part for name in others for part in ("-p", f"no:{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *without], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    modules = {name.removeprefix("pytest_extract.") for name in lines["LOADED"]}
    assert {name for name in modules if name != "core" and not name.startswith("core.")} - {*MAY_LOAD.split()} == set()
    never = tuple(f"core.{name}" for name in NEVER_OF_CORE)
    assert {name for name in modules if name.startswith(never)} == set()
    assert lines["LIBRARIES"] == []
    # what pytest loads before the plugin can say where its modules are
    assert {*lines["REWRITTEN"]} <= {"pytest_extract.lazy", "pytest_extract.plugin"}


def test_a_run_in_process_leaves_the_import_system_as_it_was(pytester: pytest.Pytester) -> None:
    before = [*sys.meta_path]
    pytester.makepyfile("def test_it(): pass")
    assert pytest.main([str(pytester.path), "-q", "-p", "no:cacheprovider"]) == 0
    assert sys.meta_path == before
