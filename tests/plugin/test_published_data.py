"""The published datasets, imported, collected and scored in pytest: gold against itself (where the data is at hand)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from pytest_extract.cases.load import load_cases
from pytest_extract.cli import main
from pytest_extract.core.case_result import CaseResult
from pytest_extract.results import read_results
from tests.shared_data import jsonl, shared

pytestmark = pytest.mark.slow

GOLD_BACK = """
import pytest

@pytest.fixture(scope="session")
def extractor():
    def extract(case):
        return case.gold
    return extract
"""
SAME = ("pass_rate", "mean_score", "precision", "recall", "f1", "perfect", "json_parse")
VALID = (*SAME, "strict", "syntax", "json_pass", "value_accuracy", "faithfulness", "path_recall", "structure_coverage")
HANGING = {*VALID, "type_safety", "required_key_recall", "key_match"} - {*SAME}
"""Measures that fall with the schema gate of SOB or DeepJSONEval, which no `gates:` of a case turns off."""


def imported(pytester: pytest.Pytester, dataset: str, source: Path) -> dict[str, CaseResult]:
    pytester.makeconftest(GOLD_BACK)
    assert main(["import", dataset, str(source), str(pytester.path / "cases")]) == 0
    result = pytester.runpytest("cases", "--extract-report=r.jsonl", "-q")
    results = read_results(pytester.path / "r.jsonl").results
    result.assert_outcomes(passed=len(results))
    return {each.nodeid.removeprefix("cases/"): each for each in results}


def measures(result: CaseResult) -> dict[str, float]:
    assert result.attempts[0].score is not None
    return dict(result.attempts[0].score.measures)


def check(results: dict[str, CaseResult], broken: set[str]) -> None:
    assert broken <= set(results)
    for name, result in results.items():
        found = measures(result)
        names = SAME if name in broken else VALID
        assert {key: found[key] for key in names} == dict.fromkeys(names, 1.0), name
        if name in broken:
            assert found["json_pass"] == found["syntax"] == 0.0, name
            assert {key for key, value in found.items() if value < 1.0} <= HANGING, name


def test_extract_bench(pytester: pytest.Pytester) -> None:
    source = shared("data/extract-bench/dataset")
    results = imported(pytester, "extract-bench", source)
    assert len(results) == len([*source.rglob("*.gold.json")])
    broken = set()
    for file in (pytester.path / "cases").rglob("*.extract.yaml"):
        name = file.relative_to(pytester.path / "cases").as_posix()
        broken |= {f"{name}::{case.id}" for case in load_cases(file).cases if not case.gates.schema}
    assert len(broken) == len(breaking(source))
    check(results, broken)


def breaking(source: Path) -> set[Path]:
    """Golds that break their schema, as jsonschema alone sees it."""
    found = set()
    for path in source.rglob("*-schema.json"):
        schema = json.loads(path.read_text(encoding="utf-8"))
        validator = Draft202012Validator(schema.get("schema_definition", schema))
        golds = (path.parent / "pdf+gold").glob("*.gold.json")
        found |= {gold for gold in golds if not validator.is_valid(json.loads(gold.read_text(encoding="utf-8")))}
    return found


def test_extract_bench_golds_with_their_gate_on_say_where_they_break(pytester: pytest.Pytester) -> None:
    assert main(["import", "extract-bench", str(shared("data/extract-bench/dataset")), str(pytester.path)]) == 0
    for file in pytester.path.rglob("*.extract.yaml"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("    gates:\n      schema: false\n", ""), encoding="utf-8")
    result = pytester.runpytest("--collect-only", "-q")
    told = [line for line in result.outlines if "the gold does not satisfy its schema at " in line]
    assert len({line.split(":")[0] for line in told}) == len(breaking(shared("data/extract-bench/dataset")))
    assert all(re.search(r"\.gold\.json:\d+:\d+: .* at \w[\w.\[\]]*: ", line) for line in told)


def test_deepjsoneval(pytester: pytest.Pytester) -> None:
    source = shared("data/deepjsoneval/part.jsonl")
    results = imported(pytester, "deepjsoneval", source)
    assert len(results) == len(source.read_text(encoding="utf-8").splitlines())
    cases = load_cases(pytester.path / "cases" / "deepjsoneval.extract.yaml").cases
    broken = {f"deepjsoneval.extract.yaml::{case.id}" for case in cases if not case.gates.schema}
    assert 0 < len(broken) < len(results) / 20
    check(results, broken)
    assert all(measures(each)["key_match"] == 1.0 for name, each in results.items() if name not in broken)
    for each in results.values():
        assert each.shape["depth"] == int(str(each.tags["true_depth"]))


def test_sob_records_score_as_published(pytester: pytest.Pytester) -> None:
    """Imported responses of the vectors' records, read as an extractor's output."""
    vectors = [
        vector
        for vector in jsonl("vectors/sob.jsonl")
        if "expected" in vector
        and vector["modality"] == "text"
        and isinstance(vector["record"]["output"].get("candidate_response"), dict)
        and vector["expected"]["schema_valid_input"] == 1.0
    ]
    (pytester.path / "records.jsonl").write_text(
        "\n".join(json.dumps(vector["record"]) for vector in vectors), encoding="utf-8"
    )
    pytester.makeconftest(GOLD_BACK.replace("case.gold", "case.document.text"))
    assert main(["import", "sob", str(pytester.path / "records.jsonl"), str(pytester.path / "cases")]) == 0
    pytester.runpytest("cases", "--extract-report=r.jsonl", "--extract-gate=none", "--extract-judge=exact", "-q")
    found = {int(each.case_id.split("-")[0]): each for each in read_results(pytester.path / "r.jsonl").results}
    names = {"json_pass": "schema_compliance", "value_accuracy": "leaf_value_em", "perfect": "strict_json_em"}
    for number, vector in enumerate(vectors, start=1):
        ours = measures(found[number])
        for name, published in names.items():
            assert ours[name] == pytest.approx(vector["expected"][published], abs=1e-9), vector["id"]
        if vector["expected"]["known_difficulty"]:
            assert found[number].complexity == vector["expected"]["difficulty"]
    assert len(vectors) > 50
