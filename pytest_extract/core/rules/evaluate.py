"""Computes both sides of a rule over one document, for the document as a whole or for each row of an array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from fractions import Fraction
from typing import Final, NamedTuple

from pytest_extract.core.metrics.arithmetic import NOISE, is_whole
from pytest_extract.core.metrics.equality import text_key
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
from pytest_extract.core.rules.syntax import (
    AGGREGATES,
    Arithmetic,
    Constant,
    Expression,
    FieldRef,
    FunctionCall,
    ParsedRule,
    fields_in,
)
from pytest_extract.core.values import MISSING, Json, Missing, Step, path_text
from pytest_extract.lazy import dataclass

_NOISE: Final = Fraction(repr(NOISE))
MOST_STEPS: Final = 500_000
"""Values that one rule reads and computes in one document at most."""


class NoValueError(Exception):
    """A field that a rule needs is null or missing; the message names it."""


class RuleComparison(NamedTuple):
    """One comparison of a rule: of the document, or of one row (`place`, "" for the document)."""

    holds: bool
    place: str
    left: str
    right: str
    message: str


@dataclass(slots=True)
class Checked:
    """What a rule gave over one document.

    held: comparisons that hold; broken: the first one that does not, of `broken_count`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleProgram:
    """A rule that can be computed: its two sides, the readers of its fields, its tolerances.

    rel: None where the rule names none: whole numbers are then compared exactly, as by the metric `number`.
    each: the array for each of whose rows it is computed, None for the document.
    """

    parsed: ParsedRule
    readers: Mapping[FieldRef, ReadsValue]
    each: tuple[FieldStep, ...] | None = None
    rel: Fraction | None = None
    tolerance: Fraction = Fraction(0)

    def check(self, document: Json) -> Checked:
        """Compute the rule over a document; never raises."""
        return _Evaluation(self, document).check()


