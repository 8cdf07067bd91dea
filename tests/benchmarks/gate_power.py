"""Error rates and power of the regression gate, beside simpler rules: `python tests/benchmarks/gate_power.py`.

Simulated suites of known truth go through the gate itself (`regression.gate.decide`). Each line is a truth, with the share of suites
in % that every rule calls worse. `--suites` sets how many suites a line has, `--seed` the draws, `--part` one table only.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from pytest_extract.core.case_result import Spending
from pytest_extract.core.stats import Runs, mcnemar
from pytest_extract.regression.baseline import resolution_of
from pytest_extract.regression.compare import (
    CaseComparison,
    CasePairs,
    Change,
    Comparison,
    FieldChange,
    PatternComparison,
    VariantComparison,
)
from pytest_extract.regression.facts import Rules, run_tests
from pytest_extract.regression.gate import (
    FIRST_SHARE,
    MOST_CONFIRMED,
    Answer,
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


Sides: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Passed fields before and after, (runs, cases, fields)."""


@dataclass(slots=True)
class Suites:
    """Draws suites."""

    source: np.random.Generator

    def truth(self, kind: Kind, effect: Effect, cases: int, fields: int) -> Truth:
        """Draw what is true of a suite."""
        shape, source = (cases, fields), self.source
        if any(kind.spread):
            noise = [
                source.normal(0, spread, size)
                for spread, size in zip(kind.spread, ((cases, 1), (1, fields), shape), strict=True)
            ]
            chance = 1 / (1 + np.exp(-(3.3 + sum(noise))))  # about 89 % on average
        else:
            chance = np.full(shape, kind.rate)
            chance[source.random(shape) < kind.toss] = 0.5
            chance[source.random(shape) < kind.stuck] = 0.0
        later = chance.copy()
        if effect.drop:
            later *= max(0.0, 1 - effect.drop / later.mean())
        later[:, 0] = np.maximum(0, later[:, 0] - effect.field)
        first, always = source.random(shape) < chance, source.random(shape) < kind.fixed
        return Truth(kind=kind, effect=effect, before=chance, after=later, first=first, always=always)

    def runs(self, truth: Truth, before: int, after: int) -> Sides:
        """Return so many runs of both sides; every call draws fresh ones."""
        kind, effect = truth.kind, truth.effect
        was = self._answers(kind, truth.before, before, kind.whole)
        now = self._answers(kind, truth.after, after, kind.whole + effect.whole)
        untouched = truth.always & (not (effect.drop or effect.whole))
        untouched[:, 0] &= not effect.field
        was, now = np.where(truth.always, truth.first, was), np.where(untouched, truth.first, now)
        if effect.dead:
            now[:, : max(1, now.shape[1] // 10)] = False
        return was, now

    def _answers(self, kind: Kind, chance: np.ndarray, runs: int, whole: float) -> np.ndarray:
        from scipy.stats import norm

        latent = np.sqrt(1 - kind.shared) * self.source.normal(size=(runs, *chance.shape))
        latent += np.sqrt(kind.shared) * self.source.normal(size=(runs, chance.shape[0], 1))
        failed = self.source.random((runs, chance.shape[0], 1)) < whole
        return (latent < norm.ppf(chance)) & ~failed


def comparison_of(before: np.ndarray, after: np.ndarray, numbers: Sequence[int] | None = None) -> Comparison:
    """Make the comparison that the gate would make of two runs with these fields; `numbers`: of these cases only."""
    numbers = range(before.shape[1]) if numbers is None else numbers
    before, after = before[:, numbers], after[:, numbers]
    rows = tuple(_case_row(number, ~before[:, place], ~after[:, place]) for place, number in enumerate(numbers))
    patterns = tuple(
        PatternComparison(
            pattern=f"f{column}", kind=Change.SHIFTED, cases=len(rows), fields=len(rows),
            before=float(before[:, :, column].mean()), after=float(after[:, :, column].mean()),
        )
        for column in range(before.shape[2])
    )  # fmt: skip
    return Comparison(variants=(VariantComparison(before="", after="", cases=rows, patterns=patterns, fields=()),))


def _case_row(number: int, before: np.ndarray, after: np.ndarray) -> CaseComparison:
    sides, fields = (before, after), before.shape[1]
    shares = [side.mean(1) for side in sides]
    whole = [(share == 1) & (fields >= 3) for share in shares]
    left = np.concatenate([share[~out] for share, out in zip(shares, whole, strict=True)])
    complete = (
        [np.where(out, left.mean(), share) for share, out in zip(shares, whole, strict=True)] if len(left) else None
    )
    varying = np.flatnonzero((np.concatenate(sides) != before[0]).any(0)).tolist()
    return CaseComparison(
        case=f"s::{number}",
        kind=Change.SHIFTED if varying else Change.UNCHANGED,
        fields=fields,
        before=1 - float(shares[0].mean()),
        after=1 - float(shares[1].mean()),
        runs=(len(before), len(after)),
        runs_overall=_runs(shares),
        runs_by_pattern={f"f{column}": _runs([side[:, column].astype(int) for side in sides]) for column in varying},
        runs_complete=None if complete is None else _runs(complete),
        failed_whole=(int(whole[0].sum()), int(whole[1].sum())),
    )


def _runs(sides: Sequence[np.ndarray]) -> Runs:
    return Runs(*(tuple(side.tolist()) for side in sides))


def gate(before: np.ndarray, after: np.ndarray) -> bool:
    """The tests of the gate: what `decide` calls worse without hard rules."""
    tests = run_tests(comparison_of(before, after), RULES).results
    return any(test.significant for test in tests)


Draw: TypeAlias = Callable[[int, int], Sides]
"""Draws so many fresh runs of both sides of a suite."""


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
    if plan is None:
        return first.answer, 0
    was, now = draw(plan.runs, plan.runs)
    numbers = [int(case.removeprefix("s::")) for case in plan.cases]
    fresh = comparison_of(before[1:] if held else was, now, numbers)
    found = confirm(first.comparison, [plan], fresh, Spending(), RULES)
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


def head(*cells: str, texts: int = 1) -> str:
    """Return the head of a table whose first columns are texts."""
    return f"{row(*cells)}\n|" + "---|" * texts + "---:|" * (len(cells) - texts)


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def no_change(suites: int, seed: int, sizes: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Tell how often each rule says worse when nothing changed, over all sizes."""
    yield head("no change", *COLUMNS)
    for name, kind in KINDS.items():
        how = {"runs": (1, 1), "suites": suites, "seed": seed}
        of_sizes = [rates(kind, NOTHING, cases=cases, fields=fields, **how)[0] for cases, fields in sizes]
        yield row(name, *(f"{rate:.1f}" for rate in np.mean(of_sizes, axis=0)))


def power(suites: int, seed: int) -> Iterator[str]:
    """Tell how often each rule finds a change, and the mean calls of the confirmation."""
    yield head("change", "cases x fields", "runs", *COLUMNS, "calls", texts=3)
    kind = KINDS["hard and easy cases"]
    for (name, effect), runs in product(EFFECTS.items(), ((1, 1), (5, 1), (3, 3))):
        found, calls = rates(kind, effect, cases=50, fields=20, runs=runs, suites=suites, seed=seed)
        yield row(name, "50 x 20", f"{runs[0]} v {runs[1]}", *(f"{rate:.0f}" for rate in (*found, calls)))


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
    sizes = {f"f{place}": 1 for place in range(before.shape[2])}

    def pairs(case: list[list[bool]]) -> CasePairs:
        failing = [
            FieldChange(case="", path=name, pattern=name, kind=Change.UNCHANGED, before=0, after=0, runs=(runs, runs))
            for name, runs in zip(sizes, map(tuple, case), strict=True)
            if not all(runs)
        ]
        return CasePairs(runs=(len(before),) * 2, sizes=sizes, failing=tuple(failing))

    cases = [*map(pairs, before.transpose(1, 2, 0).tolist())]
    return resolution_of("", cases, RULES.alpha).now.mean or 1.0


def fall_of(
    fall: str, smallest: float, truth: Truth, source: np.random.Generator
) -> Callable[[np.ndarray], np.ndarray]:
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


def answers(
    kind: Kind, fall: str, *, cases: int, runs: int, suites: int, seed: int, confirming: bool = False
) -> tuple[str, float, float]:
    """Return the shares of the answers about suites of a kind, one later run against a baseline.

    And the mean fall that they state, and the mean calls of a confirmation, where there is one.
    """
    draw = Suites(np.random.default_rng([seed, cases, runs]))
    found: Counter[str] = Counter()
    said, made = 0.0, 0
    for _ in range(suites):
        truth = draw.truth(kind, NOTHING, cases, FIELDS)
        before, after = draw.runs(truth, runs, 1)
        said += (smallest := stated(before)) / suites
        fell = fall_of(fall, smallest, truth, draw.source)

        def fresh(earlier: int, later: int, truth: Truth = truth, fell: Any = fell) -> Sides:
            was, now = draw.runs(truth, earlier, later)
            return was, fell(now)

        if confirming:
            answer, calls = confirmed(fresh, before, fell(after))
        else:
            answer, calls = decide(comparison_of(before, fell(after)), RULES).answer, 0
        found[answer] += 1
        made += calls
    return "/".join(f"{100 * found[each] / suites:.0f}" for each in ANSWERS), said, made / suites


def every_answer(suites: int, seed: int, sizes: Sequence[int] = (20, 60, 200)) -> Iterator[str]:
    """Tell how often the gate gives each answer, for suites of several kinds and sizes, with and without a fall."""
    yield head("suite", "cases", "runs", "stated", *FALLS, texts=1)
    for name, cases, runs in product(SUITES, sizes, (1, 3)):
        found = [answers(SUITES[name], fall, cases=cases, runs=runs, suites=suites, seed=seed) for fall in FALLS]
        yield row(name, cases, f"{runs} v 1", f"{100 * found[-1][1]:.1f}", *(each[0] for each in found))


CONFIRMED_FALLS = ("none", "half of the stated", "as stated", "type dead")


def confirmed_answers(suites: int, seed: int, sizes: Sequence[int] = (20, 60)) -> Iterator[str]:
    """Tell the answers of a gate that confirms, and the mean calls that it takes."""
    yield head("suite", "cases", "runs", *(cell for fall in CONFIRMED_FALLS for cell in (fall, "calls")))
    for name, cases, runs in product(SUITES, sizes, (1, 3)):
        how = {"cases": cases, "runs": runs, "suites": suites, "seed": seed, "confirming": True}
        found = [answers(SUITES[name], fall, **how) for fall in CONFIRMED_FALLS]
        yield row(
            name, cases, f"{runs} v 1", *(cell for shares, _, calls in found for cell in (shares, f"{calls:.1f}"))
        )


KEPT = (1, 3, 5, 10)
PULL_REQUESTS = 20


def pull_requests(suites: int, seed: int, cases: int = 60) -> Iterator[str]:
    """Tell the false alarms of twenty unchanged pull requests on one baseline, by the runs that it keeps."""
    yield head("suite", "runs kept", "WORSE a pull request", "one or more of 20", "three or more of 20")
    for name, kept in product(SUITES, KEPT):
        draw = Suites(np.random.default_rng([seed, kept]))
        alarms = []
        for _ in range(suites):
            truth = draw.truth(SUITES[name], NOTHING, cases, FIELDS)
            before, later = draw.runs(truth, kept, PULL_REQUESTS)
            found = [decide(comparison_of(before, later[run][None]), RULES).answer for run in range(PULL_REQUESTS)]
            alarms.append(found.count(Answer.WORSE))
        often = [sum(count >= least for count in alarms) for least in (1, 3)]
        yield row(name, kept, *(f"{100 * share / suites:.1f}" for share in (sum(alarms) / PULL_REQUESTS, *often)))


TABLES = {
    "answers": "answers",
    "confirmed": "confirmed answers",
    "requests": "pull requests",
    "null": "no change",
    "power": "changes",
}
"""Parts of the report, and what the manual calls their tables."""
MANUAL = Path(__file__).parents[2] / "pytest_extract/docs/statistics.md"


def write_into_manual(part: str, table: str, manual: Path = MANUAL) -> None:
    """Put a table in place of the one between the marks of its part."""
    text = manual.read_text(encoding="utf-8")
    begin, end = f"<!-- table: {TABLES[part]} -->\n", "<!-- end of table -->\n"
    head, _, rest = text.partition(begin)
    _, mark, tail = rest.partition(end)
    if not mark:
        raise SystemExit(f"{manual}: no place for the table {TABLES[part]!r}")
    manual.write_text(f"{head}{begin}{table}\n{end}{tail}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=300, help="suites a line (default 300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=TABLES, action="append", help="this table only; repeatable")
    parser.add_argument("--write", action="store_true", help="write the tables into the manual's page too")
    given = parser.parse_args(arguments)
    sizes = ((5, 3), (20, 20), (50, 20), (50, 100), (200, 20))
    makers: dict[str, Callable[[int, int], Iterator[str]]] = {
        "answers": every_answer,
        "confirmed": confirmed_answers,
        "requests": pull_requests,
        "null": partial(no_change, sizes=sizes),
        "power": power,
    }
    for part in given.part or TABLES:
        lines = []
        for line in makers[part](given.suites, given.seed):
            print(line, flush=True)
            lines.append(line)
        print()
        if given.write:
            write_into_manual(part, "\n".join(lines))


if __name__ == "__main__":
    main()
