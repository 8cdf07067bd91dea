"""Error rates and power of the regression gate, beside simpler rules: `python tests/benchmarks/gate_power.py`.

Simulated suites of known truth go through the gate itself (`regression.gate.decide`). Each line is a truth, with the share of suites
in % that every rule calls worse. `--suites` sets how many suites a line has, `--seed` the draws, `--part` one table only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from pytest_extract.core.stats.exact import mcnemar
from pytest_extract.core.stats.permutation import Runs
from pytest_extract.regression.changes import ArmComparison, CaseComparison, Change, Comparison, PatternComparison
from pytest_extract.regression.gate import Answer, decide
from pytest_extract.regression.multiple_testing import run_tests
from pytest_extract.regression.rules import Rules

RULES = Rules(permutations=2_000)
"""Fewer arrangements than the gate's own 10,000, for speed: two standard errors are added, so they find a little less."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How right and wrong answers are distributed when nothing changes.

    `rate`: mean pass rate of a field. `spread`: standard deviations on the logit of cases, of fields and of cells.
    `shared`: correlation of the fields of one answer. `whole`: share of answers that fail in every field.
    `fixed`: share of cells that always come out as the first run does.
    """

    rate: float = 0.9
    spread: tuple[float, float, float] = (0.0, 0.0, 0.0)
    shared: float = 0.0
    whole: float = 0.0
    fixed: float = 0.0


KINDS = {
    "independent": Kind(),
    "coin toss": Kind(rate=0.5),
    "correlated": Kind(shared=0.5),
    "hard and easy cases": Kind(spread=(1.5, 1.0, 1.0), shared=0.2),
    "ties": Kind(spread=(1.5, 1.0, 1.0), fixed=0.93),
    "few errors": Kind(rate=0.99),
    "whole failures": Kind(rate=0.97, whole=0.1),
    "mixture": Kind(spread=(1.5, 1.0, 1.0), shared=0.3, whole=0.04),
}


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What the change does: the mean falls by `drop`, one field by `field`, a tenth of the cases fails, ..."""

    drop: float = 0.0
    field: float = 0.0
    dead: bool = False
    whole: float = 0.0
    half: bool = False


NOTHING = Effect()
EFFECTS = {
    "-2 points": Effect(drop=0.02),
    "-5 points": Effect(drop=0.05),
    "-10 points": Effect(drop=0.10),
    "one field -30": Effect(field=0.30),
    "document type dead": Effect(dead=True),
    "+5 % whole failures": Effect(whole=0.05),
}


