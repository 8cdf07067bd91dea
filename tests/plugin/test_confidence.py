"""Answers with confidence and citations: declared in a case, in defaults or in the ini file, and kept to the end."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_extract.core.measures import SCORE_MEASURES
from pytest_extract.results import read_results
from tests.service_answers import ANSWERS, BARE, SCHEMA

Write = Callable[..., None]
WRONG = {**BARE, "total": 145.06}
BESIDE = """
import json
import pytest
from pytest_extract import Extraction

@pytest.fixture(scope="session")
def extractor():
    def extract(document):
        with open("calls", "a") as log:
            log.write("x")
        return Extraction(
            json.loads(document.text),
            confidence={"total": 0.9, "items[1].amount": 0.6},
            citations={"total": [{"page": 1, "quote": "TOTAL $154.06"}]},
        )
    return extract
"""


def write(pytester: pytest.Pytester, name: str, answer: object, **keys: object) -> None:
    case = {"text": json.dumps(answer), "schema": SCHEMA, "gold": WRONG, **keys}
    (pytester.path / f"{name}.extract.yaml").write_text(json.dumps(case), encoding="utf-8")


def kept(path: Path) -> dict[str, dict[str, tuple[float | None, str | None]]]:
    """Return confidence and first quote by case and path."""
    return {
        result.case_id: {
            str(leaf.path): (leaf.confidence, leaf.citations[0].quote if leaf.citations else None)
            for leaf in result.attempts[0].score.leaves
        }
        for result in read_results(path).results
    }


def test_answers_of_services_through_record_replay_results_and_reports(pytester: pytest.Pytester, echo: None) -> None:
    for name, answer in ANSWERS.items():
        write(pytester, name, answer, confidence=name, thresholds={"pass_rate": 0.5})
    write(pytester, "bare", BARE, thresholds={"pass_rate": 0.5})
    files = ["--extract-report=page.html", "--extract-report=table.csv", "--extract-report=one.jsonl"]
    pytester.runpytest("--extract-record=once", *files).assert_outcomes(passed=len(ANSWERS) + 1)
    pytester.makeconftest("")
    replayed = pytester.runpytest("--extract-record=none", "--extract-other-code=allow", "--extract-report=two.jsonl")
    again = pytester.runpytest("--extract-from=one.jsonl", "--extract-report=three.jsonl")
    for result in (replayed, again):
        result.assert_outcomes(passed=len(ANSWERS) + 1)

    found = [kept(pytester.path / f"{name}.jsonl") for name in ("one", "two", "three")]
    assert found[0] == found[1] == found[2]
    for name in ANSWERS:
        assert found[0][name]["total"] == (0.9, "TOTAL $154.06"), name
        assert found[0][name]["items[1].amount"] == (0.6, "54.06"), name
    assert set(found[0]["bare"].values()) == {(None, None)}
    lines = (pytester.path / "one.jsonl").read_text(encoding="utf-8").splitlines()
    scores = [json.loads(line)["attempts"][0]["score"] for line in lines]
    measured = {json.dumps([[score["measures"][name] for name in SCORE_MEASURES], score["gates"]]) for score in scores}
    assert len(measured) == 1, "scored as the bare values"

    page = (pytester.path / "page.html").read_text(encoding="utf-8")
    assert "confidence 0.9" in page
    with (pytester.path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    cells = {(row["case"], row["path"]): row["confidence"] for row in rows}
    assert cells["reducto", "items[1].amount"] == "0.6"
    assert cells["bare", "items[1].amount"] == ""


def test_a_failing_field_shows_its_confidence(pytester: pytest.Pytester, echo: None) -> None:
    write(pytester, "a", ANSWERS["extend"], confidence="extend")
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(["*total*mismatch*gold 145.06*extracted 154.06*", "*confidence 0.9*"])


@pytest.mark.parametrize("name", ANSWERS)
def test_an_undeclared_answer_gets_a_sentence_that_declares_it(
    pytester: pytest.Pytester, echo: None, name: str
) -> None:
    write(pytester, "a", ANSWERS[name], gates={"schema": False})
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    sentence = f"declare its shape with `confidence: {name}` in the case or its defaults"
    assert sentence in " ".join(result.stdout.str().split())


def test_a_failing_bare_answer_gets_no_such_sentence(pytester: pytest.Pytester, echo: None) -> None:
    write(pytester, "a", BARE)
    assert "declare its shape" not in pytester.runpytest().stdout.str()


def test_the_ini_file_declares_all_cases_and_a_case_itself(pytester: pytest.Pytester, echo: None) -> None:
    pytester.makeini("[pytest]\nextract_confidence = llamaextract")
    keys = {"thresholds": {"pass_rate": 0.5}}
    write(pytester, "a", ANSWERS["llamaextract"], **keys)
    write(pytester, "b", ANSWERS["extend"], confidence="extend", **keys)
    (pytester.path / "c.extract.yaml").write_text(
        json.dumps(
            {
                "defaults": {"schema": SCHEMA, "gold": WRONG, "confidence": "reducto", **keys},
                "cases": [{"text": json.dumps(ANSWERS["reducto"])}],
            }
        ),
        encoding="utf-8",
    )
    pytester.runpytest().assert_outcomes(passed=3)
    own = json.dumps({"values": "data", "confidence": "extraction_metadata.field_metadata.{path}.confidence"})
    result = pytester.runpytest("-o", f"extract_confidence={own}", "a.extract.yaml", "--extract-report=r.jsonl")
    result.assert_outcomes(passed=1)
    assert kept(pytester.path / "r.jsonl")["a"]["items[1].amount"] == (0.6, None)


def test_wrong_declarations_are_reported_before_the_first_call(pytester: pytest.Pytester, echo: None) -> None:
    result = pytester.runpytest("-o", "extract_confidence=extnd")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*extract_confidence: 'extnd' must be *not 'extnd'; did you mean 'extend'?*"])
    (pytester.path / "a.extract.yaml").write_text(
        "text: x\nschema: {type: object}\ngold: {}\nconfidence:\n  wraper: {}\n", encoding="utf-8"
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(["*a.extract.yaml:5:*confidence has no key 'wraper'; did you mean 'wrapper'?*"])


def test_confidence_beside_the_output_is_recorded_and_replayed(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(BESIDE)
    write(pytester, "a", BARE, thresholds={"pass_rate": 0.5})
    for number in (1, 2):
        pytester.runpytest("--extract-record=once", f"--extract-report={number}.jsonl").assert_outcomes(passed=1)
    pytester.runpytest("--extract-from=1.jsonl", "--extract-report=3.jsonl").assert_outcomes(passed=1)
    assert (pytester.path / "calls").read_text(encoding="utf-8") == "x"
    found = [kept(pytester.path / f"{number}.jsonl")["a"] for number in (1, 2, 3)]
    assert found[0] == found[1] == found[2]
    assert found[0]["total"] == (0.9, "TOTAL $154.06")
    assert found[0]["items[1].amount"] == (0.6, None)
    assert found[0]["invoice_number"] == (None, None)


@pytest.mark.parametrize("bad", ["confidence='high'", "confidence=object()", "citations=3", "confidence=True"])
def test_what_is_no_confidence_breaks_the_case_with_a_sentence(pytester: pytest.Pytester, bad: str) -> None:
    pytester.makeconftest(
        "import pytest\nfrom pytest_extract import Extraction\n"
        "@pytest.fixture(scope='session')\ndef extractor():\n"
        f"    return lambda document: Extraction({{}}, {bad})\n"
    )
    write(pytester, "a", BARE)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*Extraction({bad.partition('=')[0]}=...)*"])


def test_a_new_gold_holds_the_bare_values(
    pytester: pytest.Pytester, echo: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    (pytester.path / "gold.json").write_text(json.dumps(WRONG), encoding="utf-8")
    write(pytester, "a", ANSWERS["reducto"], confidence="reducto", gold="gold.json")
    pytester.runpytest("--extract-update-gold=fix")
    assert json.loads((pytester.path / "gold.json").read_text(encoding="utf-8")) == BARE


def test_a_secret_in_a_citation_is_not_recorded(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", "zx81-TOPSECRET-4711-aa")
    pytester.makeconftest(
        "import json, os, pytest\nfrom pytest_extract import Extraction\n"
        "@pytest.fixture(scope='session')\ndef extractor():\n"
        "    return lambda document: Extraction(json.loads(document.text), citations={'total': [os.environ['SERVICE_API_KEY']]})\n"
    )
    write(pytester, "a", BARE)
    pytester.runpytest("--extract-record=all", "--extract-report=r.jsonl")
    written = [path for path in pytester.path.rglob("*.json*") if "TOPSECRET" in path.read_text(encoding="utf-8")]
    assert written == []
