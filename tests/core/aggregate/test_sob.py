"""SOB's summaries and leaderboard: the published ones, and the random stream."""

from __future__ import annotations

import gzip
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.aggregate import (
    CATEGORIES,
    SOB_METRICS,
    Estimate,
    intervals,
    leaderboard,
    mean,
    published_columns,
    sob_leaderboard_row,
    sob_summary,
)
from pytest_extract.core.measures import PUBLISHED_NAMES
from tests.shared_data import ROOT, shared

PUBLISHED = sorted(path.name for path in (ROOT / "vectors/sob_aggregate").glob("*.json.gz"))


def assert_close(found, expected):
    """Compare two nested published forms: floats to 1e-9, all else exactly."""
    if isinstance(expected, dict):
        assert found.keys() >= expected.keys()
        for name, value in expected.items():
            assert_close(found[name], value)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-9, rel=0)
    else:
        assert found == expected


@pytest.mark.slow
@pytest.mark.skipif(not PUBLISHED, reason="shared data not here")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_summaries(name):
    run = json.loads(gzip.decompress(shared(f"vectors/sob_aggregate/{name}").read_bytes()))
    columns, samples = run["columns"], run["bootstrap_samples"]
    rows = [{metric: columns[metric][index] for metric in SOB_METRICS} for index in range(run["n"])]
    expected = run["expected"]
    for block in expected.values():
        for extra in ("weighting", "weight_field_priority", "difficulty_weights"):
            block.pop(extra, None)
    assert_close(sob_summary(rows, samples=samples).to_dict(), expected["overall"])
    weighted = sob_summary(rows, columns["difficulty_weight"], samples=samples)
    assert_close(weighted.to_dict(), expected["overall_weighted"])


def test_published_leaderboard():
    published = json.loads(shared("vectors/sob_aggregate/leaderboard.json").read_text(encoding="utf-8"))
    rows = leaderboard(published["models"])
    for row, expected in zip(rows, published["rows"], strict=True):
        found = row.to_dict()
        assert found.pop("model") == expected.pop("model_dir")
        del expected["model"]
        assert_close(found, expected)


def resampled(columns, weights, samples, seed):
    """The rule in its plainest words."""
    source = random.Random(seed)
    found = {}
    for name, column in columns.items():
        means = []
        for _ in range(samples):
            drawn = [source.randrange(len(column)) for _ in column]
            total = sum((weights[row] if weights else 1.0) * column[row] for row in drawn)
            whole = sum(weights[row] if weights else 1.0 for row in drawn)
            means.append(total / whole if whole else 0.0)
        means.sort()
        found[name] = (means[int(0.025 * (samples - 1))], means[-int(-0.975 * (samples - 1) // 1)])
    return found


@pytest.mark.parametrize("size", [1, 2, 7, 64, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_follow_pythons_random_stream(size, weighted):
    source = random.Random(size)
    columns = {name: [round(source.random(), 3) for _ in range(size)] for name in ("a", "b", "c")}
    weights = [float(source.randint(0, 3)) for _ in range(size)] if weighted else None
    found = intervals(columns, weights, samples=101)
    for name, (low, high) in resampled(columns, weights, 101, 43 if weighted else 42).items():
        assert (found[name].low, found[name].high) == pytest.approx((low, high), abs=1e-12)
        assert found[name].mean == pytest.approx(mean(columns[name], weights))


def test_edges():
    nothing = Estimate(mean=0.0, low=0.0, high=0.0)
    assert intervals({"a": []}) == {"a": nothing}
    assert intervals({}) == {}
    assert intervals({"a": [1.0, 0.5]}, [0.0, 0.0], samples=10) == {"a": nothing}
    with pytest.raises(ValueError, match="of one length"):
        intervals({"a": [1.0], "b": []})
    with pytest.raises(ValueError, match="of one length"):
        intervals({"a": [1.0]}, [1.0, 2.0])


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


def test_a_missing_modality_costs_its_share_of_records():
    means = dict.fromkeys(SOB_METRICS, 0.8)
    row = sob_leaderboard_row("m", {"text": means, "image": means, "audio": None})
    assert row.raw == pytest.approx(0.8)
    assert row.overall == pytest.approx(0.8 * (5000 + 209) / 5324)
    assert row.modalities == ("text", "image")


def test_perfect_responses_count_text_and_images_only():
    perfect = dict.fromkeys(SOB_METRICS, 0.5) | {"strict_json_em": 1.0}
    row = sob_leaderboard_row("m", {"text": perfect, "audio": dict.fromkeys(SOB_METRICS, 0.5)})
    assert row.columns["perfect_response"] == 1.0
    assert row.columns["value_accuracy"] == pytest.approx(0.5)


def test_no_modality_is_no_row():
    with pytest.raises(ValueError, match="no modality"):
        sob_leaderboard_row("m", {"video": dict.fromkeys(SOB_METRICS, 1.0)})
