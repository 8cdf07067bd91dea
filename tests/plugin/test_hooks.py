"""The hooks that hand results, verdicts and documents to a project's own code."""

from __future__ import annotations

from tests.plugin.conftest import ECHO, GOLD, plain_and_workers, text_of

HOOKS = """
def pytest_extract_result(item, result):
    with open("results.txt", "a") as file:
        file.write(f"{item.nodeid} {result.outcome} {result.scores[0].measures['pass_rate']:.2f}\\n")

def pytest_extract_verdict(config, verdict):
    with open("verdicts.txt", "a") as file:
        file.write(f"{verdict.answer}: {verdict.reasons[0]}\\n")
"""
READERS = """
def pytest_extract_document(document):
    if document.path is not None and document.path.suffix == ".png":
        return "read from " + str(len(document.bytes)) + " bytes"
    if "Jane" in document.text:
        return document.text.replace("Jane", (HERE / "name.txt").read_text())
    if "broken" in document.text:
        raise RuntimeError("no OCR here")
"""


@plain_and_workers
def test_results_and_the_verdict_are_handed_on(pytester, write_case, run, workers):
    pytester.makeconftest(ECHO + HOOKS)
    write_case("a")
    write_case("b", {**GOLD, "total": 7})
    run("--extract-baseline=b.json", "--extract-update-baseline", *workers)
    lines = sorted(text_of(pytester, "results.txt").splitlines())
    assert lines == ["a.extract.yaml::a passed 1.00", "b.extract.yaml::b failed 0.67"]
    assert not (pytester.path / "verdicts.txt").exists()
    run("--extract-baseline=b.json", *workers)
    (line,) = text_of(pytester, "verdicts.txt").splitlines()
    assert line.partition(":")[0] in {"WORSE", "PASS", "UNDECIDED"}


def test_an_error_in_a_hook_fails_the_item(pytester, write_case, run):
    pytester.makeconftest(ECHO + "\ndef pytest_extract_result(result): raise RuntimeError('no dashboard')")
    write_case("a")
    run(failed=1, lines=["*RuntimeError: no dashboard"])


@plain_and_workers
def test_a_hook_gives_the_text_of_documents(write_extractor, add_to_conftest, write_files, run, workers):
    write_extractor("return {'vendor': document.text}")
    add_to_conftest(READERS)
    write_files({"scan.png": b"1234", "name.txt": "[name]"})
    for name, document, text in (
        ("scan", {"document": "scan.png"}, "read from 4 bytes"),
        ("jane", {"text": "Jane owes 5"}, "[name] owes 5"),
        ("own", {"text": "as it is"}, "as it is"),
        ("bad", {"text": "broken"}, "x"),
    ):
        case = {"schema": {"properties": {"vendor": {"type": "string"}}}, "gold": {"vendor": text}, **document}
        write_files({f"{name}.extract.yaml": case})
    failed = "*the document: its text could not be read: RuntimeError: no OCR here*"
    run(*workers, passed=3, failed=1, lines=[failed])


def test_a_recording_depends_on_the_text_that_the_hook_gives(
    pytester, write_extractor, add_to_conftest, write_case, write_files, run
):
    write_extractor("return {'vendor': 'ACME GmbH', 'total': 12.5}")
    add_to_conftest(READERS)
    write_case("a", "Jane", thresholds={"pass_rate": 0})
    for name in ("one", "two", "two"):
        write_files({"name.txt": name})
        run("--extract-record=once", "--extract-other-code=allow", passed=1)
    assert len([*pytester.path.rglob("extract-recordings/*/*.json")]) == 2
    write_files({"name.txt": "three"})
    run("--extract-record=none", lines=["*recorded for text from pytest_extract_document *, now *"])
