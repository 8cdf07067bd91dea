"""The gate on auto-accept in a run: its sentence, its exit status, its measures, and the command that proposes."""

from __future__ import annotations

import json
import random

import pytest

from pytest_extract.cli import main

SCHEMA = {"type": "object", "properties": {"vendor": {"type": "string"}, "total": {"type": "integer"}}}


def write(pytester: pytest.Pytester, cases: int, *, wrong: int, auto_accept: object, **keys: object) -> None:
    """Write cases whose total is confident; of `wrong` of them it is wrong. The vendor never is, nor confident."""
    listed = []
    for number in range(cases):
        answer = {
            "vendor": {"value": "ACME", "confidence": 0.5},
            "total": {"value": 7 if number < wrong else 8, "confidence": 0.95},
        }
        listed.append({"id": f"c{number}", "text": json.dumps(answer)})
    defaults = {
        "schema": SCHEMA, "gold": {"vendor": "ACME", "total": 8}, "confidence": "wrapper", "auto_accept": auto_accept,
        "thresholds": {"pass_rate": 0}, **keys,
    }  # fmt: skip
    path = pytester.path / "a.extract.yaml"
    path.write_text(json.dumps({"defaults": defaults, "cases": listed}), encoding="utf-8")


RULE = {"confidence": 0.9, "precision": 0.9}


def text_of(result: pytest.RunResult) -> str:
    return " ".join(result.stdout.str().split())


