"""A baseline: the snapshot of an accepted run in a small, sorted file whose diff a reviewer can read.

A field that passes is only counted; a field that fails is written with its value.
"""

from __future__ import annotations

import json
import math
import statistics
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.result_json import from_json, to_json
from pytest_extract.core.stats import Values
from pytest_extract.core.values import Json, Missing
from pytest_extract.errors import StoreError
from pytest_extract.files import MOST_BULK_BYTES, read_regular_text, write_atomic
from pytest_extract.regression.compare import CasePairs, Verdicts, changed_digests, pair_case
from pytest_extract.regression.facts import OVERALL_SHARE, SMALLEST_FALL, Rules
from pytest_extract.regression.snapshots import (
    CaseKey,
    CaseState,
    PatternState,
    Snapshot,
    counted_states,
    snapshot,
    value_text,
)

_LIKELY: Final = 0.8
MORE_CASES: Final = 20
MORE_RUNS: Final = 2
_STEPS: Final = 1 << 30  # a fall is a multiple of 1 over this
_NORMAL: Final = statistics.NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Falls:
    """The smallest falls of the mean and of one field that are found; None: not even the loss of everything."""

    mean: float | None
    field: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What the cases of one variant show, and what more of them, or more runs of each, would."""

    variant: str
    cases: int
    runs: int
    now: Falls
    more_cases: Falls
    more_runs: Falls


def resolutions(states: Snapshot, rules: Rules) -> list[Resolution]:
    """Return what each variant can show: the smallest fall that one later run is told to have in 8 of 10 comparisons.

    Normal approximations from the noise of the runs; `tests/benchmarks/gate_power.py` holds them against the gate.
    """
    by_variant: dict[str, list[CasePairs]] = {}
    for key, state in counted_states(states).items():
        if not state.lost and (pairs := pair_case(key.case, state, state)).fields:
            by_variant.setdefault(key.variant, []).append(pairs)
    return [resolution_of(variant, cases, rules.alpha) for variant, cases in sorted(by_variant.items())]


def resolution_of(variant: str, cases: Sequence[CasePairs], alpha: float) -> Resolution:
    """Return what the cases of a variant show, each paired with itself."""
    shares, by_pattern = [pairs.overall().before for pairs in cases], [pairs.by_pattern() for pairs in cases]
    failing = {name for found in by_pattern for name in found}
    runs, fields = min(map(len, shares)), sum(pairs.fields for pairs in cases) / len(cases)

    def noise_of(name: str) -> float:
        """Return the noise of a pattern, which is right in every run of a case where it never failed."""
        sides = [(found.get(name), pairs.runs[0]) for found, pairs in zip(by_pattern, cases, strict=True)]
        return _noise([(0.0,) * count if side is None else side.before for side, count in sides])

    mean_noise = _noise(shares)
    field_noise = math.fsum(map(noise_of, failing)) / len({name for pairs in cases for name in pairs.sizes})
    head, tail = alpha * OVERALL_SHARE, alpha * (1 - OVERALL_SHARE) / (len(failing) + 1)

    def falls(more_cases: int, more_runs: int) -> Falls:
        size = len(cases) + more_cases, runs + more_runs
        return Falls(
            mean=_smallest_fall(*size, level=head, noise=mean_noise, fields=fields),
            field=_smallest_fall(*size, level=tail, noise=field_noise, fields=1),
        )

    return Resolution(
        variant=variant,
        cases=len(cases),
        runs=runs,
        now=falls(0, 0),
        more_cases=falls(MORE_CASES, 0),
        more_runs=falls(0, MORE_RUNS),
    )


def _noise(shares: Sequence[Values]) -> float:
    """Return the variance from run to run of one case; of single runs that among cases, as if all of it were luck."""
    sides = [[*map(float, side)] for side in shares]
    repeated = [statistics.variance(side) for side in sides if len(side) > 1]
    return statistics.fmean(repeated) if repeated else statistics.pvariance([side[0] for side in sides])


def _smallest_fall(cases: int, runs: int, *, level: float, noise: float, fields: float) -> float | None:
    """Return the smallest fall of every field by as much that a test at `level` finds; None where it finds none."""
    fewest = math.log(1 / level) / math.log(runs + 1)  # cases that must fall for p to be so small
    likely = _NORMAL.inv_cdf(_LIKELY)
    reach = _NORMAL.inv_cdf(1 - level) + likely

    def found(fall: float) -> bool:
        error = math.sqrt((noise * (1 + 1 / runs) + fall * (1 - fall) / fields) / cases)
        touched = cases * (1 - (1 - fall) ** fields)
        clear = fall >= reach * error and fall - likely * error >= SMALLEST_FALL
        return clear and touched - likely * math.sqrt(touched * (1 - touched / cases)) >= fewest

    least = 1 + bisect_left(range(1, _STEPS + 1), x=True, key=lambda step: found(step / _STEPS))
    return least / _STEPS if least <= _STEPS else None


KIND: Final = "pytest-extract baseline"
VERSION: Final = 2
_LONGEST: Final = 400  # text of a value that is kept whole
_CUT: Final = 150  # what is left of a longer one; even with every character escaped it is not cut again
_DIGITS: Final = 16  # of a digest: enough to tell contents apart, short enough to read
_UNREAD: Final = frozenset({"rules"})  # what files of this version may have of a case, and nothing compares


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Accepted results: one state a case and variant."""

    cases: Mapping[CaseKey, CaseState]


