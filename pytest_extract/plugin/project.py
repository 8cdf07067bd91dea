"""What a project's conftest files and plugins give its cases: fixtures, extensions."""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import ConfigError
from pytest_extract.plugin.options import SETTINGS

EXTRACTOR = "extractor"
JUDGE = "extract_judge"
MODEL = "extract_model"
PROMPT = "extract_prompt"
MODE = "extract_mode"
_OF_VARIANT = (MODEL, PROMPT, MODE)
_NAMED = "pytest_extract.plugin.named_extractors"
"""The plugin whose extractor comes before those of all conftests."""


class ItemFixtures:
    """The fixtures of all items of a session: those that depend on the variant of an item are copies of its own.

    pytest tells items of one parametrized fixture apart by `item.callspec`; an item in a file that is not Python must
    not have one (VS Code's test adapter breaks on it). So each variant has its own copy of the fixture definitions that
    depend, directly or through other fixtures, on `extract_model` or `extract_prompt`: a session-scoped extractor is
    made once per variant and prompt file and kept.

    `is_plain`: the run has one variant, whose items share pytest's own fixture definitions with tests. `has_prompts`:
    the prompts of cases are those of the command line (as a revision has them), which `extract_prompt` gives.
    `extractor_on_demand`: the extractor may never be called, so the set-up of an item does not make it.
    """

    def __init__(self, *, is_plain: bool, has_prompts: bool, extractor_on_demand: bool) -> None:
        self._is_plain = is_plain
        self._has_prompts = has_prompts
        self._extractor_on_demand = extractor_on_demand
        self._infos: dict[tuple[object, ...], Any] = {}
        self._copies: dict[tuple[object, ...], Any] = {}

    def info_for(self, item: Any) -> Any:
        """Return pytest's `FuncFixtureInfo` for an item; items of one folder and set of marks share it if run alike.

        pytest looks fixtures up by folder: a case file cannot define any.
        """
        variant, used = item.variant, tuple(mark.args for mark in item.iter_markers("usefixtures"))
        prompt = item.case.prompt.path if self._has_prompts and item.case.prompt is not None else None
        key = (item.parent and item.parent.parent, used, variant, prompt)
        if key not in self._infos:
            names = (*_OF_VARIANT, *(name for name in (EXTRACTOR, JUDGE) if has_fixture(item, name)))
            info = _fixture_info(item, names)
            named = [each for each in info.name2fixturedefs.get(EXTRACTOR, ()) if each.func.__module__ == _NAMED]
            if named:
                info = dataclasses.replace(info, name2fixturedefs={**info.name2fixturedefs, EXTRACTOR: tuple(named)})
            if not self._is_plain or variant.param is not None:
                values: dict[str, Any] = {MODEL: variant.model, PROMPT: prompt}
                if variant.mode is not None:
                    values[MODE] = variant.mode
                definitions: Mapping[str, Sequence[Any]] = info.name2fixturedefs
                dependent = _names_that_depend_on_the_variant(definitions)
                if variant.param is not None:
                    values[EXTRACTOR] = extractor_params(definitions[EXTRACTOR])[variant.param].values[0]
                own = {
                    name: tuple(self._copy(each, (variant, prompt), values) for each in known)
                    if name in dependent
                    else known
                    for name, known in definitions.items()
                }
                info = dataclasses.replace(info, name2fixturedefs=own)
            self._infos[key] = info
        return self._infos[key]

    def names_to_set_up(self, item: Any) -> list[str]:
        """Return the names of the fixtures that the item's set-up makes.

        Those of the variant are made where another fixture asks for them: a fixture costs each item 0.04 ms.
        """
        info = _fixture_info(item, ()) if self._extractor_on_demand else self.info_for(item)
        return [name for name in info.names_closure if name not in _OF_VARIANT]

    def _copy(self, definition: Any, of: tuple[object, ...], values: Mapping[str, Any]) -> Any:
        key = (definition, *of)
        if key not in self._copies:
            own = copy.copy(definition)
            own.cached_result = None
            own._finalizers = type(definition._finalizers)()  # noqa: SLF001  # pytest cannot copy a definition
            if definition.argname in values and definition.func.__module__ == "pytest_extract.plugin":
                value = values[definition.argname]
                own.func = lambda: value
                own.argnames = ()
            elif definition.argname in values and definition.params is not None:
                own.params = None

                def execute(request: Any) -> Any:
                    request.param = values[EXTRACTOR]
                    return type(own).execute(own, request)

                own.execute = execute
            self._copies[key] = own
        return self._copies[key]


