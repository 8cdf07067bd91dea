"""The pairs of one case: each field that both sides check in the same way, with its pass rate before and after."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.result_json import path_of
from pytest_extract.core.results import NamedMistake
from pytest_extract.core.stats.runs import Runs
from pytest_extract.core.values import MISSING, Json, Missing, at_or_below, places_around
from pytest_extract.regression.changes import Change
from pytest_extract.regression.snapshots import CaseState, FailingField


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
