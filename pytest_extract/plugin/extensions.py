"""The project's own metrics and the like: found in conftest files and plugins as fixtures are, for each folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import pytest

from pytest_extract.cases.cache import SchemaCache
from pytest_extract.core.compile.bind import JudgeMode
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import ConfigError

HOOK: Final = "pytest_extract_extensions"
ANYWHERE: Final = -1
"""Depth of a plugin that is no conftest: what it gives holds everywhere, and everything else is nearer."""


class Provider(NamedTuple):
    """A plugin or conftest that brings extensions along, and how deep its folder lies."""

    depth: int
    name: str
    extensions: Extensions


class ProjectExtensions:
    """What each folder's cases may name, and the compiled schemas that go with it; lives as long as the session."""

    def __init__(self, config: pytest.Config, judge_mode: JudgeMode) -> None:
        self._config = config
        self._compile = partial(compile_schema, judge_mode=judge_mode)
        self._given: dict[int, tuple[object, Extensions]] = {}
        self._folders: dict[str, tuple[Extensions, tuple[int, ...]]] = {}
        self._caches: dict[tuple[int, ...], SchemaCache] = {(): SchemaCache(self._compile)}

    @property
    def plain(self) -> SchemaCache:
        """The cache for cases without extensions."""
        return self._caches[()]

    def cache_for(self, path: Path) -> SchemaCache:
        """Return the cache that compiles the schemas of a case file; ConfigError for extensions that clash."""
        extensions, key = self._known(path)
        if key not in self._caches:
            self._caches[key] = SchemaCache(partial(self._compile, extensions=extensions))
        return self._caches[key]

    def extensions_for(self, path: Path) -> Extensions:
        """Return what a file's cases and tests may name; ConfigError for extensions that clash."""
        return self._known(path)[0]

    def _known(self, path: Path) -> tuple[Extensions, tuple[int, ...]]:
        folder = os.path.dirname(path)  # noqa: PTH120 - once a case file, and pathlib takes five times as long
        if folder not in self._folders:
            providers = sorted(self._providers(path.parent), key=lambda provider: provider.depth)
            _check_clashes([provider for provider in providers if provider.depth == ANYWHERE])
            extensions = Extensions()
            for provider in providers:
                extensions = provider.extensions.over(extensions)
            self._folders[folder] = extensions, tuple(id(provider.extensions) for provider in providers)
        return self._folders[folder]

    def _providers(self, folder: Path) -> Iterator[Provider]:
        for name, plugin in self._config.pluginmanager.list_name_plugin():
            depth = None if plugin is None else _depth(plugin, folder)
            if depth is None:
                continue
            if id(plugin) not in self._given:
                self._given[id(plugin)] = plugin, self._extensions_of(plugin)
            extensions = self._given[id(plugin)][1]
            if any(extensions.names()):
                yield Provider(depth, name, extensions)

    def _extensions_of(self, plugin: object) -> Extensions:
        found = Extensions.marked_in(vars(plugin)) if isinstance(plugin, ModuleType) else Extensions()
        for given in self._answers(plugin):
            found = _checked(given, plugin).over(found)
        return found

    def _answers(self, plugin: object) -> list[Any]:
        manager = self._config.pluginmanager
        callers = [impl.plugin for impl in getattr(manager.hook, HOOK).get_hookimpls()]
        if plugin not in callers:
            return []
        alone = manager.subset_hook_caller(HOOK, [other for other in callers if other is not plugin])
        answers: list[Any] = alone(config=self._config)
        return answers


def _depth(plugin: object, folder: Path) -> int | None:
    """How near a plugin is to a folder; None for a conftest of another one."""
    file = getattr(plugin, "__file__", None) if isinstance(plugin, ModuleType) else None
    if file is None or Path(file).name != "conftest.py":
        return ANYWHERE
    home = Path(file).parent
    return len(home.parts) if home == folder or home in folder.parents else None


def _checked(given: Any, plugin: object) -> Extensions:
    if isinstance(given, Extensions):
        return given
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return Extensions.of(*given)
    where = getattr(plugin, "__file__", None) or repr(plugin)
    raise ConfigError(f"{where}: {HOOK} must return Extensions or a list of decorated functions, not {given!r}")


def _check_clashes(providers: Iterable[Provider]) -> None:
    owners: dict[tuple[str, str], str] = {}
    for provider in providers:
        for kind, name in provider.extensions.names():
            other = owners.setdefault((kind, name), provider.name)
            if other != provider.name:
                both = f"{other!r} and {provider.name!r}"
                raise ConfigError(f"the {kind} {name!r} is brought along by two plugins, {both}")
