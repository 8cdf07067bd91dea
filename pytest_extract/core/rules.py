"""Rules across the fields of one document: `sum(items[].total) == total`, `start <= end`.

First the text of a rule is read, then what values are to a rule, then a rule set finds the fields of its rules in the
schema and computes with those of one output.
"""

from __future__ import annotations

import ast
import keyword
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import Array, Leaf, Program, Skip, nodes_at
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics.dates import PartialDate, date_reader
from pytest_extract.core.metrics.numbers import NOISE, Money, exactly, money_reader, number_reader
from pytest_extract.core.results import RuleResult, RuleStatus
from pytest_extract.core.schema.annotations import RULES_KEYWORD
from pytest_extract.core.values import (
    MISSING,
    AnyKey,
    FieldStep,
    Json,
    Missing,
    Step,
    json_type,
    parse_field,
    path_text,
    short_json,
    short_repr,
    text_key,
    value_at,
)
from pytest_extract.errors import SchemaError, closest, nearest

RULE_KEYS: Final = {"rule": check.text, "each": check.text, "rel": check.number(0), "abs": check.number(0)}
"""Keys of a rule, each with the check of its value."""
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


class RuleMistake(ValueError):
    """What is wrong with one rule, and the key that holds it (None: the rule as a whole)."""

    def __init__(self, message: str, key: str | None = "rule") -> None:
        super().__init__(message)
        self.key = key


def checked_entry(entry: Json) -> Mapping[str, Json]:
    """Return one rule of a list as a mapping; RuleMistake where its form is wrong."""
    if isinstance(entry, str):
        return {"rule": entry}
    if not isinstance(entry, Mapping):
        wanted = "must be a rule such as 'start <= end', or a mapping with `rule`"
        raise RuleMistake(f"{wanted}, not {short_repr(entry)}", None)
    for key, value in entry.items():
        if key not in RULE_KEYS:
            raise RuleMistake(f"a rule has no key {key!r}{nearest(key, RULE_KEYS)}", key)
        if (problem := RULE_KEYS[key](value)) is not None:
            raise RuleMistake(f"`{key}` {problem}, not {short_repr(value)}", key)
    if "rule" not in entry:
        raise RuleMistake("needs `rule`, its text", None)
    return entry


def as_written(python: str) -> str:
    """Change a text that was written for Python back."""
    return _ESCAPED.sub(r"\1", python.replace(_ROOT, "$").replace("[:]", "[]"))


def parse_rule(text: str) -> tuple[str, ast.Compare]:
    """Return a rule as it is written for Python, and its one comparison; RuleMistake for anything else."""
    if len(text) > LONGEST_RULE:
        raise RuleMistake(f"a rule has at most {LONGEST_RULE:,} characters; this one has {len(text):,}")
    python = _KEYWORD.sub(r"__word_\g<0>__", text).replace("[]", "[:]").replace("$", _ROOT)
    try:
        with warnings.catch_warnings():  # of escapes in a text, for example
            warnings.simplefilter("ignore")
            tree = ast.parse(python, mode="eval").body
    except SyntaxError as error:
        rest = as_written(python[max((error.offset or 0) - 1, 0) :])
        where = f"at {short_repr(rest)}" if rest else "at its end"
        raise RuleMistake(f"{error.msg} {where}; a rule looks like `net + tax == total`") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise RuleMistake(f"expected a rule, but it cannot be read: {error}") from None
    if not isinstance(tree, ast.Compare):
        raise RuleMistake("a rule compares two sides by one of == != <= >= < >")
    if len(tree.ops) > 1:
        raise RuleMistake("a rule has one comparison; write the second as a rule of its own")
    return python, tree


_CODE: Final = re.compile(r"[+-]?0\d")
"""How a text begins that has digits and is no number, such as a postal code."""
CONTEXT: Final = Context(prec=60, rounding=ROUND_HALF_UP)
"""How rules compute."""

Operand: TypeAlias = Decimal | PartialDate | str | bool


class NotComputableError(Exception):
    """Values of a document that a rule cannot compute with; the message names them."""


