"""Best fit against brute force, with and without numpy, with and without equal rows paired first."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.matching import fit, similarity_numpy, similarity_pure
from pytest_extract.core.matching.columns import Column, Content, LeafColumn, PairScore
from pytest_extract.core.matching.encoding import encode_problem
from pytest_extract.core.matching.fit import best_fit
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.base import BoundMetric, with_defaults
from pytest_extract.core.values import MISSING


def metric(name, semantics="ours", **params):
    return METRICS[name].make(with_defaults(params, METRICS[name].params), semantics)


def overlap(gold, extracted):
    """A nested value: a list of numbers compared in order."""
    ours = [] if gold is MISSING else gold
    theirs = [] if extracted is MISSING else extracted
    common = min(len(ours), len(theirs))
    hits = sum(one == other for one, other in zip(ours, theirs, strict=False))
    return PairScore(hits, common, len(ours) - common, len(theirs) - common)


NEVER_ITSELF = BoundMetric(name="never", compare=lambda gold, extracted: 0.5, reflexive=False)
TEXTS = st.sampled_from(["ab", "aba", "ba", "b a", "xy", "", 1, True])
ORDERS = st.sampled_from(["abab", "baab", "bbaa", "aabb", "abxab", "", 1])
NUMBERS = st.sampled_from([1, 1.0, 2, 1.0005, 1.001, 1.0015, True, "n/a"])
LISTS = st.lists(st.integers(0, 2), max_size=3)
KINDS = {
    "text": (metric("text"), TEXTS),
    "fuzzy": (metric("fuzzy"), TEXTS),
    "difflib": (metric("string_fuzzy", "extract-bench"), ORDERS),
    "number": (metric("number"), NUMBERS),
    "tolerance": (metric("number_tolerance", tolerance=0.001), NUMBERS),
    "custom": (BoundMetric(name="custom", compare=lambda a, b: 1.0 if a == b else 0.25), TEXTS),
    "never": (NEVER_ITSELF, TEXTS),
    "nested": (None, LISTS),
}


@st.composite
def problems(draw, limit=6):
    """Columns of two short lists of rows which share many values."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    row = st.tuples(*(st.just(MISSING) | KINDS[kind][1] for kind in kinds))
    gold = draw(st.lists(row, min_size=1, max_size=limit))
    extracted = draw(st.lists(st.sampled_from(gold) | row, min_size=1, max_size=limit))
    weight = st.sampled_from([1.0, 1.0, 2.0, 0.3])
    columns = [
        Column(
            gold=[values[at] for values in gold],
            extracted=[values[at] for values in extracted],
            weight=draw(weight),
            metric=KINDS[kind][0],
            pair=None if KINDS[kind][0] else overlap,
        )
        for at, kind in enumerate(kinds)
    ]
    return columns, len(gold), len(extracted)


def pair_score(columns, i, j, objective):
    """Score one pair by the words of scoring.md: slowly."""
    score = compared = lost = invented = 0.0
    for column in columns:
        gold, extracted, weight = column.gold[i], column.extracted[j], column.weight
        if gold is MISSING and extracted is MISSING:
            continue
        if column.pair is not None:
            part = column.pair(gold, extracted)
        elif gold is MISSING:
            part = PairScore(0, 0, 0, 1)
        elif extracted is MISSING:
            part = PairScore(0, 0, 1, 0)
        else:
            part = PairScore(column.metric.compare(gold, extracted), 1, 0, 0)
        score += weight * part.score
        compared += weight * part.compared
        lost += weight * part.omitted
        invented += weight * part.hallucinated
    if not compared + lost + invented:
        return 1.0
    if objective == "mean":
        return score / (compared + lost + invented)
    precision = score / (compared + invented) if compared + invented else 1.0
    recall = score / (compared + lost) if compared + lost else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def best_total(scores):
    tall = scores if len(scores) <= len(scores[0]) else [list(row) for row in zip(*scores, strict=True)]
    return max(
        sum(row[column] for row, column in zip(tall, chosen, strict=True))
        for chosen in itertools.permutations(range(len(tall[0])), len(tall))
    )


@pytest.fixture(params=["plain", "numpy"])
def backend(request, monkeypatch):
    if request.param == "numpy":
        pytest.importorskip("numpy")
        monkeypatch.setattr(fit, "_NUMPY_PAYS_LOADED", 0)
    else:
        monkeypatch.setattr(fit, "installed", lambda package: False)