def dump_baseline(baseline: Baseline) -> str:
    """Text of the file: sorted, a line for each pattern and each failing field, the same for the same results."""
    record: dict[str, Json] = {"kind": KIND, "version": VERSION, "cases": {}}
    for key, state in sorted(baseline.cases.items()):
        record["cases"].setdefault(key.case, {})[key.variant] = to_json(as_stored(state))
    return _sorted_json(record, 0) + "\n"


def load_baseline(text: str) -> Baseline:
    """Read what `dump_baseline` wrote. Raises StoreError, saying what to do, for anything else."""
    try:
        record = json.loads(text.removeprefix("\ufeff"))
        kind, version = record["kind"], record["version"]
        if (kind, version) != (KIND, VERSION):
            raise ValueError(f"kind {kind!r:.60}, version {version!r:.60}")  # noqa: TRY301
        cases = {
            CaseKey(case, variant): _read_state(entry)
            for case, variants in record["cases"].items()
            for variant, entry in variants.items()
        }
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"no baseline of version {VERSION}, or a damaged one ({type(error).__name__}: {error}); "
            "remove it and write it anew with --extract-update-baseline"
        ) from error
    return Baseline(cases=cases)


def updated_baseline(
    old: Baseline | None, run: Snapshot, *, gone: Iterable[str] = (), keep_runs: int | None = None
) -> Baseline:
    """Merge a run's results into a baseline: cases that were not run, or were lost, keep their entry.

    A single variant takes the place of a single one all of whose cases it has, as `match_variants` compares them.
    `gone`: cases (`file::id`) that no longer exist and are to be dropped. `keep_runs`: earlier runs of a case stay, the
    last ones up to this number in all; None: the run replaces them.
    """
    dropped = set(gone)
    cases = {key: state for key, state in (old.cases if old else {}).items() if key.case not in dropped}
    labels, old_labels = {key.variant for key in run}, {key.variant for key in cases}
    if len(labels) == len(old_labels) == 1 and {key.case for key in cases} <= {key.case for key in run}:
        cases = {CaseKey(key.case, *labels): state for key, state in cases.items()}
    for key, state in run.items():
        if not state.lost:
            earlier, now = cases.get(key), as_stored(state)
            if earlier is not None and keep_runs is not None:
                now = _with_earlier_runs(earlier, now, keep_runs, replayed=state.replayed)
            cases[key] = now
    return Baseline(cases=cases)


def _with_earlier_runs(earlier: CaseState, now: CaseState, keep: int, *, replayed: bool) -> CaseState:
    """Return the last `keep` runs of a case; those of now alone where variant, document, gold or metrics differ.

    A replay with unchanged inputs may be one of the earlier runs, and is no further one.
    """
    if replayed and earlier.variant == now.variant and earlier.digests == now.digests:
        return earlier
    differs = earlier.variant != now.variant or _asked(earlier) != _asked(now)
    if differs or changed_digests(earlier, now, ["document"]):
        return now

    def joined(was: Mapping[str, Verdicts], is_now: Mapping[str, Verdicts]) -> dict[str, Verdicts]:
        """Return passed or not in the runs of both, of what failed in any: what a side does not name passed there."""
        passed = (True,) * earlier.runs, (True,) * now.runs
        return {name: (*was.get(name, passed[0]), *is_now.get(name, passed[1])) for name in {**was, **is_now}}

    entries = {**earlier.failing, **now.failing}
    fields = joined(*({path: entry.runs for path, entry in side.failing.items()} for side in (earlier, now)))
    every = replace(
        now,
        runs=earlier.runs + now.runs,
        patterns={**earlier.patterns, **now.patterns},
        failing={path: replace(entries[path], runs=runs) for path, runs in fields.items()},
        gates=joined(earlier.gates, now.gates),
        builds=tuple(sorted({*earlier.builds, *now.builds})),
        measures={
            name: (*earlier.measures[name], *values)
            for name, values in now.measures.items()
            if name in earlier.measures
        },
    )
    return replace(every.with_runs(max(0, every.runs - keep), every.runs), errors=now.errors)


