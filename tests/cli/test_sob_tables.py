"""`pytest-extract leaderboard --as sob`: SOB's own result files as its published tables."""

from __future__ import annotations

import gzip
import json

import pytest

from pytest_extract.cli import main
from pytest_extract.core.aggregate import CATEGORIES, MODALITY_WEIGHTS, SOB_METRICS
from pytest_extract.importers.sob import WEIGHT, published_modality
from tests.shared_data import ROOT, shared

SMALL = sorted(path.name for path in (ROOT / "vectors/sob_aggregate").glob("[ai]*.json.gz"))


def printed(capsys, *args):
    assert main(["leaderboard", "--as", "sob", *map(str, args)]) == 0
    return capsys.readouterr().out


def rows_of(path, tmp_path):
    """Write the columns of a vector as the rows that `evaluate.py` writes; return their file."""
    vector = json.loads(gzip.decompress(path.read_bytes()))
    names, columns = vector["columns"].keys(), vector["columns"].values()
    rows = [
        {"model_id": vector["model"], **dict(zip(names, cells, strict=True))} for cells in zip(*columns, strict=True)
    ]
    file = tmp_path / f"{vector['modality']}__{vector['model']}.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def test_the_published_leaderboard(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "120")
    vector = json.loads(shared("vectors/sob_aggregate/leaderboard.json").read_text(encoding="utf-8"))
    published, path = vector["rows"], []
    for modality in MODALITY_WEIGHTS:
        path.append(tmp_path / f"{modality}.jsonl")
        means = ((model, found.get(modality)) for model, found in vector["models"].items())
        rows = [{"model_id": model, WEIGHT: 1.0, **each} for model, each in means if each is not None]
        path[-1].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = json.loads(printed(capsys, *path, "--samples", "10", "--json"))["leaderboard"]
    assert [row["model"] for row in found] == [row["model_dir"] for row in published]
    for row, expected in zip(found, published, strict=True):
        for name, value in row.items():
            if isinstance(value, float):
                assert value == pytest.approx(expected[name], abs=1e-9)
    rows = [line.split() for line in printed(capsys, *path, "--samples", "10").splitlines()]
    assert ["1", "openai-gpt-5-4", "0.8702", "0.7977"] in [row[:4] for row in rows]


@pytest.mark.skipif(not SMALL, reason="shared data not here")
def test_the_published_metrics_and_categories(capsys, tmp_path):
    paths = [shared(f"vectors/sob_aggregate/{name}") for name in SMALL]
    found = json.loads(printed(capsys, *(rows_of(path, tmp_path) for path in paths), "--json"))["summaries"]
    assert len(found) == len(SMALL)
    by_name = {(each["modality"], each["model"]): each for each in found}
    for path in paths:
        expected = json.loads(gzip.decompress(path.read_bytes()))
        ours = by_name[expected["modality"], expected["model"]]
        for block in ("overall", "overall_weighted"):
            for part in ("metrics", "category_scores"):
                for name, numbers in expected["expected"][block][part].items():
                    for key in ("mean", "ci95_low", "ci95_high"):
                        assert ours[block][part][name][key] == pytest.approx(numbers[key], abs=1e-9)


def test_a_published_summary_is_read_as_the_rows_that_it_is_of(tmp_path, capsys):
    source = shared("vectors/sob_aggregate/audio__gpt-oss.json.gz")
    summary = json.loads(gzip.decompress(source.read_bytes()))["expected"]
    path = tmp_path / "evaluation/audio/gpt-oss/eval_summary.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"num_records": 115, "summary": summary}), encoding="utf-8")
    found = json.loads(printed(capsys, path, "--json"))
    (published,) = found["summaries"]
    assert (published["model"], published["modality"]) == ("gpt-oss", "audio")
    assert published["overall"] == summary["overall"]
    assert {name: published["overall_weighted"][name] for name in ("n", "metrics", "category_scores")} == {
        name: summary["overall_weighted"][name] for name in ("n", "metrics", "category_scores")
    }
    (ours,) = json.loads(printed(capsys, rows_of(source, tmp_path), "--json"))["leaderboard"]
    assert found["leaderboard"][0]["overall"] == pytest.approx(ours["overall"], abs=1e-9)


def row(model, value, weight=1.0):
    return {"record_id": "r", "model_id": model, "difficulty_weight": weight, **dict.fromkeys(SOB_METRICS, value)}


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "image__both.jsonl"
    lines = [row("a", 1.0), row("a", 0.0, 3.0), row("b", 0.5)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_rows_as_the_published_program_writes_them(rows, capsys):
    found = json.loads(printed(capsys, rows, "--json", "--samples", "50"))
    assert [(one["model"], one["modalities"]) for one in found["leaderboard"]] == [("b", ["image"]), ("a", ["image"])]
    first = next(one for one in found["summaries"] if one["model"] == "a")
    assert first["overall"]["metrics"]["leaf_value_em"]["mean"] == 0.5
    assert first["overall_weighted"]["category_scores"]["Strict Precision"]["mean"] == 0.25
    out = printed(capsys, rows)
    assert "image, a: 2 records" in out
    assert all(name in out for name in CATEGORIES)
    assert "audio, a: 2 records" in printed(capsys, rows, "--modality", "audio")


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
def test_the_modality_is_that_of_the_published_place(path, modality, tmp_path):
    assert published_modality(tmp_path / path) == modality


def test_published_rows_count_for_the_modality_of_their_folder(rows, tmp_path, capsys):
    path = tmp_path / "data/evaluation/audio/both/eval_records.jsonl"
    path.parent.mkdir(parents=True)
    rows.rename(path)
    found = json.loads(printed(capsys, path, "--json", "--samples", "50"))
    assert {tuple(one["modalities"]) for one in found["leaderboard"]} == {("audio",)}


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
def test_what_is_no_result_of_sob_is_an_error(tmp_path, capsys, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert main(["leaderboard", "--as", "sob", str(path)]) == 2
    assert message in capsys.readouterr().err
