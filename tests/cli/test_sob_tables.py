"""`pytest-extract leaderboard --as sob`: SOB's own result files as its published tables."""

from __future__ import annotations

import gzip
import json
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from pytest_extract.core.aggregate import CATEGORIES, MODALITY_WEIGHTS, SOB_METRICS
from pytest_extract.importers.sob import WEIGHT, published_modality
from tests.commands import write
from tests.shared_data import ROOT, shared

SMALL = sorted((ROOT / "vectors/sob_aggregate").glob("[ai]*.json.gz"))


@pytest.fixture
def sob(run):
    return partial(run, "leaderboard --as sob", status=0)


def lines_of(rows):
    return "\n".join(map(json.dumps, rows))


def rows_of(found):
    """Write the columns of a vector as the rows that `evaluate.py` writes; return their file."""
    names, columns = found["columns"].keys(), found["columns"].values()
    rows = [
        {"model_id": found["model"], **dict(zip(names, cells, strict=True))} for cells in zip(*columns, strict=True)
    ]
    file = f"{found['modality']}__{found['model']}.jsonl"
    write({file: lines_of(rows)})
    return file


def test_the_published_leaderboard(sob, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    published = json.loads(shared("vectors/sob_aggregate/leaderboard.json").read_text(encoding="utf-8"))
    paths = [f"{modality}.jsonl" for modality in MODALITY_WEIGHTS]
    for path, modality in zip(paths, MODALITY_WEIGHTS, strict=True):
        means = ((model, found.get(modality)) for model, found in published["models"].items())
        rows = [{"model_id": model, WEIGHT: 1.0, **each} for model, each in means if each is not None]
        write({path: lines_of(rows)})
    found = sob(*paths, "--samples", "10", "--json").json["leaderboard"]
    assert [row["model"] for row in found] == [row["model_dir"] for row in published["rows"]]
    for row, expected in zip(found, published["rows"], strict=True):
        numbers = {name: value for name, value in row.items() if isinstance(value, float)}
        assert numbers == pytest.approx({name: expected[name] for name in numbers}, abs=1e-9)
    assert any(row.startswith("1 openai-gpt-5-4 0.8702 0.7977") for row in sob(*paths, "--samples", "10").rows)


@pytest.mark.skipif(not SMALL, reason="shared data not here")
def test_the_published_metrics_and_categories(sob):
    published = [json.loads(gzip.decompress(path.read_bytes())) for path in SMALL]
    found = sob(*map(rows_of, published), "--json").json["summaries"]
    ours = {(each["modality"], each["model"]): each for each in found}
    assert len(ours) == len(SMALL)
    for each, block, part in product(published, ("overall", "overall_weighted"), ("metrics", "category_scores")):
        for name, expected in each["expected"][block][part].items():
            numbers = ours[each["modality"], each["model"]][block][part][name]
            keys = ("mean", "ci95_low", "ci95_high")
            assert [numbers[key] for key in keys] == pytest.approx([expected[key] for key in keys], abs=1e-9)


def test_a_published_summary_is_read_as_the_rows_that_it_is_of(sob):
    source = json.loads(gzip.decompress(shared("vectors/sob_aggregate/audio__gpt-oss.json.gz").read_bytes()))
    summary, path = source["expected"], "evaluation/audio/gpt-oss/eval_summary.json"
    write({path: {"num_records": 115, "summary": summary}})
    found = sob(path, "--json").json
    (published,) = found["summaries"]
    assert (published["model"], published["modality"]) == ("gpt-oss", "audio")
    assert published["overall"] == summary["overall"]
    weighted = {name: summary["overall_weighted"][name] for name in ("n", "metrics", "category_scores")}
    assert published["overall_weighted"] == published["overall_weighted"] | weighted
    of_rows = sob(rows_of(source), "--json").json
    assert found["leaderboard"][0]["overall"] == pytest.approx(of_rows["leaderboard"][0]["overall"], abs=1e-9)


def row(model, value, weight=1.0):
    return {"record_id": "r", "model_id": model, "difficulty_weight": weight, **dict.fromkeys(SOB_METRICS, value)}


def test_rows_as_the_published_program_writes_them(sob):
    file, placed = "image__both.jsonl", "data/evaluation/audio/both/eval_records.jsonl"
    write(dict.fromkeys((file, placed), lines_of([row("a", 1.0), row("a", 0.0, 3.0), row("b", 0.5)])))
    found = sob(file, "--json", "--samples", "50").json
    assert [(one["model"], one["modalities"]) for one in found["leaderboard"]] == [("b", ["image"]), ("a", ["image"])]
    first = next(one for one in found["summaries"] if one["model"] == "a")
    assert first["overall"]["metrics"]["leaf_value_em"]["mean"] == 0.5
    assert first["overall_weighted"]["category_scores"]["Strict Precision"]["mean"] == 0.25
    out = sob(file).out
    assert "image, a: 2 records" in out
    assert all(name in out for name in CATEGORIES)
    assert "audio, a: 2 records" in sob(file, "--modality", "audio").out
    assert "audio, a: 2 records" in sob(placed).out  # by its folder


@pytest.mark.parametrize(
    ("path", "modality"),
    [
        ("data/evaluation/image/microsoft-text-4/eval_records.jsonl", "image"),
        ("data/images_responses/response_Qwen3.5-audio-35B_image.jsonl", "image"),
        ("data/audio_responses/response_gpt-4o.jsonl", "audio"),
        ("data/text_responses/response_audio-model.jsonl", "text"),
        ("audio__model.json", "audio"),
        ("textual.jsonl", "text"),
        ("imagery/rows.jsonl", "text"),
    ],
)
def test_the_modality_is_that_of_the_published_place(path, modality):
    assert published_modality(Path("/tmp", path)) == modality


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.jsonl", "{}", "x.jsonl:1: 'json_parse_success' must be a number, not None"),
        ("x.jsonl", "{", "x.jsonl:1:2: not JSON"),
        ("x.jsonl", "1", "x.jsonl:1: a record is a JSON object"),
        ("x.jsonl", "", "no result in"),
        ("x.json", "{}", "x.json: a result file of SOB is JSONL with a row a record, or its `eval_summary.json`"),
        ("x.json", '{"summary": {}}', "'overall.metrics.json_parse_success.mean' must be a number, not None"),
    ],
)
def test_what_is_no_result_of_sob_is_an_error(run, name, text, message):
    write({name: text})
    run(f"leaderboard --as sob {name}").assert_refused(message)
