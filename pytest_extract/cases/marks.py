"""Marks from a case file: names and call expressions with literal arguments, parsed and never evaluated."""

from __future__ import annotations

import ast
import warnings
from types import MappingProxyType

from pytest_extract.cases.model import Mark
from pytest_extract.core.values import Json

_MAX_LENGTH = 10_000
_EXAMPLE = "expected a name, or a call with literal arguments such as \"xfail(reason='…')\""


def parse_mark(text: str) -> Mark:
    """Parse `slow` or `xfail(reason='scanned upside down')`; ValueError says in words what is wrong."""
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"a mark of more than {_MAX_LENGTH} characters")
    text = text.strip()
    if text.isidentifier():
        return Mark(name=_meaningful(text))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a reason is the reader's affair, not the collection's
            node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r:.80} is no mark; {_EXAMPLE}") from None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise ValueError(f"{text!r:.80} is no mark; {_EXAMPLE}")  # noqa: TRY004 - a value of the right type
    if any(keyword.arg is None for keyword in node.keywords):
        raise ValueError(f"{text!r:.80} is no mark: `**` cannot be used")
    args = tuple(_literal(argument, text) for argument in node.args)
    kwargs = {str(keyword.arg): _literal(keyword.value, text) for keyword in node.keywords}
    return Mark(name=_meaningful(node.func.id), args=args, kwargs=MappingProxyType(kwargs))


def _meaningful(name: str) -> str:
    if name == "parametrize":
        raise ValueError("`parametrize` makes no cases: write them under `cases:` or in a `dataset:`")
    return name


def _literal(node: ast.expr, text: str) -> Json:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        wrong = ast.get_source_segment(text, node) or text
        raise ValueError(f"the argument `{wrong[:80]}` is no literal (text, number, True, False, None, list)") from None