@dataclass(slots=True)
class Suites:
    """Draws suites: arrays of passed fields, (runs, cases, fields), before and after."""

    source: np.random.Generator

    def draw(
        self, kind: Kind, effect: Effect, cases: int, fields: int, runs: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return both sides of one suite."""
        chance = self._chances(kind, cases, fields)
        later = chance.copy()
        if effect.drop:
            later *= max(0.0, 1 - effect.drop / later.mean())
        later[:, 0] = np.maximum(0, later[:, 0] - effect.field)
        first = self.source.random((cases, fields)) < chance
        always = self.source.random((cases, fields)) < kind.fixed
        before = self._answers(kind, chance, runs[0], kind.whole)
        after = self._answers(kind, later, runs[1], kind.whole + effect.whole)
        before, after = (
            np.where(always, first, before),
            np.where(always & ~_touched(effect, cases, fields), first, after),
        )
        if effect.dead:
            after[:, : max(1, cases // 10)] = False
        return before, after

    def _chances(self, kind: Kind, cases: int, fields: int) -> np.ndarray:
        case, column, cell = kind.spread
        if not any(kind.spread):
            return np.full((cases, fields), kind.rate)
        noise = (
            self.source.normal(0, case, (cases, 1))
            + self.source.normal(0, column, (1, fields))
            + self.source.normal(0, cell, (cases, fields))
        )
        return 1 / (1 + np.exp(-(3.3 + noise)))  # about 89 % on average

    def _answers(self, kind: Kind, chance: np.ndarray, runs: int, whole: float) -> np.ndarray:
        shape = (runs, *chance.shape)
        latent = np.sqrt(1 - kind.shared) * self.source.normal(size=shape)
        latent += np.sqrt(kind.shared) * self.source.normal(size=(runs, chance.shape[0], 1))
        passed = latent < _quantiles(chance)
        return passed & ~(self.source.random((runs, chance.shape[0], 1)) < whole)


def _touched(effect: Effect, cases: int, fields: int) -> np.ndarray:
    """Return the cells that no longer always come out alike."""
    touched = np.full((cases, fields), bool(effect.drop or effect.whole))
    touched[:, 0] |= bool(effect.field)
    return touched


def _quantiles(chance: np.ndarray) -> np.ndarray:
    from scipy.stats import norm

    return norm.ppf(chance)


def comparison_of(before: np.ndarray, after: np.ndarray) -> Comparison:
    """Make the comparison that the gate would make of two runs with these fields."""
    rows = [_case_row(number, ~before[:, number], ~after[:, number]) for number in range(before.shape[1])]
    patterns = [
        PatternComparison(
            pattern=f"f{column}",
            kind=Change.SHIFTED,
            cases=len(rows),
            fields=len(rows),
            before=float(before[:, :, column].mean()),
            after=float(after[:, :, column].mean()),
        )
        for column in range(before.shape[2])
    ]
    return Comparison(
        arms=(ArmComparison(before="", after="", cases=tuple(rows), patterns=tuple(patterns), fields=()),)
    )


def _case_row(number: int, before: np.ndarray, after: np.ndarray) -> CaseComparison:
    wrong, fields = (before.sum(1).tolist(), after.sum(1).tolist()), before.shape[1]
    overall = Runs(*(tuple(Fraction(count, fields) for count in side) for side in wrong))
    whole = tuple(tuple(count == fields and fields >= 3 for count in side) for side in wrong)
    left = [
        v
        for side, out in zip((overall.before, overall.after), whole, strict=True)
        for v, o in zip(side, out, strict=True)
        if not o
    ]
    mean = sum(left) / len(left) if left else None
    complete = (
        None
        if mean is None
        else Runs(
            *(
                tuple(mean if o else v for v, o in zip(side, out, strict=True))
                for side, out in zip((overall.before, overall.after), whole, strict=True)
            )
        )
    )
    varying = np.flatnonzero((np.concatenate([before, after]) != before[0]).any(0))
    by_pattern = {
        f"f{column}": Runs(tuple(map(int, before[:, column])), tuple(map(int, after[:, column])))
        for column in varying.tolist()
    }
    rates = [1 - Fraction(sum(side), len(side) * fields) for side in wrong]
    return CaseComparison(
        case=f"s::{number}",
        kind=Change.SHIFTED if len(varying) else Change.UNCHANGED,
        fields=fields,
        before=rates[0],
        after=rates[1],
        runs=(len(before), len(after)),
        runs_overall=overall,
        runs_by_pattern=by_pattern,
        runs_complete=complete,
        failed_whole=(sum(whole[0]), sum(whole[1])),
    )


def gate(before: np.ndarray, after: np.ndarray) -> bool:
    """The tests of the gate: what `decide` calls worse without hard rules."""
    tests = run_tests(comparison_of(before, after), RULES).results
    return any(test.adjusted <= RULES.alpha and test.drop >= RULES.min_drop for test in tests)


def sign_test(before: np.ndarray, after: np.ndarray) -> bool:
    """Exact sign test over cases at 5 %."""
    change = after.mean((0, 2)) - before.mean((0, 2))
    return mcnemar(int((change < -1e-12).sum()), int((change > 1e-12).sum())) <= 0.05


def mean_threshold(before: np.ndarray, after: np.ndarray) -> bool:
    """The mean falls by more than two points."""
    return bool(before.mean() - after.mean() > 0.02)


def naive_mcnemar(before: np.ndarray, after: np.ndarray) -> bool:
    """McNemar's test over all fields of the first runs, as if they were independent."""
    return mcnemar(int((before[0] & ~after[0]).sum()), int((~before[0] & after[0]).sum())) <= 0.05


def case_permutation(source: np.random.Generator) -> Callable[[np.ndarray, np.ndarray], bool]:
    """Permutation test of the mean that swaps the sides of whole cases, at 5 %."""

    def test(before: np.ndarray, after: np.ndarray) -> bool:
        loss = before.mean((0, 2)) - after.mean((0, 2))
        signs = source.integers(0, 2, (999, len(loss))) * 2 - 1
        return bool((1 + (signs @ loss >= loss.sum() - 1e-12).sum()) / 1000 <= 0.05)

    return test


COLUMNS = ("gate", "sign test", "mean -2", "McNemar", "case perm.")


def rates(
    kind: Kind, effect: Effect, *, cases: int, fields: int, runs: tuple[int, int], suites: int, seed: int
) -> list[float]:
    """Return the share of suites that every rule calls worse, in %."""
    source = np.random.default_rng(seed)
    draw = Suites(source)
    rules = (gate, sign_test, mean_threshold, naive_mcnemar, case_permutation(source))
    found = np.zeros(len(rules))
    for _ in range(suites):
        before, after = draw.draw(kind, effect, cases, fields, runs)
        found += [rule(before, after) for rule in rules]
    return (100 * found / suites).tolist()


def not_worse(kind: Kind, effect: Effect, *, cases: int, suites: int, seed: int) -> tuple[float, float]:
    """Return how often, in %, the gate says not worse: without, and with assuming that no answer fails as a whole."""
    draw = Suites(np.random.default_rng(seed))
    plain = assumed = 0
    for _ in range(suites):
        decision = decide(comparison_of(*draw.draw(kind, effect, cases, 20, (1, 1))), Rules())
        if decision.answer is Answer.NOT_WORSE:
            assumed += decision.effects[0].assumed
            plain += not decision.effects[0].assumed
    return 100 * plain / suites, 100 * assumed / suites


def no_change(suites: int, seed: int, sizes: Sequence[tuple[int, int]]) -> None:
    """Print how often each rule says worse when nothing changed."""
    print("\n| no change | cases x fields | " + " | ".join(COLUMNS) + " |\n|---|---|" + "---:|" * len(COLUMNS))
    for name, kind in KINDS.items():
        every = np.zeros(len(COLUMNS))
        for cases, fields in sizes:
            found = rates(kind, NOTHING, cases=cases, fields=fields, runs=(1, 1), suites=suites, seed=seed)
            print(f"| {name} | {cases} x {fields} | " + " | ".join(f"{rate:.1f}" for rate in found) + " |", flush=True)
            every += found
        shares = " | ".join(f"{rate:.1f}" for rate in every / len(sizes))
        print(f"| {name} | all of these | {shares} |", flush=True)


def margin(suites: int, seed: int) -> None:
    """Print how often the gate says not worse of a fall of exactly the margin."""
    print("\n| a fall of 5 points | cases | PASS | PASS, assuming no whole failures |\n|---|---:|---:|---:|")
    falls = {
        "in all fields, independent": (Kind(rate=0.95), Effect(drop=0.05)),
        "in all fields, hard and easy cases": (KINDS["hard and easy cases"], Effect(drop=0.05)),
        "5 % whole failures, else perfect": (Kind(rate=1.0 - 1e-9), Effect(whole=0.05)),
        "5 % whole failures, else 97 %": (Kind(rate=0.97), Effect(whole=0.05)),
    }
    for name, (kind, effect) in falls.items():
        for cases in (20, 30, 50, 100):
            plain, assumed = not_worse(kind, effect, cases=cases, suites=suites, seed=seed)
            print(f"| {name} | {cases} | {plain:.1f} | {assumed:.1f} |", flush=True)


def power(suites: int, seed: int) -> None:
    """Print how often each rule finds a change."""
    print("\n| change | cases x fields | runs | " + " | ".join(COLUMNS) + " |\n|---|---|---|" + "---:|" * len(COLUMNS))
    for name, effect in EFFECTS.items():
        for cases, runs in ((20, (1, 1)), (50, (1, 1)), (50, (5, 1)), (50, (3, 3))):
            kind = KINDS["hard and easy cases"]
            found = rates(kind, effect, cases=cases, fields=20, runs=runs, suites=suites, seed=seed)
            sides = f"{runs[0]} v {runs[1]}"
            print(
                f"| {name} | {cases} x 20 | {sides} | " + " | ".join(f"{rate:.0f}" for rate in found) + " |", flush=True
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=300, help="suites a line (default 300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=("null", "margin", "power"))
    given = parser.parse_args(arguments)
    if given.part in (None, "null"):
        no_change(given.suites, given.seed, ((5, 3), (20, 20), (50, 20), (50, 100), (200, 20)))
    if given.part in (None, "margin"):
        margin(given.suites, given.seed)
    if given.part in (None, "power"):
        power(given.suites, given.seed)


if __name__ == "__main__":
    main()
