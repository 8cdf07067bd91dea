"""Arms of a run (models, prompts), and fixtures that know the arm of the item which asks for them.

pytest tells items of one parametrized fixture apart by `item.callspec`; an item in a file that is not Python must not
have one (VS Code's test adapter breaks on it). So each arm has its own copy of the fixture definitions that depend,
through whatever chain, on `extract_model` or `extract_prompt`: a session-scoped extractor is then made once per arm,
and kept.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_extract.core.case_result import Arm

EXTRACTOR = "extractor"
JUDGE = "extract_judge"
MODEL = "extract_model"
PROMPT = "extract_prompt"

Definitions = Mapping[str, Sequence[Any]]


def arms_of(models: Sequence[str], prompts: Sequence[Path], root: Path) -> tuple[Arm, ...]:
    """Every model with every prompt. A prompt that all cases share tells nothing apart, so it is no part of the arm."""
    names: list[str | None] = [_relative(prompt, root) for prompt in prompts] if len(prompts) > 1 else [None]
    some_models: list[str | None] = [*models] or [None]
    return tuple(Arm(model=model, prompt=prompt) for model in some_models for prompt in names)


def _relative(path: Path, root: Path) -> str:
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()


def prompt_of(arm: Arm, prompts: Sequence[Path], root: Path) -> Path | None:
    """Return the prompt file from the command line that an arm runs with."""
    return next((path for path in prompts if len(prompts) == 1 or _relative(path, root) == arm.prompt), None)


class ArmFixtures:
    """The copies, kept for the session: two items of one arm share theirs, and so its cached values."""

    def __init__(self) -> None:
        self._copies: dict[tuple[int, Arm], tuple[Any, Any]] = {}

    def info_for(self, info: Any, arm: Arm, values: Mapping[str, Any]) -> Any:
        """Return pytest's `FuncFixtureInfo` with the arm's own definitions in place of the shared ones."""
        definitions: Definitions = info.name2fixturedefs
        dependent = _dependent(definitions)
        own = {
            name: tuple(self._copy(each, arm, values) for each in known) if name in dependent else known
            for name, known in definitions.items()
        }
        return dataclasses.replace(info, name2fixturedefs=own)

    def _copy(self, definition: Any, arm: Arm, values: Mapping[str, Any]) -> Any:
        key = (id(definition), arm)
        if key not in self._copies:
            # The original is kept beside its copy: its id() must not be given to another object.
            self._copies[key] = (definition, _copied(definition, values))
        return self._copies[key][1]


def _dependent(definitions: Definitions) -> set[str]:
    """Names whose value may depend on the arm: the two themselves, the extractor, and all that ask for one of them."""
    names = {MODEL, PROMPT, EXTRACTOR} & definitions.keys()
    grown = True
    while grown:
        more = {
            name
            for name, known in definitions.items()
            if name not in names and any(names.intersection(each.argnames) for each in known)
        }
        names |= more
        grown = bool(more)
    return names


def _copied(definition: Any, values: Mapping[str, Any]) -> Any:
    own = copy.copy(definition)
    own.cached_result = None
    own._finalizers = type(definition._finalizers)()  # noqa: SLF001  # pytest offers no way to copy a definition
    if definition.argname in values and definition.func.__module__ == "pytest_extract.plugin":
        value = values[definition.argname]
        own.func = lambda: value
        own.argnames = ()
    return own


def wanted(*names: str) -> Any:
    """Make a function whose signature asks for these fixtures: pytest works out what else they need."""
    import inspect

    def ask() -> None: ...

    ask.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    return ask


def parametrized(item: Any) -> str | None:
    """Say which fixture of an item has `params`: pytest runs a function once for each of them, and a case cannot."""
    definitions: Definitions = item._fixtureinfo.name2fixturedefs  # noqa: SLF001  # no public look-up
    for name in item.fixturenames:
        if definitions.get(name) and definitions[name][-1].params:
            return (
                f"the fixture {name!r} has params, and a case is not run once for each: have them as models"
                " (--extract-model is repeatable, and the fixture `extract_model` gives each its own)"
            )
    return None


def visible(item: pytest.Item, name: str) -> bool:
    """Whether the item's file sees a fixture of this name."""
    return bool(item.session._fixturemanager.getfixturedefs(name, item))  # noqa: SLF001  # no public look-up
