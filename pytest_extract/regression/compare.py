"""Compares two snapshots: every case and field pattern rose, fell, is unchanged, new or gone, with both values.

A pair is one field of one case on both sides. With another document, gold value or metric a field is no pair; nor is a
field of a case that an outage took away. Both are listed, never counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_extract.core.stats.runs import Runs
from pytest_extract.regression.changes import (
    CaseComparison,
    Change,
    Comparison,
    FieldChange,
    PatternComparison,
    RuleChange,
    VariantComparison,
)
from pytest_extract.regression.field_matching import CasePairs, Pair, changed_digests, gate_label, pair_case, same_setup
from pytest_extract.regression.snapshots import STRUCTURAL_GATES, CaseState, Snapshot

_ORDER: Final = tuple(Change)
_GATES: Final = tuple((gate_label(name), 1) for name in STRUCTURAL_GATES)
"""Patterns of the structural gates, each with its size."""
_RIGHT: Final = Runs((0.0,), (0.0,))


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
