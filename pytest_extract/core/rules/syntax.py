"""Rules as somebody writes them: the form of an entry, and its text as a Python expression, of which nothing is run.

What Python reads otherwise is written for it in another way, and changed back wherever a text is shown: `[]` (every
row), `$` (the document) and fields that are named like a word of Python.
"""

from __future__ import annotations

import ast
import keyword
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.values import Json, short_repr
from pytest_extract.errors import nearest

Severity: TypeAlias = Literal["error", "warning"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning")
RULE_KEYS: Final = ("rule", "name", "each", "rel", "abs", "severity")
LONGEST_RULE: Final = 1_000
"""Characters of the longest rule."""
COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
}
_ROOT: Final = "__document__"
_KEYWORD: Final = re.compile(rf"\b(?:{'|'.join(keyword.kwlist)})\b")
_ESCAPED: Final = re.compile("__word_([A-Za-z]+)__")


def entry_problems(entry: Json) -> Iterator[tuple[str | None, str]]:
    """Yield what is wrong with the form of one rule: the key that holds it, and a sentence."""
    if isinstance(entry, str):
        return
    if not isinstance(entry, Mapping):
        yield None, f"must be a rule such as 'start <= end', or a mapping with `rule`, not {short_repr(entry)}"
        return
    for key in entry:
        if key not in RULE_KEYS:
            yield key, f"a rule has no key {key!r}{nearest(key, RULE_KEYS)}"
    for key in ("rule", "name", "each"):
        if (key in entry or key == "rule") and not (isinstance(entry.get(key), str) and entry[key].strip()):
            wanted = "needs `rule`, its text" if key not in entry else f"`{key}` must be a text"
            yield (key if key in entry else None), wanted
    for key in ("rel", "abs"):
        value = entry.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e300:
            yield key, f"`{key}` must be a number, 0 or more, not {short_repr(value)}"
    if entry.get("severity", "error") not in SEVERITIES:
        yield "severity", f"`severity` must be error or warning, not {short_repr(entry['severity'])}"


class RuleSyntaxError(ValueError):
    """A text that is no rule."""


class RuleText(NamedTuple):
    """The text of a rule, and as Python reads it."""

    text: str
    python: str

    def part(self, node: ast.expr) -> str:
        """Return the text of one expression of the rule."""
        return as_written(ast.get_source_segment(self.python, node) or "")

    def error_at(self, node: ast.expr, wanted: str) -> RuleSyntaxError:
        """Return the error for an expression in the place of something else."""
        before = self.python.encode()[: node.col_offset].decode()
        at = len(as_written(before)) + 1
        return RuleSyntaxError(f"expected {wanted} at character {at}, but found {short_repr(self.part(node))}")


def as_written(python: str) -> str:
    """Change a text that was written for Python back."""
    return _ESCAPED.sub(r"\1", python.replace(_ROOT, "$").replace("[:]", "[]"))


def parse_rule(text: str) -> tuple[RuleText, ast.Compare]:
    """Return the text of a rule and its one comparison; RuleSyntaxError for anything else."""
    if len(text) > LONGEST_RULE:
        raise RuleSyntaxError(f"a rule has at most {LONGEST_RULE:,} characters; this one has {len(text):,}")
    text = re.sub(r"\s", " ", text.strip())
    source = RuleText(text, _KEYWORD.sub(r"__word_\g<0>__", text).replace("[]", "[:]").replace("$", _ROOT))
    try:
        with warnings.catch_warnings():  # of escapes in a text, for example
            warnings.simplefilter("ignore")
            tree = ast.parse(source.python, mode="eval").body
    except SyntaxError as error:
        raise RuleSyntaxError(_syntax_error(source, error)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise RuleSyntaxError(f"expected a rule, but it cannot be read: {error}") from None
    if not isinstance(tree, ast.Compare):
        raise RuleSyntaxError(f"expected one of == != <= >= < > at character {len(text) + 1}, but the rule ends")
    if len(tree.ops) > 1:
        raise RuleSyntaxError("a rule has one comparison; write the second as a rule of its own")
    return source, tree


def _syntax_error(source: RuleText, error: SyntaxError) -> str:
    offset = (error.offset or 0) - 1
    if not 0 <= offset < len(source.python):
        wanted = "a field, a number, a text or a function"
        return f"expected {wanted} at character {len(source.text) + 1}, but the rule ends"
    place = f"at character {len(as_written(source.python[:offset])) + 1}"
    if not error.msg.startswith("invalid syntax"):
        return f"{error.msg} {place}"
    hint = "; write == for equal" if source.python[offset] == "=" else ""
    return f"expected a rule, but found {as_written(source.python[offset:])[:1]!r} {place}{hint}"
