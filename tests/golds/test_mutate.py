"""Mutation of golds: what passes, and what would catch it."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from pytest_extract import BoundMetric, Extensions, MetricSpec
from pytest_extract.cases.cache import SchemaCache
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import Case
from pytest_extract.cli import main
from pytest_extract.core.mistakes.table import MISTAKE_KINDS
from pytest_extract.core.pattern import pattern_of
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, FieldPath, canonical_json, copied, iter_leaves
from pytest_extract.golds.changes import put_value
from pytest_extract.golds.mutate import NOTATION, MutationReport, _made, mutate_golds, pruned
from pytest_extract.thresholds import Requirements, breaches_of

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}}},
        },
    },
}
GOLD = {"vendor": "ACME GmbH Berlin", "total": 1109.5, "rows": [{"sku": "A-1x", "qty": 12}, {"sku": "B-2y", "qty": 37}]}


def mutated(
    tmp_path: Path,
    *,
    schema: object = SCHEMA,
    gold: object = GOLD,
    wholes: bool = True,
    extensions: Extensions | None = None,
    **keys: object,
) -> MutationReport:
    case = {"text": "x", "schema": schema, "gold": gold, **keys}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    cache = SchemaCache(partial(compile_schema, extensions=extensions))
    loaded = load_cases(tmp_path / "a.extract.yaml", cache)
    assert loaded.errors == ()
    return mutate_golds(loaded.cases, wholes=wholes)


def test_strict_metrics_catch_every_wrong_value(tmp_path: Path) -> None:
    report = mutated(tmp_path)
    assert report.caught == report.total > 30
    assert report.advice == {}
    assert set(report.fields) >= {"vendor", "total", "rows[].sku", "rows[].qty", "rows"}


def test_a_loose_metric_is_found_with_what_would_catch_it(tmp_path: Path) -> None:
    loose = {"total": {"metric": "number", "params": {"rel": 0.2}}}
    report = mutated(tmp_path, overrides=loose)
    total = report.fields["total"]
    assert {"rounded", "digits_swapped"} <= set(total.by_metric)
    assert "sign" not in total.by_metric
    assert report.advice == {"total": 'overrides: {"total": number}'}
    assert mutated(tmp_path, overrides={"total": "number"}).advice == {}


def test_a_metric_of_the_project_does_not_hide_what_would_catch_a_mistake(tmp_path: Path) -> None:
    metric = BoundMetric(name="my_metric", compare=lambda gold, extracted: float(gold == extracted))
    spec = MetricSpec(name="my_metric", make=lambda _params, _semantics: metric, doc="Mine.")
    overrides = {"vendor": "my_metric", "total": {"metric": "number", "params": {"rel": 0.2}}}
    report = mutated(tmp_path, overrides=overrides, extensions=Extensions(metrics={"my_metric": spec}))
    assert report.advice == {"total": 'overrides: {"total": number}'}


def test_thresholds_that_tolerate_a_wrong_value_are_found(tmp_path: Path) -> None:
    report = mutated(tmp_path, thresholds={"pass_rate": 0.6}, wholes=False)
    assert report.fields["vendor"].missed == report.fields["vendor"].total > 0
    assert not report.fields["vendor"].by_metric
    assert report.advice["vendor"] == 'thresholds: {fields: {"vendor": 1.0}}'
    mended = mutated(tmp_path, thresholds={"pass_rate": 0.6, "fields": {"vendor": 1.0}})
    assert mended.fields["vendor"].missed == 0


def test_what_nothing_compares_is_found(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"vendor": {"type": "string", "evaluation_config": "string_exact"}}}
    report = mutated(tmp_path, schema=schema, gold={"vendor": "ACME", "note": "ten pieces"})
    assert report.fields["note"].missed == report.fields["note"].total > 0
    assert report.advice["note"] == "declare it in the schema: nothing compares it"


def test_skipped_and_empty_values_are_left_out(tmp_path: Path) -> None:
    report = mutated(tmp_path, gold={**GOLD, "vendor": ""}, overrides={"total": "skip"})
    assert "total" not in report.fields
    assert "vendor" not in mutated(tmp_path, gold={**GOLD, "vendor": ""}, wholes=False).fields


def test_notation_is_counted_apart(tmp_path: Path) -> None:
    report = mutated(tmp_path, overrides={"vendor": {"metric": "text", "transform": ["lowercase"]}})
    vendor = report.fields["vendor"]
    assert vendor.notation_passed >= 1
    assert vendor.missed == 0
    assert set(MISTAKE_KINDS) >= NOTATION


def test_the_same_golds_give_the_same_report(tmp_path: Path) -> None:
    one, other = (mutated(tmp_path, thresholds={"pass_rate": 0.6}) for _ in range(2))
    assert one == other


def test_a_value_alone_keeps_the_key_of_its_row(tmp_path: Path) -> None:
    case = {"text": "x", "schema": SCHEMA, "gold": GOLD, "overrides": {"rows": {"align": "key", "key": "sku"}}}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    (loaded,) = load_cases(tmp_path / "a.extract.yaml", SchemaCache()).cases
    patterns = loaded.scorer.program.patterns
    assert pruned(GOLD, FieldPath(("rows", 1, "qty")), 99, patterns) == {"rows": [{"sku": "B-2y", "qty": 99}]}
    assert pruned(GOLD, FieldPath(("total",)), 9, patterns) == {"total": 9}


def test_the_shortcut_agrees_with_scoring_everything(tmp_path: Path) -> None:
    """Scoring a value alone, and thresholds once for each field, gives what scoring every whole corruption gives."""
    for thresholds in ({"pass_rate": 1.0}, {"pass_rate": 0.7}, {"mean_score": 0.9}):
        case = {"text": "x", "schema": SCHEMA, "gold": GOLD, "thresholds": thresholds, "overrides": {"vendor": "fuzzy"}}
        (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
        (loaded,) = load_cases(tmp_path / "a.extract.yaml", SchemaCache()).cases
        quick = mutate_golds([loaded], wholes=False)
        assert [(name, each.total, each.caught) for name, each in quick.fields.items()] == [*slow(loaded)]


def slow(case: Case) -> Iterator[tuple[str, int, int]]:
    """Score every corruption of a value as a whole document."""
    bounds = Requirements.of(case, dt.datetime.now(dt.UTC).date())
    total: Counter[tuple[str, str]] = Counter()
    caught: Counter[tuple[str, str]] = Counter()
    for path, value in iter_leaves(case.gold):
        pattern = pattern_of(path)
        for name, kind in MISTAKE_KINDS.items():
            new = MISSING if kind.compare is None else _made(kind, value)
            if new is MISSING or canonical_json(new) == canonical_json(value):
                continue
            root = {"gold": copied(case.gold)}
            put_value(root, ("gold", *path), new)
            score = case.scorer.score(case.gold, root["gold"], modality=case.modality, gates=case.gates)
            total[pattern, f"{path} {canonical_json(new)}"] = name not in NOTATION
            caught[pattern, f"{path} {canonical_json(new)}"] = name not in NOTATION and bool(breaches_of(bounds, score))
    for pattern in dict.fromkeys(pattern_of(path) for path, _ in iter_leaves(case.gold)):
        keys = [key for key in total if key[0] == pattern]
        yield pattern, sum(total[key] for key in keys), sum(caught[key] for key in keys)


def test_the_command_prints_and_fails_under_a_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mutated(tmp_path, thresholds={"pass_rate": 0.6})
    assert main(["mutate"]) == 0
    told = capsys.readouterr().out
    assert "vendor  " in told
    assert 'to catch them: thresholds: {fields: {"vendor": 1.0}}' in told
    assert "the thresholds tolerate" in told
    assert main(["mutate", "--fail-under", "0.99"]) == 1
    capsys.readouterr()
    assert main(["mutate", "--json", "--fail-under", "0.1"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["caught"] < record["total"]
    assert record["fields"]["vendor"]["thresholds_tolerate"]