def _reader(metric: str, params: Mapping[str, Json]) -> Callable[[Json], Decimal | PartialDate | None]:
    read = _READERS[metric](check.with_defaults(params, METRICS[metric].params))
    return lambda value: _operand(read(value))


def read_plainly(value: Json) -> Operand | None:
    """Read a text or a truth value as it is, and a number exactly."""
    return value if isinstance(value, str | bool) else _operand(exactly(value))


def _operand(found: Money | Fraction | Decimal | PartialDate | None) -> Decimal | PartialDate | None:
    """Return what a reader of metrics has read; an amount counts without its currency."""
    if isinstance(found, Money):
        found = found.amount
    return CONTEXT.divide(Decimal(found.numerator), found.denominator) if isinstance(found, Fraction) else found


_reader_of_texts: Final = cache(partial(_reader, params={}))


def number_in(operand: Operand | None) -> Decimal | None:
    """Return a number, or that of an English text, unless it begins like a code (007); None for others."""
    if isinstance(operand, str) and not _CODE.match(operand):
        readings = [_reader_of_texts(metric)(operand) for metric in ("locale_number", "money")]
        operand = next((found for found in readings if found is not None), None)
    return operand if isinstance(operand, Decimal) else None


def date_in(operand: Operand | None) -> PartialDate | None:
    """Return a date, or that of a text in ISO 8601, to the month or the day (a year is a number); None for others."""
    if isinstance(operand, str) and not operand.isdecimal():
        operand = _reader_of_texts("date")(operand)
    return operand if isinstance(operand, PartialDate) else None


_READERS: Final[Mapping[str, Callable[[Mapping[str, Json]], Callable[[Json], Any]]]] = {
    "date": date_reader,
    "money": money_reader,
    "locale_number": number_reader,
}
"""Metrics that read texts as numbers or dates, each with what makes the reader of its parameters."""


def date_order(left: PartialDate, right: PartialDate) -> int:
    """Return 0 for equal dates, as far as both are known, else 1 or -1 for the later or earlier one.

    Times of day count if both have one and both or neither an offset.
    """
    shared = min(len(left.known), len(right.known))
    one, other = left.known[:shared], right.known[:shared]
    if left.time is not None and right.time is not None and (left.time.tzinfo is None) == (right.time.tzinfo is None):
        return (left.time > right.time) - (left.time < right.time)
    return (one > other) - (one < other)


def compared(left: Operand, right: Operand, what: str, *, equality: bool) -> tuple[Operand, Operand, Decimal]:
    """Return both sides as values of one kind, and by how much the left one is larger: 1 for a later date.

    They are dates if both are, then numbers if both are, else texts or truth values, which have no order.
    """
    days = date_in(left), date_in(right)
    if days[0] is not None and days[1] is not None:
        return days[0], days[1], Decimal(date_order(days[0], days[1]))
    numbers = number_in(left), number_in(right)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0], numbers[1], numbers[0] - numbers[1]
    if equality and type(left) is type(right):
        return left, right, Decimal(text_key(left) != text_key(right))
    texts = f"{operand_text(left)} with {operand_text(right)}"
    raise NotComputableError(f"{what} compares {texts}: values of different kinds, or texts by size")


def operand_text(operand: Operand) -> str:
    """Write an operand for people; a number with separators and at most six decimal places; only 0 is `0`."""
    if isinstance(operand, Decimal):
        in_full = not operand or Decimal("1E-6") <= abs(operand) < 10**24
        return f"{round(operand, 6).normalize():,f}" if in_full else f"{operand:.5E}"
    return str(operand) if isinstance(operand, PartialDate) else short_json(operand, 40)


_NOISE: Final = Decimal(repr(NOISE))
Steps: TypeAlias = tuple[FieldStep, ...]
Indices: TypeAlias = tuple[int, ...]
"""Of the rows through which a path leads (`[]`), outermost first."""
ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
FUNCTIONS: Final[Mapping[str, str]] = {
    "sum": "an expression with a field in it, and no other sum or count",
    "count": "one field, inside no other sum or count",
    "count_distinct": "an expression with a field in it, and no other sum or count",
    "abs": "one expression",
    "round": "one expression, and the decimal places, from 0 to 10",
}
"""Functions of rules, each with what it takes."""
_NOT_ALLOWED: Final = "{!r:.80} is no field, number, text or function of a rule"


