"""The hooks that hand results and verdicts to a project's own code."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.plugin.conftest import ECHO, GOLD

HOOKS = (
    ECHO
    + """
def pytest_extract_result(item, result):
    with open("results.txt", "a") as file:
        file.write(f"{item.nodeid} {result.outcome} {result.scores[0].measures['pass_rate']:.2f}\\n")

def pytest_extract_verdict(config, verdict):
    with open("verdicts.txt", "a") as file:
        file.write(f"{verdict.answer}: {verdict.reasons[0]}\\n")
"""
)


@pytest.mark.parametrize("arguments", [(), ("-n1",)], ids=["alone", "xdist"])
def test_results_and_the_verdict_are_handed_on(
    pytester: pytest.Pytester, write_case: Callable[..., None], arguments: tuple[str, ...]
) -> None:
    pytester.makeconftest(HOOKS)
    write_case("a")
    write_case("b", {**GOLD, "total": 7})
    pytester.runpytest("--extract-baseline=b.json", "--extract-update-baseline", *arguments)
    lines = sorted((pytester.path / "results.txt").read_text(encoding="utf-8").splitlines())
    assert lines == ["a.extract.yaml::a passed 1.00", "b.extract.yaml::b failed 0.67"]
    assert not (pytester.path / "verdicts.txt").exists()
    pytester.runpytest("--extract-baseline=b.json", *arguments)
    (line,) = (pytester.path / "verdicts.txt").read_text(encoding="utf-8").splitlines()
    assert line.partition(":")[0] in {"WORSE", "PASS", "UNDECIDED"}


def test_an_error_in_a_hook_fails_the_item(pytester: pytest.Pytester, write_case: Callable[..., None]) -> None:
    pytester.makeconftest(ECHO + "\ndef pytest_extract_result(result): raise RuntimeError('no dashboard')")
    write_case("a")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*RuntimeError: no dashboard"])


READERS = """
import pytest

@pytest.fixture(scope="session")
def extractor():
    return lambda document: {"vendor": document.text}

def pytest_extract_document(document):
    if document.path is not None and document.path.suffix == ".png":
        return "read from " + str(len(document.bytes)) + " bytes"
    if "Jane" in document.text:
        return document.text.replace("Jane", "[name]")
    if "broken" in document.text:
        raise RuntimeError("no OCR here")
"""


@pytest.mark.parametrize("arguments", [(), ("-n1",)], ids=["alone", "xdist"])
def test_a_hook_gives_the_text_of_documents(
    pytester: pytest.Pytester, write_case: Callable[..., None], arguments: tuple[str, ...]
) -> None:
    pytester.makeconftest(READERS)
    (pytester.path / "scan.png").write_bytes(b"1234")
    vendor = {"type": "object", "properties": {"vendor": {"type": "string"}}}
    for name, document, text in (
        ("scan", {"document": "scan.png"}, "read from 4 bytes"),
        ("jane", {"text": "Jane owes 5"}, "[name] owes 5"),
        ("own", {"text": "as it is"}, "as it is"),
        ("bad", {"text": "broken"}, "x"),
    ):
        content = {**document, "schema": vendor, "gold": {"vendor": text}}
        (pytester.path / f"{name}.extract.yaml").write_text(json.dumps(content), encoding="utf-8")
    result = pytester.runpytest(*arguments)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*the document: its text could not be read: RuntimeError: no OCR here*"])


def test_a_recording_depends_on_the_text_that_the_hook_gives(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        READERS.replace('"[name]"', '__import__("pathlib").Path("name.txt").read_text()').replace(
            '{"vendor": document.text}', '{"vendor": "x"}'
        )
    )
    content = {"text": "Jane", "schema": {"type": "object", "properties": {"vendor": {}}}, "gold": {"vendor": "x"}}
    (pytester.path / "a.extract.yaml").write_text(json.dumps(content), encoding="utf-8")
    for name in ("one", "two", "two"):
        (pytester.path / "name.txt").write_text(name, encoding="utf-8")
        result = pytester.runpytest("--extract-record=once", "--extract-other-code=allow")
    result.assert_outcomes(passed=1)
    assert len([*pytester.path.rglob("extract-recordings/*/*.json")]) == 2
    (pytester.path / "name.txt").write_text("three", encoding="utf-8")
    result = pytester.runpytest("--extract-record=none")
    result.stdout.fnmatch_lines(["*recorded for text from pytest_extract_document *, now *"])
