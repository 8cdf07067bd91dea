"""The one table of measures, and that every list of measures is read from it."""

from __future__ import annotations

import json

import pytest

from pytest_extract import compile_schema
from pytest_extract.cases.model import case_file_schema
from pytest_extract.core.aggregate import CaseMeasures, measure_means
from pytest_extract.core.case_result import AcceptedCounts
from pytest_extract.core.measures import (
    MEASURES,
    PUBLISHED_NAMES,
    ROWS,
    SCORE_MEASURES,
    CitationCounts,
    accepted_measures,
    citation_measures,
    measures_of_system,
    rule_measures,
)
from pytest_extract.core.measures.published import PAPER_MEASURES
from pytest_extract.report.summary import MEASURES as SUMMARY_MEASURES
from pytest_extract.systems import SYSTEMS, compare_systems

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
GOLD = {"a": "x", "b": 1}
REPORTED = MEASURES.keys() - {*SCORE_MEASURES} - PAPER_MEASURES.keys()
"""Measures of what extractors report, which only some outputs have."""
OUTPUTS = {
    "right": GOLD,
    "wrong": {"a": "y", "b": 1},
    "less": {"a": "x"},
    "more": {**GOLD, "c": 2},
    "invalid": {"b": "1"},
}


def test_rows_are_in_the_order_of_the_values():
    assert tuple(compile_schema(SCHEMA).score(GOLD, GOLD).measures) == SCORE_MEASURES


def test_what_extractors_report_is_measured_under_the_names_of_rows():
    counted = accepted_measures(AcceptedCounts()) | citation_measures(CitationCounts()) | rule_measures([])
    assert {*counted, "grounded_rate"} == REPORTED


def test_no_two_rows_share_a_name():
    assert len(MEASURES) == len(ROWS)


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_a_score_has_every_measure_of_the_table_and_no_other(output):
    measures = compile_schema(SCHEMA).score(GOLD, output).measures
    assert set(measures) == set(SCORE_MEASURES)
    assert all(0.0 <= value <= 1.0 for value in measures.values())


def test_every_measure_can_be_1_and_falls_for_a_worse_output():
    """Thresholds and gates take each value below its bound, or before, for worse."""
    scorer = compile_schema(SCHEMA)
    best = scorer.score(GOLD, GOLD).measures
    worst = scorer.score(GOLD, None).measures
    assert {name for name, value in best.items() if value == 1.0} == set(SCORE_MEASURES)
    assert all(worst[name] < best[name] for name in best)


def test_every_system_reports_its_measures():
    assert {system for measure in MEASURES.values() for system in measure.systems} == set(SYSTEMS)
    for column in compare_systems(SCHEMA, GOLD, OUTPUTS["wrong"]):
        assert tuple(column.measures) == measures_of_system(column.system)


def test_case_checks_and_the_case_file_schema_take_the_measures_that_can_be_bounded():
    described = json.loads(case_file_schema())["$defs"]["thresholds"]["properties"]
    assert {name: described[name]["description"] for name in MEASURES} == {
        name: MEASURES[name].doc for name in MEASURES
    }


def test_an_aggregate_has_every_measure():
    means = measure_means([CaseMeasures(case="a", measures=dict.fromkeys(MEASURES, 1.0))], samples=2)
    assert list(means) == list(MEASURES)


def test_the_columns_of_published_rows_and_the_summary_name_measures():
    assert tuple(PUBLISHED_NAMES) == measures_of_system("sob")
    assert len(set(PUBLISHED_NAMES.values())) == len(PUBLISHED_NAMES)
    assert set(SUMMARY_MEASURES) <= set(MEASURES)
