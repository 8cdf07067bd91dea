from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import case_file_schema
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cli import main


def test_what_init_writes_passes_as_it_stands(tmp_path, capsys):
    assert main(["init", str(tmp_path)]) == 0
    assert f"now run: pytest {tmp_path / 'cases'}" in capsys.readouterr().out
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "cases"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 case: 1 passed" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--extract-model=no/such-model", "--extract-model=no/such-model: no model 'no/such-model': litellm knows no"),
        ("--extract-prompt=cases/first.schema.json", "--extract-prompt: no call would see it"),
    ],
)
def test_the_conftest_that_init_writes_does_what_is_asked_or_nothing(tmp_path, option, told):
    assert main(["init", str(tmp_path)]) == 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "cases", option]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout
    assert told in done.stdout + done.stderr


def test_what_is_there_already_is_never_touched(tmp_path, capsys):
    own = tmp_path / "cases" / "conftest.py"
    own.parent.mkdir()
    own.write_text("# mine\n")
    assert main(["init", str(tmp_path)]) == 2
    assert "already there" in capsys.readouterr().err
    assert own.read_text() == "# mine\n"
    assert [path.name for path in own.parent.iterdir()] == ["conftest.py"]


def test_a_folder_with_a_space_can_be_copied_into_a_shell(tmp_path, capsys):
    assert main(["init", str(tmp_path / "my cases")]) == 0
    assert capsys.readouterr().out.endswith(f"now run: pytest '{tmp_path / 'my cases' / 'cases'}'\n")


def test_documents_get_a_suite_whose_golds_a_run_can_make(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "sub/a"):
        path = tmp_path / "in voices" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "in voices" / ".cache.txt").write_text("hidden")
    assert main(["init", "in voices"]) == 0
    told = capsys.readouterr().out
    assert "then make the golds: pytest-extract draft cases/in-voices.extract.yaml --model=" in told
    suite = tmp_path / "cases" / "in-voices.extract.yaml"
    assert suite.read_text().startswith("# yaml-language-server: $schema=extract.schema.json\n")
    assert (tmp_path / "cases" / "extract.schema.json").read_text() == case_file_schema()
    writing = load_cases(suite, SchemaCache(updates_golds="new"))
    assert writing.errors == ()
    golds = [(case.id, case.gold_path.relative_to(tmp_path / "cases").as_posix()) for case in writing.cases]
    assert golds == [("a", "golds/a.json"), ("b", "golds/b.json"), ("sub/a", "golds/sub/a.json")]


@pytest.mark.parametrize(
    ("args", "ids"),
    [
        (["a/z.txt", "b/x.txt"], ["z", "x"]),
        (["d/inv[1].txt"], ["inv[1]"]),
        (["e[1]", "b"], ["e[1]/x", "x"]),
    ],
)
def test_documents_are_cases_by_their_path(tmp_path, monkeypatch, args, ids):
    monkeypatch.chdir(tmp_path)
    for name in ("a/x.txt", "a/z.txt", "b/x.txt", "k/x.txt", "k/x.html", "k/s/x.txt", "d/inv[1].txt", "e[1]/x.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert main(["init", *args, "--suite", "cases/all.extract.yaml"]) == 0
    writing = load_cases(tmp_path / "cases" / "all.extract.yaml", SchemaCache(updates_golds="new"))
    assert (sorted(case.id for case in writing.cases), writing.errors) == (sorted(ids), ())
    golds = [case.gold_path.relative_to(tmp_path / "cases" / "golds").as_posix() for case in writing.cases]
    assert golds == [f"{case.id}.json" for case in writing.cases]


def test_files_and_a_schema_of_ones_own(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.md"):
        (tmp_path / name).write_text(name)
    (tmp_path / "s.json").write_text('{"$defs": {"x": {"type": "object", "properties": {"t": {"type": "string"}}}}}')
    assert main(["init", "a.txt", "b.md", "--schema", "s.json#/$defs/x", "--suite", "suite.extract.yaml"]) == 0
    writing = load_cases(tmp_path / "suite.extract.yaml", SchemaCache(updates_golds="new"))
    assert writing.errors == ()
    assert [(case.id, case.schema["properties"]["t"]) for case in writing.cases] == [
        ("a", {"type": "string"}),
        ("b", {"type": "string"}),
    ]
    assert main(["init", "a.txt", "--suite", "suite.extract.yaml"]) == 2
    assert "already there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["a.txt", "b/a.txt"], "several documents would be the case a: name the folder", id="one-name"),
        pytest.param(["gone.pdf"], "gone.pdf is not there", id="gone"),
        pytest.param(["a.txt", "--suite", "x.yaml"], "ends in .extract.yaml or .extract.yml", id="suite"),
        pytest.param(["--schema", "s.json"], "no document is there", id="schema-alone"),
        pytest.param(["a.txt", "--schema", "s.json"], "s.json", id="no-schema"),
    ],
)
def test_what_cannot_be_made_writes_nothing(tmp_path, capsys, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b/a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a")
    assert main(["init", *args]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b"]
