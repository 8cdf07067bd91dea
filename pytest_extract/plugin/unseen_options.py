"""Options that choose a model, prompt or mode which the extractor of a case cannot see, read from its source."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pytest_extract.plugin.fixtures import EXTRACTOR, MODE, MODEL, PROMPT, has_fixture

if TYPE_CHECKING:
    from pytest_extract.plugin.items import ExtractItem
    from pytest_extract.plugin.options import Settings

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_ARGUMENTS: Final = {MODEL: ("model",), PROMPT: ("prompt", "case"), MODE: ()}
"""By option, the arguments through which an extractor gets its value."""


def unseen_option(item: ExtractItem, settings: Settings) -> str | None:
    """Say which option an item's extractor cannot see, and what to write; None where it sees all, or may see them."""
    asked = [name for name, given in ((MODEL, settings.model), (PROMPT, settings.prompt)) if given]
    asked += [MODE] if settings.mode != ("prompt",) else []
    if not asked or not has_fixture(item, EXTRACTOR):
        return None
    definitions = item._fixtureinfo.name2fixturedefs  # noqa: SLF001  # no public look-up
    function = definitions[EXTRACTOR][-1].func
    used = _fixtures_of(EXTRACTOR, definitions)
    for name in asked:
        if name not in used and _is_unseen(function, name):
            option = "--" + name.replace("_", "-")
            code = inspect.unwrap(function).__code__
            ways = " or ".join(
                [f"the fixture takes `{name}`", *(f"the extractor takes `{each}`" for each in _ARGUMENTS[name][:1])]
            )
            return (
                f"{option}: the extractor cannot see it, so every call would be the same: {code.co_filename}:"
                f"{code.co_firstlineno}: the fixture `{EXTRACTOR}`. Let it be seen ({ways}), or leave {option} out"
            )
    return None


def _fixtures_of(name: str, definitions: Any) -> set[str]:
    """Return the names of a fixture and of all that it asks for."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += [other for definition in definitions.get(each) or () for other in definition.argnames]
    return found


@functools.cache
def _is_unseen(function: Callable[..., Any], name: str) -> bool:
    """Whether the source of a fixture shows that what it gives does not get the value of an option."""
    function = inspect.unwrap(function)
    try:
        module = ast.parse(Path(function.__code__.co_filename).read_text(encoding="utf-8"))
    except (OSError, ValueError, AttributeError):
        return False
    nodes = [each for each in ast.walk(module) if isinstance(each, _Function) and each.name == function.__name__]
    if len(nodes) != 1 or any(_reads(each, name) for each in _without_docstrings(module)):
        return False
    own = {each.name: each for each in nodes[0].body if isinstance(each, _Function)}
    own = {key: each for key, each in own.items() if not each.decorator_list}
    given = [each.value for each in _own_nodes(nodes[0]) if isinstance(each, ast.Return | ast.Yield)]
    return bool(given) and all(_cannot_take(each, own, function.__globals__, name) for each in given)


def _cannot_take(value: ast.expr | None, own: dict[str, _Function], outside: dict[str, Any], name: str) -> bool:
    """Whether the callable that an expression gives has no argument for an option; False where that is unknown."""
    if isinstance(value, ast.Lambda):
        return not _takes(value.args, name)
    if isinstance(value, ast.Name) and value.id in own:
        return not _takes(own[value.id].args, name)
    if isinstance(value, ast.Name) and value.id in outside:
        target = outside[value.id]
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        target = getattr(outside.get(value.func.id), "__call__", None) if not value.args + value.keywords else None  # type: ignore[operator]  # noqa: B004
        if not inspect.isclass(outside.get(value.func.id)):
            return False
    else:
        return False
    if not inspect.isfunction(target):
        return False
    parameters = inspect.signature(target).parameters
    takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    return not takes_all and parameters.keys().isdisjoint(_ARGUMENTS[name])


def _takes(arguments: ast.arguments, name: str) -> bool:
    named = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return arguments.kwarg is not None or not named.isdisjoint(_ARGUMENTS[name])


def _own_nodes(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions and classes inside it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _without_docstrings(module: ast.Module) -> Iterator[ast.AST]:
    texts = {id(each.value) for each in ast.walk(module) if isinstance(each, ast.Expr)}
    return (each for each in ast.walk(module) if id(each) not in texts)


def _reads(node: ast.AST, name: str) -> bool:
    """Whether a node names an option: an identifier, or a text such as that of `getoption`; or one made at run time."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and name in node.value.replace("-", "_")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        first = node.args[0] if node.args else None
        is_dynamic = node.func.attr in ("getfixturevalue", "getoption", "getini") and first is not None
        return is_dynamic and not isinstance(first, ast.Constant)
    return name in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "arg", None))
