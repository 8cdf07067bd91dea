"""The project's own metrics, transforms and the like: found for each folder in conftest files and plugins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, NamedTuple

import pytest

from pytest_extract.cases.cache import SchemaCache
from pytest_extract.core.compile.bind import JudgeMode
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.scorer import Scorer, compile_schema
from pytest_extract.errors import ConfigError

HOOK: Final = "pytest_extract_extensions"
ANYWHERE: Final = -1
"""Depth of a plugin that is no conftest: its extensions hold everywhere, and those of every conftest override them."""


class Provider(NamedTuple):
    """A plugin or conftest with extensions, and the depth of its folder."""

    depth: int
    name: str
    extensions: Extensions


class ProjectExtensions:
    """The extensions that each folder's cases may name, and caches of the schemas compiled with them."""

    def __init__(
        self, config: pytest.Config, judge_mode: JudgeMode, *, updates_golds: Literal["new", "fix"] | None = None
    ) -> None:
        self._config = config
        self._updates_golds = updates_golds
        self._compile = partial(compile_schema, judge_mode=judge_mode)
        self._of_plugin: dict[int, tuple[object, Extensions]] = {}
        self._of_folder: dict[str, tuple[Extensions, tuple[int, ...]]] = {}
        self._caches: dict[tuple[int, ...], SchemaCache] = {(): self._new_cache(self._compile)}

    def _new_cache(self, compile_with: Callable[..., Scorer]) -> SchemaCache:
        return SchemaCache(compile_with, updates_golds=self._updates_golds)

    @property
    def default_cache(self) -> SchemaCache:
        """The cache for cases without extensions."""
        return self._caches[()]

    def cache_for(self, path: Path) -> SchemaCache:
        """Return the cache that compiles the schemas of a case file; ConfigError for extensions that clash."""
        extensions, key = self._extensions_and_key(path)
        if key not in self._caches:
            self._caches[key] = self._new_cache(partial(self._compile, extensions=extensions))
        return self._caches[key]

    def extensions_for(self, path: Path) -> Extensions:
        """Return what a file's cases and tests may name; ConfigError for extensions that clash."""
        return self._extensions_and_key(path)[0]

    def _extensions_and_key(self, path: Path) -> tuple[Extensions, tuple[int, ...]]:
        folder = os.path.dirname(path)  # noqa: PTH120 - once a case file, and pathlib takes five times as long
        if folder not in self._of_folder:
            providers = sorted(self._providers(path.parent), key=lambda provider: provider.depth)
            _check_clashes([provider for provider in providers if provider.depth == ANYWHERE])
            extensions = Extensions()
            for provider in providers:
                extensions = provider.extensions.over(extensions)
            self._of_folder[folder] = extensions, tuple(id(provider.extensions) for provider in providers)
        return self._of_folder[folder]

    def _providers(self, folder: Path) -> Iterator[Provider]:
        for name, plugin in self._config.pluginmanager.list_name_plugin():
            depth = None if plugin is None else _folder_depth(plugin, folder)
            if depth is None:
                continue
            if id(plugin) not in self._of_plugin:
                self._of_plugin[id(plugin)] = plugin, self._extensions_of(plugin)
            extensions = self._of_plugin[id(plugin)][1]
            if any(extensions.names()):
                yield Provider(depth, name, extensions)

    def _extensions_of(self, plugin: object) -> Extensions:
        """Return the decorated functions of a plugin module, and what its own implementation of the hook returns."""
        found = Extensions.marked_in(vars(plugin)) if isinstance(plugin, ModuleType) else Extensions()
        manager = self._config.pluginmanager
        implementing = [impl.plugin for impl in getattr(manager.hook, HOOK).get_hookimpls()]
        if plugin not in implementing:
            return found
        hook = manager.subset_hook_caller(HOOK, [other for other in implementing if other is not plugin])
        for returned in hook(config=self._config):
            found = _extensions_from_hook(returned, plugin).over(found)
        return found


def _folder_depth(plugin: object, folder: Path) -> int | None:
    """Return the depth of a conftest's folder, ANYWHERE for another plugin; None for a conftest of another folder."""
    file = getattr(plugin, "__file__", None) if isinstance(plugin, ModuleType) else None
    if file is None or Path(file).name != "conftest.py":
        return ANYWHERE
    home = Path(file).parent
    return len(home.parts) if home == folder or home in folder.parents else None


def _extensions_from_hook(returned: Any, plugin: object) -> Extensions:
    if isinstance(returned, Extensions):
        return returned
    if isinstance(returned, Iterable) and not isinstance(returned, str | bytes):
        return Extensions.of(*returned)
    where = getattr(plugin, "__file__", None) or repr(plugin)
    raise ConfigError(f"{where}: {HOOK} must return Extensions or a list of decorated functions, not {returned!r}")


def _check_clashes(providers: Iterable[Provider]) -> None:
    owners: dict[tuple[str, str], str] = {}
    for provider in providers:
        for kind, name in provider.extensions.names():
            other = owners.setdefault((kind, name), provider.name)
            if other != provider.name:
                both = f"{other!r} and {provider.name!r}"
                raise ConfigError(f"the {kind} {name!r} is brought along by two plugins, {both}")
