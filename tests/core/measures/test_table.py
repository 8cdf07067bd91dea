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
OUTPUTS = [GOLD, {"a": "y", "b": 1}, {"a": "x"}, {**GOLD, "c": 2}, {"b": "1"}, None]


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_score_has_every_measure_of_the_table_and_all_fall_for_worse(output):
    """Thresholds and gates take each value below its bound, or before, for worse."""
    measures = compile_schema(SCHEMA).score(GOLD, output).measures
    assert tuple(measures) == SCORE_MEASURES
    assert all(0.0 <= value <= 1.0 for value in measures.values())
    assert (set(measures.values()) == {1.0}) is (output is GOLD)
    assert output is not None or all(value < 1.0 for value in measures.values())


def test_a_name_has_one_row_and_what_extractors_report_is_measured_under_the_names_of_rows():
    assert len(MEASURES) == len(ROWS)
    counted = accepted_measures(AcceptedCounts()) | citation_measures(CitationCounts()) | rule_measures([])
    assert {*counted, "grounded_rate"} == MEASURES.keys() - {*SCORE_MEASURES} - PAPER_MEASURES.keys()


def test_systems_case_files_aggregates_and_the_summary_read_the_table():
    assert {system for measure in MEASURES.values() for system in measure.systems} == set(SYSTEMS)
    for column in compare_systems(SCHEMA, GOLD, {"a": "y", "b": 1}):
        assert tuple(column.measures) == measures_of_system(column.system)
    assert tuple(PUBLISHED_NAMES) == measures_of_system("sob")
    assert len(set(PUBLISHED_NAMES.values())) == len(PUBLISHED_NAMES)
    described = json.loads(case_file_schema())["$defs"]["thresholds"]["properties"]
    assert {name: described[name]["description"] for name in MEASURES} == {
        name: measure.doc for name, measure in MEASURES.items()
    }
    means = measure_means([CaseMeasures(measures=dict.fromkeys(MEASURES, 1.0))], samples=2)
    assert list(means) == list(MEASURES)
    assert set(SUMMARY_MEASURES) <= set(MEASURES)
