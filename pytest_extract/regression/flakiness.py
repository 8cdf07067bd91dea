"""Flaky fields and pass^k: what repeats of a run tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_extract.core.case_result import CaseResult, Outcome, pass_hat_k
from pytest_extract.regression.snapshots import snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyField:
    """A field that passed in some runs and failed in others.

    `pass_twice`: probability that two runs in a row both pass (pass^2), estimated from the runs.
    """

    case: str
    variant: str
    path: str
    pattern: str
    runs: int
    passes: int

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


def flaky_fields(results: Iterable[CaseResult]) -> tuple[FlakyField, ...]:
    """Return the fields that passed in some repeats of their case and failed in others; the worst first."""
    fields = [
        FlakyField(
            case=key.case,
            variant=key.variant,
            path=path,
            pattern=entry.pattern,
            runs=len(entry.runs),
            passes=sum(entry.runs),
        )
        for key, state in snapshot(results).items()
        for path, entry in state.failing.items()
        if any(entry.runs)
    ]
    return tuple(sorted(fields, key=lambda field: (abs(2 * field.passes - field.runs), field.case, field.path)))
