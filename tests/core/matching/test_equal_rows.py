"""Equal rows paired first: proved best, or joined to the others. Checked against assigning all rows at once."""

from __future__ import annotations

import random
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.matching import fit as fitting
from pytest_extract.core.matching.assignment import best_assignment
from pytest_extract.core.matching.columns import Column
from pytest_extract.core.matching.encoding import encode_problem
from pytest_extract.core.matching.fit import Similarity, fit
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.base import BoundMetric, with_defaults
from pytest_extract.core.values import MISSING


def metric(name, semantics="ours"):
    return METRICS[name].make(with_defaults({}, METRICS[name].params), semantics)


# the words are near each other in chains, so that equal rows are often worth more apart
WORDS = ["ab", "aba", "ba", "bab", "abab", "xy", "xyz", "yz", MISSING]
KINDS = {
    "fuzzy": (metric("fuzzy"), WORDS),
    "difflib": (metric("string_fuzzy", "extract-bench"), WORDS),
    "number": (metric("number_tolerance"), [1, 1.0005, 1.001, 1.0015, 2, MISSING]),
}
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
    return sum(Similarity(problem).score(i, j) for i, j in pairs)


def everything(problem):
    """Return a best fit without equal rows paired first."""
    rows, columns = range(problem.height), range(problem.width)
    matrix = [[Similarity(problem).score(i, j) for j in columns] for i in rows]
    return [(i, j) for i, j in best_assignment(matrix).pairs if matrix[i][j] > 0]


@pytest.fixture(name="with_numpy", params=[False, True], ids=["plain", "numpy"])
def _with_numpy(request, monkeypatch):
    """Fit with numpy and without it, tables of any size alike."""
    if request.param:
        pytest.importorskip("numpy")
        monkeypatch.setattr(fitting, "_NUMPY_PAYS_LOADED", 0)
    else:
        monkeypatch.setattr(fitting, "installed", lambda package: False)
    monkeypatch.setattr(fitting, "PUBLISHED_LIMIT", 0)


@pytest.mark.usefixtures("with_numpy")
@pytest.mark.parametrize("objective", ["mean", "f1"])
def test_equal_rows_first_is_as_good_as_all_rows_at_once(objective, monkeypatch):
    sizes = []
    kept = fitting.assign_rows
    monkeypatch.setattr(
        fitting,
        "assign_rows",
        lambda similarity, rows, *args, **options: sizes.append(len(rows)) or kept(similarity, rows, *args, **options),
    )
    rng = random.Random(11)
    last = []
    for _ in range(60):
        problem = random_problem(rng, objective)
        assert total(problem, fit(Similarity(problem))) == pytest.approx(total(problem, everything(problem)), abs=1e-9)
        last.append(sizes[-1] == problem.height)
    assert any(last)
    assert not all(last)


def test_equal_rows_that_are_worth_more_apart_join_the_others_alone(monkeypatch):
    assigned = []
    kept = fitting.assign_rows
    monkeypatch.setattr(
        fitting,
        "assign_rows",
        lambda similarity, rows, columns, **options: (
            assigned.append((list(rows), list(columns))) or kept(similarity, rows, columns, **options)
        ),
    )
    gold = ["ab", "aba", *(f"other {n}" for n in range(10))]
    extracted = ["aba", "ba", *(f"other {n}" for n in range(10))]
    column = Column(gold=gold, extracted=extracted, metric=metric("fuzzy"))
    found = fit(Similarity(encode_problem([column], 12, 12, "mean")))
    assert found[:2] == [(0, 0), (1, 1)]
    assert assigned == [([0], [1]), ([0, 1], [0, 1])]


def keyed_problem(rng, objective, size=12):
    """Rows of words that are near each other in chains, beside keys: some come once, some are absent, or worth little."""
    count = rng.randint(1, 2)
    kinds = ["key"] * rng.randint(1, 2) + ["fuzzy"] * count

    def make_row():
        keys = [rng.choice([rng.randrange(1000), rng.randrange(4), MISSING]) for kind in kinds if kind == "key"]
        return [*keys, *rng.choices(WORDS, k=count)]

    gold = [make_row() for _ in range(size)]
    extracted = [list(row) for row in rng.sample(gold, size - rng.randint(0, 2))]
    for row in rng.sample(extracted, 3):
        at = rng.randrange(len(kinds))
        row[at] = rng.choice([*WORDS, row[at]]) if kinds[at] == "fuzzy" else rng.randrange(4)
    extracted += [make_row() for _ in range(rng.randint(0, 2))]
    columns = [
        Column(
            gold=[row[at] for row in gold],
            extracted=[row[at] for row in extracted],
            metric=metric("integer" if kind == "key" else "fuzzy"),
            weight=rng.choice([0.1, 0.3, 1 / 3, 1.0]) if kind == "key" else 1.0,
        )
        for at, kind in enumerate(kinds)
    ]
    return encode_problem(columns, len(gold), len(extracted), objective)


