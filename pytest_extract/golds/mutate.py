"""Mutation of golds: finds the mistakes of models that metrics and thresholds would let pass.

Each gold value is corrupted by every kind of mistake that has such a corruption, and each gold as a whole by the kinds
that concern rows and keys. A corrupted value is scored alone; the whole gold is scored only to learn whether the case's
thresholds notice. Nothing is extracted, and no judge or model is asked.
"""

from __future__ import annotations

import datetime as dt
import random
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.cases.model import Case
from pytest_extract.cases.patterns import declared, is_skipped
from pytest_extract.cases.source_position import Steps
from pytest_extract.core.compile.nodes import Array
from pytest_extract.core.mistakes.base import MistakeKind
from pytest_extract.core.mistakes.table import MISTAKE_KINDS
from pytest_extract.core.pattern import pattern_of
from pytest_extract.core.results import Status
from pytest_extract.core.score import Score
from pytest_extract.core.scorer import Scorer, compile_schema
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, canonical_json, iter_leaves
from pytest_extract.errors import SchemaError
from pytest_extract.golds.changes import changed_leaves, replaced
from pytest_extract.lazy import dataclass
from pytest_extract.thresholds import Requirements, breaches_of

NOTATION: Final = frozenset(
    {
        *("white_space", "case", "diacritics", "dash_or_quote", "ligature", "encoding", "markup", "line_break_hyphen"),
        *("time_of_day", "date_format", "decimal_separator", "percent_or_fraction", "unit_or_currency", "punctuation"),
        *("word_order", "abbreviation", "affix", "leading_zeros", "number_as_text", "boolean_as_text", "wrapped"),
        *("reordered_rows", "list_or_single"),
    }
)
"""Kinds that write the right value otherwise: letting them pass is often wanted, so they do not count as missed."""
STRICTER: Final[Mapping[bool, Sequence[str]]] = MappingProxyType({True: ("text", "exact"), False: ("number", "exact")})
"""Whether a value is a text -> metrics that are tried, in order, where its metric lets a wrong value pass."""
WHOLE_SEEDS: Final = 3
"""Corruptions of a whole gold by each kind."""


class MissedMutant(NamedTuple):
    """A corruption that passes: its kind, the two values, and the case."""

    kind: str
    old: Json | Missing
    new: Json | Missing
    case: str


@dataclass(slots=True)
class FieldMutants:
    """The corruptions of one field, over all golds.

    total, caught: of kinds that change the value. `by_metric`, `by_threshold`: corruptions that pass, by kind; the
    metric accepts the value, or the thresholds tolerate that it is wrong. `notation_passed`, `notation_caught`: right
    values in another notation. `undecided`: corruptions that need a judge. `examples`: the first corruption of each
    kind that passes. `uncompared`: nothing compares the field.
    """

    total: int = 0
    caught: int = 0
    by_metric: Counter[str] = field(default_factory=Counter)
    by_threshold: Counter[str] = field(default_factory=Counter)
    notation_passed: int = 0
    notation_caught: int = 0
    undecided: int = 0
    uncompared: bool = False
    examples: dict[str, MissedMutant] = field(default_factory=dict)

    @property
    def missed(self) -> int:
        """Corruptions that pass."""
        return self.total - self.caught


@dataclass(slots=True)
class MutationReport:
    """What corruptions of golds pass, by field; `advice`: the smallest change that would catch those of a field."""

    fields: dict[str, FieldMutants] = field(default_factory=dict)
    advice: dict[str, str] = field(default_factory=dict)
    cases: int = 0

    @property
    def total(self) -> int:
        """Corruptions that were decided, without those of notation."""
        return sum(each.total for each in self.fields.values())

    @property
    def caught(self) -> int:
        """Corruptions that fail their case."""
        return sum(each.caught for each in self.fields.values())

    @property
    def score(self) -> float:
        """Share of caught corruptions; 1.0 where there are none."""
        return self.caught / self.total if self.total else 1.0


def mutate_golds(cases: Iterable[Case], *, wholes: bool = True) -> MutationReport:
    """Corrupt the golds of cases, and report what passes. Deterministic: the same golds give the same corruptions.

    `wholes`: also corrupt rows and keys, not only values.
    """
    report = MutationReport()
    homes: dict[str, Case] = {}
    for case in cases:
        report.cases += 1
        run = _CaseMutation(case, report)
        run.values()
        if wholes:
            run.wholes()
        for pattern in report.fields:
            homes.setdefault(pattern, case)
    for pattern, mutants in report.fields.items():
        if mutants.missed:
            report.advice[pattern] = _advice(pattern, mutants, homes[pattern])
    return report


