"""Compares two snapshots: every case and field pattern rose, fell, is unchanged, new or gone, with both values.

A pair is one field of one case on both sides. With another document, gold value or metric a field is no pair; nor is a
field of a case that an outage took away. Both are listed, never counted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, TypeAlias

from pytest_extract.core.results import NamedMistake
from pytest_extract.core.stats import Runs
from pytest_extract.core.values import MISSING, Json, Missing, at_or_below, places_around
from pytest_extract.regression.snapshots import STRUCTURAL_GATES, CaseState, Snapshot

Verdicts: TypeAlias = tuple[bool, ...]
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
    """A field, or a structural gate, that failed on either side. Values are MISSING where nothing is there.

    Rates are shares of passed runs; `runs`: passed or not, in each run before and after. `mistake` names what is wrong
    with `value_after`, None if it is right or no rule names it.
    """

    case: str
    path: str
    pattern: str
    kind: Change
    before: float
    after: float
    runs: tuple[Verdicts, Verdicts]
    value_before: Json | Missing = MISSING
    value_after: Json | Missing = MISSING
    gold: Json | Missing = MISSING
    mistake: NamedMistake | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseComparison:
    """One case on one variant: pairs compared, flips, and rates (share of passed fields, mean over runs).

    A failed structural gate makes a run's rate 0, as it does for `pass_rate`.
    `runs`: scored runs before and after. `runs_overall`: share of wrong fields in each run; `runs_by_pattern`: the same
    of each pattern and gate in which two runs differ; `runs_complete`: with the mean of the other runs in place of each
    run that failed as a whole (a failed gate, or every one of at least three fields), None where all did.
    `error_runs`: 1 for each run that ended in error, None where one side was not run; `errors`: those of now by kind.
    `cost_usd` and `latency_s`: mean of a call before and after, None where one is unknown or the later run replayed.
    `failed_whole`: number of such runs before and after. `measure_runs`: each measure in each run before and after;
    `measures_differ`: they count known failures, or fields whose gold or metric changed.
    `same_setup`: no known input of the case changed between the two sides. `replayed`: the later outputs are
    recordings; `other_code`: some of another version of the extractor's code. `builds`: the models that served the
    calls before and after, as their providers name them, None where a side does not know. `apart`: number of fields
    that cannot be compared; `why`: the reason for them, or for the whole case.
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
    error_runs: Runs | None = None
    errors: Mapping[str, int] = field(default_factory=dict)
    cost_usd: tuple[float, float] | None = None
    latency_s: tuple[float, float] | None = None
    slices: Mapping[str, Json] = field(default_factory=dict)
    same_setup: bool = False
    replayed: bool = False
    other_code: bool = False
    builds: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    apart: int = 0
    why: str | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    """One variant against its earlier self, or against another variant."""

    before: str
    after: str
    cases: tuple[CaseComparison, ...]
    patterns: tuple[PatternComparison, ...]
    fields: tuple[FieldChange, ...]
    known: tuple[str, ...] = ()
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

    def variant(self, label: str) -> VariantComparison:
        """Return the comparison of a variant."""
        return next(variant for variant in self.variants if variant.label == label)

    @property
    def pairs(self) -> int:
        """How many (case, field) pairs were compared; 0 means that nothing was."""
        return sum(row.fields for variant in self.variants for row in variant.cases)


_ORDER: Final = tuple(Change)
_FEWEST_WHOLE: Final = 3  # fields of which all must fail for the answer to count as failed as a whole


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePairs:
    """All pairs of a case, over all runs of both sides, of which there need not be equally many.

    `runs`: before and after. `sizes`: compared fields by pattern, failing or not. `apart`: patterns that are no pair
    here, and why. `failing`: fields that failed on either side; `gates`: structural gates that did, and a gated run
    counts as failed in every field. `known`: paths that are left out.
    """

    runs: tuple[int, int] = (0, 0)
    sizes: Mapping[str, int] = field(default_factory=dict)
    failing: tuple[FieldChange, ...] = ()
    gates: tuple[FieldChange, ...] = ()
    apart: Mapping[str, Change] = field(default_factory=dict)
    known: tuple[str, ...] = ()

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
        grouped: dict[str, list[FieldChange]] = {}
        for change in (*self.failing, *self.gates):
            grouped.setdefault(change.pattern, []).append(change)
        return {pattern: self._failed(changes, self.sizes.get(pattern, 1)) for pattern, changes in grouped.items()}

    def _failed(self, changes: Sequence[FieldChange], of: int) -> Runs:
        """Return the share of `of` fields that failed in each run; at most 1."""
        return Runs(
            *(
                tuple(min(1.0, sum(not change.runs[side][run] for change in changes) / of) for run in range(count))
                for side, count in enumerate(self.runs)
            )
        )