@pytest.mark.parametrize("objective", ["mean", "f1"])
def test_equal_rows_with_a_value_of_their_own_stay_together(objective, monkeypatch):
    monkeypatch.setattr(fitting, "PUBLISHED_LIMIT", 0)
    rng = random.Random(13)
    kept, others = 0, 0
    for _ in range(400):
        problem = keyed_problem(rng, objective)
        together, unsure = fitting._never_apart(problem, [*fitting._pair_equal_rows(Similarity(problem)).pairs])
        kept, others = kept + len(together), others + len(unsure)
        found = fit(Similarity(problem))
        assert {*together} <= {*found}
        assert total(problem, found) == pytest.approx(total(problem, everything(problem)), abs=1e-9)
    assert others
    assert bool(kept) is (objective == "mean")


@pytest.mark.parametrize(
    ("keys", "weight", "together", "found"),
    [
        ([[1, 2, 7], [2, 3, 7]], 0.3, [], [(0, 0), (1, 1), (2, 2)]),
        ([[1, 2, 7], [2, 3, 7]], 1 / 3, [(1, 0), (2, 2)], [(0, 1), (1, 0), (2, 2)]),
        ([[2, 2, 7], [2, 3, 7]], 1.0, [(2, 2)], [(0, 0), (1, 1), (2, 2)]),
    ],
    ids=["a light key", "a key as heavy as texts ask for", "a key that comes again"],
)
def test_keys_weigh_as_much_as_texts_break_the_triangle_inequality(keys, weight, together, found):
    columns = [
        Column(gold=["xy", "xyz", "abc"], extracted=["xyz", "yz", "abc"], metric=metric("fuzzy")),
        Column(gold=keys[0], extracted=keys[1], metric=metric("integer"), weight=weight),
        Column(gold=[0, 0, 0], extracted=[0, 0, 0], metric=metric("integer")),
    ]
    problem = encode_problem(columns, 3, 3, "mean")
    same = [(1, 0), (2, 2)]
    assert fitting._never_apart(problem, same) == (together, [pair for pair in same if pair not in together])
    assert fit(Similarity(problem)) == found


@pytest.mark.parametrize("name", ["fuzzy", "string_fuzzy"])
def test_edits_break_the_triangle_inequality_by_a_third_at_most(name):
    bound = metric(name)
    texts = ["".join(letters) for length in range(4) for letters in product("xyz", repeat=length)]
    loss = [[1 - bound.compare(one, other) for other in texts] for one in texts]
    most = max(
        loss[a][c] - loss[a][b] - loss[b][c] for a, b, c in product(range(len(texts)), repeat=3) if loss[a][b] < 1.0
    )
    assert most == pytest.approx(1 / 3)
    assert bound.detour == pytest.approx(most)


@pytest.mark.parametrize(
    ("gold", "extracted"),
    [(["a", "bbbb"], ["bbbb", "cc", "dddd"]), (["a", "bbbb", "cc"], ["bbbb", "dddd"])],
    ids=["a column is left over", "a row is left over"],
)
def test_rows_left_over_count_as_nothing(gold, extracted):
    gold, extracted = gold + ["eeeeeeeee"] * 8, extracted + ["eeeeeeeee"] * 8
    problem = encode_problem([Column(gold=gold, extracted=extracted, metric=STEPS)], len(gold), len(extracted), "mean")
    assert total(problem, fit(Similarity(problem))) == pytest.approx(total(problem, everything(problem)))


class Scores:
    """Scores of a matrix, with bounds above them; where limits are compared, the bounds are higher still."""

    def __init__(self, scores, bounds, looseness, *, searches, bounded):
        self.scores, self._bounds, self.looseness = scores, [list(row) for row in bounds], looseness
        self.searches, self.bounded = searches, bounded

    def bounds(self, rows, columns):
        return [[self._bounds[i][j] for j in columns] for i in rows]

    def reach(self, rows, columns, same):
        ours = [max([self._bounds[i][j] for _, j in same]) for i in rows]
        theirs = [max([self._bounds[i][j] for i, _ in same]) for j in columns]
        return [min(1.0, most + self.looseness) for most in ours], [min(1.0, most + self.looseness) for most in theirs]

    def make_exact(self, rows, columns, scores, pairs):
        lower = False
        for i, j in pairs:
            lower = lower or scores[i][j] > self.scores[rows[i]][columns[j]]
            scores[i][j] = self.scores[rows[i]][columns[j]]
        return lower

    def above(self, rows, columns, row_limits, column_limits):
        most = [[min(1.0, self._bounds[i][j] + self.looseness) for j in columns] for i in rows]
        return [
            (i, j)
            for i, limit in enumerate(row_limits)
            for j, other in enumerate(column_limits)
            if most[i][j] > limit + other + 1e-12
        ]


