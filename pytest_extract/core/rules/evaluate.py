"""Computes both sides of a rule over one document, for the document as a whole or for each row of an array."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.metrics.equality import text_key
from pytest_extract.core.metrics.numbers import NOISE, is_whole
from pytest_extract.core.pattern import AnyKey, FieldStep
from pytest_extract.core.rules.operands import (
    NotComputableError,
    NumberValue,
    Operand,
    ReadsValue,
    as_number,
    calculate,
    common_currency,
    comparable,
    decimal_places,
    difference,
    operand_text,
    quotient,
    round_half_up,
    unread,
)
from pytest_extract.core.rules.syntax import SIGNS, ParsedRule, arrays_of, function_name, is_aggregate
from pytest_extract.core.values import MISSING, Json, Missing, Step, path_text

_NOISE: Final = Fraction(repr(NOISE))
MOST_STEPS: Final = 500_000
"""Values that one rule reads and computes in one document at most."""
Indices: TypeAlias = tuple[int, ...]
"""Of the rows through which a path leads (`[]`), outermost first."""


class NoValueError(Exception):
    """A field that a rule needs is null or missing; the message names it."""


class RuleComparison(NamedTuple):
    """One comparison of a rule, as people read it."""

    left: str
    right: str
    message: str


@dataclass(slots=True)
class Checked:
    """What a rule gave over one document.

    held: comparisons that hold, of which `shown` is the first; broken: the first that does not, of `broken_count`.
    without_value: rows in which a value is null or missing; `reason` names the first of these values.
    not_computable: why the values of the document cannot be computed with, None where they can.
    """

    held: int = 0
    shown: RuleComparison | None = None
    broken: RuleComparison | None = None
    broken_count: int = 0
    without_value: int = 0
    reason: str = ""
    not_computable: str | None = None


class RuleField(NamedTuple):
    """A field that a rule reads, by its steps from the document's root. `in_row`: it is in the row of `each`."""

    steps: tuple[FieldStep, ...]
    in_row: bool
    read: ReadsValue


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleProgram:
    """A rule that can be computed: its two sides, its fields, its tolerances.

    each: the rows for each of which it is computed, `()` for the document.
    rel: None where the rule names none: whole numbers are then compared exactly, as by the metric `number`.
    """

    parsed: ParsedRule
    fields: Mapping[ast.expr, RuleField]
    each: tuple[FieldStep, ...] = ()
    rel: Fraction | None = None
    tolerance: Fraction = Fraction(0)

    def check(self, document: Json) -> Checked:
        """Compute the rule over a document; never raises."""
        return _Evaluation(self, document).check()


class _Scope(NamedTuple):
    """Where a rule is computed: the indices of the row of `each`, and those of the rows that its own paths lead to."""

    row: Indices = ()
    inner: Indices = ()


