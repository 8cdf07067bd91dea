"""Error rates and power of the regression gate, beside simpler rules: `python tests/benchmarks/gate_power.py`.

Simulated suites of known truth go through the gate itself (`regression.gate.decide`). Each line is a truth, with the share of suites
in % that every rule calls worse. `--suites` sets how many suites a line has, `--seed` the draws, `--part` one table only.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from pytest_extract.core.stats import Runs, mcnemar
from pytest_extract.regression.baseline import resolution_of
from pytest_extract.regression.compare import CaseComparison, Change, Comparison, PatternComparison, VariantComparison
from pytest_extract.regression.facts import Rules, run_tests
from pytest_extract.regression.gate import (
    FIRST_SHARE,
    MOST_CONFIRMED,
    Answer,
    Spent,
    confirm,
    decide,
    decide_confirmed,
    may_have_fallen,
    plan_variant,
    rests_on_few,
)

RULES = Rules()
ANSWERS = (Answer.PASS, Answer.UNDECIDED, Answer.WORSE)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How right and wrong answers are distributed when nothing changes.

    `rate`: mean pass rate of a field. `spread`: standard deviations on the logit of cases, of fields and of cells.
    `shared`: correlation of the fields of one answer. `whole`: share of answers that fail in every field.
    `fixed`: share of cells that always come out as the first run does. `stuck`: share that is always wrong; `toss`: share
    that is a coin toss.
    """

    rate: float = 0.9
    spread: tuple[float, float, float] = (0.0, 0.0, 0.0)
    shared: float = 0.0
    whole: float = 0.0
    fixed: float = 0.0
    stuck: float = 0.0
    toss: float = 0.0


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
    every: bool = False


NOTHING = Effect()
EFFECTS = {
    "-2 points": Effect(drop=0.02),
    "-5 points": Effect(drop=0.05),
    "-10 points": Effect(drop=0.10),
    "one field -30": Effect(field=0.30),
    "document type dead": Effect(dead=True),
    "+5 % whole failures": Effect(whole=0.05),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is true of one suite: how probable every field is to be right before and now, (cases, fields)."""

    kind: Kind
    effect: Effect
    before: np.ndarray
    after: np.ndarray
    first: np.ndarray
    always: np.ndarray


@dataclass(slots=True)
class Suites:
    """Draws suites: arrays of passed fields, (runs, cases, fields), before and after."""

    source: np.random.Generator

    def truth(self, kind: Kind, effect: Effect, cases: int, fields: int) -> Truth:
        """Draw what is true of a suite."""
        chance = self._chances(kind, cases, fields)
        later = chance.copy()
        if effect.drop:
            later *= max(0.0, 1 - effect.drop / later.mean())
        later[:, 0] = np.maximum(0, later[:, 0] - effect.field)
        first = self.source.random((cases, fields)) < chance
        always = self.source.random((cases, fields)) < kind.fixed
        return Truth(kind=kind, effect=effect, before=chance, after=later, first=first, always=always)

    def runs(self, truth: Truth, before: int, after: int) -> tuple[np.ndarray, np.ndarray]:
        """Return so many runs of both sides; every call draws fresh ones."""
        kind, effect = truth.kind, truth.effect
        was = self._answers(kind, truth.before, before, kind.whole)
        now = self._answers(kind, truth.after, after, kind.whole + effect.whole)
        was = np.where(truth.always, truth.first, was)
        now = np.where(truth.always & ~_touched(effect, *truth.before.shape), truth.first, now)
        if effect.dead:
            now[:, : max(1, now.shape[1] // 10)] = False
        if effect.every:
            now[:] = False
        return was, now

    def draw(
        self, kind: Kind, effect: Effect, cases: int, fields: int, runs: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return both sides of one suite."""
        return self.runs(self.truth(kind, effect, cases, fields), *runs)

    def _chances(self, kind: Kind, cases: int, fields: int) -> np.ndarray:
        case, column, cell = kind.spread
        if not any(kind.spread):
            chance = np.full((cases, fields), kind.rate)
            chance[self.source.random((cases, fields)) < kind.toss] = 0.5
            chance[self.source.random((cases, fields)) < kind.stuck] = 0.0
            return chance
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


def comparison_of(before: np.ndarray, after: np.ndarray, numbers: Sequence[int] | None = None) -> Comparison:
    """Make the comparison that the gate would make of two runs with these fields; `numbers`: of these cases only."""
    numbers = range(before.shape[1]) if numbers is None else numbers
    before, after = before[:, numbers], after[:, numbers]
    rows = [_case_row(number, ~before[:, place], ~after[:, place]) for place, number in enumerate(numbers)]
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
        variants=(VariantComparison(before="", after="", cases=tuple(rows), patterns=tuple(patterns), fields=()),)
    )