def test_a_precision_that_the_cases_show(pytester: pytest.Pytester, echo: None) -> None:
    write(pytester, 40, wrong=0, auto_accept=RULE)
    result = pytester.runpytest("--extract-report=page.html", "--extract-report=r.md")
    assert result.ret == 0
    sentence = (
        "auto-accept at confidence 0.9 holds 90 %: 40 of 40 accepted values right (100 %), at least 92.7 % by case "
        "(95 % sure); coverage 50 %, 40 cases"
    )
    assert sentence in text_of(result)
    assert "holds 90" in (pytester.path / "page.html").read_text(encoding="utf-8")
    assert "holds 90 %" in (pytester.path / "r.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("args", "status"), [([], 1), (["--extract-gate=none"], 0)])
def test_a_precision_that_is_missed_fails_the_run(
    pytester: pytest.Pytester, echo: None, args: list[str], status: int
) -> None:
    write(pytester, 20, wrong=5, auto_accept=RULE)
    result = pytester.runpytest("--extract-report=r.md", *args)
    result.assert_outcomes(passed=20)
    assert result.ret == status
    assert "auto-accept at confidence 0.9 misses 90 %: 15 of 20 accepted values right (75 %)" in text_of(result)
    assert "accepted and wrong: total 5" in text_of(result)
    assert ("❌" in (pytester.path / "r.md").read_text(encoding="utf-8")) is (status == 1)


@pytest.mark.parametrize(("inconclusive", "status"), [("warn", 0), ("pass", 0), ("fail", 1)])
def test_too_few_cases_are_inconclusive(pytester: pytest.Pytester, echo: None, inconclusive: str, status: int) -> None:
    write(pytester, 10, wrong=0, auto_accept={**RULE, "precision": 0.99})
    result = pytester.runpytest(f"--extract-inconclusive={inconclusive}")
    assert result.ret == status
    assert "too few cases to show 99 %" in text_of(result)
    assert "about 299 cases without a wrong value would show it" in text_of(result)


def test_its_measures_have_thresholds_baselines_and_reports(
    pytester: pytest.Pytester, echo: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    write(pytester, 3, wrong=1, auto_accept={"confidence": 0.9}, thresholds={"auto_accept_precision": 0.8})
    result = pytester.runpytest("--extract-report=r.jsonl", "--extract-baseline=b.json", "--extract-update-baseline")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*auto_accept_precision 0 is below 0.8*"])
    baseline = json.loads((pytester.path / "b.json").read_text(encoding="utf-8"))
    assert '"auto_accept_coverage": [0.5]' in json.dumps(baseline)
    assert main(["report", "r.jsonl"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["auto_accept_precision", "0.6667"] in [line[:2] for line in lines]


def test_a_threshold_without_auto_accept_cannot_be_checked(pytester: pytest.Pytester, echo: None) -> None:
    write(pytester, 1, wrong=0, auto_accept={"confidence": 0.9}, thresholds={"auto_accept_coverage": 0.1})
    text = (pytester.path / "a.extract.yaml").read_text(encoding="utf-8").replace('"auto_accept": {', '"tags": {')
    (pytester.path / "a.extract.yaml").write_text(text, encoding="utf-8")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*auto_accept_coverage cannot be checked: what it is made of is not there (*"])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"precision": 0.9}, "needs `confidence`"),
        ({"confidence": 0.9, "precision": 1}, "must be a number above 0 and below 1"),
        ({"confidence": 2}, "must be a number from 0 to 1"),
        ({"confidence": 0.9, "fields": {"totl": 0.9}}, "did you mean 'total'"),
        ({"confidence": 0.9, "precison": 0.9}, "did you mean 'precision'"),
    ],
)
def test_mistakes_in_the_key(pytester: pytest.Pytester, echo: None, rule: object, message: str) -> None:
    write(pytester, 1, wrong=0, auto_accept=rule)
    assert message in pytester.runpytest().stdout.str()


def test_the_command_proposes_thresholds_on_one_half_and_checks_them_on_the_other(
    pytester: pytest.Pytester, echo: None, capsys: pytest.CaptureFixture[str]
) -> None:
    source = random.Random(1)
    listed = []
    for number in range(160):
        confidence = round(0.5 + source.random() / 2, 3)
        right = source.random() < confidence or confidence > 0.6
        answer = {
            "vendor": {"value": source.choice(["ACME", "Acme"]), "confidence": 0.9},
            "total": {"value": 8 if right else 7, "confidence": confidence},
        }
        listed.append({"id": f"c{number}", "text": json.dumps(answer)})
    defaults = {"schema": SCHEMA, "gold": {"vendor": "ACME", "total": 8}, "confidence": "wrapper"}
    (pytester.path / "a.extract.yaml").write_text(json.dumps({"defaults": defaults, "cases": listed}), encoding="utf-8")
    pytester.runpytest("--extract-report=r.jsonl", "--extract-gate=none", "-q")
    capsys.readouterr()
    assert main(["report", "r.jsonl", "--auto-accept", "0.9"]) == 0
    printed = capsys.readouterr().out
    assert "auto-accept with 90 % right: thresholds proposed on 80 cases, checked on 80 others" in printed
    assert "  vendor: no confidence is shown to have 90 % right" in printed.splitlines()
    assert main(["report", "r.jsonl", "--auto-accept", "0.9", "--json"]) == 0
    (variant,) = json.loads(capsys.readouterr().out)
    total = next(each for each in variant["fields"] if each["field"] == "total")
    assert 0.5 <= total["confidence"] < 0.8
    assert total["proposed"]["precision_lower_bound"] >= 0.9
    assert total["checked"]["precision"] >= 0.85
    assert f'"total": {total["confidence"]:g}' in printed, "as keys of a case file"
    assert main(["report", "r.jsonl", "--auto-accept", "0.999"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("total: too few cases: 80 propose, and 99.9 % needs about " in line for line in lines)


def test_the_command_without_confidence(
    pytester: pytest.Pytester, echo: None, capsys: pytest.CaptureFixture[str]
) -> None:
    (pytester.path / "a.extract.yaml").write_text(
        json.dumps({"text": '{"total": 8}', "schema": SCHEMA, "gold": {"total": 8}}), encoding="utf-8"
    )
    pytester.runpytest("--extract-report=r.jsonl")
    assert main(["report", "r.jsonl", "--auto-accept", "0.9"]) != 0
    assert "no value of these results has a confidence" in capsys.readouterr().err
    assert main(["report", "r.jsonl", "--auto-accept", "2"]) != 0
    assert "above 0 and below 1" in capsys.readouterr().err


def test_the_command_shows_calibration_by_field(
    pytester: pytest.Pytester, echo: None, capsys: pytest.CaptureFixture[str]
) -> None:
    write(pytester, 30, wrong=15, auto_accept=RULE, tags={"supplier": "acme"})
    pytester.runpytest("--extract-report=r.jsonl", "-q")
    capsys.readouterr()
    assert main(["report", "r.jsonl", "--calibration"]) == 0
    printed = capsys.readouterr().out
    assert "confidence of 60 values in 30 cases" in printed
    rows = [line.split() for line in printed.splitlines()]
    assert ["all", "60", "0.725", "0.75"] in [row[:4] for row in rows]
    assert {"vendor", "total"} <= {row[0] for row in rows if row}
    assert main(["report", "r.jsonl", "--calibration", "--by", "supplier"]) == 2
    assert "--by has no effect with --calibration" in capsys.readouterr().err
    assert main(["report", "r.jsonl", "--calibration", "--json"]) == 0
    (variant,) = json.loads(capsys.readouterr().out)
    assert variant["overall"]["error"]["mean"] == pytest.approx(0.475)
    assert variant["fields"]["total"]["accuracy"]["mean"] == 0.5