class NoValueError(Exception):
    """A field that a rule needs is null or missing; the message names it."""


@dataclass(frozen=True, slots=True)
class Run:
    """A rule being computed over one document; `kept`: the values of sums and the like, None where they have none."""

    document: Json
    kept: dict[tuple[str, Indices], Decimal | None] = field(default_factory=dict)


class RuleField(NamedTuple):
    """A field by its steps from the document; `in_row`: they begin in a row of `each`."""

    steps: Steps
    in_row: bool


class Expression(NamedTuple):
    """A part of a rule: its text, what computes it in a row, and its fields with one value in each row."""

    text: str
    compute: Callable[[Run, Indices], Operand]
    fields: tuple[RuleField, ...] = ()
    is_constant: bool = False

    def number(self, run: Run, indices: Indices) -> Decimal:
        """Compute a number."""
        value = self.compute(run, indices)
        found = number_in(value)
        if found is None:
            raise NotComputableError(f"{self.text} is {operand_text(value)}, which is no number")
        return found


def _of_numbers(text: str, operate: Callable[..., Decimal], *parts: Expression) -> Expression:
    def compute(run: Run, indices: Indices) -> Operand:
        numbers = [part.number(run, indices) for part in parts]
        if operate is operator.truediv and not numbers[1]:
            raise NotComputableError(f"{text} divides by 0")
        return operate(*numbers)

    fields = tuple(chain.from_iterable(part.fields for part in parts))
    return Expression(text, compute, fields, all(part.is_constant for part in parts))


