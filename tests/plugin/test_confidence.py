"""Answers with confidence and citations: declared in a case, in defaults or in the ini file, and kept to the end."""

from __future__ import annotations

import csv
import json

import pytest

from pytest_extract.core.measures import SCORE_MEASURES
from tests.plugin.conftest import refused, results, text_of
from tests.service_answers import ANSWERS, BARE, SCHEMA

WRONG = {**BARE, "total": 145.06}
LENIENT = {"thresholds": {"pass_rate": 0.5}}


@pytest.fixture
def write(write_case):
    return lambda name, answer, **keys: write_case(name, answer, **{"schema": SCHEMA, "gold": WRONG, **keys})


def kept(pytester, name):
    """Return confidence and first quote by case and path."""
    return {
        result.case_id: {
            str(leaf.path): (leaf.confidence, leaf.citations[0].quote if leaf.citations else None)
            for leaf in result.attempts[0].score.leaves
        }
        for result in results(pytester, name)
    }


def test_answers_of_services_through_record_replay_results_and_reports(pytester, write, run, echo):
    for name, answer in ANSWERS.items():
        write(name, answer, confidence=name, **LENIENT)
    write("bare", BARE, **LENIENT)
    ran = {"passed": len(ANSWERS) + 1}
    files = [f"--extract-report={name}" for name in ("page.html", "table.csv", "one.jsonl")]
    run("--extract-record=once", *files, **ran)
    pytester.makeconftest("")
    run("--extract-record=none", "--extract-other-code=allow", "--extract-report=two.jsonl", **ran)
    run("--extract-from=one.jsonl", "--extract-report=three.jsonl", **ran)

    found = [kept(pytester, f"{name}.jsonl") for name in ("one", "two", "three")]
    assert found[0] == found[1] == found[2]
    for name in ANSWERS:
        assert found[0][name]["total"] == (0.9, "TOTAL $154.06"), name
        assert found[0][name]["items[1].amount"] == (0.6, "54.06"), name
    assert set(found[0]["bare"].values()) == {(None, None)}
    scores = [json.loads(line)["attempts"][0]["score"] for line in text_of(pytester, "one.jsonl").splitlines()]
    measured = {json.dumps([[score["measures"][name] for name in SCORE_MEASURES], score["gates"]]) for score in scores}
    assert len(measured) == 1, "scored as the bare values"
    assert "confidence 0.9" in text_of(pytester, "page.html")
    rows = csv.DictReader(text_of(pytester, "table.csv").splitlines())
    cells = {(row["case"], row["path"]): row["confidence"] for row in rows}
    assert cells["reducto", "items[1].amount"] == "0.6"
    assert cells["bare", "items[1].amount"] == ""


def test_a_failing_field_shows_its_confidence(write, run, echo):
    write("a", ANSWERS["extend"], confidence="extend")
    run(lines=["*total*mismatch*gold 145.06*extracted 154.06*", "*confidence 0.9*"])


def test_an_undeclared_answer_gets_a_sentence_that_declares_it(write, run, echo):
    for name in ANSWERS:
        write(name, ANSWERS[name], gates={"schema": False})
    write("bare", BARE)
    told = " ".join(run(failed=len(ANSWERS) + 1).stdout.str().split())
    assert told.count("declare its shape") == len(ANSWERS)
    for name in ANSWERS:
        assert f"declare its shape with `confidence: {name}` in the case or its defaults" in told


def test_the_ini_file_declares_all_cases_and_a_case_itself(pytester, write, write_suite, run, echo):
    pytester.makeini("[pytest]\nextract_confidence = llamaextract")
    write("a", ANSWERS["llamaextract"], **LENIENT)
    write("b", ANSWERS["extend"], confidence="extend", **LENIENT)
    write_suite([{"text": json.dumps(ANSWERS["reducto"])}], schema=SCHEMA, gold=WRONG, confidence="reducto", **LENIENT)
    run(passed=3)
    own = json.dumps({"values": "data", "confidence": "extraction_metadata.field_metadata.{path}.confidence"})
    run("-o", f"extract_confidence={own}", "a.extract.yaml", "--extract-report=r.jsonl", passed=1)
    assert kept(pytester, "r.jsonl")["a"]["items[1].amount"] == (0.6, None)


def test_wrong_declarations_are_reported_before_the_first_call(write_files, run, echo):
    told = "*extract_confidence: 'extnd' must be *not 'extnd'; did you mean 'extend'?*"
    refused(run("-o", "extract_confidence=extnd"), told)
    write_files({"a.extract.yaml": "text: x\nschema: {type: object}\ngold: {}\nconfidence:\n  wraper: {}\n"})
    run(lines=["*a.extract.yaml:5:*confidence has no key 'wraper'; did you mean 'wrapper'?*"])


BESIDE = """
return Extraction(
    json.loads(document.text),
    confidence={"total": 0.9, "items[1].amount": 0.6},
    citations={"total": [{"page": 1, "quote": "TOTAL $154.06"}]},
)
"""


def test_confidence_beside_the_output_is_recorded_and_replayed(pytester, write, write_extractor, calls, run):
    write_extractor(BESIDE)
    write("a", BARE, **LENIENT)
    for number, how in enumerate(("record=once", "record=once", "from=0.jsonl")):
        run(f"--extract-{how}", f"--extract-report={number}.jsonl", passed=1)
        found = kept(pytester, f"{number}.jsonl")["a"]
        named = [found[name] for name in ("total", "items[1].amount", "invoice_number")]
        assert named == [(0.9, "TOTAL $154.06"), (0.6, None), (None, None)]
    assert calls() == 1


@pytest.mark.parametrize("bad", ["confidence='high'", "confidence=object()", "citations=3", "confidence=True"])
def test_what_is_no_confidence_breaks_the_case_with_a_sentence(write, write_extractor, run, bad):
    write_extractor(f"return Extraction({{}}, {bad})")
    write("a", BARE)
    run(failed=1, lines=[f"*Extraction({bad.partition('=')[0]}=...)*"])


def test_a_new_gold_holds_the_bare_values(pytester, write, write_files, run, echo):
    write_files({"gold.json": WRONG})
    write("a", ANSWERS["reducto"], confidence="reducto", gold="gold.json")
    run("--extract-update-gold=fix")
    assert json.loads(text_of(pytester, "gold.json")) == BARE


def test_a_secret_in_a_citation_is_not_recorded(pytester, write, write_extractor, run, monkeypatch):
    monkeypatch.setenv("SERVICE_API_KEY", "zx81-TOPSECRET-4711-aa")
    cited = "citations={'total': [os.environ['SERVICE_API_KEY']]}"
    write_extractor(f"return Extraction(json.loads(document.text), {cited})")
    write("a", BARE)
    run("--extract-record=all", "--extract-report=r.jsonl", failed=1, lines=["not recorded: *SERVICE_API_KEY*"])
    (written,) = pytester.path.rglob("*.json*")
    assert "TOPSECRET" not in written.read_text(encoding="utf-8")