LEVELS = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(
    height=st.integers(1, 6),
    width=st.integers(1, 6),
    looseness=st.sampled_from([0.0, 0.25, 1.0]),
    few=st.booleans(),
    searches=st.booleans(),
    bounded=st.booleans(),
    cells=st.lists(st.tuples(LEVELS, LEVELS), min_size=36, max_size=36),
    equal=st.integers(0, 6),
)
def test_no_permutation_is_better_whatever_the_bounds(height, width, looseness, few, searches, bounded, cells, equal):
    # the lemmas ask nothing of the scores but that equal rows score 1 and that no bound is below its score
    scores = [[cells[6 * i + j][0] for j in range(width)] for i in range(height)]
    same = [(i, i) for i in range(min(equal, height, width))]
    for i, j in same:
        scores[i][j] = 1.0
    bounds = [[max(score, cells[6 * i + j][1]) for j, score in enumerate(row)] for i, row in enumerate(scores)]
    rows, columns = range(len(same), height), range(len(same), width)
    pairs = same
    if rows and columns:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fitting, "_FEW_CELLS", 20_000 if few else 0)
            patch.setattr(fitting, "_PAYS", 0.7 if few else 1.0)
            pairs = fitting.fit_rows(
                Scores(scores, bounds, looseness, searches=searches, bounded=bounded), same, rows, columns
            )
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    short = scores if height <= width else [list(column) for column in zip(*scores, strict=True)]
    best = max(
        sum(row[j] for row, j in zip(short, order, strict=True))
        for order in permutations(range(max(height, width)), min(height, width))
    )
    assert sum(scores[i][j] for i, j in pairs) == pytest.approx(best)


@pytest.mark.parametrize("numpy", [False, True], ids=["plain", "numpy"])
@given(rng=st.randoms(use_true_random=False), short=st.booleans())
def test_texts_that_are_searched_with_cutoffs_are_paired_as_when_all_are_compared(numpy, rng, short):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "_FEW_TEXTS", 0)
        patch.setattr(fitting, "_LONG_TEXT", 0)
        patch.setattr(fitting, "_NUMPY_PAYS_LOADED", 0)
        if not numpy:
            patch.setattr(fitting, "installed", lambda package: False)
        texts = ["".join(rng.choice("abc") for _ in range(rng.randint(1, 4 if short else 12))) for _ in range(16)]
        gold = rng.sample(texts, 10)
        extracted = [text if rng.random() < 0.6 else text[1:] + rng.choice("abx") for text in gold[:8]]
        extracted += rng.choices(texts, k=rng.randint(0, 4)) + rng.choices([None, 7, True, MISSING], k=2)
        problem = encode_problem(
            [Column(gold=gold, extracted=extracted, metric=metric("fuzzy"))], len(gold), len(extracted), "mean"
        )
        assert total(problem, fit(Similarity(problem))) == pytest.approx(total(problem, everything(problem)), abs=1e-9)


@pytest.mark.usefixtures("with_numpy")
@pytest.mark.parametrize("objective", ["mean", "f1"])
def test_what_rows_share_with_equal_rows_at_most_shows_as_much_as_a_look_at_all(objective, monkeypatch):
    monkeypatch.setattr(fitting, "_FEW_CELLS", 0)
    rng = random.Random(12)
    for _ in range(60):
        problem = random_problem(rng, objective)
        similarity = Similarity(problem)
        same, left, others = fitting._pair_equal_rows(similarity)
        ours, theirs = similarity.reach(left, others, same)
        for row, most in zip(left, ours, strict=True):
            assert max([similarity.score(row, j) for _, j in same]) <= most + 1e-12
        for row, most in zip(others, theirs, strict=True):
            assert max([similarity.score(i, row) for i, _ in same]) <= most + 1e-12
        found = total(problem, fit(Similarity(problem)))
        assert found == pytest.approx(total(problem, everything(problem)), abs=1e-9)
