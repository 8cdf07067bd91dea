"""Rules as Python expressions of which only a list of parts is allowed: one comparison of two sides over fields.

Python reads the text; nothing of it is run. What Python reads otherwise is written for it in another way, and changed
back wherever a text is shown: `[]` (every row), `$` (the document) and fields that are named like a word of Python.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.pattern import FieldStep
from pytest_extract.core.values import short_repr
from pytest_extract.errors import closest

LONGEST_RULE: Final = 1_000
"""Characters of the longest rule."""
_DEEPEST: Final = 50
_TOO_DEEP: Final = f"a rule is nested at most {_DEEPEST} levels deep"
COMPARISONS: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">",
}  # fmt: skip
SIGNS: Final[Mapping[type[ast.operator], str]] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
FUNCTIONS: Final = {"sum": 50, "count": 1, "count_distinct": 1, "min": 50, "max": 50, "mean": 50, "abs": 1, "round": 2}
"""The functions of rules, each with the number of arguments that it takes at most."""
AGGREGATES: Final = frozenset(FUNCTIONS) - {"abs", "round"}
"""Functions that make one value of all values of their arguments."""
_ROOT: Final = "__document__"
_KEYWORD: Final = re.compile(rf"\b(?:{'|'.join(keyword.kwlist)})\b")
_ESCAPED: Final = re.compile("__word_([A-Za-z]+)__")
_NUMBER: Final = re.compile(r"\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")


class RuleSyntaxError(ValueError):
    """A text that is no rule; `at` is the index of the character where that shows."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class FieldRef(NamedTuple):
    """A field. `from_root`: written with `$.`, so that it is one of the document also in a rule for each row."""

    steps: tuple[FieldStep, ...]
    from_root: bool

    @property
    def arrays(self) -> tuple[tuple[FieldStep, ...], ...]:
        """The arrays whose rows the path runs through (`[]`), outermost first."""
        return arrays_of(self.steps)


def arrays_of(steps: tuple[FieldStep, ...]) -> tuple[tuple[FieldStep, ...], ...]:
    """Return the arrays whose rows a path runs through (`[]`), outermost first."""
    return tuple(steps[:index] for index, step in enumerate(steps) if step is None)


Constant: TypeAlias = Fraction | str | bool


class ParsedRule(NamedTuple):
    """The two sides of a rule and how they compare; `fields` and `constants` are what some of their nodes mean.

    `source`: the text as Python reads it.
    """

    text: str
    sign: str
    left: ast.expr
    right: ast.expr
    fields: Mapping[ast.expr, FieldRef]
    constants: Mapping[ast.expr, Constant]
    source: bytes

    def part(self, node: ast.expr, places: Mapping[ast.expr, str] | None = None) -> str:
        """Return the text of one expression of the rule, with other texts in the place of some of its fields."""
        source, start = self.source[: node.end_col_offset], node.col_offset
        for each, place in sorted((places or {}).items(), key=lambda item: -item[0].col_offset):
            source = source[: each.col_offset] + place.encode() + source[each.end_col_offset :]
        return _as_written(source[start:].decode())

    def fields_in(self, *nodes: ast.AST, aggregated: bool = True) -> Iterator[ast.expr]:
        """Yield the fields of expressions from left to right; without `aggregated`, not those inside aggregates."""
        for node in nodes:
            if isinstance(node, ast.expr) and node in self.fields:
                yield node
            elif aggregated or not is_aggregate(node):
                yield from self.fields_in(*ast.iter_child_nodes(node), aggregated=aggregated)


def is_aggregate(node: ast.AST) -> bool:
    """Whether an expression is a call of one of `AGGREGATES`."""
    return isinstance(node, ast.Call) and function_name(node) in AGGREGATES


def function_name(node: ast.Call) -> str:
    """Return the name of the function that is called, "" where it has none."""
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _for_python(text: str) -> str:
    words = _KEYWORD.sub(r"__word_\g<0>__", re.sub(r"\s", " ", text.strip()))
    return words.replace("[]", "[:]").replace("$", _ROOT)


def _as_written(text: str) -> str:
    return _ESCAPED.sub(r"\1", text.replace(_ROOT, "$").replace("[:]", "[]"))


def parse_rule(text: str) -> ParsedRule:
    """Parse the text of a rule; RuleSyntaxError for anything else."""
    if len(text) > LONGEST_RULE:
        message = f"a rule has at most {LONGEST_RULE:,} characters; this one has {len(text):,}"
        raise RuleSyntaxError(message, LONGEST_RULE)
    if text.count("(") > _DEEPEST:
        raise RuleSyntaxError(_TOO_DEEP, text.rindex("("))
    source = _for_python(text)
    try:
        with warnings.catch_warnings():  # of escapes in a text, for example
            warnings.simplefilter("ignore")
            tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(text, source, error) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise RuleSyntaxError(f"expected a rule, but it cannot be read: {error}", 0) from None
    return _RuleReader(text, source).rule(tree)