class _CaseMutation:
    """Corrupts one gold; remembers what it has scored."""

    def __init__(self, case: Case, report: MutationReport) -> None:
        self._case = case
        self._report = report
        self._bounds = Requirements.of(case, dt.date.today())  # noqa: DTZ011 - a known failure ends with the user's day
        self._measures_scores = bool(case.thresholds.fields) or set(case.thresholds.measures) != {"pass_rate"}
        self._compared: dict[tuple[str, str, str], float | None] = {}
        self._noticed: dict[tuple[Steps, str], bool] = {}
        self._broken: dict[tuple[str, str], bool] = {}
        self._validator = Validator(case.schema)

    def values(self) -> None:
        """Corrupt every value by itself."""
        for path, value in iter_leaves(self._case.gold):
            pattern = pattern_of(path)
            if value is None or value == "" or self._is_skipped(pattern):
                continue
            mutants = self._report.fields.setdefault(pattern, FieldMutants())
            for kind, new in _corruptions(value):
                self._value_mutant(mutants, pattern, path, kind, value, new)

    def _value_mutant(
        self, mutants: FieldMutants, pattern: str, path: FieldPath, kind: str, old: Json, new: Json
    ) -> None:
        score = self._score_alone(pattern, path, old, new)
        if score is None:
            mutants.undecided += 1
            return
        fails = score < 1
        # All wrong values of one list's field that the schema allows have the same effect on a share of passed fields;
        # on other measures, those with the same score. What passes its comparison may still break the schema.
        rows = [at for at, step in enumerate(path) if isinstance(step, int)]
        place = (*path[: rows[-1]], *path[rows[-1] + 1 :]) if rows else tuple(path)
        effect = f"{score if self._measures_scores else ''} {self._breaks_schema(pattern, path, new)}"
        key = (place, effect if fails else kind)
        if key not in self._noticed:
            self._noticed[key] = self._is_noticed(replaced(self._case.gold, path, new))
        self._count(mutants, kind, MissedMutant(kind, old, new, self._case.id), fails=fails, caught=self._noticed[key])

    def _count(self, mutants: FieldMutants, kind: str, mutant: MissedMutant, *, fails: bool, caught: bool) -> None:
        if kind in NOTATION:
            mutants.notation_caught += caught
            mutants.notation_passed += not caught
            return
        mutants.total += 1
        mutants.caught += caught
        if not caught:
            (mutants.by_threshold if fails else mutants.by_metric)[kind] += 1
            mutants.examples.setdefault(kind, mutant)

    def _score_alone(self, pattern: str, path: FieldPath, old: Json, new: Json) -> float | None:
        """Return the lowest score of a corrupted value, scored alone, below 1 where it fails; None for a judge's."""
        key = (pattern, canonical_json(old), canonical_json(new))
        if key not in self._compared:
            program = self._case.scorer.program
            gold, extracted = (pruned(self._case.gold, path, value, program.patterns) for value in (old, new))
            results = self._case.scorer.score(gold, extracted, accept=self._case.accept).leaves
            undecided = any(result.status is Status.JUDGE_ERROR for result in results)
            failing = [min(result.score, 0.999_999) for result in results if not result.passed]
            self._compared[key] = None if undecided else min(failing, default=1.0)
            if not results:
                self._report.fields[pattern].uncompared = True
        return self._compared[key]

    def _breaks_schema(self, pattern: str, path: FieldPath, new: Json) -> bool:
        """Whether the schema does not allow a value at its place, so that the whole output fails."""
        if not self._case.gates.schema:
            return False
        key = (pattern, canonical_json(new))
        if key not in self._broken:
            alone = pruned(self._case.gold, path, new, self._case.scorer.program.patterns)
            place = tuple(0 if isinstance(step, int) else step for step in path)
            violations = self._validator.errors(alone, limit=1_000)
            self._broken[key] = any(tuple(violation.path)[: len(place)] == place for violation in violations)
        return self._broken[key]

    def wholes(self) -> None:
        """Corrupt the gold as a whole: rows lost, doubled, merged or swapped, keys renamed or invented."""
        gold = self._case.gold
        seen: set[str] = set()
        for name, kind in MISTAKE_KINDS.items():
            if kind.find is None or kind.make is None:
                continue
            for seed in range(WHOLE_SEEDS):
                new = kind.make(gold, random.Random(seed))  # noqa: S311 - corruptions, not secrets
                text = "" if new is MISSING else canonical_json(new)
                if new is MISSING or text in seen or text == canonical_json(gold):
                    continue
                seen.add(text)
                steps, old_leaf, new_leaf = next(changed_leaves(gold, new))
                if self._is_skipped(pattern_of(steps)):
                    continue
                mutants = self._report.fields.setdefault(_home(steps), FieldMutants())
                score = self._score(new)
                if any(result.status is Status.JUDGE_ERROR for result in score.leaves):
                    mutants.undecided += 1
                    continue
                fails = any(not result.passed for result in score.leaves)
                mutant = MissedMutant(name, old_leaf, new_leaf, self._case.id)
                self._count(mutants, name, mutant, fails=fails, caught=bool(breaches_of(self._bounds, score)))

    def _is_skipped(self, pattern: str) -> bool:
        program = self._case.scorer.program
        return declared(pattern, program) and is_skipped(pattern, program)

    def _score(self, output: Json) -> Score:
        case = self._case
        return case.scorer.score(
            case.gold, output, modality=case.modality, gates=case.gates, accept=case.accept, absent=case.absent
        )

    def _is_noticed(self, output: Json) -> bool:
        return bool(breaches_of(self._bounds, self._score(output)))


