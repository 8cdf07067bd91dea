"""The pairs of one case: each field that both sides check in the same way, with its pass rate before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.results import NamedMistake
from pytest_extract.core.stats.runs import Runs, exact_share, mean_of_runs
from pytest_extract.core.values import MISSING, Json, Missing
from pytest_extract.regression.changes import Change
from pytest_extract.regression.snapshots import CaseState, FailingField, containers

_Verdicts: TypeAlias = Sequence[tuple[bool, ...]]
_VerdictsByContainer: TypeAlias = Mapping[str, _Verdicts]
"""Verdicts of the fields that failed inside each container."""


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
    def failed(self) -> tuple[Fraction, Fraction]:
        """Share of failed runs before and after."""
        return Fraction(self.before.count(False), len(self.before)), Fraction(self.after.count(False), len(self.after))

    @property
    def kind(self) -> Change:
        """The change: a flip is a change from more than half of the runs to half or fewer, or back."""
        failed_before, failed_after = self.before.count(False), self.after.count(False)
        if (2 * failed_before < len(self.before)) != (2 * failed_after < len(self.after)):
            return Change.REGRESSED if 2 * failed_after >= len(self.after) else Change.FIXED
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
        if not self.failing and not self.gates:
            return Runs((0,) * self.runs[0], (0,) * self.runs[1])
        return self._shares(self._failed_fields(), self.fields)

    def failed_whole(self) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Whether each run failed as a whole: a failed gate, or every field where there are at least three."""
        if not self.failing and not self.gates:
            return (False,) * self.runs[0], (False,) * self.runs[1]
        enough = self.fields >= _FEWEST_WHOLE
        before, after = (
            tuple(gated > 0 or (enough and failed == self.fields) for gated, failed in zip(*side, strict=True))
            for side in zip(self._failed(self.gates), self._failed(self.failing), strict=True)
        )
        return before, after

    def complete(self) -> Runs | None:
        """As `overall`, with the mean of the other runs in place of those that failed as a whole; None if all did."""
        overall, whole = self.overall(), self.failed_whole()
        left = [
            value
            for values, failed in zip((overall.before, overall.after), whole, strict=True)
            for value, out in zip(values, failed, strict=True)
            if not out
        ]
        if not left:
            return None
        mean = mean_of_runs(tuple(left))
        before, after = (
            tuple(mean if out else value for value, out in zip(values, failed, strict=True))
            for values, failed in zip((overall.before, overall.after), whole, strict=True)
        )
        return Runs(before, after)

    def by_pattern(self) -> dict[str, Runs]:
        """Share of wrong fields of each pattern and gate in each run, where two runs differ."""
        return {name: runs for name, runs in self.failing_patterns().items() if runs.varies}

    def failing_patterns(self) -> dict[str, Runs]:
        """Share of wrong fields of each pattern and gate in each run, where one failed."""
        grouped: dict[str, list[Pair]] = {}
        for pair in (*self.failing, *self.gates):
            grouped.setdefault(pair.pattern, []).append(pair)
        return {
            pattern: self._shares(self._failed(pairs), self.sizes.get(pattern, 1)) for pattern, pairs in grouped.items()
        }

    def _failed(self, pairs: Sequence[Pair]) -> list[list[int]]:
        """Return how many of the pairs failed in each run, before and after."""
        sides = [pair.before for pair in pairs], [pair.after for pair in pairs]
        return [
            [sum(not verdicts[run] for verdicts in side) for run in range(count)]
            for count, side in zip(self.runs, sides, strict=True)
        ]

    def _failed_fields(self) -> list[list[int]]:
        """As `_failed` of all fields; a gated run fails in each of them."""
        return [
            [self.fields if gated else failed for gated, failed in zip(*side, strict=True)]
            for side in zip(self._failed(self.gates), self._failed(self.failing), strict=True)
        ]

    def _shares(self, failed: Sequence[Sequence[int]], size: int) -> Runs:
        before, after = (tuple(exact_share(count, size) for count in side) for side in failed)
        return Runs(before, after)