class ExpressionReader:
    """Reads the expressions of one rule; RuleMistake for what the schema does not have, or what is no rule there."""

    def __init__(self, python: str, program: Program, each: Steps) -> None:
        self._python = python
        self._program = program
        self._each = each

    def read(self, node: ast.expr, around: str = "") -> Expression:
        """Read an expression, an argument of the function `around`; RuleMistake for a part that is not allowed."""
        text = as_written(ast.get_source_segment(self._python, node) or "")
        match node:
            case ast.BinOp() if type(node.op) in ARITHMETIC:
                sides = self.read(node.left, around), self.read(node.right, around)
                return _of_numbers(text, ARITHMETIC[type(node.op)], *sides)
            case ast.UnaryOp(op=ast.USub()):
                return _of_numbers(text, operator.neg, self.read(node.operand, around))
            case ast.Call(func=ast.Name(id=name), args=[_, *_], keywords=[]):
                return self._call(node, name, text, around)
            case ast.Constant(value=int() | float() | str() as value) if (number := read_plainly(value)) is not None:
                constant = as_written(value) if isinstance(value, str) else number
                return Expression(text, lambda _run, _at: constant, is_constant=True)
            case ast.Name(id="true" | "false" as name):
                return Expression(text, lambda _run, _at: name == "true", is_constant=True)
            case ast.Name() | ast.Attribute() | ast.Subscript() | ast.List():
                return self._field(text, around)
        raise RuleMistake(_NOT_ALLOWED.format(text))

    def _call(self, node: ast.Call, name: str, text: str, around: str) -> Expression:
        if name not in FUNCTIONS:
            hint = closest(name, FUNCTIONS) or f"; known: {', '.join(FUNCTIONS)}"
            raise RuleMistake(f"no function {name!r}{hint}")
        argument, *further = node.args
        is_aggregate = name not in ("abs", "round")
        inner = self.read(argument, name if is_aggregate else around)
        places = getattr(further[0], "value", None) if further else 0
        is_right = (
            len(further) <= (name == "round")
            and type(places) is int
            and places in range(11)
            and not (is_aggregate and (around or not inner.fields))
            and not (name == "count" and len(inner.fields) > 1)
        )
        if not is_right:
            raise RuleMistake(f"{text}: {name} takes {FUNCTIONS[name]}")
        if is_aggregate:
            return self._aggregate(inner, name, text)
        unit = Decimal(1).scaleb(-int(places or 0))
        return _of_numbers(text, abs if name == "abs" else lambda number: number.quantize(unit), inner)

    def _aggregate(self, argument: Expression, name: str, text: str) -> Expression:
        """Return what computes one number of all values of the argument, once for each row that it depends on."""
        rows = self.rows(argument.fields)
        kept = self._each.count(None) if any(each.in_row for each in argument.fields) else 0

        def count(run: Run, indices: Indices) -> Decimal:
            found = (value for _, value in places_of(run.document, argument.fields[0].steps, indices))
            return Decimal(sum(len(each) if isinstance(each, list) else each not in (None, MISSING) for each in found))

        def total(run: Run, indices: Indices) -> Decimal | None:
            values: list[Any] = []
            read = argument.compute if name == "count_distinct" else argument.number
            for place, _ in places_of(run.document, rows, indices):
                with suppress(NoValueError):  # what is null or missing is left out
                    values.append(read(run, indices_of(place, rows)))
            if name == "count_distinct":
                return Decimal(len({text_key(each) if isinstance(each, str) else each for each in values}))
            return sum(values, Decimal(0)) if values else None

        def compute(run: Run, indices: Indices) -> Operand:
            key = text, indices[:kept]
            if key not in run.kept:
                run.kept[key] = (count if name == "count" else total)(run, key[1])
            found = run.kept[key]
            if found is None:
                raise NoValueError(f"{text} has no value to compute with")
            return found

        return Expression(text, compute)

    def rows(self, fields: Iterable[RuleField]) -> Steps:
        """Return the rows through which the fields of one expression lead: those of one array, or of one inside it."""
        through = [
            RuleField(steps[: len(steps) - steps[::-1].index(None)], root) for steps, root in fields if None in steps
        ]
        longest = max(through, key=lambda each: len(each.steps), default=RuleField((), in_row=False))
        for each in through:
            if each.steps != longest.steps[: len(each.steps)] or each.in_row != longest.in_row:
                both = f"{path_text(each.steps)} and {path_text(longest.steps)}"
                remedy = "compare a sum or count of each"
                raise RuleMistake(f"the rows of {both} do not belong together; {remedy}")
        return longest.steps

    def _field(self, text: str, around: str) -> Expression:
        """Find a field in the schema; a problem where the rule cannot read it."""
        own = parse_field(text)
        if not own:
            raise RuleMistake(_NOT_ALLOWED.format(text))
        in_row = bool(self._each) and not text.startswith("$")
        steps = (*self._each, *own) if in_row else own
        nodes, pattern = [*nodes_at(self._program.root, steps, ignored=True)], path_text(steps)
        of_rows = path_text(tuple(None if isinstance(step, int) else step for step in steps))
        if not nodes and not {pattern, of_rows} & self._program.patterns.keys():
            inside, where = (f"{path_text(self._each)}.", f" in {path_text(self._each)}") if in_row else ("", "")
            known = [name.removeprefix(inside) for name in self._program.patterns if name.startswith(inside)]
            raise RuleMistake(f"the schema has no field {path_text(own)!r}{where}{nearest(path_text(own), known)}")
        if around != "count" and nodes and all(isinstance(each, Array) for each in nodes):
            names = f"{pattern}[].amount, or count({pattern})"
            raise RuleMistake(f"{pattern!r} is an array: name what is in it, such as {names}")
        metrics = [each.metric for node in nodes if isinstance(node, Leaf) for each in node.checks]
        readers = (_reader(each.name, each.params) for each in metrics if each.name in _READERS)
        read: Callable[[Json], Operand | None] = next(readers, read_plainly)

        def compute(run: Run, indices: Indices) -> Operand:
            ((place, value),) = places_of(run.document, steps, indices[: steps.count(None)])
            if value is MISSING or value is None:
                raise NoValueError(f"{path_text(place)} is {'missing' if value is MISSING else 'null'}")
            if isinstance(value, dict | list):
                raise NotComputableError(f"{path_text(place)} is an {json_type(value)}, not a value")
            found = read(value)
            if found is None:
                raise NotComputableError(f"{path_text(place)} is {short_json(value, 40)}, which cannot be read")
            return found

        return Expression(text, compute, (RuleField(steps, in_row),))


