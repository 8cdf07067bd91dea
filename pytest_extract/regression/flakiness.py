"""Flaky fields and pass^k: what repeats of a run tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.stats.repeats import pass_hat_k
from pytest_extract.regression.snapshots import CaseKey, CaseState, Snapshot, case_key, case_state, value_text


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
