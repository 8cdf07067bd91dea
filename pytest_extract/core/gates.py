"""The four gates of an output: does it parse, is it structured, does it satisfy the schema, does it cover the gold.

A gate that fails reports its arithmetic. Parse, root and schema drive the field measures to zero; the coverage gate
multiplies SOB's value accuracy and faithfulness (SOB, appendix C.1): hard for text, quadratic for images and audio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from pytest_extract.core.measures.apart import Place, places_apart
from pytest_extract.core.measures.document import DocumentPair
from pytest_extract.core.results import ArrayResult, Failure, FailureKind, GateResult, Gates
from pytest_extract.core.values import MISSING, Json, json_type, short_repr, text_below
from pytest_extract.errors import ConfigError, nearest

CoverageMode: TypeAlias = Literal["hard", "soft", "off"]
COVERAGE_MODES: Final[tuple[CoverageMode, ...]] = ("hard", "soft", "off")
GATE_KEYS: Final = ("schema", "coverage", "bare", "grounded", "rules")
MODALITIES: Final = ("text", "image", "audio")
_LISTED: Final = 3
_UNGATED: Final = "not looked at, as in the program whose semantics these are; `gates` switch it on"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageGate:
    """How coverage c becomes a factor: hard, 1 from the floor on, else 0; soft, min(1, (c / floor)²); off, 1."""

    mode: CoverageMode
    floor: float

    def factor(self, coverage: float) -> float:
        """Return the factor in [0, 1]; no coverage at all gives 0 in either mode."""
        if self.mode == "off":
            return 1.0
        if coverage >= self.floor and coverage > 0.0:
            return 1.0
        return 0.0 if self.mode == "hard" or coverage <= 0.0 else (coverage / self.floor) ** 2


_TEXT: Final = CoverageGate(mode="hard", floor=0.95)
_OTHER: Final = CoverageGate(mode="soft", floor=0.90)


def coverage_gate(modality: str) -> CoverageGate:
    """SOB's coverage gate for a modality."""
    return _TEXT if modality == "text" else _OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """The `gates:` of a case.

    bare: whether an output whose text is more than its JSON (a fence, prose, reasoning) is no output at all.
    root: whether the root gate counts for the field measures; a case cannot say it.
    schema: whether the schema gate counts for the field measures (SOB's and DeepJSONEval's keep theirs regardless).
    mode, floor: of the coverage gate; None as the modality has it.
    grounded: fields whose extracted values must stand in the document, `$` for all; only a case has a document.
    rules: whether a rule across fields that does not hold fails the case; None: unless `rules_held` has a threshold.
    """

    root: bool = True
    schema: bool = True
    mode: CoverageMode | None = None
    floor: float | None = None
    bare: bool = False
    grounded: tuple[str, ...] = ()
    rules: bool | None = None

    @classmethod
    def from_json(cls, given: Mapping[str, Json] | None) -> GateConfig:
        """Read the mapping of a case (`{schema: true, coverage: {mode: hard}, bare: true}`); raises ConfigError."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise ConfigError(f"gates must be a mapping with the keys {', '.join(GATE_KEYS)}, not {short_repr(given)}")
        _known(given, GATE_KEYS, "gates")
        schema, bare, rules = given.get("schema", True), given.get("bare", False), given.get("rules")
        for name, value in (("schema", schema), ("bare", bare), ("rules", rules)):
            if not isinstance(value, bool) and not (name == "rules" and value is None):
                raise ConfigError(f"gates.{name} must be true or false, not {short_repr(value)}")
        mode, floor = _coverage(given.get("coverage"))
        grounded = _grounded(given.get("grounded"))
        return cls(schema=schema, mode=mode, floor=floor, bare=bare, grounded=grounded, rules=rules)

    def coverage(self, modality: str) -> CoverageGate:
        """Return the coverage gate: what the case says, the modality's own for what it leaves open."""
        own = coverage_gate(modality)
        if self.mode is None and self.floor is None:
            return own
        mode = self.mode or own.mode
        default = own.floor if mode == own.mode else {"hard": _TEXT, "soft": _OTHER}.get(mode, own).floor
        return CoverageGate(mode=mode, floor=default if self.floor is None else self.floor)