def places_of(
    value: Json | Missing, steps: Sequence[FieldStep], indices: Indices = (), place: tuple[Step, ...] = ()
) -> Iterator[tuple[tuple[Step, ...], Json | Missing]]:
    """Yield each place of a path with the value there; `indices` are those of its first `[]`."""
    if not steps:
        yield place, value
    elif steps[0] is not None or indices:
        step, further = (steps[0], indices) if steps[0] is not None else (indices[0], indices[1:])
        key = "*" if isinstance(step, AnyKey) else step
        inner = None if value is None else value_at(value, (key,))
        yield from places_of(inner, steps[1:], further, (*place, key))
    elif isinstance(value, list):
        for index, row in enumerate(value):
            yield from places_of(row, steps[1:], (), (*place, index))
    elif value is not None and value is not MISSING:
        raise NotComputableError(f"{path_text(place)} is no array")


def indices_of(place: Sequence[Step], steps: Steps) -> Indices:
    """Return the indices of the rows through which a place leads."""
    return tuple(key for key, step in zip(place, steps, strict=True) if step is None and isinstance(key, int))


class Row(NamedTuple):
    """What a rule gave in one row: a message with both sides, or why there are none.

    unchecked: the values cannot be computed with; not_applicable: one of them is null or missing.
    """

    status: RuleStatus
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRule:
    """One rule of a document: two sides, how they compare, and the rows for each of which it is computed, if any.

    name: the text, and the rows for each of which it is computed.
    rel: None where the rule names none: whole numbers are then compared exactly, as by the metric `number`.
    of_schema: it stands in the schema; `index`: its place in the list there.
    """

    text: str
    sides: tuple[Expression, Expression]
    sign: type[ast.cmpop]
    rows: Steps
    rel: Decimal | None
    tolerance: Decimal
    name: str
    of_schema: bool
    index: int

    def result(self, gold: Json | Missing, extracted: Json | Missing) -> RuleResult:
        """Check the rule on an output; gold says whether a value that is not there should be."""
        rows = (
            [Row(RuleStatus.NOT_APPLICABLE, "there is no output")] if extracted is MISSING else self._check(extracted)
        )
        held, broken, unchecked, without = ([row for row in rows if row.status is status] for status in RuleStatus)
        told, more = [*broken, *unchecked, *held, *without][0], ""
        if without and not broken and not unchecked and self._computes_more(gold, rows):
            told = without[0]._replace(status=RuleStatus.UNCHECKED)
            more = "" if extracted is MISSING else "; not so in the gold"
        elif told.status in (RuleStatus.BROKEN, RuleStatus.HELD) and len(rows) > max(1, len(held)):
            more = f"; {len(broken or held):,} of {len(rows):,} rows"
        return RuleResult(name=self.name, status=told.status, message=told.message + more)

    def _computes_more(self, gold: Json | Missing, rows: Sequence[Row]) -> bool:
        """Whether the gold has values for the rule where these rows, of an output, have none."""
        sides = [] if gold is MISSING else self._check(gold), rows
        without, others = (sum(row.status is RuleStatus.NOT_APPLICABLE for row in side) for side in sides)
        return len(sides[0]) > without and (len(rows) == others or others > without)

    def _check(self, document: Json) -> list[Row]:
        """Compute the rule over a document; never raises."""
        rows: list[Row] = []
        run = Run(document)
        try:
            with localcontext(CONTEXT):
                for place, _ in places_of(document, self.rows):
                    try:
                        rows.append(self._row(run, place))
                    except NoValueError as error:
                        rows.append(Row(RuleStatus.NOT_APPLICABLE, str(error)))
        except NotComputableError as error:
            rows.append(Row(RuleStatus.UNCHECKED, str(error)))
        except (RecursionError, ArithmeticError):
            rows.append(Row(RuleStatus.UNCHECKED, "a value or the rule is too large to compute with"))
        no_rows = f"{path_text(self.rows).removesuffix('[]')} has no rows"
        return rows or [Row(RuleStatus.NOT_APPLICABLE, no_rows)]

    def _row(self, run: Run, place: tuple[Step, ...]) -> Row:
        left, right = (side.compute(run, indices_of(place, self.rows)) for side in self.sides)
        row = f"{path_text(place)}: " if place else ""
        equality = self.sign in (ast.Eq, ast.NotEq)
        left, right, off = compared(left, right, f"{row}{self.text}", equality=equality)
        if isinstance(left, Decimal) and isinstance(right, Decimal):
            of_whole = all(side == side.to_integral_value() for side in (left, right))
            rel = self.rel if self.rel is not None else Decimal(0) if of_whole else _NOISE
            off = off if abs(off) > max(self.tolerance, rel * max(abs(left), abs(right))) else Decimal(0)
        pairs = zip(self.sides, (left, right), strict=True)
        shown = ", ".join(f"{side.text} = {operand_text(value)}" for side, value in pairs if not side.is_constant)
        is_off = self.sign is ast.Eq and off and isinstance(left, Decimal)
        apart = f" (off by {operand_text(abs(off))})" if is_off else ""
        holds = COMPARISONS[self.sign](off, 0)
        return Row(RuleStatus.HELD if holds else RuleStatus.BROKEN, f"{row}{shown}{apart}")


