"""Models, prompts and modes that were asked for and that an extractor cannot see: each of its calls would be the same.

What the source of a project proves is told before the first call of the run; the rest at the first call of an
extractor, by its signature.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pytest

from pytest_extract.plugin.options import left_to_controller
from pytest_extract.plugin.project import EXTRACTOR, JUDGE, MODE, MODEL, PROMPT, has_fixture

if TYPE_CHECKING:
    from pytest_extract.plugin.items import ExtractItem
    from pytest_extract.plugin.options import Settings

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Definitions: TypeAlias = dict[str, Any]
"""Fixture definitions of pytest by name of the fixture."""


class _Asked(NamedTuple):
    """Something that calls differ by: what asks for it, the fixture that gives it, and an extractor's arguments."""

    by: str
    fixture: str
    arguments: tuple[str, ...]


class UnseenOptions:
    """Tells what extractors cannot see; once known, the answer for other cases of the same fixtures costs nothing."""

    def __init__(self, settings: Settings, root: Path) -> None:
        self._root = root
        self._of_run = [
            asked
            for asked, is_given in (
                (_Asked("--extract-model", MODEL, ("model",)), bool(settings.model)),
                (_Asked("--extract-prompt", PROMPT, ("prompt", "case")), bool(settings.prompt)),
                (_Asked("--extract-mode", MODE, ()), settings.mode != ("prompt",)),
            )
            if is_given
        ]
        self._has_prompt = bool(settings.prompt)
        self._found: dict[tuple[Any, ...], str | None] = {}

    def before_calls(self, item: ExtractItem) -> str | None:
        """Say what the extractor of a case cannot see by the source of its fixture; None where that does not show."""
        return self._first(item, None)

    def check_at_call(self, item: ExtractItem, extractor: object) -> None:
        """End the session with a usage error where an extractor that is about to be called cannot see something."""
        problem = self._first(item, extractor)
        if problem is not None:
            left_to_controller(item.config, problem)
            pytest.exit(problem, returncode=pytest.ExitCode.USAGE_ERROR)

    def _first(self, item: ExtractItem, extractor: object) -> str | None:
        asked = self._of_run
        if item.case.prompt is not None and not self._has_prompt:
            asked = [*asked, _Asked(f"{item.location[0]}:{item.case.line}: `prompt`", "", ("prompt", "case"))]
        if not asked or not has_fixture(item, EXTRACTOR):
            return None
        info = item._fixtureinfo  # noqa: SLF001  # no public look-up
        for each in asked:
            key = (id(info), extractor is None, each.fixture)
            if key not in self._found:
                self._found[key] = self._unseen(each, item, extractor)
            if self._found[key] is not None:
                return self._found[key]
        return None

    def _unseen(self, asked: _Asked, item: ExtractItem, extractor: object) -> str | None:
        used = _used_fixtures(item._fixtureinfo)  # noqa: SLF001  # no public look-up
        function = inspect.unwrap(used[EXTRACTOR].func)
        arguments = _arguments_of_returned(function) if extractor is None else _arguments(extractor)
        if asked.fixture in used or arguments is None or not arguments.isdisjoint((*asked.arguments, "**")):
            return None
        names = {asked.fixture, asked.by, f"{asked.by}="} | ({"case"} if "case" in asked.arguments else set())
        if any(_reads(path, names) for path in self._sources(item, used, extractor)):
            return None
        from pytest_extract.files import display_path

        code = function.__code__
        place = f"{display_path(Path(code.co_filename), self._root)}:{code.co_firstlineno}"
        lacks, ways = [], []
        if asked.fixture:
            lacks.append(f"does not ask for `{asked.fixture}`")
            ways.append(f"the fixture takes `{asked.fixture}` (used or not)")
        if asked.arguments:
            lacks.append(f"returns a function without `{asked.arguments[0]}`")
            ways.append(f"the function takes `{asked.arguments[0]}`")
        return (
            f"{asked.by}: no call would see it, and all would be the same: {place}: the fixture `{EXTRACTOR}` "
            f"{' and '.join(lacks)}. It is seen where {' or '.join(ways)}; or leave {asked.by.split(': ')[-1]} out"
        )

    def _sources(self, item: ExtractItem, used: _Definitions, extractor: object) -> set[Path]:
        """Return the files that may hand an option over: the project's own, and of others those of the extractor."""
        from pytest_extract.changed.inputs import extractor_sources, file_of, is_own

        makers = [used[EXTRACTOR].func, *([] if extractor is None else [extractor])]
        found = {path for each in makers if (path := file_of(each)) is not None}
        for each in (*makers, *(definition.func for definition in used.values())):
            found.update(extractor_sources(each, self._root))
        files = (getattr(each, "__file__", None) for each in item.config.pluginmanager.get_plugins())
        paths = (Path(each) for each in files if isinstance(each, str))
        return found | {path for path in paths if is_own(path, self._root.resolve())}


