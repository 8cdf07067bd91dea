"""The gate on auto-accept in a run: its sentence, its exit status, its measures, and the command that proposes."""

from __future__ import annotations

import json
import random
import re

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cli import main
from tests.plugin.conftest import text_of

pytestmark = pytest.mark.usefixtures("echo")
SCHEMA = {"type": "object", "properties": {"vendor": {"type": "string"}, "total": {"type": "integer"}}}
RULE = {"confidence": 0.9, "precision": 0.9}


def answer(total, confidence=0.95, vendor="ACME", vendor_confidence=0.5):
    fields = {"vendor": (vendor, vendor_confidence), "total": (total, confidence)}
    return json.dumps({name: {"value": value, "confidence": sure} for name, (value, sure) in fields.items()})


@pytest.fixture
def write(write_suite):
    """Write cases by their answers, or a number of them of which some have a wrong total, which is confident."""

    def write(answers, wrong=0, **keys):
        if isinstance(answers, int):
            answers = [answer(7 if number < wrong else 8) for number in range(answers)]
        defaults = {"gold": {"vendor": "ACME", "total": 8}, "confidence": "wrapper", "thresholds": {"pass_rate": 0}}
        write_suite([{"text": text} for text in answers], schema=SCHEMA, **{**defaults, **keys})

    return write


@pytest.fixture
def report(capsys):
    """Run the command `report` on r.jsonl; returns its status and what it printed, as one text."""

    def report(*args):
        capsys.readouterr()
        status = main(["report", "r.jsonl", *args])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    return report


def words(result):
    return " ".join(result.stdout.str().split())


def squeezed(printed):
    return [" ".join(line.split()) for line in printed.splitlines()]


def test_a_precision_that_the_cases_show_or_are_too_few_for(pytester, write, run):
    write(40, auto_accept=RULE)
    result = run("--extract-report=page.html", "--extract-report=r.md", status=0)
    assert "auto-accept at confidence 0.9 holds 90 %: 40 of 40 accepted values right (100 %)" in words(result)
    assert "holds 90" in text_of(pytester, "page.html")
    assert "holds 90 %" in text_of(pytester, "r.md")
    write(10, auto_accept={**RULE, "precision": 0.99})
    for inconclusive, status in (("warn", 0), ("fail", 1)):
        result = run(f"--extract-rule=inconclusive={inconclusive}", status=status)
        assert "too few cases to show 99 %" in words(result)
        assert "about 299 cases without a wrong value would show it" in words(result)


def test_a_precision_that_is_missed_fails_the_run_and_the_command_shows_calibration(pytester, write, run, report):
    write(20, wrong=5, auto_accept=RULE)
    for gate, status in (("none", 0), ("case", 1)):
        files = ("--extract-report=r.md", "--extract-report=r.jsonl")
        result = run(*files, f"--extract-gate={gate}", passed=20, status=status)
        assert "auto-accept at confidence 0.9 misses 90 %: 15 of 20 accepted values right (75 %)" in words(result)
        assert "accepted and wrong: total 5" in words(result)
        assert ("❌" in text_of(pytester, "r.md")) is (status == 1)
    status, printed = report("--calibration")
    rows = [line.split() for line in squeezed(printed)]
    assert status == 0
    assert "confidence of 40 values in 20 cases" in printed
    assert ["all", "40", "0.725", "0.875"] in [row[:4] for row in rows]
    assert {"vendor", "total"} <= {row[0] for row in rows if row}
    (variant,) = json.loads(report("--calibration", "--json")[1])
    overall, *fields = variant["tables"][0]["rows"]
    assert overall["calibration error"] == pytest.approx(0.35)
    assert [row["right"] for row in fields if row["field"] == "total"] == [0.75]
    status, told = report("--calibration", "--by", "supplier")
    assert status == 2
    assert "--by has no effect with --calibration" in told


def test_its_measures_have_thresholds_baselines_and_reports(pytester, write, run, report):
    write(3, wrong=1, auto_accept={"confidence": 0.9}, thresholds={"auto_accept_precision": 0.8})
    files = ("--extract-report=r.jsonl", "--extract-baseline=b.json", "--extract-update-baseline")
    run(*files, passed=2, failed=1, lines=["*auto_accept_precision 0 is below 0.8*"])
    assert '"auto_accept_coverage": [0.5]' in json.dumps(json.loads(text_of(pytester, "b.json")))
    assert "auto_accept_precision 0.6667" in " ".join(report()[1].split())
    write(1, thresholds={"auto_accept_coverage": 0.1})
    run(failed=1, lines=["*auto_accept_coverage cannot be checked: what it is made of is not there (*"])


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
def test_mistakes_in_the_key(pytester, write, rule, message):
    write(1, auto_accept=rule)
    assert message in str(load_cases(pytester.path / "all.extract.yaml").errors)


def test_the_command_proposes_thresholds_on_one_half_and_checks_them_on_the_other(write, run, report):
    source = random.Random(1)
    answers = []
    for _ in range(160):
        confidence = round(0.5 + source.random() / 2, 3)
        right = source.random() < confidence or confidence > 0.6
        vendor = source.choice(["ACME", "Acme"])
        answers.append(answer(8 if right else 7, confidence, vendor, vendor_confidence=0.9))
    write(answers)
    run("--extract-report=r.jsonl", "-q")
    status, printed = report("--auto-accept", "0.9")
    assert status == 0
    assert "auto-accept with 90 % right: thresholds proposed on 80 cases, checked on 80 others" in printed
    assert "vendor - - - - - - - no confidence shows it" in squeezed(printed)
    (variant,) = json.loads(report("--auto-accept", "0.9", "--json")[1])
    total = next(each for each in variant["tables"][0]["rows"] if each["field"] == "total")
    assert total["at least"] >= 0.9
    _, printed = report("--auto-accept", "0.999")
    (total,) = (line for line in squeezed(printed) if line.startswith("total "))
    assert re.fullmatch(r"total - - - - - - - needs about [\d,]+ cases", total)


def test_a_command_that_can_propose_nothing_says_why(write, run, report):
    write(['{"total": 8}'])
    run("--extract-report=r.jsonl")
    for share, why in (("0.9", "no value of these results has a confidence"), ("2", "above 0 and below 1")):
        status, told = report("--auto-accept", share)
        assert status != 0
        assert why in told
