"""What holds for every metric in the table, with every set of parameters that its examples use."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core import metrics
from pytest_extract.core.metrics import METRICS, PRESETS
from pytest_extract.core.metrics.base import MetricSpec
from pytest_extract.core.semantics import SEMANTICS
from pytest_extract.core.values import MAX_DEPTH
from tests.core.metrics.helpers import bound
from tests.strategies import any_json, nested

SETTINGS = {
    name: st.tuples(st.sampled_from([dict(e.params) for e in spec.examples]), st.sampled_from(list(SEMANTICS)))
    for name, spec in METRICS.items()
}
EXAMPLES = [(name, example) for name, spec in METRICS.items() for example in spec.examples]
EXAMPLE_VALUES = st.sampled_from([value for _, e in EXAMPLES for value in (e.gold, e.extracted)])
SYMMETRIC = {
    *("text", "exact", "boolean", "string_exact", "string_case_insensitive", "boolean_exact", "fuzzy", "token_f1"),
    *("number", "integer", "number_exact", "number_tolerance", "integer_exact", "phone", "url", "email"),
    *("string_semantic", "string_llm", "semantic", "array_llm"),
}
VALUES = any_json | EXAMPLE_VALUES | st.lists(EXAMPLE_VALUES, max_size=3)


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(EXAMPLES)])
def test_worked_number_of_the_docs(name, example):
    metric = bound(name, example.params, example.semantics)
    assert metric.compare(example.gold, example.extracted) == pytest.approx(example.score, abs=1e-9)


def test_the_table_names_every_metric_of_every_module_once():
    modules = [import_module(f"{metrics.__name__}.{found.name}") for found in pkgutil.iter_modules(metrics.__path__)]
    written = {row.name for module in modules for row in vars(module).values() if isinstance(row, MetricSpec)}
    assert written == set(METRICS) == {spec.name for spec in METRICS.values()}


def test_every_metric_is_documented_with_a_match_and_a_mismatch():
    for spec in METRICS.values():
        scores = {example.score == 1.0 for example in spec.examples}
        assert spec.doc.endswith("."), spec.name
        assert scores == {True, False}, spec.name


@pytest.mark.parametrize(("name", "params"), PRESETS.items())
def test_every_preset_can_be_made(name, params):
    assert bound(name, params, "extract-bench").name == name


@pytest.mark.parametrize("name", METRICS)
@given(data=st.data(), gold=VALUES, extracted=VALUES)
def test_a_score_is_total_within_bounds_and_1_of_a_value_itself(name, data, gold, extracted):
    metric = bound(name, *data.draw(SETTINGS[name]))
    score = metric.compare(gold, extracted)
    assert isinstance(score, float)
    assert 0.0 <= score <= 1.0
    if name in SYMMETRIC:
        assert metric.compare(extracted, gold) == score
    if metric.explain is not None:
        assert isinstance(metric.explain(gold, extracted), str)
    if metric.reflexive:
        assert metric.compare(gold, gold) == 1.0


BY_EXAMPLE = {name: bound(name, spec.examples[0].params) for name, spec in METRICS.items()}


def fast(metric, gold, extracted):
    """Return the scores of all pairs by the matrix of a metric or, where it has none, by its keys."""
    if metric.matrix is not None:
        return metric.matrix(gold, extracted).tolist()
    return [[float(metric.key(g) == metric.key(e)) for e in extracted] for g in gold]


@pytest.mark.parametrize("name", [name for name, metric in BY_EXAMPLE.items() if metric.matrix or metric.key])
@given(data=st.data(), gold=st.lists(VALUES, min_size=1, max_size=4), more=st.lists(VALUES, max_size=2))
def test_fast_paths_give_the_numbers_of_compare(name, data, gold, more):
    metric = bound(name, *data.draw(SETTINGS[name]))
    extracted = data.draw(st.permutations([*gold, *more]))
    expected = [[metric.compare(g, e) for e in extracted] for g in gold]
    for row, scores in zip(fast(metric, gold, extracted), expected, strict=True):
        for told, score in zip(row, scores, strict=True):
            # of difflib's ratio it gives upper bounds; long texts are only told to be unlike each other
            is_bound = name == "string_fuzzy" or told == 0.9
            assert told == pytest.approx(score, abs=1e-9) or (is_bound and told >= score)


@pytest.mark.parametrize("name", METRICS)
def test_the_deepest_values_are_no_problem(name):
    compare, deep = BY_EXAMPLE[name].compare, nested(MAX_DEPTH - 2, [])
    assert 0.0 <= compare(deep, [deep]) <= 1.0
    assert compare(deep, "x") < 1.0


NUMBERS = st.floats(allow_nan=False) | st.integers(-(10**20), 10**20) | st.sampled_from([10**400, "1e3", "inf", "7"])


@pytest.mark.parametrize("name", ["number", "number_exact", "number_tolerance", "integer_exact", "numeric"])
@pytest.mark.parametrize("semantics", SEMANTICS)
@given(gold=st.lists(NUMBERS, min_size=1, max_size=4), factor=st.sampled_from([1, 1 + 1e-9, 1.01, 1 + 1e-6]))
def test_fast_paths_of_numbers_agree_near_the_bound(name, semantics, gold, factor):
    for params in {str(e.params): e.params for e in METRICS[name].examples}.values():
        metric = bound(name, params, semantics)
        extracted = [v * factor if isinstance(v, float) else v for v in gold]
        expected = [[metric.compare(g, e) for e in extracted] for g in gold]
        assert fast(metric, gold, extracted) == expected
