"""The grammar of rules: one comparison of two expressions over fields.

    rule       = expression ("==" | "!=" | "<=" | ">=" | "<" | ">") expression
    expression = term (("+" | "-") term)*
    term       = factor (("*" | "/") factor)*
    factor     = "-" factor | number | text | "true" | "false" | call | field | "(" expression ")"
    call       = name "(" expression ("," expression)* ")"
    field      = the path of a field, as results write it: items[].total, items[0].total, ["odd key"].total, $.total

Nothing is evaluated here, and nothing of Python is reachable from a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.pattern import AnyKey, FieldStep, parse_field
from pytest_extract.core.values import short_repr
from pytest_extract.errors import closest

LONGEST_RULE: Final = 1_000
"""Characters of the longest rule."""
_DEEPEST: Final = 50
COMPARISONS: Final = ("==", "!=", "<=", ">=", "<", ">")
FUNCTIONS: Final = {
    "sum": "sum of the values, of which null and missing ones are left out",
    "count": "number of rows of an array, or of the values that are neither null nor missing",
    "count_distinct": "number of different values",
    "min": "smallest value, or earliest date",
    "max": "largest value, or latest date",
    "mean": "mean of the values, of which null and missing ones are left out",
    "abs": "magnitude of a number",
    "round": "number rounded half up to the decimal places of the second argument (default: 0)",
}
"""What each function of rules gives."""
AGGREGATES: Final = frozenset(("sum", "count", "count_distinct", "min", "max", "mean"))
"""Functions that make one value of all values of their arguments."""


class RuleSyntaxError(ValueError):
    """A text that is no rule; `at` is the index of the character where that shows."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class Constant(NamedTuple):
    """A number, text or truth value that the rule itself holds; `start` and `end` are its place in the rule."""

    value: Fraction | str | bool
    start: int
    end: int


class FieldRef(NamedTuple):
    """A field. `from_root`: written with `$.`, so that it is one of the document also in a rule for each row."""

    steps: tuple[FieldStep, ...]
    from_root: bool
    start: int
    end: int

    @property
    def arrays(self) -> tuple[tuple[FieldStep, ...], ...]:
        """The arrays whose rows the path runs through (`[]`), outermost first."""
        return tuple(self.steps[:index] for index, step in enumerate(self.steps) if step is None)


class FunctionCall(NamedTuple):
    """A function of `FUNCTIONS` with its arguments."""

    name: str
    arguments: tuple[Expression, ...]
    start: int
    end: int


class Arithmetic(NamedTuple):
    """Two expressions and the sign between them; a minus before one is 0 - it."""

    sign: str
    left: Expression
    right: Expression
    start: int
    end: int


Expression: TypeAlias = Constant | FieldRef | FunctionCall | Arithmetic


class ParsedRule(NamedTuple):
    """The two sides of a rule and how they compare."""

    text: str
    sign: str
    left: Expression
    right: Expression

    def part(self, node: Expression) -> str:
        """Return the text of one expression of the rule."""
        return self.text[node.start : node.end]


def fields_in(node: Expression, *, aggregated: bool = True) -> Iterator[FieldRef]:
    """Yield the fields of an expression from left to right; without `aggregated`, not those inside aggregates."""
    match node:
        case FieldRef():
            yield node
        case FunctionCall():
            if aggregated or node.name not in AGGREGATES:
                for argument in node.arguments:
                    yield from fields_in(argument, aggregated=aggregated)
        case Arithmetic():
            yield from fields_in(node.left, aggregated=aggregated)
            yield from fields_in(node.right, aggregated=aggregated)
        case Constant():
            return


_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<number>\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<name>(?:\$|(?:[^\W\d]\w*)|\["(?:[^"\\]|\\.)*"\])(?:\.[^\W\d]\w*|\.?\["(?:[^"\\]|\\.)*"\]|\[-?\d{0,9}\])*)
    |(?P<sign>==|!=|<=|>=|[<>+\-*/(),])
    )""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(.)")


