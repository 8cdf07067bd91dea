"""Scoring with Ray Data, on a local cluster of two workers. `.ci/run` installs the extra `ray` for it."""

import json
import os
from pathlib import Path

import pytest

from pytest_extract import Extensions, compile_schema
from pytest_extract.bulk import BulkScorer, score_records
from pytest_extract.results import ResultsReader
from tests.bulk_metrics import dies_once
from tests.records import results_of
from tests.test_bulk import SCORER, arrow, records

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def cluster():
    before = dict(os.environ)
    os.environ |= {"PYTHONPATH": str(ROOT), "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()
    os.environ.clear()
    os.environ.update(before)


def scored_dataset(rows, scorer, **options):
    return ray.data.from_arrow(arrow(rows)).map_batches(scorer.score_batch, batch_format="pyarrow", **options)


def scored(scorer, rows, **options):
    dataset = scored_dataset(rows, scorer, **options)
    found = [result for table in ray.get(dataset.to_arrow_refs()) for result in results_of(table)]
    order = {str(row["id"]): at for at, row in enumerate(rows)}
    return sorted(found, key=lambda result: order.get(result.case_id, len(order)))


def note_scorer(metric, function, **arguments):
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    scorer = compile_schema(schema, overrides={"note": metric}, extensions=Extensions.of(function))
    return BulkScorer(scorer=scorer, **arguments)


def notes(*texts):
    return [
        {"id": str(at), "gold": '{"note": "x"}', "output": json.dumps({"note": text})} for at, text in enumerate(texts)
    ]


def test_results_are_those_of_one_process(cluster):
    rows = [row for row in records(200) if row["id"] not in (None, "r206")]  # half a surrogate pair becomes its escape
    assert scored(SCORER, rows, batch_size=50) == list(score_records(SCORER, rows))


def test_a_lost_worker_is_replaced_and_its_batch_scored_again(cluster, tmp_path):
    metric = {"metrics": [{"metric_id": "dies_once", "params": {"marker": str(tmp_path / "marker")}}]}
    results = scored(note_scorer(metric, dies_once), notes("x", "y", "x"))
    assert (tmp_path / "marker").exists()
    assert [result.outcome for result in results] == ["passed", "failed", "passed"]


def test_a_dataset_is_written_as_parquet_and_read_back(cluster, tmp_path):
    rows = [row for row in records(20) if row["id"] not in (None, "r26")]
    scored_dataset(rows, SCORER).write_parquet(str(tmp_path / "results"))
    found = [result for path in sorted((tmp_path / "results").iterdir()) for result in ResultsReader(path)]
    assert sorted(each.case_id for each in found) == sorted(str(row["id"]) for row in rows)
    assert {each.case_id: each for each in found} == {each.case_id: each for each in score_records(SCORER, rows)}