def parametrized(definitions: Sequence[Any]) -> Any:
    """Return the definition of a fixture whose `params` count: the last, or one that it overrides and asks for."""
    for definition in reversed(definitions):
        if definition.params is not None:
            return definition
        if definition.argname not in definition.argnames:
            break
    return None


def extractor_params(definitions: Sequence[Any]) -> dict[str, Any]:
    """Return the `pytest.param` of each of a fixture's `params` by its id, both made by pytest; none without params."""
    definition = parametrized(definitions)
    if definition is None:
        return {}
    from _pytest.mark import ParameterSet
    from _pytest.python import IdMaker

    params = [ParameterSet.extract_from(each, force_tuple=True) for each in definition.params]
    asked: dict[str, Any] = {
        each.name: None for each in dataclasses.fields(IdMaker)
    }  # pytest's releases differ in them
    asked |= {"argnames": [definition.argname], "parametersets": params}
    asked["idfn" if callable(definition.ids) else "ids"] = definition.ids
    return dict(zip(map(str, IdMaker(**asked).make_unique_parameterset_ids()), params, strict=True))


def _fixture_info(item: pytest.Item, names: Sequence[str]) -> Any:
    """Ask pytest which fixtures an item needs, as its doctest items do: by a function that has them as parameters."""
    import inspect

    def function() -> None: ...

    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    return item.session._fixturemanager.getfixtureinfo(item, func=function, cls=None)  # noqa: SLF001


def fixtures_behind(item: Any, name: str) -> set[str]:
    """Return the names of the fixtures that one asks for, directly or not, and those that every item has."""
    names = set(_fixture_info(item, (name,)).names_closure)
    for definition in reversed(item._fixtureinfo.name2fixturedefs[name]):  # noqa: SLF001  # no public look-up
        names.update(definition.argnames)
        if name not in definition.argnames:  # else it gets the one that it overrides
            break
    return names


def _names_that_depend_on_the_variant(definitions: Mapping[str, Sequence[Any]]) -> set[str]:
    """Return the fixtures that give a variant's values, the extractor, and all fixtures that ask for one of them."""
    names = {*_OF_VARIANT, EXTRACTOR} & definitions.keys()
    while more := {
        name
        for name, known in definitions.items()
        if name not in names and any(names.intersection(each.argnames) for each in known)
    }:
        names |= more
    return names


def has_fixture(item: pytest.Item, name: str) -> bool:
    """Whether a conftest or plugin defines a fixture of this name for the item's file."""
    return bool(item.session._fixturemanager.getfixturedefs(name, item))  # noqa: SLF001  # no public look-up


def extractor_function(item: Any) -> Any:
    """Return the function of the fixture that gives an item its extractor; None where there is none."""
    definitions = item._fixtureinfo.name2fixturedefs.get(EXTRACTOR)  # noqa: SLF001  # no public look-up
    return definitions[-1].func if definitions else None


def check_not_parametrized(item: Any, names: Iterable[str]) -> None:
    """Raise ConfigError for a fixture with `params`: pytest runs a function once for each, and a case cannot be."""
    definitions: Mapping[str, Sequence[Any]] = item._fixtureinfo.name2fixturedefs  # noqa: SLF001  # no public look-up
    for name in names:
        if parametrized(definitions.get(name) or ()) is not None:
            raise ConfigError(
                f"the fixture {name!r} has params, and a case is not run once for each: have them as models"
                " (--extract-model is repeatable, and the fixture `extract_model` gives each its own); the params of"
                f" the fixture {EXTRACTOR!r} are variants, where no model is chosen"
            )


