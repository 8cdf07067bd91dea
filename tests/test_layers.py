"""Data flows one way: a module imports only from rows above its own (README, "Working on it")."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pytest_extract"
if not PACKAGE.exists():  # the built wheel is under test
    import importlib.util

    found = importlib.util.find_spec("pytest_extract")
    assert found is not None
    assert found.origin is not None
    PACKAGE = Path(found.origin).parent

RINGS = (
    ("errors",),
    ("core",),
    ("documents", "extend", "schema_tools", "atomic", "digest", "redact", "llm", "sharing"),
    ("cases", "extractors", "judge"),
    ("importers", "recordings", "results_file", "gating"),
    ("api", "bridge", "docs", "run", "verdict"),
    ("report", "testing"),
    ("cli",),
    ("plugin",),
)
"""Top-level modules and packages, lowest ring first; a ring may use its own members and all rings before it."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {name_of(path): path for path in MODULES}


def imports_of(path: Path, *, running: bool = False) -> set[str]:
    """`running`: without those that only type checkers follow."""
    names: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if running:
        tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node))]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            members = [f"{node.module}.{alias.name}" for alias in node.names]
            names.update(member if member in PATHS else node.module for member in members)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return names


def ring_of(module: str) -> int | None:
    parts = module.split(".")
    if parts[0] != "pytest_extract" or len(parts) == 1:
        return None
    return next((row for row, ring in enumerate(RINGS) if parts[1] in ring), None)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_knows_only_the_rings_before_its_own(path):
    own = ring_of(name_of(path))
    if own is None:
        assert name_of(path) == "pytest_extract", f"{name_of(path)} stands in no ring: add it to RINGS"
        return
    later = {name for name in imports_of(path) if (ring_of(name) or 0) > own}
    assert not later


def test_no_modules_below_the_plugin_import_each_other_in_a_circle():
    below = {name for name in PATHS if not name.startswith("pytest_extract.plugin")}
    sorter = TopologicalSorter({name: imports_of(PATHS[name], running=True) & below for name in below})
    sorter.prepare()  # raises CycleError, which names the circle


def test_the_core_knows_neither_pytest_nor_files_nor_models():
    banned = {"pytest", "_pytest", "litellm", "yaml", "subprocess", "socket", "http"}
    for path in (PACKAGE / "core").rglob("*.py"):
        names = imports_of(path)
        assert not {name.split(".")[0] for name in names} & banned, path
        assert "urllib.request" not in names, path


def test_importing_the_package_loads_nothing():
    code = (
        "import sys; before = set(sys.modules); import pytest_extract;"
        "print(sorted(n for n in set(sys.modules) - before if n.startswith('pytest_extract')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['pytest_extract']"


def test_scoring_works_without_pytest():
    code = (
        "import sys; sys.modules['pytest'] = None; sys.modules['_pytest'] = None\n"
        "from pytest_extract import score\n"
        "print(score({'type': 'object', 'properties': {'a': {'type': 'string'}}}, {'a': 'x'}, {'a': 'x'})"
        ".measures['pass_rate'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.0"