@dataclass(slots=True)
class _Evaluation:
    rule: RuleProgram
    document: Json
    steps_left: int = MOST_STEPS
    of_document: dict[int, Operand | NoValueError] = field(default_factory=dict)
    of_row: dict[int, Operand | NoValueError] = field(default_factory=dict)

    def check(self) -> Checked:
        found = Checked()
        free = [*self._free_fields()]
        try:
            for place, row in self._rows():
                self.of_row.clear()
                try:
                    for indices in self._indices(row, free):
                        self._compare_into(found, _Scope(place, row, indices))
                except NoValueError as error:
                    found.reason = found.reason or str(error)
        except NoValueError as error:
            found.reason = str(error)
        except (NotComputableError, RecursionError) as error:
            found.not_computable = str(error) or "the rule is too deep"
        return found

    def _rows(self) -> Iterator[tuple[tuple[Step, ...], Json]]:
        """Yield the document, or each row of the array that `each` names, with its place."""
        each = self.rule.each
        if each is None:
            yield (), self.document
            return
        arrays = [each[:index] for index, step in enumerate(each) if step is None]
        if each[-1:] != (None,):
            arrays.append(each)
        for indices in self._rows_below(self.document, arrays, ()):
            place, row = _reach(self.document, (*arrays[-1], None), indices)
            yield place, None if isinstance(row, Missing) else row

    def _free_fields(self) -> Iterator[FieldRef]:
        for side in (self.rule.parsed.left, self.rule.parsed.right):
            yield from fields_in(side, aggregated=False)

    def _indices(self, row: Json, fields: list[FieldRef]) -> Iterator[tuple[int, ...]]:
        """Yield the indices of the rows through which the longest path runs; `()` once where none runs through rows."""
        longest = max(fields, key=lambda each: len(each.arrays), default=None)
        if longest is None or not longest.arrays:
            yield ()
            return
        yield from self._rows_below(self._base(longest, row), [*longest.arrays], ())

    def _rows_below(
        self, base: Json, arrays: list[tuple[FieldStep, ...]], indices: tuple[int, ...]
    ) -> Iterator[tuple[int, ...]]:
        if len(indices) == len(arrays):
            yield indices
            return
        place, rows = _reach(base, arrays[len(indices)], indices)
        if rows is MISSING or rows is None or rows == []:
            if not indices:
                raise NoValueError(f"{path_text(place)} has no rows")
            return
        if not isinstance(rows, list):
            raise NotComputableError(f"{path_text(place)} is no array")
        for index in range(len(rows)):
            self._step()
            yield from self._rows_below(base, arrays, (*indices, index))

    def _base(self, node: FieldRef, row: Json) -> Json:
        return self.document if node.from_root or self.rule.each is None else row

    def _step(self) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise NotComputableError(f"the document has more than {MOST_STEPS:,} values for the rule")

    def _compare_into(self, found: Checked, scope: _Scope) -> None:
        try:
            left, right, off, holds = self._compare(scope)
        except NoValueError as error:
            found.without_value += 1
            found.reason = found.reason or str(error)
            return
        if holds:
            found.held += 1
            found.shown = found.shown or self._comparison(scope, left, right, off, holds=True)
        else:
            found.broken_count += 1
            found.broken = found.broken or self._comparison(scope, left, right, off, holds=False)

    def _compare(self, scope: _Scope) -> tuple[Operand, Operand, Fraction | None, bool]:
        """Return both sides, the difference of numbers and dates, and whether the rule holds."""
        parsed = self.rule.parsed
        left, right = self._value(parsed.left, scope), self._value(parsed.right, scope)
        kinds = comparable(left, right, equality=parsed.sign in ("==", "!="))
        if kinds is None:
            texts = f"{operand_text(left)} {parsed.sign} {operand_text(right)}"
            raise NotComputableError(f"{self._said(scope)}{texts} compares values of different kinds, or texts by size")
        left, right = kinds
        off = None
        if isinstance(left, str | bool):
            equal = text_key(left) == text_key(right)
            holds = equal is (parsed.sign == "==")
        else:
            if isinstance(left, NumberValue) and isinstance(right, NumberValue):
                common_currency(left, right, f"{self._said(scope)}{self.rule.parsed.text}")
            off = difference(left, right)
            holds = self._holds(parsed.sign, off, left, right)
        return left, right, off, holds

    def _holds(self, sign: str, off: Fraction, left: Operand, right: Operand) -> bool:
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
        }[sign]

    def _said(self, scope: _Scope) -> str:
        return f"{path_text(scope.place)}: " if scope.place else ""

    def _comparison(
        self, scope: _Scope, left: Operand, right: Operand, off: Fraction | None, *, holds: bool
    ) -> RuleComparison:
        places = None
        if isinstance(left, NumberValue) and isinstance(right, NumberValue):
            places = max(decimal_places(left.value), decimal_places(right.value))
        texts = operand_text(left, places), operand_text(right, places)
        sides = [
            self.rule.parsed.part(node) if isinstance(node, Constant) else f"{self._side(node, scope)} = {text}"
            for node, text in zip((self.rule.parsed.left, self.rule.parsed.right), texts, strict=True)
        ]
        constant = isinstance(self.rule.parsed.left, Constant) or isinstance(self.rule.parsed.right, Constant)
        joint = f" {'' if holds else 'not '}{self.rule.parsed.sign} " if constant else ", "
        message = f"{self._said(scope)}{joint.join(sides)}"
        if not holds and off and self.rule.parsed.sign == "==":
            if isinstance(left, NumberValue):
                message += (
                    f" (off by {operand_text(NumberValue(abs(off)), max(places or 0, decimal_places(abs(off))))})"
                )
            else:
                message += f" (off by {operand_text(NumberValue(abs(off)))} {'day' if abs(off) == 1 else 'days'})"
        return RuleComparison(holds, path_text(scope.place) if scope.place else "", *texts, message)

    def _side(self, node: Expression, scope: _Scope) -> str:
        """Return the text of one side with the indices of the row in place of `[]`."""
        text = self.rule.parsed.part(node)
        refs = sorted(fields_in(node, aggregated=False), key=lambda each: each.start, reverse=True)
        for ref in refs:
            if ref.arrays:
                place, _ = _reach(None, ref.steps, scope.indices)
                start, end = ref.start - node.start, ref.end - node.start
                text = text[:start] + ("$." if ref.from_root and scope.place else "") + path_text(place) + text[end:]
        return text

    # --- values

    def _value(self, node: Expression, scope: _Scope) -> Operand:
        self._step()
        match node:
            case Constant():
                return NumberValue(node.value) if isinstance(node.value, Fraction) else node.value
            case FieldRef():
                return self._field(node, scope)
            case Arithmetic():
                left, right = self._value(node.left, scope), self._value(node.right, scope)
                return calculate(node.sign, left, right, self._side(node, scope))
            case FunctionCall() if node.name in AGGREGATES:
                return self._aggregate(node, scope)
            case FunctionCall():
                number = as_number(self._value(node.arguments[0], scope), self._side(node.arguments[0], scope))
                if node.name == "abs":
                    return number._replace(value=abs(number.value))
                places = node.arguments[1].value if len(node.arguments) > 1 else 0  # type: ignore[union-attr]
                return number._replace(value=Fraction(round_half_up(number.value, int(places))))

    def _field(self, node: FieldRef, scope: _Scope) -> Operand:
        place, value = _reach(self._base(node, scope.row), node.steps, scope.indices)
        if value is MISSING or value is None:
            where = path_text(place if node.from_root else (*scope.place, *place))
            raise NoValueError(f"{where} is {'missing' if value is MISSING else 'null'}")
        found = None if isinstance(value, dict | list) else self.rule.readers[node](value)
        if found is None:
            raise unread(value, path_text((*scope.place, *place)))
        return found

    def _aggregate(self, node: FunctionCall, scope: _Scope) -> Operand:
        everywhere = self.rule.each is None or all(ref.from_root for ref in fields_in(node))
        kept = self.of_document if everywhere else self.of_row
        found = kept.get(id(node))
        if found is None:
            try:
                found = self._compute_aggregate(node, _Scope(scope.place, scope.row, ()))
            except NoValueError as error:
                found = error
            kept[id(node)] = found
        if isinstance(found, NoValueError):
            raise found
        return found

    def _compute_aggregate(self, node: FunctionCall, scope: _Scope) -> Operand:
        (first, *_) = node.arguments
        if node.name == "count" and isinstance(first, FieldRef):
            return NumberValue(Fraction(self._count(first, scope)))
        values = [*self._values(node, scope)]
        what = self.rule.parsed.part(node)
        if node.name == "count":
            return NumberValue(Fraction(len(values)))
        if node.name == "count_distinct":
            return NumberValue(Fraction(len({_identity(value) for value in values})))
        if not values:
            raise NoValueError(f"{what} has no value to compute with")
        if node.name in ("min", "max"):
            return self._extreme(values, what, least=node.name == "min")
        total = NumberValue(Fraction(0))
        for value in values:
            number = as_number(value, f"a value of {what}")
            total = NumberValue(total.value + number.value, common_currency(total, number, what))
        if node.name == "mean":
            return total._replace(value=quotient(total.value, Fraction(len(values))))
        return total

    def _count(self, node: FieldRef, scope: _Scope) -> int:
        """Count the rows of the arrays at a path, and the values there that are no arrays; null and missing count 0."""
        asks_for_rows = node.steps[-1] is None
        counted = node._replace(steps=node.steps[:-1]) if asks_for_rows else node
        count = 0
        try:
            for indices in self._indices(scope.row, [counted]):
                place, value = _reach(self._base(node, scope.row), counted.steps, indices)
                if asks_for_rows and not isinstance(value, list | Missing | None):
                    raise NotComputableError(f"{path_text((*scope.place, *place))} is no array")
                count += len(value) if isinstance(value, list) else value is not None and value is not MISSING
        except NoValueError:  # an array around it has no rows
            return 0
        return count

    def _values(self, node: FunctionCall, scope: _Scope) -> Iterator[Operand]:
        """Yield the values of all arguments; what is null or missing is left out."""
        for argument in node.arguments:
            try:
                for indices in self._indices(scope.row, [*fields_in(argument, aggregated=False)]):
                    try:
                        yield self._value(argument, _Scope(scope.place, scope.row, indices))
                    except NoValueError:
                        continue
            except NoValueError:  # an array without rows
                continue

    def _extreme(self, values: list[Operand], what: str, *, least: bool) -> Operand:
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


class _Scope(NamedTuple):
    """Where a rule is computed: the place of the row (`()` for the document), the row, and the indices below it."""

    place: tuple[Step, ...]
    row: Json
    indices: tuple[int, ...]


def _identity(value: Operand) -> object:
    if isinstance(value, NumberValue):
        return (value.value, value.currency)
    return text_key(value) if isinstance(value, str) else value


def _reach(
    value: Json, steps: tuple[FieldStep, ...], indices: tuple[int, ...]
) -> tuple[tuple[Step, ...], Json | Missing]:
    """Return the concrete place of a path, with the given indices for its `[]`, and the value there."""
    place: list[Step] = []
    found: Json | Missing = value
    given = iter(indices)
    for step in steps:
        key: Step = next(given) if step is None else "*" if isinstance(step, AnyKey) else step
        place.append(key)
        if isinstance(key, str):
            found = found.get(key, MISSING) if isinstance(found, dict) else _nothing_in(found)
        else:
            rows = found if isinstance(found, list) else []
            found = rows[key] if -len(rows) <= key < len(rows) else _nothing_in(found)
    return tuple(place), found


def _nothing_in(value: Json | Missing) -> Json | Missing:
    return None if value is None else MISSING
