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
    names = ("", ".lazy", ".plugin", ".plugin.hookspecs", ".plugin.options")
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