@pytest.mark.parametrize("limit", [0, 2_500], ids=["equal rows first", "as published"])
@pytest.mark.parametrize("objective", ["mean", "f1"])
@pytest.mark.usefixtures("backend")
@given(problem=problems(limit=5))
def test_no_other_pairing_is_better(objective, limit, problem):
    columns, height, width = problem
    scores = [[pair_score(columns, i, j, objective) for j in range(width)] for i in range(height)]
    kept, fit.PUBLISHED_LIMIT = fit.PUBLISHED_LIMIT, limit
    try:
        found = best_fit(columns, height, width, objective=objective)
    finally:
        fit.PUBLISHED_LIMIT = kept
    assert all(scores[i][j] > 0 for i, j in found.pairs)
    assert sum(scores[i][j] for i, j in found.pairs) == pytest.approx(best_total(scores), abs=1e-9)
    assert sorted([*(i for i, _ in found.pairs), *found.missing]) == list(range(height))
    assert sorted([*(j for _, j in found.pairs), *found.extra]) == list(range(width))


@pytest.mark.parametrize("objective", ["mean", "f1"])
@given(problem=problems(limit=9))
def test_numpy_gives_the_same_floats(objective, problem):
    pytest.importorskip("numpy")
    columns, height, width = problem
    coded = encode_problem(columns, height, width, objective)
    plain = similarity_pure.score_matrix(coded, range(height), range(width))
    assert [list(row) for row in plain] == similarity_numpy.score_matrix(coded, range(height), range(width)).tolist()


@pytest.mark.parametrize("objective", ["mean", "f1"])
@given(problem=problems(limit=8), limits=st.lists(st.floats(-0.2, 1.2), min_size=16, max_size=16))
@pytest.mark.usefixtures("backend")
def test_pairs_above_their_limits_are_found(objective, problem, limits):
    columns, height, width = problem
    similarity = fit.Similarity(encode_problem(columns, height, width, objective))
    rows, others = limits[:height], limits[8 : 8 + width]
    above = {
        (i, j) for i in range(height) for j in range(width) if similarity.score(i, j) > rows[i] + others[j] + 1e-12
    }
    found = set(similarity.above(range(height), range(width), rows, others))
    assert above <= found
    if len(columns) > 1:  # a search among single texts looks at nothing else
        assert above == found


