"""The source files of an extractor: where it is defined, and what of the project that file imports."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType


def extractor_sources(extractor: object, root: Path) -> tuple[Path, ...]:
    """Return the files below `root` that define the extractor, sorted: its own, and those imported from there on.

    Only modules that are loaded are followed, by the import statements of their source. Installed packages are not
    part of it: their versions are a matter of the lock file. Empty for an extractor that is defined elsewhere.
    """
    root = root.resolve()
    start = _file_of(extractor)
    found: set[Path] = set()
    waiting = [(start, _loaded_from(start))] if start is not None and _is_own(start, root) else []
    while waiting:
        path, module = waiting.pop()
        if path not in found:
            found.add(path)
            package = getattr(module, "__package__", None) or ""
            imported = [sys.modules.get(name) for name in _imported_modules(path, package)]
            files = [(_module_file(each), each) for each in imported]
            waiting += [(file, each) for file, each in files if file is not None and _is_own(file, root)]
    return tuple(sorted(found))


def _loaded_from(path: Path) -> ModuleType | None:
    # Only files of the same name are resolved: there are thousands of modules, and resolving all takes 50 ms or more.
    files = ((getattr(module, "__file__", None), module) for module in list(sys.modules.values()))
    same_name = (module for file, module in files if isinstance(file, str) and file.endswith(path.name))
    return next((module for module in same_name if _module_file(module) == path), None)


def sources_digest(paths: tuple[Path, ...], root: Path) -> str:
    """Return one digest (SHA-256, hex) of the files' names below `root` and their contents."""
    digest = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root.resolve()).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def _file_of(extractor: object) -> Path | None:
    """Return the file that defines a function, a method, a partial, or a callable object's class."""
    while isinstance(extractor, functools.partial):
        extractor = extractor.func
    target = inspect.unwrap(extractor) if callable(extractor) else extractor
    if not (inspect.isroutine(target) or inspect.isclass(target)):
        target = type(target)
    try:
        file = inspect.getsourcefile(target)
    except TypeError:  # built in, or made without a source
        return None
    return Path(file).resolve() if file else None


def _is_own(path: Path, root: Path) -> bool:
    return path.is_relative_to(root) and "site-packages" not in path.parts and path.is_file()


def _module_file(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) and file.endswith(".py") else None


def _imported_modules(path: Path, package: str) -> Iterator[str]:
    """Yield the names of modules that a file's import statements may mean, wherever in the file they stand."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _base_module(node, package)
            yield from _with_parents(base)
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)


def _base_module(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*parents, *([node.module] if node.module else [])])


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[: count + 1]) for count in range(len(parts)))
