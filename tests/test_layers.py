"""Data flows one way: a module imports only from its own ring and the rings before it (docs/contributing.md).

The rings reach inside `core` and `plugin`, and imports that only type checkers follow count too.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pytest_extract"
if not PACKAGE.exists():  # the built wheel is under test
    import importlib.util

    PACKAGE = Path(importlib.util.find_spec("pytest_extract").origin).parent

RINGS = (
    ("errors", "lazy"),
    ("core",),
    ("documents", "extend", "files", "redact", "schema_tools"),
    ("citations",),
    ("cases",),
    ("extraction",),
    ("changed", "importers", "regression", "results"),
    ("bulk", "feedback", "run_case", "systems"),
    ("report", "testing"),
    ("golds",),
    ("cli",),
    ("plugin",),
    ("docs",),
)
"""Top-level modules and packages, lowest ring first; a ring may use its own members and all rings before it."""

CORE_RINGS = (
    ("arguments", "values", "words"),
    ("results", "case_result", "result_json"),
    ("metrics", "transforms"),
    ("extensions", "semantics", "schema"),
    ("compile", "complexity"),
    ("rules",),
    ("engine",),
    ("judges", "uncompared"),
    ("parse", "output_shape"),
    ("validate",),
    ("measures", "gates"),
    ("mistakes",),
    ("stats", "aggregate"),
    ("scorer",),
)
"""The members of `core`, in the order in which data flows."""

PLUGIN_RINGS = (
    ("options", "project", "named_extractors", "update_gold"),
    ("items",),
    ("run_results",),
    ("extraction",),
    ("session",),
    ("regression",),
    ("collect",),
    ("finish",),
)
"""The modules of `plugin`; the package itself, the table of its hooks, uses them all."""

PACKAGES = {"": RINGS, "core": CORE_RINGS, "plugin": PLUGIN_RINGS}
"""Packages whose members have an order; "" is the distribution's own."""


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def short(module):
    return module.removeprefix("pytest_extract").removeprefix(".")


@cache
def imports_of(path):
    """Return what a module imports at any place in it, for type checkers only included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            members = [f"{node.module}.{alias.name}" for alias in node.names]
            names.update(member if member in PATHS else node.module for member in members)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return names


@cache
def imports():
    """Return what each module of the package imports from it, by names below `pytest_extract`."""
    return {
        short(name): frozenset(short(found) for found in imports_of(path) if found in PATHS) - {short(name)}
        for name, path in PATHS.items()
    }


def member_of(package, module):
    """Return the member of a package that a module is, or is in; None outside of it, and for the package itself."""
    start = f"{package}." if package else ""
    return module.removeprefix(start).split(".")[0] if module.startswith(start) and module != package else None


def reached_from(module):
    found: set[str] = set()
    waiting = [module]
    while waiting:
        new = imports()[waiting.pop()] - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_a_module_knows_only_its_own_ring_and_those_before_it(package):
    places = {member: number for number, ring in enumerate(PACKAGES[package]) for member in ring}
    assert len(places) == sum(map(len, PACKAGES[package])), "a member is named in two rings"
    members = {member_of(package, module) for module in imports()} - {None}
    assert members == places.keys(), "every module belongs to one ring, and every member of a ring is there"
    upward = [
        (module, name)
        for module, imported in imports().items()
        if (own := member_of(package, module)) is not None
        for name in imported
        if (other := member_of(package, name)) is not None and places[other] > places[own]
    ]
    assert upward == []


def test_modules_import_each_other_in_no_circle():
    assert [module for module in imports() if module in reached_from(module)] == []


def test_the_core_knows_neither_pytest_nor_files_nor_models():
    banned = {"pytest", "_pytest", "litellm", "yaml", "subprocess", "socket", "http"}
    for path in (PACKAGE / "core").rglob("*.py"):
        names = imports_of(path)
        assert not {name.split(".")[0] for name in names} & banned, path
        assert "urllib.request" not in names, path


def test_scoring_works_without_pytest():
    code = (
        "import sys; sys.modules['pytest'] = None; sys.modules['_pytest'] = None\n"
        "from pytest_extract import score\n"
        "print(score({'properties': {'a': {'type': 'string'}}}, {'a': 'x'}, {'a': 'x'}).measures['pass_rate'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.0"


def test_no_class_or_public_function_has_the_name_of_another():
    homes: dict[str, list[str]] = {}
    for module, path in PATHS.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(node, ast.ClassDef) or (is_function and not node.name.startswith("_")):
                homes.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}