def _coverage(given: Json) -> tuple[CoverageMode | None, float | None]:
    if given is None or given is True:
        return None, None
    if given is False:
        return "off", None
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"gates.coverage must be a mapping with the keys mode and floor, or false, not {short_repr(given)}"
        )
    _known(given, ("mode", "floor"), "gates.coverage")
    mode = given.get("mode")
    if mode is not None and mode not in COVERAGE_MODES:
        raise ConfigError(f"gates.coverage.mode: {mode!r} is unknown{nearest(mode, COVERAGE_MODES)}")
    floor = given.get("floor")
    if floor is not None and (isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 < floor <= 1):
        raise ConfigError(f"gates.coverage.floor must be a number above 0 and at most 1, not {floor!r}")
    return cast("CoverageMode | None", mode), None if floor is None else float(floor)


def _grounded(given: Json) -> tuple[str, ...]:
    if given is None or given is False:
        return ()
    if given is True:
        return ("$",)
    fields = given.get("fields") if isinstance(given, Mapping) and len(given) == 1 else None
    if not isinstance(fields, list | tuple) or not fields or not all(isinstance(field, str) for field in fields):
        raise ConfigError(f"gates.grounded must be true, or {{fields: [...]}}, not {short_repr(given)}")
    return tuple(fields)


def _known(given: Mapping[str, Json], names: tuple[str, ...], owner: str) -> None:
    for name in given:
        if name not in names:
            raise ConfigError(f"{owner} has no key {name!r}{nearest(name, names)}")


def gates_of(
    sides: DocumentPair,
    failure: Failure | None,
    modality: str,
    config: GateConfig,
    arrays: Sequence[ArrayResult] = (),
) -> Gates:
    """Check one comparison; each later gate fails where an earlier one left it nothing to look at."""
    parse = _parse_gate(sides, failure)
    root = _root_gate(sides, failure, config) if parse.passed else _blocked("root")
    schema = _schema_gate(sides, config) if parse.passed else _blocked("schema")
    coverage = _coverage_gate(sides, config.coverage(modality), arrays) if parse.passed else _blocked("coverage")
    return Gates(parse=parse, root=root, schema=schema, coverage=coverage)


class OutputCheck(NamedTuple):
    """Whether an output counts.

    failure: why it does not: why there is none, or, where the schema gate fails, `schema_violation`.
    """

    gates: Gates
    failure: Failure | None


def check_output(
    sides: DocumentPair,
    failure: Failure | None,
    modality: str,
    config: GateConfig,
    arrays: Sequence[ArrayResult] = (),
) -> OutputCheck:
    """Look at the gates of one output; `failure` says why there is no value.

    `arrays` say how rows were matched, so that the coverage gate names the rows that the results name.
    """
    gates = gates_of(sides, failure, modality, config, arrays)
    if failure is None and gates.root.passed and not gates.schema.passed:
        violation = sides.violation
        message, path = (gates.schema.why, None) if violation is None else (violation.message, violation.path)
        failure = Failure(kind=FailureKind.SCHEMA_VIOLATION, message=message, path=path)
    return OutputCheck(gates, failure)


def is_structural(sides: DocumentPair, config: GateConfig) -> bool:
    """Whether the parse, root and schema gates let an output through: `Gates.structural`, without the reasons."""
    return sides.extracted is not MISSING and _fits_root(sides, config) and _fits_schema(sides, config)


def _fits_root(sides: DocumentPair, config: GateConfig) -> bool:
    """Let a bare value pass only where the gold is one too."""
    return not config.root or sides.structured or not isinstance(sides.gold, dict | list)


def _fits_schema(sides: DocumentPair, config: GateConfig) -> bool:
    return not config.schema or sides.valid


def _parse_gate(sides: DocumentPair, failure: Failure | None) -> GateResult:
    if sides.deep:
        return GateResult(name="parse", passed=False, factor=0.0, why="the JSON is nested too deeply to be scored")
    if sides.extracted is MISSING:
        why = str(failure) if failure is not None else "there is no output"
        return GateResult(name="parse", passed=False, factor=0.0, why=why)
    return _PARSED


