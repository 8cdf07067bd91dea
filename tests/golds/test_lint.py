"""What `pytest-extract check` says of cases that can run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_extract.cli import main
from tests.shared_data import shared

SCHEMA = {
    "type": "object",
    "properties": {
        "total": {"type": "number"},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
    },
}
GOLD = {"total": 1, "rows": [{"sku": "a"}, {"sku": "b"}, {"sku": "a"}, {}]}


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Write cases as files, and return the lines that `check` prints and its exit status."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")

    def run(*cases: dict[str, object], args: tuple[str, ...] = ()) -> tuple[int, list[str]]:
        for number, keys in enumerate(cases):
            gold = tmp_path / f"c{number}.gold.json"
            gold.write_text(json.dumps(keys.pop("gold", {"total": number}), indent=1), encoding="utf-8")
            case = {"text": f"t{number}", "schema": "s.schema.json", "gold": gold.name, **keys}
            case = {key: value for key, value in case.items() if value is not None}
            (tmp_path / f"c{number}.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
        status = main(["check", *args])
        return status, capsys.readouterr().out.splitlines()

    return run


def test_sound_cases_have_no_finding(check) -> None:
    assert check({}, {}) == (0, ["2 good cases in 2 files, no mistake"])


def test_what_only_a_call_shows_and_measures_of_papers_are_no_finding(check) -> None:
    thresholds = {"max_cost_usd": 0.01, "max_latency_s": 2, "anls_star": 0.9, "n_ted": 0.9}
    assert check({"thresholds": thresholds}) == (0, ["1 good case in 1 file, no mistake"])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({"thresholds": {"pass_rate": 0}}, "an output without any JSON passes", id="zero"),
        pytest.param({"thresholds": {"fields": {"total": 0}}}, "an output without any JSON passes", id="field"),
        pytest.param(
            {"thresholds": {"json_parse": 1}}, "cannot fail on missing values: the output {} passes", id="parse-only"
        ),
        pytest.param(
            {
                "gold": {"total": 1},
                "accept": {},
                "absent": {},
                "schema": {**SCHEMA, "required": ["rows"]},
                "gates": {"schema": False},
                "thresholds": {"required_key_recall": 1},
            },
            "no output can pass, as the gold itself fails: required_key_recall",
            id="gold-itself",
        ),
    ],
)
def test_thresholds_that_decide_nothing(check, keys: dict[str, object], message: str) -> None:
    status, lines = check(keys)
    assert status == 0
    assert lines[0].startswith("c0.extract.yaml:1:1: warning: c0: ")
    assert message in lines[0]
    assert lines[1:] == ["1 good case in 1 file, no mistake, 1 warning"]


def test_a_gold_without_values_may_pass_on_an_empty_output(check) -> None:
    assert check({"gold": {"rows": []}, "absent": {"rows": "must"}})[1] == ["1 good case in 1 file, no mistake"]
    (told, _) = check({"gold": {"rows": []}})[1]
    assert "warning: the gold has no value" in told


def test_keys_that_do_not_tell_rows_apart_are_found_where_they_stand(check) -> None:
    _, lines = check({"gold": GOLD, "overrides": {"rows": {"align": "key", "key": "sku"}}})
    assert lines[:-1] == [
        'c0.gold.json:10:3: warning: the key `sku` is not unique: row 0 has "a" as well',
        "c0.gold.json:13:3: warning: the row has no key: `sku` is missing",
    ]


def test_one_document_with_two_golds_is_a_mistake(check) -> None:
    status, lines = check({"text": "same"}, {"text": "same"}, {"text": "same", "question": "which?"})
    assert status == 1
    assert lines == [
        "c1.gold.json:2:11: the document is that of c0 (c0.extract.yaml:1), whose gold has 0 here, not 1",
        "3 good cases in 3 files, 1 mistake",
    ]


def test_one_document_twice_is_a_warning_that_can_fail(check) -> None:
    cases = [{"text": "same", "gold": {"total": 5}}, {"text": "same", "gold": {"total": 5}}]
    status, lines = check(*map(dict, cases))
    assert status == 0
    assert lines[0].startswith("c1.extract.yaml:1:1: warning: c1: the document is that of c0")
    assert check(*map(dict, cases), args=("--strict",))[0] == 1


def test_files_that_no_case_uses(check, tmp_path: Path) -> None:
    for name in ("old.gold.json", "old.schema.json", "package.json", "extract.schema.json", "README.gold.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    _, lines = check({})
    assert lines == [
        "old.gold.json:1:1: warning: no case uses this gold",
        "old.schema.json:1:1: warning: no case uses this schema",
        "1 good case in 1 file, no mistake, 2 warnings",
    ]
    assert check({}, args=("c0.extract.yaml",))[1] == ["1 good case in 1 file, no mistake"]


def test_a_file_of_defaults_is_used_and_a_case_file_is_checked_once(check, tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text("schema: s.schema.json\ntext: x\n", encoding="utf-8")
    (tmp_path / "gold.yaml").write_text("total: 1\n", encoding="utf-8")
    (tmp_path / "a.extract.yaml").write_text("defaults: shared.yaml\ncases: [{gold: gold.yaml}]\n", encoding="utf-8")
    assert check(args=("--strict",)) == (0, ["1 good case in 1 file, no mistake"])
    assert check(args=(".", "a.extract.yaml", "--strict")) == (0, ["1 good case in 1 file, no mistake"])


def test_findings_as_json(check) -> None:
    status, lines = check({"thresholds": {"pass_rate": 0}}, {"gold": {"total": "x"}}, args=("--json",))
    assert status == 1
    mistake, warning = json.loads("\n".join(lines))
    assert (mistake["kind"], mistake["severity"], mistake["file"], mistake["line"]) == (
        "case_file",
        "mistake",
        "c1.gold.json",
        2,
    )
    assert (warning["kind"], warning["severity"], warning["case"]) == ("cannot_fail", "warning", "c0")


INVOICE = """\
ACME GmbH, Berlin, 2 August 2024
Total due: 1,109.00 EUR
"""


def test_evidence_names_values_that_the_document_does_not_have(check) -> None:
    schema = {"type": "object", "properties": {"vendor": {}, "date": {}, "total": {}, "paid": {}, "note": {}}}
    gold = {"vendor": "ACME GMBH", "date": "2024-08-02", "total": 1190.0, "paid": True, "note": None}
    status, lines = check({"text": INVOICE, "schema": schema, "gold": gold}, args=("--evidence",))
    assert status == 0
    assert lines == [
        'c0.gold.json:4:11: warning: total 1190.0 not found in the document; nearest "1,109.00", line 2, column 12',
        "evidence: 2 of 3 gold values stand in their documents",
        "1 good case in 1 file, no mistake, 1 warning",
    ]
    assert check({"text": INVOICE, "schema": schema, "gold": gold}, args=("--evidence", "--strict"))[0] == 1
    assert check({"text": INVOICE, "schema": schema, "gold": gold})[1] == ["1 good case in 1 file, no mistake"]


def test_labels_that_stand_nowhere_are_counted_and_not_listed(check) -> None:
    schema = {"type": "object", "properties": {"vendor": {}, "kind": {}, "unit": {}}}
    cases = [
        {
            "text": f"{INVOICE}{n}",
            "schema": schema,
            "gold": {"vendor": "ACME", "kind": f"class-{'abc'[n]}", "unit": "NA"},
        }
        for n in range(3)
    ]
    _, lines = check(*cases, args=("--evidence",))
    derived = "6 are derived (units, categories and the like, which stand nowhere)"
    assert lines == [
        f"evidence: 3 of 9 gold values stand in their documents; {derived}",
        "3 good cases in 3 files, no mistake",
    ]


def test_skipped_fields_and_documents_without_text_are_not_looked_up(check, tmp_path: Path) -> None:
    (tmp_path / "scan.png").write_bytes(b"PNG")
    skip = {"total": "skip"}
    _, lines = check(
        {"text": "nothing", "gold": {"total": 7}, "overrides": skip, "thresholds": {"json_parse": 1}},
        {"text": None, "document": "scan.png", "gold": {"total": 8}},
        args=("--evidence",),
    )
    assert "evidence: 0 of 0 gold values stand in their documents; 1 document has no text (scans?)" in lines
    assert not any("not found" in line for line in lines)


def test_evidence_on_published_golds_finds_known_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = shared("data/extract-bench/dataset/sport")
    assert main(["import", "extract-bench", str(source), str(tmp_path)]) == 0
    assert main(["check", "--evidence", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert 'CLUB BANCARIO DE GUADALAJARRA" not found in the document; nearest "CLUB BANCARIO DE GUADALAJARA"' in told
