"""Flaky fields, pass^k, and the A/A test: how often the gate raises a false alarm between runs of one configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.stats.repeats import pass_hat_k
from pytest_extract.regression.gate import Answer, evaluate_gate
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import CaseKey, CaseState, Snapshot, case_key, case_state, value_text

_UNLIKELY: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyField:
    """A field that passed in some runs and failed in others. `values`: how many different values it had at least.

    `pass_twice`: probability that two runs in a row both pass (pass^2), estimated from the runs.
    """

    case: str
    arm: str
    path: str
    pattern: str
    runs: int
    passes: int
    values: int

    @property
    def pass_twice(self) -> float:
        """pass^2."""
        return pass_hat_k(self.passes, self.runs, 2)


def suite_pass_hat_k(results: Iterable[CaseResult]) -> dict[int, float]:
    """Return pass^k of the suite for each k: the mean over cases of the probability that k runs in a row all pass.

    A run is a scored repeat; k goes up to the fewest that any scored case has, so that every k is over the same cases.
    Empty where nothing was scored. Repeats that stop early, once decided, bias it; `--extract-repeat` runs them all.
    Source: tau-bench (Yao et al. 2024), section 5.
    """
    counts: list[tuple[int, int]] = []
    for result in results:
        scored = [one.outcome for one in result.attempts if one.outcome in (Outcome.PASSED, Outcome.FAILED)]
        if scored:
            counts.append((scored.count(Outcome.PASSED), len(scored)))
    most = min((of for _passes, of in counts), default=0)
    return {k: sum(pass_hat_k(passes, of, k) for passes, of in counts) / len(counts) for k in range(1, most + 1)}


def repeat_snapshots(results: Iterable[CaseResult]) -> list[Snapshot]:
    """Split one run with repeats: the first attempts of all cases are the first run, and so on.

    A case with fewer attempts than others is missing from the later runs.
    """
    runs: list[dict[CaseKey, CaseState]] = []
    for result in results:
        for index in range(len(result.attempts)):
            if index == len(runs):
                runs.append({})
            runs[index][case_key(result)] = case_state(_single_attempt(result, index))
    return [*runs]


def _single_attempt(result: CaseResult, index: int) -> CaseResult:
    attempt = result.attempts[index]
    return replace(result, attempts=(attempt,), outcome=attempt.outcome, breaches=attempt.breaches, needed=1)


def flaky_fields(runs: Sequence[Snapshot]) -> tuple[FlakyField, ...]:
    """Return the fields that passed in some repeats of the runs and failed in others; the worst first."""
    places = {(key, path) for run in runs for key, state in run.items() for path in state.failing}
    fields = [field for key, path in places if (field := _flaky_field(runs, key, path)) is not None]
    return tuple(sorted(fields, key=lambda field: (abs(2 * field.passes - field.runs), field.case, field.path)))


def _flaky_field(runs: Sequence[Snapshot], key: CaseKey, path: str) -> FlakyField | None:
    """Return a field that failed somewhere, if it also passed somewhere."""
    verdicts: list[bool] = []
    values: set[str] = set()
    pattern = ""
    for run in runs:
        state = run.get(key)
        if state is None or state.lost:
            continue
        entry = state.failing.get(path)
        verdicts += entry.runs if entry else (True,) * state.runs
        if entry is None or any(entry.runs):
            values.add("gold")
        if entry is not None:
            pattern = entry.pattern
            values.add(value_text(entry.value))
    if all(verdicts) or not any(verdicts):
        return None
    return FlakyField(
        case=key.case,
        arm=key.arm,
        path=path,
        pattern=pattern,
        runs=len(verdicts),
        passes=sum(verdicts),
        values=len(values),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AATest:
    """Results of comparing runs of one configuration, in which every "worse" is a false alarm.

    Every run is compared with each other one in both directions: `comparisons`, of which `worse` and `cannot_tell`.
    Comparisons that share a run are no independent trials. `pairs`: disjoint pairs of runs (the first and the second,
    ...), of which `alarmed` had a false alarm in either direction. `flaky`: flaky fields, the worst first.
    """

    runs: int
    comparisons: int
    worse: int
    pairs: int
    alarmed: int
    cannot_tell: int
    alpha: float
    fields: int
    flaky: tuple[FlakyField, ...]
    reasons: tuple[str, ...]

    @property
    def rate(self) -> float:
        """Share of comparisons that answer "worse"; none of them has a true change."""
        return self.worse / self.comparisons

    @property
    def stated(self) -> float:
        """Highest rate of alarms of a pair: each of its directions may alarm at alpha."""
        return min(1.0, 2 * self.alpha)

    @property
    def most(self) -> float:
        """Upper bound, at 95 %, of the rate of pairs with a false alarm (Clopper and Pearson 1934)."""
        return upper_rate(self.alarmed, self.pairs)

    @property
    def surely_too_often(self) -> bool:
        """Whether so many alarmed pairs come up in at most one of twenty tests at the stated rate."""
        chance = sum(
            math.comb(self.pairs, count) * self.stated**count * (1 - self.stated) ** (self.pairs - count)
            for count in range(self.alarmed, self.pairs + 1)
        )
        return chance <= _UNLIKELY


def upper_rate(count: int, of: int, confidence: float = 0.95) -> float:
    """Return the largest rate at which `count` or fewer of `of` come up with a probability above 1 - confidence."""
    low, high = count / of, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        chance = sum(math.comb(of, each) * middle**each * (1 - middle) ** (of - each) for each in range(count + 1))
        low, high = (middle, high) if chance > 1 - confidence else (low, middle)
    return high


def aa_test(runs: Sequence[Snapshot], rules: Rules) -> AATest:
    """Compare each run with each other one, in both directions. Raises ValueError for fewer than two runs."""
    if len(runs) < 2:
        raise ValueError("an A/A test needs at least two runs")
    rules = replace(rules, ratchet_slack=None)
    places = list(permutations(range(len(runs)), 2))
    verdicts = {place: evaluate_gate(runs[place[0]], runs[place[1]], rules) for place in places}
    worse = {place for place, verdict in verdicts.items() if verdict.answer is Answer.WORSE}
    pairs = [(first, first + 1) for first in range(0, len(runs) - 1, 2)]
    return AATest(
        runs=len(runs),
        comparisons=len(places),
        worse=len(worse),
        pairs=len(pairs),
        alarmed=sum(pair in worse or pair[::-1] in worse for pair in pairs),
        cannot_tell=sum(verdict.answer is Answer.CANNOT_TELL for verdict in verdicts.values()),
        alpha=rules.alpha,
        fields=max(verdict.comparison.pairs for verdict in verdicts.values()),
        flaky=flaky_fields(runs),
        reasons=tuple(sorted({reason for place in worse for reason in verdicts[place].reasons})),
    )