def pair_case(case: str, was: CaseState, now: CaseState) -> CasePairs:
    """Pair the fields of a case that was scored on both sides.

    A field is a pair when metric and gold value are the same on both sides. A container that fails as a whole (a text
    where an object belongs) is one pair; the fields inside it, which only the other side has, do not count beside it.
    """
    sizes, apart = _comparable_patterns(was, now)
    verdicts = _verdicts_of(was), _verdicts_of(now)
    failing: list[FieldChange] = []
    left_out: list[str] = []
    for path, entry in sorted({**was.failing, **now.failing}.items()):
        if entry.pattern not in sizes or _is_in_failed_container(path, was, now):
            continue
        is_known = _is_known(path, now) or _is_known(entry.pattern, now)
        sizes[entry.pattern] += entry.invented - is_known
        if is_known:
            left_out.append(path)
            continue
        right = MISSING if entry.invented else entry.gold  # the value of a side that passed
        old, new = (side.failing[path].value if path in side.failing else right for side in (was, now))
        before, after = (found.get(path, (True,) * side.runs) for found, side in zip(verdicts, (was, now), strict=True))
        mistake = now.failing[path].mistake if path in now.failing else None
        change = _change(case, path, entry.pattern, before, after)
        failing.append(replace(change, value_before=old, value_after=new, gold=entry.gold, mistake=mistake))
    gates: list[FieldChange] = []
    for name in sorted({*was.gates, *now.gates}):
        before, after = (side.gates.get(name, (True,) * side.runs) for side in (was, now))
        gates.append(_change(case, gate_label(name), gate_label(name), before, after))
    return CasePairs(
        runs=(was.runs, now.runs),
        sizes={pattern: count for pattern, count in sizes.items() if count > 0 and not _is_known(pattern, now)},
        failing=tuple(failing),
        gates=tuple(gates),
        apart=apart,
        known=tuple(left_out),
    )


def _change(case: str, path: str, pattern: str, was: Verdicts, now: Verdicts) -> FieldChange:
    """Return the change of a field: a flip is one from more than half of the runs to half or fewer, or back."""
    before, after = sum(was) / len(was), sum(now) / len(now)
    kind = Change.UNCHANGED if before == after else Change.SHIFTED
    if (before > 0.5) != (after > 0.5):
        kind = Change.FELL if before > 0.5 else Change.ROSE
    return FieldChange(case=case, path=path, pattern=pattern, kind=kind, before=before, after=after, runs=(was, now))


def _is_known(place: str, now: CaseState) -> bool:
    """Whether a known failure, a path or pattern, covers the place or a container of it."""
    return any(at_or_below(place, each) for each in now.known)


def _comparable_patterns(was: CaseState, now: CaseState) -> tuple[dict[str, int], dict[str, Change]]:
    """Fields that gold asks for, by comparable pattern; and the patterns that cannot be compared."""
    sizes: dict[str, int] = {}
    apart: dict[str, Change] = {}
    same_gold = same_digest(was, now, "gold")
    same_schema = not changed_digests(was, now, ["schema"])
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
        of = (was if old else now).patterns[pattern].of
        one, another = (0, 1) if old else (1, 0)
        is_whole = pattern in failing[one] and pattern in containers[another]
        if is_whole or (of == 0 and same_schema):  # an invented value, which the other side was right to leave out
            sizes[pattern] = of
        elif failing[another].isdisjoint(places_around(pattern)):
            apart[pattern] = Change.GONE if old else Change.NEW
    return sizes, apart


def _is_in_failed_container(path: str, was: CaseState, now: CaseState) -> bool:
    """Whether one side alone has this field because on the other its container failed as a whole."""
    others = [side.failing for side in (was, now) if path not in side.failing]
    return any(place in failing for failing in others for place in places_around(path)[1:])