def _corruptions(value: Json) -> Iterator[tuple[str, Json]]:
    """Yield a corruption of a value by each kind that has one; which one follows from the value."""
    seen = {canonical_json(value)}
    for name, kind in MISTAKE_KINDS.items():
        if kind.compare is None or kind.make is None:
            continue
        new = _made(kind, value)
        if new is not MISSING and (text := canonical_json(new)) not in seen:
            seen.add(text)
            yield name, new


def _made(kind: MistakeKind, value: Json) -> Json | Missing:
    seed = zlib.crc32(f"{kind.name} {canonical_json(value)}".encode("utf-8", "surrogatepass"))
    return MISSING if kind.make is None else kind.make(value, random.Random(seed))  # noqa: S311 - as above


def pruned(gold: Json, path: Sequence[str | int], value: Json, nodes: Mapping[str, object]) -> Json:
    """Return a gold with one value alone: its objects without other keys, its lists with one row.

    A row keeps the fields that its list is aligned by (`nodes`: compiled node of each pattern).
    """
    if not path:
        return value
    return _pruned(gold, tuple(path), 0, value, nodes)


def _pruned(whole: Json, path: Steps, at: int, value: Json, nodes: Mapping[str, object]) -> Json:
    if at == len(path):
        return value
    step = path[at]
    inner = _pruned(whole[step], path, at + 1, value, nodes)
    if isinstance(step, str):
        return {step: inner}
    node = nodes.get(pattern_of(path[:at]))
    row = whole[step]
    if isinstance(node, Array) and isinstance(row, dict) and isinstance(inner, dict):
        inner = {**{name: row[name] for name in node.align.key if name in row}, **inner}
    return [inner]


def _home(steps: Steps) -> str:
    """Return the pattern of the list in which a change of rows stands, or of the changed place."""
    rows = [at for at, step in enumerate(steps) if isinstance(step, int)]
    return pattern_of(steps[: rows[0]]) if rows and rows[0] else pattern_of(steps)


def _advice(pattern: str, mutants: FieldMutants, case: Case) -> str:
    """Return the smallest change that catches what passes: a declaration, a stricter metric, or a threshold."""
    if mutants.uncompared:
        return "declare it in the schema: nothing compares it"
    wrong = [mutants.examples[kind] for kind in mutants.by_metric if kind in mutants.examples]
    if wrong:
        stricter = STRICTER[isinstance(wrong[0].old, str)]
        metric = next((name for name in stricter if _catches(name, pattern, case, wrong)), None)
        if metric is not None:
            return f'overrides: {{"{pattern}": {metric}}}'
        return "no stricter metric catches them; look at its transforms and `accept`"
    return f'thresholds: {{fields: {{"{pattern}": 1.0}}}}'


def _catches(metric: str, pattern: str, case: Case, wrong: Iterable[MissedMutant]) -> bool:
    try:
        source = case.scorer.source
        scorer = compile_schema(**{**source, "overrides": {**source["overrides"], pattern: {"metric": metric}}})
    except SchemaError:
        return False
    place = next((path for path, _ in iter_leaves(case.gold) if pattern_of(path) == pattern), None)
    return place is not None and all(_fails_under(scorer, case, place, each) for each in wrong)


def _fails_under(scorer: Scorer, case: Case, place: FieldPath, mutant: MissedMutant) -> bool:
    nodes = scorer.program.patterns
    gold, extracted = (pruned(case.gold, place, value, nodes) for value in (mutant.old, mutant.new))
    right = scorer.score(gold, gold).leaves
    return all(result.passed for result in right) and any(not r.passed for r in scorer.score(gold, extracted).leaves)