def pair_case(was: CaseState, now: CaseState) -> CasePairs:
    """Pair the fields of a case that was scored on both sides.

    A field is a pair when metric and gold value are the same on both sides. A container that fails as a whole (a text
    where an object belongs) is one pair; the fields inside it, which only the other side has, do not count beside it.
    """
    sizes, apart = _comparable_patterns(was, now)
    paths = [
        path
        for path in sorted({*was.failing, *now.failing})
        if _pattern_of(path, was, now) in sizes and not _is_in_failed_container(path, was, now)
    ]
    for path in paths:
        if _failing_field_of(path, was, now).invented:
            sizes[_pattern_of(path, was, now)] += 1
    known = frozenset(now.known)
    left_out = [path for path in paths if _is_known(path, known) or _is_known(_pattern_of(path, was, now), known)]
    for path in left_out:
        sizes[_pattern_of(path, was, now)] -= 1
    known_paths = frozenset(left_out)
    inside = _by_container(was.failing), _by_container(now.failing)
    return CasePairs(
        runs=(was.runs, now.runs),
        sizes={pattern: count for pattern, count in sizes.items() if count > 0 and not _is_known(pattern, known)},
        failing=tuple(_field_pair(path, was, now, inside) for path in paths if path not in known_paths),
        gates=tuple(_gate_pair(name, was, now) for name in sorted({*was.gates, *now.gates})),
        apart=apart,
        known=tuple(left_out),
    )


def _is_known(place: str, known: frozenset[str]) -> bool:
    """Whether a known failure, a path or pattern, covers the place or a container of it."""
    return bool(known) and (place in known or not known.isdisjoint(containers(place)))


def _comparable_patterns(was: CaseState, now: CaseState) -> tuple[dict[str, int], dict[str, Change]]:
    """Fields that gold asks for, by comparable pattern; and the patterns that cannot be compared."""
    sizes: dict[str, int] = {}
    apart: dict[str, Change] = {}
    same_gold = same_digest(was, now, "gold")
    for pattern in sorted({*was.patterns, *now.patterns}):
        old, new = was.patterns.get(pattern), now.patterns.get(pattern)
        if old and new:
            same_metric = old.metric == new.metric or not (old.metric and new.metric)
            if same_metric and (same_gold or old.gold == new.gold):
                sizes[pattern] = min(old.of, new.of)
            else:
                apart[pattern] = Change.INCOMPARABLE
            continue
        only, other = (was, now) if old else (now, was)
        if _whole_container(pattern, only, other) or _only_invented(pattern, was, now):
            sizes[pattern] = only.patterns[pattern].of
        elif not any(_is_inside(pattern, entry.pattern) for entry in other.failing.values()):
            apart[pattern] = Change.GONE if old else Change.NEW
    return sizes, apart


def _whole_container(pattern: str, only: CaseState, other: CaseState) -> bool:
    """Whether one side failed here as a whole where the other has fields inside."""
    return any(entry.pattern == pattern for entry in only.failing.values()) and any(
        _is_inside(inner, pattern) for inner in other.patterns
    )


def _only_invented(pattern: str, was: CaseState, now: CaseState) -> bool:
    """Whether only one side has a value where gold has none; the other side was right."""
    shape = was.patterns.get(pattern) or now.patterns[pattern]
    return shape.of == 0 and not changed_digests(was, now, ["schema"])


def _is_inside(pattern: str, container: str) -> bool:
    return container in containers(pattern)


def _failing_field_of(path: str, was: CaseState, now: CaseState) -> FailingField:
    return now.failing.get(path) or was.failing[path]


def _pattern_of(path: str, was: CaseState, now: CaseState) -> str:
    return _failing_field_of(path, was, now).pattern


def _is_in_failed_container(path: str, was: CaseState, now: CaseState) -> bool:
    """Whether one side alone has this field because on the other its container failed as a whole."""
    if path in was.failing and path in now.failing:
        return False
    other = now if path in was.failing else was
    return any(place in other.failing for place in containers(path))


def _field_pair(
    path: str, was: CaseState, now: CaseState, inside: tuple[_VerdictsByContainer, _VerdictsByContainer]
) -> Pair:
    entry = _failing_field_of(path, was, now)
    values = [side.failing[path].value if path in side.failing else _right_value(entry) for side in (was, now)]
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


def _right_value(entry: FailingField) -> Json | Missing:
    """Return the value of the side that passed: gold, or nothing where nothing was wanted."""
    return MISSING if entry.invented else entry.gold


def _by_container(failing: Mapping[str, FailingField]) -> _VerdictsByContainer:
    inside: dict[str, list[tuple[bool, ...]]] = {}
    for path, entry in failing.items():
        for place in containers(path):
            inside.setdefault(place, []).append(entry.runs)
    return inside


def _verdicts(path: str, side: CaseState, inside: _VerdictsByContainer) -> tuple[bool, ...]:
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
    return was.arm == now.arm and known and all(same_digest(was, now, name) for name in names)