def _used_fixtures(info: Any) -> _Definitions:
    """Return the definitions behind an extractor, and those of autouse fixtures, which may set what it reads."""
    found: _Definitions = {}
    waiting = [(name, -1) for name in info.initialnames if name not in {MODEL, PROMPT, MODE, JUDGE}]
    while waiting:
        name, index = waiting.pop()
        known = info.name2fixturedefs.get(name, ())
        if -index <= len(known) and found.get(name) is not known[index]:
            found.setdefault(name, known[index])
            # a fixture that asks for its own name gets the one that it overrides
            waiting += [(each, index - 1 if each == name else -1) for each in known[index].argnames]
    return found


def _arguments(extractor: object) -> set[str] | None:
    """Return the names of a callable's parameters, `**` for any name; None for what has no signature."""
    try:
        parameters = inspect.signature(extractor).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return {"**" if each.kind is inspect.Parameter.VAR_KEYWORD else each.name for each in parameters}


def hands_model_to_litellm(item: ExtractItem) -> bool:
    """Whether the extractor of a case is the built-in one for its model: by default, or `model=extract_model`."""
    if not has_fixture(item, EXTRACTOR):
        return True
    function = item._fixtureinfo.name2fixturedefs[EXTRACTOR][-1].func  # noqa: SLF001  # no public look-up
    return "LitellmExtractor(model=extract_model" in (ast.unparse(tree) if (tree := _source(function)) else "")


@functools.cache
def _source(fixture: Any) -> _Function | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(fixture)))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    return tree if isinstance(tree, _Function) else None


def _arguments_of_returned(fixture: Any) -> set[str] | None:
    """Return the parameters of the functions that a fixture returns; None where its source does not show them."""
    tree = _source(fixture)
    if tree is None:
        return None
    nodes = list(_own_nodes(tree))
    inner = {each.name: each for each in nodes if isinstance(each, _Function) and not each.decorator_list}
    returned = [each.value for each in nodes if isinstance(each, ast.Return | ast.Yield)]
    assigned = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    found: set[str] = set()
    for value in returned:
        if isinstance(value, ast.Name) and value.id in assigned:
            arguments = None
        elif isinstance(value, ast.Lambda):
            arguments = _written_arguments(value.args)
        elif isinstance(value, ast.Name) and value.id in inner:
            arguments = _written_arguments(inner[value.id].args)
        elif isinstance(value, ast.Name) and inspect.isroutine(fixture.__globals__.get(value.id)):
            arguments = _arguments(fixture.__globals__[value.id])
        else:
            arguments = None
        if arguments is None:
            return None
        found |= arguments
    return found if returned else None


def _written_arguments(arguments: ast.arguments) -> set[str]:
    named = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return named | ({"**"} if arguments.kwarg is not None else set())


def _own_nodes(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions and classes inside it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _reads(path: Path, names: set[str]) -> bool:
    """Whether a file asks pytest for an option: `option.extract_model`, `getoption("--extract-model")`, `node.case`.

    A look-up by a name that is made at run time may do so.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in names:
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"getfixturevalue", "getoption", "getini"}:
            first = node.args[0] if node.args else None
            if not isinstance(first, ast.Constant):
                return True
    return False