def _case_row(number: int, before: np.ndarray, after: np.ndarray) -> CaseComparison:
    wrong, fields = (before.sum(1).tolist(), after.sum(1).tolist()), before.shape[1]
    overall = Runs(*(tuple(count / fields for count in side) for side in wrong))
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
    rates = [1 - sum(side) / (len(side) * fields) for side in wrong]
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
    return any(test.significant for test in tests)


Draw: TypeAlias = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
"""Draws so many fresh runs of both sides of a suite."""


Fall: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Takes runs and returns them with what a change does to them."""


def confirmed(draw: Draw, before: np.ndarray, after: np.ndarray) -> tuple[Answer, int]:
    """What the gate answers with `--extract-confirm`, and the calls of the confirmation.

    Where the earlier side has several runs, it is a baseline: all but the first of these stand for its fresh runs.
    """
    first = decide(comparison_of(before, after), RULES, level=RULES.alpha * FIRST_SHARE)
    effect = first.effects[0]
    if (first.answer is Answer.PASS and not may_have_fallen("", first)) or (
        first.answer is Answer.WORSE and not rests_on_few(first.tests, effect, RULES, MOST_CONFIRMED)
    ):
        return first.answer, 0
    held = len(before) - 1
    variant, tests = first.comparison.variants[0], first.tests
    if held:
        (variant,) = comparison_of(before[:1], after).variants
        tests = run_tests(Comparison(variants=(variant,)), RULES).results
    plan = plan_variant(
        variant, tests, RULES, most=MOST_CONFIRMED, held={row.case: held for row in variant.cases} if held else None
    )
    if isinstance(plan, str):
        return first.answer, 0
    was, now = draw(plan.runs, plan.runs)
    numbers = [int(case.removeprefix("s::")) for case in plan.cases]
    fresh = comparison_of(before[1:] if held else was, now, numbers)
    found = confirm(first.comparison, [plan], fresh, Spent(), RULES)
    return decide_confirmed(first, found).answer, plan.calls


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


COLUMNS = ("gate", "confirmed", "sign test", "mean -2", "McNemar", "case perm.")


def rates(
    kind: Kind, effect: Effect, *, cases: int, fields: int, runs: tuple[int, int], suites: int, seed: int
) -> tuple[list[float], float]:
    """Return the share of suites that every rule calls worse, in %, and the mean calls of a confirmation."""
    source = np.random.default_rng(seed)
    draw = Suites(source)
    rules = (sign_test, mean_threshold, naive_mcnemar, case_permutation(source))
    found, calls = np.zeros(len(COLUMNS)), 0
    for _ in range(suites):
        truth = draw.truth(kind, effect, cases, fields)
        before, after = draw.runs(truth, *runs)
        answer, made = confirmed(partial(draw.runs, truth), before, after)
        found += [gate(before, after), answer is Answer.WORSE, *(rule(before, after) for rule in rules)]
        calls += made
    return (100 * found / suites).tolist(), calls / suites


def no_change(suites: int, seed: int, sizes: Sequence[tuple[int, int]]) -> None:
    """Print how often each rule says worse when nothing changed, over all sizes."""
    print("\n| no change | " + " | ".join(COLUMNS) + " |\n|---|" + "---:|" * len(COLUMNS), flush=True)
    for name, kind in KINDS.items():
        every = np.zeros(len(COLUMNS))
        for cases, fields in sizes:
            found, _ = rates(kind, NOTHING, cases=cases, fields=fields, runs=(1, 1), suites=suites, seed=seed)
            every += found
        shares = " | ".join(f"{rate:.1f}" for rate in every / len(sizes))
        print(f"| {name} | {shares} |", flush=True)


def power(suites: int, seed: int) -> None:
    """Print how often each rule finds a change, and the mean calls of the confirmation."""
    heads = " | ".join((*COLUMNS, "calls"))
    print(f"\n| change | cases x fields | runs | {heads} |\n|---|---|---|" + "---:|" * (len(COLUMNS) + 1))
    for name, effect in EFFECTS.items():
        for runs in ((1, 1), (5, 1), (3, 3)):
            kind = KINDS["hard and easy cases"]
            found, calls = rates(kind, effect, cases=50, fields=20, runs=runs, suites=suites, seed=seed)
            cells = " | ".join(f"{rate:.0f}" for rate in (*found, calls))
            print(f"| {name} | 50 x 20 | {runs[0]} v {runs[1]} | {cells} |", flush=True)


SUITES = {
    "no noise": Kind(rate=1.0),
    "5 % always wrong, 1 % differ": Kind(rate=1.0, stuck=0.05, toss=0.02),
    "2 % wrong by chance": Kind(rate=0.98),
    "5 % wrong by chance": Kind(rate=0.95),
    "1 % of answers fail": Kind(rate=1.0, stuck=0.05, toss=0.02, whole=0.01),
}
FALLS = ("none", "half of the stated", "as stated", "twice the stated", "one field dead", "type dead", "all dead")
FIELDS = 10


def stated(before: np.ndarray) -> float:
    """Return the smallest fall of the mean that a suite is said to show, by the runs of its baseline."""
    wrong = ~before
    names = [f"f{column}" for column in range(wrong.shape[2])]
    found = resolution_of(
        "",
        [tuple(side) for side in wrong.mean(2).T.tolist()],
        [
            {name: tuple(map(int, case[:, column])) for column, name in enumerate(names) if case[:, column].any()}
            for case in wrong.transpose(1, 0, 2)
        ],
        fields=wrong.shape[2],
        patterns=len(names),
        alpha=RULES.alpha,
    )
    return found.now.mean or 1.0


def fall_of(fall: str, smallest: float, truth: Truth, source: np.random.Generator) -> Fall:
    """Return a fall of later runs: the same fields of the same cases in every run.

    `smallest`: the fall of the mean that the suite is said to show.
    """
    cases, fields = truth.before.shape
    sizes = {"half of the stated": 0.5, "as stated": 1.0, "twice the stated": 2.0}
    lost = source.random((cases, fields)) < min(1.0, sizes.get(fall, 0.0) * smallest / truth.before.mean())
    lost[:, 0] |= fall == "one field dead"
    lost[: max(2, cases // 10)] |= fall == "type dead"
    lost |= fall == "all dead"
    return lambda runs: runs & ~lost


def answers(kind: Kind, fall: str, *, cases: int, runs: int, suites: int, seed: int) -> tuple[Counter[str], float]:
    """Count the answers about suites of a kind, one later run against a baseline; the second is the mean stated fall."""
    draw = Suites(np.random.default_rng([seed, cases, runs]))
    found: Counter[str] = Counter()
    said = 0.0
    for _ in range(suites):
        truth = draw.truth(kind, NOTHING, cases, FIELDS)
        before, after = draw.runs(truth, runs, 1)
        said += (smallest := stated(before)) / suites
        fell = fall_of(fall, smallest, truth, draw.source)
        found[decide(comparison_of(before, fell(after)), RULES).answer] += 1
    return found, said


def every_answer(suites: int, seed: int, sizes: Sequence[int] = (10, 20, 50, 60, 100, 200)) -> None:
    """Print how often the gate gives each answer, for suites of several kinds and sizes, with and without a fall."""
    head = " | ".join(FALLS)
    print(f"\n| suite | cases | runs | stated | {head} |\n|---|---:|---|---:|" + "---|" * len(FALLS), flush=True)
    for name, kind in SUITES.items():
        for cases in sizes:
            for runs in (1, 3):
                cells = []
                for fall in FALLS:
                    found, said = answers(kind, fall, cases=cases, runs=runs, suites=suites, seed=seed)
                    cells.append("/".join(f"{100 * found[each] / suites:.0f}" for each in ANSWERS))
                stating = f"{100 * said:.1f}"
                print(f"| {name} | {cases} | {runs} v 1 | {stating} | {' | '.join(cells)} |", flush=True)


CONFIRMED_FALLS = ("none", "half of the stated", "as stated", "type dead")


def confirmed_answers(suites: int, seed: int, sizes: Sequence[int] = (20, 60)) -> None:
    """Print the answers of a gate that confirms, and the mean calls that it takes."""
    head = " | ".join(f"{fall} | calls" for fall in CONFIRMED_FALLS)
    print(f"\n| suite | cases | runs | {head} |\n|---|---:|---|" + "---|---:|" * len(CONFIRMED_FALLS), flush=True)
    for name, kind in SUITES.items():
        for cases in sizes:
            for runs in (1, 3):
                cells: list[str] = []
                for fall in CONFIRMED_FALLS:
                    found, calls = answers_confirmed(kind, fall, cases=cases, runs=runs, suites=suites, seed=seed)
                    cells.append("/".join(f"{100 * found[each] / suites:.0f}" for each in ANSWERS))
                    cells.append(f"{calls:.1f}")
                print(f"| {name} | {cases} | {runs} v 1 | {' | '.join(cells)} |", flush=True)


def answers_confirmed(
    kind: Kind, fall: str, *, cases: int, runs: int, suites: int, seed: int
) -> tuple[Counter[str], float]:
    """Count the answers about suites of a kind after a confirmation; the second is the mean number of its calls."""
    draw = Suites(np.random.default_rng([seed, cases, runs]))
    found: Counter[str] = Counter()
    made = 0
    for _ in range(suites):
        truth = draw.truth(kind, NOTHING, cases, FIELDS)
        before, after = draw.runs(truth, runs, 1)
        fell = fall_of(fall, stated(before), truth, draw.source)

        def fresh(earlier: int, later: int, truth: Truth = truth, fell: Fall = fell) -> tuple[np.ndarray, np.ndarray]:
            was, now = draw.runs(truth, earlier, later)
            return was, fell(now)

        answer, calls = confirmed(fresh, before, fell(after))
        found[answer] += 1
        made += calls
    return found, made / suites


KEPT = (1, 3, 5, 10)
PULL_REQUESTS = 20


def pull_requests(suites: int, seed: int, cases: int = 60) -> None:
    """Print the false alarms of twenty unchanged pull requests on one baseline, by the runs that it keeps."""
    print(
        "\n| suite | runs kept | WORSE a pull request | one or more of 20 | three or more of 20 |\n|---|---:|"
        + "---:|" * 3
    )
    for name, kind in SUITES.items():
        for kept in KEPT:
            draw = Suites(np.random.default_rng([seed, kept]))
            alarms = []
            for _ in range(suites):
                truth = draw.truth(kind, NOTHING, cases, FIELDS)
                before, later = draw.runs(truth, kept, PULL_REQUESTS)
                answers = [
                    decide(comparison_of(before, later[run : run + 1]), RULES).answer for run in range(PULL_REQUESTS)
                ]
                alarms.append(answers.count(Answer.WORSE))
            shares = (
                sum(alarms) / PULL_REQUESTS,
                sum(count >= 1 for count in alarms),
                sum(count >= 3 for count in alarms),
            )
            print(
                f"| {name} | {kept} | " + " | ".join(f"{100 * share / suites:.1f}" for share in shares) + " |",
                flush=True,
            )


TABLES = {
    "answers": "answers",
    "confirmed": "confirmed answers",
    "requests": "pull requests",
    "null": "no change",
    "power": "changes",
}
"""Parts of the report, and what the manual calls their tables."""
NOT_SHOWN = re.compile(r"\| [^|]+ \| (10|50|100) \| \d v 1 ")
"""Rows of the first table that are printed, and are not in the manual."""
MANUAL = Path(__file__).parents[2] / "pytest_extract/docs/statistics.md"


def write_into_manual(part: str, table: str, manual: Path = MANUAL) -> None:
    """Put a table in place of the one between the marks of its part."""
    text = manual.read_text(encoding="utf-8")
    if part == "answers":
        table = "\n".join(row for row in table.splitlines() if not NOT_SHOWN.match(row))
    begin, end = f"<!-- table: {TABLES[part]} -->\n", "<!-- end of table -->\n"
    head, _, rest = text.partition(begin)
    _, mark, tail = rest.partition(end)
    if not mark:
        raise SystemExit(f"{manual}: no place for the table {TABLES[part]!r}")
    manual.write_text(f"{head}{begin}{table.strip()}\n{end}{tail}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=300, help="suites a line (default 300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=TABLES, action="append", help="this table only; repeatable")
    parser.add_argument("--write", action="store_true", help="write the tables into the manual's page too")
    given = parser.parse_args(arguments)
    sizes = ((5, 3), (20, 20), (50, 20), (50, 100), (200, 20))
    make = {
        "answers": lambda: every_answer(given.suites, given.seed),
        "confirmed": lambda: confirmed_answers(given.suites, given.seed),
        "requests": lambda: pull_requests(given.suites, given.seed),
        "null": lambda: no_change(given.suites, given.seed, sizes),
        "power": lambda: power(given.suites, given.seed),
    }
    for part in given.part or TABLES:
        printed = io.StringIO()
        with contextlib.redirect_stdout(_Both(printed, sys.stdout)):
            make[part]()
        if given.write:
            write_into_manual(part, printed.getvalue())


class _Both(io.TextIOBase):
    """Writes to two files: a table is seen as it grows."""

    def __init__(self, *files: TextIO) -> None:
        self._files = files

    def write(self, text: str) -> int:
        for file in self._files:
            file.write(text)
            file.flush()
        return len(text)


if __name__ == "__main__":
    main()
