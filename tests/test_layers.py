"""Data flows one way: a module imports only from its own ring and the rings before it (docs/contributing.md).

The rings reach inside `core` and `plugin`, and imports that only type checkers follow count too.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "pytest_extract"
if not PACKAGE.exists():  # the built wheel is under test
    import importlib.util

    found = importlib.util.find_spec(
        "pytest_extract",
    )
    assert found is not None
    assert found.origin is not None
    PACKAGE = Path(found.origin).parent

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
    ("arguments", "values"),
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

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def short(module: str) -> str:
    return module.removeprefix(
        "pytest_extract",
    ).removeprefix(".")


PATHS = {name_of(path): path for path in MODULES}


@cache
def imports_of(path: Path) -> set[str]:
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
def imports() -> Mapping[str, frozenset[str]]:
    """Return what each module of the package imports from it, by names below `pytest_extract`."""
    return {
        short(name): frozenset(short(found) for found in imports_of(path) if found in PATHS) - {short(name)}
        for name, path in PATHS.items()
    }


def place_in(package: str, module: str) -> int | None:
    """Return the ring of a module inside a package; None outside of it, and for the package itself."""
    parts = tuple(part for part in module.split(".") if part)
    inside = tuple(part for part in package.split(".") if part)
    if parts[: len(inside)] != inside or len(parts) == len(inside):
        return None
    member = parts[len(inside)]
    rings = [number for number, ring in enumerate(PACKAGES[package]) if member in ring]
    assert len(rings) == 1, (
        f"{module} belongs to {len(rings)} rings: name it once in the rings of {package or 'the package'}"
    )
    return rings[0]


def upward_imports() -> Iterator[tuple[str, str]]:
    """Yield every import that goes against the order of a package."""
    for package in PACKAGES:
        for module, imported in imports().items():
            own = place_in(package, module)
            if own is not None:
                yield from ((module, name) for name in imported if (place_in(package, name) or 0) > own)


def circles(imports: Mapping[str, frozenset[str]]) -> list[set[str]]:
    """Return the groups of modules of which each reaches each other through its imports."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        open_ = [start]
        while open_:
            new = imports[open_.pop()] - found
            found |= new
            open_ += new
        return found

    reach = {module: reached(module) for module in imports}
    groups = {frozenset(other for other in reach[module] if module in reach[other]) for module in imports}
    return sorted(({*group} for group in groups if group), key=sorted)


def test_every_module_belongs_to_one_ring_of_its_package():
    for package in PACKAGES:
        for module in imports():
            place_in(package, module)


def test_every_member_of_a_ring_exists():
    for package, rings in PACKAGES.items():
        start = f"{package}." if package else ""
        members = {
            module.removeprefix(start).split(".")[0] for module in imports() if module.startswith(start) and module
        }
        assert {member for ring in rings for member in ring} == members - {""}


def test_a_module_knows_only_its_own_ring_and_those_before_it():
    assert set(upward_imports()) == set()


def test_modules_import_each_other_in_no_circle():
    assert circles(imports()) == []


def test_a_circle_is_found_through_several_modules():
    chain = {
        "a": frozenset(
            "b",
        ),
        "b": frozenset(
            "c",
        ),
        "c": frozenset(
            "ad",
        ),
        "d": frozenset(),
    }
    assert circles(chain) == [{"a", "b", "c"}]


def test_imports_for_type_checkers_and_inside_functions_count(tmp_path):
    path = tmp_path / "m.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from pytest_extract.core.scorer import Scorer\n"
        "def f():\n    from pytest_extract.core import gates\n"
    )
    assert imports_of(path) == {"typing", "pytest_extract.core.scorer", "pytest_extract.core.gates"}


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
        "print(score({'type': 'object', 'properties': {'a': {'type': 'string'}}}, {'a': 'x'}, {'a': 'x'})"
        ".measures['pass_rate'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.0"


def test_no_class_or_public_function_has_the_name_of_another():
    homes: dict[str, list[str]] = {}
    for name, path in PATHS.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) or (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and not node.name.startswith(
                    "_",
                )
            ):
                homes.setdefault(node.name, []).append(name)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}
