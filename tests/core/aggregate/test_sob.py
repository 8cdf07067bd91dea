"""SOB's summaries and leaderboard: the published ones, intervals by its random stream, and our variants side by side."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.aggregate import (
    CATEGORIES,
    SOB_METRICS,
    Estimate,
    intervals,
    mean,
    published_columns,
    sob_leaderboard_row,
    sob_summary,
    standings,
)
from pytest_extract.core.case_result import Outcome
from pytest_extract.core.complexity import WEIGHTS
from pytest_extract.core.gates import MODALITIES
from pytest_extract.core.measures import PUBLISHED_NAMES
from tests.core.aggregate.test_run import result, score
from tests.cpu_time import cpu_seconds
from tests.shared_data import ROOT, shared

PUBLISHED = sorted(path.name for path in (ROOT / "vectors/sob_aggregate").glob("*.json.gz"))


def published_run(name):
    return json.loads(gzip.decompress(shared(f"vectors/sob_aggregate/{name}").read_bytes()))


def published_leaderboard():
    return json.loads(shared("vectors/sob_aggregate/leaderboard.json").read_text(encoding="utf-8"))


def assert_close(found, expected):
    """Compare two nested published forms: floats to 1e-9, all else exactly."""
    if isinstance(expected, dict):
        assert found.keys() >= expected.keys()
        for name, value in expected.items():
            assert_close(found[name], value)
    else:
        assert found == (pytest.approx(expected, abs=1e-9, rel=0) if isinstance(expected, float) else expected)


@pytest.mark.slow
@pytest.mark.skipif(not PUBLISHED, reason="shared data not here")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_summaries(name):
    run = published_run(name)
    columns, samples = run["columns"], run["bootstrap_samples"]
    rows = [{metric: columns[metric][index] for metric in SOB_METRICS} for index in range(run["n"])]
    for block, weights in (("overall", None), ("overall_weighted", columns["difficulty_weight"])):
        expected = run["expected"][block]
        for how in ("weighting", "weight_field_priority", "difficulty_weights"):
            expected.pop(how, None)
        assert_close(sob_summary(rows, weights, samples=samples).to_dict(), expected)


def resampled(column, weights, samples, source):
    """The rule in its plainest words."""
    means = []
    for _ in range(samples):
        drawn = [source.randrange(len(column)) for _ in column]
        total = sum((weights[row] if weights else 1.0) * column[row] for row in drawn)
        whole = sum(weights[row] if weights else 1.0 for row in drawn)
        means.append(total / whole if whole else 0.0)
    means.sort()
    return means[int(0.025 * (samples - 1))], means[-int(-0.975 * (samples - 1) // 1)]


@pytest.mark.parametrize("size", [1, 2, 7, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_follow_pythons_random_stream(size, weighted):
    source = random.Random(size)
    columns = {name: [round(source.random(), 3) for _ in range(size)] for name in ("a", "b", "c")}
    weights = [float(source.randint(0, 3)) for _ in range(size)] if weighted else None
    found = intervals(columns, weights, samples=101)
    stream = random.Random(43 if weighted else 42)
    for name, column in columns.items():
        expected = (mean(column, weights), *resampled(column, weights, 101, stream))
        assert (found[name].mean, found[name].low, found[name].high) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_may_share_the_draws_of_the_first(weighted):
    source = random.Random(3)
    first = [float(source.random() < 0.8) for _ in range(300)]
    columns = {"first": first, "same": first, "other": [source.choice((0.25, 0.5, 1.0)) for _ in range(300)]}
    weights = [source.choice((0.0, 1.0, 3.0)) for _ in range(300)] if weighted else None
    own, shared = (intervals(columns, weights, samples=2_000, own_draws=draws) for draws in (True, False))
    bounds, own_bounds = ((found["first"].low, found["first"].high) for found in (shared, own))
    assert bounds == pytest.approx(own_bounds, rel=1e-12)
    assert shared["same"] == shared["first"]
    assert own["same"] != own["first"]
    (one, other), width = (own["other"], shared["other"]), own["other"].high - own["other"].low
    assert other.mean == one.mean
    assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=0.12 * width)


def test_columns_that_share_their_draws_take_a_fraction_of_the_time():
    columns = {str(n): [random.Random(n).random()] * 5_000 for n in range(16)}

    def seconds(**how):
        return cpu_seconds(lambda: intervals(columns, samples=150, **how), calls=2)

    assert 5 * seconds(own_draws=False) < seconds()


def test_intervals_of_nothing_and_without_weight():
    nothing = Estimate(mean=0.0, low=0.0, high=0.0)
    assert intervals({}) == {}
    assert intervals({"a": []}) == {"a": nothing}
    for draws in (True, False):
        assert intervals({"a": [1.0, 0.5]}, [0.0, 0.0], samples=10, own_draws=draws) == {"a": nothing}
    for columns, weights in (({"a": [1.0], "b": []}, None), ({"a": [1.0]}, [1.0, 2.0])):
        with pytest.raises(ValueError, match="of one length"):
            intervals(columns, weights)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_an_interval_stays_within_its_values(values):
    found = intervals({"a": values}, samples=50)["a"]
    assert min(values) - 1e-12 <= found.low <= found.high <= max(values) + 1e-12


def test_categories_are_means_of_a_rows_measures():
    measures = dict.fromkeys(PUBLISHED_NAMES, 0.0) | {"value_accuracy": 0.9, "faithfulness": 0.5, "path_recall": 0.1}
    summary = sob_summary(published_columns([measures]), samples=10)
    assert summary.metrics["leaf_value_em"].mean == 0.9
    assert summary.categories["Long Context Extraction"].mean == pytest.approx(0.5)
    assert summary.categories["Multi-Context Linking"].mean == pytest.approx(0.7)
    assert set(summary.categories) == set(CATEGORIES)


def test_a_leaderboard_row_by_hand():
    """A missing modality costs its share of records, and audio is not in the perfect responses."""
    means = dict.fromkeys(SOB_METRICS, 0.8)
    row = sob_leaderboard_row("m", {"text": means, "image": means, "audio": None})
    assert (row.raw, row.overall) == pytest.approx((0.8, 0.8 * (5000 + 209) / 5324))
    assert row.modalities == ("text", "image")
    perfect = dict.fromkeys(SOB_METRICS, 0.5) | {"strict_json_em": 1.0}
    row = sob_leaderboard_row("m", {"text": perfect, "audio": dict.fromkeys(SOB_METRICS, 0.5)})
    assert row.columns["perfect_response"] == 1.0
    assert row.columns["value_accuracy"] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no modality"):
        sob_leaderboard_row("m", {"video": means})


# --- variants of a run side by side


def case(name, *scores, modality="text", **how):
    return replace(result(f"{name}[{how.get('model')}]", *scores, **how), case_id=name, modality=modality)


def measured(**values):
    found = score(0.5)
    return replace(found, measures={**found.measures, **values})


def test_a_variant_s_overall_is_its_mean_times_the_share_of_cases_with_a_score():
    found = standings(
        [
            case("a", score(0.5), model="half"),
            case("b", outcome=Outcome.ERROR, model="half"),
            case("a", outcome=Outcome.ERROR, model="none"),
            case("b", outcome=Outcome.NOT_RUN, model="none"),
            case("a", score(1.0), model="good"),
            case("b", score(0.5), model="good"),
        ]
    )
    told = [(each.variant, each.row and each.row.raw, each.coverage, each.overall) for each in found]
    assert told == [("good", 0.75, 1.0, 0.75), ("half", 0.5, 0.5, 0.25), ("none", None, 0.0, 0.0)]
    assert standings([]) == []


@pytest.mark.parametrize(("complexities", "overall"), [(("easy", "hard"), 0.25), ((None, None), 0.5)])
def test_hard_cases_weigh_more_where_complexity_is_known(complexities, overall):
    one, other = complexities
    (variant,) = standings([case("a", score(1.0), complexity=one), case("b", score(0.0), complexity=other)])
    assert variant.overall == pytest.approx(overall)


def test_modalities_count_with_their_cases():
    cases = [case("a", score(1.0), complexity="hard"), case("b", score(0.0), complexity="easy", modality="audio")]
    (variant,) = standings(cases)
    assert variant.row.modalities == ("text", "audio")
    assert (variant.row.columns["value_accuracy"], variant.row.columns["perfect_response"]) == (0.75, 1.0)


def test_equal_variants_are_ranked_by_value_accuracy_and_by_pass_rate():
    def ranked(**variants):
        found = standings([case("a", measured(**values), model=model) for model, values in variants.items()])
        assert len({each.overall for each in found}) == 1
        return [each.variant for each in found]

    one, other = {"value_accuracy": 0.4, "faithfulness": 0.6}, {"value_accuracy": 0.6, "faithfulness": 0.4}
    assert ranked(one=one, other=other) == ["other", "one"]
    invalid = dict.fromkeys(PUBLISHED_NAMES, 0.0)
    bad, good, fair = (invalid | {"pass_rate": rate} for rate in (0.25, 0.75, 0.5))
    assert ranked(bad=bad, good=good, fair=fair) == ["good", "fair", "bad"]


def published_cases(folder):
    """All records of one published model as our results: the columns that the leaderboard reads."""
    classes = {weight: name for name, weight in WEIGHTS.items()}
    ours = {column: measure for measure, column in PUBLISHED_NAMES.items()}
    for kind in MODALITIES:
        columns = published_run(f"{kind}__{folder}.json.gz")["columns"]
        for index, weight in enumerate(columns["difficulty_weight"]):
            own = {ours[name]: values[index] for name, values in columns.items() if name in ours}
            yield case(f"{kind}{index}", measured(**own), modality=kind, model=folder, complexity=classes[weight])


@pytest.mark.slow
def test_published_records_give_the_published_rows():
    rows = {row["model_dir"]: row for row in published_leaderboard()["rows"]}
    known = sorted({name.split("__")[1].removesuffix(".json.gz") for name in PUBLISHED} & rows.keys())
    assert len(known) > 3
    variants = {each.variant: each for each in standings([one for folder in known for one in published_cases(folder)])}
    assert list(variants) == sorted(variants, key=lambda name: -rows[name]["overall"])
    for name, variant in variants.items():
        assert variant.overall == pytest.approx(rows[name]["overall"], abs=1e-9)
        assert_close(variant.row.columns, {column: rows[name][column] for column in variant.row.columns})
