"""Rules as a case or a schema writes them -> rules that can be computed, and what came of each in one output."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import Array, Program, Skip
from pytest_extract.core.compile.places import nodes_at
from pytest_extract.core.metrics.numbers import NOISE
from pytest_extract.core.pattern import field_text, parse_field
from pytest_extract.core.results import RuleResult, RuleStatus
from pytest_extract.core.rules.expressions import (
    Expression,
    ExpressionReader,
    NoValueError,
    RuleField,
    Run,
    Steps,
    indices_of,
    places_of,
)
from pytest_extract.core.rules.syntax import COMPARISONS, RuleSyntaxError, Severity, entry_problems, parse_rule
from pytest_extract.core.rules.values import (
    CONTEXT,
    NotComputableError,
    compared,
    decimal_places,
    operand_text,
)
from pytest_extract.core.values import MISSING, Json, Missing, Step, path_text, short_repr
from pytest_extract.errors import nearest

_NOISE: Final = Decimal(repr(NOISE))
_NO_OUTPUT: Final = "there is no output"


class RuleProblem(NamedTuple):
    """A mistake in a list of rules: the index of the rule, the key that holds it (None: the rule as a whole)."""

    rule: int
    key: str | None
    message: str

    @property
    def steps(self) -> tuple[str | int, ...]:
        """The place below the list."""
        own = () if self.rule < 0 else (self.rule,)
        return own if self.key is None else (*own, self.key)


@dataclass(slots=True)
class Checked:
    """What a rule gave over one document.

    held, broken: comparisons that hold and that do not; left, right, message: the sides and the text of the first that
    does not, else of the first that does.
    without_value: rows in which a value is null or missing; `reason` names the first of these values.
    not_computable: why the values of the document cannot be computed with, None where they can.
    """

    held: int = 0
    broken: int = 0
    left: str | None = None
    right: str | None = None
    message: str = ""
    without_value: int = 0
    reason: str = ""
    not_computable: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRule:
    """One rule of a document: two sides, how they compare, and the rows for each of which it is computed, if any.

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
    severity: Severity
    of_schema: bool
    index: int

    def result(self, gold: Json | Missing, extracted: Json | Missing) -> RuleResult:
        """Check the rule on an output; gold says whether a value that is not there should be."""
        found = Checked(reason=_NO_OUTPUT) if extracted is MISSING else self._check(extracted)
        status, message = self._outcome(found, gold)
        is_computed = status in (RuleStatus.HELD, RuleStatus.BROKEN)
        return RuleResult(
            rule=self.text,
            name=self.name,
            severity=self.severity,
            status=status,
            message=message,
            left=found.left if is_computed else None,
            right=found.right if is_computed else None,
            broken=found.broken,
            checked=found.held + found.broken,
        )

    def _outcome(self, found: Checked, gold: Json | Missing) -> tuple[RuleStatus, str]:
        if found.broken:
            checked = found.held + found.broken
            return RuleStatus.BROKEN, found.message + (f"; {found.broken:,} of {checked:,} rows" if checked > 1 else "")
        if found.not_computable is not None:
            return RuleStatus.UNCHECKED, found.not_computable
        if found.reason and gold is not MISSING:
            of_gold = self._check(gold)
            applies = of_gold.held or of_gold.broken or of_gold.not_computable is not None
            if applies and (not found.held or found.without_value > of_gold.without_value):
                more = f", and {found.without_value - 1:,} more" if found.without_value > 1 else ""
                not_so = "" if found.reason == _NO_OUTPUT else f"{more}; not so in the gold"
                return RuleStatus.UNCHECKED, f"{found.reason}{not_so}"
        if not found.held:
            return RuleStatus.NOT_APPLICABLE, found.reason
        rows = f"{found.held:,} rows, the first: " if found.held > 1 else ""
        without = f"; {found.without_value:,} without a value" if found.without_value else ""
        return RuleStatus.HELD, f"{rows}{found.message}{without}"

    def _check(self, document: Json) -> Checked:
        """Compute the rule over a document; never raises."""
        found, run = Checked(), Run(document)
        try:
            with localcontext(CONTEXT):
                for place, _ in places_of(document, self.rows):
                    self._compare_into(found, run, place)
        except NotComputableError as error:
            found.not_computable = str(error)
        except (RecursionError, ArithmeticError):
            found.not_computable = "a value or the rule is too large to compute with"
        if found == Checked():
            found.reason = f"{field_text(self.rows).removesuffix('[]')} has no rows"
        return found

    def _compare_into(self, found: Checked, run: Run, place: tuple[Step, ...]) -> None:
        try:
            left, right = (side.compute(run, indices_of(place, self.rows)) for side in self.sides)
        except NoValueError as error:
            found.without_value += 1
            found.reason = found.reason or str(error)
            return
        row = f"{path_text(place)}: " if place else ""
        equality = self.sign in (ast.Eq, ast.NotEq)
        left, right, off = compared(left, right, f"{row}{self.text}", equality=equality)
        if isinstance(left, Decimal) and isinstance(right, Decimal) and abs(off) <= self._tolerance(left, right):
            off = Decimal(0)
        holds = COMPARISONS[self.sign](off, 0)
        if not found.broken and not (found.held and holds):
            places = max(decimal_places(left), decimal_places(right))
            found.left, found.right = operand_text(left, places), operand_text(right, places)
            pairs = zip(self.sides, (found.left, found.right), strict=True)
            shown = ", ".join(f"{side.text} = {text}" for side, text in pairs if not side.is_constant)
            is_off = self.sign is ast.Eq and off and isinstance(left, Decimal)
            apart = f" (off by {operand_text(abs(off), places)})" if is_off else ""
            found.message = f"{row}{shown}{apart}"
        found.held += holds
        found.broken += not holds

    def _tolerance(self, left: Decimal, right: Decimal) -> Decimal:
        rel = self.rel
        if rel is None:
            rel = _NOISE if decimal_places(left) or decimal_places(right) else Decimal(0)
        return max(self.tolerance, rel * max(abs(left), abs(right)))