def _root_gate(sides: DocumentPair, failure: Failure | None, config: GateConfig) -> GateResult:
    if not config.root:
        return _ANY_ROOT
    kind = json_type(sides.extracted)
    if _fits_root(sides, config):
        return _root_of(kind)
    why = f"the root is of type {kind}; object or array was expected"
    if failure is not None and failure.kind is FailureKind.NOT_STRUCTURED:
        why = str(failure)
    return GateResult(name="root", passed=False, factor=0.0, why=why)


def _schema_gate(sides: DocumentPair, config: GateConfig) -> GateResult:
    if not config.schema:
        why = "switched off (gates: {schema: false})" if config.root else _UNGATED
        return GateResult(name="schema", passed=True, factor=1.0, why=why)
    if _fits_schema(sides, config):
        return _VALID
    problem = sides.validator.problem
    if problem is not None:
        why = f"the schema itself is invalid: {problem}"
    else:
        why = f"the output breaks the schema at {sides.violation}"
    return GateResult(name="schema", passed=False, factor=0.0, why=why)


def _coverage_gate(sides: DocumentPair, gate: CoverageGate, arrays: Sequence[ArrayResult]) -> GateResult:
    coverage = sides.coverage
    factor = gate.factor(coverage)
    if gate.mode == "off":
        return GateResult(name="coverage", passed=True, factor=1.0, why="switched off (gates: {coverage: {mode: off}})")
    if factor == 1.0:
        return _covered(coverage, gate.floor)
    below = text_below(coverage, gate.floor, "f")
    then = f"multiplied by ({below} / {gate.floor:g})² = {factor:.3f}" if gate.mode == "soft" else "0"
    why = f"{_coverage_text(sides, below, gate.floor, arrays)}; `value_accuracy` and `faithfulness` are {then}"
    return GateResult(name="coverage", passed=False, factor=factor, why=why)


def _coverage_text(sides: DocumentPair, coverage: str, floor: float, arrays: Sequence[ArrayResult]) -> str:
    """Say how much of the gold the output covers, and which rows and fields only one side has."""
    expected = len(sides.wanted.values)
    wanted = f"{expected:,} values" if expected != 1 else "1 value"
    covered = f"the output has {sides.shared:,} of the gold's {wanted} in the same place"
    others = len(sides.found.values) - sides.shared
    more = f" and {others:,} other{'s' * (others > 1)}" if others else ""
    apart = places_apart(sides.gold, sides.extracted, arrays)
    parts = [_places_text("missing", apart.missing), _places_text("not in the gold", apart.unexpected)]
    named = "; ".join(part for part in parts if part)
    if not named and others:
        named = "rows with different fields are in another order, and places of rows go by position"
    return f"structure coverage {coverage} is below {floor:g}: {covered}{more}" + (f"; {named}" if named else "")


def _places_text(what: str, places: Sequence[Place]) -> str:
    """Name the first places; those that hold nothing but null are counted, because no diff shows them."""
    told = [place for place in places if place.values > place.nulls]
    shown = [str(place) for place in told[:_LISTED]]
    if len(told) > _LISTED:
        left = len(told) - _LISTED
        shown.append(f"{left:,} more place{'s' * (left > 1)}")
    empty = sum(place.values for place in places if place.values == place.nulls)
    if empty:
        shown.append(f"{empty:,} null {'values' if empty > 1 else 'value'}")
    return f"{what}: {', '.join(shown)}" if shown else ""


_PARSED: Final = GateResult(name="parse", passed=True, factor=1.0, why="the output is JSON")
_ANY_ROOT: Final = GateResult(name="root", passed=True, factor=1.0, why=_UNGATED)
_VALID: Final = GateResult(name="schema", passed=True, factor=1.0, why="the output satisfies the schema")


@lru_cache(maxsize=8)
def _root_of(kind: str) -> GateResult:
    return GateResult(name="root", passed=True, factor=1.0, why=f"the root is of type {kind}")


@lru_cache(maxsize=256)
def _covered(coverage: float, floor: float) -> GateResult:
    why = f"structure coverage {coverage:.3f} >= {floor:g}"
    return GateResult(name="coverage", passed=True, factor=1.0, why=why)


def _blocked(name: Literal["root", "schema", "coverage"]) -> GateResult:
    return GateResult(name=name, passed=False, factor=0.0, why="not looked at: the output is no JSON")
