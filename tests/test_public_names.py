"""What users import is public: the manual, the README and the example project keep to `PUBLIC_MODULES`."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from importlib import import_module, resources
from pathlib import Path

import pytest

from pytest_extract import PUBLIC_MODULES

ROOT = Path(__file__).parents[1]
PAGES = [page for page in resources.files("pytest_extract.docs").iterdir() if page.name.endswith(".md")]
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in [*PAGES, ROOT / "README.md"]}
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
MENTION = re.compile(r"`(pytest_extract(?:\.\w+)+)`")


def code_of(text):
    """Yield the Python code of a page: its doctests, and the blocks that are no doctests."""
    yield from (example.source for example in doctest.DocTestParser().get_examples(text))
    yield from (block for block in BLOCK.findall(text) if ">>>" not in block)


def imports_of(code):
    """Yield (module, name) of each import from the package; the name is empty for `import module`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "pytest_extract":
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("pytest_extract"))


def is_public(module, name):
    if not name or f"{module}.{name}" in PUBLIC_MODULES:
        return (f"{module}.{name}" if name else module) in PUBLIC_MODULES
    return module in PUBLIC_MODULES and name in import_module(module).__all__


EXAMPLES = [(name, code) for name, text in TEXTS.items() for code in code_of(text)] + [
    (str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in ROOT.glob("example_project/**/*.py")
]


def test_examples_import_public_names_only():
    found = [(page, *imported) for page, code in EXAMPLES for imported in imports_of(code)]
    assert len({page for page, *_ in found}) > 5
    assert [row for row in found if not is_public(row[1], row[2])] == []


def test_the_manual_mentions_public_names_only():
    dotted = {(page, found) for page, text in TEXTS.items() for found in MENTION.findall(text)}
    assert [row for row in dotted if row[1] not in PUBLIC_MODULES and not is_public(*row[1].rsplit(".", 1))] == []


def told_by_python(code):
    """Return the words that a fresh process prints: here, some test has imported everything."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")


def test_a_public_module_has_all_of_its_names_in_order_and_each_is_there():
    code = (
        f"for name in {PUBLIC_MODULES}:\n  names = {{}}; exec(f'from {{name}} import *', names); print(*sorted(names))"
    )
    starred = told_by_python(code)
    for name, imported in zip(PUBLIC_MODULES, starred, strict=False):
        module = import_module(name)
        assert imported.split() == sorted([*module.__all__, "__builtins__"])
        lazy = {*module.__all__} - {*vars(module)}
        source = Path(module.__file__).read_text(encoding="utf-8")
        assert [each for each in lazy if f" import {each} as {each}\n" not in source] == [], "for type checkers"
        is_package = module.__spec__.parent == name
        inside = {path.stem for path in Path(module.__file__).parent.glob("*.py")} if is_package else set()
        assert not inside & {*module.__all__}, "the submodule replaces the public name once it is imported"
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            module.nothing  # noqa: B018


def test_importing_a_package_imports_no_more_than_itself():
    packages = ("pytest_extract", "pytest_extract.cases", "pytest_extract.regression")
    code = f"import sys, {', '.join(packages)}; print(*(m for m in sys.modules if m.startswith('pytest_extract')))"
    assert {*told_by_python(code)[0].split()} == {*packages, "pytest_extract.lazy"}
