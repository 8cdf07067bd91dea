"""Equal rows paired first: proved best, or given back. Checked against solving everything."""

from __future__ import annotations

import random

import pytest

from pytest_extract.core.matching import fit as fitting
from pytest_extract.core.matching import proof, solve
from pytest_extract.core.matching.columns import Column
from pytest_extract.core.matching.encoding import encode_problem
from pytest_extract.core.matching.fit import fit
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.base import BoundMetric, with_defaults


def metric(name):
    return METRICS[name].make(with_defaults({}, METRICS[name].params), "ours")


# the words are near each other in chains, so that equal rows are often worth more apart
WORDS = ["ab", "aba", "ba", "bab", "abab", "xy", "xyz", "yz"]
KINDS = {"fuzzy": (metric("fuzzy"), WORDS), "number": (metric("number_tolerance"), [1, 1.0005, 1.001, 1.0015, 2])}
STEPS = BoundMetric(name="steps", compare=lambda a, b: max(0.0, 1 - abs(len(a) - len(b)) / 2))


def random_problem(rng, objective, size=25):
    kinds = [rng.choice(sorted(KINDS)) for _ in range(rng.randint(1, 3))]
    gold = [[rng.choice(KINDS[kind][1]) for kind in kinds] for _ in range(size)]
    extracted = [list(row) for row in rng.sample(gold, size - 2)]
    for row in extracted[: rng.randint(1, 4)]:
        at = rng.randrange(len(kinds))
        row[at] = rng.choice(KINDS[kinds[at]][1])
    extracted += [[rng.choice(KINDS[kind][1]) for kind in kinds] for _ in range(rng.randint(0, 4))]
    columns = [
        Column(gold=[g[at] for g in gold], extracted=[e[at] for e in extracted], metric=KINDS[kind][0])
        for at, kind in enumerate(kinds)
    ]
    return encode_problem(columns, len(gold), len(extracted), objective)


def total(problem, pairs):
    return sum(fitting.score_of(problem, i, j) for i, j in pairs)


@pytest.mark.parametrize("objective", ["mean", "f1"])
@pytest.mark.parametrize("numpy", [False, True], ids=["plain", "numpy"])
def test_proved_pairs_are_as_good_as_solving_everything(objective, numpy, monkeypatch):
    if numpy:
        pytest.importorskip("numpy")
        monkeypatch.setattr(solve, "_NUMPY_PAYS_LOADED", 0)
    else:
        monkeypatch.setattr(solve, "installed", lambda package: False)
    monkeypatch.setattr(fitting, "PUBLISHED_LIMIT", 0)
    outcomes = []
    kept = proof.proved
    monkeypatch.setattr(fitting, "proved", lambda *args: outcomes.append(kept(*args)) or outcomes[-1])
    rng = random.Random(11)
    for _ in range(60):
        problem = random_problem(rng, objective)
        everything = solve.solve(problem, range(problem.height), range(problem.width), fitting.score_of)
        found = fit(problem, range(problem.height), range(problem.width))
        assert total(problem, found) == pytest.approx(total(problem, everything.pairs), abs=1e-9)
    assert any(pairs is None for pairs in outcomes)
    assert any(pairs is not None for pairs in outcomes)


def test_a_pair_that_pays_to_tear_apart_is_given_back_alone(monkeypatch):
    solved = []
    kept = proof.solve
    monkeypatch.setattr(
        proof,
        "solve",
        lambda problem, rows, columns, *args, **options: (
            solved.append((list(rows), list(columns))) or kept(problem, rows, columns, *args, **options)
        ),
    )
    gold = ["ab", "aba", *(f"other {n}" for n in range(10))]
    extracted = ["aba", "ba", *(f"other {n}" for n in range(10))]
    column = Column(gold=gold, extracted=extracted, metric=metric("fuzzy"))
    problem = encode_problem([column], 12, 12, "mean")
    found = fit(problem, range(12), range(12))
    assert found[:2] == [(0, 0), (1, 1)]
    assert solved == [([0], [1]), ([0, 1], [0, 1])]


@pytest.mark.parametrize(
    ("gold", "extracted"),
    [(["a", "bbbb"], ["bbbb", "cc", "dddd"]), (["a", "bbbb", "cc"], ["bbbb", "dddd"])],
    ids=["a column is left over", "a row is left over"],
)
def test_rows_left_over_count_as_nothing(gold, extracted):
    gold, extracted = gold + ["eeeeeeeee"] * 8, extracted + ["eeeeeeeee"] * 8
    problem = encode_problem([Column(gold=gold, extracted=extracted, metric=STEPS)], len(gold), len(extracted), "mean")
    everything = solve.solve(problem, range(len(gold)), range(len(extracted)), fitting.score_of)
    found = fit(problem, range(len(gold)), range(len(extracted)))
    assert total(problem, found) == pytest.approx(total(problem, everything.pairs))
