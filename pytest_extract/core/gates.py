"""The four gates of an output: does it parse, is it structured, does it satisfy the schema, does it cover the gold.

A gate that fails reports its arithmetic. Parse, root and schema drive the field measures to zero; the coverage gate
multiplies SOB's value accuracy and faithfulness (SOB, appendix C.1): hard for text, quadratic for images and audio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from pytest_extract.core import arguments
from pytest_extract.core.measures.published import CoverageGate, CoverageMode, DocumentPair
from pytest_extract.core.results import Failure, FailureKind, GateResult, Gates
from pytest_extract.core.values import MISSING, Json, json_type, short_repr, text_below
from pytest_extract.core.words import listed
from pytest_extract.errors import ConfigError

COVERAGE_MODES: Final[tuple[CoverageMode, ...]] = ("hard", "soft", "off")
GATE_KEYS: Final = ("schema", "coverage", "bare", "grounded", "rules")
MODALITIES: Final = ("text", "image", "audio")
_UNGATED: Final = "not looked at, as in the program whose semantics these are; `gates` switch it on"


_FLOORS: Final[Mapping[CoverageMode, float]] = {"hard": 0.95, "soft": 0.90, "off": 0.0}
"""The floors that go with the modes, unless a case has its own."""


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
        given = arguments.mapping("gates", given)
        arguments.known_keys("gates", given, GATE_KEYS)
        switches = {name: given[name] for name in ("schema", "bare", "rules") if given.get(name) is not None}
        for name, value in switches.items():
            arguments.flag(f"gates.{name}", value)
        covers = given.get("coverage")
        covers = {"mode": "off"} if covers is False else None if covers is True else covers
        coverage = arguments.mapping("gates.coverage", covers)
        arguments.known_keys("gates.coverage", coverage, ("mode", "floor"))
        mode, floor = coverage.get("mode"), coverage.get("floor")
        if mode is not None:
            arguments.one_of("gates.coverage.mode", mode, COVERAGE_MODES)
        if floor is not None and (isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 < floor <= 1):
            raise ConfigError(f"gates.coverage.floor must be a number above 0 and at most 1, not {floor!r}")
        return cls(mode=mode, floor=floor, grounded=_grounded(given.get("grounded")), **switches)

    def coverage(self, modality: str) -> CoverageGate:
        """Return the coverage gate: what the case says, and for what it leaves open what SOB has for the modality."""
        mode = self.mode or ("hard" if modality == "text" else "soft")
        return CoverageGate(mode=mode, floor=_FLOORS[mode] if self.floor is None else self.floor)


def _grounded(given: Json) -> tuple[str, ...]:
    if given is None or given is False:
        return ()
    if given is True:
        return ("$",)
    fields = given.get("fields") if isinstance(given, Mapping) and len(given) == 1 else None
    if not isinstance(fields, list | tuple) or not fields or not all(isinstance(field, str) for field in fields):
        raise ConfigError(f"gates.grounded must be true, or {{fields: [...]}}, not {short_repr(given)}")
    return tuple(fields)


class OutputCheck(NamedTuple):
    """Whether an output counts.

    failure: why it does not: why there is none, or, where the schema gate fails, `schema_violation`.
    """

    gates: Gates
    failure: Failure | None


def check_output(sides: DocumentPair, failure: Failure | None, modality: str, config: GateConfig) -> OutputCheck:
    """Look at the gates of one output; `failure` says why there is no value."""
    lacking = "there is no output" if failure is None else str(failure)
    parse = _gate("parse", lacking, 0.0) if sides.extracted is MISSING else _gate("parse", "the output is JSON")
    if parse.passed:
        root, schema = _root_gate(sides, failure, config), _schema_gate(sides, config)
        coverage = _coverage_gate(sides, config.coverage(modality))
    else:
        why = "not looked at: the output is no JSON"
        root, schema, coverage = _gate("root", why, 0.0), _gate("schema", why, 0.0), _gate("coverage", why, 0.0)
    gates = Gates(parse=parse, root=root, schema=schema, coverage=coverage)
    if failure is None and gates.root.passed and not gates.schema.passed:
        violation = sides.violation
        message, path = (gates.schema.why, None) if violation is None else (violation.message, violation.path)
        failure = Failure(kind=FailureKind.SCHEMA_VIOLATION, message=message, path=path)
    return OutputCheck(gates, failure)


def _gate(name: Literal["parse", "root", "schema", "coverage"], why: str, factor: float = 1.0) -> GateResult:
    return GateResult(name=name, passed=factor == 1.0, factor=factor, why=why)


def _root_gate(sides: DocumentPair, failure: Failure | None, config: GateConfig) -> GateResult:
    """Let a bare value pass only where the gold is one too."""
    if not config.root:
        return _gate("root", _UNGATED)
    why = f"the root is of type {json_type(sides.extracted)}"
    if sides.structured or not isinstance(sides.gold, dict | list):
        return _gate("root", why)
    is_told = failure is not None and failure.kind is FailureKind.NOT_STRUCTURED
    return _gate("root", str(failure) if is_told else f"{why}; object or array was expected", 0.0)


def _schema_gate(sides: DocumentPair, config: GateConfig) -> GateResult:
    if not config.schema:
        return _gate("schema", "switched off (gates: {schema: false})" if config.root else _UNGATED)
    if sides.valid:
        return _gate("schema", "the output satisfies the schema")
    problem = sides.schema.validator.problem
    if problem is not None:
        return _gate("schema", f"the schema itself is invalid: {problem}", 0.0)
    return _gate("schema", f"the output breaks the schema at {sides.violation}", 0.0)


def _coverage_gate(sides: DocumentPair, gate: CoverageGate) -> GateResult:
    """Say how much of the gold the output covers, and which places only one side has."""
    coverage, factor = sides.coverage, gate.factor(sides.coverage)
    if gate.mode == "off":
        return _gate("coverage", "switched off (gates: {coverage: {mode: off}})")
    if factor == 1.0:
        return _gate("coverage", f"structure coverage {coverage:.3f} >= {gate.floor:g}")
    below, wanted, found = text_below(coverage, gate.floor, "f"), sides.wanted, sides.found
    values = "value" if len(wanted) == 1 else "values"
    of_gold = f"{sides.shared:,} of the gold's {len(wanted):,} {values} in the same place"
    places = (("missing", wanted, found), ("not in the gold", found, wanted))
    told = "".join(_places_text(what, [path for path in one if path not in other]) for what, one, other in places)
    then = f"multiplied by ({below} / {gate.floor:g})² = {factor:.3f}" if gate.mode == "soft" else "0"
    why = f"structure coverage {below} is below {gate.floor:g}: the output has {of_gold}{told}"
    return _gate("coverage", f"{why}; `value_accuracy` and `faithfulness` are {then}", factor)


def _places_text(what: str, paths: Sequence[str]) -> str:
    """Name the first places."""
    shown = [f"`{path if len(path) <= 80 else f'{path[:39]}…{path[-40:]}'}`" for path in paths]
    return f"; {what}: {listed(shown)}" if shown else ""