def value_made_before(item: Any, name: str) -> tuple[bool, Any]:
    """Return whether the value of a fixture is known before the item's set-up, and the value.

    It is known where no such fixture exists (None), and for a fixture of session scope that an earlier item has made.
    """
    definitions = item._fixtureinfo.name2fixturedefs.get(name)  # noqa: SLF001  # no public look-up
    if not definitions:
        return not has_fixture(item, name), None
    definition = definitions[-1]
    cached = definition.cached_result
    if definition.scope != "session" or cached is None or cached[2] is not None:
        return False, None
    return True, cached[0]


HOOK: Final = "pytest_extract_extensions"
ANYWHERE: Final = -1
"""Depth of a plugin that is no conftest: its extensions hold everywhere, and those of every conftest override them."""


class ProjectExtensions:
    """The extensions that each folder's cases may name, and caches of the schemas compiled with them."""

    def __init__(self, config: pytest.Config) -> None:
        settings = config.stash[SETTINGS]
        self._config = config
        self._new_cache = partial(SchemaCache, updates_golds=settings.writes_golds)
        self._compile = partial(compile_schema, judge_mode=settings.judge)
        self._of_plugin: dict[int, tuple[object, Extensions]] = {}
        self._of_folder: dict[str, tuple[Extensions, SchemaCache]] = {}
        self.default_cache = self._new_cache(self._compile)
        """The cache for cases without extensions."""
        self._known: dict[tuple[int, ...], tuple[Extensions, SchemaCache]] = {(): (Extensions(), self.default_cache)}

    def at(self, path: Path) -> tuple[Extensions, SchemaCache]:
        """Return what a file may name, and the cache that compiles schemas with it; ConfigError where names clash."""
        folder = os.path.dirname(path)  # noqa: PTH120 - once a case file, and pathlib takes five times as long
        if folder in self._of_folder:
            return self._of_folder[folder]
        providers: list[tuple[int, str, Extensions]] = []
        for name, plugin in self._config.pluginmanager.list_name_plugin():
            depth = None if plugin is None else _folder_depth(plugin, path.parent)
            if depth is None:
                continue
            if id(plugin) not in self._of_plugin:
                self._of_plugin[id(plugin)] = plugin, self._extensions_of(plugin)
            extensions = self._of_plugin[id(plugin)][1]
            if any(extensions.names()):
                providers.append((depth, name, extensions))
        providers.sort(key=lambda provider: provider[0])
        extensions, owners = Extensions(), dict[tuple[str, str], str]()
        for depth, name, own in providers:
            for kind, of_kind in own.names() if depth == ANYWHERE else ():
                other = owners.setdefault((kind, of_kind), name)
                if other != name:
                    raise ConfigError(f"the {kind} {of_kind!r} is brought along by two plugins, {other!r} and {name!r}")
            extensions = own.over(extensions)
        key = tuple(id(own) for _, _, own in providers)
        if key not in self._known:
            self._known[key] = extensions, self._new_cache(partial(self._compile, extensions=extensions))
        self._of_folder[folder] = self._known[key]
        return self._known[key]

    def _extensions_of(self, plugin: object) -> Extensions:
        """Return the decorated functions of a plugin module, and what its own implementation of the hook returns."""
        found = Extensions.marked_in(vars(plugin)) if isinstance(plugin, ModuleType) else Extensions()
        manager = self._config.pluginmanager
        implementing = [impl.plugin for impl in getattr(manager.hook, HOOK).get_hookimpls()]
        if plugin not in implementing:
            return found
        hook = manager.subset_hook_caller(HOOK, [other for other in implementing if other is not plugin])
        for returned in hook(config=self._config):
            if not isinstance(returned, Extensions):
                where = getattr(plugin, "__file__", None) or repr(plugin)
                raise ConfigError(f"{where}: {HOOK} must return Extensions.of(FUNCTION, ...), not {returned!r}")
            found = returned.over(found)
        return found


def _folder_depth(plugin: object, folder: Path) -> int | None:
    """Return the depth of a conftest's folder, ANYWHERE for another plugin; None for a conftest of another folder."""
    file = getattr(plugin, "__file__", None) if isinstance(plugin, ModuleType) else None
    if file is None or Path(file).name != "conftest.py":
        return ANYWHERE
    home = Path(file).parent
    return len(home.parts) if home == folder or home in folder.parents else None
