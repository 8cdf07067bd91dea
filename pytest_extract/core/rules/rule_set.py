"""Rules as a case or a schema writes them -> rules that can be computed, and what came of each in one output."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import Array, Program, Skip
from pytest_extract.core.compile.places import nodes_at
from pytest_extract.core.pattern import FieldStep, field_text, parse_field
from pytest_extract.core.results import RuleResult, RuleStatus
from pytest_extract.core.rules.entries import Severity, entry_problems
from pytest_extract.core.rules.evaluate import Checked, RuleField, RuleProgram
from pytest_extract.core.rules.operands import reader_of
from pytest_extract.core.rules.syntax import (
    FieldRef,
    ParsedRule,
    RuleSyntaxError,
    function_name,
    is_aggregate,
    parse_rule,
)
from pytest_extract.core.values import MISSING, Json, Missing, short_repr
from pytest_extract.errors import nearest

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRule:
    """One rule of a document. `of_schema`: it stands in the schema; `index`: its place in the list there."""

    program: RuleProgram
    name: str
    severity: Severity
    of_schema: bool
    index: int

    @property
    def text(self) -> str:
        """The rule as written."""
        return self.program.parsed.text

    def result(self, gold: Json | Missing, extracted: Json | Missing) -> RuleResult:
        """Check the rule on an output; gold says whether a value that is not there should be."""
        found = Checked(reason=_NO_OUTPUT) if extracted is MISSING else self.program.check(extracted)
        status = _status(found)
        if found.reason and not found.broken_count and gold is not MISSING:
            of_gold = self.program.check(gold)
            if _applies(of_gold) and (not found.held or found.without_value > of_gold.without_value):
                status = RuleStatus.UNCHECKED
        message = _message(found, status)
        shown = found.broken or found.shown
        computed = status in (RuleStatus.HELD, RuleStatus.BROKEN) and shown is not None
        return RuleResult(
            rule=self.text,
            name=self.name,
            severity=self.severity,
            status=status,
            message=message,
            left=shown.left if computed and shown is not None else None,
            right=shown.right if computed and shown is not None else None,
            broken=found.broken_count,
            checked=found.held + found.broken_count,
        )


RuleSet: TypeAlias = tuple[CompiledRule, ...]
"""The rules of a schema, then those of its case."""


def _applies(found: Checked) -> bool:
    return bool(found.held or found.broken_count or found.not_computable)


def _status(found: Checked) -> RuleStatus:
    if found.not_computable is not None:
        return RuleStatus.BROKEN if found.broken_count else RuleStatus.UNCHECKED
    if found.broken_count:
        return RuleStatus.BROKEN
    return RuleStatus.HELD if found.held else RuleStatus.NOT_APPLICABLE


def _message(found: Checked, status: RuleStatus) -> str:
    if status is RuleStatus.BROKEN and found.broken is not None:
        checked = found.held + found.broken_count
        return found.broken.message + (f"; {found.broken_count:,} of {checked:,} rows" if checked > 1 else "")
    if status is RuleStatus.HELD and found.shown is not None:
        rows = f"{found.held:,} rows, the first: " if found.held > 1 else ""
        without = f"; {found.without_value:,} without a value" if found.without_value else ""
        return f"{rows}{found.shown.message}{without}"
    if found.not_computable is not None:
        return found.not_computable
    if status is RuleStatus.UNCHECKED and found.reason != _NO_OUTPUT:
        more = f", and {found.without_value - 1:,} more" if found.without_value > 1 else ""
        return f"{found.reason}{more}; not so in the gold"
    return found.reason


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

    def report(message: str, key: str | None = None) -> None:
        problem = RuleProblem(index, key if isinstance(entry, Mapping) else None, message)
        if problem not in problems:  # a field may stand on both sides
            problems.append(problem)

    try:
        parsed = parse_rule(config["rule"])
    except RuleSyntaxError as error:
        report(f"{short_repr(config['rule'], 80)}: {error}", "rule")
        return None
    each = _each(config.get("each"), program, report)
    if not parsed.fields:
        report(f"{parsed.text!r} names no field", "rule")
    if problems:
        return None
    counted = [call.args[0] for call in _calls_in(parsed.left, parsed.right) if function_name(call) == "count"]
    fields: dict[ast.expr, RuleField] = {}
    for node, ref in parsed.fields.items():
        steps = ref.steps if ref.from_root else (*each, *ref.steps)
        message = _field_problem(ref, steps, each, program, counted=node in counted)
        if message is not None:
            report(f"{parsed.text!r}: {message}", "rule")
        else:
            read = reader_of(tuple(nodes_at(program.root, steps)))
            fields[node] = RuleField(steps, bool(each) and not ref.from_root, read)
    for message in () if problems else _array_problems(parsed):
        report(f"{parsed.text!r}: {message}", "rule")
    if problems:
        return None
    return CompiledRule(
        program=RuleProgram(
            parsed=parsed,
            fields=fields,
            each=each,
            rel=Fraction(repr(float(config["rel"]))) if "rel" in config else None,
            tolerance=Fraction(repr(float(config.get("abs", 0.0)))),
        ),
        name=str(config.get("name", "")).strip() or _shown_text(parsed, config),
        severity=config.get("severity", "error"),
        of_schema=of_schema,
        index=index,
    )


def _shown_text(parsed: ParsedRule, config: Mapping[str, Json]) -> str:
    text = " ".join(parsed.text.split())
    return f"{text} (each {config['each']})" if "each" in config else text


def _each(given: Json, program: Program, report: Callable[[str, str | None], None]) -> tuple[FieldStep, ...]:
    if given is None:
        return ()
    steps = parse_field(given)
    if not steps:
        report(f"`each` must be the path of an array, such as items[], not {given!r}", "each")
        return ()
    steps = steps if steps[-1] is None else (*steps, None)
    if not any(isinstance(node, Array | Skip) for node in nodes_at(program.root, steps[:-1])):
        hint = nearest(field_text(steps), [name for name in program.patterns if name.endswith("[]")])
        report(f"`each`: the schema has no array {given!r}{hint}", "each")
    return steps


def _calls_in(*nodes: ast.expr) -> Iterator[ast.Call]:
    for node in nodes:
        yield from (each for each in ast.walk(node) if isinstance(each, ast.Call))


def _field_problem(
    ref: FieldRef, steps: tuple[FieldStep, ...], each: tuple[FieldStep, ...], program: Program, *, counted: bool
) -> str | None:
    """Say why a rule cannot read a field, which is at `steps` of the document; None where it can."""
    nodes = [*nodes_at(program.root, steps)]
    text = field_text(steps)
    of_rows = field_text(tuple(None if isinstance(step, int) else step for step in steps))
    if not nodes and text not in program.patterns and of_rows not in program.patterns:
        inside = "" if ref.from_root or not each else f"{field_text(each)}."
        own = [name.removeprefix(inside) for name in program.patterns if name.startswith(inside)]
        where = f" in {field_text(each)}" if inside else ""
        return f"the schema has no field {field_text(ref.steps)!r}{where}{nearest(field_text(ref.steps), own)}"
    if not counted and nodes and all(isinstance(node, Array) for node in nodes):
        return f"{text!r} is an array: name what is in it, such as {text}[].amount, or count({text})"
    return None


def _array_problems(parsed: ParsedRule) -> Iterator[str]:
    """Yield what is wrong with the rows that a rule compares: in one expression they are those of one array."""
    sides = parsed.left, parsed.right
    yield from _mixed_arrays(parsed.fields[node] for node in parsed.fields_in(*sides, aggregated=False))
    for call in filter(is_aggregate, _calls_in(*sides)):
        for argument in call.args:
            if any(map(is_aggregate, _calls_in(argument))):
                inner = parsed.part(argument)
                yield f"{function_name(call)} of {inner}: a sum, count or the like has no other inside it"
            yield from _mixed_arrays(parsed.fields[node] for node in parsed.fields_in(argument, aggregated=False))


def _mixed_arrays(fields: Iterable[FieldRef]) -> Iterator[str]:
    through = [ref for ref in fields if ref.arrays]
    if not through:
        return
    longest = max(through, key=lambda ref: len(ref.arrays))
    for ref in through:
        if ref.arrays != longest.arrays[: len(ref.arrays)] or ref.from_root != longest.from_root:
            one, other = field_text((*ref.arrays[-1], None)), field_text((*longest.arrays[-1], None))
            yield f"the rows of {one} and {other} do not belong together; compare a sum, count, min or max of each"
            return