def _syntax_error(text: str, source: str, error: SyntaxError) -> RuleSyntaxError:
    offset = (error.offset or 0) - 1
    if not 0 <= offset < len(source):
        at = len(text.rstrip())
        wanted = "a field, a number, a text or a function"
        return RuleSyntaxError(f"expected {wanted} at character {at + 1}, but the rule ends", at)
    at = len(_as_written(source[:offset])) + len(text) - len(text.lstrip())
    if not error.msg.startswith("invalid syntax"):
        return RuleSyntaxError(f"{error.msg} at character {at + 1}", at)
    hint = "; write == for equal" if source[offset] == "=" else ""
    found = _as_written(source[offset:])[:1]
    return RuleSyntaxError(f"expected a rule, but found {found!r} at character {at + 1}{hint}", at)


class _RuleReader:
    """Takes the allowed parts of a tree, and refuses all others."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._fields: dict[ast.expr, FieldRef] = {}
        self._constants: dict[ast.expr, Constant] = {}

    def rule(self, tree: ast.expr) -> ParsedRule:
        if not isinstance(tree, ast.Compare):
            at = len(self._text.rstrip())
            wanted = " ".join(COMPARISONS.values())
            raise RuleSyntaxError(f"expected one of {wanted} at character {at + 1}, but the rule ends", at)
        if len(tree.ops) > 1:
            one = "a rule has one comparison; write the second as a rule of its own"
            raise RuleSyntaxError(one, self._at(tree.comparators[0]))
        left, right = tree.left, tree.comparators[0]
        self._read(left, 0)
        self._read(right, 0)
        sign = COMPARISONS[type(tree.ops[0])]  # `is` and `in` are names of fields
        return ParsedRule(self._text, sign, left, right, self._fields, self._constants, self._source.encode())

    def _segment(self, node: ast.expr) -> str:
        return ast.get_source_segment(self._source, node) or ""

    def _at(self, node: ast.expr) -> int:
        before = self._source.encode()[: node.col_offset].decode()
        return len(_as_written(before)) + len(self._text) - len(self._text.lstrip())

    def _unexpected(self, node: ast.expr, wanted: str) -> RuleSyntaxError:
        at, found = self._at(node), short_repr(_as_written(self._segment(node)))
        return RuleSyntaxError(f"expected {wanted} at character {at + 1}, but found {found}", at)

    def _read(self, node: ast.expr, depth: int) -> None:
        if depth > _DEEPEST:
            raise RuleSyntaxError(_TOO_DEEP, self._at(node))
        match node:
            case ast.BinOp() if type(node.op) in SIGNS:
                self._read(node.left, depth)  # a long sum is no deep one
                self._read(node.right, depth + 1)
            case ast.UnaryOp(op=ast.USub()):
                self._read(node.operand, depth + 1)
                if isinstance(value := self._constants.get(node.operand), Fraction):
                    self._constants[node] = -value
            case ast.Call(keywords=[]) if function_name(node) and node.args:
                self._call(node, depth)
            case ast.Constant() | ast.Name(id="true" | "false"):
                self._constants[node] = self._constant(node)
            case _:
                steps = self._steps(node)
                if steps in (None, ("$",)):
                    raise self._unexpected(node, "a field, a number, a text or a function")
                self._fields[node] = (
                    FieldRef(steps[1:], from_root=True) if steps[0] == "$" else FieldRef(steps, from_root=False)
                )

    def _constant(self, node: ast.Constant | ast.Name) -> Constant:
        if isinstance(node, ast.Name):
            return node.id == "true"
        if isinstance(node.value, str):
            return _as_written(node.value)
        segment = self._segment(node)
        if not _NUMBER.fullmatch(segment):
            raise self._unexpected(node, "a field, a number, a text or a function")
        return Fraction(segment.replace("_", ""))

    def _call(self, node: ast.Call, depth: int) -> None:
        name = function_name(node)
        if name not in FUNCTIONS:
            hint = closest(name, FUNCTIONS) or f"; known: {', '.join(FUNCTIONS)}"
            raise RuleSyntaxError(f"no function {name!r}{hint}", self._at(node))
        for argument in node.args:
            self._read(argument, depth + 1)
        most = FUNCTIONS[name]
        if len(node.args) > most:
            of = "one argument" if most == 1 else "one or two arguments" if most == 2 else f"at most {most} arguments"
            raise RuleSyntaxError(f"{name} takes {of}, not {len(node.args)}", self._at(node))
        if name == "round" and self._constants.get(node.args[-1]) not in range(11) and len(node.args) > 1:
            raise RuleSyntaxError("the decimal places of round are a number from 0 to 10", self._at(node.args[1]))

    def _steps(self, node: ast.expr) -> tuple[FieldStep, ...] | None:
        """Return the steps of a field's path, as results write it; None for another expression."""
        name = _as_written(self._segment(node)).rpartition(".")[2].strip()  # Python would write some letters otherwise
        match node:
            case ast.Name():
                return (name,)
            case ast.List(elts=[ast.Constant(value=str(key))]):
                return (_as_written(key),)
            case ast.Attribute(value=inner):
                step: FieldStep = name
            case ast.Subscript(value=inner, slice=ast.Slice(lower=None, upper=None, step=None)):
                step = None
            case ast.Subscript(value=inner, slice=ast.Constant(value=int() | str() as key)):
                step = _as_written(key) if isinstance(key, str) else key
            case ast.Subscript(value=inner, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(index)))):
                step = -index
            case _:
                return None
        above = self._steps(inner)
        return None if above is None else (*above, step)
