"""The source files of an extractor: where it is defined, and what of the project that file imports."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path, PurePath
from types import ModuleType


def extractor_sources(extractor: object, root: Path, declared: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return the files below `root` that make the extractor, sorted: its own, what that imports, and `declared`.

    Imports are followed by the statements of the source, wherever they stand, and without importing anything: the
    answer is the same before the first call and after it. Installed packages are not part of it: their versions are a
    matter of the lock file. Of an extractor that is defined elsewhere, only what is declared.
    """
    root = root.resolve()
    start = file_of(extractor)
    found: set[Path] = set()
    waiting = [(start, _package_of(start))] if start is not None and is_own(start, root) else []
    while waiting:
        path, package = waiting.pop()
        if path not in found:
            found.add(path)
            modules = map(_find_module, _imported_modules(path, package))
            waiting += [module for module in modules if module is not None and is_own(module[0], root)]
    return tuple(sorted(found.union(declared)))


def declared_files(patterns: Iterable[str], root: Path) -> tuple[Path, ...]:
    """Return the files below `root` that `extract_files` declares: globs, relative to `root`; a folder has all below.

    What Python compiles is no source.
    """
    found: list[Path] = []
    for pattern in map(PurePath, patterns):
        whole = pattern / "**" if (root / pattern).is_dir() else pattern
        everything = whole.name == "**"  # before Python 3.13, `**` at the end means folders only
        found += sorted(root.resolve().glob(str(whole / "*" if everything else whole)))
    return tuple(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def sources_digest(paths: tuple[Path, ...], root: Path) -> str:
    """Return one digest (SHA-256, hex) of the files' names below `root` and their contents, apart from line endings."""
    digest = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
        digest.update(f"{path.relative_to(root.resolve()).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def _package_of(path: Path) -> str:
    """Return the package of the loaded module that a file is."""
    # Only files of the same name are resolved: there are thousands of modules, and resolving all takes 50 ms or more.
    files = ((getattr(module, "__file__", None), module) for module in list(sys.modules.values()))
    same_name = (module for file, module in files if isinstance(file, str) and file.endswith(path.name))
    module = next((module for module in same_name if _module_file(module) == path), None)
    return getattr(module, "__package__", None) or ""


def _find_module(name: str) -> tuple[Path, str] | None:
    """Return the source file and the package of a module, which need not be loaded; None without a source."""
    module = sys.modules.get(name)
    if module is not None:
        file = _module_file(module)
        return None if file is None else (file, getattr(module, "__package__", None) or "")
    parts = name.split(".")
    if not all(parts) or parts[0] in sys.stdlib_module_names:
        return None
    spec, folders = None, sys.path
    for part in parts:
        spec = PathFinder.find_spec(part, folders)  # by its whole name, the finder would ask for the loaded parent
        if spec is None:
            return None
        if spec.origin is None:  # a package without __init__.py
            folders = [str(Path(folder) / part) for folder in folders]
        else:
            folders = list(spec.submodule_search_locations or [])
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin).resolve(), name if spec.submodule_search_locations else ".".join(parts[:-1])


def file_of(extractor: object) -> Path | None:
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


def is_own(path: Path, root: Path) -> bool:
    """Whether a file is part of the project at `root`, and no installed package."""
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
        elif isinstance(node, ast.Call) and (name := _name_in_call(node)):
            level = len(name) - len(name.lstrip("."))
            statement = ast.ImportFrom(module=name.lstrip("."), names=[], level=level)
            yield from _with_parents(_base_module(statement, package))


def _name_in_call(node: ast.Call) -> str | None:
    """Return what `importlib.import_module("name")` imports; None for another call, or a name that is not written."""
    function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    match function, node.args:
        case "import_module" | "__import__", [ast.Constant(value=str(name)), *_]:
            return name
    return None


def _base_module(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*parents, *([node.module] if node.module else [])])


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[: count + 1]) for count in range(len(parts)))
