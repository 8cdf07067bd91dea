"""`pytest-extract init`: a suite that passes as it stands, or one for documents that are there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import case_file_schema
from pytest_extract.cases.schemas import SchemaCache
from tests.commands import write


def pytest_of(*options):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "cases", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_what_init_writes_passes_as_it_stands(run):
    assert "now run: pytest cases" in run("init .").out
    status, told = pytest_of()
    assert (status, "1 case: 1 passed" in told) == (0, True), told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--extract-model=no/such-model", "--extract-model=no/such-model: no model 'no/such-model': litellm knows no"),
        ("--extract-prompt=cases/first.schema.json", "--extract-prompt: no call would see it"),
    ],
)
def test_the_conftest_that_init_writes_does_what_is_asked_or_nothing(run, option, told):
    run("init .")
    status, printed = pytest_of(option)
    assert (status, told in printed) == (pytest.ExitCode.USAGE_ERROR, True), printed


def test_a_folder_with_a_space_can_be_copied_into_a_shell(run):
    assert run("init 'my cases'").out.endswith("now run: pytest 'my cases/cases'\n")


def cases_of(suite):
    """The cases of a suite whose golds are still to be made."""
    loaded = load_cases(Path(suite), SchemaCache(updates_golds="new"))
    assert loaded.errors == ()
    return loaded.cases


@pytest.mark.parametrize(
    ("args", "ids"),
    [
        ("k", ["x", "s/x"]),
        ("a/z.txt b/x.txt", ["z", "x"]),
        ("'d d/inv[1].txt'", ["inv[1]"]),
        ("e[1] b", ["e[1]/x", "x"]),
    ],
)
def test_documents_get_a_suite_whose_golds_a_run_can_make(run, args, ids):
    names = ("a/x", "a/z", "b/x", "k/x", "k/s/x", "k/.hidden", "d d/inv[1]", "e[1]/x")
    write({f"{name}.txt": "x" for name in names})
    ended = run(f"init {args} --suite cases/all.extract.yaml")
    assert "then make the golds: pytest-extract draft cases/all.extract.yaml --model=" in ended.out
    first = Path("cases/all.extract.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=extract.schema.json"
    assert Path("cases/extract.schema.json").read_text() == case_file_schema()
    golds = {case.id: case.gold_path.as_posix() for case in cases_of("cases/all.extract.yaml")}
    assert golds == {name: f"cases/golds/{name}.json" for name in ids}


def test_a_schema_of_ones_own_and_a_suite_named_after_the_folder(run):
    schema = {"type": "object", "properties": {"t": {"type": "string"}}}
    write({"in voices/a.txt": "a", "in voices/b.md": "b", "s.json": {"$defs": {"x": schema}}})
    assert run("init 'in voices' --schema s.json#/$defs/x").status == 0
    cases = cases_of("cases/in-voices.extract.yaml")
    assert {case.id: case.schema["properties"]["t"]["type"] for case in cases} == {"a": "string", "b": "string"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("a.txt b/a.txt", "several documents would be the case a: name the folder"),
        ("gone.pdf", "gone.pdf is not there"),
        ("a.txt --suite x.yaml", "ends in .extract.yaml or .extract.yml"),
        ("a.txt --suite b/there.extract.yaml", "already there"),
        (".", "already there"),
        ("--schema s.json", "no document is there"),
        ("a.txt --schema s.json", "s.json"),
    ],
)
def test_what_cannot_be_made_writes_nothing(run, args, message):
    files = {"a.txt": "a", "b/a.txt": "a", "b/there.extract.yaml": "mine", "cases/conftest.py": "# mine\n"}
    write(files)
    run(f"init {args}").assert_refused(message)
    assert {path.as_posix(): path.read_text() for path in Path().rglob("*") if path.is_file()} == files
