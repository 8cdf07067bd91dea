"""Compares two snapshots: every case and field pattern rose, fell, is unchanged, new or gone, with both values.

A pair is one field of one case on both sides. With another document, gold value or metric a field is no pair; nor is a
field of a case that an outage took away. Both are listed, never counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.result_json import path_of
from pytest_extract.core.results import NamedMistake
from pytest_extract.core.stats import Runs
from pytest_extract.core.values import MISSING, Json, Missing, at_or_below, places_around
from pytest_extract.regression.snapshots import STRUCTURAL_GATES, CaseState, FailingField, Snapshot

_RIGHT: Final = Runs((0.0,), (0.0,))


class Change(StrEnum):
    """The change of a field, a pattern or a case.

    fell: it passed in more than half of the runs, and no longer does; rose: the other way round. Both may be noise.
    shifted: passes more or less often, but not to the other side of half of the runs (or flips cancel out).
    lost: an outage, a budget or a stop left nothing to compare. incomparable: no longer the same question.
    """

    FELL = "fell"
    ROSE = "rose"
    SHIFTED = "shifted"
    UNCHANGED = "unchanged"
    NEW = "new"
    GONE = "gone"
    LOST = "lost"
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A field whose pass rate changed. Rates are shares of passed runs; values are MISSING where nothing is there.

    `mistake` names what is wrong with `value_after`, None if it is right or no rule names it.
    """

    case: str
    path: str
    pattern: str
    kind: Change
    before: float
    after: float
    value_before: Json | Missing
    value_after: Json | Missing
    gold: Json | Missing
    mistake: NamedMistake | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseComparison:
    """One case on one variant: pairs compared, flips, and rates (share of passed fields, mean over runs).

    A failed structural gate makes a run's rate 0, as it does for `pass_rate`.
    `runs`: scored runs before and after. `runs_overall`: share of wrong fields in each run; `runs_by_pattern`: the same
    of each pattern and gate in which two runs differ; `runs_complete`: with the mean of the other runs in place of each
    run that failed as a whole (a failed gate, or every one of at least three fields), None where all did.
    `runs_broken`: 1 for each run that broke, None where one side was not run; `errors`: what broke now, by kind.
    `cost_usd` and `latency_s`: mean of a call before and after, None where one is unknown or the later run replayed.
    `failed_whole`: number of such runs before and after. `measure_runs`: each measure in each run before and after;
    `measures_differ`: they count known failures, or fields whose gold or metric changed.
    `same_setup`: no known input of the case changed between the two sides. `settled`: no unknown input can have changed
    either, because the later outputs are recordings or both sides are one run (the provider of a model that is called
    again may have changed it). `replayed`: the later outputs are recordings;
    `other_code`: some of another version of the extractor's code. `builds`: the models that served the calls
    before and after, as their providers name them, None where a side does not know. `apart`: number of fields that
    cannot be compared; `why`: the reason for them, or for the whole case.
    """

    case: str
    kind: Change
    fields: int = 0
    rose: int = 0
    fell: int = 0
    before: float = 0.0
    after: float = 0.0
    runs: tuple[int, int] = (0, 0)
    runs_overall: Runs = _RIGHT
    runs_by_pattern: Mapping[str, Runs] = field(default_factory=dict)
    runs_complete: Runs | None = None
    failed_whole: tuple[int, int] = (0, 0)
    measure_runs: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = field(default_factory=dict)
    measures_differ: bool = False
    runs_broken: Runs | None = None
    errors: Mapping[str, int] = field(default_factory=dict)
    cost_usd: tuple[float, float] | None = None
    latency_s: tuple[float, float] | None = None
    slices: Mapping[str, Json] = field(default_factory=dict)
    same_setup: bool = False
    settled: bool = False
    replayed: bool = False
    other_code: bool = False
    builds: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    apart: int = 0
    why: str | None = None

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternComparison:
    """One field pattern over all cases of a variant.

    `before` and `after`: share of passed fields in a case, mean over the cases that have the pattern, in [0, 1].
    """

    pattern: str
    kind: Change
    cases: int = 0
    fields: int = 0
    rose: int = 0
    fell: int = 0
    before: float = 0.0
    after: float = 0.0
    gate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """A rule across fields that holds in more or in fewer runs of some cases than before.

    broken: cases in which it held more often before; `mended`: cases in which it holds more often now.
    """

    rule: str
    broken: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    """One variant against its earlier self, or against another variant."""

    before: str
    after: str
    cases: tuple[CaseComparison, ...]
    patterns: tuple[PatternComparison, ...]
    fields: tuple[FieldChange, ...]
    known: tuple[str, ...] = ()
    rules: tuple[RuleChange, ...] = ()
    cost_usd: float | None = None

    @property
    def label(self) -> str:
        """Text that names the variant; both labels where they differ; empty for the only variant."""
        return self.after if self.before == self.after else f"{self.before or 'before'} -> {self.after or 'now'}"

    @property
    def compared(self) -> tuple[CaseComparison, ...]:
        """The cases that gave at least one pair."""
        return tuple(row for row in self.cases if row.fields)

    @property
    def gone(self) -> tuple[int, int]:
        """How many of the earlier cases the later run does not have, and how many earlier cases there are."""
        return len(self.of_kind(Change.GONE)), sum(row.kind is not Change.NEW for row in self.cases)

    def of_kind(self, *kinds: Change) -> tuple[CaseComparison, ...]:
        """Cases of these kinds."""
        return tuple(row for row in self.cases if row.kind in kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A run against a baseline or another run, variant by variant."""

    variants: tuple[VariantComparison, ...]

    @property
    def pairs(self) -> int:
        """How many (case, field) pairs were compared; 0 means that nothing was."""
        return sum(row.fields for variant in self.variants for row in variant.cases)


class Pair(NamedTuple):
    """One field of one case, or one of its structural gates, that failed at least once on either side."""

    path: str
    pattern: str
    before: tuple[bool, ...]
    after: tuple[bool, ...]
    value_before: Json | Missing
    value_after: Json | Missing
    gold: Json | Missing
    mistake: NamedMistake | None = None

    @property
    def kind(self) -> Change:
        """The change: a flip is a change from more than half of the runs to half or fewer, or back."""
        failed_before, failed_after = self.before.count(False), self.after.count(False)
        if (2 * failed_before < len(self.before)) != (2 * failed_after < len(self.after)):
            return Change.FELL if 2 * failed_after >= len(self.after) else Change.ROSE
        same = failed_before * len(self.after) == failed_after * len(self.before)
        return Change.UNCHANGED if same else Change.SHIFTED


_FEWEST_WHOLE: Final = 3  # fields of which all must fail for the answer to count as failed as a whole


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePairs:
    """All pairs of a case, over all runs of both sides, of which there need not be equally many.

    `runs`: before and after. `sizes`: compared fields by pattern, failing or not. `apart`: patterns that are no pair
    here, and why. `gates`: structural gates that failed on either side; a gated run counts as failed in every field.
    """

    runs: tuple[int, int]
    sizes: Mapping[str, int]
    failing: tuple[Pair, ...]
    gates: tuple[Pair, ...]
    apart: Mapping[str, Change]
    known: tuple[str, ...]

    @property
    def fields(self) -> int:
        """How many fields were compared."""
        return sum(self.sizes.values())

    def overall(self) -> Runs:
        """Share of wrong fields in each run; 1 for a gated run. Needs a compared field."""
        gated, failed = self._failed(self.gates, 1), self._failed(self.failing, self.fields)
        return Runs(tuple(map(max, gated.before, failed.before)), tuple(map(max, gated.after, failed.after)))

    def failed_whole(self) -> Runs:
        """1 for each run that failed as a whole: a failed gate, or every field where there are at least three."""
        runs = self.overall() if self.fields >= _FEWEST_WHOLE else self._failed(self.gates, 1)
        return Runs(*(tuple(float(value >= 1) for value in side) for side in (runs.before, runs.after)))

    def complete(self) -> Runs | None:
        """As `overall`, with the mean of the other runs in place of those that failed as a whole; None if all did."""
        overall, whole = self.overall(), self.failed_whole()
        values, failed = (*overall.before, *overall.after), (*whole.before, *whole.after)
        left = [value for value, out in zip(values, failed, strict=True) if not out]
        if not left:
            return None
        mean = math.fsum(left) / len(left)
        filled = tuple(mean if out else value for value, out in zip(values, failed, strict=True))
        return Runs(filled[: self.runs[0]], filled[self.runs[0] :])

    def by_pattern(self) -> dict[str, Runs]:
        """Share of wrong fields of each pattern and gate in each run, where one failed."""
        grouped: dict[str, list[Pair]] = {}
        for pair in (*self.failing, *self.gates):
            grouped.setdefault(pair.pattern, []).append(pair)
        return {pattern: self._failed(pairs, self.sizes.get(pattern, 1)) for pattern, pairs in grouped.items()}

    def _failed(self, pairs: Sequence[Pair], of: int) -> Runs:
        """Return the share of `of` fields that are a pair that failed, in each run; at most 1."""
        sides = [pair.before for pair in pairs], [pair.after for pair in pairs]
        before, after = (
            tuple(min(1.0, sum(not verdicts[run] for verdicts in side) / of) for run in range(count))
            for count, side in zip(self.runs, sides, strict=True)
        )
        return Runs(before, after)


def pair_case(was: CaseState, now: CaseState) -> CasePairs:
    """Pair the fields of a case that was scored on both sides.

    A field is a pair when metric and gold value are the same on both sides. A container that fails as a whole (a text
    where an object belongs) is one pair; the fields inside it, which only the other side has, do not count beside it.
    """
    sizes, apart = _comparable_patterns(was, now)
    inside = _failing_inside(was), _failing_inside(now)
    known = frozenset(now.known)
    entries: dict[str, FailingField] = {}
    left_out: list[str] = []
    for path, entry in sorted({**was.failing, **now.failing}.items()):
        if entry.pattern not in sizes or _is_in_failed_container(path, was, now):
            continue
        sizes[entry.pattern] += entry.invented
        if _is_known(path, known) or _is_known(entry.pattern, known):
            sizes[entry.pattern] -= 1
            left_out.append(path)
        else:
            entries[path] = entry
    return CasePairs(
        runs=(was.runs, now.runs),
        sizes={pattern: count for pattern, count in sizes.items() if count > 0 and not _is_known(pattern, known)},
        failing=tuple(_field_pair(path, entry, (was, now), inside) for path, entry in entries.items()),
        gates=tuple(_gate_pair(name, was, now) for name in sorted({*was.gates, *now.gates})),
        apart=apart,
        known=tuple(left_out),
    )


def _is_known(place: str, known: frozenset[str]) -> bool:
    """Whether a known failure, a path or pattern, covers the place or a container of it."""
    return any(at_or_below(place, each) for each in known)


def _comparable_patterns(was: CaseState, now: CaseState) -> tuple[dict[str, int], dict[str, Change]]:
    """Fields that gold asks for, by comparable pattern; and the patterns that cannot be compared."""
    sizes: dict[str, int] = {}
    apart: dict[str, Change] = {}
    same_gold = same_digest(was, now, "gold")
    failing = [{entry.pattern for entry in side.failing.values()} for side in (was, now)]
    containers = [{place for inner in side.patterns for place in places_around(inner)} for side in (was, now)]
    for pattern in sorted({*was.patterns, *now.patterns}):
        old, new = was.patterns.get(pattern), now.patterns.get(pattern)
        if old and new:
            same_metric = old.metric == new.metric or not (old.metric and new.metric)
            if same_metric and (same_gold or old.gold == new.gold):
                sizes[pattern] = min(old.of, new.of)
            else:
                apart[pattern] = Change.INCOMPARABLE
            continue
        only = was if old else now
        one, another = (0, 1) if old else (1, 0)
        is_whole = pattern in failing[one] and pattern in containers[another]
        if is_whole or _only_invented(pattern, was, now):
            sizes[pattern] = only.patterns[pattern].of
        elif failing[another].isdisjoint(places_around(pattern)):
            apart[pattern] = Change.GONE if old else Change.NEW
    return sizes, apart


def _only_invented(pattern: str, was: CaseState, now: CaseState) -> bool:
    """Whether only one side has a value where gold has none; the other side was right."""
    shape = was.patterns.get(pattern) or now.patterns[pattern]
    return shape.of == 0 and not changed_digests(was, now, ["schema"])


def _is_in_failed_container(path: str, was: CaseState, now: CaseState) -> bool:
    """Whether one side alone has this field because on the other its container failed as a whole."""
    if path in was.failing and path in now.failing:
        return False
    other = now if path in was.failing else was
    return any(str(place) in other.failing for place in path_of(path).parents)


def _field_pair(
    path: str, entry: FailingField, sides: tuple[CaseState, CaseState], inside: tuple[_Inside, _Inside]
) -> Pair:
    was, now = sides
    right = MISSING if entry.invented else entry.gold  # the value of a side that passed
    values = [side.failing[path].value if path in side.failing else right for side in (was, now)]
    return Pair(
        path=path,
        pattern=entry.pattern,
        before=_verdicts(path, was, inside[0]),
        after=_verdicts(path, now, inside[1]),
        value_before=values[0],
        value_after=values[1],
        gold=entry.gold,
        mistake=now.failing[path].mistake if path in now.failing else None,
    )


_Inside: TypeAlias = Mapping[str, Sequence[tuple[bool, ...]]]
"""Container -> verdicts of the failing fields inside it."""


def _failing_inside(side: CaseState) -> _Inside:
    found: dict[str, list[tuple[bool, ...]]] = {}
    for path, entry in side.failing.items():
        for place in places_around(path)[1:]:
            found.setdefault(place, []).append(entry.runs)
    return found


def _verdicts(path: str, side: CaseState, inside: _Inside) -> tuple[bool, ...]:
    """Verdict of a field in each run; of a container that did not fail as a whole: whether all inside it passed."""
    entry = side.failing.get(path)
    if entry is not None:
        return entry.runs
    inner = inside.get(path, ())
    return tuple(all(verdicts[run] for verdicts in inner) for run in range(side.runs))


def gate_label(name: str) -> str:
    """Return the name of a structural gate among field patterns; no pattern looks like it."""
    return f"({name} gate)"


def _gate_pair(name: str, was: CaseState, now: CaseState) -> Pair:
    return Pair(
        path=gate_label(name),
        pattern=gate_label(name),
        before=was.gates.get(name, (True,) * was.runs),
        after=now.gates.get(name, (True,) * now.runs),
        value_before=MISSING,
        value_after=MISSING,
        gold=MISSING,
    )


def same_digest(was: CaseState, now: CaseState, name: str) -> bool:
    """Whether both sides name the same content; a baseline keeps the beginning of a digest only."""
    old, new = was.digests.get(name), now.digests.get(name)
    return old is not None and new is not None and (old.startswith(new) or new.startswith(old))


def changed_digests(was: CaseState, now: CaseState, names: Iterable[str]) -> list[str]:
    """Return those of `names` whose digests both sides know and that differ."""
    return [name for name in names if name in was.digests and name in now.digests and not same_digest(was, now, name)]


def same_setup(was: CaseState, now: CaseState) -> bool:
    """Whether all inputs of the output are known on both sides, and the same.

    The extractor's code counts by its digest, if there is one; a replayed output does not depend on it. The gold is no
    input: fields whose gold changed are not compared.
    """
    names = {*was.digests, *now.digests} - {"gold"}
    known = "extractor" in names or (now.replayed and bool(names))
    return was.variant == now.variant and known and all(same_digest(was, now, name) for name in names)


_ORDER: Final = tuple(Change)
_GATES: Final = tuple((gate_label(name), 1) for name in STRUCTURAL_GATES)
"""Patterns of the structural gates, each with its size."""


def compare(before: Snapshot, after: Snapshot, *, same_run: bool = False) -> Comparison:
    """Compare two snapshots, variant with variant (with one variant on each side: whatever the two are called).

    `same_run`: both are known to be one and the same run, so that nothing can have changed between them.
    """
    variants = match_variants(before, after)
    return Comparison(
        variants=tuple(compare_variants(before, after, old, new, same_run=same_run) for old, new in variants)
    )


def compare_with_variant(before: Snapshot, after: Snapshot, base: str) -> Comparison:
    """Compare every other variant of `after` with the variant `base` of `before`."""
    others = sorted({key.variant for key in after} - {base})
    return Comparison(variants=tuple(compare_variants(before, after, base, other) for other in others))


def compare_variants(
    before: Snapshot, after: Snapshot, old: str | None, new: str | None, *, same_run: bool = False
) -> VariantComparison:
    """Compare one variant of a snapshot with one variant of another (or of the same one: two models of one run)."""
    was, now = _cases_of_variant(before, old), _cases_of_variant(after, new)
    cases: list[CaseComparison] = []
    fields: list[FieldChange] = []
    known: list[str] = []
    patterns: dict[str, _PatternTally] = {}
    rules: dict[str, tuple[list[str], list[str]]] = {}
    for case, old_state, new_state in match_cases(was, now):
        pairs = _pair_fields(old_state, new_state)
        row = _case_row(case, old_state, new_state, pairs)
        cases.append(replace(row, same_setup=True, settled=True) if same_run else row)
        _add_case(patterns, old_state, new_state, pairs)
        if pairs is not None and old_state is not None and new_state is not None:
            _add_rules(rules, case, old_state, new_state)
            known += [f"{case}: {path}" for path in pairs.known]
            fields += [
                _field_change(case, pair) for pair in (*pairs.gates, *pairs.failing) if pair.before != pair.after
            ]
    return VariantComparison(
        before=old or "",
        after=new or "",
        cases=tuple(cases),
        patterns=_pattern_rows(patterns),
        fields=tuple(sorted(fields, key=lambda change: (_ORDER.index(change.kind), change.case, change.path))),
        known=tuple(known),
        rules=tuple(
            RuleChange(rule=name, broken=tuple(broken), mended=tuple(mended))
            for name, (broken, mended) in rules.items()
        ),
        cost_usd=_mean_cost(now.values()),
    )


def _add_rules(rules: dict[str, tuple[list[str], list[str]]], case: str, was: CaseState, now: CaseState) -> None:
    """Add a case to the rules that hold in more or fewer of its runs; a rule of one side only is not compared."""
    for name, after in now.rules.items():
        before = was.rules.get(name)
        change = 0 if before is None else sum(after) * len(before) - sum(before) * len(after)
        if change:
            broken, mended = rules.setdefault(name, ([], []))
            (broken if change < 0 else mended).append(case)


def match_variants(before: Snapshot, after: Snapshot) -> list[tuple[str | None, str | None]]:
    """Pair the variants of two snapshots by label; a single variant on each side is a pair whatever the labels are.

    All cases of a variant without a partner are new, or gone.
    """
    old = sorted({key.variant for key in before})
    new = sorted({key.variant for key in after})
    if len(old) == len(new) == 1:
        return [(old[0], new[0])]
    shared = [(variant, variant) for variant in old if variant in new]
    gone = [(variant, None) for variant in old if variant not in new]
    return [*shared, *gone, *((None, variant) for variant in new if variant not in old)]


def match_cases(
    before: Mapping[str, CaseState], after: Mapping[str, CaseState]
) -> list[tuple[str, CaseState | None, CaseState | None]]:
    """Pair the cases of one variant by `file::id`; where none is the same on both sides, by ids that are unique.

    The second way serves runs that were started from different folders: one file's path is then the end of the other's.
    """
    if before and after and before.keys().isdisjoint(after):
        before, after = _keyed_by_id(before, after)
    names = [*after, *(case for case in before if case not in after)]
    return [(case, before.get(case), after.get(case)) for case in sorted(names)]


def _keyed_by_id(
    before: Mapping[str, CaseState], after: Mapping[str, CaseState]
) -> tuple[Mapping[str, CaseState], Mapping[str, CaseState]]:
    counts = [Counter(state.case_id for state in side.values()) for side in (before, after)]
    names = {state.case_id: case for case, state in after.items() if all(count[state.case_id] == 1 for count in counts)}
    paired = {case: names.get(state.case_id, case) for case, state in before.items()}
    return {other if _is_same_file(case, other) else case: before[case] for case, other in paired.items()}, after


def _is_same_file(one: str, other: str) -> bool:
    """Whether two cases (`file::id`) can be of one file, each named from a folder above it."""
    short, long = sorted(("/" + case.lstrip("./") for case in (one, other)), key=len)
    return long.endswith(short)


def _cases_of_variant(states: Snapshot, variant: str | None) -> dict[str, CaseState]:
    return {key.case: state for key, state in sorted(states.items()) if key.variant == variant}


def _pair_fields(was: CaseState | None, now: CaseState | None) -> CasePairs | None:
    if was is None or now is None or was.lost or now.lost or changed_digests(was, now, ["document"]):
        return None
    return pair_case(was, now)


def _case_row(case: str, was: CaseState | None, now: CaseState | None, pairs: CasePairs | None) -> CaseComparison:
    if was is None or now is None:
        return CaseComparison(case=case, kind=Change.NEW if was is None else Change.GONE)
    if was.lost or now.lost:
        return CaseComparison(
            case=case,
            kind=Change.LOST,
            why=_why_lost(was, now),
            runs_broken=_runs_broken(was, now),
            errors=now.errors,
            slices=now.slices,
        )
    if pairs is None or not pairs.fields:
        return CaseComparison(case=case, kind=Change.INCOMPARABLE, why=_why_apart(was, now))
    overall, whole = pairs.overall(), pairs.failed_whole()
    before, after = overall.means
    kinds = [pair.kind for pair in (*pairs.gates, *pairs.failing)]
    return CaseComparison(
        case=case,
        kind=_change_of(overall.loss, kinds),
        fields=pairs.fields,
        rose=sum(pair.kind is Change.ROSE for pair in pairs.failing),
        fell=sum(pair.kind is Change.FELL for pair in pairs.failing),
        before=1 - before,
        after=1 - after,
        runs=pairs.runs,
        runs_overall=overall,
        runs_by_pattern={name: runs for name, runs in pairs.by_pattern().items() if runs.varies},
        runs_complete=pairs.complete(),
        failed_whole=(whole.before.count(1), whole.after.count(1)),
        measure_runs={name: (was.measures[name], now.measures[name]) for name in was.measures if name in now.measures},
        measures_differ=bool(pairs.known) or Change.INCOMPARABLE in pairs.apart.values(),
        runs_broken=_runs_broken(was, now),
        errors=now.errors,
        cost_usd=_both(was.cost_usd, now.cost_usd) if not now.replayed else None,
        latency_s=_both(was.latency_s, now.latency_s) if not now.replayed else None,
        slices=now.slices,
        same_setup=(same := same_setup(was, now)),
        settled=same and now.replayed,
        replayed=now.replayed,
        other_code=now.other_code,
        builds=(was.builds, now.builds) if was.builds and now.builds else None,
        apart=len(pairs.apart),
        why=_why_apart(was, now) if pairs.apart else None,
    )


def _runs_broken(was: CaseState, now: CaseState) -> Runs | None:
    sides = [(0.0,) * side.runs + (1.0,) * side.broken for side in (was, now)]
    return Runs(*sides) if all(sides) else None


def _both(before: float | None, after: float | None) -> tuple[float, float] | None:
    return None if before is None or after is None else (before, after)


def _change_of(loss: float, kinds: Iterable[Change]) -> Change:
    flips = set(kinds)
    if loss > 0 and Change.FELL in flips:
        return Change.FELL
    if loss < 0 and Change.ROSE in flips:
        return Change.ROSE
    return Change.SHIFTED if flips - {Change.UNCHANGED} else Change.UNCHANGED


def _why_lost(was: CaseState, now: CaseState) -> str:
    side, state = ("now", now) if now.lost else ("before", was)
    first = (state.why or "").strip().partition("\n")[0]
    return f"{side} {state.outcome.replace('_', ' ')}" + (f": {first}" if first else "")


def _why_apart(was: CaseState, now: CaseState) -> str:
    changed = changed_digests(was, now, ["document", "schema", "gold", "judge"])
    return f"{', '.join(changed)} changed" if changed else "its fields are not checked as they were before"


def _field_change(case: str, pair: Pair) -> FieldChange:
    return FieldChange(
        case=case,
        path=pair.path,
        pattern=pair.pattern,
        kind=pair.kind,
        before=sum(pair.before) / len(pair.before),
        after=sum(pair.after) / len(pair.after),
        value_before=pair.value_before,
        value_after=pair.value_after,
        gold=pair.gold,
        mistake=None if all(pair.after) else pair.mistake,
    )


@dataclass(slots=True, kw_only=True)
class _PatternTally:
    """What the row of a pattern is made of: the number of fields and the runs of each case, and all flips."""

    fields: int = 0
    runs: list[Runs] = field(default_factory=list)
    kinds: list[Change] = field(default_factory=list)
    apart: set[Change] = field(default_factory=set)


def _add_case(
    tally: dict[str, _PatternTally], was: CaseState | None, now: CaseState | None, pairs: CasePairs | None
) -> None:
    apart = dict(pairs.apart) if pairs is not None else {}
    if was is None or now is None:
        only, kind = (was, Change.GONE) if now is None else (now, Change.NEW)
        apart = dict.fromkeys(only.patterns if only is not None else (), kind)
    for pattern, kind in apart.items():
        tally.setdefault(pattern, _PatternTally()).apart.add(kind)
    if pairs is None:
        return
    failing = pairs.by_pattern()
    for pattern, size in (*pairs.sizes.items(), *_GATES):
        entry = tally.setdefault(pattern, _PatternTally())
        entry.fields += size
        entry.runs.append(failing.get(pattern, _RIGHT))
    for pair in (*pairs.failing, *pairs.gates):
        tally[pair.pattern].kinds.append(pair.kind)


def _pattern_rows(tally: Mapping[str, _PatternTally]) -> tuple[PatternComparison, ...]:
    """Rows of all patterns, the worst change first; a gate only where it failed."""
    gates = {name for name, _ in _GATES}
    rows: list[PatternComparison] = []
    for pattern, entry in tally.items():
        if not entry.fields:
            kind = min(entry.apart, key=_ORDER.index, default=Change.INCOMPARABLE)
            rows.append(PatternComparison(pattern=pattern, kind=kind))
        elif entry.kinds or pattern not in gates:
            cases = Runs(*zip(*(runs.means for runs in entry.runs), strict=True))
            before, after = cases.means
            rows.append(
                PatternComparison(
                    pattern=pattern,
                    kind=_change_of(cases.loss, entry.kinds),
                    cases=len(entry.runs),
                    fields=entry.fields,
                    rose=entry.kinds.count(Change.ROSE),
                    fell=entry.kinds.count(Change.FELL),
                    before=1 - before,
                    after=1 - after,
                    gate=pattern in gates,
                )
            )
    return tuple(sorted(rows, key=_worst_first))


def _worst_first(row: PatternComparison) -> tuple[float, int, str]:
    return row.after - row.before, _ORDER.index(row.kind), row.pattern


def _mean_cost(states: Iterable[CaseState]) -> float | None:
    costs = [state.cost_usd for state in states if state.cost_usd is not None]
    return sum(costs) / len(costs) if costs else None