def _asked(state: CaseState) -> dict[str, PatternState]:
    """Return what gold asks for and how it is checked; patterns that only outputs have differ from run to run."""
    return {name: pattern for name, pattern in state.patterns.items() if pattern.of}


def as_stored(state: CaseState) -> CaseState:
    """Return a state as it reads back from the file: short digests, long values cut."""
    return replace(
        state,
        digests={name: digest[:_DIGITS] for name, digest in state.digests.items()},
        failing={
            path: replace(entry, gold=_shortened_value(entry.gold), value=_shortened_value(entry.value), mistake=None)
            for path, entry in state.failing.items()
        },
        known=(),
        slices={},
        replayed=False,
        other_code=False,
        why=None,
    )


def _read_state(record: Mapping[str, Json]) -> CaseState:
    """Read the state of a case. Raises ValueError if something has not a value for each run."""
    state: CaseState = from_json(CaseState, {name: value for name, value in record.items() if name not in _UNREAD})
    fields = (entry.runs for entry in state.failing.values())
    for values in (*state.measures.values(), *state.gates.values(), *fields):
        if len(values) != state.runs:
            raise ValueError(f"{len(values)} values for {state.runs} runs of {state.case_id}")
    return state


def _shortened_value(value: Json | Missing) -> Json | Missing:
    """Return the value itself, or the beginning of its text where that is long."""
    text = value_text(value)
    return value if len(text) <= _LONGEST else f"{text[:_CUT]}… ({len(text)} characters)"


def _sorted_json(value: Json, depth: int) -> str:
    """JSON with sorted keys, with each mapping of plain values on one line, so that a diff shows one fact a line."""
    has_inner = isinstance(value, Mapping) and (depth <= 2 or any(isinstance(item, Mapping) for item in value.values()))
    if not value or not has_inner:
        return json.dumps(value, sort_keys=True)
    pad = " " * (depth + 1)
    items = sorted(value.items()) if depth else value.items()  # the file begins with its kind and version
    rows = (f"{pad}{json.dumps(key)}: {_sorted_json(item, depth + 1)}" for key, item in items)
    return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"


CI: Final = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION")
_OFF: Final = frozenset({"", "0", "false", "no", "off"})


def read_baseline(path: Path) -> Baseline:
    """Read a baseline. Raises StoreError, with the path and what to do, where it is not there or damaged."""
    try:
        return load_baseline(read_regular_text(path, MOST_BULK_BYTES))
    except FileNotFoundError as error:
        raise StoreError(f"{path}: no such baseline; write one with --extract-update-baseline") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error


def in_ci(environment: Mapping[str, str]) -> bool:
    """Whether the environment is one of a CI service (`CI` and the like set, and not to `false`)."""
    return any(environment.get(name, "").lower() not in _OFF for name in CI)


def refusal(results: Collection[CaseResult], *, completed: bool) -> str | None:
    """Return why these results must not become the baseline, or None.

    `completed`: every selected case had its turn (not interrupted, no `-x`, no worker lost).
    """
    if not completed:
        return "the run did not complete, so its results are not a baseline"
    if not results:
        return "no case was run, so there is nothing to store"
    waiting = [result.nodeid for result in results if result.outcome is Outcome.NOT_RUN]
    if waiting:
        return f"{len(waiting)} of {len(results)} cases were not run (first: {waiting[0]}), so the run is not complete"
    if all(result.outcome is Outcome.ERROR for result in results):
        return "every case ended in error, so there is nothing to store"
    return None


def update_baseline(
    path: Path, results: Collection[CaseResult], *, gone: Iterable[str] = (), keep_runs: int | None = None
) -> Baseline:
    """Write the results into the baseline at `path` and return it; cases that were not selected keep their entry.

    `gone` and `keep_runs` as in `updated_baseline`. Raises StoreError where it cannot be written.
    """
    old = read_baseline(path) if path.exists() else None
    baseline = updated_baseline(old, snapshot(results), gone=gone, keep_runs=keep_runs)
    write_atomic(path, dump_baseline(baseline))
    return baseline
