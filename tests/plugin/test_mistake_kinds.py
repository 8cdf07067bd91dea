"""Mistakes of many kinds, each in a case of its own, through the command line: the verdict, and the kind named."""

from __future__ import annotations

import json

from pytest_extract.core.values import iter_leaves
from pytest_extract.results import read_results
from pytest_extract.schema_tools.golds import infer_schema
from tests.single_mistakes import SINGLE_MISTAKES, documents_of

EXTRACTOR = """
import json, pathlib, pytest

OUTPUTS = json.loads(pathlib.Path(__file__).with_name("outputs.json").read_text(encoding="utf-8"))

@pytest.fixture(scope="session")
def extractor():
    def extract(case):
        return OUTPUTS[case.id]
    return extract
"""


def test_every_mistake_fails_its_case_and_is_named(pytester):
    outputs, cases = {}, []
    for number, mistake in enumerate(SINGLE_MISTAKES):
        gold, outputs[f"m{number}"] = documents_of(mistake)
        text = "\n".join([*(str(value) for _, value in iter_leaves(gold)), mistake.text])
        schema = infer_schema([gold])
        cases.append({"id": f"m{number}", "text": text, "schema": schema, "gold": gold, "gates": {"schema": False}})
    pytester.makeconftest(EXTRACTOR)
    (pytester.path / "outputs.json").write_text(json.dumps(outputs), encoding="utf-8")
    pytester.makefile(".extract.yaml", m=json.dumps({"cases": cases}))
    result = pytester.runpytest("--extract-report=r.jsonl")
    result.assert_outcomes(failed=len(SINGLE_MISTAKES))
    named = {}
    for case in read_results(pytester.path / "r.jsonl").results:
        (attempt,) = case.attempts
        named[case.case_id] = {mistake.kind for mistake in attempt.score.mistakes}
    wrong = [
        (mistake.what, mistake.kind, named[f"m{number}"])
        for number, mistake in enumerate(SINGLE_MISTAKES)
        if named[f"m{number}"] != {mistake.kind}
    ]
    assert wrong == []
    assert len(SINGLE_MISTAKES) >= 60
    result.stdout.fnmatch_lines(["*kinds of mistakes: *"])
    result.stdout.fnmatch_lines(["*field*swapped fields*mismatch*`net` and `gross` were swapped in 4 rows*"])