@pytest.mark.parametrize("objective", ["mean", "f1"])
@given(problem=problems(limit=8), rng=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_change_the_total(objective, problem, rng):
    columns, height, width = problem

    def total(order):
        shuffled = [
            Column(
                gold=column.gold,
                extracted=[column.extracted[j] for j in order],
                weight=column.weight,
                metric=column.metric,
                pair=column.pair,
            )
            for column in columns
        ]
        found = best_fit(shuffled, height, width, objective=objective)
        return sum(pair_score(shuffled, i, j, objective) for i, j in found.pairs)

    order = list(range(width))
    assert total(rng.sample(order, width)) == pytest.approx(total(order), abs=1e-9)


def texts_content(texts):
    """Contents of a list of texts that are compared as a multiset."""
    if texts is MISSING or not texts:
        return None
    return Content("".join(sorted(texts)), [LeafColumn([len(texts)], 1.0, lambda: texts, counts=True)], 0)


def multiset_overlap(gold, extracted):
    ours, theirs = (Counter() if side is MISSING else Counter(side) for side in (gold, extracted))
    common = (ours & theirs).total()
    return PairScore(common, common, ours.total() - common, theirs.total() - common)


def overlap_in_places(gold, extracted):
    """What sorted lists of texts score by position: less than their contents promise."""
    return overlap(*(MISSING if side is MISSING else sorted(side) for side in (gold, extracted)))


@st.composite
def lists_in_rows(draw):
    """Rows with a leaf and a list of texts."""
    lists = st.lists(st.sampled_from("abc"), min_size=1, max_size=4) | st.just(MISSING)
    row = st.tuples(st.sampled_from("xyz"), lists)
    gold = draw(st.lists(row, min_size=1, max_size=5))
    extracted = draw(st.lists(st.sampled_from(gold) | row, min_size=1, max_size=5))
    extracted = [(name, texts if texts is MISSING else draw(st.permutations(texts))) for name, texts in extracted]
    ours, theirs = [texts for _, texts in gold], [texts for _, texts in extracted]
    lists = Column(
        gold=ours,
        extracted=theirs,
        weight=draw(st.sampled_from([1.0, 2.0, 0.3])),
        pair=draw(st.sampled_from([multiset_overlap, overlap_in_places])),
        contents=([*map(texts_content, ours)], [*map(texts_content, theirs)]),
    )
    names = leaf([name for name, _ in gold], [name for name, _ in extracted])
    return [names, lists], len(gold), len(extracted)


@pytest.mark.parametrize("limit", [0, 2_500], ids=["equal rows first", "as published"])
@pytest.mark.parametrize("objective", ["mean", "f1"])
@pytest.mark.usefixtures("backend")
@given(problem=lists_in_rows())
def test_no_other_pairing_of_rows_with_lists_is_better(objective, limit, problem):
    columns, height, width = problem
    places = itertools.product(range(height), range(width))
    known = {(i, j): pair_score(columns, i, j, objective) for i, j in places}
    scores = [[known[i, j] for j in range(width)] for i in range(height)]
    coded = encode_problem(columns, height, width, objective)
    bounds = similarity_pure.score_matrix(coded, range(height), range(width))
    for (i, j), score in known.items():
        assert bounds[i][j] >= score - 1e-12
        assert fit.Similarity(coded).bound(i, j) == pytest.approx(bounds[i][j])
    kept, fit.PUBLISHED_LIMIT = fit.PUBLISHED_LIMIT, limit
    try:
        found = best_fit(columns, height, width, objective=objective)
    finally:
        fit.PUBLISHED_LIMIT = kept
    assert sum(scores[i][j] for i, j in found.pairs) == pytest.approx(best_total(scores), abs=1e-9)


@given(problem=lists_in_rows())
def test_bounds_are_the_same_with_numpy(problem):
    pytest.importorskip("numpy")
    for objective in ("mean", "f1"):
        coded = encode_problem(*problem, objective)
        size = range(coded.height), range(coded.width)
        plain = similarity_pure.score_matrix(coded, *size)
        assert [list(row) for row in plain] == similarity_numpy.score_matrix(coded, *size).tolist()


def test_only_pairs_that_an_assignment_wants_are_scored():
    rng = random.Random(3)
    asked = []

    def score(gold, extracted):
        asked.append((gold, extracted))
        return multiset_overlap(gold, extracted)

    gold = [[chr(rng.randint(100, 9_999)) for _ in range(5)] for _ in range(40)]
    extracted = [[*texts[:4], "!"] for texts in gold]
    contents = [*map(texts_content, gold)], [*map(texts_content, extracted)]
    lists = Column(gold=gold, extracted=extracted, pair=score, contents=contents)
    assert best_fit([lists], 40, 40, objective="mean").pairs == tuple((i, i) for i in range(40))
    assert len(asked) == 40


def leaf(gold, extracted, name="text", weight=1.0):
    return Column(gold=gold, extracted=extracted, metric=metric(name), weight=weight)


def test_equal_rows_are_torn_apart_where_that_pays():
    # normalised Levenshtein is no distance: ab is as near to aba, and aba to ba, as ab is far from ba
    column = leaf(["ab", "aba"], ["aba", "ba"], "fuzzy")
    assert best_fit([column], 2, 2, objective="mean").pairs == ((0, 0), (1, 1))


def test_pairs_of_score_0_are_undone():
    found = best_fit([leaf(["a", "b"], ["x", "b"])], 2, 2, objective="mean")
    assert found == (((1, 1),), (0,), (0,))


def test_rows_with_nothing_to_score_belong_together():
    found = best_fit([leaf([MISSING, "a"], ["a", MISSING])], 2, 2, objective="mean")
    assert found.pairs == ((0, 1), (1, 0))
    assert best_fit([], 2, 1, objective="f1").pairs == ((0, 0),)
    assert best_fit([], 2, 1, objective="mean").pairs == ((0, 0),)


def test_ties_go_by_position():
    columns = [leaf(["a", "a", "a"], ["a", "a", "a"]), leaf(["1", "2", "3"], ["7", "8", "9"])]
    assert best_fit(columns, 3, 3, objective="mean").pairs == ((0, 0), (1, 1), (2, 2))


def test_true_is_not_1_when_rows_are_equal():
    column = Column(gold=[True, 1], extracted=[1, True], metric=metric("exact"))
    assert best_fit([column], 2, 2, objective="mean").pairs == ((0, 1), (1, 0))


def test_weights_decide():
    columns = [leaf(["a", "b"], ["b", "a"], weight=1.0), leaf(["1", "2"], ["1", "2"], weight=3.0)]
    assert best_fit(columns, 2, 2, objective="mean").pairs == ((0, 0), (1, 1))


def test_what_one_side_has_counts():
    columns = [leaf(["a"], ["a", "a"]), leaf([MISSING], ["more", MISSING])]
    assert best_fit(columns, 1, 2, objective="mean").pairs == ((0, 1),)


@pytest.mark.parametrize("columns", [0, 2], ids=["no pair", "both"])
def test_a_column_has_one_way_to_score(columns):
    with pytest.raises(ValueError, match="either a metric or a pair"):
        Column(gold=[], extracted=[], metric=metric("text") if columns else None, pair=overlap if columns else None)


@pytest.mark.parametrize(("height", "width"), [(0, 2), (2, 0), (0, 0)])
def test_one_side_empty(height, width):
    found = best_fit([leaf(["a"] * height, ["a"] * width)], height, width, objective="mean")
    assert found == ((), tuple(range(height)), tuple(range(width)))


def test_nested_values_are_scored_once():
    asked = []

    def count(gold, extracted):
        asked.append((tuple(gold), tuple(extracted)))
        return overlap(gold, extracted)

    column = Column(gold=[[1, 2], [1, 2], [3]], extracted=[[1], [1], [1, 3]], pair=count)
    best_fit([column], 3, 3, objective="mean")
    assert sorted(asked) == [((1, 2), (1,)), ((1, 2), (1, 3)), ((3,), (1,)), ((3,), (1, 3))]


def long_lists(size, changed, seed=5):
    """Six-field rows: shuffled, 5 % lost, 5 % invented, some changed in one field."""
    rng = random.Random(seed)

    def row(n):
        return [
            f"id{n}",
            f"item {rng.randint(0, 999)} of {n}",
            rng.randint(1, 9),
            rng.random(),
            f"{n % 28}",
            "ab"[n % 2],
        ]

    gold = [row(n) for n in range(size)]
    extracted = [list(values) for values in gold[size // 20 :]] + [row(size + n) for n in range(size // 20)]
    for values in extracted:
        if rng.random() < changed:
            at = rng.choice([1, 2, 3])
            values[at] = values[at] + "x" if at == 1 else values[at] + 1
    rng.shuffle(extracted)
    names = ("text", "fuzzy", "integer", "number", "text", "text")
    return [
        Column(gold=[g[at] for g in gold], extracted=[e[at] for e in extracted], metric=metric(name))
        for at, name in enumerate(names)
    ]


@pytest.mark.parametrize("changed", [0.1, 1.0], ids=["a tenth changed", "all changed"])
def test_lost_and_invented_rows_are_found(changed):
    columns = long_lists(200, changed)
    found = best_fit(columns, 200, 200, objective="mean")
    right = sum(columns[0].gold[i] == columns[0].extracted[j] for i, j in found.pairs)
    assert right == 190


@pytest.mark.usefixtures("backend")
def test_equal_rows_are_not_compared_with_everything(monkeypatch):
    cells = []
    for module in (similarity_pure, similarity_numpy):
        kept = module.score_matrix
        monkeypatch.setattr(
            module,
            "score_matrix",
            lambda problem, rows, columns, *more, kept=kept: (
                cells.append(len(rows) * len(columns)) or kept(problem, rows, columns, *more)
            ),
        )
    best_fit(long_lists(200, 0.1), 200, 200, objective="mean")
    assert sum(cells) < 0.5 * 200 * 200


def test_memory_is_bounded():
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("scipy.optimize")
    columns = long_lists(1500, 1.0)
    best_fit(long_lists(300, 1.0), 300, 300, objective="mean")  # imports done
    tracemalloc.start()
    best_fit(columns, 1500, 1500, objective="mean")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * numpy.float64().nbytes * 1500 * 1500


def test_plain_python_gives_the_same_pairs():
    pytest.importorskip("scipy.optimize")
    code = (
        "import sys; sys.modules.update({'numpy': None, 'scipy': None, 'scipy.optimize': None})\n"
        "from pytest_extract.core.matching.fit import best_fit\n"
        "from tests.core.matching.test_fit import long_lists\n"
        "for changed in (0.1, 1.0): print(best_fit(long_lists(240, changed), 240, 240, objective='mean').pairs)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = [str(best_fit(long_lists(240, changed), 240, 240, objective="mean").pairs) for changed in (0.1, 1.0)]
    assert done.stdout.splitlines() == here


@pytest.mark.parametrize("name", sorted(METRICS))
def test_offers_of_metrics_agree_with_their_comparison(name):
    spec = METRICS[name]
    if any(param.required for param in spec.params):
        pytest.skip("needs parameters; its own tests give them")
    bound = metric(name)
    values = [
        "a",
        "A ",
        "7",
        "7.0",
        7,
        7.0,
        7.0000001,
        True,
        1,
        None,
        "kitten",
        "sitting",
        "xy",
        "xyz",
        "yz",
        [1],
        {"a": 1},
        float("nan"),
    ]
    expected = [[bound.compare(one, other) for other in values] for one in values]
    if bound.against is not None:
        scan = bound.against(values)
        assert [list(scan(value)) for value in values] == expected
    if bound.near is not None:
        near = {(i, j): score for i, j, score in bound.near(values, values)}
        assert [[near.get((i, j), 0.0) for j in range(len(values))] for i in range(len(values))] == expected
    if bound.key is not None:
        keys = [bound.key(value) for value in values]
        assert [[float(one == other) for other in keys] for one in keys] == expected
    for a, b, c in itertools.product(range(len(values)), repeat=3):
        assert (1 - expected[a][b]) + (1 - expected[b][c]) >= (1 - expected[a][c]) - bound.detour - 1e-12