class _RuleToken(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def parse_rule(text: str) -> ParsedRule:
    """Parse the text of a rule; RuleSyntaxError for anything else."""
    if len(text) > LONGEST_RULE:
        raise RuleSyntaxError(
            f"a rule has at most {LONGEST_RULE:,} characters; this one has {len(text):,}", LONGEST_RULE
        )
    return _Parser(text).rule()


class _Parser:
    """Reads one rule from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [*_tokens(text)]
        self._next = 0
        self._depth = 0

    def rule(self) -> ParsedRule:
        left = self._expression()
        token = self._peek()
        if token.text not in COMPARISONS:
            hint = "; write == for equal" if token.text == "=" else ""
            raise self._expected(f"one of {' '.join(COMPARISONS)}{hint}")
        self._next += 1
        right = self._expression()
        if self._peek().kind != "end":
            if self._peek().text in COMPARISONS:
                raise RuleSyntaxError(
                    "a rule has one comparison; write the second as a rule of its own", self._peek().start
                )
            raise self._expected("the end of the rule")
        return ParsedRule(self._text, token.text, left, right)

    def _peek(self) -> _RuleToken:
        return self._tokens[self._next]

    def _expected(self, what: str) -> RuleSyntaxError:
        token = self._peek()
        found = "the rule ends" if token.kind == "end" else f"found {short_repr(token.text)}"
        return RuleSyntaxError(f"expected {what} at character {token.start + 1}, but {found}", token.start)

    def _expression(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RuleSyntaxError(f"a rule is nested at most {_DEEPEST} levels deep", self._peek().start)
        node = self._term()
        while (sign := self._peek().text) in ("+", "-") and self._peek().kind == "sign":
            self._next += 1
            right = self._term()
            node = Arithmetic(sign, node, right, node.start, right.end)
        self._depth -= 1
        return node

    def _term(self) -> Expression:
        node = self._factor()
        while (sign := self._peek().text) in ("*", "/") and self._peek().kind == "sign":
            self._next += 1
            right = self._factor()
            node = Arithmetic(sign, node, right, node.start, right.end)
        return node

    def _factor(self) -> Expression:
        signs: list[_RuleToken] = []
        while self._peek().text == "-" and self._peek().kind == "sign":
            signs.append(self._peek())
            self._next += 1
            if len(signs) > _DEEPEST:
                raise RuleSyntaxError(f"a rule is nested at most {_DEEPEST} levels deep", self._peek().start)
        node = self._operand()
        for sign in reversed(signs):
            zero = Constant(Fraction(0), sign.start, sign.start)
            node = (
                Constant(-node.value, sign.start, node.end)
                if isinstance(node, Constant) and isinstance(node.value, Fraction)
                else Arithmetic("-", zero, node, sign.start, node.end)
            )
        return node

    def _operand(self) -> Expression:
        token = self._peek()
        if token.kind == "number":
            self._next += 1
            return Constant(Fraction(token.text.replace("_", "")), token.start, token.end)
        if token.kind == "text":
            self._next += 1
            return Constant(_ESCAPE.sub(r"\1", token.text[1:-1]), token.start, token.end)
        if token.kind == "name":
            return self._named()
        if token.text == "(":
            self._next += 1
            inner = self._expression()
            if self._peek().text != ")":
                raise self._expected("`)`")
            end = self._peek().end
            self._next += 1
            return inner._replace(start=token.start, end=end)
        raise self._expected("a field, a number, a text or a function")

    def _named(self) -> Expression:
        token = self._peek()
        self._next += 1
        if self._peek().text == "(":
            return self._call(token)
        if token.text in ("true", "false"):
            return Constant(token.text == "true", token.start, token.end)
        steps = parse_field(token.text)
        if not steps or any(isinstance(step, AnyKey) for step in steps):
            what = "the path of a field, such as items[].total"
            raise RuleSyntaxError(
                f"expected {what} at character {token.start + 1}, but found {token.text!r}", token.start
            )
        return FieldRef(steps, token.text.startswith("$"), token.start, token.end)

    def _call(self, name: _RuleToken) -> Expression:
        if name.text not in FUNCTIONS:
            hint = closest(name.text, FUNCTIONS) or f"; known: {', '.join(FUNCTIONS)}"
            raise RuleSyntaxError(f"no function {name.text!r}{hint}", name.start)
        self._next += 1
        arguments = [self._expression()]
        while self._peek().text == ",":
            self._next += 1
            arguments.append(self._expression())
        if self._peek().text != ")":
            raise self._expected("`)` or `,`")
        end = self._peek().end
        self._next += 1
        self._check_arguments(name, arguments)
        return FunctionCall(name.text, tuple(arguments), name.start, end)

    def _check_arguments(self, name: _RuleToken, arguments: list[Expression]) -> None:
        most = {"abs": 1, "round": 2, "count": 1, "count_distinct": 1}.get(name.text)
        if most is not None and len(arguments) > most:
            of = "one argument" if most == 1 else "one or two arguments"
            raise RuleSyntaxError(f"{name.text} takes {of}, not {len(arguments)}", name.start)
        if name.text == "round" and len(arguments) == 2:
            places = arguments[1]
            if not isinstance(places, Constant) or places.value not in range(11):
                raise RuleSyntaxError("the decimal places of round are a number from 0 to 10", places.start)


def _tokens(text: str) -> Iterator[_RuleToken]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            sign = text[start]
            hint = "; write == for equal" if sign == "=" else ""
            raise RuleSyntaxError(f"expected a rule, but found {sign!r} at character {start + 1}{hint}", start)
        kind = str(match.lastgroup)
        yield _RuleToken(kind, match[kind], match.start(kind), match.end(kind))
        at = match.end()
    yield _RuleToken("end", "", end, end)