def _verdicts_of(side: CaseState) -> dict[str, Verdicts]:
    """Return whether a field that failed passed in each run, and whether all inside a container of one did."""
    found: dict[str, Verdicts] = {}
    for path, entry in side.failing.items():
        for place in places_around(path)[1:]:
            found[place] = tuple(map(min, found.get(place, entry.runs), entry.runs))
    return found | {path: entry.runs for path, entry in side.failing.items()}


def gate_label(name: str) -> str:
    """Return the name of a structural gate among field patterns; no pattern looks like it."""
    return f"({name} gate)"


def same_digest(was: CaseState, now: CaseState, name: str) -> bool:
    """Whether both sides name the same content; a baseline keeps the beginning of a digest only."""
    old, new = was.digests.get(name), now.digests.get(name)
    return old is not None and new is not None and (old.startswith(new) or new.startswith(old))


def changed_digests(was: CaseState, now: CaseState, names: Iterable[str]) -> list[str]:
    """Return those of `names` whose digests both sides know and that differ."""
    return [name for name in names if name in was.digests and name in now.digests and not same_digest(was, now, name)]


def _same_setup(was: CaseState, now: CaseState) -> bool:
    """Whether all inputs of the output are known on both sides, and the same.

    The extractor's code counts by its digest, if there is one; a replayed output does not depend on it. The gold is no
    input: fields whose gold changed are not compared.
    """
    names = {*was.digests, *now.digests} - {"gold"}
    known = "extractor" in names or (now.replayed and bool(names))
    return was.variant == now.variant and known and all(same_digest(was, now, name) for name in names)


def compare(before: Snapshot, after: Snapshot) -> Comparison:
    """Compare two snapshots, variant with variant (with one variant on each side: whatever the two are called)."""
    variants = match_variants(before, after)
    return Comparison(variants=tuple(compare_variants(before, after, old, new) for old, new in variants))


def match_variants(before: Snapshot, after: Snapshot) -> list[tuple[str, str]]:
    """Pair the variants of two snapshots by label; a single variant on each side is a pair whatever the labels are.

    All cases of a variant that only one side has are new, or gone.
    """
    old, new = (sorted({key.variant for key in side}) for side in (before, after))
    if len(old) == len(new) == 1:
        return [(old[0], new[0])]
    return [(variant, variant) for variant in dict.fromkeys([*old, *new])]


def cases_of(states: Snapshot, variant: str) -> dict[str, CaseState]:
    """Return the cases of a variant by their names (`file::id`), in their order."""
    return {key.case: state for key, state in sorted(states.items()) if key.variant == variant}


def compare_variants(before: Snapshot, after: Snapshot, old: str, new: str) -> VariantComparison:
    """Compare one variant of a snapshot with one variant of another (or of the same one: two models of one run)."""
    was, now = cases_of(before, old), cases_of(after, new)
    cases: list[CaseComparison] = []
    fields: list[FieldChange] = []
    known: list[str] = []
    compared: list[CasePairs] = []
    for case in sorted({*was, *now}):
        row, pairs = _compare_case(case, was.get(case), now.get(case))
        cases.append(row)
        compared.append(pairs)
        fields += [change for change in (*pairs.gates, *pairs.failing) if change.before != change.after]
        known += [f"{case}: {path}" for path in pairs.known]
    return VariantComparison(
        before=old,
        after=new,
        cases=tuple(cases),
        patterns=_pattern_rows(compared),
        fields=tuple(sorted(fields, key=lambda change: (_ORDER.index(change.kind), change.case, change.path))),
        known=tuple(known),
        cost_usd=mean_of([state.cost_usd for state in now.values()]),
    )