RuleSet: TypeAlias = tuple[CompiledRule, ...]
"""The rules of a schema, then those of its case."""


def compile_rules(given: Json, program: Program, *, of_schema: bool) -> tuple[RuleSet, list[RuleProblem]]:
    """Compile a list of rules (texts, or mappings with the keys `RULE_KEYS`); return them and all their mistakes."""
    problems: list[RuleProblem] = []
    found: list[CompiledRule] = []
    if not isinstance(given, list | tuple):
        return (), [RuleProblem(-1, None, f"must be a list of rules, not {short_repr(given)}")]
    names: dict[str, int] = {}
    for index, entry in enumerate(given):
        said = [RuleProblem(index, key, message) for key, message in entry_problems(entry)]
        compiled = None if said else _compile(entry, index, program, said, of_schema=of_schema)
        if compiled is not None and names.setdefault(compiled.name, index) != index:
            said.append(
                RuleProblem(index, None, f"says the same as rule {names[compiled.name] + 1}: {compiled.name!r}")
            )
        problems += said
        if compiled is not None and not said:
            found.append(compiled)
    return tuple(found), problems


def _compile(
    entry: Json, index: int, program: Program, problems: list[RuleProblem], *, of_schema: bool
) -> CompiledRule | None:
    config: Mapping[str, Json] = {"rule": entry} if isinstance(entry, str) else entry

    def report(message: str, key: str) -> None:
        problem = RuleProblem(index, key if isinstance(entry, Mapping) else None, message)
        if problem not in problems:  # a field may stand on both sides
            problems.append(problem)

    each: Steps = ()
    if "each" in config:
        each = parse_field(config["each"]) or ()
        each = each if each and each[-1] is None else (*each, None)
        if not any(isinstance(node, Array | Skip) for node in nodes_at(program.root, each[:-1])):
            hint = nearest(field_text(each), [name for name in program.patterns if name.endswith("[]")])
            report(f"`each`: the schema has no array {config['each']!r}{hint}", "each")
    try:
        source, comparison = parse_rule(config["rule"])
        reader = ExpressionReader(source, program, each)
        sides = reader.read(comparison.left), reader.read(comparison.comparators[0])
        rows = reader.rows([*sides[0].fields, *sides[1].fields, *([RuleField(each, in_row=True)] if each else [])])
    except RuleSyntaxError as error:
        report(f"{short_repr(config['rule'], 80)}: {error}", "rule")
        return None
    except RecursionError:
        report("the rule is nested too deep", "rule")
        return None
    if sides[0].is_constant and sides[1].is_constant:
        report(f"{source.text!r} names no field", "rule")
    for message in reader.problems:
        report(f"{source.text!r}: {message}", "rule")
    return CompiledRule(
        text=source.text,
        sides=sides,
        sign=type(comparison.ops[0]),
        rows=rows,
        rel=Decimal(repr(config["rel"])) if "rel" in config else None,
        tolerance=Decimal(repr(config.get("abs", 0))),
        name=str(config.get("name", "")).strip() or source.text + (f" (each {config['each']})" if each else ""),
        severity=config.get("severity", "error"),
        of_schema=of_schema,
        index=index,
    )