@dataclass(slots=True)
class _Evaluation:
    rule: RuleProgram
    document: Json
    steps_left: int = MOST_STEPS
    aggregates: dict[ast.expr, tuple[Indices, Operand | NoValueError]] = field(default_factory=dict)
    """The value of each aggregate, and of which row."""

    def check(self) -> Checked:
        found, parsed = Checked(), self.rule.parsed
        free = [*parsed.fields_in(parsed.left, parsed.right, aggregated=False)]
        try:
            for row in self._rows(self.rule.each, ()):
                try:
                    for scope in self._scopes(free, row):
                        self._compare_into(found, scope)
                except NoValueError as error:
                    found.reason = found.reason or str(error)
        except NoValueError as error:
            found.reason = str(error)
        except (NotComputableError, RecursionError) as error:
            found.not_computable = str(error) or "the rule is too deep"
        return found

    def _scopes(self, fields: Iterable[ast.expr], row: Indices) -> Iterator[_Scope]:
        """Yield a scope for each row through which the longest path leads; one where none leads through rows."""
        known = [self.rule.fields[node] for node in fields]
        longest = max(known, key=lambda each: len(arrays_of(each.steps)) - len(row) * each.in_row, default=None)
        if longest is None:
            yield _Scope(row)
            return
        start = row if longest.in_row else ()
        for indices in self._rows(longest.steps, start):
            yield _Scope(row, indices[len(start) :])

    def _rows(self, steps: tuple[FieldStep, ...], indices: Indices, *, first: bool = True) -> Iterator[Indices]:
        arrays = arrays_of(steps)
        if len(indices) >= len(arrays):
            yield indices
            return
        place, rows = self._reach(arrays[len(indices)], indices)
        if rows is MISSING or rows is None or rows == []:
            if first:
                raise NoValueError(f"{path_text(place)} has no rows")
            return
        if not isinstance(rows, list):
            raise NotComputableError(f"{path_text(place)} is no array")
        for index in range(len(rows)):
            self._step()
            yield from self._rows(steps, (*indices, index), first=False)

    def _step(self) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise NotComputableError(f"the document has more than {MOST_STEPS:,} values for the rule")

    def _reach(self, steps: tuple[FieldStep, ...], indices: Indices) -> tuple[tuple[Step, ...], Json | Missing]:
        """Return the concrete place of a path, with the given indices for its `[]`, and the value there."""
        place = _place(steps, indices)
        found: Json | Missing = self.document
        for key in place:
            nothing = None if found is None else MISSING
            if isinstance(key, str):
                found = found.get(key, MISSING) if isinstance(found, dict) else nothing
            else:
                rows = found if isinstance(found, list) else []
                found = rows[key] if -len(rows) <= key < len(rows) else nothing
        return place, found

    # --- comparisons

    def _compare_into(self, found: Checked, scope: _Scope) -> None:
        parsed = self.rule.parsed
        try:
            left, right = self._value(parsed.left, scope), self._value(parsed.right, scope)
        except NoValueError as error:
            found.without_value += 1
            found.reason = found.reason or str(error)
            return
        row = f"{path_text(_place(self.rule.each, scope.row))}: " if scope.row else ""
        kinds = comparable(left, right, equality=parsed.sign in ("==", "!="))
        if kinds is None:
            texts = f"{operand_text(left)} {parsed.sign} {operand_text(right)}"
            raise NotComputableError(f"{row}{texts} compares values of different kinds, or texts by size")
        left, right = kinds
        off = None
        if isinstance(left, str | bool):
            holds = (text_key(left) == text_key(right)) is (parsed.sign == "==")
        else:
            if isinstance(left, NumberValue) and isinstance(right, NumberValue):
                common_currency(left, right, f"{row}{parsed.text}")
            off = difference(left, right)
            holds = self._holds(off, left, right)
        if holds:
            found.held += 1
            found.shown = found.shown or self._comparison(scope, left, right)
        else:
            found.broken_count += 1
            found.broken = found.broken or self._comparison(scope, left, right, off, holds=False)

    def _holds(self, off: Fraction, left: Operand, right: Operand) -> bool:
        """Compare within the tolerance: `==`, `<=` and `>=` hold up to it, `!=`, `<` and `>` only beyond it."""
        tolerance = self.rule.tolerance
        if isinstance(left, NumberValue) and isinstance(right, NumberValue):
            rel = self.rule.rel
            if rel is None:
                rel = Fraction(0) if is_whole(left.value) and is_whole(right.value) else _NOISE
            tolerance = max(tolerance, rel * max(abs(left.value), abs(right.value)))
        return {
            "==": abs(off) <= tolerance,
            "!=": abs(off) > tolerance,
            "<=": off <= tolerance,
            "<": off < -tolerance,
            ">=": off >= -tolerance,
            ">": off > tolerance,
        }[self.rule.parsed.sign]

    def _comparison(
        self, scope: _Scope, left: Operand, right: Operand, off: Fraction | None = None, *, holds: bool = True
    ) -> RuleComparison:
        parsed, places = self.rule.parsed, None
        if isinstance(left, NumberValue) and isinstance(right, NumberValue):
            places = max(decimal_places(left.value), decimal_places(right.value))
        texts = operand_text(left, places), operand_text(right, places)
        nodes = parsed.left, parsed.right
        sides = [
            parsed.part(node) if node in parsed.constants else f"{self._side(node, scope)} = {text}"
            for node, text in zip(nodes, texts, strict=True)
        ]
        constant = any(node in parsed.constants for node in nodes)
        message = f" {'' if holds else 'not '}{parsed.sign} ".join(sides) if constant else ", ".join(sides)
        if off and parsed.sign == "==":
            size = abs(off)
            if isinstance(left, NumberValue):
                message += f" (off by {operand_text(NumberValue(size), max(places or 0, decimal_places(size)))})"
            else:
                message += f" (off by {operand_text(NumberValue(size))} {'day' if size == 1 else 'days'})"
        row = f"{path_text(_place(self.rule.each, scope.row))}: " if scope.row else ""
        return RuleComparison(*texts, row + message)

    def _side(self, node: ast.expr, scope: _Scope) -> str:
        """Return the text of an expression with the indices of the row in place of `[]`."""
        places = {}
        for each in self.rule.parsed.fields_in(node, aggregated=False):
            ref = self.rule.parsed.fields[each]
            if ref.arrays:
                places[each] = ("$." if ref.from_root and scope.row else "") + path_text(_place(ref.steps, scope.inner))
        return self.rule.parsed.part(node, places)

    # --- values

    def _value(self, node: ast.expr, scope: _Scope) -> Operand:
        self._step()
        if node in self.rule.parsed.constants:
            constant = self.rule.parsed.constants[node]
            return NumberValue(constant) if isinstance(constant, Fraction) else constant
        if node in self.rule.fields:
            return self._field(self.rule.fields[node], scope)
        match node:
            case ast.BinOp():
                left, right = self._value(node.left, scope), self._value(node.right, scope)
                return calculate(SIGNS[type(node.op)], left, right, self._side(node, scope))
            case ast.UnaryOp():
                zero = NumberValue(Fraction(0))
                return calculate("-", zero, self._value(node.operand, scope), self._side(node, scope))
            case ast.Call() if is_aggregate(node):
                return self._aggregate(node, scope)
            case ast.Call(args=[argument, *further]):
                number = as_number(self._value(argument, scope), self._side(argument, scope))
                if function_name(node) == "abs":
                    return number._replace(value=abs(number.value))
                places = self.rule.parsed.constants[further[0]] if further else 0
                return number._replace(value=Fraction(round_half_up(number.value, int(places))))
        raise TypeError(f"no rule has a {type(node).__name__}")

    def _field(self, ref: RuleField, scope: _Scope) -> Operand:
        place, value = self._reach(ref.steps, (*scope.row, *scope.inner) if ref.in_row else scope.inner)
        if value is MISSING or value is None:
            raise NoValueError(f"{path_text(place)} is {'missing' if value is MISSING else 'null'}")
        found = None if isinstance(value, dict | list) else ref.read(value)
        if found is None:
            raise unread(value, path_text(place))
        return found

    def _aggregate(self, node: ast.Call, scope: _Scope) -> Operand:
        of_row = any(self.rule.fields[each].in_row for each in self.rule.parsed.fields_in(node))
        row = scope.row if of_row else ()
        kept = self.aggregates.get(node)
        if kept is None or kept[0] != row:
            try:
                kept = row, self._compute_aggregate(node, scope.row)
            except NoValueError as error:
                kept = row, error
            self.aggregates[node] = kept
        if isinstance(kept[1], NoValueError):
            raise kept[1]
        return kept[1]

    def _compute_aggregate(self, node: ast.Call, row: Indices) -> Operand:
        name, what = function_name(node), self.rule.parsed.part(node)
        if name == "count" and node.args[0] in self.rule.fields:
            return NumberValue(Fraction(self._count(self.rule.fields[node.args[0]], row)))
        values = [*self._values(node.args, row)]
        if name == "count":
            return NumberValue(Fraction(len(values)))
        if name == "count_distinct":
            return NumberValue(Fraction(len({text_key(each) if isinstance(each, str) else each for each in values})))
        if not values:
            raise NoValueError(f"{what} has no value to compute with")
        if name in ("min", "max"):
            return _extreme(values, what, least=name == "min")
        total = NumberValue(Fraction(0))
        for value in values:
            number = as_number(value, f"a value of {what}")
            total = NumberValue(total.value + number.value, common_currency(total, number, what))
        return total._replace(value=quotient(total.value, Fraction(len(values)))) if name == "mean" else total

    def _count(self, ref: RuleField, row: Indices) -> int:
        """Count the rows of the arrays at a path, and the values there that are no arrays; null and missing count 0."""
        asks_for_rows = ref.steps[-1] is None
        steps = ref.steps[:-1] if asks_for_rows else ref.steps
        count = 0
        try:
            for indices in self._rows(steps, row if ref.in_row else ()):
                place, value = self._reach(steps, indices)
                if asks_for_rows and not isinstance(value, list | Missing | None):
                    raise NotComputableError(f"{path_text(place)} is no array")
                count += len(value) if isinstance(value, list) else value is not None and value is not MISSING
        except NoValueError:  # an array around it has no rows
            return 0
        return count

    def _values(self, arguments: Iterable[ast.expr], row: Indices) -> Iterator[Operand]:
        """Yield the values of all arguments; what is null or missing is left out."""
        for argument in arguments:
            scopes = self._scopes([*self.rule.parsed.fields_in(argument, aggregated=False)], row)
            while True:
                try:
                    scope = next(scopes, None)
                    if scope is None:
                        break
                    yield self._value(argument, scope)
                except NoValueError:  # also of an array without rows, after which there is no further scope
                    continue


def _extreme(values: list[Operand], what: str, *, least: bool) -> Operand:
    best = values[0]
    for value in values[1:]:
        pair = comparable(value, best, equality=False)
        if pair is None:
            raise NotComputableError(f"{what} compares {operand_text(value)} with {operand_text(best)}")
        if isinstance(pair[0], NumberValue) and isinstance(pair[1], NumberValue):
            common_currency(pair[0], pair[1], what)
        off = difference(*pair)
        best = pair[0] if (off < 0) is least and off else pair[1]
    return best


def _place(steps: tuple[FieldStep, ...], indices: Indices) -> tuple[Step, ...]:
    given = iter(indices)
    return tuple(next(given) if step is None else "*" if isinstance(step, AnyKey) else step for step in steps)
