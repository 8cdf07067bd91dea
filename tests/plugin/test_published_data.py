"""The published datasets, imported, collected and scored in pytest: gold against itself (where the data is at hand)."""

import json

import pytest
from jsonschema import Draft202012Validator

from pytest_extract.cases.load import load_cases
from pytest_extract.cli import main
from tests.plugin.conftest import results
from tests.shared_data import shared

pytestmark = pytest.mark.slow
SAME = ("pass_rate", "mean_score", "precision", "recall", "f1", "perfect", "json_parse")
VALID = (*SAME, "strict", "syntax", "json_pass", "value_accuracy", "faithfulness", "path_recall", "structure_coverage")
HANGING = {*VALID, "type_safety", "required_key_recall", "key_match"} - {*SAME}
"""Measures that fall with the schema gate of SOB or DeepJSONEval, which no `gates:` of a case turns off."""


@pytest.fixture
def gold_against_itself(pytester, run, write_extractor):
    """Import a dataset and run it; return the results, and the node ids of those whose gold breaks its schema."""

    def score(dataset, source):
        write_extractor("return case.gold", "case")
        assert main(["import", dataset, str(source), "cases"]) == 0
        cases = {
            f"{file.relative_to(pytester.path).as_posix()}::{case.id}": case
            for file in (pytester.path / "cases").rglob("*.extract.yaml")
            for case in load_cases(file).cases
        }
        run("cases", "--extract-report=r.jsonl", "-q", passed=len(cases))
        found = results(pytester)
        broken = {name for name, case in cases.items() if not case.gates.schema}
        for result in found:
            measures = dict(result.attempts[0].score.measures)
            names = SAME if result.nodeid in broken else VALID
            assert {name: measures[name] for name in names} == dict.fromkeys(names, 1.0), result.nodeid
            if result.nodeid in broken:
                assert measures["json_pass"] == measures["syntax"] == 0.0, result.nodeid
                assert {name for name, value in measures.items() if value < 1.0} <= HANGING, result.nodeid
        return found, broken

    return score


def breaking(source):
    """Find the golds that break their schema, as jsonschema alone sees it."""
    found = []
    for path in source.rglob("*-schema.json"):
        schema = json.loads(path.read_text(encoding="utf-8"))
        validator = Draft202012Validator(schema.get("schema_definition", schema))
        golds = (path.parent / "pdf+gold").glob("*.gold.json")
        found += [gold for gold in golds if not validator.is_valid(json.loads(gold.read_text(encoding="utf-8")))]
    return found


def test_extract_bench(gold_against_itself):
    source = shared("data/extract-bench/dataset")
    found, broken = gold_against_itself("extract-bench", source)
    assert len(found) == len([*source.rglob("*.gold.json")])
    assert len(broken) == len(breaking(source)) >= 5


def test_deepjsoneval(gold_against_itself):
    source = shared("data/deepjsoneval/part.jsonl")
    found, broken = gold_against_itself("deepjsoneval", source)
    assert len(found) == len(source.read_text(encoding="utf-8").splitlines())
    assert 0 < len(broken) < len(found) / 20
    for each in found:
        assert each.shape["depth"] == int(str(each.tags["true_depth"]))
        assert each.nodeid in broken or each.attempts[0].score.measures["key_match"] == 1.0
