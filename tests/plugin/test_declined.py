"""A model or provider that declines has failed the case: it is not broken, and is recorded and replayed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

CONFTEST = """
import pytest
from pathlib import Path
from pytest_extract import ExtractionFailure

@pytest.fixture(scope="session")
def extractor():
    def extract(document):
        with Path("calls").open("a") as file:
            file.write("x")
        raise ExtractionFailure("{kind}", "more than the model takes: 1,200")
    return extract
"""


@pytest.mark.parametrize("kind", ["page_limit", "context_length", "refusal", "schema_rejected"])
def test_a_declined_document_fails_its_case_and_is_replayed(
    pytester: pytest.Pytester, write_case: Callable[..., None], kind: str
) -> None:
    pytester.makeconftest(CONFTEST.format(kind=kind))
    write_case("a")
    told = [f"  {kind}: more than the model takes: 1,200", f"unusable outputs: 1 {kind}"]
    for args in (
        ["--extract-record=once", "--extract-report=r.jsonl", "--extract-budget=1"],
        ["--extract-record=none"],
        ["--extract-from=r.jsonl"],
    ):
        result = pytester.runpytest(*args)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(told)
        result.stdout.no_fnmatch_line("*BROKEN*")
    assert (pytester.path / "calls").read_text() == "x"
    record = json.loads((pytester.path / "r.jsonl").read_text())
    assert record["attempts"][0]["score"]["failure"]["kind"] == kind
    assert record["attempts"][0]["score"]["measures"]["pass_rate"] == 0.0


def test_a_declined_call_does_not_end_the_budget(pytester: pytest.Pytester, write_case: Callable[..., None]) -> None:
    pytester.makeconftest(CONFTEST.format(kind="refusal"))
    write_case("a")
    write_case("b")
    pytester.runpytest("--extract-budget=1", "--extract-concurrency=1").assert_outcomes(failed=2)