def _compare_case(case: str, was: CaseState | None, now: CaseState | None) -> tuple[CaseComparison, CasePairs]:
    if was is None or now is None:
        only, kind = (now, Change.NEW) if was is None else (was, Change.GONE)
        patterns = only.patterns if only is not None else {}
        return CaseComparison(case=case, kind=kind), CasePairs(apart=dict.fromkeys(patterns, kind))
    error_runs = [(0.0,) * side.runs + (1.0,) * sum(side.errors.values()) for side in (was, now)]
    row = CaseComparison(
        case=case,
        kind=Change.LOST,
        error_runs=Runs(*error_runs) if all(error_runs) else None,
        errors=now.errors,
        slices=now.slices,
    )
    if was.lost or now.lost:
        side, state = ("now", now) if now.lost else ("before", was)
        first = (state.why or "").strip().partition("\n")[0]
        return replace(row, why=f"{side} {state.outcome.text}{first and f': {first}'}"), CasePairs()
    pairs = CasePairs() if changed_digests(was, now, ["document"]) else pair_case(case, was, now)
    if not pairs.fields:
        return CaseComparison(case=case, kind=Change.INCOMPARABLE, why=_why_apart(was, now)), pairs
    overall, whole, kinds = pairs.overall(), pairs.failed_whole(), Counter(change.kind for change in pairs.failing)
    before, after = overall.means
    return replace(
        row,
        kind=_change_of(overall.loss, {*kinds, *(change.kind for change in pairs.gates)}),
        fields=pairs.fields,
        rose=kinds[Change.ROSE],
        fell=kinds[Change.FELL],
        before=1 - before,
        after=1 - after,
        runs=pairs.runs,
        runs_overall=overall,
        runs_by_pattern={name: runs for name, runs in pairs.by_pattern().items() if runs.varies},
        runs_complete=pairs.complete(),
        failed_whole=(whole.before.count(1), whole.after.count(1)),
        measure_runs={name: (was.measures[name], now.measures[name]) for name in was.measures if name in now.measures},
        measures_differ=bool(pairs.known) or Change.INCOMPARABLE in pairs.apart.values(),
        cost_usd=_both(was.cost_usd, now.cost_usd) if not now.replayed else None,
        latency_s=_both(was.latency_s, now.latency_s) if not now.replayed else None,
        same_setup=_same_setup(was, now),
        replayed=now.replayed,
        other_code=now.other_code,
        builds=(was.builds, now.builds) if was.builds and now.builds else None,
        apart=len(pairs.apart),
        why=_why_apart(was, now) if pairs.apart else None,
    ), pairs


def _both(before: float | None, after: float | None) -> tuple[float, float] | None:
    return None if before is None or after is None else (before, after)


def _change_of(loss: float, kinds: Collection[Change]) -> Change:
    if loss > 0 and Change.FELL in kinds:
        return Change.FELL
    if loss < 0 and Change.ROSE in kinds:
        return Change.ROSE
    return Change.SHIFTED if {*kinds} - {Change.UNCHANGED} else Change.UNCHANGED


def _why_apart(was: CaseState, now: CaseState) -> str:
    changed = changed_digests(was, now, ["document", "schema", "gold", "judge"])
    return f"{', '.join(changed)} changed" if changed else "its fields are not checked as they were before"


def _pattern_rows(cases: Sequence[CasePairs]) -> tuple[PatternComparison, ...]:
    """Return rows of all patterns, the worst change first; a gate only where it failed."""
    sides: defaultdict[str, list[tuple[int, Runs]]] = defaultdict(list)  # of each case: its fields, and their runs
    changes: defaultdict[str, list[Change]] = defaultdict(list)
    apart: defaultdict[str, set[Change]] = defaultdict(set)
    gates = {gate_label(name): 1 for name in STRUCTURAL_GATES}
    for pairs in cases:
        for pattern, kind in pairs.apart.items():
            apart[pattern].add(kind)
        failing = pairs.by_pattern()
        for pattern, size in ({**pairs.sizes, **gates} if pairs.fields else {}).items():
            sides[pattern].append((size, failing.get(pattern, _RIGHT)))
        for change in (*pairs.failing, *pairs.gates):
            changes[change.pattern].append(change.kind)
    rows = [
        PatternComparison(pattern=pattern, kind=min(kinds, key=_ORDER.index))
        for pattern, kinds in apart.items()
        if pattern not in sides
    ]
    for pattern, of_cases in sides.items():
        if pattern in gates and not changes[pattern]:
            continue
        means = Runs(*zip(*(runs.means for _, runs in of_cases), strict=True))
        before, after = means.means
        rows.append(
            PatternComparison(
                pattern=pattern,
                kind=_change_of(means.loss, changes[pattern]),
                cases=len(of_cases),
                fields=sum(size for size, _ in of_cases),
                rose=changes[pattern].count(Change.ROSE),
                fell=changes[pattern].count(Change.FELL),
                before=1 - before,
                after=1 - after,
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.after - row.before, _ORDER.index(row.kind), row.pattern)))


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
