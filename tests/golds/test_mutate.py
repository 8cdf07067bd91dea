"""`check --mutate`: changes of golds that would pass their case."""

from __future__ import annotations

import json

import pytest

from pytest_extract.cli import main

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "paid": {"type": "boolean"},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}}},
        },
    },
}
GOLD = {
    "vendor": "ACME GmbH Berlin",
    "total": 1109.5,
    "paid": True,
    "rows": [{"sku": "A-1x", "qty": 12}, {"sku": "B-2y", "qty": 37}],
}


def mutated(tmp_path, capsys, *options, schema=SCHEMA, **keys):
    case = {"text": "x", "schema": schema, "gold": GOLD, **keys}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    status = main(["check", "--mutate", "--json", *options, str(tmp_path / "a.extract.yaml")])
    found = json.loads(capsys.readouterr().out)
    assert {each["kind"] for each in found} <= {"mutation", "cannot_fail"}
    return status, [each["message"].removeprefix("warning: a: ") for each in found if each["kind"] == "mutation"]


def test_strict_metrics_and_thresholds_let_no_change_pass(tmp_path, capsys):
    assert mutated(tmp_path, capsys, "--strict") == (0, [])


def test_a_metric_that_accepts_a_wrong_value_is_named(tmp_path, capsys):
    status, (message,) = mutated(
        tmp_path, capsys, "--strict", overrides={"vendor": {"metric": "fuzzy", "threshold": 0.5}}
    )
    assert status == 1
    assert message.startswith("`vendor`: 2 of 4 changes of its gold pass (cut in half, a word lost), such as")
    assert message.endswith("a stricter metric in the schema or in `overrides` would fail them")


@pytest.mark.parametrize(("place", "pattern"), [("total", "total"), ("rows", "rows[].qty")])
def test_a_threshold_that_tolerates_a_wrong_field_is_named(tmp_path, capsys, place, pattern):
    _, messages = mutated(tmp_path, capsys, thresholds={"pass_rate": 0.6})
    assert any(message.startswith(f"`{pattern}`: ") and "thresholds: {fields: " in message for message in messages)
    _, messages = mutated(tmp_path, capsys, thresholds={"pass_rate": 0.6, "fields": {place: 1.0}})
    assert not any(message.startswith(f"`{pattern}`: ") for message in messages)


def test_fields_that_are_skipped_are_not_changed(tmp_path, capsys):
    _, messages = mutated(tmp_path, capsys, overrides={"vendor": "skip"})
    assert messages == []


def test_a_lost_row_is_a_change(tmp_path, capsys):
    _, messages = mutated(tmp_path, capsys, thresholds={"pass_rate": 0.7})
    assert any(message.startswith("`rows`: ") and "a row lost" in message for message in messages)