RuleSet: TypeAlias = tuple[CompiledRule, ...]
"""The rules of a schema, then those of its case."""


def compile_rules(given: Json, program: Program, *, of_schema: bool) -> tuple[RuleSet, list[SchemaError]]:
    """Compile a list of rules (texts, or mappings with the keys `RULE_KEYS`); return them, and the others' mistakes."""
    if not isinstance(given, list | tuple):
        message = f"must be a list of rules, not {short_repr(given)}"
        return (), [SchemaError(message, pointer=f"/{RULES_KEYWORD}")]
    found: list[CompiledRule] = []
    errors: list[SchemaError] = []
    names: dict[str, int] = {}
    for index, entry in enumerate(given):
        try:
            rule = _compile(checked_entry(entry), program, index, of_schema=of_schema)
            if (first := names.setdefault(rule.name, index)) != index:
                raise RuleMistake(f"has the text of rule {first + 1}: {rule.name!r}", None)  # noqa: TRY301
            found.append(rule)
        except RuleMistake as mistake:
            steps = (index,) if mistake.key is None or not isinstance(entry, Mapping) else (index, mistake.key)
            pointer = "/".join(map(str, ("", RULES_KEYWORD, *steps)))
            where: dict[str, Any] = {"pointer": pointer} if of_schema else {"at": ("rules", *steps)}
            errors.append(SchemaError(str(mistake), **where))
    return tuple(found), errors


def _compile(config: Mapping[str, Json], program: Program, index: int, *, of_schema: bool) -> CompiledRule:
    each: Steps = ()
    text = re.sub(r"\s", " ", config["rule"].strip())
    if "each" in config:
        each = parse_field(config["each"]) or ()
        each = each if each and each[-1] is None else (*each, None)
        if not any(isinstance(node, Array | Skip) for node in nodes_at(program.root, each[:-1], ignored=True)):
            hint = nearest(path_text(each), [name for name in program.patterns if name.endswith("[]")])
            raise RuleMistake(f"`each`: the schema has no array {config['each']!r}{hint}", "each")
    try:
        python, comparison = parse_rule(text)
        reader = ExpressionReader(python, program, each)
        sides = reader.read(comparison.left), reader.read(comparison.comparators[0])
        rows = reader.rows([*sides[0].fields, *sides[1].fields, *([RuleField(each, in_row=True)] if each else [])])
    except RuleMistake as mistake:
        raise RuleMistake(f"{short_repr(config['rule'], 80)}: {mistake}") from None
    except RecursionError:
        raise RuleMistake("the rule is nested too deep") from None
    if sides[0].is_constant and sides[1].is_constant:
        raise RuleMistake(f"{text!r} names no field")
    return CompiledRule(
        text=text,
        sides=sides,
        sign=type(comparison.ops[0]),
        rows=rows,
        rel=Decimal(repr(config["rel"])) if "rel" in config else None,
        tolerance=Decimal(repr(config.get("abs", 0))),
        name=text + (f" (each {config['each']})" if each else ""),
        of_schema=of_schema,
        index=index,
    )
